"""Define the functions of numpy.linalg whose arguments differ from their namesakes in numpy.

Matrices are in the last two axes of stacks, and options are keywords.
"""

from typing import Any

from anyshape.errors import ShapeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy import contraction, indexing
from anyshape.numpy.linalg.solving import require_two_axes
from anyshape.numpy.operands.promotion import as_traced
from anyshape.numpy.serve import serve
from anyshape.ops.core.apply import meta_of


def _matrices(name: str, x):
    """Return a stack of matrices."""
    stack = as_traced(x)
    require_two_axes(name, stack.ndim)
    return stack


def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """Return diagonal `offset` of the matrices in the last two axes."""
    return indexing.diagonal(_matrices("diagonal", x), offset, -2, -1)


def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """Return the sum of diagonal `offset` of the matrices in the last two axes."""
    return indexing.trace(_matrices("trace", x), offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> Any:
    """Return the matrix of products of the elements of two vectors."""
    vectors = [as_traced(x) for x in (x1, x2)]
    if any(x.ndim != 1 for x in vectors):
        raise ShapeError("outer", "an operand is not a vector", [meta_of(x) for x in vectors], user_line())
    return contraction.outer(*vectors)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross products of the vectors of three elements along an axis."""
    return contraction.cross(x1, x2, axis=axis)


def matmul(x1: Any, x2: Any, /) -> Any:
    """Return the products of the matrices in the last two axes; operands of one axis are vectors."""
    return contraction.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Return the sums of products over axes of both operands, or over the last of one and the first of the other."""
    return contraction.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the inner products of the vectors along an axis; the first are conjugated."""
    return contraction.vecdot(x1, x2, axis=axis)


serve(__name__)
