"""What the functions that make, move and index arrays share: lifting to traced values, parts of an axis, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import asarray, sizes
from anyshape.ops import movement as mv


def lifted(x: Any, dtype: Any = None) -> Any:
    """x as a traced array, of its own dtype or of `dtype`; a concrete array is a constant of the program."""
    found = asarray(x, dtype)
    builder = active()
    return found if isinstance(found, Traced) or builder is None else builder.constant(found)


def dims_product(shape: Sequence[Size]) -> Size:
    """The number of elements of a shape."""
    total: Size = 1
    for size in shape:
        total = expr.mul(total, size)
    return total


def part(x: Any, axis: int, start: Size, size: Size) -> Any:
    """`size` elements of an axis from `start` on, which the caller knows to exist."""
    shape = sizes(x)
    starts = [start if i == axis else 0 for i in range(len(shape))]
    return mv.strided(x, starts, [size if i == axis else s for i, s in enumerate(shape)])


def diagonal_matrix(x: Any, k: Size) -> Any:
    """A matrix with the elements of a vector on diagonal k: rows of n + 1 elements, read as rows of n."""
    (n,) = sizes(x)
    rows = mv.pad(mv.expand(x, (1,)), (0, 0), (0, n))
    flat = mv.reshape(rows, (dims_product(sizes(rows)),))
    square = mv.reshape(mv.strided(flat, (0,), (expr.mul(n, n),)), (n, n))
    right, down = expr.maximum(k, 0), expr.maximum(expr.mul(-1, k), 0)
    return mv.pad(square, (down, right), (right, down))
