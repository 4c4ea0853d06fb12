"""How section 3 is drawn: two Gantts over one source and one axis, the queue, and latencies.

The bars of both Gantts come from one source, so that pointing at a request in one marks it in the
other. What fits a bar as a label hangs on the figure's width, which the browser tells.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from bokeh.core.properties import value
from bokeh.models import HBar, HoverTool, LabelSet, Quad, Scatter, Step

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
_PREFILL_COLUMNS = ("s_left", "s_first", "s_row", "c_left", "c_first", "c_row")
_SHARED = ("bars", "prefill", "load", "whole")
_WHOLE_COLUMNS = (
    *("left", "bottom", "top", "middle"),
    *("static", "continuous", "static_done", "continuous_done"),
)

_MARKS = ("x", "y", "shape")
_SHAPES = ("diamond", "circle")
# A text in a chart: x, y, text, alignment, offset in pixels, style.
_TOLD = ("x", "y", "text", "align", "dx", "style")
Told: TypeAlias = tuple[float, float, str, str, float, str]


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
        columns: dict[str, Any] = {
            name: picture.bars[name] for name in _BAR_COLUMNS if not name.endswith("label")
        }
        row_px = (GANTT_HEIGHT - _AXES_PX) / picture.slots * _BAR
        for side in "sc":
            room = (columns[f"{side}_right"] - columns[f"{side}_first"]) / picture.end
            fits = room * self._width_px >= [_DIGIT_PX * len(f"{i}") + 6 for i in columns["id"]]
            fits &= row_px >= _LINE_PX
            columns[f"{side}_label"] = [
                f"{i}" if fit else None for i, fit in zip(columns["id"], fits, strict=True)
            ]
        return columns

    def _render_slots(self, picture: Picture) -> None:
        static = self.chart("static-slots")
        static.set_range("x", 0, picture.end)
        static.replace("bars", self._bars(picture))
        # In unit steps prefill is free, so that nothing of it is sent.
        kept = slice(0 if picture.unit == "step" else None)
        static.replace("prefill", {name: picture.bars[name][kept] for name in _PREFILL_COLUMNS})
        static.replace("load", picture.load)
        bottom, top = (
            (0.0, float(picture.slots)) if picture.aggregated else (picture.slots + 0.5, 0.5)
        )
        static.replace(
            "whole",
            {
                "left": [0],
                "bottom": [bottom],
                "top": [top],
                "middle": [(bottom + top) / 2],
                "static": [picture.ends[0]],
                "continuous": [picture.ends[1]],
                "static_done": [self._done(picture, picture.ends[0])],
                "continuous_done": [self._done(picture, picture.ends[1])],
            },
        )
        for name, _, _ in _SIDES:
            chart = self.chart(name)
            chart.set_range("y", bottom, top)
            _set(
                chart.figure.yaxis[0], "axis_label", "busy slots" if picture.aggregated else "slot"
            )
            _set(chart.figure.xaxis[0], "axis_label", _UNIT_WORDS[picture.unit])

    def _done(self, picture: Picture, end: float) -> str:
        """When everything is done, where there is room for it on the axis."""
        text = f"done: {significant(end, 4)} {_plural(picture.unit)}"
        free_px = (1 - end / picture.end) * self._width_px
        return text if free_px > _BOLD_PX * len(text) + 16 else ""

    def _render_queue(self, picture: Picture) -> None:
        chart, waiting = self.chart("queue-length"), picture.waiting
        peak = max(1.0, *(float(np.nanmax(waiting[name])) for name, _, _ in _LOOKS))
        _set(chart.figure.xaxis[0], "axis_label", _UNIT_WORDS[picture.unit])
        chart.set_range("y", 0, axis_end(peak * 1.2))
        chart.replace("waiting", waiting)
        _tell(chart, _queue_names(picture, peak))

    def _render_latency(self, picture: Picture) -> None:
        chart = self.chart("latency-share")
        _set(chart.figure.xaxis[0], "axis_label", f"latency, {_plural(picture.unit)}")
        chart.set_range("x", 0, picture.longest)
        ends = {"share": 1.0, "static": picture.longest, "continuous": picture.longest}
        chart.replace(
            "stairs", {name: [*picture.latency[name].tolist(), ends[name]] for name in ends}
        )
        told: list[Told] = _curve_names(picture)
        places: list[tuple[float, float, str]] = []
        for side, shape in enumerate(_SHAPES):
            marks = [both[side] for both in picture.marks]
            places += [(at, share, shape) for at, share in zip(marks, SHARES, strict=True)]
            told += [
                self._mark_told(picture, side, at, share, height)
                for at, share, height in zip(marks, SHARES, _LABELS_AT[side], strict=True)
            ]
        chart.replace("marks", dict(zip(_MARKS, zip(*places, strict=True), strict=True)))
        _tell(chart, told)

    def _mark_told(
        self, picture: Picture, side: int, at: float, share: float, height: float
    ) -> Told:
        """A percentile's label: static's on the right of its curve, continuous' on the left.

        A label that has no room on its side goes to the other.
        """
        text = f"p{share * 100:.0f} {significant(at)}"
        room_px = len(text) * _DIGIT_PX + 10
        place_px = at / picture.longest * self._width_px
        before = place_px > room_px if side else place_px > self._width_px - room_px
        return _beside(at, height, text, before, "normal")


def _beside(x: float, y: float, text: str, before: bool, style: str) -> Told:
    return (x, y, text, "right", -9, style) if before else (x, y, text, "left", 9, style)


def _curve_names(picture: Picture) -> list[Told]:
    """Static is named on the right of its curve; continuous where most room is beside it."""
    shares = picture.latency["share"]
    places = np.searchsorted(shares, _NAME_SHARES).clip(max=shares.size - 1)
    static, rolling = (picture.latency[name][places] for name, _, _ in _LOOKS)
    low = float(_NAME_SHARES[0]) - 0.05
    if np.array_equal(picture.latency["static"], picture.latency["continuous"]):
        return [_beside(float(static[0]), low, "static and continuous", False, "bold")]
    right = static - rolling
    outside = bool(rolling.max() > right.max())
    at = int(np.argmax(rolling if outside else right))
    height = float(_NAME_SHARES[at]) + (0.05 if outside else -0.05)
    return [
        _beside(float(static[0]), low, "static", False, "bold"),
        _beside(float(rolling[at]), height, "continuous", outside, "bold"),
    ]


def _queue_names(picture: Picture, peak: float) -> list[Told]:
    """Static is named above its curve where it is furthest above the other.

    Continuous is named above its peak where static is well above that, else below its slope.
    """
    time = picture.waiting["time"]
    static, rolling = (np.nan_to_num(picture.waiting[name]) for name, _, _ in _LOOKS)
    gap = static - rolling

    def above(at: int, height: float, text: str) -> Told:
        # Half of the longest name has to fit on either side.
        x = float(np.clip(time[at], 0.12 * picture.end, 0.88 * picture.end))
        return x, height + 0.09 * peak, text, "center", 0, "bold"

    widest, highest = int(np.argmax(gap)), int(np.argmax(rolling))
    if not gap.any():
        return [above(highest, float(rolling[highest]), "static and continuous")]
    told = [above(widest, float(static[widest]), "static")]
    if not rolling.any():
        return [*told, above(widest, 0.0, "continuous")]
    if gap[highest] > 0.25 * peak:
        return [*told, above(highest, float(rolling[highest]), "continuous")]
    slope = int(np.argmax(np.minimum(gap, rolling)))
    height = max(float(rolling[slope]) - 0.12 * peak, 0.06 * peak)
    return [*told, _beside(float(time[slope]), height, "continuous", True, "bold")]


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
        chart.source("prefill", _PREFILL_COLUMNS)
        chart.source("load", ["left", "right", "static", "continuous"])
        chart.source("whole", _WHOLE_COLUMNS)
    else:
        chart.sources.update({key: beside.sources[key] for key in _SHARED})
        chart.figure.x_range = beside.figure.x_range
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
    _texts(chart, "whole", policy, "middle", f"{policy}_done", x_offset=10, text_font_style="bold")
    return chart


def _add_bars(chart: Chart, side: str) -> None:
    """The requests, pale enough for a label; the one that is pointed at stands out."""
    source = chart.sources["bars"]
    body, marked = HBar(line_width=1.3, **_places(side)), HBar(line_width=3, **_places(side))
    for glyph, fill, edge in ((body, "decode_pale", "decode"), (marked, "decode", "ink")):
        chart.paint(glyph, "fill_color", fill)
        chart.paint(glyph, "line_color", edge)
    bars = chart.figure.add_glyph(source, body, hover_glyph=marked)
    prefill = HBar(
        **{**_places(side), "right": f"{side}_first"},
        hatch_pattern="/",
        hatch_scale=5,
        line_alpha=0,
    )
    chart.figure.add_glyph(chart.sources["prefill"], prefill)
    chart.paint(prefill, "fill_color", "prefill")
    chart.paint(prefill, "hatch_color", "card")
    _texts(chart, "bars", f"{side}_first", f"{side}_row", f"{side}_label", x_offset=4)
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
    for name, role, dash in _LOOKS:
        _stairs(chart, "waiting", "time", name, role, dash)
    _add_told(chart)
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
    for name, role, dash in _LOOKS:
        _stairs(chart, "stairs", name, "share", role, dash)
    chart.source("marks", _MARKS)
    mark = Scatter(x="x", y="y", marker={"field": "shape"}, size=10, line_width=2.5)
    chart.figure.add_glyph(chart.sources["marks"], mark)
    chart.paint(mark, "line_color", "ink")
    chart.paint(mark, "fill_color", "card")
    _add_told(chart)
    return chart


def _add_told(chart: Chart) -> None:
    """Texts that are placed one by one."""
    chart.source("told", _TOLD)
    _texts(
        chart,
        "told",
        "x",
        "y",
        "text",
        x_offset={"field": "dx"},
        text_align={"field": "align"},
        text_font_style={"field": "style"},
    )


def _tell(chart: Chart, told: list[Told]) -> None:
    chart.replace("told", dict(zip(_TOLD, zip(*told, strict=True), strict=True)))


def _texts(chart: Chart, source: str, x: str, y: str, text: str, **looks: Any) -> LabelSet:
    """A set of labels whose looks may be columns too.

    A text glyph would be measured anew for each of its five states whenever its source changes.
    """
    labels = LabelSet(
        x=x,
        y=y,
        text=text,
        source=chart.sources[source],
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size=LABEL_SIZE,
        **looks,
    )
    chart.paint(labels, "text_color", "ink")
    chart.figure.add_layout(labels)
    return labels


def _stairs(chart: Chart, source: str, x: str, y: str, role: str, dash: str) -> None:
    """A line that keeps each value until the next."""
    glyph = Step(x=x, y=y, mode="after", line_width=2.5, line_dash=dash)
    chart.figure.add_glyph(chart.sources[source], glyph)
    chart.paint(glyph, "line_color", role)


def _set(model: Any, attribute: str, wanted: Any) -> None:
    """Nothing is sent where it is so already."""
    if getattr(model, attribute) != wanted:
        setattr(model, attribute, wanted)


def _plural(unit: str) -> str:
    return "steps" if unit == "step" else unit
