"""Eight one-line faults of the reference program, each a code path that nothing else uses.

Six break the pool, by overriding one method of `core.block_pool.BlockPool`; one breaks batching
and one speculation. They are here to be caught: `core.checks` runs every claim against them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from core import validate
from core.batching import Batching, simulate
from core.block_pool import BlockPool
from core.free_queue import FreeQueue
from core.prefix_cache import BlockKey
from core.reference_program import Parts
from core.requests import RequestStream, Xorshift32
from core.simulated_rounds import SimulatedRounds, simulate_tokens


class SearchedQueue(FreeQueue):
    """A free queue as the reference program has it: a deque that is searched, and never checked.

    This project's own linked queue refuses a block that is in it already. The deque takes it, which
    lets a fault run on until a claim notices it.
    """

    __slots__ = ("_blocks",)

    def __init__(self, order: Iterable[int], end: int) -> None:
        """A queue of `order`, head first."""
        blocks = list(order)
        super().__init__(blocks, end)
        self._blocks = deque(blocks)

    @property
    def head(self) -> int:
        """The block that is reused next; where there is none, the id that is no block."""
        return self._blocks[0] if self._blocks else self._end

    @property
    def tail(self) -> int:
        """The block that was freed last; where there is none, the id that is no block."""
        return self._blocks[-1] if self._blocks else self._end

    def insert_before(self, place: int, block: int) -> None:
        """Put `block` in front of `place`, or at the tail where that is no block. O(n)."""
        at = len(self._blocks) if place == self._end else self._blocks.index(place)
        self._blocks.insert(at, block)

    def remove(self, block: int) -> None:
        """Take the foremost `block` out. O(n)."""
        self._blocks.remove(block)

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._blocks))


class SearchedPool(BlockPool):
    """A sound pool on the reference's kind of queue."""

    def __init__(self, num_blocks: int, block_size: int, **options: Any) -> None:
        """As `BlockPool`."""
        super().__init__(num_blocks, block_size, **options)
        end = self.first_id + self.num_blocks
        self._queue = SearchedQueue(range(self.first_id, end), end)


class UnchainedHash(SearchedPool):
    """A block is known by its own tokens alone."""

    def _identity(
        self, parent: BlockKey | None, tokens: tuple[int, ...], salt: str | None
    ) -> tuple[BlockKey | None, tuple[int, ...], str | None]:
        return super()._identity(None, tokens, salt)


class EvictNewest(SearchedPool):
    """New blocks come from the tail of the free queue."""

    def _next_free(self) -> int:
        return self._queue.tail


class ForwardRelease(SearchedPool):
    """A release walks the block table from its front."""

    def _release_order(self, num_blocks: int) -> Iterable[int]:
        return range(num_blocks)


class NoDequeueOnReuse(SearchedPool):
    """A cached block that is in use again stays in the free queue."""

    def _leave_queue(self, block: int) -> None:
        pass


class StaleHashAfterEviction(SearchedPool):
    """Evicted content is still found under its key."""

    def _forget(self, block: int) -> None:
        pass


class SkippedReferenceCount(SearchedPool):
    """Sharing a block leaves its reference count as it was."""

    def _touch(self, block: int) -> None:
        if self._ref_counts[block] == 0:
            self._leave_queue(block)


def one_extra_slot(stream: RequestStream, slots: int, continuous: bool) -> Batching:
    """A request is admitted while the active ones are at most `slots`, not fewer."""
    return replace(simulate(stream, slots + 1, continuous), slots=slots)


def acceptance_off_by_one(
    draws: Xorshift32, alpha: float, gamma: int, rounds: int
) -> SimulatedRounds:
    """A round goes on while at most γ tokens are accepted, not fewer."""
    return simulate_tokens(draws, alpha, gamma + 1, rounds)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault's name, what is wrong in a sentence, and the program's parts with it inside."""

    name: str
    statement: str
    parts: Parts


FAULTS = (
    Fault(
        "unchained hash",
        "A block is known by its own tokens alone, whatever came before it.",
        Parts(pool=UnchainedHash),
    ),
    Fault(
        "evict newest",
        "New blocks come from the tail of the free queue instead of its head.",
        Parts(pool=EvictNewest),
    ),
    Fault(
        "forward release",
        "A block table is given back from its front instead of its end.",
        Parts(pool=ForwardRelease),
    ),
    Fault(
        "no dequeue on reuse",
        "A cached block that is in use again stays in the free queue.",
        Parts(pool=NoDequeueOnReuse),
    ),
    Fault(
        "stale hash after eviction",
        "Content that was evicted is still found under its old hash.",
        Parts(pool=StaleHashAfterEviction),
    ),
    Fault(
        "one extra slot",
        "A request is admitted while as many are active as there are slots.",
        Parts(batching=one_extra_slot),
    ),
    Fault(
        "skipped reference count",
        "Sharing a block does not count the new reference.",
        Parts(pool=SkippedReferenceCount),
    ),
    Fault(
        "acceptance off by one",
        "A round may accept one more token than the draft proposed.",
        Parts(rounds=acceptance_off_by_one),
    ),
)
"""Every fault, in the order in which the page and the tables list them."""

SOUND = "none"
"""The name that stands for no fault at all."""


def parts_with(fault: str) -> Parts:
    """The program's parts with the fault of that name inside; sound ones for "none".

    Raises `ValueError` for a name that is neither.
    """
    names = [SOUND, *(known.name for known in FAULTS)]
    validate.choice("fault", fault, names)
    return next((known.parts for known in FAULTS if known.name == fault), Parts())
