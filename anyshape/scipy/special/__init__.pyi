"""Functions of `scipy.special` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.special import SpecialFunctionError as SpecialFunctionError
from scipy.special import SpecialFunctionWarning as SpecialFunctionWarning
from scipy.special import ai_zeros as ai_zeros
from scipy.special import assoc_laguerre as assoc_laguerre
from scipy.special import bei_zeros as bei_zeros
from scipy.special import beip_zeros as beip_zeros
from scipy.special import ber_zeros as ber_zeros
from scipy.special import berp_zeros as berp_zeros
from scipy.special import bi_zeros as bi_zeros
from scipy.special import c_roots as c_roots
from scipy.special import cg_roots as cg_roots
from scipy.special import chebyc as chebyc
from scipy.special import chebys as chebys
from scipy.special import chebyt as chebyt
from scipy.special import chebyu as chebyu
from scipy.special import ellip_harm as ellip_harm
from scipy.special import ellip_harm_2 as ellip_harm_2
from scipy.special import ellip_normal as ellip_normal
from scipy.special import erf_zeros as erf_zeros
from scipy.special import errstate as errstate
from scipy.special import factorialk as factorialk
from scipy.special import fresnel_zeros as fresnel_zeros
from scipy.special import fresnelc_zeros as fresnelc_zeros
from scipy.special import fresnels_zeros as fresnels_zeros
from scipy.special import gegenbauer as gegenbauer
from scipy.special import genlaguerre as genlaguerre
from scipy.special import geterr as geterr
from scipy.special import h1vp as h1vp
from scipy.special import h2vp as h2vp
from scipy.special import h_roots as h_roots
from scipy.special import he_roots as he_roots
from scipy.special import hermite as hermite
from scipy.special import hermitenorm as hermitenorm
from scipy.special import ivp as ivp
from scipy.special import j_roots as j_roots
from scipy.special import jacobi as jacobi
from scipy.special import jn_zeros as jn_zeros
from scipy.special import jnjnp_zeros as jnjnp_zeros
from scipy.special import jnp_zeros as jnp_zeros
from scipy.special import jnyn_zeros as jnyn_zeros
from scipy.special import js_roots as js_roots
from scipy.special import jvp as jvp
from scipy.special import kei_zeros as kei_zeros
from scipy.special import keip_zeros as keip_zeros
from scipy.special import kelvin_zeros as kelvin_zeros
from scipy.special import ker_zeros as ker_zeros
from scipy.special import kerp_zeros as kerp_zeros
from scipy.special import kvp as kvp
from scipy.special import l_roots as l_roots
from scipy.special import la_roots as la_roots
from scipy.special import laguerre as laguerre
from scipy.special import legendre as legendre
from scipy.special import lmbda as lmbda
from scipy.special import lqmn as lqmn
from scipy.special import lqn as lqn
from scipy.special import mathieu_even_coef as mathieu_even_coef
from scipy.special import mathieu_odd_coef as mathieu_odd_coef
from scipy.special import modfresnelm as modfresnelm
from scipy.special import modfresnelp as modfresnelp
from scipy.special import obl_cv_seq as obl_cv_seq
from scipy.special import p_roots as p_roots
from scipy.special import pbdn_seq as pbdn_seq
from scipy.special import pbdv_seq as pbdv_seq
from scipy.special import pbvv_seq as pbvv_seq
from scipy.special import pro_cv_seq as pro_cv_seq
from scipy.special import ps_roots as ps_roots
from scipy.special import riccati_jn as riccati_jn
from scipy.special import riccati_yn as riccati_yn
from scipy.special import roots_chebyc as roots_chebyc
from scipy.special import roots_chebys as roots_chebys
from scipy.special import roots_chebyt as roots_chebyt
from scipy.special import roots_chebyu as roots_chebyu
from scipy.special import roots_gegenbauer as roots_gegenbauer
from scipy.special import roots_genlaguerre as roots_genlaguerre
from scipy.special import roots_hermite as roots_hermite
from scipy.special import roots_hermitenorm as roots_hermitenorm
from scipy.special import roots_jacobi as roots_jacobi
from scipy.special import roots_laguerre as roots_laguerre
from scipy.special import roots_legendre as roots_legendre
from scipy.special import roots_sh_chebyt as roots_sh_chebyt
from scipy.special import roots_sh_chebyu as roots_sh_chebyu
from scipy.special import roots_sh_jacobi as roots_sh_jacobi
from scipy.special import roots_sh_legendre as roots_sh_legendre
from scipy.special import s_roots as s_roots
from scipy.special import seterr as seterr
from scipy.special import sh_chebyt as sh_chebyt
from scipy.special import sh_chebyu as sh_chebyu
from scipy.special import sh_jacobi as sh_jacobi
from scipy.special import sh_legendre as sh_legendre
from scipy.special import stirling2 as stirling2
from scipy.special import t_roots as t_roots
from scipy.special import ts_roots as ts_roots
from scipy.special import u_roots as u_roots
from scipy.special import us_roots as us_roots
from scipy.special import y0_zeros as y0_zeros
from scipy.special import y1_zeros as y1_zeros
from scipy.special import y1p_zeros as y1p_zeros
from scipy.special import yn_zeros as yn_zeros
from scipy.special import ynp_zeros as ynp_zeros
from scipy.special import yvp as yvp

from anyshape.numpy.reduction import log_softmax as log_softmax
from anyshape.numpy.reduction import logsumexp as logsumexp
from anyshape.numpy.reduction import softmax as softmax
from anyshape.numpy.special import polygamma as polygamma
from anyshape.numpy.special import sinc as sinc
from anyshape.numpy.special import zeta as zeta
from anyshape.scipy.special.orders import assoc_legendre_p as assoc_legendre_p
from anyshape.scipy.special.orders import assoc_legendre_p_all as assoc_legendre_p_all
from anyshape.scipy.special.orders import bernoulli as bernoulli
from anyshape.scipy.special.orders import comb as comb
from anyshape.scipy.special.orders import diric as diric
from anyshape.scipy.special.orders import euler as euler
from anyshape.scipy.special.orders import factorial as factorial
from anyshape.scipy.special.orders import factorial2 as factorial2
from anyshape.scipy.special.orders import lambertw as lambertw
from anyshape.scipy.special.orders import legendre_p as legendre_p
from anyshape.scipy.special.orders import legendre_p_all as legendre_p_all
from anyshape.scipy.special.orders import multigammaln as multigammaln
from anyshape.scipy.special.orders import perm as perm
from anyshape.scipy.special.orders import softplus as softplus
from anyshape.scipy.special.orders import sph_harm_y as sph_harm_y
from anyshape.scipy.special.orders import sph_harm_y_all as sph_harm_y_all
from anyshape.scipy.special.orders import sph_legendre_p as sph_legendre_p
from anyshape.scipy.special.orders import sph_legendre_p_all as sph_legendre_p_all
from anyshape.scipy.special.orders import spherical_in as spherical_in
from anyshape.scipy.special.orders import spherical_jn as spherical_jn
from anyshape.scipy.special.orders import spherical_kn as spherical_kn
from anyshape.scipy.special.orders import spherical_yn as spherical_yn

def agm(a: Any, b: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the arithmetic-geometric mean of a and b."""

