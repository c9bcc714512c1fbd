"""Functions of Python, `math`, NumPy and SciPy in a trace: each row against the plain function."""

import functools
import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import anyshape
from anyshape import errors
from anyshape.tracing.source.meanings import meaning
from tests.as_users import as_users_run_programs as as_users_run_programs


def plain(function):
    return function


def outcome(call, *args):
    """The result of a call, or its error."""
    try:
        with np.errstate(all="ignore"):
            return call(*args)
    except (ValueError, TypeError, ArithmeticError) as error:
        return error


def require_same(observed, expected, operands):
    """Same dtypes and values; an error of the program is one of the plain class, with its message."""
    if isinstance(expected, int) and abs(expected) >= 2**63:
        expected = OverflowError("too large")
    if isinstance(expected, Exception):
        assert isinstance(observed, type(expected)), (operands, observed)
        assert str(expected) in str(observed) or isinstance(observed, errors.SizeMismatchError)
        return
    assert not isinstance(observed, Exception), (operands, observed)
    if isinstance(expected, (tuple, list)):
        assert type(observed) is type(expected) and len(observed) == len(expected)
        for x, y in zip(observed, expected, strict=True):
            require_same(x, y, operands)
        return
    observed, expected = np.asarray(observed), np.asarray(expected)
    assert observed.dtype == expected.dtype, operands
    np.testing.assert_allclose(observed, expected, rtol=1e-14, atol=0, strict=True, err_msg=str(operands))


VECTORS = [np.array(v) for v in ([], [1.5], [2.5, -1.0], [0.3, 4.0, 4.0, -2.0, 1.0])]
NUMBERS = [2.5, -1.5, 0.5, 3.5, 0.0, -0.0, 1.0, -2.0, 1e300, math.nan, math.inf, -math.inf]
PAIRS = [(a, b) for a in (2.5, -1.5, 0.0, math.nan, math.inf) for b in (1.0, 2.5, -0.0, math.nan, -math.inf)]

MATH = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2",
    "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "fabs", "degrees", "radians", "isnan", "isinf",
    "isfinite", "floor", "ceil", "trunc", "erf", "erfc", "gamma", "lgamma",
]  # fmt: skip

