"""Section 6's eight readouts, each with the arithmetic of the source that it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import speculation_arithmetic
from core.arithmetic import step_time
from core.derivation import Derivation, Expression, Term
from core.scenario import Scenario
from core.simulated_rounds import SimulatedRounds
from core.speculation import MAX_DRAFT_LENGTH, optimal_gamma
from core.units import significant
from widgets.readouts import Readout
from widgets.speculation_sources import (
    FORMULA,
    TEXT,
    BatchCurve,
    Drafting,
    adaptive_rule,
    exact_spread,
    judged_draws,
    rule_is_cut,
)
from widgets.speculation_text import TextChoice, TextRun

Steps = tuple[Derivation, ...]

# No longer draft is looked for; where drafts cost nothing, longer is always better.
LONGEST_TRIED = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """The inputs of the section at one moment."""

    source: str
    alpha: float
    gamma: int
    cost: float
    batch: int
    context: int
    adaptive: bool
    text: TextChoice
    at_pass: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What one source says at these settings, and the batch curve that follows from it."""

    scenario: Scenario
    settings: Settings
    drafting: Drafting
    at_batch: BatchCurve
    rounds: SimulatedRounds | None = None
    run: TextRun | None = None

    @property
    def fixed_formula(self) -> bool:
        """Equation 1 at one γ, as the core's own arithmetic shows it."""
        return self.settings.source == FORMULA and not self.settings.adaptive

    @property
    def batch_speedup(self) -> float:
        """Speedup at the chosen batch and context."""
        return float(self.at_batch.speedup[0])

    @property
    def fits(self) -> bool:
        """Whether the chosen batch fits into memory."""
        return self.settings.batch <= self.at_batch.capacity

    @property
    def judged(self) -> bool:
        """Whether there was a draft to judge; by formula there always is."""
        return not np.isnan(self.drafting.alpha)

    @property
    def rule_alpha(self) -> float:
        """The acceptance that formulas are asked at: as set, or as measured on the text."""
        measured = self.settings.source == TEXT and self.judged
        return self.drafting.alpha if measured else self.settings.alpha


def readouts(answer: Answer) -> tuple[Readout, ...]:
    """Tokens a pass, speedup, best γ, at the batch; then α, its gap, arithmetic, adaptive γ."""
    settings, drafting = answer.settings, answer.drafting
    tokens, gain = _tokens(answer), _speedup(answer)
    best, alpha = _best(answer), _alpha(answer)
    gap, adaptive = _gap(answer), _adaptive(answer)
    operations = _operations(answer)
    known = answer.judged
    measured = settings.source != FORMULA
    fits = "×" if answer.fits else "×, does not fit"
    return (
        Readout("tokens", "tokens a pass", significant(drafting.tokens_per_pass), "", tokens),
        Readout("speedup", "speedup", significant(gain[-1].value), "×", gain),
        Readout(
            "best",
            "best γ by the formula",
            f"{best[-1].value:.0f}",
            "or longer" if best[-1].value == LONGEST_TRIED else "",
            best,
        ),
        Readout(
            "batch",
            f"speedup at batch {settings.batch:,}",
            significant(answer.batch_speedup),
            fits,
            _at_batch(answer),
        ),
        Readout(
            "alpha",
            "acceptance α, " + ("measured" if measured else "as set"),
            _share(drafting.alpha, measured) if known else "none",
            "" if known else "judged",
            alpha,
        ),
        Readout(
            "gap",
            "gap, in standard errors",
            signed(gap[-1].value) if known else "none",
            "" if known else "drafted",
            gap,
        ),
        Readout(
            "operations",
            "arithmetic for a token",
            significant(drafting.operations_factor),
            "×",
            operations,
        ),
        Readout(
            "adaptive", "with adaptive γ, formula", *_adaptive_words(answer, adaptive), adaptive
        ),
    )


def _adaptive_words(answer: Answer, steps: Steps) -> tuple[str, str]:
    """Number and unit; where the drafts are cut, the number is that of the cut and says so."""
    if not rule_is_cut(answer.rule_alpha):
        return significant(steps[-1].value), "×"
    if _endless(answer):
        return "no end", "drafts only grow"
    return significant(steps[-1].value), f"×, drafts cut at {MAX_DRAFT_LENGTH:,}"


def _endless(answer: Answer) -> bool:
    """Nothing is ever refused and drafts cost nothing: the rule's speedup grows for ever."""
    return answer.rule_alpha == 1 and answer.settings.cost == 0


def signed(value: float) -> str:
    """Two decimals with a sign: 2.470 → “+2.47”; what rounds to nothing is “0”."""
    rounded = round(value, 2)
    return f"{rounded:+.2f}".replace("-", "−") if rounded else "0"


def _share(alpha: float, measured: bool) -> str:
    return significant(alpha) if measured else f"{alpha:g}"


def standard_errors_off(answer: Answer) -> float:
    """The gap from the formula in standard errors; 0 by formula."""
    return _gap(answer)[-1].value


