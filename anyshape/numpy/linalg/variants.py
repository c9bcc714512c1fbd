"""Define the functions of numpy.linalg that differ from functions of NumPy with the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ShapeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy import contraction, indexing
from anyshape.numpy.operands.promotion import as_traced
from anyshape.ops.core.apply import meta_of


def _matrices(name: str, x: Any) -> Any:
    """Return a stack of matrices."""
    stack = as_traced(x)
    if stack.ndim < 2:
        raise ShapeError(name, "the operand is no matrix", (meta_of(stack),), user_line())
    return stack


def _linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """Return diagonal `offset` of the matrices in the last two axes."""
    return indexing.diagonal(_matrices("diagonal", x), offset, -2, -1)


def _linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """Return the sum of diagonal `offset` of the matrices in the last two axes."""
    return indexing.trace(_matrices("trace", x), offset, -2, -1, dtype)


def _linalg_outer(x1: Any, x2: Any, /) -> Any:
    """Return the matrix of products of the elements of two vectors."""
    vectors = [as_traced(x) for x in (x1, x2)]
    if any(x.ndim != 1 for x in vectors):
        raise ShapeError("outer", "an operand is no vector", [meta_of(x) for x in vectors], user_line())
    return contraction.outer(*vectors)


FUNCTIONS = {
    np.linalg.diagonal: _linalg_diagonal,
    np.linalg.trace: _linalg_trace,
    np.linalg.outer: _linalg_outer,
}
