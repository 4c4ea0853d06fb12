"""How many requests a server finishes in time: targets on TTFT and on gaps, and the knee.

Goodput counts only the requests that meet both targets. Against the arrival rate it rises along
the diagonal until a target starts to fail, and falls behind it from there on. The knee is the
highest rate at which a wanted share of requests still meets both, as DistServe (Zhong et al. 2024)
defines goodput.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.scheduling import Schedule

Floats = NDArray[np.float64]
Judge = Literal["worst", "mean"]
JUDGES: tuple[Judge, ...] = ("worst", "mean")


@dataclass(frozen=True, slots=True, eq=False)
class Latencies:
    """What targets are held against, one value a request, and how long the run took.

    Shapes are (requests,). `mean_itl_s` and `worst_itl_s` are each request's own; NaN for an answer
    of one token, which has no gap to miss a target with.
    """

    ttft_s: Floats
    mean_itl_s: Floats
    worst_itl_s: Floats
    duration_s: float

    @classmethod
    def of(cls, schedule: Schedule) -> Latencies:
        """The latencies of a run."""
        return cls(schedule.ttft_s, schedule.tpot_s, schedule.worst_itl_s, schedule.duration_s)

    def met(self, ttft_target_s: float, itl_target_s: float, *, judge: Judge = "worst") -> int:
        """Requests that met both targets.

        A request's gaps are judged by the worst of them or by their mean (TPOT, as serving
        benchmarks do). Worked value: TTFTs of 1 and 2 s, worst gaps of 0.1 and 0.3 s, against
        2 and 0.2 s: one.
        """
        ttft = validate.number("ttft_target_s", ttft_target_s, 0, 1e9)
        itl = validate.number("itl_target_s", itl_target_s, 0, 1e9)
        validate.choice("judge", judge, JUDGES)
        gaps = self.worst_itl_s if judge == "worst" else self.mean_itl_s
        return int(((self.ttft_s <= ttft) & ~(gaps > itl)).sum())

    def share_met(
        self, ttft_target_s: float, itl_target_s: float, *, judge: Judge = "worst"
    ) -> float:
        """The share of requests that met both targets."""
        return self.met(ttft_target_s, itl_target_s, judge=judge) / self.ttft_s.size

    def goodput_per_s(
        self, ttft_target_s: float, itl_target_s: float, *, judge: Judge = "worst"
    ) -> float:
        """Requests a second that met both targets, over the whole run, its end included."""
        return self.met(ttft_target_s, itl_target_s, judge=judge) / self.duration_s


def knee_per_s(rates_per_s: Sequence[float], shares: Sequence[float], wanted: float = 0.9) -> float:
    """The highest arrival rate at which the share that meets the targets is still `wanted`.

    `rates_per_s` ascend, with the share at each; between two of them the share is taken as
    straight. Returns 0 where even the lowest rate falls short and infinity where the highest does
    not. Worked value: rates 1, 2, 3 with shares 1, 0.95, 0.85 cross 0.9 at 2.5.
    """
    rates = validate.array("rates_per_s", rates_per_s, 0, 1e9, open_low=True)
    reached = validate.array("shares", shares, 0, 1)
    validate.number("wanted", wanted, 0, 1, open_low=True)
    if rates.ndim != 1 or rates.size == 0 or rates.shape != reached.shape:
        raise ValueError(
            f"rates_per_s and shares must be two rows of one length, got shapes {rates.shape} and "
            f"{reached.shape}"
        )
    if np.any(np.diff(rates) <= 0):
        raise ValueError(f"rates_per_s must ascend, got {rates.tolist()}")
    if reached[0] < wanted:
        return 0.0
    for i, (before, after) in enumerate(itertools.pairwise(reached.tolist())):
        if after < wanted:
            part = (before - wanted) / (before - after)
            return float(rates[i] + part * (rates[i + 1] - rates[i]))
    return float("inf")
