"""Long random histories against a naive pool that shares no code and no idea with the real one.

The naive pool has no hashes and no links: a block's content is the whole prefix up to its end,
written out, and everything is found by searching lists.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from core.block_pool import BlockPool, OutOfBlocksError
from core.pool_invariants import violations
from core.pool_rules import Rules


class NaivePool:
    def __init__(self, num_blocks, block_size, today):
        self.size = block_size
        self.today = today
        self.queue = list(range(num_blocks))
        self.cached = []  # (content, block), in the order of recording
        self.tables = {}  # label -> [salt, tokens, blocks]
        self.hits = self.evictions = 0

    def found(self, salt, tokens):
        countable = len(tokens) - 1 if self.today else len(tokens)
        blocks = []
        for end in range(self.size, countable + 1, self.size):
            copies = [b for content, b in self.cached if content == (salt, tuple(tokens[:end]))]
            if not copies:
                break
            blocks.append(copies[0])
        return blocks

    def take(self):
        block = self.queue.pop(0)
        before = len(self.cached)
        self.cached = [(content, b) for content, b in self.cached if b != block]
        self.evictions += before - len(self.cached)
        return block

    def allocate(self, label, salt, tokens, skip):
        shared = [] if skip else self.found(salt, tokens)
        new = -(-len(tokens) // self.size) - len(shared)
        left = [block for block in self.queue if block not in shared]
        if new > len(left):
            return False
        self.queue = left
        self.hits += len(shared)
        self.tables[label] = [salt, [], list(shared)]
        self.tables[label][1] += tokens[: len(shared) * self.size]
        return self.append(label, tokens[len(shared) * self.size :])

    def append(self, label, tokens):
        salt, held, blocks = self.tables[label]
        if -(-(len(held) + len(tokens)) // self.size) - len(blocks) > len(self.queue):
            return False
        for token in tokens:
            if len(held) % self.size == 0:
                blocks.append(self.take())
            held.append(token)
            if len(held) % self.size == 0:
                self.cached.append(((salt, tuple(held)), blocks[-1]))
        return True

    def release(self, label):
        _, _, blocks = self.tables.pop(label)
        front, back = [], []
        for block in reversed(blocks):
            if not any(block in other[2] for other in self.tables.values()):
                kept = any(block == b for _, b in self.cached)
                (back if kept or not self.today else front).append(block)
        self.queue = front + self.queue + back

    def reset(self):
        if not self.tables:
            self.cached = []
        return not self.tables


def content_of(pool, block):
    key = pool.key_of(block)
    if key is None:
        return None
    tokens = []
    while key is not None:
        tokens = [*key.tokens, *tokens]
        salt, key = key.salt, key.parent
    return salt, tuple(tokens)


class Pair:
    """The pool and the naive one side by side; each operation is done to both and compared."""

    def __init__(self, num_blocks, block_size, rules, **options):
        self.pool = BlockPool(num_blocks, block_size, rules=rules, **options)
        self.live = {}
        self.naive = NaivePool(num_blocks, block_size, rules is Rules.VLLM_TODAY)

    def allocate(self, tokens, salt=None, skip=False):
        if -(-len(tokens) // self.pool.block_size) > self.pool.num_blocks:
            with pytest.raises(ValueError, match="tokens must fit the pool"):
                self.pool.allocate(tokens, salt)
            return None
        assert self.pool.look_up(tokens, salt) == self.naive.found(salt, tokens)
        table = self.agreed(lambda: self.pool.allocate(tokens, salt, skip_lookup=skip))
        label = table.request if table else "refused"
        self.live |= {label: table} if table else {}
        assert self.naive.allocate(label, salt, tokens, skip) == (table is not None)
        return table

    def append(self, table, tokens):
        done = self.agreed(lambda: self.pool.append(table, tokens) or True)
        assert self.naive.append(table.request, tokens) == (done is not None)

    def release(self, table):
        self.pool.release(table)
        self.naive.release(table.request)
        del self.live[table.request]

    def reset(self):
        assert self.pool.reset() == self.naive.reset()

    def agreed(self, operation):
        before = self.pool.state()
        try:
            return operation()
        except OutOfBlocksError as error:
            refusal = error
        assert refusal.needed > refusal.free
        assert self.pool.state() == before
        return None

    def compare(self):
        pool, naive = self.pool, self.naive
        state = pool.state()
        held = [block for _, _, blocks in naive.tables.values() for block in blocks]
        blocks = range(pool.num_blocks)
        assert pool.free_queue == naive.queue
        assert state.tables == {label: tuple(t[2]) for label, t in naive.tables.items()}
        assert [pool.ref_count(block) for block in blocks] == [held.count(b) for b in blocks]
        assert pool.in_use == len(set(held)) == pool.num_blocks - pool.num_free
        assert (pool.cache_hits, pool.evictions) == (naive.hits, naive.evictions)
        contents = {block: content for content, block in naive.cached}
        assert [content_of(pool, b) for b in blocks] == [contents.get(b) for b in blocks]
        assert violations(state) == []


class History(RuleBasedStateMachine):
    tables = Bundle("tables")
    tokens = st.lists(st.integers(0, 1), min_size=1, max_size=18)

    @initialize(
        num_blocks=st.integers(1, 12),
        block_size=st.integers(1, 4),
        rules=st.sampled_from([Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY]),
        collide=st.booleans(),
    )
    def make(self, num_blocks, block_size, rules, collide):
        options = {"hash_function": lambda parent, tokens, salt: 0} if collide else {}
        self.pair = Pair(num_blocks, block_size, rules, **options)

    @rule(target=tables, tokens=tokens, salt=st.sampled_from([None, "a", "b"]), skip=st.booleans())
    def allocate(self, tokens, salt, skip):
        return self.pair.allocate(tokens, salt, skip)

    @rule(table=tables, tokens=st.lists(st.integers(0, 1), min_size=1, max_size=6))
    def append(self, table, tokens):
        if table is not None and table.request in self.pair.live:
            self.pair.append(table, tokens)

    @rule(table=consumes(tables))
    def release(self, table):
        if table is not None:
            self.pair.release(table)

    @rule()
    def reset(self):
        self.pair.reset()

    @invariant()
    def agree(self):
        if hasattr(self, "pair"):
            self.pair.compare()

    def teardown(self):
        if hasattr(self, "pair"):
            for table in list(self.pair.live.values()):
                self.pair.release(table)
            self.pair.compare()
            assert sorted(self.pair.pool.free_queue) == list(range(self.pair.pool.num_blocks))


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("rules", [Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY], ids=lambda r: r.name)
@pytest.mark.parametrize("seed", range(3))
def test_two_thousand_operations_agree_with_the_naive_pool(rules, seed):
    rng = random.Random(seed)
    pair = Pair(20, 2, rules)
    held = []
    prefixes = [[rng.randrange(50) for _ in range(8)] for _ in range(4)]
    refused = 0
    for _ in range(2_000):
        action = rng.random()
        if held and action < 0.4:
            pair.release(held.pop(rng.randrange(len(held))))
        elif held and action < 0.6:
            pair.append(rng.choice(held), [rng.randrange(2) for _ in range(rng.randint(1, 3))])
        else:
            prompt = [*rng.choice(prefixes)[: rng.randint(1, 8)], *rng.choices(range(2), k=4)]
            table = pair.allocate(prompt, rng.choice([None, None, "t"]), rng.random() < 0.05)
            refused += table is None
            held += [] if table is None else [table]
        pair.compare()
    assert pair.pool.cache_hits > 300
    assert pair.pool.evictions > 300
    assert refused > 50


@pytest.mark.parametrize("block_size", [4, 16])
def test_uniform_lengths_waste_half_a_block_less_half_a_token_on_average(block_size):
    rng = random.Random(1)
    pool = BlockPool(100, block_size, caching=False)
    waste = []
    for _ in range(4_000):
        table = pool.allocate([0] * rng.randint(1, 20 * block_size))
        waste.append(len(table) * block_size - table.num_tokens)
        pool.release(table)
    assert max(waste) == block_size - 1
    assert sum(waste) / len(waste) == pytest.approx((block_size - 1) / 2, rel=0.05)
