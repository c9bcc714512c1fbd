"""Elements that a result does not depend on are at a pole, and constants that a result gives: both modes agree.

In each row one element of an operand has an infinite slope, and one element of the result is read. Forward mode tells
whether the structure of the row leads from the one to the other: else its tangent is 0. Reverse mode must say the same.
Then the result has an infinite slope, and only one element of the operand
has a tangent.
"""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from tests.laws.sweep import arrays_of, cases, few_combinations, gate_part, is_error, outcome, split

# Rows of products, which make numbers of zeros by construction, and of functions that are made of products.
PRODUCTS = ("contraction", "custom_rules", "factorisations")
MIXED = {
    "mask of rows", "cholesky", "lstsq at any size", "qr", "lu", "lu of high matrices", "solve_banded",
    "solveh_banded of 2 diagonals", "solveh_banded of 3 diagonals",
    "solve_banded of stacks", "cholesky_banded of 2 diagonals", "cholesky_banded of 2 known diagonals",
    "cholesky_banded of 3 known diagonals",
    "solve_toeplitz", "polyfit with weights", "cov", "cov of two", "recursive filter", "conv",
    "conv of windows of all sizes", "conv with strides", "conv of the same size", "conv with dilations",
    "conv that cuts off", "conv of three axes", "conv of groups",
}  # fmt: skip
# Filters whose infinite weights meet zeros beyond an end, and sums that run on beyond an infinite element.
MIXED |= {
    "correlate, constant", "spread, reflect", "spread, mirror", "spread, nearest", "spread, constant",
    "weigh, reflect", "weigh, nearest", "weigh, constant", "means of windows", "recursive filter from states",
    "sections of filters", "sections of lines", "spline values, reflect", "spline values, mirror", "linear values",
    "spline values, nearest", "spline values, wrap", "spline values, constant", "spline values, grid-constant",
    "spline values, grid-wrap", "deposits", "even deposits", "transformed image", "lower rate", "higher rate",
    "every third",
}  # fmt: skip
CASES = [c for c in cases(("float64",)) if c[1].grad is True and c[0] not in PRODUCTS and c[1].name not in MIXED]


@pytest.fixture(autouse=True)
def quiet():
    """Poles warn, as NumPy does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def programs(f, xs, rest, k, r):
    """Yield functions of array k and all arrays, with a pole; their point, and one of the elements of it."""
    x = xs[k]
    apply = lambda z, xs: f.function([*xs[:k], z, *xs[k + 1 :]], rest)[r]
    value = np.nan_to_num(np.asarray(f.function(xs, rest)[r]))
    for i in {0, x.size - 1}:
        one = np.zeros(x.shape)
        one.flat[i] = 1
        yield (lambda q, xs, one=one: apply(x + (np.sqrt(q) - (1 - one)), xs)), 1 - one, one
        yield (lambda z, xs, one=one: np.sqrt(apply(np.where(one > 0, z, x), xs) - value)), x, one


def check_modes(f, point, one, xs, note):
    """Forward and reverse mode are finite alike, at the first and the last element of the result."""
    forward = np.ravel(anyshape.jit(lambda x, xs: anyshape.jvp(lambda x: f(x, xs), (x,), (one,))[1])(point, xs))
    element = anyshape.jit(anyshape.grad(lambda x, xs, o: f(x, xs).reshape(-1)[o]))
    for o in (0, -1):
        back = element(point, xs, o)[one > 0]
        assert np.isfinite(forward[o]) == np.isfinite(back[0]), f"{note}: {forward[o]} forward, {back[0]} back"


@pytest.mark.parametrize("case", gate_part("left out", CASES, one_in=90))
def test_both_modes_agree_on_what_is_left_out(case):
    _, row, dtype = case
    xs = arrays_of(row, few_combinations(row)[0], dtype)
    f = split(row, xs, anp)
    moving, rest = f.parts(xs)
    results = outcome(f.function, moving, rest)
    numbers = [] if is_error(results) else [r for r, y in enumerate(results) if y.size and y.dtype == np.float64]
    for k in [k for k, x in enumerate(moving) if x.size and x.dtype == np.float64]:
        for r in numbers:
            for g, point, one in programs(f, moving, rest, k, r):
                check_modes(g, point, one, moving, f"{row.name}, array {k}, result {r}")


def test_the_exceptions_are_rows():
    assert {case[1].name for case in cases()} >= MIXED
