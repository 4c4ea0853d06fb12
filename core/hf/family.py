"""What one family of published models is: the traits of its decoder, and how it reads its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from core.hf.keys import Flag, Keys, refusal
from core.hf.kinds import ATTENTION_WORDS, Kind, Rule, all_full
from core.hf.state import State
from core.hf.weights import Layers, Norm

Count: TypeAlias = Callable[[Keys], int]
FromHidden: TypeAlias = Callable[[Keys, int], int]
Chosen: TypeAlias = Callable[[Keys, int], Layers]


def stated_width(keys: Keys, hidden: int) -> int:
    """The feed-forward width as the file has it."""
    return keys.integer("intermediate_size")


def width_at(name: str) -> FromHidden:
    """The feed-forward width stands in `name`."""
    return lambda keys, hidden: keys.integer(name)


def four_times(keys: Keys, hidden: int) -> int:
    """The feed-forward width, or 4 times hidden_size where the file names none."""
    return keys.integer_or("intermediate_size", 4 * hidden, "4 × hidden_size")


def expanded(keys: Keys, hidden: int) -> int:
    """expansion_ratio times d_model (MPT)."""
    return hidden * keys.integer_or("expansion_ratio", 4, f"the default of {keys.family}")


def halved(keys: Keys, hidden: int) -> int:
    """Half of intermediate_size, which counts gate and up projection together (the first Qwen)."""
    both = keys.integer("intermediate_size", low=2)
    if both % 2:
        wanted = "an even number: it counts the gate and the up projection together"
        raise refusal(keys.named("intermediate_size"), both, wanted)
    return both // 2


def two_thirds(keys: Keys, hidden: int) -> int:
    """Two thirds of intermediate_size, rounded up to a whole number of blocks (LFM2)."""
    width = keys.integer("intermediate_size")
    if not keys.flag(("block_auto_adjust_ff_dim", True)):
        return width
    keys.only("block_ffn_dim_multiplier", 1, "The width of the feed-forward network follows it.")
    block = keys.integer_or("block_multiple_of", 256, f"the default of {keys.family}")
    return block * -(-(2 * width // 3) // block)


def shared_heads(keys: Keys, heads: int) -> int:
    """num_key_value_heads, or one for each query head where the file names none."""
    return keys.integer_or("num_key_value_heads", heads, "one for each query head")


def stated_heads(keys: Keys, heads: int) -> int:
    """num_key_value_heads, without which the file says too little."""
    return keys.integer("num_key_value_heads")


def own_heads(keys: Keys, heads: int) -> int:
    """Multi-head attention: each query head has its own keys and values."""
    return heads


def one_head_if(default: bool) -> FromHidden:
    """One key-value head for all where multi_query is true, else one each."""
    return lambda keys, heads: 1 if keys.flag(("multi_query", default)) else heads


def falcon_heads(keys: Keys, heads: int) -> int:
    """Falcon reads the number of key-value heads only in its newer layer layout."""
    if keys.flag(("new_decoder_architecture", False)):
        return shared_heads(keys, heads)
    return 1 if keys.flag(("multi_query", True)) else heads


def chatglm_heads(keys: Keys, heads: int) -> int:
    """ChatGLM counts its key-value heads as groups of queries."""
    if not keys.flag(("multi_query_attention", False)):
        return heads
    return keys.integer("multi_query_group_num")


def heads_at(path: str) -> FromHidden:
    """The number of key-value heads stands at `path`."""
    return lambda keys, heads: keys.integer(path)


def all_layers(keys: Keys, layers: int) -> Layers:
    """Every layer routes to experts."""
    return tuple(range(layers))


def after_dense(keys: Keys, layers: int) -> Layers:
    """All but the first few layers route, at every moe_layer_freq-th layer (DeepSeek)."""
    listed = keys.words("mlp_layer_types", ("dense", "sparse"), layers)
    if listed is not None:
        return tuple(index for index, word in enumerate(listed) if word == "sparse")
    first = keys.integer("first_k_dense_replace", low=0)
    step = keys.optional("moe_layer_freq") or 1
    return tuple(index for index in range(layers) if index >= first and index % step == 0)


def sparse_steps(keys: Keys, layers: int) -> Layers:
    """Every decoder_sparse_step-th layer routes, except those in mlp_only_layers (Qwen)."""
    step = keys.optional("decoder_sparse_step") or 1
    dense = keys.indices("mlp_only_layers", layers) or frozenset()
    return tuple(index for index in range(layers) if index not in dense and (index + 1) % step == 0)


def between(keys: Keys, layers: int) -> Layers:
    """Layers from moe_layer_start_index to moe_layer_end_index, at intervals (ERNIE 4.5)."""
    because = f"the default of {keys.family}"
    start = keys.integer_or("moe_layer_start_index", 1, because, low=0)
    found = keys.find("moe_layer_end_index")
    # ERNIE writes −1 for the last layer.
    end = -1 if found is None or found[1] == -1 else keys.integer("moe_layer_end_index", low=0)
    last = layers - 1 if end == -1 else end
    step = keys.integer_or("moe_layer_interval", 1, because)
    return tuple(i for i in range(layers) if start <= i <= last and (i + 1) % step == 0)


def interleaved(keys: Keys, layers: int) -> Layers:
    """The list moe_layers, or every interleave_moe_layer_step-th layer (Llama 4)."""
    listed = keys.indices("moe_layers", layers)
    if listed:
        return tuple(sorted(listed))
    because = f"the default of {keys.family}"
    step = keys.integer_or("interleave_moe_layer_step", 1, because)
    return tuple(index for index in range(layers) if (index + 1) % step == 0)


def by_period(keys: Keys, layers: int) -> Layers:
    """Layers at expert_layer_offset within each expert_layer_period (Jamba)."""
    period = keys.integer("expert_layer_period")
    offset = keys.integer("expert_layer_offset", low=0)
    return tuple(index for index in range(layers) if index % period == offset)


def after_leading(keys: Keys, layers: int) -> Layers:
    """All but the first num_dense_layers (LFM2)."""
    return tuple(range(keys.integer("num_dense_layers", low=0), layers))


def no_shared(keys: Keys, width: int) -> int:
    """No expert that every token passes through."""
    return 0


def shared_width(name: str, default: int | None = None) -> FromHidden:
    """The shared expert's own width stands in `name`."""
    if default is None:
        return lambda keys, width: keys.integer(name, low=0)
    return lambda keys, width: keys.integer_or(name, default, f"a {keys.family} default", low=0)


