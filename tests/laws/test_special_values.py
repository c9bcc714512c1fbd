"""NaN, infinities, zeros and ties in one element of each row: forward and reverse mode agree, NaN included.

With uneven directions t and weights w, <w, jvp(t)> and <vjp(w), t> are sums of the same products. So one is NaN exactly
where the other is. Beside infinities a sum may be inf in one order and NaN in another, so there both are not finite.

Two kinds of rows are excepted, as 0 times NaN is NaN:

- Reverse mode meets NaN where a row computes an element and then leaves it out: its cotangent is 0.
- Forward mode meets NaN where a row puts an element among constants, or a branch is constant: tangents are 0 there.
"""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from tests.laws.sweep import (
    arrays_of,
    cases,
    few_combinations,
    gate_part,
    inexact,
    is_error,
    label,
    leaves,
    outcome,
    split,
    uneven,
)

NAN, INFINITE, TIE = float("nan"), (float("inf"), float("-inf")), "a tie"
VALUES = (NAN, *INFINITE, 0.0, TIE)
CASES = [c for c in cases(("float64", "complex128")) if c[1].grad is True]
NARROW = 1e-5  # a row may round to single precision on the way

# Rows in which reverse mode alone meets NaN.
LEAVES_OUT = {
    "dynamic_truncate by a float", "dynamic_slice of a size", "extract", "where scalar", "select", "piecewise",
    "segment_sum", "segment_mean", "segment_max", "segment_max, all", "segment_min", "segment_prod",
    "dynamic_update_slice", "repeat by counts", "repeats of each row",
    "interp of any shape", "interp of a number", "interp with ends", "interp of complex values",
    "solve stacks", "solve stacks for a vector",  # beside infinite elements LAPACK leaves out a part of a matrix
}  # fmt: skip
# Rows in which forward mode alone meets NaN.
PUTS_IN = {
    "at, divide", "at, power", "at, mask, multiply", "cond, weak results", "cond, a branch without a derivative",
}  # fmt: skip
# Rows with a result that is NaN and constant: a product with 0, a rounding, a mean of nothing.
CONSTANT = {
    "outer with a constant", "arange", "tri", "identity", "arange by a value", "matrices by a value",
    "modf", "divmod", "where scalar", "segment_mean",
}  # fmt: skip

# Rows for which LAPACK refuses NaN or infinities. NumPy decomposes a Hermitian matrix by eigenvalues, which come out as
# NaN, and never returns from other singular vectors of an infinite matrix.
REFUSES = {"svd", "pinv", "pinv of one triangle", "pinv of stacks"}


def changed(xs, k, position, value):
    """Copies of the arrays, with a value in one element of array k; a tie makes it equal to the next element."""
    xs = [np.array(x) for x in xs]
    flat = xs[k].reshape(-1)
    flat[position] = flat[(position + 1) % flat.size] if value is TIE else value
    return xs


def points(row, dtype, positions):
    """Yield (note, value, arrays) for each value in the elements of each array that `positions(size)` names."""
    xs = arrays_of(row, few_combinations(row)[0], dtype)
    for k, x in enumerate(xs):
        if inexact(x) and x.size:
            for position in positions(x.size):
                for value in VALUES:
                    if value is not TIE or x.size > 1:
                        yield f"{row.name}, {value} at {position} of array {k}", value, changed(xs, k, position, value)


def derivatives(f):
    """(moving, rest, directions, weights) -> (results, tangents, gradients), as one program."""

    def both(m, r, t, w):
        function = lambda *xs: f.function(xs, r)
        results, tangents = anyshape.jvp(function, tuple(m), tuple(t))
        return results, tangents, list(anyshape.vjp(function, *m)[1](list(w)))

    return anyshape.jit(both)


def paired(xs, ys):
    """The sum of the products, and the size of its terms."""
    products = [np.ravel(np.asarray(x, complex) * y) for x, y in zip(xs, ys, strict=True)]
    terms = np.concatenate([p.real for p in products]) if products else np.zeros(1)
    return terms.sum(), np.abs(terms).sum()


def kind(number):
    return "nan" if np.isnan(number) else "infinite" if np.isinf(number) else "finite"


def check_agreement(row, note, forward, back, scale, *, exact):
    """Both sums are NaN, infinite or finite alike; finite ones are equal."""
    one, two = kind(forward), kind(back)
    if not exact:  # sums with infinities depend on their order
        one, two = ("finite" if k == "finite" else "not finite" for k in (one, two))
    if one != two and row.name not in LEAVES_OUT | PUTS_IN:
        raise AssertionError(f"{note}: forward mode gives {forward}, reverse mode {back}")
    if one != two:
        assert (one == "finite") is (row.name in LEAVES_OUT), f"{note}: forward {forward}, reverse {back}"
    elif one == "finite":
        assert abs(forward - back) <= NARROW * (1 + scale), f"{note}: forward {forward}, reverse {back}"


def check_nan_stays(row, note, results, tangents):
    """A result that is NaN does not hide it from the derivative: no tangent is 0 there."""
    for y, t in zip(results, tangents, strict=True):
        assert row.name in CONSTANT or not np.any(np.isnan(y) & (t == 0)), f"{note}: {y} has the tangent {t}"


def check_row(row, dtype, positions):
    program, rng = None, np.random.default_rng(7)
    for note, value, xs in points(row, dtype, positions):
        eager = split(row, xs, np)
        moving, rest = eager.parts(xs)
        results = outcome(eager.function, moving, rest)
        if is_error(results) or not results:
            continue
        program = program or derivatives(split(row, xs, anp))
        ts, weights = [uneven(rng, x) for x in moving], [uneven(rng, y) for y in results]
        try:
            results, tangents, gradients = map(leaves, program(moving, rest, ts, weights))
        except np.linalg.LinAlgError:
            assert row.name in REFUSES, note
            continue
        forward, scale = paired(weights, tangents)
        back, _ = paired(gradients, ts)
        exact = value not in INFINITE and dtype == "float64"
        check_agreement(row, note, forward, back, scale, exact=exact)
        if value is NAN:
            check_nan_stays(row, note, results, tangents)


@pytest.fixture(autouse=True)
def quiet():
    """NumPy warns of NaN and infinity."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


FIRST_CASES = [c for c in CASES if c[2] == c[1].dtypes[0]]


@pytest.mark.parametrize("case", gate_part("special values", FIRST_CASES, one_in=7))
def test_both_modes_agree_at_special_values(case):
    _, row, dtype = case
    check_row(row, dtype, lambda size: [size // 2])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=map(label, CASES))
def test_both_modes_agree_at_special_values_in_every_element(case):
    _, row, dtype = case
    check_row(row, dtype, range)


def test_the_exceptions_are_rows():
    names = {row.name for _, row, _ in CASES}
    assert names >= LEAVES_OUT | PUTS_IN | CONSTANT
