"""One long prompt beside decoding sequences: what section 5 shows of a single arrival."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.chunked_prefill import ChunkedPrefill, chunked_prefill
from core.roofline import scenario_step_cost, step_costs
from core.scenario import Scenario
from core.units import counted

NO_LIMIT = 2**20
"""The stop that stands for no budget at all."""

BUDGETS = tuple(2**i for i in range(6, 15))
GHOST_OVERHEAD_S = 0.002
MAX_BARS = 120
LEAD_STEPS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt that arrives, who is decoding, and the two budgets to answer under."""

    scenario: Scenario
    prompt: int
    decoding: int
    context: int
    budget: int
    second: int
    chunked: bool


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The prompt under one budget; `prefill` is None where it never runs, and `never` says why."""

    budget: int
    prefill: ChunkedPrefill | None
    never: str = ""

    @property
    def words(self) -> str:
        """ "2,048" or "no limit"."""
        return budget_words(self.budget)


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """The gaps that a watcher sees, in ms: one bar a step, or one for several where many.

    `decode` is the height that the step would have without the prompt, `gap` what it has.
    """

    left: Floats
    right: Floats
    decode: Floats
    gap: Floats
    steps_in_a_bar: int


@dataclass(frozen=True, slots=True, eq=False)
class PromptPart:
    """Both budgets, the curve over all of them, and its ghost at another overhead."""

    question: Question
    decode_s: float
    joined_s: float
    chosen: Spread
    second: Spread
    curve: tuple[Spread, ...]
    ghost: tuple[Spread, ...]
    ghost_overhead_s: float


def budget_words(budget: int) -> str:
    """ "2,048" or "no limit"."""
    return "no limit" if budget == NO_LIMIT else f"{budget:,}"


def limit(budget: int) -> int | None:
    """The budget as core takes it: None where there is none."""
    return None if budget == NO_LIMIT else budget


def spread(question: Question, budget: int) -> Spread:
    """The prompt's steps under a budget, or why it never runs."""
    q, tokens = question, question.prompt + question.decoding
    if budget != NO_LIMIT and budget <= q.decoding:
        first = counted(q.decoding, "decode goes first and leaves", "decodes go first and leave")
        why = f"{first} nothing of a budget of {budget:,}"
        return Spread(budget, None, why)
    whole = budget == NO_LIMIT or budget >= tokens
    if not q.chunked and not whole:
        why = f"unchunked, a prompt of {q.prompt:,} never fits into a budget of {budget:,}"
        return Spread(budget, None, why)
    prefill = chunked_prefill(
        q.scenario, q.prompt, q.decoding, q.context, None if whole else budget
    )
    return Spread(budget, prefill)


def prompt_part(question: Question) -> PromptPart:
    """Everything about the one prompt; a few ms."""
    q, s = question, question.scenario
    decode = step_costs(s, decode_batch=q.decoding, context=q.context)
    contexts = np.append(np.full(q.decoding, q.context), q.prompt + 1)
    other_s = 0.0 if s.overhead_s else GHOST_OVERHEAD_S
    curve = _curve(replace(q, budget=NO_LIMIT, second=NO_LIMIT))
    return PromptPart(
        question=q,
        decode_s=float(decode.time_s),
        joined_s=float(scenario_step_cost(s, contexts).time_s),
        chosen=spread(q, q.budget),
        second=spread(q, q.second),
        curve=curve,
        ghost=tuple(_shifted(point, other_s - s.overhead_s) for point in curve),
        ghost_overhead_s=other_s,
    )


@lru_cache(maxsize=32)
def _curve(question: Question) -> tuple[Spread, ...]:
    """Every budget that differs from no limit, and no limit; the chosen two do not matter."""
    budgets = [b for b in BUDGETS if b < question.prompt + question.decoding]
    points = [spread(question, budget) for budget in (*budgets, NO_LIMIT)]
    return tuple(point for point in points if point.prefill)


def _shifted(point: Spread, more_s: float) -> Spread:
    """The same steps with another overhead, which is added to each of them."""
    prefill = point.prefill
    assert prefill is not None, "a curve has only prompts that run"
    shifted = replace(
        prefill,
        step_s=prefill.step_s + more_s,
        decode_step_s=prefill.decode_step_s + more_s,
    )
    return Spread(point.budget, shifted)


def bars(part: PromptPart, until_ms: float) -> Bars:
    """The chosen budget's steps around the arrival at time 0, up to `until_ms` at least."""
    left, right, heights, group = _grouped(part.chosen)
    done = right[-1] if right.size else 0.0
    decode_ms = part.decode_s * 1e3
    after_ms = part.joined_s * 1e3 if part.chosen.prefill else decode_ms
    lead = decode_ms * np.arange(-LEAD_STEPS, 1)
    count = min(MAX_BARS, max(LEAD_STEPS, int(np.ceil((until_ms - done) / after_ms))))
    tail = done + after_ms * np.arange(count + 1)
    before, after = np.full(LEAD_STEPS, decode_ms), np.full(count, after_ms)
    return Bars(
        left=np.concatenate([lead[:-1], left, tail[:-1]]),
        right=np.concatenate([lead[1:], right, tail[1:]]),
        decode=np.concatenate([before, np.full(heights.size, decode_ms), after]),
        gap=np.concatenate([before, heights, after]),
        steps_in_a_bar=group,
    )


def outline(part: PromptPart, until_ms: float) -> tuple[list[float], list[float]]:
    """The second budget's gaps as one line (x, y), in ms; runs of equal steps need two points."""
    left, right, heights, _ = _grouped(part.second)
    decode_ms = part.decode_s * 1e3
    after_ms = part.joined_s * 1e3 if part.second.prefill else decode_ms
    done = float(right[-1]) if right.size else 0.0
    x = np.stack([left, right], axis=1).ravel().tolist()
    y = np.repeat(heights, 2).tolist()
    begin, end = -LEAD_STEPS * decode_ms, max(until_ms, done)
    return [begin, 0.0, *x, done, end], [decode_ms, decode_ms, *y, after_ms, after_ms]


def _grouped(spread_: Spread) -> tuple[Floats, Floats, Floats, int]:
    """(left, right, longest step, steps in a bar) of at most `MAX_BARS` bars, in ms."""
    times = np.zeros(0) if spread_.prefill is None else spread_.prefill.step_s * 1e3
    if not times.size:
        return times, times, times, 1
    group = -(-times.size // MAX_BARS)
    edges = np.concatenate([[0.0], np.cumsum(times)])
    starts = np.arange(0, times.size, group)
    right = edges[np.minimum(starts + group, times.size)]
    return edges[starts], right, np.maximum.reduceat(times, starts), group
