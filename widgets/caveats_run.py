"""What section 8 computes for one set of inputs, before anything is put into words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.headlines import Headlines, Traffic, cold_run, salt_hit_rate, warm_run
from core.measured_bands import Band, served_band
from core.roofline import StepCost, step_costs
from core.scenario import Scenario
from core.streaming import (
    AnswerTimeline,
    CacheHitTiming,
    Histogram,
    Observer,
    answer_timeline,
    cache_hit_timing,
    observer,
)

CONTEXT, PROMPT = 2048, 4096
OWN_TOKEN = 128
REQUESTS = 100
BLOCK_TOKEN = 64
BATCHES = np.unique(
    np.concatenate([np.round(2.0 ** np.arange(0, 4.5, 0.5)), np.arange(16.0, 513.0, 16.0)])
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The inputs of the section at one moment, in base units."""

    batch: int
    token_per_s: float
    answer_token: int
    noise_s: float
    salted: bool
    groups: int
    prefix_token: int
    rate_per_s: float

    @property
    def traffic(self) -> Traffic:
        """The stream that the headlines are read off."""
        return Traffic(REQUESTS, self.rate_per_s, self.prefix_token, OWN_TOKEN, answer_token=128)


@dataclass(frozen=True, slots=True)
class Runs:
    """One stream with a cold cache and with a warm one; None, and why, where there is no run."""

    cold: Headlines | None
    warm: Headlines | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that the section shows."""

    scenario: Scenario
    floor_scenario: Scenario
    settings: Settings
    decode: StepCost
    mixed: StepCost
    floor: StepCost
    sweep: StepCost
    floor_sweep: StepCost
    band: Band
    timing: CacheHitTiming
    answer: AnswerTimeline
    observer: Observer
    histogram: Histogram
    runs: Runs
    hit_rates: tuple[float, float]

    @property
    def above_floor(self) -> float:
        """The decode step over its floor."""
        return float(self.decode.time_s / self.floor.time_s)


def run_stream(scenario: Scenario, settings: Settings) -> Runs:
    """Both runs of the stream; what cannot run is said."""
    try:
        cold = cold_run(scenario, settings.traffic)
    except ValueError as error:
        return Runs(None, None, (f"No stream can be run: {error}.",))
    try:
        groups = settings.groups if settings.salted else 1
        warm = warm_run(scenario, settings.traffic, groups=groups, block_token=BLOCK_TOKEN)
    except ValueError as error:
        return Runs(cold, None, (f"No run with a warm cache: {error}.",))
    return Runs(cold, warm, ())


def figures(scenario: Scenario, settings: Settings, runs: Runs) -> Figures:
    """Compute the rest, which takes a millisecond."""
    bare = replace(scenario, compute_efficiency=1.0, bandwidth_efficiency=1.0, overhead_s=0.0)
    batch = settings.batch
    timing = cache_hit_timing(scenario, settings.prefix_token, OWN_TOKEN, block_token=BLOCK_TOKEN)
    seen = observer(timing, settings.noise_s, salted=settings.salted)
    return Figures(
        scenario=scenario,
        floor_scenario=bare,
        settings=settings,
        decode=step_costs(scenario, decode_batch=batch, context=CONTEXT),
        mixed=step_costs(scenario, decode_batch=batch, context=CONTEXT, prefill_tokens=PROMPT),
        floor=step_costs(bare, decode_batch=batch, context=CONTEXT),
        sweep=step_costs(scenario, decode_batch=BATCHES, context=CONTEXT),
        floor_sweep=step_costs(bare, decode_batch=BATCHES, context=CONTEXT),
        band=served_band(scenario.devices),
        timing=timing,
        answer=answer_timeline(timing.miss_s, settings.token_per_s, settings.answer_token),
        observer=seen,
        histogram=seen.histogram(),
        runs=runs,
        hit_rates=(
            salt_hit_rate(settings.traffic, 1, block_token=BLOCK_TOKEN),
            salt_hit_rate(settings.traffic, settings.groups, block_token=BLOCK_TOKEN),
        ),
    )
