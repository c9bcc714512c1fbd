"""Tests of positions of the mapped axis, which samples leave at the front of results."""

import numpy as np
import pytest

from anyshape import jit, vmap

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("out_axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("in_axis", [0, 1, -1])
def test_the_mapped_axis_may_stand_anywhere(in_axis, out_axis):
    mapped = jit(lambda x: vmap(np.sin, in_axes=in_axis, out_axes=out_axis)(x))
    for x in (X, X[:1], X[:, :0], X[..., :1]):
        np.testing.assert_array_equal(mapped(x), np.moveaxis(np.sin(x), in_axis, out_axis), strict=True)
    assert mapped.cache_info().traces == 1


def test_each_result_has_its_own_axis():
    mapped = vmap(
        lambda x: {"row": x * 2, "sum": x.sum(), "same": X[0, 0]}, out_axes={"row": -1, "sum": 0, "same": None}
    )
    result = mapped(X[0])
    np.testing.assert_array_equal(result["row"], X[0].T * 2)
    np.testing.assert_array_equal(result["sum"], X[0].sum(1))
    np.testing.assert_array_equal(result["same"], X[0, 0])


def test_a_result_that_is_not_batched_is_repeated_along_the_mapped_axis():
    repeated = vmap(lambda x: X[0, 0], out_axes=1)(X[0])
    np.testing.assert_array_equal(repeated, np.stack([X[0, 0]] * 3, 1))
