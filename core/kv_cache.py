"""How much memory the cache has, and how many sequences fit into it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.model_spec import MAX_TOKENS
from core.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Capacity:
    """Memory shared out: weights first, the cache from what is left, the reserve untouched.

    `per_sequence_byte` and `sequences` have the shape of the context they were asked for.
    `cache_byte` is negative where the weights alone do not fit; `sequences` is 0 there.
    """

    memory_byte: float
    weights_byte: float
    reserve_byte: float
    cache_byte: float
    per_sequence_byte: NDArray[np.float64]
    sequences: NDArray[np.float64]

    @property
    def fits(self) -> bool:
        """Whether the weights fit into the usable share of memory."""
        return self.cache_byte >= 0

    @property
    def usable_byte(self) -> float:
        """Memory less the reserve."""
        return self.memory_byte - self.reserve_byte


def capacity(
    scenario: Scenario, context: ArrayLike, *, reserved_fraction: float = 0.90
) -> Capacity:
    """How many sequences of `context` tokens fit beside the weights.

    `reserved_fraction` is the share of memory that the server takes for weights and cache; the
    rest stays for activations, graphs and workspace (0.90 is vLLM's default for
    gpu_memory_utilization). Raises `ValueError` outside (0, 1]. Worked value: 8B in bf16 on an
    80 GB A100 at 8,192 tokens: (72 − 16) GB / 1 GiB = 52 sequences; with 32 key-value heads, 13.
    """
    validate.number("reserved_fraction", reserved_fraction, 0, 1, open_low=True)
    positions = validate.array("context", context, 1, MAX_TOKENS)
    memory = scenario.memory_byte
    reserve = memory * (1.0 - reserved_fraction)
    budget = memory * reserved_fraction - scenario.weights_byte
    each = scenario.model.kv_bytes_per_sequence(positions, scenario.cache_byte)
    sequences = np.floor(np.maximum(budget, 0.0) / each)
    return Capacity(memory, scenario.weights_byte, reserve, budget, each, sequences)


def devices_needed(
    scenario: Scenario, cached_byte: float = 0.0, *, reserved_fraction: float = 0.90
) -> int:
    """How many of the scenario's devices it takes to hold the weights and `cached_byte` of cache.

    Worked values, on A100s of 80 GB at 0.90: 70B in bf16: 140 GB over 72 GB, 2 devices; 8B and
    137.4 GB of cache: 153.4 GB, 3 devices.
    """
    validate.number("reserved_fraction", reserved_fraction, 0, 1, open_low=True)
    cached = validate.number("cached_byte", cached_byte, 0, math.inf)
    usable_byte = scenario.device.memory_byte * reserved_fraction
    return math.ceil((scenario.weights_byte + cached) / usable_byte)


def tokens_held(
    scenario: Scenario, context: ArrayLike, *, reserved_fraction: float = 0.90
) -> NDArray[np.float64]:
    """How many tokens the cache holds in sequences of `context` tokens, counting parts of one.

    Shape: that of `context`. Budget over the bytes of a sequence, times its tokens: with windows
    or a fixed state a longer sequence holds its tokens in fewer bytes each. Worked value: the 8B
    textbook model on an 80 GB A100, at any context: 56 GB over 128 KiB, 427,246.
    """
    fit = capacity(scenario, context, reserved_fraction=reserved_fraction)
    positions = np.asarray(context, dtype=np.float64)
    each_token = fit.per_sequence_byte / positions
    return np.asarray(np.floor(max(fit.cache_byte, 0.0) / each_token))


def tokens_that_fit(scenario: Scenario, *, reserved_fraction: float = 0.90) -> float:
    """How many cached tokens fit in all while no window is full: budget over slope.

    Worked value: Llama-3-8B (8,030,261,248 parameters) on 80 GB: 426,784 tokens.
    """
    budget = float(capacity(scenario, 1, reserved_fraction=reserved_fraction).cache_byte)
    slope = scenario.model.kv_bytes_per_token(scenario.cache_byte)
    if slope == 0:  # layers that carry a state keep no token
        return float("inf") if budget >= 0 else 0.0
    return float(np.floor(max(budget, 0.0) / slope))
