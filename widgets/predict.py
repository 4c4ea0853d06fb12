"""A prediction to make before looking: a question, its options and what it keeps covered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prediction:
    """`answer` is one of `options`; `because` is shown once the reader has answered or passed.

    `covers` names the charts and readouts that would give the answer away; they stay covered
    until then. Raises `ValueError` where the answer is not among the options.
    """

    question: str
    options: tuple[str, ...]
    answer: str
    because: str
    covers: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.answer not in self.options:
            raise ValueError(f"answer must be one of {self.options}, got {self.answer!r}")

    def shown(self) -> dict[str, object]:
        """What the page needs; the answer travels only once it is asked for."""
        return {"question": self.question, "options": self.options, "covers": self.covers}

    def verdict(self, said: str | None) -> str:
        """The sentence after an answer, or after a pass (None)."""
        if said is None:
            return f"The answer is {self.answer}. {self.because}"
        if said == self.answer:
            return f"Right: {self.answer}. {self.because}"
        return f"You said {said}; the answer is {self.answer}. {self.because}"
