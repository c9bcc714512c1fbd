"""Compare anyshape.scipy.interpolate with SciPy's at several sizes from one trace, and derivatives with differences."""

import numpy as np
import pytest
import scipy.interpolate

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, CheckError, UnsupportedFunctionError
from anyshape.scipy import interpolate

POINTS = np.linspace(-0.5, 4, 9)


def table(n, columns=2):
    rng = np.random.default_rng(n)
    return np.cumsum(rng.uniform(0.3, 1, n)), rng.normal(size=(n, columns))


def closed(y):
    return np.concatenate([y[:-1], y[:1]])


# name: function of (module, x, y), fewest points
SPLINES = {
    "not-a-knot": (lambda m, x, y: m.CubicSpline(x, y), 2),
    "natural": (lambda m, x, y: m.CubicSpline(x, y, bc_type="natural"), 2),
    "two orders": (lambda m, x, y: m.CubicSpline(x, y, bc_type=((1, y[0]), (2, y[1]))), 2),
    "one end": (lambda m, x, y: m.CubicSpline(x, y, bc_type=("not-a-knot", "clamped")), 2),
    "periodic": (lambda m, x, y: m.CubicSpline(x, closed(y), bc_type="periodic"), 2),
    "pchip": (lambda m, x, y: m.PchipInterpolator(x, y), 2),
    "akima": (lambda m, x, y: m.Akima1DInterpolator(x, y), 2),
    "makima": (lambda m, x, y: m.Akima1DInterpolator(x, y, method="makima"), 2),
    "hermite": (lambda m, x, y: m.CubicHermiteSpline(x, y, y[::-1]), 2),
    "degree 0": (lambda m, x, y: m.make_interp_spline(x, y, 0), 1),
    "degree 2": (lambda m, x, y: m.make_interp_spline(x, y, 2), 3),
    "degree 3": (lambda m, x, y: m.make_interp_spline(x, y), 4),
    "degree 5": (lambda m, x, y: m.make_interp_spline(x, y, 5), 6),
    "conditions": (lambda m, x, y: m.make_interp_spline(x, y, bc_type=([(1, y[0])], [(2, y[1])])), 4),
    "coefficients": (lambda m, x, y: m.BSpline(np.concatenate([x, x[-1:] + 1, x[-1:] + 2]), y, 1), 3),
}


def uses(spline, points):
    """Everything that a spline serves, at some points."""
    order = min(getattr(spline, "k", 2), 2)
    whole = spline.integrate(2.5, 0.2)
    return spline(points), spline(points, order), spline.antiderivative(2)(points), spline.integrate(0.4, 1.2), whole


@pytest.mark.parametrize("name", SPLINES)
def test_values_at_several_sizes_from_one_trace(name):
    make, fewest = SPLINES[name]
    traced = jit(lambda x, y, points: uses(make(interpolate, x, y), points))
    for n in sorted({fewest, max(fewest, 3), max(fewest, 4), 9}):
        x, y = table(n)
        for actual, expected in zip(traced(x, y, POINTS), uses(make(scipy.interpolate, x, y), POINTS), strict=True):
            np.testing.assert_allclose(actual, expected, 1e-9, 1e-9, err_msg=f"n = {n}")
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_periodic_splines_of_a_degree(k):
    values = lambda m, x, y: m.make_interp_spline(x, closed(y), k, bc_type="periodic")(POINTS)
    traced = jit(lambda x, y: values(interpolate, x, y))
    for n in (2, 3, 5, 6, 9) if k % 2 else (3, 4, 5, 9):
        x, y = table(n)
        np.testing.assert_allclose(traced(x, y), values(scipy.interpolate, x, y), 1e-9, 1e-9)
    assert traced.cache_info().traces == 1
    x, y = table(9)
    slopes = grad(lambda x, y: np.sum(values(interpolate, x, y)), argnums=(0, 1))(x, y)
    ahead, behind = (np.sum(values(scipy.interpolate, x + s * y[:, 0], y + s * y**2)) for s in (1e-6, -1e-6))
    along = slopes[0] @ y[:, 0] + np.sum(slopes[1] * y**2)
    np.testing.assert_allclose(along, (ahead - behind) / 2e-6, 1e-5, 1e-6)


