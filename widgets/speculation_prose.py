"""The numbers that section 6's prose asks for by name, at the scenario the prose speaks of."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

from core import roofline, speculation_arithmetic
from core.devices import DEVICES
from core.models import MODELS
from core.ngram_decode import acceptance_probability
from core.published_speedups import PUBLISHED_SPEEDUPS
from core.scenario import Scenario
from core.speculation import (
    adaptive_draft,
    operations_factor,
    optimal_gamma,
    speedup,
    speedup_by_batch,
    verify_cost,
)
from core.units import exact, quantity, significant
from widgets.speculation_result import BATCHES, end_of_gain
from widgets.speculation_sources import (
    batch_curve,
    by_formula,
    on_text,
    reference_rounds,
)
from widgets.speculation_text import LOOKUP, TextChoice, text_run

ALPHA, GAMMA, COST = 0.8, 4, 0.1
BATCH, CONTEXT = 32, 2_048


def prose_numbers() -> dict[str, str]:
    """Name → printed number or formula."""
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    return {**_formulas(), **_checking(scenario), **_simulated(), **_texts(), **_ends(scenario)}


def _formulas() -> dict[str, str]:
    tokens, gain = speculation_arithmetic.speedup(ALPHA, GAMMA, COST)
    best = int(optimal_gamma(ALPHA, COST))
    rule = adaptive_draft(ALPHA)
    kept = acceptance_probability(0.3, 0.5)
    return {
        "formula_tokens": tokens.formula_mathml,
        "formula_speedup": gain.formula_mathml,
        "tokens": significant(tokens.value),
        "speedup": _times(gain.value),
        "speedup_16": _times(float(speedup(ALPHA, 16, COST))),
        "best_gamma": str(best),
        "best_speedup": _times(float(speedup(ALPHA, best, COST))),
        "operations": _times(float(operations_factor(ALPHA, GAMMA))),
        "adaptive_gamma": significant(float(rule.mean_gamma)),
        "adaptive_speedup": _times(float(rule.speedup(COST))),
        "leviathan_speedup": significant(float(speedup(0.75, 7, 0.02))),
        "chen_c": significant(1.8 / 14.1),
        "keep_chance": f"{kept:g}",
    }


def _checking(scenario: Scenario) -> dict[str, str]:
    plain = roofline.step_costs(scenario, decode_batch=BATCH, context=CONTEXT)
    verify = verify_cost(scenario, BATCH, CONTEXT, GAMMA)
    return {
        "plain_compute_ms": quantity(float(plain.compute_s), "s"),
        "plain_step_ms": quantity(float(plain.time_s), "s"),
        "verify_compute_ms": quantity(float(verify.compute_s), "s"),
        "verify_step_ms": quantity(float(verify.time_s), "s"),
    }


def _simulated() -> dict[str, str]:
    rounds = reference_rounds(ALPHA, GAMMA)
    off = rounds.standard_errors_off
    return {
        "reference_rounds": exact(rounds.trials),
        "reference_tokens": exact(rounds.tokens),
        "reference_mean": f"{rounds.mean:.3f}",
        "reference_off": f"{off:+.2f}",
        # Either way from the mean of a normal distribution.
        "reference_odds": f"{1 / erfc(abs(off) / sqrt(2)):.0f}",
    }


def _texts() -> dict[str, str]:
    prose = TextChoice("prose", "", 4, "2", sampled=True, tokens=2_000)
    look = TextChoice("prose", "", 4, LOOKUP, sampled=True, tokens=500)
    greedy = TextChoice("prose", "", 4, LOOKUP, sampled=False, tokens=500)
    code = TextChoice("code", "", 4, LOOKUP, sampled=False, tokens=500)
    sampled_run, greedy_run = text_run(prose, GAMMA), text_run(greedy, GAMMA)
    sampled_rate, greedy_rate = sampled_run.positions["rate"], greedy_run.positions["rate"]
    return {
        "prose_run": exact(prose.tokens),
        "prose_first": f"{sampled_rate[0]:.2f}",
        "prose_fourth": f"{sampled_rate[3]:.2f}",
        "prose_predicted": significant(sampled_run.predicted),
        "prose_tokens": significant(sampled_run.tokens_per_pass),
        "lookup_first": f"{greedy_rate[0]:.2f}",
        "lookup_fourth": f"{greedy_rate[3]:.2f}",
        "lookup_predicted": significant(greedy_run.predicted),
        "lookup_tokens": significant(greedy_run.tokens_per_pass),
        "prose_lookup": significant(text_run(look, GAMMA).tokens_per_pass),
        "code_fixed": _times(on_text(text_run(code, GAMMA)).speedup(COST)),
        "code_adaptive": _times(on_text(text_run(code, GAMMA, adaptive=True)).speedup(COST)),
    }


def _ends(scenario: Scenario) -> dict[str, str]:
    at_128 = speedup_by_batch(scenario, 128, CONTEXT, alpha=ALPHA, gamma=GAMMA, draft=COST)
    long = speedup_by_batch(scenario, 1, 32_768, alpha=ALPHA, gamma=GAMMA, draft=COST)
    short = batch_curve(scenario, BATCHES, 512, by_formula(ALPHA, GAMMA, False), COST)
    fit = float(long.capacity_sequences)
    checking = verify_cost(scenario, fit, 32_768, GAMMA)
    vllm = next(
        c for c in PUBLISHED_SPEEDUPS if c.method == "EAGLE-3" and c.server.startswith("vLLM")
    )
    return {
        "verify_128": f"{float(at_128.verify_ratio):.2f}",
        "speedup_128": _times(float(at_128.speedup)),
        "end_512": significant(end_of_gain(short) or np.inf, 2),
        "fit_long": f"{fit:.0f}",
        "intensity_long": significant(float(checking.intensity_flop_per_byte)),
        "ridge": significant(scenario.ridge_flop_per_byte),
        "eagle3_low": f"{vllm.throughput_ratio[0]:.2f}×",
        "eagle3_low_batch": str(vllm.batch[0]),
        "eagle3_high": f"{vllm.throughput_ratio[-1]:.2f}×",
        "eagle3_high_batch": str(vllm.batch[-1]),
    }


def _times(value: float) -> str:
    return f"{significant(value)}×"