# a function of `M`, which gives the meaning of what is called, and of operands: each serves them all in one trace
OF_NUMBERS = {
    "float": lambda M, x: M(float)(x) * np.float32(2),
    "float of int": lambda M, x: M(float)(np.int32(3) + 0 * x),
    "int": lambda M, x: M(int)(x),
    "round": lambda M, x: M(round)(x),
    "complex": lambda M, x: M(complex)(x),
    "complex of two": lambda M, x: M(complex)(x, 2),
    "max": lambda M, x: M(max)(x, 1.0),
    "max of three": lambda M, x: M(max)(1.0, x, 2.5),
    "max of a list": lambda M, x: M(max)([x, 2 * x]),
    "min": lambda M, x: M(min)(x, 1.0),
    "min of a list": lambda M, x: M(min)((x, x + 1.0)),
    "sum of a list": lambda M, x: M(sum)([x, 2.0, x]),
    "any": lambda M, x: M(any)([x > 1, x < -1]),
    "all": lambda M, x: M(all)((x > 1, True, x)),
    "float64": lambda M, x: M(np.float64)(x),
    "float32 of a list": lambda M, x: M(np.float32)([x, 1]),
    "array": lambda M, x: M(np.array)([x, 1.0, 2 * x]),
    "add of a list": lambda M, x: M(np.add)([x, 1.0], 2),
    "add.reduce of a list": lambda M, x: M(np.add.reduce)([x, 1.0]),
    "full": lambda M, x: M(np.full)(3, x),
    "log base 2": lambda M, x: M(math.log)(x, 2),
    "hypot": lambda M, x: M(math.hypot)(x, 3.0),
    "hypot of three": lambda M, x: M(math.hypot)(x, 3.0, 1),
    "isclose": lambda M, x: M(math.isclose)(x, x + 1e-12),
    "modf": lambda M, x: M(math.modf)(x),
    "frexp": lambda M, x: M(math.frexp)(x),
    "dist": lambda M, x: M(math.dist)([x, 1.0], [0.0, 2 * x]),
    "fmod": lambda M, x: M(math.fmod)(x, 2.0),
    "item": lambda M, x: M(np.float32(x).item)() if M is plain else M(M(np.float32)(x).item)(),
    "erf": lambda M, x: M(scipy.special.erf)(x),
    **{name: lambda M, x, name=name: M(getattr(math, name))(x) for name in MATH},
}
OF_PAIRS = {
    "max": lambda M, x, y: M(max)(x, y),
    "min": lambda M, x, y: M(min)(x, y),
    "pow": lambda M, x, y: M(math.pow)(x, y),
    "atan2": lambda M, x, y: M(math.atan2)(x, y),
    "copysign": lambda M, x, y: M(math.copysign)(x, y),
    "fmod": lambda M, x, y: M(math.fmod)(x, y),
    "log": lambda M, x, y: M(math.log)(x, y),
    "isclose": lambda M, x, y: M(math.isclose)(x, y, rel_tol=0.5),
}
OF_VECTORS = {
    "len": lambda M, x: x.sum() / M(len)(x),
    "float of len": lambda M, x: x.sum() / M(float)(M(len)(x)),
    "float of a shape": lambda M, x: x * M(float)(x.shape[0]),
    "zeros of len": lambda M, x: M(np.zeros)(M(len)(x)),
    "zeros of a tuple": lambda M, x: M(np.zeros)((M(len)(x), 3), dtype=int),
    "max of a size": lambda M, x: M(np.zeros)(M(max)(x.shape[0], 1)),
    "min of a size": lambda M, x: M(np.ones)(M(min)(M(len)(x), 2)),
    "max of a shape": lambda M, x: M(np.ones)(M(max)(x.shape)),
    "half of len": lambda M, x: x[: M(int)(M(len)(x) / 2)],
    "floor": lambda M, x: x[: M(math.floor)(M(len)(x) / 2)],
    "int of float of len": lambda M, x: x * M(int)(M(float)(M(len)(x))),
    "max": lambda M, x: M(max)(x),
    "min": lambda M, x: M(min)(x),
    "sum from": lambda M, x: M(sum)(x, 1.0),
    "prod from": lambda M, x: M(math.prod)(x, start=2.0),
    "any": lambda M, x: M(any)(x > 2),
    "all": lambda M, x: M(all)(x > 0),
    "arange": lambda M, x: M(np.arange)(M(len)(x)) * 2,
    "linspace": lambda M, x: M(np.linspace)(0, 1, M(len)(x)),
    "eye": lambda M, x: M(np.eye)(M(len)(x)) @ x,
    "stack": lambda M, x: M(np.stack)([x, 2 * x]),
    "concatenate": lambda M, x: M(np.concatenate)([x, M(np.ones)(2)]),
    "logsumexp": lambda M, x: M(scipy.special.logsumexp)(M(np.append)(x, 0.0)),
    "ndim": lambda M, x: M(np.ndim)(x) + M(np.size)(x),
    "isinstance": lambda M, x: M(isinstance)(x, np.ndarray),
}


def require_equal_outcomes(row, operands):
    program = anyshape.jit(functools.partial(row, meaning))
    for args in operands:
        require_same(outcome(program, *args), outcome(row, plain, *args), args)
    assert program.cache_info().traces <= 1


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_of_a_number(name):
    require_equal_outcomes(OF_NUMBERS[name], [(x,) for x in NUMBERS])


@pytest.mark.parametrize("name", OF_PAIRS)
def test_of_two_numbers(name):
    require_equal_outcomes(OF_PAIRS[name], PAIRS)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_a_vector(name):
    require_equal_outcomes(OF_VECTORS[name], [(x,) for x in VECTORS])
