"""Section 6 in a real browser: slider → paint by source, and how soon a run on text is shown."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from playwright.sync_api import Locator, Page

from tests.bench import paint
from tests.bench.bench_page import browser, open_live
from tests.browser.conftest import running

PAINT_TARGET = "≤ 40 / 70 ms"
RUN_TARGET = "≤ 300 ms"
SLIDERS = {
    "formula": ("alpha", "gamma", "draft_cost", "spec_batch", "spec_context"),
    "simulation": ("alpha", "gamma", "draft_cost", "spec_batch"),
    "real text": ("alpha", "gamma", "draft_cost", "spec_batch", "spec_context"),
}


def rows() -> Iterator[tuple[str, str, str]]:
    """Every slider under every source, then choices of text until the first result is shown."""
    with running() as server, browser() as chromium:
        page = open_live(chromium, server.url)
        card = page.locator("#speculation .widget")
        card.get_by_text("More controls").click()
        for source, keys in SLIDERS.items():
            card.locator("select[data-key=spec_source]").select_option(label=source)
            time.sleep(4)
            for key in keys:
                latencies = paint.measure(page, f"#speculation input[data-key={key}]")
                what = f"slider → paint, speculation {key}, {source}"
                yield what, paint.figures_of(latencies), PAINT_TARGET
        yield "first result of 500 tokens on text", _choices(page, card), RUN_TARGET
        yield "200 kB of the reader's own, first result", _own(card), ""
        page.close()


def _choices(page: Page, card: Locator) -> str:
    """From a choice of text or draft until the summary has changed; each is met for once only."""
    times = []
    for key, label in (
        ("corpus", "code"),
        ("drafter", "prompt look-up"),
        ("corpus", "records"),
        ("target_order", "n-gram of order 5"),
        ("corpus", "prose"),
        ("drafter", "n-gram of order 3"),
        ("sampling", "greedy: the likeliest"),
        ("corpus", "code"),
    ):
        select = card.locator(f"select[data-key={key}]")
        before = card.locator(".summary").inner_text()
        start = time.perf_counter()
        select.select_option(label=label)
        while card.locator(".summary").inner_text() == before:
            time.sleep(0.002)
        times.append((time.perf_counter() - start) * 1e3)
        page.wait_for_timeout(2_500)
    return f"{statistics.median(times):.0f} / {max(times):.0f} ms worst over {len(times)}"


def _own(card: Locator) -> str:
    """The longest text that is taken, from the button until its result is shown."""
    words = [f"word{i % 997} and number {i % 89}.\n" for i in range(7_000)]
    text = "".join(words)[:199_999]
    card.locator("textarea").evaluate("(area, text) => { area.value = text; }", text)
    start = time.perf_counter()
    card.get_by_role("button", name="Use this text").click()
    while "Your own text:" not in card.locator(".notes").inner_text():
        time.sleep(0.002)
    return f"{(time.perf_counter() - start) * 1e3:.0f} ms"


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
