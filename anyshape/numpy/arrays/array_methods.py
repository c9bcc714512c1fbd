"""Build the methods of the traced array: operators, methods of ndarray, and refusals of what a program cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from anyshape.errors import ConcretizationError, MutationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.arrays.dispatch import NAMESPACE
from anyshape.numpy.arrays.foreign_operands import compared, is_foreign
from anyshape.numpy.operands.promotion import cast_operand, is_weak
from anyshape.numpy.operands.python_ints import are_python_ints, of_python_ints
from anyshape.numpy.sizes.size_operands import check_divisor
from anyshape.numpy.sizes.size_quotient import exactly
from anyshape.ops.core.apply import describe
from anyshape.support.true_types import has_type

_DIVISIONS = ("divide", "floor_divide", "remainder", "divmod")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_EXACT = ("divide", *_COMPARISONS)
_NO_OPERANDS = (str, bytes, dict, set, type(None))


def weakly(result: Any, *operands: Any) -> Any:
    """Return a result marked as weak if all operands are weak, since Python would give a Python scalar."""
    if not all(is_weak(x) for x in operands):
        return result
    return tuple(map(_as_weak, result)) if isinstance(result, tuple) else _as_weak(result)


def _as_weak(x: Any) -> Any:
    return x.as_weak() if hasattr(x, "as_weak") else x


def _as_int(x: Any) -> Any:
    """Return a Python number as it is and a bool as an int, as for Python: `True + True` is 2."""
    if isinstance(x, Traced) and x.dtype.kind == "b":
        x = NAMESPACE["astype"](x, int).as_weak()
    return int(x) if has_type(x, bool) else x


def binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a binary operator and its reflection."""
    compute = _computation(name)

    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, _NO_OPERANDS) or (name in _COMPARISONS and is_foreign(other)):
            return NotImplemented if self.weak else compared(name, self, other)
        if self.weak and name in _DIVISIONS:
            check_divisor(self, other)
        result = compute(self, other)
        if self.exact is not None and name in _EXACT:
            return result.with_exact(exactly(name, self.exact, getattr(other, "exact", other)))
        return result

    def backward(self: Any, other: Any) -> Any:
        if isinstance(other, _NO_OPERANDS):
            return NotImplemented
        result = compute(other, self)
        if self.exact is not None and name == "divide":
            return result.with_exact(exactly(name, other, self.exact))
        return result

    return forward, backward


def _computation(name: str) -> Callable[[Any, Any], Any]:
    """Return the function of a binary operator, which treats Python scalars as Python does."""
    keeps_bools = name.startswith(("bitwise", "divide")) or name in _COMPARISONS

    def compute(x: Any, y: Any) -> Any:
        if is_weak(x) and is_weak(y):
            x, y = (x, y) if keeps_bools else (_as_int(x), _as_int(y))
            if are_python_ints(name, x, y):
                return of_python_ints(name, x, y)
        chosen = _root_or_square(x, y) if name == "power" else None
        return weakly(NAMESPACE[name](x, y) if chosen is None else NAMESPACE[chosen](x), x, y)

    return compute


def _root_or_square(x: Any, y: Any) -> str | None:
    """Return the function that NumPy's `x ** y` calls for an exponent of Python, None where that is np.power.

    The square of an array of bools is an int8, and powers of complex arrays have other zeros and infinities.
    """
    if type(y) not in (int, float) or not isinstance(x, Traced):
        return None
    if type(y) is int and y == 2 and (x.is_array or x.dtype.kind not in "bc"):
        return "square"
    if x.dtype.kind == "c" and x.is_array:
        return {(int, -1): "reciprocal", (float, 0.5): "sqrt"}.get((type(y), y))
    return None


def unary(name: str) -> Callable[..., Any]:
    """Return a unary operator.

    Its result for a Python int that only uint64 holds may be negative: such an int is refused.
    """

    def operate(self: Any) -> Any:
        x = _as_int(self) if self.weak else self
        if x.weak and are_python_ints(name, x):
            return of_python_ints(name, x)
        if name == "invert" and x.weak and x.dtype.kind == "u":
            x = cast_operand(x, np.dtype(int))
        return weakly(NAMESPACE[name](x), self)

    return operate


def method(name: str) -> Callable[..., Any]:
    """Return the method of ndarray that is the function of the same name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return NAMESPACE[name](self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"Return `anyshape.numpy.{name}` of this array; the arguments follow it."
    return method


def valueless(request: str, instead: str = "") -> Callable[..., Any]:
    """Return a method that needs the value of the array, which is unknown while tracing."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        if self.builder.closed:
            raise self.leaked()
        raise ConcretizationError(request, describe(self), user_line(), instead)

    return method


def from_sizes(request: str, of_sizes: Callable[[Any], Any], instead: str = "") -> Callable[..., Any]:
    """Return a method that needs the value, which a size or a quotient of sizes has."""
    refuse = valueless(request, instead)
    return lambda self: refuse(self) if self.exact is None else of_sizes(self.exact)


def missing(name: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that has no counterpart."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedFunctionError(f"x.{name}()", "has no counterpart on traced arrays", instead, user_line())

    return method


def mutating(request: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that changes the array in a way that a program cannot."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise MutationError(request, "a traced array cannot be changed so", instead, user_line())

    return method


def axes_or_sizes(args: tuple[Any, ...]) -> Any:
    """Return the argument of `x.reshape(2, 3)` or `x.reshape((2, 3))`, which mean the same."""
    return args[0] if len(args) == 1 and (args[0] is None or not _is_size(args[0])) else args


def _is_size(x: Any) -> bool:
    return has_type(x, (int, np.integer, SymbolicSize))
