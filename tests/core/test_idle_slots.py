"""How long a static group runs and what its idle slots cost, against counting one by one."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batching import simulate
from core.idle_slots import expected_longest, idle_while_waiting, time_average
from core.requests import RequestStream

rows = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=20).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)


def stream(pairs):
    arrival, output = zip(*pairs, strict=True)
    return RequestStream(
        np.array(arrival), np.ones(len(pairs), dtype=int), np.array(output), unit="steps"
    )


@pytest.mark.parametrize(("low", "high", "count"), [(1, 4, 3), (8, 11, 2), (5, 5, 4), (2, 9, 1)])
def test_the_longest_of_a_group_is_the_mean_over_every_group_there_is(low, high, count):
    groups = list(itertools.product(range(low, high + 1), repeat=count))
    mean = Fraction(sum(map(max, groups)), len(groups))
    assert float(expected_longest(low, high, count)) == pytest.approx(float(mean), rel=1e-13)


def test_the_longest_grows_with_the_group_and_never_beyond_the_range():
    longest = expected_longest(8, 64, [1, 2, 8, 32, 10_000])
    assert longest[0] == pytest.approx(36, rel=1e-13)
    assert np.all(np.diff(longest) > 0)
    assert longest[-1] == pytest.approx(64, abs=1e-6)
    assert longest[1:3] == pytest.approx([45.4970760, 58.1549733], abs=1e-6)


def test_a_range_upside_down_is_refused_by_name():
    with pytest.raises(ValueError, match=r"high must be in \[9, 10,000,000\], got 8"):
        expected_longest(9, 8, 4)
    with pytest.raises(ValueError, match=r"count must be in \[1"):
        expected_longest(8, 64, 0)


def test_idle_slots_count_only_as_far_as_somebody_waits_for_them():
    # 3 of 8 busy and 2 waiting for 10 steps; then 7 busy and 5 waiting for 2; then nobody waits.
    assert idle_while_waiting([0, 10, 12, 20], [3, 7, 8, 0], [2, 5, 0, 0], 8) == 2 * 10 + 1 * 2


@settings(max_examples=100, deadline=None)
@given(rows, st.integers(1, 6), st.booleans())
def test_idle_while_waiting_is_what_counting_every_step_gives(pairs, slots, continuous):
    run = simulate(stream(pairs), slots, continuous)
    counted = 0
    for step in range(run.steps):
        busy = sum(1 for s, f in zip(run.start, run.finish, strict=True) if s <= step < f)
        arrived = zip(run.start, (a for a, _ in pairs), strict=True)
        waiting = sum(1 for s, a in arrived if a <= step < s)
        counted += min(slots - busy, waiting)
    assert idle_while_waiting(**run.occupancy(), slots=slots) == counted
    if continuous:
        assert counted == 0


def test_time_averages_by_hand():
    assert time_average([1, 5], [4, 0], [0, 2, 4, 8]).tolist() == [2.0, 4.0, 1.0]
    assert time_average([0, 1], [1, 3], [0, 2, 4]).tolist() == [2.0, 3.0], "the last value is kept"


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 6), st.integers(1, 9))
def test_time_averages_conserve_the_slot_time(pairs, slots, bins):
    run = simulate(stream(pairs), slots, True)
    now, edges = run.occupancy(), np.linspace(0, run.steps, bins + 1)
    mean = time_average(now["time"], now["busy"], edges)
    assert mean @ np.diff(edges) == pytest.approx(sum(output for _, output in pairs), rel=1e-12)
    assert np.all(mean <= slots + 1e-12)


@pytest.mark.parametrize("edges", [[0], [0, 0], [3, 1]])
def test_edges_that_do_not_rise_are_refused(edges):
    with pytest.raises(ValueError, match="edges must be two or more times that rise"):
        time_average([0, 1], [1, 0], edges)
