"""Polynomials through points: one polynomial for all of them, with derivatives by points, values and nodes.

The sum of Lagrange's polynomials is evaluated by products of the differences before and behind each node. So it has its
derivatives at the nodes too, where quotients have none, and it is backward stable.
Source: N. J. Higham, "The numerical stability of barycentric Lagrange interpolation", 2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import is_traced
from anyshape.scipy.interpolate.piecewise import data, shaped
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check
from anyshape.transforms.grad import jvp


def _before(steps: Any) -> Any:
    """Return for each column the product of the columns in front of it."""
    return xp.concatenate([xp.ones_like(steps[:, :1]), xp.cumprod(steps, axis=1)[:, :-1]], axis=1)


def _without_each(steps: Any) -> Any:
    """Return for each column the product of all others."""
    return _before(steps) * _before(steps[:, ::-1])[:, ::-1]


def _lagrange(v: Any, x: Any, y: Any) -> Any:
    """Return the polynomial through (x, y) at a vector of points, along the first axis."""
    scale = 4.0 / xp.where(x.shape[0] > 1, xp.max(x) - xp.min(x), 4.0)  # products neither overflow nor vanish
    own = xp.eye(x.shape[0], dtype=bool)
    between = xp.where(own, 1.0, (x[:, None] - x[None, :]) * scale)
    weights = 1.0 / xp.prod(between, axis=1)
    parts = _without_each((v[:, None] - x[None, :]) * scale) * weights
    return xp.tensordot(parts, y, 1)


class _Polynomial(FixedAttributes):
    """Polynomial through points; SciPy's object serves concrete data."""

    traced: bool
    xi: Any
    yi: Any
    axis: int

    def __init__(self, xi: Any, yi: Any, axis: int, options: dict[str, Any]) -> None:
        name, self.traced = type(self).__name__, is_traced(xi, yi)
        self._arguments = (xi, yi, axis, options)
        if yi is not None:
            self.xi, self.yi, self.axis = data(name, xi, yi, axis, 1)
        elif self.traced:
            raise ArgumentError(name, "yi", "is missing", "pass the values with the nodes")

    def _of_scipy(self) -> Any:
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

    def _value(self, v: Any) -> Any:
        """Return the values at a vector of points, along the first axis."""
        x = as_value(self.xi)
        apart = (x[:, None] != x[None, :]) | xp.eye(x.shape[0], dtype=bool)
        check(apart, f"{type(self).__name__}: two nodes are equal")
        return _lagrange(v, x, as_value(self.yi))

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


def _slope(function: Any) -> Any:
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

    def _value(self, v: Any) -> Any:
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
    if not is_traced(xi, yi, x):
        return scipy_interpolate.barycentric_interpolate(xi, yi, x, axis, der=der)
    return _orders(BarycentricInterpolator(xi, yi, axis), x, der)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return the polynomial through points at x, or its derivatives of the orders `der`; see `KroghInterpolator`."""
    if not is_traced(xi, yi, x):
        return scipy_interpolate.krogh_interpolate(xi, yi, x, der, axis)
    return _orders(KroghInterpolator(xi, yi, axis), x, der)


def _orders(polynomial: _Polynomial, x: Any, der: Any) -> Any:
    if isinstance(der, (list, tuple, np.ndarray)):
        return xp.stack([polynomial.derivative(x, int(order)) for order in der])
    return polynomial.derivative(x, int(der))
