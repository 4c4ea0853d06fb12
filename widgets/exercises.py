"""The exercises of “What's next”: every answer comes from the page's own model."""

from __future__ import annotations

import numpy as np

from core import batching, roofline, speculation
from core.block_pool import BlockPool
from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.kv_cache import capacity
from core.models import MODELS
from core.requests import Xorshift32, reference_stream
from core.scenario import Scenario
from core.units import quantity, significant

DRAWS_BEFORE_THE_STREAM = 88
ROUNDS = 2_000_000


def prose(scenario: Scenario) -> dict[str, str]:
    """The answers, at the textbook scenario where an exercise names no other."""
    return {
        **_roofline(),
        **_memory(),
        **_batching(),
        **_paging(),
        **_scheduling(scenario),
        **_speculation(),
        **_streaming(),
    }


def _roofline() -> dict[str, str]:
    h100 = Scenario(MODELS["8B"], DEVICES["H100 SXM"])
    a100 = Scenario(MODELS["8B"], DEVICES["A100"])
    return {
        "h100_ridge": significant(h100.ridge_flop_per_byte),
        "h100_context": f"{roofline.longest_crossing_context(h100):.0f}",
        "a100_context": f"{roofline.longest_crossing_context(a100):.0f}",
    }


def _memory() -> dict[str, str]:
    model = MODELS["Llama-3-70B / 3.1 / 3.3"]
    h100 = DEVICES["H100 SXM"]
    full = capacity(Scenario(model, h100, 4), 32_768)
    half = capacity(Scenario(model, h100, 4, cache_byte=1.0), 32_768)
    return {
        "long_sequences": f"{int(full.sequences)}",
        "long_sequences_8bit": f"{int(half.sequences)}",
        "long_budget": quantity(full.cache_byte, "B"),
        "long_each": quantity(float(full.per_sequence_byte), "B"),
    }


def _batching() -> dict[str, str]:
    generator = Xorshift32(9)
    for _ in range(DRAWS_BEFORE_THE_STREAM):
        generator.next()
    stream = reference_stream(generator, 40, 6, 8, 64)
    static = batching.simulate(stream, 4, continuous=False)
    rolling = batching.simulate(stream, 4, continuous=True)
    return {
        "four_static": f"{static.steps}",
        "four_rolling": f"{rolling.steps}",
        "four_latency": significant(static.mean_latency_steps),
        "four_rolling_latency": significant(rolling.mean_latency_steps),
    }


def _paging() -> dict[str, str]:
    pool = BlockPool(64, 4)
    common = list(range(26))
    pool.allocate([*common, *range(100, 109)])
    pool.allocate([*common, *range(200, 212)])
    return {"two_blocks": f"{pool.in_use}", "two_hits": f"{pool.cache_hits}"}


def _scheduling(scenario: Scenario) -> dict[str, str]:
    budgets = [2**i for i in range(7, 13)]
    runs = {budget: chunked_prefill(scenario, 4096, 32, 2048, budget) for budget in budgets}
    best = max(budget for budget in budgets if runs[budget].pause_ratio < 3)
    return {
        "best_budget": f"{best:,}",
        "best_pause": f"{significant(runs[best].pause_ratio)}×",
        "best_ttft": quantity(float(runs[best].ttft_s), "s"),
        "next_pause": f"{significant(runs[2 * best].pause_ratio)}×",
    }


def _speculation() -> dict[str, str]:
    # The best draft length must win clearly: 1.4× against 1.36× and 1.33× beside it.
    alpha, cost = 0.6, 0.2
    gamma = int(speculation.optimal_gamma(alpha, cost))
    spread = float(np.sqrt(speculation.tokens_variance(0.8, 4) / ROUNDS))
    return {
        "best_gamma": f"{gamma}",
        "best_speedup": f"{significant(float(speculation.speedup(alpha, gamma, cost)))}×",
        "rounds": f"{ROUNDS:,}",
        "two_errors": significant(2 * spread),
        "expected_tokens": f"{float(speculation.expected_tokens(0.8, 4)):.4f}",
        "round_variance": significant(float(speculation.tokens_variance(0.8, 4))),
    }


def _streaming() -> dict[str, str]:
    gaps, rate, ttft_s = 599, 40, 0.5
    return {
        "answer_s": f"{ttft_s + gaps / rate:.1f} s",
        "answer_tpot": quantity(1 / rate, "s"),
    }
