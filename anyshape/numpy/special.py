"""Define the functions of `scipy.special` for traced and concrete arrays.

The ufuncs of `scipy.special` may be called on traced arrays directly, as in `scipy.special.erf(x)`. Functions that are
plain Python there (`polygamma`, `zeta`) must be called from here. Orders of Bessel and polygamma functions are
literal integers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.operands.promotion import asarray, cast_operand, loop_dtypes, promoted, result_type
from anyshape.numpy.operands.reduction_args import makes_array
from anyshape.numpy.operands.ufuncs import Ufunc, check_options, has_out, of_ufunc, operands_of, plain_ufunc, ufunc_doc
from anyshape.numpy.reduction import log_softmax, logsumexp, softmax
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp
from anyshape.ops import special_ufuncs as su
from anyshape.support.true_types import has_type


def _op_of(name: str) -> Callable[..., Any]:
    """Return what applies the op of a name, or gives all results of a further ufunc."""
    if name not in su.FUNCTIONS:
        return getattr(sp, name)
    return partial(su.special_ufuncs if su.FUNCTIONS[name][1] > 1 else su.special_ufunc, name)


def _function(name: str, summary: str, apply: Callable[..., Any] | None = None, operands: str = "") -> Ufunc:
    """Build the function of a ufunc of SciPy, by the op of its name if none is given."""
    return of_ufunc(getattr(sc, name), apply or _op_of(name), summary, module=__name__, operands=operands)


def parametric(
    name: str, summary: str, apply: Callable[..., Any] | None = None, operands: str = "", module: str = __name__
) -> Ufunc:
    """Build a function of parameters and of one argument, which must be real and gives the dtype; see `_function`."""
    ufunc, apply = plain_ufunc(getattr(sc, name)), apply or _op_of(name)

    def function(*args, **options):
        if has_out(ufunc, args, options):
            return ufunc(*args, **options)  # by NumPy's protocol, which writes the result
        dtype = loop_dtypes(ufunc, *args, **check_options(ufunc, args, options))[ufunc.nin - 1]
        if dtype.kind == "c" and name not in su.COMPLEX:
            raise DTypeError(name, "no derivative for complex arguments", "use real arguments", user_line())
        return apply(*[cast_operand(x, dtype, name) for x in args])

    note = "Traced operands must be real, or DTypeError is raised." if name not in su.COMPLEX else ""
    return Ufunc(ufunc, function, ufunc_doc(ufunc, summary, note, operands), module, operands)


# -- error functions and the normal distribution

erf: Ufunc = _function("erf", "Return the error function of x.", operands="x")
erfc: Ufunc = _function("erfc", "Return 1 - erf(x), accurate for large x.")
erfcx: Ufunc = _function("erfcx", "Return exp(x**2) * erfc(x), the scaled complementary error function.")
erfi: Ufunc = _function("erfi", "Return -i * erf(i * z), the imaginary error function.")
erfinv: Ufunc = _function("erfinv", "Return the number whose error function is y.")
erfcinv: Ufunc = _function("erfcinv", "Return the number whose complementary error function is y.")
dawsn: Ufunc = _function("dawsn", "Return Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x.")
ndtr: Ufunc = _function("ndtr", "Return the distribution function of the standard normal distribution at x.")
ndtri: Ufunc = _function("ndtri", "Return the quantile of the standard normal distribution at p.", operands="p")
owens_t: Ufunc = _function("owens_t", "Return Owen's T function of h and a.")
log_ndtr: Ufunc = _function("log_ndtr", "Return log(ndtr(x)), accurate for negative x.")

# -- gamma and beta functions

gamma: Ufunc = _function("gamma", "Return the gamma function of z.")
gammaln: Ufunc = _function("gammaln", "Return log(|gamma(x)|).")
digamma: Ufunc = _function("psi", "Return the digamma function of z, the derivative of log(gamma(z)).", sp.digamma)
psi: Ufunc = digamma
beta: Ufunc = _function("beta", "Return gamma(a) * gamma(b) / gamma(a + b).")
betaln: Ufunc = _function("betaln", "Return log(|beta(a, b)|).")
gammainc: Ufunc = _function("gammainc", "Return the regularised lower incomplete gamma function P(a, x).")
gammaincc: Ufunc = _function("gammaincc", "Return the regularised upper incomplete gamma function Q(a, x).")
betainc: Ufunc = _function("betainc", "Return the regularised incomplete beta function of x for a and b.")
betaincc: Ufunc = _function("betaincc", "Return 1 - betainc(a, b, x), accurate where that is small.")
gammaincinv: Ufunc = _function("gammaincinv", "Return the x with gammainc(a, x) = y, a quantile.")
gammainccinv: Ufunc = _function("gammainccinv", "Return the x with gammaincc(a, x) = y, a quantile.")
betaincinv: Ufunc = _function("betaincinv", "Return the x with betainc(a, b, x) = y, a quantile.")
betainccinv: Ufunc = _function("betainccinv", "Return the x with betaincc(a, b, x) = y, a quantile.")
stdtr: Ufunc = _function("stdtr", "Return the distribution function of Student's t with df degrees of freedom.")
stdtrit: Ufunc = _function("stdtrit", "Return the quantile of Student's t with df degrees of freedom.")


def _order(function: str, n) -> int:
    """Return the order n as an int; it must be a literal integer."""
    if not _is_literal_integer(n):
        raise ArgumentError(function, "the order", f"is {n!r}, not an integer", "pass a Python int")
    return int(n)


def _is_literal_integer(n) -> bool:
    """Return whether an order is a number of Python or NumPy without a fraction."""
    value = n.item() if has_type(n, (np.ndarray, np.generic)) and np.ndim(n) == 0 else n
    return has_type(value, (int, float)) and not has_type(value, bool) and float(value).is_integer()


def polygamma(n: Any, x: Any) -> Any:
    """Return the n-th derivative of the digamma function at x, as float64 in the shape of x.

    With a traced operand n is one literal integer that is not negative, or ArgumentError is raised.
    """
    if (order := _order("polygamma", n)) < 0:
        raise ArgumentError("polygamma", "the order", f"is {order}", "pass a non-negative int")
    return sp.polygamma(order, asarray(x, np.float64, "polygamma"))


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Return the Hurwitz zeta function of x and q; for q=None the Riemann zeta function of x.

    x and q broadcast, and traced ones are real.
    """
    alike = plain_ufunc(sc.rel_entr)  # zeta, which is not a ufunc, promotes like it
    return sp.riemann_zeta(promoted(alike, x, 1.0)[0]) if q is None else sp.zeta(*promoted(alike, x, q))


