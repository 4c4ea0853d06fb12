from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.corpora import make
from core.ngram import (
    MAX_ORDER,
    MAX_TEXT_BYTE,
    MIN_TEXT_TOKEN,
    Corpus,
    fit,
    pieces,
    read_corpus,
)

CORPORA = Path(make.__file__).parent
NAMES = ("prose", "code", "records")


def corpus_text(name: str) -> str:
    return (CORPORA / f"{name}.txt").read_text(encoding="utf-8")


def letters(text: str) -> Corpus:
    """A corpus whose tokens are single letters, numbered by first appearance."""
    vocabulary = tuple(dict.fromkeys(text))
    index = {letter: token for token, letter in enumerate(vocabulary)}
    return Corpus(text, vocabulary, index, np.array([index[letter] for letter in text]))


def by_the_definition(text: str, letter: str, history: str) -> Fraction:
    """Interpolated Witten-Bell, read off the text by search, in fractions."""
    followers = [
        text[i + len(history)]
        for i in range(len(text) - len(history))
        if text.startswith(history, i)
    ]
    types = len(set(followers))
    if history:
        shorter = by_the_definition(text, letter, history[1:])
    else:
        shorter = Fraction(1, len(set(text)))
    return (
        (followers.count(letter) + types * shorter) / (len(followers) + types)
        if (followers)
        else shorter
    )


@given(st.text(max_size=200))
def test_pieces_join_to_the_text_whatever_it_holds(text: str) -> None:
    assert "".join(pieces(text)) == text


def test_pieces_are_words_numbers_marks_and_breaks_with_the_space_before_them() -> None:
    text = "the cache_size is 1234.\n    def f(x): return x  # é, 漢字\r\n\tend"
    assert pieces(text) == [
        *("the", " cache", "_size", " is", " 123", "4", ".", "\n    ", "def", " f", "(", "x", ")"),
        *(":", " return", " x", " ", " #", " é", ",", " 漢字", "\r\n\t", "end"),
    ]


@settings(deadline=None, max_examples=60)
@given(
    st.text(alphabet="abcd", min_size=2, max_size=40).filter(lambda text: len(set(text)) > 1),
    st.integers(1, 4),
    st.text(alphabet="abcd", max_size=5),
)
def test_probabilities_are_those_of_the_definition(text: str, order: int, context: str) -> None:
    corpus = letters(text)
    known = [letter for letter in context if letter in corpus.index]
    model = fit(corpus, order)
    history = "".join(known)[max(0, len(known) - order + 1) :]
    expected = [float(by_the_definition(text, letter, history)) for letter in corpus.vocabulary]
    found = model.distribution([corpus.index[letter] for letter in known])
    assert found == pytest.approx(expected, rel=1e-12)
    assert found.sum() == pytest.approx(1, rel=1e-12)


def test_probability_worked_by_hand() -> None:
    model = fit(letters("ababac"), 2)
    assert model.distribution([0])[1] == pytest.approx(8 / 15, rel=1e-15)


def test_the_first_to_appear_is_the_most_likely_on_a_tie() -> None:
    assert fit(letters("abab"), 1).most_likely([]) == 0
    assert fit(letters("abba"), 1).most_likely([]) == 0
    assert fit(letters("abab"), 2).most_likely([0]) == 1


@pytest.mark.parametrize("order", range(1, 5))
def test_a_lower_order_of_the_same_counts_is_the_model_fitted_at_that_order(order: int) -> None:
    corpus = letters("abcabdabcabcacbbdaabc")
    cut, fitted = fit(corpus, 5).of_order(order), fit(corpus, order)
    assert cut.order == fitted.order == order
    for context in ([], [0], [1, 2], [0, 1, 2, 0, 1], [3, 3, 3]):
        assert cut.distribution(context).tolist() == fitted.distribution(context).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_each_corpus_is_long_enough_reads_back_and_gives_proper_distributions(name: str) -> None:
    text = corpus_text(name)
    assert 60_000 <= len(text.encode()) <= MAX_TEXT_BYTE
    corpus = read_corpus(text)
    assert corpus.decode(corpus.ids) == text
    assert corpus.encode(text) == corpus.ids.tolist()
    model = fit(corpus)
    for end in range(0, corpus.ids.size, 997):
        distribution = model.distribution(corpus.ids[:end].tolist())
        assert distribution.sum() == pytest.approx(1, rel=1e-12)
        assert distribution.min() > 0


def test_a_longer_history_knows_the_prose_better() -> None:
    corpus = read_corpus(corpus_text("prose"))
    model = fit(corpus)
    ids = corpus.ids[:2_000].tolist()
    surprise = [
        -np.mean(
            [np.log2(model.of_order(order).distribution(ids[:i])[ids[i]]) for i in range(6, 2_000)]
        )
        for order in (1, 2, 4)
    ]
    assert surprise[0] > surprise[1] + 2
    assert surprise[1] > surprise[2] + 1


def test_records_are_what_their_program_writes_and_code_is_the_projects_own() -> None:
    assert corpus_text("records") == make.records_text()
    assert corpus_text("code").startswith('"""Unit constants and the one way numbers are written')
    assert corpus_text("code").count("from __future__ import annotations") == len(make.CODE_FILES)


def test_bytes_and_text_read_alike() -> None:
    text = "Größe, naïve and 漢字 again. " * 20
    assert read_corpus(text.encode()).ids.tolist() == read_corpus(text).ids.tolist()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", f"at least {MIN_TEXT_TOKEN} tokens, got 0"),
        ("too short", f"at least {MIN_TEXT_TOKEN} tokens, got 2"),
        ("\n" * 500, "at least 2 different tokens, got only '\\\\n'"),
        ("a word " * 30_000, f"at most {MAX_TEXT_BYTE:,} bytes, got 210,000"),
        ("é" * 100_001, f"at most {MAX_TEXT_BYTE:,} bytes, got 200,002"),
        (b"\x89PNG\r\n\x1a\n" + bytes(500), "UTF-8, got a byte that is not at position 0"),
        (b"plain text " * 50 + b"\x00\x01", "got a binary file: character 0 at position 550"),
    ],
)
def test_an_unusable_text_gets_a_clear_answer(text: str | bytes, answer: str) -> None:
    with pytest.raises(ValueError, match=f"text must .*{answer}"):
        read_corpus(text)


def test_the_longest_text_allowed_is_read() -> None:
    text = "ab " * (MAX_TEXT_BYTE // 3) + "ab"
    assert len(text) == MAX_TEXT_BYTE
    assert read_corpus(text).ids.size == MAX_TEXT_BYTE // 3 + 1


def test_tokens_are_numbered_by_first_appearance() -> None:
    corpus = read_corpus("two one two " * 40 + "end")
    assert corpus.vocabulary == ("two", " one", " two", " end")
    assert corpus.ids[:4].tolist() == [0, 1, 2, 2]


def test_a_piece_the_corpus_has_not_got_is_named() -> None:
    corpus = read_corpus("one two " * 100)
    with pytest.raises(ValueError, match="which has no ' three'"):
        corpus.encode("one three")


@pytest.mark.parametrize("order", [0, MAX_ORDER + 1, 1.5])
def test_impossible_orders_are_refused_by_name(order: float) -> None:
    corpus = letters("abab")
    with pytest.raises(ValueError, match="order must be"):
        fit(corpus, order)
    with pytest.raises(ValueError, match="order must be"):
        fit(corpus, 2).of_order(order)
