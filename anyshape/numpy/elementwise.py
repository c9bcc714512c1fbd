"""Define NumPy's elementwise functions.

A call with concrete arguments goes to NumPy. With a traced one, operands are promoted as the ufunc would and a core op,
which broadcasts, is applied.
"""

import operator
import warnings
from collections.abc import Callable
from math import isfinite as _is_finite
from math import pi
from typing import Any

import numpy as np

from anyshape.errors import DTypeError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import makes_copy, owned, stretches_to_out
from anyshape.numpy.operands.reduction_args import keeps_class, keeps_number
from anyshape.numpy.operands.ufuncs import Ufunc, check_options, has_out, of_ufunc, stands_for, ufunc_doc
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops.creation import full
from anyshape.ops.reduction import reduce_and
from anyshape.support.true_types import has_type

_TIES = "Where x1 equals x2, each has half of the derivative."


def _function(name: str, summary: str, apply: Callable[..., Any] | None = None, note: str = "") -> Ufunc:
    """Build the function of a ufunc of NumPy, by the op of its name if none is given."""
    return of_ufunc(getattr(np, name), apply or getattr(ew, name), summary, module=__name__, note=note)


# -- arithmetic

add: Ufunc = _function("add", "Return x1 + x2.")
subtract: Ufunc = _function("subtract", "Return x1 - x2.", ew.sub)
multiply: Ufunc = _function("multiply", "Return x1 * x2.", ew.mul)
divide: Ufunc = _function("true_divide", "Return x1 / x2; integers become floats.", ew.div)
true_divide: Ufunc = divide
floor_divide: Ufunc = _function("floor_divide", "Return the largest integer not above x1 / x2.")
remainder: Ufunc = _function("remainder", "Return x1 - x2 * floor(x1 / x2), which has the sign of x2.")
mod: Ufunc = remainder
fmod: Ufunc = _function("fmod", "Return the remainder of x1 / x2 truncated towards 0, which has the sign of x1.")
divmod: Ufunc = _function(
    "divmod",
    "Return floor_divide(x1, x2) and remainder(x1, x2).",
    lambda x, y: (ew.floor_divide(x, y), ew.remainder(x, y)),
)
negative: Ufunc = _function("negative", "Return -x.", ew.neg)
positive: Ufunc = _function("positive", "Return x unchanged.", lambda x: x)
absolute: Ufunc = _function("absolute", "Return |x|, a real array.")
abs: Ufunc = absolute
fabs: Ufunc = _function("fabs", "Return |x| as floats, for real x.", ew.absolute)
sign: Ufunc = _function("sign", "Return -1, 0 or 1 for real x, and x / |x| for complex x.")
square: Ufunc = _function("square", "Return x * x.")
reciprocal: Ufunc = _function("reciprocal", "Return 1 / x, in the dtype of x.")
sqrt: Ufunc = _function("sqrt", "Return the square root of x.")
cbrt: Ufunc = _function("cbrt", "Return the cube root of x, which is real for negative x.")
hypot: Ufunc = _function("hypot", "Return sqrt(x1**2 + x2**2) without overflow on the way.")
gcd: Ufunc = _function("gcd", "Return the greatest common divisor of |x1| and |x2|.")
lcm: Ufunc = _function("lcm", "Return the least common multiple of |x1| and |x2|.")


def _literal(x):
    """Return the Python number that x is known to be while tracing, or None."""
    if has_type(x, (bool, int, float, complex)) and not has_type(x, np.generic):
        return x
    if has_type(x, (np.ndarray, np.generic)) and np.ndim(x) == 0 and x.dtype.kind in promotion.NUMERIC:
        return x.item()
    return None


def _power(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]):
    """Return x1**x2. A literal exponent gets the cheapest op, whose derivative is exact at 0."""
    if has_out(ufunc, args, options):
        return ufunc(*args, **options)  # by NumPy's protocol, which writes the result
    chosen = check_options(ufunc, args, options)
    if (exponent := _literal(args[1])) is None or has_type(exponent, complex) or not _is_finite(exponent):
        return ew.power(*promotion.promoted(ufunc, *args, **chosen))
    target = promotion.loop_dtypes(ufunc, *args, **chosen)[0]
    if target.kind in "iu" and (exponent := int(target.type(int(exponent)))) < 0:
        why, advice = "integers to negative integer powers are not integers", "use a float exponent"
        raise DTypeError(ufunc.__name__, why, advice, user_line())
    return ew.power_by(promotion.cast_operand(args[0], target), exponent)


