"""How section 3 is drawn: two Gantts over one source and one axis, the queue, and latencies.

The bars of both Gantts come from one source, so that pointing at a request in one marks it in the
other. What fits a bar as a label hangs on the figure's width, which the browser tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import HBar, HoverTool, Quad, Step, Text

from core.units import significant
from widgets.base import SectionResult
from widgets.batching_picture import Picture, axis_end
from widgets.batching_runs import SHARES
from widgets.figures import FONT, LABEL_SIZE, Chart
from widgets.section import SectionView

GANTT_HEIGHT, QUEUE_HEIGHT = 270, 210

_BAR = 0.84
_AXES_PX = 62
_DIGIT_PX, _BOLD_PX, _LINE_PX = 8.0, 8.8, 14.0
_USUAL_WIDTH_PX = 800
# Where a curve may be named: away from its marks.
_NAME_SHARES = np.array([0.25, 0.35, 0.65, 0.75])
# The heights of the marks' labels: static's below its curve, continuous' above.
_LABELS_AT = ((0.44, 0.9, 1.07), (0.56, 0.98, 1.07))
_UNIT_WORDS = {"step": "step", "ms": "time, ms", "s": "time, s"}
_SIDES = (("static-slots", "s", "static"), ("continuous-slots", "c", "continuous"))
_LOOKS = (("static", "soft", "dashed"), ("continuous", "ink", "solid"))
_BAR_COLUMNS = (
    *("id", "arrive", "tokens"),
    *("s_left", "s_first", "s_right", "s_row", "s_label"),
    *("c_left", "c_first", "c_right", "c_row", "c_label"),
)


class BatchingView(SectionView):
    """Slots under both policies, requests that wait, and the share done within a latency."""

    _width_px = _USUAL_WIDTH_PX

    def build_charts(self) -> list[Chart]:
        static = _build_gantt(*_SIDES[0])
        rolling = _build_gantt(*_SIDES[1], beside=static)
        static.figure.on_change("inner_width", lambda _, __, width: self._fit(width))
        return [static, rolling, _build_queue(static), _build_latency()]

    def render(self, result: SectionResult) -> None:
        picture: Picture = result.data.picture
        self._render_slots(picture)
        self._render_queue(picture)
        self._render_latency(picture)

    def _fit(self, width_px: int) -> None:
        """The figure has another width now: write the labels that fit its bars."""
        self._width_px = width_px
        self.render(self.model.result)

    def _bars(self, picture: Picture) -> dict[str, Any]:
        columns: dict[str, Any] = dict(picture.bars)
        row_px = (GANTT_HEIGHT - _AXES_PX) / picture.slots * _BAR
        for side in "sc":
            room = (columns[f"{side}_right"] - columns[f"{side}_left"]) / picture.end
            fits = room * self._width_px >= [_DIGIT_PX * len(f"{i}") + 6 for i in columns["id"]]
            fits &= row_px >= _LINE_PX
            columns[f"{side}_label"] = [
                f"{i}" if fit else "" for i, fit in zip(columns["id"], fits, strict=True)
            ]
        return columns

    def _render_slots(self, picture: Picture) -> None:
        static = self.chart("static-slots")
        static.set_range("x", 0, picture.end)
        static.replace("bars", self._bars(picture))
        static.replace("load", picture.load)
        bottom, top = (
            (0.0, float(picture.slots)) if picture.aggregated else (picture.slots + 0.5, 0.5)
        )
        static.replace(
            "whole",
            {
                "left": [0],
                "static": [picture.ends[0]],
                "continuous": [picture.ends[1]],
                "bottom": [bottom],
                "top": [top],
            },
        )
        for (name, _, _), end in zip(_SIDES, picture.ends, strict=True):
            chart = self.chart(name)
            chart.set_range("y", bottom, top)
            _set(chart.figure.yaxis[0], "busy slots" if picture.aggregated else "slot")
            _set(chart.figure.xaxis[0], _UNIT_WORDS[picture.unit])
            free_px = (1 - end / picture.end) * self._width_px
            told = f"done: {significant(end, 4)} {_plural(picture.unit)}"
            chart.replace(
                "done",
                {"x": [end], "y": [(bottom + top) / 2], "text": [told]}
                if free_px > _BOLD_PX * len(told) + 16
                else {"x": [], "y": [], "text": []},
            )

    def _render_queue(self, picture: Picture) -> None:
        chart, waiting = self.chart("queue-length"), picture.waiting
        peak = max(1.0, *(float(np.nanmax(waiting[name])) for name, _, _ in _LOOKS))
        _set(chart.figure.xaxis[0], _UNIT_WORDS[picture.unit])
        chart.set_range("y", 0, axis_end(peak * 1.2))
        chart.replace("waiting", waiting)
        chart.replace("names", _queue_names(picture, peak))

    def _render_latency(self, picture: Picture) -> None:
        chart = self.chart("latency-share")
        _set(chart.figure.xaxis[0], f"latency, {_plural(picture.unit)}")
        chart.set_range("x", 0, picture.longest)
        ends = {"share": 1.0, "static": picture.longest, "continuous": picture.longest}
        chart.replace(
            "stairs", {name: [*picture.latency[name].tolist(), ends[name]] for name in ends}
        )
        for side, (name, _, _) in enumerate(_LOOKS):
            chart.replace(name, self._marks(picture, side))
        chart.replace("names", self._curve_names(picture))

    def _marks(self, picture: Picture, side: int) -> dict[str, list[Any]]:
        """The percentiles on one curve: static told on the right of it, continuous on the left.

        A label that has no room on its side goes to the other.
        """
        columns: dict[str, list[Any]] = {key: [] for key in ("x", "y", "at", "before", "after")}
        for share, marks in zip(SHARES, picture.marks, strict=True):
            text = f"p{share * 100:.0f} {significant(marks[side])}"
            room_px = len(text) * _DIGIT_PX + 10
            place_px = marks[side] / picture.longest * self._width_px
            before = place_px > room_px if side else place_px > self._width_px - room_px
            columns["x"].append(marks[side])
            columns["y"].append(share)
            columns["at"].append(_LABELS_AT[side][SHARES.index(share)])
            columns["before"].append(text if before else "")
            columns["after"].append("" if before else text)
        return columns

    def _curve_names(self, picture: Picture) -> dict[str, list[Any]]:
        """Static is named on the right of its curve; continuous where most room is beside it."""
        shares = picture.latency["share"]
        places = np.searchsorted(shares, _NAME_SHARES).clip(max=shares.size - 1)
        static, rolling = (picture.latency[name][places] for name, _, _ in _LOOKS)
        if np.array_equal(picture.latency["static"], picture.latency["continuous"]):
            return {
                "x": [static[0]],
                "y": [_NAME_SHARES[0]],
                "before": [""],
                "after": ["static and continuous"],
            }
        right = static - rolling
        outside = rolling.max() > right.max()
        at = int(np.argmax(rolling if outside else right))
        return {
            "x": [static[0], rolling[at]],
            "y": [_NAME_SHARES[0], _NAME_SHARES[at]],
            "before": ["", "continuous" if outside else ""],
            "after": ["static", "" if outside else "continuous"],
        }


def _queue_names(picture: Picture, peak: float) -> dict[str, list[Any]]:
    """Both curves named where they are furthest apart; one name where they are one curve."""
    waiting = picture.waiting
    static, rolling = (np.nan_to_num(waiting[name]) for name, _, _ in _LOOKS)
    if np.array_equal(static, rolling):
        at = int(np.argmax(static))
        texts, heights = ["static and continuous"], [float(static[at])]
    else:
        at = int(np.argmax(np.abs(static - rolling)))
        texts, heights = ["static", "continuous"], [float(static[at]), float(rolling[at])]
        # Close together, the lower one is named below its curve.
        if abs(heights[0] - heights[1]) < 0.2 * peak:
            heights[int(np.argmin(heights))] -= 0.25 * peak
    # Half of the longest name has to fit on either side.
    x = float(np.clip(waiting["time"][at], 0.12 * picture.end, 0.88 * picture.end))
    return {"x": [x] * len(texts), "y": heights, "text": texts}


def _build_gantt(name: str, side: str, policy: str, beside: Chart | None = None) -> Chart:
    chart = Chart(
        name,
        x_label="step",
        y_label="slot",
        x_range=(0, 350),
        y_range=(8.5, 0.5),
        height=GANTT_HEIGHT,
    )
    chart.figure.yaxis[0].ticker.update(min_interval=1, desired_num_ticks=9)
    chart.figure.ygrid[0].visible = False
    if beside is None:
        chart.source("bars", _BAR_COLUMNS)
        chart.source("load", ["left", "right", "static", "continuous"])
        chart.source("whole", ["left", "static", "continuous", "bottom", "top"])
    else:
        chart.sources.update({key: beside.sources[key] for key in ("bars", "load", "whole")})
        chart.figure.x_range = beside.figure.x_range
    chart.source("done", ["x", "y", "text"])
    idle = Quad(
        left="left",
        right=policy,
        bottom="bottom",
        top="top",
        fill_alpha=0,
        line_alpha=0.6,
        hatch_pattern="/",
        hatch_scale=9,
        hatch_weight=1,
    )
    chart.figure.add_glyph(chart.sources["whole"], idle)
    chart.paint(idle, "hatch_color", "idle")
    chart.paint(idle, "line_color", "idle")
    load = Quad(left="left", right="right", bottom=0, top=policy, fill_alpha=0.75, line_alpha=0)
    chart.figure.add_glyph(chart.sources["load"], load)
    chart.paint(load, "fill_color", "decode")
    _add_bars(chart, side)
    chart.labels("done", "x", "y", "text", bold=True, dx=10)
    return chart


def _add_bars(chart: Chart, side: str) -> None:
    """The requests, washed under so that a label reads on them; the one pointed at stands out."""
    source = chart.sources["bars"]
    wash = HBar(y=f"{side}_row", height=_BAR, left=f"{side}_left", right=f"{side}_right")
    chart.figure.add_glyph(source, wash)
    chart.paint(wash, "fill_color", "card")
    chart.paint(wash, "line_color", "card")
    body = HBar(fill_alpha=0.45, line_width=1.3, **_places(side))
    marked = HBar(fill_alpha=0.95, line_width=3, **_places(side))
    for glyph, edge in ((body, "decode"), (marked, "ink")):
        chart.paint(glyph, "fill_color", "decode")
        chart.paint(glyph, "line_color", edge)
    bars = chart.figure.add_glyph(source, body, hover_glyph=marked)
    prefill = HBar(
        y=f"{side}_row",
        height=_BAR,
        left=f"{side}_left",
        right=f"{side}_first",
        hatch_pattern="/",
        hatch_scale=5,
        line_alpha=0,
    )
    chart.figure.add_glyph(source, prefill)
    chart.paint(prefill, "fill_color", "prefill")
    chart.paint(prefill, "hatch_color", "card")
    text = Text(
        x=f"{side}_left",
        y=f"{side}_row",
        text=f"{side}_label",
        x_offset=4,
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size=LABEL_SIZE,
    )
    chart.figure.add_glyph(source, text)
    chart.paint(text, "text_color", "ink")
    tooltips = [
        ("request", "@id"),
        ("arrives", "@arrive{0,0.[0]}"),
        ("tokens", "@tokens{0,0}"),
        ("static", "@s_left{0,0.[0]} to @s_right{0,0.[0]}"),
        ("continuous", "@c_left{0,0.[0]} to @c_right{0,0.[0]}"),
    ]
    chart.figure.add_tools(HoverTool(tooltips=tooltips, renderers=[bars], visible=False))


def _places(side: str) -> dict[str, Any]:
    return {"y": f"{side}_row", "height": _BAR, "left": f"{side}_left", "right": f"{side}_right"}


def _build_queue(gantt: Chart) -> Chart:
    chart = Chart(
        "queue-length",
        x_label="step",
        y_label="requests waiting",
        x_range=(0, 350),
        y_range=(0, 30),
        height=QUEUE_HEIGHT,
    )
    chart.figure.x_range = gantt.figure.x_range
    chart.figure.yaxis[0].ticker.min_interval = 1
    chart.source("waiting", ["time", "static", "continuous"])
    chart.source("names", ["x", "y", "text"])
    for name, role, dash in _LOOKS:
        _stairs(chart, "waiting", "time", name, role, dash)
    chart.labels("names", "x", "y", "text", bold=True, align="center", dy=11)
    return chart


def _build_latency() -> Chart:
    chart = Chart(
        "latency-share",
        x_label="latency, steps",
        y_label="share of requests",
        x_range=(0, 250),
        y_range=(0, 1.16),
    )
    chart.source("stairs", ["share", "static", "continuous"])
    chart.source("names", ["x", "y", "before", "after"])
    chart.labels("names", "x", "y", "before", bold=True, align="right", dx=-9, dy=9)
    chart.labels("names", "x", "y", "after", bold=True, dx=9, dy=-9)
    for name, role, dash in _LOOKS:
        _stairs(chart, "stairs", name, "share", role, dash)
        chart.source(name, ["x", "y", "at", "before", "after"])
        shape = "diamond" if name == "static" else "circle"
        chart.mark(name, "x", "y", role, shape=shape, size=9, filled=name == "continuous")
        chart.labels(name, "x", "at", "before", align="right", dx=-9)
        chart.labels(name, "x", "at", "after", dx=9)
    return chart


def _stairs(chart: Chart, source: str, x: str, y: str, role: str, dash: str) -> None:
    """A line that keeps each value until the next."""
    glyph = Step(x=x, y=y, mode="after", line_width=2.5, line_dash=dash)
    chart.figure.add_glyph(chart.sources[source], glyph)
    chart.paint(glyph, "line_color", role)


def _set(axis: Any, label: str) -> None:
    if axis.axis_label != label:
        axis.axis_label = label


def _plural(unit: str) -> str:
    return "steps" if unit == "step" else unit
