"""Ops that make arrays from sizes and literals: full, iota, and a size as a value. No operand, only sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import define
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.apply import apply, localise


def _full_type(ctx: ShapeGuardContext, *, value: Any, dtype: np.dtype, shape: tuple[Size, ...]) -> TensorMeta:
    return TensorMeta(dtype, tuple([ctx.resolve(s) for s in shape]))


def _iota_type(ctx: ShapeGuardContext, *, size: Size, dtype: np.dtype) -> TensorMeta:
    return TensorMeta(dtype, (ctx.resolve(size),))


def _size_value_type(ctx: ShapeGuardContext, *, size: Size) -> TensorMeta:
    ctx.resolve(size)
    return tensor(np.dtype(np.int64), ())


full_op = define("full", _full_type)
iota_op = define("iota", _iota_type)
size_value_op = define("size_value", _size_value_type)


def full(shape: tuple[Size, ...], value: Any, dtype: Any) -> Any:
    """An array of the given shape filled with a literal number."""
    local, sources = localise(tuple(shape), ())
    dtype = np.dtype(dtype)
    return apply(full_op, sources=sources, value=dtype.type(value).item(), dtype=dtype, shape=local)


def iota(size: Size, dtype: Any = np.int64) -> Any:
    """0, 1, ..., size - 1."""
    local, sources = localise(size, ())
    return apply(iota_op, sources=sources, size=local, dtype=np.dtype(dtype))


def size_value(size: Size) -> Any:
    """A size as an int64 scalar of the program."""
    local, sources = localise(size, ())
    return apply(size_value_op, sources=sources, size=local)
