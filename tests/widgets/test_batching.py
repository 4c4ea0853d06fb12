"""Section 3 without a browser: the reference's numbers, ties, Gantts, traces, time and refusals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.core.oracles import step_by_step
from tests.test_content import rendered
from widgets.batching import Batching
from widgets.batching_picture import MAX_BARS, MAX_ROWS, axis_end
from widgets.batching_runs import Draw, PolicyRun
from widgets.batching_view import BatchingView
from widgets.page import section_classes
from widgets.section import SectionView
from widgets.session import Session

ROOT = Path(__file__).parents[2]
S = Scenario(MODELS["8B"], DEVICES["A100"])
PROGRAM = json.loads((ROOT / "tests/core/data/batching_vectors.json").read_text())["program"]
SLUG = "continuous-batching"
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def number(model: Batching, key: str) -> str:
    return model.result.readout(key).number


def preset(name: str) -> Batching:
    model = Batching(S)
    model.apply(next(p.values for p in model.presets if p.name == name))
    return model


def both(model: Batching) -> tuple[PolicyRun, PolicyRun]:
    played = model.result.data.played
    return played.static, played.continuous


def built(model: Batching) -> BatchingView:
    view = BatchingView(model)
    view.build()
    return view


def data(view: SectionView, chart: str, source: str) -> dict[str, list[Any]]:
    return dict(view.chart(chart).sources[source].data)


def csv(rows: int, *, gap_ms: int = 50, output: int = 20) -> str:
    lines = (
        f"2023-11-16 18:{i * gap_ms // 60_000:02d}:{i * gap_ms % 60_000 / 1000:06.3f},"
        f"{100 + i % 7},{output + i % 5}"
        for i in range(rows)
    )
    return HEADER + "\n".join(lines)


# The reference's numbers ---------------------------------------------------------------------


def test_the_page_opens_with_the_reference_programs_numbers() -> None:
    model = Batching(S)
    assert number(model, "steps") == "343 → 216"
    assert number(model, "mean") == "137.9 → 55.4"
    assert number(model, "utilization") == "0.53 → 0.84"
    assert "done after 343 steps, continuous batching after 216 steps" in model.result.summary
    for run, policy in zip(both(model), ("static", "continuous"), strict=True):
        assert run.end == PROGRAM[policy]["steps"]
        assert run.latency.mean() == PROGRAM[policy]["mean_latency_f"]
        assert run.utilization == PROGRAM[policy]["util_f"]


@pytest.mark.parametrize("slots", [1, 2, 4, 8, 16, 32])
def test_the_slots_slider_gives_the_programs_sweep(slots: int) -> None:
    model = Batching(S)
    model.apply({"slots": slots})
    golden = PROGRAM["sweep_slots"].get(str(slots)) or [
        [PROGRAM[p]["steps"], PROGRAM[p]["mean_latency_f"], PROGRAM[p]["util_f"]]
        for p in ("static", "continuous")
    ]
    for run, (steps, latency, share) in zip(both(model), golden, strict=True):
        assert run.end == steps
        assert run.latency.mean() == pytest.approx(latency, rel=1e-12)
        assert run.utilization == pytest.approx(share, rel=1e-12)


def test_percentiles_interpolate_between_the_two_nearest_requests() -> None:
    static, rolling = both(Batching(S))
    shown = {key: number(Batching(S), key) for key in ("p50", "p95", "p99")}
    for key, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        values = []
        for run in (static, rolling):
            ranked = sorted(run.latency.tolist())
            place = share * 39
            low = int(place)
            values.append(ranked[low] + (place - low) * (ranked[low + 1] - ranked[low]))
        for text, value in zip(shown[key].split(" → "), values, strict=True):
            assert float(text) == pytest.approx(value, rel=5e-3)
    assert shown["p95"] == "221 → 94.4"


def test_both_policies_count_the_empty_steps_before_the_first_arrival() -> None:
    for run in both(Batching(S)):
        assert run.arrival[0] == run.admitted[0] == 6
        assert run.busy + run.idle == 8 * run.end
        assert run.idle >= 6 * 8


def test_the_arithmetic_ends_at_the_number_shown() -> None:
    for name in ("the reference stream", "one giant"):
        model = preset(name)
        for clock in ("steps", "ms"):
            model.apply({"clock": clock})
            for readout in model.result.readouts:
                shown = float(readout.number.split(" → ")[1].replace(",", ""))
                small = re.search(r"\bms\b", f"{readout.label} {readout.unit}")
                value = readout.steps[-1].value * (1e3 if small else 1)
                assert value == pytest.approx(shown, rel=5e-3, abs=5e-3), readout


# Where nothing is gained ---------------------------------------------------------------------


def test_equal_answers_that_arrive_together_tie() -> None:
    model = preset("equal outputs together")
    static, rolling = both(model)
    assert np.array_equal(static.finish, rolling.finish)
    assert number(model, "steps") == "180 → 180"
    assert number(model, "utilization") == "1.00 → 1.00"
    assert "nothing is gained" in model.result.summary
    assert "none is idle" in model.result.sentences["static-slots"]


def test_one_slot_ties_too() -> None:
    model = Batching(S, slots=1)
    static, rolling = both(model)
    assert np.array_equal(static.finish, rolling.finish)
    assert "nothing is gained" in model.result.summary


def test_the_predictions_answer_and_its_options_are_computed() -> None:
    prediction = Batching(S).prediction()
    assert prediction.answer == "none"
    assert "180 steps" in prediction.question
    # 180 · (1 − 216/343) = 66.6
    assert prediction.options == ("none", "67, or 37 %", "5, one a group", "90, half")


def test_a_giant_holds_its_static_group_and_lets_the_others_pass_under_continuous() -> None:
    static, rolling = both(preset("one giant"))
    (giant,) = np.flatnonzero(static.finish - static.admitted == 400)
    assert static.end > 600
    later = np.flatnonzero(np.arange(40) > giant)
    assert np.median(rolling.latency[later]) < 80
    assert np.median(static.latency[later]) > 400


# What is drawn -------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", ["steps", "ms"])
@pytest.mark.parametrize("slots", [1, 3, 8, 20])
def test_bars_never_overlap_and_busy_and_idle_make_up_the_whole(clock: str, slots: int) -> None:
    model = Batching(S, slots=slots, clock=clock, gap=3, stream_requests=60)
    picture, played = model.result.data.picture, model.result.data.played
    for side, run in zip("sc", played.both, strict=True):
        left, right, row = (picture.bars[f"{side}_{part}"] for part in ("left", "right", "row"))
        assert set(row) <= set(range(1, slots + 1))
        for one in range(1, slots + 1):
            mine = np.argsort(left[row == one])
            begins, ends = left[row == one][mine], right[row == one][mine]
            assert np.all(begins[1:] >= ends[:-1])
        whole = slots * run.end * picture.scale
        # Drawn times are rounded to a thousandth.
        assert (right - left).sum() == pytest.approx(run.busy * picture.scale, abs=0.07)
        assert run.busy + run.idle == pytest.approx(whole / picture.scale, rel=1e-12)
        if clock == "steps":
            assert run.busy == played.stream.output_token.sum()


def test_both_gantts_have_one_source_and_one_axis_and_so_does_the_queue() -> None:
    view = built(Batching(S))
    static, rolling, queue = (
        view.chart(name) for name in ("static-slots", "continuous-slots", "queue-length")
    )
    assert static.sources["bars"] is rolling.sources["bars"]
    assert static.figure.x_range is rolling.figure.x_range is queue.figure.x_range
    assert (static.figure.x_range.start, static.figure.x_range.end) == (0, 350)
    assert data(view, "static-slots", "bars")["s_right"][-1] <= 343


def test_labels_are_written_where_they_fit_at_the_width_that_the_browser_tells() -> None:
    view = built(Batching(S))
    wide = data(view, "static-slots", "bars")
    assert wide["s_label"] == wide["c_label"] == [str(i) for i in range(1, 41)]
    view._fit(280)
    narrow = data(view, "static-slots", "bars")["c_label"]
    bars = view.model.result.data.picture.bars
    for label, left, right in zip(narrow, bars["c_left"], bars["c_right"], strict=True):
        assert bool(label) == (
            (right - left) / 350 * 280 >= (14 if label in set("123456789") else 22)
        )
    assert 0 < sum(map(bool, narrow)) < 40


def test_nobody_has_more_rows_than_a_gantt_can_show() -> None:
    for changes in ({"stream_requests": MAX_BARS + 1}, {"slots": MAX_ROWS + 1}):
        model = Batching(S, **changes)
        picture = model.result.data.picture
        assert picture.aggregated
        assert "how many slots are busy" in model.result.sentences["static-slots"]
        view = built(model)
        assert data(view, "static-slots", "bars")["id"] == []
        load = data(view, "static-slots", "load")
        for name, run in zip(("static", "continuous"), both(model), strict=True):
            widths = np.diff([*load["left"], load["right"][-1]])
            assert np.dot(load[name], widths) == pytest.approx(run.busy, rel=2e-3)
            assert max(load[name]) <= model.slots
    assert not Batching(S, stream_requests=MAX_BARS).result.data.picture.aggregated


def test_the_queue_is_who_has_arrived_and_does_not_run() -> None:
    model = Batching(S)
    waiting = model.result.data.picture.waiting
    for name, run in zip(("static", "continuous"), both(model), strict=True):
        for time, drawn in zip(waiting["time"], waiting[name], strict=True):
            if time > run.end:
                assert np.isnan(drawn)
            else:
                assert drawn == ((run.arrival <= time) & (run.admitted > time)).sum()


def test_the_latency_stairs_reach_every_request_and_carry_the_marks() -> None:
    model = Batching(S)
    view = built(model)
    stairs = data(view, "latency-share", "stairs")
    static, rolling = both(model)
    assert stairs["static"][1:-1] == sorted(static.latency.tolist())
    assert stairs["continuous"][1:-1] == sorted(rolling.latency.tolist())
    assert stairs["share"][1:-1] == pytest.approx([i / 40 for i in range(1, 41)])
    marks = data(view, "latency-share", "marks")
    assert marks["y"] == [0.5, 0.95, 0.99] * 2
    assert marks["x"] == pytest.approx([127.5, 220.65, 234.83, 52.0, 94.4, 106.27])
    assert marks["shape"] == ["diamond"] * 3 + ["circle"] * 3
    told = data(view, "latency-share", "told")["text"]
    assert list(told) == [
        *("static", "continuous"),
        *("p50 128", "p95 221", "p99 235"),
        *("p50 52", "p95 94.4", "p99 106"),
    ]


@pytest.mark.parametrize("value", [1, 9.99, 64, 216, 343, 690, 1461, 2857.8, 149_543])
def test_an_axis_ends_at_a_round_number_not_far_beyond(value: float) -> None:
    assert value <= axis_end(value) <= 1.26 * value
    assert axis_end(axis_end(value)) == axis_end(value)


# The scenario's time -------------------------------------------------------------------------


def test_a_unit_steps_time_names_the_context_it_is_counted_at() -> None:
    model = Batching(S, clock="ms")
    (note,) = model.result.notes
    prompts = model.draw().stream().prompt_token
    mean = prompts.sum() / prompts.size
    # 2 bytes for 8 billion parameters and 128 KiB a token, over 2 TB/s.
    step_ms = (16e9 + 131_072 * mean) / 2e12 * 1e3
    assert f"{step_ms:.2f} ms each" in note
    assert f"at a context of {mean:.1f} tokens, the mean prompt of the stream" in note


def test_on_the_scenarios_time_every_step_costs_its_composition() -> None:
    """Against the tests' own step-by-step simulation, which shares no code with the engine."""
    model = Batching(S, clock="ms")
    played = model.result.data.played
    stream = played.stream
    columns = (stream.arrival, stream.prompt_token, stream.output_token)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for run, continuous in zip(played.both, (False, True), strict=True):
        slow = step_by_step.run(rows, S, continuous=continuous, max_sequences=8)
        assert run.finish == pytest.approx([job.token_times[-1] for job in slow.jobs], rel=1e-12)
    assert model.result.readout("steps").number == "2.86 → 1.74"
    assert model.result.readout("steps").unit == "s"


