"""Tests of functions that give arrays without axes where others give scalars."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import jit
from anyshape.numpy.operands.reduction_args import is_numpy_scalar

X = np.arange(1.0, 4.0)


def stands_for(function, *args):
    """Return the class that the result of a function has in its trace."""
    classes = []
    jit(lambda *args: (classes.append(function(*args).__class__), args[0])[1])(*args)
    return classes[0]


@pytest.mark.parametrize(
    "function",
    [
        *[lambda x: anp.asarray(x[0]), lambda x: anp.zeros(()), lambda x: anp.full((), x[0]), lambda x: np.copy(x[0])],
        *[lambda x: np.where(x[0] > 1, 1.0, 2.0), lambda x: np.broadcast_to(x[0], ()), lambda x: np.tensordot(x, x, 1)],
        *[lambda x: x[0, ...], lambda x: x[:1].squeeze(), lambda x: x[:1].reshape(()), lambda x: np.cov(x)],
    ],
)
def test_functions_that_make_arrays(function):
    assert stands_for(function, X) is np.ndarray is type(function(X))


@pytest.mark.parametrize(
    "function", [np.squeeze, np.transpose, lambda x: x.reshape(()), lambda x: x.astype(np.float64)]
)
@pytest.mark.parametrize("x", [np.array(2.0), np.float64(2.0)], ids=["array", "scalar"])
def test_functions_that_keep_the_class(function, x):
    assert stands_for(function, x) is type(function(x)) is type(x)


@pytest.mark.parametrize("x", [np.array(2.0), np.float64(2.0), 2.0, 2, True], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("function", [np.real, np.imag, lambda x: x.conjugate(), lambda x: x.real])
def test_parts_of_a_number_are_numbers_of_its_class(function, x):
    assert stands_for(function, x) is type(function(x))


@pytest.mark.parametrize(
    "function", [np.max, np.sum, np.sin, np.abs, lambda x: x + np.float64(1), lambda x: np.round(x)]
)
@pytest.mark.parametrize("x", [np.array(2.0), np.float64(2.0), 2.0], ids=["array", "scalar", "float"])
def test_results_are_scalars(function, x):
    assert stands_for(function, x) is np.float64 is type(function(x))


def test_numpy_scalars_are_told_from_arrays_and_python_numbers():
    answers = []
    jit(lambda *args: (answers.extend(map(is_numpy_scalar, args)), args[0])[1])(X, np.array(2.0), np.float64(2.0), 2.0)
    assert answers == [False, False, True, False]


@pytest.mark.parametrize("x", [np.bool_(True), np.array(True), True], ids=["scalar", "array", "Python"])
def test_squares_of_bools(x):
    square = jit(lambda x: x**2)(x)
    assert square == 1 and square.dtype == np.asarray(x**2).dtype


@pytest.mark.parametrize("x", [True, 5, 2.5, 2**63])
def test_rounded_python_numbers(x):
    assert jit(round)(x) == round(x)


@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_rounded_integers_are_scalars_as_in_numpy(decimals):
    for x in (13, np.int32(17), np.array(25), np.arange(3)):
        expected, result = np.round(x, decimals), jit(lambda x: np.round(x, decimals))(x)
        assert type(result) is type(expected) and result.dtype == expected.dtype and np.array_equal(result, expected)


def test_a_concrete_array_of_no_axes_is_a_size():
    k, x = np.asarray(3), np.arange(3.0)
    for f in (lambda x: np.linspace(x.sum(), 1, k), lambda x: anp.full(k, x.sum()), lambda x: np.broadcast_to(x, k)):
        np.testing.assert_array_equal(jit(f)(x), f(x))
