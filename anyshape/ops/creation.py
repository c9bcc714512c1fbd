"""Creation ops: arrays from sizes and literals. They have no operands, only sources."""

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import apply_sized, result_sizes
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, define
from anyshape.ops.core.flop_counts import MOVES


def _full_type(ctx: ShapeGuardContext, *, value, dtype: np.dtype, shape: tuple[Size, ...]) -> TensorMeta:
    return TensorMeta(dtype, tuple([ctx.resolve(s) for s in shape]))


def _size_value_type(ctx: ShapeGuardContext, *, size: Size) -> TensorMeta:
    ctx.resolve(size)
    return tensor(np.dtype(np.int64), ())


def _float_of_size_type(ctx: ShapeGuardContext, *, size: Size, dtype: np.dtype) -> TensorMeta:
    ctx.resolve(size)
    return tensor(dtype, ())


full_op: Op = define(
    "full",
    _full_type,
    params={"value": kinds.number, "dtype": kinds.dtype, "shape": kinds.sizes},
    jointly=lambda node, params: kinds.is_literal(params["dtype"], params["value"]),
    cost=MOVES,
    **NO_PROBE,
)
iota_op: Op = define(
    "iota",
    lambda ctx, *, size, dtype: TensorMeta(dtype, (ctx.resolve(size),)),
    params={"size": kinds.size, "dtype": kinds.dtype},
    jointly=lambda node, params: params["dtype"].kind in "iufc",
    claims=lambda ctx, node, params: [at_least(params["size"], 0)],
    probe=None,
    cost=MOVES,
)
size_value_op: Op = define("size_value", _size_value_type, params={"size": kinds.size}, cost=MOVES, **NO_CHECKS)

float_of_size_op: Op = define(
    "float_of_size",
    _float_of_size_type,
    params={"size": kinds.size, "dtype": kinds.dtype},
    jointly=lambda node, params: params["dtype"].kind in "fc",
    cost=MOVES,
    **NO_PROBE,
)


def full(shape: tuple[Size, ...], value: Any, dtype: Any) -> Any:
    """Return an array of this shape filled with a literal number."""
    dtype, sizes = np.dtype(dtype), {"shape": result_sizes("full", tuple(shape))}
    return apply_sized(full_op, sizes=sizes, value=dtype.type(value).item(), dtype=dtype)


def full_like(x: Any, value: Any = 0, scope: Scope | None = None) -> Any:
    """Return an array of the dtype and shape of a value filled with a literal number; `scope` may be an inner one."""
    return full(ShapeGuardContext(scope or x.builder.scope, "zeros", None, [x.meta]).shape(x), value, x.dtype)


def iota(size: Size, dtype: Any = np.int64) -> Any:
    """Return 0, 1, ..., size - 1."""
    return apply_sized(iota_op, sizes={"size": result_sizes("iota", size)}, dtype=np.dtype(dtype))


def size_value(size: Size) -> Any:
    """Return a size as an int64 scalar of the program."""
    return apply_sized(size_value_op, sizes={"size": size})


def float_of_size(size: Size, dtype: Any) -> Any:
    """Return a size as a scalar of inexact dtype, rounded once: it may be a product that no int64 holds."""
    return apply_sized(float_of_size_op, sizes={"size": size}, dtype=np.dtype(dtype))