def test_periodic_splines_of_many_points_need_no_matrix():
    x = np.arange(20_000.0)  # whose matrix would take 3.2 GB
    y = closed(np.sin(x))
    value = lambda m, y: m.make_interp_spline(x, y, 3, bc_type="periodic")(np.array([0.5, 777.25]))
    np.testing.assert_allclose(jit(lambda y: value(interpolate, y))(y), value(scipy.interpolate, y), 1e-9)


IN_GATE = ("not-a-knot", "degree 3")


@pytest.mark.parametrize("name", [n if n in IN_GATE else pytest.param(n, marks=pytest.mark.slow) for n in SPLINES])
def test_derivatives_by_data_and_points(name):
    make, _ = SPLINES[name]
    x, y = table(7, 2)
    inside = (0.7 * x[:-1] + 0.3 * x[1:])[:4]  # no knots, where splines of degree 2 have jumps in the second derivative
    value = lambda x, y, points: make(interpolate, x, y)(points)
    check_grads(value, (x, y, inside), order=1)
    stack = np.stack([y, 2 * y])
    np.testing.assert_allclose(vmap(lambda y: value(x, y, inside))(stack)[1], 2 * value(x, y, inside), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLINES)
def test_second_order(name):
    x, y = table(7, 1)
    inside = (0.7 * x[:-1] + 0.3 * x[1:])[1:4]
    check_grads(lambda x, y, v: SPLINES[name][0](interpolate, x, y)(v), (x, y, inside), order=2)


def test_concrete_data_and_traced_points():
    x, y = table(6)
    for spline in (interpolate.CubicSpline(x, y, axis=0), interpolate.make_interp_spline(x, y)):
        at = jit(lambda v, spline=spline: spline(v))
        np.testing.assert_allclose(at(POINTS), spline(POINTS), 1e-9)
        slope = grad(lambda v, spline=spline: spline(v)[0])(1.0)
        np.testing.assert_allclose(slope, spline(1.0, 1)[0], 1e-9)
        np.testing.assert_allclose(jit(lambda s, v: s(v))(spline, POINTS), spline(POINTS), 1e-9)
    spline = interpolate.CubicSpline(x, y)
    at = jit(lambda v: spline(v))
    at(1.0)
    spline.c[...] = 0
    np.testing.assert_array_equal(at(1.0), [0, 0])  # what is captured is read in each call
    with pytest.raises(AttributeError, match="make another one"):
        spline.c = np.ones_like(spline.c)  # a program that captured the spline would not know
    single = interpolate.CubicSpline(x, y[:, 0])
    np.testing.assert_allclose(single.roots(), scipy.interpolate.CubicSpline(x, y[:, 0]).roots())
    returned = jit(lambda y: interpolate.CubicSpline(x, y))(y)
    np.testing.assert_allclose(returned(POINTS), scipy.interpolate.CubicSpline(x, y)(POINTS), 1e-9)


def test_axes_complex_values_and_periods():
    x, y = table(6, 3)
    points = POINTS.reshape(3, 3)
    for make in ("CubicSpline", "make_interp_spline"):
        traced = jit(lambda y, make=make: getattr(interpolate, make)(x, y, axis=1)(points))
        expected = getattr(scipy.interpolate, make)(x, (y * (1 + 2j)).T, axis=1)(points)
        np.testing.assert_allclose(traced((y * (1 + 2j)).T), expected, 1e-9)
    periodic = jit(lambda y, a: interpolate.CubicSpline(x, closed(y), bc_type="periodic").integrate(a, 20.0))
    expected = scipy.interpolate.CubicSpline(x, closed(y), bc_type="periodic")
    for a in (-3.0, 1.0):
        np.testing.assert_allclose(periodic(y, a), expected.integrate(a, 20.0), 1e-9)


