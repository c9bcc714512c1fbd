"""Derivatives of further factorisations, where they have one.

The source of a formula stands in its rule. Pivots and scales by powers of 2 have derivative zero, as they stay the same
near a matrix.

Batching of further factorisations: one more leading axis.

Derivatives of functions of matrices: N. J. Higham, "Functions of Matrices", 2008, theorems 3.1 and 3.6.

Batching of functions of matrices: one more leading axis.

Derivatives of LU factors and of banded solutions.

Source for factors: F. R. de Hoog et al., "Perturbation theory for the LU and QR factorizations", 2011.

Batching of linear systems: one more leading axis.
"""

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.equal_values import Decomposition
from anyshape.autodiff.rules.linalg import (
    Scaled,
    adjoint,
    cholesky_jvp,
    conjugate,
    decomposition,
    diagonal_of,
    first_columns,
    hermitian_part,
    in_dtype_of,
    near_of_eigh,
    positions,
    product,
    swapped,
    thin_qr_tangents,
    triangle,
    turned_vectors,
)
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import factorisations as fa
from anyshape.ops import indexing as ix
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.creation import full, size_value
from anyshape.ops.reduction import permute, reduce_or, reduce_sum


def _derivative_jvp(ctx, tangents, out, a, *directions, function):
    """Return the derivative along one more direction, and along tangents in place of directions."""
    of_matrix, *of_directions = tangents
    total = None if of_matrix is None else fa.matrix_function_derivative(a, *directions, of_matrix, function=function)
    for i, t in enumerate(of_directions):
        if t is not None:
            others = (*directions[:i], t, *directions[i + 1 :])
            total = tables.add_tangents(total, fa.matrix_function_derivative(a, *others, function=function))
    return total


def _derivative_back(ctx, ct, a, *directions, function):
    """Exchange the cotangent and the linear direction: traces of products of matrices allow it."""
    linear = [isinstance(e, tables.Linear) for e in directions]
    others = [swapped(ctx, ct) if flag else e for e, flag in zip(directions, linear, strict=True)]
    pulled = swapped(ctx, fa.matrix_function_derivative(a, *others, function=function))
    return None, *[pulled if flag else None for flag in linear]


def _sylvester_jvp(ctx, tangents, out, a, b, q):
    of_a, of_b, change = tangents
    for moved in (None if of_a is None else product(ctx, of_a, out), None if of_b is None else product(ctx, out, of_b)):
        change = change if moved is None else tables.add_tangents(change, ew.neg(moved))
    return fa.sylvester(a, b, change)


def no_derivative(name, advice="use eig or eigh, or give it stop_gradient(a)"):
    """Return the rule of a decomposition whose factors are not smooth."""

    def jvp(ctx, tangents, out, *operands, **params):
        raise UnsupportedFunctionError(name, "has no derivative", advice, ctx.where)

    return jvp


tables.JVPS[fa.matrix_function_op] = lambda ctx, ts, out, a, **params: fa.matrix_function_derivative(a, ts[0], **params)
tables.JVPS[fa.matrix_function_derivative_op] = _derivative_jvp
tables.TRANSPOSES[fa.matrix_function_derivative_op] = _derivative_back
tables.JVPS[fa.sylvester_op] = _sylvester_jvp
tables.TRANSPOSES[fa.sylvester_op] = lambda ctx, ct, a, b, q: (
    None,
    None,
    fa.sylvester(swapped(ctx, a), swapped(ctx, b), ct),
)
tables.JVPS[fa.schur_op] = no_derivative("schur")
tables.JVPS[fa.hessenberg_op] = no_derivative("hessenberg")

# -- QR with all columns of q, or with its reflections


def _first_rows(ctx, x, count):
    """Return the first rows of matrices."""
    shape = ctx.shape(x)
    return x if shape[-2] == count else mv.slice(x, [0] * len(shape), (*shape[:-2], count, shape[-1]))


def _rows_from(ctx, x, start):
    """Return the rows of matrices from one on."""
    *batch, rows, columns = ctx.shape(x)
    return mv.slice(x, (*[0] * len(batch), start, 0), (*batch, expr.sub(rows, start), columns))


