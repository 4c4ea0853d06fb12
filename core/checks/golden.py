"""The figures of the reference document, worked out with care and pinned to the digit.

The textbook pair: a model of 8.0·10⁹ parameters on a device of 312 TFLOP/s and 2.0 TB/s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core import roofline
from core.adaptive_draft import adaptive_draft, adaptive_path
from core.batching import simulate
from core.checks.check import Check, Trial, Value
from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.kv_cache import capacity, tokens_that_fit
from core.models import MODELS
from core.scenario import Scenario
from core.speculation import expected_tokens, speedup, tokens_variance, verify_cost

_DOCUMENT = "the reference document"


@dataclass(frozen=True, slots=True)
class _Textbook:
    """The pair that the document's numbers come out with, and its two steps."""

    scenario: Scenario
    decode: roofline.StepCost
    mixed: roofline.StepCost
    prefill: roofline.StepCost


def _textbook() -> _Textbook:
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    decoding = [2048] * 32
    return _Textbook(
        scenario,
        roofline.scenario_step_cost(scenario, decoding),
        roofline.scenario_step_cost(scenario, decoding, [(0, 4096)]),
        roofline.scenario_step_cost(scenario, (), [(0, 4096)]),
    )


def _golden(
    name: str,
    expected: Value,
    observe: Callable[[_Textbook], Value],
    tolerance: float = 1e-9,
    source: str = _DOCUMENT,
) -> Check:
    def look(_: Trial) -> Value:
        return observe(_textbook())

    return Check(name, "golden values", source, expected, look, tolerance)


def _ms(seconds: float | NDArray[np.float64]) -> float:
    return float(seconds) * 1e3


