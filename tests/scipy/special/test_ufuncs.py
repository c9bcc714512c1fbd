"""Compare further ufuncs of scipy.special with SciPy at many sizes of one trace, and derivatives with differences."""

import numpy as np
import pytest
import scipy.special as sc

from anyshape import check_grads, grad, jit, vmap
from anyshape.autodiff.rules.special_ufuncs import DERIVATIVES, WITHOUT
from anyshape.backend.numpy._parameter_derivatives import complex_polygamma
from anyshape.errors import DTypeError, UnsupportedFunctionError
from anyshape.numpy import special as core
from anyshape.numpy import special_ufuncs as table
from anyshape.ops.special_ufuncs import COMPLEX, FUNCTIONS
from anyshape.scipy import special

X = np.array([0.31, 0.74, 0.52])
FAR, SHARE = X + 1.2, X * 0.9
COUNT = np.array([2.0, 3.0, 1.0])
# operands of functions that need others than three positive numbers each
OPERANDS = {
    "airy": [X - 0.5],
    "airye": [X],
    "bdtri": [COUNT, COUNT + 3, SHARE],
    "bdtrik": [SHARE, COUNT + 6, X],
    "bdtrin": [COUNT, SHARE, X],
    "besselpoly": [X, FAR, FAR],
    "chndtr": [FAR, COUNT, X],
    "chndtridf": [FAR, SHARE / 2, X],
    "chndtrinc": [FAR * 2, COUNT, SHARE / 4],
    "chndtrix": [SHARE, COUNT, X],
    "ellipj": [X * 5, X],
    "eval_gegenbauer": [COUNT, FAR, X],
    "eval_genlaguerre": [COUNT, FAR, X],
    "eval_jacobi": [COUNT, FAR, X, SHARE - 0.3],
    "eval_sh_jacobi": [COUNT, FAR + 2, FAR, X],
    "fdtri": [COUNT, FAR, SHARE],
    "fdtridfd": [COUNT, sc.fdtr(COUNT, FAR + 2, X), X],
    "gdtria": [SHARE, FAR, X],
    "gdtrib": [X, SHARE, FAR],
    "gdtrix": [X, FAR, SHARE],
    "hyperu": [X, FAR, FAR],
    "loggamma": [FAR - 2 + 1j * X],
    "lpmv": [np.array([1.0, 2, 0]), COUNT, X],
    "nbdtri": [COUNT, COUNT + 2, SHARE],
    "nbdtrik": [SHARE, COUNT + 2, X],
    "nbdtrin": [COUNT, SHARE, X],
    "ncfdtridfd": [COUNT, SHARE / 3, X, X],
    "ncfdtridfn": [SHARE / 3, COUNT + 4, X, X],
    "ncfdtrinc": [COUNT, COUNT + 3, SHARE / 9, X],
    "nctdtridf": [SHARE / 4, X, FAR],
    "ndtri_exp": [-FAR],
    "obl_ang1": [COUNT * 0, COUNT, X, SHARE],
    "obl_ang1_cv": [COUNT * 0, COUNT, X, sc.obl_cv(0, COUNT, X), SHARE],
    "pro_ang1": [COUNT * 0, COUNT, X, SHARE],
    "pro_ang1_cv": [COUNT * 0, COUNT, X, sc.pro_cv(0, COUNT, X), SHARE],
    "pdtri": [COUNT, SHARE],
    "pdtrik": [np.array([0.9, 0.95, 0.8]), FAR],
    "smirnov": [COUNT + 2, X],
    "smirnovi": [COUNT + 2, X],
    "stdtridf": [np.array([0.7, 0.8, 0.6]), np.array([0.7, 1.4, 0.4])],
    "tklmbda": [X, FAR - 1],
    "yn": [COUNT, FAR],
    "zetac": [FAR],
    **{f"{kind}_rad{k}": [COUNT * 0, COUNT, X, FAR] for kind in ("obl", "pro") for k in (1, 2)},
    **{f"{kind}_rad{k}_cv": [COUNT * 0, COUNT, X, FAR, FAR] for kind in ("obl", "pro") for k in (1, 2)},
    **{name: [COUNT, X, X] for name in FUNCTIONS if name.startswith("mathieu") and FUNCTIONS[name][0] == 3},
    **{name: [COUNT, X] for name in FUNCTIONS if name.startswith(("mathieu_a", "mathieu_b", "spherical"))},
    **{name: [COUNT, X] for name, count in FUNCTIONS.items() if name.startswith("eval") and count[0] == 2},
    "eval_hermite": [COUNT.astype(int), X],
    "eval_hermitenorm": [COUNT.astype(int), X],
    "obl_cv": [COUNT * 0, COUNT, X],
    "pro_cv": [COUNT * 0, COUNT, X],
}
WHOLE = ("bdtri", "eval", "lpmv", "mathieu", "nbdtri", "obl", "pdtri", "pro", "smirnov", "spherical", "yn")


def in_part(names, one_in):
    """Return one in so many names as parameters of the gate; the rest is slow."""
    marks = {True: (), False: pytest.mark.slow}
    return [pytest.param(name, marks=marks[k % one_in == 0]) for k, name in enumerate(names)]


