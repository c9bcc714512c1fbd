"""Compare updates of QR factors with SciPy's, also in their signs, and their derivatives with differences."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import grad, hessian, jit, vmap
from anyshape.scipy import linalg

UPDATES = {
    "row": lambda m, q, r, u, v: m.qr_insert(q, r, v, 1),
    "row at the end": lambda m, q, r, u, v: m.qr_insert(q, r * v[0], v, -1),
    "rows": lambda m, q, r, u, v: m.qr_insert(q, r, np.stack([v, v * v]), 0),
    "column": lambda m, q, r, u, v: m.qr_insert(q, r * v[0], u, 1, "col"),
    "without a row": lambda m, q, r, u, v: m.qr_delete(q, r * v[0], 1),
    "without rows": lambda m, q, r, u, v: m.qr_delete(q, r * v, 0, 2),
    "without a column": lambda m, q, r, u, v: m.qr_delete(q, r * v[0], -2, which="col"),
    "change of rank one": lambda m, q, r, u, v: m.qr_update(q, r, u, v),
    "change of rank two": lambda m, q, r, u, v: m.qr_update(q, r, np.stack([u, u * u], 1), np.stack([v, v * v], 1)),
}


def matrix(m, n):
    return np.cos(np.arange(m * n) ** 1.3).reshape(m, n)


@pytest.mark.parametrize("mode", ["full", "economic"])
@pytest.mark.parametrize("name", UPDATES)
def test_factors_and_their_signs_are_those_of_scipy(name, mode):
    update = UPDATES[name]
    vectors = lambda s, m, n: (np.sin(s + 3 * np.arange(m)), np.cos(s * (1 + np.arange(n))))
    traced = jit(lambda *args: update(linalg, *args))
    for m, n in ((5, 2), (7, 3), (9, 4)):
        q, r = scipy.linalg.qr(matrix(m, n), mode=mode)
        parts = q, r, *vectors(0.7, m, n)
        for ours, theirs in zip(traced(*parts), update(scipy.linalg, *parts), strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-9, 1e-12)
    assert traced.cache_info().traces == 1
    if mode == "economic":
        value = lambda of, s: sum([np.sum(np.sin(y)) for y in update(of, q, r, *vectors(s, m, n))])
        first, second = grad(lambda s: value(linalg, s)), hessian(lambda s: value(linalg, s))
        slope = (value(scipy.linalg, 0.7 + 1e-6) - value(scipy.linalg, 0.7 - 1e-6)) / 2e-6
        np.testing.assert_allclose(first(0.7), slope, 1e-6, 1e-7)
        np.testing.assert_allclose(second(0.7), (first(0.7 + 1e-6) - first(0.7 - 1e-6)) / 2e-6, 1e-5, 1e-7)
        batch = vmap(lambda s: update(linalg, q, r, *vectors(s, m, n))[1])(np.array([0.7, 1.1]))
        np.testing.assert_allclose(batch[1], update(scipy.linalg, q, r, *vectors(1.1, m, n))[1], 1e-9, 1e-12)


def test_complex_factors_and_positions_beyond_the_end():
    a = matrix(4, 3) + 1j * matrix(3, 4).T
    q, r = scipy.linalg.qr(a, mode="economic")
    u = a[0] * (1 + 2j)
    for ours, theirs in zip(
        jit(lambda u: linalg.qr_insert(q, r, u, 2))(u), scipy.linalg.qr_insert(q, r, u, 2), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-12)
    for wrong in (lambda m, u: m.qr_insert(q, r, u, 5), lambda m, u: m.qr_delete(q, r + 0 * u, 4)):
        with pytest.raises(ValueError):
            wrong(scipy.linalg, u)
        with pytest.raises(ValueError):
            jit(lambda u, wrong=wrong: wrong(linalg, u))(u)
