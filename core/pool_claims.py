"""What this project claims of its paged pool, each claim a function that can be run anywhere.

A claim takes whatever makes a pool, so that the same claims run in the tests, on the page, and
against a pool that was broken on purpose. They hold under both named rule sets.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from core.block_pool import BlockPool, OutOfBlocksError
from core.block_table import BlockTable
from core.pool_invariants import violations

PoolFactory: TypeAlias = Callable[..., BlockPool]
"""Called as BlockPool is: (num_blocks, block_size, **options)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim expects and what the pool did."""

    expected: object
    observed: object

    @property
    def holds(self) -> bool:
        """Whether the two are equal."""
        return self.expected == self.observed


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about the pool and the experiment that decides it."""

    name: str
    statement: str
    observe: Callable[[PoolFactory, random.Random], Finding]


def check(claim: Claim, factory: PoolFactory = BlockPool, seed: int = 9) -> Finding:
    """Run a claim with contents drawn from `seed`. A pool that breaks down refutes the claim."""
    try:
        return claim.observe(factory, random.Random(seed))
    except Exception as error:  # a broken pool may fail in any way, and each is a finding
        return Finding("no error", f"{type(error).__name__}: {error}")


def _draw(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(2**31) for _ in range(count)]


def _shared_prefix(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(16, 4)
    prefix = _draw(rng, 12)
    first = pool.allocate([*prefix, *_draw(rng, 7)])
    second = pool.allocate([*prefix, *_draw(rng, 5)])
    shared = sum(a == b for a, b in zip(first, second, strict=True))
    return Finding((3, 3, 7), (shared, pool.cache_hits, pool.in_use))


def _whole_prefix(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(16, 4)
    one, other, last = _draw(rng, 4), _draw(rng, 4), _draw(rng, 1)
    pool.allocate([*one, *other, *last])
    pool.allocate([*other, *one, *last])
    return Finding(0, pool.cache_hits)


def _oldest_first(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(4, 4)
    prompts = [_draw(rng, 4) for _ in range(4)]
    for prompt in prompts:
        pool.release(pool.allocate(prompt))
    pool.allocate(_draw(rng, 4))
    found = [len(pool.look_up([*prompt, 0])) for prompt in prompts]
    return Finding([0, 1, 1, 1], found)


def _end_first(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(4, 4)
    prompt = _draw(rng, 16)
    pool.release(pool.allocate(prompt))
    pool.allocate(_draw(rng, 4))
    return Finding(3, len(pool.look_up(prompt)))


def _never_in_two_hands(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(4, 4)
    prompt = _draw(rng, 9)
    pool.release(pool.allocate(prompt))
    handed_out = list(pool.allocate(prompt))
    for _ in range(4):
        try:
            handed_out += pool.allocate(_draw(rng, 4))
        except OutOfBlocksError:
            break
    return Finding((4, 4), (len(handed_out), len(set(handed_out))))


def _evicted_is_gone(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(1, 4)
    prompt = _draw(rng, 4)
    pool.release(pool.allocate(prompt))
    pool.release(pool.allocate(_draw(rng, 4)))
    return Finding((1, []), (pool.evictions, pool.look_up([*prompt, 0])))


def _last_user_frees(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(8, 4)
    prompt = _draw(rng, 9)
    first, second = pool.allocate(prompt), pool.allocate(prompt)
    in_use = [pool.in_use]
    for table in (first, second):
        pool.release(table)
        in_use.append(pool.in_use)
    return Finding([4, 3, 0], in_use)


def _salts_confine(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(16, 4)
    prompt = _draw(rng, 9)
    pool.allocate(prompt, salt="one")
    return Finding(
        (2, 0, 0), tuple(len(pool.look_up(prompt, salt)) for salt in ("one", "two", None))
    )


def _collisions_do_not_share(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(16, 4, hash_function=lambda parent, tokens, salt: 7)
    same = _draw(rng, 5)
    prompt = [*_draw(rng, 4), *same]
    pool.allocate(prompt)
    other = pool.look_up([*_draw(rng, 4), *same])
    return Finding((0, 2), (len(other), len(pool.look_up(prompt))))


def _refusal_changes_nothing(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(6, 4)
    prompt = _draw(rng, 12)
    pool.release(pool.allocate(prompt))
    pool.allocate(_draw(rng, 8))
    before = pool.state()
    try:
        pool.allocate([*prompt, *_draw(rng, 8)])
    except OutOfBlocksError as refusal:
        return Finding((2, 1, True), (refusal.needed, refusal.free, pool.state() == before))
    return Finding("a refusal", "no refusal")


def _sound_through_any_history(factory: PoolFactory, rng: random.Random) -> Finding:
    pool = factory(12, 2)
    held: list[BlockTable] = []
    broken: list[str] = []
    for _ in range(300):
        action = rng.random()
        try:
            if held and action < 0.4:
                pool.release(held.pop(rng.randrange(len(held))))
            elif held and action < 0.6:
                pool.append(rng.choice(held), [rng.randrange(2)])
            else:
                held.append(pool.allocate([rng.randrange(2) for _ in range(rng.randint(1, 9))]))
        except OutOfBlocksError:
            pass
        broken += violations(pool.state())
    for table in held:
        pool.release(table)
    return Finding(([], 12), (broken[:1], len(set(pool.free_queue))))


CLAIMS = (
    Claim(
        "shared prefix",
        "Two prompts that begin with the same three blocks hold the same three blocks.",
        _shared_prefix,
    ),
    Claim(
        "whole prefix",
        "A block is shared only where everything before it is equal too.",
        _whole_prefix,
    ),
    Claim(
        "oldest first",
        "Of the free blocks, the one that has been free longest is evicted first.",
        _oldest_first,
    ),
    Claim(
        "end first",
        "A prompt is forgotten from its end, so that its beginning can still be shared.",
        _end_first,
    ),
    Claim(
        "never in two hands",
        "A cached block that is in use again is given to nobody else.",
        _never_in_two_hands,
    ),
    Claim(
        "evicted is gone",
        "Content that was evicted is not found again.",
        _evicted_is_gone,
    ),
    Claim(
        "last user frees",
        "A shared block stays in use until the last request that holds it ends.",
        _last_user_frees,
    ),
    Claim(
        "salts confine",
        "A prompt is shared only with requests of the same salt.",
        _salts_confine,
    ),
    Claim(
        "collisions do not share",
        "Prompts that differ share nothing even where all their hashes are equal.",
        _collisions_do_not_share,
    ),
    Claim(
        "refusal changes nothing",
        "A request that needs more blocks than are free leaves the pool as it was.",
        _refusal_changes_nothing,
    ),
    Claim(
        "sound through any history",
        "After every one of 300 random operations the counts, the queue and the cache agree.",
        _sound_through_any_history,
    ),
)
"""Every claim; the first seven are the mechanisms, one fault apart from one another."""
