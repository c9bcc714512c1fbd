"""Slopes of elementwise ops. `x, y` are inputs, `out` the output; operands have equal shapes, so nothing is stretched."""

from anyshape.autodiff.tables import JVPS, TRANSPOSES, Linear, add_tangents, bilinear, linear, pointwise, zero
from anyshape.ops import elementwise as ew

linear(ew.neg_op, lambda ctx, ct, x: -ct)
pointwise(ew.exp_op, lambda x, out: out)
pointwise(ew.log_op, lambda x, out: 1 / x)
pointwise(ew.sin_op, lambda x, out: ew.cos(x))
pointwise(ew.cos_op, lambda x, out: -ew.sin(x))
pointwise(ew.tanh_op, lambda x, out: 1 - out * out)
pointwise(ew.sqrt_op, lambda x, out: 0.5 / out)


def _add_jvp(ctx, tangents, out, x, y):
    return add_tangents(*tangents)


def _sub_jvp(ctx, tangents, out, x, y):
    tx, ty = tangents
    return tx if ty is None else -ty if tx is None else tx - ty


def _if_linear(x, ct):
    return ct if isinstance(x, Linear) else None


JVPS[ew.add_op] = _add_jvp
TRANSPOSES[ew.add_op] = lambda ctx, ct, x, y: (_if_linear(x, ct), _if_linear(y, ct))
JVPS[ew.sub_op] = _sub_jvp
TRANSPOSES[ew.sub_op] = lambda ctx, ct, x, y: (_if_linear(x, ct), -ct if isinstance(y, Linear) else None)
bilinear(ew.mul_op, lambda ctx, ct, x, y: ct * y, lambda ctx, ct, x, y: x * ct)


def _div_jvp(ctx, tangents, out, x, y):
    tx, ty = tangents
    first = tx / y if tx is not None else None
    return add_tangents(first, -(ty * (out / y)) if ty is not None else None)


JVPS[ew.div_op] = _div_jvp
TRANSPOSES[ew.div_op] = lambda ctx, ct, x, y: (ct / y, None)


def _tie_weight(x, y, larger):
    """1 where this operand is chosen, 0.5 where the two are equal, 0 elsewhere, as JAX does."""
    half = ew.select(ew.eq(x, y), ew.lift(0.5, x), ew.lift(0.0, x))
    return ew.select(larger, ew.lift(1.0, x), half)


pointwise(
    ew.max_op, lambda x, y, out: _tie_weight(x, y, ew.gt(x, y)), lambda x, y, out: _tie_weight(x, y, ew.gt(y, x))
)
pointwise(
    ew.min_op, lambda x, y, out: _tie_weight(x, y, ew.gt(y, x)), lambda x, y, out: _tie_weight(x, y, ew.gt(x, y))
)
zero(ew.eq_op)
zero(ew.gt_op)
zero(ew.ge_op)


def _select_jvp(ctx, tangents, out, condition, x, y):
    _, tx, ty = tangents
    zeros = ew.lift(0, out)
    return ew.select(condition, zeros if tx is None else tx, zeros if ty is None else ty)


def _select_transpose(ctx, ct, condition, x, y):
    zeros = ew.lift(0, ct)
    gx = ew.select(condition, ct, zeros) if isinstance(x, Linear) else None
    return None, gx, ew.select(condition, zeros, ct) if isinstance(y, Linear) else None


JVPS[ew.select_op] = _select_jvp
TRANSPOSES[ew.select_op] = _select_transpose


def _convert_jvp(ctx, tangents, out, x, *, dtype):
    return ew.convert(tangents[0], dtype) if dtype.kind in "fc" else None


def _convert_back(ctx, ct, x, *, dtype):
    return ew.convert(ct, x.dtype)


JVPS[ew.convert_op] = _convert_jvp
TRANSPOSES[ew.convert_op] = lambda ctx, ct, x, *, dtype: (_convert_back(ctx, ct, x, dtype=dtype),)
