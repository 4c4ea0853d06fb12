"""Trace files: formats, units, order, and what is refused by line and column."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import trace_tables
from core.traces import read_trace

HERE = Path(__file__).parent
SHARED = HERE.parents[1].parent / "shared" / "data"
STATISTICS = {
    row.pop("sample"): row
    for row in csv.DictReader((HERE / "data" / "trace_sample_stats.csv").read_text().splitlines())
}
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
2023-11-16 18:15:51.3929080,91,16
"""
MOONCAKE = """{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 250, "input_length": 7322, "output_length": 490, "hash_ids": [0, 14]}

{"timestamp": 3000, "input_length": 512, "output_length": 7, "hash_ids": []}
"""


@pytest.mark.parametrize("sample", STATISTICS)
def test_the_statistics_of_public_traces_come_out(sample):
    path = SHARED / sample
    if not path.exists():
        pytest.skip("the public traces are not part of the project; they lie beside it where known")
    stream, notes = read_trace(path.read_bytes())
    published = STATISTICS[sample]
    measured = dict(stream.statistics())
    measured |= {"duration_s": measured.pop("duration"), "rate_per_s": measured.pop("rate")}
    assert set(measured) == set(published)
    for name, text in published.items():
        digits = len(text.partition(".")[2])
        assert measured[name] == pytest.approx(float(text), abs=0.5001 * 10.0**-digits), name
    assert notes.out_of_order == 0
    assert (stream.hash_ids is not None) == ("mooncake" in sample)


def test_azure_dates_are_read_with_their_fractions():
    stream, notes = read_trace(AZURE)
    assert stream.arrival == pytest.approx([0, 4.314579, 4.541877, 4.712318], abs=2e-6)
    assert stream.prompt_token.tolist() == [374, 396, 879, 91]
    assert stream.output_token.tolist() == [44, 109, 55, 16]
    assert stream.unit == "s"
    assert notes.sentences[:2] == (
        "4 requests read from CSV.",
        "Recognised TIMESTAMP as arrival, ContextTokens as prompt and GeneratedTokens as output.",
    )
    assert notes.unit == "dates"


def test_dates_with_a_time_zone_count_the_zone():
    text = (
        "timestamp,prompt,output\n2024-05-10T00:00:00+00:00,1,1\n2024-05-10 03:00:01.5+02:00,1,1\n"
    )
    assert read_trace(text)[0].arrival.tolist() == [0, 3601.5]


def test_mooncake_lines_are_read_in_milliseconds_with_their_block_ids():
    stream, notes = read_trace(MOONCAKE)
    assert stream.arrival.tolist() == [0, 0.25, 3.0]
    assert stream.hash_ids == ((0, 1, 2), (0, 14), ())
    assert (notes.form, notes.unit, notes.has_hash_ids) == ("JSONL", "milliseconds", True)
    assert "count them" in notes.sentences[2]


def test_trimmed_headers_say_their_unit_and_keep_ids():
    stream, notes = read_trace("arrival_ms,prompt,output,hash_ids\n500,20,3,0 1 2\n750,10,2,4\n")
    assert stream.arrival.tolist() == [0, 0.25]
    assert stream.hash_ids == ((0, 1, 2), (4,))
    assert notes.unit_reason == "the column is called arrival_ms"
    stream, notes = read_trace("arrival_s,prompt,output\n1.5,20,3\n2,10,2\n")
    assert stream.arrival.tolist() == [0, 0.5]
    assert stream.hash_ids is None
    assert notes.unit == "seconds"


@pytest.mark.parametrize(
    ("header", "values", "arrival"),
    [
        ("Timestamp,Session ID,Model,Request tokens,Response tokens", "5,,x,472,18", 5),
        ("arrived_at,num_prefill_tokens,num_decode_tokens", "5,472,18", 5),
        ("output;prompt;arrival", "18;472;5", 5),
        ("prompt\toutput\tarrival_time", "472\t18\t5", 5),
        ('"Timestamp","prompt","output"', '"5","472","18"', 5),
    ],
)
def test_other_public_headers_and_separators_are_recognised(header, values, arrival):
    stream, notes = read_trace(
        f"\ufeff{header}\r\n{values}\r\n\r\n{values.replace('5', '9', 1)}\r\n"
    )
    assert notes.rows == 2
    assert stream.prompt_token[0] == 472
    assert stream.output_token[0] == 18
    assert notes.unit == "seconds"
    assert arrival == 5


