"""Section 5 in a real browser: slider → paint at the presets, and how long the stream takes.

A move repaints the prompt's two charts and the stream's; the last of all is measured too. Under
budgets that were never met, the load sweep follows from a job and is measured apart.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

from playwright.sync_api import Page

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.bench import paint
from tests.bench.bench_page import browser
from tests.browser.conftest import DESKTOP, bring, running, wait_live
from widgets.scheduling import Scheduling
from widgets.scheduling_stream import Drawn, Plan, serve, sweep

TARGET = "≤ 40 / 70 ms"
SWEEP_CHART = "goodput"
CHANGES = 40
LINKS = (
    ("reference case", "", ("budget", "decoding", "arriving")),
    ("latency", "budget=512&second_budget=2048&itl_target=50", ("budget",)),
    (
        "long document",
        "decoding=128&arriving=32768&decode_context=1024&arrivals=2&mean_prompt=4096"
        "&mean_answer=512&memory_share=0.5&ttft_target=10000",
        ("budget", "arriving"),
    ),
)


def open_at(page: Page, url: str) -> None:
    """The section at the state of a link, its prediction passed."""
    page.goto(url)
    wait_live(page)
    shown = bring(page, "scheduling").get_by_role("button", name="just show me")
    time.sleep(1.5)
    if shown.count():
        shown.click()
    time.sleep(1.5)


TO_AND_FRO = ("ArrowRight", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft")


def measure(
    page: Page, key: str, keys: Sequence[str] = TO_AND_FRO, changes: int = CHANGES
) -> tuple[list[float], list[float]]:
    """Milliseconds to the last chart but that of the load sweep, and to the last of all.

    Waits for the job behind each move, so that it never falls into the next one.
    """
    slider = page.locator(f"#scheduling input[data-key={key}]").first
    slider.scroll_into_view_if_needed()
    time.sleep(0.6)
    page.evaluate(paint.PROBE)
    slider.focus()
    first, last = [], []
    for i in range(changes):
        before = page.evaluate(paint.PICTURE)
        page.keyboard.press(keys[i % len(keys)])
        repainted = paint.settle(page, quiet_s=0.7, limit_s=6)
        after = page.evaluate(paint.PICTURE)
        changed = {name: at for name, at in repainted.items() if before[name] != after[name]}
        soon = [at for name, at in changed.items() if name != SWEEP_CHART]
        if soon:
            first.append(max(soon))
        if changed:
            last.append(max(changed.values()))
    return first, last


def page_rows(url: str) -> Iterator[tuple[str, str, str]]:
    """Every measurement that needs the browser."""
    with browser() as chromium:
        page = chromium.new_page(viewport=DESKTOP)
        for name, query, keys in LINKS:
            open_at(page, f"{url}?{query}")
            for key in keys:
                first, last = measure(page, key)
                what = f"{name}, {key}"
                yield f"slider → all but the load sweep, {what}", paint.figures_of(first), TARGET
                yield f"… and the last of all charts, {what}", paint.figures_of(last), TARGET
        open_at(page, url)
        for key in ("arrivals", "ttft_target"):
            page.locator("#scheduling details.more").evaluate("node => { node.open = true; }")
            _, last = measure(page, key)
            yield f"slider → paint, reference case, {key}", paint.figures_of(last), TARGET
        # To and fro a rate is soon known to the server; one way, every run is a new one.
        open_at(page, f"{url}?arrivals=0.1&load_seed=77")
        _, last = measure(page, "arrivals", ["ArrowRight"], 30)
        yield "slider → paint, arrivals never run before", paint.figures_of(last), TARGET
        open_at(page, f"{url}?budget=64&load_seed=78")
        first, last = measure(page, "budget", ["ArrowRight"], 30)
        what = "budgets never run before"
        yield f"slider → all but the load sweep, {what}", paint.figures_of(first), TARGET
        yield f"… and the load sweep, from its job, {what}", paint.figures_of(last), ""


def model_rows() -> Iterator[tuple[str, str, str]]:
    """What the view-model takes without a browser, best of five."""
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    source = Drawn(1000, 1.0, 1024, 128, 1.0, 9)
    times: dict[str, list[float]] = {"prompt": [], "stream": [], "sweep": []}
    for i in range(5):  # another seed each time: runs that are known are not run again
        model = Scheduling(scenario, load_seed=100 + i)
        model.runner = lambda _: None
        begin = time.perf_counter()
        model.apply({"budget": 513 + i})
        times["prompt"].append(time.perf_counter() - begin)
        plan = Plan(scenario, source, 8.0 + i / 100, (600 + i, 700 + i), True, 0.9)
        begin = time.perf_counter()
        serve(plan, lambda _: True)
        times["stream"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        sweep(plan.sweep, lambda _: True)
        times["sweep"].append(time.perf_counter() - begin)
    for key, what, target in (
        ("prompt", "view-model, a move of the budget", ""),
        ("stream", "1,000 requests under two budgets, kept", ""),
        ("sweep", "load sweep, 12 rates under two budgets", "job"),
    ):
        best, median = min(times[key]) * 1e3, statistics.median(times[key]) * 1e3
        yield what, f"{best:.1f} ms best, {median:.1f} median", target


def rows() -> Iterator[tuple[str, str, str]]:
    """The view-model alone, then the page."""
    yield from model_rows()
    with running() as server:
        yield from page_rows(server.url)


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
