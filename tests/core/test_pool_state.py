"""Replaying a pool's events gives the pool, after every event, forwards and backwards."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.block_pool import BlockPool, OutOfBlocksError
from core.pool_events import EventKind, columns
from core.pool_rules import Rules
from core.pool_state import Playback, PoolState, replay

both = pytest.mark.parametrize(
    "rules", [Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY], ids=lambda rules: rules.name
)


class Watch(list):
    """A log that keeps the live pool's state at the moment of each event."""

    def __init__(self):
        super().__init__()
        self.pool = None
        self.states = []

    def append(self, event):
        super().append(event)
        self.states.append(self.pool.state())


def random_run(rules, seed, *, caching=True, operations=150):
    rng = random.Random(seed)
    watch = Watch()
    pool = BlockPool(9, 3, rules=rules, first_id=1, caching=caching, log=watch)
    watch.pool = pool
    held = []
    for _ in range(operations):
        action = rng.random()
        try:
            if held and action < 0.35:
                pool.release(held.pop(rng.randrange(len(held))))
            elif held and action < 0.6:
                pool.append(rng.choice(held), [rng.randrange(2) for _ in range(rng.randint(1, 4))])
            elif action < 0.65:
                pool.reset()
            else:
                prompt = [rng.randrange(2) for _ in range(rng.randint(1, 14))]
                salt = rng.choice([None, None, None, "t"])
                held.append(pool.allocate(prompt, salt, skip_lookup=rng.random() < 0.1))
        except OutOfBlocksError:
            pass
    return watch


@both
@pytest.mark.parametrize("caching", [True, False], ids=["caching", "no caching"])
def test_replaying_every_prefix_of_the_events_gives_the_live_pool_at_that_moment(rules, caching):
    kinds = set()
    for seed in range(4):
        watch = random_run(rules, seed, caching=caching)
        start = PoolState.fresh(9, 3, first_id=1)
        for count, live in enumerate(watch.states, 1):
            assert replay(start, watch[:count]) == live
        kinds |= {event.kind for event in watch}
    of_the_cache = {
        EventKind.HIT,
        EventKind.MISS,
        EventKind.TOUCH,
        EventKind.EVICT,
        EventKind.HASH,
    }
    assert kinds == set(EventKind) - (set() if caching else of_the_cache)


@both
def test_stepping_back_gives_the_earlier_state(rules):
    watch = random_run(rules, 5)
    start = PoolState.fresh(9, 3, first_id=1)
    for stride in (1, 7, 64, 10_000):
        playback = Playback(start, watch, stride)
        assert len(playback) == len(watch)
        forwards = [playback.state(step) for step in range(len(watch) + 1)]
        backwards = [playback.state(step) for step in range(len(watch), -1, -1)]
        assert forwards == backwards[::-1] == [start, *watch.states]
    assert playback.event(1) is watch[0]
    assert playback.event(len(watch)) is watch[-1]


@both
def test_replay_in_two_parts_is_replay_at_once_and_leaves_its_start_alone(rules):
    watch = random_run(rules, 6)
    start = PoolState.fresh(9, 3, first_id=1)
    for cut in range(0, len(watch), 5):
        middle = replay(start, watch[:cut])
        assert replay(middle, watch[cut:]) == watch.states[-1]
    assert start == PoolState.fresh(9, 3, first_id=1)


def test_the_log_changes_nothing_that_the_pool_does():
    silent, logged = BlockPool(6, 2), BlockPool(6, 2, log=[])
    for pool in (silent, logged):
        table = pool.allocate([1, 2, 3, 4, 5])
        pool.append(table, [6, 7])
        pool.release(table)
        pool.allocate([1, 2, 3, 4, 9, 9, 9])
    assert silent.free_queue == logged.free_queue
    assert silent.state().tables == logged.state().tables
    assert silent.evictions == logged.evictions