def _unit(ctx, x):
    """Return ones on the diagonal, zeros elsewhere, like matrices x."""
    return ew.select(ew.eq(*positions(ctx.shape(x))), ew.lift(1, x), ew.lift(0, x))


def _with_zero_rows(ctx, x, rows):
    """Return matrices with zeros below them, so many rows in all."""
    *batch, now, columns = ctx.shape(x)
    below = full((*batch, expr.sub(rows, now), columns), 0, x.dtype)
    return mv.concatenate([x, below], ctx.rank(x) - 2)


def _complete_jvp(ctx, tangents, out, a):
    """Differentiate q = I - Y T Y^H, the product of reflections. Its first columns q1 determine the others.

    Y T Y1^H is E1 - q1: Ballard et al., "Reconstructing Householder vectors from Tall-Skinny QR", 2014.
    So the others are E2 + (E1 - q1) X, where (I - q11)^H X = q21^H. That matrix is singular where a column needs no
    reflection, and there is no derivative.
    """
    (t,) = tangents
    q, r = out
    rows, columns = ctx.shape(a)[-2:]
    count = expr.minimum(rows, columns)
    first = first_columns(ctx, q, count)
    of_first, of_r = thin_qr_tangents(ctx, t, first, _first_rows(ctx, r, count))
    top = _first_rows(ctx, first, count)
    has_more = mv.broadcast_in_dim(ew.gt(size_value(rows), size_value(columns)), ctx.shape(top), ())
    unit = _unit(ctx, top)
    matrix = ew.select(has_more, ew.sub(unit, top), unit)
    factor = la.solve(matrix, adjoint(ctx, _rows_from(ctx, first, count)), "C")
    turned = product(ctx, adjoint(ctx, _first_rows(ctx, of_first, count)), factor)
    change = la.solve(matrix, ew.add(adjoint(ctx, _rows_from(ctx, of_first, count)), turned), "C")
    further = ew.sub(product(ctx, ew.sub(_unit(ctx, first), first), change), product(ctx, of_first, factor))
    return mv.concatenate([of_first, further], ctx.rank(q) - 1), _with_zero_rows(ctx, of_r, rows)


def _raw_jvp(ctx, tangents, out, a):
    """Differentiate the factors Y W = E1 - q1 of reflections, for which the diagonal of W has their scales.

    The source is that of `_complete_jvp`. Y is lower triangular with ones on its diagonal, W upper triangular.
    """
    (t,) = tangents
    rows, columns = ctx.shape(a)[-2:]
    count, axis = expr.minimum(rows, columns), ctx.rank(a) - 2
    q, r = la.qr(a)
    of_q, of_r = thin_qr_tangents(ctx, t, q, r)
    below = triangle(ctx, first_columns(ctx, out[0], count), lower=True, diagonal=0)
    lower = ew.add(below, _unit(ctx, below))
    square, under = _first_rows(ctx, lower, count), _rows_from(ctx, lower, count)
    scaled = ew.sub(_unit(ctx, q), q)

    def after_lower(x):
        return la.triangular_solve(square, x, lower=True, unit=True)

    upper = triangle(ctx, after_lower(_first_rows(ctx, scaled, count)), lower=False, diagonal=1)
    change = ew.neg(of_q)
    front = after_lower(_first_rows(ctx, change, count))
    divisor = _with_safe_corner(ctx, upper, rows, columns)
    inner = triangle(ctx, _solved_right(ctx, divisor, front), lower=True, diagonal=0)
    of_upper = triangle(ctx, ew.sub(front, product(ctx, inner, upper)), lower=False, diagonal=1)
    of_square = product(ctx, square, inner)
    rest = ew.sub(_rows_from(ctx, change, count), product(ctx, under, of_upper))
    of_below = mv.concatenate([of_square, _solved_right(ctx, divisor, rest)], axis)
    beside = swapped(ctx, _with_zero_rows(ctx, swapped(ctx, of_below), columns))
    packed = ew.add(_with_zero_rows(ctx, of_r, rows), beside)
    return packed, diagonal_of(ctx, of_upper)


