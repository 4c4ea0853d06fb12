"""The shared scenario: what the reader has chosen, and the immutable `Scenario` it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import param

from core import validate
from core.devices import DEVICES, DeviceSpec
from core.hf_config import HfReading
from core.model_spec import ModelSpec
from core.models import MODELS, TEXTBOOK
from core.scenario import Scenario
from core.units import GIGA, TERA, binary, quantity, significant
from widgets.config_link import read_file, read_word
from widgets.share import Reader, pack_config, read_number, shown

YOURS = "config.json"
CUSTOM = "custom"
PUBLISHED = "published"

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "int4": 0.5}
CACHE_BYTES = {"bf16": 2.0, "fp8": 1.0, "int4": 0.5}
_WORDS = {"bf16": "bf16", "fp8": "8 bits", "int4": "4 bits"}

NUMBERS: dict[str, tuple[str, float, float]] = {
    "devices": ("Devices", 1, 1024),
    "overhead": ("Overhead per step, ms", 0, 1000),
    "compute": ("Efficiency of compute, %", 1, 100),
    "bandwidth": ("Efficiency of bandwidth, %", 1, 100),
    "peak": ("Peak, TFLOP/s", 0.01, 1e6),
    "rate": ("Bandwidth, TB/s", 0.001, 1000),
    "memory": ("Memory, GB", 0.1, 1e6),
}
_OF_YOUR_DEVICE = ("peak", "rate", "memory")
DEFAULTS: dict[str, Any] = {
    "model": "8B",
    "device": "A100",
    "devices": 1,
    "weights": "bf16",
    "cache": "bf16",
    "arithmetic": "bf16",
    "overhead": 0,
    "compute": 100,
    "bandwidth": 100,
    "peak": 312,
    "rate": 2.0,
    "memory": 80,
}


class ScenarioModel(param.Parameterized):
    """The reader's choices, by the names they have in a link, and the scenario they make.

    `apply` takes any number of changes at once and either takes them all or raises `ValueError`
    and leaves everything as it was.
    """

    choices = param.Dict(default=DEFAULTS, instantiate=True)
    reading = param.ClassSelector(class_=HfReading, default=None, allow_None=True)
    config_text = param.String(default="", doc="The dropped file, compact, as a link carries it")
    scenario = param.ClassSelector(class_=Scenario, allow_None=False, instantiate=False)

    def __init__(self) -> None:
        super().__init__(scenario=_build(DEFAULTS, None))

    def apply(self, changes: Mapping[str, Any]) -> list[str]:
        """Make the changes; returns sentences about what had to follow from them."""
        for key, value in changes.items():
            self.check(key, value)
        choices = {**self.choices, **changes}
        reading = self.reading if choices["model"] == YOURS else None
        return self._adopt(choices, reading, changes)

    def adopt_config(self, text: str | bytes, name: str = "") -> list[str]:
        """Make a config.json the model of the page; `ValueError` says why it cannot be."""
        reading, carried = read_file(text, name)
        changes = {"model": YOURS}
        notes = self._adopt({**self.choices, **changes}, reading, changes)
        self.config_text = carried
        if not carried:
            notes.append(
                f"{reading.model.name} is too long for an address, even without what is not read "
                "here; a link and a reload leave it out. Drop the file again then."
            )
        return notes

    def check(self, key: str, value: Any) -> None:
        """Raise `ValueError` where a choice of that name cannot have that value."""
        if key not in DEFAULTS:
            raise ValueError(f"the scenario has no choice called {key}")
        if key in NUMBERS:
            label, low, high = NUMBERS[key]
            if isinstance(value, str):
                raise ValueError(
                    f"{label} must be a number from {low:,.10g} to {high:,.10g}, got {shown(value)}"
                )
            if key == "devices":
                validate.integer(label, value, int(low), int(high))
            else:
                validate.number(label, value, low, high)
        else:
            allowed = [option[0] for option in self.options(key)]
            if key == "model":
                allowed = [*MODELS, *([YOURS] if self.reading else [])]
            if value not in allowed:
                listed = ", ".join(map(str, allowed[:12])) + (" …" if len(allowed) > 12 else "")
                raise ValueError(f"{key} must be one of {listed}; got {value}")

    def options(self, key: str) -> list[tuple[str, str, str]]:
        """What a choice offers now: (value, words, group)."""
        choices, model = self.choices, self.scenario.model
        match key:
            case "model":
                own = [(YOURS, model.name, "From your file")] if self.reading else []
                sized = [(name, f"{name} textbook", "Textbook") for name in TEXTBOOK]
                named = [(name, name, "Published") for name in MODELS if name not in TEXTBOOK]
                return own + sized + named
            case "device":
                known = [(name, name, "Devices") for name in DEVICES]
                return [*known, (CUSTOM, "your own…", "Custom")]
            case "weights":
                own = []
                if model.checkpoint is not None:
                    own = [(PUBLISHED, f"as published ({model.checkpoint.label})", "")]
                return own + [(name, _WORDS[name], "") for name in WEIGHT_BYTES]
            case "cache":
                return [(name, _WORDS[name], "") for name in CACHE_BYTES]
            case "arithmetic":
                return [(name, name, "") for name in _device(choices).arithmetics]
        raise ValueError(f"{key} is a number, not a choice")

    def control_value(self, key: str) -> dict[str, Any]:
        """What a control needs to show: its value, and its options where it is a choice."""
        shown: dict[str, Any] = {"value": self.choices[key]}
        if key not in NUMBERS:
            shown["options"] = [list(option) for option in self.options(key)]
        return shown

    def readers(self) -> dict[str, Reader]:
        """For each choice, a function from a link's text to a value."""
        readers: dict[str, Reader] = {key: self._reader(key) for key in DEFAULTS}
        readers["config"] = read_word
        return readers

    def _reader(self, key: str) -> Reader:
        def read(text: str) -> Any:
            value = read_number(text) if key in NUMBERS else text
            # Options that hang on another choice of the same link are checked when all are known.
            if key in NUMBERS or key in ("device", "cache"):
                self.check(key, value)
            elif key == "model" and text not in MODELS:
                raise ValueError("no preset has that name")
            elif key == "weights" and text not in (*WEIGHT_BYTES, PUBLISHED):
                raise ValueError(f"choose one of {', '.join((*WEIGHT_BYTES, PUBLISHED))}")
            elif key == "arithmetic" and text not in ("bf16", "fp8", "int8", "fp4"):
                raise ValueError("choose one of bf16, fp8, int8, fp4")
            return value

        return read

    def restore(self, values: Mapping[str, Any]) -> list[str]:
        """Take over what a link said, from the defaults; returns what had to give way."""
        text, reading = values.get("config", ("", None))
        choices = {**DEFAULTS, **{k: v for k, v in values.items() if k != "config"}}
        if reading is not None:
            choices["model"] = YOURS
        notes = self._adopt(choices, reading, {"model": None} if "weights" not in values else {})
        typed = [key for key in _OF_YOUR_DEVICE if key in values]
        if typed and choices["device"] != CUSTOM:
            notes.append(
                f"{', '.join(typed)} in the link changed nothing: they are of a device of your "
                f"own, which the link must name as device={CUSTOM}."
            )
        self.config_text = text
        return notes

    def link_values(self) -> dict[str, Any]:
        """The choices as a link carries them; a dropped config travels with the keys it used."""
        values = dict(self.choices)
        if self.choices["device"] != CUSTOM:
            values = {k: v for k, v in values.items() if k not in _OF_YOUR_DEVICE}
        if self.reading is not None:
            del values["model"]
            if self.config_text:
                values["config"] = pack_config(self.config_text)
        return values

    def summary(self) -> str:
        """Weights, cache per token and ridge in one line."""
        s = self.scenario
        per_token = binary(s.model.kv_bytes_per_token(s.cache_byte))
        return (
            f"{quantity(s.weights_byte, 'B')} · {per_token} a token · "
            f"ridge {significant(s.ridge_flop_per_byte)} FLOP/B"
        )

    def _adopt(
        self, choices: dict[str, Any], reading: HfReading | None, changes: Mapping[str, Any]
    ) -> list[str]:
        model = _model(choices, reading)
        notes = []
        if "model" in changes and model.checkpoint is not None:
            choices["weights"] = PUBLISHED
            notes.append(
                f"{model.name} is published quantised ({model.checkpoint.label}); its weights "
                "are counted as they are in the file."
            )
        elif choices["weights"] == PUBLISHED and model.checkpoint is None:
            choices["weights"] = "bf16"
            notes.append(f"{model.name} has no quantised checkpoint; weights are bf16 again.")
        device = _device(choices)
        if choices["arithmetic"] not in device.arithmetics:
            notes.append(
                f"{device.name} does not multiply in {choices['arithmetic']}; arithmetic is bf16 "
                "again."
            )
            choices["arithmetic"] = "bf16"
        scenario = _build(choices, reading)
        self.param.update(choices=choices, reading=reading, scenario=scenario)
        return notes


def _model(choices: Mapping[str, Any], reading: HfReading | None) -> ModelSpec:
    return reading.model if reading is not None else MODELS[choices["model"]]


def _device(choices: Mapping[str, Any]) -> DeviceSpec:
    if choices["device"] != CUSTOM:
        return DEVICES[choices["device"]]
    return DeviceSpec(
        name="your device",
        peak_flop_per_s=choices["peak"] * TERA,
        bandwidth_byte_per_s=choices["rate"] * TERA,
        memory_byte=choices["memory"] * GIGA,
        source="typed in",
    )


def _build(choices: Mapping[str, Any], reading: HfReading | None) -> Scenario:
    published = choices["weights"] == PUBLISHED
    return Scenario(
        model=_model(choices, reading),
        device=_device(choices).with_arithmetic(choices["arithmetic"]),
        devices=int(choices["devices"]),
        weight_byte=None if published else WEIGHT_BYTES[choices["weights"]],
        cache_byte=CACHE_BYTES[choices["cache"]],
        compute_efficiency=choices["compute"] / 100,
        bandwidth_efficiency=choices["bandwidth"] / 100,
        overhead_s=choices["overhead"] / 1000,
    )
