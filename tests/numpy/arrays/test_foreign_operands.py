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


@pytest.mark.parametrize("k", [0, 1, 3, np.int64(2), np.uint8(3), True])
@pytest.mark.parametrize("sequence", [[0.5, 2], (1,), []])
def test_an_integer_repeats_a_list(sequence, k):
    for repeat in (lambda x, k: sequence * k, lambda x, k: k * sequence):
        result = jit(repeat)(1.0, k)
        assert type(result) is type(sequence)
        np.testing.assert_array_equal(result, repeat(1.0, k))


def test_a_list_that_is_repeated_may_hold_traced_values():
    def f(x, k):
        values = [x, 1.0]
        values *= k
        return np.array(values, like=x).sum() if k else x

    for k in (1, 2, 3):
        assert jit(f)(np.array(2.0), k) == 3.0 * k


NUMBERS = [2.0, np.float64(2.0), np.float32(2.0), 1j, np.complex128(1j), np.True_]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda x: type(x).__name__)
def test_other_numbers_repeat_no_list(number):
    for multiply in (lambda x: [1.0] * x, lambda x: x * (1.0,)):
        with pytest.raises(TypeError) as expected:
            multiply(number)
        with pytest.raises(TypeError, match=str(expected.value)):
            jit(multiply)(number)


@pytest.mark.parametrize("operate", [operator.add, operator.sub, operator.truediv, operator.lt])
@pytest.mark.parametrize("k", [2, 2.0])
def test_a_number_of_python_has_no_operator_with_a_list(operate, k):
    for f in (lambda k: operate(k, [1.0]), lambda k: operate([1.0], k)):
        with pytest.raises(TypeError):
            f(k)
        with pytest.raises(TypeError):
            jit(f)(k)
    assert not jit(lambda k: k == [k])(k)


@pytest.mark.parametrize("x", [np.float64(2.0), np.array(2), np.ones(1), np.ones((2, 1))])
def test_numpy_takes_a_list_for_an_array(x):
    for f in (lambda x: x + [1.0, 2.0], lambda x: [1.0, 2.0] - x, lambda x: x < [1.0, 3.0]):
        np.testing.assert_array_equal(jit(f)(x), f(x), strict=True)
    if np.ndim(x) or not isinstance(x, np.generic):
        np.testing.assert_array_equal(jit(lambda x: x * [1.0, 2.0])(x), x * [1.0, 2.0], strict=True)
