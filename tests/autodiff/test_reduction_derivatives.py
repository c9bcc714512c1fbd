"""Derivatives of reductions where a formula would divide by zero, at ties, and of empty arrays."""

import warnings

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError, MutationError, ShapeError, SizeMismatchError
from anyshape.numpy.reduction import log_softmax, logsumexp, softmax


def nested(function, order):
    """Return a derivative of this order of a function of one number, reverse over reverse."""
    for _ in range(order):
        function = anyshape.grad(function)
    return function


def product_of_others(x):
    return np.array([np.prod(np.delete(x, i)) for i in range(x.size)])


@pytest.mark.parametrize("x", [[], [0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.5, -2.0, 4.0, 0.5]])
def test_the_gradient_of_a_product_is_exact_with_zeros(x):
    x = np.array(x)
    np.testing.assert_array_equal(anyshape.grad(lambda x: np.prod(x))(x), product_of_others(x))


def test_the_hessian_of_a_product_is_exact_with_zeros():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    expected = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            expected[i, j] = np.prod(np.delete(x, [i, j])) if i != j else 0
    rows = [anyshape.grad(lambda x, i=i: anyshape.grad(lambda x: np.prod(x))(x)[i])(x) for i in range(4)]
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("at", [0.0, 2.0])
def test_every_order_of_a_power_written_as_a_product(order, at):
    """d^k/dt^k of t^4 * 3, at 0 too, through prod and through cumprod."""
    expected = [12 * at**3, 36 * at**2, 72 * at, 72.0][order - 1]
    ones, scale = np.ones(5), np.array([1.0, 1, 1, 1, 0])
    through_prod = lambda t: np.prod(t * scale + 3 * (ones - scale))
    through_cumprod = lambda t: np.cumprod(t * scale + 3 * (ones - scale))[-1]
    assert nested(through_prod, order)(at) == pytest.approx(expected)
    assert nested(through_cumprod, order)(at) == pytest.approx(expected)


def test_products_over_several_axes_with_zeros():
    x = np.array([[[2.0, 0.0], [3.0, 1.0]], [[0.0, 5.0], [0.0, 2.0]], [[1.0, 4.0], [2.0, 0.5]]])
    gradient = anyshape.grad(lambda x: np.sum(np.prod(x, axis=(0, 2)) * np.array([2.0, 3.0])))(x)
    for row, weight in ((0, 2.0), (1, 3.0)):
        flat = x[:, row, :].ravel()
        np.testing.assert_array_equal(gradient[:, row, :].ravel(), weight * product_of_others(flat))


@pytest.mark.parametrize("function", [np.max, np.min, np.amax])
def test_equal_extremes_share_the_gradient(function):
    x = np.array([[1.0, 3.0, 3.0], [1.0, 1.0, 1.0]])
    gradient = anyshape.grad(lambda x: np.sum(function(x, axis=1) * np.array([1.0, 6.0])))(x)
    first = [1.0, 0, 0] if function is np.min else [0, 0.5, 0.5]
    np.testing.assert_array_equal(gradient, [first, [2.0, 2.0, 2.0]])


def test_equal_running_maxima_share_the_gradient():
    x = np.array([1.0, 1.0, 0.0, 2.0, 2.0, -1.0])
    f = lambda x, w: np.sum(np.maximum.accumulate(x) * w)
    rows = [anyshape.grad(f)(x, w) for w in np.eye(6)]
    expected = [[1, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0]]
    expected += [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0.5, 0.5, 0], [0, 0, 0, 0.5, 0.5, 0]]
    np.testing.assert_array_equal(rows, expected)


def test_an_initial_value_that_wins_takes_the_gradient():
    f = lambda x: np.sum(np.max(x, axis=0, initial=2.0))
    np.testing.assert_array_equal(anyshape.grad(f)(np.array([[1.0, 3.0], [0.0, 1.0]])), [[0, 1.0], [0, 0]])
    np.testing.assert_array_equal(anyshape.jit(f)(np.zeros((0, 3))), 6.0)


