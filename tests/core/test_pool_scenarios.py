"""Scenarios of vLLM's own tests and design document, with the tables and queues they expect.

Numbered S1 to S17 and S22; S18 to S21 are the scheduler's and the radix tree's. D is the design
document's rule set, N today's vLLM's. Block size 16 and blocks 1 to 10 unless said otherwise.
"""

from __future__ import annotations

import pytest

from core.block_pool import BlockPool, OutOfBlocksError
from core.pool_rules import Rules

D, N = Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY
both = pytest.mark.parametrize("rules", [D, N], ids=["D", "N"])
COMMON = [0] * 16 + [1] * 16 + [2] * 16
NINE_TOKENS = list(range(9))


def vllm_pool(rules, num_blocks=10, block_size=16, **options):
    return BlockPool(num_blocks, block_size, rules=rules, first_id=1, **options)


def cached(pool, *blocks):
    return [pool.key_of(block) is not None for block in blocks]


def refs(pool, *blocks):
    return [pool.ref_count(block) for block in blocks]


def after_s2(rules):
    pool = vllm_pool(rules)
    first = pool.allocate([*COMMON, *[3] * 7])
    second = pool.allocate([*COMMON, *[3] * 5])
    return pool, first, second


@both
def test_s1_a_cold_prompt_takes_new_blocks_and_hashes_the_full_ones(rules):
    pool = vllm_pool(rules)
    assert pool.allocate([*COMMON, *[3] * 7]) == [1, 2, 3, 4]
    assert cached(pool, 1, 2, 3, 4) == [True, True, True, False]
    assert refs(pool, 1, 2, 3, 4) == [1, 1, 1, 1]
    assert pool.num_free == 6


@both
def test_s2_a_prefix_in_use_is_shared(rules):
    pool, _, second = after_s2(rules)
    assert second == [1, 2, 3, 5]
    assert (second.hit_tokens, second.num_tokens) == (48, 53)
    assert pool.cache_hits == 3
    assert refs(pool, 1, 2, 3, 4, 5) == [2, 2, 2, 1, 1]
    assert pool.num_free == 5


@pytest.mark.parametrize(
    ("rules", "queue"),
    [(D, [6, 7, 8, 9, 10, 4, 5, 3, 2, 1]), (N, [5, 4, 6, 7, 8, 9, 10, 3, 2, 1])],
    ids=["D", "N"],
)
def test_s3_a_release_queues_the_last_block_first(rules, queue):
    pool, first, second = after_s2(rules)
    pool.release(first)
    pool.release(second)
    assert pool.free_queue == queue


@pytest.mark.parametrize(
    ("rules", "new", "churned"),
    [(D, 6, [7, 8, 9, 10, 4, 5, 6, 3, 2, 1]), (N, 5, [5, 4, 6, 7, 8, 9, 10, 3, 2, 1])],
    ids=["D", "N"],
)
def test_s4_s5_a_released_prefix_hits_until_it_is_evicted_in_lru_order(rules, new, churned):
    pool, first, second = after_s2(rules)
    pool.release(first)
    pool.release(second)
    third = pool.allocate([*COMMON, *[3] * 6])
    assert third == [1, 2, 3, new]
    assert pool.num_free == 6
    pool.release(third)
    hits = pool.cache_hits
    assert pool.allocate([99] * 160) == churned
    assert pool.cache_hits == hits
    assert pool.num_free == 0
    assert pool.evictions == 3
    assert churned[-3:] == [3, 2, 1]
    assert pool.look_up([*COMMON, 3]) == []


@both
def test_s6_decoding_fills_the_partial_block_and_caches_it_when_full(rules):
    pool = vllm_pool(rules)
    table = pool.allocate([*COMMON, *[3] * 7])
    pool.append(table, [4] * 4)
    assert table == [1, 2, 3, 4]
    assert cached(pool, 4) == [False]
    pool.append(table, [5] * 19)
    assert table == [1, 2, 3, 4, 5]
    assert cached(pool, 4, 5) == [True, False]


