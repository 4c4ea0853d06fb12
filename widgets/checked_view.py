"""How section 7 is drawn: a mark a claim, the matrix of faults, and a dot a seed."""

from __future__ import annotations

from typing import Any

from bokeh.core.properties import value
from bokeh.models import HoverTool, Rect, Text

from core.checks import CHECKS, GROUPS, Outcome, words
from core.checks.sweep import LatencySweep
from core.sabotage import FAULTS, SOUND
from core.units import significant
from widgets.base import SectionResult
from widgets.checked_record import MATRIX_ROWS, Record
from widgets.figures import FONT, LABEL_SIZE, Chart, nice_ceiling
from widgets.section import SectionView

PER_LINE = 30
CLAIM_PX, ROW_PX, HEADINGS_PX = 24, 18, 178


def _claim_places() -> tuple[list[tuple[int, int]], list[int], int]:
    """Where each claim stands, the line of each group's heading, and how many lines there are."""
    places, headings, line = [], [], 0
    for group in GROUPS:
        headings.append(line)
        inside = sum(check.group == group for check in CHECKS)
        places += [(at % PER_LINE, line + 1 + at // PER_LINE) for at in range(inside)]
        line += 1 - (-inside // PER_LINE)
    return places, headings, line


_PLACES, _HEADINGS, _LINES = _claim_places()
_ROWS = len(MATRIX_ROWS)

CLAIMS_HEIGHT = _LINES * CLAIM_PX + 20
MATRIX_HEIGHT = _ROWS * ROW_PX + HEADINGS_PX
SWEEP_HEIGHT = 460

_CLAIM_COLUMNS = ("x", "y", "mark", "name", "expected", "observed")
_CLAIM_TIPS = [("claim", "@name"), ("expected", "@expected"), ("observed", "@observed")]


class CheckedView(SectionView):
    """Marks of the claims, the matrix, and the sweep of seeds."""

    def build(self) -> None:
        first = not self._charts
        super().build()
        if first:
            self.model.go_live()

    def build_charts(self) -> list[Chart]:
        return [_build_claims(), _build_matrix(), _build_sweep()]

    def render(self, result: SectionResult) -> None:
        found: Record = result.data
        self._render_claims(found.outcomes)
        self._render_matrix(found)
        self._render_sweep(found)

    def _render_claims(self, outcomes: tuple[Outcome, ...]) -> None:
        chart = self.chart("claims")
        for source, holds in (("held", True), ("failed", False)):
            rows = [
                (
                    *place,
                    outcome.verdict[0],
                    outcome.check.name,
                    words(outcome.expected),
                    words(outcome.observed),
                )
                for place, outcome in zip(_PLACES, outcomes, strict=True)
                if outcome.holds is holds
            ]
            chart.replace(source, _columns(_CLAIM_COLUMNS, rows))
        labels = []
        for group in GROUPS:
            inside = [outcome.holds for outcome in outcomes if outcome.check.group == group]
            labels.append(f"{group}: {sum(inside)} of {len(inside)} hold")
        chart.replace("groups", {"x": [-0.5] * len(GROUPS), "y": _HEADINGS, "label": labels})

    def _render_matrix(self, found: Record) -> None:
        chart = self.chart("sabotage")
        for source, caught, mark in (("caught", True, "✗"), ("missed", False, "·")):
            cells = [
                (x, y, mark, row.text, found.matrix.faults[x], "caught" if caught else "missed")
                for y, row in enumerate(MATRIX_ROWS)
                for x, cell in enumerate(row.cells(found.matrix))
                if cell is caught
            ]
            chart.replace(source, _columns(_CELL_COLUMNS, cells))
        headings = [
            (-0.5, y, row.words(found.matrix))
            for y, row in enumerate(MATRIX_ROWS)
            if not row.claims
        ]
        chart.replace("groups", _columns(("x", "y", "label"), headings))
        on = [found.matrix.faults.index(found.fault)] if found.fault != SOUND else []
        chart.replace(
            "on",
            {
                "left": [x - 0.5 for x in on],
                "right": [x + 0.5 for x in on],
                "bottom": [_ROWS - 0.5 for _ in on],
                "top": [-0.5 for _ in on],
            },
        )

    def _render_sweep(self, found: Record) -> None:
        chart, sweep = self.chart("latencies"), found.sweep
        top = nice_ceiling(1.02 * max(float(sweep.fixed.max()), float(found.mine.fixed.max())))
        chart.set_range("x", 0, top)
        chart.set_range("y", 0, top)
        ties = sweep.ties.tolist()
        for source, wanted in (("seeds", False), ("ties", True)):
            rows = [
                (round(float(x), 3), round(float(y), 3), int(seed))
                for x, y, seed, tie in zip(
                    sweep.fixed, sweep.rolling, sweep.seed, ties, strict=True
                )
                if tie is wanted
            ]
            chart.replace(source, _columns(("x", "y", "seed"), rows))
        chart.replace("line", {"x": [0, top], "y": [0, top]})
        chart.replace(
            "names",
            {"x": [top * 0.04], "y": [top * 0.95], "label": [f"ties: {sum(ties)} of {len(ties)}"]},
        )
        _mark_mine(chart, found.mine, top)


def _mark_mine(chart: Chart, mine: LatencySweep, top: float) -> None:
    fixed, rolling = float(mine.fixed[0]), float(mine.rolling[0])
    label = f"seed {int(mine.seed[0]):,}: {significant(fixed)} and {significant(rolling)}"
    chart.replace("mine", {"x": [fixed], "y": [rolling]})
    # The label ends at the right edge, clear of the dots wherever the seed's own dot is.
    chart.replace("mine_name", {"x": [top * 0.98], "y": [top * 0.06], "label": [label]})


_CELL_COLUMNS = ("x", "y", "mark", "claim", "fault", "verdict")
_CELL_TIPS = [("claim", "@claim"), ("fault", "@fault"), ("", "@verdict")]


def _build_claims() -> Chart:
    chart = Chart(
        "claims",
        x_label="",
        y_label="",
        x_range=(-0.6, PER_LINE - 0.4),
        y_range=(_LINES - 0.4, -0.6),
        height=CLAIMS_HEIGHT,
    )
    chart.ticks(x=[], y=[])
    chart.figure.ygrid.visible = False
    chart.figure.min_border_left = 6
    chart.figure.min_border_right = 6
    for source in ("held", "failed"):
        chart.source(source, _CLAIM_COLUMNS)
    chart.source("groups", ["x", "y", "label"])
    _tiles(chart, "held", None, _CLAIM_TIPS)
    _tiles(chart, "failed", "alarm", _CLAIM_TIPS)
    _marks(chart, "held", "soft")
    _marks(chart, "failed", "card")
    chart.labels("groups", "x", "y", "label", bold=True, fixed=True)
    return chart


def _build_matrix() -> Chart:
    chart = Chart(
        "sabotage",
        x_label="",
        y_label="",
        x_range=(-0.5, len(FAULTS) - 0.5),
        y_range=(_ROWS - 0.5, -0.5),
        height=MATRIX_HEIGHT,
    )
    claims = {y: row.text for y, row in enumerate(MATRIX_ROWS) if row.claims}
    chart.ticks(x=range(len(FAULTS)), y=list(claims))
    above, left = chart.figure.xaxis[0], chart.figure.yaxis[0]
    chart.figure.below.remove(above)
    chart.figure.above.append(above)
    above.major_label_overrides = {x: fault.name for x, fault in enumerate(FAULTS)}
    above.major_label_orientation = "vertical"
    left.major_label_overrides = claims
    for axis in (above, left):
        axis.axis_line_color = None
        axis.major_tick_out = 0
    chart.figure.ygrid.visible = False
    for source in ("caught", "missed"):
        chart.source(source, _CELL_COLUMNS)
    chart.source("groups", ["x", "y", "label"])
    chart.source("on", ["left", "right", "bottom", "top"])
    chart.bars("on", "line")
    _tiles(chart, "missed", None, _CELL_TIPS)
    _tiles(chart, "caught", "alarm", _CELL_TIPS)
    _marks(chart, "missed", "soft")
    _marks(chart, "caught", "card")
    chart.labels("groups", "x", "y", "label", bold=True, fixed=True)
    return chart


def _build_sweep() -> Chart:
    chart = Chart(
        "latencies",
        x_label="static: mean latency in steps",
        y_label="continuous: mean latency in steps",
        x_range=(0, 200),
        y_range=(0, 200),
        height=SWEEP_HEIGHT,
    )
    for source in ("seeds", "ties"):
        chart.source(source, ["x", "y", "seed"])
    for source in ("line", "mine"):
        chart.source(source, ["x", "y"])
    for source in ("names", "mine_name"):
        chart.source(source, ["x", "y", "label"])
    chart.line("line", "x", "y", "soft", dash="dashed")
    chart.mark("seeds", "x", "y", "idle", size=3)
    chart.mark("ties", "x", "y", "ink", shape="x", size=7)
    chart.mark("mine", "x", "y", "ink", size=15, filled=False)
    chart.labels("names", "x", "y", "label", bold=True, fixed=True)
    chart.labels("mine_name", "x", "y", "label", bold=True, align="right", fixed=True)
    return chart


def _tiles(chart: Chart, source: str, role: str | None, tips: list[tuple[str, str]]) -> None:
    """Rectangles to point at, filled in a role or not drawn at all."""
    glyph = Rect(
        x="x", y="y", width=0.92, height=0.86, line_color=None, fill_alpha=float(bool(role))
    )
    renderer = chart._add(source, glyph)
    chart.paint(glyph, "fill_color", role or "card")
    chart.figure.add_tools(HoverTool(tooltips=tips, visible=False, renderers=[renderer]))


def _marks(chart: Chart, source: str, role: str) -> None:
    """The signs ✓, ✗ and · in the middle of their tiles."""
    glyph = Text(
        x="x",
        y="y",
        text="mark",
        text_align="center",
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size=value(LABEL_SIZE),
        text_font_style="bold" if role == "card" else "normal",
    )
    chart._add(source, glyph)
    chart.paint(glyph, "text_color", role)


def _columns(names: tuple[str, ...], rows: list[Any]) -> dict[str, Any]:
    return (
        dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    )
