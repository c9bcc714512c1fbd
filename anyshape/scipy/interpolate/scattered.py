"""Interpolation of scattered points: radial functions, the nearest point, and linear pieces on a triangulation.

Which point is nearest and which simplex holds a point are found by SciPy, in callbacks. Their answers are integers. So
results have derivatives by points and values, of any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import context_of
from anyshape.scipy.interpolate.tables import interp1d
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.support.packages import scipy_interpolate, scipy_spatial
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import stop_gradient

# -- radial functions: of squared distances, as most are smooth in these


def _thin_plate(square: Any) -> Any:
    zero = square == 0
    return xp.where(zero, 0.0, 0.5 * square * xp.log(xp.where(zero, 1.0, square)))


def _odd_power(power: int) -> Callable[[Any], Any]:
    def function(square: Any) -> Any:
        zero = square == 0
        return xp.where(zero, 0.0, xp.where(zero, 1.0, square) ** (power / 2))

    return function


_KERNELS: Mapping[str, Callable[[Any], Any]] = {
    "linear": lambda square: -_odd_power(1)(square),
    "thin_plate_spline": _thin_plate,
    "cubic": _odd_power(3),
    "quintic": lambda square: -_odd_power(5)(square),
    "multiquadric": lambda square: -xp.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1 / xp.sqrt(square + 1),
    "inverse_quadratic": lambda square: 1 / (square + 1),
    "gaussian": lambda square: xp.exp(-square),
}
_LEAST_DEGREES = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


def _require_points(y: Any, d: Any) -> None:
    """Require a matrix of points, and as many values."""
    if y.ndim != 2 or not d.ndim:
        raise ArgumentError("RBFInterpolator", "y", "is not a matrix of points", "pass one row for each value")
    if is_traced(y, d):
        ctx, count, values = context_of("RBFInterpolator", y, d), sizes(y)[0], sizes(d)[0]
        ctx.require_equal(count, values, f"{count} points have {values} values")


class RBFInterpolator(FixedAttributes):
    """Sum of radial functions around points y and of a polynomial, through values d or near to them.

    Arguments are SciPy's. Data may be traced for `neighbors=None`.
    """

    neighbors: int | None
    y: Any
    epsilon: float | Any
    smoothing: Any

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: int | None = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: int | None = None,
    ) -> None:
        self.kernel: Any = choice_of("RBFInterpolator", "kernel", kernel.lower(), tuple(_KERNELS))
        traced, self.neighbors = is_traced(y, d, smoothing, epsilon), neighbors
        if traced and neighbors is not None:
            raise refuse("scipy.interpolate.RBFInterpolator with neighbors")
        arguments = (y, d, neighbors, smoothing, kernel, epsilon, degree)
        self._of_scipy = None if traced else scipy_interpolate.RBFInterpolator(*arguments)
        self.y, d = real_floats(y), xp.asarray(d)
        self.d: Any = d.astype(np.complex128 if d.dtype.kind == "c" else np.float64)
        _require_points(self.y, self.d)
        if epsilon is None and self.kernel not in _WITHOUT_SCALE:
            raise ArgumentError("RBFInterpolator", "epsilon", "is missing", f"the kernel {self.kernel} needs it")
        self.epsilon, self.smoothing = 1.0 if epsilon is None else epsilon, smoothing
        degree = max(_LEAST_DEGREES.get(self.kernel, -1), 0) if degree is None else int(degree)
        self.powers: list[tuple[int, ...]] = [
            p for p in itertools.product(range(degree + 1), repeat=int(self.y.shape[1])) if sum(p) <= degree
        ]

    def _kernel(self, a: Any, b: Any) -> Any:
        return _KERNELS[self.kernel](ds.pair_distances(a * self.epsilon, b * self.epsilon, power=2, root=False))

    def _monomials(self, x: Any, y: Any) -> Any:
        """Return the monomials at x, of coordinates that are between -1 and 1 for the points y."""
        if not self.powers:
            return xp.zeros((x.shape[0], 0))
        low, high = xp.min(y, axis=0), xp.max(y, axis=0)
        width = xp.where(high == low, 1.0, (high - low) / 2)
        at = (x - (high + low) / 2) / width
        columns = [xp.prod(xp.stack([at[:, i] ** p for i, p in enumerate(powers)]), axis=0) for powers in self.powers]
        return xp.stack(columns, axis=1)

    def __call__(self, x: Any) -> Any:
        """Return the values at points, the rows of x."""
        if self._of_scipy is not None and not is_traced(x):
            return self._of_scipy(x)
        if self.neighbors is not None:
            raise refuse("scipy.interpolate.RBFInterpolator with neighbors")
        x, y = real_floats(x), as_value(self.y)
        values = xp.reshape(as_value(self.d), (y.shape[0], -1))
        monomials = self._monomials(y, y)
        count = len(self.powers)
        smoothing = xp.broadcast_to(real_floats(self.smoothing), (y.shape[0],))
        square = self._kernel(y, y) + xp.diag(smoothing)
        above = xp.concatenate([square, monomials], axis=1)
        below = xp.concatenate([monomials.T, xp.zeros((count, count))], axis=1)
        sides = xp.concatenate([values, xp.zeros((count, values.shape[1]))])
        coefficients = xp.linalg.solve(xp.concatenate([above, below]), sides)
        vectors = xp.concatenate([self._kernel(x, y), self._monomials(x, y)], axis=1)
        return xp.reshape(vectors @ coefficients, (x.shape[0], *self.d.shape[1:]))


# -- the nearest point, and triangulations


def _points(name: str, xi: Any, dims: int) -> Any:
    """Return points with their coordinates along the last axis, of an array or a tuple of coordinates."""
    xi = xp.stack(xp.broadcast_arrays(*xi), axis=-1) if isinstance(xi, tuple) else xp.asarray(xi)
    xi = real_floats(xi)
    if dims == 1 and (xi.ndim == 0 or xi.shape[-1] != 1):
        xi = xi[..., None]
    if not xi.ndim or xi.shape[-1] != dims:
        raise ArgumentError(name, "xi", f"does not have {dims} coordinates", "pass them along the last axis")
    return xi


class _Scattered(FixedAttributes):
    """Interpolant of values at scattered points; SciPy's object serves concrete data."""

    points: Any

    def __init__(self, points: Any, values: Any, options: dict[str, Any]) -> None:
        name = type(self).__name__
        traced = is_traced(*(points if isinstance(points, (list, tuple)) else (points,)), values)
        self._of_scipy = None if traced else getattr(scipy_interpolate, name)(points, values, **options)
        points = points if traced else getattr(points, "points", points)  # of a triangulation
        stacked = xp.stack(points, axis=-1) if isinstance(points, tuple) else xp.asarray(points)
        self.points, values = real_floats(stacked), xp.asarray(values)
        self.values: Any = values if values.dtype.kind == "c" else values.astype(np.float64)
        self.rescale: Any = options.get("rescale", False)
        if self.points.ndim != 2:
            raise ArgumentError(name, "points", f"has {self.points.ndim} axes", "pass a matrix, whose rows are points")
        if is_traced(self.points, self.values):
            ctx, count = context_of(name, self.points, self.values), sizes(self.points)[0]
            ctx.require_equal(count, sizes(self.values)[0], f"{count} points have {sizes(self.values)[0]} values")

    def __call__(self, *args: Any) -> Any:
        """Return the values at points, an array with coordinates along the last axis, or one array for each."""
        if self._of_scipy is not None and not is_traced(*args):
            return self._of_scipy(*args)
        xi = args[0] if len(args) == 1 else tuple(args)
        xi = _points(type(self).__name__, xi, int(self.points.shape[1]))
        flat = xp.reshape(xi, (-1, int(self.points.shape[1])))
        y = self._at(as_value(self.points), as_value(self.values), as_value(flat))
        return xp.reshape(y, (*xi.shape[:-1], *self.values.shape[1:]))

    def _scaled(self, points: Any, flat: Any) -> tuple[Any, Any]:
        """Return constants for a callback: the points and the others, in units of the extent if `rescale`."""
        points, flat = stop_gradient(points), stop_gradient(flat)
        if not self.rescale:
            return points, flat
        offset, extent = xp.mean(points, axis=0), xp.max(points, axis=0) - xp.min(points, axis=0)
        extent = xp.where(extent > 0, extent, 1.0)
        return (points - offset) / extent, (flat - offset) / extent

    def _at(self, points: Any, values: Any, flat: Any) -> Any:
        raise NotImplementedError