@pytest.mark.parametrize(
    ("rules", "queue", "new"),
    [(D, [10, 6, 5, 4, 3, 2, 1, 9, 8, 7], 10), (N, [6, 10, 5, 4, 3, 2, 1, 9, 8, 7], 6)],
    ids=["D", "N"],
)
def test_s7_two_requests_leave_their_tails_first(rules, queue, new):
    pool = vllm_pool(rules)
    first, second = pool.allocate(range(87)), pool.allocate(range(87, 135))
    assert (first, second) == ([1, 2, 3, 4, 5, 6], [7, 8, 9])
    assert pool.num_free == 1
    pool.release(first)
    pool.release(second)
    assert pool.free_queue == queue
    assert pool.allocate(range(35)) == [1, 2, new]
    assert pool.cache_hits == 2
    assert pool.num_free == 7


@both
def test_s8_reusing_a_block_clears_its_hash(rules):
    pool = vllm_pool(rules, num_blocks=1)
    pool.release(pool.allocate(range(16)))
    assert cached(pool, 1) == [True]
    assert pool.allocate(range(15)) == [1]
    assert cached(pool, 1) == [False]
    assert pool.look_up(range(17)) == []


@both
def test_s9_a_request_does_not_evict_its_own_hit(rules):
    pool = vllm_pool(rules, num_blocks=2)
    first, second = pool.allocate(range(16)), pool.allocate(range(16, 32))
    pool.release(first)
    pool.release(second)
    assert pool.free_queue == [1, 2]
    assert pool.allocate(range(32)) == [1, 2]
    assert pool.cache_hits == 1


@both
def test_s10_without_caching_nothing_hits_and_a_full_pool_refuses(rules):
    pool = vllm_pool(rules, num_blocks=4, block_size=4, caching=False)
    table = pool.allocate(range(10))
    assert len(table) == 3
    pool.release(table)
    assert len(pool.allocate(range(16))) == 4
    assert pool.cache_hits == 0
    before = pool.state()
    with pytest.raises(OutOfBlocksError):
        pool.allocate(range(4))
    assert pool.state() == before
    assert cached(pool, 1, 2, 3, 4) == [False] * 4


def test_blocks_given_back_uncached_go_to_the_front_last_first_under_todays_rules():
    pool = vllm_pool(N, num_blocks=4, block_size=4, caching=False)
    table = pool.allocate(range(10))
    assert table == [1, 2, 3]
    pool.release(table)
    assert pool.free_queue == [3, 2, 1, 4]
    everything = pool.allocate(range(16))
    assert everything == [3, 2, 1, 4]
    pool.release(everything)
    assert pool.free_queue == [4, 1, 2, 3]


@both
def test_s11_a_salt_isolates_through_the_first_blocks_key_alone(rules):
    pool = vllm_pool(rules)
    prompt = [*COMMON, *[3] * 11]
    table = pool.allocate(prompt, "salt1")
    assert [pool.key_of(block).salt for block in table[:3]] == ["salt1", None, None]
    other = [*COMMON, *[4] * 11]
    assert pool.look_up(other, "salt1") == [1, 2, 3]
    assert pool.look_up(other, "salt2") == []
    assert pool.look_up(other) == []


@both
def test_s12_a_refusal_leaves_references_alone(rules):
    pool = vllm_pool(rules)
    assert pool.allocate(COMMON) == [1, 2, 3]
    second = pool.allocate(COMMON * 2)
    assert second == [1, 2, 3, 4, 5, 6]
    pool.release(second)
    assert pool.allocate([7] * 32) == [7, 8]
    assert pool.num_free == 5
    assert pool.look_up(COMMON * 3) == [1, 2, 3, 4, 5, 6]
    before = pool.state()
    with pytest.raises(OutOfBlocksError) as refusal:
        pool.allocate(COMMON * 3)
    assert (refusal.value.needed, refusal.value.free) == (3, 2)
    assert refs(pool, 1, 2, 3, 4, 5, 6) == [1, 1, 1, 0, 0, 0]
    assert pool.state() == before


