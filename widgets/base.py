"""What every section shares: the view-model's contract, the view's contract, and controls.

A section is a `SectionModel` (param and core only; it tests without a browser) and a
`SectionView` (figures built once, `render(result)` replaces their data). The card that holds
controls, prediction, charts, readouts and tools is `card.Card`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import param

from core.scenario import Scenario
from widgets.player import Player
from widgets.predict import Prediction
from widgets.readouts import Readout
from widgets.share import Reader, read_number, shown


@dataclass(frozen=True, slots=True)
class Control:
    """How one input is shown: its key, label, unit, and the stops its slider rests on.

    `kind` is "slider" (with `stops`), "choice" (with `options`, value → words, which may change
    with the scenario: `SectionModel.control_options`), "stepper" (◀ ▶ and arrow keys through
    0..max, where `SectionModel.control_state` says max and may have "said", a sentence on the
    position, put beside it), "text" (a box of at most `limit` characters, applied with a button)
    or "file" (dropped or chosen, at most `limit` bytes, handed to `SectionModel.take_file`).
    `scope` "scenario" marks a control of the shared scenario that a section shows again. `more`
    folds it away. `wide` gives it the whole width of the card. `with_strips` puts it right above
    the strips, in sight as long as there are any. `hint` is a tooltip; that of a text or file
    stands below its label. An input that is not `linked` stays out of the address, and a link
    changes nothing about it: a long text. `words` names stops that are shown, and may be typed,
    as words: {1_048_576: "no limit"}.
    """

    key: str
    label: str
    unit: str = ""
    stops: Sequence[float] = ()
    options: Mapping[Any, str] | None = None
    scope: str = "section"
    more: bool = False
    hint: str = ""
    kind: str = ""
    limit: int = 0
    wide: bool = False
    with_strips: bool = False
    linked: bool = True
    words: Mapping[float, str] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """What the page needs to draw it."""
        shown: dict[str, Any] = {
            "key": self.key,
            "label": self.label,
            "unit": self.unit,
            "scope": self.scope,
            "more": self.more,
            "hint": self.hint,
            "kind": self.kind or ("slider" if self.stops else "choice"),
            "limit": self.limit,
            "wide": self.wide,
            "with_strips": self.with_strips,
        }
        if self.stops:
            shown["stops"] = list(self.stops)
            shown["words"] = [list(named) for named in self.words.items()]
        return shown


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of small texts in order, such as tokens: each item is (text, kind).

    Kinds have a look each, never by colour alone: "kept" solid, "struck" struck through,
    "corrected" boxed, "prompt" and "next" pale, "past" plain, "now" underlined, "event"
    thinly boxed prose.
    """

    name: str
    label: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Work too long for a slider: `work(report)` returns a `SectionResult`.

    It calls `report(fraction)` now and then and stops, returning None, once that says False. The
    page shows a progress bar with a cancel button and keeps the last good result meanwhile. A
    `ValueError` refuses in a reader's words, as it does everywhere.
    """

    text: str
    work: Callable[[Callable[[float], bool]], SectionResult | None]


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """A chart's name, its title for everyone and its caption below the canvas.

    `below` puts it under the readouts, for what is read after them. `height` is its canvas's, in
    pixels, kept free until it is drawn. `wide` gives it the whole width of the card. With
    `open_table` its data table stands open, and longer than others, from the start. `alone` gives
    it a screen of its own on a projector, where charts stand two by two.
    """

    name: str
    title: str
    caption: str
    below: bool = False
    height: int = 300
    wide: bool = False
    open_table: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of inputs that a reader applies with one click.

    `shows` names the chart, or "player", that a projector shows with it; empty for the first.
    """

    name: str
    values: Mapping[str, Any]
    shows: str = ""


