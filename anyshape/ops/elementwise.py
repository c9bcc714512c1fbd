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
    checks: dict[str, Any] = {"jointly": jointly, "claims": None, "probe": PROBE_ONES}
    return define(name, rule, operands=operands, params=params, cost=cost, family=family, **checks)


def unary(name: str, doc: str, rule: ShapeRule = same_type, **options: Any) -> tuple[Op, Unary]:
    """Define an op of one operand, and the function that applies it."""
    op = define_pointwise(name, rule, (1, 1), **options)
    return op, named(lambda x: apply(op, x), op, doc)


def binary(name: str, doc: str, rule: ShapeRule = same_type, **options: Any) -> tuple[Op, Binary]:
    """Define an op of two operands, and the function that broadcasts them and applies it."""
    op = define_pointwise(name, rule, (2, 2), **options)
    return op, named(lambda x, y: apply(op, *broadcast_operands(name, x, y)), op, doc)


def ternary(name: str, doc: str, rule: ShapeRule = same_type, **options: Any) -> tuple[Op, Ternary]:
    """Define an op of three operands, and the function that broadcasts them and applies it."""
    op = define_pointwise(name, rule, (3, 3), **options)
    return op, named(lambda x, y, z: apply(op, *broadcast_operands(name, x, y, z)), op, f"{doc} Operands broadcast.")


# -- legal params


def _is_decimals(node: Node, param) -> bool:
    return type(param) is int and abs(param) <= kinds.MAX_ORDER


def _is_python_operator(node: Node, param) -> bool:
    return PYTHON_INTS.get(param) == len(node.inputs)


def _narrows_integers(node: Node, params: dict[str, Any]) -> bool:
    return params["dtype"].kind in "iu" and node.inputs[0].meta.dtype.kind in "iu"


# -- arithmetic

neg_op, neg = unary("neg", "Return -x.")
abs_op, absolute = unary("abs", "Return the absolute value of x, real.", real_type)
sign_op, sign = unary("sign", "Return -1, 0 or 1; x / |x| for complex x.")
square_op, square = unary("square", "Return x * x.")
reciprocal_op, reciprocal = unary("reciprocal", "Return 1 / x.")
sqrt_op, sqrt = unary("sqrt", "Return the non-negative square root of x.")
cbrt_op, cbrt = unary("cbrt", "Return the real cube root of x.")

add_op, add = binary("add", "Return x + y.")
sub_op, sub = binary("sub", "Return x - y.")
mul_op, mul = binary("mul", "Return x * y.")
div_op, div = binary("div", "Return x / y, of inexact dtype.")
floor_divide_op, floor_divide = binary("floor_divide", "Return the largest integer not above x / y.")
remainder_op, remainder = binary("remainder", "Return x - y * floor_divide(x, y), with the sign of y.")
fmod_op, fmod = binary("fmod", "Return the remainder of x / y with the sign of x.")
pow_op, power = binary("pow", "Return x to the power y.")
power_by_op: Op = define_pointwise("power_by", same_type, (1, 1), exponent=kinds.number)
hypot_op, hypot = binary("hypot", "Return the length of the vector (x, y).")
gcd_op, gcd = binary("gcd", "Return the greatest common divisor.")
lcm_op, lcm = binary("lcm", "Return the least common multiple.")

# -- larger and smaller

max_op, maximum = binary("max", "Return the larger of x and y; NaN if either is.")
min_op, minimum = binary("min", "Return the smaller of x and y; NaN if either is.")
fmax_op, fmax = binary("fmax", "Return the larger of x and y; the other one if one is NaN.")
fmin_op, fmin = binary("fmin", "Return the smaller of x and y; the other one if one is NaN.")
heaviside_op, heaviside = binary("heaviside", "Return 0 where x < 0, y where x == 0, 1 where x > 0.")
copysign_op, copysign = binary("copysign", "Return |x| with the sign of y.")

# -- exponentials, logarithms, trigonometry

exp_op, exp = unary("exp", "Return e to the power x.")
exp2_op, exp2 = unary("exp2", "Return 2 to the power x.")
expm1_op, expm1 = unary("expm1", "Return exp(x) - 1, accurate near 0.")
log_op, log = unary("log", "Return the natural logarithm of x.")
log2_op, log2 = unary("log2", "Return the logarithm of x to base 2.")
log10_op, log10 = unary("log10", "Return the logarithm of x to base 10.")
log1p_op, log1p = unary("log1p", "Return log(1 + x), accurate near 0.")
logaddexp_op, logaddexp = binary("logaddexp", "Return log(exp(x) + exp(y)).")
logaddexp2_op, logaddexp2 = binary("logaddexp2", "Return log2(2**x + 2**y).")
sin_op, sin = unary("sin", "Return the sine of x.")
cos_op, cos = unary("cos", "Return the cosine of x.")
tan_op, tan = unary("tan", "Return the tangent of x.")
arcsin_op, arcsin = unary("arcsin", "Return the inverse sine of x.")
arccos_op, arccos = unary("arccos", "Return the inverse cosine of x.")
arctan_op, arctan = unary("arctan", "Return the inverse tangent of x.")
arctan2_op, arctan2 = binary("arctan2", "Return the angle of the point (y, x): arctan2(x, y) has the ordinate first.")
sinh_op, sinh = unary("sinh", "Return the hyperbolic sine of x.")
cosh_op, cosh = unary("cosh", "Return the hyperbolic cosine of x.")
tanh_op, tanh = unary("tanh", "Return the hyperbolic tangent of x.")
arcsinh_op, arcsinh = unary("arcsinh", "Return the inverse hyperbolic sine of x.")
arccosh_op, arccosh = unary("arccosh", "Return the inverse hyperbolic cosine of x.")
arctanh_op, arctanh = unary("arctanh", "Return the inverse hyperbolic tangent of x.")

