"""Define the tests of `scipy.stats` whose statistics are smooth functions of the samples, with SciPy's formulas.

Samples lie along `axis`, and `sampling` says what may stand for it. A result unpacks to statistic and probability.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.stats.correlation import SignificanceResult
from anyshape.scipy.stats.lent import pearsonr
from anyshape.scipy.stats.sampling import along_last, count_of, filled_up, sampled
from anyshape.scipy.stats.trimmed import trim_mean
from anyshape.transforms.control import check

ALTERNATIVES = ("two-sided", "less", "greater")


def student(name: str, t: Any, freedom: Any, alternative: str) -> Any:
    """Return the probability beyond a statistic of Student's t distribution."""
    choice_of(name, "alternative", alternative, ALTERNATIVES)
    signed = {"less": t, "greater": -t, "two-sided": -xp.abs(t)}[alternative]
    one = xp.special.stdtr(freedom, signed).astype(t.dtype)
    return 2 * one if alternative == "two-sided" else one


def _count(x):
    return count_of(x, -1).astype(x.dtype)


# -- tests of means


@sampled("a", "b")
def ttest_ind(a, b, axis, equal_var, alternative, trim, method) -> SignificanceResult:
    """Return Student's t of the means of two samples, or Welch's without `equal_var`, and its probability."""
    if method is not None or is_traced(trim) or trim:
        raise ArgumentError("ttest_ind", "trim or method", "is not available for traced arrays", "leave it out")
    samples = along_last("ttest_ind", [a, b], axis)
    (m1, v1, n1), (m2, v2, n2) = ((xp.mean(x, axis=-1), xp.var(x, axis=-1, ddof=1), _count(x)) for x in samples)
    if equal_var:
        v1, v2 = xp.where(n1 == 1, 0.0, v1), xp.where(n2 == 1, 0.0, v2)
        freedom = n1 + n2 - 2.0
        deviation = xp.sqrt(((n1 - 1) * v1 + (n2 - 1) * v2) / freedom * (1.0 / n1 + 1.0 / n2))
    else:
        s1, s2 = v1 / n1, v2 / n2
        freedom = (s1 + s2) ** 2 / (s1**2 / (n1 - 1) + s2**2 / (n2 - 1))
        freedom = xp.where(xp.isnan(freedom), 1.0, freedom)
        deviation = xp.sqrt(s1 + s2)
    t = (m1 - m2) / deviation
    return SignificanceResult(t, student("ttest_ind", t, freedom, alternative))


@sampled()
def levene(*samples, center, proportiontocut, axis) -> SignificanceResult:
    """Return Levene's statistic of equal variances, by distances from medians, means or trimmed means.

    SciPy's own code takes an axis since 1.17 alone.
    """
    choice_of("levene", "center", center, ("median", "mean", "trimmed"))
    middle = {
        "median": lambda x: xp.median(x, axis=-1, keepdims=True),
        "mean": lambda x: xp.mean(x, axis=-1, keepdims=True),
        "trimmed": lambda x: trim_mean(x, proportiontocut, -1)[..., None],
    }[center]
    groups = along_last("levene", samples, axis)
    distances = [xp.abs(x - middle(x)) for x in groups]
    means, counts = [xp.mean(d, axis=-1) for d in distances], [_count(x) for x in groups]
    n, k = sum(counts), len(groups)
    mean = sum(c * m for c, m in zip(counts, means, strict=True)) / n
    between = sum(c * (m - mean) ** 2 for c, m in zip(counts, means, strict=True))
    within = sum(xp.sum((d - m[..., None]) ** 2, axis=-1) for d, m in zip(distances, means, strict=True))
    w = (n - k) * between / ((k - 1.0) * within)
    return SignificanceResult(w, xp.special.fdtrc(k - 1.0, n - k, w).astype(w.dtype))


# -- tests of frequencies, and of a number with a yes or no


@sampled("x", "y", paired=True, least=2, vectors=True)
def pointbiserialr(x, y) -> SignificanceResult:
    """Return the correlation of truth values and numbers, and the probability of one as large."""
    first, second = (filled_up(floats(v), 0, 2) for v in (xp.asarray(x).astype(np.float64), y))
    return pearsonr(first, second)


# -- several probabilities


def false_discovery_control(ps: Any, *, axis: Any = 0, method: str = "bh") -> Any:
    """Return probabilities adjusted for the false discovery rate, by Benjamini and Hochberg ("bh") or Yekutieli."""
    choice_of("false_discovery_control", "method", method, ("bh", "by"))
    p = floats(ps)
    check(xp.all(p == xp.clip(p, 0.0, 1.0)), "false_discovery_control: ps must be between 0 and 1")
    if axis is None:
        p, axis = xp.ravel(p), 0
    p = xp.moveaxis(p, axis, -1)
    order = xp.argsort(p, axis=-1, stable=True)
    position = xp.arange(1, p.shape[-1] + 1).astype(p.dtype)
    scaled = xp.take_along_axis(p, order, -1) * (_count(p) / position)
    if method == "by":
        scaled = scaled * xp.sum(1 / position)
    least = xp.flip(xp.minimum.accumulate(xp.flip(scaled, -1), axis=-1), -1)
    back = xp.take_along_axis(least, xp.argsort(order, axis=-1), -1)
    return xp.moveaxis(xp.clip(back, 0.0, 1.0), -1, axis)
