"""Piecewise polynomials by their coefficients: values, derivatives and integrals, all of them differentiable.

Cubic interpolants by their slopes at the points: splines, and local ones of Fritsch and Butland, and of Akima.

Piecewise polynomials in the basis of Bernstein.

Polynomials through points: one polynomial for all of them, differentiable with respect to points, values and nodes.

The sum of Lagrange's polynomials is evaluated by products of the differences before and behind each node. So it has its
derivatives at the nodes too, where quotients have none, and it is backward stable.
Source: N. J. Higham, "The numerical stability of barycentric Lagrange interpolation", 2004.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from math import comb, perm
from typing import Any, Self

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, sizes
from anyshape.numpy.serve import refuse
from anyshape.numpy.sizes.symdim import max_dim, min_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.functions import solve_banded
from anyshape.scipy.operands.conversion import FixedAttributes, real_floats
from anyshape.support.packages import scipy_interpolate
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import register_class
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check
from anyshape.transforms.grad import jvp


class Interpolant(FixedAttributes):
    """Function of points that is made of arrays, and a tree of these.

    `parts` are the attributes that hold arrays, `settings` the others. `extrapolate` and `axis` are as in SciPy.
    """

    parts: tuple[str, ...] = ()
    settings: tuple[str, ...] = ("extrapolate", "axis")
    axis: int
    extrapolate: Any

    def __init_subclass__(cls) -> None:
        flatten = lambda x: ([getattr(x, n) for n in cls.parts], tuple([getattr(x, n) for n in cls.settings]))
        register_class(cls, flatten, lambda settings, parts: cls.made_of(*parts, *settings))
        of_traced = cls.__init__

        @functools.wraps(of_traced)
        def initialise(self, *args, **options):
            if is_traced(*args, *options.values()):
                of_traced(self, *args, **options)
            else:
                vars(self).update(vars(cls.made_by(getattr(scipy_interpolate, cls.__name__)(*args, **options))))

        cls.__init__ = initialise  # type: ignore[method-assign]

    @classmethod
    def made_of(cls, *members: Any) -> Self:
        """Return an interpolant of its parts, along the first axes, and settings: in the end all of `settings`."""
        made = object.__new__(cls)
        vars(made).update(zip(cls.parts + cls.settings, members, strict=True))
        return made

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return an interpolant of what an object of SciPy is made of."""
        return cls.made_of(*[getattr(theirs, name) for name in cls.parts + cls.settings])

    def __getattr__(self, name: str) -> Any:
        """Return a further member of SciPy's object for concrete data."""
        if name.startswith("_") or name in self.parts + self.settings:
            raise AttributeError(name)
        kind = type(self).__name__
        if not hasattr(getattr(scipy_interpolate, kind), name):
            raise AttributeError(f"{kind} has no attribute {name!r}", name=name, obj=self)
        if self.is_traced():
            raise refuse(f"scipy.interpolate.{kind}.{name}")
        return getattr(self.of_scipy(), name)

    def is_traced(self) -> bool:
        """Return whether the data are traced."""
        return is_traced(*[getattr(self, name) for name in self.parts])

    def lifted(self) -> Any:
        """Return the interpolant with its arrays as values of the active trace, which traced positions can index."""
        parts = [as_value(getattr(self, name)) for name in self.parts]
        return self.made_of(*parts, *[getattr(self, name) for name in self.settings])

    def of_scipy(self) -> Any:
        """Return SciPy's object for concrete data."""
        kind = getattr(scipy_interpolate, type(self).__name__)
        return kind.construct_fast(*[getattr(self, name) for name in self.parts + self.settings])

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return the values, or derivatives of order nu, at a vector of points, along the first axis."""
        raise NotImplementedError

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the interval of the data."""
        raise NotImplementedError

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values at points x of any shape, or derivatives of order `nu`.

        The axes of x stand where the axis of the data was.
        """
        if not self.is_traced() and not is_traced(x):
            return self.of_scipy()(x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points, whole = real_floats(x), self.lifted()
        v, (low, high) = xp.ravel(points), whole.limits()
        if extrapolate == "periodic":
            v, extrapolate = low + (v - low) % (high - low), False
        y = whole.value(v, nu, extrapolate)
        if not extrapolate:
            outside = (v < low) | (v > high)
            y = xp.where(xp.reshape(outside, (-1, *[1] * (y.ndim - 1))), np.nan, y)
        return shaped(y, points, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b; periods count as often as they fit in between."""
        if not self.is_traced() and not is_traced(a, b):
            return self.of_scipy().integrate(a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        primitive, (low, high) = self.antiderivative().lifted(), self.limits()
        if extrapolate != "periodic":
            return primitive.moved(b, extrapolate) - primitive.moved(a, extrapolate)
        period, whole = high - low, primitive.moved(high, True) - primitive.moved(low, True)
        ends = [
            xp.floor((x - low) / period) * whole + primitive.moved(low + (x - low) % period, True)
            for x in (real_floats(a), real_floats(b))
        ]
        return ends[1] - ends[0]

    def moved(self, x: Any, extrapolate: Any) -> Any:
        """Return the value at one point, without its axis."""
        v = xp.reshape(real_floats(x), (1,))
        y = self.value(v, 0, extrapolate)[0]
        low, high = self.limits()
        return y if extrapolate else xp.where((v[0] < low) | (v[0] > high), np.nan, y)

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order nu."""
        raise NotImplementedError

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the antiderivative of order nu that starts with zeros."""
        raise NotImplementedError


def shaped(y: Any, points: Any, axis: int) -> Any:
    """Return values along a first axis with the axes of the points in place of the axis."""
    y = xp.reshape(y, (*points.shape, *y.shape[1:]))
    for _ in range(points.ndim):  # they go behind `axis` others, in their order
        y = xp.moveaxis(y, 0, axis + points.ndim - 1) if axis else y
    return y


def data(name: str, x: Any, y: Any, axis: int, least: int) -> tuple[Any, Any, int]:
    """Return points and values along the first axis, as floats, and the axis; require so many points."""
    x, y = real_floats(x), xp.asarray(y)
    y = y.astype(np.complex128 if y.dtype.kind == "c" else np.float64)
    if x.ndim != 1:
        raise ArgumentError(name, "x", f"has {x.ndim} axes", "pass a vector")
    axis = axis_of(axis, y.ndim, name)
    y = xp.moveaxis(y, axis, 0)
    if is_traced(x, y):
        ctx, (count,), values = context_of(name, x, y), sizes(x), sizes(y)[0]
        ctx.require_equal(count, values, f"{count} points have {values} values")
        ctx.require(at_least(count, least), f"there are not {least} points")
    return x, y, axis


class _Pieces(Interpolant):
    """Piecewise polynomial: coefficients c of each piece, and the ends x of the pieces."""

    parts: tuple[str, ...] = ("c", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c = xp.asarray(c)
        c = c.astype(np.complex128 if c.dtype.kind == "c" else np.float64)
        self.c = xp.moveaxis(xp.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c
        self.x, self.axis = real_floats(x), axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the interval of the data."""
        return self.x[0], self.x[-1]

    def _columns(self, a):
        """Return a vector with axes of size 1 for the axes of values."""
        return xp.reshape(a, (-1, *[1] * (self.c.ndim - 2)))

    def _widths(self):
        return self._columns(self.x[1:] - self.x[:-1])

    def _integrated(self, kind: type[_Pieces], c) -> Any:
        """Return an antiderivative with these coefficients, which is not periodic."""
        return kind.made_of(c, self.x, self.extrapolate != "periodic" and self.extrapolate, self.axis)


class PPoly(_Pieces):
    """Piecewise polynomial of local powers: c[k - 1 - p] are the coefficients of power p, x the ends of the pieces."""

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points by Horner's rule in the pieces that they are in."""
        if nu < 0:
            return self.antiderivative(-nu).value(v, 0, extrapolate)
        count = self.x.shape[0]
        piece = xp.clip(xp.searchsorted(self.x, v, "right") - 1, 0, count - 2)
        order = int(self.c.shape[0])
        s = self._columns(v - self.x[piece])
        y: Any = None
        for row in range(order - nu):
            term = self.c[row][piece] * perm(order - 1 - row, nu)
            y = term if y is None else y * s + term
        return 0.0 * (self.c[0][piece] + s) if y is None else y + 0.0 * s

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order nu, a piecewise polynomial of lower order."""
        if nu < 0:
            return self.antiderivative(-nu)
        order = int(self.c.shape[0])
        rows = [self.c[row] * perm(order - 1 - row, nu) for row in range(order - nu)]
        c = xp.stack(rows) if rows else xp.zeros_like(self.c[:1])
        return PPoly.made_of(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the antiderivative of order nu that starts with zeros, a piecewise polynomial of higher order."""
        if nu < 0:
            return self.derivative(-nu)
        c, order = self.c, int(self.c.shape[0])
        width = self._widths()
        for step in range(nu):
            rows = [c[row] / (order + step - row) for row in range(order + step)]
            area: Any = 0.0
            for row in rows:
                area = (area + row) * width
            total = xp.cumsum(area, axis=0)
            c = xp.stack([*rows, xp.concatenate([xp.zeros_like(total[:1]), total[:-1]])])
        return self._integrated(PPoly, c)


def hermite_coefficients(x: Any, y: Any, slopes: Any) -> Any:
    """Return the coefficients of cubic pieces with these values and slopes at their ends."""
    dx = xp.reshape(x[1:] - x[:-1], (-1, *[1] * (y.ndim - 1)))
    secant = (y[1:] - y[:-1]) / dx
    t = (slopes[:-1] + slopes[1:] - 2 * secant) / dx
    return xp.stack([t / dx, (secant - slopes[:-1]) / dx - t, slopes[:-1], y[:-1]])


class CubicHermiteSpline(PPoly):
    """Piecewise cubic polynomial with given values and slopes, along an axis of y."""

    extrapolate: Any
    axis: int
    c: Any
    x: Any

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, along = data("CubicHermiteSpline", x, y, axis, 2)
        self.set(x, y, xp.moveaxis(xp.asarray(dydx, y.dtype), along, 0), along, extrapolate)

    def set(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        """Set the coefficients by values and slopes along the first axis."""
        self.c, self.x, self.axis = hermite_coefficients(x, y, slopes), x, axis
        self.extrapolate = True if extrapolate is None else extrapolate


_ENDS = {"clamped": 1, "natural": 2}  # orders of the derivatives that are zero


def _row(a, i: int):
    """Return a row that the formulas of few points may lack: the nearest one then."""
    count = a.shape[0]
    return a[min_dim(i, count - 1)] if i >= 0 else a[max_dim(count + i, 0)]


def _columns(a, like):
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
        x, y, along = data("CubicSpline", x, y, axis, 2)
        check(x[1:] > x[:-1], "CubicSpline: x must increase")
        is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if is_periodic:
            check(xp.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * xp.abs(y[-1]), "CubicSpline: y[0] and y[-1] must be equal")
            slopes = _periodic_slopes(x, y)
        else:
            slopes = _spline_slopes(x, y, *_conditions(bc_type))
        self.set(x, y, slopes, along, "periodic" if is_periodic and extrapolate is None else extrapolate)


def _conditions(bc_type) -> list[tuple[int, Any]]:
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


def _end_equation(x, y, dx, secant, condition: tuple[int, Any], both: bool) -> tuple[Any, Any, Any]:
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


def _spline_slopes(x, y, start: tuple[int, Any], end: tuple[int, Any]):
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
    return _solved(bands, xp.concatenate([right[None], inner, -left[None]]))


def _solved(bands, sides):
    """Solve tridiagonal equations for right-hand sides along the first axis."""
    count = 1
    for size in sides.shape[1:]:
        count = count * size
    flat = xp.reshape(sides, (sides.shape[0], count))
    return xp.reshape(solve_banded((1, 1), bands, flat), sides.shape)


def _periodic_slopes(x, y):
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
        x, y, along = _real_data("PchipInterpolator", x, y, axis)
        self.set(x, y, _pchip_slopes(x, y), along, extrapolate)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return the values of a `PchipInterpolator`, or derivatives of order `der`; a list of orders gives a list."""
    interpolant = PchipInterpolator(xi, yi, axis)
    return [interpolant(x, nu) for nu in der] if isinstance(der, (list, tuple)) else interpolant(x, der)


def _real_data(name: str, x, y, axis: int) -> tuple[Any, Any, int]:
    x, y, along = data(name, x, y, axis, 2)
    if y.dtype.kind == "c":
        raise ArgumentError(name, "y", "is complex", "interpolate its real and imaginary parts")
    check(x[1:] > x[:-1], f"{name}: x must increase")
    return x, y, along


def _pchip_slopes(x, y):
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


def _pchip_end(h0, h1, m0, m1):
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
        x, y, along = _real_data("Akima1DInterpolator", x, y, axis)
        slopes = _akima_slopes(x, y, method)
        self.set(x, y, slopes, along, False if extrapolate is None else extrapolate)


def _akima_slopes(x, y, method: str):
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


class BPoly(_Pieces):
    """Piecewise polynomial in Bernstein's basis: c[j] are coefficients of its j-th one, x the ends of the pieces."""

    @classmethod
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> BPoly:
        """Return a piecewise polynomial of local powers in this basis."""
        degree = int(pp.c.shape[0]) - 1
        width = pp._widths()
        rows = [0.0 * pp.c[0]] * (degree + 1)
        for power in range(degree + 1):
            part = pp.c[degree - power] / comb(degree, power) * width**power
            for j in range(power, degree + 1):
                rows[j] = rows[j] + part * comb(j, power)
        kind = pp.extrapolate if extrapolate is None else extrapolate
        return cls.made_of(xp.stack(rows), pp.x, kind, pp.axis)

    @classmethod
    def from_derivatives(cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None) -> BPoly:
        """Return the piecewise polynomial with these values and derivatives at its ends, of concrete data."""
        return cls.made_by(scipy_interpolate.BPoly.from_derivatives(xi, yi, orders, extrapolate))

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points by de Casteljau's scheme in the pieces that they are in."""
        if nu:
            return self.derivative(nu).value(v, 0, extrapolate)
        piece = xp.clip(xp.searchsorted(self.x, v, "right") - 1, 0, self.x.shape[0] - 2)
        low, high = self.x[piece], self.x[piece + 1]
        s = self._columns((v - low) / (high - low))
        rows = [self.c[j][piece] + 0.0 * s for j in range(int(self.c.shape[0]))]
        while len(rows) > 1:
            rows = [(1 - s) * a + s * b for a, b in pairwise(rows)]
        return rows[0]

    def derivative(self, nu: int = 1) -> BPoly:
        """Return the derivative of order nu, a piecewise polynomial of lower order."""
        if nu < 0:
            return self.antiderivative(-nu)
        c, width = self.c, self._widths()
        for _ in range(nu):
            degree = int(c.shape[0]) - 1
            c = (c[1:] - c[:-1]) * degree / width if degree else xp.zeros_like(c)
        return BPoly.made_of(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BPoly:
        """Return the antiderivative of order nu that starts with zeros, a piecewise polynomial of higher order."""
        if nu < 0:
            return self.derivative(-nu)
        c, width = self.c, self._widths()
        for _ in range(nu):
            inner = xp.cumsum(c, axis=0) / int(c.shape[0]) * width
            ends = xp.cumsum(inner[-1], axis=0)
            before = xp.concatenate([xp.zeros_like(ends[:1]), ends[:-1]])
            c = xp.concatenate([before[None], inner + before])
        return self._integrated(BPoly, c)


def _before(steps):
    """Return for each column the product of the columns in front of it."""
    return xp.concatenate([xp.ones_like(steps[:, :1]), xp.cumprod(steps, axis=1)[:, :-1]], axis=1)


class _Polynomial(FixedAttributes):
    """Polynomial through points; SciPy's object serves concrete data."""

    def __init__(self, xi: Any, yi: Any, axis: int, options: dict[str, Any]) -> None:
        name, self.traced = type(self).__name__, is_traced(xi, yi)
        self._arguments = (xi, yi, axis, options)
        if yi is not None:
            self.xi, self.yi, self.axis = data(name, xi, yi, axis, 1)
        elif self.traced:
            raise ArgumentError(name, "yi", "is missing", "pass the values with the nodes")

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the polynomial of an object of SciPy's."""
        y = np.moveaxis(theirs.yi.reshape(-1, *theirs._y_extra_shape), 0, theirs._y_axis)
        return cls(theirs.xi, y, axis=theirs._y_axis)  # type: ignore[call-arg]  # of the classes below

    def _of_scipy(self):
        """Return SciPy's object. It is made late, as some draw random numbers."""
        if "_made" not in vars(self):
            *positional, options = self._arguments
            self._made = getattr(scipy_interpolate, type(self).__name__)(*positional, **options)
        return self._made

    def __getattr__(self, name: str) -> Any:
        """Return a further member of SciPy's object for concrete data."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self.traced or name in ("xi", "yi", "axis"):  # values that came later
            raise refuse(f"scipy.interpolate.{type(self).__name__}.{name}")
        return getattr(self._of_scipy(), name)

    def _value(self, v):
        """Return the values at a vector of points, along the first axis."""
        x = as_value(self.xi)
        apart = (x[:, None] != x[None, :]) | xp.eye(x.shape[0], dtype=bool)
        check(apart, f"{type(self).__name__}: two nodes are equal")
        scale = 4.0 / xp.where(x.shape[0] > 1, xp.max(x) - xp.min(x), 4.0)  # products neither overflow nor vanish
        between = xp.where(xp.eye(x.shape[0], dtype=bool), 1.0, (x[:, None] - x[None, :]) * scale)
        weights = 1.0 / xp.prod(between, axis=1)
        steps = (v[:, None] - x[None, :]) * scale
        parts = _before(steps) * _before(steps[:, ::-1])[:, ::-1] * weights  # each column has the product of all others
        return xp.tensordot(parts, as_value(self.yi), 1)

    def __call__(self, x: Any) -> Any:
        """Return the values at points x of any shape, whose axes stand where the axis of the values was."""
        if not self.traced and not is_traced(x):
            return self._of_scipy()(x)
        return self.derivative(x, 0)

    def derivative(self, x: Any, der: int = 1) -> Any:
        """Return the derivative of order `der` at points x of any shape."""
        if not self.traced and not is_traced(x):
            return self._of_scipy().derivative(x, der)
        points, function = real_floats(x), self._value
        for _ in range(der):
            function = _slope(function)
        return shaped(function(as_value(xp.ravel(points))), points, self.axis)

    def derivatives(self, x: Any, der: Any = None) -> Any:
        """Return the derivatives of orders 0 to `der` - 1 at points x, along a new first axis."""
        if not self.traced and not is_traced(x):
            return self._of_scipy().derivatives(x, der)
        if der is None:
            raise ArgumentError("derivatives", "der", "is missing", "pass the number of derivatives")
        return xp.stack([self.derivative(x, order) for order in range(der)])


def _slope(function):
    return lambda v: jvp(function, (v,), (xp.ones_like(v),))[1]


class BarycentricInterpolator(_Polynomial):
    """Polynomial through points (xi, yi), along an axis of yi; nodes that are traced must differ."""

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0, **options: Any) -> None:
        super().__init__(xi, yi, axis, options)


class KroghInterpolator(_Polynomial):
    """Polynomial through points (xi, yi), along an axis of yi.

    Where a concrete node repeats, further values are derivatives there. Nodes that are traced must differ.
    """

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        super().__init__(xi, yi, axis, {})

    def _value(self, v):
        """Return values in Newton's form, whose coefficients are linear in the values of concrete nodes."""
        if is_traced(self.xi) or is_traced(self.yi.shape[0]) or not self.xi.size:
            return super()._value(v)
        nodes = np.asarray(self.xi)
        of_values = scipy_interpolate.KroghInterpolator(nodes, np.eye(nodes.size)).c
        c = xp.tensordot(as_value(of_values), as_value(self.yi), 1)
        column = lambda a: xp.reshape(a, (-1, *[1] * (c.ndim - 1)))
        total, product = c[0] + column(0.0 * v), xp.ones_like(v)
        for i in range(1, nodes.size):
            product = product * (v - nodes[i - 1])
            total = total + column(product) * c[i]
        return total


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Any:
    """Return the polynomial through points at x, or its derivatives of the orders `der`."""
    return _orders(BarycentricInterpolator(xi, yi, axis), x, der)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return the polynomial through points at x, or its derivatives of the orders `der`; see `KroghInterpolator`."""
    return _orders(KroghInterpolator(xi, yi, axis), x, der)


def _orders(polynomial: _Polynomial, x, der):
    if has_type(der, (list, tuple, np.ndarray)):
        return xp.stack([polynomial.derivative(x, int(order)) for order in der])
    return polynomial.derivative(x, int(der))