def test_terms_of_weight_zero_get_no_gradient():
    x = np.array([1.0, -np.inf, 2.0])
    weights = np.array([np.exp(1), 0.0, np.exp(2)]) / (np.exp(1) + np.exp(2))
    np.testing.assert_allclose(anyshape.grad(lambda x: logsumexp(x))(x), weights, rtol=1e-14)
    np.testing.assert_allclose(anyshape.grad(lambda x: np.logaddexp.accumulate(x)[-1])(x), weights, rtol=1e-14)
    np.testing.assert_array_equal(anyshape.grad(lambda x: logsumexp(x))(np.full(3, -np.inf)), np.zeros(3))
    jacobian = np.diag(weights) - np.outer(weights, weights)
    rows = [anyshape.grad(lambda x, i=i: softmax(x)[i])(x) for i in range(3)]
    np.testing.assert_allclose(rows, jacobian, atol=1e-15)
    np.testing.assert_allclose(anyshape.grad(lambda x: log_softmax(x)[2])(x), [0, 0, 1] - weights, atol=1e-15)


SPREADS = {
    "std": np.std,
    "var": np.var,
    "nanstd": np.nanstd,
    "nanvar": np.nanvar,
    "std under a mask": lambda x, axis, ddof: np.std(x, axis=axis, ddof=ddof, where=x == x),
    "std around a mean": lambda x, axis, ddof: np.std(
        x, axis=axis, ddof=ddof, mean=np.mean(x, axis=axis, keepdims=True)
    ),
    "norm of deviations": lambda x, axis, ddof: np.linalg.norm(x - np.mean(x, axis, keepdims=True), axis=axis),
}


@pytest.mark.parametrize("measure", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("dtype", [float, complex, np.float32])
@pytest.mark.parametrize("ddof", [0, 0.5])
def test_a_spread_of_nothing_has_derivative_zero(measure, dtype, ddof):
    """One program serves every size: one element has no measure, and equal ones have the derivative of least size."""
    f = lambda x: np.sum(measure(x, axis=1, ddof=ddof) * np.array([1.0, 6.0]))
    gradient = anyshape.jit(anyshape.grad(f))
    push = anyshape.jit(lambda x, t: anyshape.jvp(anyshape.grad(f), (x,), (t,)))
    pull = anyshape.jit(lambda x, t: anyshape.vjp(anyshape.grad(f), x)[1](t)[0])
    rng = np.random.default_rng(0)
    varied = rng.normal(size=(2, 4)).astype(dtype)
    assert np.isfinite(gradient(varied)).all() and np.all(gradient(varied))
    for n in (1, 4, 3):
        x = np.ones((2, n), dtype) * 2
        t = rng.normal(size=x.shape).astype(dtype)
        np.testing.assert_array_equal(gradient(x), np.zeros_like(x))
        assert anyshape.jvp(f, (x,), (t,))[1] == 0
        if n == 1:
            np.testing.assert_array_equal(push(x, t)[1], np.zeros_like(x))
        np.testing.assert_allclose(pull(x, t), push(x, t)[1], atol=1e-6)
    assert gradient.cache_info().traces == 1


def test_a_spread_without_a_degree_of_freedom_has_none():
    x = np.ones((2, 1))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(anyshape.grad(lambda x: np.sum(np.std(x, axis=1, ddof=1)))(x)).all()


def test_what_a_nan_function_leaves_out_has_derivative_zero():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, np.nan]])
    for f, plain in ((np.nanstd, np.std), (np.nanvar, np.var), (np.nanmax, np.max), (np.nanmean, np.mean)):
        gradient = anyshape.grad(lambda x, f=f: np.sum(f(x, axis=1)))(x)
        expected = np.zeros_like(x)
        for i, row in enumerate(x):
            expected[i, ~np.isnan(row)] = anyshape.grad(lambda r, p=plain: p(r))(row[~np.isnan(row)])
        np.testing.assert_allclose(gradient, expected, atol=1e-15)


