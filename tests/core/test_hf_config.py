"""Published config.json files read into models, and bad ones refused by key and remedy."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.hf_config import (
    HfReading,
    from_hf_config,
    main,
    parse_config_text,
    read_hf_config,
)
from core.model_spec import ModelSpec

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "config_cases.json").read_text("utf-8"))["cases"]
GOLDEN = {
    case["file"]: json.loads((DATA / "configs" / case["file"]).read_text("utf-8")) for case in CASES
}
COUNTED = json.loads((DATA / "hf_totals.json").read_text("utf-8"))["cases"]
NAMED = {case["name"]: case["config"] for case in COUNTED}
LLAMA = GOLDEN["meta-llama--Meta-Llama-3-8B.json"]
DEEPSEEK = GOLDEN["deepseek-ai--DeepSeek-V3.json"]
HYBRID = GOLDEN["Qwen--Qwen3.5-27B.json"]
REMEDY = re.compile(r"\b(Use|Keep|Write|Correct|Add|use) ")


def without(config: dict, *keys: str) -> dict:
    return {key: value for key, value in config.items() if key not in keys}


def windows(model: ModelSpec) -> list[tuple[int, int | None]]:
    return [(group.layers, group.window_token) for group in model.attention]


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_published_files_give_their_published_figures(case: dict) -> None:
    model = from_hf_config(GOLDEN[case["file"]], case["name"])
    assert model.name == case["name"]
    assert model.parameters == case["parameters"]
    assert model.active_parameters == case["active_parameters"] or not case["active_parameters"]
    for tokens, cached in case["kv_bytes_per_sequence_bf16"].items():
        assert float(model.kv_bytes_per_sequence(int(tokens))) == cached
    if case["checkpoint_bytes"]:
        assert model.weights_byte(None) == case["checkpoint_bytes"]


@pytest.mark.parametrize(
    ("file", "lookup"),
    [
        # Untied: the table is looked up. Tied: the head reads it. Learned positions: looked up.
        ("meta-llama--Meta-Llama-3-8B.json", 128256 * 4096),
        ("meta-llama--Llama-3.2-1B.json", 0),
        ("google--gemma-2-9b.json", 0),
        ("tiiuae--falcon-7b.json", 0),
        ("openai-community--gpt2.json", 1024 * 768),
        ("Qwen--Qwen3.5-27B.json", 248320 * 5120),
    ],
)
def test_only_what_is_looked_up_is_left_out_of_the_arithmetic(file: str, lookup: int) -> None:
    model = from_hf_config(GOLDEN[file])
    assert model.lookup_parameters == lookup
    assert model.flop_parameters == model.parameters - lookup


def test_a_projected_embedding_is_looked_up_at_its_own_width() -> None:
    """OPT-350m looks up 512 elements, projects them to 1,024 and shares the table with the head."""
    assert from_hf_config(NAMED["facebook/opt-350m"]).lookup_parameters == 2050 * 1024
    untied = {**NAMED["facebook/opt-350m"], "tie_word_embeddings": False}
    assert from_hf_config(untied).lookup_parameters == 2050 * 1024 + 50272 * 512


def test_latent_attention_decodes_in_the_latent_space_and_prefills_expanded() -> None:
    (group,) = from_hf_config(DEEPSEEK).attention
    assert (group.layers, group.heads, group.kv_heads) == (61, 128, None)
    assert group.cache_elements_per_token == 512 + 64
    assert group.head_dim == 128 + 64
    assert group.decode_dim == ((512 + 64) + 512) / 2
    assert group.prefill_dim == ((128 + 64) + 128) / 2
    with pytest.raises(ValueError, match="caches latents"):
        from_hf_config(DEEPSEEK).with_kv_heads(8)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"use_sliding_window": False}, [(28, None)]),
        ({"use_sliding_window": True}, [(28, None)]),
        ({"use_sliding_window": True, "max_window_layers": 21}, [(21, None), (7, 131072)]),
        ({"use_sliding_window": True, "max_window_layers": 0}, [(28, 131072)]),
        ({"use_sliding_window": True, "sliding_window": None}, [(28, None)]),
        (
            {"layer_types": ["sliding_attention"] * 3 + ["full_attention"] * 25},
            [(3, 131072), (25, None)],
        ),
    ],
)
def test_qwen_has_windows_only_where_it_asks_for_them(change: dict, expected: list) -> None:
    config = {**GOLDEN["Qwen--Qwen2.5-7B.json"], **change}
    assert windows(from_hf_config(config)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"sliding_window": 4096}, [(32, 4096)]),
        ({"sliding_window": None}, [(32, None)]),
    ],
)
def test_mistral_has_one_window_throughout_or_none(change: dict, expected: list) -> None:
    config = {**NAMED["mistralai/Mistral-7B-v0.3"], **change}
    assert windows(from_hf_config(config)) == expected


def test_a_window_left_out_is_the_familys_and_is_said_to_be() -> None:
    reading = read_hf_config(without(NAMED["mistralai/Mistral-7B-v0.3"], "sliding_window"))
    assert windows(reading.model) == [(32, 4096)]
    assert any("sliding_window is not in the file; taken as 4,096" in s for s in reading.assumed)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"sliding_window_pattern": 6}, [(29, 1024), (5, None)]),
        ({"sliding_window_pattern": 2}, [(17, 1024), (17, None)]),
        ({"sliding_window_pattern": 1}, [(34, None)]),
        ({"sliding_window": None}, [(34, None)]),
        ({"layer_types": ["full_attention"] * 34}, [(34, None)]),
    ],
)
def test_gemma_mixes_windowed_and_full_layers(change: dict, expected: list) -> None:
    config = {**GOLDEN["google--gemma-3-4b.json"], **change}
    assert windows(from_hf_config(config)) == expected


def test_exaone_writes_its_pattern_in_letters() -> None:
    config = {**NAMED["LGAI-EXAONE/EXAONE-4.0-32B"], "sliding_window_pattern": "LLLG"}
    assert windows(from_hf_config(config)) == [(48, 4096), (16, None)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, [(12, None), (12, 256)]),
        ({"attention_types": [[["global"], 24]]}, [(24, None)]),
        ({"attention_layers": ["local"] * 24}, [(24, 256)]),
    ],
)
def test_gpt_neo_lists_its_local_layers(change: dict, expected: list) -> None:
    config = {**without(NAMED["EleutherAI/gpt-neo-1.3B"], "attention_types"), **change}
    assert windows(from_hf_config(config)) == expected


@pytest.mark.parametrize(
    ("change", "full", "chunked"),
    [
        ({}, 12, 36),
        ({"no_rope_layers": [0] * 24 + [1] * 24}, 24, 24),
        ({"no_rope_layer_interval": 2}, 24, 24),
        ({"attention_chunk_size": None}, 48, 0),
    ],
)
def test_llama_4_attends_within_chunks(change: dict, full: int, chunked: int) -> None:
    reading = read_hf_config({**NAMED["meta-llama/Llama-4-Scout-17B-16E (text)"], **change})
    layers = {window: layers for layers, window in windows(reading.model)}
    assert (layers.get(None, 0), layers.get(8192, 0)) == (full, chunked)
    assert any("chunks" in sentence for sentence in reading.assumed) == bool(chunked)


@pytest.mark.parametrize(("offset", "attending"), [(0, 4), (2, 4), (3, 3), (7, 3)])
def test_jamba_attends_at_an_offset_within_each_period(offset: int, attending: int) -> None:
    """27 layers in periods of 8: three whole ones, and the first three layers of a fourth."""
    jamba = {**NAMED["ai21labs/Jamba-v0.1"], "num_hidden_layers": 27, "attn_layer_offset": offset}
    assert windows(from_hf_config(jamba)) == [(attending, None)]


@pytest.mark.parametrize(
    ("multi_query", "newer", "expected"),
    [(True, False, 1), (False, False, 128), (True, True, 8), (False, True, 8)],
)
def test_falcon_shares_heads_by_its_two_switches(
    multi_query: bool, newer: bool, expected: int
) -> None:
    config = {
        **NAMED["tiiuae/falcon-40b"],
        "multi_query": multi_query,
        "new_decoder_architecture": newer,
    }
    assert from_hf_config(config).kv_heads == expected


def test_an_explicit_head_width_overrules_the_quotient() -> None:
    wide = from_hf_config({**LLAMA, "head_dim": 256})
    assert wide.attention[0].head_dim == 256
    # q and o double; k and v double: 2 · (4096 + 1024) · 4096 more elements a layer.
    assert wide.parameters - from_hf_config(LLAMA).parameters == 32 * 2 * 5120 * 4096


def test_legacy_names_mean_what_the_new_ones_mean() -> None:
    new = {
        "model_type": "gpt2",
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "vocab_size": 50257,
        "max_position_embeddings": 1024,
        "intermediate_size": 3072,
    }
    old = {**GOLDEN["openai-community--gpt2.json"], "n_inner": None}
    assert from_hf_config(new, "gpt2") == from_hf_config(old, "gpt2")


def test_positions_and_rotary_settings_change_nothing() -> None:
    changed = {
        **LLAMA,
        "rope_theta": 5e5,
        "rope_scaling": {"factor": 8.0},
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
        "pad_token_id": None,
    }
    assert from_hf_config(changed, "a") == from_hf_config(LLAMA, "a")


def test_a_file_that_leaves_key_value_heads_out_is_multi_head() -> None:
    reading = read_hf_config(without(LLAMA, "num_key_value_heads"))
    assert reading.model.kv_heads == 32
    assert any("taken as 32, one for each query head" in s for s in reading.assumed)


@pytest.mark.parametrize(
    ("inside", "around", "tied"),
    [(None, False, False), (None, True, True), (True, False, True), (None, None, False)],
)
def test_the_text_model_says_first_whether_its_table_is_tied(
    inside: bool | None, around: bool | None, tied: bool
) -> None:
    text = {**HYBRID["text_config"], "tie_word_embeddings": inside}
    reading = read_hf_config({**HYBRID, "text_config": text, "tie_word_embeddings": around})
    table = 248320 * 5120
    assert reading.model.parameters == 26_895_998_464 - (table if tied else 0)
    assert reading.model.lookup_parameters == (0 if tied else table)


def test_a_contradiction_about_the_table_is_told() -> None:
    text = {**HYBRID["text_config"], "tie_word_embeddings": True}
    reading = read_hf_config({**HYBRID, "text_config": text})
    assert any("the text model's own counts" in sentence for sentence in reading.assumed)


def test_the_reading_tells_what_it_used_assumed_and_left_out() -> None:
    reading = read_hf_config(HYBRID, "Qwen3.5-27B")
    used = dict(reading.used)
    assert used["model_type"] == "qwen3_5"
    assert used["tie_word_embeddings"] is False
    assert used["text_config.hidden_size"] == 5120
    assert used["text_config.layer_types"] == "48 × linear_attention, 16 × full_attention"
    assert "text_config.rms_norm_eps" not in used
    assert any("48 layers keep a fixed state of 3,207,168 B" in s for s in reading.assumed)
    assert [sentence.split(" (")[0] for sentence in reading.ignored] == [
        "The vision tower",
        "The next-token prediction layer",
    ]


def test_every_value_taken_for_a_key_left_out_is_told() -> None:
    reading = read_hf_config(GOLDEN["google--gemma-3-4b.json"])
    told = " ".join(reading.assumed)
    for key in ("num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size"):
        assert f"{key} is not in the file" in told
    assert "tie_word_embeddings true" in told
    assert not {"num_attention_heads", "vocab_size"} & dict(reading.used).keys()


def test_a_window_that_is_not_used_is_told() -> None:
    qwen = read_hf_config(GOLDEN["Qwen--Qwen2.5-7B.json"])
    assert qwen.ignored == ("sliding_window 131,072 is left out: use_sliding_window is not true.",)
    llama = read_hf_config({**LLAMA, "sliding_window": 4096})
    assert llama.ignored == ("sliding_window 4,096 is left out: a llama model has no window.",)


def test_a_model_without_a_name_is_called_after_its_type() -> None:
    assert from_hf_config(LLAMA).name == "llama model"


BAD: list[tuple[str, dict | object, str]] = [
    ("not an object", [LLAMA], "The config is a list of 1"),
    ("nothing said", {}, "model_type is missing"),
    ("no type", without(LLAMA, "model_type"), "model_type is missing"),
    ("unknown type", {**LLAMA, "model_type": "llama5"}, "model_type is 'llama5'"),
    ("type of another kind", {**LLAMA, "model_type": 3}, "model_type is 3"),
    ("encoder-decoder", {"model_type": "t5", "is_encoder_decoder": True}, "is_encoder_decoder"),
    (
        "two architectures",
        {**LLAMA, "architectures": ["MixtralForCausalLM"]},
        "architectures names 'mixtral'",
    ),
    (
        "a classifier",
        {**LLAMA, "architectures": ["LlamaForSequenceClassification"]},
        "architectures is 'LlamaForSequenceClassification'",
    ),
    ("architectures no list", {**LLAMA, "architectures": "LlamaForCausalLM"}, "architectures is"),
    ("hidden_size gone", without(LLAMA, "hidden_size"), "hidden_size is missing"),
    ("layers gone", without(LLAMA, "num_hidden_layers"), "num_hidden_layers is missing"),
    ("heads gone", without(LLAMA, "num_attention_heads"), "num_attention_heads is missing"),
    ("vocabulary gone", without(LLAMA, "vocab_size"), "vocab_size is missing"),
    ("width gone", without(LLAMA, "intermediate_size"), "intermediate_size is missing"),
    ("null", {**LLAMA, "hidden_size": None}, "hidden_size is null"),
    ("negative", {**LLAMA, "num_hidden_layers": -32}, "num_hidden_layers is -32"),
    ("nought", {**LLAMA, "vocab_size": 0}, "vocab_size is 0"),
    ("absurd", {**LLAMA, "hidden_size": 10**12}, "hidden_size is 1,000,000,000,000"),
    ("beyond floats", {**LLAMA, "hidden_size": 10**5000}, "hidden_size is a whole number of"),
    ("a fraction", {**LLAMA, "num_hidden_layers": 32.5}, "num_hidden_layers is 32.5"),
    ("not a number", {**LLAMA, "hidden_size": float("nan")}, "hidden_size is nan"),
    ("endless", {**LLAMA, "hidden_size": float("inf")}, "hidden_size is inf"),
    ("text", {**LLAMA, "hidden_size": "4096"}, "hidden_size is '4096'"),
    ("a switch", {**LLAMA, "num_hidden_layers": True}, "num_hidden_layers is true"),
    ("a list", {**LLAMA, "intermediate_size": [14336] * 32}, "intermediate_size is a list of 32"),
    ("an object", {**LLAMA, "vocab_size": {"n": 1}}, "vocab_size is an object"),
    ("a number for a switch", {**LLAMA, "attention_bias": 1}, "attention_bias is 1"),
    ("a word for a switch", {**LLAMA, "tie_word_embeddings": "no"}, "tie_word_embeddings is 'no'"),
    ("uneven groups", {**LLAMA, "num_key_value_heads": 5}, "num_key_value_heads is 5"),
    ("more groups than heads", {**LLAMA, "num_key_value_heads": 64}, "num_key_value_heads is 64"),
    ("uneven heads", {**LLAMA, "num_attention_heads": 24}, "num_attention_heads, 24"),
    ("two names", {**LLAMA, "n_embd": 768}, "hidden_size is 4,096 and n_embd is 768"),
    (
        "an unknown layer",
        {**LLAMA, "layer_types": ["full_attention"] * 31 + ["cross_attention"]},
        "layer_types[31] is 'cross_attention'",
    ),
    ("layers no list", {**LLAMA, "layer_types": "full_attention"}, "layer_types is"),
    (
        "too few layers",
        {**LLAMA, "layer_types": ["full_attention"] * 31},
        "layer_types has 31 entries, but num_hidden_layers is 32",
    ),
    (
        "a window without a size",
        {**LLAMA, "layer_types": ["sliding_attention"] * 32},
        "sliding_window is missing",
    ),
    (
        "a window of nought",
        {**NAMED["mistralai/Mistral-7B-v0.3"], "sliding_window": 0},
        "sliding_window is 0",
    ),
    ("foreign latents", {**LLAMA, "kv_lora_rank": 512}, "kv_lora_rank is 512"),
    ("foreign experts", {**LLAMA, "num_local_experts": 8}, "num_local_experts is 8"),
    ("too many chosen", {**DEEPSEEK, "num_experts_per_tok": 257}, "num_experts_per_tok is 257"),
    ("experts gone", without(DEEPSEEK, "n_routed_experts"), "n_routed_experts"),
    ("latents gone", without(DEEPSEEK, "kv_lora_rank"), "kv_lora_rank is missing"),
    (
        "dense layers as a list",
        {**DEEPSEEK, "first_k_dense_replace": [3]},
        "first_k_dense_replace is a list of 1",
    ),
    (
        "too large together",
        {**LLAMA, "hidden_size": 1_000_000, "num_attention_heads": 8},
        "The sizes multiply to",
    ),
    (
        "an expert too large",
        {
            **NAMED["mistralai/Mixtral-8x22B"],
            "hidden_size": 960_000,
            "intermediate_size": 10_000_000,
        },
        "intermediate_size is 10,000,000",
    ),
    (
        "too few local layers",
        {**NAMED["EleutherAI/gpt-neo-1.3B"], "attention_types": [[["global", "local"], 11]]},
        "attention_types is a list of 1",
    ),
    ("a text model gone", without(HYBRID, "text_config"), "text_config is missing"),
    ("a text model no object", {**HYBRID, "text_config": [1]}, "text_config is a list of 1"),
    (
        "a text model of an unknown type",
        {**HYBRID, "text_config": {"model_type": "qwen9_text"}},
        "text_config.model_type is 'qwen9_text'",
    ),
    (
        "an unknown wrapper",
        {"model_type": "mllama", "text_config": LLAMA},
        "model_type is 'mllama', a model with a text_config inside",
    ),
    (
        "a key inside",
        {**HYBRID, "text_config": {**HYBRID["text_config"], "linear_num_value_heads": 47}},
        "text_config.linear_num_value_heads is 47",
    ),
    (
        "an unknown type of state",
        {**NAMED["ai21labs/Jamba-v0.1"], "mamba_ssm_dtype": "int3"},
        "mamba_ssm_dtype is 'int3'",
    ),
    (
        "a layer beyond the last",
        {**NAMED["ibm-fms/Bamba-9B"], "attn_layer_indices": [9, 32]},
        "attn_layer_indices is 32",
    ),
    (
        "unknown letters",
        {**NAMED["nvidia/Nemotron-H-8B"], "hybrid_override_pattern": "M-X" + "M-" * 24 + "M"},
        "hybrid_override_pattern is",
    ),
    (
        "an odd pair",
        {"model_type": "qwen", **without(LLAMA, "model_type"), "intermediate_size": 11007},
        "intermediate_size is 11,007",
    ),
    (
        "positions of another kind",
        {**NAMED["mosaicml/mpt-7b"], "attn_config": {"alibi": False}},
        "attn_config.alibi is false",
    ),
    ("a part no object", {**NAMED["databricks/dbrx"], "ffn_config": 3}, "ffn_config is 3"),
]


@pytest.mark.parametrize(("config", "found"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_config_is_refused_by_key_value_and_remedy(config: object, found: str) -> None:
    with pytest.raises(ValueError, match=re.escape(found)) as refused:
        from_hf_config(config)  # type: ignore[arg-type]  # what is not an object is refused too
    message = str(refused.value)
    assert REMEDY.search(message)
    assert "\n" not in message
    assert len(message) < 500


def test_a_number_that_is_refused_is_told_its_range() -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to 10,000"):
        from_hf_config({**LLAMA, "num_hidden_layers": 10_001})


KEYS = {
    key
    for config in [*GOLDEN.values(), *NAMED.values(), HYBRID["text_config"]]
    for key in [*config, *(config.get("quantization_config") or {})]
} | {"architectures", "head_dim", "layer_types", "is_encoder_decoder", "layers_block_type"}

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "auto", "full_attention", "LLLG", "M-*E", "llama", "fp8", "float32"]),
    st.text(max_size=5),
)
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=5),
    st.dictionaries(st.sampled_from(sorted(KEYS)), scalars, max_size=3),
    st.sampled_from([config[key] for config in NAMED.values() for key in sorted(config)]),
)


def places(config: dict) -> list[tuple[str, ...]]:
    inner = [
        (key, name)
        for key in ("text_config", "quantization_config", "attn_config", "ffn_config")
        if isinstance(config.get(key), dict)
        for name in config[key]
    ]
    return [*((key,) for key in config), *inner]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=400)
@given(st.data())
def test_a_changed_file_gives_a_model_or_an_error_that_names_a_key(data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from([*GOLDEN.values(), *NAMED.values()]))
    config = copy.deepcopy(chosen)
    for _ in range(data.draw(st.integers(1, 3))):
        new = st.sampled_from(sorted(KEYS)).map(lambda key: (key,))
        path = data.draw(st.sampled_from(places(config) or [("model_type",)]) | new)
        holder = config if len(path) == 1 else config[path[0]]
        if data.draw(st.booleans()):
            holder.pop(path[-1], None)
        else:
            holder[path[-1]] = data.draw(values)
    try:
        reading = read_hf_config(config)
    except ValueError as error:
        message = str(error)
    else:
        assert isinstance(reading, HfReading)
        assert reading.model.parameters >= reading.model.active_parameters > 0
        assert float(reading.model.kv_bytes_per_sequence(1)) >= 0
        return
    assert any(key in message for key in KEYS), message
    assert REMEDY.search(message), message
    assert len(message) < 800


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(GOLDEN)), st.integers(0, 3200), st.binary(max_size=3))
def test_a_damaged_file_gives_a_model_or_a_value_error(file: str, at: int, junk: bytes) -> None:
    whole = (DATA / "configs" / file).read_bytes()
    try:
        reading = parse_config_text(whole[:at] + junk + whole[at + 1 :])
    except ValueError:
        return
    assert isinstance(reading, HfReading)


@pytest.mark.parametrize("file", sorted(GOLDEN))
def test_the_command_prints_the_reading_as_json(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(DATA / "configs" / file)]) == 0
    printed = json.loads(capsys.readouterr().out)
    case = next(case for case in CASES if case["file"] == file)
    assert printed["name"] == file.removesuffix(".json")
    assert printed["parameters"] == case["parameters"]
    assert printed["kv_bytes_per_sequence_bf16"] == case["kv_bytes_per_sequence_bf16"]
    assert sum(group["layers"] for group in printed["attention"]) > 0
    assert "model_type" in printed["keys_used"]
    assert isinstance(printed["assumed"], list)


def test_the_command_tells_a_bad_file_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "config.json"
    bad.write_text(json.dumps({**LLAMA, "hidden_size": -1}))
    assert main([str(bad)]) == 1
    assert main([str(tmp_path / "none.json")]) == 1
    assert main([str(tmp_path)]) == 1
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    refused, missing, folder, usage = err.splitlines()
    assert refused.startswith("hidden_size is -1, but must be a whole number")
    assert missing == f"{tmp_path / 'none.json'}: No such file or directory"
    assert folder.startswith(f"{tmp_path}: ")
    assert usage == "usage: python -m core.hf_config FILE"


def test_the_module_runs_as_a_command_without_warnings() -> None:
    file = DATA / "configs" / "meta-llama--Meta-Llama-3-8B.json"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "core.hf_config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["parameters"] == 8_030_261_248
