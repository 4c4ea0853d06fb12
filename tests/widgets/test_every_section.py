"""What holds for every section of the page, whatever the model."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import param
import pytest

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from widgets.base import SectionModel
from widgets.page import section_classes
from widgets.readouts import Readout
from widgets.section import csv_text

# A dense model, one that does not fit, experts behind latents, windows, and fixed state.
MODELS_OF_EVERY_KIND = [
    ("8B", 1),
    ("70B", 1),
    ("DeepSeek-V3/R1 (without MTP)", 16),
    ("gpt-oss-120b", 2),
    ("Qwen3.5-27B", 4),
]
# Those of the checked simulator are counts of what it ran, not sums.
SUMMED = [slug for slug in section_classes() if slug != "checked-simulator"]
PREFIX = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def section(slug: str, model: str, devices: int) -> SectionModel:
    scenario = Scenario(MODELS[model], DEVICES["A100"], devices=devices)
    made: SectionModel = section_classes()[slug][0](scenario)
    return made


def values_of(readout: Readout) -> set[float]:
    """What the shown number may stand for, in base units; empty where it is a word."""
    try:
        number = float(readout.number.replace(",", "").replace("−", "-"))
    except ValueError:
        return set()
    unit = readout.unit.split(" ")[0]
    if unit in ("%", "points"):
        return {number, number / 100}
    if unit in BINARY:
        return {number * BINARY[unit]}
    scaled = re.fullmatch(r"([kMGTmµn]?)(s|B|FLOP)(/s)?", unit)
    return {number * PREFIX[scaled[1]]} if scaled else {number}


@pytest.mark.parametrize(("model", "devices"), MODELS_OF_EVERY_KIND)
@pytest.mark.parametrize("slug", SUMMED)
def test_the_arithmetic_of_a_readout_ends_at_its_number(
    slug: str, model: str, devices: int
) -> None:
    for readout in section(slug, model, devices).result.readouts:
        values = values_of(readout)
        if not values:
            continue
        last = readout.steps[-1].value
        # Three digits are shown.
        near = [value for value in values if value == pytest.approx(last, rel=6e-3, abs=1e-12)]
        assert near, f"{readout.key} shows {readout.number} {readout.unit}, but ends at {last}"


@pytest.mark.parametrize(("model", "devices"), MODELS_OF_EVERY_KIND)
@pytest.mark.parametrize("slug", SUMMED)
def test_every_chart_downloads_as_csv(slug: str, model: str, devices: int) -> None:
    for name, columns in section(slug, model, devices).result.tables.items():
        head, *rows = csv.reader(io.StringIO(csv_text(columns)))
        assert head == list(columns), name
        assert len(rows) == max((np.asarray(column).size for column in columns.values()), default=0)
        for i, column in enumerate(np.asarray(column) for column in columns.values()):
            if column.dtype.kind != "U":
                read = [float(row[i]) if row[i] else np.nan for row in rows]
                np.testing.assert_array_equal(read, column.astype(float), err_msg=name)


# Longer runs say no other words.
LONG_RUNS = {"load_requests": 100, "stream_requests": 500, "run_tokens": 500}
SHORT_RUNS = {"scheduling": {"load_requests": 12}}
# Settings of a section in which other sentences, notes or strips are said.
OTHERWISE: dict[str, list[dict[str, Any]]] = {
    "memory": [{"reserved": 0.5}],
    "continuous-batching": [{"clock": "ms"}, {"slots": 1}, {"stream_requests": 1}],
    "paged-caches": [
        {"pool_story": "churn"},
        {"pool_step": 10},
        {"block_size": 1, "pool_blocks": 64, "shared_prefix": 1},
    ],
    "scheduling": [{"prefix_caching": "on"}, {"budget": 64}],
    "speculation": [
        {"spec_source": "simulation"},
        {"spec_source": "text", "sampling": "greedy", "gamma": 1},
        {"adaptive": "adaptive"},
    ],
}
PLURAL_ONE = re.compile(
    r"(?<![\d.,])1 (tokens|requests|sequences|slots|steps|groups|decodes|blocks|wait|run|were|"
    r"slot-steps|draft tokens|devices|passes|rounds|are|have)\b"
)


def said_by(model: SectionModel) -> Iterator[str]:
    """Every line of words that a card shows beside its charts."""
    result = model.result
    yield from (result.summary, *result.sentences.values(), *result.notes)
    for readout in result.readouts:
        yield from (readout.label, f"{readout.number} {readout.unit}")
    for strip in result.strips:
        yield from (strip.label, *(text for text, kind in strip.items if kind == "event"))
    for state in model.control_state().values():
        yield str(state.get("said", ""))
    if result.player is not None:
        yield result.player.title


def one_and_the_ends(model: SectionModel) -> Iterator[dict[str, Any]]:
    """Each numeric input alone at its least, at 1 and at its greatest."""
    for name in model.input_names():
        parameter = model.param[name]
        if isinstance(parameter, param.Number):
            low, high = parameter.bounds
            high = LONG_RUNS.get(name, high)
            yield from ({name: value} for value in {low, 1, high} if low <= value <= high)


@pytest.mark.parametrize(
    ("slug", "start"),
    [(slug, start) for slug in section_classes() for start in [{}, *OTHERWISE.get(slug, [])]],
)
def test_one_of_anything_is_singular(slug: str, start: dict[str, Any]) -> None:
    model = section(slug, "8B", 1)
    model.apply({**SHORT_RUNS.get(slug, {}), **start})
    before = model.inputs()
    for change in ({}, *one_and_the_ends(model)):
        try:
            model.apply(change)
        except ValueError:  # the inputs do not go together: the reader is refused
            continue
        for line in said_by(model):
            assert not PLURAL_ONE.search(line), f"{change}: {line}"
        model.apply({name: before[name] for name in change})


def test_one_of_anything_is_singular_where_a_reader_brings_it() -> None:
    """A trace of one row, and every step of requests that lack one block."""
    trace = "arrival_ms,prompt,output,hash_ids\n0,1,1,1\n"
    for slug, key in (
        ("continuous-batching", "batch_trace"),
        ("paged-caches", "trace_file"),
        ("scheduling", "stream_file"),
    ):
        model = section(slug, "8B", 1)
        model.take_file(key, "one.csv", trace)
        model.refresh()
        assert any("1 request read from CSV" in line for line in said_by(model))
        assert not [line for line in said_by(model) if PLURAL_ONE.search(line)]
    pool = section("paged-caches", "8B", 1)
    pool.apply({"pool_blocks": 2, "block_size": 1, "pool_requests": "A: a b\nB: b\nrelease A"})
    reasons = [event.reason for event in pool.result.data.story.run.events]
    assert "B is refused: 1 new block needed, 0 free; nothing changes" in reasons
    assert not [reason for reason in reasons if re.search(r"\b1 new blocks", reason)]


@pytest.mark.parametrize("slug", ["speculation", "checked-simulator"])
def test_a_preset_is_the_same_whatever_preset_came_before(slug: str) -> None:
    model_class = section_classes()[slug][0]
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])

    def chosen(*names: str) -> dict[str, object]:
        model = model_class(scenario, active=False)
        for name in names:
            model.apply(dict(next(p.values for p in model.presets if p.name == name)))
        # The text is not shown, and not used, by the other sources.
        text = ("corpus", "drafter", "sampling", "run_tokens")
        return {k: v for k, v in model.inputs().items() if k not in text}

    names = [preset.name for preset in model_class.presets]
    for last in names:
        for before in names:
            apart = {k: v for k, v in chosen(before, last).items() if chosen(last)[k] != v}
            assert set(apart) <= {"alpha"}, f"“{last}” after “{before}”"
