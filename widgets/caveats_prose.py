"""The numbers that section 8's prose asks for by name, and its snippet."""

from __future__ import annotations

from dataclasses import replace

from core.devices import DEVICES
from core.headlines import cold_run, salt_hit_rate, warm_run
from core.measured_bands import (
    A100_KERNELS,
    AICONFIGURATOR_DECODE_S,
    BANDS,
    LEFT_OUT,
    Band,
    efficiencies,
)
from core.models import MODELS
from core.roofline import crossing_batch, step_costs
from core.scenario import Scenario
from core.streaming import answer_timeline, cache_hit_timing, observer
from core.units import quantity, significant
from widgets.caveats_run import BLOCK_TOKEN, CONTEXT, OWN_TOKEN, PROMPT, Runs, Settings
from widgets.snippets import scenario_lines

EXAMPLE = Scenario(MODELS["8B"], DEVICES["A100"])
DEFAULTS = Settings(
    batch=32,
    token_per_s=100,
    answer_token=1000,
    noise_s=0.05,
    salted=False,
    groups=10,
    prefix_token=2048,
    rate_per_s=4,
)


def numbers() -> dict[str, str]:
    """Every name, at the page's defaults."""
    return {**_floor(), **_bands(), **_reading(), **_channel(), **_stream()}


def fitted() -> Scenario:
    """The example with the efficiencies at which it takes as the measured kernels do."""
    e_c, e_b = efficiencies(EXAMPLE, A100_KERNELS, batch=32, context=CONTEXT, prompt=PROMPT)
    return replace(EXAMPLE, compute_efficiency=round(e_c, 3), bandwidth_efficiency=round(e_b, 3))


def _floor() -> dict[str, str]:
    decode = step_costs(EXAMPLE, decode_batch=32, context=CONTEXT)
    mixed = step_costs(EXAMPLE, decode_batch=32, context=CONTEXT, prefill_tokens=PROMPT)
    own = fitted()
    slow = step_costs(own, decode_batch=32, context=CONTEXT)
    slow_mixed = step_costs(own, decode_batch=32, context=CONTEXT, prefill_tokens=PROMPT)
    launched = replace(EXAMPLE, overhead_s=0.01)
    lone = step_costs(launched, decode_batch=1, context=CONTEXT)
    lone_floor = step_costs(EXAMPLE, decode_batch=1, context=CONTEXT)
    return {
        "floor_decode": _ms(decode.time_s),
        "floor_mixed": _ms(mixed.time_s),
        "floor_pause": f"{significant(float(mixed.time_s / decode.time_s))}×",
        "kernel_decode": _ms(A100_KERNELS.decode_s),
        "kernel_mixed": _ms(A100_KERNELS.mixed_s),
        "kernel_pause": f"{significant(A100_KERNELS.pause)}×",
        "compute_efficiency": _percent(own.compute_efficiency, 3),
        "bandwidth_efficiency": _percent(own.bandwidth_efficiency, 3),
        "fitted_decode": _ms(slow.time_s),
        "fitted_mixed": _ms(slow_mixed.time_s),
        "fitted_pause": f"{significant(float(slow_mixed.time_s / slow.time_s))}×",
        "fitted_ridge": significant(own.ridge_flop_per_byte),
        "ridge": significant(EXAMPLE.ridge_flop_per_byte),
        "crossing": significant(float(crossing_batch(EXAMPLE, 512))),
        "fitted_crossing": significant(float(crossing_batch(own, 512))),
        "linear_above": significant(A100_KERNELS.linear_ratio),
        "attention_above": significant(A100_KERNELS.attention_ratio),
        "tables_lone": f"{AICONFIGURATOR_DECODE_S[1] * 1e3:.1f} ms",
        "tables_decode": f"{AICONFIGURATOR_DECODE_S[32] * 1e3:.1f} ms",
        "fitted_lone": _ms(step_costs(own, decode_batch=1, context=CONTEXT).time_s),
        "lone_floor": _ms(lone_floor.time_s),
        "lone_launched": _ms(lone.time_s),
        "lone_above": significant(float(lone.time_s / lone_floor.time_s)),
    }


def _bands() -> dict[str, str]:
    names: dict[str, str] = {}
    for band in BANDS:
        if band.kind == "devices":
            names[f"served_{band.low:.0f}"] = _span(band)
            names[f"served_{band.low:.0f}_middle"] = significant(band.p50)
    named = {
        "small_cache": _of("attention", 0),
        "large_cache": _of("attention", -1),
        "layers_small": _of("linear", 0),
        "load_8b": _of("load", 0),
        "load_405b": _of("load", -1),
        "matmul": _of("matmul", 0),
    }
    names |= {key: _span(band) for key, band in named.items()}
    names |= {f"{key}_middle": significant(band.p50) for key, band in named.items()}
    names["layers_small_high"] = significant(_of("linear", 0).p90)
    names |= {f"left_{i}": significant(row.ratio, 2) for i, row in enumerate(LEFT_OUT, 1)}
    return names


def _reading() -> dict[str, str]:
    timing = cache_hit_timing(EXAMPLE, 2048, OWN_TOKEN, block_token=BLOCK_TOKEN)
    answer = answer_timeline(timing.miss_s, DEFAULTS.token_per_s, DEFAULTS.answer_token)
    return {
        "prompt_tokens": f"{timing.prompt_token:,}",
        "ttft": quantity(answer.ttft_s, "s"),
        "itl": quantity(answer.itl_s, "s"),
        "e2e": quantity(answer.e2e_s, "s"),
        "made_by_two": f"{int(answer.made_by(2.0)):,}",
        "made_by_five": f"{int(answer.made_by(5.0)):,}",
    }


