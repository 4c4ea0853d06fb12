"""The bytes of a checkpoint published quantised, tensor by tensor, from its quantization_config."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from core.hf.keys import Keys, refusal
from core.hf.weights import Weight
from core.model_spec import Checkpoint, Experts

MatrixByte: TypeAlias = Callable[[int, int], int]
"""Bytes of one quantised matrix of (output rows, input columns), scales included."""

_SKIP_KEYS = (
    "modules_to_not_convert",
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "llm_int8_skip_modules",
)
_IN_LAYER = re.compile(r"(?:^|\.)layers\.(\d+|\*)(?:\.|$)")


class Scheme(NamedTuple):
    """How one method stores a matrix, and which it converts besides those within layers."""

    label: str
    matrix_byte: MatrixByte
    told: str
    head: bool = False
    experts_only: bool = False


def read_checkpoint(
    keys: Keys, weights: Sequence[Weight], experts: Experts | None
) -> Checkpoint | None:
    """The checkpoint's bytes in all, for one expert and for the look-up tables.

    None for a file without quantization_config, and (with a note) for a method not known here.
    Worked value: gpt-oss-120b, experts in mxfp4 at 4.25 bits: 65,248,815,744 B.
    """
    found = keys.find("quantization_config")
    if found is None or found[1] is None:
        return None
    if not isinstance(found[1], Mapping):
        raise refusal(keys.named("quantization_config"), found[1], "an object")
    inner = Keys(found[1], keys.family, {}, keys.named("quantization_config."))
    scheme = _scheme(inner)
    if scheme is not None:
        skipped = _skipped(inner)
        plain = 4 if keys.text("torch_dtype") == "float32" else 2
        checkpoint = _measure(scheme, weights, experts, skipped, plain)
        keys.assumed.append(
            f"The published checkpoint stores {scheme.told}; everything else takes {plain} bytes."
        )
    else:
        checkpoint = None
    if inner.find("kv_cache_scheme") is not None or inner.find("kv_cache_quant_algo") is not None:
        keys.ignored.append("The file's own cache precision is left out: the scenario's is used.")
    keys.used.update(inner.used)
    keys.ignored.extend(inner.ignored)
    keys.assumed.extend(inner.assumed)
    return checkpoint


def _measure(
    scheme: Scheme,
    weights: Sequence[Weight],
    experts: Experts | None,
    skipped: tuple[tuple[int | None, str], ...],
    plain: int,
) -> Checkpoint:
    total = expert = lookup = 0
    for weight in weights:
        kept = _kept_places(weight, skipped) if _converts(scheme, weight) else weight.places
        size = weight.copies * (
            kept * plain * weight.rows * weight.columns
            + (weight.places - kept) * scheme.matrix_byte(weight.rows, weight.columns)
        )
        total += size
        expert += size if weight.part == "expert" else 0
        lookup += size if weight.part in ("embedding", "positions") else 0
    tied = not any(weight.module == "lm_head" for weight in weights)
    if tied:
        lookup = sum(plain * weight.parameters for weight in weights if weight.part == "positions")
    each = expert // (experts.layers * experts.experts) if experts else 0
    return Checkpoint(scheme.label, total, each, lookup)


def _converts(scheme: Scheme, weight: Weight) -> bool:
    if not weight.matrix or (weight.part == "head" and not scheme.head):
        return False
    return weight.part == "expert" or not scheme.experts_only


def _kept_places(weight: Weight, skipped: tuple[tuple[int | None, str], ...]) -> int:
    module = f".{weight.module}."
    hits = [layer for layer, name in skipped if not name or f".{name}." in module]
    if None in hits:
        return weight.places
    return len(set(hits) & set(weight.layers))


def _skipped(keys: Keys) -> tuple[tuple[int | None, str], ...]:
    """The modules left unconverted, as (layer or None for all, name within the layer)."""
    skipped: list[tuple[int | None, str]] = []
    for name in _SKIP_KEYS:
        found = keys.find(name)
        if found is None or found[1] is None:
            continue
        if not isinstance(found[1], list | tuple):
            raise refusal(keys.named(name), found[1], "a list of module names")
        for entry in found[1]:
            if not isinstance(entry, str):
                raise refusal(keys.named(name), entry, "a list of module names")
            skipped.append(_module(entry))
    return tuple(dict.fromkeys(skipped))


def _module(entry: str) -> tuple[int | None, str]:
    # Only plain names and wildcards at their ends are read: the file is a stranger's, and running
    # its regular expressions could take for ever.
    name = entry.removeprefix("re:").replace("\\.", ".").strip("^$")
    name = name.replace(".*", "*").replace("layers*.", "layers.*.").strip("*").strip(".")
    name = re.sub(r"\bshared_expert\b", "shared_experts", name)
    within = _IN_LAYER.search(name)
    if within is None:
        return None, name.removeprefix("model.")
    layer = None if within[1] == "*" else int(within[1][:9])
    return layer, name[within.end() :]


def _scheme(keys: Keys) -> Scheme | None:
    method = keys.text("quant_method")
    if method is None:
        method = "modelopt" if keys.find("quant_algo") else _bitsandbytes_by_switch(keys)
    readers: dict[str, Callable[[Keys], Scheme | None]] = {
        "mxfp4": _mxfp4,
        "fp8": _fp8,
        "fbgemm_fp8": lambda _: Scheme(
            "fp8", lambda r, c: r * c + 4 * r, "matrices in 1 byte with a 4-byte scale a row"
        ),
        "gptq": _gptq,
        "awq": _awq,
        "bitsandbytes": _bitsandbytes,
        "compressed-tensors": _compressed_tensors,
        "modelopt": _modelopt,
    }
    scheme = readers[method](keys) if method in readers else None
    if scheme is None:
        keys.ignored.append(
            "The published checkpoint's size is left out: its quantization_config is of a kind not "
            "known here, so choose a weight precision."
        )
    return scheme


def _bitsandbytes_by_switch(keys: Keys) -> str:
    switched = keys.flag(("load_in_4bit", False)) or keys.flag(("load_in_8bit", False))
    return "bitsandbytes" if switched else ""


def _mxfp4(keys: Keys) -> Scheme:
    # Blocks of 32 four-bit numbers share one eight-bit scale: 17 bytes a block, 4.25 bits each.
    told = "expert matrices at 4.25 bits (4 bits, and an 8-bit scale for each 32)"
    return Scheme("mxfp4", lambda r, c: r * -(-c // 32) * 17, told, experts_only=True)


def _fp8(keys: Keys) -> Scheme:
    found = keys.find("weight_block_size")
    if found is None or found[1] is None:
        told = "matrices in 1 byte with one 4-byte scale each"
        return Scheme("fp8", lambda rows, columns: rows * columns + 4, told)
    match found[1]:
        case [int(tall), int(wide)] if _is_side(tall) and _is_side(wide):
            told = f"matrices in 1 byte with a 4-byte scale for each {tall} × {wide} block"
            return Scheme("fp8", lambda r, c: r * c + 4 * -(-r // tall) * -(-c // wide), told)
    raise refusal(keys.named("weight_block_size"), found[1], "two whole numbers, or null")


def _is_side(value: int) -> bool:
    return not isinstance(value, bool) and 0 < value <= 100_000


def _bits(keys: Keys, name: str, allowed: tuple[int, ...]) -> int:
    bits = keys.integer(name)
    if bits not in allowed:
        raise refusal(keys.named(name), bits, f"one of {', '.join(map(str, allowed))}")
    return bits


def _groups(keys: Keys) -> Callable[[int], int]:
    """How many groups of inputs share a scale, as a function of the inputs; −1 is one group."""
    size = keys.integer_or("group_size", 128, "the usual group", low=-1)
    if size == 0:
        raise refusal(keys.named("group_size"), size, "−1, or a whole number from 1")
    return lambda columns: 1 if size < 1 else -(-columns // size)


def _words(elements: int, bits: int) -> int:
    """Bytes of `elements` numbers packed into 32-bit words."""
    return 4 * -(-elements * bits // 32)


def _gptq(keys: Keys) -> Scheme:
    bits, groups = _bits(keys, "bits", (2, 3, 4, 8)), _groups(keys)

    def size(rows: int, columns: int) -> int:
        packed = _words(columns, bits) * rows
        scales = groups(columns) * (2 * rows + _words(rows, bits))
        return packed + scales + 4 * columns

    told = f"matrices in {bits} bits with 2-byte scales, {bits}-bit zeros and a 4-byte group index"
    return Scheme(f"{bits}-bit GPTQ", size, told, head=keys.flag(("lm_head", False)))


def _awq(keys: Keys) -> Scheme:
    name = "bits" if keys.find("w_bit") is None else "w_bit"
    bits, groups = _bits(keys, name, (4, 8)), _groups(keys)

    def size(rows: int, columns: int) -> int:
        packed = _words(rows, bits)
        return columns * packed + groups(columns) * (2 * rows + packed)

    return Scheme(
        f"{bits}-bit AWQ", size, f"matrices in {bits} bits with 2-byte scales and {bits}-bit zeros"
    )


def _bitsandbytes(keys: Keys) -> Scheme | None:
    if keys.flag(("load_in_8bit", False)):
        told = "matrices in 1 byte with a 4-byte scale a row"
        return Scheme("8-bit bitsandbytes", lambda rows, columns: rows * columns + 4 * rows, told)
    if not keys.flag(("load_in_4bit", False)):
        return None
    nested = keys.flag(("bnb_4bit_use_double_quant", False))

    def size(rows: int, columns: int) -> int:
        blocks = -(-rows * columns // 64)
        scales = blocks + 4 * -(-blocks // 256) if nested else 4 * blocks
        return -(-rows * columns // 2) + scales

    width = "1-byte scale (and 4 bytes for 256 of these)" if nested else "4-byte scale"
    told = f"matrices in 4 bits with a {width} for each 64; the code table is left out"
    return Scheme("4-bit bitsandbytes", size, told)


def _modelopt(keys: Keys) -> Scheme | None:
    algorithm = (keys.text("quant_algo") or "").upper()
    if algorithm == "FP8":
        told = "matrices in 1 byte with two 4-byte scales each"
        return Scheme("fp8", lambda rows, columns: rows * columns + 8, told)
    return _nvfp4() if algorithm == "NVFP4" else None


def _nvfp4() -> Scheme:
    told = "matrices in 4 bits with a 1-byte scale for each 16 and two 4-byte scales each"

    def size(rows: int, columns: int) -> int:
        return -(-rows * columns // 2) + rows * -(-columns // 16) + 8

    return Scheme("nvfp4", size, told, head=True)


def _compressed_tensors(keys: Keys) -> Scheme | None:
    layout = keys.text("format")
    if layout == "nvfp4-pack-quantized":
        return _nvfp4()
    found = keys.find("config_groups")
    groups = found[1] if found is not None else None
    if not isinstance(groups, Mapping):
        raise refusal(keys.named("config_groups"), groups, "an object of quantisation groups")
    if len(groups) != 1:
        return None
    name = next(iter(groups))
    weights = groups[name].get("weights") if isinstance(groups[name], Mapping) else None
    if not isinstance(name, str) or not isinstance(weights, Mapping):
        raise refusal(keys.named("config_groups"), groups, "groups that each have weights")
    inner = Keys(weights, keys.family, {}, keys.named("config_groups.weights."))
    scheme = _packed_or_plain(inner, packed=layout == "pack-quantized")
    keys.used.update(inner.used)
    keys.assumed.extend(inner.assumed)
    return scheme


def _packed_or_plain(keys: Keys, *, packed: bool) -> Scheme | None:
    bits = _bits(keys, "num_bits", (2, 3, 4, 8))
    strategy, symmetric = keys.text("strategy"), keys.flag(("symmetric", True))
    groups = _groups(keys) if strategy == "group" else lambda columns: 1
    if strategy not in ("tensor", "channel", "group") or (bits != 8 and not packed):
        return None

    def size(rows: int, columns: int) -> int:
        body = _words(columns, bits) * rows + 16 if packed else rows * columns
        scales = 1 if strategy == "tensor" else rows * groups(columns)
        zeros = 0 if symmetric else (_words(rows, bits) * groups(columns) if packed else scales)
        return body + 2 * scales + zeros

    told = f"matrices in {bits} bits with a 2-byte scale a {strategy}"
    return Scheme(f"{bits}-bit compressed-tensors", size, told, head=True)
