"""Kernels of elementwise ops: the ufunc of NumPy where there is one.

Traits of elementwise ops. Times are measured with NumPy's loops, which for single precision are faster.
"""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.backend.compiler import c_expressions as c
from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import Algebra, Alias, ElementTime, Tiling, Traits, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.backend.runtime import short_rows
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import KERNELS, Kernel, kernel

_NAMED_ALIKE = (
    ew.sign_op, ew.square_op, ew.reciprocal_op, ew.sqrt_op, ew.cbrt_op, ew.add_op, ew.floor_divide_op,
    ew.remainder_op, ew.fmod_op, ew.hypot_op, ew.gcd_op, ew.lcm_op, ew.fmax_op, ew.fmin_op, ew.heaviside_op,
    ew.copysign_op, ew.exp_op, ew.exp2_op, ew.expm1_op, ew.log_op, ew.log2_op, ew.log10_op, ew.log1p_op,
    ew.logaddexp_op, ew.logaddexp2_op, ew.sin_op, ew.cos_op, ew.tan_op, ew.arcsin_op, ew.arccos_op, ew.arctan_op,
    ew.arctan2_op, ew.sinh_op, ew.cosh_op, ew.tanh_op, ew.arcsinh_op, ew.arccosh_op, ew.arctanh_op, ew.floor_op,
    ew.ceil_op, ew.trunc_op, ew.rint_op, ew.nextafter_op, ew.spacing_op, ew.ldexp_op, ew.isnan_op, ew.isinf_op,
    ew.isfinite_op, ew.signbit_op, ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op, ew.logical_not_op,
    ew.bitwise_and_op, ew.bitwise_or_op, ew.bitwise_xor_op, ew.invert_op, ew.left_shift_op, ew.right_shift_op,
    ew.bitwise_count_op,
)  # fmt: skip
UFUNCS: dict[Op, Callable[..., Any]] = {op: getattr(np, op.name) for op in _NAMED_ALIKE}
UFUNCS |= {
    ew.neg_op: np.negative, ew.abs_op: np.absolute, ew.length_op: np.sqrt, ew.sub_op: np.subtract,
    ew.mul_op: np.multiply, ew.div_op: np.true_divide, ew.pow_op: np.power, ew.max_op: np.maximum,
    ew.min_op: np.minimum, ew.eq_op: np.equal, ew.ne_op: np.not_equal, ew.lt_op: np.less, ew.le_op: np.less_equal,
    ew.gt_op: np.greater, ew.ge_op: np.greater_equal, ew.conj_op: np.conjugate,
}  # fmt: skip
_SIGNS = {ew.neg_op: "-{}", ew.add_op: "{} + {}", ew.sub_op: "{} - {}", ew.mul_op: "{} * {}", ew.div_op: "{} / {}"}


def _inline_arithmetic(ufunc, sign):
    """Inline arithmetic of numbers with Python's operator: a ufunc takes ten times as long to see that they are.

    Arrays that are repeated along a very short last axis go column by column.
    """

    def inline(site):
        if not any(meta.rank or meta.dtype.char not in "fd" for meta in site.metas):
            return [f"{site.target} = {sign.format(*site.operands)}"]
        if (columns := _by_columns(ufunc)({}, site.metas)) is None:
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


KERNELS.update({_op: Kernel(_ufunc, out=True) for _op, _ufunc in UFUNCS.items()})
for _op in (ew.max_op, ew.min_op):
    kernel(_op, UFUNCS[_op], out="keyword")  # positional is deprecated there
for _op, _sign in _SIGNS.items():
    _ufunc = UFUNCS[_op]
    kernel(_op, _ufunc, out=True, inline=_inline_arithmetic(_ufunc, _sign), specialise=_by_columns(_ufunc))


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


_EXTREME_AT_ENDS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "negative": np.negative}


def _fits(exact, xs):
    """Return whether no result of an operator on int64 arrays is beyond int64: extremes are results of extremes."""
    if not all(x.size for x in xs):
        return True
    ends = [(int(x.min()), int(x.max())) for x in xs]
    return all(-(2**63) <= exact(*numbers) < 2**63 for numbers in itertools.product(*ends))


