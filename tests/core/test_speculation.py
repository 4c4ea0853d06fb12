import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core import speculation
from core.model_spec import AttentionGroup, Experts, ModelSpec
from core.published_speedups import PUBLISHED_SPEEDUPS
from core.roofline import step_costs
from core.scenario import Scenario
from core.specs import DEVICES, MODELS
from core.speculation import (
    expected_tokens,
    operations_factor,
    optimal_gamma,
    speedup,
    speedup_by_batch,
    verify_cost,
)

DATA = Path(__file__).parent / "data"
PUBLISHED = json.loads((DATA / "speculation_published.json").read_text("utf-8"))
TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])
alphas = st.floats(0, 1)
costs = st.floats(0, 2)


def test_the_public_face_has_what_it_lists() -> None:
    assert all(
        callable(getattr(speculation, name)) or name.isupper() for name in speculation.__all__
    )


def test_operations_column_of_leviathan_table_1() -> None:
    for alpha, gamma, operations, _ in PUBLISHED["leviathan_table1"]:
        assert round(float(operations_factor(alpha, gamma)), 2) == operations


def test_expected_factors_of_leviathan_table_4() -> None:
    rows = PUBLISHED["leviathan_table4"]
    assert len(rows) == 12
    for *_, alpha, gamma, cost, expected, _measured in rows:
        assert float(speedup(alpha, gamma, cost)) == pytest.approx(expected, abs=0.07)


def test_chen_table_1_at_the_acceptance_that_equation_1_needs() -> None:
    cost = 1.8 / 14.1
    for _, token_ms, printed, alpha in PUBLISHED["chen_table1"]:
        ours = float(speedup(alpha, 4, cost))
        assert ours == pytest.approx(14.1 / token_ms, abs=0.001)
        assert ours == pytest.approx(printed, abs=0.05)


def test_optimal_gamma_table() -> None:
    table = np.array(PUBLISHED["optimal_gamma"])
    found = optimal_gamma(table[:, :1], [0.01, 0.02, 0.05, 0.1, 0.2])
    assert found.tolist() == table[:, 1:].tolist()


@given(alphas, costs, st.integers(0, 40))
def test_optimal_gamma_is_the_best_of_all_tried(alpha: float, cost: float, longest: int) -> None:
    best = int(optimal_gamma(alpha, cost, longest))
    tried = [
        sum(alpha**k for k in range(gamma + 1)) / (gamma * cost + 1) for gamma in range(longest + 1)
    ]
    assert 0 <= best <= longest
    assert tried[best] == pytest.approx(max(tried), rel=1e-11)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.7])
def test_a_tie_goes_to_the_shorter_draft(rate: float) -> None:
    assert int(optimal_gamma(rate, rate)) == 0


def test_certain_drafts_go_as_far_as_allowed_if_they_cost_less_than_the_target() -> None:
    assert optimal_gamma(1.0, [0.0, 0.5, 0.99, 1.0], 12).tolist() == [12, 12, 12, 0]


@given(alphas, st.floats(0, 1))
def test_a_gain_exists_exactly_where_alpha_exceeds_c(alpha: float, cost: float) -> None:
    assume(abs(alpha - cost) > 1e-6)
    gains = speedup(alpha, np.arange(1, 201), cost)
    assert bool(np.any(gains > 1)) == (alpha > cost)
    if alpha > cost:
        assert gains.max() >= (1 + alpha) / (1 + cost) * (1 - 1e-12)
    else:
        assert int(optimal_gamma(alpha, cost)) == 0


@given(alphas, costs)
def test_no_draft_leaves_speed_and_operations_unchanged(alpha: float, cost: float) -> None:
    assert float(speedup(alpha, 0, cost)) == 1
    assert float(operations_factor(alpha, 0, cost)) == 1


@given(st.integers(0, 100), st.floats(0, 1))
def test_certain_drafts_are_exact(gamma: int, cost: float) -> None:
    assert float(speedup(1.0, gamma, cost)) == (gamma + 1) / (gamma * cost + 1)
    assert float(operations_factor(1.0, gamma)) == 1


@given(st.floats(0, 0.99), st.integers(1, 30))
def test_a_draft_that_can_fail_costs_arithmetic(alpha: float, gamma: int) -> None:
    assert float(operations_factor(alpha, gamma)) > 1
    assert float(operations_factor(alpha, gamma, 0.1)) > float(operations_factor(alpha, gamma))


def test_sixteen_drafts_are_slower_than_four_at_a_tenth_of_the_cost() -> None:
    assert [round(float(speedup(0.8, gamma, 0.1)), 2) for gamma in (4, 16)] == [2.40, 1.88]