def test_each_event_says_what_happened_and_why():
    log = []
    pool = BlockPool(5, 4, log=log)
    a = pool.allocate([1] * 9, request="A")
    b = pool.allocate([1] * 9, request="B")
    with pytest.raises(OutOfBlocksError):
        pool.append(b, [2] * 9)
    pool.reset()
    pool.release(a)
    pool.append(b, [2])
    pool.release(b)
    pool.allocate([3] * 12, request="C")
    assert [f"{event.kind.value}: {event.reason}" for event in log] == [
        "miss: no block holds tokens 0–3 of A after this prefix, so the look-up stops",
        "pop: block 0 comes from the head of the free queue for tokens 0–3 of A",
        "hash: block 0 is full: its key is recorded, and it can be shared",
        "pop: block 1 comes from the head of the free queue for tokens 4–7 of A",
        "hash: block 1 is full: its key is recorded, and it can be shared",
        "pop: block 2 comes from the head of the free queue for token 8 of A",
        "hit: block 0 already holds tokens 0–3 of B",
        "hit: block 1 already holds tokens 4–7 of B",
        "touch: block 0 is shared with B: 2 references",
        "touch: block 1 is shared with B: 2 references",
        "pop: block 3 comes from the head of the free queue for token 8 of B",
        "refuse: B is refused: 2 new blocks needed, 1 free; nothing changes",
        "refuse: no reset while blocks are in use (4 now)",
        "release: block 2 joins the tail of the free queue; nothing in it can be shared",
        "release: A gives block 1 back; 1 reference left, so it stays in use",
        "release: A gives block 0 back; 1 reference left, so it stays in use",
        "append: block 3 takes in token 9 of B",
        "release: block 3 joins the tail of the free queue; nothing in it can be shared",
        "release: block 1 joins the tail of the free queue and keeps its content",
        "release: block 0 joins the tail of the free queue and keeps its content",
        "miss: no block holds tokens 0–3 of C after this prefix, so the look-up stops",
        "pop: block 4 comes from the head of the free queue for tokens 0–3 of C",
        "hash: block 4 is full: its key is recorded, and it can be shared",
        "pop: block 2 comes from the head of the free queue for tokens 4–7 of C",
        "hash: block 2 is full: its key is recorded, and it can be shared",
        "pop: block 3 comes from the head of the free queue for tokens 8–11 of C",
        "hash: block 3 is full: its key is recorded, and it can be shared",
    ]


def test_eviction_a_second_copy_a_capped_look_up_and_a_reset_are_put_into_words():
    log = []
    pool = BlockPool(3, 2, rules=Rules.VLLM_TODAY, log=log)
    pool.release(pool.allocate([1, 1, 2, 2], request="A"))
    table = pool.allocate([1, 1, 2, 2], request="B")
    pool.release(table)
    tail = pool.allocate([7, 7, 7], request="D")
    pool.release(tail)
    pool.reset()
    told = {f"{event.kind.value}: {event.reason}" for event in log}
    assert {
        "miss: the look-up stops before tokens 2–3 of B: the prompt's last token has to be "
        "computed, for it predicts the first new one",
        "touch: block 0 leaves the free queue for B and cannot be evicted now",
        "hash: block 2 is full, a second copy of what block 1 holds; the table of B stays as it is",
        "evict: block 1, the least recently used, is evicted for D: it held tokens 2–3 of an "
        "earlier prompt",
        "release: block 2 goes to the front: nothing in it can be shared",
        "reset: all blocks are free and every cached content is dropped",
    } <= told


def test_state_columns_have_one_row_a_block():
    pool = BlockPool(4, 4, first_id=1)
    table = pool.allocate([5] * 6, request="A")
    pool.allocate([5] * 4, request="B")
    pool.append(table, [5])
    shown = pool.state().columns()
    assert {name: list(column) for name, column in shown.items()} == {
        "block": [1, 2, 3, 4],
        "ref_count": [2, 1, 0, 0],
        "cached": [True, False, False, False],
        "filled_token": [4, 3, 0, 0],
        "owner": ["A", "A", "", ""],
        "queue_position": [-1, -1, 0, 1],
    }
    assert pool.state().in_use == pool.in_use == 2


def test_event_columns_have_one_row_an_event():
    log = []
    pool = BlockPool(1, 4, first_id=1, log=log)
    pool.allocate([5] * 4, request="A")
    pool.reset()
    shown = columns(log)
    assert all(isinstance(column, np.ndarray) for column in shown.values())
    assert list(shown["step"]) == [1, 2, 3, 4]
    assert list(shown["kind"]) == ["miss", "pop", "hash", "refuse"]
    assert list(shown["request"]) == ["A", "A", "A", ""]
    assert list(shown["block"]) == [-1, 1, 1, -1]
    assert list(shown["position"]) == [0, 0, 0, -1]
    assert shown["reason"][3] == "no reset while blocks are in use (1 now)"


def test_a_step_outside_the_recording_is_refused():
    playback = Playback(PoolState.fresh(2, 2), random_run(Rules.DESIGN_DOCUMENT, 1, operations=0))
    with pytest.raises(ValueError, match=r"step must be in \[0, 0\], got 1"):
        playback.state(1)
    with pytest.raises(ValueError, match="step must be in"):
        playback.event(0)
    with pytest.raises(ValueError, match="stride must be in"):
        Playback(PoolState.fresh(2, 2), [], stride=0)
