"""The roofline: FLOPs and bytes of one step, and the only step-time formula of the project.

A step has decoding sequences with contexts S_i, where S counts the token being produced, and
prefill chunks (offset o, length p):

    n    = number of decoding sequences + Σ p
    F    = 2·N_active·n + Σ_g 4·L·H·Q·(Σ_i min(S_i, w) + Σ_chunks causal(o, p, w))
    M    = b_w·N_read(n) + Σ_i cache(S_i) + Σ_chunks cache(o + p)
    step = max(F/(t·P·e_c), M/(t·W·e_b)) + overhead

causal(o, p) = o·p + p²/2 where no window w cuts it. Perfect overlap of arithmetic and traffic,
activations that never leave the chip and free communication make this a floor.
Sources: Williams et al. 2009 for the roofline; 2N + attention is the forward third of nanoGPT's
6N + 12·L·H·Q·T; the causal half is taken once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.devices import DeviceSpec
from core.model_spec import MAX_TOKENS, ModelSpec
from core.scenario import Scenario

Floats: TypeAlias = NDArray[np.float64]

MAX_BATCH = 10_000_000


@dataclass(frozen=True, slots=True)
class StepCost:
    """FLOPs, bytes and time of a step, or of an array of steps.

    Every field has the shape of the composition it was asked for: a scalar array for
    `step_cost`, the broadcast shape for `step_costs`.
    """

    flops: Floats
    bytes: Floats
    compute_s: Floats
    memory_s: Floats
    overhead_s: float

    @property
    def time_s(self) -> Floats:
        """The step: the slower of arithmetic and traffic, plus the overhead."""
        return np.maximum(self.compute_s, self.memory_s) + self.overhead_s

    @property
    def intensity_flop_per_byte(self) -> Floats:
        """F/M: how much arithmetic the step does for each byte it moves."""
        return self.flops / self.bytes

    @property
    def bound(self) -> NDArray[np.str_]:
        """Which of the two the step waits for: "compute" or "bandwidth"."""
        return np.where(self.compute_s > self.memory_s, "compute", "bandwidth")

    @property
    def achieved_flop_per_s(self) -> Floats:
        """FLOPs over step time: the height of the step's point under the roofline."""
        return self.flops / self.time_s


def cost_of_totals(
    scenario: Scenario, tokens: ArrayLike, attention_flop: ArrayLike, cache_byte: ArrayLike
) -> StepCost:
    """The cost of steps whose totals are known: n tokens, attention FLOPs and cache bytes moved.

    Every other function of the project that needs a step time ends here. Shapes broadcast.
    Worked value: the 8B textbook model on the textbook A100, n = 32, 32·2,048 positions of
    524,288 FLOP and 131,072 B each: F = 546,359,738,368, M = 24,589,934,592, 12.294967296 ms.
    """
    count = np.asarray(tokens, dtype=np.float64)
    attention = np.asarray(attention_flop, dtype=np.float64)
    cached = np.asarray(cache_byte, dtype=np.float64)
    flops = 2.0 * scenario.model.flop_parameters * count + attention
    traffic = scenario.model.weights_read_byte(count, scenario.weight_byte) + cached
    return StepCost(
        flops=flops,
        bytes=traffic,
        compute_s=flops / scenario.flop_per_s,
        memory_s=traffic / scenario.byte_per_s,
        overhead_s=scenario.overhead_s,
    )


def decode_attention_flop(model: ModelSpec, context: ArrayLike) -> Floats:
    """Attention FLOPs of one decoding token at `context` positions: Σ_g 4·L·H·Q·min(S, w).

    Shape: that of `context`. Worked value: 8B textbook at 2,048: 524,288·2,048 = 1,073,741,824.
    """
    positions = np.asarray(context, dtype=np.float64)
    total = np.zeros(positions.shape)
    for group in model.attention:
        total += group.decode_flop_per_pair * np.minimum(positions, group.reach_token)
    return total


