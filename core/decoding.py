"""What a run of speculative decoding on text leaves behind: its rounds, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import validate
from core.acceptance import Floats, expected_tokens


@dataclass(frozen=True, slots=True)
class Round:
    """One target pass: draft tokens kept and struck, and the token the target gave itself.

    `corrected` replaces the first struck token, or follows a full match as its bonus.
    `draft_length` is the γ asked for; a look-up may have proposed fewer tokens.
    """

    draft_length: int
    kept: tuple[int, ...]
    struck: tuple[int, ...]
    corrected: int

    @property
    def drafted(self) -> tuple[int, ...]:
        """What the draft proposed."""
        return self.kept + self.struck

    @property
    def tokens(self) -> tuple[int, ...]:
        """What the round added to the text."""
        return (*self.kept, self.corrected)

    @property
    def full_match(self) -> bool:
        """Whether something was proposed and all of it kept."""
        return bool(self.kept) and not self.struck


@dataclass(frozen=True, slots=True)
class Decoding:
    """A run: the rounds in order, and what they say about acceptance and speed."""

    prompt: tuple[int, ...]
    rounds: tuple[Round, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The new tokens."""
        return tuple(token for each in self.rounds for token in each.tokens)

    @property
    def tokens_per_target_pass(self) -> float:
        """New tokens over target passes."""
        return len(self.tokens) / len(self.rounds)

    @property
    def acceptance_rate(self) -> float:
        """Measured α: kept draft tokens over those that the target judged; NaN if none was.

        A refusal ends its round, so tokens behind it were never judged. This is the maximum
        likelihood estimate where acceptances are independent.
        """
        counts = self._counts()
        judged = int(counts["judged"].sum())
        return float(counts["kept"].sum() / judged) if judged else float("nan")

    @property
    def predicted_tokens_per_target_pass(self) -> float:
        """Equation 1 at the measured α, averaged over the draft lengths of the rounds."""
        lengths = [len(each.drafted) for each in self.rounds]
        rate = self.acceptance_rate
        return float(expected_tokens(0.0 if np.isnan(rate) else rate, lengths).mean())

    def speedup(self, draft_cost_ratio: ArrayLike) -> Floats:
        """Tokens over the cost of all rounds in target passes, c for each drafted token."""
        ratio = validate.array("draft_cost_ratio", draft_cost_ratio, 0, 1_000)
        drafted = sum(len(each.drafted) for each in self.rounds)
        return np.asarray(len(self.tokens) / (len(self.rounds) + drafted * ratio))

    def acceptance_by_position(self) -> dict[str, NDArray[np.generic]]:
        """Position 1, 2, … in the draft; how often it was judged and kept; the share kept.

        A position is judged where everything before it was kept, so the share is a conditional
        one: equal at all positions if acceptances were independent and equally likely.
        """
        counts = self._counts()
        return {**counts, "rate": counts["kept"] / counts["judged"]}

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """One row per round: γ asked for, tokens drafted, kept and struck, output after it."""
        return {
            "round": np.arange(1, len(self.rounds) + 1),
            "draft_length": np.array([each.draft_length for each in self.rounds]),
            "drafted": np.array([len(each.drafted) for each in self.rounds]),
            "kept": np.array([len(each.kept) for each in self.rounds]),
            "struck": np.array([len(each.struck) for each in self.rounds]),
            "tokens": np.cumsum([len(each.tokens) for each in self.rounds]),
        }

    def loop(self) -> tuple[int, int] | None:
        """Where the output ends in a loop: its first token and its period; None without one.

        Greedy decoding depends on the last few tokens only, so once they come back so does all
        that followed, and the measured acceptance is that of the loop. Counted as one from three
        turns on. Worked value: new tokens 5 1 2 1 2 1 2 → (1, 2).
        """
        tokens = np.array(self.tokens)
        for period in range(1, tokens.size // 3 + 1):
            differs = np.flatnonzero(tokens[period:] != tokens[:-period])
            start = int(differs[-1]) + 1 if differs.size else 0
            if tokens.size - start >= 3 * period:
                return start, period
        return None

    def _counts(self) -> dict[str, NDArray[np.int64]]:
        kept = np.array([len(each.kept) for each in self.rounds])
        judged = kept + np.array([bool(each.struck) for each in self.rounds])
        position = np.arange(1, judged.max(initial=0) + 1)
        return {
            "position": position,
            "judged": (judged >= position[:, None]).sum(axis=1),
            "kept": (kept >= position[:, None]).sum(axis=1),
        }
