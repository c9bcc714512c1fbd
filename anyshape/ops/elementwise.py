"""Elementwise ops.

Operands of the core ops have equal shapes, as the public functions broadcast first. `anyshape.numpy` converts dtypes
before it calls these functions.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import LeakedTracerError
from anyshape.graph.ir.builder import Traced, active_builders
from anyshape.graph.ir.graph import Node, Op, ShapeRule
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, broadcast_sizes
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, context_of, meta_of, named, sizes_of
from anyshape.ops.core.definition import PROBE_ONES, JointCheck, ParamKind, define, itself, refuse
from anyshape.ops.core.flop_counts import MOVES, OpCost, per_result
from anyshape.ops.creation import full
from anyshape.ops.movement import broadcast_to
from anyshape.support.true_types import has_type

Unary: TypeAlias = Callable[[Any], Any]
Binary: TypeAlias = Callable[[Any, Any], Any]
Ternary: TypeAlias = Callable[[Any, Any, Any], Any]
BOOL = np.dtype(bool)
PER_RESULT = per_result(1)
PYTHON_INTS = {  # number of operands by NumPy's name, for operators of Python ints whose results int64 may not hold
    **dict.fromkeys(("add", "subtract", "multiply", "floor_divide", "remainder", "power"), 2),
    **dict.fromkeys(("left_shift", "right_shift"), 2),
    **dict.fromkeys(("negative", "absolute"), 1),
}
PARTIAL_INTS = ("floor_divide", "remainder", "right_shift")  # those that refuse some ints in Python too
STEEP_INTS = ("power", "left_shift")  # those that leave int64 at small operands, as 2**64 does


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the real part."""
    return np.zeros((), dtype).real.dtype


def _check_equal(ctx: ShapeGuardContext, first: TensorMeta, rest: tuple[TensorMeta, ...]) -> None:
    for other in rest:
        ctx.require_same_extents(first, other, "operands of a core op must have equal shapes")


def same_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta, **params: Any) -> TensorMeta:
    """Require one dtype of all operands, which the result has too."""
    _check_equal(ctx, x, others)
    for other in others:
        if other.dtype != x.dtype:
            raise ctx.bad_dtype(f"operands are {x.dtype} and {other.dtype}", "convert them to one dtype with astype")
    return x


def bool_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta) -> TensorMeta:
    """Require one dtype of all operands; the result is bool."""
    return TensorMeta(BOOL, same_type(ctx, x, *others).extents)


def _compare_type(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta) -> TensorMeta:
    """Require one dtype of both operands, or any two integer dtypes, which NumPy compares exactly."""
    _check_equal(ctx, x, (y,))
    if x.dtype != y.dtype and not (x.dtype.kind in "iu" and y.dtype.kind in "iu"):
        raise ctx.bad_dtype(f"operands are {x.dtype} and {y.dtype}", "convert them to one dtype with astype")
    return TensorMeta(BOOL, x.extents)


def real_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    """Give the result the dtype of the real part."""
    return TensorMeta(real_dtype(x.dtype), x.extents)


def _complex_type(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta) -> TensorMeta:
    return TensorMeta(np.result_type(same_type(ctx, x, y).dtype, np.complex64), x.extents)


def _count_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return TensorMeta(np.dtype(np.uint8), x.extents)


def _first_type(ctx: ShapeGuardContext, x: TensorMeta, exponent: TensorMeta) -> TensorMeta:
    """Give the result the dtype of x; the exponent must be an integer."""
    if exponent.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"the exponent is {exponent.dtype}", "convert it to an integer dtype with astype")
    _check_equal(ctx, x, (exponent,))
    return x


def _frexp_type(ctx: ShapeGuardContext, x: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    return x, TensorMeta(np.dtype(np.intc), x.extents)


def _select_type(ctx: ShapeGuardContext, condition: TensorMeta, x: TensorMeta, y: TensorMeta) -> TensorMeta:
    if condition.dtype != BOOL:
        raise ctx.bad_dtype(f"the condition is {condition.dtype}", "compare it to make it bool")
    _check_equal(ctx, x, (condition,))
    return same_type(ctx, x, y)


def _convert_type(ctx: ShapeGuardContext, x: TensorMeta, *, dtype: np.dtype) -> TensorMeta:
    return TensorMeta(dtype, x.extents)


def _python_int_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta, operator: str) -> TensorMeta:
    """Require integers of any dtypes; the result is int64."""
    _check_equal(ctx, x, others)
    for operand in (x, *others):
        if operand.dtype.kind not in "iu":
            raise ctx.bad_dtype(f"an operand is {operand.dtype}", "convert it to an integer dtype with astype")
    return TensorMeta(np.dtype(np.int64), x.extents)


