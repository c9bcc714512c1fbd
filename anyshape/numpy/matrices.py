"""Define NumPy's functions that make matrices: triangles, identities and diagonals, of symbolic sizes too."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.shapes.shape_context import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import ravel
from anyshape.numpy.operands.concrete import assignable
from anyshape.numpy.operands.promotion import as_traced, cast_operand, is_traced, new_size, size_of, sizes
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.support.true_types import has_type


def _offsets(rows: Size, columns: Size, k: Any) -> tuple[Any, Any]:
    """Return the row index plus k and the column index, each of shape (rows, columns)."""
    if k.meta.rank if isinstance(k, Traced) else not is_traced(k) and np.ndim(k):
        raise ArgumentError("a diagonal", f"k={k!r}", "is not an int", "name one diagonal")
    if has_type(k, (float, np.floating)) and k != int(k):
        raise ArgumentError("a diagonal", f"k={k!r}", "is not whole", "name one diagonal by an int")
    shape = (rows, columns)
    i = mv.broadcast_in_dim(cr.iota(rows), shape, (0,))
    j = mv.broadcast_in_dim(cr.iota(columns), shape, (1,))
    return ew.add(i, cast_operand(k, np.dtype(np.int64))) if not (has_type(k, int) and k == 0) else i, j


def _count(x: Any) -> Size:
    """Return a number of rows or columns as a size, 0 if it is negative."""
    return dy.size_from_count(x) if isinstance(x, Traced) else expr.maximum(size_of(x), 0)


@assignable
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Return a matrix with ones on and below diagonal k and zeros above it.

    Sizes and k may be symbolic or traced integer scalars. `like` has no effect.
    """
    if not is_traced(N, M, k):
        return np.tri(N, M, k, dtype, like=like)
    rows = _count(N)
    columns = rows if M is None else _count(M)
    return ew.convert(ew.ge(*_offsets(rows, columns, k)), dtype)


def _triangle(m: Any, k: Any, below: bool) -> Any:
    """Return the elements on and below diagonal k, or on and above it, with zeros elsewhere."""
    x = as_traced(m)
    if x.meta.rank == 1:
        x = mv.broadcast_to(x, (sizes(x)[0],) * 2)
    if x.meta.rank == 0:
        name = "tril" if below else "triu"
        raise ArgumentError(name, "m", "is a scalar", "pass an array with at least one axis")
    rows, columns = sizes(x)[-2:]
    i, j = _offsets(rows, columns, k)
    return ew.select(ew.ge(i, j) if below else ew.ge(j, i), x, cr.full((), 0, x.dtype))


@assignable
def tril(m: Any, k: Any = 0) -> Any:
    """Return the matrices of an array with zeros above diagonal k; a vector counts as each row of one."""
    return _triangle(m, k, True) if is_traced(m, k) else np.tril(m, k)


@assignable
def triu(m: Any, k: Any = 0) -> Any:
    """Return the matrices of an array with zeros below diagonal k; a vector counts as each row of one."""
    return _triangle(m, k, False) if is_traced(m, k) else np.triu(m, k)


@assignable
def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """Return a matrix with ones on diagonal k and zeros elsewhere; sizes may be symbolic.

    For symbolic sizes `order`, `device` and `like` have no effect.
    """
    if not is_traced(N, M, k):
        return np.eye(N, M, k, dtype, order, device=device, like=like)
    rows = new_size(N, "eye")
    columns = rows if M is None else new_size(M, "eye")
    return ew.convert(ew.eq(*_offsets(rows, columns, k)), dtype)


@assignable
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return the identity matrix with n rows; n may be symbolic. `like` has no effect."""
    dtype = float if dtype is None else dtype
    return eye(n, dtype=dtype) if is_traced(n) else np.identity(n, dtype, like=like)


@assignable
def diagflat(v: Any, k: Any = 0) -> Any:
    """Return a square matrix with the flattened elements of `v` on diagonal k and zeros elsewhere."""
    return diagonal_matrix(ravel(v), size_of(k)) if is_traced(v, k) else np.diagflat(v, k)


def diagonal_matrix(x: Any, k: Size) -> Any:
    """Return a matrix with the elements of a vector on diagonal k.

    It is built as rows of n + 1 elements that are read as rows of n.
    """
    (n,) = sizes(x)
    rows = mv.pad(mv.expand(x, (1,)), (0, 0), (0, n))
    flat = mv.reshape(rows, (numel(sizes(rows)),))
    square = mv.reshape(mv.strided(flat, (0,), (expr.mul(n, n),)), (n, n))
    right, down = expr.maximum(k, 0), expr.maximum(expr.mul(-1, k), 0)
    return mv.pad(square, (down, right), (right, down))
