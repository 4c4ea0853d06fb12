"""How the section is drawn: the pool's tiles in three charts over one source, and two more charts.

All tiles come from one source, so that pointing at a block in one chart marks it in all three.
"""

from __future__ import annotations

import math
from typing import Any

from bokeh.core.properties import field, value
from bokeh.models import CategoricalColorMapper, Glyph, HoverTool, LabelSet, Patches, Rect

from core.fragmentation import KWON_FIGURE_2
from core.units import counted, significant
from widgets.base import SectionResult
from widgets.figures import FONT, LABEL_SIZE, Chart
from widgets.paging_picture import (
    HALF,
    OWNERS,
    QUEUE_COLUMNS,
    QUEUE_COLUMNS_LARGE,
    Picture,
    Story,
)
from widgets.section import SectionView

RECALLED = ("Orca (Pow2)", "vLLM")
QUEUE_HEIGHT = 210

_OWNER_ROLES = tuple(f"owner{place}" for place in range(1, OWNERS + 1))
_LOOKS = ("free", "cached", *map(str, range(OWNERS)))
_FILLS = ("card", "idle", *_OWNER_ROLES)
_EDGES = ("idle", "soft", *_OWNER_ROLES)
_TOOLTIPS = [
    ("block", "@id"),
    ("held by", "@who"),
    ("holds", "@holds"),
    ("free queue", "@place"),
]
_TILE = ("id", "gx", "gy", "qx", "qy", "txs", "tys", "look", "width", "top", "bottom", "who")


