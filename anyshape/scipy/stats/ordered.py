"""Define the functions of `scipy.stats` that depend on the order of samples: tests of ranks, slopes, and distances.

A statistic of ranks is a step function of the samples. SciPy computes it when the program runs, and derivatives are 0.
"""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.stats.correlation import SignificanceResult
from anyshape.scipy.stats.distribution import Function
from anyshape.scipy.stats.sampling import count_of, filled_up, sampled, vectors_along
from anyshape.support.packages import scipy_stats
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import register_class, tree_map
from anyshape.transforms.control import stop_gradient


@dataclass(frozen=True)
class CramerVonMisesResult:
    """Statistic and probability, which do not unpack, as in SciPy."""

    statistic: Any
    pvalue: Any


register_class(
    CramerVonMisesResult,
    lambda result: ((result.statistic, result.pvalue), None),
    lambda _, results: CramerVonMisesResult(*results),
)


class TheilslopesResult(NamedTuple):
    """Median of slopes, its intercept, and the limits of an interval of confidence, with SciPy's fields."""

    slope: Any
    intercept: Any
    low_slope: Any
    high_slope: Any


class SiegelslopesResult(NamedTuple):
    """Repeated medians of slopes and of intercepts, with SciPy's fields."""

    slope: Any
    intercept: Any


def _both(result) -> tuple[Any, Any]:
    return result.statistic, result.pvalue


