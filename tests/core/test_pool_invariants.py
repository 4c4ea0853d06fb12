"""Each invariant is noticed when it alone is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.block_pool import BlockPool
from core.pool_invariants import violations


@pytest.fixture
def sound():
    pool = BlockPool(6, 2)
    pool.release(pool.allocate([5, 5, 6, 6]))
    pool.allocate([1, 1, 2, 2, 3], request="A")
    state = pool.state()
    assert state.tables == {"A": (2, 3, 4)}
    assert state.free_queue == (5, 1, 0)
    assert violations(state) == []
    return state


def changed(values, index, value):
    return (*values[:index], value, *values[index + 1 :])


@pytest.mark.parametrize(
    ("field", "change", "sentence"),
    [
        ("free_queue", lambda s: (5, 1, 0, 1), "a block is in the free queue twice"),
        ("free_queue", lambda s: (5, 1), "block 0 has 0 references and is not in the queue"),
        ("free_queue", lambda s: (5, 1, 0, 2), "block 2 has 1 references and is in the queue"),
        (
            "ref_counts",
            lambda s: changed(s.ref_counts, 2, 2),
            "block 2 counts 2 references and is in 1 tables",
        ),
        ("tables", lambda s: {"A": (2, 3, 4, 3)}, "the table of A holds a block twice"),
        ("tables", lambda s: {"A": (2, 4, 3)}, "the table of A has a gap"),
        ("keys", lambda s: changed(s.keys, 2, None), "block 3 is cached and its parent is not"),
        (
            "keys",
            lambda s: changed(changed(s.keys, 0, None), 5, s.keys[0]),
            "a look-up would find block 0 for content that it does not hold",
        ),
        (
            "filled_token",
            lambda s: changed(s.filled_token, 1, 1),
            "block 1 is cached with 1 of 2 tokens",
        ),
        ("filled_token", lambda s: changed(s.filled_token, 4, 0), "the table of A has a gap"),
    ],
)
def test_a_broken_invariant_is_named(sound, field, change, sentence):
    assert sentence in violations(replace(sound, **{field: change(sound)}))
