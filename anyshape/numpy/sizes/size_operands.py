"""Read the operands of operators on sizes: integers, scopes, dtypes and divisors."""

import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, LeakedTracerError, ScopeMismatchError
from anyshape.graph.ir.builder import Traced, active_builders, user_line
from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import is_weak
from anyshape.support.true_types import has_type

INTEGERS = (int, np.integer, np.bool_)


def common_scope(a: SymbolicSize, b: SymbolicSize) -> Scope:
    """Return the scope of an operation on two sizes.

    The scope of a program takes precedence over the one it was declared in, and any scope over a free one.
    """
    if a.scope is b.scope:
        return a.scope
    if not a.scope.may_mix_with(b.scope):
        for size in (a, b):
            if size.scope.closed:
                raise LeakedTracerError(f"size {size}", where=user_line())
        raise ScopeMismatchError([str(a), str(b)], [a.scope.origin, b.scope.origin], user_line())
    return max(a.scope, b.scope, key=lambda s: (not s.free, s.root is not s, not s.closed))


def as_size(x: Any) -> Size | None:
    """Return an integer operand as a size; None for anything else."""
    if isinstance(x, SymbolicSize):
        return x.expr
    return int(x) if has_type(x, INTEGERS) else None


def known_size(x: Any) -> Size | None:
    """Return an integer operand as a size, as an int where its value is known; None for anything else."""
    return x.scope.normal(x.expr) if isinstance(x, SymbolicSize) else as_size(x)


def scope_of(*integers: Any) -> Scope:
    """Return the scope of an operation on integers; at least one must be symbolic."""
    symbolic = [x for x in integers if isinstance(x, SymbolicSize)]
    joint = symbolic[0]
    for size in symbolic[1:]:
        joint = SymbolicSize(joint.expr, common_scope(joint, size))
    return joint.scope


def joint_dtype(*integers: Any) -> Any:
    """Return the dtype of the NumPy integer to which integers promote; None for a Python int."""
    kinds = [numpy_dtype(x) for x in integers]
    if all(k is None for k in kinds):
        return None
    return np.result_type(*[0 if k is None else k for k in kinds])


def numpy_dtype(x: Any) -> Any:
    """Return the dtype of a NumPy integer, or of a size that stands for one; None for a Python int."""
    if isinstance(x, SymbolicSize):
        return x.numpy_dtype
    return x.dtype if has_type(x, np.generic) else None


def divided_by_zero(dtype: Any) -> Any:
    """Return 0, which NumPy's integers give, or raise Python's error."""
    if dtype is None:
        raise ZeroDivisionError("integer division or modulo by zero")
    return dtype.type(0)


def is_zero(divisor: Any, primitive: str, why: str) -> bool:
    """Return whether a divisor is 0.

    In a program a size that may be 0 becomes a guard. Without values of sizes, and for a run-time size, it becomes an
    assertion that it is not 0.
    """
    if not isinstance(divisor, SymbolicSize):
        return bool(divisor == 0)
    scope, size = divisor.scope, divisor.expr
    verdict = scope.decide(claim := Claim("!=", size, 0, f"{size} != 0"))
    if verdict is Verdict.UNKNOWN and not scope.closed:
        if scope.hints is not None and all(v in scope.hints for v in claim.variables()):
            return not scope.branch_on(claim, user_line())
        if any(b.scope is scope for b in active_builders()):
            scope.require(claim, primitive, why, (), user_line())
    return verdict is Verdict.NO


def check_divisor(a: Any, b: Any) -> None:
    """Raise Python's ZeroDivisionError where it divides its own numbers by 0.

    NumPy's numbers raise none: they give inf and nan.
    """
    if is_weak(a) and is_weak(b) and not isinstance(b, Traced) and is_zero(b, "divide", "division by zero"):
        raise ZeroDivisionError("division by zero")


INEXACT = (float, np.floating, complex, np.complexfloating)


def as_int(number: Any, whole: Callable[..., int]) -> Any:
    """Return the int that compares with sizes as a float does; the number itself if there is none."""
    if has_type(number, (complex, np.complexfloating)):
        if whole is not int:
            return number
        number = number.real if number.imag == 0 else math.nan
    if not math.isfinite(number) or (whole is int and number != int(number)):
        return number
    return whole(number)


def of_bits(operate: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return what an operator on bits gives: by arithmetic where an int allows it, else by the values of sizes."""
    if as_size(a) is None or as_size(b) is None:
        return NotImplemented
    if operate is operator.and_ and has_type(a, int):
        a, b = b, a
    if has_type(b, int) and 0 <= b < 2**62 and numpy_dtype(a) is None:
        if operate in _SHIFTS and b < 62:
            return _SHIFTS[operate](a, 2**b)
        if operate is operator.and_ and not b & (b + 1):  # all lower bits
            return a % (b + 1)
    return operate(_bits_of(a), _bits_of(b))


_SHIFTS: dict[Any, Callable[[Any, Any], Any]] = {operator.rshift: operator.floordiv, operator.lshift: operator.mul}


def _bits_of(x):
    return operator.index(x) if isinstance(x, SymbolicSize) else x


EXTREMES: dict[str, Callable[..., Any]] = {"max_dim": np.maximum, "min_dim": np.minimum}  # of integers of a program


def check_sizes(name: str, sizes: Sequence[Any]) -> None:
    """Refuse arguments of `max_dim` or `min_dim` that are not two or more sizes, or integers of the program."""
    for x in sizes:
        is_value = isinstance(x, Traced) and not x.meta.rank and x.dtype.kind in "iu"
        if as_size(x) is None and not is_value:
            raise ArgumentError(name, "an argument", f"is {x!r}, not a size", "pass ints and entries of x.shape")
    if len(sizes) < 2:
        raise ArgumentError(name, "the call", f"has {len(sizes)} arguments", f"pass sizes one by one: {name}(*x.shape)")


_NUMPY_CODE = ("numpy._core.fromnumeric", "numpy._core.numeric", "numpy.lib._type_check_impl")
_NEEDS_NO_VALUE = ("ndim", "shape", "size", "iscomplexobj", "isrealobj")
UFUNC_COMPARISONS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
_COMPARISONS = ("array_equal", "array_equiv")  # an error of a conversion means "not equal" to them


def is_reduced_by_numpy(frame: types.FrameType) -> bool:
    """Return whether the frame is NumPy's own code for a sum, prod, max or min of a list, its shape or a comparison."""
    if frame.f_globals.get("__name__") not in _NUMPY_CODE:
        return False
    name = frame.f_code.co_name
    reduced = name == "_wrapreduction" and isinstance(frame.f_locals.get("obj"), (list, tuple))
    return reduced or name in _NEEDS_NO_VALUE or is_compared_by_numpy(frame)


def is_compared_by_numpy(frame: types.FrameType) -> bool:
    """Return whether the frame compares arrays by a function of NumPy that hides errors of conversions."""
    return frame.f_code.co_name in _COMPARISONS and frame.f_globals.get("__name__") == "numpy._core.numeric"