def _with_safe_corner(ctx, upper, rows, columns):
    """Return upper triangular matrices with the last diagonal element increased by 1 where no rows are below it.

    It divides a column of zeros there, and LAPACK gives 0 for it.
    """
    row, column = positions(ctx.shape(upper))
    last = size_value(expr.sub(ctx.shape(upper)[-1], 1))
    corner = ew.logical_and(ew.eq(row, column), ew.eq(row, mv.broadcast_in_dim(last, ctx.shape(upper), ())))
    no_rows = mv.broadcast_in_dim(ew.le(size_value(rows), size_value(columns)), ctx.shape(upper), ())
    one = ew.lift(1, upper)
    return ew.add(upper, ew.select(ew.logical_and(corner, no_rows), one, ew.lift(0, upper)))


def _solved_right(ctx, upper, x):
    """Return x U^-1."""
    return swapped(ctx, la.triangular_solve(upper, swapped(ctx, x), lower=False, form="T"))


# -- polar factors, and LDL


def _polar_jvp(ctx, tangents, out, a):
    """Solve (A U^H) dU + dU (U^H A) = dA - U dA^H U, which follows from U^H U = 1 or U U^H = 1 and A = U (U^H A).

    Equal singular values change nothing. For matrices without full rank U is not determined, and has derivative NaN.
    For square matrices: N. J. Higham, "Functions of Matrices", 2008, section 8.
    """
    (t,) = tangents
    back = adjoint(ctx, out)
    turned = product(ctx, out, product(ctx, adjoint(ctx, t), out))
    left, right = (hermitian_part(ctx, product(ctx, *pair)) for pair in ((a, back), (back, a)))
    change = fa.sylvester(left, right, ew.sub(t, turned))
    values = la.svdvals(a)
    axis = ctx.rank(values) - 1
    rounding = ew.lift(float(np.finfo(values.dtype).eps), values)
    bound = mv.broadcast_in_dim(reduce_sum(values, (axis,)), ctx.shape(values), tuple(range(axis)))
    lacks_rank = reduce_or(ew.le(values, ew.mul(rounding, bound)), (axis,))
    mask = mv.broadcast_in_dim(lacks_rank, ctx.shape(t), tuple(range(axis)))
    return ew.mul(change, ew.select(mask, ew.lift(np.nan, t), ew.lift(1, t)))


def _ldl_jvp(ctx, tangents, out, a, *, lower, hermitian):
    """Differentiate L D L^H = A for the pivots that were chosen: with K = L^-1 dL, L^-1 dA L^-H = K D + dD + D K^H.

    K has the triangle outside the blocks of D, as they are blocks of a unit matrix in L. The scheme is that of LU
    factors: F. R. de Hoog et al., "Perturbation theory for the LU and QR factorizations", 2011. D needs an inverse.
    """
    (t,) = tangents
    factor, middle, _ = out

    def turned(x):
        return adjoint(ctx, x) if hermitian else swapped(ctx, x)

    inner = turned(la.solve(factor, turned(la.solve(factor, t))))
    row, column = positions(ctx.shape(a))
    zeros = ew.lift(0, inner)
    in_block = ew.logical_or(ew.eq(row, column), ew.ne(middle, zeros))
    beyond = ew.gt(row, column) if lower else ew.lt(row, column)
    ratio = swapped(ctx, la.solve(middle, swapped(ctx, inner), "T"))
    inside = ew.select(ew.logical_and(beyond, ew.logical_not(in_block)), ratio, zeros)
    return product(ctx, factor, inside), ew.select(in_block, inner, zeros), None


