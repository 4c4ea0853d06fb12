"""Section 5 without a browser: the reference's table, the stream as core has it, traces, links."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.goodput import Latencies
from core.models import MODELS
from core.requests import Lengths, RequestStream, random_stream
from core.scenario import Scenario
from core.scheduling import Schedule, simulate
from core.traces import read_trace
from tests.test_content import rendered
from widgets.base import Job
from widgets.page import section_classes
from widgets.scheduling import AS_GIVEN, DRAWN, FILE_LIMIT, PACED, WHOLE, Scheduling, SchedulingView
from widgets.scheduling_prompt import NO_LIMIT, bars, outline
from widgets.scheduling_stream import MAX_EVENTS, SHARES, Refused, Served, Sweep
from widgets.session import Session

S = Scenario(MODELS["8B"], DEVICES["A100"])
GOLDEN = Path(__file__).parents[1] / "core" / "data" / "chunked_prefill_golden.json"
CSV = "TIMESTAMP,ContextTokens,GeneratedTokens\n0.0,900,20\n0.4,1200,30\n1.9,300,5\n2.0,4000,9\n"


def model(**inputs: Any) -> Scheduling:
    return Scheduling(S, **inputs)


def shown(section: Scheduling, key: str) -> str:
    readout = section.result.readout(key)
    return f"{readout.number} {readout.unit}".strip()


def stream_at(rate: float, **other: Any) -> RequestStream:
    """The page's default stream, spelt out."""
    choice = {"requests": 1000, "prompt": 1024, "answer": 128, "cv": 1.0, "seed": 9} | other
    drawn = random_stream(
        np.random.default_rng(choice["seed"]),
        choice["requests"],
        1.0,
        Lengths(choice["prompt"], choice["cv"]),
        Lengths(choice["answer"], choice["cv"]),
    )
    return drawn.at_rate(rate)


@pytest.mark.parametrize(
    ("budget", "ttft", "worst", "pause", "steps"),
    [
        (NO_LIMIT, "226 ms", "226 ms", "18.4 ×", "1"),
        (16_384, "226 ms", "226 ms", "18.4 ×", "1"),
        (4_096, "237 ms", "224 ms", "18.2 ×", "2"),
        (2_048, "236 ms", "115 ms", "9.38 ×", "3"),
        (1_024, "236 ms", "58.4 ms", "4.75 ×", "5"),
        (512, "240 ms", "29.3 ms", "2.38 ×", "9"),
        (256, "265 ms", "14.7 ms", "1.20 ×", "19"),
        (128, "535 ms", "12.6 ms", "1.02 ×", "43"),
    ],
)
def test_the_table_of_budgets_to_the_printed_digit(
    budget: int, ttft: str, worst: str, pause: str, steps: str
) -> None:
    section = model(budget=budget)
    assert [shown(section, key) for key in ("ttft", "worst", "pause", "steps")] == [
        ttft,
        worst,
        pause,
        steps,
    ]


def test_the_curve_of_budgets_is_the_golden_table() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))["budgets"]
    table = model().result.tables["trade-off"]
    names = table["budget"].tolist()
    assert names == ["64", "128", "256", "512", "1,024", "2,048", "4,096", "no limit"]
    for key in ("256", "512", "1024", "2048", "4096", "4128"):
        row = golden[key]
        at = names.index("no limit" if key == "4128" else f"{int(key):,}")
        assert table["steps"][at] == row["steps"]
        worst, ttft = "worst_itl_ms_at_overhead_0_ms", "ttft_ms_at_overhead_0_ms"
        assert table[worst][at] == pytest.approx(row["worst_ms"], rel=1e-9)
        assert table[ttft][at] == pytest.approx(row["ttft_ms"], rel=1e-9)


