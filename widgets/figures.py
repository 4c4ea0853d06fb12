"""Every chart of the page is built here: one persistent Bokeh figure with theme-aware glyphs.

A `Chart` is made once; afterwards only its sources' data, its ranges and (on a change of theme)
its colours are replaced. Glyphs name roles of `theme.py`, never colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    FixedTicker,
    Glyph,
    GlyphRenderer,
    HoverTool,
    LabelSet,
    Line,
    LogTicker,
    Model,
    NumeralTickFormatter,
    Quad,
    Range1d,
    Scatter,
    Segment,
)
from bokeh.plotting import figure

from widgets import theme

FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
LABEL_SIZE = "13px"


class Chart:
    """One figure, its named sources, and the roles its colours follow."""

    def __init__(
        self,
        name: str,
        *,
        x_label: str,
        y_label: str,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        x_log: bool = False,
        y_log: bool = False,
        height: int = 300,
    ) -> None:
        self.name = name
        self.sources: dict[str, ColumnDataSource] = {}
        self._painted: list[tuple[Model, str, str | tuple[str, ...]]] = []
        self.figure = figure(
            name=name,
            height=height,
            sizing_mode="stretch_width",
            toolbar_location=None,
            tools="",
            x_axis_type="log" if x_log else "linear",
            y_axis_type="log" if y_log else "linear",
            x_range=Range1d(*x_range),
            y_range=Range1d(*y_range),
            background_fill_color=None,
            border_fill_color=None,
            outline_line_color=None,
            min_border_left=52,
            min_border_right=14,
            min_border_top=8,
            output_backend="canvas",
            lod_threshold=None,
        )
        self._style_axes(x_label, y_label, x_log, y_log)

    def _style_axes(self, x_label: str, y_label: str, x_log: bool, y_log: bool) -> None:
        plot = self.figure
        plot.xgrid.grid_line_color = None
        plot.ygrid.grid_line_width = 1
        self.paint(plot.ygrid[0], "grid_line_color", "line")
        axes = ((plot.xaxis[0], x_label, x_log), (plot.yaxis[0], y_label, y_log))
        for axis, label, log in axes:
            axis.axis_label = label
            axis.axis_label_text_font = axis.major_label_text_font = FONT
            axis.axis_label_text_font_size = axis.major_label_text_font_size = LABEL_SIZE
            axis.axis_label_text_font_style = "normal"
            axis.minor_tick_line_color = None
            axis.major_tick_in = 0
            axis.major_tick_out = 4
            axis.ticker = (
                LogTicker(desired_num_ticks=5) if log else BasicTicker(desired_num_ticks=5)
            )
            axis.formatter = NumeralTickFormatter(format="0,0.[000]")
            for attribute in ("axis_line_color", "major_tick_line_color"):
                self.paint(axis, attribute, "line")
            for attribute in ("axis_label_text_color", "major_label_text_color"):
                self.paint(axis, attribute, "soft")

    def paint(self, model: Model, attribute: str, role: str | tuple[str, ...]) -> None:
        """Give `attribute` of `model` the colour of a role, now and on each change of theme.

        Several roles give a list of colours: a mapper's palette.
        """
        self._painted.append((model, attribute, role))
        setattr(model, attribute, _colours(role, "light"))

    def apply_theme(self, name: theme.Theme) -> None:
        """Repaint in another theme."""
        for model, attribute, role in self._painted:
            setattr(model, attribute, _colours(role, name))

    def source(self, name: str, columns: Sequence[str]) -> ColumnDataSource:
        """A named source with empty columns."""
        self.sources[name] = ColumnDataSource(
            {column: [] for column in columns}, name=f"{self.name}.{name}"
        )
        return self.sources[name]

    def _add(self, source: str, glyph: Glyph) -> GlyphRenderer:
        """Draw a glyph from a source.

        The shorthand methods of a figure make three more glyphs for selections, which nobody
        makes here; without them the page opens sooner.
        """
        return self.figure.add_glyph(self.sources[source], glyph)

    def line(
        self,
        source: str,
        x: str,
        y: str,
        role: str,
        *,
        width: float = 2,
        dash: str = "solid",
        alpha: float = 1.0,
    ) -> None:
        """A line through the columns x and y of a source."""
        glyph = Line(x=x, y=y, line_width=width, line_dash=dash, line_alpha=alpha)
        self._add(source, glyph)
        self.paint(glyph, "line_color", role)

    def mark(
        self,
        source: str,
        x: str,
        y: str,
        role: str,
        *,
        shape: str = "circle",
        size: float = 14,
        filled: bool = True,
    ) -> None:
        """Markers; circles stand for decode, squares (hatched) for prefill."""
        glyph = Scatter(x=x, y=y, marker=shape, size=size, line_width=3)
        self._add(source, glyph)
        self.paint(glyph, "line_color", role)
        self.paint(glyph, "fill_color", role if filled else "card")
        if shape == "square":
            glyph.hatch_pattern = "/"
            glyph.hatch_scale = 6
            self.paint(glyph, "hatch_color", "card")

    def bars(
        self,
        source: str,
        role: str,
        *,
        left: str = "left",
        right: str = "right",
        bottom: str = "bottom",
        top: str = "top",
        hatch: str | None = None,
        alpha: float = 1.0,
    ) -> None:
        """Rectangles between four columns of a source."""
        glyph = Quad(left=left, right=right, bottom=bottom, top=top, fill_alpha=alpha)
        self._add(source, glyph)
        self.paint(glyph, "fill_color", role)
        self.paint(glyph, "line_color", "card")
        if hatch:
            glyph.hatch_pattern = hatch
            glyph.hatch_alpha = 0.6
            self.paint(glyph, "hatch_color", "card")

    def segments(
        self, source: str, x0: str, y0: str, x1: str, y1: str, role: str, *, width: float = 1
    ) -> None:
        """Straight strokes, one per row."""
        glyph = Segment(x0=x0, y0=y0, x1=x1, y1=y1, line_width=width)
        self._add(source, glyph)
        self.paint(glyph, "line_color", role)

    def labels(
        self,
        source: str,
        x: str,
        y: str,
        text: str,
        *,
        role: str = "ink",
        bold: bool = False,
        align: str = "left",
        dx: float | str = 0,
        dy: float | str = 0,
        fixed: bool = False,
    ) -> None:
        """Direct labels, one per row of a source; `dx` and `dy` in pixels, or columns of them.

        A label has the card behind it, so that a line which crosses it leaves it legible, and the
        page moves it into the chart and off other labels (static/charts.js). One that names a row
        or a tile is `fixed`: it has neither.
        """
        labels = LabelSet(
            x=x,
            y=y,
            text=text,
            source=self.sources[source],
            x_offset=dx,
            y_offset=dy,
            text_align=align,
            text_baseline="middle",
            text_font=value(FONT),
            text_font_size=LABEL_SIZE,
            text_font_style="bold" if bold else "normal",
        )
        self.paint(labels, "text_color", role)
        if not fixed:
            labels.tags = ["free"]
            labels.background_fill_alpha = 0.8
            self.paint(labels, "background_fill_color", "card")
        self.figure.add_layout(labels)

    def hover(self, tooltips: Sequence[tuple[str, str]]) -> None:
        """A tooltip that follows the pointer along the chart's glyphs."""
        self.figure.add_tools(HoverTool(tooltips=list(tooltips), visible=False))

    def ticks(self, *, x: Sequence[float] | None = None, y: Sequence[float] | None = None) -> None:
        """Fixed tick positions for one or both axes; an empty sequence hides the axis."""
        for axis, positions in ((self.figure.xaxis[0], x), (self.figure.yaxis[0], y)):
            if positions is not None:
                axis.ticker = FixedTicker(ticks=list(positions))
                axis.visible = bool(positions)

    def replace(self, source: str, columns: Mapping[str, Any]) -> None:
        """Put new columns into a source; nothing is sent where they are what it holds.

        Short columns travel as plain lists inside the one patch; numpy arrays would each take
        websocket frames of their own.
        """
        fresh = {
            name: column.tolist() if isinstance(column, np.ndarray) else list(column)
            for name, column in columns.items()
        }
        if self.sources[source].data != fresh:
            self.sources[source].data = fresh

    def again(self) -> None:
        """Send all that moves once more, changed or not."""
        for source in self.sources.values():
            source.trigger("data", source.data, source.data)
        for span in (self.figure.x_range, self.figure.y_range):
            for end in ("start", "end"):
                span.trigger(end, getattr(span, end), getattr(span, end))

    def set_range(self, axis: str, start: float, end: float) -> None:
        """Move an axis; nothing is sent where it already stands there."""
        span = self.figure.x_range if axis == "x" else self.figure.y_range
        if (span.start, span.end) != (start, end):
            span.update(start=start, end=end)


def _colours(role: str | tuple[str, ...], name: theme.Theme) -> str | list[str]:
    if isinstance(role, str):
        return theme.colour(role, name)
    return [theme.colour(one, name) for one in role]


def nice_ceiling(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 5, 7.5 times a power of ten, so that an axis seldom moves."""
    if not np.isfinite(value) or value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1, 1.5, 2, 3, 5, 7.5, 10]) * power
    return float(steps[np.searchsorted(steps, value * (1 - 1e-12))])
