"""A block of xorshift32 draws at once, each exactly the one a loop would make.

One step of the generator, s ← s ^ s<<13, s ^ s>>17, s ^ s<<5, is linear over single bits, so m
steps are a 32 × 32 matrix of bits. Applied to the m draws at hand it gives the next m: each new
draw costs four table look-ups, one for each byte of the state m draws before it.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core import validate

Words: TypeAlias = NDArray[np.uint32]

MAX_DRAWS = 2**24
"""The longest block: 64 MiB of states."""

# Beyond this many draws the same jump is repeated: the arrays then stay in the processor's cache.
_LONGEST_JUMP = 2**14
_BYTE_SHIFTS = (0, 8, 16, 24)


class HasState(Protocol):
    """A xorshift32 generator: `state` is the last value drawn, and may be set."""

    state: int


def xorshift_states(state: int, count: int) -> Words:
    """The `count` states that follow `state`, in order; a draw in [0, 1) is state/2³².

    Shape: (count,). Raises `ValueError` for the state 0, which only ever follows itself, and for a
    count beyond `MAX_DRAWS`. Source: Marsaglia 2003, the shifts 13, 17, 5. Worked value: after 9
    come 2,433,321 and 604,648,969.
    """
    first = validate.integer("state", state, 1, 2**32 - 1)
    validate.integer("count", count, 0, MAX_DRAWS)
    states = np.empty(count, dtype=np.uint32)
    if count == 0:
        return states
    states[:1] = _step(np.array([first], dtype=np.uint32))
    columns = _step(np.uint32(1) << np.arange(32, dtype=np.uint32))
    have = 1
    while have < count:
        if have <= _LONGEST_JUMP:
            jump, tables = have, _tables(columns)
            columns = _apply(tables, columns)
        more = min(jump, count - have)
        states[have : have + more] = _apply(tables, states[have - jump : have - jump + more])
        have += more
    return states


def _step(states: Words) -> Words:
    states = states ^ (states << np.uint32(13))
    states = states ^ (states >> np.uint32(17))
    return states ^ (states << np.uint32(5))


def _tables(columns: Words) -> list[Words]:
    """What each byte of a state becomes under the map whose columns are given."""
    tables = []
    for shift in _BYTE_SHIFTS:
        table = np.zeros(1, dtype=np.uint32)
        for column in columns[shift : shift + 8]:
            table = np.concatenate([table, table ^ column])
        tables.append(table)
    return tables


def _apply(tables: list[Words], states: Words) -> Words:
    byte = np.uint32(0xFF)
    images = np.zeros_like(states)
    for table, shift in zip(tables, _BYTE_SHIFTS, strict=True):
        images ^= table[(states >> np.uint32(shift)) & byte]
    return images
