"""Define the smoothing filters of `scipy.signal`: ranks of windows, Wiener's filter, and local polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, sizes, static_int
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import is_empty
from anyshape.scipy.signal.convolving import correlate
from anyshape.support.packages import scipy_signal

_signal = falls_through(scipy_signal)


def windows_of(padded: Any, shape: tuple[int, ...], counts: Any) -> Any:
    """Return the windows of these sides at so many positions of each axis of a padded array, as further axes.

    An image without elements has none, however little it was extended.
    """
    missing = [expr.maximum(expr.sub(k, n), 0) for k, n in zip(shape, sizes(padded), strict=True)]
    none = (0,) * padded.ndim
    windows = xp.lib.stride_tricks.sliding_window_view(mv.pad_unchecked(padded, none, missing, none), shape)
    return windows[tuple([slice(0, n) for n in counts])]


def ranked(padded: Any, footprint: np.ndarray, rank: int, counts: Any) -> Any:
    """Return the element of a rank of each window, of those positions where the footprint is true.

    Each window is sorted, so memory is that of all windows.
    """
    windows = windows_of(padded, footprint.shape, counts)
    flat = xp.reshape(windows, (*windows.shape[: padded.ndim], footprint.size))
    return xp.sort(flat[..., np.flatnonzero(footprint)], axis=-1)[..., rank]


def _zeros_around(x: Any, shape: tuple[int, ...]) -> Any:
    return xp.pad(x, [(k // 2, k // 2) for k in shape])


@_signal
def order_filter(a: Any, domain: Any, rank: Any) -> Any:
    """Return the element of a rank of the windows around each element, with zeros beyond the ends.

    `domain` is a concrete mask with odd sides.
    """
    if is_traced(domain):
        raise ArgumentError("order_filter", "domain", "is traced", "pass a concrete mask")
    x, mask = xp.asarray(a), np.asarray(domain)
    if mask.ndim != x.ndim or any(k % 2 != 1 for k in mask.shape):
        problem = f"has the shape {mask.shape}"
        raise ArgumentError("order_filter", "domain", problem, f"pass {x.ndim} axes with an odd number of elements")
    return ranked(_zeros_around(x, mask.shape), mask != 0, static_int(rank, "order_filter", "rank"), x.shape)


@_signal
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Return the medians of windows with odd sides, by default 3, around each element; zeros are beyond the ends."""
    x = xp.atleast_1d(volume)
    if x.dtype.kind == "c":
        raise ArgumentError("medfilt", "volume", f"has the dtype {x.dtype}, which has no order", "pass real numbers")
    sides = 3 if kernel_size is None else kernel_size
    shape = tuple(static_int(k, "medfilt", "kernel_size") for k in np.broadcast_to(sides, (x.ndim,)))
    return order_filter(x, np.ones(shape), math.prod(shape) // 2)


@_signal
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Return the medians of windows around each element of a matrix; see `medfilt`."""
    return medfilt(input, kernel_size)


@_signal
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """Return Wiener's filter of an image by the mean and variance of windows, and by the power of the noise.

    By default the noise has the mean of the variances.
    """
    x = xp.asarray(im)
    shape = np.broadcast_to(3 if mysize is None else mysize, (x.ndim,))
    window, count = np.ones(shape), float(math.prod(int(k) for k in shape))
    mean = correlate(x, window, "same") / count
    variance = correlate(x**2, window, "same") / count - mean**2
    power = xp.mean(variance) if noise is None else noise
    is_noise = variance < power
    filtered = mean + (x - mean) * (1 - power / xp.where(is_noise, 1.0, variance))
    return xp.where(is_noise, mean, filtered)


@_signal
def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: Any = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """Return the values, or derivatives, of polynomials fitted to windows around each sample along an axis.

    `mode` "interp" takes the polynomials of the first and the last window at the ends. Others extend the samples.
    """
    name = "savgol_filter"
    pads = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant", "interp": ""}
    choice_of(name, "mode", mode, tuple(pads))
    x = xp.asarray(x)
    x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    length, order = static_int(window_length, name, "window_length"), static_int(polyorder, name, "polyorder")
    weights = scipy_signal.savgol_coeffs(length, order, deriv, delta, use="dot").astype(x.dtype)
    along = axis_of(axis, x.ndim, name)
    lines, half, before = xp.moveaxis(x, along, -1), length // 2, (length - 1) // 2
    if mode == "interp":
        why = "a window is not longer than the samples along the axis"
        context_of(name, x).require(at_least(sizes(lines)[-1], length), why)
        first, last = _ends(length, order, deriv, delta)
        ends = lines[..., :length] @ first.T.astype(x.dtype), lines[..., -length:] @ last.T.astype(x.dtype)
        middle = _dotted(lines[..., half - before :], weights)
        return xp.moveaxis(xp.concatenate([ends[0], middle, ends[1]], axis=-1), -1, along)
    if is_empty(name, x):
        return x
    around = [(0, 0)] * (x.ndim - 1) + [(before, half)]
    options = {"constant_values": cval} if mode == "constant" else {}
    return xp.moveaxis(_dotted(xp.pad(lines, around, pads[mode], **options), weights), -1, along)


def _dotted(lines: Any, weights: Any) -> Any:
    """Return the products of windows along the last axis with weights."""
    return xp.lib.stride_tricks.sliding_window_view(lines, weights.shape[0], axis=-1) @ weights


def _ends(length: int, order: int, deriv: int, delta: float) -> tuple[Any, Any]:
    """Return the matrices that map the first and the last window to the values of its polynomial beside the middle."""
    half, at = length // 2, np.arange(length)
    fitted = np.polyfit(at, np.eye(length), order)
    columns = [np.polyder(fitted[:, k], deriv) if deriv else fitted[:, k] for k in range(length)]
    values = lambda points: np.stack([np.polyval(c, points) for c in columns], axis=-1) / delta**deriv
    return values(at[:half]), values(at[length - half :])
