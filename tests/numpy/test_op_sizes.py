"""Functions of `anyshape.ops` take the sizes that a traced array has, from one trace and without a notice."""

import warnings

import numpy as np
import pytest

import anyshape
from anyshape import ops

FUNCTIONS = {
    "segment_sum": (lambda x, i, y: ops.segment_sum(x, i, y.shape[0]), lambda n: (n + 2, 3)),
    "put_add": (lambda x, i, y: ops.put_add(x, i, y.shape[0]), lambda n: (n + 2, 3)),
    "put_add_at": (lambda x, i, y: ops.put_add_at(x, (i,), (0,), (y.shape[0],)), lambda n: (n + 2, 3)),
    "broadcast_to": (lambda x, i, y: ops.broadcast_to(x[:1], (y.shape[0], 3)), lambda n: (n + 2, 3)),
    "broadcast_in_dim": (lambda x, i, y: ops.broadcast_in_dim(y, (x.shape[1], y.shape[0]), (1,)), lambda n: (3, n + 2)),
    "reshape": (lambda x, i, y: ops.reshape(x, (x.shape[0] * x.shape[1],)), lambda n: (3 * n,)),
    "iota": (lambda x, i, y: ops.iota(y.shape[0]), lambda n: (n + 2,)),
    "full": (lambda x, i, y: ops.full((y.shape[0], 2), 1.0, float), lambda n: (n + 2, 2)),
    "slice": (lambda x, i, y: ops.slice(y, (1,), (y.shape[0] - 2,)), lambda n: (n,)),
    "pad": (lambda x, i, y: ops.pad(x, (x.shape[0], 0), (0, y.shape[0])), lambda n: (2 * n, 5 + n)),
    "dynamic_slice": (lambda x, i, y: ops.dynamic_slice(y, (1,), (x.shape[0],)), lambda n: (n,)),
    "dynamic_truncate": (lambda x, i, y: ops.dynamic_truncate(y, x.shape[0]), lambda n: (n,)),
    "size_value": (lambda x, i, y: ops.size_value(y.shape[0]), lambda n: ()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_size_of_another_array_is_an_argument(name):
    function, shape = FUNCTIONS[name]
    jitted = anyshape.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (4, 0, 1, 2, 5):
            args = np.ones((n, 3)), np.zeros(n, int), np.zeros(n + 2)
            if n or name != "broadcast_to":
                assert jitted(*args).shape == shape(n)
    assert jitted.cache_info().traces == 1


def test_values_are_those_of_the_size():
    x, ids, like = np.arange(6.0).reshape(3, 2), np.array([3, 0, 3]), np.zeros(4)
    summed = anyshape.jit(lambda x, ids, like: ops.put_add(x, ids, like.shape[0]))(x, ids, like)
    np.testing.assert_array_equal(summed, [[2, 3], [0, 0], [0, 0], [4, 6]])
    assert anyshape.jit(lambda y: ops.size_value(y.shape[0]))(like) == 4


ONE_LESS = {
    "iota": lambda y: ops.iota(y.shape[0] - 3),
    "full": lambda y: ops.full((y.shape[0] - 3, 2), 1.0, float),
    "broadcast_to": lambda y: ops.broadcast_to(y.sum(), (y.shape[0] - 3,)),
    "broadcast_in_dim": lambda y: ops.broadcast_in_dim(y.sum(), (y.shape[0] - 3,), ()),
    "put_add": lambda y: ops.put_add(y[:0], np.zeros(0, int), y.shape[0] - 3),
}


@pytest.mark.parametrize("name", ONE_LESS)
def test_a_negative_size_is_an_error_of_the_call(name):
    """Also where only the size of the result is read."""
    jitted = anyshape.jit(lambda y: y.sum() * 0 + ONE_LESS[name](y).shape[0])
    assert [jitted(np.ones(n)) for n in (5, 3, 8)] == [2, 0, 5]
    with pytest.raises(anyshape.errors.SizeMismatchError, match="at least 3"):
        jitted(np.ones(1))
    with pytest.raises(anyshape.errors.ShapeError, match="negative"):
        ONE_LESS[name](np.ones(1))
    assert jitted.cache_info().traces == 1


def test_integers_of_numpy_are_sizes():
    two, four = np.int64(2), np.uint8(4)

    def shapes(x):
        made = (
            ops.iota(four),
            ops.reshape(x, (two, two)),
            ops.put_add(x, np.zeros(4, int), two),
            ops.pad(x, (two,), (two,)),
        )
        return *made, ops.slice(x, (two,), (two,)), ops.broadcast_to(x, (two, four)), ops.full((two,), 1.0, float)

    for function in (shapes, anyshape.jit(shapes)):
        results = [result.shape for result in function(np.ones(4))]
        assert results == [(4,), (2, 2), (2,), (8,), (2,), (2, 4), (2,)]


def test_a_shape_may_be_an_iterator():
    def written(x):
        view = ops.broadcast_in_dim(x, (size for size in (2, 3)), (1,))
        x[0] = 9
        return view[1, 0] + 0

    assert anyshape.jit(written)(np.zeros(3)) == 9