def _tokens(answer: Answer) -> Steps:
    settings = answer.settings
    if answer.fixed_formula:
        return speculation_arithmetic.tokens_per_target_pass(settings.alpha, settings.gamma)
    if answer.rounds is not None:
        yielded = Term("tokens", answer.rounds.tokens) / Term("passes", answer.rounds.trials)
    elif answer.run is not None:
        yielded = Term("tokens", answer.run.tokens) / Term("passes", answer.run.passes)
    else:
        yielded = Term("E_rule", answer.drafting.tokens_per_pass)
    return (Derivation("tokens per target pass", "E", yielded),)


def _speedup(answer: Answer) -> Steps:
    settings = answer.settings
    if answer.fixed_formula:
        return speculation_arithmetic.speedup(settings.alpha, settings.gamma, settings.cost)
    if answer.run is not None:
        return speculation_arithmetic.measured(answer.run.decoding, settings.cost)
    (tokens,) = _tokens(answer)
    length = Term("γ_mean" if settings.adaptive else "γ", answer.drafting.mean_length)
    return tokens, Derivation("speedup", "S", tokens.term / (length * Term("c", settings.cost) + 1))


def _best(answer: Answer) -> Steps:
    """The speedups beside the best γ, then the one they single out."""
    alpha, cost = answer.rule_alpha, answer.settings.cost
    best = int(optimal_gamma(alpha, cost, LONGEST_TRIED))
    beside = [
        Derivation(
            f"speedup at γ = {gamma}",
            f"S_{gamma}",
            speculation_arithmetic.speedup(alpha, gamma, cost)[-1].expression,
        )
        for gamma in (best - 1, best, best + 1)
        if gamma >= 0
    ]
    return *beside, Derivation("best draft length", "γ_best", Term("argmax S", best))


def _at_batch(answer: Answer) -> Steps:
    settings, scenario = answer.settings, answer.scenario
    if answer.fixed_formula:
        return speculation_arithmetic.speedup_at_batch(
            scenario,
            settings.batch,
            settings.context,
            alpha=settings.alpha,
            gamma=settings.gamma,
            draft_cost_ratio=settings.cost,
        )
    tokens = _tokens(answer)[-1]
    plain = step_time(scenario, settings.batch, settings.context)
    verify = Term("T_v", float(answer.at_batch.verify_s[0]), "s")
    drafts = Term("γ_mean", answer.drafting.mean_length) * Term("c", settings.cost)
    round_s = Derivation("a pass and its drafts", "T_r", verify + drafts * plain[-1].term, "s")
    gain = Derivation("speedup", "S", tokens.term * plain[-1].term / round_s.term)
    return tokens, *plain, round_s, gain


def _alpha(answer: Answer) -> Steps:
    if answer.settings.source == FORMULA:
        return (Derivation("acceptance as set", "α", Term("α_set", answer.settings.alpha)),)
    if answer.run is not None:
        judged = speculation_arithmetic.measured(answer.run.decoding, answer.settings.cost)
        return judged[:1] if judged[0].symbol == "α" else _tokens(answer)
    kept, judged_count = judged_draws(answer.rounds) if answer.rounds is not None else (0, 0)
    if not judged_count:
        return _tokens(answer)
    rate = Term("kept", kept) / Term("judged", judged_count)
    return (Derivation("measured acceptance", "α", rate),)


def _gap(answer: Answer) -> Steps:
    """Measured minus expected tokens a pass, in standard errors of the mean."""
    settings, tokens = answer.settings, _tokens(answer)[-1]
    by_formula: Expression = tokens.term
    name, passes, spread = "tokens by the formula", 1, 0.0
    if answer.run is not None:
        name = "by the formula at the measured α, over all draft lengths"
        by_formula = Term("E_α", answer.run.predicted)
        passes = answer.run.passes
        spread = answer.drafting.standard_error * passes**0.5
    elif answer.rounds is not None:
        alpha, gamma = settings.alpha, settings.gamma
        (equation,) = speculation_arithmetic.tokens_per_target_pass(alpha, gamma)
        by_formula, passes = equation.expression, answer.rounds.trials
        spread = exact_spread(alpha, gamma)
    formula = Derivation(name, "E_1", by_formula)
    off = tokens.term - formula.term
    if spread == 0:
        return tokens, formula, Derivation("gap", "z", off)
    error = Derivation(
        "standard error of the mean", "σ_E", Term("σ", spread) / Term("passes", passes) ** 0.5
    )
    return tokens, formula, error, Derivation("gap", "z", off / error.term)


def _operations(answer: Answer) -> Steps:
    settings = answer.settings
    if answer.fixed_formula:
        return speculation_arithmetic.operations_factor(settings.alpha, settings.gamma)
    tokens = _tokens(answer)[-1]
    length = Term("γ_mean", answer.drafting.mean_length)
    return tokens, Derivation("operations factor", "O", (length + 1) / tokens.term)


def _adaptive(answer: Answer) -> Steps:
    if _endless(answer):
        refused = 1 - Term("α", answer.rule_alpha)
        return (Derivation("share refused: drafts only grow", "1 − α", refused),)
    rule = adaptive_rule(answer.rule_alpha)
    tokens = Derivation(
        "tokens a pass, long run", "E", Term("E_rule", float(rule.tokens_per_target_pass))
    )
    length = Derivation("mean draft length", "γ_mean", Term("γ_rule", float(rule.mean_gamma)))
    cost = length.term * Term("c", answer.settings.cost) + 1
    return tokens, length, Derivation("speedup", "S", tokens.term / cost)
