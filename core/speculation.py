"""Speculative decoding by formula: what a round yields, what it costs, where the gain ends.

A cheap draft proposes γ tokens. The target scores all of them in one pass and keeps the longest
prefix that it accepts, plus one token of its own. A round yields E(α, γ) tokens
(`core.acceptance`) and costs one target pass over γ + 1 tokens a sequence and γ draft passes.
Where a pass over γ + 1 tokens takes as long as a pass over one, the speedup is

    E(α, γ) / (γ·c + 1),    c = one draft pass / one target pass.

What a pass costs at a batch and a context comes from `core.roofline`, the only step-time formula.
Source: Leviathan, Kalman and Matias 2023, Theorems 3.8 and 3.11, Corollary 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.acceptance import (
    MAX_DRAFT_LENGTH,
    Floats,
    draft_lengths,
    expected_tokens,
    tokens_variance,
)
from core.adaptive_draft import (
    START_DRAFT_LENGTH,
    AdaptiveDraft,
    adaptive_draft,
    adaptive_path,
    next_draft_length,
)
from core.kv_cache import capacity
from core.model_spec import MAX_TOKENS, ModelSpec
from core.roofline import MAX_BATCH, StepCost, cost_of_totals, decode_attention_flop, step_costs
from core.scenario import Scenario
from core.simulated_rounds import SimulatedRounds, simulate_tokens

__all__ = [
    "MAX_DRAFT_LENGTH",
    "START_DRAFT_LENGTH",
    "AdaptiveDraft",
    "BatchSpeedup",
    "SimulatedRounds",
    "adaptive_draft",
    "adaptive_path",
    "expected_tokens",
    "next_draft_length",
    "operations_factor",
    "optimal_gamma",
    "simulate_tokens",
    "speedup",
    "speedup_by_batch",
    "tokens_variance",
    "verify_cost",
]

MAX_COST_RATIO = 1_000.0


def speedup(alpha: ArrayLike, gamma: ArrayLike, draft_cost_ratio: ArrayLike) -> Floats:
    """Times faster than decoding without a draft: E(α, γ) / (γ·c + 1).

    The three broadcast; c is one draft pass over one target pass, in time. Holds while verifying
    costs what decoding one token costs; `speedup_by_batch` says where that ends. There is a gain
    for some γ exactly where α > c. Raises `ValueError` outside α ∈ [0, 1], whole γ ≥ 0, c ≥ 0.
    Source: Leviathan et al. 2023, Theorem 3.8. Worked values: α 0.8, c 0.1: γ 4 → 2.4011,
    γ 16 → 1.8798.
    """
    ratio = validate.array("draft_cost_ratio", draft_cost_ratio, 0, MAX_COST_RATIO)
    return np.asarray(expected_tokens(alpha, gamma) / (draft_lengths(gamma) * ratio + 1.0))


def operations_factor(
    alpha: ArrayLike, gamma: ArrayLike, draft_operations_ratio: ArrayLike = 0.0
) -> Floats:
    """Times more arithmetic per token than without a draft: (γ·ĉ + γ + 1) / E(α, γ).

    The three broadcast; ĉ is the draft's operations per token over the target's. Refused tokens
    were scored for nothing, so the factor is 1 only at α = 1 or γ = 0 with a free draft. Raises
    `ValueError` as `speedup` does. Source: Leviathan et al. 2023, Theorem 3.11. Worked value:
    α 0.8, γ 5 → 1.63.
    """
    ratio = validate.array("draft_operations_ratio", draft_operations_ratio, 0, MAX_COST_RATIO)
    lengths = draft_lengths(gamma)
    return np.asarray((lengths * ratio + lengths + 1.0) / expected_tokens(alpha, lengths))


def optimal_gamma(
    alpha: ArrayLike, draft_cost_ratio: ArrayLike, max_gamma: int = 64
) -> NDArray[np.int64]:
    """The whole γ ≤ `max_gamma` with the greatest speedup; the least of them on a tie.

    `alpha` and `draft_cost_ratio` broadcast. It is 0 where no draft pays (α ≤ c), and `max_gamma`
    where more always pays (α = 1 > c). Source: an integer search for the maximum of Theorem 3.8.
    Worked values: α 0.8: c 0.01 → 14, 0.1 → 6, 0.2 → 4.
    """
    longest = validate.integer("max_gamma", max_gamma, 0, MAX_DRAFT_LENGTH)
    rate, ratio = np.broadcast_arrays(
        validate.array("alpha", alpha, 0, 1),
        validate.array("draft_cost_ratio", draft_cost_ratio, 0, MAX_COST_RATIO),
    )
    candidates = speedup(rate[..., None], np.arange(longest + 1), ratio[..., None])
    best = candidates.max(axis=-1, keepdims=True)
    # At α = c the speedups of γ = 0 and 1 are equal; rounding must not choose between them.
    return np.asarray(np.argmax(candidates >= best * (1.0 - 1e-12), axis=-1), dtype=np.int64)


def verify_cost(
    scenario: Scenario, batch: ArrayLike, context: ArrayLike, gamma: ArrayLike
) -> StepCost:
    """The cost of one target pass that scores γ + 1 tokens for each of `batch` sequences.

    All broadcast. The pass multiplies B·(γ + 1) tokens through the weights, attends from each of
    them over the context S, and reads each sequence's cache once. S is taken for all γ + 1
    positions: they lie at most γ tokens further on. At γ = 0 this is a plain decode step. Worked
    values (8B, A100, S 2,048, γ 4), over the plain step: B 32 → 1, 64 → 1.0556, 128 → 1.3909.
    """
    sequences, positions, lengths = np.broadcast_arrays(
        validate.array("batch", batch, 1, MAX_BATCH),
        validate.array("context", context, 1, MAX_TOKENS),
        draft_lengths(gamma),
    )
    tokens = sequences * (lengths + 1.0)
    attention = tokens * decode_attention_flop(scenario.model, positions)
    cached = sequences * scenario.model.kv_bytes_per_sequence(positions, scenario.cache_byte)
    return cost_of_totals(scenario, tokens, attention, cached)


@dataclass(frozen=True, slots=True)
class BatchSpeedup:
    """Speculation against plain decoding over batches and contexts; fields broadcast together.

    `plain_s` is a decode step, `verify_s` the target's pass over γ + 1 tokens a sequence, `draft_s`
    the γ draft passes of a round. `capacity_sequences` is how many sequences fit beside the weights
    of target and draft; a batch beyond it is computed all the same and marked by `fits`.
    """

    batch: Floats
    context: Floats
    gamma: Floats
    tokens_per_target_pass: Floats
    plain_s: Floats
    verify_s: Floats
    draft_s: Floats
    capacity_sequences: Floats

    @property
    def verify_ratio(self) -> Floats:
        """What verifying costs in decode steps: 1 while both wait for the same bytes."""
        return self.verify_s / self.plain_s

    @property
    def round_s(self) -> Floats:
        """One round: γ draft passes and the verification, one after the other."""
        return self.verify_s + self.draft_s

    @property
    def speedup(self) -> Floats:
        """Tokens per second over those of plain decoding at the same batch."""
        return self.tokens_per_target_pass * self.plain_s / self.round_s

    @property
    def token_per_s(self) -> Floats:
        """Tokens per second of all sequences together."""
        return self.batch * self.tokens_per_target_pass / self.round_s

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Whether the batch fits into memory."""
        return self.batch <= self.capacity_sequences

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Equal-length arrays of every field and result, ready for a view."""
        names = (
            "batch",
            "context",
            "gamma",
            "tokens_per_target_pass",
            "plain_s",
            "verify_s",
            "draft_s",
            "verify_ratio",
            "speedup",
            "token_per_s",
            "capacity_sequences",
            "fits",
        )
        values = np.broadcast_arrays(*(getattr(self, name) for name in names))
        return {name: value.ravel() for name, value in zip(names, values, strict=True)}


def speedup_by_batch(
    scenario: Scenario,
    batch: ArrayLike,
    context: ArrayLike,
    *,
    alpha: ArrayLike,
    gamma: ArrayLike,
    draft: ArrayLike | ModelSpec,
    reserved_fraction: float = 0.90,
) -> BatchSpeedup:
    """Speedup where a round costs what the roofline says: it ends where a batch fills the ridge.

    `batch`, `context`, `alpha`, `gamma` broadcast. `draft` is a cost ratio c (a draft pass takes
    c plain decode steps of the same batch; broadcasts too) or a `ModelSpec`, which is then timed
    by the same roofline on the same devices and takes its share of memory. Where verification is
    free, a ratio gives exactly `speedup`. Raises `ValueError` for values outside their ranges.
    Worked values (8B, A100, S 2,048, α 0.8, γ 4, c 0.1): B 1 → 2.4011, 128 → 1.8770.
    """
    plain_s = step_costs(scenario, decode_batch=batch, context=context).time_s
    verify_s = verify_cost(scenario, batch, context, gamma).time_s
    lengths = draft_lengths(gamma)
    memory = capacity(scenario, context, reserved_fraction=reserved_fraction)
    budget_byte, each_byte = memory.cache_byte, memory.per_sequence_byte
    if isinstance(draft, ModelSpec):
        drafting = replace(scenario, model=draft)
        pass_s = step_costs(drafting, decode_batch=batch, context=context).time_s
        own = capacity(drafting, context, reserved_fraction=reserved_fraction)
        budget_byte = budget_byte - own.weights_byte
        each_byte = each_byte + own.per_sequence_byte
    else:
        ratio = validate.array("draft_cost_ratio", draft, 0, MAX_COST_RATIO)
        pass_s = ratio * plain_s
    fields = np.broadcast_arrays(
        np.asarray(batch, dtype=np.float64),
        np.asarray(context, dtype=np.float64),
        lengths,
        expected_tokens(alpha, lengths),
        plain_s,
        verify_s,
        lengths * pass_s,
        np.floor(max(budget_byte, 0.0) / each_byte),
    )
    return BatchSpeedup(*fields)
