"""Define the norms of numpy.linalg, and its functions whose arguments differ from their namesakes in numpy.

Matrices are in the last two axes of stacks, and options are keywords.
"""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, ShapeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy import contraction, indexing
from anyshape.numpy.elementwise import multiply
from anyshape.numpy.linalg.decompositions import largest
from anyshape.numpy.linalg.solving import as_matrices, as_squares, inv, require_two_axes, slogdet
from anyshape.numpy.operands import reduction_args
from anyshape.numpy.operands.promotion import as_traced, asarray, axis_of, sizes
from anyshape.numpy.reduction import max as maximum
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import context_of, meta_of


def _inexact(a):
    """Return an operand as floats or complex numbers."""
    x = asarray(a)
    return x if x.dtype.kind in "fc" else ew.convert(x, np.dtype(np.float64))


def _euclidean(x, axes: tuple[int, ...]):
    """Return the square root of the sum of squares."""
    return ew.length(rd.reduce_sum(reduction_args.squared_magnitude(x), axes))


def _flat_power(x, exponent: float):
    """Return a power of x >= 0, whose derivatives are 0 where x is 0, as the ones of |x| are."""
    is_zero = ew.eq(x, ew.lift(0, x))
    return ew.select(is_zero, 0.0 if exponent > 0 else np.inf, ew.power_by(ew.select(is_zero, 1, x), exponent))


def _vector(x, order, axis: int):
    """Return the norm of each vector along the axis."""
    if order is None or order == 2:
        return _euclidean(x, (axis,))
    magnitudes = ew.absolute(x)
    if order == np.inf:
        return maximum(magnitudes, axis, initial=0)
    if order == -np.inf:
        return rd.reduce_min(magnitudes, (axis,))
    if order == 0:
        return rd.reduce_sum(ew.convert(ew.ne(x, ew.lift(0, x)), magnitudes.dtype), (axis,))
    if order == 1:
        return rd.reduce_sum(magnitudes, (axis,))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    powers = ew.power_by(magnitudes, order) if order > 2 else _flat_power(magnitudes, order)
    return _flat_power(rd.reduce_sum(powers, (axis,)), 1 / order)


def _matrix(x, order, rows: int, columns: int):
    """Return the norm of each matrix in the two axes."""
    if order is None or order in ("fro", "f"):
        return _euclidean(x, tuple(sorted((rows, columns))))
    if order in (1, -1, np.inf, -np.inf):
        summed, left = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = rd.reduce_sum(ew.absolute(x), (summed,))
        left -= summed < left
        return maximum(sums, left, initial=0) if order > 0 else rd.reduce_min(sums, (left,))
    if order in (2, -2, "nuc"):
        rest = [axis for axis in range(x.meta.rank) if axis not in (rows, columns)]
        values = la.svdvals(mv.transpose(x, (*rest, rows, columns)))
        if order == "nuc":
            return rd.reduce_sum(values, (len(rest),))
        return largest(values) if order == 2 else rd.reduce_min(values, (len(rest),))
    raise ValueError("Invalid norm order for matrices.")