class PagingView(SectionView):
    """Grid, tables and queue of the pool; memory reserved and paged; reuse of a trace."""

    def build_charts(self) -> list[Chart]:
        pool = self._build_pool()
        return [
            pool,
            self._build_tables(pool),
            self._build_queue(pool),
            _build_reserved(),
            _build_reuse(),
        ]

    def _build_pool(self) -> Chart:
        chart = _board("pool", 340)
        chart.source("blocks", [*_TILE, "holds", "place"])
        chart.source("tails", ["left", "right", "top", "bottom"])
        chart.source("now", ["x", "y"])
        chart.source("bars", ["left", "right", "top", "bottom"])
        chart.source("bar_names", ["x", "y", "text"])
        _tiles(chart, Rect(x="gx", y="gy", width=2 * HALF, height=2 * HALF))
        chart.bars("tails", "card", hatch="/", alpha=0.85)
        _hatch_in(chart, "tails", "idle")
        _now(chart)
        _text(chart, "blocks", "gx", "gy", "top", dy=9)
        _text(chart, "blocks", "gx", "gy", "bottom", dy=-9, bold=True)
        chart.bars("bars", "soft", alpha=0.45)
        chart.labels("bar_names", "x", "y", "text", bold=True, dy=-2, fixed=True)
        return chart

    def _build_tables(self, pool: Chart) -> Chart:
        chart = _board("tables", 340)
        chart.sources["blocks"] = pool.sources["blocks"]
        chart.source("entries", ["x", "y", "id"])
        chart.source("names", ["x", "y", "name"])
        chart.source("now", ["x", "y"])
        _tiles(chart, Patches(xs="txs", ys="tys"))
        _now(chart)
        _text(chart, "entries", "x", "y", "id")
        _text(chart, "names", "x", "y", "name", align="left", bold=True)
        return chart

    def _build_queue(self, pool: Chart) -> Chart:
        chart = _board("queue", QUEUE_HEIGHT)
        chart.sources["blocks"] = pool.sources["blocks"]
        chart.source("ends", ["x", "y", "dy", "text", "align"])
        chart.source("now", ["x", "y"])
        _tiles(chart, Rect(x="qx", y="qy", width=2 * HALF, height=2 * HALF))
        _now(chart)
        _text(chart, "blocks", "qx", "qy", "id")
        _text(chart, "ends", "x", "y", "text", align=field("align"), dy=field("dy"))
        return chart

    def _values(self) -> dict[str, Any]:
        """The controls' values; what the step says stays covered with the prediction."""
        values = super()._values()
        if not self.revealed:
            values["pool_step"]["said"] = ""
        return values

    def render(self, result: SectionResult) -> None:
        shown = result.data
        self._render_pool(shown.story, shown.picture)
        self._render_reserved(shown)
        self._render_reuse(shown)

    def _render_pool(self, story: Story, picture: Picture) -> None:
        pool, tables, queue = (self.chart(name) for name in ("pool", "tables", "queue"))
        large = not story.drawn
        pool.set_range("x", 0, 1 if large else picture.columns)
        pool.set_range("y", 4 if large else picture.rows, 0)
        tables.set_range("x", 0, story.table_columns + 1)
        tables.set_range("y", story.table_lines, 0)
        columns = QUEUE_COLUMNS_LARGE if large else QUEUE_COLUMNS
        lines = 3 if large else math.ceil(story.run.num_blocks / columns)
        queue.set_range("x", 0, columns)
        queue.set_range("y", lines + 0.95, -0.95)
        pool.replace("blocks", picture.blocks)
        pool.replace("tails", picture.tails)
        bars, bar_names = _count_bars(picture) if large else ((), ())
        pool.replace("bars", _table(("left", "right", "top", "bottom"), bars))
        pool.replace("bar_names", _table(("x", "y", "text"), bar_names))
        tables.replace("entries", picture.entries)
        tables.replace("names", picture.names)
        queue.replace("ends", picture.queue_ends)
        for chart in (pool, tables, queue):
            place = picture.now[chart.name]
            chart.replace("now", _table(("x", "y"), [place] if place else []))

    def _render_reserved(self, shown: Any) -> None:
        chart, fits = self.chart("reserved"), shown.fits
        ours = [
            (f"reserved {fits.reserve:,}", fits.reserved),
            ("blocks of 16", fits.sixteen),
            (f"blocks of {fits.block_size:,}, chosen", fits.paged),
        ]
        rows = [
            (
                f"{what}: {counted(int(fit.sequences), 'sequence')}",
                100 - float(fit.waste_percent),
                "",
            )
            for what, fit in ours
        ]
        rows += [
            (
                f"{measured.system}, {'recalled' if measured.system in RECALLED else 'measured'}",
                100 * measured.useful_fraction,
                "measured",
            )
            for measured in KWON_FIGURE_2
        ]
        for source in ("held", "measured"):
            kind = "" if source == "held" else source
            chart.replace(
                source,
                _table(
                    ("left", "right", "top", "bottom"),
                    [
                        (0, percent, line + 0.5, line + 0.92)
                        for line, (_, percent, which) in enumerate(rows)
                        if which == kind
                    ],
                ),
            )
        chart.replace(
            "waste",
            _table(
                ("left", "right", "top", "bottom"),
                [(row[1], 100, line + 0.5, line + 0.92) for line, row in enumerate(rows)],
            ),
        )
        chart.replace(
            "names",
            _table(
                ("x", "y", "text"),
                [
                    (0, line + 0.26, f"{what}, {significant(percent)} %")
                    for line, (what, percent, _) in enumerate(rows)
                ],
            ),
        )

    def _render_reuse(self, shown: Any) -> None:
        chart, reuse = self.chart("reuse"), shown.reuse
        curve = reuse.curve
        end = float(curve.capacity_block[-1])
        chart.set_range("x", 0.8, max(100.0, end * 1.3))
        percent = 100 * curve.token_hit_rate
        top = max(10.0, 10 * math.ceil(float(percent[-1]) / 10 + 0.8))
        chart.set_range("y", 0, min(105.0, top))
        chart.replace("curve", {"x": curve.capacity_block, "y": percent})
        chart.replace(
            "limit",
            _table(
                ("x", "y", "text"),
                [(0.9, float(percent[-1]), f"without bounds: {significant(float(percent[-1]))} %")],
            ),
        )
        marks = []
        if shown.capacity_block:
            x = min(float(shown.capacity_block), end)
            at_least = " or more" if shown.capacity_block > end else ""
            marks = [(x, shown.rate_percent, f"{significant(shown.rate_percent)} %{at_least}")]
        chart.replace("marks", _table(("x", "y", "text"), marks))


def _build_reserved() -> Chart:
    rows = 3 + len(KWON_FIGURE_2)
    chart = Chart(
        "reserved",
        x_label="of the memory taken, % that holds tokens",
        y_label="",
        x_range=(0, 100),
        y_range=(rows, 0),
        height=380,
    )
    chart.ticks(x=[0, 25, 50, 75, 100], y=[])
    chart.figure.min_border_left = 6
    for name in ("held", "measured", "waste"):
        chart.source(name, ["left", "right", "top", "bottom"])
    chart.source("names", ["x", "y", "text"])
    chart.bars("waste", "idle", alpha=0.35)
    chart.bars("held", "decode", hatch="/")
    chart.bars("measured", "soft")
    chart.labels("names", "x", "y", "text", fixed=True)
    return chart


