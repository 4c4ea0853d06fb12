"""Keys compare content, not hashes; copies of one content take turns."""

from __future__ import annotations

import itertools

import pytest

from core.block_pool import BlockPool
from core.prefix_cache import PrefixCache, chain_hash


def constant(parent_hash, tokens, salt):
    return 7


@pytest.mark.parametrize("hash_function", [chain_hash, constant], ids=["chain", "constant"])
def test_no_two_contents_share_a_key_even_where_every_hash_collides(hash_function):
    cache = PrefixCache(1_000, hash_function)
    blocks = itertools.count()
    keys = {}
    for salt in (None, "a"):
        for first in itertools.product((0, 1), repeat=2):
            root = cache.add(next(blocks), None, first, salt)
            keys[salt, first] = root
            for second in itertools.product((0, 1), repeat=2):
                keys[salt, first, second] = cache.add(next(blocks), root, second, None)
    assert len(set(keys.values())) == len(keys) == 2 * (4 + 16)
    for (salt, first, *rest), key in keys.items():
        parent = keys[salt, first] if rest else None
        found = cache.find(parent, rest[0] if rest else first, None if rest else salt)
        assert found is key
        assert found.index == len(rest)


def test_a_collision_can_never_share_in_a_pool():
    pool = BlockPool(16, 2, hash_function=constant)
    one = pool.allocate([1, 1, 5, 5])
    other = pool.allocate([2, 2, 5, 5])
    again = pool.allocate([2, 2, 5, 5, 6])
    assert (one, other, again) == ([0, 1], [2, 3], [2, 3, 4])
    assert pool.key_of(0).hash == pool.key_of(3).hash == 7


def test_a_hash_function_sees_the_parents_hash_the_tokens_and_the_first_blocks_salt():
    seen = []

    def record(parent_hash, tokens, salt):
        seen.append((parent_hash, tokens, salt))
        return len(tokens) + 10 * parent_hash

    pool = BlockPool(16, 2, hash_function=record)
    pool.allocate([1, 2, 3, 4, 5], "s")
    assert set(seen) == {(0, (1, 2), "s"), (2, (3, 4), None)}


def test_the_chain_hash_depends_on_parent_tokens_order_and_salt():
    hashes = [
        chain_hash(parent, tokens, salt)
        for parent in (0, 1)
        for tokens in ((1, 2), (2, 1), (1, 2, 0))
        for salt in (None, "a", "b", "a\0")
    ]
    assert len(set(hashes)) == len(hashes)
    assert chain_hash(5, (1, 2), "a") == chain_hash(5, (1, 2), "a")


def test_a_look_up_finds_the_oldest_copy_and_forgetting_passes_it_on():
    cache = PrefixCache(10, chain_hash)
    key = None
    for block in (3, 1, 4, 5):
        key = cache.add(block, None, (0,), None)
    assert key.first_copy == 3
    for gone, first in ((1, 3), (3, 4), (5, 4)):
        cache.forget(gone)
        assert cache.key_of(gone) is None
        assert cache.find(None, (0,), None).first_copy == first
    cache.forget(4)
    assert cache.find(None, (0,), None) is None


def test_content_cached_again_after_its_last_copy_went_is_a_new_key():
    cache = PrefixCache(4, chain_hash)
    before = cache.add(0, None, (0,), None)
    child = cache.add(1, before, (1,), None)
    cache.forget(0)
    after = cache.add(2, None, (0,), None)
    assert after is not before
    assert cache.find(after, (1,), None) is None
    assert cache.find(before, (1,), None) is child


def test_forgetting_a_block_that_is_not_cached_is_refused():
    with pytest.raises(ValueError, match="block 2 is not cached and cannot be forgotten"):
        PrefixCache(4, chain_hash).forget(2)


def test_clearing_forgets_everything():
    cache = PrefixCache(4, constant)
    for block in range(4):
        cache.add(block, None, (block % 2,), None)
    cache.clear()
    assert [cache.key_of(block) for block in range(4)] == [None] * 4
    assert cache.find(None, (0,), None) is None
    assert cache.add(3, None, (0,), None).first_copy == 3


def test_a_deep_prefix_can_be_printed():
    cache = PrefixCache(5_000, chain_hash)
    key = None
    for block in range(5_000):
        key = cache.add(block, key, (0,), None)
    assert "index=4999" in repr(key)
