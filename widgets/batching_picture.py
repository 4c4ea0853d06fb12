"""What section 3 draws, as short columns in the charts' own units.

Up to `MAX_BARS` requests and `MAX_ROWS` slots every request is a bar; beyond, the busy slots are
averaged over equal stretches of the axis. Times are rounded to what a pixel can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.idle_slots import time_average
from widgets.batching_runs import SHARES, Played, PolicyRun

MAX_BARS = 240
MAX_ROWS = 40
_BINS = 240
_MAX_CHANGES = 500
_MAX_RANKS = 300
# From here on an axis counts seconds instead of milliseconds.
_SECONDS_FROM_S = 10.0

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Columns to draw; times in `unit` ("step", "ms" or "s"), `scale` of them a clock unit.

    `bars` has a row for each stretch of running: id, arrive, tokens, and for static (s) and
    continuous (c) left, first, right and row (NaN where there is none). `load` has left, right,
    static and continuous: mean busy slots. One of the two is empty.
    """

    unit: str
    scale: float
    slots: int
    end: float
    ends: tuple[float, float]
    bars: Columns
    load: Columns
    waiting: Columns
    latency: Columns
    longest: float
    marks: tuple[tuple[float, float], ...]

    @property
    def aggregated(self) -> bool:
        """Whether busy slots stand in for single requests."""
        return not self.bars["id"].size


def draw(played: Played) -> Picture:
    """The columns of all four charts."""
    static, rolling = played.both
    end = max(static.end, rolling.end)
    unit, scale = ("step", 1.0) if not played.in_time else _time_unit(end)
    latest = scale * max(static.latency.max(), rolling.latency.max())
    single = len(played.stream) <= MAX_BARS and static.slots <= MAX_ROWS
    return Picture(
        unit=unit,
        scale=scale,
        slots=static.slots,
        end=axis_end(end * scale),
        ends=(static.end * scale, rolling.end * scale),
        bars=_bars(played, scale) if single else _no_bars(),
        load=_no_load() if single else _load(played, scale, end),
        waiting=_waiting(played, scale, end),
        latency=_latency(played, scale),
        longest=axis_end(latest),
        marks=tuple(
            (float(a) * scale, float(b) * scale)
            for a, b in zip(*(np.quantile(run.latency, SHARES) for run in played.both), strict=True)
        ),
    )


def axis_end(value: float) -> float:
    """The next round number in steps of a fortieth to a tenth, so that little stays empty."""
    step = 10.0 ** np.floor(np.log10(value)) / 4
    step *= 1 if value < 20 * step else 2
    return float(np.ceil(value / step * (1 - 1e-12)) * step)


def _time_unit(end_s: float) -> tuple[str, float]:
    return ("ms", 1e3) if end_s < _SECONDS_FROM_S else ("s", 1.0)


def _bars(played: Played, scale: float) -> Columns:
    """One row for the n-th stretch of a request's running, in both policies."""
    runs = played.both
    keys = [_keys(run) for run in runs]
    rows = np.unique(np.concatenate(keys))
    request = rows // _STRETCHES
    columns: dict[str, NDArray[Any]] = {
        "id": request + 1,
        "arrive": _short(played.stream.arrival[request] * scale),
        "tokens": played.stream.output_token[request],
    }
    for side, run, key in zip("sc", runs, keys, strict=True):
        at = np.searchsorted(rows, key)
        begin, end = run.gantt["begin"], run.gantt["end"]
        # Only the first stretch is known to begin with prefill; in unit steps prefill is free.
        first = np.where(key % _STRETCHES == 0, run.first_token[run.gantt["request"]], begin)
        # A request preempted in its prefill has its first token in a later stretch.
        first = np.fmin(first, end) if played.in_time else begin
        for name, values in (
            ("left", _short(begin * scale)),
            ("first", _short(first * scale)),
            ("right", _short(end * scale)),
            ("row", run.gantt["slot"] + 1.0),
        ):
            column = np.full(rows.size, np.nan)
            column[at] = values
            columns[f"{side}_{name}"] = column
    return columns


# More preemptions of one request than any drawn run has.
_STRETCHES = 100_000


def _keys(run: PolicyRun) -> NDArray[np.int64]:
    """request · _STRETCHES + n for each row of the Gantt, where n counts a request's rows."""
    request = run.gantt["request"]
    order = np.argsort(request, kind="stable")
    ordered = request[order]
    nth = np.empty_like(request)
    nth[order] = np.arange(request.size) - np.searchsorted(ordered, ordered)
    return np.asarray(request * _STRETCHES + nth)


def _no_bars() -> Columns:
    names = ["id", "arrive", "tokens"]
    names += [f"{side}_{name}" for side in "sc" for name in ("left", "first", "right", "row")]
    return {name: np.zeros(0) for name in names}


def _no_load() -> Columns:
    return {name: np.zeros(0) for name in ("left", "right", "static", "continuous")}


def _load(played: Played, scale: float, end: float) -> Columns:
    edges = np.linspace(0, end, _BINS + 1)
    columns = {"left": _short(edges[:-1] * scale), "right": _short(edges[1:] * scale)}
    for name, run in zip(("static", "continuous"), played.both, strict=True):
        mean = time_average(run.occupancy["time"], run.occupancy["busy"], edges)
        columns[name] = np.round(mean, 3)
    return columns


def _waiting(played: Played, scale: float, end: float) -> Columns:
    """Requests in the queue from each time until the next; NaN once a policy has finished."""
    times = np.unique(np.concatenate([run.occupancy["time"] for run in played.both]))
    binned = times.size > _MAX_CHANGES
    edges = np.linspace(0, end, _BINS + 1)
    columns = {}
    for name, run in zip(("static", "continuous"), played.both, strict=True):
        at, waiting = run.occupancy["time"], run.occupancy["waiting"]
        if binned:
            held = time_average(at, waiting, edges)
            columns[name] = np.where(edges[:-1] <= run.end, np.round(held, 3), np.nan)
        else:
            place = np.searchsorted(at, times, side="right") - 1
            held = np.where(place >= 0, waiting[place], 0)
            columns[name] = np.where(times <= run.end, held, np.nan)
    return {"time": _short((edges[:-1] if binned else times) * scale), **columns}


def _latency(played: Played, scale: float) -> Columns:
    """The share of requests that are done within a latency, as stairs that rise at each row."""
    count = len(played.stream)
    if count <= _MAX_RANKS:
        shares = np.arange(1, count + 1) / count
        ranked = [np.sort(run.latency) for run in played.both]
    else:
        shares = np.unique(np.append(np.arange(1, 201) / 200, [0.999]))
        ranked = [np.quantile(run.latency, shares, method="inverted_cdf") for run in played.both]
    return {
        "share": np.concatenate([[0.0], shares]),
        "static": _short(np.concatenate([[0.0], ranked[0]]) * scale),
        "continuous": _short(np.concatenate([[0.0], ranked[1]]) * scale),
    }


def _short(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.round(values, 3)
