"""Define the functions of `scipy.stats` of angles, and transforms of samples towards a normal distribution."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.serve import falls_through
from anyshape.scipy.stats.sampling import sampled
from anyshape.scipy.stats.summaries import count_of, floats
from anyshape.support.packages import scipy_stats

_stats = falls_through(scipy_stats)


def _direction(samples: Any, period: Any, axis: Any) -> tuple[Any, Any]:
    """Return the means of the sine and the cosine of angles."""
    x = floats(samples) * (2.0 * pi / period)
    return tuple(xp.mean(f(x), axis=axis) for f in (xp.sin, xp.cos))


@sampled("samples", axis=None)
def circmean(
    samples: Any,
    high: Any = 2 * pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: Any = False,
) -> Any:
    """Return the mean direction of angles of a period, between its ends."""
    period = high - low
    sine, cosine = _direction(samples, period, axis)
    return xp.mod(xp.arctan2(sine, cosine) * (period / (2.0 * pi)) - low, period) + low


def _length(sine: Any, cosine: Any) -> Any:
    """Return the length of the mean direction, at most 1."""
    return xp.minimum(xp.sqrt(sine**2 + cosine**2), 1.0)


@sampled("samples", axis=None)
def circvar(
    samples: Any,
    high: Any = 2 * pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: Any = False,
) -> Any:
    """Return the circular variance of angles: 1 less the length of their mean direction."""
    return 1.0 - _length(*_direction(samples, high - low, axis))


@sampled("samples", axis=None)
def circstd(
    samples: Any,
    high: Any = 2 * pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    normalize: bool = False,
    keepdims: Any = False,
) -> Any:
    """Return the circular standard deviation of angles, in radians if `normalize`."""
    length = _length(*_direction(samples, high - low, axis))
    deviation = xp.sqrt(-2 * xp.log(length))
    return deviation if normalize else deviation * ((high - low) / (2.0 * pi))


# -- power transforms


def _refuse_search(name: str, lmbda: Any) -> None:
    if lmbda is None:
        problem = "is None, which searches for the best one"
        raise ArgumentError(name, "lmbda", problem, "pass a number, or search outside of the traced function")


@_stats
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """Return the Box-Cox transform of samples by a number, which a traced call needs."""
    _refuse_search("boxcox", lmbda)
    return xp.special.boxcox(x, lmbda)


@sampled("data")
def boxcox_llf(
    lmb: Any,
    data: Any,
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the logarithm of the likelihood of a number for the Box-Cox transform of samples."""
    x = floats(data)
    logarithm = xp.log(x)
    variance = xp.var(xp.special.boxcox(x, lmb), axis=axis)
    total = (lmb - 1) * xp.sum(logarithm, axis=axis)
    return (total - count_of(x, axis) / 2 * xp.log(variance)).astype(x.dtype)


def _yeojohnson(x: Any, power: Any) -> Any:
    """Return boxcox1p(x, power) for positive numbers, and -boxcox1p(-x, 2 - power) for others."""
    is_positive = x >= 0
    above = xp.special.boxcox1p(xp.where(is_positive, x, 0.0), power)
    below = -xp.special.boxcox1p(xp.where(is_positive, 0.0, -x), 2 - xp.asarray(power))
    return xp.where(is_positive, above, below)


@_stats
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Return the Yeo-Johnson transform of samples by a number, which a traced call needs."""
    _refuse_search("yeojohnson", lmbda)
    return _yeojohnson(floats(x), lmbda)


@sampled("data")
def yeojohnson_llf(
    lmb: Any,
    data: Any,
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the logarithm of the likelihood of a number for the Yeo-Johnson transform of samples."""
    x = floats(data)
    variance = xp.var(_yeojohnson(x, lmb), axis=axis)
    is_constant = variance < np.finfo(x.dtype).smallest_normal
    logarithm = xp.where(is_constant, -np.inf, xp.log(xp.where(is_constant, 1.0, variance)))
    total = xp.sum(xp.sign(x) * xp.log1p(xp.abs(x)), axis=axis)
    return (-count_of(x, axis) / 2 * logarithm + (lmb - 1) * total).astype(x.dtype)
