"""Section 3 in words and numbers: amounts on either clock, sentences, readouts, tables, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from core.derivation import Derivation, Term
from core.units import counted, exact, quantity, significant, split_quantity
from widgets.batching_picture import MAX_BARS, MAX_ROWS, Picture
from widgets.batching_runs import SHARES, Played, PolicyRun
from widgets.readouts import Readout

Steps: TypeAlias = Callable[[str, PolicyRun, str], tuple[Derivation, ...]]

Lines: TypeAlias = tuple[Derivation, ...]

NAMES = ("static", "continuous")
_UNITS_S = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def steps_text(value: float) -> str:
    """Steps with one decimal where they are not whole: 137.9, 343."""
    if value == int(value):
        return exact(value)
    return f"{value:,.1f}" if abs(value) < 1000 else significant(value, 4)


def amount(played: Played, value: float) -> str:
    """A duration on the clock, with its unit: "343 steps", "2.86 s"."""
    return quantity(value, "s") if played.in_time else counted(steps_text(value), "step")


def rank_text(played: Played, value: float) -> str:
    """A percentile, to three figures."""
    return quantity(value, "s") if played.in_time else counted(significant(value), "step")


def pair(
    played: Played, static: float, rolling: float, steps: Callable[[float], str] = steps_text
) -> tuple[str, str]:
    """Two durations as "a → b", and the one unit that both have."""
    if not played.in_time:
        return f"{steps(static)} → {steps(rolling)}", "steps"
    _, unit = split_quantity(max(static, rolling), "s")
    scale = _UNITS_S[unit]
    return " → ".join(significant(value / scale) for value in (static, rolling)), unit


def summary(played: Played) -> str:
    """What continuous batching gains on this stream, in two sentences."""
    static, rolling = played.both
    count = len(played.stream)
    ends = [amount(played, run.end) for run in played.both]
    start = f"{counted(count, 'request')} through {counted(static.slots, 'slot')}: "
    if static.end == rolling.end:
        start += f"both policies are done after {ends[0]}. "
    else:
        share = abs(1 - rolling.end / static.end)
        word = "sooner" if rolling.end < static.end else "later"
        start += (
            f"static batching is done after {ends[0]}, continuous batching after {ends[1]}, "
            f"{_percent(share)} {word}. "
        )
    waits = [run.wait.mean() for run in played.both]
    if np.array_equal(static.finish, rolling.finish):
        return f"{start}Every request is done at the same time under both: nothing is gained."
    return (
        f"{start}A request waits {amount(played, waits[0])} on average for a slot under static "
        f"batching and {amount(played, waits[1])} under continuous."
    )


def readouts(played: Played) -> tuple[Readout, ...]:
    """Static → continuous, each pair with the arithmetic of both."""
    static, rolling = played.both
    ends = pair(played, static.end, rolling.end)
    means, waits = (
        pair(played, *(float(values.mean()) for values in both))
        for both in ([run.latency for run in played.both], [run.wait for run in played.both])
    )
    spare, spare_unit = pair(played, static.idle_wanted, rolling.idle_wanted)
    shares = f"{static.utilization:.2f} → {rolling.utilization:.2f}"
    what = "time" if played.in_time else "steps"
    return (
        Readout(
            "steps",
            f"{what}, static → continuous",
            ends[0],
            ends[1] if played.in_time else "",
            _both(played, _end_steps),
        ),
        _wide("mean", "mean latency", means, _both(played, _mean_steps)),
        Readout("utilization", "share of slots in use", shares, "", _both(played, _use_steps)),
        _wide(
            "idle", "idle while wanted", (spare, f"slot-{spare_unit}"), _both(played, _idle_steps)
        ),
        *_percentiles(played),
        _wide("wait", "mean wait for a slot", waits, _both(played, _wait_steps)),
    )


def _wide(key: str, label: str, shown: tuple[str, str], steps: Lines) -> Readout:
    """A pair of long numbers leaves no room for its unit, which goes to the label."""
    number, unit = shown
    return Readout(key, f"{label}, {unit}", number, "", steps)


def _percentiles(played: Played) -> Iterator[Readout]:
    ranked = (np.quantile(run.latency, SHARES).tolist() for run in played.both)
    for share, static, rolling in zip(SHARES, *ranked, strict=True):
        name = f"p{share * 100:.0f}"
        shown = pair(played, static, rolling, significant)
        yield _wide(name, f"latency, {name}", shown, _percentile_steps(played, share))


def _both(played: Played, steps: Steps) -> tuple[Derivation, ...]:
    unit = "s" if played.in_time else ""
    return (*steps("static", played.static, unit), *steps("continuous", played.continuous, unit))


def _end_steps(name: str, run: PolicyRun, unit: str) -> tuple[Derivation, ...]:
    busy, idle = Term("busy", run.busy, unit), Term("idle", run.idle, unit)
    return (Derivation(name, f"T_{name}", (busy + idle) / Term("slots", run.slots), unit),)


def _use_steps(name: str, run: PolicyRun, unit: str) -> tuple[Derivation, ...]:
    whole = Term("slots", run.slots) * Term(f"T_{name}", run.end, unit)
    return (Derivation(name, f"u_{name}", Term("busy", run.busy, unit) / whole),)


def _wait_steps(name: str, run: PolicyRun, unit: str) -> tuple[Derivation, ...]:
    waited = Term("all waits", float(run.wait.sum()), unit)
    return (Derivation(name, f"wait_{name}", waited / Term("requests", run.wait.size), unit),)


def _mean_steps(name: str, run: PolicyRun, unit: str) -> tuple[Derivation, ...]:
    waited = Term("all waits", float(run.wait.sum()), unit)
    served = Term("all runs", float((run.finish - run.admitted).sum()), unit)
    count = Term("requests", run.wait.size)
    return (Derivation(name, f"latency_{name}", (waited + served) / count, unit),)


def _idle_steps(name: str, run: PolicyRun, unit: str) -> tuple[Derivation, ...]:
    nobody = Term("idle, nobody waits", run.idle - run.idle_wanted, unit)
    return (Derivation(name, f"spare_{name}", Term("idle", run.idle, unit) - nobody, unit),)


def _percentile_steps(played: Played, share: float) -> tuple[Derivation, ...]:
    """The rank among the sorted latencies, then the way between its two neighbours."""
    unit, last = "s" if played.in_time else "", len(played.stream) - 1
    rank = Derivation("rank, from 0", "r", Term("q", share) * (Term("requests", last + 1) - 1))
    below = int(np.floor(rank.value))
    part = Derivation("way to the next", "f", rank.term - below)
    found = []
    for name, run in zip(NAMES, played.both, strict=True):
        ranked = np.sort(run.latency)
        low, high = (Term(f"x_{i}", float(ranked[min(i, last)]), unit) for i in (below, below + 1))
        value = low if below == last else low + part.term * (high - low)
        found.append(Derivation(name, f"p{share * 100:.0f}_{name}", value, unit))
    return (rank, part, *found)


def sentences(played: Played, picture: Picture) -> dict[str, str]:
    """One sentence or two a chart, with its numbers."""
    static, rolling = played.both
    peaks = [int(run.occupancy["waiting"].max()) for run in played.both]
    ranked = [np.quantile(run.latency, SHARES) for run in played.both]
    (half, half_c), (most, most_c), (all_but, all_but_c) = (
        [rank_text(played, float(value)) for value in values]
        for values in zip(*ranked, strict=True)
    )
    return {
        "static-slots": _slots_sentence(played, static, picture, "static"),
        "continuous-slots": _slots_sentence(played, rolling, picture, "continuous"),
        "queue-length": (
            f"At most {counted(peaks[0], 'request waits', 'requests wait')} at once under static "
            f"batching, {exact(peaks[1])} under continuous."
        ),
        "latency-share": (
            f"Half of the requests are done within {half} under static batching and {half_c} under "
            f"continuous, 95 % within {most} and {most_c}, 99 % within {all_but} and {all_but_c}."
        ),
    }


def _slots_sentence(played: Played, run: PolicyRun, picture: Picture, name: str) -> str:
    wanted = run.idle_wanted / run.idle if run.idle else 0.0
    if not wanted:
        cost = "none of them while a request waits"
    elif wanted < 0.005:
        cost = "hardly any of them while a request waits"
    else:
        cost = f"{_percent(wanted)} of them while a request waits"
    if name == "static":
        how = "1 group is done"
        if run.groups > 1:
            how = f"{exact(run.groups)} groups, one after the other, are done"
    else:
        how = "Every freed slot is refilled at the next step; all is done"
    told = f"{how} after {amount(played, run.end)}. Slots are in use {_percent(run.utilization)} "
    idle = _slot_time(played, run.idle)
    told += (
        f"of the time; {idle} {'is' if idle.startswith('1 ') else 'are'} idle, {cost}."
        if run.idle
        else "of the time: none is idle."
    )
    if picture.aggregated:
        told += (
            f" With more than {MAX_BARS} requests or {MAX_ROWS} slots the chart shows how many "
            "slots are busy, averaged over each stretch of the axis, instead of single requests."
        )
    return told


def _slot_time(played: Played, value: float) -> str:
    if not played.in_time:
        return counted(value, "slot-step")
    number, unit = split_quantity(value, "s")
    return f"{number} slot-{unit}"


def tables(picture: Picture) -> dict[str, dict[str, Any]]:
    """What the charts show, for their data tables and CSV files."""
    unit = picture.unit
    return {
        "static-slots": _slots_table(picture, "s", "static"),
        "continuous-slots": _slots_table(picture, "c", "continuous"),
        "queue-length": {
            f"from_{unit}": picture.waiting["time"],
            "static_waiting": picture.waiting["static"],
            "continuous_waiting": picture.waiting["continuous"],
        },
        "latency-share": {
            "share_of_requests": picture.latency["share"],
            f"static_{unit}": picture.latency["static"],
            f"continuous_{unit}": picture.latency["continuous"],
        },
    }


def _slots_table(picture: Picture, side: str, name: str) -> dict[str, Any]:
    unit, bars = picture.unit, picture.bars
    if picture.aggregated:
        load = picture.load
        return {
            f"from_{unit}": load["left"],
            f"to_{unit}": load["right"],
            "busy_slots": load[name],
        }
    there = np.isfinite(bars[f"{side}_left"])
    begin, end = bars[f"{side}_left"][there], bars[f"{side}_right"][there]
    return {
        "request": bars["id"][there],
        f"arrival_{unit}": bars["arrive"][there],
        "output_tokens": bars["tokens"][there],
        "slot": bars[f"{side}_row"][there],
        f"begin_{unit}": begin,
        f"end_{unit}": end,
        f"latency_{unit}": np.round(end - bars["arrive"][there], 3),
    }


def notes(played: Played, *, traced: bool) -> tuple[str, ...]:
    """What a reader should know about this run and would not see."""
    said = []
    if played.refusal:
        said.append(
            f"This scenario cannot play the stream: {played.refusal}. "
            "The axis counts steps instead."
        )
    step = quantity(played.step_s, "s")
    prompt = counted(significant(float(played.stream.prompt_token.mean())), "token")
    alone = (
        f"a decode step of one sequence alone in this scenario, at a context of {prompt}, the mean "
        "prompt of the stream"
    )
    if traced and not played.in_time:
        said.append(
            f"One step stands for {step}, {alone}. Arrivals are rounded down to whole steps."
        )
    if played.in_time and not traced:
        said.append(f"Arrivals keep their steps, at {step} each: {alone}.")
    said += [
        line for name, run in zip(NAMES, played.both, strict=True) for line in _held(name, run)
    ]
    return tuple(said)


def _held(name: str, run: PolicyRun) -> list[str]:
    told = []
    if run.held_back:
        told.append(
            f"{name.capitalize()} batching: at times the cache is full before the slots are, and "
            "requests wait beside free slots."
        )
    if run.preemptions:
        times = "once" if run.preemptions == 1 else counted(run.preemptions, "time")
        told.append(
            f"{name.capitalize()} batching: the cache ran out {times}, and the request admitted "
            "last was preempted and recomputed later; section 5 is about that."
        )
    return told


def _percent(share: float) -> str:
    return f"{share:.{0 if share >= 0.01 else 1}%}".replace("%", " %")
