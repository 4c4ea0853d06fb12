"""The view of a section: its card, its charts, and the messages that pass between them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import panel as pn
from panel.viewable import Viewer

from core.units import exact, significant
from widgets.base import SectionModel, SectionResult
from widgets.card import Component
from widgets.figures import Chart
from widgets.jobs import JobRunner
from widgets.layout import Layout, refuse_locked
from widgets.present import card_class
from widgets.theme import Theme

log = logging.getLogger(__name__)

MAX_TABLE_ROWS = 200
UNEXPECTED = "Something went wrong on our side; nothing was changed. The server's log says what."


class SectionView(Viewer):
    """Figures are built once, when the section first comes near the viewport.

    Subclasses implement `build_charts` and `render`. `shared` is the session's scenario, for the
    controls that a section shows again; None where a section stands alone in a test. `query`
    gives the state of the scenario and this section, as a link carries it.
    """

    def __init__(
        self,
        model: SectionModel,
        shared: Any = None,
        theme: Theme = "light",
        layout: Layout | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.shared = shared
        self.theme = theme
        self.layout = layout or Layout()
        self.revealed = not self.layout.shows("prediction")
        self._charts: dict[str, Chart] = {}
        self._open: set[str] = set()
        self.on_change: Callable[[list[str]], None] = lambda _: None
        self.query: Callable[[], str] = lambda: ""
        self._prediction = model.prediction()
        model.runner = JobRunner(self._progress, self._job_done)
        # The boxes are there from the start and are filled later: a card whose own children
        # change would be drawn anew, and what the reader has opened would fall shut.
        self._boxes = [pn.Column(sizing_mode="stretch_width") for _ in model.charts]
        self.card = card_class(self.layout)(
            spec=self._spec(),
            state={
                "values": self._values(),
                "result": self._result(),
                "progress": {},
                "player": self._player(),
            },
            charts=list(self._boxes),
        )
        self.card.on_msg(lambda event: self.receive(event.data))
        model.param.watch(lambda _: self.show(), "result")

    def __panel__(self) -> Component:
        return self.card

    def build_charts(self) -> list[Chart]:
        """Make every chart of the section, with empty sources."""
        raise NotImplementedError

    def render(self, result: SectionResult) -> None:
        """Replace each source's data, once."""
        raise NotImplementedError

    def chart(self, name: str) -> Chart:
        """The chart of that name."""
        return self._charts[name]

    def build(self) -> None:
        """Build the charts, in the present theme, and put them on the card."""
        if self._charts:
            return
        self._charts = {chart.name: chart for chart in self.build_charts()}
        for chart in self._charts.values():
            chart.apply_theme(self.theme)
        self.render(self.model.result)
        for box, chart in zip(self._boxes, self._charts.values(), strict=True):
            box.append(pn.pane.Bokeh(chart.figure, sizing_mode="stretch_width"))

    def show(self) -> None:
        """Bring card and charts up to the model's present result."""
        with pn.io.hold():
            if self._charts:
                self.render(self.model.result)
            # A job that this result has overtaken leaves its bar behind; a new one shows its own.
            self.card.show(
                values=self._values(), result=self._result(), progress={}, player=self._player()
            )

    def show_values(self) -> None:
        """Bring the card's controls up to date where only the scenario's choices moved."""
        self.card.show(values=self._values())

    def again(self) -> None:
        """Send card and charts whole, for a page that was away."""
        self.card.again()
        for chart in self._charts.values():
            chart.again()

    def apply_theme(self, theme: Theme) -> None:
        """Repaint the charts."""
        self.theme = theme
        with pn.io.hold():
            for chart in self._charts.values():
                chart.apply_theme(theme)

    def receive(self, message: Any) -> None:
        """Carry out one message of the card; a refusal is shown and changes nothing."""
        handlers: Mapping[str, Callable[[Any], None]] = {
            "set": self._set,
            "preset": self._preset,
            "answer": self._answer,
            "open": self._set_open,
            "visible": self._set_visible,
            "file": self._take_file,
            "cancel": self._cancel,
            "table": self._send_table,
            "csv": self._send_csv,
            "snippet": lambda _: self.card.tell({"snippet": self.model.snippet()}),
            "embed": lambda _: self.card.tell({"embed": self.query()}),
        }
        if not isinstance(message, dict) or len(message) != 1:
            return
        ((kind, body),) = message.items()
        if kind not in handlers:
            return
        try:
            with pn.io.hold():
                handlers[kind](body)
        except ValueError as error:
            self.card.tell({"problem": str(error), "values": self._values()})
        except Exception:
            log.exception("section %s failed on %s", self.model.slug, kind)
            self.card.tell({"problem": UNEXPECTED, "values": self._values()})

    def _set(self, body: Any) -> None:
        if not isinstance(body, dict) or not body:
            raise ValueError("a change must name an input and its value")
        refuse_locked(self.layout.locked, body)
        mine = {k: v for k, v in body.items() if k in self.model.input_names()}
        others = {k: v for k, v in body.items() if k not in mine}
        if others and self.shared is None:
            raise ValueError(f"{', '.join(others)} is not an input of this section")
        self.model.check(mine)
        notes = self.shared.apply(others) if others else []
        self.model.apply(mine)
        self.on_change(notes)

    def _take_file(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise ValueError("a file comes with its key, name and text")
        key, name, text = (str(body.get(part, "")) for part in ("key", "name", "text"))
        if key not in {c.key for c in self.model.controls if c.kind == "file"}:
            raise ValueError(f"{name} cannot be used here")
        notes = self.model.take_file(key, name, text)
        self.model.refresh()
        self.on_change(notes)

    def _cancel(self, _: Any) -> None:
        self.model.runner(None)
        self.model.job_given_up()
        self.card.show(progress={})

    def _progress(self, fraction: float, text: str) -> None:
        self.card.show(progress={"fraction": round(fraction, 3), "text": text})

    def _job_done(self, outcome: SectionResult | ValueError | None) -> None:
        with pn.io.hold():
            self.card.show(progress={})
            if isinstance(outcome, SectionResult):
                self.model.job_done(outcome)
                return
            self.model.job_given_up()
            problem = UNEXPECTED if outcome is None else str(outcome)
            self.card.tell({"problem": problem, "values": self._values()})

    def _preset(self, name: Any) -> None:
        for preset in self.model.presets:
            if preset.name == name:
                self._set(dict(preset.values))

    def _answer(self, said: Any) -> None:
        self.revealed = True
        known = said if said in self._prediction.options else None
        self.card.tell({"verdict": self._prediction.verdict(known)})
        self.show()

    def _set_open(self, keys: Any) -> None:
        known = {readout.key for readout in self.model.result.readouts}
        self._open = known & {key for key in keys if isinstance(key, str)}
        self.card.show(result=self._result())

    def _set_visible(self, visible: Any) -> None:
        self.model.active = bool(visible)

    def _send_table(self, name: Any) -> None:
        columns = {key: np.asarray(col) for key, col in self.model.result.tables[name].items()}
        length = min(MAX_TABLE_ROWS, max(map(len, columns.values()), default=0))
        rows = [[_cell(column[i]) for column in columns.values()] for i in range(length)]
        texts = [column.dtype.kind == "U" for column in columns.values()]
        self.card.tell({"table": name, "columns": list(columns), "rows": rows, "texts": texts})

    def _send_csv(self, name: Any) -> None:
        columns = self.model.result.tables[name]
        self.card.tell({"csv": f"{self.model.slug}-{name}.csv", "text": csv_text(columns)})

    def _spec(self) -> dict[str, Any]:
        model = self.model
        return {
            "slug": model.slug,
            "controls": [control.shown() for control in model.controls],
            "presets": [
                preset.name
                for preset in model.presets
                if not self.layout.locked & set(preset.values)
            ],
            "shows": {preset.name: preset.shows for preset in model.presets},
            "charts": [
                {
                    "name": chart.name,
                    "title": chart.title,
                    "caption": chart.caption,
                    "below": chart.below,
                    "height": chart.height,
                    "wide": chart.wide,
                    "open_table": chart.open_table,
                    "alone": chart.alone,
                }
                for chart in model.charts
            ],
            "assumptions": list(model.assumptions),
            "prediction": self._prediction.shown(),
            "pieces": list(model.player_pieces),
            "mode": self.layout.mode,
            "locked": sorted(self.layout.locked),
            "hidden": sorted(self.layout.hidden),
        }

    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        options = self.model.control_options()
        extra = self.model.control_state()
        for control in self.model.controls:
            if control.scope == "scenario":
                if self.shared is not None:
                    values[control.key] = self.shared.control_value(control.key)
                continue
            if control.kind == "file":
                values[control.key] = dict(extra.get(control.key, {}))
                continue
            values[control.key] = {
                "value": getattr(self.model, control.key),
                **extra.get(control.key, {}),
            }
            if control.key in options:
                values[control.key]["options"] = [
                    [option, words] for option, words in options[control.key].items()
                ]
        return values

    def _player(self) -> dict[str, Any]:
        player = self.model.result.player
        return player.shown() if player else {}

    def _result(self) -> dict[str, Any]:
        result = self.model.result
        return {
            "summary": result.summary,
            "sentences": dict(result.sentences),
            "notes": list(result.notes),
            "strips": [
                {"name": strip.name, "label": strip.label, "items": [list(i) for i in strip.items]}
                for strip in result.strips
            ],
            "readouts": [readout.shown() for readout in result.readouts],
            "arithmetic": {
                readout.key: readout.arithmetic()
                for readout in result.readouts
                if readout.key in self._open
            },
        }


def csv_text(columns: Mapping[str, Any]) -> str:
    """Columns as RFC 4180 text with every digit; texts are quoted, and no value is no text."""
    arrays = [np.asarray(column) for column in columns.values()]
    lines = [",".join(columns)]
    for row in zip(*arrays, strict=True):
        lines.append(",".join(_csv_cell(value) for value in row))
    return "\r\n".join(lines) + "\r\n"


def _csv_cell(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    number = float(value)
    if math.isnan(number):
        return ""  # there is no value
    if math.isinf(number):
        return repr(number)
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    if np.isfinite(number) and number == int(number) and abs(number) < 1e15:
        return exact(number)
    return significant(number, 4)
