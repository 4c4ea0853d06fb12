"""Request streams: who arrives when, with how long a prompt and how long an answer.

Streams come from the reference program's own generator, from a numpy generator that is passed in,
as a batch that arrives at once, or from a trace file (`core.traces`). The simulators of
`core.batching` and `core.scheduling` take any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.model_spec import MAX_TOKENS

MAX_REQUESTS = 5_000_000
"""The longest stream, whatever its source."""

ArrivalUnit = Literal["steps", "s"]


class Xorshift32:
    """Marsaglia's xorshift generator with shifts 13, 17, 5, as the reference program has it.

    `state` is the last value drawn, from 1 to 2³² − 1; 0 would only ever follow itself and is
    refused. Worked value: from state 9 the first state is 2,433,321.
    """

    __slots__ = ("state",)

    def __init__(self, state: int) -> None:
        self.state = validate.integer("state", state, 1, 2**32 - 1)

    def next(self) -> float:
        """The next draw in [0, 1): the new state over 2³²."""
        word = self.state
        word ^= (word << 13) & 0xFFFFFFFF
        word ^= word >> 17
        word ^= (word << 5) & 0xFFFFFFFF
        self.state = word
        return word / 4294967296.0

    def between(self, low: int, high: int) -> int:
        """The next draw as a whole number from low to high, both included."""
        if high < low:
            raise ValueError(f"high must be at least low = {low}, got {high}")
        return low + int(self.next() * (high - low + 1))


@dataclass(frozen=True, slots=True, eq=False)
class RequestStream:
    """Requests in order of arrival.

    `arrival` is in whole steps or in seconds, as `unit` says ("steps" or "s"), counts from the
    stream's own zero (so at most 10⁸ s, which is three years), and never falls;
    `prompt_token` and `output_token` are at least 1. All three have shape (requests,) and are
    read-only. `hash_ids`, where a trace has them, holds for each request the ids of its prompt's
    cache blocks, front first. `source` says in words where the stream comes from. Raises
    `ValueError` that names the field for anything else.
    """

    arrival: NDArray[np.float64]
    prompt_token: NDArray[np.int64]
    output_token: NDArray[np.int64]
    unit: ArrivalUnit = "s"
    hash_ids: tuple[tuple[int, ...], ...] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        validate.choice("unit", self.unit, ("steps", "s"))
        # A clock in seconds must still resolve a step of a millisecond to nine digits or so.
        latest = 1e12 if self.unit == "steps" else 1e8
        arrival = validate.array("arrival", self.arrival, 0, latest).astype(np.float64)
        if arrival.ndim != 1 or not 1 <= arrival.size <= MAX_REQUESTS:
            raise ValueError(
                f"a stream must have 1 to {MAX_REQUESTS:,} requests in one row, "
                f"got shape {arrival.shape}"
            )
        if np.any(np.diff(arrival) < 0):
            at = int(np.argmax(np.diff(arrival) < 0)) + 1
            raise ValueError(
                f"arrival must not fall: request {at} arrives at {arrival[at]:g}, "
                f"after {arrival[at - 1]:g}"
            )
        if self.unit == "steps" and np.any(arrival != np.floor(arrival)):
            raise ValueError("arrival must be whole steps where unit is steps")
        object.__setattr__(self, "arrival", _frozen(arrival))
        for field in ("prompt_token", "output_token"):
            object.__setattr__(self, field, _tokens(field, getattr(self, field), arrival.size))
        if self.hash_ids is not None and len(self.hash_ids) != arrival.size:
            raise ValueError(
                f"hash_ids must have one entry for each of {arrival.size:,} requests, "
                f"got {len(self.hash_ids):,}"
            )

    def __len__(self) -> int:
        return int(self.arrival.size)

    def in_steps(self, step_s: float) -> RequestStream:
        """The same requests with arrivals counted in whole steps of `step_s` seconds, floored."""
        validate.choice("unit of the stream", self.unit, ("s",))
        length = validate.number("step_s", step_s, 0, 1e6, open_low=True)
        return replace(self, arrival=np.floor(self.arrival / length), unit="steps")

    def in_seconds(self, step_s: float) -> RequestStream:
        """The same requests with arrivals in seconds, where a step takes `step_s`."""
        validate.choice("unit of the stream", self.unit, ("steps",))
        length = validate.number("step_s", step_s, 0, 1e6, open_low=True)
        return replace(self, arrival=self.arrival * length, unit="s")

    def at_rate(self, rate_per_s: float) -> RequestStream:
        """The same requests, arrivals stretched or squeezed so that they come at another mean rate.

        The shape of the arrivals (bursts, quiet times) and every length stay as they are. Raises
        `ValueError` where all requests arrive at once.
        """
        validate.choice("unit of the stream", self.unit, ("s",))
        rate = validate.number("rate_per_s", rate_per_s, 0, 1e9, open_low=True)
        span = float(self.arrival[-1] - self.arrival[0])
        if span <= 0:
            raise ValueError("at_rate needs arrivals at two different times at least")
        scale = (len(self) - 1) / span / rate
        return replace(self, arrival=(self.arrival - self.arrival[0]) * scale)

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row a request: index, arrival, prompt and output tokens."""
        return {
            "request": np.arange(len(self)),
            "arrival": self.arrival,
            "prompt_token": self.prompt_token,
            "output_token": self.output_token,
        }

    def statistics(self) -> Mapping[str, float]:
        """What a stream is described by: count, duration, rate, burstiness, length percentiles.

        `gap_cv` is the standard deviation of the gaps between arrivals over their mean: 0 for a
        metronome, 1 for Poisson arrivals, more for bursts. Percentiles interpolate linearly
        (numpy's default). `rate_per_s` is requests over duration, as traces are usually quoted.
        Rate and gap_cv are NaN where all requests arrive at once.
        """
        gaps = np.diff(self.arrival)
        duration = float(self.arrival[-1] - self.arrival[0])
        row: dict[str, float] = {
            "n": len(self),
            "duration": duration,
            "rate": len(self) / duration if duration else math.nan,
            "gap_cv": float(gaps.std() / gaps.mean()) if duration else math.nan,
        }
        for name, values in (("prompt", self.prompt_token), ("output", self.output_token)):
            p50, p90, p99 = np.percentile(values, [50, 90, 99])
            row |= {
                f"{name}_mean": float(values.mean()),
                f"{name}_p50": float(p50),
                f"{name}_p90": float(p90),
                f"{name}_p99": float(p99),
                f"{name}_max": float(values.max()),
            }
        return row


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lognormal lengths in tokens, of a given mean and coefficient of variation (0: all equal).

    Draws are rounded to whole tokens and held between `low` and `high`, which moves the mean a
    little where either is near it.
    """

    mean_token: float
    cv: float = 0.0
    low: int = 1
    high: int = 131_072

    def __post_init__(self) -> None:
        validate.integer("low", self.low, 1, MAX_TOKENS)
        validate.integer("high", self.high, self.low, MAX_TOKENS)
        validate.number("mean_token", self.mean_token, self.low, self.high)
        validate.number("cv", self.cv, 0, 100)

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.int64]:
        """`count` lengths. A lognormal of mean m and variation v has σ² = ln(1 + v²) and
        μ = ln m − σ²/2.
        """
        variance = math.log1p(self.cv**2)
        centre = math.log(self.mean_token) - variance / 2
        drawn = np.exp(centre + math.sqrt(variance) * generator.standard_normal(count))
        return np.clip(np.rint(drawn), self.low, self.high).astype(np.int64)


def reference_stream(
    seed: int | Xorshift32, requests: int, max_gap: int, output_low: int, output_high: int
) -> RequestStream:
    """The reference program's stream, in unit steps.

    For each request, in this order: a gap of 0..max_gap steps after the one before, an output of
    output_low..output_high tokens, a prompt of 16..128 tokens. `seed` is a state of `Xorshift32`
    or a generator, which is then drawn from and left where the stream ends. Worked value: the
    program's own stream starts after 88 earlier draws from state 9, and its first request arrives
    at step 6 with 112 tokens to answer with 57.
    """
    count = validate.integer("requests", requests, 1, MAX_REQUESTS)
    gap = validate.integer("max_gap", max_gap, 0, 10**9)
    low = validate.integer("output_low", output_low, 1, MAX_TOKENS)
    high = validate.integer("output_high", output_high, low, MAX_TOKENS)
    draws = seed if isinstance(seed, Xorshift32) else Xorshift32(seed)
    clock, arrival, output, prompt = 0, [], [], []
    for _ in range(count):
        clock += draws.between(0, gap)
        arrival.append(clock)
        output.append(draws.between(low, high))
        prompt.append(draws.between(16, 128))
    return _stream(arrival, prompt, output, "steps", "the reference program's generator")


def random_stream(
    generator: np.random.Generator,
    requests: int,
    rate_per_s: float,
    prompt: Lengths,
    output: Lengths,
    *,
    gap_cv: float = 1.0,
) -> RequestStream:
    """Arrivals in seconds at a mean rate, with independent lengths.

    Gaps are gamma distributed with coefficient of variation `gap_cv`: 1 is Poisson, above 1 comes
    in bursts, 0 is a metronome. Draw order: all gaps, all prompts, all outputs.
    """
    count = validate.integer("requests", requests, 1, MAX_REQUESTS)
    rate = validate.number("rate_per_s", rate_per_s, 0, 1e9, open_low=True)
    variation = validate.number("gap_cv", gap_cv, 0, 100)
    if variation == 0:
        gaps = np.full(count, 1.0 / rate)
    else:
        shape = 1.0 / variation**2
        gaps = generator.gamma(shape, 1.0 / (rate * shape), count)
    kind = "Poisson" if variation == 1 else "even" if variation == 0 else "bursty"
    return _stream(
        np.cumsum(gaps),
        prompt.draw(generator, count),
        output.draw(generator, count),
        "s",
        f"{kind} arrivals, {rate:g} a second",
    )


def fixed_batch(
    requests: int, prompt_token: int, output_token: int, *, unit: ArrivalUnit = "s"
) -> RequestStream:
    """Equal requests that all arrive at time 0."""
    count = validate.integer("requests", requests, 1, MAX_REQUESTS)
    prompt = validate.integer("prompt_token", prompt_token, 1, MAX_TOKENS)
    output = validate.integer("output_token", output_token, 1, MAX_TOKENS)
    return _stream(
        np.zeros(count),
        np.full(count, prompt),
        np.full(count, output),
        unit,
        "equal requests, all at once",
    )


def _stream(
    arrival: ArrayLike, prompt: ArrayLike, output: ArrayLike, unit: ArrivalUnit, source: str
) -> RequestStream:
    return RequestStream(
        np.asarray(arrival, dtype=np.float64),
        np.asarray(prompt, dtype=np.int64),
        np.asarray(output, dtype=np.int64),
        unit=unit,
        source=source,
    )


def _tokens(field: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    checked = validate.array(field, values, 1, MAX_TOKENS)
    if checked.shape != (count,):
        raise ValueError(
            f"{field} must have one value for each of {count:,} requests, got shape {checked.shape}"
        )
    if np.any(checked != np.floor(checked)):
        raise ValueError(f"{field} must be whole tokens")
    return _frozen(checked.astype(np.int64))


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    copy = values.copy()
    copy.setflags(write=False)
    return copy
