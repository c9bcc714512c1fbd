"""Counters of loops are Python ints in generated code, with the values and errors that NumPy's scalars give."""

import numpy as np
import pytest

from anyshape import fori_loop, jit, scan, while_loop

STEPS = {"add": lambda i: i + 3, "twice": lambda i: 2 * i + 1, "back": lambda i: i - (-2)}


@pytest.mark.parametrize("step", STEPS)
def test_counters_are_python_ints_and_results_are_scalars(step):
    f = jit(lambda n, x: while_loop(lambda c: c[0] < n, lambda c: (STEPS[step](c[0]), c[1] * 0.5), (0, x)))
    for n in (0, 1, 2, 40):
        i, x = 0, np.ones(2)
        while i < n:
            i, x = STEPS[step](i), x * 0.5
        count, value = f(n, np.ones(2))
        assert np.asarray(count).dtype == np.int64
        assert count == i
        np.testing.assert_array_equal(value, x)
    trip = f.programs()[0].run.__source__.split("in _count()")[1].split("break")[0]
    assert "python_int" in trip  # the check of the range
    assert ".item()" not in trip


def test_a_counter_that_an_array_reads_has_its_value():
    f = jit(lambda n, x: fori_loop(0, n, lambda i, c: c * 0.5 + i, x))
    expected = np.ones(2)
    for i in range(6):
        expected = expected * 0.5 + i
    np.testing.assert_array_equal(f(6, np.ones(2)), expected)


def test_two_counters_may_be_swapped_and_one_may_be_a_result_of_trips():
    f = jit(lambda n: while_loop(lambda c: c[0] < n, lambda c: (c[1] + 1, c[0] + 2), (0, 5)))
    a, b = 0, 5
    while a < 40:
        a, b = b + 1, a + 2
    assert f(40) == (a, b)
    last, all_before = jit(lambda: scan(lambda i, _: (i + 2, i), 1, None, length=4))()
    assert last == 9
    np.testing.assert_array_equal(all_before, [1, 3, 5, 7])


def test_a_counter_out_of_range_raises():
    f = jit(lambda n: while_loop(lambda c: c < n, lambda c: c * 4, 1))
    assert f(20) == 64
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        f(2**62 + 1)
