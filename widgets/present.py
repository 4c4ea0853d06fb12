"""On a projector: the same components, with every length measured in the screen.

The screen is thought of as 924 × 520 units, whatever its pixels, and a style sheet's `px` become
such units. At 1280 × 720 a unit is 1.385 pixels: labels of 13 px are 18 px there, 27 px at
1920 × 1080, and equally large on the wall. `static/present-scale.js` scales the charts likewise.
"""

from __future__ import annotations

import re

from widgets.bar import ScenarioBar
from widgets.card import Card, read_static
from widgets.layout import Layout

_LENGTH = re.compile(r"@media[^{]*|(?<![\w.#-])(-?\d*\.?\d+)px\b")


def in_units(css: str) -> str:
    """A style sheet with its pixels as units of the screen; the widths media ask for stay.

    >>> in_units("@media (max-width: 640px) { a { margin: 0 -4px } }")
    '@media (max-width: 640px) { a { margin: 0 calc(-4 * var(--px)) } }'
    """
    return _LENGTH.sub(lambda m: f"calc({m[1]} * var(--px))" if m[1] else m[0], css)


class PresentCard(Card):
    """The card, arranged for one screen."""

    _stylesheets = [  # noqa: RUF012 - Panel reads this class attribute
        in_units(read_static("card.css") + read_static("present-card.css"))
    ]


class PresentBar(ScenarioBar):
    """The scenario bar, which a presentation opens over the screen."""

    _stylesheets = [  # noqa: RUF012 - Panel reads this class attribute
        in_units(read_static("bar.css") + read_static("present-bar.css"))
    ]


def card_class(layout: Layout) -> type[Card]:
    """The card that goes with a layout."""
    return PresentCard if layout.mode == "present" else Card


def bar_class(layout: Layout) -> type[ScenarioBar]:
    """The bar that goes with a layout."""
    return PresentBar if layout.mode == "present" else ScenarioBar
