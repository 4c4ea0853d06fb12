"""What base, card and session promise to every section, on a section made for the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import param
import pytest

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from widgets.base import Control, Job, SectionModel, SectionResult
from widgets.predict import Prediction
from widgets.section import SectionView
from widgets.session import Session

S = Scenario(MODELS["8B"], DEVICES["A100"])


def result(words: str, then: Job | None = None) -> SectionResult:
    return SectionResult(words, (), {}, {}, then=then)


class Letters(SectionModel):
    """Counts a text; the thorough count comes later."""

    essay = param.String("")
    copies = param.Integer(1, bounds=(1, 9))

    slug = "letters"
    controls = (
        Control("essay", "Essay", kind="text", limit=100_000, linked=False),
        Control("copies", "Copies", stops=[1, 9]),
    )

    def compute(self) -> SectionResult:
        words = f"{len(self.essay) * self.copies}"

        def work(report: Callable[[float], bool]) -> SectionResult | None:
            return result(f"{words}, counted twice") if report(0.5) else None

        return result(words, Job("Counting again", work) if self.essay else None)

    def prediction(self) -> Prediction:
        return Prediction("Which?", ("this", "that"), "this", "", ())


class LettersView(SectionView):
    """No charts at all."""

    def build_charts(self) -> list[Any]:
        return []

    def render(self, _: SectionResult) -> None:
        pass


@pytest.fixture
def session() -> Session:
    return Session({"letters": (Letters, LettersView)}, "", "light")


def test_an_input_that_is_not_linked_stays_out_of_the_address(session: Session) -> None:
    session.bring("letters").receive({"set": {"essay": "abc", "copies": 2}})
    assert session.query() == "copies=2"
    assert session.bring("letters").model.result.summary.startswith("6")


def test_a_link_neither_reads_nor_clears_an_input_that_is_not_linked(session: Session) -> None:
    model = session.bring("letters").model
    session.bring("letters").receive({"set": {"essay": "abc"}})
    session.receive({"query": "?copies=3&essay=smuggled"})
    assert (model.essay, model.copies) == ("abc", 3)
    assert "Nothing on this page is called “essay”" in session.bar.state["notices"][0]
    session.receive({"query": ""})
    assert (model.essay, model.copies) == ("abc", 1)


def test_a_long_text_does_not_travel_with_every_move_of_a_slider(session: Session) -> None:
    view = session.bring("letters")
    view.receive({"set": {"essay": "a" * 50_000}})
    sent: list[dict[str, Any]] = []
    view.card._send_msg = sent.append
    view.receive({"set": {"copies": 2}})
    moved = [message["state"]["values"] for message in sent if "values" in message["state"]]
    assert moved == [{"copies": {"value": 2}}]
    assert view.card.state["values"]["essay"]["value"] == "a" * 50_000


def test_a_first_result_is_shown_and_the_job_behind_it_brings_the_fuller_one() -> None:
    model = Letters(S)
    seen: list[str] = []
    model.param.watch(lambda event: seen.append(event.new.summary), "result")
    model.apply({"essay": "abcd"})
    assert seen == ["4", "4, counted twice"]


def test_a_newer_change_overtakes_the_job_and_takes_its_bar_away(session: Session) -> None:
    view = session.bring("letters")
    started: list[Job | None] = []

    def runner(job: Job | None) -> None:
        started.append(job)
        if job is not None:
            view._progress(0.25, job.text)

    view.model.runner = runner
    view.receive({"set": {"essay": "abcd"}})
    assert started[-1] is not None
    assert view.card.state["progress"] == {"fraction": 0.25, "text": "Counting again"}
    view.receive({"set": {"essay": ""}})
    assert started[-1] is None
    assert view.card.state["progress"] == {}
    assert view.model.result.summary == "0"


def test_a_stop_may_have_words_which_its_refusal_says() -> None:
    class Limits(Letters):
        copies = param.Integer(1, bounds=(1, 1000))
        controls = (Control("copies", "Copies", stops=[1, 1000], words={1000: "no limit"}),)

    assert Limits.controls[0].shown()["words"] == [[1000, "no limit"]]
    with pytest.raises(ValueError, match=r"must be from 1 to 1,000 \(no limit\), got 2,000"):
        Limits(S).apply({"copies": 2000})
    with pytest.raises(ValueError, match=r"a whole number from 1 to 1,000 \(no limit\), got x"):
        Limits(S).apply({"copies": "x"})


def test_a_job_behind_the_first_result_waits_until_the_card_is_there() -> None:
    told: list[str] = []

    class Later(Letters):
        def compute(self) -> SectionResult:
            return result("first", Job("More", lambda _: told.append("worked") or result("fuller")))

    class LaterView(LettersView):
        def build(self) -> None:
            told.append(f"built with {self.model.result.summary}")

    view = Session({"letters": (Later, LaterView)}, "", "light").bring("letters")
    assert told == ["built with first", "worked"]
    assert view.model.result.summary == "fuller"
    assert view.card.state["result"]["summary"] == "fuller"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (10**20, "got 1e\\+20"),
        (10**400, "got a number too large to write out"),
        (float("nan"), "got nan"),
        (float("inf"), "got "),
        ("1,5", "got 1,5; with a decimal point it is 1.5"),
        ("two", "got two"),
        (None, "got None"),
        (True, "got True"),
    ],
)
def test_a_number_of_any_size_is_refused_in_words(value: Any, said: str) -> None:
    letters = Letters(S)
    with pytest.raises(ValueError, match=f"Copies must be .*from 1 to 9, {said}"):
        letters.apply({"copies": value})
    assert letters.copies == 1
