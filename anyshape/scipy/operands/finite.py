"""Checks of SciPy's functions that arrays have no infinity and no NaN, which `check_finite=False` leaves out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from anyshape import numpy as xp
from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.promotion import is_traced
from anyshape.transforms.control import check

F = TypeVar("F", bound=Callable[..., Any])


def require_finite(name: str, *arrays: Any) -> None:
    """Check in each run, or at once for known arrays, that their elements are finite; members of tuples are arrays."""
    for x in arrays:
        if isinstance(x, tuple):
            require_finite(name, *x)
        elif x is not None:
            array = x if isinstance(x, Traced) else xp.asarray(x)
            if array.dtype.kind in "fc":
                check(xp.isfinite(array), f"{name}: an array must not contain infs or NaNs")


def checks_finite(function: F, names: str) -> F:
    """Return a function that checks traced arguments of these names, unless its option `check_finite` is false.

    A call without traced arguments is SciPy's, which checks its own.
    """
    signature = inspect.signature(function)
    default = signature.parameters.get("check_finite")
    checks = True if default is None else default.default in (True, None)

    @functools.wraps(function)
    def served(*args: Any, **kwargs: Any) -> Any:
        if is_traced(*args, *kwargs.values()):
            named = signature.bind(*args, **kwargs).arguments
            if {**kwargs, **named}.get("check_finite", checks) is not False:
                require_finite(function.__name__, *map(named.get, names.split()))
        return function(*args, **kwargs)

    return cast("F", served)
