"""A whole stream under two budgets, and the same stream at many arrival rates.

Everything here is a function of a `Plan`. What is kept of a run is small, whatever its length.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core import scheduling_arithmetic
from core.derivation import Derivation
from core.goodput import Latencies
from core.itl import ItlDistribution
from core.pool_room import PoolRoom
from core.requests import Lengths, RequestStream, random_stream
from core.scenario import Scenario
from core.scheduling import Schedule, StoppedError, simulate
from core.traces import TraceNotes, read_trace
from widgets.figures import nice_ceiling
from widgets.scheduling_prompt import limit

SWEEP_REQUESTS = 1_000
"""The load sweep runs this many requests of a stream at each rate."""

SWEEP_RATES = 12
QUICK_REQUESTS = 1_000
"""A drawn stream of at most this many requests is run while the slider moves."""

LARGE_REQUESTS = 50_000
"""Streams from here on take turns on the server: a million requests hold some 400 MB."""

MAX_BINS = 120
MAX_EVENTS = 12

SHARES = np.concatenate(
    [np.linspace(0, 0.96, 33), [0.97, 0.98, 0.985, 0.99, 0.993, 0.996, 0.998, 0.999, 1.0]]
)
"""Where the distributions of requests are drawn: closer together in the tail."""

GAP_POINTS = 56

BLOCK_TOKEN = 64
"""Tokens of a cache block where prefixes are remembered: larger than a server's 16, for speed."""

Floats = NDArray[np.float64]
Report: TypeAlias = Callable[[float], bool]

