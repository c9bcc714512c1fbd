"""Interpolation between values of tables: along one axis, and on rectangular grids.

Interpolation of scattered points: radial functions, the nearest point, and linear pieces on a triangulation.

Which point is nearest and which simplex holds a point are found by SciPy, in callbacks. Their answers are integers. So
results have derivatives with respect to points and values, of any order.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, sizes
from anyshape.numpy.serve import refuse
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import context_of
from anyshape.scipy.interpolate.bspline import make_interp_spline
from anyshape.scipy.interpolate.piecewise import shaped
from anyshape.scipy.operands.conversion import FixedAttributes, floats, real_floats
from anyshape.support.packages import scipy_interpolate, scipy_spatial
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check, stop_gradient

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


def _extrapolates(fill_value) -> bool:
    return isinstance(fill_value, str) and fill_value == "extrapolate"


class interp1d(FixedAttributes):
    """Interpolant of a table along one axis of y, by SciPy's `kind`: "linear", "nearest", "previous", "cubic", ...

    Points outside are a CheckError of the run, unless `bounds_error` is False or there is a `fill_value`.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        free = _extrapolates(fill_value)
        self.traced: bool = is_traced(x, y) or (not free and is_traced(*_both(fill_value)))
        arguments = (x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
        self._of_scipy = None if self.traced else scipy_interpolate.interp1d(*arguments)
        if self._of_scipy is not None:
            x, y, assume_sorted = self._of_scipy.x, self._of_scipy.y, True  # the same memory
        x, y = xp.asarray(x), xp.asarray(y)
        self.axis: int = axis_of(axis, y.ndim, "interp1d")
        if x.ndim != 1:
            raise ArgumentError("interp1d", "x", f"has {x.ndim} axes", "pass a vector")
        names = {order: name for name, order in _ORDERS.items()}
        self.kind: Any = choice_of("interp1d", "kind", names.get(kind, kind), ("linear", *_STEPS, *_ORDERS))
        if self.traced:
            ctx, (count,), values = context_of("interp1d", x, y), sizes(x), sizes(y)[self.axis]
            ctx.require_equal(count, values, f"{count} points have {values} values")
            ctx.require(at_least(count, _ORDERS.get(self.kind, 0) + 1), "there are too few points")
        if not assume_sorted:
            order = xp.argsort(x, kind="stable")
            x, y = x[order], xp.take(y, order, axis=self.axis)
        y = y if y.dtype.kind in "fc" else y.astype(np.float64)
        self.x, self.y = x, xp.moveaxis(y, self.axis, 0)
        self.fill_value = fill_value
        self.bounds_error: bool = not free and (_is_nan(fill_value) if bounds_error is None else bounds_error)

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the interpolant of an object of SciPy's."""
        kind = theirs._spline.k if theirs._kind == "spline" else theirs._kind
        return cls(theirs.x, theirs.y, kind, theirs.axis, True, theirs.bounds_error, theirs.fill_value, True)

    def __call__(self, x: Any) -> Any:
        """Return the values at points x of any shape, whose axes stand where the axis of y was."""
        if self._of_scipy is not None and not is_traced(x):
            return self._of_scipy(x)
        points = xp.asarray(x)
        if self.kind in _ORDERS or points.dtype != np.float32:
            points = real_floats(points)
        v = xp.ravel(points)
        y = self._at(as_value(self.x), as_value(self.y), v)
        below, above = _both(self.fill_value)
        column = lambda mask: xp.reshape(mask, (-1, *[1] * (y.ndim - 1)))
        under, over = v < self.x[0], v > self.x[-1]
        if self.bounds_error:
            check(~(under | over), "interp1d: a point is outside of the range of the table")
        if not _extrapolates(self.fill_value):
            y = xp.where(column(under), below, xp.where(column(over), above, y))
        elif self.kind in ("previous", "next"):
            y = xp.where(column(under if self.kind == "previous" else over), np.nan, y)
        return shaped(y, points, self.axis)

    def _at(self, x, y, v):
        """Return the values of the table (x, y) at a vector of points, along the first axis."""
        count = x.shape[0]
        if self.kind in _ORDERS:
            return make_interp_spline(x, y, _ORDERS[self.kind]).value(v, 0, True)
        if self.kind == "linear" and y.ndim == 1 and y.dtype == np.float64 and not _extrapolates(self.fill_value):
            return xp.interp(v, x, y)  # as SciPy does, which differs where points repeat
        if self.kind == "linear":
            after = xp.minimum(xp.clip(xp.searchsorted(x, v), 1, max_dim(count - 1, 1)), count - 1)
            before = xp.maximum(after - 1, 0)
            column = lambda a: xp.reshape(a, (-1, *[1] * (y.ndim - 1)))
            slope = (y[after] - y[before]) / column(x[after] - x[before])
            return slope * column(v - x[before]) + y[before]
        if self.kind in ("nearest", "nearest-up"):
            middles = x[1:] / 2.0 + x[:-1] / 2.0
            row = xp.searchsorted(middles, v, "left" if self.kind == "nearest" else "right")
        elif self.kind == "previous":
            row = xp.searchsorted(xp.nextafter(x.astype(np.float64), -np.inf), v, "left") - 1
        else:
            row = xp.searchsorted(xp.nextafter(x.astype(np.float64), np.inf), v, "right")
        return y[xp.clip(row, 0, count - 1)]


def _both(fill_value) -> tuple[Any, Any]:
    """Return the values below and above a table."""
    return fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)


