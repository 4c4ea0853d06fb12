"""The pool against the reference program, its vectors, and hand-worked growth and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.block_pool import BlockPool, OutOfBlocksError
from core.pool_events import EventKind
from core.pool_rules import Rules

DATA = Path(__file__).parent / "data"
PROGRAM = json.loads((DATA / "reference_pool_program.json").read_text())
RUNS = json.loads((DATA / "reference_pool_vectors.json").read_text())["runs"]


class Xorshift:
    """The reference's generator, for the prompts that its program draws."""

    def __init__(self, state):
        self.state = state

    def between(self, low, high):
        for shift in (13, -17, 5):
            moved = self.state << shift if shift > 0 else self.state >> -shift
            self.state = (self.state ^ moved) & 0xFFFFFFFF
        return low + int(self.state / 4294967296.0 * (high - low + 1))


def reference_prompts():
    generator = Xorshift(9)
    drawn = [generator.between(0, 99) for _ in range(24)]
    churn = [[generator.between(100, 199) for _ in range(16)] for _ in range(4)]
    return drawn, churn


def test_the_generator_here_draws_the_prompts_that_the_program_published():
    drawn, _ = reference_prompts()
    assert drawn == PROGRAM["system_prompt"] + PROGRAM["first_tail"] + PROGRAM["second_tail"]


def test_the_reference_programs_tables_queues_and_evictions_are_reproduced():
    log = []
    pool = BlockPool(16, 4, log=log)
    first = PROGRAM["system_prompt"] + PROGRAM["first_tail"]
    second = PROGRAM["system_prompt"] + PROGRAM["second_tail"]
    _, churn = reference_prompts()

    table_first, table_second = pool.allocate(first), pool.allocate(second)
    assert table_first == PROGRAM["table_first"]
    assert table_second == PROGRAM["table_second"]
    assert pool.cache_hits == PROGRAM["hits_after_two"]
    assert pool.in_use == PROGRAM["in_use_after_two"]
    pool.release(table_first)
    pool.release(table_second)
    assert pool.in_use == 0
    assert pool.free_queue == PROGRAM["free_queue_after_release"]

    again = pool.allocate(first)
    assert again == PROGRAM["table_again"]
    assert pool.cache_hits == PROGRAM["hits_after_again"]
    assert pool.in_use == PROGRAM["in_use_after_again"]
    pool.release(again)
    assert pool.free_queue == PROGRAM["free_queue_after_again"]

    tables = [pool.allocate(prompt) for prompt in churn]
    assert tables == PROGRAM["churn_tables"]
    evicted = [event.block for event in log if event.kind is EventKind.EVICT]
    assert evicted == PROGRAM["evicted_ids_in_order"]
    assert pool.evictions == PROGRAM["evictions"]
    assert pool.in_use == PROGRAM["in_use_churn"]
    for table in tables:
        pool.release(table)
    assert pool.in_use == 0
    assert pool.free_queue == PROGRAM["free_queue_end"]
    assert pool.cache_hits == PROGRAM["hits_total"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"seed-{run['seed']}")
def test_every_operation_of_every_reference_run_is_reproduced(run):
    pool = BlockPool(run["pool_blocks"], run["block_size"])
    live = []
    assert len(run["pool_ops"]) == 40
    for operation in run["pool_ops"]:
        if operation["op"] == "allocate":
            live.append(pool.allocate(operation["tokens"]))
            assert live[-1] == operation["table"]
            assert pool.cache_hits == operation["hits"]
            assert pool.evictions == operation["evictions"]
        else:
            pool.release(live.pop(operation["index"]))
            assert pool.free_queue == operation["free_queue"]
        assert pool.in_use == operation["in_use"]


def test_there_are_sixteen_reference_runs():
    assert len(RUNS) == 16


@pytest.mark.parametrize("shared", range(18))
def test_equal_prefixes_of_k_tokens_share_k_over_block_size_blocks(shared):
    pool = BlockPool(32, 4)
    first = pool.allocate([*range(shared), *range(100, 120)])
    second = pool.allocate([*range(shared), *range(200, 220)])
    common = sum(one == other for one, other in zip(first, second, strict=False))
    assert common == pool.cache_hits == shared // 4


