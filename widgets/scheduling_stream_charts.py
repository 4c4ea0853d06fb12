"""The four charts of the stream: gaps, waits, who runs, and goodput against arrivals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.units import quantity, significant
from widgets.figures import Chart, nice_ceiling
from widgets.scheduling_drawing import SECOND_DASH, put, put_rows
from widgets.scheduling_prompt import budget_words
from widgets.scheduling_stream import SHARES, Refused, Served, Sweep
from widgets.scheduling_text import Shown

_PERCENT = SHARES * 100
_SHARE_TICKS = [0, 25, 50, 75, 100]
_SHARE_TOP = 130
_CHOSEN_NAME, _SECOND_NAME = 29, 13
_NAME = ("x", "y", "label")
_LINES = (("second", SECOND_DASH, 2.0), ("chosen", "solid", 2.5))


def build_gaps() -> Chart:
    """The cumulative distribution of all gaps under both budgets."""
    chart = _distribution("stream-gaps", "gap, ms")
    for name, dash, width in _LINES:
        chart.source(name, ["x", "y"])
        chart.line(name, "x", "y", "decode", width=width, dash=dash)
    _add_tails(chart, "decode", "circle")
    return chart


def build_waits() -> Chart:
    """The cumulative distributions of TTFT and of end-to-end latency under both budgets."""
    chart = _distribution("stream-waits", "s after arrival")
    chart.source("lines", ["share", "end_second", "end_chosen", "first_second", "first_chosen"])
    for quantity_name, role in (("end", "ink"), ("first", "prefill")):
        for name, dash, width in _LINES:
            chart.line("lines", f"{quantity_name}_{name}", "share", role, width=width, dash=dash)
    _add_tails(chart, "prefill", "square")
    for name, align, dx in (("first_name", "right", -8), ("end_name", "left", 8)):
        chart.source(name, _NAME)
        chart.labels(name, *_NAME, align=align, dx=dx)
    return chart


def _distribution(name: str, x_label: str) -> Chart:
    chart = Chart(
        name,
        x_label=x_label,
        y_label="share, %",
        x_range=(1, 1000),
        y_range=(0, _SHARE_TOP),
        x_log=True,
    )
    chart.ticks(y=_SHARE_TICKS)
    return chart


def _add_tails(chart: Chart, role: str, shape: str) -> None:
    """Marks at the 99th percentiles, named above the curves: the chosen budget's on top."""
    chart.source("tails", [*_NAME, "dy"])
    chart.mark("tails", "x", "y", role, shape=shape, size=10, filled=shape == "square")
    chart.labels("tails", *_NAME, align="center", dy="dy")


def _render_tails(chart: Chart, tails: Sequence[tuple[Served, float]], scale: float) -> None:
    rows = [
        (p99 * scale, 99, f"{budget_words(run.budget)}: {quantity(p99, 's')}", dy)
        for (run, p99), dy in zip(tails, (_CHOSEN_NAME, _SECOND_NAME), strict=False)
    ]
    put_rows(chart, "tails", (*_NAME, "dy"), rows)


def _ran(shown: Shown) -> list[Served | None]:
    """The two runs, None for one that could not run or is the same as the first."""
    first, second = (run if isinstance(run, Served) else None for run in shown.served)
    same = first is not None and second is not None and first.budget == second.budget
    return [first, None if same else second]


def _decades(chart: Chart, values: Sequence[float]) -> None:
    """An axis of whole decades, with some room for names at both ends."""
    if values:
        low = 10.0 ** np.floor(np.log10(min(values) / 1.5))
        chart.set_range("x", low, 10.0 ** np.ceil(np.log10(max(values) * 2)))


def render_gaps(chart: Chart, shown: Shown) -> None:
    """Replace the data and fit the axis."""
    ends, tails = [], []
    for name, run in zip(("chosen", "second"), _ran(shown), strict=True):
        gaps = run.gaps if run else None
        if run is None or gaps is None:
            put(chart, name, {"x": [], "y": []})
            continue
        put(chart, name, {"x": gaps.length_s * 1e3, "y": gaps.share * 100})
        ends += [float(gaps.length_s[0]) * 1e3, float(gaps.length_s[-1]) * 1e3]
        tails.append((run, gaps.steps[-1].value))
    _render_tails(chart, tails, 1e3)
    _decades(chart, ends)


def render_waits(chart: Chart, shown: Shown) -> None:
    """Replace the data and fit the axis."""
    chosen, second = _ran(shown)
    ran = [run for run in (chosen, second) if run]
    columns = {"share": _PERCENT} if ran else {"share": []}
    blank = np.full(_PERCENT.size, np.nan) if ran else []
    for name, run in (("chosen", chosen), ("second", second)):
        columns[f"first_{name}"] = run.ttft_s if run else blank
        columns[f"end_{name}"] = run.e2e_s if run else blank
    put(chart, "lines", columns)
    _render_tails(chart, [(run, run.ttft_steps[-1].value) for run in ran], 1.0)
    _decades(chart, [float(v) for run in ran for v in (run.ttft_s[0], run.e2e_s[-1]) if v > 0])
    for name, share, attribute, outer, words in (
        ("first_name", 0.62, "ttft_s", min, "first token"),
        ("end_name", 0.3, "e2e_s", max, "whole answer"),
    ):
        at = int(np.searchsorted(SHARES, share))
        x = [float(getattr(run, attribute)[at]) for run in ran]
        rows = [(outer(x), float(_PERCENT[at]), words)] if x else []
        put_rows(chart, name, _NAME, rows)


