"""TTFT and gaps of a trace file under two budgets, and a step-by-step simulation of its beginning.

    python -m tests.bench.trace_figures azure_code.csv azure_conv.csv [--part 400]

8B textbook on one A100, budgets of 512 and 2,048, the cache as large as 0.90 of memory leaves it.
The second table runs the first requests of each file through the tests' oracle, which recomputes
every step from scratch and shares no code with core, and says how far apart the two are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.devices import DEVICES
from core.kv_cache import capacity
from core.models import MODELS
from core.requests import RequestStream
from core.scenario import Scenario
from core.scheduling import simulate
from core.traces import read_trace
from tests.core.oracles import step_by_step

SCENARIO = Scenario(MODELS["8B"], DEVICES["A100"])
BUDGETS = (512, 2048)
HEADER = (
    f"{'trace':34} {'requests':>8} {'budget':>6} {'TTFT p50':>10} {'p99':>10} {'ITL p50':>9} "
    f"{'p99':>9} {'longest':>9} {'preempted':>9} {'took':>9}"
)


def row(
    name: str,
    count: int,
    budget: int,
    ttft: np.ndarray,
    gaps: list[float],
    lost: int,
    took_s: float,
) -> str:
    """One line of either table; `gaps` are p50, p99 and the longest, in seconds."""
    first = np.quantile(ttft, [0.5, 0.99])
    shown = [f"{value * 1e3:10,.2f}" for value in first] + [f"{gap * 1e3:9.3f}" for gap in gaps]
    return f"{name:34} {count:8,} {budget:6,} {' '.join(shown)} {lost:9,} {took_s * 1e3:6,.0f} ms"


def whole(name: str, stream: RequestStream) -> Iterator[str]:
    """The engine on the whole file."""
    for budget in BUDGETS:
        begin = time.perf_counter()
        run = simulate(stream, SCENARIO, token_budget=budget)
        gaps = [*run.itl_s.quantile([0.5, 0.99]).tolist(), run.itl_s.worst_s]
        took = time.perf_counter() - begin
        yield row(name, len(stream), budget, run.ttft_s, gaps, len(run.preemptions), took)


def part(name: str, stream: RequestStream, count: int) -> Iterator[str]:
    """The first requests through the oracle, and the largest differences of the engine from it."""
    first = RequestStream(
        stream.arrival[:count], stream.prompt_token[:count], stream.output_token[:count]
    )
    columns = (first.arrival, first.prompt_token, first.output_token)
    requests = list(zip(*(column.tolist() for column in columns), strict=True))
    room = capacity(SCENARIO, 1).cache_byte
    for budget in BUDGETS:
        begin = time.perf_counter()
        slow = step_by_step.run(
            requests, SCENARIO, budget=budget, max_sequences=256, capacity_byte=room, block=16
        )
        took = time.perf_counter() - begin
        tokens = [np.array(job.token_times) for job in slow.jobs]
        ttft = np.array([times[0] for times in tokens]) - first.arrival
        gaps = np.concatenate([np.diff(times) for times in tokens])
        figures = [*np.quantile(gaps, [0.5, 0.99]).tolist(), float(gaps.max())]
        yield row(
            f"{name}, step by step", len(first), budget, ttft, figures, len(slow.preempted), took
        )
        run = simulate(first, SCENARIO, token_budget=budget)
        quick = [*run.itl_s.quantile([0.5, 0.99]).tolist(), run.itl_s.worst_s]
        finish = np.array([times[-1] for times in tokens])
        apart = [*np.abs(run.ttft_s - ttft), *np.abs(run.log.finish - finish)]
        apart += [abs(a - b) for a, b in zip(quick, figures, strict=True)]
        yield f"{'  the engine on the same':34} is within {max(apart):.1e} s of it everywhere"


def main() -> None:
    """Print both tables for each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--part", type=int, default=400, help="requests run step by step")
    chosen = parser.parse_args()
    print(f"{SCENARIO.model.name} on {SCENARIO.device.name}; times in ms")
    print(HEADER)
    for path in chosen.files:
        stream, _ = read_trace(path.read_bytes())
        for line in (*whole(path.stem, stream), *part(path.stem, stream, chosen.part)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
