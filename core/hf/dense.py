"""Dense families: decoders with one feed-forward network in each layer, new and old."""

from __future__ import annotations

from core.hf.family import (
    Family,
    chatglm_heads,
    expanded,
    falcon_heads,
    four_times,
    halved,
    one_head_if,
    own_heads,
    stated_heads,
)
from core.hf.keys import Keys
from core.hf.kinds import every, local_and_global, windowed, windowed_on_request


def _sizes(hidden: int, inner: int, layers: int, heads: int, vocabulary: int) -> dict[str, int]:
    """Class defaults, which a text_config leaves out where a model has them."""
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "vocab_size": vocabulary,
    }


def _falcon_norms(keys: Keys) -> int:
    parallel = keys.flag(("parallel_attn", True))
    if not parallel:
        return 2
    newer = keys.flag(("new_decoder_architecture", False))
    return keys.integer_or("num_ln_in_parallel_attn", 2, "one for each branch") if newer else 1


def _stablelm_norms(keys: Keys) -> int:
    return 1 if keys.flag(("use_parallel_residual", False)) else 2


def _opt_final_norm(keys: Keys) -> int:
    first = keys.flag(("do_layer_norm_before", True))
    return int(first and not keys.flag(("_remove_final_layer_norm", False)))


def _only_alibi(keys: Keys) -> None:
    keys.only("no_bias", True, "Biases would add parameters.")
    keys.only("attn_config.alibi", True, "Without it, positions would be learned.")
    keys.only("attn_config.attn_type", "multihead_attention", "Others share key-value heads.")
    keys.only("attn_config.qk_ln", False, "It would add norms.")


def _only_affine_norms(keys: Keys) -> None:
    keys.only("layer_norm_elementwise_affine", True, "Without it, norms have no parameters.")


ATTENTION_BIAS = ("attention_bias", False)
MLP_BIAS = ("mlp_bias", False)

LLAMA = Family(
    nested=_sizes(4096, 11008, 32, 32, 32000),
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
    mlp_bias=MLP_BIAS,
)
_PLAIN = Family()
MISTRAL = Family(
    omitted={"num_key_value_heads": 8, "sliding_window": 4096},
    nested=_sizes(4096, 14336, 32, 32, 32000),
    kinds=windowed,
)
QWEN2 = Family(
    nested={**_sizes(4096, 22016, 32, 32, 151936), "num_key_value_heads": 32},
    qkv_bias=True,
    kv_heads=stated_heads,
    kinds=windowed_on_request,
)
QWEN3 = Family(
    omitted={"head_dim": 128},
    nested={**_sizes(4096, 22016, 32, 32, 151936), "num_key_value_heads": 32},
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
    kv_heads=stated_heads,
    qk_norm_if=True,
    kinds=windowed_on_request,
)
_GEMMA = Family(
    omitted={"head_dim": 256},
    nested={**_sizes(3072, 24576, 28, 16, 256000), "num_key_value_heads": 16},
    tied=True,
    kv_heads=stated_heads,
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
)
_GEMMA2 = _GEMMA._replace(
    omitted={"head_dim": 256, "num_key_value_heads": 4, "sliding_window": 4096},
    nested=_sizes(2304, 9216, 26, 8, 256000),
    norms=4,
    kinds=every(2),
)
# Published Gemma 3 files store only what differs from this class.
_GEMMA3 = _GEMMA2._replace(
    omitted={
        "head_dim": 256,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": 262208,
        "sliding_window": 4096,
    },
    qk_norm_if=True,
    kinds=every(6),
)
_COHERE = Family(
    nested=_sizes(8192, 22528, 40, 64, 256000),
    tied=True,
    norms=1,
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
    qk_norm="full",
    qk_norm_if=("use_qk_norm", False),
)
OLMO2 = Family(qkv_bias=ATTENTION_BIAS, out_bias=ATTENTION_BIAS, qk_norm="full", qk_norm_if=True)
_GLM = Family(omitted={"head_dim": 128}, qkv_bias=ATTENTION_BIAS, kv_heads=stated_heads)