_TURN = threading.Lock()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A stream from a seeded generator; `rate` is set by the plan."""

    requests: int
    gap_cv: float
    mean_prompt: int
    mean_answer: int
    length_cv: float
    seed: int

    def stream(self) -> RequestStream:
        """The stream at one request a second."""
        return random_stream(
            np.random.default_rng(self.seed),
            self.requests,
            1.0,
            Lengths(self.mean_prompt, self.length_cv),
            Lengths(self.mean_answer, self.length_cv),
            gap_cv=self.gap_cv,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A dropped trace, read once, whichever thread asks first."""

    name: str
    text: str
    _read: list[tuple[RequestStream, TraceNotes]] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    def stream(self) -> RequestStream:
        """The requests as they came. Raises `ValueError` that names the line and the column."""
        return self._contents()[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader recognised."""
        return self._contents()[1].sentences

    def _contents(self) -> tuple[RequestStream, TraceNotes]:
        with self._lock:
            if not self._read:
                try:
                    self._read.append(read_trace(self.text, source=self.name))
                except ValueError as error:
                    raise ValueError(f"{self.name} was not taken: {error}") from error
            return self._read[0]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `rate` is None for a trace that is played as it came.

    `common_prefix` is None without prefix caching; with it, how many tokens every prompt begins
    with in common, which a trace with hash ids of its own leaves aside.
    """

    scenario: Scenario
    source: Drawn | Trace
    rate: float | None
    budgets: tuple[int, int]
    chunked: bool
    memory_share: float
    common_prefix: int | None = None

    @property
    def sweep(self) -> Plan:
        """The plan as the load sweep sees it: at no rate of its own."""
        return replace(self, rate=None)

    @property
    def quickly(self) -> Plan:
        """The same with a stream short enough to be run at once."""
        if isinstance(self.source, Trace) or self.is_quick:
            return self
        fewer = min(self.source.requests, QUICK_REQUESTS)
        return replace(self, source=replace(self.source, requests=fewer), common_prefix=None)

    @property
    def is_quick(self) -> bool:
        """Whether its two runs take a few ms. A pool of blocks takes longer to keep."""
        small = isinstance(self.source, Drawn) and self.source.requests <= QUICK_REQUESTS
        return small and self.common_prefix is None


@dataclass(frozen=True, slots=True)
class Event:
    """A preemption: who, when, what had to be computed again, and when its next token came."""

    request: int
    time_s: float
    recomputed_token: int
    next_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """All gaps of a run: which share of them is at most each length, and what they come to.

    `length_s` and `share` have shape (GAP_POINTS,); the last length is that of the longest gap.
    """

    length_s: Floats
    share: Floats
    mean_s: float
    median_s: float
    steps: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """What is kept of a stream's run under one budget.

    `ttft_s` and `e2e_s` hold the values at `SHARES`; `gaps` is None where no request has a second
    token. `time_s`, `running`, `waiting` and `preempted` are the run in at most
    `MAX_BINS` bins, the counts being the largest of each bin.
    """

    budget: int
    requests: int
    rate_per_s: float
    latencies: Latencies
    ttft_s: Floats
    e2e_s: Floats
    ttft_median_s: float
    ttft_steps: tuple[Derivation, ...]
    gaps: Gaps | None
    time_s: Floats
    running: NDArray[np.int64]
    waiting: NDArray[np.int64]
    preempted: NDArray[np.int64]
    events: tuple[Event, ...]
    preemptions: int
    recomputed_token: int
    prompt_token: int
    skipped_token: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The budget under which a stream cannot run, and why."""

    budget: int
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """A stream's latencies at each of some arrival rates, and what the server can do at most."""

    budget: int
    rates_per_s: tuple[float, ...]
    latencies: tuple[Latencies, ...]
    capacity_per_s: float


Outcome: TypeAlias = tuple[Served | Refused, Served | Refused]
Sweeps: TypeAlias = tuple[Sweep | Refused, Sweep | Refused]


def serve(plan: Plan, report: Report) -> Outcome | None:
    """Both budgets' runs; None once `report` says stop.

    A stream that cannot run says why in place of its run. Raises `ValueError` for a trace that
    cannot be read.
    """
    if plan.is_quick:
        first, second = (_serve_quick(_single(plan, i)) for i in (0, 1))
        return first, second
    stream = plan.source.stream()
    with _Turn(len(stream), report) as mine:
        if not mine:
            return None
        try:
            first = _serve(stream, _single(plan, 0), lambda part: report(part / 2))
            if plan.budgets[0] == plan.budgets[1]:
                return first, first
            return first, _serve(stream, _single(plan, 1), lambda part: report(0.5 + part / 2))
        except StoppedError:
            return None


def sweep(plan: Plan, report: Report) -> Sweeps | None:
    """Both budgets' load sweeps, over rates in common; None once `report` says stop."""
    base = _sweep_base(plan.source)
    if base.arrival[-1] <= base.arrival[0]:
        why = "all requests arrive at once, so that there is no arrival rate to change"
        return Refused(plan.budgets[0], why), Refused(plan.budgets[1], why)
    capacities: list[float | str] = []
    for i in (0, 1):
        try:
            capacities.append(_capacity(_single(plan, i)))
        except ValueError as error:
            capacities.append(str(error))
        if not report(0.1 * (i + 1)):
            return None
    top = nice_ceiling(1.2 * max((c for c in capacities if isinstance(c, float)), default=1.0))
    rates = tuple(top * (i + 1) / SWEEP_RATES for i in range(SWEEP_RATES))
    done: list[Sweep | Refused] = []
    for i, capacity in enumerate(capacities):
        if isinstance(capacity, str):
            done.append(Refused(plan.budgets[i], capacity))
            continue
        latencies = []
        for j, rate in enumerate(rates):
            latencies.append(_at_rate(_single(plan, i), rate))
            if not report(0.2 + 0.4 * (i + (j + 1) / SWEEP_RATES)):
                return None
        done.append(Sweep(plan.budgets[i], rates, tuple(latencies), capacity))
    return done[0], done[1]


def simulated(
    plan: Plan,
    stream: RequestStream,
    progress: Callable[[int, int], bool] | None = None,
    room: PoolRoom | None = None,
) -> Schedule:
    """The stream under the first budget of a plan; `room` is its `room_of`, made where None."""
    return simulate(
        stream,
        plan.scenario,
        token_budget=limit(plan.budgets[0]),
        chunked=plan.chunked,
        reserved_fraction=plan.memory_share,
        room=room_of(plan, stream) if room is None else room,
        progress=progress,
    )


def room_of(plan: Plan, stream: RequestStream) -> PoolRoom | None:
    """The pool of blocks that remembers prefixes, where the plan has one."""
    if plan.common_prefix is None:
        return None
    return PoolRoom.of(
        stream,
        plan.scenario,
        block_token=BLOCK_TOKEN,
        reserved_fraction=plan.memory_share,
        shared_token=plan.common_prefix,
    )


def _single(plan: Plan, which: int) -> Plan:
    budget = plan.budgets[which]
    return replace(plan, budgets=(budget, budget))


class _Turn:
    """A large stream waits for the one before it; `mine` is False where it was given up."""

    def __init__(self, requests: int, report: Report) -> None:
        self._large, self._report, self._held = requests >= LARGE_REQUESTS, report, False

    def __enter__(self) -> bool:
        while self._large and not self._held:
            self._held = _TURN.acquire(timeout=0.1)
            if not self._held and not self._report(0.0):
                return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._held:
            _TURN.release()


@lru_cache(maxsize=256)
def _serve_quick(plan: Plan) -> Served | Refused:
    """Readers who leave everything as it is share one run."""
    return _serve(plan.source.stream(), plan, lambda _: True)


def _serve(base: RequestStream, plan: Plan, report: Report) -> Served | Refused:
    try:
        stream = base if plan.rate is None else base.at_rate(plan.rate)
        room = room_of(plan, stream)
        schedule = simulated(plan, stream, lambda done, all_: report(done / all_), room)
    except ValueError as error:
        return Refused(plan.budgets[0], str(error))
    return _kept(plan.budgets[0], schedule, 0 if room is None else room.skipped_token)


def _kept(budget: int, schedule: Schedule, skipped_token: int) -> Served:
    stream, ttft, log = schedule.stream, schedule.ttft_s, schedule.log
    near = np.quantile(ttft, scheduling_arithmetic.neighbours(0.99, ttft.size))
    recomputed = [int(stream.prompt_token[e.request]) + e.generated_token for e in log.preemptions]
    return Served(
        budget=budget,
        requests=len(stream),
        rate_per_s=stream.statistics()["rate"],
        latencies=Latencies.of(schedule),
        ttft_s=np.quantile(ttft, SHARES),
        e2e_s=np.quantile(schedule.e2e_s, SHARES),
        ttft_median_s=float(np.median(ttft)),
        ttft_steps=scheduling_arithmetic.quantile(
            "TTFT, 99th percentile", "TTFT_99", 0.99, ttft.size, *near.tolist()
        ),
        gaps=_gaps(schedule.itl_s),
        **_bins(schedule),
        events=_events(schedule, recomputed),
        preemptions=len(log.preemptions),
        recomputed_token=sum(recomputed),
        prompt_token=int(stream.prompt_token.sum()),
        skipped_token=skipped_token,
    )


def _gaps(itl: ItlDistribution) -> Gaps | None:
    """The distribution at lengths from the shortest to the longest gap, evenly on a log axis."""
    count = itl.count
    if not count:
        return None
    median, *near = itl.quantile([0.5, *scheduling_arithmetic.neighbours(0.99, count)]).tolist()
    length = np.geomspace(itl.least_s, itl.worst_s, GAP_POINTS)
    length[[0, -1]] = itl.least_s, itl.worst_s
    return Gaps(
        length_s=length,
        share=itl.at_most(length) / count,
        mean_s=itl.mean_s,
        median_s=median,
        steps=scheduling_arithmetic.quantile("ITL, 99th percentile", "ITL_99", 0.99, count, *near),
    )


def _bins(schedule: Schedule) -> dict[str, Any]:
    """Running and waiting over time, the largest of each bin; preemptions counted."""
    table = schedule.occupancy()
    time = table["time"]
    edges = np.linspace(0.0, float(time[-1]), min(MAX_BINS, time.size) + 1)
    lost = np.array([event.time for event in schedule.preemptions], dtype=np.float64)
    # A bin begins with what was there when the one before it ended.
    begin = np.maximum(np.searchsorted(time, edges[:-1], side="right") - 1, 0)
    end = np.maximum(np.searchsorted(time, edges[1:], side="left"), begin + 1)
    # Every other stretch of reduceat is a bin; one value more lets the last of them end there.
    bounds = np.stack([begin, end], axis=1).ravel()
    most = {
        name: np.maximum.reduceat(np.append(table[name], 0), bounds)[::2]
        for name in ("busy", "waiting")
    }
    return {
        "time_s": edges[:-1],
        "running": most["busy"],
        "waiting": most["waiting"],
        "preempted": np.histogram(lost, edges)[0],
    }


def _events(schedule: Schedule, recomputed: list[int]) -> tuple[Event, ...]:
    """The first preemptions, each with the token that ends its pause."""
    log = schedule.log
    events = []
    for event, tokens in zip(log.preemptions[:MAX_EVENTS], recomputed, strict=False):
        ends = log.recomputed[log.recomputed[:, 0] == event.request, 2]
        later = ends[ends > event.time]
        token_s = later.min() if later.size else log.first_token[event.request]
        events.append(Event(event.request, event.time, tokens, float(token_s)))
    return tuple(events)


@lru_cache(maxsize=16)
def _drawn_base(source: Drawn) -> RequestStream:
    return _first(source.stream())


def _sweep_base(source: Drawn | Trace) -> RequestStream:
    return _drawn_base(source) if isinstance(source, Drawn) else _first(source.stream())


def _first(stream: RequestStream) -> RequestStream:
    n = SWEEP_REQUESTS
    ids = None if stream.hash_ids is None else stream.hash_ids[:n]
    return RequestStream(
        stream.arrival[:n], stream.prompt_token[:n], stream.output_token[:n], hash_ids=ids
    )


def _capacity(plan: Plan) -> float:
    """Requests a second that the server finishes when all of them are there from the start."""
    if isinstance(plan.source, Drawn):
        return _drawn_capacity(plan)
    return _saturated(plan)


@lru_cache(maxsize=64)
def _drawn_capacity(plan: Plan) -> float:
    return _saturated(plan)


def _saturated(plan: Plan) -> float:
    base = _sweep_base(plan.source)
    together = replace(base, arrival=np.zeros(len(base)))
    return len(base) / simulated(plan, together).duration_s


def _at_rate(plan: Plan, rate: float) -> Latencies:
    if isinstance(plan.source, Drawn):
        return _drawn_at_rate(plan, rate)
    return _run_at_rate(plan, rate)


@lru_cache(maxsize=512)
def _drawn_at_rate(plan: Plan, rate: float) -> Latencies:
    return _run_at_rate(plan, rate)


def _run_at_rate(plan: Plan, rate: float) -> Latencies:
    return Latencies.of(simulated(plan, _sweep_base(plan.source).at_rate(rate)))
