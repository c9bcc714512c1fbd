"""Define the functions of `scipy.stats` of angles, and transforms of samples towards a normal distribution."""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.scipy.stats.sampling import count_of, floats, sampled

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
