"""The cost model's readouts as shown arithmetic: each function returns derivations, last one last.

The numbers come from `roofline` and `kv_cache`; these functions only lay out how they arise. A
test holds every last line against the function it explains.
"""

from __future__ import annotations

import numpy as np

from core import roofline
from core.derivation import (
    Derivation,
    Expression,
    Term,
    as_expression,
    ceiling,
    floor,
    maximum,
    minimum,
    total,
)
from core.kv_cache import capacity
from core.model_spec import AttentionGroup
from core.scenario import Scenario

Steps = tuple[Derivation, ...]


def step_time(scenario: Scenario, batch: float, context: int, prompt: int = 0) -> Steps:
    """F, M and the step time of `batch` equal decodes and at most one whole prompt."""
    flops = Derivation("FLOPs of the step", "F", _flops(scenario, batch, context, prompt), "FLOP")
    traffic = Derivation(
        "bytes the step moves", "M", _traffic(scenario, batch, context, prompt), "B"
    )
    compute = flops.term / _rate(scenario, compute=True)
    memory = traffic.term / _rate(scenario, compute=False)
    step = maximum(compute, memory)
    if scenario.overhead_s:
        step = step + Term("o", scenario.overhead_s, "s")
    return flops, traffic, Derivation("step time", "T", step, "s")


def intensity(scenario: Scenario, batch: float, context: int) -> Steps:
    """F, M and F/M of a decode step."""
    flops, traffic, _ = step_time(scenario, batch, context)
    return flops, traffic, Derivation("intensity", "I", flops.term / traffic.term, "FLOP/B")


def ridge(scenario: Scenario) -> Steps:
    """P/W with what the scenario makes of them."""
    quotient = _rate(scenario, compute=True) / _rate(scenario, compute=False)
    return (Derivation("ridge", "r", quotient, "FLOP/B"),)


def tokens_per_second(scenario: Scenario, batch: int, context: int) -> Steps:
    """The step time, then what each user and all of them get from it."""
    steps = step_time(scenario, batch, context)
    step = steps[-1].term
    each = Derivation("each user", "v", 1 / step, "tokens/s")
    return *steps, each, Derivation("all users", "V", Term("B", batch) / step, "tokens/s")


def crossing_batch(scenario: Scenario, context: int) -> Steps:
    """The plateau against the ridge, and where there is a crossing the batch nearest to it.

    A crossing below one sequence has no batch near it and ends the lines itself.
    """
    ((limit,), (edge,)) = (plateau(scenario, context), ridge(scenario))
    found = float(roofline.crossing_batch(scenario, context))
    if not np.isfinite(found):
        return edge, limit
    if scenario.model.experts is not None:
        # The read grows with the batch in a way that has no formula for its root.
        flops, traffic, reached = intensity(scenario, found, context)
        there = Derivation("intensity at that batch", "I", reached.expression, "FLOP/B")
        batch = Term("B", found)
        crossing = Derivation("batch tried until I = r", "B_×", batch)
        return edge, limit, flops, traffic, there, *_nearest_batch(crossing)
    model = scenario.model
    each_flop = 2.0 * model.flop_parameters + float(roofline.decode_attention_flop(model, context))
    each_byte = float(model.kv_bytes_per_sequence(context, scenario.cache_byte))
    read = float(model.weights_read_byte(1, scenario.weight_byte))
    expression = (Term("M_w", read, "B") * edge.term) / (
        Term("F_1", each_flop, "FLOP") - Term("M_1", each_byte, "B") * edge.term
    )
    return edge, limit, *_nearest_batch(Derivation("crossing", "B_×", expression))


def _nearest_batch(crossing: Derivation) -> Steps:
    """The crossing and the whole batch nearest to it: sequences come whole, crossings do not."""
    if crossing.value < 1:
        return (crossing,)
    return crossing, Derivation("nearest batch", "B", floor(crossing.term + 0.5))


def plateau(scenario: Scenario, context: int) -> Steps:
    """What decode's intensity levels off at: one sequence's FLOPs over its cache bytes."""
    model = scenario.model
    flops = 2 * Term("N", model.flop_parameters) + _attention(scenario, None, context)
    cached = _cache(scenario, None, context)
    return (Derivation("intensity levels off at", "I_∞", flops / cached, "FLOP/B"),)


def bytes_per_token(scenario: Scenario) -> Steps:
    """Cache bytes that one token adds while no window is full."""
    parts = [
        _elements(group) * Term("b_c", scenario.cache_byte, "B")
        for group in scenario.model.attention
    ]
    expression = total(parts) if parts else as_expression(0)
    return (Derivation("cache per token", "b", expression, "B"),)


def bytes_per_sequence(scenario: Scenario, context: int) -> Steps:
    """Cache bytes of one sequence: slope, windows and fixed state."""
    return (Derivation("cache per sequence", "c", _cache(scenario, None, context), "B"),)


def sequences(scenario: Scenario, context: int, *, reserved_fraction: float) -> Steps:
    """Weights, budget, bytes per sequence and how many fit."""
    # The count that is explained refuses what it cannot count, and so does its explanation.
    capacity(scenario, context, reserved_fraction=reserved_fraction)
    weights = Derivation("weights", "M_w", _weights(scenario), "B")
    memory = Term("C", scenario.device.memory_byte, "B")
    usable = Term("f", reserved_fraction) * Term("t", scenario.devices) * memory
    budget = Derivation("budget for the cache", "K", usable - weights.term, "B")
    (each,) = bytes_per_sequence(scenario, context)
    count = Derivation("sequences that fit", "n", floor(_room(budget) / each.term))
    return weights, budget, each, count