@short_traceback
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of vectors along one axis, or of matrices in two.

    Without an axis and order it is the Euclidean norm of all elements. `keepdims` keeps reduced axes with size 1.
    """
    reduction_args.refuse_axis_kinds("norm", axis)
    value = _inexact(x)
    rank = value.ndim
    if axis is None:
        axis = tuple(range(rank))
        if _is_euclidean(ord, rank):
            return reduction_args.restore_axes(_euclidean(value, axis), axis, keepdims)
    chosen = tuple([axis_of(a, rank, "norm") for a in (axis if isinstance(axis, (tuple, list)) else (axis,))])
    if len(chosen) == 1:
        return reduction_args.restore_axes(_vector(value, ord, chosen[0]), chosen, keepdims)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        advice = "name the axes of a vector or matrix"
        raise ArgumentError("norm", f"axis {axis}", "does not name one or two axes", advice)
    return reduction_args.restore_axes(_matrix(value, ord, *chosen), tuple(sorted(chosen)), keepdims)


def _is_euclidean(order, rank: int) -> bool:
    """Return whether the norm of a whole array of this rank is the square root of the sum of squares."""
    return order is None or (rank == 2 and order in ("f", "fro")) or (rank == 1 and order == 2)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of the vectors along axes, which are flattened together; None takes all axes.

    `keepdims` keeps reduced axes with size 1.
    """
    reduction_args.refuse_axis_kinds("vector_norm", axis)
    value = _inexact(x)
    rank = value.ndim
    named = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(axis_of(a, rank, "vector_norm") for a in named))
    rest = [a for a in range(rank) if a not in axes]
    moved = mv.transpose(value, [*rest, *axes])
    vectors = mv.reshape(moved, (*[sizes(value)[a] for a in rest], reduction_args.count_along(value, axes)))
    return reduction_args.restore_axes(_vector(vectors, ord, len(rest)), axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of the matrices in the last two axes, by default the Frobenius norm.

    `keepdims` keeps reduced axes with size 1.
    """
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number of matrices in the last two axes: the ratio of extreme singular values.

    It is infinite for singular matrices. Other orders `p` are the product of the norms of x and of its inverse.
    """
    ctx = context_of("cond", x)
    for size in sizes(as_traced(x))[-2:]:
        ctx.require_at_least(size, 1, "the condition number of an empty matrix is not defined")
    infinite = _is_infinite(x)
    x = _unless(infinite, x)
    if p not in (None, 2, -2):
        return _infinite_unless_nan(x, infinite, _condition_by_norms(x, p))
    values = la.svdvals(as_matrices("cond", x))
    axis = values.meta.rank - 1
    extremes = rd.reduce_max(values, (axis,)), rd.reduce_min(values, (axis,))
    over, under = extremes[::-1] if p == -2 else extremes
    is_zero = ew.eq(under, ew.lift(0, under))
    ratio = ew.div(over, ew.select(is_zero, ew.lift(1, under), under))
    return _infinite_unless_nan(x, infinite, ew.select(is_zero, ew.lift(np.inf, ratio), ratio))


def _is_infinite(x):
    """Return for each matrix whether it has infinite elements and no NaN."""
    x = _inexact(x)
    axes = (x.meta.rank - 2, x.meta.rank - 1)
    return ew.logical_and(rd.reduce_or(ew.isinf(x), axes), ew.logical_not(rd.reduce_or(ew.isnan(x), axes)))


def _unless(infinite, x):
    """Return matrices with zeros in place of those that are infinite: they get no derivative, not NaN."""
    x = _inexact(x)
    across = mv.broadcast_in_dim(infinite, sizes(x), tuple(range(infinite.meta.rank)))
    return ew.select(across, ew.lift(0, x), x)


def _infinite_unless_nan(x, infinite, number):
    """Return condition numbers, infinite instead of NaN for matrices without NaN, as in NumPy."""
    rank = x.meta.rank
    missing = rd.reduce_or(ew.isnan(x), (rank - 2, rank - 1))
    caused = ew.logical_or(infinite, ew.logical_and(ew.isnan(number), ew.logical_not(missing)))
    return ew.select(caused, ew.lift(np.inf, number), number)


def _condition_by_norms(x, p):
    """Return the product of norms of matrices and their inverses, infinite for singular ones."""
    x = as_squares("cond", x)
    sign_of_determinant = slogdet(x)[0]
    singular = ew.eq(sign_of_determinant, ew.lift(0, sign_of_determinant))
    instead = mv.broadcast_to(reduction_args.identity_like(x), sizes(x))
    regular = ew.select(mv.broadcast_in_dim(singular, sizes(x), tuple(range(singular.meta.rank))), instead, x)
    product = multiply(norm(regular, p, (-2, -1)), norm(inv(regular), p, (-2, -1)))
    return ew.select(singular, ew.lift(np.inf, product), product)


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
