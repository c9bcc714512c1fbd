"""Linear algebra: factorisations and solutions of the matrices in the last two axes; leading axes are a batch.

Operands are floats or complex numbers of 32 bits or more, which LAPACK knows. A kernel refuses a singular matrix, or
one that is not positive definite, with NumPy's LinAlgError.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all
from anyshape.ops.core.definition import PROBED_AT_ONES, define, itself, refuse
from anyshape.ops.core.flop_counts import Applied, OpCost, elements

PIVOT = np.dtype(np.int32)
LAPACK = "fdFD"  # the dtypes of LAPACK, as characters
FORMS = ("N", "T", "C")  # a matrix itself, its transpose, its conjugate transpose


def require_matrices(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[Size, Size]:
    """Require matrices of a dtype that LAPACK knows, and return their numbers of rows and of columns."""
    if a.dtype.char not in LAPACK:
        raise ctx.bad_dtype(f"array type {a.dtype} is unsupported in linalg", "convert it with astype(float)")
    if a.rank < 2:
        raise ctx.fail("the operand is not a matrix", "pass an array of two axes or more")
    rows, columns = (ctx.exact(a, axis, field="operands") for axis in (a.rank - 2, a.rank - 1))
    return rows, columns


def require_squares(ctx: ShapeGuardContext, a: TensorMeta) -> None:
    """Require square matrices of a dtype that LAPACK knows."""
    rows, columns = require_matrices(ctx, a)
    ctx.require_equal(rows, columns, f"matrices must be square, and these are {rows} by {columns}")


def _real(dtype: np.dtype) -> np.dtype:
    """Return the dtype of absolute values."""
    return np.dtype(dtype.char.lower())


def require_sides(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta) -> None:
    """Require right-hand sides with as many rows as the matrices have, and the same batch and dtype."""
    require_alike(ctx, a, b, range(a.rank - 1))


def require_alike(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, axes: Iterable[int]) -> None:
    """Require one dtype, one number of axes, and equal sizes along some of them."""
    if a.dtype != b.dtype:
        raise ctx.bad_dtype(f"operands are {a.dtype} and {b.dtype}", "convert them to one dtype with astype")
    if a.rank != b.rank:
        raise ctx.fail(f"the operands have {a.rank} and {b.rank} axes, and must have the same number of axes")
    for axis in axes:
        left, right = (ctx.exact(x, axis, field="operands") for x in (a, b))
        ctx.require_equal(left, right, f"axis {axis} of the operands has sizes {left} and {right}")


def _square_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    require_squares(ctx, a)
    return a


def _mirror_type(ctx: ShapeGuardContext, a: TensorMeta, *, lower: bool, conjugate: bool) -> TensorMeta:
    return _square_type(ctx, a)


def _pair_type(ctx: ShapeGuardContext, factor: TensorMeta, change: TensorMeta) -> TensorMeta:
    require_squares(ctx, factor)
    require_sides(ctx, factor, change)
    require_squares(ctx, change)
    return change


def _slogdet_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    batch = a.extents[:-2]
    return TensorMeta(a.dtype, batch), TensorMeta(_real(a.dtype), batch)


def _det_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    require_squares(ctx, a)
    return TensorMeta(a.dtype, a.extents[:-2])


def _eigvalsh_type(ctx: ShapeGuardContext, a: TensorMeta, *, lower: bool) -> TensorMeta:
    require_squares(ctx, a)
    return TensorMeta(_real(a.dtype), a.extents[:-1])


def _eigh_type(ctx: ShapeGuardContext, a: TensorMeta, *, lower: bool) -> tuple[TensorMeta, TensorMeta]:
    return _eigvalsh_type(ctx, a, lower=lower), a


def _complex(dtype: np.dtype) -> np.dtype:
    """Return the dtype of complex numbers of the same precision."""
    return np.dtype(dtype.char.upper())


def _eigvals_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    require_squares(ctx, a)
    return TensorMeta(_complex(a.dtype), a.extents[:-1])


def _eig_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    return _eigvals_type(ctx, a), TensorMeta(_complex(a.dtype), a.extents)


def _svdvals_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    count = expr.minimum(*require_matrices(ctx, a))
    return TensorMeta(_real(a.dtype), (*a.extents[:-2], Exact(count)))


def _svd_type(ctx: ShapeGuardContext, a: TensorMeta, *, full: bool) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    rows, columns = require_matrices(ctx, a)
    count, batch = expr.minimum(rows, columns), a.extents[:-2]
    left, right = (rows, columns) if full else (count, count)
    u = TensorMeta(a.dtype, (*batch, Exact(rows), Exact(left)))
    vh = TensorMeta(a.dtype, (*batch, Exact(right), Exact(columns)))
    return u, TensorMeta(_real(a.dtype), (*batch, Exact(count))), vh


def _qr_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    rows, columns = require_matrices(ctx, a)
    count, batch = Exact(expr.minimum(rows, columns)), a.extents[:-2]
    q = TensorMeta(a.dtype, (*batch, Exact(rows), count))
    return q, TensorMeta(a.dtype, (*batch, count, Exact(columns)))


def _pinv_type(ctx: ShapeGuardContext, a: TensorMeta, cutoff: TensorMeta) -> TensorMeta:
    rows, columns = require_matrices(ctx, a)
    batch = a.extents[:-2]
    if cutoff.dtype != np.float64 or cutoff.rank != len(batch):
        raise ctx.fail("the cutoff must be a number for each matrix")
    for axis in range(len(batch)):
        left, right = (ctx.exact(x, axis, field="operands") for x in (a, cutoff))
        ctx.require_equal(left, right, f"axis {axis} of the operands has sizes {left} and {right}")
    return TensorMeta(a.dtype, (*batch, Exact(columns), Exact(rows)))


def _lu_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    return a, TensorMeta(PIVOT, a.extents[:-1])


def _solve_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, form: str) -> TensorMeta:
    require_squares(ctx, a)
    require_sides(ctx, a, b)
    return b


def _lu_solve_type(
    ctx: ShapeGuardContext, a: TensorMeta, lu: TensorMeta, pivots: TensorMeta, b: TensorMeta, *, form: str
) -> TensorMeta:
    ctx.require_same_extents(a, lu, "a matrix and its factors must have equal shapes")
    if pivots != TensorMeta(PIVOT, a.extents[:-1]) or lu.dtype != a.dtype:
        raise ctx.fail("the factors must be those that lu_factor gives of the matrix")
    return _solve_type(ctx, a, b, form=form)


def _triangular_type(
    ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, lower: bool, form: str, unit: bool
) -> TensorMeta:
    return _solve_type(ctx, a, b, form=form)


def cubes(count: int) -> OpCost:
    """Count so many times n**3 operations for each n by n matrix, without terms of lower order."""
    return OpCost(lambda a: expr.mul(count, expr.mul(elements(a.inputs[0]), a.inputs[0][-1])))


def _thin(count: int) -> OpCost:
    """Count so many times the elements of each matrix for each of its shorter side."""

    def flops(a: Applied) -> Size:
        *_, rows, columns = a.inputs[0]
        return expr.mul(count, expr.mul(elements(a.inputs[0]), expr.minimum(rows, columns)))

    return OpCost(flops)


def _substitution(a: Applied) -> Size:
    """Count 2 n operations per element of the right-hand sides, forwards and backwards."""
    return expr.mul(2, expr.mul(a.inputs[0][-1], elements(a.outputs[0])))


def _elimination(a: Applied) -> Size:
    """Count the factorisation, then the substitutions."""
    return expr.add(expr.mul(elements(a.inputs[0]), a.inputs[0][-1]), _substitution(a))


_FORM = kinds.one_of(*FORMS)
_per_element = OpCost(lambda a: elements(a.inputs[0]))

mirror_op: Op = define(
    "mirror", _mirror_type, params={"lower": kinds.flag, "conjugate": kinds.flag}, cost=_per_element, **PROBED_AT_ONES
)
cholesky_op: Op = define("cholesky", _square_type, params={}, cost=cubes(1), **PROBED_AT_ONES)
cholesky_tangent_op: Op = define("cholesky_tangent", _pair_type, params={}, cost=cubes(4), **PROBED_AT_ONES)
cholesky_cotangent_op: Op = define("cholesky_cotangent", _pair_type, params={}, cost=cubes(2), **PROBED_AT_ONES)
inv_op: Op = define("inv", _square_type, params={}, cost=cubes(2), **PROBED_AT_ONES)
det_op: Op = define("det", _det_type, params={}, cost=cubes(1), **PROBED_AT_ONES)
adjugate_op: Op = define("adjugate", _square_type, params={}, cost=cubes(12), **PROBED_AT_ONES)
slogdet_op: Op = define("slogdet", _slogdet_type, params={}, cost=cubes(1), **PROBED_AT_ONES)
lu_factor_op: Op = define("lu_factor", _lu_type, params={}, cost=cubes(1), **PROBED_AT_ONES)
eigvalsh_op: Op = define("eigvalsh", _eigvalsh_type, params={"lower": kinds.flag}, cost=cubes(4), **PROBED_AT_ONES)
eigh_op: Op = define("eigh", _eigh_type, params={"lower": kinds.flag}, cost=cubes(9), **PROBED_AT_ONES)
eigvals_op: Op = define("eigvals", _eigvals_type, params={}, cost=cubes(10), **PROBED_AT_ONES)
eig_op: Op = define("eig", _eig_type, params={}, cost=cubes(25), **PROBED_AT_ONES)
svdvals_op: Op = define("svdvals", _svdvals_type, params={}, cost=_thin(4), **PROBED_AT_ONES)
svd_op: Op = define("svd", _svd_type, params={"full": kinds.flag}, cost=_thin(12), **PROBED_AT_ONES)
qr_op: Op = define("qr", _qr_type, params={}, cost=_thin(4), **PROBED_AT_ONES)
pinv_op: Op = define("pinv", _pinv_type, params={}, cost=_thin(14), **PROBED_AT_ONES)
solve_op: Op = define("solve", _solve_type, params={"form": _FORM}, cost=OpCost(_elimination), **PROBED_AT_ONES)
lu_solve_op: Op = define(
    "lu_solve", _lu_solve_type, params={"form": _FORM}, cost=OpCost(_substitution), **PROBED_AT_ONES
)
triangular_solve_op: Op = define(
    "triangular_solve",
    _triangular_type,
    params={"lower": kinds.flag, "form": _FORM, "unit": kinds.flag},
    cost=OpCost(_substitution),
    **PROBED_AT_ONES,
)
refuse(itself, cholesky_op, inv_op, lu_factor_op, solve_op, triangular_solve_op)
# they may not converge, for NaN in particular
refuse(itself, eigvals_op, eig_op, eigvalsh_op, eigh_op, svdvals_op, svd_op, pinv_op)


def mirror(a: Operand, *, lower: bool, conjugate: bool) -> Any:
    """Return the symmetric matrices, or with `conjugate` the Hermitian ones, that one triangle stands for.

    Tangents count as their symmetric or Hermitian part, as in all functions of such matrices.
    """
    return apply(mirror_op, a, lower=lower, conjugate=conjugate)


def cholesky(a: Operand) -> Any:
    """Return the lower Cholesky factor of Hermitian positive definite matrices; only lower triangles are read."""
    return apply(cholesky_op, a)


def cholesky_tangent(factor: Operand, tangent: Operand) -> Any:
    """Return the tangent of a real lower Cholesky factor; that of its matrix counts as its symmetric part."""
    return apply(cholesky_tangent_op, factor, tangent)


def cholesky_cotangent(factor: Operand, cotangent: Operand) -> Any:
    """Return the symmetric cotangent of a matrix by that of its real Cholesky factor, whose lower triangle is read."""
    return apply(cholesky_cotangent_op, factor, cotangent)


def inv(a: Operand) -> Any:
    """Return the inverse of square matrices."""
    return apply(inv_op, a)


def det(a: Operand) -> Any:
    """Return the determinant of square matrices."""
    return apply(det_op, a)


def adjugate(a: Operand) -> Any:
    """Return the adjugate of square matrices, det(a) inv(a), also where they are singular."""
    return apply(adjugate_op, a)


def slogdet(a: Operand) -> tuple[Any, ...]:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    return apply_all(slogdet_op, a)


def lu_factor(a: Operand) -> tuple[Any, Any]:
    """Return the LU factors of regular matrices in one array, and the row pivots. Neither has a derivative."""
    lu, pivots = apply_all(lu_factor_op, a)
    return lu, pivots


def solve(a: Operand, b: Operand, form: str = "N") -> Any:
    """Return x with a x = b for regular matrices, or with the transpose or conjugate transpose of a."""
    return apply(solve_op, a, b, form=form)


def lu_solve(a: Operand, lu: Operand, pivots: Operand, b: Operand, form: str = "N") -> Any:
    """Return what `solve` does, by the factors of a that `lu_factor` gave."""
    return apply(lu_solve_op, a, lu, pivots, b, form=form)


def triangular_solve(a: Operand, b: Operand, *, lower: bool, form: str = "N", unit: bool = False) -> Any:
    """Return what `solve` does for triangular matrices; the other triangle is not read, with `unit` no diagonal."""
    return apply(triangular_solve_op, a, b, lower=lower, form=form, unit=unit)


def eigvalsh(a: Operand, *, lower: bool = True) -> Any:
    """Return the eigenvalues of Hermitian matrices in ascending order; one triangle is read."""
    return apply(eigvalsh_op, a, lower=lower)


def eigh(a: Operand, *, lower: bool = True) -> tuple[Any, ...]:
    """Return the eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns."""
    return apply_all(eigh_op, a, lower=lower)


def eigvals(a: Operand) -> Any:
    """Return the eigenvalues of square matrices, complex and in the order of LAPACK."""
    return apply(eigvals_op, a)


def eig(a: Operand) -> tuple[Any, ...]:
    """Return the eigenvalues of square matrices, complex and in the order of LAPACK, and eigenvectors as columns."""
    return apply_all(eig_op, a)


def svdvals(a: Operand) -> Any:
    """Return the singular values of matrices in descending order."""
    return apply(svdvals_op, a)


def svd(a: Operand, *, full: bool = False) -> tuple[Any, ...]:
    """Return u, s and v^H with u s v^H = a; with `full`, u and v^H are square."""
    return apply_all(svd_op, a, full=full)


def qr(a: Operand) -> tuple[Any, ...]:
    """Return q with orthonormal columns and upper triangular r with q r = a; their inner axis is the shorter side."""
    return apply_all(qr_op, a)


def pinv(a: Operand, cutoff: Operand) -> Any:
    """Return the pseudo-inverses of matrices; singular values up to `cutoff` times the largest count as 0."""
    return apply(pinv_op, a, cutoff)