def test_broadcast_shapes() -> None:
    alpha, gamma = np.full((3, 1, 1), 0.5), np.arange(4).reshape(4, 1)
    assert speedup(alpha, gamma, [0.0, 0.1]).shape == (3, 4, 2)
    assert operations_factor(alpha, gamma, [0.0, 0.1]).shape == (3, 4, 2)
    assert optimal_gamma(alpha, [0.0, 0.1]).shape == (3, 1, 2)


def test_verification_costs_of_the_reference_at_2048_tokens() -> None:
    ratio = speedup_by_batch(
        TEXTBOOK, [1, 8, 16, 32, 64, 128], 2_048, alpha=0.8, gamma=4, draft=0.1
    ).verify_ratio
    assert np.round(ratio, 4).tolist() == [1.0, 1.0, 1.0, 1.0, 1.0556, 1.3909]


def test_a_verification_pass_worked_by_hand() -> None:
    # 64 sequences, 5 tokens each: 320·(2·8e9 + 524,288·2,048) FLOP, cache read for 64·2,048 tokens.
    cost = verify_cost(TEXTBOOK, 64, 2_048, 4)
    assert float(cost.flops) == 320 * (16e9 + 524_288 * 2_048)
    assert float(cost.bytes) == 16e9 + 64 * 2_048 * 131_072
    assert float(cost.time_s) == pytest.approx(320 * (16e9 + 524_288 * 2_048) / 312e12, rel=1e-15)


@given(st.integers(1, 500), st.integers(1, 100_000))
def test_verifying_no_draft_is_a_plain_decode_step(batch: int, context: int) -> None:
    plain = step_costs(TEXTBOOK, decode_batch=batch, context=context)
    verify = verify_cost(TEXTBOOK, batch, context, 0)
    assert (verify.flops, verify.bytes) == (plain.flops, plain.bytes)
    result = speedup_by_batch(TEXTBOOK, batch, context, alpha=0.3, gamma=0, draft=0.1)
    assert float(result.speedup) == 1


@given(alphas, st.integers(0, 4), st.floats(0, 1))
def test_a_small_batch_reaches_the_formula(alpha: float, gamma: int, cost: float) -> None:
    result = speedup_by_batch(TEXTBOOK, 4, 2_048, alpha=alpha, gamma=gamma, draft=cost)
    assert float(result.speedup) == pytest.approx(float(speedup(alpha, gamma, cost)), rel=1e-14)


def test_the_gain_dies_where_the_batch_fills_the_arithmetic() -> None:
    # At context 128 decoding turns compute-bound at batch 186; five times the work then takes
    # nearly five times as long, for 3.36 tokens.
    result = speedup_by_batch(TEXTBOOK, [1, 512], 128, alpha=0.8, gamma=4, draft=0.1)
    assert float(result.verify_ratio[1]) == pytest.approx(5, rel=1e-12)
    assert result.speedup == pytest.approx([3.3616 / 1.4, 3.3616 / 5.4], rel=1e-12)


def test_the_gain_lives_on_at_long_context() -> None:
    result = speedup_by_batch(TEXTBOOK, 26, [128, 16_384], alpha=0.8, gamma=10, draft=0.01)
    assert float(result.verify_ratio[0]) > 1.5
    assert float(result.verify_ratio[1]) == 1
    assert bool(result.fits[1])


def test_the_gain_falls_with_the_batch_and_never_exceeds_the_formula() -> None:
    batch = np.arange(1, 400)
    result = speedup_by_batch(TEXTBOOK, batch, 512, alpha=0.7, gamma=5, draft=0.05)
    assert np.all(np.diff(result.speedup) <= 1e-12)
    assert np.all(result.speedup <= float(speedup(0.7, 5, 0.05)) + 1e-12)
    assert float(result.token_per_s[9]) == pytest.approx(
        10 * float(expected_tokens(0.7, 5)) / float(result.round_s[9])
    )


def test_a_device_twice_as_fast_in_both_leaves_the_speedup() -> None:
    device = TEXTBOOK.device
    faster = replace(
        TEXTBOOK,
        device=replace(
            device,
            peak_flop_per_s=2 * device.peak_flop_per_s,
            bandwidth_byte_per_s=2 * device.bandwidth_byte_per_s,
        ),
    )
    batch = np.array([1, 64, 128, 256])
    before, after = (
        speedup_by_batch(each, batch, 2_048, alpha=0.8, gamma=4, draft=0.1)
        for each in (TEXTBOOK, faster)
    )
    assert after.speedup == pytest.approx(before.speedup, rel=1e-14)
    assert after.round_s == pytest.approx(before.round_s / 2, rel=1e-14)


