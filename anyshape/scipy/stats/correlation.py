"""Define ranks, correlations of ranks and the line of least squares, with the functions and fields of `scipy.stats`.

Probabilities of these tests are two-sided, as `alternative` is by default; others are refused for traced arrays.
"""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats, real_floats
from anyshape.scipy.stats.sampling import count_of, filled_up, sampled, without_nan
from anyshape.tracing.pytrees import register_class

METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """Modes, the most frequent values, and how often each occurs."""

    mode: Any
    count: Any


class Runs(NamedTuple):
    """Samples in ascending order along the last axis, with the bounds of each one's run of equal samples."""

    samples: Any
    order: Any
    starts: Any
    first: Any
    last: Any


def _runs(x) -> Runs:
    """Return the runs of equal samples along the last axis."""
    order = xp.argsort(x, axis=-1, stable=True)
    samples = xp.take_along_axis(x, order, -1)
    n = x.shape[-1]
    position = xp.broadcast_to(xp.arange(n), x.shape)
    after, before = samples[..., 1:], samples[..., :-1]
    changes = (after != before) & ~(xp.isnan(after) & xp.isnan(before))
    edge = xp.ones_like(samples[..., :1], dtype=bool)
    starts = xp.concatenate([edge, changes], axis=-1)
    ends = xp.concatenate([changes, edge], axis=-1)
    first = xp.maximum.accumulate(xp.where(starts, position, 0), axis=-1)
    last = xp.flip(xp.minimum.accumulate(xp.flip(xp.where(ends, position, n), -1), axis=-1), -1)
    return Runs(samples, order, starts, first, last)


