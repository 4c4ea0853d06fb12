"""The scenario bar: one line, always in sight, that reads as a sentence."""

from __future__ import annotations

from typing import Any

import param

from core.models import TEXTBOOK
from core.units import binary, exact, quantity, significant
from widgets.card import Component, component_module, read_static
from widgets.layout import Layout
from widgets.scenario import CUSTOM, NUMBERS, ScenarioModel

_DEVICE_STOPS = [1, 2, 4, 8, 16, 32, 64, 128]
_OVERHEAD_STOPS = [0, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50]
_PERCENT_STOPS = list(range(10, 101, 5))


class ScenarioBar(Component):
    """Model, devices and widths, the dropped config.json, notices, theme and the address bar.

    `state` has `values`, `summary`, `found`, `notices`, `query` and `theme`.
    """

    _piecewise = ("values",)

    spec = param.Dict(default={})

    _esm = component_module("renderBar")
    _stylesheets = [read_static("bar.css")]  # noqa: RUF012 - Panel reads this class attribute

    def __init__(self, layout: Layout | None = None, **params: Any) -> None:
        super().__init__(spec=bar_spec(layout or Layout()), **params)


def bar_spec(layout: Layout) -> dict[str, Any]:
    """What the bar is made of; it never changes."""

    def number(key: str, label: str, unit: str, stops: list[float]) -> dict[str, Any]:
        return {"key": key, "label": label, "unit": unit, "stops": stops}

    return {
        "sizes": list(TEXTBOOK),
        "front": [
            {"key": "model", "label": "Model"},
            {"key": "device", "label": "Device"},
            {"key": "weights", "label": "weights"},
            {"key": "cache", "label": "cache"},
        ],
        "devices": number("devices", "Devices", "", list(_DEVICE_STOPS)),
        "more": [
            number("overhead", "Overhead per step", "ms", list(_OVERHEAD_STOPS)),
            number("compute", "Efficiency of compute", "%", list(_PERCENT_STOPS)),
            number("bandwidth", "Efficiency of bandwidth", "%", list(_PERCENT_STOPS)),
            {"key": "arithmetic", "label": "Arithmetic"},
        ],
        "custom": [{"key": key, "label": NUMBERS[key][0]} for key in ("peak", "rate", "memory")],
        "customName": CUSTOM,
        "maxConfigByte": 1_000_000,
        "mode": layout.mode,
        "locked": sorted(layout.locked),
    }


def bar_values(model: ScenarioModel) -> dict[str, Any]:
    """Every choice with its options, as the bar shows them."""
    return {key: model.control_value(key) for key in model.choices}


def found_in_config(model: ScenarioModel) -> dict[str, Any]:
    """What the page says about a dropped config.json; empty where there is none."""
    reading = model.reading
    if reading is None:
        return {}
    spec, s = reading.model, model.scenario
    slope = spec.kv_bytes_per_token(s.cache_byte)
    beyond = spec.kv_bytes_per_token_beyond_windows(s.cache_byte)
    fixed = spec.kv_bytes_fixed(s.cache_byte)
    facts = [
        ["parameters", exact(spec.parameters)],
        ["weights here", quantity(s.weights_byte, "B")],
        ["cache per token (slope)", f"{exact(slope)} B = {binary(slope)}"],
    ]
    if spec.active_parameters != spec.parameters:
        facts.insert(1, ["active for one token", exact(spec.active_parameters)])
    if beyond != slope:
        facts.append(["slope beyond the windows", f"{exact(beyond)} B = {binary(beyond)}"])
    facts.append(["fixed part per sequence", f"{exact(fixed)} B = {binary(fixed)}"])
    if s.memory_byte * 0.9 > s.weights_byte:
        budget = s.memory_byte * 0.9 - s.weights_byte
        facts.append(["budget for the cache (at 0.90)", quantity(budget, "B")])
    else:
        facts.append(
            [
                "budget for the cache (at 0.90)",
                f"none: {quantity(s.weights_byte, 'B')} of weights into "
                f"{quantity(s.memory_byte * 0.9, 'B')}",
            ]
        )
    return {
        "name": spec.name,
        "facts": facts,
        "used": [[key, _short(value)] for key, value in reading.used],
        "assumed": [*reading.assumed, *reading.ignored],
    }


def _short(value: object) -> str:
    if isinstance(value, float):
        return significant(value, 6)
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"