def test_the_ghost_is_the_curve_at_another_overhead() -> None:
    table = model().result.tables["trade-off"]
    loaded = Scheduling(replace(S, overhead_s=0.002)).result.tables["trade-off"]
    for what in ("ttft_ms", "worst_itl_ms"):
        for overhead in (0, 2):
            name = f"{what}_at_overhead_{overhead}_ms"
            np.testing.assert_allclose(table[name], loaded[name])
    steps = table["steps"]
    np.testing.assert_allclose(
        table["ttft_ms_at_overhead_2_ms"], table["ttft_ms_at_overhead_0_ms"] + 2 * steps
    )


def test_the_watchers_bars_join_and_are_as_wide_as_they_are_high() -> None:
    part = model().result.data.prompt
    drawn = bars(part, 300.0)
    np.testing.assert_allclose(drawn.left[1:], drawn.right[:-1])
    np.testing.assert_allclose(drawn.right - drawn.left, drawn.gap)
    first = int(np.flatnonzero(drawn.left == 0)[0])
    assert drawn.gap[first : first + 3] == pytest.approx([108.550584, 115.380195, 12.563396])
    assert drawn.decode[first] == pytest.approx(12.294967296)
    # Afterwards the newcomer decodes too, at a context of 4,097.
    after = (16e9 + 131_072 * (32 * 2048 + 4097)) / 2e12 * 1e3
    assert drawn.gap[first + 3] == drawn.decode[first + 3] == pytest.approx(after)


def test_many_steps_share_bars_and_none_hides_the_longest() -> None:
    part = model(budget=64, arriving=130_500).result.data.prompt
    assert part.chosen.prefill.steps == 4_079
    drawn = bars(part, 0.0)
    assert drawn.steps_in_a_bar == 34
    assert drawn.left.size < 130
    mixed = drawn.gap[drawn.gap > drawn.decode]
    assert mixed.max() == pytest.approx(part.chosen.prefill.worst_s * 1e3)
    x, y = outline(model(second_budget=64, arriving=130_500).result.data.prompt, 0.0)
    assert len(x) < 260
    assert max(y[2:-2]) == pytest.approx(part.chosen.prefill.worst_s * 1e3)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"budget": 64, "decoding": 64}, "64 decodes go first and leave nothing of a budget of 64"),
        ({"chunking": WHOLE}, "a prompt of 4,096 never fits into a budget of 2,048"),
    ],
)
def test_a_prompt_that_never_starts_is_an_answer(inputs: dict[str, Any], said: str) -> None:
    section = model(**inputs)
    assert said in section.result.summary
    assert said in section.result.sentences["watcher"]
    assert shown(section, "ttft") == "never"
    assert shown(section, "pause") == "none"
    assert f"# The prompt never starts: {section.result.data.prompt.chosen.never}" in (
        section.snippet()
    )
    view = SchedulingView(section)
    view.build()
    assert view.chart("watcher").sources["prefill"].data["left"] == []
    assert view.chart("trade-off").sources["now"].data["x"] == []


def run_of(schedule: Schedule) -> dict[str, float]:
    itl = schedule.itl_s
    return {
        "stream_ttft": float(np.quantile(schedule.ttft_s, 0.99)),
        "stream_itl": float(itl.quantile(0.99)),
        "goodput": Latencies.of(schedule).goodput_per_s(1.0, 0.2, judge="worst"),
        "preemptions": len(schedule.preemptions),
    }