# -- rounding and the parts of a float

floor_op, floor = unary("floor", "Return the largest integer not above x.")
ceil_op, ceil = unary("ceil", "Return the smallest integer not below x.")
trunc_op, trunc = unary("trunc", "Return x without its fraction.")
rint_op, rint = unary("rint", "Return the nearest integer, the even one of two.")
round_op: Op = define_pointwise("round", same_type, (1, 1), decimals=_is_decimals)
nextafter_op, nextafter = binary("nextafter", "Return the neighbour of x in the direction of y.")
spacing_op, spacing = unary("spacing", "Return the distance from x to its neighbour.")
ldexp_op, ldexp = binary("ldexp", "Return x * 2**y, for integers y.", _first_type)
frexp_op: Op = define_pointwise("frexp", _frexp_type, (1, 1))

# -- comparison and logic

eq_op, eq = binary("eq", "Return x == y.", _compare_type)
ne_op, ne = binary("ne", "Return x != y.", _compare_type)
lt_op, lt = binary("lt", "Return x < y.", _compare_type)
le_op, le = binary("le", "Return x <= y.", _compare_type)
gt_op, gt = binary("gt", "Return x > y.", _compare_type)
ge_op, ge = binary("ge", "Return x >= y.", _compare_type)
isnan_op, isnan = unary("isnan", "Return whether x is NaN.", bool_type)
isinf_op, isinf = unary("isinf", "Return whether x is infinite.", bool_type)
isfinite_op, isfinite = unary("isfinite", "Return whether x is neither infinite nor NaN.", bool_type)
signbit_op, signbit = unary("signbit", "Return whether the sign bit of x is set: x < 0, or x is -0.0.", bool_type)
logical_and_op, logical_and = binary("logical_and", "Return whether both are nonzero.", bool_type)
logical_or_op, logical_or = binary("logical_or", "Return whether one is nonzero.", bool_type)
logical_xor_op, logical_xor = binary("logical_xor", "Return whether exactly one is nonzero.", bool_type)
logical_not_op, logical_not = unary("logical_not", "Return whether x is zero.", bool_type)
bitwise_and_op, bitwise_and = binary("bitwise_and", "Return the bits set in both.")
bitwise_or_op, bitwise_or = binary("bitwise_or", "Return the bits set in one.")
bitwise_xor_op, bitwise_xor = binary("bitwise_xor", "Return the bits set in exactly one.")
invert_op, invert = unary("invert", "Return the bits not set.")
left_shift_op, left_shift = binary("left_shift", "Return the bits of x moved up by y places.")
right_shift_op, right_shift = binary("right_shift", "Return the bits of x moved down by y places.")
bitwise_count_op, bitwise_count = unary(
    "bitwise_count", "Return the number of bits set in |x|.", lambda ctx, x: TensorMeta(np.dtype(np.uint8), x.extents)
)

# -- complex parts, choice and conversion

real_op, _real = unary("real", "Return the real part of x.", real_type, cost=MOVES)
imag_op, _imag = unary("imag", "Return the imaginary part of x.", real_type, cost=MOVES)
conj_op, _conj = unary("conj", "Return the complex conjugate of x.")
complex_op, make_complex = binary("complex", "Return x + 1j * y.", _complex_type, cost=MOVES)
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

share_op, share = binary(
    "share", "Return the share of x in max(x, y): 1 if larger, 0.5 if equal, 0 if less, NaN beside NaN."
)
ratio_op, ratio = binary("ratio", "Return x / y, and 0 where both are 0.")
direction_op, direction = ternary("direction", "Return x / z for z = hypot(x, y), and 0 where all are 0: a cosine.")
STEEP = {"e": 1 - 2.0**-4, "f": 1 - 2.0**-9, "d": 1 - 2.0**-16}  # 1 less a larger share has lost digits
tanh_slope_op, tanh_slope = binary("tanh_slope", "Return 1 - y**2 for y = tanh(x), with all digits where that cancels.")
length_op, length = unary("length", "Return the square root of a sum x of squares. Its derivatives at 0 are 0.")
gap_op, gap = binary("gap", "Return x - y, and 0 where both are the same infinity.")


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


def frexp(x: Any) -> tuple[Any, ...]:
    """Return (m, e) with x = m * 2**e and 0.5 <= |m| < 1."""
    return apply_all(frexp_op, x)


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
