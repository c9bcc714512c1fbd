"""Compare FITPACK's splines, polynomials and interpolants of scattered points with SciPy's."""

import numpy as np
import pytest
import scipy.interpolate

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, CheckError, UnsupportedFunctionError
from anyshape.scipy import interpolate

POINTS = np.array([-0.2, 0.0, 0.13, 0.5, 0.77, 1.0, 1.1])


def table(n):
    rng = np.random.default_rng(n)
    x = np.linspace(0, 1, n) + rng.uniform(0, 0.5, n) / n
    return x, np.sin(4 * x) + 0.3


def fitpack(m, x, y, points):
    tck = m.splrep(x, y)
    lower, higher = m.splder(tck), m.splantider(tck, 2)
    spline = m.InterpolatedUnivariateSpline(x, y, ext="const")
    plain = m.UnivariateSpline(x, y, k=2, s=0)
    return [
        tck[0], tck[1], lower[1], higher[1], *[m.splev(points, tck, ext=e) for e in (0, 1, 3)],
        m.splev(points, tck, 2), m.splint(0.3, 0.8, tck), m.splint(-1.0, 0.8, tck), spline(points),
        spline.derivative()(points), spline.integral(0.2, 0.6), plain(points, 1), plain.antiderivative()(points),
        plain.get_knots(), plain.get_coeffs(),
    ]  # fmt: skip


def polynomials(m, x, y, points):
    pairs = np.stack([y, y**2], axis=-1)
    barycentric, krogh = m.BarycentricInterpolator(x, pairs), m.KroghInterpolator(x, y)
    return [
        barycentric(points), barycentric(x), krogh(points), krogh.derivative(x, 2), krogh.derivatives(points, 3),
        m.barycentric_interpolate(x, y, points), m.krogh_interpolate(x, y, points, der=[0, 1]),
    ]  # fmt: skip


@pytest.mark.parametrize("function", [fitpack, polynomials])
def test_values_are_scipys_at_several_sizes_from_one_trace(function):
    traced = jit(lambda x, y, points: function(interpolate, x, y, points))
    for n in (4, 5, 9):
        x, y = table(n)
        for i, (actual, expected) in enumerate(
            zip(traced(x, y, POINTS), function(scipy.interpolate, x, y, POINTS), strict=True)
        ):
            np.testing.assert_allclose(actual, expected, 1e-9, 1e-9, err_msg=f"n = {n}, part {i}")
    assert traced.cache_info().traces == 1


def test_concrete_data_at_traced_points():
    x, y = table(6)
    for make in (
        lambda m: m.UnivariateSpline(x, y, s=0.1),
        lambda m: m.InterpolatedUnivariateSpline(x, y),
        lambda m: m.BarycentricInterpolator(x, y),
        lambda m: m.KroghInterpolator([0, 0, 0.5, 1], [1.0, 2.0, 0.5, 0.3]),
    ):
        ours, expected = make(interpolate), make(scipy.interpolate)
        np.testing.assert_allclose(jit(ours)(POINTS), expected(POINTS), 1e-10)
        np.testing.assert_allclose(ours(POINTS), expected(POINTS), 1e-10)
    hermite = lambda m, d: m.KroghInterpolator([0, 0, 0.5, 1], [1.0, d, 0.5, 0.3])(POINTS)
    slope = grad(lambda d: hermite(interpolate, d)[3])(2.0)
    assert slope == pytest.approx(hermite(scipy.interpolate, 3.0)[3] - hermite(scipy.interpolate, 2.0)[3])
    assert interpolate.UnivariateSpline(x, y).get_residual() >= 0  # of SciPy's object


def test_least_squares_and_curves():
    x, y = table(12)
    knots = np.array([0, 0, 0, 0, 0.4, 1.1, 1.1, 1.1, 1.1])
    fit = lambda m, y, w: m.make_lsq_spline(x, y, knots, w=w)(POINTS)
    weights = np.linspace(1, 2, 12)
    np.testing.assert_allclose(
        jit(lambda y, w: fit(interpolate, y, w))(y, weights), fit(scipy.interpolate, y, weights), 1e-9
    )
    task = lambda m, y: m.splrep(x, y, t=[0.3, 0.7], task=-1)[1]
    np.testing.assert_allclose(jit(lambda y: task(interpolate, y))(y), task(scipy.interpolate, y), 1e-8, 1e-10)
    curve = lambda m, c: m.splev(POINTS, (knots, [c[:5], c[5:]], 3))
    c = np.arange(10.0)
    np.testing.assert_allclose(jit(lambda c: curve(interpolate, c))(c), curve(scipy.interpolate, c))


