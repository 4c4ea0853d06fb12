"""What the web server needs besides Panel's defaults, set once per process."""

from __future__ import annotations

from functools import wraps
from typing import Any

from bokeh.server.views.ws import WSHandler

_MARK = "_sends_at_once"


def tune() -> None:
    """Send websocket frames at once.

    An update travels in several small frames. With Nagle's algorithm on, the last of them waits
    for a delayed acknowledgement, about 40 ms that a reader feels under the hand. `tests/` holds
    this against the installed Bokeh, so an upgrade that moves the handler is noticed.
    """
    original = WSHandler.open
    if getattr(original, _MARK, False):
        return

    @wraps(original)
    def open_without_delay(self: WSHandler, *args: Any, **kwargs: Any) -> Any:
        self.set_nodelay(True)
        return original(self, *args, **kwargs)

    setattr(open_without_delay, _MARK, True)
    WSHandler.open = open_without_delay
