"""A family's traits and a file's keys made into weights, attention groups, experts and state."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from core.hf.family import Count, Family, Moe
from core.hf.keys import Keys, refusal
from core.hf.kinds import Kinds
from core.hf.weights import (
    OUTSIDE,
    Heads,
    Latent,
    Layers,
    Norm,
    Weight,
    feed_forward,
    grouped_attention,
    latent_attention,
    linear,
    norm,
    total,
    vector,
)
from core.model_spec import AttentionGroup, Experts

_STATE_BYTE = {"float32": 4, "bfloat16": 2, "float16": 2}
_WINDOW_BYTE = 2
_MAX_EXPERT = 10**12
_ATTENDING = ("full", "window", "both")
_STATEFUL = ("state", "both")


class Decoder(NamedTuple):
    """Everything about a model that its configuration decides."""

    weights: tuple[Weight, ...]
    attention: tuple[AttentionGroup, ...]
    experts: Experts | None
    state_byte: int
    lookup_parameters: int

    @property
    def parameters(self) -> int:
        """Every weight once."""
        return total(self.weights)


class _Shape(NamedTuple):
    hidden: int
    layers: int
    kinds: Kinds

    def of(self, *kinds: str) -> Layers:
        return tuple(index for index, kind in enumerate(self.kinds) if kind in kinds)

    @property
    def all(self) -> Layers:
        return tuple(range(self.layers))


def read_decoder(keys: Keys, family: Family, tied: bool) -> Decoder:
    """Read every size the family needs. Raises `ValueError` naming the key that stopped it."""
    if family.check is not None:
        family.check(keys)
    layers = _layer_count(keys)
    hidden = keys.integer("hidden_size")
    words = keys.words("layer_types", tuple(family.words), layers)
    kinds = family.kinds(keys, layers) if words is None else tuple(family.words[w] for w in words)
    shape = _Shape(hidden, layers, kinds)

    attention, groups = _attention(keys, family, shape)
    states, state_byte = _states(keys, family, shape)
    feeds, experts = _feeds(keys, family, shape)
    outside, lookup = _outside(keys, family, hidden, tied)
    norms = norm("norms", shape.all, _count(family.norms, keys) * hidden, family.norm)
    weights = (*outside, *norms, *attention, *states, *feeds)
    return Decoder(weights, groups, experts, state_byte, lookup)


def _layer_count(keys: Keys) -> int:
    if keys.find("num_hidden_layers") is None:
        for name in ("layers_block_type", "hybrid_override_pattern"):
            listed = keys.config.get(name)
            if isinstance(listed, list | str) and 1 <= len(listed) <= 10_000:
                keys.assumed.append(
                    f"{keys.named('num_hidden_layers')} is not in the file; "
                    f"taken as {len(listed)}, the length of {name}."
                )
                return len(listed)
    return keys.integer("num_hidden_layers")


def _count(count: int | Count, keys: Keys) -> int:
    return count if isinstance(count, int) else count(keys)


def _attention(
    keys: Keys, family: Family, shape: _Shape
) -> tuple[list[Weight], tuple[AttentionGroup, ...]]:
    layers = shape.of(*_ATTENDING)
    if not layers:
        return [], ()
    count = keys.integer("num_attention_heads")
    if family.latent:
        return _latent(keys, family, shape, count, layers)
    heads = _heads(keys, family, shape.hidden, count)
    weights = grouped_attention(
        layers,
        shape.hidden,
        heads,
        qkv_bias=keys.flag(family.qkv_bias),
        out_bias=keys.flag(family.out_bias),
        query_gate=keys.flag(family.query_gate),
    )
    if keys.flag(family.qk_norm_if):
        full = heads.query_width + heads.key_width
        both = full if family.qk_norm == "full" else 2 * heads.head_dim
        kind: Norm = "layer" if family.qk_norm == "affine" else "rms"
        weights += norm("self_attn.qk_norm", layers, both, kind)
    if family.sinks:
        weights += vector("self_attn.sinks", layers, heads.heads)
    return weights, _groups(keys, family, shape, heads)


def _heads(keys: Keys, family: Family, hidden: int, count: int) -> Heads:
    kv_heads = family.kv_heads(keys, count)
    if count % kv_heads:
        raise ValueError(
            f"{keys.named('num_key_value_heads')} is {kv_heads:,}, which does not divide "
            f"num_attention_heads, {count:,}: query heads share key-value heads in equal groups. "
            "Correct the one that is wrong."
        )
    if keys.stands("head_dim"):
        return Heads(count, kv_heads, keys.integer("head_dim"))
    if hidden % count:
        raise ValueError(
            f"hidden_size is {hidden:,}, not a multiple of num_attention_heads, {count:,}, and "
            f"{keys.named('head_dim')} is not given. Add head_dim or correct the one that is wrong."
        )
    width = keys.integer_or("head_dim", hidden // count, "hidden_size / num_attention_heads")
    return Heads(count, kv_heads, width)


def _groups(keys: Keys, family: Family, shape: _Shape, heads: Heads) -> tuple[AttentionGroup, ...]:
    kinds = Counter(kind for kind in shape.kinds if kind in _ATTENDING)
    groups = []
    for kind, layers in kinds.items():
        window = keys.integer(family.window) if kind == "window" else None
        groups.append(
            AttentionGroup.grouped(layers, heads.heads, heads.kv_heads, heads.head_dim, window)
        )
    if "window" in kinds and family.window == "attention_chunk_size":
        keys.assumed.append(
            "Attention within chunks is counted as a window of a chunk's length, its most."
        )
    return tuple(groups)


def _latent(
    keys: Keys, family: Family, shape: _Shape, heads: int, layers: Layers
) -> tuple[list[Weight], tuple[AttentionGroup, ...]]:
    latent = Latent(
        query_rank=keys.optional("q_lora_rank"),
        kv_rank=keys.integer("kv_lora_rank"),
        rope=keys.integer("qk_rope_head_dim", low=0),
        nope=keys.integer("qk_nope_head_dim"),
        value=keys.integer("v_head_dim"),
    )
    bias = keys.flag(family.qkv_bias)
    cached = latent.kv_rank + latent.rope
    scored = latent.nope + latent.rope
    group = AttentionGroup(
        layers=len(layers),
        heads=heads,
        head_dim=scored,
        cache_elements_per_token=cached,
        decode_dim=(cached + latent.kv_rank) / 2,
        prefill_dim=(scored + latent.value) / 2,
    )
    keys.assumed.append(
        f"A token caches one latent of {cached:,} elements in each layer, shared by all heads; "
        "decoding works in the latent space, a prefill with expanded keys and values."
    )
    return latent_attention(layers, shape.hidden, heads, latent, bias=bias), (group,)


def _states(keys: Keys, family: Family, shape: _Shape) -> tuple[list[Weight], int]:
    layers = shape.of(*_STATEFUL)
    if not layers or family.state is None:
        return [], 0
    state = family.state(keys, layers, shape.hidden)
    width = _STATE_BYTE["float32"]
    if state.state_elements:
        word = keys.text("mamba_ssm_dtype")
        if word is not None and word not in _STATE_BYTE:
            wanted = f"one of {', '.join(_STATE_BYTE)}"
            raise refusal(keys.named("mamba_ssm_dtype"), word, wanted)
        width = _STATE_BYTE[word or "float32"]
        if word is None:
            keys.assumed.append("The recurrent state is kept in float32; the file names no type.")
    each = state.state_elements * width + state.window_elements * _WINDOW_BYTE
    keys.assumed.append(
        f"{len(layers)} layers keep a fixed state of {each:,} B each: 2 bytes for an input that "
        "their convolution still needs, one fewer of them than its kernel is long. The arithmetic "
        "of updating it is left out."
    )
    return state.weights, each * len(layers)


def _feeds(keys: Keys, family: Family, shape: _Shape) -> tuple[list[Weight], Experts | None]:
    if family.one_part:
        dense, routed = shape.of("dense"), shape.of("experts")
    else:
        routed = _routed_layers(keys, family.moe, shape.layers)
        dense = tuple(sorted(set(shape.all) - set(routed)))
    weights: list[Weight] = []
    if dense:
        weights += feed_forward(
            "mlp",
            dense,
            shape.hidden,
            family.width(keys, shape.hidden),
            gated=family.gated,
            bias=keys.flag(family.mlp_bias),
        )
    if family.moe is None:
        return weights, None
    if not routed:
        keys.find("num_experts")
        return weights, None
    moe_weights, experts = _experts(keys, family.moe, routed, shape.hidden)
    return weights + moe_weights, experts


def _routed_layers(keys: Keys, moe: Moe | None, layers: int) -> Layers:
    if moe is None:
        return ()
    if moe.optional and (keys.optional("num_experts", low=0) or 0) <= 1:
        return ()
    return moe.layers(keys, layers)


def _experts(keys: Keys, moe: Moe, layers: Layers, hidden: int) -> tuple[list[Weight], Experts]:
    count = keys.integer("num_experts")
    chosen = keys.integer("num_experts_per_tok")
    if chosen > count:
        raise refusal(
            keys.named("num_experts_per_tok"), chosen, f"at most num_experts, which is {count:,}"
        )
    width = keys.integer(moe.width)
    inner = hidden
    weights = vector("mlp.gate", layers, count * (hidden + moe.router_bias + moe.correction))
    latent = keys.optional("moe_latent_size") if moe.latent else None
    if latent is not None:
        weights += linear("mlp.fc1_latent_proj", layers, latent, hidden)
        weights += linear("mlp.fc2_latent_proj", layers, hidden, latent)
        inner = latent
    routed = feed_forward(
        "mlp.experts",
        layers,
        inner,
        width,
        gated=moe.gated,
        bias=moe.expert_bias,
        copies=count,
        part="expert",
    )
    shared = moe.shared(keys, width)
    if shared:
        weights += feed_forward("mlp.shared_experts", layers, hidden, shared, gated=moe.gated)
        weights += vector("mlp.shared_expert_gate", layers, hidden if moe.shared_gate else 0)
    each = total(routed) // (count * len(layers))
    if each > _MAX_EXPERT:
        wanted = (
            f"such that an expert of hidden_size {hidden:,} has at most {_MAX_EXPERT:,} elements"
        )
        raise refusal(keys.named(moe.width), width, wanted)
    return weights + routed, Experts(len(layers), count, chosen, each)


def _outside(keys: Keys, family: Family, hidden: int, tied: bool) -> tuple[list[Weight], int]:
    vocabulary = keys.integer("vocab_size")
    width = hidden
    weights: list[Weight] = []
    if family.projected_embedding:
        width = keys.integer_or("word_embed_proj_dim", hidden, "hidden_size")
        if width != hidden:
            weights += linear("project_in", OUTSIDE, hidden, width)
            weights += linear("project_out", OUTSIDE, width, hidden)
    weights.append(Weight("embed_tokens", OUTSIDE, vocabulary, width, part="embedding"))
    lookup = 0 if tied else vocabulary * width
    if family.positions is not None:
        rows = keys.integer("max_position_embeddings") + family.positions
        weights.append(Weight("embed_positions", OUTSIDE, rows, hidden, part="positions"))
        lookup += rows * hidden
    if family.embedding_norm:
        weights += norm("embed_norm", OUTSIDE, hidden, family.norm)
    if not tied:
        weights += linear("lm_head", OUTSIDE, vocabulary, width, part="head")
    if keys.flag(family.head_bias):
        weights.append(Weight("lm_head.bias", OUTSIDE, vocabulary, part="head"))
    weights += norm("norm", OUTSIDE, _count(family.final_norm, keys) * hidden, family.norm)
    return weights, lookup
