"""Check derivatives at kinks, ties, poles and NaN against docs/kinks.md, which has the ones of JAX and PyTorch too."""

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.special as sc

import anyshape
from anyshape.numpy import at, special

inf, nan = np.inf, np.nan
PAGE = Path(__file__).resolve().parents[2] / "docs" / "kinks.md"
NAMES = {
    "np": np, "sc": sc, "special": special, "at": lambda x: at(x), "w": np.array([1.0, 2.0]), "inf": inf, "nan": nan,
    "points": np.arange(3.0), "values": np.array([0.0, 1.0, 3.0]), "steps": np.array([1.0, 2.0, 4.0]),
}  # fmt: skip

# Where the sides say nothing about the derivative: the value jumps or is not real on one side, or a rule is not a
# limit.
WITHOUT_SIDES = {
    "np.arctan2(x, y) 0, 0", "np.arctan2(x, y) 0, -1", "np.angle(x + 1j * y) 0, 0", "np.log(x) -1",
    "np.sign(x) 0", "np.power(x, y) 0, 0", "np.heaviside(x, y) 0, 0.5", "np.floor(x) 1", "np.ceil(x) 1",
    "np.rint(x) 0.5", "np.modf(x)[0] 3",
    "np.remainder(x, y) 6, 3", "np.remainder(x, y) -6, 3", "np.fmod(x, y) 6, 3", "np.floor_divide(x, y) 6, 3",
    "np.frexp(x)[0] 0", "np.nextafter(x, y) 1, 2", "np.linalg.norm(x, 0) [0, 1]",
}  # fmt: skip
# Second derivatives, and whether complex numbers have the same first one.
SECOND = {
    "np.abs(x) 0": 0.0, "np.sign(x) 0": 0.0, "x ** 0 0": 0.0, "x ** 1 0": 0.0, "x ** 2 0": 2.0,
    "np.sinc(x) 0": -(np.pi**2) / 3,
    "np.where(x >= 0, x, 0) 0": 0.0, "np.clip(x, 0, 1) 0": 0.0, "0 ** x 2": 0.0, "sc.i0(x) 0": 0.5, "sc.i1(x) 0": 0.0,
    "sc.j0(x) 0": -0.5, "sc.j1(x) 0": 0.0, "np.std(x) [1]": 0.0, "np.var(x) [1]": 0.0, "sc.pseudo_huber(1, x) 0": 1.0,
    "np.interp(x, points, values) 1": 0.0,
}  # fmt: skip
COMPLEX = {
    "np.abs(x) 0", "np.sign(x) 0", "x ** 0 0", "x ** 1 0", "x ** 2 0", "np.sqrt(x) 0", "np.log(x) 0", "np.log1p(x) -1",
    "np.sinc(x) 0", "np.power(x, y) 0, 1", "np.power(x, y) 0, 2", "np.power(x, y) 2, 0", "np.linalg.norm(x) [0, 0]",
    "np.linalg.norm(x) [[0, 0], [0, 0]]", "np.linalg.norm(x, 1) [0, 1]", "np.linalg.norm(x, 3) [0, 0]", "np.std(x) [1]",
    "np.std(x) [1, 1, 1]", "np.std(x, ddof=1) [1, 1, 1]", "np.var(x) [1]", "np.nanstd(x) [nan, 1, 2]",
    "np.nanvar(x) [nan, 1, 2]", "np.prod(x) [0, 2, 3]", "np.prod(x) [0, 0, 3]", "np.cumprod(x)[:2] @ w [2, 0, 3]",
    "np.sort(x) @ w [1, 1]", "np.maximum(x, y) 1, 1", "np.max(x) [1, 1, 0]", "np.max(x) [nan, 1, 2]",
    "np.median(x) [1, 1]",
    "np.maximum(x, y) nan, 1", "np.maximum.accumulate(x) @ w [1, 1]", "np.where(x > 0, x, 0) 0",
}  # fmt: skip


class Kink(NamedTuple):
    """A row of the page: a function at a point, with the derivatives in its arguments; None: a library lacks it."""

    function: str
    at: str
    ours: tuple
    jax: tuple | None
    torch: tuple | None
    why: str

    @property
    def name(self):
        return f"{self.function} {self.at}"

    def call(self):
        arguments = ", ".join("xy"[: len(self.point())])
        return eval(f"lambda {arguments}: {self.function}", dict(NAMES))

    def point(self, dtype=float):
        return tuple(np.array(a, dtype) for a in numbers(self.at))


def numbers(text):
    """The numbers of a cell, one or a nested list for each argument; None for a dash."""
    return None if text == "–" else eval(f"({text},)", dict(NAMES))


