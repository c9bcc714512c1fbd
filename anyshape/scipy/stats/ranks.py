"""Define the functions of `scipy.stats` that rank samples: ranks, modes, and correlations of ranks."""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.scipy.stats.sampling import filled_up, sampled, without_nan

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
