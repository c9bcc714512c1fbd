"""Splines in the basis of B-splines, and interpolation by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.scipy.interpolate.piecewise import Interpolant, data
from anyshape.scipy.linalg.banded import solve_banded
from anyshape.scipy.linalg.solving import solve_triangular
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.operands.finite import checks_finite
from anyshape.support.packages import scipy_interpolate
from anyshape.transforms.control import check


class BSpline(Interpolant):
    """Spline of degree k with knots t and coefficients c, which are along an axis."""

    extrapolate: Any
    axis: int
    k: Any
    t: Any

    parts: tuple[str, ...] = ("t", "c")
    settings: tuple[str, ...] = ("k", "extrapolate", "axis")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if not is_traced(t, c):
            self.take(scipy_interpolate.BSpline(t, c, k, extrapolate, axis))
            return
        self.k, self.extrapolate, self.axis = int(k), extrapolate, axis
        self.t, c = real_floats(t), xp.asarray(c)
        self.c: Any = xp.moveaxis(c.astype(np.complex128 if c.dtype.kind == "c" else np.float64), axis, 0)
        check(self.t[1:] >= self.t[:-1], "BSpline: the knots must not fall")

    def take(self, other: Any) -> None:
        """Take over what an object of SciPy is made of."""
        self.t, self.c, self.k, self.extrapolate, self.axis = (
            other.t, other.c, other.k, other.extrapolate, other.axis,
        )  # fmt: skip

    @classmethod
    def made_of(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> BSpline:
        """Return a spline whose coefficients are along the first axis of c."""
        made = object.__new__(cls)
        made.t, made.c, made.k, made.extrapolate, made.axis = t, c, k, extrapolate, axis
        return made

    def of_scipy(self) -> Any:
        """Return SciPy's object for concrete data."""
        return scipy_interpolate.BSpline.construct_fast(self.t, self.c, self.k, self.extrapolate, self.axis)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def _count(self) -> Any:
        """Return the number of coefficients that the knots have a use for."""
        return self.t.shape[0] - self.k - 1

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the base interval."""
        return self.t[self.k], self.t[self._count()]

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points as combinations of B-splines."""
        if nu > self.k:
            return 0.0 * BSpline.made_of(self.t, self.c, self.k).value(v, 0, extrapolate)
        if nu:
            return self.derivative(nu).value(v, 0, extrapolate)
        span = _span(self.t, v, self.k)
        ones = [1] * (self.c.ndim - 1)
        terms = [
            xp.reshape(b, (-1, *ones)) * self.c[span - self.k + j]
            for j, b in enumerate(_basis(self.t, v, self.k, span))
        ]
        return sum(terms[1:], terms[0]) + xp.reshape(0.0 * v, (-1, *ones))

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order nu, a spline of lower degree."""
        if nu > self.k:
            raise ArgumentError("BSpline.derivative", f"nu={nu}", f"exceeds the degree {self.k}", "lower it")
        t, c, k = self.t, self.c[: self._count()], self.k
        for _ in range(nu):
            count = t.shape[0] - k - 1
            width = _nonzero(t[k + 1 : k + count] - t[1:count])
            c = (c[1:] - c[:-1]) * k / xp.reshape(width, (-1, *[1] * (c.ndim - 1)))
            t, k = t[1:-1], k - 1
        return BSpline.made_of(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the antiderivative of order nu that starts with zeros, a spline of higher degree."""
        t, c, k = self.t, self.c[: self._count()], self.k
        for _ in range(nu):
            count = t.shape[0] - k - 1
            width = xp.reshape(t[k + 1 : k + 1 + count] - t[:count], (-1, *[1] * (c.ndim - 1)))
            c = xp.concatenate([xp.zeros_like(c[:1]), xp.cumsum(c * width, axis=0) / (k + 1)])
            t, k = xp.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline.made_of(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b; without extrapolation the spline is 0 outside of its base interval."""
        kind = self.extrapolate if extrapolate is None else extrapolate
        if kind or not (self.is_traced() or is_traced(a, b)):
            return super().integrate(a, b, extrapolate)
        low, high = self.limits()
        return super().integrate(xp.clip(a, low, high), xp.clip(b, low, high), True)


def _nonzero(width: Any) -> Any:
    """Return widths between knots, 1 for a knot that repeats."""
    return xp.where(width == 0, 1.0, width)


def _span(t: Any, v: Any, k: int) -> Any:
    """Return the position of the knot below each point, within the base interval."""
    return xp.clip(xp.searchsorted(t, v, "right") - 1, k, max_dim(t.shape[0] - k - 2, k))


def _basis(t: Any, v: Any, k: int, span: Any) -> list[Any]:
    """Return the values of the k + 1 B-splines that are not zero at each point, by the recurrence of de Boor."""
    values = [xp.ones_like(v)]
    for degree in range(1, k + 1):
        new = [xp.zeros_like(v)] * (degree + 1)
        for j in range(degree):
            low, high = t[span + j + 1 - degree], t[span + j + 1]
            share = xp.where(high == low, 0.0, values[j] / _nonzero(high - low))
            new[j] = new[j] + (high - v) * share
            new[j + 1] = (v - low) * share
        values = new
    return values


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Return the spline of degree k through points, with SciPy's knots and conditions at both ends.

    `bc_type` is "not-a-knot", "clamped", "natural", "periodic", or a pair of these and of lists of (order, value).
    """
    if not is_traced(x, y, t):
        made = object.__new__(BSpline)
        made.take(scipy_interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite))
        return made
    k = int(k)
    if isinstance(bc_type, str) and bc_type == "periodic":
        if t is not None:
            raise refuse("scipy.interpolate.make_interp_spline with t and bc_type='periodic'")
        return _periodic(x, y, k, axis)
    left, right = _conditions(bc_type)
    x, y, along = data("make_interp_spline", x, y, axis, max(k + 1 - len(left) - len(right), 1))
    check(x[1:] > x[:-1], "make_interp_spline: x must increase")
    if k == 0:
        return BSpline.made_of(xp.concatenate([x, x[-1:]]), y, 0, True, along)
    if t is None:
        t = _augmented(x, k) if left or right else _not_a_knot(x, k)
    t = real_floats(t)
    span = _span(t, x, k)
    count = t.shape[0] - k - 1
    row = xp.arange(x.shape[0]) + len(left)
    bands = xp.zeros((2 * k + 1, count))
    for j, values in enumerate(_basis(t, x, k, span)):
        column = span - k + j
        bands = bands.at[k + row - column, column].add(values)
    bands = _with_conditions(bands, t[: 2 * k + 2], k, x[0], left, 0, 0)
    bands = _with_conditions(bands, t[-2 * k - 2 :], k, x[-1], right, count - len(right), count - k - 1)
    sides = [xp.broadcast_to(xp.asarray(value, y.dtype), y.shape[1:])[None] for _, value in left]
    sides += [y, *[xp.broadcast_to(xp.asarray(value, y.dtype), y.shape[1:])[None] for _, value in right]]
    whole = xp.concatenate(sides)
    flat = xp.reshape(whole, (count, _size(whole.shape[1:])))
    return BSpline.made_of(t, xp.reshape(solve_banded((k, k), bands, flat), whole.shape), k, True, along)


