"""Section 6's readouts as shown arithmetic: each function returns derivations, last one last.

The numbers come from `speculation` and `decoding`; these functions only lay out how they arise. A
test holds every last line against the function it explains.
"""

from __future__ import annotations

from core.arithmetic import step_time
from core.decoding import Decoding
from core.derivation import Derivation, Expression, Term, maximum
from core.roofline import decode_attention_flop
from core.scenario import Scenario

Steps = tuple[Derivation, ...]


def tokens_per_target_pass(alpha: float, gamma: int) -> Steps:
    """E from α and γ: Equation 1, or γ + 1 where every draft token is accepted."""
    length = Term("γ", gamma)
    rate = Term("α", alpha)
    expression = length + 1 if alpha == 1 else (1 - rate ** (length + 1)) / (1 - rate)
    return (Derivation("tokens per target pass", "E", expression),)


def speedup(alpha: float, gamma: int, draft_cost_ratio: float) -> Steps:
    """E, then the speedup where verifying costs one decode step."""
    (tokens,) = tokens_per_target_pass(alpha, gamma)
    cost = Term("γ", gamma) * Term("c", draft_cost_ratio) + 1
    return tokens, Derivation("speedup", "S", tokens.term / cost)


def operations_factor(alpha: float, gamma: int) -> Steps:
    """E, then the arithmetic per token over that without a draft, which itself is free."""
    (tokens,) = tokens_per_target_pass(alpha, gamma)
    return tokens, Derivation("operations factor", "O", (Term("γ", gamma) + 1) / tokens.term)


def speedup_at_batch(
    scenario: Scenario,
    batch: int,
    context: int,
    *,
    alpha: float,
    gamma: int,
    draft_cost_ratio: float,
) -> Steps:
    """The plain step, the verifying step over B·(γ + 1) tokens, and the speedup of the two."""
    model = scenario.model
    (tokens,) = tokens_per_target_pass(alpha, gamma)
    plain = step_time(scenario, batch, context)
    sequences, length = Term("B", batch), Term("γ", gamma)
    rows = Derivation("tokens to verify", "n", sequences * (length + 1), "tokens")
    each_flop = 2.0 * model.flop_parameters + float(decode_attention_flop(model, context))
    flops = Derivation(
        "FLOPs of verifying", "F_v", rows.term * Term("F_1", each_flop, "FLOP"), "FLOP"
    )
    read_byte = float(model.weights_read_byte(rows.value, scenario.weight_byte))
    cache_byte = float(model.kv_bytes_per_sequence(context, scenario.cache_byte))
    traffic = Derivation(
        "bytes of verifying",
        "M_v",
        Term("M_w", read_byte, "B") + sequences * Term("M_1", cache_byte, "B"),
        "B",
    )
    verify_s: Expression = maximum(
        flops.term / Term("P", scenario.flop_per_s, "FLOP/s"),
        traffic.term / Term("W", scenario.byte_per_s, "B/s"),
    )
    if scenario.overhead_s:
        verify_s = verify_s + Term("o", scenario.overhead_s, "s")
    verify = Derivation("verifying step", "T_v", verify_s, "s")
    round_s = verify.term + length * Term("c", draft_cost_ratio) * plain[-1].term
    gain = Derivation("speedup", "S", tokens.term * plain[-1].term / round_s)
    return tokens, *plain, rows, flops, traffic, verify, gain


def measured(run: Decoding, draft_cost_ratio: float) -> Steps:
    """α, tokens per pass and speedup as counted in a run; a run without drafts has no α."""
    kept = sum(len(each.kept) for each in run.rounds)
    judged = kept + sum(bool(each.struck) for each in run.rounds)
    drafted = sum(len(each.drafted) for each in run.rounds)
    tokens, passes = Term("tokens", len(run.tokens)), Term("passes", len(run.rounds))
    cost = passes + Term("drafted", drafted) * Term("c", draft_cost_ratio)
    steps = (
        Derivation("tokens per target pass", "E", tokens / passes),
        Derivation("speedup", "S", tokens / cost),
    )
    if judged == 0:
        return steps
    rate = Term("kept", kept) / Term("judged", judged)
    return Derivation("measured acceptance", "α", rate), *steps


def gap_from_formula(run: Decoding) -> Steps:
    """Tokens per pass counted in a run over those that Equation 1 gives at its measured α."""
    ratio = Term("E_measured", run.tokens_per_target_pass) / Term(
        "E_formula", run.predicted_tokens_per_target_pass
    )
    return (Derivation("measured over formula", "g", ratio),)
