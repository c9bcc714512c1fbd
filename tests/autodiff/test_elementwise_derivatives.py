"""Derivatives at kinks, ties and poles, derivatives of high order, and errors of elementwise calls."""

import warnings

import numpy as np
import pytest
import scipy.special as sc

import anyshape
import anyshape.numpy as anp
from anyshape.errors import ConcretizationError, DTypeError, MutationError, UnsupportedFunctionError
from anyshape.numpy import special

inf, nan = np.inf, np.nan


def derivatives(f, *points):
    """Return the gradient of a scalar function at a point, with NumPy's warnings as errors."""
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        gradients = anyshape.grad(f, argnums=tuple(range(len(points))))(*[np.float64(p) for p in points])
    return [float(g) for g in gradients]


def derivative(f, order):
    for _ in range(order):
        f = anyshape.grad(f)
    return f


KINKS = [
    ("abs", np.abs, (0.0,), [0.0]),
    ("abs complex", lambda x, y: np.abs(x + 1j * y), (0.0, 0.0), [0.0, 0.0]),
    ("sign", lambda x: np.sign(x), (0.0,), [0.0]),
    ("square", lambda x: x**2, (0.0,), [0.0]),
    ("first power", lambda x: x**1, (0.0,), [1.0]),
    ("power zero", lambda x: x**0, (0.0,), [0.0]),
    ("cube", lambda x: x**3, (0.0,), [0.0]),
    ("literal 2.5", lambda x: x**2.5, (0.0,), [0.0]),
    ("traced exponent 2 at 0", lambda x, y: x**y, (0.0, 2.0), [0.0, 0.0]),
    ("traced exponent 1 at 0", lambda x, y: x**y, (0.0, 1.0), [1.0, 0.0]),
    ("traced exponent 0 at 0", lambda x, y: x**y, (0.0, 0.0), [0.0, 0.0]),
    ("traced exponent 0", lambda x, y: x**y, (3.0, 0.0), [0.0, np.log(3.0)]),
    ("constant exponents", lambda x: np.sum(np.power(x, np.arange(4))), (0.0,), [1.0]),
    ("base 0", lambda y: 0.0**y, (2.0,), [0.0]),
    ("maximum", np.maximum, (1.0, 1.0), [0.5, 0.5]),
    ("minimum", np.minimum, (1.0, 1.0), [0.5, 0.5]),
    ("fmax", np.fmax, (1.0, 1.0), [0.5, 0.5]),
    ("fmin", np.fmin, (1.0, 1.0), [0.5, 0.5]),
    ("fmax of NaN", np.fmax, (2.0, nan), [1.0, 0.0]),
    ("fmin of NaN", np.fmin, (nan, 2.0), [0.0, 1.0]),
    ("relu", lambda x: np.maximum(x, 0), (0.0,), [0.5]),
    ("maximum of infinities", np.maximum, (inf, inf), [0.5, 0.5]),
    ("clip at a bound", lambda x: np.clip(x, 0, 1), (1.0,), [0.5]),
    ("clip inside", lambda x: np.clip(x, 0, 1), (0.3,), [1.0]),
    ("clip outside", lambda x: np.clip(x, 0, 1), (1.5,), [0.0]),
    ("hypot", np.hypot, (0.0, 0.0), [0.0, 0.0]),
    ("arctan2", np.arctan2, (0.0, 0.0), [0.0, 0.0]),
    ("logaddexp of -inf", np.logaddexp, (-inf, -inf), [0.5, 0.5]),
    ("logaddexp of one -inf", np.logaddexp, (-inf, 1.0), [0.0, 1.0]),
    ("logaddexp of inf", np.logaddexp, (inf, 1.0), [1.0, 0.0]),
    ("logaddexp2 of -inf", np.logaddexp2, (-inf, -inf), [0.5, 0.5]),
    ("logaddexp far apart", np.logaddexp, (-1000.0, 1000.0), [0.0, 1.0]),
    ("sinc", np.sinc, (0.0,), [0.0]),
    ("xlogy", sc.xlogy, (0.0, 2.0), [np.log(2.0), 0.0]),
    ("xlog1py", sc.xlog1py, (0.0, 0.0), [0.0, 0.0]),
    ("heaviside", np.heaviside, (0.0, 0.5), [0.0, 1.0]),
    ("copysign", lambda x: np.copysign(x, -1.0), (2.0,), [-1.0]),
    ("expm1 far down", np.expm1, (-50.0,), [np.exp(-50.0)]),
    ("expit far out", sc.expit, (800.0,), [0.0]),
    ("expit far down", sc.expit, (-800.0,), [0.0]),
    ("log_expit far down", sc.log_expit, (-800.0,), [1.0]),
    ("log_ndtr far down", sc.log_ndtr, (-1e4,), [1e4 + 1e-4]),
    ("i1", sc.i1, (0.0,), [0.5]),
    ("j1", sc.j1, (0.0,), [0.5]),
    ("i0e", sc.i0e, (0.0,), [0.0]),
    ("modf", lambda x: np.modf(x)[0] * np.modf(x)[1], (3.0,), [3.0]),
    ("frexp", lambda x: np.frexp(x)[0], (6.0,), [0.125]),
    ("nan_to_num", np.nan_to_num, (nan,), [0.0]),
    ("where", lambda x: np.where(x > 1, x, 3 * x), (0.5,), [3.0]),
    ("remainder", np.remainder, (-7.0, 3.0), [1.0, 3.0]),
    ("fmod", np.fmod, (-7.0, 3.0), [1.0, 2.0]),
]


