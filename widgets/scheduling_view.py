"""The charts of section 5, drawn from `scheduling_text.Shown`."""

from __future__ import annotations

from typing import Any

from widgets.base import SectionResult
from widgets.figures import Chart
from widgets.scheduling_prompt_charts import (
    build_trade_off,
    build_watcher,
    render_trade_off,
    render_watcher,
)
from widgets.scheduling_stream_charts import (
    build_gaps,
    build_goodput,
    build_server,
    build_waits,
    render_gaps,
    render_goodput,
    render_server,
    render_waits,
)
from widgets.scheduling_text import Shown
from widgets.section import SectionView


class SchedulingView(SectionView):
    """Two charts of one prompt, four of a stream; only those whose data moved are sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._drawn_prompt: tuple[Any, ...] = ()
        self._drawn_stream: tuple[Any, ...] = ()
        super().__init__(*args, **kwargs)

    def build_charts(self) -> list[Chart]:
        return [
            build_watcher(),
            build_trade_off(),
            build_gaps(),
            build_waits(),
            build_server(),
            build_goodput(),
        ]

    def render(self, result: SectionResult) -> None:
        shown: Shown = result.data
        prompt = (shown.prompt, self.revealed)
        if prompt != self._drawn_prompt:
            self._drawn_prompt = prompt
            render_watcher(self.chart("watcher"), shown.prompt, revealed=self.revealed)
            render_trade_off(self.chart("trade-off"), shown.prompt)
        stream = (shown.served, shown.sweeps, shown.targets)
        if stream != self._drawn_stream:
            self._drawn_stream = stream
            render_gaps(self.chart("stream-gaps"), shown)
            render_waits(self.chart("stream-waits"), shown)
            render_server(self.chart("stream-server"), shown.served[0])
            render_goodput(self.chart("goodput"), shown)
