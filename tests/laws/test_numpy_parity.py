"""Sweep NumPy's functions, methods and keywords over dtypes and shapes: a program gives what NumPy gives.

Values agree to rounding, with NaNs, infinities and signs of zeros; so do dtypes, shapes, and the classes of errors.
Each difference that is wanted has a row in parity_differences.
"""

import logging
import random

import pytest

from tests.laws.parity import DTYPES, FILLINGS, SHAPES, compare
from tests.laws.parity_calls import all_calls
from tests.laws.parity_differences import WANTED, reason_for

NAMES = sorted(all_calls())


@pytest.fixture(autouse=True)
def silence(monkeypatch):
    """Log nothing: each trace decides on sizes, and the sweep keeps what a function returned besides numbers."""
    monkeypatch.setattr(logging.getLogger("anyshape.trace"), "disabled", True)


def check(cases):
    """No case of (expression, dtype, shape, filling) differs from NumPy without a reason."""
    problems = []
    for expression, dtype, shape, filling in cases:
        if "bincount" in expression and filling == "special":  # NumPy overflows there, and corrupts memory
            continue
        problem = compare(expression, dtype, shape, filling)
        if problem and not reason_for(expression, f"{dtype}{shape}", problem):
            problems.append(f"{expression} of {dtype}{shape}, {filling}: {problem}")
    assert not problems, "\n".join(problems)


def drawn(rng, expression):
    return expression, rng.choice(DTYPES), rng.choice(SHAPES), rng.choice(FILLINGS)


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_calls_gives_what_numpy_gives(part):
    rng = random.Random(f"parity {part}")
    check([drawn(rng, rng.choice(all_calls()[name])) for name in NAMES[part::4]])


@pytest.mark.parametrize("part", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in (1, 2)]])
def test_calls_that_once_differed_give_what_numpy_gives(part):
    calls = [(expression, dtype, shape, filling) for expression in NAMED for dtype, shape, filling in PLACES]
    check(calls[part::3])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_call_gives_what_numpy_gives(name):
    rng = random.Random(name)
    check([
        (expression, dtype, rng.choice(SHAPES), rng.choice(FILLINGS))
        for expression in all_calls()[name] for dtype in DTYPES for _ in range(2)
    ])  # fmt: skip


def test_wanted_differences_have_reasons():
    assert all(row.reason and row.expression for row in WANTED)


def test_every_served_function_and_method_has_calls():
    assert len(NAMES) > 430
    assert all(all_calls().values())


PLACES = [
    ("float64", (2, 3), "zeros"), ("float64", (3,), "special"), ("int8", (3,), "plain"), ("bool", (2, 3), "plain"),
    ("complex128", (3,), "special"), ("float32", (), "zeros"), ("int64", (1,), "special"), ("float16", (0,), "plain"),
]  # fmt: skip
NAMED = [
    "x.T.ravel('F')", "x.T.flatten('F')", "np.mean(x, dtype=int)", "x == None", "x != 'a'", "x == ['a']", "x.conj()",
    "np.quantile(x, 1.5)", "np.percentile(x, -1)", "np.quantile(x, 0.25)", "np.logaddexp.reduce(x)", "np.expm1(x)",
    "np.median(x)", "np.tensordot(x, x, 0)", "np.clip(x, 0, 1)", "np.clip(x, 0.0, 0.0)", "np.max(x, initial=0)",
    "np.min(x, axis=0, initial=-0.0)", "np.intersect1d(x, -x)", "np.round(x, -1)", "np.ediff1d(x)", "x.flat[0]",
    "np.maximum.accumulate(x)", "np.linalg.outer(x, x)", "np.pad(x, 1, constant_values=np.nan)", "x.take(0, axis=0)",
    "np.argsort(x, axis=-1)", "np.repeat(x, 2, axis=0)", "x.flat[1:]", "x.strides", "x.flags", "x.base", "x.ctypes",
    "np.equal(x, x, dtype=object)", "np.linalg.trace(np.stack([x, x]))", "np.linalg.diagonal(x[None])",
    "np.nanmax(x, initial=0)", "np.nanvar(x, ddof=5)", "np.sum(x, initial=None)", "np.full_like(x, np.nan)",
    "np.power(x, 2)", "np.power(x, -1)", "np.power(x, 1.0)", "np.power(x, True)", "np.float_power(x, 2)", "x ** 2",
    "x ** 1", "x ** -1.0", "x ** np.float32(2)", "np.sort(x, stable=True)", "np.sort(x, kind='mergesort')",
    "np.trapezoid(x, y)", "np.trim_zeros(x, axis=())", "np.piecewise(x, [m[:, 0] if m.ndim > 1 else m], [1, 2])",
    "np.piecewise(x, [1, 0], [1, 2])", "np.percentile(x, True)", "np.roll(x, np.array([1]))",
]  # fmt: skip
