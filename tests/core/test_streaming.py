"""Reading timelines and the observer: by hand, by brute force over draws, and at the limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from core.streaming import CacheHitTiming, Observer, answer_timeline, cache_hit_timing, observer

S = Scenario(MODELS["8B"], DEVICES["A100"])


def test_a_thousand_tokens_at_a_hundred_a_second_take_ten_seconds_either_way() -> None:
    """The example of TGI's documentation."""
    answer = answer_timeline(0.01, 100, 1000)
    assert answer.e2e_s == pytest.approx(10.0)
    assert answer.streamed_s()[0] == pytest.approx(0.01)
    assert answer.streamed_s()[-1] == pytest.approx(10.0)
    assert answer.whole_s().tolist() == pytest.approx([10.0] * 1000)


def test_streamed_tokens_come_one_gap_apart_and_none_after_the_whole_answer() -> None:
    answer = answer_timeline(0.115, 40, 300)
    assert np.diff(answer.streamed_s()) == pytest.approx(np.full(299, 0.025))
    assert np.all(answer.streamed_s() <= answer.whole_s() + 1e-12)


@given(st.floats(0, 5), st.floats(0.5, 500), st.integers(1, 400), st.floats(0, 20))
def test_what_is_made_by_a_time_is_what_a_loop_counts(
    ttft: float, rate: float, tokens: int, at: float
) -> None:
    counted, moment = 0, ttft
    while counted < tokens and moment <= at - 1e-9:
        counted += 1
        moment = ttft + counted / rate
    made = int(answer_timeline(ttft, rate, tokens).made_by(at))
    assert made in (counted, counted + 1)
    if abs(moment - at) > 1e-6:
        assert made == counted


def test_a_token_counts_from_the_moment_it_is_there() -> None:
    assert answer_timeline(0.1, 100, 1000).made_by([0.05, 0.1, 2]).tolist() == [0, 1, 191]
    assert int(answer_timeline(0, 100, 10).made_by(0)) == 1


def test_an_answer_of_one_token_has_no_gap() -> None:
    assert answer_timeline(0.2, 1, 1).e2e_s == 0.2


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("ttft_s", (-1, 100, 10)),
        ("token_per_s", (0, 0, 10)),
        ("tokens", (0, 100, 0)),
        ("tokens", (0, 100, 2.5)),
    ],
)
def test_a_bad_answer_is_refused_by_name(field: str, values: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match=field):
        answer_timeline(*values)


def test_a_miss_prefills_all_and_a_hit_only_what_follows_the_prefix() -> None:
    """By hand: 2N·n + 4·L·H·Q·pairs over 312e12, and the weights and 2,176 tokens over 2e12."""
    timing = cache_hit_timing(S, 2048, 128)
    miss = (2 * 8e9 * 2176 + 524_288 * 2176**2 / 2) / 312e12
    hit = (16e9 + 131_072 * 2176) / 2e12
    assert timing.miss_s == pytest.approx(miss)
    assert timing.hit_s == pytest.approx(hit)
    assert timing.gap_s == pytest.approx(miss - hit)


def test_only_full_blocks_of_a_prefix_are_skipped() -> None:
    assert cache_hit_timing(S, 2047, 128).cached_token == 2032
    assert cache_hit_timing(S, 15, 128) == CacheHitTiming(
        143, 0, cache_hit_timing(S, 0, 143).miss_s, cache_hit_timing(S, 0, 143).miss_s
    )


@pytest.mark.parametrize("model", ["8B", "Mixtral-8x7B", "Gemma-2-9B", "Qwen3.5-27B"])
@pytest.mark.parametrize("prefix", [0, 16, 1024, 30_000])
def test_a_hit_never_takes_longer_than_a_miss(model: str, prefix: int) -> None:
    timing = cache_hit_timing(Scenario(MODELS[model], DEVICES["H100 SXM"], 2), prefix, 64)
    assert timing.hit_s <= timing.miss_s


OBSERVERS = [Observer(0.01, 0.11, 0.05), Observer(0.008, 0.115, 0.2), Observer(0.5, 0.51, 0.02)]