tables.JVPS[fa.qr_complete_op] = _complete_jvp
tables.JVPS[fa.qr_raw_op] = _raw_jvp
tables.JVPS[fa.polar_op] = _polar_jvp
tables.JVPS[fa.ldl_op] = _ldl_jvp
tables.JVPS[fa.qz_op] = no_derivative("qz", "give it stop_gradient of its arguments")
tables.JVPS[fa.ordqz_op] = no_derivative("ordqz", "give it stop_gradient of its arguments")
tables.JVPS[fa.cossin_op] = no_derivative("cossin", "give it stop_gradient of its arguments")
tables.JVPS[fa.cossin_angles_op] = no_derivative("cossin", "give it stop_gradient of its arguments")
tables.zero(fa.qr_order_op, fa.balance_op)

# -- LU factors and banded solutions


def _part(ctx, x, rows, columns):
    """Return the part of matrices in the rows and columns of ranges (start, stop)."""
    shape = ctx.shape(x)
    none = (0,) * (len(shape) - 2)
    size = (expr.sub(rows[1], rows[0]), expr.sub(columns[1], columns[0]))
    return mv.slice(x, (*none, rows[0], columns[0]), (*shape[:-2], *size))


def _exchanged(ctx, x, order):
    """Return matrices with their rows in an order."""
    shape = ctx.shape(x)
    index = mv.broadcast_in_dim(order, shape, tuple(range(len(shape) - 1)))
    return permute(x, index, len(shape) - 2)


def _lu_jvp(ctx, tangents, out, a):
    """Differentiate L U = P a: the square part in front first, then the further rows of L or columns of U."""
    factors, pivots = out
    rows, columns = ctx.shape(a)[-2:]
    common, axis = expr.minimum(rows, columns), ctx.rank(a) - 2
    front, below, beside = (0, common), (common, rows), (common, columns)
    change = _exchanged(ctx, tangents[0], fa.row_order(pivots))
    square = _part(ctx, factors, front, front)
    lower_below, upper_beside = _part(ctx, factors, below, front), _part(ctx, factors, front, beside)

    def after_lower(x):
        return la.triangular_solve(square, x, lower=True, unit=True)

    inner = _solved_right(ctx, square, after_lower(_part(ctx, change, front, front)))
    inner_lower, inner_upper = (
        triangle(ctx, inner, lower=True, diagonal=0),
        triangle(ctx, inner, lower=False, diagonal=1),
    )
    unit_lower, upper = triangle(ctx, square, lower=True, diagonal=0), triangle(ctx, square, lower=False, diagonal=1)
    d_lower = ew.add(inner_lower, product(ctx, unit_lower, inner_lower))
    d_upper = product(ctx, inner_upper, upper)
    d_below = _solved_right(ctx, square, ew.sub(_part(ctx, change, below, front), product(ctx, lower_below, d_upper)))
    d_beside = after_lower(ew.sub(_part(ctx, change, front, beside), product(ctx, d_lower, upper_beside)))
    first = mv.concatenate([ew.add(d_lower, d_upper), d_beside], axis + 1)
    last = mv.concatenate([d_below, _part(ctx, change, below, beside)], axis + 1)  # one of its sides is empty
    return mv.concatenate([first, last], axis), None


def _moved(ctx, x, count):
    """Return x with its rows moved down by a number, or up by a negative one; zeros come in."""
    if not count:
        return x
    shape, none = ctx.shape(x), (0,) * ctx.rank(x)
    low, high = ((*none[:-2], max(amount, 0), 0) for amount in (count, -count))
    start = (*none[:-2], max(-count, 0), 0)
    return mv.slice(mv.pad_unchecked(x, low, high, none), start, shape)


def _banded_product(ctx, ab, x, *, lower, upper, transposed, positive=False):
    """Return the products of banded matrices, or of their transposes, and x; if `positive`, of Hermitian ones."""
    *batch, _, size = ctx.shape(ab)
    shape, rank, total = ctx.shape(x), ctx.rank(x), None
    for row in range(lower + upper + 1):
        diagonal = mv.slice(ab, (*[0] * len(batch), row, 0), (*batch, 1, size))
        scale = mv.broadcast_in_dim(mv.reshape(diagonal, (*batch, size)), shape, tuple(range(rank - 1)))
        shift = row - upper
        if positive and not shift:
            scale = ew.convert(ew.real(scale), x.dtype)
        mirrored = [(conjugate(scale), not transposed)] if positive and shift else []
        for factor, is_back in [(scale, transposed), *mirrored]:
            term = ew.mul(factor, _moved(ctx, x, -shift)) if is_back else _moved(ctx, ew.mul(factor, x), shift)
            total = tables.add_tangents(total, term)
    return total