@stands_for(np.power)
def power(*args: Any, **options: Any) -> Any:
    """Return x1 to the power of x2.

    x1 and x2 broadcast to the shape of the result. Dtypes follow `numpy.power`, and `dtype` chooses the loop.
    The derivative at 0 is exact for literal exponents: `x**2` has derivative 0 there and `x**1` derivative 1.

    A traced integer to a negative literal power raises DTypeError while tracing, where NumPy raises ValueError.
    With a traced operand the options besides `dtype` and `out` keep their defaults; `out` must be traced too.
    """
    return owned(_power(np.power, args, options), *args)


@stands_for(np.float_power)
def float_power(*args: Any, **options: Any) -> Any:
    """Return x1 to the power of x2, computed at least in double precision.

    x1 and x2 broadcast to the shape of the result. Dtypes follow `numpy.float_power`, and `dtype` chooses the loop.
    With a traced operand the options but `out` keep their defaults; `out` must be traced too.
    """
    return owned(_power(np.float_power, args, options), *args)


pow = power

# -- larger and smaller

maximum: Ufunc = _function("maximum", "Return the larger of x1 and x2, or NaN if either is NaN.", note=_TIES)
minimum: Ufunc = _function("minimum", "Return the smaller of x1 and x2, or NaN if either is NaN.", note=_TIES)
fmax: Ufunc = _function("fmax", "Return the larger of x1 and x2, ignoring a NaN.", note=_TIES)
fmin: Ufunc = _function("fmin", "Return the smaller of x1 and x2, ignoring a NaN.", note=_TIES)
heaviside: Ufunc = _function("heaviside", "Return the step function of x1: 0 below 0, x2 at 0 and 1 above.")
copysign: Ufunc = _function("copysign", "Return |x1| with the sign of x2.")


# -- exponentials, logarithms, trigonometry

exp: Ufunc = _function("exp", "Return e to the power of x.")
exp2: Ufunc = _function("exp2", "Return 2 to the power of x.")
expm1: Ufunc = _function("expm1", "Return exp(x) - 1, accurate near 0.")
log: Ufunc = _function("log", "Return the natural logarithm of x.")
log2: Ufunc = _function("log2", "Return the logarithm of x to base 2.")
log10: Ufunc = _function("log10", "Return the logarithm of x to base 10.")
log1p: Ufunc = _function("log1p", "Return log(1 + x), accurate near 0.")
logaddexp: Ufunc = _function("logaddexp", "Return log(exp(x1) + exp(x2)) without overflow.")
logaddexp2: Ufunc = _function("logaddexp2", "Return log2(2**x1 + 2**x2) without overflow.")
sin: Ufunc = _function("sin", "Return the sine of x, an angle in radians.")
cos: Ufunc = _function("cos", "Return the cosine of x, an angle in radians.")
tan: Ufunc = _function("tan", "Return the tangent of x, an angle in radians.")
arcsin: Ufunc = _function("arcsin", "Return the angle in [-pi/2, pi/2] whose sine is x.")
asin: Ufunc = arcsin
arccos: Ufunc = _function("arccos", "Return the angle in [0, pi] whose cosine is x.")
acos: Ufunc = arccos
arctan: Ufunc = _function("arctan", "Return the angle in [-pi/2, pi/2] whose tangent is x.")
atan: Ufunc = arctan
arctan2: Ufunc = _function(
    "arctan2", "Return the angle in [-pi, pi] between the point (x2, x1) and the positive first axis."
)
atan2: Ufunc = arctan2
sinh: Ufunc = _function("sinh", "Return the hyperbolic sine of x.")
cosh: Ufunc = _function("cosh", "Return the hyperbolic cosine of x.")
tanh: Ufunc = _function("tanh", "Return the hyperbolic tangent of x.")
arcsinh: Ufunc = _function("arcsinh", "Return the number whose hyperbolic sine is x.")
asinh: Ufunc = arcsinh
arccosh: Ufunc = _function("arccosh", "Return the number that is not negative and whose hyperbolic cosine is x.")
acosh: Ufunc = arccosh
arctanh: Ufunc = _function("arctanh", "Return the number whose hyperbolic tangent is x.")
atanh: Ufunc = arctanh
deg2rad: Ufunc = _function("deg2rad", "Return x degrees in radians.", lambda x: ew.mul(x, pi / 180))
radians: Ufunc = _function("radians", "Return x degrees in radians.", lambda x: ew.mul(x, pi / 180))
rad2deg: Ufunc = _function("rad2deg", "Return x radians in degrees.", lambda x: ew.mul(x, 180 / pi))
degrees: Ufunc = _function("degrees", "Return x radians in degrees.", lambda x: ew.mul(x, 180 / pi))

# -- rounding and the parts of a float


def _fraction_and_whole(x) -> tuple[Any, Any]:
    """Return the fraction and the integral part of x, with its sign; the fraction of an infinity is 0."""
    finite = ew.select(ew.isinf(x), ew.copysign(ew.lift(0, x), x), x)
    return ew.fmod(finite, ew.lift(1, x)), ew.trunc(x)


