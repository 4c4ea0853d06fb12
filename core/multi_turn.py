"""A synthetic trace of conversations that come back, each time with a longer prompt.

It stands in for a real trace until there is one. A conversation begins with a system prompt that
all share; every later prompt repeats all that was said and adds a message. Block ids are those of
Mooncake's format: equal ids mean equal prompts up to the end of that block.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from core import validate
from core.model_spec import MAX_TOKENS
from core.requests import RequestStream

MAX_CONVERSATIONS = 100_000


@dataclass(frozen=True, slots=True)
class Habits:
    """How people talk: means of the number of turns, and of the tokens and seconds in them.

    Lengths are log-normal with a standard deviation of 1 in the logarithm, turns geometric, and
    conversations start and pause at exponential intervals. Raises `ValueError` outside the ranges.
    """

    turns: float = 3.0
    opening_token: float = 3_000.0
    message_token: float = 300.0
    answer_token: float = 400.0
    pause_s: float = 90.0
    starts_per_s: float = 0.5
    system_token: int = 1_024

    def __post_init__(self) -> None:
        validate.number("turns", self.turns, 1, 1_000)
        for field in ("opening_token", "message_token", "answer_token"):
            validate.number(field, getattr(self, field), 1, 1_000_000)
        validate.number("pause_s", self.pause_s, 0, 1e6, open_low=True)
        validate.number("starts_per_s", self.starts_per_s, 0, 1e6, open_low=True)
        validate.integer("system_token", self.system_token, 0, 1_000_000)


CHAT = Habits()


def conversations(
    rng: np.random.Generator,
    number: int = 300,
    *,
    habits: Habits = CHAT,
    block_token: int = 512,
) -> RequestStream:
    """Draw `number` conversations and list their prompts in order of arrival, with block ids.

    A prompt of p tokens has ⌈p / block_token⌉ ids; its full blocks have the same ids whenever the
    conversation comes back, and the block that is not full has an id of its own. Raises
    `ValueError` for a number outside 1 … 100,000 or a block size outside 1 … 100,000,000. Worked
    value: with a system prompt of 1,024 tokens every request begins with ids 0 and 1.
    """
    number = validate.integer("number", number, 1, MAX_CONVERSATIONS)
    block = validate.integer("block_token", block_token, 1, MAX_TOKENS)
    starts = np.cumsum(rng.exponential(1.0 / habits.starts_per_s, number))
    fresh = count(habits.system_token // block)
    rows = []
    for start in starts:
        rows += _conversation(rng, float(start), habits, block, fresh)
    order = np.argsort([row[0] for row in rows], kind="stable")
    arrival, prompt, output, ids = zip(*(rows[index] for index in order), strict=True)
    return RequestStream(
        np.array(arrival) - arrival[0],
        np.array(prompt),
        np.array(output),
        hash_ids=ids,
        source=f"{number:,} synthetic conversations",
    )


def _conversation(
    rng: np.random.Generator, start: float, habits: Habits, block: int, fresh: count[int]
) -> list[tuple[float, int, int, tuple[int, ...]]]:
    known = list(range(habits.system_token // block))
    said, now = habits.system_token, start
    rows = []
    for turn in range(int(rng.geometric(1.0 / habits.turns))):
        said += _length(rng, habits.message_token if turn else habits.opening_token)
        known += [next(fresh) for _ in range(said // block - len(known))]
        partial = (next(fresh),) if said % block else ()
        answer = _length(rng, habits.answer_token)
        rows.append((now, said, answer, (*known, *partial)))
        said += answer
        now += float(rng.exponential(habits.pause_s))
    return rows


def _length(rng: np.random.Generator, mean_token: float) -> int:
    # A log-normal of deviation 1 has its mean at exp(µ + 1/2).
    return max(1, round(float(rng.lognormal(np.log(mean_token) - 0.5, 1.0))))
