"""Tests of one pool of threads: routines of NumPy's library, and threads of libraries while kernels run."""

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg

import anyshape.numpy as anp
from anyshape import grad, jit
from anyshape.backend.runtime import blas
from anyshape.backend.runtime.config import config
from anyshape.scipy import linalg
from anyshape.support.packages import scipy_linalg

needs_routines = pytest.mark.skipif(not blas.has_routines("d"), reason="NumPy and SciPy share a library")
OF_FORM = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "part of rows": lambda a: np.pad(a, ((1, 2), (3, 1)))[1:-2, 3:-1],
    "part of columns": lambda a: np.pad(a.T, ((1, 2), (3, 1)))[1:-2, 3:-1].T,
    "every other": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "fields of records": lambda a: fields(a),
    "fields of records, columns": lambda a: fields(a.T).T,
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
}


def fields(a):
    """Return a copy of a matrix whose rows are fields of records that are not multiples of its elements apart."""
    records = np.zeros(len(a), [("row", a.dtype, a.shape[1]), ("rest", np.int16)])
    records["row"] = a
    return records["row"]


def matrix(rng, kind, *shape):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if kind in "FD" else x).astype(kind)


@needs_routines
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", "fdFD")
def test_triangles_are_solved_in_all_layouts(kind, layout):
    rng, close = np.random.default_rng(0), {"rtol": 2e-3, "atol": 1e-4} if kind in "fF" else {"rtol": 1e-9}
    for n, k, lower, form, unit, right in itertools.product((1, 2, 5), (1, 3), (0, 1), "NTC", (0, 1), (0, 1)):
        a = LAYOUTS[layout](matrix(rng, kind, n, n) + 3 * np.eye(n, dtype=kind))
        b = LAYOUTS[layout](matrix(rng, kind, *((k, n) if right else (n, k))))
        triangle = np.tril(a) if lower else np.triu(a)
        if unit:
            np.fill_diagonal(triangle, 1)
        op, before = OF_FORM[form](triangle), (a.copy(), b.copy())
        x = blas.solve_triangle(a, b, bool(lower), form, bool(unit), bool(right))
        np.testing.assert_allclose(x @ op if right else op @ x, b, **close)
        assert x.dtype == b.dtype and all(map(np.array_equal, before, (a, b)))


@needs_routines
@pytest.mark.parametrize("kind", "fdFD")
def test_factors_and_solutions_are_those_of_scipy(kind):
    rng, close = np.random.default_rng(0), {"rtol": 2e-3, "atol": 1e-3} if kind in "fF" else {"rtol": 1e-8}
    for m, n in ((1, 1), (5, 3), (3, 5), (40, 40)):
        a = matrix(rng, kind, m, n)
        lu, exchanged, info = blas.lu_factor(a)
        theirs, pivots, _ = scipy.linalg.lapack.get_lapack_funcs("getrf", (a,))(a)
        np.testing.assert_allclose(lu, theirs, **close)
        assert exchanged.tolist() == pivots.tolist() and exchanged.dtype == np.int32 and info == 0
        for form in "NTC" if m == n else "":
            b = matrix(rng, kind, m, 4)
            np.testing.assert_allclose(OF_FORM[form](a) @ blas.lu_solve(lu, exchanged, b, form), b, **close)
        if m == n:
            np.testing.assert_allclose(a @ blas.lu_inverse(lu, exchanged), np.eye(n), atol=close.get("atol", 1e-10))
    assert blas.lu_factor(np.zeros((3, 3), kind))[2] == 1


LOSSES = {
    "triangle": lambda np, la, a, b: np.sum(la.solve_triangular(np.tril(a), b, lower=True) ** 2),
    "transposed": lambda np, la, a, b: np.sum(la.solve_triangular(np.triu(a), b, trans=1) ** 2),
    "unit": lambda np, la, a, b: np.sum(la.solve_triangular(np.triu(a) / 9, b, unit_diagonal=True)),
    "factors": lambda np, la, a, b: np.sum(la.lu_solve(la.lu_factor(a), b) ** 2),
    "solution": lambda np, la, a, b: np.sum(np.linalg.solve(a, b) ** 2),
    "likelihood": lambda np, la, a, b: np.sum(la.cho_solve((np.linalg.cholesky(a @ a.T), True), b) ** 2),
    "eigenvalues": lambda np, la, a, b: np.sum(np.linalg.eigh(a @ a.T)[0] ** 0.5),
    "exponential": lambda np, la, a, b: np.sum(la.expm(a / 99) @ b),
}


