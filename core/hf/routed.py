"""Families that route to experts, and hybrids whose layers keep a fixed state."""

from __future__ import annotations

from core.hf.dense import ATTENTION_BIAS, MISTRAL, MLP_BIAS, OLMO2, QWEN2, QWEN3
from core.hf.family import (
    Family,
    Moe,
    after_dense,
    after_leading,
    between,
    by_period,
    heads_at,
    interleaved,
    one_shared,
    shared_count,
    shared_width,
    sparse_steps,
    stated_heads,
    two_thirds,
    width_at,
)
from core.hf.keys import Keys
from core.hf.kinds import (
    BLOCK_WORDS,
    BOTH_WORDS,
    CHUNK_WORDS,
    CONV_WORDS,
    STATE_WORDS,
    all_both,
    all_state,
    attention_at,
    attention_at_intervals,
    attention_by_offset,
    block_letters,
    chunked,
    every,
    windowed,
)
from core.hf.state import (
    read_convolution,
    read_delta_net,
    read_falcon_h1,
    read_mamba1,
    read_mamba2,
)


def _only_without_bias(keys: Keys) -> None:
    keys.only("use_bias", False, "Biases would add parameters.")


_DEEPSEEK = Family(
    qkv_bias=ATTENTION_BIAS,
    latent=True,
    moe=Moe(layers=after_dense, shared=shared_count("n_shared_experts")),
)
_GRANITE_MOE = Family(
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
    moe=Moe(width="intermediate_size"),
)
_QWEN_MOE = Moe(layers=sparse_steps)
_QWEN_SHARED_MOE = Moe(
    layers=sparse_steps,
    shared=shared_width("shared_expert_intermediate_size"),
    shared_gate=True,
)

ROUTED: dict[str, Family] = {
    "mixtral": MISTRAL._replace(
        omitted={"num_key_value_heads": 8}, moe=Moe(width="intermediate_size")
    ),
    "qwen2_moe": QWEN2._replace(nested={}, qkv_bias=("qkv_bias", True), moe=_QWEN_SHARED_MOE),
    "qwen3_moe": QWEN3._replace(nested={}, omitted={}, moe=_QWEN_MOE),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "glm4_moe_lite": _DEEPSEEK,
    "glm4_moe": Family(
        kv_heads=stated_heads,
        qkv_bias=ATTENTION_BIAS,
        qk_norm_if=("use_qk_norm", False),
        moe=Moe(layers=after_dense, shared=shared_count("n_shared_experts")),
    ),
    "gpt_oss": Family(
        kv_heads=stated_heads,
        omitted={"head_dim": 64, "sliding_window": 128},
        qkv_bias=("attention_bias", True),
        out_bias=("attention_bias", True),
        sinks=True,
        kinds=every(2),
        moe=Moe(width="intermediate_size", router_bias=True, expert_bias=True),
    ),
    "phimoe": Family(
        kv_heads=stated_heads,
        norm="layer",
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        head_bias=("lm_head_bias", False),
        kinds=windowed,
        moe=Moe(width="intermediate_size"),
    ),
    "olmoe": OLMO2._replace(moe=Moe(width="intermediate_size")),
    "granitemoe": _GRANITE_MOE,
    "granitemoeshared": _GRANITE_MOE._replace(
        moe=Moe(width="intermediate_size", shared=shared_width("shared_intermediate_size", 0)),
    ),
    "minimax_m2": Family(
        kv_heads=stated_heads, qk_norm="full", qk_norm_if=True, moe=Moe(width="intermediate_size")
    ),
    "ernie4_5_moe": Family(
        kv_heads=stated_heads,
        tied=True,
        check=_only_without_bias,
        moe=Moe(layers=between, shared=shared_count("moe_num_shared_experts"), correction=True),
    ),
    "dbrx": Family(
        kv_heads=heads_at("attn_config.kv_n_heads"),
        moe=Moe(width="ffn_config.ffn_hidden_size"),
    ),
    "llama4_text": Family(
        kv_heads=stated_heads,
        omitted={"attention_chunk_size": 8192},
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        width=width_at("intermediate_size_mlp"),
        kinds=chunked,
        words=CHUNK_WORDS,
        window="attention_chunk_size",
        moe=Moe(width="intermediate_size", layers=interleaved, shared=one_shared),
    ),
}

_DELTA = Family(
    kv_heads=stated_heads,
    omitted={"head_dim": 256},
    nested={
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
    qkv_bias=ATTENTION_BIAS,
    out_bias=ATTENTION_BIAS,
    qk_norm_if=True,
    query_gate=("attn_output_gate", True),
    kinds=attention_at_intervals,
    words=STATE_WORDS,
    state=read_delta_net,
)
_LFM2 = Family(
    kv_heads=stated_heads,
    tied=True,
    qk_norm_if=True,
    width=two_thirds,
    kinds=attention_at("full_attn_idxs"),
    words=CONV_WORDS,
    state=read_convolution,
)
_MAMBA = Family(
    tied=True,
    norms=1,
    kinds=all_state,
    words=STATE_WORDS,
    state=read_mamba1(),
    one_part=True,
)

HYBRID: dict[str, Family] = {
    "qwen3_next": _DELTA._replace(moe=_QWEN_SHARED_MOE),
    "qwen3_5_text": _DELTA,
    "qwen3_5_moe_text": _DELTA._replace(moe=_QWEN_SHARED_MOE),
    "jamba": Family(
        kv_heads=stated_heads,
        kinds=attention_by_offset,
        words=STATE_WORDS,
        state=read_mamba1(norms=True),
        moe=Moe(width="intermediate_size", layers=by_period, optional=True),
    ),
    "bamba": Family(
        kv_heads=stated_heads,
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        kinds=attention_at("attn_layer_indices"),
        words=STATE_WORDS,
        state=read_mamba2(),
    ),
    "granitemoehybrid": Family(
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        width=width_at("shared_intermediate_size"),
        kinds=attention_at("attn_layer_indices"),
        words=STATE_WORDS,
        state=read_mamba2(),
        moe=Moe(
            width="intermediate_size",
            shared=shared_width("shared_intermediate_size"),
            optional=True,
        ),
    ),
    "nemotron_h": Family(
        kv_heads=stated_heads,
        omitted={"head_dim": 128},
        norms=1,
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        gated=False,
        kinds=block_letters,
        words=BLOCK_WORDS,
        state=read_mamba2(),
        one_part=True,
        moe=Moe(
            shared=shared_width("moe_shared_expert_intermediate_size"), gated=False, latent=True
        ),
    ),
    "falcon_h1": Family(
        kv_heads=stated_heads,
        qkv_bias=ATTENTION_BIAS,
        out_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        kinds=all_both,
        words=BOTH_WORDS,
        state=read_falcon_h1,
    ),
    "lfm2": _LFM2,
    "lfm2_moe": _LFM2._replace(width=width_at("intermediate_size"), moe=Moe(layers=after_leading)),
    "mamba": _MAMBA,
    "falcon_mamba": _MAMBA,
    "mamba2": _MAMBA._replace(
        tied=False, state=read_mamba2(heads="num_heads", head_dim="head_dim")
    ),
}
