"""Compare associated Legendre functions and spherical harmonics of all orders with SciPy, and numbers of a traced n."""

import numpy as np
import pytest
import scipy.special

from anyshape import grad, jit, vmap
from anyshape.errors import DTypeError
from anyshape.scipy import special

Z = np.array([-0.9, -0.3, 0.0, 0.2, 0.77])
ANGLES = np.array([0.0, 0.1, 1.5, 3.0, np.pi, -0.4])
ORDERS = [(n, m) for n in range(6) for m in range(-n - 1, n + 2)]

needs = pytest.mark.skipif(not hasattr(scipy.special, "assoc_legendre_p"), reason="SciPy has it since 1.15")


@needs
def test_associated_legendre_functions_with_derivatives():
    n, m = np.array(ORDERS).T[..., None]
    for norm in (False, True):
        value = lambda s, n, m, z, norm=norm: s.assoc_legendre_p(n, m, z, norm=norm, diff_n=2)
        traced = jit(lambda n, m, z, value=value: value(special, n, m, z))
        for count in (0, 1, 2, 5):
            expected = value(scipy.special, n, m, Z[:count])
            np.testing.assert_allclose(traced(n, m, Z[:count]), expected, 1e-11, 1e-10)
        assert traced.cache_info().traces == 1
    outside = np.array([-1.5, 1.5, 3.0])
    for cut in (2, 3):
        actual = jit(lambda z, cut=cut: special.assoc_legendre_p(n, m, z, branch_cut=cut, diff_n=1))(outside)
        expected = scipy.special.assoc_legendre_p(n, m, outside, branch_cut=cut, diff_n=1)
        np.testing.assert_allclose(actual, expected, 1e-10, 1e-10)
    ends = jit(lambda z: special.assoc_legendre_p(4, 2, z, diff_n=2))(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(ends, [[0, 0], [90, -90], [-510, -510]], 1e-12)


@needs
def test_spherical_legendre_functions_at_all_orders():
    n, m = np.array(ORDERS).T[..., None]
    value = lambda s, t: s.sph_legendre_p(n, m, t, diff_n=2)
    np.testing.assert_allclose(jit(lambda t: value(special, t))(ANGLES), value(scipy.special, ANGLES), 1e-10, 1e-12)
    for name in ("assoc_legendre_p_all", "sph_legendre_p_all"):
        value = lambda s, x, name=name: getattr(s, name)(3, 2, x, diff_n=1)
        np.testing.assert_allclose(jit(lambda x, v=value: v(special, x))(Z), value(scipy.special, Z), 1e-10, 1e-12)
    harmonics = lambda s, t: s.sph_harm_y_all(3, 2, t, 2 * t)
    angles = ANGLES[1:4]
    np.testing.assert_allclose(
        jit(lambda t: harmonics(special, t))(angles), harmonics(scipy.special, angles), 1e-10, 1e-12
    )


@needs
def test_their_derivatives_and_batches():
    one = lambda z: special.assoc_legendre_p(3, 1, z)[0]
    slopes = scipy.special.assoc_legendre_p(3, 1, Z, diff_n=2)
    np.testing.assert_allclose(vmap(grad(one))(Z), slopes[1], 1e-11)
    np.testing.assert_allclose(vmap(grad(grad(one)))(Z), slopes[2], 1e-10)
    with pytest.raises(DTypeError):
        jit(special.assoc_legendre_p)(1.5, 1, Z)
    for wrong in ({"branch_cut": 4}, {"diff_n": 3}):
        with pytest.raises(ValueError):
            jit(lambda z, wrong=wrong: special.assoc_legendre_p(1, 1, z, **wrong))(Z)
    with pytest.raises(ValueError):
        jit(lambda z: special.sph_legendre_p_all(-1, 1, z))(Z)


@pytest.mark.parametrize("name", ["bernoulli", "euler"])
def test_numbers_up_to_a_size_or_a_traced_integer(name):
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    by_size, by_value = jit(lambda x: ours(x.shape[0])), jit(ours)
    for n in (0, 1, 2, 5, 60, 180, 297, 302):
        np.testing.assert_allclose(by_size(np.ones(n)), theirs(n), 1e-11)
        np.testing.assert_allclose(by_value(np.array(n)), theirs(n), 1e-11)
    assert by_size.cache_info().traces == by_value.cache_info().traces == 1
