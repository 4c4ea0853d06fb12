"""Where draft tokens come from: a smaller n-gram model, or a look-up in the text so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from core import validate
from core.acceptance import Floats
from core.mixture import Mixture
from core.ngram import NGram

_REMEMBERED_CONTEXTS = 2**12


class HasNext(Protocol):
    """A generator whose `next()` draws a float in [0, 1), as xorshift32 does here."""

    def next(self) -> float:
        """One draw."""
        ...


Random: TypeAlias = np.random.Generator | HasNext


def uniform_of(rng: Random) -> Callable[[], float]:
    """The function that draws one float in [0, 1)."""
    return rng.random if isinstance(rng, np.random.Generator) else rng.next


def draw_token(cumulative: Floats, draw: float) -> int:
    """The token whose share of the cumulative distribution the draw in [0, 1) falls into.

    Worked value: shares 0.2, 0, 0.8 and a draw of 0.2 → token 2.
    """
    return int(cumulative.searchsorted(draw * cumulative[-1], side="right"))


@dataclass(frozen=True, slots=True)
class PromptLookup:
    """A drafter without a model: what followed the last tokens when they last appeared.

    It looks for the longest suffix of `longest` down to `shortest` tokens that occurs earlier in
    prompt or output, and proposes what came after its most recent occurrence, as far as there is
    text. Without a match it proposes nothing. Source: Saxena 2023, prompt lookup decoding.
    """

    longest: int = 3
    shortest: int = 1

    def __post_init__(self) -> None:
        validate.integer("longest", self.longest, 1, 100)
        validate.integer("shortest", self.shortest, 1, self.longest)


class Scorer:
    """A model that remembers, for one run, what it said after the contexts it has met."""

    __slots__ = ("_mixture", "_most_likely", "_reach")

    def __init__(self, model: NGram) -> None:
        """Start with nothing remembered."""
        self._reach = model.order - 1
        self._mixture = lru_cache(_REMEMBERED_CONTEXTS)(model.mixture)
        self._most_likely = lru_cache(_REMEMBERED_CONTEXTS)(model.most_likely)

    def context(self, tokens: list[int]) -> tuple[int, ...]:
        """The last tokens, as many as the model looks at."""
        return tuple(tokens[max(0, len(tokens) - self._reach) :])

    def most_likely(self, tokens: list[int]) -> int:
        """The model's most likely next token."""
        return self._most_likely(self.context(tokens))

    def mixture(self, tokens: list[int]) -> Mixture:
        """The model's distribution over the next token."""
        return self._mixture(self.context(tokens))


class ModelDrafter:
    """Drafts with a model of its own, one token after the other."""

    __slots__ = ("_scorer",)

    def __init__(self, model: NGram) -> None:
        """Draft with `model`, whose vocabulary is the target's."""
        self._scorer = Scorer(model)

    def propose(
        self, tokens: list[int], length: int, uniform: Callable[[], float] | None
    ) -> tuple[list[int], list[Mixture | None]]:
        """`length` tokens and the distribution that each was drawn from.

        Without `uniform` the most likely tokens, which have no distribution.
        """
        text = list(self._scorer.context(tokens))
        known = len(text)
        proposals: list[Mixture | None] = []
        for _ in range(length):
            if uniform is None:
                text.append(self._scorer.most_likely(text))
                proposals.append(None)
            else:
                q = self._scorer.mixture(text)
                proposals.append(q)
                text.append(q.sample(uniform()))
        return text[known:], proposals


class LookupDrafter:
    """Drafts by looking up; knows where each short run of tokens was last followed by something."""

    __slots__ = ("_after", "_indexed", "_sizes")

    def __init__(self, rule: PromptLookup) -> None:
        """Start with an empty index, which grows along with the text."""
        self._sizes = range(rule.shortest, rule.longest + 1)
        self._after: dict[tuple[int, ...], int] = {}
        self._indexed = 1

    def propose(
        self, tokens: list[int], length: int, uniform: Callable[[], float] | None
    ) -> tuple[list[int], list[Mixture | None]]:
        """At most `length` tokens, each proposed with certainty: nothing is drawn."""
        for end in range(self._indexed, len(tokens)):
            for size in self._sizes[: max(0, end - self._sizes.start + 1)]:
                self._after[tuple(tokens[end - size : end])] = end
        self._indexed = max(self._indexed, len(tokens))
        for size in reversed(self._sizes):
            start = self._after.get(tuple(tokens[-size:]))
            if start is not None:
                drafted = tokens[start : start + length]
                return drafted, [None] * len(drafted)
        return [], []
