"""Names of NumPy, SciPy and Python in functions that are read, each as people write it, beside plain Python."""

import copy
import math

import numpy as np
import pytest
from numpy.random import random

from anyshape import jit


def joined(x):
    return np.r_[0.0, x, x[:1]], np.c_[x, 2 * x]


def grids(x):
    return np.mgrid[0 : len(x)] * x, np.ogrid[0 : len(x), 0:3][0].sum() + x


def vectorised(x):
    return np.vectorize(lambda v: v * 2 if v > 1 else -v, otypes=[float])(x)


def compared(x):
    np.testing.assert_allclose(x, x + 1e-9, rtol=1e-5, atol=1)
    return x.sum()


def kronecker(x):
    y = np.kron(x, np.ones(2))
    y[:1] = 0
    return y


def drawn(x):
    total = np.random.rand() + random()
    for v in x:
        total += v * np.random.randn()
    return total + np.random.uniform(0, 1, 3).sum()


def copies(x):
    y = copy.deepcopy(np.zeros(2))
    y[0] = x.sum()
    return y


def is_among(x):
    count = 0
    for v in x:
        if 2.0 in (v, v + 1) or v not in (1.0, 3.0):
            count += 1
    return count


def root_of_a_size(x):
    total = 0.0
    for _ in range(len(x) + 20):
        total += math.sqrt(len(x))
    return total + math.sqrt(x[:1].sum())


def root_of_a_known_size(x):
    y = x[:0] if len(x) == 0 else x[: min(len(x), 1)]
    return math.sqrt(len(y)) + math.hypot(len(y), 2) + x.sum()


PROGRAMS = (
    joined, grids, vectorised, compared, kronecker, drawn, copies, is_among, root_of_a_size, root_of_a_known_size,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_name_means_what_it_means_to_numpy(function):
    traced = jit(function)
    for n in (4, 0, 1, 23):
        x = np.arange(n) + 0.5
        results = []
        for f in (traced, function):
            np.random.seed(n)
            results.append(f(x.copy()))
        parts = [r if isinstance(r, tuple) else (r,) for r in results]
        for one, other in zip(*parts, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
            assert np.result_type(one) == np.result_type(other)
    assert traced.cache_info().traces <= 2
