"""Distances of all pairs of rows, and the sums that their derivatives are made of; leading axes are a batch.

With t = x[i, k] - y[j, k] and phi(t) = |t|**power, times sign(t) if it is `odd`:

- `difference_products` has at (i, j) the sum over k of phi(t) u[i, k] v[j, k];
- `difference_pulls` has at (i, k) the sum over j of phi(t) v[j, k] g[i, j].

`above` gives the elements above the diagonal of matrices, row by row, and `put_above` is its transpose; `both` adds
those below the diagonal, or mirrors.

The sums are linear in their last two operands, and transposes of one another. The derivative of phi is a power again.
So derivatives of any order stay in these ops, and none holds an array of n m d elements. Where phi is infinite at 0, it
is 0 there.
"""

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, localise
from anyshape.ops.core.definition import NO_CHECKS, PROBED_AT_ONES, define
from anyshape.ops.core.flop_counts import OpCost, elements
from anyshape.ops.linalg import require_alike

_FLOAT = np.dtype(np.float64)


def _require_rows(ctx: ShapeGuardContext, *operands: TensorMeta) -> None:
    """Require matrices of doubles with one batch."""
    for x in operands:
        if x.dtype != _FLOAT:
            raise ctx.bad_dtype(f"an operand is {x.dtype}", "convert it with astype(float)")
        _require_matrices(ctx, operands[0], x)


def _require_matrices(ctx: ShapeGuardContext, *operands: TensorMeta) -> None:
    """Require matrices of one dtype and one batch."""
    for x in operands:
        if x.rank < 2:
            raise ctx.fail("the operands must be matrices, with the same leading axes")
        require_alike(ctx, operands[0], x, range(x.rank - 2))


def _require_equal(ctx: ShapeGuardContext, a: TensorMeta, i: int, b: TensorMeta, j: int) -> None:
    """Require that axis i of one operand and axis j of another have one size."""
    left, right = ctx.exact(a, i, field="operands"), ctx.exact(b, j, field="operands")
    ctx.require_equal(left, right, f"axes of the operands have sizes {left} and {right}")


def _distances_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta, power: float, root: bool) -> TensorMeta:
    _require_rows(ctx, x, *others)
    if not others:
        return TensorMeta(_FLOAT, (*x.extents[:-2], Exact(_count_above(ctx.shape(x)[-2]))))
    (y,) = others
    _require_equal(ctx, x, x.rank - 1, y, y.rank - 1)
    return TensorMeta(_FLOAT, (*x.extents[:-1], y.extents[-2]))


def _count_above(n: Size) -> Size:
    """Return how many elements of n rows are above the diagonal."""
    return expr.floordiv(expr.mul(n, expr.sub(n, 1)), 2)


def _above_type(ctx: ShapeGuardContext, a: TensorMeta, *, both: bool) -> TensorMeta:
    _require_matrices(ctx, a)
    _require_equal(ctx, a, a.rank - 2, a, a.rank - 1)
    return TensorMeta(a.dtype, (*a.extents[:-2], Exact(_count_above(ctx.shape(a)[-1]))))


def _put_above_type(ctx: ShapeGuardContext, v: TensorMeta, *, rows: Size, both: bool) -> TensorMeta:
    n, count = ctx.resolve(rows), ctx.shape(v)[-1]
    if not isinstance(n, Exact):
        raise ctx.fail("the number of rows must be known")
    ctx.require_equal(count, _count_above(n.size), f"{n.size} rows have no {count} elements above the diagonal")
    return TensorMeta(v.dtype, (*v.extents[:-1], n, n))


def _nearest_type(ctx: ShapeGuardContext, x: TensorMeta, codes: TensorMeta) -> TensorMeta:
    _require_matrices(ctx, x, codes)
    if x.dtype.char not in "fd":
        raise ctx.bad_dtype(f"the operands are {x.dtype}", "convert them with astype(float)")
    _require_equal(ctx, x, x.rank - 1, codes, codes.rank - 1)
    ctx.require_at_least(ctx.shape(codes)[-2], 1, "the code book has a vector")
    return TensorMeta(np.dtype(np.int32), x.extents[:-1])


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


_PRODUCTS = OpCost(lambda a: expr.mul(4, expr.mul(elements(a.inputs[0]), a.inputs[1][-2])))

pair_distances_op: Op = define(
    "pair_distances",
    _distances_type,
    operands=(1, 2),
    params={"power": kinds.number, "root": kinds.flag},
    cost=OpCost(lambda a: expr.mul(3, expr.mul(elements(a.outputs[0]), a.inputs[0][-1]))),
    **PROBED_AT_ONES,
)
_MOVED = OpCost(lambda a: elements(a.inputs[0]))
above_op: Op = define("above", _above_type, params={"both": kinds.flag}, cost=_MOVED, **NO_CHECKS)
put_above_op: Op = define(
    "put_above", _put_above_type, params={"rows": kinds.size, "both": kinds.flag}, cost=_MOVED, **NO_CHECKS
)
nearest_op: Op = define("nearest", _nearest_type, params={}, cost=_PRODUCTS, **PROBED_AT_ONES)
_PHI = {"power": kinds.number, "odd": kinds.flag}
difference_products_op: Op = define(
    "difference_products", _products_type, params=_PHI, cost=_PRODUCTS, **PROBED_AT_ONES
)
difference_pulls_op: Op = define("difference_pulls", _pulls_type, params=_PHI, cost=_PRODUCTS, **PROBED_AT_ONES)


def pair_distances(x: Operand, *y: Operand, power: float, root: bool) -> Any:
    """Return for each row of x and each row of y the sum of |x - y|**power, or its root of that power.

    Without y these are for each two rows of x, in the order of the elements above the diagonal of a matrix.
    """
    return apply(pair_distances_op, x, *y, power=float(power), root=root)


def above(a: Operand, *, both: bool = False) -> Any:
    """Return the elements above the diagonal of square matrices, row by row; `both` adds the ones mirrored."""
    return apply(above_op, a, both=both)


def put_above(v: Operand, rows: Size, *, both: bool = False) -> Any:
    """Return matrices of so many rows with elements above the diagonal, and zeros or `both` times the same below."""
    local, sources = localise(rows, (v,))
    return apply(put_above_op, v, sources=sources, rows=local, both=both)


def nearest(x: Operand, codes: Operand) -> Any:
    """Return for each row of x the position of the nearest row of `codes`, the first of equally near ones."""
    return apply(nearest_op, x, codes)


def difference_products(x: Operand, y: Operand, u: Operand, v: Operand, *, power: float, odd: bool) -> Any:
    """Return the sums over components of phi(x[i] - y[j]) u[i] v[j] for each row i of x and j of y."""
    return apply(difference_products_op, x, y, u, v, power=float(power), odd=odd)


def difference_pulls(x: Operand, y: Operand, v: Operand, g: Operand, *, power: float, odd: bool) -> Any:
    """Return for each row i of x the sum over the rows j of y of phi(x[i] - y[j]) v[j] g[i, j]."""
    return apply(difference_pulls_op, x, y, v, g, power=float(power), odd=odd)
