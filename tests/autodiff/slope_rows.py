"""Formulas of mpmath for elementwise functions with derivatives, and where the judge of slopes samples them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

Sampler = Callable[[np.random.Generator], float]


class Row(NamedTuple):
    """Function by its name, its formula, samplers of its operands, and which of these are differentiated.

    `neighbours` gives other points that slopes are made of: a point is judged where SciPy's values are right there too.
    """

    name: str
    formula: Callable[..., Any]
    operands: tuple[Sampler, ...]
    differentiated: tuple[int, ...]
    result: int | None = None
    sample: Callable[[np.random.Generator], tuple[float, ...]] | None = None  # of all operands together
    neighbours: Callable[..., list[tuple[float, ...]]] | None = None


# -- samplers


def far(low=-300.0, high=300.0, sign=0):
    """Sample numbers whose decimal exponents are uniform, half of them between 0.01 and 1000; sign 0 is either."""
    near = (max(low, -2.0), min(high, 3.0))

    def sample(rng):
        ends = near if rng.random() < 0.5 and near[0] < near[1] else (low, high)
        size = 10.0 ** rng.uniform(*ends)
        return float(size * (sign or rng.choice([-1.0, 1.0])))

    return sample


def positive(low=-300.0, high=300.0):
    return far(low, high, 1)


def share(low=-300.0, near_one=-15.0):
    """Sample from 0 to 1, close to both ends."""

    def sample(rng):
        kind = rng.integers(3)
        if kind == 0:
            return float(rng.uniform(0.01, 0.99))
        return float(10.0 ** rng.uniform(low, -1)) if kind == 1 else float(1 - 10.0 ** rng.uniform(near_one, -1))

    return sample


def symmetric(low=-300.0, near_one=-15.0):
    """Sample from -1 to 1, close to 0 and to both ends."""
    one_side = share(low, near_one)
    return lambda rng: float(one_side(rng) * rng.choice([-1.0, 1.0]))


def above(start, low=-15.0, high=300.0):
    return lambda rng: float(start + 10.0 ** rng.uniform(low, high if rng.random() < 0.5 else min(high, 2.0)))


def between(low, high):
    return lambda rng: float(rng.uniform(low, high))


def whole(low, high):
    return lambda rng: float(rng.integers(low, high + 1))


# -- formulas


def _half(x):
    return mp.mpf(x) / 2


def _tail(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _gap(x, y):
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def _betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _log_beta(x, y):
    return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)


def _voigt(x, sigma, gamma):
    z = mp.mpc(x, gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / (sigma * mp.sqrt(2 * mp.pi))


def _owens(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def _student(v, t):
    half = _betainc(v / 2, mp.mpf(1) / 2, v / (v + t * t)) / 2
    return half if t < 0 else 1 - half


def _spherical(bessel):
    return lambda n, x: mp.sqrt(mp.pi / 2 / x) * bessel(n + _half(1), x)


def _poisson(k, m):
    return mp.gammainc(mp.floor(k) + 1, m, regularized=True)


def _gegenbauer(n, a, x):
    return mp.rf(2 * a, n) / mp.gamma(n + 1) * mp.hyp2f1(-n, 2 * a + n, a + _half(1), (1 - x) / 2)


def _first_kind(n, high):
    """Return Chebyshev's function of the first kind at 1 - 2 high."""
    return mp.hyp2f1(-n, n, _half(1), high)


def _second_kind(n, high):
    return (n + 1) * mp.hyp2f1(-n, n + 2, 3 * _half(1), high)


def _ferrers(m, v, x):
    if m == 0:
        return mp.hyp2f1(-v, v + 1, 1, (1 - x) / 2)
    factor = (-1) ** int(m) * mp.sqrt(1 - x * x) ** int(m) * mp.rf(v - m + 1, 2 * m) / (2**m * mp.factorial(m))
    return factor * mp.hyp2f1(m - v, m + v + 1, m + 1, (1 - x) / 2)


def _box(x, y):
    return mp.expm1(y * mp.log(x)) / y


def _inverse_box(x, y):
    return mp.exp(mp.log1p(x * y) / y)


def _unary(name, formula, sampler, result=None):
    return Row(name, formula, (sampler,), (0,), result)


