"""Section 3 as a reader drives it: one axis, pointing, sliders, dropped traces, phone and axe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from core.batching import simulate
from tests.browser.conftest import Watched, bring, wait_live, wait_until
from tests.widgets.test_batching import csv
from widgets.batching_runs import Draw
from widgets.batching_trace import QUICK_CHARACTERS

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

COLUMN = "Array.from(Bokeh.documents[0].get_model_by_name('{}')?.data['{}'] ?? [])"


def look(page: Page) -> Locator:
    """The card with its prediction passed and its charts drawn."""
    card = bring(page, "continuous-batching")
    card.get_by_role("button", name="just show me").click()
    expect(card.locator(".cover")).to_have_count(0)
    wait_until(page, COLUMN.format("static-slots.bars", "id") + ".length")
    return card


def steps(card: Locator) -> Locator:
    return card.locator("[data-readout=steps] strong")


def drop(card: Locator, name: str, text: str) -> None:
    card.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )


def test_both_gantts_draw_what_core_computes_on_one_axis(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    expect(steps(card)).to_have_text("343 → 216")
    slider = card.locator("input[data-key=slots]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(card.locator("[data-entry=slots]")).to_have_value("9")
    stream = Draw().stream()
    static, rolling = (simulate(stream, 9, continuous) for continuous in (False, True))
    expect(steps(card)).to_have_text(f"{static.steps} → {rolling.steps}")
    for side, run in (("s", static), ("c", rolling)):
        for part, values in (("left", run.start), ("right", run.finish), ("row", run.slot + 1)):
            wanted = ", ".join(map(str, values.tolist()))
            wait_until(
                page,
                f"{COLUMN.format('static-slots.bars', f'{side}_{part}')}.join(', ') === '{wanted}'",
            )
    ranges = page.evaluate(
        """() => ["static-slots", "continuous-slots", "queue-length"]
        .map((name) => Bokeh.documents[0].get_model_by_name(name).x_range.id)"""
    )
    assert len(set(ranges)) == 1


def test_pointing_at_a_request_marks_it_in_both_gantts(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    inspected = "Bokeh.documents[0].get_model_by_name('static-slots.bars').inspected.indices"
    for chart, side in (("Static", "s"), ("Continuous", "c")):
        host = card.get_by_role("group", name=f"{chart} batching").locator(".canvas")
        host.scroll_into_view_if_needed()
        place = page.evaluate(
            """([name, side]) => {
            let view = null;
            const visit = (one) => {
              if (one.model && one.model.name === name) view = one;
              for (const child of one.children_views ? one.children_views() : []) visit(child);
            };
            for (const root of Bokeh.index.roots || Object.values(Bokeh.index)) visit(root);
            const bars = Bokeh.documents[0].get_model_by_name("static-slots.bars").data;
            const box = view.canvas_view.el.getBoundingClientRect();
            const middle = (bars[`${side}_left`][16] + bars[`${side}_right`][16]) / 2;
            return [box.left + view.frame.x_scale.compute(middle),
                    box.top + view.frame.y_scale.compute(bars[`${side}_row`][16])]; }""",
            [f"{chart.lower()}-slots", side],
        )
        page.mouse.move(place[0] - 3, place[1])
        page.mouse.move(*place)
        wait_until(page, f"{inspected}[0] === 16")
        page.mouse.move(5, 300)
        wait_until(page, f"{inspected}.length === 0")


def test_a_trace_plays_and_a_bad_row_is_refused_by_line_and_column(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.locator("details.more > summary").click()
    bad = csv(20).replace(",22\n", ",many\n", 1)
    drop(card, "bad.csv", bad)
    expect(card.locator(".problem")).to_contain_text(
        "bad.csv was not taken: line 4, column GeneratedTokens: must be a whole number"
    )
    expect(steps(card)).to_have_text("343 → 216")
    drop(card, "mine.csv", csv(20))
    expect(card.locator(".summary")).to_contain_text("20 requests through 8 slots")
    expect(card.locator(".notes")).to_contain_text("Recognised TIMESTAMP as arrival")
    expect(card.locator(".problem")).to_be_hidden()
    expect(card.locator("select[data-key=played] option:checked")).to_have_text("the dropped trace")
    large = csv(20_000, gap_ms=150)
    assert len(large) > QUICK_CHARACTERS
    drop(card, "large.csv", large)
    expect(card.locator(".summary")).to_contain_text("20,000 requests through 8 slots")
    expect(card.locator(".progress")).to_be_hidden()
    assert page.evaluate(f"() => {COLUMN.format('static-slots.bars', 'id')}.length") == 0
    assert page.evaluate(f"() => {COLUMN.format('static-slots.load', 'left')}.length") == 240
    card.get_by_role("button", name="the reference stream").click()
    expect(steps(card)).to_have_text("343 → 216")


def test_the_present_view_survives_a_reload(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.get_by_role("button", name="one giant").click()
    expect(steps(card)).to_have_text("690 → 476")
    wait_until(page, "location.search === '?giant=400'")
    page.reload()
    wait_live(page)
    expect(steps(bring(page, "continuous-batching"))).to_have_text("690 → 476")


def test_a_phone_in_the_dark_shows_labels_that_fit_and_axe_finds_nothing(open_page: Open) -> None:
    page = open_page(phone=True, dark=True).page
    card = look(page)
    labels = COLUMN.format("static-slots.bars", "c_label")
    wait_until(page, f"{labels}.filter(Boolean).length < 30")
    assert page.evaluate(f"() => {labels}[0]") == "1", "the longest bars keep theirs"
    assert page.evaluate("() => document.documentElement.scrollWidth") == 375
    card.locator("details.more > summary").click()
    card.locator(".readout").first.click()
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("() => axe.run('#continuous-batching')")
    told = [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert told == [], "\n".join(map(str, told))
