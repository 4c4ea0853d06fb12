"""The weights of a decoder, tensor by tensor, as lists that add up to its parameter count.

One derivation serves three purposes: the total, what a routed expert holds, and the bytes of a
quantised checkpoint, for which the shape of each matrix matters. The records here are named tuples
because presets are built when the project is imported, and these cost a tenth of a dataclass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Part: TypeAlias = Literal["layer", "expert", "embedding", "positions", "head"]
Norm: TypeAlias = Literal["rms", "layer", "none"]
"""How many elements a norm has per element of width: 1 (scale), 2 (scale and shift) or 0."""

Layers: TypeAlias = tuple[int, ...]

OUTSIDE: Layers = ()


class Weight(NamedTuple):
    """One tensor, in each of `layers` (once, if that is empty) and `copies` times in each.

    `matrix` is set for the large ones that multiply activations, which quantisers touch; norms,
    biases, convolutions, routers, tables and gates of a few rows are not among them.
    """

    module: str
    layers: Layers
    rows: int
    columns: int = 1
    copies: int = 1
    part: Part = "layer"
    matrix: bool = False

    @property
    def places(self) -> int:
        """In how many places the tensor stands, copies not counted."""
        return max(1, len(self.layers))

    @property
    def parameters(self) -> int:
        """Elements of all copies in all layers."""
        return self.rows * self.columns * self.copies * self.places


def total(weights: Iterable[Weight], part: Part | None = None) -> int:
    """Elements of all weights, or of one part of the model."""
    return sum(weight.parameters for weight in weights if part in (None, weight.part))


def linear(
    module: str,
    layers: Layers,
    rows: int,
    columns: int,
    *,
    bias: bool = False,
    copies: int = 1,
    part: Part = "layer",
) -> list[Weight]:
    """A matrix from `columns` inputs to `rows` outputs, with a bias where there is one."""
    weights = [Weight(module, layers, rows, columns, copies, part, matrix=True)]
    if bias:
        weights.append(Weight(module + ".bias", layers, rows, 1, copies, part))
    return weights


def vector(module: str, layers: Layers, width: int) -> list[Weight]:
    """A tensor that multiplies no activations: a norm, a bias, a convolution's taps."""
    return [Weight(module, layers, width)] if width else []


def norm(module: str, layers: Layers, width: int, kind: Norm) -> list[Weight]:
    """A norm over `width` elements."""
    return vector(module, layers, width * {"rms": 1, "layer": 2, "none": 0}[kind])


class Heads(NamedTuple):
    """The shape of one layer's attention: H query heads and K key-value heads of width Q."""

    heads: int
    kv_heads: int
    head_dim: int

    @property
    def query_width(self) -> int:
        """H·Q."""
        return self.heads * self.head_dim

    @property
    def key_width(self) -> int:
        """K·Q."""
        return self.kv_heads * self.head_dim


def grouped_attention(
    layers: Layers, hidden: int, heads: Heads, *, qkv_bias: bool, out_bias: bool, query_gate: bool
) -> list[Weight]:
    """Query, key, value and output projections; a gated query projection is twice as tall."""
    queries = heads.query_width * (2 if query_gate else 1)
    return [
        *linear("self_attn.q_proj", layers, queries, hidden, bias=qkv_bias),
        *linear("self_attn.k_proj", layers, heads.key_width, hidden, bias=qkv_bias),
        *linear("self_attn.v_proj", layers, heads.key_width, hidden, bias=qkv_bias),
        *linear("self_attn.o_proj", layers, hidden, heads.query_width, bias=out_bias),
    ]


class Latent(NamedTuple):
    """The widths of latent attention: what is cached, and what a head expands it to."""

    query_rank: int | None
    kv_rank: int
    rope: int
    nope: int
    value: int


def latent_attention(
    layers: Layers, hidden: int, heads: int, latent: Latent, *, bias: bool
) -> list[Weight]:
    """Multi-head latent attention (DeepSeek-V2 technical report, section 2.1)."""
    query_width = heads * (latent.nope + latent.rope)
    if latent.query_rank is None:
        queries = linear("self_attn.q_proj", layers, query_width, hidden)
    else:
        queries = [
            *linear("self_attn.q_a_proj", layers, latent.query_rank, hidden, bias=bias),
            *vector("self_attn.q_a_layernorm", layers, latent.query_rank),
            *linear("self_attn.q_b_proj", layers, query_width, latent.query_rank),
        ]
    cached = latent.kv_rank + latent.rope
    expanded = heads * (latent.nope + latent.value)
    return [
        *queries,
        *linear("self_attn.kv_a_proj_with_mqa", layers, cached, hidden, bias=bias),
        *vector("self_attn.kv_a_layernorm", layers, latent.kv_rank),
        *linear("self_attn.kv_b_proj", layers, expanded, latent.kv_rank),
        *linear("self_attn.o_proj", layers, hidden, heads * latent.value, bias=bias),
    ]


