"""Define the interpolations of `scipy.ndimage` by splines of order 0 to 5, and their prefilter.

The prefilter is a recurrence in both directions, and a value a sum of coefficients weighted by polynomials of the
coordinate. So derivatives by the image and by coordinates are exact. Order 0 has derivative 0 by coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import (
    as_traced,
    axis_of,
    choice_of,
    is_traced,
    result_type,
    shape_of,
    sizes,
    static_int,
)
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage import extension as ext
from anyshape.scipy.operands.conversion import require_elements
from anyshape.support.packages import scipy_ndimage, scipy_special
from anyshape.support.true_types import has_type

_MODES = ("constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-wrap")
_SPLINES = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "nearest": "reflect",
    "grid-wrap": "wrap",
}  # the others: mirror
_MARGIN = 12  # elements put around an image whose spline does not repeat at its ends

_POLES: dict[int, tuple[float, ...]] = {
    2: (math.sqrt(8) - 3,),
    3: (math.sqrt(3) - 2,),
    4: (
        math.sqrt(664 - math.sqrt(438976)) + math.sqrt(304) - 19,
        math.sqrt(664 + math.sqrt(438976)) - math.sqrt(304) - 19,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}


def _order(name: str, order: Any, least: int = 0) -> int:
    """Return the order of a spline."""
    degree = static_int(order, name, "the order")
    if not least <= degree <= 5:
        raise ArgumentError(name, f"order={order!r}", "has no spline here", f"let it be from {least} to 5")
    return degree


# -- the prefilter -----------------------------------------------------------------------------------------------


def _first(c: Any, z: float, k: Any, n: Any, mode: str) -> Any:
    """Return the first value of the recurrence from the start, for lines that go on by the mode."""
    if mode == "mirror":
        inner = xp.where((k > 0) & (k < n - 1), z ** xp.maximum(2.0 * (n - 1) - k, 0.0), 0.0)
        return (c * (z**k + inner)).sum(axis=-1, keepdims=True) / (1 - z ** (2.0 * xp.maximum(n - 1, 1)))
    if mode == "reflect":
        there, back = xp.where(k < n - 1, z**k, 0.0), xp.where(k > 0, z ** (2.0 * n - 1 - k), 0.0)
        total = (c * (there + back)).sum(axis=-1, keepdims=True)
        total = total * (1 + z ** (2.0 * n - 1)) + _at(c, k == n - 1) * z ** (
            1.0 * n - 1
        )  # SciPy's sum has itself as a term
        return _at(c, k == 0) + total * (z / (1 - z ** (2.0 * n)))
    return (c * z ** xp.where(k == 0, 0.0, n - k)).sum(axis=-1, keepdims=True) / (1 - z ** (1.0 * xp.maximum(n, 1)))


def _last(c: Any, z: float, k: Any, n: Any, mode: str) -> Any:
    """Return the last value of the recurrence from the end."""
    if mode == "mirror":
        return (z * _at(c, k == n - 2) + _at(c, k == n - 1)) * (z / (z * z - 1))
    if mode == "reflect":
        return _at(c, k == n - 1) * (z / (z - 1))
    weights = xp.where(k == n - 1, 1.0, z ** (k + 1.0))
    return (c * weights).sum(axis=-1, keepdims=True) * (z / (z ** (1.0 * xp.maximum(n, 1)) - 1))


def _at(c: Any, where: Any) -> Any:
    """Return the element of each line for which a mask is true."""
    return xp.where(where, c, 0).sum(axis=-1, keepdims=True)


def _prefiltered(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return coefficients of the spline through the elements along an axis; a single element is its own."""
    lines = ext.last_axes(x, [axis])
    n = lines.shape[-1]
    k = xp.arange(n) * 1.0
    c = lines * math.prod((1 - z) * (1 - 1 / z) for z in _POLES[order])
    for z in _POLES[order]:
        one, feedback = np.ones((1, 1), c.dtype), np.full((1, 1), z, c.dtype)
        c = xp.where(k == 0, _first(c, z, k, n, mode), c)
        c = ex.lfilter(c, one, feedback)
        c = xp.where(k == n - 1, _last(c, z, k, n, mode), -z * c)
        c = xp.flip(ex.lfilter(xp.flip(c, -1), one, feedback), -1)
    is_line = mv.broadcast_to(cr.size_value(sizes(lines)[-1]), ()) > 1
    return ext.back(as_traced(xp.where(is_line, c, lines)), [axis])


