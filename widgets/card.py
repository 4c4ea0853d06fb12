"""The card around a section's charts: one component, native controls, no logic of its own.

It shows `spec` (fixed), `values` and `result` (replaced on each change) and sends the reader's
wishes as messages. Native ranges, buttons and details make it work by keyboard and screen reader
as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import param
from panel.custom import Children, JSComponent

STATIC = Path(__file__).parent.parent / "static"


def read_static(name: str) -> str:
    """A file of static/, as text."""
    return (STATIC / name).read_text(encoding="utf-8")


SCRIPTS = ("controls.js", "player.js", "embedding.js", "card.js", "bar.js", "print.js")


def component_script() -> str:
    """The code of all components, once for a page: it defines `window.serving`."""
    code = "\n".join(read_static(name) for name in SCRIPTS)
    return f"window.serving = (() => {{\n{code}\nreturn {{ renderCard, renderBar }};\n}})();"


def standalone_module(render: str) -> str:
    """The module of one component with all its code in it, for where no page has read it."""
    return component_script() + "\n" + component_module(render)


def component_module(render: str) -> str:
    """The module of one component: a call into the code that the page has read already.

    Panel translates a component's module anew for every instance. With all the code in it, that
    was a third of the time until the first chart.
    """
    return f"export const render = (props) => window.serving.{render}(props);"


class Component(JSComponent):
    """A component whose state travels as messages.

    Assigning a parameter would make Panel walk every model below the component, charts included,
    on every move of a slider (12 of 14 ms, measured). So `state` is kept on this side for a view
    that is yet to come, and sent as one small message to those that are there.
    """

    state = param.Dict(default={})

    # Entries of which only the changed parts travel; the page keeps the others.
    _piecewise: ClassVar[tuple[str, ...]] = ()

    __abstract = True

    def __init__(self, **params: Any) -> None:
        super().__init__(sizing_mode="stretch_width", **params)

    def __repr__(self, depth: int = 0) -> str:
        # Panel writes out the whole page at every place that is put into its template, nine times.
        return f"{type(self).__name__}()"

    def show(self, **changes: Any) -> None:
        """Bring every view up to date with those entries that have changed."""
        fresh = {k: v for k, v in changes.items() if self.state.get(k) != v}
        if fresh:
            message = {name: self._changed_parts(name, entry) for name, entry in fresh.items()}
            self.state.update(fresh)
            self._send_msg({"state": message})

    def _changed_parts(self, name: str, entry: Any) -> Any:
        if name not in self._piecewise:
            return entry
        before = self.state.get(name, {})
        return {key: part for key, part in entry.items() if before.get(key) != part}

    def again(self) -> None:
        """Send the whole state: the page was away and may have missed a part of it."""
        self._send_msg({"state": dict(self.state)})

    def tell(self, message: dict[str, Any]) -> None:
        """Send a one-off answer (a table, a file, a problem) to the browser."""
        self._send_msg(message)


class Card(Component):
    """Prediction, controls, charts, sentence, readouts, arithmetic and tools of one section.

    `state` has `values` (of the controls), `result` (all that is read), `progress` and `player`
    (apart from the result, so that it is sent only when it is another to play). Values
    travel one control at a time: one of them may be a long text.
    """

    _piecewise = ("values",)

    spec = param.Dict(default={})
    charts = Children(default=[])

    _esm = component_module("renderCard")
    _stylesheets = [read_static("card.css")]  # noqa: RUF012 - Panel reads this class attribute
