"""What a section that plays a text in real time sends to the page, and when."""

from __future__ import annotations

from typing import Any

import param

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from widgets.base import Control, SectionModel, SectionResult
from widgets.player import Lane, Player
from widgets.predict import Prediction
from widgets.section import SectionView

S = Scenario(MODELS["8B"], DEVICES["A100"])


class Reading(SectionModel):
    """Plays three words at a pace; another input has nothing to do with it."""

    pace = param.Integer(2, bounds=(1, 9))
    weather = param.Integer(1, bounds=(1, 9))

    slug = "reading"
    player_pieces = ("one", " two", " three")
    controls = (Control("pace", "Pace", stops=[1, 9]), Control("weather", "Weather", stops=[1, 9]))

    def compute(self) -> SectionResult:
        lane = Lane("streamed", 0.5, 1 / self.pace, ((0.5, "first word"),))
        return SectionResult(
            f"weather {self.weather}", (), {}, {}, player=Player("Reading", 3, (lane,))
        )

    def prediction(self) -> Prediction:
        return Prediction("Which?", ("this", "that"), "this", "", ("player",))


class ReadingView(SectionView):
    """No charts at all."""

    def build_charts(self) -> list[Any]:
        return []

    def render(self, _: SectionResult) -> None:
        pass


def test_the_text_travels_once_and_the_moments_with_the_state() -> None:
    view = ReadingView(Reading(S))
    assert view.card.spec["pieces"] == ["one", " two", " three"]
    assert view.card.state["player"] == {
        "title": "Reading",
        "count": 3,
        "lanes": [
            {"label": "streamed", "first_s": 0.5, "gap_s": 0.5, "marks": [[0.5, "first word"]]}
        ],
    }


def test_a_change_that_plays_the_same_sends_no_player() -> None:
    """Otherwise moving any slider would put what is playing back to its start."""
    view = ReadingView(Reading(S))
    sent: list[dict[str, Any]] = []
    view.card._send_msg = lambda message, **_: sent.append(message["state"])  # type: ignore[method-assign]
    view.receive({"set": {"weather": 5}})
    assert [("result" in state, "player" in state) for state in sent] == [(True, False)]
    view.receive({"set": {"pace": 4}})
    assert sent[-1]["player"]["lanes"][0]["gap_s"] == 0.25


def test_a_section_without_a_text_has_no_player() -> None:
    class Silent(Reading):
        player_pieces = ()

        def compute(self) -> SectionResult:
            return SectionResult("", (), {}, {})

    view = ReadingView(Silent(S))
    assert view.card.spec["pieces"] == []
    assert view.card.state["player"] == {}
