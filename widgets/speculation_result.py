"""Section 6's result from its settings: charts' data, tables, sentences, notes, strips.

Pure functions, so that a job can call them from a thread with what it was started with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.kv_cache import capacity
from core.published_speedups import PUBLISHED_SPEEDUPS, PublishedSpeedup
from core.scenario import Scenario
from core.speculation import MAX_DRAFT_LENGTH, expected_tokens, optimal_gamma, speedup
from core.units import counted, significant
from widgets.base import SectionResult
from widgets.speculation_readouts import (
    LONGEST_TRIED,
    Answer,
    Settings,
    readouts,
    signed,
    standard_errors_off,
)
from widgets.speculation_sources import (
    DOT_ROUNDS,
    FORMULA,
    SIMULATION,
    TEXT,
    BatchCurve,
    Dots,
    Drafting,
    batch_curve,
    by_formula,
    by_simulation,
    formula_at_drafts,
    on_text,
    reference_rounds,
    rule_is_cut,
    simulated_positions,
    simulation_dots,
    text_dots,
    text_positions,
)
from widgets.speculation_text import (
    CORPUS_WORDS,
    MAX_GAMMA,
    TextRun,
    strips,
    text_notes,
)

GAMMAS = np.arange(MAX_GAMMA + 1)
MAX_BATCH = 1_024
BATCHES = 2.0 ** np.arange(0, 10.25, 0.5)
NO_ADAPTIVE_SIMULATION = (
    "Simulated drafts keep the γ that is set; the adaptive rule applies to formula and text."
)

Runs = Mapping[tuple[int, bool], TextRun]


@dataclass(frozen=True, slots=True)
class Picture:
    """What the charts are drawn from.

    `formula` is Equation 1's speedup at each γ for the α that is set; `fitted` the same for the α
    measured on the text, at the lengths that its drafts really had. `dots` and `positions` are
    what the source measured, None by formula.
    """

    settings: Settings
    drafting: Drafting
    formula: np.ndarray
    fitted: Dots | None
    dots: Dots | None
    positions: Dots | None
    curve: BatchCurve
    speedup: float
    batch_speedup: float


def result_of(scenario: Scenario, settings: Settings, runs: Runs) -> SectionResult:
    """Everything the card shows. On text, `runs` must hold the run of the chosen γ."""
    answer = answer_of(scenario, settings, runs)
    picture = _picture(answer, runs)
    notes, shown = _notes(answer), ()
    if answer.run is not None:
        at = min(settings.at_pass, answer.run.passes)
        shown = strips(settings.text, answer.run, at)
    elif settings.source == SIMULATION and settings.adaptive:
        notes = (NO_ADAPTIVE_SIMULATION,)
    return SectionResult(
        summary=_summary(answer, picture),
        readouts=readouts(answer),
        tables=_tables(picture),
        sentences={
            "speedup-gamma": _gamma_sentence(answer, picture),
            "speedup-batch": _batch_sentence(answer, picture),
            "acceptance": _acceptance_sentence(picture),
        },
        data=picture,
        notes=notes,
        strips=shown,
    )


def answer_of(scenario: Scenario, settings: Settings, runs: Runs) -> Answer:
    """What the chosen source says, and the speedup at the chosen batch."""
    rounds, run = None, None
    if settings.source == SIMULATION:
        # Drawn rounds have one γ; a note says so where the adaptive rule was asked for.
        settings = replace(settings, adaptive=False)
        rounds = reference_rounds(settings.alpha, settings.gamma)
        drafting = by_simulation(rounds)
    elif settings.source == TEXT:
        run = runs[settings.gamma, settings.adaptive]
        drafting = on_text(run)
    else:
        drafting = by_formula(settings.alpha, settings.gamma, settings.adaptive)
    batch = np.array([float(settings.batch)])
    at_batch = batch_curve(scenario, batch, settings.context, drafting, settings.cost)
    return Answer(scenario, settings, drafting, at_batch, rounds, run)


def _notes(answer: Answer) -> tuple[str, ...]:
    settings = answer.settings
    if answer.run is not None:
        return text_notes(settings.text, answer.run, settings.gamma, settings.adaptive)
    if settings.adaptive and rule_is_cut(settings.alpha):
        return (
            f"At α {settings.alpha:g} the adaptive rule's drafts grow on; here they are cut at "
            f"{MAX_DRAFT_LENGTH:,} tokens, so what is said of it is said of that length.",
        )
    return ()


def nearest_measured(curve: PublishedSpeedup, batch: int) -> tuple[int, float]:
    """The measured batch nearest to `batch` in ratio, and its speedup."""
    distance = np.abs(np.log(np.array(curve.batch) / batch))
    at = int(np.argmin(distance))
    return curve.batch[at], curve.throughput_ratio[at]


def _picture(answer: Answer, runs: Runs) -> Picture:
    settings, drafting = answer.settings, answer.drafting
    cost = settings.cost
    fitted, dots, positions = None, None, None
    if answer.rounds is not None:
        dots = simulation_dots(settings.alpha, settings.gamma, cost)
        positions = simulated_positions(answer.rounds)
    elif answer.run is not None:
        at_gamma = {gamma: run for (gamma, adaptive), run in runs.items() if not adaptive}
        dots = text_dots(at_gamma, cost)
        positions = text_positions(answer.run)
        fitted = formula_at_drafts(at_gamma, answer.rule_alpha, cost)
    return Picture(
        settings=settings,
        drafting=drafting,
        formula=speedup(settings.alpha, GAMMAS, cost),
        fitted=fitted,
        dots=dots,
        positions=positions,
        curve=batch_curve(answer.scenario, BATCHES, settings.context, drafting, cost),
        speedup=drafting.speedup(cost),
        batch_speedup=answer.batch_speedup,
    )


def _summary(answer: Answer, picture: Picture) -> str:
    settings, drafting = answer.settings, answer.drafting
    length = significant(drafting.mean_length)
    cost = f"{drafting.mean_length * settings.cost + 1:.2f}"
    drafts = counted(length, "draft token")
    drafts += " on average" if drafting.lengths.size > 1 else ""
    yielded = counted(significant(drafting.tokens_per_pass), "token")
    return (
        f"A pass with {drafts} yields {yielded} for the time of {cost} plain steps: "
        f"{_times(picture.speedup)}. {_at_batch(answer, picture)}"
    )


def _at_batch(answer: Answer, picture: Picture) -> str:
    settings = answer.settings
    place = f"batch {settings.batch:,} with {counted(settings.context, 'token')} of context"
    if not answer.fits:
        return f"{place.capitalize()} does not fit into memory."
    if picture.speedup - answer.batch_speedup < 0.005 * picture.speedup:
        return f"At {place} it stays so."
    return f"At {place} it is {_times(answer.batch_speedup)}."


def _best_sentence(answer: Answer) -> str:
    """The best γ at the acceptance that the readout takes: as set, or as measured on the text."""
    alpha, cost = answer.rule_alpha, answer.settings.cost
    named = f"α {alpha:g}" if alpha == answer.settings.alpha else f"α {_rate(alpha)}"
    start = f"By the formula at {named} and c {cost:g}"
    best = int(optimal_gamma(alpha, cost, LONGEST_TRIED))
    gain = _times(float(speedup(alpha, best, cost)))
    if not best:
        return f"{start} no draft pays."
    if best == LONGEST_TRIED:
        return f"{start}, γ {best} or longer is best: {gain} at {best}."
    return f"{start}, γ {best} is best: {gain}."


def _gamma_sentence(answer: Answer, picture: Picture) -> str:
    settings, line = picture.settings, _best_sentence(answer)
    here = f"adaptive γ, {significant(picture.drafting.mean_length)} on average"
    if not settings.adaptive:
        here = f"γ {settings.gamma}"
    if settings.source == FORMULA:
        return f"{line} With {here} it is {_times(picture.speedup)}."
    if not answer.judged:
        return (
            f"With {here} nothing is drafted, so nothing was measured: {_times(picture.speedup)}. "
            f"{line}"
        )
    off = signed(standard_errors_off(answer))
    if answer.rounds is not None:
        return (
            f"{line} Dots: {DOT_ROUNDS:,} drawn rounds each, with 2 standard errors either way; "
            f"at {here}, {answer.rounds.trials:,} rounds: {_times(picture.speedup)}, {off} "
            "standard errors from the formula."
        )
    return (
        f"Diamonds: runs of {settings.text.tokens:,} tokens on {CORPUS_WORDS[settings.text.corpus]}"
        f". With {here} it is {_times(picture.speedup)}, {off} standard errors from the formula at "
        f"the measured α {_rate(picture.drafting.alpha)} (dashes). {line}"
    )


def _batch_sentence(answer: Answer, picture: Picture) -> str:
    measured = [
        f"{ratio:.2f}× at {batch:,} ({c.method}, {c.server.split(' ')[0]})"
        for c in PUBLISHED_SPEEDUPS
        for batch, ratio in [nearest_measured(c, picture.settings.batch)]
    ]
    return (
        f"{_model_says(answer, picture)} Measured at the batch nearest to it: "
        f"{', '.join(measured)}."
    )


def _model_says(answer: Answer, picture: Picture) -> str:
    settings, most = picture.settings, picture.curve.capacity
    verify = float(answer.at_batch.verify_s[0] / answer.at_batch.plain_s[0])
    says = (
        f"the model says {_times(picture.batch_speedup)}: verifying costs {verify:.2f} plain steps."
    )
    if answer.fits:
        return f"At batch {settings.batch:,} {says} {_reach(picture.curve)}."
    if most >= 1:
        why = f"at most {counted(most, 'sequence fits', 'sequences fit')} into memory"
    elif capacity(answer.scenario, settings.context).fits:
        why = "beside the weights not one sequence of this context fits into memory"
    else:
        why = "the weights do not fit into memory"
    told = f"Batch {settings.batch:,} cannot run, because {why}. By time alone {says}"
    return f"{told} {_reach(picture.curve)}." if most >= 1 else told


def _reach(curve: BatchCurve) -> str:
    """How far the gain lasts, where a sequence fits at all."""
    end = end_of_gain(curve)
    if end is None:
        reach = (
            f"The gain lasts to batch {MAX_BATCH:,}"
            if curve.capacity >= MAX_BATCH
            else (f"The gain lasts as far as batches fit, to {curve.capacity:,.0f}")
        )
    elif end <= 1:
        reach = "There is no gain at any batch"
    elif end > curve.capacity:
        fit = counted(curve.capacity, "sequence that fits", "sequences that fit")
        reach = f"The gain outlasts the {fit}"
    else:
        reach = f"The gain is gone from about batch {significant(end, 2)} on"
    return reach


def end_of_gain(curve: BatchCurve) -> float | None:
    """Where the curve falls to 1.0, between two of its points; None where it does not."""
    lost = np.flatnonzero(curve.speedup <= 1.0)
    if not lost.size:
        return None
    at = int(lost[0])
    if at == 0:
        return 1.0
    high, low = curve.speedup[at - 1], curve.speedup[at]
    part = (high - 1.0) / (high - low)
    return float(curve.batch[at - 1] * (curve.batch[at] / curve.batch[at - 1]) ** part)


def _acceptance_sentence(picture: Picture) -> str:
    settings, found = picture.settings, picture.positions
    if found is None:
        return (
            f"The formula gives every draft position the same chance, α {settings.alpha:g}. "
            "Choose “real text” to see what becomes of that."
        )
    if not found.x.size:
        return "Nothing was drafted, so nothing was judged."
    listed = ", ".join(
        f"{position}: {_rate(rate)}"
        for position, rate in zip(found.x[:6], found.y[:6], strict=True)
    )
    if settings.source == SIMULATION:
        return (
            f"Drawn with one chance for all positions, it stays near α {settings.alpha:g}: "
            f"{listed}."
        )
    return (
        f"Share kept by position, among drafts whose earlier tokens were all kept: {listed}. "
        "One α for all of them would be a level line."
    )


def _tables(picture: Picture) -> dict[str, dict[str, Any]]:
    settings, dots, curve = picture.settings, picture.dots, picture.curve
    gammas = GAMMAS if dots is None else dots.x
    by_gamma: dict[str, Any] = {
        "gamma": gammas,
        "formula_speedup": speedup(settings.alpha, gammas, settings.cost),
        "formula_tokens_per_pass": expected_tokens(settings.alpha, gammas),
    }
    if dots is not None:
        by_gamma |= {"speedup": dots.y, "standard_error": dots.error, "passes": dots.passes}
    series = ["model"] * curve.batch.size
    batch, ratio = curve.batch.tolist(), curve.speedup.tolist()
    fits = ["yes" if size <= curve.capacity else "no" for size in curve.batch]
    for published in PUBLISHED_SPEEDUPS:
        count = len(published.batch)
        series += [f"{published.method}, {published.server}, {published.device}"] * count
        batch += published.batch
        ratio += published.throughput_ratio
        fits += ["measured"] * count
    positions: dict[str, Any] = {
        "position": np.arange(1, max(2, settings.gamma + 1)),
        "alpha": np.full(max(1, settings.gamma), settings.alpha),
    }
    if picture.positions is not None:
        found = picture.positions
        positions = {
            "position": found.x,
            "kept_share": found.y,
            "standard_error": found.error,
            "judged": found.passes,
        }
    return {
        "speedup-gamma": by_gamma,
        "speedup-batch": {"series": series, "batch": batch, "speedup": ratio, "fits": fits},
        "acceptance": positions,
    }


def _times(value: float) -> str:
    return f"{significant(value)}×"


def _rate(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.2f}"
