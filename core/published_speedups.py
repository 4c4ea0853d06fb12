"""Measured speedups of speculative decoding by batch, as published, to set beside the model's.

Both measured servers draft with a trained head (EAGLE, EAGLE-3) for an 8B model; the ratio is
throughput with speculation over throughput without. They include what the roofline leaves out:
launches, sampling, the scheduler, and a draft whose cost does not shrink with the target's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedSpeedup:
    """One measured curve: throughput ratio at each batch, and where it comes from."""

    server: str
    device: str
    model: str
    method: str
    batch: tuple[int, ...]
    throughput_ratio: tuple[float, ...]
    note: str
    source: str

    def columns(self) -> dict[str, tuple[float, ...]]:
        """Equal-length columns, ready for a view."""
        return {"batch": self.batch, "throughput_ratio": self.throughput_ratio}


_SOURCE = "Li et al. 2025, EAGLE-3 (arXiv:2503.01840), tables 3 and 5, read from secondary copies"
_SGLANG_BATCH = (2, 4, 8, 16, 24, 32, 48, 56, 64)
_VLLM_BATCH = (2, 4, 8, 16, 24, 32, 48, 56)


def _sglang(method: str, *ratios: float) -> PublishedSpeedup:
    return PublishedSpeedup(
        server="SGLang v0.4.4",
        device="H100 SXM",
        model="8B",
        method=method,
        batch=_SGLANG_BATCH,
        throughput_ratio=ratios,
        note="a chain of 3 draft tokens; the table says H100, taken here as the SXM part",
        source=_SOURCE,
    )


def _vllm(method: str, *ratios: float) -> PublishedSpeedup:
    return PublishedSpeedup(
        server="vLLM",
        device="A100 80GB SXM",
        model="8B",
        method=method,
        batch=_VLLM_BATCH,
        throughput_ratio=ratios,
        note="the table says A100, taken here as the 80 GB SXM part",
        source=_SOURCE,
    )


PUBLISHED_SPEEDUPS: tuple[PublishedSpeedup, ...] = (
    _sglang("EAGLE", 1.40, 1.38, 1.23, 1.02, 0.93, 0.94, 0.88, 0.99, 0.99),
    _sglang("EAGLE-3", 1.81, 1.82, 1.62, 1.48, 1.39, 1.32, 1.38, 1.34, 1.38),
    _vllm("EAGLE", 1.30, 1.25, 1.21, 1.10, 1.03, 0.93, 0.82, 0.71),
    _vllm("EAGLE-3", 1.75, 1.68, 1.58, 1.49, 1.42, 1.36, 1.21, 1.01),
)
"""All four curves; `device` and `model` are names among the project's presets."""
