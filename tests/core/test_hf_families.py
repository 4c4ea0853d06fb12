"""Totals of whole families against counts that share no code with the project's."""

import json
from collections import Counter
from pathlib import Path

import pytest

from core.hf.families import ALIASES, FAMILIES, WRAPPERS
from core.hf_config import from_hf_config, read_hf_config
from core.model_spec import ModelSpec

DATA = Path(__file__).parent / "data"
COUNTED = json.loads((DATA / "hf_totals.json").read_text("utf-8"))["cases"]
BY_NAME = {case["name"]: case["config"] for case in COUNTED}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}

# Families whose code is published beside their weights and not in the transformers library.
# Totals recalled from their model cards; each equals its shapes multiplied out by hand.
REMOTE = [
    (
        "Qwen-7B",
        7_721_324_544,
        {
            "model_type": "qwen",
            "architectures": ["QWenLMHeadModel"],
            "hidden_size": 4096,
            "intermediate_size": 22016,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "vocab_size": 151936,
            "no_bias": True,
            "tie_word_embeddings": False,
        },
    ),
    (
        "Baichuan2-7B",
        7_505_973_248,
        {
            "model_type": "baichuan",
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 125696,
            "tie_word_embeddings": False,
        },
    ),
    (
        "ChatGLM3-6B",
        6_243_584_000,
        {
            "model_type": "chatglm",
            "architectures": ["ChatGLMModel"],
            "hidden_size": 4096,
            "ffn_hidden_size": 13696,
            "num_layers": 28,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "padded_vocab_size": 65024,
            "add_qkv_bias": True,
            "add_bias_linear": False,
            "post_layer_norm": True,
            "tie_word_embeddings": False,
        },
    ),
    (
        "MiniCPM-2B",
        2_724_880_896,
        {
            "model_type": "minicpm",
            "hidden_size": 2304,
            "intermediate_size": 5760,
            "num_hidden_layers": 40,
            "num_attention_heads": 36,
            "num_key_value_heads": 36,
            "vocab_size": 122753,
        },
    ),
    (
        "InternLM2-7B",
        7_737_708_544,
        {
            "model_type": "internlm2",
            "bias": False,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 92544,
            "tie_word_embeddings": False,
        },
    ),
]


def layers_by_window(model: ModelSpec) -> Counter[int | None]:
    return Counter({group.window_token: group.layers for group in model.attention})


@pytest.mark.parametrize("case", COUNTED, ids=[case["name"] for case in COUNTED])
def test_parameters_are_those_that_the_published_code_instantiates(case: dict) -> None:
    assert from_hf_config(case["config"]).parameters == case["parameters"]


@pytest.mark.parametrize(("name", "total", "config"), REMOTE, ids=[row[0] for row in REMOTE])
def test_parameters_are_those_on_the_model_card(name: str, total: int, config: dict) -> None:
    assert from_hf_config(config, name).parameters == total


ORDERED = [case for case in COUNTED if "layers" in case]


@pytest.mark.parametrize("case", ORDERED, ids=[case["name"] for case in ORDERED])
def test_layers_are_of_the_kinds_that_the_published_code_orders(case: dict) -> None:
    kinds = Counter(case["layers"])
    expected = {
        None: kinds["full_attention"] + kinds["hybrid"],
        case.get("window"): kinds["sliding_attention"] + kinds["chunked_attention"],
    }
    if "window" not in case:
        expected = {None: kinds["full_attention"] + kinds["hybrid"]}
    found = layers_by_window(from_hf_config(case["config"]))
    assert {key: count for key, count in expected.items() if count} == dict(found)


def test_every_family_is_counted_somewhere() -> None:
    """A family without an outside total would be a guess."""
    golden = [json.loads(path.read_text("utf-8")) for path in (DATA / "configs").glob("*.json")]
    inner = [config.get("text_config", config) for config in golden]
    configs = [*BY_NAME.values(), *inner, *(row[2] for row in REMOTE)]
    counted = {id(FAMILIES[config["model_type"]]) for config in configs}
    alike = {"Yi", "exaone", "internlm3", "ministral", "ministral3"}  # Llama's and Mistral's shapes
    assert {name for name, family in FAMILIES.items() if id(family) not in counted} == alike


