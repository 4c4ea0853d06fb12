"""What idle slots cost: how long a static group runs, and idle time that a waiting request wanted.

A static group runs until its longest answer ends, so how full it can be at best follows from the
lengths alone. What a run really left idle, and whether anybody waited meanwhile, is counted from
its occupancy (`core.occupancy`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.model_spec import MAX_TOKENS

Floats = NDArray[np.float64]


def expected_longest(low: int, high: int, count: ArrayLike) -> Floats:
    """The mean of the longest of `count` independent answers of low..high tokens, all as likely.

    E = high − Σ_{v=low}^{high−1} ((v − low + 1)/(high − low + 1))^count, the tail sum of the
    maximum. Shape: that of `count`. Raises `ValueError` that names the field. Worked values: 8..64
    tokens have a mean of 36; the longest of 2 has 45.50, of 8 it has 58.15.
    """
    least = validate.integer("low", low, 1, MAX_TOKENS)
    most = validate.integer("high", high, least, MAX_TOKENS)
    members = validate.array("count", count, 1, 1e6)
    shares = np.arange(1, most - least + 1) / (most - least + 1)
    below: Floats = (shares ** members[..., np.newaxis]).sum(axis=-1)
    return most - below


def idle_while_waiting(time: ArrayLike, busy: ArrayLike, waiting: ArrayLike, slots: int) -> float:
    """Slot-time that was idle although a request that could have used it was waiting.

    `time`, `busy` and `waiting` are the columns of an occupancy: counts that hold from each time
    until the next. The integral of min(slots − busy, waiting). Worked value: 3 of 8 slots busy and
    2 requests waiting for 10 steps make 20.
    """
    count = validate.integer("slots", slots, 1, 1_000_000)
    idle = count - np.asarray(busy, dtype=np.float64)
    wanted = np.minimum(idle, np.asarray(waiting, dtype=np.float64))
    return float(wanted[:-1] @ np.diff(np.asarray(time, dtype=np.float64)))


def time_average(time: ArrayLike, values: ArrayLike, edges: ArrayLike) -> Floats:
    """The mean over time between neighbouring `edges` of a count that holds until it changes.

    `values[i]` holds from `time[i]` to `time[i + 1]`; before the first time it is 0, after the
    last it keeps the last value. Shape: (edges − 1,). Worked value: 4 from time 1 on, between
    edges 0, 2, 4: 2 and 4.
    """
    at = np.asarray(time, dtype=np.float64)
    held = np.asarray(values, dtype=np.float64)
    bounds = np.asarray(edges, dtype=np.float64)
    if bounds.ndim != 1 or bounds.size < 2 or np.any(np.diff(bounds) <= 0):
        raise ValueError("edges must be two or more times that rise")
    area = np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(at))])
    beyond = np.fmax(bounds - at[-1], 0.0) * held[-1]
    up_to: Floats = np.interp(bounds, at, area) + beyond
    return np.asarray(np.diff(up_to) / np.diff(bounds))