# -- logistic functions, entropies, integrals of exponentials

expit: Ufunc = _function("expit", "Return 1 / (1 + exp(-x)), the logistic function.")
logit: Ufunc = _function("logit", "Return log(x / (1 - x)), the inverse of expit.")
log_expit: Ufunc = _function("log_expit", "Return log(expit(x)), accurate for negative x.")
xlogy: Ufunc = _function("xlogy", "Return x * log(y), and 0 where x is 0.")
xlog1py: Ufunc = _function("xlog1py", "Return x * log1p(y), and 0 where x is 0.")
entr: Ufunc = _function("entr", "Return -x * log(x), 0 at 0 and -inf below.")
rel_entr: Ufunc = _function("rel_entr", "Return x * log(x / y), 0 where x is 0 and y is not negative.")
kl_div: Ufunc = _function("kl_div", "Return x * log(x / y) - x + y, a term of the Kullback-Leibler divergence.")
exp10: Ufunc = _function("exp10", "Return 10 to the power of x.")
exp1: Ufunc = _function("exp1", "Return the exponential integral E1, of exp(-t) / t from z to infinity.")
expi: Ufunc = _function("expi", "Return the exponential integral Ei, of exp(t) / t from -infinity to x.")


def _huber(delta, r):
    """Return r**2 / 2 up to |r| = delta, a line beyond, and infinity for negative delta."""
    delta, r = ew.broadcast_operands("huber", delta, r)
    size = ew.absolute(r)
    loss = ew.select(ew.le(size, delta), 0.5 * ew.square(r), delta * (size - 0.5 * delta))
    return ew.select(ew.lt(delta, ew.lift(0, delta)), np.inf, loss)


