"""Compare triangular solutions and products with exponentials with SciPy, and check their derivatives."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from anyshape import check_grads, grad, jit
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy.sparse import csr_array, linalg


def matrix(n):
    return scipy.sparse.csr_array(scipy.sparse.random_array((n, n), density=0.5, rng=n) + 3 * scipy.sparse.eye_array(n))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solutions(lower, unit):
    def solve(data, indices, indptr, b):
        n = indptr.shape[0] - 1
        whole = csr_array((data, indices, indptr), shape=(n, n))
        return linalg.spsolve_triangular(whole, b, lower, unit_diagonal=unit)

    traced = jit(solve)
    for n in (1, 2, 5):
        m = scipy.sparse.csr_array((scipy.sparse.tril if lower else scipy.sparse.triu)(matrix(n)))
        b = np.arange(n) + 1.0
        expected = scipy.sparse.linalg.spsolve_triangular(m, b, lower, unit_diagonal=unit)
        np.testing.assert_allclose(traced(m.data, m.indices, m.indptr, b), expected, 1e-12)
    assert traced.cache_info().traces == 1
    check_grads(lambda data, b: solve(data, m.indices, m.indptr, b), (m.data, b))


def test_products_with_exponentials():
    multiply = jit(lambda a, b: linalg.expm_multiply(a, b))
    for n in (1, 2, 5):
        for scale in (0.01, 1.0, -4.0):
            a, b = scale * matrix(n).toarray(), np.cos(np.arange(n))
            np.testing.assert_allclose(multiply(a, b), scipy.linalg.expm(a) @ b, 1e-11, 1e-12)
    assert multiply.cache_info().traces == 1
    m, b = matrix(4), np.arange(8.0).reshape(4, 2)
    parts = m.indices, m.indptr
    values = jit(lambda data: linalg.expm_multiply(csr_array((data, *parts), shape=(4, 4)), 1j * b))(m.data)
    np.testing.assert_allclose(values, scipy.sparse.linalg.expm_multiply(m, 1j * b), 1e-10)
    loss = lambda a, x: np.sum(linalg.expm_multiply(a, x) ** 2)
    a, x = m.toarray() / 5, np.arange(4.0)
    slope = grad(loss)(a, x)
    moved = [np.sum((scipy.linalg.expm(a + s * np.tri(4)) @ x) ** 2) for s in (1e-6, -1e-6)]
    np.testing.assert_allclose(np.sum(slope * np.tri(4)), (moved[0] - moved[1]) / 2e-6, 1e-6)
    with pytest.raises(UnsupportedFunctionError, match="interval of times"):
        jit(lambda x: linalg.expm_multiply(a, x, 0.0, 1.0, 3))(x)
