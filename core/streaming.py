"""When a reader sees which word, and what the time to a first token gives away about a cache.

The first part times one answer: streamed, its tokens come one by one; whole, they all come with
the last. The second part times one prompt whose prefix is cached or is not, and asks how often an
observer who sees only the time to first token would guess right. It is a model of how well two
distributions can be told apart, and of what a cache salt does about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.model_spec import MAX_TOKENS
from core.roofline import Floats, step_costs
from core.scenario import Scenario

MAX_ANSWER = 100_000

_SHAPE = 4
"""Of the gamma-distributed wait: a hump with a tail to the right, and never negative."""


@dataclass(frozen=True, slots=True)
class AnswerTimeline:
    """An answer of `tokens` tokens: the first at `ttft_s`, one more every `itl_s`."""

    ttft_s: float
    itl_s: float
    tokens: int

    @property
    def e2e_s(self) -> float:
        """End to end: TTFT + (n − 1)·ITL. Worked value: 0.01 + 999 · 0.01 = 10 s."""
        return self.ttft_s + (self.tokens - 1) * self.itl_s

    def streamed_s(self) -> Floats:
        """When each token can be read if it is sent at once. Shape: (tokens,)."""
        return self.ttft_s + np.arange(self.tokens, dtype=np.float64) * self.itl_s

    def whole_s(self) -> Floats:
        """When each token can be read if the answer is sent at its end. Shape: (tokens,)."""
        return np.full(self.tokens, self.e2e_s)

    def made_by(self, time_s: ArrayLike) -> NDArray[np.int64]:
        """How many tokens exist at each time. Shape: that of `time_s`.

        Worked value: TTFT 0.1 s, ITL 0.01 s: at 0.05, 0.1 and 2 s there are 0, 1 and 191.
        """
        times = validate.array("time_s", time_s, 0, 1e12)
        return np.searchsorted(self.streamed_s(), times * (1 + 1e-12), side="right")


def answer_timeline(ttft_s: float, token_per_s: float, tokens: int) -> AnswerTimeline:
    """Time an answer from its first token and the rate of the others.

    Raises `ValueError` that names the field. Worked value: 0.115 s, 100 a second, 1,000 tokens:
    the last one after 10.105 s.
    """
    first = validate.number("ttft_s", ttft_s, 0, 1e9)
    rate = validate.number("token_per_s", token_per_s, 0, 1e9, open_low=True)
    count = validate.integer("tokens", tokens, 1, MAX_ANSWER)
    return AnswerTimeline(first, 1.0 / rate, count)


@dataclass(frozen=True, slots=True)
class CacheHitTiming:
    """The prefill of one prompt on an idle server, with its prefix cached and without.

    `prompt_token` is prefix and own part together, `cached_token` what a hit skips.
    """

    prompt_token: int
    cached_token: int
    miss_s: float
    hit_s: float

    @property
    def gap_s(self) -> float:
        """What a hit saves, and what an observer looks for."""
        return self.miss_s - self.hit_s


def cache_hit_timing(
    scenario: Scenario, prefix_token: int, own_token: int, *, block_token: int = 16
) -> CacheHitTiming:
    """Time a prompt of `prefix_token` + `own_token` tokens with and without its prefix cached.

    A hit skips the prefix's full blocks; the rest is one chunk that attends to them. Each time is
    one step of `core.roofline`. Raises `ValueError` that names the field. Worked value (8B, A100,
    2,048 + 128): 115.568 ms and 8.143 ms: what remains waits for the weights.
    """
    prefix = validate.integer("prefix_token", prefix_token, 0, MAX_TOKENS // 2)
    own = validate.integer("own_token", own_token, 1, MAX_TOKENS // 2)
    block = validate.integer("block_token", block_token, 1, 65_536)
    cached = prefix // block * block
    prompt = prefix + own
    times = step_costs(
        scenario,
        prefill_tokens=np.array([prompt, prompt - cached]),
        prefill_offset=np.array([0, cached]),
    ).time_s
    return CacheHitTiming(prompt, cached, float(times[0]), float(times[1]))


@dataclass(frozen=True, slots=True)
class Observer:
    """Someone who sees a time to first token and says “hit” below a threshold.

    Hits take `hit_s`, misses `miss_s`, and on top of either comes a wait that is gamma distributed
    (shape 4) with standard deviation `noise_s` and mean twice that: queues never make a server
    faster than its floor. Hits and misses are equally likely beforehand. Raises `ValueError` for a
    negative time or a hit that takes longer than a miss.
    """

    hit_s: float
    miss_s: float
    noise_s: float

    def __post_init__(self) -> None:
        validate.number("noise_s", self.noise_s, 0, 1e6, open_low=True)
        validate.number("hit_s", self.hit_s, 0, 1e9)
        validate.number("miss_s", self.miss_s, self.hit_s, 1e9)

    @property
    def gap_s(self) -> float:
        """The time between a hit and a miss that wait equally long."""
        return self.miss_s - self.hit_s

    @property
    def threshold_s(self) -> float:
        """The time below which “hit” is the better guess.

        The two densities are equal where ((t − h)/(t − m))³ = e^(gap/θ), θ = noise/2: at
        t = m + gap/(e^(gap/3θ) − 1). The density's logarithm is concave, so that one threshold is
        the best of all rules. Without a gap every threshold is as good; the limit, m + 3θ, is
        returned. Worked value: 10 and 110 ms with 50 ms of noise: 145.80 ms.
        """
        scale = self.noise_s / math.sqrt(_SHAPE)
        power = self.gap_s / ((_SHAPE - 1) * scale)
        if power < 1e-9:
            return self.miss_s + (_SHAPE - 1) * scale
        # exp(−power) keeps a gap of a million noises from overflowing.
        return self.miss_s + self.gap_s * math.exp(-power) / -math.expm1(-power)

    @property
    def accuracy(self) -> float:
        """The share of right guesses at the best threshold, from 0.5 (a coin) to 1.

        Worked value: 10 and 110 ms with 50 ms of noise: 0.8665.
        """
        found = float(self.share_below(self.threshold_s, self.hit_s))
        wrong = float(self.share_below(self.threshold_s, self.miss_s))
        return 0.5 * (1.0 + found - wrong)

    def share_below(self, time_s: ArrayLike, base_s: float) -> Floats:
        """The share of times below `time_s` where the work itself takes `base_s`.

        Shape: that of `time_s`. For shape 4: 1 − e^(−x)(1 + x + x²/2 + x³/6), x = wait/θ.
        """
        wait = np.maximum(np.asarray(time_s, dtype=np.float64) - base_s, 0.0)
        x = wait / (self.noise_s / math.sqrt(_SHAPE))
        return np.asarray(1.0 - np.exp(-x) * (1.0 + x + x**2 / 2 + x**3 / 6))

    def histogram(self, bins: int = 40) -> Histogram:
        """Hits and misses in `bins` bins of equal width, from 0 to where 99.9 % of misses are."""
        count = validate.integer("bins", bins, 2, 10_000)
        scale = self.noise_s / math.sqrt(_SHAPE)
        edges = np.linspace(0.0, self.miss_s + 13.06 * scale, count + 1)
        return Histogram(
            edges,
            np.diff(self.share_below(edges, self.hit_s)),
            np.diff(self.share_below(edges, self.miss_s)),
        )


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of hits and of misses per bin; `edge_s` has one element more than the shares."""

    edge_s: Floats
    hit_share: Floats
    miss_share: Floats

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row a bin."""
        return {
            "from_s": self.edge_s[:-1],
            "to_s": self.edge_s[1:],
            "hit_share": self.hit_share,
            "miss_share": self.miss_share,
        }


def observer(timing: CacheHitTiming, noise_s: float, *, salted: bool = False) -> Observer:
    """What an observer outside the trust group sees of a prompt that someone in it has sent.

    Without a salt a repeated prefix hits. With one, blocks of another group never match: the
    prompt that someone sent takes as long as the one nobody sent.
    """
    seen = timing.miss_s if salted else timing.hit_s
    return Observer(seen, timing.miss_s, noise_s)