def test_the_drawn_arrivals_keep_their_steps_on_the_scenarios_time() -> None:
    steps, timed = Batching(S), Batching(S, clock="ms")
    arrival = timed.result.data.played.stream.arrival
    # One sequence alone: 16 GB of weights and its context's cache at 2.0 TB/s.
    context = Draw().stream().prompt_token.mean()
    step_s = (16e9 + context * 131_072) / 2e12
    assert arrival == pytest.approx(steps.result.data.played.stream.arrival * step_s, rel=1e-12)
    assert "8.00 ms each" in timed.result.notes[0]


def test_unit_steps_do_not_hang_on_the_scenario_but_its_time_does() -> None:
    model = Batching(S)
    before = model.result
    model.scenario = Scenario(MODELS["70B"], DEVICES["H100 SXM"], 4)
    assert model.result.summary == before.summary
    assert all(
        np.array_equal(a.finish, b.finish)
        for a, b in zip(
            both(model), (before.data.played.static, before.data.played.continuous), strict=True
        )
    )
    model.apply({"clock": "ms"})
    slow = both(model)[1].end
    model.scenario = Scenario(MODELS["8B"], DEVICES["H100 SXM"], 4)
    assert both(model)[1].end < slow


def test_a_model_that_does_not_fit_is_said_and_steps_are_shown() -> None:
    model = Batching(Scenario(MODELS["70B"], DEVICES["A100"]), clock="ms")
    assert "70B does not fit" in model.result.notes[0]
    assert "counts steps instead" in model.result.notes[0]
    assert number(model, "steps") == "343 → 216"


