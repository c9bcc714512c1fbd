"""Simplification changes no result, for any number: NaN, infinities, zeros of both signs, numbers near the limits."""

import numpy as np
import pytest

from anyshape import jit


def numbers(dtype):
    """Return numbers of every kind, and many random ones of all magnitudes."""
    limits = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, limits.max, -limits.max, limits.max / 2, limits.max / 3]
    special += [limits.tiny, -limits.tiny, limits.tiny / 2, limits.smallest_subnormal, 3 * limits.smallest_subnormal]
    rng = np.random.default_rng(0)
    scale = np.exp2(rng.integers(limits.minexp - 8, limits.maxexp, 500).astype(float))
    return np.array([*special, *(rng.standard_normal(500) * scale)]).astype(dtype)


def first(x):
    return x[0] if x.shape[0] else np.sum(x)


def wide(x):
    return np.broadcast_to(x[:, None], (x.shape[0], 3))


FUNCTIONS = {
    "a power of two within a product": lambda x: 100.0 * (2.0 * x),
    "the other way round": lambda x: 2.0 * (x * 100.0),
    "two powers of two": lambda x: 4.0 * (x * 2.0),
    "a power below one": lambda x: 3.0 * (0.5 * x),
    "a factor below one": lambda x: 0.3 * (2.0 * x),
    "no power of two": lambda x: 3.0 * (3.0 * x),
    "a negative factor": lambda x: -7.3 * (2.0 * x),
    "a product that is used twice": lambda x: 3.0 * (2.0 * x) + 2.0 * x,
    "a product that overflows": lambda x: np.finfo(x.dtype).max.item() * (2.0 * x),
    "a factor of none": lambda x: 2.0 * (1.0 * x) * -1.0,
    "a negation that is read twice": lambda x: np.stack([-x + x[::-1], x[::-1] + -x, x[::-1] - -x, -x]),
    "a choice within a choice": lambda x: np.where(x > 1, np.where(x > 1, x, 3.0), np.where(x > 1, 5.0, -x)),
    "a choice within that of another mask": lambda x: np.where(x > 1, np.where(x < 2, x, 3.0), np.where(x < 0, 5.0, x)),
    "a finite number for infinities, and back": lambda x: np.where(np.isinf(x), x, np.where(np.isinf(x), 0.0, x)) * 2.0,
    "a choice by a negation": lambda x: np.where(np.logical_not(x > 1), x, -x) + np.where(np.logical_not(x), x, 2.0),
    "one condition twice": lambda x: np.where((x > 1) & (x > 1), x, np.where(np.logical_or(x < 0, x < 0), 3.0, -x)),
    "numbers and themselves": lambda x: np.where(np.logical_and(x, x), x, 2.0),
    "a stretched choice": lambda x: np.where(wide(x > 1), wide(x), 0.5) - np.where(wide(x > 1), -0.0, wide(-x)),
    "a choice of what is stretched otherwise": lambda x: (
        np.where(wide(x > 1), wide(x).T.reshape(x.shape[0], 3), 2.0) + np.where(wide(x < 0), wide(x[::-1]), x[:, None])
    ),
    "rows and columns": lambda x: np.where(
        np.broadcast_to((x > 1)[:, None], (x.shape[0], x.shape[0])), np.broadcast_to(x, (x.shape[0], x.shape[0])), 1.5
    ),
    "a number moved about": lambda x: np.broadcast_to(first(x) * 2, (3, x.shape[0], 1)).reshape(3, x.shape[0]) * x,
    "a number turned round": lambda x: np.broadcast_to(first(x), (x.shape[0], 3)).T + x,
    "a number stretched twice": lambda x: (
        np.broadcast_to(np.broadcast_to(first(x), (1, x.shape[0])), (3, x.shape[0])) - x
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid", "ignore:underflow")
def test_every_bit_is_kept(name, dtype):
    function, x = FUNCTIONS[name], numbers(dtype)
    f = jit(function)
    for part in (x, x[:0], x[:1], x[4:6], np.append(x, x)):
        got, expected = f(part), function(part)
        np.testing.assert_array_equal(got, expected, strict=True)
        real = ~np.isnan(expected)  # NaN has no sign
        np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(expected[real]))
    assert f.cache_info().traces == 1 + (name.startswith("a number"))


EDGE_CASES = {  # of zeros of both signs, infinities and branch cuts
    "a sum that cancels": (lambda x: np.sum(-x), [1.0, -1.0]),
    "a sum of nothing": (lambda x: np.sum(-x[:0]), [1.0, -1.0]),
    "sums of columns that cancel": (lambda x: np.sum(-np.stack([x, -x]), axis=0), [1.0, -2.0, 0.0]),
    "a mean on a cut": (lambda x: np.log(np.mean(-x)), [1 + 1j, 1 - 1j]),
    "a product on a cut": (lambda x: np.sqrt((-x) * np.conj(x)), [1 - 1j, 1 + 0j, -0.0 + 2j]),
    "a quotient on a cut": (lambda x: np.log((-x) / x), [1 - 1j, 2 + 0j]),
    "a complex zero below": (lambda x: np.log(x - complex(0, -0.0)), [complex(-1, -0.0), 1 + 0j]),
    "times a complex one": (lambda x: x * 1, [complex(np.inf, 1), complex(1, -0.0)]),
    "by a complex one": (lambda x: x / 1, [complex(np.inf, 1), complex(1, -0.0)]),
    "a power of infinity": (lambda x: x**4, [complex(np.inf, 1), 1e200 + 0j, complex(1, -0.0)]),
    "a reciprocal square of infinity": (lambda x: x**-2, [complex(np.inf, 1), complex(-12, -0.0)]),
    "zeros of both signs": (lambda x: np.stack([x + 0.0, x + -0.0]), [0.0, -0.0, 1.0]),
    "a product of numbers": (lambda x: (-x) * x[::-1], [0.0, -0.0, np.inf, 2.0]),
}


@pytest.mark.parametrize("name", EDGE_CASES)
@pytest.mark.filterwarnings("ignore:.*encountered", "ignore:Mean of empty")
def test_signs_of_zeros_and_parts_of_complex_numbers_are_kept(name):
    function, x = EDGE_CASES[name][0], np.array(EDGE_CASES[name][1])
    for part in (x, np.append(x, x[::-1]), x[:2]):
        got, expected = np.asarray(jit(function)(part)), np.asarray(function(part))
        for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
            np.testing.assert_array_equal(a, b, strict=True)
            real = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a[real]), np.signbit(b[real]))


