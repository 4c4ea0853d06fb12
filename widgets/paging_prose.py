"""What the section asks, tells and hands over: prediction, numbers of the prose, snippet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core import roofline
from core.devices import DEVICES
from core.fragmentation import KWON_FIGURE_2
from core.models import MODELS
from core.pool_events import EventKind
from core.pool_rules import Rules
from core.pool_script import PoolRun, parse_script, run_script
from core.pool_state import PoolState, replay
from core.pool_stories import StoryName, story
from core.scenario import Scenario
from core.units import quantity
from widgets.paging_shown import BUDGET_TOKEN, RESERVE_TOKEN, YOURS, Shown, fit_all
from widgets.paging_trace import BLOCK_TOKEN, SYNTHETIC_SEED
from widgets.predict import Prediction
from widgets.snippets import scenario_lines


def _told(name: StoryName, rules: Rules = Rules.DESIGN_DOCUMENT) -> tuple[PoolRun, PoolState]:
    run = run_script(story(name), num_blocks=16, block_size=4, rules=rules)
    return run, replay(run.start, run.events)


def prediction() -> Prediction:
    """Two prompts of 19 and 17 tokens that share 12, in blocks of 4."""
    run, state = _told("shared")
    first, second = run.operations
    shared = state.cache_hits
    return Prediction(
        question=f"Two prompts of {len(first.tokens)} and {len(second.tokens)} tokens begin with "
        f"the same 12. In blocks of {run.block_size} tokens, how many blocks are in use?",
        options=("6", "7", "9", "10"),
        answer=str(state.in_use),
        because=f"Each table has 5 entries. {shared} full blocks hold the common beginning and "
        f"are in both tables, so 10 entries need {state.in_use} blocks.",
        covers=("pool", "tables", "queue", "in_use", "hits", "tail", "skipped", "saved", "summary"),
    )


def prose() -> dict[str, str]:
    """The numbers that the text asks for by name, at the reference's settings."""
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    fits = fit_all(RESERVE_TOKEN, 4)
    shared, reuse, churn = (_told(name)[1] for name in ("shared", "reuse", "churn"))
    evicted = [
        str(event.block) for event in _told("churn")[0].events if event.kind is EventKind.EVICT
    ]
    numbers = " ".join(map(str, range(32)))
    whole = [
        run_script(
            parse_script(f"A: {numbers}\nrelease A\nB: {numbers}"),
            num_blocks=8,
            block_size=16,
            rules=rules,
        )
        for rules in (Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY)
    ]
    document, today = (len([e for e in run.events if e.kind is EventKind.TOUCH]) for run in whole)
    useful = {row.system: f"{100 * row.useful_fraction:.1f} %" for row in KWON_FIGURE_2}

    def prefill(tokens: int, offset: int = 0) -> str:
        cost = roofline.step_costs(scenario, prefill_tokens=tokens, prefill_offset=offset)
        return quantity(float(cost.time_s), "s")

    return {
        "budget": f"{BUDGET_TOKEN:,}",
        "reserve": f"{RESERVE_TOKEN:,}",
        "reserved_fit": f"{int(fits.reserved.sequences)}",
        "reserved_waste": f"{float(fits.reserved.waste_percent):.1f} %",
        "paged_fit": f"{int(fits.sixteen.sequences)}",
        "paged_waste": f"{float(fits.sixteen.waste_percent):.1f} %",
        "drawn_fit": f"{int(fits.drawn.sequences)}",
        "orca_max": useful["Orca (Max)"],
        "orca_oracle": useful["Orca (Oracle)"],
        "orca_pow2": useful["Orca (Pow2)"],
        "vllm_useful": useful["vLLM"],
        "shared_hits": str(shared.cache_hits),
        "shared_in_use": str(shared.in_use),
        "reuse_hits": str(reuse.cache_hits),
        "evictions": str(churn.evictions),
        "evicted": ", ".join(evicted),
        "whole_document": str(document),
        "whole_today": str(today),
        "prefill_long": prefill(4_096),
        "prefill_rest": prefill(256, 3_840),
        "prefill_short": prefill(12),
        "lone_step": quantity(
            float(roofline.step_costs(scenario, decode_batch=1, context=2_048).time_s), "s"
        ),
    }


def snippet(shown: Shown, inputs: Mapping[str, Any]) -> str:
    """Python that imports core only and prints the readouts."""
    run = shown.story.run
    own = inputs["pool_story"] == YOURS
    rules = "VLLM_TODAY" if run.rules is Rules.VLLM_TODAY else "DESIGN_DOCUMENT"
    asked = (
        f"parse_script({inputs['pool_requests']!r})"
        if own
        else f"story({inputs['pool_story']!r}, {inputs['shared_prefix']})"
    )
    return "\n".join(
        [
            *scenario_lines(shown.scenario),
            "from core import roofline",
            "from core.fragmentation import paged, reserved",
            "from core.kv_cache import tokens_that_fit",
            "from core.pool_events import EventKind",
            "from core.pool_rules import Rules",
            f"from core.pool_script import {'parse_script, ' if own else ''}run_script",
            "from core.pool_state import replay",
            f"from core.pool_stories import reference_lengths{'' if own else ', story'}",
            "from core.prefix_reuse import prefix_reuse",
            "",
            f"blocks, size, step = {run.num_blocks}, {run.block_size}, {shown.step}",
            f"asked = {asked}",
            f"run = run_script(asked, num_blocks=blocks, block_size=size, rules=Rules.{rules})",
            "state = replay(run.start, run.events[:step])",
            "held = sum(t for t, r in zip(state.filled_token, state.ref_counts) if r)",
            "hits = [n for _, n in run.count(EventKind.TOUCH, step)]",
            "costs = [roofline.step_costs(scenario, prefill_tokens=n * size) for n in hits]",
            'print("hits and evictions, blocks:", state.cache_hits, state.evictions)',
            'print("blocks in use:", state.in_use)',
            'print("empty in partial blocks, tokens:", state.in_use * size - held)',
            'print("prefill skipped, tokens:", sum(hits) * size)',
            'print("their prefill would take, s:", sum(float(c.time_s) for c in costs))',
            "",
            "lengths = reference_lengths(1_000)",
            f"blocked = paged(lengths, budget_token={BUDGET_TOKEN}, block_size=size)",
            "booked = reserved(",
            f"    lengths, budget_token={BUDGET_TOKEN}, max_length_token={shown.fits.reserve}",
            ")",
            'print("paged over reserved:", float(blocked.sequences / booked.sequences))',
            "",
            *_trace_lines(shown),
        ]
    )


def _trace_lines(shown: Shown) -> list[str]:
    if shown.reuse.dropped:
        source = [
            "from core.traces import read_trace",
            f"stream, _ = read_trace(open({shown.reuse.name!r}, encoding='utf-8').read())",
        ]
    else:
        source = [
            "import numpy as np",
            "from core.multi_turn import conversations",
            f"stream = conversations(np.random.default_rng({SYNTHETIC_SEED}))",
        ]
    lines = [*source, "reuse = prefix_reuse(stream.hash_ids, stream.prompt_token)"]
    if not shown.capacity_block:
        return [*lines, 'print("found without bounds:", reuse.unbounded().token_hit_rate)']
    return [
        *lines,
        f"fit = min(tokens_that_fit(scenario) // {BLOCK_TOKEN}, reuse.distinct_blocks)",
        'print("found of the trace, %:", 100 * float(reuse.at(fit).token_hit_rate[0]))',
    ]
