"""Define the smoothing filters of `scipy.signal`: ranks of windows, Wiener's filter, and local polynomials."""

import math
from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import as_traced, axis_of, choice_of, is_traced, sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.ndimage.filtering import correlated, of_rank
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.signal.filtering import lfilter, sosfilt
from anyshape.support.packages import scipy_signal
from anyshape.transforms.control import check
from anyshape.transforms.control_flow.conditionals import cond


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
    where = as_traced(mask != 0), range(x.ndim), [k // 2 for k in mask.shape], "constant"
    return of_rank("order_filter", x, *where, 0.0, static_int(rank, "order_filter", "rank"))


def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Return the medians of windows with odd sides, by default 3, around each element; zeros are beyond the ends."""
    x = xp.atleast_1d(volume)
    if x.dtype.kind == "c":
        raise ArgumentError("medfilt", "volume", f"has the dtype {x.dtype}, which has no order", "pass real numbers")
    sides = 3 if kernel_size is None else kernel_size
    shape = tuple(static_int(k, "medfilt", "kernel_size") for k in np.broadcast_to(sides, (x.ndim,)))
    return order_filter(x, np.ones(shape), math.prod(shape) // 2)


def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Return the medians of windows around each element of a matrix; see `medfilt`."""
    return medfilt(input, kernel_size)


@signed_as_in(scipy_signal)
def savgol_filter(x, window_length, polyorder, deriv, delta, axis, mode, cval) -> Any:
    """Return the values, or derivatives, of polynomials fitted to windows around each sample along an axis.

    `mode` "interp" takes the polynomials of the first and the last window at the ends. Others extend the samples.
    """
    name = "savgol_filter"
    modes = {"mirror": "mirror", "nearest": "nearest", "wrap": "wrap", "constant": "constant", "interp": "nearest"}
    choice_of(name, "mode", mode, tuple(modes))
    x = xp.asarray(x)
    x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    length, order = static_int(window_length, name, "window_length"), static_int(polyorder, name, "polyorder")
    weights = scipy_signal.savgol_coeffs(length, order, deriv, delta, use="dot").astype(x.dtype)
    along, half = axis_of(axis, x.ndim, name), length // 2
    middle = correlated(as_traced(x), as_traced(weights), [along], [(length - 1) // 2], modes[mode], cval)
    if mode != "interp":
        return middle
    lines = xp.moveaxis(x, along, -1)
    why = "a window is not longer than the samples along the axis"
    context_of(name, x).require(at_least(sizes(lines)[-1], length), why)
    first, last = _ends(length, order, deriv, delta)
    windows = (lines[..., None, :length], first), (lines[..., None, -length:], last)
    start, end = [xp.sum(window * matrix.astype(x.dtype), axis=-1) for window, matrix in windows]
    inner = xp.moveaxis(middle, along, -1)[..., half : lines.shape[-1] - half]
    return xp.moveaxis(xp.concatenate([start, inner, end], axis=-1), -1, along)


def _ends(length: int, order: int, deriv: int, delta: float) -> tuple[Any, Any]:
    """Return the matrices that map the first and the last window to the values of its polynomial beside the middle."""
    half, at = length // 2, np.arange(length)
    fitted = np.polyfit(at, np.eye(length), order)
    columns = [np.polyder(fitted[:, k], deriv) if deriv else fitted[:, k] for k in range(length)]
    values = lambda points: np.stack([np.polyval(c, points) for c in columns], axis=-1) / delta**deriv
    return values(at[:half]), values(at[length - half :])


# -- recurrences in both directions, of signals that are mirrored at their ends


def _mirrored_signals(name: str, signal, precision) -> tuple[Any, Any, float]:
    """Return a signal, its lines, and below which size the terms of an infinite sum are left off."""
    x = floats(signal)
    if x.ndim not in (1, 2):
        raise ArgumentError(name, "the signal", f"has {x.ndim} axes", "pass one or two")
    usual = 1e-6 if x.dtype in (np.float32, np.complex64) else 1e-11
    return x, x if x.ndim == 2 else x[None, :], float(precision) if 0 < precision <= 1 else usual


FEW = 1024  # terms that are tried before all


def _until_small(name: str, response: Callable[[Any], Any], lines, precision: float):
    """Return the sum of products with factors up to the first small one, a column; one before the last must be.

    `response` gives the factors by their positions.
    """

    def total(count) -> tuple[Any, Any]:
        factors = response(xp.arange(count))
        is_small = xp.abs(factors) <= precision
        before = xp.cumsum(is_small) - is_small
        terms = xp.where(before == 0, factors, 0.0).astype(lines.dtype) * lines[:, :count]
        return xp.sum(terms, axis=-1, keepdims=True), xp.any(is_small[:-1])

    near, is_enough = total(xp.minimum(lines.shape[-1], FEW))
    result, converges = cond(is_enough, lambda: (near, is_enough), lambda: total(lines.shape[-1]))
    check(converges, f"{name}: the sum for the mirrored signal did not converge")
    return result


def symiirorder1(signal: Any, c0: Any, z1: Any, precision: Any = -1.0) -> Any:
    """Return a signal, or rows, filtered by c0 / ((1 - z1 / z) (1 - z1 z)), as if mirrored at its ends."""
    name = "symiirorder1"
    x, lines, least = _mirrored_signals(name, signal, precision)
    c0, pole = (xp.asarray(v).astype(x.dtype) for v in (c0, z1))
    check(xp.abs(pole) < 1, f"{name}: z1 must be less than 1 in size")
    first = lines[:, :1] + _until_small(name, lambda k: pole ** (1 + k), lines, least)
    below = xp.stack([xp.ones((), x.dtype), -pole])
    rest, _ = lfilter(np.ones(1, x.dtype), below, lines[:, 1:], zi=first * pole)
    forward = xp.concatenate([first, rest], axis=1)
    last = -c0 / (pole - 1) * forward[:, -1:]
    rest, _ = lfilter(c0[None], below, forward[:, -2::-1], zi=last * pole)
    return xp.reshape(xp.concatenate([rest[:, ::-1], last], axis=1), x.shape)


def _at_poles(omega) -> tuple[Any, Any, Any]:
    """Return where the poles of a filter meet, at 1 or at -1, where at -1, and their angle elsewhere."""
    at_end = omega == pi
    meet = (omega == 0) | at_end
    return meet, at_end, xp.where(meet, 1.0, omega)


def _response(k, gain, r, omega):
    """Return the response to an impulse k samples ago."""
    meet, at_end, angle = _at_poles(omega)
    sign = xp.where(at_end & (k % 2 == 1), -1.0, 1.0)
    return gain * r**k * xp.where(meet, (k + 1) * sign, xp.sin(angle * (k + 1)) / xp.sin(angle))


def _response_of_both(k, gain, r, omega):
    """Return the response of the filter in both directions, k samples from the impulse."""
    meet, at_end, angle = _at_poles(omega)
    k, square = xp.abs(k), r * r
    share = (1 - square) / (1 + square)
    together = (1 + square) / (1 - square) ** 3 * (1 + share * k * xp.where(at_end & (k % 2 == 1), -1.0, 1.0))
    apart = (1 + square) / (1 - square) / (1 - 2 * square * xp.cos(2 * angle) + square * square)
    turning = xp.cos(angle * k) + share / xp.tan(angle) * xp.sin(angle * k)
    return gain**2 * r**k * xp.where(meet, together, apart * turning)


def symiirorder2(input: Any, r: Any, omega: Any, precision: Any = -1.0) -> Any:
    """Return a signal, or rows, smoothed in both directions by poles r exp(+-i omega), as if mirrored at its ends."""
    name = "symiirorder2"
    x, lines, least = _mirrored_signals(name, input, precision)
    r, omega = (xp.asarray(v).astype(np.float64) for v in (r, omega))
    check(r < 1, f"{name}: r must be less than 1")
    a2, a3 = 2 * r * xp.cos(omega), -r * r
    gain = 1 - a2 - a3
    ahead = lambda shift: _until_small(name, lambda k: _response(k + shift, gain, r, omega), lines, least)
    # SciPy compares the square of a term here
    back = lambda near, far: _until_small(
        name, lambda k: sum(_response_of_both(k + s, gain, r, omega) for s in (near, far)), lines[:, ::-1], least**0.5
    )
    start = lambda k: _response(k, gain, r, omega).astype(x.dtype)
    first = start(0) * lines[:, :1] + ahead(1), start(0) * lines[:, 1:2] + start(1) * lines[:, :1] + ahead(2)
    zero = xp.zeros_like(gain)
    section = xp.stack([gain, zero, zero, xp.ones_like(gain), -a2, -a3]).astype(x.dtype)[None]

    def continued(ends, rest):
        """Return lines that begin with two filtered samples."""
        state = xp.concatenate([a3 * ends[0] + a2 * ends[1], a3 * ends[1]], axis=1).astype(x.dtype)
        return xp.concatenate([*ends, sosfilt(section, rest, zi=state[None])[0]], axis=1)

    forward = continued(first, lines[:, 2:])
    both = continued((back(0, 1), back(-1, 2)), forward[:, -3::-1])
    return xp.reshape(both[:, ::-1], x.shape)
