"""The prose: every name resolves, every citation has a source, and the printed text is pinned."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from widgets import page, prose
from widgets.share import parse_query


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).strip()


def rendered(slug: str) -> str:
    found = next(p for p in page.rendered_pages() if p.slug == slug)
    return text_of(found.before + found.after)


def test_pages_are_numbered_without_a_gap_and_have_front_matter() -> None:
    pages = prose.load_pages()
    assert [p.number for p in pages] == list(range(1, len(pages) + 1))
    assert all(p.title and p.short for p in pages)


def test_sections_come_first_and_sources_last() -> None:
    """A projector counts the sections alone, and Sources lists what is cited before it."""
    pages = prose.load_pages()
    with_widget = [bool(p.widget) for p in pages]
    assert with_widget == sorted(with_widget, reverse=True)
    assert pages[-1].slug == "sources"


def test_every_widget_page_names_a_section_module() -> None:
    for slug, (model_class, _) in page.section_classes().items():
        assert model_class.slug == slug


def test_every_source_is_cited_and_every_citation_has_a_source() -> None:
    renderer = prose.Renderer(prose.load_sources())
    for p in prose.load_pages():
        for key in re.findall(r"\[\^([a-z0-9-]+)\]", p.before + p.after):
            renderer._cite(key, p.slug)
    assert set(renderer.cited) == set(prose.load_sources())


def test_sources_are_numbered_by_first_use_and_link_back() -> None:
    sources = next(p for p in page.rendered_pages() if p.slug == "sources").after
    first = page.rendered_pages()[0].before
    assert re.search(r'href="#source-nanogpt"[^>]*>1</a>', first)
    assert sources.index("source-nanogpt") < sources.index("source-roofline")
    for place in re.findall(r'href="#(cite-[a-z0-9-]+)"', sources):
        assert any(f'id="{place}"' in p.before + p.after for p in page.rendered_pages()), place


@pytest.mark.parametrize(
    "sentence",
    [
        "Its ridge stands at 156 FLOP per byte.",
        "The arithmetic would be done in 1.75 ms. The reading takes 12.3 ms, so that is the step.",
        "Its intensity is 22.2, far to the left of the ridge",
        "One user alone needs 8.13 ms a step; 32 users together need 12.3 ms",
        "Let it join the step of the 32 users and the step takes 226 ms.",
        "Everyone who was decoding waits 18.4× as long",
        "Attention is the smaller part of it, 6.3 % of the prompt's FLOPs",
        "63.6 FLOP per byte at a context of 2,048",
        "At a context of 512 a batch of 430 reaches it. Beyond 803 tokens",
        "and the step is 12.06 ms and the pause 18.7×",
        "with its 8,030,261,248 parameters, and the step is 11.57 ms",
    ],
)
def test_section_1_prints(sentence: str) -> None:
    """Hand-worked: golden values of the reference document at N = 8.0e9, 312e12, 2.0e12."""
    assert sentence in rendered("prefill-decode")


@pytest.mark.parametrize(
    "sentence",
    [
        "8 billion parameters take 16 GB and 70 billion take 140 GB",
        "that is 131,072 bytes, or 128 KiB, for one token",
        "56 GB of an 80 GB device",
        "takes 1,073,741,824 bytes, so 52 of them fit and number 53 does not",
        "52 sequences become 13",
        "OPT-13B, which shares nothing, needs 800 KiB for a token",
        "DeepSeek-V3 keeps 70,272 bytes a token, where 128 heads kept whole would take 4,997,120",
        "140 GB of weights do not go into 72 GB. With 2 devices they do",
    ],
)
def test_section_2_prints(sentence: str) -> None:
    assert sentence in rendered("memory")


@pytest.mark.parametrize(
    "sentence",
    [
        "Up to 419 tokens, against 803 on the A100. The H100's ridge is higher, 295 FLOP per byte",
        "13, and 27 with 8 bits. The weights leave 147 GB; a sequence takes 10.7 GB",
        "Static batching takes 566 steps with a mean latency of 241; continuous batching takes 390",
        "13. Only full blocks are shared, so the 26 common tokens give 6 shared blocks",
        "512: the pause is 2.38× and the first token comes after 240 ms.",
        "γ = 2, for 1.40×.",
        "How far from 3.3616 may the mean be",
        "0.00227 tokens. A round's variance is 2.57",
        "After 15.5 s; TPOT is 25 ms.",
    ],
)
def test_the_exercises_answer(sentence: str) -> None:
    """Hand-worked: 16e9/(295.3·131,072 − 524,288); (288 − 141.1) GB over 10.74 GB; 9 + 10 − 6."""
    assert sentence in rendered("whats-next")


def test_no_number_of_the_model_is_typed_into_the_prose() -> None:
    """The figures that the model computes come by name; they must not stand in the markdown."""
    computed = ("12.3 ms", "226 ms", "18.4", "63.6", "131,072", "8,030,261,248", "140 GB", "56 GB")
    for p in prose.load_pages():
        for figure in computed:
            assert figure not in p.before + p.after, (p.slug, figure)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(prose.CONTENT, tmp_path / "content"))


def test_an_unknown_name_is_refused(folder: Path) -> None:
    with pytest.raises(prose.ContentError, match="no_such_number"):
        prose.Renderer(prose.load_sources(folder)).html("{{ no_such_number }}", {}, "page")


def test_an_unknown_source_is_refused(folder: Path) -> None:
    with pytest.raises(prose.ContentError, match="nobody-2099"):
        prose.Renderer(prose.load_sources(folder)).html("so it is.[^nobody-2099]", {}, "page")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no front matter", "front matter"),
        ("---\ntitle Missing colon\n---\ntext", "no colon"),
        ("---\ntitle: T\n---\ntext", "short"),
        ("---\ntitle: T\nshort: s\nwidget: memory\n---\ntext", "no \\[\\[widget\\]\\]"),
    ],
)
def test_broken_front_matter_says_what_is_wrong(folder: Path, text: str, complaint: str) -> None:
    path = folder / "03-broken.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(prose.ContentError, match=complaint):
        prose.read_page(path)


def test_input_names_are_unique_across_sections_and_the_scenario() -> None:
    """One address bar holds them all."""
    from widgets.layout import LAYOUT_NAMES
    from widgets.scenario import DEFAULTS

    names = [*DEFAULTS, "config", *LAYOUT_NAMES]
    for model_class, _ in page.section_classes().values():
        names += model_class.input_names()
    assert [name for name, times in Counter(names).items() if times > 1] == [], "taken twice"


def test_prose_is_readable_without_its_markup() -> None:
    for p in page.rendered_pages():
        text = text_of(p.before + p.after)
        assert "{{" not in text
        assert "[^" not in text
        assert "[[" not in text


def test_parse_query_is_not_fooled_by_fragments() -> None:
    assert parse_query("?batch=3")[0] == {"batch": "3"}


def test_one_answer_to_the_exercise_on_draft_lengths_clearly_wins() -> None:
    """Summed by hand: 1 + α + … + α^γ tokens over γ·c + 1 steps, at what the exercise says."""
    asked = rendered("whats-next")
    assert "A draft costs a fifth of a target step and is kept six times in ten." in asked
    gains = [sum(0.6**i for i in range(gamma + 1)) / (1 + 0.2 * gamma) for gamma in range(20)]
    first, second = sorted(gains, reverse=True)[:2]
    assert first == pytest.approx(1.4, rel=1e-12)
    assert gains.index(first) == 2
    assert first > 1.01 * second
