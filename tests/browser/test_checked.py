"""Section 7 as a reader drives it: a fault switched on, the table of claims, a seed, the matrix."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from core.checks import CHECKS
from tests.browser.conftest import Watched, bring, wait_until

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

SLUG = "checked-simulator"
COLUMN = "Bokeh.documents[0].get_model_by_name('{}')?.data['{}']"


def card_of(page: Page) -> Locator:
    """The card, near and live: its charts drawn."""
    card = bring(page, SLUG)
    wait_until(page, COLUMN.format("claims.held", "x") + "?.length")
    return card


def number(card: Locator, key: str) -> Locator:
    return card.locator(f"[data-readout={key}] strong")


def test_a_fault_switched_on_by_keyboard_shows_in_marks_table_and_numbers(open_page: Open) -> None:
    page = open_page().page
    card = card_of(page)
    rows = card.locator(".table.long tbody tr")
    expect(rows).to_have_count(len(CHECKS))
    expect(rows.first).to_contain_text("✓ holds")
    card.locator("select[data-key=fault]").focus()
    page.keyboard.press("ArrowDown")  # the first one: unchained hash
    expect(number(card, "failed")).to_have_text("2")
    expect(card.locator(".summary")).to_contain_text("The reference's own assertions all hold.")
    expect(rows.first).to_contain_text("✗ fails")
    expect(rows.first).to_contain_text("whole prefix")
    expect(card.locator(".notes")).to_contain_text("Expected 0; observed 2.")
    wait_until(page, COLUMN.format("claims.failed", "x") + ".length === 2")


def test_what_the_assertions_catch_is_covered_until_it_was_predicted(open_page: Open) -> None:
    card = card_of(open_page().page)
    for key in ("assertions", "ours", "only"):
        expect(number(card, key)).to_have_text("?")
    card.get_by_role("button", name="5", exact=True).click()
    expect(card.locator(".verdict")).to_contain_text("You said 5; the answer is 2.")
    expect(number(card, "assertions")).to_have_text("2")
    expect(number(card, "ours")).to_have_text("8")


def test_any_seed_can_be_typed_and_one_that_is_none_is_explained(open_page: Open) -> None:
    page = open_page("?sweep_slots=1").page
    card = card_of(page)
    entry = card.locator("[data-entry=claim_seed]")
    expect(number(card, "ties")).to_have_text("500")
    for wrong in ("0", "4294967296", "nine"):
        entry.fill(wrong)
        entry.press("Enter")
        expect(card.locator(".problem")).to_contain_text("from 1 to 4,294,967,295")
        expect(entry).to_have_value("9")
    entry.fill("4294967295")
    entry.press("Enter")
    expect(card.locator(".summary")).to_contain_text("at seed 4,294,967,295")
    expect(number(card, "failed")).to_have_text("0")


@pytest.mark.parametrize(("phone", "dark"), [(True, True), (False, False)])
def test_the_section_has_no_findings_and_fits_a_phone(
    open_page: Open, phone: bool, dark: bool
) -> None:
    page = open_page("?fault=evict+newest", phone=phone, dark=dark).page
    card = card_of(page)
    card.get_by_role("button", name="just show me").click()
    expect(card.locator(".cover")).to_have_count(0)
    expect(card.locator(".table.long tbody tr").first).to_contain_text("✗ fails")
    width = page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]  # type: ignore[index]
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate(f"() => axe.run('#{SLUG}').then((result) => result.violations)")
    assert [violation["id"] for violation in found] == []
