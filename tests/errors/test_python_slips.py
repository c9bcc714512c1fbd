"""Slips of NumPy users in Python and SciPy: each message says what happened and what to write, which then works."""

# ruff: noqa: E501, UP031 (messages are whole; the slips are as users write them)

import array
import cmath
import ctypes
import datetime
import decimal
import fractions
import inspect
import json
import math
import pickle
import re
import statistics
import struct
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.stats

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, errors, jit, value_and_grad, vmap
from anyshape.scipy import integrate, interpolate, linalg, optimize, special, stats

pytestmark = pytest.mark.usefixtures("as_written")

X = np.array([0.5, 1.5, 2.5])
SCALAR = ShapeDtypeStruct((), float)


@dataclass
class Slip:
    """Slip with its message, where `at` is the line; `mended` follows the advice, and `right` is its value."""

    name: str
    made: object
    message: str
    mended: object = None
    right: object = None


def asked(expression, by, value, advice):
    return f"{expression}: {by} needs the value of {value}, which is not known while tracing at HERE\n  {advice}"


def needs(expression, by, advice, value="a traced array f64[]"):
    return asked(expression, by, value, advice)


def stores(make, value):
    def store(x):
        y = make(3)
        y[0] = value(x)
        return y

    return store


def fills(make):
    def fill(x):
        y = make(3, int)
        y.fill((x > 0).sum())
        return y

    return fill


def adds_to_counts(make):
    def add(x):
        y = make(3, int)
        y[0] += (x > 0).sum()
        return y

    return add


def adds(make):
    def add(x):
        y = make(3)
        y += x
        return y

    return add


STORED = "create the array by np.zeros_like(x) or anyshape.numpy: one of NumPy cannot hold traced values"
FLOAT = "compute with the array itself: a Python float would be a constant of every derivative"
CALLBACK = "call it outside the traced function, or through anyshape.pure_callback"
ours = "write from anyshape.scipy import {}, or call it outside the traced function".format
NUMBERS = "compute with the array itself: it has +, *, comparisons and the functions of NumPy"
VECTOR = "a traced array f64[x.shape[0]]"


def outside(name):
    return f"return the array, and call {name} outside the traced function"


