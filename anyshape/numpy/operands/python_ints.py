"""Define Python's operators on ints that are arguments: they give Python's result or an error of the run.

Python's ints are unbounded, and a program holds them in 64 bits, where NumPy's arithmetic would wrap. Operators on
arrays do wrap.
"""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.promotion import asarray
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
