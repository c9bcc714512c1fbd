"""Define continuous families on all reals or on an interval by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import e, log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.distribution import Function, constant
from anyshape.scipy.stats.powers import (
    FAR,
    beta_quantile,
    is_cusp,
    log1p_square,
    log_angle,
    normal_log_density,
    of_powers,
    of_score,
    power_of_size,
)
from anyshape.scipy.stats.source import family
from anyshape.transforms.control import stop_gradient

_SKEWNORM_REACH = 30.0


norm = family("norm", "log_density cdf sf logcdf logsf ppf isf mean var entropy", closed_quantiles=True)

uniform = family("uniform", "cdf ppf mean var entropy", closed_quantiles=True, log_density=lambda z: 0.0 * z)


def by_half(x: Any, middle: float, below: Function, above: Function) -> Any:
    """Return one function of x below a middle and another one from there on, each of points of its own half alone.

    Derivatives at the middle are of the second function.
    """
    is_below = x < middle
    return xp.where(is_below, below(xp.where(is_below, x, middle)), above(xp.where(is_below, middle, x)))


def _symmetric(cdf: Function, log_lower: Function | None = None) -> dict[str, Function]:
    """Return the functions of a distribution that is symmetric about 0, accurate in both tails."""
    lower = log_lower or (lambda z, *shapes: xp.log(cdf(z, *shapes)))

    def logcdf(z, *shapes):
        return by_half(z, 0.0, lambda z: lower(z, *shapes), lambda z: xp.log1p(-cdf(-z, *shapes)))

    sf, logsf = (lambda z, *shapes, f=f: f(-z, *shapes) for f in (cdf, logcdf))
    return {"cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf}


def _cauchy_cdf(z):
    """Return the probability up to z, accurate where it is small."""
    return xp.arctan2(1.0, -z) / pi


def _cauchy_quantile(q):
    """Return -1 / tan(pi q) by sines, whose derivatives do not cancel at the median."""
    below = lambda q: xp.sin(pi * (0.5 - q)) / xp.sin(pi * q)
    return by_half(q, 0.5, lambda q: -below(q), lambda q: below(1 - q))


cauchy = family(
    "cauchy",
    "mean var entropy",
    closed_quantiles=True,
    log_density=lambda z: -log1p_square(z) - log(pi),
    **_symmetric(_cauchy_cdf, lambda z: log_angle(-z) - log(pi)),
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)


def _laplace_cdf(z):
    return by_half(z, 0.0, lambda z: 0.5 * xp.exp(z), lambda z: 1 - 0.5 * xp.exp(-z))


def _laplace_logcdf(z):
    return by_half(z, 0.0, lambda z: z - log(2), lambda z: xp.log1p(-0.5 * xp.exp(-z)))


def _laplace_quantile(q):
    return by_half(q, 0.5, lambda q: xp.log(2 * q), lambda q: -xp.log(2 * (1 - q)))


laplace = family(
    "laplace",
    "mean var entropy",
    closed_quantiles=True,
    log_density=lambda z: -xp.abs(z) - log(2),
    cdf=_laplace_cdf,
    logcdf=_laplace_logcdf,
    sf=lambda z: _laplace_cdf(-z),
    logsf=lambda z: _laplace_logcdf(-z),
    ppf=_laplace_quantile,
    isf=lambda q: -_laplace_quantile(q),
)


logistic = family(
    "logistic",
    "cdf sf logcdf logsf ppf isf mean var entropy",
    closed_quantiles=True,
    log_density=lambda z: sc.log_expit(z) + sc.log_expit(-z),
)


def _hypsecant_cdf(z):
    return by_half(z, 0.0, lambda z: 2 / pi * xp.arctan(xp.exp(z)), lambda z: 1 - 2 / pi * xp.arctan(xp.exp(-z)))


hypsecant = family(
    "hypsecant",
    "ppf isf mean var entropy",
    log_density=lambda z: log(2 / pi) + 0.5 * (sc.log_expit(2 * z) + sc.log_expit(-2 * z)),
    **_symmetric(_hypsecant_cdf),
)


def _student_log_density(z, df):
    is_normal = xp.isinf(df)
    nu = xp.where(is_normal, 1.0, df)  # both choices are computed
    value = -0.5 * (nu + 1) * log1p_square(z, nu) - 0.5 * xp.log(nu) - sc.betaln(0.5 * nu, 0.5)
    return xp.where(is_normal, normal_log_density(z), value)


def _student_entropy(df):
    is_normal = xp.isinf(df)
    nu = xp.where(is_normal, 1.0, df)
    half = 0.5 * (nu + 1)
    value = half * (sc.digamma(half) - sc.digamma(0.5 * nu)) + 0.5 * xp.log(nu) + sc.betaln(0.5 * nu, 0.5)
    return xp.where(is_normal, 0.5 * log(2 * pi * e), value)


def _student_far(z, df) -> tuple[Any, Any, Any]:
    """Return where the leading term of the lower tail serves, its logarithm, and the other points."""
    is_far = z < -FAR * xp.sqrt(df)
    distance, nu = xp.where(is_far, -z, 1.0), xp.where(is_far, df, 1.0)
    logarithm = 0.5 * nu * (xp.log(nu) - 2 * xp.log(distance)) - xp.log(nu) - sc.betaln(0.5 * nu, 0.5)
    return is_far, logarithm, xp.where(is_far, 0.0, z)


def _student_cdf(z, df):
    is_far, logarithm, near = _student_far(z, df)
    return xp.where(is_far, xp.exp(logarithm), sc.stdtr(df, near))


def _student_log_lower(z, df):
    """Return the logarithm of the probability up to z, also where slopes of the probability underflow."""
    is_far, logarithm, near = _student_far(z, df)
    return xp.where(is_far, logarithm, xp.log(sc.stdtr(df, near)))


t = family(
    "t",
    "ppf isf mean var",
    log_density=_student_log_density,
    **_symmetric(_student_cdf, _student_log_lower),
    entropy=_student_entropy,
)


GENNORM_NEAR = 1e-2  # values of abs(z)**beta at which the series serves: 8 terms of it are exact there


def _gennorm_power(z, beta):
    """Return abs(z)**beta. At 0 it is constant for exponents below 2, which have no second derivative there.

    So the first two derivatives of the distribution function and of the quantile are right at the median.
    """
    at_cusp = is_cusp(z, beta)
    return xp.where(at_cusp, 0.0, power_of_size(xp.where(at_cusp, 1.0, z), beta))


def _third_derivative(z, beta):
    """Return zeros whose third derivative by z is infinite where the density has no finite second one."""
    at_cusp = is_cusp(z, beta)
    return xp.where(at_cusp, xp.where(at_cusp, z, 1.0) ** 2.5, 0.0)


def _gennorm_series(power, beta):
    """Return gamma(1 + 1 / beta) (2 cdf(z) - 1) / z by the series DLMF 8.7.1 in abs(z)**beta."""
    total = 0.0 * power
    for k in reversed(range(8)):
        total = 1 / (1 + k * beta) - power / (k + 1) * total
    return total


def _gennorm_end(beta):
    """Return a point beyond which the density is exactly 0."""
    return stop_gradient(1000.0 ** (1 / beta))


def _gennorm_share(z, beta, power):
    """Return 2 cdf(z) - 1 by z and the power of its size, accurate near 0."""
    is_near = power < GENNORM_NEAR
    near = z * _gennorm_series(xp.where(is_near, power, 0.0), beta) * xp.exp(-sc.gammaln(1 + 1 / beta))
    return xp.where(is_near, near, xp.sign(z) * sc.gammainc(1 / beta, xp.where(is_near, 1.0, power)))


def _gennorm_cdf(z, beta):
    """Return the probability up to z, accurate where it is small, and a smooth function of beta at 0."""
    end = _gennorm_end(beta)
    z = xp.clip(z, -end, end)
    is_far = z < -1
    far = sc.gammaincc(1 / beta, xp.where(is_far, -z, 1.0) ** beta)
    z = xp.where(is_far, 0.0, z)
    near = 1 + _gennorm_share(z, beta, _gennorm_power(z, beta)) - _third_derivative(z, beta)
    return 0.5 * xp.where(is_far, far, near)


def _gennorm_quantile(share, rest, beta):
    """Return z by 2 cdf(z) - 1 and by 1 minus the size of it: near 0 by Newton's method, elsewhere from the tail."""
    target = share * xp.exp(sc.gammaln(1 + 1 / beta))
    is_near = _gennorm_power(target, beta) < GENNORM_NEAR
    is_tiny = is_near & (target != 0) & (stop_gradient(xp.abs(target) ** beta) < 1e-20)
    tiny = xp.where(is_tiny, target, 0.0)  # the quantile itself: second derivatives of its power would overflow
    near = target = xp.where(is_near & ~is_tiny, target, 0.0)
    for _ in range(3):
        power = _gennorm_power(near, beta)
        near = near - (near * _gennorm_series(power, beta) - target) * xp.exp(power)
    near = near + _third_derivative(target, beta) + tiny
    far = sc.gammainccinv(1 / beta, xp.where(is_near, 0.2, rest)) ** (1 / beta)
    return xp.where(is_near, near, xp.sign(share) * far)


