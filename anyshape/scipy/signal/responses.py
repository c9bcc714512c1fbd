"""Define the responses of digital filters at frequencies, transforms on spirals, and local extremes."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, result_type, sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements
from anyshape.support.packages import scipy_signal
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient


def _frequencies(worN: Any, whole: bool, fs: Any, include_nyquist: bool) -> Any:
    """Return angular frequencies: so many of them, or the ones of a sampling rate."""
    count = 512 if worN is None else worN
    if not is_traced(count) and np.ndim(count) == 0:
        last = 2 * pi if whole else pi
        return np.linspace(0, last, int(count), endpoint=include_nyquist and not whole)
    return 2 * pi * xp.atleast_1d(xp.asarray(count) * 1.0) / fs


def _polynomial(coefficients: Any, z: Any) -> Any:
    """Return the sum of coefficients times powers of z, from the power 0 on."""
    row = xp.atleast_1d(coefficients)
    require_elements("freqz", row)
    return z[:, None] ** xp.arange(row.shape[0]) @ row.astype(np.result_type(row.dtype, z.dtype))


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: Any = 2 * pi,
    include_nyquist: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return frequencies and the response of a filter of numerator b and denominator a, vectors."""
    if plot is not None:
        raise ArgumentError("freqz", "plot", "is not called from a program", "leave it out")
    w = _frequencies(worN, whole, fs, include_nyquist)
    z = xp.exp(-1j * w)
    dtype = result_type(b, a)
    dtype = np.result_type(dtype, np.complex64) if dtype.kind in "fc" else np.dtype(complex)
    return w * (fs / (2 * pi)), (_polynomial(b, z) / _polynomial(a, z)).astype(dtype)


def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * pi) -> tuple[Any, Any]:
    """Return frequencies and the response of sections of second order, one row each."""
    sections = xp.asarray(sos)
    w = _frequencies(worN, whole, fs, False)
    powers = xp.exp(-1j * w)[:, None] ** np.arange(3)
    rows = sections.astype(np.result_type(sections.dtype, np.complex64))
    above, below = powers @ rows[:, :3].T, powers @ rows[:, 3:].T
    return w * (fs / (2 * pi)), xp.prod(above / below, axis=-1)


def sosfreqz(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return what `freqz_sos` does, under its older name."""
    return freqz_sos(*args, **kwargs)


def freqz_zpk(z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * pi) -> tuple[Any, Any]:
    """Return frequencies and the response of a filter of zeros z, poles p and gain k."""
    w = _frequencies(worN, whole, fs, False)
    at = xp.exp(1j * w)[:, None]
    zeros, poles = (xp.atleast_1d(xp.asarray(v)) for v in (z, p))
    return w * (fs / (2 * pi)), k * xp.prod(at - zeros, axis=-1) / xp.prod(at - poles, axis=-1)


# -- transforms on a spiral


def _on_spiral(x: Any, m: Any, chirp: Any, start: Any) -> Any:
    """Return Bluestein's sums along the last axis; `chirp(k)` is w**(k**2 / 2), `start(k)` is a**-k."""
    n = x.shape[-1]
    points = n + m - 1
    ahead = chirp(xp.arange(xp.maximum(m, n)))
    kernel = xp.fft.fft(1 / xp.concatenate([ahead[n - 1 : 0 : -1], ahead[:m]]), points)
    scaled = x * (start(xp.arange(n)) * ahead[:n])
    return xp.fft.ifft(kernel * xp.fft.fft(scaled, points))[..., n - 1 :] * ahead[:m]


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: Any = -1) -> Any:
    """Return the chirp z-transform of samples along an axis at m points a * w**-k, by default on the unit circle."""
    x = xp.asarray(x)
    along = axis_of(axis, x.ndim, "czt")
    lines = xp.moveaxis(x, along, -1)
    context_of("czt", lines).require(at_least(sizes(lines)[-1], 1), "x has a sample along the axis")
    count = lines.shape[-1] if m is None else m
    if w is None:
        chirp = lambda k: xp.exp((-1j * pi) * (xp.mod(k**2, 2 * xp.maximum(count, 1)) / xp.maximum(count, 1)))
    else:
        chirp = lambda k: xp.asarray(w, np.complex128) ** (k**2 / 2.0)
    spectrum = _on_spiral(lines, count, chirp, lambda k: xp.asarray(a, np.complex128) ** (-1.0 * k))
    return xp.moveaxis(spectrum, -1, along)


