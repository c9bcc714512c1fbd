"""Kernels of elementwise ops: the ufunc of NumPy where there is one."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as po
from anyshape.backend.runtime import short_rows
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import kernel

UFUNCS: dict[Op, Callable[..., Any]] = {
    ew.neg_op: np.negative,
    ew.abs_op: np.absolute,
    ew.sign_op: np.sign,
    ew.square_op: np.square,
    ew.reciprocal_op: np.reciprocal,
    ew.sqrt_op: np.sqrt,
    ew.length_op: np.sqrt,
    ew.cbrt_op: np.cbrt,
    ew.add_op: np.add,
    ew.sub_op: np.subtract,
    ew.mul_op: np.multiply,
    ew.div_op: np.true_divide,
    ew.floor_divide_op: np.floor_divide,
    ew.remainder_op: np.remainder,
    ew.fmod_op: np.fmod,
    ew.pow_op: np.power,
    ew.hypot_op: np.hypot,
    ew.gcd_op: np.gcd,
    ew.lcm_op: np.lcm,
    ew.max_op: np.maximum,
    ew.min_op: np.minimum,
    ew.fmax_op: np.fmax,
    ew.fmin_op: np.fmin,
    ew.heaviside_op: np.heaviside,
    ew.copysign_op: np.copysign,
    ew.exp_op: np.exp,
    ew.exp2_op: np.exp2,
    ew.expm1_op: np.expm1,
    ew.log_op: np.log,
    ew.log2_op: np.log2,
    ew.log10_op: np.log10,
    ew.log1p_op: np.log1p,
    ew.logaddexp_op: np.logaddexp,
    ew.logaddexp2_op: np.logaddexp2,
    ew.sin_op: np.sin,
    ew.cos_op: np.cos,
    ew.tan_op: np.tan,
    ew.arcsin_op: np.arcsin,
    ew.arccos_op: np.arccos,
    ew.arctan_op: np.arctan,
    ew.arctan2_op: np.arctan2,
    ew.sinh_op: np.sinh,
    ew.cosh_op: np.cosh,
    ew.tanh_op: np.tanh,
    ew.arcsinh_op: np.arcsinh,
    ew.arccosh_op: np.arccosh,
    ew.arctanh_op: np.arctanh,
    ew.floor_op: np.floor,
    ew.ceil_op: np.ceil,
    ew.trunc_op: np.trunc,
    ew.rint_op: np.rint,
    ew.nextafter_op: np.nextafter,
    ew.spacing_op: np.spacing,
    ew.ldexp_op: np.ldexp,
    ew.eq_op: np.equal,
    ew.ne_op: np.not_equal,
    ew.lt_op: np.less,
    ew.le_op: np.less_equal,
    ew.gt_op: np.greater,
    ew.ge_op: np.greater_equal,
    ew.isnan_op: np.isnan,
    ew.isinf_op: np.isinf,
    ew.isfinite_op: np.isfinite,
    ew.signbit_op: np.signbit,
    ew.logical_and_op: np.logical_and,
    ew.logical_or_op: np.logical_or,
    ew.logical_xor_op: np.logical_xor,
    ew.logical_not_op: np.logical_not,
    ew.bitwise_and_op: np.bitwise_and,
    ew.bitwise_or_op: np.bitwise_or,
    ew.bitwise_xor_op: np.bitwise_xor,
    ew.invert_op: np.invert,
    ew.left_shift_op: np.left_shift,
    ew.right_shift_op: np.right_shift,
    ew.bitwise_count_op: np.bitwise_count,
    ew.conj_op: np.conjugate,
}
_SIGNS = {ew.neg_op: "-{}", ew.add_op: "{} + {}", ew.sub_op: "{} - {}", ew.mul_op: "{} * {}", ew.div_op: "{} / {}"}


def _inline_arithmetic(ufunc, sign):
    """Inline arithmetic of numbers with Python's operator: a ufunc takes ten times as long to see that they are.

    Arrays that are repeated along a very short last axis go column by column.
    """

    def inline(site):
        if not any(meta.rank or meta.dtype.char not in "fd" for meta in site.metas):
            return [f"{site.target} = {sign.format(*site.operands)}"]
        columns = _by_columns(ufunc)({}, site.metas)
        if columns is None:
            return None
        long = next(x for x, meta in zip(site.operands, site.metas, strict=True) if meta.sizes[-1] != 1)
        arguments = ", ".join([*site.operands, *([site.out] if site.out else [])])
        chosen = f"{site.bind(columns)} if {long}.shape[-1] <= {short_rows.MOST_COLUMNS} else {site.bind(ufunc)}"
        return [f"{site.target} = ({chosen})({arguments})"]

    return inline


def _by_columns(ufunc):
    """Return the choice of a function that goes column by column, for operands that need it."""

    def choose(params, metas):
        dtypes = {meta.dtype for meta in metas}
        is_one = len(dtypes) == 1 and next(iter(dtypes)).kind == "f"
        return short_rows.by_columns(ufunc) if is_one and short_rows.is_repeated(metas) else None

    return choose


for _op, _ufunc in UFUNCS.items():
    _out = "keyword" if _op in (ew.max_op, ew.min_op) else True  # positional is deprecated there
    if _op in _SIGNS:
        kernel(_op, _ufunc, out=True, inline=_inline_arithmetic(_ufunc, _SIGNS[_op]), specialise=_by_columns(_ufunc))
    else:
        kernel(_op, _ufunc, out=_out)


# -- powers

_POWERS = {
    3: lambda x: np.square(x) * x,
    4: lambda x: np.square(np.square(x)),
    -2: lambda x: np.square(np.reciprocal(x)),
}


def _power_by(x, *, exponent):
    """Raise x to a literal power, by products where they are as exact as np.power, which is slow."""
    product = _POWERS.get(exponent) if x.dtype.kind != "c" else None
    return product(x) if product is not None else np.power(x, x.dtype.type(exponent))


def _power_case(params, metas):
    return _POWERS.get(params["exponent"]) if metas[0].dtype.kind != "c" else None


kernel(ew.power_by_op, _power_by, specialise=_power_case)
kernel(ew.round_op, lambda x, *, decimals: x.round(decimals))
kernel(ew.frexp_op, np.frexp)

# -- complex parts, choice and conversion


def _complex(x, y):
    out = np.empty(np.broadcast(x, y).shape, np.result_type(x, np.complex64))
    out.real, out.imag = x, y
    return out


def _convert(x, *, dtype):
    """Convert without a warning for complex to real: the trace has warned."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