def _channel() -> dict[str, str]:
    timing = cache_hit_timing(EXAMPLE, 2048, OWN_TOKEN, block_token=BLOCK_TOKEN)
    eye = observer(timing, 0.05)
    loud = observer(timing, 0.2)
    traffic = DEFAULTS.traffic
    rates = [salt_hit_rate(traffic, n, block_token=BLOCK_TOKEN) for n in (1, DEFAULTS.groups)]
    return {
        "hit": quantity(timing.hit_s, "s"),
        "miss": quantity(timing.miss_s, "s"),
        "accuracy": _percent(eye.accuracy),
        "accuracy_loud": _percent(loud.accuracy),
        "threshold": quantity(eye.threshold_s, "s"),
        "hits_shared": _percent(rates[0]),
        "hits_salted": _percent(rates[1]),
        "salt_cost": significant(100 * (rates[0] - rates[1])),
    }


def _stream() -> dict[str, str]:
    traffic = DEFAULTS.traffic
    cold = cold_run(EXAMPLE, traffic)
    warm = warm_run(EXAMPLE, traffic, block_token=BLOCK_TOKEN)
    busy = cold_run(EXAMPLE, replace(traffic, rate_per_s=8.0))
    return {
        "mean_ttft": quantity(cold.mean_ttft_s, "s"),
        "p99_ttft": quantity(cold.p99_ttft_s, "s"),
        "warm_mean": quantity(warm.mean_ttft_s, "s"),
        "warm_p99": quantity(warm.p99_ttft_s, "s"),
        "per_device": significant(cold.device_token_per_s),
        "per_user": significant(cold.user_token_per_s),
        "busy_device": significant(busy.device_token_per_s),
        "busy_user": significant(busy.user_token_per_s),
        "busy_p99": quantity(busy.p99_ttft_s, "s"),
        "warm_times": significant(cold.mean_ttft_s / warm.mean_ttft_s),
    }


def _of(kind: str, place: int) -> Band:
    return [band for band in BANDS if band.kind == kind][place]


def _span(band: Band) -> str:
    return f"{significant(band.p10)} to {significant(band.p90)}"


def _ms(seconds: object) -> str:
    return f"{significant(float(seconds) * 1e3)} ms"  # type: ignore[arg-type]


def _percent(share: float, digits: int = 3) -> str:
    return f"{significant(100 * share, digits)} %"


def snippet(scenario: Scenario, settings: Settings, runs: Runs) -> str:
    """Python that imports core only and prints the readouts."""
    traffic = settings.traffic
    lines = [
        *scenario_lines(scenario),
        "from dataclasses import replace",
        "from core.headlines import Traffic, cold_run, salt_hit_rate, warm_run",
        "from core.measured_bands import served_band",
        "from core.roofline import step_costs",
        "from core.streaming import answer_timeline, cache_hit_timing, observer",
        "",
        f"batch, context, prompt = {settings.batch}, {CONTEXT}, {PROMPT}",
        "bare = replace(",
        "    scenario, compute_efficiency=1.0, bandwidth_efficiency=1.0, overhead_s=0.0",
        ")",
        "step_s = float(step_costs(scenario, decode_batch=batch, context=context).time_s)",
        "floor_s = float(step_costs(bare, decode_batch=batch, context=context).time_s)",
        "mixed = step_costs(",
        "    scenario, decode_batch=batch, context=context, prefill_tokens=prompt",
        ")",
        'print("decode step, s, and over its floor:", step_s, step_s / floor_s)',
        'print("with the prompt, s, and the pause:", float(mixed.time_s), '
        "float(mixed.time_s) / step_s)",
        'print("as served systems were measured, middle, s:", '
        "floor_s * served_band(scenario.devices).p50)",
        "",
        f"timing = cache_hit_timing(scenario, {settings.prefix_token}, {OWN_TOKEN}, "
        f"block_token={BLOCK_TOKEN})",
        f"answer = answer_timeline(timing.miss_s, {settings.token_per_s}, {settings.answer_token})",
        'print("first word streamed and whole, s:", answer.ttft_s, answer.e2e_s)',
        f"eye = observer(timing, {settings.noise_s}, salted={settings.salted})",
        'print("right guesses, and the line, s:", eye.accuracy, eye.threshold_s)',
        "",
        f"traffic = {traffic!r}",
        f"shared = salt_hit_rate(traffic, 1, block_token={BLOCK_TOKEN})",
        f"salted = salt_hit_rate(traffic, {settings.groups}, block_token={BLOCK_TOKEN})",
        'print("hit rate lost to salts:", shared - salted)',
    ]
    if runs.warm is not None:
        groups = settings.groups if settings.salted else 1
        lines += [
            f"warm = warm_run(scenario, traffic, groups={groups}, block_token={BLOCK_TOKEN})",
            'print("hit rate and mean TTFT, warm, s:", warm.hit_rate, warm.mean_ttft_s)',
        ]
    if runs.cold is not None:
        lines += [
            "cold = cold_run(scenario, traffic)",
            'print("mean and p99 TTFT, cold, s:", cold.mean_ttft_s, cold.p99_ttft_s)',
            'print("tokens/s per device and per user:", '
            "cold.device_token_per_s, cold.user_token_per_s)",
        ]
    return "\n".join(lines)
