"""Piecewise polynomials in the basis of Bernstein."""

from __future__ import annotations

from itertools import pairwise
from math import comb
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy.interpolate.piecewise import Interpolant
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_interpolate


class BPoly(Interpolant):
    """Piecewise polynomial in Bernstein's basis: c[j] are coefficients of its j-th one, x the ends of the pieces."""

    c: Any
    x: Any

    parts = ("c", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c = xp.asarray(c)
        c = c.astype(np.complex128 if c.dtype.kind == "c" else np.float64)
        self.c = xp.moveaxis(xp.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c
        self.x, self.axis = real_floats(x), axis
        self.extrapolate = True if extrapolate is None else extrapolate

    @classmethod
    def made_of(cls, c: Any, x: Any, extrapolate: Any, axis: int) -> BPoly:
        """Return a piecewise polynomial whose pieces are along the second axis of c."""
        made = object.__new__(BPoly)
        made.c, made.x, made.extrapolate, made.axis = c, x, extrapolate, axis
        return made

    @classmethod
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> BPoly:
        """Return a piecewise polynomial of local powers in this basis."""
        degree = int(pp.c.shape[0]) - 1
        width = xp.reshape(pp.x[1:] - pp.x[:-1], (-1, *[1] * (pp.c.ndim - 2)))
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
        made = scipy_interpolate.BPoly.from_derivatives(xi, yi, orders, extrapolate)
        return cls.made_of(made.c, made.x, made.extrapolate, made.axis)

    def of_scipy(self) -> Any:
        """Return SciPy's object for concrete data."""
        return scipy_interpolate.BPoly.construct_fast(self.c, self.x, self.extrapolate, self.axis)

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the interval of the data."""
        return self.x[0], self.x[-1]

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points by de Casteljau's scheme in the pieces that they are in."""
        if nu:
            return self.derivative(nu).value(v, 0, extrapolate)
        piece = xp.clip(xp.searchsorted(self.x, v, "right") - 1, 0, self.x.shape[0] - 2)
        low, high = self.x[piece], self.x[piece + 1]
        s = xp.reshape((v - low) / (high - low), (-1, *[1] * (self.c.ndim - 2)))
        rows = [self.c[j][piece] + 0.0 * s for j in range(int(self.c.shape[0]))]
        while len(rows) > 1:
            rows = [(1 - s) * a + s * b for a, b in pairwise(rows)]
        return rows[0]

    def _widths(self) -> Any:
        return xp.reshape(self.x[1:] - self.x[:-1], (-1, *[1] * (self.c.ndim - 2)))

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
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BPoly.made_of(c, self.x, extrapolate, self.axis)
