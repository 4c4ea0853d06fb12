"""A distribution kept as it is made: a share of a base, and what a few tokens have on top.

An n-gram model moves few of its tokens away from the base. To draw one, or to ask for one's
probability, takes the logarithm of the vocabulary here; written out it takes all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.acceptance import Floats


@dataclass(frozen=True)
class Mixture:
    """p(x) = `share`·`base[x]` + the sum of `added` where `tokens` is x.

    `tokens` ascend and may repeat. `cumulative` is the running sum of `base`, and `share` is
    above 0.
    """

    base: Floats
    cumulative: Floats
    share: float
    tokens: NDArray[np.int64]
    added: Floats

    def dense(self) -> Floats:
        """The probability of every token; shape of the base."""
        result = self.base * self.share
        np.add.at(result, self.tokens, self.added)
        return result

    def probability(self, token: int) -> float:
        """The probability of one token."""
        first = self.tokens.searchsorted(token)
        last = self.tokens.searchsorted(token, side="right")
        on_top = self._on_top[last] - self._on_top[first]
        return float(self.share * self.base[token] + on_top)

    def sample(self, draw: float) -> int:
        """The token whose share of the running sum the draw in [0, 1) falls into.

        Worked value: base (0.5, 0.5), share 0.4 and 0.6 more on token 1 make (0.2, 0.8), so a
        draw of 0.2 gives token 1 and one of 0.19 token 0.
        """
        on_top, reached = self._on_top, self._reached
        aim = draw * (self.share * self.cumulative[-1] + on_top[-1])
        # The first token of `tokens` whose running sum is above the aim bounds the answer, and
        # below it only the base grows.
        place = int(reached.searchsorted(aim, side="right"))
        rest = (aim - on_top[place]) / self.share
        found = int(self.cumulative.searchsorted(rest, side="right"))
        bound = self.tokens[place] if place < self.tokens.size else self.base.size - 1
        return min(found, int(bound))

    @cached_property
    def _on_top(self) -> Floats:
        """What the first i of `tokens` have on top together."""
        return np.concatenate(([0.0], np.cumsum(self.added)))

    @cached_property
    def _reached(self) -> Floats:
        """The running sum of the distribution up to each of `tokens`."""
        return np.asarray(self.share * self.cumulative[self.tokens] + self._on_top[1:])