def _gennorm_ppf(q, beta):
    return _gennorm_quantile(2 * (q - 0.5), 2 * xp.minimum(q, 1 - q), beta)


def _gennorm_log_density(z, beta):
    return xp.log(0.5 * beta) - sc.gammaln(1 / beta) - power_of_size(z, beta)


gennorm = family(
    "gennorm",
    "mean var entropy",
    log_density=_gennorm_log_density,
    **_symmetric(_gennorm_cdf),
    ppf=_gennorm_ppf,
    isf=lambda q, beta: -_gennorm_ppf(q, beta),
)
halfgennorm = family(
    "halfgennorm",
    "log_density density",
    cdf=lambda z, b: _gennorm_share(z, b, z**b),
    sf=lambda z, b: 2 * _gennorm_cdf(-z, b),
    ppf=lambda q, b: _gennorm_quantile(q, 1 - q, b),
    isf=lambda q, b: _gennorm_quantile(1 - q, q, b),
)

_STEPS, _WEIGHTS = (0.5 * _SKEWNORM_REACH * x for x in np.polynomial.legendre.leggauss(32))
_STEPS = _STEPS + 0.5 * _SKEWNORM_REACH


def _skewnorm_log_density(z, a):
    return log(2) + normal_log_density(z) + sc.log_ndtr(a * z)