def test_bad_data():
    x, y = table(5)
    with pytest.raises(ValueError, match="must be at least 2"):
        jit(lambda x, y: interpolate.CubicSpline(x, y)(1.0))(x[:1], y[:1])
    with pytest.raises(CheckError, match="x must increase"):
        jit(lambda x, y: interpolate.PchipInterpolator(x, y)(1.0))(x[::-1], y)
    with pytest.raises(CheckError, match="must be equal"):
        jit(lambda y: interpolate.CubicSpline(x, y, bc_type="periodic")(1.0))(y)
    with pytest.raises(ArgumentError, match="complex"):
        jit(lambda y: interpolate.PchipInterpolator(x, y)(1.0))(1j * y)
    with pytest.raises(ValueError, match="bc_type"):
        jit(lambda y: interpolate.CubicSpline(x, y, bc_type="loose")(1.0))(y)
    with pytest.raises(UnsupportedFunctionError, match="roots"):
        jit(lambda y: interpolate.CubicSpline(x, y[:, 0]).roots())(y)
    with pytest.raises(UnsupportedFunctionError, match="bisplrep"):
        jit(lambda y: interpolate.bisplrep(x, x, y[:, 0]))(y)


# -- tables

KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic")


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d(kind):
    for fill in (np.nan, (-1.0, 2.0), "extrapolate"):
        options = {"kind": kind, "axis": 0, "fill_value": fill}
        options |= {} if fill == "extrapolate" else {"bounds_error": False}
        traced = jit(lambda x, y, v, options=options: interpolate.interp1d(x, y, **options)(v))
        for n in (4, 7):
            x, y = table(n)
            order = np.random.default_rng(1).permutation(n)
            v = np.append(POINTS, x[:2])
            expected = scipy.interpolate.interp1d(x[order], y[order], **options)(v)
            np.testing.assert_allclose(traced(x[order], y[order], v), expected, 1e-9, 1e-9)
        assert traced.cache_info().traces == 1


@pytest.mark.filterwarnings("ignore:invalid value|divide by zero")
def test_interp1d_where_points_repeat():
    v = np.array([-0.5, 0.0, 0.2, 1.0, 1.5])
    for fill in (np.nan, "extrapolate"):
        call = lambda m, x, y, f=fill: m.interp1d(x, y, axis=0, fill_value=f, bounds_error=False)(v)
        traced = jit(lambda x, y, call=call: call(interpolate, x, y))
        for x in ([0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]):
            for y in (3.0 + np.arange(len(x)), 3.0 + np.arange(2.0 * len(x)).reshape(-1, 2)):
                np.testing.assert_allclose(traced(np.array(x), y), call(scipy.interpolate, x, y), 1e-14)


def test_a_traced_value_stands_outside_of_a_table():
    y, v = np.arange(4.0) ** 2, np.array([-1.0, 1.5, 9.0])
    read = lambda m, fill: m.interp1d(np.arange(4.0), y, bounds_error=False, fill_value=fill)(v)
    for fill in (7.0, np.nan):
        np.testing.assert_equal(jit(lambda f: read(interpolate, f))(fill), read(scipy.interpolate, fill))
    assert grad(lambda f: np.sum(read(interpolate, f)))(7.0) == 2.0


