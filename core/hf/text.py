"""The contents of a stranger's config.json made into an object, or refused in one sentence."""

from __future__ import annotations

import json
import math

from core.hf.keys import refusal, shown
from core.json_depth import nested_beyond

MAX_FILE_BYTE = 1_000_000
"""No published config.json comes near this size."""

_MAX_DEPTH = 50
_MAX_DIGITS = 4_000
_REMEDY = "Use the model's config.json as published."
_TOO_DEEP = f"The file is nested more than {_MAX_DEPTH} levels deep. {_REMEDY}"
_UNBOUNDED = "time_step_limit"
"""The one key that published files (of Mamba-2 models) write with Infinity."""


def load_object(text: str | bytes) -> dict[str, object]:
    """The object in a file of at most 1 MB.

    Raises `ValueError` for what is empty, larger, not UTF-8, not JSON (with line and column), not
    an object, nested absurdly deep, or holds NaN, an infinite number or one key twice.
    """
    decoded = _decoded(text)
    if nested_beyond(decoded, _MAX_DEPTH):
        raise ValueError(_TOO_DEEP)
    try:
        config = json.loads(decoded, object_pairs_hook=_unique, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"The file is not JSON: {error.msg} at line {error.lineno}, column {error.colno}. "
            f"Correct it there. {_REMEDY}"
        ) from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if not isinstance(config, dict):
        raise refusal("The file", config, "an object of keys", _REMEDY)
    _refuse_endless_numbers(config)
    return config


def _decoded(text: str | bytes) -> str:
    if not isinstance(text, str | bytes):
        raise refusal("The file's contents", text, "text or bytes", _REMEDY)
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_FILE_BYTE:
        raise ValueError(
            f"The file has {size:,} bytes; a config.json may have at most {MAX_FILE_BYTE:,}. "
            "Use the model's config.json, not its weights or its tokenizer."
        )
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"The file is not UTF-8 text: byte {error.start:,} does not fit. {_REMEDY}"
            ) from error
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise ValueError(f"The file is empty. {_REMEDY}")
    return text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(
                f"The key {shown(key)} stands twice in one object of the file, as "
                f"{shown(result[key])} and as {shown(value)}. Keep the one that is right."
            )
        result[key] = value
    return result


def _whole(digits: str) -> int:
    # int() refuses more than 4,300 digits with a message of its own.
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"The file holds a number of {len(digits):,} digits. {_REMEDY}")
    return int(digits)


def _refuse_endless_numbers(config: dict[str, object]) -> None:
    # A walk without recursion, so that a file nested too deep is an answer and not a crash.
    waiting: list[tuple[str, object, int]] = [("", config, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ValueError(_TOO_DEEP)
        if isinstance(value, float) and not math.isfinite(value):
            if _UNBOUNDED not in path:
                raise refusal(path.encode("unicode_escape").decode(), value, "a finite number")
        elif isinstance(value, dict):
            dot = "." if path else ""
            waiting += [(f"{path}{dot}{key[:80]}", item, depth + 1) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", item, depth + 1) for index, item in enumerate(value)]
