"""Timings of the request simulator: rows of (what, measured, target).

Run alone with `python -m tests.bench.bench_scheduling`. Times are processor time of this one
process, best of several runs, which is what the code costs when nothing else runs. A run counts
the simulation, every TTFT, and the exact distribution of gaps with its median, p95 and p99.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from core.devices import DEVICES
from core.models import MODELS
from core.requests import Lengths, RequestStream, random_stream
from core.scenario import Scenario
from core.scheduling import Schedule, simulate
from core.traces import read_trace
from tests.core.oracles import step_by_step

TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])
SHARES = [0.5, 0.95, 0.99]


def poisson(requests: int) -> RequestStream:
    """1,024 tokens in, 128 out, four a second."""
    return random_stream(np.random.default_rng(1), requests, 4.0, Lengths(1024), Lengths(128))


def best_s(work: Callable[[], object], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def served(stream: RequestStream) -> Schedule:
    result = simulate(stream, TEXTBOOK, token_budget=2048)
    assert result.ttft_s.size == len(stream)
    result.itl_s.quantile(SHARES)
    return result


def speed_rows() -> list[tuple[str, str, str]]:
    each = {}
    for requests, runs in ((1_000, 60), (10_000, 12), (100_000, 4), (1_000_000, 2)):
        stream = poisson(requests)
        each[requests] = best_s(lambda stream=stream: served(stream), runs) / requests
    table = [
        (
            f"simulate {requests:,} requests with TTFT and exact ITL",
            f"{1 / seconds:,.0f} requests/s ({seconds * 1e6:.2f} µs each)",
            "≥ 200,000/s" if requests == 10_000 else "",
        )
        for requests, seconds in each.items()
    ]
    spread = max(each.values()) / min(each.values()) - 1
    return [*table, ("time per request, 1,000 to 1,000,000", f"{spread:.0%} apart", "≤ 20 %")]


def oracle_rows() -> list[tuple[str, str, str]]:
    stream = poisson(1_000)
    columns = (stream.arrival, stream.prompt_token, stream.output_token)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    outcomes = []
    seconds = best_s(
        lambda: outcomes.append(step_by_step.run(rows, TEXTBOOK, budget=2048, max_sequences=256)), 1
    )
    slow = np.array([job.token_times[-1] for job in outcomes[0].jobs])
    apart = float(np.abs(served(stream).log.finish - slow).max())
    return [
        (
            "the tests' step-by-step oracle, 1,000 requests",
            f"{1_000 / seconds:,.0f} requests/s",
            "",
        ),
        ("largest difference of a finish from it", f"{apart:.1e} s", "≤ 1e-9 of it"),
    ]


def full_cache_rows() -> list[tuple[str, str, str]]:
    generator = np.random.default_rng(1)
    stream = random_stream(generator, 10_000, 20.0, Lengths(1024, 1.0), Lengths(256, 0.8))
    results = []
    seconds = best_s(lambda: results.append(simulate(stream, TEXTBOOK, cache_token=60_000)), 3)
    what = f"cache of 60,000 tokens always full, {len(results[0].preemptions):,} preemptions"
    return [(what, f"{10_000 / seconds:,.0f} requests/s", "")]


def trace_rows() -> list[tuple[str, str, str]]:
    generator = np.random.default_rng(2)
    made = random_stream(generator, 20_000, 5.0, Lengths(1150, 1.0), Lengths(250, 1.0), gap_cv=2.0)
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    origin = np.datetime64("2023-11-16T18:00:00")
    stamps = origin + (made.arrival * 1e6).astype("timedelta64[us]")
    columns = (stamps, made.prompt_token, made.output_token)
    lines += [f"{stamp},{p},{o}" for stamp, p, o in zip(*columns, strict=True)]
    data = "\n".join(lines).encode()
    load = best_s(lambda: read_trace(data), 3)
    stream, _ = read_trace(data)
    run = best_s(lambda: served(stream), 3)
    return [
        ("a trace of 20,000 rows: load", f"{load * 1e3:.0f} ms", ""),
        ("a trace of 20,000 rows: load and run", f"{(load + run) * 1e3:.0f} ms", "< 2 s"),
    ]


def rows() -> list[tuple[str, str, str]]:
    """Every measurement here."""
    return [*speed_rows(), *oracle_rows(), *full_cache_rows(), *trace_rows()]


if __name__ == "__main__":
    for row in rows():
        print("{:<60} {:>40}   {}".format(*row))
