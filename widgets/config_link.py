"""A dropped config.json as a link carries it: its text, without what a reading does not need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.hf.text import load_object
from core.hf_config import HfReading, read_hf_config
from widgets.share import MAX_VALUE_LENGTH, pack_config, printable, unpack_config

# Published files keep the model's name here; a link keeps the name of the dropped file.
_NAME = "_name_or_path"


def read_file(text: str | bytes, name: str) -> tuple[HfReading, str]:
    """What a file says, and the text that a link carries for it; empty where none would fit.

    Raises `ValueError` for what is no model's config.json.
    """
    config = load_object(text)
    reading = read_hf_config(config, name)
    return reading, _carried({**config, _NAME: printable(name, 80)}, reading)


def read_word(word: str) -> tuple[str, HfReading]:
    """The text and the reading behind a link's word; raises `ValueError` where there is none."""
    text = unpack_config(word)
    config = load_object(text)
    name = config.get(_NAME)
    return text, read_hf_config(config, printable(name, 80) if isinstance(name, str) else "")


def _carried(config: Mapping[str, Any], reading: HfReading) -> str:
    """Compact JSON; the longest entries go first while the file is too long and reads the same."""
    kept = dict(config)
    for key in sorted(config, key=lambda key: len(json.dumps(config[key])), reverse=True):
        text = json.dumps(kept, separators=(",", ":"))
        if len(pack_config(text)) <= MAX_VALUE_LENGTH:
            return text
        if key != _NAME and _reads_the_same({k: v for k, v in kept.items() if k != key}, reading):
            del kept[key]
    text = json.dumps(kept, separators=(",", ":"))
    return text if len(pack_config(text)) <= MAX_VALUE_LENGTH else ""


def _reads_the_same(config: dict[str, Any], reading: HfReading) -> bool:
    try:
        other = read_hf_config(config, reading.model.name)
    except ValueError:
        return False
    return (other.model, other.used, other.assumed) == (
        reading.model,
        reading.used,
        reading.assumed,
    )
