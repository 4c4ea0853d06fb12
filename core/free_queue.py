"""Doubly linked rings over block ids, and the free queue that is one of them.

The links lie in two lists that are made once, indexed by block id, so that inserting and removing
any block is a fixed number of list writes however many blocks there are. This is the structure
of vLLM's FreeKVCacheBlockQueue; the reference program's deque has to search for a block to
take it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_UNLINKED = -1


class BlockRings:
    """Disjoint rings of block ids below `num_ids`; each id is in at most one ring."""

    __slots__ = ("_next", "_previous")

    def __init__(self, num_ids: int) -> None:
        """Every id out of every ring."""
        self._next = [_UNLINKED] * num_ids
        self._previous = [_UNLINKED] * num_ids

    def after(self, block: int) -> int:
        """The id behind `block` in its ring; `block` itself where it is alone. O(1)."""
        return self._next[block]

    def start(self, block: int) -> None:
        """Make a ring of `block` alone. O(1)."""
        self._next[block] = self._previous[block] = block

    def insert_before(self, place: int, block: int) -> None:
        """Put `block` in front of `place`, which is in a ring. O(1).

        Raises `ValueError` where `block` is in a ring already: it would be in two places.
        """
        if self._next[block] != _UNLINKED:
            raise ValueError(f"block {block} is linked already and cannot be inserted twice")
        previous = self._previous[place]
        self._next[previous] = block
        self._previous[block] = previous
        self._next[block] = place
        self._previous[place] = block

    def remove(self, block: int) -> None:
        """Take `block` out of its ring. O(1). Raises `ValueError` where it is in none."""
        following = self._next[block]
        if following == _UNLINKED:
            raise ValueError(f"block {block} is not linked and cannot be removed")
        previous = self._previous[block]
        self._next[previous] = following
        self._previous[following] = previous
        self._next[block] = self._previous[block] = _UNLINKED


class FreeQueue(BlockRings):
    """The blocks that nobody holds, from the head (reused next) to the tail (freed last).

    `order` lists them head first; every id that may ever enter is below `end`, the id that
    closes the ring and is no block. Worked value: FreeQueue([1, 2, 3], 4) without 2 is 1, 3.
    """

    __slots__ = ("_end", "_length")

    def __init__(self, order: Sequence[int], end: int) -> None:
        """A queue of `order`, head first. O(end)."""
        super().__init__(end + 1)
        self._end = end
        self._length = len(order)
        previous = end
        for block in order:
            self._next[previous] = block
            self._previous[block] = previous
            previous = block
        self._next[previous] = end
        self._previous[end] = previous

    @property
    def head(self) -> int:
        """The block that is reused next; where the queue is empty, the id that closes the ring."""
        return self._next[self._end]

    @property
    def tail(self) -> int:
        """The block that was freed last; where the queue is empty, the id that closes the ring."""
        return self._previous[self._end]

    def append(self, block: int) -> None:
        """Put `block` at the tail. O(1)."""
        self.insert_before(self._end, block)

    def insert_before(self, place: int, block: int) -> None:
        """Put `block` in front of `place`, which is in the queue or closes it. O(1)."""
        super().insert_before(place, block)
        self._length += 1

    def remove(self, block: int) -> None:
        """Take `block` out, wherever it is. O(1)."""
        super().remove(block)
        self._length -= 1

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        block = self._next[self._end]
        while block != self._end:
            yield block
            block = self._next[block]
