"""Conversion of operands to float64 without loss of imaginary parts, checks of them, and results of solvers.

Checks of SciPy's functions that arrays have no infinity and no NaN can be left out by `check_finite=False`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import DTypeError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import is_traced, result_type, sizes
from anyshape.ops.core.apply import context_of
from anyshape.tracing.pytrees import register_class
from anyshape.transforms.control import check


def real_floats(x: Any) -> Any:
    """Return a real operand in float64. A complex one raises DTypeError: a cast would drop its imaginary part."""
    array = xp.asarray(x)
    if array.dtype.kind == "c":
        raise DTypeError("scipy", f"a traced operand is {array.dtype}", "pass its real part", user_line())
    return array.astype(np.float64)


def floats(x: Any) -> Any:
    """Return an operand as floats or complex numbers: integers and bools count as float64."""
    x = xp.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(result_type(x, 1.0))


def is_empty(name: str, *operands: Any) -> bool:
    """Return whether a traced operand has no element, which decides on its sizes.

    Sizes that no call decides, and those that were declared to stay dynamic, are required to be at least 1.
    """
    return not all(_is_at_least(name, x, size, 1, "an array has an element") for x in operands for size in sizes(x))


def _is_at_least(name: str, x, size: Size, least: int, why: str) -> bool:
    """Return whether a size of x is at least so large, which decides on it; one that stays open is required to be."""
    ctx, claim = context_of(name, x), at_least(size, least)
    scope, variables = ctx.scope, set(claim.variables())
    is_open = scope.hints is None or scope.is_of_run(claim) or not variables.isdisjoint(scope.dynamic_sizes)
    if is_open and scope.known(claim, user_line) is None:
        ctx.require(claim, why)
        return True
    return scope.branch_on(claim, user_line())


def squeezed(name: str, x: Any) -> Any:
    """Return a vector, or its element where it has one alone, which decides on its size.

    A size that no call decides, or that was declared to stay dynamic, is required to be at least 2.
    """
    return x if _is_at_least(name, x, sizes(x)[0], 2, "the result keeps its axis for two elements or more") else x[0]


def require_elements(name: str, x: Any) -> None:
    """Require that an array has an element."""
    for size in sizes(x):
        context_of(name, x).require(at_least(size, 1), "an array has an element")


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
    def served(*args, **kwargs):
        if is_traced(*args, *kwargs.values()):
            try:
                named = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return function(*args, **kwargs)  # whose error has its name
            if {**kwargs, **named}.get("check_finite", checks) is not False:
                require_finite(function.__name__, *map(named.get, names.split()))
        return function(*args, **kwargs)

    return cast("F", served)


class Result(dict[str, Any]):
    """Dictionary whose entries are attributes too, as SciPy's results are; a tree that traced functions can return."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            problem = f"a result of a traced solver has no attribute {name!r}, only {', '.join(self)}"
            raise AttributeError(problem, name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return sorted(self)

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {value}" for name, value in self.items())


register_class(
    Result, lambda x: (tuple(x.values()), tuple(x)), lambda names, values: Result(zip(names, values, strict=True))
)


class FixedAttributes:
    """Object whose attributes are set once."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            problem = f"attribute {name!r} of {type(self).__name__} cannot be set again: make another one"
            raise AttributeError(problem, name=name, obj=self)
        object.__setattr__(self, name, value)