def test_a_number_too_large_for_seconds_is_taken_as_milliseconds():
    text = "timestamp,prompt,output\n1700000000000,1,1\n1700000001500,1,1\n"
    stream, notes = read_trace(text)
    assert stream.arrival.tolist() == [0, 1.5]
    assert notes.unit == "milliseconds"
    assert "beyond the year 5000" in notes.unit_reason


def test_the_reader_of_the_page_may_say_what_the_numbers_count():
    text = "timestamp,input_length,output_length\n0,1,1\n1500,1,1\n"
    assert read_trace(text)[0].arrival.tolist() == [0, 1.5]
    stream, notes = read_trace(text, unit="s")
    assert stream.arrival.tolist() == [0, 1500]
    assert notes.unit_reason == "as was asked for"
    with pytest.raises(ValueError, match="unit must be one of auto, s, ms"):
        read_trace(text, unit="min")


def test_unsorted_rows_are_sorted_and_said_so_and_equals_keep_their_order():
    text = "arrival_s,prompt,output,hash_ids\n5,1,1,1\n3,2,1,2\n4,3,1,3\n3,4,1,4\n9,5,1,5\n"
    stream, notes = read_trace(text)
    assert stream.arrival.tolist() == [0, 0, 1, 2, 6]
    assert stream.prompt_token.tolist() == [2, 4, 3, 1, 5]
    assert stream.hash_ids == ((2,), (4,), (3,), (1,), (5,))
    assert notes.out_of_order == 3
    assert any("3; all have been sorted" in sentence for sentence in notes.sentences)
    assert not any("sorted" in sentence for sentence in read_trace(AZURE)[1].sentences)


@pytest.mark.parametrize(
    ("first", "second", "counted", "larger"),
    [
        (1_700_000_000, 1_700_000_001, "seconds", None),
        (1_700_000_000_000, 1_700_000_001_000, "milliseconds", "seconds"),
        (1_700_000_000_000_000, 1_700_000_001_000_000, "microseconds", "milliseconds"),
        (1_700_000_000_000_000_000, 1_700_000_001_000_000_000, "nanoseconds", "microseconds"),
    ],
)
def test_times_after_1970_are_a_second_apart_whatever_they_count(first, second, counted, larger):
    stream, notes = read_trace(f"timestamp,prompt,output\n{first},1,1\n{second},1,1\n")
    assert stream.arrival.tolist() == [0, 1]
    assert notes.unit == counted
    assert larger is None or f"{first:,} {larger} after 1970" in notes.unit_reason


def test_ids_that_are_hashes_are_numbered_anew_and_still_name_the_same_blocks():
    text = "arrival_s,prompt,output,hash_ids\n0,1,1,-4 9\n1,1,1,-4 73786976294838206464\n"
    stream, notes = read_trace(text)
    assert stream.hash_ids == ((0, 1), (0, 2))
    assert notes.sentences[-1].endswith("are numbered anew, in their order.")
    kept = read_trace("arrival_s,prompt,output,hash_ids\n0,1,1,4 9\n")
    assert kept[0].hash_ids == ((4, 9),)
    assert kept[1].sentences[-1].endswith("were kept.")


