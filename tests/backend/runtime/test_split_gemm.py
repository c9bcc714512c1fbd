"""Tests of contractions that are split among threads: values, bits and the threads of BLAS."""

import numpy as np
import pytest

import anyshape
from anyshape.backend.compiler.codegen import bodies
from anyshape.backend.runtime import blas, thread_pool
from anyshape.backend.runtime.config import config

CASES = {
    "matrices": (lambda x, y: x @ y, ("n, k", "k, m")),
    "left transposed": (lambda x, y: x.T @ y, ("k, n", "k, m")),
    "right transposed": (lambda x, y: x @ y.T, ("n, k", "m, k")),
    "matrix and vector": (lambda x, y: x @ y, ("n, k", "k")),
    "vector and matrix": (lambda x, y: x @ y, ("k", "k, m")),
    "vectors": (lambda x, y: x @ y, ("k", "k")),
    "stacks": (lambda x, y: x @ y, ("b, n, k", "b, k, m")),
    "one matrix for a stack": (lambda x, y: x @ y, ("b, n, k", "k, m")),
    "outer": (np.outer, ("n", "m")),
    "einsum": (lambda x, y: np.einsum("bnk,bmk->mbn", x, y), ("b, n, k", "b, m, k")),
}


@pytest.fixture
def everything_is_large(monkeypatch):
    """Split contractions of every size; `MIN_PRODUCTS` is read when a program is compiled."""
    monkeypatch.setattr(bodies, "MIN_PRODUCTS", 0)
    monkeypatch.setattr(thread_pool.blas, "blas_threads", lambda: 1, raising=False)
    monkeypatch.setattr(config, "num_threads", 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("name", CASES)
def test_split_contractions_equal_numpy(name, dtype, everything_is_large):
    function, shapes = CASES[name]
    step = anyshape.jit(function)
    for n in (0, 1, 2, 3, 5, 17):
        sizes = {"b": 3, "n": n, "k": 4, "m": 6}
        rng = np.random.default_rng(n)
        arrays = [rng.integers(-9, 9, [sizes[a] for a in s.split(", ")]).astype(dtype) for s in shapes]
        if dtype == "complex128":
            arrays = [x * (1 - 2j) for x in arrays]
        for operands in (arrays, [np.asfortranarray(x) for x in arrays], [x[..., ::-1] for x in arrays]):
            expected = function(*operands)
            got = step(*operands)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)
    assert step.cache_info().traces == 1


def test_results_are_bitwise_equal_for_any_number_of_threads(everything_is_large, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(37, 64)), rng.normal(size=(64, 29))
    step = anyshape.jit(lambda x, y: x @ y)
    results = []
    for threads in (1, 2, 4):
        monkeypatch.setattr(config, "num_threads", threads)
        results.append(step(x, y))
    np.testing.assert_allclose(results[0], x @ y, rtol=1e-12)
    assert all(np.array_equal(results[0], result) for result in results)


def test_a_multithreaded_blas_gets_whole_contractions(everything_is_large, monkeypatch):
    monkeypatch.setattr(thread_pool.blas, "blas_threads", lambda: 2, raising=False)
    monkeypatch.setattr(thread_pool, "run_tiles", lambda *_: pytest.fail("two pools of threads at once"))
    assert anyshape.jit(lambda x: x @ x)(np.eye(3)).tolist() == np.eye(3).tolist()


def test_the_number_of_blas_threads_is_positive_or_unknown():
    threads = blas.blas_threads()
    assert threads is None or threads >= 1
