"""What a link says about the layout, and what an embedding page locks, holds on the server."""

from __future__ import annotations

import pytest

from widgets import server
from widgets.layout import HIDEABLE, LAYOUT_NAMES, Layout, read_layout
from widgets.page import section_classes
from widgets.session import Session

SECTIONS = {"prefill-decode": "prefill_decode", "paged-caches": "paging", "memory": "memory"}


def read(**pairs: str) -> tuple[Layout, list[str]]:
    return read_layout(pairs, SECTIONS, ["model", "device", "batch"])


def session(query: str) -> Session:
    return Session(section_classes(), query, "light")


def test_nothing_said_is_the_whole_page() -> None:
    assert read() == (Layout(), [])


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("paged-caches", "paged-caches"),
        ("paging", "paged-caches"),
        ("prefill_decode", "prefill-decode"),
        ("prefill-decode", "prefill-decode"),
    ],
)
def test_a_section_goes_by_its_slug_or_its_widget(said: str, slug: str) -> None:
    layout, problems = read(section=said, embed="1")
    assert (layout.mode, layout.section, problems) == ("embed", slug, [])


def test_an_embed_takes_locks_and_parts_to_leave_out() -> None:
    layout, problems = read(section="memory", embed="1", lock="model, batch", hide="prose")
    assert problems == []
    assert layout.locked == {"model", "batch"}
    assert [part for part in HIDEABLE if not layout.shows(part)] == ["prose"]


@pytest.mark.parametrize(
    ("pairs", "complaint", "mode"),
    [
        ({"section": "pagign", "embed": "1"}, "No section is called “pagign”", "page"),
        ({"embed": "1"}, "An embed needs one section", "page"),
        ({"section": "memory", "embed": "yes"}, "“embed=yes” was left out: it is 1 or 0", "page"),
        ({"section": "memory", "embed": "1", "present": "1"}, "exclude each other", "embed"),
        ({"section": "memory", "embed": "1", "lock": "colour"}, "and not “colour”", "embed"),
        ({"section": "memory", "embed": "1", "hide": "charts"}, "and not “charts”", "embed"),
        ({"lock": "model"}, "“lock” is for an embedded section only", "page"),
        ({"theme": "sepia"}, "“theme” is light or dark", "page"),
    ],
)
def test_what_does_not_fit_is_named_and_the_rest_applies(
    pairs: dict[str, str], complaint: str, mode: str
) -> None:
    layout, problems = read(**pairs)
    assert layout.mode == mode
    assert any(complaint in problem for problem in problems), problems


def test_a_presentation_starts_at_its_section() -> None:
    assert read(section="paging", present="1")[0] == Layout("present", "paged-caches")


def test_a_locked_input_is_refused_on_the_server_too() -> None:
    """A page's disabled control is a courtesy; anyone can send the message."""
    embed = session("section=prefill-decode&embed=1&model=70B&lock=model,batch")
    embed.receive({"set": {"model": "1B"}})
    assert embed.model.choices["model"] == "70B"
    assert "model is locked" in embed.bar.state["notices"][0]
    before = embed.models["prefill-decode"].inputs()
    embed.bring("prefill-decode").receive({"set": {"batch": 7}})
    assert embed.models["prefill-decode"].inputs() == before
    embed.receive({"config": {"name": "config.json", "text": "{}"}})
    assert embed.model.choices["model"] == "70B"


def test_an_address_is_no_way_around_a_lock() -> None:
    """Going back and forward sends the address, and anyone can send another one."""
    embed = session("section=prefill-decode&embed=1&model=70B&batch=64&lock=model,batch")
    embed.receive({"query": "model=1B&batch=8&context=4096"})
    inputs = embed.models["prefill-decode"].inputs()
    assert embed.model.choices["model"] == "70B"
    assert (inputs["batch"], inputs["context"]) == (64, 4096)


def test_presets_that_would_move_a_locked_input_are_not_offered() -> None:
    everything = session("section=prefill-decode&embed=1").bring("prefill-decode")
    locked = session("section=prefill-decode&embed=1&lock=batch").bring("prefill-decode")
    offered = locked.card.spec["presets"]
    assert set(offered) < set(everything.card.spec["presets"])
    moving = [p.name for p in locked.model.presets if "batch" in p.values]
    assert moving
    assert not set(moving) & set(offered)


def test_reset_goes_back_to_where_the_embedding_page_started() -> None:
    embed = session("section=prefill-decode&embed=1&model=70B&batch=64")
    embed.receive({"set": {"model": "1B"}})
    embed.bring("prefill-decode").receive({"set": {"batch": 8}})
    embed.receive({"reset": True})
    assert embed.model.choices["model"] == "70B"
    assert embed.models["prefill-decode"].batch == 64


def test_reset_goes_back_to_the_defaults_on_the_page() -> None:
    page = session("model=70B")
    page.receive({"reset": True})
    assert page.model.choices["model"] == "8B"


def test_a_hidden_prediction_covers_nothing() -> None:
    assert session("section=memory&embed=1&hide=prediction").bring("memory").revealed
    assert not session("section=memory&embed=1").bring("memory").revealed


def test_the_embed_code_carries_the_scenario_and_its_own_section_only() -> None:
    page = session("model=70B&batch=64&tokens=16384")
    assert page.query("prefill-decode") == "model=70B&batch=64"
    assert page.query("memory") == "model=70B&tokens=16384"


def test_layout_names_never_end_up_in_the_shared_state() -> None:
    query = session("section=memory&embed=1&lock=model&hide=prose&theme=dark").query()
    assert not [name for name in LAYOUT_NAMES if f"{name}=" in query]


@pytest.mark.parametrize(
    ("setting", "header"),
    [
        ("", ""),
        ("'none'", "frame-ancestors 'none'"),
        (
            "https://course.example http://localhost:8000",
            "frame-ancestors https://course.example http://localhost:8000",
        ),
        ("https://*.example.edu 'self'", "frame-ancestors https://*.example.edu 'self'"),
    ],
)
def test_the_embed_setting_becomes_the_header(setting: str, header: str) -> None:
    assert server.frame_ancestors(setting) == header


@pytest.mark.parametrize("setting", ["course.example", "https://a.example; script-src *", "*"])
def test_an_embed_setting_that_is_no_list_of_origins_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match="SERVING_EMBED_ORIGINS lists origins"):
        server.frame_ancestors(setting)
