"""Section 6 in a real browser: text, strip and the reader's own words; axe and a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from tests.browser.conftest import Watched, bring, wait_until

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

OWN = "The queue is short. The queue is long. A batch is full, and so the queue waits.\n" * 12


def test_a_run_on_text_is_stepped_through_with_the_keyboard(open_page: Open) -> None:
    page = open_page("?spec_source=text&corpus=records&run_tokens=200").page
    card = bring(page, "speculation")
    card.get_by_role("button", name="slower, 1.88×").click()
    expect(card.locator(".verdict")).to_contain_text("Right: slower, 1.88×.")
    diamonds = "Bokeh.documents[0].get_model_by_name('speedup-gamma.text')"
    wait_until(page, f"{diamonds} && {diamonds}.data.x.length === 16")
    expect(card.locator(".progress")).to_be_hidden()
    stepper = card.get_by_role("group", name="Step through the passes", exact=True)
    stepper.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(stepper).to_contain_text("4 of")
    this = card.locator(".strip").nth(1)
    expect(this).to_contain_text("pass 4:")
    expect(this.locator(".item.corrected")).to_have_count(1)
    assert this.locator(".item.kept, .item.struck").count() == 4
    wait_until(page, "location.search.includes('spec_pass=4')")


def test_the_readers_text_is_refused_in_words_or_taken_and_never_linked(open_page: Open) -> None:
    page = open_page().page
    card = bring(page, "speculation")
    card.get_by_text("More controls").click()
    box, use = card.locator("textarea"), card.get_by_role("button", name="Use this text")
    box.fill("Too short.")
    use.click()
    expect(card.locator(".problem")).to_contain_text("at least 100 tokens, got 3")
    expect(box).to_have_value("Too short.")
    box.evaluate("area => { area.value = 'long '.repeat(50_000); }")
    use.click()
    expect(card.locator(".pick [role=status]").first).to_contain_text("250,000 characters")
    box.fill(OWN)
    use.click()
    expect(card.locator(".notes")).to_contain_text("Your own text: 960 bytes")
    expect(card.locator(".problem")).to_be_hidden()
    expect(card.locator("select[data-key=corpus] option:checked")).to_have_text("your own text")
    wait_until(page, "location.search === '?spec_source=text&corpus=yours'")


def test_a_repaint_leaves_the_style_sheets_alone(open_page: Open) -> None:
    """The page keeps Bokeh from asking and rewriting them; this says when it is at it again."""
    page = open_page().page
    card = bring(page, "speculation")
    card.get_by_role("button", name="just show me").click()
    page.evaluate(
        """() => { window.__asked = []; window.__rewritten = [];
        const ask = CSSStyleDeclaration.prototype.getPropertyValue;
        CSSStyleDeclaration.prototype.getPropertyValue = function (name) {
          if (name.startsWith("--bk-")) window.__asked.push(name);
          return ask.call(this, name);
        };
        const text = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
        Object.defineProperty(Node.prototype, "textContent", { ...text, set(value) {
          const same = this.nodeName === "STYLE" && text.get.call(this) === value;
          if (same) window.__rewritten.push(value);
          text.set.call(this, value);
        } }); }"""
    )
    line = "Bokeh.documents[0].get_model_by_name('speedup-gamma.line').data"
    before = page.evaluate(f"() => {line}.formula[4]")
    card.locator("input[data-key=alpha]").focus()
    page.keyboard.press("ArrowLeft")
    wait_until(page, f"{line}.formula[4] < {before}")
    page.wait_for_timeout(300)
    assert page.evaluate("() => [window.__asked.length, window.__rewritten.length]") == [0, 0]


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    open_page: Open, phone: bool, dark: bool
) -> None:
    page = open_page("?spec_source=text&run_tokens=100", phone=phone, dark=dark).page
    card = bring(page, "speculation")
    card.get_by_role("button", name="just show me").click()
    card.get_by_text("More controls").click()
    card.locator("[data-readout=tokens]").click()
    expect(card.locator(".strip")).to_have_count(2)
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("() => axe.run(document.querySelector('#speculation'))")
    told = [
        (v["id"], n["target"], n["failureSummary"]) for v in found["violations"] for n in v["nodes"]
    ]
    assert told == [], "\n".join(map(str, told))
    if phone:
        assert page.evaluate("() => document.documentElement.scrollWidth") == 375
