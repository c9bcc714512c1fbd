"""NumPy's assertions of `numpy.testing` on traced arrays: checks when the program runs, with the caller's line.

Concrete arguments go to NumPy itself, and so do its other names.
"""

from collections.abc import Callable
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.numpy import elementwise as el
from anyshape.numpy.movement import broadcast_arrays
from anyshape.numpy.operands.promotion import as_traced, asarray, is_traced, sizes
from anyshape.numpy.reduction import all as all_of
from anyshape.numpy.serve import Module, falls_through
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of
from anyshape.support.packages import numpy_testing

__all__ = [
    "assert_", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal",
    "assert_array_less", "assert_equal",
]  # fmt: skip

_NUMPY = Module(numpy_testing, "numpy.testing")
__getattr__, __dir__ = _NUMPY.named, _NUMPY.public_names


def _compare(name: str, holds: Callable[[Any, Any], Any], x, y, err_msg: str, strict: bool) -> None:
    """Check that a relation holds for all elements; arrays have equal shapes, and a scalar is compared with each."""
    x, y = as_traced(asarray(x)), as_traced(asarray(y))
    context = context_of(name, x, y)
    if strict and (x.dtype != y.dtype or x.ndim != y.ndim):
        raise ArgumentError(name, "the arrays", f"are {x.meta} and {y.meta}", "convert one, or leave out strict")
    if x.ndim and y.ndim:
        if x.ndim != y.ndim:
            raise context.fail(f"arrays of {x.ndim} and {y.ndim} axes are compared")
        for a, b in zip(sizes(x), sizes(y), strict=True):
            context.require_equal(a, b, "arrays that are compared have equal shapes")
    check(all_of(holds(*broadcast_arrays(x, y))), f"{name}: {err_msg}" if err_msg else name)


def _or_nan(holds, x, y):
    """Return where a relation holds, or both are NaN."""
    return el.logical_or(holds, el.logical_and(el.not_equal(x, x), el.not_equal(y, y)))


@falls_through(numpy_testing)
def assert_(val: Any, msg: Any = "") -> None:
    """Check that all of a value is true when the program runs."""
    check(all_of(as_traced(val)), f"assert_: {msg}" if msg else "assert_")


@falls_through(numpy_testing)
def assert_allclose(
    actual: Any, desired: Any, rtol: Any = 1e-07, atol: Any = 0, equal_nan: bool = True, err_msg: Any = "",
    verbose: bool = True, *, strict: bool = False,
) -> None:  # fmt: skip
    """Check that arrays are close when the program runs: `abs(actual - desired) <= atol + rtol * abs(desired)`."""
    holds = lambda x, y: el.isclose(x, y, rtol, atol, equal_nan)
    _compare("assert_allclose", holds, actual, desired, err_msg, strict)


@falls_through(numpy_testing)
def assert_array_equal(actual, desired, err_msg="", verbose: bool = True, *, strict: bool = False) -> None:
    """Check that arrays are equal when the program runs; NaN equals NaN."""
    _compare("assert_array_equal", lambda x, y: _or_nan(el.equal(x, y), x, y), actual, desired, err_msg, strict)


def assert_equal(actual: Any, desired: Any, err_msg: Any = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Check that two arrays are equal when the program runs, or the arrays in dicts, lists and tuples."""
    if isinstance(desired, dict):
        numpy_testing.assert_equal({*actual}, {*desired}, err_msg)
        for key, value in desired.items():
            assert_equal(actual[key], value, err_msg, strict=strict)
    elif isinstance(desired, (list, tuple)) and isinstance(actual, (list, tuple)):
        numpy_testing.assert_equal(len(actual), len(desired), err_msg)
        for x, y in zip(actual, desired, strict=True):
            assert_equal(x, y, err_msg, strict=strict)
    elif not is_traced(actual, desired):
        numpy_testing.assert_equal(actual, desired, err_msg, verbose, strict=strict)
    else:
        _compare("assert_equal", lambda x, y: _or_nan(el.equal(x, y), x, y), actual, desired, err_msg, strict)


@falls_through(numpy_testing)
def assert_array_less(x: Any, y: Any, err_msg: Any = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Check that each element of x is less than that of y when the program runs."""
    _compare("assert_array_less", lambda x, y: _or_nan(el.less(x, y), x, y), x, y, err_msg, strict)


def _to_decimals(name: str, actual, desired, decimal, err_msg) -> None:
    _compare(name, lambda x, y: el.isclose(x, y, 0, 1.5 * 10.0 ** (-decimal), True), actual, desired, err_msg, False)


@falls_through(numpy_testing)
def assert_almost_equal(actual: Any, desired: Any, decimal: Any = 7, err_msg: Any = "", verbose: bool = True) -> None:
    """Check that arrays agree to a number of decimals when the program runs."""
    _to_decimals("assert_almost_equal", actual, desired, decimal, err_msg)


@falls_through(numpy_testing)
def assert_array_almost_equal(actual, desired, decimal=6, err_msg="", verbose: bool = True) -> None:
    """Check that arrays agree to a number of decimals when the program runs."""
    _to_decimals("assert_array_almost_equal", actual, desired, decimal, err_msg)
