"""Objects of NumPy and SciPy made of plain data outside of a function, which calls them with traced values."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import interpolate, stats
from scipy.spatial.transform import Rotation

from anyshape import grad, jit

T = np.arange(6.0)
Y = np.sin(T) + 0.1 * T
P = np.random.default_rng(0).random((9, 2))
OBJECTS = {
    "spline": (interpolate.CubicSpline(T, Y), lambda o, x: o(x)),
    "slope of a spline": (interpolate.CubicSpline(T, Y), lambda o, x: o.derivative()(x) + o(x, 1)),
    "integral of a spline": (interpolate.CubicSpline(T, Y), lambda o, x: o.integrate(0.5, x[0])),
    "periodic spline": (interpolate.CubicSpline(T, np.sin(T * 2 * np.pi / 5), bc_type="periodic"), lambda o, x: o(x)),
    "pchip": (interpolate.PchipInterpolator(T, Y), lambda o, x: o(x)),
    "akima": (interpolate.Akima1DInterpolator(T, Y), lambda o, x: o(x)),
    "pieces along an axis": (interpolate.PPoly(np.ones((3, 5, 2)), T, axis=0), lambda o, x: o(x)),
    "b-spline": (interpolate.make_interp_spline(T, Y), lambda o, x: o(x)),
    "lsq spline": (interpolate.LSQUnivariateSpline(T, Y, [2.5]), lambda o, x: o(x)),
    "univariate spline": (interpolate.UnivariateSpline(T, Y, s=0.1, ext=3), lambda o, x: o(x) + o.derivative()(x)),
    "table": (interpolate.interp1d(T, Y), lambda o, x: o(x)),
    "cubic table": (interpolate.interp1d(T, np.stack([Y, T]), kind="cubic", axis=1), lambda o, x: o(x)),
    "table with fills": (interpolate.interp1d(T, Y, bounds_error=False, fill_value=(1.0, 2.0)), lambda o, x: o(x)),
    "grid": (interpolate.RegularGridInterpolator((T, T), np.outer(Y, T)), lambda o, x: o(np.stack([x, x], -1))),
    "radial": (interpolate.RBFInterpolator(T[:, None], np.stack([Y, T], 1)), lambda o, x: o(x[:, None])),
    "krogh": (interpolate.KroghInterpolator(T, np.stack([Y, T]), axis=1), lambda o, x: o(x)),
    "barycentric": (interpolate.BarycentricInterpolator(T, Y), lambda o, x: o(x)),
    "scattered": (interpolate.LinearNDInterpolator(P, P[:, 0], rescale=True), lambda o, x: o(x * 0.1, x * 0.1)),
    "nearest": (interpolate.NearestNDInterpolator(P, P[:, 0], rescale=True), lambda o, x: o(x * 0.1, x * 0.1) * x),
    "rotation": (Rotation.from_euler("z", 0.3), lambda o, x: o.apply(x[:, None] * np.ones(3))),
    "inverse rotation": (Rotation.from_euler("z", 0.3), lambda o, x: o.inv().apply(x[:, None] * np.ones(3))),
    "csr": (sp.random(3, 3, 0.7, format="csr", random_state=0), lambda o, x: o @ np.outer(x, x) @ o),
    "csr times rows": (
        sp.random(3, 3, 0.7, random_state=1).tocsr(),
        lambda o, x: o.multiply(x) @ x + o.multiply(x[:, None]).sum(),
    ),
    "csc": (sp.random(3, 3, 0.7, format="csc", random_state=0), lambda o, x: o.T.dot(x) * (x @ o)),
    "coo": (sp.random(3, 3, 0.7, format="coo", random_state=0), lambda o, x: (o + o) @ x),
    "density": (stats.gaussian_kde(Y, weights=T + 1), lambda o, x: o(x)),
    "frozen": (stats.gamma(2.0, scale=3.0), lambda o, x: o.logpdf(x) + o.cdf(x)),
    "poly1d": (np.poly1d([1.0, -2.0, 3.0]), lambda o, x: o(x) + o.deriv()(x)),
    "polynomial": (np.polynomial.Polynomial([1.0, 2.0, 3.0], [0, 4]), lambda o, x: o(x) + o.deriv()(x)),
    "chebyshev": (np.polynomial.Chebyshev([1.0, 2.0, 3.0]), lambda o, x: o(x)),
    "vectorized": (np.vectorize(lambda x: x * x if x > 1 else 2 * x), lambda o, x: o(x)),
}


class Model:
    def __init__(self, held):
        self.held = held

    def value(self, x, read):
        return np.sum(read(self.held, x) ** 2)

    def energy(self, x):
        return x @ (self.held @ x)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_takes_traced_values(name):
    held, read = OBJECTS[name]
    x = np.array([1.2, 2.3, 3.4])
    scalar = lambda v: np.sum(read(held, v) ** 2)
    np.testing.assert_allclose(jit(lambda v: read(held, v))(x), read(held, x), rtol=1e-12)
    steps = 1e-6 * np.eye(3)
    slopes = [(scalar(x + step) - scalar(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(grad(scalar)(x), slopes, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jit(Model(held).value, static_argnames="read")(x, read=read), scalar(x), rtol=1e-12)


def test_one_trace_serves_all_sizes():
    spline = interpolate.CubicSpline(T, Y)
    f = jit(lambda x: np.sum(spline(x)))
    for n in (0, 1, 2, 5):
        x = np.linspace(0.5, 4.5, n)
        np.testing.assert_allclose(f(x), np.sum(spline(x)), rtol=1e-12)
    assert f.cache_info().traces == 1


def test_sparse_matrix_of_a_model():
    model, x = Model(sp.random(4, 4, 0.6, format="csr", random_state=1)), np.arange(1.0, 5.0)
    np.testing.assert_allclose(grad(model.energy)(x), (model.held + model.held.T) @ x)


def test_a_change_of_the_object_is_seen():
    spline = interpolate.CubicSpline(T, Y)
    f = jit(lambda x: spline(x))
    before = f(1.5)
    spline.c[:] *= 2
    np.testing.assert_allclose(f(1.5), 2 * before)


def test_plain_points_stay_plain():
    spline = interpolate.CubicSpline(T, Y)
    assert type(spline(1.5)) is np.ndarray and jit(lambda x: x * float(spline(1.5)))(2.0) == 2 * spline(1.5)
