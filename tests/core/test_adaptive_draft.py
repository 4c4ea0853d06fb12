import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adaptive_draft import (
    START_DRAFT_LENGTH,
    adaptive_draft,
    adaptive_path,
    next_draft_length,
)

PUBLISHED = json.loads(
    (Path(__file__).parent / "data" / "speculation_published.json").read_text("utf-8")
)


def stationary_by_linear_algebra(alpha: float, longest: int) -> np.ndarray:
    """The chain's stationary shares from its written-out transition matrix; index 0 is γ = 1."""
    matrix = np.zeros((longest, longest))
    for gamma in range(1, longest + 1):
        full = alpha**gamma
        matrix[gamma - 1, min(gamma + 2, longest) - 1] += full
        matrix[gamma - 1, max(gamma - 1, 1) - 1] += 1 - full
    system = np.vstack([matrix.T - np.eye(longest), np.ones(longest)])
    return np.linalg.lstsq(system, np.append(np.zeros(longest), 1.0), rcond=None)[0]


def test_path_of_the_published_example() -> None:
    matches = [True, True, False, False, False, True]
    assert START_DRAFT_LENGTH == 5
    assert adaptive_path(matches).tolist() == [5, 7, 9, 8, 7, 6, 8]


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 9))
def test_path_moves_by_the_rule_and_stays_within_floor_and_cap(
    matches: list[bool], start: int
) -> None:
    path = adaptive_path(matches, start, max_gamma=9)
    assert path[0] == start
    assert path.size == len(matches) + 1
    for before, full, after in zip(path[:-1], matches, path[1:], strict=True):
        assert after == (min(9, before + 2) if full else max(1, before - 1))
    assert path.min() >= 1


def test_stationary_table() -> None:
    for alpha, mean_gamma, tokens in PUBLISHED["adaptive"]:
        result = adaptive_draft(alpha)
        assert round(float(result.mean_gamma), 4) == mean_gamma
        assert round(float(result.tokens_per_target_pass), 4) == tokens


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("longest", [1, 2, 3, 12])
def test_shares_solve_the_chain_written_out_as_a_matrix(alpha: float, longest: int) -> None:
    result = adaptive_draft(alpha, longest)
    expected = stationary_by_linear_algebra(alpha, longest)
    assert result.share[0] == 0
    assert result.share[1:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9, 0.99])
def test_rises_and_falls_balance(alpha: float) -> None:
    # A rise adds 2 and a fall takes 1, except at 1, so in the long run 2·full = falls above 1; and
    # a pass yields (1 − α·full)/(1 − α) tokens whatever the mix of draft lengths.
    result = adaptive_draft(alpha)
    full = float((result.share * alpha ** np.arange(result.share.size)).sum())
    falls = 1 - full - float(result.share[1]) * (1 - alpha)
    assert 2 * full == pytest.approx(falls, rel=1e-9)
    tokens = (1 - alpha * full) / (1 - alpha)
    assert float(result.tokens_per_target_pass) == pytest.approx(tokens, rel=1e-9)


def test_nothing_accepted_stays_at_one_and_everything_accepted_at_the_cap() -> None:
    result = adaptive_draft([0.0, 1.0], max_gamma=30)
    assert result.mean_gamma.tolist() == [1.0, 30.0]
    assert result.tokens_per_target_pass.tolist() == [1.0, 31.0]


def test_a_long_random_walk_by_the_rule_has_the_stationary_mean() -> None:
    rng = np.random.default_rng(5)
    gamma, total, rounds = START_DRAFT_LENGTH, 0, 40_000
    for draws in rng.random(rounds):
        total += gamma
        gamma = next_draft_length(gamma, draws < 0.8**gamma)
    assert total / rounds == pytest.approx(float(adaptive_draft(0.8).mean_gamma), rel=0.03)


def test_speedup_is_tokens_over_the_cost_of_a_mean_round() -> None:
    result = adaptive_draft([0.5, 0.8])
    expected = [1.7251 / 1.22729, 3.6732 / 1.54483]
    assert result.speedup(0.1) == pytest.approx(expected, rel=1e-4)


def test_arrays_agree_with_single_calls() -> None:
    alpha = np.array([[0.1, 0.5], [0.9, 1.0]])
    result = adaptive_draft(alpha, 40)
    assert result.share.shape == (41, 2, 2)
    for index in np.ndindex(alpha.shape):
        single = adaptive_draft(alpha[index], 40)
        assert result.mean_gamma[index] == pytest.approx(float(single.mean_gamma), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: next_draft_length(0, True), "gamma must be in"),
        (lambda: next_draft_length(9, True, 8), "gamma must be in"),
        (lambda: adaptive_path([], 0), "start must be in"),
        (lambda: adaptive_draft(1.5), "alpha must be in"),
        (lambda: adaptive_draft(0.5, 0), "max_gamma must be in"),
        (lambda: adaptive_draft(0.5).speedup(-1), "draft_cost_ratio must be in"),
    ],
)
def test_impossible_values_are_refused_by_name(call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()
