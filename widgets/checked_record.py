"""What section 7 shows: every claim run, the matrix of faults, the sweep of seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.checks import CHECKS, GROUPS, Group, Matrix, Outcome, Trial, matrix, run_checks
from core.checks.sweep import LatencySweep, latency_sweep
from core.reference_program import Program
from core.sabotage import FAULTS, SOUND

Report = Callable[[float], bool]

ASSERTIONS, FIGURES, *_, OURS = GROUPS

# Shares of the bar that the three parts take, about as long as they last.
_CHECKS_END, _MATRIX_END = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class Record:
    """One run of everything. `mine` has the chosen seed alone, on the slots of the sweep."""

    fault: str
    seed: int
    outcomes: tuple[Outcome, ...]
    program: Program
    matrix: Matrix
    sweep: LatencySweep
    mine: LatencySweep

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The claims that do not hold."""
        return tuple(outcome for outcome in self.outcomes if not outcome.holds)

    @property
    def held(self) -> int:
        """How many claims hold."""
        return len(self.outcomes) - len(self.failed)


class Runner:
    """Runs everything, and keeps the matrix and the sweep of the last seed and slots."""

    def __init__(self) -> None:
        self._matrix: tuple[int, Matrix] | None = None
        self._sweep: tuple[object, LatencySweep] | None = None

    def run(self, fault: str, seed: int, slots: int, report: Report) -> Record | None:
        """Every claim anew; matrix and sweep where they changed. None where `report` stops it."""
        trial = Trial(fault, seed)
        share = _CHECKS_END / len(CHECKS)
        outcomes = run_checks(CHECKS, trial, lambda done: report(done * share))
        if len(outcomes) < len(CHECKS):
            return None
        if self._matrix is None or self._matrix[0] != seed:
            found = matrix(seed, _part(report, _CHECKS_END, _MATRIX_END))
            if found is None:
                return None
            self._matrix = seed, found
        batching = trial.parts.batching
        if self._sweep is None or self._sweep[0] != (slots, batching):
            sweep = latency_sweep(
                slots=slots, batching=batching, report=_part(report, _MATRIX_END, 1.0)
            )
            if sweep is None:
                return None
            self._sweep = (slots, batching), sweep
        mine = latency_sweep([seed], slots, batching)
        assert mine is not None  # nothing stops it
        return Record(fault, seed, outcomes, trial.program, self._matrix[1], self._sweep[1], mine)


@lru_cache(maxsize=32)
def record(fault: str = SOUND, seed: int = 9, slots: int = 8) -> Record:
    """The same, run once in a server's life: what a card shows before it has run anything."""
    found = Runner().run(fault, seed, slots, lambda _: True)
    assert found is not None  # nothing stops it
    return found


def _part(report: Report, start: float, end: float) -> Report:
    return lambda share: report(start + share * (end - start))


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A row of the drawn matrix: the claims it stands for, or the heading of a group (none)."""

    text: str
    group: Group
    claims: tuple[int, ...] = ()

    def cells(self, found: Matrix) -> list[bool]:
        """For each fault, whether a claim of this row catches it; empty for a heading."""
        if not self.claims:
            return []
        return np.any(found.caught[list(self.claims)], axis=0).tolist()

    def words(self, found: Matrix) -> str:
        """The row's name; a heading also says how many faults its group catches."""
        if self.claims:
            return self.text
        return f"{self.text}: {len(found.caught_by(self.group))} of {len(FAULTS)}"


def _matrix_rows() -> tuple[MatrixRow, ...]:
    """The program's figures in two rows, everything else claim by claim."""
    on_parts = [check for check in CHECKS if check.on_parts]

    def places(group: Group, lines: bool | None = None) -> list[int]:
        return [
            place
            for place, check in enumerate(on_parts)
            if check.group == group and lines in (None, check.name.startswith("line "))
        ]

    def whole(group: Group) -> list[MatrixRow]:
        names = {place: on_parts[place].name.rpartition(": ")[2] for place in places(group)}
        return [MatrixRow(name, group, (place,)) for place, name in names.items()]

    return (
        MatrixRow("assertions", ASSERTIONS),
        *whole(ASSERTIONS),
        MatrixRow("figures", FIGURES),
        MatrixRow("a line that it prints", FIGURES, tuple(places(FIGURES, True))),
        MatrixRow("a figure on the way", FIGURES, tuple(places(FIGURES, False))),
        MatrixRow("ours", OURS),
        *whole(OURS),
    )


MATRIX_ROWS = _matrix_rows()