KERNELS = ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "gaussian")


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions(kernel):
    rng = np.random.default_rng(3)
    call = lambda m, y, d, x: m.RBFInterpolator(y, d, kernel=kernel, epsilon=1.3, smoothing=0.01)(x)
    traced = jit(lambda y, d, x: call(interpolate, y, d, x))
    for n, q in ((8, 3), (11, 0), (7, 1)):
        y, d, x = rng.uniform(size=(n, 2)), rng.normal(size=(n, 2)), rng.uniform(size=(q, 2))
        np.testing.assert_allclose(traced(y, d, x), call(scipy.interpolate, y, d, x), 1e-7, 1e-8)
    assert traced.cache_info().traces == 1
    check_grads(lambda y, d, x: call(interpolate, y, d, x), (rng.uniform(size=(7, 2)), rng.normal(size=7), x), 1)


@pytest.mark.parametrize("rescale", [False, True])
def test_scattered_points(rescale):
    rng = np.random.default_rng(5)
    for method in ("nearest", "linear"):
        call = lambda m, p, v, x, method=method: m.griddata(p, v, x, method, -1.0, rescale)
        traced = jit(lambda p, v, x, call=call: call(interpolate, p, v, x))
        for n, shape in ((9, (4,)), (6, (2, 3)), (12, (0,))):
            points, values = rng.uniform(size=(n, 2)) * [1, 9], rng.normal(size=(n, 2))
            x = rng.uniform(-0.1, 1.1, size=(*shape, 2)) * [1, 9]
            np.testing.assert_allclose(traced(points, values, x), call(scipy.interpolate, points, values, x), 1e-10)
        line = np.sort(rng.uniform(size=6))
        expected = call(scipy.interpolate, line, line**2, POINTS)
        np.testing.assert_allclose(traced(line, line**2, POINTS), expected)
    for name, last in (("NearestNDInterpolator", 1.0), ("LinearNDInterpolator", np.nan)):
        holes = np.array([[0.2, 3.0], [last, 1.0]])
        expected = getattr(scipy.interpolate, name)(points, values.astype(np.float32))(holes)
        result = jit(lambda v, name=name, x=holes: getattr(interpolate, name)(points, v)(x))(values.astype(np.float32))
        np.testing.assert_allclose(result, expected)
        assert result.dtype == expected.dtype
    inside = points[:4] * 0.3 + points.mean(0) * 0.7
    check_grads(lambda p, v, x: interpolate.LinearNDInterpolator(p, v)(x), (points, values, inside), 2)
    made = interpolate.LinearNDInterpolator(points, values)
    np.testing.assert_allclose(jit(made)(inside), made(inside), 1e-12)
    batch = np.stack([values, values**2])
    expected = [interpolate.NearestNDInterpolator(points, v)(inside) for v in batch]
    np.testing.assert_allclose(vmap(lambda v: interpolate.NearestNDInterpolator(points, v)(inside))(batch), expected)


@pytest.mark.slow
def test_derivatives():
    x, y = table(6)
    inner = np.array([0.15, 0.4, 0.83])
    check_grads(lambda x, y, v: interpolate.splev(v, interpolate.splrep(x, y)), (x, y, inner), 1)
    check_grads(lambda x, y, v: interpolate.BarycentricInterpolator(x, y)(v), (x, y, inner), 1)
    check_grads(lambda y, v: interpolate.KroghInterpolator(x, y)(v), (y, inner), 2)
    nodes = grad(lambda v: interpolate.BarycentricInterpolator(x, y)(v).sum())(x)
    np.testing.assert_allclose(nodes, scipy.interpolate.KroghInterpolator(x, y).derivative(x), 1e-8)
    check_grads(lambda y: interpolate.make_lsq_spline(x, y, [0, 0, 0.5, 1.2, 1.2], 1)(inner), (y,), 1)


def test_what_has_no_counterpart_is_named():
    x, y = table(6)
    for call, error in (
        (lambda y: interpolate.splrep(x, y, s=0.5), UnsupportedFunctionError),
        (lambda y: interpolate.splrep(x, y, per=1), UnsupportedFunctionError),
        (lambda y: interpolate.UnivariateSpline(x, y), UnsupportedFunctionError),
        (lambda y: interpolate.griddata(x, y, x, "cubic"), UnsupportedFunctionError),
        (lambda y: interpolate.RBFInterpolator(x[:, None], y, neighbors=3), UnsupportedFunctionError),
        (lambda y: interpolate.RBFInterpolator(x[:, None], y, kernel="gaussian"), ArgumentError),
        (lambda y: interpolate.splev(y, interpolate.splrep(x, y), ext=7), ArgumentError),
        (lambda y: interpolate.splev(y + 5, interpolate.splrep(x, y), ext=2), CheckError),
        (lambda y: interpolate.BarycentricInterpolator(y * 0, y)(x), CheckError),
    ):
        with pytest.raises(error):
            jit(call)(y)
