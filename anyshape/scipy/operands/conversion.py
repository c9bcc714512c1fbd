"""Conversion of operands to float64 without loss of imaginary parts, and the question whether they have elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
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
    for x in operands:
        ctx = context_of(name, x)
        for size in sizes(x):
            claim, scope = at_least(size, 1), ctx.scope
            variables = set(claim.variables())
            is_open = scope.hints is None or scope.is_of_run(claim) or not variables.isdisjoint(scope.dynamic_sizes)
            if is_open and scope.known(claim, user_line) is None:
                ctx.require(claim, "an array has an element")
            elif not scope.branch_on(claim, user_line()):
                return True
    return False


def require_elements(name: str, x: Any) -> None:
    """Require that an array has an element."""
    for size in sizes(x):
        context_of(name, x).require(at_least(size, 1), "an array has an element")
