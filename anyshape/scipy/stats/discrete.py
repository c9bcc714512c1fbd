"""Define discrete families by their standard forms.

Source of the formulas: Johnson, Kemp and Kotz, Univariate Discrete Distributions, in the parameters of SciPy.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy import special as sc
from anyshape.scipy.stats.distribution import Family, Function
from anyshape.scipy.stats.powers import times_powers
from anyshape.scipy.stats.source import family

INF = np.inf


def _log_choose(n, k):
    """Return the logarithm of the binomial coefficient."""
    return -xp.log(n + 1) - sc.betaln(n - k + 1, k + 1)


MANY = 1e300  # failures that stand for infinitely many, whose logarithm has no derivative


def _of_trials(rest: Function, successes: Function, failures: Function) -> dict[str, Function]:
    """Return densities of families whose last parameter p is the probability of a success in each trial.

    They are exp(rest) p**successes (1 - p)**failures. Powers of 0 have derivatives that their logarithms lose.
    """

    def log_density(k, *shapes):
        p = shapes[-1]
        return rest(k, *shapes) + sc.xlogy(successes(k, *shapes), p) + sc.xlog1py(failures(k, *shapes), -p)

    def density(k, *shapes):
        p, s, f = shapes[-1], successes(k, *shapes), xp.minimum(failures(k, *shapes), MANY)
        never, always = p == 0, p == 1
        powers = xp.where(never, p, 1.0) ** xp.where(never, s, 1.0)
        powers = powers * xp.where(always, 1 - p, 1.0) ** xp.where(always, f, 1.0)
        others = sc.xlogy(xp.where(never, 0.0, s), xp.where(never, 1.0, p))
        others = others + sc.xlog1py(xp.where(always, 0.0, f), -xp.where(always, 0.0, p))
        return powers * xp.exp(rest(k, *shapes) + others)

    return {"log_density": log_density, "density": density}


def _first_integer(x, reaches):
    """Return the least integer from x on, or the one before where that reaches a probability too."""
    k = xp.ceil(x)
    return xp.where(reaches(k - 1), k - 1, k)


bernoulli: Family = family(
    "bernoulli",
    "mean var entropy",
    **_of_trials(lambda k, p: 0.0, lambda k, p: k, lambda k, p: 1 - k),
    sf=lambda k, p: p,
    ppf=lambda q, p: xp.where(q > 1 - p, 1.0, 0.0),
)

binom: Family = family(
    "binom",
    "mean var",
    **_of_trials(lambda k, n, p: _log_choose(n, k), lambda k, n, p: k, lambda k, n, p: n - k),
    cdf=lambda k, n, p: sc.betaincc(k + 1, n - k, p),
    sf=lambda k, n, p: sc.betainc(k + 1, n - k, p),
)

COUNTS = np.arange(161.0)  # of a mean below MANY_EVENTS, with all probability that a float can show
MANY_EVENTS = 50.0
# Gregory's coefficients times factorials: Watson's lemma for the mean of log(k!), from the power -1 of the mean on
_SERIES = (1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 8183 * 7 / 1440)


def _poisson_entropy(mu):
    """Return the sum over counts, and an asymptotic series where these are many."""
    is_large = mu > MANY_EVENTS
    few, many = xp.where((mu > 0) & ~is_large, mu, 1.0), xp.where(is_large, mu, MANY_EVENTS)
    log_density = COUNTS * xp.log(few)[..., None] - few[..., None] - sc.gammaln(COUNTS + 1)
    exact = -xp.sum(xp.exp(log_density) * log_density, axis=-1)
    rest: Any = 0.0
    for c in reversed(_SERIES):
        rest = (rest + c) / many
    value = xp.where(is_large, 0.5 * xp.log(2 * np.pi * np.e * many) - rest, exact)
    return xp.where(mu == 0, sc.entr(xp.where(mu == 0, mu, 1.0)), value)


poisson: Family = family(
    "poisson",
    "log_density cdf sf mean var",
    density=lambda k, mu: times_powers(lambda mu: -sc.gammaln(k + 1) - mu, mu, [(mu, k, sc.xlogy)]),
    entropy=_poisson_entropy,
)

geom: Family = family(
    "geom",
    "ppf mean var entropy",
    **_of_trials(lambda k, p: 0.0, lambda k, p: 1.0, lambda k, p: k - 1),
    logsf=lambda k, p: sc.xlog1py(k, -p),
)

nbinom: Family = family(
    "nbinom",
    **_of_trials(
        lambda k, n, p: sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n), lambda k, n, p: n, lambda k, n, p: k
    ),
    cdf=lambda k, n, p: sc.betainc(n, k + 1, p),
    sf=lambda k, n, p: sc.betaincc(n, k + 1, p),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / xp.square(p),
)

betabinom: Family = family(
    "betabinom",
    "mean var",
    log_density=lambda k, n, a, b: _log_choose(n, k) + sc.betaln(k + a, n - k + b) - sc.betaln(a, b),
)

hypergeom: Family = family(
    "hypergeom",
    "log_density",
    mean=lambda total, n, drawn: drawn * n / total,
    var=lambda total, n, drawn: drawn * (n / total) * (1 - n / total) * (total - drawn) / (total - 1),
)

randint: Family = family(
    "randint",
    "cdf sf mean var entropy",
    log_density=lambda k, low, high: -xp.log(high - low) + 0 * k,
    ppf=lambda q, low, high: xp.maximum(
        _first_integer(q * (high - low) + low - 1, lambda k: (k - low + 1) / (high - low) >= q), low
    ),
)

logser: Family = family(
    "logser", "mean var", safe=0.5, log_density=lambda k, p: k * xp.log(p) - xp.log(k) - xp.log(-xp.log1p(-p))
)

zipf: Family = family("zipf", safe=2.0, log_density=lambda k, a: -a * xp.log(k) - xp.log(sc.zeta(a, 1.0)))

dlaplace: Family = family(
    "dlaplace", "cdf mean var entropy", log_density=lambda k, a: xp.log(xp.tanh(0.5 * a)) - a * xp.abs(k)
)

planck: Family = family(
    "planck", "cdf sf logsf mean var entropy", log_density=lambda k, lambda_: xp.log(-xp.expm1(-lambda_)) - lambda_ * k
)

boltzmann: Family = family(
    "boltzmann",
    "cdf",
    mean=lambda lambda_, n: 1 / xp.expm1(lambda_) - n / xp.expm1(lambda_ * n),
    var=lambda lambda_, n: (
        0.25 / xp.square(xp.sinh(0.5 * lambda_))
        - xp.square(n) * xp.exp(-lambda_ * n) / xp.square(xp.expm1(-lambda_ * n))
    ),
    log_density=lambda k, lambda_, n: xp.log(xp.expm1(-lambda_) / xp.expm1(-lambda_ * n)) - lambda_ * k,
    sf=lambda k, lambda_, n: xp.exp(-lambda_ * (k + 1)) * xp.expm1(-lambda_ * (n - k - 1)) / xp.expm1(-lambda_ * n),
)


def _nhypergeom_log_density(k, total, n, r):
    """Return log of C(k + r - 1, k) C(total - r - k, n - k) / C(total, n); with r = 0 only k = 0 has a probability."""
    none = r == 0
    r = xp.where(none, 1.0, r)
    value = _log_choose(k + r - 1, k) + _log_choose(total - r - k, n - k) - _log_choose(total, n)
    return xp.where(none, xp.where(k == 0, 0.0, -INF), value)


nhypergeom: Family = family("nhypergeom", "mean var", log_density=_nhypergeom_log_density)
betanbinom: Family = family(
    "betanbinom",
    "mean var",
    log_density=lambda k, n, a, b: -xp.log(n + k) - sc.betaln(n, k + 1) + sc.betaln(a + n, b + k) - sc.betaln(a, b),
)


def _skellam_cdf(k, mu1, mu2):
    """Return the share up to k by distribution functions of noncentral chi-squared, each of points of its own side."""
    is_low = k < 0
    low = sc.chndtr(2 * mu2, -2 * xp.where(is_low, k, -1.0), 2 * mu1)
    return xp.where(is_low, low, 1 - sc.chndtr(2 * mu1, 2 * (xp.where(is_low, 0.0, k) + 1), 2 * mu2))


def _skellam_log_density(k, mu1, mu2):
    """Return the logarithm by a Bessel function; of small means without its leading power, which would cancel."""
    product, n = mu1 * mu2, xp.abs(k)
    is_small = product < 1e4
    small = n * xp.log(xp.where(k < 0, mu2, mu1)) - mu1 - mu2 - sc.gammaln(n + 1)
    small = small + xp.log(sc.hyp0f1(n + 1, xp.where(is_small, product, 1.0)))
    large = sc.ive(n, 2 * xp.sqrt(xp.where(is_small, 1.0, product)))
    large = 0.5 * k * xp.log(mu1 / mu2) - xp.square(xp.sqrt(mu1) - xp.sqrt(mu2)) + xp.log(large)
    return xp.where(is_small, small, large)


skellam: Family = family("skellam", "mean var", log_density=_skellam_log_density, cdf=_skellam_cdf)