MOST_BESIDE = 8  # diagonals beside the main one for which the tangent of a factor is solved for in its band


def _banded_cholesky_jvp(ctx, tangents, out, ab, *, lower):
    """Solve L dL^H + dL L^H = dA in the band, or with whole matrices where it is wide or complex.

    Elements of a band outside of a matrix are results as they are.
    """
    shape, axis = ctx.shape(ab), ctx.rank(ab) - 1
    size = mv.broadcast_in_dim(size_value(shape[-1]), shape, ())
    row, column = positions(shape)
    end = ew.add(row, column)
    inside, order = ew.lt(end, size), ew.remainder(end, size)

    def turned(x):
        return x if lower else permute(mv.rev(conjugate(x), (axis - 1,)), order, axis)

    t = turned(tangents[0])
    factor, change = (ew.select(inside, x, ew.lift(0, x)) for x in (turned(out), t))
    in_band = isinstance(shape[-2], int) and shape[-2] <= MOST_BESIDE + 1 and ab.dtype.kind != "c"
    of_factor = _tangent_in_band(ctx, factor, change) if in_band else _tangent_of_whole(ctx, factor, change, row, order)
    result = ew.select(inside, of_factor, t)
    return result if lower else mv.rev(conjugate(permute(result, order, axis, inverse=True)), (axis - 1,))


def _tangent_in_band(ctx, factor, change):
    """Solve for the columns of dL in turn: a system with w**2 diagonals below the main one, for w diagonals beside it.

    Row (k + a, k + b) has the product of dL[k + a, k] and L[k + b, k], and row (k + b, k + a) does.
    """
    *batch, rows, size = ctx.shape(factor)
    beside, axis = rows - 1, len(batch)
    below, a = positions((beside**2 + 1, rows))
    width = ew.lift(max(beside, 1), a)
    before, after = ew.floor_divide(below, width), ew.add(ew.sub(below, ew.mul(a, ew.lift(beside, a))), a)
    none = ew.lift(0, a)
    is_before = ew.logical_and(ew.eq(ew.remainder(below, width), none), ew.le(before, a))
    is_after = ew.logical_and(ew.ge(after, a), ew.le(after, ew.lift(beside, a)))
    times = ew.convert(ew.add(*(ew.convert(x, a.dtype) for x in (is_before, is_after))), factor.dtype)
    source = ew.select(is_after, after, ew.select(is_before, before, none))
    system = ix.take(factor, source, axis)
    system = ew.mul(system, mv.broadcast_in_dim(times, ctx.shape(system), (axis, axis + 1)))
    count = expr.mul(rows, size)
    system = mv.reshape(swapped(ctx, system), (*batch, beside**2 + 1, count))
    right = mv.reshape(swapped(ctx, change), (*batch, count, 1))
    return swapped(ctx, mv.reshape(fa.banded_solve(system, right, lower=beside**2, upper=0), (*batch, size, rows)))


def _tangent_of_whole(ctx, factor, change, row, order):
    *batch, rows, size = ctx.shape(factor)
    axis, shape = len(batch), (*batch, size, size)
    i, j = positions(shape)
    below, last = ew.sub(i, j), mv.broadcast_in_dim(size_value(expr.sub(rows, 1)), shape, ())
    none = ew.lift(0, below)
    inside, source = ew.logical_and(ew.ge(below, none), ew.le(below, last)), ew.maximum(ew.minimum(below, last), none)

    def whole(x):
        taken = ix.take_along_axis(x, source, axis)
        return ew.select(inside, taken, ew.lift(0, taken))

    twice = ew.mul(change, ew.lift(2, change))  # the rule takes the Hermitian part
    real = ew.convert(ew.real(change), change.dtype)
    change = ew.select(ew.eq(row, ew.lift(0, row)), real, twice)
    moved = cholesky_jvp(ctx, (whole(change),), whole(factor), factor)
    return ix.take_along_axis(moved, order, axis)


