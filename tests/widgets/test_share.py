"""The state in the address bar: a good value is taken, a bad one is named, the rest applies."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.session import Session
from widgets.share import (
    MAX_PARAMETERS,
    format_state,
    pack_config,
    parse_query,
    parse_state,
    read_number,
    unpack_config,
)


def session(query: str | bytes) -> Session:
    from widgets.page import section_classes

    return Session(section_classes(), query, "light")


def notices(query: str | bytes) -> list[str]:
    return list(session(query).bar.state["notices"])


def test_a_plain_address_has_no_state_and_no_notices() -> None:
    fresh = session("")
    assert fresh.query() == ""
    assert fresh.bar.state["notices"] == []


def test_only_what_differs_from_the_defaults_is_written() -> None:
    assert session("batch=32&context=4096&model=8B").query() == "context=4096"


@pytest.mark.parametrize(
    "query",
    [
        "batch=64&context=512",
        "model=70B&devices=4&weights=fp8&cache=fp8",
        "device=H100+SXM&arithmetic=fp8&overhead=2.5&compute=70&bandwidth=85",
        "device=custom&peak=100&rate=1&memory=48",
        "tokens=16384&kv_heads=32&reserved=0.8",
    ],
)
def test_a_link_restores_the_state_it_was_written_from(query: str) -> None:
    first = session(query)
    assert first.bar.state["notices"] == []
    second = session(first.query())
    assert second.query() == first.query()
    assert second.model.scenario == first.model.scenario
    for slug, model in first.models.items():
        assert second.models[slug].inputs() == model.inputs()


def test_a_bad_value_is_named_and_the_rest_applies() -> None:
    opened = session("batch=abc&context=1e99&prompt=512&theme=dark")
    said = " ".join(opened.bar.state["notices"])
    assert "batch=abc" in said
    assert "not a number" in said
    assert "context=1e99" in said
    assert "131,072" in said
    assert opened.bring("prefill-decode").model.inputs() == {
        "batch": 32,
        "context": 2048,
        "prompt": 512,
    }
    assert opened.theme == "dark"


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("batch=0", "from 1 to 512"),
        ("batch=-5", "from 1 to 512"),
        ("batch=1.5", "whole number"),
        ("batch=nan", "not a number"),
        ("batch=inf", "not a number"),
        ("batch=", "not a number"),
        ("batch=\u0663", "not a number"),
        ("device=H900", "device must be one of"),
        ("model=9B", "no preset has that name"),
        ("weights=fp7", "choose one of"),
        ("devices=1e9", "1,024"),
        ("theme=blue", "light or dark"),
        ("kv_heads=7", "choose one of"),
        ("config=%21%21", "cannot be unpacked"),
        ("model=70B&model=8B", "“model” stands in the link more than once; 70B was taken"),
        ("peak=500", "peak in the link changed nothing: they are of a device of your own"),
        ("devices=1,5", "not a number; with a decimal point it is 1.5"),
        ("batchh=3", "Nothing on this page is called"),
        ("batch=%ff", "not valid UTF-8"),
        ("arithmetic=fp8", "does not multiply in fp8"),
    ],
)
def test_each_kind_of_bad_value_gets_a_sentence(query: str, part: str) -> None:
    said = notices(query)
    assert len(said) == 1
    assert part in said[0]


def test_ten_thousand_parameters_are_answered_in_one_sentence_each_kind() -> None:
    said = notices("&".join(f"x{i}={i}" for i in range(10_000)))
    assert len(said) == 2
    assert "10,000 parameters" in said[0]
    assert str(MAX_PARAMETERS) in said[0]


def test_a_script_in_a_value_is_quoted_back_as_text_only() -> None:
    said = notices("batch=<script>alert(1)</script>")
    assert said == ["“batch=<script>alert(1)</script>” was left out: it is not a number."]


@given(st.binary(max_size=200))
def test_no_bytes_in_the_address_ever_raise(query: bytes) -> None:
    pairs, problems = parse_query(query)
    values, more = parse_state(pairs, {"batch": read_number})
    assert all(isinstance(text, str) for text in problems + more)
    assert set(values) <= {"batch"}


@given(st.dictionaries(st.sampled_from("abc"), st.integers(-(10**12), 10**12)))
def test_numbers_survive_the_round_trip(values: dict[str, int]) -> None:
    pairs, problems = parse_query(format_state(values, {}))
    assert problems == []
    assert {name: read_number(text) for name, text in pairs.items()} == values


def test_a_config_survives_packing() -> None:
    text = '{"model_type":"llama","hidden_size":4096}'
    assert unpack_config(pack_config(text)) == text


def test_a_link_that_was_cut_says_so() -> None:
    word = pack_config(json.dumps({"model_type": "llama", "sizes": list(range(99))}))
    for cut in range(4, len(word) - 8, 4):
        with pytest.raises(ValueError, match=r"cannot be unpacked|is missing; copy the whole link"):
            unpack_config(word[:cut])
    with pytest.raises(ValueError, match="is missing; copy the whole link"):
        unpack_config(word[:-8])
    with pytest.raises(ValueError, match="no packed"):
        unpack_config("")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack_config("é")


def test_commas_stand_between_groups_of_three_only() -> None:
    assert (read_number("2,048"), read_number("1,234,567.5")) == (2048, 1234567.5)
    for text, point in (("1,5", "1.5"), ("3,35", "3.35")):
        with pytest.raises(ValueError, match=f"not a number; with a decimal point it is {point}"):
            read_number(text)
    for text in ("1,50,000", ",5", "5,", "1.5,000", "12345,678"):
        with pytest.raises(ValueError, match="not a number"):
            read_number(text)


def test_a_packed_bomb_is_refused_before_it_is_inflated() -> None:
    import base64

    bomb = base64.urlsafe_b64encode(zlib.compress(b"0" * 50_000_000)).decode()
    with pytest.raises(ValueError, match="larger than 200,000"):
        unpack_config(bomb)