def airy(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Airy functions Ai and Bi of real z, each before its derivative."""

def airye(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Airy functions and their derivatives, scaled by exponentials."""

def bdtr(k: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of up to k successes in n trials of probability p."""

def bdtrc(k: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of more than k successes in n trials of probability p."""

def bdtri(k: Any, n: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability p with bdtr(k, n, p) = y."""

def bdtrik(y: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number k of successes with bdtr(k, n, p) = y, not rounded."""

def bdtrin(k: Any, y: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number n of trials with bdtr(k, n, p) = y, not rounded."""

def bei(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Kelvin's function bei."""

def beip(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the derivative of Kelvin's function bei."""

def ber(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Kelvin's function ber."""

def berp(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the derivative of Kelvin's function ber."""

def besselpoly(a: Any, lmb: Any, nu: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integral from 0 to 1 of x**lmb * jv(nu, 2 a x)."""

def beta(a: Any, b: Any, /, out: Any = None, **options: Any) -> Any:
    """Return gamma(a) * gamma(b) / gamma(a + b)."""

def betainc(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the regularised incomplete beta function of x for a and b."""

def betaincc(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 1 - betainc(a, b, x), accurate where that is small."""

def betainccinv(a: Any, b: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the x with betaincc(a, b, x) = y, a quantile."""

def betaincinv(a: Any, b: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the x with betainc(a, b, x) = y, a quantile."""

def betaln(a: Any, b: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(|beta(a, b)|)."""

def binom(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the binomial coefficient of x over y, for real numbers."""

def boxcox(x: Any, lmbda: Any, /, out: Any = None, **options: Any) -> Any:
    """Return (x**lmbda - 1) / lmbda, or log(x) for lmbda = 0."""

def boxcox1p(x: Any, lmbda: Any, /, out: Any = None, **options: Any) -> Any:
    """Return ((1 + x)**lmbda - 1) / lmbda, or log(1 + x) for lmbda = 0."""

def btdtria(p: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the parameter a with betainc(a, b, x) = p."""

def btdtrib(a: Any, p: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the parameter b with betainc(a, b, x) = p."""

def cbrt(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the cube root of x."""

def chdtr(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability up to x of chi-squared with v degrees of freedom."""

def chdtrc(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability above x of chi-squared with v degrees of freedom."""

def chdtri(v: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile x with chdtrc(v, x) = p."""

def chdtriv(p: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom v with chdtr(v, x) = p."""

def chndtr(x: Any, df: Any, nc: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of noncentral chi-squared."""

def chndtridf(x: Any, p: Any, nc: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom df with chndtr(x, df, nc) = p."""

def chndtrinc(x: Any, df: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the noncentrality nc with chndtr(x, df, nc) = p."""

def chndtrix(p: Any, df: Any, nc: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile x with chndtr(x, df, nc) = p."""

def cosdg(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the cosine of an angle in degrees."""

def cosm1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return cos(x) - 1, accurate near 0."""

def cotdg(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the cotangent of an angle in degrees."""

def dawsn(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x."""

def digamma(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the digamma function of z, the derivative of log(gamma(z))."""

def ellipe(m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the complete elliptic integral of the second kind."""

def ellipeinc(phi: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the elliptic integral of the second kind up to phi."""

def ellipj(u: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Jacobi's elliptic functions sn, cn and dn, and the amplitude."""

def ellipk(m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the complete elliptic integral of the first kind."""

def ellipkinc(phi: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the elliptic integral of the first kind up to phi."""

def ellipkm1(p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return ellipk(1 - p), accurate near its pole."""

def elliprc(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Carlson's degenerate elliptic integral."""

def elliprd(x: Any, y: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Carlson's elliptic integral of the second kind, without derivatives."""

def elliprf(x: Any, y: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Carlson's elliptic integral of the first kind."""

def elliprg(x: Any, y: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Carlson's completely symmetric elliptic integral of the second kind."""

def elliprj(x: Any, y: Any, z: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Carlson's symmetric elliptic integral of the third kind."""

def entr(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return -x * log(x), 0 at 0 and -inf below."""

def erf(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the error function of x."""

def erfc(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 1 - erf(x), accurate for large x."""

def erfcinv(y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose complementary error function is y."""

def erfcx(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(x**2) * erfc(x), the scaled complementary error function."""

def erfi(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return -i * erf(i * z), the imaginary error function."""

def erfinv(y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose error function is y."""

def eval_chebyc(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the first kind on [-2, 2]."""

def eval_chebys(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the second kind on [-2, 2]."""

def eval_chebyt(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the first kind of degree n."""

def eval_chebyu(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the second kind of degree n."""

def eval_gegenbauer(n: Any, alpha: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Gegenbauer polynomial of degree n."""

def eval_genlaguerre(n: Any, alpha: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the generalised Laguerre polynomial of degree n."""

def eval_hermite(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the physicist's Hermite polynomial of integer degree n."""

def eval_hermitenorm(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probabilist's Hermite polynomial of integer degree n."""

def eval_jacobi(n: Any, alpha: Any, beta: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Jacobi polynomial of degree n."""

def eval_laguerre(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Laguerre polynomial of degree n."""

def eval_legendre(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Legendre polynomial of degree n."""

def eval_sh_chebyt(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the first kind on [0, 1]."""

def eval_sh_chebyu(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Chebyshev polynomial of the second kind on [0, 1]."""

def eval_sh_jacobi(n: Any, p: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Jacobi polynomial of degree n on [0, 1]."""

def eval_sh_legendre(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Legendre polynomial of degree n on [0, 1]."""

def exp1(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the exponential integral E1, of exp(-t) / t from z to infinity."""

def exp10(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 10 to the power of x."""

def exp2(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 2 to the power of x."""

def expi(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the exponential integral Ei, of exp(t) / t from -infinity to x."""

def expit(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 1 / (1 + exp(-x)), the logistic function."""

def expm1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(x) - 1, accurate near 0."""

def expn(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the exponential integral of x, of order n."""

def exprel(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return (exp(x) - 1) / x, a smooth function that is 1 at 0."""

def fdtr(dfn: Any, dfd: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability up to x of F with dfn and dfd degrees of freedom."""

def fdtrc(dfn: Any, dfd: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability above x of F with dfn and dfd degrees of freedom."""

def fdtri(dfn: Any, dfd: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile x with fdtr(dfn, dfd, x) = p."""

def fdtridfd(dfn: Any, p: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom dfd with fdtr(dfn, dfd, x) = p."""

def fresnel(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of sin(pi t**2 / 2) and of cos(pi t**2 / 2) from 0 to real z."""

def gamma(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the gamma function of z."""

def gammainc(a: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the regularised lower incomplete gamma function P(a, x)."""

def gammaincc(a: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the regularised upper incomplete gamma function Q(a, x)."""

def gammainccinv(a: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the x with gammaincc(a, x) = y, a quantile."""

def gammaincinv(a: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the x with gammainc(a, x) = y, a quantile."""

def gammaln(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(|gamma(x)|)."""

def gammasgn(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the sign of the gamma function, with derivative 0."""

def gdtr(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability up to x of a gamma distribution of rate a and shape b."""

def gdtrc(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability above x of a gamma distribution of rate a and shape b."""

def gdtria(p: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the rate a with gdtr(a, b, x) = p."""

def gdtrib(a: Any, p: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the shape b with gdtr(a, b, x) = p."""

def gdtrix(a: Any, b: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile x with gdtr(a, b, x) = p."""

def hankel1(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Hankel function of the first kind, complex."""

def hankel1e(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return hankel1(v, z) * exp(-i z), complex."""

def hankel2(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Hankel function of the second kind, complex."""

def hankel2e(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return hankel2(v, z) * exp(i z), complex."""

def huber(delta: Any, r: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Huber's loss: r**2 / 2 up to |r| = delta, then a line."""

def hyp0f1(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the confluent hypergeometric limit function 0F1 of v and z."""

def hyp1f1(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Kummer's confluent hypergeometric function 1F1 of a, b and x."""

def hyp2f1(a: Any, b: Any, c: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Gauss's hypergeometric function 2F1 of a, b, c and z."""

def hyperu(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Tricomi's confluent hypergeometric function."""

def i0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 0."""

def i0e(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(-|x|) * i0(x), a scaled Bessel function."""

def i1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 1."""

def i1e(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(-|x|) * i1(x), a scaled Bessel function."""

def inv_boxcox(y: Any, lmbda: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose `boxcox` is y."""

def inv_boxcox1p(y: Any, lmbda: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose `boxcox1p` is y."""

def it2i0k0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of (i0(t) - 1) / t up to x, and of k0(t) / t from x on."""

def it2j0y0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of (1 - j0(t)) / t up to x, and of y0(t) / t from x on."""

def it2struve0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integral of struve(0, t) / t from x on."""

def itairy(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of both Airy functions from 0 to x, and of their reflections."""

def iti0k0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of i0 and k0 from 0 to x."""

def itj0y0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integrals of j0 and y0 from 0 to x."""

def itmodstruve0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integral of modstruve(0, t) from 0 to x."""

def itstruve0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the integral of struve(0, t) from 0 to x."""

def iv(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the first kind of order v."""

def ive(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(-|z|) * iv(v, z) for real z, a scaled Bessel function."""

def j0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the first kind of order 0."""

def j1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the first kind of order 1."""

def jn(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the first kind of order v."""

def jv(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the first kind of order v."""

def jve(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return jv(v, z) for real z."""

def k0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the second kind of order 0."""

def k0e(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(x) * k0(x), a scaled Bessel function."""

def k1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the second kind of order 1."""

def k1e(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(x) * k1(x), a scaled Bessel function."""

def kei(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Kelvin's function kei."""

def keip(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the derivative of Kelvin's function kei."""

def kelvin(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return ber + i bei and ker + i kei of real x, and then their derivatives, complex."""

def ker(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Kelvin's function ker."""

def kerp(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the derivative of Kelvin's function ker."""

def kl_div(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x * log(x / y) - x + y, a term of the Kullback-Leibler divergence."""

def kn(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the second kind of integer order n."""

def kolmogi(p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose kolmogorov is p."""

def kolmogorov(y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability above y of Kolmogorov's distribution."""

def kv(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Bessel function of the second kind of order v."""

def kve(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return exp(z) * kv(v, z), a scaled Bessel function."""

def log1p(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(1 + x), accurate near 0."""

def log_expit(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(expit(x)), accurate for negative x."""

def log_ndtr(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(ndtr(x)), accurate for negative x."""

def log_wright_bessel(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the logarithm of wright_bessel(a, b, x)."""

def loggamma(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the logarithm of the gamma function, NaN for negative real numbers."""

def logit(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return log(x / (1 - x)), the inverse of expit."""

def lpmv(m: Any, v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the associated Legendre function of integer order m and degree v."""

def mathieu_a(m: Any, q: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the characteristic value of even Mathieu functions."""

def mathieu_b(m: Any, q: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the characteristic value of odd Mathieu functions."""

def mathieu_cem(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an even Mathieu function and its derivative."""

def mathieu_modcem1(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an even modified Mathieu function of the first kind and its derivative."""

def mathieu_modcem2(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an even modified Mathieu function of the second kind and its derivative."""

def mathieu_modsem1(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an odd modified Mathieu function of the first kind and its derivative."""

def mathieu_modsem2(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an odd modified Mathieu function of the second kind and its derivative."""

def mathieu_sem(m: Any, q: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an odd Mathieu function and its derivative."""

def modstruve(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the modified Struve function of real order v."""

def nbdtr(k: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of up to k failures before n successes of probability p."""

def nbdtrc(k: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of more than k failures before n successes of probability p."""

def nbdtri(k: Any, n: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability p with nbdtr(k, n, p) = y."""

def nbdtrik(y: Any, n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number k of failures with nbdtr(k, n, p) = y, not rounded."""

def nbdtrin(k: Any, y: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number n of successes with nbdtr(k, n, p) = y, not rounded."""

def ncfdtr(dfn: Any, dfd: Any, nc: Any, f: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of noncentral F."""

def ncfdtri(dfn: Any, dfd: Any, nc: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile of noncentral F."""

def ncfdtridfd(dfn: Any, p: Any, nc: Any, f: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom dfd with ncfdtr(dfn, dfd, nc, f) = p."""

def ncfdtridfn(p: Any, dfd: Any, nc: Any, f: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom dfn with ncfdtr(dfn, dfd, nc, f) = p."""

def ncfdtrinc(dfn: Any, dfd: Any, p: Any, f: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the noncentrality nc with ncfdtr(dfn, dfd, nc, f) = p."""

def nctdtr(df: Any, nc: Any, t: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of noncentral t."""

def nctdtridf(p: Any, nc: Any, t: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom df with nctdtr(df, nc, t) = p."""

def nctdtrinc(df: Any, p: Any, t: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the noncentrality nc with nctdtr(df, nc, t) = p."""

def nctdtrit(df: Any, nc: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile of noncentral t."""

def ndtr(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of the standard normal distribution at x."""

def ndtri(p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile of the standard normal distribution at p."""

def ndtri_exp(y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile of the standard normal distribution at exp(y)."""

def nrdtrimn(p: Any, std: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the mean of the normal distribution with probability p up to x."""

def nrdtrisd(mn: Any, p: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the standard deviation of the normal distribution with probability p up to x."""

def obl_ang1(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an oblate spheroidal angular function and its derivative."""

def obl_ang1_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return obl_ang1 for its characteristic value."""

def obl_cv(m: Any, n: Any, c: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the characteristic value of oblate spheroidal functions."""

def obl_rad1(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an oblate spheroidal radial function of the first kind and its derivative."""

def obl_rad1_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return obl_rad1 for its characteristic value."""

def obl_rad2(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an oblate spheroidal radial function of the second kind and its derivative."""

def obl_rad2_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return obl_rad2 for its characteristic value."""

def owens_t(h: Any, a: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Owen's T function of h and a."""

def pbdv(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the parabolic cylinder function D and its derivative."""

def pbvv(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the parabolic cylinder function V and its derivative."""

def pbwa(a: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the parabolic cylinder function W and its derivative."""

def pdtr(k: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of up to k events, for a Poisson distribution of mean m."""

def pdtrc(k: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability of more than k events, for a Poisson distribution of mean m."""

def pdtri(k: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the mean m with pdtr(k, m) = y."""

def pdtrik(p: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number k of events with pdtr(k, m) = p, not rounded."""

def poch(z: Any, m: Any, /, out: Any = None, **options: Any) -> Any:
    """Return gamma(z + m) / gamma(z), the rising factorial."""

def powm1(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x**y - 1, accurate where that is small."""

def pro_ang1(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return a prolate spheroidal angular function and its derivative."""

def pro_ang1_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return pro_ang1 for its characteristic value."""

def pro_cv(m: Any, n: Any, c: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the characteristic value of prolate spheroidal functions."""

def pro_rad1(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return a prolate spheroidal radial function of the first kind and its derivative."""

def pro_rad1_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return pro_rad1 for its characteristic value."""

def pro_rad2(m: Any, n: Any, c: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return a prolate spheroidal radial function of the second kind and its derivative."""

def pro_rad2_cv(m: Any, n: Any, c: Any, cv: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return pro_rad2 for its characteristic value."""

def pseudo_huber(delta: Any, r: Any, /, out: Any = None, **options: Any) -> Any:
    """Return delta**2 * (hypot(1, r / delta) - 1), a smooth Huber loss."""

def psi(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the digamma function of z, the derivative of log(gamma(z))."""

def radian(d: Any, m: Any, s: Any, /, out: Any = None, **options: Any) -> Any:
    """Return an angle of degrees, minutes and seconds in radians."""

def rel_entr(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x * log(x / y), 0 where x is 0 and y is not negative."""

def rgamma(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return 1 / gamma(z), which is 0 at the poles of gamma."""

def round(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x rounded to the nearest integer, and halves to the even one."""

def shichi(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the hyperbolic sine and cosine integral of real x."""

def sici(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the sine and the cosine integral of real x."""

def sindg(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the sine of an angle in degrees."""

def smirnov(n: Any, d: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the probability above d of Smirnov's statistic for n samples."""

def smirnovi(n: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number whose smirnov is p."""

def spence(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Spence's function of z, the dilogarithm of 1 - z."""

def stdtr(df: Any, t: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of Student's t with df degrees of freedom."""

def stdtridf(p: Any, t: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the degrees of freedom df with stdtr(df, t) = p."""

def stdtrit(df: Any, p: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the quantile of Student's t with df degrees of freedom."""

def struve(v: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Struve function of real order v."""

def tandg(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the tangent of an angle in degrees."""

def tklmbda(x: Any, lmbda: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the distribution function of Tukey's lambda distribution."""

def voigt_profile(x: Any, sigma: Any, gamma: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the density of the sum of a normal and a Cauchy variable."""

def wofz(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Faddeeva function exp(-z**2) * erfc(-i z), complex."""

def wright_bessel(a: Any, b: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Wright's generalised Bessel function."""

def wrightomega(z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the number w with w + log(w) = z, for real z."""

def xlog1py(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x * log1p(y), and 0 where x is 0."""

def xlogy(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """Return x * log(y), and 0 where x is 0."""

def y0(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the second kind of order 0."""

def y1(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the second kind of order 1."""

def yn(n: Any, x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the second kind of integer order n."""

def yv(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return the Bessel function of the second kind of order v."""

def yve(v: Any, z: Any, /, out: Any = None, **options: Any) -> Any:
    """Return yv(v, z) for real z."""

def zetac(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Return Riemann's zeta function minus 1."""
