"""Stories that show a paged pool at work: lists of operations, the reference program's among them.

The first three are the reference program's own run, cut after its second, third and last
assertion: its generator (xorshift32 from state 9) draws a system prompt of 12 tokens, tails of 7
and 5, and four prompts of 16 to churn the pool with.
"""

from __future__ import annotations

import string
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from core import validate
from core.draws import xorshift_states
from core.pool_script import Operation
from core.requests import Xorshift32

StoryName: TypeAlias = Literal["shared", "reuse", "churn", "differs", "salted", "busy"]

STORY_NAMES: tuple[StoryName, ...] = get_args(StoryName)
REFERENCE_SEED = 9
REFERENCE_PREFIX_TOKEN = 12
MAX_PREFIX_TOKEN = 4_096

# The pool takes 12 + 7 + 5 + 4 · 16 draws and the request stream 40 · 3 before the lengths come.
_DRAWS_BEFORE_LENGTHS = 208


def story(name: StoryName, prefix_token: int = REFERENCE_PREFIX_TOKEN) -> tuple[Operation, ...]:
    """The operations of a story in which prompts begin with the same `prefix_token` tokens.

    "shared": A and B begin alike. "reuse": both end and A's prompt comes again as C. "churn": C
    ends and D to G fill the pool with new content. "differs": as "shared", but the first token of
    B's prompt is another. "salted": the same prompt under the salts one, two and one. "busy": 40
    requests with one of three beginnings, which grow and end. Raises `ValueError` for another
    name, or a prefix outside 0 … 4,096 tokens. Worked value: "churn" is 10 operations, and on 16
    blocks of 4 ends with 7 hits, 5 evictions and 16 blocks in use.
    """
    validate.choice("name", name, STORY_NAMES)
    validate.integer("prefix_token", prefix_token, 0, MAX_PREFIX_TOKEN)
    draw = Xorshift32(REFERENCE_SEED)
    if name == "busy":
        return _busy(draw, prefix_token)
    prefix = _tokens(draw, prefix_token)
    first = (*prefix, *_tokens(draw, 7))
    second = (*prefix, *_tokens(draw, 5))
    if name == "salted":
        return tuple(
            Operation("allocate", request, first, salt)
            for request, salt in (("A", "one"), ("B", "two"), ("C", "one"))
        )
    if name == "differs":
        second = (second[0] + 100, *second[1:])  # no other token of the story is 100 or more
    operations = [Operation("allocate", "A", first), Operation("allocate", "B", second)]
    if name in ("reuse", "churn"):
        operations += [Operation("release", "A"), Operation("release", "B")]
        operations.append(Operation("allocate", "C", first))
    if name == "churn":
        operations.append(Operation("release", "C"))
        operations += [Operation("allocate", label, _tokens(draw, 16, 100)) for label in "DEFG"]
    return tuple(operations)


def _busy(draw: Xorshift32, prefix_token: int) -> tuple[Operation, ...]:
    prefixes = [_tokens(draw, prefix_token) for _ in range(3)]
    operations: list[Operation] = []
    held: list[str] = []
    for label in string.ascii_letters[:40].swapcase():
        if len(held) == 5:
            operations.append(Operation("release", held.pop(draw.between(0, 4))))
        prompt = (*prefixes[draw.between(0, 2)], *_tokens(draw, draw.between(1, 24)))
        operations.append(Operation("allocate", label, prompt))
        held.append(label)
        grown = held[draw.between(0, len(held) - 1)]
        operations.append(Operation("append", grown, _tokens(draw, draw.between(1, 6))))
    return (*operations, *(Operation("release", label) for label in held))


def reference_lengths(count: int = 64) -> NDArray[np.int64]:
    """The sequence lengths, 50 to 500, of the reference program's third part, as many as wanted.

    The program draws 64 of them; here its generator goes on. Raises `ValueError` for a count
    outside 1 … 1,000,000. Worked value: the first three are 447, 330 and 439.
    """
    validate.integer("count", count, 1, 1_000_000)
    states = xorshift_states(REFERENCE_SEED, _DRAWS_BEFORE_LENGTHS + count)
    drawn = states[_DRAWS_BEFORE_LENGTHS:].astype(np.float64) / 2.0**32
    return 50 + (drawn * 451).astype(np.int64)


def _tokens(draw: Xorshift32, count: int, low: int = 0) -> tuple[int, ...]:
    return tuple(draw.between(low, low + 99) for _ in range(count))