def _convert_case(params, metas):
    dtype = params["dtype"]
    if metas[0].dtype.kind == "c" and dtype.kind not in "cb":
        return lambda x: x.real.astype(dtype)
    return lambda x: x.astype(dtype)


def _inline_convert(site):
    """Inline a conversion; of numbers, by the scalar type of NumPy."""
    source, dtype = site.metas[0], site.params["dtype"]
    if source.dtype.kind == "c":
        return None
    if not source.rank and dtype.char in "fd":
        return site.call(dtype.type)
    return [f"{site.target} = {site.operands[0]}.astype({site.bind(dtype)})"]


def _narrow(x, *, dtype):
    """Convert integers; raise NumPy's error for a Python int out of bounds, as the values exist only now."""
    limits = np.iinfo(dtype)
    outside = (x < limits.min) | (x > limits.max)
    if np.any(outside):
        raise OverflowError(f"Python integer {np.extract(outside, x)[0]} out of bounds for {dtype}")
    return x.astype(dtype)


def _power(x, y):
    """Return x**y; raise OverflowError for numbers that no float64 holds, as they could take all memory."""
    if (abs(x).bit_length() - 1) * y > 1024:
        raise OverflowError
    return x**y


def _integral_power(x, y):
    if y < 0:
        raise ValueError(f"{x} ** {y} is not an integer: make one of them a float")
    return _power(x, y)


def _left_shift(x, y):
    if y > 1024 and x:
        raise OverflowError
    return x << y


_PYTHON = {
    "add": ("{} + {}", operator.add),
    "subtract": ("{} - {}", operator.sub),
    "multiply": ("{} * {}", operator.mul),
    "floor_divide": ("{} // {}", operator.floordiv),
    "remainder": ("{} % {}", operator.mod),
    "power": ("{} ** {}", _integral_power),
    "left_shift": ("{} << {}", _left_shift),
    "right_shift": ("{} >> {}", operator.rshift),
    "negative": ("-({})", operator.neg),
    "absolute": ("abs({})", abs),
}