def _build_reuse() -> Chart:
    chart = Chart(
        "reuse",
        x_label="cache, blocks of 512 tokens",
        y_label="% of prompt tokens found",
        x_range=(0.8, 10_000),
        y_range=(0, 100),
        x_log=True,
        height=380,
    )
    chart.source("curve", ["x", "y"])
    chart.source("limit", ["x", "y", "text"])
    chart.source("marks", ["x", "y", "text"])
    chart.line("curve", "x", "y", "ink", width=2.5)
    chart.mark("marks", "x", "y", "ink", filled=False)
    chart.labels("marks", "x", "y", "text", bold=True, align="right", dx=-12, dy=12)
    chart.labels("limit", "x", "y", "text", role="soft", dy=-2)
    return chart


def _board(name: str, height: int) -> Chart:
    """A chart without axes, for tiles in lines that run downwards."""
    chart = Chart(name, x_label="", y_label="", x_range=(0, 8), y_range=(8, 0), height=height)
    chart.ticks(x=[], y=[])
    chart.figure.ygrid.visible = False
    chart.figure.update(min_border_left=4, min_border_right=4)
    return chart


def _tiles(chart: Chart, glyph: Glyph) -> None:
    """The shared blocks as tiles: filled by who holds them, edged heavily where cached."""
    fill = CategoricalColorMapper(factors=list(_LOOKS))
    edge = CategoricalColorMapper(factors=list(_LOOKS))
    chart.paint(fill, "palette", _FILLS)
    chart.paint(edge, "palette", _EDGES)
    glyph.update(
        fill_color={"field": "look", "transform": fill},
        line_color={"field": "look", "transform": edge},
        line_width="width",
        fill_alpha=0.28,
    )
    pointed = glyph.clone()
    pointed.update(line_width=4, fill_alpha=0.5)
    chart.paint(pointed, "line_color", "focus")
    renderer = chart.figure.add_glyph(chart.sources["blocks"], glyph, hover_glyph=pointed)
    chart.figure.add_tools(HoverTool(tooltips=_TOOLTIPS, visible=False, renderers=[renderer]))


def _now(chart: Chart) -> None:
    """A frame around the block that the present event concerns."""
    frame = Rect(x="x", y="y", width=0.99, height=0.99, line_width=3, fill_color=None)
    chart.paint(frame, "line_color", "ink")
    chart.figure.add_glyph(chart.sources["now"], frame)


def _text(
    chart: Chart,
    source: str,
    x: str,
    y: str,
    text: str,
    *,
    align: Any = "center",
    dy: Any = 0,
    bold: bool = False,
) -> None:
    """Words on the tiles, where `align` and `dy` may be fields.

    Labels and not text glyphs: of a glyph the browser keeps six copies and measures them all.
    """
    labels = LabelSet(
        x=x,
        y=y,
        text=text,
        source=chart.sources[source],
        y_offset=dy,
        text_align=align,
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size=LABEL_SIZE,
        text_font_style="bold" if bold else "normal",
    )
    chart.paint(labels, "text_color", "ink")
    chart.figure.add_layout(labels)


def _hatch_in(chart: Chart, source: str, role: str) -> None:
    """Give the bars of a source a hatch in another colour."""
    for renderer in chart.figure.renderers:
        if renderer.data_source is chart.sources[source]:
            chart.paint(renderer.glyph, "hatch_color", role)


def _count_bars(picture: Picture) -> tuple[list[tuple[float, ...]], list[tuple[float, float, str]]]:
    """Counts of states as bars; lengths are logarithmic so that seven of 100,000 can be seen."""
    whole = math.log(len(picture.state.ref_counts) + 1)
    bars, names = [], []
    for line, (state, count) in enumerate(picture.counts.items()):
        if count:
            bars.append((0.0, math.log(count + 1) / whole, line + 0.5, line + 0.9))
        names.append((0.0, line + 0.3, f"{state}: {count:,}"))
    return bars, names


def _table(names: tuple[str, ...], rows: Any) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
