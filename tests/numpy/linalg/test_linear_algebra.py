"""Test factorisations and solutions beyond the samples: one factorisation, degenerate matrices, dtypes and errors."""

import numpy as np
import pytest

import anyshape
from anyshape.errors import AnyshapeError, DTypeError, RunLinAlgError, SizeMismatchError

RNG = np.random.default_rng(4)


def regular(*shape):
    return RNG.normal(size=shape) + 4 * np.eye(shape[-1])


def ops_of(function, *args):
    program = anyshape.jit(function)
    program(*args)
    return [node.op.name for node in program.programs()[0].graph.nodes]


def test_a_solution_and_its_gradient_factor_the_matrix_once():
    def loss(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2)

    names = ops_of(anyshape.value_and_grad(loss, (0, 1)), regular(3, 3), np.ones(3))
    assert names.count("lu_factor") == 1 and "solve" not in names and "inv" not in names


def test_one_factorisation_serves_a_batch_of_right_hand_sides():
    a, batch = regular(3, 3), RNG.normal(size=(5, 3))
    solve = anyshape.vmap(lambda b: np.linalg.solve(a, b))
    np.testing.assert_allclose(solve(batch), np.linalg.solve(a, batch.T).T)


@pytest.mark.parametrize("shapes", [((3, 3), (3,)), ((2, 3, 3), (3,)), ((3, 3), (2, 3, 4)), ((2, 1, 3, 3), (4, 3, 2))])
def test_batches_broadcast_as_in_numpy(shapes):
    a, b = regular(*shapes[0]), RNG.normal(size=shapes[1])
    np.testing.assert_allclose(anyshape.jit(np.linalg.solve)(a, b), np.linalg.solve(a, b))


def test_one_program_serves_every_size():
    program = anyshape.jit(np.linalg.solve)
    for n in (0, 1, 2, 7):
        a, b = regular(n, n), RNG.normal(size=n)
        np.testing.assert_allclose(program(a, b), np.linalg.solve(a, b))
    assert program.cache_info().traces == 1


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_derivative_of_a_determinant_is_exact_at_any_rank(rank):
    u, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
    a, t, h = u[:, :rank] @ u[:, :rank].T, RNG.normal(size=(3, 3)), 1e-4
    derivative = np.sum(anyshape.grad(np.linalg.det)(a) * t)
    difference = (np.linalg.det(a + h * t) - np.linalg.det(a - h * t)) / (2 * h)
    np.testing.assert_allclose(derivative, difference, atol=1e-6)


def test_results_have_the_classes_and_dtypes_of_numpy():
    for a in (np.eye(2, dtype=np.float32), np.eye(2, dtype=int), np.eye(2, dtype=bool), np.eye(2) * 1j):
        result, right = anyshape.jit(np.linalg.slogdet)(a), np.linalg.slogdet(a)
        assert type(result) is type(right) and [x.dtype for x in result] == [x.dtype for x in right]
        assert type(anyshape.jit(np.linalg.det)(a)) is type(np.linalg.det(a))
    mixed = anyshape.jit(np.linalg.solve)(np.eye(2, dtype=np.float32), np.ones(2))
    assert mixed.dtype == np.float64
    with pytest.raises(DTypeError, match="float16 is unsupported in linalg"):
        anyshape.jit(np.linalg.inv)(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize(
    "function",
    [np.linalg.inv, lambda a: np.linalg.solve(a, np.ones(2)), lambda a: np.linalg.matrix_power(a, -1)],
)
def test_a_singular_matrix_is_numpys_error(function):
    program = anyshape.jit(function)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        program(np.ones((2, 2)))
    with pytest.raises(RunLinAlgError):  # also where its value is not used
        anyshape.jit(lambda a: (function(a), a.sum())[1])(np.ones((2, 2)))
    program(np.eye(2))


def test_a_matrix_that_is_not_positive_definite_is_numpys_error():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        anyshape.jit(np.linalg.cholesky)(-np.eye(3))


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky])
def test_operands_that_are_no_square_matrices_are_refused(function):
    with pytest.raises(SizeMismatchError, match=r"a.shape\[0\] \(2\) must equal a.shape\[1\] \(3\)"):
        anyshape.jit(lambda a: function(a))(np.ones((2, 3)))
    for shape in ((2, 3), (3,), ()):
        of_numpy, ours = ("square", "must equal") if len(shape) == 2 else ("at least two-dimensional",) * 2
        with pytest.raises(np.linalg.LinAlgError, match=of_numpy):
            function(np.ones(shape))
        with pytest.raises(np.linalg.LinAlgError, match=ours):
            anyshape.jit(function)(np.ones(shape))


