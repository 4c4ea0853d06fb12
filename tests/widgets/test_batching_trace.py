"""Section 3's dropped trace: how it plays, what is said of it, what is refused, and the job."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from core.scheduling import simulate
from tests.widgets.test_batching import HEADER, S, both, built, csv, number
from widgets.base import Job, SectionResult
from widgets.batching import QUICK_REQUESTS, Batching
from widgets.batching_trace import MAX_FILE_BYTE, QUICK_CHARACTERS


def test_a_dropped_trace_plays_in_both_policies_and_says_what_was_recognised() -> None:
    model = Batching(S)
    model.take_file("batch_trace", "mine.csv", csv(500))
    played = model.result.data.played
    assert len(played.stream) == 500
    assert model.played == "trace"
    assert "500 requests through 8 slots" in model.result.summary
    said = " ".join(model.result.notes)
    assert "mine.csv plays. 500 requests read from CSV. Recognised TIMESTAMP as arrival" in said
    assert "One step stands for 8.0" in said
    assert model.control_state()["batch_trace"]["name"] == "mine.csv"
    model.apply({"clock": "ms"})
    timed = simulate(
        model.result.data.trace.stream, S, token_budget=None, policy="static", max_sequences=8
    )
    assert np.array_equal(both(model)[0].finish, timed.log.finish)


def test_the_presets_bring_the_drawn_stream_back_and_the_trace_stays_at_hand() -> None:
    model = Batching(S)
    model.take_file("batch_trace", "mine.csv", csv(30))
    model.apply(model.presets[0].values)
    assert number(model, "steps") == "343 → 216"
    model.apply({"played": "trace"})
    assert "30 requests through" in model.result.summary


def test_jsonl_and_unsorted_rows_are_taken_and_said() -> None:
    rows = [
        {"timestamp": 3000, "input_length": 50, "output_length": 4},
        {"timestamp": 0, "input_length": 60, "output_length": 5},
    ]
    model = Batching(S)
    model.take_file("batch_trace", "m.jsonl", "\n".join(map(json.dumps, rows)))
    said = " ".join(model.result.notes)
    assert "read from JSONL" in said
    assert "Rows that came after a later one: 1; all have been sorted" in said
    assert model.result.data.trace.stream.arrival.tolist() == [0, 3.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            HEADER + "2023-11-16 18:00:00,10,5\n2023-11-16 18:00:01,10,minus",
            "bad.csv was not taken: line 3, column GeneratedTokens: must be a whole number",
        ),
        ("", "bad.csv was not taken: the trace is empty"),
        ("a,b,c\n1,2,3", "bad.csv was not taken: line 1: no arrival column"),
        ("x" * (MAX_FILE_BYTE + 1), "bad.csv has 10.0 MB; at most 10 MB can be used"),
    ],
)
def test_a_bad_file_is_refused_in_words_and_nothing_changes(text: str, said: str) -> None:
    view = built(Batching(S))
    told: list[dict[str, Any]] = []
    view.card._send_msg = told.append
    before, key = view.model.result, view.model.state_key()
    view.receive({"file": {"key": "batch_trace", "name": "bad.csv", "text": text}})
    (problem,) = [message["problem"] for message in told if "problem" in message]
    assert said in problem
    assert view.model.result is before
    assert view.model.state_key() == key
    assert view.model.played == "drawn"


def test_a_bad_row_deep_in_a_large_file_is_refused_from_the_job() -> None:
    view = built(Batching(S))
    told: list[dict[str, Any]] = []
    view.card._send_msg = told.append
    before, key = view.model.result, view.model.state_key()
    text = csv(9_000) + "\n2023-11-16 19:00:00,10,-3"
    assert len(text) > QUICK_CHARACTERS
    view.receive({"file": {"key": "batch_trace", "name": "deep.csv", "text": text}})
    (problem,) = [message["problem"] for message in told if "problem" in message]
    assert "deep.csv was not taken: line 9002, column GeneratedTokens" in problem
    assert view.model.result is before
    assert view.model.state_key() == key


def captured(model: Batching) -> list[Job | None]:
    """The jobs that the model hands to its runner from now on; they are not run."""
    jobs: list[Job | None] = []
    model.runner = jobs.append
    return jobs


def test_thousands_of_requests_are_a_job_with_progress_and_the_last_result_stays() -> None:
    model = Batching(S)
    before, jobs = model.result, captured(model)
    model.apply({"stream_requests": QUICK_REQUESTS})
    assert model.result is not before
    before = model.result
    jobs.clear()
    model.apply({"stream_requests": 6_000})
    assert model.result is before
    (job,) = jobs
    assert job is not None
    assert "6,000 requests" in job.text
    told: list[float] = []
    result = job.work(lambda fraction: told.append(fraction) or True)
    assert isinstance(result, SectionResult)
    assert told == sorted(told)
    assert 0 <= told[0] <= 0.5 < told[-1] <= 1
    assert job.work(lambda _: False) is None, "a job that nobody wants any more has no result"
    model.job_done(result)
    assert "6,000 requests through" in model.result.summary


def test_a_large_trace_is_read_in_the_job_and_taken_over_with_its_result() -> None:
    model = Batching(S)
    before, jobs = model.result, captured(model)
    model.take_file("batch_trace", "large.csv", csv(9_000, gap_ms=300))
    model.refresh()
    assert model.result is before
    assert model.played == "drawn"
    assert jobs[-1] is not None
    result = jobs[-1].work(lambda _: True)
    assert result is not None
    model.job_done(result)
    assert model.played == "trace"
    assert model.result is result
    count = len(jobs)
    model.refresh()
    assert len(jobs) == count, "nothing is left to compute"


def test_a_slider_moved_meanwhile_reads_the_file_again_and_a_cancel_forgets_it() -> None:
    view = built(Batching(S))
    model = view.model
    jobs = captured(model)
    text = csv(9_000, gap_ms=300)
    view.receive({"file": {"key": "batch_trace", "name": "large.csv", "text": text}})
    view.receive({"set": {"slots": 16}})
    texts = [job.text for job in jobs if job is not None]
    assert texts == ["Reading large.csv and playing it"] * 2
    view.receive({"cancel": True})
    model.refresh()
    assert number(model, "steps") == "241 → 170"
    assert model.played == "drawn"
