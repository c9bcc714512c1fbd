"""Test derivatives of inverse distribution functions: where SciPy clamps them, at ends, and in halves of a family."""

import numpy as np
import pytest
import scipy.stats

from anyshape import grad, jit
from anyshape.scipy import special, stats


@pytest.mark.parametrize(
    ("function", "clamped", "inside"),
    [
        (lambda p: special.pdtrik(p, 0.5), 0.3, 0.95),
        (lambda p: special.bdtrik(p, 5.0, 0.3), 0.05, 0.6),
        (lambda p: special.nbdtrik(p, 3.0, 0.5), 0.05, 0.6),
        (lambda p: special.fdtridfd(2.0, p, 1.0), 0.9, 0.3),
        (lambda p: special.stdtridf(p, 1.0), 0.9, 0.77),
        (lambda p: special.chndtrinc(1.0, 2.0, p), 0.9, 0.2),
    ],
)
def test_a_clamped_result_has_no_slope(function, clamped, inside):
    assert grad(function)(clamped) == 0.0 == grad(grad(function))(clamped)
    step = 1e-4
    values = jit(function)
    numeric = (values(inside + step) - values(inside - step)) / (2 * step)
    np.testing.assert_allclose(grad(function)(inside), numeric, rtol=1e-4)


@pytest.mark.parametrize(
    "name, share, end",
    [("gammaincinv", 0.0, 0.0), ("gammainccinv", 1.0, 0.0), ("betaincinv", 0.0, 0.0), ("betaincinv", 1.0, 1.0),
     ("betainccinv", 1.0, 0.0), ("betainccinv", 0.0, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("a", [0.7, 1.0, 2.5])
def test_ends_of_a_range_are_the_same_for_all_parameters(name, share, end, a):
    function = getattr(special, name)
    further = (2.5,) if name.startswith("beta") else ()
    inverse = lambda a: function(a, *further, share)
    assert inverse(a) == end
    assert grad(inverse)(a) == 0 and grad(grad(inverse))(a) == 0


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_half_of_a_symmetric_family_leaves_the_other_half_alone(share):
    quantile = lambda a: stats.dgamma.ppf(share, a)
    expected = (scipy.stats.dgamma.ppf(share, 1.5 + 1e-6) - scipy.stats.dgamma.ppf(share, 1.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(grad(quantile)(1.5), expected, rtol=1e-6)
