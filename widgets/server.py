"""What the web server needs besides Panel's defaults, set once per process."""

from __future__ import annotations

from functools import wraps
from typing import Any

from bokeh.server.views.ws import WSHandler
from tornado import httputil

_MARK = "_sends_at_once"

# Tornado answers a bare "400" above a thousand parameters. The page would rather open, read the
# first few and say what it left out; the header's 64 kB still bound the whole.
_MAX_ARGUMENTS = 40_000


def tune() -> None:
    """Send websocket frames at once, and let a link with too many parameters reach the page.

    An update travels in several small frames. With Nagle's algorithm on, the last of them waits
    for a delayed acknowledgement, about 40 ms that a reader feels under the hand. `tests/` holds
    this against the installed Bokeh, so an upgrade that moves the handler is noticed.
    """
    urlencoded = httputil.ParseUrlEncodedConfig(max_arguments=_MAX_ARGUMENTS)
    httputil.set_parse_body_config(httputil.ParseBodyConfig(urlencoded=urlencoded))
    original = WSHandler.open
    if getattr(original, _MARK, False):
        return

    @wraps(original)
    def open_without_delay(self: WSHandler, *args: Any, **kwargs: Any) -> Any:
        self.set_nodelay(True)
        return original(self, *args, **kwargs)

    setattr(open_without_delay, _MARK, True)
    WSHandler.open = open_without_delay
