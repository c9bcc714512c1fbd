"""Linear algebra: factorisations and solutions of the matrices in the last two axes; leading axes are a batch.

Operands are floats or complex numbers of 32 bits or more, which LAPACK knows. A kernel refuses a singular matrix, or
one that is not positive definite, with NumPy's LinAlgError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all
from anyshape.ops.core.definition import define, itself, refuse
from anyshape.ops.core.flop_counts import Applied, OpCost, elements

PIVOT = np.dtype(np.int32)
LAPACK = "fdFD"  # the dtypes of LAPACK, as characters
FORMS = ("N", "T", "C")  # a matrix itself, its transpose, its conjugate transpose


def _require_matrices(ctx: ShapeGuardContext, a: TensorMeta, at: int = 0) -> None:
    """Require square matrices of a dtype that LAPACK knows."""
    if a.dtype.char not in LAPACK:
        raise ctx.bad_dtype(f"array type {a.dtype} is unsupported in linalg", "convert it with astype(float)")
    if a.rank < 2:
        raise ctx.fail("the operand is no matrix", "pass an array of two axes or more")
    rows, columns = (ctx.exact(a, axis, field=f"operand {at}") for axis in (a.rank - 2, a.rank - 1))
    ctx.require_equal(rows, columns, f"matrices must be square, and these are {rows} by {columns}")


def _require_sides(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta) -> None:
    """Require right-hand sides with as many rows as the matrices have, and the same batch and dtype."""
    if a.dtype != b.dtype:
        raise ctx.bad_dtype(f"operands are {a.dtype} and {b.dtype}", "convert them to one dtype with astype")
    if a.rank != b.rank:
        raise ctx.fail("the matrices and the right-hand sides must have the same number of axes")
    for axis in range(a.rank - 1):
        left, right = (ctx.exact(x, axis, field="operands") for x in (a, b))
        ctx.require_equal(left, right, f"axis {axis} of the operands has sizes {left} and {right}")


def _square_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    _require_matrices(ctx, a)
    return a


def _slogdet_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    _require_matrices(ctx, a)
    batch = a.extents[:-2]
    return TensorMeta(a.dtype, batch), TensorMeta(np.dtype(a.dtype.char.lower()), batch)


def _det_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    _require_matrices(ctx, a)
    return TensorMeta(a.dtype, a.extents[:-2])


def _lu_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    _require_matrices(ctx, a)
    return a, TensorMeta(PIVOT, a.extents[:-1])


def _solve_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, form: str) -> TensorMeta:
    _require_matrices(ctx, a)
    _require_sides(ctx, a, b)
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


def _cubes(count: int) -> OpCost:
    """Count so many times n**3 operations for each n by n matrix, without terms of lower order."""
    return OpCost(lambda a: expr.mul(count, expr.mul(elements(a.inputs[0]), a.inputs[0][-1])))


def _substitution(a: Applied) -> Size:
    """Count 2 n operations per element of the right-hand sides, forwards and backwards."""
    return expr.mul(2, expr.mul(a.inputs[0][-1], elements(a.outputs[0])))


def _elimination(a: Applied) -> Size:
    """Count the factorisation, then the substitutions."""
    return expr.add(expr.mul(elements(a.inputs[0]), a.inputs[0][-1]), _substitution(a))


def _identity_matrices(shape: Any, dtype: Any) -> Any:
    """Fill matrices on which no kernel fails."""
    return np.ones(shape, dtype)


_FORM = kinds.one_of(*FORMS)
_COMMON: dict[str, Any] = {"jointly": None, "claims": None, "probe": _identity_matrices}

cholesky_op = define("cholesky", _square_type, params={}, cost=_cubes(1), **_COMMON)
inv_op = define("inv", _square_type, params={}, cost=_cubes(2), **_COMMON)
det_op = define("det", _det_type, params={}, cost=_cubes(1), **_COMMON)
adjugate_op = define("adjugate", _square_type, params={}, cost=_cubes(12), **_COMMON)
slogdet_op = define("slogdet", _slogdet_type, params={}, cost=_cubes(1), **_COMMON)
lu_factor_op = define("lu_factor", _lu_type, params={}, cost=_cubes(1), **_COMMON)
solve_op = define("solve", _solve_type, params={"form": _FORM}, cost=OpCost(_elimination), **_COMMON)
lu_solve_op = define("lu_solve", _lu_solve_type, params={"form": _FORM}, cost=OpCost(_substitution), **_COMMON)
triangular_solve_op = define(
    "triangular_solve",
    _triangular_type,
    params={"lower": kinds.flag, "form": _FORM, "unit": kinds.flag},
    cost=OpCost(_substitution),
    **_COMMON,
)
refuse(itself, cholesky_op, inv_op, lu_factor_op, solve_op, triangular_solve_op)


def cholesky(a: Operand) -> Any:
    """Return the lower Cholesky factor of Hermitian positive definite matrices; only lower triangles are read."""
    return apply(cholesky_op, a)


def inv(a: Operand) -> Any:
    """Return the inverse of square matrices."""
    return apply(inv_op, a)


def det(a: Operand) -> Any:
    """Return the determinant of square matrices."""
    return apply(det_op, a)


def adjugate(a: Operand) -> Any:
    """Return the adjugate of square matrices, det(a) inv(a), also where they are singular."""
    return apply(adjugate_op, a)


def slogdet(a: Operand) -> tuple[Any, Any]:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    sign, logarithm = apply_all(slogdet_op, a)
    return sign, logarithm


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
