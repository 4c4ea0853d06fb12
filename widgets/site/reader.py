"""One reader's document where there is no server: changes go out as patches, messages come in.

It speaks as a Bokeh server does, with a function instead of a websocket, so the page's own code
and the sections notice no difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import panel as pn
from bokeh.core.json_encoder import serialize_json
from bokeh.core.serialization import Serialized, Serializer
from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent, DocumentPatchedEvent
from bokeh.document.json import PatchJson
from bokeh.io.doc import set_curdoc
from panel.io.resources import CDN_DIST, LOCAL_DIST
from panel.io.state import set_curdoc as set_panel_curdoc

from widgets import page
from widgets.session import Session
from widgets.theme import Theme

Post: TypeAlias = Callable[[str, str, list[tuple[str, bytes]]], None]

# What marks a change as coming from the page, which need not be told of it.
_PAGE = "page"


def relative(text: str) -> str:
    """The text with Panel's style sheets beside the page instead of on a CDN."""
    return text.replace(CDN_DIST, LOCAL_DIST)


def add_roots(document: Document, session: Session) -> None:
    """Put the bar and the place of each section into a document."""
    with pn.io.hold(document, freeze=True):
        page.with_roots(session, "").server_doc(document, location=False)


def as_json(document: Document) -> Any:
    """The document as the page's Bokeh reads it."""
    return json.loads(relative(serialize_json(document.to_json(deferred=False))))


def root_ids(document: Document) -> dict[str, str]:
    """The id of each root by its name."""
    return {root.name: root.id for root in document.roots}


class Reader:
    """The session of the reader whose browser this is.

    `post(kind, text, buffers)` hands something to the page: "page" is the whole document, "patch"
    a change of it with the arrays that it mentions.
    """

    def __init__(self, post: Post) -> None:
        self.document = Document()
        self._post = post
        self._events: list[DocumentPatchedEvent] = []

    def open(self, query: str, theme: Theme, near: Sequence[str]) -> None:
        """Make the page for an address, with the cards that are in sight already."""
        document = self.document
        set_curdoc(document)
        pn.state.curdoc = document
        session = Session(page.section_classes(), query, theme)
        layout = session.layout
        first = layout.section or next(iter(session.models))
        for slug in dict.fromkeys([first, *near]):
            if slug in session.models and (layout.mode != "embed" or slug == layout.section):
                session.bring(slug)
        add_roots(document, session)
        whole = json.dumps({"document": as_json(document), "roots": root_ids(document)})
        # Panel holds changes back for a page that has not said that it is there.
        pn.state._loaded[document] = pn.state._connected[document] = True
        document.on_change(self._collect)
        self._post("page", whole, [])

    def receive(self, text: str) -> None:
        """Carry out what the page says, in Bokeh's own words."""
        patch = Serialized(content=json.loads(text), buffers=[])
        self.change(lambda: self.document.apply_json_patch(patch, setter=_PAGE))

    def change(self, change: Callable[[], None]) -> None:
        """Do something to the document and send all that came of it as one patch."""
        with set_panel_curdoc(self.document):
            self.document.hold("combine")
            try:
                change()
            finally:
                self.document.unhold()
                self._flush()

    def _collect(self, event: DocumentChangedEvent) -> None:
        if isinstance(event, DocumentPatchedEvent) and event.setter != _PAGE:
            self._events.append(event)

    def _flush(self) -> None:
        if not self._events:
            return
        events, self._events = self._events, []
        models = self.document.models
        serializer = Serializer(references=models.synced_references)
        content = PatchJson(events=serializer.encode(events))
        models.flush_synced(lambda model: not serializer.has_ref(model))
        buffers = serializer.buffers
        text = relative(serialize_json(Serialized(content, buffers)))
        self._post("patch", text, [(buffer.id, _bytes(buffer)) for buffer in buffers])


def _bytes(buffer: Any) -> bytes:
    return bytes(buffer.to_bytes())
