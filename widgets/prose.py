"""The prose: markdown with front matter, numbers asked for by name, numbered citations.

`{{ name }}` is replaced by what the section's view-model says; `[^key]` cites a source of
`sources.toml`. Sources are numbered in order of first use. Anything that does not resolve raises
`ContentError`, so a typo is a failing test and never a blank on the page.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

CONTENT = Path(__file__).parent.parent / "content"
WIDGET = "[[widget]]"

_NAME = re.compile(r"\{\{\s*([a-z0-9_]+)\s*\}\}")
_CITATION = re.compile(r"\[\^([a-z0-9-]+)\]")
_markdown = MarkdownIt("commonmark", {"html": True, "typographer": True}).enable(["table"])


class ContentError(ValueError):
    """A page of content asks for something that does not exist."""


@dataclass(frozen=True, slots=True)
class Page:
    """One markdown file: its front matter and its text, split where the widget stands.

    `widget` names the module of its section; a page without one may name a module of `numbers`
    whose `prose(scenario)` answers what its text asks for.
    """

    number: int
    slug: str
    title: str
    short: str
    question: str
    widget: str
    numbers: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of sources.toml."""

    key: str
    author: str
    title: str
    used_for: str
    url: str = ""
    year: str = ""
    where: str = ""


def load_pages(folder: Path = CONTENT) -> list[Page]:
    """Every numbered markdown file, in order."""
    return [read_page(path) for path in sorted(folder.glob("[0-9][0-9]-*.md"))]


def read_page(path: Path) -> Page:
    """Parse one file: `key: value` lines between two `---`, then the text."""
    text = path.read_text(encoding="utf-8")
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise ContentError(f"{path.name} must start with front matter between two --- lines")
    matter = {}
    for line in parts[1].strip().splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            raise ContentError(f"{path.name}: front matter line {line!r} has no colon")
        matter[key.strip()] = value.strip()
    missing = {"title", "short"} - set(matter)
    if missing:
        raise ContentError(f"{path.name}: front matter lacks {', '.join(sorted(missing))}")
    before, _, after = parts[2].partition(WIDGET)
    if matter.get("widget") and WIDGET not in parts[2]:
        raise ContentError(f"{path.name} names a widget but has no {WIDGET} line")
    number, slug = path.stem.split("-", 1)
    return Page(
        number=int(number),
        slug=slug,
        title=matter["title"],
        short=matter["short"],
        question=matter.get("question", ""),
        widget=matter.get("widget", ""),
        numbers=matter.get("numbers", ""),
        before=before,
        after=after,
    )


def load_sources(folder: Path = CONTENT) -> dict[str, Source]:
    """sources.toml by key."""
    table = tomllib.loads((folder / "sources.toml").read_text(encoding="utf-8"))
    return {key: Source(key=key, **entry) for key, entry in table.items()}


class Renderer:
    """Turns pages into HTML, in page order, numbering sources as they are first cited."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self.cited: dict[str, list[str]] = {}

    def html(self, text: str, numbers: Mapping[str, str], page: str) -> str:
        """Markdown to HTML with names and citations resolved."""

        def number(match: re.Match[str]) -> str:
            name = match.group(1)
            if name not in numbers:
                raise ContentError(f"{page}: {{{{ {name} }}}} is not a number the section offers")
            value = numbers[name]
            return value if value.startswith("<") else f'<span class="num">{escape(value)}</span>'

        def cite(match: re.Match[str]) -> str:
            return self._cite(match.group(1), page)

        filled = _CITATION.sub(cite, _NAME.sub(number, text))
        # What is wider than a phone scrolls sideways, so the keyboard must be able to reach it.
        formula, table = (
            f'<div class="{kind}" tabindex="0" role="group" aria-label="{words}">'
            for kind, words in (("display", "Formula"), ("table", "Table"))
        )
        return (
            _markdown.render(filled)
            .replace('<div class="display">', formula)
            .replace("<table>", f"{table}<table>")
            .replace("</table>", "</table></div>")
        )

    def sources_html(self) -> str:
        """The cited sources, numbered, each with what it was used for and links back."""
        items = []
        for key, places in self.cited.items():
            source = self.sources[key]
            title = f"<cite>{escape(source.title)}</cite>"
            if source.url:
                title = f'<a href="{escape(source.url)}" rel="noopener">{title}</a>'
            lead = escape(source.author) + (f", {source.year}" if source.year else "")
            where = f", {escape(source.where)}" if source.where else ""
            back = " ".join(
                f'<a class="back" href="#{place}" aria-label="Back to citation {i}">↑</a>'
                for i, place in enumerate(places, 1)
            )
            items.append(
                f'<li id="source-{key}">{lead}. {title}{where}. '
                f'<span class="used">{escape(source.used_for)}</span> {back}</li>'
            )
        return f'<ol class="sources">{"".join(items)}</ol>'

    def _cite(self, key: str, page: str) -> str:
        if key not in self.sources:
            raise ContentError(f"{page}: [^{key}] has no entry in sources.toml")
        places = self.cited.setdefault(key, [])
        place = f"cite-{key}-{len(places) + 1}"
        places.append(place)
        number = list(self.cited).index(key) + 1
        source = self.sources[key]
        year = f", {source.year}" if source.year else ""
        label = escape(f"{source.author}{year}: {source.title}", quote=True)
        return (
            f'<sup class="cite"><a id="{place}" href="#source-{key}" '
            f'data-source="{number}. {label}" '
            f'aria-label="Source {number}: {label}">{number}</a></sup>'
        )
