"""Request streams: the reference generator draw by draw, and random streams by their moments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.requests import (
    Lengths,
    RequestStream,
    Xorshift32,
    fixed_batch,
    random_stream,
    reference_stream,
)

DATA = json.loads((Path(__file__).parent / "data" / "batching_vectors.json").read_text())


def stream(arrival, prompt, output, **more):
    return RequestStream(np.array(arrival), np.array(prompt), np.array(output), **more)


def test_the_first_draw_from_state_9_is_worked_out_by_hand():
    # By hand: 9 ^ 9<<13 = 73,737; >>17 of that is 0; 73,737 ^ 73,737<<5 = 2,433,321.
    draws = Xorshift32(9)
    assert draws.next() == 2_433_321 / 4_294_967_296
    assert draws.state == 2_433_321


def test_the_programs_591_994_draws_end_in_its_final_state():
    draws = Xorshift32(9)
    for _ in range(591_994):
        draws.next()
    assert draws.state == 3_748_894_531


@given(st.integers(1, 2**32 - 1))
def test_one_draw_is_three_shifts_within_32_bits(state):
    bits = [state >> i & 1 for i in range(32)]
    for shift in (13, -17, 5):
        moved = [bits[i - shift] if 0 <= i - shift < 32 else 0 for i in range(32)]
        bits = [a ^ b for a, b in zip(bits, moved, strict=True)]
    draws = Xorshift32(state)
    value = draws.next()
    assert draws.state == sum(bit << i for i, bit in enumerate(bits))
    assert value == draws.state / 4294967296


@given(st.integers(1, 2**32 - 1), st.integers(-5, 5), st.integers(0, 200))
def test_between_reaches_both_ends_and_no_further(state, low, width):
    draws = Xorshift32(state)
    seen = {draws.between(low, low + width) for _ in range(50)}
    assert min(seen) >= low
    assert max(seen) <= low + width


def test_between_takes_every_value_including_the_ends():
    draws = Xorshift32(1)
    assert {draws.between(3, 5) for _ in range(200)} == {3, 4, 5}


@pytest.mark.parametrize("state", [0, -1, 2**32, 1.5, "9", True])
def test_a_state_outside_the_generator_is_refused(state):
    with pytest.raises(ValueError, match="state must be"):
        Xorshift32(state)


def test_between_refuses_an_empty_range():
    with pytest.raises(ValueError, match="high must be at least low = 4, got 3"):
        Xorshift32(1).between(4, 3)


@pytest.mark.parametrize("vector", DATA["vectors"], ids=lambda v: str(v["rng_state_before_stream"]))
def test_the_reference_stream_is_drawn_gap_output_prompt(vector):
    made = reference_stream(
        vector["rng_state_before_stream"],
        vector["requests"],
        vector["max_gap"],
        vector["output_low"],
        vector["output_high"],
    )
    assert made.unit == "steps"
    assert made.arrival.tolist() == vector["arrival"]
    assert made.prompt_token.tolist() == vector["prompt"]
    assert made.output_token.tolist() == vector["output"]


def test_the_programs_own_stream_follows_88_draws_and_takes_120_more():
    draws, counted = Xorshift32(9), Xorshift32(9)
    for _ in range(DATA["program"]["draws_before_stream"]):
        draws.next()
    made = reference_stream(draws, 40, 6, 8, 64)
    rows = zip(made.arrival, made.prompt_token, made.output_token, strict=True)
    assert [list(map(int, row)) for row in rows] == DATA["program"]["stream"]
    for _ in range(88 + 120):
        counted.next()
    assert draws.state == counted.state


def test_poisson_arrivals_have_their_rate_and_exponential_gaps():
    made = random_stream(np.random.default_rng(3), 40_000, 4.0, Lengths(1000), Lengths(100))
    gaps = np.diff(made.arrival)
    # Four standard errors of the mean and of the variation of 40,000 exponential gaps.
    assert gaps.mean() == pytest.approx(0.25, rel=4 / 200)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=4 / 200)
    assert np.mean(gaps > 0.25) == pytest.approx(np.exp(-1), abs=4 * 0.5 / 200)
    assert set(made.prompt_token) == {1000}
    assert set(made.output_token) == {100}


@pytest.mark.parametrize("gap_cv", [0.0, 0.5, 3.0])
def test_arrivals_come_with_the_variation_asked_for(gap_cv):
    generator = np.random.default_rng(5)
    made = random_stream(generator, 100_000, 10.0, Lengths(10), Lengths(10), gap_cv=gap_cv)
    measured = made.statistics()
    assert measured["rate"] == pytest.approx(10.0, rel=0.01 + 0.02 * gap_cv)
    assert measured["gap_cv"] == pytest.approx(gap_cv, rel=0.05, abs=1e-9)


def test_lognormal_lengths_have_their_mean_and_variation_and_stay_in_range():
    lengths = Lengths(1000, cv=1.0, high=100_000).draw(np.random.default_rng(7), 200_000)
    assert lengths.mean() == pytest.approx(1000, rel=0.01)
    assert lengths.std() / lengths.mean() == pytest.approx(1.0, rel=0.03)
    assert np.median(lengths) == pytest.approx(1000 / np.sqrt(2), rel=0.01)
    held = Lengths(100, cv=2.0, low=50, high=150).draw(np.random.default_rng(7), 10_000)
    assert held.min() == 50
    assert held.max() == 150


def test_the_same_generator_state_gives_the_same_stream():
    def made(seed):
        generator = np.random.default_rng(seed)
        return random_stream(generator, 50, 2.0, Lengths(100, 1.0), Lengths(10, 0.5), gap_cv=2.0)

    first, again, other = made(1), made(1), made(2)
    assert np.array_equal(first.arrival, again.arrival)
    assert np.array_equal(first.prompt_token, again.prompt_token)
    assert np.array_equal(first.output_token, again.output_token)
    assert not np.array_equal(first.arrival, other.arrival)


def test_a_fixed_batch_arrives_at_once_and_is_all_alike():
    made = fixed_batch(3, 100, 7, unit="steps")
    assert made.arrival.tolist() == [0, 0, 0]
    assert made.prompt_token.tolist() == [100] * 3
    assert made.output_token.tolist() == [7] * 3
    assert np.isnan(made.statistics()["rate"])


def test_statistics_by_hand():
    row = stream([0, 1, 3, 6], [10, 20, 30, 40], [1, 1, 2, 4]).statistics()
    # Gaps 1, 2, 3: mean 2, population variance 2/3.
    assert row["n"] == 4
    assert row["duration"] == 6
    assert row["rate"] == pytest.approx(4 / 6)
    assert row["gap_cv"] == pytest.approx(np.sqrt(2 / 3) / 2)
    assert row["prompt_mean"] == 25
    assert row["prompt_p50"] == 25
    assert row["prompt_p90"] == pytest.approx(37)
    assert row["output_max"] == 4


def test_another_rate_keeps_the_shape_of_the_arrivals():
    made = stream([5, 6, 9], [1, 2, 3], [4, 5, 6]).at_rate(4.0)
    assert made.arrival == pytest.approx([0, 0.125, 0.5])
    assert made.prompt_token.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="two different times"):
        fixed_batch(3, 1, 1).at_rate(1.0)
    with pytest.raises(ValueError, match="unit of the stream must be one of s; got 'steps'"):
        fixed_batch(3, 1, 1, unit="steps").at_rate(1.0)


def test_seconds_and_steps_turn_into_one_another():
    in_seconds = stream([0.0, 0.024, 0.05], [1, 1, 1], [1, 1, 1])
    assert in_seconds.in_steps(0.012).arrival.tolist() == [0, 2, 4]
    back = in_seconds.in_steps(0.012).in_seconds(0.012)
    assert back.unit == "s"
    assert back.arrival == pytest.approx([0, 0.024, 0.048])
    with pytest.raises(ValueError, match="unit of the stream must be one of steps; got 's'"):
        in_seconds.in_seconds(1.0)


def test_a_streams_arrays_are_its_own_and_read_only():
    arrival = np.array([0.0, 1.0])
    made = RequestStream(arrival, np.array([1, 2]), np.array([1, 2]))
    arrival[0] = 9.0
    assert made.arrival[0] == 0
    for values in (made.arrival, made.prompt_token, made.output_token):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "1 to 5,000,000 requests"),
        (([[0.0]], [1], [1]), "1 to 5,000,000 requests"),
        (([1.0, 0.5], [1, 1], [1, 1]), "request 1 arrives at 0.5, after 1"),
        (([-1.0], [1], [1]), "arrival must be in"),
        (([np.nan], [1], [1]), "arrival must be in"),
        (([1.7e9], [1], [1]), r"arrival must be in \[0, 100,000,000\], got 1,700,000,000"),
        (([0.0], [0], [1]), "prompt_token must be in"),
        (([0.0], [1], [0]), "output_token must be in"),
        (([0.0], [1.5], [1]), "prompt_token must be whole tokens"),
        (([0.0, 1.0], [1], [1, 1]), "prompt_token must have one value for each of 2"),
        ((["x"], [1], [1]), "arrival must be numbers"),
    ],
)
def test_what_is_not_a_stream_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        stream(*arguments)


def test_steps_are_whole_and_block_ids_come_one_row_a_request():
    with pytest.raises(ValueError, match="whole steps"):
        stream([0.5], [1], [1], unit="steps")
    with pytest.raises(ValueError, match="unit must be one of steps, s; got 'ms'"):
        stream([0.0], [1], [1], unit="ms")
    with pytest.raises(ValueError, match="hash_ids must have one entry for each of 1"):
        stream([0.0], [1], [1], hash_ids=((1,), (2,)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reference_stream(9, 0, 6, 8, 64), "requests must be in"),
        (lambda: reference_stream(9, 1, -1, 8, 64), "max_gap must be in"),
        (lambda: reference_stream(9, 1, 6, 0, 64), "output_low must be in"),
        (lambda: reference_stream(9, 1, 6, 8, 7), r"output_high must be in \[8"),
        (lambda: Lengths(0), "mean_token must be in"),
        (lambda: Lengths(10, cv=-1), "cv must be in"),
        (lambda: Lengths(10, low=20, high=10), r"high must be in \[20"),
        (
            lambda: random_stream(np.random.default_rng(0), 1, 0.0, Lengths(1), Lengths(1)),
            "rate_per_s must be in",
        ),
    ],
)
def test_impossible_streams_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
