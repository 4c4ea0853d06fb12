"""The trace behind the section's last chart: a dropped one, or a synthetic one until then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from core.multi_turn import conversations
from core.prefix_reuse import ReuseCurve, prefix_reuse
from core.requests import RequestStream
from core.traces import read_trace

BLOCK_TOKEN = 512
SYNTHETIC_SEED = 9
CURVE_POINTS = 48
MAX_FILE_BYTE = 10_000_000


@dataclass(frozen=True, slots=True)
class TraceReuse:
    """Prefix reuse of one trace: `curve` to draw, `exact` at every size where the hits change."""

    name: str
    dropped: bool
    notes: tuple[str, ...]
    requests: int
    distinct_blocks: int
    curve: ReuseCurve
    exact: ReuseCurve

    def hit_tokens(self, capacity_block: float) -> int:
        """Prompt tokens found in an LRU cache of that many blocks."""
        held = int(np.searchsorted(self.exact.capacity_block, capacity_block, side="right"))
        return int(self.exact.hit_tokens[held - 1]) if held else 0

    @property
    def prompt_tokens(self) -> int:
        """The length of all prompts together."""
        return self.curve.prompt_tokens

    @property
    def best_rate(self) -> float:
        """Share of the prompt tokens that a cache without bounds finds."""
        return float(self.curve.token_hit_rate[-1])


def measure(
    stream: RequestStream, name: str, *, dropped: bool = False, notes: tuple[str, ...] = ()
) -> TraceReuse:
    """The reuse of a stream that has block ids."""
    reuse = prefix_reuse(stream.hash_ids or (), stream.prompt_token, block_token=BLOCK_TOKEN)
    steps = np.unique(reuse.needed_block[reuse.needed_block > 0])
    return TraceReuse(
        name=name,
        dropped=dropped,
        notes=notes,
        requests=len(stream),
        distinct_blocks=reuse.distinct_blocks,
        curve=reuse.curve(CURVE_POINTS),
        exact=reuse.at(steps if steps.size else [1]),
    )


@lru_cache(maxsize=1)
def synthetic() -> TraceReuse:
    """The trace that stands there until a file is dropped, the same for every reader."""
    stream = conversations(np.random.default_rng(SYNTHETIC_SEED))
    return measure(stream, stream.source)


def check_size(name: str, text: str) -> None:
    """Raise `ValueError` for a file over 10 MB."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_FILE_BYTE:
        raise ValueError(
            f"{name} has {size / 1e6:,.1f} MB; at most {MAX_FILE_BYTE / 1e6:,.0f} MB can be used"
        )


def read(name: str, text: str) -> RequestStream:
    """A dropped file as a stream with block ids; `source` says what was recognised in it.

    Raises `ValueError` with the file's name where it cannot be read or has no ids.
    """
    try:
        stream, notes = read_trace(text)
    except ValueError as error:
        raise ValueError(f"{name} was not taken: {error}") from error
    if not stream.hash_ids or not any(stream.hash_ids):
        raise ValueError(
            f"{name} was not taken: it has no hash_ids, the ids of each prompt's "
            f"{BLOCK_TOKEN}-token blocks, so it cannot say what its prompts share"
        )
    return replace(stream, source=f"{name}: {' '.join(notes.sentences)}")
