"""Measured time over the floor's time, as published, to set beside the model's own floor.

Each band is the tenth, fiftieth and ninetieth percentile of measured ÷ floor over the rows that its
`source` and `note` name; the floor of each row is this project's (`core.roofline`), at the device's
data-sheet peaks. Rows that no band may hold are listed in `LEFT_OUT`, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core import validate
from core.roofline import MAX_BATCH, step_costs
from core.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Band:
    """Measured ÷ floor over `rows` measured points: p10, p50, p90.

    `kind` groups the bands; `low` and `high` are the ends of the key (tokens, MB of cache a layer,
    sequences at once, devices) that the rows were chosen by, 0 where there is none.
    """

    kind: str
    label: str
    rows: int
    p10: float
    p50: float
    p90: float
    source: str
    note: str
    low: float = 0
    high: float = 0

    def span_s(self, floor_s: float) -> tuple[float, float, float]:
        """Where p10, p50 and p90 put a step whose floor is `floor_s`.

        Worked value: 0.1 s under a band of 1.35, 1.61, 1.8: 0.135, 0.161 and 0.18 s.
        """
        return floor_s * self.p10, floor_s * self.p50, floor_s * self.p90


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Measured rows below the floor, and why they belong to no band."""

    label: str
    rows: int
    ratio: float
    why: str
    source: str


VIDUR = "microsoft/vidur at 7d47513, data/profiling/compute, medians"
AICONFIGURATOR = "ai-dynamo/aiconfigurator at 095f58a, systems/data, attention tables"
SILICON = "ai-dynamo/aiconfigurator at 095f58a, systems/silicon_sample.csv"
OVERVIEW = "NVIDIA/TensorRT-LLM at 00f3768 (v1.0), docs, perf-overview.md"
MAMF = "stas00/ml-engineering, compute/accelerator/README.md, text of August 2026"

_LINEAR_NOTE = "Llama-2 and Llama-3 layers, 16 bits, on one A100, H100 or A40"
_ATTENTION_NOTE = (
    "32 query heads and 8 key-value heads of width 128, 16 bits, on A100, H100, H200, L40S and "
    "B200, kernels of vLLM and TensorRT-LLM; two groups are left out"
)
_SERVED_NOTE = (
    "Llama-3.1-70B in 8 bits, mean gap between tokens over the floor of a decode step; rows whose "
    "16-bit cache would not fit are left out; other requests' prefills are in the measured gap"
)
_LOAD_NOTE = "floor time a token at the largest batch that fits, prefill included; 8-bit weights"


def _linear(label: str, low: int, high: int, rows: int, p10: float, p50: float, p90: float) -> Band:
    return Band("linear", label, rows, p10, p50, p90, VIDUR, _LINEAR_NOTE, low, high)


def _attention(
    label: str, low: float, high: float, rows: int, p10: float, p50: float, p90: float
) -> Band:
    return Band("attention", label, rows, p10, p50, p90, AICONFIGURATOR, _ATTENTION_NOTE, low, high)


def _batch(label: str, low: int, high: int, rows: int, p10: float, p50: float, p90: float) -> Band:
    return Band(
        "batch", label, rows, p10, p50, p90, SILICON, _SERVED_NOTE + "; one device", low, high
    )


def _served(devices: int, rows: int, p10: float, p50: float, p90: float) -> Band:
    label = "1 device" if devices == 1 else f"{devices} devices"
    return Band("devices", label, rows, p10, p50, p90, SILICON, _SERVED_NOTE, devices, devices)


def _load(label: str, rows: int, p10: float, p50: float, p90: float) -> Band:
    return Band("load", label, rows, p10, p50, p90, OVERVIEW, _LOAD_NOTE)


BANDS: tuple[Band, ...] = (
    Band(
        "matmul",
        "twelve accelerators",
        12,
        1.15,
        1.28,
        1.64,
        MAMF,
        "peak over the best 16-bit rate found on each of twelve accelerators",
    ),
    _linear("1–64 tokens", 1, 64, 63, 1.16, 1.31, 1.37),
    _linear("65–256 tokens", 65, 256, 35, 1.38, 1.62, 2.16),
    _linear("257–4,096 tokens", 257, 4096, 70, 1.32, 1.43, 1.74),
    _attention("0.5–2 MB", 0.5, 2, 90, 14.15, 49.66, 84.94),
    _attention("2–8 MB", 2, 8, 114, 5.75, 18.55, 36.24),
    _attention("8–32 MB", 8, 32, 138, 2.19, 6.32, 25.45),
    _attention("32–128 MB", 32, 128, 120, 1.97, 2.67, 14.97),
    _attention("128–512 MB", 128, 512, 143, 1.38, 1.62, 4.34),
    _attention("above 512 MB", 512, float("inf"), 145, 1.11, 1.24, 1.54),
    _batch("4–8 at once", 4, 8, 24, 1.34, 1.54, 1.79),
    _batch("16 at once", 16, 16, 12, 1.35, 1.57, 1.90),
    _batch("32–128 at once", 32, 128, 9, 1.49, 1.74, 1.81),
    _served(1, 45, 1.35, 1.61, 1.80),
    _served(2, 69, 1.52, 1.91, 2.33),
    _served(4, 81, 1.94, 2.63, 3.41),
    _served(8, 81, 3.13, 4.15, 5.61),
    _load("8B, 1 device", 20, 1.41, 1.62, 2.17),
    _load("70B, 1–2 devices", 40, 1.73, 2.24, 2.84),
    _load("405B, 8 devices", 20, 2.49, 3.23, 4.20),
)
"""Every band, in the order in which the page shows them."""