def _is_nan(fill_value) -> bool:
    """Return whether a value outside of the table is the default one."""
    return has_type(fill_value, float) and np.isnan(fill_value)


def interpn(points, values, xi, method: str = "linear", bounds_error: bool = True, fill_value=np.nan) -> Any:
    """Return values on a rectangular grid between its points; see `RegularGridInterpolator`."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


class RegularGridInterpolator(FixedAttributes):
    """Interpolant of values on a rectangular grid, by `method` "linear" or "nearest".

    `points` are vectors, one for each of the first axes of the values. Points outside are a CheckError of the run,
    unless `bounds_error` is False; then they have the `fill_value`, or None extrapolates.
    """

    def __init__(
        self, points, values, method: str = "linear", bounds_error: bool = True, fill_value=np.nan, **options
    ) -> None:
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.traced: bool = is_traced(*points, values, fill_value)
        if not self.traced:
            make = scipy_interpolate.RegularGridInterpolator
            self._of_scipy = make(points, values, method, bounds_error, fill_value, **options)
            self.grid, self.values = self._of_scipy.grid, self._of_scipy.values
            return
        self._of_scipy = None
        choice_of("RegularGridInterpolator", "method", method, ("linear", "nearest"))
        self.values = floats(values)
        self.grid = tuple([real_floats(p) for p in points])
        if len(self.grid) > self.values.ndim:
            problem = f"are {len(self.grid)} vectors, and values have {self.values.ndim} axes"
            raise ArgumentError("RegularGridInterpolator", "points", problem, "pass one for each axis")
        for axis, line in enumerate(self.grid):
            ctx, (count,), size = context_of("RegularGridInterpolator", line), sizes(line), sizes(self.values)[axis]
            ctx.require_equal(count, size, f"axis {axis} has {count} points and {size} values")
            ctx.require(at_least(count, 1), f"axis {axis} has no points")
            check(line[1:] > line[:-1], "RegularGridInterpolator: the points of each axis must increase")

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the interpolant of an object of SciPy's."""
        return cls(theirs.grid, theirs.values, theirs.method, theirs.bounds_error, theirs.fill_value)

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return the values at points whose coordinates are along the last axis of xi, or arrays in a tuple."""
        if self._of_scipy is not None and not is_traced(*(xi if isinstance(xi, tuple) else (xi,))):
            return self._of_scipy(xi, method, nu=nu)
        method = choice_of("RegularGridInterpolator", "method", method or self.method, ("linear", "nearest"))
        if nu is not None:
            raise refuse("scipy.interpolate.RegularGridInterpolator with nu")
        xi, coordinates = self._coordinates(xi)
        y = self._between(coordinates, method)
        outside: Any = False
        for v, line in zip(coordinates, self.grid, strict=True):
            outside = outside | (v < line[0]) | (v > line[-1])
        column = lambda mask: xp.reshape(mask, (-1, *[1] * (y.ndim - 1)))
        if self.bounds_error:
            check(~outside, "RegularGridInterpolator: a point is outside of the grid")
        elif self.fill_value is not None:
            y = xp.where(column(outside), self.fill_value, y)
        missing = xp.isnan(sum(coordinates))
        return xp.reshape(xp.where(column(missing), np.nan, y), (*xi.shape[:-1], *y.shape[1:]))

    def _coordinates(self, xi) -> tuple[Any, list[Any]]:
        """Return points with coordinates along the last axis, and the coordinates as vectors."""
        xi = _points("RegularGridInterpolator", xi, len(self.grid))
        flat = xp.reshape(xi, (-1, len(self.grid)))
        return xi, [flat[:, i] for i in range(len(self.grid))]

    def _between(self, coordinates: list[Any], method: str):
        """Return the values in the cells of the points, along the first axis."""
        cells, values = [], as_value(self.values)
        for v, line in zip(coordinates, map(as_value, self.grid), strict=True):
            last = line.shape[0] - 1
            low = xp.clip(xp.searchsorted(line, v) - 1, 0, max_dim(last - 1, 0))
            high = xp.minimum(low + 1, last)
            width = line[high] - line[low]
            cells.append((low, high, (v - line[low]) / xp.where(width == 0, 1.0, width)))
        if method == "nearest":
            return values[tuple([xp.where(part <= 0.5, low, high) for low, high, part in cells])]
        total: Any = 0.0
        trailing = [1] * (values.ndim - len(cells))
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for side, (_, _, part) in zip(corner, cells, strict=True):
                weight = weight * (part if side else 1 - part)
            index = tuple([cell[side] for side, cell in zip(corner, cells, strict=True)])
            total = total + xp.reshape(weight, (-1, *trailing)) * values[index]
        return total


# -- radial functions: of squared distances, as most are smooth in these


def _thin_plate(square):
    zero = square == 0
    return xp.where(zero, 0.0, 0.5 * square * xp.log(xp.where(zero, 1.0, square)))


def _odd_power(power: int) -> Callable[[Any], Any]:
    def function(square):
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


def _require_points(y, d) -> None:
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

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the interpolant of an object of SciPy's."""
        d = theirs.d.view(theirs.d_dtype).reshape(-1, *theirs.d_shape)
        degree = int(theirs.powers.sum(axis=1).max(initial=-1))
        return cls(theirs.y, d, theirs.neighbors, theirs.smoothing, theirs.kernel, theirs.epsilon, degree)

    def _kernel(self, a, b):
        return _KERNELS[self.kernel](ds.pair_distances(a * self.epsilon, b * self.epsilon, power=2, root=False))

    def _monomials(self, x, y):
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
        above = xp.concatenate([self._kernel(y, y) + xp.diag(smoothing), monomials], axis=1)
        below = xp.concatenate([monomials.T, xp.zeros((count, count))], axis=1)
        sides = xp.concatenate([values, xp.zeros((count, values.shape[1]))])
        coefficients = xp.linalg.solve(xp.concatenate([above, below]), sides)
        vectors = xp.concatenate([self._kernel(x, y), self._monomials(x, y)], axis=1)
        return xp.reshape(vectors @ coefficients, (x.shape[0], *self.d.shape[1:]))


