"""The hooks that the page puts into Bokeh and Tornado are still where it expects them."""

from __future__ import annotations

import contextlib

from bokeh.server.views.ws import WSHandler
from tornado import httputil
from tornado.websocket import WebSocketHandler

from widgets import server


def test_frames_are_sent_at_once() -> None:
    calls: list[object] = []

    class Probe(WSHandler):
        def __init__(self) -> None:
            pass

        def set_nodelay(self, value: bool) -> None:
            calls.append(value)

        def get_argument(self, *_: object, **__: object) -> None:
            raise KeyError  # the rest of Bokeh's open needs a real connection

        @property
        def selected_subprotocol(self) -> str:
            return "wrong"

        def close(self, *_: object, **__: object) -> None:
            pass

    server.tune()
    assert WSHandler.open.__wrapped__ is not WSHandler.open
    assert hasattr(WebSocketHandler, "set_nodelay")
    with contextlib.suppress(Exception):  # only what happened before Bokeh's own part matters
        Probe().open()
    assert calls == [True]


def test_tuning_twice_wraps_once() -> None:
    server.tune()
    first = WSHandler.open
    server.tune()
    assert WSHandler.open is first


def test_a_link_with_ten_thousand_parameters_reaches_the_page() -> None:
    server.tune()
    line = httputil.RequestStartLine("GET", "/app?" + "&".join(["a=1"] * 10_000), "HTTP/1.1")
    headers = httputil.HTTPHeaders({"Host": "localhost"})
    request = httputil.HTTPServerRequest(start_line=line, headers=headers)
    assert len(request.arguments["a"]) == 10_000
