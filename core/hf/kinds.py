"""Which kind each layer of a published model is: the rules by which families order their layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from core.hf.keys import Keys, refusal, shown

Kind: TypeAlias = Literal["full", "window", "state", "both", "dense", "experts"]
"""Attention to everything or to a window, a fixed state, attention beside a state; or, where a
layer is one thing only, a dense or a routed feed-forward network."""

Kinds: TypeAlias = tuple[Kind, ...]
Rule: TypeAlias = Callable[[Keys, int], Kinds]
"""The kinds of all layers, from the configuration and the number of layers."""

ATTENTION_WORDS: dict[str, Kind] = {"full_attention": "full", "sliding_attention": "window"}
CHUNK_WORDS: dict[str, Kind] = {"full_attention": "full", "chunked_attention": "window"}
STATE_WORDS: dict[str, Kind] = {
    "full_attention": "full",
    "attention": "full",
    "linear_attention": "state",
    "mamba": "state",
}
CONV_WORDS: dict[str, Kind] = {"full_attention": "full", "conv": "state"}
BOTH_WORDS: dict[str, Kind] = {"hybrid": "both"}
BLOCK_WORDS: dict[str, Kind] = {**STATE_WORDS, "mlp": "dense", "moe": "experts"}
"""The words of layer_types and what they mean, by sort of family."""

_BLOCK_LETTERS: dict[str, Kind] = {"M": "state", "*": "full", "-": "dense", "E": "experts"}


def _same(kind: Kind, layers: int) -> Kinds:
    return (kind,) * layers


def all_full(keys: Keys, layers: int) -> Kinds:
    """Every layer attends to the whole context."""
    return _same("full", layers)


def all_state(keys: Keys, layers: int) -> Kinds:
    """Every layer keeps a fixed state (Mamba)."""
    return _same("state", layers)


def all_both(keys: Keys, layers: int) -> Kinds:
    """Every layer attends and keeps a state side by side (Falcon-H1)."""
    return _same("both", layers)


def windowed(keys: Keys, layers: int) -> Kinds:
    """Every layer has the window, unless the file says null or the family knows no default."""
    return _same("window" if keys.stands("sliding_window") else "full", layers)


def windowed_on_request(keys: Keys, layers: int) -> Kinds:
    """Layers from max_window_layers up have the window if use_sliding_window is true (Qwen)."""
    if not keys.flag(("use_sliding_window", False)):
        found = keys.find("sliding_window")
        if found is not None and found[1]:
            keys.ignored.append(
                f"{keys.named('sliding_window')} {shown(found[1])} is left out: "
                "use_sliding_window is not true."
            )
        return _same("full", layers)
    if keys.optional("sliding_window") is None:
        return _same("full", layers)
    first = keys.integer_or("max_window_layers", 28, f"the default of {keys.family}", low=0)
    return tuple("window" if layer >= first else "full" for layer in range(layers))


def every(period: int) -> Rule:
    """The last layer of each `period` attends to everything, the others have the window."""

    def rule(keys: Keys, layers: int) -> Kinds:
        if not keys.stands("sliding_window"):
            return _same("full", layers)
        pattern = keys.find("sliding_window_pattern")
        if pattern is not None and isinstance(pattern[1], str):
            return _lettered(keys, pattern[1], layers)
        because = f"as {keys.family} orders its layers"
        return _last_of_each(keys.integer_or("sliding_window_pattern", period, because), layers)

    return rule


def _last_of_each(period: int, layers: int, other: Kind = "window") -> Kinds:
    return tuple(other if (layer + 1) % period else "full" for layer in range(layers))


def _lettered(keys: Keys, pattern: str, layers: int) -> Kinds:
    # EXAONE writes the period as letters: LLLG is three local layers, then a global one.
    if not pattern or set(pattern) - {"L", "G"}:
        wanted = "a number, or a word of the letters L and G"
        raise refusal(keys.named("sliding_window_pattern"), pattern, wanted)
    return tuple(
        "window" if pattern[layer % len(pattern)] == "L" else "full" for layer in range(layers)
    )


def chunked(keys: Keys, layers: int) -> Kinds:
    """Layers with rotary positions attend within a chunk, the others to everything (Llama 4)."""
    if not keys.stands("attention_chunk_size"):
        return _same("full", layers)
    rotary = keys.switches("no_rope_layers", layers)
    if rotary:
        return tuple("window" if flag else "full" for flag in rotary)
    because = f"the default of {keys.family}"
    return _last_of_each(keys.integer_or("no_rope_layer_interval", 4, because), layers)


def local_and_global(keys: Keys, layers: int) -> Kinds:
    """The list attention_layers, or attention_types as [[kinds, repeats], …] (GPT-Neo)."""
    words = keys.words("attention_layers", ("global", "local"), layers)
    if words is None:
        words = _repeated(keys, layers)
    return tuple("window" if word == "local" else "full" for word in words)


def _repeated(keys: Keys, layers: int) -> tuple[str, ...]:
    found = keys.find("attention_types")
    if found is None:
        keys.assume_default("attention_types", "global and local by turns")
        return tuple(("global", "local")[layer % 2] for layer in range(layers))
    value, words = found[1], list[str]()
    for pair in value if isinstance(value, list | tuple) else ():
        match pair:
            case [[*kinds], int(repeats)] if (
                repeats is not True and 0 < repeats * len(kinds) <= layers
            ):
                words += [str(kind) for kind in kinds] * repeats
    if len(words) != layers or set(words) - {"global", "local"}:
        wanted = f'pairs such as [["global", "local"], {layers // 2}], {layers} layers in all'
        raise refusal(keys.named("attention_types"), value, wanted)
    return tuple(words)


def attention_at_intervals(keys: Keys, layers: int) -> Kinds:
    """The last layer of each full_attention_interval attends, the others keep a state."""
    because = f"the default of {keys.family}"
    interval = keys.integer_or("full_attention_interval", 4, because)
    return _last_of_each(interval, layers, "state")


def attention_by_offset(keys: Keys, layers: int) -> Kinds:
    """Layers at attn_layer_offset within each attn_layer_period attend (Jamba)."""
    period, offset = keys.integer("attn_layer_period"), keys.integer("attn_layer_offset", low=0)
    return tuple("full" if layer % period == offset else "state" for layer in range(layers))


def attention_at(name: str) -> Rule:
    """The layers that the list `name` counts attend, the others keep a state."""

    def rule(keys: Keys, layers: int) -> Kinds:
        attending = keys.indices(name, layers)
        if attending is None:
            raise ValueError(
                f"{keys.named('layer_types')} and {keys.named(name)} are missing: one of them must "
                f"say which layers of a {keys.family} model attend. Add it as it was published."
            )
        return tuple("full" if layer in attending else "state" for layer in range(layers))

    return rule


def block_letters(keys: Keys, layers: int) -> Kinds:
    """One letter a layer: M Mamba-2, * attention, - feed-forward, E experts (Nemotron-H)."""
    pattern = keys.text("hybrid_override_pattern")
    if pattern is None:
        raise ValueError(
            f"{keys.named('hybrid_override_pattern')} and {keys.named('layers_block_type')} are "
            f"missing: one of them must order the layers. Add it as it was published."
        )
    if len(pattern) != layers or set(pattern) - set(_BLOCK_LETTERS):
        wanted = f"{layers} letters (num_hidden_layers), each one of M, *, - and E"
        raise refusal(keys.named("hybrid_override_pattern"), pattern, wanted)
    return tuple(_BLOCK_LETTERS[letter] for letter in pattern)
