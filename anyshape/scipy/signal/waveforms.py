"""Define the signals of `scipy.signal` at times that may be traced, and the lags of correlations."""

from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements, squeezed
from anyshape.transforms.control import check


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
