"""One long prompt beside decoding sequences, against the derived table and by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.models import MODELS
from core.roofline import scenario_step_cost
from core.scenario import Scenario

GOLDEN = json.loads((Path(__file__).parent / "data" / "chunked_prefill_golden.json").read_text())
TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])


@pytest.mark.parametrize("budget", GOLDEN["budgets"])
def test_the_table_of_budgets_is_reproduced(budget):
    golden = GOLDEN["budgets"][budget]
    result = chunked_prefill(TEXTBOOK, 4096, 32, 2048, int(budget))
    assert result.steps == golden["steps"]
    measured = {
        "worst_ms": result.worst_s * 1e3,
        "first_ms": result.step_s[0] * 1e3,
        "last_ms": result.step_s[-1] * 1e3,
        "ttft_ms": result.ttft_s * 1e3,
        "pause": result.pause_ratio,
    }
    for name, value in measured.items():
        assert value == pytest.approx(golden[name], rel=1e-9), name


def test_without_a_budget_the_prompt_takes_one_step_of_226_ms_and_an_18_times_pause():
    result = chunked_prefill(TEXTBOOK, 4096, 32, 2048, None)
    assert result.decode_step_s * 1e3 == pytest.approx(GOLDEN["decode_ms"], rel=1e-12)
    assert result.ttft_s == result.worst_s == pytest.approx(0.2258987379790769, rel=1e-12)
    assert result.pause_ratio == pytest.approx(18.373268715612607, rel=1e-12)


def test_the_smallest_budget_shown_takes_535_ms_and_never_more_than_13_ms_a_step():
    result = chunked_prefill(TEXTBOOK, 4096, 32, 2048, 128)
    assert round(result.ttft_s * 1e3) == 535
    assert round(result.worst_s * 1e3) == 13


@pytest.mark.parametrize("budget", [33, 100, 700, 5000])
def test_the_chunks_cover_the_prompt_once_and_each_step_is_the_rooflines(budget):
    result = chunked_prefill(TEXTBOOK, 1000, 32, 2048, budget)
    assert result.chunk_token.sum() == 1000
    assert np.array_equal(result.offset_token, np.cumsum(result.chunk_token) - result.chunk_token)
    assert np.all(result.chunk_token + 32 <= budget)
    for i in range(0, result.steps, 97):
        chunk = (result.offset_token[i], result.chunk_token[i])
        expected = scenario_step_cost(TEXTBOOK, [2048.0] * 32, [chunk]).time_s
        assert result.step_s[i] == pytest.approx(float(expected), rel=1e-12)


def test_overhead_is_paid_once_a_step():
    slow = replace(TEXTBOOK, overhead_s=0.003)
    bare, paid = (chunked_prefill(s, 4096, 32, 2048, 512) for s in (TEXTBOOK, slow))
    assert paid.ttft_s - bare.ttft_s == pytest.approx(9 * 0.003, rel=1e-9)
    assert paid.worst_s - bare.worst_s == pytest.approx(0.003, rel=1e-9)
    assert paid.decode_step_s - bare.decode_step_s == pytest.approx(0.003, rel=1e-9)


def test_columns_run_from_zero_to_the_first_token_without_gaps():
    result = chunked_prefill(TEXTBOOK, 4096, 32, 2048, 1024)
    columns = result.columns()
    assert {len(values) for values in columns.values()} == {5}
    assert columns["start_s"][0] == 0
    assert columns["end_s"][:-1] == pytest.approx(columns["start_s"][1:])
    assert columns["end_s"][-1] == pytest.approx(result.ttft_s)
    assert np.maximum(columns["compute_s"], columns["memory_s"]) == pytest.approx(result.step_s)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 32, 2048, 512), "prompt_token must be in"),
        ((4096, 0, 2048, 512), "decoding must be in"),
        ((4096, 32, 0, 512), "context_token must be in"),
        ((4096, 32, 2048, 32), r"token_budget must be in \[33"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        chunked_prefill(TEXTBOOK, *arguments)
