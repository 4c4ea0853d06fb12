"""Measured bands: held against the published per-source rows, and the efficiencies they ask for."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from core.devices import DEVICES
from core.measured_bands import (
    A100_KERNELS,
    BANDS,
    KIND_WORDS,
    LEFT_OUT,
    Band,
    efficiencies,
    served_band,
)
from core.models import MODELS
from core.roofline import step_costs
from core.scenario import Scenario

S = Scenario(MODELS["8B"], DEVICES["A100"])
EXAMPLE = {"batch": 32, "context": 2048, "prompt": 4096}
ROWS = list(
    csv.DictReader(
        line
        for line in (Path(__file__).parent / "data" / "measured_ratios.csv")
        .read_text(encoding="utf-8")
        .splitlines()
        if not line.startswith("#")
    )
)


def by_kind(kind: str) -> list[Band]:
    return [band for band in BANDS if band.kind == kind]


def rows_of(kind: str, low: float, high: float) -> list[dict[str, str]]:
    return [
        row
        for row in ROWS
        if row["kind"] == kind and low <= float(row["low"]) and float(row["high"]) <= high
    ]


@pytest.mark.parametrize("band", BANDS, ids=lambda band: f"{band.kind} {band.label}")
def test_a_band_is_ordered_above_the_floor_and_names_its_source(band: Band) -> None:
    assert 1 <= band.p10 <= band.p50 <= band.p90
    assert band.rows >= 9
    assert band.source
    assert band.note
    assert band.kind in KIND_WORDS


@pytest.mark.parametrize("kind", ["linear", "attention"])
def test_a_pooled_median_lies_among_the_medians_of_its_sources(kind: str) -> None:
    for band in by_kind(kind):
        medians = [float(row["p50"]) for row in rows_of(kind, band.low, band.high)]
        assert len(medians) >= 5, band.label
        assert min(medians) <= band.p50 <= max(medians), band.label


def test_the_ends_of_an_attention_band_lie_among_the_ends_of_its_sources() -> None:
    for band in by_kind("attention"):
        rows = rows_of("attention", band.low, band.high)
        for end in ("p10", "p90"):
            ends = [float(row[end]) for row in rows]
            assert min(ends) <= getattr(band, end) <= max(ends), (band.label, end)


def test_attention_rows_are_counted_without_the_two_groups_left_out() -> None:
    for band in by_kind("attention"):
        assert band.rows == sum(int(row["n"]) for row in rows_of("attention", band.low, band.high))


def test_rows_left_out_beat_the_floor_and_no_kept_one_of_the_large_caches_does() -> None:
    assert all(left.ratio < 1 and left.why for left in LEFT_OUT)
    assert all(float(row["p10"]) > 1 for row in rows_of("attention", 32, np.inf))


def test_the_larger_the_cache_the_nearer_attention_comes_to_its_floor() -> None:
    medians = [band.p50 for band in by_kind("attention")]
    assert medians == sorted(medians, reverse=True)


def test_more_devices_stand_further_above_the_floor() -> None:
    served = by_kind("devices")
    for end in ("p10", "p50", "p90"):
        values = [getattr(band, end) for band in served]
        assert values == sorted(values)


@pytest.mark.parametrize(
    ("devices", "measured"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 8), (64, 8)]
)
def test_a_number_of_devices_gets_the_measured_one_next_below(devices: int, measured: int) -> None:
    assert served_band(devices).low == measured


def test_devices_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"devices must be in \[1"):
        served_band(0)


def test_a_span_multiplies_the_floor() -> None:
    assert served_band(1).span_s(0.1) == pytest.approx((0.135, 0.161, 0.180))


def test_the_measured_example_is_the_sum_of_its_kernels() -> None:
    """32 × (0.3150 + 0.0260 + 0.2357) + 0.6496 by hand; 312.0/19.10."""
    assert pytest.approx(19.10e-3, abs=0.005e-3) == A100_KERNELS.decode_s
    assert pytest.approx(16.3, abs=0.05) == A100_KERNELS.pause


def test_with_the_efficiencies_the_model_gives_the_measured_steps() -> None:
    e_c, e_b = efficiencies(S, A100_KERNELS, **EXAMPLE)
    # The floors 225.8987 and 12.2950 ms over the measured times, by hand.
    assert e_c == pytest.approx(225.8987379790769 / 312.0)
    assert e_b == pytest.approx(12.294967296 / 19.102688)
    fitted = Scenario(S.model, S.device, compute_efficiency=e_c, bandwidth_efficiency=e_b)
    decode = step_costs(fitted, decode_batch=32, context=2048)
    mixed = step_costs(fitted, decode_batch=32, context=2048, prefill_tokens=4096)
    assert float(decode.time_s) == pytest.approx(A100_KERNELS.decode_s)
    assert float(mixed.time_s) == pytest.approx(A100_KERNELS.mixed_s)


def test_efficiencies_are_of_the_peak_whatever_the_scenario_has_already() -> None:
    slow = Scenario(S.model, S.device, compute_efficiency=0.5, bandwidth_efficiency=0.5)
    assert efficiencies(slow, A100_KERNELS, **EXAMPLE) == pytest.approx(
        efficiencies(S, A100_KERNELS, **EXAMPLE)
    )


def test_two_steps_that_wait_for_the_same_thing_fix_nothing() -> None:
    with pytest.raises(ValueError, match="must wait for bandwidth and the mixed one for compute"):
        efficiencies(S, A100_KERNELS, batch=32, context=2048, prompt=1)


def test_a_measured_step_that_beats_the_floor_is_refused() -> None:
    slow = Scenario(MODELS["70B"], DEVICES["A100"])
    with pytest.raises(ValueError, match="efficiency of compute must be in"):
        efficiencies(slow, A100_KERNELS, **EXAMPLE)
