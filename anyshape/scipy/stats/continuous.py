"""Define families on all reals by their standard forms, and some on an interval.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import e, log, pi, sqrt
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats import powers
from anyshape.scipy.stats.distribution import Family, Function, constant, scaled
from anyshape.scipy.stats.source import family
from anyshape.transforms.control import stop_gradient

_SKEWNORM_REACH = 30.0


norm: Family = family("norm", "log_density cdf sf logcdf logsf ppf isf mean var entropy", closed_quantiles=True)

uniform: Family = family("uniform", "cdf ppf mean var entropy", closed_quantiles=True, log_density=lambda z: 0.0 * z)


def _symmetric(cdf: Function, log_lower: Function | None = None) -> dict[str, Function]:
    """Return the functions of a distribution that is symmetric about 0, accurate in both tails."""
    lower = log_lower or (lambda z, *shapes: xp.log(cdf(z, *shapes)))

    def logcdf(z, *shapes):
        return powers.by_half(z, 0.0, lambda z: lower(z, *shapes), lambda z: xp.log1p(-cdf(-z, *shapes)))

    sf, logsf = (lambda z, *shapes, f=f: f(-z, *shapes) for f in (cdf, logcdf))
    return {"cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf}


def _cauchy_quantile(q):
    """Return -1 / tan(pi q) by sines, whose derivatives do not cancel at the median."""
    below = lambda q: xp.sin(pi * (0.5 - q)) / xp.sin(pi * q)
    return powers.by_half(q, 0.5, lambda q: -below(q), lambda q: below(1 - q))


cauchy: Family = family(
    "cauchy",
    "mean var entropy",
    closed_quantiles=True,
    log_density=lambda z: -powers.log1p_square(z) - log(pi),
    **_symmetric(lambda z: xp.arctan2(1.0, -z) / pi, lambda z: powers.log_angle(-z) - log(pi)),
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)


def _laplace_cdf(z):
    return powers.by_half(z, 0.0, lambda z: 0.5 * xp.exp(z), lambda z: 1 - 0.5 * xp.exp(-z))


def _laplace_logcdf(z):
    return powers.by_half(z, 0.0, lambda z: z - log(2), lambda z: xp.log1p(-0.5 * xp.exp(-z)))


def _laplace_quantile(q):
    return powers.by_half(q, 0.5, lambda q: xp.log(2 * q), lambda q: -xp.log(2 * (1 - q)))


laplace: Family = family(
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


logistic: Family = family(
    "logistic",
    "cdf sf logcdf logsf ppf isf mean var entropy",
    closed_quantiles=True,
    log_density=lambda z: sc.log_expit(z) + sc.log_expit(-z),
)


def _hypsecant_cdf(z):
    return powers.by_half(z, 0.0, lambda z: 2 / pi * xp.arctan(xp.exp(z)), lambda z: 1 - 2 / pi * xp.arctan(xp.exp(-z)))


hypsecant: Family = family(
    "hypsecant",
    "ppf isf mean var entropy",
    log_density=lambda z: log(2 / pi) + 0.5 * (sc.log_expit(2 * z) + sc.log_expit(-2 * z)),
    **_symmetric(_hypsecant_cdf),
)


def _student_log_density(z, df):
    is_normal = xp.isinf(df)
    nu = xp.where(is_normal, 1.0, df)  # both choices are computed
    value = -0.5 * (nu + 1) * powers.log1p_square(z, nu) - 0.5 * xp.log(nu) - sc.betaln(0.5 * nu, 0.5)
    return xp.where(is_normal, powers.normal_log_density(z), value)


def _student_entropy(df):
    is_normal = xp.isinf(df)
    nu = xp.where(is_normal, 1.0, df)
    half = 0.5 * (nu + 1)
    value = half * (sc.digamma(half) - sc.digamma(0.5 * nu)) + 0.5 * xp.log(nu) + sc.betaln(0.5 * nu, 0.5)
    return xp.where(is_normal, 0.5 * log(2 * pi * e), value)


def _student_far(z, df) -> tuple[Any, Any, Any]:
    """Return where the leading term of the lower tail serves, its logarithm, and the other points."""
    is_far = z < -powers.FAR * xp.sqrt(df)
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


t: Family = family(
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
    at_cusp = powers.is_cusp(z, beta)
    return xp.where(at_cusp, 0.0, powers.power_of_size(xp.where(at_cusp, 1.0, z), beta))


def _third_derivative(z, beta):
    """Return zeros whose third derivative by z is infinite where the density has no finite second one."""
    at_cusp = powers.is_cusp(z, beta)
    return xp.where(at_cusp, xp.where(at_cusp, z, 1.0) ** 2.5, 0.0)


def _gennorm_series(power, beta):
    """Return gamma(1 + 1 / beta) (2 cdf(z) - 1) / z by the series DLMF 8.7.1 in abs(z)**beta."""
    total = 0.0 * power
    for k in reversed(range(8)):
        total = 1 / (1 + k * beta) - power / (k + 1) * total
    return total


def _gennorm_share(z, beta, power):
    """Return 2 cdf(z) - 1 by z and the power of its size, accurate near 0."""
    is_near = power < GENNORM_NEAR
    near = z * _gennorm_series(xp.where(is_near, power, 0.0), beta) * xp.exp(-sc.gammaln(1 + 1 / beta))
    return xp.where(is_near, near, xp.sign(z) * sc.gammainc(1 / beta, xp.where(is_near, 1.0, power)))


def _gennorm_cdf(z, beta):
    """Return the probability up to z, accurate where it is small, and a smooth function of beta at 0."""
    end = stop_gradient(1000.0 ** (1 / beta))
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


gennorm: Family = family(
    "gennorm",
    "mean var entropy",
    log_density=lambda z, beta: xp.log(0.5 * beta) - sc.gammaln(1 / beta) - powers.power_of_size(z, beta),
    **_symmetric(_gennorm_cdf),
    ppf=_gennorm_ppf,
    isf=lambda q, beta: -_gennorm_ppf(q, beta),
)
halfgennorm: Family = family(
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
    return log(2) + powers.normal_log_density(z) + sc.log_ndtr(a * z)


def _skewnorm_logcdf(z, a):
    """Return the logarithm of the probability up to z. Where the difference cancels it is an integral over the tail.

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
    return xp.where(in_tail, tail, xp.log(xp.where(in_tail, 0.5, plain)))


