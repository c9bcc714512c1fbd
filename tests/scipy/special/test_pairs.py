"""Functions of `anyshape.scipy.special` with two or with complex results, and elliptic integrals."""

import functools

import numpy as np
import pytest
import scipy.special

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError
from anyshape.scipy import special

X = np.array([0.2, 1.3, 2.9, 7.0])
PHI = np.array([-9.0, -3.2, -1.0, 0.0, 1.3, 2.9])
M = np.array([-3.0, -0.5, 0.1, 0.7, 0.3, 0.9])


@pytest.mark.parametrize("name", ["sici", "shichi", "fresnel"])
def test_pairs_are_scipys_and_have_derivatives(name):
    function, expected = getattr(special, name), getattr(scipy.special, name)(X)
    np.testing.assert_allclose(jit(function)(X), expected, 1e-14)
    np.testing.assert_allclose(vmap(function)(X), expected, 1e-14)
    assert jit(function)(X.astype(np.float32))[0].dtype == np.float32
    check_grads(function, (X[:3],), order=2)
    slope = {"sici": 1.0, "shichi": 1.0, "fresnel": 0.0}[name]
    np.testing.assert_allclose(grad(lambda x: function(x)[0])(0.0), slope, 1e-14)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 1), (2, -1), (3, 2), (4, 4)])
def test_harmonics_have_derivatives_inside_and_outside_of_the_range_of_the_polar_angle(n, m):
    theta, phi = np.array([0.2, 1.7, -0.3, 3.5, 7.0]), np.array([0.0, 1.0, 2.0, -3.0, 5.0])

    def function(theta, phi):
        return special.sph_harm_y(n, m, theta, phi)

    np.testing.assert_allclose(jit(function)(theta, phi), scipy.special.sph_harm_y(n, m, theta, phi), 1e-13)
    check_grads(function, (theta, phi), order=2)
    one_sided = scipy.special.sph_harm_y(n, m, np.array([0.0, 1e-7]), 0.5).real
    at_pole = grad(lambda theta: np.real(special.sph_harm_y(n, m, theta, 0.5)))(0.0)
    np.testing.assert_allclose(at_pole, (one_sided[1] - one_sided[0]) / 1e-7, atol=1e-6)


def test_lambertw_of_scipy_is_served_where_its_own_code_calls_it():
    own = functools.partial(scipy.special.lambertw, k=-1)  # jit puts no function of anyshape in its place
    np.testing.assert_allclose(jit(lambda x: own(x))(X), scipy.special.lambertw(X, k=-1), 1e-14)
    of_size = jit(lambda x: x * own(-0.1 / x.shape[0]).real)
    for n in (1, 4):
        np.testing.assert_allclose(of_size(X[:n]), X[:n] * scipy.special.lambertw(-0.1 / n, -1).real, 1e-14)


def test_lambertw_and_the_faddeeva_function_are_complex():
    for k in (0, -1, 2):
        z = X + 0.5j
        np.testing.assert_allclose(jit(lambda z, k=k: special.lambertw(z, k))(z), scipy.special.lambertw(z, k), 1e-14)
        check_grads(lambda z, k=k: special.lambertw(z, k), (z,), order=2)
    assert grad(lambda z: np.real(special.lambertw(z)))(0.0) == 1
    check_grads(special.wofz, (X[:2] + 0.5j,), order=2)
    with pytest.raises(ArgumentError, match="diff_n"):
        jit(lambda x: special.sph_harm_y(1, 1, x, x, diff_n=1))(X)


def test_elliptic_integrals_have_derivatives_by_both_arguments():
    for name in ("ellipkinc", "ellipeinc"):
        function = getattr(special, name)
        np.testing.assert_allclose(jit(function)(PHI, M), getattr(scipy.special, name)(PHI, M), 1e-14)
        check_grads(function, (PHI, M), order=2)
    for name in ("ellipk", "ellipe"):
        check_grads(getattr(special, name), (M,), order=2)
    # the numbers come from mpmath
    np.testing.assert_allclose(grad(lambda m: special.ellipkinc(0.5, m))(3.0), 0.05382601594672395, 1e-13)
    np.testing.assert_allclose(grad(special.ellipkm1)(1e-20), -0.5e20, 1e-12)
    third = grad(grad(grad(lambda m: special.ellipkinc(0.3, m))))
    np.testing.assert_allclose(third(0.2), _third(lambda m: scipy.special.ellipkinc(0.3, m), 0.2), 1e-4)


def _third(f, x, h=1e-2):
    """Return a third derivative by differences."""
    return (f(x + 2 * h) - 2 * f(x + h) + 2 * f(x - h) - f(x - 2 * h)) / (2 * h**3)


def test_signs_and_logarithms_of_gamma():
    x = np.array([-1.5, -0.5, 0.3, 2.5])
    np.testing.assert_array_equal(jit(special.gammasgn)(x), scipy.special.gammasgn(x))
    np.testing.assert_array_equal(grad(lambda x: special.gammasgn(x).sum())(x), np.zeros(4))
    np.testing.assert_allclose(jit(special.loggamma)(x), scipy.special.loggamma(x), 1e-14)
    check_grads(special.loggamma, (x[2:],), order=2)


@pytest.mark.skipif(not hasattr(scipy.special, "legendre_p"), reason="SciPy has it since 1.15")
def test_legendre_polynomials_with_derivatives():
    z = np.array([-0.99, 0.0, 0.3, 1.0, 1.5])
    one = jit(lambda n, z: special.legendre_p(n, z, diff_n=2))
    for n in (0, 1, 2, 30):
        for x in (z, z[:0], z[2]):
            np.testing.assert_allclose(one(n, x), scipy.special.legendre_p(n, x, diff_n=2), 1e-11, 1e-13)
    for x in (z, z.astype(np.float32)):
        actual = jit(lambda z: special.legendre_p_all(4, z, diff_n=1))(x)
        expected = scipy.special.legendre_p_all(4, x, diff_n=1)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, 1e-6 if x.dtype == np.float32 else 1e-12, 1e-14)
    np.testing.assert_allclose(grad(lambda z: special.legendre_p(3, z)[0])(0.3), one(3, 0.3)[1], 1e-14)
    with pytest.raises(TypeError, match="integers"):
        jit(special.legendre_p)(1.5, z)


def test_bessel_functions_of_all_orders_under_jaxs_name():
    z = np.array([0.3, 20.0])
    expected = [scipy.special.jv(order, z) for order in range(4)]
    for function in (special.bessel_jn, jit(lambda z, v: special.bessel_jn(z, v=v), static_argnames="v")):
        np.testing.assert_allclose(function(z, v=3), expected, 1e-14)
