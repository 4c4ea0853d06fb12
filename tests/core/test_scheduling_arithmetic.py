"""The shown arithmetic of section 5 ends at what the simulators compute."""

from __future__ import annotations

import numpy as np
import pytest

from core import scheduling_arithmetic as arithmetic
from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.goodput import Latencies
from core.models import MODELS
from core.requests import Lengths, random_stream
from core.scenario import Scenario
from core.scheduling import simulate

TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])
H200 = DEVICES["H200 SXM"]
SCENARIOS = [
    TEXTBOOK,
    Scenario(MODELS["8B"], DEVICES["L4"], 2, overhead_s=0.002, compute_efficiency=0.7),
    Scenario(MODELS["Mixtral-8x7B"], H200, 2, cache_byte=1.0),
    Scenario(MODELS["Gemma-2-9B"], H200),
    Scenario(MODELS["DeepSeek-V3/R1 (without MTP)"], H200, 16),
    Scenario(MODELS["Qwen3.5-27B"], H200),
]


def test_the_step_of_the_textbook_chunk_by_hand() -> None:
    """32 decodes at 2,048 and the second chunk of 2,016 tokens, each figure worked by hand."""
    tokens, flops, traffic, step = arithmetic.mixed_step(TEXTBOOK, 32, 2048, 2016, 2016)
    assert tokens.value == 2048
    attention = 32 * 524_288 * 2048 + 524_288 * (2016 * 2016 + 2016**2 / 2)
    assert flops.value == 2 * 8e9 * 2048 + attention
    assert traffic.value == 16e9 + 131_072 * (32 * 2048 + 4032)
    assert step.value == pytest.approx(0.115380195, abs=1e-9)
    assert step.formula == "T = max(F ÷ P, M ÷ W)"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.model.name)
@pytest.mark.parametrize("budget", [None, 4096, 512, 40])
def test_every_step_of_a_prompt_is_what_the_arithmetic_ends_at(
    scenario: Scenario, budget: int | None
) -> None:
    prefill = chunked_prefill(scenario, 6000, 32, 3000, budget)
    for i in (0, prefill.steps // 2, prefill.steps - 1):
        offset, chunk = int(prefill.offset_token[i]), int(prefill.chunk_token[i])
        last = arithmetic.mixed_step(scenario, 32, 3000, offset, chunk)[-1]
        assert last.value == pytest.approx(float(prefill.step_s[i]), rel=1e-12)
    assert arithmetic.steps_of_prompt(6000, 32, budget)[-1].value == prefill.steps
    assert arithmetic.time_to_first_token(prefill)[-1].value == pytest.approx(
        prefill.ttft_s, rel=1e-12
    )
    assert arithmetic.pause(prefill)[-1].value == prefill.pause_ratio


def test_few_steps_are_added_up_and_many_are_counted() -> None:
    few = chunked_prefill(TEXTBOOK, 4096, 32, 2048, 2048)
    many = chunked_prefill(TEXTBOOK, 4096, 32, 2048, 512)
    assert arithmetic.time_to_first_token(few)[-1].formula == "TTFT = T_1 + T_2 + T_3"
    assert arithmetic.time_to_first_token(many)[-1].formula == "TTFT = k · T_mean"


def test_quantiles_are_numpys() -> None:
    values = np.random.default_rng(1).lognormal(size=777)
    for share in (0.0, 0.5, 0.9, 0.99, 1.0):
        near = np.quantile(values, arithmetic.neighbours(share, values.size))
        place, value = arithmetic.quantile("p", "x", share, values.size, *near)
        assert value.value == pytest.approx(np.quantile(values, share), rel=1e-9)
        assert place.value == int(share * 776)


def test_a_single_value_is_every_quantile() -> None:
    assert arithmetic.neighbours(0.99, 1) == (0, 0)
    assert arithmetic.quantile("p", "x", 0.99, 1, 3.0, 3.0)[-1].value == 3.0


def test_counts_of_a_stream_end_at_the_runs_own() -> None:
    generator = np.random.default_rng(7)
    stream = random_stream(generator, 200, 20.0, Lengths(1024, 1.0), Lengths(200, 0.5))
    run = simulate(stream, TEXTBOOK, cache_token=12_000)
    assert len(run.preemptions) > 20
    admissions = run.gantt()["request"].size
    assert arithmetic.preemptions(admissions, 200)[-1].value == len(run.preemptions)
    met = Latencies.of(run).met(5.0, 0.2)
    (line,) = arithmetic.goodput(met, run.duration_s)
    assert line.value == run.goodput_per_s(5.0, 0.2, judge="worst")
    itl = run.itl_s
    near = itl.quantile(arithmetic.neighbours(0.99, itl.count))
    shown = arithmetic.quantile("p99", "ITL_99", 0.99, itl.count, *near)[-1]
    assert shown.value == pytest.approx(float(itl.quantile(0.99)), rel=1e-9)
