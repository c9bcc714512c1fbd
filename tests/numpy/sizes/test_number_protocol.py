"""Tests of what functions ask about sizes."""

import numbers

import numpy as np
import pytest

from anyshape import jit

QUESTIONS = {
    "class": lambda n: n.__class__,
    "isinstance": lambda n: (isinstance(n, int), isinstance(n, bool), isinstance(n, np.integer), isinstance(n, float)),
    "numbers": lambda n: (isinstance(n, numbers.Integral), isinstance(n, numbers.Real), np.isscalar(n)),
    "np.ndim": np.ndim,
    "np.shape": np.shape,
    "np.size": np.size,
    "np.result_type": np.result_type,
    "with a dtype": lambda n: np.result_type(n, np.float32),
    "np.iscomplexobj": lambda n: (np.iscomplexobj(n), np.isrealobj(n)),
    "in a list": lambda n: (np.ndim([n, n]), np.shape([[n], [n]]), np.size([n, 1])),
    "attributes": lambda n: [hasattr(n, name) for name in ("dtype", "shape", "ndim", "astype", "items", "__len__")],
}
SIZES = {
    "a size": lambda x: x.shape[0],
    "a sum": lambda x: x.shape[0] + x.shape[1],
    "a NumPy integer": lambda x: np.prod(x.shape),
    "of int32": lambda x: x.shape[0] * np.int32(2),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_a_size_answers_as_the_integer_that_it_stands_for(question, size):
    ask, of = QUESTIONS[question], SIZES[size]
    answers = []
    f = jit(lambda x: (answers.append(ask(of(x))), x)[1])
    for shape in ((2, 3), (5, 3), (0, 1)):
        f(np.ones(shape))
    assert answers == [ask(of(np.ones((2, 3))))] and f.cache_info().traces == 1


def test_a_numpy_integer_has_its_attributes():
    f = jit(lambda x: x * np.prod(x.shape).astype(np.float32) + np.prod(x.shape).ndim)
    np.testing.assert_array_equal(f(np.ones((2, 3), np.float32)), np.full((2, 3), 6, np.float32))
    with pytest.raises(AttributeError, match="'int' object has no attribute 'dtype'"):
        jit(lambda x: x * x.shape[0].dtype.itemsize)(np.ones(3))


@pytest.mark.parametrize("equal", [np.array_equal, np.array_equiv])
def test_numpy_compares_shapes(equal):
    f = jit(lambda x, y: x * (2.0 if equal(x.shape, y.shape) else 3.0) * (5.0 if equal(x.shape[0], 3) else 7.0))
    for n, m in ((3, 3), (3, 1), (2, 2), (1, 1), (0, 0), (5, 1)):
        factor = (2.0 if n == m else 3.0) * (5.0 if n == 3 else 7.0)
        np.testing.assert_array_equal(f(np.ones(n), np.ones(m)), np.full(n, factor))