def _python_int(*xs, operator):
    """Apply the operator to numbers, as most operands are; to arrays at once where they fit, else number by number."""
    compute = _PYTHON_INTS[operator]
    if any(x.ndim for x in xs):
        ufunc = _EXTREME_AT_ENDS.get(operator)
        if ufunc is not None and all(x.dtype == np.int64 for x in xs) and _fits(_PYTHON[operator][1], xs):
            return ufunc(*xs)
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
    if (bits := _BITS.get(x.dtype.char)) is None or condition.size not in _BY_BITS:
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
    return np.where(undefined & (x == y), out.dtype.type(0), out) if undefined.any() else out


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


ELEMENTWISE = Traits(elementwise=True, tiling=Tiling(rows.elementwise, collapse.elementwise), recomputable=True)
SILENT = ELEMENTWISE._replace(algebra=Algebra(silent=True))


def _timed(double: float, single: float) -> Traits:
    return ELEMENTWISE._replace(time=ElementTime(double, single))


def _in_c(expression: c.CExpression, *ops: Op, like: Traits = ELEMENTWISE) -> None:
    """Declare ops with an expression in C."""
    declare(like._replace(c_expression=expression), *ops)


def _elementary(ulp: float, like: Traits, *ops: Op, largest: str = "") -> None:
    """Declare ops whose functions in C have their names."""
    for op in ops:
        _in_c(c.Elementary(op.name, ulp, largest), op, like=like)


def _arithmetic(text: str, bools: str | None = None, complexes: str | None = None) -> c.CExpression:
    """Return the rule of an operator of C that computes what NumPy does; overflows of integers wrap around."""
    return c.by_kind(text, text, bools, complexes)


def _simplified(*applied: identities.Identity, commutative: bool = False, silent: bool = False) -> Traits:
    return ELEMENTWISE._replace(algebra=Algebra(applied, commutative, silent))


# -- arithmetic

_in_c(_arithmetic("(-{0})", complexes="(-{0})"), ew.neg_op, like=_simplified(identities.twice(ew.neg_op), silent=True))
ADD = _arithmetic("({0} + {1})", "({0} | {1})", "({0} + {1})")
_in_c(ADD, ew.add_op, like=_simplified(identities.add_negated, commutative=True))
SUB = _arithmetic("({0} - {1})", complexes="({0} - {1})")
_in_c(SUB, ew.sub_op, like=_simplified(identities.minus_zero, identities.sub_negated))
MUL = _simplified(
    identities.times_one,
    identities.times_minus_one,
    identities.scaled_twice,
    identities.negation_outwards("iuf"),
    commutative=True,
)
_in_c(_arithmetic("({0} * {1})", "({0} & {1})", "as_product{f}({0}, {1})"), ew.mul_op, like=MUL)
DIV = _simplified(identities.over_one, identities.negation_outwards("iuf"))
DIVISIBLE = c.by_kind("({0} / {1})", complexes="as_quotient{f}({0}, {1})", declines="({1} == 0)")
_in_c(DIVISIBLE, ew.div_op, like=DIV)
# the same infinity twice, and 0 / 0, give 0 without the flag of an invalid operation
SAME = "(({0} == {1}) & (__builtin_fabs{f}({0}) == __builtin_inf{f}()))"
GAP = c.by_kind(f"(({SAME} ? 0 : {{0}}) - ({SAME} ? 0 : {{1}}))")
_in_c(GAP, ew.gap_op, like=_simplified(identities.finite_gap))
ZEROS = "(({0} == 0) & ({1} == 0))"
RATIO = f"(({ZEROS} ? 0 : {{0}}) / ({ZEROS} ? 1 : {{1}}))"
_in_c(c.by_kind(RATIO), ew.ratio_op)
_in_c(c.by_kind(RATIO.replace("{1}", "{2}")), ew.direction_op)
# A sum of independent choices: where others are made by the same comparisons, nested ones become branches.
SHARES = [f"(__builtin_isgreater{end}({{0}}, {{1}}) ? .5{{f}} : 0)" for end in ("equal", "")]
UNORDERED = '(__builtin_isunordered({0}, {1}) ? __builtin_nan{f}("") : 0)'
_in_c(c.by_kind(f"({' + '.join([*SHARES, UNORDERED])})"), ew.share_op)
_in_c(_arithmetic("({0} * {0})", complexes="as_product{f}({0}, {0})"), ew.square_op)
INVERSE = c.by_kind("(1 / {0})", complexes="as_inverse{f}({0})", declines="({0} == 0)")
_in_c(INVERSE, ew.reciprocal_op)
_in_c(c.by_kind("__builtin_sqrt{f}({0})"), ew.sqrt_op, ew.length_op)
_in_c(c.Elementary("cbrt", 1), ew.cbrt_op)
for _row in (ew.floor_divide_op, ew.remainder_op, ew.fmod_op):
    _in_c(c.division(_row.name), _row)
