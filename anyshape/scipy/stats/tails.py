"""Probabilities of the statistics of tests, and how tests take their samples."""

from collections.abc import Sequence
from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, result_type
from anyshape.scipy.stats.sampling import floats

ALTERNATIVES = ("two-sided", "less", "greater")


def student(name: str, t: Any, freedom: Any, alternative: str) -> Any:
    """Return the probability beyond a statistic of Student's t distribution."""
    choice_of(name, "alternative", alternative, ALTERNATIVES)
    signed = {"less": t, "greater": -t, "two-sided": -xp.abs(t)}[alternative]
    one = xp.special.stdtr(freedom, signed).astype(t.dtype)
    return 2 * one if alternative == "two-sided" else one


def chi_squared(statistic: Any, freedom: Any) -> Any:
    """Return the probability above a statistic of the chi-squared distribution."""
    return xp.special.chdtrc(freedom, statistic).astype(statistic.dtype)


def along_last(name: str, samples: Sequence[Any], axis: Any, least: int = 2) -> list[Any]:
    """Return samples as floats of one dtype along the last axis; other axes broadcast."""
    if len(samples) < least:
        raise ArgumentError(name, "the call", f"has {len(samples)} samples", f"pass {least} samples or more")
    arrays = [floats(x) for x in samples]
    dtype = result_type(*arrays)
    moved = [xp.ravel(x) if axis is None else xp.moveaxis(x, axis, -1) for x in arrays]
    batch = xp.broadcast_shapes(*(x.shape[:-1] for x in moved))
    return [xp.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for x in moved]
