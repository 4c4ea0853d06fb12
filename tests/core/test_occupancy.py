"""Slots and queue lengths from a run, against counting at every moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.occupancy import residences, slots
from core.scheduling import simulate
from tests.core.scheduling_cases import servers


def test_the_lowest_free_slot_is_taken_and_a_slot_is_free_when_it_ends():
    begin, end = np.array([0.0, 0.0, 2.0, 2.0, 3.0]), np.array([3.0, 2.0, 4.0, 9.0, 5.0])
    assert slots(begin, end).tolist() == [0, 1, 1, 2, 0]
    begin, end = np.array([0.0, 0.0, 0.0, 5.0, 5.0]), np.array([1.0, 2.0, 3.0, 6.0, 7.0])
    assert slots(begin, end).tolist() == [0, 1, 2, 0, 1]


stretches = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=30)


@given(stretches)
def test_no_slot_is_shared_and_no_more_are_opened_than_ever_run_at_once(pairs):
    begin = np.array(sorted(b for b, _ in pairs), dtype=float)
    end = begin + [length for _, length in pairs]
    slot = slots(begin, end)
    for i in range(len(pairs)):
        for j in range(i):
            assert slot[i] != slot[j] or end[j] <= begin[i]
    at_once = max(int(((begin <= t) & (end > t)).sum()) for t in begin)
    assert slot.max() + 1 == at_once


@settings(max_examples=80, deadline=None)
@given(servers())
def test_busy_and_waiting_are_counted_right_at_every_change(server):
    scenario, stream, options, _ = server
    result = simulate(stream, scenario, **options)
    counted = result.occupancy()
    request, begin, end = residences(result.log)
    assert np.all(begin < end)
    assert np.all(np.diff(begin) >= 0)
    assert request.size == len(stream) + len(result.preemptions)
    for time, busy, waiting in zip(*counted.values(), strict=True):
        assert busy == ((begin <= time) & (end > time)).sum()
        present = (stream.arrival <= time) & (result.log.finish > time)
        assert waiting == present.sum() - busy


@settings(max_examples=60, deadline=None)
@given(servers())
def test_a_gantt_chart_has_no_overlap_and_stays_within_the_slots(server):
    scenario, stream, options, _ = server
    chart = simulate(stream, scenario, **options).gantt()
    assert chart["slot"].max() < options["max_sequences"]
    for slot in np.unique(chart["slot"]):
        mine = chart["slot"] == slot
        assert np.all(chart["end_s"][mine][:-1] <= chart["begin_s"][mine][1:])
