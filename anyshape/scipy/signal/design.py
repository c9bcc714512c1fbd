"""Define filters by their polynomials, zeros and poles, and their responses; envelopes, extremes, and waveforms."""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.promotion import choice_of, result_type, sizes, static_int
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements, squeezed
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.signal.convolving import at_other_rate
from anyshape.scipy.signal.filtering import fitted
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


def _real(x):
    return xp.asarray(x).astype(np.float64)


def sawtooth(t: Any, width: Any = 1) -> Any:
    """Return a periodic signal that rises from -1 to 1 for this share of its period of 2 pi, and then falls."""
    t, w = xp.broadcast_arrays(_real(t), _real(width))
    within = xp.mod(t, 2 * pi)
    is_rising = within < w * 2 * pi
    rising = within / (pi * xp.where(w == 0, 1.0, w)) - 1
    falling = (pi * (w + 1) - within) / (pi * xp.where(w == 1, 1.0, 1 - w))
    return xp.where((w > 1) | (w < 0), np.nan, xp.where(is_rising, rising, falling))


def correlation_lags(in1_len: Any, in2_len: Any, mode: str = "full") -> Any:
    """Return the lags of a correlation of vectors with these lengths, which may be symbolic."""
    choice_of("correlation_lags", "mode", mode, ("full", "same", "valid"))
    lags = xp.arange(-in2_len + 1, in1_len)
    if mode == "full":
        return lags
    if mode == "same":
        first = (in1_len + in2_len - 1) // 2 - in1_len // 2
        return lags[first : first + in1_len]
    shift = in1_len - in2_len
    return xp.arange(xp.minimum(shift, 0), xp.maximum(shift, 0) + 1)


def lombscargle(x, y, freqs, *, normalize=False, weights=None, floating_mean: bool = False) -> Any:
    """Return the periodogram of samples y at uneven times x, by weighted least squares at each angular frequency."""
    kind = choice_of("lombscargle", "normalize", normalize, (False, True, "power", "normalize", "amplitude"))
    x, y, freqs = (_vector("lombscargle", v, role) for v, role in ((x, "x"), (y, "y"), (freqs, "freqs")))
    w = xp.ones_like(y) if weights is None else _vector("lombscargle", weights, "weights")
    context_of("lombscargle", x, y).require_equal(sizes(x)[0], sizes(y)[0], "x and y have as many samples")
    context_of("lombscargle", w, y).require_equal(sizes(w)[0], sizes(y)[0], "weights and y have as many samples")
    check(w >= 0, "lombscargle: weights must not be below 0")
    check(xp.sum(w) > 0, "lombscargle: the sum of weights must be above 0")
    w = w / xp.sum(w)
    angle = x[:, None] * freqs
    mean = w @ y if floating_mean else 0.0
    return squeezed("lombscargle", _periodogram(kind, angle, w, y, mean, floating_mean))


def _vector(name: str, x, role: str):
    """Return samples in float64 as a vector with an element."""
    v = _real(x)
    if v.ndim != 1:
        raise ArgumentError(name, role, f"has {v.ndim} axes", "pass a vector")
    require_elements(name, v)
    return v


def _periodogram(kind, angle, w, y, mean, floating_mean: bool):
    """Return the periodogram at the frequencies of angles, which have a row for each sample."""

    def sums(angle) -> tuple[Any, Any, Any, Any]:
        cosine, sine = xp.cos(angle), xp.sin(angle)
        c, s = (w @ cosine, w @ sine) if floating_mean else (0.0, 0.0)
        cc = w @ cosine**2
        return (
            cc - c * c,
            1.0 - cc - s * s,
            w @ (cosine * sine) - c * s,
            ((w * y) @ cosine - mean * c, (w * y) @ sine - mean * s),
        )

    cc, ss, cs, _ = sums(angle)
    tau = 0.5 * xp.arctan2(2.0 * cs, cc - ss)
    cc, ss, _, (yc, ys) = sums(angle - tau)
    least = np.finfo(np.float64).epsneg
    a, b = yc / xp.maximum(cc, least), ys / xp.maximum(ss, least)
    if kind == "amplitude":
        return (a + 1j * b) * xp.exp(1j * tau)
    power = 2.0 * (a * yc + b * ys)
    if kind in (False, "power"):
        return power * (xp.asarray(y.shape[0]) / 4.0)
    return power * (0.5 / ((w * y) @ y - mean**2))


# -- sections of second order ------------------------------------------------------------------------------------


def _roots_of_sections(sos: np.ndarray, roots: np.ndarray, first: int) -> np.ndarray:
    """Return for each section the positions of its two roots among these, -1 for one that it has not."""
    free, rows = list(range(len(roots))), np.full((len(sos), 2), -1)
    for section, row in zip(sos, rows, strict=True):
        for column, root in enumerate(np.roots(section[first : first + 3])):
            nearest = min(free, key=lambda i: abs(roots[i] - root))
            free.remove(nearest)
            row[column] = nearest
    return rows


def _quadratic(roots, at):
    """Return the coefficients of the polynomials with the roots at pairs of positions, lower degrees behind zeros."""
    chosen = xp.where(at < 0, 0.0, roots[xp.maximum(at, 0)])
    count = xp.sum(at >= 0, axis=-1)[:, None]
    total, product = xp.real(chosen[:, 0] + chosen[:, 1]), xp.real(chosen[:, 0] * chosen[:, 1])
    one, none = xp.ones_like(total), xp.zeros_like(total)
    forms = [xp.stack(row, axis=-1) for row in ((none, none, one), (none, one, -total), (one, -total, product))]
    return xp.where(count == 2, forms[2], xp.where(count == 1, forms[1], forms[0]))


