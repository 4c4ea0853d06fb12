"""The reference program, on this project's own parts: pool, two policies, memory, speculation.

One xorshift32 generator from one state feeds everything, in this order: a system prompt of 12
tokens, tails of 7 and 5, four prompts of 16 to churn the pool with, a stream of 40 requests, 64
lengths, and 200,000 rounds of speculative decoding. What it is built from is passed in, so that it
also runs with a part that was broken on purpose (`core.sabotage`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from core.acceptance import expected_tokens, tokens_variance
from core.batching import Batching, simulate
from core.block_pool import BlockPool
from core.fragmentation import Fit, paged, reserved
from core.pool_claims import PoolFactory
from core.pool_events import Event, EventKind
from core.requests import RequestStream, Xorshift32, reference_stream
from core.simulated_rounds import SimulatedRounds, simulate_tokens

SEED = 9
NUM_BLOCKS, BLOCK_SIZE = 16, 4
REQUESTS, SLOTS, MAX_GAP, OUTPUT_LOW, OUTPUT_HIGH = 40, 8, 6, 8, 64
SEQUENCES, BUDGET_TOKEN, MAX_LENGTH_TOKEN, PAGE_TOKEN = 64, 32_768, 2_048, 16
ALPHA, GAMMA, ROUNDS = 0.8, 4, 200_000

BatchingFunction: TypeAlias = Callable[[RequestStream, int, bool], Batching]
"""Called with a stream, a number of slots, and whether slots are refilled at once."""

RoundsFunction: TypeAlias = Callable[[Xorshift32, float, int, int], SimulatedRounds]
"""Called with a generator, α, γ and how many rounds to draw."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the program is built from; the defaults are this project's own."""

    pool: PoolFactory = BlockPool
    batching: BatchingFunction = simulate
    rounds: RoundsFunction = simulate_tokens


@dataclass(frozen=True, slots=True)
class Moment:
    """The pool at one of the points where the program asserts something.

    Blocks in use are counted by their reference counts, as the program does.
    """

    cache_hits: int
    evictions: int
    in_use: int
    free_queue: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PoolRun:
    """The program's first part. A pool that breaks down leaves `failure` and fewer entries.

    `tables` are those of the first prompt, the second, the first again, and the four that churn.
    `moments` are with the first two prompts held and after their release, with the first held
    again and after its release, with the pool churned and at the end. `evicted` lists blocks in the
    order of losing their content.
    """

    tables: tuple[tuple[int, ...], ...]
    moments: tuple[Moment, ...]
    evicted: tuple[int, ...]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """One run of the program: what each part did, and the state its generator ended in."""

    seed: int
    pool: PoolRun
    stream: RequestStream
    fixed: Batching
    rolling: Batching
    by_reservation: Fit
    by_blocks: Fit
    rounds: SimulatedRounds
    final_state: int

    @property
    def standard_errors_off(self) -> float:
        """How far tokens a pass lie from Equation 1 at α 0.8, γ 4, in exact standard errors.

        Worked value: +2.470 from state 9.
        """
        spread = float(np.sqrt(tokens_variance(ALPHA, GAMMA) / self.rounds.trials))
        return (self.rounds.mean - float(expected_tokens(ALPHA, GAMMA))) / spread

    def lines(self) -> tuple[str, ...]:
        """The five lines that the program prints, in its own formats."""
        last = self.pool.moments[-1] if self.pool.moments else Moment(0, 0, 0, ())
        returned = "all blocks returned" if not self.pool.failure else self.pool.failure
        return (
            f"block pool: {last.cache_hits} cache hits, {last.evictions} evictions, {returned}",
            _policy_line("static", self.fixed),
            _policy_line("continuous", self.rolling),
            f"memory: {int(self.by_reservation.sequences)} sequences fit with reservation, "
            f"{int(self.by_blocks.sequences)} with {PAGE_TOKEN}-token blocks",
            f"speculative decoding: {self.rounds.mean:.3f} tokens per target pass measured, "
            f"{float(expected_tokens(ALPHA, GAMMA)):.3f} expected",
        )


