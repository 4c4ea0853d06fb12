"""What a device is to the cost model; 27 data sheets with dense peaks, and the textbook A100."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from core import validate
from core.units import GIGA, TERA

Arithmetic = Literal["bf16", "fp8", "int8", "fp4"]


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One accelerator: dense peaks, memory bandwidth and capacity, with their source.

    Rates are the vendor's dense figures; a sheet's 2:4-sparse headline is never used. `note` says
    what a reader of the sheet may trip over, `status` how far the figures were verified.
    """

    name: str
    peak_flop_per_s: float
    bandwidth_byte_per_s: float
    memory_byte: float
    fp8_flop_per_s: float | None = None
    int8_flop_per_s: float | None = None
    fp4_flop_per_s: float | None = None
    measured_matmul_flop_per_s: float | None = None
    source: str = ""
    status: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        validate.number("peak_flop_per_s", self.peak_flop_per_s, 1e9, 1e19)
        validate.number("bandwidth_byte_per_s", self.bandwidth_byte_per_s, 1e6, 1e17)
        validate.number("memory_byte", self.memory_byte, 1e6, 1e16)

    @property
    def ridge_flop_per_byte(self) -> float:
        """P/W: below this intensity a step waits for memory. 312e12/2.0e12 = 156 FLOP/B."""
        return self.peak_flop_per_s / self.bandwidth_byte_per_s

    @property
    def arithmetics(self) -> tuple[Arithmetic, ...]:
        """The number formats this device multiplies in, bf16 (or fp16) first."""
        offered: list[tuple[Arithmetic, float | None]] = [
            ("bf16", self.peak_flop_per_s),
            ("fp8", self.fp8_flop_per_s),
            ("int8", self.int8_flop_per_s),
            ("fp4", self.fp4_flop_per_s),
        ]
        return tuple(name for name, peak in offered if peak is not None)

    def with_arithmetic(self, arithmetic: Arithmetic) -> DeviceSpec:
        """The same device counted at the dense peak of another number format.

        Raises `ValueError` where the device has no such units.
        """
        validate.choice(f"arithmetic on {self.name}", arithmetic, self.arithmetics)
        peaks = {
            "bf16": self.peak_flop_per_s,
            "fp8": self.fp8_flop_per_s,
            "int8": self.int8_flop_per_s,
            "fp4": self.fp4_flop_per_s,
        }
        return replace(self, peak_flop_per_s=peaks[arithmetic] or self.peak_flop_per_s)


def _device(
    name: str,
    bf16: float,
    bandwidth: float,
    memory: float,
    *,
    fp8: float | None = None,
    int8: float | None = None,
    fp4: float | None = None,
    measured: float | None = None,
    source: str,
    status: str,
    note: str = "",
) -> DeviceSpec:
    """Read one row as data sheets print it: TFLOP/s (dense), TB/s, GB."""

    def flop_per_s(tera: float | None) -> float | None:
        return None if tera is None else float(round(tera * TERA))

    return DeviceSpec(
        name=name,
        peak_flop_per_s=float(round(bf16 * TERA)),
        bandwidth_byte_per_s=float(round(bandwidth * TERA)),
        memory_byte=memory * GIGA,
        fp8_flop_per_s=flop_per_s(fp8),
        int8_flop_per_s=flop_per_s(int8),
        fp4_flop_per_s=flop_per_s(fp4),
        measured_matmul_flop_per_s=flop_per_s(measured),
        source=source,
        status=status,
        note=note,
    )


_AICONFIGURATOR = "NVIDIA aiconfigurator, systems/*.yaml at 095f58a"
_ML_ENGINEERING = "stas00/ml-engineering, accelerator README of 2026-08"
_SCALING_BOOK = "jax-ml/scaling-book, tpus.md at 0819a7d"