@functools.lru_cache(maxsize=256)
def _dtypes(name: str, kinds: tuple[np.dtype, ...]) -> list[np.dtype]:
    """Return the dtypes of SciPy's results for samples of these dtypes, as a small call shows them."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        small = [np.sin(np.arange(1.0, 9.0) * (j + 1)).astype(kind) for j, kind in enumerate(kinds)]
        return [np.asarray(v).dtype for v in _both(getattr(scipy_stats, name)(*small))]


def _ranked(name: str, count: int | None, default_axis: int | None, paired: bool) -> Callable[..., Any]:
    """Return the function that calls a test of ranks when the program runs."""

    def function(*samples, axis=default_axis, **options):
        if is_traced(*samples, *options.values()):
            keepdims = options.pop("keepdims", False)
            _check_call(name, count, samples, options)
            vectors, axes = vectors_along([floats(x) for x in samples], axis, paired=paired)
            result = _at_run_time(name, vectors, options)
            return tree_map(lambda x: xp.expand_dims(x, axes), result) if keepdims else result
        keywords = options if axis == default_axis else {**options, "axis": axis}
        return getattr(scipy_stats, name)(*samples, **keywords)

    functools.update_wrapper(function, getattr(scipy_stats, name), assigned=(), updated=())  # for its signature
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the statistic and the probability of `{name}` along an axis; derivatives are 0."
    return function


def _check_call(name: str, count: int | None, samples, options) -> None:
    if count is not None and len(samples) != count:
        raise ArgumentError(name, "the call", f"has {len(samples)} samples", f"pass {count}, and options by name")
    if is_traced(*options.values()):
        raise ArgumentError(name, "an option", "is traced", "pass Python values for options")


def _at_run_time(name: str, vectors, options):
    """Return the results of a callback along the last axis."""
    arrays = [stop_gradient(x) for x in vectors]
    batch = arrays[0].shape[:-1]
    keywords = {**options, "axis": -1} if batch else options
    kinds = _dtypes(name, tuple(x.dtype for x in arrays))

    def run(*xs) -> tuple[Any, ...]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of small samples, whose results are NaN
            results = _both(getattr(scipy_stats, name)(*xs, **keywords))
        return tuple(np.asarray(v, kind) for v, kind in zip(results, kinds, strict=True))

    result = CramerVonMisesResult if name == "cramervonmises_2samp" else SignificanceResult
    return result(*pure_callback(run, tuple(ShapeDtypeStruct(batch, kind) for kind in kinds), *arrays))


# the number of samples (None: any), what `axis` is by default, and whether samples are paired
ansari: Function = _ranked("ansari", 2, 0, False)
brunnermunzel: Function = _ranked("brunnermunzel", 2, 0, False)
chatterjeexi: Function = _ranked("chatterjeexi", 2, 0, True)
cramervonmises_2samp: Function = _ranked("cramervonmises_2samp", 2, 0, False)
fligner: Function = _ranked("fligner", None, 0, False)
friedmanchisquare: Function = _ranked("friedmanchisquare", None, 0, True)
kendalltau: Function = _ranked("kendalltau", 2, None, True)
kruskal: Function = _ranked("kruskal", None, 0, False)
ks_2samp: Function = _ranked("ks_2samp", 2, 0, False)
mannwhitneyu: Function = _ranked("mannwhitneyu", 2, 0, False)
mood: Function = _ranked("mood", 2, 0, False)
ranksums: Function = _ranked("ranksums", 2, 0, False)
weightedtau: Function = _ranked("weightedtau", 2, None, True)
wilcoxon: Function = _ranked("wilcoxon", None, 0, True)


def tiecorrect(rankvals: Any) -> Any:
    """Return the factor by which ties lessen the variance of a vector of ranks, 1 without ties."""
    ranks = xp.sort(xp.asarray(rankvals))
    n = count_of(ranks, 0)
    equal = xp.sum(ranks[:, None] == ranks[None, :], axis=1).astype(np.float64)
    return xp.where(n < 2, 1.0, 1.0 - xp.sum(equal**2 - 1) / xp.where(n < 2, 1.0, n**3 - n))


# -- slopes


def _points(name: str, y, x) -> tuple[Any, Any]:
    y = xp.ravel(floats(y)).astype(np.float64)
    x = xp.arange(y.shape[0]) * 1.0 if x is None else xp.ravel(floats(x)).astype(np.float64)
    return y, x


def _ties(x):
    """Return the sum of k (k - 1) (2 k + 5) over groups of k equal numbers."""
    k = xp.sum(x[:, None] == x[None, :], axis=1)
    return xp.sum((k - 1.0) * (2 * k + 5.0))


@sampled("y", "x", axis=None, paired=True, least=2, vectors=True)
def theilslopes(y, x, alpha, method) -> TheilslopesResult:
    """Return the median of the slopes between points, an intercept, and limits of the slope for a confidence.

    For vectors y and x, by default 0, 1 and so on. `method` "joint" takes the median of the intercepts of points.
    """
    choice_of("theilslopes", "method", method, ("separate", "joint"))
    y, x = (filled_up(v, 0) for v in _points("theilslopes", y, x))
    dx, dy = (v[:, None] - v[None, :] for v in (x, y))
    is_pair = dx > 0
    slopes = xp.sort(dy[is_pair] / dx[is_pair])
    total, slopes = count_of(slopes, 0), filled_up(slopes, 0)
    slope = xp.median(slopes)
    if method == "joint":
        intercept = xp.median(y - slope * x)
    else:
        intercept = xp.median(y) - slope * xp.median(x)
    n = count_of(y, 0)
    variance = (n * (n - 1) * (2 * n + 5) - _ties(x) - _ties(y)) / 18
    level = alpha if not is_traced(alpha) and alpha <= 0.5 else 1 - alpha
    reach = xp.special.ndtri(level / 2.0) * xp.sqrt(variance)
    upper = xp.minimum(xp.rint((total - reach) / 2.0), total - 1)
    lower = xp.maximum(xp.rint((total + reach) / 2.0) - 1, 0.0)
    known = (variance >= 0) & ~xp.isnan(slope)
    low, high = (slopes[xp.where(known, position, 0.0).astype(np.int64)] for position in (lower, upper))
    return TheilslopesResult(slope, intercept, xp.where(known, low, np.nan), xp.where(known, high, np.nan))


@sampled("y", "x", axis=None, paired=True, least=2, vectors=True)
def siegelslopes(y, x, method) -> SiegelslopesResult:
    """Return the repeated median of the slopes between points, and of the intercepts; see `theilslopes`."""
    choice_of("siegelslopes", "method", method, ("hierarchical", "separate"))
    y, x = (filled_up(v, 0) for v in _points("siegelslopes", y, x))
    dx, dy = (v[:, None] - v[None, :] for v in (x, y))
    other = dx != 0
    slopes = xp.where(other, dy / xp.where(other, dx, 1.0), np.nan)
    slope = xp.median(xp.nanmedian(slopes, axis=1))
    if method == "hierarchical":
        return SiegelslopesResult(slope, xp.median(y - slope * x))
    crossed = xp.where(other, (y * x[:, None] - y[:, None] * x) / xp.where(other, dx, 1.0), np.nan)
    return SiegelslopesResult(slope, xp.median(xp.nanmedian(crossed, axis=1)))


# -- distances of distributions


def _cdf_distance(name: str, p: int, values, weights):
    """Return the p-norm of the difference of two distribution functions of samples with weights."""
    u, v = (floats(x).astype(np.float64) for x in values)
    for x in (u, v):
        context_of(name, x).require(at_least(sizes(x)[0], 1), "samples are needed")
    points = xp.sort(xp.concatenate([u, v]))
    gaps = xp.diff(points)
    functions = []
    for x, w in zip((u, v), weights, strict=True):
        order = xp.argsort(x)
        count = xp.searchsorted(x[order], points[:-1], "right")
        if w is None:
            functions.append(count / count_of(x, 0))
        else:
            sums = xp.concatenate([xp.zeros(1), xp.cumsum(xp.asarray(w)[order] * 1.0)])
            functions.append(sums[count] / sums[-1])
    difference = xp.abs(functions[0] - functions[1])
    if p == 1:
        return xp.sum(difference * gaps)
    square = xp.sum(difference**2 * gaps)
    return xp.where(square == 0, 0.0, xp.sqrt(xp.where(square == 0, 1.0, square)))


def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    """Return the earth mover's distance of two vectors of samples, which may have weights."""
    return _cdf_distance("wasserstein_distance", 1, (u_values, v_values), (u_weights, v_weights))


def energy_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    """Return the energy distance of two vectors of samples, which may have weights; its slope at 0 is 0."""
    return 2**0.5 * _cdf_distance("energy_distance", 2, (u_values, v_values), (u_weights, v_weights))