SLIPS = [
    Slip("math.sin", lambda x: math.sin(x[0]), needs("math.sin(x[0])", "float()", "write np.sin, which takes traced values"), lambda x: np.sin(x[0]), math.sin(0.5)),
    Slip("math.pow", lambda x: math.pow(x[0], 2), needs("math.pow(x[0], 2)", "float()", "write np.power, which takes traced values"), lambda x: np.power(x[0], 2), 0.25),
    Slip("math.isnan", lambda x: 0.0 if math.isnan(x[0]) else x[0], needs("math.isnan(x[0])", "float()", "write np.isnan, which takes traced values"), lambda x: 0.0 if np.isnan(x[0]) else x[0], 0.5),
    Slip("math.erf", lambda x: math.erf(x[0]), needs("math.erf(x[0])", "float()", "write anyshape.scipy.special.erf, which takes traced values"), lambda x: special.erf(x[0]), math.erf(0.5)),
    Slip("math.fsum", lambda x: math.fsum(x), needs("math.fsum(x)", "float()", "write np.sum, which takes traced values"), np.sum, 4.5),
    Slip("cmath.exp", lambda x: cmath.exp(x[0]), needs("cmath.exp(x[0])", "complex()", "write np.exp, which takes traced values"), lambda x: np.exp(x[0] + 0j), cmath.exp(0.5)),
    Slip("statistics.mean", lambda x: statistics.mean(x), needs("statistics.mean(x)", "statistics.mean", "write np.mean(x)", "a traced array"), lambda x: np.mean(x), 1.5),
    Slip("statistics.stdev", lambda x: statistics.stdev(x), needs("statistics.stdev(x)", "statistics.stdev", "write np.std(x, ddof=1)", "a traced array"), lambda x: np.std(x, ddof=1), 1.0),
    Slip("float", lambda x: float(x[0]), needs("float(x[0])", "float()", FLOAT), lambda x: x[0], 0.5),
    Slip("complex", lambda x: complex(x[0]), needs("complex(x[0])", "complex()", "write x + 0j"), lambda x: x[0] + 0j, 0.5 + 0j),
    Slip("int beyond int64", lambda x: int(x[0] * 1e30), needs("int(x[0] * 1e+30)", "int()", "keep the float, as in np.floor(x): integers of a program have 64 bits"), lambda x: np.floor(x[0] * 1e30), 5e29),
    Slip("item", lambda x: x[0].item(), needs("x[0].item()", "item()", FLOAT), lambda x: x[0], 0.5),
    Slip("tolist", lambda x: x.tolist(), needs("x.tolist()", "tolist()", "return the array, and convert it outside the traced function", VECTOR), lambda x: x, X),
    Slip("tobytes", lambda x: x.tobytes(), needs("x.tobytes()", "tobytes()", "return the array, and convert it outside the traced function", VECTOR), lambda x: x, X),
    Slip("percent format", lambda x: ("%f" % x[0], x), needs("'%f' % x[0]", "float()", "return the array, and format it outside the traced function"), lambda x: (f"{x[0]}", x)[1], X),
    Slip("np.asarray", lambda x: np.asarray(x, dtype=np.float32), needs("np.asarray(x, dtype=np.float32)", "a NumPy array", "write import anyshape.numpy as np, whose asarray takes traced values", VECTOR), lambda x: anp.asarray(x, dtype=np.float32), np.float32(X)),
    Slip("np.array of a list", lambda x: np.array([x[0], 1.0]), needs("np.array([x[0], 1.0])", "a NumPy array", "write import anyshape.numpy as np, whose array takes traced values"), lambda x: anp.array([x[0], 1.0]), [0.5, 1.0]),
    Slip("np.float32", lambda x: np.float32(x[0]), needs("np.float32(x[0])", "a NumPy array", "write x.astype(np.float32)"), lambda x: x[0].astype(np.float32), np.float32(0.5)),
    Slip("stored float", stores(np.zeros, lambda x: x[1]), needs("y[0] = ...", "float()", STORED), stores(anp.zeros, lambda x: x[1]), [1.5, 0, 0]),
    Slip("stored in integers", stores(lambda n: np.zeros(n, int), lambda x: x[1]), needs("y[0] = ...", "int()", STORED), stores(lambda n: anp.zeros(n, int), lambda x: x[1]), [1, 0, 0]),
    Slip("stored count", stores(lambda n: np.zeros(n, int), lambda x: (x > 0).sum()), needs("y[0] = ...", "int()", STORED, "a traced array i64[]"), stores(lambda n: anp.zeros(n, int), lambda x: (x > 0).sum()), [3, 0, 0]),
    Slip("stored bool", stores(lambda n: np.zeros(n, bool), lambda x: x[0] > 0), needs("y[0] = ...", "bool()", STORED, "a traced array bool[]"), stores(lambda n: anp.zeros(n, bool), lambda x: x[0] > 0), [True, False, False]),
    Slip("added to a count", adds_to_counts(np.zeros), needs("y[0] = ...", "int()", STORED, "a traced array i64[]"), adds_to_counts(anp.zeros), [3, 0, 0]),
    Slip("added in place", adds(np.zeros), "y += x: an array of NumPy cannot hold traced values at HERE\n  create the array by np.zeros_like(x) or anyshape.numpy", adds(anp.zeros), X),
    Slip("fill", fills(np.zeros), needs("y.fill((x > 0).sum())", "int()", "write import anyshape.numpy as np, whose arrays take traced values", "a traced array i64[]"), fills(anp.zeros), [3, 3, 3]),
    Slip("struct.pack", lambda x: struct.pack("d", x[0]), needs("struct.pack('d', x[0])", "float()", outside("struct.pack")), lambda x: x[0], 0.5),
    Slip("memoryview", lambda x: memoryview(x), needs("memoryview(x)", "memoryview", outside("memoryview"), "a traced array"), lambda x: x, X),
    Slip("bytes", lambda x: bytes(x), needs("bytes(x)", "a Python int", outside("bytes")), lambda x: x, X),
    Slip("np.frombuffer", lambda x: np.frombuffer(x), needs("np.frombuffer(x)", "np.frombuffer", outside("np.frombuffer"), "a traced array"), lambda x: x, X),
    Slip("array.array", lambda x: array.array("d", x), needs("array.array('d', x)", "float()", outside("array.array")), lambda x: x, X),
    Slip("ctypes", lambda x: ctypes.c_double(x[0]), needs("ctypes.c_double(x[0])", "float()", outside("ctypes.c_double")), lambda x: x[0], 0.5),
    Slip("json", lambda x: json.dumps({"a": x[0]}), needs("json.dumps({'a': x[0]})", "json.dumps", outside("json.dumps"), "a traced array"), lambda x: {"a": x[0]}, {"a": 0.5}),
    Slip("pickle", lambda x: pickle.dumps(x), needs("pickle.dumps(x)", "pickling", outside("pickle.dumps"), VECTOR), lambda x: x, X),
    Slip("Decimal", lambda x: decimal.Decimal(x[0]) * 2, needs("decimal.Decimal(x[0])", "decimal.Decimal", NUMBERS, "a traced array"), lambda x: x[0] * 2, 1.0),
    Slip("Fraction", lambda x: fractions.Fraction(x[0]) * 2, needs("fractions.Fraction(x[0])", "fractions.Fraction", NUMBERS, "a traced array"), lambda x: x[0] * 2, 1.0),
    Slip("timedelta", lambda x: datetime.timedelta(seconds=x[0]), needs("datetime.timedelta(seconds=x[0])", "datetime.timedelta", CALLBACK, "a traced array"), lambda x: x[0], 0.5),
    Slip("join", lambda x: ",".join(x), needs("','.join(x)", "','.join", CALLBACK, "a traced array"), lambda x: x, X),
    Slip("np.nditer", lambda x: [v * 2 for v in np.nditer(x)], needs("np.nditer(x)", "a NumPy array", "write it with array operations, or for v in x.ravel()", VECTOR), lambda x: [v * 2 for v in x.ravel()], [1.0, 3.0, 5.0]),
    Slip("np.ndenumerate", lambda x: [v * i[0] for i, v in np.ndenumerate(x)], needs("np.ndenumerate(x)", "a NumPy array", "write it with array operations, or for i, v in enumerate(x)", VECTOR), lambda x: [v * i for i, v in enumerate(x)], [0.0, 1.5, 5.0]),
    Slip("brentq", lambda x: scipy.optimize.brentq(lambda t: t - x[0], 0, 5), needs("scipy.optimize.brentq(lambda t: t - x[0], 0, 5)", "float()", ours("optimize")), lambda x: optimize.brentq(lambda t: t - x[0], 0, 5), 0.5),
    Slip("quad", lambda x: scipy.integrate.quad(lambda t: t * x[0], 0, 1)[0], needs("scipy.integrate.quad(lambda t: t * x[0], 0, 1)", "float()", ours("integrate")), lambda x: integrate.quad(lambda t: t * x[0], 0, 1)[0], 0.25),
    Slip("fsolve", lambda x: scipy.optimize.fsolve(lambda t: t - x[0], 0.0), needs("scipy.optimize.fsolve(lambda t: t - x[0], 0.0)", "a NumPy array", ours("optimize"), "a traced array"), lambda x: optimize.fsolve(lambda t: t - x[0], 0.0)[0], 0.5),
    Slip("interp1d", lambda x: scipy.interpolate.interp1d([0, 1, 2], x)(0.5), needs("scipy.interpolate.interp1d([0, 1, 2], x)", "a NumPy array", ours("interpolate"), VECTOR), lambda x: interpolate.interp1d([0, 1, 2], x)(0.5), 1.0),
    Slip("csr_matrix", lambda x: scipy.sparse.csr_matrix(x), needs("scipy.sparse.csr_matrix(x)", "a NumPy array", CALLBACK, VECTOR)),
    Slip("stats.norm", lambda x: scipy.stats.norm.pdf(x), needs("scipy.stats.norm.pdf(x)", "a NumPy array", "write from anyshape.scipy import stats, or call it outside the traced function", VECTOR), lambda x: stats.norm.pdf(x), scipy.stats.norm.pdf(X)),
    Slip("linalg.expm", lambda x: scipy.linalg.expm(x[:, None] * x), needs("scipy.linalg.expm(x[:, None] * x)", "a NumPy array", "write from anyshape.scipy import linalg, or call it outside the traced function", "a traced array f64[x.shape[0], x.shape[0]]"), lambda x: linalg.expm(x[:, None] * x), scipy.linalg.expm(np.outer(X, X))),
    Slip("np.vectorize", lambda x: np.vectorize(lambda v: v * 2)(x), needs("np.vectorize(lambda v: v * 2)(x)", "a NumPy array", "write import anyshape.numpy as np, whose vectorize takes traced values", VECTOR), lambda x: anp.vectorize(lambda v: v * 2)(x), 2 * X),
    Slip("Polynomial", lambda x: np.polynomial.Polynomial(x)(2.0), needs("np.polynomial.Polynomial(x)", "a NumPy array", "write import anyshape.numpy as np, whose polynomial takes traced values", VECTOR), lambda x: anp.polynomial.Polynomial(x)(2.0), 13.5),
    Slip("in a set", lambda x: x if x[0] in {0.5, 2.0} else -x, "x[0] in {0.5, 2.0}: a traced array f64[] is not a key of a dict or a set, as its hash is that of its value, which is not known while tracing at HERE\n  write the values as a list, as in x in [1, 2]", lambda x: x if x[0] in [0.5, 2.0] else -x, X),
]  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.name)
def test_a_slip_is_named_and_its_advice_works(slip):
    with pytest.raises(errors.AnyshapeError) as caught:
        jit(slip.made)(X)
    assert re.sub(r"test_python_slips\.py:\d+", "HERE", str(caught.value)) == slip.message
    if slip.mended is not None:
        result = jit(slip.mended)(X)
        pairs = (
            zip(result.values(), slip.right.values(), strict=True)
            if isinstance(result, dict)
            else [(result, slip.right)]
        )
        for value, right in pairs:
            np.testing.assert_allclose(value, right, rtol=1e-12)


