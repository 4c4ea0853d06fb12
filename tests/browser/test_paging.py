"""Section 4 as a reader drives it: steps by keyboard, pointing, own requests, a dropped trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watched, bring, wait_until

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

COLUMN = "Bokeh.documents[0].get_model_by_name('{}')?.data['{}']"


def look(page: Page) -> Locator:
    """The card with its prediction passed and its charts drawn."""
    card = bring(page, "paged-caches")
    card.get_by_role("button", name="just show me").click()
    expect(card.locator(".cover")).to_have_count(0)
    wait_until(page, COLUMN.format("pool.blocks", "id") + "?.length")
    return card


def test_the_arrow_keys_step_forwards_and_back_and_the_step_says_why(open_page: Open) -> None:
    page = open_page("?pool_story=churn").page
    card = look(page)
    said, hits = card.locator(".said"), card.locator("[data-readout=hits] strong")
    card.locator(".stepper").focus()
    page.keyboard.press("Home")
    expect(said).to_have_text("Nothing has happened yet: every block is free and empty.")
    expect(hits).to_have_text("0")
    page.keyboard.press("End")
    expect(card.locator(".place")).to_have_text("85 of 85")
    expect(hits).to_have_text("7")
    for _ in range(11):
        page.keyboard.press("ArrowLeft")
    expect(said).to_have_text(
        "Block 3, the least recently used, is evicted for G: it held tokens 12–15 of an earlier "
        "prompt."
    )
    wait_until(page, f"{COLUMN.format('tables.entries', 'id')}.length === 12")
    assert page.evaluate(f"() => Array.from({COLUMN.format('queue.now', 'x')})") == [0.5]
    expect(card.locator(".item.now")).to_have_text("G 16 tokens")


def test_pointing_at_a_block_in_one_chart_marks_it_in_all(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    inspected = "Bokeh.documents[0].get_model_by_name('pool.blocks').inspected.indices"
    for chart, x, y, block in (("The pool", 0.4, 0.1, 1), ("The block tables", 0.93, 0.3, 6)):
        canvas = card.get_by_role("group", name=chart, exact=True).locator(".canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        page.mouse.move(box["x"] + x * box["width"] + 2, box["y"] + y * box["height"] + 1)
        wait_until(page, f"{inspected}[0] === {block}")


def test_a_readers_requests_run_and_a_mistake_is_named_by_line(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.locator("details.more > summary").click()
    text, use = card.locator("textarea"), card.get_by_role("button", name="Use this text")
    text.fill("A: to be or not to be\nB: to be or not <b>to</b> see\nrelease A")
    use.click()
    expect(card.locator("[data-readout=hits] strong")).to_have_text("1")
    expect(card.locator("select[data-key=pool_story] option:checked")).to_have_text(
        "your own requests"
    )
    text.fill("A: x\nrelease A\nrelease A")
    use.click()
    expect(card.locator(".problem")).to_contain_text("line 3: A cannot be released")
    expect(card.locator("[data-readout=hits] strong")).to_have_text("1")
    wait_until(page, "location.search.includes('pool_requests=')")


def test_a_trace_is_measured_and_a_bad_one_explained(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.locator("details.more > summary").click()
    rate, file = card.locator("[data-readout=rate] strong"), card.locator("input[type=file]")
    before = rate.inner_text()
    rows = "arrival_ms,prompt,output,hash_ids\n0,1024,1,1 2\n5,1024,1,1 2\n"
    bad = {"name": "b.csv", "mimeType": "text/csv", "buffer": b"arrival_ms,prompt,output\n0,1,1"}
    file.set_input_files(bad)
    expect(card.locator(".problem")).to_contain_text("b.csv was not taken: it has no hash_ids")
    expect(rate).to_have_text(before)
    file.set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    expect(rate).to_have_text("50")
    long = rows + "".join(f"{i},512,1,9\n" for i in range(10, 40_000))
    file.set_input_files({"name": "c.csv", "mimeType": "text/csv", "buffer": long.encode()})
    expect(card.locator(".notes")).to_contain_text("39,992 requests read from CSV.")


@pytest.mark.parametrize(("phone", "dark"), [(True, True), (False, False)])
def test_the_section_has_no_findings_and_fits_a_phone(
    open_page: Open, phone: bool, dark: bool
) -> None:
    page = open_page("?pool_story=busy&pool_blocks=64&pool_step=700", phone=phone, dark=dark).page
    card = look(page)
    card.locator("details.more > summary").click()
    card.locator(".readout").first.click()
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("() => axe.run('#paged-caches')")
    told = [(v["id"], n["target"]) for v in found["violations"] for n in v["nodes"]]
    assert told == []
    width = page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]  # type: ignore[index]  # set when it was opened
    if phone:
        for target in (".stepper button", "select", ".pick button"):
            for box in (one.bounding_box() for one in card.locator(target).all()):
                assert box is not None
                assert box["height"] >= 44, target
