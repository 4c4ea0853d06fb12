"""What a dropped file may hold besides a model's configuration, and what is said of it."""

import inspect
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.hf.text import MAX_FILE_BYTE, load_object

REMEDY = re.compile(r"\b(Use|Keep|Write|Correct) ")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "The file is empty"),
        (b"", "The file is empty"),
        (b" \n\t", "The file is empty"),
        (b"\xef\xbb\xbf", "The file is empty"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text: byte 0"),
        (b'{"model_type": "llam\xe4"}', "not UTF-8 text: byte 20"),
        ("{", "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a": 1,\n "b": }', "not JSON: Expecting value at line 2, column 7"),
        ("{'a': 1}", "at line 1, column 2"),
        ('{"a": 1} {"b": 2}', "not JSON: Extra data at line 1, column 10"),
        ("# llama\n", "at line 1, column 1"),
        ("[1, 2]", "The file is a list of 2, but must be an object"),
        ("3", "The file is 3, but must be an object"),
        ("null", "The file is null, but must be an object"),
        ('"llama"', "The file is 'llama', but must be an object"),
        ("NaN", "The file is nan, but must be an object"),
        ('{"rope_theta": NaN}', "rope_theta is nan, but must be a finite number"),
        ('{"hidden_size": Infinity}', "hidden_size is inf, but must be a finite number"),
        ('{"a": {"b": [1, -Infinity]}}', "a.b[1] is -inf, but must be a finite number"),
        ('{"hidden_size": 1e999}', "hidden_size is inf, but must be a finite number"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "a number of 5,000 digits"),
        ('{"a": 1, "a": 2}', "'a' stands twice in one object of the file, as 1 and as 2"),
        ("[" * 100_000, "nested more than 50 levels deep"),
        ('{"a":' * 100_000, "nested more than 50 levels deep"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "nested more than 50 levels deep"),
        ('{"a\\ud800\\n": NaN}', r"a\ud800\n is nan"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_why(contents: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        load_object(contents)
    assert REMEDY.search(str(refused.value))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_file_of_50_mb_is_refused_by_its_size_and_the_limit() -> None:
    with pytest.raises(ValueError, match=r"50,000,000 bytes; .* at most 1,000,000"):
        load_object(b" " * 50_000_000)


@pytest.mark.parametrize("kind", [str, bytes])
def test_the_limit_itself_is_read(kind: type) -> None:
    body = '{"a": 1}'
    text = body + " " * (MAX_FILE_BYTE - len(body))
    assert load_object(text if kind is str else text.encode()) == {"a": 1}
    with pytest.raises(ValueError, match="1,000,001 bytes"):
        load_object(text + " " if kind is str else text.encode() + b" ")


def test_the_limit_counts_bytes_and_not_letters() -> None:
    with pytest.raises(ValueError, match=r"1,200,00\d bytes"):
        load_object('{"a": "' + "é" * 600_000 + '"}')


def test_a_byte_order_mark_is_no_hindrance() -> None:
    assert load_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert load_object('\ufeff{"a": 1}') == {"a": 1}


def test_infinity_is_read_where_published_files_write_it() -> None:
    """Mamba-2 files bound the step size by [0.0, Infinity]."""
    assert load_object('{"time_step_limit": [0.0, Infinity]}')["time_step_limit"] == [
        0.0,
        float("inf"),
    ]


def test_a_file_as_deep_as_allowed_is_read() -> None:
    text = '{"a": ' + "[" * 49 + "]" * 49 + "}"
    assert load_object(text) == json.loads(text)


def test_depth_is_refused_however_little_stack_is_left() -> None:
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 60)
        with pytest.raises(ValueError, match="nested more than 50"):
            load_object('{"a": ' + "[" * 200 + "]" * 200 + "}")
    finally:
        sys.setrecursionlimit(limit)


@given(st.one_of(st.text(), st.binary()))
def test_no_contents_raise_anything_but_a_value_error(contents: str | bytes) -> None:
    try:
        config = load_object(contents)
    except ValueError:
        return
    assert isinstance(config, dict)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values))
def test_every_finite_object_comes_back_as_it_was(config: dict) -> None:
    assert load_object(json.dumps(config)) == config