def rankdata(a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate") -> Any:
    """Return ranks from 1 along an axis, or of all elements; ties have the rank that the method says.

    Where a sample is NaN, all ranks along the axis are, or with "omit" its own; so ranks of floats are float64 by each
    method. Ranks are piecewise constant: derivatives are 0.
    """
    if method not in METHODS:
        raise ArgumentError("rankdata", f"method={method!r}", "is not known", f"pass one of {', '.join(METHODS)}")
    x = without_nan("rankdata", xp.asarray(a), nan_policy)
    if axis is None:
        return rankdata(xp.ravel(x), method, axis=0, nan_policy=nan_policy)
    x = xp.moveaxis(x, axis, -1)
    runs = _runs(x)
    ranks = {
        "average": lambda: (runs.first + runs.last) / 2 + 1,
        "min": lambda: runs.first + 1,
        "max": lambda: runs.last + 1,
        "dense": lambda: xp.cumsum(runs.starts, axis=-1),
        "ordinal": lambda: xp.broadcast_to(xp.arange(x.shape[-1]) + 1, x.shape),
    }[method]()
    ranked = xp.take_along_axis(ranks, xp.argsort(runs.order, axis=-1), -1)
    if x.dtype.kind == "f":
        is_nan = xp.isnan(x)  # which is behind all numbers in order
        ranked = xp.where(is_nan if nan_policy == "omit" else xp.any(is_nan, axis=-1, keepdims=True), np.nan, ranked)
    return xp.moveaxis(ranked, -1, axis)


@sampled("a", least=0)
def mode(a, axis) -> ModeResult:
    """Return the most frequent values along an axis, the least of equally frequent ones, and their counts."""
    x = xp.asarray(a)
    x = xp.moveaxis(x, axis, -1)
    runs = _runs(filled_up(x, -1) if x.dtype.kind in "fc" else x)
    counts = runs.last - runs.first + 1
    counts = xp.where(xp.asarray(x.shape[-1]) == 0, 0, counts)
    best = xp.argmax(counts, axis=-1, keepdims=True)
    return ModeResult(*(xp.take_along_axis(v, best, -1)[..., 0] for v in (runs.samples, counts)))


class SignificanceResult(NamedTuple):
    """Correlation, and the probability of one as large without any."""

    statistic: Any
    pvalue: Any


class LinregressResult(tuple[Any, ...]):
    """Line of least squares: five fields that it unpacks to, and the standard error of its intercept beside them."""

    slope: Any = property(lambda self: self[0])
    intercept: Any = property(lambda self: self[1])
    rvalue: Any = property(lambda self: self[2])
    pvalue: Any = property(lambda self: self[3])
    stderr: Any = property(lambda self: self[4])
    intercept_stderr: Any

    def __repr__(self) -> str:
        fields = ("slope", "intercept", "rvalue", "pvalue", "stderr", "intercept_stderr")
        return f"LinregressResult({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


register_class(LinregressResult, lambda line: ((*line, line.intercept_stderr), None), lambda _, results: _line(results))


def _paired(function: str, x, y, alternative: str) -> tuple[Any, Any]:
    """Return two samples of equal length as floats."""
    if alternative != "two-sided":
        problem = "is not available for a traced array"
        raise ArgumentError(function, f"alternative={alternative!r}", problem, "pass alternative='two-sided'")
    x, y = floats(x), floats(y)
    if x.ndim != y.ndim:
        raise ArgumentError(function, "y", f"has {y.ndim} axes, and x {x.ndim}", "pass samples of equal shapes")
    return x, y


@sampled("a", "b", paired=True, least=0, vectors=True)
def spearmanr(a, b, alternative) -> SignificanceResult:
    """Return the correlation of the ranks of two vectors, and the probability of one as large by Student's t."""
    if b is None or xp.ndim(a) != 1 or xp.ndim(b) != 1:
        raise ArgumentError("spearmanr", "a", "is not one of two vectors", "pass two vectors")
    x, y = _paired("spearmanr", a, b, alternative)
    context_of("spearmanr", x, y).require_equal(sizes(x)[0], sizes(y)[0], "a and b have equal lengths")
    r = xp.corrcoef(rankdata(x), rankdata(y))[0, 1]
    freedom = count_of(x, 0) - 2
    t = r * xp.sqrt(freedom / ((r + 1.0) * (1.0 - r)))
    return SignificanceResult(r, _two_sided(t, freedom))


def _two_sided(t, freedom):
    """Return the probability of a number as large by Student's t distribution."""
    return 2 * xp.special.stdtr(freedom, -xp.abs(t))


def _line(results: tuple[Any, ...]) -> LinregressResult:
    line = LinregressResult(results[:5])
    line.intercept_stderr = results[5]
    return line


@sampled("x", "y", paired=True, least=2, finish=_line, vectors=True)
def linregress(x, y, alternative) -> Any:
    """Return the line of least squares through points with coordinates x and y, vectors of at least two elements."""
    x, y = _paired("linregress", x, y, alternative)
    if x.ndim != 1:
        raise ArgumentError("linregress", "x", f"has {x.ndim} axes", "pass vectors")
    context_of("linregress", x, y).require_equal(sizes(x)[0], sizes(y)[0], "x and y have equal lengths")
    x, y = (filled_up(real_floats(v), 0, 2) for v in (x, y))
    n = count_of(x, 0)
    mean_x, mean_y = xp.mean(x), xp.mean(y)
    dx, dy = x - mean_x, y - mean_y
    xx, xy, yy = (xp.mean(v) for v in (dx * dx, dx * dy, dy * dy))
    degenerate = (xx == 0) | (yy == 0)
    r = xp.where(degenerate, 0.0, xp.clip(xy / xp.sqrt(xp.where(degenerate, 1.0, xx * yy)), -1.0, 1.0))
    slope = xy / xx
    freedom = n - 2
    some = xp.where(freedom > 0, freedom, 1.0)
    error = xp.where(freedom > 0, xp.sqrt((1 - r**2) * yy / xx / some), 0.0)
    tiny = 1.0e-20
    t = r * xp.sqrt(some / ((1.0 - r + tiny) * (1.0 + r + tiny)))
    pvalue = xp.where(freedom > 0, _two_sided(t, some), xp.where(yy == 0, 1.0, 0.0))
    pvalue, error = (xp.where(xp.isnan(slope), np.nan, v) for v in (pvalue, error))
    return slope, mean_y - slope * mean_x, r, pvalue, error, error * xp.sqrt(xx + mean_x**2)
