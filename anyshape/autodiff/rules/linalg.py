"""Derivatives of linear algebra.

Sources: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
2008, for inverses, determinants and solutions; I. Murray, "Differentiation of the Cholesky decomposition", 2016.

A solution keeps the factors of its matrix, which solve for its tangent and cotangent too. The matrix itself stays an
operand, so that the derivative in it is known; its factors have none.
"""

from anyshape.autodiff.rule_tables import JVPS, TRANSPOSES, no_shift, zero
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.contraction import dot_general
from anyshape.ops.creation import iota
from anyshape.ops.reduction import reduce_sum


def _product(ctx, a, b):
    """Return the product of two stacks of matrices."""
    rank = ctx.rank(a)
    batch = tuple(range(rank - 2))
    return dot_general(a, b, ((rank - 1,), (rank - 2,)), (batch, batch))


def _swapped(ctx, a):
    """Return the transposes of matrices."""
    rank = ctx.rank(a)
    return mv.transpose(a, (*range(rank - 2), rank - 1, rank - 2))


def _adjoint(ctx, a):
    """Return the conjugate transposes of matrices."""
    return _conjugate(_swapped(ctx, a))


def _conjugate(a):
    return ew.conj(a) if a.dtype.kind == "c" else a


def _formed(ctx, a, form):
    return a if form == "N" else _swapped(ctx, a) if form == "T" else _adjoint(ctx, a)


def _positions(shape):
    """Return the row and the column of each element of matrices."""
    rank = len(shape)
    return [mv.broadcast_in_dim(iota(shape[axis]), shape, (axis,)) for axis in (rank - 2, rank - 1)]


def _triangle(ctx, a, *, lower, diagonal):
    """Return one triangle of matrices: the diagonal times `diagonal`, and zeros in the other triangle."""
    shape = ctx.shape(a)
    rows, columns = _positions(shape)
    inside = ew.gt(rows, columns) if lower else ew.lt(rows, columns)
    zeros = ew.lift(0, a)
    on_diagonal = ew.select(ew.eq(rows, columns), ew.mul(a, ew.lift(diagonal, a)), zeros)
    return ew.select(inside, a, on_diagonal)


def _trace(ctx, a):
    """Return the sums of the diagonals of matrices."""
    rank = ctx.rank(a)
    on_diagonal = ew.eq(*_positions(ctx.shape(a)))
    return reduce_sum(ew.select(on_diagonal, a, ew.lift(0, a)), (rank - 2, rank - 1))


# -- factorisations and determinants


def _cholesky_jvp(ctx, tangents, out, a):
    """Murray (2016), eq. 8: dL = L phi(L^-1 dA L^-H), where phi takes the lower triangle and half of the diagonal.

    Only Hermitian tangents keep a Cholesky factor: others count as their Hermitian part, as in JAX and PyTorch.
    """
    (t,) = tangents
    hermitian = ew.mul(ew.add(t, _adjoint(ctx, t)), ew.lift(0.5, t))
    left = la.triangular_solve(out, hermitian, lower=True)
    both = _adjoint(ctx, la.triangular_solve(out, _adjoint(ctx, left), lower=True))
    return _product(ctx, out, _triangle(ctx, both, lower=True, diagonal=0.5))


def _inv_jvp(ctx, tangents, out, a):
    return ew.neg(_product(ctx, out, _product(ctx, tangents[0], out)))


def _det_jvp(ctx, tangents, out, a):
    """Jacobi's formula: the slope is the trace of adj(A) dA, also where A is singular."""
    (t,) = tangents
    rank = ctx.rank(a)
    return reduce_sum(ew.mul(_swapped(ctx, la.adjugate(a)), t), (rank - 2, rank - 1))


def _adjugate_jvp(ctx, tangents, out, a):
    """Differentiate det(A) inv(A): (tr(adj(A) dA) - adj(A) dA) inv(A), for regular A."""
    (t,) = tangents
    inverse = la.inv(a)
    moved = _product(ctx, out, t)
    rank = ctx.rank(a)
    slope = mv.broadcast_in_dim(_trace(ctx, moved), ctx.shape(a), tuple(range(rank - 2)))
    return ew.sub(ew.mul(slope, inverse), _product(ctx, moved, inverse))


def _slogdet_jvp(ctx, tangents, out, a):
    """The logarithm of the determinant has slope tr(A^-1 dA), whose imaginary part turns the sign."""
    sign, _ = out
    slope = _trace(ctx, la.solve(a, tangents[0]))
    if a.dtype.kind != "c":
        return None, slope
    turn = ew.make_complex(ew.lift(0.0, ew.imag(slope)), ew.imag(slope))
    return ew.mul(sign, turn), ew.real(slope)


JVPS[la.cholesky_op] = _cholesky_jvp
JVPS[la.inv_op] = _inv_jvp
JVPS[la.det_op] = _det_jvp
JVPS[la.adjugate_op] = _adjugate_jvp
JVPS[la.slogdet_op] = _slogdet_jvp
zero(la.lu_factor_op)  # its results only help to solve: `lu_solve` has the derivative in the matrix

# -- solutions, which are linear in the right-hand sides

_TRANSPOSED = {"N": "T", "T": "N"}


def _solution(op, factors, matrix_tangent):
    """Declare an op that solves with its first operand, by `factors` further ones, for its last operand."""

    def solve(a, *others, form, **params):
        return op(a, *others, form=form, **params)

    def jvp(ctx, tangents, out, a, *others, form, **params):
        *_, right = tangents
        change = right
        if tangents[0] is not None:
            moved = _product(ctx, _formed(ctx, matrix_tangent(ctx, tangents[0], **params), form), out)
            change = ew.neg(moved) if change is None else ew.sub(change, moved)
        return None if change is None else solve(a, *others[:factors], change, form=form, **params)

    def transpose(ctx, ct, a, *others, form, **params):
        if form == "C":  # the transpose of a conjugate transpose is the conjugate
            back = _conjugate(solve(a, *others[:factors], _conjugate(ct), form="N", **params))
        else:
            back = solve(a, *others[:factors], ct, form=_TRANSPOSED[form], **params)
        return (*[None] * (factors + 1), back)

    return jvp, transpose


def _part_that_is_read(ctx, t, *, lower, unit):
    return _triangle(ctx, t, lower=lower, diagonal=0 if unit else 1)


for _op, _function, _factors, _matrix in (
    (la.solve_op, la.solve, 0, lambda ctx, t: t),
    (la.lu_solve_op, la.lu_solve, 2, lambda ctx, t: t),
    (la.triangular_solve_op, la.triangular_solve, 0, _part_that_is_read),
):
    JVPS[_op], TRANSPOSES[_op] = _solution(_function, _factors, _matrix)

# -- shifts of operands

no_shift(
    la.cholesky_op, la.inv_op, la.det_op, la.adjugate_op, la.slogdet_op, la.lu_factor_op,
    la.solve_op, la.lu_solve_op, la.triangular_solve_op,
)  # fmt: skip
