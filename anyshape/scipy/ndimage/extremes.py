"""Define positions of extremes, medians and histograms of labelled parts, and transforms by coordinates of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage.interpolation import map_coordinates
from anyshape.scipy.ndimage.measurements import beyond, maximum, minimum, parts_of
from anyshape.support.packages import scipy_ndimage
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.vmap import vmap


def _checked_parts(name: str, input: Any, labels: Any, index: Any) -> tuple[Any, Any, Any]:
    """Return what `parts_of` does, of an image with elements whose parts have some."""
    x, inside, shape = parts_of(input, labels, index)
    context_of(name, x).require(at_least(sizes(x)[0], 1), "the image has an element")
    if labels is not None:
        check(xp.any(inside, axis=-1), f"{name}: no element has the label")
    return x, inside, shape


def median(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the medians of the elements of parts; a label that no element has is a CheckError of the run.

    Without elements, the median of all, and of a label that is not in a vector of labels, is NaN.
    """
    x, inside, shape = parts_of(input, labels, index)
    if shape:
        check(xp.any(inside, axis=-1), "median: no element has the label")
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    rows = xp.sort(xp.where(inside, x, xp.asarray(np.inf, x.dtype)), axis=-1)
    count = xp.sum(inside, axis=-1)
    rows = xp.concatenate([rows, xp.zeros((rows.shape[0], 1), rows.dtype)], axis=-1)
    low, high = (
        xp.take_along_axis(rows, at[:, None], axis=-1)[:, 0] for at in (xp.maximum(count - 1, 0) // 2, count // 2)
    )
    middle = xp.where(count == 0, xp.asarray(np.nan, rows.dtype), (low + high) / 2.0)
    return xp.reshape(middle, shape).astype(x.dtype)


def _positions(name: str, input: Any, labels: Any, index: Any, sign: int) -> Any:
    """Return the first positions of the least elements of parts, or for the sign -1 of the greatest."""
    x, inside, shape = _checked_parts(name, input, labels, index)
    key = stop_gradient(x) if sign > 0 else ~x if x.dtype.kind in "iub" else -stop_gradient(x)
    least = xp.min(xp.where(inside, key, xp.asarray(beyond(key.dtype, 1), key.dtype)), axis=-1, keepdims=True)
    first = xp.argmax(inside & (key == least), axis=-1)
    axes = xp.unravel_index(first, xp.asarray(input).shape)
    if not shape:
        return tuple([axis[0] for axis in axes])
    count = static_int(first.shape[0], name, "the number of labels")
    return [tuple([axis[i] for axis in axes]) for i in range(count)]


def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the first position of the least element of each part: a tuple, or a list of these for several labels."""
    return _positions("minimum_position", input, labels, index, 1)


def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the first position of the greatest element of each part; see `minimum_position`."""
    return _positions("maximum_position", input, labels, index, -1)


def extrema(input: Any, labels: Any = None, index: Any = None) -> tuple[Any, Any, Any, Any]:
    """Return the least and the greatest element of each part, and their positions."""
    where = input, labels, index
    return minimum(*where), maximum(*where), minimum_position(*where), maximum_position(*where)


def histogram(input: Any, min: Any, max: Any, bins: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the counts of the elements of a part in bins of equal width; `index` is one label."""
    x, inside, shape = parts_of(input, labels, index)
    if shape:
        raise ArgumentError("histogram", "index", "has several labels", "pass one, or map over them")
    edges = xp.linspace(min, max, static_int(bins, "histogram", "bins") + 1)
    return xp.histogram(x, edges, weights=inside[0].astype(np.float64))[0].astype(np.int64)


def geometric_transform(
    input: Any, mapping: Callable[..., Any], output_shape: Any = None, output: Any = None, order: Any = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True, extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Any:  # fmt: skip
    """Return an image at the coordinates that `mapping` gives for each position of the result, as in `map_coordinates`.

    `mapping(position, *extra_arguments, **extra_keywords)` is traced once. It takes and returns a number for each axis.
    """
    x = xp.asarray(input)
    shape = x.shape if output_shape is None else tuple(output_shape)
    positions = [xp.ravel(axis) for axis in xp.meshgrid(*[xp.arange(n) for n in shape], indexing="ij")]

    def coordinates(*position: Any) -> Any:
        at = mapping(position, *extra_arguments, **(extra_keywords or {}))
        return xp.stack([xp.asarray(value).astype(np.float64) for value in at])

    at = vmap(coordinates)(*positions)
    return map_coordinates(x, xp.reshape(at.T, (x.ndim, *shape)), output, order, mode, cval, prefilter)


def _step_function(name: str, kind: Any) -> Callable[..., Any]:
    """Return a function of an image whose derivatives are 0, which SciPy evaluates at run time."""

    def function(input: Any, metric: Any = None, **options: Any) -> Any:
        further = {} if metric is None else {"metric": metric}
        odd = [key for key in ("return_indices", "distances", "indices") if options.get(key)]
        if odd or options.get("return_distances") is False:
            raise ArgumentError(name, "an option", "is not available for traced arrays", "leave it out")
        x = stop_gradient(xp.asarray(input))
        run = lambda x: getattr(scipy_ndimage, name)(x, **further, **options).astype(kind)
        return pure_callback(run, ShapeDtypeStruct(x.shape, kind), x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Return the distance of each element from the nearest one that is 0; derivatives are 0."
    return function


distance_transform_bf: Callable[..., Any] = _step_function("distance_transform_bf", np.float64)
distance_transform_cdt: Callable[..., Any] = _step_function("distance_transform_cdt", np.int32)


def watershed_ift(input: Any, markers: Any, structure: Any = None, output: Any = None) -> Any:
    """Return the markers that flow over an image of unsigned integers; a step function, with derivatives 0."""
    if output is not None:
        raise ArgumentError("watershed_ift", "output", "is not available for traced arrays", "leave it out")
    x, marks = stop_gradient(xp.asarray(input)), stop_gradient(xp.asarray(markers))
    run = lambda x, marks: scipy_ndimage.watershed_ift(x, marks, structure)
    return pure_callback(run, ShapeDtypeStruct(x.shape, marks.dtype), x, marks)