def spline_filter1d(input: Any, order: Any = 3, axis: Any = -1, output: Any = np.float64, mode: Any = "mirror") -> Any:
    """Return the coefficients of the spline through the elements of an image along an axis."""
    if not is_traced(input):
        return scipy_ndimage.spline_filter1d(input, order, axis, output, mode)
    name = "spline_filter1d"
    degree, dtype = _order(name, order), ext.output_dtype(name, input, output)
    x = ext.image(name, input)
    how = _SPLINES.get(choice_of(name, "mode", mode, _MODES), "mirror")
    return ew.convert(x if degree < 2 else _prefiltered(x, degree, axis_of(axis, x.ndim, name), how), dtype)


def spline_filter(input: Any, order: Any = 3, output: Any = np.float64, mode: Any = "mirror") -> Any:
    """Return the coefficients of the spline through the elements of an image."""
    if not is_traced(input):
        return scipy_ndimage.spline_filter(input, order, output, mode)
    degree, x = _order("spline_filter", order, 2), as_traced(input)
    for axis in range(x.ndim):
        x = spline_filter1d(x, degree, axis, output, mode)
    return x


# -- values between elements -------------------------------------------------------------------------------------


def _weights(t: Any, order: int) -> Any:
    """Return the weights of order + 1 coefficients for a coordinate `t` in [0, 1), along a new last axis.

    They are uniform B-splines, by the recurrence of Cox and de Boor.
    """
    weights = [xp.ones_like(t)]
    for q in range(1, order + 1):
        less, more = [0.0, *weights], [*weights, 0.0]
        weights = [((t + (q - j)) * less[j] + (j + 1 - t) * more[j]) / q for j in range(q + 1)]
    return xp.stack(weights, axis=-1)


def _mirrored(c: Any, n: Any) -> tuple[Any, Any]:
    period = xp.maximum(2 * n - 2, 1)
    below, above = c + period * xp.trunc(-c / period), c - period * xp.trunc(c / period)
    return xp.where(below <= 1 - n, below + period, -below), xp.where(above >= n, period - above, above)


def _reflected(c: Any, n: Any) -> tuple[Any, Any]:
    period = xp.maximum(2 * n, 1)
    below, above = c + period * xp.trunc(-c / period), c - period * xp.trunc(c / period)
    return xp.where(below < -n, below + period, -below - 1), xp.where(above >= n, period - above - 1, above)


def _wrapped(c: Any, n: Any) -> tuple[Any, Any]:
    span = xp.maximum(n - 1, 1)
    return c + span * (xp.trunc(-c / span) + 1), c - span * xp.trunc(c / span)


def _wrapped_grid(c: Any, n: Any) -> tuple[Any, Any]:
    span = xp.maximum(n, 1)
    return c + span * (xp.trunc((-1 - c) / span) + 1), c - span * xp.trunc(c / span)


# by mode: coordinates inside for ones before the start of an axis of size n, and for ones after its end
_TURNS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "mirror": _mirrored,
    "reflect": _reflected,
    "grid-mirror": _reflected,
    "wrap": _wrapped,
    "grid-wrap": _wrapped_grid,
}


