"""Test decompositions beyond the samples: equal values, free vectors, ranks, options and errors."""

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError, ShapeError, SizeMismatchError

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 3))
S = A.T @ A


def test_the_derivative_of_an_eigenvalue_is_the_square_of_its_vector():
    derivative = anyshape.grad(lambda a: np.linalg.eigvalsh(a)[-1])(S)
    vector = np.linalg.eigh(S)[1][:, -1]
    np.testing.assert_allclose(derivative, np.outer(vector, vector))


def test_vectors_of_equal_values_have_no_derivative_and_their_values_do():
    vectors = anyshape.jvp(lambda a: np.linalg.eigh(a)[1], (np.eye(2),), (np.ones((2, 2)),))[1]
    assert np.isnan(vectors).any()
    total = anyshape.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(np.eye(2) * 3)
    np.testing.assert_allclose(total, 6 * np.eye(2), atol=1e-12)
    left = anyshape.jvp(lambda a: np.linalg.svd(a)[0], (np.eye(2),), (np.array([[0.0, 1], [0, 0]]),))[1]
    assert np.isnan(left).any()
    np.testing.assert_allclose(anyshape.grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(2)), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("a", [A, A.T, A[:3]], ids=["tall", "wide", "square"])
def test_vectors_beyond_the_shorter_side_alone_have_no_derivative(a):
    _, derivatives = anyshape.jvp(lambda x: tuple(np.linalg.svd(x)), (a,), (np.ones(a.shape),))
    _, thin = anyshape.jvp(lambda x: tuple(np.linalg.svd(x, full_matrices=False)), (a,), (np.ones(a.shape),))
    rows, columns = a.shape
    count = min(rows, columns)
    np.testing.assert_allclose(derivatives[0][:, :count], thin[0])
    np.testing.assert_allclose(derivatives[1], thin[1])
    np.testing.assert_allclose(derivatives[2][:count], thin[2])
    assert np.isnan(derivatives[0][:, count:]).all() and np.isnan(derivatives[2][count:]).all()


@pytest.mark.slow
def test_singular_values_of_a_full_decomposition_have_every_derivative():
    def entropy(x):
        _, s, _ = np.linalg.svd(x)
        return np.sum(s * np.log(s))

    anyshape.check_grads(entropy, (A,), order=2)
    assert np.isfinite(anyshape.hessian(entropy)(A)).all()


def test_one_program_serves_tall_wide_and_square_matrices():
    for function in (lambda x: np.linalg.svd(x), lambda x: np.linalg.qr(x), lambda x: (np.linalg.pinv(x),)):
        program = anyshape.jit(function)
        for shape in ((4, 3), (3, 4), (3, 3), (1, 5), (5, 1), (0, 3), (3, 0)):
            a = RNG.normal(size=shape)
            for result, right in zip(program(a), function(a), strict=True):
                np.testing.assert_allclose(result, right, atol=1e-12)
        assert program.cache_info().traces == 1


def test_the_pseudo_inverse_of_a_lower_rank_has_the_derivative_of_that_rank():
    basis = RNG.normal(size=(4, 2))

    def of_rank_two(x):
        return np.sum(np.linalg.pinv(basis @ x) * np.arange(12.0).reshape(3, 4))

    anyshape.check_grads(of_rank_two, (RNG.normal(size=(2, 3)),), order=1, modes=("fwd", "rev"))


def test_results_have_the_classes_of_numpy():
    for function in (np.linalg.eig, np.linalg.eigh, np.linalg.svd, np.linalg.qr):
        assert type(anyshape.jit(function)(S)) is type(function(S))


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda a: np.linalg.eigh(a, "X"), ValueError, "UPLO"),
        (lambda a: np.linalg.eigvalsh(a[:2]), SizeMismatchError, "must equal"),
        (lambda a: np.linalg.qr(a, "full"), ArgumentError, "mode='full' is unknown"),
        (lambda a: np.linalg.pinv(a, 0.1, rtol=0.1), ValueError, "both given"),
        (lambda a: np.linalg.cond(a[:, :0]), ValueError, "empty matrix"),
        (lambda a: np.linalg.eig(a[:2]), SizeMismatchError, "must equal"),
        (lambda a: np.linalg.eigvals(a * np.nan), np.linalg.LinAlgError, "infs or NaNs"),
        (lambda a: np.linalg.lstsq(a[None], a), ShapeError, "stacks of problems"),
        (lambda a: np.linalg.lstsq(a, a[:2]), SizeMismatchError, "must equal"),
        (lambda a: np.linalg.svdvals(a * np.nan), np.linalg.LinAlgError, "did not converge"),
    ],
)
def test_errors_name_the_problem(function, kind, words):
    with pytest.raises(kind, match=words):
        anyshape.jit(function)(S)