EXTREMES = {
    "max": lambda x: np.max(x, axis=1),
    "min": lambda x: np.min(x, axis=1),
    "ptp": lambda x: np.ptp(x, axis=1),
    "max from a number": lambda x: np.max(x, axis=1, initial=-9.0),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1)[:, -1],
    "minimum.accumulate": lambda x: np.minimum.accumulate(x, axis=1)[:, -1],
    "norm": lambda x: np.linalg.norm(x, np.inf, axis=1),
    "pairs": lambda x: np.maximum(np.maximum(x[:, 0], x[:, 1]), x[:, 2]),
    "median": lambda x: np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, 0.3, axis=1),
}


@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_nan_stays_visible_in_its_line_alone(extreme, position):
    """Reverse mode has NaN where forward mode has, and the other line is as without NaN."""
    whole = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    x = whole.copy()
    x[0, position] = np.nan
    f = lambda x: np.sum(extreme(x) * np.array([2.0, 3.0]))
    gradient = anyshape.grad(f)(x)
    assert np.isnan(gradient[0]).any()
    np.testing.assert_array_equal(gradient[1], anyshape.grad(f)(whole)[1])
    _, tangents = anyshape.jvp(extreme, (x,), (np.ones_like(x),))
    assert np.isnan(tangents[0]) and np.isfinite(tangents[1])
    mapped = anyshape.vmap(anyshape.grad(lambda row: extreme(row[None])[0]))(x)
    np.testing.assert_array_equal(np.isnan(mapped).any(1), [True, False])


@pytest.mark.parametrize("function", [np.max, np.min, np.argmax, np.argmin, np.ptp, softmax])
def test_an_empty_axis_without_a_result_raises_at_the_call(function):
    jitted = anyshape.jit(lambda x: function(x, axis=0))
    assert jitted(np.ones((2, 3))).size == (6 if function is softmax else 3)
    with pytest.raises(SizeMismatchError, match=r"x.shape\[0\] \(0\) must be at least 1"):
        jitted(np.ones((0, 3)))
    assert jitted(np.ones((2, 0))).size == 0
    assert jitted.cache_info().traces == 1


def test_results_of_empty_axes():
    empty = np.zeros((0, 2))
    for function, expected in ((np.sum, [0, 0]), (np.prod, [1, 1]), (np.any, [False] * 2), (np.all, [True] * 2)):
        np.testing.assert_array_equal(anyshape.jit(lambda x, f=function: f(x, axis=0))(empty), expected)
    for function in (np.mean, np.var, np.std, np.median, np.nanmean):
        assert np.isnan(anyshape.jit(lambda x, f=function: f(x, axis=0))(empty)).all()
    np.testing.assert_array_equal(anyshape.jit(lambda x: np.logaddexp.reduce(x))(empty), [-np.inf] * 2)


def test_contractions_of_unequal_sizes_raise():
    product = anyshape.jit(lambda x, y: x @ y)
    with pytest.raises(SizeMismatchError, match=r"x.shape\[1\] \(3\) must equal y.shape\[0\] \(4\)") as caught:
        product(np.ones((2, 3)), np.ones((4, 2)))
    assert isinstance(caught.value, ValueError) and set(caught.value.sizes.values()) == {3, 4}
    assert product(np.ones((2, 3)), np.ones((3, 1))).shape == (2, 1)
    with pytest.raises(ShapeError, match="scalar"):
        anyshape.jit(lambda x: x @ 2.0)(np.ones(3))
    with pytest.raises(ShapeError):
        anyshape.jit(lambda x: np.reshape(x, (2, 3)) @ np.ones((2, 2)))(np.ones(6))


def test_options_without_a_meaning_raise():
    x = np.ones((2, 3))
    with pytest.raises(ShapeError, match="`out` has 1 axes"):
        anyshape.jit(lambda x: np.sum(x, out=np.zeros(3)))(x)
    outside = np.zeros((2, 2))
    with pytest.raises(MutationError):
        anyshape.jit(lambda x: np.matmul(x, x.T, out=outside))(x)
    product = anyshape.jit(lambda x: np.matmul(x, x.T, out=np.zeros((2, 2))))
    np.testing.assert_array_equal(product(x), x @ x.T)
    with pytest.raises(ArgumentError, match="initial"):
        anyshape.jit(lambda x: np.max(x, where=x > 0))(x)
    with pytest.raises(np.exceptions.AxisError):
        anyshape.jit(lambda x: np.sum(x, axis=2))(x)