def prefill_attention_flop(model: ModelSpec, offset: ArrayLike, tokens: ArrayLike) -> Floats:
    """Attention FLOPs of a prefill chunk of `tokens` tokens that follow `offset` earlier ones.

    Shapes broadcast. Worked value: 8B textbook, offset 0, 4,096 tokens:
    524,288·4,096²/2 = 4,398,046,511,104.
    """
    start, length = np.broadcast_arrays(
        np.asarray(offset, dtype=np.float64), np.asarray(tokens, dtype=np.float64)
    )
    total = np.zeros(start.shape)
    for group in model.attention:
        total += group.prefill_flop_per_pair * causal_pairs(start, length, group.reach_token)
    return total


def causal_pairs(offset: ArrayLike, tokens: ArrayLike, window: float = np.inf) -> Floats:
    """(query, key) pairs of a chunk under a causal mask: ∫₀ᵖ min(o + x, w) dx.

    Where no window cuts it this is o·p + p²/2. Worked values: (0, 4096) → 8,388,608;
    (0, 4096, 1024) → 1024²/2 + 1024·3072 = 3,670,016.
    """
    start = np.asarray(offset, dtype=np.float64)
    length = np.asarray(tokens, dtype=np.float64)
    growing = np.clip(window - start, 0.0, length)
    full = length - growing
    return (
        start * growing
        + growing**2 / 2
        + np.where(full > 0, full, 0.0) * (window if np.isfinite(window) else 0.0)
    )


def step_cost(
    model: ModelSpec,
    device: DeviceSpec,
    *,
    decode_contexts: ArrayLike = (),
    prefill: Sequence[tuple[float, float]] = (),
    devices: int = 1,
    weight_byte: float | None = 2.0,
    cache_byte: float = 2.0,
    compute_efficiency: float = 1.0,
    bandwidth_efficiency: float = 1.0,
    overhead_s: float = 0.0,
) -> StepCost:
    """The cost of one step of any composition.

    `decode_contexts` holds one context in tokens per decoding sequence, `prefill` one
    (offset, tokens) pair per chunk. Raises `ValueError` for an empty step and for anything
    negative, fractional beyond sense, or not a number. Worked value: 32 contexts of 2,048 and a
    prefill of (0, 4096), 8B on A100: 225.8987379790769 ms, compute-bound.
    """
    scenario = Scenario(
        model,
        device,
        devices,
        weight_byte,
        cache_byte,
        compute_efficiency,
        bandwidth_efficiency,
        overhead_s,
    )
    return scenario_step_cost(scenario, decode_contexts, prefill)


def scenario_step_cost(
    scenario: Scenario,
    decode_contexts: ArrayLike = (),
    prefill: Sequence[tuple[float, float]] = (),
) -> StepCost:
    """`step_cost` for a scenario that already exists."""
    contexts = validate.array("decode_contexts", decode_contexts, 1, MAX_TOKENS)
    pairs = np.asarray(prefill, dtype=np.float64).reshape(-1, 2)
    offsets = validate.array("prefill offset", pairs[:, 0], 0, MAX_TOKENS)
    lengths = validate.array("prefill tokens", pairs[:, 1], 0, MAX_TOKENS, open_low=True)
    tokens = contexts.size + lengths.sum()
    if tokens == 0:
        raise ValueError("a step needs at least one decoding sequence or one prefill token, got 0")
    model = scenario.model
    attention = (
        decode_attention_flop(model, contexts).sum()
        + prefill_attention_flop(model, offsets, lengths).sum()
    )
    cached = (
        model.kv_bytes_per_sequence(contexts, scenario.cache_byte).sum()
        + model.kv_bytes_per_sequence(offsets + lengths, scenario.cache_byte).sum()
    )
    return cost_of_totals(scenario, tokens, attention, cached)


