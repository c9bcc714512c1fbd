"""Define the filters of `scipy.ndimage`: correlations, Gaussians, means, extremes and differences.

Images are extended by the mode, and windows move along the extended ones. Results have the dtype of the image, after
each axis that is filtered. As in SciPy, results of integer images are cut off. Extension serves the other modules too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import (
    as_traced,
    axes_of,
    axis_of,
    choice_of,
    is_traced,
    number_dtype,
    result_type,
    size_of,
    sizes,
    static_int,
)
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_ndimage
from anyshape.support.true_types import has_type

# modes of filters by what they mean; interpolation has other constants and other wraps
_FILTER_MODES = {
    "reflect": "reflect", "grid-mirror": "reflect", "mirror": "mirror", "nearest": "nearest", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def filter_mode(name: str, mode: Any) -> str:
    """Return what a mode of a filter means."""
    return _FILTER_MODES[choice_of(name, "mode", mode, tuple(_FILTER_MODES))]


def inside(position: Any, n: Any, mode: str) -> Any:
    """Return the elements of an axis of size n that stand for positions of any sign."""
    n = xp.maximum(n, 1)
    if mode == "nearest":
        return xp.clip(position, 0, n - 1)
    if mode == "wrap":
        return xp.mod(position, n)
    period = 2 * n if mode == "reflect" else xp.maximum(2 * n - 2, 1)
    turned = xp.mod(position, period)
    return xp.where(turned < n, turned, period - turned - (1 if mode == "reflect" else 0))


def extended(x: Any, axis: int, before: Any, after: Any, mode: str, cval: Any = 0) -> Any:
    """Return x with so many elements more at both ends of an axis; one without elements has none."""
    n = x.shape[axis]
    some = xp.minimum(n, 1)
    before, after = before * some, after * some
    if mode == "constant":
        around = [(before, after) if i == axis else (0, 0) for i in range(x.ndim)]
        return xp.pad(x, around, constant_values=cval)
    return ix.take(x, as_traced(inside(xp.arange(n + before + after) - before, n, mode)), axis)


# -- arguments and results ---------------------------------------------------------------------------------------


def image(name: str, input: Any) -> Any:
    """Return an image as an array of the precision in which SciPy computes."""
    x = as_traced(input)
    if x.dtype.kind not in "fciub":
        raise ArgumentError(name, "input", f"has dtype {x.dtype}", "pass numbers")
    return ew.convert(x, np.dtype(complex if x.dtype.kind == "c" else float))


def output_dtype(name: str, input: Any, output: Any, *others: Any) -> np.dtype:
    """Return the dtype of results: that of the input, or the one of `output`, and complex where an operand is."""
    if is_traced(output) or has_type(output, np.ndarray):
        raise ArgumentError(name, "output", "is an array", "assign the result of a traced call")
    dtype = result_type(input) if output is None else number_dtype(output, name)
    is_complex = any(result_type(x).kind == "c" for x in (input, *others))
    return np.result_type(dtype, np.complex64) if is_complex else dtype


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """Return results in a dtype as C converts them: fractions are False, negative numbers wrap around in small ones."""
    if x.dtype.kind == "f" and dtype.kind in "bu" and dtype.itemsize < 8:
        x = ew.convert(x, np.dtype(np.int64))
    return ew.convert(ew.convert(x, np.dtype(np.uint8)) if dtype.kind == "b" and x.dtype.kind == "i" else x, dtype)


def for_each(name: str, option: str, values: Any, count: int) -> list[Any]:
    """Return an option with a value for each axis, or the same for all."""
    if isinstance(values, Traced) and values.ndim:
        size = sizes(values)[0]
        context_of(name, values).require_equal(size, count, f"{option} has {size} values for {count} axes")
        return list(xp.unstack(values))
    if not has_type(values, (tuple, list, np.ndarray)) or np.ndim(values) == 0:
        return [values] * count
    if len(values) != count:
        raise ArgumentError(name, f"{option}={values!r}", f"does not have {count} values", "give one for each axis")
    return list(values)


def require_inside(name: str, x: Any, origin: Any, size: Any) -> Any:
    """Return how far a window of this size reaches before its element, for an origin inside of the window."""
    before = size // 2 + origin
    if not (before >= 0 and before <= size - 1):
        advice = "let it be from -(size // 2) to (size - 1) // 2"
        raise context_of(name, x).fail(f"origin {origin} is outside of a window of {size}", advice)
    return before


def windows_of(padded: Any, shape: tuple[int, ...], counts: Any) -> Any:
    """Return the windows of these sides at so many positions of each axis of a padded array, as further axes.

    An image without elements has none, however little it was extended.
    """
    missing = [expr.maximum(expr.sub(k, n), 0) for k, n in zip(shape, sizes(padded), strict=True)]
    none = (0,) * padded.ndim
    windows = xp.lib.stride_tricks.sliding_window_view(mv.pad_unchecked(padded, none, missing, none), shape)
    return windows[tuple([slice(0, n) for n in counts])]


def correlated(x, weights, axes: Sequence[int], low: Sequence[Any], mode: str, cval, running: bool = False) -> Any:
    """Return sums of products of x and of weights that move along some axes, from `low` elements before each one."""
    starts = [size_of(before) for before in low]
    if mode != "constant" or (not is_traced(cval) and cval == 0):
        return ex.filtered(ex.correlate_op, x, weights, axes, starts, mode, running=running)
    whole = [slice(None)] * x.ndim
    for axis, before, k in zip(axes, low, weights.shape, strict=True):
        whole[axis] = slice(before, before + x.shape[axis])
        x = extended(x, axis, before, k - 1 - before, mode, cval)
    return ex.filtered(ex.correlate_op, x, weights, axes, starts, mode, running=running)[tuple(whole)]


def _common(x, weights, output: np.dtype) -> tuple[Any, Any]:
    """Return an image and weights in one dtype: that of the output if it is one of floats, as SciPy rounds to it."""
    dtype = np.result_type(x.dtype, result_type(weights), np.float32 if output.char in "fF" else float)
    dtype = output if output.char in ex.DTYPES and dtype.kind == output.kind else dtype
    return ew.convert(x, dtype), as_traced(weights, dtype)


def _conjugate(x):
    return ew.conj(x) if x.dtype.kind == "c" else x


@signed_as_in(scipy_ndimage)
def correlate1d(input, weights, axis, output, mode, cval, origin) -> Any:
    """Return sums of products of an image and a vector of weights that moves along an axis."""
    name = "correlate1d"
    dtype = output_dtype(name, input, output, weights)
    x, w = _common(as_traced(input), weights, dtype)
    if w.ndim != 1:
        raise context_of(name, w).fail(f"the weights have {w.ndim} axes and must have 1")
    along = axis_of(axis, x.ndim, name)
    before = require_inside(name, x, origin, w.shape[0])
    return in_dtype(correlated(x, _conjugate(w), [along], [before], filter_mode(name, mode), cval), dtype)


def _over_axes(name: str, input, weights, output, mode, cval, origin, axes, turned: bool):
    """Return an image correlated with weights over some axes, or convolved where they are turned."""
    dtype = output_dtype(name, input, output, weights)
    x, w = _common(as_traced(input), weights, dtype)
    along = axes_of(axes, x.ndim, name)
    if w.ndim != len(along):
        raise context_of(name, x, w).fail(f"the weights have {w.ndim} axes for {len(along)} of the image")
    origins = for_each(name, "origin", origin, len(along))
    if turned:
        w = mv.rev(w, tuple(range(w.ndim)))
        origins = [-o - (1 - k % 2) for o, k in zip(origins, w.shape, strict=True)]
    low = [require_inside(name, x, o, k) for o, k in zip(origins, w.shape, strict=True)]
    factors = w if turned else _conjugate(w)
    return in_dtype(correlated(x, factors, along, low, filter_mode(name, mode), cval), dtype)


@signed_as_in(scipy_ndimage)
def correlate(input, weights, output, mode, cval, origin, axes) -> Any:
    """Return sums of products of an image and of weights that move along its axes."""
    return _over_axes("correlate", input, weights, output, mode, cval, origin, axes, turned=False)


@signed_as_in(scipy_ndimage)
def convolve(input, weights, output, mode, cval, origin, axes) -> Any:
    """Return the convolution of an image with weights.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import ndimage
    >>> image = np.eye(3)
    >>> print(grad(lambda w: ndimage.convolve(image, w, mode="constant")[0, 0])(np.ones((3, 3))))
    [[1. 0. 0.]
     [0. 1. 0.]
     [0. 0. 0.]]
    """
    return _over_axes("convolve", input, weights, output, mode, cval, origin, axes, turned=True)


# -- Gaussians ---------------------------------------------------------------------------------------------------


def _gaussian(sigma, order: int, radius: int):
    """Return weights of a derivative of a Gaussian, for correlation."""
    lib: Any = xp if is_traced(sigma) else np
    x = np.arange(-radius, radius + 1, dtype=float)
    inverse = -1.0 / (sigma * sigma)
    bell = lib.exp(0.5 * inverse * x**2)
    bell = bell / bell.sum()
    factors: list[Any] = [1.0]  # of a polynomial times the bell
    for _ in range(order):
        slopes = [*[k * factors[k] for k in range(1, len(factors))], 0.0, 0.0]
        factors = [s + inverse * f for s, f in zip(slopes, [0.0, *factors], strict=True)]
    polynomial = sum(f * x**k for k, f in enumerate(factors))
    return (polynomial * bell)[::-1]


def _radius(name: str, sigma, truncate, radius) -> int:
    """Return how far weights reach to either side."""
    if radius is not None:
        return static_int(radius, name, "the radius")
    if is_traced(sigma):
        raise ArgumentError(name, "sigma", "is traced, and so would be the number of weights", "give radius=...")
    return int(truncate * float(sigma) + 0.5)


@signed_as_in(scipy_ndimage)
def gaussian_filter1d(input, sigma, axis, order, output, mode, cval, truncate, radius) -> Any:
    """Return an image smoothed by a Gaussian along an axis, or a derivative of it; traced `sigma` needs `radius`."""
    weights = _gaussian(sigma, order, _radius("gaussian_filter1d", sigma, truncate, radius))
    return correlate1d(as_traced(input), weights, axis, output, mode, cval)


def _chain(name: str, input, output, axes, options: dict[str, Any], run: Callable[..., Any]):
    """Return an image filtered along some axes in turn, each with its own options."""
    dtype = output_dtype(name, input, output)
    x = as_traced(input)
    along = axes_of(axes, x.ndim, name)
    each = {option: for_each(name, option, values, len(along)) for option, values in options.items()}
    for i, axis in enumerate(along):
        x = run(x, axis, dtype, **{option: values[i] for option, values in each.items()})
    return in_dtype(x, dtype)


@signed_as_in(scipy_ndimage)
def gaussian_filter(input, sigma, order, output, mode, cval, truncate, radius, axes) -> Any:
    """Return an image smoothed by a Gaussian along its axes, or a derivative of it; traced `sigma` needs `radius`."""

    def run(x, axis: int, dtype: np.dtype, sigma, order, mode, radius):
        if not is_traced(sigma) and sigma <= 1e-15:
            return x
        return gaussian_filter1d(x, sigma, axis, order, dtype, mode, cval, truncate, radius=radius)

    widths = list(sigma) if is_traced(sigma) and np.ndim(sigma) else sigma
    options = {"sigma": widths, "order": order, "mode": mode, "radius": radius}
    return _chain("gaussian_filter", input, output, axes, options, run)


# -- means and extremes of windows -------------------------------------------------------------------------------


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0) -> Any:
    """Return the means of windows of `size` elements along an axis."""
    name = "uniform_filter1d"
    dtype = output_dtype(name, input, output)
    x, weights = _common(as_traced(input), xp.full(size, 1.0) / size, dtype)
    before = require_inside(name, x, origin, size)
    along, how = axis_of(axis, x.ndim, name), filter_mode(name, mode)
    return in_dtype(correlated(x, weights, [along], [before], how, cval, running=True), dtype)


@signed_as_in(scipy_ndimage)
def uniform_filter(input, size, output, mode, cval, origin, axes) -> Any:
    """Return the means of windows of `size` elements along each axis."""
    run = lambda x, axis, dtype, size, mode, origin: uniform_filter1d(x, size, axis, dtype, mode, cval, origin)
    return _chain("uniform_filter", input, output, axes, {"size": size, "mode": mode, "origin": origin}, run)


def of_rank(
    name: str, x: Any, footprint: Any, axes: Sequence[int], low: Sequence[Any], mode: str, cval: Any, rank: int,
    box: bool = False,
) -> Any:  # fmt: skip
    """Return the element of a rank of windows that reach `low` elements before each element."""
    if x.dtype.kind == "c":
        raise DTypeError(name, f"the image is {x.dtype}", "pass its real part", user_line())
    starts = [size_of(before) for before in low]
    if mode != "constant" or not is_traced(cval):
        return ex.ranked(x, footprint, axes, starts, mode, rank=rank, box=box, fill=float(cval))
    whole = [slice(None)] * x.ndim
    for axis, before, k in zip(axes, low, footprint.shape, strict=True):
        whole[axis] = slice(before, before + x.shape[axis])
        x = extended(x, axis, before, k - 1 - before, mode, cval)
    return ex.ranked(x, footprint, axes, starts, mode, rank=rank, box=box)[tuple(whole)]


def extreme_of_box(
    name: str, x: Any, sizes: Sequence[Any], axes: Sequence[int], modes: Sequence[Any], cval: Any,
    origins: Sequence[Any], rank: int,
) -> Any:  # fmt: skip
    """Return the least element of each box, or for the rank -1 the greatest."""
    low = [require_inside(name, x, origin, size) for origin, size in zip(origins, sizes, strict=True)]
    kinds = [filter_mode(name, mode) for mode in modes]
    if len(set(kinds)) == 1:
        box = as_traced(xp.ones(tuple(sizes), bool))
        return of_rank(name, x, box, axes, low, kinds[0], cval, rank, box=True)
    for axis, size, before, kind in zip(axes, sizes, low, kinds, strict=True):
        x = of_rank(name, x, as_traced(xp.ones((size,), bool)), [axis], [before], kind, cval, rank, box=True)
    return x


def _extreme(name: str, rank: int) -> Callable[..., Any]:
    """Return a filter that takes an extreme of each window."""

    def function(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        if footprint is not None or size is None:
            raise UnsupportedFunctionError(name, "footprint of a traced image", "give size=...", user_line())
        dtype, x = output_dtype(name, input, output), as_traced(input)
        along = axes_of(axes, x.ndim, name)
        each = [
            for_each(name, option, values, len(along))
            for option, values in (("size", size), ("mode", mode), ("origin", origin))
        ]
        if not along:
            return in_dtype(x, dtype)
        return in_dtype(extreme_of_box(name, x, each[0], along, each[1], cval, each[2], rank), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name.partition('_')[0]} of windows of `size` elements along each axis."
    return function


def _extreme1d(name: str, rank: int) -> Callable[..., Any]:
    """Return a filter that takes an extreme of windows along one axis."""

    def function(
        input, size, axis = -1, output = None, mode = "reflect", cval = 0.0,
        origin = 0
    ):  # fmt: skip
        dtype, x = output_dtype(name, input, output), as_traced(input)
        along = [axis_of(axis, x.ndim, name)]
        return in_dtype(extreme_of_box(name, x, [size], along, [mode], cval, [origin], rank), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name.partition('_')[0]} of windows of `size` elements along an axis."
    return function


maximum_filter1d: Callable[..., Any] = _extreme1d("maximum_filter1d", -1)
minimum_filter1d: Callable[..., Any] = _extreme1d("minimum_filter1d", 0)
maximum_filter: Callable[..., Any] = _extreme("maximum_filter", -1)
minimum_filter: Callable[..., Any] = _extreme("minimum_filter", 0)


# -- differences -------------------------------------------------------------------------------------------------


def _slope(name: str, across: Sequence[float]) -> Callable[..., Any]:
    """Return a filter that takes differences along an axis and weighs neighbours along the others."""

    def function(input, axis=-1, output=None, mode="reflect", cval=0.0):
        x = as_traced(input)
        along, modes = axis_of(axis, x.ndim, name), for_each(name, "mode", mode, x.ndim)
        dtype = output_dtype(name, input, output)
        x = correlate1d(x, [-1, 0, 1], along, dtype, modes[along], cval)
        for other in range(x.ndim):
            x = x if other == along else correlate1d(x, across, other, dtype, modes[other], cval)
        return x

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the differences along an axis that {name.capitalize()}'s filter takes."
    return function


sobel: Callable[..., Any] = _slope("sobel", (1, 2, 1))
prewitt: Callable[..., Any] = _slope("prewitt", (1, 1, 1))


def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs) -> Any:
    """Return the length of the gradient of an image smoothed by a Gaussian."""
    parts = _derivatives("gaussian_gradient_magnitude", input, sigma, 1, output, mode, cval, axes, kwargs)
    squares = [part * part for part in parts]
    total = as_traced(sum(squares[1:], squares[0]))
    return ew.convert(ew.length(total) if total.dtype.kind == "f" else xp.sqrt(total), parts[0].dtype)


def _derivatives(name: str, input, sigma, order: int, output, mode, cval, axes, kwargs: dict[str, Any]) -> list[Any]:
    """Return derivatives of this order along each axis of an image smoothed by a Gaussian."""
    dtype, x = output_dtype(name, input, output), as_traced(input)
    along = axes_of(axes, x.ndim, name)
    return [
        gaussian_filter(x, sigma, [order if a == axis else 0 for a in along], dtype, mode, cval, axes=along, **kwargs)
        for axis in along
    ]
