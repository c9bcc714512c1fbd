"""Define further ufuncs of `scipy.special` for traced and concrete arrays, one row each; loaded at their first use.

SciPy's own ufuncs may be called on traced arrays directly. Rows that an older SciPy lacks are left out.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.numpy.operands.ufuncs import Ufunc, plain_ufunc
from anyshape.numpy.special import parametric
from anyshape.ops import special_ufuncs as su

# name: operands, and what the function returns
ROWS: Mapping[str, tuple[str, str]] = {
    "agm": ("a, b", "the arithmetic-geometric mean of a and b"),
    "airy": ("z", "the Airy functions Ai and Bi of real z, each before its derivative"),
    "airye": ("z", "the Airy functions and their derivatives, scaled by exponentials"),
    "bdtri": ("k, n, y", "the probability p with bdtr(k, n, p) = y"),
    "bdtrik": ("y, n, p", "the number k of successes with bdtr(k, n, p) = y, not rounded"),
    "bdtrin": ("k, y, p", "the number n of trials with bdtr(k, n, p) = y, not rounded"),
    "bei": ("x", "Kelvin's function bei"),
    "beip": ("x", "the derivative of Kelvin's function bei"),
    "ber": ("x", "Kelvin's function ber"),
    "berp": ("x", "the derivative of Kelvin's function ber"),
    "besselpoly": ("a, lmb, nu", "the integral from 0 to 1 of x**lmb * jv(nu, 2 a x)"),
    "btdtria": ("p, b, x", "the parameter a with betainc(a, b, x) = p"),
    "btdtrib": ("a, p, x", "the parameter b with betainc(a, b, x) = p"),
    "chdtri": ("v, p", "the quantile x with chdtrc(v, x) = p"),
    "chdtriv": ("p, x", "the degrees of freedom v with chdtr(v, x) = p"),
    "chndtr": ("x, df, nc", "the distribution function of noncentral chi-squared"),
    "chndtridf": ("x, p, nc", "the degrees of freedom df with chndtr(x, df, nc) = p"),
    "chndtrinc": ("x, df, p", "the noncentrality nc with chndtr(x, df, nc) = p"),
    "chndtrix": ("p, df, nc", "the quantile x with chndtr(x, df, nc) = p"),
    "cosdg": ("x", "the cosine of an angle in degrees"),
    "cosm1": ("x", "cos(x) - 1, accurate near 0"),
    "cotdg": ("x", "the cotangent of an angle in degrees"),
    "ellipj": ("u, m", "Jacobi's elliptic functions sn, cn and dn, and the amplitude"),
    "elliprg": ("x, y, z", "Carlson's completely symmetric elliptic integral of the second kind"),
    "elliprj": ("x, y, z, p", "Carlson's symmetric elliptic integral of the third kind"),
    "eval_chebyc": ("n, x", "the Chebyshev polynomial of the first kind on [-2, 2]"),
    "eval_chebys": ("n, x", "the Chebyshev polynomial of the second kind on [-2, 2]"),
    "eval_chebyt": ("n, x", "the Chebyshev polynomial of the first kind of degree n"),
    "eval_chebyu": ("n, x", "the Chebyshev polynomial of the second kind of degree n"),
    "eval_gegenbauer": ("n, alpha, x", "the Gegenbauer polynomial of degree n"),
    "eval_genlaguerre": ("n, alpha, x", "the generalised Laguerre polynomial of degree n"),
    "eval_hermite": ("n, x", "the physicist's Hermite polynomial of integer degree n"),
    "eval_hermitenorm": ("n, x", "the probabilist's Hermite polynomial of integer degree n"),
    "eval_jacobi": ("n, alpha, beta, x", "the Jacobi polynomial of degree n"),
    "eval_laguerre": ("n, x", "the Laguerre polynomial of degree n"),
    "eval_legendre": ("n, x", "the Legendre polynomial of degree n"),
    "eval_sh_chebyt": ("n, x", "the Chebyshev polynomial of the first kind on [0, 1]"),
    "eval_sh_chebyu": ("n, x", "the Chebyshev polynomial of the second kind on [0, 1]"),
    "eval_sh_jacobi": ("n, p, q, x", "the Jacobi polynomial of degree n on [0, 1]"),
    "eval_sh_legendre": ("n, x", "the Legendre polynomial of degree n on [0, 1]"),
    "fdtri": ("dfn, dfd, p", "the quantile x with fdtr(dfn, dfd, x) = p"),
    "fdtridfd": ("dfn, p, x", "the degrees of freedom dfd with fdtr(dfn, dfd, x) = p"),
    "gdtria": ("p, b, x", "the rate a with gdtr(a, b, x) = p"),
    "gdtrib": ("a, p, x", "the shape b with gdtr(a, b, x) = p"),
    "gdtrix": ("a, b, p", "the quantile x with gdtr(a, b, x) = p"),
    "hankel1": ("v, z", "the Hankel function of the first kind, complex"),
    "hankel1e": ("v, z", "hankel1(v, z) * exp(-i z), complex"),
    "hankel2": ("v, z", "the Hankel function of the second kind, complex"),
    "hankel2e": ("v, z", "hankel2(v, z) * exp(i z), complex"),
    "hyperu": ("a, b, x", "Tricomi's confluent hypergeometric function"),
    "it2i0k0": ("x", "the integrals of (i0(t) - 1) / t up to x, and of k0(t) / t from x on"),
    "it2j0y0": ("x", "the integrals of (1 - j0(t)) / t up to x, and of y0(t) / t from x on"),
    "it2struve0": ("x", "the integral of struve(0, t) / t from x on"),
    "itairy": ("x", "the integrals of both Airy functions from 0 to x, and of their reflections"),
    "iti0k0": ("x", "the integrals of i0 and k0 from 0 to x"),
    "itj0y0": ("x", "the integrals of j0 and y0 from 0 to x"),
    "itmodstruve0": ("x", "the integral of modstruve(0, t) from 0 to x"),
    "itstruve0": ("x", "the integral of struve(0, t) from 0 to x"),
    "jve": ("v, z", "jv(v, z) for real z"),
    "kei": ("x", "Kelvin's function kei"),
    "keip": ("x", "the derivative of Kelvin's function kei"),
    "ker": ("x", "Kelvin's function ker"),
    "kerp": ("x", "the derivative of Kelvin's function ker"),
    "kolmogi": ("p", "the number whose kolmogorov is p"),
    "kolmogorov": ("y", "the probability above y of Kolmogorov's distribution"),
    "log_wright_bessel": ("a, b, x", "the logarithm of wright_bessel(a, b, x)"),
    "lpmv": ("m, v, x", "the associated Legendre function of integer order m and degree v"),
    "mathieu_a": ("m, q", "the characteristic value of even Mathieu functions"),
    "mathieu_b": ("m, q", "the characteristic value of odd Mathieu functions"),
    "mathieu_cem": ("m, q, x", "an even Mathieu function and its derivative"),
    "mathieu_modcem1": ("m, q, x", "an even modified Mathieu function of the first kind and its derivative"),
    "mathieu_modcem2": ("m, q, x", "an even modified Mathieu function of the second kind and its derivative"),
    "mathieu_modsem1": ("m, q, x", "an odd modified Mathieu function of the first kind and its derivative"),
    "mathieu_modsem2": ("m, q, x", "an odd modified Mathieu function of the second kind and its derivative"),
    "mathieu_sem": ("m, q, x", "an odd Mathieu function and its derivative"),
    "modstruve": ("v, x", "the modified Struve function of real order v"),
    "nbdtri": ("k, n, y", "the probability p with nbdtr(k, n, p) = y"),
    "nbdtrik": ("y, n, p", "the number k of failures with nbdtr(k, n, p) = y, not rounded"),
    "nbdtrin": ("k, y, p", "the number n of successes with nbdtr(k, n, p) = y, not rounded"),
    "ncfdtr": ("dfn, dfd, nc, f", "the distribution function of noncentral F"),
    "ncfdtri": ("dfn, dfd, nc, p", "the quantile of noncentral F"),
    "ncfdtridfd": ("dfn, p, nc, f", "the degrees of freedom dfd with ncfdtr(dfn, dfd, nc, f) = p"),
    "ncfdtridfn": ("p, dfd, nc, f", "the degrees of freedom dfn with ncfdtr(dfn, dfd, nc, f) = p"),
    "ncfdtrinc": ("dfn, dfd, p, f", "the noncentrality nc with ncfdtr(dfn, dfd, nc, f) = p"),
    "nctdtr": ("df, nc, t", "the distribution function of noncentral t"),
    "nctdtridf": ("p, nc, t", "the degrees of freedom df with nctdtr(df, nc, t) = p"),
    "nctdtrinc": ("df, p, t", "the noncentrality nc with nctdtr(df, nc, t) = p"),
    "nctdtrit": ("df, nc, p", "the quantile of noncentral t"),
    "ndtri_exp": ("y", "the quantile of the standard normal distribution at exp(y)"),
    "nrdtrimn": ("p, std, x", "the mean of the normal distribution with probability p up to x"),
    "nrdtrisd": ("mn, p, x", "the standard deviation of the normal distribution with probability p up to x"),
    "obl_ang1": ("m, n, c, x", "an oblate spheroidal angular function and its derivative"),
    "obl_ang1_cv": ("m, n, c, cv, x", "obl_ang1 for its characteristic value"),
    "obl_cv": ("m, n, c", "the characteristic value of oblate spheroidal functions"),
    "obl_rad1": ("m, n, c, x", "an oblate spheroidal radial function of the first kind and its derivative"),
    "obl_rad1_cv": ("m, n, c, cv, x", "obl_rad1 for its characteristic value"),
    "obl_rad2": ("m, n, c, x", "an oblate spheroidal radial function of the second kind and its derivative"),
    "obl_rad2_cv": ("m, n, c, cv, x", "obl_rad2 for its characteristic value"),
    "pbdv": ("v, x", "the parabolic cylinder function D and its derivative"),
    "pbvv": ("v, x", "the parabolic cylinder function V and its derivative"),
    "pbwa": ("a, x", "the parabolic cylinder function W and its derivative"),
    "pdtri": ("k, y", "the mean m with pdtr(k, m) = y"),
    "pdtrik": ("p, m", "the number k of events with pdtr(k, m) = p, not rounded"),
    "powm1": ("x, y", "x**y - 1, accurate where that is small"),
    "pro_ang1": ("m, n, c, x", "a prolate spheroidal angular function and its derivative"),
    "pro_ang1_cv": ("m, n, c, cv, x", "pro_ang1 for its characteristic value"),
    "pro_cv": ("m, n, c", "the characteristic value of prolate spheroidal functions"),
    "pro_rad1": ("m, n, c, x", "a prolate spheroidal radial function of the first kind and its derivative"),
    "pro_rad1_cv": ("m, n, c, cv, x", "pro_rad1 for its characteristic value"),
    "pro_rad2": ("m, n, c, x", "a prolate spheroidal radial function of the second kind and its derivative"),
    "pro_rad2_cv": ("m, n, c, cv, x", "pro_rad2 for its characteristic value"),
    "radian": ("d, m, s", "an angle of degrees, minutes and seconds in radians"),
    "sindg": ("x", "the sine of an angle in degrees"),
    "smirnov": ("n, d", "the probability above d of Smirnov's statistic for n samples"),
    "smirnovi": ("n, p", "the number whose smirnov is p"),
    "stdtridf": ("p, t", "the degrees of freedom df with stdtr(df, t) = p"),
    "struve": ("v, x", "the Struve function of real order v"),
    "tandg": ("x", "the tangent of an angle in degrees"),
    "tklmbda": ("x, lmbda", "the distribution function of Tukey's lambda distribution"),
    "voigt_profile": ("x, sigma, gamma", "the density of the sum of a normal and a Cauchy variable"),
    "wright_bessel": ("a, b, x", "Wright's generalised Bessel function"),
    "wrightomega": ("z", "the number w with w + log(w) = z, for real z"),
    "yve": ("v, z", "yv(v, z) for real z"),
    "zetac": ("x", "Riemann's zeta function minus 1"),
}


def _results(name: str) -> Callable[..., Any]:
    """Return what gives the results of a ufunc for traced operands."""
    count = plain_ufunc(getattr(sc, name)).nout
    one = lambda *operands: su.special_ufunc(name, *operands)
    several = lambda *operands: tuple([su.special_ufunc(name, *operands, result=k) for k in range(count)])
    return one if count == 1 else several


FUNCTIONS: Mapping[str, Ufunc] = {
    name: parametric(name, f"Return {returned}.", _results(name), operands, __name__)
    for name, (operands, returned) in ROWS.items()
    if hasattr(sc, name)
}
UFUNCS: Mapping[np.ufunc, Ufunc] = {plain_ufunc(getattr(sc, name)): function for name, function in FUNCTIONS.items()}
