"""Distances of all pairs of rows, and the sums that their derivatives are made of; leading axes are a batch.

With t = x[i, k] - y[j, k] and phi(t) = |t|**power, times sign(t) if it is `odd`:

- `difference_products` has at (i, j) the sum over k of phi(t) u[i, k] v[j, k];
- `difference_pulls` has at (i, k) the sum over j of phi(t) v[j, k] g[i, j].

Each is linear in its last two operands, and is the transpose of the other. The derivative of phi is a power again. So
derivatives of any order stay in these ops, and none holds an array of n m d elements. Where phi is infinite at 0, it is
0 there.
"""

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply
from anyshape.ops.core.definition import PROBED_AT_ONES, define
from anyshape.ops.core.flop_counts import OpCost, elements

_FLOAT = np.dtype(np.float64)


def _require_rows(ctx: ShapeGuardContext, *operands: TensorMeta) -> None:
    """Require matrices of doubles with one batch."""
    for x in operands:
        if x.dtype != _FLOAT:
            raise ctx.bad_dtype(f"an operand is {x.dtype}", "convert it with astype(float)")
        if x.rank < 2 or x.rank != operands[0].rank:
            raise ctx.fail("the operands must be matrices, with the same leading axes")
        for axis in range(x.rank - 2):
            _require_equal(ctx, operands[0], axis, x, axis)


def _require_equal(ctx: ShapeGuardContext, a: TensorMeta, i: int, b: TensorMeta, j: int) -> None:
    """Require that axis i of one operand and axis j of another have one size."""
    left, right = ctx.exact(a, i, field="operands"), ctx.exact(b, j, field="operands")
    ctx.require_equal(left, right, f"axes of the operands have sizes {left} and {right}")


def _distances_type(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, *, power: float, root: bool) -> TensorMeta:
    _require_rows(ctx, x, y)
    _require_equal(ctx, x, x.rank - 1, y, y.rank - 1)
    return TensorMeta(_FLOAT, (*x.extents[:-1], y.extents[-2]))


def _products_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, u: TensorMeta, v: TensorMeta, *, power: float, odd: bool
) -> TensorMeta:
    _require_rows(ctx, x, y, u, v)
    row, column = x.rank - 2, x.rank - 1
    for a, i, b in ((x, row, u), (x, column, u), (y, row, v), (y, column, v), (x, column, y)):
        _require_equal(ctx, a, i, b, i)
    return TensorMeta(_FLOAT, (*x.extents[:-1], y.extents[-2]))


def _pulls_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, v: TensorMeta, g: TensorMeta, *, power: float, odd: bool
) -> TensorMeta:
    _require_rows(ctx, x, y, v, g)
    row, column = x.rank - 2, x.rank - 1
    for a, i, b, j in ((y, row, v, row), (y, column, v, column), (x, column, y, column), (x, row, g, row)):
        _require_equal(ctx, a, i, b, j)
    _require_equal(ctx, y, row, g, column)
    return x


def _per_pair_and_component(times: int) -> OpCost:
    return OpCost(lambda a: expr.mul(times, expr.mul(elements(a.inputs[0]), a.inputs[1][-2])))


pair_distances_op: Op = define(
    "pair_distances",
    _distances_type,
    params={"power": kinds.number, "root": kinds.flag},
    cost=_per_pair_and_component(3),
    **PROBED_AT_ONES,
)
difference_products_op: Op = define(
    "difference_products",
    _products_type,
    params={"power": kinds.number, "odd": kinds.flag},
    cost=_per_pair_and_component(4),
    **PROBED_AT_ONES,
)
difference_pulls_op: Op = define(
    "difference_pulls",
    _pulls_type,
    params={"power": kinds.number, "odd": kinds.flag},
    cost=_per_pair_and_component(4),
    **PROBED_AT_ONES,
)


def pair_distances(x: Operand, y: Operand, *, power: float, root: bool) -> Any:
    """Return for each row of x and each row of y the sum of |x - y|**power, or its root of that power."""
    return apply(pair_distances_op, x, y, power=float(power), root=root)


def difference_products(x: Operand, y: Operand, u: Operand, v: Operand, *, power: float, odd: bool) -> Any:
    """Return the sums over components of phi(x[i] - y[j]) u[i] v[j] for each row i of x and j of y."""
    return apply(difference_products_op, x, y, u, v, power=float(power), odd=odd)


def difference_pulls(x: Operand, y: Operand, v: Operand, g: Operand, *, power: float, odd: bool) -> Any:
    """Return for each row i of x the sum over the rows j of y of phi(x[i] - y[j]) v[j] g[i, j]."""
    return apply(difference_pulls_op, x, y, v, g, power=float(power), odd=odd)
