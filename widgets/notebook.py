"""A live section in a notebook cell, without any server: `section("paging")`.

    from widgets.notebook import section
    section("paging")
    section("memory", model="70B", devices=8, tokens=8192, theme="dark")

Python computes in the notebook's own kernel, and the notebook's connection to it carries every
change. Where a notebook is only shown (a saved page, a viewer), use an iframe instead.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import panel as pn

from widgets import theme as themes
from widgets.card import standalone_module
from widgets.page import section_classes
from widgets.session import Session


def section(name: str, **state: Any) -> pn.Column:
    """One live section, with the scenario above it.

    `name` is a section's slug or the name of its widget, as in an embed's address; `state` is
    what that address would say after it: inputs by their names, `theme`, `lock`, `hide`.
    Raises `ValueError` for anything that a link would put into a notice.
    """
    pn.extension(design="native", inline=True)
    session = cell_session(name, state)
    css = themes.css_block(session.theme, ":host")
    view = session.bring(session.layout.section)
    for component, render in ((session.bar, "renderBar"), (view.card, "renderCard")):
        component.stylesheets = [css]
        # The whole page reads the components' code once. A cell has no page around it, so each
        # component there brings its own.
        type(component)._esm = standalone_module(render)
    parts = [view.card] if "scenario" in session.layout.hidden else [session.bar, view.card]
    return pn.Column(*parts, sizing_mode="stretch_width")


def cell_session(name: str, state: dict[str, Any]) -> Session:
    """The session behind a cell; raises `ValueError` where a link would give notices."""
    listed = {k: ",".join(v) if isinstance(v, list | tuple) else v for k, v in state.items()}
    query = urlencode({"section": name, "embed": 1, **listed})
    session = Session(section_classes(), query, "light", cell=True)
    notices = session.bar.state["notices"]
    if notices:
        raise ValueError(" ".join(notices))
    return session
