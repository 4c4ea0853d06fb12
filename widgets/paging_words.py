"""The section in words and numbers: readouts with their arithmetic, sentences and tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from core import arithmetic, roofline
from core.derivation import Derivation, Expression, Term, as_expression, floor, total
from core.fragmentation import KWON_FIGURE_2
from core.kv_cache import capacity
from core.pool_events import EventKind
from core.pool_script import Operation
from core.pool_state import PoolState
from core.scenario import Scenario
from core.units import counted, significant, split_quantity
from widgets.paging_picture import MAX_DRAWN, held_tokens
from widgets.paging_shown import BUDGET_TOKEN, Fits, Shown
from widgets.paging_trace import BLOCK_TOKEN, SYNTHETIC_SEED
from widgets.readouts import Readout

Counted = list[tuple[Operation, int]]


def readouts(shown: Shown) -> tuple[Readout, ...]:
    """The eight numbers of the card, each with its arithmetic."""
    run, state, step = shown.story.run, shown.picture.state, shown.step
    touched = run.count(EventKind.TOUCH, step)
    hits = Derivation("hits, by request", "h", _by_request("h", touched))
    evictions = Derivation("evictions", "e", _by_request("e", run.count(EventKind.EVICT, step)))
    in_use = Derivation(
        "blocks in use",
        "u",
        Term("n", run.num_blocks) - Term("f", len(state.free_queue)),
    )
    size = Term("s", run.block_size, "tokens")
    tail = Derivation(
        "slots held and empty",
        "w",
        in_use.term * size - Term("t", held_tokens(state), "tokens"),
        "tokens",
    )
    skipped = Derivation("prefill tokens skipped", "k", hits.term * size, "tokens")
    saved = _prefill(shown.scenario, touched, run.block_size)
    return (
        Readout("hits", "cache hits, blocks", f"{state.cache_hits:,}", "", (hits,)),
        Readout("in_use", "blocks in use", f"{state.in_use:,}", "", (in_use,)),
        Readout("evictions", "evictions", f"{state.evictions:,}", "", (evictions,)),
        Readout(
            "tail",
            "empty in partial blocks",
            *counted(tail.value, "token").split(" "),
            (in_use, tail),
        ),
        Readout(
            "skipped",
            "prefill skipped",
            *counted(skipped.value, "token").split(" "),
            (hits, skipped),
        ),
        Readout(
            "saved",
            "their prefill would take",
            *(split_quantity(saved[-1].value, "s") if touched else ("none", "")),
            saved,
        ),
        _gain(shown.fits),
        _rate(shown),
    )


def _by_request(symbol: str, counted: Counted) -> Expression:
    terms: list[Expression] = [Term(f"{symbol}_{op.request}", number) for op, number in counted]
    return total(terms) if terms else as_expression(0)


def _prefill(scenario: Scenario, touched: Counted, block_size: int) -> tuple[Derivation, ...]:
    """One prefill step for each request that skipped tokens, of as many tokens."""
    lengths = Counter(number * block_size for _, number in touched)
    if not lengths:
        return (Derivation("prefill that was skipped", "T", as_expression(0), "s"),)
    parts: list[Expression] = []
    for tokens, requests in sorted(lengths.items()):
        seconds = float(roofline.step_costs(scenario, prefill_tokens=tokens).time_s)
        one: Expression = Term(f"T_{tokens}", seconds, "s")
        parts.append(one if requests == 1 else Term(f"n_{tokens}", requests) * one)
    longest = arithmetic.step_time(scenario, 0, 1, max(lengths))
    return (*longest, Derivation("prefill that was skipped", "T_all", total(parts), "s"))


def _gain(fits: Fits) -> Readout:
    gain = Derivation(
        f"in blocks of {fits.block_size:,} over reserved",
        "g",
        Term("n_paged", float(fits.paged.sequences))
        / Term("n_reserved", float(fits.reserved.sequences)),
        "x",
    )
    return Readout("gain", "sequences, paged over reserved", significant(gain.value), "×", (gain,))


def _rate(shown: Shown) -> Readout:
    label = "of the trace's prompts found"
    scenario, blocks = shown.scenario, shown.capacity_block
    if not blocks:
        why = Derivation("blocks that fit", "c", as_expression(0))
        return Readout("rate", label, "none", "no cache of tokens fits", (why,))
    (each,) = arithmetic.bytes_per_token(scenario)
    budget = Term("K", capacity(scenario, 1).cache_byte, "B")
    fits = Derivation("blocks that fit", "c", floor(floor(budget / each.term) / BLOCK_TOKEN))
    found = Term("t_hit", shown.reuse.hit_tokens(blocks), "tokens")
    rate = Derivation(
        "share found", "p", 100 * (found / Term("t", shown.reuse.prompt_tokens, "tokens")), "%"
    )
    return Readout("rate", label, significant(rate.value), "%", (each, fits, rate))


def summary(shown: Shown) -> str:
    """How the pool stands at this step, and what the requests so far were spared."""
    state, run = shown.picture.state, shown.story.run
    now = run.operation_at(shown.step)
    asked = sum(
        len(operation.tokens)
        for operation in run.operations[: now + 1]
        if operation.kind != "release"
    )
    shared = shown.picture.counts["shared"]
    skipped = state.cache_hits * run.block_size
    return (
        f"{state.in_use:,} of {counted(run.num_blocks, 'block')} "
        f"{'is' if state.in_use == 1 else 'are'} in use, {shared:,} of them shared. Of "
        f"{counted(asked, 'token')} asked for so far, "
        f"{counted(skipped, 'was found and needs', 'were found and need')} no prefill."
    )


def event_sentence(shown: Shown) -> str:
    """What happened at this step, and why."""
    event = shown.picture.event
    if event is None:
        return "Nothing has happened yet: every block is free and empty."
    return f"{event.reason[0].upper()}{event.reason[1:]}."


def sentences(shown: Shown) -> dict[str, str]:
    """One live sentence for each chart."""
    return {
        "pool": _pool_sentence(shown),
        "tables": _tables_sentence(shown.picture.state),
        "queue": _queue_sentence(shown),
        "reserved": _reserved_sentence(shown.fits),
        "reuse": _reuse_sentence(shown),
    }


def _pool_sentence(shown: Shown) -> str:
    size = len(shown.picture.state.ref_counts)
    listed = ", ".join(f"{count:,} {state}" for state, count in shown.picture.counts.items())
    if size <= MAX_DRAWN:
        return f"Of {counted(size, 'block')}: {listed}."
    return (
        f"{size:,} blocks are too many to draw one by one, so they are counted by state: {listed}. "
        "The bars are logarithmic."
    )


def _tables_sentence(state: PoolState) -> str:
    if not state.tables:
        return "No request holds a block."
    said = [f"{request}: {_listed(table)}" for request, table in list(state.tables.items())[:4]]
    more = len(state.tables) - len(said)
    return "; ".join(said) + (f"; and {more:,} more" if more else "") + "."


def _queue_sentence(shown: Shown) -> str:
    free = shown.picture.state.free_queue
    if not free:
        return "No block is free: the next request that needs one is refused."
    cached = shown.picture.counts["free and cached"]
    return (
        f"{counted(len(free), 'free block')} from head to tail: {_listed(free)}. "
        f"{counted(cached, 'of them holds', 'of them hold')} content that can still be found."
    )


def _listed(blocks: tuple[int, ...], most: int = 16) -> str:
    if len(blocks) <= most:
        return " ".join(map(str, blocks))
    head, tail = blocks[: most - 2], blocks[-1]
    return f"{' '.join(map(str, head))} … {tail}"


def _reserved_sentence(fits: Fits) -> str:
    return (
        f"Of {BUDGET_TOKEN:,} slots, {fits.reserve:,} reserved for each sequence hold "
        f"{int(fits.reserved.sequences):,} of them and leave "
        f"{significant(float(fits.reserved.waste_percent))} % empty. Blocks of 16 hold "
        f"{int(fits.sixteen.sequences):,} and leave "
        f"{significant(float(fits.sixteen.waste_percent))} % of what they take empty; the "
        f"reference program stops at {int(fits.drawn.sequences):,} because it draws no more. "
        f"Blocks of {fits.block_size:,} hold {int(fits.paged.sequences):,}."
    )


def _reuse_sentence(shown: Shown) -> str:
    reuse = shown.reuse
    blocks = counted(reuse.distinct_blocks, "different block")
    size = f"{counted(reuse.requests, 'request')} with {blocks}"
    what = (
        f"{reuse.name}: {size}."
        if reuse.dropped
        else f"Not a real trace: {reuse.name} drawn from seed {SYNTHETIC_SEED}, {size}. Drop your "
        "own under “More controls”."
    )
    best = (
        f"A cache without bounds finds {significant(100 * reuse.best_rate)} % of the prompt tokens"
    )
    if not shown.capacity_block:
        return f"{what} {best}; no cache of tokens fits this scenario."
    fit = counted(shown.capacity_block, "block that fits", "blocks that fit")
    return (
        f"{what} {best}, the {fit} beside the weights of {shown.scenario.model.name} "
        f"{'finds' if shown.capacity_block == 1 else 'find'} {significant(shown.rate_percent)} %."
    )


def tables(shown: Shown) -> dict[str, dict[str, Any]]:
    """The columns behind each chart."""
    state = shown.picture.state
    counts = shown.picture.counts
    entries = [
        (request, position, block, state.filled_token[block - state.first_id])
        for request, table in state.tables.items()
        for position, block in enumerate(table)
    ]
    request, position, block, filled = zip(*entries, strict=True) if entries else ((),) * 4
    queue = np.array(state.free_queue, dtype=int)
    cached = np.array([key is not None for key in state.keys])
    pool = (
        state.columns()
        if shown.story.drawn
        else {"state": np.array(list(counts)), "blocks": np.array(list(counts.values()))}
    )
    curve = shown.reuse.curve
    return {
        "pool": pool,
        "tables": {
            "request": np.array(request, dtype=np.str_),
            "position": np.array(position, dtype=int),
            "block": np.array(block, dtype=int),
            "filled_token": np.array(filled, dtype=int),
        },
        "queue": {
            "place": np.arange(1, len(queue) + 1),
            "block": queue,
            "cached": cached[queue - state.first_id],
        },
        "reserved": _reserved_table(shown.fits),
        "reuse": {
            "cache_blocks": curve.capacity_block,
            "hit_tokens": curve.hit_tokens,
            "hit_percent": 100 * curve.token_hit_rate,
        },
    }


def _reserved_table(fits: Fits) -> dict[str, Any]:
    ours = [
        (f"reserved {fits.reserve}", fits.reserved),
        ("blocks of 16", fits.sixteen),
        (f"blocks of {fits.block_size} (chosen)", fits.paged),
    ]
    names = [name for name, _ in ours] + [f"{m.system}, Kwon et al." for m in KWON_FIGURE_2]
    unknown = [float("nan")] * len(KWON_FIGURE_2)
    return {
        "way": np.array(names),
        "sequences": np.array([float(fit.sequences) for _, fit in ours] + unknown),
        "taken_token": np.array([float(fit.taken_token) for _, fit in ours] + unknown),
        "held_token": np.array([float(fit.held_token) for _, fit in ours] + unknown),
        "in_use_percent": np.array(
            [100 - float(fit.waste_percent) for _, fit in ours]
            + [100 * measured.useful_fraction for measured in KWON_FIGURE_2]
        ),
    }
