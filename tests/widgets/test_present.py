"""The projector: style sheets in units of the screen, and what is left off the page."""

from __future__ import annotations

import re

import pytest

from widgets.bar import ScenarioBar
from widgets.card import Card, read_static
from widgets.layout import Layout
from widgets.page import section_classes, variables
from widgets.present import PresentBar, PresentCard, bar_class, card_class, in_units
from widgets.session import Session


def test_lengths_become_units_and_nothing_else_does() -> None:
    assert in_units("a{font:600 14px/20px x}") == (
        "a{font:600 calc(14 * var(--px))/calc(20 * var(--px)) x}"
    )
    assert in_units("a{margin:-3px .5px 0 2em}") == (
        "a{margin:calc(-3 * var(--px)) calc(.5 * var(--px)) 0 2em}"
    )
    untouched = ("@media (max-width: 640px) and (min-height: 2px) { a { top: 0 } }", "--px: 1vw")
    for css in untouched:
        assert in_units(css) == css


@pytest.mark.parametrize("name", ["card.css", "present-card.css", "bar.css", "present.css"])
def test_no_pixel_is_left_in_a_style_sheet_of_the_projector(name: str) -> None:
    css = in_units(read_static(name))
    lines = [line for line in css.splitlines() if "@media" not in line]
    assert re.findall(r"\dpx", "".join(lines)) == []


def test_only_a_presentation_gets_its_own_card_and_bar() -> None:
    for mode in ("page", "embed"):
        layout = Layout(mode=mode)  # type: ignore[arg-type]
        assert (card_class(layout), bar_class(layout)) == (Card, ScenarioBar)
    layout = Layout(mode="present")
    assert (card_class(layout), bar_class(layout)) == (PresentCard, PresentBar)


def test_a_presentation_has_the_sections_with_a_widget_and_the_page_no_code_of_it() -> None:
    presented = variables(Session(section_classes(), "present=1", "light"))
    assert [page.slug for page in presented["pages"]] == list(section_classes())
    assert "ArrowRight" in presented["present_js"]
    whole = variables(Session(section_classes(), "", "light"))
    assert whole["present_js"] == whole["present_css"] == ""
    assert len(whole["pages"]) > len(presented["pages"])


@pytest.mark.parametrize("slug", list(section_classes()))
def test_a_preset_shows_a_chart_or_player_that_its_section_has(slug: str) -> None:
    model, _ = section_classes()[slug]
    known = {"", *(chart.name for chart in model.charts)}
    if model.player_pieces:
        known.add("player")
    assert {preset.shows for preset in model.presets} <= known
