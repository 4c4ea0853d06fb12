"""Tables that others published, reproduced by core as closely as their printing allows.

A tolerance is half a printed digit, or says how far the publication itself was rounded.
"""

from __future__ import annotations

from collections.abc import Callable

from core.checks.check import Check, Trial, Value
from core.devices import DeviceSpec
from core.kv_cache import capacity
from core.model_spec import AttentionGroup, ModelSpec
from core.models import MODELS
from core.roofline import StepCost, cost_of_totals, step_costs
from core.scenario import Scenario
from core.speculation import operations_factor, optimal_gamma, speedup

_LEVIATHAN = "Leviathan et al. 2023"
_BOOK = "How to Scale Your Model, inference"
_KIPPLY = "kipply 2022"
_KWON = "Kwon et al. 2023"
_POPE = "Pope et al. 2022"


def _published(
    name: str, source: str, expected: Value, observe: Callable[[], Value], tolerance: float = 0.0
) -> Check:
    def look(_: Trial) -> Value:
        return observe()

    return Check(name, "published tables", source, expected, look, tolerance)


def _plain(parameters: float, cache_element: int = 1) -> ModelSpec:
    """A model of so many parameters whose cache per token is given in elements."""
    return ModelSpec("published", int(parameters), (AttentionGroup(1, 1, 1, cache_element),))


def _device(flop_per_s: float, byte_per_s: float, memory_byte: float = 80e9) -> DeviceSpec:
    return DeviceSpec("published", flop_per_s, byte_per_s, memory_byte)


# Table 1: α, γ, the factor of operations, the speedup at c = 0.
_LEVIATHAN_1 = (
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
)

# Table 4: task and temperature, draft, α, γ, c, the factor that the formula expects.
_LEVIATHAN_4 = (
    ("EnDe, T 0, small", 0.75, 7, 0.02, 3.2),
    ("EnDe, T 0, base", 0.80, 7, 0.04, 3.3),
    ("EnDe, T 0, large", 0.82, 7, 0.11, 2.5),
    ("EnDe, T 1, small", 0.62, 7, 0.02, 2.3),
    ("EnDe, T 1, base", 0.68, 5, 0.04, 2.4),
    ("EnDe, T 1, large", 0.71, 3, 0.11, 2.0),
    ("CNNDM, T 0, small", 0.65, 5, 0.02, 2.4),
    ("CNNDM, T 0, base", 0.73, 5, 0.04, 2.6),
    ("CNNDM, T 0, large", 0.74, 3, 0.11, 2.0),
    ("CNNDM, T 1, small", 0.53, 5, 0.02, 1.9),
    ("CNNDM, T 1, base", 0.55, 3, 0.04, 1.8),
    ("CNNDM, T 1, large", 0.56, 3, 0.11, 1.6),
)

_COSTS = (0.01, 0.02, 0.05, 0.1, 0.2)
_OPTIMAL = {
    0.5: (5, 4, 3, 2, 1),
    0.6: (7, 6, 4, 3, 2),
    0.7: (9, 8, 6, 4, 3),
    0.8: (14, 11, 8, 6, 4),
    0.9: (24, 19, 13, 10, 7),
}


def _table_1(alpha: float, gamma: int) -> Callable[[], Value]:
    return lambda: (float(operations_factor(alpha, gamma)), float(speedup(alpha, gamma, 0)))


def _factor(alpha: float, gamma: int, cost: float) -> Callable[[], Value]:
    return lambda: float(speedup(alpha, gamma, cost))


def _optimal(alpha: float) -> Callable[[], Value]:
    return lambda: tuple(optimal_gamma(alpha, list(_COSTS)).tolist())


def _chen(alpha: float) -> Callable[[], Value]:
    return lambda: float(speedup(alpha, 4, 1.8 / 14.1))


