"""Section 3: static and continuous batching of one stream. What do idle slots cost?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import param

from core.devices import DEVICES
from core.engine import StoppedError
from core.models import MODELS
from core.scenario import Scenario
from core.units import counted
from widgets import batching_prose, batching_words
from widgets.base import ChartSpec, Control, Job, Preset, SectionModel, SectionResult, log_stops
from widgets.batching_picture import Picture, draw
from widgets.batching_runs import Draw, Played, play
from widgets.batching_trace import MAX_FILE_BYTE, Trace, Unread, dropped
from widgets.batching_view import GANTT_HEIGHT, QUEUE_HEIGHT, BatchingView
from widgets.predict import Prediction

DRAWN, TRACE = "drawn", "trace"
STEPS, TIME = "steps", "ms"
MAX_SLOTS, MAX_GAP, MAX_OUTPUT, MAX_REQUESTS = 256, 1_000, 4_096, 20_000
# Up to here both runs and their columns take well under 100 ms.
QUICK_REQUESTS = 2_000
_TIE_LENGTH = 36


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the view draws, and what was played: a trace, or a drawn stream."""

    played: Played
    picture: Picture
    scenario: Scenario
    trace: Trace | None
    drawn: Draw


@dataclass(frozen=True, slots=True)
class Setting:
    """How a stream is played; kept apart from the inputs, which may move while a job runs."""

    slots: int
    scenario: Scenario
    in_time: bool
    wants_trace: bool

    def outcome(
        self, what: Trace | Draw, report: Callable[[float], bool] = lambda _: True
    ) -> SectionResult:
        """Both policies over a trace or a drawn stream, and all that is said about them."""
        trace = what if isinstance(what, Trace) else None
        drawn = Draw() if isinstance(what, Trace) else what
        stream = trace.stream if trace else drawn.stream()
        played = play(stream, self.slots, self.scenario, in_time=self.in_time, report=report)
        picture = draw(played)
        said = batching_words.notes(played, traced=trace is not None)
        return SectionResult(
            summary=batching_words.summary(played),
            readouts=batching_words.readouts(played),
            tables=batching_words.tables(picture),
            sentences=batching_words.sentences(played, picture),
            data=Shown(played, picture, self.scenario, trace, drawn),
            notes=(*self._source_notes(trace), *said),
        )

    def _source_notes(self, trace: Trace | None) -> tuple[str, ...]:
        if trace is not None:
            return (
                f"{trace.name} plays. {' '.join(trace.notes.sentences)}",
                "Arrival gap, outputs, seed and number belong to the drawn stream; they wait until "
                "“Requests” is set back to it.",
            )
        if self.wants_trace:
            return (
                "The drawn stream plays, because no trace is here: a link does not carry one. "
                "Drop the file again.",
            )
        return ()


def _preset(name: str, **changes: int) -> Preset:
    values: dict[str, Any] = {
        "slots": 8,
        "gap": 6,
        "longest": 64,
        "stream_seed": 9,
        "shortest": 8,
        "stream_requests": 40,
        "giant": 0,
        "played": DRAWN,
    }
    return Preset(name, {**values, **changes})


