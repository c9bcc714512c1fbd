"""Define the functions of `scipy.signal` that change the rate of samples, and the division of polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import as_traced, axis_of, choice_of, is_traced, result_type, sizes, static_int
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.signal.convolving import convolve
from anyshape.scipy.signal.filtering import lfilter, sosfilt, sosfiltfilt
from anyshape.support.packages import scipy_signal


def upfirdn(h: Any, x: Any, up: Any = 1, down: Any = 1, axis: Any = -1, mode: str = "constant", cval: Any = 0) -> Any:
    """Return x with `up - 1` zeros between samples, filtered by h, and every `down`-th of the results.

    For traced arrays zeros are beyond the ends.
    """
    if mode != "constant" or is_traced(cval) or cval != 0:
        raise ArgumentError("upfirdn", f"mode={mode!r}", "is not available for traced arrays", "extend x with np.pad")
    up, down = static_int(up, "upfirdn", "up"), static_int(down, "upfirdn", "down")
    if min(up, down) < 1:
        raise ArgumentError("upfirdn", f"up={up}, down={down}", "is below 1", "pass factors of at least 1")
    dtype = result_type(h, x, np.float32)
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    row, array = as_traced(h, dtype), as_traced(x, dtype)
    along = axis_of(axis, array.ndim, "upfirdn")
    return xp.moveaxis(ex.upfirdn(mv.move_axes(array, (along,), (array.ndim - 1,)), row, up, down), -1, along)


_BACKGROUNDS: dict[str, Any] = {"mean": xp.mean, "median": xp.median, "minimum": xp.min, "maximum": xp.max}


def resample_poly(
    x: Any, up: Any, down: Any, axis: Any = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    """Return samples at up / down times their rate, by a filter without phase; `window` is a name or the filter.

    `padtype` says what is beyond the ends: zeros, or the mean, median, minimum or maximum.
    """
    name = "resample_poly"
    choice_of(name, "padtype", padtype, ("constant", *_BACKGROUNDS))
    if cval is not None:
        raise ArgumentError(name, "cval", "is not available for traced arrays", "leave it out")
    x = xp.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    up, down = static_int(up, name, "up"), static_int(down, name, "down")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return x
    h, half = _lowpass(window, up, down, x.dtype)
    along = axis_of(axis, x.ndim, name)
    lines = xp.moveaxis(x, along, -1)
    before = down - half % down
    skipped = (half + before) // down
    after = max(up + half - static_int(h.shape[0], name, "the length of the filter"), 0)  # or results would be too few
    h = xp.concatenate([np.zeros(before, h.dtype), h * up, np.zeros(after, h.dtype)])
    wanted = -(-lines.shape[-1] * up // down)
    background = _BACKGROUNDS[padtype](lines, axis=-1, keepdims=True) if padtype in _BACKGROUNDS else None
    y = upfirdn(h, lines if background is None else lines - background, up, down)
    y = y[..., skipped : skipped + wanted]
    return xp.moveaxis(y if background is None else y + background, -1, along)


def _lowpass(window: Any, up: int, down: int, dtype: np.dtype) -> tuple[Any, int]:
    """Return a filter, and half of its length."""
    if isinstance(window, str | tuple):
        half = 10 * max(up, down)
        return scipy_signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window).astype(dtype), half
    h = xp.asarray(window)
    return h, (static_int(h.shape[0], "resample_poly", "the length of the filter") - 1) // 2


def decimate(x: Any, q: Any, n: Any = None, ftype: str = "iir", axis: Any = -1, zero_phase: bool = True) -> Any:
    """Return every q-th sample after a low-pass filter of order n: Chebyshev's, or a finite one for "fir"."""
    choice_of("decimate", "ftype", ftype, ("iir", "fir"))
    x = xp.asarray(x)
    dtype = x.dtype if x.dtype.kind in "fc" and x.dtype != np.float16 else np.dtype(np.float64)
    q, along = static_int(q, "decimate", "q"), axis_of(axis, x.ndim, "decimate")
    lines = xp.moveaxis(x, along, -1)
    if ftype == "iir":
        order = 8 if n is None else static_int(n, "decimate", "n")
        sections = scipy_signal.cheby1(order, 0.05, 0.8 / q, output="sos").astype(dtype)
        y = (sosfiltfilt if zero_phase else sosfilt)(sections, lines)[..., ::q]
    else:
        order = 20 * q if n is None else static_int(n, "decimate", "n")
        b = scipy_signal.firwin(order + 1, 1.0 / q, window="hamming").astype(dtype)
        if zero_phase:
            y = resample_poly(lines, 1, q, axis=-1, window=b)
        else:
            y = upfirdn(b, lines, 1, q)[..., : -(-lines.shape[-1] // q)]
    return xp.moveaxis(y, -1, along)


def resample(x: Any, num: Any, t: Any = None, axis: Any = 0, window: Any = None, domain: str = "time") -> Any:
    """Return `num` samples of a periodic signal by its Fourier transform; with times t their own times too.

    For traced arrays the domain is "time", and there is no `window`.
    """
    if window is not None or domain != "time":
        raise ArgumentError("resample", "window or domain", "is not available for traced arrays", "leave it out")
    x = xp.asarray(x)
    lines = xp.moveaxis(x, axis, -1)
    n, is_complex = lines.shape[-1], x.dtype.kind == "c"
    common = xp.minimum(num, n)
    half = common // 2 + 1
    size = xp.asarray(n) / num
    # the bin at half of the fewer points stands for two when there are more of them
    is_pair = (xp.asarray(common) % 2 == 0) & (xp.asarray(num) != n)
    factor = xp.where(xp.asarray(num) < n, 2.0, 0.5)
    bins = xp.where((xp.arange(half) == common // 2) & is_pair, factor, 1.0)
    if not is_complex:
        spectrum = xp.fft.rfft(lines)[..., :half]
        y = xp.fft.irfft(spectrum * bins.astype(spectrum.real.dtype) / size.astype(spectrum.real.dtype), num)
    else:
        y = at_other_rate(xp.fft.fft(lines), num, n, common) / size
    y = xp.moveaxis(y, -1, axis).astype(np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else y.dtype)
    return y if t is None else (y, t[0] + (t[1] - t[0]) * size * xp.arange(num))


def at_other_rate(spectrum: Any, num: Any, n: Any, common: Any) -> Any:
    """Return samples for the bins of least frequency; both signs share the one at half of the points."""
    k = xp.arange(num)
    signed = xp.where(k <= num // 2, k, k - num)
    half = xp.asarray(common) / 2
    inside = xp.abs(signed) <= half
    source = xp.where(inside, xp.mod(signed, n), 0)
    at_half = (xp.abs(signed) == half) & (xp.asarray(num) != n)
    values = xp.where(inside, spectrum[..., source], 0.0)
    other = spectrum[..., xp.where(at_half, xp.mod(-signed, n), 0)]
    shared = xp.where(xp.asarray(num) < n, values + other, 0.5 * values)
    return xp.fft.ifft(xp.where(at_half, shared, values))


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """Return the quotient and the remainder of polynomials; the quotient by a longer divisor has no elements."""
    number, by = xp.atleast_1d(signal), xp.atleast_1d(divisor)
    context_of("deconvolve", number).require(at_least(sizes(number)[0], 1), "the signal has an element")
    impulse = (xp.arange(xp.maximum(number.shape[0] - by.shape[0] + 1, 0)) == 0).astype(np.float64)
    quotient = lfilter(number, by, impulse)
    product = convolve(by, xp.append(quotient, np.zeros(1)), mode="full")
    return quotient, number - product[: number.shape[0]]