def _pseudo_huber(delta, r):
    """Return delta**2 (sqrt(1 + (r / delta)**2) - 1) without its cancellation, and that of the slopes of large r.

    It is smooth, and 0 where either operand is 0.
    """
    delta, r = ew.broadcast_operands("pseudo_huber", delta, r)
    loss = r * (r / ew.add(ew.hypot(ew.ratio(r, delta), ew.lift(1, r)), 1))
    loss = ew.select(ew.gt(ew.absolute(r), delta), delta * (ew.hypot(r, delta) - delta), loss)
    loss = ew.select(ew.isinf(r), ew.select(ew.eq(delta, ew.lift(0, delta)), delta, np.inf), loss)
    return ew.select(ew.lt(delta, ew.lift(0, delta)), np.inf, loss)


huber: Ufunc = _function("huber", "Return Huber's loss: r**2 / 2 up to |r| = delta, then a line.", _huber)
pseudo_huber: Ufunc = _function(
    "pseudo_huber", "Return delta**2 * (hypot(1, r / delta) - 1), a smooth Huber loss.", _pseudo_huber
)

# -- hypergeometric functions, products of gamma functions, further integrals

rgamma: Ufunc = _function("rgamma", "Return 1 / gamma(z), which is 0 at the poles of gamma.")
poch: Ufunc = _function("poch", "Return gamma(z + m) / gamma(z), the rising factorial.")
binom: Ufunc = _function("binom", "Return the binomial coefficient of x over y, for real numbers.")
exprel: Ufunc = _function("exprel", "Return (exp(x) - 1) / x, a smooth function that is 1 at 0.")
spence: Ufunc = _function("spence", "Return Spence's function of z, the dilogarithm of 1 - z.")
expn: Ufunc = parametric("expn", "Return the exponential integral of x, of order n.")
hyp0f1: Ufunc = parametric("hyp0f1", "Return the confluent hypergeometric limit function 0F1 of v and z.")
hyp1f1: Ufunc = parametric("hyp1f1", "Return Kummer's confluent hypergeometric function 1F1 of a, b and x.")
hyp2f1: Ufunc = parametric("hyp2f1", "Return Gauss's hypergeometric function 2F1 of a, b, c and z.")

# -- elliptic integrals, further functions of real and of complex numbers

ellipk: Ufunc = _function("ellipk", "Return the complete elliptic integral of the first kind.")
ellipkm1: Ufunc = _function("ellipkm1", "Return ellipk(1 - p), accurate near its pole.")
ellipe: Ufunc = _function("ellipe", "Return the complete elliptic integral of the second kind.")
ellipkinc: Ufunc = _function("ellipkinc", "Return the elliptic integral of the first kind up to phi.")
ellipeinc: Ufunc = _function("ellipeinc", "Return the elliptic integral of the second kind up to phi.")
elliprc: Ufunc = parametric("elliprc", "Return Carlson's degenerate elliptic integral.")
elliprf: Ufunc = parametric("elliprf", "Return Carlson's elliptic integral of the first kind.")
elliprd: Ufunc = parametric("elliprd", "Return Carlson's elliptic integral of the second kind, without derivatives.")
gammasgn: Ufunc = _function("gammasgn", "Return the sign of the gamma function, with derivative 0.")
wofz: Ufunc = _function("wofz", "Return the Faddeeva function exp(-z**2) * erfc(-i z), complex.")


def _real_loggamma(z):
    """Return gammaln, and NaN where the logarithm of the gamma function is not real."""
    is_negative = ew.lt(z, ew.lift(0, z))
    return ew.select(is_negative, np.nan, sp.gammaln(ew.select(is_negative, 1, z)))


def _loggamma(z):
    return su.special_ufunc("loggamma", z) if z.dtype.kind == "c" else _real_loggamma(z)


loggamma: Ufunc = _function(
    "loggamma", "Return the logarithm of the gamma function, NaN for negative real numbers.", _loggamma
)

# -- distribution functions, by the names of the Cephes library; powers of Box and Cox

