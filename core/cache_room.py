"""How much cache the running requests may hold: the rule that bounds admission and growth.

The engine asks a `CacheRoom` before it admits a request and before the running ones grow.
`CountedRoom` counts blocks and remembers nothing; a pool that owns real blocks and shares prefixes
can answer the same questions in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core import validate
from core.step_terms import StepTerms


class CacheRoom(Protocol):
    """What the engine asks of whatever owns the cache.

    The engine skips the questions while an upper bound on the bytes in use, tails of blocks of
    `block_token` tokens included, stays at or below `safe_byte`: nothing could be refused then. A
    room that keeps state of its own sets `safe_byte` to −inf and `follows` to True; it is asked
    every time and told of every release.
    """

    safe_byte: float
    block_token: int
    follows: bool

    def admit(self, request: int, tokens: int, held: Sequence[int]) -> int:
        """Reserve `tokens` for a request beside `held`, the tokens of each other running one.

        Returns how many of them are already computed and need no prefill (fewer than `tokens`), or
        −1 where they do not fit; a refusal changes nothing.
        """
        ...

    def grow(self, growing: Sequence[tuple[int, int]], held: Sequence[int], steps: int) -> int:
        """See that each (request, context) may reach context, context + 1, … one a step.

        `held` is what requests still in prefill have reserved. Returns for how many steps that
        fits: 0 where not even the next one does; more than `steps` is welcome. Asking again for
        what was granted changes nothing.
        """
        ...

    def release(self, request: int) -> None:
        """The request has finished or was preempted."""
        ...


class CountedRoom:
    """`capacity_byte` of cache in blocks of `block_token` tokens, nothing shared.

    A sequence of S tokens holds ⌈S/block⌉ blocks, counted at `core.kv_cache`'s bytes per sequence
    of that many tokens, so windowed layers stop growing and fixed state is counted once.
    """

    follows = False

    def __init__(self, terms: StepTerms, capacity_byte: float, block_token: int) -> None:
        self.safe_byte = capacity_byte
        self.block_token = validate.integer("block_token", block_token, 1, 65_536)
        self._terms = terms

    def byte(self, tokens: int) -> float:
        """Bytes that a sequence of `tokens` tokens holds, in whole blocks."""
        return self._terms.decode_at(-(-tokens // self.block_token) * self.block_token)[2]

    def admit(self, request: int, tokens: int, held: Sequence[int]) -> int:
        """See `CacheRoom.admit`; nothing is ever skipped here."""
        return 0 if self._used([*held, tokens]) <= self.safe_byte else -1

    def grow(self, growing: Sequence[tuple[int, int]], held: Sequence[int], steps: int) -> int:
        """See `CacheRoom.grow`; answers with the whole stretch that fits, for a plain model."""
        contexts = [context for _, context in growing]
        free = self.safe_byte - self._used([*held, *contexts])
        if free < 0:
            return 0
        if not contexts:
            return steps
        if self._terms.plain:
            return self._steps_of_blocks(contexts, int(free // self._block_byte))
        reserved = self._used(held)
        low, high = 1, steps + 1
        while high - low > 1:
            middle = (low + high) // 2
            used = reserved + self._used([context + middle - 1 for context in contexts])
            low, high = (middle, high) if used <= self.safe_byte else (low, middle)
        return low

    def release(self, request: int) -> None:
        """Nothing to do: what is held is counted afresh at every question."""

    @property
    def _block_byte(self) -> float:
        return self.block_token * self._terms.cache_byte

    def _used(self, held: Sequence[int]) -> float:
        if not self._terms.plain:
            return sum(map(self.byte, held))
        block = self.block_token
        blocks = sum([-(-tokens // block) for tokens in held])
        return blocks * self._block_byte + len(held) * self._terms.state_byte

    def _steps_of_blocks(self, contexts: list[int], free: int) -> int:
        """Steps until `free` more blocks no longer suffice for sequences that grow together.

        Each sequence opens a block every `block_token` steps, the fullest tail first.
        """
        rounds, rest = divmod(free, len(contexts))
        tails = sorted([(context - 1) % self.block_token for context in contexts], reverse=True)
        return rounds * self.block_token + self.block_token - tails[rest]
