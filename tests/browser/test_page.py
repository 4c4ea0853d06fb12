"""The page driven as a reader drives it, in a real Chromium that reaches no other host."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from core import roofline
from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.browser.conftest import COLUMN, Watched, bring, running, wait_live, wait_until
from widgets.theme import Theme, colour

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

LLAMA = Path(__file__).parents[1] / "core" / "data" / "configs" / "meta-llama--Meta-Llama-3-8B.json"
A4_WITHIN_MARGINS = "688px"


def card(page: Page, slug: str) -> Locator:
    return page.locator(f"#{slug} .widget")


def readout(page: Page, slug: str, key: str) -> Locator:
    return card(page, slug).locator(f"[data-readout={key}] strong")


def rgb(role: str, name: Theme) -> str:
    """A colour of the theme as a browser says it."""
    red, green, blue = bytes.fromhex(colour(role, name)[1:])
    return f"rgb({red}, {green}, {blue})"


def look(page: Page, slug: str) -> None:
    """Bring a section into sight and pass its prediction."""
    bring(page, slug).get_by_role("button", name="just show me").click()
    expect(card(page, slug).locator(".cover")).to_have_count(0)


def test_the_page_opens_with_the_reference_numbers(open_page: Open) -> None:
    page = open_page().page
    expect(readout(page, "prefill-decode", "step")).to_have_text("12.3")
    expect(readout(page, "prefill-decode", "mixed")).to_have_text("226")
    expect(page.locator("h1")).to_have_text("Serving language models from scratch")
    expect(page.locator("#scenario .sum")).to_have_text(
        "16 GB · 128 KiB a token · ridge 156 FLOP/B"
    )


def test_a_slider_moves_readouts_sentence_and_chart_to_what_core_computes(open_page: Open) -> None:
    page = open_page().page
    look(page, "prefill-decode")
    slider = card(page, "prefill-decode").locator("input[data-key=batch]")
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    batch = int(card(page, "prefill-decode").locator("[data-entry=batch]").input_value())
    assert batch == 128
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    cost = roofline.step_costs(scenario, decode_batch=batch, context=2048)
    expect(readout(page, "prefill-decode", "step")).to_have_text("25.2")
    expect(card(page, "prefill-decode").locator(".summary")).to_contain_text("25.2 ms")
    assert page.evaluate(COLUMN, ["roofline", "marks", "x"]) == [
        pytest.approx(float(cost.intensity_flop_per_byte))
    ]
    assert page.evaluate(COLUMN, ["step-time", "marks", "y"]) == [
        pytest.approx(float(cost.time_s) * 1e3)
    ]


def test_an_exact_value_can_be_typed_and_a_wrong_one_is_explained(open_page: Open) -> None:
    page = open_page().page
    entry = card(page, "prefill-decode").locator("[data-entry=batch]")
    entry.fill("33")
    entry.press("Enter")
    expect(readout(page, "prefill-decode", "step")).to_have_text("12.4")
    problem = card(page, "prefill-decode").locator(".problem")
    for wrong in ("9999", "abc", "-1", "3,3", "99999999999999999999"):
        entry.fill(wrong)
        entry.press("Enter")
        expect(problem).to_contain_text("Decode batch must be")
        expect(problem).to_contain_text("512")
        expect(entry).to_have_value("33")
    entry.fill("64")
    entry.press("Enter")
    expect(problem).to_be_hidden()


def test_what_a_prediction_asks_for_stays_covered_until_answered(open_page: Open) -> None:
    page = open_page().page
    this = card(page, "prefill-decode")
    expect(readout(page, "prefill-decode", "crossing")).to_have_text("?")
    expect(this.locator(".cover")).to_have_count(1)
    assert page.evaluate(COLUMN, ["roofline", "limit", "label"]) == []
    this.get_by_role("button", name="156", exact=True).click()
    expect(this.locator(".verdict")).to_contain_text("You said 156; the answer is never.")
    expect(readout(page, "prefill-decode", "crossing")).to_have_text("never")
    expect(this.locator(".cover")).to_have_count(0)
    wait_until(page, f"({COLUMN})(['roofline', 'limit', 'label']).length === 1")


def test_an_answer_is_remembered_while_the_tab_lives(open_page: Open) -> None:
    page = open_page().page
    look(page, "prefill-decode")
    page.reload()
    wait_live(page)
    expect(card(page, "prefill-decode").locator(".cover")).to_have_count(0)


def test_every_readout_opens_to_formula_values_and_result(open_page: Open) -> None:
    page = open_page().page
    for slug in ("prefill-decode", "memory"):
        look(page, slug)
        buttons = card(page, slug).locator(".readout")
        for i in range(buttons.count()):
            buttons.nth(i).click()
            arithmetic = card(page, slug).locator(".arithmetic")
            expect(arithmetic).to_be_visible()
            assert arithmetic.locator("math").count() >= 2
            assert "=" in arithmetic.inner_text()
            buttons.nth(i).click()
            expect(arithmetic).to_be_hidden()


def test_formulas_are_set_in_the_shipped_maths_font(open_page: Open) -> None:
    page = open_page().page
    formula = page.locator(".display math").first
    assert "Serving Math" in formula.evaluate("node => getComputedStyle(node).fontFamily")
    assert page.evaluate("() => document.fonts.check('18px \"Serving Math\"')")
    box = formula.locator("mfrac").first.bounding_box()
    assert box is not None
    assert box["height"] > 20, "a fraction stands two lines high"


def test_section_2_is_built_when_it_comes_near(open_page: Open) -> None:
    page = open_page().page
    assert page.locator("#prefill-decode canvas").count() > 0
    assert page.locator("#memory .widget").count() == 0
    look(page, "memory")
    page.locator("#memory canvas").first.wait_for()
    expect(readout(page, "memory", "sequences")).to_have_text("52")


def test_the_scenario_moves_both_sections(open_page: Open) -> None:
    page = open_page().page
    page.locator("#scenario [data-key=size]").focus()
    page.keyboard.press("End")
    expect(page.locator("#scenario select[data-key=model] option:checked")).to_have_text(
        "405B textbook"
    )
    look(page, "memory")
    expect(card(page, "memory").locator(".summary")).to_contain_text("does not fit: 810 GB")
    page.locator("#scenario [data-key=devices]").fill("16")
    page.locator("#scenario [data-key=devices]").press("Enter")
    expect(card(page, "memory").locator(".summary")).to_contain_text("leave 342 GB")


def test_a_config_json_becomes_the_model_of_the_page(open_page: Open) -> None:
    page = open_page().page
    page.locator("#scenario input[type=file]").set_input_files(LLAMA)
    found = page.locator("#scenario .found")
    expect(found).to_contain_text("8,030,261,248")
    expect(found).to_contain_text("num_key_value_heads")
    expect(found).to_contain_text("131,072 B = 128 KiB")
    expect(readout(page, "prefill-decode", "step")).to_have_text("11.8")
    wait_until(page, "location.search.includes('config=')")
    page.reload()
    wait_live(page)
    expect(page.locator("#scenario .found")).to_contain_text("8,030,261,248")


def test_a_file_can_be_dropped_on_the_bar(open_page: Open) -> None:
    page = open_page().page
    data = page.evaluate_handle(
        """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "config.json", {type: "application/json"}));
        return data; }""",
        LLAMA.read_text(encoding="utf-8"),
    )
    page.locator("#scenario .scenario").dispatch_event("drop", {"dataTransfer": data})
    expect(page.locator("#scenario .found")).to_contain_text("8,030,261,248")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("huge.json", b"0" * 50_000_000, "50.0 MB"),
        ("empty.json", b"", "empty"),
        ("broken.json", b"{", "JSON"),
        ("list.json", b"[1]", "object"),
        ("photo.png", b"\x89PNG\xff\xfe", "is not UTF-8 text"),
        ("wide.json", json.dumps({"model_type": "llama"}).encode("utf-16"), "is not UTF-8 text"),
        (
            "odd.json",
            json.dumps({"model_type": "perceiver", "hidden_size": 1}).encode(),
            "perceiver",
        ),
    ],
)
def test_a_bad_file_is_explained_and_the_scenario_stays(
    open_page: Open, name: str, content: bytes, said: str
) -> None:
    page = open_page().page
    page.locator("#scenario input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": content}
    )
    notice = page.locator("#scenario .notice:visible")
    expect(notice).to_contain_text(name)
    expect(notice).to_contain_text(said)
    expect(readout(page, "prefill-decode", "step")).to_have_text("12.3")


def test_a_device_can_be_typed_in(open_page: Open) -> None:
    page = open_page().page
    page.locator("#scenario select[data-key=device]").select_option(label="your own…")
    rate = page.locator("#scenario [data-key=rate]")
    rate.fill("4")
    rate.press("Enter")
    # A card out of sight follows once it is in sight.
    card(page, "prefill-decode").scroll_into_view_if_needed()
    expect(readout(page, "prefill-decode", "step")).to_have_text("6.15")
    for wrong, said in (("fast", "got fast"), ("3,35", "with a decimal point it is 3.35")):
        rate.fill(wrong)
        rate.press("Enter")
        notice = page.locator("#scenario .notice:visible")
        expect(notice).to_contain_text("Bandwidth, TB/s must be")
        expect(notice).to_contain_text(said)
        expect(rate).to_have_value("4")


def test_what_is_being_typed_stays_when_the_server_answers(open_page: Open) -> None:
    page = open_page().page
    page.locator("#scenario select[data-key=device]").select_option(label="your own…")
    rate = page.locator("#scenario [data-key=rate]")
    expect(rate).to_be_visible()  # keys do not wait for that
    entry = card(page, "prefill-decode").locator("[data-entry=batch]")
    for field, text in ((rate, "4.5"), (entry, "77")):
        field.press("ControlOrMeta+a")
        field.press_sequentially(text)
        page.evaluate("() => dispatchEvent(new Event('serving-again'))")  # everything, once more
        page.wait_for_timeout(600)
        expect(field).to_have_value(text)
        field.press("Escape")
    expect(entry).to_have_value("32")


def test_the_address_bar_is_written_on_release_without_history(open_page: Open) -> None:
    page = open_page().page
    before = page.evaluate("() => history.length")
    slider = card(page, "prefill-decode").locator("input[data-key=context]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=5)
    time.sleep(0.5)
    assert "context" not in page.url, "nothing is written while the hand is on the slider"
    page.mouse.up()
    wait_until(page, "location.search.includes('context=')")
    assert page.evaluate("() => history.length") == before
    step = readout(page, "prefill-decode", "step").inner_text()
    page.reload()
    wait_live(page)
    expect(readout(page, "prefill-decode", "step")).to_have_text(step)


def test_only_what_differs_is_in_the_address(open_page: Open) -> None:
    page = open_page("?batch=64").page
    entry = card(page, "prefill-decode").locator("[data-entry=batch]")
    entry.fill("32")
    entry.press("Enter")
    wait_until(page, "location.search === ''")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?batch=abc&context=1e99&theme=dark", "batch=abc"),
        ("?q=%ff&batch=64", "not valid UTF-8"),
        ("?batch=%3Cscript%3Ehacked%3D1%3C%2Fscript%3E", "<script>hacked=1</script>"),
        ("?" + "&".join(["a=1"] * 10_000), "10,000 parameters"),
        ("?config=AAAA", "cannot be unpacked"),
        ("?device=H900", "device must be one of"),
    ],
)
def test_a_bad_address_is_named_and_the_page_still_opens(
    open_page: Open, query: str, said: str
) -> None:
    page = open_page(query).page
    expect(page.locator("#scenario .notices")).to_contain_text(said)
    expect(readout(page, "prefill-decode", "ridge")).to_have_text("156")
    assert page.evaluate("() => window.hacked") is None
    if "theme=dark" in query:
        assert page.locator("html").get_attribute("data-theme") == "dark"


def test_a_notice_can_be_dismissed(open_page: Open) -> None:
    page = open_page("?batch=abc").page
    page.locator("#scenario .notice button").click()
    expect(page.locator("#scenario .notice:visible")).to_have_count(0)


def test_the_theme_follows_the_reader_and_charts_follow_the_theme(open_page: Open) -> None:
    page = open_page(dark=True).page
    axis = "Bokeh.documents[0].get_model_by_name('roofline')?.below?.[0]"
    colour = f"{axis}.axis_label_text_color"
    wait_until(page, f"{axis} && {colour} === '#aaa59a'")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="Use the light theme").click()
    wait_until(page, f"{colour} === '#625e56'")
    page.reload()
    wait_live(page)
    assert page.locator("html").get_attribute("data-theme") == "light"


def test_a_charts_data_downloads_as_csv_and_the_chart_as_png(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page().page
    figure = card(page, "prefill-decode").get_by_role("group", name="The roofline")
    with page.expect_download() as got:
        figure.get_by_role("button", name="CSV").click()
    text = Path(got.value.path()).read_text(encoding="utf-8")
    assert text.splitlines()[0] == "batch,intensity_flop_per_byte,achieved_tflop_per_s"
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    first = roofline.step_costs(scenario, decode_batch=1, context=2048)
    assert float(text.splitlines()[1].split(",")[1]) == float(first.intensity_flop_per_byte)
    with page.expect_download() as got:
        figure.get_by_role("button", name="PNG").click()
    picture = Path(got.value.path()).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5_000
    assert got.value.suggested_filename == "prefill-decode-roofline.png"


def test_the_data_table_is_live(open_page: Open) -> None:
    page = open_page().page
    figure = card(page, "prefill-decode").get_by_role("group", name="The roofline")
    figure.get_by_text("Data table").click()
    expect(figure.locator("tbody tr").first).to_contain_text("1.05")
    entry = card(page, "prefill-decode").locator("[data-entry=context]")
    entry.fill("512")
    entry.press("Enter")
    expect(figure.locator("tbody tr").first).to_contain_text("1.0")
    expect(figure.locator("tbody tr").last).to_contain_text("165")


def test_the_python_snippet_is_shown(open_page: Open) -> None:
    page = open_page().page
    this = card(page, "prefill-decode")
    this.get_by_text("Reproduce in Python").click()
    expect(this.locator(".code")).to_contain_text("from core import roofline")


def test_presets_set_the_inputs(open_page: Open) -> None:
    page = open_page().page
    card(page, "prefill-decode").get_by_role("button", name="one user").click()
    expect(card(page, "prefill-decode").locator("[data-entry=batch]")).to_have_value("1")
    look(page, "memory")
    card(page, "memory").get_by_role("button", name="70B on four").click()
    expect(page.locator("#scenario [data-key=devices]")).to_have_value("4")
    expect(card(page, "memory").locator(".summary")).to_contain_text("140 GB of weights")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_axe_finds_nothing(open_page: Open, dark: bool, phone: bool) -> None:
    page = open_page("?batch=abc", dark=dark, phone=phone).page
    for slug in ("prefill-decode", "memory"):
        look(page, slug)
        card(page, slug).locator(".readout").first.click()
        card(page, slug).get_by_text("Assumptions").click()
    page.locator("#scenario input[type=file]").set_input_files(LLAMA)
    expect(page.locator("#scenario .found")).to_be_visible()
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("() => axe.run()")
    told = [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert told == [], "\n".join(map(str, told))


def test_a_phone_shows_everything_without_sideways_scrolling(open_page: Open) -> None:
    page = open_page(phone=True).page
    for slug in ("prefill-decode", "memory"):
        look(page, slug)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 375
    shown = card(page, "prefill-decode")
    for target in ("input[type=range]", "select", ".tools button", ".chart-tools button"):
        for i in range(shown.locator(target).count()):
            box = shown.locator(target).nth(i).bounding_box()
            assert box is not None
            assert box["height"] >= 44, target


def test_the_bars_summary_is_whole_at_1360_and_in_its_tooltip(open_page: Open) -> None:
    page = open_page().page
    summary = page.locator("#scenario .sum")
    said = summary.inner_text()
    assert summary.evaluate("node => node.scrollWidth <= node.clientWidth")
    expect(summary).to_have_attribute("title", said)
    page.locator("#scenario [data-key=size]").press("End")
    expect(summary).not_to_have_attribute("title", said)


def test_on_a_phone_the_bar_fades_where_it_goes_on_and_not_at_its_end(open_page: Open) -> None:
    page = open_page(phone=True).page
    bar = page.locator("#scenario .bar")
    fade = bar.evaluate("node => getComputedStyle(node).maskImage")
    assert "56px" in fade
    faded_px = bar.evaluate(
        """node => {
        const right = () => node.lastElementChild.getBoundingClientRect().right - innerWidth + 56;
        const before = right();
        node.scrollLeft = node.scrollWidth;
        return [before, right()]; }"""
    )
    assert faded_px[0] > 0
    assert faded_px[1] <= 0


def test_readouts_stay_in_sight_on_a_phone(open_page: Open) -> None:
    page = open_page(phone=True).page
    card(page, "prefill-decode").locator("input[data-key=prompt]").scroll_into_view_if_needed()
    expect(readout(page, "prefill-decode", "step")).to_be_in_viewport()


def test_the_keyboard_reaches_every_control_and_each_has_a_name(open_page: Open) -> None:
    page = open_page().page
    nameless = page.evaluate(
        """() => {
        const found = [];
        const visit = (root) => {
          for (const node of root.querySelectorAll("*")) {
            if (node.shadowRoot) visit(node.shadowRoot);
            if (!node.matches("button, select, input, a[href], summary")) continue;
            if (node.type === "file" || node.closest("[hidden]")) continue;
            const labelled = node.getAttribute("aria-label") || node.textContent.trim()
              || (node.labels && node.labels.length);
            if (!labelled || node.tabIndex < 0) found.push(node.outerHTML.slice(0, 80));
          }
        };
        visit(document);
        return found; }"""
    )
    assert nameless == []


def test_nothing_moves_unasked(open_page: Open) -> None:
    page = open_page(reduced_motion="reduce").page
    moving = page.evaluate("() => document.getAnimations().length")
    assert moving == 0


def test_a_unit_keeps_clear_of_the_border_that_forced_colours_draw(open_page: Open) -> None:
    page = open_page(forced_colors="active").page
    value = card(page, "prefill-decode").locator(".value").filter(has_text="tokens").first
    entry, unit = (value.locator(part).bounding_box() for part in (".entry", ".unit"))
    assert entry
    assert unit
    assert unit["x"] >= entry["x"] + entry["width"] + 4


def test_print_leaves_out_what_paper_cannot_use(open_page: Open) -> None:
    page = open_page().page
    page.emulate_media(media="print")
    expect(page.locator("nav")).to_be_hidden()
    expect(card(page, "prefill-decode").locator(".tools")).to_be_hidden()
    expect(page.locator("#prefill-decode .prose").first).to_be_visible()


# How many charts there are, and how many reach beyond their place or the page once this is so
# wide. All in one go: nothing draws a chart anew for paper.
BEYOND = """(width) => {
  const main = document.getElementById("main");
  dispatchEvent(new Event("beforeprint"));
  main.style.width = width;
  const paper = main.getBoundingClientRect();
  let [charts, beyond] = [0, 0];
  const visit = (root, host) => {
    for (const node of root.querySelectorAll("*")) {
      const place = node.closest(".canvas") ?? host;
      if (node.matches("canvas") && place) {
        const [edge, room] = [node, place].map((one) => one.getBoundingClientRect().right);
        charts += 1;
        beyond += edge > room + 1 || room > paper.right + 1;
      }
      if (node.shadowRoot) visit(node.shadowRoot, place);
    }
  };
  visit(document, null);
  main.style.width = "";
  return [charts, beyond];
}"""


@pytest.mark.parametrize("width", [794, 1280, 1600])
def test_a_chart_on_paper_is_no_wider_than_its_place(open_page: Open, width: int) -> None:
    page = open_page().page
    page.set_viewport_size({"width": width, "height": 900})
    for slug in ("prefill-decode", "memory", "continuous-batching"):
        look(page, slug)
        card(page, slug).locator("canvas").first.wait_for()
    page.emulate_media(media="print")
    wait_until(page, f"({BEYOND})('')[1] === 0")
    charts, beyond = page.evaluate(BEYOND, A4_WITHIN_MARGINS)
    assert charts >= 8
    assert beyond == 0


def test_paper_keeps_covered_what_the_screen_covers(open_page: Open) -> None:
    page = open_page().page
    page.emulate_media(media="print")
    this = card(page, "prefill-decode")
    expect(this.locator(".cover")).to_be_visible()
    expect(this.locator(".covered").first).to_be_hidden()
    expect(this.locator(".predict")).to_contain_text("from which batch on")
    expect(this.get_by_role("button", name="just show me")).to_be_hidden()
    page.emulate_media(media="screen")
    look(page, "prefill-decode")
    page.emulate_media(media="print")
    expect(this.locator(".verdict")).to_contain_text("The answer is never.")


def test_paper_says_where_a_section_was_not_read(open_page: Open) -> None:
    page = open_page().page
    page.pdf(format="A4")
    page.emulate_media(media="print")
    note = "node => getComputedStyle(node, '::before').content"
    near, far = (page.locator(f"[data-section={slug}]") for slug in ("prefill-decode", "caveats"))
    assert near.evaluate(note) == "none"
    assert "once you have scrolled to it" in far.evaluate(note)
    box = far.bounding_box()
    assert box is not None
    assert box["height"] < 60, "no empty place is left"


def test_paper_is_light_and_a_chart_drawn_in_the_dark_keeps_its_ground(open_page: Open) -> None:
    page = open_page(dark=True).page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    style = "getComputedStyle(node)"
    assert page.locator("body").evaluate(f"node => {style}.color") == rgb("ink", "light")
    chart = card(page, "prefill-decode").locator(".canvas > *").first
    found = chart.evaluate(f"node => [{style}.backgroundColor, {style}.printColorAdjust]")
    assert found == [rgb("card", "dark"), "exact"]


def test_a_citation_leads_to_its_source_and_back(open_page: Open) -> None:
    page = open_page().page
    shown = "node => getComputedStyle(node, '::after').content"
    citation = page.locator("#cite-roofline-1")
    assert citation.evaluate(shown) == "none"
    page.keyboard.press("Tab")
    citation.focus()
    assert "Samuel Williams" in citation.evaluate(shown), "focus shows the source"
    page.locator("#cite-roofline-1").click()
    assert page.url.endswith("#source-roofline")
    expect(page.locator("#source-roofline")).to_be_in_viewport()
    page.locator("#source-roofline .back").click()
    expect(page.locator("#cite-roofline-1")).to_be_in_viewport()


def test_the_prose_reads_without_javascript(browser: Any, server: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server)
    expect(page.locator("#memory .prose").first).to_contain_text("Weights come first.")
    expect(page.locator("#prefill-decode .prose").last).to_contain_text("226 ms")
    context.close()


def test_a_lost_server_is_said(browser: Any) -> None:
    with running() as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.url)
        wait_live(page)
        expect(page.locator("#lost")).to_be_hidden()
    expect(page.locator("#lost")).to_be_visible(timeout=15_000)
    context.close()