def _banded_eigh_push(ctx, t, out, inverses, *, lower, tridiagonal):
    """Return what the rule of `eigh` does. Eigenvalues need the diagonal of the inner product alone."""
    _, vectors = out
    beside = ctx.shape(t)[-2] - 1
    sides = {"lower": beside * lower, "upper": beside * (not lower)}
    moved = _banded_product(ctx, t, vectors, **sides, transposed=False, positive=True)
    slopes = ew.real(reduce_sum(ew.mul(conjugate(vectors), moved), (ctx.rank(moved) - 2,)))
    inner = hermitian_part(ctx, product(ctx, adjoint(ctx, vectors), moved))
    return slopes, product(ctx, vectors, ew.mul(in_dtype_of(inner, inverses.differences()), inner))


def _toeplitz_product(ctx, sides, x, *, transposed):
    """Return the products of Toeplitz matrices, of first columns and first rows, or of their transposes, and x."""
    *batch, size, _ = ctx.shape(x)
    none, axis = (0,) * len(batch), len(batch)
    column, row = (mv.reshape(mv.slice(sides, (*none, k, 0), (*batch, 1, size)), (*batch, size)) for k in range(2))
    before = mv.slice(mv.rev(row, (axis,)), (*none, 0), (*batch, expr.maximum(expr.sub(size, 1), 0)))
    diagonals = mv.concatenate([before, column], axis)
    diagonals = mv.rev(diagonals, (axis,)) if transposed else diagonals
    moving = mv.rev(swapped(ctx, x), (axis + 1,))
    return swapped(ctx, wd.convolution(diagonals, moving, wd.one_by_one((0,), (size,)), batch=axis))


def _solved_by(solve, multiply):
    """Return the rules of an op that solves with a first operand, which `multiply` takes for its tangent."""

    def jvp(ctx, tangents, out, a, b, **params):
        of_matrix, change = tangents
        if of_matrix is not None:
            change = tables.add_tangents(change, ew.neg(multiply(ctx, of_matrix, out, **params)))
        return solve(a, change, **params)

    def back(ctx, ct, a, b, *, transposed, **params):
        return None, solve(a, ct, transposed=not transposed, **params)

    return jvp, back


tables.JVPS[fa.lu_op] = _lu_jvp
tables.JVPS[fa.banded_cholesky_op] = _banded_cholesky_jvp
_BANDED_EIGH = Decomposition(near_of_eigh, turned_vectors, _banded_eigh_push, Scaled, 0)
decomposition(fa.banded_eigh_op, fa.banded_eigvalsh_op, _BANDED_EIGH)
for _op, _solve, _multiply in (
    (fa.banded_solve_op, fa.banded_solve, _banded_product),
    (fa.toeplitz_solve_op, fa.toeplitz_solve, _toeplitz_product),
):
    tables.JVPS[_op], tables.TRANSPOSES[_op] = _solved_by(_solve, _multiply)
tables.zero(fa.row_order_op)

# -- zeros by construction, shifts of operands, batches

_STACKED = (
    fa.matrix_function_op, fa.matrix_function_derivative_op, fa.sylvester_op, fa.schur_op, fa.hessenberg_op,
    fa.qr_complete_op, fa.qr_raw_op, fa.qr_order_op, fa.polar_op, fa.ldl_op, fa.balance_op, fa.qz_op, fa.ordqz_op,
    fa.cossin_op, fa.cossin_angles_op, fa.lu_op, fa.row_order_op, fa.banded_solve_op, fa.banded_cholesky_op,
    fa.toeplitz_solve_op, fa.banded_eigh_op,
)  # fmt: skip
tables.lines(tables.stacks, *_STACKED)
tables.zeros(tables.MIX, tables.MIX, fa.banded_eigvalsh_op)
tables.one_more_axis(*_STACKED, fa.banded_eigvalsh_op)