def feed_forward(
    module: str,
    layers: Layers,
    hidden: int,
    width: int,
    *,
    gated: bool,
    bias: bool = False,
    copies: int = 1,
    part: Part = "layer",
) -> list[Weight]:
    """Two matrices, or three where a gate multiplies the inner activations."""
    up = ["gate_proj", "up_proj"] if gated else ["up_proj"]
    weights: list[Weight] = []
    for name in up:
        weights += linear(
            f"{module}.{name}", layers, width, hidden, bias=bias, copies=copies, part=part
        )
    down = f"{module}.down_proj"
    return weights + linear(down, layers, hidden, width, bias=bias, copies=copies, part=part)


class StateLayer(NamedTuple):
    """A layer that keeps a fixed state: its weights, and what one sequence holds in it.

    `state_elements` is the recurrent state, `window_elements` the last inputs of its short
    convolution: one fewer than the kernel is long.
    """

    weights: list[Weight]
    state_elements: int
    window_elements: int


def delta_net(
    layers: Layers, hidden: int, keys: tuple[int, int], values: tuple[int, int], kernel: int
) -> StateLayer:
    """Gated delta net (Qwen3-Next, Qwen3.5); `keys` and `values` are (heads, width).

    Worked value: keys (16, 128), values (48, 128), kernel 4: 786,432 + 30,720 elements a layer.
    """
    key_width, value_width = keys[0] * keys[1], values[0] * values[1]
    mixed = 2 * key_width + value_width
    weights = [
        *linear("linear_attn.in_proj_qkvz", layers, mixed + value_width, hidden),
        *vector("linear_attn.in_proj_ba", layers, 2 * values[0] * hidden),
        *vector("linear_attn.conv1d", layers, mixed * kernel),
        *vector("linear_attn.dt_bias", layers, values[0]),
        *vector("linear_attn.A_log", layers, values[0]),
        *vector("linear_attn.norm", layers, values[1]),
        *linear("linear_attn.out_proj", layers, hidden, value_width),
    ]
    return StateLayer(weights, values[0] * keys[1] * values[1], mixed * (kernel - 1))


class Scan(NamedTuple):
    """The widths of a selective state space layer (Mamba)."""

    inner: int
    state: int
    kernel: int
    conv_bias: bool
    in_bias: bool
    out_bias: bool


def mamba1(layers: Layers, hidden: int, scan: Scan, step_rank: int, norms: bool) -> StateLayer:
    """Mamba, with norms on the three selected inputs where `norms` is set (Jamba)."""
    inner, state = scan.inner, scan.state
    weights = [
        *linear("mamba.in_proj", layers, 2 * inner, hidden, bias=scan.in_bias),
        *vector("mamba.conv1d", layers, inner * (scan.kernel + scan.conv_bias)),
        *linear("mamba.x_proj", layers, step_rank + 2 * state, inner),
        *linear("mamba.dt_proj", layers, inner, step_rank, bias=True),
        *vector("mamba.A_log", layers, inner * state),
        *vector("mamba.D", layers, inner),
        *vector("mamba.layernorms", layers, (step_rank + 2 * state) if norms else 0),
        *linear("mamba.out_proj", layers, hidden, inner, bias=scan.out_bias),
    ]
    return StateLayer(weights, inner * state, inner * (scan.kernel - 1))


def mamba2(
    layers: Layers, hidden: int, scan: Scan, *, heads: int, groups: int, norm_width: int
) -> StateLayer:
    """Mamba-2: one step size and one decay a head, B and C shared within a group."""
    mixed = scan.inner + 2 * groups * scan.state
    rows = scan.inner + mixed + heads
    weights = [
        *linear("mamba.in_proj", layers, rows, hidden, bias=scan.in_bias),
        *vector("mamba.conv1d", layers, mixed * (scan.kernel + scan.conv_bias)),
        *vector("mamba.dt_bias, A_log and D", layers, 3 * heads),
        *vector("mamba.norm", layers, norm_width),
        *linear("mamba.out_proj", layers, hidden, scan.inner, bias=scan.out_bias),
    ]
    return StateLayer(weights, scan.inner * scan.state, mixed * (scan.kernel - 1))


def short_convolution(layers: Layers, hidden: int, kernel: int, bias: bool) -> StateLayer:
    """A gated short convolution (LFM2): nothing recurs beyond its kernel."""
    weights = [
        *linear("conv.in_proj", layers, 3 * hidden, hidden, bias=bias),
        *vector("conv.conv", layers, hidden * (kernel + bias)),
        *linear("conv.out_proj", layers, hidden, hidden, bias=bias),
    ]
    return StateLayer(weights, 0, hidden * (kernel - 1))