@pytest.mark.parametrize(
    ("inputs", "requests", "options"),
    [
        ({}, stream_at(8.0), {"token_budget": 2048}),
        (
            {"budget": 512, "arrivals": 13.0, "load_seed": 4, "load_requests": 300},
            stream_at(13.0, seed=4, requests=300),
            {"token_budget": 512},
        ),
        (
            {"budget": NO_LIMIT, "mean_answer": 600, "arrivals": 5.0, "memory_share": 0.25},
            stream_at(5.0, answer=600),
            {"token_budget": None, "reserved_fraction": 0.25},
        ),
    ],
)
def test_the_stream_is_what_core_makes_of_it(
    inputs: dict[str, Any], requests: RequestStream, options: dict[str, Any]
) -> None:
    section = model(**inputs)
    schedule = simulate(requests, S, **options)
    for key, value in run_of(schedule).items():
        assert section.result.readout(key).steps[-1].value == pytest.approx(value, rel=1e-9), key
    served = section.result.data.served[0]
    np.testing.assert_allclose(served.ttft_s, np.quantile(schedule.ttft_s, SHARES))
    np.testing.assert_allclose(served.e2e_s, np.quantile(schedule.e2e_s, SHARES))
    itl = schedule.itl_s
    np.testing.assert_allclose(
        served.gaps.share, itl.at_most(served.gaps.length_s) / itl.count, atol=1e-12
    )
    assert served.gaps.length_s[-1] == itl.worst_s
    assert served.gaps.share[-1] == 1
    assert served.gaps.share[0] > 0
    table = schedule.occupancy()
    assert served.running.max() == table["busy"].max()
    assert served.waiting.max() == table["waiting"].max()


def test_preemptions_say_who_when_and_what_was_computed_again() -> None:
    inputs = {"mean_answer": 600, "arrivals": 5.0, "memory_share": 0.25}
    section = model(**inputs)
    schedule = simulate(stream_at(5.0, answer=600), S, token_budget=2048, reserved_fraction=0.25)
    assert len(schedule.preemptions) > MAX_EVENTS
    served = section.result.data.served[0]
    assert served.preemptions == served.preempted.sum() == len(schedule.preemptions)
    for event, lost in zip(served.events, schedule.preemptions, strict=False):
        assert (event.request, event.time_s) == (lost.request, lost.time)
        prompt = schedule.stream.prompt_token[lost.request]
        assert event.recomputed_token == prompt + lost.generated_token
        times = schedule.itl_of(lost.request)[0]
        tokens = np.array([schedule.log.first_token[lost.request], *times])
        assert event.next_s == pytest.approx(tokens[tokens > lost.time + 1e-9].min())
    (strip,) = section.result.strips
    first = served.events[0]
    assert strip.items[0][0].startswith(f"request {first.request:,} at ")
    assert f"{first.recomputed_token:,} tokens computed again" in strip.items[0][0]
    assert strip.items[-1][0] == f"and {len(schedule.preemptions) - MAX_EVENTS:,} more"
    again = sum(
        int(schedule.stream.prompt_token[lost.request]) + lost.generated_token
        for lost in schedule.preemptions
    )
    said = section.result.sentences["stream-server"]
    assert f"{again:,} tokens computed a second time" in said
    assert model().result.strips == ()


def test_the_load_sweep_is_the_stream_at_each_rate_and_the_knee_lies_on_it() -> None:
    section = model()
    chosen, second = section.result.data.sweeps
    assert isinstance(chosen, Sweep)
    assert chosen.rates_per_s == second.rates_per_s
    assert len(chosen.rates_per_s) == 12
    for i in (0, 5, 11):
        for sweep, budget in ((chosen, 2048), (second, None)):
            schedule = simulate(stream_at(sweep.rates_per_s[i]), S, token_budget=budget)
            expected = schedule.goodput_per_s(1.0, 0.2, judge="worst")
            assert section.result.data.targets.curve(sweep)[i] == pytest.approx(expected)
    said = section.result.sentences["goodput"]
    assert "Budget 2,048: nine in ten in time up to 15.1 a second." in said
    assert "No limit: nine in ten in time up to 3.41 a second." in said
    table = section.result.tables["goodput"]
    below = table["share_in_time_2048"][table["arrivals_per_s"] < 15.0]
    assert below.min() >= 0.9
    assert table["share_in_time_2048"][table["arrivals_per_s"] > 15.2].max() < 0.9


def test_a_knee_outside_the_rates_is_told_as_such() -> None:
    generous = model(ttft_target=600_000, itl_target=600_000).result.sentences["goodput"]
    assert "Budget 2,048: nine in ten in time up to 20 a second and beyond." in generous
    strict = model(ttft_target=1).result.sentences["goodput"]
    assert "Budget 2,048: fewer than nine in ten in time even at 1.67 a second." in strict