bdtr: Ufunc = parametric("bdtr", "Return the probability of up to k successes in n trials of probability p.")
bdtrc: Ufunc = parametric("bdtrc", "Return the probability of more than k successes in n trials of probability p.")
nbdtr: Ufunc = parametric("nbdtr", "Return the probability of up to k failures before n successes of probability p.")
nbdtrc: Ufunc = parametric(
    "nbdtrc", "Return the probability of more than k failures before n successes of probability p."
)
pdtr: Ufunc = parametric("pdtr", "Return the probability of up to k events, for a Poisson distribution of mean m.")
pdtrc: Ufunc = parametric(
    "pdtrc", "Return the probability of more than k events, for a Poisson distribution of mean m."
)
chdtr: Ufunc = parametric("chdtr", "Return the probability up to x of chi-squared with v degrees of freedom.")
chdtrc: Ufunc = parametric("chdtrc", "Return the probability above x of chi-squared with v degrees of freedom.")
gdtr: Ufunc = parametric("gdtr", "Return the probability up to x of a gamma distribution of rate a and shape b.")
gdtrc: Ufunc = parametric("gdtrc", "Return the probability above x of a gamma distribution of rate a and shape b.")
fdtr: Ufunc = parametric("fdtr", "Return the probability up to x of F with dfn and dfd degrees of freedom.")
fdtrc: Ufunc = parametric("fdtrc", "Return the probability above x of F with dfn and dfd degrees of freedom.")
boxcox: Ufunc = parametric("boxcox", "Return (x**lmbda - 1) / lmbda, or log(x) for lmbda = 0.")
boxcox1p: Ufunc = parametric("boxcox1p", "Return ((1 + x)**lmbda - 1) / lmbda, or log(1 + x) for lmbda = 0.")
inv_boxcox: Ufunc = parametric("inv_boxcox", "Return the number whose `boxcox` is y.")
inv_boxcox1p: Ufunc = parametric("inv_boxcox1p", "Return the number whose `boxcox1p` is y.")

# -- SciPy's ufuncs that share a name with one of NumPy's but promote differently

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    sc.cbrt: _function("cbrt", "Return the cube root of x.", ew.cbrt),
    sc.exp2: _function("exp2", "Return 2 to the power of x.", ew.exp2),
    sc.expm1: _function("expm1", "Return exp(x) - 1, accurate near 0.", ew.expm1),
    sc.log1p: _function("log1p", "Return log(1 + x), accurate near 0.", ew.log1p),
    sc.round: _function("round", "Return x rounded to the nearest integer, and halves to the even one.", ew.rint),
}

# -- Bessel functions, and sinc


_BESSEL_DOC = """{summary}

{order} and {argument} broadcast to the shape of the result. Dtypes follow `scipy.special.{name}`.
With a traced operand, {argument} must be real, or DTypeError is raised. {derivative}
Options other than `dtype` keep their defaults.
"""

_BY_ARGUMENT = "Derivatives exist by {argument}, and not by {order}."
_INTEGER_ORDER = "{order} must be a literal integer, or ArgumentError is raised."


def _bessel(
    name: str, summary: str, apply: Callable[[int, Any], Any], real: Callable[[Any, Any], Any] | None = None
) -> Ufunc:
    """Build a Bessel function of an order and an argument; `real` serves orders that are not literal integers."""
    ufunc = plain_ufunc(getattr(sc, name))

    def function(*args, **options):
        if has_out(ufunc, args, options):
            return ufunc(*args, **options)  # by NumPy's protocol, which writes the result
        chosen = check_options(ufunc, args, options)
        argument_dtype = loop_dtypes(ufunc, *args, **chosen)[-1]
        if argument_dtype.kind == "c":
            raise DTypeError(name, "no derivative for complex arguments", "use real arguments", user_line())
        argument = cast_operand(args[1], argument_dtype, name)
        if real is not None and not _is_literal_integer(args[0]):
            return real(cast_operand(args[0], argument_dtype, name), argument)
        return apply(_order(name, args[0]), argument)

    words = dict(zip(("order", "argument"), operands_of(ufunc), strict=True))
    derivative = (_INTEGER_ORDER if real is None else _BY_ARGUMENT).format(**words)
    doc = _BESSEL_DOC.format(summary=summary, name=name, derivative=derivative, **words)
    return Ufunc(ufunc, function, doc, __name__)


