"""Section 7 in a real browser: a change of fault, seed or slots → everything run and painted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.bench.bench_page import browser
from tests.bench.paint import PROBE
from tests.browser.conftest import DESKTOP, bring, running, wait_live

SLUG = "checked-simulator"
CHANGES = (
    ("fault", "select[data-key=fault]", ["ArrowDown"] * 5 + ["ArrowUp"] * 5),
    ("seed", "input[type=range][data-key=claim_seed]", ["ArrowRight", "ArrowLeft"] * 4),
    ("slots", "input[type=range][data-key=sweep_slots]", ["ArrowRight", "ArrowLeft"] * 4),
)


def latencies(page: Page, control: str, keys: list[str]) -> list[float]:
    """From each key event to the last canvas painted, once half a second has been quiet, in ms."""
    page.evaluate(PROBE)
    page.locator(f"#{SLUG} {control}").focus()
    taken = []
    for key in keys:
        page.keyboard.press(key)
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            time.sleep(0.05)
            now, start, last = page.evaluate(
                "() => [performance.now(), __paint.start,"
                " Math.max(0, ...Object.values(__paint.last))]"
            )
            if last and now - last > 500:
                taken.append(last - start)
                break
    return taken


def rows() -> Iterator[tuple[str, str, str]]:
    """One row a control."""
    with running() as server, browser() as chromium:
        page = chromium.new_page(viewport=DESKTOP)
        page.goto(server.url)
        wait_live(page)
        bring(page, SLUG).get_by_role("button", name="just show me").click()
        time.sleep(3)
        for what, control, keys in CHANGES:
            taken = latencies(page, control, keys)
            median, worst = statistics.median(taken), max(taken)
            measured = f"{median:.0f} / {worst:.0f} ms over {len(taken)}"
            yield f"{what} → every claim run and painted", measured, "a job"


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
