"""Section 8's three charts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.devices import DEVICES
from core.measured_bands import A100_KERNELS, BANDS, LEFT_OUT
from core.models import MODELS
from core.scenario import Scenario
from core.units import quantity
from widgets.base import SectionResult
from widgets.caveats_readouts import times
from widgets.caveats_run import BATCHES, Figures
from widgets.figures import Chart, nice_ceiling
from widgets.section import SectionView

_HEADINGS = {
    "matmul": "best matrix product",
    "linear": "linear layers, by tokens",
    "attention": "decode attention, by cache",
    "batch": "70B served, by batch",
    "devices": "70B served, by devices",
    "load": "maximum load, by model",
}
_LEFT_OUT_SHORT = ("A100, attention", "L40S, attention", "70B served, cache too large")
_PITCH = 18


@dataclass(frozen=True, slots=True)
class Rows:
    """Where everything stands in the chart of bands; y counts rows from the bottom."""

    headings: dict[str, list[object]]
    bars: dict[str, list[object]]
    left: dict[str, list[object]]
    count: int


def _rows() -> Rows:
    lines: list[tuple[str, object]] = []
    for kind, words in _HEADINGS.items():
        lines.append(("heading", words))
        lines += [("band", band) for band in BANDS if band.kind == kind]
    lines.append(("heading", "left out: below the floor"))
    lines += [("left", pair) for pair in zip(LEFT_OUT, _LEFT_OUT_SHORT, strict=True)]
    headings: dict[str, list[object]] = {"x": [], "y": [], "label": []}
    bars: dict[str, list[object]] = {
        key: [] for key in ("left", "right", "bottom", "top", "x", "y", "label")
    }
    left: dict[str, list[object]] = {"x": [], "y": [], "at": [], "label": []}
    for i, (kind, what) in enumerate(lines):
        y = float(len(lines) - i)
        if kind == "heading":
            row, values = headings, {"x": 1.0, "y": y, "label": what}
        elif kind == "band":
            row = bars
            values = {
                "left": what.p10,
                "right": what.p90,
                "bottom": y - 0.3,
                "top": y + 0.3,
                "x": what.p50,
                "y": y,
                "label": what.label,
            }
        else:
            out, words = what
            row, values = left, {"x": out.ratio, "y": y, "at": 1.0, "label": words}
        for key, value in values.items():
            row[key].append(value)
    return Rows(headings, bars, left, len(lines))


ROWS = _rows()
CHART_HEIGHT = 70 + _PITCH * (ROWS.count + 2)


class CaveatsView(SectionView):
    """The bands, the scenario's own step among them, and the two histograms."""

    def build_charts(self) -> list[Chart]:
        return [self._build_own(), self._build_channel(), self._build_bands()]

    def _build_bands(self) -> Chart:
        chart = Chart(
            "bands",
            x_label="measured time over the floor",
            y_label="",
            x_range=(0.35, 900),
            y_range=(0, ROWS.count + 1.8),
            x_log=True,
            height=CHART_HEIGHT,
        )
        chart.figure.ygrid[0].visible = False
        chart.ticks(x=[0.5, 1, 2, 5, 10, 20, 50, 100], y=[])
        chart.source("floor", ["x", "y"])
        chart.source("own", ["x", "y"])
        chart.source("bars", list(ROWS.bars))
        chart.source("left", list(ROWS.left))
        chart.source("headings", list(ROWS.headings))
        chart.source("names", ["x", "y", "label"])
        chart.line("floor", "x", "y", "ink", width=1.5)
        chart.bars("bars", "idle")
        chart.line("own", "x", "y", "decode", width=2.5, dash="dashed")
        chart.mark("bars", "x", "y", "ink", shape="diamond", size=9)
        chart.mark("left", "x", "y", "soft", shape="x", size=9)
        chart.labels("headings", "x", "y", "label", bold=True, dx=5, fixed=True)
        chart.labels("bars", "right", "y", "label", role="soft", dx=9, fixed=True)
        chart.labels("left", "at", "y", "label", role="soft", dx=5, fixed=True)
        chart.labels("names", "x", "y", "label", bold=True, dx=5, fixed=True)
        return chart

    def _build_own(self) -> Chart:
        chart = Chart(
            "own-band",
            x_label="decode batch",
            y_label="ms a step",
            x_range=(0, 256),
            y_range=(0, 50),
        )
        chart.source("band", ["left", "right", "bottom", "top"])
        chart.source("lines", ["batch", "floor", "middle", "own"])
        chart.source("marks", ["x", "y", "label"])
        chart.source("kernels", ["x", "y", "label"])
        chart.source("names", ["x", "y", "label"])
        chart.bars("band", "idle", hatch="/", alpha=0.25)
        chart.line("lines", "batch", "middle", "soft", width=1.5, dash="dotted")
        chart.line("lines", "batch", "floor", "ink", width=1.5)
        chart.line("lines", "batch", "own", "decode", width=2.5, dash="dashed")
        chart.mark("marks", "x", "y", "decode", filled=False)
        chart.mark("kernels", "x", "y", "ink", shape="diamond", size=12)
        chart.labels("marks", "x", "y", "label", bold=True, dx=12, dy=-12)
        chart.labels("kernels", "x", "y", "label", role="ink", dx=12, dy=10)
        chart.labels("names", "x", "y", "label", role="soft", align="right", dx=-4, dy=10)
        return chart

    def _build_channel(self) -> Chart:
        chart = Chart(
            "side-channel",
            x_label="time to first token, ms",
            y_label="% of requests in a bin",
            x_range=(0, 500),
            y_range=(0, 20),
        )
        chart.source("miss", ["left", "right", "bottom", "top"])
        chart.source("hit", ["x", "y"])
        chart.source("threshold", ["x", "y"])
        chart.source("names", ["x", "y", "label"])
        chart.source("line_name", ["x", "y", "label"])
        chart.bars("miss", "prefill", hatch="/", alpha=0.7)
        chart.line("hit", "x", "y", "ink", width=2.5)
        chart.line("threshold", "x", "y", "soft", width=2, dash="dashed")
        chart.labels("names", "x", "y", "label", bold=True, dx=6, dy=10)
        chart.labels("line_name", "x", "y", "label", role="soft", dx=6, dy=-10)
        return chart

    def render(self, result: SectionResult) -> None:
        found: Figures = result.data
        self._render_bands(found)
        self._render_own(found)
        self._render_channel(found)

    def _render_bands(self, found: Figures) -> None:
        chart, top = self.chart("bands"), ROWS.count + 0.7
        own = found.above_floor
        for name in ("bars", "left", "headings"):
            chart.replace(name, getattr(ROWS, name))
        chart.replace("floor", {"x": [1, 1], "y": [0, top]})
        chart.replace("own", {"x": [own, own], "y": [0, top]})
        chart.replace(
            "names",
            {"x": [own], "y": [top + 0.4], "label": [f"this page: {times(own)}×"]},
        )

    def _render_own(self, found: Figures) -> None:
        chart, batch, band = self.chart("own-band"), found.settings.batch, found.band
        end = 256 if batch <= 256 else 512
        floor, own = found.floor_sweep.time_s * 1e3, found.sweep.time_s * 1e3
        seen = end >= BATCHES
        highest = max(floor[seen].max() * band.p90, own[seen].max())
        chart.set_range("x", 0, end)
        chart.set_range("y", 0, nice_ceiling(highest * 1.05))
        middle = (BATCHES[1:] + BATCHES[:-1]) / 2
        chart.replace(
            "band",
            {
                "left": BATCHES[:-1],
                "right": BATCHES[1:],
                "bottom": np.interp(middle, BATCHES, floor) * band.p10,
                "top": np.interp(middle, BATCHES, floor) * band.p90,
            },
        )
        chart.replace(
            "lines",
            {"batch": BATCHES, "floor": floor, "middle": floor * band.p50, "own": own},
        )
        step = float(found.decode.time_s)
        chart.replace("marks", {"x": [batch], "y": [step * 1e3], "label": [quantity(step, "s")]})
        kernels = _is_the_example(found.scenario)
        measured = A100_KERNELS.decode_s
        chart.replace(
            "kernels",
            {
                "x": [32],
                "y": [measured * 1e3],
                "label": [f"measured kernels {quantity(measured, 's')}"],
            }
            if kernels
            else {"x": [], "y": [], "label": []},
        )
        at = int(np.searchsorted(BATCHES, 0.98 * end))
        chart.replace(
            "names",
            {
                "x": [BATCHES[at]] * 2,
                "y": [floor[at] * band.p50, floor[at]],
                "label": ["served, middle", "floor"],
            },
        )

    def _render_channel(self, found: Figures) -> None:
        chart, shares, eye = self.chart("side-channel"), found.histogram, found.observer
        edges = shares.edge_s * 1e3
        hit, miss = 100 * shares.hit_share, 100 * shares.miss_share
        top = nice_ceiling(1.12 * max(hit.max(), miss.max()))
        chart.set_range("x", 0, nice_ceiling(float(edges[-1])))
        chart.set_range("y", 0, top)
        chart.replace(
            "miss",
            {"left": edges[:-1], "right": edges[1:], "bottom": [0] * miss.size, "top": miss},
        )
        chart.replace(
            "hit", {"x": np.repeat(edges, 2), "y": np.concatenate([[0], np.repeat(hit, 2), [0]])}
        )
        line = eye.threshold_s * 1e3
        shown = not found.settings.salted
        chart.replace(
            "threshold", {"x": [line, line], "y": [0, top]} if shown else {"x": [], "y": []}
        )
        chart.replace(
            "line_name",
            {"x": [line], "y": [top], "label": [f"line at {quantity(eye.threshold_s, 's')}"]}
            if shown
            else {"x": [], "y": [], "label": []},
        )
        high, other = int(hit.argmax()), int(miss.argmax())
        names = [(edges[high + 1], hit[high], "hit"), (edges[other + 1], miss[other], "miss")]
        if not shown:
            names = [(edges[other + 1], miss[other], "hit and miss alike")]
        x, y, label = zip(*names, strict=True)
        chart.replace("names", {"x": x, "y": y, "label": label})


def _is_the_example(scenario: Scenario) -> bool:
    """Whether the kernels were measured for this model and device, whatever the efficiencies."""
    return (
        scenario.model == MODELS["8B"]
        and scenario.device == DEVICES["A100"]
        and scenario.devices == 1
        and (scenario.weight_byte, scenario.cache_byte) == (2.0, 2.0)
    )
