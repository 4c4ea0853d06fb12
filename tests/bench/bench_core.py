"""Throughput of the cost model."""

from __future__ import annotations

import statistics
import time

import numpy as np

from core import roofline
from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario


def per_second(count: int, model: str) -> float:
    """Median steps a second over seven sweeps of `count` batches."""
    scenario = Scenario(MODELS[model], DEVICES["A100"])
    batches = np.arange(1.0, count + 1)
    rates = []
    for _ in range(7):
        start = time.perf_counter()
        roofline.step_costs(scenario, decode_batch=batches, context=2048).time_s.sum()
        rates.append(count / (time.perf_counter() - start))
    return statistics.median(rates)


def rows() -> list[tuple[str, str, str]]:
    """One row for a dense model, one for a windowed mixture of experts."""
    return [
        (
            f"step_costs sweep, {model}, 1,000,000 steps",
            f"{per_second(1_000_000, model) / 1e6:.1f} M steps/s",
            "≥ 1 M steps/s",
        )
        for model in ("8B", "gpt-oss-120b")
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