def _float_of_ints_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, *, operator: str, dtype: np.dtype
) -> TensorMeta:
    """Require integers of any dtypes."""
    return TensorMeta(dtype, _python_int_type(ctx, x, y, operator=operator).extents)


def lift(x: Any, like: Operand) -> Any:
    """Return a Python scalar as an array of the dtype and shape of `like`; an array stays."""
    if has_type(x, (Traced, np.ndarray)):
        return x
    return full(sizes_of(context_of("full", like), like), x, like.dtype)


def broadcast_operands(name: str, *operands: Any, dtype: Any = None) -> list[Any]:
    """Return operands broadcast to their common shape; Python scalars take `dtype`, or the dtype of the first array."""
    arrays = [x for x in operands if isinstance(x, Traced) or has_type(x, np.ndarray)]
    sizes = [meta_of(x).sizes for x in arrays]
    if sizes[0] is not None and sizes.count(sizes[0]) == len(operands):
        return arrays  # the usual case; the op itself relies on it
    try:
        return _stretched(name, arrays, operands, arrays[0].dtype if dtype is None else dtype)
    except LeakedTracerError as error:
        raise _leaked(arrays, error) from None


def _leaked(arrays: list[Any], error: LeakedTracerError) -> LeakedTracerError:
    """Return the error for an array of another trace, or the error as it is if there is none."""
    others = [x for x in arrays if isinstance(x, Traced) and x.builder not in active_builders()]
    return others[0].leaked() if others else error


def _stretched(name: str, arrays: list[Any], operands: tuple[Any, ...], dtype) -> list[Any]:
    """Return operands broadcast to the common shape of the arrays among them."""
    ctx = context_of(name, *arrays)
    shape = broadcast_sizes(ctx, [ctx.shape(meta) for meta in ctx.metas])
    lifted = [x if has_type(x, (Traced, np.ndarray)) else full(shape, x, dtype) for x in operands]
    return [broadcast_to(x, shape) for x in lifted]


def define_pointwise(
    name: str,
    rule: ShapeRule,
    operands: tuple[int, int],
    *,
    family: str = "elementwise",
    cost: OpCost = PER_RESULT,
    jointly: JointCheck | None = None,
    **params: ParamKind,
) -> Op:
    """Define an op that acts on each element: its kernel tells its dtypes, and it claims nothing of sizes."""
    return define(
        name,
        rule,
        operands=operands,
        params=params,
        jointly=jointly,
        claims=None,
        probe=PROBE_ONES,
        cost=cost,
        family=family,
    )


def pointwise(
    name: str, operands: int, rule: ShapeRule = same_type, family: str = "elementwise", cost: OpCost = PER_RESULT
) -> Op:
    """Define an op of so many operands without parameters."""
    return define_pointwise(name, rule, (operands, operands), family=family, cost=cost)


def unary(op: Op, doc: str) -> Unary:
    """Return the function that applies an op of one operand."""
    return named(lambda x: apply(op, x), op, doc)


def binary(op: Op, doc: str) -> Binary:
    """Return the function that broadcasts two operands and applies an op of them."""
    return named(lambda x, y: apply(op, *broadcast_operands(op.name, x, y)), op, doc)


def ternary(op: Op, doc: str) -> Ternary:
    """Return the function that broadcasts three operands and applies an op of them."""
    return named(lambda x, y, z: apply(op, *broadcast_operands(op.name, x, y, z)), op, f"{doc} Operands broadcast.")


# -- legal params


def _is_decimals(node: Node, param) -> bool:
    return type(param) is int and abs(param) <= kinds.MAX_ORDER


def _is_python_operator(node: Node, param) -> bool:
    return PYTHON_INTS.get(param) == len(node.inputs)


def _narrows_integers(node: Node, params: dict[str, Any]) -> bool:
    return params["dtype"].kind in "iu" and node.inputs[0].meta.dtype.kind in "iu"


