"""Capacity against hand-worked numbers and the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.devices import DEVICES, DeviceSpec
from core.kv_cache import capacity, devices_needed, tokens_held, tokens_that_fit
from core.model_spec import AttentionGroup, ModelSpec
from core.models import MODELS
from core.scenario import Scenario

A100 = DEVICES["A100"]


def test_52_sequences_of_8192_fit_and_13_with_32_heads() -> None:
    """(72 − 16) GB over 1 GiB is 52.15; four times the heads, 13.04."""
    assert capacity(Scenario(MODELS["8B"], A100), 8192).sequences == 52
    shared = Scenario(MODELS["8B"].with_kv_heads(32), A100)
    assert capacity(shared, 8192).sequences == 13


def test_70b_does_not_fit_140_gb_into_72_gb() -> None:
    fit = capacity(Scenario(MODELS["70B"], A100), 8192)
    assert not fit.fits
    assert (fit.weights_byte, fit.usable_byte) == (140e9, pytest.approx(72e9))
    assert fit.sequences == 0
    assert fit.cache_byte == pytest.approx(-68e9)


def test_weights_of_published_70b_models() -> None:
    assert MODELS["Llama-2-70B"].weights_byte() == 137_953_296_384
    assert MODELS["Llama-3-70B / 3.1 / 3.3"].weights_byte() == 141_107_412_992


def test_llama_3_8b_leaves_room_for_426784_tokens() -> None:
    scenario = Scenario(MODELS["Llama-3-8B / 3.1-8B"], A100)
    assert tokens_that_fit(scenario) == 426_784


def test_kwon_opt_13b_takes_800_kib_a_token_and_1_5625_gib_at_2048() -> None:
    """Kwon et al. 2023, section 3: 2·5120·40·2 bytes."""
    opt = MODELS["OPT-13B"]
    assert opt.kv_bytes_per_token() == 819_200
    assert opt.kv_bytes_per_sequence(2048) / 2**30 == 1.5625
    assert opt.weights_byte() / 40e9 == pytest.approx(0.6427, abs=1e-4)


@pytest.mark.parametrize(
    ("cache_gib", "layers", "width", "slots"),
    [(12, 40, 5120, 15_729), (21, 64, 9216, 9_557), (264, 96, 12_288, 60_075)],
)
def test_kwon_table_1_slots(cache_gib: float, layers: int, width: int, slots: int) -> None:
    """Kwon et al. 2023, table 1: 15.7K, 9.7K (21 GB is rounded) and 60.1K token slots."""
    model = ModelSpec("opt", 1, (AttentionGroup.grouped(layers, 1, 1, width),))
    assert round(cache_gib * 2**30 / model.kv_bytes_per_token()) == slots


def test_pope_table_1_context_lengths() -> None:
    """Pope et al. 2022, table 1: 30 % of 64 TPU v4 for the cache, batch 128 and 512."""
    whole = 0.3 * 64 * 32 * 2**30
    multihead = ModelSpec("mh", 1, (AttentionGroup.grouped(118, 64, 64, 128),))
    contexts = [whole / (b * multihead.kv_bytes_per_token()) for b in (128, 512)]
    assert contexts == pytest.approx([1332.9, 333.2], rel=1e-3)
    multiquery = ModelSpec("mq", 1, (AttentionGroup.grouped(118, 64, 1, 256),))
    sharded = [whole / (b * multiquery.kv_bytes_per_token()) for b in (128, 512)]
    assert sharded == pytest.approx([42_654, 10_663], rel=1e-3)
    replicated = [s / 64 for s in sharded]
    assert replicated == pytest.approx([666.5, 166.6], rel=1e-3)


@given(context=st.integers(1, 100_000), more=st.integers(1, 100_000))
def test_longer_contexts_never_fit_more_often(context: int, more: int) -> None:
    scenario = Scenario(MODELS["8B"], A100)
    short, long = capacity(scenario, [context, context + more]).sequences
    assert long <= short


@given(devices=st.integers(1, 32), context=st.integers(1, 200_000))
def test_what_fits_really_fits_and_one_more_does_not(devices: int, context: int) -> None:
    scenario = Scenario(MODELS["14B"], A100, devices=devices)
    fit = capacity(scenario, context)
    count, each = float(fit.sequences), float(fit.per_sequence_byte)
    assert fit.weights_byte + count * each <= fit.usable_byte
    assert fit.weights_byte + (count + 1) * each > fit.usable_byte


def test_half_the_cache_precision_fits_twice_the_tokens() -> None:
    full = tokens_that_fit(Scenario(MODELS["8B"], A100))
    half = tokens_that_fit(Scenario(MODELS["8B"], A100, cache_byte=1.0))
    assert half == pytest.approx(2 * full, abs=1)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, float("nan"), True, "0.9"])
def test_a_fraction_outside_0_to_1_is_refused(fraction: object) -> None:
    with pytest.raises(ValueError, match="reserved_fraction"):
        capacity(Scenario(MODELS["8B"], A100), 8192, reserved_fraction=fraction)  # type: ignore[arg-type]


@pytest.mark.parametrize("context", [0, -1, 1e9, float("nan")])
def test_a_context_that_cannot_be_is_refused(context: float) -> None:
    with pytest.raises(ValueError, match="context"):
        capacity(Scenario(MODELS["8B"], A100), context)


def test_shape_follows_the_contexts() -> None:
    fit = capacity(Scenario(MODELS["8B"], A100), np.ones((2, 3)))
    assert fit.sequences.shape == fit.per_sequence_byte.shape == (2, 3)


def test_a_device_needs_memory() -> None:
    with pytest.raises(ValueError, match="memory_byte"):
        DeviceSpec("none", 1e12, 1e12, 0)


def test_a_model_that_only_carries_states_holds_any_number_of_tokens() -> None:
    model = ModelSpec("state", 10**9, (), state_byte_per_sequence=10**6)
    assert tokens_that_fit(Scenario(model, A100)) == float("inf")
    assert capacity(Scenario(model, A100), 5).sequences == 70_000


def test_what_is_fixed_is_what_a_long_sequence_holds_beyond_its_slope():
    for name, model in MODELS.items():
        long = 1_000_000
        slope = model.kv_bytes_per_token_beyond_windows(1.0)
        held = float(model.kv_bytes_per_sequence(long, 1.0))
        assert model.kv_bytes_fixed(1.0) == held - slope * long, name
    assert MODELS["Gemma-2-9B"].kv_bytes_fixed() == 704_643_072


def test_tokens_held_are_the_budget_over_the_slope_without_windows():
    plain = Scenario(MODELS["8B"], A100)
    assert tokens_held(plain, [1, 100, 8_192]).tolist() == [427_246] * 3
    assert tokens_that_fit(plain) == 427_246
    windowed = Scenario(MODELS["Mistral-7B-v0.1"], A100)
    assert tokens_held(windowed, 131_072) > 10 * tokens_held(windowed, 4_096)
    assert tokens_held(Scenario(MODELS["70B"], A100), 8_192) == 0


def test_devices_needed_is_the_least_number_that_fits():
    for name in ("8B", "70B", "DeepSeek-V3/R1 (without MTP)"):
        count = devices_needed(Scenario(MODELS[name], A100))
        assert capacity(Scenario(MODELS[name], A100, devices=count), 1).fits
        assert count == 1 or not capacity(Scenario(MODELS[name], A100, devices=count - 1), 1).fits
    assert devices_needed(Scenario(MODELS["70B"], A100)) == 2


def test_devices_needed_counts_the_cache_beside_the_weights():
    scenario = Scenario(MODELS["8B"], A100)
    # 16 sequences of 65,536 tokens: 137.4 GB and 16 GB over 72 GB is 2.13 devices.
    assert devices_needed(scenario, 16 * 65_536 * 131_072) == 3
    # Exactly one device's 72 GB, and one byte more.
    assert devices_needed(scenario, 56e9) == 1
    assert devices_needed(scenario, 56e9 + 1) == 2
