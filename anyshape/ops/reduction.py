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


def _without(x: TensorMeta, axes: tuple[int, ...], dtype: np.dtype) -> TensorMeta:
    return TensorMeta(dtype, tuple([e for i, e in enumerate(x.extents) if i not in axes]))


def _reduce_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    return _without(x, axes, x.dtype)


def _not_empty(ctx: ShapeGuardContext, x: TensorMeta, axes: tuple[int, ...]) -> None:
    """Assert that the axes are not empty, for an op without a neutral element."""
    for axis in axes:
        extent = x.extents[axis]
        if isinstance(extent, Exact):
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


def _safe_softmax_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    _require_float(ctx, x)
    return x


def _cumulative_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, reverse: bool, exclusive: bool) -> TensorMeta:
    return x


def _cumlogsumexp_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, reverse: bool, exclusive: bool
) -> TensorMeta:
    _require_float(ctx, x)
    return x


def _recurrence_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, axis: int, reverse: bool) -> TensorMeta:
    if a.dtype not in (b.dtype, np.dtype(bool)):
        raise ctx.bad_dtype(f"operands are {a.dtype} and {b.dtype}", "convert them to one dtype with astype")
    ctx.require_same_extents(a, b, "operands of a core op must have equal shapes")
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


def _logsumexp_flops(a: Applied) -> Size:
    """max, -, exp and + for each element; log and + for each sum."""
    return expr.add(expr.mul(4, elements(a.inputs[0])), expr.mul(2, elements(a.outputs[0])))


def _reduction(name: str, rule: Callable[..., TensorMeta], cost: OpCost) -> Op:
    return define(
        name,
        rule,
        params={"axes": kinds.axes},
        jointly=kinds.has_increasing_axes,
        claims=None,
        probe=PROBE_ONES,
        cost=cost,
    )


def _extreme(name: str) -> Op:
    return define(
        name,
        _extreme_type,
        params={"axes": kinds.axes, "empty": kinds.flag},
        jointly=kinds.has_increasing_axes,
        claims=None,
        probe=PROBE_ONES,
        cost=per_operand(1),
    )


def _position(name: str) -> Op:
    return define(name, _position_type, params={"axis": kinds.axis}, cost=per_operand(1), **PROBED_AT_ONES)


def _cumulative(name: str, rule: Callable[..., TensorMeta] = _cumulative_type) -> Op:
    return define(
        name,
        rule,
        params={"axis": kinds.axis, "reverse": kinds.flag, "exclusive": kinds.flag},
        cost=per_operand(1),
        **PROBED_AT_ONES,
    )


def _over_axes(op: Op, doc: str) -> Function:
    def function(x: Operand, axes: Sequence[int]):
        return apply(op, x, axes=tuple(sorted(axes))) if axes else x

    return named(function, op, doc)


def _extreme_over_axes(op: Op, doc: str) -> Function:
    def function(x: Operand, axes: Sequence[int], *, empty: bool = False):
        return apply(op, x, axes=tuple(sorted(axes)), empty=empty) if axes else x

    return named(function, op, doc)


def _to_position(op: Op, doc: str) -> Function:
    def function(x: Operand, axis: int):
        return apply(op, x, axis=axis)

    return named(function, op, doc)


def _along_axis(op: Op, doc: str) -> Function:
    def function(x: Operand, axis: int, *, reverse: bool = False, exclusive: bool = False):
        return apply(op, x, axis=axis, reverse=reverse, exclusive=exclusive)

    return named(function, op, f"{doc} From the end if `reverse`; without the element itself if `exclusive`.")


# Reducing over no axis gives x itself.
reduce_sum_op: Op = _reduction("reduce_sum", _reduce_type, per_operand(1))
reduce_sum: Function = _over_axes(reduce_sum_op, "Return the sum over the axes, which disappear.")
reduce_prod_op: Op = _reduction("reduce_prod", _reduce_type, per_operand(1))
reduce_prod: Function = _over_axes(reduce_prod_op, "Return the product over the axes, which disappear.")
reduce_max_op: Op = _extreme("reduce_max")
reduce_max: Function = _extreme_over_axes(
    reduce_max_op,
    "Return the maximum over the axes; NaN if any element is. With `empty`, no elements give the least value.",
)
reduce_min_op: Op = _extreme("reduce_min")
reduce_min: Function = _extreme_over_axes(
    reduce_min_op,
    "Return the minimum over the axes; NaN if any element is. With `empty`, no elements give the largest value.",
)
reduce_and_op: Op = _reduction("reduce_and", _logical_type, per_operand(1))
reduce_and: Function = _over_axes(reduce_and_op, "Return whether all elements are true.")
reduce_or_op: Op = _reduction("reduce_or", _logical_type, per_operand(1))
reduce_or: Function = _over_axes(reduce_or_op, "Return whether any element is true.")
reduce_logsumexp_op: Op = _reduction("reduce_logsumexp", _logsumexp_type, OpCost(_logsumexp_flops))
reduce_logsumexp: Function = _over_axes(
    reduce_logsumexp_op, "Return the logarithm of the sum of exponentials; no elements give -inf."
)
argmax_op: Op = _position("argmax")
argmax: Function = _to_position(argmax_op, "Return the index of the first maximum along the axis, or of the first NaN.")
argmin_op: Op = _position("argmin")
argmin: Function = _to_position(argmin_op, "Return the index of the first minimum along the axis, or of the first NaN.")

softmax_op: Op = _reduction("softmax", _softmax_type, per_operand(5))
softmax: Function = _over_axes(softmax_op, "Return exp(x) divided by its sum over the axes, without overflow.")
safe_softmax_op: Op = _reduction("safe_softmax", _safe_softmax_type, per_operand(5))
safe_softmax: Function = _over_axes(
    safe_softmax_op,
    "Return exp(x) divided by its sum over the axes, and 0 where that is 0: the derivative of logsumexp.",
)

cumsum_op: Op = _cumulative("cumsum")
cumsum: Function = _along_axis(cumsum_op, "Return the sum of the elements up to each one.")
cumprod_op: Op = _cumulative("cumprod")
cumprod: Function = _along_axis(cumprod_op, "Return the product of the elements up to each one.")
cummax_op: Op = _cumulative("cummax")
cummax: Function = _along_axis(cummax_op, "Return the maximum of the elements up to each one.")
cummin_op: Op = _cumulative("cummin")
cummin: Function = _along_axis(cummin_op, "Return the minimum of the elements up to each one.")
cumlogsumexp_op: Op = _cumulative("cumlogsumexp", _cumlogsumexp_type)
cumlogsumexp: Function = _along_axis(
    cumlogsumexp_op, "Return the logarithm of the sum of exponentials up to each element."
)
recurrence_op: Op = define(
    "recurrence",
    _recurrence_type,
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


def recurrence(a: Operand, b: Operand, axis: int, *, reverse: bool = False) -> Any:
    """Return s with s[0] = 0, s[k + 1] = a[k] * s[k] + b[k] along the axis, without the last state.

    It runs from the end if `reverse`.
    """
    return apply(recurrence_op, a, b, axis=axis, reverse=reverse)


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
