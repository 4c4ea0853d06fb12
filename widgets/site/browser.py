"""Where Python starts in the reader's browser. `static/site-worker.js` calls `begin`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import panel as pn
from bokeh.settings import settings
from pyodide.ffi import can_run_sync, run_sync

from widgets.jobs import JobRunner
from widgets.site.reader import Post, Reader
from widgets.site.turns import Turns


class Browser:
    """What the worker's script calls."""

    def __init__(self, post: Post) -> None:
        self._reader = Reader(post)
        self.receive = self._reader.receive

    def open(self, asked: str) -> None:
        """Make the page; `asked` is JSON with the address's query, the theme and slugs in sight."""
        wish = json.loads(asked)
        self._reader.open(wish["query"], wish["theme"], wish["near"])


def begin(post: Post, later: Callable[[Callable[[], None], float], None]) -> Browser:
    """Set Panel up as `app.py` does, and jobs for a browser's one thread."""
    pn.extension(design="native")
    # Ids of its own: the charts drawn at build time are on the page beside the live ones.
    settings.simple_ids.set_value(False)
    browser = Browser(post)
    JobRunner.workplace = Turns(browser._reader, later, _breathe)
    return browser


def _breathe() -> None:
    """Suspend the job for a moment, in browsers that can (JavaScript Promise Integration)."""
    if can_run_sync():
        run_sync(asyncio.sleep(0))
