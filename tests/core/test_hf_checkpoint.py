"""Bytes of quantised checkpoints against sums by hand on a model small enough to write out."""

import re

import pytest

from core.hf_config import from_hf_config, read_hf_config
from core.model_spec import Checkpoint
from core.models import MODELS

# One layer: q and o of 64 × 64, k and v of 32 × 64, gate and up of 96 × 64, down of 64 × 96;
# two norms and the last one; an embedding and a head of 100 × 64.
TINY = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "tie_word_embeddings": False,
}
MATRICES = [(64, 64), (64, 64), (32, 64), (32, 64), (96, 64), (96, 64), (64, 96)]
ELEMENTS = 30_720
TABLE = 100 * 64
NORMS = 3 * 64
PLAIN = 2 * (2 * TABLE + NORMS)


def checkpoint(quantization: dict, **more: object) -> Checkpoint:
    found = from_hf_config({**TINY, **more, "quantization_config": quantization}).checkpoint
    assert found is not None
    return found


def test_the_tiny_model_is_as_written_out() -> None:
    assert sum(rows * columns for rows, columns in MATRICES) == ELEMENTS
    assert from_hf_config(TINY).parameters == ELEMENTS + 2 * TABLE + NORMS
    assert from_hf_config(TINY).checkpoint is None


def test_fp8_by_tensor_takes_a_byte_and_one_scale_each() -> None:
    found = checkpoint({"quant_method": "fp8", "weight_block_size": None})
    assert found == Checkpoint("fp8", PLAIN + ELEMENTS + 7 * 4, 0, 2 * TABLE)


def test_fp8_by_block_takes_a_scale_for_each_block_begun() -> None:
    found = checkpoint({"quant_method": "fp8", "weight_block_size": [64, 64]})
    # 64 × 64 and 32 × 64 have one block, 96 × 64 and 64 × 96 have two.
    assert found.total_byte == PLAIN + ELEMENTS + 4 * (1 + 1 + 1 + 1 + 2 + 2 + 2)


def test_fbgemm_takes_a_scale_for_each_row() -> None:
    rows = sum(rows for rows, _ in MATRICES)
    assert checkpoint({"quant_method": "fbgemm_fp8"}).total_byte == PLAIN + ELEMENTS + 4 * rows


def test_gptq_packs_inputs_and_keeps_scales_zeros_and_group_numbers() -> None:
    found = checkpoint({"quant_method": "gptq", "bits": 4, "group_size": 32})
    by_hand = sum(
        rows * columns // 2  # packed
        + columns // 32 * rows * 2  # scales
        + columns // 32 * rows // 2  # zeros
        + columns * 4  # group numbers
        for rows, columns in MATRICES
    )
    assert found == Checkpoint("4-bit GPTQ", PLAIN + by_hand, 0, 2 * TABLE)


def test_gptq_converts_the_head_where_the_file_says_so() -> None:
    base = {"quant_method": "gptq", "bits": 8, "group_size": -1}
    kept, converted = checkpoint(base), checkpoint({**base, "lm_head": True})
    head = TABLE + 100 * 2 + 100 + 64 * 4  # a byte each, one group's scales and zeros, its numbers
    assert kept.total_byte - converted.total_byte == 2 * TABLE - head


def test_awq_packs_outputs_and_keeps_scales_and_zeros() -> None:
    found = checkpoint({"quant_method": "awq", "bits": 4, "group_size": 64})
    groups = {64: 1, 96: 2}
    by_hand = sum(
        rows * columns // 2 + groups[columns] * (rows * 2 + rows // 2) for rows, columns in MATRICES
    )
    assert found == Checkpoint("4-bit AWQ", PLAIN + by_hand, 0, 2 * TABLE)


def test_bitsandbytes_takes_half_a_byte_and_scales_by_64() -> None:
    single = checkpoint({"quant_method": "bitsandbytes", "load_in_4bit": True})
    assert single.total_byte == PLAIN + ELEMENTS // 2 + ELEMENTS // 64 * 4
    double = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    nested = checkpoint({**double, "bnb_4bit_use_double_quant": True})
    # Each matrix has fewer than 256 blocks of 64: one second-level scale.
    assert nested.total_byte == PLAIN + ELEMENTS // 2 + ELEMENTS // 64 + 7 * 4


