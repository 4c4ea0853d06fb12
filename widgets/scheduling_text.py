"""Section 5 in words and numbers: summary, readouts with their arithmetic, sentences, strips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core import scheduling_arithmetic as arithmetic
from core.derivation import Derivation, Term
from core.goodput import Judge, knee_per_s
from core.units import counted, quantity, significant, split_quantity
from widgets.base import Strip
from widgets.readouts import Readout
from widgets.scheduling_prompt import PromptPart, Spread, budget_words
from widgets.scheduling_stream import (
    SHARES,
    Outcome,
    Plan,
    Refused,
    Served,
    Sweep,
    Sweeps,
    Trace,
)

WANTED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Targets:
    """What counts as in time."""

    ttft_s: float
    itl_s: float
    judge: Judge

    @property
    def words(self) -> str:
        """ "a first token within 1 s and a worst gap within 200 ms"."""
        gap = {"worst": "a worst gap", "mean": "a mean gap"}[self.judge]
        return (
            f"a first token within {quantity(self.ttft_s, 's')} and {gap} within "
            f"{quantity(self.itl_s, 's')}"
        )

    def share(self, served: Served) -> float:
        """The share of a run's requests in time."""
        return served.latencies.share_met(self.ttft_s, self.itl_s, judge=self.judge)

    def goodput(self, served: Served) -> float:
        """A run's requests in time, a second."""
        return served.latencies.goodput_per_s(self.ttft_s, self.itl_s, judge=self.judge)

    def curve(self, sweep: Sweep) -> np.ndarray:
        """Goodput at each rate of a sweep."""
        return _judged(self, sweep)[0]

    def shares(self, sweep: Sweep) -> np.ndarray:
        """The share in time at each rate of a sweep."""
        return _judged(self, sweep)[1]

    def knee(self, sweep: Sweep) -> float:
        """Up to which rate nine in ten are in time."""
        return knee_per_s(sweep.rates_per_s, self.shares(sweep).tolist(), WANTED_SHARE)


@lru_cache(maxsize=64)
def _judged(targets: Targets, sweep: Sweep) -> tuple[np.ndarray, np.ndarray]:
    """Goodput and the share in time at each rate; asked for several times a change."""
    met = np.array(
        [x.met(targets.ttft_s, targets.itl_s, judge=targets.judge) for x in sweep.latencies]
    )
    durations = np.array([x.duration_s for x in sweep.latencies])
    return met / durations, met / sweep.latencies[0].ttft_s.size


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """All that is drawn: the prompt under two budgets, the stream, its sweep and the targets.

    The stream may still be that of an earlier choice while its successor runs; `plan` is its own.
    """

    prompt: PromptPart
    plan: Plan
    served: Outcome
    sweeps: Sweeps | None
    targets: Targets


def summary(shown: Shown) -> str:
    """The prompt's story in two sentences."""
    part = shown.prompt
    both = [part.chosen] if _same(part) else [part.chosen, part.second]
    return " ".join(_told(spread) for spread in both)


def _told(spread: Spread) -> str:
    start = "With no limit" if spread.words == "no limit" else f"With a budget of {spread.words}"
    if spread.prefill is None:
        return f"{start} the prompt never starts: {spread.never}."
    steps, worst = spread.prefill.steps, quantity(spread.prefill.worst_s, "s")
    first = quantity(spread.prefill.ttft_s, "s")
    if steps == 1:
        return f"{start} the prompt takes one step of {worst}, and everyone waits for it."
    return (
        f"{start} the prompt takes {counted(steps, 'step')}: its first token comes after {first}, "
        f"and nobody waits longer than {worst} for the next one."
    )


def readouts(shown: Shown) -> tuple[Readout, ...]:
    """Four of the prompt, four of the stream."""
    return (*_prompt_readouts(shown.prompt), *_stream_readouts(shown))