def test_eigenvectors_of_equal_eigenvalues_have_no_derivative():
    derivatives = anyshape.jvp(np.linalg.eig, (np.eye(2),), (np.ones((2, 2)),))[1]
    assert np.isnan(derivatives.eigenvectors).any() and np.isfinite(derivatives.eigenvalues).all()


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3), (0, 3), (3, 0)])
def test_least_squares_has_the_results_and_sizes_of_numpy(shape, rank):
    """One program serves problems of each rank: the number of residuals is a run-time size."""
    solve = anyshape.jit(lambda a, b: np.linalg.lstsq(a, b))
    a = RNG.normal(size=(shape[0], rank)) @ RNG.normal(size=(rank, shape[1]))
    for b in (RNG.normal(size=shape[0]), RNG.normal(size=(shape[0], 2))):
        for ours, numpys in zip(solve(a, b), np.linalg.lstsq(a, b), strict=True):
            assert np.shape(ours) == np.shape(numpys) and np.asarray(ours).dtype == np.asarray(numpys).dtype
            np.testing.assert_allclose(ours, numpys, atol=1e-12)


def test_the_namespace_of_linear_algebra_traces_and_calls_numpy():
    linalg = anyshape.numpy.linalg
    assert set(np.linalg.__all__) <= set(dir(linalg))
    assert type(linalg.inv(S)) is np.ndarray
    product = anyshape.jit(lambda a: linalg.outer(linalg.diagonal(a), linalg.solve(a, a[0])))(S)
    np.testing.assert_allclose(product, np.outer(np.diagonal(S), np.linalg.solve(S, S[0])))


def hermitian_matrix(kind):
    matrix = RNG.normal(size=(2, 4, 4)) + (1j * RNG.normal(size=(2, 4, 4)) if kind == "complex" else 0.0)
    return matrix + np.conj(np.swapaxes(matrix, -1, -2))


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_hermitian_matrices_are_read_from_the_lower_triangle(kind):
    whole = hermitian_matrix(kind)
    a = np.tril(whole) + 7.0 * np.triu(np.ones((4, 4)), 1)
    for function in (np.linalg.svd, np.linalg.pinv, np.linalg.matrix_rank):
        ours, theirs = anyshape.jit(lambda x, f=function: f(x, hermitian=True))(a), function(a, hermitian=True)
        for left, right in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(np.abs(left), np.abs(right), rtol=1e-12, atol=1e-12)
    u, s, vh = anyshape.jit(lambda x: np.linalg.svd(x, hermitian=True))(a)
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, whole, rtol=1e-12, atol=1e-12)
    values = anyshape.jit(lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True))(a)
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False, hermitian=True), rtol=1e-12)


@pytest.mark.slow
def test_derivatives_for_hermitian_matrices():
    symmetric = lambda x: x + np.swapaxes(x, -1, -2)
    for function in (np.linalg.pinv, lambda x, hermitian: np.linalg.svd(x, hermitian=hermitian)[1]):
        anyshape.check_grads(lambda x, f=function: f(symmetric(x), hermitian=True), (RNG.normal(size=(3, 3)),), order=2)


@pytest.mark.parametrize("order", [1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_conditions_of_all_orders(order, rng):
    condition = anyshape.jit(lambda x: np.linalg.cond(x, order))
    singular = [np.diag([1.0, 2.0, 0.0])] if order != "nuc" else []  # NumPy raises an error of its SVD there
    for matrix in (rng.normal(size=(3, 3)), rng.normal(size=(2, 4, 4)), *singular):
        np.testing.assert_allclose(condition(matrix), np.linalg.cond(matrix, order), rtol=1e-12)
    if order != "nuc":
        assert np.isnan(condition(np.full((2, 2), np.nan)))
    anyshape.check_grads(lambda x: np.linalg.cond(x, order), (rng.normal(size=(3, 3)),), order=1)