skewnorm: Family = family(
    "skewnorm",
    "mean var",
    log_density=_skewnorm_log_density,
    logcdf=_skewnorm_logcdf,
    logsf=lambda z, a: _skewnorm_logcdf(-z, -a),
)

johnsonsu: Family = family(
    "johnsonsu",
    "ppf isf mean var",
    log_density=lambda z, a, b: (
        xp.log(b) - 0.5 * powers.log1p_square(z) + powers.normal_log_density(a + b * xp.arcsinh(z))
    ),
    **powers.of_score(lambda z, a, b: a + b * xp.arcsinh(z)),
)

# -- on an interval

beta: Family = family(
    "beta",
    "mean var",
    **powers.of_beta_shares(lambda z, a, b: (z, 1 - z, a, b)),
    entropy=lambda a, b: (
        sc.betaln(a, b) - (a - 1) * sc.digamma(a) - (b - 1) * sc.digamma(b) + (a + b - 2) * sc.digamma(a + b)
    ),
    **powers.of_powers(lambda z, a, b: -sc.betaln(a, b), lambda a, b: a - 1, lambda a, b: b - 1),
    ppf=lambda q, a, b: powers.beta_quantile(q, a, b)[0],
    isf=lambda q, a, b: powers.beta_quantile(q, b, a)[1],
)

arcsine: Family = family(
    "arcsine", "cdf ppf mean var entropy", **powers.of_powers(lambda z: -log(pi), constant(-0.5), constant(-0.5))
)

