"""Model presets: a dense textbook family from 1B to 405B, and published models by name."""

from __future__ import annotations

from dataclasses import replace

from core.hf_config import from_hf_config
from core.model_spec import AttentionGroup, ModelSpec


def _textbook(
    billions: int, layers: int, heads: int, head_dim: int, kv_heads: int = 8
) -> ModelSpec:
    """A dense model with a round parameter count, all of it read in every step."""
    return ModelSpec(
        name=f"{billions}B",
        parameters=billions * 10**9,
        attention=(AttentionGroup.grouped(layers, heads, kv_heads, head_dim),),
        source="textbook: a round count over the shape of a published model of that size",
    )


TEXTBOOK: dict[str, ModelSpec] = {
    model.name: model
    for model in (
        _textbook(1, 16, 32, 64),
        _textbook(3, 28, 24, 128),
        _textbook(8, 32, 32, 128),
        _textbook(14, 40, 40, 128),
        _textbook(32, 64, 64, 128),
        _textbook(70, 80, 64, 128),
        _textbook(123, 88, 96, 128),
        _textbook(405, 126, 128, 128),
    )
}
"""The model-size slider, in order of size; grouped-query attention with 8 heads throughout."""


def _shape(
    model_type: str, *, layers: int, hidden: int, inner: int, heads: int, vocabulary: int
) -> dict[str, object]:
    """The keys that nearly every config.json has."""
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_attention_heads": heads,
        "vocab_size": vocabulary,
    }


def _published(name: str, config: dict[str, object], source: str, note: str = "") -> ModelSpec:
    return replace(from_hf_config(config, name), source=source, note=note)


_VIDUR = "shape from Vidur, model_config.py at 7d47513; vocabulary recalled"
_AICONFIGURATOR = "NVIDIA aiconfigurator, model_configs at 095f58a"
_RECALLED = "recalled; its total equals the published one to the unit"
_IN_CODE = "recalled; its exact total stands in public code"
_CONFIG = "its published config.json"
_BEYOND = "B a token beyond the window (bf16)"

_LLAMA: tuple[ModelSpec, ...] = (
    _published(
        "Llama-2-7B",
        _shape("llama", layers=32, hidden=4096, inner=11008, heads=32, vocabulary=32000),
        _VIDUR,
    ),
    _published(
        "Llama-2-13B",
        _shape("llama", layers=40, hidden=5120, inner=13824, heads=40, vocabulary=32000),
        "jax-ml/scaling-book, inference.md; the feed-forward width recalled",
    ),
    _published(
        "Llama-2-70B",
        _shape("llama", layers=80, hidden=8192, inner=28672, heads=64, vocabulary=32000)
        | {"num_key_value_heads": 8},
        _VIDUR,
    ),
    _published(
        "Llama-3-8B / 3.1-8B",
        _shape("llama", layers=32, hidden=4096, inner=14336, heads=32, vocabulary=128256)
        | {"num_key_value_heads": 8},
        _AICONFIGURATOR,
    ),
    _published(
        "Llama-3-70B / 3.1 / 3.3",
        _shape("llama", layers=80, hidden=8192, inner=28672, heads=64, vocabulary=128256)
        | {"num_key_value_heads": 8},
        _AICONFIGURATOR,
    ),
    _published(
        "Llama-3.1-405B",
        _shape("llama", layers=126, hidden=16384, inner=53248, heads=128, vocabulary=128256)
        | {"num_key_value_heads": 8},
        _AICONFIGURATOR,
    ),
    _published(
        "Llama-3.2-1B",
        _shape("llama", layers=16, hidden=2048, inner=8192, heads=32, vocabulary=128256)
        | {"num_key_value_heads": 8, "tie_word_embeddings": True},
        _RECALLED,
    ),
    _published(
        "Llama-3.2-3B",
        _shape("llama", layers=28, hidden=3072, inner=8192, heads=24, vocabulary=128256)
        | {"num_key_value_heads": 8, "tie_word_embeddings": True},
        _IN_CODE,
    ),
)

