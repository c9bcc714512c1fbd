"""SciPy's special functions under the names of `scipy.special`, for arrays of a program and for concrete ones.

The ufuncs of `scipy.special` may be called on traced arrays directly (`scipy.special.erf(x)`); those that are Python
functions there (`polygamma`, `zeta`) are taken from here. Orders of Bessel and polygamma functions are literal
integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.operands.promotion import asarray, is_traced, loop_dtypes, promoted, result_type, typed
from anyshape.numpy.operands.ufuncs import of_ufunc
from anyshape.numpy.reduction import log_softmax as log_softmax
from anyshape.numpy.reduction import logsumexp as logsumexp
from anyshape.numpy.reduction import softmax as softmax
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp

_function = functools.partial(of_ufunc, module=__name__)

# -- error functions and the normal distribution

erf = _function(sc.erf, sp.erf)
erfc = _function(sc.erfc, sp.erfc)
erfcx = _function(sc.erfcx, sp.erfcx)
erfi = _function(sc.erfi, sp.erfi)
erfinv = _function(sc.erfinv, sp.erfinv)
erfcinv = _function(sc.erfcinv, sp.erfcinv)
dawsn = _function(sc.dawsn, sp.dawsn)
ndtr = _function(sc.ndtr, sp.ndtr)
ndtri = _function(sc.ndtri, sp.ndtri)
log_ndtr = _function(sc.log_ndtr, sp.log_ndtr)

# -- gamma and its kin

gamma = _function(sc.gamma, sp.gamma)
gammaln = _function(sc.gammaln, sp.gammaln)
digamma = psi = _function(sc.psi, sp.digamma)
beta = _function(sc.beta, sp.beta)
betaln = _function(sc.betaln, sp.betaln)
gammainc = _function(sc.gammainc, sp.gammainc)
gammaincc = _function(sc.gammaincc, sp.gammaincc)
betainc = _function(sc.betainc, sp.betainc)


def _order(function: str, n: Any) -> int:
    """A literal integer order."""
    value = n.item() if isinstance(n, (np.ndarray, np.generic)) and np.ndim(n) == 0 else n
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise ArgumentError(function, "the order", f"is {n!r}, not an integer", "pass a Python int")
    return int(value)


def polygamma(n: Any, x: Any) -> Any:
    """As `scipy.special.polygamma`, for one order n."""
    if not is_traced(n, x):
        return sc.polygamma(n, x)
    order = _order("polygamma", n)
    if order < 0:
        raise ArgumentError("polygamma", "the order", f"is {order}", "pass a non-negative int")
    return sp.polygamma(order, asarray(x, np.float64, "polygamma"))


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """As `scipy.special.zeta` of real arguments; differentiable in q."""
    if not is_traced(x, q):
        return sc.zeta(x, q, out)
    return sp.zeta(*promoted(sc.rel_entr, x, 1.0 if q is None else q))  # no ufunc itself; promotes as this one


# -- logistic functions, entropies, integrals of exponentials

expit = _function(sc.expit, sp.expit)
logit = _function(sc.logit, sp.logit)
log_expit = _function(sc.log_expit, sp.log_expit)
xlogy = _function(sc.xlogy, sp.xlogy)
xlog1py = _function(sc.xlog1py, sp.xlog1py)
entr = _function(sc.entr, sp.entr)
rel_entr = _function(sc.rel_entr, sp.rel_entr)
kl_div = _function(sc.kl_div, sp.kl_div)
exp10 = _function(sc.exp10, sp.exp10)
exp1 = _function(sc.exp1, sp.exp1)
expi = _function(sc.expi, sp.expi)


def _huber(delta: Any, r: Any) -> Any:
    """r**2 / 2 up to delta, then straight; infinite for negative delta."""
    delta, r = ew.broadcast_operands("huber", delta, r)
    size = ew.absolute(r)
    loss = ew.select(ew.le(size, delta), 0.5 * ew.square(r), delta * (size - 0.5 * delta))
    return ew.select(ew.lt(delta, ew.lift(0, delta)), np.inf, loss)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    """delta**2 (sqrt(1 + (r / delta)**2) - 1), without its cancellation; smooth, and 0 where either is 0."""
    delta, r = ew.broadcast_operands("pseudo_huber", delta, r)
    root = ew.hypot(ew.ratio(r, delta), ew.lift(1, r))
    loss = r * (r / ew.add(root, 1))
    loss = ew.select(ew.isinf(r), ew.select(ew.eq(delta, ew.lift(0, delta)), delta, np.inf), loss)
    return ew.select(ew.lt(delta, ew.lift(0, delta)), np.inf, loss)


huber = _function(sc.huber, _huber)
pseudo_huber = _function(sc.pseudo_huber, _pseudo_huber)

# -- what NumPy has too, under the same name but with other dtypes of the result

UFUNCS = {
    ufunc: _function(ufunc, apply)
    for ufunc, apply in (
        (sc.cbrt, ew.cbrt), (sc.exp2, ew.exp2), (sc.expm1, ew.expm1), (sc.log1p, ew.log1p), (sc.round, ew.rint),
    )
}  # fmt: skip

# -- Bessel functions of integer order, and sinc


def _bessel(ufunc: np.ufunc, apply: Callable[[int, Any], Any]) -> Callable[..., Any]:
    """A Bessel function `f(order, x)` of SciPy's."""
    name = ufunc.__name__

    def function(v: Any, z: Any, /, **options: Any) -> Any:
        if not is_traced(v, z, *options.values()):
            return ufunc(v, z, **options)
        order = _order(name, v)
        dtype = loop_dtypes(ufunc, v, z)[-1]
        if dtype.kind == "c":
            raise DTypeError(name, "no derivative for complex arguments", "use real arguments", user_line())
        return apply(order, typed(z, dtype, name))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`, for literal integer orders and real arguments."
    return function


j0 = _function(sc.j0, lambda x: sp.bessel_j(0, x))
j1 = _function(sc.j1, lambda x: sp.bessel_j(1, x))
y0 = _function(sc.y0, lambda x: sp.bessel_y(0, x))
y1 = _function(sc.y1, lambda x: sp.bessel_y(1, x))
i0 = _function(sc.i0, lambda x: sp.bessel_i(0, x))
i1 = _function(sc.i1, lambda x: sp.bessel_i(1, x))
k0 = _function(sc.k0, lambda x: sp.bessel_k(0, x))
k1 = _function(sc.k1, lambda x: sp.bessel_k(1, x))
i0e = _function(sc.i0e, lambda x: sp.scaled_bessel_i(0, x))
i1e = _function(sc.i1e, lambda x: sp.scaled_bessel_i(1, x))
k0e = _function(sc.k0e, lambda x: sp.scaled_bessel_k(0, x))
k1e = _function(sc.k1e, lambda x: sp.scaled_bessel_k(1, x))
jv = jn = _bessel(sc.jv, sp.bessel_j)
yv = _bessel(sc.yv, sp.bessel_y)
yn = _bessel(sc.yn, sp.bessel_y)
iv = _bessel(sc.iv, sp.bessel_i)
kv = _bessel(sc.kv, sp.bessel_k)
kn = _bessel(sc.kn, sp.bessel_k)
ive = _bessel(sc.ive, sp.scaled_bessel_i)
kve = _bessel(sc.kve, sp.scaled_bessel_k)


def sinc(x: Any) -> Any:
    """As `numpy.sinc`: sin(pi x) / (pi x), smooth at 0."""
    if not is_traced(x):
        return np.sinc(x)
    return sp.sinc(typed(x, result_type(x, 1.0), "sinc"))


def numpy_i0(x: Any) -> Any:
    """As `numpy.i0`: unlike SciPy's, it gives half precision for half precision."""
    x = asarray(x, function="i0")
    return ew.convert(i0(x), x.dtype) if x.dtype.kind == "f" else i0(x)


FUNCTIONS = {np.i0: numpy_i0}
