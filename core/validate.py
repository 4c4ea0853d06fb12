"""Checks that every public entry of core shares, so that each refusal reads the same way.

A refusal names the field, the value it got and what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Choice = TypeVar("_Choice")


def number(field: str, value: object, low: float, high: float, *, open_low: bool = False) -> float:
    """Return `value` as a float inside [low, high], or raise `ValueError`.

    With `open_low` the lower end itself is refused. Booleans, text, NaN and infinity are refused.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{field} must be a number, got {_shown(value)}")
    try:
        result = float(value)
    except OverflowError:  # an int of more than 308 digits
        result = math.inf if value > 0 else -math.inf
    inside = (low < result if open_low else low <= result) and result <= high
    if not math.isfinite(result) or not inside:
        bracket = "(" if open_low else "["
        raise ValueError(
            f"{field} must be in {bracket}{low:,.10g}, {high:,.10g}], got {result:,.10g}"
        )
    return result


def integer(field: str, value: object, low: int, high: int) -> int:
    """Return `value` as an int inside [low, high], or raise `ValueError`; 3.0 counts as 3."""
    result = number(field, value, low, high)
    if result != int(result):
        raise ValueError(f"{field} must be a whole number, got {result:,.10g}")
    return int(result)


def choice(field: str, value: _Choice, allowed: Sequence[_Choice]) -> _Choice:
    """Return `value` if it is one of `allowed`, or raise `ValueError` listing them."""
    if value not in allowed:
        listed = ", ".join(str(item) for item in allowed)
        raise ValueError(f"{field} must be one of {listed}; got {_shown(value)}")
    return value


def array(
    field: str, values: ArrayLike, low: float, high: float, *, open_low: bool = False
) -> NDArray[np.float64]:
    """Return `values` as a float array with every element inside [low, high], or raise."""
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{field} must be numbers, got {_shown(values)}") from error
    inside = (result > low if open_low else result >= low) & (result <= high)
    if not np.all(inside):
        worst = result[~inside].flat[0]
        bracket = "(" if open_low else "["
        raise ValueError(
            f"{field} must be in {bracket}{low:,.10g}, {high:,.10g}], got {worst:,.10g}"
        )
    return result


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
