"""Sorting ops, and the permutation that their derivatives apply: its transpose is the inverse permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply
from anyshape.ops.core.definition import PROBE_ZEROS, define, refuse
from anyshape.ops.core.flop_counts import MERGE_SORT, MOVES, Applied, OpCost, ceil_log2, elements
from anyshape.ops.indexing import refuse_indices

INDEX = np.dtype(np.int64)


def _sort_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int) -> TensorMeta:
    return x


def _argsort_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, stable: bool) -> TensorMeta:
    return TensorMeta(INDEX, x.extents)


def _permute_type(ctx: ShapeGuardContext, x: TensorMeta, order: TensorMeta, *, axis: int, inverse: bool) -> TensorMeta:
    ctx.require_same_extents(x, order, "operands of a core op must have equal shapes")
    if order.dtype != INDEX:
        raise ctx.bad_dtype(f"the order is {order.dtype}", "take it from argsort")
    return x


def _searchsorted_type(
    ctx: ShapeGuardContext, row: TensorMeta, values: TensorMeta, *, side: str, batch: int
) -> TensorMeta:
    """Check that both operands have `batch` batch axes first, and the row one more axis."""
    if row.dtype != values.dtype:
        raise ctx.bad_dtype(f"operands are {row.dtype} and {values.dtype}", "convert them to one dtype with astype")
    if row.rank != batch + 1:
        raise ctx.fail("the sorted operand must have one axis")
    return TensorMeta(INDEX, values.extents)


def _bisection_steps(a: Applied) -> Size:
    """Count the steps: a row of n elements has n + 1 positions for a value."""
    row, values = a.inputs
    return expr.mul(elements(values), ceil_log2(expr.add(row[-1], 1)))


sort_op: Op = define(
    "sort", _sort_type, params={"axis": kinds.axis}, jointly=None, claims=None, probe=PROBE_ZEROS, cost=MERGE_SORT
)
argsort_op: Op = define(
    "argsort",
    _argsort_type,
    params={"axis": kinds.axis, "stable": kinds.flag},
    jointly=None,
    claims=None,
    probe=PROBE_ZEROS,
    cost=MERGE_SORT,
)
permute_op: Op = define(
    "permute",
    _permute_type,
    params={"axis": kinds.axis, "inverse": kinds.flag},
    jointly=None,
    claims=None,
    probe=PROBE_ZEROS,
    cost=MOVES,
)
refuse(lambda node: refuse_indices(node, (dict(node.params)["axis"],)), permute_op)
searchsorted_op: Op = define(
    "searchsorted",
    _searchsorted_type,
    params={"side": kinds.one_of("left", "right"), "batch": kinds.count},
    jointly=lambda node, params: params["batch"] <= node.inputs[1].meta.rank,
    claims=None,
    probe=PROBE_ZEROS,
    cost=OpCost(_bisection_steps),
)


def sort(x: Operand, axis: int) -> Any:
    """Return x in ascending order along the axis, NaNs last."""
    return apply(sort_op, x, axis=axis)


def argsort(x: Operand, axis: int, *, stable: bool = False) -> Any:
    """Return the positions that sort x along the axis; equal elements keep their order if `stable`."""
    return apply(argsort_op, x, axis=axis, stable=stable)


def permute(x: Operand, order: Operand, axis: int, *, inverse: bool = False) -> Any:
    """Permute x along the axis: element k becomes x[order[k]], or element order[k] becomes x[k] if `inverse`.

    Each line of `order` must be a permutation, so that one undoes the other.
    """
    return apply(permute_op, x, order, axis=axis, inverse=inverse)


def searchsorted(row: Operand, values: Operand, side: str = "left", batch: int = 0) -> Any:
    """Return the positions at which to insert values into a sorted row; the first `batch` axes are batch axes."""
    return apply(searchsorted_op, row, values, side=side, batch=batch)