KIND_WORDS: dict[str, str] = {
    "matmul": "one matrix product",
    "linear": "linear layers",
    "attention": "decode attention",
    "batch": "70B served, by batch",
    "devices": "70B served, by devices",
    "load": "maximum load",
}

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        "A100 decode attention, TensorRT-LLM tables",
        131,
        0.61,
        "the largest caches appear to be read at 1.6 times the memory's peak, so what was timed "
        "cannot have read them from memory",
        AICONFIGURATOR,
    ),
    LeftOut(
        "L40S decode attention, 32–128 MB a layer",
        24,
        0.44,
        "the whole cache of a layer lies in the chip's own 96 MB and is not read from memory",
        AICONFIGURATOR,
    ),
    LeftOut(
        "70B served with a cache that does not fit",
        6,
        0.51,
        "not all of the requests can have been decoding at once, so each step read less than the "
        "floor counts",
        SILICON,
    ),
)
"""Rows below the floor: `ratio` is the smallest of them, `rows` how many were left out."""


def served_band(devices: int) -> Band:
    """The band of whole steps of a served 70B for the measured number of devices next below.

    Measured are 1, 2, 4 and 8; more than 8 get the band of 8, which says too little for them.
    """
    count = validate.integer("devices", devices, 1, 100_000)
    measured = [band for band in BANDS if band.kind == "devices" and band.low <= count]
    return measured[-1]


@dataclass(frozen=True, slots=True)
class MeasuredExample:
    """The reference's example put together from measured A100 kernels, in seconds.

    A decode step is `layers` times (linear layers + the rest of the layer + attention), then the
    output head. The sums have no launch gaps, no sampling and no scheduler in them. The ratios are
    measured ÷ floor of the linear layers and of the attention in that step.
    """

    layers: int
    linear_s: float
    rest_s: float
    attention_s: float
    head_s: float
    mixed_s: float
    linear_ratio: float
    attention_ratio: float
    source: str

    @property
    def decode_s(self) -> float:
        """The decode step: 32 × (0.3150 + 0.0260 + 0.2357) + 0.6496 = 19.10 ms."""
        return self.layers * (self.linear_s + self.rest_s + self.attention_s) + self.head_s

    @property
    def pause(self) -> float:
        """The step with the prompt over the decode step: 16.3."""
        return self.mixed_s / self.decode_s


A100_KERNELS = MeasuredExample(
    layers=32,
    linear_s=0.3150e-3,
    rest_s=0.0260e-3,
    attention_s=0.235659e-3,
    head_s=0.6496e-3,
    mixed_s=312.0e-3,
    linear_ratio=1.4575,
    attention_ratio=1.7865,
    source="linear layers of Llama-3-8B from Vidur, attention and output head on A100 from "
    "aiconfigurator; batch 32 at context 2,048, alone and with a prompt of 4,096 tokens",
)

AICONFIGURATOR_DECODE_S: Mapping[int, float] = MappingProxyType({1: 12.01e-3, 32: 19.14e-3})
"""What aiconfigurator says of the same decode step, by batch, out of its own measured tables."""


def efficiencies(
    scenario: Scenario, measured: MeasuredExample, *, batch: int, context: int, prompt: int
) -> tuple[float, float]:
    """(compute, bandwidth): the efficiencies at which the model's two steps take as measured.

    Without overhead a step that waits for memory takes its floor over e_b, one that waits for
    arithmetic its floor over e_c, so that two measured steps fix both. Raises `ValueError` where
    the two floors wait for the same thing, or where a measured step beats its floor. Worked value
    (8B, A100, 32 at 2,048, 4,096): 0.724034, 0.643625.
    """
    validate.integer("batch", batch, 1, MAX_BATCH)
    decode = step_costs(scenario, decode_batch=batch, context=context)
    mixed = step_costs(scenario, decode_batch=batch, context=context, prefill_tokens=prompt)
    if (str(decode.bound), str(mixed.bound)) != ("bandwidth", "compute"):
        raise ValueError(
            "the decode step must wait for bandwidth and the mixed one for compute; they wait for "
            f"{decode.bound} and {mixed.bound}"
        )
    e_c = float(mixed.compute_s) * scenario.compute_efficiency / measured.mixed_s
    e_b = float(decode.memory_s) * scenario.bandwidth_efficiency / measured.decode_s
    return (
        validate.number("efficiency of compute", e_c, 0, 1, open_low=True),
        validate.number("efficiency of bandwidth", e_b, 0, 1, open_low=True),
    )
