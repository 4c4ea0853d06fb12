"""What section 5's charts share: short columns, round axes, names on points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widgets.figures import Chart

SECOND_DASH = "dashed"


def put(chart: Chart, source: str, columns: Mapping[str, Any]) -> None:
    """Replace a source's data, numbers cut to five digits: a picture needs no more."""
    chart.replace(source, {name: _short(column) for name, column in columns.items()})


def put_rows(
    chart: Chart, source: str, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Replace a source's data row by row; no row empties it."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    put(chart, source, dict(zip(names, columns, strict=True)))


def axis_end(value: float) -> float:
    """The next of some round numbers, so that an axis seldom moves and has little to spare."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10]) * power
    return float(steps[np.searchsorted(steps, value * (1 - 1e-12))])


def _short(column: Any) -> list[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [float(f"{value:.5g}") if isinstance(value, float) else value for value in values]
