"""Declarations of Python's operators, for type checkers.

Classes that make their operators from tables assign several at once, which type checkers may infer differently. They
inherit the declared types from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Method: TypeAlias = Callable[..., Any]
Operator: TypeAlias = Callable[..., Any]


class Operators:  # noqa: PLW1641
    """Base of classes whose operators take and return anything. It defines none of them."""

    __slots__ = ()

    __add__: Operator
    __radd__: Operator
    __iadd__: Operator
    __sub__: Operator
    __rsub__: Operator
    __isub__: Operator
    __mul__: Operator
    __rmul__: Operator
    __imul__: Operator
    __truediv__: Operator
    __rtruediv__: Operator
    __itruediv__: Operator
    __floordiv__: Operator
    __rfloordiv__: Operator
    __ifloordiv__: Operator
    __mod__: Operator
    __rmod__: Operator
    __imod__: Operator
    __pow__: Operator
    __rpow__: Operator
    __ipow__: Operator
    __matmul__: Operator
    __rmatmul__: Operator
    __imatmul__: Operator
    __and__: Operator
    __rand__: Operator
    __iand__: Operator
    __or__: Operator
    __ror__: Operator
    __ior__: Operator
    __xor__: Operator
    __rxor__: Operator
    __ixor__: Operator
    __lshift__: Operator
    __rlshift__: Operator
    __ilshift__: Operator
    __rshift__: Operator
    __rrshift__: Operator
    __irshift__: Operator
    __divmod__: Operator
    __rdivmod__: Operator
    __eq__: Operator
    __ne__: Operator
    __lt__: Operator
    __le__: Operator
    __gt__: Operator
    __ge__: Operator
    __neg__: Operator
    __pos__: Operator
    __abs__: Operator
    __invert__: Operator
    __bool__: Operator
    __int__: Operator
    __float__: Operator
    __complex__: Operator
    __index__: Operator
    __floor__: Operator
    __ceil__: Operator
    __trunc__: Operator
