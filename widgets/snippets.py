"""“Reproduce in Python”: the present scenario as code that imports core only."""

from __future__ import annotations

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario


def scenario_lines(scenario: Scenario) -> list[str]:
    """Lines that build the very same scenario: presets by name, anything else spelt out."""
    lines = []
    model, device = scenario.model, scenario.device
    if MODELS.get(model.name) == model:
        lines.append("from core.models import MODELS")
        model_code = f"MODELS[{model.name!r}]"
    else:
        lines.append("from core.model_spec import AttentionGroup, Checkpoint, Experts, ModelSpec")
        model_code = repr(model)
    if DEVICES.get(device.name) == device:
        lines.append("from core.devices import DEVICES")
        device_code = f"DEVICES[{device.name!r}]"
    else:
        lines.append("from core.devices import DeviceSpec")
        device_code = repr(device)
    changed = "".join(
        f"    {name}={getattr(scenario, name)!r},\n"
        for name, default in (
            ("devices", 1),
            ("weight_byte", 2.0),
            ("cache_byte", 2.0),
            ("compute_efficiency", 1.0),
            ("bandwidth_efficiency", 1.0),
            ("overhead_s", 0.0),
        )
        if getattr(scenario, name) != default
    )
    return [
        *lines,
        "from core.scenario import Scenario",
        "",
        f"model = {model_code}",
        f"device = {device_code}",
        f"scenario = Scenario(\n    model,\n    device,\n{changed})",
    ]
