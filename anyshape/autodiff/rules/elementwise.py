"""Derivatives of elementwise ops. `x, y` are inputs and `out` is the output; operands have equal shapes.

At a kink it is the subgradient of least size, such as 0 for |x| at 0, and a half for each side of a tie. Where a
derivative has a limit (x**2 at 0, logaddexp at two infinities), it is this limit, computed without a division by zero.
The page docs/kinks.md lists these points.

Batching of elementwise ops: operands without the batch are stretched along it, and the op is applied unchanged.
"""

from math import log
from typing import Any

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff import shift_invariance as shifts
from anyshape.autodiff.structural_zeros import chosen, not_chosen, whole
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp
from anyshape.support.lazy_dataclass import replace

LN2, LN10 = log(2), log(10)


def divided(op: Any, divisor: Any) -> Any:
    """Declare an op that acts on each element. Its tangent is the tangent of x divided by `divisor(x, out)`."""
    tables.JVPS[op] = lambda ctx, tangents, out, x: tangents[0] / divisor(x, out)


def choosing(op, *sides):
    """Declare an op that chooses, by two functions of its inputs and output for each tangent.

    The first says where it does not count, the second what it is multiplied by elsewhere.
    """

    def jvp(ctx, tangents, out, *xs):
        total = None
        for side, t in zip(sides, tangents, strict=True):
            if t is not None and side is not None:
                misses, weight = side
                part = not_chosen(misses(*xs, out), t * weight(*xs, out))
                total = part if total is None else ew.add(whole(total), whole(part))
        return total

    tables.JVPS[op] = jvp


# -- arithmetic


def _sub_jvp(ctx, tangents, out, x, y):
    tx, ty = tangents
    return tx if ty is None else -ty if tx is None else tx - ty


def _if_linear(x, ct):
    """Return the cotangent of a linear input, None for another."""
    return ct if isinstance(x, tables.Linear) else None


def _div_jvp(ctx, tangents, out, x, y):
    """Return (tx - ty * out) / y, which divides once; `out / y` would be another residual of full size."""
    tx, ty = tangents
    return _sub_jvp(ctx, (tx, None if ty is None else ty * out), out, x, y) / y


def _infinite_if_zero(length):
    """Return a length, or inf for 0: what is divided by it is 0, and so are its derivatives."""
    return ew.select(ew.eq(length, ew.lift(0, length)), float("inf"), length)


def _ratio_jvp(ctx, tangents, out, x, y):
    tx, ty = tangents
    from_x = ew.ratio(tx, y) if tx is not None else None
    return tables.add_tangents(from_x, -(ty * ew.ratio(out, y)) if ty is not None else None)


def _turn(x, y, z):
    """Return the turn of the direction across itself, by x: it is without a difference that cancels."""
    return ew.ratio(ew.direction(y, x, z), z)


def _abs_jvp(ctx, tangents, out, x):
    """Return the part of the tangent along x, 0 at 0; parts of complex numbers are faster than their sign."""
    (t,) = tangents
    if x.dtype.kind != "c":
        return t * ew.sign(x)
    a, b = ew.real(x), ew.imag(x)
    return ew.real(t) * ew.direction(a, b, out) + ew.imag(t) * ew.direction(b, a, out)


def _sign_jvp(ctx, tangents, out, x):
    """Return no tangent for real x; a complex sign turns by the part of the tangent across it."""
    if x.dtype.kind != "c":
        return None
    turn = ew.ratio(ew.imag(ew.conj(out) * tangents[0]), ew.absolute(x))
    return out * ew.make_complex(ew.lift(0, turn), turn)


def _pow_x(x, y, out):
    """Return y * x**(y - 1), and 0 where y is 0, also at x = 0."""
    flat = ew.eq(y, ew.lift(0, y))
    return ew.select(flat, 0, y * ew.power(x, ew.select(flat, 1, y) - 1))