def _skewnorm_probability(z, a, finish: Function, finish_log: Function):
    """Return a function of the probability up to z. Where the difference cancels it is an integral over the tail.

    The density falls from z at least as an exponential function does, in steps of the length 1 here.
    """
    z = xp.maximum(z, -1e150)  # whose square does not overflow
    plain = sc.ndtr(z) - 2 * sc.owens_t(z, a)
    in_tail = (a > 0) & (z < 0) & (plain < 1e-3)
    end, a = xp.where(in_tail, z, -1.0), xp.where(in_tail, a, 1.0)
    scale = 1 / (xp.sqrt(1 + a**2) - (1 + a**2) * end)
    step = _STEPS * scale[..., None]
    start, end = sc.log_ndtr(a * end), end[..., None]
    falls = step * end - 0.5 * step**2 + sc.log_ndtr(a[..., None] * (end - step)) - start[..., None]
    tail = _skewnorm_log_density(end[..., 0], a) + xp.log(scale * (xp.exp(falls) @ _WEIGHTS))
    return xp.where(in_tail, finish_log(tail), finish(xp.where(in_tail, 0.5, plain)))


def _skewnorm_logcdf(z, a):
    return _skewnorm_probability(z, a, xp.log, lambda p: p)


skewnorm = family(
    "skewnorm",
    "mean var",
    log_density=_skewnorm_log_density,
    logcdf=_skewnorm_logcdf,
    logsf=lambda z, a: _skewnorm_logcdf(-z, -a),
)

