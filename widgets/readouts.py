"""A readout: one big number with its label, its unit and the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.derivation import Derivation


@dataclass(frozen=True, slots=True)
class Readout:
    """`key` names it in links, tests and covers; `steps` are the derivations, last one last."""

    key: str
    label: str
    number: str
    unit: str = ""
    steps: Sequence[Derivation] = ()
    role: str = "ink"

    def shown(self) -> dict[str, str]:
        """What travels to the page on every change."""
        return {
            "key": self.key,
            "label": self.label,
            "number": self.number,
            "unit": self.unit,
            "role": self.role,
        }

    def arithmetic(self) -> list[dict[str, str]]:
        """The shown arithmetic; it travels only while the reader has it open."""
        return [
            {
                "name": step.name,
                "formula": step.formula_mathml,
                "substituted": step.substituted_mathml,
                "text": f"{step.formula} = {step.substituted} = {step.result}",
            }
            for step in self.steps
        ]