def rows_of(page):
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", page, re.MULTILINE)
    return [Kink(f, point, *map(numbers, derivatives), why) for f, point, *derivatives, why in rows]


KINKS = rows_of(PAGE.read_text())
every = pytest.mark.parametrize("kink", KINKS, ids=lambda kink: kink.name)


@pytest.fixture(autouse=True)
def quiet():
    """Poles warn, as NumPy does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5, atol=1e-9, equal_nan=True)


def one(value):
    """The cotangent 1 of a value."""
    return np.ones_like(value)


def alone(f, point, i):
    """The function of argument i alone."""
    return lambda x: f(*point[:i], x, *point[i + 1 :])


def uneven(x):
    return np.asarray(1.0 + 0.5 * np.arange(x.size).reshape(x.shape), x.dtype)


def test_the_page_has_many_rows_of_each_kind():
    assert len(KINKS) >= 190 and len({k.name for k in KINKS}) == len(KINKS)
    assert sum(k.jax is not None for k in KINKS) >= 150 and sum(k.torch is not None for k in KINKS) >= 140
    names = {k.name for k in KINKS}
    assert names >= WITHOUT_SIDES | set(SECOND) | COMPLEX


@every
def test_reverse_mode(kink):
    point = kink.point()
    value, back = anyshape.vjp(kink.call(), *point)
    for derivative, expected in zip(back(one(value)), kink.ours, strict=True):
        same(derivative, expected)


@every
def test_forward_mode(kink):
    """The tangent of one argument at a time is the sum of its derivatives times the directions; NaN stays NaN."""
    f, point = kink.call(), kink.point()
    for i, (x, derivatives) in enumerate(zip(point, kink.ours, strict=True)):
        direction = uneven(x)
        _, tangent = anyshape.jvp(alone(f, point, i), (x,), (direction,))
        same(tangent, np.sum(np.asarray(derivatives, float) * direction))


@every
def test_derivatives_lie_between_the_sides(kink):
    """Differences to both sides, by NumPy alone: a derivative is between them, a pole is steep, NaN has a reason."""
    f, point = kink.call(), kink.point()
    if kink.name in WITHOUT_SIDES or not all(np.isfinite(x).all() for x in (f(*point), *point)):
        return
    for i, (x, derivatives) in enumerate(zip(point, kink.ours, strict=True)):
        for position, derivative in np.ndenumerate(np.asarray(derivatives, float)):
            below, above = sides(alone(f, point, i), x, position)
            if np.isfinite(derivative):
                assert min(below, above) - 1e-3 <= derivative <= max(below, above) + 1e-3, (below, derivative, above)
            elif np.isinf(derivative):
                assert max(np.sign(derivative) * s for s in (below, above) if s == s) > 10, (below, derivative, above)


def sides(f, x, position, step=1e-6):
    """One-sided differences; where only one side is real, it counts for both."""
    moved = []
    for sign in (-1, 1):
        other = x.copy()
        other[position] += sign * step
        moved.append(sign * float(np.real(f(other) - f(x))) / step)
    below, above = moved
    return (above, above) if not np.isfinite(below) else (below, below) if not np.isfinite(above) else (below, above)


@every
def test_second_order_agrees_in_both_modes(kink):
    """Forward and reverse over reverse give one thing, NaN included, where the first derivative is finite."""
    f, point = kink.call(), kink.point()
    for i, (x, derivatives) in enumerate(zip(point, kink.ours, strict=True)):
        if not np.isfinite(derivatives).all():
            continue
        gradient = anyshape.grad(alone(f, point, i))
        direction = uneven(x)
        _, forward = anyshape.jvp(gradient, (x,), (direction,))
        (back,) = anyshape.vjp(gradient, x)[1](direction)
        assert np.isfinite(np.sum(forward)) == np.isfinite(np.sum(back)), (forward, back)
        if np.isfinite(forward).all():
            same(back, forward)
        if kink.name in SECOND:
            same(np.sum(forward), SECOND[kink.name])


@pytest.mark.parametrize("kink", [k for k in KINKS if k.name in COMPLEX], ids=lambda kink: kink.name)
def test_complex_numbers_have_the_same_derivatives(kink):
    f, point = kink.call(), kink.point(complex)
    value, back = anyshape.vjp(f, *point)
    for derivative, expected in zip(back(one(value)), kink.ours, strict=True):
        assert derivative.dtype == np.complex128
        same(np.real(derivative), expected)
    for i, (x, derivatives) in enumerate(zip(point, kink.ours, strict=True)):
        _, tangent = anyshape.jvp(alone(f, point, i), (x,), (uneven(x),))
        same(np.real(tangent), np.sum(np.asarray(derivatives, float) * np.real(uneven(x))))
