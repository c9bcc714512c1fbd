"""Define functions of `scipy.special` that count, and the gamma function of several dimensions, as compositions."""

from math import log, pi
from typing import Any

from anyshape import numpy as xp
from anyshape.numpy import special as core
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support.packages import scipy_special


def multigammaln(a: Any, d: Any) -> Any:
    """Return the logarithm of the gamma function of dimension d at a; it needs a > (d - 1) / 2.

    The result has the shape of a, and derivatives exist by a. Where a is too small it is the analytic continuation,
    which SciPy refuses with ValueError.
    """
    steps = 0.5 * xp.arange(d)
    return 0.25 * log(pi) * d * (d - 1) + xp.sum(core.gammaln(xp.asarray(a)[..., None] - steps), axis=-1)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return the number of ways to choose k of N things, as floats; `exact` needs concrete integers."""
    if exact or not is_traced(N, k):
        return scipy_special.comb(N, k, exact=exact, repetition=repetition)
    if repetition:
        N = N + k - 1
    possible = (k <= N) & (N >= 0) & (k >= 0)
    return xp.where(possible, core.binom(xp.where(possible, N, 1.0), xp.where(possible, k, 0.0)), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return the number of sequences of k of N things, as floats; `exact` needs concrete integers."""
    if exact or not is_traced(N, k):
        return scipy_special.perm(N, k, exact)
    possible = (k <= N) & (N >= 0) & (k >= 0)
    return xp.where(possible, core.poch(xp.where(possible, N - k + 1.0, 1.0), xp.where(possible, k, 0.0)), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Return n!, the gamma function at n + 1, as floats: 0 for negative n; `exact` needs concrete integers."""
    if exact or not is_traced(n):
        return scipy_special.factorial(n, exact, extend)
    return xp.where(n < 0, 0.0, core.gamma(xp.where(n < 0, 0.0, n) + 1.0))


def bernoulli(n: Any) -> Any:
    """Return the Bernoulli numbers B0 to Bn; n may be a size or a traced integer."""
    return _continued(scipy_special.bernoulli(300), n)


def euler(n: Any) -> Any:
    """Return the Euler numbers E0 to En; n may be a size or a traced integer."""
    return _continued(scipy_special.euler(300), n)


def _continued(numbers, n):
    """Return the first n + 1 numbers. The last four, zeros and infinities, go on for ever."""
    k, start = xp.arange(n + 1), len(numbers) - 4
    return xp.take(numbers, xp.where(k < start, k, start + ((k - start) & 3)))