declare(ELEMENTWISE, ew.gcd_op, ew.lcm_op, ew.python_int_op, ew.float_of_ints_op)
_in_c(c.Elementary("pow", 2), ew.pow_op, like=_timed(2.5, 0.7))
_in_c(c.power_by, ew.power_by_op, like=_timed(2.5, 0.7))
_in_c(c.Elementary("hypot", 1), ew.hypot_op, like=_timed(9.0, 0.7))

# -- larger and smaller

# the first operand where it is NaN, and else the second unless the first is larger
LARGER = c.by_kind(
    "((__builtin_isgreater({0}, {1}) | ({0} != {0})) ? {0} : {1})", "({0} > {1} ? {0} : {1})", "({0} | {1})"
)
SMALLER = c.by_kind(
    "((__builtin_isless({0}, {1}) | ({0} != {0})) ? {0} : {1})", "({0} < {1} ? {0} : {1})", "({0} & {1})"
)
_in_c(LARGER, ew.max_op)
_in_c(SMALLER, ew.min_op)
_in_c(c.by_kind("__builtin_copysign{f}({0}, {1})"), ew.copysign_op)
STEP = "({0} != {0} ? {0} : __builtin_isless({0}, 0) ? 0 : {0} == 0 ? {1} : 1)"
_in_c(c.by_kind(STEP), ew.heaviside_op)
# of 0 and -0, NumPy takes the one or the other by their positions in the array, so tiles would differ
declare(ELEMENTWISE._replace(tiling=None), ew.fmax_op, ew.fmin_op)

# -- exponentials, logarithms, trigonometry

_elementary(1, _timed(1.2, 0.6), ew.expm1_op, ew.log_op, ew.log1p_op)
_elementary(2, _timed(1.2, 0.6), ew.exp2_op, ew.log2_op, ew.log10_op)
COMPLEX_EXP = c.by_kind(complexes="as_exp_complex{f}({0})", declines="!as_has_exp{f}({0})")
_in_c(c.Elementary("exp", 1, complexes=COMPLEX_EXP), ew.exp_op, like=_timed(1.2, 0.6))
_in_c(c.log_of_sum("exp", math.log(2)), ew.logaddexp_op, like=_timed(20.0, 0.7))
_in_c(c.log_of_sum("exp2", 1.0, math.log2(math.e)), ew.logaddexp2_op, like=ELEMENTWISE)
_elementary(1, _timed(9.0, 0.7), ew.sin_op, ew.cos_op, largest="AS_TRIG_MAX")
_elementary(2, _timed(1.8, 0.7), ew.tan_op, largest="AS_TRIG_MAX")
_elementary(1, _timed(1.8, 0.7), ew.arcsin_op, ew.arccos_op, ew.arctan_op, ew.tanh_op)
_elementary(2, _timed(1.8, 0.7), ew.sinh_op, ew.cosh_op)
TANH_SLOPE = c.slope_by_share("{1} * {1}", "1 - {1} * {1}", "2 * __builtin_fabs{f}({0})", "4 * ")
_in_c(TANH_SLOPE, ew.tanh_slope_op, like=_timed(0.8, 0.6))
_elementary(1, _timed(2.5, 0.7), ew.arctan2_op, ew.arcsinh_op, ew.arccosh_op, ew.arctanh_op)

# -- rounding and the parts of a float

ABS = c.by_kind("__builtin_fabs{f}({0})", "({0} < 0 ? -{0} : {0})", "{0}", "as_modulus{f}(__real__ {0}, __imag__ {0})")
_in_c(ABS, ew.abs_op, like=SILENT)
SIGN = "(__builtin_isgreater({0}, 0) ? 1 : __builtin_isless({0}, 0) ? -1 : {0} == 0 ? 0 : {0})"
_in_c(c.by_kind(SIGN, "(({0} > 0) - ({0} < 0))"), ew.sign_op, like=SILENT)
for _row, _name in ((ew.floor_op, "floor"), (ew.ceil_op, "ceil"), (ew.trunc_op, "trunc"), (ew.rint_op, "rint")):
    _in_c(c.by_kind(f"__builtin_{_name}{{f}}({{0}})"), _row, like=SILENT)