_MISTRAL: tuple[ModelSpec, ...] = (
    _published(
        "Mistral-7B-v0.1",
        _shape("mistral", layers=32, hidden=4096, inner=14336, heads=32, vocabulary=32000)
        | {"num_key_value_heads": 8, "sliding_window": 4096},
        _RECALLED,
        "Sliding window of 4,096: the cache stops growing at 4,096 tokens.",
    ),
    _published(
        "Mixtral-8x7B",
        _shape("mixtral", layers=32, hidden=4096, inner=14336, heads=32, vocabulary=32000)
        | {"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2},
        _AICONFIGURATOR,
        "8 experts, 2 for each token: 46.7 billion parameters, not the 56 its name suggests.",
    ),
)

_QWEN: tuple[ModelSpec, ...] = (
    _published(
        "Qwen2.5-7B",
        _shape("qwen2", layers=28, hidden=3584, inner=18944, heads=28, vocabulary=152064)
        | {"num_key_value_heads": 4, "use_sliding_window": False},
        _IN_CODE,
    ),
    _published(
        "Qwen3-8B",
        _shape("qwen3", layers=36, hidden=4096, inner=12288, heads=32, vocabulary=151936)
        | {"num_key_value_heads": 8, "head_dim": 128},
        _AICONFIGURATOR,
    ),
    _published(
        "Qwen3-32B",
        _shape("qwen3", layers=64, hidden=5120, inner=25600, heads=64, vocabulary=151936)
        | {"num_key_value_heads": 8, "head_dim": 128},
        _AICONFIGURATOR,
        "64 heads of 128 are wider together than its hidden size of 5,120.",
    ),
    _published(
        "Qwen3-30B-A3B",
        _shape("qwen3_moe", layers=48, hidden=2048, inner=6144, heads=32, vocabulary=151936)
        | {
            "num_key_value_heads": 4,
            "head_dim": 128,
            "moe_intermediate_size": 768,
            "num_experts": 128,
            "num_experts_per_tok": 8,
        },
        _AICONFIGURATOR,
        "128 experts, 8 for each token.",
    ),
)

_GEMMA: tuple[ModelSpec, ...] = (
    _published(
        "Gemma-2-9B",
        _shape("gemma2", layers=42, hidden=3584, inner=14336, heads=16, vocabulary=256000)
        | {"num_key_value_heads": 8, "head_dim": 256, "sliding_window": 4096},
        "public copies of its config.json",
        f"Every other layer has a window of 4,096 tokens; 172,032 {_BEYOND}.",
    ),
    _published(
        "Gemma-3-27B (text)",
        _shape("gemma3_text", layers=62, hidden=5376, inner=21504, heads=32, vocabulary=262208)
        | {"num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024},
        "recalled; no published exact total was checked",
        f"5 layers with a window of 1,024 for each that sees everything; 81,920 {_BEYOND}.",
    ),
)

_OTHERS: tuple[ModelSpec, ...] = (
    _published(
        "Phi-3-mini-4k",
        _shape("phi3", layers=32, hidden=3072, inner=8192, heads=32, vocabulary=32064)
        | {"num_key_value_heads": 32, "sliding_window": 2047},
        _RECALLED,
        "Sliding window of 2,047: the cache stops growing at 2,047 tokens.",
    ),
    _published(
        "DeepSeek-V3/R1 (without MTP)",
        _shape("deepseek_v3", layers=61, hidden=7168, inner=18432, heads=128, vocabulary=129280)
        | {
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "first_k_dense_replace": 3,
            "moe_intermediate_size": 2048,
            "n_routed_experts": 256,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        },
        _AICONFIGURATOR,
        "Latent attention caches 576 elements a layer; 128 full heads would take 71 times as much.",
    ),
    _published(
        "gpt-oss-120b",
        _shape("gpt_oss", layers=36, hidden=2880, inner=2880, heads=64, vocabulary=201088)
        | {
            "num_key_value_heads": 8,
            "head_dim": 64,
            "sliding_window": 128,
            "num_local_experts": 128,
            "num_experts_per_tok": 4,
            "quantization_config": {
                "quant_method": "mxfp4",
                "modules_to_not_convert": [
                    "model.layers.*.self_attn",
                    "model.layers.*.mlp.router",
                    "model.embed_tokens",
                    "lm_head",
                ],
            },
        },
        _AICONFIGURATOR,
        f"18 of 36 layers have a window of 128 tokens; 36,864 {_BEYOND}.",
    ),
    _published(
        "OPT-13B",
        _shape("opt", layers=40, hidden=5120, inner=20480, heads=40, vocabulary=50272)
        | {"max_position_embeddings": 2048},
        "Kwon et al. 2023, section 3 (layers and width); the rest recalled",
        "819,200 B of cache a token are the 800 KB of the vLLM paper.",
    ),
    _published(
        "GPT-3-175B",
        _shape("gpt2", layers=96, hidden=12288, inner=49152, heads=96, vocabulary=50257)
        | {"n_positions": 2048},
        "recalled; no published exact total was checked",
    ),
    _published(
        "gpt2",
        {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257},
        _CONFIG,
    ),
    _published(
        "Falcon-7B",
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "multi_query": True,
            "vocab_size": 65024,
        },
        _CONFIG,
        "All 71 query heads share one key-value head: 8,192 B of cache a token, not 581,632.",
    ),
    _published(
        "Qwen3-0.6B",
        _shape("qwen3", layers=28, hidden=1024, inner=3072, heads=16, vocabulary=151936)
        | {"num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True},
        _CONFIG,
        "16 heads of 128 are wider together than its hidden size of 1,024.",
    ),
    _published(
        "Mistral-Nemo",
        _shape("mistral", layers=40, hidden=5120, inner=14336, heads=32, vocabulary=131072)
        | {"num_key_value_heads": 8, "head_dim": 128, "sliding_window": None},
        _CONFIG,
        "Heads of 128, although its hidden size of 5,120 over 32 heads would be 160.",
    ),
    _published(
        "Gemma-3-4B",
        {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        },
        _CONFIG,
        "Its file leaves out heads, their width and the vocabulary, which are the family's.",
    ),
    _published(
        "Qwen3.5-27B",
        _shape("qwen3_5_text", layers=64, hidden=5120, inner=17408, heads=24, vocabulary=248320)
        | {
            "num_key_value_heads": 4,
            "head_dim": 256,
            "full_attention_interval": 4,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 48,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_conv_kernel_dim": 4,
            "mamba_ssm_dtype": "float32",
        },
        _CONFIG,
        "48 of 64 layers keep a fixed state: 153,944,064 B a sequence, whatever its length.",
    ),
)

PUBLISHED: dict[str, ModelSpec] = {
    model.name: model for model in (*_LLAMA, *_MISTRAL, *_QWEN, *_GEMMA, *_OTHERS)
}
"""Published models by name, each read from its configuration as a dropped file would be."""

MODELS: dict[str, ModelSpec] = {**TEXTBOOK, **PUBLISHED}
"""All presets by name, the textbook family first."""
