"""Every section's view-model, without a browser: readouts, sentences, arithmetic, snippets."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import param
import pytest

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from widgets.base import SectionModel, log_stops
from widgets.memory import Memory
from widgets.page import section_classes
from widgets.prefill_decode import PrefillDecode

ROOT = Path(__file__).parents[2]
S = Scenario(MODELS["8B"], DEVICES["A100"])
SECTIONS = [model for model, _ in section_classes().values()]
HARD = ["Mixtral-8x7B", "DeepSeek-V3/R1 (without MTP)", "Gemma-2-9B", "gpt-oss-120b", "Qwen3.5-27B"]


def shown(model: SectionModel, key: str) -> str:
    readout = model.result.readout(key)
    return f"{readout.number} {readout.unit}".strip()


def test_section_1_shows_the_reference_numbers() -> None:
    model = PrefillDecode(S)
    assert shown(model, "step") == "12.3 ms"
    assert shown(model, "mixed") == "226 ms"
    assert shown(model, "pause") == "18.4 ×"
    assert shown(model, "intensity") == "22.2 FLOP/B"
    assert shown(model, "ridge") == "156 FLOP/B"
    assert shown(model, "crossing") == "never"
    assert shown(model, "user") == "81.3 tokens/s"
    assert shown(model, "all") == "2,600 tokens/s"
    assert "bandwidth-bound" in model.result.summary


def test_section_1_crosses_at_a_short_context() -> None:
    model = PrefillDecode(S, context=512)
    assert shown(model, "crossing") == "430"
    assert "near batch 430" in model.result.sentences["step-time"]


@pytest.mark.parametrize(
    ("efficiency", "number", "said"),
    [
        # Context 1: the plain crossing of 156 scales with the share of the peak, to 1.56 at 1 %.
        (1.0, "156", "decode turns compute-bound near batch 156"),
        (0.01, "2", "decode turns compute-bound near batch 2"),
        (0.005, "always", "every batch is compute-bound"),
    ],
)
@pytest.mark.parametrize("name", ["8B", "Mixtral-8x7B"])
def test_a_crossing_is_shown_as_a_whole_batch(
    efficiency: float, number: str, said: str, name: str
) -> None:
    scenario = Scenario(MODELS[name], DEVICES["A100"], compute_efficiency=efficiency)
    model = PrefillDecode(scenario, context=1)
    readout = model.result.readout("crossing")
    if name == "8B":
        assert readout.number == number
        assert said in model.result.sentences["step-time"]
    assert re.fullmatch(r"[\d,]+|always|never", readout.number)
    if readout.number[0].isdigit():
        assert f"{readout.steps[-1].value:,.0f}" == readout.number


def test_section_1_says_when_its_batch_finds_no_room() -> None:
    # By hand: 16 × 65,536 × 131,072 B = 137.4 GB beside 16 GB; 0.9 × 80 GB; 153.4 / 72 = 2.13.
    (preset,) = (p for p in PrefillDecode.presets if p.name == "long context")
    model = PrefillDecode(S)
    assert model.result.notes == ()
    model.apply(preset.values)
    (note,) = model.result.notes
    assert "16 GB of weights and 137 GB of cache for 16 sequences of 65,536 tokens" in note
    assert "come to 153 GB, and of 80 GB a server takes 72 GB" in note
    assert note.endswith("3 of these devices would hold it.")
    model.scenario = Scenario(MODELS["8B"], DEVICES["A100"], 2)
    assert model.result.notes
    model.scenario = Scenario(MODELS["8B"], DEVICES["A100"], 3)
    assert model.result.notes == ()


def test_section_2_shows_the_reference_numbers() -> None:
    model = Memory(S)
    assert shown(model, "sequences") == "52"
    assert shown(model, "token") == "128 KiB"
    assert shown(model, "sequence") == "1.07 GB"
    assert shown(model, "budget") == "56 GB"
    assert shown(model, "fixed") == "0 B"
    model.apply({"kv_heads": 32})
    assert shown(model, "sequences") == "13"


def test_section_2_says_that_70b_does_not_fit() -> None:
    model = Memory(Scenario(MODELS["70B"], DEVICES["A100"]))
    assert "140 GB of weights into 72 GB" in model.result.summary
    assert shown(model, "sequences") == "0"
    assert shown(model, "budget") == "none 68 GB short"
    assert shown(model, "devices") == "2"


def test_section_2_keeps_the_fixed_state_of_a_hybrid_apart() -> None:
    model = Memory(Scenario(MODELS["Qwen3.5-27B"], DEVICES["H100 SXM"]))
    assert shown(model, "token") == "64 KiB"
    assert shown(model, "fixed") == "147 MiB"


def test_heads_that_do_not_divide_are_said_and_the_models_own_used() -> None:
    model = Memory(S)
    model.apply({"kv_heads": 32})
    model.scenario = Scenario(MODELS["3B"], DEVICES["A100"])
    assert "must divide the 24 query heads" in model.result.notes[0]
    assert model.kv_heads == 32


def test_heads_cannot_be_set_where_latents_are_cached() -> None:
    model = Memory(Scenario(MODELS["DeepSeek-V3/R1 (without MTP)"], DEVICES["H200 SXM"], 16))
    assert list(model.control_options()["kv_heads"]) == ["model"]
    assert model.result.data.lines == ()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
@pytest.mark.parametrize("name", HARD)
def test_every_section_answers_for_hard_models(section: type[SectionModel], name: str) -> None:
    model = section(Scenario(MODELS[name], DEVICES["H200 SXM"], 8, cache_byte=1.0))
    assert model.result.summary
    for readout in model.result.readouts:
        assert readout.number
        assert "nan" not in readout.number


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_every_readout_opens_to_arithmetic_that_ends_at_its_number(
    section: type[SectionModel],
) -> None:
    for readout in section(S).result.readouts:
        assert readout.steps, readout.key
        for line in readout.arithmetic():
            assert line["formula"].startswith("<math>")
            assert line["text"]


@pytest.mark.parametrize("key", ["step", "mixed", "user", "all", "intensity", "ridge", "pause"])
def test_the_last_line_of_the_arithmetic_is_the_readout(key: str) -> None:
    readout = PrefillDecode(S).result.readout(key)
    number = re.sub(r"[^\d.]", "", readout.steps[-1].result.split(" ")[0])
    assert float(number) == pytest.approx(float(readout.number.replace(",", "")), rel=2e-3)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_every_chart_has_a_sentence_and_a_table_of_equal_columns(
    section: type[SectionModel],
) -> None:
    result = section(S).result
    names = {chart.name for chart in section.charts}
    assert set(result.sentences) == set(result.tables) == names
    for table in result.tables.values():
        assert len({len(column) for column in table.values()}) == 1


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_at_most_four_controls_are_in_sight(section: type[SectionModel]) -> None:
    assert len([control for control in section.controls if not control.more]) <= 4


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_a_refused_value_leaves_every_input_as_it_was(section: type[SectionModel]) -> None:
    model = section(S)
    before, result = model.inputs(), model.result
    for name in model.input_names():
        for value in (-1, 10**12, float("nan"), "abc", None, [1], True):
            with pytest.raises(ValueError, match=r"must be|not"):
                model.apply({name: value})
    with pytest.raises(ValueError, match="not an input"):
        model.apply({"nonsense": 1})
    assert model.inputs() == before
    assert model.result is result


def is_number(model: SectionModel, name: str) -> bool:
    return isinstance(model.param[name], param.Number)


def moved(model: SectionModel, name: str) -> float:
    """Another value that a numeric input accepts."""
    value, parameter = getattr(model, name), model.param[name]
    low, high = parameter.bounds
    if isinstance(parameter, param.Integer):
        return value + 1 if value < high else value - 1
    return (value + (high if value < high else low)) / 2


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_one_change_computes_one_result(section: type[SectionModel]) -> None:
    """And where a fuller one follows, that one once."""
    model = section(S)
    seen: list[Any] = []
    model.param.watch(lambda event: seen.append(event.new), "result")
    model.apply(
        {name: moved(model, name) for name in model.input_names() if is_number(model, name)}
    )
    assert len(seen) == (1 if seen[0].then is None else 2)
    assert seen[-1].then is None


@pytest.mark.parametrize(
    "section", [s for s in SECTIONS if s.follows_scenario], ids=lambda s: s.slug
)
def test_a_section_far_away_waits_until_it_is_near(section: type[SectionModel]) -> None:
    model = section(S)
    model.active = False
    before = model.result
    model.scenario = Scenario(MODELS["70B"], DEVICES["H100 SXM"], 4)
    assert model.result is before
    model.active = True
    assert model.result is not before


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_presets_are_within_bounds(section: type[SectionModel]) -> None:
    model = section(S)
    for preset in section.presets:
        mine = {k: v for k, v in preset.values.items() if k in model.input_names()}
        model.apply(mine)
        assert {k: getattr(model, k) for k in mine} == mine


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
def test_a_prediction_covers_things_that_exist(section: type[SectionModel]) -> None:
    model = section(S)
    known = {chart.name for chart in section.charts} | {"plateau", "summary"}
    known |= {"player"} if section.player_pieces else set()
    known |= {readout.key for readout in model.result.readouts}
    assert set(model.prediction().covers) <= known


def test_the_predictions_answers_are_the_models() -> None:
    assert PrefillDecode(S).prediction().answer == "never"
    assert Memory(S).prediction().answer == "13"


SCENARIOS = [
    S,
    Scenario(MODELS["gpt-oss-120b"], DEVICES["H100 SXM"], 4, weight_byte=None, overhead_s=0.002),
    Scenario(MODELS["8B"].with_kv_heads(4), DEVICES["L4"].with_arithmetic("fp8"), 2),
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.slug)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=["plain", "published", "spelt out"])
def test_the_snippet_prints_the_readouts(section: type[SectionModel], scenario: Scenario) -> None:
    """Run as a reader would: a fresh Python that can import nothing of the page."""
    model = section(scenario)
    code = model.snippet()
    assert "widgets" not in code
    assert "panel" not in code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|inf", done.stdout)]
    for readout in model.result.readouts:
        value = readout.steps[-1].value
        if readout.number in ("never", "none"):
            continue
        near = [p for p in printed if p == pytest.approx(value, rel=1e-6, abs=1e-12)]
        assert near, (readout.key, value, done.stdout)


def test_stops_hold_every_power_of_two() -> None:
    stops = log_stops(1, 512)
    assert {2**i for i in range(10)} <= set(stops)
    assert stops == sorted(set(stops))
    assert (stops[0], stops[-1]) == (1, 512)


@pytest.mark.parametrize("tokens", [1, 100, 3_000, 7_000, 131_072])
def test_the_sentence_counts_what_the_readout_counts(tokens: int) -> None:
    result = Memory(S, tokens=tokens).result
    assert (
        f"8 heads, grouped: {result.readout('sequences').number};"
        in (result.sentences["sequences"])
    )


def test_one_token_is_one_token() -> None:
    result = Memory(S, tokens=1).result
    assert result.sentences["sequences"].startswith("So many fit at 1 token: ")
    assert "sequences of 1 token." in result.summary


@pytest.mark.parametrize("tokens", [1, 1_024, 4_096, 8_192])
def test_the_fixed_part_of_a_sequence_does_not_hang_on_the_context(tokens: int) -> None:
    windowed = Scenario(MODELS["Gemma-2-9B"], DEVICES["A100"])
    readout = Memory(windowed, tokens=tokens).result.readout("fixed")
    assert (readout.number, readout.unit) == ("672", "MiB")  # 4,096 · 172,032 B


@pytest.mark.parametrize("model", ["gpt-oss-120b", "Mistral-7B-v0.1", "Qwen3.5-27B", "8B"])
def test_the_tokens_held_are_those_of_the_sequences_that_fit(model: str) -> None:
    scenario = Scenario(MODELS[model], DEVICES["A100"], devices=4)
    for tokens in (1_000, 8_192, 131_072):
        result = Memory(scenario, tokens=tokens).result
        whole = float(result.readout("sequences").number.replace(",", "")) * tokens
        held = result.readout("held").steps[-1].value
        assert whole <= held < whole + tokens


def test_the_bar_has_a_tick_for_each_sequence() -> None:
    from widgets.memory import MemoryView

    view = MemoryView(Memory(S))
    view.build()
    ticks = view.chart("memory-bar").sources["ticks"].data["x"]
    assert len(ticks) == 52
    assert np.diff(ticks) == pytest.approx(2**30 / 1e9)


def test_the_mark_of_a_short_context_is_on_the_chart_and_its_lines_reach_it() -> None:
    from widgets.memory import MemoryView

    for tokens in (1, 64, 8_192):
        view = MemoryView(Memory(S, tokens=tokens))
        view.build()
        chart = view.chart("sequences")
        (x,), (y,) = (chart.sources["marks"].data[axis] for axis in "xy")
        assert chart.figure.x_range.start < x < chart.figure.x_range.end
        assert chart.figure.y_range.start < y < chart.figure.y_range.end
        assert min(chart.sources["lines"].data["x"]) <= x
    assert chart.figure.x_range.start == 100


def test_a_chart_where_nothing_fits_says_so() -> None:
    from widgets.memory import MemoryView

    view = MemoryView(Memory(Scenario(MODELS["70B"], DEVICES["A100"])))
    view.build()
    assert view.chart("sequences").sources["names"].data["label"] == [
        "nothing fits: the weights are too large"
    ]