@pytest.mark.parametrize("eye", OBSERVERS)
def test_the_accuracy_is_that_of_guessing_a_hundred_thousand_draws(eye: Observer) -> None:
    """Brute force: numpy's own gamma draws, guessed at the threshold."""
    rng = np.random.default_rng(3)
    wait = rng.gamma(4, eye.noise_s / 2, (2, 100_000))
    hits, misses = eye.hit_s + wait[0], eye.miss_s + wait[1]
    right = (np.mean(hits < eye.threshold_s) + np.mean(misses >= eye.threshold_s)) / 2
    assert eye.accuracy == pytest.approx(right, abs=0.005)


@pytest.mark.parametrize("eye", OBSERVERS)
def test_no_other_threshold_guesses_better(eye: Observer) -> None:
    tried = np.linspace(0, eye.miss_s + 10 * eye.noise_s, 20_001)
    shares = 0.5 * (1 + eye.share_below(tried, eye.hit_s) - eye.share_below(tried, eye.miss_s))
    assert shares.max() <= eye.accuracy + 1e-12
    assert tried[shares.argmax()] == pytest.approx(eye.threshold_s, abs=2e-3 * eye.noise_s + 1e-4)


def test_the_wait_has_the_deviation_it_is_named_after() -> None:
    eye = Observer(0.0, 1.0, 0.05)
    edges = np.linspace(0, 2, 200_001)
    share = np.diff(eye.share_below(edges, 0.0))
    middle = (edges[1:] + edges[:-1]) / 2
    mean = share @ middle
    assert mean == pytest.approx(0.1, rel=1e-4)
    assert math.sqrt(share @ (middle - mean) ** 2) == pytest.approx(0.05, rel=1e-4)


def test_no_time_is_below_the_work_itself() -> None:
    eye = Observer(0.01, 0.11, 0.05)
    assert eye.share_below([0.0, 0.0099, 0.01], 0.01).tolist() == [0, 0, 0]


def test_without_a_gap_a_guess_is_a_coin_and_with_a_salt_there_is_no_gap() -> None:
    timing = cache_hit_timing(S, 2048, 128)
    assert observer(timing, 0.05, salted=True).accuracy == 0.5
    assert observer(timing, 0.05).accuracy > 0.85


def test_little_noise_tells_all_and_much_noise_nothing() -> None:
    timing = cache_hit_timing(S, 2048, 128)
    accuracies = [observer(timing, noise).accuracy for noise in (1e-4, 0.01, 0.1, 1.0, 100.0)]
    assert accuracies == sorted(accuracies, reverse=True)
    assert accuracies[0] == pytest.approx(1.0)
    assert accuracies[-1] == pytest.approx(0.5, abs=1e-3)


def test_accuracy_hangs_on_gap_over_noise_alone() -> None:
    first, second = Observer(0.01, 0.11, 0.05), Observer(3.0, 3.002, 0.001)
    assert first.accuracy == pytest.approx(second.accuracy)


def test_the_threshold_tends_to_its_limit_as_the_gap_vanishes() -> None:
    limit = Observer(1.0, 1.0, 0.1).threshold_s
    assert limit == pytest.approx(1.15)
    assert Observer(1.0, 1.0 + 1e-7, 0.1).threshold_s == pytest.approx(limit, abs=1e-6)


def test_a_histogram_holds_all_hits_and_nearly_all_misses() -> None:
    found = Observer(0.01, 0.11, 0.05).histogram(50)
    assert found.edge_s.size == 51
    assert found.hit_share.sum() > 0.999
    assert found.miss_share.sum() == pytest.approx(0.999, abs=1e-4)
    assert {len(column) for column in found.columns().values()} == {50}


@pytest.mark.parametrize(
    ("field", "values"),
    [("noise_s", (0.1, 0.2, 0)), ("hit_s", (-1, 0.2, 0.1)), ("miss_s", (0.3, 0.2, 0.1))],
)
def test_a_bad_observer_is_refused_by_name(field: str, values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=field):
        Observer(*values)


@pytest.mark.parametrize(
    ("field", "values"),
    [("prefix_token", (-1, 1)), ("own_token", (0, 0)), ("prefix_token", (1.5, 1))],
)
def test_a_bad_prompt_is_refused_by_name(field: str, values: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=field):
        cache_hit_timing(S, *values)
