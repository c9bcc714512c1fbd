"""Sizes and claims in the words of the caller: `x.shape[1] (3) must equal w.shape[0] (2)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from anyshape.errors import ShapeError
from anyshape.errors.messages import shortened
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import Call, DimVar, Size
from anyshape.graph.sizes.printing import unique_namer
from anyshape.support.lazy_namedtuple import NamedTuple

Values = Mapping[DimVar, int]
_LONGEST, _NOTES = 80, 4  # characters of a size, remarks on it


class OperandAxes(NamedTuple):
    """Axes that the two sides of a claim are read off: operand and axis of each, among so many `operands`."""

    operands: int
    left: tuple[int, int]
    right: tuple[int, int]

    def texts(self, texts: Sequence[str]) -> tuple[str, str]:
        """Return the sides as `w.shape[0]`, empty where the operand has no text."""
        if len(texts) != self.operands:
            return "", ""
        left, right = (f"{texts[i]}.shape[{axis}]" if texts[i] else "" for i, axis in (self.left, self.right))
        return left, right


class SizeNames:
    """Names of the variables of one program in messages.

    `sources` says where each is read, such as `x.shape[0]`. Variables in `undeclared` are called by their source; those
    that the user declared keep their name.
    """

    def __init__(self, sources: Mapping[DimVar, str] | None = None, undeclared: Collection[DimVar] = ()) -> None:
        self.sources: dict[DimVar, str] = dict(sources or {})
        self.undeclared: set[DimVar] = set(undeclared)
        labels = [str(v) for v in self.sources]
        texts = {str(v): self.sources[v] for v in self.sources if v in self.undeclared}
        self._texts = {label: text for label, text in texts.items() if labels.count(label) == 1}
        alternatives = "|".join(map(re.escape, sorted(self._texts, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![\w.])({alternatives})(?![\w'(@])") if alternatives else None

    def leaf(self, atom: Any) -> str:
        """Return the name of one variable."""
        return self.sources[atom] if atom in self.undeclared else str(atom)

    def origin(self, variable: DimVar) -> str:
        """Return where a declared variable is read, "" where its name says so."""
        source = self.sources.get(variable, "")
        plain = variable not in self.undeclared and source != str(variable) and not source.startswith("where ")
        return source if plain else ""

    def size(self, size: Size) -> str:
        """Return the size by where its variables are read."""
        return expr.show(size, self.leaf)

    def text(self, text: str) -> str:
        """Return a text about sizes with the labels of variables replaced."""
        return text if self._pattern is None else self._pattern.sub(lambda match: self._texts[match[0]], text)

    def by_name(self, values: Values) -> dict[str, int]:
        """Return the sizes by unique names, with a prime for each further variable of one name."""
        name = unique_namer(self.leaf)
        return {name(variable): size for variable, size in values.items()}

    def origins(self, values: Values) -> dict[str, str]:
        """Return where each size that has a declared name is read."""
        return {self.leaf(v): self.origin(v) for v in values if self.origin(v)}

    def quantity(self, size: Size, values: Values, axis: str = "") -> str:
        """Return the size with its number and, for declared names, where they are read: `n (3, from x.shape[0])`.

        `axis` is the text of the axis that a fixed size is read off.
        """
        if isinstance(size, int):
            return f"{axis} ({size})" if axis else str(size)
        number = _number(size, values)
        alone = expr.as_atom(size)
        notes = [str(number)] if number is not None else []
        for variable in expr.variables(size):
            if variable not in self.sources and str(variable) in _OF_DATA:
                notes.append(_OF_DATA[str(variable)])
            if self.origin(variable):
                notes.append(f"{'' if alone is variable else f'{variable} '}from {self.origin(variable)}")
        text = shortened(self.size(size), _LONGEST)
        return f"{text} ({', '.join(notes[:_NOTES])})" if notes else text

    def solve(self, size: Size, number: int, axis: str = "", *, at_least: bool = False) -> tuple[str, int] | None:
        """Return the axis that gives `size` its value, and the length of it for which `size` is `number`.

        None means that no such axis is known. With `at_least`, a larger value serves too. `axis` is the text of the
        axis that a fixed size is read off.
        """
        if isinstance(size, int):
            return (axis, number) if axis else None
        variable, *others = expr.variables(size)
        source, terms = self.sources.get(variable, ""), expr.terms_of(size)
        factor = terms.pop(((variable, 1),), 0)
        constant = terms.pop((), 0)
        if others or terms or factor < 1 or not source:
            return None
        quotient, remainder = divmod(number - constant, factor)
        exact = at_least or not remainder
        return (source, max(quotient + bool(remainder), 0)) if exact else None


def _number(size: Size, values: Values) -> int | None:
    """Return the size as a number, None where it has none."""
    if not all(v in values for v in expr.variables(size)):
        return None
    try:
        return evaluate(size, values_from(values))
    except (ZeroDivisionError, ShapeError):
        return None


_OF_DATA = {"count": "the number of true elements"}  # sizes that operations give, by their names
RELATIONS = {"broadcasts": "broadcasts with", "stretches": "is 1 or equals"}  # that Python has no operator for
_DEMAND = {
    "==": "{0} must equal {1}",
    "!=": "{0} must not be {1}",
    ">=": "{0} must be at least {1}",
    "broadcasts": "{0} must equal {1}, or one of them must be 1",
    "stretches": "{0} must be 1 or equal {1}",
}


class ClaimText:
    """Claim that does not hold, as the two lines of a message."""

    relation: str
    sides: tuple[Size, Size]
    names: SizeNames
    values: Values

    def __init__(self, relation: str, left: Size, right: Size, names: SizeNames, values: Values) -> None:
        self.relation, self.sides, self.names, self.values = relation, (left, right), names, values
        self.axes: tuple[str, str] = "", ""

    def located(self, axes: OperandAxes | None, operands: Callable[[], Sequence[str]]) -> ClaimText:
        """Return this text with fixed sizes called by the axes of the operands as written."""
        if axes is not None and any(isinstance(side, int) for side in self.sides):
            self.axes = axes.texts(operands())
        return self

    @property
    def is_spoken(self) -> bool:
        """True if some side is more than a bare number."""
        return any(not isinstance(side, int) for side in self.sides) or all(self.axes)

    def demand(self) -> str:
        """Return what must hold, with numbers."""
        divided = self._divided()
        if divided is not None:
            dividend, divisor = (self.names.quantity(size, self.values) for size in divided)
            return f"{dividend} must be divisible by {divisor}"
        sides = [self.names.quantity(s, self.values, axis) for s, axis in zip(self.sides, self.axes, strict=True)]
        return _DEMAND[self.relation].format(*sides)

    def claim(self) -> str:
        """Return the relation alone: `x.shape[1] == w.shape[0]`."""
        left, right = (self.names.size(s) for s in self.sides)
        return f"{left} {RELATIONS.get(self.relation, self.relation)} {right}"

    def _divided(self) -> tuple[Size, Size] | None:
        """Return dividend and divisor of a claim that a remainder is 0."""
        left, right = self.sides
        remainder = None if isinstance(left, int) else expr.as_atom(left)
        is_remainder = isinstance(remainder, Call) and remainder.function == "mod"
        if self.relation != "==" or isinstance(right, int) is False or right != 0 or not is_remainder:
            return None
        return remainder.args[0], remainder.args[1]  # type: ignore[union-attr]

    def advice(self) -> str:
        """Return the change to the sizes that makes the claim hold, "" where no single one does."""
        divided = self._divided()
        if divided is not None:
            return self._make_divisible(*divided)
        left, right = (_number(side, self.values) for side in self.sides)
        if left is None or right is None:
            return ""
        if self.relation == "!=":
            return self._change()
        if self.relation == ">=":
            least = self.names.solve(self.sides[0], right, self.axes[0], at_least=True)
            return self._change() if least is None else f"make {least[0]} at least {least[1]}"
        return self._make_equal(left, right)

    def _make_equal(self, left: int, right: int) -> str:
        """Return the advice to change one of two axes that must agree; they are `left` and `right` now."""
        solved = [
            self.names.solve(size, number, axis) for size, number, axis in zip(self.sides, (right, left), self.axes)
        ]
        choices = [choice for choice in reversed(solved) if choice is not None]
        if not choices:
            return self._make_alike() or self._make_stretchable(left, right)
        if len(choices) > len({axis for axis, _ in choices}):
            return self._make_alike() or self._change()
        if self.relation == "==":
            return "make " + ", or ".join([f"{axis} {n}" for axis, n in choices])
        axis, n = choices[0]
        return f"make {axis} {n}{' or 1' if n != 1 else ''}"

    def _make_alike(self) -> str:
        """Return the advice for two sizes that follow one axis and differ, as of slices that are off by one."""
        left, right = (set(expr.variables(side)) for side in self.sides)
        source = self.names.sources.get(next(iter(left)), "") if len(left) == 1 and left == right else ""
        return f"make both the same function of {source}" if source else ""

    def _make_stretchable(self, left: int, right: int) -> str:
        """Return the advice to change an axis of the values of an assignment, where they have a fixed size."""
        if self.relation != "stretches" or not isinstance(self.sides[0], int):
            return self._change()
        return f"make the axis of {left} elements {right}{' or 1' if right != 1 else ''} long"

    def _change(self) -> str:
        """Return the advice to change the axes that the claim depends on."""
        variables = dict.fromkeys(v for side in self.sides for v in expr.variables(side))
        sources = [self.names.sources.get(v, "") for v in variables]
        return f"change {' or '.join(sources)}" if 0 < len(sources) <= 3 and all(sources) else ""

    def _make_divisible(self, dividend: Size, divisor: Size) -> str:
        number, by = (_number(size, self.values) for size in (dividend, divisor))
        if number is None or not by or by < 0:
            return ""
        below = number - number % by
        return f"make {self.names.size(dividend)} a multiple of {by}, such as {below or 2 * by} or {below + by}"