# -- arithmetic

neg_op: Op = pointwise("neg", 1)
neg: Unary = unary(neg_op, "Return -x.")
abs_op: Op = pointwise("abs", 1, real_type)
absolute: Unary = unary(abs_op, "Return the absolute value of x, real.")
sign_op: Op = pointwise("sign", 1)
sign: Unary = unary(sign_op, "Return -1, 0 or 1; x / |x| for complex x.")
square_op: Op = pointwise("square", 1)
square: Unary = unary(square_op, "Return x * x.")
reciprocal_op: Op = pointwise("reciprocal", 1)
reciprocal: Unary = unary(reciprocal_op, "Return 1 / x.")
sqrt_op: Op = pointwise("sqrt", 1)
sqrt: Unary = unary(sqrt_op, "Return the non-negative square root of x.")
cbrt_op: Op = pointwise("cbrt", 1)
cbrt: Unary = unary(cbrt_op, "Return the real cube root of x.")

add_op: Op = pointwise("add", 2)
add: Binary = binary(add_op, "Return x + y.")
sub_op: Op = pointwise("sub", 2)
sub: Binary = binary(sub_op, "Return x - y.")
mul_op: Op = pointwise("mul", 2)
mul: Binary = binary(mul_op, "Return x * y.")
div_op: Op = pointwise("div", 2)
div: Binary = binary(div_op, "Return x / y, of inexact dtype.")
floor_divide_op: Op = pointwise("floor_divide", 2)
floor_divide: Binary = binary(floor_divide_op, "Return the largest integer not above x / y.")
remainder_op: Op = pointwise("remainder", 2)
remainder: Binary = binary(remainder_op, "Return x - y * floor_divide(x, y), with the sign of y.")
fmod_op: Op = pointwise("fmod", 2)
fmod: Binary = binary(fmod_op, "Return the remainder of x / y with the sign of x.")
pow_op: Op = pointwise("pow", 2)
power: Binary = binary(pow_op, "Return x to the power y.")
power_by_op: Op = define_pointwise("power_by", same_type, (1, 1), exponent=kinds.number)
hypot_op: Op = pointwise("hypot", 2)
hypot: Binary = binary(hypot_op, "Return the length of the vector (x, y).")
gcd_op: Op = pointwise("gcd", 2)
gcd: Binary = binary(gcd_op, "Return the greatest common divisor.")
lcm_op: Op = pointwise("lcm", 2)
lcm: Binary = binary(lcm_op, "Return the least common multiple.")

# -- larger and smaller

max_op: Op = pointwise("max", 2)
maximum: Binary = binary(max_op, "Return the larger of x and y; NaN if either is.")
min_op: Op = pointwise("min", 2)
minimum: Binary = binary(min_op, "Return the smaller of x and y; NaN if either is.")
fmax_op: Op = pointwise("fmax", 2)
fmax: Binary = binary(fmax_op, "Return the larger of x and y; the other one if one is NaN.")
fmin_op: Op = pointwise("fmin", 2)
fmin: Binary = binary(fmin_op, "Return the smaller of x and y; the other one if one is NaN.")
heaviside_op: Op = pointwise("heaviside", 2)
heaviside: Binary = binary(heaviside_op, "Return 0 where x < 0, y where x == 0, 1 where x > 0.")
copysign_op: Op = pointwise("copysign", 2)
copysign: Binary = binary(copysign_op, "Return |x| with the sign of y.")

# -- exponentials, logarithms, trigonometry

