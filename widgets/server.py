"""What the web server needs besides Panel's defaults, set once per process."""

from __future__ import annotations

import os
import re
from functools import wraps
from typing import Any

from bokeh.server.views.ws import WSHandler
from bokeh.settings import settings
from bokeh.util.token import (
    check_token_signature,
    generate_jwt_token,
    get_session_id,
    get_token_payload,
)
from panel.io.server import DocHandler
from tornado import httputil
from tornado.web import StaticFileHandler

from widgets.card import STATIC

_MARK = "_sends_at_once"
# What a token says of itself; the rest is the reader's request.
_OWN_CLAIMS = ("session_id", "session_expiry")

# Tornado answers a bare "400" above a thousand parameters. The page would rather open, read the
# first few and say what it left out; the header's 64 kB still bound the whole.
_MAX_ARGUMENTS = 40_000


# Who may show the page in a frame: origins with a blank between them, or 'self', or 'none'.
# Not set, anyone may.
EMBED_SETTING = "SERVING_EMBED_ORIGINS"
_ORIGIN = re.compile(r"https?://[\w.*-]+(:[\d*]+)?")


def tune() -> None:
    """Set up this process's server; more than once changes nothing.

    Websocket frames are sent at once, a link with too many parameters reaches the page, pages say
    who may embed them, and `assets/` has what a course page needs.
    """
    # A check of models against one another, a twelfth of the time a page takes. Tests make it.
    settings.perform_document_validation = False
    _send_at_once()
    _answer_pages(frame_ancestors(os.environ.get(EMBED_SETTING, "")))


def frame_ancestors(setting: str) -> str:
    """The header that tells browsers who may show a page in a frame; empty for anyone.

    Raises `ValueError` for a setting that is not a list of origins.

    >>> frame_ancestors("https://course.example 'self'")
    "frame-ancestors https://course.example 'self'"
    """
    origins = setting.split()
    for origin in origins:
        if origin not in ("'self'", "'none'") and not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"{EMBED_SETTING} lists origins such as https://course.example, with blanks "
                f"between them, or 'self' or 'none'; it has {origin!r}"
            )
    return f"frame-ancestors {' '.join(origins)}" if origins else ""


def _answer_pages(policy: str) -> None:
    original = DocHandler.finish
    if getattr(original, _MARK, False):
        return

    @wraps(original)
    def finish(self: DocHandler, *args: Any, **kwargs: Any) -> Any:
        self.set_header("X-Content-Type-Options", "nosniff")
        if policy:
            self.set_header("Content-Security-Policy", policy)
        if not getattr(self.application, _MARK, False):
            # `panel serve app.py --static-dirs assets=static` has this route from the start; a
            # server started without it has it from its first page on.
            route = (r"/assets/(embed\.js)", StaticFileHandler, {"path": str(STATIC)})
            self.application.add_handlers(r".*", [route])
            setattr(self.application, _MARK, True)
        return original(self, *args, **kwargs)

    setattr(finish, _MARK, True)
    DocHandler.finish = finish


def _renew(handler: WSHandler) -> None:
    """Let a page that lost its connection back into its session, however long it has been open.

    Its token is of the moment it was loaded and good for five minutes. A session that is still
    alive is its own; a token that is not signed as the server asks is left as it is.
    """
    token, app = handler._token, handler.application
    if token is None or not check_token_signature(
        token, signed=app.sign_sessions, secret_key=app.secret_key
    ):
        return
    session_id, payload = get_session_id(token), get_token_payload(token)
    if any(one.id == session_id for one in handler.application_context.sessions):
        handler._token = generate_jwt_token(
            session_id,
            signed=app.sign_sessions,
            secret_key=app.secret_key,
            expiration=app.session_token_expiration,
            extra_payload={k: v for k, v in payload.items() if k not in _OWN_CLAIMS},
        )


def _send_at_once() -> None:
    """Switch Nagle's algorithm off, and raise the number of parameters Tornado reads.

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
        _renew(self)
        return original(self, *args, **kwargs)

    setattr(open_without_delay, _MARK, True)
    WSHandler.open = open_without_delay
