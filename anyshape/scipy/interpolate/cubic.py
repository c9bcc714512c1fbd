"""Cubic interpolants by their slopes at the points: splines, and local ones of Fritsch and Butland, and of Akima."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.numpy.sizes.symdim import max_dim, min_dim
from anyshape.scipy.interpolate.piecewise import CubicHermiteSpline, data
from anyshape.scipy.linalg.banded import solve_banded
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_interpolate
from anyshape.transforms.control import check

_ENDS = {"clamped": 1, "natural": 2}  # orders of the derivatives that are zero


def _row(a: Any, i: int) -> Any:
    """Return a row that the formulas of few points may lack: the nearest one then."""
    count = a.shape[0]
    return a[min_dim(i, count - 1)] if i >= 0 else a[max_dim(count + i, 0)]


def _columns(a: Any, like: Any) -> Any:
    """Return a vector with axes of size 1 for all axes of an array but the first."""
    return xp.reshape(a, (-1, *[1] * (like.ndim - 1)))


class CubicSpline(CubicHermiteSpline):
    """Cubic spline through points, with SciPy's conditions at both ends.

    `bc_type` is "not-a-knot", "clamped", "natural", "periodic", or a pair of these and of (order, value).

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy.interpolate import CubicSpline
    >>> x = np.arange(5.0)
    >>> print(grad(lambda y: CubicSpline(x, y)(1.5))(x).round(4))
    [-0.0469  0.5     0.6562 -0.125   0.0156]
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        if not is_traced(x, y, *_values_of(bc_type)):
            self.take(scipy_interpolate.CubicSpline(x, y, axis, bc_type, extrapolate))
            return
        x, y, along = data("CubicSpline", x, y, axis, 2)
        check(x[1:] > x[:-1], "CubicSpline: x must increase")
        is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if is_periodic:
            check(xp.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * xp.abs(y[-1]), "CubicSpline: y[0] and y[-1] must be equal")
            slopes = _periodic_slopes(x, y)
        else:
            slopes = _spline_slopes(x, y, *_conditions(bc_type))
        self.set(x, y, slopes, along, "periodic" if is_periodic and extrapolate is None else extrapolate)


def _values_of(bc_type: Any) -> list[Any]:
    """Return the derivatives that conditions state."""
    if isinstance(bc_type, str):
        return []
    return [end[1] for end in bc_type if not isinstance(end, str)]


def _conditions(bc_type: Any) -> list[tuple[int, Any]]:
    """Return the order and the value of the derivative at each end; order 0 stands for "not-a-knot"."""
    ends = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(ends) != 2 or "periodic" in [end for end in ends if isinstance(end, str)]:
        raise ArgumentError("CubicSpline", "bc_type", "is not a condition for each end", "pass a pair")
    known = []
    for end in ends:
        if isinstance(end, str):
            choice_of("CubicSpline", "bc_type", end, ("not-a-knot", *_ENDS))
            known.append((_ENDS.get(end, 0), 0.0))
        else:
            order, value = end
            choice_of("CubicSpline", "order in bc_type", order, (1, 2))
            known.append((order, value))
    return known


def _end_equation(x: Any, y: Any, dx: Any, secant: Any, condition: tuple[int, Any], both: bool) -> tuple[Any, Any, Any]:
    """Return the equation at the first point: factors of its slope and the next one, and the right-hand side."""
    order, value = condition
    d0, d1 = dx[0], _row(dx, 1)
    if order == 1:
        return 1.0, 0.0, value + 0.0 * y[0]
    if order == 2:
        return 2 * d0, d0, -0.5 * value * d0**2 + 3 * (y[1] - y[0])
    span = d0 + d1
    right = ((d0 + 2 * span) * d1 * secant[0] + d0**2 * _row(secant, 1)) / span
    equation = d1, span, right
    two, three = x.shape[0] == 2, x.shape[0] == 3
    if both:  # the parabola through three points
        equation = tuple(xp.where(three, a, b) for a, b in zip((1.0, 1.0, 2 * secant[0]), equation, strict=True))
    first, second, right = (xp.where(two, a, b) for a, b in zip((1.0, 0.0, secant[0]), equation, strict=True))
    return first, second, right


def _spline_slopes(x: Any, y: Any, start: tuple[int, Any], end: tuple[int, Any]) -> Any:
    """Return the slopes of a spline at its points, by tridiagonal equations."""
    dx = x[1:] - x[:-1]
    wide = _columns(dx, y)
    secant = (y[1:] - y[:-1]) / wide
    both = start[0] == end[0] == 0
    flipped = (end[0], -end[1] if end[0] == 1 else end[1])  # seen from the other end
    first, second, right = _end_equation(x, y, dx, secant, start, both)
    last, before, left = _end_equation(x, y[::-1], dx[::-1], -secant[::-1], flipped, both)
    one = lambda a: xp.reshape(real_floats(a), (1,))
    zero = np.zeros(1)
    bands = xp.stack(
        [
            xp.concatenate([zero, one(second), dx[:-1]]),
            xp.concatenate([one(first), 2 * (dx[:-1] + dx[1:]), one(last)]),
            xp.concatenate([dx[1:], one(before), zero]),
        ]
    )
    inner = 3 * (wide[1:] * secant[:-1] + wide[:-1] * secant[1:])
    sides = xp.concatenate([right[None], inner, -left[None]])
    return _solved(bands, sides)


def _solved(bands: Any, sides: Any) -> Any:
    """Solve tridiagonal equations for right-hand sides along the first axis."""
    count = 1
    for size in sides.shape[1:]:
        count = count * size
    flat = xp.reshape(sides, (sides.shape[0], count))
    return xp.reshape(solve_banded((1, 1), bands, flat), sides.shape)


