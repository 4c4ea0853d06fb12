"""What a model is to the cost model: a frozen record of its shapes and parameter counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate

MAX_TOKENS = 10_000_000
"""No context or prompt in this project is longer than this many tokens."""


@dataclass(frozen=True, slots=True)
class AttentionGroup:
    """Layers of one model that attend in the same way and cache the same number of elements.

    `heads` is the number of query heads, `head_dim` their width Q. `cache_elements_per_token` is
    what one token leaves behind in one layer: 2·K·Q for keys and values of K heads, or latent +
    rotary elements where attention is latent. `window_token` caps how far back a layer looks and
    what it keeps; None means the whole context.

    `decode_dim` and `prefill_dim` are the width at which one (query, key) pair of one head is
    scored and summed, as the mean of the two products. Both equal Q except for latent attention,
    where a decode step works in the latent space and a prefill in the expanded one.
    """

    layers: int
    heads: int
    head_dim: int
    cache_elements_per_token: int
    window_token: int | None = None
    kv_heads: int | None = None
    decode_dim: float = 0.0
    prefill_dim: float = 0.0

    def __post_init__(self) -> None:
        validate.integer("layers", self.layers, 1, 10_000)
        validate.integer("heads", self.heads, 1, 100_000)
        validate.integer("head_dim", self.head_dim, 1, 1_000_000)
        validate.integer("cache_elements_per_token", self.cache_elements_per_token, 1, 10**12)
        if self.window_token is not None:
            validate.integer("window_token", self.window_token, 1, MAX_TOKENS)
        if not self.decode_dim:
            object.__setattr__(self, "decode_dim", float(self.head_dim))
        if not self.prefill_dim:
            object.__setattr__(self, "prefill_dim", float(self.head_dim))

    @classmethod
    def grouped(
        cls, layers: int, heads: int, kv_heads: int, head_dim: int, window_token: int | None = None
    ) -> AttentionGroup:
        """Multi-head (K = H), grouped (1 < K < H) or multi-query (K = 1) attention.

        Worked value: 32 layers, 32 heads, 8 key-value heads of width 128 cache
        2·8·128 = 2,048 elements a token in each layer.
        """
        validate.integer("kv_heads", kv_heads, 1, heads)
        elements = 2 * kv_heads * head_dim
        return cls(layers, heads, head_dim, elements, window_token, kv_heads)

    @property
    def decode_flop_per_pair(self) -> float:
        """FLOPs that one token spends on one cached position in this group: 4·L·H·Q."""
        return 4.0 * self.layers * self.heads * self.decode_dim

    @property
    def prefill_flop_per_pair(self) -> float:
        """FLOPs that one (query, key) pair of a prefill costs in this group."""
        return 4.0 * self.layers * self.heads * self.prefill_dim

    @property
    def reach_token(self) -> float:
        """How far back a token sees: the window, or infinity."""
        return float("inf") if self.window_token is None else float(self.window_token)


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts: in each of `layers` layers, a token is routed to k of E experts."""

    layers: int
    experts: int
    experts_per_token: int
    parameters_per_expert: int

    def __post_init__(self) -> None:
        validate.integer("expert layers", self.layers, 1, 10_000)
        validate.integer("experts", self.experts, 1, 100_000)
        validate.integer("experts_per_token", self.experts_per_token, 1, self.experts)
        validate.integer("parameters_per_expert", self.parameters_per_expert, 1, 10**13)

    @property
    def parameters(self) -> int:
        """All routed experts of all layers."""
        return self.layers * self.experts * self.parameters_per_expert

    @property
    def active_parameters(self) -> int:
        """The routed experts that one token passes through."""
        return self.layers * self.experts_per_token * self.parameters_per_expert

    def touched_share(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Share of the experts that `tokens` tokens are expected to touch: 1 − (1 − k/E)^n.

        Routing is taken as uniform and independent, which reads the most weights. Worked value:
        8 experts, 2 a token: one token touches 0.25, four tokens 0.684.
        """
        miss = 1.0 - self.experts_per_token / self.experts
        return np.asarray(1.0 - miss ** np.asarray(tokens, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The bytes of a checkpoint that stores its parameters at several widths."""

    label: str
    total_byte: int
    expert_byte: int
    lookup_byte: int


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Everything about a model that the cost model reads.

    `parameters` counts every weight once. `active_parameters` is the published count of those
    that one token passes through (all of them, for a dense model). `lookup_parameters` is the part
    of both that is looked up and neither multiplied nor read whole: an untied embedding table and
    learned positions. `state_byte_per_sequence` is the fixed state of layers without a cache.
    `checkpoint` is set for a file that is published quantised.
    """

    name: str
    parameters: int
    attention: tuple[AttentionGroup, ...]
    lookup_parameters: int = 0
    active_parameters: int = 0
    experts: Experts | None = None
    state_byte_per_sequence: int = 0
    checkpoint: Checkpoint | None = None
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        validate.integer(f"{self.name or 'model'}: parameters", self.parameters, 1, 10**14)
        validate.integer("lookup_parameters", self.lookup_parameters, 0, self.parameters - 1)
        if not self.active_parameters:
            object.__setattr__(self, "active_parameters", self.parameters)
        validate.integer("active_parameters", self.active_parameters, 1, self.parameters)
        validate.integer("state_byte_per_sequence", self.state_byte_per_sequence, 0, 10**13)

    @property
    def layers(self) -> int:
        """Layers with attention, of every kind."""
        return sum(group.layers for group in self.attention)

    @property
    def flop_parameters(self) -> int:
        """N_active of the cost model: the parameters that each token is multiplied with."""
        return self.active_parameters - self.lookup_parameters

    @property
    def kv_heads(self) -> int | None:
        """The key-value heads of every layer where they are the same throughout, else None."""
        heads = {group.kv_heads for group in self.attention}
        return heads.pop() if len(heads) == 1 else None

    def with_kv_heads(self, kv_heads: int) -> ModelSpec:
        """The same-sized model whose layers share their keys and values among fewer or more heads.

        Raises `ValueError` for a model without ordinary keys and values, and for a number that
        does not divide the query heads.
        """
        groups = []
        for group in self.attention:
            if group.kv_heads is None:
                raise ValueError(
                    f"{self.name} caches latents, which have no key-value heads to set"
                )
            if kv_heads < 1 or group.heads % kv_heads:
                raise ValueError(
                    f"kv_heads must divide the {group.heads} query heads of {self.name}, "
                    f"got {kv_heads}"
                )
            elements = 2 * kv_heads * group.head_dim
            groups.append(replace(group, kv_heads=kv_heads, cache_elements_per_token=elements))
        return replace(self, attention=tuple(groups))

    def kv_bytes_per_token(self, bytes_per_element: float = 2) -> float:
        """Cache bytes that one token adds while no window is full: Σ L·elements·bytes.

        Worked value: 32 layers of 8 heads of 128 in bf16: 2·32·8·128·2 = 131,072 B = 128 KiB.
        """
        elements = sum(group.layers * group.cache_elements_per_token for group in self.attention)
        return elements * bytes_per_element

    def kv_bytes_per_token_beyond_windows(self, bytes_per_element: float = 2) -> float:
        """Cache bytes that one more token adds once every window is full."""
        elements = sum(
            group.layers * group.cache_elements_per_token
            for group in self.attention
            if group.window_token is None
        )
        return elements * bytes_per_element

    def kv_bytes_fixed(self, bytes_per_element: float = 2) -> float:
        """Cache bytes of a sequence that no longer grow once every window is full, and its state.

        Worked value: Gemma-2-9B in bf16, 21 layers of 8 heads of 256 behind a window of 4,096:
        4,096·172,032 = 704,643,072 B.
        """
        windowed = sum(
            group.layers * group.cache_elements_per_token * group.window_token
            for group in self.attention
            if group.window_token is not None
        )
        return windowed * bytes_per_element + self.state_byte_per_sequence

    def kv_bytes_per_sequence(
        self, tokens: ArrayLike, bytes_per_element: float = 2
    ) -> NDArray[np.float64]:
        """Cache bytes that a sequence of `tokens` tokens holds, fixed state included.

        Shape: that of `tokens`. Windowed layers stop at their window. Source of the rule: the
        design of each model's config. Worked value: the 8B textbook model at 8,192 tokens holds
        8,192·131,072 B = 1 GiB.
        """
        count = validate.array("tokens", tokens, 0, MAX_TOKENS)
        total = np.full(count.shape, float(self.state_byte_per_sequence))
        for group in self.attention:
            elements = group.layers * group.cache_elements_per_token
            total += elements * bytes_per_element * np.minimum(count, group.reach_token)
        return total

    def weights_byte(self, bytes_per_parameter: float | None = 2) -> float:
        """Bytes of all weights at one width, or as published where that is None."""
        if bytes_per_parameter is None:
            return float(self._published().total_byte)
        return float(bytes_per_parameter) * self.parameters

    def weights_read_byte(
        self, tokens: ArrayLike, bytes_per_parameter: float | None = 2
    ) -> NDArray[np.float64]:
        """Bytes of weights that a step over `tokens` tokens reads: b_w·N_read(n).

        Shape: that of `tokens`. A dense model reads everything but its look-up table; a mixture of
        experts reads the experts that n tokens are expected to touch. A step without tokens reads
        nothing.
        """
        count = np.asarray(tokens, dtype=np.float64)
        if bytes_per_parameter is None:
            published = self._published()
            always = float(published.total_byte - published.lookup_byte)
            expert = float(published.expert_byte)
        else:
            always = bytes_per_parameter * (self.parameters - self.lookup_parameters)
            expert = bytes_per_parameter * (
                self.experts.parameters_per_expert if self.experts else 0
            )
        if self.experts is None:
            read = np.full(count.shape, float(always))
        else:
            routed = expert * self.experts.layers * self.experts.experts
            read = (always - routed) + routed * self.experts.touched_share(count)
        return np.where(count > 0, read, 0.0)

    def _published(self) -> Checkpoint:
        if self.checkpoint is None:
            raise ValueError(f"{self.name} has no published quantised checkpoint; name a width")
        return self.checkpoint