@both
def test_s13_a_second_copy_from_decoding_is_cached_and_no_table_changes(rules):
    pool = BlockPool(10, 4, rules=rules)
    first = pool.allocate(NINE_TOKENS[:6])
    pool.append(first, NINE_TOKENS[6:])
    assert first == [0, 1, 2]
    second = pool.allocate(NINE_TOKENS[:6])
    for token in NINE_TOKENS[6:8]:
        pool.append(second, [token])
    assert second == [0, 3]
    assert pool.key_of(3) is pool.key_of(1)
    assert pool.look_up(NINE_TOKENS) == [0, 1]


def test_s14_the_design_documents_example():
    pool = BlockPool(10, 4)
    r0_prompt = list(range(15))
    r0 = pool.allocate(r0_prompt)
    assert r0 == [0, 1, 2, 3]
    pool.append(r0, [15, 16])
    assert r0 == [0, 1, 2, 3, 4]
    r1 = pool.allocate([*r0_prompt[:10], 50, 51, 52, 53])
    assert r1 == [0, 1, 5, 6]
    pool.release(r0)
    assert pool.free_queue == [7, 8, 9, 4, 3, 2]
    pool.release(r1)
    assert pool.free_queue == [7, 8, 9, 4, 3, 2, 6, 5, 1, 0]
    lost = pool.key_of(3)
    r2 = pool.allocate([*r0_prompt[:12], *range(60, 77)])
    assert r2 == [0, 1, 2, 7, 8, 9, 4, 3]
    assert pool.cache_hits == 2 + 3
    assert pool.evictions == 1
    assert pool.key_of(3) is not lost
    assert pool.free_queue == [6, 5]


def test_s15_a_full_hit_recomputes_one_block_under_todays_rules_and_nothing_under_the_documents():
    today, document = vllm_pool(N), vllm_pool(D)
    for pool in (today, document):
        pool.release(pool.allocate(range(32)))
    once_more, unchanged = today.allocate(range(32)), document.allocate(range(32))
    assert (once_more, once_more.hit_tokens) == ([1, 3], 16)
    assert (unchanged, unchanged.hit_tokens) == ([1, 2], 32)


@both
def test_s16_a_reset_is_refused_while_a_block_is_held(rules):
    pool = vllm_pool(rules)
    table = pool.allocate([*COMMON, 3])
    before = pool.state()
    assert pool.reset() is False
    assert pool.state() == before
    pool.release(table)
    queue = pool.free_queue
    assert pool.reset() is True
    assert cached(pool, *range(1, 11)) == [False] * 10
    assert pool.look_up([*COMMON, 3]) == []
    assert pool.free_queue == queue
    assert pool.evictions == 0


@both
def test_s17_content_in_two_blocks_outlives_the_first_of_them(rules):
    pool = BlockPool(4, 4, rules=rules)
    two_blocks, other = [*range(8)], [50, 51, 52, 53]
    tables = [
        pool.allocate(two_blocks),
        pool.allocate(other),
        pool.allocate(two_blocks[:4], skip_lookup=True),
    ]
    assert tables == [[0, 1], [2], [3]]
    assert pool.key_of(0) is pool.key_of(3)
    for table in tables:
        pool.release(table)
    assert pool.free_queue == [1, 0, 2, 3]
    found = []
    for taken in ([90], [91], [92], [93]):
        found.append(pool.look_up([*two_blocks[:4], 99]))
        pool.allocate(taken)
    found.append(pool.look_up([*two_blocks[:4], 99]))
    assert found == [[0], [0], [3], [3], []]
    assert cached(pool, 0, 1, 2, 3) == [False] * 4


@both
def test_s22_a_skipped_look_up_takes_new_blocks_with_the_same_hashes(rules):
    pool = vllm_pool(rules)
    first = pool.allocate([*COMMON, 3])
    second = pool.allocate([*COMMON, 3], skip_lookup=True)
    assert second == [5, 6, 7, 8]
    assert pool.cache_hits == 0
    for one, other in zip(first[:3], second[:3], strict=True):
        assert pool.key_of(one).hash == pool.key_of(other).hash
