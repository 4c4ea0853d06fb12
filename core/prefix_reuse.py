"""How much of a trace's prompts a prefix cache would find, against the size of the cache.

A trace lists, for each request in order of arrival, the ids of its prompt's blocks: equal ids mean
equal prefixes up to there (Mooncake's format, 512 tokens an id; Qin et al., FAST 2025). A
request's ids are walked from the front and hit until the first that is not cached; then all of
them become the most recently used, in order, and the least recently used beyond the capacity go.

One pass gives every capacity at once. An LRU cache of c ids holds the c ids used last, so an id is
cached when a request arrives exactly if fewer than c other ids were used since its own last use
(Mattson et al. 1970). It hits if that is true of it and of every id before it in its request: the
capacity it needs is the largest of theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.model_spec import MAX_TOKENS

Ints: TypeAlias = NDArray[np.int64]

MAX_REFERENCES = 100_000_000


@dataclass(frozen=True, slots=True)
class Reuse:
    """What every reference of a trace needs in order to hit.

    `needed_block` has one element per reference, in order: the smallest capacity, in ids, at
    which it is a leading hit, and 0 where no capacity is enough. `tokens` is how many prompt
    tokens each stands for. `distinct_blocks` is the size of an unbounded cache at the end,
    `prompt_tokens` the length of all prompts together.
    """

    needed_block: Ints
    tokens: Ints
    distinct_blocks: int
    prompt_tokens: int

    @property
    def references(self) -> int:
        """How many ids the requests name in all."""
        return len(self.needed_block)

    def at(self, capacity_block: ArrayLike) -> ReuseCurve:
        """Hits of an LRU cache of each capacity. Raises `ValueError` for one below 1."""
        capacities = np.atleast_1d(
            validate.array("capacity_block", capacity_block, 1, MAX_REFERENCES)
        ).astype(np.int64)
        reused = self.needed_block > 0
        order = np.argsort(self.needed_block[reused], kind="stable")
        needed = self.needed_block[reused][order]
        tokens = np.concatenate(([0], np.cumsum(self.tokens[reused][order])))
        hits = np.searchsorted(needed, capacities, side="right")
        return ReuseCurve(
            capacities, hits.astype(np.int64), tokens[hits], self.references, self.prompt_tokens
        )

    def curve(self, points: int = 64) -> ReuseCurve:
        """Hits at up to `points` capacities, evenly spaced in their logarithm, 1 to unbounded."""
        points = validate.integer("points", points, 2, 100_000)
        spaced = np.geomspace(1, max(2, self.distinct_blocks), points)
        return self.at(np.unique(np.rint(spaced)))

    def unbounded(self) -> ReuseCurve:
        """Hits of a cache that never evicts: one point."""
        return self.at(self.distinct_blocks)


@dataclass(frozen=True, slots=True)
class ReuseCurve:
    """Leading hits at each capacity, in ids and in prompt tokens. Arrays have one shape."""

    capacity_block: Ints
    hit_blocks: Ints
    hit_tokens: Ints
    references: int
    prompt_tokens: int

    @property
    def block_hit_rate(self) -> NDArray[np.float64]:
        """Share of the ids that hit."""
        return self.hit_blocks / self.references

    @property
    def token_hit_rate(self) -> NDArray[np.float64]:
        """Share of the prompt tokens whose prefill is skipped."""
        return self.hit_tokens / self.prompt_tokens

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """One row a capacity."""
        return {
            "capacity_block": self.capacity_block,
            "hit_blocks": self.hit_blocks,
            "hit_tokens": self.hit_tokens,
            "block_hit_rate": self.block_hit_rate,
            "token_hit_rate": self.token_hit_rate,
        }


def prefix_reuse(
    requests: Sequence[Sequence[int]], prompt_token: ArrayLike, *, block_token: int = 512
) -> Reuse:
    """Measure a trace: block ids per request, and the length of each prompt in tokens.

    An id stands for `block_token` tokens, or for what is left of its prompt where that is less.
    Raises `ValueError` where there are no ids, where an id is no whole number, where the two differ
    in length, or for a negative length. Costs O(references · log references). Worked values,
    [[1, 2], [3], [1, 2, 4]] with prompts of 8, 4 and 12 tokens in blocks of 4: ids 1 and 2 of the
    third request need capacities 3 and 3, for 2 and 3 were used since 1.
    """
    block = validate.integer("block_token", block_token, 1, MAX_TOKENS)
    lengths = np.array([len(ids) for ids in requests], dtype=np.int64)
    if lengths.sum() == 0:
        raise ValueError("requests must name at least one block id, got none")
    prompts = validate.array("prompt_token", prompt_token, 0, MAX_TOKENS)
    if prompts.shape != lengths.shape:
        raise ValueError(
            f"prompt_token must have one length a request ({lengths.size:,}), got {prompts.size:,}"
        )
    try:
        ids = np.fromiter(itertools.chain.from_iterable(requests), np.int64, lengths.sum())
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"requests must list whole numbers below 2^63 ({error})") from error
    request = np.repeat(np.arange(len(lengths)), lengths.astype(np.intp))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))[request]
    left = prompts.astype(np.int64)[request] - block * (np.arange(len(ids)) - starts)
    needed, distinct = _needed(ids, starts, request)
    return Reuse(needed, np.clip(left, 0, block), distinct, int(prompts.sum()))


def _needed(ids: Ints, starts: Ints, request: Ints) -> tuple[Ints, int]:
    count = len(ids)
    order = np.argsort(ids, kind="stable")
    again = ids[order[1:]] == ids[order[:-1]]
    last = np.full(count, -1)
    last[order[1:][again]] = order[:-1][again]
    # Uses since then, less those that repeat an id used since then: the other ids used since.
    # An id's second mention within a request comes out at 0 or less, below its first.
    others = starts - last - 1 - _count_greater(last, starts, np.maximum(last, 0))
    never = count + 1
    alone = np.where(last < 0, never, others + 1)
    # A running maximum that starts afresh with each request.
    lift = request * (never + 1)
    needed = np.maximum.accumulate(alone + lift) - lift
    return np.where(needed == never, 0, needed), int(np.sum(last < 0))


def _count_greater(values: Ints, ends: Ints, bounds: Ints) -> Ints:
    """For each query, how many of values[:end] exceed its bound, all queries at once.

    A wavelet matrix (Claude, Navarro and Ordóñez 2015): the values are split by one bit after the
    other, highest first, and each query follows its bound's bits, counting the values that part
    from it upwards. Values and bounds are ≥ −1 and ≥ 0. Worked value: of [3, 0, 2][:2], one
    exceeds 1.
    """
    rest = np.maximum(values, 0)
    low, high = np.zeros_like(ends), ends.copy()
    total = np.zeros_like(ends)
    for bit in reversed(
        range(max(1, int(rest.max()).bit_length(), int(bounds.max()).bit_length()))
    ):
        is_one = (rest >> bit) & 1
        ones_before = np.concatenate(([0], np.cumsum(is_one)))
        zeros = len(rest) - ones_before[-1]
        low_ones, high_ones = ones_before[low], ones_before[high]
        up = ((bounds >> bit) & 1) == 1
        total += np.where(up, 0, high_ones - low_ones)
        low = np.where(up, zeros + low_ones, low - low_ones)
        high = np.where(up, zeros + high_ones, high - high_ones)
        rest = np.concatenate((rest[is_one == 0], rest[is_one == 1]))
    return total