johnsonsu = family(
    "johnsonsu",
    "ppf isf mean var",
    log_density=lambda z, a, b: xp.log(b) - 0.5 * log1p_square(z) + normal_log_density(a + b * xp.arcsinh(z)),
    **of_score(lambda z, a, b: a + b * xp.arcsinh(z)),
)

# -- on an interval

beta = family(
    "beta",
    "cdf sf mean var entropy",
    **of_powers(lambda z, a, b: -sc.betaln(a, b), lambda a, b: a - 1, lambda a, b: b - 1),
    ppf=lambda q, a, b: beta_quantile(q, a, b)[0],
    isf=lambda q, a, b: beta_quantile(q, b, a)[1],
)

arcsine = family("arcsine", "cdf ppf mean var entropy", **of_powers(lambda z: -log(pi), constant(-0.5), constant(-0.5)))

powerlaw = family(
    "powerlaw",
    "cdf logcdf ppf mean var entropy",
    **of_powers(lambda z, a: 0.0, lambda a: a - 1, factor=lambda a: a),
    sf=lambda z, a: -xp.expm1(a * xp.log(z)),
    isf=lambda q, a: xp.exp(xp.log1p(-q) / a),
)


def _rises(z, c):
    """Return where the triangular density still rises; c itself counts so unless it is 0."""
    return (z < c) | ((z == c) & (c > 0))


def _triang_pdf(z, c):
    up, down = xp.where(c > 0, c, 1.0), xp.where(c < 1, 1 - c, 1.0)
    return xp.where(_rises(z, c), 2 * z / up, 2 * (1 - z) / down)


def _triang_cdf(z, c):
    up, down = xp.where(c > 0, c, 1.0), xp.where(c < 1, 1 - c, 1.0)
    rest = xp.square(1 - z) / down
    return xp.where(_rises(z, c), xp.square(z) / up, xp.where(rest < 0.5, 1 - rest, (z * (2 - z) - c) / down))


def _triang_sf(z, c):
    up, down = xp.where(c > 0, c, 1.0), xp.where(c < 1, 1 - c, 1.0)
    return xp.where(_rises(z, c), 1 - xp.square(z) / up, xp.square(1 - z) / down)


def _triang_logcdf(z, c):
    return _triang_log(z, 1 - z, c, 1 - c, _rises(z, c))


def _triang_log(z, rest, c, other, rises):
    """Return the logarithm of a share of the triangle from the end where z is 0; `rest` is 1 - z and `other` 1 - c."""
    up, down = xp.where(c > 0, c, 1.0), xp.where(other > 0, other, 1.0)
    beyond = xp.square(rest) / down
    near = beyond >= 0.5
    log_rest = xp.where(near, xp.log(xp.where(near, (z * (1 + rest) - c) / down, 1.0)), xp.log1p(-beyond))
    return xp.where(rises, 2 * xp.log(xp.where(rises, z, 1.0)) - xp.log(up), log_rest)


triang = family(
    "triang",
    "mean var entropy",
    safe=0.5,
    log_density=lambda z, c: xp.log(_triang_pdf(z, c)),
    density=_triang_pdf,
    exponent=lambda c: xp.where(c > 0, 1.0, 0.0),
    cdf=_triang_cdf,
    sf=_triang_sf,
    logcdf=_triang_logcdf,
    logsf=lambda z, c: _triang_log(1 - z, z, 1 - c, c, ~_rises(z, c)),
    ppf=lambda q, c: xp.where(q < c, xp.sqrt(c * xp.minimum(q, c)), 1 - xp.sqrt((1 - c) * xp.minimum(1 - q, 1 - c))),
    isf=lambda q, c: xp.where(
        q < 1 - c, 1 - xp.sqrt((1 - c) * xp.minimum(q, 1 - c)), xp.sqrt(c * xp.minimum(1 - q, c))
    ),
)