@dataclass(frozen=True, slots=True)
class SectionResult:
    """Everything a view shows, computed once per change and never changed afterwards.

    `tables` has, per chart, the columns that the chart's data table and CSV hold. `sentences` has
    one live sentence per chart; `data` is what the section's own view draws from. `then` is a job
    that brings a fuller result, started once this one is shown. `player` plays the first of the
    section's `player_pieces` in real time, once the reader starts it.
    """

    summary: str
    readouts: tuple[Readout, ...]
    tables: Mapping[str, Mapping[str, Any]]
    sentences: Mapping[str, str]
    data: Any = None
    notes: tuple[str, ...] = field(default=())
    strips: tuple[Strip, ...] = field(default=())
    then: Job | None = None
    player: Player | None = None

    def readout(self, key: str) -> Readout:
        """The readout of that key."""
        return next(readout for readout in self.readouts if readout.key == key)


class SectionModel(param.Parameterized):
    """The view-model of a section: inputs in, one immutable `result` out.

    Subclasses declare inputs as bounded parameters, list them in `controls`, and implement
    `compute`. One watcher on all inputs computes the result; nothing ever writes an input.
    A section whose numbers do not hang on the page's scenario sets `follows_scenario` to False.
    """

    scenario = param.ClassSelector(class_=Scenario, allow_None=False, instantiate=False)
    result = param.Parameter(default=None, precedence=-1)
    active = param.Boolean(default=True, precedence=-1)

    slug: ClassVar[str]
    follows_scenario: ClassVar[bool] = True
    controls: ClassVar[tuple[Control, ...]] = ()
    presets: ClassVar[tuple[Preset, ...]] = ()
    charts: ClassVar[tuple[ChartSpec, ...]] = ()
    assumptions: ClassVar[tuple[str, ...]] = ()
    player_pieces: ClassVar[tuple[str, ...]] = ()

    def __init__(self, scenario: Scenario, **params: Any) -> None:
        super().__init__(scenario=scenario, **params)
        self.runner: Callable[[Job | None], None] | None = None
        self._computed_for: tuple[Any, ...] = ()
        self.refresh()
        self.param.watch(lambda *_: self.refresh(), ["scenario", "active", *self.input_names()])

    def compute(self) -> SectionResult | Job:
        """Everything the section shows, from its inputs and the scenario alone.

        Beyond about 100 ms of work, return a `Job` instead.
        """
        raise NotImplementedError

    def prediction(self) -> Prediction:
        """The question to answer before looking, with its answer computed by the model."""
        raise NotImplementedError

    def prose(self) -> dict[str, str]:
        """The numbers and formulas that the section's markdown asks for by name."""
        raise NotImplementedError

    def snippet(self) -> str:
        """Python that imports core only and prints the section's readouts."""
        raise NotImplementedError

    def control_options(self) -> dict[str, dict[str, Any]]:
        """For controls whose choices hang on the scenario: key → {value: words}."""
        return {c.key: dict(c.options) for c in self.controls if c.options is not None}

    def control_state(self) -> dict[str, dict[str, Any]]:
        """What else a control needs to know, by key: a stepper's {"max": 12}."""
        return {}

    def take_file(self, key: str, name: str, text: str) -> list[str]:
        """Take over a dropped file; returns notes, raises `ValueError` and stays as it was."""
        raise ValueError(f"{name} cannot be used here")

    def state_key(self) -> tuple[Any, ...]:
        """What the result hangs on; a section with a dropped file adds it here."""
        return (self.scenario if self.follows_scenario else None, *self.inputs().values())

    def refresh(self) -> None:
        """Compute the result anew; a section far from the viewport waits until it is near."""
        key = self.state_key()
        if not self.active or key == self._computed_for:
            return
        self._computed_for = key
        outcome = self.compute()
        if isinstance(outcome, Job):
            self._start(outcome)
            return
        self._stop()
        self.result = outcome
        if outcome.then is not None:
            self._start(outcome.then)

    def job_done(self, result: SectionResult) -> None:
        """A job's result is here; a section whose job read a file takes over what it read."""
        self.result = result

    def job_given_up(self) -> None:
        """The reader cancelled the job, or it refused: nothing comes of it."""

    def _start(self, job: Job) -> None:
        """Hand the job to the view's runner, or do it here and now where there is none."""
        if self.runner is not None and self.result is not None:
            self.runner(job)
        else:
            try:
                outcome = job.work(lambda _: True)
            except ValueError:
                self.job_given_up()
                raise
            if outcome is not None:
                self.job_done(outcome)

    def _stop(self) -> None:
        if self.runner is not None:
            self.runner(None)

    @classmethod
    def input_names(cls) -> list[str]:
        """The section's own inputs, in the order of its controls."""
        return [
            control.key
            for control in cls.controls
            if control.scope == "section" and control.kind != "file"
        ]

    @classmethod
    def linked_names(cls) -> list[str]:
        """The inputs that an address carries."""
        kept_out = {control.key for control in cls.controls if not control.linked}
        return [name for name in cls.input_names() if name not in kept_out]

    def inputs(self) -> dict[str, Any]:
        """The present value of each input."""
        return {name: getattr(self, name) for name in self.input_names()}

    def link_values(self) -> dict[str, Any]:
        """The present value of each input that an address carries."""
        return {name: getattr(self, name) for name in self.linked_names()}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The default of each input that an address carries."""
        return {name: cls.param[name].default for name in cls.linked_names()}

    def readers(self) -> dict[str, Reader]:
        """For each input of an address, a function from the link's text to a value it accepts."""
        return {name: self._reader(name) for name in self.linked_names()}

    def _reader(self, name: str) -> Reader:
        def read(text: str) -> Any:
            options = self.control_options().get(name)
            value: Any = text
            if isinstance(self.param[name], param.String):
                pass
            elif options is None:
                value = read_number(text)
            else:
                matching = [option for option in options if str(option) == text]
                if not matching:
                    raise ValueError(f"choose one of {', '.join(map(str, options))}")
                value = matching[0]
            self.check({name: value})
            return value

        return read

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise `ValueError` in a reader's words for a value that an input does not accept."""
        for name, value in values.items():
            if name not in self.input_names():
                raise ValueError(f"{name} is not an input of this section")
            control = next(c for c in self.controls if c.key == name)
            parameter = self.param[name]
            if isinstance(parameter, param.Number):
                _check_number(control, parameter, value)
            elif control.kind == "text":
                _check_text(control, value)
            else:
                options = list(self.control_options()[name])
                # True == 1 and 1.0 == 1: an option is met only by its own type.
                if not any(type(value) is type(option) and value == option for option in options):
                    listed = ", ".join(map(str, options))
                    raise ValueError(f"{control.label} must be one of {listed}, got {value}")

    def check_together(self, inputs: Mapping[str, Any]) -> None:
        """Raise `ValueError` where inputs, each of them valid, do not go together."""

    def apply(self, values: Mapping[str, Any]) -> None:
        """Set inputs after checking all of them; on a refusal nothing has changed."""
        self.check(values)
        self.check_together({**self.inputs(), **values})
        whole = {name for name in values if isinstance(self.param[name], param.Integer)}
        self.param.update(**{k: int(v) if k in whole else v for k, v in values.items()})


