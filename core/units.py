"""Unit constants and the one way numbers are written on the page.

Quantities inside the project are plain floats in base units (s, byte, flop, token); a prefix
appears only when a number is shown. GB is 10⁹ bytes; GiB is written where 2³⁰ is meant.
"""

from __future__ import annotations

import math

KILO, MEGA, GIGA, TERA, PETA = 1e3, 1e6, 1e9, 1e12, 1e15
KIBI, MEBI, GIBI = 2.0**10, 2.0**20, 2.0**30

_SI_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_IEC_PREFIXES = ((GIBI, "GiB"), (MEBI, "MiB"), (KIBI, "KiB"), (1.0, "B"))
_SI_UNITS = ("FLOP", "FLOP/s", "B", "B/s")


def significant(value: float, digits: int = 3) -> str:
    """Write a number with `digits` significant figures, thousands separated.

    Integers below 10^digits keep no decimals they do not need ("8", not "8.00"); infinity is
    written "∞". Worked values: 12.294967 → "12.3", 225.8987 → "226", 3.3616 → "3.36",
    130872.4 → "131,000".
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - magnitude)
    if rounded != 0:
        magnitude = math.floor(math.log10(abs(rounded)))
    decimals = max(0, digits - 1 - magnitude)
    if rounded == int(rounded) and abs(value - rounded) < 1e-12 * abs(value):
        decimals = 0
    return f"{rounded:,.{decimals}f}".replace("-", "−")


def exact(value: float) -> str:
    """Write a count with every digit, thousands separated: 24589934592 → "24,589,934,592"."""
    if value == int(value):
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.10g}".replace("-", "−")


def counted(count: float | str, noun: str, plural: str = "") -> str:
    """A count and what agrees with it, a noun or a verb; `plural` where it is not `noun` + "s".

    A count that is text is a number already written. Worked values: (1, "token") → "1 token";
    (2048, "token") → "2,048 tokens"; (1, "waits", "wait") → "1 waits"; (0, "token") → "0 tokens";
    ("1.00", "token") → "1.00 tokens".
    """
    written = count if isinstance(count, str) else exact(count)
    return f"{written} {noun if written == '1' else plural or noun + 's'}"


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Write a value in base units with the SI prefix that suits it.

    Seconds go down to ns; FLOP, FLOP/s, B and B/s go up to P; other units take no prefix.
    Worked values: (0.012294967, "s") → "12.3 ms"; (24589934592, "B") → "24.6 GB";
    (156, "FLOP/B") → "156 FLOP/B".
    """
    number, shown_unit = split_quantity(value, unit, digits)
    return f"{number} {shown_unit}".rstrip()


def split_quantity(value: float, unit: str, digits: int = 3) -> tuple[str, str]:
    """Like `quantity`, but number and unit apart, for readouts that set them in two sizes."""
    if not math.isfinite(value) or value == 0:
        return significant(value, digits), unit
    prefixes: tuple[tuple[float, str], ...]
    if unit in _SI_UNITS:
        prefixes = _SI_PREFIXES
    elif unit == "s":
        prefixes = _SMALL_PREFIXES
    else:
        return significant(value, digits), unit
    for scale, prefix in prefixes:
        # 999.96 ms is written 1.00 s: compare what will be printed, not the raw value.
        if abs(float(f"{value / scale:.{digits}g}")) >= 1:
            return significant(value / scale, digits), prefix + unit
    scale, prefix = prefixes[-1]
    return significant(value / scale, digits), prefix + unit


def binary(value_byte: float, digits: int = 3) -> str:
    """Write bytes with an IEC prefix: 131072 → "128 KiB", 1610612736 → "1.50 GiB"."""
    for scale, prefix in _IEC_PREFIXES:
        if abs(value_byte) >= scale:
            return f"{significant(value_byte / scale, digits)} {prefix}"
    return f"{significant(value_byte, digits)} B"
