"""Define the signals of `scipy.signal` at times that may be traced, and the lags of correlations."""

from math import log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements, squeezed
from anyshape.transforms.control import check

_CHIRPS = {
    "linear": "linear", "lin": "linear", "li": "linear", "quadratic": "quadratic", "quad": "quadratic",
    "q": "quadratic", "logarithmic": "logarithmic", "log": "logarithmic", "lo": "logarithmic",
    "hyperbolic": "hyperbolic", "hyp": "hyperbolic",
}  # fmt: skip


def _real(x):
    return xp.asarray(x).astype(np.float64)


def _phase(t, f0, t1, f1, method: str, vertex_zero: bool):
    """Return the phase of a signal whose frequency goes from f0 at 0 to f1 at t1."""
    if method == "linear":
        return 2 * pi * (f0 * t + 0.5 * ((f1 - f0) / t1) * t * t)
    if method == "quadratic":
        rate = (f1 - f0) / t1**2
        if vertex_zero:
            return 2 * pi * (f0 * t + rate * t**3 / 3)
        return 2 * pi * (f1 * t + rate * ((t1 - t) ** 3 - t1**3) / 3)
    same = f0 == f1
    ratio = xp.where(same, 2.0, f1 / f0)
    if method == "logarithmic":
        changing = 2 * pi * (t1 / xp.log(ratio)) * f0 * (ratio ** (t / t1) - 1.0)
    else:
        singular = -ratio * t1 / (1 - ratio)
        changing = 2 * pi * (-singular * f0) * xp.log(xp.abs(1 - t / singular))
    return xp.where(same, 2 * pi * f0 * t, changing)


def chirp(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", phi: Any = 0, vertex_zero: bool = True, *,
    complex: bool = False,
) -> Any:  # fmt: skip
    """Return a cosine whose frequency goes from f0 at time 0 to f1 at time t1, by a method of SciPy."""
    known = _CHIRPS[choice_of("chirp", "method", method, tuple(_CHIRPS))]
    t, f0, t1, f1 = (_real(x) for x in (t, f0, t1, f1))
    phase = _phase(t, f0, t1, f1, known, vertex_zero) + xp.deg2rad(phi)
    return xp.exp(1j * phase) if complex else xp.cos(phase)


def sawtooth(t: Any, width: Any = 1) -> Any:
    """Return a periodic signal that rises from -1 to 1 for this share of its period of 2 pi, and then falls."""
    t, w = xp.broadcast_arrays(_real(t), _real(width))
    within = xp.mod(t, 2 * pi)
    is_rising = within < w * 2 * pi
    rising = within / (pi * xp.where(w == 0, 1.0, w)) - 1
    falling = (pi * (w + 1) - within) / (pi * xp.where(w == 1, 1.0, 1 - w))
    return xp.where((w > 1) | (w < 0), np.nan, xp.where(is_rising, rising, falling))


def square(t: Any, duty: Any = 0.5) -> Any:
    """Return a periodic signal that is 1 for this share of its period of 2 pi, and -1 for the rest."""
    t, w = xp.broadcast_arrays(_real(t), _real(duty))
    value = xp.where(xp.mod(t, 2 * pi) < w * 2 * pi, 1.0, -1.0)
    return xp.where((w > 1) | (w < 0), np.nan, value)


def gausspulse(
    t: Any, fc: Any = 1000, bw: Any = 0.5, bwr: Any = -6, tpr: Any = -60, retquad: bool = False, retenv: bool = False
) -> Any:
    """Return a sinusoid in a Gaussian envelope; with `retquad` its quadrature too, with `retenv` its envelope."""
    if is_traced(bwr) or bwr >= 0:
        raise ArgumentError("gausspulse", "bwr", "is not a negative number", "pass a level in dB below 0")
    t = _real(t)
    rate = -((pi * fc * bw) ** 2) / (4.0 * log(10.0 ** (bwr / 20.0)))
    envelope = xp.exp(-rate * t * t)
    parts = [envelope * xp.cos(2 * pi * fc * t)]
    parts += [envelope * xp.sin(2 * pi * fc * t)] if retquad else []
    parts += [envelope] if retenv else []
    return parts[0] if len(parts) == 1 else tuple(parts)


def correlation_lags(in1_len: Any, in2_len: Any, mode: str = "full") -> Any:
    """Return the lags of a correlation of vectors with these lengths, which may be symbolic."""
    choice_of("correlation_lags", "mode", mode, ("full", "same", "valid"))
    lags = xp.arange(-in2_len + 1, in1_len)
    if mode == "full":
        return lags
    if mode == "same":
        middle = (in1_len + in2_len - 1) // 2
        first = middle - in1_len // 2
        return lags[first : first + in1_len]
    shift = in1_len - in2_len
    return xp.arange(xp.minimum(shift, 0), xp.maximum(shift, 0) + 1)


def vectorstrength(events: Any, period: Any) -> tuple[Any, Any]:
    """Return how well times of events keep a period, from 0 to 1, and the phase; for a vector of periods vectors."""
    times, periods = xp.ravel(_real(events)), _real(period)
    mean = xp.mean(xp.exp(2j * (pi / periods[..., None] * times)), axis=-1)
    return xp.abs(mean), xp.angle(mean)


def lombscargle(
    x: Any, y: Any, freqs: Any, *, normalize: Any = False, weights: Any = None, floating_mean: bool = False
) -> Any:
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


def gauss_spline(x: Any, n: Any) -> Any:
    """Return the Gaussian that is near to the B-spline of order n."""
    variance = (n + 1) / 12.0
    return xp.exp(-(xp.asarray(x) ** 2) / 2 / variance) / xp.sqrt(2 * pi * variance)


def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Any:
    """Return the cosine whose frequency is a polynomial of time: coefficients from the highest power down."""
    row = xp.asarray(poly.coeffs if isinstance(poly, np.poly1d) else poly)
    return xp.cos(2 * pi * xp.polyval(xp.polyint(row), _real(t)) + phi * pi / 180)
