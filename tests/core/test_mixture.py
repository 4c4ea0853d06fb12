"""A distribution that is not written out says what the written-out one says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mixture import Mixture
from core.ngram import fit, read_corpus


def mixture(base: list[int], share: float, extra: list[tuple[int, int]]) -> Mixture:
    parts = np.array(base) / sum(base)
    total = sum(weight for _, weight in extra)
    extra = sorted((token % len(base), weight) for token, weight in extra)
    tokens = np.array([token for token, _ in extra], dtype=np.int64)
    added = np.array([weight for _, weight in extra]) * ((1 - share) / total if total else 0)
    return Mixture(parts, parts.cumsum(), share if total else 1.0, tokens, added)


MIXTURES = st.builds(
    mixture,
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
    st.floats(0.05, 0.95),
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 9)), max_size=8),
)


@given(MIXTURES, st.floats(0, 1, exclude_max=True))
def test_a_draw_falls_where_the_written_out_sum_says(found: Mixture, draw: float) -> None:
    cumulative = found.dense().cumsum()
    before = np.concatenate(([0.0], cumulative))
    token = found.sample(draw)
    aim = draw * cumulative[-1]
    assert before[token] <= aim + 1e-12
    assert aim < cumulative[token] + 1e-12


@given(MIXTURES)
def test_one_probability_is_that_of_the_written_out_distribution(found: Mixture) -> None:
    dense = found.dense()
    assert dense.sum() == pytest.approx(1.0, abs=1e-12)
    assert [found.probability(token) for token in range(dense.size)] == pytest.approx(
        dense.tolist(), abs=1e-15
    )


def test_the_worked_value() -> None:
    found = Mixture(np.array([0.5, 0.5]), np.array([0.5, 1.0]), 0.4, np.array([1]), np.array([0.6]))
    assert found.dense().tolist() == pytest.approx([0.2, 0.8])
    assert (found.sample(0.19), found.sample(0.21)) == (0, 1)


def test_a_models_mixture_draws_each_token_as_often_as_it_should() -> None:
    corpus = read_corpus("the cat sat on the mat and the dog sat on the log. " * 9)
    found = fit(corpus, 3).mixture(corpus.encode(" sat on the"))
    draws = (np.arange(100_000) + 0.5) / 100_000
    counts = np.bincount([found.sample(d) for d in draws], minlength=found.base.size)
    assert counts / 100_000 == pytest.approx(found.dense(), abs=2e-5)