def test_a_table_holds_its_tokens_in_whole_blocks():
    pool = BlockPool(64, 16)
    for tokens in range(1, 100):
        table = pool.allocate(range(tokens))
        assert len(table) == -(-tokens // 16)
        assert table.num_tokens == tokens
        assert len(table) * 16 - tokens <= 15
        pool.release(table)


def test_a_prompt_may_be_any_sequence_of_whole_numbers():
    pool = BlockPool(16, 2)
    for tokens in ([7, 8, 9], (7, 8, 9), range(7, 10), np.array([7, 8, 9]), b"\x07\x08\x09"):
        table = pool.allocate(tokens, skip_lookup=True)
        stored = pool.key_of(table[0]).tokens
        assert stored == (7, 8)
        assert [type(token) for token in stored] == [int, int]


def test_growth_token_by_token_caches_what_a_prompt_of_the_same_tokens_finds():
    pool = BlockPool(8, 4)
    table = pool.allocate([0])
    for token in range(1, 12):
        pool.append(table, [token])
    assert table == [0, 1, 2]
    assert pool.look_up(range(12)) == [0, 1, 2]


def test_growth_across_several_blocks_at_once_equals_growth_by_one():
    at_once, by_one = BlockPool(8, 4), BlockPool(8, 4)
    grown = at_once.allocate([0, 1])
    at_once.append(grown, range(2, 15))
    other = by_one.allocate([0, 1])
    for token in range(2, 15):
        by_one.append(other, [token])
    assert grown == other == [0, 1, 2, 3]
    assert at_once.look_up(range(12)) == by_one.look_up(range(12)) == [0, 1, 2]


def test_growth_behind_a_shared_prefix_leaves_the_other_request_alone():
    pool = BlockPool(8, 4)
    first, second = pool.allocate(range(8)), pool.allocate(range(8))
    assert first == second == [0, 1]
    pool.append(first, [50])
    pool.append(second, [60])
    assert (first, second) == ([0, 1, 2], [0, 1, 3])
    assert [pool.ref_count(block) for block in range(4)] == [2, 2, 1, 1]


def test_a_refusal_says_how_many_blocks_were_needed_and_free():
    pool = BlockPool(4, 4)
    pool.allocate(range(12))
    with pytest.raises(OutOfBlocksError, match="r1 needs 2 new blocks and 1 is free") as refusal:
        pool.allocate(range(100, 108))
    assert (refusal.value.needed, refusal.value.free) == (2, 1)


def test_free_blocks_that_a_prompt_would_share_do_not_count_as_free_for_it():
    pool = BlockPool(4, 4)
    pool.release(pool.allocate(range(8)))
    pool.allocate([99])
    assert pool.num_free == 3
    with pytest.raises(OutOfBlocksError) as refusal:
        pool.allocate([*range(8), *range(90, 98)])
    assert (refusal.value.needed, refusal.value.free) == (2, 1)


@pytest.mark.parametrize("rules", [Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY], ids=lambda r: r.name)
def test_refused_growth_and_refused_prompts_change_nothing(rules):
    pool = BlockPool(4, 4, rules=rules)
    pool.release(pool.allocate(range(8)))
    table = pool.allocate([*range(4), 9, 9])
    pool.allocate([70] * 8)
    before, tokens = pool.state(), table.num_tokens
    with pytest.raises(OutOfBlocksError):
        pool.append(table, [1, 2, 3])
    with pytest.raises(OutOfBlocksError):
        pool.allocate([0, 1, 2, 3, 4])
    assert pool.state() == before
    assert table.num_tokens == tokens
    pool.append(table, [1, 2])
    assert table.num_tokens == 8


def test_growth_beyond_the_whole_pool_is_a_refusal():
    pool = BlockPool(2, 2)
    table = pool.allocate([1, 2, 3])
    with pytest.raises(OutOfBlocksError) as refusal:
        pool.append(table, [4, 5])
    assert (refusal.value.needed, refusal.value.free) == (1, 0)


def test_labels_are_given_in_order_and_pass_over_those_in_use():
    pool = BlockPool(8, 4)
    labels = [pool.allocate([1], request="r1").request]
    labels += [pool.allocate([1]).request for _ in range(3)]
    assert labels == ["r1", "r0", "r2", "r3"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlockPool(16, 0), r"block_size must be in \[1, 1,000,000\], got 0"),
        (lambda: BlockPool(16, -4), r"block_size must be in .* got -4"),
        (lambda: BlockPool(16, 2.5), r"block_size must be a whole number, got 2.5"),
        (lambda: BlockPool(16, "four"), r"block_size must be a number, got 'four'"),
        (lambda: BlockPool(0, 4), r"num_blocks must be in \[1, 10,000,000\], got 0"),
        (lambda: BlockPool(10**9, 4), r"num_blocks must be in .* got"),
        (lambda: BlockPool(4, 4, first_id=-1), r"first_id must be in \[0, 1,000\], got -1"),
    ],
)
def test_a_pool_of_impossible_size_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "tokens must be at least one token, got none"),
        ([3, -1, 2], r"tokens must be whole numbers in \[0, 2\^63\), got -1"),
        ([1.5], r"tokens must be whole numbers in \[0, 2\^63\)"),
        ("text", r"tokens must be whole numbers in \[0, 2\^63\)"),
        (None, r"tokens must be whole numbers in \[0, 2\^63\)"),
        ([2**63], r"tokens must be whole numbers in \[0, 2\^63\)"),
        (
            range(65),
            "tokens must fit the pool: 65 tokens need 17 blocks of 4, and the pool has 16",
        ),
    ],
)
def test_bad_tokens_are_refused_and_change_nothing(tokens, message):
    pool = BlockPool(16, 4)
    before = pool.state()
    with pytest.raises(ValueError, match=message):
        pool.allocate(tokens)
    assert pool.state() == before


