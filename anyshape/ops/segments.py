"""Segment reductions: combine elements along the first axis that have the same id.

The core ops take ids in 0..size-1. The public functions drop elements with other ids, as JAX does: these go to one more
segment, which the result leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, context_of, localise, meta_of, sizes_of
from anyshape.ops.core.definition import define, itself, refuse
from anyshape.ops.core.flop_counts import per_operand
from anyshape.ops.dynamic import LARGEST, count_beyond, nonnegative_size
from anyshape.ops.reduction import reduce_max

_ID = np.dtype(np.int64)


def _segment_type(ctx: ShapeGuardContext, x: TensorMeta, ids: TensorMeta, *, size: Size) -> TensorMeta:
    if not x.rank or ids.rank != 1:
        raise ctx.fail("an array and one id for each element of its first axis are needed")
    if ids.dtype != _ID:
        raise ctx.bad_dtype(f"the ids are {ids.dtype}", "convert them with astype(int)")
    if isinstance(x.extents[0], Exact) and isinstance(ids.extents[0], Exact):
        mine, theirs = x.extents[0].size, ids.extents[0].size
        ctx.require_equal(mine, theirs, f"{theirs} ids for {mine} elements")
    return TensorMeta(x.dtype, (ctx.resolve(size), *x.extents[1:]))


def _define_segments(name: str) -> Op:
    return define(
        name,
        _segment_type,
        params={"size": kinds.size},
        jointly=None,
        claims=None,
        probe=None,
        cost=per_operand(1),
    )


segment_max_op: Op = _define_segments("segment_max")
segment_min_op: Op = _define_segments("segment_min")
segment_prod_op: Op = _define_segments("segment_prod")
refuse(itself, segment_max_op, segment_min_op, segment_prod_op)


def apply_segments(op: Op, x: Operand, ids: Operand, size: Size) -> Any:
    """Apply one of the core ops to ids in 0..size-1."""
    local, sources = localise(size, (x, ids))
    return apply(op, x, ids, sources=sources, size=local)


def add_segments(x: Operand, ids: Operand, size: Size) -> Any:
    """Return the sums of segments, for ids in 0..size-1."""
    return ix.put_add(x, ids, size)


def _prepare_ids(data: Operand, segment_ids: Operand, num_segments: Any, function: str) -> tuple[Any, Size]:
    """Return ids and the number of segments; ids out of range become this number."""
    ctx = context_of(function, data, segment_ids)
    if meta_of(segment_ids).rank != 1 or not meta_of(data).rank:
        raise ctx.fail("an array and one id for each element of its first axis are needed")
    if segment_ids.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"the ids are {segment_ids.dtype}", "convert them with astype(int)")
    mine, theirs = sizes_of(ctx, data)[0], sizes_of(ctx, segment_ids)[0]
    ctx.require_equal(mine, theirs, f"{theirs} ids for {mine} elements")
    ids = segment_ids
    if ids.dtype == np.uint64:  # no int64 is beyond these
        ids = ew.minimum(ids, ew.lift(LARGEST, ids))
    ids = ew.convert(ids, _ID)
    if num_segments is None:
        size = count_beyond(reduce_max(ids, (0,), empty=True))
    else:
        size = nonnegative_size(num_segments, function)
    last = mv.broadcast_to(cr.size_value(size), sizes_of(ctx, ids))
    valid = ew.logical_and(ew.ge(ids, ew.lift(0, ids)), ew.lt(ids, last))
    return ew.select(valid, ids, last), size


def _drop_last_segment(x: Any, size: Size) -> Any:
    shape = sizes_of(context_of("segment", x), x)
    return mv.strided(x, [0] * len(shape), (size, *shape[1:]))


def _segments(name: str, doc: str, compute: Callable[[Any, Any, Size], Any]) -> Callable[..., Any]:
    def function(data: Operand, segment_ids: Operand, num_segments: Any = None) -> Any:
        ids, size = _prepare_ids(data, segment_ids, num_segments, name)
        return _drop_last_segment(compute(data, ids, expr.add(size, 1)), size)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc} Ids out of range are dropped. The number of segments may be an int, a size, or an integer scalar; "
        f"by default it is the largest id plus 1."
    )
    return function


segment_sum: Callable[..., Any] = _segments(
    "segment_sum", "Return the sum of each segment of the first axis, 0 for none.", add_segments
)
segment_max: Callable[..., Any] = _segments(
    "segment_max",
    "Return the maximum of each segment of the first axis, the least value for none.",
    lambda x, ids, size: apply_segments(segment_max_op, x, ids, size),
)
segment_min: Callable[..., Any] = _segments(
    "segment_min",
    "Return the minimum of each segment of the first axis, the largest value for none.",
    lambda x, ids, size: apply_segments(segment_min_op, x, ids, size),
)
segment_prod: Callable[..., Any] = _segments(
    "segment_prod",
    "Return the product of each segment of the first axis, 1 for none.",
    lambda x, ids, size: apply_segments(segment_prod_op, x, ids, size),
)


def segment_mean(data: Operand, segment_ids: Operand, num_segments: Any = None) -> Any:
    """Return the mean of each segment of the first axis, NaN for none. Otherwise as `segment_sum`."""
    ids, size = _prepare_ids(data, segment_ids, num_segments, "segment_mean")
    x = data if data.dtype.kind in "fc" else ew.convert(data, np.float64)
    sums = _drop_last_segment(add_segments(x, ids, expr.add(size, 1)), size)
    real = np.dtype(np.empty(0, x.dtype).real.dtype)
    ones = cr.full(sizes_of(context_of("segment", ids), ids), 1, real)
    counts = _drop_last_segment(add_segments(ones, ids, expr.add(size, 1)), size)
    some = ew.gt(counts, ew.lift(0, counts))
    counts = ew.convert(ew.select(some, counts, ew.lift(1, counts)), x.dtype)
    shape = sizes_of(context_of("segment", sums), sums)
    counts, some = (mv.broadcast_in_dim(v, shape, (0,)) for v in (counts, some))
    return ew.select(some, ew.div(sums, counts), ew.lift(float("nan"), sums))