def test_a_cache_that_limits_admission_is_said() -> None:
    rows = "\n".join(f"{i},30000,400" for i in range(40))
    model = Batching(S, slots=32, clock="ms")
    assert not any("cache" in note for note in model.result.notes)
    model.take_file("batch_trace", "long.csv", "arrival_s,prompt,output\n" + rows)
    static, rolling = both(model)
    assert rolling.held_back
    # 56 GB of cache hold 13 sequences of 30,400 tokens and 131,072 B each.
    assert rolling.occupancy["busy"].max() <= 14
    assert any("Continuous batching: at times the cache is full" in n for n in model.result.notes)
    model.apply({"slots": 8})
    assert not any(run.held_back for run in both(model))
    assert static.held_back


def test_preempted_requests_have_a_bar_for_each_time_they_ran() -> None:
    rows = "\n".join(f"0,{20_000 + i},6000" for i in range(24))
    model = Batching(S, slots=24, clock="ms")
    model.take_file("batch_trace", "heavy.csv", "arrival_s,prompt,output\n" + rows)
    rolling = both(model)[1]
    assert rolling.preemptions
    bars = model.result.data.picture.bars
    there = np.isfinite(bars["c_left"])
    assert there.sum() == 24 + rolling.preemptions
    assert sorted(bars["id"][there]) == sorted(rolling.gantt["request"] + 1)
    assert any("preempted and recomputed" in note for note in model.result.notes)
    # The first stretch of each request begins with its prefill; no other is known to.
    left, first, right = (bars[f"c_{part}"][there] for part in ("left", "first", "right"))
    assert np.all((left <= first) & (first <= right))
    assert (first > left).sum() == 24


