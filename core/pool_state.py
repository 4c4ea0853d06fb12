"""A block pool's state as a frozen record, and the same record rebuilt from events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.free_queue import FreeQueue
from core.pool_events import Event, EventKind
from core.prefix_cache import BlockKey


@dataclass(frozen=True, slots=True)
class PoolState:
    """Everything a view shows of a pool at one moment.

    `ref_counts`, `filled_token` (tokens held, 0 in a free block without cached content) and
    `keys` (None where not cached) have one element per block, the first for block `first_id`.
    `free_queue` runs head to tail. `tables` maps a request's label to the blocks it holds.
    """

    block_size: int
    first_id: int
    ref_counts: tuple[int, ...]
    filled_token: tuple[int, ...]
    keys: tuple[BlockKey | None, ...]
    free_queue: tuple[int, ...]
    tables: Mapping[str, tuple[int, ...]]
    cache_hits: int = 0
    evictions: int = 0

    @classmethod
    def fresh(cls, num_blocks: int, block_size: int, first_id: int = 0) -> PoolState:
        """The state of a new pool: every block free and empty, the queue in order of ids."""
        zeros = (0,) * num_blocks
        order = tuple(range(first_id, first_id + num_blocks))
        return cls(block_size, first_id, zeros, zeros, (None,) * num_blocks, order, {})

    @property
    def in_use(self) -> int:
        """How many blocks are held by at least one request."""
        return sum(count > 0 for count in self.ref_counts)

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """One row a block: id, references, cached, tokens held, first owner, place in the queue.

        `owner` is "" and `queue_position` −1 where there is none.
        """
        owner = [""] * len(self.ref_counts)
        for request, table in self.tables.items():
            for block in table:
                owner[block - self.first_id] = owner[block - self.first_id] or request
        place = np.full(len(self.ref_counts), -1)
        queue = np.array(self.free_queue, dtype=int) - self.first_id
        place[queue] = np.arange(len(queue))
        return {
            "block": np.arange(len(self.ref_counts)) + self.first_id,
            "ref_count": np.array(self.ref_counts, dtype=int),
            "cached": np.array([key is not None for key in self.keys], dtype=bool),
            "filled_token": np.array(self.filled_token, dtype=int),
            "owner": np.array(owner, dtype=np.str_),
            "queue_position": place,
        }


def replay(start: PoolState, events: Sequence[Event]) -> PoolState:
    """The state after `events`, which happened one after the other from `start` on.

    Pure: replaying a list in two parts gives what replaying it at once gives. Costs
    O(blocks + events).
    """
    working = _Working(start)
    for event in events:
        working.apply(event)
    return working.freeze()


class Playback:
    """A recorded run that can be stepped forwards and back: `state(n)` is the pool after n events.

    States are kept every `stride` events, so that a step replays fewer than `stride` of them.
    """

    def __init__(self, start: PoolState, events: Sequence[Event], stride: int = 64) -> None:
        """Replay all `events` once from `start`. Raises `ValueError` for a stride below 1."""
        self._events = tuple(events)
        self._stride = validate.integer("stride", stride, 1, 1_000_000)
        self._kept = [start]
        for first in range(0, len(self._events) - stride + 1, stride):
            self._kept.append(replay(self._kept[-1], self._events[first : first + stride]))

    def __len__(self) -> int:
        return len(self._events)

    def event(self, step: int) -> Event:
        """The event that led to `state(step)`. Raises `ValueError` outside 1 … len."""
        return self._events[validate.integer("step", step, 1, len(self)) - 1]

    def state(self, step: int) -> PoolState:
        """The pool after the first `step` events. Raises `ValueError` outside 0 … len."""
        step = validate.integer("step", step, 0, len(self))
        kept = step // self._stride
        return replay(self._kept[kept], self._events[kept * self._stride : step])


class _Working:
    """A pool state under way: lists where `PoolState` has tuples."""

    def __init__(self, start: PoolState) -> None:
        self._start = start
        self._ref_counts = list(start.ref_counts)
        self._filled = list(start.filled_token)
        self._keys = list(start.keys)
        self._queue = FreeQueue(start.free_queue, start.first_id + len(start.ref_counts))
        self._tables = {request: list(table) for request, table in start.tables.items()}
        self._cache_hits = start.cache_hits
        self._evictions = start.evictions

    def apply(self, event: Event) -> None:
        if event.kind is EventKind.RESET:
            self._keys = [None] * len(self._keys)
            self._filled = [0] * len(self._filled)
        elif event.block is not None:
            self._apply_to_block(event, event.block, event.block - self._start.first_id)

    def _apply_to_block(self, event: Event, block: int, index: int) -> None:
        match event.kind:
            case EventKind.TOUCH:
                self._cache_hits += 1
                if event.ref_count == 1:
                    self._queue.remove(block)
                self._hold(event.request, block, event.ref_count)
            case EventKind.POP:
                self._queue.remove(block)
                self._filled[index] = event.tokens
                self._hold(event.request, block, event.ref_count)
            case EventKind.EVICT:
                self._evictions += 1
                self._keys[index] = None
                self._filled[index] = 0
            case EventKind.HASH:
                self._keys[index] = event.key
            case EventKind.APPEND:
                self._filled[index] += event.tokens
            case EventKind.RELEASE:
                self._give_back(event, block, index)

    def _hold(self, request: str, block: int, ref_count: int) -> None:
        self._ref_counts[block - self._start.first_id] = ref_count
        self._tables.setdefault(request, []).append(block)

    def _give_back(self, event: Event, block: int, index: int) -> None:
        self._ref_counts[index] = event.ref_count
        table = self._tables[event.request]
        del table[event.position :]
        if not table:
            del self._tables[event.request]
        if event.ref_count:
            return
        if self._keys[index] is None:
            self._filled[index] = 0
        if event.before is None:
            self._queue.append(block)
        else:
            self._queue.insert_before(event.before, block)

    def freeze(self) -> PoolState:
        return PoolState(
            self._start.block_size,
            self._start.first_id,
            tuple(self._ref_counts),
            tuple(self._filled),
            tuple(self._keys),
            tuple(self._queue),
            {request: tuple(table) for request, table in self._tables.items()},
            self._cache_hits,
            self._evictions,
        )
