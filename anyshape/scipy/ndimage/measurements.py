"""Define measures of labelled parts of images, filters of Fourier transforms, and combinations of derivatives.

Parts are the elements with a label. `index` is a label or an array of labels. Without it all labels above 0 are one.

Define positions of extremes, medians and histograms of labelled parts, and transforms by coordinates of the user.
"""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import as_traced, axes_of, axis_of, sizes, static_int
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage import filtering as ext
from anyshape.scipy.ndimage.interpolation import map_coordinates
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_ndimage
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.vmap import vmap


def parts_of(input: Any, labels: Any, index: Any) -> tuple[Any, Any, Any]:
    """Return the elements as a vector, a row for each part that says which ones it has, and the shape of results."""
    x = xp.asarray(input)
    flat = xp.ravel(x)
    if labels is None:
        return flat, xp.ones((1, flat.shape[0]), bool), ()
    label = xp.ravel(xp.broadcast_to(labels, x.shape))
    if index is None:
        return flat, (label > 0)[None, :], ()
    wanted = xp.asarray(index)
    if wanted.ndim:  # of a label alone, and of all that are above 0, there may be no element
        context_of("ndimage", flat).require(at_least(sizes(flat)[0], 1), "the image has an element")
    return flat, xp.ravel(wanted)[:, None] == label, wanted.shape


def _totals(x, inside):
    return xp.sum(xp.where(inside, x, xp.zeros((), x.dtype)), axis=-1)


def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the sums of the elements of parts, as floats for an index."""
    x, inside, shape = parts_of(input, labels, index)
    x = x if labels is None or index is None else x.astype(np.result_type(x.dtype, np.float64))
    return xp.reshape(_totals(x, inside), shape)


def sum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return what `sum_labels` does, under its older name."""
    return sum_labels(input, labels, index)


def _mean(x, inside):
    return _totals(x, inside) / xp.sum(inside, axis=-1)


def _variance(x, inside):
    deviation = x - _mean(x, inside)[:, None]
    return _mean(deviation * (xp.conj(deviation) if x.dtype.kind == "c" else deviation), inside)


def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the means of the elements of parts; NaN for a part without any."""
    x, inside, shape = parts_of(input, labels, index)
    return xp.reshape(_mean(x.astype(np.result_type(x.dtype, np.float64)), inside), shape)


def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the variances of the elements of parts."""
    x, inside, shape = parts_of(input, labels, index)
    return xp.reshape(_variance(x.astype(np.result_type(x.dtype, np.float64)), inside), shape)


def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the standard deviations of the elements of parts."""
    squares = as_traced(variance(input, labels, index))
    return ew.length(squares) if squares.dtype.kind == "f" else xp.sqrt(squares)


def beyond(dtype: np.dtype, sign: int) -> Any:
    """Return a number that no element is greater than, or for the sign -1 less than."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
    infinite = sign * np.inf
    return sign > 0 if dtype.kind == "b" else complex(infinite, infinite) if dtype.kind == "c" else infinite


def _extreme(input, labels, index, sign: int):
    """Return the least or for the sign -1 the greatest element of parts; 0 for a label that no element has."""
    x, inside, shape = parts_of(input, labels, index)
    context_of("ndimage", x).require(at_least(sizes(x)[0], 1), "the image has an element")
    if labels is not None and not shape:
        check(xp.any(inside), "ndimage: no element has a label")
    last = beyond(x.dtype, sign)
    reduce = xp.min if sign > 0 else xp.max
    value = reduce(xp.where(inside, x, xp.asarray(last, x.dtype)), axis=-1, initial=last)
    return xp.reshape(xp.where(xp.any(inside, axis=-1), value, xp.zeros((), x.dtype)), shape)


def minimum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the least elements of parts."""
    return _extreme(input, labels, index, 1)


def maximum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the greatest elements of parts."""
    return _extreme(input, labels, index, -1)


