"""Section 4 in a real browser: a step of the pool → paint, small, full and counted; its sliders."""

from __future__ import annotations

import time
from collections.abc import Iterator

from playwright.sync_api import Page

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.bench import paint
from tests.bench.bench_page import browser
from tests.browser.conftest import DESKTOP, bring, running, wait_live
from widgets.paging import Paging
from widgets.paging_trace import read

STEP_TARGET = "≤ 40 / 70 ms"
STEPPER = "#paged-caches .stepper"
LINKS = (
    ("step → paint, 16 blocks, churn", "pool_story=churn&pool_step=70", STEP_TARGET),
    (
        "step → paint, 64 blocks, 40 requests",
        "pool_story=busy&pool_blocks=64&pool_step=700",
        STEP_TARGET,
    ),
    (
        "step → paint, 100,000 blocks counted",
        "pool_story=busy&pool_blocks=100000&pool_step=700",
        "",
    ),
)


def open_at(page: Page, url: str) -> None:
    """The section at the state of a link, its prediction passed."""
    page.goto(url)
    wait_live(page)
    shown = bring(page, "paged-caches").get_by_role("button", name="just show me")
    time.sleep(1)
    if shown.count():
        shown.click()
    time.sleep(1)


def rows() -> Iterator[tuple[str, str, str]]:
    """Steps in three pools, then the sliders, then the reading of a dropped trace."""
    with running() as server, browser() as chromium:
        page = chromium.new_page(viewport=DESKTOP)
        for what, query, target in LINKS:
            open_at(page, f"{server.url}?{query}")
            yield what, paint.figures_of(paint.measure(page, STEPPER)), target
        open_at(page, f"{server.url}?pool_blocks=32")
        for key in ("block_size", "pool_blocks"):
            latencies = paint.measure(page, f"#paged-caches input[data-key={key}]")
            yield f"slider → paint, paging {key}", paint.figures_of(latencies), STEP_TARGET
        page.close()
    yield from server_rows()


def server_rows() -> Iterator[tuple[str, str, str]]:
    """What the server does of it, without a browser."""
    model = Paging(Scenario(MODELS["8B"], DEVICES["A100"]))
    model.apply({"pool_story": "busy", "pool_blocks": 64, "pool_step": 0})
    begin = time.perf_counter()
    for step in range(1, 501):
        model.apply({"pool_step": step})
    each = (time.perf_counter() - begin) / 500
    yield "paging, the server's part of a step at 64 blocks", f"{1e3 * each:.1f} ms", ""
    lines = "\n".join(f"{i},{512 * 28},9,{' '.join(map(str, range(28)))}" for i in range(12_000))
    text = f"arrival_ms,prompt,output,hash_ids\n{lines}"
    begin = time.perf_counter()
    read("trace.csv", text)
    taken = time.perf_counter() - begin
    yield f"a dropped trace of {len(text) / 1e6:.1f} MB read", f"{1e3 * taken:.0f} ms", "in a job"


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
