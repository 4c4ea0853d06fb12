"""What the engine writes down while it runs, and the arrays that come of it.

A run is a stretch of steps of one composition. Its steps take first, first + growth,
first + 2·growth, … seconds (or units).
"""

from __future__ import annotations

from dataclasses import dataclass

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


class LogBuilder:
    """Flat lists that the engine appends to, packed into arrays every now and then.

    Flat, because a list of a million tuples would be walked again and again by the garbage
    collector, and packed early to keep the working set small.
    """

    __slots__ = (
        "_chunk_parts",
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
        self.admitted = [-1.0] * requests
        self.first_token = [-1.0] * requests
        self.finish = [-1.0] * requests
        self.recomputed: list[float] = []
        self.resumptions: list[float] = []
        self.preemptions: list[Preemption] = []
        self._times: list[Floats] = []
        self._counts: list[Ints] = []
        self._chunk_parts: list[Ints] = []

    def pack(self) -> None:
        """Move what has been appended since the last call into arrays."""
        runs = np.fromiter(self.runs, np.float64, len(self.runs)).reshape(-1, _RUN_COLUMNS)
        chunks = np.fromiter(self.chunks, np.int64, len(self.chunks)).reshape(-1, _CHUNK_COLUMNS)
        self._times.append(runs[:, :3].T.copy())
        self._counts.append(runs[:, 3:].T.astype(np.int64))
        self._chunk_parts.append(chunks.T.copy())
        self.runs.clear()
        self.chunks.clear()

    def build(self, end: float, total_steps: int) -> EngineLog:
        """The whole log, once everything is packed."""
        start, first, growth = np.concatenate(self._times, axis=1)
        steps, decoding, context, prefill = np.concatenate(self._counts, axis=1)
        step, request, offset, tokens = np.concatenate(self._chunk_parts, axis=1)
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
            admitted=np.fromiter(self.admitted, np.float64, len(self.admitted)),
            first_token=np.fromiter(self.first_token, np.float64, len(self.first_token)),
            finish=np.fromiter(self.finish, np.float64, len(self.finish)),
            recomputed=np.array(self.recomputed).reshape(-1, 3),
            resumed=np.array(self.resumptions).reshape(-1, 3),
            preemptions=tuple(self.preemptions),
            end=end,
            total_steps=total_steps,
        )
