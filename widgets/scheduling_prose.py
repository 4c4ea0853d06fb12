"""The numbers that section 5's prose and its prediction ask for, at the textbook scenario."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from core import scheduling_arithmetic as arithmetic
from core.chunked_prefill import ChunkedPrefill, chunked_prefill
from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from core.units import quantity, significant
from widgets.predict import Prediction
from widgets.scheduling_prompt import NO_LIMIT
from widgets.scheduling_stream import Drawn, Outcome, Plan, Sweeps, serve, sweep
from widgets.scheduling_text import Targets

PROMPT, DECODING, CONTEXT = 4096, 32, 2048
LATENCY, SMALL = 512, 128
STREAM_RATE, STREAM_PROMPT, STREAM_ANSWER = 8.0, 1024, 128


def textbook(overhead_s: float = 0.0) -> Scenario:
    """The pair that the prose speaks of, whatever the reader has chosen."""
    return Scenario(MODELS["8B"], DEVICES["A100"], overhead_s=overhead_s)


def prediction() -> Prediction:
    """What a budget of 512 does to the first token."""
    none, latency, small = (_case(budget) for budget in (None, LATENCY, SMALL))
    answer = quantity(latency.ttft_s, "s")
    return Prediction(
        question=f"A prompt of {PROMPT:,} tokens joins {DECODING} users. With no limit they all "
        f"pause for {quantity(none.worst_s, 's')}, and its first token comes after as long. A "
        f"budget of {LATENCY} cuts the longest pause to {quantity(latency.worst_s, 's')}. When "
        "does the first token come?",
        options=(
            quantity(latency.worst_s, "s"),
            answer,
            quantity(2 * none.ttft_s, "s"),
            quantity(latency.steps * none.ttft_s, "s"),
        ),
        answer=answer,
        because=f"The arithmetic of the prompt is the same; it only comes in {latency.steps} "
        "pieces, each of which keeps the arithmetic units as busy as before. Pieces that are too "
        f"small do not: with {SMALL} it takes {quantity(small.ttft_s, 's')}.",
        covers=("trade-off", "ttft", "summary"),
    )


def numbers() -> dict[str, str]:
    """Everything the markdown asks for by name."""
    cases = {
        "none": _case(None),
        "b2048": _case(2048),
        "b512": _case(LATENCY),
        "b128": _case(SMALL),
    }
    none, latency, small = cases["none"], cases["b512"], cases["b128"]
    named = {
        "prompt": f"{PROMPT:,}",
        "decoding": f"{DECODING}",
        "context": f"{CONTEXT:,}",
        "decode_step": quantity(none.decode_step_s, "s"),
        "b512_extra": quantity(latency.ttft_s - none.ttft_s, "s"),
        "b512_chunk": f"{LATENCY - DECODING}",
        "b128_chunk": f"{SMALL - DECODING}",
        "b128_step": quantity(float(small.step_s[0]), "s"),
        "b128_compute": quantity(float(small.compute_s[0]), "s"),
        "b128_loaded": quantity(_case(SMALL, overhead_s=0.002).ttft_s, "s"),
        "b2048_loaded": quantity(_case(2048, overhead_s=0.002).ttft_s, "s"),
        "formula_steps": arithmetic.steps_of_prompt(PROMPT, DECODING, 2048)[-1].formula_mathml,
    }
    for name, case in cases.items():
        named[f"{name}_ttft"] = quantity(case.ttft_s, "s")
        named[f"{name}_worst"] = quantity(case.worst_s, "s")
        named[f"{name}_pause"] = f"{significant(case.pause_ratio)}×"
        named[f"{name}_steps"] = f"{case.steps}"
    return named | _stream_numbers() | _prefix_numbers()


@lru_cache(maxsize=1)
def _textbook_stream() -> tuple[Outcome, Sweeps]:
    plan = Plan(
        scenario=textbook(),
        source=Drawn(1000, 1.0, STREAM_PROMPT, STREAM_ANSWER, 1.0, 9),
        rate=STREAM_RATE,
        budgets=(2048, NO_LIMIT),
        chunked=True,
        memory_share=0.9,
    )
    served, sweeps = serve(plan, lambda _: True), sweep(plan.sweep, lambda _: True)
    return served, sweeps


def _stream_numbers() -> dict[str, str]:
    (chunked, whole), (chunked_sweep, whole_sweep) = _textbook_stream()
    worst, mean = Targets(1.0, 0.2, "worst"), Targets(1.0, 0.05, "mean")
    return {
        "stream_rate": significant(STREAM_RATE),
        "stream_prompt": f"{STREAM_PROMPT:,}",
        "stream_answer": f"{STREAM_ANSWER}",
        "stream_mean": quantity(chunked.gaps.mean_s, "s"),
        "stream_mean_none": quantity(whole.gaps.mean_s, "s"),
        "stream_p99": quantity(chunked.gaps.steps[-1].value, "s"),
        "stream_p99_none": quantity(whole.gaps.steps[-1].value, "s"),
        "stream_max": quantity(float(chunked.gaps.length_s[-1]), "s"),
        "stream_max_none": quantity(float(whole.gaps.length_s[-1]), "s"),
        "knee_worst": significant(worst.knee(chunked_sweep)),
        "knee_worst_none": significant(worst.knee(whole_sweep)),
        "knee_mean": significant(mean.knee(chunked_sweep)),
        "knee_mean_none": significant(mean.knee(whole_sweep)),
    }


@lru_cache(maxsize=1)
def _prefix_numbers() -> dict[str, str]:
    """The same stream without and with prefix caching."""
    rate, prompt, prefix = 5.0, 2048, 1024
    cold = Plan(
        scenario=textbook(),
        source=Drawn(1000, 1.0, prompt, STREAM_ANSWER, 1.0, 9),
        rate=rate,
        budgets=(2048, 2048),
        chunked=True,
        memory_share=0.9,
    )
    without, _ = serve(cold, lambda _: True)
    found, _ = serve(replace(cold, common_prefix=prefix), lambda _: True)
    return {
        "warm_rate": significant(rate),
        "warm_prompt": f"{prompt:,}",
        "warm_prefix": f"{prefix:,}",
        "skipped_share": f"{found.skipped_token / found.prompt_token:.0%}".replace("%", " %"),
        "warm_ttft": quantity(found.ttft_median_s, "s"),
        "cold_ttft": quantity(without.ttft_median_s, "s"),
        "warm_p99": quantity(found.gaps.steps[-1].value, "s"),
        "cold_p99": quantity(without.gaps.steps[-1].value, "s"),
    }


def _case(budget: int | None, overhead_s: float = 0.0) -> ChunkedPrefill:
    return chunked_prefill(textbook(overhead_s), PROMPT, DECODING, CONTEXT, budget)