def _periodic(x: Any, y: Any, k: int, axis: int) -> BSpline:
    """Return the spline of degree k whose values and derivatives meet at the ends."""
    x, y, along = data("make_interp_spline", x, y, axis, 2)
    check(xp.abs(y[0] - y[-1]) <= 1e-15 + 1e-5 * xp.abs(y[-1]), "make_interp_spline: the first and last y differ")
    if k < 2:
        return make_interp_spline(x, xp.moveaxis(y, 0, along), k, axis=along)
    check(x[1:] > x[:-1], "make_interp_spline: x must increase")
    n = x.shape[0]
    turn = xp.arange(k) % (n - 1)
    at = x if k % 2 else xp.concatenate([x[:1], x[1:-1] - (x[1:-1] - x[:-2]) / 2, x[-1:]])
    widths = at[1:] - at[:-1]
    before, after = x[0] - xp.cumsum(widths[n - 2 - turn])[::-1], x[-1] + xp.cumsum(widths[turn])
    t = xp.concatenate([before, at, after])
    basis = _basis(t, x[:-1], k, _span(t, x[:-1], k))
    c = _cyclic(basis, k, xp.reshape(y[:-1], (n - 1, _size(y.shape[1:]))))
    whole = c[(xp.arange(n + k - 1) - k // 2) % (n - 1)]
    return BSpline.made_of(t, xp.reshape(whole, (n + k - 1, *y.shape[1:])), k, "periodic", along)


def _cyclic(basis: list[Any], k: int, y: Any) -> Any:
    """Return the solution of a cyclic system of k + 1 diagonals, where `basis[j]` is of column row + j - k // 2.

    The entries beyond the ends are a change of rank k: the formula of Woodbury.
    """
    count, before = y.shape[0], k // 2
    row, none = xp.arange(count), xp.zeros((k, count))
    bands, corner, units = xp.zeros((k + 1, count)), none, none.T
    for j, values in enumerate(basis):
        column = row + (j - before)
        inside = (column >= 0) & (column < count)
        bands = bands.at[k - j, xp.clip(column, 0, count - 1)].add(xp.where(inside, values, 0.0))
        for term in range(k):  # of the first rows, then of the last ones
            at = term if term < before else count - 1 - (term - before)
            reaches = j < before - term if term < before else j > term
            if reaches:
                corner = corner.at[term, (at + j - before) % count].add(_element(values, at, count))
    for term in range(k):
        at = term if term < before else count - 1 - (term - before)
        units = units.at[:, term].add(xp.where(row == at, 1.0, 0.0))
    solved = solve_banded((before, k - before), bands, xp.concatenate([y, units.astype(y.dtype)], axis=1))
    y, units = solved[:, : y.shape[1]], solved[:, y.shape[1] :]
    return y - units @ xp.linalg.solve(np.eye(k) + corner @ units, corner @ y)


def _element(values: Any, position: Any, count: Any) -> Any:
    """Return an element of a vector, 0 for a position that it does not have."""
    inside = (xp.arange(count) == position).astype(float)
    return xp.sum(inside * values)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, **options: Any
) -> BSpline:
    """Return the spline of degree k with knots t that is nearest to points, by weighted least squares.

    `t` has k + 1 knots at each end too. The knots must let each B-spline reach a point, as for SciPy.
    """
    if not is_traced(x, y, t, w):
        made = object.__new__(BSpline)
        made.take(scipy_interpolate.make_lsq_spline(x, y, t, k, w, axis, check_finite, **options))
        return made
    k, t = int(k), real_floats(t)
    x, y, along = data("make_lsq_spline", x, y, axis, 1)
    span, row, count = _span(t, x, k), xp.arange(x.shape[0]), t.shape[0] - k - 1
    design = xp.zeros((x.shape[0], count))
    for j, values in enumerate(_basis(t, x, k, span)):
        design = design.at[row, span - k + j].add(values)
    flat = xp.reshape(y, (x.shape[0], _size(y.shape[1:])))
    weights = xp.ones_like(x) if w is None else real_floats(w)
    q, r = xp.linalg.qr(design * weights[:, None])
    c = solve_triangular(r, q.T @ (flat * weights[:, None]))
    return BSpline.made_of(t, xp.reshape(c, (count, *y.shape[1:])), k, True, along)


def _size(shape: Any) -> Any:
    """Return the number of elements of a shape."""
    size = 1
    for part in shape:
        size = size * part
    return size


def _conditions(bc_type: Any) -> tuple[list[Any], list[Any]]:
    """Return the (order, value) of derivatives at both ends."""
    ends = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else tuple(bc_type)
    named = {"clamped": [(1, 0.0)], "natural": [(2, 0.0)], "not-a-knot": [], None: []}
    known = []
    for end in ends:
        if end is None or isinstance(end, str):
            known.append(named[choice_of("make_interp_spline", "bc_type", end, tuple(named))])
        else:
            known.append([tuple(condition) for condition in end])
    return known[0], known[1]


def _with_conditions(bands: Any, t: Any, k: int, x: Any, conditions: list[Any], row: Any, column: Any) -> Any:
    """Return diagonals with the rows of conditions at one end, whose B-splines have these knots."""
    for i, (order, _) in enumerate(conditions):
        values = BSpline.made_of(t, np.eye(k + 1), k).value(x[None], order, True)[0]
        for j in range(k + 1):
            diagonal = k + (row + i) - (column + j)
            inside = (diagonal >= 0) & (diagonal <= 2 * k)
            bands = bands.at[xp.clip(diagonal, 0, 2 * k), column + j].add(xp.where(inside, values[j], 0.0))
    return bands


def _repeated(x: Any, count: int) -> Any:
    return xp.broadcast_to(x, (count,))


def _not_a_knot(x: Any, k: int) -> Any:
    """Return knots at the points, or in the middle between them for even degrees, without those next to the ends."""
    half = (k + 1) // 2 if k % 2 else k // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    inner = inner[half : inner.shape[0] - half]
    return xp.concatenate([_repeated(x[0], k + 1), inner, _repeated(x[-1], k + 1)])


def _augmented(x: Any, k: int) -> Any:
    """Return knots at all points, the ends k more times."""
    return xp.concatenate([_repeated(x[0], k), x, _repeated(x[-1], k)])


make_interp_spline = checks_finite(make_interp_spline, "x y t")
make_lsq_spline = checks_finite(make_lsq_spline, "x y t w")