@pytest.mark.parametrize(("f", "at", "expected"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS])
def test_derivatives_at_kinks_and_limits(f, at, expected):
    assert derivatives(f, *at) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_an_untaken_branch_does_not_poison():
    safe = lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)
    assert derivatives(safe, 0.0) == [0.0]


def factorial(n):
    return float(sc.factorial(n))


HIGH = [
    # function, point, order, exact value
    (lambda x: x**5, 0.0, 5, 120.0),
    (lambda x: x**5, 2.0, 6, 0.0),
    (lambda x: 1 / x, 2.0, 5, -factorial(5) / 2**6),
    (lambda x: x**2.5, 4.0, 3, 2.5 * 1.5 * 0.5 / 2),
    (lambda x: np.power(x, np.float64(3)), -2.0, 2, -12.0),
    (np.sinc, 0.0, 2, -(np.pi**2) / 3),
    (np.sinc, 0.0, 4, np.pi**4 / 5),
    (np.sinc, 0.0, 6, -(np.pi**6) / 7),
    (np.sinc, 1e-9, 3, np.pi**4 / 5 * 1e-9),
    (np.sinc, 2.0, 1, 0.5),
    (sc.gammaln, 2.5, 4, float(sc.polygamma(3, 2.5))),
    (sc.digamma, 2.5, 3, float(sc.polygamma(3, 2.5))),
    (sc.gamma, 1.0, 2, np.euler_gamma**2 + np.pi**2 / 6),
    (sc.erf, 0.0, 3, -4 / np.sqrt(np.pi)),
    (sc.erf, 0.0, 5, 24 / np.sqrt(np.pi)),
    (sc.expit, 0.0, 3, -0.125),
    (sc.i0, 0.0, 4, 3 / 8),
    (sc.j0, 0.0, 4, 3 / 8),
    (sc.i1, 0.0, 3, 3 / 8),
    (sc.entr, 2.0, 4, -2 / 8),
    (np.tan, 0.0, 3, 2.0),
    (np.tanh, 0.0, 5, 16.0),
    (np.arctan, 0.0, 5, 24.0),
    (np.log1p, 0.0, 4, -6.0),
    (np.cbrt, 8.0, 2, -2 / 9 / 32),
    (lambda x: np.logaddexp(x, x + 0 * x), 1.0, 2, 0.0),
    (lambda x: np.logaddexp(x, 1.0), 1.0, 2, 0.25),
    (lambda x: np.hypot(x, 3.0), 4.0, 2, 9 / 125),
    (lambda x: np.exp2(x), 0.0, 3, np.log(2) ** 3),
    (lambda x: sc.xlogy(x, 2 * x), 1.0, 3, -1.0),
    (lambda x: np.arctan2(x, 2.0), 0.0, 3, -0.25),
    (lambda x: special.zeta(3.0, x), 1.0, 2, 12 * float(sc.zeta(5.0))),
]


