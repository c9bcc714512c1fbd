"""Triangular factors with a derivative, and solutions with banded matrices; leading axes are a batch.

A banded matrix stands as one row for each diagonal: element (i, j) is at [upper + i - j, j], as in LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all
from anyshape.ops.core.definition import PROBE_ONES, define, itself, refuse
from anyshape.ops.core.flop_counts import Applied, OpCost, elements
from anyshape.ops.linalg import PIVOT, require_matrices

INDEX = np.dtype(np.int64)


def _lu_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    rows, _ = require_matrices(ctx, a)
    return a, TensorMeta(PIVOT, (*a.extents[:-2], Exact(rows)))


def _row_order_type(ctx: ShapeGuardContext, pivots: TensorMeta) -> TensorMeta:
    if pivots.dtype != PIVOT or not pivots.rank:
        raise ctx.fail("the pivots must be those that lu gives")
    return TensorMeta(INDEX, pivots.extents)


def _banded_type(
    ctx: ShapeGuardContext, ab: TensorMeta, b: TensorMeta, *, lower: int, upper: int, transposed: bool, positive: bool
) -> TensorMeta:
    diagonals, size = require_matrices(ctx, ab)
    if ab.dtype != b.dtype:
        raise ctx.bad_dtype(f"operands are {ab.dtype} and {b.dtype}", "convert them to one dtype with astype")
    if ab.rank != b.rank:
        raise ctx.fail("the matrices and the right-hand sides must have the same number of axes")
    count = lower + upper + 1
    ctx.require_equal(diagonals, count, f"the band has {diagonals} rows, and {count} diagonals")
    for axis in range(ab.rank - 1):
        left = size if axis == ab.rank - 2 else ctx.exact(ab, axis, field="operands")
        right = ctx.exact(b, axis, field="operands")
        ctx.require_equal(left, right, f"axis {axis} of the right-hand sides has size {right}, not {left}")
    return b


def _elimination(a: Applied) -> Size:
    *_, rows, columns = a.inputs[0]
    return expr.mul(elements(a.inputs[0]), expr.minimum(rows, columns))


def _banded_elimination(a: Applied) -> Size:
    """Count for each column the products below its pivot, then the substitutions."""
    lower, width = a.params["lower"], 2 * a.params["lower"] + a.params["upper"] + 1
    factors = expr.mul(2 * lower, elements(a.inputs[0]))
    return expr.add(factors, expr.mul(2 * width, elements(a.outputs[0])))


_COMMON: dict[str, Any] = {"jointly": None, "claims": None}

lu_op: Op = define("lu", _lu_type, params={}, cost=OpCost(_elimination), probe=PROBE_ONES, **_COMMON)
row_order_op: Op = define(
    "row_order", _row_order_type, params={}, cost=OpCost(lambda a: elements(a.outputs[0])), probe=None, **_COMMON
)
banded_solve_op: Op = define(
    "banded_solve",
    _banded_type,
    params={"lower": kinds.count, "upper": kinds.count, "transposed": kinds.flag, "positive": kinds.flag},
    cost=OpCost(_banded_elimination),
    probe=None,
    **_COMMON,
)
refuse(itself, row_order_op, banded_solve_op)


def lu(a: Operand) -> tuple[Any, Any]:
    """Return the LU factors of matrices in one array, and for each row the one it was exchanged with, in turn."""
    factors, pivots = apply_all(lu_op, a)
    return factors, pivots


def row_order(pivots: Operand) -> Any:
    """Return the order of rows that exchanges with these pivots lead to."""
    return apply(row_order_op, pivots)


def banded_solve(
    ab: Operand, b: Operand, *, lower: int, upper: int, transposed: bool = False, positive: bool = False
) -> Any:
    """Return x with a x = b for matrices a with so many diagonals below and above the main one, or with a^T.

    If `positive`, a matrix that is not Hermitian positive definite is NumPy's LinAlgError when the program runs.
    """
    return apply(banded_solve_op, ab, b, lower=lower, upper=upper, transposed=transposed, positive=positive)