@pytest.mark.parametrize("name", sorted(ALIASES.values()) + sorted(WRAPPERS.values()))
def test_other_names_lead_to_known_families(name: str) -> None:
    assert name in FAMILIES


@pytest.mark.parametrize("name", ["Yi", "exaone"])
def test_families_of_llamas_shape_count_as_llama(name: str) -> None:
    """Yi-6B and EXAONE publish Llama's layers under a name of their own."""
    assert from_hf_config({**LLAMA, "model_type": name}).parameters == 8_030_261_248


@pytest.mark.parametrize("name", ["ministral", "ministral3"])
def test_families_of_mistrals_shape_count_as_mistral(name: str) -> None:
    config = {**BY_NAME["mistralai/Mistral-7B-v0.3"], "model_type": name}
    assert from_hf_config(config).parameters == 7_248_023_552


def test_internlm3_reads_its_own_names_for_biases() -> None:
    plain = {**LLAMA, "model_type": "internlm3", "qkv_bias": False, "bias": False}
    assert from_hf_config(plain).parameters == 8_030_261_248
    query_key_value = 4096 + 2 * 1024
    biased = from_hf_config({**plain, "qkv_bias": True})
    assert biased.parameters == 8_030_261_248 + 32 * query_key_value


@pytest.mark.parametrize(
    ("name", "active"),
    [
        # Routed experts that a token does not pass, by hand: (E − k) · layers · 3 · hidden · width.
        ("mistralai/Mixtral-8x22B", 140_620_634_112 - 6 * 56 * 3 * 6144 * 16384),
        ("Qwen/Qwen3-235B-A22B", 235_093_634_560 - 120 * 94 * 3 * 4096 * 1536),
        ("moonshotai/Kimi-K2", 1_026_408_209_408 - 376 * 60 * 3 * 7168 * 2048),
        (
            "meta-llama/Llama-4-Maverick-17B-128E (text)",
            400_711_848_960 - 127 * 24 * 3 * 5120 * 8192,
        ),
        ("ai21labs/Jamba-v0.1", 51_570_323_328 - 14 * 16 * 3 * 4096 * 14336),
        # Two matrices an expert, no gate.
        ("nvidia/Nemotron-3-Nano-30B-A3B", 31_577_937_344 - 122 * 23 * 2 * 2688 * 1856),
        # Experts with biases.
        ("openai/gpt-oss-20b", 20_914_757_184 - 28 * 24 * (3 * 2880 * 2880 + 3 * 2880)),
    ],
)
def test_active_parameters_leave_out_the_experts_not_chosen(name: str, active: int) -> None:
    assert from_hf_config(BY_NAME[name], name).active_parameters == active


@pytest.mark.parametrize(
    ("name", "state_byte"),
    [
        # Layers · (float32 state + bf16 inputs of a convolution, one fewer than its kernel).
        ("Qwen/Qwen3-Next-80B-A3B", 36 * (32 * 128 * 128 * 4 + (2 * 2048 + 4096) * 3 * 2)),
        ("ai21labs/Jamba-v0.1", 28 * (8192 * 16 * 4 + 8192 * 3 * 2)),
        ("ibm-fms/Bamba-9B", 29 * (8192 * 128 * 4 + (8192 + 2 * 128) * 3 * 2)),
        ("nvidia/Nemotron-H-8B", 24 * (8192 * 128 * 4 + (8192 + 2 * 8 * 128) * 3 * 2)),
        ("tiiuae/Falcon-H1-7B", 44 * (3072 * 256 * 4 + (3072 + 2 * 256) * 3 * 2)),
        ("state-spaces/mamba-2.8b-hf", 64 * (5120 * 16 * 4 + 5120 * 3 * 2)),
        ("LiquidAI/LFM2-1.2B", 10 * 2048 * 2 * 2),
    ],
)
def test_layers_without_a_cache_hold_a_fixed_state(name: str, state_byte: int) -> None:
    model = from_hf_config(BY_NAME[name], name)
    assert model.state_byte_per_sequence == state_byte
    assert float(model.kv_bytes_per_sequence(0)) == state_byte