def _prompt_readouts(part: PromptPart) -> tuple[Readout, ...]:
    q, prefill = part.question, part.chosen.prefill
    budget = None if part.chosen.words == "no limit" else q.budget
    labels = ("TTFT of the prompt", "longest gap of the others", "pause", "steps for the prompt")
    keys = ("ttft", "worst", "pause", "steps")
    if prefill is None:
        needed = Derivation(
            "tokens that must fit", "n", Term("B", q.decoding) + Term("T", q.prompt), "tokens"
        )
        chunk = arithmetic.steps_of_prompt(q.prompt, q.decoding, budget)[:1]
        why = chunk if q.budget <= q.decoding else (needed,)
        return tuple(
            Readout(key, label, "never" if key in ("ttft", "steps") else "none", "", why)
            for key, label in zip(keys, labels, strict=True)
        )
    whole = budget is None or budget >= q.prompt + q.decoding
    counted = arithmetic.steps_of_prompt(q.prompt, q.decoding, None if whole else budget)
    at = int(np.argmax(prefill.step_s))
    offset, chunk_token = int(prefill.offset_token[at]), int(prefill.chunk_token[at])
    longest = arithmetic.mixed_step(
        q.scenario, q.decoding, q.context, offset, chunk_token, symbol="T_max"
    )
    first = arithmetic.time_to_first_token(prefill)
    numbers = (
        split_quantity(prefill.ttft_s, "s"),
        split_quantity(prefill.worst_s, "s"),
        (significant(prefill.pause_ratio), "×"),
        (f"{prefill.steps:,}", ""),
    )
    lines = ((*counted, *first), longest, (longest[-1], *arithmetic.pause(prefill)), counted)
    return tuple(
        Readout(key, label, *number, steps)
        for key, label, number, steps in zip(keys, labels, numbers, lines, strict=True)
    )


def _stream_readouts(shown: Shown) -> tuple[Readout, ...]:
    run, targets = shown.served[0], shown.targets
    if isinstance(run, Refused):
        budget = Term("budget", float(run.budget), "tokens")
        why = (Derivation("token budget", "b", budget, "tokens"),)
        return tuple(
            Readout(key, label, "none", "", why)
            for key, label in (
                ("stream_ttft", "TTFT in the stream, p99"),
                ("stream_itl", "ITL in the stream, p99"),
                ("goodput", "goodput"),
                ("preemptions", "preemptions"),
            )
        )
    met = run.latencies.met(targets.ttft_s, targets.itl_s, judge=targets.judge)
    lost = arithmetic.preemptions(run.requests + run.preemptions, run.requests)
    goodput = arithmetic.goodput(met, run.latencies.duration_s)
    first = split_quantity(run.ttft_steps[-1].value, "s")
    return (
        _percentile("stream_ttft", "TTFT", first, run.ttft_median_s, run.ttft_steps),
        _gap_readout(run),
        Readout("goodput", "goodput", significant(goodput[-1].value), "requests/s", goodput),
        Readout("preemptions", "preemptions", f"{run.preemptions:,}", "", lost),
    )


def _gap_readout(run: Served) -> Readout:
    if run.gaps is None:
        count = Derivation("gaps", "n", Term("n", 0.0))
        return Readout("stream_itl", "ITL in the stream, p99", "none", "", (count,))
    number = split_quantity(run.gaps.steps[-1].value, "s")
    return _percentile("stream_itl", "ITL", number, run.gaps.median_s, run.gaps.steps)


def _percentile(
    key: str, what: str, number: tuple[str, str], median_s: float, steps: tuple[Derivation, ...]
) -> Readout:
    unit = f"{number[1]} · p50 {quantity(median_s, 's', 2)}"
    return Readout(key, f"{what} in the stream, p99", number[0], unit, steps)


def sentences(shown: Shown) -> dict[str, str]:
    """One live sentence a chart."""
    return {
        "watcher": _watcher_sentence(shown.prompt),
        "trade-off": _trade_off_sentence(shown.prompt),
        "stream-gaps": _runs_sentence(shown, _gap_words),
        "stream-waits": _runs_sentence(shown, _wait_words),
        "stream-server": _server_sentence(shown),
        "goodput": _goodput_sentence(shown),
    }


def _watcher_sentence(part: PromptPart) -> str:
    decodes = counted(part.question.decoding, "decode")
    said = [f"A step of {decodes} takes {quantity(part.decode_s, 's')}."]
    for spread in [part.chosen] if _same(part) else [part.chosen, part.second]:
        if spread.prefill is None:
            said.append(f"Budget {spread.words}: {spread.never}.")
            continue
        worst = quantity(spread.prefill.worst_s, "s")
        ratio = significant(spread.prefill.pause_ratio)
        name = "No limit" if spread.words == "no limit" else f"Budget {spread.words}"
        said.append(f"{name}: the longest is {worst}, {ratio} times that.")
    return " ".join(said)


