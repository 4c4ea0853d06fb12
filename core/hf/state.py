"""How families with a fixed state read its widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from core.hf.keys import Flag, Keys, refusal, shown
from core.hf.weights import (
    Layers,
    Scan,
    StateLayer,
    delta_net,
    mamba1,
    mamba2,
    short_convolution,
)

State: TypeAlias = Callable[[Keys, Layers, int], StateLayer]
"""Reads the state layers of a model, given their numbers and hidden_size."""


def read_delta_net(keys: Keys, layers: Layers, hidden: int) -> StateLayer:
    """The gated delta net's heads and kernel."""
    key = (keys.integer("linear_num_key_heads"), keys.integer("linear_key_head_dim"))
    value = (keys.integer("linear_num_value_heads"), keys.integer("linear_value_head_dim"))
    if value[0] % key[0]:
        raise _uneven(keys, "linear_num_value_heads", value[0], "linear_num_key_heads", key[0])
    return delta_net(layers, hidden, key, value, keys.integer("linear_conv_kernel_dim"))


def read_mamba1(*, norms: bool = False) -> State:
    """Mamba's widths; the inner width is mamba_expand times hidden_size."""

    def read(keys: Keys, layers: Layers, hidden: int) -> StateLayer:
        inner = keys.optional("intermediate_size") if not norms else None
        inner = inner or keys.integer("mamba_expand") * hidden
        rank = -(-hidden // 16) if _is_auto(keys, "mamba_dt_rank") else 0
        rank = rank or keys.integer("mamba_dt_rank")
        return mamba1(layers, hidden, _scan(keys, inner), rank, norms)

    return read


def read_mamba2(*, heads: str = "mamba_n_heads", head_dim: str = "mamba_d_head") -> State:
    """Mamba-2's heads and widths, with a norm over the inner width."""

    def read(keys: Keys, layers: Layers, hidden: int) -> StateLayer:
        count = keys.integer(heads)
        inner = count * keys.integer(head_dim)
        groups = keys.integer("mamba_n_groups")
        if count % groups:
            raise _uneven(keys, heads, count, "mamba_n_groups", groups)
        return mamba2(
            layers, hidden, _scan(keys, inner), heads=count, groups=groups, norm_width=inner
        )

    return read


def read_falcon_h1(keys: Keys, layers: Layers, hidden: int) -> StateLayer:
    """Mamba-2 as in Falcon-H1: the inner width is named, the norm and the biases are choices."""
    inner = keys.optional("mamba_d_ssm") or keys.integer("mamba_expand") * hidden
    heads, groups = keys.integer("mamba_n_heads"), keys.integer("mamba_n_groups")
    if inner % heads:
        raise _uneven(keys, "mamba_d_ssm", inner, "mamba_n_heads", heads)
    if heads % groups:
        raise _uneven(keys, "mamba_n_heads", heads, "mamba_n_groups", groups)
    scan = _scan(keys, inner, out_bias=("projectors_bias", False))
    norm = inner if keys.flag(("mamba_rms_norm", False)) else 0
    return mamba2(layers, hidden, scan, heads=heads, groups=groups, norm_width=norm)


def read_convolution(keys: Keys, layers: Layers, hidden: int) -> StateLayer:
    """The length of LFM2's short convolution."""
    kernel = keys.integer("conv_L_cache")
    return short_convolution(layers, hidden, kernel, keys.flag(("conv_bias", False)))


def _scan(keys: Keys, inner: int, out_bias: Flag | None = None) -> Scan:
    bias = keys.flag(("mamba_proj_bias", False))
    return Scan(
        inner=inner,
        state=keys.integer("mamba_d_state"),
        kernel=keys.integer("mamba_d_conv"),
        conv_bias=keys.flag(("mamba_conv_bias", True)),
        in_bias=bias,
        out_bias=bias if out_bias is None else keys.flag(out_bias),
    )


def _is_auto(keys: Keys, name: str) -> bool:
    found = keys.find(name)
    return found is not None and found[1] == "auto"


def _uneven(keys: Keys, name: str, value: int, divisor: str, by: int) -> ValueError:
    wanted = f"a multiple of {keys.named(divisor)}, which is {shown(by)}"
    return refusal(keys.named(name), value, wanted, "Correct the one that is wrong.")
