"""Each fault is one line, does what its sentence says, and leaves everything else as it was."""

from __future__ import annotations

import numpy as np
import pytest

from core.batching import simulate
from core.block_pool import BlockPool
from core.reference_program import run
from core.requests import Xorshift32, fixed_batch
from core.sabotage import (
    FAULTS,
    SOUND,
    SearchedPool,
    SearchedQueue,
    acceptance_off_by_one,
    one_extra_slot,
    parts_with,
)

PARTS = {fault.name: fault.parts for fault in FAULTS}


def pool(name, blocks=8, size=2):
    return PARTS[name].pool(blocks, size)


def test_there_are_eight_faults_with_names_and_sentences():
    assert len(PARTS) == 8
    assert all(fault.statement.endswith(".") for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_in_one_part_and_in_one_method(fault):
    sound = parts_with(SOUND)
    changed = [
        part
        for part in ("pool", "batching", "rounds")
        if getattr(fault.parts, part) is not getattr(sound, part)
    ]
    assert len(changed) == 1
    if changed == ["pool"]:
        own = [name for name in vars(fault.parts.pool) if name.startswith("_") and name[1] != "_"]
        assert len(own) == 1
        assert hasattr(BlockPool, own[0])


def test_a_searched_queue_behaves_as_the_linked_one():
    linked, searched = BlockPool(8, 2), SearchedPool(8, 2)
    rng = np.random.default_rng(4)
    held = []
    for _ in range(200):
        if held and rng.random() < 0.5:
            for which, table in zip((linked, searched), held.pop(0), strict=True):
                which.release(table)
        elif linked.num_free >= 4:
            prompt = rng.integers(0, 2, rng.integers(1, 8)).tolist()
            held.append((linked.allocate(prompt), searched.allocate(prompt)))
        assert linked.free_queue == searched.free_queue
        assert linked.cache_hits == searched.cache_hits
        assert linked.evictions == searched.evictions
    assert linked.evictions > 0


def test_a_searched_queue_takes_a_block_twice():
    queue = SearchedQueue([3, 1], 4)
    queue.append(3)
    queue.insert_before(1, 2)
    assert list(queue) == [3, 2, 1, 3]
    assert (queue.head, queue.tail, len(queue)) == (3, 3, 4)
    queue.remove(3)
    assert list(queue) == [2, 1, 3]
    empty = SearchedQueue([], 4)
    assert (empty.head, empty.tail) == (4, 4)


def test_an_unchained_hash_shares_a_block_whatever_came_before():
    broken = pool("unchained hash")
    broken.allocate([1, 1, 5, 5])
    assert list(broken.look_up([2, 2, 5, 5])) == []
    assert len(broken.look_up([5, 5])) == 1


def test_evict_newest_takes_from_the_tail():
    assert list(pool("evict newest").allocate([1, 2, 3])) == [7, 6]


def test_a_forward_release_queues_a_prompts_beginning_first():
    broken = pool("forward release")
    broken.release(broken.allocate([1, 2, 3, 4, 5, 6]))
    assert broken.free_queue[-3:] == [0, 1, 2]


def test_no_dequeue_on_reuse_keeps_a_held_block_in_the_queue():
    broken = pool("no dequeue on reuse")
    broken.release(broken.allocate([1, 2]))
    table = broken.allocate([1, 2])
    assert broken.ref_count(table[0]) == 1
    assert table[0] in broken.free_queue


def test_a_stale_hash_finds_evicted_content():
    broken = pool("stale hash after eviction", blocks=1)
    broken.release(broken.allocate([1, 2]))
    broken.allocate([3, 4])
    assert broken.evictions == 1
    assert broken.look_up([1, 2]) == [0]


def test_a_skipped_reference_count_stays_at_one():
    broken = pool("skipped reference count")
    first = broken.allocate([1, 2])
    broken.allocate([1, 2])
    assert broken.ref_count(first[0]) == 1


def test_one_extra_slot_serves_nine_at_once_and_still_says_eight():
    stream = fixed_batch(9, 1, 20, unit="steps")
    broken = one_extra_slot(stream, 8, True)
    assert (broken.steps, broken.slots) == (20, 8)
    assert simulate(stream, 8, True).steps == 40


def test_acceptance_off_by_one_makes_a_pass_of_six():
    run_of = acceptance_off_by_one(Xorshift32(9), 1.0, 4, 100)
    assert run_of.tokens == 600


@pytest.mark.parametrize("name", ["evict newest", "forward release", "one extra slot"])
def test_a_fault_that_stays_unnoticed_still_changes_what_happens(name):
    sound, broken = run(), run(9, PARTS[name])
    if PARTS[name].batching is not simulate:
        assert broken.fixed.steps != sound.fixed.steps
    else:
        assert broken.pool.evicted != sound.pool.evicted


def test_an_unknown_fault_is_refused():
    with pytest.raises(ValueError, match="fault must be one of none, unchained hash"):
        parts_with("gremlins")
