"""Goodput against targets, counted by hand and by the request, and the knee of its curve."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.devices import DEVICES
from core.goodput import Latencies, knee_per_s
from core.models import MODELS
from core.requests import Lengths, random_stream
from core.scenario import Scenario
from core.scheduling import simulate

TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])
STREAM = random_stream(np.random.default_rng(4), 300, 9.0, Lengths(1024, 1.0), Lengths(60, 1.5))


def four() -> Latencies:
    return Latencies(
        ttft_s=np.array([1.0, 2.0, 2.0, 3.0]),
        mean_itl_s=np.array([0.1, 0.1, np.nan, 0.1]),
        worst_itl_s=np.array([0.1, 0.3, np.nan, 0.1]),
        duration_s=8.0,
    )


def test_both_targets_must_be_met_and_an_answer_of_one_token_has_no_gap_to_miss() -> None:
    assert four().met(2.0, 0.2) == 2
    assert four().met(2.0, 0.2, judge="mean") == 3
    assert four().met(2.0, 0.3) == 3
    assert four().met(3.0, 0.3) == 4
    assert four().met(0.5, 9.0) == 0
    assert four().met(2.0, 0.0) == 1
    assert four().share_met(2.0, 0.2) == 0.5
    assert four().goodput_per_s(2.0, 0.2) == 0.25


@pytest.mark.parametrize("judge", ["worst", "mean"])
def test_a_run_counts_the_requests_whose_own_gaps_meet_the_target(judge: str) -> None:
    """Each request's gaps taken out one by one; the median worst gap splits the stream."""
    run = simulate(STREAM, TEXTBOOK, token_budget=1024)
    gaps = [run.itl_of(request)[1] for request in range(len(STREAM))]
    pick = np.max if judge == "worst" else np.mean
    own = [pick(gap) if gap.size else 0.0 for gap in gaps]
    ttft, itl = float(np.quantile(run.ttft_s, 0.7)), float(np.median(own)) * 1.0001
    met = sum(a <= ttft and b <= itl for a, b in zip(run.ttft_s, own, strict=True))
    assert 30 < met < 270
    latencies = Latencies.of(run)
    assert latencies.met(ttft, itl, judge=judge) == met
    assert latencies.goodput_per_s(ttft, itl, judge=judge) == pytest.approx(
        met / (run.log.finish.max() - STREAM.arrival[0]), rel=1e-12
    )
    assert latencies.goodput_per_s(ttft, itl, judge=judge) == run.goodput_per_s(
        ttft, itl, judge=judge
    )


def test_looser_targets_never_lose_a_request() -> None:
    latencies = Latencies.of(simulate(STREAM, TEXTBOOK, token_budget=1024))
    counts = [[latencies.met(t, i) for i in (0.02, 0.06, 0.2)] for t in (0.1, 0.5, 5.0)]
    assert np.all(np.diff(counts, axis=0) >= 0)
    assert np.all(np.diff(counts, axis=1) >= 0)


def test_the_knee_lies_where_the_share_first_falls_below_the_wanted_one() -> None:
    assert knee_per_s([1, 2, 3], [1.0, 0.95, 0.85]) == pytest.approx(2.5)
    assert knee_per_s([1, 2, 3], [1.0, 0.85, 0.95]) == pytest.approx(1 + 0.1 / 0.15)
    assert knee_per_s([1, 2, 3], [1.0, 0.9, 0.0]) == 2.0
    assert knee_per_s([1, 2, 4], [1.0, 1.0, 0.0], wanted=0.5) == 3.0


def test_a_knee_outside_the_rates_is_said_so() -> None:
    assert knee_per_s([1, 2], [0.5, 1.0]) == 0.0
    assert math.isinf(knee_per_s([1, 2], [1.0, 0.9]))


@pytest.mark.parametrize(
    ("rates", "shares", "message"),
    [
        ([1, 2], [1.0], "two rows of one length"),
        ([], [], "two rows of one length"),
        ([2, 1], [1.0, 1.0], "rates_per_s must ascend"),
        ([0, 1], [1.0, 1.0], r"rates_per_s must be in \(0"),
        ([1, 2], [1.0, 1.5], r"shares must be in \[0, 1\], got 1.5"),
    ],
)
def test_a_curve_that_is_none_is_refused(
    rates: list[float], shares: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        knee_per_s(rates, shares)


def test_targets_and_judges_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="ttft_target_s must be in"):
        four().met(-1.0, 1.0)
    with pytest.raises(ValueError, match="itl_target_s must be in"):
        four().met(1.0, math.nan)
    with pytest.raises(ValueError, match="judge must be one of worst, mean; got 'best'"):
        four().met(1.0, 1.0, judge="best")  # type: ignore[arg-type]
