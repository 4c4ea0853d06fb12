"""Section 8's sentences, tables and player."""

from __future__ import annotations

from typing import Any

from core.measured_bands import BANDS, KIND_WORDS, LEFT_OUT
from core.units import counted, quantity, significant
from widgets.caveats_readouts import times
from widgets.caveats_run import BATCHES, Figures
from widgets.player import Lane, Player


def summary(found: Figures) -> str:
    """One line: the step over its floor, what was measured, and two readings of one run."""
    step = quantity(float(found.decode.time_s), "s")
    band = found.band
    words = (
        f"A decode step of {found.settings.batch:,} takes {step} here, "
        f"{times(found.above_floor)} times its floor; a served 70B on {band.label} was "
        f"measured at {times(band.p10)} to {times(band.p90)} times."
    )
    cold = found.runs.cold
    if cold is None:
        return words
    return (
        f"{words} One run of the stream has a mean TTFT of {quantity(cold.mean_ttft_s, 's')} and "
        f"a p99 of {quantity(cold.p99_ttft_s, 's')}."
    )


def sentences(found: Figures) -> dict[str, str]:
    """One for each chart."""
    return {
        "bands": _bands_sentence(found),
        "own-band": _own_sentence(found),
        "side-channel": _channel_sentence(found),
    }


def _bands_sentence(found: Figures) -> str:
    one, eight = (b for b in BANDS if b.kind == "devices" and b.low in (1, 8))
    left = "; ".join(f"{row.label} ({row.ratio}): {row.why}" for row in LEFT_OUT)
    return (
        f"Half of the served points on one device stood above {times(one.p50)} times the "
        f"floor, on eight above {times(eight.p50)} times. This page is set to "
        f"{times(found.above_floor)} times. Left out of every bar: {left}."
    )


def _own_sentence(found: Figures) -> str:
    floor = float(found.floor.time_s)
    low, middle, high = (quantity(value, "s") for value in found.band.span_s(floor))
    return (
        f"At batch {found.settings.batch:,} the floor is {quantity(floor, 's')} and this page says "
        f"{quantity(float(found.decode.time_s), 's')}. The band of {found.band.label} puts a "
        f"served step at about {low} to {high}, with its middle at {middle}."
    )


def _channel_sentence(found: Figures) -> str:
    timing, eye, settings = found.timing, found.observer, found.settings
    if settings.salted:
        return (
            f"With a salt for each group, a prompt that someone else has sent takes "
            f"{quantity(timing.miss_s, 's')} like any other: an observer is right in 50 % of the "
            "cases, as a coin is."
        )
    return (
        f"With its {counted(timing.cached_token, 'token')} of prefix cached a prompt takes "
        f"{quantity(timing.hit_s, 's')} instead of {quantity(timing.miss_s, 's')}, before any "
        f"wait. Under {quantity(settings.noise_s, 's')} of noise the best line lies at "
        f"{quantity(eye.threshold_s, 's')}, and an observer who draws it there is right in "
        f"{significant(100 * eye.accuracy)} % of the cases."
    )


def tables(found: Figures) -> dict[str, dict[str, Any]]:
    """What the charts' data tables hold."""
    floor_ms = found.floor_sweep.time_s * 1e3
    low, middle, high = (floor_ms * x for x in (found.band.p10, found.band.p50, found.band.p90))
    histogram = found.histogram
    return {
        "bands": _bands_table(),
        "own-band": {
            "batch": BATCHES,
            "floor_ms": floor_ms,
            "this_page_ms": found.sweep.time_s * 1e3,
            "served_p10_ms": low,
            "served_p50_ms": middle,
            "served_p90_ms": high,
        },
        "side-channel": {
            "from_ms": histogram.edge_s[:-1] * 1e3,
            "to_ms": histogram.edge_s[1:] * 1e3,
            "hit_share": histogram.hit_share,
            "miss_share": histogram.miss_share,
        },
    }


def _bands_table() -> dict[str, list[Any]]:
    rows = [
        (KIND_WORDS[b.kind], b.label, b.rows, b.p10, b.p50, b.p90, f"{b.source}; {b.note}")
        for b in BANDS
    ]
    rows += [
        ("left out", left.label, left.rows, left.ratio, left.ratio, left.ratio, left.source)
        for left in LEFT_OUT
    ]
    names = ("what", "rows_of", "points", "p10", "p50", "p90", "source")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def player(found: Figures) -> Player:
    """The answer, streamed and whole."""
    answer = found.answer
    first, end = quantity(answer.ttft_s, "s"), quantity(answer.e2e_s, "s")
    streamed = [(answer.ttft_s, f"TTFT {first}")]
    if answer.tokens > 1:
        second = answer.ttft_s + answer.itl_s
        streamed.append((second, f"ITL {quantity(answer.itl_s, 's')} from here on"))
    streamed.append((answer.e2e_s, f"end to end {end}"))
    whole = [(answer.e2e_s, f"first word and end to end {end}")]
    pace = significant(found.settings.token_per_s)
    return Player(
        f"One answer of {counted(answer.tokens, 'token')} at {pace} a second",
        answer.tokens,
        (
            Lane("Streamed", answer.ttft_s, answer.itl_s, tuple(streamed)),
            Lane("Sent whole", answer.e2e_s, 0.0, tuple(whole)),
        ),
    )