@pytest.mark.parametrize("name", LOSSES)
def test_large_and_small_matrices_agree_from_one_trace(name):
    """Both libraries are used, NumPy's for large matrices."""
    loss, rng = LOSSES[name], np.random.default_rng(0)
    compiled = jit(lambda a, b: loss(anp, linalg, a, b))
    slope = jit(lambda a, b, t: grad(lambda s: loss(anp, linalg, a + s * t, b))(0.0))
    for n in (1, 5, 70, 140):
        a, b, t = rng.normal(size=(n, n)) / n + 4 * np.eye(n), rng.normal(size=(n, 60)), rng.normal(size=(n, n)) / n
        plain = lambda s: float(loss(np, scipy.linalg, a + s * t, b))  # noqa: B023
        assert float(compiled(a, b)) == pytest.approx(plain(0.0), rel=1e-9)
        assert float(slope(a, b, t)) == pytest.approx((plain(1e-5) - plain(-1e-5)) / 2e-5, rel=1e-4, abs=1e-5)
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize("kind", "fdFD")
def test_inverses_and_slopes_of_determinants_are_as_exact_as_those_of_numpy(kind):
    """NumPy inverts single precision in double precision."""
    for n in (5, 63, 64, 80):
        a = matrix(np.random.default_rng(n), kind, n, n) / np.float32(n**0.5)
        exact = np.linalg.inv(a.astype("D"))
        least = np.abs(np.linalg.inv(a) - exact).max() + np.finfo(kind).eps * np.abs(exact).max()
        assert np.abs(jit(np.linalg.inv)(a) - exact).max() <= 20 * least
        if kind in "fd":
            slope, expected = grad(np.linalg.det)(a), np.linalg.det(a.astype("d")) * exact.real.T
            assert np.abs(slope - expected).max() <= np.finfo(kind).eps * np.linalg.cond(a) * np.abs(expected).max()


@pytest.mark.slow
@needs_routines
def test_the_library_of_scipy_is_found_where_assertions_are_left_out():
    code = "from anyshape.backend.runtime import blas; print(len(blas._libraries_of_scipy()))"
    counts = [
        subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True).stdout
        for options in ([], ["-O"])
    ]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("size", [2, 80])
def test_a_triangle_with_a_zero_on_its_diagonal_is_singular(size):
    a = np.tril(np.ones((size, size)))
    a[1, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        jit(lambda a, b: linalg.solve_triangular(a, b, lower=True))(a, np.ones((size, 80)))
    a[1, 1] = np.nan
    solve = jit(lambda a, b: linalg.solve_triangular(a, b, lower=True, check_finite=False))
    assert np.isnan(solve(a, np.ones((size, 80)))[1]).all()


# -- threads


class Library:
    """Library that counts how often its number of threads is set."""

    def __init__(self, count):
        self.count, self.sets = count, []

    def get_num_threads(self):
        return self.count

    def set_num_threads(self, count):
        self.count = count
        self.sets.append(count)


@pytest.fixture
def library(monkeypatch):
    made = Library(4)
    for one in (blas._OF_SCIPY, blas._OF_NUMPY):
        monkeypatch.setattr(one, "libraries", lambda: [made])
    return made


def test_scipy_has_one_thread_in_a_kernel_and_its_own_number_afterwards(library, monkeypatch):
    seen = []
    expm = scipy.linalg.expm
    monkeypatch.setattr(scipy_linalg, "expm", lambda a: (seen.append(library.count), expm(a))[1], raising=False)
    compiled = jit(linalg.expm)
    compiled(np.eye(3))
    assert seen == [1] and library.count == 4

    def failing(_):
        seen.append(library.count)
        raise np.linalg.LinAlgError("no")

    monkeypatch.setattr(scipy_linalg, "expm", failing, raising=False)
    with pytest.raises(np.linalg.LinAlgError, match="no"):
        compiled(np.eye(2))
    assert seen == [1, 1] and library.count == 4


def test_threads_of_numpy_follow_from_sizes_alone(library):
    compiled, limit = jit(np.linalg.cholesky), blas._MOST_FACTORED
    for rows, uses in ((blas.FEWEST_ROWS - 1, False), (blas.FEWEST_ROWS, True), (limit, True), (limit + 1, False)):
        library.sets.clear()
        compiled(np.eye(rows))
        assert library.sets == ([1, 4] if uses else []), rows


def test_reproducible_results_keep_the_threads_of_numpy(library, monkeypatch):
    monkeypatch.setattr(config, "reproducible", True)
    jit(np.linalg.cholesky)(np.eye(blas.FEWEST_ROWS))
    assert library.sets == []


def test_what_has_one_thread_already_stays_as_it_is(library):
    library.count = 1
    jit(linalg.expm)(np.eye(3))
    assert library.sets == []


def test_the_last_of_several_users_restores_the_number(library):
    inside, leave = threading.Event(), threading.Event()

    def other():
        with blas.scipy_threads(3):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    with blas.scipy_threads(3), blas.scipy_threads(2):
        assert library.count == 1
    assert library.count == 1
    leave.set()
    thread.join()
    assert library.count == 4 and library.sets == [1, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_that_is_forked_meanwhile_has_the_number_again(library):
    with blas.scipy_threads(3):
        child = os.fork()
        if not child:
            is_right = library.count == 4 and not blas._OF_SCIPY.users and not blas._OF_SCIPY.lock.locked()
            os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
