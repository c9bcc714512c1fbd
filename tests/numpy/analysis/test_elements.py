"""`vectorize`, `fromiter` and `fromfunction` of traced values: each result is NumPy's, at any size."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit, vmap

X = np.array([0.5, 1.5, -2.5])


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def check(function, *args):
    expected = leaves(function(np, *args))
    for run in (jit(lambda *args: function(anp, *args)), lambda *args: function(anp, *args)):
        for value, right in zip(leaves(run(*args)), expected, strict=True):
            assert (value.shape, value.dtype) == (right.shape, right.dtype)
            np.testing.assert_allclose(value, right, rtol=1e-12)


VECTORIZED = {
    "choice": lambda m, x: m.vectorize(lambda a: a**2 if a > 0 else -a)(x),
    "two results": lambda m, x: m.vectorize(lambda a, b: (a + b, a * b))(x, x[:, None]),
    "otypes": lambda m, x: m.vectorize(lambda a, b=2: a + b, otypes=[complex])(x),
    "excluded name": lambda m, x: m.vectorize(lambda a, b: a + b, excluded=["b"])(x, b=3),
    "excluded position": lambda m, x: m.vectorize(lambda a, b: a + len(b), excluded=[1])(x, [1, 2]),
    "keyword": lambda m, x: m.vectorize(lambda a, b: a - b)(x, b=x[0]),
    "single precision": lambda m, x: m.vectorize(lambda a: a / 2)(x.astype(np.float32)),
    "scalar": lambda m, x: m.vectorize(lambda a: a * 2)(x[0]),
    "captured": lambda m, x: m.vectorize(lambda i: x[i] * 2)(np.arange(3)),
    "bools": lambda m, x: m.vectorize(lambda a: a > 0)(x.reshape(1, 3)),
    "integers": lambda m, x: m.vectorize(lambda a, b: a if a > b else b)((x * 3).astype(int), 2),
    "empty": lambda m, x: m.vectorize(lambda a: a * 2, otypes="d")(x[:0]),
    "concrete": lambda m, x: m.vectorize(lambda a: a * 2)(np.arange(4)) * x[0],
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorize_calls_the_function_for_each_element(name):
    check(VECTORIZED[name], X)


def test_vectorize_has_derivatives_and_batches():
    @anp.vectorize
    def clipped(a):
        return a**2 if a < 1 else 3 * a

    assert isinstance(clipped, np.vectorize)
    for n in (1, 2, 5):
        x = np.linspace(-2, 2, n)
        np.testing.assert_allclose(grad(lambda x: clipped(x).sum())(x), np.where(x < 1, 2 * x, 3))
    np.testing.assert_allclose(vmap(lambda x: clipped(x))(np.array([[0.5, 2.0], [0.1, 3.0]])), [[0.25, 6], [0.01, 9]])


def test_vectorize_refuses_what_numpy_refuses():
    for function in (lambda m, x: m.vectorize(lambda a: a)(x[:0]), lambda m, x: m.vectorize(lambda a: a)(x, x)):
        with pytest.raises((ValueError, TypeError)) as expected:
            function(np, X)
        with pytest.raises(expected.type):
            jit(lambda x, function=function: function(anp, x))(X)


def test_fromiter_takes_traced_items():
    for options in ({}, {"count": 3}, {"count": 2}):
        check(lambda m, x, options=options: m.fromiter((v * v for v in x), float, **options), X)
    check(lambda m, x: m.fromiter((v for v in x), np.float32), X)
    check(lambda m, x: m.fromiter(range(4), int) + x[0], X)
    np.testing.assert_allclose(grad(lambda x: anp.fromiter((v * v for v in x), float).sum())(X), 2 * X)
    with pytest.raises(ValueError, match="iterator too short: Expected 5 but iterator had only 3 items"):
        jit(lambda x: anp.fromiter((v for v in x), float, 5))(X)


def test_fromfunction_takes_sizes():
    check(lambda m, x, n: m.fromfunction(lambda i, j: m.cos(x[0] * i) + j, (n, n)), X, 3)
    function = jit(lambda x: anp.fromfunction(lambda i: i * x[0], x.shape, dtype=int))
    for n in (1, 2, 5):
        np.testing.assert_allclose(function(np.full(n, 2.0)), 2.0 * np.arange(n))
    assert function.cache_info().traces == 1


def test_common_type_asks_for_dtypes_alone():
    for dtypes in ((np.float32,), (np.float32, float), (int,), (np.float32, complex)):
        arrays = [np.ones(2, d) for d in dtypes]
        types = []
        jit(lambda *xs, types=types: types.append(anp.common_type(*xs)) or xs[0])(*arrays)
        assert types[-1] is np.common_type(*arrays)
