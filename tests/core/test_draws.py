import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import draws
from core.draws import xorshift_states


def one_by_one(state: int, count: int) -> list[int]:
    """The generator as its definition reads, in Python integers."""
    states = []
    for _ in range(count):
        state ^= (state << 13) % 2**32
        state ^= state >> 17
        state ^= (state << 5) % 2**32
        states.append(state)
    return states


@given(st.integers(1, 2**32 - 1), st.integers(0, 300))
def test_block_equals_single_draws(state: int, count: int) -> None:
    assert xorshift_states(state, count).tolist() == one_by_one(state, count)


@pytest.mark.parametrize("extra", [-1, 0, 1, 5_000])
def test_block_beyond_the_longest_jump_equals_single_draws(extra: int) -> None:
    count = 3 * draws._LONGEST_JUMP + extra
    assert xorshift_states(9, count).tolist() == one_by_one(9, count)


def test_first_states_after_9() -> None:
    assert xorshift_states(9, 2).tolist() == [2_433_321, 604_648_969]


@pytest.mark.parametrize(
    ("state", "count", "named"),
    [(0, 1, "state"), (2**32, 1, "state"), (9, -1, "count"), (9, draws.MAX_DRAWS + 1, "count")],
)
def test_impossible_values_are_refused_by_name(state: int, count: int, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named} must be in"):
        xorshift_states(state, count)
