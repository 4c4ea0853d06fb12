"""A synthetic conversation trace against what its description promises, counted another way."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from core.multi_turn import Habits, conversations
from core.prefix_reuse import prefix_reuse

BLOCK = 512


def trace(seed=9, number=200, **habits):
    return conversations(np.random.default_rng(seed), number, habits=Habits(**habits))


def by_conversation(stream, shared):
    """Requests grouped by the first id behind the system prompt's; short prompts have none."""
    groups = {}
    for prompt, ids in zip(stream.prompt_token, stream.hash_ids, strict=True):
        if prompt // BLOCK > shared:
            groups.setdefault(ids[shared], []).append((int(prompt), ids))
    return groups


def test_a_prompt_has_one_id_for_each_block_begun_and_begins_with_the_system_prompts():
    stream = trace()
    for prompt, ids in zip(stream.prompt_token, stream.hash_ids, strict=True):
        assert len(ids) == -(-int(prompt) // BLOCK)
        assert ids[:2] == (0, 1)


def test_a_conversation_comes_back_with_a_longer_prompt_that_repeats_its_full_blocks():
    groups = by_conversation(trace(), 2)
    assert len(groups) > 150
    for turns in groups.values():
        for (before, old), (after, new) in pairwise(turns):
            assert after > before
            assert new[: before // BLOCK] == old[: before // BLOCK]
            if before % BLOCK:
                assert old[-1] not in new, "a block that was not full has another content now"


def test_conversations_share_the_system_prompt_and_nothing_else():
    groups = by_conversation(trace(), 2)
    owners = Counter(i for turns in groups.values() for i in {x for _, ids in turns for x in ids})
    assert {i for i, count in owners.items() if count > 1} == {0, 1}


def test_an_unbounded_cache_finds_what_the_turns_before_left():
    """Counted without a cache: two ids of the first prompt, then every full block of before."""
    stream = trace()
    groups = by_conversation(stream, 2)
    expected = sum(before // BLOCK - 2 for turns in groups.values() for before, _ in turns[:-1])
    expected += 2 * (len(stream) - 1)
    reuse = prefix_reuse(stream.hash_ids, stream.prompt_token)
    assert reuse.unbounded().hit_blocks == expected


def test_a_seed_gives_one_trace_and_another_seed_another():
    assert trace(1).hash_ids == trace(1).hash_ids
    assert trace(1).hash_ids != trace(2).hash_ids


def test_the_means_are_those_asked_for():
    stream = trace(number=4_000, turns=3.0, opening_token=2_000, answer_token=100, starts_per_s=2.0)
    assert len(stream) / 4_000 == pytest.approx(3.0, rel=0.06)
    assert stream.output_token.mean() == pytest.approx(100, rel=0.06)
    single = trace(number=4_000, turns=1.0, opening_token=2_000, starts_per_s=2.0)
    assert (single.prompt_token - 1_024).mean() == pytest.approx(2_000, rel=0.06)
    assert single.arrival[-1] == pytest.approx(2_000, rel=0.06)


def test_arrivals_begin_at_zero_and_never_fall():
    arrival = trace().arrival
    assert arrival[0] == 0
    assert np.all(np.diff(arrival) >= 0)


def test_without_a_system_prompt_first_turns_share_nothing():
    stream = trace(turns=1.0, system_token=511)
    assert prefix_reuse(stream.hash_ids, stream.prompt_token).unbounded().hit_blocks == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trace(number=0), "number must be in"),
        (lambda: trace(turns=0.5), "turns must be in"),
        (lambda: trace(answer_token=0), "answer_token must be in"),
        (lambda: trace(pause_s=0), "pause_s must be in"),
        (lambda: trace(starts_per_s=0), "starts_per_s must be in"),
        (lambda: trace(system_token=-1), "system_token must be in"),
        (
            lambda: conversations(np.random.default_rng(1), block_token=0),
            "block_token must be in",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