_ROWS = (
    _device(
        "A100",
        312,
        2.0,
        80,
        source="nanoGPT, model.py (312 TFLOP/s); the round 2.0 TB/s of the 80 GB part",
        status="a textbook round number; the data-sheet parts stand beside it",
        note="The data sheet of the 80 GB SXM part says 2.039 TB/s.",
    ),
    _device(
        "V100 SXM2 32GB",
        125,
        0.9,
        32,
        source="GV100 column of the A100 whitepaper comparison table (copy)",
        status="fp16 verified (secondary copy); BW, capacity recalled",
        note="fp16 only: no bf16, no sparsity, no int8 tensor cores",
    ),
    _device(
        "A100 40GB SXM",
        312,
        1.555,
        40,
        int8=624,
        source="kipply post table quoting NVIDIA A100 datasheet",
        status="verified (secondary)",
        note="624 TFLOPS on the sheet is 2:4 sparse; 1.555 not 2.0 TB/s",
    ),
    _device(
        "A100 80GB SXM",
        312,
        2.039,
        80,
        int8=624,
        measured=271.2,
        source=_AICONFIGURATOR,
        status="verified",
        note="The sheet's 624 TFLOP/s is 2:4 sparse; 2,039 GB/s; 80 GiB would be 85.9e9 B",
    ),
    _device(
        "A100 80GB PCIe",
        312,
        1.935,
        80,
        int8=624,
        measured=252.9,
        source=_AICONFIGURATOR,
        status="verified",
        note="same peak as SXM; at 300 W it sustains less (252.9 against 271.2 TFLOP/s measured)",
    ),
    _device(
        "L4",
        121,
        0.3,
        24,
        fp8=242,
        int8=242,
        source=_AICONFIGURATOR,
        status="verified",
        note="sheet headline 242 / 485 is sparse",
    ),
    _device(
        "L40S",
        362.05,
        0.864,
        48,
        fp8=733,
        int8=733,
        source=_AICONFIGURATOR,
        status="verified",
        note="1,466 TFLOPS fp8 headline is sparse; 96 MB L2 hides KV reads in micro-benchmarks",
    ),
    _device(
        "A10G",
        70,
        0.6,
        24,
        int8=140,
        source="AWS/NVIDIA A10G sheet",
        status="recalled",
        note="A10 (not G) is 125 dense; 140 on A10G sheet is sparse",
    ),
    _device(
        "H100 PCIe",
        756.5,
        2,
        80,
        fp8=1513,
        int8=1513,
        source=_AICONFIGURATOR,
        status="verified",
        note="1,513 / 3,026 headline is sparse",
    ),
    _device(
        "H100 SXM",
        989.4,
        3.35,
        80,
        fp8=1978.9,
        int8=1978.9,
        measured=794.5,
        source=_AICONFIGURATOR,
        status="verified",
        note="1,979 bf16 / 3,958 fp8 headline is sparse",
    ),
    _device(
        "H200 SXM",
        989.4,
        4.8,
        141,
        fp8=1978.9,
        int8=1978.9,
        measured=794.5,
        source=_AICONFIGURATOR,
        status="verified",
        note="same compute as H100; a public page calls 1.97 PF dense (wrong)",
    ),
    _device(
        "B200 SXM",
        2250,
        8,
        180,
        fp8=4500,
        int8=4500,
        fp4=9000,
        measured=1745,
        source=f"{_AICONFIGURATOR}; {_ML_ENGINEERING}",
        status="verified (two sources: 7.7 vs 8.0 TB/s, 180 vs 192 GB)",
        note="HGX lists 7.7 TB/s in aiconfigurator; 192 GB is physical, 180 usable",
    ),
    _device(
        "GB200 (per GPU)",
        2500,
        8,
        186,
        fp8=5000,
        int8=5000,
        fp4=10000,
        measured=1822,
        source=f"{_AICONFIGURATOR}; {_ML_ENGINEERING}",
        status="verified",
        note="a GB200 superchip is two of these; 20 PF fp4 figure is per GPU sparse",
    ),
    _device(
        "B300 SXM",
        2250,
        8,
        288,
        fp8=4500,
        fp4=14000,
        measured=1769,
        source=_AICONFIGURATOR,
        status="verified (7.75 in aiconfigurator)",
        note="int8 nearly removed (153.5); fp4 dense 14 PF not 18",
    ),
    _device(
        "RTX PRO 6000 Server",
        467.8,
        1.792,
        96,
        fp8=935.6,
        int8=935.6,
        fp4=1871.2,
        source=_AICONFIGURATOR,
        status="verified (scaled to observed clock)",
        note="97,887 MiB reported",
    ),
    _device(
        "MI300X",
        1307.4,
        5.3,
        192,
        fp8=2614.9,
        int8=2614.9,
        measured=668.4,
        source=f"AMD sheet as quoted in alpharomercoma/MI300X-vs-H200; {_ML_ENGINEERING}",
        status="verified (secondary)",
        note="measured matmul ceiling only 51-60 % of peak",
    ),
    _device(
        "MI325X",
        1307.4,
        6,
        256,
        fp8=2614.9,
        int8=2614.9,
        measured=784.9,
        source=f"{_ML_ENGINEERING}; Vultr documentation",
        status="verified (BW, capacity, 1,307)",
        note="256 GB shipped (288 announced first)",
    ),
    _device(
        "MI355X",
        2516.6,
        8,
        288,
        fp8=5033.2,
        int8=5033.2,
        fp4=10066.3,
        measured=1565,
        source=_ML_ENGINEERING,
        status="verified to 2 digits (2,500/5,000/10,100); exact digits recalled",
        note="an older revision of the same table said 2,300",
    ),
    _device(
        "TPU v5e",
        197,
        0.819,
        16,
        int8=394,
        source=f"{_SCALING_BOOK} (8.1e11; roofline chapter uses 8.2e11)",
        status="verified",
        note="an older ml-engineering revision lists 1.60 TB/s (wrong)",
    ),
    _device(
        "TPU v5p",
        459,
        2.765,
        95,
        int8=918,
        source=f"{_SCALING_BOOK} (2.8e12, 96GB)",
        status="verified (rounded); digits recalled",
        note="an older ml-engineering revision lists 4.80 TB/s (wrong)",
    ),
    _device(
        "TPU v6e",
        918,
        1.64,
        32,
        int8=1836,
        source=f"{_SCALING_BOOK} (9.20e14, 1.6e12)",
        status="verified (rounded); digits recalled",
    ),
    _device(
        "RTX 3090",
        71,
        0.936,
        24,
        int8=284,
        source="GA102 whitepaper numbers quoted in public code",
        status="verified (secondary): 71, 936; int8 recalled",
        note="71 is fp32-accumulate; 142 with fp16 accumulate; sparse doubles again",
    ),
    _device(
        "RTX 4090",
        165.2,
        1.008,
        24,
        fp8=330.3,
        int8=660.6,
        source="Ada whitepaper v2.x Appendix A quoted in public code",
        status="verified (secondary)",
        note="330.3 is fp16 accumulate, 660.6 is sparse; fp8 was corrected from 660.6 to 330.3",
    ),
    _device(
        "RTX 5090",
        209.5,
        1.792,
        32,
        fp8=419,
        int8=838,
        fp4=1676,
        source="RTX Blackwell whitepaper numbers quoted in public code",
        status="verified (secondary) except int8 recalled",
        note="3,352 AI TOPS headline is sparse fp4",
    ),
    _device(
        "Apple M2 Ultra (76-core)",
        27.2,
        0.8,
        192,
        source="llama.cpp discussion 4167 (bandwidth) ; FLOPs are fp32 shader peak",
        status="BW verified (secondary); FLOPs recalled",
        note="unified memory; about 75 % usable by GPU by default",
    ),
    _device(
        "Apple M3 Max (40-core)",
        14.2,
        0.4,
        128,
        source="llama.cpp discussion 4167",
        status="BW recalled (a copy lists 300, which is the 30-core part); FLOPs recalled",
        note="30-core part has 300 GB/s",
    ),
    _device(
        "Apple M4 Max (40-core)",
        18.4,
        0.546,
        128,
        source="llama.cpp discussion 4167",
        status="BW verified (secondary); FLOPs recalled",
        note="32-core part has 410 GB/s",
    ),
    _device(
        "Intel Gaudi 3",
        1835,
        3.7,
        128,
        fp8=1835,
        measured=1243,
        source=_ML_ENGINEERING,
        status="verified: 128 GB, 3.7 TB/s, 1,677 at 1.6 GHz; 1,835 is the white paper at 1.75 GHz",
        note="fp8 rate equals bf16 rate; shipped clock gives 1,677",
    ),
)

DEVICES: dict[str, DeviceSpec] = {row.name: row for row in _ROWS}
"""Devices by name. "A100" is the page's default; the rest are as their data sheets have them."""
