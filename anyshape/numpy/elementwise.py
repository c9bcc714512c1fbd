"""NumPy's elementwise functions: promote as the ufunc would, then apply the core op, which broadcasts.
Concrete arguments go to NumPy itself.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from math import isfinite as _is_finite
from math import pi
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy.operands.promotion import (
    NUMERIC,
    asarray,
    fixed,
    is_traced,
    is_weak,
    loop_dtypes,
    operand,
    promoted,
    result_type,
    sizes,
    typed,
)
from anyshape.numpy.operands.ufuncs import check_options, of_ufunc
from anyshape.numpy.reduction_args import infinite
from anyshape.ops import elementwise as ew
from anyshape.ops.creation import full
from anyshape.ops.dynamic import nonzero
from anyshape.ops.reduction import reduce_and

_function = functools.partial(of_ufunc, module=__name__)

# -- arithmetic

add = _function(np.add, ew.add)
subtract = _function(np.subtract, ew.sub)
multiply = _function(np.multiply, ew.mul)
divide = true_divide = _function(np.true_divide, ew.div)
floor_divide = _function(np.floor_divide, ew.floor_divide)
remainder = mod = _function(np.remainder, ew.remainder)
fmod = _function(np.fmod, ew.fmod)
divmod = _function(np.divmod, lambda x, y: (ew.floor_divide(x, y), ew.remainder(x, y)))
negative = _function(np.negative, ew.neg)
positive = _function(np.positive, lambda x: x)
absolute = abs = _function(np.absolute, ew.absolute)
fabs = _function(np.fabs, ew.absolute)
sign = _function(np.sign, ew.sign)
square = _function(np.square, ew.square)
reciprocal = _function(np.reciprocal, ew.reciprocal)
sqrt = _function(np.sqrt, ew.sqrt)
cbrt = _function(np.cbrt, ew.cbrt)
hypot = _function(np.hypot, ew.hypot)
gcd = _function(np.gcd, ew.gcd)
lcm = _function(np.lcm, ew.lcm)


def _literal(x: Any) -> Any:
    """The Python number that x is known to be while tracing, or None."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return x
    if isinstance(x, (np.ndarray, np.generic)) and np.ndim(x) == 0 and x.dtype.kind in NUMERIC:
        return x.item()
    return None