exp_op: Op = pointwise("exp", 1)
exp: Unary = unary(exp_op, "Return e to the power x.")
exp2_op: Op = pointwise("exp2", 1)
exp2: Unary = unary(exp2_op, "Return 2 to the power x.")
expm1_op: Op = pointwise("expm1", 1)
expm1: Unary = unary(expm1_op, "Return exp(x) - 1, accurate near 0.")
log_op: Op = pointwise("log", 1)
log: Unary = unary(log_op, "Return the natural logarithm of x.")
log2_op: Op = pointwise("log2", 1)
log2: Unary = unary(log2_op, "Return the logarithm of x to base 2.")
log10_op: Op = pointwise("log10", 1)
log10: Unary = unary(log10_op, "Return the logarithm of x to base 10.")
log1p_op: Op = pointwise("log1p", 1)
log1p: Unary = unary(log1p_op, "Return log(1 + x), accurate near 0.")
logaddexp_op: Op = pointwise("logaddexp", 2)
logaddexp: Binary = binary(logaddexp_op, "Return log(exp(x) + exp(y)).")
logaddexp2_op: Op = pointwise("logaddexp2", 2)
logaddexp2: Binary = binary(logaddexp2_op, "Return log2(2**x + 2**y).")
sin_op: Op = pointwise("sin", 1)
sin: Unary = unary(sin_op, "Return the sine of x.")
cos_op: Op = pointwise("cos", 1)
cos: Unary = unary(cos_op, "Return the cosine of x.")
tan_op: Op = pointwise("tan", 1)
tan: Unary = unary(tan_op, "Return the tangent of x.")
arcsin_op: Op = pointwise("arcsin", 1)
arcsin: Unary = unary(arcsin_op, "Return the inverse sine of x.")
arccos_op: Op = pointwise("arccos", 1)
arccos: Unary = unary(arccos_op, "Return the inverse cosine of x.")
arctan_op: Op = pointwise("arctan", 1)
arctan: Unary = unary(arctan_op, "Return the inverse tangent of x.")
arctan2_op: Op = pointwise("arctan2", 2)
arctan2: Binary = binary(arctan2_op, "Return the angle of the point (y, x): arctan2(x, y) has the ordinate first.")
sinh_op: Op = pointwise("sinh", 1)
sinh: Unary = unary(sinh_op, "Return the hyperbolic sine of x.")
cosh_op: Op = pointwise("cosh", 1)
cosh: Unary = unary(cosh_op, "Return the hyperbolic cosine of x.")
tanh_op: Op = pointwise("tanh", 1)
tanh: Unary = unary(tanh_op, "Return the hyperbolic tangent of x.")
arcsinh_op: Op = pointwise("arcsinh", 1)
arcsinh: Unary = unary(arcsinh_op, "Return the inverse hyperbolic sine of x.")
arccosh_op: Op = pointwise("arccosh", 1)
arccosh: Unary = unary(arccosh_op, "Return the inverse hyperbolic cosine of x.")
arctanh_op: Op = pointwise("arctanh", 1)
arctanh: Unary = unary(arctanh_op, "Return the inverse hyperbolic tangent of x.")

# -- rounding and the parts of a float

floor_op: Op = pointwise("floor", 1)
floor: Unary = unary(floor_op, "Return the largest integer not above x.")
ceil_op: Op = pointwise("ceil", 1)
ceil: Unary = unary(ceil_op, "Return the smallest integer not below x.")
trunc_op: Op = pointwise("trunc", 1)
trunc: Unary = unary(trunc_op, "Return x without its fraction.")
rint_op: Op = pointwise("rint", 1)
rint: Unary = unary(rint_op, "Return the nearest integer, the even one of two.")
round_op: Op = define_pointwise("round", same_type, (1, 1), decimals=_is_decimals)
nextafter_op: Op = pointwise("nextafter", 2)
nextafter: Binary = binary(nextafter_op, "Return the neighbour of x in the direction of y.")
spacing_op: Op = pointwise("spacing", 1)
spacing: Unary = unary(spacing_op, "Return the distance from x to its neighbour.")
ldexp_op: Op = pointwise("ldexp", 2, _first_type)
ldexp: Binary = binary(ldexp_op, "Return x * 2**y, for integers y.")
frexp_op: Op = define_pointwise("frexp", _frexp_type, (1, 1))

# -- comparison and logic

