"""Single elements are read and written by position: the same bits, in place, and never a stale one."""

import warnings

import numpy as np
import pytest

from anyshape import export, grad, jit
from anyshape.errors import AnyshapeError


def ops_of(function, *args):
    """Return the names of the steps of the optimised plan."""
    made = jit(function, optimize="now")
    made(*args)
    return [step.op.name for step in made.programs()[0].plan.steps]


def swapped(x):
    """Return the array with elements that others were written to, and numbers read before and after."""
    y = x.copy()
    first = y[0]
    y[0] = y[-1]
    y[-1] = first
    y[1] += y[0]
    y[1] += x[1] * x[2]
    return y, first + y[0], y[1:] * first


def of_matrix(x):
    """Return a matrix whose corner was written to from the elements of a row."""
    y = np.stack([x, x * 2])
    y[1, 2] = y[0, 1] * y[-1, -1]
    y[0, -1] += y[1, 2]
    return y, y.T[2, 1] - y[0, 0]


@pytest.mark.parametrize("optimize", ["now", None])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "int64", "uint8", "bool"])
@pytest.mark.parametrize("function", [swapped, of_matrix])
def test_elements_have_the_bits_of_numpy(function, dtype, optimize):
    for n in (3, 5):
        x = (np.arange(n) * 37 + 90).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if np.dtype(dtype).kind in "iu" else "error")
            if dtype == "bool" and function is of_matrix:
                continue  # NumPy refuses differences of bools
            ours, theirs = jit(function, optimize=optimize)(x), function(x)
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_integers_wrap_without_a_warning_where_arrays_do():
    def function(x):
        y = x.copy()
        y[:1] += x[1:2]
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(jit(function)(np.array([200, 100], "uint8")), np.array([44, 100], "uint8"))


def test_elements_are_no_views():
    def function(x):
        y = x.copy()
        y[0] = np.sin(x[1])
        y[-1] += x[0] * x[2]
        return y

    names = ops_of(function, np.arange(5.0))
    assert {"read_element", "write_element"} < {*names} and not {"view", "slice", "reshape"} & {*names}
    many = ops_of(grad(lambda x: sum(np.sin(x[i]) * x[0] for i in range(8))), np.arange(9.0))
    assert "add_to_element" in many


def test_a_result_stays_an_array():
    for optimize in ("now", None):
        assert type(jit(lambda x: x[1], optimize=optimize)(np.ones(3))) is np.ndarray


def test_gradients_and_files_keep_elements():
    def loss(x):
        y = np.zeros_like(x)
        for i in range(1, 4):
            y[i] = x[i] ** 2 * y[i - 1] + x[0]
        return (y * x).sum()

    x = np.linspace(0.4, 1.5, 5)
    slopes = np.array([loss(x + 1e-30j * row).imag / 1e-30 for row in np.eye(5)])
    np.testing.assert_allclose(jit(grad(loss), optimize="now")(x), slopes, rtol=1e-12)
    np.testing.assert_allclose(export(grad(loss))(x)(x), slopes, rtol=1e-12)


def test_an_element_out_of_range_is_an_error():
    made = jit(lambda x: np.sin(x[3]), optimize="now")
    assert made(np.ones(4)) == np.sin(1.0)
    with pytest.raises((AnyshapeError, IndexError), match="must be at least 4"):
        made(np.ones(3))