def test_a_mean_hides_what_the_worst_gap_shows() -> None:
    section = model(itl_target=50, judged_by="mean")
    chosen, whole = section.result.data.sweeps
    knee = section.result.data.targets.knee
    assert knee(whole) == pytest.approx(knee(chosen), rel=0.05)
    section.apply({"itl_target": 200, "judged_by": "worst"})
    assert section.result.data.targets.knee(whole) < section.result.data.targets.knee(chosen) / 4


class Held:
    """A runner that holds jobs, as a busy server does."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job | None) -> None:
        self.jobs = [] if job is None else [job]


@pytest.fixture
def busy() -> tuple[Scheduling, Held]:
    section, held = model(), Held()
    section.runner = held
    return section, held


def test_a_budget_moves_prompt_and_stream_at_once_and_the_load_sweep_by_a_job(
    busy: tuple[Scheduling, Held],
) -> None:
    section, held = busy
    before = section.result
    section.apply({"budget": 512})
    assert shown(section, "ttft") == "240 ms"
    assert section.result.data.served[0].budget == 512
    assert section.result.data.sweeps is before.data.sweeps
    section.job_done(held.jobs[0].work(lambda _: True))
    assert section.result.data.sweeps[0].budget == 512
    assert shown(section, "ttft") == "240 ms"


def test_a_budget_that_was_there_before_needs_no_job(busy: tuple[Scheduling, Held]) -> None:
    section, held = busy
    start = section.result.data.sweeps
    section.apply({"budget": 512})
    section.job_done(held.jobs[0].work(lambda _: True))
    there = section.result.data.sweeps
    section.apply({"budget": 2048})
    assert section.result.data.sweeps is start
    section.apply({"budget": 512})
    assert section.result.data.sweeps is there
    assert section.result.then is None


def test_another_model_moves_the_prompt_at_once_and_the_last_stream_stays(
    busy: tuple[Scheduling, Held],
) -> None:
    """Both budgets' runs are new then, at every position of a slider that moves all sections."""
    section, held = busy
    before = section.result
    section.scenario = Scenario(MODELS["14B"], DEVICES["A100"])
    assert shown(section, "ttft") != before.readout("ttft").number
    assert section.result.data.served is before.data.served
    assert section.result.readout("goodput") == before.readout("goodput")
    section.job_done(held.jobs[0].work(lambda _: True))
    assert section.result.data.served is not before.data.served


def test_an_arrival_rate_moves_the_stream_at_once_and_needs_no_job(
    busy: tuple[Scheduling, Held],
) -> None:
    section, held = busy
    section.apply({"arrivals": 11.0})
    assert held.jobs == []
    assert section.result.data.served[0].rate_per_s == pytest.approx(11.0, rel=2e-3)
    section.apply({"ttft_target": 100})
    assert held.jobs == []
    assert section.result.data.targets.ttft_s == 0.1


def test_a_long_stream_is_a_job_that_reports_and_stops(busy: tuple[Scheduling, Held]) -> None:
    section, held = busy
    before = section.result
    section.apply({"load_requests": 20_000, "itl_target": 50})
    assert section.result.data.served is before.data.served
    assert section.result.data.targets == before.data.targets
    (job,) = held.jobs
    assert "20,000 requests" in job.text
    fractions: list[float] = []

    def report(fraction: float) -> bool:
        fractions.append(fraction)
        return True

    result = job.work(report)
    assert result.data.served[0].requests == 20_000
    assert result.data.targets.itl_s == 0.05
    assert fractions == sorted(fractions)
    assert fractions[0] < 0.2
    assert fractions[-1] == pytest.approx(1.0)
    for stop_after in (0, 3, 30):
        left = iter(range(stop_after))
        assert job.work(lambda _, left=left: next(left, None) is not None) is None


