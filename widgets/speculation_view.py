"""Section 6's three charts: speedup against γ, against batch, and acceptance by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.published_speedups import PUBLISHED_SPEEDUPS
from core.units import significant
from widgets.base import SectionResult
from widgets.figures import Chart, nice_ceiling
from widgets.section import SectionView
from widgets.speculation_result import BATCHES, GAMMAS, MAX_BATCH, Picture
from widgets.speculation_sources import ERRORS_SHOWN, SIMULATION, TEXT, Dots
from widgets.speculation_text import MAX_GAMMA

# Room to the right of the last γ and the last position for labels.
_GAMMA_RANGE = (-0.6, MAX_GAMMA + 4.4)
_BATCH_RANGE = (0.9, 1.75 * MAX_BATCH)
# Where the name of the present choice may stand without leaving the chart.
_GAMMA_NAME_SPAN, _BATCH_NAME_SPAN = (1.6, 14.0), (3.0, 260.0)
_GAMMA_TICKS = [0, 4, 8, 12, 16]
_BATCH_TICKS = [1, 4, 16, 64, 256, 1_024]
# An axis that moves makes a chart lay itself out anew, so axes move in few and large steps.
_LEAST_TOP = 4.0
_POSITIONS_SHOWN = (6, 11, 16, 32, 64, 128, 256, 512, 1_000)
# Names one above the other keep this share of the axis apart: a line of text.
_LINE_OF_TEXT = 0.068
_DASHES = {"EAGLE": "dotted", "EAGLE-3": "solid"}


class SpeculationView(SectionView):
    """Lines by formula, dots from simulation, diamonds from text and from published runs."""

    def build_charts(self) -> list[Chart]:
        return [self._build_gamma(), self._build_batch(), self._build_acceptance()]

    def _build_gamma(self) -> Chart:
        chart = Chart(
            "speedup-gamma",
            x_label="γ, draft tokens a pass",
            y_label="times as fast",
            x_range=_GAMMA_RANGE,
            y_range=(0, _LEAST_TOP),
        )
        chart.ticks(x=_GAMMA_TICKS)
        _level(chart, *_GAMMA_RANGE)
        chart.source("line", ["gamma", "formula"])
        chart.source("fitted", ["x", "y"])
        chart.source("names", ["x", "y", "label"])
        chart.line("fitted", "x", "y", "soft", width=2, dash="dashed")
        chart.line("line", "gamma", "formula", "ink", width=2.5)
        _measured_glyphs(chart)
        chart.labels("names", "x", "y", "label", role="soft", align="left", dx=7)
        _choice_glyphs(chart)
        return chart

    def _build_batch(self) -> Chart:
        chart = Chart(
            "speedup-batch",
            x_label="batch, sequences",
            y_label="times as fast",
            x_range=_BATCH_RANGE,
            y_range=(0, _LEAST_TOP),
            x_log=True,
        )
        chart.ticks(x=_BATCH_TICKS)
        chart.source("unfit", ["left", "right", "bottom", "top"])
        chart.bars("unfit", "idle", hatch="/", alpha=0.35)
        _level(chart, *_BATCH_RANGE)
        self._add_published(chart)
        chart.source("line", ["batch", "speedup"])
        chart.source("names", ["x", "y", "label"])
        chart.line("line", "batch", "speedup", "ink", width=2.5)
        chart.labels("names", "x", "y", "label", role="soft", align="left", dx=6)
        chart.source("unfit_name", ["x", "y", "label"])
        chart.labels("unfit_name", "x", "y", "label", role="soft", align="right", dx=-6)
        _choice_glyphs(chart)
        return chart

    def _add_published(self, chart: Chart) -> None:
        """The measured curves, which never change: their sources are filled here and now."""
        x: list[float] = []
        y: dict[str, list[float]] = {method: [] for method in _DASHES}
        for curve in PUBLISHED_SPEEDUPS:
            # A row without a value ends the line between one curve and the next.
            x += [*curve.batch, curve.batch[-1]]
            for method, column in y.items():
                known = curve.throughput_ratio if method == curve.method else ()
                column += [*known, *[np.nan] * (len(curve.batch) + 1 - len(known))]
        every = np.where(np.isnan(y["EAGLE"]), y["EAGLE-3"], y["EAGLE"])
        chart.source("published", ["x", "y", *y])
        chart.replace("published", {"x": x, "y": every, **y})
        for method, dash in _DASHES.items():
            chart.line("published", "x", method, "soft", width=1.5, dash=dash)
        chart.mark("published", "x", "y", "soft", shape="diamond", size=8)

    def _build_acceptance(self) -> Chart:
        chart = Chart(
            "acceptance",
            x_label="position in the draft",
            y_label="share kept",
            x_range=(0.5, 7.4),
            y_range=(0, 1.05),
            height=240,
        )
        chart.source("line", ["x", "y", "label"])
        chart.line("line", "x", "y", "ink", width=2.5)
        _measured_glyphs(chart)
        chart.labels("line", "x", "y", "label", role="soft", align="right", dy=11)
        return chart

    def render(self, result: SectionResult) -> None:
        picture: Picture = result.data
        self._render_gamma(picture)
        self._render_batch(picture)
        self._render_acceptance(picture)

    def _render_gamma(self, picture: Picture) -> None:
        chart, settings = self.chart("speedup-gamma"), picture.settings
        fitted, dots = picture.fitted, picture.dots
        highest = [picture.formula.max(), picture.speedup]
        if fitted is not None:
            highest.append(fitted.y.max(initial=0))
        if dots is not None:
            highest.append((dots.y + ERRORS_SHOWN * dots.error).max(initial=0))
        top = _top(max(highest))
        chart.set_range("y", 0, top)
        chart.replace("line", {"gamma": GAMMAS, "formula": picture.formula})
        chart.replace("fitted", {"x": (), "y": ()} if fitted is None else _points(fitted))
        _show_measured(chart, dots, settings.source)
        names = [(GAMMAS[-1], float(picture.formula[-1]), f"α {settings.alpha:g}")]
        if fitted is not None and fitted.x.size:
            names.append((GAMMAS[-1], float(fitted.y[-1]), f"α {picture.drafting.alpha:.2f}"))
        chart.replace("names", _labelled(_apart(names, top)))
        here = "adaptive" if settings.adaptive else f"γ {settings.gamma}"
        label = f"{here}: {significant(picture.speedup)}×"
        at = min(picture.drafting.mean_length, MAX_GAMMA) if settings.adaptive else settings.gamma
        _show_choice(chart, at, picture.speedup, top, label, _GAMMA_NAME_SPAN)

    def _render_batch(self, picture: Picture) -> None:
        chart, settings, curve = self.chart("speedup-batch"), picture.settings, picture.curve
        top = _top(max(curve.speedup.max(), picture.batch_speedup))
        chart.set_range("y", 0, top)
        chart.replace("line", {"batch": BATCHES, "speedup": curve.speedup})
        unfit = curve.capacity < MAX_BATCH
        left = max(_BATCH_RANGE[0], curve.capacity)
        shade = {"left": [left], "right": [_BATCH_RANGE[1]], "bottom": [0], "top": [top]}
        chart.replace("unfit", shade if unfit else dict.fromkeys(shade, ()))
        names = [
            (c.batch[-1], c.throughput_ratio[-1], f"{c.method} {c.server.split(' ')[0]}")
            for c in PUBLISHED_SPEEDUPS
        ]
        chart.replace("names", _labelled(_apart(names, top)))
        corner = [(_BATCH_RANGE[1], 0.05 * top, "does not fit")] if unfit else []
        chart.replace("unfit_name", _labelled(corner))
        label = f"batch {settings.batch:,}: {significant(picture.batch_speedup)}×"
        _show_choice(chart, settings.batch, picture.batch_speedup, top, label, _BATCH_NAME_SPAN)

    def _render_acceptance(self, picture: Picture) -> None:
        chart, settings, found = self.chart("acceptance"), picture.settings, picture.positions
        last = settings.gamma if found is None else int(found.x.max(initial=0))
        end = 0.5 + 1.15 * next(room for room in _POSITIONS_SHOWN if room >= last)
        level = picture.drafting.alpha if settings.source == TEXT else settings.alpha
        chart.set_range("x", 0.5, end)
        name = "" if np.isnan(level) else f"α {level:.2f}"
        chart.replace("line", {"x": [0.5, end], "y": [level, level], "label": ["", name]})
        _show_measured(chart, found, settings.source)


def _level(chart: Chart, left: float, right: float) -> None:
    """The line at 1.0, below which drafting loses; it never changes."""
    chart.source("level", ["x", "y", "label"])
    chart.replace("level", {"x": [left, right], "y": [1.0, 1.0], "label": ["no gain", ""]})
    chart.line("level", "x", "y", "alarm", width=1.5, dash="dashed")
    chart.labels("level", "x", "y", "label", role="alarm", align="left", dx=4, dy=-10)


def _measured_glyphs(chart: Chart) -> None:
    """Dots for simulation, diamonds for text, each with its bar of two standard errors."""
    for name, shape, size in (("dots", "circle", 7), ("text", "diamond", 11)):
        chart.source(name, ["x", "y", "low", "high"])
        chart.segments(name, "x", "low", "x", "high", "decode", width=2)
        chart.mark(name, "x", "y", "decode", shape=shape, size=size)


def _choice_glyphs(chart: Chart) -> None:
    """The present choice: a ring, and its number on a stem above everything else."""
    chart.source("now", ["x", "y", "stem", "name_x", "name_y", "label"])
    chart.segments("now", "x", "y", "x", "stem", "decode", width=1.5)
    chart.mark("now", "x", "y", "decode", filled=False)
    chart.labels("now", "name_x", "name_y", "label", bold=True, align="center")


def _show_choice(
    chart: Chart, x: float, y: float, top: float, label: str, span: tuple[float, float]
) -> None:
    place = {"stem": [0.9 * top], "name_x": [min(max(x, span[0]), span[1])]}
    chart.replace("now", {"x": [x], "y": [y], **place, "name_y": [0.95 * top], "label": [label]})


def _show_measured(chart: Chart, found: Dots | None, source: str) -> None:
    empty: dict[str, Any] = {"x": (), "y": (), "low": (), "high": ()}
    shown = empty
    if found is not None:
        reach = ERRORS_SHOWN * found.error
        shown = {"x": found.x, "y": found.y, "low": found.y - reach, "high": found.y + reach}
    chart.replace("dots", shown if source == SIMULATION else empty)
    chart.replace("text", shown if source == TEXT else empty)


def _apart(names: list[tuple[Any, float, str]], top: float) -> list[tuple[Any, ...]]:
    """The same names from the lowest up, moved just so far that none covers another."""
    rows = sorted(names, key=lambda row: row[1])
    gap = _LINE_OF_TEXT * top
    heights = [rows[0][1]]
    for _, height, _ in rows[1:]:
        heights.append(max(height, heights[-1] + gap))
    # What was pushed up is shared out, so that the group stays centred on its lines.
    shift = float(np.mean([h - row[1] for h, row in zip(heights, rows, strict=True)]))
    # The lowest line of the chart is kept for “does not fit”.
    down = min(shift, max(0.0, heights[0] - 1.8 * gap))
    return [(x, h - down, name) for (x, _, name), h in zip(rows, heights, strict=True)]


def _points(found: Dots) -> dict[str, Any]:
    return {"x": found.x, "y": found.y}


def _labelled(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    x, y, label = zip(*rows, strict=True) if rows else ((), (), ())
    return {"x": [float(v) for v in x], "y": [float(v) for v in y], "label": label}


def _top(highest: float) -> float:
    return max(_LEAST_TOP, nice_ceiling(highest * 1.15))
