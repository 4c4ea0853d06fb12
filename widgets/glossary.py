"""The glossary: terms explained once, and linked from their first use in every section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from pathlib import Path

_ENTRY = re.compile(r"^(?P<term>[^(:]+?)(?: \(also: (?P<also>[^)]+)\))?: (?P<text>.+)$", re.DOTALL)

# A link inside a link, a heading, a formula or code would be worse than none.
_CLOSED = frozenset({"a", "h1", "h2", "h3", "math", "code", "pre", "sup", "summary"})


@dataclass(frozen=True, slots=True)
class Term:
    """A term, the forms in which the prose uses it, and what it means."""

    name: str
    forms: tuple[str, ...]
    text: str

    @property
    def anchor(self) -> str:
        """Its id on the page."""
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower())


def load_glossary(path: Path) -> list[Term]:
    """Read glossary.md; raise `ValueError` naming a paragraph that is not an entry."""
    terms = []
    for paragraph in path.read_text(encoding="utf-8").strip().split("\n\n"):
        if paragraph.startswith("#"):
            continue
        entry = _ENTRY.match(paragraph.replace("\n", " "))
        if entry is None:
            raise ValueError(
                f"{path.name}: {paragraph[:40]!r} is not `term (also: …): explanation`"
            )
        also = [form.strip() for form in (entry["also"] or "").split(",") if form.strip()]
        terms.append(Term(entry["term"], (entry["term"], *also), entry["text"].strip()))
    return terms


def glossary_html(terms: Sequence[Term]) -> str:
    """The glossary as a definition list, in alphabetical order."""
    rows = [
        f'<dt id="{term.anchor}">{escape(term.name)}</dt><dd>{escape(term.text)}</dd>'
        for term in sorted(terms, key=lambda term: term.name.lower())
    ]
    return f'<dl class="glossary">{"".join(rows)}</dl>'


class _Linker(HTMLParser):
    """Copies HTML, turning the first use of each term in running text into a link."""

    def __init__(self, terms: Sequence[Term], seen: set[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.out: list[str] = []
        self.seen = seen
        self._inside: list[str] = []
        self._by_form = {form.lower(): term for term in terms for form in term.forms}
        # The longest form first, so that “token budget” is not taken for something shorter.
        longest = sorted(self._by_form, key=len, reverse=True)
        self._any = re.compile(
            r"(?<![\w-])(" + "|".join(map(re.escape, longest)) + r")(?![\w-])", re.IGNORECASE
        )

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.out.append(self.get_starttag_text() or "")
        if tag in _CLOSED:
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.out.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self.out.append(f"</{tag}>")
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        self.out.append(data if self._inside else self._any.sub(self._link, data))

    def handle_entityref(self, name: str) -> None:
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.out.append(f"&#{name};")

    def _link(self, match: re.Match[str]) -> str:
        term = self._by_form[match.group(1).lower()]
        if term.name in self.seen:
            return match.group(0)
        self.seen.add(term.name)
        title = escape(term.text, quote=True)
        return f'<a class="term" href="#{term.anchor}" title="{title}">{match.group(0)}</a>'


def link_terms(html: str, terms: Sequence[Term], seen: set[str]) -> str:
    """Link the first use of each term that is not in `seen` yet; `seen` is added to."""
    linker = _Linker(terms, seen)
    linker.feed(html)
    linker.close()
    return "".join(linker.out)
