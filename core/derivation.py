"""Arithmetic that can be shown: one expression gives the formula, its values and its result.

A `Derivation` is built from terms with the usual operators. Because the printed formula, the
printed substitution and the number come from the same tree, they cannot disagree.

    >>> F = Term("F", 546_359_738_368, "FLOP")
    >>> P = Term("P", 312e12, "FLOP/s")
    >>> step = Derivation("compute side", "T_c", F / P, "s")
    >>> step.formula, step.substituted, step.result
    ('T_c = F ÷ P', '546,359,738,368 FLOP ÷ 312 TFLOP/s', '1.75 ms')
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from core import units

_ROUNDED = {"floor": ("⌊", "⌋"), "ceiling": ("⌈", "⌉")}
_PRECEDENCE = {"+": 1, "−": 1, "·": 2, "÷": 2, "^": 3}


class Expression:
    """A node of the tree; `value` is its number, `render` writes it as text or MathML."""

    __slots__ = ()

    @property
    def value(self) -> float:
        """The number this expression stands for, in base units."""
        raise NotImplementedError

    def text(self, *, values: bool) -> str:
        """Plain text of the formula, or with `values` of the numbers put in."""
        raise NotImplementedError

    def mathml(self, *, values: bool) -> str:
        """Presentation MathML of the same, without the enclosing <math>."""
        raise NotImplementedError

    def __add__(self, other: Expression | float) -> Expression:
        return Operation("+", self, as_expression(other))

    def __sub__(self, other: Expression | float) -> Expression:
        return Operation("−", self, as_expression(other))

    def __mul__(self, other: Expression | float) -> Expression:
        return Operation("·", self, as_expression(other))

    def __rmul__(self, other: float) -> Expression:
        return Operation("·", as_expression(other), self)

    def __rsub__(self, other: float) -> Expression:
        return Operation("−", as_expression(other), self)

    def __truediv__(self, other: Expression | float) -> Expression:
        return Operation("÷", self, as_expression(other))

    def __rtruediv__(self, other: float) -> Expression:
        return Operation("÷", as_expression(other), self)

    def __pow__(self, other: Expression | float) -> Expression:
        return Operation("^", self, as_expression(other))


@dataclass(frozen=True, slots=True)
class Term(Expression):
    """A named quantity: its symbol in the formula, its number and unit in the substitution.

    An underscore in `symbol` starts a subscript. Counts of bytes and FLOPs below 10¹⁵ print every
    digit, rates and times three significant figures.
    """

    symbol: str
    number: float
    unit: str = ""

    @property
    def value(self) -> float:
        return float(self.number)

    def text(self, *, values: bool) -> str:
        return self._shown() if values else self.symbol

    def mathml(self, *, values: bool) -> str:
        if values:
            return f"<mtext>{escape(self._shown())}</mtext>"
        return symbol_mathml(self.symbol)

    def _shown(self) -> str:
        if self.unit in ("FLOP", "B") and self.number == int(self.number) < 1e15:
            return f"{units.exact(self.number)} {self.unit}"
        if not self.unit or self.unit in ("tokens", "sequences"):
            whole = abs(self.number) < 1e15 and self.number == int(self.number)
            return units.exact(self.number) if whole else f"{self.number:,.4g}"
        return units.quantity(self.number, self.unit)


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A bare number of the formula, the same in both renderings."""

    number: float

    @property
    def value(self) -> float:
        return float(self.number)

    def text(self, *, values: bool) -> str:
        return units.exact(self.number)

    def mathml(self, *, values: bool) -> str:
        return f"<mn>{units.exact(self.number)}</mn>"


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """Two expressions joined by + − · ÷ or ^."""

    operator: str
    left: Expression
    right: Expression

    @property
    def value(self) -> float:
        a, b = self.left.value, self.right.value
        match self.operator:
            case "+":
                return a + b
            case "−":
                return a - b
            case "·":
                return a * b
            case "÷":
                return a / b if b else math.copysign(math.inf, a)
            case _:
                return float(a**b)

    def text(self, *, values: bool) -> str:
        left = self._side(self.left, self.left.text(values=values), right=False)
        right = self._side(self.right, self.right.text(values=values), right=True)
        sign = "×" if self.operator == "·" and values else self.operator
        return f"{left}^{right}" if sign == "^" else f"{left} {sign} {right}"

    def mathml(self, *, values: bool) -> str:
        left, right = self.left.mathml(values=values), self.right.mathml(values=values)
        if self.operator == "÷":
            return f"<mfrac><mrow>{left}</mrow><mrow>{right}</mrow></mfrac>"
        left = self._side(self.left, left, right=False)
        if self.operator == "^":
            return f"<msup><mrow>{left}</mrow><mrow>{right}</mrow></msup>"
        right = self._side(self.right, right, right=True)
        sign = "×" if self.operator == "·" and values else self.operator
        return f"{left}<mo>{sign}</mo>{right}"

    def _side(self, side: Expression, shown: str, *, right: bool) -> str:
        if not isinstance(side, Operation):
            return shown
        fraction = side.operator == "÷" and shown.startswith("<")
        ours, theirs = _PRECEDENCE[self.operator], _PRECEDENCE[side.operator]
        # a − (b − c) and a ÷ (b ÷ c) need the parentheses on the right, (a ^ b) ^ c on the left.
        regrouped = self.operator in "−÷" if right else self.operator == "^"
        loose = theirs < ours or (theirs == ours and regrouped)
        if not loose or fraction:
            return shown
        return f"<mo>(</mo>{shown}<mo>)</mo>" if shown.startswith("<") else f"({shown})"


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """max, min, floor or ceiling of expressions."""

    function: str
    arguments: tuple[Expression, ...]

    @property
    def value(self) -> float:
        numbers = [argument.value for argument in self.arguments]
        if self.function in _ROUNDED:
            whole = math.floor if self.function == "floor" else math.ceil
            return float(whole(numbers[0])) if math.isfinite(numbers[0]) else numbers[0]
        return max(numbers) if self.function == "max" else min(numbers)

    def text(self, *, values: bool) -> str:
        inside = ", ".join(argument.text(values=values) for argument in self.arguments)
        return f"{self.function}({inside})"

    def mathml(self, *, values: bool) -> str:
        inside = "<mo>,</mo>".join(argument.mathml(values=values) for argument in self.arguments)
        if self.function in _ROUNDED:
            left, right = _ROUNDED[self.function]
            return f"<mo>{left}</mo>{inside}<mo>{right}</mo>"
        return f"<mi>{self.function}</mi><mo>(</mo>{inside}<mo>)</mo>"