def test_a_long_stream_of_a_link_waits_for_the_card() -> None:
    jobs: list[Job | None] = []
    section = Scheduling(S, active=False)
    section.apply({"load_requests": 1_000_000})
    section.runner = jobs.append
    section.active = True
    assert section.result.data.served[0].requests == 1_000
    assert "1,000,000 requests" in jobs[-1].text


def dropped(text: str = CSV, name: str = "mine.csv") -> Scheduling:
    view = SchedulingView(model())
    view.receive({"file": {"key": "stream_file", "name": name, "text": text}})
    return view.model


def test_a_dropped_trace_is_the_stream_from_then_on() -> None:
    section = dropped()
    schedule = simulate(read_trace(CSV)[0], S, token_budget=2048)
    served = section.result.data.served[0]
    np.testing.assert_allclose(served.latencies.ttft_s, schedule.ttft_s)
    assert section.control_state()["stream_file"] == {"name": "mine.csv"}
    assert "4 requests read from CSV." in section.result.notes
    assert any("Recognised TIMESTAMP as arrival" in note for note in section.result.notes)
    assert "read_trace(open('mine.csv').read())" in section.snippet()
    assert "at_rate" not in section.snippet()


def test_a_trace_can_be_paced_and_left_again() -> None:
    section = dropped()
    assert section.control_options()["stream_from"] == {
        AS_GIVEN: "mine.csv, as it came",
        PACED: "mine.csv, at the rate above",
        DRAWN: "drawn as set here",
    }
    section.apply({"stream_from": PACED, "arrivals": 3.0})
    schedule = simulate(read_trace(CSV)[0].at_rate(3.0), S, token_budget=2048)
    np.testing.assert_allclose(section.result.data.served[0].latencies.ttft_s, schedule.ttft_s)
    section.apply({"stream_from": DRAWN, "arrivals": 8.0})
    assert section.result.data.served[0].requests == 1000
    assert section.result.notes == ()


def test_dropping_a_trace_chooses_it() -> None:
    view = SchedulingView(dropped())
    view.receive({"set": {"stream_from": DRAWN}})
    again = {"key": "stream_file", "name": "again.csv", "text": CSV}
    view.receive({"file": again})
    assert view.model.stream_from == AS_GIVEN
    assert view.model.result.data.plan.source.name == "again.csv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            CSV.replace("1200", "many"),
            "line 3, column ContextTokens: must be a whole number in [1, 10,000,000], got 'many'",
        ),
        (CSV.replace("1200,30", "1200,-3"), "line 3, column GeneratedTokens"),
        (CSV + "5,5\n", "line 6 has 2 columns, but the header has 3"),
        ("", "the trace is empty"),
        ("a,b\n1,2\n", "no arrival column"),
    ],
)
def test_a_bad_row_is_refused_by_line_and_column_and_the_stream_stays(text: str, said: str) -> None:
    view = SchedulingView(model())
    view.receive({"file": {"key": "stream_file", "name": "good.csv", "text": CSV}})
    before = view.model.result
    told: list[dict[str, Any]] = []
    view.card._send_msg = told.append
    view.receive({"file": {"key": "stream_file", "name": "bad.csv", "text": text}})
    problems = [message["problem"] for message in told if "problem" in message]
    assert len(problems) == 1
    assert problems[0].startswith("bad.csv was not taken: ")
    assert said in problems[0]
    assert view.model.result.data.plan.source.name == "good.csv"
    view.receive({"set": {"arrivals": 9.0}})
    assert view.model.result.data.served is before.data.served


def test_a_trace_given_up_leaves_the_stream_as_it_was(busy: tuple[Scheduling, Held]) -> None:
    section, held = busy
    before = section.result
    section.take_file("stream_file", "mine.csv", CSV)
    section.refresh()
    assert "mine.csv" in held.jobs[0].text
    section.job_given_up()
    section.apply({"ttft_target": 500})
    assert held.jobs == []
    assert section.result.data.served is before.data.served
    assert list(section.control_options()["stream_from"]) == [AS_GIVEN]


