"""What the reference program asserts, and the figures that it is known to print and pass through.

The assertions are held at any seed; the figures are those of its own state, 9.
"""

from __future__ import annotations

from collections.abc import Callable

from core.acceptance import expected_tokens
from core.checks.check import Check, Trial, Value
from core.reference_program import ALPHA, GAMMA, NUM_BLOCKS, Moment, PoolRun, Program

_TWO, _RELEASED, _AGAIN, _AGAIN_RELEASED, _CHURNED, _END = range(6)
_SOURCE = "the reference program, its assertions"
_PRINTED = "the reference program, what it prints"
_TRACED = "the reference program, traced in C++"


def _assertion(
    name: str, expected: Value, observe: Callable[[Program], Value], tolerance: float = 0.0
) -> Check:
    def look(trial: Trial) -> Value:
        return observe(trial.program)

    return Check(name, "reference's assertions", _SOURCE, expected, look, tolerance, True)


def _figure(name: str, source: str, expected: Value, observe: Callable[[Program], Value]) -> Check:
    def look(trial: Trial) -> Value:
        return observe(trial.reference)

    return Check(name, "reference's figures", source, expected, look, 0.0, True)


def _moment(pool: PoolRun, index: int) -> Moment:
    if index >= len(pool.moments):
        raise RuntimeError(f"not reached, after {pool.failure}")
    return pool.moments[index]


def _table(pool: PoolRun, index: int) -> tuple[int, ...]:
    if index >= len(pool.tables):
        raise RuntimeError(f"not reached, after {pool.failure}")
    return pool.tables[index]


def _line(index: int) -> Callable[[Program], str]:
    return lambda program: program.lines()[index]


ASSERTIONS = (
    _assertion(
        "both prompts take 5 blocks",
        (5, 5),
        lambda p: (len(_table(p.pool, 0)), len(_table(p.pool, 1))),
    ),
    _assertion(
        "the first 3 are shared",
        (True, True, True),
        lambda p: tuple(
            a == b for a, b in zip(_table(p.pool, 0)[:3], _table(p.pool, 1)[:3], strict=True)
        ),
    ),
    _assertion(
        "3 hits, 7 blocks in use",
        (3, 7),
        lambda p: (_moment(p.pool, _TWO).cache_hits, _moment(p.pool, _TWO).in_use),
    ),
    _assertion(
        "all 16 blocks are free",
        (0, 16),
        lambda p: (
            _moment(p.pool, _RELEASED).in_use,
            len(_moment(p.pool, _RELEASED).free_queue),
        ),
    ),
    _assertion(
        "7 hits, 5 blocks in use",
        (7, 5),
        lambda p: (_moment(p.pool, _AGAIN).cache_hits, _moment(p.pool, _AGAIN).in_use),
    ),
    _assertion(
        "churn evicts, fills the pool",
        (True, NUM_BLOCKS),
        lambda p: (_moment(p.pool, _CHURNED).evictions > 0, _moment(p.pool, _CHURNED).in_use),
    ),
    _assertion("nothing in use at the end", 0, lambda p: _moment(p.pool, _END).in_use),
    _assertion(
        "continuous waits less",
        (True, True),
        lambda p: (
            p.rolling.steps <= p.fixed.steps,
            p.rolling.mean_latency_steps < p.fixed.mean_latency_steps,
        ),
    ),
    _assertion(
        "blocks fit more",
        True,
        lambda p: bool(p.by_blocks.sequences > p.by_reservation.sequences),
    ),
    _assertion(
        "tokens a pass, Equation 1",
        float(expected_tokens(ALPHA, GAMMA)),
        lambda p: p.rounds.mean,
        tolerance=0.02,
    ),
)
"""The reference program's own ten assertions, in its order."""

PRINTED = (
    _figure(
        "line 1, block pool",
        _PRINTED,
        "block pool: 7 cache hits, 5 evictions, all blocks returned",
        _line(0),
    ),
    _figure(
        "line 2, static batching",
        _PRINTED,
        "static batching: 343 steps, mean latency 137.9 steps, slot utilization 0.53",
        _line(1),
    ),
    _figure(
        "line 3, continuous batching",
        _PRINTED,
        "continuous batching: 216 steps, mean latency 55.4 steps, slot utilization 0.84",
        _line(2),
    ),
    _figure(
        "line 4, memory",
        _PRINTED,
        "memory: 16 sequences fit with reservation, 64 with 16-token blocks",
        _line(3),
    ),
    _figure(
        "line 5, speculative decoding",
        _PRINTED,
        "speculative decoding: 3.370 tokens per target pass measured, 3.362 expected",
        _line(4),
    ),
)
"""The five lines of its output, character by character."""

TRACED = (
    _figure(
        "block tables",
        _TRACED,
        ((0, 1, 2, 3, 4), (0, 1, 2, 5, 6), (0, 1, 2, 3, 7)),
        lambda p: tuple(_table(p.pool, i) for i in range(3)),
    ),
    _figure(
        "free queue after two releases",
        _TRACED,
        (7, 8, 9, 10, 11, 12, 13, 14, 15, 4, 3, 6, 5, 2, 1, 0),
        lambda p: _moment(p.pool, _RELEASED).free_queue,
    ),
    _figure(
        "free queue after the third",
        _TRACED,
        (8, 9, 10, 11, 12, 13, 14, 15, 4, 6, 5, 7, 3, 2, 1, 0),
        lambda p: _moment(p.pool, _AGAIN_RELEASED).free_queue,
    ),
    _figure(
        "block tables of the churn",
        _TRACED,
        ((8, 9, 10, 11), (12, 13, 14, 15), (4, 6, 5, 7), (3, 2, 1, 0)),
        lambda p: tuple(_table(p.pool, i) for i in range(3, 7)),
    ),
    _figure("order of eviction", _TRACED, (5, 3, 2, 1, 0), lambda p: p.pool.evicted),
    _figure(
        "free queue at the end",
        _TRACED,
        (11, 10, 9, 8, 15, 14, 13, 12, 7, 5, 6, 4, 0, 1, 2, 3),
        lambda p: _moment(p.pool, _END).free_queue,
    ),
    _figure(
        "latencies in all, both policies",
        _TRACED,
        (5516, 2217),
        lambda p: (int(p.fixed.latency_steps.sum()), int(p.rolling.latency_steps.sum())),
    ),
    _figure(
        "tokens made by both policies",
        _TRACED,
        (1455, 1455),
        lambda p: (
            int((p.fixed.finish - p.fixed.start).sum()),
            int((p.rolling.finish - p.rolling.start).sum()),
        ),
    ),
    _figure(
        "blocks taken, tokens held",
        _TRACED,
        (1135, 17_679),
        lambda p: (int(p.by_blocks.units), int(p.by_blocks.held_token)),
    ),
    _figure(
        "rounds by tokens",
        _TRACED,
        (39_518, 32_067, 25_590, 20_456, 82_369),
        lambda p: tuple(p.rounds.counts.tolist()),
    ),
    _figure("tokens of all rounds", _TRACED, 674_091, lambda p: p.rounds.tokens),
    _figure("state after 591,994 draws", _TRACED, 3_748_894_531, lambda p: p.final_state),
)
"""What it passes through on the way: tables, queues, counts, and the generator's last state."""