def _trade_off_sentence(part: PromptPart) -> str:
    points = [point for point in part.curve if point.prefill]
    if len(points) < 2:
        return "Without chunks a budget either takes the whole prompt or never starts it."
    fastest = min(points, key=lambda p: p.prefill.ttft_s)
    smoothest = min(points, key=lambda p: p.prefill.worst_s)
    return (
        f"Soonest first token: {fastest.words}, {quantity(fastest.prefill.ttft_s, 's')}. "
        f"Shortest pause: {smoothest.words}, {quantity(smoothest.prefill.worst_s, 's')}, and a "
        f"first token after {quantity(smoothest.prefill.ttft_s, 's')}."
    )


def _runs_sentence(shown: Shown, words: Callable[[Served], str]) -> str:
    runs = shown.served[:1] if shown.served[0].budget == shown.served[1].budget else shown.served
    return " ".join(
        f"{_named(run.budget)}: {run.why if isinstance(run, Refused) else words(run)}."
        for run in runs
    )


def _named(budget: int) -> str:
    words = budget_words(budget)
    return "No limit" if words == "no limit" else f"Budget {words}"


def _gap_words(run: Served) -> str:
    gaps = run.gaps
    if gaps is None:
        return "every answer has one token, and so no gap"
    return (
        f"mean gap {quantity(gaps.mean_s, 's')}, median {quantity(gaps.median_s, 's')}, one in a "
        f"hundred over {quantity(gaps.steps[-1].value, 's')}, longest "
        f"{quantity(float(gaps.length_s[-1]), 's')}"
    )


def _wait_words(run: Served) -> str:
    end = float(np.interp(0.5, SHARES, run.e2e_s))
    return (
        f"half of the first tokens within {quantity(run.ttft_median_s, 's')}, 99 % within "
        f"{quantity(run.ttft_steps[-1].value, 's')}; half of the answers done within "
        f"{quantity(end, 's')}"
    )


def _server_sentence(shown: Shown) -> str:
    run = shown.served[0]
    if isinstance(run, Refused):
        return f"{_named(run.budget)}: {run.why}."
    at_most = (
        f"{_named(run.budget)}: at most "
        f"{counted(int(run.running.max()), 'request runs', 'requests run')} and "
        f"{counted(int(run.waiting.max()), 'waits', 'wait')}."
    )
    if shown.plan.common_prefix is not None:
        share = run.skipped_token / run.prompt_token
        at_most += (
            f" Prefix caching: {run.skipped_token:,} of "
            f"{counted(run.prompt_token, 'prompt token')} ({significant(100 * share)} %) needed "
            "no prefill."
        )
    if not run.preemptions:
        return f"{at_most} The cache never runs out."
    return (
        f"{at_most} The cache ran out: {counted(run.preemptions, 'preemption')}, "
        f"{counted(run.recomputed_token, 'token')} computed a second time."
    )


def _goodput_sentence(shown: Shown) -> str:
    if shown.sweeps is None:
        return "The stream has not been run at other rates yet."
    said = []
    first, second = shown.sweeps
    for sweep in (first,) if first.budget == second.budget else (first, second):
        if isinstance(sweep, Refused):
            said.append(f"{_named(sweep.budget)}: {sweep.why}.")
            continue
        knee = shown.targets.knee(sweep)
        low, high = sweep.rates_per_s[0], sweep.rates_per_s[-1]
        found = (
            f"fewer than nine in ten in time even at {significant(low)} a second"
            if knee == 0
            else f"nine in ten in time up to {significant(min(knee, high))} a second"
            + (" and beyond" if np.isinf(knee) else "")
        )
        said.append(f"{_named(sweep.budget)}: {found}.")
    return f"In time means {shown.targets.words}. {' '.join(said)}"


def notes(shown: Shown) -> tuple[str, ...]:
    """What a trace turned out to be."""
    source = shown.plan.source
    return source.notes if isinstance(source, Trace) else ()


def strips(shown: Shown) -> tuple[Strip, ...]:
    """Who was preempted, when, and what it cost."""
    run = shown.served[0]
    if isinstance(run, Refused) or not run.events:
        return ()
    items = [
        (
            f"request {event.request:,} at {significant(event.time_s)} s: "
            f"{counted(event.recomputed_token, 'token')} computed again, next token "
            f"{quantity(event.next_s - event.time_s, 's')} later",
            "event",
        )
        for event in run.events
    ]
    left = run.preemptions - len(items)
    if left:
        items.append((f"and {left:,} more", "event"))
    return (Strip("preempted", f"Preempted, {_named(run.budget).lower()}", tuple(items)),)


def _same(part: PromptPart) -> bool:
    return part.chosen.budget == part.second.budget
