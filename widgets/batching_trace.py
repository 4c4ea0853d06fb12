"""Section 3's dropped trace: read at once where it is small, behind a progress bar where not."""

from __future__ import annotations

from dataclasses import dataclass

from core.requests import RequestStream
from core.traces import TraceNotes, read_trace
from widgets.share import printable

MAX_FILE_BYTE = 10_000_000
# Reading takes some 4 ms for 1,000 rows of CSV, 16 kB.
QUICK_CHARACTERS = 250_000


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A trace that has been read; `name` is the file's, cut to what can be shown."""

    name: str
    stream: RequestStream
    notes: TraceNotes


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """A dropped file whose rows are still text."""

    name: str
    text: str

    @property
    def quick(self) -> bool:
        """Whether it may be read while the reader waits."""
        return len(self.text) <= QUICK_CHARACTERS

    def read(self) -> Trace:
        """Its rows as a stream in seconds; `ValueError` names the file, the line and the column."""
        try:
            stream, notes = read_trace(self.text, source=self.name)
        except ValueError as error:
            raise ValueError(f"{self.name} was not taken: {error}") from error
        return Trace(self.name, stream, notes)


def dropped(name: str, text: str) -> Unread:
    """A dropped file, whose size is checked here too: the browser's word is not enough."""
    shown = printable(name) or "The file"
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_FILE_BYTE:
        raise ValueError(
            f"{shown} has {size / 1e6:,.1f} MB; at most {MAX_FILE_BYTE / 1e6:,.0f} MB can be used"
        )
    return Unread(shown, text)