_SPECULATION = (
    *(
        _published(
            f"operations and speed, α {alpha}, γ {gamma}",
            f"{_LEVIATHAN}, table 1",
            (operations, faster),
            _table_1(alpha, gamma),
            0.005,
        )
        for alpha, gamma, operations, faster in _LEVIATHAN_1
    ),
    *(
        # α and c are printed rounded, which moves three of the twelve by up to 0.06.
        _published(
            f"factor, {task}", f"{_LEVIATHAN}, table 4", factor, _factor(alpha, gamma, cost), 0.07
        )
        for task, alpha, gamma, cost, factor in _LEVIATHAN_4
    ),
    _published("bigram draft, α 0.2, γ 3", _LEVIATHAN, 1.25, _factor(0.2, 3, 0), 0.005),
    *(
        _published(
            f"best γ at α {alpha}, c 0.01 to 0.2",
            f"{_LEVIATHAN}, figure 3 searched",
            row,
            _optimal(alpha),
        )
        for alpha, row in _OPTIMAL.items()
    ),
    *(
        # The acceptance is the one that Equation 1 needs for the printed times.
        _published(f"speedup, {task}", "Chen et al. 2023, table 1", printed, _chen(alpha), 0.05)
        for task, printed, alpha in (
            ("XSum nucleus", 1.92, 0.7112),
            ("XSum greedy", 2.01, 0.7486),
            ("HumanEval", 2.46, 0.8512),
        )
    ),
)


def _opt(layers: int, width: int) -> ModelSpec:
    return ModelSpec("OPT", 1, (AttentionGroup.grouped(layers, 1, 1, width),))


def _slots(cache_gib: float, layers: int, width: int) -> Callable[[], Value]:
    return lambda: cache_gib * 2**30 / _opt(layers, width).kv_bytes_per_token()


def _longest(heads: int, width: int, replicated: int) -> Callable[[], Value]:
    """Contexts at batch 128 and 512 in 30 % of 64 chips, kept `replicated` times."""
    model = ModelSpec("PaLM", 1, (AttentionGroup.grouped(118, heads, heads, width),))
    whole_byte = 0.3 * 64 * 32 * 2**30
    return lambda: tuple(
        whole_byte / (batch * model.kv_bytes_per_token() * replicated) for batch in (128, 512)
    )


_MEMORY = (
    _published(
        "OPT-13B, KiB a token", _KWON, 800, lambda: MODELS["OPT-13B"].kv_bytes_per_token() / 1024
    ),
    _published(
        "OPT-13B, GiB at 2,048 tokens",
        _KWON,
        1.6,
        lambda: float(MODELS["OPT-13B"].kv_bytes_per_sequence(2048)) / 2**30,
        0.05,
    ),
    _published(
        "OPT-13B, share of 40 GB, %",
        f"{_KWON}, figure 1",
        65,
        lambda: 100 * MODELS["OPT-13B"].weights_byte() / 40e9,
        1.0,
    ),
    _published("OPT-13B, slots in 12 GB", f"{_KWON}, table 1", 15_700, _slots(12, 40, 5120), 50),
    # The table prints 21 GB; 21.3 would give its 9.7K.
    _published("OPT-66B, slots in 21 GB", f"{_KWON}, table 1", 9_700, _slots(21, 64, 9216), 230),
    _published(
        "OPT-175B, slots in 264 GB", f"{_KWON}, table 1", 60_100, _slots(264, 96, 12_288), 50
    ),
    _published(
        "multihead, tokens at batch 128, 512",
        f"{_POPE}, table 1",
        (1_320, 330),
        _longest(64, 128, 1),
        15,
    ),
    _published(
        "multiquery kept on each chip",
        f"{_POPE}, table 1",
        (660, 165),
        _longest(1, 256, 64),
        7,
    ),
    _published(
        "multiquery split by batch",
        f"{_POPE}, table 1",
        (43_000, 10_700),
        _longest(1, 256, 1),
        400,
    ),
    _published(
        "52B, cache bytes a token",
        _KIPPLY,
        2_097_152,
        lambda: ModelSpec(
            "52B", 1, (AttentionGroup.grouped(64, 64, 64, 128),)
        ).kv_bytes_per_token(),
    ),
    _published(
        "52B on 3 devices, tokens that fit",
        _KIPPLY,
        8_000,
        lambda: float(
            capacity(
                Scenario(_plain(52_076_478_464, 1_048_576), _device(312e12, 1.5e12, 40e9), 3),
                1,
                reserved_fraction=1.0,
            ).sequences
        ),
        500,
    ),
)


def _book_step(batch: int, cache_byte: float) -> StepCost:
    """LLaMA-2-13B on eight v5e chips at 8,192 tokens; only the traffic is counted there."""
    scenario = Scenario(_plain(13e9), _device(1e18, 0.82e12), 8)
    return cost_of_totals(scenario, batch, 0.0, batch * cache_byte)


