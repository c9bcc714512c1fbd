"""Functions of Python, `math`, NumPy and SciPy in a trace: each row against the plain function."""

import cmath
import functools
import itertools
import math
import operator

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
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


# -- derivatives and batches ---------------------------------------------------------------------------------------

# rows whose results move with the operand, at points without kinks
SMOOTH = [
    *["max", "max of three", "max of a list", "min", "min of a list", "sum of a list", "float64", "array"],
    *["full", "log base 2", "hypot", "hypot of three", "dist", "fmod", "add of a list", "erf"],
    *[n for n in MATH if n not in ("isnan", "isinf", "isfinite", "acosh")],
]
WITH_SLOPES = ["len", "float of len", "float of a shape", "half of len", "max", "min", "sum from", "prod from", "stack"]


@pytest.mark.parametrize("name", SMOOTH)
def test_the_slope_is_that_of_the_number(name):
    def weighted(x):
        result = anyshape.numpy.asarray(OF_NUMBERS[name](meaning, x))
        return (anyshape.numpy.arange(1.0, 1 + result.size) * result.ravel()).sum() if result.ndim else result * 1.0

    for x in (0.3, 0.7):
        step = 1e-6
        expected = (weighted(x + step) - weighted(x - step)) / (2 * step)
        np.testing.assert_allclose(anyshape.grad(weighted)(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", WITH_SLOPES)
def test_the_slope_is_that_of_the_elements(name):
    def weighted(x):
        result = OF_VECTORS[name](meaning, x)
        return (np.cos(result) * result).sum()

    slope = anyshape.grad(weighted)
    for x in VECTORS[1:]:
        x = x + 0.1 * np.arange(len(x))
        steps = 1e-6 * np.eye(len(x))
        expected = [(weighted(x + d) - weighted(x - d)) / 2e-6 for d in steps]
        np.testing.assert_allclose(slope(x), expected, rtol=1e-6, atol=1e-6)
    assert slope.cache_info().traces == 1


@pytest.mark.parametrize("name", [*OF_NUMBERS])
def test_a_batch_of_numbers(name):
    xs = np.array([0.3, 0.7, 0.9]) if name != "acosh" else np.array([1.5, 2.0, 2.5])
    row = functools.partial(OF_NUMBERS[name], meaning)
    results = anyshape.tree_leaves(anyshape.vmap(row)(xs))
    expected = [anyshape.tree_leaves(OF_NUMBERS[name](plain, x)) for x in xs.tolist()]
    for result, column in zip(results, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(result, np.array(column), rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in OF_VECTORS if n not in ("isinstance", "zeros of len", "zeros of a tuple")])
def test_a_batch_of_vectors(name):
    xs = np.array([[2.0, 1.0, 3.0], [1.0, 1.0, -2.0]])
    result = anyshape.vmap(functools.partial(OF_VECTORS[name], meaning), out_axes=0)(xs)
    np.testing.assert_allclose(result, [OF_VECTORS[name](plain, x) for x in xs], rtol=1e-14)


OPERATORS = [operator.truediv, operator.floordiv, operator.mod, divmod, operator.pow]
OF_PYTHON = [2.5, -2.0, 0.0, -0.0, 1, -3, 0, 400.0, 1e200, math.nan, math.inf, -math.inf]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda f: f.__name__)
def test_an_operator_raises_where_pythons_own_does(operate):
    """NumPy's operators give inf or nan there, with a warning."""
    jitted = anyshape.jit(lambda a, b: operate(a, b))
    for a, b in itertools.product(OF_PYTHON, repeat=2):
        expected, observed = outcome(operate, a, b), outcome(jitted, a, b)
        if isinstance(a, int) and isinstance(b, int) and operate is operator.pow and b < 0:
            continue  # a float for Python, by the value of the int
        if isinstance(expected, complex):
            expected = ValueError("complex in Python")
        elif isinstance(expected, OverflowError):
            expected = OverflowError("Numerical result out of range")
        require_same(observed, expected, (a, b))


def test_an_error_of_python_can_be_caught_in_the_program():
    def shares(x):
        values = []
        for part in x[:3].tolist():
            try:
                values.append(1 / part + math.log(part) + int(part))
            except ZeroDivisionError:
                values.append(-1.0)
            except ValueError:
                values.append(-2.0)
        return np.array(values)

    jitted = anyshape.jit(shares)
    for x in ([1.0, 0.0, -2.0], [0.0, math.nan, 2.0], [3.0, 4.0, 5.0]):
        np.testing.assert_array_equal(jitted(np.array(x)), shares(np.array(x)), strict=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("read_source", ["auto", "off"])
def test_a_rounded_number_is_an_int(read_source):
    jitted = anyshape.jit(lambda x: round(x[0]), read_source=read_source)
    for value in (2.5, -3.5, 7.2, math.nan, math.inf):
        require_same(outcome(jitted, np.array([value])), outcome(round, np.float64(value)), value)


WRITES = {
    "an element": lambda x, out: out.__setitem__(0, x[0] / x[1]),
    "an element at a position": lambda x, out: out.__setitem__(int(x[2]), x[0] / x[1]),
    "a slice": lambda x, out: out.__setitem__(slice(1, None), x[0] / x[1]),
    "elements by positions": lambda x, out: out.__setitem__([0, 1], x[0] / x[1]),
    "an array": lambda x, out: out.__setitem__(slice(2), x[:2] / x[1]),
    "an integer": lambda x, out: out.__setitem__(0, x.astype(int)[0] * 100),
    "an array in an element": lambda x, out: out.__setitem__(0, x[:1]),
    "an element of two axes": lambda x, out: out.reshape(1, 3).__setitem__((0, 1), x[:1]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["int64", "int8"])
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_to_integers_is_refused_as_by_numpy(name, dtype):
    def written(x):
        out = np.zeros(3, dtype)
        WRITES[name](x, out)
        return out

    jitted = anyshape.jit(written)
    for x in ([4.5, 1.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 1.0], [1e30, 1.0, 0.0], [300.0, 1.0, 0.0]):
        x = np.array(x)
        with np.errstate(all="ignore"):
            want, got = outcome(written, x), outcome(jitted, x)
        require_same(got, want, x)


TEXTS = [
    lambda x: f"{len(x)} {x.shape} {len(x):>4} {[len(x)]!r}",
    lambda x: str(len(x)) + repr(x.shape),
    lambda x: "%d of %s" % (len(x), x.shape),  # noqa: UP031
    lambda x: "{} {n!s:>3}".format(x.shape, n=len(x)),  # noqa: UP032
    lambda x: "".join([f"w{len(x)}" for _ in x]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_a_size_has_its_number(text):
    jitted = anyshape.jit(lambda x: {text(x): x})
    for n in (1, 20):
        assert [*jitted(np.ones(n))] == [text(np.ones(n))]


def test_the_slope_of_a_conversion():
    assert anyshape.grad(lambda x: OF_NUMBERS["float"](meaning, x))(0.3) == 2.0
    assert anyshape.grad(lambda x: OF_NUMBERS["item"](meaning, x))(0.3) == 1.0
    assert anyshape.grad(lambda x: x * meaning(round)(2.6 * x))(1.0) == 3.0
    assert anyshape.grad(lambda x: x * meaning(int)(2.6 * x))(1.0) == 2.0
    assert anyshape.grad(lambda x: meaning(complex)(x, 3 * x).imag)(1.0) == 3.0


def test_the_slope_of_an_extreme_goes_to_the_first_of_equal_numbers():
    assert anyshape.grad(lambda x, y: meaning(max)(x, y), argnums=(0, 1))(2.0, 2.0) == (1.0, 0.0)
    assert anyshape.grad(lambda x, y: meaning(min)(x, y), argnums=(0, 1))(2.0, 2.0) == (1.0, 0.0)
    np.testing.assert_array_equal(anyshape.grad(lambda x: meaning(max)(x))(np.array([1.0, 3, 3])), [0, 1, 0])


@pytest.mark.parametrize("extreme", [max, min])
def test_the_order_of_nan_is_that_of_python(extreme):
    program = anyshape.jit(lambda x: meaning(extreme)(x))
    nan, inf = math.nan, math.inf
    for x in ([nan, 1.0], [1.0, nan], [nan, inf, -inf], [inf, nan, -inf], [-inf, nan], [inf, nan], [nan], [-0.0, 0.0]):
        expected = extreme(np.array(x))
        np.testing.assert_array_equal(program(np.array(x)), expected)
        assert np.signbit(program(np.array(x))) == np.signbit(expected)
    assert program.cache_info().traces == 1


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64, complex])
def test_a_sum_is_added_from_the_left_in_the_dtype_of_numpy(dtype):
    program = anyshape.jit(lambda x: meaning(sum)(x))
    for n in (1, 2, 5, 100):
        x = (np.random.default_rng(n).normal(size=n) * 3).astype(dtype)
        observed, expected = np.asarray(program(x)), np.asarray(sum(x))
        assert observed.dtype == expected.dtype
        np.testing.assert_array_equal(observed, expected)
    assert not program(np.zeros(0, dtype))
    assert program.cache_info().traces == 1


def test_a_sum_of_rows():
    program = anyshape.jit(lambda x: meaning(sum)(x))
    for n in (0, 1, 3, 40):
        x = np.random.default_rng(n).normal(size=(n, 2))
        np.testing.assert_array_equal(program(x), sum(x))


def test_the_extreme_of_scalars_is_a_scalar():
    """It is rounded, and repeats no list; an array without axes would do neither."""

    def f(x):
        best = meaning(max)(x[0], np.float64(1.5))
        return meaning(round)(best) + 0 * best if isinstance(best, np.floating) else best

    assert anyshape.jit(f)(np.array([2.5])) == 2.0


# -- kinds of results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("convert", "kind"), [(float, float), (int, int), (complex, complex), (round, int), (math.floor, int)]
)
def test_a_number_of_python_promotes_as_one(convert, kind):
    """It takes the dtype of an array, and `isinstance` says what it is."""
    classes = []

    def f(x, y):
        number = meaning(convert)(x)
        classes.append(isinstance(number, kind) and not isinstance(number, np.generic) and np.isscalar(number))
        return y * number

    for dtype in (np.float32, np.complex64):
        assert anyshape.jit(f)(np.float64(2.0), np.ones(2, dtype)).dtype == (np.ones(2, dtype) * convert(2.0)).dtype
    assert all(classes)


def test_a_float_of_a_size_decides_as_the_size():
    program = anyshape.jit(lambda x: x * 2 if meaning(float)(meaning(len)(x)) > 1.5 else x)
    for n in (1, 2, 3, 5):
        np.testing.assert_array_equal(program(np.ones(n)), np.ones(n) * (1 + (n > 1)))
    assert program.cache_info().traces == 2


@pytest.mark.parametrize("convert", [float, int, complex, math.sin])
def test_an_array_with_axes_is_no_number(convert):
    with pytest.raises(TypeError, match="only 0-dimensional arrays can be converted"):
        anyshape.jit(lambda x: meaning(convert)(x))(np.ones(2))


@pytest.mark.parametrize("operand", [np.ones(2), np.array(1.5), np.True_])
def test_only_numbers_are_rounded(operand):
    with pytest.raises(TypeError, match=f"type numpy.{type(operand).__name__} doesn't define __round__ method"):
        round(operand)
    with pytest.raises(TypeError, match=f"type numpy.{type(operand).__name__} doesn't define __round__ method"):
        anyshape.jit(lambda x: meaning(round)(x[...] if operand.ndim else x))(operand)


@pytest.mark.parametrize("convert", [float, int, math.sqrt, round])
def test_a_complex_number_is_none_of_the_real_ones(convert):
    with pytest.raises(TypeError):
        anyshape.jit(lambda x: meaning(convert)(x))(1 + 2j)


def test_an_int_is_a_size_and_a_bound():
    program = anyshape.jit(lambda x, y: (meaning(np.zeros)(meaning(int)(x)), y[: meaning(int)(x)]))
    for x in (0.5, 1.5, 3.9):
        zeros, part = program(x, np.arange(5.0))
        assert len(zeros) == len(part) == int(x)
    assert program.cache_info().traces == 1


def test_elements_and_lists():
    def f(x):
        (a, b), (c, d) = meaning(x.tolist)()
        return [a * np.float32(1), b + c, d, meaning(x[0].item)(1), meaning(x.item)(0, 1)]

    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    np.testing.assert_array_equal(anyshape.jit(f)(x), [1.0, 5.0, 4.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="must equal 1"):
        anyshape.jit(lambda x: meaning(x.item)())(x)
    with pytest.raises(errors.ConcretizationError, match="tolist"):
        anyshape.jit(lambda x: meaning(x.tolist)())(np.ones(1000))


CMATH = ["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh"]


@pytest.mark.parametrize("name", [*CMATH, "acosh", "atanh", "phase", "polar", "isnan", "isinf", "isfinite"])
def test_of_a_complex_number(name):
    numbers = [1 + 2j, -0.5 + 0.25j, 0j, 1 + 0j, complex(math.nan, 0), complex(1e3, 1)]
    require_equal_outcomes(lambda M, z: M(getattr(cmath, name))(z), [(z,) for z in numbers])


def test_a_complex_number_of_length_and_angle():
    require_equal_outcomes(lambda M, r, phi: M(cmath.rect)(r, phi), [(2.0, 0.5), (1.0, -2.0)])


# -- NumPy and SciPy -----------------------------------------------------------------------------------------------

MAKERS = {
    "zeros": lambda M: M(np.zeros)(3),
    "ones": lambda M: M(np.ones)(3),
    "empty": lambda M: M(np.empty)(3),
    "full": lambda M: M(np.full)(3, 2.0),
    "eye": lambda M: M(np.eye)(3),
    "identity": lambda M: M(np.identity)(3),
    "arange": lambda M: M(np.arange)(3.0),
    "linspace": lambda M: M(np.linspace)(0, 1, 3),
    "logspace": lambda M: M(np.logspace)(0, 1, 3),
    "geomspace": lambda M: M(np.geomspace)(1, 2, 3),
    "array": lambda M: M(np.array)([1.0, 2.0]),
    "asarray": lambda M: M(np.asarray)([1.0, 2.0]),
    "ascontiguousarray": lambda M: M(np.ascontiguousarray)([1.0, 2.0]),
    "fromfunction": lambda M: M(np.fromfunction)(lambda i: 1.0 * i, (3,)),
    "indices": lambda M: M(np.indices)((2, 2)).astype(float),
    "tri": lambda M: M(np.tri)(3),
    "meshgrid": lambda M: M(np.meshgrid)([1.0, 2.0], [3.0])[0],
    "zeros_like": lambda M: M(np.zeros_like)([1.0, 2.0]),
    "copy": lambda M: M(np.copy)(CONSTANT),
    "block": lambda M: M(np.block)([[CONSTANT, CONSTANT]]),
    "stack": lambda M: M(np.stack)([CONSTANT, CONSTANT]),
    "concatenate": lambda M: M(np.concatenate)([CONSTANT, CONSTANT]),
    "hanning": lambda M: M(np.hanning)(4),
    "exp": lambda M: M(np.exp)(CONSTANT),
    "ndarray": lambda M: M(np.ndarray)((3,)),
    "copy of an array": lambda M: M(CONSTANT.copy)(),
    "astype of an array": lambda M: M(CONSTANT.astype)(float),
    "inverse": lambda M: M(np.linalg.inv)(np.eye(2)),
    "inverse of SciPy": lambda M: M(scipy.linalg.inv)(np.eye(2)),
}
CONSTANT = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize("name", MAKERS)
def test_what_numpy_makes_can_be_written_to(name):
    """Traced values too, in a trace; without one it is NumPy's own array. The constant stays as it is."""

    def f(x, M):
        made = MAKERS[name](M)
        made[...] = 0
        made[0] = x
        return made

    before = CONSTANT.copy()
    expected = f(3.0, plain)
    np.testing.assert_array_equal(anyshape.jit(lambda x: f(x, meaning))(3.0), expected)
    np.testing.assert_array_equal(CONSTANT, before)
    assert type(MAKERS[name](meaning)) is type(MAKERS[name](plain)) is np.ndarray


@pytest.mark.parametrize(
    "row",
    [
        lambda M, x: M(CONSTANT.dot)(x),
        lambda M, x: M(CONSTANT.take)(M(np.int64)(x[:2])),
        lambda M, x: M(scipy.linalg.norm)(x),
        lambda M, x: M(np.triu)(M(scipy.linalg.cho_factor)(M(np.outer)(x, x) + M(np.eye)(3))[0]),
        lambda M, x: M(scipy.stats.norm.pdf)(x),
        lambda M, x: M(scipy.stats.norm(1.0, 2.0).logpdf)(x),
        lambda M, x: M(M(scipy.stats.norm)(x[0]).cdf)(x[1]),
        lambda M, x: M(scipy.stats.multivariate_normal.logpdf)(x, np.zeros(3)),
        lambda M, x: M(scipy.fft.fft)(x),
        lambda M, x: M(scipy.special.sph_harm_y)(1, 1, x, x),
        lambda M, x: M(scipy.interpolate.CubicSpline)(np.arange(4.0), np.arange(4.0) ** 2)(x),
        lambda M, x: M(np.vectorize)(lambda v: 2 * v)(x),
        lambda M, x: M(np.tril)(M(np.outer)(x, x)),
        lambda M, x: M(np.where)([x[0] > 0, True], [x[1], 1.0], 0.0),
        lambda M, x: M(np.linalg.solve)(M(np.diag)(x), [1.0, 2.0, x[0]]),
        lambda M, x: M(list)(M(map)(float, x[:2].reshape(2))),
        lambda M, x: M(functools.reduce)(max, [x[0], x[1], 0.0]),
        lambda M, x: M(np.ufunc.__call__)(np.add, x, 1.0),
    ],
)
def test_functions_of_arrays(row):
    x = np.array([1.0, 2.0, 0.5])
    expected = row(plain, x)
    for observed, wanted in zip(
        anyshape.tree_leaves(anyshape.jit(functools.partial(row, meaning))(x)),
        anyshape.tree_leaves(expected),
        strict=True,
    ):
        np.testing.assert_allclose(observed, wanted, rtol=1e-12)


# -- other calls ---------------------------------------------------------------------------------------------------

CONCRETE = [
    (len, ([1, 2],)),
    (int, ("12", 3)),
    (float, ("nan",)),
    (float, (True,)),
    (round, (2.567, 2)),
    (max, ([],)),
    (max, ("a", "b")),
    (min, ({3: 1, 2: 0},)),
    (sum, ([[1], [2]], [])),
    (any, ([],)),
    (complex, ("1+2j",)),
    (math.sqrt, (-1,)),
    (math.comb, (5, 2)),
    (cmath.sqrt, (-1,)),
    (np.float64, (1,)),
    (np.int8, (300,)),
    (np.sin, (1.0,)),
    (np.sum, ([1, 2],)),
    (np.isscalar, (1.0,)),
    (scipy.special.logsumexp, ([1.0, 2.0],)),
]


@pytest.mark.parametrize(("function", "args"), CONCRETE)
def test_concrete_operands_get_the_original(function, args):
    results = []

    def f(x):
        results.append(outcome(meaning(function), *args))
        return x

    anyshape.jit(f)(1.0)
    expected = outcome(function, *args)
    assert type(results[0]) is type(expected)
    assert str(results[0]) == str(expected)


class Callable:
    def __call__(self):
        return 1

    def method(self):
        return 2


def spoofed():
    """A function of the user that says that it is NumPy's."""
    return functools.wraps(np.sin)(lambda x: x + 100)


@pytest.mark.parametrize(
    "function",
    [
        test_functions_of_arrays, spoofed(), Callable, Callable(), [].append, "a".join, print, isinstance, range, dict,
        str, np.isscalar, np.dtype, np.float64(1).item, scipy.special.erf, functools.partial(max, 1), math.factorial,
        sorted, anyshape.jit(test_functions_of_arrays), int.from_bytes, np.random.default_rng,
    ],
)  # fmt: skip
def test_other_functions_mean_themselves(function):
    assert meaning(function) is function


def test_a_method_of_an_object_means_itself():
    owner = Callable()
    assert meaning(owner.method)() == 2
    assert meaning(spoofed())(1) == 101


def test_the_same_function_has_the_same_meaning():
    assert meaning(np.zeros) is meaning(np.zeros)
    assert meaning(len) is meaning(len)


def test_an_error_of_the_run_names_the_line():
    with pytest.raises(ValueError, match=r"math domain error.*test_meanings.py"):
        anyshape.jit(lambda x: meaning(math.log)(x))(-1.0)
    with pytest.raises(OverflowError, match="math range error"):
        anyshape.jit(lambda x: meaning(math.exp)(x))(1e4)
