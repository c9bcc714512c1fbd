"""Define the functions of `scipy.stats` of samples within limits or in order, and of moments without bias."""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.stats.sampling import count_of, filled_up, sampled, without_nan
from anyshape.transforms.control import check
from anyshape.transforms.control_flow.loops import while_loop


class SigmaclipResult(NamedTuple):
    """Samples within their limits, and the limits, with SciPy's fields."""

    clipped: Any
    lower: Any
    upper: Any


def _moments(x, inside, axis) -> tuple[Any, Any, Any]:
    """Return number, mean and sum of squared distances of the samples inside."""
    n = xp.sum(inside, axis=axis, keepdims=True).astype(x.dtype)
    some = xp.where(n == 0, 1.0, n)
    mean = xp.where(n == 0, np.nan, xp.sum(xp.where(inside, x, 0.0), axis=axis, keepdims=True) / some)
    mean = xp.where(xp.any(xp.isnan(x), axis=axis, keepdims=True), np.nan, mean)
    squares = xp.sum(xp.where(inside, x - mean, 0.0) ** 2, axis=axis, keepdims=True)
    n, mean, squares = (xp.squeeze(v, axis) for v in (n, mean, squares))
    return n, mean, squares


@sampled("a")
def trim_mean(a, proportiontocut, axis) -> Any:
    """Return the mean without a share of the least and of the greatest samples; the share is rounded down."""
    flat = xp.moveaxis(floats(a), axis, -1)
    n = count_of(flat, -1)
    cut = xp.trunc(proportiontocut * n)
    check(2 * cut <= n, "trim_mean: proportiontocut is too big")
    position = xp.arange(flat.shape[-1])
    inside = (position >= cut) & (position < n - cut)
    total = xp.sum(xp.where(inside, xp.sort(flat, axis=-1), 0.0), axis=-1)
    mean = (total / (n - 2 * cut)).astype(flat.dtype)
    return xp.where(xp.any(xp.isnan(flat), axis=-1), np.nan, mean)


def sigmaclip(a: Any, low: Any = 4.0, high: Any = 4.0) -> SigmaclipResult:
    """Return the samples that stay within standard deviations of their mean when others are left out again and again.

    Their number is a run-time size. The limits are the last ones, and have derivatives.
    """
    x = xp.ravel(floats(a))

    def limits(inside) -> tuple[Any, Any]:
        n, mean, squares = _moments(x, inside, 0)
        deviation = xp.sqrt(squares / n)
        return mean - low * deviation, mean + high * deviation

    def clip(state) -> tuple[Any, Any, Any]:
        inside, _, _ = state
        lower, upper = limits(inside)
        return inside & (x >= lower) & (x <= upper), inside, xp.asarray(False)

    everything = xp.ones_like(x, dtype=bool)
    unfinished = lambda state: state[2] | xp.any(state[0] != state[1])
    inside, before, _ = while_loop(unfinished, clip, (everything, everything, xp.asarray(True)))
    return SigmaclipResult(x[inside], *limits(before))


def scoreatpercentile(a, per, limit=(), interpolation_method: str = "fraction", axis=None) -> Any:
    """Return percentiles of samples within a pair of limits: between two samples, or the lower or higher of these."""
    methods = {"fraction": "linear", "lower": "lower", "higher": "higher"}
    method = methods[choice_of("scoreatpercentile", "interpolation_method", interpolation_method, tuple(methods))]
    x = floats(a)
    if limit:
        x = x[(limit[0] <= x) & (x <= limit[1])]
    return xp.percentile(filled_up(x, axis), per, axis=axis or 0, method=method)


def percentileofscore(a: Any, score: Any, kind: str = "rank", nan_policy: str = "propagate") -> Any:
    """Return the percentage of samples of a vector below scores; ties count as `kind` says. Derivatives are 0."""
    choice_of("percentileofscore", "kind", kind, ("rank", "strict", "weak", "mean"))
    x = without_nan("percentileofscore", floats(a), nan_policy)
    if x.ndim != 1:
        raise ArgumentError("percentileofscore", "a", f"has {x.ndim} axes", "pass a vector")
    scores = xp.asarray(score)[..., None]
    below, up_to = (xp.sum(compared, axis=-1) for compared in (x < scores, x <= scores))
    counts = {"strict": 2 * below, "weak": 2 * up_to, "mean": below + up_to}
    count = counts[kind] if kind in counts else below + up_to + (below < up_to)
    numbers = xp.sum(~xp.isnan(x))
    unknown = (numbers == 0 if nan_policy == "omit" else xp.any(xp.isnan(x))) | xp.isnan(scores[..., 0] * 1.0)
    return xp.where(unknown, np.nan, count * (50.0 / (numbers if nan_policy == "omit" else count_of(x, 0))))