def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the means of positions weighted by the elements of parts: a tuple, or a list for several labels."""
    x = floats(input)
    grids = xp.meshgrid(*[xp.arange(n) for n in x.shape], indexing="ij")
    weight, inside, shape = parts_of(x, labels, index)
    total = _totals(weight, inside)
    middles = [_totals(weight * xp.ravel(grid), inside) / total for grid in grids]
    if not shape:
        return tuple(m[0] for m in middles)
    rows = xp.stack([xp.reshape(m, shape) for m in middles]).T
    count, width = (static_int(size, "center_of_mass", "the number of labels") for size in rows.shape[:2])
    return [tuple([rows[i, k] for k in range(width)]) for i in range(count)]


# -- filters of Fourier transforms


def _filtered(name: str, input, values, n, axis, output, factor: Callable[..., Any]):
    """Return a transform times `factor(frequencies, value)` along each axis; n is the length of a real signal."""
    x = xp.asarray(input)
    is_shift = name == "fourier_shift"
    kind = np.complex128 if x.dtype.kind == "c" or is_shift else np.float64
    single = x.dtype in (np.float32, np.complex64)
    dtype = np.dtype(kind) if not single else np.dtype(np.complex64 if kind is np.complex128 else np.float32)
    dtype = dtype if output is None else np.dtype(output)
    along = axis_of(axis, x.ndim, name)
    for k, value in enumerate(ext.for_each(name, "the parameter", values, x.ndim)):
        count = x.shape[k]
        if k == along and n >= 0:
            frequencies: Any = xp.arange(count) / static_int(n, name, "n")
        else:
            frequencies = xp.fft.fftfreq(xp.maximum(count, 1))[:count]
        x = x * xp.reshape(factor(frequencies, value), (-1, *[1] * (x.ndim - 1 - k)))
    return x.astype(dtype)


def fourier_gaussian(input: Any, sigma: Any, n: Any = -1, axis: Any = -1, output: Any = None) -> Any:
    """Return a Fourier transform times the one of a Gaussian of deviation sigma, for each axis or all."""
    factor = lambda f, s: xp.exp(-0.5 * (2 * pi * f * s) ** 2)
    return _filtered("fourier_gaussian", input, sigma, n, axis, output, factor)


def fourier_uniform(input: Any, size: Any, n: Any = -1, axis: Any = -1, output: Any = None) -> Any:
    """Return a Fourier transform times the one of a box of this size, for each axis or all."""
    return _filtered("fourier_uniform", input, size, n, axis, output, lambda f, s: xp.sinc(f * s))


def fourier_shift(input: Any, shift: Any, n: Any = -1, axis: Any = -1, output: Any = None) -> Any:
    """Return the Fourier transform of an image that is shifted by so many elements, complex."""
    return _filtered("fourier_shift", input, shift, n, axis, output, lambda f, s: xp.exp(-2j * pi * f * s))


# -- combinations of derivatives that the user gives


def _along_axes(name: str, input, derivative, output, mode, cval, further, axes):
    """Return the derivatives that a function gives along each axis."""
    arguments, keywords = further
    dtype, x = ext.output_dtype(name, input, output), as_traced(input)
    along = axes_of(axes, x.ndim, name)
    modes = ext.for_each(name, "mode", mode, len(along))
    keywords = {} if keywords is None else keywords
    return dtype, [
        xp.asarray(derivative(x, k, dtype, m, cval, *arguments, **keywords)) for k, m in zip(along, modes, strict=True)
    ]


@signed_as_in(scipy_ndimage)
def generic_laplace(input, derivative2, output, mode, cval, extra_arguments, extra_keywords, axes) -> Any:
    """Return the sum of what `derivative2(input, axis, output, mode, cval)` gives along each axis."""
    further = extra_arguments, extra_keywords
    dtype, parts = _along_axes("generic_laplace", input, derivative2, output, mode, cval, further, axes)
    return ew.convert(as_traced(xp.sum(xp.stack(parts), axis=0)), dtype)


@signed_as_in(scipy_ndimage)
def generic_gradient_magnitude(input, derivative, output, mode, cval, extra_arguments, extra_keywords, axes) -> Any:
    """Return the length of what `derivative(input, axis, output, mode, cval)` gives along each axis."""
    further = extra_arguments, extra_keywords
    dtype, parts = _along_axes("generic_gradient_magnitude", input, derivative, output, mode, cval, further, axes)
    return ew.convert(as_traced(xp.sqrt(xp.sum(xp.stack(parts) ** 2, axis=0))), dtype)


# -- step functions of binary images, by SciPy at run time


def label(input: Any, structure: Any = None, output: Any = None) -> tuple[Any, Any]:
    """Return labels of the connected parts of an image, and their number; derivatives are 0."""
    if output is not None:
        raise ArgumentError("label", "output", "is not available for traced arrays", "leave it out")
    x = stop_gradient(xp.asarray(input))

    def run(x):
        labels, count = scipy_ndimage.label(x, structure)
        return labels.astype(np.int32), np.int64(count)

    return pure_callback(run, (ShapeDtypeStruct(x.shape, np.int32), ShapeDtypeStruct((), np.int64)), x)


def distance_transform_edt(
    input: Any, sampling: Any = None, return_distances: bool = True, return_indices: bool = False, **arrays: Any
) -> Any:
    """Return the distance of each element from the nearest one that is 0; a step function, with derivatives 0."""
    if return_indices or not return_distances or arrays:
        raise ArgumentError("distance_transform_edt", "an option", "is not available for traced arrays", "leave it out")
    x = stop_gradient(xp.asarray(input))
    run = lambda x: scipy_ndimage.distance_transform_edt(x, sampling)
    return pure_callback(run, ShapeDtypeStruct(x.shape, np.float64), x)


def _checked_parts(name: str, input, labels, index) -> tuple[Any, Any, Any]:
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
    if labels is None:
        return xp.median(input)
    x, inside, shape = parts_of(input, labels, index)
    if shape:
        check(xp.any(inside, axis=-1), "median: no element has the label")
    x = floats(x)
    rows = xp.sort(xp.where(inside, x, xp.asarray(np.inf, x.dtype)), axis=-1)
    count = xp.sum(inside, axis=-1)
    rows = xp.concatenate([rows, xp.zeros((rows.shape[0], 1), rows.dtype)], axis=-1)
    low, high = (
        xp.take_along_axis(rows, at[:, None], axis=-1)[:, 0] for at in (xp.maximum(count - 1, 0) // 2, count // 2)
    )
    middle = xp.where(count == 0, xp.asarray(np.nan, rows.dtype), (low + high) / 2.0)
    return xp.reshape(middle, shape).astype(x.dtype)


def _positions(name: str, input, labels, index, sign: int):
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

    def coordinates(*position):
        at = mapping(position, *extra_arguments, **(extra_keywords or {}))
        return xp.stack([xp.asarray(value).astype(np.float64) for value in at])

    at = vmap(coordinates)(*positions)
    return map_coordinates(x, xp.reshape(at.T, (x.ndim, *shape)), output, order, mode, cval, prefilter)


def _step_function(name: str, kind) -> Callable[..., Any]:
    """Return a function of an image whose derivatives are 0, which SciPy evaluates at run time."""

    def function(input, metric=None, **options):
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
