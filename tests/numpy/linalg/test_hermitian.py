"""Check the one convention of functions of Hermitian matrices: one triangle is read, tangents count as a part."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import grad, jit, jvp
from anyshape.scipy import linalg


def ramp(a):
    """Return 1, 2, ..., as many as a matrix has columns."""
    return np.cumsum(np.ones_like(a[:1].real))


# name: function of a module of NumPy's or SciPy's names and of a matrix, and whether the lower triangle is read
FUNCTIONS = {
    "cholesky": (lambda la, a: np.linalg.cholesky(a), True),
    "cholesky upper": (lambda la, a: np.linalg.cholesky(a, upper=True), False),
    "eigvalsh": (lambda la, a: np.linalg.eigvalsh(a), True),
    "eigvalsh upper": (lambda la, a: np.linalg.eigvalsh(a, "U"), False),
    "eigh": (lambda la, a: np.linalg.eigh(a)[0], True),
    "singular values": (lambda la, a: np.linalg.svd(a, compute_uv=False, hermitian=True), True),
    "pinv": (lambda la, a: np.linalg.pinv(a, hermitian=True), True),
    "scipy cholesky": (lambda la, a: la.cholesky(a), False),
    "scipy eigvalsh": (lambda la, a: la.eigvalsh(a, lower=False), False),
    "pencil": (lambda la, a: la.eigvalsh(a, np.diag(ramp(a))), True),
    "second of a pencil": (lambda la, a: la.eigvalsh(np.diag(ramp(a)), a, lower=False), False),
    "pinvh": (lambda la, a: la.pinvh(a), True),
    "pinvh upper": (lambda la, a: la.pinvh(a, lower=False), False),
    **{
        f"{function} {structure}{' lower' * lower}": (call, lower)
        for structure in ("sym", "her", "pos")
        for lower in (False, True)
        for function, call in (
            ("inv", lambda la, a, s=structure, k=lower: la.inv(a, assume_a=s, lower=k)),
            ("solve", lambda la, a, s=structure, k=lower: la.solve(a, ramp(a), k, assume_a=s)),
        )
    },
}


def positive(n, dtype, seed=0):
    """Return a Hermitian matrix with eigenvalues far apart and above 0."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype == "complex128" else 0)
    return 0.1 * (a + a.conj().T) + np.diag(3.0 * np.arange(1, n + 1))


def with_noise(a, lower):
    """Return a matrix with other numbers in the triangle that is not read."""
    noise = np.random.default_rng(1).normal(size=a.shape)
    return a + (np.triu(noise, 1) if lower else np.tril(noise, -1))


def total(x):
    """Return an uneven sum of real and imaginary parts."""
    weights = np.reshape(np.cos(np.arange(float(np.size(x)))), np.shape(x))
    return np.sum(weights * (np.real(x) + 0.5 * np.imag(x)))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_triangle_is_read(name, dtype):
    function, lower = FUNCTIONS[name]
    traced = jit(lambda a: function(linalg, a))
    for n in (0, 1, 2, 5):
        a = with_noise(positive(n, dtype), lower)
        if "sym" in name:
            a = a + 0.1j * np.eye(n) if dtype == "complex128" else a
        np.testing.assert_allclose(traced(a), function(scipy.linalg, a), rtol=1e-11, atol=1e-13)
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_count_as_their_part(name, dtype="complex128"):
    function, _ = FUNCTIONS[name]
    a, t, u = (positive(4, dtype, seed) for seed in (0, 1, 2))
    skew = np.triu(np.random.default_rng(3).normal(size=a.shape), 1)
    skew = skew - skew.T
    loss = lambda a: total(function(linalg, a))
    conjugate = "sym" not in name
    if not conjugate:  # complex symmetric matrices have symmetric tangents
        a, t, u = (x + 0.1j * np.eye(4) for x in (a.real, t.real, u.real))
    step = 1e-6
    value = lambda a: total(function(scipy.linalg, a))
    differences = (value(a + step * t) - value(a - step * t)) / (2 * step)
    slope = lambda a, t: jvp(loss, (a,), (t,))[1]
    np.testing.assert_allclose(slope(a, t), differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(slope(a, t + skew), slope(a, t), rtol=1e-9, atol=1e-12)
    gradient = grad(loss)(a)
    np.testing.assert_allclose(gradient, gradient.conj().T if conjugate else gradient.T, rtol=1e-9, atol=1e-12)
    second = (slope(a + step * u, t) - slope(a - step * u, t)) / (2 * step)
    np.testing.assert_allclose(jvp(lambda a: slope(a, t), (a,), (u,))[1], second, rtol=1e-5, atol=1e-7)