def zoom_fft(x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: Any = -1) -> Any:
    """Return the Fourier transform of samples at m frequencies of a range: a pair, or from 0 to a number."""
    x = xp.asarray(x)
    along = axis_of(axis, x.ndim, "zoom_fft")
    lines = xp.moveaxis(x, along, -1)
    count = lines.shape[-1] if m is None else m
    low, high = (fn[0], fn[1]) if np.ndim(fn) else (0.0, fn)
    scale = (high - low) / fs
    step = scale / xp.asarray(count - 1 if endpoint else count)
    chirp = lambda k: xp.exp(-1j * pi * (k**2 * step))
    start = lambda k: xp.exp(-2j * pi * (low / fs) * k)
    return xp.moveaxis(_on_spiral(lines, count, chirp, start), -1, along)


# -- local extremes


def _extremes(data: Any, comparator: Callable[..., Any], axis: Any, order: Any, mode: str) -> tuple[Any, ...]:
    """Return the positions of elements that compare with so many neighbours on both sides."""
    choice_of("argrelextrema", "mode", mode, ("clip", "wrap"))
    x = xp.asarray(data)
    along, reach = axis_of(axis, x.ndim, "argrelextrema"), static_int(order, "argrelextrema", "order")
    if reach < 1:
        raise ArgumentError("argrelextrema", f"order={reach}", "is below 1", "pass a number of neighbours")
    n, at = x.shape[along], xp.arange(x.shape[along])
    is_extreme = xp.ones_like(x, dtype=bool)
    for shift in range(1, reach + 1):
        for position in (at + shift, at - shift):
            within = xp.clip(position, 0, n - 1) if mode == "clip" else xp.mod(position, xp.maximum(n, 1))
            is_extreme = is_extreme & comparator(x, xp.take(x, within, axis=along))
    return tuple(xp.nonzero(is_extreme))


def argrelextrema(
    data: Any, comparator: Callable[..., Any], axis: Any = 0, order: Any = 1, mode: str = "clip"
) -> tuple[Any, ...]:
    """Return the positions of relative extremes by a function that compares; their number is a run-time size."""
    return _extremes(data, comparator, axis, order, mode)


def argrelmax(data: Any, axis: Any = 0, order: Any = 1, mode: str = "clip") -> tuple[Any, ...]:
    """Return the positions of relative maxima; see `argrelextrema`."""
    return _extremes(data, xp.greater, axis, order, mode)


def argrelmin(data: Any, axis: Any = 0, order: Any = 1, mode: str = "clip") -> tuple[Any, ...]:
    """Return the positions of relative minima; see `argrelextrema`."""
    return _extremes(data, xp.less, axis, order, mode)


def find_peaks(x: Any, height: Any = None, threshold: Any = None, distance: Any = None, **options: Any) -> Any:
    """Return the positions of peaks of a vector and a dictionary of properties; their number is a run-time size.

    Conditions are numbers. SciPy finds the peaks when the program runs. Heights and thresholds have derivatives; other
    properties are left out of the dictionary.
    """
    conditions = {"height": height, "threshold": threshold, "distance": distance, **options}
    if is_traced(*conditions.values()):
        raise ArgumentError("find_peaks", "a condition", "is traced", "pass Python numbers")
    x = xp.asarray(x)
    if x.ndim != 1:
        raise ArgumentError("find_peaks", "x", f"has {x.ndim} axes", "pass a vector")
    run = lambda x: scipy_signal.find_peaks(x, **conditions)[0].astype(np.int64)
    peaks = pure_callback(run, ShapeDtypeStruct(f"<={x.shape[0]}", np.int64), stop_gradient(x))
    properties = {} if height is None else {"peak_heights": x[peaks]}
    if threshold is not None:
        properties["left_thresholds"] = x[peaks] - x[peaks - 1]
        properties["right_thresholds"] = x[peaks] - x[peaks + 1]
    return peaks, properties
