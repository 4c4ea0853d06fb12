"""What the engine writes down while it runs, and the arrays that come of it.

A run is a stretch of steps of one composition. Its steps take first, first + growth,
first + 2·growth, … seconds (or units).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RUN_COLUMNS = 7
_CHUNK_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Preemption:
    """A request lost its cache at the start of step `step`, with `generated_token` tokens out."""

    step: int
    time: float
    request: int
    generated_token: int


@dataclass(frozen=True, slots=True, eq=False)
class EngineLog:
    """Arrays in order of time, or in order of request.

    One row a run: `start`, `first`, `growth` in the engine's time; `steps`; `decoding` requests
    and the sum of their contexts in the first step, `context_token`; `prefill_token` in all.
    One row a chunk: the step it is in (counted from 0), the request, offset and tokens.
    One row a request: when `admitted` first, `first_token` and `finish`.
    `recomputed` and `resumed` have a row for each return from a preemption: (request, time of the
    last token before it, time of the next) where it had made any, and (step, request, time).
    """

    start: Floats
    first: Floats
    growth: Floats
    steps: Ints
    decoding: Ints
    context_token: Ints
    prefill_token: Ints
    chunk_step: Ints
    chunk_request: Ints
    chunk_offset: Ints
    chunk_token: Ints
    admitted: Floats
    first_token: Floats
    finish: Floats
    recomputed: Floats
    resumed: Floats
    preemptions: tuple[Preemption, ...]
    end: float
    total_steps: int


class _Growing:
    """Columns of one type that are appended to; room is made for twice as much when it runs out."""

    __slots__ = ("_filled", "_table")

    def __init__(self, columns: int, expected: int, dtype: type[np.float64 | np.int64]) -> None:
        self._table = np.empty((columns, expected), dtype=dtype)
        self._filled = 0

    def append(self, rows: NDArray[Any]) -> None:
        end = self._filled + len(rows)
        if end > self._table.shape[1]:
            larger = np.empty((self._table.shape[0], 2 * end), dtype=self._table.dtype)
            larger[:, : self._filled] = self._table[:, : self._filled]
            self._table = larger
        self._table[:, self._filled : end] = rows.T
        self._filled = end

    def columns(self) -> NDArray[Any]:
        return self._table[:, : self._filled]


class LogBuilder:
    """Flat lists that the engine appends to, packed into arrays every now and then.

    Flat, because a list of a million tuples would be walked again and again by the garbage
    collector, and packed early to keep the working set small.
    """

    __slots__ = (
        "_chunks",
        "_counts",
        "_times",
        "admitted",
        "chunks",
        "finish",
        "first_token",
        "preemptions",
        "recomputed",
        "resumptions",
        "runs",
    )

    def __init__(self, requests: int) -> None:
        self.runs: list[float] = []
        self.chunks: list[int] = []
        self.admitted = array("d", [-1.0]) * requests
        self.first_token = array("d", [-1.0]) * requests
        self.finish = array("d", [-1.0]) * requests
        self.recomputed: list[float] = []
        self.resumptions: list[float] = []
        self.preemptions: list[Preemption] = []
        # A quiet server has some three runs a request; what is not filled is never touched.
        self._times = _Growing(3, 3 * requests + 100, np.float64)
        self._counts = _Growing(4, 3 * requests + 100, np.int64)
        self._chunks = _Growing(_CHUNK_COLUMNS, requests + 100, np.int64)

    def pack(self) -> None:
        """Move what has been appended since the last call into arrays."""
        runs = np.fromiter(self.runs, np.float64, len(self.runs)).reshape(-1, _RUN_COLUMNS)
        chunks = np.fromiter(self.chunks, np.int64, len(self.chunks)).reshape(-1, _CHUNK_COLUMNS)
        self._times.append(runs[:, :3])
        self._counts.append(runs[:, 3:])
        self._chunks.append(chunks)
        self.runs.clear()
        self.chunks.clear()

    def build(self, end: float, total_steps: int) -> EngineLog:
        """The whole log, once everything is packed."""
        start, first, growth = self._times.columns()
        steps, decoding, context, prefill = self._counts.columns()
        step, request, offset, tokens = self._chunks.columns()
        return EngineLog(
            start=start,
            first=first,
            growth=growth,
            steps=steps,
            decoding=decoding,
            context_token=context,
            prefill_token=prefill,
            chunk_step=step,
            chunk_request=request,
            chunk_offset=offset,
            chunk_token=tokens,
            admitted=np.frombuffer(self.admitted),
            first_token=np.frombuffer(self.first_token),
            finish=np.frombuffer(self.finish),
            recomputed=np.array(self.recomputed).reshape(-1, 3),
            resumed=np.array(self.resumptions).reshape(-1, 3),
            preemptions=tuple(self.preemptions),
            end=end,
            total_steps=total_steps,
        )
