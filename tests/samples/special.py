"""Samples of special functions: ufuncs of `scipy.special` called as they are, and functions of `anyshape.numpy`."""

import numpy
import scipy.special as sc

from anyshape.numpy import special
from anyshape.ops.special_ufuncs import FUNCTIONS
from anyshape.scipy import special as scipy_functions
from tests.samples.elementwise import EDGES, POSITIVE, UP, F
from tests.samples.sample import Sample, draw


def scipy(name):
    """Return the ufunc of SciPy, whatever the namespace."""
    return lambda np, *xs: getattr(sc, name)(*xs)


def ours(name, *first):
    """Return the function of this name in `anyshape.numpy.special`, with literal first arguments."""
    return lambda np, *xs: getattr(special, name)(*first, *xs)


def op_of(name):
    """Return the name of the op that a function applies."""
    return "special_ufunc" if name in FUNCTIONS else name


def pair(name, part):
    """Return one of the two results of a function of `anyshape.scipy.special`."""
    return lambda np, x: getattr(scipy_functions, name)(x)[part]


def AT_ZERO(rng, shapes, dtype):
    """Return positive numbers, then zeros."""
    first, last = shapes
    return [numpy.asarray(draw(rng, first, dtype, (0.5, 3))), numpy.zeros_like(draw(rng, last, dtype, (0, 1)))]


def POLES(rng, shapes, dtype):
    """Return zeros and small negative integers."""
    return [-rng.integers(0, 3, shape).astype(dtype) for shape in shapes]


FAR = numpy.array([0.0, -2.0, numpy.inf, -numpy.inf, 1e30])

# name, core ops, domain, dtypes
_UNARY = [
    ("erf", "erf", (-2, 2), (*F, "int32", "complex128")),
    ("erfc", "erfc", (-2, 2), F),
    ("erfcx", "erfcx", (-1, 2), F),
    ("erfi", "special_ufunc", (-1, 1), F),
    ("erfinv", "special_ufunc", (-0.9, 0.9), F),
    ("erfcinv", "special_ufunc", (0.1, 1.9), F),
    ("dawsn", "special_ufunc", (-2, 2), F),
    ("ndtr", "ndtr", (-2, 2), F),
    ("ndtri", "ndtri", (0.1, 0.9), F),
    ("log_ndtr", "log_ndtr erfcx", (-2, 2), F),
    ("gamma", "gamma digamma polygamma", (0.5, 3), F),
    ("gammaln", "gammaln digamma polygamma", (0.5, 3), F),
    ("digamma", "digamma polygamma", (0.5, 3), F),
    ("psi", "digamma", (0.5, 3), F),
    ("expit", "expit expit_slope", (-3, 3), (*F, "int32")),
    ("logit", "special_ufunc", (0.1, 0.9), F),
    ("log_expit", "log_expit", (-3, 3), F),
    ("entr", "entr", (0.1, 3), F),
    ("exp10", "special_ufunc", (-1, 1), F),
    ("exp1", "special_ufunc", (0.2, 2), F),
    ("expi", "special_ufunc", (0.2, 2), F),
    ("j0", "bessel_j", (-3, 3), F),
    ("j1", "bessel_j", (-3, 3), F),
    ("y0", "bessel_y", (0.5, 3), F),
    ("y1", "bessel_y", (0.5, 3), F),
    ("i0", "bessel_i", (-3, 3), F),
    ("i1", "bessel_i", (-3, 3), F),
    ("k0", "bessel_k", (0.5, 3), F),
    ("k1", "bessel_k", (0.5, 3), F),
    ("i0e", "scaled_bessel_i", (0.3, 3), F),
    ("i1e", "scaled_bessel_i", (0.3, 3), F),
    ("k0e", "scaled_bessel_k", (0.5, 3), F),
    ("k1e", "scaled_bessel_k", (0.5, 3), F),
    ("rgamma", "rgamma", (-1.5, 3), ("float64",)),
    ("exprel", "special_ufunc hyp1f1", (-1, 1), ("float64",)),
    ("spence", "special_ufunc", (0.3, 3), ("float64",)),
]
_BINARY = [
    ("beta", "beta polygamma_difference", (0.5, 3), F),
    ("betaln", "betaln", (0.5, 3), F),
    ("owens_t", "owens_t", (-2, 2), F),
    ("xlogy", "xlogy ratio", (0.3, 3), (*F, "complex128")),
    ("xlog1py", "xlog1py ratio", (0.3, 3), F),
    ("rel_entr", "rel_entr ratio", (0.3, 3), F),
    ("kl_div", "kl_div ratio", (0.3, 3), F),
]
_ORDERED = [
    ("jv", "bessel_j", (-3, 3)),
    ("yv", "bessel_y", (0.8, 3)),
    ("yn", "special_ufunc", (0.8, 3)),
    ("iv", "bessel_i", (-3, 3)),
    ("kv", "bessel_k", (0.8, 3)),
    ("kn", "bessel_k", (0.8, 3)),
    ("ive", "scaled_bessel_i", (0.3, 3)),
    ("kve", "scaled_bessel_k", (0.8, 3)),
]

