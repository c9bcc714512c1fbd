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
