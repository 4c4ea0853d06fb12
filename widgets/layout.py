"""How the page is shown: whole, one section embedded, on a projector, or in a notebook's cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from widgets.share import printable
from widgets.theme import THEMES

Mode = Literal["page", "embed", "present", "cell"]

# Names that the page itself reads from its address; they are not part of the shared state.
LAYOUT_NAMES = ("theme", "section", "embed", "present", "lock", "hide")

HIDEABLE = ("title", "prose", "prediction", "scenario", "presets", "tools")


@dataclass(frozen=True, slots=True)
class Layout:
    """What is shown of the page, and what of it a reader may change.

    `section` is a slug: the only section of an embed or cell, the first of a presentation, empty
    for none. A cell is an embed without a page around it: no address, no theme of its own.
    `locked` holds names of inputs that stay as the link has them, `hidden` parts that are left
    out of an embedded section.
    """

    mode: Mode = "page"
    section: str = ""
    theme: str = ""
    locked: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()

    def shows(self, part: str) -> bool:
        """Whether a part that an embed may leave out is there."""
        return part not in self.hidden


def read_layout(
    pairs: Mapping[str, str], sections: Mapping[str, str], lockable: Sequence[str]
) -> tuple[Layout, list[str]]:
    """Read a link's own names; returns the layout and a sentence for all that did not fit.

    `sections` maps each slug to its widget's name, and both are understood. A layout that cannot
    be made out is the whole page, never an error.

    >>> read_layout({"section": "paging", "embed": "1"}, {"paged-caches": "paging"}, [])[0].section
    'paged-caches'
    """
    problems: list[str] = []
    theme = pairs.get("theme", "")
    if theme and theme not in THEMES:
        problems.append("“theme” is light or dark; left as it was.")
        theme = ""
    section = _section(pairs.get("section", ""), sections, problems)
    embed, present = (_flag(name, pairs, problems) for name in ("embed", "present"))
    if embed and present:
        problems.append("“embed” and “present” exclude each other; “present” was left out.")
    if embed and not section:
        problems.append(
            f"An embed needs one section: section={' or '.join(sections)}. The whole page is shown."
        )
    mode: Mode = "embed" if embed and section else "present" if present and not embed else "page"
    locked = _names("lock", pairs, lockable, problems)
    hidden = _names("hide", pairs, HIDEABLE, problems)
    if mode != "embed":
        for name in ("lock", "hide"):
            if pairs.get(name):
                problems.append(f"“{name}” is for an embedded section only; left out.")
        locked = hidden = frozenset()
    return Layout(mode, section, theme, locked, hidden), problems


def refuse_locked(locked: Collection[str], asked: Collection[str]) -> None:
    """Raise `ValueError` where a change is asked of an input that the embedding page locked."""
    names = [name for name in asked if name in locked]
    if names:
        raise ValueError(f"{', '.join(names)} is locked by the page that embeds this section")


def _section(said: str, sections: Mapping[str, str], problems: list[str]) -> str:
    if said in sections:
        return said
    for slug, widget in sections.items():
        if said and said.replace("_", "-") == widget.replace("_", "-"):
            return slug
    if said:
        problems.append(
            f"No section is called “{printable(said)}”; there are {', '.join(sections)}."
        )
    return ""


def _flag(name: str, pairs: Mapping[str, str], problems: list[str]) -> bool:
    said = pairs.get(name, "0")
    if said not in ("0", "1"):
        problems.append(f"“{name}={printable(said)}” was left out: it is 1 or 0.")
    return said == "1"


def _names(
    name: str, pairs: Mapping[str, str], known: Sequence[str], problems: list[str]
) -> frozenset[str]:
    asked = [word.strip() for word in pairs.get(name, "").split(",") if word.strip()]
    unknown = [word for word in asked if word not in known]
    if unknown:
        listed = ", ".join(f"“{printable(word)}”" for word in unknown[:3])
        problems.append(f"“{name}” knows {', '.join(known)}, and not {listed}.")
    return frozenset(asked) & frozenset(known)