def operands_of(name):
    return OPERANDS.get(name, [X, FAR, X[::-1], FAR[::-1]][: FUNCTIONS[name][0]])


def expected(name, *xs):
    """Call SciPy, with the degree of a polynomial or the order of a spherical function as an integer."""
    if name.startswith(("eval", "spherical")) or name in ("bdtri", "nbdtri", "pdtri"):
        xs = [xs[0].astype(int), *xs[1:]]
    return getattr(sc, name)(*xs)


def parts(results):
    """Return results as real arrays."""
    results = results if isinstance(results, tuple) else (results,)
    return [part for r in results for part in ((r.real, r.imag) if np.iscomplexobj(r) else (r,))]


@pytest.mark.parametrize("name", in_part(reversed(FUNCTIONS), 2))
def test_values_are_scipys_at_every_size(name):
    xs = operands_of(name)
    traced = jit(lambda *xs: parts(getattr(special, name)(*xs)))
    for n in (3, 0, 1):
        some = [x[:n] for x in xs]
        for mine, other in zip(traced(*some), parts(expected(name, *some)), strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, 1e-12, 1e-14)
    assert traced.cache_info().traces == 1


class Along:
    """A function with weighted results and its derivative, along a direction of the operands that have one."""

    def __init__(self, name):
        self.name, self.xs = name, operands_of(name)
        self.argnums = tuple(j for j, rule in enumerate(DERIVATIVES[name, 0]) if rule is not None)
        self.steps = [np.cos(np.arange(3.0) + j) if j in self.argnums else None for j in range(len(self.xs))]

    def loss(self, *xs):
        return weighted(getattr(special, self.name)(*xs))

    def slope_of(self, function, xs):
        gradients = grad(function, self.argnums)(*xs)
        return sum((g * self.steps[j]).sum() for g, j in zip(gradients, self.argnums, strict=True))

    def difference(self, function, h=1e-5):
        ahead, behind = (
            function(*[x if s is None else x + d * s for x, s in zip(self.xs, self.steps, strict=True)])
            for d in (h, -h)
        )
        return (ahead - behind) / (2 * h)


def weighted(results):
    """Return the sum of results with uneven weights."""
    return sum(((k + 1) * p * np.array([1.0, 2.0, 4.0])).sum() for k, p in enumerate(parts(results)))


@pytest.mark.parametrize("name", in_part([name for name in FUNCTIONS if name not in {*WITHOUT, "loggamma"}], 4))
def test_derivatives_of_two_orders_agree_with_differences(name):
    along = Along(name)
    slope = lambda *xs: along.slope_of(along.loss, xs)
    by_difference = along.difference(lambda *xs: weighted(expected(name, *xs)))
    np.testing.assert_allclose(slope(*along.xs), by_difference, 2e-5, 1e-7)
    np.testing.assert_allclose(along.slope_of(slope, along.xs), along.difference(slope), 2e-5, 1e-6)
    for j, rule in enumerate(DERIVATIVES[name, 0]):
        if rule is None and not name.startswith(WHOLE):
            with pytest.raises(UnsupportedFunctionError, match=f"^{name}.*has no derivative with respect to its"):
                grad(along.loss, j)(*along.xs)


def test_every_result_has_derivatives_or_is_named_as_without():
    for name, (operands, results) in FUNCTIONS.items():
        assert name in table.ROWS or name.startswith("spherical") or name in core.__all__
        for k in range(results):
            assert ((name, k) in DERIVATIVES) != (name in WITHOUT)
            assert name in WITHOUT or len(DERIVATIVES[name, k]) == operands
    for name in WITHOUT:
        with pytest.raises(UnsupportedFunctionError, match=f"^{name}.*has no derivative with respect to its"):
            last = operands_of(name)[-1]
            grad(lambda x, name=name: parts(getattr(special, name)(*operands_of(name)[:-1], x))[0].sum())(last)


def test_scipys_own_ufuncs_take_traced_arrays_and_dtypes_are_scipys():
    for name in ("eval_legendre", "agm", "struve", "hankel1", "pdtri"):
        small = [x.astype(np.float32) for x in operands_of(name)]
        traced, reference = jit(getattr(sc, name))(*small), getattr(sc, name)(*small)
        assert traced.dtype == reference.dtype
        np.testing.assert_allclose(traced, reference, 1e-5)
    batch = vmap(lambda x: sc.eval_legendre(3, x))(np.stack([X, FAR]))
    np.testing.assert_allclose(batch[1], sc.eval_legendre(3, FAR))
    with pytest.raises(DTypeError, match="complex"):
        jit(lambda z: sc.airy(z)[0])(X + 1j)
    assert {"hankel1", "hankel2e"} <= COMPLEX