tables.linear(ew.neg_op, lambda ctx, ct, x: -ct)
tables.JVPS[ew.abs_op] = _abs_jvp
tables.JVPS[ew.sign_op] = _sign_jvp
tables.pointwise(ew.square_op, lambda x, out: 2 * x)
tables.pointwise(ew.reciprocal_op, lambda x, out: -ew.square(out))
divided(ew.sqrt_op, lambda x, out: 2 * out)
divided(ew.length_op, lambda x, out: 2 * _infinite_if_zero(out))
divided(ew.cbrt_op, lambda x, out: 3 * ew.square(out))
tables.JVPS[ew.add_op] = lambda ctx, tangents, out, x, y: tables.add_tangents(*tangents)
tables.TRANSPOSES[ew.add_op] = lambda ctx, ct, x, y: (_if_linear(x, ct), _if_linear(y, ct))
tables.JVPS[ew.sub_op] = _sub_jvp
tables.TRANSPOSES[ew.sub_op] = lambda ctx, ct, x, y: (_if_linear(x, ct), -ct if isinstance(y, tables.Linear) else None)
tables.bilinear(ew.mul_op, lambda ctx, ct, x, y: ct * y, lambda ctx, ct, x, y: x * ct)
tables.JVPS[ew.div_op] = _div_jvp
tables.TRANSPOSES[ew.div_op] = lambda ctx, ct, x, y: (ct / y, None)
tables.zero(ew.floor_divide_op)
tables.pointwise(ew.remainder_op, lambda x, y, out: ew.lift(1, x), lambda x, y, out: -ew.floor_divide(x, y))
tables.pointwise(ew.fmod_op, lambda x, y, out: ew.lift(1, x), lambda x, y, out: ew.rint((out - x) / y))
tables.pointwise(ew.pow_op, _pow_x, lambda x, y, out: out * ew.log(ew.select(ew.eq(x, ew.lift(0, x)), 1, x)))
tables.pointwise(ew.power_by_op, lambda x, out, *, exponent: exponent * ew.power_by(x, exponent - 1))
tables.pointwise(ew.hypot_op, ew.direction, lambda x, y, out: ew.direction(y, x, out))
tables.zero(ew.gcd_op, ew.lcm_op)

# -- extremes


LESS = (lambda x, y, out: ew.lt(x, y), lambda x, y, out: ew.share(x, y))  # where x does not count, and its share
GREATER = (lambda x, y, out: ew.gt(x, y), lambda x, y, out: ew.share(y, x))


def _swapped(side):
    return [lambda x, y, out, part=part: part(y, x, out) for part in side]


def _among_numbers(side):
    """Return a side of an extreme that prefers numbers: x does not count beside one if it is NaN, and alone if y is."""
    misses, share = side

    def misses_or_is_nan(x, y, out):
        return ew.logical_or(misses(x, y, out), ew.logical_and(ew.isnan(x), ew.logical_not(ew.isnan(y))))

    def share_or_all(x, y, out):
        alone = ew.select(ew.isnan(x), float("nan"), ew.lift(1, x))
        return ew.select(ew.isnan(y), alone, share(x, y, out))

    return misses_or_is_nan, share_or_all


choosing(ew.max_op, LESS, _swapped(LESS))
choosing(ew.min_op, GREATER, _swapped(GREATER))
choosing(ew.fmax_op, _among_numbers(LESS), _swapped(_among_numbers(LESS)))
choosing(ew.fmin_op, _among_numbers(GREATER), _swapped(_among_numbers(GREATER)))
AT_ZERO = (lambda x, y, out: ew.ne(x, ew.lift(0, x)), lambda x, y, out: ew.lift(1, y))
choosing(ew.heaviside_op, None, AT_ZERO)
tables.pointwise(ew.copysign_op, lambda x, y, out: ew.sign(x) * ew.copysign(ew.lift(1, x), y), None)

# -- exponentials, logarithms, trigonometry


def _one_minus_square(x):
    """Return 1 - x**2, as a product where that cancels; near 0 the derivative of the product would cancel."""
    near = ew.lt(ew.absolute(x), ew.lift(0.5, ew.absolute(x)))
    return ew.select(near, 1 - ew.square(x), (1 - x) * (1 + x))