@pytest.mark.parametrize(("f", "at", "order", "exact"), HIGH)
def test_high_orders_are_exact(f, at, order, exact):
    assert float(derivative(f, order)(np.float64(at))) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_mixed_derivatives_of_xlogy_at_zero():
    """d/dx d/dy x log y = 1 / y at x = 0 too."""
    mixed = anyshape.grad(lambda x, y: anyshape.grad(sc.xlogy, argnums=1)(x, y))
    assert float(mixed(0.0, 4.0)) == 0.25


def test_square_is_a_square():
    f = anyshape.jit(lambda x: x**2 + np.power(x, 2.0))
    f(np.ones(3))
    assert next(n.op.name for n in f.programs()[0].graph.nodes) == "square"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool", "float16", "float32"])
@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "logical_not", "absolute", "isnan", "rint", "floor"])
def test_dtypes_follow_numpy(name, dtype):
    x = np.ones(2, dtype)
    assert anyshape.jit(lambda x: getattr(np, name)(x))(x).dtype == getattr(np, name)(x).dtype


def test_complex_to_real_warns_while_tracing():
    with pytest.warns(np.exceptions.ComplexWarning):
        real = anyshape.jit(lambda z: z.astype(np.float64))(np.array([1 + 2j]))
    np.testing.assert_array_equal(real, [1.0])


OUTSIDE = np.ones(3)
REFUSED = [
    (lambda x: np.sin(x, out=OUTSIDE), MutationError),
    (lambda x: np.add(x, x, where=x > 0), UnsupportedFunctionError),
    (lambda x: anp.add(x, x, out=OUTSIDE), MutationError),
    (lambda x: np.clip(x, 0, 1, out=OUTSIDE), MutationError),
    (lambda x: -(x > 0), DTypeError),
    (lambda x: (x > 0) - (x > 1), DTypeError),
    (lambda x: np.bitwise_and(x, x), DTypeError),
    (lambda x: x.astype(int) ** -1, DTypeError),
    (lambda x: np.isposinf(x + 1j), DTypeError),
]


@pytest.mark.parametrize(("f", "error"), REFUSED)
def test_unsupported_calls_raise(f, error):
    with pytest.raises(error):
        anyshape.jit(f)(np.ones(3))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_out_is_an_array_of_the_function(n):
    x = np.arange(n) - 1.0
    for call in (
        lambda x: np.sin(x, out=np.ones(len(x))),
        lambda x: anp.add(x, x, out=np.ones(len(x))),
        lambda x: np.clip(x, 0, 1, out=np.ones(len(x))),
    ):
        np.testing.assert_array_equal(anyshape.jit(call)(x), call(x))


def test_kernels_for_many_elements_give_the_same_values(rng):
    x = np.concatenate([rng.normal(size=2000), [-800.0, 800.0, 0.0, nan, inf, -inf]])
    for dtype in (np.float64, np.float32):
        logistic = anyshape.jit(lambda x: sc.expit(x * 1))(x.astype(dtype))
        np.testing.assert_allclose(logistic, sc.expit(x.astype(dtype)), rtol=1e-15 if dtype is np.float64 else 1e-6)
    choose = anyshape.grad(lambda x: np.sum(np.where(x > 0, 3 * x, -2 * x)))
    np.testing.assert_array_equal(choose(x[:2000]), np.where(x[:2000] > 0, 3.0, -2.0))


def test_isclose_takes_numbers():
    for number in (1, 1.0, True, 1 + 0j, 1 + 1j, np.float32(1)):
        x = np.array([1.0, 1 + 1e-9, 2.0])
        np.testing.assert_array_equal(anyshape.jit(lambda x, n=number: np.isclose(x, n))(x), np.isclose(x, number))
    assert anyshape.jit(lambda x, y: np.isclose(x, y))(1.0, 1.0)


def test_a_derivative_without_a_formula_raises():
    with pytest.raises(UnsupportedFunctionError, match=r"jv.*no derivative with respect to its first operand"):
        anyshape.grad(lambda x: special.jv(x, 2.0))(3.0)