def shared_count(name: str) -> FromHidden:
    """`name` counts shared experts as wide as the routed ones."""
    return lambda keys, width: width * keys.integer(name, low=0)


def one_shared(keys: Keys, width: int) -> int:
    """One shared expert as wide as a routed one."""
    return width


class Moe(NamedTuple):
    """How a family routes: which layers, how wide its experts, what every token passes through.

    With `optional`, a file with no experts (or, for Jamba, one) is a dense model.
    """

    width: str = "moe_intermediate_size"
    layers: Chosen = all_layers
    shared: FromHidden = no_shared
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    correction: bool = False
    gated: bool = True
    optional: bool = False
    latent: bool = False


_NOTHING: Mapping[str, int] = {}


class Family(NamedTuple):
    """The traits of a decoder; the defaults are those of Llama.

    `omitted` are defaults for keys that published files leave out, `nested` those for keys left
    out of a text_config, which stores only what differs from its class. `qk_norm` is over each
    head ("head", or "affine" with a shift) or over all heads side by side ("full").
    """

    omitted: Mapping[str, int] = _NOTHING
    nested: Mapping[str, int] = _NOTHING
    tied: bool = False
    norm: Norm = "rms"
    norms: int | Count = 2
    final_norm: int | Count = 1
    qkv_bias: Flag = False
    out_bias: Flag = False
    mlp_bias: Flag = False
    head_bias: Flag = False
    qk_norm: Literal["head", "affine", "full"] = "head"
    qk_norm_if: Flag = False
    query_gate: Flag = False
    sinks: bool = False
    latent: bool = False
    gated: bool = True
    kv_heads: FromHidden = shared_heads
    width: FromHidden = stated_width
    kinds: Rule = all_full
    words: Mapping[str, Kind] = ATTENTION_WORDS
    window: str = "sliding_window"
    moe: Moe | None = None
    state: State | None = None
    one_part: bool = False
    positions: int | None = None
    embedding_norm: bool = False
    projected_embedding: bool = False
    check: Callable[[Keys], None] | None = None
