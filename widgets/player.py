"""A text played back in real time, in lanes side by side: what to play, and when.

The pieces of text are the section's own (`SectionModel.player_pieces`) and travel once; a `Player`
says how many of them to play and the moments of each lane. Nothing moves before the reader starts
it, and where the reader wants no motion it steps from one moment to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Lane:
    """Piece i appears `first_s` + i·`gap_s` after the start; a gap of 0 brings all at once.

    `marks` are (seconds, words): each is written below the lane once its moment has passed.
    """

    label: str
    first_s: float
    gap_s: float
    marks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Player:
    """The first `count` pieces of the section's text, played in each of the lanes."""

    title: str
    count: int
    lanes: tuple[Lane, ...]

    def shown(self) -> dict[str, Any]:
        """What travels to the page when it changes."""
        return {
            "title": self.title,
            "count": self.count,
            "lanes": [
                {
                    "label": lane.label,
                    "first_s": lane.first_s,
                    "gap_s": lane.gap_s,
                    "marks": [list(mark) for mark in lane.marks],
                }
                for lane in self.lanes
            ],
        }
