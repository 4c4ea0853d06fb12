"""Section 8 in a real browser: the player above all, which only a browser can run."""

from __future__ import annotations

import time

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import wait_until
from tests.browser.test_page import Open, bring, card, look, readout

pytestmark = pytest.mark.browser


def lanes(page: Page) -> tuple[Locator, Locator]:
    texts = card(page, "caveats").locator(".lane .text")
    return texts.nth(0), texts.nth(1)


def button(page: Page, name: str) -> Locator:
    return card(page, "caveats").locator(".player").get_by_role("button", name=name, exact=True)


def test_the_answer_is_covered_then_plays_only_when_started(open_page: Open) -> None:
    page = open_page("?played_tokens=60&reading_rate=20").page
    bring(page, "caveats")
    expect(readout(page, "caveats", "first")).to_have_text("?")
    expect(card(page, "caveats").locator(".player")).to_be_hidden()
    look(page, "caveats")
    streamed, whole = lanes(page)
    time.sleep(0.5)
    expect(streamed).to_have_text("")
    began = time.monotonic()
    button(page, "Start").press("Enter")
    expect(streamed).to_contain_text("What a server")
    expect(whole).to_have_text("")
    button(page, "Pause").click()
    held = streamed.text_content()
    clock = card(page, "caveats").locator(".clock").inner_text()
    time.sleep(0.4)
    assert streamed.text_content() == held
    assert card(page, "caveats").locator(".clock").inner_text() == clock
    button(page, "Go on").click()
    expect(card(page, "caveats").locator(".said-now")).to_have_text("Finished", timeout=8_000)
    # 0.116 s and 59 gaps of 50 ms, and the pause on top: in real time, not faster.
    assert time.monotonic() - began > 3.0
    assert streamed.text_content() == whole.text_content()
    expect(card(page, "caveats").locator(".marks .passed")).to_have_count(4)
    button(page, "Restart").click()
    expect(streamed).to_have_text("")


def test_under_reduced_motion_it_steps_and_nothing_runs(open_page: Open) -> None:
    page = open_page(reduced_motion="reduce").page
    look(page, "caveats")
    streamed, whole = lanes(page)
    button(page, "Next moment").click()
    expect(card(page, "caveats").locator(".clock")).to_have_text("0.1 s of 10.1 s")
    first = streamed.text_content()
    assert first
    time.sleep(0.3)
    assert streamed.text_content() == first
    next_moment = button(page, "Next moment")
    for _ in range(20):
        if next_moment.is_disabled():
            break
        next_moment.click()
    expect(next_moment).to_be_disabled()
    assert len(whole.text_content() or "") == len(streamed.text_content() or "") > 3_000


def test_a_slider_elsewhere_leaves_the_player_where_it_is_and_its_own_puts_it_back(
    open_page: Open,
) -> None:
    page = open_page("?played_tokens=1000").page
    look(page, "caveats")
    streamed, _ = lanes(page)
    button(page, "Start").click()
    expect(streamed).to_contain_text("language")
    noise = card(page, "caveats").locator("[data-entry=wait_noise]")
    noise.fill("200")
    noise.press("Enter")
    expect(readout(page, "caveats", "accuracy")).to_have_text("61.8")
    expect(streamed).to_contain_text("language")
    expect(button(page, "Pause")).to_be_visible()
    speed = card(page, "caveats").locator("[data-entry=reading_rate]")
    speed.fill("50")
    speed.press("Enter")
    expect(streamed).to_have_text("")
    expect(button(page, "Start")).to_be_visible()


def test_the_measured_preset_sets_the_whole_page(open_page: Open) -> None:
    page = open_page().page
    look(page, "caveats")
    card(page, "caveats").get_by_role("button", name="measured A100 kernels").click()
    expect(readout(page, "caveats", "step")).to_have_text("19.1")
    expect(readout(page, "caveats", "pause")).to_have_text("16.3")
    card(page, "prefill-decode").scroll_into_view_if_needed()
    expect(readout(page, "prefill-decode", "step")).to_have_text("19.1")
    wait_until(page, "location.search.includes('bandwidth=64.4')")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_axe_finds_nothing_in_the_section_and_a_phone_scrolls_no_further_sideways(
    open_page: Open, phone: bool
) -> None:
    page = open_page(phone=phone, dark=phone).page
    look(page, "caveats")
    button(page, "Start").click()
    button(page, "Pause").click()
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("() => axe.run('#caveats')")
    told = [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert told == [], "\n".join(map(str, told))
    if phone:
        assert page.evaluate("() => document.documentElement.scrollWidth") == 375