# -- moments without bias, entropies, linear combinations of ordered samples


@sampled("values")
def differential_entropy(values, window_length, base, axis, method) -> Any:
    """Return the differential entropy of samples by the spacings of a window: SciPy's methods but "correa".

    By default the window has about the root of the number of samples. NaN unless these are more than twice as many.
    """
    choice_of("differential_entropy", "method", method, ("auto", "vasicek", "van es", "ebrahimi"))
    x = xp.sort(xp.moveaxis(floats(values), axis, -1), axis=-1)
    n = count_of(x, -1)
    m = xp.floor(xp.sqrt(n) + 0.5) if window_length is None else xp.asarray(window_length, np.float64)
    fits = (m >= 1) & (2 * m < n)
    m = xp.where(fits, m, 1.0)
    entropies = {name: estimate(x, n, m) for name, estimate in _ENTROPIES.items() if method in (name, "auto")}
    if method == "auto":
        of_many = xp.where(n <= 1000, entropies["ebrahimi"], entropies["vasicek"])
        entropies["auto"] = xp.where(n <= 10, entropies["van es"], of_many)
    entropy = entropies[method] if base is None else entropies[method] / float(np.log(base))
    return xp.where(fits, entropy, np.nan).astype(x.dtype)


def _spacings(x, before, after):
    """Return the distance of the samples some places before and after each; the ends stand for what is beyond."""
    position, last = xp.arange(x.shape[-1]), x.shape[-1] - 1
    ahead, behind = (xp.clip(position + k, 0, last).astype(np.int64) for k in (after, -before))
    return x[..., ahead] - x[..., behind]


def _vasicek(x, n, m):
    return xp.mean(xp.log(n / (2 * m) * _spacings(x, m, m)), axis=-1)


def _ebrahimi(x, n, m):
    i = xp.arange(1, x.shape[-1] + 1)
    weight = xp.where(i <= m, 1 + (i - 1) / m, 2.0)
    weight = xp.where(i >= n - m + 1, 1 + (n - i) / m, weight)
    return xp.mean(xp.log(n * _spacings(x, m, m) / (weight * m)), axis=-1)


def _van_es(x, n, m):
    position = xp.arange(x.shape[-1])
    has_both = position < n - m
    spacing = xp.where(has_both, _spacings(x, 0.0, m), 1.0)
    first = xp.sum(xp.where(has_both, xp.log((n + 1) / m * spacing), 0.0), axis=-1) / (n - m)
    harmonic = xp.sum(xp.where(position + 1 >= m, 1.0 / (position + 1), 0.0))
    return first + harmonic + xp.log(m) - xp.log(n + 1)


_ENTROPIES = {"vasicek": _vasicek, "van es": _van_es, "ebrahimi": _ebrahimi}


@sampled("sample")
def lmoment(sample, order, axis, sorted, standardize) -> Any:
    """Return L-moments of an order, or of each of a list of orders; by default 1 to 4, and ratios from 3 on."""
    orders = [1, 2, 3, 4] if order is None else order
    x = xp.moveaxis(floats(sample), axis, -1)
    x = x if sorted else xp.sort(x, axis=-1)
    n = count_of(x, -1)
    most = int(np.max(orders))
    position, k = xp.arange(x.shape[-1]), np.arange(most)
    binom = xp.special.binom
    weights = binom(position.astype(np.float64), k[:, None] * 1.0) / binom(n - 1.0, k * 1.0)[:, None] / n
    parts = xp.where(k[:, None] < n, weights, 0.0) @ x[..., None]
    signs = (-1.0) ** (k[:, None] - k) * _binomials(most)
    moments = xp.moveaxis((signs @ parts)[..., 0], -1, 0)
    if standardize and most > 2:
        moments = xp.concatenate([moments[:2], moments[2:] / moments[1]])
    known = xp.reshape(xp.asarray(k) < n, (most, *[1] * (moments.ndim - 1)))
    moments = xp.where(known, moments, np.nan).astype(x.dtype)
    return moments[np.asarray(orders) - 1]


def _binomials(most: int):
    """Return binom(r, k) binom(r + k, k) for rows r and columns k."""
    k = np.arange(float(most))
    return np.asarray(xp.special.binom(k[:, None], k) * xp.special.binom(k[:, None] + k, k))