# -- the nearest point, and triangulations


def _points(name: str, xi, dims: int):
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

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the interpolant of an object of SciPy's."""
        scaled, points = theirs.scale is not None, theirs.points
        points = points * theirs.scale + theirs.offset if scaled else points
        others = {} if cls is NearestNDInterpolator else {"fill_value": theirs.fill_value}
        values = theirs.values.reshape(-1, *theirs.values_shape)
        return cls(points, values, rescale=scaled, **others)  # type: ignore[call-arg]  # of the classes below

    def _scaled(self, points, flat) -> tuple[Any, Any]:
        """Return constants for a callback: the points and the others, in units of the extent if `rescale`."""
        points, flat = stop_gradient(points), stop_gradient(flat)
        if not self.rescale:
            return points, flat
        offset, extent = xp.mean(points, axis=0), xp.max(points, axis=0) - xp.min(points, axis=0)
        extent = xp.where(extent > 0, extent, 1.0)
        return (points - offset) / extent, (flat - offset) / extent

    def _at(self, points, values, flat):
        raise NotImplementedError


def _nearest(points, flat):
    return scipy_spatial.cKDTree(points).query(flat)[1].astype(np.int64)


def _simplices(points, flat):
    """Return the positions of the corners of the simplex that holds each point, -1 outside of all."""
    triangulation = scipy_spatial.Delaunay(points)
    held = triangulation.find_simplex(flat)
    return np.where(held[:, None] < 0, -1, triangulation.simplices[held]).astype(np.int64)


class NearestNDInterpolator(_Scattered):
    """Value of the nearest point, with derivatives with respect to values alone."""

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        super().__init__(x, y, {"rescale": rescale, "tree_options": tree_options})

    def _at(self, points, values, flat):
        spec = ShapeDtypeStruct((flat.shape[0],), np.int64)
        return values[pure_callback(_nearest, spec, *self._scaled(points, flat))]


class LinearNDInterpolator(_Scattered):
    """Linear interpolant on the triangulation of Delaunay, in two dimensions or more; `fill_value` is outside of it."""

    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> None:
        self.fill_value = fill_value
        super().__init__(points, values, {"fill_value": fill_value, "rescale": rescale})

    def _at(self, points, values, flat):
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


def griddata(points, values, xi, method: str = "linear", fill_value=np.nan, rescale: bool = False) -> Any:
    """Return the interpolant of scattered points at others, by `method` "nearest" or "linear"; "cubic" is concrete."""
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