class _Image:
    """Coefficients of images, with what their mode means for coordinates and for elements beyond the ends.

    They have one axis for all images, which are in the `spatial` last axes of the input, by default in all.
    """

    def __init__(
        self, name: str, input: Any, order: Any, mode: Any, cval: Any, prefilter: Any, spatial: int | None = None
    ) -> None:
        self.order, self.cval = _order(name, order), cval
        self.mode = choice_of(name, "mode", mode, _MODES)
        self.spline = _SPLINES.get(self.mode, "mirror")
        x, self.margin = ext.image(name, input), 0
        self.rank = x.ndim if spatial is None else spatial
        shape = sizes(x)
        outer = x.ndim - self.rank
        x = mv.reshape(x, (math.prod(shape[:outer], start=1), *shape[outer:]))
        if prefilter and self.order > 1:
            if self.mode in ("nearest", "grid-constant"):
                self.margin = _MARGIN
                if self.mode == "nearest":
                    require_elements(name, x)
                kind = "nearest" if self.mode == "nearest" else "constant"
                for axis in range(1, x.ndim):
                    x = ext.extended(x, axis, _MARGIN, _MARGIN, kind, cval)
            for axis in range(1, x.ndim):
                x = _prefiltered(x, self.order, axis, self.spline)
        self.coefficients = x

    def _mapped(self, c: Any, n: Any) -> tuple[Any, Any]:
        """Return coordinates along an axis of size n as ones inside, and which were outside of a constant."""
        if self.mode == "constant":
            outside = (c < 0) | (c > n - 1)
            return xp.where(outside, 0.0, c), outside
        if self.mode in ("nearest", "grid-constant"):  # whose elements beyond the ends are read
            return c, None
        before, after = _TURNS[self.mode](c, n)
        return xp.where(c < 0, before, xp.where(c > n - 1, after, c)) * xp.minimum(xp.maximum(n - 1, 0), 1), None

    def at(self, coordinates: Sequence[Any]) -> Any:
        """Return the values of each image at coordinates, an array for each axis."""
        c = self.coefficients
        position, outside, missing, weights = 0, None, None, []
        for axis, (at, n) in enumerate(zip(coordinates, c.shape[1:], strict=True)):
            mapped, out = self._mapped(at + self.margin, n)
            outside = _either(outside, out)
            base = xp.floor(mapped if self.order % 2 else mapped + 0.5)
            taps = base.astype(int)[..., None] + np.arange(-(self.order // 2), self.order - self.order // 2 + 1)
            shape = (*[1] * axis, self.order + 1, *[1] * (self.rank - axis - 1))
            taps = xp.reshape(taps, (*at.shape, *shape))
            if self.mode == "grid-constant":
                missing = _either(missing, (taps < 0) | (taps >= n))
            position = position * n + ext.inside(taps, n, "nearest" if self.mode == "nearest" else self.spline)
            weights.append(_weights(mapped - base if self.order % 2 else mapped + 0.5 - base, self.order))
        flat = mv.reshape(c, (sizes(c)[0], math.prod(sizes(c)[1:], start=1)))
        values = ix.take(flat, as_traced(position), 1)
        values = values if missing is None else xp.where(missing, self.cval, values)
        for weight in reversed(weights):
            inner = (1,) * (values.ndim - 1 - weight.ndim)
            values = (values * xp.reshape(weight, (*weight.shape[:-1], *inner, weight.shape[-1]))).sum(axis=-1)
        return values if outside is None else xp.where(outside, self.cval, values)


def _either(a: Any, b: Any) -> Any:
    """Return where one of two masks is true; None is false everywhere."""
    return b if a is None else a if b is None else a | b


def _as_output(values: Any, dtype: np.dtype) -> Any:
    """Return interpolated values in a dtype; integers are rounded away from zero at halves."""
    values = as_traced(values)
    if dtype.kind == "u":
        values = as_traced(xp.clip(xp.trunc(values + 0.5), 0, float(np.iinfo(dtype).max)))
    elif dtype.kind == "i":
        values = as_traced(xp.trunc(values + xp.where(values > 0, 0.5, -0.5)))
    return ext.in_dtype(values, dtype)


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image at coordinates, whose first axis has one row for each axis of the image.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import ndimage
    >>> line = np.array([0.0, 1.0, 4.0, 9.0, 16.0])
    >>> f = lambda at: ndimage.map_coordinates(line, at, order=1).sum()
    >>> print(grad(f)(np.array([[0.5, 2.25]])))
    [[1. 5.]]
    """
    if not is_traced(input, coordinates, cval):
        return scipy_ndimage.map_coordinates(input, coordinates, output, order, mode, cval, prefilter)
    name = "map_coordinates"
    dtype = ext.output_dtype(name, input, output)
    picture = _Image(name, input, order, mode, cval, prefilter)
    at = as_traced(coordinates, np.result_type(result_type(coordinates), float))
    ctx, rank = context_of(name, at), picture.rank
    if not at.ndim:
        raise ctx.fail("the coordinates are a scalar", "give one row for each axis of the image")
    ctx.require_equal(sizes(at)[0], rank, f"there are {sizes(at)[0]} rows of coordinates for {rank} axes")
    return _as_output(picture.at([at[i] for i in range(rank)])[0], dtype)


# -- transforms of whole images ----------------------------------------------------------------------------------


def _grid(shape: Sequence[Any]) -> list[Any]:
    """Return the positions along each axis, in the shape of an image."""
    rank = len(shape)
    return [
        xp.reshape(xp.arange(n) * 1.0, [-1 if i == axis else 1 for i in range(rank)]) for axis, n in enumerate(shape)
    ]


def _resampled(picture: _Image, coordinates: Sequence[Any], shape: Sequence[Any], dtype: np.dtype) -> Any:
    """Return an image of a shape, from the coordinates of its elements."""
    full = [xp.broadcast_to(c, tuple(shape)) for c in coordinates]
    return _as_output(picture.at(full)[0], dtype)


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return the image whose element o is the input at `matrix @ o + offset`.

    `matrix` is a matrix, its diagonal, or one in homogeneous coordinates, whose last row is not read.
    """
    if not is_traced(input, matrix, offset, cval, output_shape):
        options = {"output": output, "order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
        return scipy_ndimage.affine_transform(input, matrix, offset, output_shape, **options)
    name = "affine_transform"
    dtype = ext.output_dtype(name, input, output)
    picture, shape = _Image(name, input, order, mode, cval, prefilter), np.shape(input)
    rank = len(shape)
    rows, by = as_traced(matrix, np.dtype(float)), offset
    if rows.ndim not in (1, 2):
        raise context_of(name, rows).fail(f"the matrix has {rows.ndim} axes", "give a matrix or its diagonal")
    if rows.ndim == 2 and rows.shape[1] == rank + 1:
        rows, by = rows[:rank, :rank], rows[:rank, rank]
    context_of(name, rows).require_equal(sizes(rows)[0], rank, f"the matrix has {sizes(rows)[0]} rows for {rank} axes")
    offsets = ext.for_each(name, "offset", by, rank)
    target = tuple(shape if output_shape is None else output_shape)
    grid = _grid(target)
    if rows.ndim == 1:
        coordinates = [(grid[i] + offsets[i] / rows[i]) * rows[i] for i in range(rank)]
    else:
        coordinates = [
            sum((rows[i, j] * grid[j] for j in range(len(target))), start=offsets[i] + 0.0) for i in range(rank)
        ]
    return _resampled(picture, coordinates, target, dtype)


def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image moved by so many elements along each axis, or the same along all."""
    if not is_traced(input, shift, cval):
        return scipy_ndimage.shift(input, shift, output, order, mode, cval, prefilter)
    dtype = ext.output_dtype("shift", input, output)
    picture, shape = _Image("shift", input, order, mode, cval, prefilter), np.shape(input)
    by = ext.for_each("shift", "shift", shift, len(shape))
    return _resampled(picture, [g - s for g, s in zip(_grid(shape), by, strict=True)], shape, dtype)


def _as_size(count: Any, name: str) -> Any:
    """Return a number of the program as a size, which is known in a run."""
    return cr.iota(shape_of(count.astype(int), name)[0]).shape[0]


def _zoomed(n: Any, factor: Any) -> Any:
    """Return the size of an axis that is zoomed: symbolic for whole factors, else one that is known in a run."""
    if has_type(factor, int) or float(factor).is_integer():
        return n * int(factor)
    return round(n * factor) if has_type(n, int) else _as_size(xp.rint(xp.asarray(n) * factor), "zoom")


def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
    *,
    grid_mode: Any = False,
) -> Any:
    """Return an image with `zoom` times as many elements along each axis; factors are numbers."""
    if not is_traced(input, zoom, cval):
        options = {"prefilter": prefilter, "grid_mode": grid_mode}
        return scipy_ndimage.zoom(input, zoom, output, order, mode, cval, **options)
    if is_traced(zoom):
        raise ArgumentError("zoom", "zoom", "is traced, and so would be the size of the result", "give numbers")
    dtype, shape = ext.output_dtype("zoom", input, output), np.shape(input)
    factors = ext.for_each("zoom", "zoom", zoom, len(shape))
    if prefilter and all(z == 1 for z in factors):
        return ew.convert(as_traced(input), dtype)
    picture = _Image("zoom", input, order, mode, cval, prefilter)
    target = tuple([_zoomed(n, z) for n, z in zip(shape, factors, strict=True)])
    coordinates = []
    for n, m, g in zip(shape, target, _grid(target), strict=True):
        less = 0 if grid_mode else 1
        ratio = xp.where(m == less, 1.0, (n - less) / xp.maximum(m - less, 1))
        coordinates.append((g + 0.5) * ratio - 0.5 if grid_mode else g * ratio)
    return _resampled(picture, coordinates, target, dtype)


def _rotation(angle: Any) -> tuple[Any, Any]:
    """Return cosine and sine of an angle in degrees, exact for right angles that are numbers."""
    if is_traced(angle):
        return xp.cos(angle * (math.pi / 180)), xp.sin(angle * (math.pi / 180))
    return float(scipy_special.cosdg(angle)), float(scipy_special.sindg(angle))


def _turned_size(rows: Sequence[Any], n: Any, m: Any) -> Any:
    """Return the size of an axis of an image of n by m that is turned, as it is known in a run."""
    corners = [0.0, rows[1] * m, rows[0] * n, rows[0] * n + rows[1] * m]
    span = max(corners) - min(corners) if all(has_type(c, float) for c in corners) else None
    if span is not None:
        return int(span + 0.5)
    traced = xp.stack([xp.asarray(c) * 1.0 for c in corners])
    return _as_size(xp.trunc(traced.max() - traced.min() + 0.5), "rotate")


def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: Any = True,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image turned by an angle in degrees in the plane of two axes.

    With `reshape` the result holds the whole image, and its sizes are run-time sizes.
    """
    if not is_traced(input, angle, cval):
        return scipy_ndimage.rotate(input, angle, axes, reshape, output, order, mode, cval, prefilter)
    rank = np.ndim(input)
    if len(axes) != 2 or rank < 2:
        raise ArgumentError("rotate", f"axes={axes!r}", "are not two axes of the image", "name two")
    first, second = sorted(axis_of(axis, rank, "rotate") for axis in axes)
    c, s = _rotation(angle)
    shape = list(np.shape(input))
    n, m = shape[first], shape[second]
    if reshape:
        shape[first], shape[second] = _turned_size((c, s), n, m), _turned_size((-s, c), n, m)
    dtype = ext.output_dtype("rotate", input, output)
    images = mv.move_axes(as_traced(input), (first, second), (rank - 2, rank - 1))
    picture = _Image("rotate", images, order, mode, cval, prefilter, spatial=2)
    centre = [(shape[first] - 1) / 2, (shape[second] - 1) / 2]
    rows = [(c, s), (-s, c)]
    offsets = [(k - 1) / 2 - (a * centre[0] + b * centre[1]) for k, (a, b) in zip((n, m), rows, strict=True)]
    target = (shape[first], shape[second])
    down, across = _grid(target)
    coordinates = [xp.broadcast_to(o + a * down + b * across, target) for o, (a, b) in zip(offsets, rows, strict=True)]
    turned = _as_output(picture.at(coordinates), dtype)
    turned = mv.reshape(turned, (*sizes(images)[:-2], *sizes(turned)[1:]))
    return mv.move_axes(turned, (rank - 2, rank - 1), (first, second))
