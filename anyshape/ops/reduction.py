"""Ops that combine elements along axes: reduce_sum and its kin, cumulative ones, and sum_to, the transpose of stretching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.conditions import Claim
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.extents import Exact, TensorMeta
from anyshape.graph.ir import define
from anyshape.ops.core import Operand, apply, localise, meta_of


def _reduce_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    return TensorMeta(x.dtype, tuple([e for i, e in enumerate(x.extents) if i not in axes]))


def _sum_to_type(ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...], axes: tuple[int, ...]) -> TensorMeta:
    """Axis axes[i] of x becomes axis i of the result, summed where the result has size 1; other axes are summed."""
    extents = tuple([ctx.resolve(s) for s in shape])
    for extent, axis in zip(extents, axes, strict=True):
        old = x.extents[axis]
        if isinstance(extent, Exact) and isinstance(old, Exact) and not ctx.same(extent.size, old.size):
            claim = Claim("stretches", extent.size, old.size)
            ctx.require(claim, f"an axis of size {old.size} cannot be summed to size {extent.size}")
    return TensorMeta(x.dtype, extents)


reduce_sum_op = define("reduce_sum", _reduce_type)
reduce_max_op = define("reduce_max", _reduce_type)
sum_to_op = define("sum_to", _sum_to_type)


def reduce_sum(x: Operand, axes: Sequence[int]) -> Any:
    """The sum over the axes, which disappear. No axis: x."""
    return apply(reduce_sum_op, x, axes=tuple(sorted(axes))) if axes else x


def reduce_max(x: Operand, axes: Sequence[int]) -> Any:
    """The maximum over the axes, which disappear; NaN if any element is."""
    return apply(reduce_max_op, x, axes=tuple(sorted(axes))) if axes else x


def sum_to(x: Operand, shape: Sequence[Size], axes: Sequence[int]) -> Any:
    """x summed to `shape`, undoing `broadcast_in_dim(_, x.shape, axes)` by the actual sizes."""
    shape = tuple(shape)
    if meta_of(x).sizes == shape:
        return x
    local, sources = localise(shape, (x,))
    return apply(sum_to_op, x, sources=sources, shape=local, axes=tuple(axes))