requests = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 10**4)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(requests, st.sampled_from(["csv", "jsonl"]), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_what_is_read(rows, form, newline):
    names = ("timestamp", "input_length", "output_length")
    if form == "csv":
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    else:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    stream, notes = read_trace(newline.join(lines).encode())
    ordered = sorted(rows, key=lambda row: row[0])
    expected = [(row[0] - ordered[0][0]) / 1e3 for row in ordered]
    np.testing.assert_allclose(stream.arrival, expected, atol=1e-9)
    assert stream.prompt_token.tolist() == [row[1] for row in ordered]
    assert stream.output_token.tolist() == [row[2] for row in ordered]
    assert notes.rows == len(rows)


HEAD = "arrival_s,prompt,output\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "the trace is empty"),
        (b" \r\n ", "the trace is empty"),
        (",,,\n", "the trace is empty: every cell of it is blank"),
        ('""\n', "the trace is empty"),
        (";;\n \t\n", "the trace is empty"),
        (HEAD, "a header but no rows"),
        (b"\x00\xff\xfe", "not UTF-8 text: byte 1 is not"),
        ("a,b\n1,2\n", "line 1: no arrival column in «a, b»; known names are timestamp, arrival_s"),
        ("\ntime,prompt\n", "line 2: no arrival column"),
        ("timestamp,prompt\n1,2\n", "line 1: no output column in «timestamp, prompt»"),
        (HEAD + "1,2,3\n2,x,4\n", r"line 3, column prompt: must be a whole number in \[1, .*'x'"),
        (HEAD + "1,2,3\n\n2,3,2.5\n", "line 4, column output: must be a whole number.*'2.5'"),
        (HEAD + "1,0,3\n", "line 2, column prompt: must be a whole number.*'0'"),
        (HEAD + "1,2,3\n,2,3\n", "line 3, column arrival_s: must be a number.*''"),
        (HEAD + "1,2,3\n-1,2,3\n", "line 3, column arrival_s: must be a number.*'-1'"),
        (HEAD + "nan,2,3\n", "line 2, column arrival_s"),
        (HEAD + "1,2,3\n1,2\n", "line 3 has 2 columns, but the header has 3"),
        ("timestamp,prompt,output\n2023-13-01,1,1\n", "line 2, column timestamp: must be a date"),
        (
            "timestamp,prompt,output\n2023-01-01 00:00:00,1,1\n7,1,1\n",
            "line 3, column timestamp: must be a date and time such as .*'7'",
        ),
        (
            "timestamp,prompt,output\n2023-01-01 00:00,1,1\n2023-01-01 00:00+01:00,1,1\n",
            "line 3, column timestamp: must have a time zone in every row or in none",
        ),
        ("arrival_s,prompt,output,hash_ids\n1,2,3,4 x\n", "line 2, column hash_ids: .*whole num"),
        ("[1]", "line 1 must be one JSON object"),
        ('{"timestamp": 1', "line 1 is not JSON"),
        ('{"timestamp": 1, "prompt": 2}', "line 1: no output column"),
        (
            '{"timestamp": 1, "prompt": 2, "output": 3}\n{"timestamp": 1, "prompt": 2}',
            "line 2, column output: there is no value",
        ),
        ('{"timestamp": 1, "prompt": true, "output": 3}', "line 1, column prompt: .*True"),
        ('{"timestamp": 1, "prompt": null, "output": 3}', "line 1, column prompt: .*None"),
        (
            '{"timestamp": 1, "prompt": 2, "output": 3, "hash_ids": [1.5]}',
            "line 1, column hash_ids: must be a list of whole numbers",
        ),
        ('{"timestamp": 1, "prompt": 2, "output": 3, "hash_ids": 7}', "column hash_ids"),
    ],
)
def test_what_cannot_be_read_is_refused_where_it_stands(data, message):
    with pytest.raises(ValueError, match=message):
        read_trace(data)


def test_a_huge_file_is_refused_before_it_is_read():
    with pytest.raises(ValueError, match=r"the trace has 26.0 MB; at most 25 MB are read"):
        read_trace(b"x" * 26_000_000)


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(trace_tables, "MAX_ROWS", 3)
    assert read_trace(HEAD + "1,1,1\n" * 3)[1].rows == 3
    with pytest.raises(ValueError, match="the trace has 4 rows; at most 3 are read"):
        read_trace(HEAD + "1,1,1\n" * 4)