def test_a_trace_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(ValueError, match=r"big.csv has 10.0 MB; at most 10 MB are read"):
        model().take_file("stream_file", "big.csv", "x" * (FILE_LIMIT + 1))


def test_a_trace_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(text: str, *, source: str) -> Any:
        read.append(source)
        return read_trace(text, source=source)

    monkeypatch.setattr("widgets.scheduling_stream.read_trace", counting)
    dropped().apply({"budget": 512})
    assert read == ["mine.csv"]


def test_a_long_file_name_is_cut() -> None:
    section = dropped(name="\x1b" + "n" * 100 + ".csv")
    assert len(section.control_state()["stream_file"]["name"]) == 40


def test_a_trace_whose_requests_all_come_at_once_has_no_sweep() -> None:
    section = dropped("timestamp,input_length,output_length\n5,100,4\n5,200,6\n")
    assert isinstance(section.result.data.served[0], Served)
    assert isinstance(section.result.data.sweeps[0], Refused)
    assert "all requests arrive at once" in section.result.sentences["goodput"]
    assert shown(section, "preemptions") == "0"


def test_answers_of_one_token_have_no_gaps() -> None:
    section = dropped("timestamp,input_length,output_length\n0,100,1\n900,200,1\n")
    assert shown(section, "stream_itl") == "none"
    assert "no gap" in section.result.sentences["stream-gaps"]
    view = SchedulingView(section)
    view.build()
    assert view.chart("stream-gaps").sources["chosen"].data["x"] == []


def test_a_model_that_does_not_fit_still_answers_for_the_prompt() -> None:
    section = Scheduling(Scenario(MODELS["70B"], DEVICES["A100"]))
    assert shown(section, "goodput") == "none"
    assert (
        "70B does not fit: 140 GB of weights into 72 GB"
        in (section.result.sentences["stream-server"])
    )
    assert shown(section, "steps") == "3"
    view = SchedulingView(section)
    view.build()
    assert view.chart("goodput").sources["chosen"].data["x"] == []


def test_one_budget_may_run_where_the_other_cannot() -> None:
    section = model(chunking=WHOLE)
    refused, ran = section.result.data.served
    assert isinstance(refused, Refused)
    assert isinstance(ran, Served)
    assert "token_budget without chunked prefill is 2,048" in refused.why
    view = SchedulingView(section)
    view.build()
    assert view.chart("stream-gaps").sources["chosen"].data["x"] == []
    assert len(view.chart("stream-gaps").sources["second"].data["x"]) > 40


def test_equal_budgets_are_drawn_and_told_once() -> None:
    section = model(second_budget=2048)
    assert section.result.sentences["stream-gaps"].count("Budget 2,048") == 1
    assert section.result.sentences["goodput"].count("Budget 2,048") == 1
    view = SchedulingView(section)
    view.build()
    assert view.chart("watcher").sources["second"].data["x"] == []
    assert view.chart("goodput").sources["second"].data["x"] == []
    assert view.chart("stream-gaps").sources["second"].data["x"] == []


def test_the_prompts_ttft_is_named_in_the_chart_only_after_the_prediction() -> None:
    view = SchedulingView(model())
    view.build()
    first = view.chart("watcher").sources["first"]
    assert first.data["label"] == []
    view.receive({"answer": "240 ms"})
    assert first.data["label"] == ["TTFT 236 ms"]


def test_a_move_of_the_stream_does_not_draw_the_prompts_charts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = SchedulingView(model())
    view.build()
    drawn: list[str] = []
    for name in ("render_watcher", "render_trade_off", "render_gaps", "render_goodput"):
        monkeypatch.setattr(
            f"widgets.scheduling_view.{name}", lambda *_, name=name, **__: drawn.append(name)
        )
    view.receive({"set": {"arrivals": 5.0}})
    assert drawn == ["render_gaps", "render_goodput"]
    view.receive({"set": {"decoding": 40}})
    assert drawn[2:] == ["render_watcher", "render_trade_off"]


