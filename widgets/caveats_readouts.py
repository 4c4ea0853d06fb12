"""Section 8's readouts, each with the arithmetic that ends at its number."""

from __future__ import annotations

import math

from core import arithmetic
from core.derivation import Derivation, Term, as_expression
from core.headlines import Headlines
from core.units import counted, significant, split_quantity
from widgets.caveats_run import CONTEXT, PROMPT, Figures
from widgets.readouts import Readout

Steps = tuple[Derivation, ...]


def readouts(found: Figures) -> tuple[Readout, ...]:
    """All of them, in the order of the card."""
    return (
        *_floor(found),
        *_reading(found),
        *_channel(found),
        *_stream(found),
    )


def times(ratio: float) -> str:
    """A ratio as it is shown: two decimals where it is small, so that 1 reads 1.00."""
    return f"{ratio:.2f}" if ratio < 10 else significant(ratio)


def _floor(found: Figures) -> tuple[Readout, ...]:
    s, batch = found.scenario, found.settings.batch
    step = arithmetic.step_time(s, batch, CONTEXT)
    mixed = arithmetic.step_time(s, batch, CONTEXT, PROMPT)
    bare = arithmetic.step_time(found.floor_scenario, batch, CONTEXT)
    floor = Derivation("floor", "T_floor", bare[-1].expression, "s")
    above = Derivation("over the floor", "x", step[-1].term / floor.term)
    pause = Derivation("pause", "x", Term("T_mixed", mixed[-1].value, "s") / step[-1].term)
    served = Derivation("served", "T_50", floor.term * Term("x_50", found.band.p50), "s")
    return (
        Readout("step", "decode step", *split_quantity(step[-1].value, "s"), step),
        Readout("above", "over its floor", times(above.value), "×", (*step, floor, above)),
        Readout("mixed", "step with the prompt", *split_quantity(mixed[-1].value, "s"), mixed),
        Readout(
            "pause",
            "pause that the prompt causes",
            significant(pause.value),
            "×",
            (step[-1], mixed[-1], pause),
        ),
        Readout(
            "served",
            "as served systems were measured, middle",
            *split_quantity(served.value, "s"),
            (*bare[:2], floor, served),
        ),
    )


def _reading(found: Figures) -> tuple[Readout, ...]:
    prefill = arithmetic.step_time(found.scenario, 0, 1, found.timing.prompt_token)
    first = Derivation("time to first token", "TTFT", prefill[-1].expression, "s")
    gap = Derivation("inter-token latency", "ITL", 1 / Term("v", found.settings.token_per_s), "s")
    more = Term("n", found.settings.answer_token) - 1
    end = Derivation("end to end", "T_end", first.term + more * gap.term, "s")
    return (
        Readout(
            "first",
            "first word if streamed (TTFT)",
            *split_quantity(first.value, "s"),
            (*prefill[:2], first),
        ),
        Readout(
            "whole",
            "first word if sent whole",
            *split_quantity(end.value, "s"),
            (first, gap, end),
        ),
    )


def _channel(found: Figures) -> tuple[Readout, ...]:
    eye = found.observer
    threshold = _threshold(found)
    hit = float(eye.share_below(eye.threshold_s, eye.hit_s))
    miss = float(eye.share_below(eye.threshold_s, eye.miss_s))
    right = Derivation("right guesses", "a", (Term("F_h", hit) + (1 - Term("F_m", miss))) / 2)
    return (
        Readout(
            "accuracy",
            "an observer guesses right",
            significant(100 * right.value),
            "% (a coin: 50)",
            (*threshold, right),
        ),
        Readout(
            "threshold",
            "“hit” is guessed below",
            *(split_quantity(threshold[-1].value, "s") if eye.gap_s else ("none", "")),
            threshold,
        ),
        _salt_cost(found),
    )


