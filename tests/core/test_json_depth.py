"""Depth of nesting, against a parser's own count on random texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.json_depth import nested_beyond
from core.traces import read_trace

KEYS = st.text('[]{}"\\\\')
VALUES = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\\\ab'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\\\'), inner, max_size=3)
    ),
    max_leaves=30,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(0, 6))
def test_it_is_the_depth_of_what_the_parser_reads(value: Any, levels: int) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        assert nested_beyond(text, levels) == (depth(json.loads(text)) > levels)


def test_a_row_that_is_nested_without_end_is_refused_with_its_line() -> None:
    text = '{"arrived_at": 0, "input_length": 1, "output_length": 1}\n' + "[" * 100_000
    with pytest.raises(ValueError, match="line 2 is nested more than 50 levels deep"):
        read_trace(text)
