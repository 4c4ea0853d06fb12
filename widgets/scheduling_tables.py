"""Section 5 as tables: the numbers behind every chart, as its data table and its CSV hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.units import significant
from widgets.scheduling_prompt import PromptPart, budget_words
from widgets.scheduling_stream import SHARES, Refused, Served, Sweep
from widgets.scheduling_text import Shown


def tables(shown: Shown) -> dict[str, dict[str, Any]]:
    """The numbers behind every chart."""
    return {
        "watcher": _watcher_table(shown.prompt),
        "trade-off": _trade_off_table(shown.prompt),
        "stream-gaps": _gaps_table(shown),
        "stream-waits": _waits_table(shown),
        "stream-server": _server_table(shown),
        "goodput": _goodput_table(shown),
    }


def _watcher_table(part: PromptPart) -> dict[str, Any]:
    prefill = part.chosen.prefill
    if prefill is None:
        return {"step_ms": np.array([part.decode_s * 1e3]), "chunk_token": np.array([0])}
    columns = prefill.columns()
    return {
        "step": columns["step"] + 1,
        "start_ms": columns["start_s"] * 1e3,
        "step_ms": columns["step_s"] * 1e3,
        "decode_alone_ms": np.full(prefill.steps, part.decode_s * 1e3),
        "offset_token": columns["offset_token"],
        "chunk_token": columns["chunk_token"],
    }


def _trade_off_table(part: PromptPart) -> dict[str, Any]:
    points = list(zip(part.curve, part.ghost, strict=True))
    table: dict[str, Any] = {
        "budget": np.array([point.words for point, _ in points]),
        "steps": np.array([point.prefill.steps for point, _ in points]),
    }
    here = part.question.scenario.overhead_s
    for which, overhead_s in ((0, here), (1, part.ghost_overhead_s)):
        suffix = f"at_overhead_{significant(overhead_s * 1e3)}_ms"
        table[f"worst_itl_ms_{suffix}"] = np.array([p[which].prefill.worst_s * 1e3 for p in points])
        table[f"ttft_ms_{suffix}"] = np.array([p[which].prefill.ttft_s * 1e3 for p in points])
    return table


def _ran(shown: Shown) -> list[Served]:
    runs = [run for run in shown.served if isinstance(run, Served)]
    return runs[:1] if len({run.budget for run in runs}) == 1 else runs


def _gaps_table(shown: Shown) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for run in _ran(shown):
        if run.gaps is not None:
            table[f"gap_ms_{_key(run.budget)}"] = run.gaps.length_s * 1e3
            table[f"share_{_key(run.budget)}"] = run.gaps.share
    return table


def _waits_table(shown: Shown) -> dict[str, Any]:
    table: dict[str, Any] = {"share": SHARES}
    for run in _ran(shown):
        table[f"ttft_s_{_key(run.budget)}"] = run.ttft_s
        table[f"end_to_end_s_{_key(run.budget)}"] = run.e2e_s
    return table


def _server_table(shown: Shown) -> dict[str, Any]:
    run = shown.served[0]
    if isinstance(run, Refused):
        return {"time_s": np.zeros(0), "running": np.zeros(0), "waiting": np.zeros(0)}
    return {
        "time_s": run.time_s,
        "running": run.running,
        "waiting": run.waiting,
        "preempted": run.preempted,
    }


def _goodput_table(shown: Shown) -> dict[str, Any]:
    ran = [sweep for sweep in shown.sweeps or () if isinstance(sweep, Sweep)]
    table: dict[str, Any] = {"arrivals_per_s": np.array(ran[0].rates_per_s if ran else ())}
    for sweep in ran:
        table[f"goodput_per_s_{_key(sweep.budget)}"] = shown.targets.curve(sweep)
        table[f"share_in_time_{_key(sweep.budget)}"] = shown.targets.shares(sweep)
    return table


def _key(budget: int) -> str:
    return budget_words(budget).replace(",", "").replace(" ", "_")
