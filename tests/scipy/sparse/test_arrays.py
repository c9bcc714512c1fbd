"""Compare products with sparse matrices with SciPy's, and check their derivatives."""

import numpy as np
import pytest
import scipy.sparse

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, SizeMismatchError, UnsupportedFunctionError
from anyshape.scipy import sparse


def matrix(rows, columns, seed=0):
    return scipy.sparse.random_array((rows, columns), density=0.4, format="csr", rng=seed)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_products_with_captured_matrices(kind):
    for rows, columns in ((5, 4), (1, 3), (3, 1), (2, 0)):
        concrete = matrix(rows, columns).asformat(kind)
        a = getattr(sparse, f"{kind}_array")(concrete)
        for x in (np.arange(columns) + 1.0, np.ones((columns, 2), np.float32), np.ones((columns, 2)) * 1j):
            np.testing.assert_allclose(jit(lambda x, a=a: a @ x)(x), concrete @ x, 1e-12)
        y = np.arange(rows) + 1.0
        np.testing.assert_allclose(jit(lambda y, a=a: a.T @ y)(y), concrete.T @ y, 1e-12)
        np.testing.assert_allclose(jit(lambda y, a=a: y @ a)(y), y @ concrete, 1e-12)
        np.testing.assert_allclose(a @ np.ones(columns), concrete @ np.ones(columns))
        assert (a.T.toarray() == concrete.T.toarray()).all()
        check_grads(lambda x, a=a: a @ x, (np.arange(columns) + 1.0,), order=2)
    assert a.tocsc().nnz == concrete.nnz


def test_values_may_be_traced():
    m = matrix(5, 4)
    product = lambda data, x: sparse.csr_array((data, m.indices, m.indptr), shape=m.shape) @ x
    traced = jit(product)
    for x in (np.arange(4.0), np.ones((4, 3))):
        np.testing.assert_allclose(traced(2 * m.data, x), 2 * m @ x, 1e-12)
    check_grads(product, (m.data, np.arange(4.0)), order=2)
    batch = vmap(product, in_axes=(0, None))(np.stack([m.data, 2 * m.data]), np.arange(4.0))
    np.testing.assert_allclose(batch[1], 2 * (m @ np.arange(4.0)), 1e-12)
    by_columns = m.tocsc()
    dense = jit(lambda d: sparse.csc_array((d, by_columns.indices, by_columns.indptr), shape=m.shape).toarray())
    np.testing.assert_allclose(dense(by_columns.data), m.toarray())
    loss = lambda d: np.sum((sparse.csr_array((d, m.indices, m.indptr), shape=m.shape) * 3.0).toarray() ** 2)
    np.testing.assert_allclose(grad(loss)(m.data), 18 * m.data)


def test_sizes_and_positions_may_be_traced():
    product = jit(lambda d, i, p, x: sparse.csr_array((d, i, p), shape=(p.shape[0] - 1, x.shape[0])) @ x)
    for rows, columns in ((5, 4), (2, 3), (1, 1)):
        m, x = matrix(rows, columns), np.arange(columns) + 1.0
        np.testing.assert_allclose(product(m.data, m.indices, m.indptr, x), m @ x, 1e-12)
    assert product.cache_info().traces == 1
    repeated = jit(lambda d: sparse.coo_array((d, ([0, 0], [1, 1])), shape=(1, 2)).toarray())
    np.testing.assert_array_equal(repeated(np.ones(2)), [[0, 2]])


def test_matrices_are_trees_and_add_up():
    a, b = sparse.csr_array(matrix(3, 3)), sparse.csr_array(matrix(3, 3, 1))
    x = np.arange(3.0)
    np.testing.assert_allclose(jit(lambda a, b, x: (a + b) @ x)(a, b, x), a @ x + b @ x, 1e-12)
    np.testing.assert_allclose(jit(lambda a: -a / 2)(a).toarray(), -a.toarray() / 2)


def test_what_is_refused():
    a = sparse.csr_array(matrix(3, 3))
    with pytest.raises(SizeMismatchError, match="must equal 3"):
        jit(lambda x: a @ x)(np.ones(4))
    with pytest.raises(ArgumentError, match="shape"):
        jit(lambda d: sparse.csr_array((d, [0], [0, 1])))(np.ones(1))
    with pytest.raises(UnsupportedFunctionError, match="tocsc"):
        jit(lambda d: sparse.csr_array((d, [0], [0, 1]), shape=(1, 1)).tocsc())(np.ones(1))


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_compressed_matrices_of_triplets(kind):
    row, col, x = np.array([2, 0, 0, 2, 1]), np.array([1, 2, 0, 1, 1]), np.array([1.0, -2.0, 3.0])
    make = lambda m, data, *positions: getattr(m, f"{kind}_array")((data, positions or (row, col)), shape=(3, 3))
    data = np.arange(1.0, 6.0)
    theirs = make(scipy.sparse, data)
    np.testing.assert_allclose(jit(lambda d: make(sparse, d).data)(data), theirs.data)
    np.testing.assert_allclose(jit(lambda d: make(sparse, d) @ x)(data), theirs @ x)
    np.testing.assert_allclose(jit(lambda d, r, c: make(sparse, d, r, c) @ x)(data, row, col), theirs @ x)
    np.testing.assert_allclose(grad(lambda d: np.sum(make(sparse, d) @ x))(data), x[col])
    with pytest.raises(ValueError):
        jit(lambda d: getattr(sparse, f"{kind}_array")((d, (row, col))).data)(data)


def test_traced_arrays_are_not_sparse():
    assert sparse.issparse(matrix(2, 2)) and sparse.issparse(sparse.csr_array(matrix(2, 2)))
    assert not sparse.issparse(np.eye(2)) and not sparse.isspmatrix(np.eye(2))
    scale = lambda x: x * (2 if sparse.issparse(x) or sparse.isspmatrix(x) else 3)
    np.testing.assert_array_equal(jit(scale)(np.ones(2)), [3.0, 3.0])