@pytest.mark.parametrize("name", ["Gemma-2-9B", "DeepSeek-V3/R1 (without MTP)", "gpt-oss-120b"])
def test_hard_models_play_on_their_own_time(name: str) -> None:
    model = Batching(Scenario(MODELS[name], DEVICES["H200 SXM"], 16, cache_byte=1.0), clock="ms")
    assert model.result.data.played.in_time
    assert all("nan" not in readout.number for readout in model.result.readouts)


# Links, refusals, code -----------------------------------------------------------------------


def opened(query: str) -> tuple[Session, SectionView]:
    """The section alone on a page with that address."""
    session = Session({SLUG: section_classes()[SLUG]}, query, "light")
    return session, session.bring(SLUG)


def test_a_link_carries_the_inputs_and_opens_the_same_view() -> None:
    session, view = opened("")
    view.receive({"set": {"slots": 4, "gap": 2, "clock": "ms"}})
    query = session.query()
    assert set(query.split("&")) == {"slots=4", "gap=2", "clock=ms"}
    model = opened(query)[1].model
    assert model.inputs() == view.model.inputs()
    assert model.result.summary == view.model.result.summary


def test_a_link_to_a_trace_says_that_the_trace_is_missing() -> None:
    model = opened("played=trace")[1].model
    assert "a link does not carry one" in model.result.notes[0]
    assert model.result.readout("steps").number == "343 → 216"


