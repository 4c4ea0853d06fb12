"""Which claims notice which fault: every claim on the program's parts, run against every fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.checks.check import Check, Group, Trial
from core.sabotage import FAULTS


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """`caught[i, j]` says whether claim i fails with fault j inside, that is: notices it."""

    checks: tuple[Check, ...]
    faults: tuple[str, ...]
    caught: NDArray[np.bool_]

    def caught_by(self, group: Group) -> tuple[str, ...]:
        """The faults that at least one claim of a group notices."""
        rows = [check.group == group for check in self.checks]
        noticed = np.any(self.caught[rows], axis=0).tolist()
        return tuple(name for name, seen in zip(self.faults, noticed, strict=True) if seen)

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """One row a claim: its name and group, and for each fault "caught" or "missed"."""
        table: dict[str, NDArray[np.generic]] = {
            "claim": np.array([check.name for check in self.checks]),
            "group": np.array([check.group for check in self.checks]),
        }
        for index, fault in enumerate(self.faults):
            table[fault] = np.where(self.caught[:, index], "caught", "missed")
        return table


def sabotage_matrix(
    checks: Sequence[Check], seed: int, report: Callable[[float], bool] = lambda _: True
) -> Matrix | None:
    """Run `checks` on a trial for each fault. `report` is told the share done; False stops it.

    Returns None where it was stopped. Raises `ValueError` for a seed that is no xorshift32 state.
    """
    columns = []
    for index, fault in enumerate(FAULTS):
        if not report(index / len(FAULTS)):
            return None
        trial = Trial(fault.name, seed)
        columns.append([not check.run(trial).holds for check in checks])
    names = tuple(fault.name for fault in FAULTS)
    return Matrix(tuple(checks), names, np.array(columns, dtype=np.bool_).T)