j0: Ufunc = _function("j0", "Return the Bessel function of the first kind of order 0.", partial(sp.bessel_j, 0))
j1: Ufunc = _function("j1", "Return the Bessel function of the first kind of order 1.", partial(sp.bessel_j, 1))
y0: Ufunc = _function("y0", "Return the Bessel function of the second kind of order 0.", partial(sp.bessel_y, 0))
y1: Ufunc = _function("y1", "Return the Bessel function of the second kind of order 1.", partial(sp.bessel_y, 1))
i0: Ufunc = _function(
    "i0", "Return the modified Bessel function of the first kind of order 0.", partial(sp.bessel_i, 0)
)
i1: Ufunc = _function(
    "i1", "Return the modified Bessel function of the first kind of order 1.", partial(sp.bessel_i, 1)
)
k0: Ufunc = _function(
    "k0", "Return the modified Bessel function of the second kind of order 0.", partial(sp.bessel_k, 0)
)
k1: Ufunc = _function(
    "k1", "Return the modified Bessel function of the second kind of order 1.", partial(sp.bessel_k, 1)
)
i0e: Ufunc = _function("i0e", "Return exp(-|x|) * i0(x), a scaled Bessel function.", partial(sp.scaled_bessel_i, 0))
i1e: Ufunc = _function("i1e", "Return exp(-|x|) * i1(x), a scaled Bessel function.", partial(sp.scaled_bessel_i, 1))
k0e: Ufunc = _function("k0e", "Return exp(x) * k0(x), a scaled Bessel function.", partial(sp.scaled_bessel_k, 0))
k1e: Ufunc = _function("k1e", "Return exp(x) * k1(x), a scaled Bessel function.", partial(sp.scaled_bessel_k, 1))
jv: Ufunc = _bessel("jv", "Return the Bessel function of the first kind of order v.", sp.bessel_j, real=sp.jv)
jn: Ufunc = jv
yv: Ufunc = _bessel("yv", "Return the Bessel function of the second kind of order v.", sp.bessel_y, real=sp.yv)
yn: Ufunc = parametric("yn", "Return the Bessel function of the second kind of integer order n.")
iv: Ufunc = _bessel("iv", "Return the modified Bessel function of the first kind of order v.", sp.bessel_i, real=sp.iv)
kv: Ufunc = _bessel("kv", "Return the modified Bessel function of the second kind of order v.", sp.bessel_k, real=sp.kv)
kn: Ufunc = _bessel("kn", "Return the modified Bessel function of the second kind of integer order n.", sp.bessel_k)
ive: Ufunc = _bessel(
    "ive", "Return exp(-|z|) * iv(v, z) for real z, a scaled Bessel function.", sp.scaled_bessel_i, real=sp.ive
)
kve: Ufunc = _bessel("kve", "Return exp(z) * kv(v, z), a scaled Bessel function.", sp.scaled_bessel_k, real=sp.kve)


def sinc(x: Any) -> Any:
    """Return sin(pi * x) / (pi * x), a smooth function that is 1 at 0.

    The result has the shape of x; integers become floats.
    """
    return sp.sinc(cast_operand(x, result_type(x, 1.0), "sinc"))


@makes_array
def numpy_i0(x: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 0.

    The result has the shape of x. As in NumPy and unlike in SciPy, half precision stays half precision.
    """
    x = asarray(x, function="i0")
    return ew.convert(i0(x), x.dtype) if x.dtype.kind == "f" else i0(x)


__all__ = [
    "bdtr", "bdtrc", "beta", "betainc", "betaincc", "betainccinv", "betaincinv", "betaln", "binom", "boxcox",
    "boxcox1p", "chdtr", "chdtrc", "dawsn", "digamma", "ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1",
    "elliprc", "elliprd", "elliprf", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv", "exp1", "exp10",
    "expi", "expit", "expn", "exprel", "fdtr", "fdtrc", "gamma", "gammainc", "gammaincc", "gammainccinv",
    "gammaincinv", "gammaln", "gammasgn", "gdtr", "gdtrc", "huber", "hyp0f1", "hyp1f1", "hyp2f1", "i0", "i0e", "i1",
    "i1e", "inv_boxcox", "inv_boxcox1p", "iv", "ive", "j0", "j1", "jn", "jv", "k0", "k0e", "k1", "k1e", "kl_div",
    "kn", "kv", "kve", "log_expit", "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "nbdtr", "nbdtrc",
    "ndtr", "ndtri", "owens_t", "pdtr", "pdtrc", "poch", "polygamma", "pseudo_huber", "psi", "rel_entr", "rgamma",
    "sinc", "softmax", "spence", "stdtr", "stdtrit", "wofz", "xlog1py", "xlogy", "y0", "y1", "yn", "yv", "zeta",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


serve(__name__)
