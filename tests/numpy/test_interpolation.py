"""`np.interp` on traced arrays gives every bit that NumPy gives, has NumPy's edges, and refuses what NumPy refuses."""

import numpy as np
import pytest

import anyshape
from anyshape.errors import ShapeError, SizeMismatchError

OPTIONS = [{}, {"left": -7.0, "right": 9}, {"period": 1.5}, {"period": -2.0}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 4)])
def test_every_bit_is_numpys(shape, count, options):
    rng = np.random.default_rng(count)
    xp, fp = np.sort(rng.uniform(-2, 2, count)), rng.normal(size=count)
    edges = [] if "period" in options else [np.resize([np.nan, np.inf, -np.inf], shape)]
    step = anyshape.jit(lambda x, xp, fp: np.interp(x, xp, fp, **options))
    for x in [rng.uniform(-3, 3, shape), np.resize(xp, shape), *edges]:
        np.testing.assert_array_equal(step(x, xp, fp), np.interp(x, xp, fp, **options))


@pytest.mark.parametrize("fp", [[0, np.inf, 1], [np.inf, np.inf, 1], [np.nan, 1, 2], [-np.inf, np.inf, np.inf]])
@pytest.mark.parametrize("xp", [[0.0, 1, 2], [-np.inf, 0, np.inf], [-np.inf, 0, 1], [0, 1, 1]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_points_that_are_not_finite_or_equal(xp, fp):
    x = np.array([-1, 0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf])
    step = anyshape.jit(np.interp)
    np.testing.assert_array_equal(step(x, np.array(xp), np.array(fp)), np.interp(x, xp, fp))


def test_the_slope_at_a_point_is_that_of_the_segment_after_it():
    derivative = anyshape.grad(lambda x: np.sum(np.interp(x, np.array([0.0, 1, 2]), np.array([0.0, 1, 3]))))
    np.testing.assert_array_equal(derivative(np.array([-1.0, 0, 1, 2, 3])), [0, 1, 2, 2, 0])


@pytest.mark.parametrize(
    ("xp", "fp", "options", "kind", "words"),
    [
        (np.ones(0), np.ones(0), {}, SizeMismatchError, "must be at least 1"),
        (np.ones(2), np.ones(3), {}, SizeMismatchError, "must equal"),
        (np.ones((2, 2)), np.ones(2), {}, ShapeError, "xp and fp must be vectors"),
        (np.ones(2), np.ones(2), {"period": 0}, ShapeError, "the period is 0"),
    ],
)
def test_numpy_and_traces_refuse_the_same(xp, fp, options, kind, words):
    with pytest.raises(ValueError):
        np.interp(np.ones(3), xp, fp, **options)
    with pytest.raises(kind, match=words):
        anyshape.jit(lambda x, xp, fp: np.interp(x, xp, fp, **options))(np.ones(3), xp, fp)