def _numbers(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


_STEPS = (
    _golden("decode step, ms", 12.294967296, lambda t: _ms(t.decode.time_s)),
    _golden("its arithmetic, ms", 1.7511530075897437, lambda t: _ms(t.decode.compute_s)),
    _golden("its bytes", 24_589_934_592, lambda t: float(t.decode.bytes), 0.0),
    _golden("step with a prompt, ms", 225.8987379790769, lambda t: _ms(t.mixed.time_s)),
    _golden(
        "its traffic with what it writes, ms",
        12.565499904,
        lambda t: _ms(roofline.scenario_step_cost(t.scenario, [2049] * 32, [(0, 4096)]).memory_s),
    ),
    _golden(
        "pause, times a step",
        18.373268715612607,
        lambda t: float(t.mixed.time_s / t.decode.time_s),
    ),
    _golden("prompt alone, ms", 224.1475849714872, lambda t: _ms(t.prefill.time_s)),
    _golden(
        "share of its attention, %",
        6.288848894802171,
        lambda t: (
            100
            * float(roofline.prefill_attention_flop(t.scenario.model, 0, 4096) / t.prefill.flops)
        ),
    ),
    _golden(
        "FLOPs a token, a third of 6N + 12LHQT",
        (6 * 8e9 + 12 * 32 * 32 * 128 * 2048) / 3,
        lambda t: float(roofline.scenario_step_cost(t.scenario, [2048]).flops),
        0.0,
        "nanoGPT's count for training",
    ),
    _golden(
        "batch 1 to 256 with what it writes, ms",
        (8.134283264, 9.074266112, 12.297064448, 16.594128896, 25.188257792, 42.376515584),
        lambda t: _numbers(
            1e3
            * roofline.step_costs(
                t.scenario, decode_batch=[1, 8, 32, 64, 128, 256], context=2049
            ).memory_s
        ),
    ),
    _golden(
        "one user without context, ms",
        8.0,
        lambda t: 1e3 * float(t.scenario.model.weights_read_byte(1)) / t.scenario.byte_per_s,
    ),
)

_INTENSITY = (
    _golden("ridge, FLOP a byte", 156.0, lambda t: t.scenario.ridge_flop_per_byte),
    _golden(
        "plateaus at 128 to 2,048 tokens",
        (957.67431640625, 242.4185791015625, 123.20928955078125, 63.604644775390625),
        lambda t: _numbers(roofline.plateau_flop_per_byte(t.scenario, [128, 512, 1024, 2048])),
    ),
    _golden(
        "plateaus at 8,192 and 131,072",
        (18.901161193847656, 4.9313225746154785),
        lambda t: _numbers(roofline.plateau_flop_per_byte(t.scenario, [8192, 131_072])),
    ),
    _golden(
        "crossing batch at 0 to 700",
        (156.0, 185.57809613546843, 228.99657505676296, 430.3854417246635, 1215.2258450493568),
        lambda t: _numbers(roofline.crossing_batch(t.scenario, [0, 128, 256, 512, 700])),
    ),
    _golden(
        "crossing batch beyond 803",
        (np.inf, np.inf),
        lambda t: _numbers(roofline.crossing_batch(t.scenario, [804, 2048])),
        0.0,
    ),
    _golden(
        "longest context that crosses",
        803.0941611842105,
        lambda t: roofline.longest_crossing_context(t.scenario),
    ),
)

_MEMORY = (
    _golden("8B, cache bytes a token", 131_072, lambda t: t.scenario.model.kv_bytes_per_token()),
    _golden(
        "8 heads of 32, share of the cache",
        0.25,
        lambda t: (
            t.scenario.model.kv_bytes_per_token()
            / t.scenario.model.with_kv_heads(32).kv_bytes_per_token()
        ),
    ),
    _golden("70B, cache bytes a token", 327_680, lambda _: MODELS["70B"].kv_bytes_per_token()),
    _golden("70B, weights in GB", 140.0, lambda _: MODELS["70B"].weights_byte() / 1e9),
    _golden(
        "Llama-2-70B, weights in bytes",
        137_953_296_384,
        lambda _: MODELS["Llama-2-70B"].weights_byte(),
        0.0,
    ),
    _golden(
        "Llama-3-70B, weights in bytes",
        141_107_412_992,
        lambda _: MODELS["Llama-3-70B / 3.1 / 3.3"].weights_byte(),
        0.0,
    ),
    _golden(
        "sequences of 8,192 tokens that fit",
        52,
        lambda t: float(capacity(t.scenario, 8192).sequences),
        0.0,
    ),
    _golden(
        "Llama-3-8B, tokens that fit",
        426_784,
        lambda t: tokens_that_fit(Scenario(MODELS["Llama-3-8B / 3.1-8B"], t.scenario.device)),
        0.0,
    ),
)


def _chunked(budget: int | None) -> Callable[[_Textbook], Value]:
    def observe(textbook: _Textbook) -> Value:
        done = chunked_prefill(textbook.scenario, 4096, 32, 2048, budget)
        return done.steps, done.worst_s * 1e3, done.pause_ratio, done.ttft_s * 1e3

    return observe


# Token budget: steps, worst step in ms, pause, prompt done at ms.
_CHUNK_ROWS: dict[int | None, tuple[int, float, float, float]] = {
    256: (19, 14.713867, 1.1967, 264.512623),
    512: (9, 29.270287, 2.3807, 239.907962),
    1024: (5, 58.410657, 4.7508, 236.284244),
    2048: (3, 115.380195, 9.3843, 236.494174),
    4096: (2, 224.038318, 18.2220, 236.601721),
    None: (1, 225.898738, 18.3733, 225.898738),
}
_CHUNKS = tuple(
    _golden(
        f"prompt by a budget of {budget:,}" if budget else "prompt without a budget",
        row,
        _chunked(budget),
        5e-5,
    )
    for budget, row in _CHUNK_ROWS.items()
)

# Slots: steps and mean latency, static and then continuous.
_SLOT_ROWS = {
    1: (1461, 630.7, 1461, 630.7),
    2: (940, 400.325, 749, 296.45),
    4: (566, 241.475, 390, 132.275),
    16: (241, 80.05, 170, 36.375),
    32: (186, 65.925, 170, 36.375),
}


def _on_slots(slots: int) -> Callable[[Trial], Value]:
    def observe(trial: Trial) -> Value:
        fixed = simulate(trial.reference.stream, slots, False)
        rolling = simulate(trial.reference.stream, slots, True)
        return (
            fixed.steps,
            fixed.mean_latency_steps,
            rolling.steps,
            rolling.mean_latency_steps,
        )

    return observe


_SLOTS = tuple(
    Check(
        f"the stream on {slots} slot{'s' * (slots > 1)}",
        "golden values",
        "the reference program with other slots",
        row,
        _on_slots(slots),
        1e-9,
    )
    for slots, row in _SLOT_ROWS.items()
)

_SPECULATION = (
    _golden("tokens a pass at α 0.8, γ 4", 3.3616, lambda _: float(expected_tokens(0.8, 4))),
    _golden("their variance", 2.57004544, lambda _: float(tokens_variance(0.8, 4))),
    _golden(
        "standard error of 200,000 rounds",
        0.0035847213559773395,
        lambda _: float(np.sqrt(tokens_variance(0.8, 4) / 200_000)),
    ),
    _golden(
        "speedup at γ 4 and 16, c 0.1",
        (2.4011, 1.8798),
        lambda _: _numbers(speedup(0.8, [4, 16], 0.1)),
        5e-5,
    ),
    _golden(
        "adaptive draft, six rounds",
        (5, 7, 9, 8, 7, 6, 8),
        lambda _: tuple(adaptive_path([True, True, False, False, False, True]).tolist()),
        0.0,
        "Gante 2023, the heuristic",
    ),
    _golden(
        "verifying at batch 32, 64, 128",
        (1.0, 1.0556, 1.3909),
        lambda t: _numbers(
            verify_cost(t.scenario, [32, 64, 128], 2048, 4).time_s
            / roofline.step_costs(t.scenario, decode_batch=[32, 64, 128], context=2048).time_s
        ),
        5e-5,
    ),
)

# α: mean draft length and tokens a pass of the adaptive rule in the long run.
_ADAPTIVE_ROWS = {
    0.5: (2.2729, 1.7251),
    0.6: (2.7839, 2.0459),
    0.7: (3.6540, 2.5816),
    0.8: (5.4483, 3.6732),
    0.9: (10.9331, 7.0001),
    0.95: (21.9211, 13.6667),
}


def _adaptive(alpha: float) -> Callable[[_Textbook], Value]:
    def observe(_: _Textbook) -> Value:
        found = adaptive_draft(alpha)
        return float(found.mean_gamma), float(found.tokens_per_target_pass)

    return observe


_ADAPTIVE = tuple(
    _golden(f"adaptive draft at α {alpha}", row, _adaptive(alpha), 5e-5)
    for alpha, row in _ADAPTIVE_ROWS.items()
)

GOLDEN = (*_STEPS, *_INTENSITY, *_MEMORY, *_CHUNKS, *_SLOTS, *_SPECULATION, *_ADAPTIVE)
"""The document's figures that are functions of core."""
