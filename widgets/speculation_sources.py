"""Section 6's three answers to one question: by formula, by simulation, on real text.

Each gives a `Drafting`: what a pass yields and how long its drafts are. From there on they are
treated alike, so the same speedup, batch curve and charts hold for all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from core.requests import Xorshift32
from core.scenario import Scenario
from core.simulated_rounds import SimulatedRounds, simulate_tokens
from core.speculation import (
    AdaptiveDraft,
    adaptive_draft,
    expected_tokens,
    speedup_by_batch,
    tokens_variance,
)
from widgets.speculation_text import MAX_GAMMA, TextRun

FORMULA, SIMULATION, TEXT = "formula", "simulation", "text"
SOURCE_WORDS: Mapping[str, str] = {
    FORMULA: "formula",
    SIMULATION: "simulation",
    TEXT: "real text",
}

# The state of the reference program's generator when it comes to speculation, its own α and γ,
# and its rounds there; elsewhere fewer are drawn, which a moving slider can wait for.
REFERENCE_STATE = 1_093_393_041
REFERENCE_SETTING = (0.8, 4)
REFERENCE_ROUNDS = 200_000
OTHER_ROUNDS = 20_000
DOT_ROUNDS = 2_000
DOT_GAMMAS = tuple(range(1, MAX_GAMMA + 1))
ERRORS_SHOWN = 2

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Drafting:
    """What a target pass yields, and the lengths of its drafts with their share of the passes.

    `alpha` is the acceptance as set or as measured; NaN where no draft was judged.
    """

    tokens_per_pass: float
    standard_error: float
    lengths: np.ndarray
    share: np.ndarray
    alpha: float

    @property
    def mean_length(self) -> float:
        """Draft tokens a pass."""
        return float((self.lengths * self.share).sum())

    def speedup(self, draft_cost_ratio: float) -> float:
        """Tokens over the cost of a pass and its drafts, where verifying costs one step."""
        return self.tokens_per_pass / (self.mean_length * draft_cost_ratio + 1)

    @property
    def operations_factor(self) -> float:
        """Tokens scored for each token gained."""
        return (self.mean_length + 1) / self.tokens_per_pass


@dataclass(frozen=True, slots=True)
class BatchCurve:
    """Speedup over batches, and what goes into it; all of shape (batches,)."""

    batch: np.ndarray
    plain_s: np.ndarray
    verify_s: np.ndarray
    round_s: np.ndarray
    speedup: np.ndarray
    capacity: float


@dataclass(frozen=True, slots=True)
class Dots:
    """Measured points with their standard errors, and the passes behind them."""

    x: np.ndarray
    y: np.ndarray
    error: np.ndarray
    passes: np.ndarray


def by_formula(alpha: float, gamma: int, adaptive: bool) -> Drafting:
    """Equation 1 at one γ, or averaged over the long run of the adaptive rule."""
    if not adaptive:
        yielded = float(expected_tokens(alpha, gamma))
        return Drafting(yielded, 0.0, np.array([gamma]), np.ones(1), alpha)
    rule = adaptive_rule(alpha)
    lengths = np.flatnonzero(rule.share > _NEGLIGIBLE)
    share = rule.share[lengths]
    return Drafting(float(rule.tokens_per_target_pass), 0.0, lengths, share / share.sum(), alpha)


@lru_cache(maxsize=512)
def adaptive_rule(alpha: float) -> AdaptiveDraft:
    """The adaptive rule's long run; drafts that no such α reaches are not looked at."""
    return adaptive_draft(alpha, 200) if alpha <= 0.97 else adaptive_draft(alpha)


def rule_is_cut(alpha: float) -> bool:
    """Whether the adaptive rule's drafts grow up to the longest that core counts, and stay there.

    That is so from about α 0.999 on; at α 1 nothing would ever end their growth.
    """
    return bool(adaptive_rule(alpha).share[-1] > _NEGLIGIBLE)


@lru_cache(maxsize=512)
def reference_rounds(alpha: float, gamma: int) -> SimulatedRounds:
    """Rounds as the reference program draws them; at its own α and γ the very same 200,000."""
    trials = REFERENCE_ROUNDS if (alpha, gamma) == REFERENCE_SETTING else OTHER_ROUNDS
    return simulate_tokens(Xorshift32(REFERENCE_STATE), alpha, gamma, trials)


@lru_cache(maxsize=512)
def dot_rounds(alpha: float) -> tuple[SimulatedRounds, ...]:
    """2,000 rounds at each γ, for the dots."""
    return tuple(
        simulate_tokens(np.random.default_rng(gamma), alpha, gamma, DOT_ROUNDS)
        for gamma in DOT_GAMMAS
    )


