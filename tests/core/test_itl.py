"""The distribution of gaps kept as runs: every figure is that of the gaps written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import itl
from core.itl import ItlDistribution


def distribution(rows):
    first, growth, steps, weight = zip(*rows, strict=True)
    return ItlDistribution(
        np.array(first, dtype=float),
        np.array(growth, dtype=float),
        np.array(steps),
        np.array(weight),
    )


def written_out(rows):
    values = []
    for first, growth, steps, weight in rows:
        values += [first + growth * j for j in range(steps) for _ in range(weight)]
    return np.array(values)


# Sixteenths are exact, so that values of different runs fall on one another.
sixteenths = st.integers(1, 200).map(lambda n: n / 16)
growths = st.sampled_from([0.0, 0.0, 1 / 16, 1 / 4, 3.0, 1e-7, 0.01])
run_rows = st.lists(
    st.tuples(sixteenths, growths, st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=12
).filter(lambda rows: any(weight for *_, weight in rows))


@settings(max_examples=120, deadline=None)
@given(run_rows, st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_quantiles_are_those_of_the_values_written_out(rows, shares):
    got = distribution(rows).quantile(shares)
    expected = np.quantile(written_out(rows), shares)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(run_rows, st.lists(st.floats(0, 1), min_size=1, max_size=3), st.sampled_from([1, 2, 7]))
def test_halving_finds_the_same_quantiles_as_sorting(rows, shares, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(itl, "_FEW_VALUES", few)
        patch.setattr(itl, "_CELLS", 4)
        got = distribution(rows).quantile(shares)
    np.testing.assert_allclose(got, np.quantile(written_out(rows), shares), rtol=1e-12)


@given(run_rows, st.lists(sixteenths, min_size=1, max_size=8))
def test_counts_are_those_of_the_values_written_out(rows, limits):
    values = written_out(rows)
    counts = distribution(rows).at_most(limits)
    assert counts.tolist() == [int((values <= limit).sum()) for limit in limits]
    share = distribution(rows).share_at_most(limits)
    np.testing.assert_allclose(share, counts / values.size)


@given(st.floats(0.001, 0.1), st.floats(1e-7, 0.01), st.integers(1, 60), st.integers(0, 59))
def test_a_limit_on_a_value_counts_that_value(first, growth, steps, at):
    """Where the value lies is found by a division, which may fall on either side of it."""
    rows = [(first, growth, steps, 3)]
    value = first + growth * at
    limits = [np.nextafter(value, 0), value, np.nextafter(value, 1)]
    expected = [int((written_out(rows) <= limit).sum()) for limit in limits]
    assert distribution(rows).at_most(limits).tolist() == expected


@given(run_rows)
def test_count_mean_and_ends_are_those_of_the_values_written_out(rows):
    values, kept = written_out(rows), distribution(rows)
    assert kept.count == values.size
    assert kept.mean_s == pytest.approx(values.mean(), rel=1e-12)
    assert kept.least_s == values.min()
    assert kept.worst_s == values.max()


def test_a_median_between_two_gaps_is_their_middle():
    assert distribution([(1, 1, 3, 1), (10, 0, 1, 1)]).quantile(0.5) == 2.5


def test_values_that_differ_in_the_last_bit_are_told_apart():
    low = 1.0
    high = float(np.nextafter(low, 2))
    rows = [(low, 0.0, 10, 300), (high, 0.0, 10, 300)]
    assert distribution(rows).quantile([0, 0.49, 0.51, 1]).tolist() == [low, low, high, high]


def test_a_shape_is_kept_and_shares_outside_0_to_1_are_refused():
    kept = distribution([(1, 0.5, 4, 2)])
    assert kept.quantile([[0, 1], [0.5, 0.5]]).shape == (2, 2)
    assert kept.at_most([[0.5, 1.0, 9.0]]).tolist() == [[0, 2, 8]]
    with pytest.raises(ValueError, match="shares must be in"):
        kept.quantile(1.5)


def test_without_a_gap_there_is_no_quantile_and_no_mean():
    empty = ItlDistribution(*(np.zeros(0), np.zeros(0), np.zeros(0, int), np.zeros(0, int)))
    assert empty.count == 0
    assert np.isnan([empty.mean_s, empty.least_s, empty.worst_s]).all()
    with pytest.raises(ValueError, match="at least one gap"):
        empty.quantile(0.5)
    with pytest.raises(ValueError, match="at least one gap"):
        empty.share_at_most(0.5)