eq_op: Op = pointwise("eq", 2, _compare_type)
eq: Binary = binary(eq_op, "Return x == y.")
ne_op: Op = pointwise("ne", 2, _compare_type)
ne: Binary = binary(ne_op, "Return x != y.")
lt_op: Op = pointwise("lt", 2, _compare_type)
lt: Binary = binary(lt_op, "Return x < y.")
le_op: Op = pointwise("le", 2, _compare_type)
le: Binary = binary(le_op, "Return x <= y.")
gt_op: Op = pointwise("gt", 2, _compare_type)
gt: Binary = binary(gt_op, "Return x > y.")
ge_op: Op = pointwise("ge", 2, _compare_type)
ge: Binary = binary(ge_op, "Return x >= y.")
isnan_op: Op = pointwise("isnan", 1, bool_type)
isnan: Unary = unary(isnan_op, "Return whether x is NaN.")
isinf_op: Op = pointwise("isinf", 1, bool_type)
isinf: Unary = unary(isinf_op, "Return whether x is infinite.")
isfinite_op: Op = pointwise("isfinite", 1, bool_type)
isfinite: Unary = unary(isfinite_op, "Return whether x is neither infinite nor NaN.")
signbit_op: Op = pointwise("signbit", 1, bool_type)
signbit: Unary = unary(signbit_op, "Return whether the sign bit of x is set: x < 0, or x is -0.0.")
logical_and_op: Op = pointwise("logical_and", 2, bool_type)
logical_and: Binary = binary(logical_and_op, "Return whether both are nonzero.")
logical_or_op: Op = pointwise("logical_or", 2, bool_type)
logical_or: Binary = binary(logical_or_op, "Return whether one is nonzero.")
logical_xor_op: Op = pointwise("logical_xor", 2, bool_type)
logical_xor: Binary = binary(logical_xor_op, "Return whether exactly one is nonzero.")
logical_not_op: Op = pointwise("logical_not", 1, bool_type)
logical_not: Unary = unary(logical_not_op, "Return whether x is zero.")
bitwise_and_op: Op = pointwise("bitwise_and", 2)
bitwise_and: Binary = binary(bitwise_and_op, "Return the bits set in both.")
bitwise_or_op: Op = pointwise("bitwise_or", 2)
bitwise_or: Binary = binary(bitwise_or_op, "Return the bits set in one.")
bitwise_xor_op: Op = pointwise("bitwise_xor", 2)
bitwise_xor: Binary = binary(bitwise_xor_op, "Return the bits set in exactly one.")
invert_op: Op = pointwise("invert", 1)
invert: Unary = unary(invert_op, "Return the bits not set.")
left_shift_op: Op = pointwise("left_shift", 2)
left_shift: Binary = binary(left_shift_op, "Return the bits of x moved up by y places.")
right_shift_op: Op = pointwise("right_shift", 2)
right_shift: Binary = binary(right_shift_op, "Return the bits of x moved down by y places.")
bitwise_count_op: Op = pointwise("bitwise_count", 1, _count_type)
bitwise_count: Unary = unary(bitwise_count_op, "Return the number of bits set in |x|.")

# -- complex parts, choice and conversion

real_op: Op = pointwise("real", 1, real_type, cost=MOVES)
_real: Unary = unary(real_op, "Return the real part of x.")
imag_op: Op = pointwise("imag", 1, real_type, cost=MOVES)
_imag: Unary = unary(imag_op, "Return the imaginary part of x.")
conj_op: Op = pointwise("conj", 1)
_conj: Unary = unary(conj_op, "Return the complex conjugate of x.")
complex_op: Op = pointwise("complex", 2, _complex_type, cost=MOVES)
make_complex: Binary = binary(complex_op, "Return x + 1j * y.")
select_op: Op = define_pointwise("select", _select_type, (3, 3))
convert_op: Op = define_pointwise("convert", _convert_type, (1, 1), cost=MOVES, dtype=kinds.dtype)
narrow_op: Op = define_pointwise(
    "narrow", _convert_type, (1, 1), cost=MOVES, jointly=_narrows_integers, dtype=kinds.dtype
)
python_int_op: Op = define_pointwise("python_int", _python_int_type, (1, 2), operator=_is_python_operator)
float_of_ints_op: Op = define_pointwise(
    "float_of_ints",
    _float_of_ints_type,
    (2, 2),
    jointly=lambda node, params: params["operator"] in STEEP_INTS and params["dtype"].kind in "fc",
    operator=_is_python_operator,
    dtype=kinds.dtype,
)
refuse(itself, narrow_op, float_of_ints_op)
refuse(lambda node: itself(node) if dict(node.params)["operator"] in PARTIAL_INTS else (), python_int_op)
refuse(lambda node: itself(node) if node.inputs[1].meta.dtype.kind == "i" else (), pow_op)  # a negative exponent

# -- for derivatives at edges