powerlaw: Family = family(
    "powerlaw",
    "cdf logcdf ppf mean var entropy",
    **powers.of_powers(lambda z, a: 0.0, lambda a: a - 1, factor=lambda a: a),
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


def _triang_log(z, rest, c, other, rises):
    """Return the logarithm of a share of the triangle from the end where z is 0; `rest` is 1 - z and `other` 1 - c."""
    up, down = xp.where(c > 0, c, 1.0), xp.where(other > 0, other, 1.0)
    beyond = xp.square(rest) / down
    near = beyond >= 0.5
    log_rest = xp.where(near, xp.log(xp.where(near, (z * (1 + rest) - c) / down, 1.0)), xp.log1p(-beyond))
    return xp.where(rises, 2 * xp.log(xp.where(rises, z, 1.0)) - xp.log(up), log_rest)


triang: Family = family(
    "triang",
    "mean var entropy",
    safe=0.5,
    log_density=lambda z, c: xp.log(_triang_pdf(z, c)),
    density=_triang_pdf,
    exponent=lambda c: xp.where(c > 0, 1.0, 0.0),
    cdf=_triang_cdf,
    sf=_triang_sf,
    logcdf=lambda z, c: _triang_log(z, 1 - z, c, 1 - c, _rises(z, c)),
    logsf=lambda z, c: _triang_log(1 - z, z, 1 - c, c, ~_rises(z, c)),
    ppf=lambda q, c: xp.where(q < c, xp.sqrt(c * xp.minimum(q, c)), 1 - xp.sqrt((1 - c) * xp.minimum(1 - q, 1 - c))),
    isf=lambda q, c: xp.where(
        q < 1 - c, 1 - xp.sqrt((1 - c) * xp.minimum(q, 1 - c)), xp.sqrt(c * xp.minimum(1 - q, c))
    ),
)


NAN, EULER = np.nan, np.euler_gamma


def _choose(condition, value, shape, otherwise: float):
    """Return `value(shape)` where a condition holds; elsewhere it is computed with 1, and not used."""
    return xp.where(condition, value(xp.where(condition, shape, 1.0)), otherwise)


ZETA = (1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.03692775514337, 1.0173430619844492)


def _log_gamma_ratio(c):
    """Return log(gamma(1 + c)) / c."""
    is_small = xp.abs(c) < 1e-3
    near = powers.series(xp.where(is_small, c, 0.0), -EULER, *((-1) ** k * z / k for k, z in enumerate(ZETA, 2)))
    far = xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, sc.gammaln(1 + far) / far)


def _log_gamma_curve(c):
    """Return (log(gamma(1 + 2 c)) - 2 log(gamma(1 + c))) / c**2."""
    is_small = xp.abs(c) < 1e-3
    near = powers.series(xp.where(is_small, c, 0.0), *((-1) ** k * z * (2**k - 2) / k for k, z in enumerate(ZETA, 2)))
    far = xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, (sc.gammaln(1 + 2 * far) - 2 * sc.gammaln(1 + far)) / xp.square(far))


def _extreme_mean(c):
    ratio = _log_gamma_ratio(c)
    return -ratio * sc.exprel(c * ratio)


def _extreme_var(c):
    curve = _log_gamma_curve(c)
    return xp.square(sc.gamma(1 + c)) * curve * sc.exprel(xp.square(c) * curve)


def _reduced(z, c):
    """Return -log(-log(cdf)) of the generalised extreme value distribution."""
    return powers.log1p_ratio(z, -c)


genextreme: Family = family(
    "genextreme",
    "entropy",
    open_ends=lambda c: c != 1,
    log_density=lambda z, c: -xp.exp(-_reduced(z, c)) - powers.times_log(1 - c, _reduced(z, c)),
    logcdf=lambda z, c: -xp.exp(-_reduced(z, c)),
    logsf=lambda z, c: powers.weibull_logcdf(-_reduced(z, c)),
    ppf=lambda q, c: powers.expm1_ratio(-xp.log(-xp.log(q)), -c),
    isf=lambda q, c: powers.expm1_ratio(-xp.log(-xp.log1p(-q)), -c),
    mean=lambda c: _choose(c > -1, _extreme_mean, c, NAN),
    var=lambda c: _choose(c > -0.5, _extreme_var, c, NAN),
)
genpareto: Family = family(
    "genpareto",
    "mean var entropy",
    log_density=lambda z, c: -powers.times_log(c + 1, powers.log1p_ratio(z, c)),
    logsf=lambda z, c: -powers.log1p_ratio(z, c),
    ppf=lambda q, c: powers.expm1_ratio(-xp.log1p(-q), c),
    isf=lambda q, c: powers.expm1_ratio(-xp.log(q), c),
)
genlogistic: Family = family(
    "genlogistic",
    "mean var entropy",
    **scaled(lambda c: c, lambda z, c: sc.log_expit(-z) - c * xp.logaddexp(0.0, -z)),
    logcdf=lambda z, c: -c * xp.logaddexp(0.0, -z),
    ppf=lambda q, c: -powers.log_expm1(-xp.log(q) / c),
    isf=lambda q, c: -powers.log_expm1(-xp.log1p(-q) / c),
)
genhalflogistic: Family = family(
    "genhalflogistic",
    "entropy",
    log_density=lambda z, c: log(2) + sc.xlog1py(1 / c - 1, -c * z) - 2 * xp.log1p(xp.exp(-powers.log1p_ratio(z, -c))),
    cdf=lambda z, c: xp.tanh(0.5 * powers.log1p_ratio(z, -c)),
    logsf=lambda z, c: log(2) + sc.log_expit(-powers.log1p_ratio(z, -c)),
    ppf=lambda q, c: powers.expm1_ratio(2 * xp.arctanh(q), -c),
    isf=lambda q, c: powers.expm1_ratio(xp.log(2 - q) - xp.log(q), -c),
)

