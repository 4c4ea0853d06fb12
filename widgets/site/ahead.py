"""Charts drawn ahead: each root of the page at its defaults, as a Bokeh document in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bokeh.document import Document
from bokeh.embed.util import OutputDocumentFor

from widgets import page
from widgets.session import Session
from widgets.site.reader import add_roots, relative
from widgets.theme import THEMES


def drawn_ahead() -> Iterator[tuple[str, str, str]]:
    """Each root's name, a theme, and the JSON of a document with that root alone."""
    for theme in THEMES:
        session = Session(page.section_classes(), "", theme)
        for slug in session.models:
            session.bring(slug)
        document = Document()
        add_roots(document, session)
        for root in document.roots:
            with OutputDocumentFor([root]) as alone:
                drawn = alone.to_json(deferred=False)
            text = json.dumps({"document": drawn, "root": root.id})
            yield root.name, theme, relative(text)
