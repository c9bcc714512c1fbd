"""Compare constant matrices, Riccati equations and questions about matrices with SciPy's."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import check_grads, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.scipy import linalg
from tests.scipy.linalg.test_linalg import positive, square

KINDS = [{"kind": kind, "exact": exact} for kind in ("symmetric", "lower", "upper") for exact in (True, False)]
CONSTANTS = {
    "hadamard": [{}, {"dtype": np.float32}],
    "helmert": [{}, {"full": True}],
    "invhilbert": [{}, {"exact": True}],
    "invpascal": KINDS,
    "pascal": KINDS,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constant_matrices_have_symbolic_sizes(name):
    for options in CONSTANTS[name]:
        traced = jit(lambda x, options=options: getattr(linalg, name)(x.shape[0], **options))
        for n in (1, 2, 4, 8, *([0] if name not in ("hadamard", "helmert") else [])):
            actual, expected = traced(np.zeros(n)), getattr(scipy.linalg, name)(n, **options)
            assert actual.dtype == expected.dtype
            np.testing.assert_allclose(actual, expected, 1e-13, 1e-13 if actual.dtype.kind == "f" else 0)
        assert traced.cache_info().traces == 1


def test_constant_matrices_refuse_sizes_without_exact_elements():
    for function, n in [(linalg.pascal, 35), (linalg.invpascal, 35), (linalg.helmert, 0)]:
        with pytest.raises(AnyshapeError, match="must be at"):
            jit(lambda x, f=function: f(x.shape[0]))(np.zeros(n))
    with pytest.raises(AnyshapeError, match="power of 2"):
        jit(lambda x: linalg.hadamard(x.shape[0]))(np.zeros(6))


def test_questions_about_numbers_of_matrices():
    def answers(la, a):
        square_ones = [la.issymmetric(a @ a.T), la.issymmetric(a[:, :3]), la.ishermitian(a[:, :3], rtol=0.3)]
        return [*la.bandwidth(np.triu(a, -1)), *la.bandwidth(np.tril(a, 2)), *square_ones]

    traced = jit(lambda a: answers(linalg, a))
    for a in (np.ones((3, 5)), np.arange(12.0).reshape(3, 4), np.eye(3)):
        np.testing.assert_array_equal(traced(a), answers(scipy.linalg, a))
    assert jit(linalg.bandwidth)(np.zeros((0, 3))) == scipy.linalg.bandwidth(np.zeros((0, 3)))
    with pytest.raises(AnyshapeError, match=r"a.shape\[0\] \(2\) must equal"):
        jit(linalg.issymmetric)(np.ones((2, 3)))


def test_riccati_equations_are_batched_complex_and_differentiated_twice():
    a, b, q, r = square(3), square(3, 1)[:, :2], positive(3), positive(3)[:2, :2]
    for name in ("solve_continuous_are", "solve_discrete_are"):
        function, expected = getattr(linalg, name), getattr(scipy.linalg, name)
        stack = np.stack([a / 9, a / 12])
        batch = vmap(lambda a, f=function: f(a, b, q, r))(stack)
        np.testing.assert_allclose(batch, [expected(one, b, q, r) for one in stack], 1e-9)
        turned = a / 9 + 0.2j * square(3, 5)
        np.testing.assert_allclose(jit(function)(turned, b, q, r), expected(turned, b, q, r), 1e-9)
        curved = lambda t, f=function: f(a / 9 * t, b * t, q, r).sum()
        check_grads(curved, (1.2,), order=2, rtol=1e-4)
        with pytest.raises(ArgumentError, match="e='a matrix'"):
            jit(function)(a, b, q, r, np.eye(3))


def test_sizes_that_scipy_refuses_are_refused_and_empty_ones_served():
    for function, sizes in [
        (linalg.companion, (1,)),
        (linalg.leslie, (3, 3)),
        (linalg.leslie, (1, 0)),
        (lambda d, e: linalg.eigvalsh_tridiagonal(d, e), (0, 0)),
    ]:
        with pytest.raises(AnyshapeError, match="must"):
            jit(function)(*[np.ones(n) for n in sizes])
    traced = jit(lambda x: [linalg.dft(x.shape[0], scale) for scale in (None, "n", "sqrtn")])
    solve = jit(lambda c, b: linalg.solve_circulant(c, b))
    for n in (0, 1, 6):
        for one, scale in zip(traced(np.ones(n)), (None, "n", "sqrtn"), strict=True):
            np.testing.assert_allclose(one, scipy.linalg.dft(n, scale), 1e-12, 1e-14)
        column = np.arange(1.0, n + 1)
        np.testing.assert_allclose(solve(column, column), scipy.linalg.solve_circulant(column, column), 1e-12, 1e-14)
    assert traced.cache_info().traces == solve.cache_info().traces == 1


def test_vectors_along_the_last_axis_make_a_matrix_each():
    x = 1 + np.arange(12.0).reshape(3, 4) ** 1.5
    pairs = {"toeplitz": (x, x[:, 1:]), "leslie": (x, x[:, 1:]), "convolution_matrix": (x, 5)}
    for name in ("circulant", "toeplitz", "companion", "fiedler", "fiedler_companion", *pairs):
        operands = pairs.get(name, (x,))
        matrices = jit(lambda x, n=name, v=operands: getattr(linalg, n)(x, *v[1:]))(x)
        rows = [[v[i] if np.ndim(v) else v for v in operands] for i in range(3)]
        expected = [getattr(scipy.linalg, name)(*row) for row in rows]
        np.testing.assert_allclose(matrices, expected, 1e-14, err_msg=name)


def test_functions_of_matrices_without_elements_and_of_complex_bands():
    for name, further in (("logm", ()), ("signm", ()), ("fractional_matrix_power", (0.5,))):
        for function in (getattr(scipy.linalg, name), jit(getattr(linalg, name))):
            with pytest.raises((ValueError, IndexError)):
                function(np.ones((0, 0)), *further)
    assert jit(linalg.logm)(np.eye(2, dtype=np.float32)).dtype == np.float64
    with pytest.raises(TypeError, match="complex"):
        jit(linalg.eigvalsh_tridiagonal)(np.ones(2) + 0j, np.ones(1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_matrices_of_vectors_have_the_dtype_of_scipy(dtype):
    x = np.arange(1, 5).astype(dtype)
    pairs = {"leslie": (x[1:],), "convolution_matrix": (3,), "diagsvd": (4, 5)}
    for name in ("circulant", "toeplitz", "hankel", "companion", "fiedler", "fiedler_companion", *pairs):
        further = pairs.get(name, ())
        ours = jit(lambda x, n=name, f=further: getattr(linalg, n)(x, *f))(x)
        theirs = getattr(scipy.linalg, name)(x, *further)
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_allclose(ours, theirs, 1e-6, err_msg=name)