def test_bitsandbytes_in_8_bits_takes_a_byte_and_a_scale_for_each_row() -> None:
    found = checkpoint({"load_in_8bit": True})
    assert found.total_byte == PLAIN + ELEMENTS + 4 * sum(rows for rows, _ in MATRICES)


@pytest.mark.parametrize(
    ("layout", "weights", "matrices_byte"),
    [
        (
            "pack-quantized",
            {"num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": True},
            sum(r * c // 2 + c // 32 * r * 2 + 16 for r, c in MATRICES),
        ),
        (
            "pack-quantized",
            {"num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": False},
            sum(r * c // 2 + c // 32 * (r * 2 + r // 2) + 16 for r, c in MATRICES),
        ),
        (
            "float-quantized",
            {"num_bits": 8, "strategy": "channel", "symmetric": True},
            sum(r * c + 2 * r for r, c in MATRICES),
        ),
        (
            "int-quantized",
            {"num_bits": 8, "strategy": "tensor", "symmetric": True},
            sum(r * c + 2 for r, c in MATRICES),
        ),
    ],
)
def test_compressed_tensors_by_strategy(layout: str, weights: dict, matrices_byte: int) -> None:
    quantization = {
        "quant_method": "compressed-tensors",
        "format": layout,
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"],
    }
    assert checkpoint(quantization).total_byte == PLAIN + matrices_byte


def test_nvfp4_takes_half_a_byte_and_a_byte_for_each_16() -> None:
    found = checkpoint({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]})
    assert found.total_byte == PLAIN + ELEMENTS // 2 + ELEMENTS // 16 + 7 * 8
    whole = checkpoint({"quant_algo": "NVFP4"})
    assert found.total_byte - whole.total_byte == 2 * TABLE - (TABLE // 2 + TABLE // 16 + 8)


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("self_attn.q_proj", {0: 1, 1: 1}),
        ("model.layers.*.self_attn.q_proj", {0: 1, 1: 1}),
        ("re:.*self_attn.q_proj$", {0: 1, 1: 1}),
        (r"re:model\.layers\.1\.self_attn\.q_proj", {1: 1}),
        ("model.layers.1.self_attn.q_proj", {1: 1}),
        ("model.layers.1", {1: 7}),
        ("re:.*mlp.*", {0: 3, 1: 3}),
        ("model.language_model.layers.0.mlp.down_proj", {0: 1}),
        ("q_proj", {0: 1, 1: 1}),
        ("proj", {}),
        ("model.visual.blocks.0.attn.qkv", {}),
        ("re:(a+)+$", {}),
    ],
)
def test_modules_named_in_the_file_stay_as_they_are(entry: str, kept: dict[int, int]) -> None:
    two = {"num_hidden_layers": 2, "hidden_size": 64, "num_key_value_heads": 4}
    square = {**two, "intermediate_size": 64}
    base = {"quant_method": "fp8", "weight_block_size": None}
    all_converted = checkpoint(base, **square).total_byte
    found = checkpoint({**base, "modules_to_not_convert": [entry]}, **square).total_byte
    # Every matrix is 64 × 64 here: two bytes an element instead of one and a scale.
    assert found - all_converted == sum(kept.values()) * (64 * 64 - 4)


def test_an_expert_is_measured_by_itself() -> None:
    mixtral = {
        **TINY,
        "model_type": "mixtral",
        "num_hidden_layers": 3,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": None},
    }
    found = from_hf_config(mixtral).checkpoint
    assert found is not None
    assert found.expert_byte == 3 * (64 * 96 + 4)