def test_the_prediction_is_computed() -> None:
    prediction = model().prediction()
    assert prediction.answer == "240 ms"
    assert prediction.options == ("29.3 ms", "240 ms", "452 ms", "2.03 s")
    assert "9 pieces" in prediction.because
    assert "535 ms" in prediction.because


@pytest.fixture
def session() -> Callable[[str], Session]:
    return lambda query: Session(section_classes(), query, "light")


def test_a_link_restores_the_section_and_only_says_what_differs(
    session: Callable[[str], Session],
) -> None:
    query = "budget=512&second_budget=2048&arrivals=12.5&chunking=whole&judged_by=mean&load_seed=3"
    page = session(query)
    section = page.bring("scheduling").model
    assert (section.budget, section.arrivals, section.chunking) == (512, 12.5, WHOLE)
    assert dict(pair.split("=") for pair in page.query().split("&")) == dict(
        pair.split("=") for pair in query.split("&")
    )
    assert session("").query() == ""
    assert session(f"budget={NO_LIMIT}").models["scheduling"].budget == NO_LIMIT


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("budget=63", "Token budget must be from 64 to 1,048,576 (no limit), got 63"),
        ("budget=lots", "it is not a number"),
        ("chunking=halves", "choose one of chunks, whole"),
        ("stream_from=paced", "Nothing on this page is called “stream_from”"),
        ("arrivals=0", "Arrivals must be from 0.01 to 1,000, got 0"),
    ],
)
def test_a_bad_link_is_named_and_the_default_stays(
    session: Callable[[str], Session], query: str, said: str
) -> None:
    page = session(query)
    assert said in page.bar.state["notices"][0]
    assert page.models["scheduling"].inputs() == model().inputs()


def test_presets_set_the_scenarios_overhead_too(session: Callable[[str], Session]) -> None:
    page = session("")
    view = page.bring("scheduling")
    view.receive({"preset": "overhead of 2 ms"})
    section = view.model
    assert section.scenario.overhead_s == 0.002
    expected = chunked_prefill(replace(S, overhead_s=0.002), 4096, 32, 2048, 128).ttft_s
    assert section.result.readout("ttft").steps[-1].value == pytest.approx(expected)
    view.receive({"preset": "long document in a busy chat"})
    assert section.scenario.overhead_s == 0
    assert section.result.data.served[0].preemptions > 0
    assert section.result.data.served[0].budget == 2048
    view.receive({"preset": "reference case"})
    assert section.inputs() == model().inputs()


@pytest.mark.parametrize(
    "sentence",
    [
        "a step takes 12.3 ms, and it waits for memory. Put a prompt of 4,096 tokens into it and "
        "it takes 226 ms",
        "one gap between two tokens that is 18.4× as long as the others",
        "none 1 226 ms 18.4× 226 ms 2,048 3 115 ms 9.38× 236 ms 512 9 29.3 ms 2.38× 240 ms "
        "128 43 12.6 ms 1.02× 535 ms",
        "from 226 ms to 29.3 ms, and the first token comes 14.0 ms later",
        "A chunk of 96 tokens has 6.68 ms of arithmetic in it, but its step takes 12.3 ms",
        "a budget of 128 needs 621 ms, while 2,048 needs 242 ms: 43 steps",
        "The mean gap is 15.1 ms with a budget of 2,048 and 15.4 ms with none.",
        "The longest gap is 146 ms with it and 908 ms without.",
        "One gap in a hundred is over 109 ms with the budget and over 153 ms without.",
        "the knee is at 15.1 requests a second, and with none at 3.41.",
        "the knees are 12.1 and 11.8.",
    ],
)
def test_section_5_prints(sentence: str) -> None:
    assert sentence in rendered("scheduling")


def test_no_number_of_the_model_is_typed_into_the_prose() -> None:
    text = (Path(__file__).parents[2] / "content" / "05-scheduling.md").read_text("utf-8")
    for figure in ("12.3", "226", "18.4", "236", "115", "240", "29.3", "535", "621", "15.1 ms"):
        assert figure not in text