@pytest.mark.parametrize("number", [300, -1, 2**40])
def test_a_python_int_that_does_not_fit_is_numpys_error_at_the_call(number):
    add = anyshape.jit(lambda x, k: x + k)
    x = np.zeros(3, np.uint8)
    np.testing.assert_array_equal(add(x, 200), x + 200, strict=True)
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        add(x, number)
    with pytest.raises(OverflowError):
        x + number
    np.testing.assert_array_equal(add(x, 7), x + 7, strict=True)
    assert add.cache_info().traces == 1


def test_a_size_that_does_not_fit_a_small_integer_is_an_error_and_compares_exactly():
    scaled = anyshape.jit(lambda x: x * x.shape[0])
    below = anyshape.jit(lambda x: (x < x.shape[0], x == x.shape[0], x >= 300))
    for n in (0, 5, 100):
        x = np.ones(n, np.int8)
        np.testing.assert_array_equal(scaled(x), x * n, strict=True)
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        scaled(np.ones(300, np.int8))
    for n in (0, 1, 300):
        x = np.ones(n, np.int8)
        for got, expected in zip(below(x), (x < n, x == n, x >= 300), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


def test_a_bool_squared_by_the_operator_has_the_dtype_of_numpy():
    for x in (np.array([True, False]), np.array(True)):
        for f in (lambda x: x**2, lambda x: x**3, lambda x: x**1, lambda x: np.power(x, 2), lambda x: x**2.0):
            np.testing.assert_array_equal(anyshape.jit(f)(x), f(x), strict=True)


BOUNDS = (1.0, np.nan, -np.inf, 0.5 + 1j, complex(np.nan, 1), np.array([np.nan, 1, -1, 2, 0.5]))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i8", "?"])
@pytest.mark.parametrize("low", BOUNDS, ids=str)
@pytest.mark.parametrize("high", BOUNDS, ids=str)
def test_clip_orders_complex_numbers_and_nans_as_numpy_does(dtype, low, high):
    x = np.array([1, 0.5, 3, -1, 1]).astype(dtype)
    if x.dtype.kind == "c":
        x += np.array([2, 0, np.nan, -1, 1]).astype(dtype) * 1j
    alone = [(low, None)] * (high is BOUNDS[0]) + [(None, high)] * (low is BOUNDS[0])
    for bounds in ((low, high), *alone):
        expected = np.clip(x, *bounds)
        np.testing.assert_array_equal(
            anyshape.jit(lambda x, bounds=bounds: np.clip(x, *bounds))(x), expected, strict=True
        )
        if all(b is not None for b in bounds):
            np.testing.assert_array_equal(anyshape.jit(np.clip)(x, *bounds), expected, strict=True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "?"])
def test_numpys_i0_has_the_dtype_that_numpy_gives(dtype):
    x = np.array([0, 1, 2, 3]).astype(dtype)
    expected = np.i0(x)
    for f in (np.i0, anp.i0):
        result = anyshape.jit(f)(x)
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(expected.dtype).eps)
    assert anyshape.jit(sc.i0)(x).dtype == sc.i0(x).dtype


@pytest.mark.usefixtures("as_written")
def test_like_makes_arrays_where_numpy_hands_over_its_arguments():
    """np.zeros and np.empty read the shape before they look at `like`, so a traced number raises there."""
    x = np.ones(2)
    for f in (
        lambda k, x: np.ones(k, like=x), lambda k, x: np.full((k, 2), 3.0, like=x), lambda k, x: np.arange(k, like=x),
        lambda k, x: np.tri(k, like=x), lambda k, x: np.eye(3, like=x), lambda k, x: np.zeros(3, int, like=x),
    ):  # fmt: skip
        np.testing.assert_array_equal(anyshape.jit(f)(3, x), f(3, x), strict=True)
    with pytest.raises(ConcretizationError, match=r"anyshape\.numpy\.zeros\(k\)"):
        anyshape.trace(lambda k, x: np.zeros(k, like=x))(anyshape.ShapeDtypeStruct("", int), x)
    np.testing.assert_array_equal(anyshape.jit(lambda k, x: np.zeros(k, like=x))(3, x), np.zeros(3), strict=True)
    np.testing.assert_array_equal(anyshape.jit(lambda k, x: anp.zeros(k, like=x))(3, x), np.zeros(3), strict=True)
