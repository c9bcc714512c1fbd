"""Define correlations of ranks and the line of least squares, with the functions and fields of `scipy.stats`.

Probabilities of these tests are two-sided, as `alternative` is by default; others are refused for traced arrays.
"""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats, real_floats
from anyshape.scipy.stats.ranks import rankdata
from anyshape.scipy.stats.sampling import count_of, filled_up, sampled
from anyshape.tracing.pytrees import register_class


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