def _power(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A literal exponent gets the cheapest op, whose slope is exact at 0; any other one the general power."""
    if not is_traced(*args, *options.values()):
        return ufunc(*args, **options)
    dtype = check_options(ufunc, args, options)
    exponent = _literal(args[1])
    if exponent is None or isinstance(exponent, complex) or not _is_finite(exponent):
        return ew.power(*promoted(ufunc, *args, dtype=dtype))
    target = loop_dtypes(ufunc, *args, dtype=dtype)[0]
    if target.kind in "iu":
        exponent = int(target.type(int(exponent)))
        if exponent < 0:
            why, advice = "integers to negative integer powers are not integers", "use a float exponent"
            raise DTypeError(ufunc.__name__, why, advice, user_line())
    return ew.power_by(typed(args[0], target), exponent)


def power(*args: Any, **options: Any) -> Any:
    """As `numpy.power`. The derivative at 0 is exact for literal exponents: `x**2` has slope 0, `x**1` slope 1."""
    return _power(np.power, args, options)


def float_power(*args: Any, **options: Any) -> Any:
    """As `numpy.float_power`."""
    return _power(np.float_power, args, options)


pow = power

# -- larger and smaller

maximum = _function(np.maximum, ew.maximum)
minimum = _function(np.minimum, ew.minimum)
fmax = _function(np.fmax, ew.fmax)
fmin = _function(np.fmin, ew.fmin)
heaviside = _function(np.heaviside, ew.heaviside)
copysign = _function(np.copysign, ew.copysign)


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """As `numpy.clip`; at a bound the slope is shared by the array and the bound, half each."""
    low, high = a_min if min is None else min, a_max if max is None else max
    if not is_traced(a, low, high):
        return np.clip(a, low, high, out=out, **options)
    if out is not None or options:
        advice = "use the result instead of `out`"
        raise UnsupportedFunctionError("clip", "out and ufunc options of a traced array", advice, user_line())
    dtype = result_type(a)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    target = result_type(dtype, *[x for x in (low, high) if x is not None])  # NumPy takes even a scalar `a` as an array
    clipped = typed(a, target, "clip")
    if low is not None:
        clipped = ew.maximum(clipped, _bound(low, dtype, target, -1))
    return ew.minimum(clipped, _bound(high, dtype, target, 1)) if high is not None else clipped


def _bound(bound: Any, dtype: np.dtype, target: np.dtype, sign: int) -> Any:
    """A bound of `clip` in the dtype of the result. As in NumPy, a Python int that no element reaches is none; of one
    that is traced this is seen when the program runs.
    """
    if dtype.kind not in "iu" or not is_weak(bound) or not is_traced(bound):
        return typed(bound, target, "clip")
    given = operand(bound, "clip")
    if given.dtype.kind not in "iu" or given.dtype == dtype == target:
        return typed(bound, target, "clip")
    compare, nearer = (greater_equal, ew.minimum) if sign > 0 else (less_equal, ew.maximum)
    idle, edge = compare(given, infinite(dtype, sign)), infinite(target, sign)
    if target.kind not in "iu":
        return ew.select(idle, full((), edge, target), ew.convert(given, target))
    if not _beyond(edge, given):
        given = nearer(given, ew.lift(edge, given))
    return ew.select(idle, full((), edge, target), ew.narrow(given, target))


# -- exponentials, logarithms, trigonometry

exp = _function(np.exp, ew.exp)
exp2 = _function(np.exp2, ew.exp2)
expm1 = _function(np.expm1, ew.expm1)
log = _function(np.log, ew.log)
log2 = _function(np.log2, ew.log2)
log10 = _function(np.log10, ew.log10)
log1p = _function(np.log1p, ew.log1p)
logaddexp = _function(np.logaddexp, ew.logaddexp)
logaddexp2 = _function(np.logaddexp2, ew.logaddexp2)
sin = _function(np.sin, ew.sin)
cos = _function(np.cos, ew.cos)
tan = _function(np.tan, ew.tan)
arcsin = asin = _function(np.arcsin, ew.arcsin)
arccos = acos = _function(np.arccos, ew.arccos)
arctan = atan = _function(np.arctan, ew.arctan)
arctan2 = atan2 = _function(np.arctan2, ew.arctan2)
sinh = _function(np.sinh, ew.sinh)
cosh = _function(np.cosh, ew.cosh)
tanh = _function(np.tanh, ew.tanh)
arcsinh = asinh = _function(np.arcsinh, ew.arcsinh)
arccosh = acosh = _function(np.arccosh, ew.arccosh)
arctanh = atanh = _function(np.arctanh, ew.arctanh)
deg2rad = _function(np.deg2rad, lambda x: ew.mul(x, pi / 180))
radians = _function(np.radians, lambda x: ew.mul(x, pi / 180))
rad2deg = _function(np.rad2deg, lambda x: ew.mul(x, 180 / pi))
degrees = _function(np.degrees, lambda x: ew.mul(x, 180 / pi))

# -- rounding and the parts of a float


def _fraction_and_whole(x: Any) -> tuple[Any, Any]:
    """Both with the sign of x; the fraction of an infinity is 0."""
    finite = ew.select(ew.isinf(x), ew.copysign(ew.lift(0, x), x), x)
    return ew.fmod(finite, ew.lift(1, x)), ew.trunc(x)


floor = _function(np.floor, ew.floor)
ceil = _function(np.ceil, ew.ceil)
trunc = _function(np.trunc, ew.trunc)
rint = _function(np.rint, ew.rint)
nextafter = _function(np.nextafter, ew.nextafter)
spacing = _function(np.spacing, ew.spacing)
ldexp = _function(np.ldexp, ew.ldexp)
frexp = _function(np.frexp, ew.frexp)
modf = _function(np.modf, _fraction_and_whole)


def _no_out(function: str, out: Any) -> None:
    if out is not None:
        advice = "use the result instead"
        raise UnsupportedFunctionError(function, "option 'out' of a traced array", advice, user_line())


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """As `numpy.round`."""
    if not is_traced(a):
        return np.round(a, decimals, out)
    _no_out("round", out)
    places = fixed(0 if decimals is None else decimals, "round", "the number of decimals")
    x = asarray(a, function="round")
    if x.dtype.kind in "iu":
        return x if places >= 0 else ew.round(x, places)
    return rint(x) if places == 0 or x.dtype.kind == "b" else ew.round(x, places)


around = round


def fix(x: Any, out: Any = None) -> Any:
    """As `numpy.fix`: x rounded towards 0."""
    _no_out("fix", out if is_traced(x, out) else None)
    return trunc(x) if is_traced(x) else np.fix(x, out)


# -- comparison and logic


def _comparison(ufunc: np.ufunc, apply: Callable[..., Any], compare: Callable[..., bool]) -> Callable[..., Any]:
    """A comparison; a Python integer beyond the range of an integer dtype compares by its value, as in NumPy."""
    general = _function(ufunc, apply)

    def function(*args: Any, **options: Any) -> Any:
        if len(args) == 2 and is_traced(*args):
            x, y = args
            if _beyond(y, x):
                return full(sizes(asarray(x)), compare(0, y), bool)
            if _beyond(x, y):
                return full(sizes(asarray(y)), compare(x, 0), bool)
        return general(*args, **options)

    return functools.update_wrapper(function, general)


def _beyond(number: Any, x: Any) -> bool:
    """The number is a Python integer that the integer dtype of x cannot hold."""
    if type(number) is not int or (is_weak(x) and not isinstance(x, Traced)):
        return False
    dtype = result_type(x)
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


equal = _comparison(np.equal, ew.eq, operator.eq)
not_equal = _comparison(np.not_equal, ew.ne, operator.ne)
less = _comparison(np.less, ew.lt, operator.lt)
less_equal = _comparison(np.less_equal, ew.le, operator.le)
greater = _comparison(np.greater, ew.gt, operator.gt)
greater_equal = _comparison(np.greater_equal, ew.ge, operator.ge)
isnan = _function(np.isnan, ew.isnan)
isinf = _function(np.isinf, ew.isinf)
isfinite = _function(np.isfinite, ew.isfinite)
signbit = _function(np.signbit, ew.signbit)
logical_and = _function(np.logical_and, ew.logical_and)
logical_or = _function(np.logical_or, ew.logical_or)
logical_xor = _function(np.logical_xor, ew.logical_xor)
logical_not = _function(np.logical_not, ew.logical_not)
bitwise_and = _function(np.bitwise_and, ew.bitwise_and)
bitwise_or = _function(np.bitwise_or, ew.bitwise_or)
bitwise_xor = _function(np.bitwise_xor, ew.bitwise_xor)
invert = bitwise_not = bitwise_invert = _function(np.invert, ew.invert)
left_shift = bitwise_left_shift = _function(np.left_shift, ew.left_shift)
right_shift = bitwise_right_shift = _function(np.right_shift, ew.right_shift)
bitwise_count = _function(np.bitwise_count, ew.bitwise_count)


def _infinite(name: str, x: Any, infinity: float) -> Any:
    x = asarray(x, function=name)
    if x.dtype.kind == "c":
        raise DTypeError(name, f"a {x.dtype} infinity has no sign", "take x.real or x.imag", user_line())
    return ew.eq(x, ew.lift(infinity, x)) if x.dtype.kind == "f" else ew.ne(x, x)


def isposinf(x: Any, out: Any = None) -> Any:
    """As `numpy.isposinf`."""
    _no_out("isposinf", out if is_traced(x, out) else None)
    return _infinite("isposinf", x, np.inf) if is_traced(x) else np.isposinf(x, out)


def isneginf(x: Any, out: Any = None) -> Any:
    """As `numpy.isneginf`."""
    _no_out("isneginf", out if is_traced(x, out) else None)
    return _infinite("isneginf", x, -np.inf) if is_traced(x) else np.isneginf(x, out)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """As `numpy.isclose`."""
    if not is_traced(a, b, rtol, atol):
        return np.isclose(a, b, rtol, atol, equal_nan)
    number = _literal(b)
    y = typed(b, result_type(b, 1.0), "isclose") if number is None else number if number.imag else float(number.real)
    difference = ew.gap(*promoted(np.subtract, a, y))
    near = less_equal(absolute(difference), add(atol, multiply(rtol, absolute(y))))
    result = logical_or(logical_and(near, isfinite(y)), equal(a, y))
    return logical_or(result, logical_and(isnan(a), isnan(y))) if equal_nan else result


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """As `numpy.allclose`; a boolean scalar of the program."""
    if not is_traced(a, b, rtol, atol):
        return np.allclose(a, b, rtol, atol, equal_nan)
    near = isclose(a, b, rtol, atol, equal_nan)
    return reduce_and(near, range(near.meta.rank))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """As `numpy.nan_to_num`; a replaced element has no slope."""
    if not is_traced(x, nan, posinf, neginf):
        return np.nan_to_num(x, copy, nan, posinf, neginf)
    x = asarray(x, function="nan_to_num")
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (ew.real(x), ew.imag(x))]
        return ew.make_complex(*parts)
    if x.dtype.kind != "f":
        return x
    top = float(np.finfo(x.dtype).max)
    high, low = top if posinf is None else posinf, -top if neginf is None else neginf
    for condition, value in (
        (ew.isnan(x), nan),
        (ew.eq(x, ew.lift(np.inf, x)), high),
        (ew.eq(x, ew.lift(-np.inf, x)), low),
    ):
        x = ew.select(condition, typed(value, x.dtype), x)
    return x


# -- complex parts


def real(val: Any) -> Any:
    """As `numpy.real`."""
    return ew.real(asarray(val)) if is_traced(val) else np.real(val)


def imag(val: Any) -> Any:
    """As `numpy.imag`."""
    return ew.imag(asarray(val)) if is_traced(val) else np.imag(val)


conjugate = conj = _function(np.conjugate, ew.conj)


def angle(z: Any, deg: bool = False) -> Any:
    """As `numpy.angle`."""
    if not is_traced(z):
        return np.angle(z, deg)
    z = asarray(z)
    if z.dtype.kind == "b":
        z = ew.convert(z, np.dtype(float))
    found = arctan2(ew.imag(z), ew.real(z))
    return ew.mul(found, 180 / pi) if deg else found


def isreal(x: Any) -> Any:
    """As `numpy.isreal`."""
    return equal(imag(x), 0) if is_traced(x) else np.isreal(x)


def iscomplex(x: Any) -> Any:
    """As `numpy.iscomplex`."""
    return not_equal(imag(x), 0) if is_traced(x) else np.iscomplex(x)


def iscomplexobj(x: Any) -> bool:
    """As `numpy.iscomplexobj`."""
    return result_type(x).kind == "c" if is_traced(x) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """As `numpy.isrealobj`."""
    return not iscomplexobj(x)


# -- choice and conversion


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """As `numpy.astype`; complex to real warns while tracing."""
    if not is_traced(x):
        return np.astype(x, dtype, copy=copy, device=device)
    target = np.dtype(dtype)
    if target.kind not in NUMERIC:
        raise DTypeError("astype", f"there are no traced arrays of {target}", "use a dtype of numbers", user_line())
    if asarray(x).dtype.kind == "c" and target.kind not in "cb":
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=2)
    return typed(x, target, "astype")


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """As `numpy.where`: x where the condition holds, else y; without these, the positions where it does."""
    if x is None and y is None:
        if not is_traced(condition):
            return np.where(condition)
        return nonzero(asarray(condition))
    if not is_traced(condition, x, y):
        return np.where(condition, x, y)
    dtype = result_type(x, y)
    return ew.select(typed(condition, np.dtype(bool)), typed(x, dtype, "where"), typed(y, dtype, "where"))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """As `numpy.select`: the first choice whose condition holds."""
    if not is_traced(condlist, choicelist, default):
        return np.select(condlist, choicelist, default)
    if len(condlist) != len(choicelist) or not len(condlist):
        problem = f"has {len(choicelist)} choices for {len(condlist)} conditions"
        raise ArgumentError("select", "choicelist", problem, "pass one choice for each condition")
    dtype = result_type(*choicelist, default)
    result = typed(default, dtype, "select")
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        if result_type(condition).kind != "b":
            raise DTypeError("select", "a condition is not boolean", "compare it to make it bool", user_line())
        result = ew.select(typed(condition, np.dtype(bool)), typed(choice, dtype, "select"), result)
    return result


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """As `numpy.piecewise` for elementwise functions: each is computed everywhere, then one is chosen."""
    if not is_traced(x, condlist):
        return np.piecewise(x, condlist, funclist, *args, **kw)
    x = asarray(x, function="piecewise")
    given = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    conditions = [typed(c, np.dtype(bool)) for c in given]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        problem = f"has {len(funclist)} functions for {len(conditions)} conditions"
        raise ArgumentError("piecewise", "funclist", problem, "pass one for each condition and perhaps a default")
    functions = list(funclist)
    default = functions.pop() if len(functions) > len(conditions) else 0
    result = _piece(default, x, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = ew.select(condition, _piece(function, x, args, kw), result)
    return result


def _piece(function: Any, x: Any, args: Any, kw: Any) -> Any:
    value = function(x, *args, **kw) if callable(function) else function
    return ew.broadcast_operands("piecewise", x, typed(value, x.dtype, "piecewise"))[1]
