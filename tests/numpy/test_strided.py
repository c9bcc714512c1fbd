"""Compare views by strides and by DLPack with NumPy's, and check that no element outside is read."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import check_grads, jit, vmap
from anyshape.errors import ShapeError, SizeMismatchError

numpys = np.lib.stride_tricks
as_strided = anp.lib.stride_tricks.as_strided


def windows(x):
    n = x.shape[0]
    return as_strided(x, (n - 2, 3), (8, 8))


def test_windows_at_every_size_from_one_trace():
    traced = jit(windows)
    for n in (2, 3, 5, 9):
        x = np.sin(np.arange(float(n)))
        np.testing.assert_array_equal(traced(x), numpys.sliding_window_view(x, 3) if n > 2 else np.ones((0, 3)))
    assert traced.cache_info().traces == 1
    check_grads(lambda x: windows(x) ** 2, (np.sin(np.arange(5.0)),), order=2)
    stack = np.sin(np.arange(10.0)).reshape(2, 5)
    np.testing.assert_array_equal(vmap(windows)(stack), [numpys.sliding_window_view(row, 3) for row in stack])


@pytest.mark.parametrize("shape, strides", [((2, 2), (8, 16)), ((4,), (0,)), ((), ()), ((0, 9), (8, 8)), (None, None)])
def test_shapes_and_strides(shape, strides):
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jit(lambda x: as_strided(x, shape, strides))(x), numpys.as_strided(x, shape, strides))


def test_what_lies_outside_is_refused():
    x = np.arange(5.0)
    with pytest.raises(SizeMismatchError, match="must be"):
        jit(lambda x: as_strided(x, (x.shape[0], 2), (8, 8)))(x)
    with pytest.raises(ShapeError, match="before the array"):
        jit(lambda x: as_strided(x, (2,), (-8,)))(x)
    with pytest.raises(ShapeError, match="splits elements"):
        jit(lambda x: as_strided(x, (2,), (4,)))(x)
    with pytest.raises(ShapeError, match="2 sizes and 1 strides"):
        jit(lambda x: as_strided(x, (2, 2), (8,)))(x)


def test_from_dlpack_gives_views_and_copies_as_numpy_does():
    def parts(np, x):
        base, copies = x * 1, x * 1
        shared, same, copied = np.from_dlpack(base), np.from_dlpack(base, copy=False), np.from_dlpack(copies, copy=True)
        base[0], shared[1], same[2], copied[3] = 50, 60, 70, 80
        return shared, same, copied, base, copies

    x = np.arange(4.0)
    for ours, theirs in zip(jit(lambda x: parts(anp, x))(x), parts(np, x), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    check_grads(lambda x: anp.from_dlpack(x) ** 3, (x,), order=2)
    with pytest.raises(ValueError, match="Device not understood"):
        jit(lambda x: anp.from_dlpack(x, device="gpu"))(x)
    with pytest.raises(AttributeError, match="__dlpack__"):
        jit(lambda x: anp.from_dlpack([x]))(x)