def test_mxfp4_converts_experts_alone() -> None:
    model = MODELS["gpt-oss-120b"]
    assert model.checkpoint is not None
    # 36 layers of 128 experts of 3 · 2880² at 4.25 bits, everything else at two bytes.
    matrices = 36 * 128 * 3 * 2880 * 2880
    assert model.checkpoint.total_byte == matrices * 17 // 32 + 2 * (model.parameters - matrices)
    assert model.checkpoint.total_byte == 65_248_815_744
    assert model.checkpoint.expert_byte == 3 * 2880 * 2880 * 17 // 32 + 2 * 3 * 2880
    assert model.checkpoint.lookup_byte == 2 * 201_088 * 2880


def test_mxfp4_leaves_attention_alone_even_where_the_file_does_not_say_so() -> None:
    oss = {
        **TINY,
        "model_type": "gpt_oss",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "head_dim": 16,
    }
    model = from_hf_config({**oss, "quantization_config": {"quant_method": "mxfp4"}})
    matrices = 4 * 3 * 64 * 96
    assert model.weights_byte(None) == matrices * 17 // 32 + 2 * (model.parameters - matrices)


def test_a_tied_table_is_read_by_the_head_and_so_not_looked_up_alone() -> None:
    found = checkpoint({"quant_method": "fp8"}, tie_word_embeddings=True)
    assert found.lookup_byte == 0
    assert found.total_byte == PLAIN - 2 * TABLE + ELEMENTS + 7 * 4


def test_float32_parts_take_four_bytes() -> None:
    found = checkpoint({"quant_method": "fp8"}, torch_dtype="float32")
    assert found.total_byte == 2 * PLAIN + ELEMENTS + 7 * 4


def test_the_text_models_own_quantisation_is_found_inside_or_outside() -> None:
    quantization = {"quant_method": "fp8"}
    text = {**TINY, "quantization_config": quantization}
    inside = from_hf_config({"model_type": "llava", "text_config": text})
    outside = from_hf_config(
        {"model_type": "llava", "text_config": TINY, "quantization_config": quantization}
    )
    assert inside.checkpoint == outside.checkpoint == checkpoint(quantization)


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "hqq"},
        {"quant_method": "bitsandbytes"},
        {},
        {
            "quant_method": "compressed-tensors",
            "config_groups": {"a": {"weights": {}}, "b": {"weights": {}}},
        },
    ],
    ids=["unknown method", "no width", "nothing said", "two groups"],
)
def test_an_unknown_method_leaves_the_size_open_and_says_so(quantization: dict) -> None:
    reading = read_hf_config({**TINY, "quantization_config": quantization})
    assert reading.model.checkpoint is None
    assert "choose a weight precision" in reading.ignored[0]


def test_the_files_cache_precision_is_told_apart() -> None:
    quantization = {"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8}}
    reading = read_hf_config({**TINY, "quantization_config": quantization})
    assert any("cache precision" in sentence for sentence in reading.ignored)
    plain = from_hf_config(TINY)
    assert reading.model.kv_bytes_per_token() == plain.kv_bytes_per_token()


@pytest.mark.parametrize(
    ("quantization", "key"),
    [
        ([], "quantization_config is a list of 0"),
        ({"quant_method": 8}, "quantization_config.quant_method"),
        ({"quant_method": "gptq", "bits": 5, "group_size": 128}, "quantization_config.bits is 5"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -2}, "quantization_config.group_size"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "quantization_config.group_size"),
        ({"quant_method": "awq", "group_size": 128}, "quantization_config.bits is missing"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": [True, True]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": 128}, "weight_block_size is 128"),
        ({"quant_method": "fp8", "ignore": "lm_head"}, "quantization_config.ignore"),
        ({"quant_method": "fp8", "ignore": [3]}, "quantization_config.ignore is 3"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": "yes"}, "load_in_4bit"),
        ({"quant_method": "compressed-tensors", "config_groups": 3}, "config_groups is 3"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": 3}}, "config_groups"),
    ],
)
def test_a_bad_quantisation_is_refused_by_its_key(quantization: object, key: str) -> None:
    with pytest.raises(ValueError, match=re.escape(key)):
        from_hf_config({**TINY, "quantization_config": quantization})