def test_polynomials_of_degree_zero_and_elliptic_integrals_at_equal_and_zero_operands():
    zero = grad(lambda x: (sc.eval_jacobi(0, 1.5, 0.5, x) + sc.eval_chebyt(np.array([0, 1, 2]), x)).sum())(X)
    np.testing.assert_allclose(zero, [0, 1, 4 * X[2]])
    h = 1e-6
    for name, at in (("elliprd", [1.0, 2.0, 1.0]), ("elliprg", [0.0, 2.0, 2.0]), ("elliprj", [1.0, 1.0, 1.0, 1.0])):
        for j in range(len(at)):
            if at[j]:
                moved = [getattr(sc, name)(*[x + d * (i == j) for i, x in enumerate(at)]) for d in (h, -h)]
                slope = grad(getattr(special, name), j)(*at)
                np.testing.assert_allclose(slope, (moved[0] - moved[1]) / (2 * h), 1e-8)
    curve = grad(grad(lambda x: special.elliprd(x, 2.0, x)))
    np.testing.assert_allclose(curve(1.0), _second(lambda x: sc.elliprd(x, 2.0, x), 1.0), 1e-6)


def _second(f, x, h=1e-3):
    return (-f(x + 2 * h) + 16 * f(x + h) - 30 * f(x) + 16 * f(x - h) - f(x - 2 * h)) / (12 * h * h)


SINGLE = X.astype(np.float32)
COMPOSED = {
    "spherical_jn": lambda s, x: s.spherical_jn(2, x, derivative=True) + s.spherical_jn(np.array([0, 1, 3]), x),
    "spherical_kn": lambda s, x: s.spherical_kn(2, x) + s.spherical_yn(1, x, True) - s.spherical_in(0, x),
    "jvp": lambda s, x: s.jvp(1.5, x) + s.jvp(2, x, 3) + s.yvp(1, x, 2),
    "ivp": lambda s, x: s.ivp(2, x, 2) + s.kvp(1.5, x, 3) + s.kvp(2, x, 0),
    "h1vp": lambda s, x: np.abs(s.h1vp(1.5, x, 2)) + np.real(s.h2vp(2, x)),
    "assoc_laguerre": lambda s, x: s.assoc_laguerre(x, 3, 1.5),
    "kelvin": lambda s, x: np.abs(s.kelvin(x)[0]) + np.real(s.kelvin(x)[3] * s.kelvin(x)[1]),
    "diric": lambda s, x: s.diric(7 * x, 4) + s.diric(x, 3),
    "softplus": lambda s, x: s.softplus(9 * x),
    "factorial2": lambda s, x: x * s.factorial2(np.array([4, 5, 0])),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_have_the_values_and_derivatives_of_scipy(name):
    if not hasattr(sc, name):
        pytest.skip("an older SciPy")
    function = COMPOSED[name]
    np.testing.assert_allclose(jit(lambda x: function(special, x))(X), function(sc, X), 1e-12)
    h = 1e-6 * np.array([1.0, -2.0, 0.5])
    slope = (grad(lambda x: function(special, x).sum())(X) * h).sum()
    np.testing.assert_allclose(slope, (function(sc, X + h) - function(sc, X - h)).sum() / 2, 1e-6)


def test_compositions_at_edges_and_in_single_precision():
    poles = np.array([0.0, 2, 4, -2]) * np.pi
    for n in (3, 4):
        np.testing.assert_allclose(jit(lambda x, n=n: special.diric(x, n))(poles), sc.diric(poles, n))
    counts = np.array([-3, -1, 0, 1, 5, 6])
    np.testing.assert_allclose(jit(special.diric)(X[0] * counts, counts), sc.diric(X[0] * counts, counts))
    with pytest.raises(DTypeError, match="integers"):
        jit(special.factorial2)(X)
    np.testing.assert_allclose(jit(special.factorial2)(counts), sc.factorial2(counts))
    for function in (lambda s, x: s.spherical_jn(2, x), lambda s, x: s.diric(x, 3)):
        assert jit(lambda x, f=function: f(special, x))(SINGLE).dtype == function(sc, SINGLE).dtype


@pytest.mark.slow
def test_gamma_functions_of_complex_numbers_have_derivatives_of_any_order():
    z = np.array([1.5 + 0.5j, -2.3 + 1j, -0.4 - 3j, 12.0 - 0.1j, -30.2 + 0.3j, 0.5 + 200j, -7.5 - 40j])
    for function in (sc.psi, sc.loggamma, lambda z: sc.rgamma(z / 9), lambda z: sc.gamma(z / 9)):
        check_grads(lambda z, f=function: f(z), (z,), order=3, rtol=1e-4, atol=1e-6)
    x = np.array([0.3, 1.7, 25.0, -1.4, -0.2])
    for order in (1, 2, 5):
        expected = sc.polygamma(order, x)
        np.testing.assert_allclose(complex_polygamma(x + 0j, order).real[:3], expected[:3], 1e-13)
        h = 1e-4
        slope = (complex_polygamma(z + h, order) - complex_polygamma(z - h, order)) / (2 * h)
        np.testing.assert_allclose(complex_polygamma(z, order + 1), slope, 1e-4, 1e-6)
    np.testing.assert_allclose(complex_polygamma(x[3:] + 0j, 1).real, sc.polygamma(1, x[3:]), 1e-12)
