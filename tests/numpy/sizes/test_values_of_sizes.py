"""Scalars that sizes alone decide are numbers for Python, as `1 / n` is in plain NumPy, and a guard keeps the sizes."""

import math

import numpy as np
import pytest

import anyshape
from anyshape.errors import ConcretizationError

pytestmark = pytest.mark.usefixtures("as_written")

USES = {
    "full": lambda n: np.full(n, 1 / n),
    "full of a root": lambda n: np.full((n, 2), np.sqrt(n)),
    "arange of floats": lambda n: np.arange(0.5, n),
    "arange by a step": lambda n: np.arange(0, 1, 0.5 / n),
    "array of a list": lambda n: np.array([n, n / 2, 1 - 1 / n]),
    "asarray of a dtype": lambda n: np.asarray(n / 2, np.float32),
    "float": lambda n: float(1 - 1 / n**2),
    "complex": lambda n: complex(n * 0.5),
    "item": lambda n: np.float64(np.sqrt(n)).item() if isinstance(n, int) else np.sqrt(n).item(),
    "math": lambda n: math.exp(-1.5 / n),
    "float32": lambda n: float(np.float32(0.1) * n),
}


@pytest.mark.parametrize("use", USES)
def test_a_number_made_of_sizes_is_one_for_python(use):
    """NumPy's constructors and Python's conversions take it, for each size, in derivatives and in batches."""
    f = lambda x: np.sum(x**2) * np.sum(USES[use](x.shape[0]))
    value, slope, batch = (
        anyshape.jit(f),
        anyshape.jit(anyshape.grad(lambda x: f(x).real)),
        anyshape.jit(anyshape.vmap(f)),
    )
    for n in (1, 2, 5):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(value(x), f(x), rtol=1e-15)
        np.testing.assert_allclose(slope(x), 2 * x * np.sum(USES[use](n)).real, rtol=1e-14)
        np.testing.assert_allclose(batch(np.stack([x, 2 * x])), [f(x), f(2 * x)], rtol=1e-14)


def test_a_number_of_elements_is_refused_still():
    """The number would be a constant of every derivative and of every call."""
    with pytest.raises(ConcretizationError, match=r"float\(\) needs the value"):
        anyshape.jit(lambda x: np.full(3, float(x.sum() / x.shape[0])))(np.ones(3))
    with pytest.raises(ConcretizationError, match="needs the value"):
        anyshape.jit(lambda x, k: np.full(3, k / x.shape[0]))(np.ones(3), np.float64(2))


def test_a_division_by_a_number_of_selected_elements_is_checked_by_the_run():
    """One program serves all numbers, and raises Python's error for none."""

    def f(x):
        m = x[x > 0].shape[0]
        return x * (1 / m) + 7 // m + 7 % m

    jitted = anyshape.jit(f)
    for x in (np.array([1.0, -1.0]), np.array([1.0, 2.0, 3.0]), np.array([5.0])):
        np.testing.assert_array_equal(jitted(x), f(x))
    assert len(jitted.programs()) == 1
    with pytest.raises(ZeroDivisionError, match=r"1 / m: count \(0, the number of true elements\) must not be 0"):
        jitted(np.array([-1.0]))


def test_trips_divide_by_numbers_of_their_own():
    """In the body of a loop the check is one of its trip."""

    def f(x):
        return anyshape.scan(lambda c, v: (c + v / x[x >= v].shape[0] + 1 / x[x >= v].shape[0], None), 0.0, x)[0]

    for x in (np.array([1.0, 3.0, 2.0]), np.array([2.0])):
        expected = sum(v / np.sum(x >= v) + 1 / np.sum(x >= v) for v in x)
        np.testing.assert_allclose(anyshape.jit(f)(x), expected)
    divides = anyshape.jit(lambda x: anyshape.scan(lambda c, v: (c + 1 / x[x > v].shape[0], None), 0.0, x)[0])
    with pytest.raises(ZeroDivisionError, match="must not be 0"):
        divides(np.array([1.0, 2.0]))
