"""What a block pool reports: one typed event for each thing that happens, with its reason.

The events carry everything that changes, so that a view draws the pool from them alone
(`core.pool_state.replay`) and never looks inside the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.prefix_cache import BlockKey
from core.units import counted


class EventKind(Enum):
    """What happened. HIT, MISS and REFUSE change nothing; the others each change one thing."""

    HIT = "hit"
    MISS = "miss"
    TOUCH = "touch"
    POP = "pop"
    EVICT = "evict"
    HASH = "hash"
    APPEND = "append"
    RELEASE = "release"
    REFUSE = "refuse"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of the pool.

    `request` is the label of the block table it concerns, `block` the block, `position` the
    block's place in that table, `tokens` how many tokens were written (POP, APPEND),
    `ref_count` the block's references afterwards, `key` the content that was found, recorded or
    lost. `before` (RELEASE) is the block in front of which it joined the free queue; None is the
    tail. `reason` is a sentence for the reader.
    """

    kind: EventKind
    reason: str
    request: str = ""
    block: int | None = None
    position: int | None = None
    tokens: int = 0
    ref_count: int = 0
    key: BlockKey | None = None
    before: int | None = None


class EventSink(Protocol):
    """Whatever takes events one by one; a list is one."""

    def append(self, event: Event, /) -> object:
        """Take one event, which has happened by the time of the call."""


class Recorder:
    """Words and sends the events of one pool to its log."""

    __slots__ = ("_block_size", "_log")

    def __init__(self, log: EventSink, block_size: int) -> None:
        """Send to `log`; the block size turns positions into tokens."""
        self._log = log
        self._block_size = block_size

    def hit(self, request: str, position: int, block: int, key: BlockKey) -> None:
        """A look-up found a block that holds the same prefix."""
        reason = f"block {block} already holds {self._span(position)} of {request}"
        self._send(EventKind.HIT, reason, request, block, position, key=key)

    def miss(self, request: str, position: int) -> None:
        """A look-up met content that no block holds."""
        reason = (
            f"no block holds {self._span(position)} of {request} after this prefix, so the "
            "look-up stops"
        )
        self._send(EventKind.MISS, reason, request, position=position)

    def capped(self, request: str, position: int) -> None:
        """A look-up stopped because the last token has to be computed."""
        reason = (
            f"the look-up stops before {self._span(position)} of {request}: the prompt's last "
            "token has to be computed, for it predicts the first new one"
        )
        self._send(EventKind.MISS, reason, request, position=position)

    def touch(self, request: str, position: int, block: int, ref_count: int) -> None:
        """A cached block gained a reference."""
        if ref_count == 1:
            reason = f"block {block} leaves the free queue for {request} and cannot be evicted now"
        else:
            reason = f"block {block} is shared with {request}: {ref_count} references"
        self._send(EventKind.TOUCH, reason, request, block, position, ref_count=ref_count)

    def evict(self, request: str, block: int, key: BlockKey) -> None:
        """The block at the head of the free queue lost its content."""
        reason = (
            f"block {block}, the least recently used, is evicted for {request}: it held "
            f"{self._span(key.index)} of an earlier prompt"
        )
        self._send(EventKind.EVICT, reason, request, block, key=key)

    def pop(self, request: str, position: int, block: int, tokens: int) -> None:
        """The block at the head of the free queue went to a request."""
        reason = (
            f"block {block} comes from the head of the free queue for "
            f"{self._span(position, 0, tokens)} of {request}"
        )
        self._send(EventKind.POP, reason, request, block, position, tokens=tokens, ref_count=1)

    def append(self, request: str, position: int, block: int, filled: int, tokens: int) -> None:
        """A request grew inside its partial block, which held `filled` tokens before."""
        reason = f"block {block} takes in {self._span(position, filled, tokens)} of {request}"
        self._send(EventKind.APPEND, reason, request, block, position, tokens=tokens)

    def hash(self, request: str, position: int, block: int, key: BlockKey) -> None:
        """A block became full and its content was recorded."""
        if key.first_copy == block:
            reason = f"block {block} is full: its key is recorded, and it can be shared"
        else:
            reason = (
                f"block {block} is full, a second copy of what block {key.first_copy} holds; "
                f"the table of {request} stays as it is"
            )
        self._send(EventKind.HASH, reason, request, block, position, key=key)

    def release(
        self,
        request: str,
        position: int,
        block: int,
        *,
        ref_count: int,
        key: BlockKey | None,
        before: int | None,
    ) -> None:
        """A request gave a block back."""
        if ref_count:
            kept = counted(ref_count, "reference")
            reason = f"{request} gives block {block} back; {kept} left, so it stays in use"
        elif key is not None:
            reason = f"block {block} joins the tail of the free queue and keeps its content"
        elif before is None:
            reason = f"block {block} joins the tail of the free queue; nothing in it can be shared"
        else:
            reason = f"block {block} goes to the front: nothing in it can be shared"
        self._send(
            EventKind.RELEASE, reason, request, block, position, ref_count=ref_count, before=before
        )

    def refuse(self, request: str, needed: int, free: int) -> None:
        """A request needed more blocks than are free."""
        wanted = counted(needed, "new block")
        reason = f"{request} is refused: {wanted} needed, {free:,} free; nothing changes"
        self._send(EventKind.REFUSE, reason, request)

    def refuse_reset(self, in_use: int) -> None:
        """A reset met blocks in use."""
        self._send(EventKind.REFUSE, f"no reset while blocks are in use ({in_use} now)")

    def reset(self) -> None:
        """Every cached content was dropped."""
        self._send(EventKind.RESET, "all blocks are free and every cached content is dropped")

    def _span(self, position: int, skip: int = 0, tokens: int | None = None) -> str:
        first = position * self._block_size + skip
        last = first + (self._block_size if tokens is None else tokens) - 1
        return f"token {first}" if first == last else f"tokens {first}–{last}"

    def _send(
        self,
        kind: EventKind,
        reason: str,
        request: str = "",
        block: int | None = None,
        position: int | None = None,
        *,
        tokens: int = 0,
        ref_count: int = 0,
        key: BlockKey | None = None,
        before: int | None = None,
    ) -> None:
        self._log.append(
            Event(kind, reason, request, block, position, tokens, ref_count, key, before)
        )


def columns(events: Sequence[Event]) -> dict[str, NDArray[np.generic]]:
    """The events as equal-length arrays, −1 where an event has no block or position."""
    return {
        "step": np.arange(1, len(events) + 1),
        "kind": np.array([event.kind.value for event in events], dtype=np.str_),
        "request": np.array([event.request for event in events], dtype=np.str_),
        "block": np.array([-1 if event.block is None else event.block for event in events], int),
        "position": np.array(
            [-1 if event.position is None else event.position for event in events], int
        ),
        "reason": np.array([event.reason for event in events], dtype=np.str_),
    }
