"""N-gram language models over words, marks and spaces, small enough to fit and run in a page.

A text is cut into pieces; every different piece is a token of the vocabulary. A model of order n
looks at the last n − 1 tokens. How often each token followed them is mixed with what the shorter
histories say, in proportion to how many different tokens followed (Witten and Bell 1991):

    p_k(w | h) = (count(h w) + types(h)·p_{k−1}(w | h′)) / (count(h) + types(h))

where h′ is h without its oldest token. It ends at 1/V, so each distribution is positive
everywhere and sums to one. All orders share one set of counts, so a draft of order 2 and a target
of order 4 come from one fit, over one vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.acceptance import Floats
from core.mixture import Mixture

MAX_TEXT_BYTE = 200_000
MIN_TEXT_TOKEN = 100
MAX_ORDER = 6

# A word or up to three digits take the space before them along, as a mark does; a line break takes
# its indentation. The last two alternatives leave no character out.
_PIECES = re.compile(r"[ _]?[^\W\d_]+| ?\d{1,3}|\r?\n[ \t]*| ?[^\w\s]|\s|_")
_NO_TOKEN: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
_NOTHING: Floats = np.zeros(0)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def pieces(text: str) -> list[str]:
    """Cut a text into words, numbers, marks and spaces; joined, they are the text again.

    Worked value: "the cache_size is 1234." → "the", " cache", "_size", " is", " 123", "4", ".".
    """
    return _PIECES.findall(text)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text as token ids. `vocabulary[i]` is piece i, in order of first appearance."""

    text: str
    vocabulary: tuple[str, ...]
    index: Mapping[str, int]
    ids: NDArray[np.int64]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; raises `ValueError` naming a piece that the corpus has not got."""
        found = pieces(text)
        for piece in found:
            if piece not in self.index:
                raise ValueError(f"text must use pieces of its corpus, which has no {piece!r}")
        return [self.index[piece] for piece in found]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids."""
        return "".join(self.vocabulary[token] for token in ids)


def read_corpus(text: str | bytes) -> Corpus:
    """Cut a text into tokens and number them.

    Raises `ValueError`, in words meant for a reader, for a text over `MAX_TEXT_BYTE` bytes, bytes
    that are not UTF-8 or hold control characters, fewer than `MIN_TEXT_TOKEN` tokens, and a text
    that repeats a single token.
    """
    size_byte = len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    if size_byte > MAX_TEXT_BYTE:
        raise ValueError(f"text must have at most {MAX_TEXT_BYTE:,} bytes, got {size_byte:,}")
    decoded = _decoded(text)
    control = _CONTROL.search(decoded)
    if control:
        raise ValueError(
            f"text must be plain text, got a binary file: character {ord(control.group())} "
            f"at position {control.start():,}"
        )
    found = pieces(decoded)
    if len(found) < MIN_TEXT_TOKEN:
        raise ValueError(f"text must have at least {MIN_TEXT_TOKEN} tokens, got {len(found)}")
    vocabulary = tuple(dict.fromkeys(found))
    if len(vocabulary) < 2:
        raise ValueError(f"text must have at least 2 different tokens, got only {found[0]!r}")
    index = {piece: token for token, piece in enumerate(vocabulary)}
    ids = np.array([index[piece] for piece in found], dtype=np.int64)
    return Corpus(decoded, vocabulary, index, ids)


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"text must be UTF-8, got a byte that is not at position {error.start:,}"
        ) from error


@dataclass(frozen=True, slots=True)
class _Level:
    """What followed each history of one length: rows of tokens and counts, one after the other.

    History h owns rows starts[h] to starts[h + 1]. `grams` maps h·V + token to the row, and the row
    is the number of that longer history one level up.
    """

    grams: Mapping[int, int]
    starts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    counts: Floats
    totals: Floats


@dataclass(frozen=True, slots=True)
class NGram:
    """A model that gives every token a probability after any context of token ids."""

    vocabulary_size: int
    levels: tuple[_Level, ...]
    base: Floats
    cumulative: Floats

    @property
    def order(self) -> int:
        """How many tokens a gram has: the model looks at the last order − 1."""
        return len(self.levels)

    def of_order(self, order: int) -> NGram:
        """The same counts with shorter grams: what fitting at `order` would have given."""
        kept = validate.integer("order", order, 1, self.order)
        return NGram(self.vocabulary_size, self.levels[:kept], self.base, self.cumulative)

    def distribution(self, context: Sequence[int]) -> Floats:
        """Probability of each token after `context`; shape (vocabulary_size,), sums to 1.

        Only the last order − 1 tokens count; where they were never seen, fewer do.
        """
        return self.mixture(context).dense()

    def mixture(self, context: Sequence[int]) -> Mixture:
        """The same distribution, not written out."""
        weight = 1.0
        tokens, added = [_NO_TOKEN], [_NOTHING]
        for level, history in reversed(self._histories(context)):
            rows = slice(level.starts[history], level.starts[history + 1])
            followed = level.tokens[rows]
            mass = level.totals[history] + followed.size
            tokens.append(followed)
            added.append(level.counts[rows] * (weight / mass))
            weight *= followed.size / mass
        token = np.concatenate(tokens)
        order = token.argsort(kind="stable")
        return Mixture(
            self.base, self.cumulative, weight, token[order], np.concatenate(added)[order]
        )

    def most_likely(self, context: Sequence[int]) -> int:
        """The token with the highest probability; the one that appeared first on a tie."""
        return int(np.argmax(self.distribution(context)))

    def _histories(self, context: Sequence[int]) -> list[tuple[_Level, int]]:
        """The known histories that end the context, from one token up, with their levels."""
        found: list[tuple[_Level, int]] = []
        for length in range(1, min(self.order, len(context) + 1)):
            history = 0
            for level, token in zip(self.levels, context[-length:], strict=False):
                history = level.grams.get(history * self.vocabulary_size + token, -1)
                if history < 0:
                    return found
            level = self.levels[length]
            # The text's last gram is a history that nothing followed.
            if level.totals[history] > 0:
                found.append((level, history))
        return found


def fit(corpus: Corpus, order: int = MAX_ORDER) -> NGram:
    """Count the grams of a corpus up to `order`.

    Raises `ValueError` outside 1 … `MAX_ORDER`. Worked value: over "a b a b a c" (as tokens) and
    order 2, a was followed by b twice and c once: types 2, count 3, so
    p(b | a) = (2 + 2·p(b)) / 5, with p(b) = (2 + 1)/(6 + 3) = 1/3: 8/15.
    """
    longest = validate.integer("order", order, 1, MAX_ORDER)
    size = len(corpus.vocabulary)
    history = np.zeros(corpus.ids.size, dtype=np.int64)
    histories = 1
    levels = []
    for length in range(longest):
        codes = history * size + corpus.ids[length:]
        grams, numbers, counts = np.unique(codes, return_inverse=True, return_counts=True)
        starts = np.searchsorted(grams, np.arange(histories + 1, dtype=np.int64) * size)
        history_of = (grams // size).astype(np.intp)
        levels.append(
            _Level(
                grams=dict(zip(grams.tolist(), range(grams.size), strict=True)),
                starts=starts,
                tokens=grams % size,
                counts=counts.astype(np.float64),
                totals=np.bincount(history_of, counts, minlength=histories).astype(np.float64),
            )
        )
        history, histories = numbers[:-1].astype(np.int64), grams.size
    base = np.zeros(size)
    base[levels[0].tokens] = levels[0].counts
    base = (base + 1.0) / (corpus.ids.size + size)
    return NGram(size, tuple(levels), base, base.cumsum())