def test_fills_of_the_sizes_of_two_arrays_are_two_values():
    f = jit(lambda x, y: (np.full_like(x, 2.0), np.full_like(y, 2.0)))
    for n, m in ((2, 3), (0, 1), (4, 4)):
        for got, size in zip(f(np.ones(n), np.ones(m)), (n, m), strict=True):
            np.testing.assert_array_equal(got, np.full(size, 2.0), strict=True)


def test_an_empty_stretch_computes_nothing_that_may_warn():
    f = jit(lambda x, like: np.log(np.broadcast_to(x, (like.shape[0], x.shape[0]))))
    x = np.array([0.0, 1.0])
    with np.errstate(all="raise"):
        assert f(x, np.ones(0)).shape == (0, 2)
        with pytest.raises(FloatingPointError):
            f(x, np.ones(3))


def steps(function, x):
    f = jit(function)
    f(x)
    return [step.op.name for step in f.programs()[0].plan.steps]


def test_simplification_saves_steps():
    x = np.ones(3)
    assert steps(FUNCTIONS["a power of two within a product"], x) == ["mul"]
    assert steps(FUNCTIONS["no power of two"], x) == steps(FUNCTIONS["a factor below one"], x) == ["mul", "mul"]
    assert "reshape" not in steps(FUNCTIONS["a number moved about"], x)


def test_a_sum_with_a_negation_is_a_difference_even_if_others_read_the_negation():
    f = jit(lambda x, y: (-x + y) * np.exp(-x) + (y - -x))
    x, y = np.array([1.0, -0.0, np.inf]), np.array([1.0, 0.0, 2.0])
    np.testing.assert_array_equal(f(x, y), (-x + y) * np.exp(-x) + (y - -x))
    (program,) = f.programs()
    assert sorted(s.op.name for s in program.plan_for(x, y).steps) == ["add", "add", "exp", "mul", "neg", "sub"]


def test_stretched_choices_are_made_before_the_stretch():
    rows = lambda x: np.broadcast_to(x, (3, x.shape[0]))
    f = jit(lambda x: np.where(rows(np.logical_not(x > 1)), rows(x), 0.0) * np.exp(rows(x)))
    f(np.ones(4))
    nodes = f.programs()[0].graph.nodes
    assert [node.outputs[0].meta.rank for node in nodes if node.op.name == "select"] == [1]
    assert "logical_not" not in [node.op.name for node in nodes]


def test_choices_by_one_mask_are_one_choice():
    def finite(x):
        is_finite = np.isfinite(x)
        return np.where(is_finite, np.where(is_finite, x, 0.0), x) + np.where(is_finite, np.where(is_finite, x, 0.0), 2)

    f = jit(finite)
    f(np.ones(3))
    names = [node.op.name for node in f.programs()[0].graph.nodes]
    assert names.count("select") == 1
