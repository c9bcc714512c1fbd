"""Traced arrays are compared with what is not a number as in NumPy: element by element."""

import operator

import numpy as np
import pytest

from anyshape import jit

OTHERS = {
    "None": None, "text": "a", "bytes": b"a", "object": object(), "dict": {}, "set": {1}, "list of None": [None],
    "texts": ["a", "b", "c"],
}  # fmt: skip


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("shape", [(2, 3), (3,), (1, 3), (0, 3)])
def test_what_is_no_number_equals_no_element(shape, other, compare):
    x = np.ones(shape)
    result = jit(lambda x: compare(x, other))(x)
    expected = np.asarray(compare(x, other)).astype(bool)
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)
    assert result.shape == expected.shape