def _arctan2_slope(x, y, out):
    """Return y / (x**2 + y**2), whose squares may overflow."""
    length = _infinite_if_zero(ew.hypot(x, y))
    return y / length / length


def _complex_tanh_slope(x, out):
    """Return 1 - out**2, far from the imaginary axis by the exponential of minus twice the distance."""
    part = ew.real(x)
    is_far = ew.gt(ew.absolute(part), ew.lift(1, part))
    decay = ew.exp(ew.select(is_far, -2 * x * ew.convert(ew.sign(part), x.dtype), 0))
    return ew.select(is_far, 4 * decay / ew.square(1 + decay), 1 - ew.square(out))


tables.pointwise(ew.exp_op, lambda x, out: out)
tables.pointwise(ew.exp2_op, lambda x, out: LN2 * out)
tables.pointwise(ew.expm1_op, lambda x, out: ew.exp(x))
divided(ew.log_op, lambda x, out: x)
divided(ew.log2_op, lambda x, out: LN2 * x)
divided(ew.log10_op, lambda x, out: LN10 * x)
divided(ew.log1p_op, lambda x, out: 1 + x)
tables.pointwise(ew.logaddexp_op, lambda x, y, out: sp.expit(ew.gap(x, y)), lambda x, y, out: sp.expit(ew.gap(y, x)))
tables.pointwise(
    ew.logaddexp2_op, lambda x, y, out: sp.expit(LN2 * ew.gap(x, y)), lambda x, y, out: sp.expit(LN2 * ew.gap(y, x))
)
tables.pointwise(ew.sin_op, lambda x, out: ew.cos(x))
tables.pointwise(ew.cos_op, lambda x, out: -ew.sin(x))
tables.pointwise(ew.tan_op, lambda x, out: 1 + ew.square(out))
divided(ew.arcsin_op, lambda x, out: ew.sqrt(_one_minus_square(x)))
divided(ew.arccos_op, lambda x, out: -ew.sqrt(_one_minus_square(x)))
divided(ew.arctan_op, lambda x, out: 1 + ew.square(x))
tables.pointwise(ew.arctan2_op, _arctan2_slope, lambda x, y, out: -_arctan2_slope(y, x, out))
tables.pointwise(ew.sinh_op, lambda x, out: ew.cosh(x))
tables.pointwise(ew.cosh_op, lambda x, out: ew.sinh(x))
tables.pointwise(
    ew.tanh_op, lambda x, out: _complex_tanh_slope(x, out) if x.dtype.kind == "c" else ew.tanh_slope(x, out)
)
divided(ew.arcsinh_op, lambda x, out: ew.sqrt(1 + ew.square(x)) if x.dtype.kind == "c" else ew.hypot(ew.lift(1, x), x))
divided(ew.arccosh_op, lambda x, out: ew.sqrt(x - 1) * ew.sqrt(x + 1))
divided(ew.arctanh_op, lambda x, out: _one_minus_square(x))

# -- rounding and the parts of a float

tables.zero(ew.floor_op, ew.ceil_op, ew.trunc_op, ew.rint_op, ew.round_op, ew.spacing_op)


tables.linear_in_first(ew.ldexp_op, lambda ctx, ct, x, y: ew.ldexp(ct, y))
tables.JVPS[ew.frexp_op] = lambda ctx, tangents, out, x: (ew.ldexp(tangents[0], -out[1]), None)
tables.JVPS[ew.nextafter_op] = lambda ctx, tangents, out, x, y: tangents[0]  # y is only a direction

# -- comparison and logic

tables.zero(ew.eq_op, ew.ne_op, ew.lt_op, ew.le_op, ew.gt_op, ew.ge_op)
tables.zero(ew.isnan_op, ew.isinf_op, ew.isfinite_op, ew.signbit_op)
tables.zero(ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op, ew.logical_not_op)
tables.zero(ew.bitwise_and_op, ew.bitwise_or_op, ew.bitwise_xor_op, ew.invert_op)
tables.zero(ew.left_shift_op, ew.right_shift_op, ew.bitwise_count_op)

