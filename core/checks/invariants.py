"""What we claim ourselves, at any seed: of pool, batching, speculation and cost model.

Those of the first three run the parts that are on trial. Each has an oracle of its own: a count, a
loop, a limit or a law, and never the function it tests.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from core import roofline
from core.acceptance import expected_tokens, tokens_variance
from core.batching import Batching
from core.checks.check import Check, Trial, Value
from core.devices import DEVICES
from core.kv_cache import capacity
from core.models import MODELS
from core.pool_claims import CLAIMS, Claim, Finding
from core.reference_program import ALPHA, GAMMA, SLOTS
from core.requests import RequestStream, Xorshift32, fixed_batch
from core.scenario import Scenario
from core.speculation import optimal_gamma, speedup

_OURS = "this project"
_ROUNDS = 2_000
_FAR = 5.0  # standard errors: one draw in 1.7 million lies further out


def _invariant(
    name: str, expected: Value, observe: Callable[[Trial], Value], tolerance: float = 0.0
) -> Check:
    return Check(name, "our invariants", _OURS, expected, observe, tolerance, True)


def _model(
    name: str, expected: Value, observe: Callable[[np.random.Generator], Value], tolerance: float
) -> Check:
    """A law of the cost model, tried on values drawn from the seed."""

    def look(trial: Trial) -> Value:
        return observe(np.random.default_rng(trial.seed))

    return Check(name, "our invariants", _OURS, expected, look, tolerance)


def _pool_claim(claim: Claim) -> Check:
    """A claim of `core.pool_claims`, on contents drawn from the seed."""

    def look(trial: Trial) -> Finding:
        return claim.observe(trial.parts.pool, random.Random(trial.seed))

    return Check(f"pool: {claim.name}", "our invariants", _OURS, "no error", look, on_parts=True)


POOL = tuple(_pool_claim(claim) for claim in CLAIMS)


def _both(trial: Trial) -> tuple[Batching, Batching]:
    return trial.program.fixed, trial.program.rolling


def _most_at_once(outcome: Batching) -> int:
    """The largest number of requests that share a step, counted request by request."""
    start, finish = outcome.start, outcome.finish
    return max(int(np.sum((start <= step) & (step < finish))) for step in start)


def _over_the_slots(trial: Trial) -> Value:
    return tuple(max(0, _most_at_once(outcome) - SLOTS) for outcome in _both(trial))


def _wrongly_served(trial: Trial) -> Value:
    """Requests that start before they arrive, or do not make one token in every step."""
    return tuple(
        int(
            np.sum(
                (outcome.start < outcome.stream.arrival)
                | (outcome.finish - outcome.start != outcome.stream.output_token)
            )
        )
        for outcome in _both(trial)
    )


def _overtaking(trial: Trial) -> Value:
    return tuple(int(np.sum(np.diff(outcome.start) < 0)) for outcome in _both(trial))


def _joined_late(trial: Trial) -> Value:
    """Requests of static batching that join while an earlier batch still runs."""
    fixed = trial.program.fixed
    return sum(
        bool(np.any((fixed.start < start) & (fixed.finish > start))) for start in fixed.start
    )


def _nine_on_eight(trial: Trial) -> Value:
    stream = fixed_batch(SLOTS + 1, 1, 20, unit="steps")
    return tuple(trial.parts.batching(stream, SLOTS, policy).steps for policy in (False, True))


def _one_by_one(stream: RequestStream) -> list[int]:
    """When each request ends where there is one slot: a queue at a single counter."""
    free, ends = 0, []
    for arrival, output in zip(stream.arrival, stream.output_token, strict=True):
        free = max(free, int(arrival)) + int(output)
        ends.append(free)
    return ends


def _one_slot(trial: Trial) -> Value:
    stream = trial.program.stream
    expected = _one_by_one(stream)
    return tuple(
        int(np.sum(trial.parts.batching(stream, 1, policy).finish != expected))
        for policy in (False, True)
    )


BATCHING = (
    _invariant("batching: requests over the 8 slots", (0, 0), _over_the_slots),
    _invariant("batching: not one token a step", (0, 0), _wrongly_served),
    _invariant("batching: overtaken in the queue", (0, 0), _overtaking),
    _invariant("batching: joined a static batch late", 0, _joined_late),
    _invariant("batching: 9 equal requests, 8 slots", (40, 40), _nine_on_eight),
    _invariant("batching: one slot is a plain queue", (0, 0), _one_slot),
)


def _most_tokens(trial: Trial) -> Value:
    return int(np.flatnonzero(trial.program.rounds.counts)[-1]) + 1


def _off(trial: Trial) -> Value:
    return trial.program.standard_errors_off


def _shares_off(trial: Trial) -> Value:
    """The furthest count of rounds by tokens from its binomial mean, in standard deviations."""
    counts = trial.program.rounds.counts
    accepted = np.arange(counts.size)
    share = ALPHA**accepted * np.where(accepted < GAMMA, 1 - ALPHA, 1.0)
    trials = counts.sum()
    return float(np.max(np.abs(counts - trials * share) / np.sqrt(trials * share * (1 - share))))


def _certain(trial: Trial) -> Value:
    draws = Xorshift32(trial.seed)
    return tuple(trial.parts.rounds(draws, alpha, GAMMA, 1_000).tokens for alpha in (0.0, 1.0))


def _by_a_loop(trial: Trial) -> Value:
    """Tokens and generator after 2,000 rounds, less what a loop of single draws makes of them."""
    draws, single = Xorshift32(trial.seed), Xorshift32(trial.seed)
    tokens = 0
    for _ in range(_ROUNDS):
        accepted = 0
        while accepted < GAMMA and single.next() < ALPHA:
            accepted += 1
        tokens += accepted + 1
    found = trial.parts.rounds(draws, ALPHA, GAMMA, _ROUNDS).tokens
    return found - tokens, draws.state - single.state


SPECULATION = (
    _invariant("speculation: most tokens of a pass", GAMMA + 1, _most_tokens),
    _invariant("speculation: standard errors off", 0.0, _off, _FAR),
    _invariant("speculation: shares by tokens, s.d. off", 0.0, _shares_off, _FAR),
    _invariant("speculation: α 0 and α 1, 1,000 passes", (1_000, 5_000), _certain),
    _invariant("speculation: a loop draws the same", (0, 0), _by_a_loop),
)

_SCENARIO = Scenario(MODELS["8B"], DEVICES["A100"])


def _below_the_floor(draw: np.random.Generator) -> Value:
    """Steps faster than their arithmetic or their reading alone, taken from N, P and W."""
    batch, context = draw.integers(1, 513, 200), draw.integers(1, 100_000, 200)
    cost = roofline.step_costs(_SCENARIO, decode_batch=batch, context=context)
    return int(np.sum((cost.time_s < 16e9 / 2.0e12) | (cost.time_s < batch * 16e9 / 312e12)))


def _devices(draw: np.random.Generator) -> Value:
    batch = draw.integers(1, 513, 100)
    one, four = (
        roofline.step_costs(
            Scenario(_SCENARIO.model, _SCENARIO.device, devices), decode_batch=batch, context=2048
        ).time_s
        for devices in (1, 4)
    )
    return float(np.max(np.abs(one / four - 4)))


def _faster_with_more(draw: np.random.Generator) -> Value:
    contexts = np.sort(draw.integers(1, 100_000, 200))
    times = roofline.step_costs(_SCENARIO, decode_batch=64, context=contexts).time_s
    return int(np.sum(np.diff(times) < 0))


def _chunks_apart(draw: np.random.Generator) -> Value:
    """Attention FLOPs of a prompt in two chunks against the whole, relative."""
    tokens = draw.integers(2, 20_000, 100)
    cut = np.maximum(1, (tokens * draw.random(100)).astype(int))
    model = _SCENARIO.model
    whole = roofline.prefill_attention_flop(model, 0, tokens)
    parts = roofline.prefill_attention_flop(model, 0, cut) + roofline.prefill_attention_flop(
        model, cut, tokens - cut
    )
    return float(np.max(np.abs(parts / whole - 1)))


def _misfits(draw: np.random.Generator) -> Value:
    """Contexts at which what should fit does not, or one more would."""
    contexts = draw.integers(1, 400_000, 200)
    fit = capacity(_SCENARIO, contexts)
    used = fit.sequences * contexts * 131_072.0
    return int(np.sum((used > 56e9) | (used + contexts * 131_072.0 <= 56e9)))


def _misjudged(draw: np.random.Generator) -> Value:
    """Pairs of α and c where a draft pays although α ≤ c, or does not although α > c."""
    alpha, cost = draw.random(200), draw.random(200)
    pays = np.max(speedup(alpha[:, None], np.arange(1, 40), cost[:, None]), axis=1) > 1
    return int(np.sum(pays != (alpha > cost)))


def _not_the_best(draw: np.random.Generator) -> Value:
    alpha, cost = draw.random(50), 0.01 + draw.random(50)
    sums = np.cumsum(alpha[:, None] ** np.arange(41), axis=1) / (np.arange(41) * cost[:, None] + 1)
    return int(np.sum(optimal_gamma(alpha, cost, 40) != np.argmax(sums, axis=1)))


def _variance_off(draw: np.random.Generator) -> Value:
    """Mean and variance of tokens a pass against their sums over all outcomes."""
    alpha = 0.99 * draw.random(50)
    accepted = np.arange(8)
    share = alpha[:, None] ** accepted * np.where(accepted < 7, 1 - alpha[:, None], 1.0)
    mean = (share * (accepted + 1)).sum(axis=1)
    variance = (share * (accepted + 1) ** 2).sum(axis=1) - mean**2
    apart = (expected_tokens(alpha, 7) - mean, tokens_variance(alpha, 7) - variance)
    return tuple(float(np.max(np.abs(difference))) for difference in apart)


COST_MODEL = (
    _model("cost: steps below the floor", 0, _below_the_floor, 0.0),
    _model("cost: four devices, a quarter of the time", 0.0, _devices, 1e-12),
    _model("cost: faster with longer contexts", 0, _faster_with_more, 0.0),
    _model("cost: chunks against the whole prompt", 0.0, _chunks_apart, 1e-12),
    _model("cost: sequences that fit, miscounted", 0, _misfits, 0.0),
    _model("cost: a draft pays where α is over c", 0, _misjudged, 0.0),
    _model("cost: best γ that is not the best", 0, _not_the_best, 0.0),
    _model("cost: mean and variance by summing", (0.0, 0.0), _variance_off, 1e-9),
)

INVARIANTS = (*POOL, *BATCHING, *SPECULATION, *COST_MODEL)
"""All of ours; the first three kinds run the parts on trial."""
