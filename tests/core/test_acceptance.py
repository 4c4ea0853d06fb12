import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.acceptance import MAX_DRAFT_LENGTH, expected_tokens, tokens_variance

PUBLISHED = json.loads(
    (Path(__file__).parent / "data" / "speculation_published.json").read_text("utf-8")
)
alphas = st.floats(0, 1)
gammas = st.integers(0, 200)


def yields(alpha: Fraction, gamma: int) -> dict[int, Fraction]:
    """Tokens of a pass and their probability, by walking through every outcome of the drafts."""
    table: dict[int, Fraction] = {}
    for outcome in itertools.product((True, False), repeat=gamma):
        probability = math.prod(
            (alpha if kept else 1 - alpha for kept in outcome), start=Fraction(1)
        )
        accepted = next((i for i, kept in enumerate(outcome) if not kept), gamma)
        table[accepted + 1] = table.get(accepted + 1, Fraction(0)) + probability
    return table


@given(alphas, gammas)
def test_expectation_is_the_sum_of_the_powers_of_alpha(alpha: float, gamma: int) -> None:
    powers = math.fsum(alpha**k for k in range(gamma + 1))
    assert float(expected_tokens(alpha, gamma)) == pytest.approx(powers, rel=1e-12)


@pytest.mark.parametrize("alpha", [1 - 2.0**-40, 1 - 1e-9, 1 - 1e-4, 1e-12])
def test_expectation_keeps_its_digits_near_the_ends(alpha: float) -> None:
    exact = sum(Fraction(alpha) ** k for k in range(101))
    assert float(expected_tokens(alpha, 100)) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("gamma", range(7))
@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)])
def test_mean_and_variance_match_every_outcome_counted(alpha: Fraction, gamma: int) -> None:
    table = yields(alpha, gamma)
    mean = sum(tokens * p for tokens, p in table.items())
    variance = sum((tokens - mean) ** 2 * p for tokens, p in table.items())
    assert float(expected_tokens(float(alpha), gamma)) == pytest.approx(float(mean), rel=1e-14)
    assert float(tokens_variance(float(alpha), gamma)) == pytest.approx(float(variance), abs=1e-13)


@given(gammas)
def test_all_accepted_gives_gamma_plus_one_exactly(gamma: int) -> None:
    assert float(expected_tokens(1.0, gamma)) == gamma + 1
    assert float(tokens_variance(1.0, gamma)) == 0


@given(alphas)
def test_no_draft_gives_one_token_exactly(alpha: float) -> None:
    assert float(expected_tokens(alpha, 0)) == 1
    assert float(tokens_variance(alpha, 0)) == 0


def test_nothing_accepted_gives_one_token_exactly() -> None:
    assert expected_tokens(0.0, np.arange(20)).tolist() == [1.0] * 20


def test_arrays_broadcast_and_agree_with_single_calls() -> None:
    alpha, gamma = np.array([[0.0], [0.3], [1.0]]), np.array([0, 1, 4, 16])
    mean, variance = expected_tokens(alpha, gamma), tokens_variance(alpha, gamma)
    assert mean.shape == variance.shape == (3, 4)
    for i, j in itertools.product(range(3), range(4)):
        assert mean[i, j] == expected_tokens(alpha[i, 0], gamma[j])
        assert variance[i, j] == tokens_variance(alpha[i, 0], gamma[j])
    assert expected_tokens(np.zeros((0, 3)), 2).shape == (0, 3)


def test_reference_values() -> None:
    assert float(expected_tokens(0.8, 4)) == pytest.approx(3.3616, rel=1e-14)
    assert float(tokens_variance(0.8, 4)) == pytest.approx(2.57004544, rel=1e-14)
    standard_error = math.sqrt(float(tokens_variance(0.8, 4)) / 200_000)
    assert standard_error == pytest.approx(0.0035847213559773395, rel=1e-12)


def test_speed_column_of_leviathan_table_1() -> None:
    for alpha, gamma, _, speed in PUBLISHED["leviathan_table1"]:
        assert round(float(expected_tokens(alpha, gamma)), 2) == speed


def test_leviathan_bigram_draft() -> None:
    assert round(float(expected_tokens(0.2, 3)), 2) == 1.25


def test_long_drafts_approach_the_oracle_limit_from_below() -> None:
    alpha = np.array([0.1, 0.5, 0.9])
    limit = 1 / (1 - alpha)
    assert np.all(expected_tokens(alpha, 10) < limit)
    assert expected_tokens(alpha, MAX_DRAFT_LENGTH) == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "gamma", "named"),
    [
        (-0.1, 1, "alpha must be in"),
        (1.1, 1, "alpha must be in"),
        (float("nan"), 1, "alpha must be in"),
        (0.5, -1, "gamma must be in"),
        (0.5, 2.5, "gamma must be whole"),
        (0.5, MAX_DRAFT_LENGTH + 1, "gamma must be in"),
        ("much", 1, "alpha must be numbers"),
    ],
)
def test_impossible_values_are_refused_by_name(alpha: object, gamma: object, named: str) -> None:
    for function in (expected_tokens, tokens_variance):
        with pytest.raises(ValueError, match=named):
            function(alpha, gamma)
