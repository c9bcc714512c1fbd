"""Reductions and cumulative ops.

Reductions drop the axes, cumulative ops keep them. The derivatives of cumulative ops need the recurrence, and sum_to is
the transpose of broadcasting.

Sorting ops, and the permutation that their derivatives apply: its transpose is the inverse permutation.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, localise, meta_of, named
from anyshape.ops.core.definition import PROBE_ONES, PROBE_ZEROS, PROBED_AT_ONES, PROBED_AT_ZEROS, define, refuse
from anyshape.ops.core.flop_counts import MERGE_SORT, MOVES, Applied, OpCost, ceil_log2, elements, per_operand
from anyshape.ops.indexing import refuse_indices

Function: TypeAlias = Callable[..., Any]
BOOL = np.dtype(bool)
_ONE_EACH = per_operand(1)
_INCREASING: dict[str, Any] = {"jointly": kinds.has_increasing_axes, "claims": None, "probe": PROBE_ONES}


def _without(x: TensorMeta, axes: tuple[int, ...], dtype: np.dtype) -> TensorMeta:
    return TensorMeta(dtype, tuple([e for i, e in enumerate(x.extents) if i not in axes]))


def _reduce_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    return _without(x, axes, x.dtype)


def _not_empty(ctx: ShapeGuardContext, x: TensorMeta, axes: tuple[int, ...]) -> None:
    """Assert that the axes are not empty, for an op without a neutral element."""
    for axis in axes:
        if isinstance(extent := x.extents[axis], Exact):
            ctx.require(at_least(extent.size, 1), f"axis {axis} of size {extent.size} must not be empty")


def _extreme_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...], empty: bool) -> TensorMeta:
    if not empty:
        _not_empty(ctx, x, axes)
    return _without(x, axes, x.dtype)


def _logical_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    if x.dtype != BOOL:
        raise ctx.bad_dtype(f"the operand is {x.dtype}", "compare it with 0 to make it bool")
    return _without(x, axes, BOOL)


def _position_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int) -> TensorMeta:
    _not_empty(ctx, x, (axis,))
    return _without(x, (axis,), np.dtype(np.int64))


def _require_float(ctx: ShapeGuardContext, x: TensorMeta) -> None:
    if x.dtype.kind != "f":
        raise ctx.bad_dtype(f"the operand is {x.dtype}", "convert it to a float dtype with astype")


def _logsumexp_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    _require_float(ctx, x)
    return _without(x, axes, x.dtype)


def _softmax_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    _require_float(ctx, x)
    _not_empty(ctx, x, axes)
    return x


def _float_type(ctx: ShapeGuardContext, x: TensorMeta, **params) -> TensorMeta:
    _require_float(ctx, x)
    return x


def _cumulative_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, reverse: bool, exclusive: bool) -> TensorMeta:
    return x


def _recurrence_type(
    ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *goes_on: TensorMeta, axis: int, reverse: bool
) -> TensorMeta:
    if a.dtype not in (b.dtype, np.dtype(bool)):
        raise ctx.bad_dtype(f"operands are {a.dtype} and {b.dtype}", "convert them to one dtype with astype")
    if any(mask.dtype != bool for mask in goes_on):
        raise ctx.bad_dtype(f"the mask is {goes_on[0].dtype}", "give a mask of bool")
    for x in (a, *goes_on):
        ctx.require_same_extents(x, b, "operands of a core op must have equal shapes")
    return b


def _sum_to_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...], axes: tuple[int, ...]
) -> TensorMeta:
    """Make axis axes[i] of x axis i of the result, summed if it has size 1 there; other axes are summed."""
    extents = tuple([ctx.resolve(s) for s in shape])
    for extent, axis in zip(extents, axes, strict=True):
        summed = x.extents[axis]
        if isinstance(extent, Exact) and isinstance(summed, Exact) and not ctx.same(extent.size, summed.size):
            claim = Claim("stretches", extent.size, summed.size)
            ctx.require(claim, f"an axis of size {summed.size} cannot be summed to size {extent.size}")
    return TensorMeta(x.dtype, extents)


def _over_axes(name: str, doc: str, rule: Callable[..., TensorMeta], cost: OpCost = _ONE_EACH) -> tuple[Op, Function]:
    """Define a reduction, and the function that applies it; over no axis it gives x itself."""
    op = define(name, rule, params={"axes": kinds.axes}, cost=cost, **_INCREASING)

    def function(x: Operand, axes: Sequence[int]):
        return apply(op, x, axes=tuple(sorted(axes))) if axes else x

    return op, named(function, op, doc)


def _extreme(name: str, doc: str) -> tuple[Op, Function]:
    op = define(name, _extreme_type, params={"axes": kinds.axes, "empty": kinds.flag}, cost=_ONE_EACH, **_INCREASING)

    def function(x: Operand, axes: Sequence[int], *, empty: bool = False):
        return apply(op, x, axes=tuple(sorted(axes)), empty=empty) if axes else x

    return op, named(function, op, f"Return the {doc} value.")


def _position(name: str, doc: str) -> tuple[Op, Function]:
    op = define(name, _position_type, params={"axis": kinds.axis}, cost=_ONE_EACH, **PROBED_AT_ONES)

    def function(x: Operand, axis: int):
        return apply(op, x, axis=axis)

    return op, named(function, op, f"Return the index of the first {doc} along the axis, or of the first NaN.")


def _cumulative(name: str, doc: str, rule: Callable[..., TensorMeta] = _cumulative_type) -> tuple[Op, Function]:
    params = {"axis": kinds.axis, "reverse": kinds.flag, "exclusive": kinds.flag}
    op = define(name, rule, params=params, cost=_ONE_EACH, **PROBED_AT_ONES)

    def function(x: Operand, axis: int, *, reverse: bool = False, exclusive: bool = False):
        return apply(op, x, axis=axis, reverse=reverse, exclusive=exclusive)

    doc = f"Return the {doc}. From the end if `reverse`; without the element itself if `exclusive`."
    return op, named(function, op, doc)


reduce_sum_op, reduce_sum = _over_axes("reduce_sum", "Return the sum over the axes, which disappear.", _reduce_type)
reduce_prod_op, reduce_prod = _over_axes(
    "reduce_prod", "Return the product over the axes, which disappear.", _reduce_type
)
reduce_max_op, reduce_max = _extreme(
    "reduce_max", "maximum over the axes; NaN if any element is. With `empty`, no elements give the least"
)
reduce_min_op, reduce_min = _extreme(
    "reduce_min", "minimum over the axes; NaN if any element is. With `empty`, no elements give the largest"
)
reduce_and_op, reduce_and = _over_axes("reduce_and", "Return whether all elements are true.", _logical_type)
reduce_or_op, reduce_or = _over_axes("reduce_or", "Return whether any element is true.", _logical_type)
reduce_logsumexp_op, reduce_logsumexp = _over_axes(
    "reduce_logsumexp",
    "Return the logarithm of the sum of exponentials; no elements give -inf.",
    _logsumexp_type,
    OpCost(lambda a: expr.add(expr.mul(4, elements(a.inputs[0])), expr.mul(2, elements(a.outputs[0])))),
)
argmax_op, argmax = _position("argmax", "maximum")
argmin_op, argmin = _position("argmin", "minimum")

_EXP_BY_SUM = "Return exp(x) divided by its sum over the axes"
softmax_op, softmax = _over_axes("softmax", f"{_EXP_BY_SUM}, without overflow.", _softmax_type, per_operand(5))
safe_softmax_op, safe_softmax = _over_axes(
    "safe_softmax", f"{_EXP_BY_SUM}, and 0 where that is 0: the derivative of logsumexp.", _float_type, per_operand(5)
)

cumsum_op, cumsum = _cumulative("cumsum", "sum of the elements up to each one")
cumprod_op, cumprod = _cumulative("cumprod", "product of the elements up to each one")
cummax_op, cummax = _cumulative("cummax", "maximum of the elements up to each one")
cummin_op, cummin = _cumulative("cummin", "minimum of the elements up to each one")
cumlogsumexp_op, cumlogsumexp = _cumulative(
    "cumlogsumexp", "logarithm of the sum of exponentials up to each element", _float_type
)
recurrence_op: Op = define(
    "recurrence",
    _recurrence_type,
    operands=(2, 3),
    params={"axis": kinds.axis, "reverse": kinds.flag},
    cost=per_operand(2),
    **PROBED_AT_ONES,
)
sum_to_op: Op = define(
    "sum_to",
    _sum_to_type,
    params={"shape": kinds.sizes, "axes": kinds.axes},
    jointly=lambda node, params: kinds.are_increasing_axes(
        params["axes"], len(params["shape"]), node.inputs[0].meta.rank
    ),
    claims=None,
    probe=PROBE_ONES,
    cost=per_operand(1),
)


def recurrence(a: Operand, b: Operand, axis: int, *, reverse: bool = False, goes_on: Operand | None = None) -> Any:
    """Return s with s[0] = 0, s[k + 1] = a[k] * s[k] + b[k] along the axis, without the last state.

    It runs from the end if `reverse`. Where the mask `goes_on` is False, s[k + 1] = b[k], whatever s[k] is: a product
    with 0 would keep an infinity or NaN.
    """
    return apply(recurrence_op, a, b, *([] if goes_on is None else [goes_on]), axis=axis, reverse=reverse)


def sum_to(x: Operand, shape: Sequence[Size], axes: Sequence[int]) -> Any:
    """Return x summed to `shape`: the transpose of `broadcast_in_dim(_, x.shape, axes)` at the actual sizes."""
    shape = tuple(shape)
    if meta_of(x).sizes == shape:
        return x
    local, sources = localise(shape, (x,))
    return apply(sum_to_op, x, sources=sources, shape=local, axes=tuple(axes))


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


sort_op: Op = define("sort", _sort_type, params={"axis": kinds.axis}, cost=MERGE_SORT, **PROBED_AT_ZEROS)
argsort_op: Op = define(
    "argsort", _argsort_type, params={"axis": kinds.axis, "stable": kinds.flag}, cost=MERGE_SORT, **PROBED_AT_ZEROS
)
permute_op: Op = define(
    "permute", _permute_type, params={"axis": kinds.axis, "inverse": kinds.flag}, cost=MOVES, **PROBED_AT_ZEROS
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
