"""The projector, driven with the keyboard as a lecturer drives it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watched, bring, wait_until
from widgets.page import section_classes

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

SLUGS = list(section_classes())
SIZES = [(1280, 720), (1920, 1080)]

# What does not fit, in words: anything of the screen that is shown and reaches beyond it.
OUTSIDE = """() => {
  const found = [];
  const page = document.documentElement;
  if (page.scrollHeight > innerHeight || page.scrollWidth > innerWidth)
    found.push("the page scrolls");
  const widgets = [];
  const visit = (root) => {
    for (const node of root.querySelectorAll("*")) {
      if (node.matches(".widget")) widgets.push(node);
      if (node.shadowRoot) visit(node.shadowRoot);
    }
  };
  const section = document.querySelector("main > section:not([hidden])");
  visit(section);
  const foot = document.querySelector("footer.steps").getBoundingClientRect();
  for (const title of section.querySelectorAll("h2, .q, .demo")) {
    const box = title.getBoundingClientRect();
    if (box.right > innerWidth || box.top < 0) found.push(`cut off: ${title.textContent}`);
  }
  for (const widget of widgets) {
    const stage = widget.getBoundingClientRect();
    if (stage.bottom > foot.top + 1) found.push("the card is under the footer");
    const [wide, high] = [widget.scrollWidth, widget.scrollHeight];
    if (high > widget.clientHeight + 1 || wide > widget.clientWidth + 1)
      found.push(`the card scrolls: ${wide} × ${high}`);
    const parts = ":scope > *, .readout strong, .answers button, .control, figure";
    for (const node of widget.querySelectorAll(parts)) {
      const box = node.getBoundingClientRect();
      if (!box.width || node.matches(".progress")) continue;
      const out = Math.max(box.bottom - stage.bottom, box.right - stage.right, stage.top - box.top);
      if (out > 1) found.push(`cut off: ${node.className} ${node.textContent.slice(0, 40)}`);
    }
    const unit = Math.min(innerWidth / 924, innerHeight / 520);
    for (const host of widget.querySelectorAll("figure:not([hidden]) .canvas")) {
      const height = host.getBoundingClientRect().height;
      if (height && height < 130 * unit) found.push(`a chart of ${height / unit} units`);
    }
  }
  return found;
}"""


def present(
    open_page: Open, query: str = "", size: tuple[int, int] = (1280, 720), **how: Any
) -> Page:
    page = open_page(f"?present=1{query}", **how).page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(told(page)).to_contain_text("step 1 of")
    return page


def told(page: Page) -> Locator:
    return page.locator("footer .told")


def card(page: Page, slug: str) -> Locator:
    return page.locator(f"#{slug} .widget")


def at(page: Page, section: int, step: int) -> None:
    said = f"Section {section} of {len(SLUGS)} · step {step} of "
    wait_until(page, f"document.querySelector('footer .told').textContent.startsWith('{said}')", 5)


def place(page: Page) -> tuple[int, int, int]:
    """Section, step and the number of steps."""
    numbers = [int(word) for word in told(page).inner_text().split() if word.isdigit()]
    return numbers[0], numbers[2], numbers[3]


def assert_fits(page: Page) -> None:
    """A chart takes a moment to have its place, and a preset to be computed."""
    deadline = time.monotonic() + 3
    while (found := page.evaluate(OUTSIDE)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found == [], told(page).inner_text()


def test_a_section_and_the_next_by_keyboard_alone_and_back(open_page: Open) -> None:
    page = present(open_page)
    one, two = card(page, SLUGS[0]), card(page, SLUGS[1])
    expect(page.locator("h2:visible")).to_have_text(
        "Prefill is limited by arithmetic, decode by memory"
    )
    expect(one.locator("canvas:visible")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(one.locator(".verdict")).to_contain_text("The answer is never.")
    expect(one.get_by_role("group", name="The roofline")).to_be_visible()
    page.keyboard.press("PageDown")
    expect(one.locator(".readout:visible")).to_have_count(8)
    page.keyboard.press(" ")
    expect(page.locator(".demo:visible")).to_have_text("one user")
    expect(one.locator("[data-entry=batch]")).to_have_value("1")
    for name, batch in (("busy chat", "32"), ("short context", "256"), ("long context", "16")):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".demo:visible")).to_have_text(name)
        expect(one.locator("[data-entry=batch]")).to_have_value(batch)
    page.keyboard.press("ArrowRight")
    at(page, 2, 1)
    expect(two.locator(".predict")).to_contain_text("How many with 32?")
    wait_until(page, f"new URLSearchParams(location.search).get('section') === '{SLUGS[1]}'")
    page.keyboard.press("PageUp")
    at(page, 1, 7)
    expect(one.locator("[data-entry=batch]")).to_have_value("16")
    page.keyboard.press("Home")
    at(page, 1, 1)
    expect(one.locator("[data-entry=batch]")).to_have_value("32")


def test_going_back_applies_the_preset_before_and_leaving_them_brings_back_what_was(
    open_page: Open,
) -> None:
    page = present(open_page, "&batch=7")
    entry = card(page, SLUGS[0]).locator("[data-entry=batch]")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(entry).to_have_value("32")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".demo:visible")).to_have_text("one user")
    expect(entry).to_have_value("1")
    page.wait_for_timeout(400)
    assert "batch=7" in page.url, "a reload comes back to where the presets began"
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".demo:visible")).to_have_count(0)
    expect(entry).to_have_value("7")


def test_hasty_keys_lose_nothing(open_page: Open) -> None:
    page = present(open_page, "&batch=7")
    at(page, 1, 1)
    for key in (*["ArrowRight"] * 7, "PageUp", "ArrowLeft", "ArrowRight", "Home"):
        page.keyboard.press(key)
    at(page, 1, 1)
    page.wait_for_timeout(500)
    expect(card(page, SLUGS[0]).locator("[data-entry=batch]")).to_have_value("7")


@pytest.mark.parametrize("size", SIZES, ids=["720p", "1080p"])
def test_every_step_of_every_section_fits_the_screen(
    open_page: Open, size: tuple[int, int]
) -> None:
    page = present(open_page, size=size)
    seen = set()
    for number, slug in enumerate(SLUGS, 1):
        if number > 1:
            page.keyboard.press(str(number))
        card(page, slug).wait_for()
        at(page, number, 1)
        while True:
            _, step, steps = place(page)
            assert_fits(page)
            seen.add((number, step))
            if step == steps:
                break
            page.keyboard.press("ArrowRight")
            at(page, number, step + 1)
    assert len(seen) > 70


def test_type_can_be_read_from_the_back_row(open_page: Open) -> None:
    page = present(open_page)
    page.keyboard.press("ArrowRight")
    one = card(page, SLUGS[0])
    for selector, least in ((".readout.front strong", 40), (".verdict", 24), ("h3", 18)):
        size = one.locator(selector).first.evaluate("node => getComputedStyle(node).fontSize")
        assert float(size.removesuffix("px")) >= least, selector
    # A chart's labels are 13 px of its own; the chart is drawn larger, and as finely as the screen.
    drawn = one.locator("canvas").first.evaluate(
        """node => [node.getBoundingClientRect().width / node.offsetWidth,
                    node.width / node.getBoundingClientRect().width]"""
    )
    assert drawn[0] * 13 >= 18 - 0.05
    assert drawn[1] == pytest.approx(1, abs=0.01)
    page.set_viewport_size({"width": 1920, "height": 1080})
    wait_until(page, "document.querySelector('footer').getBoundingClientRect().height > 50")


def test_a_chart_is_pointed_at_where_the_pointer_is(open_page: Open) -> None:
    page = present(open_page, "&section=batching")
    page.keyboard.press("ArrowRight")
    host = card(page, "continuous-batching").locator("figure .canvas").first
    page.wait_for_timeout(500)
    box = host.bounding_box()
    assert box is not None
    # The first request's bar is near the left end of the topmost of eight slots.
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.09)
    tip = page.locator("#continuous-batching .bk-Tooltip, #continuous-batching bk-tooltip-content")
    found = page.evaluate(
        """() => {
        const source = Bokeh.documents[0].get_model_by_name("static-slots.bars");
        return source.inspected.indices.map((i) => source.data.id[i]); }"""
    )
    assert found == [1], tip.count()


def test_a_prediction_is_covered_until_it_is_revealed_whatever_the_tab_remembers(
    open_page: Open,
) -> None:
    page = present(open_page)
    crossing = card(page, SLUGS[0]).locator("[data-readout=crossing] strong")
    expect(crossing).to_have_text("?")
    page.keyboard.press("r")
    expect(crossing).to_have_text("never")
    expect(card(page, SLUGS[0]).locator(".verdict")).to_be_visible()
    at(page, 1, 1)
    page.reload()
    expect(crossing).to_have_text("?")
    card(page, SLUGS[0]).get_by_role("button", name="156", exact=True).click()
    expect(card(page, SLUGS[0]).locator(".verdict")).to_contain_text("You said 156")
    page.keyboard.press(" ")
    at(page, 1, 2)


def test_theme_reset_scenario_and_leaving_have_a_key(open_page: Open) -> None:
    page = present(open_page, "&section=memory&tokens=4096&model=70B&devices=4")
    this = card(page, "memory")
    at(page, 2, 1)
    page.keyboard.press("ArrowRight")
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    axis = "Bokeh.documents[0].get_model_by_name('sequences').below[0]"
    wait_until(page, f"{axis}.axis_label_text_color === '#aaa59a'")
    page.keyboard.press("s")
    devices = page.locator("#scenario [data-key=devices]")
    expect(devices).to_have_value("4")
    devices.fill("8")
    devices.press("Enter")
    expect(this.locator("[data-entry=devices]")).to_have_value("8")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#scenario")).to_be_hidden()
    page.keyboard.press("0")
    expect(this.locator("[data-entry=devices]")).to_have_value("4")
    expect(this.locator("[data-entry=tokens]")).to_have_value("4,096")
    page.keyboard.press("3")
    at(page, 3, 1)
    page.keyboard.press("Escape")
    page.wait_for_url("**#continuous-batching")
    assert "present" not in page.url
    assert "devices=4" in page.url
    page.locator("nav").wait_for()


def test_the_arrow_keys_belong_to_a_focused_slider_until_it_is_freed(open_page: Open) -> None:
    page = present(open_page)
    page.keyboard.press("ArrowRight")
    this = card(page, SLUGS[0])
    this.locator("input[data-key=batch]").click()
    at(page, 1, 2)
    entry = this.locator("[data-entry=batch]")
    before = int(entry.input_value())
    page.keyboard.press("ArrowRight")
    expect(entry).not_to_have_value(str(before))
    at(page, 1, 2)
    page.keyboard.press("PageDown")
    at(page, 1, 3)
    page.keyboard.press("PageUp")
    this.locator("input[data-key=batch]").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    at(page, 1, 3)
    page.keyboard.press("ArrowLeft")
    entry.click()
    entry.press("t")
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert "present=1" in page.url


def test_up_and_down_change_the_charts_of_a_step_and_keep_its_preset(open_page: Open) -> None:
    page = present(open_page, "&section=scheduling")
    this = card(page, "scheduling")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".demo:visible")).to_have_text("latency")
    page.keyboard.press("ArrowDown")
    expect(this.get_by_role("group", name="A whole stream: gaps between tokens")).to_be_visible()
    expect(page.locator(".demo:visible")).to_have_text("latency")
    page.keyboard.press("ArrowUp")
    expect(this.get_by_role("group", name="What somebody who is decoding sees")).to_be_visible()


def test_arithmetic_opens_over_the_charts_and_escape_closes_it(open_page: Open) -> None:
    page = present(open_page)
    page.keyboard.press("ArrowRight")
    this = card(page, SLUGS[0])
    this.locator("[data-readout=step]").click()
    expect(this.locator(".arithmetic")).to_be_visible()
    page.keyboard.press("Escape")
    expect(this.locator(".arithmetic")).to_be_hidden()
    at(page, 1, 2)


def test_the_list_of_keys_is_a_dialog(open_page: Open) -> None:
    page = present(open_page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Page Down")
    assert dialog.evaluate("node => node.contains(document.activeElement)")
    assert dialog.evaluate("node => node.scrollHeight <= node.clientHeight + 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    at(page, 1, 1)


def test_a_bad_link_is_named_on_the_screen(open_page: Open) -> None:
    page = present(open_page, "&section=nowhere&batch=abc")
    expect(page.locator("#scenario .notices")).to_contain_text("batch=abc")
    expect(page.locator("#scenario")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#scenario")).to_be_hidden()


def test_the_page_has_a_button_that_presents_what_is_read(open_page: Open) -> None:
    page = open_page("?batch=64").page
    bring(page, "memory")
    bar = page.locator("#scenario")
    bar.get_by_role("button", name="more").click()
    bar.get_by_role("button", name="Present").click()
    page.wait_for_url("**present=1**")
    at(page, 2, 1)
    assert "batch=64" in page.url
    page.keyboard.press("ArrowRight")
    at(page, 2, 2)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_page: Open, dark: bool) -> None:
    page = present(open_page, dark=dark)
    page.evaluate(AXE_SCRIPT)
    told_all = []
    for number, step in ((1, 1), (1, 2), (4, 2)):
        page.keyboard.press(str(number))
        at(page, number, 1)
        if step == 2:
            page.keyboard.press("ArrowRight")
            at(page, number, 2)
        found: dict[str, Any] = page.evaluate("() => axe.run()")
        told_all += [
            (violation["id"], node["target"], node["failureSummary"])
            for violation in found["violations"]
            for node in violation["nodes"]
        ]
    assert told_all == [], "\n".join(map(str, told_all))


@pytest.mark.parametrize(("section", "number"), [("scheduling", 5), ("speculation", 6)])
def test_steps_keep_their_number_whatever_a_preset_brings(
    open_page: Open, section: str, number: int
) -> None:
    """Rows of tokens come with the presets on text, from a job: the steps after them stay."""
    page = present(open_page, f"&section={section}")
    at(page, number, 1)
    presets = page.locator(f"#{section} .demo")
    forward = []
    while told(page).inner_text().startswith(f"Section {number} "):
        forward.append((told(page).inner_text(), presets.inner_text()))
        page.keyboard.press("PageDown")
        page.wait_for_timeout(700)
    assert len({words for words, _ in forward}) == len(forward)
    assert len({words.split(" of ")[-1] for words, _ in forward[1:]}) == 1
    named = [name for _, name in forward if name]
    assert len(set(named)) == len(named)
    backward = []
    for _ in forward:
        page.keyboard.press("PageUp")
        page.wait_for_timeout(300)
        backward.append((told(page).inner_text(), presets.inner_text()))
    assert backward[::-1] == forward
