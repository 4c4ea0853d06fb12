"""What the pool's three charts show at one step: which blocks, where, and in whose colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from core.pool_events import Event, EventKind
from core.pool_script import PoolRun
from core.pool_state import Playback, PoolState
from core.units import counted

MAX_DRAWN = 64
OWNERS = 6
QUEUE_COLUMNS, QUEUE_COLUMNS_LARGE = 16, 8
TABLE_LINES = 12
HALF = 0.46

Place: TypeAlias = tuple[float, float]
Entry: TypeAlias = tuple[str, int, Place]

_ENDS = ("x", "y", "dy", "text", "align")


@dataclass(frozen=True, slots=True)
class Story:
    """A run that can be stepped through, and what stays the same during it."""

    run: PoolRun
    playback: Playback
    slots: Mapping[str, int]
    table_columns: int
    table_lines: int

    @property
    def drawn(self) -> bool:
        """Whether the blocks are few enough to be drawn one by one."""
        return self.run.num_blocks <= MAX_DRAWN


def tell(run: PoolRun) -> Story:
    """Prepare a run for stepping: colours by order of first request, room for its tables."""
    slots: dict[str, int] = {}
    for operation in run.operations:
        slots.setdefault(operation.request, len(slots) % OWNERS)
    large = run.num_blocks > MAX_DRAWN
    # States of a large pool are big: keep only the first and replay the rest.
    playback = Playback(run.start, run.events, stride=1_000_000 if large else 64)
    longest, most = _table_room(run.events)
    columns = min(QUEUE_COLUMNS_LARGE if large else QUEUE_COLUMNS, max(5, longest))
    return Story(run, playback, slots, columns, min(TABLE_LINES, max(5, most(columns))))


def _table_room(events: Iterable[Event]) -> tuple[int, Any]:
    """The longest table of a run, and a function from columns to the most lines ever needed."""
    lengths: dict[str, int] = {}
    seen: set[tuple[int, ...]] = set()
    longest = 1
    for event in events:
        if event.kind in (EventKind.POP, EventKind.TOUCH):
            lengths[event.request] = lengths.get(event.request, 0) + 1
            longest = max(longest, lengths[event.request])
            seen.add(tuple(length for length in lengths.values() if length))
        elif event.kind is EventKind.RELEASE:
            lengths[event.request] -= 1

    def lines(columns: int) -> int:
        return max((sum(-(-length // columns) for length in table) for table in seen), default=1)

    return longest, lines


@dataclass(frozen=True, slots=True)
class Picture:
    """The drawn pool at one step.

    `blocks` has one row a drawn block for the tiles that all three charts share: its corner in
    the grid (gx, gy), in the queue (qx, qy) and in the tables (outlines txs, tys); a place that it
    does not have is not a number. `entries` are the ids in the tables, `names` the requests.
    """

    state: PoolState
    event: Event | None
    counts: Mapping[str, int]
    columns: int
    rows: int
    blocks: dict[str, list[Any]]
    tails: dict[str, list[float]]
    entries: dict[str, list[Any]]
    names: dict[str, list[Any]]
    queue_ends: dict[str, list[Any]]
    now: Mapping[str, Place | None]


def draw(story: Story, step: int) -> Picture:
    """The picture after the first `step` events of a run."""
    state = story.playback.state(step)
    event = story.playback.event(step) if step else None
    size = len(state.ref_counts)
    columns = min(8, math.ceil(math.sqrt(size)))
    grid = _grid(state, columns) if story.drawn else {}
    queue, turns, ends = _queue(state, drawn=story.drawn)
    entries, names = _tables(state, story)
    outlines: dict[int, list[Place]] = {}
    for _, block, place in entries:
        outlines.setdefault(block, []).append(place)
    ids = sorted({*grid, *queue, *outlines})
    return Picture(
        state=state,
        event=event,
        counts=counts(state),
        columns=columns,
        rows=math.ceil(size / columns),
        blocks=_blocks(state, story, ids, (grid, queue, outlines), turns),
        tails=_tails(state, grid),
        entries=_columns(("x", "y", "id"), [(*place, str(block)) for _, block, place in entries]),
        names=names,
        queue_ends=ends,
        now=_now(event, grid, queue, entries),
    )


def counts(state: PoolState) -> dict[str, int]:
    """How many blocks are held once, shared, free with cached content, and free and empty."""
    references = np.array(state.ref_counts)
    cached = np.array([key is not None for key in state.keys])
    free = references == 0
    return {
        "held by one": int(np.sum(references == 1)),
        "shared": int(np.sum(references > 1)),
        "free and cached": int(np.sum(free & cached)),
        "free and empty": int(np.sum(free & ~cached)),
    }


def held_tokens(state: PoolState) -> int:
    """Tokens in the blocks that are in use; a shared block's count once."""
    return sum(
        filled
        for filled, references in zip(state.filled_token, state.ref_counts, strict=True)
        if references
    )


