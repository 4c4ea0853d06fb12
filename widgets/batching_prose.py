"""Section 3's prediction, the numbers of its prose, and its code to run."""

from __future__ import annotations

import numpy as np

from core.idle_slots import expected_longest
from core.scenario import Scenario
from core.units import exact, quantity, significant
from widgets.batching_runs import EARLIER_DRAWS, Draw, Played, play
from widgets.batching_words import steps_text
from widgets.predict import Prediction
from widgets.snippets import scenario_lines

_SWEEP = (1, 2, 4, 8, 16, 32)


def prediction(tie: Played, mixed: Played) -> Prediction:
    """Equal answers that arrive at once; the other options are what mixed ones would save."""
    slots, count = tie.static.slots, len(tie.stream)
    length = int(tie.stream.output_token[0])
    saved = int(tie.static.end - tie.continuous.end)
    share = 1 - mixed.continuous.end / mixed.static.end
    alike = round(share * tie.static.end)
    answers = {saved: "none", alike: f"{alike}, or {share:.0%}".replace("%", " %")}
    answers[tie.static.groups] = f"{tie.static.groups}, one a group"
    answers[int(tie.static.end) // 2] = f"{int(tie.static.end) // 2}, half"
    return Prediction(
        question=f"{count} answers of {length} tokens each arrive together, for {slots} slots. "
        f"Static batching takes {steps_text(tie.static.end)} steps. How many of them does "
        "continuous batching save?",
        options=tuple(answers.values()),
        answer=answers[saved],
        because=f"All {slots} answers of a group end in one step, so no slot waits for a longer "
        "neighbour, and nobody arrives in between. Both policies do the same at every step. The "
        "gain comes from lengths that differ and from arrivals while a group runs: on the "
        f"reference stream it is {share:.0%} of the steps.".replace("%", " %"),
        covers=("continuous-slots", "steps", "summary"),
    )


def numbers(scenario: Scenario) -> dict[str, str]:
    """What the markdown asks for, at the reference stream on the textbook pair."""
    base = Draw()
    stream = base.stream()
    sweep = {slots: play(stream, slots, scenario) for slots in _SWEEP}
    here = sweep[8]
    timed = play(stream, 8, scenario, in_time=True)
    giant = play(Draw(giant=400).stream(), 8, scenario)
    tie = play(Draw(gap=0, shortest=36, longest=36).stream(), 8, scenario)
    group = float(expected_longest(base.shortest, base.longest, 8))
    mean = (base.shortest + base.longest) / 2
    said = {
        "requests": exact(base.requests),
        "run": steps_text(float(stream.output_token.mean())),
        "first_arrival": exact(stream.arrival[0]),
        "first_group": exact((here.static.admitted == here.static.admitted.min()).sum()),
        "groups": exact(here.static.groups),
        "idle_static": exact(here.static.idle),
        "idle_wanted": exact(here.static.idle_wanted),
        "idle_wanted_continuous": exact(here.continuous.idle_wanted),
        "idle_continuous": exact(here.continuous.idle),
        "fewer": _percent(1 - here.continuous.end / here.static.end),
        "mean_length": steps_text(mean),
        "group_longest": steps_text(group),
        "group_longest_32": steps_text(float(expected_longest(base.shortest, base.longest, 32))),
        "group_share": _percent(mean / group),
        "faster_static": f"{significant(sweep[1].static.end / here.static.end, 2)} times",
        "faster_continuous": (
            f"{significant(sweep[1].continuous.end / here.continuous.end, 2)} times"
        ),
        "last_arrival": exact(stream.arrival[-1]),
        "giant_static": exact(giant.static.end),
        "giant_continuous": exact(giant.continuous.end),
        "tie_static": exact(tie.static.end),
        "tie_continuous": exact(tie.continuous.end),
        "time_static": quantity(timed.static.end, "s"),
        "time_continuous": quantity(timed.continuous.end, "s"),
        "step_ms": quantity(timed.step_s, "s"),
    }
    for name, run in (("static", here.static), ("continuous", here.continuous)):
        ranked = np.quantile(run.latency, (0.5, 0.99))
        said |= {
            f"steps_{name}": exact(run.end),
            f"mean_{name}": steps_text(float(run.latency.mean())),
            f"wait_{name}": steps_text(float(run.wait.mean())),
            f"share_{name}": f"{run.utilization:.2f}",
            f"p50_{name}": significant(float(ranked[0])),
            f"p99_{name}": significant(float(ranked[1])),
        }
    for slots, played in sweep.items():
        for letter, run in (("s", played.static), ("c", played.continuous)):
            said[f"{letter}{slots}"] = exact(run.end)
            said[f"{letter}{slots}_share"] = f"{run.utilization:.2f}"
    return said


def snippet(what: Draw | str, scenario: Scenario, played: Played) -> str:
    """Code that imports core only and prints the readouts of both policies.

    `what` is a drawn stream, or the name of a trace's file.
    """
    traced = isinstance(what, str)
    head = scenario_lines(scenario) if played.in_time or traced else []
    source = _trace_lines(what) if isinstance(what, str) else _draw_lines(what)
    imports = ["import numpy as np", "from core.idle_slots import idle_while_waiting"]
    if played.in_time != traced:
        source += [
            "context = stream.prompt_token.mean()",
            "step_s = float(step_costs(scenario, decode_batch=1, context=context).time_s)",
            f"stream = stream.in_{'steps' if traced else 'seconds'}(step_s)",
        ]
        imports.append("from core.roofline import step_costs")
    runs = _timed_lines(played) if played.in_time else _stepped_lines(played)
    lines = [*imports, *head, *source, *runs, *_print_lines(played)]
    # Imports first, in whatever part they are needed.
    return "\n".join(
        [
            *(line for line in lines if line.startswith(("import ", "from "))),
            *(line for line in lines if not line.startswith(("import ", "from "))),
        ]
    )


def _trace_lines(name: str) -> list[str]:
    return [
        "from core.traces import read_trace",
        "",
        f'stream, _ = read_trace(open({name!r}, "rb").read())',
    ]


def _draw_lines(drawn: Draw) -> list[str]:
    lengths = f"{drawn.requests}, {drawn.gap}, {drawn.shortest}, {drawn.longest}"
    made = [
        "from core.requests import Xorshift32, reference_stream",
        "",
        f"draws = Xorshift32({drawn.seed})",
        f"for _ in range({EARLIER_DRAWS}):",
        "    draws.next()",
        f"stream = reference_stream(draws, {lengths})",
    ]
    if not drawn.giant:
        return made
    return [
        "from dataclasses import replace",
        *made,
        "output = stream.output_token.copy()",
        f"output[{drawn.requests // 2}] = {drawn.giant}",
        "stream = replace(stream, output_token=output)",
    ]


def _timed_lines(played: Played) -> list[str]:
    return [
        "from core.scheduling import simulate",
        "",
        f"slots = {played.static.slots}",
        'for policy in ("static", "continuous"):',
        "    run = simulate(",
        "        stream, scenario, token_budget=None, policy=policy, max_sequences=slots",
        "    )",
        "    end, latency = run.log.end, run.e2e_s",
        "    stays = run.gantt()",
        '    busy = (stays["end_s"] - stays["begin_s"]).sum()',
    ]


def _stepped_lines(played: Played) -> list[str]:
    return [
        "from core.batching import simulate",
        "",
        f"slots = {played.static.slots}",
        "for continuous in (False, True):",
        "    run = simulate(stream, slots, continuous)",
        "    end, latency = run.steps, run.latency_steps",
        "    busy = stream.output_token.sum()",
    ]


def _print_lines(played: Played) -> list[str]:
    return [
        f'    print("{"seconds" if played.in_time else "steps"}:", end)',
        '    print("mean latency:", latency.mean())',
        '    print("share of slots in use:", busy / (slots * end))',
        "    now = run.occupancy()",
        '    print("idle while someone waits:", idle_while_waiting(**now, slots=slots))',
        '    print("p50, p95, p99:", *np.quantile(latency, (0.5, 0.95, 0.99)).tolist())',
        '    print("mean wait:", (run.log.admitted - stream.arrival).mean())',
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
