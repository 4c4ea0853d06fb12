"""Prefix reuse of a trace against a cache that is simulated id by id, and published figures.

The figures of the real trace need the trace itself, which is not part of the project: the first
1,200 rows of Mooncake's conversation trace (github.com/kvcache-ai/Mooncake, FAST25-release/traces)
as trace_mooncake_conversation_1200.csv in the directory that CHECK_DATA names, or in a directory
shared/data beside the project.
"""

from __future__ import annotations

import csv
import os
import random
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from core.prefix_reuse import prefix_reuse

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
TRACE = Path(os.environ.get("CHECK_DATA", BESIDE)) / "trace_mooncake_conversation_1200.csv"


def simulate(requests, prompts, capacity, block):
    cache, hit_ids, hit_tokens = OrderedDict(), 0, 0
    for ids, prompt in zip(requests, prompts, strict=True):
        for position, block_id in enumerate(ids):
            if block_id not in cache:
                break
            hit_ids += 1
            hit_tokens += max(0, min(block, prompt - block * position))
        for block_id in ids:
            cache[block_id] = None
            cache.move_to_end(block_id)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return hit_ids, hit_tokens


def random_trace(seed):
    rng = random.Random(seed)
    requests = []
    for _ in range(rng.randint(1, 60)):
        start = rng.choice([[], *requests]) if rng.random() < 0.6 else []
        ids = list(start[: rng.randint(0, len(start))])
        ids += [rng.randrange(40) for _ in range(rng.randint(0 if ids else 1, 8))]
        requests.append(ids)
    prompts = [max(1, len(ids) * 4 - rng.randint(0, 3)) for ids in requests]
    return requests, prompts


@pytest.mark.parametrize("seed", range(40))
def test_every_capacity_agrees_with_a_cache_simulated_id_by_id(seed):
    requests, prompts = random_trace(seed)
    reuse = prefix_reuse(requests, prompts, block_token=4)
    capacities = np.arange(1, reuse.distinct_blocks + 3)
    curve = reuse.at(capacities)
    expected = [simulate(requests, prompts, int(capacity), 4) for capacity in capacities]
    assert list(zip(curve.hit_blocks, curve.hit_tokens, strict=True)) == expected


def test_some_random_traces_repeat_an_id_within_a_request():
    repeats = [len(set(ids)) < len(ids) for seed in range(40) for ids in random_trace(seed)[0]]
    assert sum(repeats) > 100


def test_the_worked_value_of_the_docstring():
    reuse = prefix_reuse([[1, 2], [3], [1, 2, 4]], [8, 4, 12], block_token=4)
    assert list(reuse.needed_block) == [0, 0, 0, 3, 3, 0]
    assert (reuse.references, reuse.distinct_blocks, reuse.prompt_tokens) == (6, 4, 24)


def test_a_cached_id_behind_one_that_is_not_cached_does_not_hit():
    reuse = prefix_reuse([[1, 2], [9, 2]], [8, 8], block_token=4)
    assert list(reuse.needed_block) == [0, 0, 0, 0]
    assert reuse.unbounded().hit_blocks == 0


def test_the_last_id_stands_for_what_is_left_of_the_prompt():
    reuse = prefix_reuse([[1, 2], [1, 2]], [7, 5], block_token=4)
    assert list(reuse.tokens) == [4, 3, 4, 1]
    curve = reuse.unbounded()
    assert (curve.hit_blocks, curve.hit_tokens) == (2, 5)
    assert curve.token_hit_rate == 5 / 12
    assert curve.block_hit_rate == 0.5


def test_ids_beyond_the_prompt_count_no_tokens_and_a_longer_prompt_lowers_the_rate():
    reuse = prefix_reuse([[1, 2], [1, 2]], [3, 20], block_token=4)
    assert list(reuse.tokens) == [3, 0, 4, 4]
    assert reuse.prompt_tokens == 23


def test_a_request_without_ids_passes_by():
    reuse = prefix_reuse([[1], [], [1]], [4, 2, 4], block_token=4)
    assert list(reuse.needed_block) == [0, 1]


def test_a_larger_cache_never_hits_less():
    requests, prompts = random_trace(7)
    curve = prefix_reuse(requests, prompts, block_token=4).curve(points=30)
    assert np.all(np.diff(curve.hit_blocks) >= 0)
    assert np.all(np.diff(curve.hit_tokens) >= 0)
    assert np.all(np.diff(curve.capacity_block) > 0)


def test_a_curve_runs_from_one_id_to_unbounded_and_its_columns_are_equally_long():
    requests, prompts = random_trace(11)
    reuse = prefix_reuse(requests, prompts, block_token=4)
    curve = reuse.curve(points=8)
    assert curve.capacity_block[0] == 1
    assert curve.capacity_block[-1] == reuse.distinct_blocks
    assert curve.hit_blocks[-1] == reuse.unbounded().hit_blocks[0]
    assert {len(column) for column in curve.columns().values()} == {len(curve.capacity_block)}


def test_a_single_repeated_id_needs_one_place():
    reuse = prefix_reuse([[5]] * 4, [4] * 4, block_token=4)
    assert list(reuse.needed_block) == [0, 1, 1, 1]
    assert list(reuse.curve().capacity_block) == [1, 2]


@pytest.mark.parametrize(
    ("requests", "prompts", "options", "message"),
    [
        ([], [], {}, "requests must name at least one block id, got none"),
        ([[], []], [1, 2], {}, "requests must name at least one block id, got none"),
        ([[1], [2]], [512], {}, r"prompt_token must have one length a request \(2\), got 1"),
        ([[1]], [-1], {}, "prompt_token must be in .* got -1"),
        ([["a"]], [512], {}, r"requests must list whole numbers below 2\^63"),
        ([[2**63]], [512], {}, r"requests must list whole numbers below 2\^63"),
        ([[1]], [512], {"block_token": 0}, r"block_token must be in \[1, .* got 0"),
    ],
)
def test_a_bad_trace_is_refused_by_name(requests, prompts, options, message):
    with pytest.raises(ValueError, match=message):
        prefix_reuse(requests, prompts, **options)


def test_a_capacity_below_one_is_refused():
    reuse = prefix_reuse([[1]], [512])
    with pytest.raises(ValueError, match=r"capacity_block must be in \[1, .* got 0"):
        reuse.at([10, 0])
    with pytest.raises(ValueError, match="points must be in"):
        reuse.curve(points=1)


@pytest.mark.skipif(not TRACE.exists(), reason="the trace is not part of the project")
def test_the_mooncake_trace_gives_its_published_reuse():
    with TRACE.open() as lines:
        rows = list(csv.DictReader(lines))
    requests = [[int(block_id) for block_id in row["hash_ids"].split()] for row in rows]
    reuse = prefix_reuse(requests, [int(row["prompt"]) for row in rows])
    assert len(rows) == 1_200
    assert (reuse.references, reuse.distinct_blocks) == (33_490, 25_858)
    assert reuse.prompt_tokens == 16_848_754
    unbounded = reuse.unbounded()
    assert unbounded.hit_tokens == 3_905_283
    assert 100 * unbounded.token_hit_rate == pytest.approx(23.178, abs=5e-4)
    curve = reuse.at([100, 1_000, 5_000, 10_000])
    assert list(curve.hit_blocks) == [1_148, 1_238, 3_065, 6_124]
