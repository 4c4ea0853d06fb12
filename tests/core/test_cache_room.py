"""How many steps fit into the cache, against growing one step at a time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cache_room import CountedRoom
from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from core.step_terms import StepTerms
from tests.core.oracles.step_by_step import cache_bytes
from tests.core.scheduling_cases import scenarios


@settings(max_examples=200, deadline=None)
@given(
    scenarios(),
    st.sampled_from([1, 4, 16]),
    st.lists(st.integers(1, 150), max_size=5),
    st.lists(st.integers(1, 150), max_size=2),
    st.integers(-20, 200),
    st.integers(1, 60),
)
def test_growth_is_granted_for_as_many_steps_as_fit(scenario, block, contexts, held, spare, steps):
    terms = StepTerms.of(scenario)
    now = sum(cache_bytes(scenario, size, block) for size in [*held, *contexts])
    capacity = max(0.0, now + spare * terms.cache_byte)
    room = CountedRoom(terms, capacity, block)

    def used(step):
        grown = [context + step for context in contexts]
        return sum(cache_bytes(scenario, size, block) for size in [*held, *grown])

    fits = 0
    while fits < steps and used(fits) <= capacity:
        fits += 1
    granted = room.grow([(i, context) for i, context in enumerate(contexts)], held, steps)
    assert min(granted, steps) == fits
    if granted > steps:
        # More than was asked for is granted only where it fits.
        assert used(granted - 1) <= capacity or not contexts


@settings(max_examples=200, deadline=None)
@given(
    scenarios(),
    st.sampled_from([1, 4, 16]),
    st.lists(st.integers(1, 150), max_size=5),
    st.integers(1, 150),
    st.integers(1, 1_000),
)
def test_a_request_is_admitted_where_all_its_blocks_fit(scenario, block, held, wanted, tokens):
    terms = StepTerms.of(scenario)
    capacity = tokens * terms.cache_byte
    room = CountedRoom(terms, capacity, block)
    used = sum(cache_bytes(scenario, size, block) for size in [*held, wanted])
    assert room.admit(0, wanted, held) == (0 if used <= capacity else -1)


def test_blocks_are_counted_whole():
    room = CountedRoom(StepTerms.of(Scenario(MODELS["8B"], DEVICES["A100"])), 160 * 131_072.0, 16)
    assert room.byte(81) == 6 * 16 * 131_072
    assert room.admit(1, 80, [80]) == 0
    assert room.admit(1, 81, [80]) == -1
    # Two sequences of 80 in ten blocks: the next step needs two more.
    assert room.grow([(0, 81), (1, 81)], [], 1) == 0
    # One of 81 holds six; four more blocks last 15 + 4·16 steps beyond this one.
    assert room.grow([(0, 81)], [], 1) == 16 + 4 * 16


def test_a_block_has_a_size():
    with pytest.raises(ValueError, match="block_token must be in"):
        CountedRoom(StepTerms.unit(), 1.0, 0)
