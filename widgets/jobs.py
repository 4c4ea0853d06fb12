"""Work longer than a slider's patience: in a thread, with progress, and easily given up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn

from widgets.base import Job, SectionResult

log = logging.getLogger(__name__)

TELL_EVERY_S = 0.1

START_AFTER_S = 0.06
"""What is on its way to the page goes first, and a slider that moves on needs no work at all."""


class JobRunner:
    """Runs one job at a time for one card; a newer job, or a cancel, makes the older one stop.

    `on_progress(fraction, text)` and `on_done(result)` are called on the document's own thread;
    `on_done` gets the result, the `ValueError` with which the job refused, or None where it failed
    and was logged. Without a session (in a test, or where there are no threads) the job is done at
    once.
    """

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
        if document is None or document.session_context is None:
            self._on_done(_outcome(job, lambda _: True))
            return
        self._on_progress(0.0, job.text)
        threading.Thread(target=self._work, args=(job, document), daemon=True).start()

    def _work(self, job: Job, document: Any) -> None:
        time.sleep(START_AFTER_S)
        if self._current is not job:
            return
        told = time.monotonic()

        def report(fraction: float) -> bool:
            nonlocal told
            if time.monotonic() - told > TELL_EVERY_S:
                told = time.monotonic()
                document.add_next_tick_callback(partial(self._tell, job, fraction))
                time.sleep(0)  # let the server's own thread have a turn
            return self._current is job

        outcome = _outcome(job, report)
        document.add_next_tick_callback(partial(self._finish, job, outcome))

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