def test_interp1d_of_concrete_data_and_its_bounds():
    x, y = table(5, 1)
    line = interpolate.interp1d(x, y[:, 0])
    np.testing.assert_allclose(jit(lambda v: line(v))(x[:2]), y[:2, 0])
    check_grads(lambda y, v: interpolate.interp1d(x, y)(v), (y[:, 0], (x[1:] + x[:-1]) / 2), order=2)
    with pytest.raises(CheckError, match="outside"):
        jit(lambda v: line(v))(x[-1] + 1)
    with pytest.raises(ValueError, match="above"):
        line(x[-1] + 1)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_regular_grids(method):
    rng = np.random.default_rng(0)
    for fill in (np.nan, None):
        options = {"method": method, "bounds_error": False, "fill_value": fill}
        make = lambda m, a, b, v, options=options: m.RegularGridInterpolator((a, b), v, **options)
        traced = jit(lambda a, b, v, xi, make=make: make(interpolate, a, b, v)(xi))
        for n, k in ((2, 3), (5, 4), (1, 3)):
            a, b, v = table(n)[0], table(k)[0], rng.normal(size=(n, k, 2))
            xi = rng.uniform(0, 2.5, size=(3, 4, 2))
            xi[0, 0, 0] = np.nan
            np.testing.assert_allclose(traced(a, b, v, xi), make(scipy.interpolate, a, b, v)(xi), 1e-12, 1e-12)
        assert traced.cache_info().traces == 1


def test_functions_of_data_and_points():
    x, y = table(5)
    traced = jit(lambda y, v: interpolate.pchip_interpolate(x, y, v, [0, 1]))
    for actual, expected in zip(
        traced(y, POINTS), scipy.interpolate.pchip_interpolate(x, y, POINTS, [0, 1]), strict=True
    ):
        np.testing.assert_allclose(actual, expected, 1e-9, 1e-9)
    grid = (np.arange(3.0), np.arange(4.0))
    values = np.arange(12.0).reshape(3, 4) ** 2
    xi = np.array([[0.3, 1.2], [2.0, 3.0]])
    expected = scipy.interpolate.interpn(grid, values, xi)
    np.testing.assert_allclose(jit(lambda v: interpolate.interpn(grid, v, xi))(values), expected, 1e-12)
    line = interpolate.interp1d(x, y[:, 0])
    inside = jit(lambda v: line(v))
    before = inside(x[1])
    line.y[...] = 2 * line.y
    np.testing.assert_allclose([inside(x[1]), line(x[1])], [2 * before] * 2)


def test_derivatives_and_bounds_of_regular_grids():
    a, b = np.arange(3.0), np.arange(4.0)
    v = np.random.default_rng(0).normal(size=(3, 4))
    value = lambda a, v, xi: interpolate.RegularGridInterpolator((a, b), v)(xi)
    check_grads(value, (a, v, np.array([[0.3, 1.4], [1.7, 2.2]])), order=2)
    grid = interpolate.RegularGridInterpolator((a, b), v)
    np.testing.assert_allclose(jit(lambda x, y: grid((x, y)))(0.3, np.array([1.0, 2.5])), grid((0.3, [1.0, 2.5])))
    with pytest.raises(CheckError, match="outside of the grid"):
        jit(lambda xi: grid(xi))(np.array([5.0, 1.0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_splines_of_fitpack_take_what_is_not_finite_and_others_check(bad):
    x, y = np.arange(8.0), np.where(np.arange(8) == 3, bad, 1.0)
    for make in (interpolate.UnivariateSpline, interpolate.InterpolatedUnivariateSpline):
        options = {} if make is interpolate.InterpolatedUnivariateSpline else {"s": 0}
        assert np.isnan(jit(lambda y, make=make, options=options: make(x, y, **options)(1.5))(y))
        with pytest.raises(CheckError, match="must not contain infs or NaNs"):
            jit(lambda y, make=make, options=options: make(x, y, check_finite=True, **options)(1.5))(y)
    assert np.isnan(jit(lambda y: interpolate.splrep(x, y)[1])(y)).any()
    with pytest.raises(CheckError, match="must not contain infs or NaNs"):
        jit(lambda y: interpolate.make_interp_spline(x, y)(1.5))(y)
