"""One run of a stream, and the several numbers it can be advertised with.

Every prompt of the traffic begins with the same prefix. The run is made with a cold cache (every
prompt is prefilled whole) and with a warm one (a pool of blocks that remembers prefixes, per group
of users where they are salted). Mean and percentile, per device and per user are then read off one
and the same schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.pool_room import PoolRoom, block_names
from core.requests import Lengths, RequestStream, random_stream
from core.scenario import Scenario
from core.scheduling import Schedule, simulate

MAX_TRAFFIC = 100_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests that share a prefix of `prefix_token` tokens.

    Own parts and answers are log-normal of the given means with a coefficient of variation of 1,
    arrivals Poisson. Raises `ValueError` that names the field.
    """

    requests: int = 100
    rate_per_s: float = 4.0
    prefix_token: int = 2048
    own_token: int = 192
    answer_token: int = 128
    seed: int = 8

    def __post_init__(self) -> None:
        validate.integer("requests", self.requests, 2, MAX_TRAFFIC)
        validate.number("rate_per_s", self.rate_per_s, 0, 1e6, open_low=True)
        validate.integer("prefix_token", self.prefix_token, 0, 1_000_000)
        validate.integer("own_token", self.own_token, 1, 100_000)
        validate.integer("answer_token", self.answer_token, 1, 100_000)
        validate.integer("seed", self.seed, 0, 2**32 - 1)

    def stream(self) -> RequestStream:
        """The requests; the same ones for the same fields, whatever the prefix and the rate."""
        drawn = random_stream(
            np.random.default_rng(self.seed),
            self.requests,
            self.rate_per_s,
            Lengths(self.own_token, 1.0),
            Lengths(self.answer_token, 1.0),
        )
        return replace(drawn, prompt_token=drawn.prompt_token + self.prefix_token)


@dataclass(frozen=True, slots=True, eq=False)
class Headlines:
    """What one run can be quoted with.

    `ttft_s` has every request's time to first token, ascending; shape (requests,).
    `prefilled_token` and `skipped_token` are prompt tokens computed, and found in the cache.
    """

    ttft_s: NDArray[np.float64]
    mean_itl_s: float
    p99_itl_s: float
    answer_token: int
    duration_s: float
    devices: int
    prefilled_token: int
    skipped_token: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens whose prefill was skipped."""
        return self.skipped_token / (self.skipped_token + self.prefilled_token)

    @property
    def mean_ttft_s(self) -> float:
        """The mean over requests."""
        return float(self.ttft_s.mean())

    @property
    def p99_ttft_s(self) -> float:
        """The time that one request in a hundred exceeds, interpolated linearly."""
        return float(np.percentile(self.ttft_s, 99))

    @property
    def device_token_per_s(self) -> float:
        """Answer tokens over the whole run, its end included, and over the devices."""
        return self.answer_token / self.duration_s / self.devices

    @property
    def user_token_per_s(self) -> float:
        """One over the mean gap between tokens: what one reader sees arrive."""
        return 1.0 / self.mean_itl_s

    @classmethod
    def of(cls, schedule: Schedule, devices: int, skipped_token: int = 0) -> Headlines:
        """Read off a run. Raises `ValueError` where no answer has a gap."""
        gaps = schedule.itl_s
        return cls(
            ttft_s=np.sort(schedule.ttft_s),
            mean_itl_s=gaps.mean_s,
            p99_itl_s=float(gaps.quantile(0.99)),
            answer_token=int(schedule.stream.output_token.sum()),
            duration_s=schedule.duration_s,
            devices=devices,
            prefilled_token=int(schedule.chunks()["chunk_token"].sum()),
            skipped_token=skipped_token,
        )


def cold_run(scenario: Scenario, traffic: Traffic) -> Headlines:
    """Every prompt is prefilled whole, in chunks under a token budget of 2,048.

    Raises `ValueError` where the weights, or one request, do not fit. Worked value (8B, A100, the
    default traffic): mean TTFT 270.1 ms, p99 634.7 ms.
    """
    return Headlines.of(simulate(traffic.stream(), scenario), scenario.devices)


def warm_run(
    scenario: Scenario, traffic: Traffic, *, groups: int = 1, block_token: int = 64
) -> Headlines:
    """The same requests on a server that keeps prefixes, shared within `groups` of users.

    Requests belong to the groups in turn; with one group all share, which is what a cache without
    salts does. Raises `ValueError` as `cold_run` does, and for a model whose layers have windows
    or states. Worked value (8B, A100, the default traffic): mean TTFT 19.7 ms.
    """
    count = validate.integer("groups", groups, 1, traffic.requests)
    stream = traffic.stream()
    room = PoolRoom.of(stream, scenario, block_token=block_token, shared_token=traffic.prefix_token)
    if count > 1:
        names = salted_names(block_names(stream, block_token, traffic.prefix_token), count)
        room = PoolRoom(room.pool.num_blocks, block_token, names)
    schedule = simulate(stream, scenario, room=room)
    return Headlines.of(schedule, scenario.devices, room.skipped_token)


def salted_names(names: Sequence[Sequence[int]], groups: int) -> list[list[int]]:
    """The same block names, made different for each of `groups`, which the requests take in turn.

    A salt is part of the first block's key and every later key hangs on it, so that two groups
    share no block at all. Worked value: [[0, 1], [0]] in 2 groups: [[0, 2], [1]].
    """
    return [[name * groups + i % groups for name in row] for i, row in enumerate(names)]


def salt_hit_rate(traffic: Traffic, groups: int, *, block_token: int = 64) -> float:
    """The share of prompt tokens that hit where nothing is evicted.

    Each group computes the prefix's full blocks once: (n − g)·p over all prompts. Worked value:
    100 requests of 2,048 + own parts: with 10 groups, 90 hits for every 99 with one.
    """
    count = validate.integer("groups", groups, 1, traffic.requests)
    prefix = traffic.prefix_token // block_token * block_token
    prompts = int(traffic.stream().prompt_token.sum())
    return (traffic.requests - count) * prefix / prompts
