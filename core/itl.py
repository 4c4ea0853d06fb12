"""The exact distribution of inter-token latencies, kept as runs instead of one value a token.

A run is an arithmetic series of step times, first, first + growth, …, each seen by `weight`
decoding requests at once. Ten thousand requests of 128 tokens are 1.27 million gaps in some 27,000
runs; every count, mean and quantile below is that of all the gaps, with nothing binned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.engine_log import EngineLog

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS = 4096
_FEW_VALUES = 2048
"""Values that are sorted outright; more are halved first."""


@dataclass(frozen=True, slots=True, eq=False)
class ItlDistribution:
    """Gaps between tokens, in seconds (or in units, of an engine that runs in units).

    All four arrays have shape (runs,). Run r holds the values first_s + j·growth_s for j in
    0..steps−1, each `weight` times; growth is never negative, and a weight may be 0.
    """

    first_s: Floats
    growth_s: Floats
    steps: Ints
    weight: Ints

    @classmethod
    def of(cls, log: EngineLog) -> ItlDistribution:
        """Every gap of a run of the engine: each step as often as requests decoded in it.

        A request that was preempted also has one long gap, from the last token it had made to the
        one that its recomputed prefill gave it.
        """
        first, growth, steps, weight = log.first, log.growth, log.steps, log.decoding
        if log.recomputed.size:
            gaps = log.recomputed[:, 2] - log.recomputed[:, 1]
            ones = np.ones(gaps.size, dtype=np.int64)
            first, growth = np.append(first, gaps), np.append(growth, np.zeros(gaps.size))
            steps, weight = np.append(steps, ones), np.append(weight, ones)
        return cls(first, growth, steps, weight)

    @property
    def count(self) -> int:
        """Gaps in all: one for each output token but the first of every request."""
        return int(self.steps @ self.weight)

    @property
    def mean_s(self) -> float:
        """The mean over all gaps; NaN where there are none."""
        if not self.count:
            return float("nan")
        series = self.steps * self.first_s + self.growth_s * (self.steps * (self.steps - 1) / 2)
        return float(series @ self.weight) / self.count

    @property
    def least_s(self) -> float:
        """The shortest gap; NaN where there are none."""
        if not self.count:
            return float("nan")
        return float(self.first_s.min(where=self.weight > 0, initial=np.inf))

    @property
    def worst_s(self) -> float:
        """The longest gap; NaN where there are none."""
        return self._worst(self._last()) if self.count else float("nan")

    def at_most(self, values_s: ArrayLike) -> Ints:
        """How many gaps are at most each of `values_s`. Shape: that of `values_s`."""
        given = np.asarray(values_s, dtype=np.float64)
        values = given.ravel()
        order = np.argsort(values)
        counts = np.empty(values.size, dtype=np.int64)
        counts[order] = _at_most(self, values[order])
        return counts.reshape(given.shape)

    def share_at_most(self, values_s: ArrayLike) -> Floats:
        """The cumulative distribution at each of `values_s`; refused where there is no gap."""
        self._refuse_empty()
        return self.at_most(values_s) / self.count

    def quantile(self, shares: ArrayLike) -> Floats:
        """Exact quantiles, interpolated between neighbours as `numpy.quantile` does by default.

        Shape: that of `shares`. Raises `ValueError` outside [0, 1] and where there is no gap.
        Worked value: gaps of 1, 2, 3 and 10 s have their median at 2.5 s.
        """
        wanted = validate.array("shares", shares, 0, 1)
        self._refuse_empty()
        place = wanted.ravel() * (self.count - 1)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, self.count - 1)
        ranks, where = np.unique(np.concatenate([below, above]), return_inverse=True)
        low, high = np.split(self._order_statistics(ranks)[where], 2)
        return np.asarray(low + (high - low) * (place - below)).reshape(wanted.shape)

    def _refuse_empty(self) -> None:
        if not self.count:
            raise ValueError("a distribution needs at least one gap; every answer has one token")

    def _worst(self, last: Floats) -> float:
        return float(last.max(where=self.weight > 0, initial=-np.inf))

    def _last(self) -> Floats:
        return self.first_s + self.growth_s * (self.steps - 1)

    def _order_statistics(self, ranks: Ints) -> Floats:
        """The values at `ranks` (from 0) among all gaps in order of size.

        Values are sorted into cells of equal width. Counting each run whole in the cell of its
        first value, then in that of its last, brackets a rank between two cells; only the runs
        that reach between those are looked into.
        """
        last, sizes = self._last(), (self.steps * self.weight).astype(np.float64)
        least, worst = self.least_s, self._worst(last)
        width = (worst - least) / _CELLS
        if width < 4 * np.spacing(worst):
            return self._values_at(ranks, float(np.nextafter(least, -np.inf)), worst)
        first_cell = np.clip((self.first_s - least) / width, 0, _CELLS - 1).astype(np.intp)
        last_cell = np.clip((last - least) / width, 0, _CELLS - 1).astype(np.intp)
        starts = np.cumsum(np.bincount(first_cell, sizes, _CELLS)).astype(np.int64)
        ends = np.cumsum(np.bincount(last_cell, sizes, _CELLS)).astype(np.int64)
        lows = np.searchsorted(starts, ranks, side="right")
        highs = np.searchsorted(ends, ranks, side="right")
        found = np.empty(ranks.size)
        for code in np.unique(lows * _CELLS + highs):
            low, high = divmod(int(code), _CELLS)
            near = np.flatnonzero((last_cell >= low) & (first_cell <= high))
            reaching = ItlDistribution(
                self.first_s[near], self.growth_s[near], self.steps[near], self.weight[near]
            )
            mine = (lows == low) & (highs == high)
            below = int(ends[low - 1]) if low else 0
            found[mine] = reaching._values_at(
                ranks[mine] - below, least + width * (low - 1), least + width * (high + 2)
            )
        return found

    def _values_at(self, ranks: Ints, low: float, high: float) -> Floats:
        """The values at `ranks`, all of which lie in (low, high]."""
        start, stop = np.zeros_like(self.steps), self.steps
        if int(self.steps.sum()) > _FEW_VALUES:
            start, stop = self._up_to(low), self._up_to(high)
            ranks = ranks - int(start @ self.weight)
        while int((stop - start).sum()) > _FEW_VALUES:
            middle = low + (high - low) / 2
            if not low < middle < high:
                return np.full(ranks.size, high)
            split = self._up_to(middle)
            below = int((split - start) @ self.weight)
            if below > ranks.max():
                stop, high = split, middle
            elif below <= ranks.min():
                start, low, ranks = split, middle, ranks - below
            else:
                break
        count = (stop - start).astype(np.intp)
        run = np.repeat(np.arange(count.size), count)
        nth = np.arange(run.size) - np.repeat(np.cumsum(count) - count - start, count)
        values = self.first_s[run] + self.growth_s[run] * nth
        order = np.argsort(values)
        at = np.searchsorted(np.cumsum(self.weight[run[order]]), ranks, side="right")
        return np.asarray(values[order[at]], dtype=np.float64)

    def _up_to(self, limit: float) -> Ints:
        return _values_at_most(self.first_s, self.growth_s, self.steps, limit)


def _values_at_most(first: Floats, growth: Floats, steps: Ints, limit: Floats | float) -> Ints:
    """How many of first, first + growth, … (`steps` of them) are at most `limit`, run by run."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nth = np.floor((limit - first) / growth)
    nth = np.clip(np.where(growth > 0, nth, np.where(first <= limit, steps, -1)), -1, steps - 1)
    # The division may be off by one where a value lies on the limit itself.
    nth -= (first + growth * nth > limit) & (nth >= 0)
    nth += (first + growth * (nth + 1) <= limit) & (nth < steps - 1)
    return nth.astype(np.int64) + 1


def _at_most(runs: ItlDistribution, values: Floats) -> Ints:
    """Cumulative counts at `values`, which ascend.

    A run counts whole from the first value at or above its last; where values fall inside it, it
    is counted for each of them.
    """
    begin = np.searchsorted(values, runs.first_s, side="left")
    whole = np.searchsorted(values, runs._last(), side="left")
    sizes = (runs.steps * runs.weight).astype(np.float64)
    counts = np.cumsum(np.bincount(whole, weights=sizes, minlength=values.size + 1))[: values.size]
    inside = np.flatnonzero(whole > begin)
    if inside.size:
        width = (whole - begin)[inside]
        run = np.repeat(inside, width)
        nth = np.arange(run.size) - np.repeat(np.cumsum(width) - width, width)
        at = begin[run] + nth
        partly = _values_at_most(runs.first_s[run], runs.growth_s[run], runs.steps[run], values[at])
        counts += np.bincount(at, weights=partly * runs.weight[run], minlength=values.size)
    return counts.astype(np.int64)
