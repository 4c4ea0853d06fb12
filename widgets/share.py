"""The state in the address bar: written as what differs from the defaults, read with suspicion.

Reading never raises and never clamps: a value that does not fit is left out and named in a
problem, and the rest applies.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

MAX_PARAMETERS = 60
MAX_VALUE_LENGTH = 4_000
MAX_CONFIG_BYTE = 200_000

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

Reader: TypeAlias = Callable[[str], Any]


def parse_query(query: str | bytes) -> tuple[dict[str, str], list[str]]:
    """Split a query string into names and values, with a sentence for all that was left out.

    Invalid UTF-8, too many parameters and over-long values are refused one by one; of a name that
    stands there twice the first value counts.
    """
    text = query.decode("latin-1") if isinstance(query, bytes) else query
    pairs: dict[str, str] = {}
    problems: list[str] = []
    twice: dict[str, str] = {}
    items = parse_qsl(text.lstrip("?"), keep_blank_values=True, encoding="utf-8", errors="replace")
    if len(items) > MAX_PARAMETERS:
        problems.append(
            f"The link has {len(items):,} parameters; only the first {MAX_PARAMETERS} were read."
        )
    for name, value in items[:MAX_PARAMETERS]:
        if "\ufffd" in name or "\ufffd" in value:
            problems.append(f"“{printable(name)}” is not valid UTF-8 and was left out.")
        elif len(value) > MAX_VALUE_LENGTH:
            problems.append(
                f"“{printable(name)}” is {len(value):,} characters long (at most "
                f"{MAX_VALUE_LENGTH:,}) and was left out."
            )
        elif name not in pairs:
            pairs[name] = value
        elif value != pairs[name]:
            twice.setdefault(name, value)
    problems += [
        f"“{printable(name)}” stands in the link more than once; {printable(pairs[name])} was "
        "taken."
        for name in list(twice)[:3]
    ]
    return pairs, problems


def parse_state(
    pairs: Mapping[str, str], readers: Mapping[str, Reader]
) -> tuple[dict[str, Any], list[str]]:
    """Turn texts into values: each name has a reader that returns a value or raises `ValueError`.

    Returns the values that fit and one sentence for each that did not. Names without a reader
    are named too, since a misspelt link would otherwise fail in silence.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    unknown = [name for name in pairs if name not in readers]
    for name, reader in readers.items():
        if name not in pairs:
            continue
        try:
            values[name] = reader(pairs[name])
        except ValueError as error:
            problems.append(f"“{name}={printable(pairs[name])}” was left out: {error}.")
    if unknown:
        listed = ", ".join(f"“{printable(name)}”" for name in unknown[:3])
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        problems.append(f"Nothing on this page is called {listed}{more}; left out.")
    return values, problems


def format_state(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The query string that says only what differs from the defaults; empty when nothing does."""
    changed = {
        name: format_value(value)
        for name, value in values.items()
        if name not in defaults or value != defaults[name]
    }
    return urlencode(changed)


def format_value(value: Any) -> str:
    """A number without needless digits, anything else as text."""
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def read_number(text: str) -> float | int:
    """An ASCII decimal number; a whole one comes back as an int.

    Commas may stand between groups of three digits, and nowhere else: 1,5 is not 15.
    """
    allowed = set("0123456789+-.eE")
    plain = text.strip()
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    if not plain or not set(plain) <= allowed:
        raise ValueError(f"it is not a number{comma_hint(plain)}")
    try:
        value = float(plain)
    except ValueError:
        raise ValueError("it is not a number") from None
    if value in (float("inf"), float("-inf")) or value != value:  # noqa: PLR0124 - NaN test
        raise ValueError("it is not a finite number")
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def comma_hint(text: str) -> str:
    """What to do, where a text looks like a number with a decimal comma; else nothing."""
    if not _DECIMAL_COMMA.fullmatch(text.strip()):
        return ""
    return f"; with a decimal point it is {text.strip().replace(',', '.')}"


def shown(value: object) -> str:
    """What a reader has put in, for a refusal: a number with separators, a text cut short."""
    if isinstance(value, str):
        return printable(value) + comma_hint(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return printable(str(value))
    return "a number too large to write out" if 1e300 <= abs(value) < inf else f"{value:,.10g}"


def printable(text: str, limit: int = 40) -> str:
    """A reader's text cut short and without control characters; escaping is the page's."""
    clean = "".join(c if c.isprintable() else "·" for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def pack_config(text: str) -> str:
    """A model's config.json as one URL-safe word: deflated, base64url."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack_config(word: str) -> str:
    """The JSON text inside a packed config; inflating stops at 200 kB."""
    if not word:
        raise ValueError("there is no packed config.json in it; copy the whole link")
    try:
        raw = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        text = inflater.decompress(raw, MAX_CONFIG_BYTE)
    except (ValueError, zlib.error) as error:  # not base64, or not ASCII, or not deflated
        raise ValueError(
            "the packed config.json cannot be unpacked; copy the link again"
        ) from error
    if inflater.unconsumed_tail:
        raise ValueError(f"the packed config is larger than {MAX_CONFIG_BYTE:,} bytes")
    if not inflater.eof:
        raise ValueError("the end of the packed config.json is missing; copy the whole link")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("the packed config.json is not UTF-8; copy the link again") from error