class Batching(SectionModel):
    """One stream of requests through the same slots under both policies."""

    slots = param.Integer(8, bounds=(1, MAX_SLOTS), label="Slots")
    gap = param.Integer(6, bounds=(0, MAX_GAP), label="Arrival gap")
    longest = param.Integer(64, bounds=(1, MAX_OUTPUT), label="Longest output")
    stream_seed = param.Integer(9, bounds=(1, 2**32 - 1), label="Seed")
    shortest = param.Integer(8, bounds=(1, MAX_OUTPUT), label="Shortest output")
    stream_requests = param.Integer(40, bounds=(1, MAX_REQUESTS), label="Number of requests")
    giant = param.Integer(0, bounds=(0, MAX_OUTPUT), label="Giant answer")
    clock = param.Parameter(STEPS, label="Time axis")
    played = param.Parameter(DRAWN, label="Requests")

    slug = "continuous-batching"
    controls = (
        Control("slots", "Slots", "", [*range(1, 17), 20, 24, 28, 32, 40, 48, 64, 96, 128, 256]),
        Control(
            "gap",
            "Arrival gap",
            "steps",
            [*range(0, 13), 15, 20, 25, 30, 40, 60, 100],
            hint="From one arrival to the next: 0 to so many steps, each as likely. "
            "0: all arrive together.",
        ),
        Control(
            "longest", "Longest output", "tokens", [8, 16, 24, 32, 36, 40, 48, 56, 64, 80, 96, 128]
        ),
        Control(
            "stream_seed",
            "Seed",
            "",
            list(range(1, 41)),
            hint="Each seed draws another stream of the same kind.",
        ),
        Control(
            "shortest",
            "Shortest output",
            "tokens",
            [1, 2, 4, 8, 12, 16, 24, 32, 36, 40, 48, 56, 64],
            more=True,
        ),
        Control(
            "stream_requests", "Number of requests", "", log_stops(1, MAX_REQUESTS, 2), more=True
        ),
        Control(
            "giant",
            "Giant answer",
            "tokens",
            [0, 100, 150, 200, 300, 400, 600, 800, 1_600],
            more=True,
            hint="The middle request's answer gets this length; 0: as it was drawn.",
        ),
        Control(
            "clock",
            "Time axis",
            options={STEPS: "unit steps", TIME: "the scenario's time"},
            more=True,
        ),
        Control(
            "played",
            "Requests",
            options={DRAWN: "drawn, as set here", TRACE: "the dropped trace"},
            more=True,
        ),
        Control(
            "batch_trace",
            "A trace of your own, CSV or JSONL",
            kind="file",
            limit=MAX_FILE_BYTE,
            more=True,
            wide=True,
            hint="Columns TIMESTAMP, ContextTokens, GeneratedTokens, or timestamp, input_length, "
            "output_length, or arrival, prompt, output.",
        ),
    )
    presets = (
        _preset("the reference stream"),
        _preset("equal outputs together", gap=0, shortest=_TIE_LENGTH, longest=_TIE_LENGTH),
        _preset("burst", gap=0),
        _preset("one giant", giant=400),
    )
    charts = (
        ChartSpec(
            "static-slots",
            "Static batching: a group runs until its longest answer ends",
            "A bar is a request in its slot; hatched grey: idle. Point at a request to find it in "
            "both charts, which share one axis.",
            height=GANTT_HEIGHT,
            wide=True,
        ),
        ChartSpec(
            "continuous-slots",
            "Continuous batching: a freed slot is refilled at the next step",
            "The same requests on the same axis. ▨ at the start of a bar is prefill, where the "
            "axis counts time.",
            height=GANTT_HEIGHT,
            wide=True,
        ),
        ChartSpec(
            "queue-length",
            "Requests that wait for a slot",
            "On the axis of the slots above. Dashed: static batching. Solid: continuous batching.",
            height=QUEUE_HEIGHT,
            wide=True,
            alone=True,
        ),
        ChartSpec(
            "latency-share",
            "Share of requests that are done within a latency",
            "From arrival to last token. Dashed and ◇: static batching. Solid and ○: continuous "
            "batching. The marks are p50, p95 and p99.",
            wide=True,
            alone=True,
        ),
    )
    assumptions = (
        "In unit steps every step takes the same time whatever is in it, a prompt costs nothing, "
        "and a request has its first token at the end of the step that it joins.",
        "A static group takes whoever has arrived when the last group is done, up to the number "
        "of slots. It does not wait to be full, and nobody joins it later.",
        "Requests are served in order of arrival. Steps before the first arrival count too.",
        "Each seed is the state from which the reference program's generator starts; the stream "
        "comes after the 88 draws that the program makes before it.",
        "On the scenario's time axis each step costs the floor of its exact composition, and a "
        "prompt is prefilled whole in the step that admits it. Answers that have ended cost their "
        "group nothing more; a server that pads them would be slower.",
        "On that axis the cache is what 0.90 of the memory leaves beside the weights. In unit "
        "steps it has no end.",
        "Percentiles interpolate between the two nearest requests.",
    )

    def __init__(self, scenario: Scenario, **params: Any) -> None:
        self._trace: Trace | None = None
        self._unread: Unread | None = None
        super().__init__(scenario, **params)

    def check_together(self, inputs: Mapping[str, Any]) -> None:
        if inputs["shortest"] > inputs["longest"]:
            raise ValueError(
                f"Shortest output must be at most the longest, {inputs['longest']:,}, "
                f"got {inputs['shortest']:,}"
            )

    def state_key(self) -> tuple[Any, ...]:
        return (*super().state_key(), self._trace, self._unread)

    def control_state(self) -> dict[str, dict[str, Any]]:
        return {"batch_trace": {"name": self._trace.name if self._trace else ""}}

    def compute(self) -> SectionResult | Job:
        if self._unread is not None:
            return Job(f"Reading {self._unread.name} and playing it", self._work(self._unread))
        what = self._trace if self._plays_trace() and self._trace else self.draw()
        count = len(what.stream) if isinstance(what, Trace) else what.requests
        if count > QUICK_REQUESTS:
            return Job(f"Playing {counted(count, 'request')} under both policies", self._work(what))
        return self._setting().outcome(what)

    def take_file(self, key: str, name: str, text: str) -> list[str]:
        unread = dropped(name, text)
        if not unread.quick:
            self._unread = unread
            return []
        self._trace, self._unread = unread.read(), None
        self.apply({"played": TRACE})
        return []

    def job_done(self, result: SectionResult) -> None:
        """What the job has read becomes the trace that plays."""
        if self._unread is not None:
            self._trace, self._unread = result.data.trace, None
            # Its result is here already: the change of input must not compute it once more.
            with param.parameterized.discard_events(self):
                self.played = TRACE
            self._computed_for = self.state_key()
        self.result = result

    def job_given_up(self) -> None:
        self._unread = None

    def _plays_trace(self) -> bool:
        return self.played == TRACE and self._trace is not None

    def draw(self) -> Draw:
        """The drawn stream that the controls describe."""
        return Draw(
            seed=self.stream_seed,
            requests=self.stream_requests,
            gap=self.gap,
            shortest=self.shortest,
            longest=self.longest,
            giant=self.giant,
        )

    def _setting(self) -> Setting:
        return Setting(
            slots=self.slots,
            scenario=self.scenario,
            in_time=self.clock == TIME,
            wants_trace=self.played == TRACE,
        )

    def _work(
        self, what: Unread | Trace | Draw
    ) -> Callable[[Callable[[float], bool]], SectionResult | None]:
        setting = self._setting()

        def work(report: Callable[[float], bool]) -> SectionResult | None:
            try:
                return setting.outcome(what.read() if isinstance(what, Unread) else what, report)
            except StoppedError:
                return None

        return work

    def prediction(self) -> Prediction:
        tie = self.presets[1].values
        lengths = Draw(
            requests=tie["stream_requests"],
            gap=tie["gap"],
            shortest=tie["shortest"],
            longest=tie["longest"],
        )
        scenario = Scenario(MODELS["8B"], DEVICES["A100"])
        return batching_prose.prediction(
            play(lengths.stream(), tie["slots"], scenario), play(Draw().stream(), 8, scenario)
        )

    def prose(self) -> dict[str, str]:
        return batching_prose.numbers(Scenario(MODELS["8B"], DEVICES["A100"]))

    def snippet(self) -> str:
        shown: Shown = self.result.data
        return batching_prose.snippet(
            shown.trace.name if shown.trace else shown.drawn, shown.scenario, shown.played
        )


SECTION = (Batching, BatchingView)
