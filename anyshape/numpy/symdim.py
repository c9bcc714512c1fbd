"""What users see in `x.shape`: a size that behaves as an int. With floats and arrays it becomes an array value."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ScopeMismatchError, UnsupportedFunctionError
from anyshape.graph import dims
from anyshape.graph.builder import active_builders, user_line
from anyshape.graph.conditions import Claim, at_least, equal
from anyshape.graph.dims import Size
from anyshape.graph.scope import Scope, SymbolicSize
from anyshape.ops.creation import size_value

_SEQUENCES = (list, tuple, str, bytes)


def symdim(size: Size, scope: Scope) -> Any:
    """The size as users see it: an int when it is known, else a SymDim."""
    known = scope.normal(size)
    return known if isinstance(known, int) else SymDim(known, scope)


def common_scope(a: SymbolicSize, b: SymbolicSize) -> Scope:
    """The scope of what two sizes make: a program's rather than that it was declared in, any rather than a free one."""
    if a.scope is b.scope:
        return a.scope
    if not a.scope.related(b.scope):
        raise ScopeMismatchError([str(a), str(b)], [a.scope.origin, b.scope.origin], user_line())
    return max(a.scope, b.scope, key=lambda s: (not s.free, s.root is not s, not s.closed))


def _size(x: Any) -> Size | None:
    """An integer operand as a size; None for anything else."""
    if isinstance(x, SymbolicSize):
        return x.expr
    return int(x) if isinstance(x, (int, np.integer)) else None


def _arithmetic(combine: Callable[[Size, Size], Size], python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator and its reflection: a size with an integer, an array value with anything else."""

    def forward(self: SymDim, other: Any) -> Any:
        size = _size(other)
        if size is None and isinstance(other, _SEQUENCES):
            return NotImplemented
        return symdim(combine(self.expr, size), self.scope) if size is not None else python(self.as_array(), other)

    def backward(self: SymDim, other: Any) -> Any:
        size = _size(other)
        if size is None and isinstance(other, _SEQUENCES):
            return NotImplemented  # `[x] * n` repeats the list: Python asks for the int
        return symdim(combine(size, self.expr), self.scope) if size is not None else python(other, self.as_array())

    return forward, backward


_Claims = Callable[[Size, Size, str], Claim]


def _comparison(symbol: str, python: Callable[[Any, Any], bool], claim: _Claims, whole: Callable[..., int]) -> Any:
    """A question about two sizes, answered by the scope. `whole` is the int that answers for a float."""

    def compare(self: SymDim, other: Any) -> Any:
        if isinstance(other, (complex, np.complexfloating)) and whole is int:
            other = other.real if other.imag == 0 else math.nan
        if isinstance(other, (float, np.floating)):
            if not math.isfinite(other) or (whole is int and other != int(other)):
                return python(0, other)  # as for any int
            other = whole(other)
        mine, size = self.scope.normal(self.expr), _known(other)
        if size is None:
            return NotImplemented
        if isinstance(mine, int) and isinstance(size, int):
            return python(mine, size)
        scope = other.scope if isinstance(mine, int) else self.scope
        return scope.ask(claim(mine, size, f"{mine} {symbol} {size}"), user_line())

    return compare


def _known(x: Any) -> Size | None:
    """As `_size`, an int where the size is known to be one."""
    return x.scope.normal(x.expr) if isinstance(x, SymbolicSize) else _size(x)


def _bitwise(python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator on the bits of a size, which is asked for as an int, and its reflection."""

    def forward(self: SymDim, other: Any) -> Any:
        return NotImplemented if _size(other) is None else python(operator.index(self), operator.index(other))

    def backward(self: SymDim, other: Any) -> Any:
        return NotImplemented if _size(other) is None else python(operator.index(other), operator.index(self))

    return forward, backward


class SymDim(SymbolicSize):
    """A size that is an expression over unknown ones. Comparisons ask the scope."""

    __slots__ = ()
    __array_priority__ = 1000

    def __repr__(self) -> str:
        return str(self.expr)

    def __hash__(self) -> int:
        """In a program, sets and dictionaries ask for the int; a size of a specification is hashed by its name."""
        scope = self.scope
        traced = scope.closed or scope.hints is not None or any(b.scope is scope for b in active_builders())
        return hash(self.__index__() if traced else self.expr)

    def __index__(self) -> int:
        return self.scope.value(self.expr, user_line())

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return self.scope.ask(Claim("!=", self.expr, 0, f"{self.expr} != 0"), user_line())

    def as_array(self) -> Any:
        """The size as an integer scalar of the program, weak like a Python int."""
        value = size_value(self.expr)
        value.weak = True
        return value

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        advice = "use anyshape.numpy, as in anyshape.numpy.arange(n), or fix the size under a guard with int(n)"
        raise UnsupportedFunctionError("numpy", f"cannot make an array of the size {self}", advice, user_line())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        arrays = [x.as_array() if isinstance(x, SymDim) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    __add__, __radd__ = _arithmetic(dims.add, operator.add)
    __sub__, __rsub__ = _arithmetic(lambda a, b: dims.add(a, dims.mul(-1, b)), operator.sub)
    __mul__, __rmul__ = _arithmetic(dims.mul, operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(dims.floordiv, operator.floordiv)
    __mod__, __rmod__ = _arithmetic(dims.mod, operator.mod)
    __and__, __rand__ = _bitwise(operator.and_)
    __or__, __ror__ = _bitwise(operator.or_)
    __xor__, __rxor__ = _bitwise(operator.xor)
    __lshift__, __rlshift__ = _bitwise(operator.lshift)
    __rshift__, __rrshift__ = _bitwise(operator.rshift)
    __eq__ = _comparison("==", operator.eq, equal, int)
    __ne__ = _comparison("!=", operator.ne, lambda a, b, text: Claim("!=", a, b, text), int)
    __ge__ = _comparison(">=", operator.ge, at_least, math.ceil)
    __gt__ = _comparison(">", operator.gt, lambda a, b, text: at_least(a, dims.add(b, 1), text), math.floor)
    __le__ = _comparison("<=", operator.le, lambda a, b, text: at_least(b, a, text), math.floor)
    __lt__ = _comparison("<", operator.lt, lambda a, b, text: at_least(b, dims.add(a, 1), text), math.ceil)

    def __truediv__(self, other: Any) -> Any:
        return self.as_array() / _as_array(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _as_array(other) / self.as_array()

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, np.integer)) and other >= 0:
            return symdim(functools.reduce(dims.mul, [self.expr] * int(other), 1), self.scope)
        return self.as_array() ** _as_array(other)

    def __rpow__(self, other: Any) -> Any:
        return other ** self.as_array()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return symdim(dims.mul(-1, self.expr), self.scope)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return symdim(dims.maximum(self.expr, dims.mul(-1, self.expr)), self.scope)


def _as_array(x: Any) -> Any:
    return x.as_array() if isinstance(x, SymDim) else x
