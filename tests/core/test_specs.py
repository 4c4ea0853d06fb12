"""The presets against published tables: every model's total, every device's dense peaks."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model_spec import MAX_TOKENS
from core.specs import (
    DEVICES,
    MODELS,
    TEXTBOOK,
    AttentionGroup,
    DeviceSpec,
    Experts,
    ModelSpec,
)

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, str]]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


MODEL_ROWS = rows("models.csv")
DEVICE_ROWS = rows("devices.csv")
ADDED = ["gpt2", "Falcon-7B", "Qwen3-0.6B", "Mistral-Nemo", "Gemma-3-4B", "Qwen3.5-27B"]

# Layers with a window, that window, and bf16 cache bytes a token adds once it is full.
WINDOWED = {
    "Mistral-7B-v0.1": (32, 4096, 0),
    "Phi-3-mini-4k": (32, 2047, 0),
    "Gemma-2-9B": (21, 4096, 172_032),
    "Gemma-3-27B (text)": (52, 1024, 81_920),
    "gpt-oss-120b": (18, 128, 36_864),
}


@pytest.mark.parametrize("row", MODEL_ROWS, ids=[row["model"] for row in MODEL_ROWS])
def test_a_models_total_is_the_published_one_to_the_unit(row: dict[str, str]) -> None:
    model = MODELS[row["model"]]
    assert model.name == row["model"]
    assert model.parameters == int(row["params"])
    assert model.parameters == int(row["params_expected"] or row["params"])
    assert model.active_parameters == int(row["active_params"])
    assert model.kv_bytes_per_token() == int(row["kv_bytes_per_token_bf16"])


@pytest.mark.parametrize("row", MODEL_ROWS, ids=[row["model"] for row in MODEL_ROWS])
def test_a_models_attention_has_the_published_shape(row: dict[str, str]) -> None:
    model = MODELS[row["model"]]
    assert model.layers == int(row["layers"])
    assert {group.heads for group in model.attention} == {int(row["heads"])}
    assert {group.head_dim for group in model.attention} == {int(row["head_dim"])}
    latent = row["model"].startswith("DeepSeek")
    assert model.kv_heads == (None if latent else int(row["kv_heads"]))


@pytest.mark.parametrize("row", MODEL_ROWS, ids=[row["model"] for row in MODEL_ROWS])
def test_a_cache_stops_growing_where_the_published_windows_say(row: dict[str, str]) -> None:
    model = MODELS[row["model"]]
    full = int(row["kv_bytes_per_token_bf16"])
    layers, window, beyond = WINDOWED.get(row["model"], (0, None, full))
    assert model.kv_bytes_per_token_beyond_windows() == beyond
    found = {group.window_token: group.layers for group in model.attention if group.window_token}
    assert found == ({window: layers} if window else {})


def test_there_are_no_models_but_the_textbook_family_the_table_and_six_more() -> None:
    expected = [*TEXTBOOK, *(row["model"] for row in MODEL_ROWS), *ADDED]
    assert list(MODELS) == expected
    assert all(MODELS[name].name == name for name in expected)


@pytest.mark.parametrize(
    ("name", "parameters", "slope", "fixed"),
    [
        ("gpt2", 124_439_808, 36_864, 0),
        ("Falcon-7B", 6_921_720_704, 8_192, 0),
        ("Qwen3-0.6B", 596_049_920, 114_688, 0),
        ("Mistral-Nemo", 12_247_782_400, 163_840, 0),
        ("Gemma-3-4B", 3_880_263_168, 139_264, 0),
        ("Qwen3.5-27B", 26_895_998_464, 65_536, 153_944_064),
    ],
)
def test_the_six_more_are_as_their_files_give_them(
    name: str, parameters: int, slope: int, fixed: int
) -> None:
    model = MODELS[name]
    assert model.parameters == parameters
    assert model.kv_bytes_per_token() == slope
    assert model.state_byte_per_sequence == fixed


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_every_model_says_where_its_shape_is_from(model: ModelSpec) -> None:
    assert model.source
    assert model.note == "" or model.note.endswith(".")


def test_the_textbook_8b_is_round_and_shares_each_key_value_head_among_four() -> None:
    model = MODELS["8B"]
    assert model.parameters == model.flop_parameters == 8.0e9
    assert model.weights_byte() == 16e9
    (group,) = model.attention
    assert (group.layers, group.heads, group.kv_heads, group.head_dim) == (32, 32, 8, 128)
    assert model.kv_bytes_per_token() == 131_072
    assert model.with_kv_heads(32).kv_bytes_per_token() == 524_288
    assert float(model.kv_bytes_per_sequence(8_192)) == 2**30


def test_the_textbook_family_runs_from_1b_to_405b_in_order() -> None:
    sizes = [model.parameters / 1e9 for model in TEXTBOOK.values()]
    assert sizes == [1, 3, 8, 14, 32, 70, 123, 405]
    assert [model.name for model in TEXTBOOK.values()] == [f"{size:.0f}B" for size in sizes]


def test_weights_of_the_70b_models_in_two_bytes_each() -> None:
    assert MODELS["70B"].weights_byte() == 140e9
    assert MODELS["70B"].kv_bytes_per_token() == 327_680
    assert MODELS["Llama-2-70B"].weights_byte() == 137_953_296_384
    assert MODELS["Llama-3-70B / 3.1 / 3.3"].weights_byte() == 141_107_412_992


@pytest.mark.parametrize("row", DEVICE_ROWS, ids=[row["device"] for row in DEVICE_ROWS])
def test_a_devices_dense_rates_are_those_of_its_sheet(row: dict[str, str]) -> None:
    device = DEVICES[row["device"]]
    assert device.name == row["device"]

    def flop_per_s(column: str) -> object:
        return pytest.approx(float(row[column]) * 1e12) if row[column] else None

    assert device.peak_flop_per_s == flop_per_s("bf16_or_fp16_dense_TFLOPS")
    assert device.fp8_flop_per_s == flop_per_s("fp8_dense_TFLOPS")
    assert device.int8_flop_per_s == flop_per_s("int8_dense_TOPS")
    assert device.fp4_flop_per_s == flop_per_s("fp4_dense_TFLOPS")
    assert device.measured_matmul_flop_per_s == flop_per_s("measured_matmul_ceiling_TFLOPS")
    assert device.bandwidth_byte_per_s == flop_per_s("bandwidth_TB_s")
    assert device.memory_byte == pytest.approx(float(row["capacity_GB"]) * 1e9)
    assert device.ridge_flop_per_byte == pytest.approx(
        float(row["ridge_bf16_FLOP_per_B"]), abs=0.051
    )


def test_there_are_27_sheets_and_the_textbook_a100() -> None:
    assert len(DEVICE_ROWS) == 27
    assert list(DEVICES) == ["A100", *(row["device"] for row in DEVICE_ROWS)]


@pytest.mark.parametrize("device", DEVICES.values(), ids=list(DEVICES))
def test_every_device_says_where_its_rates_are_from(device: DeviceSpec) -> None:
    assert device.source
    assert device.status


def test_the_textbook_a100_has_round_rates_and_the_sheets_stand_beside_it() -> None:
    device = DEVICES["A100"]
    assert (device.peak_flop_per_s, device.bandwidth_byte_per_s) == (312e12, 2.0e12)
    assert device.memory_byte == 80e9
    assert device.ridge_flop_per_byte == 156.0
    assert DEVICES["A100 80GB SXM"].bandwidth_byte_per_s == pytest.approx(2.039e12)


def test_no_rate_is_a_sheets_sparse_headline() -> None:
    """2:4 sparsity doubles the figure on the sheet: 624, 1,979 and 3,958 TFLOP/s and the like."""
    assert DEVICES["A100 80GB SXM"].peak_flop_per_s < 624e12 / 1.9
    assert DEVICES["H100 SXM"].peak_flop_per_s < 1979e12 / 1.9
    assert (DEVICES["H100 SXM"].fp8_flop_per_s or 0) < 3958e12 / 1.9


def test_a_device_counts_at_the_peak_of_the_numbers_it_multiplies() -> None:
    h100 = DEVICES["H100 SXM"]
    assert h100.arithmetics == ("bf16", "fp8", "int8")
    assert h100.with_arithmetic("fp8").peak_flop_per_s == 1978.9e12
    assert h100.with_arithmetic("bf16") == h100
    with pytest.raises(ValueError, match=r"arithmetic on V100 SXM2 32GB must be one of bf16; got"):
        DEVICES["V100 SXM2 32GB"].with_arithmetic("fp8")


@given(st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_the_cache_grows_with_its_heads_and_nothing_else_does(kv_heads: int) -> None:
    model = MODELS["8B"]
    shared = model.with_kv_heads(kv_heads)
    assert shared.kv_bytes_per_token() == 2 * 32 * kv_heads * 128 * 2
    assert shared.kv_heads == kv_heads
    assert shared.parameters == model.parameters
    assert shared.attention[0].decode_flop_per_pair == model.attention[0].decode_flop_per_pair


def test_sharing_heads_keeps_each_layers_window() -> None:
    shared = MODELS["Gemma-2-9B"].with_kv_heads(16)
    assert [group.window_token for group in shared.attention] == [4096, None]
    assert shared.kv_bytes_per_token() == 2 * 344_064


@pytest.mark.parametrize("kv_heads", [0, -1, 5, 64])
def test_a_number_of_heads_that_does_not_divide_is_refused(kv_heads: int) -> None:
    with pytest.raises(ValueError, match=rf"must divide the 32 query heads of 8B, got {kv_heads}"):
        MODELS["8B"].with_kv_heads(kv_heads)


def test_latents_have_no_heads_to_share() -> None:
    with pytest.raises(ValueError, match="caches latents"):
        MODELS["DeepSeek-V3/R1 (without MTP)"].with_kv_heads(8)


EXPERTS = [model.experts for model in MODELS.values() if model.experts is not None]


@pytest.mark.parametrize("experts", EXPERTS, ids=lambda e: f"{e.experts_per_token} of {e.experts}")
def test_touched_experts_start_at_those_chosen_and_end_at_all(experts: Experts) -> None:
    share = experts.touched_share
    assert float(share(0)) == 0
    assert float(share(1)) == pytest.approx(experts.experts_per_token / experts.experts)
    assert float(share(10_000_000)) == 1
    grown = share(np.arange(1, 200))
    assert np.all(np.diff(grown) >= 0)
    assert np.all(grown <= np.minimum(1, np.arange(1, 200) * share(1)) + 1e-12)


def test_touched_experts_by_counting_every_routing_of_four_tokens() -> None:
    """Mixtral routes to 2 of 8; for one expert, each token misses it in 6 of 8 cases."""
    experts = MODELS["Mixtral-8x7B"].experts
    assert experts is not None
    assert float(experts.touched_share(4)) == pytest.approx(1 - (6 / 8) ** 4)


def test_one_token_reads_the_active_weights_and_many_read_all() -> None:
    model = MODELS["Mixtral-8x7B"]
    read = model.weights_read_byte([0, 1, 1e7])
    assert read == pytest.approx(
        [
            0,
            2 * (model.active_parameters - model.lookup_parameters),
            2 * (model.parameters - model.lookup_parameters),
        ]
    )


def test_a_published_checkpoint_is_read_by_its_own_widths() -> None:
    model = MODELS["gpt-oss-120b"]
    assert model.weights_byte(None) == 65_248_815_744
    one, many = model.weights_read_byte([1, 1e7], None)
    lookup = 2 * model.lookup_parameters
    assert many == 65_248_815_744 - lookup
    expert = 24_883_200 * 17 / 32 + 2 * 8_640
    assert many - one == pytest.approx(36 * 124 * expert)
    with pytest.raises(ValueError, match="8B has no published quantised checkpoint"):
        MODELS["8B"].weights_byte(None)


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_a_cache_never_shrinks_as_a_sequence_grows(model: ModelSpec) -> None:
    lengths = np.array([0, 1, 100, 128, 129, 1024, 2047, 4096, 4097, 131_072, MAX_TOKENS])
    cached = model.kv_bytes_per_sequence(lengths)
    assert cached[0] == model.state_byte_per_sequence
    assert np.all(np.diff(cached) >= 0)
    beyond = model.kv_bytes_per_token_beyond_windows()
    assert cached[-1] - cached[-2] == beyond * (MAX_TOKENS - 131_072)


def test_a_spec_that_cannot_be_is_refused_by_field_and_range() -> None:
    with pytest.raises(ValueError, match=r"layers must be in \[1, 10,000\], got 0"):
        AttentionGroup.grouped(0, 32, 8, 128)
    with pytest.raises(ValueError, match=r"kv_heads must be in \[1, 32\], got 64"):
        AttentionGroup.grouped(32, 32, 64, 128)
    with pytest.raises(ValueError, match=r"experts_per_token must be in \[1, 8\], got 9"):
        Experts(32, 8, 9, 1_000)
    with pytest.raises(ValueError, match=r"toy: parameters must be in \[1, .*\], got 0"):
        ModelSpec("toy", 0, ())
    with pytest.raises(ValueError, match=r"lookup_parameters must be in \[0, 9\], got 10"):
        ModelSpec("toy", 10, (), lookup_parameters=10)
    with pytest.raises(ValueError, match=r"memory_byte must be in .* got 0"):
        DeviceSpec("toy", 1e12, 1e12, 0)
