"""The cost model against hand-worked numbers, published tables, limits and scaling laws."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import roofline
from core.devices import DEVICES, DeviceSpec
from core.model_spec import AttentionGroup, Experts, ModelSpec
from core.models import MODELS
from core.roofline import step_cost, step_costs
from core.scenario import Scenario

A = json.loads((Path(__file__).parent / "data" / "roofline_golden.json").read_text())

MODEL, DEVICE = MODELS["8B"], DEVICES["A100"]
S = Scenario(MODEL, DEVICE)


def ms(cost: roofline.StepCost) -> float:
    return float(cost.time_s) * 1e3


def test_the_reference_decode_step_takes_12_294967296_ms() -> None:
    cost = step_cost(MODEL, DEVICE, decode_contexts=[2048] * 32)
    assert float(cost.bytes) == A["decode_bytes"] == 24_589_934_592
    assert float(cost.flops) == A["decode_flops"] == 546_359_738_368
    assert ms(cost) == pytest.approx(12.294967296, rel=1e-15)
    assert float(cost.compute_s) * 1e3 == pytest.approx(A["decode_compute_ms"], rel=1e-15)
    assert cost.bound == "bandwidth"


def test_the_reference_mixed_step_takes_225_8987379790769_ms() -> None:
    cost = step_cost(MODEL, DEVICE, decode_contexts=[2048] * 32, prefill=[(0, 4096)])
    assert float(cost.flops) == A["mixed_flops"] == 70_480_406_249_472
    assert ms(cost) == pytest.approx(225.8987379790769, rel=1e-15)
    assert cost.bound == "compute"


def test_the_pause_is_18_373268715612607_times_a_step() -> None:
    decode = step_cost(MODEL, DEVICE, decode_contexts=[2048] * 32)
    mixed = step_cost(MODEL, DEVICE, decode_contexts=[2048] * 32, prefill=[(0, 4096)])
    assert ms(mixed) / ms(decode) == pytest.approx(A["ratio"], rel=1e-14)


def test_the_prompt_alone_and_the_share_of_its_attention() -> None:
    cost = step_cost(MODEL, DEVICE, prefill=[(0, 4096)])
    assert float(cost.flops) == A["prefill_flops"] == 69_934_046_511_104
    assert ms(cost) == pytest.approx(A["prefill_only_ms"], rel=1e-14)
    attention = float(roofline.prefill_attention_flop(MODEL, 0, 4096))
    assert attention / float(cost.flops) == pytest.approx(A["prefill_attn_share"], rel=1e-14)


@pytest.mark.parametrize("batch", [1, 8, 32, 64, 128, 256])
def test_golden_step_times_that_count_the_write_of_the_new_token(batch: int) -> None:
    """The golden rows at S = 2,048 add one written token, so the cache holds 2,049."""
    golden = A[f"step_ms_B{batch}_S2048"]
    cost = step_cost(MODEL, DEVICE, decode_contexts=[2049] * batch)
    assert float(cost.memory_s) * 1e3 == pytest.approx(golden, rel=1e-14)
    flops = float(step_cost(MODEL, DEVICE, decode_contexts=[2048] * batch).flops)
    assert flops / float(cost.bytes) == pytest.approx(A[f"AI_B{batch}_S2048"], rel=1e-14)


def test_one_sequence_without_context_gets_125_tokens_a_second() -> None:
    traffic = float(MODEL.weights_read_byte(1)) / DEVICE.bandwidth_byte_per_s
    assert traffic * 1e3 == A["decode_B1_S0_ms"] == 8.0
    assert 1 / traffic == A["decode_B1_tok_s"] == 125.0


def test_a_prompt_crosses_the_ridge_at_156_tokens_when_attention_is_left_out() -> None:
    tokens = np.arange(1.0, 400.0)
    flops = 2.0 * MODEL.flop_parameters * tokens
    crossing = tokens[flops / float(MODEL.weights_read_byte(1)) >= DEVICE.ridge_flop_per_byte][0]
    assert crossing == A["prefill_crossover_T"] == 156


@pytest.mark.parametrize(
    ("context", "plateau"),
    [
        (128, 957.67431640625),
        (512, 242.4185791015625),
        (1024, 123.20928955078125),
        (2048, 63.604644775390625),
        (8192, 18.901161193847656),
        (131072, 4.9313225746154785),
    ],
)
def test_intensity_levels_off(context: int, plateau: float) -> None:
    assert float(roofline.plateau_flop_per_byte(S, context)) == pytest.approx(plateau, rel=1e-14)
    huge = step_costs(S, decode_batch=1e7, context=context)
    assert float(huge.intensity_flop_per_byte) == pytest.approx(plateau, rel=2e-3)


def test_the_plateau_falls_towards_4_flop_per_byte() -> None:
    """S → ∞: 4·L·H·Q/b = H/K·2/2 B·… = 4 for bf16 with four query heads a key-value head."""
    assert float(roofline.plateau_flop_per_byte(S, 10_000_000)) == pytest.approx(4.0, rel=4e-3)


@pytest.mark.parametrize(
    ("context", "batch"),
    [
        (0, 156.0),
        (128, 185.57809613546843),
        (256, 228.99657505676296),
        (512, 430.3854417246635),
        (700, 1215.2258450493568),
        (804, np.inf),
        (1024, np.inf),
        (131072, np.inf),
    ],
)
def test_crossing_batch(context: int, batch: float) -> None:
    assert float(roofline.crossing_batch(S, context)) == pytest.approx(batch, rel=1e-12)


def test_decode_never_crosses_the_ridge_above_803_tokens() -> None:
    longest = roofline.longest_crossing_context(S)
    assert longest == pytest.approx(803.0941611842105, rel=1e-12)
    below, above = np.floor(longest), np.ceil(longest)
    assert np.isfinite(roofline.crossing_batch(S, below))
    assert np.isinf(roofline.crossing_batch(S, above))
    for batch in (1, 1000, 1e6):
        assert step_costs(S, decode_batch=batch, context=above).bound == "bandwidth"


def test_at_the_crossing_batch_both_sides_take_equally_long() -> None:
    for name in ("8B", "70B", "Mixtral-8x7B", "gpt-oss-120b", "Mistral-7B-v0.1"):
        scenario = Scenario(MODELS[name], DEVICES["H100 SXM"])
        batch = float(roofline.crossing_batch(scenario, 64))
        assert np.isfinite(batch), name
        cost = step_costs(scenario, decode_batch=batch, context=64)
        assert float(cost.compute_s) == pytest.approx(float(cost.memory_s), rel=1e-9), name


def test_longest_crossing_context_of_a_windowed_model_is_where_its_plateau_meets_the_ridge() -> (
    None
):
    model = ModelSpec(
        "half windowed",
        8 * 10**9,
        (AttentionGroup.grouped(16, 32, 8, 128, 256), AttentionGroup.grouped(16, 32, 8, 128)),
    )
    scenario = Scenario(model, DEVICE)
    longest = roofline.longest_crossing_context(scenario)
    assert longest > 803.1
    assert float(roofline.plateau_flop_per_byte(scenario, longest)) == pytest.approx(
        scenario.ridge_flop_per_byte, rel=1e-12
    )


# The floor is a floor.

contexts = st.lists(st.integers(1, 200_000), max_size=6)
chunks = st.lists(st.tuples(st.integers(0, 50_000), st.integers(1, 50_000)), max_size=3)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    device=st.sampled_from(sorted(DEVICES)),
    decode=contexts,
    prefill=chunks,
    devices=st.integers(1, 16),
    compute=st.floats(0.1, 1),
    bandwidth=st.floats(0.1, 1),
    overhead_s=st.floats(0, 0.1),
)
def test_no_step_is_faster_than_the_hand_roofline(
    name: str,
    device: str,
    decode: list[int],
    prefill: list[tuple[int, int]],
    devices: int,
    compute: float,
    bandwidth: float,
    overhead_s: float,
) -> None:
    """By hand: matmul FLOPs of the active parameters alone; active weights alone."""
    tokens = len(decode) + sum(p for _, p in prefill)
    if tokens == 0:
        return
    model, spec = MODELS[name], DEVICES[device]
    cost = step_cost(
        model,
        spec,
        decode_contexts=decode,
        prefill=prefill,
        devices=devices,
        compute_efficiency=compute,
        bandwidth_efficiency=bandwidth,
        overhead_s=overhead_s,
    )
    matmul = model.active_parameters - model.lookup_parameters
    floor_s = max(
        2 * matmul * tokens / (devices * spec.peak_flop_per_s),
        2 * matmul / (devices * spec.bandwidth_byte_per_s),
    )
    assert float(cost.time_s) >= floor_s * (1 - 1e-12)
    assert np.isfinite(cost.time_s)


@settings(max_examples=60, deadline=None)
@given(decode=contexts.filter(len), extra=st.integers(1, 5_000))
def test_more_work_never_takes_less_time(decode: list[int], extra: int) -> None:
    base = ms(step_cost(MODEL, DEVICE, decode_contexts=decode))
    assert ms(step_cost(MODEL, DEVICE, decode_contexts=[*decode, 1])) >= base
    assert ms(step_cost(MODEL, DEVICE, decode_contexts=decode, prefill=[(0, extra)])) >= base
    assert ms(step_cost(MODEL, DEVICE, decode_contexts=[decode[0] + extra, *decode[1:]])) >= base


@given(devices=st.integers(1, 64))
def test_time_without_overhead_falls_as_one_over_the_devices(devices: int) -> None:
    one = ms(step_cost(MODEL, DEVICE, decode_contexts=[100], prefill=[(5, 700)]))
    many = ms(step_cost(MODEL, DEVICE, decode_contexts=[100], prefill=[(5, 700)], devices=devices))
    assert many == pytest.approx(one / devices, rel=1e-12)


def test_overhead_is_added_once_and_efficiency_scales_its_own_side() -> None:
    decode = {"decode_contexts": [2048] * 32}
    prompt = {"prefill": [(0, 4096)]}
    slow: dict[str, Any] = {"bandwidth_efficiency": 0.5}
    assert ms(step_cost(MODEL, DEVICE, **decode, overhead_s=0.003)) == pytest.approx(15.294967296)
    assert ms(step_cost(MODEL, DEVICE, **decode, **slow)) == pytest.approx(2 * 12.294967296)
    assert ms(step_cost(MODEL, DEVICE, **prompt, **slow)) == pytest.approx(A["prefill_only_ms"])


# Attention, windows and chunks, against brute force.


def brute_pairs(offset: int, tokens: int, window: float) -> float:
    """Each token j of the chunk sees o + j + ½ positions on average, at most w."""
    steps = 1000
    at = (np.arange(tokens * steps) + 0.5) / steps
    return float(np.minimum(offset + at, window).sum() / steps)


@pytest.mark.parametrize(
    ("offset", "tokens", "window"),
    [(0, 40, np.inf), (10, 40, np.inf), (0, 40, 16), (10, 40, 16), (30, 40, 16), (5, 5, 16)],
)
def test_causal_pairs_are_the_area_under_what_each_token_sees(
    offset: int, tokens: int, window: float
) -> None:
    got = float(roofline.causal_pairs(offset, tokens, window))
    assert got == pytest.approx(brute_pairs(offset, tokens, window), rel=1e-5)


@given(
    offset=st.integers(0, 5000),
    first=st.integers(1, 5000),
    second=st.integers(1, 5000),
    window=st.sampled_from([np.inf, 1.0, 100.0, 4096.0]),
)
def test_chunks_of_a_prompt_cost_as_many_pairs_as_the_whole(
    offset: int, first: int, second: int, window: float
) -> None:
    whole = float(roofline.causal_pairs(offset, first + second, window))
    parts = roofline.causal_pairs(offset, first, window) + roofline.causal_pairs(
        offset + first, second, window
    )
    assert float(parts) == pytest.approx(whole, rel=1e-12)


def test_a_windowed_layer_reads_no_more_than_its_window() -> None:
    windowed = ModelSpec("w", 10**9, (AttentionGroup.grouped(4, 8, 8, 64, 1024),))
    at, beyond = (step_cost(windowed, DEVICE, decode_contexts=[s]) for s in (1024, 100_000))
    assert float(at.bytes) == float(beyond.bytes)
    assert float(at.flops) == float(beyond.flops)


def test_fixed_state_is_read_by_every_sequence() -> None:
    model = replace(MODEL, state_byte_per_sequence=10**6)
    plain = step_cost(MODEL, DEVICE, decode_contexts=[10] * 3)
    hybrid = step_cost(model, DEVICE, decode_contexts=[10] * 3)
    assert float(hybrid.bytes - plain.bytes) == 3 * 10**6


# Mixture of experts.

MOE = ModelSpec(
    "moe",
    10 * 10**9,
    MODEL.attention,
    active_parameters=4 * 10**9,
    experts=Experts(layers=10, experts=8, experts_per_token=2, parameters_per_expert=10**8),
)


def test_one_token_reads_the_active_parameters_and_many_read_all() -> None:
    """8 experts of 1e8 in 10 layers: 8e9 routed, 2e9 shared; one token touches a quarter."""
    assert float(MOE.weights_read_byte(1)) == 2 * (2e9 + 2e9)
    assert float(MOE.weights_read_byte(10_000)) == pytest.approx(2 * 10e9)


def test_experts_touched_by_n_tokens_match_random_routing() -> None:
    rng = np.random.default_rng(7)
    tokens, rounds = 5, 4000
    touched = [
        len({e for _ in range(tokens) for e in rng.choice(8, 2, replace=False)})
        for _ in range(rounds)
    ]
    expected = 8 * float(MOE.experts.touched_share(tokens)) if MOE.experts else 0
    assert np.mean(touched) == pytest.approx(expected, abs=4 * np.std(touched) / rounds**0.5)


# Sweeps equal single steps.


@settings(max_examples=50, deadline=None)
@given(
    name=st.sampled_from(["8B", "Mixtral-8x7B", "Gemma-2-9B", "Qwen3.5-27B"]),
    batch=st.integers(0, 64),
    context=st.integers(1, 20_000),
    tokens=st.integers(0, 9_000),
    offset=st.integers(0, 9_000),
)
def test_a_sweep_gives_what_single_steps_give(
    name: str, batch: int, context: int, tokens: int, offset: int
) -> None:
    if batch + tokens == 0:
        return
    scenario = Scenario(MODELS[name], DEVICE, devices=2, overhead_s=0.001)
    sweep = step_costs(
        scenario,
        decode_batch=[batch],
        context=context,
        prefill_tokens=tokens,
        prefill_offset=offset,
    )
    single = roofline.scenario_step_cost(
        scenario, [context] * batch, [(offset, tokens)] if tokens else []
    )
    assert sweep.time_s.shape == (1,)
    assert float(sweep.flops[0]) == pytest.approx(float(single.flops), rel=1e-12)
    assert float(sweep.bytes[0]) == pytest.approx(float(single.bytes), rel=1e-12)
    assert float(sweep.time_s[0]) == pytest.approx(float(single.time_s), rel=1e-12)


def test_sweeps_broadcast() -> None:
    cost = step_costs(S, decode_batch=np.ones((3, 1)), context=np.array([1.0, 2.0]))
    assert cost.time_s.shape == cost.bound.shape == (3, 2)


# Published tables.


def plain(parameters: float, cache_byte: int = 1, layers: int = 1) -> ModelSpec:
    """A model whose cache per token is given in bytes at one byte an element."""
    group = AttentionGroup(layers, 1, 1, max(1, cache_byte // layers))
    return ModelSpec("published", int(parameters), (group,))


def device(flop: float, byte: float, memory: float = 80e9) -> DeviceSpec:
    return DeviceSpec("published", flop, byte, memory)


@pytest.mark.parametrize(
    ("batch", "step_ms", "tokens_per_s"),
    [
        (1, 4.98, 200.61),
        (8, 12.13, 659.30),
        (16, 20.30, 787.99),
        (32, 36.65, 873.21),
        (64, 69.33, 923.13),
        (240, 249.09, 963.53),
    ],
)
def test_scaling_book_llama_2_13b_on_eight_v5e(
    batch: int, step_ms: float, tokens_per_s: float
) -> None:
    """jax-ml/scaling-book, inference chapter: 13e9 parameters, 6.7 GB of cache at 8,192."""
    model = plain(13e9, 6_700_000_000)
    cost = step_cost(
        model, device(1e18, 0.82e12), decode_contexts=[1] * batch, devices=8, cache_byte=1.0
    )
    assert round(ms(cost), 2) == step_ms
    assert round(batch / float(cost.time_s), 2) == tokens_per_s


@pytest.mark.parametrize(
    ("batch", "step_ms"), [(1, 4.17), (8, 5.60), (16, 7.23), (32, 10.50), (64, 17.04), (240, 52.99)]
)
def test_scaling_book_with_a_fifth_of_the_cache(batch: int, step_ms: float) -> None:
    model = plain(13e9, 1_340_000_000)
    cost = step_cost(
        model, device(1e18, 0.82e12), decode_contexts=[1] * batch, devices=8, cache_byte=1.0
    )
    assert round(ms(cost), 2) == step_ms


def test_scaling_book_quiz_and_scalars() -> None:
    """30B int8 on 4×4 v5e, four sequences of 8,192 with 100 kB a token: 2.5 ms."""
    model = plain(30e9, 819_000_000)
    cost = step_cost(
        model,
        device(1.97e14, 8.1e11),
        decode_contexts=[1] * 4,
        devices=16,
        weight_byte=1.0,
        cache_byte=1.0,
    )
    assert float(cost.memory_s) * 1e3 == pytest.approx(2.5675675925925926, rel=2e-5)
    assert device(1.97e14, 0.82e12).ridge_flop_per_byte == pytest.approx(240.244, rel=1e-5)


def test_kipply_52b_and_260b_on_a100s() -> None:
    """kipply, Transformer Inference Arithmetic: 1.5 TB/s, 312 TFLOP/s, 2N bytes."""
    a100 = device(312e12, 1.5e12)
    assert a100.ridge_flop_per_byte == 208.0
    small = step_cost(plain(260e9), a100, decode_contexts=[1], devices=16)
    assert ms(small) == pytest.approx(21.666666666666668, rel=1e-9)
    large = step_cost(plain(260e9), a100, decode_contexts=[1] * 512, devices=16)
    assert ms(large) == pytest.approx(53.333333333333336, rel=1e-6)
    mid = step_cost(plain(52e9), a100, decode_contexts=[1] * 256, devices=4)
    assert ms(mid) == pytest.approx(21.333333333333332, rel=1e-6)
    # 64 layers of 64 heads of 128: 2,097,152 bytes a token.
    assert AttentionGroup.grouped(64, 64, 64, 128).cache_elements_per_token * 64 * 2 == 2_097_152


def test_pope_540b_floor_is_7_03_ms() -> None:
    """Pope et al. 2022: 540B int8 on 64 TPU v4 measured 29 ms; the floor is 4.1 times below."""
    cost = step_cost(
        plain(540e9),
        device(1e18, 1.2e12),
        decode_contexts=[1],
        devices=64,
        weight_byte=1.0,
        cache_byte=0.125,
    )
    assert float(cost.memory_s) * 1e3 == pytest.approx(7.03125, rel=1e-6)


def test_hand_roofline_of_llama_3_8b_on_a_real_a100() -> None:
    """Matmul weights only: 7.493 and 11.574 ms at batch 1 and 32, by hand."""
    scenario = Scenario(MODELS["Llama-3-8B / 3.1-8B"], DEVICES["A100 80GB SXM"])
    cost = step_costs(scenario, decode_batch=[1, 32], context=2048)
    assert cost.time_s * 1e3 == pytest.approx([7.493, 11.574], rel=2e-4)


def test_a_floor_taken_operator_by_operator_is_higher_where_operators_differ() -> None:
    """At batch 256 the matmuls are compute-bound and attention is not: 12.3 + 33.7 = 46.0 ms.

    The step's own floor overlaps the two and stays below, at 41.1 ms.
    """
    model, device = MODELS["Llama-3-8B / 3.1-8B"], DEVICES["A100 80GB SXM"]
    weights = model.flop_parameters
    matmul_s = max(2 * weights * 256 / device.peak_flop_per_s, 2 * weights / 2.039e12)
    attention_s = 256 * 2048 * 131_072 / 2.039e12
    assert (matmul_s + attention_s) * 1e3 == pytest.approx(46.02, rel=2e-4)
    step_s = float(step_cost(model, device, decode_contexts=[2048] * 256).time_s)
    assert step_s * 1e3 == pytest.approx(41.06, rel=2e-4)


# Bad input.


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"decode_contexts": []}, "at least one"),
        ({"decode_contexts": [0]}, "decode_contexts"),
        ({"decode_contexts": [-5]}, "decode_contexts"),
        ({"decode_contexts": [float("nan")]}, "decode_contexts"),
        ({"decode_contexts": ["many"]}, "decode_contexts"),
        ({"decode_contexts": [1e9]}, "decode_contexts"),
        ({"prefill": [(0, 0)]}, "prefill tokens"),
        ({"prefill": [(-1, 5)]}, "prefill offset"),
        ({"decode_contexts": [1], "devices": 0}, "devices"),
        ({"decode_contexts": [1], "devices": 1.5}, "devices"),
        ({"decode_contexts": [1], "weight_byte": -2}, "weight_byte"),
        ({"decode_contexts": [1], "weight_byte": None}, "as published"),
        ({"decode_contexts": [1], "cache_byte": 0}, "cache_byte"),
        ({"decode_contexts": [1], "compute_efficiency": 1.2}, "compute_efficiency"),
        ({"decode_contexts": [1], "bandwidth_efficiency": 0}, "bandwidth_efficiency"),
        ({"decode_contexts": [1], "overhead_s": float("inf")}, "overhead_s"),
        ({"decode_contexts": [1], "overhead_s": True}, "overhead_s"),
    ],
)
def test_bad_input_is_refused_by_name(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        step_cost(MODEL, DEVICE, **wrong)
