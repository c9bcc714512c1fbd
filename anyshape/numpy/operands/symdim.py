"""What users see in `x.shape`: a size that behaves as an int. With floats and arrays it becomes an array value."""

from __future__ import annotations

import functools
import math
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, active_builders, keep_refusal, user_line
from anyshape.graph.prover.constraints import Claim, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.numpy.operands.promotion import enter
from anyshape.numpy.operands.size_operands import (
    INTEGERS,
    as_size,
    check_divisor,
    is_zero,
    joint_dtype,
    known_size,
    numpy_dtype,
    scope_of,
)
from anyshape.ops.creation import size_value
from anyshape.ops.elementwise import convert

_NUMBERS = (float, complex, np.generic, np.ndarray, Traced)
_WIDE = np.dtype(np.int64)


def symdim(size: Size, scope: Scope, numpy_dtype: Any = None) -> Any:
    """The size as users see it: an int when it is known, else a SymDim."""
    known = scope.normal(size)
    if isinstance(known, int):
        return known if numpy_dtype is None else numpy_dtype.type(known)
    return SymDim(known, scope, numpy_dtype)


# -- operators ---------------------------------------------------------------------------------------------------


def _combined(combine: Callable[[Size, Size], Size], python: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operator on a size and another operand: a size with an integer, an array value with anything else."""
    left, right = as_size(a), as_size(b)
    if left is None or right is None:
        numbers = isinstance(a if left is None else b, _NUMBERS)
        if numbers and combine in _DIVISIONS:
            check_divisor(a, b)
        return python(_as_array(a), _as_array(b)) if numbers else NotImplemented
    dtype = joint_dtype(a, b)
    if dtype is not None and dtype.kind not in "iu":
        return python(_as_array(a), _as_array(b))  # as int64 and uint64 make a float
    if not isinstance(a, SymbolicSize) and not isinstance(b, SymbolicSize):
        return python(a, b)
    if combine in _DIVISIONS and is_zero(b, "floordiv", "integer division or modulo by zero"):
        if dtype is not None:
            return dtype.type(0)  # what NumPy's integers give
        raise ZeroDivisionError("integer division or modulo by zero")
    return symdim(combine(left, right), scope_of(a, b), dtype)


_DIVISIONS = (expr.floordiv, expr.mod)


def _arithmetic(combine: Callable[[Size, Size], Size], python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator and its reflection."""

    def forward(self: SymDim, other: Any) -> Any:
        return _combined(combine, python, self, other)

    def backward(self: SymDim, other: Any) -> Any:
        return _combined(combine, python, other, self)

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
        mine, size = known_size(self), known_size(other)
        if size is None:
            return NotImplemented
        if isinstance(mine, int) and isinstance(size, int):
            return python(mine, size)
        scope = scope_of(self, other)
        if not scope.closed:
            verdict = scope.decide(claim(mine, size, ""))
            if verdict is not Verdict.UNKNOWN:
                return verdict is Verdict.YES
        return scope.ask(claim(mine, size, f"{mine} {symbol} {size}"), user_line())

    return compare


def _bitwise(python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator on the bits of a size, which is asked for as an int, and its reflection."""

    def forward(self: SymDim, other: Any) -> Any:
        return NotImplemented if as_size(other) is None else python(operator.index(self), _bits(other))

    def backward(self: SymDim, other: Any) -> Any:
        return NotImplemented if as_size(other) is None else python(_bits(other), operator.index(self))

    return forward, backward


def _bits(x: Any) -> Any:
    return operator.index(x) if isinstance(x, SymbolicSize) else x


class SymDim(SymbolicSize):
    """A size that is an expression over unknown ones. Comparisons ask the scope."""

    __slots__ = ()
    __array_priority__ = 1000

    def __repr__(self) -> str:
        return str(self.expr)

    def __format__(self, spec: str) -> str:
        """As its text; a format of numbers asks for the int."""
        try:
            return format(str(self), spec)
        except ValueError:
            return format(self.__index__(), spec)

    def __hash__(self) -> int:
        """In a program, sets and dictionaries ask for the int; a size of a specification is hashed by its name."""
        scope = self.scope
        traced = scope.closed or scope.hints is not None or any(b.scope is scope for b in active_builders())
        return hash(self.__index__() if traced else self.expr)

    def __copy__(self) -> SymDim:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymDim:
        return self

    def __reduce__(self) -> Any:
        return SymDim, (self.expr, self.scope, self.numpy_dtype)

    @property
    def lower(self) -> Bound:
        """The least value that it can have, as far as its scope knows; None if there is none."""
        return self.scope.lower(self.expr)

    @property
    def upper(self) -> Bound:
        """The greatest value that it can have, as far as its scope knows; None if there is none."""
        return self.scope.upper(self.expr)

    def __index__(self) -> int:
        try:
            return self.scope.value(self.expr, user_line())
        except TypeError as error:
            keep_refusal(self, error)
            raise

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return self.scope.ask(Claim("!=", self.expr, 0, f"{self.expr} != 0"), user_line())

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None or operator.index(digits) >= 0 else round(self.__index__(), digits)

    @property
    def real(self) -> Any:
        """The size."""
        return self

    numerator = real

    @property
    def imag(self) -> Any:
        """0."""
        return symdim(0, self.scope, self.numpy_dtype)

    @property
    def denominator(self) -> Any:
        """1."""
        return symdim(1, self.scope)

    def conjugate(self) -> Any:
        """The size."""
        return self

    def bit_length(self) -> int:
        """The number of bits of the int, which is asked for."""
        return self.__index__().bit_length()

    def bit_count(self) -> int:
        """The number of ones in the bits of the int, which is asked for."""
        return self.__index__().bit_count()

    def as_array(self) -> Any:
        """The size as an integer scalar of the program, weak like a Python int."""
        if active() is None and not self.scope.closed:
            problem = f"the size {self} has a value in a program only"
            advice = "use it in a function that is traced, or give it a value: shape.evaluate(n=3)"
            raise UnsupportedFunctionError("size", problem, advice, user_line())
        value = size_value(enter(self))
        if self.numpy_dtype is not None:
            return convert(value, self.numpy_dtype)
        value.weak, value.exact = True, self
        return value

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's sums and products of a list of sizes have it as an object, to which they apply `+` and `*`."""
        if _reduced_by_numpy(sys._getframe(1)):
            box = np.empty((), object)
            box[()] = self
            return box
        advice = "use anyshape.numpy, as in anyshape.numpy.arange(n), or fix the size under a guard with int(n)"
        raise UnsupportedFunctionError("numpy", f"cannot make an array of the size {self}", advice, user_line())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            if ufunc in _OF_INTEGERS and all(as_size(x) is not None for x in inputs):
                return _OF_INTEGERS[ufunc](*_as_numpy(inputs))
            numbers = [_python_number(x) for x in inputs] if ufunc in _QUESTIONS else [None]
            if all(x is not None for x in numbers):
                return _QUESTIONS[ufunc](*numbers)
        if method == "reduce" and ufunc in _REDUCTIONS and all(v is None for v in kwargs.values()):
            return _as_numpy(inputs)[0]
        return getattr(ufunc, method)(*map(_as_array, inputs), **kwargs)

    __add__, __radd__ = _arithmetic(expr.add, operator.add)
    __sub__, __rsub__ = _arithmetic(expr.sub, operator.sub)
    __mul__, __rmul__ = _arithmetic(expr.mul, operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(expr.floordiv, operator.floordiv)
    __mod__, __rmod__ = _arithmetic(expr.mod, operator.mod)
    __and__, __rand__ = _bitwise(operator.and_)
    __or__, __ror__ = _bitwise(operator.or_)
    __xor__, __rxor__ = _bitwise(operator.xor)
    __lshift__, __rlshift__ = _bitwise(operator.lshift)
    __rshift__, __rrshift__ = _bitwise(operator.rshift)
    __eq__ = _comparison("==", operator.eq, equal, int)
    __ne__ = _comparison("!=", operator.ne, lambda a, b, text: Claim("!=", a, b, text), int)
    __ge__ = _comparison(">=", operator.ge, at_least, math.ceil)
    __gt__ = _comparison(">", operator.gt, lambda a, b, text: at_least(a, expr.add(b, 1), text), math.floor)
    __le__ = _comparison("<=", operator.le, lambda a, b, text: at_least(b, a, text), math.floor)
    __lt__ = _comparison("<", operator.lt, lambda a, b, text: at_least(b, expr.add(a, 1), text), math.ceil)

    def __truediv__(self, other: Any) -> Any:
        check_divisor(self, other)
        return self.as_array() / _as_array(other)

    def __rtruediv__(self, other: Any) -> Any:
        check_divisor(other, self)
        return _as_array(other) / self.as_array()

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self, other) % modulus
        if not isinstance(other, INTEGERS):
            if type(other) is float and other < 0:
                check_divisor(1, self)
            return self.as_array() ** _as_array(other) if isinstance(other, (SymDim, *_NUMBERS)) else NotImplemented
        if other < 0:
            return 1 / self ** -int(other)
        return symdim(expr.power(self.expr, int(other)), self.scope, joint_dtype(self, other))

    def __rpow__(self, other: Any) -> Any:
        return other ** self.as_array()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return symdim(expr.mul(-1, self.expr), self.scope, self.numpy_dtype)

    def __invert__(self) -> Any:
        return symdim(expr.sub(-1, self.expr), self.scope, self.numpy_dtype)

    def __pos__(self) -> Any:
        return self

    __trunc__ = __floor__ = __ceil__ = __pos__

    def __abs__(self) -> Any:
        return symdim(expr.maximum(self.expr, expr.mul(-1, self.expr)), self.scope, self.numpy_dtype)


def _as_array(x: Any) -> Any:
    return x.as_array() if isinstance(x, SymDim) else x


# -- extremes ----------------------------------------------------------------------------------------------------


def max_dim(*sizes: Any) -> Any:
    """The largest of two or more sizes, ints or symbolic, without asking which one it is.

    >>> from anyshape import symbolic_shape
    >>> n, m = symbolic_shape("n, m", constraints=["n >= m"])
    >>> max_dim(n - 1, 3), max_dim(n, m)
    (max(n - 1, 3), n)
    """
    return _extreme("max_dim", sizes, expr.maximum, at_least)


def min_dim(*sizes: Any) -> Any:
    """The smallest of two or more sizes, ints or symbolic, without asking which one it is."""
    return _extreme("min_dim", sizes, expr.minimum, lambda a, b: at_least(b, a))


def _extreme(
    name: str, sizes: Sequence[Any], combine: Callable[..., Size], beats: Callable[[Size, Size], Claim]
) -> Any:
    for x in sizes:
        if as_size(x) is None:
            raise ArgumentError(name, "an argument", f"is {x!r}, not a size", "pass ints and entries of x.shape")
    if len(sizes) < 2:
        raise ArgumentError(name, "the call", f"has {len(sizes)} arguments", f"pass sizes one by one: {name}(*x.shape)")
    dtype = joint_dtype(*sizes)
    if not any(isinstance(x, SymbolicSize) for x in sizes):
        return symdim(combine(*[int(x) for x in sizes]), Scope(), dtype)
    scope = scope_of(*sizes)
    kept: list[Size] = []
    for size in [scope.normal(as_size(x)) for x in sizes]:
        if not any(scope.proves(beats(other, size)) for other in kept):
            kept = [other for other in kept if not scope.proves(beats(size, other))] + [size]
    return symdim(combine(*kept), scope, dtype)


# -- what NumPy's own functions ask -------------------------------------------------------------------------------


def _python_number(x: Any) -> Any:
    """A size as it is, a number as Python's; also in an array of no axes, as NumPy makes of its scalars to compare."""
    if isinstance(x, SymDim):
        return x
    kind = getattr(x, "dtype", np.result_type(x) if isinstance(x, (bool, int, float)) else None)
    if kind is None or kind.kind not in "biuf" or isinstance(x, Traced) or np.ndim(x):
        return None
    return float(x) if kind.kind == "f" else int(x)


def _as_numpy(operands: Sequence[Any]) -> list[Any]:
    """Operands of a ufunc: without any NumPy integer among them it takes Python's as int64."""
    if any(numpy_dtype(x) is not None for x in operands):
        return list(operands)
    return [SymDim(x.expr, x.scope, _WIDE) if isinstance(x, SymDim) else x for x in operands]


def _reduced_by_numpy(frame: types.FrameType) -> bool:
    """NumPy's own sum, prod, max or min of a list or tuple runs in the frame."""
    inside = frame.f_code.co_name == "_wrapreduction" and frame.f_globals.get("__name__") == "numpy._core.fromnumeric"
    return inside and isinstance(frame.f_locals.get("obj"), (list, tuple))


def is_shape(x: Any, axis: Any = None, *options: Any) -> bool:
    """A list of ints and sizes that is to be reduced along its one axis, without further options."""
    sizes = isinstance(x, (list, tuple)) and len(x) > 0 and all(as_size(s) is not None for s in x)
    return sizes and (axis is None or axis in (0, -1)) and all(o is None for o in options)


def reduce_sizes(ufunc: np.ufunc, sizes: Sequence[Any]) -> Any:
    """The sum, product, maximum or minimum of a list of sizes, as a NumPy integer."""
    return functools.reduce(_OF_INTEGERS[ufunc], map(_wide, sizes))


def _wide(x: Any) -> Any:
    """A size as NumPy takes it into an array."""
    return _as_numpy([x])[0] if isinstance(x, SymDim) else _WIDE.type(x)


class Sizes(tuple[Any, ...]):
    """A shape some of whose sizes are symbolic. NumPy's sum, prod, max and min of it call its methods of these names.

    They give a size, as the NumPy integer that NumPy makes of ints, and ask nothing.
    """

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """As `numpy.sum`."""
        return self._reduce(np.add, np.sum, {"axis": axis, "dtype": dtype, "out": out, **options})

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """As `numpy.prod`."""
        return self._reduce(np.multiply, np.prod, {"axis": axis, "dtype": dtype, "out": out, **options})

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """As `numpy.max`."""
        return self._reduce(np.maximum, np.max, {"axis": axis, "out": out, **options})

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """As `numpy.min`."""
        return self._reduce(np.minimum, np.min, {"axis": axis, "out": out, **options})

    def _reduce(self, ufunc: np.ufunc, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        given = {name: value for name, value in options.items() if value is not None}
        kind = np.dtype(given.get("dtype", _WIDE))
        if not (given.keys() <= {"axis", "dtype"} and is_shape(self, options["axis"]) and kind.kind in "iufc"):
            return function(tuple(self), **options)
        found = reduce_sizes(ufunc, self)
        if not isinstance(found, SymDim):
            return kind.type(found)
        return SymDim(found.expr, found.scope, kind) if kind.kind in "iu" else convert(found.as_array(), kind)

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        found = super().__getitem__(key)
        return type(self)(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return type(self)([*self, *other]) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return type(self)([*other, *self]) if isinstance(other, tuple) else NotImplemented


def as_shape(sizes: Sequence[Size], scope: Scope) -> tuple[Any, ...]:
    """A shape as users see it."""
    found = [symdim(s, scope) for s in sizes]
    return Sizes(found) if any(isinstance(s, SymDim) for s in found) else tuple(found)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return _combined(expr.floordiv, operator.floordiv, a, b), _combined(expr.mod, operator.mod, a, b)


_OF_INTEGERS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: functools.partial(_combined, expr.add, operator.add),
    np.subtract: functools.partial(_combined, expr.sub, operator.sub),
    np.multiply: functools.partial(_combined, expr.mul, operator.mul),
    np.floor_divide: functools.partial(_combined, expr.floordiv, operator.floordiv),
    np.remainder: functools.partial(_combined, expr.mod, operator.mod),
    np.divmod: _divmod,
    np.maximum: max_dim,
    np.minimum: min_dim,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
}
_QUESTIONS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
_REDUCTIONS = (np.add, np.multiply, np.maximum, np.minimum)