_in_c(c.rounded, ew.round_op)
declare(ELEMENTWISE, ew.nextafter_op, ew.spacing_op, ew.ldexp_op, ew.frexp_op)

# -- comparison and logic

_in_c(c.comparison("AS_EQUAL", "=="), ew.eq_op, like=_simplified(commutative=True))
_in_c(c.comparison("AS_UNEQUAL", "!="), ew.ne_op)
_in_c(c.comparison("__builtin_isless", "<"), ew.lt_op)
_in_c(c.comparison("__builtin_islessequal", "<="), ew.le_op)
_in_c(c.comparison("__builtin_isgreater", ">"), ew.gt_op)
_in_c(c.comparison("__builtin_isgreaterequal", ">="), ew.ge_op)
_in_c(c.by_kind("({0} != {0})", complexes="({0} != {0})"), ew.isnan_op, like=SILENT)
_in_c(c.by_kind("(__builtin_fabs{f}({0}) == __builtin_inf{f}())"), ew.isinf_op, like=SILENT)
_in_c(c.by_kind("__builtin_isless(__builtin_fabs{f}({0}), __builtin_inf{f}())"), ew.isfinite_op, like=SILENT)
_in_c(c.by_kind("({0} == 0)", "({0} == 0)", "({0} == 0)"), ew.logical_not_op, like=SILENT)
_in_c(c.by_kind(None, "(~{0})", "(!{0})"), ew.invert_op, like=SILENT)
_in_c(c.by_kind("(as_bits{f}({0}) < 0)"), ew.signbit_op, like=SILENT)
# Of two bools, the less and the larger: GCC makes branches of "&" and "|" between comparisons, and no vectors.
AND, OR = "({0} < {1} ? {0} : {1})", "({0} > {1} ? {0} : {1})"
for _row, _sign, _text in ((ew.logical_and_op, "&", AND), (ew.logical_or_op, "|", OR), (ew.logical_xor_op, "^", "")):
    _numbers = f"(({{0}} != 0) {_sign} ({{1}} != 0))"
    _in_c(
        c.by_kind(_numbers, _numbers, _text or _numbers), _row, like=_simplified(*[identities.same_twice] * bool(_text))
    )
for _row, _sign, _text in ((ew.bitwise_and_op, "&", AND), (ew.bitwise_or_op, "|", OR), (ew.bitwise_xor_op, "^", "")):
    _numbers = f"({{0}} {_sign} {{1}})"
    _in_c(c.by_kind(None, _numbers, _text or _numbers), _row)
_in_c(c.shift("<<"), ew.left_shift_op)
_in_c(c.shift(">>"), ew.right_shift_op)
declare(ELEMENTWISE, ew.bitwise_count_op)

# -- complex parts, choice and conversion

for _row, _part in ((ew.real_op, "__real__ {0}"), (ew.imag_op, "__imag__ {0}")):
    _in_c(c.by_kind(complexes=_part), _row, like=SILENT._replace(alias=Alias.VIEW))
_in_c(c.by_kind(complexes="(~{0})"), ew.conj_op, like=SILENT)
_in_c(c.by_kind("as_pair{f}({0}, {1})"), ew.complex_op)
declare(ELEMENTWISE, ew.narrow_op)
_in_c(c.convert, ew.convert_op, like=_simplified(identities.same_dtype))
CHOICE = "({0} ? {1} : {2})"
SELECT = _simplified(
    identities.equal_choices, identities.known_choice, identities.nested_choice,
    identities.negated_choice, identities.stretched_choice,
)  # fmt: skip
SELECT = SELECT._replace(scratch=op_traits.bit_masks)
PARTS = [f"as_choice{{f}}({{0}}, {part} {{1}}, {part} {{2}})" for part in ("__real__", "__imag__")]
CHOICES = c.by_kind("as_choice{f}({0}, {1}, {2})", CHOICE, CHOICE, f"as_pair{{f}}({PARTS[0]}, {PARTS[1]})")
_in_c(CHOICES, ew.select_op, like=SELECT)

# -- ops of plans

_in_c(c.masked("as_masked_{char}({0}, {1}, 0)"), po.masked_op)
_in_c(c.masked("as_masked_{char}({0}, {1}, {2})"), po.masked_else_op)
declare(ELEMENTWISE, po.bits_op, po.rest_op)
