"""Section 3's two policies played over one stream, in unit steps or in the scenario's time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import batching, roofline, scheduling
from core.engine import Progress
from core.engine_log import EngineLog
from core.idle_slots import idle_while_waiting
from core.occupancy import occupancy, residences, slots
from core.requests import RequestStream, Xorshift32, reference_stream
from core.scenario import Scenario

Floats = NDArray[np.float64]
Report = Callable[[float], bool]

SHARES = (0.5, 0.95, 0.99)
# The reference program draws so often for its block pool before it draws the stream.
EARLIER_DRAWS = 88


@dataclass(frozen=True, slots=True)
class Draw:
    """A stream of the reference program's generator; `giant` is one answer's length, 0 for none."""

    seed: int = 9
    requests: int = 40
    gap: int = 6
    shortest: int = 8
    longest: int = 64
    giant: int = 0

    def stream(self) -> RequestStream:
        """The requests, in unit steps. The giant is the middle one."""
        draws = Xorshift32(self.seed)
        for _ in range(EARLIER_DRAWS):
            draws.next()
        stream = reference_stream(draws, self.requests, self.gap, self.shortest, self.longest)
        if not self.giant:
            return stream
        output = stream.output_token.copy()
        output[self.requests // 2] = self.giant
        return replace(stream, output_token=output)


@dataclass(frozen=True, slots=True, eq=False)
class PolicyRun:
    """What one policy made of a stream, in steps or in seconds. Arrays are in request order.

    `gantt` has a row for each stretch of running (request, slot, begin, end) and `occupancy` one
    for each change (time, busy, waiting). `held_back` says that the cache, and not the slots, kept
    a request waiting.
    """

    slots: int
    arrival: Floats
    admitted: Floats
    first_token: Floats
    finish: Floats
    end: float
    gantt: Mapping[str, NDArray[Any]]
    occupancy: Mapping[str, NDArray[Any]]
    preemptions: int
    held_back: bool

    @property
    def latency(self) -> Floats:
        """From arrival to finish."""
        return self.finish - self.arrival

    @property
    def wait(self) -> Floats:
        """From arrival to the first step."""
        return self.admitted - self.arrival

    @property
    def busy(self) -> float:
        """Slot-time in use; in unit steps it is the number of tokens made."""
        return float((self.gantt["end"] - self.gantt["begin"]).sum())

    @property
    def idle(self) -> float:
        """Slot-time that is not in use."""
        return self.slots * self.end - self.busy

    @property
    def idle_wanted(self) -> float:
        """Slot-time not in use although a request that could have used it was waiting."""
        now = self.occupancy
        return idle_while_waiting(now["time"], now["busy"], now["waiting"], self.slots)

    @property
    def utilization(self) -> float:
        """The share of all slot-time that is in use."""
        return self.busy / (self.end * self.slots)

    @property
    def groups(self) -> int:
        """At how many times somebody was admitted: under static batching, the groups."""
        return int(np.unique(self.admitted).size)


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """Both policies over one stream, on one clock; `stream` is in the clock's unit.

    `step_s` is what a unit step stands for where the scenario's time meets steps. `refusal` says
    why the scenario's time was asked for and steps were used.
    """

    stream: RequestStream
    step_s: float
    static: PolicyRun
    continuous: PolicyRun
    refusal: str = ""

    @property
    def in_time(self) -> bool:
        """Whether the clock is the scenario's."""
        return self.stream.unit == "s"

    @property
    def both(self) -> tuple[PolicyRun, PolicyRun]:
        """Static, then continuous."""
        return self.static, self.continuous


def lone_step_s(scenario: Scenario, stream: RequestStream) -> float:
    """One sequence decoding by itself, at the stream's mean prompt: what a unit step stands for."""
    context = float(stream.prompt_token.mean())
    return float(roofline.step_costs(scenario, decode_batch=1, context=context).time_s)


def play(
    stream: RequestStream,
    slot_count: int,
    scenario: Scenario,
    *,
    in_time: bool = False,
    report: Report = lambda _: True,
) -> Played:
    """Play a stream through both policies.

    Where the scenario cannot run it (the model or a request does not fit), unit steps are used and
    the reason is kept. Raises `StoppedError` once `report` says False.
    """
    step_s = lone_step_s(scenario, stream)
    refusal = ""
    if in_time:
        timed = stream if stream.unit == "s" else stream.in_seconds(step_s)
        try:
            static, rolling = (
                _timed(timed, slot_count, scenario, policy, _progress(report, done))
                for done, policy in enumerate(POLICIES)
            )
            return Played(timed, step_s, static, rolling)
        except ValueError as error:
            refusal = str(error)
    stepped = stream if stream.unit == "steps" else stream.in_steps(step_s)
    static, rolling = (
        _of(
            stepped,
            batching.simulate(stepped, slot_count, done == 1, progress=_progress(report, done)).log,
            slot_count,
            continuous=done == 1,
        )
        for done in range(2)
    )
    return Played(stepped, step_s, static, rolling, refusal)


POLICIES: tuple[scheduling.BatchingPolicy, ...] = ("static", "continuous")


def _timed(
    stream: RequestStream,
    slot_count: int,
    scenario: Scenario,
    policy: scheduling.BatchingPolicy,
    progress: Progress,
) -> PolicyRun:
    run = scheduling.simulate(
        stream,
        scenario,
        token_budget=None,
        policy=policy,
        max_sequences=slot_count,
        progress=progress,
    )
    return _of(stream, run.log, slot_count, continuous=policy == "continuous")


def _of(stream: RequestStream, log: EngineLog, slot_count: int, *, continuous: bool) -> PolicyRun:
    request, begin, end = residences(log)
    return PolicyRun(
        slots=slot_count,
        arrival=stream.arrival,
        admitted=log.admitted,
        first_token=log.first_token,
        finish=log.finish,
        end=log.end,
        gantt={"request": request, "slot": slots(begin, end), "begin": begin, "end": end},
        occupancy=occupancy(stream.arrival, log),
        preemptions=len(log.preemptions),
        held_back=_held_back(stream, log, slot_count, continuous=continuous),
    )


def _held_back(stream: RequestStream, log: EngineLog, slot_count: int, *, continuous: bool) -> bool:
    """Whether, where a step may admit, somebody waited beside a free slot.

    Continuous batching may admit at every step, static batching where it forms a group.
    """
    may_admit = log.start if continuous else np.unique(log.admitted)
    arrived, admitted, finished = (
        np.searchsorted(np.sort(times), may_admit, side="right")
        for times in (stream.arrival, log.admitted, log.finish)
    )
    return bool(np.any((arrived > admitted) & (admitted - finished < slot_count)))


def _progress(report: Report, done: int) -> Progress:
    """The engine's hook that reports one of two runs."""
    return lambda finished, requests: report((done + finished / requests) / 2)
