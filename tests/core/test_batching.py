"""Static and continuous batching in unit steps: golden runs, a step-by-step oracle, and laws."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batching import simulate
from core.requests import RequestStream, Xorshift32, fixed_batch, reference_stream
from tests.core.oracles import step_by_step

DATA = json.loads((Path(__file__).parent / "data" / "batching_vectors.json").read_text())
POLICIES = {"static": False, "continuous": True}


def stream(rows):
    arrival, prompt, output = zip(*rows, strict=True)
    return RequestStream(np.array(arrival), np.array(prompt), np.array(output), unit="steps")


def program_stream():
    draws = Xorshift32(9)
    for _ in range(DATA["program"]["draws_before_stream"]):
        draws.next()
    return reference_stream(draws, 40, 6, 8, 64)


request_rows = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 50), st.integers(1, 30)), min_size=1, max_size=25
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("vector", DATA["vectors"], ids=lambda v: str(v["rng_state_before_stream"]))
def test_every_reference_vector_is_reproduced(vector, policy):
    rows = zip(vector["arrival"], vector["prompt"], vector["output"], strict=True)
    result, golden = simulate(stream(rows), vector["slots"], POLICIES[policy]), vector[policy]
    assert result.steps == golden["steps"]
    assert result.start.tolist() == golden["start"]
    assert result.finish.tolist() == golden["finish"]
    assert result.mean_latency_steps == pytest.approx(golden["mean_latency"], rel=1e-12)
    assert result.utilization == pytest.approx(golden["utilization"], rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_programs_outcome_is_exact_as_fractions(policy):
    result, golden = simulate(program_stream(), 8, POLICIES[policy]), DATA["program"][policy]
    assert result.steps == golden["steps"]
    assert Fraction(int(result.latency_steps.sum()), 40) == Fraction(golden["mean_latency"])
    assert Fraction(golden["generated"], result.steps * 8) == Fraction(golden["util"])
    assert result.utilization == golden["util_f"]
    assert result.mean_latency_steps == golden["mean_latency_f"]


@pytest.mark.parametrize("slots", [int(slots) for slots in DATA["program"]["sweep_slots"]])
def test_the_sweep_over_slots_is_reproduced(slots):
    for continuous, golden in zip(
        (False, True), DATA["program"]["sweep_slots"][str(slots)], strict=True
    ):
        result = simulate(program_stream(), slots, continuous)
        assert result.steps == golden[0]
        assert result.mean_latency_steps == pytest.approx(golden[1], rel=1e-12)
        assert result.utilization == pytest.approx(golden[2], rel=1e-12)


@settings(max_examples=150, deadline=None)
@given(request_rows, st.integers(1, 9), st.booleans())
def test_the_outcome_is_that_of_a_step_by_step_simulation(rows, slots, continuous):
    result = simulate(stream(rows), slots, continuous)
    slow = step_by_step.run(rows, None, continuous=continuous, max_sequences=slots)
    assert result.start.tolist() == [job.admitted for job in slow.jobs]
    assert result.finish.tolist() == [job.token_times[-1] for job in slow.jobs]
    assert result.steps == slow.end


@settings(max_examples=100, deadline=None)
@given(request_rows, st.integers(1, 9), st.booleans())
def test_every_token_is_made_once_and_no_slot_twice(rows, slots, continuous):
    result = simulate(stream(rows), slots, continuous)
    assert np.array_equal(result.finish - result.start, [output for _, _, output in rows])
    assert np.all(result.start >= [arrival for arrival, _, _ in rows])
    busy = np.zeros(result.steps, dtype=int)
    taken = set()
    for slot, start, finish in zip(result.slot, result.start, result.finish, strict=True):
        busy[start:finish] += 1
        cells = {(slot, step) for step in range(start, finish)}
        assert not cells & taken
        taken |= cells
    assert busy.max() <= slots
    assert result.slot.max() < slots
    assert busy.sum() / (result.steps * slots) == pytest.approx(result.utilization, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(request_rows, st.integers(1, 8), st.integers(1, 4))
def test_with_continuous_batching_more_slots_never_make_anyone_finish_later(rows, slots, more):
    few, many = (simulate(stream(rows), count, True) for count in (slots, slots + more))
    assert np.all(many.finish <= few.finish)


def test_with_static_batching_more_slots_can_make_everything_later():
    # Two short answers and two long ones: a third slot puts the long ones into different batches.
    rows = [(0, 1, 1), (0, 1, 1), (0, 1, 100), (0, 1, 100)]
    assert simulate(stream(rows), 2, False).steps == 101
    assert simulate(stream(rows), 3, False).steps == 200


@settings(max_examples=100, deadline=None)
@given(request_rows, st.integers(1, 9))
def test_continuous_batching_never_finishes_a_request_later_than_static(rows, slots):
    static, rolling = (simulate(stream(rows), slots, continuous) for continuous in (False, True))
    assert np.all(rolling.finish <= static.finish)


@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 40))
def test_equal_answers_that_arrive_together_tie(requests, slots, output):
    together = fixed_batch(requests, 16, output, unit="steps")
    static, rolling = (simulate(together, slots, continuous) for continuous in (False, True))
    assert np.array_equal(static.finish, rolling.finish)
    assert static.steps == -(-requests // slots) * output


@given(request_rows)
def test_one_slot_serves_in_turn_whatever_the_policy(rows):
    static, rolling = (simulate(stream(rows), 1, continuous) for continuous in (False, True))
    assert np.array_equal(static.finish, rolling.finish)
    clock = 0
    for (arrival, _, output), finish in zip(rows, rolling.finish, strict=True):
        clock = max(clock, arrival) + output
        assert finish == clock


def test_columns_and_occupancy_by_hand():
    # Two slots. A 0–3; B arrives at 1, 1–2; C and D arrive at 1: C takes B's slot at 2.
    rows = [(0, 5, 3), (1, 5, 1), (1, 5, 2), (1, 5, 1)]
    result = simulate(stream(rows), 2, True)
    assert result.start.tolist() == [0, 1, 2, 3]
    assert result.finish.tolist() == [3, 2, 4, 4]
    columns = result.columns()
    assert columns["slot"].tolist() == [0, 1, 1, 0]
    assert columns["latency_steps"].tolist() == [3, 1, 3, 3]
    assert {len(values) for values in columns.values()} == {4}
    occupancy = result.occupancy()
    assert occupancy["time"].tolist() == [0, 1, 2, 3, 4]
    assert occupancy["busy"].tolist() == [1, 2, 2, 2, 0]
    assert occupancy["waiting"].tolist() == [0, 2, 1, 0, 0]


def test_empty_steps_before_an_arrival_count():
    result = simulate(stream([(6, 1, 2), (20, 1, 1)]), 4, True)
    assert result.start.tolist() == [6, 20]
    assert result.steps == 21
    assert result.utilization == 3 / (21 * 4)


def test_seconds_and_impossible_slots_are_refused_by_name():
    in_seconds = fixed_batch(2, 1, 1)
    with pytest.raises(ValueError, match="unit of the stream must be one of steps; got 's'"):
        simulate(in_seconds, 8, True)
    with pytest.raises(ValueError, match="slots must be in"):
        simulate(fixed_batch(2, 1, 1, unit="steps"), 0, True)
