"""Derivatives of reductions where a formula would divide by zero, at ties, and of empty arrays."""

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError, MutationError, ShapeError, SizeMismatchError, UnsupportedFunctionError
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


def test_the_standard_deviation_of_equal_elements_has_no_derivative():
    """The slope of a square root at 0 times 0: NaN, as in JAX; the variance is fine."""
    assert np.isnan(anyshape.grad(lambda x: np.std(x))(np.ones(3))).all()
    np.testing.assert_array_equal(anyshape.grad(lambda x: np.var(x))(np.ones(3)), np.zeros(3))


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
    for call in (lambda x: np.sum(x, out=np.zeros(3)), lambda x: np.matmul(x, x.T, out=np.zeros((2, 2)))):
        with pytest.raises((UnsupportedFunctionError, MutationError)):
            anyshape.jit(call)(x)
    with pytest.raises(ArgumentError, match="initial"):
        anyshape.jit(lambda x: np.max(x, where=x > 0))(x)
    with pytest.raises(np.exceptions.AxisError):
        anyshape.jit(lambda x: np.sum(x, axis=2))(x)
