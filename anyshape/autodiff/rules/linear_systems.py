"""Derivatives of LU factors and of banded solutions.

Source for factors: F. R. de Hoog et al., "Perturbation theory for the LU and QR factorizations", 2011.
"""

from anyshape.autodiff.rule_tables import JVPS, TRANSPOSES, add_tangents, lines, no_shift, stacks, zero
from anyshape.autodiff.rules.linalg import product, swapped, triangle
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import linear_systems as ls
from anyshape.ops import movement as mv
from anyshape.ops.sorting import permute


def _part(ctx, x, rows, columns):
    """Return the part of matrices in the rows and columns of ranges (start, stop)."""
    shape = ctx.shape(x)
    none = (0,) * (len(shape) - 2)
    size = (expr.sub(rows[1], rows[0]), expr.sub(columns[1], columns[0]))
    return mv.slice(x, (*none, rows[0], columns[0]), (*shape[:-2], *size))


def _solved_right(ctx, upper, x):
    """Return x U^-1."""
    return swapped(ctx, la.triangular_solve(upper, swapped(ctx, x), lower=False, form="T"))


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
    change = _exchanged(ctx, tangents[0], ls.row_order(pivots))
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


def _banded_product(ctx, ab, x, *, lower, upper, transposed):
    """Return the products of banded matrices, or of their transposes, and x."""
    *batch, _, size = ctx.shape(ab)
    shape, rank, total = ctx.shape(x), ctx.rank(x), None
    for row in range(lower + upper + 1):
        diagonal = mv.slice(ab, (*[0] * len(batch), row, 0), (*batch, 1, size))
        scale = mv.broadcast_in_dim(mv.reshape(diagonal, (*batch, size)), shape, tuple(range(rank - 1)))
        shift = row - upper
        term = ew.mul(scale, _moved(ctx, x, -shift)) if transposed else _moved(ctx, ew.mul(scale, x), shift)
        total = add_tangents(total, term)
    return total


def _banded_jvp(ctx, tangents, out, ab, b, *, lower, upper, transposed, positive):  # `out` has been checked
    of_matrix, change = tangents
    if of_matrix is not None:
        moved = _banded_product(ctx, of_matrix, out, lower=lower, upper=upper, transposed=transposed)
        change = add_tangents(change, ew.neg(moved))
    return ls.banded_solve(ab, change, lower=lower, upper=upper, transposed=transposed)


def _banded_back(ctx, ct, ab, b, *, lower, upper, transposed, positive):
    return None, ls.banded_solve(ab, ct, lower=lower, upper=upper, transposed=not transposed, positive=positive)


JVPS[ls.lu_op] = _lu_jvp
JVPS[ls.banded_solve_op] = _banded_jvp
TRANSPOSES[ls.banded_solve_op] = _banded_back
zero(ls.row_order_op)

# -- zeros by construction

lines(stacks, ls.lu_op, ls.row_order_op, ls.banded_solve_op)

# -- shifts of operands

no_shift(ls.lu_op, ls.row_order_op, ls.banded_solve_op)