def _check_number(control: Control, parameter: param.Number, value: Any) -> None:
    low, high = parameter.bounds
    label, top = control.label, f"{high:,}"
    if high in control.words:
        top += f" ({control.words[high]})"
    whole = isinstance(parameter, param.Integer)
    kind = "a whole number" if whole else "a number"
    valid = isinstance(value, int | float) and not isinstance(value, bool)
    # Compared before it is turned into anything: NaN fails, and so do numbers no float can hold.
    if not valid or not -math.inf < value < math.inf or (whole and value != int(value)):
        raise ValueError(f"{label} must be {kind} from {low:,} to {top}, got {shown(value)}")
    if not low <= value <= high:
        raise ValueError(f"{label} must be from {low:,} to {top}, got {shown(value)}")


def _check_text(control: Control, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{control.label} must be text")
    if len(value) > control.limit:
        raise ValueError(
            f"{control.label} may have at most {control.limit:,} characters, got {len(value):,}"
        )


def log_stops(low: int, high: int, per_doubling: int = 4) -> list[int]:
    """Whole numbers from low to high, evenly spaced on a logarithmic slider.

    Every power of two inside is among them, so round values can be reached with the keyboard.
    """
    steps = math.ceil(math.log2(high / low) * per_doubling)
    stops = {round(low * 2 ** (i / per_doubling)) for i in range(steps + 1)}
    return sorted(stop for stop in stops | {low, high} if low <= stop <= high)