SAMPLES = [
    *[Sample(f"special.{n}", scipy(n), ("n, 3",), tuple(ops.split()), d, dom) for n, ops, dom, d in _UNARY],
    *[Sample(f"special.{n}", scipy(n), UP, tuple(ops.split()), d, dom) for n, ops, dom, d in _BINARY],
    *[Sample(f"special.{n} 2", ours(n, 2), ("n, 3",), (op,), F, dom) for n, op, dom in _ORDERED],
    *[Sample(f"special.{n} -1", ours(n, -1), ("n, 3",), (op,), F, dom) for n, op, dom in _ORDERED],
    *[
        Sample(f"special.{n} edges", scipy(n), ("n, 7",), make=EDGES, grad=None)
        for n in ["erf", "erfc", "ndtr", "log_ndtr", "expit", "log_expit", "entr", "gammaln", "j0", "i0e"]
    ],
    *[
        Sample(f"special.{n} edges", scipy(n), ("7, 1", "1, 7"), make=POSITIVE, grad=None)
        for n in ["xlogy", "xlog1py", "rel_entr", "kl_div", "betaln", "owens_t"]
    ],
    *[Sample(f"special.polygamma {k}", ours("polygamma", k), ("n, 3",), (), F[: k + 1], (0.5, 3)) for k in (0, 1, 3)],
    Sample("special.zeta", lambda np, q: special.zeta(2.5, q), ("n, 3",), ("zeta",), F, (0.5, 3)),
    Sample("special.zeta both", lambda np, x, q: special.zeta(x + 1, q), UP, ("zeta", "zeta_derivative"), F, (0.5, 3)),
    Sample("special.zeta of Riemann", lambda np, x: special.zeta(x), ("n, 3",), ("riemann_zeta",), F, (-3, 0.8)),
    *[
        Sample(f"special.{n}", scipy(n), ("n, 3", "3"), (op_of(n), "gammainc_derivative"), F, domain)
        for n, domain in [
            *[(f, (0.3, 3)) for f in ("gammainc", "gammaincc", "chdtr", "chdtrc")],
            *[(f, (0.2, 0.9)) for f in ("gammaincinv", "gammainccinv")],
        ]
    ],
    *[
        Sample(f"special.{n}", scipy(n), ("n, 2", "2", "1"), (op_of(n), "betainc_derivative"), F, (0.2, 0.9))
        for n in ("betainc", "betaincc", "betaincinv", "betainccinv", "fdtr", "fdtrc")
    ],
    *[Sample(f"special.{n}", scipy(n), ("n, 3", "3", ""), (op_of(n),), domain=(0.3, 3)) for n in ("gdtr", "gdtrc")],
    Sample("special.stdtr", scipy("stdtr"), ("n, 3", "3"), ("stdtr", "student_derivative"), F, (0.3, 3)),
    Sample("special.stdtr at 0", lambda np, df, x: sc.stdtr(df, x), ("n, 1", "n, 1"), ("stdtr",), make=AT_ZERO),
    Sample("special.stdtrit", scipy("stdtrit"), ("n, 3", "3"), ("stdtrit",), F, (0.2, 0.9)),
    Sample("special.stdtr infinite", lambda np, x: sc.stdtr(numpy.inf, x), ("n, 3",), ("stdtr",)),
    Sample("special.rgamma at poles", scipy("rgamma"), ("n, 3",), ("rgamma",), make=POLES),
    Sample("special.spence at 1", lambda np, x: sc.spence(1 - x), ("n",), ("special_ufunc",), make=POLES),
    Sample("special.exprel at 0", scipy("exprel"), ("n",), ("special_ufunc",), make=POLES),
    *[
        Sample(f"special.{n}", lambda np, *xs, f=n, first=first: getattr(sc, f)(*first, *xs), shapes, (n,), domain=dom)
        for n, first, shapes, dom in [
            ("poch", (), ("n, 3", "3"), (0.5, 2)),
            ("binom", (), ("n, 3", "3"), (0.5, 2)),
            ("expn", (2.0,), ("n, 3",), (0.5, 2)),
            ("hyp0f1", (1.5,), ("n, 3",), (-1, 1)),
            ("hyp2f1", (1.5, 2.5, 3.5), ("n, 3",), (-0.6, 0.6)),
            *[(b, (1.3,), ("n, 3",), (0.5, 3)) for b in ("jv", "yv", "iv", "kv", "ive", "kve")],
        ]
    ],
    *[
        Sample(
            f"special.{n}",
            lambda np, x, f=n, first=first: getattr(sc, f)(*first, x),
            ("n",),
            (op_of(n),),
            domain=(0.2, 0.8),
            vmap=False,
        )
        for n, first in [
            *[(f, (2.4, 5.0)) for f in ("bdtr", "bdtrc")],
            *[(f, (2.0, 5.0)) for f in ("nbdtr", "nbdtrc")],
            *[(f, (2.3,)) for f in ("pdtr", "pdtrc")],
        ]
    ],
    *[
        Sample(f"special.{n}", scipy(n), ("n, 3", "3"), domain=(0.2, 1.5))
        for n in ("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p")
    ],
    Sample("special.boxcox of power 0", lambda np, y: sc.boxcox(2.5, y), ("n",), make=POLES),
    Sample("special.inv_boxcox of power 0", lambda np, y: sc.inv_boxcox(-2.5, y), ("n",), make=POLES),
    Sample("special.nbdtr of integers", lambda np, p: sc.nbdtr(2, 5, p), ("n",), domain=(0.2, 0.8)),
    # SciPy's function does not return from larger numbers, and the special values are among these
    Sample("special.hyp1f1", lambda np, x: sc.hyp1f1(1.5, 2.5, np.minimum(x, 1e6)), ("n, 3",), ("hyp1f1",)),
    Sample("special.expn 0", lambda np, x: sc.expn(0, x), ("n",), ("expn",), domain=(0.5, 2)),
    *[
        Sample(f"special.{n}", scipy(n), ("n, 3",), (n,), F, domain)
        for n, domain in [("ellipk", (-2, 0.8)), ("ellipkm1", (0.1, 1.5)), ("ellipe", (-2, 0.8))]
    ],
    Sample("special.loggamma", scipy("loggamma"), ("n, 3",), ("gammaln",), F, (0.3, 3)),
    Sample("special.gammasgn", scipy("gammasgn"), ("n, 3",), ("gammasgn",), F, grad=False),
    Sample("special.wofz", scipy("wofz"), ("n, 3",), ("wofz",), ("complex128",), tolerance=1e-8),
    Sample("special.elliprd", scipy("elliprd"), ("n, 3", "3", ""), ("elliprd",), F, (0.3, 3), order=1),
    Sample("special.elliprf", scipy("elliprf"), ("n, 3", "3", ""), ("elliprf",), F, (0.3, 3), order=1),
    Sample("special.elliprc", scipy("elliprc"), ("n, 3", "3"), ("elliprc",), F, (0.3, 3), order=1),
    Sample("special.ellipkinc", lambda np, x, m: sc.ellipkinc(3 * x, m / 9), UP, ("ellipkinc",), F, order=1),
    Sample("special.ellipeinc", lambda np, x, m: sc.ellipeinc(3 * x, m / 9), UP, ("ellipeinc",), F, order=1),
    *[
        Sample(f"special.{f} {part}", pair(f, part), ("n, 3",), ("special_ufunc",), F, (0.3, 3))
        for f in ("sici", "shichi", "fresnel")
        for part in (0, 1)
    ],
    Sample(
        "special.kelvin", lambda np, x: [sc.kelvin(x)[k] for k in (1, 2)], ("n, 3",), ("special_ufunc",), F, (0.3, 3)
    ),
    Sample(
        "special.lambertw", lambda np, x: scipy_functions.lambertw(x + 3.0), ("n, 3",), ("lambertw",), ("complex128",)
    ),
    *[
        Sample(
            f"special.sph_harm_y {n} {m}",
            lambda np, x, y, n=n, m=m: np.real(scipy_functions.sph_harm_y(n, m, x, y) * (2 - 1j)),
            UP,
            ("sph_harm_y",),
            domain=(0.3, 1.5),
        )
        for n, m in [(0, 0), (2, 1), (3, -2), (2, 2)]
    ],
    Sample("special.huber", scipy("huber"), UP, (), F, (0.5, 3)),
    Sample("special.pseudo_huber", scipy("pseudo_huber"), UP, (), F, (0.5, 3)),
    Sample("special.pseudo_huber far", lambda np, d: sc.pseudo_huber(d, FAR), ("n, 1",), domain=(-0.5, 3), grad=None),
    *[
        Sample(f"special.{n} dtypes", scipy(n), ("n, 3",), (n,), ("bool", "int8", "float32"), grad=None)
        for n in ("cbrt", "exp2", "log1p")
    ],
    Sample("special.huber edges", scipy("huber"), ("7, 1", "1, 7"), make=EDGES, grad=None),
    Sample("numpy.i0", lambda np, x: numpy.i0(x), ("n, 3",), ("bessel_i",), F),
    Sample("special.expm1", scipy("expm1"), ("n, 3",), ("expm1",), F),
    Sample("special.sinc zero", lambda np, x: np.sinc(x * 0) + np.sinc(x), ("n, 3",), ("sinc",), F),
    Sample("special.entr scaled", lambda np, x: sc.entr(x / numpy.float64(3)), ("n",), ("entr",), F, (0.3, 3)),
]
