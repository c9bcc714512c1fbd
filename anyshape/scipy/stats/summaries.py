"""Define the functions of `scipy.stats` that summarise samples: means, moments, scores and spreads; power transforms.

Samples lie along `axis`, and `sampling` says what may stand for it. Formulas and corrections for bias are SciPy's.
"""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.stats.lent import kurtosis, skew
from anyshape.scipy.stats.sampling import count_of, filled_up, sampled, without_nan


class DescribeResult(NamedTuple):
    """Summary of samples along an axis, with SciPy's fields."""

    nobs: Any
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


def _central(x, order: int, axis):
    """Return a central moment; the first is exactly 0, and the one of order 0 exactly 1."""
    if order < 2:
        is_nan = xp.any(xp.isnan(x), axis=axis) | (count_of(x, axis) == 0)
        return xp.where(is_nan, np.nan, 1.0 - order).astype(x.dtype)
    return xp.mean((x - xp.mean(x, axis=axis, keepdims=True)) ** order, axis=axis)


@sampled("a")
def moment(a, order, axis, center) -> Any:
    """Return moments of an order, or of each of a list of orders, about the mean or about a center."""
    x = floats(a)
    if np.ndim(order):
        return xp.stack([moment(x, k, axis, center=center) for k in order])
    return _central(x, order, axis) if center is None else xp.mean((x - center) ** order, axis=axis)


def describe(a: Any, axis: Any = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate") -> DescribeResult:
    """Return number, least and greatest sample, mean, variance, skewness and kurtosis; NaN is not omitted."""
    if nan_policy == "omit":
        problem = "is not available for a traced array"
        raise ArgumentError("describe", "nan_policy='omit'", problem, "select the samples first")
    x = without_nan("describe", floats(a), nan_policy)
    x, axis = (xp.ravel(x), 0) if axis is None else (x, axis)
    context_of("describe", x).require(at_least(sizes(x)[axis], 1), "samples are needed")
    count, ends = xp.asarray(xp.shape(x)[axis]), (xp.min(x, axis=axis), xp.max(x, axis=axis))
    mean, variance = xp.mean(x, axis=axis), xp.var(x, axis=axis, ddof=ddof)
    return DescribeResult(count, ends, mean, variance, skew(x, axis, bias), kurtosis(x, axis, bias=bias))


def _mean_and_deviation(name: str, x, axis, ddof: int, nan_policy: str) -> tuple[Any, Any]:
    """Return mean and standard deviation along an axis that stays; those without NaN for the policy "omit"."""
    x = without_nan(name, x, nan_policy)
    mean, deviation = (xp.nanmean, xp.nanstd) if nan_policy == "omit" else (xp.mean, xp.std)
    return mean(x, axis=axis, keepdims=True), deviation(x, axis=axis, ddof=ddof, keepdims=True)


def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return scores less the mean of `compare`, over its standard deviation."""
    x, y = floats(scores), floats(compare)
    mean, deviation = _mean_and_deviation("zmap", y, axis, ddof, nan_policy)
    return (x - mean) / deviation


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return samples less their mean, over their standard deviation; NaN where they are constant."""
    x = floats(a)
    mean, deviation = _mean_and_deviation("zscore", x, axis, ddof, nan_policy)
    constant = deviation <= np.finfo(x.dtype).eps * xp.abs(mean)
    return xp.where(constant, np.nan, (x - mean) / xp.where(constant, 1.0, deviation))


@sampled("x", axis=None)
def iqr(x, axis, rng, scale, interpolation) -> Any:
    """Return the distance of two percentiles, by default the interquartile range."""
    x = floats(x)
    low, high = xp.percentile(filled_up(x, axis), rng, axis=axis, method=interpolation)
    normal = isinstance(scale, str) and scale == "normal"
    return ((high - low) / (1.3489795003921634 if normal else scale)).astype(x.dtype)  # that of a normal distribution


# -- power transforms


def _refuse_search(name: str, lmbda) -> None:
    if lmbda is None:
        problem = "is None, which searches for the best one"
        raise ArgumentError(name, "lmbda", problem, "pass a number, or search outside of the traced function")


def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """Return the Box-Cox transform of samples by a number, which a traced call needs."""
    _refuse_search("boxcox", lmbda)
    return xp.special.boxcox(x, lmbda)


@sampled("data")
def boxcox_llf(lmb, data, axis) -> Any:
    """Return the logarithm of the likelihood of a number for the Box-Cox transform of samples."""
    x = floats(data)
    logarithm = xp.log(x)
    variance = xp.var(xp.special.boxcox(x, lmb), axis=axis)
    total = (lmb - 1) * xp.sum(logarithm, axis=axis)
    return (total - count_of(x, axis) / 2 * xp.log(variance)).astype(x.dtype)


def _yeojohnson(x, power):
    """Return boxcox1p(x, power) for positive numbers, and -boxcox1p(-x, 2 - power) for others."""
    is_positive = x >= 0
    above = xp.special.boxcox1p(xp.where(is_positive, x, 0.0), power)
    below = -xp.special.boxcox1p(xp.where(is_positive, 0.0, -x), 2 - xp.asarray(power))
    return xp.where(is_positive, above, below)


def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Return the Yeo-Johnson transform of samples by a number, which a traced call needs."""
    _refuse_search("yeojohnson", lmbda)
    return _yeojohnson(floats(x), lmbda)


@sampled("data")
def yeojohnson_llf(lmb, data, axis) -> Any:
    """Return the logarithm of the likelihood of a number for the Yeo-Johnson transform of samples."""
    x = floats(data)
    variance = xp.var(_yeojohnson(x, lmb), axis=axis)
    is_constant = variance < np.finfo(x.dtype).smallest_normal
    logarithm = xp.where(is_constant, -np.inf, xp.log(xp.where(is_constant, 1.0, variance)))
    total = xp.sum(xp.sign(x) * xp.log1p(xp.abs(x)), axis=axis)
    return (-count_of(x, axis) / 2 * logarithm + (lmb - 1) * total).astype(x.dtype)
