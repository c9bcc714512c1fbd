"""Ops that act on each element alone. Operands of the core ops have equal shapes and the dtypes named by their kind;
the public functions broadcast first, so no rule ever meets a stretch. Dtypes are converted before, in `anyshape.numpy`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.graph.builder import Traced
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.extents import TensorMeta
from anyshape.graph.ir import Op, define
from anyshape.graph.shapes import broadcast_sizes
from anyshape.ops.core import Operand, apply, context_of, sizes_of
from anyshape.ops.creation import full
from anyshape.ops.movement import broadcast_to

BOOL = np.dtype(bool)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part."""
    return np.zeros((), dtype).real.dtype


def _check_equal(ctx: ShapeGuardContext, first: TensorMeta, rest: tuple[TensorMeta, ...]) -> None:
    for other in rest:
        if not ctx.same_extents(first, other):
            raise ctx.fail("operands of a core op must have equal shapes")


def _same_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta) -> TensorMeta:
    """All operands and the result have one dtype."""
    _check_equal(ctx, x, others)
    for other in others:
        if other.dtype != x.dtype:
            raise ctx.bad_dtype(f"operands are {x.dtype} and {other.dtype}", "convert them to one dtype with astype")
    return x


def _bool_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta) -> TensorMeta:
    """All operands have one dtype; the result is bool."""
    return TensorMeta(BOOL, _same_type(ctx, x, *others).extents)


def _real_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    """The result has the dtype of the real part."""
    return TensorMeta(real_dtype(x.dtype), x.extents)


def _complex_type(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta) -> TensorMeta:
    _check_equal(ctx, x, (y,))
    return TensorMeta(np.result_type(x.dtype, np.complex64), x.extents)


def _select_type(ctx: ShapeGuardContext, condition: TensorMeta, x: TensorMeta, y: TensorMeta) -> TensorMeta:
    if condition.dtype != BOOL:
        raise ctx.bad_dtype(f"the condition is {condition.dtype}", "compare it to make it bool")
    _check_equal(ctx, x, (condition,))
    return _same_type(ctx, x, y)


def _convert_type(ctx: ShapeGuardContext, x: TensorMeta, *, dtype: np.dtype) -> TensorMeta:
    return TensorMeta(dtype, x.extents)


def lift(x: Any, like: Operand) -> Any:
    """A Python scalar as an array of the dtype and shape of `like`; an array stays."""
    if isinstance(x, (Traced, np.ndarray)):
        return x
    return full(sizes_of(context_of("full", like), like), x, like.dtype)


def broadcast_operands(name: str, *operands: Any) -> list[Any]:
    """Operands stretched to their common shape; Python scalars take the dtype of the first array among them."""
    arrays = [x for x in operands if isinstance(x, (Traced, np.ndarray))]
    ctx = context_of(name, *arrays)
    shapes = [sizes_of(ctx, x) for x in arrays]
    shape = shapes[0] if all(s == shapes[0] for s in shapes) else broadcast_sizes(ctx, shapes)
    lifted = [x if isinstance(x, (Traced, np.ndarray)) else full(shape, x, arrays[0].dtype) for x in operands]
    return [broadcast_to(x, shape) for x in lifted]


def _unary(name: str, doc: str, rule: Callable[..., TensorMeta] = _same_type) -> tuple[Op, Callable[[Any], Any]]:
    op = define(name, rule)
    op.family = "elementwise"

    def function(x: Any) -> Any:
        return apply(op, x)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return op, function


def _binary(name: str, doc: str, rule: Callable[..., TensorMeta] = _same_type) -> tuple[Op, Callable[[Any, Any], Any]]:
    op = define(name, rule)

    def function(x: Any, y: Any) -> Any:
        return apply(op, *broadcast_operands(name, x, y))

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return op, function


neg_op, neg = _unary("neg", "-x.")
exp_op, exp = _unary("exp", "e to the power x.")
log_op, log = _unary("log", "The natural logarithm of x.")
sin_op, sin = _unary("sin", "The sine of x.")
cos_op, cos = _unary("cos", "The cosine of x.")
tanh_op, tanh = _unary("tanh", "The hyperbolic tangent of x.")
sqrt_op, sqrt = _unary("sqrt", "The non-negative square root of x.")

add_op, add = _binary("add", "x + y.")
sub_op, sub = _binary("sub", "x - y.")
mul_op, mul = _binary("mul", "x * y.")
div_op, div = _binary("div", "x / y, of inexact dtype.")
max_op, maximum = _binary("max", "The larger of x and y; NaN if either is.")
min_op, minimum = _binary("min", "The smaller of x and y; NaN if either is.")

eq_op, eq = _binary("eq", "x == y.", _bool_type)
gt_op, gt = _binary("gt", "x > y.", _bool_type)
ge_op, ge = _binary("ge", "x >= y.", _bool_type)

select_op = define("select", _select_type)
convert_op = define("convert", _convert_type)


def select(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    return apply(select_op, *broadcast_operands("select", condition, x, y))


def convert(x: Any, dtype: Any) -> Any:
    """x in another dtype."""
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else apply(convert_op, x, dtype=dtype)
