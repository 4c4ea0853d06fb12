"""Section 5's readouts as shown arithmetic: each function returns derivations, last one last.

The numbers come from `chunked_prefill`, `scheduling` and `goodput`; these functions only lay out
how they arise. A test holds every last line against the function it explains.
"""

from __future__ import annotations

from core.chunked_prefill import ChunkedPrefill
from core.derivation import Derivation, Expression, Term, as_expression, floor, maximum, total
from core.model_spec import AttentionGroup
from core.roofline import causal_pairs, decode_attention_flop
from core.scenario import Scenario

Steps = tuple[Derivation, ...]

_FEW_STEPS = 5


def mixed_step(
    scenario: Scenario, decoding: int, context: int, offset: int, chunk: int, symbol: str = "T"
) -> Steps:
    """F, M and the time of a step of equal decodes and one chunk that follows `offset` tokens."""
    model, tokens = scenario.model, decoding + chunk
    n = Derivation("tokens of the step", "n", Term("B", decoding) + Term("p", chunk), "tokens")
    each = Term("A_1", float(decode_attention_flop(model, context)), "FLOP")
    parts: list[Expression] = [
        2 * Term("N", model.flop_parameters) * n.term,
        Term("B", decoding) * each,
    ]
    parts += [
        4
        * Term("L", group.layers)
        * Term("H", group.heads)
        * Term("Q", group.prefill_dim)
        * _pairs(group, offset, chunk)
        for group in model.attention
    ]
    flops = Derivation("FLOPs of the step", "F", total(parts), "FLOP")
    cached, width = model.kv_bytes_per_sequence, scenario.cache_byte
    traffic = Derivation(
        "bytes the step moves",
        "M",
        Term("M_w", float(model.weights_read_byte(tokens, scenario.weight_byte)), "B")
        + Term("B", decoding) * Term("c_S", float(cached(context, width)), "B")
        + Term("c_o+p", float(cached(offset + chunk, width)), "B"),
        "B",
    )
    compute = flops.term / Term("P", scenario.flop_per_s, "FLOP/s")
    memory = traffic.term / Term("W", scenario.byte_per_s, "B/s")
    step = maximum(compute, memory)
    if scenario.overhead_s:
        step = step + Term("h", scenario.overhead_s, "s")
    return n, flops, traffic, Derivation("time of the step", symbol, step, "s")


def steps_of_prompt(prompt: int, decoding: int, token_budget: int | None) -> Steps:
    """The chunk that the decodes leave of the budget, and the steps that the prompt takes."""
    length = Term("T", prompt, "tokens")
    if token_budget is None:
        chunk = Derivation("chunk", "p", as_expression(length), "tokens")
    else:
        room = Term("budget", token_budget, "tokens") - Term("B", decoding)
        chunk = Derivation("chunk", "p", room, "tokens")
    whole = floor((length + chunk.term - 1) / chunk.term)
    return chunk, Derivation("steps", "k", whole)


def time_to_first_token(prefill: ChunkedPrefill) -> Steps:
    """The sum of the prompt's steps: one by one where they are few, by their mean where not."""
    times = prefill.step_s.tolist()
    if len(times) <= _FEW_STEPS:
        terms: list[Expression] = [Term(f"T_{i}", t, "s") for i, t in enumerate(times, 1)]
        return (Derivation("time to first token", "TTFT", total(terms), "s"),)
    mean = Term("T_mean", prefill.ttft_s / len(times), "s")
    return (Derivation("time to first token", "TTFT", Term("k", len(times)) * mean, "s"),)


def pause(prefill: ChunkedPrefill) -> Steps:
    """The longest step over the decode step."""
    longest, alone = Term("T_max", prefill.worst_s, "s"), Term("T_1", prefill.decode_step_s, "s")
    return (Derivation("pause", "x", longest / alone),)


def neighbours(share: float, count: int) -> tuple[float, float]:
    """The shares at which a quantile function has the two values that `quantile` lies between."""
    lower = int(share * (count - 1))
    last = max(count - 1, 1)
    return lower / last, min(lower + 1, count - 1) / last


def quantile(
    name: str, symbol: str, share: float, count: int, below_s: float, above_s: float
) -> Steps:
    """Where a quantile stands among `count` values in order, and the value there.

    `below_s` and `above_s` are the values at its `neighbours`. Places run from 0 to count − 1. The
    value at place k + f lies a fraction f of the way from the one at k to the next, as
    `numpy.quantile` has it.
    """
    place = Term("q", share) * (Term("n", count) - 1)
    whole = Derivation("place in order of size", "k", floor(place))
    part = Term("f", place.value - whole.value)
    value = (1 - part) * Term("x_k", below_s, "s") + part * Term("x_k+1", above_s, "s")
    return whole, Derivation(name, symbol, value, "s")


def goodput(met: int, duration_s: float) -> Steps:
    """Requests within both targets over the time of the run."""
    quotient = Term("n_met", met) / Term("D", duration_s, "s")
    return (Derivation("goodput", "G", quotient, "requests/s"),)


def preemptions(admissions: int, requests: int) -> Steps:
    """Admissions beyond the first of each request: every preempted one is admitted again."""
    count = Term("n_admitted", admissions) - Term("n_requests", requests)
    return (Derivation("preemptions", "n", count),)


def _pairs(group: AttentionGroup, offset: int, chunk: int) -> Expression:
    if offset + chunk > group.reach_token:
        return Term("pairs", float(causal_pairs(offset, chunk, group.reach_token)))
    length = Term("p", chunk)
    half = length**2 / 2
    return Term("o", offset) * length + half if offset else half
