"""Which blocks hold which content: keys chained through the prefix, and the blocks under each.

A full block is known by its parent's key, its tokens and, in a prompt's first block only, a salt.
A hash of the three finds the candidates and a comparison of the three decides, so that two
different prefixes share nothing even where their hashes are equal: a parent is compared as an
object, and there is never more than one object for one cached content.
Sources: vLLM's design document "Automatic Prefix Caching" and its early v1 key, which kept the
tokens beside the hash for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from core.free_queue import BlockRings

HashFunction: TypeAlias = Callable[[int, tuple[int, ...], str | None], int]


def chain_hash(parent_hash: int, tokens: tuple[int, ...], salt: str | None) -> int:
    """Hash a block's tokens and salt after its parent's hash (0 for a prompt's first block).

    Python's own tuple hash: 64 bits, or 32 in a 32-bit build. The value says nothing beyond
    equality. The salt enters as a number because Python hashes text differently in every process.
    """
    if salt is None:
        return hash((parent_hash, tokens))
    number = int.from_bytes(salt.encode("utf-8", "surrogatepass"), "big")
    return hash((parent_hash, tokens, number))


@dataclass(slots=True, eq=False)
class BlockKey:
    """What a cached block holds. Two keys are the same content where they are the same object.

    `index` counts blocks from the start of the prefix; `first_copy` is the block that a look-up
    returns, the one that has held this content longest.
    """

    hash: int
    parent: BlockKey | None = field(repr=False)  # a prefix may be thousands of keys deep
    tokens: tuple[int, ...]
    salt: str | None
    index: int
    first_copy: int


class PrefixCache:
    """Finds the block that holds a content. One content may lie in several blocks.

    `find`, `add` and `forget` are O(1) in the number of blocks, as a hash table is.
    """

    __slots__ = ("_by_hash", "_copies", "_hash_function", "_key_of")

    def __init__(self, num_ids: int, hash_function: HashFunction) -> None:
        """An empty cache for block ids below `num_ids`."""
        self._hash_function = hash_function
        self._by_hash: dict[int, list[BlockKey]] = {}
        self._key_of: list[BlockKey | None] = [None] * num_ids
        self._copies = BlockRings(num_ids)

    def key_of(self, block: int) -> BlockKey | None:
        """The content that `block` is cached under, or None."""
        return self._key_of[block]

    def find(
        self, parent: BlockKey | None, tokens: tuple[int, ...], salt: str | None
    ) -> BlockKey | None:
        """The key of this content, or None where no block holds it."""
        hashed = self._hash_function(parent.hash if parent else 0, tokens, salt)
        return self._match(hashed, parent, tokens, salt)

    def add(
        self, block: int, parent: BlockKey | None, tokens: tuple[int, ...], salt: str | None
    ) -> BlockKey:
        """Record that `block` holds this content, behind the blocks that already do."""
        hashed = self._hash_function(parent.hash if parent else 0, tokens, salt)
        key = self._match(hashed, parent, tokens, salt)
        if key is None:
            index = parent.index + 1 if parent else 0
            key = BlockKey(hashed, parent, tokens, salt, index, block)
            self._by_hash.setdefault(hashed, []).append(key)
            self._copies.start(block)
        else:
            self._copies.insert_before(key.first_copy, block)
        self._key_of[block] = key
        return key

    def forget(self, block: int) -> None:
        """Drop `block` from its content; the content goes with its last block.

        Raises `ValueError` where `block` is not cached.
        """
        key = self._key_of[block]
        if key is None:
            raise ValueError(f"block {block} is not cached and cannot be forgotten")
        self._key_of[block] = None
        following = self._copies.after(block)
        self._copies.remove(block)
        if following == block:
            self._drop(key)
        elif key.first_copy == block:
            key.first_copy = following

    def clear(self) -> None:
        """Forget every block."""
        for block, key in enumerate(self._key_of):
            if key is not None:
                self.forget(block)

    def _match(
        self, hashed: int, parent: BlockKey | None, tokens: tuple[int, ...], salt: str | None
    ) -> BlockKey | None:
        for key in self._by_hash.get(hashed, ()):
            if key.parent is parent and key.tokens == tokens and key.salt == salt:
                return key
        return None

    def _drop(self, key: BlockKey) -> None:
        keys = self._by_hash[key.hash]
        keys.remove(key)
        if not keys:
            del self._by_hash[key.hash]
