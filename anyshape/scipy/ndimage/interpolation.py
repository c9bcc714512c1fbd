"""Define the interpolations of `scipy.ndimage` by splines of order 0 to 5, and their prefilter.

The prefilter and the values are SciPy's own. Derivatives with respect to the image and to coordinates are exact, and
for order 0 the ones with respect to coordinates are 0.
"""

import math
from collections.abc import Sequence
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
    size_of,
    sizes,
    static_int,
)
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage import filtering as ext
from anyshape.scipy.operands.conversion import require_elements
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_ndimage, scipy_special
from anyshape.support.true_types import has_type

_MODES = {**{mode: mode for mode in ex.SPLINES}, "grid-mirror": "reflect"}
_MARGIN = 12  # elements put around an image whose spline does not repeat at its ends


def _order(name: str, order, least: int = 0) -> int:
    """Return the order of a spline."""
    degree = static_int(order, name, "the order")
    if not least <= degree <= 5:
        raise ArgumentError(name, f"order={order!r}", "has no spline here", f"let it be from {least} to 5")
    return degree


def _prefiltered(x, order: int, axis: int, mode: str):
    """Return coefficients of the spline through the elements along an axis."""
    ends = {"reflect": "reflect", "nearest": "reflect", "grid-wrap": "grid-wrap"}
    return ex.spline_filter(x, axis, order, ends.get(mode, "mirror"))


def spline_filter1d(input: Any, order: Any = 3, axis: Any = -1, output: Any = np.float64, mode: Any = "mirror") -> Any:
    """Return the coefficients of the spline through the elements of an image along an axis."""
    name = "spline_filter1d"
    degree, dtype = _order(name, order), ext.output_dtype(name, input, output)
    x = ext.image(name, input)
    how = _MODES[choice_of(name, "mode", mode, tuple(_MODES))]
    return ew.convert(x if degree < 2 else _prefiltered(x, degree, axis_of(axis, x.ndim, name), how), dtype)


def spline_filter(input: Any, order: Any = 3, output: Any = np.float64, mode: Any = "mirror") -> Any:
    """Return the coefficients of the spline through the elements of an image."""
    degree, x = _order("spline_filter", order, 2), as_traced(input)
    for axis in range(x.ndim):
        x = spline_filter1d(x, degree, axis, output, mode)
    return x


# -- values between elements -------------------------------------------------------------------------------------


class _Image:
    """Coefficients of splines of an image, or of all images that are in the last `spatial` axes of the input."""

    def __init__(self, name: str, input, order, mode, cval, prefilter, spatial: int | None = None) -> None:
        self.order, self.cval = _order(name, order), cval
        self.mode = _MODES[choice_of(name, "mode", mode, tuple(_MODES))]
        x, self.margin = ext.image(name, input), 0
        self.rank = x.ndim if spatial is None else spatial
        outer = x.ndim - self.rank
        self.each = outer > 0
        shape = sizes(x)
        if self.each:
            x = mv.reshape(x, (math.prod(shape[:outer], start=1), *shape[outer:]))
        if prefilter and self.order > 1:
            if self.mode in ("nearest", "grid-constant"):
                self.margin = _MARGIN
                if self.mode == "nearest":
                    require_elements(name, x)
                kind = "nearest" if self.mode == "nearest" else "constant"
                for axis in range(self.each, x.ndim):
                    x = ext.extended(x, axis, _MARGIN, _MARGIN, kind, cval)
            for axis in range(self.each, x.ndim):
                x = _prefiltered(x, self.order, axis, self.mode)
        self.coefficients = x

    def at(self, form: str, coordinates: Any, shape: Sequence[Any], dtype: np.dtype) -> Any:
        """Return values in a shape and dtype at coordinates of a form; see `ops.external.interpolate`."""
        x, p = self.coefficients, as_traced(coordinates, np.dtype(float))
        if self.margin:
            form = form if form in ("points", "matrix") else "diagonal"
            row = np.zeros(p.shape[-1] if form == "matrix" else 2)
            row[-1] = self.margin
            p = p + (self.margin if form == "points" else row if form == "matrix" else row[:, None])
        if self.each:
            p = mv.broadcast_in_dim(as_traced(p), (sizes(x)[0], *sizes(p)), range(1, p.ndim + 1))
        options = {"form": form, "order": self.order, "mode": self.mode, "slopes": (0,) * self.rank, "each": self.each}
        result = tuple([size_of(k) for k in shape])
        run = lambda x, fill: ex.interpolate(x, as_traced(p), result, fill=fill, **options)
        if is_traced(self.cval):
            values = run(x, 0.0) + self.cval * run(as_traced(xp.zeros_like(x)), 1.0)
        else:
            values = run(x, self.cval if x.dtype.kind == "c" else float(np.real(self.cval)))
        if dtype.kind in "iu":  # which are rounded away from zero at halves, and end at their bounds
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            most -= most >> 53 if dtype.kind == "i" else 0  # a float64; uint64 is 0 above, as in SciPy
            values = xp.clip(xp.trunc(values + xp.where(values > 0, 0.5, -0.5)), float(least), float(most))
        return ext.in_dtype(as_traced(values), dtype)


