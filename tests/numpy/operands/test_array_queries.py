"""Test ndim, shape, size and result_type: NumPy's answers, from one trace at every size."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp


@pytest.mark.parametrize("namespace", [np, anp], ids=["numpy", "anyshape.numpy"])
def test_sizes_and_ranks_are_numpys(namespace):
    def queries(x):
        n, m = namespace.shape(x)
        return (
            n * 1,
            m * 1,
            namespace.ndim(x),
            namespace.size(x) * 1,
            namespace.size(x, -1) * 1,
            namespace.size(x, axis=0) * 1,
        )

    traced = anyshape.jit(queries)
    for shape in [(0, 3), (1, 1), (2, 5)]:
        x = np.ones(shape)
        assert [int(v) for v in traced(x)] == [int(v) for v in queries(x)]
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("namespace", [np, anp], ids=["numpy", "anyshape.numpy"])
def test_result_type_promotes_as_numpy_with_weak_python_scalars(namespace):
    dtypes = []

    def query(x, s):
        dtypes.extend(namespace.result_type(x, y) for y in (1.0, s, np.float64))
        return x

    anyshape.jit(query)(np.ones(2, np.float32), 2.5)
    assert dtypes == [np.float32, np.float32, np.float64]


def test_concrete_arrays_are_numpys_own():
    x = np.ones((2, 3))
    assert (anp.shape(x), anp.ndim(x), anp.size(x), anp.size(x, 1)) == ((2, 3), 2, 6, 3)
    assert anp.result_type(x, np.float32) == np.result_type(x, np.float32)


def test_an_axis_that_is_not_there():
    with pytest.raises(IndexError):
        anyshape.jit(lambda x: anp.size(x, 2) * x)(np.ones((2, 3)))
