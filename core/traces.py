"""Reading a request trace: CSV or JSONL with an arrival, a prompt and an output column.

What was recognised, how the unit of time was decided and whether rows had to be sorted is said in
the notes; what cannot be read is refused with the line and the column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.model_spec import MAX_TOKENS
from core.requests import RequestStream
from core.trace_tables import MAX_BYTES, MAX_ROWS, TraceTable, plain, read_table
from core.units import counted

__all__ = ["MAX_BYTES", "MAX_ROWS", "TimeUnit", "TraceNotes", "read_trace"]

Floats = NDArray[np.float64]
TimeUnit = Literal["auto", "s", "ms"]

_PER_SECOND = {"seconds": 1e0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_LARGEST_ID = 2**31 - 1
# Above this many seconds a time lies beyond the year 5000, and so counts something smaller.
_LAST_SECOND = 1e11


@dataclass(frozen=True, slots=True)
class TraceNotes:
    """What the reader saw in a trace, for a page to say."""

    form: Literal["CSV", "JSONL"]
    rows: int
    arrival_column: str
    prompt_column: str
    output_column: str
    unit: str
    unit_reason: str
    out_of_order: int
    has_hash_ids: bool
    ids_renumbered: bool

    @property
    def sentences(self) -> tuple[str, ...]:
        """The notes in words, one fact each."""
        said = [
            f"{counted(self.rows, 'request')} read from {self.form}.",
            f"Recognised {self.arrival_column} as arrival, {self.prompt_column} as prompt and "
            f"{self.output_column} as output.",
            f"Times are {self.unit}: {self.unit_reason}.",
        ]
        if self.out_of_order:
            said.append(
                f"Rows that came after a later one: {self.out_of_order:,}; "
                "all have been sorted by arrival."
            )
        if self.has_hash_ids:
            how = "are numbered anew, in their order" if self.ids_renumbered else "were kept"
            said.append(f"The ids of the prompts' cache blocks {how}.")
        return tuple(said)


def read_trace(
    data: str | bytes, *, unit: TimeUnit = "auto", source: str = ""
) -> tuple[RequestStream, TraceNotes]:
    """Read a trace from a file's content; arrivals are counted from the first request, in seconds.

    `unit` says what a numeric arrival counts; "auto" decides by the column's name and the values.
    Rows need not be sorted; those of one time keep the file's order. Raises `ValueError` for a file
    that is empty, has more than 25 MB or 1,000,000 rows, has no recognised header, or has a row
    that is not a request (named by line and column). Worked value: "arrival_ms,prompt,output" over
    "250,10,2" and "0,20,3" gives arrivals 0 and 0.25 s and prompts of 20 and 10.
    """
    validate.choice("unit", unit, ("auto", "s", "ms"))
    table = read_table(data)
    arrival, unit_name, reason = _arrivals(table, unit)
    prompt = _numbers(table, "prompt", 1, MAX_TOKENS, whole=True)
    output = _numbers(table, "output", 1, MAX_TOKENS, whole=True)
    read_ids = _hash_ids(table) if "hash_ids" in table.names else None
    hash_ids = None if read_ids is None else _renumbered(read_ids)
    order = np.argsort(arrival, kind="stable")
    stream = RequestStream(
        arrival[order],
        prompt[order].astype(np.int64),
        output[order].astype(np.int64),
        hash_ids=None if hash_ids is None else tuple(hash_ids[row] for row in order),
        source=source or f"a trace of {counted(len(order), 'request')}",
    )
    notes = TraceNotes(
        form=table.form,
        rows=len(order),
        arrival_column=table.names["arrival"],
        prompt_column=table.names["prompt"],
        output_column=table.names["output"],
        unit=unit_name,
        unit_reason=reason,
        out_of_order=int((arrival < np.maximum.accumulate(arrival)).sum()),
        has_hash_ids=hash_ids is not None,
        ids_renumbered=hash_ids is not read_ids,
    )
    return stream, notes


def _numbers(
    table: TraceTable, column: str, low: float, high: float, *, whole: bool = False
) -> Floats:
    """A column as numbers, each in [low, high]; the first that is not is named."""
    values = table.columns[column]
    kind = "a whole number" if whole else "a number"
    wanted = f"must be {kind} in [{low:,.0f}, {high:,.0f}]"
    for row, value in enumerate(values):
        if not _is_number(value):
            raise table.refusal(row, column, wanted)
    numbers = np.array(values, dtype=np.float64)
    good = (numbers >= low) & (numbers <= high)
    if whole:
        good &= numbers == np.floor(numbers)
    if not good.all():
        raise table.refusal(int(np.argmin(good)), column, wanted)
    return numbers


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        return math.isfinite(float(value))
    except (ValueError, OverflowError):
        return False


def _arrivals(table: TraceTable, unit: TimeUnit) -> tuple[Floats, str, str]:
    """Seconds from the first request, the unit that the file has, and how that was decided."""
    first, name = table.columns["arrival"][0], table.names["arrival"]
    if isinstance(first, str) and not _is_number(first):
        return _dates(table), "dates", f"{name} holds dates and times of day"
    numbers = _numbers(table, "arrival", 0, _LAST_SECOND * _PER_SECOND["nanoseconds"])
    counted, reason = _unit(table, unit, float(numbers[0]))
    return (numbers - numbers.min()) / _PER_SECOND[counted], counted, reason


def _unit(table: TraceTable, unit: TimeUnit, first: float) -> tuple[str, str]:
    """What the arrivals count, and how that was decided."""
    arrival, prompt = table.names["arrival"], table.names["prompt"]
    if unit != "auto":
        return "milliseconds" if unit == "ms" else "seconds", "as was asked for"
    named = {"arrivals": "seconds", "arrivalms": "milliseconds"}.get(plain(arrival))
    if named:
        return named, f"the column is called {arrival}"
    if plain(prompt) == "inputlength":
        return "milliseconds", f"traces with {arrival} and {prompt} count them"
    if first > _LAST_SECOND:
        units = list(_PER_SECOND)
        at = next(i for i, name in enumerate(units) if first / _PER_SECOND[name] <= _LAST_SECOND)
        too_late = f"{first:,.0f} {units[at - 1]} after 1970 would lie beyond the year 5000"
        return units[at], too_late
    return "seconds", "numbers without a unit in their column's name are taken as such"


def _dates(table: TraceTable) -> Floats:
    times: list[datetime] = []
    for row, value in enumerate(table.columns["arrival"]):
        try:
            time = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            wanted = "must be a date and time such as 2023-11-16 18:15:46.68"
            raise table.refusal(row, "arrival", wanted) from error
        if times and (time.tzinfo is None) != (times[0].tzinfo is None):
            raise table.refusal(row, "arrival", "must have a time zone in every row or in none")
        times.append(time)
    since = np.array([(time - times[0]).total_seconds() for time in times])
    return np.asarray(since - since.min())


def _hash_ids(table: TraceTable) -> list[tuple[int, ...]]:
    rows = []
    for row, value in enumerate(table.columns["hash_ids"]):
        try:
            rows.append(_whole_numbers(value))
        except (TypeError, ValueError) as error:
            raise table.refusal(row, "hash_ids", "must be a list of whole numbers") from error
    return rows


def _renumbered(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Ids from 0 on in order of appearance where one of them is negative or a 64-bit hash.

    An id only names a block, but those that use it count tokens with it.
    """
    if all(0 <= one <= _LARGEST_ID for row in rows for one in row):
        return rows
    small: dict[int, int] = {}
    return [tuple(small.setdefault(one, len(small)) for one in row) for row in rows]


def _whole_numbers(value: Any) -> tuple[int, ...]:
    """A JSON list, or numbers with spaces or commas between them."""
    if isinstance(value, str):
        return tuple(map(int, value.strip("[]").replace(",", " ").split()))
    return tuple(map(index, value))