def _grid(state: PoolState, columns: int) -> dict[int, Place]:
    return {
        block: (index % columns + 0.5, index // columns + 0.5)
        for index, block in enumerate(range(state.first_id, state.first_id + len(state.ref_counts)))
    }


def _queue(
    state: PoolState, *, drawn: bool
) -> tuple[dict[int, Place], dict[int, int], dict[str, list[Any]]]:
    """Where the drawn part of the free queue stands, each block's turn, and its ends in words."""
    free = state.free_queue
    columns = QUEUE_COLUMNS if drawn else QUEUE_COLUMNS_LARGE
    if not free:
        return {}, {}, _columns(_ENDS, [(0.5 - HALF, 0.5, 0, "no block is free", "left")])
    whole = drawn or len(free) <= 2 * columns
    turns = range(len(free))
    shown = [*turns] if whole else [*turns[:columns], *turns[-columns:]]
    places = {}
    for index, turn in enumerate(shown):
        line = index // columns
        places[free[turn]] = (index % columns + 0.5, (line if whole else 2 * line) + 0.5)
    (x, y), (end_x, end_y) = places[free[0]], places[free[-1]]
    right = end_x > columns / 2
    end = end_x + HALF if right else end_x - HALF
    ends = [
        (x - HALF, y - HALF, 11, "head: taken next", "left"),
        (end, end_y + HALF, -12, "tail: given back last", "right" if right else "left"),
    ]
    if not whole:
        ends.append((0.5 - HALF, 1.5, 0, f"… {len(free) - len(shown):,} more …", "left"))
    return places, {free[turn]: turn for turn in shown}, _columns(_ENDS, ends)


def _tables(state: PoolState, story: Story) -> tuple[list[Entry], dict[str, list[Any]]]:
    """The block tables in lines: an entry for each block drawn, and what is written beside them."""
    entries: list[Entry] = []
    names: list[tuple[float, float, str]] = []
    line, wide, tables = 0, story.table_columns, list(state.tables.items())
    for index, (request, table) in enumerate(tables):
        needed = -(-len(table) // wide)
        room = story.table_lines - line - (index < len(tables) - 1)
        if needed > room and line:
            names.append((0.1, line + 0.5, f"and {counted(len(tables) - index, 'more table')}"))
            break
        names.append((0.1, line + 0.5, request))
        shown = table if needed <= room else table[: wide * (story.table_lines - 1)]
        for position, block in enumerate(shown):
            x, y = position % wide + 1.5, line + position // wide + 0.5
            entries.append((request, block, (x, y)))
        if len(shown) < len(table):
            more = f"… {counted(len(table) - len(shown), 'more block')}"
            names.append((0.1, story.table_lines - 0.5, more))
            break
        line += needed
    if not tables:
        names.append((0.1, 0.5, "no request holds a block"))
    return entries, _columns(("x", "y", "name"), names)


def _blocks(
    state: PoolState,
    story: Story,
    ids: list[int],
    places: tuple[Mapping[int, Place], Mapping[int, Place], Mapping[int, list[Place]]],
    turns: Mapping[int, int],
) -> dict[str, list[Any]]:
    grid, queue, outlines = places
    holders: dict[int, list[str]] = {}
    for request, table in state.tables.items():
        for block in table:
            holders.setdefault(block, []).append(request)
    nowhere = (math.nan, math.nan)
    rows = []
    for block in ids:
        index = block - state.first_id
        key, owners = state.keys[index], holders.get(block, [])
        look = str(story.slots[owners[0]]) if owners else "cached" if key else "free"
        references = state.ref_counts[index]
        gx, gy = grid.get(block, nowhere)
        qx, qy = queue.get(block, nowhere)
        outline = [_outline(place) for place in outlines.get(block, ())]
        rows.append(
            (
                str(block),
                gx,
                gy,
                qx,
                qy,
                _joined(xs for xs, _ in outline),
                _joined(ys for _, ys in outline),
                look,
                3.0 if key else 1.0,
                f"{block} #" if key else str(block),
                f"{owners[0]}×{references}" if owners else "×0",
                ", ".join(owners) or "nobody",
                _content(state, index),
                f"place {turns[block] + 1:,}" if block in turns else "not in it",
            )
        )
    names = "id gx gy qx qy txs tys look width top bottom who holds place"
    return _columns(names.split(), rows)


def _content(state: PoolState, index: int) -> str:
    filled, size, key = state.filled_token[index], state.block_size, state.keys[index]
    if not filled:
        return "nothing"
    part = f"{filled} of {counted(size, 'token')}"
    if key is None:
        return f"{part}, not cached"
    return f"{part}, cached as tokens {key.index * size}–{(key.index + 1) * size - 1} of a prompt"


def _tails(state: PoolState, grid: Mapping[int, Place]) -> dict[str, list[float]]:
    """The unfilled right part of each partial block of the grid."""
    rows = []
    for block, (x, y) in grid.items():
        filled = state.filled_token[block - state.first_id]
        if 0 < filled < state.block_size:
            start = x - HALF + 2 * HALF * filled / state.block_size
            rows.append((start, x + HALF, y - HALF, y + HALF))
    return _columns(("left", "right", "top", "bottom"), rows)


def _now(
    event: Event | None,
    grid: Mapping[int, Place],
    queue: Mapping[int, Place],
    entries: Iterable[Entry],
) -> dict[str, Place | None]:
    """Where the block of the event stands in each of the charts."""
    block = event.block if event else None
    request = event.request if event else ""
    mine = [place for owner, held, place in entries if (owner, held) == (request, block)]
    return {
        "pool": grid.get(block) if block is not None else None,
        "queue": queue.get(block) if block is not None else None,
        "tables": mine[0] if mine else None,
    }


def _outline(place: Place) -> tuple[list[float], list[float]]:
    x, y = place
    return (
        [x - HALF, x + HALF, x + HALF, x - HALF],
        [y - HALF, y - HALF, y + HALF, y + HALF],
    )


def _joined(parts: Iterable[list[float]]) -> list[float]:
    """Outlines in one list, a gap between them."""
    joined: list[float] = []
    for part in parts:
        joined += [math.nan, *part] if joined else part
    return joined


def _columns(names: Iterable[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
