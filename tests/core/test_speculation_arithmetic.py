import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import speculation, speculation_arithmetic
from core.decoding import Decoding, Round
from core.scenario import Scenario
from core.specs import DEVICES, MODELS

TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])
RUN = Decoding(
    prompt=(), rounds=(Round(2, (1, 2), (), 3), Round(2, (1,), (2,), 4), Round(2, (), (9, 9), 5))
)


@given(st.one_of(st.floats(0, 0.999), st.just(1.0)), st.integers(0, 16), st.floats(0, 1))
def test_last_lines_are_the_formulas(alpha: float, gamma: int, cost: float) -> None:
    (tokens,) = speculation_arithmetic.tokens_per_target_pass(alpha, gamma)
    assert tokens.value == pytest.approx(float(speculation.expected_tokens(alpha, gamma)))
    last = speculation_arithmetic.speedup(alpha, gamma, cost)[-1]
    assert last.value == pytest.approx(float(speculation.speedup(alpha, gamma, cost)))
    last = speculation_arithmetic.operations_factor(alpha, gamma)[-1]
    assert last.value == pytest.approx(float(speculation.operations_factor(alpha, gamma)))


@pytest.mark.parametrize("overhead_s", [0.0, 0.002])
@pytest.mark.parametrize("model", ["8B", "70B"])
@pytest.mark.parametrize("batch", [1, 64, 128])
def test_the_last_line_at_a_batch_is_the_roofline_speedup(
    batch: int, model: str, overhead_s: float
) -> None:
    scenario = Scenario(MODELS[model], DEVICES["A100"], devices=4, overhead_s=overhead_s)
    steps = speculation_arithmetic.speedup_at_batch(
        scenario, batch, 2_048, alpha=0.8, gamma=4, draft_cost_ratio=0.1
    )
    result = speculation.speedup_by_batch(scenario, batch, 2_048, alpha=0.8, gamma=4, draft=0.1)
    by_symbol = {step.symbol: step.value for step in steps}
    assert steps[-1].value == pytest.approx(float(result.speedup), rel=1e-12)
    assert by_symbol["T_v"] == pytest.approx(float(result.verify_s), rel=1e-12)
    assert by_symbol["T"] == pytest.approx(float(result.plain_s), rel=1e-12)


def test_printed_lines_of_the_reference_case() -> None:
    tokens, gain = speculation_arithmetic.speedup(0.8, 4, 0.1)
    assert tokens.formula == "E = (1 − α^(γ + 1)) ÷ (1 − α)"
    assert tokens.substituted == "(1 − 0.8^(4 + 1)) ÷ (1 − 0.8)"
    assert re.match(r"3\.36", tokens.result)
    assert (gain.formula, gain.result) == ("S = E ÷ (γ · c + 1)", "2.401")


def test_measured_figures_are_those_of_the_run() -> None:
    rate, tokens, gain = speculation_arithmetic.measured(RUN, 0.1)
    assert rate.substituted == "3 ÷ 5"
    assert rate.value == RUN.acceptance_rate == 0.6
    assert tokens.value == RUN.tokens_per_target_pass == 2
    assert gain.value == pytest.approx(float(RUN.speedup(0.1)))
    (gap,) = speculation_arithmetic.gap_from_formula(RUN)
    assert gap.value == pytest.approx(2 / (1 + 0.6 + 0.36))


def test_a_run_without_drafts_shows_no_acceptance() -> None:
    run = Decoding((), (Round(0, (), (), 1), Round(0, (), (), 2)))
    assert [step.symbol for step in speculation_arithmetic.measured(run, 0.1)] == ["E", "S"]
    assert np.isnan(run.acceptance_rate)
    assert speculation_arithmetic.gap_from_formula(run)[0].value == 1
