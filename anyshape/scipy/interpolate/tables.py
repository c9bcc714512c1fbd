"""Interpolation between values of tables: along one axis, and on rectangular grids."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, sizes
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.interpolate.bspline import make_interp_spline
from anyshape.scipy.interpolate.piecewise import shaped
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


def _extrapolates(fill_value: Any) -> bool:
    return isinstance(fill_value, str) and fill_value == "extrapolate"


class interp1d(FixedAttributes):
    """Interpolant of a table along one axis of y, by SciPy's `kind`: "linear", "nearest", "previous", "cubic", ...

    Points outside are a CheckError of the run, unless `bounds_error` is False or there is a `fill_value`.
    """

    x: Any
    y: Any

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
        if not assume_sorted:
            order = xp.argsort(x, kind="stable")
            x, y = x[order], xp.take(y, order, axis=self.axis)
        y = y if y.dtype.kind in "fc" else y.astype(np.float64)
        self.x, self.y = x, xp.moveaxis(y, self.axis, 0)
        if self.traced:
            ctx, (count,), values = context_of("interp1d", x, y), sizes(x), sizes(self.y)[0]
            ctx.require_equal(count, values, f"{count} points have {values} values")
            ctx.require(at_least(count, _ORDERS.get(self.kind, 0) + 1), "there are too few points")
        self.fill_value = fill_value
        self.bounds_error: bool = not free and (_is_nan(fill_value) if bounds_error is None else bounds_error)

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

    def _at(self, x: Any, y: Any, v: Any) -> Any:
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


def _both(fill_value: Any) -> tuple[Any, Any]:
    """Return the values below and above a table."""
    return fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)


def _is_nan(fill_value: Any) -> bool:
    """Return whether a value outside of the table is the default one."""
    return isinstance(fill_value, float) and np.isnan(fill_value)


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """Return values on a rectangular grid between its points; see `RegularGridInterpolator`."""
    if not is_traced(*points, values, *(xi if isinstance(xi, tuple) else (xi,))):
        return scipy_interpolate.interpn(points, values, xi, method, bounds_error, fill_value)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


class RegularGridInterpolator(FixedAttributes):
    """Interpolant of values on a rectangular grid, by `method` "linear" or "nearest".

    `points` are vectors, one for each of the first axes of the values. Points outside are a CheckError of the run,
    unless `bounds_error` is False; then they have the `fill_value`, or None extrapolates.
    """

    grid: tuple[Any, ...]
    values: Any
    method: str
    bounds_error: bool
    fill_value: Any

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        **options: Any,
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
        values = xp.asarray(values)
        self.values = values if values.dtype.kind in "fc" else values.astype(np.float64)
        self.grid = tuple([real_floats(p) for p in points])
        if len(self.grid) > self.values.ndim:
            problem = f"are {len(self.grid)} vectors, and values have {self.values.ndim} axes"
            raise ArgumentError("RegularGridInterpolator", "points", problem, "pass one for each axis")
        for axis, line in enumerate(self.grid):
            ctx, (count,), size = context_of("RegularGridInterpolator", line), sizes(line), sizes(self.values)[axis]
            ctx.require_equal(count, size, f"axis {axis} has {count} points and {size} values")
            ctx.require(at_least(count, 1), f"axis {axis} has no points")
            check(line[1:] > line[:-1], "RegularGridInterpolator: the points of each axis must increase")

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

    def _coordinates(self, xi: Any) -> tuple[Any, list[Any]]:
        """Return points with coordinates along the last axis, and the coordinates as vectors."""
        dims = len(self.grid)
        xi = xp.stack(xp.broadcast_arrays(*xi), axis=-1) if isinstance(xi, tuple) else xp.asarray(xi)
        xi = real_floats(xi)
        if dims == 1 and (xi.ndim == 0 or xi.shape[-1] != 1):
            xi = xi[..., None]
        if xi.shape[-1] != dims:
            problem = f"has {xi.shape[-1]} coordinates, and the grid has {dims} axes"
            raise ArgumentError("RegularGridInterpolator", "xi", problem, "pass one coordinate for each axis")
        flat = xp.reshape(xi, (-1, dims))
        return xi, [flat[:, i] for i in range(dims)]

    def _between(self, coordinates: list[Any], method: str) -> Any:
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
