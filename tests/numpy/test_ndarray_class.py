"""`numpy.ndarray` in traced functions: a constructor, and a class; and shapes that are assigned."""

import operator

import numpy
import pytest

import anyshape.numpy as np
from anyshape import grad, jit, vmap
from anyshape.errors import ConcretizationError, MutationError


def test_the_constructor_makes_arrays_that_hold_traced_values():
    @jit
    def powers(x):
        y = np.ndarray((x.shape[0], 2), dtype=x.dtype)
        z = np.ndarray(3)
        y[:, 0], y[:, 1] = x, x * x
        z[:] = 1
        z[0] = x.sum()
        return y, z

    for n in (0, 1, 4):
        x = numpy.arange(float(n))
        y, z = powers(x)
        numpy.testing.assert_array_equal(y, numpy.stack([x, x * x], 1))
        numpy.testing.assert_array_equal(z, [x.sum(), 1, 1])


def test_an_array_over_a_buffer_is_numpys():
    made = jit(lambda x: x + np.ndarray((2,), "u1", buffer=b"ab"))
    numpy.testing.assert_array_equal(made(numpy.zeros(2)), [97, 98])


def test_the_class_is_numpys():
    class Named(np.ndarray):
        """Subclass of NumPy's class."""

    @jit
    def checked(x):
        class Inner(np.ndarray):
            """Subclass of the class inside of a trace."""

        assert isinstance(x, np.ndarray) and isinstance(numpy.ones(2), np.ndarray) and not isinstance(2, np.ndarray)
        assert issubclass(numpy.matrix, np.ndarray) and issubclass(Named, np.ndarray)
        assert operator.eq(type(numpy.ones(2)), np.ndarray) and {numpy.ndarray: 1}[np.ndarray]
        assert isinstance(numpy.ones(2).view(Inner), Inner) and not isinstance(numpy.ones(2), Inner)
        assert type(Inner((2,), int)) is Inner
        return x

    checked(numpy.ones(2))
    assert np.ndarray is numpy.ndarray


def reshaped(x):
    """Return arrays whose shape was assigned, and what was written through them."""
    y = x * x
    view = y[1:]
    y.shape = (2, -1)
    view[0] = -1.0
    y[1] += x[0]
    y.shape = y.size
    z = x + 0.0
    z.shape = (-1, 1)
    return y, z, view


def test_assigned_shapes_are_those_of_numpy():
    for n in (2, 4, 6):
        x = numpy.linspace(0.5, 2.0, n)
        for ours, theirs in zip(jit(reshaped)(x), reshaped(x), strict=True):
            numpy.testing.assert_allclose(ours, theirs)
        slopes = [(reshaped(x + 1e-30j * row)[0] ** 2).sum().imag / 1e-30 for row in numpy.eye(n)]
        numpy.testing.assert_allclose(grad(lambda x: (reshaped(x)[0] ** 2).sum())(x), slopes, atol=1e-12)
        numpy.testing.assert_allclose(vmap(reshaped)(numpy.stack([x, x]))[1][1], reshaped(x)[1])


def test_a_copy_of_an_argument_takes_another_shape():
    def column(x):
        y = x.copy()
        y.shape = (-1, 1)
        y[0] = 7.0
        return y

    for n in (1, 2, 5):
        x = numpy.arange(float(n))
        numpy.testing.assert_array_equal(jit(column)(x), column(x))
        numpy.testing.assert_array_equal(x, numpy.arange(float(n)))


def test_view_shares_the_elements():
    def write(x):
        x.view()[0] = 5.0
        x.view(numpy.ndarray)[-1] += 2.0
        x.view(float)[1:] *= 3.0
        return x.copy()

    for n in (1, 2, 5):
        ours, theirs = numpy.arange(float(n)), numpy.arange(float(n))
        numpy.testing.assert_array_equal(jit(write)(ours), write(theirs))
        numpy.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ConcretizationError, match="view"):
        jit(lambda x: x.view(int))(numpy.ones(3))


def test_an_argument_keeps_its_shape():
    def assign(x):
        x.shape = (2, 2)
        return x

    with pytest.raises(MutationError, match=r"write x = x.reshape\(s\)"):
        jit(assign)(numpy.ones(4))
    with pytest.raises(MutationError, match=r"write x = x.reshape\(s\)"):
        jit(lambda x: assign(x[:]))(numpy.ones(4))
