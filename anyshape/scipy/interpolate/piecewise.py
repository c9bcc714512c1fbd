"""Piecewise polynomials by their coefficients: values, derivatives and integrals, with derivatives by all of them."""

from __future__ import annotations

from math import perm
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import axis_of, is_traced, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.trace import as_value
from anyshape.tracing.tree_nodes import register_class


class Interpolant(FixedAttributes):
    """Function of points that is made of arrays, and a tree of these.

    `parts` are the attributes that hold arrays, `settings` the others. `extrapolate` and `axis` are as in SciPy.
    """

    parts: tuple[str, ...] = ()
    settings: tuple[str, ...] = ("extrapolate", "axis")
    axis: int
    extrapolate: Any

    def __init_subclass__(cls) -> None:
        names = cls.parts + cls.settings

        def unflatten(settings: Any, parts: Any) -> Any:
            made = object.__new__(cls)
            made.__dict__.update(zip(names, (*parts, *settings), strict=True))
            return made

        flatten = lambda x: ([getattr(x, n) for n in cls.parts], tuple([getattr(x, n) for n in cls.settings]))
        register_class(cls, flatten, unflatten)

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
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        vars(made).update({name: as_value(getattr(self, name)) for name in self.parts})
        return made

    def of_scipy(self) -> Any:
        """Return SciPy's object for concrete data."""
        raise NotImplementedError

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
        period = high - low
        whole = primitive.moved(high, True) - primitive.moved(low, True)
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


class PPoly(Interpolant):
    """Piecewise polynomial of local powers: c[k - 1 - p] are the coefficients of power p, x the ends of the pieces."""

    extrapolate: Any
    axis: int
    x: Any

    parts: tuple[str, ...] = ("c", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c = xp.asarray(c)
        c = c.astype(np.complex128 if c.dtype.kind == "c" else np.float64)
        self.c: Any = xp.moveaxis(xp.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c
        self.x, self.axis = real_floats(x), axis
        self.extrapolate = True if extrapolate is None else extrapolate

    @classmethod
    def made_of(cls, c: Any, x: Any, extrapolate: Any, axis: int) -> PPoly:
        """Return a piecewise polynomial whose pieces are along the second axis of c."""
        made = object.__new__(PPoly)
        made.c, made.x, made.extrapolate, made.axis = c, x, extrapolate, axis
        return made

    def of_scipy(self) -> Any:
        """Return SciPy's object for concrete data."""
        return scipy_interpolate.PPoly.construct_fast(self.c, self.x, self.extrapolate, self.axis)

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the interval of the data."""
        return self.x[0], self.x[-1]

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points by Horner's rule in the pieces that they are in."""
        if nu < 0:
            return self.antiderivative(-nu).value(v, 0, extrapolate)
        count = self.x.shape[0]
        piece = xp.clip(xp.searchsorted(self.x, v, "right") - 1, 0, count - 2)
        order = int(self.c.shape[0])
        trailing = [1] * (self.c.ndim - 2)
        s = xp.reshape(v - self.x[piece], (-1, *trailing))
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
        width = xp.reshape(self.x[1:] - self.x[:-1], (-1, *[1] * (c.ndim - 2)))
        for step in range(nu):
            rows = [c[row] / (order + step - row) for row in range(order + step)]
            area: Any = 0.0
            for row in rows:
                area = (area + row) * width
            total = xp.cumsum(area, axis=0)
            c = xp.stack([*rows, xp.concatenate([xp.zeros_like(total[:1]), total[:-1]])])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly.made_of(c, self.x, extrapolate, self.axis)


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
        if not is_traced(x, y, dydx):
            self.take(scipy_interpolate.CubicHermiteSpline(x, y, dydx, axis, extrapolate))
            return
        x, y, along = data("CubicHermiteSpline", x, y, axis, 2)
        self.set(x, y, xp.moveaxis(xp.asarray(dydx, y.dtype), along, 0), along, extrapolate)

    def set(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        """Set the coefficients by values and slopes along the first axis."""
        self.c, self.x, self.axis = hermite_coefficients(x, y, slopes), x, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def take(self, other: Any) -> None:
        """Take over what an object of SciPy is made of."""
        self.c, self.x, self.axis, self.extrapolate = other.c, other.x, other.axis, other.extrapolate