def _nearest(points: Any, flat: Any) -> Any:
    return scipy_spatial.cKDTree(points).query(flat)[1].astype(np.int64)


def _simplices(points: Any, flat: Any) -> Any:
    """Return the positions of the corners of the simplex that holds each point, -1 outside of all."""
    triangulation = scipy_spatial.Delaunay(points)
    held = triangulation.find_simplex(flat)
    return np.where(held[:, None] < 0, -1, triangulation.simplices[held]).astype(np.int64)


class NearestNDInterpolator(_Scattered):
    """Value of the nearest point, with derivatives by values alone."""

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        super().__init__(x, y, {"rescale": rescale, "tree_options": tree_options})

    def _at(self, points: Any, values: Any, flat: Any) -> Any:
        spec = ShapeDtypeStruct((flat.shape[0],), np.int64)
        return values[pure_callback(_nearest, spec, *self._scaled(points, flat))]


class LinearNDInterpolator(_Scattered):
    """Linear interpolant on the triangulation of Delaunay, in two dimensions or more; `fill_value` is outside of it."""

    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> None:
        self.fill_value = fill_value
        super().__init__(points, values, {"fill_value": fill_value, "rescale": rescale})

    def _at(self, points: Any, values: Any, flat: Any) -> Any:
        dims = int(points.shape[1])
        spec = ShapeDtypeStruct((flat.shape[0], dims + 1), np.int64)
        corners = pure_callback(_simplices, spec, *self._scaled(points, flat))
        outside = corners[:, 0] < 0
        corners = xp.where(outside[:, None], xp.arange(dims + 1), corners)
        ends = points[corners]
        edges = xp.swapaxes(ends[:, :-1] - ends[:, -1:], 1, 2)
        edges = xp.where(outside[:, None, None], xp.eye(dims), edges)
        shares = xp.linalg.solve(edges, (flat - ends[:, -1])[..., None])[..., 0]
        shares = xp.concatenate([shares, 1 - xp.sum(shares, axis=1, keepdims=True)], axis=1)
        column = lambda a: xp.reshape(a, (*a.shape, *[1] * (values.ndim - 1)))
        return xp.where(column(outside), self.fill_value, xp.sum(column(shares) * values[corners], axis=1))


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """Return the interpolant of scattered points at others, by `method` "nearest" or "linear"; "cubic" is concrete."""
    flat = (p for x in (points, xi) for p in (x if isinstance(x, (list, tuple)) else (x,)))
    if not is_traced(*flat, values):
        return scipy_interpolate.griddata(points, values, xi, method, fill_value, rescale)
    if method == "cubic":
        raise refuse("scipy.interpolate.griddata with method='cubic'")
    choice_of("griddata", "method", method, ("nearest", "linear"))
    points = xp.stack(points, axis=-1) if isinstance(points, tuple) else xp.asarray(points)
    if points.ndim == 1 or points.shape[-1] == 1:
        line = xp.reshape(points, (-1,))
        xi = xi[0] if isinstance(xi, tuple) else xi
        outside = "extrapolate" if method == "nearest" else fill_value
        return interp1d(line, values, method, 0, bounds_error=False, fill_value=outside)(xi)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale)(xi)
    return LinearNDInterpolator(points, values, fill_value, rescale)(xi)
