"""Tests of NumPy's assertions on traced arrays: what passes and fails does so when the program runs, as in NumPy."""

import itertools

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit, vmap
from anyshape.errors import AnyshapeError, CheckError, ConcretizationError, UnsupportedFunctionError

NAN, INF = np.nan, np.inf
VALUES = [
    np.array([1.0, NAN, 2.0]), np.array([1.0, NAN, 2.0 + 1e-8]), np.array([1.0, 0.0, 2.0]), np.array([2.0, INF, 3.0]),
    np.array([INF, INF, -INF]), np.array([1, 0, 2]), np.array([1.0, 1.0, 1.0]), np.array(1.0), np.zeros(0),
]  # fmt: skip
NAMES = [name for name in anp.testing.__all__ if name != "assert_"]


def passes(function, x, y):
    try:
        function(x, y)
    except (AssertionError, AnyshapeError):
        return False
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_an_assertion_of_a_program_passes_where_that_of_numpy_does(name):
    ours, theirs = jit(getattr(anp.testing, name)), getattr(np.testing, name)
    wrong = [(x, y) for x, y in itertools.product(VALUES, VALUES) if passes(ours, x, y) != passes(theirs, x, y)]
    assert not wrong
    assert {passes(theirs, x, y) for x, y in itertools.product(VALUES, VALUES)} == {True, False}


def test_a_failure_names_the_line_of_the_caller():
    def f(x):
        anp.testing.assert_allclose(x, 1.0, atol=0.5, err_msg="far from one")
        anp.testing.assert_(x[0] < 1.4, "too large")
        anp.testing.assert_equal({"a": [x, 1]}, {"a": [x, 1]})
        return np.sum(x * x)

    np.testing.assert_array_equal(grad(f)(np.ones(2)), 2 * np.ones(2))
    np.testing.assert_array_equal(vmap(f)(np.ones((3, 2))), 2 * np.ones(3))
    for value, problem in ((2.0, "assert_allclose: far from one"), (1.45, "assert_: too large")):
        with pytest.raises(CheckError, match=rf"{problem}.* at test_testing\.py:\d+"):
            grad(f)(np.full(2, value))


def test_other_assertions_are_refused_by_name():
    with pytest.raises(UnsupportedFunctionError, match="assert_array_max_ulp"):
        jit(lambda x: anp.testing.assert_array_max_ulp(x, x))(np.ones(2))
    with pytest.raises(ConcretizationError, match=r"import anyshape.numpy as np, whose testing.assert_allclose takes"):
        jit(lambda x: np.testing.assert_allclose(x, x), read_source="off")(np.ones(2))
    with anp.testing.assert_raises(ValueError):
        raise ValueError
