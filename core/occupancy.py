"""Who sat in which slot when: what a Gantt chart and a queue-length chart draw.

A residence is a stretch of time in which one request runs; a preempted request has several.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.engine_log import EngineLog

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def residences(log: EngineLog) -> tuple[Ints, Floats, Floats]:
    """(request, begin, end) of every stretch of running, in order of begin.

    Begin is the start of the step that admitted the request, end the end of its last step or the
    start of the step that preempted it. Shape of each: (requests + preemptions,).
    """
    requests = np.arange(log.admitted.size)
    stopped = np.array([event.request for event in log.preemptions], dtype=np.int64)
    stop_times = np.array([event.time for event in log.preemptions], dtype=np.float64)
    request = np.concatenate([requests, log.resumed[:, 1].astype(np.int64)])
    begin = np.concatenate([log.admitted, log.resumed[:, 2]])
    ended = np.concatenate([requests, stopped])
    end = np.concatenate([log.finish, stop_times])
    # A request's begins and ends alternate, so that sorting both by request and time pairs them.
    by_begin, by_end = np.lexsort([begin, request]), np.lexsort([end, ended])
    request, begin, end = request[by_begin], begin[by_begin], end[by_end]
    order = np.lexsort([request, begin])
    return request[order], begin[order], end[order]


def slots(begin: Floats, end: Floats) -> Ints:
    """A slot for each residence: the lowest one free when it begins; `begin` must not fall.

    Shape: that of `begin`. A slot freed at some time can be taken at that time. Worked value:
    [0, 3), [0, 2), [2, 4) get slots 0, 1, 1.
    """
    taken: list[tuple[float, int]] = []
    free: list[int] = []
    slot = np.empty(begin.size, dtype=np.int64)
    opened = 0
    for i, (since, until) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        while taken and taken[0][0] <= since:
            heappush(free, heappop(taken)[1])
        if free:
            slot[i] = heappop(free)
        else:
            slot[i] = opened
            opened += 1
        heappush(taken, (until, int(slot[i])))
    return slot


def occupancy(arrival: Floats, log: EngineLog) -> dict[str, NDArray[Any]]:
    """How many requests run and how many wait, from each `time` on until the next.

    Changes at one time are taken together. Waiting are those that have arrived and do not run: a
    request that arrives in the middle of a step waits for the step to end.
    """
    _, begin, end = residences(log)
    kinds = [arrival.size, begin.size, end.size, log.finish.size]
    changes = np.concatenate([arrival, begin, end, log.finish])
    time, where = np.unique(changes, return_inverse=True)
    running, present = np.repeat([0, 1, -1, 0], kinds), np.repeat([1, 0, 0, -1], kinds)
    busy = np.cumsum(np.bincount(where, running, time.size)).astype(np.int64)
    inside = np.cumsum(np.bincount(where, present, time.size)).astype(np.int64)
    return {"time": time, "busy": busy, "waiting": inside - busy}
