"""The text of a trace file taken apart into columns, with the line that each row stands on.

Recognises the column names of published traces (Azure, Mooncake, BurstGPT, Vidur and this
project's own) whatever their case and punctuation.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from core.json_depth import nested_beyond

MAX_BYTES = 25_000_000
MAX_ROWS = 1_000_000
_MAX_DEPTH = 50

_KNOWN = {
    "arrival": (
        "timestamp",
        "arrival_s",
        "arrival_ms",
        "arrival",
        "arrival_time",
        "arrived_at",
    ),
    "prompt": (
        "ContextTokens",
        "input_length",
        "prompt",
        "prompt_token",
        "prompt_tokens",
        "num_prefill_tokens",
        "Request tokens",
        "input_tokens",
    ),
    "output": (
        "GeneratedTokens",
        "output_length",
        "output",
        "output_token",
        "output_tokens",
        "num_decode_tokens",
        "Response tokens",
    ),
    "hash_ids": ("hash_ids",),
}
_NEEDED = ("arrival", "prompt", "output")


@dataclass(frozen=True, slots=True)
class TraceTable:
    """The columns of a trace as they stand in the file.

    `names` maps arrival, prompt, output and, where there is one, hash_ids to the file's own name;
    `columns` has the same keys. `lines` holds the line of each row, from 1.
    """

    form: Literal["CSV", "JSONL"]
    names: dict[str, str]
    lines: list[int]
    columns: dict[str, list[Any]]

    def refusal(self, row: int, column: str, why: str) -> ValueError:
        """The error that names a row's line and column, what was wanted, and what was found."""
        shown = repr(self.columns[column][row])
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        return ValueError(
            f"line {self.lines[row]}, column {self.names[column]}: {why}, got {shown}"
        )


def plain(name: str) -> str:
    """A column's name without case and punctuation: "Request tokens" → "requesttokens"."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def read_table(data: str | bytes) -> TraceTable:
    """Take a CSV or JSONL file apart.

    Raises `ValueError` for a file that is empty, too large, not text, without the columns a trace
    needs, or with a row of another shape than its header.
    """
    text = _text(data)
    table = _jsonl(text) if text.lstrip()[0] in "{[" else _csv(text)
    if len(table.lines) > MAX_ROWS:
        raise ValueError(f"the trace has {len(table.lines):,} rows; at most {MAX_ROWS:,} are read")
    if not table.lines:
        raise ValueError("the trace has a header but no rows")
    return table


def _text(data: str | bytes) -> str:
    size = len(data) if isinstance(data, bytes) else len(data.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise ValueError(
            f"the trace has {size / 1e6:,.1f} MB; at most {MAX_BYTES / 1e6:,.0f} MB are read"
        )
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"the trace is not UTF-8 text: byte {error.start:,} is not") from error
    if not text.strip():
        raise ValueError("the trace is empty")
    return text


def _recognise(header: Iterable[str]) -> dict[str, str]:
    """The file's own names of the columns that are known; the first of several counts."""
    by_plain = {plain(name): name for name in reversed(list(header))}
    found = {}
    for column, known in _KNOWN.items():
        matching = [by_plain[plain(name)] for name in known if plain(name) in by_plain]
        if matching:
            found[column] = matching[0]
    return found


def _refuse_header(header: Iterable[str], line: int) -> None:
    names, seen = _recognise(header), ", ".join(header)
    missing = next((column for column in _NEEDED if column not in names), None)
    if missing is not None:
        raise ValueError(
            f"line {line}: no {missing} column in «{seen[:200]}»; "
            f"known names are {', '.join(_KNOWN[missing])}"
        )


def _csv(text: str) -> TraceTable:
    for delimiter in (",", ";", "\t"):
        rows = _csv_rows(text, delimiter)
        header = _header(rows)[1]
        names = _recognise(header)
        if set(_NEEDED) <= set(names):
            break
    else:
        line, header = _header(_csv_rows(text, ","))
        _refuse_header(header, line)
    places = {column: header.index(name) for column, name in names.items()}
    columns: dict[str, list[Any]] = {column: [] for column in places}
    lines = []
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"line {line} has {len(row)} columns, but the header has {len(header)}"
            )
        for column, place in places.items():
            columns[column].append(row[place])
        lines.append(line)
    return TraceTable("CSV", names, lines, columns)


def _header(rows: Iterator[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    """The first row that is not blank, and its line."""
    first = next(rows, None)
    if first is None:
        raise ValueError("the trace is empty: every cell of it is blank")
    return first


def _csv_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, its cells stripped, with its line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num} cannot be read: {error}") from error
        if row is None:
            return
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield reader.line_num, cells


def _jsonl(text: str) -> TraceTable:
    names: dict[str, str] = {}
    columns: dict[str, list[Any]] = {}
    lines = []
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        if nested_beyond(content, _MAX_DEPTH):
            raise ValueError(f"line {line} is nested more than {_MAX_DEPTH} levels deep")
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {line} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {line} must be one JSON object, got {content[:40]}")
        if not names:
            _refuse_header(row, line)
            names = _recognise(row)
            columns = {column: [] for column in names}
        for column, name in names.items():
            if name not in row:
                raise ValueError(f"line {line}, column {name}: there is no value")
            columns[column].append(row[name])
        lines.append(line)
    return TraceTable("JSONL", names, lines, columns)
