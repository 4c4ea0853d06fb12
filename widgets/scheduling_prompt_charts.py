"""The two charts of the one prompt: what a watcher sees, and the choice between budgets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.units import quantity
from widgets.figures import Chart
from widgets.scheduling_drawing import SECOND_DASH, axis_end, put, put_rows
from widgets.scheduling_prompt import PromptPart, Spread, bars, outline

_LOG_TICKS = [step * 10.0**power for power in range(-1, 7) for step in (1, 2, 5)]
_ABOVE, _BELOW, _FAR_BELOW = 11, -13, -29


def build_watcher() -> Chart:
    """Bars as wide as they are high: each is a step, stacked by phase."""
    chart = Chart(
        "watcher",
        x_label="ms after the prompt arrives",
        y_label="gap before the token, ms",
        x_range=(-40, 300),
        y_range=(0, 300),
    )
    for name in ("decode", "prefill"):
        chart.source(name, ["left", "right", "bottom", "top"])
        chart.bars(name, name, hatch="/" if name == "prefill" else None)
    chart.source("second", ["x", "y"])
    chart.source("first", ["x", "y0", "y1", "label"])
    chart.source("names", ["x", "y", "label"])
    chart.source("alone", ["x", "y", "label"])
    chart.line("second", "x", "y", "ink", width=1.5, dash=SECOND_DASH)
    chart.segments("first", "x", "y0", "x", "y1", "ink", width=2)
    chart.labels("names", "x", "y", "label", bold=True, align="center", dy=10)
    chart.labels("alone", "x", "y", "label", align="right", dy=10)
    chart.labels("first", "x", "y1", "label", align="left", dx=5, dy=-4)
    return chart


def render_watcher(chart: Chart, part: PromptPart, *, revealed: bool) -> None:
    """Replace the data; the prompt's TTFT is named only once the reader has predicted it."""
    both = [s.prefill for s in (part.chosen, part.second) if s.prefill]
    decode_ms = part.decode_s * 1e3
    longest = max((p.ttft_s for p in both), default=part.decode_s * 8) * 1e3
    end = axis_end(1.5 * longest)
    top = axis_end(1.2 * max([decode_ms, *(p.worst_s * 1e3 for p in both)]))
    chart.set_range("x", -3.2 * decode_ms, end)
    chart.set_range("y", 0, top)
    _render_bars(chart, part, end)
    names = _worst_names(part, top)
    put_rows(chart, "names", ("x", "y", "label"), names)
    height = part.joined_s * 1e3
    # Where the longest gap is hardly longer, its name stands in the same place.
    clear = not both or both[0].worst_s * 1e3 - height > 0.08 * top
    alone = [(end, height, f"decode {quantity(part.decode_s, 's')}")] if clear else []
    put_rows(chart, "alone", ("x", "y", "label"), alone)
    first = []
    if part.chosen.prefill and revealed:
        at = part.chosen.prefill.ttft_s
        taken = [name[1] for name in names]
        free = max((0.42, 0.62, 0.8), key=lambda part: min(abs(part * top - y) for y in taken))
        first = [(at * 1e3, 0.0, free * top, f"TTFT {quantity(at, 's')}")]
    put_rows(chart, "first", ("x", "y0", "y1", "label"), first)


def _render_bars(chart: Chart, part: PromptPart, end: float) -> None:
    drawn = bars(part, end)
    put(
        chart,
        "decode",
        {
            "left": drawn.left,
            "right": drawn.right,
            "bottom": [0] * drawn.left.size,
            "top": drawn.decode,
        },
    )
    mixed = drawn.gap > drawn.decode
    put(
        chart,
        "prefill",
        {
            "left": drawn.left[mixed],
            "right": drawn.right[mixed],
            "bottom": drawn.decode[mixed],
            "top": drawn.gap[mixed],
        },
    )
    same = part.chosen.budget == part.second.budget
    x, y = ([], []) if same else outline(part, end)
    put(chart, "second", {"x": x, "y": y})


def _worst_names(part: PromptPart, top: float) -> list[tuple[float, float, str]]:
    """Each budget's longest gap, written over it; the second one steps up where they meet."""
    names: list[tuple[float, float, str]] = []
    same = part.chosen.budget == part.second.budget
    for spread in (part.chosen,) if same else (part.chosen, part.second):
        if spread.prefill is None:
            continue
        at = int(np.argmax(spread.prefill.step_s))
        worst = spread.prefill.worst_s * 1e3
        y = worst
        if names and abs(worst - names[0][1]) < 0.09 * top:
            y = names[0][1] + 0.09 * top
        x = float(np.cumsum(spread.prefill.step_s)[at]) * 1e3 - worst / 2
        names.append((x, y, f"{spread.words}: {quantity(worst / 1e3, 's')}"))
    return names


def build_trade_off() -> Chart:
    """TTFT against the longest gap, a point a budget, and the same at another overhead."""
    chart = Chart(
        "trade-off",
        x_label="longest gap, ms",
        y_label="first token after, ms",
        x_range=(10, 400),
        y_range=(150, 1_500),
        x_log=True,
        y_log=True,
    )
    chart.ticks(x=_LOG_TICKS, y=_LOG_TICKS)
    chart.source("curve", ["x", "y"])
    chart.source("ghost", ["x", "y"])
    chart.source("names", ["x", "y", "label", "dx", "dy"])
    chart.source("now", ["x", "y", "label"])
    chart.line("ghost", "x", "y", "soft", width=1.5, dash="dotted")
    chart.line("curve", "x", "y", "ink", width=1.5)
    chart.mark("curve", "x", "y", "ink", size=6)
    chart.mark("now", "x", "y", "ink", filled=False)
    chart.labels("names", "x", "y", "label", role="soft", align="left", dx="dx", dy="dy")
    chart.labels("now", "x", "y", "label", bold=True, align="center", dy=27)
    return chart


def render_trade_off(chart: Chart, part: PromptPart) -> None:
    """Replace the data and fit the axes."""
    curve, ghost, now = _points(part.curve), _points(part.ghost), _points([part.chosen])
    every_x = [x for x, _ in (*curve, *ghost)]
    every_y = [y for _, y in (*curve, *ghost)]
    chart.set_range("x", min(every_x) / 1.4, axis_end(2.2 * max(every_x)))
    chart.set_range("y", min(every_y) / 1.8, axis_end(1.2 * max(every_y)))
    put_rows(chart, "curve", ("x", "y"), curve)
    put_rows(chart, "ghost", ("x", "y"), ghost)
    # Neighbours are named above and below the curve in turn, the chosen one over them all.
    places = [(3, _BELOW if i % 2 else _ABOVE) for i in range(len(curve))]
    places[-1] = (-50, _FAR_BELOW)
    names = [
        (*at, spread.words, *place)
        for at, spread, place in zip(curve, part.curve, places, strict=True)
        if spread.budget != part.chosen.budget
    ]
    overhead = quantity(part.ghost_overhead_s, "s")
    said = f"with {overhead} a step" if part.ghost_overhead_s else "without overhead"
    # To the right of the budget's name, which stands at nearly the same point.
    names.append((*ghost[0], said, 30, 8))
    put_rows(chart, "names", ("x", "y", "label", "dx", "dy"), names)
    put_rows(chart, "now", ("x", "y", "label"), [(*at, part.chosen.words) for at in now])


def _points(spreads: Sequence[Spread]) -> list[tuple[float, float]]:
    found = [spread.prefill for spread in spreads if spread.prefill]
    return [(prefill.worst_s * 1e3, prefill.ttft_s * 1e3) for prefill in found]
