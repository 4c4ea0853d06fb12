"""Long work where there is one thread: in turns with the reader's messages, one job at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from widgets.jobs import START_AFTER_S
from widgets.site.reader import Reader


class Turns:
    """A workplace for jobs (`jobs.Workplace`) in a worker of the reader's browser.

    The page stays responsive, since it is drawn by another thread, and progress is sent while the
    work goes on. `later(function, ms)` calls a function when all that waits has had its turn.
    `breathe()` lets messages in while a job works, where the browser can do that; elsewhere a
    newer change, or a cancel, waits until the job is through.
    """

    def __init__(
        self,
        reader: Reader,
        later: Callable[[Callable[[], None], float], None],
        breathe: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._later = later
        self._breathe = breathe
        self._waiting: deque[Callable[[], None]] = deque()
        self._working = False

    def serves(self, document: Any) -> bool:
        """There is one document, and somebody looks at it."""
        return document is self._reader.document

    def start(self, work: Callable[[], None]) -> None:
        """Begin once what is on its way has arrived, and after the job that is working now."""
        self._waiting.append(work)
        if not self._working:
            self._later(self._next, START_AFTER_S * 1000)

    def call(self, document: Any, callback: Callable[[], None]) -> None:
        """Change the document and send it at once."""
        self._reader.change(callback)

    def breathe(self) -> None:
        """Let the reader's messages in."""
        self._breathe()

    def _next(self) -> None:
        if self._working or not self._waiting:
            return
        self._working = True
        try:
            self._waiting.popleft()()
        finally:
            self._working = False
        if self._waiting:
            self._later(self._next, 0)
