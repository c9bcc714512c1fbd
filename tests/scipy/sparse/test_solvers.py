"""Compare iterative solvers with direct ones and with SciPy's codes, and check derivatives of solutions."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.scipy.sparse import csr_array, linalg

NAMES = ("cg", "bicgstab", "gmres")
RNG = np.random.default_rng(0)


def equation(name, n, dtype=float):
    """Return a regular matrix that a method can solve with, and a right-hand side."""
    a, b = RNG.normal(size=(n, n)), RNG.normal(size=n)
    if dtype is complex:
        a, b = a + 1j * RNG.normal(size=(n, n)), b + 1j * b[::-1]
    a = a @ a.conj().T if name == "cg" else a
    return a + 2 * n * np.eye(n), b


@pytest.mark.parametrize("name", NAMES)
def test_solutions_at_many_sizes_from_one_trace(name):
    solve = jit(lambda a, b: getattr(linalg, name)(a, b, rtol=1e-12))
    for n in (0, 1, 2, 5, 30):
        a, b = equation(name, n)
        x, code = solve(a, b)
        assert code == 0
        np.testing.assert_allclose(x, np.linalg.solve(a, b), 1e-9, 1e-12)
    assert solve.cache_info().traces == 1
    a, b = equation(name, 4, complex)
    np.testing.assert_allclose(solve(a, b)[0], np.linalg.solve(a, b), 1e-9)
    assert solve(a.real.astype(np.float32), b.real.astype(np.float32))[0].dtype == np.float32


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_preconditioners_and_batches(name):
    a, b = equation(name, 4)
    function = getattr(linalg, name)
    symmetric = (lambda a: a + a.T) if name == "cg" else (lambda a: a)
    check_grads(lambda a, b: function(symmetric(a), b, rtol=1e-13)[0], (a, b), order=2)
    ac, bc = equation(name, 3, complex)
    hermitian = (lambda a: a + a.conj().T) if name == "cg" else (lambda a: a)
    check_grads(lambda a, b: function(hermitian(a), b, rtol=1e-13)[0], (ac, bc), order=1)
    for m in (np.diag(1 / np.diag(a)), lambda v: v / np.diag(a)):
        preconditioned = lambda a, b, m=m: function(symmetric(a), b, b, rtol=1e-13, M=m)[0]
        np.testing.assert_allclose(jit(preconditioned)(a, b), np.linalg.solve(symmetric(a), b), 1e-9)
        check_grads(preconditioned, (a, b), order=1)
    batch = vmap(lambda b: function(a, b, rtol=1e-12)[0])(np.stack([b, 3 * b]))
    np.testing.assert_allclose(batch[1], 3 * np.linalg.solve(a, b), 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_matrices_and_functions_of_trees(name):
    m = scipy.sparse.random_array((6, 6), density=0.3, rng=1)
    m = (m + m.T + 9 * scipy.sparse.eye_array(6)).tocsr()
    function = getattr(linalg, name)
    solve = lambda data, b: function(csr_array((data, m.indices, m.indptr), shape=m.shape), b, rtol=1e-13)[0]
    np.testing.assert_allclose(jit(solve)(m.data, np.ones(6)), np.linalg.solve(m.toarray(), np.ones(6)), 1e-10)
    gradient = grad(lambda data: solve(data, np.ones(6)).sum())(m.data)
    x = np.linalg.solve(m.toarray(), np.ones(6))
    rows = np.repeat(np.arange(6), np.diff(m.indptr))
    np.testing.assert_allclose(gradient, -x[rows] * x[m.indices], 1e-9)  # the matrix is symmetric
    double = lambda t: {"u": 3 * t["u"] + 0.1 * t["v"].sum(), "v": 2 * t["v"] + 0.1 * t["u"].sum()}
    x, code = jit(lambda b: function(double, {"u": b, "v": b[:2, None]}, rtol=1e-12))(np.arange(4.0))
    assert code == 0
    assert x["v"].shape == (2, 1)
    np.testing.assert_allclose(double(x)["u"], np.arange(4.0), 1e-9, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_codes_of_failures_are_scipys(name):
    a, b = equation(name, 20)
    for matrix, options in ((a, {"maxiter": 1, "rtol": 1e-14}), (np.zeros((3, 3)), {})):
        options |= {"restart": 2} if name == "gmres" else {}
        right = b[: len(matrix)]
        with np.errstate(all="ignore"):
            expected = getattr(scipy.sparse.linalg, name)(matrix, right, **options)[1]
            assert jit(lambda a, b, o=options: getattr(linalg, name)(a, b, **o))(matrix, right)[1] == expected != 0


def test_concrete_arguments_go_to_scipy():
    a, b = equation("cg", 5)
    for operator in (a, lambda v: a @ v, csr_array(scipy.sparse.csr_array(a))):
        np.testing.assert_allclose(linalg.cg(operator, b)[0], scipy.sparse.linalg.cg(a, b)[0], 1e-12)
    assert linalg.spsolve is not None


def test_wrong_arguments_are_named():
    a, b = equation("cg", 5)
    with pytest.raises(AnyshapeError, match="must equal"):
        jit(lambda a, b: linalg.cg(a, b)[0])(a, b[:3])
    with pytest.raises(ArgumentError, match="A is of type MatrixLinearOperator"):
        jit(lambda b: linalg.cg(scipy.sparse.linalg.aslinearoperator(a), b)[0])(b)
    with pytest.raises(ArgumentError, match="callback"):
        jit(lambda b: linalg.cg(a, b, callback=print)[0])(b)
