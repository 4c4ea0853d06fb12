"""The reference program, every claim, the matrix of faults and the sweep of seeds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from core.checks import CHECKS, Trial, matrix, run_checks
from core.checks.sweep import latency_sweep
from core.reference_program import run


def median_ms(work: Callable[[], object], runs: int = 7) -> float:
    """Median time of `work`, in milliseconds."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def rows() -> Iterator[tuple[str, str, str]]:
    """One row each."""
    yield "the whole reference program", f"{median_ms(run):.1f} ms", "≤ 100 ms"
    every = f"all {len(CHECKS)} claims"
    yield every, f"{median_ms(lambda: run_checks(CHECKS, Trial())):.0f} ms", ""
    yield "8 faults × every claim on the parts", f"{median_ms(matrix, 3):.0f} ms", ""
    yield "500 seeds under both policies", f"{median_ms(latency_sweep, 3):.0f} ms", ""


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