def build_server() -> Chart:
    """Requests running and waiting over time, and preemptions."""
    chart = Chart(
        "stream-server", x_label="s", y_label="requests", x_range=(0, 100), y_range=(0, 50)
    )
    chart.source("lines", ["x", "running", "waiting"])
    chart.source("lost", ["x", "y"])
    chart.line("lines", "x", "waiting", "soft", width=1.5, dash="dashed")
    chart.line("lines", "x", "running", "ink", width=2)
    chart.mark("lost", "x", "y", "alarm", shape="x", size=9)
    for name, role in (("running", "ink"), ("waiting", "soft")):
        chart.source(name, _NAME)
        chart.labels(name, *_NAME, role=role, bold=role == "ink", align="center", dy=11)
    return chart


def render_server(chart: Chart, run: Served | Refused) -> None:
    """Replace the data and fit the axes."""
    if isinstance(run, Refused):
        put(chart, "lines", {"x": [], "running": [], "waiting": []})
        put(chart, "lost", {"x": [], "y": []})
        for name in ("running", "waiting"):
            put_rows(chart, name, _NAME, [])
        return
    end = float(run.time_s[-1])
    chart.set_range("x", 0, nice_ceiling(max(end, 1e-6)))
    chart.set_range("y", 0, nice_ceiling(1.2 * max(run.running.max(), run.waiting.max(), 4)))
    put(chart, "lines", {"x": run.time_s, "running": run.running, "waiting": run.waiting})
    lost = run.preempted > 0
    put(chart, "lost", {"x": run.time_s[lost], "y": run.running[lost]})
    for name, counts in (("running", run.running), ("waiting", run.waiting)):
        at = int(np.argmax(counts))
        x = float(np.clip(run.time_s[at], 0.12 * end, 0.85 * end))
        put_rows(chart, name, _NAME, [(x, int(counts[at]), name)] if counts[at] else [])


def build_goodput() -> Chart:
    """Requests in time against arrivals, both budgets, with their knees."""
    chart = Chart(
        "goodput",
        x_label="arrivals a second",
        y_label="requests in time a second",
        x_range=(0, 20),
        y_range=(0, 20),
    )
    chart.source("all", ["x", "y"])
    chart.source("all_name", _NAME)
    chart.source("now", ["x", "y"])
    chart.source("knees", ["x", "y"])
    chart.line("all", "x", "y", "soft", width=1.5, dash="dotted")
    chart.labels("all_name", *_NAME, role="soft", align="right", dx=-8)
    for name, dash, width in _LINES:
        chart.source(name, ["x", "y"])
        chart.line(name, "x", "y", "ink", width=width, dash=dash)
    chart.mark("knees", "x", "y", "ink", shape="inverted_triangle", size=11)
    for name, align, dx, dy in (("high", "center", 0, 16), ("low", "left", 9, -13)):
        chart.source(name, _NAME)
        chart.labels(name, *_NAME, align=align, dx=dx, dy=dy)
    chart.mark("now", "x", "y", "ink", filled=False, size=11)
    return chart


def render_goodput(chart: Chart, shown: Shown) -> None:
    """Replace the data and fit the axes."""
    sweeps = list(shown.sweeps or ())
    if len(sweeps) == 2 and sweeps[0].budget == sweeps[1].budget:
        sweeps = sweeps[:1]
    ran = [sweep for sweep in sweeps if isinstance(sweep, Sweep)]
    end = ran[0].rates_per_s[-1] if ran else 1.0
    top = nice_ceiling(1.25 * max([0.1 * end, *(shown.targets.curve(s).max() for s in ran)]))
    chart.set_range("x", 0, end)
    chart.set_range("y", 0, top)
    cut = min(end, top)
    put(chart, "all", {"x": [0, cut], "y": [0, cut]})
    put_rows(chart, "all_name", _NAME, [(0.5 * cut, 0.5 * cut, "all in time")])
    for i, name in enumerate(("chosen", "second")):
        sweep = sweeps[i] if i < len(sweeps) else None
        x, y = _curve(sweep, shown) if isinstance(sweep, Sweep) else ([], [])
        put(chart, name, {"x": x, "y": y})
    _render_knees(chart, ran, shown)
    run = shown.served[0]
    here = isinstance(run, Served) and np.isfinite(run.rate_per_s) and run.rate_per_s <= end
    put_rows(
        chart, "now", ("x", "y"), [(run.rate_per_s, shown.targets.goodput(run))] if here else []
    )


def _render_knees(chart: Chart, ran: Sequence[Sweep], shown: Shown) -> None:
    """Each curve's knee with its name; a curve without one is named at its top."""
    knees: list[tuple[float, float]] = []
    high: list[tuple[float, float, str]] = []
    low: list[tuple[float, float, str]] = []
    for sweep in sorted(ran, key=lambda sweep: -shown.targets.curve(sweep).max()):
        x, y = _curve(sweep, shown)
        knee, words = shown.targets.knee(sweep), budget_words(sweep.budget)
        found = 0 < knee < np.inf
        at = knee if found else x[int(np.argmax(y))]
        # A name over the curve is centred, and keeps clear of the frame.
        over = float(np.clip(at, 0.22 * x[-1], 0.8 * x[-1]))
        if found:
            knees.append((knee, float(np.interp(knee, x, y))))
        label = f"{words}: knee {significant(knee)}" if found else f"{words}: no knee here"
        if found and high:
            low.append((*knees[-1], label))
        else:
            high.append((over, float(np.interp(at, x, y)), label))
    put_rows(chart, "knees", ("x", "y"), knees)
    put_rows(chart, "high", _NAME, high)
    put_rows(chart, "low", _NAME, low)


def _curve(sweep: Sweep, shown: Shown) -> tuple[list[float], list[float]]:
    return [0.0, *sweep.rates_per_s], [0.0, *shown.targets.curve(sweep).tolist()]
