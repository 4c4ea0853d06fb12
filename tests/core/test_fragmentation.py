"""Reservation against paging: the reference's figures, a plain loop, and the laws of waste."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.fragmentation import KWON_FIGURE_2, lengths_needed, paged, reserved

PROGRAM = json.loads((Path(__file__).parent / "data" / "reference_pool_program.json").read_text())
BUDGET = 32_768


def xorshift_lengths(count, skip):
    state, drawn = 9, []
    for number in range(skip + count):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        if number >= skip:
            drawn.append(50 + int(state / 2**32 * 451))
    return drawn


def admit_one_by_one(lengths, budget, unit, blocks_for):
    sequences = units = held = 0
    for length in lengths:
        if (units + blocks_for(length)) * unit > budget:
            break
        sequences, units, held = sequences + 1, units + blocks_for(length), held + length
    return sequences, units, held


def test_the_reference_fits_sixteen_by_reservation():
    fit = reserved(PROGRAM["lengths"], budget_token=BUDGET, max_length_token=2_048)
    assert fit.sequences == PROGRAM["reserved_fits"] == 16
    assert fit.taken_token == BUDGET
    assert fit.waste_fraction == pytest.approx(PROGRAM["reservation_waste_fraction_first16"])
    assert not fit.censored


def test_the_reference_fits_all_sixty_four_in_1135_blocks_and_more_would_have_fitted():
    fit = paged(PROGRAM["lengths"], budget_token=BUDGET, block_size=16)
    assert fit.sequences == PROGRAM["paged_fits"] == 64
    assert fit.units == PROGRAM["paged_blocks_used"] == 1_135
    assert fit.taken_token == PROGRAM["paged_tokens_held"] == 18_160
    assert fit.held_token == PROGRAM["paged_token_sum"] == 17_679
    assert fit.waste_token == 481
    assert fit.waste_percent == pytest.approx(2.6486784140969166)
    assert fit.waste_fraction == pytest.approx(PROGRAM["paged_waste_fraction"])
    assert fit.censored


def test_uncensored_the_reference_generator_goes_on_to_fit_118():
    count = lengths_needed(budget_token=BUDGET, unit_token=16)
    lengths = xorshift_lengths(count, skip=208)
    assert lengths[:64] == PROGRAM["lengths"]
    fit = paged(lengths, budget_token=BUDGET, block_size=16)
    assert not fit.censored
    assert fit.sequences == 118
    assert (fit.sequences, fit.units, fit.held_token) == admit_one_by_one(
        lengths, BUDGET, 16, lambda length: -(-length // 16)
    )


@pytest.mark.parametrize("seed", range(5))
def test_any_distribution_agrees_with_admitting_one_by_one(seed):
    rng = np.random.default_rng(seed)
    lengths = np.concatenate((rng.integers(1, 40, 50), rng.geometric(0.01, 50), [1, 500]))
    sizes = np.array([[1, 7], [16, 900]])
    for budget in (1, 15, 900, 3_333, 10**9):
        fit = paged(lengths, budget_token=budget, block_size=sizes)
        assert fit.sequences.shape == fit.waste_token.shape == fit.censored.shape == sizes.shape
        for place in np.ndindex(sizes.shape):
            size = int(sizes[place])
            expected = admit_one_by_one(lengths, budget, size, lambda n, size=size: -(-n // size))
            got = (fit.sequences[place], fit.units[place], fit.held_token[place])
            assert got == expected
            assert fit.censored[place] == (expected[0] == len(lengths))


@pytest.mark.parametrize("limit", [500, 2_048, 30_000])
def test_reservation_agrees_with_admitting_one_by_one(limit):
    lengths = xorshift_lengths(200, skip=0)
    fit = reserved(lengths, budget_token=BUDGET, max_length_token=limit)
    assert (fit.sequences, fit.units, fit.held_token) == admit_one_by_one(
        lengths, BUDGET, limit, lambda length: 1
    )


def test_blocks_of_one_token_waste_nothing_and_blocks_of_the_maximum_are_a_reservation():
    lengths = xorshift_lengths(2_000, skip=0)
    fit = paged(lengths, budget_token=BUDGET, block_size=[1, 512])
    assert fit.waste_token[0] == 0
    booked = reserved(lengths, budget_token=BUDGET, max_length_token=512)
    assert fit.sequences[1] == booked.sequences
    assert fit.waste_token[1] == booked.waste_token


@pytest.mark.parametrize("size", [2, 16, 64])
def test_uniform_lengths_waste_half_a_block_less_half_a_token_each(size):
    lengths = np.tile(np.arange(1, 10 * size + 1), 3)
    fit = paged(lengths, budget_token=10**9, block_size=size)
    assert fit.waste_token / fit.sequences == (size - 1) / 2


def test_waste_is_zero_where_nothing_fits():
    fit = paged([100], budget_token=50, block_size=16)
    assert (fit.sequences, fit.taken_token, fit.waste_percent) == (0, 0, 0)
    assert not fit.censored


def test_enough_lengths_are_never_censored():
    for size in (1, 3, 16, 1_000):
        count = lengths_needed(budget_token=1_000, unit_token=size)
        assert not paged([1] * count, budget_token=1_000, block_size=size).censored


def test_columns_have_one_row_a_size_even_for_one_size():
    many = paged([5, 6], budget_token=64, block_size=[4, 8]).columns()
    one = paged([5, 6], budget_token=64, block_size=4).columns()
    assert {name: len(column) for name, column in many.items()} == dict.fromkeys(many, 2)
    assert {name: len(column) for name, column in one.items()} == dict.fromkeys(one, 1)
    assert list(many["waste_token"]) == [5, 5]
    assert list(many["taken_token"]) == [16, 16]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paged([5], budget_token=9, block_size=0), r"block_size must be in \[1, .* got 0"),
        (lambda: paged([0], budget_token=9, block_size=4), r"lengths_token must be in .* got 0"),
        (lambda: paged([], budget_token=9, block_size=4), "at least one length, got shape"),
        (lambda: paged([[1]], budget_token=9, block_size=4), r"got shape \(1, 1\)"),
        (lambda: paged([5], budget_token=0, block_size=4), "budget_token must be in .* got 0"),
        (lambda: paged(["x"], budget_token=9, block_size=4), "lengths_token must be numbers"),
        (
            lambda: reserved([5, 11], budget_token=99, max_length_token=10),
            r"lengths_token must not exceed max_length_token \(10\), got 11",
        ),
        (lambda: lengths_needed(budget_token=9, unit_token=0), "unit_token must be in"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_kwons_figure_2_runs_from_a_fifth_useful_to_nearly_all():
    assert [(row.system, row.useful_fraction) for row in KWON_FIGURE_2] == [
        ("Orca (Max)", 0.204),
        ("Orca (Pow2)", 0.268),
        ("Orca (Oracle)", 0.382),
        ("vLLM", 0.963),
    ]
