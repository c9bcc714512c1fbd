"""Products, parts and transposes of stacks of matrices, for the derivatives of linear algebra."""

from typing import Any

from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.contraction import dot_general
from anyshape.ops.creation import iota
from anyshape.ops.reduction import reduce_sum


def positions(shape):
    """Return the row and the column of each element of matrices."""
    rank = len(shape)
    return [mv.broadcast_in_dim(iota(shape[axis]), shape, (axis,)) for axis in (rank - 2, rank - 1)]


def triangle(ctx: Any, a: Any, *, lower: Any, diagonal: Any) -> Any:
    """Return one triangle of matrices: the diagonal times `diagonal`, and zeros in the other triangle."""
    shape = ctx.shape(a)
    rows, columns = positions(shape)
    inside = ew.gt(rows, columns) if lower else ew.lt(rows, columns)
    zeros = ew.lift(0, a)
    on_diagonal = ew.select(ew.eq(rows, columns), ew.mul(a, ew.lift(diagonal, a)), zeros)
    return ew.select(inside, a, on_diagonal)


def product(ctx: Any, a: Any, b: Any) -> Any:
    """Return the product of two stacks of matrices."""
    rank = ctx.rank(a)
    batch = tuple(range(rank - 2))
    return dot_general(a, b, ((rank - 1,), (rank - 2,)), (batch, batch))


def swapped(ctx: Any, a: Any) -> Any:
    """Return the transposes of matrices."""
    rank = ctx.rank(a)
    return mv.transpose(a, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(ctx, a):
    """Return the conjugate transposes of matrices."""
    return conjugate(swapped(ctx, a))


def conjugate(a):
    return ew.conj(a) if a.dtype.kind == "c" else a


def hermitian_part(ctx, t):
    return ew.mul(ew.add(t, adjoint(ctx, t)), ew.lift(0.5, t))


def diagonal_of(ctx, a):
    """Return the diagonals of square matrices."""
    on_diagonal = ew.eq(*positions(ctx.shape(a)))
    return reduce_sum(ew.select(on_diagonal, a, ew.lift(0, a)), (ctx.rank(a) - 2,))


def first_columns(ctx, x, count):
    """Return the first columns of matrices."""
    shape = ctx.shape(x)
    return x if shape[-1] == count else mv.slice(x, [0] * len(shape), (*shape[:-1], count))


def by_columns(ctx, x, values):
    """Return values, one for each column, as matrices like x in its dtype."""
    rank = ctx.rank(x)
    return in_dtype_of(x, mv.broadcast_in_dim(values, ctx.shape(x), (*range(rank - 2), rank - 1)))


def in_dtype_of(x, y):
    """Return y in the dtype of x."""
    return y if x.dtype == y.dtype else ew.convert(y, x.dtype)
