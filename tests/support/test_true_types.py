"""Tests of the question for the class of a value itself."""

import numpy as np
import pytest

from anyshape import jit, symbolic_shape
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.support.true_types import has_type


@pytest.mark.parametrize(
    ("x", "kinds"), [(3, int), (True, int), (2.0, (int, float)), (np.float64(2), (float, np.generic)), ([], list)]
)
def test_plain_values_have_the_types_that_isinstance_says(x, kinds):
    assert has_type(x, kinds) and isinstance(x, kinds)
    assert not has_type(x, (str, np.ndarray))


def test_traced_values_have_types_of_their_own():
    answers = []

    def f(x):
        total, size = x.sum(), x.shape[0]
        for value, stands_for, own in [(x, np.ndarray, Traced), (total, float, Traced), (size, int, SymbolicSize)]:
            answers.append((isinstance(value, stands_for), has_type(value, stands_for), has_type(value, own)))
        return total

    jit(f)(np.arange(3.0))
    assert answers == [(True, False, True)] * 3


def test_declared_sizes_are_no_ints():
    (n,) = symbolic_shape("n")
    assert not isinstance(n, int) and not has_type(n, int) and has_type(n, SymbolicSize)
