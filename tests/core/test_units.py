"""How numbers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import units, validate


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.012294967296, "s", "12.3 ms"),
        (0.2258987, "s", "226 ms"),
        (0.99996, "s", "1.00 s"),
        (0.0009996, "s", "1.00 ms"),
        (2.5e-7, "s", "250 ns"),
        (75.0, "s", "75 s"),
        (24_589_934_592, "B", "24.6 GB"),
        (140e9, "B", "140 GB"),
        (999.9e9, "B", "1.00 TB"),
        (312e12, "FLOP/s", "312 TFLOP/s"),
        (2.039e12, "B/s", "2.04 TB/s"),
        (156.0, "FLOP/B", "156 FLOP/B"),
        (0, "s", "0 s"),
        (float("inf"), "s", "∞ s"),
    ],
)
def test_quantities_take_the_prefix_that_suits(value: float, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (1, ("token",), "1 token"),
        (1.0, ("token",), "1 token"),
        (0, ("token",), "0 tokens"),
        (2048, ("token",), "2,048 tokens"),
        (1, ("waits", "wait"), "1 waits"),
        (2, ("waits", "wait"), "2 wait"),
        (0.1, ("step",), "0.1 steps"),
        ("1.00", ("token",), "1.00 tokens"),
        ("1", ("token",), "1 token"),
    ],
)
def test_a_count_and_its_noun_agree(count: float | str, words: tuple[str, ...], text: str) -> None:
    assert units.counted(count, *words) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.294967, "12.3"),
        (3.3616, "3.36"),
        (130_872.4, "131,000"),
        (8, "8"),
        (0.0524, "0.0524"),
        (-2.5, "−2.50"),
        (999.6, "1,000"),
        (float("nan"), "not a number"),
    ],
)
def test_three_significant_figures(value: float, text: str) -> None:
    assert units.significant(value) == text


@given(st.floats(1e-12, 1e18))
def test_what_is_written_is_within_half_a_unit_of_the_third_figure(value: float) -> None:
    shown = float(units.significant(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("value", "text"), [(131_072, "128 KiB"), (2**30, "1 GiB"), (819_200, "800 KiB"), (0, "0 B")]
)
def test_binary_prefixes(value: float, text: str) -> None:
    assert units.binary(value) == text


def test_exact_numbers_keep_every_digit() -> None:
    assert units.exact(24_589_934_592) == "24,589,934,592"


@pytest.mark.parametrize(
    "wrong", ["3", None, True, float("nan"), float("inf"), [1], 0.5, 11, 10**400]
)
def test_a_refusal_names_the_field_and_the_value(wrong: object) -> None:
    with pytest.raises(ValueError, match="batch must be"):
        validate.integer("batch", wrong, 1, 10)


def test_a_choice_lists_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="mode must be one of a, b; got 'c'"):
        validate.choice("mode", "c", ["a", "b"])


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match="…") as refusal:
        validate.number("x", "y" * 10_000, 0, 1)
    assert len(str(refusal.value)) < 200