floor: Ufunc = _function("floor", "Return the largest integer not above x, in the dtype of x.")
ceil: Ufunc = _function("ceil", "Return the smallest integer not below x, in the dtype of x.")
trunc: Ufunc = _function("trunc", "Return x rounded towards 0.")
rint: Ufunc = _function("rint", "Return x rounded to the nearest integer, and halves to the even one.")
nextafter: Ufunc = _function("nextafter", "Return the float next to x1 in the direction of x2.")
spacing: Ufunc = _function("spacing", "Return the distance from x to the next float away from 0.")
ldexp: Ufunc = _function("ldexp", "Return x1 * 2**x2, for integers x2.")
frexp: Ufunc = _function("frexp", "Return the mantissa in (-1, 1) and the exponent of x = mantissa * 2**exponent.")
modf: Ufunc = _function(
    "modf", "Return the fractional and the integral part of x, both with its sign.", _fraction_and_whole
)


@stretches_to_out
@makes_copy
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return `a` rounded to a number of decimals, and halves to the even digit.

    The result has the shape of `a`; its dtype follows `numpy.round`. `decimals` is an int known while tracing, and a
    negative one rounds to tens, hundreds and so on. With traced operands `out` must be traced too.
    """
    digits = promotion.static_int(decimals, "round", "the number of decimals")
    x = promotion.asarray(a, function="round")
    if x.dtype.kind in "iu":
        return ew.round(x, min(digits, 0))
    return rint(x) if digits == 0 else ew.round(promotion.refuse_kinds("round", x, "b"), digits)


around = round


@stretches_to_out
def fix(x: Any, out: Any = None) -> Any:
    """Return x rounded towards 0, in the shape and dtype of x.

    With traced operands `out` must be traced too.
    """
    return trunc(x)


# -- comparison and logic


def _comparison(ufunc: np.ufunc, apply: Callable[..., Any], compare: Callable[..., bool], summary: str) -> Ufunc:
    """Build a comparison.

    A Python int beyond the range of an integer dtype compares by its value, as in NumPy.
    """
    general = of_ufunc(ufunc, apply, summary, module=__name__)

    def function(*args, **options):
        if len(args) == 2:
            x, y = args
            if exceeds_dtype(y, x):
                return full(promotion.sizes(promotion.asarray(x)), compare(0, y), bool)
            if exceeds_dtype(x, y):
                return full(promotion.sizes(promotion.asarray(y)), compare(x, 0), bool)
        return general(*args, **options)

    return Ufunc(ufunc, function, ufunc_doc(ufunc, summary), __name__)


def exceeds_dtype(number: Any, x: Any) -> bool:
    """Return whether a number is a Python int that the integer dtype of x cannot hold."""
    if type(number) is not int or (promotion.is_weak(x) and not isinstance(x, Traced)):
        return False
    dtype = promotion.result_type(x)
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


equal: Ufunc = _comparison(np.equal, ew.eq, operator.eq, "Return whether x1 == x2.")
not_equal: Ufunc = _comparison(np.not_equal, ew.ne, operator.ne, "Return whether x1 != x2.")
less: Ufunc = _comparison(np.less, ew.lt, operator.lt, "Return whether x1 < x2.")
less_equal: Ufunc = _comparison(np.less_equal, ew.le, operator.le, "Return whether x1 <= x2.")
greater: Ufunc = _comparison(np.greater, ew.gt, operator.gt, "Return whether x1 > x2.")
greater_equal: Ufunc = _comparison(np.greater_equal, ew.ge, operator.ge, "Return whether x1 >= x2.")
isnan: Ufunc = _function("isnan", "Return whether each element is NaN.")
isinf: Ufunc = _function("isinf", "Return whether each element is infinite.")
isfinite: Ufunc = _function("isfinite", "Return whether each element is neither infinite nor NaN.")
signbit: Ufunc = _function("signbit", "Return whether the sign bit of x is set, as it is for -0.0.")
logical_and: Ufunc = _function("logical_and", "Return whether x1 and x2 are both nonzero.")
logical_or: Ufunc = _function("logical_or", "Return whether x1 or x2 is nonzero.")
logical_xor: Ufunc = _function("logical_xor", "Return whether exactly one of x1 and x2 is nonzero.")
logical_not: Ufunc = _function("logical_not", "Return whether x is 0.")
bitwise_and: Ufunc = _function("bitwise_and", "Return the bits set in both x1 and x2.")
bitwise_or: Ufunc = _function("bitwise_or", "Return the bits set in x1 or x2.")
bitwise_xor: Ufunc = _function("bitwise_xor", "Return the bits set in exactly one of x1 and x2.")
invert: Ufunc = _function("invert", "Return x with each bit flipped; booleans are negated.")
bitwise_not: Ufunc = invert
bitwise_invert: Ufunc = invert
left_shift: Ufunc = _function("left_shift", "Return x1 * 2**x2, the bits of x1 shifted to the left.")
bitwise_left_shift: Ufunc = left_shift
right_shift: Ufunc = _function("right_shift", "Return floor(x1 / 2**x2), the bits of x1 shifted to the right.")
bitwise_right_shift: Ufunc = right_shift
bitwise_count: Ufunc = _function("bitwise_count", "Return the number of bits set in |x|.")


def _equals_infinity(name: str, x, infinity: float):
    """Return where x equals an infinity; nowhere if its dtype holds none."""
    x = promotion.asarray(x, function=name)
    if x.dtype.kind == "c":
        raise DTypeError(name, f"a {x.dtype} infinity has no sign", "take x.real or x.imag", user_line())
    return ew.eq(x, ew.lift(infinity, x)) if x.dtype.kind == "f" else ew.ne(x, x)


@stretches_to_out
def isposinf(x: Any, out: Any = None) -> Any:
    """Return where x is positive infinity, as booleans in the shape of x.

    Complex x raise DTypeError. With traced operands `out` must be traced too.
    """
    return _equals_infinity("isposinf", x, np.inf)


@stretches_to_out
def isneginf(x: Any, out: Any = None) -> Any:
    """Return where x is negative infinity, as booleans in the shape of x.

    Complex x raise DTypeError. With traced operands `out` must be traced too.
    """
    return _equals_infinity("isneginf", x, -np.inf)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return where |a - b| <= atol + rtol * |b|, as booleans.

    The arguments broadcast. Equal infinities are close; NaNs are close to each other if `equal_nan`.
    """
    y = _inexact_operand(b)
    difference = ew.gap(*promotion.promoted(np.subtract, a, y))
    near = less_equal(absolute(difference), add(atol, multiply(rtol, absolute(y))))
    result = logical_or(logical_and(near, isfinite(y)), equal(a, y))
    return logical_or(result, logical_and(isnan(a), isnan(y))) if equal_nan else result