def _as_int64(number):
    if not -(2**63) <= number < 2**63:
        raise OverflowError
    return number


def _within(text, compute, convert, dtype):
    """Compute with Python ints and convert the result; raise OverflowError if the dtype does not hold it."""

    def function(*xs):
        try:
            return convert(compute(*xs))
        except OverflowError:
            raise OverflowError(f"{text.format(*xs)} of Python ints is out of bounds for {dtype}") from None

    return function


_PYTHON_INTS = {name: _within(*row, _as_int64, "int64") for name, row in _PYTHON.items()}
_STEEP = {"power": ("{} ** {}", _power), "left_shift": _PYTHON["left_shift"]}
_ROUNDED = {name: _within(*row, float, "float64") for name, row in _STEEP.items()}


def _python_int(*xs, operator):
    """Apply the operator to numbers, as most operands are; to arrays number by number."""
    compute = _PYTHON_INTS[operator]
    if any(x.ndim for x in xs):
        return np.frompyfunc(compute, len(xs), 1)(*[x.astype(object) for x in xs]).astype(np.int64)
    return np.int64(compute(*[x.item() for x in xs]))


def _float_of_ints(x, y, *, operator, dtype):
    """Apply the operator as Python does, where a negative power is a float, number by number."""
    return np.asarray(np.frompyfunc(_ROUNDED[operator], 2, 1)(x.astype(object), y.astype(object)), dtype)


def _inline_python_int(site):
    if any(meta.rank for meta in site.metas):
        return None
    name, ints = site.params["operator"], site.ints or [f"{x}.item()" for x in site.operands]
    checked = f"{site.bind(_PYTHON_INTS[name])}({', '.join(ints)})"
    converted = [] if site.is_int else [f"{site.target} = {site.bind(np.int64)}({site.target})"]
    if name not in ("add", "subtract", "multiply"):
        return [f"{site.target} = {checked}", *converted]
    written = _PYTHON[name][0].format(*ints)
    fits = f"{-(2**63)} <= {site.target} <= {2**63 - 1}"
    return [f"{site.target} = {written}", f"if not {fits}: {checked}", *converted]


_BITS: dict[str, Any] = {"f": np.dtype(np.int32), "d": np.dtype(np.int64)}
_BY_BITS = range(1 << 12, 1 << 18)  # elements: fewer do not pay for the calls, more run in tiles with less memory


def _select(condition, x, y):
    """Choose by operations on bits: np.where branches, and takes three times as long where choices look random."""
    bits = _BITS.get(x.dtype.char)
    if bits is None or condition.size not in _BY_BITS:
        return np.where(condition, x, y)
    dtype, x, y = x.dtype, x.view(bits), y.view(bits)
    mask = np.negative(condition.view(np.int8), dtype=bits)
    if not y.ndim and y == 0:
        return np.bitwise_and(x, mask, _over(mask, x)).view(dtype)
    if not x.ndim and x == 0:
        return np.bitwise_and(y, np.invert(mask, mask), _over(mask, y)).view(dtype)
    change = np.bitwise_xor(x, y)
    change = np.bitwise_and(change, mask, _over(mask, change))
    return np.bitwise_xor(change, y, _over(change, y)).view(dtype)


def _over(target, operand):
    """Return the target if it can take the result of it and an operand, None if that has another shape."""
    return target if operand.shape in (target.shape, ()) else None


def _select_numbers(condition, x, y):
    """Choose between two literals: a product is several times faster than np.where where it gives the same bits."""
    if y == 0 and 0 < x < np.inf and not np.signbit(y):
        return np.multiply(condition, x)
    if x == 0 and 0 < y < np.inf and not np.signbit(x):
        return np.multiply(np.logical_not(condition), y)
    return _select(condition, x, y)


def _inline_select(site):
    """Inline a choice between numbers as a 0-d array, which np.where gives too."""
    condition, x, y = site.operands
    numbers = not any(meta.rank for meta in site.metas)
    return [f"{site.target} = {site.bind(np.array)}({x} if {condition} else {y})"] if numbers else None


def _select_case(params, metas):
    condition, x, y = metas
    numbers = condition.rank > 0 and x.rank == 0 and y.rank == 0 and x.dtype.kind == "f"
    return _select_numbers if numbers else None


