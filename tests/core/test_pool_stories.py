"""The stories end as the reference program's assertions and the design say they do."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from core.pool_events import EventKind
from core.pool_invariants import violations
from core.pool_rules import Rules
from core.pool_script import run_script
from core.pool_state import replay
from core.pool_stories import STORY_NAMES, reference_lengths, story

PROGRAM = json.loads((Path(__file__).parent / "data" / "reference_pool_program.json").read_text())


def run(name, prefix=12, blocks=16, size=4, rules=Rules.DESIGN_DOCUMENT):
    return run_script(story(name, prefix), num_blocks=blocks, block_size=size, rules=rules)


def final(told):
    return replay(told.start, told.events)


def test_the_first_prompts_are_the_reference_programs():
    first, second = story("shared")
    prefix = PROGRAM["system_prompt"]
    assert list(first.tokens) == prefix + PROGRAM["first_tail"]
    assert list(second.tokens) == prefix + PROGRAM["second_tail"]


def test_a_shared_prompt_ends_with_3_hits_and_7_blocks_in_use():
    state = final(run("shared"))
    assert list(state.tables["A"]) == PROGRAM["table_first"]
    assert list(state.tables["B"]) == PROGRAM["table_second"]
    assert (state.cache_hits, state.in_use) == (3, 7)


def test_reuse_after_release_takes_the_hits_from_3_to_7():
    told = run("reuse")
    released = replay(told.start, told.events[: told.ends[3]])
    assert (released.cache_hits, released.in_use) == (3, 0)
    assert list(released.free_queue) == PROGRAM["free_queue_after_release"]
    state = final(told)
    assert list(state.tables["C"]) == PROGRAM["table_again"]
    assert (state.cache_hits, state.in_use) == (7, 5)
    churn = run("churn")
    ended = replay(churn.start, churn.events[: churn.ends[5]])
    assert list(ended.free_queue) == PROGRAM["free_queue_after_again"]


def test_churn_evicts_the_reference_programs_five_blocks_in_its_order():
    told = run("churn")
    state = final(told)
    assert [list(table) for table in state.tables.values()] == PROGRAM["churn_tables"]
    assert (state.cache_hits, state.evictions, state.in_use) == (7, 5, 16)
    evicted = [event for event in told.events if event.kind is EventKind.EVICT]
    assert [event.block for event in evicted] == PROGRAM["evicted_ids_in_order"]
    assert evicted[1].reason.startswith("block 3, the least recently used, is evicted for G")


def test_a_prompt_whose_first_token_differs_shares_nothing():
    a, b = story("differs")
    assert a.tokens[1:12] == b.tokens[1:12]
    assert a.tokens[0] != b.tokens[0]
    state = final(run("differs"))
    assert (state.cache_hits, state.in_use) == (0, 10)


def test_salted_tenants_share_only_with_their_own_salt():
    told = run("salted")
    assert len({operation.tokens for operation in told.operations}) == 1
    assert [(o.request, n) for o, n in told.count(EventKind.TOUCH, len(told.events))] == [("C", 4)]


def test_the_busy_story_has_forty_requests_that_share_grow_evict_and_end():
    told = run("busy", blocks=64)
    asked = [operation for operation in told.operations if operation.kind == "allocate"]
    assert len(asked) == len({operation.request for operation in asked}) == 40
    kinds = {event.kind for event in told.events}
    assert {EventKind.TOUCH, EventKind.EVICT, EventKind.APPEND, EventKind.RELEASE} <= kinds
    assert EventKind.REFUSE not in kinds
    assert final(told).in_use == 0


@pytest.mark.parametrize("rules", [Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY], ids=lambda r: r.name)
@pytest.mark.parametrize("name", STORY_NAMES)
def test_every_state_of_every_story_is_sound(name, rules):
    told = run(name, blocks=64, rules=rules)
    for first, second in pairwise((0, *told.ends)):
        for step in {first, (first + second) // 2, second}:
            assert violations(replay(told.start, told.events[:step])) == []


@pytest.mark.parametrize("prefix", [0, 1, 3, 4, 5, 16, 40])
def test_whole_blocks_of_the_prefix_are_shared_whatever_its_length(prefix):
    assert final(run("shared", prefix, blocks=64)).cache_hits == prefix // 4
    assert final(run("differs", prefix, blocks=64)).cache_hits == 0


def test_todays_rules_keep_the_last_token_for_computing():
    """19 tokens in blocks of 1: all 19 hit by the document's rules, 18 by today's."""
    hits = [
        final(run("reuse", blocks=64, size=1, rules=rules)).cache_hits - 12
        for rules in (Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY)
    ]
    assert hits == [19, 18]


def test_the_lengths_are_the_reference_programs_and_go_on():
    assert reference_lengths().tolist() == PROGRAM["lengths"]
    many = reference_lengths(2_000)
    assert many[:64].tolist() == PROGRAM["lengths"]
    assert (many.min(), many.max()) == (50, 500)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: story("other"), "name must be one of shared, reuse"),
        (lambda: story("shared", -1), "prefix_token must be in"),
        (lambda: story("shared", 4_097), "prefix_token must be in"),
        (lambda: reference_lengths(0), "count must be in"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