@pytest.mark.parametrize(
    ("salt", "message"),
    [
        ("x" * 10_240, "salt must be 1 to 1,024 bytes long, got 10,240"),
        ("é" * 513, "salt must be 1 to 1,024 bytes long, got 1,026"),
        ("", "salt must be 1 to 1,024 bytes long, got 0"),
        (7, "salt must be text or None, got int"),
    ],
)
def test_a_bad_salt_is_refused(salt, message):
    pool = BlockPool(16, 4)
    with pytest.raises(ValueError, match=message):
        pool.allocate([1], salt)
    with pytest.raises(ValueError, match=message):
        pool.look_up([1], salt)


def test_a_salt_may_be_as_long_as_allowed_and_any_text():
    pool = BlockPool(16, 4)
    for salt in ("x" * 1_024, "é" * 512, "\ud800"):
        pool.allocate(range(4), salt)
        assert len(pool.look_up(range(4), salt)) == 1


def test_a_table_is_released_once():
    pool = BlockPool(16, 4)
    kept, table = pool.allocate(range(9)), pool.allocate(range(9))
    pool.release(table)
    before = pool.state()
    with pytest.raises(ValueError, match=r"table must be one .* still holds, got that of r1"):
        pool.release(table)
    with pytest.raises(ValueError, match="got that of r1"):
        pool.append(table, [1])
    assert pool.state() == before
    pool.release(kept)
    assert pool.in_use == 0


def test_a_table_of_another_pool_or_no_pool_is_refused():
    pool, other = BlockPool(16, 4), BlockPool(16, 4)
    pool.allocate([1])
    foreign = other.allocate([1])
    for table in (foreign, [0], None):
        with pytest.raises(ValueError, match="table must be one that this pool gave"):
            pool.release(table)
    assert pool.in_use == other.in_use == 1


def test_a_label_in_use_is_refused_and_free_again_after_release():
    pool = BlockPool(16, 4)
    table = pool.allocate([1], request="ann")
    with pytest.raises(ValueError, match="request must be a label not in use, got 'ann'"):
        pool.allocate([2], request="ann")
    pool.release(table)
    assert pool.allocate([2], request="ann").request == "ann"


@pytest.mark.parametrize("block", [0, 11, -1])
def test_an_id_that_is_no_block_is_refused(block):
    pool = BlockPool(10, 4, first_id=1)
    for ask in (pool.ref_count, pool.key_of):
        with pytest.raises(ValueError, match=r"block must be in \[1, 10\]"):
            ask(block)
