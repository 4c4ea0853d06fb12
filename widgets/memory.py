"""Section 2: where the memory goes. How many sequences fit, and what stops the next?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import param

from core import arithmetic
from core.devices import DEVICES
from core.kv_cache import Capacity, capacity, devices_needed, tokens_held
from core.model_spec import ModelSpec
from core.models import MODELS
from core.scenario import Scenario
from core.units import GIGA, binary, counted, exact, quantity, significant, split_quantity
from widgets.base import ChartSpec, Control, Preset, SectionModel, SectionResult, log_stops
from widgets.figures import Chart
from widgets.predict import Prediction
from widgets.readouts import Readout
from widgets.section import SectionView
from widgets.snippets import scenario_lines

MODEL_HEADS = "model"
MAX_CONTEXT = 131_072
MAX_TICKS = 240

_CONTEXTS = 2.0 ** np.arange(0, 17.5, 0.5)
# Lines are named here; the axis begins a little before 128 unless the context set is shorter.
_NAMED_AT = int(np.searchsorted(_CONTEXTS, 362))
_AXIS = (100.0, 300_000.0)


@dataclass(frozen=True, slots=True)
class Shares:
    """What the bar and the lines are drawn from."""

    fit: Capacity
    lines: tuple[tuple[str, np.ndarray], ...]
    here: tuple[tuple[str, int], ...]
    current: np.ndarray
    context: int


class Memory(SectionModel):
    """Weights, cache and reserve on the devices of the scenario."""

    tokens = param.Integer(8192, bounds=(1, MAX_CONTEXT), label="Context")
    kv_heads = param.Parameter(MODEL_HEADS, label="Key-value heads")
    reserved = param.Number(0.90, bounds=(0.1, 1.0), label="Reserved fraction")

    slug = "memory"
    controls = (
        Control("tokens", "Context", "tokens", log_stops(128, MAX_CONTEXT)),
        Control("kv_heads", "Key-value heads", options={MODEL_HEADS: "as the model"}),
        Control("cache", "Cache precision", scope="scenario"),
        Control("devices", "Devices", "", [1, 2, 4, 8, 16, 32, 64], scope="scenario"),
        Control(
            "reserved",
            "Reserved fraction",
            "",
            [round(0.5 + 0.01 * i, 2) for i in range(51)],
            more=True,
            hint="The share of memory that the server takes for weights and cache.",
        ),
    )
    presets = (
        Preset("chat", {"tokens": 8192, "kv_heads": MODEL_HEADS, "reserved": 0.9}),
        Preset("long documents", {"tokens": 131_072, "kv_heads": MODEL_HEADS, "reserved": 0.9}),
        Preset("70B on one device", {"model": "70B", "devices": 1, "tokens": 8192}),
        Preset("70B on four", {"model": "70B", "devices": 4, "tokens": 8192}),
    )
    charts = (
        ChartSpec(
            "memory-bar",
            "The memory of all devices",
            "Solid: weights. Hatched: cache, one tick a sequence. Pale: the reserve.",
        ),
        ChartSpec(
            "sequences",
            "Sequences that fit, against their context",
            "One line for each way of sharing heads; ○ is the present choice.",
        ),
    )
    assumptions = (
        "GB is 10⁹ bytes. A part sold as 80 GB may report a little more or less.",
        "Weights and cache are split evenly over the devices, and nothing is kept twice.",
        "The reserve stands for activations, graphs, workspace and fragmentation; the count of "
        "sequences is an upper bound.",
        "Changing the key-value heads keeps the parameter count: it compares same-sized models.",
        "All sequences have the same length, and each is held whole.",
    )

    def control_options(self) -> dict[str, dict[str, Any]]:
        model = self.scenario.model
        own = model.kv_heads
        words = f"as the model ({own})" if own else "as the model"
        options: dict[str, Any] = {MODEL_HEADS: words}
        groups = model.attention
        if groups and all(group.kv_heads is not None for group in groups):
            options.update({heads: str(heads) for heads in _head_choices(model)})
        return {"kv_heads": options}

    def compute(self) -> SectionResult:
        model, notes = self._shared_heads()
        scenario = replace(self.scenario, model=model)
        fit = capacity(scenario, self.tokens, reserved_fraction=self.reserved)
        counted_at = self._lines(np.append(_CONTEXTS, self.tokens))
        shares = Shares(
            fit=fit,
            lines=tuple((words, counts[:-1]) for words, counts in counted_at),
            here=tuple((words, int(counts[-1])) for words, counts in counted_at),
            current=capacity(scenario, _CONTEXTS, reserved_fraction=self.reserved).sequences,
            context=self.tokens,
        )
        return SectionResult(
            summary=self._summary(scenario, fit),
            readouts=self._readouts(scenario, fit),
            tables=self._tables(shares),
            sentences=self._sentences(shares),
            data=shares,
            notes=notes,
        )

    def _shared_heads(self) -> tuple[ModelSpec, tuple[str, ...]]:
        model = self.scenario.model
        if self.kv_heads == MODEL_HEADS:
            return model, ()
        try:
            return model.with_kv_heads(int(self.kv_heads)), ()
        except ValueError as error:
            return model, (f"{error}. The model's own heads are used.",)

    def _lines(self, contexts: np.ndarray) -> tuple[tuple[str, np.ndarray], ...]:
        model = self.scenario.model
        lines = []
        for heads, words in _sharing(model):
            scenario = replace(self.scenario, model=model.with_kv_heads(heads))
            fit = capacity(scenario, contexts, reserved_fraction=self.reserved)
            lines.append((words, fit.sequences))
        return tuple(lines)

    def _summary(self, scenario: Scenario, fit: Capacity) -> str:
        weights = quantity(fit.weights_byte, "B")
        usable = quantity(fit.usable_byte, "B")
        if not fit.fits:
            needed = devices_needed(scenario, reserved_fraction=self.reserved)
            return (
                f"{scenario.model.name} does not fit: {weights} of weights into {usable}. "
                f"It takes {needed:,} of these devices."
            )
        count = int(fit.sequences)
        left = fit.cache_byte - count * float(fit.per_sequence_byte)
        each = quantity(float(fit.per_sequence_byte), "B")
        return (
            f"{weights} of weights leave {quantity(fit.cache_byte, 'B')} for the cache: "
            f"{counted(count, 'sequence')} of {counted(self.tokens, 'token')}. The next one needs "
            f"{each} and finds {quantity(left, 'B')}."
        )

    def _readouts(self, scenario: Scenario, fit: Capacity) -> tuple[Readout, ...]:
        per_token = arithmetic.bytes_per_token(scenario)
        each = arithmetic.bytes_per_sequence(scenario, self.tokens)
        steps = arithmetic.sequences(scenario, self.tokens, reserved_fraction=self.reserved)
        number, unit = binary(per_token[0].value).split(" ")
        fixed = arithmetic.fixed_per_sequence(scenario)
        fixed_number, fixed_unit = binary(fixed[0].value).split(" ")
        held = float(tokens_held(scenario, self.tokens, reserved_fraction=self.reserved))
        return (
            Readout("sequences", "sequences that fit", f"{int(fit.sequences):,}", "", steps),
            Readout("token", "slope: one more token", number, unit, per_token),
            Readout(
                "sequence", "one sequence", *split_quantity(float(fit.per_sequence_byte), "B"), each
            ),
            Readout(
                "budget",
                "budget for the cache",
                *(
                    split_quantity(fit.cache_byte, "B")
                    if fit.fits
                    else ("none", f"{quantity(-fit.cache_byte, 'B')} short")
                ),
                steps[:2],
            ),
            Readout("weights", "weights", *split_quantity(fit.weights_byte, "B"), steps[:1]),
            Readout("fixed", "fixed part of a sequence", fixed_number, fixed_unit, fixed),
            Readout(
                "held",
                "tokens held in all",
                significant(held),
                "",
                arithmetic.tokens_held(scenario, self.tokens, reserved_fraction=self.reserved),
            ),
            Readout(
                "devices",
                "devices that the weights need",
                f"{devices_needed(scenario, reserved_fraction=self.reserved):,}",
                "",
                arithmetic.devices_needed(scenario, reserved_fraction=self.reserved),
            ),
        )

    def _sentences(self, shares: Shares) -> dict[str, str]:
        fit = shares.fit
        whole = quantity(fit.memory_byte, "B")
        if not fit.fits:
            bar = (
                f"Of {whole}, {quantity(fit.usable_byte, 'B')} may be used; the weights would take "
                f"{quantity(fit.weights_byte, 'B')}."
            )
        else:
            bar = (
                f"Of {whole}: {quantity(fit.weights_byte, 'B')} weights, "
                f"{quantity(fit.cache_byte, 'B')} cache, {quantity(fit.reserve_byte, 'B')} reserve."
            )
        parts = [f"{words}: {count:,}" for words, count in shares.here]
        listed = "; ".join(parts) if parts else counted(int(fit.sequences), "sequence")
        return {
            "memory-bar": bar,
            "sequences": f"So many fit at {counted(self.tokens, 'token')}: {listed}.",
        }

    def _tables(self, shares: Shares) -> dict[str, dict[str, Any]]:
        fit = shares.fit
        table: dict[str, Any] = {"context_tokens": _CONTEXTS, "present": shares.current}
        for words, line in shares.lines:
            table[words.replace(" ", "_").replace(",", "")] = line
        return {
            "memory-bar": {
                "part": np.array(["weights", "cache", "reserve"]),
                "byte": np.array([fit.weights_byte, max(fit.cache_byte, 0.0), fit.reserve_byte]),
            },
            "sequences": table,
        }

    def prediction(self) -> Prediction:
        grouped = int(capacity(_default(), 8192).sequences)
        whole = _default(MODELS["8B"].with_kv_heads(32))
        answer = int(capacity(whole, 8192).sequences)
        return Prediction(
            question=f"8B on one A100 holds {grouped} sequences of 8,192 tokens with 8 key-value "
            "heads. How many with 32?",
            options=(str(answer), "26", str(grouped), "208"),
            answer=str(answer),
            because="Four times the heads, four times the bytes for each token, a quarter of the "
            "sequences. The weights stay as they are.",
            covers=("sequences",),
        )

    def prose(self) -> dict[str, str]:
        s = _default()
        fit = capacity(s, 8192)
        big = _default(MODELS["70B"])
        mla = MODELS["DeepSeek-V3/R1 (without MTP)"]
        whole = 2 * 128 * (192 + 128) / 2 * 61 * 2
        slope = s.model.kv_bytes_per_token()
        mha = capacity(_default(MODELS["8B"].with_kv_heads(32)), 8192)
        return {
            "weights_8b": quantity(s.weights_byte, "B"),
            "weights_70b": quantity(big.weights_byte, "B"),
            "token_bytes": exact(slope),
            "token_kib": binary(slope),
            "budget": quantity(fit.cache_byte, "B"),
            "sequence_bytes": exact(float(fit.per_sequence_byte)),
            "sequences": f"{int(fit.sequences)}",
            "next_sequence": f"{int(fit.sequences) + 1}",
            "sequences_mha": f"{int(mha.sequences)}",
            "opt_token": binary(MODELS["OPT-13B"].kv_bytes_per_token()),
            "mla_token": f"{exact(mla.kv_bytes_per_token())} bytes",
            "mla_whole": f"{exact(whole)}",
            "usable": quantity(capacity(big, 8192).usable_byte, "B"),
            "devices_70b": f"{devices_needed(big)}",
            "formula_token": arithmetic.bytes_per_token(s)[0].formula_mathml,
        }

    def snippet(self) -> str:
        heads = "" if self.kv_heads == MODEL_HEADS else f".with_kv_heads({self.kv_heads})"
        return "\n".join(
            [
                *scenario_lines(self.scenario),
                "from dataclasses import replace",
                "from core.kv_cache import capacity, devices_needed, tokens_held",
                "",
                f"scenario = replace(scenario, model=model{heads})",
                f"context, reserved = {self.tokens}, {self.reserved}",
                "fit = capacity(scenario, context, reserved_fraction=reserved)",
                'print("sequences that fit:", int(fit.sequences))',
                'print("one more token, B:", '
                "scenario.model.kv_bytes_per_token(scenario.cache_byte))",
                'print("one sequence, B:", float(fit.per_sequence_byte))',
                'print("budget for the cache, B:", fit.cache_byte)',
                'print("weights, B:", fit.weights_byte)',
                'print("fixed part of a sequence, B:", '
                "scenario.model.kv_bytes_fixed(scenario.cache_byte))",
                'print("tokens held in all:", '
                "float(tokens_held(scenario, context, reserved_fraction=reserved)))",
                'print("devices that the weights need:", '
                "devices_needed(scenario, reserved_fraction=reserved))",
            ]
        )


class MemoryView(SectionView):
    """The bar of shares and the lines of sequences against context."""

    def build_charts(self) -> list[Chart]:
        return [self._build_bar(), self._build_lines()]

    def _build_bar(self) -> Chart:
        chart = Chart(
            "memory-bar", x_label="GB", y_label="", x_range=(0, 80), y_range=(-1.3, 1.6), height=300
        )
        chart.ticks(y=[])
        chart.source("weights", ["left", "right", "bottom", "top"])
        chart.source("cache", ["left", "right", "bottom", "top"])
        chart.source("reserve", ["left", "right", "bottom", "top"])
        chart.source("ticks", ["x", "y0", "y1"])
        chart.source("names", ["x", "y", "label"])
        chart.source("limit", ["x", "y"])
        chart.source("usable", ["x", "y", "label"])
        chart.bars("reserve", "idle", alpha=0.35)
        chart.bars("weights", "bandwidth")
        chart.bars("cache", "decode", hatch="/")
        chart.segments("ticks", "x", "y0", "x", "y1", "card")
        chart.line("limit", "x", "y", "alarm", width=2, dash="dashed")
        chart.labels("names", "x", "y", "label", bold=True, align="left")
        chart.labels("usable", "x", "y", "label", bold=True, align="right", dx=8)
        return chart

    def _build_lines(self) -> Chart:
        chart = Chart(
            "sequences",
            x_label="context, tokens",
            y_label="sequences",
            x_range=_AXIS,
            y_range=(0.8, 5_000),
            x_log=True,
            y_log=True,
        )
        chart.source("lines", ["x", "a", "b", "c", "now"])
        chart.source("names", ["x", "y", "label"])
        chart.source("marks", ["x", "y", "label"])
        for column, dash in (("a", "solid"), ("b", "dashed"), ("c", "dotted")):
            chart.line("lines", "x", column, "soft", width=2, dash=dash)
        chart.line("lines", "x", "now", "decode", width=3.5)
        chart.mark("marks", "x", "y", "decode", filled=False)
        chart.labels("marks", "x", "y", "label", bold=True, align="left", dx=10, dy=10)
        chart.labels("names", "x", "y", "label", align="left", dx=7, dy=7)
        return chart

    def render(self, result: SectionResult) -> None:
        shares: Shares = result.data
        self._render_bar(shares)
        self._render_lines(shares)

    def _render_bar(self, shares: Shares) -> None:
        chart, fit = self.chart("memory-bar"), shares.fit
        memory, weights = fit.memory_byte / GIGA, fit.weights_byte / GIGA
        usable = fit.usable_byte / GIGA
        budget = max(fit.cache_byte, 0.0) / GIGA
        chart.set_range("x", 0, max(memory, weights) * 1.02)
        chart.replace("weights", _bar(0, weights))
        chart.replace("cache", _bar(weights, weights + budget))
        chart.replace("reserve", _bar(usable, memory))
        chart.replace("limit", {"x": [usable, usable], "y": [-0.75, 0.75]})
        count = int(fit.sequences)
        each = float(fit.per_sequence_byte) / GIGA
        edges = weights + each * np.arange(1, count + 1) if 0 < count <= MAX_TICKS else np.zeros(0)
        chart.replace(
            "ticks", {"x": edges, "y0": np.full(edges.size, -0.5), "y1": np.full(edges.size, 0.5)}
        )
        words = f"{count:,} × {significant(each)} GB cache" if fit.fits else "no room for a cache"
        names = [
            (0, 0.78, f"weights {significant(weights)} GB"),
            (min(weights, memory * 0.45), 1.2, words),
        ]
        x, y, label = zip(*names, strict=True)
        chart.replace("names", {"x": x, "y": y, "label": label})
        label = [f"usable to {significant(usable)} GB"]
        chart.replace("usable", {"x": [usable], "y": [-0.85], "label": label})

    def _render_lines(self, shares: Shares) -> None:
        chart = self.chart("sequences")
        columns: dict[str, Any] = {"x": _CONTEXTS, "now": _drawn(shares.current)}
        left = min(_AXIS[0], 0.7 * shares.context)
        chart.set_range("x", left, _AXIS[1])
        seen = left <= _CONTEXTS
        empty = np.full(_CONTEXTS.size, np.nan)
        names: list[tuple[float, float, str]] = []
        for i, column in enumerate("abc"):
            words, line = shares.lines[i] if i < len(shares.lines) else ("", empty)
            columns[column] = _drawn(line)
            if words and np.isfinite(columns[column][_NAMED_AT]):
                # The last line is named below, where no other line crosses its name.
                height = float(columns[column][_NAMED_AT])
                height = max(1.5, 0.08 * height) if column == "c" else height
                names.append((float(_CONTEXTS[_NAMED_AT]), height, words.split(",")[0]))
        counts = np.concatenate([columns[column][seen] for column in ("a", "b", "c", "now")])
        tallest = max(10.0, 1.5 * np.nanmax(counts, initial=1.0))
        chart.set_range("y", 0.8, 10.0 ** np.ceil(np.log10(tallest)))
        if not shares.fit.fits:
            names = [(left, 3.0, "nothing fits: the weights are too large")]
        chart.replace("lines", columns)
        x, y, label = zip(*names, strict=True) if names else ((), (), ())
        chart.replace("names", {"x": x, "y": y, "label": label})
        count = float(shares.fit.sequences)
        shown = [] if count < 1 else [count]
        chart.replace(
            "marks",
            {
                "x": [shares.context] * len(shown),
                "y": shown,
                "label": [f"{int(c):,}" for c in shown],
            },
        )


def _bar(left: float, right: float) -> dict[str, list[float]]:
    return {"left": [left], "right": [max(left, right)], "bottom": [-0.5], "top": [0.5]}


def _drawn(sequences: np.ndarray) -> np.ndarray:
    """A logarithmic axis has no zero: where nothing fits the line ends."""
    return np.where(sequences >= 1, sequences, np.nan)


def _head_choices(model: ModelSpec) -> list[int]:
    heads = int(np.gcd.reduce([group.heads for group in model.attention]))
    return [k for k in range(1, heads + 1) if heads % k == 0]


def _sharing(model: ModelSpec) -> list[tuple[int, str]]:
    """Multi-query, the model's own grouping, multi-head: what the lines compare."""
    if not model.attention or any(group.kv_heads is None for group in model.attention):
        return []
    heads = _head_choices(model)[-1]
    own = model.kv_heads
    chosen = {1: "1 head, multi-query", heads: f"{heads} heads, multi-head"}
    if own is not None and own not in chosen:
        chosen[own] = f"{own} heads, grouped"
    return sorted(chosen.items())[:3]


def _default(model: ModelSpec | None = None) -> Scenario:
    return Scenario(model or MODELS["8B"], DEVICES["A100"])


SECTION = (Memory, MemoryView)
