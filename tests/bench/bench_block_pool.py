"""Timings of the block pool and of prefix reuse: rows of (what, measured, target).

Run alone with `python -m tests.bench.bench_block_pool`. A block operation is one block taken,
shared or given back. The large pool is filled with cached content first, so that every block it
takes is evicted, as it would be after hours of serving.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

from core.block_pool import BlockPool
from core.pool_state import Playback, PoolState
from core.prefix_reuse import prefix_reuse

BLOCK_SIZE = 16
BLOCKS_PER_PROMPT = 32
ROUNDS = 5


class Load:
    """Prompts of 32 full blocks that differ in their first token, over a pool of a given size."""

    def __init__(self, num_blocks: int) -> None:
        rng = random.Random(1)
        self._body = [rng.randrange(2**17) for _ in range(BLOCK_SIZE * BLOCKS_PER_PROMPT)]
        self._rng = rng
        self._made = 0
        self._kept = num_blocks // BLOCKS_PER_PROMPT - 2
        self.pool = BlockPool(num_blocks, BLOCK_SIZE)
        while not self.pool.evictions:
            self.take_new()

    def prompt(self, number: int) -> list[int]:
        return [number, *self._body[1:]]

    def take_new(self) -> int:
        table = self.pool.allocate(self.prompt(self._made))
        self._made += 1
        self.pool.release(table)
        return 2 * len(table)

    def take_cached(self) -> int:
        number = self._made - 1 - self._rng.randrange(min(self._made, self._kept))
        table = self.pool.allocate(self.prompt(number))
        self.pool.release(table)
        return 2 * len(table)


def operations_per_s(step: Callable[[], int], operations: int = 60_000) -> float:
    """Best of several rounds, which is what the code costs when nothing else runs."""
    best = 0.0
    for _ in range(ROUNDS):
        done, begin = 0, time.perf_counter()
        while done < operations:
            done += step()
        best = max(best, done / (time.perf_counter() - begin))
    return best


def pool_rows() -> list[tuple[str, str, str]]:
    small, large = Load(1_000), Load(1_000_000)
    result = []
    for what, name in (("evicting", "take_new"), ("sharing", "take_cached")):
        fast = operations_per_s(getattr(small, name))
        slow = operations_per_s(getattr(large, name))
        result += [
            (f"pool of 1,000 blocks, {what}", f"{fast:,.0f} operations/s", "≥ 200,000/s"),
            (f"pool of 1,000,000 blocks, {what}", f"{slow:,.0f} operations/s", "≥ 200,000/s"),
            (f"cost of 1,000,000 over 1,000, {what}", f"{fast / slow:.2f}×", "≤ 2×"),
        ]
    return result


def trace_of(references: int) -> list[list[int]]:
    """Conversations that come back with a longer prompt: 28 ids a request on average."""
    rng, requests, made, total = random.Random(2), [], 0, 0
    while total < references:
        earlier = rng.choice(requests) if requests and rng.random() < 0.5 else []
        ids = earlier[: rng.randint(0, len(earlier))]
        new = rng.randint(1, 40)
        ids = [*ids, *range(made, made + new)]
        made, total = made + new, total + len(ids)
        requests.append(ids)
    return requests


def reuse_rows() -> list[tuple[str, str, str]]:
    requests = trace_of(100_000)
    prompts = [512 * len(ids) for ids in requests]
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        curve = prefix_reuse(requests, prompts).curve()
        times.append(time.perf_counter() - begin)
    what = f"hit-rate curve of 100,000 references at {len(curve.capacity_block)} sizes"
    return [(what, f"{1e3 * statistics.median(times):.0f} ms", "< 1 s")]


def playback_rows() -> list[tuple[str, str, str]]:
    rng, log = random.Random(3), []
    pool = BlockPool(64, 16, log=log)
    prefix = [rng.randrange(1_000) for _ in range(48)]
    for _ in range(40):
        prompt = [*prefix, *(rng.randrange(1_000) for _ in range(rng.randint(1, 200)))]
        pool.release(pool.allocate(prompt))
    playback = Playback(PoolState.fresh(64, 16), log)
    times = []
    for step in range(len(playback), -1, -1):
        begin = time.perf_counter()
        playback.state(step)
        times.append(time.perf_counter() - begin)
    what = f"one step back, 64 blocks, 40 requests, {len(playback):,} events"
    return [(what, f"{1e3 * statistics.median(times):.2f} ms", "≤ 40 ms with its painting")]


def rows() -> list[tuple[str, str, str]]:
    """Every measurement here."""
    return [*pool_rows(), *reuse_rows(), *playback_rows()]


if __name__ == "__main__":
    for row in rows():
        print("{:<60} {:>26}   {}".format(*row))