MOYAL_END = -14.0  # where exp(-exp(-z) / 2) is exactly 0, which has derivatives 0 from there on


def _moyal_root(z):
    return xp.exp(-0.5 * xp.maximum(z, MOYAL_END)) / sqrt(2)


moyal: Family = family(
    "moyal",
    "density ppf mean var",
    log_density=lambda z: -0.5 * (z + xp.exp(-z)) - powers.LOG_ROOT_2PI,
    cdf=lambda z: sc.erfc(_moyal_root(z)),
    sf=lambda z: sc.erf(_moyal_root(z)),
    isf=lambda q: -xp.log(2 * xp.square(sc.erfinv(q))),
)


NOTHING = 1e17  # 1 is nothing beside it


def _exponnorm_log_tail(z, k):
    """Return the logarithm of the density times k; far below 1 / k without squares of 1 / k, which would cancel."""
    below = lambda w: xp.log(0.5 * sc.erfcx(-sqrt(0.5) * w)) - 0.5 * xp.square(xp.where(w < 0, z, 0.0))
    return powers.by_half(z - 1 / k, 0.0, below, lambda w: (0.5 / k - z) / k + sc.log_ndtr(w))


def _exponnorm_below(z, k):
    """Return twice the probability up to z over exp(-z**2 / 2), for negative z."""
    return sc.erfcx(-sqrt(0.5) * z) - sc.erfcx(sqrt(0.5) * (1 / k - z))


def _exponnorm_cdf(z, k):
    below = lambda z: 0.5 * xp.exp(-0.5 * xp.square(z)) * _exponnorm_below(z, k)
    return powers.by_half(z, 0.0, below, lambda z: sc.ndtr(z) - xp.exp(_exponnorm_log_tail(z, k)))


exponnorm: Family = family(
    "exponnorm",
    "mean var",
    log_density=lambda z, k: _exponnorm_log_tail(z, k) - xp.log(k),
    cdf=_exponnorm_cdf,
    sf=lambda z, k: sc.ndtr(-z) + xp.exp(_exponnorm_log_tail(z, k)),
)
laplace_asymmetric: Family = family(
    "laplace_asymmetric",
    "log_density cdf sf mean var entropy",
    ppf=lambda q, k: xp.where(
        q < k / (k + 1 / k), xp.log(q * (1 + 1 / xp.square(k))) * k, -xp.log((1 - q) * (xp.square(k) + 1)) / k
    ),
    isf=lambda q, k: xp.where(
        q > 1 / (xp.square(k) + 1), xp.log((1 - q) * (1 + 1 / xp.square(k))) * k, -xp.log(q * (xp.square(k) + 1)) / k
    ),
)


def _skewcauchy_below(q, width):
    """Return the distance from 0 beyond which the side of this width has the share q."""
    angle = pi * q / width
    return width * xp.cos(angle) / xp.sin(angle)


def _skewcauchy_quantile(q, a):
    middle = 0.5 * (1 - a)
    is_below = q < middle
    low = -_skewcauchy_below(xp.where(is_below, q, middle), 1 - a)
    return xp.where(is_below, low, _skewcauchy_below(xp.where(is_below, 1 - middle, 1 - q), 1 + a))


def _skewcauchy_cdf(z, a):
    below = lambda z: (1 - a) / pi * xp.arctan2(1.0, -z / (1 - a))
    return powers.by_half(z, 0.0, below, lambda z: 1 - (1 + a) / pi * xp.arctan2(1.0, z / (1 + a)))


skewcauchy: Family = family(
    "skewcauchy",
    "mean var",
    safe=0.5,
    log_density=lambda z, a: -log(pi) - powers.log1p_square(z / xp.where(z < 0, 1 - a, 1 + a)),
    cdf=_skewcauchy_cdf,
    sf=lambda z, a: _skewcauchy_cdf(-z, -a),
    ppf=_skewcauchy_quantile,
    isf=lambda q, a: -_skewcauchy_quantile(q, -a),
)


def _skew_t_shares(z, a, b) -> tuple[Any, Any, Any, Any]:
    """Return the point of a beta distribution that z stands for, 1 minus it, and the parameters."""
    root = xp.hypot(xp.sqrt(a + b), z)
    size = xp.where(z < 0, -z, z)
    rest, share = 0.5 * (a + b) / root / (root + size), 0.5 * (1 + size / root)
    return xp.where(z < 0, rest, share), xp.where(z < 0, share, rest), a, b