def fixed_per_sequence(scenario: Scenario) -> Steps:
    """Cache bytes of one sequence that no longer grow once its windows are full, and its state."""
    parts = [
        _elements(group)
        * Term("b_c", scenario.cache_byte, "B")
        * Term("w", group.window_token, "tokens")
        for group in scenario.model.attention
        if group.window_token is not None
    ]
    parts.append(Term("s", scenario.model.state_byte_per_sequence, "B"))
    return (Derivation("fixed part, windows full", "c_0", total(parts), "B"),)


def tokens_held(scenario: Scenario, context: int, *, reserved_fraction: float) -> Steps:
    """Budget, bytes per sequence, and the tokens that the cache holds at that context."""
    weights, budget, each, _ = sequences(scenario, context, reserved_fraction=reserved_fraction)
    held = floor(_room(budget) / (each.term / Term("S", context)))
    return weights, budget, each, Derivation("tokens held in all", "n_t", held)


def _room(budget: Derivation) -> Expression:
    """The budget for the cache; nothing where the weights alone are too large."""
    return budget.term if budget.value >= 0 else maximum(budget.term, as_expression(0))


def devices_needed(scenario: Scenario, *, reserved_fraction: float) -> Steps:
    """Weights, and how many devices hold them."""
    weights = Derivation("weights", "M_w", _weights(scenario), "B")
    usable = Term("f", reserved_fraction) * Term("C", scenario.device.memory_byte, "B")
    return weights, Derivation("devices", "t", ceiling(weights.term / usable))


def _flops(scenario: Scenario, batch: float, context: int, prompt: int) -> Expression:
    model = scenario.model
    tokens: Expression = Term("B", batch)
    if batch and prompt:
        tokens = tokens + Term("T", prompt)
    elif prompt:
        tokens = Term("T", prompt)
    parts: list[Expression] = [2 * Term("N", model.flop_parameters) * tokens]
    if batch and model.attention:
        parts.append(_attention(scenario, batch, context))
    if prompt:
        parts += [
            4
            * Term("L", group.layers)
            * Term("H", group.heads)
            * Term("Q", group.prefill_dim)
            * _pairs(group, prompt)
            for group in model.attention
        ]
    return total(parts)


def _pairs(group: AttentionGroup, prompt: int) -> Expression:
    if prompt <= group.reach_token:
        return Term("T", prompt) ** 2 / 2
    window = Term("w", group.reach_token)
    return window**2 / 2 + window * (Term("T", prompt) - window)


def _attention(scenario: Scenario, batch: float | None, context: int) -> Expression:
    parts: list[Expression] = []
    for group in scenario.model.attention:
        part = (
            4
            * Term("L", group.layers)
            * Term("H", group.heads)
            * Term("Q", group.decode_dim)
            * _reach(group, context)
        )
        parts.append(part if batch is None else part * Term("B", batch))
    return total(parts) if parts else as_expression(0)


def _reach(group: AttentionGroup, context: int) -> Expression:
    positions = Term("S", context)
    if group.window_token is None:
        return positions
    return minimum(positions, Term("w", group.window_token))


def _traffic(scenario: Scenario, batch: float, context: int, prompt: int) -> Expression:
    tokens = batch + prompt
    model = scenario.model
    if model.experts is not None or scenario.weight_byte is None or model.lookup_parameters:
        read = float(model.weights_read_byte(tokens, scenario.weight_byte))
        parts: list[Expression] = [Term("M_w", read, "B")]
    else:
        parts = [Term("b_w", scenario.weight_byte, "B") * Term("N", model.parameters)]
    if batch:
        parts.append(_cache(scenario, batch, context))
    if prompt:
        parts.append(_cache(scenario, None, prompt, symbol="T"))
    return total(parts)


def _cache(scenario: Scenario, batch: float | None, context: int, symbol: str = "S") -> Expression:
    model = scenario.model
    parts: list[Expression] = []
    for group in model.attention:
        reach: Expression = Term(symbol, context)
        if group.window_token is not None:
            reach = minimum(reach, Term("w", group.window_token))
        parts.append(_elements(group) * Term("b_c", scenario.cache_byte, "B") * reach)
    if model.state_byte_per_sequence:
        parts.append(Term("s", model.state_byte_per_sequence, "B"))
    cached = total(parts)
    return cached if batch is None else Term("B", batch) * cached


def _elements(group: AttentionGroup) -> Expression:
    layers = Term("L", group.layers)
    if group.kv_heads is None:
        return layers * Term("E", group.cache_elements_per_token)
    return 2 * layers * Term("K", group.kv_heads) * Term("Q", group.head_dim)


def _weights(scenario: Scenario) -> Expression:
    if scenario.weight_byte is None:
        return Term("M_file", scenario.weights_byte, "B")
    return Term("b_w", scenario.weight_byte, "B") * Term("N", scenario.model.parameters)


def _rate(scenario: Scenario, *, compute: bool) -> Expression:
    device = scenario.device
    if compute:
        rate: Expression = Term("P", device.peak_flop_per_s, "FLOP/s")
        efficiency = Term("e_c", scenario.compute_efficiency)
    else:
        rate = Term("W", device.bandwidth_byte_per_s, "B/s")
        efficiency = Term("e_b", scenario.bandwidth_efficiency)
    if scenario.devices > 1:
        rate = Term("t", scenario.devices) * rate
    return rate if efficiency.value == 1 else rate * efficiency