kernel(ew.real_op, lambda x: x.real, inline=lambda site: [f"{site.target} = {site.operands[0]}.real"])
kernel(ew.imag_op, lambda x: x.imag, inline=lambda site: [f"{site.target} = {site.operands[0]}.imag"])
kernel(ew.complex_op, _complex)
kernel(ew.select_op, _select, specialise=_select_case, inline=_inline_select)
kernel(ew.convert_op, _convert, specialise=_convert_case, inline=_inline_convert)
kernel(ew.narrow_op, _narrow)
kernel(ew.python_int_op, _python_int, inline=_inline_python_int)
kernel(ew.float_of_ints_op, _float_of_ints)

# -- choices by a hoisted mask of bits: see passes/hoist_shape_only


def _as_bits(mask, *, dtype, chosen):
    bits = (mask if chosen else np.logical_not(mask)).astype(dtype)
    return np.negative(bits, bits)


def _rest(bits, number):
    rest = np.invert(bits)
    return np.bitwise_and(rest, number.view(bits.dtype), rest)


def _masked(x, bits, out=None):
    if out is None:
        return np.bitwise_and(x.view(bits.dtype), bits).view(x.dtype)
    np.bitwise_and(x.view(bits.dtype), bits, out.view(bits.dtype))
    return out


def _masked_else(x, bits, rest, out=None):
    bits_of_x = x.view(bits.dtype)
    result = np.bitwise_and(bits_of_x, bits, None if out is None else out.view(bits.dtype))
    np.bitwise_or(result, rest, result)
    return result.view(x.dtype) if out is None else out


kernel(po.bits_op, _as_bits)
kernel(po.rest_op, _rest)
kernel(po.masked_op, _masked, out=True)
kernel(po.masked_else_op, _masked_else, out=True)

# -- for derivatives at edges


# Shares by 2 (x >= y) + (x <= y), which is 0 beside NaN.
_SHARES = {np.dtype(c): np.array([np.nan, 0, 1, 0.5], c) for c in np.typecodes["AllFloat"]}


def _share(x, y):
    not_below, not_above = np.greater_equal(x, y), np.less_equal(x, y)
    if not_below.size not in _BY_BITS:
        order = np.add(not_below.view(np.int8), not_below.view(np.int8))
        order += not_above.view(np.int8)
        return _SHARES[x.dtype].take(order)
    above = np.logical_not(not_above)
    share = np.multiply(np.add(not_below.view(np.int8), above.view(np.int8)), 0.5, dtype=x.dtype)
    unordered = np.greater(above, not_below)
    if unordered.any():
        share[unordered] = np.nan
    return share


def _ratio(x, y):
    with np.errstate(invalid="ignore"):
        out = np.true_divide(x, y)
    undefined = np.isnan(out)
    if undefined.any():
        return np.where(undefined & (x == 0) & (y == 0), out.dtype.type(0), out)
    return out


def _gap(x, y):
    with np.errstate(invalid="ignore"):
        out = np.subtract(x, y)
    undefined = np.isnan(out)
    if undefined.any():
        return np.where(undefined & (x == y), out.dtype.type(0), out)
    return out


def saturated(share, x, formula):
    """Return where a share is so close to 1 that the rest has lost digits, and a formula of x there; None: nowhere."""
    most = ew.STEEP[share.dtype.char]
    if not share.size or share.item(share.argmax()) <= most:  # the index of NaN, if there is one
        return None
    flat = np.flatnonzero(share > most)
    return flat, formula(np.take(x, flat))


def logistic_slope(x):
    """Return e / (1 + e)**2 for a small e = exp(-|x|)."""
    with np.errstate(under="ignore"):
        power = np.exp(-np.absolute(x))
        return power * (1 - power * (2 - 3 * power))


def _tanh_slope(x, y, out=None):
    if x.shape != y.shape:
        x, y = np.broadcast_arrays(x, y)
    square = np.square(y)
    far = saturated(square, x, lambda x: 4 * logistic_slope(2 * x))  # before `out`, which may be the memory of x
    slope = np.asarray(np.subtract(1, square, out))
    if far:
        slope.put(*far)
    return slope


kernel(ew.share_op, _share)
kernel(ew.ratio_op, _ratio)
kernel(ew.direction_op, lambda x, y, z: _ratio(x, z))
kernel(ew.tanh_slope_op, _tanh_slope, out=True)
kernel(ew.gap_op, _gap)
