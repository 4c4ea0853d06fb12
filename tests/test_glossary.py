"""The glossary: every term once, linked from its first use in every section and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from widgets import page, prose
from widgets.glossary import link_terms, load_glossary

TERMS = load_glossary(prose.CONTENT / "glossary.md")


def test_the_terms_of_the_design_are_explained() -> None:
    """The field's standard terms, as the page uses them."""
    names = {term.name for term in TERMS}
    assert {
        "intensity",
        "ridge",
        "peak",
        "bandwidth",
        "step",
        "prefill",
        "decode",
        "TTFT",
        "ITL",
        "TPOT",
        "KV cache",
        "block table",
        "reference count",
        "free queue",
        "token budget",
        "chunk",
        "acceptance rate",
        "draft length",
        "draft cost ratio",
        "tokens per target pass",
    } <= names


def test_no_two_terms_share_a_form() -> None:
    forms = [form.lower() for term in TERMS for form in term.forms]
    assert len(forms) == len(set(forms))


def test_each_section_links_a_term_once_at_its_first_use() -> None:
    for rendered in page.rendered_pages():
        if rendered.slug == "glossary":
            continue
        text = rendered.before + rendered.after
        anchors = re.findall(r'<a class="term" href="#(term-[^"]+)"', text)
        assert len(anchors) == len(set(anchors)), rendered.slug
    first = page.rendered_pages()[0].before
    assert 'href="#term-prefill"' in first
    assert 'href="#term-ridge"' in first


def test_every_link_leads_to_an_entry() -> None:
    glossary = page.rendered_pages()[-1]
    assert glossary.slug == "glossary"
    entries = set(re.findall(r'<dt id="([^"]+)"', glossary.before))
    assert entries == {term.anchor for term in TERMS}


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ("<p>The ridge is here, the ridge again.</p>", 1),
        ("<h3>The ridge</h3>", 0),
        ("<p><a href='#x'>ridge</a></p>", 0),
        ("<p><code>ridge</code> and <math><mi>ridge</mi></math></p>", 0),
        ("<p>ridgeline and un-ridge</p>", 0),
        ("<p>&lt;b&gt; Ridge &#215;</p>", 1),
        ("<p>a token budget</p>", 1),
    ],
)
def test_only_running_text_is_linked_and_nothing_else_is_changed(html: str, linked: int) -> None:
    out = link_terms(html, TERMS, set())
    assert out.count('class="term"') == linked
    assert re.sub(r'<a class="term"[^>]*>([^<]*)</a>', r"\1", out) == html


def test_a_paragraph_that_is_no_entry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "glossary.md"
    path.write_text("no colon here", encoding="utf-8")
    with pytest.raises(ValueError, match="no colon here"):
        load_glossary(path)
