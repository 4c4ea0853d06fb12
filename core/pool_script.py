"""What readers ask of a pool, one line each, and what comes of it.

The format, where a token is a word or a number and equal words are equal tokens:

    A: you are a helpful assistant          A asks for blocks for this prompt
    B salt=team1: you are a helpful         the same, shared only with requests of that salt
    A + what is a block                     A grows by these tokens, as decoding does
    release A                               A gives its blocks back
    # a note                                ignored, as are empty lines
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core import validate
from core.block_pool import BlockPool, OutOfBlocksError
from core.block_table import BlockTable, checked_salt
from core.pool_events import Event, EventKind
from core.pool_rules import Rules
from core.pool_state import PoolState
from core.units import counted

Kind: TypeAlias = Literal["allocate", "append", "release"]

MAX_LINES = 200
MAX_NUMBER = 2**31 - 1

# Numbers stand for themselves; words are counted from here on and so never equal a number.
_FIRST_WORD = 2**32

_RELEASE = re.compile(r"release\s+(\S+)$")
_GROW = re.compile(r"(\S+)\s*\+(?:\s+(.*))?$")
_ASK = re.compile(r"([^\s:]+)(?:\s+salt=([^\s:]*))?\s*:(.*)$")
_NAME = re.compile(r"[A-Za-z0-9]{1,2}$")


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing asked of a pool. `line` is where it stands in a script, 0 where there is none."""

    kind: Kind
    request: str
    tokens: tuple[int, ...] = ()
    salt: str | None = None
    line: int = 0

    @property
    def words(self) -> str:
        """What is asked, in short: "A 19 tokens", "A + 4", "release A"."""
        if self.kind == "release":
            return f"release {self.request}"
        if self.kind == "append":
            return f"{self.request} + {len(self.tokens):,}"
        count = counted(len(self.tokens), "token")
        salted = f" (salt {_short(self.salt, 12)})" if self.salt else ""
        return f"{self.request} {count}{salted}"


def parse_script(text: str) -> tuple[Operation, ...]:
    """Read a script, or raise `ValueError` naming the line and what is wrong with it.

    Refused are: a line of no known form; a name that is not one or two letters or digits; a
    request without tokens; a salt over 1,024 bytes; a number over 2³¹ − 1; asking, growing or
    releasing out of turn (releasing twice, say); more than 200 lines; and no request at all.
    Worked value: "A: a b 7" is one request for the tokens 2³², 2³² + 1 and 7.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            reader.read(number, stripped)
    if not reader.operations:
        raise ValueError("the requests must be at least one line such as “A: some words”")
    return tuple(reader.operations)


class _Reader:
    """A script under way: the operations so far, the words met, and who holds blocks since when."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._words: dict[str, int] = {}
        self._held: dict[str, int] = {}
        self._released: dict[str, int] = {}

    def read(self, line: int, text: str) -> None:
        if len(self.operations) == MAX_LINES:
            raise ValueError(f"line {line}: there must be at most {MAX_LINES} lines of requests")
        if match := _RELEASE.match(text):
            operation = self._release(line, match[1])
        elif match := _ASK.match(text):
            operation = self._ask(line, match[1], match[2], match[3])
        elif match := _GROW.match(text):
            operation = self._grow(line, match[1], match[2] or "")
        else:
            raise ValueError(
                f"line {line}: “{_short(text)}” must be “A: some words”, “A + more words” or "
                "“release A”"
            )
        self.operations.append(operation)

    def _ask(self, line: int, name: str, salt: str | None, words: str) -> Operation:
        self._check_name(line, name)
        if name in self._held:
            raise ValueError(
                f"line {line}: {name} holds blocks since line {self._held[name]} and must be "
                "released before it asks again"
            )
        try:
            checked_salt(salt)
        except ValueError as error:
            raise ValueError(f"line {line}: the {error}") from error
        tokens = self._tokens(line, name, words)
        self._held[name] = line
        return Operation("allocate", name, tokens, salt, line)

    def _grow(self, line: int, name: str, words: str) -> Operation:
        self._check_held(line, name, "grow")
        return Operation("append", name, self._tokens(line, name, words), line=line)

    def _release(self, line: int, name: str) -> Operation:
        self._check_held(line, name, "be released")
        del self._held[name]
        self._released[name] = line
        return Operation("release", name, line=line)

    def _check_name(self, line: int, name: str) -> None:
        if not _NAME.match(name):
            raise ValueError(
                f"line {line}: a name must be one or two letters or digits, got “{_short(name)}”"
            )

    def _check_held(self, line: int, name: str, what: str) -> None:
        self._check_name(line, name)
        if name in self._held:
            return
        if name in self._released:
            why = f"it was released in line {self._released[name]}"
        else:
            why = "no line before this one asks for it"
        raise ValueError(f"line {line}: {name} cannot {what}: {why}")

    def _tokens(self, line: int, name: str, words: str) -> tuple[int, ...]:
        tokens = tuple(self._token(line, word) for word in words.split())
        if not tokens:
            raise ValueError(f"line {line}: {name} must have at least one word or number")
        return tokens

    def _token(self, line: int, word: str) -> int:
        if not (word.isascii() and word.isdigit()):
            return self._words.setdefault(word, _FIRST_WORD + len(self._words))
        if len(word) > 10 or int(word) > MAX_NUMBER:
            raise ValueError(
                f"line {line}: a number must be at most {MAX_NUMBER:,}, got “{_short(word)}”"
            )
        return int(word)


