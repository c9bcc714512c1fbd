"""Test that functions of real numbers refuse complex ones, whose imaginary part a cast would drop."""

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import anyshape.numpy as anp
from anyshape import jit
from anyshape.errors import DTypeError
from anyshape.scipy import interpolate, linalg, optimize, special, stats
from anyshape.scipy.spatial import distance

Z = np.array([0.3 + 0.2j, 0.7 - 0.1j, 0.5 + 0.4j])
TABLE = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda z: special.fresnel(z),
        lambda z: special.sici(z),
        lambda z: special.jn(2, z),
        lambda z: stats.norm.pdf(z),
        lambda z: stats.norm.ppf(z),
        lambda z: stats.gamma.cdf(0.5, anp.sum(z)),
        lambda z: stats.multivariate_normal.logpdf(z),
        lambda z: interpolate.interp1d(TABLE, TABLE)(z),
        lambda z: interpolate.CubicSpline(TABLE, TABLE)(z),
        lambda z: optimize.minimize(lambda p: anp.sum((p - z) ** 2), np.ones(3)).x,
        lambda z: optimize.brentq(lambda p: p - z[0], 0.0, 1.0),
        lambda z: distance.cdist(z[:, None], z[:, None]),
        lambda z: distance.sqeuclidean(z, 2 * z),
    ],
)
def test_complex_operands_are_refused(function):
    with pytest.raises(DTypeError, match="complex"):
        jit(function)(Z)


def test_complex_values_of_a_table_stay_complex():
    ours = jit(lambda z: interpolate.interp1d(TABLE, z)(np.array([0.5])))(Z)
    np.testing.assert_allclose(ours, [(Z[0] + Z[1]) / 2], rtol=1e-14)


def test_the_diagonal_of_a_hermitian_matrix_is_real():
    matrix = np.array([[2.0 + 1j, 0.0], [0.3 - 0.4j, 1.5 - 2j]])
    np.testing.assert_allclose(jit(linalg.pinvh)(matrix), scipy.linalg.pinvh(matrix), rtol=1e-13, atol=1e-15)


def test_results_of_single_precision_have_the_dtype_of_scipy():
    a = np.array([[2.0, 0.5], [0.3, 1.5]], np.float32)
    pairs = [
        (jit(linalg.det)(a), scipy.linalg.det(a)),
        (jit(lambda a: linalg.fractional_matrix_power(a, 0.5))(a), scipy.linalg.fractional_matrix_power(a, 0.5)),
        (jit(lambda a: linalg.solve_toeplitz(a[0], a[1]))(a), scipy.linalg.solve_toeplitz(a[0], a[1])),
        (jit(lambda a: special.sph_harm_y(2, 1, a, a))(a), scipy.special.sph_harm_y(2, 1, a, a)),
    ]
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