def _last(name, formula, *samplers):
    return Row(name, formula, samplers, (len(samplers) - 1,))


def _all(name, formula, *samplers):
    return Row(name, formula, samplers, tuple(range(len(samplers))))


ALL = far()
MODERATE = far(-8, 8)
TRIG = far(-300, 6)
NUMPY = [
    _unary("exp", mp.exp, far(-300, 2.85)),
    _unary("exp2", lambda x: mp.exp(x * mp.log(2)), far(-300, 3.01)),
    _unary("expm1", mp.expm1, far(-300, 2.85)),
    _unary("log", mp.log, positive()),
    _unary("log2", lambda x: mp.log(x) / mp.log(2), positive()),
    _unary("log10", lambda x: mp.log(x) / mp.log(10), positive()),
    _unary("log1p", lambda x: mp.log1p(x), positive()),
    _unary("log1p", lambda x: mp.log1p(x), lambda rng: -share()(rng)),
    _unary("sqrt", mp.sqrt, positive()),
    _unary("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), ALL),
    _unary("square", lambda x: x * x, ALL),
    _unary("reciprocal", lambda x: 1 / x, ALL),
    _unary("sin", mp.sin, TRIG),
    _unary("cos", mp.cos, TRIG),
    _unary("tan", mp.tan, TRIG),
    _unary("arcsin", mp.asin, symmetric()),
    _unary("arccos", mp.acos, symmetric()),
    _unary("arctan", mp.atan, ALL),
    _unary("sinh", mp.sinh, far(-300, 2.85)),
    _unary("cosh", mp.cosh, far(-300, 2.85)),
    _unary("tanh", mp.tanh, far(-300, 2.6)),
    _unary("arcsinh", mp.asinh, ALL),
    _unary("arccosh", mp.acosh, above(1)),
    _unary("arctanh", mp.atanh, symmetric()),
    _unary("sinc", lambda x: mp.sincpi(x), far(-300, 6)),
    _all("hypot", lambda x, y: mp.hypot(x, y), ALL, ALL),
    _all("hypot", lambda x, y: mp.hypot(x, y), MODERATE, MODERATE),
    _all("arctan2", lambda x, y: mp.atan2(x, y), ALL, ALL),
    _all("arctan2", lambda x, y: mp.atan2(x, y), far(-307, -140), far(-307, -140)),
    _all("logaddexp", _gap, far(-5, 3), far(-5, 3)),
    _all("logaddexp", _gap, far(-300, 300), far(-5, 3)),
    _all("logaddexp2", lambda x, y: _gap(x * mp.log(2), y * mp.log(2)) / mp.log(2), far(-5, 3), far(-5, 3)),
    _all("power", lambda x, y: mp.exp(y * mp.log(x)), positive(-10, 10), far(-5, 2)),
    _all("power", lambda x, y: mp.exp(y * mp.log(x)), positive(), far(-1, 1)),
    _all("divide", lambda x, y: x / y, ALL, ALL),
]
SPECIAL = [
    _unary("erf", mp.erf, far(-300, 1.5)),
    _unary("erfc", mp.erfc, far(-300, 1.5)),
    _unary("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), positive()),
    _unary("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), far(-10, 1.4, -1)),
    _unary("erfi", mp.erfi, far(-300, 1.42)),
    _unary("dawsn", _dawson, ALL),
    _unary("ndtr", _tail, far(-300, 1.6)),
    _unary("log_ndtr", lambda x: mp.log(_tail(x)), far(-10, 150, -1)),
    _unary("log_ndtr", lambda x: mp.log(_tail(x)), far(-10, 1.6, 1)),
    _unary("erfinv", mp.erfinv, symmetric()),
    _unary("expit", lambda x: 1 / (1 + mp.exp(-x)), far(-300, 2.9)),
    _unary("log_expit", lambda x: -mp.log1p(mp.exp(-x)), far(-300, 2.9)),
    _unary("logit", lambda x: mp.log(x / (1 - x)), share()),
    _unary("softplus", lambda x: mp.log1p(mp.exp(x)), far(-300, 2.9)),
    _all("xlogy", lambda x, y: x * mp.log(y), ALL, positive()),
    _all("xlog1py", lambda x, y: x * mp.log1p(y), ALL, positive()),
    _unary("entr", lambda x: -x * mp.log(x), positive()),
    _all("rel_entr", lambda x, y: x * mp.log(x / y), positive(), positive()),
    _all("kl_div", lambda x, y: x * mp.log(x / y) - x + y, positive(-5, 5), positive(-5, 5)),
    _unary("exp10", lambda x: mp.power(10, x), far(-300, 2.49)),
    _unary("exp1", mp.e1, positive(-300, 2.85)),
    _unary("expi", mp.ei, far(-300, 2.85)),
    _last("expn", lambda n, x: mp.expint(int(n), x), whole(0, 12), positive(-300, 2.8)),
    _unary("exprel", lambda x: mp.expm1(x) / x, far(-20, 2.84)),
    _unary("spence", lambda x: mp.polylog(2, 1 - x), positive(-20, 20)),
    _unary("gamma", mp.gamma, positive(-150, 2.2)),
    _unary("gamma", mp.gamma, far(-2, 2.1, -1)),
    _unary("gammaln", mp.loggamma, positive()),
    _unary("digamma", mp.digamma, positive(-150, 150)),
    _unary("digamma", mp.digamma, far(-2, 4, -1)),
    _unary("rgamma", mp.rgamma, far(-10, 2.2)),
    _all("beta", mp.beta, positive(-10, 5), positive(-10, 5)),
    _all("betaln", _log_beta, positive(-300, 20), positive(-300, 20)),
    _all("betaln", _log_beta, positive(-2, 3), positive(5, 200)),
    _all("poch", lambda x, y: mp.rf(x, y), positive(-5, 12), far(-8, 1)),
    _all("binom", lambda n, k: mp.binomial(n, k), positive(-2, 6), positive(-2, 1.5)),
    _all("zeta", lambda s, q: mp.zeta(s, q), above(1, -2, 1.4), positive(-10, 10)),
    _unary("zeta", mp.zeta, above(1, -2, 1.4)),
    _unary("zeta", mp.zeta, between(-30, 1)),
    _unary("zetac", lambda x: mp.zeta(x) - 1, between(-10, 10)),
    _all("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), positive(-2, 3), positive(-10, 3)),
    _all("gammaincc", lambda a, x: mp.gammainc(a, x, regularized=True), positive(-2, 3), positive(-10, 3)),
    _all("betainc", _betainc, positive(-2, 2), positive(-2, 2), share(-20)),
    _last("betaincc", lambda a, b, x: _betainc(b, a, 1 - x), positive(-2, 2), positive(-2, 2), share(-20)),
    _last("stdtr", lambda v, t: _student(v, t), positive(-1, 3), far(-5, 5)),
    _unary("i0", lambda x: mp.besseli(0, x), far(-300, 2.8)),
    _unary("i1", lambda x: mp.besseli(1, x), far(-300, 2.8)),
    _unary("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), far(-300, 200)),
    _unary("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), far(-300, 200)),
    _unary("k0", lambda x: mp.besselk(0, x), positive(-300, 2.8)),
    _unary("k1", lambda x: mp.besselk(1, x), positive(-150, 2.8)),
    _unary("k0e", lambda x: mp.besselk(0, x) * mp.exp(x), positive(-300, 200)),
    _unary("k1e", lambda x: mp.besselk(1, x) * mp.exp(x), positive(-150, 200)),
    _unary("j0", lambda x: mp.besselj(0, x), far(-150, 5)),
    _unary("j1", lambda x: mp.besselj(1, x), far(-150, 5)),
    _unary("y0", lambda x: mp.bessely(0, x), positive(-150, 5)),
    _last("jv", mp.besselj, far(-2, 1.3), positive(-10, 3)),
    _last("yv", mp.bessely, far(-2, 1.3), positive(-10, 3)),
    _last("iv", mp.besseli, far(-2, 1.3), positive(-10, 2.8)),
    _last("kv", mp.besselk, far(-2, 1.3), positive(-10, 2.8)),
    _last("ive", lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)), far(-2, 2.3), positive(-10, 150)),
    _last("kve", lambda v, x: mp.besselk(v, x) * mp.exp(x), far(-2, 2.3), positive(-10, 150)),
    _last("struve", mp.struveh, far(-2, 1.0), positive(-10, 6)),
    _last("modstruve", mp.struvel, far(-2, 1.0), positive(-10, 2.8)),
    _last("spherical_jn", _spherical(mp.besselj), whole(0, 12), positive(-5, 5)),
    _last("spherical_yn", _spherical(mp.bessely), whole(0, 12), positive(-5, 5)),
    _last("spherical_in", _spherical(mp.besseli), whole(0, 12), positive(-5, 2.8)),
    _last("spherical_kn", _spherical(mp.besselk), whole(0, 12), positive(-5, 2.8)),
    _unary("ellipk", mp.ellipk, share()),
    _unary("ellipk", mp.ellipk, far(-300, 300, -1)),
    _unary("ellipkm1", lambda p: mp.ellipk(1 - p), share()),
    _unary("ellipe", mp.ellipe, share()),
    _unary("ellipe", mp.ellipe, far(-300, 300, -1)),
    _all("ellipkinc", mp.ellipf, far(-5, 1), share(-30)),
    _all("ellipeinc", mp.ellipe, far(-5, 1), share(-30)),
    _all("elliprc", mp.elliprc, positive(-100, 100), positive(-100, 100)),
    _all("elliprc", mp.elliprc, positive(-3, 3), far(-3, 3, -1)),
    _all("elliprf", mp.elliprf, positive(-10, 10), positive(-10, 10), positive(-10, 10)),
    _all("elliprd", mp.elliprd, positive(-10, 10), positive(-10, 10), positive(-10, 10)),
    _all("elliprg", mp.elliprg, positive(-10, 10), positive(-10, 10), positive(-10, 10)),
    _all("elliprj", mp.elliprj, positive(-3, 3), positive(-3, 3), positive(-3, 3), positive(-3, 3)),
    _all("agm", mp.agm, positive(-10, 10), positive(-10, 10)),
    _unary("sici", mp.si, far(-300, 8), 0),
    _unary("sici", mp.ci, positive(-300, 8), 1),
    _unary("shichi", mp.shi, far(-300, 2.8), 0),
    _unary("shichi", mp.chi, positive(-300, 2.8), 1),
    _unary("fresnel", mp.fresnels, far(-100, 3), 0),
    _unary("fresnel", mp.fresnelc, far(-150, 3), 1),
    _last("hyp0f1", mp.hyp0f1, far(-2, 2), far(-5, 3)),
    _last("hyp1f1", mp.hyp1f1, far(-2, 1), positive(-2, 1), far(-5, 2)),
    _last("hyp2f1", mp.hyp2f1, far(-2, 1), far(-2, 1), positive(-2, 1), symmetric(-20)),
    _last("pdtr", _poisson, whole(0, 60), positive(-10, 3)),
    _last("pdtr", _poisson, positive(-2, 2), positive(-10, 3)),
    _last("pdtrc", lambda k, m: mp.gammainc(mp.floor(k) + 1, 0, m, regularized=True), whole(0, 60), positive(-10, 3)),
    _last(
        "bdtr",
        lambda k, n, p: _betainc(n - mp.floor(k), mp.floor(k) + 1, 1 - p),
        between(0, 9),
        whole(10, 60),
        share(-20),
    ),
    _last(
        "bdtrc", lambda k, n, p: _betainc(mp.floor(k) + 1, n - mp.floor(k), p), between(0, 9), whole(10, 60), share(-20)
    ),
    _last("nbdtr", lambda k, n, p: _betainc(n, k + 1, p), whole(0, 9), whole(1, 60), share(-20)),
    _last("nbdtrc", lambda k, n, p: _betainc(k + 1, n, 1 - p), whole(0, 9), whole(1, 60), share(-20)),
    _last("chdtr", lambda v, x: mp.gammainc(v / 2, 0, x / 2, regularized=True), positive(-2, 3), positive(-10, 3)),
    _last("chdtrc", lambda v, x: mp.gammainc(v / 2, x / 2, regularized=True), positive(-2, 3), positive(-10, 3)),
    _last(
        "gdtr",
        lambda a, b, x: mp.gammainc(b, 0, a * x, regularized=True),
        positive(-2, 2),
        positive(-2, 2),
        positive(-5, 2),
    ),
    _last(
        "gdtrc",
        lambda a, b, x: mp.gammainc(b, a * x, regularized=True),
        positive(-2, 2),
        positive(-2, 2),
        positive(-5, 2),
    ),
    _last(
        "fdtr",
        lambda n, d, x: _betainc(n / 2, d / 2, n * x / (n * x + d)),
        positive(-1, 2),
        positive(-1, 2),
        positive(-5, 5),
    ),
    _last(
        "fdtrc",
        lambda n, d, x: _betainc(d / 2, n / 2, d / (n * x + d)),
        positive(-1, 2),
        positive(-1, 2),
        positive(-5, 5),
    ),
    _all("boxcox", _box, positive(-10, 10), far(-20, 1)),
    _all("boxcox1p", lambda x, y: mp.expm1(y * mp.log1p(x)) / y, positive(-10, 10), far(-20, 1)),
    _all("inv_boxcox", _inverse_box, positive(-10, 10), positive(-10, 10)),
    _all("inv_boxcox1p", lambda x, y: mp.expm1(mp.log1p(x * y) / y), positive(-10, 10), positive(-10, 10)),
    _all("pseudo_huber", lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), positive(-1, 1), far(-2, 2)),
    _all("pseudo_huber", lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), positive(-9, 9), far(-9, 9)),
    Row(
        "hyperu",
        mp.hyperu,
        (positive(-2, 1), positive(-2, 1), positive(-3, 2)),
        (2,),
        # between 1 and 30 SciPy's errors reach 1e-6
        neighbours=lambda a, b, x: [(a + 1, b + 1, x), (a + 2, b + 2, x)],
    ),
    _all("voigt_profile", _voigt, far(-3, 3), positive(-9, 3), positive(-3, 3)),
    _unary("wrightomega", lambda x: mp.lambertw(mp.exp(x)).real, far(-10, 2.8)),
    _unary("wrightomega", lambda x: mp.lambertw(mp.exp(x)).real, far(-5, 2, 1)),
    _unary("loggamma", mp.loggamma, positive(-150, 150)),
    _all("powm1", lambda x, y: mp.expm1(y * mp.log(x)), positive(-5, 5), far(-10, 1)),
    _unary("cosm1", lambda x: mp.cos(x) - 1, far(-150, 4)),
    _unary("sindg", lambda x: mp.sin(x * mp.pi / 180), far(-150, 4)),
    _unary("cosdg", lambda x: mp.cos(x * mp.pi / 180), far(-150, 4)),
    _unary("tandg", lambda x: mp.tan(x * mp.pi / 180), far(-150, 4)),
    _unary("cotdg", lambda x: mp.cot(x * mp.pi / 180), far(-150, 4)),
    _unary("ndtri", lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), share(-40)),
    _unary("kolmogorov", lambda x: mp.jtheta(4, 0, mp.exp(-2 * x * x)) * -1 + 1, positive(-0.5, 1.25)),
    _unary("airy", mp.airyai, far(-10, 2), 0),
    _unary("airy", mp.airybi, far(-10, 2), 2),
    _unary("airye", lambda x: mp.airyai(x) * mp.exp(2 * x**1.5 / 3), positive(-10, 8), 0),
    _unary("airye", lambda x: mp.airybi(x) * mp.exp(-2 * x**1.5 / 3), positive(-10, 8), 2),
    _unary("ber", lambda x: mp.ber(0, x), far(-5, 2.5)),
    _unary("bei", lambda x: mp.bei(0, x), far(-5, 2.5)),
    _unary("ker", lambda x: mp.ker(0, x), positive(-5, 2.5)),
    _unary("kei", lambda x: mp.kei(0, x), positive(-5, 2.5)),
    Row("pbdv", mp.pcfd, (far(-2, 1), far(-3, 1.3)), (1,), 0),
    _last("eval_legendre", lambda n, x: mp.hyp2f1(-n, n + 1, 1, (1 - x) / 2), whole(0, 30), symmetric(-20)),
    _last("eval_legendre", lambda n, x: mp.hyp2f1(-n, n + 1, 1, (1 - x) / 2), positive(-4, 2), symmetric(-20)),
    _last("eval_sh_legendre", lambda n, x: mp.hyp2f1(-n, n + 1, 1, 1 - x), positive(-4, 2), share(-20)),
    _last("eval_chebyt", lambda n, x: _first_kind(n, (1 - x) / 2), whole(0, 30), far(-5, 3)),
    _last("eval_chebyt", lambda n, x: _first_kind(n, (1 - x) / 2), positive(-4, 2), symmetric(-20)),
    _last("eval_sh_chebyt", lambda n, x: _first_kind(n, 1 - x), positive(-4, 2), share(-20)),
    _last("eval_chebyu", lambda n, x: _second_kind(n, (1 - x) / 2), positive(-4, 2), symmetric(-20)),
    _last("eval_sh_chebyu", lambda n, x: _second_kind(n, 1 - x), positive(-4, 2), share(-20)),
    _last("eval_chebyc", lambda n, x: 2 * _first_kind(n, (2 - x) / 4), positive(-4, 2), symmetric(-20)),
    _last("eval_chebys", lambda n, x: _second_kind(n, (2 - x) / 4), positive(-4, 2), symmetric(-20)),
    _last("eval_gegenbauer", _gegenbauer, whole(0, 30), positive(-2, 1), symmetric(-20)),
    _last("eval_laguerre", lambda n, x: mp.hyp1f1(-n, 1, x), whole(0, 30), positive(-20, 3)),
    _last("eval_laguerre", lambda n, x: mp.hyp1f1(-n, 1, x), positive(-4, 1), positive(-20, 2)),
    _last("eval_hermite", lambda n, x: mp.hermite(int(n), x), whole(0, 20), far(-5, 8)),
    _last(
        "eval_hermitenorm",
        lambda n, x: mp.hermite(int(n), x / mp.sqrt(2)) / mp.sqrt(2) ** int(n),
        whole(0, 20),
        far(-5, 8),
    ),
    _last("lpmv", _ferrers, whole(0, 0), positive(-4, 1), between(-0.9, 1)),
    _last("lpmv", _ferrers, whole(0, 5), whole(5, 20), symmetric(-3)),
    _all("poch", mp.rf, far(-150, 0.3), far(-8, 1)),
]


# -- distributions, at standard parameters and far out


def _logistic(x):
    return 1 / (1 + mp.exp(-x))


def _distribution(name, cdf, density, sampler):
    """Return rows of a family: the logarithms of what SciPy computes from far tails."""
    family = f"stats.{name}."
    rows = [_unary(family + "pdf", density, sampler), _unary(family + "logpdf", lambda x: mp.log(density(x)), sampler)]
    if cdf is not None:
        rows += [_unary(family + "cdf", cdf, sampler), _unary(family + "sf", lambda x: 1 - cdf(x), sampler)]
    return rows


STATS = [
    *_distribution("norm", _tail, lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi), far(-20, 1.5)),
    *_distribution("logistic", _logistic, lambda x: _logistic(x) * _logistic(-x), far(-1, 2.8)),
    *_distribution("cauchy", None, lambda x: 1 / mp.pi / (1 + x * x), far(-20, 60)),
    *_distribution("expon", lambda x: -mp.expm1(-x), lambda x: mp.exp(-x), positive(-20, 2.8)),
    *_distribution("gumbel_r", lambda x: mp.exp(-mp.exp(-x)), lambda x: mp.exp(-x - mp.exp(-x)), positive(-1, 2.8)),
    *_distribution("laplace", None, lambda x: mp.exp(-abs(x)) / 2, far(-20, 2.8)),
    _unary("stats.norm.logcdf", lambda x: mp.log(_tail(x)), far(-10, 100, -1)),
    _unary("stats.norm.logsf", lambda x: mp.log(_tail(-x)), far(-10, 100, 1)),
    _unary("stats.logistic.logcdf", lambda x: -mp.log1p(mp.exp(-x)), far(-10, 2.8)),
    _unary("stats.logistic.logsf", lambda x: -mp.log1p(mp.exp(x)), far(-10, 2.8)),
]


ROWS = [
    *[row._replace(name=f"np.{row.name}") for row in NUMPY],
    *[row._replace(name=f"special.{row.name}") for row in SPECIAL],
    *STATS,
]
