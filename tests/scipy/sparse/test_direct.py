"""Compare direct solvers of sparse equations with SciPy's, and check derivatives of solutions."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.scipy.sparse import csr_array, linalg


def matrix(n, dtype=np.float64):
    m = scipy.sparse.random_array((n, n), density=0.4, format="csr", rng=n) + 3 * scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(m.astype(dtype))


def solve(data, indices, indptr, b):
    n = indptr.shape[0] - 1
    return linalg.spsolve(csr_array((data, indices, indptr), shape=(n, n)), b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_solutions_are_scipys_at_all_sizes_from_one_trace(dtype):
    traced = jit(solve)
    for n in (1, 2, 5, 9):
        m = matrix(n, dtype)
        b = (np.arange(n) + 1.0).astype(dtype)
        result, expected = traced(m.data, m.indices, m.indptr, b), scipy.sparse.linalg.spsolve(m, b)
        np.testing.assert_allclose(result, expected, 1e-5 if dtype == np.float32 else 1e-12)
        assert result.dtype == expected.dtype
    assert traced.cache_info().traces == 1
    for columns in (1, 3):
        b = np.arange(9.0 * columns).reshape(9, columns)
        expected = scipy.sparse.linalg.spsolve(m, b)
        np.testing.assert_allclose(jit(lambda b: linalg.spsolve(m, b))(b), expected, 1e-4)


def test_derivatives_and_batches():
    m = matrix(5)
    b = np.arange(5.0) + 1
    check_grads(lambda data, b: solve(data, m.indices, m.indptr, b), (m.data, b), 2)
    check_grads(lambda b: linalg.factorized(m)(b), (np.stack([b, b**2], 1),), 1)
    # the gradient by values is minus the product of both solutions at their positions
    weights = np.linspace(1, 2, 5)
    result = grad(lambda data: weights @ solve(data, m.indices, m.indptr, b))(m.data)
    x, back = scipy.sparse.linalg.spsolve(m, b), scipy.sparse.linalg.spsolve(m.T.tocsc(), weights)
    rows = m.tocoo()
    np.testing.assert_allclose(result, -back[rows.row] * x[rows.col], 1e-10)
    batch = vmap(lambda b: linalg.spsolve(csr_array(m), b))(np.stack([b, 2 * b]))
    np.testing.assert_allclose(batch, np.stack([x, 2 * x]), 1e-12)
    np.testing.assert_allclose(linalg.factorized(csr_array(m))(b), x, 1e-12)
    np.testing.assert_array_equal(linalg.spsolve(csr_array(m), b), x)


def test_bad_right_hand_sides_are_named():
    m = matrix(3)
    with pytest.raises(ArgumentError, match="axes"):
        jit(lambda b: linalg.spsolve(m, b))(np.ones((3, 1, 1)))
    with pytest.raises(AnyshapeError, match=r"b.shape\[0\] \(4\)"):
        jit(lambda b: linalg.spsolve(m, b))(np.ones(4))