@dataclass(frozen=True, slots=True)
class PoolRun:
    """What a pool did with a list of operations.

    `ends` has one number an operation: how many events had happened when it was over. `skipped`
    are sentences on operations that came to nothing because their request had been refused.
    """

    num_blocks: int
    block_size: int
    rules: Rules
    operations: tuple[Operation, ...]
    events: tuple[Event, ...]
    ends: tuple[int, ...]
    skipped: tuple[str, ...]

    @property
    def start(self) -> PoolState:
        """The pool before the first event."""
        return PoolState.fresh(self.num_blocks, self.block_size)

    def operation_at(self, step: int) -> int:
        """Which operation the event that led to `step` belongs to; −1 before the first event."""
        validate.integer("step", step, 0, len(self.events))
        if step == 0:
            return -1
        return next(index for index, end in enumerate(self.ends) if step <= end)

    def count(self, kind: EventKind, step: int) -> list[tuple[Operation, int]]:
        """How many of the first `step` events were of `kind`, for each operation that had any.

        Worked value: two prompts of 19 and 17 tokens that share 12, in blocks of 4: the second has
        3 touches, so 3 · 4 tokens of its prefill are skipped.
        """
        validate.integer("step", step, 0, len(self.events))
        counted = []
        first = 0
        for operation, end in zip(self.operations, self.ends, strict=True):
            found = sum(event.kind is kind for event in self.events[first : min(end, step)])
            if found:
                counted.append((operation, found))
            first = end
        return counted


def check_fits(operations: Sequence[Operation], *, num_blocks: int, block_size: int) -> None:
    """Raise `ValueError` for a prompt that is longer than the whole pool, naming its request."""
    for operation in operations:
        needed = -(-len(operation.tokens) // block_size)
        if operation.kind == "allocate" and needed > num_blocks:
            place = f"line {operation.line}: " if operation.line else ""
            raise ValueError(
                f"{place}the prompt of {operation.request} is longer than the pool: "
                f"{len(operation.tokens):,} tokens need {needed:,} blocks of {block_size:,}, and "
                f"there are {num_blocks:,}. It must be shorter, or the pool or its blocks larger"
            )


def run_script(
    operations: Sequence[Operation],
    *,
    num_blocks: int,
    block_size: int,
    rules: Rules = Rules.DESIGN_DOCUMENT,
) -> PoolRun:
    """Carry the operations out, one after the other, on a new pool.

    A request that finds too few free blocks is refused and the rest goes on: that is an event, not
    an error. Raises `ValueError` for sizes out of range and for a prompt longer than the pool.
    Worked value: a prompt of 19 tokens on 16 blocks of 4 gives 14 events: a miss, 5 blocks taken,
    4 of them full and hashed.
    """
    log: list[Event] = []
    pool = BlockPool(num_blocks, block_size, rules=rules, log=log)
    check_fits(operations, num_blocks=num_blocks, block_size=block_size)
    tables: dict[str, BlockTable] = {}
    ends, skipped = [], []
    for operation in operations:
        if operation.kind == "allocate" or operation.request in tables:
            _carry_out(pool, tables, operation)
        else:
            skipped.append(
                f"“{operation.words}” comes to nothing: {operation.request} was refused and "
                "holds no block."
            )
        ends.append(len(log))
    return PoolRun(
        num_blocks, block_size, rules, tuple(operations), tuple(log), tuple(ends), tuple(skipped)
    )


def _carry_out(pool: BlockPool, tables: dict[str, BlockTable], operation: Operation) -> None:
    request = operation.request
    try:
        if operation.kind == "release":
            pool.release(tables.pop(request))
        elif operation.kind == "append":
            pool.append(tables[request], operation.tokens)
        else:
            tables[request] = pool.allocate(operation.tokens, operation.salt, request=request)
    except OutOfBlocksError:
        return  # the pool has logged the refusal and changed nothing


def _short(text: str | None, limit: int = 40) -> str:
    clean = "".join(c if c.isprintable() else "·" for c in text or "")
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