def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Return sections of second order of a filter of zeros z, poles p and gain k, paired as by SciPy.

    SciPy pairs the roots when the program runs. The derivatives keep the pairs.
    """
    zeros, poles = (xp.atleast_1d(xp.asarray(v)).astype(np.complex128) for v in (z, p))
    check(xp.imag(xp.asarray(k)) == 0, "zpk2sos: k must be real")
    gain = xp.real(xp.asarray(k)).astype(np.float64)
    counts = [static_int(v.shape[0], "zpk2sos", "the number of roots") for v in (zeros, poles)]
    most = max(counts) if pairing != "minimal" and not analog else counts[1]
    sections = max((most + 1) // 2, 1)

    def run(z, p, k):
        sos = np.asarray(scipy_signal.zpk2sos(z, p, k, pairing, analog=analog), np.float64)

        padded = (np.concatenate([v, np.zeros(2 * sections)]) for v in (z, p))
        above, below = (_roots_of_sections(sos, v, first) for v, first in zip(padded, (0, 3), strict=True))
        return sos, above, below

    pairs = ShapeDtypeStruct((sections, 2), np.int64)
    spec = ShapeDtypeStruct((sections, 6), np.float64), pairs, pairs
    of_scipy, above, below = pure_callback(run, spec, *stop_gradient((zeros, poles, gain)))
    more = xp.zeros(2 * sections, np.complex128)
    top, bottom = (_quadratic(xp.concatenate([v, more]), at) for v, at in ((zeros, above), (poles, below)))
    scale = xp.where(xp.arange(sections)[:, None] == 0, gain, 1.0)
    sos = xp.concatenate([top * scale, bottom], axis=1)
    return of_scipy + (sos - stop_gradient(sos))


# -- digital forms of analog systems -----------------------------------------------------------------------------


def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """Return the digital filter of an analog one by Tustin's transform, with 1 as the first coefficient below.

    First coefficients that are 0 count for the order of traced filters; SciPy leaves them out.
    """
    above, below = (xp.atleast_1d(xp.asarray(v)) for v in (b, a))
    counts = [static_int(v.shape[0], "bilinear", "the number of coefficients") for v in (above, below)]
    order = max(counts) - 1
    rows = [np.polymul(np.poly([-1.0] * (order - q)), np.poly([1.0] * q)) for q in range(order + 1)]
    powers = (2.0 * xp.asarray(fs)) ** np.arange(order + 1)
    turned = [
        (row[::-1] * powers[:count]) @ np.stack(rows)[:count] for row, count in zip((above, below), counts, strict=True)
    ]
    return turned[0] / turned[1][0], turned[1] / turned[1][0]


def _row(name: str, x, option: str):
    """Return numbers as a vector of floats."""
    row = xp.atleast_1d(xp.asarray(x))
    if row.ndim != 1:
        raise ArgumentError(name, option, f"has {row.ndim} axes", "pass a vector")
    return row if row.dtype.kind in "fc" else row.astype(np.float64)


def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of a filter of zeros z, poles p and gain k."""
    zeros = xp.atleast_1d(xp.asarray(z))
    gain = xp.asarray(k)
    if zeros.ndim == 2:
        count = static_int(zeros.shape[0], "zpk2tf", "the number of outputs")
        gains = xp.broadcast_to(gain, (count,))
        return xp.stack([gains[i] * xp.poly(zeros[i]) for i in range(count)]), xp.poly(_row("zpk2tf", p, "p"))
    return gain * xp.poly(zeros), xp.poly(_row("zpk2tf", p, "p"))


def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles and gain of a filter of numerator b and denominator a.

    A first coefficient that is 0 is a CheckError of the run; SciPy leaves it out.
    """
    above, below = _row("tf2zpk", b, "b"), _row("tf2zpk", a, "a")
    dtype = result_type(above, below)
    above, below = (above / below[0]).astype(dtype), (below / below[0]).astype(dtype)
    return xp.roots(above), xp.roots(below), above[0]


def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the conditions of a filter whose last outputs were y, the newest first, and whose last inputs were x."""
    above, below = _row("lfiltic", b, "b"), _row("lfiltic", a, "a")
    context_of("lfiltic", below).require(at_least(sizes(below)[0], 1), "a has a coefficient")
    before = xp.asarray(y) if x is None else xp.asarray(x)
    dtype = result_type(above, below, xp.asarray(y), before)
    check(below[0] != 0, "lfiltic: the first coefficient of a must not be 0")
    count = expr.maximum(sizes(above)[0], sizes(below)[0])
    past = _weighed(below, xp.ravel(y), count)
    inputs = 0.0 if x is None else _weighed(above, xp.ravel(x), count)
    return ((inputs - past) / below[0]).astype(dtype)


def _weighed(row, values, count):
    """Return the sums of values from the first on, by the coefficients from each position but the first on."""
    order = expr.sub(count, 1)
    row, values = fitted(row, 1, expr.mul(2, order)), fitted(values, 0, order)
    at = xp.arange(values.shape[0])
    return row[at[:, None] + at] @ values.astype(np.result_type(row.dtype, values.dtype))
