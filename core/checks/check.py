"""What a check is: an expectation with its source, and an experiment that decides it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from core import validate
from core.pool_claims import Finding
from core.reference_program import SEED, Parts, Program, run
from core.sabotage import SOUND, parts_with

Group: TypeAlias = Literal[
    "reference's assertions",
    "reference's figures",
    "golden values",
    "published tables",
    "our invariants",
]
GROUPS: tuple[Group, ...] = get_args(Group)

Value: TypeAlias = "float | str | tuple[Value, ...]"
"""A number (a truth value is one), a text, or values in order."""


class Trial:
    """What is on trial: the program's parts, one of them broken perhaps, and a seed.

    The program is run once from that seed and once from the reference's own state, each when it is
    first asked for. Raises `ValueError` for a fault that is unknown or a seed that is no state of
    xorshift32.
    """

    def __init__(self, fault: str = SOUND, seed: int = SEED) -> None:
        self.fault = fault
        self.parts: Parts = parts_with(fault)
        self.seed = validate.integer("seed", seed, 1, 2**32 - 1)

    @cached_property
    def program(self) -> Program:
        """The program run from the seed."""
        return self.reference if self.seed == SEED else run(self.seed, self.parts)

    @cached_property
    def reference(self) -> Program:
        """The program run from the reference's own state, for which figures are known."""
        return run(SEED, self.parts)


@dataclass(frozen=True, slots=True)
class Check:
    """A claim: what is expected of it, from where, how close, and how it is observed.

    `tolerance` is the largest difference allowed in any number; 0 asks for the same value.
    `on_parts` says that the observation runs the program's parts, so that a fault shows in it. An
    observation that comes as a `Finding` brings its own expectation, in place of `expected`.
    """

    name: str
    group: Group
    source: str
    expected: Value
    observe: Callable[[Trial], Value | Finding]
    tolerance: float = 0.0
    on_parts: bool = False

    def run(self, trial: Trial) -> Outcome:
        """Observe, and time it. An observation that breaks down refutes its claim."""
        start = time.perf_counter()
        expected = self.expected
        try:
            seen = self.observe(trial)
            if isinstance(seen, Finding):
                expected, observed = _as_value(seen.expected), _as_value(seen.observed)
            else:
                observed = seen
        except Exception as error:  # broken parts may fail in any way, and each is a finding
            observed = f"{type(error).__name__}: {error}"
        elapsed_s = time.perf_counter() - start
        holds = agree(expected, observed, self.tolerance)
        return Outcome(self, expected, observed, holds, elapsed_s)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check that was run: expected, seen, whether the claim holds, and how long it took."""

    check: Check
    expected: Value
    observed: Value
    holds: bool
    time_s: float

    @property
    def verdict(self) -> str:
        """The mark and the word: "✓ holds" or "✗ fails"."""
        return "✓ holds" if self.holds else "✗ fails"

    def row(self) -> dict[str, object]:
        """The outcome as names and values that JSON can hold; infinity as a text."""
        return {
            "name": self.check.name,
            "group": self.check.group,
            "source": self.check.source,
            "expected": _plain(self.expected),
            "observed": _plain(self.observed),
            "tolerance": self.check.tolerance,
            "holds": self.holds,
            "time_s": self.time_s,
        }


def agree(expected: Value, observed: Value, tolerance: float) -> bool:
    """Whether two values are the same, numbers within `tolerance`, element by element.

    Worked values: ((1.53, "a"), (1.5306, "a")) agree within 0.005; a number and a text never do.
    """
    if isinstance(expected, tuple) and isinstance(observed, tuple):
        return len(expected) == len(observed) and all(
            agree(one, other, tolerance) for one, other in zip(expected, observed, strict=True)
        )
    if isinstance(expected, int | float) and isinstance(observed, int | float):
        return expected == observed or abs(expected - observed) <= tolerance
    return type(expected) is type(observed) and expected == observed


def words(value: Value, limit: int = 60) -> str:
    """A value as a table prints it, cut to `limit` characters.

    Worked values: True → "yes"; 12.294967296 → "12.294967296"; (3, 7) → "3, 7"; () → "nothing".
    """
    text = _words(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tolerance_words(check: Check) -> str:
    """The tolerance of a check as a table prints it: "exact" or "± 0.02"."""
    return "exact" if check.tolerance == 0 else f"± {words(check.tolerance)}"


def run_checks(
    checks: Iterable[Check],
    trial: Trial,
    report: Callable[[int], bool] = lambda _: True,
) -> tuple[Outcome, ...]:
    """Run checks in order. `report` is told how many are done, and stops the rest by saying False.

    Worked value: all of them on a sound trial hold.
    """
    outcomes: list[Outcome] = []
    for check in checks:
        if not report(len(outcomes)):
            break
        outcomes.append(check.run(trial))
    return tuple(outcomes)


def _words(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_words, value)) if value else "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # A whole number keeps every digit even where a float carries it.
    whole = abs(value) < 1e15 and value == int(value)
    return (f"{int(value):,}" if whole else f"{value:,.11g}").replace("-", "−")


def _as_value(seen: object) -> Value:
    """What a claim of the pool expects or sees, as a value; lists count as tuples."""
    if isinstance(seen, list | tuple):
        return tuple(_as_value(part) for part in seen)
    return seen if isinstance(seen, int | float | str) else repr(seen)


def _plain(value: Value) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value if not isinstance(value, float) or math.isfinite(value) else _words(value)
