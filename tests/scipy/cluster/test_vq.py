"""Compare anyshape.scipy.cluster.vq with SciPy's."""

import numpy as np
import pytest
import scipy.cluster.vq

from anyshape import check_grads, jit, vmap
from anyshape.errors import AnyshapeError, UnsupportedFunctionError
from anyshape.scipy.cluster import vq

RNG = np.random.default_rng(4)


def test_nearest_vectors_are_scipys_at_many_sizes_from_one_trace():
    traced = jit(vq.vq)
    for n, k, d in ((5, 3, 2), (1, 1, 1), (2, 7, 3)):
        points, codes = RNG.normal(size=(n, d)), RNG.normal(size=(k, d))
        code, distance = traced(points, codes)
        expected = scipy.cluster.vq.vq(points, codes)
        assert code.dtype == expected[0].dtype
        np.testing.assert_array_equal(code, expected[0])
        np.testing.assert_allclose(distance, expected[1], 1e-12)
    assert traced.cache_info().traces == 1
    assert [x.shape for x in traced(np.zeros((0, 2)), np.ones((3, 2)))] == [(0,), (0,)]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_dtypes_and_numbers_are_scipys(dtype):
    points, codes = np.array([1, 4, 9, 5], dtype), np.array([0, 5, 5], dtype)
    for result, expected in zip(jit(vq.vq)(points, codes), scipy.cluster.vq.vq(points, codes), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_distances_have_derivatives_and_batches():
    points, codes = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    check_grads(lambda x, c: vq.vq(x, c)[1], (points, codes), order=2)
    batch = vmap(vq.vq, in_axes=(0, None))(np.stack([points, points * 2]), codes)
    np.testing.assert_array_equal(batch[0][1], scipy.cluster.vq.vq(2 * points, codes)[0])


def test_whitened_columns_keep_constants():
    x = np.column_stack([RNG.normal(size=5), np.full(5, 2.0)])
    with pytest.warns(RuntimeWarning, match="zero"):
        expected = scipy.cluster.vq.whiten(x)
    np.testing.assert_allclose(jit(vq.whiten)(x), expected, 1e-12)


def test_errors_and_scipys_own_functions():
    with pytest.raises(AnyshapeError, match="must equal"):
        jit(vq.vq)(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(UnsupportedFunctionError, match=r"vq\.kmeans"):
        jit(lambda x: vq.kmeans(x, 2))(np.ones((4, 2)))
