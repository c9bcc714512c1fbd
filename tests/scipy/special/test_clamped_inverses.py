"""Test derivatives of inverse distribution functions where SciPy clamps a result that does not exist."""

import numpy as np
import pytest

from anyshape import grad, jit
from anyshape.scipy import special


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
