"""Define the filters of `scipy.ndimage`: correlations, Gaussians, means, extremes and differences.

Images are extended by the mode, and windows move along the extended ones. Results have the dtype of the image, after
each axis that is filtered. As in SciPy, results of integer images are cut off.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.operands.promotion import as_traced, axes_of, axis_of, is_traced, result_type, size_of, static_int
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage import extension as ext
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_ndimage


def correlated(x, weights, axes: Sequence[int], low: Sequence[Any], mode: str, cval, running: bool = False) -> Any:
    """Return sums of products of x and of weights that move along some axes, from `low` elements before each one."""
    starts = [size_of(before) for before in low]
    if mode != "constant" or (not is_traced(cval) and cval == 0):
        return ex.filtered(ex.correlate_op, x, weights, axes, starts, mode, running=running)
    whole = [slice(None)] * x.ndim
    for axis, before, k in zip(axes, low, weights.shape, strict=True):
        whole[axis] = slice(before, before + x.shape[axis])
        x = ext.extended(x, axis, before, k - 1 - before, mode, cval)
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
    dtype = ext.output_dtype(name, input, output, weights)
    x, w = _common(as_traced(input), weights, dtype)
    if w.ndim != 1:
        raise context_of(name, w).fail(f"the weights have {w.ndim} axes and must have 1")
    along = axis_of(axis, x.ndim, name)
    before = ext.require_inside(name, x, origin, w.shape[0])
    return ext.in_dtype(correlated(x, _conjugate(w), [along], [before], ext.filter_mode(name, mode), cval), dtype)


def _over_axes(name: str, input, weights, output, mode, cval, origin, axes, turned: bool):
    """Return an image correlated with weights over some axes, or convolved where they are turned."""
    dtype = ext.output_dtype(name, input, output, weights)
    x, w = _common(as_traced(input), weights, dtype)
    along = axes_of(axes, x.ndim, name)
    if w.ndim != len(along):
        raise context_of(name, x, w).fail(f"the weights have {w.ndim} axes for {len(along)} of the image")
    origins = ext.for_each(name, "origin", origin, len(along))
    if turned:
        w = mv.rev(w, tuple(range(w.ndim)))
        origins = [-o - (1 - k % 2) for o, k in zip(origins, w.shape, strict=True)]
    low = [ext.require_inside(name, x, o, k) for o, k in zip(origins, w.shape, strict=True)]
    factors = w if turned else _conjugate(w)
    return ext.in_dtype(correlated(x, factors, along, low, ext.filter_mode(name, mode), cval), dtype)


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
    dtype = ext.output_dtype(name, input, output)
    x = as_traced(input)
    along = axes_of(axes, x.ndim, name)
    each = {option: ext.for_each(name, option, values, len(along)) for option, values in options.items()}
    for i, axis in enumerate(along):
        x = run(x, axis, dtype, **{option: values[i] for option, values in each.items()})
    return ext.in_dtype(x, dtype)


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
    dtype = ext.output_dtype(name, input, output)
    x, weights = _common(as_traced(input), xp.full(size, 1.0) / size, dtype)
    before = ext.require_inside(name, x, origin, size)
    along, how = axis_of(axis, x.ndim, name), ext.filter_mode(name, mode)
    return ext.in_dtype(correlated(x, weights, [along], [before], how, cval, running=True), dtype)


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
        x = ext.extended(x, axis, before, k - 1 - before, mode, cval)
    return ex.ranked(x, footprint, axes, starts, mode, rank=rank, box=box)[tuple(whole)]


def extreme_of_box(
    name: str, x: Any, sizes: Sequence[Any], axes: Sequence[int], modes: Sequence[Any], cval: Any,
    origins: Sequence[Any], rank: int,
) -> Any:  # fmt: skip
    """Return the least element of each box, or for the rank -1 the greatest."""
    low = [ext.require_inside(name, x, origin, size) for origin, size in zip(origins, sizes, strict=True)]
    kinds = [ext.filter_mode(name, mode) for mode in modes]
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
        dtype, x = ext.output_dtype(name, input, output), as_traced(input)
        along = axes_of(axes, x.ndim, name)
        each = [
            ext.for_each(name, option, values, len(along))
            for option, values in (("size", size), ("mode", mode), ("origin", origin))
        ]
        if not along:
            return ext.in_dtype(x, dtype)
        return ext.in_dtype(extreme_of_box(name, x, each[0], along, each[1], cval, each[2], rank), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name.partition('_')[0]} of windows of `size` elements along each axis."
    return function


def _extreme1d(name: str, rank: int) -> Callable[..., Any]:
    """Return a filter that takes an extreme of windows along one axis."""

    def function(
        input, size, axis = -1, output = None, mode = "reflect", cval = 0.0,
        origin = 0
    ):  # fmt: skip
        dtype, x = ext.output_dtype(name, input, output), as_traced(input)
        along = [axis_of(axis, x.ndim, name)]
        return ext.in_dtype(extreme_of_box(name, x, [size], along, [mode], cval, [origin], rank), dtype)

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
        along, modes = axis_of(axis, x.ndim, name), ext.for_each(name, "mode", mode, x.ndim)
        dtype = ext.output_dtype(name, input, output)
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
    dtype, x = ext.output_dtype(name, input, output), as_traced(input)
    along = axes_of(axes, x.ndim, name)
    return [
        gaussian_filter(x, sigma, [order if a == axis else 0 for a in along], dtype, mode, cval, axes=along, **kwargs)
        for axis in along
    ]
