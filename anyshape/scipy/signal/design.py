"""Define envelopes of signals, responses of digital filters, transforms on spirals, and local extremes."""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands import promotion
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.signal.convolving import at_other_rate
from anyshape.support.packages import scipy_signal
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import check, stop_gradient

# -- envelopes


@signed_as_in(scipy_signal)
def envelope(z, bp_in, n_out, squared, residual, axis) -> Any:
    """Return the envelope of a signal within a band of its spectrum, and the residual of that band.

    `bp_in` are the first bin and the one behind the last. Without a `residual` the envelope comes alone.
    """
    promotion.choice_of("envelope", "residual", residual, ("lowpass", "all", None))
    x = xp.asarray(z)
    along = promotion.axis_of(axis, x.ndim, "envelope")
    lines = xp.moveaxis(x, along, -1)
    n, is_complex = lines.shape[-1], x.dtype.kind == "c"
    check(xp.asarray(n) > 0, "envelope: the signal has a sample")
    low, high = (None if b is None else promotion.static_int(b, "envelope", "bp_in") for b in bp_in)
    start, stop = -(n // 2) if low is None else low, (n + 1) // 2 if high is None else high
    check(
        xp.asarray((-(n // 2) <= start) & (start < stop) & (stop <= (n + 1) // 2)), "envelope: the band is inside of n"
    )
    bins = xp.arange(n)
    spectrum = xp.fft.fft(lines)
    if not is_complex:
        twice = (bins >= (start if low is not None and low > 0 else 1)) & (bins < stop)
        spectrum = spectrum * xp.where(bins > n // 2, 0.0, xp.where(twice, 2.0, 1.0)).astype(spectrum.real.dtype)
    count = n if n_out is None else n_out
    scale = xp.asarray(count) / n
    band = spectrum[..., xp.mod(start + xp.arange(stop - start), n)]
    base = xp.fft.ifft(band, count) * scale.astype(spectrum.real.dtype)
    height = xp.real(base) ** 2 + xp.imag(base) ** 2 if squared else xp.abs(base)
    if residual is None:
        return xp.moveaxis(height, -1, along)
    signed = xp.where(bins < (n + 1) // 2, bins, bins - n)
    remains = (signed < start) | ((signed >= stop) & (residual == "all"))
    remains = remains & (low != 0)  # of a band from 0 on SciPy leaves nothing
    rest = _synthesised(spectrum * remains.astype(spectrum.real.dtype), count, n, is_complex)
    return xp.stack([xp.moveaxis(part, -1, along) for part in (height, rest)])


def _synthesised(spectrum, count, n, is_complex: bool):
    """Return so many samples of a spectrum of n bins."""
    scale = (xp.asarray(count) / n).astype(spectrum.real.dtype)
    if is_complex:
        return at_other_rate(spectrum, count, n, xp.minimum(count, n)) * scale
    fewer = xp.minimum(count, n)
    at_half = (xp.arange(n) == fewer // 2) & (xp.asarray(fewer) % 2 == 0) & (xp.asarray(count) != n)
    factor = xp.where(xp.asarray(count) < n, 2.0, 0.5)
    weight = xp.where(at_half, factor, 1.0).astype(spectrum.real.dtype)
    return xp.fft.irfft(spectrum * weight, count) * scale


# -- responses of analog filters, and delays


def _frequencies(worN, whole: bool, fs, include_nyquist: bool):
    """Return angular frequencies: so many of them, or the ones of a sampling rate.

    The second result says of how many roots of 1 they are the first angles, and is 0 for others.
    """
    count = 512 if worN is None else worN
    if not promotion.is_traced(count) and np.ndim(count) == 0:
        w = np.linspace(0, 2 * pi if whole else pi, int(count), endpoint=include_nyquist and not whole)
        return w, max(w.size if whole else 2 * (w.size - include_nyquist), 1)
    return 2 * pi * xp.atleast_1d(xp.asarray(count) * 1.0) / fs, 0


def _polynomial(coefficients, z, points: int):
    """Return the sum of coefficients times powers of z, from the power 0 on.

    Where z are the first ones of so many roots of 1, powers beyond their number repeat.
    """
    row = xp.atleast_1d(coefficients)
    require_elements("freqz", row)
    count = row.shape[0]
    if not points:
        return z[:, None] ** xp.arange(count) @ row.astype(np.result_type(row.dtype, z.dtype))
    blocks = -(-count // points)
    row = xp.pad(row, (0, blocks * points - count)).astype(np.result_type(row.dtype, np.float64))
    return xp.fft.fft(xp.sum(xp.reshape(row, (blocks, points)), axis=0))[: z.shape[0]]


@signed_as_in(scipy_signal)
def freqz(b, a, worN, whole, plot, fs, include_nyquist) -> tuple[Any, Any]:
    """Return frequencies and the response of a filter of numerator b and denominator a, vectors."""
    if plot is not None:
        raise ArgumentError("freqz", "plot", "is not called from a program", "leave it out")
    w, points = _frequencies(worN, whole, fs, include_nyquist)
    z = xp.exp(-1j * w)
    dtype = promotion.result_type(b, a)
    dtype = np.result_type(dtype, np.complex64) if dtype.kind in "fc" else np.dtype(complex)
    return w * (fs / (2 * pi)), (_polynomial(b, z, points) / _polynomial(a, z, points)).astype(dtype)


# -- transforms on a spiral


def _on_spiral(x, m, chirp, start):
    """Return Bluestein's sums along the last axis; `chirp(k)` is w**(k**2 / 2), `start(k)` is a**-k."""
    n, count = x.shape[-1], promotion.size_of(m)
    ahead = chirp(xp.arange(xp.maximum(m, n)))
    scaled = promotion.as_traced(x * (start(xp.arange(n)) * ahead[:n]))
    inverse = promotion.as_traced(1 / xp.concatenate([ahead[:m][::-1], ahead[1:n]]), scaled.dtype)
    moves = wd.one_by_one((expr.sub(count, 1),), (count,))
    return wd.convolution(scaled, inverse, moves, method="fft") * ahead[:m]


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: Any = -1) -> Any:
    """Return the chirp z-transform of samples along an axis at m points a * w**-k, by default on the unit circle."""
    x = xp.asarray(x)
    along = promotion.axis_of(axis, x.ndim, "czt")
    lines = xp.moveaxis(x, along, -1)
    context_of("czt", lines).require(at_least(promotion.sizes(lines)[-1], 1), "x has a sample along the axis")
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
    along = promotion.axis_of(axis, x.ndim, "zoom_fft")
    lines = xp.moveaxis(x, along, -1)
    count = lines.shape[-1] if m is None else m
    low, high = (fn[0], fn[1]) if np.ndim(fn) else (0.0, fn)
    step = (high - low) / fs / xp.asarray(count - 1 if endpoint else count)
    chirp = lambda k: xp.exp(-1j * pi * (k**2 * step))
    start = lambda k: xp.exp(-2j * pi * (low / fs) * k)
    return xp.moveaxis(_on_spiral(lines, count, chirp, start), -1, along)


# -- local extremes


def argrelextrema(data, comparator: Callable[..., Any], axis=0, order=1, mode: str = "clip") -> tuple[Any, ...]:
    """Return the positions of relative extremes by a function that compares; their number is a run-time size."""
    promotion.choice_of("argrelextrema", "mode", mode, ("clip", "wrap"))
    x = xp.asarray(data)
    along, reach = (
        promotion.axis_of(axis, x.ndim, "argrelextrema"),
        promotion.static_int(order, "argrelextrema", "order"),
    )
    if reach < 1:
        raise ArgumentError("argrelextrema", f"order={reach}", "is below 1", "pass a number of neighbours")
    n, at = x.shape[along], xp.arange(x.shape[along])
    is_extreme = xp.ones_like(x, dtype=bool)
    for shift in range(1, reach + 1):
        for position in (at + shift, at - shift):
            within = xp.clip(position, 0, n - 1) if mode == "clip" else xp.mod(position, xp.maximum(n, 1))
            is_extreme = is_extreme & comparator(x, xp.take(x, within, axis=along))
    return tuple(xp.nonzero(is_extreme))


def find_peaks(x: Any, height: Any = None, threshold: Any = None, distance: Any = None, **options: Any) -> Any:
    """Return the positions of peaks of a vector and a dictionary of properties; their number is a run-time size.

    Conditions are numbers. SciPy finds the peaks when the program runs. Heights and thresholds have derivatives; other
    properties are left out of the dictionary.
    """
    conditions = {"height": height, "threshold": threshold, "distance": distance, **options}
    if promotion.is_traced(*conditions.values()):
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