def test_a_model_without_attention_caches_nothing_more_as_it_goes() -> None:
    model = from_hf_config(BY_NAME["state-spaces/mamba-2.8b-hf"])
    assert model.attention == ()
    assert model.kv_bytes_per_token() == 0
    assert float(model.kv_bytes_per_sequence(100_000)) == model.state_byte_per_sequence


@pytest.mark.parametrize(("word", "byte"), [("float32", 4), ("bfloat16", 2), ("float16", 2)])
def test_the_files_type_decides_the_width_of_the_state(word: str, byte: int) -> None:
    config = {**BY_NAME["ai21labs/Jamba-v0.1"], "mamba_ssm_dtype": word}
    expected = 28 * (8192 * 16 * byte + 8192 * 3 * 2)
    assert from_hf_config(config).state_byte_per_sequence == expected


@pytest.mark.parametrize(
    ("wrapper", "text", "total"),
    [
        # text_config as published: only what differs from the text model's class.
        (
            {"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}},
            {"model_type": "llama", "vocab_size": 32064, "max_position_embeddings": 4096},
            6_738_415_616 + 2 * 64 * 4096,
        ),
        (
            {"model_type": "paligemma"},
            {
                "model_type": "gemma",
                "hidden_size": 2048,
                "intermediate_size": 16384,
                "num_attention_heads": 8,
                "num_hidden_layers": 18,
                "num_key_value_heads": 1,
                "vocab_size": 257216,
            },
            2_506_172_416 + (257216 - 256000) * 2048,
        ),
        ({"model_type": "mistral3"}, {"vocab_size": 32768}, 7_248_023_552),
        (
            {"model_type": "gemma3"},
            {
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
            3_880_263_168,
        ),
    ],
    ids=["llava", "paligemma", "mistral3", "gemma3"],
)
def test_a_text_config_takes_its_family_defaults(wrapper: dict, text: dict, total: int) -> None:
    reading = read_hf_config({**wrapper, "text_config": text})
    assert reading.model.parameters == total
    assert any("text_config." in sentence for sentence in reading.assumed)


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_a_text_model_is_found_under_each_name_it_is_published_under(key: str) -> None:
    assert from_hf_config({"model_type": "internvl_chat", key: LLAMA}).parameters == 8_030_261_248


def test_a_flat_vision_model_counts_its_text_model() -> None:
    config = {**BY_NAME["Qwen/Qwen2.5-0.5B"], "model_type": "qwen2_vl", "vision_config": {"a": 1}}
    reading = read_hf_config(config)
    assert reading.model.parameters == 494_032_768
    assert "vision tower" in reading.ignored[-1]


def test_architectures_alone_tell_the_family() -> None:
    config = {key: value for key, value in LLAMA.items() if key != "model_type"}
    reading = read_hf_config({**config, "architectures": ["LlamaForCausalLM"]})
    assert reading.model.parameters == 8_030_261_248
    assert ("architectures", "LlamaForCausalLM") in reading.used
    assert any("architectures names it" in sentence for sentence in reading.assumed)


@pytest.mark.parametrize(
    ("class_name", "model_type"),
    [
        ("GPT2LMHeadModel", "gpt2"),
        ("GPTNeoXForCausalLM", "gpt_neox"),
        ("ChatGLMModel", "chatglm"),
        ("QWenLMHeadModel", "qwen"),
        ("DeepseekV3ForCausalLM", "deepseek_v3"),
        ("Gemma3ForCausalLM", "gemma3_text"),
        ("Qwen3_5ForCausalLM", "qwen3_5_text"),
        ("NemotronHForCausalLM", "nemotron_h"),
    ],
)
def test_a_class_name_agrees_with_its_own_family(class_name: str, model_type: str) -> None:
    """The message of a contradiction would name the family that the class belongs to."""
    with pytest.raises(ValueError, match=f"'{model_type}'|missing"):
        from_hf_config({"model_type": "bloom", "architectures": [class_name]})
    with pytest.raises(ValueError, match="is missing"):
        from_hf_config({"model_type": model_type, "architectures": [class_name]})
