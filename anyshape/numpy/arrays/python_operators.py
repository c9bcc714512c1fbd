"""Define Python's operators on numbers of Python in a program: they give Python's result or an error of the run.

Python's ints are unbounded, and a program holds them in 64 bits, where NumPy's arithmetic would wrap. Operators on
arrays do wrap. Python raises an error for a division by 0 and for a power that no float holds, where NumPy warns.
"""

import sys
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.errors.tracing_errors import check_error
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.prover.user_stack import is_in_try
from anyshape.numpy.operands.promotion import asarray, cast_operand
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.control import check
from anyshape.ops.elementwise import PYTHON_INTS, python_int
from anyshape.support.true_types import has_type

_BITS = range(-(2**63), 2**64)


def are_python_ints(name: str, *xs: Any) -> bool:
    """Return whether an operator may exceed int64 and its operands, which are weak, are all ints.

    A negative power does not count: for Python it is a float, which a literal exponent shows while tracing.
    Nor does the absolute value of an int that only uint64 holds.
    """
    if name == "power" and has_type(xs[1], int) and xs[1] < 0:
        return False
    if name == "absolute" and xs[0].dtype.kind == "u":
        return False
    return (name in PYTHON_INTS or name == "divmod") and all(_is_int(x) for x in xs)


def _is_int(x) -> bool:
    return x.dtype.kind in "iu" if isinstance(x, Traced) else has_type(x, (int, SymbolicSize))


def of_python_ints(name: str, *xs: Any) -> Any:
    """Return the result of the operator, which is weak like its operands."""
    if name == "divmod":
        return tuple([of_python_ints(part, *xs) for part in ("floor_divide", "remainder")])
    for x in xs:
        if has_type(x, int) and x not in _BITS:
            raise ArgumentError(name, "an operand", f"is {x}, which 64 bits do not hold", "use a float")
    operands = [asarray(x, np.result_type(x) if has_type(x, int) else None, name) for x in xs]
    return python_int(name, *operands).as_weak()


# -- errors of Python


def expect(condition: Any, message: str) -> None:
    """Let the run raise an error unless a condition holds. Where the user may catch it, Python raises its own one."""
    may_decide = not isinstance(condition, Traced) or condition.builder.answer is not None
    if not may_decide or not is_in_try(sys._getframe(1)):
        check(condition, message)
    elif not condition:  # a path of its own
        kinds = (ZeroDivisionError, OverflowError, ValueError)
        raise next(kind for kind in kinds if issubclass(check_error(message), kind))(message)


def expect_divisor(name: str, x: Any, y: Any) -> None:
    """Let the run raise an error where Python divides its own numbers by 0; literals are divisors that are known."""
    if name in _ZERO_DIVISIONS and isinstance(y, Traced):
        kinds = {_kind(x), _kind(y)}
        prefix = "complex " if "c" in kinds else "float " if "f" in kinds else ""
        expect(FUNCTIONS["not_equal"](y, 0), prefix + _ZERO_DIVISIONS[name])


def expect_power(name: str, x: Any, y: Any, result: Any) -> None:
    """Let the run raise an error where Python's power of its own numbers has no value among floats."""
    if name != "power" or not isinstance(result, Traced) or result.dtype.kind not in "fc":
        return
    is_literal = not isinstance(y, Traced) and _kind(y) != "c"
    if result.dtype.kind == "f":
        _expect_real_power(x, y, is_literal)
    else:
        is_positive = (FUNCTIONS["real"](y) >= 0) & FUNCTIONS["equal"](FUNCTIONS["imag"](y), 0)
        expect(FUNCTIONS["not_equal"](x, 0) | is_positive, "0.0 to a negative or complex power")
    if not (is_literal and 0 <= y <= 1):
        is_infinite = FUNCTIONS["isinf"](result) & _is_finite(x) & _is_finite(y)
        expect(~is_infinite, "Numerical result out of range")


def _expect_real_power(x: Any, y: Any, is_literal: bool) -> None:
    """Let the run raise an error where a power of real numbers is none; a literal exponent rules some out."""
    if not is_literal or y < 0:
        is_negative = FUNCTIONS["less"](y, 0) & _is_finite(y)
        expect(FUNCTIONS["not_equal"](x, 0) | ~is_negative, "0.0 cannot be raised to a negative power")
    if not is_literal or y % 1:
        is_negative = FUNCTIONS["less"](x, 0) & _is_finite(x)
        has_fraction = FUNCTIONS["greater"](y, FUNCTIONS["floor"](y))
        expect(~(is_negative & has_fraction), "a fractional power of a negative number is complex in Python")


def _is_finite(x: Any) -> Any:
    """Return whether a number is finite, which ints are."""
    return FUNCTIONS["isfinite"](x) if _kind(x) in "fc" else True


def _kind(x: Any) -> str:
    return x.dtype.kind if isinstance(x, Traced) else np.result_type(x).kind if has_type(x, _NUMBERS) else "i"


_NUMBERS = (float, complex)
_ZERO_DIVISIONS = {
    "divide": "division by zero",
    "floor_divide": "floor division by zero",
    "remainder": "modulo by zero",
    "divmod": "divmod()",
}


def whole(x: Any) -> Any:
    """Return a real scalar as an int of Python, without its fraction; a run refuses what is none."""
    if x.dtype.kind == "f":
        size = abs(x)
        expect(FUNCTIONS["equal"](x, x), "cannot convert float NaN to integer")
        expect(FUNCTIONS["not_equal"](size, np.inf), "cannot convert float infinity to integer")
        expect(FUNCTIONS["less"](size, 2.0**63), "Python int too large to convert to C long")
    return cast_operand(x, np.dtype(np.int64)).as_weak()
