"""Complex numbers beside real ones: where a part is infinite or NaN, results have the parts that NumPy's have.

NumPy takes a real number for a complex one, so that an infinite part makes the other one NaN.
"""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from tests.backend.native.compiled import compiled, needs_compiler

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310)
FUNCTIONS = {
    "median": lambda np, x: np.median(x, axis=-1),
    "mean": lambda np, x: np.mean(x, axis=-1),
    "mean of numbers": lambda np, x: np.nanmean(np.stack([x, x * np.nan]), axis=-1),
    "gradient": lambda np, x: np.gradient(x, axis=-1),
    "gradient of order 2": lambda np, x: np.gradient(x, 2.0, axis=-1, edge_order=2),
    "linspace": lambda np, x: np.linspace(x[0], x[1], 5),
    "logspace": lambda np, x: np.logspace(x[0], x[1], 4),
    "trapezoid": lambda np, x: np.trapezoid(x, dx=0.5),
    "scaled": lambda np, x: np.stack([x * 2.0, 2 * x, x * -1, 1 * x, x * x.real]),
    "divided": lambda np, x: np.stack([x / 2.0, 2.0 / x, x / -1, x / 1, x / x.real]),
    "powers": lambda np, x: np.stack([x**2, x**0.5, x**-1]),
    "variance": lambda np, x: np.var(x, axis=-1),
    "ramp": lambda np, x: x * np.arange(x.shape[-1]),
    "polynomial": lambda np, x: np.polyval([1.0, 2.0, 3.0], x),
}  # fmt: skip


def draw(rng, shape):
    """Return complex numbers of special parts and, as many, small integers."""
    x = np.empty(shape, complex)
    x.real, x.imag = rng.choice(PARTS, shape), rng.choice(PARTS, shape)
    return np.where(rng.integers(0, 2, shape), x, rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape))


def unlike(jitted, function, count):
    """Yield arguments for which a part of a result is not NumPy's."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        x = draw(rng, (rng.integers(2, 4), rng.integers(3, 8)))
        ours, theirs = np.asarray(jitted(x)), function(np, x)
        parts = [np.stack([y.real, y.imag]) for y in (ours, theirs)]
        if ours.dtype != theirs.dtype or not np.allclose(*parts, 1e-12, 0, equal_nan=True):
            yield f"{x}: {ours}, NumPy {theirs}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_beside_infinities_are_those_of_numpy(name):
    function = FUNCTIONS[name]
    assert not list(unlike(anyshape.jit(lambda x: function(anp, x)), function, 20))


@needs_compiler
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_beside_infinities_are_those_of_numpy_in_machine_code(name):
    function = FUNCTIONS[name]
    assert not list(unlike(compiled(lambda x: function(anp, x)), function, 100))


def test_multiples_of_a_part_that_is_lost_are_not():
    tiny = 5e-324
    both = (np.array([0.0, 1.0]), np.array([3 * tiny, 2.0]))
    np.testing.assert_array_equal(anyshape.jit(lambda x: anp.linspace(0 * x, x, 5))(tiny), np.linspace(0, tiny, 5))
    np.testing.assert_array_equal(anyshape.jit(lambda x, y: anp.linspace(x, y, 7))(*both), np.linspace(*both, 7))
