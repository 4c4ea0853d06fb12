"""Section 1: prefill and decode on the roofline. Which runs out first, arithmetic or bandwidth?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import param

from core import arithmetic, roofline
from core.derivation import Derivation, Term
from core.devices import DEVICES
from core.kv_cache import capacity, devices_needed
from core.model_spec import ModelSpec
from core.models import MODELS
from core.roofline import StepCost
from core.scenario import Scenario
from core.units import TERA, counted, quantity, significant, split_quantity
from widgets.base import ChartSpec, Control, Preset, SectionModel, SectionResult, log_stops
from widgets.figures import Chart, nice_ceiling
from widgets.predict import Prediction
from widgets.readouts import Readout
from widgets.section import SectionView
from widgets.snippets import scenario_lines

MAX_BATCH, MAX_CONTEXT, MAX_PROMPT = 512, 131_072, 32_768

# Enough points for the bend of a mixture of experts; straight lines need only two.
_PATH = np.unique(np.round(2.0 ** np.arange(0, 9.5, 0.5)))
_BATCHES = np.unique(np.concatenate([_PATH, np.arange(32.0, 513.0, 32.0)]))


@dataclass(frozen=True, slots=True)
class Points:
    """The steps the charts are drawn from."""

    decode: StepCost
    prefill: StepCost
    path: StepCost
    sweep: StepCost
    ridge: float
    plateau: float
    roof_flop_per_s: float


class PrefillDecode(SectionModel):
    """One decode step of a batch, one prompt, and where both stand on the roofline."""

    batch = param.Integer(32, bounds=(1, MAX_BATCH), label="Decode batch")
    context = param.Integer(2048, bounds=(1, MAX_CONTEXT), label="Context")
    prompt = param.Integer(4096, bounds=(1, MAX_PROMPT), label="Prompt")

    slug = "prefill-decode"
    controls = (
        Control("batch", "Decode batch", "", log_stops(1, MAX_BATCH)),
        Control("context", "Context", "tokens", log_stops(128, MAX_CONTEXT)),
        Control("prompt", "Prompt", "tokens", log_stops(1, MAX_PROMPT)),
        Control("weights", "Weights", scope="scenario"),
    )
    presets = (
        Preset("one user", {"batch": 1, "context": 2048, "prompt": 512}),
        Preset("busy chat", {"batch": 32, "context": 2048, "prompt": 4096}),
        Preset("short context", {"batch": 256, "context": 256, "prompt": 256}),
        Preset("long context", {"batch": 16, "context": 65_536, "prompt": 32_768}),
    )
    charts = (
        ChartSpec(
            "roofline",
            "The roofline",
            "○ decode, ▨ prefill; the pale path is batch 1 → 512, the dotted line its limit.",
        ),
        ChartSpec(
            "step-time",
            "Step time against batch",
            "A step takes as long as the slower of its two lines; the bold one is the step.",
        ),
    )
    assumptions = (
        "Every weight that a step needs is read from memory once; activations stay on the chip.",
        "Arithmetic and memory traffic overlap perfectly, and each runs at its peak times the "
        "efficiency set above. The result is a floor: a real step is slower.",
        "Overlap is taken over the whole step. Taken operator by operator the floor is higher "
        "where some operators wait for arithmetic and others for memory.",
        "Several devices share weights, cache and work evenly, and talking to one another is free.",
        "All decoding sequences have the same context, and it counts the token being produced.",
        "A prompt attends causally, so each token meets half of the prompt on average.",
        "With experts, routing is uniform, so a large batch touches nearly all of them.",
        "Weights in fewer bits are unpacked on the way: they save traffic, not arithmetic, unless "
        "“arithmetic” under “more” says otherwise.",
    )

    def compute(self) -> SectionResult:
        s = self.scenario
        batch, context, prompt = self.batch, self.context, self.prompt
        points = Points(
            decode=roofline.step_costs(s, decode_batch=batch, context=context),
            prefill=roofline.step_costs(s, prefill_tokens=prompt),
            path=roofline.step_costs(s, decode_batch=_PATH, context=context),
            sweep=roofline.step_costs(s, decode_batch=_BATCHES, context=context),
            ridge=s.ridge_flop_per_byte,
            plateau=float(roofline.plateau_flop_per_byte(s, context)),
            roof_flop_per_s=s.flop_per_s,
        )
        mixed = roofline.step_costs(s, decode_batch=batch, context=context, prefill_tokens=prompt)
        crossing = float(roofline.crossing_batch(s, context))
        readouts = self._readouts(points.decode, mixed, crossing)
        bound = str(points.decode.bound)
        step = " ".join(split_quantity(float(points.decode.time_s), "s"))
        intensity = significant(float(points.decode.intensity_flop_per_byte))
        below = "below" if bound == "bandwidth" else "above"
        summary = (
            f"Decode does {intensity} FLOP per byte, {below} the ridge of "
            f"{significant(points.ridge)}: {bound}-bound. One step takes {step}."
        )
        return SectionResult(
            summary=summary,
            readouts=readouts,
            tables=_tables(points),
            sentences=self._sentences(points, crossing),
            data=points,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """That the batch could not run here, where it and the weights find no room."""
        s, fit = self.scenario, capacity(self.scenario, self.context)
        if fit.sequences >= self.batch:
            return ()
        cached = self.batch * float(fit.per_sequence_byte)
        batch = f"{counted(self.batch, 'sequence')} of {counted(self.context, 'token')}"
        return (
            f"This decode step could not run here: {quantity(fit.weights_byte, 'B')} of weights "
            f"and {quantity(cached, 'B')} of cache for {batch} come to "
            f"{quantity(fit.weights_byte + cached, 'B')}, and of {quantity(fit.memory_byte, 'B')} "
            f"a server takes {quantity(fit.usable_byte, 'B')}. "
            f"{devices_needed(s, cached):,} of these devices would hold it.",
        )

    def _readouts(self, decode: StepCost, mixed: StepCost, crossing: float) -> tuple[Readout, ...]:
        s, batch, context = self.scenario, self.batch, self.context
        steps = arithmetic.step_time(s, batch, context)
        mixed_steps = arithmetic.step_time(s, batch, context, self.prompt)
        rate = arithmetic.tokens_per_second(s, batch, context)
        pause = Derivation(
            "pause", "x", Term("T_mixed", mixed_steps[-1].value, "s") / steps[-1].term
        )
        bound = str(decode.bound)
        return (
            Readout("step", "decode step", *split_quantity(float(decode.time_s), "s"), steps),
            Readout(
                "user",
                "each user gets",
                significant(rate[-2].value),
                "tokens/s",
                rate[:-1],
            ),
            Readout("all", "all users together", significant(rate[-1].value), "tokens/s", rate),
            Readout(
                "mixed",
                "step with the prompt",
                *split_quantity(float(mixed.time_s), "s"),
                mixed_steps,
            ),
            Readout(
                "intensity",
                f"intensity, {bound}-bound",
                significant(float(decode.intensity_flop_per_byte)),
                "FLOP/B",
                arithmetic.intensity(s, batch, context),
                role=bound,
            ),
            Readout(
                "ridge",
                "ridge",
                significant(s.ridge_flop_per_byte),
                "FLOP/B",
                arithmetic.ridge(s),
            ),
            Readout(
                "crossing",
                "turns compute-bound near batch",
                _nearest_batch(crossing),
                "",
                arithmetic.crossing_batch(s, context),
            ),
            Readout(
                "pause",
                "pause that the prompt causes",
                significant(pause.value),
                "×",
                (steps[-1], mixed_steps[-1], pause),
            ),
        )

    def _sentences(self, points: Points, crossing: float) -> dict[str, str]:
        decode, prefill = points.decode, points.prefill
        nearest = _nearest_batch(crossing)
        said = {"never": "no batch turns compute-bound", "always": "every batch is compute-bound"}
        crosses = said.get(nearest, f"decode turns compute-bound near batch {nearest}")
        return {
            "roofline": (
                f"Roofline with its ridge at {significant(points.ridge)} FLOP per byte. Decode at "
                f"batch {self.batch:,} stands at "
                f"{significant(float(decode.intensity_flop_per_byte))}, a prompt of "
                f"{counted(self.prompt, 'token')} at "
                f"{significant(float(prefill.intensity_flop_per_byte))}."
            ),
            "step-time": (
                f"At context {self.context:,}, {crosses}. At batch "
                f"{self.batch:,} reading takes {_ms(decode.memory_s)} ms and arithmetic "
                f"{_ms(decode.compute_s)} ms. As the batch grows, intensity levels off at "
                f"{significant(points.plateau)}."
            ),
        }

    def prediction(self) -> Prediction:
        s = default_scenario()
        plateau = float(roofline.plateau_flop_per_byte(s, 2048))
        crossing = float(roofline.crossing_batch(s, 2048))
        answer = _nearest_batch(crossing)
        return Prediction(
            question="8B on one A100, 2,048 tokens of context: from which batch on is decode "
            "limited by arithmetic?",
            options=("64", "156", "512", "never"),
            answer=answer,
            because=f"Each sequence brings its own cache to read. The intensity levels off at "
            f"{significant(plateau)} FLOP per byte, short of the ridge of "
            f"{significant(s.ridge_flop_per_byte)}.",
            covers=("step-time", "crossing", "plateau"),
        )

    def prose(self) -> dict[str, str]:
        s = default_scenario()
        decode = roofline.step_costs(s, decode_batch=32, context=2048)
        mixed = roofline.step_costs(s, decode_batch=32, context=2048, prefill_tokens=4096)
        prefill = roofline.step_costs(s, prefill_tokens=4096)
        lone = roofline.step_costs(s, decode_batch=1, context=2048)
        sheet = default_scenario(device="A100 80GB SXM")
        exact = default_scenario(model="Llama-3-8B / 3.1-8B", device="A100 80GB SXM")
        sheet_decode = roofline.step_costs(sheet, decode_batch=32, context=2048)
        sheet_mixed = roofline.step_costs(sheet, decode_batch=32, context=2048, prefill_tokens=4096)
        exact_decode = roofline.step_costs(exact, decode_batch=32, context=2048)
        share = float(roofline.prefill_attention_flop(s.model, 0, 4096) / prefill.flops)
        steps = arithmetic.step_time(s, 32, 2048)
        return {
            "decode_step_ms": f"{_ms(decode.time_s)} ms",
            "decode_compute_ms": f"{_ms(decode.compute_s)} ms",
            "lone_step_ms": f"{_ms(lone.time_s)} ms",
            "mixed_step_ms": f"{_ms(mixed.time_s)} ms",
            "pause": f"{significant(float(mixed.time_s / decode.time_s))}×",
            "intensity": significant(float(decode.intensity_flop_per_byte)),
            "prefill_intensity": significant(float(prefill.intensity_flop_per_byte)),
            "ridge": significant(s.ridge_flop_per_byte),
            "plateau": significant(float(roofline.plateau_flop_per_byte(s, 2048))),
            "longest_context": f"{roofline.longest_crossing_context(s):.0f}",
            "crossing_512": significant(float(roofline.crossing_batch(s, 512))),
            "attention_share": f"{share:.1%}".replace("%", " %"),
            "sheet_step_ms": f"{float(sheet_decode.time_s) * 1e3:.2f} ms",
            "sheet_pause": f"{float(sheet_mixed.time_s / sheet_decode.time_s):.1f}×",
            "exact_step_ms": f"{float(exact_decode.time_s) * 1e3:.2f} ms",
            "exact_parameters": f"{exact.model.parameters:,}",
            "decode_weight_share": f"{16e9 / float(decode.bytes):.0%}".replace("%", " %"),
            "formula_flops": steps[0].formula_mathml,
            "formula_bytes": steps[1].formula_mathml,
            "formula_step": steps[2].formula_mathml,
        }

    def snippet(self) -> str:
        lines = scenario_lines(self.scenario)
        return "\n".join(
            [
                *lines,
                "import numpy as np",
                "from core import roofline",
                "",
                f"batch, context, prompt = {self.batch}, {self.context}, {self.prompt}",
                "decode = roofline.step_costs(scenario, decode_batch=batch, context=context)",
                "mixed = roofline.step_costs(",
                "    scenario, decode_batch=batch, context=context, prefill_tokens=prompt",
                ")",
                "step_s = float(decode.time_s)",
                'print("decode step, s:", step_s, decode.bound)',
                'print("tokens/s each and in all:", 1 / step_s, batch / step_s)',
                'print("step with the prompt, s:", float(mixed.time_s))',
                'print("intensity, FLOP/B:", float(decode.intensity_flop_per_byte))',
                'print("ridge, FLOP/B:", scenario.ridge_flop_per_byte)',
                "crossing = float(roofline.crossing_batch(scenario, context))",
                'print("turns compute-bound near batch:", '
                "np.floor(crossing + 0.5) if crossing >= 1 else crossing)",
                'print("pause, times:", float(mixed.time_s) / step_s)',
            ]
        )


class PrefillDecodeView(SectionView):
    """The roofline and the step-time chart."""

    def build_charts(self) -> list[Chart]:
        return [self._build_roofline(), self._build_step_time()]

    def _build_roofline(self) -> Chart:
        chart = Chart(
            "roofline",
            x_label="intensity, FLOP per byte",
            y_label="TFLOP/s",
            x_range=(0.5, 20_000),
            y_range=(0.5, 1_000),
            x_log=True,
            y_log=True,
        )
        chart.source("roof", ["slope_x", "slope_y", "flat_x", "flat_y"])
        chart.source("path", ["x", "y"])
        chart.source("plateau", ["x", "y"])
        chart.source("marks", ["x", "y", "label"])
        chart.source("prompt", ["x", "y", "label"])
        chart.source("notes", ["x", "y", "label"])
        chart.source("limit", ["x", "y", "label"])
        chart.line("path", "x", "y", "decode", width=7, alpha=0.25)
        chart.line("roof", "slope_x", "slope_y", "bandwidth", width=2.5, dash="dashed")
        chart.line("roof", "flat_x", "flat_y", "compute", width=2.5)
        chart.line("plateau", "x", "y", "decode", width=1.5, dash="dotted")
        chart.mark("prompt", "x", "y", "prefill", shape="square")
        chart.mark("marks", "x", "y", "decode", filled=False)
        chart.labels("marks", "x", "y", "label", bold=True, align="left", dx=14, dy=-8)
        chart.labels("prompt", "x", "y", "label", bold=True, align="center", dy=-20)
        chart.labels("notes", "x", "y", "label", role="soft", align="left", dx=4, dy=12)
        chart.labels("limit", "x", "y", "label", role="soft", align="left", dx=6, dy=10)
        return chart

    def _build_step_time(self) -> Chart:
        chart = Chart(
            "step-time",
            x_label="decode batch",
            y_label="ms a step",
            x_range=_batch_range(256),
            y_range=(0, 50),
        )
        chart.source("lines", ["batch", "compute", "memory", "step"])
        chart.source("marks", ["x", "y", "label"])
        chart.source("names", ["x", "y", "label"])
        chart.line("lines", "batch", "step", "ink", width=6, alpha=0.18)
        chart.line("lines", "batch", "memory", "bandwidth", width=2.5, dash="dashed")
        chart.line("lines", "batch", "compute", "compute", width=2.5)
        chart.mark("marks", "x", "y", "decode", filled=False)
        chart.labels("marks", "x", "y", "label", bold=True, align="left", dx=10, dy=-13)
        chart.labels("names", "x", "y", "label", bold=True, align="right", dx=-4, dy=13)
        return chart

    def render(self, result: SectionResult) -> None:
        points: Points = result.data
        self._render_roofline(points)
        self._render_step_time(points)

    def _render_roofline(self, points: Points) -> None:
        chart, model = self.chart("roofline"), self.model
        top = points.roof_flop_per_s / TERA
        slope = top / points.ridge
        reach = float(points.prefill.intensity_flop_per_byte)
        left, right = 0.5, max(3e4, 8 * points.ridge, nice_ceiling(2 * reach))
        bottom = 10.0 ** np.floor(np.log10(slope * left * 1.01))
        chart.set_range("x", left, right)
        chart.set_range("y", bottom, top * 3.2)
        chart.replace(
            "roof",
            {
                "slope_x": [left, points.ridge],
                "slope_y": [slope * left, top],
                "flat_x": [points.ridge, right],
                "flat_y": [top, top],
            },
        )
        path = points.path
        chart.replace(
            "path",
            {
                "x": path.intensity_flop_per_byte,
                "y": path.achieved_flop_per_s / TERA,
            },
        )
        shown = self.revealed and np.isfinite(points.plateau) and left < points.plateau < right
        limit = points.plateau if shown else np.nan
        chart.replace("plateau", {"x": [limit, limit], "y": [bottom, top * 3.2]})
        chart.replace(
            "limit",
            {"x": [limit], "y": [bottom], "label": [f"levels off at {significant(points.plateau)}"]}
            if shown
            else {"x": [], "y": [], "label": []},
        )
        chart.replace(
            "notes", {"x": [points.ridge], "y": [top], "label": [f"{significant(top)} TFLOP/s"]}
        )
        chart.replace("marks", _mark(points.decode, f"decode, batch {model.batch:,}"))
        chart.replace("prompt", _mark(points.prefill, "prefill"))

    def _render_step_time(self, points: Points) -> None:
        chart, model, sweep = self.chart("step-time"), self.model, points.sweep
        end = 256 if model.batch <= 256 else MAX_BATCH
        visible = sweep.time_s[end >= _BATCHES].max() * 1e3
        chart.set_range("x", *_batch_range(end))
        chart.set_range("y", 0, nice_ceiling(visible * 1.1))
        chart.replace(
            "lines",
            {
                "batch": _BATCHES,
                "compute": sweep.compute_s * 1e3,
                "memory": sweep.memory_s * 1e3,
                "step": sweep.time_s * 1e3,
            },
        )
        step_ms = float(points.decode.time_s) * 1e3
        chart.replace(
            "marks", {"x": [model.batch], "y": [step_ms], "label": [f"{significant(step_ms)} ms"]}
        )
        # Both lines are named where neither name would cover the other.
        late, early = (int(np.searchsorted(_BATCHES, share * end)) for share in (0.8, 0.35))
        apart_ms = abs(sweep.memory_s[late] - sweep.compute_s[late]) * 1e3
        at = late if apart_ms > 0.12 * chart.figure.y_range.end else early
        chart.replace(
            "names",
            {
                "x": [_BATCHES[at]] * 2,
                "y": [sweep.memory_s[at] * 1e3, sweep.compute_s[at] * 1e3],
                "label": ["memory", "compute"],
            },
        )


def default_scenario(model: str = "8B", device: str = "A100") -> Scenario:
    """The scenario that the prose speaks of: the textbook pair, whatever the reader has chosen."""
    spec: ModelSpec = MODELS[model]
    return Scenario(spec, DEVICES[device])


def _nearest_batch(crossing: float) -> str:
    """The whole batch nearest to a crossing; a word where no batch, or every one, is beyond it."""
    if np.isinf(crossing):
        return "never"
    return f"{np.floor(crossing + 0.5):,.0f}" if crossing >= 1 else "always"


def _mark(cost: StepCost, label: str) -> dict[str, list[object]]:
    return {
        "x": [float(cost.intensity_flop_per_byte)],
        "y": [float(cost.achieved_flop_per_s) / TERA],
        "label": [label],
    }


def _ms(seconds: np.ndarray) -> str:
    return significant(float(seconds) * 1e3)


def _tables(points: Points) -> dict[str, dict[str, np.ndarray]]:
    path, sweep = points.path, points.sweep
    return {
        "roofline": {
            "batch": _PATH,
            "intensity_flop_per_byte": path.intensity_flop_per_byte,
            "achieved_tflop_per_s": path.achieved_flop_per_s / TERA,
        },
        "step-time": {
            "batch": _BATCHES,
            "compute_ms": sweep.compute_s * 1e3,
            "memory_ms": sweep.memory_s * 1e3,
            "step_ms": sweep.time_s * 1e3,
        },
    }


def _batch_range(end: int) -> tuple[float, float]:
    """The axis of batches, with room for half of a mark at either end."""
    return -0.035 * end, 1.035 * end


SECTION = (PrefillDecode, PrefillDecodeView)