def by_simulation(rounds: SimulatedRounds) -> Drafting:
    """What drawn rounds yielded, and the acceptance they show."""
    kept, judged = judged_draws(rounds)
    alpha = kept / judged if judged else float("nan")
    spread = rounds.standard_error
    return Drafting(rounds.mean, spread, np.array([rounds.gamma]), np.ones(1), alpha)


def judged_draws(rounds: SimulatedRounds) -> tuple[int, int]:
    """Draft tokens accepted, and draft tokens judged, in drawn rounds."""
    accepted = np.arange(rounds.gamma + 1)
    kept = int((rounds.counts * accepted).sum())
    refused = int(rounds.counts[: rounds.gamma].sum())
    return kept, kept + refused


def on_text(run: TextRun) -> Drafting:
    """What a run on text yielded."""
    return Drafting(run.tokens_per_pass, run.standard_error, run.lengths, run.share, run.alpha)


def batch_curve(
    scenario: Scenario, batch: np.ndarray, context: int, drafting: Drafting, cost: float
) -> BatchCurve:
    """Speedup where each pass costs what the roofline says for its own draft length."""
    each = speedup_by_batch(
        scenario, batch[:, None], context, alpha=0.0, gamma=drafting.lengths, draft=cost
    )
    verify_s = (each.verify_s * drafting.share).sum(axis=1)
    round_s = (each.round_s * drafting.share).sum(axis=1)
    plain_s = each.plain_s[:, 0]
    return BatchCurve(
        batch=batch,
        plain_s=plain_s,
        verify_s=verify_s,
        round_s=round_s,
        speedup=drafting.tokens_per_pass * plain_s / round_s,
        capacity=float(each.capacity_sequences[0, 0]),
    )


def simulation_dots(alpha: float, gamma: int, cost: float) -> Dots:
    """Speedup at each γ from drawn rounds; the chosen γ from the reference's own stream."""
    runs = [
        reference_rounds(alpha, gamma) if run.gamma == gamma else run for run in dot_rounds(alpha)
    ]
    return Dots(
        x=np.array(DOT_GAMMAS),
        y=np.array([by_simulation(run).speedup(cost) for run in runs]),
        error=np.array([run.standard_error / (run.gamma * cost + 1) for run in runs]),
        passes=np.array([run.trials for run in runs]),
    )


def text_dots(runs: Mapping[int, TextRun], cost: float) -> Dots:
    """Speedup of each run on text at fixed γ, where there is one yet."""
    known = [(gamma, runs[gamma], on_text(runs[gamma])) for gamma in sorted(runs)]
    return Dots(
        x=np.array([gamma for gamma, _, _ in known]),
        y=np.array([drafting.speedup(cost) for _, _, drafting in known]),
        error=np.array(
            [run.standard_error / (drafting.mean_length * cost + 1) for _, run, drafting in known]
        ),
        passes=np.array([run.passes for _, run, _ in known]),
    )


def formula_at_drafts(runs: Mapping[int, TextRun], alpha: float, cost: float) -> Dots:
    """Equation 1's speedup at one α for the drafts that each run really made, short ones too."""
    gammas = np.array(sorted(runs), dtype=int)
    speedups = []
    for gamma in gammas:
        drafting = on_text(runs[gamma])
        tokens = float((expected_tokens(alpha, drafting.lengths) * drafting.share).sum())
        speedups.append(replace(drafting, tokens_per_pass=tokens).speedup(cost))
    exact = np.zeros(gammas.size)
    return Dots(gammas, np.array(speedups), exact, exact)


def simulated_positions(rounds: SimulatedRounds) -> Dots:
    """The share kept at each draft position, among rounds that kept everything before it."""
    reached = rounds.counts[::-1].cumsum()[::-1]
    judged, kept = reached[:-1], reached[1:]
    known = judged > 0
    return _shares(np.arange(1, rounds.gamma + 1)[known], kept[known], judged[known])


def text_positions(run: TextRun) -> Dots:
    """The same, counted in a run on text."""
    found = run.positions
    return _shares(found["position"], found["kept"], found["judged"])


def exact_spread(alpha: float, gamma: int) -> float:
    """Standard deviation of the tokens of one pass, by formula."""
    return float(tokens_variance(alpha, gamma)) ** 0.5


def _shares(position: np.ndarray, kept: np.ndarray, judged: np.ndarray) -> Dots:
    rate = kept / judged
    return Dots(position, rate, np.sqrt(rate * (1 - rate) / judged), judged)
