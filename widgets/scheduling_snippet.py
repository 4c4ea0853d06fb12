"""“Reproduce in Python” for section 5: code that imports core only and prints the readouts."""

from __future__ import annotations

from widgets.scheduling_prompt import Question, limit, spread
from widgets.scheduling_stream import BLOCK_TOKEN, Plan, Trace
from widgets.scheduling_text import Targets
from widgets.snippets import scenario_lines


def snippet(question: Question, plan: Plan, targets: Targets, never: str = "") -> str:
    """The present choice as a program; `never` says why the stream does not run, where it does not.

    The program leaves out what the page cannot show either.
    """
    stream = _run_lines(plan, targets) if not never else [f"# The stream does not run: {never}."]
    return "\n".join(
        [
            *scenario_lines(question.scenario),
            "import numpy as np",
            "from core.chunked_prefill import chunked_prefill",
            "from core.goodput import Latencies",
            "from core.scheduling import simulate",
            "",
            f"budget = {limit(question.budget)}",
            *_prompt_lines(question),
            "",
            *stream,
        ]
    )


def _run_lines(plan: Plan, targets: Targets) -> list[str]:
    return [
        *_stream_lines(plan),
        *_room_lines(plan),
        "run = simulate(",
        "    stream,",
        "    scenario,",
        "    token_budget=budget,",
        f"    chunked={plan.chunked},",
        f"    reserved_fraction={plan.memory_share},",
        *(["    room=room,"] if plan.common_prefix is not None else []),
        ")",
        'print("stream, TTFT p50 and p99, s:", *np.quantile(run.ttft_s, [0.5, 0.99]))',
        "if run.itl_s.count:  # answers of one token have no gap",
        '    print("stream, ITL p50 and p99, s:", *run.itl_s.quantile([0.5, 0.99]))',
        f"targets = {{'ttft_target_s': {targets.ttft_s}, 'itl_target_s': {targets.itl_s}}}",
        f"goodput = Latencies.of(run).goodput_per_s(**targets, judge={targets.judge!r})",
        'print("goodput, requests/s:", goodput)',
        'print("preemptions:", len(run.preemptions))',
    ]


def _prompt_lines(q: Question) -> list[str]:
    found = spread(q, q.budget)
    if found.prefill is None:
        return [f"# The prompt never starts: {found.never}."]
    whole = found.prefill.steps == 1
    return [
        f"prompt, decoding, context = {q.prompt}, {q.decoding}, {q.context}",
        "prefill = chunked_prefill(",
        f"    scenario, prompt, decoding, context, {None if whole else 'budget'}",
        ")",
        'print("TTFT of the prompt, s:", prefill.ttft_s)',
        'print("longest gap of the others, s:", prefill.worst_s)',
        'print("pause, times:", prefill.pause_ratio)',
        'print("steps:", prefill.steps)',
    ]


def _room_lines(plan: Plan) -> list[str]:
    if plan.common_prefix is None:
        return []
    return [
        "from core.pool_room import PoolRoom",
        "",
        "room = PoolRoom.of(",
        "    stream,",
        "    scenario,",
        f"    block_token={BLOCK_TOKEN},",
        f"    reserved_fraction={plan.memory_share},",
        f"    shared_token={plan.common_prefix},",
        ")",
    ]


def _stream_lines(plan: Plan) -> list[str]:
    source = plan.source
    if isinstance(source, Trace):
        lines = [
            "from core.traces import read_trace",
            "",
            f"stream, notes = read_trace(open({source.name!r}).read())",
        ]
    else:
        lines = [
            "from core.requests import Lengths, random_stream",
            "",
            "stream = random_stream(",
            f"    np.random.default_rng({source.seed}),",
            f"    {source.requests},",
            "    1.0,",
            f"    Lengths({source.mean_prompt}, {source.length_cv}),",
            f"    Lengths({source.mean_answer}, {source.length_cv}),",
            f"    gap_cv={source.gap_cv},",
            ")",
        ]
    return lines if plan.rate is None else [*lines, f"stream = stream.at_rate({plan.rate})"]