@signed_as_in(scipy_ndimage)
def map_coordinates(input, coordinates, output, order, mode, cval, prefilter) -> Any:
    """Return an image at coordinates, whose first axis has one row for each axis of the image.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import ndimage
    >>> line = np.array([0.0, 1.0, 4.0, 9.0, 16.0])
    >>> f = lambda at: ndimage.map_coordinates(line, at, order=1).sum()
    >>> print(grad(f)(np.array([[0.5, 2.25]])))
    [[1. 5.]]
    """
    name = "map_coordinates"
    dtype = ext.output_dtype(name, input, output)
    picture = _Image(name, input, order, mode, cval, prefilter)
    at = as_traced(coordinates, np.result_type(result_type(coordinates), float))
    ctx, rank = context_of(name, at), picture.rank
    if not at.ndim:
        raise ctx.fail("the coordinates are a scalar", "give one row for each axis of the image")
    ctx.require_equal(sizes(at)[0], rank, f"there are {sizes(at)[0]} rows of coordinates for {rank} axes")
    return picture.at("points", at, at.shape[1:], dtype)


# -- transforms of whole images ----------------------------------------------------------------------------------


@signed_as_in(scipy_ndimage)
def affine_transform(input, matrix, offset, output_shape, output, order, mode, cval, prefilter) -> Any:
    """Return the image whose element o is the input at `matrix @ o + offset`.

    `matrix` is a matrix, its diagonal, or one in homogeneous coordinates, whose last row is not read.
    """
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
    if rows.ndim == 1:
        return picture.at("diagonal", xp.stack([rows, xp.stack([xp.asarray(o) for o in offsets])]), target, dtype)
    columns = xp.stack([xp.asarray(o) + 0.0 for o in offsets])[:, None]
    return picture.at("matrix", xp.concatenate([rows, columns], axis=1), target, dtype)


@signed_as_in(scipy_ndimage)
def shift(input, shift, output, order, mode, cval, prefilter) -> Any:
    """Return an image moved by so many elements along each axis, or the same along all."""
    dtype = ext.output_dtype("shift", input, output)
    picture, shape = _Image("shift", input, order, mode, cval, prefilter), np.shape(input)
    by = ext.for_each("shift", "shift", shift, len(shape))
    return picture.at("shift", xp.stack([xp.ones(len(by)), -xp.stack([xp.asarray(s) for s in by])]), shape, dtype)


def _as_size(count, name: str):
    """Return a number of the program as a size, which is known in a run."""
    return cr.iota(shape_of(count.astype(int), name)[0]).shape[0]


def _zoomed(n, factor):
    """Return the size of an axis that is zoomed: symbolic for whole factors, else one that is known in a run."""
    if has_type(factor, int) or float(factor).is_integer():
        return n * int(factor)
    return round(n * factor) if has_type(n, int) else _as_size(xp.rint(xp.asarray(n) * factor), "zoom")


@signed_as_in(scipy_ndimage)
def zoom(input, zoom, output, order, mode, cval, prefilter, grid_mode) -> Any:
    """Return an image with `zoom` times as many elements along each axis; factors are numbers."""
    if is_traced(zoom):
        raise ArgumentError("zoom", "zoom", "is traced, and so would be the size of the result", "give numbers")
    dtype, shape = ext.output_dtype("zoom", input, output), np.shape(input)
    factors = ext.for_each("zoom", "zoom", zoom, len(shape))
    if prefilter and all(z == 1 for z in factors):
        return ew.convert(as_traced(input), dtype)
    picture = _Image("zoom", input, order, mode, cval, prefilter)
    target = tuple([_zoomed(n, z) for n, z in zip(shape, factors, strict=True)])
    less, scales = 0 if grid_mode else 1, []
    for n, m in zip(shape, target, strict=True):
        scales.append(xp.where(m == less, 1.0, (n - less) / xp.maximum(m - less, 1)))
    scale = xp.stack(scales)
    form, offset = ("grid", 0.5 * scale - 0.5) if grid_mode else ("zoom", 0 * scale)
    return picture.at(form, xp.stack([scale, offset]), target, dtype)


def _rotation(angle) -> tuple[Any, Any]:
    """Return cosine and sine of an angle in degrees, exact for right angles that are numbers."""
    if is_traced(angle):
        return xp.cos(angle * (math.pi / 180)), xp.sin(angle * (math.pi / 180))
    return float(scipy_special.cosdg(angle)), float(scipy_special.sindg(angle))


def _turned_size(rows: Sequence[Any], n, m):
    """Return the size of an axis of an image of n by m that is turned, as it is known in a run."""
    corners = [0.0, rows[1] * m, rows[0] * n, rows[0] * n + rows[1] * m]
    span = max(corners) - min(corners) if all(has_type(c, float) for c in corners) else None
    if span is not None:
        return int(span + 0.5)
    traced = xp.stack([xp.asarray(c) * 1.0 for c in corners])
    return _as_size(xp.trunc(traced.max() - traced.min() + 0.5), "rotate")


@signed_as_in(scipy_ndimage)
def rotate(input, angle, axes, reshape, output, order, mode, cval, prefilter) -> Any:
    """Return an image turned by an angle in degrees in the plane of two axes.

    With `reshape` the result holds the whole image, and its sizes are run-time sizes.
    """
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
    matrix = xp.stack([xp.stack([xp.asarray(v) for v in (*row, o)]) for row, o in zip(rows, offsets, strict=True)])
    turned = as_traced(picture.at("matrix", matrix, (shape[first], shape[second]), dtype))
    turned = mv.reshape(turned, (*sizes(images)[:-2], *sizes(turned)[-2:]))
    return mv.move_axes(turned, (rank - 2, rank - 1), (first, second))
