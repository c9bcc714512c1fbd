"""Say which functions give an array without axes where others give a scalar, as NumPy's do.

A sum, an element and the result of a ufunc are scalars in NumPy, and functions can ask: `np.isscalar(x)`. Functions
that make arrays give one without axes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.ops.elementwise import convert

F = TypeVar("F", bound=Callable[..., Any])


def makes_array(function: F) -> F:
    """Return a function whose results are arrays, also without axes."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return as_arrays(function(*args, **kwargs))

    return cast(F, wrapper)


def keeps_class(function: F) -> F:
    """Return a function that gives a scalar for a scalar of NumPy, and an array for anything else."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(a: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(a, *args, **kwargs)
        return result if is_numpy_scalar(a) else as_arrays(result)

    return cast(F, wrapper)


def keeps_number(function: F) -> F:
    """Return a function that gives a number for a number, and an array for an array."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(val: Any, *args: Any, **kwargs: Any) -> Any:
        return alike(function(val, *args, **kwargs), val)

    return cast(F, wrapper)


def alike(result: Any, x: Any) -> Any:
    """Return a result as an array, a scalar of NumPy or a Python number, as x is; of a bool it is an int."""
    if not isinstance(x, Traced) or not isinstance(result, Traced):
        return result
    if getattr(x, "weak", False):
        number: Any = convert(result, np.dtype(int)) if result.dtype.kind == "b" else result
        return number.as_weak()
    return as_arrays(result) if x.is_array else result.as_scalar()


def is_numpy_scalar(x: Any) -> bool:
    """Return whether x is a traced scalar of NumPy: neither an array nor a Python number."""
    return isinstance(x, Traced) and not x.is_array and not getattr(x, "weak", False)


def as_arrays(result: Any) -> Any:
    """Return a result, or the members of a tuple or list of them, as arrays."""
    if isinstance(result, (tuple, list)):
        return type(result)([as_arrays(x) for x in result])
    return result if not isinstance(result, Traced) or result.is_array else result.as_ndarray()