def _skew_t_log_density(z, a, b):
    def log_shares(z, a, b):
        """Return the logarithm of (1 + z / root)**(a + 0.5) (1 - z / root)**(b + 0.5) for positive z."""
        root = xp.sqrt(a + b + xp.square(z))
        return (a + 0.5) * xp.log(1 + z / root) + (b + 0.5) * xp.log((a + b) / (root * (root + z)))

    shares = powers.by_half(z, 0.0, lambda z: log_shares(-z, b, a), lambda z: log_shares(z, a, b))
    return shares - (a + b - 1) * log(2) - sc.betaln(a, b) - 0.5 * xp.log(a + b)


def _skew_t_quantile(share, rest, a, b):
    return (share - rest) * xp.sqrt(a + b) / (2 * xp.sqrt(share * rest))


jf_skew_t: Family = family(
    "jf_skew_t",
    log_density=_skew_t_log_density,
    **powers.of_beta_shares(_skew_t_shares),
    ppf=lambda q, a, b: _skew_t_quantile(*powers.beta_quantile(q, a, b), a, b),
    isf=lambda q, a, b: _skew_t_quantile(*powers.beta_quantile(q, b, a)[::-1], a, b),
)


def _ball_tail(beta, m):
    """Return the weight of the tail, where the normal density has the weight sqrt(2 pi) ndtr(beta)."""
    return m / beta / (m - 1) * xp.exp(-0.5 * xp.square(beta))


def _ball_weight(beta, m):
    return _ball_tail(beta, m) + sqrt(2 * pi) * sc.ndtr(beta)


def _ball_log(z, beta, m):
    """Return log(1 - (z + beta) beta / m), without a quotient that underflows in the slopes of far z."""
    distance = -(z + beta)
    is_far = distance * beta > NOTHING * m
    near = xp.log1p(xp.where(is_far, 1.0, distance) * beta / m)
    return xp.where(is_far, xp.log(xp.where(is_far, distance, 1.0)) + xp.log(beta / m), near)


def _ball_cdf(z, beta, m):
    is_tail = z <= -beta
    near, far = xp.where(is_tail, 0.0, z), xp.where(is_tail, z, -beta)
    below = _ball_tail(beta, m) * xp.exp((1 - m) * _ball_log(far, beta, m)) / _ball_weight(beta, m)
    return xp.where(is_tail, below, 1 - sqrt(2 * pi) * sc.ndtr(-near) / _ball_weight(beta, m))


def _ball_sf(z, beta, m):
    near = sqrt(2 * pi) * sc.ndtr(-xp.maximum(z, -beta)) / _ball_weight(beta, m)
    return xp.where(z <= -beta, 1 - _ball_cdf(z, beta, m), near)


def _ball_quantile(q, beta, m):
    weight, tail = _ball_weight(beta, m), _ball_tail(beta, m)
    is_tail = q * weight < tail
    low, factor = xp.where(is_tail, q, 1.0), xp.where(is_tail, weight / tail, 1.0)
    below = -beta - m / beta * xp.expm1((xp.log(low) + xp.log(factor)) / (1 - m))
    share = xp.where(is_tail, 0.5, sc.ndtr(-beta) + (q * weight - tail) / sqrt(2 * pi))
    return xp.where(is_tail, below, sc.ndtri(share))


crystalball: Family = family("crystalball", "log_density", safe=2.0, cdf=_ball_cdf, sf=_ball_sf, ppf=_ball_quantile)


def _normal_inverse_gauss(z, a, b):
    root = xp.sqrt(1 + xp.square(z))
    above = lambda z, b: -(a - b) * z - a / (root + z)  # b z - a root, without infinite terms of both signs
    exponent = powers.by_half(z, 0.0, lambda z: above(-z, -b), lambda z: above(z, b)) + xp.sqrt(
        xp.square(a) - xp.square(b)
    )
    return xp.log(a / pi) + xp.log(sc.k1e(a * root)) + exponent - xp.log(root)


norminvgauss: Family = family("norminvgauss", "mean var", log_density=_normal_inverse_gauss)


powernorm: Family = family(
    "powernorm",
    "logsf ppf",
    **scaled(lambda c: c, lambda z, c: -powers.LOG_ROOT_2PI - 0.5 * z * z + (c - 1) * sc.log_ndtr(-z)),
    isf=lambda q, c: -sc.ndtri(q ** (1 / c)),
)
