"""The handle that rules and passes compute with: a traced value with arithmetic operators on core ops."""

from __future__ import annotations

from typing import Any

from anyshape.graph.builder import Traced
from anyshape.ops import elementwise as ew


class Term(Traced):
    """A traced value in a rule: `1 - y * y` applies core ops; Python scalars take the dtype of the other operand."""

    __slots__ = ()

    def __neg__(self) -> Any:
        return ew.neg(self)

    def __add__(self, other: Any) -> Any:
        return ew.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return ew.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return ew.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return ew.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return ew.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return ew.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return ew.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ew.div(other, self)