def _periodic_slopes(x: Any, y: Any) -> Any:
    """Return the slopes of a periodic spline: tridiagonal equations and two corners, by Woodbury's formula."""
    dx = x[1:] - x[:-1]
    secant = (y[1:] - y[:-1]) / _columns(dx, y)
    before, secant_before = xp.roll(dx, 1), xp.roll(secant, 1, axis=0)
    sides = 3 * (_columns(dx, y) * secant_before + _columns(before, y) * secant)
    zero = np.zeros(1)
    bands = xp.stack([xp.concatenate([zero, before[:-1]]), 2 * (before + dx), xp.concatenate([dx[1:], zero])])
    position, last = xp.arange(dx.shape[0]), dx.shape[0] - 1
    units = xp.stack([xp.where(position == 0, 1.0, 0.0), xp.where(position == last, 1.0, 0.0)], axis=1)
    plain, turned = _solved(bands, sides), _solved(bands, units)
    corners = xp.stack([dx[0], before[-1]])  # of the last column in the first row, and the reverse
    small = np.eye(2) + corners[:, None] * xp.stack([turned[-1], turned[0]])
    rest = _columns(corners, y) * xp.stack([plain[-1], plain[0]])
    weights = xp.reshape(xp.linalg.inv(small) @ xp.reshape(rest, (2, -1)), rest.shape)
    slopes = plain - xp.tensordot(turned, weights, axes=1)
    return xp.concatenate([slopes, slopes[:1]])


class PchipInterpolator(CubicHermiteSpline):
    """Cubic interpolant that rises and falls with its points.

    Source: F. Fritsch, J. Butland, A method for constructing local monotone piecewise cubic interpolants, 1984.
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        if not is_traced(x, y):
            self.take(scipy_interpolate.PchipInterpolator(x, y, axis, extrapolate))
            return
        x, y, along = _real_data("PchipInterpolator", x, y, axis)
        self.set(x, y, _pchip_slopes(x, y), along, extrapolate)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return the values of a `PchipInterpolator`, or derivatives of order `der`; a list of orders gives a list."""
    if not is_traced(xi, yi, x):
        return scipy_interpolate.pchip_interpolate(xi, yi, x, der, axis)
    interpolant = PchipInterpolator(xi, yi, axis)
    return [interpolant(x, nu) for nu in der] if isinstance(der, (list, tuple)) else interpolant(x, der)


def _real_data(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    x, y, along = data(name, x, y, axis, 2)
    if y.dtype.kind == "c":
        raise ArgumentError(name, "y", "is complex", "interpolate its real and imaginary parts")
    check(x[1:] > x[:-1], f"{name}: x must increase")
    return x, y, along


def _pchip_slopes(x: Any, y: Any) -> Any:
    """Return weighted harmonic means of the slopes on both sides, 0 where these differ in sign."""
    h = _columns(x[1:] - x[:-1], y)
    m = (y[1:] - y[:-1]) / h
    turns = (xp.sign(m[1:]) != xp.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    right, left = (xp.where(turns, 1.0, part) for part in (m[1:], m[:-1]))
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inner = xp.where(turns, 0.0, (w1 + w2) / (w1 / left + w2 / right))
    ends = [_pchip_end(*[_row(a, sign * i + min(sign, 0)) for a in (h, m) for i in (0, 1)]) for sign in (1, -1)]
    slopes = xp.concatenate([ends[0][None], inner, ends[1][None]])
    return xp.where(x.shape[0] == 2, m[0] + 0.0 * slopes, slopes)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Return the slope at an end by three points, limited so that the shape is kept."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (xp.sign(m0) != xp.sign(m1)) & (xp.abs(d) > 3 * xp.abs(m0))
    return xp.where(xp.sign(d) != xp.sign(m0), 0.0, xp.where(steep, 3 * m0, d))


class Akima1DInterpolator(CubicHermiteSpline):
    """Cubic interpolant whose slopes are means of the slopes around them, by `method` "akima" or "makima".

    Source: H. Akima, A new method of interpolation and smooth curve fitting based on local procedures, 1970.
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        choice_of("Akima1DInterpolator", "method", method, ("akima", "makima"))
        if not is_traced(x, y):
            self.take(scipy_interpolate.Akima1DInterpolator(x, y, axis, method=method, extrapolate=extrapolate))
            return
        x, y, along = _real_data("Akima1DInterpolator", x, y, axis)
        slopes = _akima_slopes(x, y, method)
        self.set(x, y, slopes, along, False if extrapolate is None else extrapolate)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    secant = (y[1:] - y[:-1]) / _columns(x[1:] - x[:-1], y)
    before, after = (2 * _row(secant, i) - _row(secant, j) for i, j in ((0, 1), (-1, -2)))
    ends = [2 * before - secant[0], before, after, 2 * after - secant[-1]]
    first, second, last, beyond = (e[None] for e in ends)
    m = xp.concatenate([first, second, secant, last, beyond])
    change = xp.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * xp.abs(m[1:] + m[:-1])
    ahead, behind = change[2:], change[:-2]
    total = ahead + behind
    defined = total > 1e-9 * xp.max(total, initial=0.0)
    mean = 0.5 * (m[3:] + m[:-3])
    weighted = m[1:-2] + behind / xp.where(defined, total, 1.0) * (m[2:-1] - m[1:-2])
    slopes = xp.where(defined, weighted, mean)
    return xp.where(x.shape[0] == 2, secant[0] + 0.0 * slopes, slopes)
