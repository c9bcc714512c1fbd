"""Define the short-time Fourier transforms of `scipy.signal`, and the spectra that are means of them.

The number of samples may be symbolic. Windows have a fixed length: a signal that is shorter fixes it to its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import as_traced, axis_of, choice_of, is_traced, size_of, static_int
from anyshape.ops import indexing as ix
from anyshape.scipy.operands.conversion import is_empty
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.signal.filtering import detrend as without_trend
from anyshape.scipy.signal.filtering import extended
from anyshape.scipy.signal.windows import get_window, has_formula
from anyshape.support.packages import scipy_signal
from anyshape.support.true_types import has_type

_SCALES = {"psd": "density", "density": "density", "spectrum": "spectrum"}


def _window(name: str, window, nperseg, n):
    """Return a window by its name or as it is; one by name is at most as long as a signal of n samples."""
    length = None if nperseg is None else static_int(nperseg, name, "nperseg")
    if has_type(window, (str, tuple)):
        length = 256 if length is None else length
        if n is not None and n < length:
            length = static_int(n, name, "nperseg")
        window = scipy_signal.get_window(window, length)
    row = window if is_traced(window) else np.asarray(window)
    if length is not None and length != row.shape[0]:
        problem = f"is not the length of the window, {row.shape[0]}"
        raise ArgumentError(name, f"nperseg={length}", problem, "leave it out")
    return row


class _Segments:
    """Segments of signals: their window, its length, their distance, and the number of points of a transform."""

    def __init__(self, name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, n: Any) -> None:
        self.window = _window(name, window, nperseg, n)
        self.length = static_int(self.window.shape[0], name, "nperseg")
        self.points = self.length if nfft is None else static_int(nfft, name, "nfft")
        self.overlap = self.length // 2 if noverlap is None else static_int(noverlap, name, "noverlap")
        if self.points < self.length:
            raise ArgumentError(name, f"nfft={self.points}", f"is less than nperseg, {self.length}", "increase it")
        if not 0 <= self.overlap < self.length:
            raise ArgumentError(
                name, f"noverlap={self.overlap}", f"is not less than nperseg, {self.length}", "reduce it"
            )
        self.step = self.length - self.overlap

    def index(self, count: Any) -> Any:
        """Return the positions of the samples of so many segments, a row for each."""
        return as_traced(self.step * xp.arange(count)[:, None] + np.arange(self.length))

    def scale(self, fs: Any, scaling: str) -> Any:
        """Return the factor of a power spectrum."""
        return 1.0 / (fs * (self.window**2).sum()) if scaling == "density" else 1.0 / self.window.sum() ** 2


def _trend(name: str, detrend, axis: int) -> Callable[[Any], Any]:
    """Return what takes the trend from segments along the last axis."""
    if detrend is False or detrend is None:
        return lambda x: x
    if callable(detrend):
        return lambda x: xp.moveaxis(detrend(xp.moveaxis(x, -1, axis)), axis, -1)
    choice_of(name, "detrend", detrend, ("constant", "linear", "l", "c"))
    return lambda x: without_trend(x, axis=-1, type=detrend)


def _transformed(x, segments: _Segments, take_trend: Callable[[Any], Any], onesided: bool):
    """Return the transforms of segments of signals along the last axis: (..., segments, frequencies)."""
    count = (x.shape[-1] - segments.overlap) // segments.step
    precision = np.result_type(x.dtype, np.complex64).char.lower()
    frames = take_trend(ix.take(x, segments.index(count), x.ndim - 1)) * segments.window.astype(precision)
    return (xp.fft.rfft if onesided else xp.fft.fft)(frames, segments.points)


def _frequencies(segments: _Segments, fs, onesided: bool):
    return (np.fft.rfftfreq if onesided else np.fft.fftfreq)(segments.points) * fs


def _doubled(power, segments: _Segments):
    """Return a one-sided power spectrum with the power of frequencies below 0."""
    k = np.arange(segments.points // 2 + 1)
    return power * np.where((k == 0) | (2 * k == segments.points), 1, 2).astype(power.real.dtype)


def _lines(x, axis, name: str) -> tuple[Any, int]:
    """Return signals with the samples along the last axis, and the axis that they were along."""
    array = as_traced(x)
    along = axis_of(axis, array.ndim, name)
    return xp.moveaxis(array, along, -1), along


@signed_as_in(scipy_signal)
def stft(
    x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, boundary, padded, axis, scaling
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return frequencies, times, and the short-time Fourier transform of signals along an axis."""
    name = "stft"
    if is_empty(name, as_traced(x)):
        return _no_spectrum(as_traced(x), 3)
    lines, along = _lines(x, axis, name)
    segments = _Segments(name, window, nperseg, noverlap, nfft, lines.shape[-1])
    choice_of(name, "boundary", boundary, ("even", "odd", "constant", "zeros", None))
    if boundary is not None:
        lines = extended(lines, segments.length // 2, boundary)
    if padded:
        missing = (segments.length - lines.shape[-1]) % segments.step % segments.length
        lines = xp.pad(lines, [*[(0, 0)] * (lines.ndim - 1), (0, missing)])
    onesided = bool(return_onesided) and lines.dtype.kind != "c"
    result = _transformed(lines, segments, _trend(name, detrend, along), onesided)
    how = _SCALES[choice_of(name, "scaling", scaling, ("psd", "spectrum"))]
    result = (result * xp.sqrt(segments.scale(fs, how))).astype(result.dtype)
    times = (xp.arange(result.shape[-2]) * segments.step + (0.0 if boundary is not None else segments.length / 2)) / fs
    return _frequencies(segments, fs, onesided), times, _placed(result, along)


def _no_spectrum(x, count: int):
    """Return so many arrays of the shape of an operand without elements, as SciPy does for it."""
    return (xp.zeros(x.shape),) * count


def _placed(result, along: int):
    """Return (..., segments, frequencies) with the frequencies where the samples were and the segments last."""
    return xp.moveaxis(result, -1, along)


@signed_as_in(scipy_signal)
def istft(
    Zxx, fs, window, nperseg, noverlap, nfft, input_onesided, boundary, time_axis, freq_axis, scaling
) -> tuple[Any, Any]:  # fmt: skip
    """Return times and the signals whose short-time Fourier transform is given."""
    name, z = "istft", as_traced(Zxx)
    along, across = axis_of(time_axis, z.ndim, name), axis_of(freq_axis, z.ndim, name)
    z = xp.moveaxis(z, (along, across), (-2, -1))
    count = static_int(z.shape[-1], name, "the number of frequencies")
    usual = 2 * (count - 1) if input_onesided else count
    length = usual if nperseg is None else static_int(nperseg, name, "nperseg")
    if nfft is None:
        nfft = length if input_onesided and length == usual + 1 else usual
    segments = _Segments(name, window, length, noverlap, nfft, None)
    frames = (xp.fft.irfft if input_onesided else xp.fft.ifft)(z, segments.points)[..., : segments.length]
    weights = segments.window.astype(frames.real.dtype)
    how = choice_of(name, "scaling", scaling, ("psd", "spectrum"))
    frames = frames * (weights.sum() if how == "spectrum" else xp.sqrt(fs * (weights**2).sum())) * weights
    signals, norm = _overlapped(frames, weights, segments)
    if boundary:
        edge = segments.length // 2
        signals, norm = signals[..., edge:-edge], norm[edge:-edge]
    signals = signals / xp.where(norm > 1e-10, norm, 1.0).astype(norm.dtype)
    if signals.ndim > 1:
        signals = xp.moveaxis(signals, -1, along - (across < along))
    return xp.arange(signals.shape[0]) / fs, signals


def _overlapped(frames, weights, segments: _Segments) -> tuple[Any, Any]:
    """Return the sum of segments in their places, and that of the squares of the window."""
    count = frames.shape[-2]
    total = size_of(segments.length + (count - 1) * segments.step)
    index = segments.index(count)
    signals = ix.put_add(frames, index, total, frames.ndim - 2)
    squares = as_traced(xp.broadcast_to(weights**2, (count, segments.length)))
    return signals, ix.put_add(squares, index, total, 0)


# -- power spectra -----------------------------------------------------------------------------------------------


def _power(name: str, x, y, fs, segments: _Segments, detrend, onesided, scaling, along: int) -> tuple[Any, Any]:
    """Return frequencies, and the cross power spectra of segments: (..., segments, frequencies)."""
    how = choice_of(name, "scaling", scaling, ("density", "spectrum"))
    is_half = bool(onesided) and x.dtype.kind != "c" and y.dtype.kind != "c"
    take_trend = _trend(name, detrend, along)
    first = _transformed(x, segments, take_trend, is_half)
    second = first if y is x else _transformed(y, segments, take_trend, is_half)
    power = (xp.conj(first) * second * segments.scale(fs, how)).astype(np.result_type(x.dtype, y.dtype, np.complex64))
    power = power.real if y is x else power
    return _frequencies(segments, fs, is_half), _doubled(power, segments) if is_half else power


def _averaged(name: str, power, average):
    """Return the mean of spectra of segments, or their median without its bias."""
    if choice_of(name, "average", average, ("mean", "median")) == "mean":
        return power.mean(axis=-2)
    later = 2.0 * xp.arange(1, (power.shape[-2] - 1) // 2 + 1)
    bias = 1 + (1.0 / (later + 1) - 1.0 / later).sum()
    if power.dtype.kind != "c":
        return xp.median(power, axis=-2) / bias
    return (xp.median(power.real, axis=-2) + 1j * xp.median(power.imag, axis=-2)) / bias


@signed_as_in(scipy_signal)
def csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average) -> tuple[Any, Any]:
    """Return frequencies and the cross power spectrum of two signals of one length, by Welch's method."""
    lines, along = _lines(x, axis, "csd")
    others = lines if y is x else _lines(y, axis, "csd")[0]
    if is_empty("csd", lines, others):
        outer = xp.broadcast_shapes(lines.shape[:-1], others.shape[:-1])
        count = xp.minimum(lines.shape[-1], others.shape[-1])
        return _no_spectrum(xp.moveaxis(xp.zeros((*outer, count)), -1, along), 2)
    lines, others = (lines, lines) if y is x else _of_one_length(lines, others)
    segments = _Segments("csd", window, nperseg, noverlap, nfft, lines.shape[-1])
    frequencies, power = _power("csd", lines, others, fs, segments, detrend, return_onesided, scaling, along)
    dtype = np.result_type(power.dtype, np.complex64) if y is not x else power.dtype
    return frequencies, xp.moveaxis(_averaged("csd", power, average).astype(dtype), -1, along)


def _of_one_length(x, y) -> tuple[Any, Any]:
    """Return lines with zeros after the shorter ones."""
    count = xp.maximum(x.shape[-1], y.shape[-1])
    first, second = (xp.pad(v, [*[(0, 0)] * (v.ndim - 1), (0, count - v.shape[-1])]) for v in (x, y))
    return first, second


@signed_as_in(scipy_signal)
def spectrogram(
    x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, mode
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return frequencies, times and power spectra of segments, or what `mode` names of their transforms."""
    name = "spectrogram"
    choice_of(name, "mode", mode, ("psd", "complex", "magnitude", "angle", "phase"))
    lines, along = _lines(x, axis, name)
    segments = _Segments(name, window, nperseg, 0 if noverlap is None else noverlap, nfft, lines.shape[-1])
    if is_empty(name, lines):
        return _no_spectrum(as_traced(x), 3)
    if noverlap is None:
        segments.overlap = segments.length // 8
        segments.step = segments.length - segments.overlap
    if mode == "psd":
        frequencies, result = _power(name, lines, lines, fs, segments, detrend, return_onesided, scaling, along)
    else:
        onesided = bool(return_onesided) and lines.dtype.kind != "c"
        frequencies = _frequencies(segments, fs, onesided)
        result = _transformed(lines, segments, _trend(name, detrend, along), onesided)
        result = (result * xp.sqrt(segments.scale(fs, scaling))).astype(result.dtype)
    times = (xp.arange(result.shape[-2]) * segments.step + segments.length / 2) / fs
    result = _placed(result, along)
    if mode == "magnitude":
        return frequencies, times, xp.abs(result)
    if mode in ("angle", "phase"):
        angle = xp.angle(result)
        return frequencies, times, xp.unwrap(angle, axis=along) if mode == "phase" else angle
    return frequencies, times, result


def periodic_window(name: str, window: Any, n: Any) -> Any:
    """Return a window of n points, which may be symbolic for windows that have a formula; others fix the size."""
    if has_type(window, (str, tuple)):
        return get_window(window, n if has_formula(window) else static_int(n, name, "the number of samples"))
    return xp.asarray(window)


@signed_as_in(scipy_signal)
def periodogram(x, fs, window, nfft, detrend, return_onesided, scaling, axis) -> tuple[Any, Any]:
    """Return frequencies and the power spectrum of whole signals, of any length for a window of cosines."""
    name = "periodogram"
    how = choice_of(name, "scaling", scaling, ("density", "spectrum"))
    if is_empty(name, as_traced(x)):
        return _no_spectrum(as_traced(x), 2)
    lines, along = _lines(x, axis, name)
    lines = lines if nfft is None else lines[..., :nfft]
    points = lines.shape[-1] if nfft is None else nfft
    precision = np.result_type(lines.dtype, np.complex64).char.lower()
    weights = periodic_window(name, "boxcar" if window is None else window, lines.shape[-1])
    is_half = bool(return_onesided) and lines.dtype.kind != "c"
    frames = _trend(name, detrend, along)(lines) * weights.astype(precision)
    spectrum = (xp.fft.rfft if is_half else xp.fft.fft)(frames, points)
    factor = 1.0 / (fs * xp.sum(weights**2)) if how == "density" else 1.0 / xp.sum(weights) ** 2
    power = (xp.real(xp.conj(spectrum) * spectrum) * factor).astype(precision)
    if is_half:
        k = xp.arange(power.shape[-1])
        power = power * xp.where((k == 0) | (2 * k == points), 1.0, 2.0).astype(precision)
    frequencies = (xp.fft.rfftfreq if is_half else xp.fft.fftfreq)(points) * fs
    return frequencies, xp.moveaxis(power, -1, along)