def run(seed: int = SEED, parts: Parts | None = None) -> Program:
    """Run the program with its generator started from `seed`, a state of xorshift32.

    Raises `ValueError` for a state outside 1 … 2³² − 1. Worked values, from 9: 7 hits, 5
    evictions, 343 and 216 steps, 16 and 64 sequences, 674,091 tokens; the final state is
    3,748,894,531.
    """
    parts = parts or Parts()
    draws = Xorshift32(seed)
    pool = _run_pool(draws, parts.pool)
    stream = reference_stream(draws, REQUESTS, MAX_GAP, OUTPUT_LOW, OUTPUT_HIGH)
    lengths = [draws.between(50, 500) for _ in range(SEQUENCES)]
    return Program(
        seed=seed,
        pool=pool,
        stream=stream,
        fixed=parts.batching(stream, SLOTS, False),
        rolling=parts.batching(stream, SLOTS, True),
        by_reservation=reserved(
            lengths, budget_token=BUDGET_TOKEN, max_length_token=MAX_LENGTH_TOKEN
        ),
        by_blocks=paged(lengths, budget_token=BUDGET_TOKEN, block_size=PAGE_TOKEN),
        rounds=parts.rounds(draws, ALPHA, GAMMA, ROUNDS),
        final_state=draws.state,
    )


def stream_of(seed: int) -> RequestStream:
    """The stream that the program would draw from `seed`, behind the pool's 88 draws.

    Raises `ValueError` as `run` does. Worked value: from 9 the first request arrives at step 6.
    """
    draws = Xorshift32(seed)
    _prompts(draws)
    return reference_stream(draws, REQUESTS, MAX_GAP, OUTPUT_LOW, OUTPUT_HIGH)


def _prompts(draws: Xorshift32) -> tuple[list[int], list[int], list[list[int]]]:
    """The first two prompts, which begin alike, and those that churn; in the order of drawing."""
    system = [draws.between(0, 99) for _ in range(12)]
    first = system + [draws.between(0, 99) for _ in range(7)]
    second = system + [draws.between(0, 99) for _ in range(5)]
    churn = [[draws.between(100, 199) for _ in range(16)] for _ in range(4)]
    return first, second, churn


def _run_pool(draws: Xorshift32, make_pool: PoolFactory) -> PoolRun:
    first, second, churn = _prompts(draws)
    log: list[Event] = []
    tables: list[tuple[int, ...]] = []
    moments: list[Moment] = []
    failure = ""
    try:
        _use_pool(make_pool(NUM_BLOCKS, BLOCK_SIZE, log=log), first, second, churn, tables, moments)
    except Exception as error:  # a broken pool may fail in any way, and each is a finding
        failure = f"{type(error).__name__}: {error}"
    evicted = tuple(
        event.block for event in log if event.kind is EventKind.EVICT and event.block is not None
    )
    return PoolRun(tuple(tables), tuple(moments), evicted, failure)


def _use_pool(
    pool: BlockPool,
    first: list[int],
    second: list[int],
    churn: list[list[int]],
    tables: list[tuple[int, ...]],
    moments: list[Moment],
) -> None:
    """Write down each table as it is given and each moment as it comes."""

    def remember() -> None:
        in_use = sum(pool.ref_count(block) > 0 for block in range(NUM_BLOCKS))
        moments.append(Moment(pool.cache_hits, pool.evictions, in_use, tuple(pool.free_queue)))

    held = []
    for prompts in ([first, second], [first], churn):
        for prompt in prompts:
            held.append(pool.allocate(prompt))
            tables.append(tuple(held[-1]))
        remember()
        for table in held:
            pool.release(table)
        held.clear()
        remember()


def _policy_line(name: str, outcome: Batching) -> str:
    return (
        f"{name} batching: {outcome.steps} steps, mean latency {outcome.mean_latency_steps:.1f} "
        f"steps, slot utilization {outcome.utilization:.2f}"
    )
