"""Functions of `math` and `cmath` for traced numbers: NumPy's, with the results and the errors of Python's."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.arrays.python_operators import expect, whole
from anyshape.numpy.operands.promotion import resolve_size
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.control import stop_gradient
from anyshape.support.packages import load
from anyshape.support.true_types import has_type
from anyshape.tracing.source.python_numbers import as_complex, as_float, as_int, product

Function = Callable[..., Any]
_DOMAIN, _RANGE = "math domain error", "math range error"


def _refuse(condition: Any, message: str) -> None:
    """Let the run raise the error of this message where a condition holds."""
    expect(_not(condition), message)


def _not(condition: Any) -> Any:
    return FUNCTIONS["logical_not"](condition)


def _number(x: Any) -> Any:
    return as_float(x) if isinstance(x, (Traced, SymbolicSize)) else float(x)


def _of_unknown(function: Function) -> Function:
    """Return a function that leaves sizes to Python for which the trace is alone, as they are numbers."""

    def served(*args: Any, **kwargs: Any) -> Any:
        sizes = [x for x in args if isinstance(x, SymbolicSize)]
        is_known = sizes and not any(isinstance(x, Traced) for x in args)
        if is_known and all(has_type(resolve_size(x), int) for x in sizes):
            return NotImplemented
        return function(*args, **kwargs)

    return served


def _is_nan(x: Any) -> Any:
    return FUNCTIONS["isnan"](x)


def _is_zero(x: Any) -> Any:
    return FUNCTIONS["equal"](x, 0)


def _is_finite(x: Any) -> Any:
    return FUNCTIONS["isfinite"](x)


def _function(name: str, domain: Function | None = None, *, overflows: bool = False) -> Function:
    """Return the function of NumPy's name.

    `domain` says for which operands Python raises ValueError. `overflows` says that an infinite result of finite
    operands is an OverflowError.
    """

    def function(*args: Any) -> Any:
        numbers = [_number(x) for x in args]
        if domain is not None:
            _refuse(domain(*numbers), _DOMAIN)
        result = FUNCTIONS[name](*numbers)
        if overflows:
            _refuse(_is_infinite(result, *numbers), _RANGE)
        return result.as_weak()

    return function


def _is_infinite(result: Any, *numbers: Any) -> Any:
    """Return whether a result is infinite that finite numbers give."""
    infinite = FUNCTIONS["isinf"](result)
    for x in numbers:
        infinite = infinite & _is_finite(x)
    return infinite


def _power(x: Any, y: Any, /) -> Any:
    x, y = _number(x), _number(y)
    result = FUNCTIONS["power"](x, y)
    of_numbers = FUNCTIONS["equal"](x, x) & FUNCTIONS["equal"](y, y)
    infinite, of_zero = _is_infinite(result, x, y), _is_zero(x)
    _refuse((_is_nan(result) & of_numbers) | (infinite & of_zero), _DOMAIN)
    _refuse(infinite & _not(of_zero), _RANGE)
    return result.as_weak()


_log: Function = _function("log", lambda x: x <= 0)


def _logarithm(x: Any, base: Any = None, /) -> Any:
    if base is None:
        return _log(x)
    numerator, denominator = [_log(v) if isinstance(v, (Traced, SymbolicSize)) else np.log(v) for v in (x, base)]
    _refuse(FUNCTIONS["equal"](FUNCTIONS["asarray"](denominator), 0), "float division by zero")
    return FUNCTIONS["divide"](numerator, denominator).as_weak()


def _special(name: str, domain: Function | None = None, *, overflows: bool = False) -> Function:
    """Return the function of `scipy.special`, which loads at its first call."""

    def function(x: Any, /) -> Any:
        x = as_float(x)
        if domain is not None:
            _refuse(domain(x), _DOMAIN)
        result = getattr(load("anyshape.numpy.special"), name)(x)
        if overflows:
            _refuse(_is_infinite(result, x), _RANGE)
        return result.as_weak()

    return function


def _is_pole(x: Any) -> Any:
    """Return whether the gamma function has a pole at a finite number."""
    return (x <= 0) & FUNCTIONS["equal"](x, FUNCTIONS["floor"](x)) & _is_finite(x)


_finite_log_gamma = _special("gammaln", _is_pole, overflows=True)


def _log_gamma(x: Any, /) -> Any:
    result = _finite_log_gamma(x)
    return FUNCTIONS["where"](FUNCTIONS["isinf"](result), np.inf, result).as_weak()  # at -inf SciPy has -inf


def _integer(name: str) -> Function:
    """Return a function that rounds to an int."""

    def function(x: Any, /) -> Any:
        if isinstance(x, SymbolicSize) or x.exact is not None or x.dtype.kind in "biu":
            return NotImplemented if getattr(x, "exact", None) is not None else as_int(x)
        return whole(FUNCTIONS[name](as_float(x)))

    return function


def _question(name: str, convert: Function = _number) -> Function:
    """Return a function whose result is a bool."""
    return lambda x: FUNCTIONS[name](convert(x)).as_weak()


def _is_close(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    a, b = _number(a), _number(b)
    largest = FUNCTIONS["maximum"](abs(a), abs(b))
    near = abs(a - b) <= FUNCTIONS["maximum"](rel_tol * largest, abs_tol)
    return (FUNCTIONS["equal"](a, b) | (near & _is_finite(a) & _is_finite(b))).as_weak()


def _length(*coordinates: Any) -> Any:
    """Return the Euclidean length of a vector of numbers."""
    total: Any = functools.reduce(FUNCTIONS["hypot"], map(_number, coordinates), 0.0)
    return total.as_weak()


def _distance(p: Any, q: Any, /) -> Any:
    """Return the distance of two points. Squares of the numbers are as near to 1 as they can be."""
    p, q = FUNCTIONS["asarray"](p, float), FUNCTIONS["asarray"](q, float)
    if p.ndim != 1 or q.ndim != 1:
        return NotImplemented
    difference = p - q
    largest = stop_gradient(FUNCTIONS["max"](abs(difference), initial=0.0))
    scale = FUNCTIONS["where"](_is_finite(largest) & (largest > 0), largest, 1.0)
    return (FUNCTIONS["norm"](difference / scale) * scale).as_weak()


def _common(name: str) -> Function:
    """Return the function of ints that combines them one by one."""

    def function(*integers: Any) -> Any:
        if len(integers) < 2 or any(isinstance(x, SymbolicSize) for x in integers):
            return NotImplemented
        numbers = [as_int(x) if isinstance(x, Traced) and x.dtype.kind in "biu" else x for x in integers]
        return functools.reduce(FUNCTIONS[name], numbers).as_weak()

    return function


def _parts(name: str) -> Function:
    """Return a function that takes a number apart."""

    def function(x: Any, /) -> tuple[Any, ...]:
        return tuple([part if part.dtype.kind == "f" else whole(part) for part in _weak(FUNCTIONS[name](as_float(x)))])

    return function


def _weak(parts: Any) -> list[Any]:
    return [part.as_weak() for part in parts]


_NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh",
}  # fmt: skip
_DOMAINS: dict[str, Function | None] = {
    **dict.fromkeys(["sin", "cos", "tan"], lambda x: abs(x) == np.inf),
    **dict.fromkeys(["log2", "log10"], lambda x: x <= 0),
    **dict.fromkeys(["asin", "acos"], lambda x: abs(x) > 1),
    **dict.fromkeys(["atan", "asinh", "tanh", "atan2", "copysign", "cbrt", "fabs", "degrees", "radians"]),
    "sqrt": lambda x: x < 0,
    "log1p": lambda x: x <= -1,
    "acosh": lambda x: x < 1,
    "atanh": lambda x: abs(x) >= 1,
    "fmod": lambda x, y: _not(_is_nan(x) | _is_nan(y)) & ((abs(x) == np.inf) | _is_zero(y)),
}
_MATH: dict[str, Function] = {
    **{name: _function(_NUMPY_NAMES.get(name, name), domain) for name, domain in _DOMAINS.items()},
    **{name: _function(name, overflows=True) for name in ("exp", "exp2", "expm1", "sinh", "cosh")},
    **{name: _question(name) for name in ("isnan", "isinf", "isfinite")},
    **{name: _integer(name) for name in ("floor", "ceil", "trunc")},
    **{name: _common(name) for name in ("gcd", "lcm")},
    **{name: _parts(name) for name in ("modf", "frexp")},
    "log": _logarithm,
    "pow": _power,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "gamma": _special("gamma", lambda x: _is_pole(x) | FUNCTIONS["equal"](x, -np.inf), overflows=True),
    "lgamma": _log_gamma,
    "isclose": _is_close,
    "hypot": _length,
    "dist": _distance,
    "prod": product,
}
MATH: dict[str, Function] = {name: _of_unknown(function) for name, function in _MATH.items()}


# -- complex numbers -----------------------------------------------------------------------------------------------


def _complex_function(name: str, *, overflows: bool = False) -> Function:
    """Return the function of complex numbers of NumPy's name."""

    def function(z: Any, /) -> Any:
        z = as_complex(z)
        result = FUNCTIONS[name](z)
        no_number = _is_nan(result) & _not(_is_nan(z))
        infinite = FUNCTIONS["isinf"](result) & _is_finite(z)
        _refuse(no_number if overflows else no_number | infinite, _DOMAIN)
        if overflows:
            _refuse(infinite, _RANGE)
        return result.as_weak()

    return function


