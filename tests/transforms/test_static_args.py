"""Tests of static arguments: two values share a program only if type and value agree at every depth."""

import collections
import dataclasses
import itertools
import math

import numpy as np
import pytest

from anyshape import grad, hvp, jit, jvp, vjp
from anyshape.errors import ArgumentError
from tests.support.test_freezing import CONTAINERS, High, Low, Setting

NUMBERS = [True, 1, 1.0, 1 + 0j, np.float32(1), np.int8(1), 0.0, -0.0, complex(1, -0.0), complex(-0.0, 0.0), math.nan]
HASHABLE = {name: wrap for name, wrap in CONTAINERS.items() if name not in ("list", "dict", "deep", "set", "slice")}


def number_in(x):
    """Return the one number in a static value."""
    while not isinstance(x, (bool, int, float, complex, np.generic)):
        if isinstance(x, slice):
            x = x.stop
        else:
            x = x.value if dataclasses.is_dataclass(x) else next(iter(x))
    return x


@pytest.mark.parametrize("container", HASHABLE)
def test_each_type_and_value_has_its_own_program(container):
    f, x = jit(lambda x, static: x * number_in(static), static_argnums=1), np.arange(3, dtype=np.float32)
    for _, number in itertools.product(range(3), NUMBERS):
        got, expected = f(x, HASHABLE[container](number)), x * number
        assert got.dtype == expected.dtype, number
        assert got.tobytes() == expected.tobytes() or np.isnan(number), number
    assert f.cache_info().traces == len(NUMBERS)


def test_named_tuples_of_two_classes_are_two_programs():
    f, x = jit(lambda x, c: x * c[0].lo, static_argnames="c"), np.arange(3.0)
    for pair in (Low(2.0, 3.0), High(2.0, 3.0), Low(2.0, 3.0), High(2.0, 3.0)):
        np.testing.assert_array_equal(f(x, c=(pair,)), x * pair.lo)
    assert f.cache_info().traces == 2


def test_nan_does_not_trace_again():
    f = jit(lambda x, s: x + s.value[0], static_argnums=1)
    for _ in range(4):
        assert np.isnan(f(1.0, Setting((float("nan"),))))
    assert f.cache_info().traces == 1


def test_what_does_not_hash_is_still_refused():
    f = jit(lambda x, s: x, static_argnums=1)
    for value in ([1], ([1],), Setting([1]), {"a": 1}, np.ones(2)):
        with pytest.raises(ArgumentError, match="cannot be hashed"):
            f(1.0, value)


@dataclasses.dataclass(frozen=True)
class Scale:
    """A function that equals another one if its factor does."""

    factor: object

    def __call__(self, x):
        return np.sum(x * x) * self.factor


@pytest.mark.parametrize("transform", [
    lambda f, x: jvp(f, (x,), (x,))[1], lambda f, x: vjp(f, x)[1](1.0)[0], lambda f, x: hvp(f, (x,), (x,)),
    lambda f, x: grad(f)(x),
])  # fmt: skip
def test_functions_that_are_equal_but_differ_in_type_keep_their_own_derivatives(transform):
    x = np.ones(2, np.float32)
    for factor in (1, np.float64(1), 1, np.float64(2), True, np.float64(1)):
        got = transform(Scale(factor), x)
        expected = transform(lambda x, factor=factor: np.sum(x * x) * factor, x)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(got, expected)


def test_a_static_default_dict_key_order_counts():
    f = jit(lambda x, names: x * names.index("b"), static_argnames="names")
    counts = collections.Counter()
    for names in (("a", "b"), ("b", "a"), ("a", "b")):
        counts[float(f(1.0, names=names))] += 1
    assert counts == {1.0: 2, 0.0: 1}
