"""Ops that move elements and compute nothing: broadcast_in_dim, reshape, transpose, and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.conditions import Claim
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.extents import Exact, TensorMeta
from anyshape.graph.ir import define
from anyshape.graph.shapes import infer_reshape
from anyshape.ops.core import Operand, apply, context_of, localise, meta_of, sizes_of


def _broadcast_in_dim_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...], axes: tuple[int, ...]
) -> TensorMeta:
    """Axis i of x becomes axis axes[i] of the result, where it has the size of the result or 1."""
    extents = tuple([ctx.resolve(s) for s in shape])
    for extent, axis in zip(x.extents, axes, strict=True):
        new = extents[axis]
        if isinstance(extent, Exact) and isinstance(new, Exact) and not ctx.same(extent.size, new.size):
            claim = Claim("stretches", extent.size, new.size)
            ctx.require(claim, f"an axis of size {extent.size} cannot be broadcast to size {new.size}")
    return TensorMeta(x.dtype, extents)


def _reshape_type(ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...]) -> TensorMeta:
    extents = tuple([ctx.resolve(s) for s in shape])
    new = TensorMeta(x.dtype, extents)
    if x.sizes is not None and new.sizes is not None:
        infer_reshape(ctx, x.sizes, new.sizes)
    return new


def _transpose_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    return TensorMeta(x.dtype, tuple([x.extents[a] for a in axes]))


broadcast_in_dim_op = define("broadcast_in_dim", _broadcast_in_dim_type)
reshape_op = define("reshape", _reshape_type)
transpose_op = define("transpose", _transpose_type)


def broadcast_in_dim(x: Operand, shape: Sequence[Size], axes: Sequence[int]) -> Any:
    """x with axis i as axis axes[i] of an array of the given shape, repeated along all other axes."""
    local, sources = localise(tuple(shape), (x,))
    return apply(broadcast_in_dim_op, x, sources=sources, shape=local, axes=tuple(axes))


def broadcast_to(x: Operand, shape: Sequence[Size]) -> Any:
    """x stretched to the given shape, aligned at the last axis as NumPy does; x itself when it has that shape."""
    shape = tuple(shape)
    meta = meta_of(x)
    if meta.sizes == shape:
        return x
    offset = len(shape) - meta.rank
    if offset < 0:
        raise context_of("broadcast_to", x).fail(f"an array of rank {meta.rank} cannot take rank {len(shape)}")
    return broadcast_in_dim(x, shape, range(offset, len(shape)))


def reshape(x: Operand, shape: Sequence[Size]) -> Any:
    """The elements of x, in C order, in another shape; one size may be -1."""
    ctx = context_of("reshape", x)
    old = sizes_of(ctx, x)
    new = infer_reshape(ctx, old, tuple(shape))
    if new == old:
        return x
    local, sources = localise(new, (x,))
    return apply(reshape_op, x, sources=sources, shape=local)


def transpose(x: Operand, axes: Sequence[int] | None = None) -> Any:
    """x with its axes in the given order (reversed by default)."""
    rank = meta_of(x).rank
    order = tuple(range(rank)[::-1]) if axes is None else tuple(axes)
    return x if order == tuple(range(rank)) else apply(transpose_op, x, axes=order)