def _inexact_operand(b):
    """Return an operand as floats or complex numbers; a known Python number stays one."""
    if (number := _literal(b)) is None:
        return promotion.cast_operand(b, promotion.result_type(b, 1.0), "isclose")
    return number if number.imag else float(number.real)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are close, as `isclose` defines it.

    With a traced operand the result belongs to the program: it computes as a Python bool does.
    """
    near = isclose(a, b, rtol, atol, equal_nan)
    return reduce_and(near, range(near.meta.rank)).as_weak()


# -- complex parts


@keeps_number
def real(val: Any) -> Any:
    """Return the real part of `val`, in its shape; real arrays are returned as they are."""
    return ew.real(promotion.asarray(val))


@keeps_number
def imag(val: Any) -> Any:
    """Return the imaginary part of `val`, in its shape; that of a real array is 0."""
    return ew.imag(promotion.asarray(val))


conjugate: Ufunc = _function("conjugate", "Return the complex conjugate of x.", ew.conj)
conj: Ufunc = conjugate


def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of the complex number z from the positive real axis.

    The result is real, in the shape of z, in radians or with `deg` in degrees.
    """
    z = promotion.asarray(z)
    if z.dtype.kind == "b":
        z = ew.convert(z, np.dtype(float))
    radians = arctan2(ew.imag(z), ew.real(z))
    return ew.mul(radians, 180 / pi) if deg else radians


def isreal(x: Any) -> Any:
    """Return where the imaginary part of x is 0, as booleans in the shape of x."""
    return equal(imag(x), 0)


def iscomplex(x: Any) -> Any:
    """Return where the imaginary part of x is not 0, as booleans in the shape of x."""
    return not_equal(imag(x), 0)


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype of x is complex, a Python bool for traced arrays too."""
    return promotion.result_type(x).kind == "c"


def isrealobj(x: Any) -> bool:
    """Return whether the dtype of x is not complex, a Python bool for traced arrays too."""
    return not iscomplexobj(x)


# -- conversion


@keeps_class
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return x converted to a dtype.

    A traced array converts to bool, integer, float and complex dtypes; others raise DTypeError. A cast from complex to
    real warns with NumPy's ComplexWarning while tracing. `copy` and `device` have no effect on traced arrays.
    """
    target = promotion.number_dtype(dtype, "astype")
    if promotion.asarray(x).dtype.kind == "c" and target.kind not in "cb":
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=2)
    result = promotion.cast_operand(x, target, "astype")
    return owned(result, x) if copy else result


serve(__name__)