def test_right_hand_sides_that_do_not_fit_are_refused():
    for b in (np.ones(2), np.ones((2, 3)), np.float64(1)):
        with pytest.raises(AnyshapeError):
            anyshape.jit(np.linalg.solve)(np.eye(3), b)


def test_the_upper_factor_reads_the_upper_triangle():
    a = np.triu(regular(3, 3) @ np.eye(3)) + 3 * np.eye(3)
    np.testing.assert_allclose(
        anyshape.jit(lambda a: np.linalg.cholesky(a, upper=True))(a), np.linalg.cholesky(a, upper=True)
    )


def test_triangular_solutions_read_one_triangle():
    a, b = regular(3, 3), RNG.normal(size=(3, 2))
    for lower in (True, False):
        part = np.tril(a) if lower else np.triu(a)
        for form, matrix in (("N", part), ("T", part.T), ("C", part.T)):
            from_library = anyshape.ops.triangular_solve(a, b, lower=lower, form=form)
            np.testing.assert_allclose(from_library, np.linalg.solve(matrix, b))
    strict = np.tril(a, -1) + np.eye(3)
    np.testing.assert_allclose(anyshape.ops.triangular_solve(a, b, lower=True, unit=True), np.linalg.solve(strict, b))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_large_matrices_are_factored_once_for_inverses_and_gradients_of_determinants(dtype):
    """Also one with exchanged rows, one that is singular, and one whose determinant no product of pivots holds."""
    rng, n = np.random.default_rng(0), 70
    a = (np.eye(n) * 3 + rng.normal(size=(n, n)) * (1 if dtype[0] == "f" else 1 + 0.5j) / n).astype(dtype)
    close = {"rtol": 2e-3, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-11}
    stack = np.stack([a, a[::-1], a[rng.permutation(n)] / 3])
    inverses = anyshape.jit(np.linalg.inv)(stack)
    np.testing.assert_allclose(stack @ inverses, np.broadcast_to(np.eye(n), stack.shape), atol=close["atol"])
    slopes = anyshape.jit(lambda xs, t: anyshape.jvp(np.linalg.det, (xs,), (t,))[1])
    most = 15 if dtype == "float32" else 600
    far = np.diag(np.where(np.arange(300) < 150, most, 1 / most)).astype(dtype)
    for x in (*stack / 3, far):
        t = rng.normal(size=x.shape).astype(dtype)
        relative = np.trace(np.linalg.inv(x) @ t)
        np.testing.assert_allclose(slopes(x, t) / np.linalg.det(x), relative, close["rtol"])
    lost = np.diag(np.arange(n) > 0).astype(dtype)
    np.testing.assert_allclose(slopes(lost, a), a[0, 0], **close)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        anyshape.jit(np.linalg.inv)(lost)


@pytest.mark.filterwarnings("ignore")  # of determinants that overflow
@pytest.mark.parametrize("scale", [1e154, 1e-105, 3.0])
def test_gradients_of_determinants_beyond_the_numbers(scale):
    gradient = anyshape.grad(np.linalg.det)(np.diag(np.full(3, scale)))
    np.testing.assert_allclose(gradient, np.diag(np.full(3, scale * scale)), rtol=1e-12)