# -- complex parts, choice and conversion. Transposes are with respect to the pairing Re(ct * t), as in JAX.


def _zeros(x):
    return ew.lift(0, x)


def _complex_jvp(ctx, tangents, out, x, y):
    tx, ty = tangents
    return ew.make_complex(_zeros(x) if tx is None else tx, _zeros(y) if ty is None else ty)


def _complex_transpose(ctx, ct, x, y):
    return _if_linear(x, ew.real(ct)), -ew.imag(ct) if isinstance(y, tables.Linear) else None


def _select_jvp(ctx, tangents, out, condition, x, y):
    """Return the tangent that the condition selects: where it selects a constant it is zero by construction."""
    _, tx, ty = tangents
    if tx is not None and ty is not None:
        return ew.select(condition, tx, ty)
    return chosen(condition, tx) if ty is None else not_chosen(condition, ty)


def _select_transpose(ctx, ct, condition, x, y):
    of_x = chosen(condition, ct) if isinstance(x, tables.Linear) else None
    return None, of_x, not_chosen(condition, ct) if isinstance(y, tables.Linear) else None


def _convert_jvp(ctx, tangents, out, x, *, dtype):
    return ew.convert(tangents[0], dtype) if dtype.kind in "fc" else None


tables.linear(ew.real_op, lambda ctx, ct, x: ew.convert(ct, x.dtype))
tables.linear(ew.imag_op, lambda ctx, ct, x: ew.make_complex(_zeros(ct), -ct))
tables.linear(ew.conj_op, lambda ctx, ct, x: ew.conj(ct))
tables.JVPS[ew.complex_op] = _complex_jvp
tables.TRANSPOSES[ew.complex_op] = _complex_transpose
tables.JVPS[ew.select_op] = _select_jvp
tables.TRANSPOSES[ew.select_op] = _select_transpose
tables.JVPS[ew.convert_op] = _convert_jvp
tables.TRANSPOSES[ew.convert_op] = lambda ctx, ct, x, *, dtype: (ew.convert(ct, x.dtype),)

# -- ops that derivatives use

tables.zero(ew.share_op, ew.narrow_op, ew.python_int_op, ew.float_of_ints_op)
tables.JVPS[ew.ratio_op] = _ratio_jvp
tables.TRANSPOSES[ew.ratio_op] = lambda ctx, ct, x, y: (ew.ratio(ct, y), None)
tables.JVPS[ew.gap_op] = _sub_jvp
tables.pointwise(ew.tanh_slope_op, lambda x, y, out: -2 * y * out, None)  # y is a function of x
tables.pointwise(  # z is a function of x and y
    ew.direction_op,
    lambda x, y, z, out: ew.direction(y, x, z) * _turn(x, y, z),
    lambda x, y, z, out: -out * _turn(x, y, z),
    None,
)

# -- shifts of operands

tables.shift(ew.add_op, shifts.sum_with_sign(1.0))
tables.shift(ew.sub_op, shifts.sum_with_sign(-1.0))
tables.shift(ew.mul_op, shifts.product_with_sign(1.0))
tables.shift(ew.div_op, shifts.product_with_sign(-1.0))
tables.shift(ew.neg_op, shifts.unary(None, lambda c: c if c.scales else replace(c, times=-c.times)))
tables.shift(ew.square_op, shifts.unary(True, lambda c: replace(c, times=2 * c.times)))
tables.shift(ew.exp_op, shifts.unary(False, lambda c: replace(c, scales=True)))
tables.shift(ew.log_op, shifts.unary(True, lambda c: replace(c, scales=False)))
tables.shift(ew.select_op, shifts.select)
tables.shift(ew.convert_op, shifts.convert)


tables.one_more_axis(*[op for op in vars(ew).values() if isinstance(op, Op)])
