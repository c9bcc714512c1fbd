"""Sizes and claims at many points at once: an array of values for each size, and where it is defined."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Size

_MOST_VALUES = 256  # of sizes, kept in arrays

Values: TypeAlias = Any  # an array of ints, and one of bools that says where they are defined
_TRUE = np.ones(1, bool)


def _broadcast(a: Values, b: Values) -> Values:
    (x, x_defined), (y, y_defined) = a, b
    return np.where(x == 1, y, x), x_defined & y_defined & ((x == y) | (x == 1) | (y == 1))


def _divided(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    def divide(a: Values, b: Values) -> Values:
        (x, x_defined), (y, y_defined) = a, b
        return function(x, np.where(y == 0, 1, y)), x_defined & y_defined & (y != 0)

    return divide


def _total(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    return lambda a, b: (function(a[0], b[0]), a[1] & b[1])


_EVALUATORS: dict[str, Callable[[Values, Values], Values]] = {
    "floordiv": _divided(np.floor_divide),
    "mod": _divided(np.mod),
    "max": _total(np.maximum),
    "min": _total(np.minimum),
    "broadcast": _broadcast,
}
_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    "broadcasts": lambda a, b: (a == b) | (a == 1) | (b == 1),
    "stretches": lambda a, b: (a == b) | (a == 1),
}


class Points:
    """Points, with an array of values for each variable. Values may overflow."""

    def __init__(self, columns: Mapping[DimVar, Any]) -> None:
        self.columns: dict[DimVar, Any] = dict(columns)
        self._values: dict[Size, Values] = {}

    def truth(self, claim: Claim) -> Values:
        """Return where the claim holds, and where it is defined."""
        (a, a_defined), (b, b_defined) = self.value(claim.left), self.value(claim.right)
        return _HOLDS[claim.relation](a, b), a_defined & b_defined

    def value(self, size: Size) -> Values:
        """Return the values of a size, and where they are defined."""
        if isinstance(size, int):
            return size, _TRUE
        values = self._values.get(size)
        if values is None:
            if len(self._values) >= _MOST_VALUES:
                self._values.clear()
            values = self._values[size] = self._evaluated(size)
        return values

    def _evaluated(self, size: Size) -> Values:
        total: Any = 0
        defined = _TRUE
        for monomial, coefficient in expr.terms_of(size).items():
            product: Any = coefficient
            for atom, power in monomial:
                value, is_defined = self._atom(atom)
                product, defined = product * value**power, defined & is_defined
            total = total + product
        return total, defined

    def _atom(self, atom: Any) -> Values:
        if isinstance(atom, Call):
            return functools.reduce(_EVALUATORS[atom.function], [self.value(a) for a in atom.args])
        return self.columns[atom], _TRUE