def test_a_shortest_output_above_the_longest_is_refused_and_a_link_with_both_is_taken() -> None:
    model = Batching(S)
    with pytest.raises(ValueError, match="Shortest output must be at most the longest, 64, got 65"):
        model.apply({"shortest": 65})
    assert model.shortest == 8
    inputs = opened("shortest=100&longest=200")[1].model.inputs()
    assert (inputs["shortest"], inputs["longest"]) == (100, 200)


@pytest.mark.parametrize(
    ("changes", "traced"),
    [
        ({"giant": 400, "slots": 5}, False),
        ({"clock": "ms", "giant": 100}, False),
        ({"clock": "steps"}, True),
        ({"clock": "ms", "slots": 3}, True),
    ],
)
def test_the_snippet_prints_the_readouts_on_every_clock(
    changes: dict[str, Any], traced: bool, tmp_path: Path
) -> None:
    model = Batching(S)
    if traced:
        text = csv(200)
        (tmp_path / "it's.csv").write_text(text)
        model.take_file("batch_trace", "it's.csv", text)
    model.apply(changes)
    code = model.snippet()
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", done.stdout)]
    for readout in model.result.readouts:
        value = readout.steps[-1].value
        assert any(p == pytest.approx(value, rel=1e-9, abs=1e-9) for p in printed), readout.key


@pytest.mark.parametrize(
    "sentence",
    [
        "Static batching is done after 343 steps, continuous batching after 216, which is 37 %",
        "include the 6 empty steps before the first request arrives at step 6",
        "The mean latency falls from 137.9 to 55.4 steps",
        "101.5 steps under static batching, 19.1 under continuous",
        "the 99th percentile falls from 235 to 106",
        "rises from 0.53 to 0.84. Static batching leaves 1,289 slot-steps idle, and 984 of these",
        "Under continuous batching 273 are idle, and of these 0",
        "have a mean of 36. The longest of 8 such answers has 58.2 on average",
        "uses at most 62 % of its slot-time",
        "8 343 0.53 216 0.84 16 241 0.38 170 0.53 32 186 0.24 170 0.27",
        "make continuous batching 6.8 times as fast and static batching only 4.3 times",
        "the last of them at step 122",
        "at 180 and 180 steps",
        "takes 690 steps, continuous batching lets the others pass it and takes 476",
        "the reference stream takes 2.86 s and 1.74 s",
    ],
)
def test_the_prose_prints(sentence: str) -> None:
    """Steps, latencies and shares are the reference's; 1,289 = 8 · 343 − 1,455."""
    assert sentence in rendered("continuous-batching")