def _book_row(batch: int) -> Callable[[], Value]:
    def observe() -> Value:
        step_s = float(_book_step(batch, 6.7e9).time_s)
        return step_s * 1e3, batch / step_s

    return observe


def _book_fifth(batch: int) -> Callable[[], Value]:
    return lambda: float(_book_step(batch, 1.34e9).time_s) * 1e3


def _quiz() -> Value:
    """30B in int8 on 16 chips, 100 kB a token at 8,192: batch 4 in full, 256 taken apart."""
    scenario = Scenario(_plain(30e9), _device(1.97e14, 8.1e11), 16, weight_byte=1.0)
    small = cost_of_totals(scenario, 4, 0.0, 4 * 819e6)
    arithmetic = cost_of_totals(scenario, 256, 0.0, 0.0)
    cache = cost_of_totals(scenario, 0, 0.0, 256 * 819.2e6)
    return float(small.memory_s) * 1e3, float(arithmetic.time_s + cache.time_s) * 1e3


def _kipply_step(parameters: float, devices: int, batch: int) -> Callable[[], Value]:
    scenario = Scenario(_plain(parameters), _device(312e12, 1.5e12), devices)
    return lambda: float(cost_of_totals(scenario, batch, 0.0, 0.0).time_s) * 1e3


_BOOK_ROWS = (
    (1, 4.98, 200.61, 4.17),
    (8, 12.13, 659.30, 5.60),
    (16, 20.30, 787.99, 7.23),
    (32, 36.65, 873.21, 10.50),
    (64, 69.33, 923.13, 17.04),
    (240, 249.09, 963.53, 52.99),
)

_TIME = (
    *(
        _published(
            f"LLaMA-2-13B, batch {batch}, ms and tokens/s",
            _BOOK,
            (step_ms, rate),
            _book_row(batch),
            0.005,
        )
        for batch, step_ms, rate, _ in _BOOK_ROWS
    ),
    *(
        _published(
            f"a fifth of the cache, batch {batch}, ms", _BOOK, fifth, _book_fifth(batch), 0.005
        )
        for batch, _, _, fifth in _BOOK_ROWS
    ),
    _published("quiz, batch 4 and 256, ms", _BOOK, (2.5, 21), _quiz, 0.1),
    _published(
        "critical batch of v5e",
        _BOOK,
        240,
        lambda: _device(1.97e14, 0.82e12).ridge_flop_per_byte,
        0.5,
    ),
    _published(
        "70B, cache in int8, KiB a token",
        _BOOK,
        160,
        lambda: MODELS["70B"].kv_bytes_per_token(1) / 1024,
    ),
    _published(
        "70B, 8,192 tokens prefilled at 40 %, s",
        _BOOK,
        0.91,
        lambda: float(
            step_costs(
                Scenario(_plain(70e9), _device(1.97e14, 8.1e11), 16, 1.0, compute_efficiency=0.4),
                prefill_tokens=8192,
            ).compute_s
        ),
        0.005,
    ),
    _published("A100's ridge", _KIPPLY, 208, lambda: _device(312e12, 1.5e12).ridge_flop_per_byte),
    _published(
        "52B, FLOPs a token",
        _KIPPLY,
        103_079_215_104,
        lambda: float(
            cost_of_totals(
                Scenario(_plain(51_539_607_552), _device(312e12, 1.5e12)), 1, 0.0, 0.0
            ).flops
        ),
    ),
    _published("260B on 16, batch 1, ms", _KIPPLY, 22, _kipply_step(260e9, 16, 1), 0.5),
    _published("260B on 16, batch 512, ms", _KIPPLY, 53, _kipply_step(260e9, 16, 512), 0.5),
    _published("52B on 4, batch 256, ms", _KIPPLY, 21, _kipply_step(52e9, 4, 256), 0.5),
    _published(
        "540B in int8 on 64, floor in ms",
        f"{_POPE}, 29 ms measured",
        7.03,
        lambda: (
            float(
                cost_of_totals(
                    Scenario(_plain(540e9), _device(1e18, 1.2e12), 64, weight_byte=1.0), 1, 0.0, 0.0
                ).time_s
            )
            * 1e3
        ),
        0.005,
    ),
)

PUBLISHED = (*_SPECULATION, *_MEMORY, *_TIME)
"""Every published row that is a function of core."""