def step_costs(
    scenario: Scenario,
    *,
    decode_batch: ArrayLike = 0,
    context: ArrayLike = 1,
    prefill_tokens: ArrayLike = 0,
    prefill_offset: ArrayLike = 0,
) -> StepCost:
    """The costs of a whole sweep: `decode_batch` equal contexts and at most one chunk a step.

    All four broadcast against one another; the result has their common shape. Worked value: a
    batch of [1, 32] at context 2,048 takes 8.134217728 and 12.294967296 ms (8B, A100).
    """
    batch, positions, length, start = np.broadcast_arrays(
        validate.array("decode_batch", decode_batch, 0, MAX_BATCH),
        validate.array("context", context, 1, MAX_TOKENS),
        validate.array("prefill_tokens", prefill_tokens, 0, MAX_TOKENS),
        validate.array("prefill_offset", prefill_offset, 0, MAX_TOKENS),
    )
    tokens = batch + length
    if np.any(tokens == 0):
        raise ValueError("a step needs at least one decoding sequence or one prefill token, got 0")
    model = scenario.model
    attention = batch * decode_attention_flop(model, positions)
    cached = batch * model.kv_bytes_per_sequence(positions, scenario.cache_byte)
    if np.any(length):
        attention = attention + prefill_attention_flop(model, start, length)
        chunk = model.kv_bytes_per_sequence(start + length, scenario.cache_byte)
        cached = cached + np.where(length > 0, chunk, 0.0)
    return cost_of_totals(scenario, tokens, attention, cached)


def plateau_flop_per_byte(scenario: Scenario, context: ArrayLike) -> Floats:
    """The intensity that decode levels off at as the batch grows without bound.

    (2N + attention FLOPs at S) / cache(S): the weights' read is shared away, the cache's is not.
    Worked value: 8B at 2,048: 63.604644775390625 FLOP/B.
    """
    positions = validate.array("context", context, 0, MAX_TOKENS)
    cached = scenario.model.kv_bytes_per_sequence(positions, scenario.cache_byte)
    flops = 2.0 * scenario.model.flop_parameters + decode_attention_flop(scenario.model, positions)
    with np.errstate(divide="ignore"):
        return np.asarray(flops / cached)


def crossing_batch(scenario: Scenario, context: ArrayLike) -> Floats:
    """The batch at which a decode step turns compute-bound; infinity where none does.

    Shape: that of `context`. For a dense model the crossing solves
    B·(2N + a)/(tP) = (b_w·N + B·c)/(tW); for experts, whose read grows with the batch, the root is
    found by bisection (the difference is convex, so there is one). Worked values (8B, A100):
    context 0 → 156, 512 → 430.3854417246635, 2,048 → ∞.
    """
    model = scenario.model
    positions = validate.array("context", context, 0, MAX_TOKENS)
    compute = (
        2.0 * model.flop_parameters + decode_attention_flop(model, positions)
    ) / scenario.flop_per_s
    traffic = model.kv_bytes_per_sequence(positions, scenario.cache_byte) / scenario.byte_per_s
    gain = compute - traffic

    def read_s(batch: ArrayLike) -> Floats:
        return model.weights_read_byte(batch, scenario.weight_byte) / scenario.byte_per_s

    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(gain > 0, read_s(np.inf) / gain, np.inf)
    if model.experts is None:
        return high
    low = np.zeros_like(high)
    top = np.where(np.isfinite(high), high, 1.0)
    for _ in range(80):
        middle = (low + top) / 2
        crossed = middle * gain >= read_s(np.maximum(middle, 1e-12))
        low, top = np.where(crossed, low, middle), np.where(crossed, middle, top)
    return np.where(np.isfinite(high), top, np.inf)


def longest_crossing_context(scenario: Scenario) -> float:
    """The context above which no batch makes decode compute-bound; infinity where some always does.

    The plateau meets the ridge r where r·cache(S) − attention(S) = 2N. Both are linear between
    windows, so the walk over the windows is exact. Worked value (8B, A100):
    2N/(r·b − 4·L·H·Q) = 803.0941611842105 tokens.
    """
    model, ridge = scenario.model, scenario.ridge_flop_per_byte
    knots = sorted({0.0, *(g.reach_token for g in model.attention), float(MAX_TOKENS)})

    def excess(context: float) -> float:
        cached = model.kv_bytes_per_sequence(context, scenario.cache_byte)
        return float(
            ridge * cached - decode_attention_flop(model, context) - 2.0 * model.flop_parameters
        )

    if excess(0.0) > 0:
        return 0.0
    for left, right in itertools.pairwise(knots):
        end = min(right, float(MAX_TOKENS))
        before, after = excess(left), excess(end)
        if after > 0:
            return left + (end - left) * -before / (after - before)
    return float("inf")
