"""A request's block table, and the checks on what a request brings."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.prefix_cache import BlockKey

Tokens: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]

MAX_SALT_BYTE = 1_024


class BlockTable(list[int]):
    """The blocks of one request, in order. The pool fills it: read it, do not write it.

    `request` is its label, `num_tokens` how many tokens it holds and `hit_tokens` how many of them
    were found cached, so that their prefill is skipped. What the pool keeps here for itself:
    `tail`, the tokens of a last block that is not full; `parent`, the key of the last full block;
    `given_back`, how many blocks a release under way has taken from the end.
    """

    __slots__ = ("given_back", "hit_tokens", "num_tokens", "parent", "request", "salt", "tail")

    def __init__(self, request: str, salt: str | None) -> None:
        """An empty table; `BlockPool.allocate` makes them."""
        super().__init__()
        self.request = request
        self.salt = salt
        self.num_tokens = 0
        self.hit_tokens = 0
        self.tail: tuple[int, ...] = ()
        self.parent: BlockKey | None = None
        self.given_back = 0


def checked_tokens(tokens: Tokens) -> tuple[int, ...]:
    """Return `tokens` as ints, or raise `ValueError`: none at all, not whole, or negative."""
    try:
        values = tuple(tokens.tolist() if isinstance(tokens, np.ndarray) else tokens)
        array("q", values)
    except (TypeError, OverflowError) as error:
        raise ValueError("tokens must be whole numbers in [0, 2^63)") from error
    if not values:
        raise ValueError("tokens must be at least one token, got none")
    if min(values) < 0:
        raise ValueError(f"tokens must be whole numbers in [0, 2^63), got {min(values)}")
    return values


def checked_salt(salt: str | None) -> str | None:
    """Return `salt`, or raise `ValueError`: not text, empty, or over 1,024 bytes of UTF-8."""
    if salt is None:
        return None
    if not isinstance(salt, str):
        raise ValueError(f"salt must be text or None, got {type(salt).__name__}")
    size_byte = len(salt.encode("utf-8", "surrogatepass"))
    if not 1 <= size_byte <= MAX_SALT_BYTE:
        raise ValueError(f"salt must be 1 to {MAX_SALT_BYTE:,} bytes long, got {size_byte:,}")
    return salt