def _threshold(found: Figures) -> Steps:
    eye = found.observer
    scale = Derivation("scale of the wait", "θ", Term("σ", eye.noise_s, "s") / 2, "s")
    gap = Derivation("gap", "g", Term("m", eye.miss_s, "s") - Term("h", eye.hit_s, "s"), "s")
    power = eye.gap_s / (3 * scale.value)
    slow = Term("m", eye.miss_s, "s")
    if power < 1e-9:
        shown = slow + 3 * scale.term
    elif power > 500:  # the second part has no digit left that could be shown
        shown = slow + as_expression(0)
    else:
        exponent = gap.term / (3 * scale.term)
        shown = slow + gap.term / (Term("e", math.e) ** exponent - 1)
    return scale, gap, Derivation("best threshold", "t", shown, "s")


def _salt_cost(found: Figures) -> Readout:
    traffic = found.settings.traffic
    prompts = int(traffic.stream().prompt_token.sum())
    skipped = Term("p", found.timing.cached_token, "tokens")
    lost = (Term("g", found.settings.groups) - 1) * skipped / Term("Σ_prompts", prompts, "tokens")
    cost = Derivation("hits lost to salts", "ΔH", lost)
    return Readout(
        "salt_cost",
        f"a salt for {counted(found.settings.groups, 'group')} costs",
        significant(100 * cost.value),
        "points of hit rate",
        (cost,),
    )


def _stream(found: Figures) -> tuple[Readout, ...]:
    cold, warm = found.runs.cold, found.runs.warm
    why = arithmetic.bytes_per_token(found.scenario)
    hits = Readout("hits", "prompt tokens found in the warm cache", "none", "", why)
    mean_warm = Readout("warm_ttft", "mean TTFT, warm cache", "none", "", why)
    if warm is not None:
        skipped = Term("n_skipped", warm.skipped_token, "tokens")
        rate = Derivation(
            "hit rate",
            "H",
            skipped / (skipped + Term("n_prefilled", warm.prefilled_token, "tokens")),
        )
        hits = Readout("hits", hits.label, significant(100 * warm.hit_rate), "%", (rate,))
        mean = _mean(warm)
        mean_warm = Readout("warm_ttft", mean_warm.label, *split_quantity(mean.value, "s"), (mean,))
    return (hits, mean_warm, *_cold(cold, found))


def _mean(run: Headlines) -> Derivation:
    total = Term("Σ_TTFT", float(run.ttft_s.sum()), "s")
    return Derivation("mean TTFT", "TTFT_mean", total / Term("n", run.ttft_s.size), "s")


def _p99(run: Headlines) -> Derivation:
    place = 0.99 * (run.ttft_s.size - 1)
    below = int(place)
    low, high = run.ttft_s[below], run.ttft_s[min(below + 1, run.ttft_s.size - 1)]
    lower, upper = Term(f"TTFT_{below + 1}", low, "s"), Term(f"TTFT_{below + 2}", high, "s")
    part = round(place - below, 9)
    return Derivation("p99 TTFT", "TTFT_99", lower + part * (upper - lower), "s")


def _cold(run: Headlines | None, found: Figures) -> tuple[Readout, ...]:
    labels = {
        "mean_ttft": "mean TTFT, cold cache",
        "p99_ttft": "p99 TTFT, cold cache",
        "per_device": "the device makes" if found.scenario.devices == 1 else "each device makes",
        "per_user": "each user gets",
    }
    if run is None:
        prompt = found.timing.prompt_token
        why = arithmetic.sequences(found.scenario, prompt, reserved_fraction=0.9)
        return tuple(Readout(key, label, "none", "", why) for key, label in labels.items())
    mean, p99 = _mean(run), _p99(run)
    made = Term("n_answers", run.answer_token, "tokens") / Term("T_run", run.duration_s, "s")
    device = Derivation("per device", "V", made / Term("t", run.devices), "tokens/s")
    user = Derivation("per user", "v", 1 / Term("ITL_mean", run.mean_itl_s, "s"), "tokens/s")
    return (
        Readout("mean_ttft", labels["mean_ttft"], *split_quantity(mean.value, "s"), (mean,)),
        Readout("p99_ttft", labels["p99_ttft"], *split_quantity(p99.value, "s"), (p99,)),
        Readout(
            "per_device", labels["per_device"], significant(device.value), "tokens/s", (device,)
        ),
        Readout("per_user", labels["per_user"], significant(user.value), "tokens/s", (user,)),
    )