def _complex_logarithm(z: Any, base: Any = None, /) -> Any:
    log = _complex_function("log")
    if base is None:
        return log(z)
    return (log(z) / log(base)).as_weak()


def _phase(z: Any, /) -> Any:
    return FUNCTIONS["angle"](as_complex(z)).as_weak()


def _polar(z: Any, /) -> tuple[Any, Any]:
    return abs(as_complex(z)), _phase(z)


def _rectangular(r: Any, phi: Any, /) -> Any:
    r, phi = _number(r), _number(phi)
    return as_complex(FUNCTIONS["multiply"](r, FUNCTIONS["cos"](phi)), FUNCTIONS["multiply"](r, FUNCTIONS["sin"](phi)))


_OVERFLOWING = ("exp", "sinh", "cosh", "sin", "cos")
_COMPLEX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log10", "sin", "sinh", "sqrt", "tan",
    "tanh",
)  # fmt: skip
CMATH: dict[str, Function] = {
    **{n: _complex_function(_NUMPY_NAMES.get(n, n), overflows=n in _OVERFLOWING) for n in _COMPLEX},
    **{name: _question(name, as_complex) for name in ("isnan", "isinf", "isfinite")},
    "log": _complex_logarithm,
    "phase": _phase,
    "polar": _polar,
    "rect": _rectangular,
}
