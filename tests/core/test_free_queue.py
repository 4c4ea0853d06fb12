"""The free queue against a plain list, and the number of links that one operation touches."""

from __future__ import annotations

import random

import pytest

from core.free_queue import BlockRings, FreeQueue


class Counting(list):
    """A list that counts how often an element is read or written."""

    uses = 0

    def __getitem__(self, index):
        self.uses += 1
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.uses += 1
        super().__setitem__(index, value)


def counting_queue(length):
    queue = FreeQueue(range(length), length)
    queue._next, queue._previous = Counting(queue._next), Counting(queue._previous)
    return queue


def uses(queue):
    return queue._next.uses + queue._previous.uses


def test_random_operations_agree_with_a_list():
    rng = random.Random(3)
    queue, plain, out = FreeQueue([4, 2, 7, 1], 10), [4, 2, 7, 1], [0, 3, 5, 6, 8, 9]
    for _ in range(3_000):
        if plain and rng.random() < 0.5:
            block = rng.choice([plain[0], rng.choice(plain)])
            queue.remove(block)
            plain.remove(block)
            out.append(block)
        elif out:
            block = out.pop(rng.randrange(len(out)))
            if plain and rng.random() < 0.5:
                place = rng.choice(plain)
                queue.insert_before(place, block)
                plain.insert(plain.index(place), block)
            else:
                queue.append(block)
                plain.append(block)
        assert list(queue) == plain
        assert len(queue) == len(plain)
        if plain:
            assert (queue.head, queue.tail) == (plain[0], plain[-1])


def test_an_empty_queue_fills_again_from_either_side():
    queue = FreeQueue([0], 3)
    queue.remove(0)
    assert (list(queue), queue.head, queue.tail) == ([], 3, 3)
    queue.insert_before(queue.head, 2)
    queue.insert_before(queue.head, 1)
    queue.append(0)
    assert list(queue) == [1, 2, 0]


@pytest.mark.parametrize("operation", ["touch", "pop", "release", "to the front"])
def test_an_operation_uses_as_many_links_in_a_long_queue_as_in_a_short_one(operation):
    used = []
    for length in (8, 100_000):
        queue = counting_queue(length)
        if operation == "touch":
            queue.remove(length // 2)
        elif operation == "pop":
            queue.remove(queue.head)
        else:
            queue.remove(0)
            before = uses(queue)
            if operation == "release":
                queue.append(0)
            else:
                queue.insert_before(queue.head, 0)
            assert uses(queue) - before < 10
        used.append(uses(queue))
    assert used[0] == used[1] < 20


def test_a_block_cannot_be_in_two_places():
    queue = FreeQueue([0, 1], 3)
    with pytest.raises(ValueError, match="block 1 is linked already and cannot be inserted twice"):
        queue.append(1)
    with pytest.raises(ValueError, match="block 2 is not linked and cannot be removed"):
        queue.remove(2)
    assert (list(queue), len(queue)) == ([0, 1], 2)


def test_rings_are_disjoint_and_close_on_themselves():
    rings = BlockRings(6)
    rings.start(0)
    rings.insert_before(0, 1)
    rings.insert_before(0, 2)
    rings.start(5)
    assert [rings.after(block) for block in (0, 1, 2, 5)] == [1, 2, 0, 5]
    rings.remove(0)
    assert [rings.after(block) for block in (1, 2, 5)] == [2, 1, 5]
    with pytest.raises(ValueError, match="block 0 is not linked"):
        rings.remove(0)
