"""Exponentials that logsumexp and its derivative share: each is computed once, and values and warnings stay."""

import warnings

import numpy as np
import pytest
import scipy.special

import anyshape
from anyshape.scipy import special

AXES = [0, 1, 2, -1, (0, 2), (1, 0), (0, 1, 2), None]


def steps(f, *args):
    """Return the names of the ops in the plan of a call."""
    f(*args)
    (program,) = f.programs()
    return [step.op.name for step in program.plan_for(*args).steps]


def weighted(x, axis, keepdims):
    return np.sum(special.logsumexp(x, axis=axis, keepdims=keepdims) ** 2)


def cross_entropy(x, t):
    return -np.sum(t * special.log_softmax(x, axis=1))


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_value_and_gradient_compute_exponentials_once(optimize):
    x, t = np.linspace(-3, 800, 20).reshape(4, 5), np.eye(4, 5)
    squares = lambda x: np.sum(special.logsumexp(x, axis=1) ** 2)
    for f, args in ((squares, (x,)), (cross_entropy, (x, t))):
        for transformed in (anyshape.grad(f), anyshape.value_and_grad(f)):
            names = steps(anyshape.jit(transformed, optimize=optimize), *args)
            assert names.count("exp") + names.count("reduce_logsumexp") + names.count("safe_softmax") == 1


def test_log_softmax_subtracts_one_maximum():
    names = steps(anyshape.jit(lambda x: special.log_softmax(x, axis=0), optimize="now"), np.ones((3, 2)))
    assert (names.count("reduce_max"), names.count("exp"), names.count("sub")) == (1, 1, 2)


def test_the_value_alone_is_one_step():
    names = steps(anyshape.jit(lambda x: special.logsumexp(x, axis=0), optimize="now"), np.ones((3, 2)))
    assert names == ["reduce_logsumexp"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_gradients_along_all_axes(dtype):
    rng, tolerance = np.random.default_rng(0), {"float64": 1e-12, "float32": 1e-4}[dtype]
    for axis in AXES:
        for keepdims in (False, True):
            step = anyshape.jit(
                anyshape.value_and_grad(lambda x, a=axis, k=keepdims: weighted(x, a, k)), optimize="now"
            )
            for shape in ((2, 3, 4), (1, 3, 1), (5, 1, 2), (40, 30, 50)):
                x = (100 * rng.normal(size=shape)).astype(dtype)
                x[..., 0] = x.max()  # ties
                value, slope = step(x)
                total = scipy.special.logsumexp(x, axis=axis, keepdims=True)
                np.testing.assert_allclose(value, np.sum(total.astype(float) ** 2), rtol=tolerance)
                shares = 2 * total * scipy.special.softmax(x, axis=axis)
                np.testing.assert_allclose(slope, shares, rtol=tolerance, atol=tolerance)
                assert slope.dtype == dtype


def test_rows_without_weight_infinities_and_nan():
    infinity, nan = np.inf, np.nan
    x = np.array([[-infinity] * 3, [1, -infinity, 1], [nan, 1, 2], [0, -1e308, 1e308]])
    step = anyshape.jit(anyshape.value_and_grad(lambda x: special.logsumexp(x, axis=1)[:2].sum()), optimize="now")
    rows = anyshape.jit(anyshape.vmap(anyshape.value_and_grad(special.logsumexp)), optimize="now")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, slopes = rows(x)
        assert step(x)[0] == -infinity
    np.testing.assert_allclose(values, [-infinity, 1 + np.log(2), nan, 1e308])
    np.testing.assert_allclose(slopes, [[0, 0, 0], [0.5, 0, 0.5], [nan] * 3, [0, 0, 1]])
    with np.errstate(invalid="ignore"):
        value, slope = rows(np.array([[infinity, 1]]))
    np.testing.assert_array_equal(value, [infinity])
    np.testing.assert_array_equal(slope, [[nan, 0]])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_elements(shape):
    step = anyshape.jit(anyshape.value_and_grad(lambda x: special.logsumexp(x, axis=1).sum()), optimize="now")
    value, slope = step(np.ones((2, 3)))
    assert np.isfinite(value)
    value, slope = step(np.ones(shape))
    assert slope.shape == shape
    assert value == (0 if not shape[0] else -np.inf)


def test_other_differences_have_a_maximum_of_their_own():
    x = np.array([[900.0, 1.0], [2.0, -900.0]])
    others = {
        "another axis": lambda x: x - x.max(axis=0),
        "another array": lambda x: x - (2 * x).max(axis=1, keepdims=True),
        "the least": lambda x: x - x.min(axis=1, keepdims=True),
        "a number for infinities": lambda x: x - np.where(np.isfinite(m := x.max(1, keepdims=True)), m, -800.0),
        "another choice": lambda x: x - np.where(np.isfinite(x.min(1, keepdims=True)), x.max(1, keepdims=True), 0.0),
    }
    for name, shift in others.items():
        step = anyshape.jit(anyshape.value_and_grad(lambda x, f=shift: special.logsumexp(f(x) * 1.0, axis=1).sum()))
        for z in (x, x[:, ::-1], x - 1000, np.array([[np.inf, 1.0]])):
            with np.errstate(all="ignore"):
                value = step(z)[0]
                expected = scipy.special.logsumexp(shift(z), axis=1).sum()
            np.testing.assert_allclose(value, expected, err_msg=name)


def test_derivatives_of_third_order():
    x, v = np.array([0.3, -1.0, 2.0]), np.array([1.0, -2.0, 0.5])
    along = lambda f: lambda x: anyshape.jvp(f, (x,), (v,))[1]
    third = anyshape.jit(along(along(along(special.logsumexp))), optimize="now")
    p = scipy.special.softmax(x)
    mean = p @ v
    np.testing.assert_allclose(third(x), p @ (v - mean) ** 3, rtol=1e-13)
