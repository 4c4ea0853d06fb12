"""Work longer than a slider's patience: beside the page, with progress, and easily given up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Protocol

import panel as pn

from widgets.base import Job, SectionResult

log = logging.getLogger(__name__)

TELL_EVERY_S = 0.1

START_AFTER_S = 0.06
"""What is on its way to the page goes first, and a slider that moves on needs no work at all."""


class Workplace(Protocol):
    """Where jobs run: in threads of a server, or in turns where there is one thread only."""

    def serves(self, document: Any) -> bool:
        """Whether somebody looks at this document, whom a job would keep waiting."""

    def start(self, work: Callable[[], None]) -> None:
        """Begin `work` a moment from now."""

    def call(self, document: Any, callback: Callable[[], None]) -> None:
        """Have `callback` change the document, from within `work`."""

    def breathe(self) -> None:
        """Let others have a turn, from within `work`."""


class Threads:
    """A thread for each job, which tells the document through the server's event loop."""

    def serves(self, document: Any) -> bool:
        """Whether a reader's session is behind the document; a test has none."""
        return document.session_context is not None

    def start(self, work: Callable[[], None]) -> None:
        """Begin in a new thread."""

        def run() -> None:
            time.sleep(START_AFTER_S)
            work()

        threading.Thread(target=run, daemon=True).start()

    def call(self, document: Any, callback: Callable[[], None]) -> None:
        """Hand the callback to the document's own thread."""
        document.add_next_tick_callback(callback)

    def breathe(self) -> None:
        """Let the server's own thread have a turn."""
        time.sleep(0)


class JobRunner:
    """Runs one job at a time for one card; a newer job, or a cancel, makes the older one stop.

    `on_progress(fraction, text)` and `on_done(result)` are called on the document's own thread;
    `on_done` gets the result, the `ValueError` with which the job refused, or None where it failed
    and was logged. Where nobody looks (in a test) the job is done at once.
    """

    workplace: ClassVar[Workplace] = Threads()

    def __init__(
        self,
        on_progress: Callable[[float, str], None],
        on_done: Callable[[SectionResult | ValueError | None], None],
    ) -> None:
        self._on_progress = on_progress
        self._on_done = on_done
        self._current: Job | None = None

    def __call__(self, job: Job | None) -> None:
        """Start `job`; None gives up what is running."""
        self._current = job
        if job is None:
            return
        document = pn.state.curdoc
        if document is None or not self.workplace.serves(document):
            self._on_done(_outcome(job, lambda _: True))
            return
        self._on_progress(0.0, job.text)
        self.workplace.start(partial(self._work, job, document))

    def _work(self, job: Job, document: Any) -> None:
        if self._current is not job:
            return
        told = time.monotonic()

        def report(fraction: float) -> bool:
            nonlocal told
            if time.monotonic() - told > TELL_EVERY_S:
                told = time.monotonic()
                self.workplace.call(document, partial(self._tell, job, fraction))
                self.workplace.breathe()
            return self._current is job

        outcome = _outcome(job, report)
        self.workplace.call(document, partial(self._finish, job, outcome))

    def _tell(self, job: Job, fraction: float) -> None:
        if self._current is job:
            self._on_progress(fraction, job.text)

    def _finish(self, job: Job, outcome: SectionResult | ValueError | None) -> None:
        if self._current is job:
            self._current = None
            self._on_done(outcome)


def _outcome(job: Job, report: Callable[[float], bool]) -> SectionResult | ValueError | None:
    try:
        return job.work(report)
    except ValueError as refusal:
        return refusal
    except Exception:
        log.exception("a job failed: %s", job.text)
        return None