def test_experts_make_verification_read_more_weights() -> None:
    # 2 of 8 experts a token: one token touches 1/4 of them, five tokens 1 − (3/4)⁵.
    model = ModelSpec(
        "toy experts",
        parameters=9 * 10**9,
        active_parameters=3 * 10**9,
        attention=(AttentionGroup.grouped(32, 32, 8, 128),),
        experts=Experts(32, 8, 2, 10**9 // 32),
    )
    result = speedup_by_batch(Scenario(model, TEXTBOOK.device), 1, 1, alpha=0.8, gamma=4, draft=0.1)
    read = [2 * (1e9 + 8e9 * share) + 131_072 for share in (1 / 4, 1 - 0.75**5)]
    assert float(result.verify_ratio) == pytest.approx(read[1] / read[0], rel=1e-12)


def test_batches_that_do_not_fit_are_marked() -> None:
    # (0.9·80 − 16) GB over 2,048·131,072 B = 208.6; beside a 1B draft with 32,768 B a token,
    # (0.9·80 − 18) GB over 2,048·163,840 B = 160.9.
    alone = speedup_by_batch(TEXTBOOK, [208, 209], 2_048, alpha=0.8, gamma=4, draft=0.1)
    beside = speedup_by_batch(TEXTBOOK, [160, 161], 2_048, alpha=0.8, gamma=4, draft=MODELS["1B"])
    for result, limit in ((alone, 208), (beside, 160)):
        assert result.capacity_sequences.tolist() == [limit, limit]
        assert result.fits.tolist() == [True, False]
        assert np.all(np.isfinite(result.speedup))


def test_a_target_that_does_not_fit_leaves_no_batch() -> None:
    large = Scenario(MODELS["70B"], TEXTBOOK.device)
    result = speedup_by_batch(large, [1, 2], 2_048, alpha=0.8, gamma=4, draft=0.1)
    assert result.fits.tolist() == [False, False]


def test_a_draft_model_is_timed_by_the_same_roofline() -> None:
    # Batch 1 at 2,048 tokens: 2 GB + 2,048·32,768 B over 2 TB/s a draft pass, four of them.
    result = speedup_by_batch(TEXTBOOK, 1, 2_048, alpha=0.8, gamma=4, draft=MODELS["1B"])
    assert float(result.draft_s) == pytest.approx(4 * (2e9 + 2_048 * 32_768) / 2e12, rel=1e-14)
    plain_s = (16e9 + 2_048 * 131_072) / 2e12
    expected = 3.3616 * plain_s / (plain_s + float(result.draft_s))
    assert float(result.speedup) == pytest.approx(expected, rel=1e-13)


def test_columns_are_equally_long_and_agree() -> None:
    result = speedup_by_batch(
        TEXTBOOK, np.array([[1], [300]]), [128, 2_048, 8_192], alpha=0.8, gamma=4, draft=0.1
    )
    columns = result.columns()
    assert {values.shape for values in columns.values()} == {(6,)}
    assert columns["batch"].tolist() == [1, 1, 1, 300, 300, 300]
    assert columns["context"].tolist() == [128, 2_048, 8_192] * 2
    assert columns["speedup"].tolist() == result.speedup.ravel().tolist()
    assert columns["fits"].tolist() == [True, True, True, True, False, False]


def test_published_curves_are_the_tables_figures_for_devices_and_models_at_hand() -> None:
    with (DATA / "spec_speedup_by_batch.csv").open(encoding="utf-8") as file:
        rows = [
            (
                row["setting"].split()[0],
                row["method"],
                int(row["batch"]),
                float(row["throughput_ratio"]),
            )
            for row in csv.DictReader(file)
        ]
    ours = [
        (curve.server.split()[0], curve.method, batch, ratio)
        for curve in PUBLISHED_SPEEDUPS
        for batch, ratio in zip(*curve.columns().values(), strict=True)
    ]
    assert ours == rows
    for curve in PUBLISHED_SPEEDUPS:
        assert curve.device in DEVICES
        assert curve.model in MODELS
        assert "EAGLE-3" in curve.source


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: speedup(2, 4, 0.1), "alpha must be in"),
        (lambda: speedup(0.5, 1.5, 0.1), "gamma must be whole"),
        (lambda: speedup(0.5, 4, -0.1), "draft_cost_ratio must be in"),
        (lambda: operations_factor(0.5, 4, -1), "draft_operations_ratio must be in"),
        (lambda: optimal_gamma(0.5, 0.1, -1), "max_gamma must be in"),
        (lambda: optimal_gamma(-1, 0.1), "alpha must be in"),
        (lambda: verify_cost(TEXTBOOK, 0, 2_048, 4), "batch must be in"),
        (lambda: verify_cost(TEXTBOOK, 1, 0, 4), "context must be in"),
        (
            lambda: speedup_by_batch(TEXTBOOK, 1, 2_048, alpha=0.5, gamma=4, draft=-1),
            "draft_cost_ratio must be in",
        ),
    ],
)
def test_impossible_values_are_refused_by_name(call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()
