"""What is true of every paged pool at every moment, checked on its state alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from core.pool_state import PoolState


def violations(state: PoolState) -> list[str]:
    """Every invariant that `state` breaks, a sentence each; empty for a sound pool.

    Free and held blocks make up the pool and do not overlap · a block's reference count is the
    number of tables that hold it · the queue holds no block twice · cached content lies in full
    blocks · where a block's content is cached, so is its parent's · only a table's last block may
    be partial. O(blocks + table entries).
    """
    return [*_counting(state), *_caching(state), *_filling(state)]


def _counting(state: PoolState) -> Iterator[str]:
    held = Counter(block for table in state.tables.values() for block in table)
    if len(set(state.free_queue)) != len(state.free_queue):
        yield "a block is in the free queue twice"
    free = set(state.free_queue)
    for block, count in enumerate(state.ref_counts, state.first_id):
        if count != held[block]:
            yield f"block {block} counts {count} references and is in {held[block]} tables"
        if (block in free) == (count > 0):
            yield f"block {block} has {count} references and is {_where(block in free)} the queue"
    for request, table in state.tables.items():
        if len(set(table)) != len(table):
            yield f"the table of {request} holds a block twice"


def _caching(state: PoolState) -> Iterator[str]:
    cached = {key for key in state.keys if key is not None}
    for block, key in enumerate(state.keys, state.first_id):
        if key is not None and key.parent is not None and key.parent not in cached:
            yield f"block {block} is cached and its parent is not"
    first_copies = {key.first_copy: key for key in cached}
    for block, key in first_copies.items():
        if state.keys[block - state.first_id] is not key:
            yield f"a look-up would find block {block} for content that it does not hold"


def _filling(state: PoolState) -> Iterator[str]:
    full = state.block_size
    for block, (key, filled) in enumerate(
        zip(state.keys, state.filled_token, strict=True), state.first_id
    ):
        if key is not None and filled != full:
            yield f"block {block} is cached with {filled} of {full} tokens"
    for request, table in state.tables.items():
        filled_blocks = [state.filled_token[block - state.first_id] for block in table]
        if any(filled != full for filled in filled_blocks[:-1]) or 0 in filled_blocks[-1:]:
            yield f"the table of {request} has a gap"


def _where(inside: bool) -> str:
    return "in" if inside else "not in"
