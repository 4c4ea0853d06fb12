import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import simulated_rounds
from core.acceptance import expected_tokens, tokens_variance
from core.requests import Xorshift32
from core.simulated_rounds import SimulatedRounds, simulate_tokens

VECTORS = json.loads(
    (Path(__file__).parent / "data" / "speculation_vectors.json").read_text("utf-8")
)["runs"]


def round_by_round(rng: Xorshift32, alpha: float, gamma: int, trials: int) -> list[int]:
    """Rounds that accepted 0 … γ tokens, by a loop that draws one number at a time."""
    counts = [0] * (gamma + 1)
    for _ in range(trials):
        accepted = 0
        while accepted < gamma and rng.next() < alpha:
            accepted += 1
        counts[accepted] += 1
    return counts


def test_reference_stream_gives_674091_tokens_and_its_final_state() -> None:
    rng = Xorshift32(9)
    for _ in range(88 + 120 + 64):
        rng.next()
    result = simulate_tokens(rng, 0.8, 4, 200_000)
    assert result.tokens == 674_091
    assert result.counts.tolist() == [39_518, 32_067, 25_590, 20_456, 82_369]
    assert rng.state == 3_748_894_531
    assert result.mean == 3.370455
    assert result.standard_errors_off == pytest.approx(2.470205943687868, rel=1e-9)
    assert abs(result.mean - 3.3616) < 0.02


@pytest.mark.parametrize("run", VECTORS, ids=lambda run: f"from {run['rng_state_before']}")
def test_runs_of_the_reference_program_with_other_constants(run: dict) -> None:
    rng = Xorshift32(run["rng_state_before"])
    result = simulate_tokens(rng, run["alpha"], run["gamma"], run["trials"])
    assert (result.tokens, rng.state) == (run["tokens"], run["rng_state_after"])
    expected = float(expected_tokens(run["alpha"], run["gamma"]))
    assert expected == pytest.approx(run["expected"], rel=1e-13)


@settings(deadline=None)
@given(
    st.integers(1, 2**32 - 1),
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])),
    st.integers(0, 9),
    st.integers(1, 60),
    st.integers(1, 40),
)
def test_blocks_of_any_size_give_what_the_loop_gives(
    seed: int, alpha: float, gamma: int, trials: int, block: int
) -> None:
    block_rng, loop_rng = Xorshift32(seed), Xorshift32(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated_rounds, "_BLOCK_DRAWS", block)
        result = simulate_tokens(block_rng, alpha, gamma, trials)
    assert result.counts.tolist() == round_by_round(loop_rng, alpha, gamma, trials)
    assert block_rng.state == loop_rng.state


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("gamma", [1, 4, 16])
def test_simulation_lies_within_five_standard_errors_of_equation_1(
    alpha: float, gamma: int
) -> None:
    for rng in (Xorshift32(2_026), np.random.default_rng(2_026)):
        result = simulate_tokens(rng, alpha, gamma, 50_000)
        assert result.trials == 50_000
        spread = (float(tokens_variance(alpha, gamma)) / 50_000) ** 0.5
        off = (result.mean - float(expected_tokens(alpha, gamma))) / spread
        assert abs(off) < 5
        assert result.standard_errors_off == pytest.approx(off)
        assert result.standard_error == pytest.approx(spread, rel=0.05)


def test_numpy_generator_gives_the_same_rounds_from_the_same_seed() -> None:
    first, again, other = (
        simulate_tokens(np.random.default_rng(seed), 0.7, 3, 1_000).counts for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_summary_of_five_rounds_by_hand() -> None:
    # Yields 1, 1, 2, 3, 3: mean 2, sum of squares about it 4, variance 4/4 = 1.
    result = SimulatedRounds(0.5, 2, np.array([2, 1, 2]))
    assert (result.trials, result.tokens, result.mean) == (5, 10, 2.0)
    assert result.standard_error == pytest.approx((1 / 5) ** 0.5)
    columns = result.columns()
    assert columns["tokens"].tolist() == [1, 2, 3]
    assert columns["rounds"].tolist() == [2, 1, 2]
    assert columns["expected_share"].tolist() == [0.5, 0.25, 0.25]


def test_a_draw_equal_to_alpha_is_a_refusal() -> None:
    rng = Xorshift32(9)
    alpha = rng.next()
    assert simulate_tokens(Xorshift32(9), alpha, 3, 1).tokens == 1
    assert simulate_tokens(Xorshift32(9), alpha + 2.0**-32, 3, 1).tokens > 1


def test_one_round_and_certain_rounds_have_no_spread() -> None:
    assert simulate_tokens(Xorshift32(9), 0.5, 4, 1).standard_error == 0
    certain = simulate_tokens(Xorshift32(9), 1.0, 4, 10)
    assert (certain.tokens, certain.standard_error, certain.standard_errors_off) == (50, 0, 0)


def test_no_draft_draws_nothing() -> None:
    rng = Xorshift32(9)
    assert simulate_tokens(rng, 0.8, 0, 7).counts.tolist() == [7]
    assert rng.state == 9


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((1.5, 4, 10), "alpha"), ((0.5, -1, 10), "gamma"), ((0.5, 4, 0), "trials")],
)
def test_impossible_values_are_refused_by_name(arguments: tuple, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named} must be in"):
        simulate_tokens(Xorshift32(9), *arguments)
