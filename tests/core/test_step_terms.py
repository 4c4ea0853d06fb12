"""The step time in plain floats is the roofline's, for every kind of model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.devices import DEVICES
from core.models import MODELS
from core.roofline import scenario_step_cost
from core.scenario import Scenario
from core.step_terms import StepTerms, WindowExcess
from tests.core.scheduling_cases import scenarios


def seconds(terms, contexts, chunks):
    """A step's time put together from the coefficients, as the engine does."""
    tokens = len(contexts) + sum(length for _, length in chunks)
    parts = [(terms.decode_at(s)[0], terms.decode_at(s)[2]) for s in contexts]
    parts += [terms.chunk_at(offset, length) for offset, length in chunks]
    flop = tokens * terms.token_flop + sum(part[0] for part in parts)
    byte = sum(part[1] for part in parts)
    compute, memory = flop * terms.second_per_flop, byte * terms.second_per_byte
    return max(compute, terms.read_s[tokens] + memory) + terms.overhead_s


contexts = st.lists(st.integers(1, 400), max_size=6)
chunks = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 200)), max_size=3)


@settings(max_examples=150, deadline=None)
@given(scenarios(), contexts, chunks)
def test_any_composition_takes_what_the_roofline_says(scenario, contexts, chunks):
    if not contexts and not chunks:
        contexts = [1]
    expected = float(scenario_step_cost(scenario, contexts, chunks).time_s)
    assert seconds(StepTerms.of(scenario), contexts, chunks) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=80, deadline=None)
@given(scenarios(), st.integers(1, 400))
def test_the_growth_is_what_one_more_token_adds(scenario, context):
    terms = StepTerms.of(scenario)
    flop, flop_growth, byte, byte_growth = terms.decode_at(context)
    next_flop, _, next_byte, _ = terms.decode_at(context + 1)
    assert flop + flop_growth == pytest.approx(next_flop, rel=1e-12)
    assert byte + byte_growth == pytest.approx(next_byte, rel=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    scenarios(),
    st.lists(st.tuples(st.integers(1, 120), st.integers(1, 120)), min_size=1, max_size=6),
    st.data(),
)
def test_what_windows_spare_is_kept_up_to_date_from_step_to_step(scenario, joining, data):
    """Everybody joins at step 0; some drop out; the sums are compared at every step."""
    terms = StepTerms.of(scenario)
    excess = WindowExcess(terms)
    live = {}
    for request, (context, more) in enumerate(joining):
        excess.join(request, context, more, 0)
        live[request] = (context, more)
    dropped = data.draw(st.sampled_from([None, *live]))
    for step in range(1, 121):
        excess.advance(1)
        excess.settle(step)
        for request, (context, more) in list(live.items()):
            if step == more or (request == dropped and step == 3):
                excess.leave(context + step)
                excess.drop(request)
                del live[request]
        spared_flop = spared_byte = 0.0
        for context, _ in live.values():
            flop, _, byte, _ = terms.decode_at(context + step)
            spared_flop += terms.decode_flop * (context + step) - flop
            spared_byte += terms.state_byte + terms.cache_byte * (context + step) - byte
        assert excess.flop == pytest.approx(spared_flop, rel=1e-9, abs=1e-6)
        assert excess.byte == pytest.approx(spared_byte, rel=1e-9, abs=1e-6)


def test_the_textbook_coefficients_are_the_worked_ones():
    terms = StepTerms.of(Scenario(MODELS["8B"], DEVICES["A100"]))
    assert terms.token_flop == 1.6e10
    assert terms.decode_flop == terms.prefill_flop == 524_288
    assert terms.cache_byte == 131_072
    assert terms.read_s[1] == terms.read_s[4096] == pytest.approx(0.008, rel=1e-12)
    assert terms.plain
    assert seconds(terms, [2048] * 32, []) == pytest.approx(0.012294967296, rel=1e-12)


def test_a_unit_step_takes_one_unit():
    assert seconds(StepTerms.unit(), [5, 7], [(0, 100)]) == 1.0