def test_arrays_of_the_user_keep_their_elements():
    for dtype in (float, int, bool, complex):
        y = np.zeros(3, dtype)

        def store(x, y=y):
            y[1] = x[0] > 0 if y.dtype == bool else x[0] * 3
            return x

        with pytest.raises(errors.ConcretizationError, match="one of NumPy cannot hold traced values"):
            jit(store)(X)
        assert not y.any()


def test_a_list_takes_traced_values_at_traced_positions():
    def store(x):
        values, counts = [0.0, 0.0, 0.0], {}
        values[np.argmax(x)] = x[0]
        counts["first"] = x[1]
        return values, counts

    values, counts = jit(store)(X)
    assert values == [0.0, 0.0, 0.5] and counts == {"first": 1.5}


def test_a_refusal_that_the_function_hides_is_raised():
    """NumPy raises nothing there, so the program would be that of another path."""

    def careful(x):
        try:
            return x * float(x[0])
        except TypeError:
            return x * 7

    with pytest.raises(errors.ConcretizationError, match=r"float\(x\[0\]\)"):
        jit(careful)(X)


def test_exceptions_of_the_user_stay_as_they_are():
    def raises(x):
        raise ValueError(f"no convergence of {x}")

    def calls(x):
        return json.loads("[") or x

    for function, kind in ((raises, ValueError), (lambda x: int("three") * x, ValueError)):
        with pytest.raises(kind) as caught:
            jit(function)(X)
        assert not isinstance(caught.value, errors.AnyshapeError)
    with pytest.raises(json.JSONDecodeError):
        jit(calls)(X)


