"""Conversion of operands to float64 without loss of imaginary parts, and the question whether they have elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops.core.apply import context_of


def real_floats(x: Any) -> Any:
    """Return a real operand in float64. A complex one raises DTypeError: a cast would drop its imaginary part."""
    array = xp.asarray(x)
    if array.dtype.kind == "c":
        raise DTypeError("scipy", f"a traced operand is {array.dtype}", "pass its real part", user_line())
    return array.astype(np.float64)


def is_empty(name: str, *operands: Any) -> bool:
    """Return whether a traced operand has no element, which decides on its sizes.

    Sizes that no call decides, and those that were declared to stay dynamic, are required to be at least 1.
    """
    return not all(_is_at_least(name, x, size, 1, "an array has an element") for x in operands for size in sizes(x))


def _is_at_least(name: str, x: Any, size: Size, least: int, why: str) -> bool:
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
