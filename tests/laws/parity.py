"""Run an expression eagerly and as a program, and say how they differ."""

import copy
import math
import operator
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.special

import anyshape
from anyshape import AnyshapeError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (0,), (1,), (3,), (2, 0), (2, 3))
FILLINGS = ("plain", "zeros", "special")
ROUNDING = {2: 5e-3, 4: 2e-5, 8: 1e-9}
NAMES = {"np": np, "sc": scipy.special, "copy": copy, "math": math, "operator": operator}

_VALUES = {
    "plain": [1.5, -2.0, 0.75, 3.0, -0.5, 2.0],
    "zeros": [-0.0, 0.0, -0.0, 1.0, 0.0, -1.0],
    "special": [np.nan, -0.0, np.inf, -np.inf, 0.0, 2.0],
}
_COUNTS = {"plain": [1, 2, 0, 3, 1, 2], "zeros": [0, 1, 0, 0, 1, 0], "special": None}


def array(dtype, shape, filling, offset):
    """An array whose elements are ordinary, signed zeros, or special: NaN and infinities, or the ends of integers."""
    dtype, size = np.dtype(dtype), math.prod(shape)
    if dtype.kind == "b":
        pool = [True, False, True, True, False]
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        pool = _COUNTS[filling] or [info.max, info.min, 1, 0, info.max - 1]
    elif dtype.kind == "c":
        real, imag = _VALUES[filling], [0.5, -0.0, 0.0, np.inf, 1.0] if filling == "special" else [0.5, -1.0, 0.0, -0.0]
        pool = [complex(a, imag[k % len(imag)]) for k, a in enumerate(real)]
    else:
        pool = _VALUES[filling]
    return np.array([pool[(k + offset) % len(pool)] for k in range(size)], dtype).reshape(shape)


def environment(dtype, shape, filling):
    """The arrays that expressions read."""
    mask = np.array([k % 3 != 1 for k in range(math.prod(shape))], bool).reshape(shape)
    index = np.array([(-1) ** k * (k % 2) for k in range(2)])
    return {"x": array(dtype, shape, filling, 0), "y": array(dtype, shape, filling, 1), "m": mask, "i": index}


@dataclass
class Outcome:
    """The flat results of an expression, or its error."""

    results: list
    structure: object = None
    error: Exception | None = None


def flat(result, leaves):
    """The nesting of a result; its leaves are added to a list."""
    if isinstance(result, (tuple, list)):
        kind = list if isinstance(result, list) else tuple
        return kind, tuple([flat(r, leaves) for r in result])
    if isinstance(result, dict):
        return dict, tuple([flat(r, leaves) for r in result.values()])
    leaves.append(result)
    return None


_DATA = (int, float, complex, np.ndarray, np.generic, Traced, SymbolicSize)  # what a program may return
_NUMBER = object()  # stands for a number among the objects of a result


def evaluated(code, arrays, transform):
    """The outcome of an expression over arrays, run by `transform(function)`; what is not a number stays an object."""
    side = {}

    def function(*values):
        leaves = []
        side["structure"] = flat(eval(code, {**NAMES, **dict(zip(arrays, values, strict=True))}), leaves)
        side["objects"] = [_NUMBER if isinstance(x, _DATA) else x for x in leaves]
        return [x for x in leaves if isinstance(x, _DATA)]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            numbers = iter(transform(function)(*[v.copy() for v in arrays.values()]))
            results = [np.asarray(next(numbers)) if o is _NUMBER else o for o in side["objects"]]
        except Exception as error:
            return Outcome([], error=error)
    return Outcome(results, side["structure"])


KINDS = (IndexError, ZeroDivisionError, OverflowError, ValueError, TypeError, AttributeError, StopIteration)


def error_kinds(error):
    """The built-in classes of an error that a caller may catch."""
    return tuple(k for k in KINDS if isinstance(error, k)) or (type(error),)


def difference(expected, got):
    """How a program's outcome differs from NumPy's, or None."""
    if expected.error is not None:
        return _unlike_error(expected.error, got)
    if got.error is not None:
        ours = "refused" if isinstance(got.error, AnyshapeError) else "refused, not ours"
        message = (str(got.error).splitlines() or [""])[0]
        return f"{ours}: {type(got.error).__name__}: {message:.110}; NumPy gives {shown(expected)}"
    if expected.structure != got.structure:
        return f"structure: {got.structure}, NumPy {expected.structure}"
    pairs = zip(expected.results, got.results, strict=True)
    return next((problem for e, g in pairs if (problem := unequal(e, g))), None)


def _unlike_error(error, got):
    """How an outcome differs from an error of NumPy: a program raises one of its own, of the same built-in class."""
    if got.error is None:
        return f"accepted: NumPy raises {type(error).__name__}: {error!s:.70}; got {shown(got)}"
    if not isinstance(got.error, (AnyshapeError, type(error))):
        return f"error not ours: {got.error!r:.110}, NumPy {error!r:.80}"
    if not isinstance(got.error, error_kinds(error)):
        return f"error class: {type(got.error).__name__}: {str(got.error)[:60]!r}, NumPy {error!r:.90}"
    return None


def shown(outcome):
    text = " ".join(
        f"{r.dtype}{r.shape}={r.tolist()}" if isinstance(r, np.ndarray) else repr(r) for r in outcome.results
    )
    return text[:100]


def unequal(e, g):
    """How one result differs: dtype, shape, NaNs, infinities, signs of zeros, or values beyond rounding."""
    if not (isinstance(e, np.ndarray) and isinstance(g, np.ndarray)):
        same = e is g or (type(e) is type(g) and (e == g) is True)
        return None if same else f"object: {g!r:.60}, NumPy {e!r:.60}"
    if e.dtype != g.dtype:
        return f"dtype: {g.dtype}, NumPy {e.dtype}"
    if e.shape != g.shape:
        return f"shape: {g.shape}, NumPy {e.shape}"
    problem = _unequal_values(e, g)
    return problem and f"{problem}: {g.tolist()}, NumPy {e.tolist()}"


def _unequal_values(e, g):
    """Return what differs between the values of two arrays of one dtype and shape."""
    if e.dtype.kind == "c":
        return _unequal_values(e.real, g.real) or _unequal_values(e.imag, g.imag)
    if e.dtype.kind != "f":
        return None if np.array_equal(e, g) else "value"
    finite = np.isfinite(e)
    if not np.array_equal(e[~finite], g[~finite], equal_nan=True) or not np.isfinite(g[finite]).all():
        return "special"
    a, b = np.asarray(e[finite], float), np.asarray(g[finite], float)
    zeros = (a == 0) & (b == 0)
    if not np.array_equal(np.signbit(a[zeros]), np.signbit(b[zeros])):
        return "sign of zero"
    scale = max(1.0, float(np.abs(a).max(initial=0)))
    return None if np.all(np.abs(a - b) <= ROUNDING[e.dtype.itemsize] * scale) else "value"


def compare(expression, dtype, shape, filling):
    """How `jit` of an expression differs from NumPy at one dtype, shape and filling, or None."""
    code = compile(expression, "<expression>", "eval")
    values = environment(dtype, shape, filling)
    arrays = {k: v for k, v in values.items() if k in code.co_names or k == "x"}
    expected = evaluated(code, arrays, lambda f: f)
    return difference(expected, evaluated(code, arrays, anyshape.jit))