DENSE: dict[str, Family] = {
    "llama": LLAMA,
    "Yi": _PLAIN,
    "mistral": MISTRAL,
    "ministral": MISTRAL._replace(omitted={"num_key_value_heads": 8}),
    "ministral3": MISTRAL._replace(omitted={"num_key_value_heads": 8}),
    "qwen": Family(qkv_bias=True, kv_heads=own_heads, width=halved),
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "phi3": Family(kinds=windowed),
    "olmo": Family(norm="none", qkv_bias=ATTENTION_BIAS, out_bias=ATTENTION_BIAS),
    "olmo2": OLMO2,
    "olmo3": OLMO2._replace(omitted={"sliding_window": 4096}, kinds=every(4)),
    "cohere": _COHERE,
    "cohere2": _COHERE._replace(omitted={"sliding_window": 4096}, qk_norm_if=False, kinds=every(4)),
    "stablelm": Family(
        norm="layer",
        norms=_stablelm_norms,
        qkv_bias=("use_qkv_bias", False),
        qk_norm="full",
        qk_norm_if=("qk_layernorm", False),
    ),
    "starcoder2": Family(
        omitted={"num_key_value_heads": 2},
        tied=True,
        norm="layer",
        qkv_bias=("use_bias", True),
        out_bias=("use_bias", True),
        mlp_bias=("use_bias", True),
        gated=False,
        kinds=windowed,
    ),
    "nemotron": LLAMA._replace(nested={}, norm="layer", gated=False),
    "arcee": LLAMA._replace(nested={}, gated=False),
    "granite": LLAMA._replace(nested={}),
    "smollm3": LLAMA._replace(
        nested={}, omitted={"num_key_value_heads": 4}, tied=True, kinds=windowed_on_request
    ),
    "glm": _GLM,
    "glm4": _GLM._replace(norms=4),
    "exaone": LLAMA._replace(nested={}),
    "exaone4": Family(
        omitted={"sliding_window": 4096}, kv_heads=stated_heads, qk_norm_if=True, kinds=every(4)
    ),
    "seed_oss": Family(
        omitted={"head_dim": 128},
        qkv_bias=("attention_bias", True),
        out_bias=("attention_out_bias", False),
        mlp_bias=MLP_BIAS,
        kv_heads=stated_heads,
    ),
    "ernie4_5": Family(
        omitted={"head_dim": 128},
        tied=True,
        kv_heads=stated_heads,
        qkv_bias=("use_bias", False),
        out_bias=("use_bias", False),
        mlp_bias=("use_bias", False),
    ),
    "hunyuan_v1_dense": Family(qkv_bias=ATTENTION_BIAS, out_bias=ATTENTION_BIAS, qk_norm_if=True),
    "internlm2": Family(qkv_bias=("bias", True), out_bias=("bias", True)),
    "internlm3": Family(
        qkv_bias=("qkv_bias", False),
        out_bias=("bias", False),
        mlp_bias=("bias", False),
        kv_heads=stated_heads,
    ),
    "baichuan": Family(kv_heads=own_heads),
    "minicpm": LLAMA._replace(nested={}, tied=True),
    "minicpm3": Family(tied=True, qkv_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, latent=True),
    "chatglm": Family(
        qkv_bias=("add_qkv_bias", False),
        out_bias=("add_bias_linear", False),
        mlp_bias=("add_bias_linear", False),
        kv_heads=chatglm_heads,
        final_norm=lambda keys: int(keys.flag(("post_layer_norm", True))),
    ),
}

_LEGACY_GPT = Family(norm="layer", gated=False, kv_heads=own_heads, width=four_times)
_GPT2 = _LEGACY_GPT._replace(
    omitted={"max_position_embeddings": 1024},
    tied=True,
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    positions=0,
)
_GPTJ = _LEGACY_GPT._replace(norms=1, mlp_bias=True, head_bias=True)

LEGACY: dict[str, Family] = {
    "gpt2": _GPT2,
    "gpt_bigcode": _GPT2._replace(kv_heads=one_head_if(True)),
    "gpt_neo": _GPT2._replace(
        omitted={"max_position_embeddings": 2048, "window_size": 256},
        qkv_bias=False,
        kinds=local_and_global,
        window="window_size",
    ),
    "gpt_neox": _LEGACY_GPT._replace(
        qkv_bias=("attention_bias", True),
        out_bias=("attention_bias", True),
        mlp_bias=True,
    ),
    "gptj": _GPTJ,
    "codegen": _GPTJ,
    "phi": Family(
        norm="layer",
        norms=1,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        qk_norm="affine",
        qk_norm_if=("qk_layernorm", False),
        gated=False,
    ),
    "bloom": _LEGACY_GPT._replace(
        tied=True,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        embedding_norm=True,
    ),
    # MPT's norms have no shift, so they count as a scale alone.
    "mpt": _LEGACY_GPT._replace(tied=True, norm="rms", width=expanded, check=_only_alibi),
    "opt": _LEGACY_GPT._replace(
        tied=True,
        qkv_bias=("enable_bias", True),
        out_bias=("enable_bias", True),
        mlp_bias=("enable_bias", True),
        positions=2,
        final_norm=_opt_final_norm,
        projected_embedding=True,
        check=_only_affine_norms,
    ),
    "falcon": _LEGACY_GPT._replace(
        tied=True,
        norms=_falcon_norms,
        qkv_bias=("bias", False),
        out_bias=("bias", False),
        mlp_bias=("bias", False),
        kv_heads=falcon_heads,
    ),
}