MATH = [name for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_")]
TWO = {"atan2", "pow", "fmod", "copysign", "remainder", "hypot", "nextafter", "isclose"}
INTEGERS = {"comb", "perm", "gcd", "lcm", "factorial", "isqrt", "ldexp"}
OTHER = {"dist", "fsum", "prod", "sumprod", "fma", "frexp", "modf", "log", "trunc", "floor", "ceil", "isqrt"}


@pytest.mark.parametrize("name", sorted(set(MATH) - INTEGERS - OTHER))
def test_each_function_of_math_has_a_counterpart(name):
    function, arguments = getattr(math, name), (2.0,) if name in TWO else ()
    shift = 1.0 if name == "acosh" else 0.0
    with pytest.raises(errors.ConcretizationError) as caught:
        jit(lambda x: function(x[0] + shift, *arguments))(X)
    text = str(caught.value).partition("\n  write ")[2].partition(", which")[0]
    if "(" in text:
        counterpart = eval(f"lambda x, y: {text}", {"np": np})
    else:
        counterpart = eval(text, {"np": np, "anyshape": anyshape})
    result = jit(lambda x: counterpart(x[0] + shift, *arguments))(X)
    np.testing.assert_allclose(result, function(0.5 + shift, *arguments), rtol=1e-12)


@pytest.mark.parametrize("name", ["acos", "cosh", "exp", "log10", "phase", "sqrt", "isfinite"])
def test_each_function_of_cmath_has_a_counterpart(name):
    function = getattr(cmath, name)
    with pytest.raises(errors.ConcretizationError) as caught:
        jit(lambda x: function(x[0] * 1j))(X)
    counterpart = eval(str(caught.value).partition("\n  write ")[2].partition(", which")[0], {"np": np})
    np.testing.assert_allclose(jit(lambda x: counterpart(x[0] * 1j))(X), function(0.5j), rtol=1e-12)


def test_integer_functions_of_math_decide():
    for name in ("comb", "perm", "gcd", "factorial"):
        function, more = getattr(math, name), () if name == "factorial" else (2,)
        assert jit(lambda k, function=function, more=more: k * function(k, *more))(6) == 6 * function(6, *more)
    assert inspect.isbuiltin(math.gcd)


def test_a_format_takes_what_sizes_decide_and_plain_texts():
    texts = []

    def describe(x):
        texts.extend((f"{np.asarray(x.shape[0]) / 4:.2f}", f"{x}", f"{x.sum()}"))
        return x

    jit(describe)(np.ones(3))
    assert texts[0] == "0.75" and texts[1].startswith("Array<f64[") and texts[2].startswith("Array<f64[]")


def test_a_text_is_repeated_by_a_traced_integer_and_foreign_classes_take_arrays():
    class Unit:
        __array_ufunc__ = None  # as NumPy asks of such classes

        def __radd__(self, other):
            return other * 2

    assert jit(lambda x, n: x * len("ab" * n))(1.5, 2) == 6.0
    assert jit(lambda x: x + Unit())(1.5) == 3.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: f"x = {x}",
        lambda x: {"note": "max %s" % x.max(), "y": x},
        lambda x: ",".join(str(v) for v in x),
        lambda x: vmap(repr)(x),
        lambda x: value_and_grad(lambda x: (x.sum(), str(x > 0)), has_aux=True)(x),
    ],
)
def test_a_text_of_a_traced_array_is_not_a_result(function):
    with pytest.raises(errors.ArgumentError, match=r"holds the text of a traced array, Array<") as caught:
        jit(function)(np.ones(3))
    assert str(caught.value).endswith("return the array, and format it outside the traced function")
    assert jit(lambda x: (x, f"Array<{x.dtype}>"))(np.ones(3))[1] == "Array<float64>"


def test_a_print_of_a_program_takes_arrays_behind_its_format():
    with pytest.raises(errors.ArgumentError, match=r"debug.print.*text of a traced array, Array<f64.*\n  write \"{}\""):
        jit(lambda x: anyshape.debug.print(f"x = {x}"))(np.ones(3))
