"""Hypothesis strategies: small servers of every kind, and small streams for them.

The models are tiny, so that compute and bandwidth change sides within a run, windows fill, and a
cache of a few hundred tokens runs out.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from core.devices import DeviceSpec
from core.model_spec import AttentionGroup, Experts, ModelSpec
from core.requests import RequestStream
from core.scenario import Scenario
from tests.core.oracles import step_by_step


@st.composite
def attention_groups(draw, windows):
    return AttentionGroup(
        layers=draw(st.integers(1, 4)),
        heads=draw(st.integers(1, 8)),
        head_dim=draw(st.sampled_from([8, 16])),
        cache_elements_per_token=draw(st.sampled_from([4, 32, 64])),
        window_token=draw(st.sampled_from([None, 4, 16, 33, 100])) if windows else None,
        decode_dim=draw(st.sampled_from([0.0, 12.0])),
        prefill_dim=draw(st.sampled_from([0.0, 20.0])),
    )


@st.composite
def models(draw):
    """Dense, windowed, mixture of experts, with a fixed state, or all of it at once."""
    kind = draw(st.sampled_from(["dense", "windows", "experts", "state", "everything"]))
    windows = kind in ("windows", "everything")
    groups = draw(st.lists(attention_groups(windows), min_size=1, max_size=3 if windows else 1))
    parameters = draw(st.sampled_from([3_000, 20_000, 100_000]))
    experts, active = None, 0
    if kind in ("experts", "everything"):
        experts = Experts(2, 8, 2, parameters // 40)
        active = parameters - experts.parameters + experts.active_parameters
    return ModelSpec(
        name=kind,
        parameters=parameters,
        attention=tuple(groups),
        lookup_parameters=draw(st.sampled_from([0, 100])),
        active_parameters=active,
        experts=experts,
        state_byte_per_sequence=500 if kind in ("state", "everything") else 0,
    )


@st.composite
def scenarios(draw):
    device = DeviceSpec(
        "small",
        draw(st.sampled_from([1e9, 2e9, 1e10])),
        draw(st.sampled_from([1e7, 1e8, 1e9])),
        1e7,
    )
    return Scenario(
        draw(models()),
        device,
        devices=draw(st.sampled_from([1, 2])),
        weight_byte=draw(st.sampled_from([1.0, 2.0])),
        cache_byte=draw(st.sampled_from([1.0, 2.0, 0.5625])),
        compute_efficiency=draw(st.sampled_from([1.0, 0.7])),
        bandwidth_efficiency=draw(st.sampled_from([1.0, 0.8])),
        overhead_s=draw(st.sampled_from([0.0, 0.0, 1e-4])),
    )


@st.composite
def streams(draw):
    """A few requests, together or one after another on the scale of a few steps."""
    count = draw(st.integers(1, 14))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    spread = draw(st.sampled_from([0.0, 1e-4, 1e-3, 1e-2]))
    longest_prompt = draw(st.sampled_from([8, 60, 300]))
    longest_output = draw(st.sampled_from([1, 5, 40, 300]))
    return RequestStream(
        np.sort(generator.random(count)) * spread * count,
        generator.integers(1, longest_prompt + 1, count),
        generator.integers(1, longest_output + 1, count),
    )


@st.composite
def servers(draw):
    """A scenario, a stream and the options of a run: (scenario, stream, options, oracle's)."""
    scenario, stream = draw(scenarios()), draw(streams())
    longest = int((stream.prompt_token + stream.output_token - 1).max())
    chunked = draw(st.sampled_from([True, True, False]))
    budget = draw(st.sampled_from([None, 1, 3, 16, 64, 500]))
    if not chunked and budget is not None:
        budget = longest + draw(st.sampled_from([0, 1, 20, 200]))
    cap = draw(st.sampled_from([None, None, 5, 40])) if chunked else None
    static = draw(st.sampled_from([False, False, True]))
    slots = draw(st.sampled_from([1, 2, 4, 256]))
    options = {
        "token_budget": budget,
        "chunked": chunked,
        "policy": "static" if static else "continuous",
        "max_sequences": slots,
        "max_chunk_token": cap,
        "reserved_fraction": None,
    }
    slow = {
        "continuous": not static,
        "budget": math.inf if budget is None else budget,
        "chunked": chunked,
        "max_sequences": slots,
        "cap": math.inf if cap is None else cap,
    }
    if draw(st.booleans()):
        block = draw(st.sampled_from([1, 4, 16]))
        model, width = scenario.model, scenario.cache_byte
        token_byte = model.kv_bytes_per_token(width)
        need = step_by_step.cache_bytes(scenario, longest, block)
        spare = draw(st.sampled_from([1.0, 1.01, 1.3, 2.0, 4.0])) * need / token_byte
        tokens = math.ceil(spare) + draw(st.integers(0, 5))
        options |= {"cache_token": tokens, "block_token": block}
        slow |= {"capacity_byte": tokens * token_byte, "block": block}
    return scenario, stream, options, slow


@st.composite
def crowded_servers(draw):
    """Requests that keep coming while a cache of one or two answers is full."""
    scenario = draw(scenarios())
    count = draw(st.integers(4, 14))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    stream = RequestStream(
        np.sort(generator.random(count)) * draw(st.sampled_from([1e-3, 1e-2, 0.1])) * count,
        generator.integers(1, draw(st.sampled_from([5, 60])), count),
        generator.integers(1, 120, count),
    )
    longest = int((stream.prompt_token + stream.output_token - 1).max())
    block = draw(st.sampled_from([1, 4, 16]))
    need = step_by_step.cache_bytes(scenario, longest, block)
    token_byte = scenario.model.kv_bytes_per_token(scenario.cache_byte)
    tokens = math.ceil(draw(st.sampled_from([1.0, 1.2, 1.5, 2.0])) * need / token_byte)
    budget = draw(st.sampled_from([None, 16, 64]))
    options = {"token_budget": budget, "cache_token": tokens, "block_token": block}
    slow = {
        "budget": math.inf if budget is None else budget,
        "max_sequences": 256,
        "capacity_byte": tokens * token_byte,
        "block": block,
    }
    return scenario, stream, options, slow


def rows(stream):
    """A stream as the oracle takes it."""
    return list(
        zip(
            stream.arrival.tolist(),
            stream.prompt_token.tolist(),
            stream.output_token.tolist(),
            strict=True,
        )
    )
