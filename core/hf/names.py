"""The names that published configurations give one quantity, and the values taken for it."""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "n_embed", "d_model"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "num_key_value_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "head_dim": ("head_dim", "kv_channels", "attention_head_dim"),
    "intermediate_size": (
        "intermediate_size",
        "n_inner",
        "ffn_dim",
        "ffn_hidden_size",
        "block_ff_dim",
    ),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions"),
    "num_experts": (
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "moe_num_experts",
        "ffn_config.moe_num_experts",
    ),
    "num_experts_per_tok": (
        "num_experts_per_tok",
        "experts_per_token",
        "moe_k",
        "ffn_config.moe_top_k",
    ),
    "mamba_n_heads": ("mamba_n_heads", "mamba_num_heads"),
    "mamba_d_head": ("mamba_d_head", "mamba_head_dim"),
    "mamba_d_state": ("mamba_d_state", "ssm_state_size", "state_size"),
    "mamba_d_conv": ("mamba_d_conv", "conv_kernel"),
    "mamba_n_groups": ("mamba_n_groups", "n_groups"),
    "mamba_expand": ("mamba_expand", "expand"),
    "mamba_dt_rank": ("mamba_dt_rank", "time_step_rank"),
    "mamba_conv_bias": ("mamba_conv_bias", "use_conv_bias"),
    "mamba_proj_bias": ("mamba_proj_bias", "use_bias"),
    "mamba_ssm_dtype": ("mamba_ssm_dtype", "mamba_ssm_cache_dtype"),
    "torch_dtype": ("torch_dtype", "dtype"),
    "layer_types": ("layer_types", "layers_block_type"),
    "tie_word_embeddings": ("tie_word_embeddings", "tie_embedding"),
}
"""The names under which published files write one and the same quantity."""

LIMITS: dict[str, tuple[int, int]] = {
    "hidden_size": (1, 1_000_000),
    "num_hidden_layers": (1, 10_000),
    "num_attention_heads": (1, 10_000),
    "num_key_value_heads": (1, 10_000),
    "head_dim": (1, 32_768),
    "qk_rope_head_dim": (1, 32_768),
    "qk_nope_head_dim": (1, 32_768),
    "v_head_dim": (1, 32_768),
    "intermediate_size": (1, 10_000_000),
    "vocab_size": (1, 100_000_000),
    "sliding_window": (1, 10_000_000),
    "max_position_embeddings": (1, 100_000_000),
    "num_experts": (1, 100_000),
}
"""The smallest and the largest value taken for a quantity; no published model comes near."""

OTHER_LIMITS = (1, 1_000_000)
"""The same for a quantity without a line of its own."""
