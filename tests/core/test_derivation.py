"""Shown arithmetic: formula, substitution and result come from one tree and agree."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import arithmetic, roofline
from core.derivation import Derivation, Expression, Term, floor, maximum, minimum
from core.devices import DEVICES
from core.kv_cache import capacity
from core.models import MODELS
from core.scenario import Scenario

A100 = DEVICES["A100"]
SAMPLE = ["8B", "70B", "Mixtral-8x7B", "Gemma-2-9B", "DeepSeek-V3/R1 (without MTP)", "Qwen3.5-27B"]


def python_value(derivation: Derivation) -> float:
    """Evaluate the printed substitution as Python, units stripped: an independent reading."""
    text = derivation.substituted.replace("−", "-").replace("×", "*").replace("÷", "/")
    text = text.replace("^", "**").replace(",", "§").replace("§ ", ", ")
    text = re.sub(r"(?<=\d)§(?=\d{3})", "", text)
    text = re.sub(r"(?<=[\d.]) (?:FLOP/B|FLOP/s|FLOP|B/s|B|s)\b", "", text)
    text = re.sub(r"(?<=[\d.]) (T|G|M|k|P)(FLOP/s|B/s|FLOP|B)\b", _scale, text)
    text = re.sub(r"(?<=[\d.]) ms\b", "e-3", text)
    return float(eval(text, {"__builtins__": {}}, {"max": max, "min": min, "floor": int}))


def _scale(match: re.Match[str]) -> str:
    return {"k": "e3", "M": "e6", "G": "e9", "T": "e12", "P": "e15"}[match.group(1)]


def test_the_printed_step_of_the_reference() -> None:
    steps = arithmetic.step_time(Scenario(MODELS["8B"], A100), 32, 2048)
    assert [step.formula for step in steps] == [
        "F = 2 · N · B + 4 · L · H · Q · S · B",
        "M = b_w · N + B · 2 · L · K · Q · b_c · S",
        "T = max(F ÷ P, M ÷ W)",
    ]
    assert steps[-1].substituted == (
        "max(546,359,738,368 FLOP ÷ 312 TFLOP/s, 24,589,934,592 B ÷ 2 TB/s)"
    )
    assert steps[-1].result == "12.3 ms"


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("prompt", [0, 4096, 30_000])
def test_every_derivation_ends_at_what_the_model_computes(name: str, prompt: int) -> None:
    scenario = Scenario(MODELS[name], A100, devices=4, overhead_s=0.002, compute_efficiency=0.5)
    flops, traffic, step = arithmetic.step_time(scenario, 32, 3000, prompt)
    cost = roofline.step_costs(scenario, decode_batch=32, context=3000, prefill_tokens=prompt)
    assert flops.value == pytest.approx(float(cost.flops), rel=1e-12)
    assert traffic.value == pytest.approx(float(cost.bytes), rel=1e-12)
    assert step.value == pytest.approx(float(cost.time_s), rel=1e-12)
    fit = capacity(scenario, 3000)
    lines = arithmetic.sequences(scenario, 3000, reserved_fraction=0.9)
    if fit.fits:
        assert lines[-1].value == float(fit.sequences)
        assert lines[-2].value == pytest.approx(float(fit.per_sequence_byte), rel=1e-12)
    assert lines[1].value == pytest.approx(fit.cache_byte, rel=1e-9)


@pytest.mark.parametrize("context", [128, 512, 2048])
def test_the_crossing_batch_is_derived_where_there_is_one(context: int) -> None:
    scenario = Scenario(MODELS["8B"], A100)
    *_, before, last = arithmetic.crossing_batch(scenario, context)
    found = float(roofline.crossing_batch(scenario, context))
    if found == float("inf"):
        assert last.value == pytest.approx(float(roofline.plateau_flop_per_byte(scenario, context)))
    else:
        assert before.value == pytest.approx(found, rel=1e-12)
        assert last.value == round(found)


@pytest.mark.parametrize("name", ["8B", "70B"])
def test_the_printed_numbers_give_the_printed_result(name: str) -> None:
    scenario = Scenario(MODELS[name], A100, devices=4)
    lines = [
        *arithmetic.step_time(scenario, 7, 1234, 500),
        *arithmetic.intensity(scenario, 7, 1234),
        *arithmetic.ridge(scenario),
        *arithmetic.sequences(scenario, 1234, reserved_fraction=0.9),
        *arithmetic.bytes_per_token(scenario),
        *arithmetic.plateau(scenario, 300),
    ]
    for line in lines:
        assert python_value(line) == pytest.approx(line.value, rel=2e-3), line.formula


terms = st.integers(1, 50).map(lambda n: Term(f"x_{n}", n))


def combine(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: p[0] / (p[1] * p[1] + 1)),
        pairs.map(lambda p: maximum(p[0], p[1])),
        pairs.map(lambda p: minimum(p[0], p[1])),
        children.map(lambda e: e**2),
    )


@given(st.recursive(terms, combine, max_leaves=8))
def test_any_tree_prints_a_substitution_that_evaluates_to_its_value(tree: Expression) -> None:
    """Parentheses are where they must be: Python's own parser agrees."""
    line = Derivation("any", "y", tree)
    assert python_value(line) == pytest.approx(line.value, rel=1e-9, abs=1e-9)


@given(st.recursive(terms, combine, max_leaves=8))
def test_any_tree_is_well_formed_mathml(tree: Expression) -> None:
    line = Derivation("any", "y_z", tree)
    for mathml in (line.formula_mathml, line.substituted_mathml):
        assert ElementTree.fromstring(mathml).tag == "math"


def test_subscripts_and_fractions_are_real_mathematics() -> None:
    line = Derivation("ratio", "r_max", Term("P_peak", 4) / Term("W", 2))
    assert "<msub><mi>P</mi><mi>peak</mi></msub>" in line.formula_mathml
    assert "<mfrac>" in line.formula_mathml


def test_a_division_by_nothing_is_infinite_and_not_a_crash() -> None:
    assert (Term("a", 1) / Term("b", 0)).value == float("inf")
    assert floor(Term("a", 1) / Term("b", 0)).value == float("inf")


def test_text_from_outside_is_escaped() -> None:
    assert "<b>" not in Derivation("x", "<b>", Term("<i>", 1)).formula_mathml
