"""Section 4 without a browser: its stories, steps, own requests, traces, refusals and prose."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from bokeh.document import Document

from core.devices import DEVICES
from core.models import MODELS
from core.roofline import step_costs
from core.scenario import Scenario
from tests.test_content import rendered
from widgets import paging_trace
from widgets.base import Job, SectionResult
from widgets.page import section_classes
from widgets.paging import MAX_AT_ONCE, Paging
from widgets.paging_picture import MAX_DRAWN, draw
from widgets.paging_shown import END, EXAMPLE
from widgets.paging_view import PagingView
from widgets.session import Session

S = Scenario(MODELS["8B"], DEVICES["A100"])
PROGRAM = json.loads(
    (Path(__file__).parents[1] / "core/data/reference_pool_program.json").read_text()
)


def numbers(model: Paging, *keys: str) -> list[str]:
    return [model.result.readout(key).number for key in keys]


def preset(name: str) -> Paging:
    model = Paging(S)
    model.apply(next(p.values for p in model.presets if p.name == name))
    return model


def built(model: Paging) -> PagingView:
    view = PagingView(model)
    view.build()
    return view


def data(view: PagingView, chart: str, source: str) -> dict[str, list[Any]]:
    return dict(view.chart(chart).sources[source].data)


@pytest.mark.parametrize(
    ("name", "hits", "evictions", "in_use", "tail", "skipped"),
    [
        ("a shared prompt", "3", "0", "7", "4", "12"),
        ("reuse after release", "7", "0", "5", "1", "28"),
        ("churn", "7", "5", "16", "0", "28"),
        ("the first token differs", "0", "0", "10", "4", "0"),
        ("salted tenants", "4", "0", "11", "3", "16"),
    ],
)
def test_the_presets_end_as_the_design_says(
    name: str, hits: str, evictions: str, in_use: str, tail: str, skipped: str
) -> None:
    """Tails by hand: 19 tokens leave 1 of 20 slots, 17 leave 3."""
    got = numbers(preset(name), "hits", "evictions", "in_use", "tail", "skipped")
    assert got == [hits, evictions, in_use, tail, skipped]


def test_a_shared_prompt_says_that_three_blocks_are_shared() -> None:
    model = Paging(S)
    assert model.result.summary == (
        "7 of 16 blocks are in use, 3 of them shared. Of 36 tokens asked for so far, 12 were "
        "found and need no prefill."
    )
    assert model.result.sentences["tables"] == "A: 0 1 2 3 4; B: 0 1 2 5 6."
    model.apply({"pool_step": 3})
    assert model.result.summary == (
        "1 of 16 blocks is in use, 0 of them shared. Of 19 tokens asked for so far, 0 were "
        "found and need no prefill."
    )


def test_the_charts_draw_the_reference_programs_tables_and_queue() -> None:
    view = built(preset("churn"))
    entries = data(view, "tables", "entries")
    flat = [block for table in PROGRAM["churn_tables"] for block in table]
    assert [int(block) for block in entries["id"]] == flat
    assert data(view, "tables", "names")["name"] == ["D", "E", "F", "G"]
    assert data(view, "queue", "ends")["text"] == ["no block is free"]
    view.model.apply({"pool_step": 30})  # both have ended and C has not begun
    blocks = data(view, "pool", "blocks")
    places = {
        (y, x): int(i) for i, x, y in zip(*(blocks[k] for k in ("id", "qx", "qy")), strict=True)
    }
    assert [places[place] for place in sorted(places)] == PROGRAM["free_queue_after_release"]


def test_a_step_back_is_the_step_before() -> None:
    model = preset("churn")
    last = len(model.result.data.story.playback)
    pictures = []
    for step in range(last + 1):
        model.apply({"pool_step": step})
        pictures.append(model.result.data.picture.state)
    for step in reversed(range(last + 1)):
        model.apply({"pool_step": step})
        assert model.result.data.picture.state == pictures[step]
    assert pictures[0].in_use == 0


def test_each_step_says_what_happened_and_why() -> None:
    model = preset("churn")
    said = []
    for step in range(len(model.result.data.story.playback) + 1):
        model.apply({"pool_step": step})
        said.append(model.control_state()["pool_step"]["said"])
    assert said[0] == "Nothing has happened yet: every block is free and empty."
    assert said[1] == "No block holds tokens 0–3 of A after this prefix, so the look-up stops."
    assert (
        "Block 3, the least recently used, is evicted for G: it held tokens 12–15 of an earlier "
        "prompt." in said
    )


def test_the_story_strip_marks_the_present_operation() -> None:
    model = preset("reuse after release")
    model.apply({"pool_step": 0})
    assert {kind for _, kind in model.result.strips[0].items} == {"next"}
    model.apply({"pool_step": 25})
    kinds = dict(model.result.strips[0].items)
    assert kinds == {
        "A 19 tokens": "past",
        "B 17 tokens": "past",
        "release A": "now",
        "release B": "next",
        "C 19 tokens": "next",
    }
    long = preset("forty requests")
    long.apply({"pool_step": 500})
    items = long.result.strips[0].items
    assert len(items) == 15
    assert items[0] == ("…", "past")
    assert items[-1] == ("…", "next")
    assert [kind for _, kind in items].count("now") == 1


def test_the_end_stays_in_view_when_the_run_changes_and_a_step_beyond_it_is_said() -> None:
    model = Paging(S)
    model.apply({"pool_step": 20})
    assert model.pool_step == END
    model.apply({"block_size": 2})
    state = model.control_state()["pool_step"]
    assert state["value"] == state["max"] == len(model.result.data.story.playback)
    assert model.result.notes == ()
    model.apply({"pool_step": 30})
    model.apply({"block_size": 8})
    state = model.control_state()["pool_step"]
    assert state["value"] == state["max"] < 30
    assert model.result.notes == (
        f"The story has {state['max']} steps now; step 30 is shown as its end.",
    )


def test_tokens_fill_a_partial_block_from_the_left_and_its_rest_is_hatched() -> None:
    view = built(Paging(S))
    tails = data(view, "pool", "tails")
    ends = zip(tails["left"], tails["right"], strict=True)
    widths = [right - left for left, right in ends]
    assert widths == [pytest.approx(0.92 / 4), pytest.approx(0.92 * 3 / 4)]
    view.model.apply({"pool_step": 3})
    assert data(view, "pool", "tails")["left"] == []


def test_the_block_of_the_step_is_framed_wherever_it_stands() -> None:
    view = built(preset("reuse after release"))
    playback = view.model.result.data.story.playback
    seen = set()
    for step in range(1, len(playback) + 1):
        view.model.apply({"pool_step": step})
        event, state = playback.event(step), playback.state(step)
        framed = {c: bool(data(view, c, "now")["x"]) for c in ("pool", "queue", "tables")}
        assert framed["pool"] == (event.block is not None)
        assert framed["queue"] == (event.block in state.free_queue)
        assert framed["tables"] == (event.block in state.tables.get(event.request, ()))
        seen.add(tuple(framed.values()))
    assert len(seen) >= 3


def test_the_three_charts_share_one_source_so_that_pointing_marks_a_block_in_all() -> None:
    view = built(Paging(S))
    shared = view.chart("pool").sources["blocks"]
    for name in ("pool", "tables", "queue"):
        chart = view.chart(name)
        assert chart.sources["blocks"] is shared
        tiles = [r for r in chart.figure.renderers if r.data_source is shared and r.hover_glyph]
        assert len(tiles) == 1
        (tool,) = chart.figure.tools
        assert tool.renderers == tiles
    blocks = dict(shared.data)
    assert [blocks["who"][i] for i in (0, 3, 5, 7)] == ["A, B", "A", "B", "nobody"]
    assert blocks["holds"][1] == "4 of 4 tokens, cached as tokens 4–7 of a prompt"
    assert blocks["holds"][6] == "1 of 4 tokens, not cached"
    assert blocks["place"][7] == "place 1"
    outline = blocks["txs"][0]
    assert len(outline) == 9
    assert math.isnan(outline[4])


def test_owners_have_a_letter_and_cached_blocks_a_sign_beside_their_colour() -> None:
    blocks = data(built(Paging(S)), "pool", "blocks")
    assert blocks["top"][:7] == ["0 #", "1 #", "2 #", "3 #", "4", "5 #", "6"]
    assert blocks["bottom"][:8] == ["A×2", "A×2", "A×2", "A×1", "A×1", "B×1", "B×1", "×0"]
    assert len(set(blocks["look"])) == 3


def test_an_unchanged_chart_is_not_sent_again() -> None:
    view = built(preset("churn"))
    document = Document()
    document.add_root(view.chart("reserved").figure)
    sent: list[Any] = []
    document.on_change(sent.append)
    view.model.apply({"pool_step": 5})
    assert sent == []
    view.model.apply({"reserve_length": 1_024})
    assert len(sent) == 3, "what is held, what is empty and the words"


def test_what_a_step_says_is_covered_with_the_prediction() -> None:
    view = PagingView(Paging(S))
    assert view.card.state["values"]["pool_step"]["said"] == ""
    view.receive({"answer": "9"})
    assert view.card.state["values"]["pool_step"]["said"].startswith("Block 6 comes from")
    covers = view.model.prediction().covers
    assert {"pool", "tables", "queue", "in_use", "summary"} <= set(covers)


def test_the_predictions_answer_is_the_pools() -> None:
    prediction = Paging(S).prediction()
    assert prediction.answer == "7"
    assert "10 entries need 7 blocks" in prediction.because


def test_a_readers_requests_are_run_as_soon_as_they_are_given() -> None:
    model = Paging(S)
    text = "A: one two three four five\nB: one two three four six\nB + seven\nrelease A"
    model.apply({"pool_requests": text})
    assert model.pool_story == "yours"
    assert numbers(model, "hits", "in_use", "tail") == ["1", "2", "2"]
    assert model.result.sentences["tables"] == "B: 0 2."
    model.apply({"pool_requests": EXAMPLE})
    assert numbers(model, "hits", "evictions") == ["2", "0"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"block_size": 0}, "Block size must be from 1 to 512, got 0"),
        ({"pool_blocks": 4}, "the prompt of A is longer than the pool: 19 tokens need 5 blocks"),
        ({"pool_requests": "A: " + "x " * 65}, "line 1: the prompt of A is longer than the pool"),
        ({"pool_requests": f"A salt={'s' * 10_240}: x"}, "line 1: the salt must be .* got 10,240"),
        ({"pool_requests": "A: x\nrelease A\nrelease A"}, "line 3: A cannot be released"),
        ({"pool_requests": "A: x\nrelease A\n" * 150}, "line 201: there must be at most 200"),
        ({"pool_requests": "A: " + "word " * 1_000}, "may have at most 4,000 characters, got 5,0"),
        ({"pool_requests": "x" * 10_000_000}, "may have at most 4,000 characters, got 10,000,000"),
        ({"pool_story": "nonsense"}, "Story must be one of shared, reuse"),
        ({"shared_prefix": 58}, "the prompt of A is longer than the pool: 65 tokens need 17"),
    ],
)
def test_a_refusal_names_the_reason_and_nothing_changes(values: dict[str, Any], said: str) -> None:
    model = Paging(S)
    before, result = model.inputs(), model.result
    with pytest.raises(ValueError, match=said):
        model.apply(values)
    assert model.inputs() == before
    assert model.result is result


def test_a_prompt_that_is_refused_for_now_is_told_as_an_event() -> None:
    model = Paging(S)
    model.apply({"pool_blocks": 6})
    assert model.control_state()["pool_step"]["said"] == (
        "B is refused: 2 new blocks needed, 1 free; nothing changes."
    )
    model.apply({"pool_story": "reuse"})
    assert "“release B” comes to nothing" in model.result.notes[0]


def open_link(query: str) -> Session:
    return Session({"paged-caches": section_classes()["paged-caches"]}, query, "light")


def test_a_link_whose_parts_go_together_is_taken_though_none_goes_alone() -> None:
    session = open_link("?pool_blocks=40&shared_prefix=100&pool_story=reuse&pool_step=3")
    model = session.bring("paged-caches").model
    assert session.bar.state["notices"] == []
    assert (model.pool_blocks, model.shared_prefix, model.pool_step) == (40, 100, 3)
    assert "pool_step=3" in session.query()


def test_a_link_whose_parts_do_not_go_together_is_named_and_the_page_opens() -> None:
    session = open_link("?pool_blocks=2&pool_rules=today")
    (notice,) = session.bar.state["notices"]
    assert "A part of the link was left out: the prompt of A is longer than the pool" in notice
    assert session.bring("paged-caches").model.pool_blocks == 16


def test_a_readers_requests_travel_in_a_link() -> None:
    session = open_link("")
    session.bring("paged-caches").receive({"set": {"pool_requests": "A: ä b\nA + &c=1"}})
    again = open_link(session.query())
    assert again.bar.state["notices"] == []
    assert again.bring("paged-caches").model.pool_requests == "A: ä b\nA + &c=1"
    bad = open_link("?pool_requests=A%3A+x%0Arelease+B")
    assert "line 2: B cannot be released" in bad.bar.state["notices"][0]


def test_todays_rules_put_tails_in_front_and_compute_the_last_token() -> None:
    model = preset("reuse after release")
    model.apply({"pool_step": 30})
    model.apply({"pool_rules": "today"})
    queue = model.result.data.picture.state.free_queue
    assert queue[:2] == (6, 4)
    assert model.result.data.story.run.rules.name == "today's vLLM"


def test_a_large_pool_is_counted_and_not_drawn() -> None:
    view = built(preset("churn"))
    model = view.model
    model.apply({"pool_blocks": MAX_DRAWN})
    assert len(data(view, "pool", "blocks")["id"]) == MAX_DRAWN
    model.apply({"pool_blocks": 100_000})
    blocks = data(view, "pool", "blocks")
    assert len(blocks["id"]) < 40
    assert all(map(math.isnan, blocks["gx"]))
    assert data(view, "pool", "bar_names")["text"] == [
        "held by one: 16",
        "shared: 0",
        "free and cached: 5",
        "free and empty: 99,979",
    ]
    assert len(data(view, "pool", "bars")["left"]) == 3
    assert "too many to draw one by one" in model.result.sentences["pool"]
    assert data(view, "queue", "ends")["text"][2] == "… 99,968 more …"
    assert numbers(model, "in_use", "evictions") == ["16", "0"]
    assert list(model.result.tables["pool"]["blocks"]) == [16, 0, 5, 99_979]


def test_counts_of_states_make_up_the_pool() -> None:
    for name in ("churn", "forty requests"):
        model = preset(name)
        for step in range(0, len(model.result.data.story.playback), 7):
            picture = draw(model.result.data.story, step)
            assert sum(picture.counts.values()) == len(picture.state.ref_counts)
            held = picture.counts["held by one"] + picture.counts["shared"]
            assert held == picture.state.in_use


def test_long_tables_wrap_and_what_finds_no_room_is_counted() -> None:
    model = Paging(S)
    words = " ".join(f"w{i}" for i in range(40))
    model.apply({"pool_blocks": 64, "block_size": 1, "pool_requests": f"A: {words}\nB: z"})
    view = built(model)
    entries = data(view, "tables", "entries")
    assert (max(entries["x"]), max(entries["y"])) == (16.5, 3.5)
    many = "\n".join(f"{c}: {c}" for c in "ABCDEFGHIJKLMNOP")
    model.apply({"pool_requests": many})
    assert data(view, "tables", "names")["name"][-1] == "and 5 more tables"
    assert len(data(view, "tables", "entries")["id"]) == 11
    model.apply({"pool_requests": "A: " + " ".join(map(str, range(200))), "pool_blocks": 1_000})
    assert data(view, "tables", "names")["name"] == ["A", "… 112 more blocks"]


def test_the_prefill_saved_is_one_step_for_each_request_by_the_roofline() -> None:
    model = preset("reuse after release")
    model.apply({"shared_prefix": 2_048, "block_size": 16, "pool_blocks": 1_000})
    saved = model.result.readout("saved").steps[-1].value
    # B finds 128 full blocks of 16, C the same and one more.
    expected = sum(float(step_costs(S, prefill_tokens=n).time_s) for n in (128 * 16, 128 * 16))
    assert saved == pytest.approx(expected)
    assert numbers(preset("the first token differs"), "saved") == ["none"]


def test_sixteen_are_reserved_and_118_paged_and_kwons_figures_stand_beside() -> None:
    view = built(Paging(S))
    names = data(view, "reserved", "names")["text"]
    assert names[:2] == [
        "reserved 2,048: 16 sequences, 15.3 %",
        "blocks of 16: 118 sequences, 97.3 %",
    ]
    assert names[3:] == [
        "Orca (Max), measured, 20.4 %",
        "Orca (Pow2), recalled, 26.8 %",
        "Orca (Oracle), measured, 38.2 %",
        "vLLM, recalled, 96.3 %",
    ]
    assert "stops at 64 because it draws no more" in view.model.result.sentences["reserved"]
    assert numbers(Paging(S, block_size=16), "gain") == ["7.38"]


MOONCAKE = """arrival_ms,prompt,output,hash_ids
0,1024,10,1 2
10,512,10,3
20,1500,10,1 2 4
"""
JSONL = '{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [7]}\n' * 2


def test_until_a_file_is_dropped_the_trace_says_that_it_is_not_real() -> None:
    sentence = Paging(S).result.sentences["reuse"]
    assert sentence.startswith("Not a real trace: 300 synthetic conversations drawn from seed 9")


def test_a_dropped_trace_is_measured() -> None:
    """By hand: ids 1 and 2 come back after one other id, 1,024 of 3,036 prompt tokens."""
    view = built(Paging(S))
    view.receive({"file": {"key": "trace_file", "name": "mine.csv", "text": MOONCAKE}})
    model = view.model
    assert model.result.readout("rate").steps[-1].value == pytest.approx(100 * 1024 / 3036)
    curve = data(view, "reuse", "curve")
    assert dict(zip(curve["x"], curve["y"], strict=True)) == {
        1: 0,
        2: 0,
        3: pytest.approx(100 * 1024 / 3036),
        4: pytest.approx(100 * 1024 / 3036),
    }
    assert model.result.sentences["reuse"].startswith("mine.csv: 3 requests with 4 different")
    assert "3 requests read from CSV." in model.result.notes[-1]
    assert model.control_state()["trace_file"] == {"name": "mine.csv"}
    assert "read_trace(open('mine.csv'" in model.snippet()
    view.receive({"file": {"key": "trace_file", "name": "mine.jsonl", "text": JSONL}})
    assert numbers(model, "rate") == ["50"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "bad.csv was not taken: the trace is empty"),
        ("arrival_ms,prompt,output\n0,5,5\n", "it has no hash_ids"),
        ("arrival_ms,prompt,output,hash_ids\n0,5,5,\n", "it has no hash_ids"),
        ("arrival_ms,prompt,output,hash_ids\n0,x,5,1\n", "line 2, column prompt"),
        ("<script>", "bad.csv was not taken: line 1"),
        ("0" * 10_000_001, "bad.csv has 10.0 MB; at most 10 MB can be used"),
    ],
)
def test_a_bad_trace_is_explained_and_the_one_before_stays(text: str, said: str) -> None:
    view = PagingView(Paging(S))
    told: list[Any] = []
    view.card.tell = told.append
    view.receive({"file": {"key": "trace_file", "name": "good.csv", "text": MOONCAKE}})
    view.receive({"file": {"key": "trace_file", "name": "bad.csv", "text": text}})
    assert said in told[-1]["problem"]
    assert view.model.control_state()["trace_file"] == {"name": "good.csv"}
    assert view.model.result.sentences["reuse"].startswith("good.csv")


def large_trace(rows: int = 25_000) -> str:
    lines = [f"{i},512,1,{i % 50}" for i in range(rows)]
    return "arrival_ms,prompt,output,hash_ids\n" + "\n".join(lines)


class Held:
    """A runner that keeps the job instead of doing it."""

    job: Job | None = None

    def __call__(self, job: Job | None) -> None:
        self.job = job


def test_a_long_trace_is_read_behind_a_bar_while_steps_go_on() -> None:
    model = Paging(S)
    held = model.runner = Held()
    assert len(large_trace()) > MAX_AT_ONCE
    model.take_file("trace_file", "long.csv", large_trace())
    model.refresh()
    assert held.job is not None
    assert held.job.text == "Reading long.csv"
    model.apply({"pool_step": 3})
    assert model.result.data.step == 3
    assert model.result.sentences["reuse"].startswith("Not a real trace")
    done = held.job.work(lambda _: True)
    assert isinstance(done, SectionResult)
    model.job_done(done)
    assert model.result.sentences["reuse"].startswith("long.csv: 25,000 requests")
    assert numbers(model, "rate") == ["99.8"]
    model.apply({"pool_step": 4})
    assert held.job is None
    assert model.result.sentences["reuse"].startswith("long.csv")


def test_a_long_trace_that_is_given_up_or_wrong_leaves_the_one_before() -> None:
    model = Paging(S)
    held = model.runner = Held()
    model.take_file("trace_file", "long.csv", large_trace())
    model.refresh()
    assert held.job is not None
    assert held.job.work(lambda _: False) is None
    model.job_given_up()
    model.apply({"pool_step": 3})
    assert held.job is None
    model.take_file("trace_file", "wrong.csv", large_trace() + "\n1,2,3")
    model.refresh()
    with pytest.raises(ValueError, match=r"wrong.csv was not taken: line 25002"):
        held.job.work(lambda _: True)
    model.apply({"pool_step": 4})
    assert held.job is None
    assert model.result.sentences["reuse"].startswith("Not a real trace")


def test_a_scenario_without_room_for_a_cache_has_no_hit_rate() -> None:
    model = Paging(Scenario(MODELS["70B"], DEVICES["A100"]))
    assert numbers(model, "rate") == ["none"]
    assert "no cache of tokens fits" in model.result.sentences["reuse"]
    assert data(built(model), "reuse", "marks") == {"x": [], "y": [], "text": []}


def test_the_exact_steps_of_a_trace_give_what_the_curve_gives() -> None:
    reuse = paging_trace.synthetic()
    for size, hits in zip(reuse.curve.capacity_block, reuse.curve.hit_tokens, strict=True):
        assert reuse.hit_tokens(float(size)) == hits
    assert reuse.hit_tokens(0) == 0
    assert reuse.hit_tokens(1e12) == reuse.curve.hit_tokens[-1]


@pytest.mark.parametrize(
    "sentence",
    [
        "Kwon and others found 20.4 % of the cache memory holding tokens",
        "Take 32,768 slots and sequences of 50 to 500 tokens. Reserve 2,048 slots for each: 16 "
        "sequences fit, and 84.7 % of the slots stay empty.",
        "In blocks of 16 tokens 118 fit, and 2.7 % of what they take is empty",
        "prints 64 for the second number. It draws 64 sequences and all of them fit",
        "measured 20.4 % in use where the maximum is reserved, and 38.2 % even where",
        "we recall and have not checked again: 26.8 % where the reservation doubles as needed, "
        "and 96.3 % with paging",
        "in blocks of 4, share 3 blocks and use 7.",
        "the hits go from 3 to 7",
        "as they reach the head, 5 in all, in the order 5, 3, 2, 1, 0.",
        "hits 2 blocks by the document's rules and 1 by today's.",
        "the prefill of 4,096 tokens takes 224 ms. With the first 3,840 of them cached, the "
        "remaining 256 take 14.8 ms",
        "The prefill of 12 tokens takes 8.00 ms",
        "which a lone decode step (8.13 ms) does as well",
    ],
)
def test_the_prose_prints(sentence: str) -> None:
    """Hand-worked or of the reference: 16·10⁹ B over 2·10¹² B/s is 8 ms, the prompt 224 ms."""
    assert sentence in rendered("paged-caches")


def test_no_number_of_the_model_is_typed_into_the_prose() -> None:
    text = (Path(__file__).parents[2] / "content" / "04-paged-caches.md").read_text("utf-8")
    for figure in ("20.4", "38.2", "26.8", "96.3", "84.7", "118", "32,768", "224 ms", "14.8"):
        assert not re.search(rf"(?<![\d.]){re.escape(figure)}", text), figure
