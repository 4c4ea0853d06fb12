"""The one scenario that every section of the page and every simulator shares."""

from __future__ import annotations

from dataclasses import dataclass

from core import validate
from core.devices import DeviceSpec
from core.model_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Scenario:
    """A model on t devices, at given widths, with the allowances made for a real server.

    `weight_byte` is bytes per parameter, or None for a checkpoint's own published mixture of
    widths. `cache_byte` is bytes per cached element. Efficiencies scale the device's peaks and
    `overhead_s` is added to each step; at 1, 1 and 0 every step time is the roofline's floor.
    Raises `ValueError` that names the field for a value outside its range.
    """

    model: ModelSpec
    device: DeviceSpec
    devices: int = 1
    weight_byte: float | None = 2.0
    cache_byte: float = 2.0
    compute_efficiency: float = 1.0
    bandwidth_efficiency: float = 1.0
    overhead_s: float = 0.0

    def __post_init__(self) -> None:
        validate.integer("devices", self.devices, 1, 100_000)
        if self.weight_byte is None:
            if self.model.checkpoint is None:
                raise ValueError(
                    f"weight_byte is None (as published), but {self.model.name} has no published "
                    "quantised checkpoint; give a number of bytes per parameter"
                )
        else:
            validate.number("weight_byte", self.weight_byte, 0.125, 8)
        validate.number("cache_byte", self.cache_byte, 0.125, 8)
        validate.number("compute_efficiency", self.compute_efficiency, 0, 1, open_low=True)
        validate.number("bandwidth_efficiency", self.bandwidth_efficiency, 0, 1, open_low=True)
        validate.number("overhead_s", self.overhead_s, 0, 10)

    @property
    def flop_per_s(self) -> float:
        """Arithmetic of all devices together, t·P·e_c."""
        return self.devices * self.device.peak_flop_per_s * self.compute_efficiency

    @property
    def byte_per_s(self) -> float:
        """Bandwidth of all devices together, t·W·e_b."""
        return self.devices * self.device.bandwidth_byte_per_s * self.bandwidth_efficiency

    @property
    def memory_byte(self) -> float:
        """Memory of all devices together."""
        return self.devices * self.device.memory_byte

    @property
    def ridge_flop_per_byte(self) -> float:
        """The intensity at which compute and bandwidth take equally long."""
        return self.flop_per_s / self.byte_per_s

    @property
    def weights_byte(self) -> float:
        """Memory that the weights take."""
        return self.model.weights_byte(self.weight_byte)