@dataclass(frozen=True, slots=True)
class Derivation:
    """One line of shown arithmetic: name, symbol, expression and the unit of its result."""

    name: str
    symbol: str
    expression: Expression
    unit: str = ""

    @property
    def value(self) -> float:
        """The result in base units."""
        return self.expression.value

    @property
    def formula(self) -> str:
        """The formula as text: "T_c = F ÷ P"."""
        return f"{self.symbol} = {self.expression.text(values=False)}"

    @property
    def substituted(self) -> str:
        """The formula with its values put in."""
        return self.expression.text(values=True)

    @property
    def result(self) -> str:
        """The result as the page prints it; counts of bytes and FLOPs with every digit."""
        return Term("", self.value, self.unit).text(values=True)

    @property
    def term(self) -> Term:
        """The result as a term of a further derivation."""
        return Term(self.symbol, self.value, self.unit)

    @property
    def formula_mathml(self) -> str:
        """The formula as a MathML element."""
        body = f"{symbol_mathml(self.symbol)}<mo>=</mo>{self.expression.mathml(values=False)}"
        return f"<math>{body}</math>"

    @property
    def substituted_mathml(self) -> str:
        """The values put in, and the result, as a MathML element."""
        return (
            f"<math><mo>=</mo>{self.expression.mathml(values=True)}"
            f"<mo>=</mo><mtext>{escape(self.result)}</mtext></math>"
        )


def maximum(*arguments: Expression) -> Expression:
    """The largest of the expressions, shown as max( … )."""
    return Call("max", arguments)


def minimum(*arguments: Expression) -> Expression:
    """The smallest of the expressions, shown as min( … )."""
    return Call("min", arguments)


def floor(argument: Expression) -> Expression:
    """The whole part, shown between floor brackets."""
    return Call("floor", (argument,))


def ceiling(argument: Expression) -> Expression:
    """The next whole number, shown between ceiling brackets."""
    return Call("ceiling", (argument,))


def total(expressions: list[Expression]) -> Expression:
    """The sum of one or more expressions."""
    result = expressions[0]
    for expression in expressions[1:]:
        result = result + expression
    return result


def as_expression(value: Expression | float) -> Expression:
    """A number becomes a constant; an expression stays what it is."""
    return value if isinstance(value, Expression) else Constant(value)


def symbol_mathml(symbol: str) -> str:
    """An identifier, with what follows an underscore as its subscript."""
    base, _, below = symbol.partition("_")
    mark = f"<mi>{escape(base)}</mi>"
    return f"<msub>{mark}<mi>{escape(below)}</mi></msub>" if below else mark