share_op: Op = pointwise("share", 2)
share: Binary = binary(
    share_op, "Return the share of x in max(x, y): 1 if larger, 0.5 if equal, 0 if less, NaN beside NaN."
)
ratio_op: Op = pointwise("ratio", 2)
ratio: Binary = binary(ratio_op, "Return x / y, and 0 where both are 0.")
direction_op: Op = pointwise("direction", 3)
direction: Ternary = ternary(direction_op, "Return x / z for z = hypot(x, y), and 0 where all are 0: a cosine.")
STEEP = {"e": 1 - 2.0**-4, "f": 1 - 2.0**-9, "d": 1 - 2.0**-16}  # 1 less a larger share has lost digits
tanh_slope_op: Op = pointwise("tanh_slope", 2)
tanh_slope: Binary = binary(tanh_slope_op, "Return 1 - y**2 for y = tanh(x), with all digits where that cancels.")
length_op: Op = pointwise("length", 1)
length: Unary = unary(length_op, "Return the square root of a sum x of squares. Its derivatives at 0 are 0.")
gap_op: Op = pointwise("gap", 2)
gap: Binary = binary(gap_op, "Return x - y, and 0 where both are the same infinity.")


def real(x: Any) -> Any:
    """Return the real part of x, a view; x itself if it is real."""
    if x.dtype.kind != "c":
        return x
    part = _real(x)
    if not isinstance(x, Traced):
        return part
    return part.view_of(x, real, lambda base, new: make_complex(new, imag(base)), "real")


def imag(x: Any) -> Any:
    """Return the imaginary part of x, a view; zeros if it is real."""
    if x.dtype.kind != "c":
        return lift(0, x)
    part = _imag(x)
    if not isinstance(x, Traced):
        return part
    return part.view_of(x, imag, lambda base, new: make_complex(real(base), new), "imag")


def conj(x: Any) -> Any:
    """Return the complex conjugate of x; x itself if it is real."""
    return _conj(x) if x.dtype.kind == "c" else x


def power_by(x: Any, exponent: int | float | complex) -> Any:
    """Return x to the power of a literal number, by the cheapest op that gives it; of complex x by the general one.

    There the cheap ops round and treat zeros and infinities otherwise than NumPy's power.
    """
    if has_type(exponent, float) and exponent.is_integer() and abs(exponent) < 2**53:
        exponent = int(exponent)
    if exponent == 0:
        return lift(1, x)
    if x.dtype.kind == "c":
        return apply(power_by_op, x, exponent=exponent)
    if exponent == 1:
        return x
    for known, cheap in ((2, square), (-1, reciprocal), (0.5, sqrt)):
        if exponent == known:
            return cheap(x)
    return apply(power_by_op, x, exponent=exponent)


def round(x: Any, decimals: int = 0) -> Any:
    """Return x rounded to so many decimals, half to even."""
    return apply(round_op, x, decimals=decimals)


def frexp(x: Any) -> tuple[Any, Any]:
    """Return (m, e) with x = m * 2**e and 0.5 <= |m| < 1."""
    mantissa, exponent = apply_all(frexp_op, x)
    return mantissa, exponent


def select(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds, else y; one of the two may be a Python scalar."""
    dtype = x.dtype if has_type(x, (Traced, np.ndarray)) else y.dtype
    return apply(select_op, *broadcast_operands("select", condition, x, y, dtype=dtype))


def convert(x: Any, dtype: Any) -> Any:
    """Return x in another dtype; complex to real drops the imaginary part."""
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else apply(convert_op, x, dtype=dtype)


def narrow(x: Any, dtype: Any) -> Any:
    """Return integers in another integer dtype; the program raises OverflowError for one out of its bounds."""
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else apply(narrow_op, x, dtype=dtype)


def python_int(operator: str, *xs: Any) -> Any:
    """Apply an operator of Python ints exactly; the program raises an error if no int64 holds the result."""
    return apply(python_int_op, *broadcast_operands(operator, *xs), operator=operator)


def float_of_ints(operator: str, x: Any, y: Any, dtype: Any) -> Any:
    """Apply an operator of Python ints exactly and round its result once to an inexact dtype."""
    return apply(float_of_ints_op, *broadcast_operands(operator, x, y), operator=operator, dtype=np.dtype(dtype))
