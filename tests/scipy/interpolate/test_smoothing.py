"""Compare smoothing splines, functions of splines, surfaces and Bernstein's basis with SciPy, and their derivatives."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize

from anyshape import grad, jacrev, jit, vmap
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy import interpolate

X = np.array([0.0, 0.4, 0.9, 1.3, 1.7, 2.4, 2.9, 3.3])
Y = np.sin(2 * X) + 0.1 * np.cos(9 * X)
POINTS = np.linspace(0.1, 3.2, 7)
TCK = scipy.interpolate.splrep(X, Y)


def test_smoothing_splines_at_any_size():
    traced = jit(lambda x, y, w, lam: interpolate.make_smoothing_spline(x, y, w, lam).tck[:2])
    for n in (5, 6, 8):
        for lam in (0.0, 0.3):
            ours = traced(X[:n], Y[:n], 1 + X[:n], lam)
            theirs = scipy.interpolate.make_smoothing_spline(X[:n], Y[:n], 1 + X[:n], lam)
            np.testing.assert_allclose(ours[0], theirs.t)
            np.testing.assert_allclose(ours[1], theirs.c, 1e-9, 1e-11)
    assert traced.cache_info().traces == 1
    with pytest.raises(ValueError):
        traced(X[:4], Y[:4], X[:4] + 1, 0.1)
    both = np.stack([Y, Y**2], 1)
    values = jit(lambda y: interpolate.make_smoothing_spline(X, y, lam=0.2)(POINTS))(both)
    np.testing.assert_allclose(values, scipy.interpolate.make_smoothing_spline(X, both, lam=0.2)(POINTS), 1e-9, 1e-11)
    value = lambda m, y, lam: m.make_smoothing_spline(X, y, 1 + X, lam)(0.7)
    slopes = grad(lambda y, lam: value(interpolate, y, lam), argnums=(0, 1))(Y, 0.3)
    ahead, behind = (value(scipy.interpolate, Y + s * X, 0.3 + s) for s in (1e-5, -1e-5))
    np.testing.assert_allclose(slopes[0] @ X + slopes[1], (ahead - behind) / 2e-5, 1e-6)


def validated_penalty(y):
    """The penalty with the least error of cross-validation, to more digits than SciPy's search has."""
    spline = scipy.interpolate.make_smoothing_spline
    matrix = lambda lam: np.stack([spline(X, e, lam=lam)(X) for e in np.eye(len(X))], 1)

    def error(lam):
        smooth = matrix(lam)
        return np.mean((y - smooth @ y) ** 2) / (1 - np.trace(smooth) / len(X)) ** 2

    lam = scipy.optimize.minimize_scalar(error, bounds=(0, len(X)), method="bounded").x
    for _ in range(4):
        h = 1e-3 * lam
        lam -= (error(lam + h) - error(lam - h)) * h / 2 / (error(lam + h) - 2 * error(lam) + error(lam - h))
    return lam


@pytest.mark.slow
def test_cross_validation_chooses_the_penalty():
    noisy = np.sin(X) + 0.2 * np.cos(7 * X)
    value = lambda m, x, y, w: m.make_smoothing_spline(x, y, w)(POINTS)
    traced = jit(lambda x, y, w: value(interpolate, x, y, w))
    for n in (5, 6, 8):
        data = X[:n], noisy[:n], 1 + X[:n]
        np.testing.assert_allclose(traced(*data), value(scipy.interpolate, *data), 1e-7, 1e-9)
    assert traced.cache_info().traces == 1
    loss = lambda m, y, lam: np.sum(m.make_smoothing_spline(X, y, lam=lam)(POINTS) ** 2)
    slopes = grad(lambda y: loss(interpolate, y, None))(noisy)
    for step in 1e-4 * np.eye(8):
        ends = [loss(scipy.interpolate, y, validated_penalty(y)) for y in (noisy + step, noisy - step)]
        np.testing.assert_allclose(slopes @ step, (ends[0] - ends[1]) / 2, 2e-4, 1e-9)
    line = lambda y: interpolate.make_smoothing_spline(X, y)(POINTS)  # whose penalty is the largest one
    np.testing.assert_allclose(jit(vmap(line))(np.stack([noisy, Y])), np.stack([line(noisy), line(Y)]), 1e-7, 1e-9)


@pytest.mark.parametrize(("kx", "ky"), [(1, 1), (2, 3)])
def test_surfaces_of_given_knots(kx, ky):
    x, y = np.random.default_rng(1).uniform(size=(2, 40))
    knots = {"tx": np.r_[[0] * (kx + 1), 0.5, [1] * (kx + 1)], "ty": np.r_[[0] * (ky + 1), [1] * (ky + 1)]}
    fit = lambda m, x, y, z, w: m.bisplrep(x, y, z, w, kx=kx, ky=ky, task=-1, **knots)
    traced = jit(lambda x, y, z, w: fit(interpolate, x, y, z, w)[:3])
    for n in (40, 35):
        data = x[:n], y[:n], np.sin(3 * x + y)[:n], 1 + x[:n]
        for ours, theirs in zip(traced(*data), fit(scipy.interpolate, *data), strict=False):
            np.testing.assert_allclose(ours, theirs, 1e-8, 1e-9)
    assert traced.cache_info().traces == 1
    value = lambda m, x, z: m.bisplev(0.4, 0.6, fit(m, x, y, z, np.ones(40)))
    slopes = grad(lambda x, z: value(interpolate, x, z), argnums=(0, 1))(x, x * y)
    inner = (x > x.min()) & (x < x.max())
    ahead, behind = (value(scipy.interpolate, x + s * inner * y, x * y + s * x) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(slopes[0] @ (inner * y) + slopes[1] @ x, (ahead - behind) / 2e-6, 1e-5, 1e-7)
    with pytest.raises(TypeError, match="at least"):
        traced(x[:3], y[:3], y[:3], y[:3])
    with pytest.raises(UnsupportedFunctionError):
        jit(lambda z: interpolate.bisplrep(x, y, z))(y)


@pytest.mark.parametrize("x", [0.0, 0.5, 0.9, 3.3])
def test_inserted_knots(x):
    for m in (1, 2):
        ours = jit(lambda x, c, m=m: interpolate.insert(x, (TCK[0], c, 3), m)[:2])(x, TCK[1])
        theirs = scipy.interpolate.insert(x, TCK, m)
        np.testing.assert_allclose(ours[0], theirs[0], 1e-12)
        np.testing.assert_allclose(ours[1][:-4], theirs[1][:-4], 1e-12, 1e-14)  # FITPACK leaves others undefined


def test_roots_and_all_derivatives():
    roots = jit(lambda c: interpolate.sproot((TCK[0], c, 3)))
    for c in (TCK[1], TCK[1] + 5):
        np.testing.assert_allclose(roots(c), scipy.interpolate.sproot((TCK[0], c, 3)), 1e-12)
    slopes = grad(lambda c: np.sum(interpolate.sproot((TCK[0], c, 3)) ** 2))(TCK[1])
    moved = [np.sum(scipy.interpolate.sproot((TCK[0], TCK[1] + s * 1e-6, 3)) ** 2) for s in (1, -1)]
    np.testing.assert_allclose(slopes.sum(), (moved[0] - moved[1]) / 2e-6, 1e-5)
    ours = jit(lambda x, c: interpolate.spalde(x, (TCK[0], c, 3)))(POINTS, TCK[1])
    np.testing.assert_allclose(ours, scipy.interpolate.spalde(POINTS, TCK), 1e-9, 1e-12)


def test_surfaces():
    grid = np.meshgrid(X, X[:6], indexing="ij")
    surface = scipy.interpolate.bisplrep(grid[0].ravel(), grid[1].ravel(), np.sin(grid[0] + grid[1] ** 2).ravel(), s=0)
    at = lambda m, x, y, c, **d: m.bisplev(x, y, [surface[0], surface[1], c, *surface[3:]], **d)
    traced = jit(lambda x, y, c: (at(interpolate, x, y, c), at(interpolate, x, y, c, dx=1, dy=2)))
    for n in (1, 2, 5):
        for ours, d in zip(traced(POINTS[:n], POINTS[:3], surface[2]), ({}, {"dx": 1, "dy": 2}), strict=True):
            np.testing.assert_allclose(ours, at(scipy.interpolate, POINTS[:n], POINTS[:3], surface[2], **d), 1e-9, 1e-9)
    slope = grad(lambda x: at(interpolate, x[None], POINTS[:3], surface[2])[1])(0.5)
    expected = at(scipy.interpolate, 0.5, POINTS[:3], surface[2], dx=1)[1]
    np.testing.assert_allclose(slope, expected, 1e-9)


def test_bernsteins_basis():
    c, x = np.random.default_rng(0).normal(size=(4, 5, 2)), X[:6]
    theirs = scipy.interpolate.BPoly(c, x)
    points = np.array([-0.2, 0.0, 0.5, 1.7, 2.4, 2.6])
    traced = jit(lambda c, x, v: [f(v) for f in (interpolate.BPoly(c, x), *derived(interpolate.BPoly(c, x)))])
    for ours, other in zip(traced(c, x, points), (theirs, *derived(theirs)), strict=True):
        np.testing.assert_allclose(ours, other(points), 1e-11, 1e-12)
    area = jit(lambda c: interpolate.BPoly(c, x).integrate(0.1, 2.2))
    np.testing.assert_allclose(area(c), theirs.integrate(0.1, 2.2), 1e-11)
    pp = scipy.interpolate.PPoly(c, x)
    ours = jit(lambda c: interpolate.BPoly.from_power_basis(interpolate.PPoly(c, x)).c)(c)
    np.testing.assert_allclose(ours, scipy.interpolate.BPoly.from_power_basis(pp).c, 1e-11, 1e-12)
    np.testing.assert_allclose(
        jacrev(lambda c: interpolate.BPoly(c, x)(0.6).sum())(c), 0 * c + share(c, x), 1e-11, 1e-14
    )
    assert interpolate.BPoly.from_derivatives([0, 1], [[0.0, 1.0], [1.0, 0.0]])(0.5) == 0.625


def derived(b):
    return b.derivative(), b.derivative(2), b.antiderivative(), b.antiderivative(2)


def share(c, x):
    """The basis at 0.6, in the piece from 0.4 to 0.9."""
    s = (0.6 - x[1]) / (x[2] - x[1])
    rows = np.array([(1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s**2 * (1 - s), s**3])
    return (rows[:, None] * (np.arange(5) == 1))[..., None]


def test_splines_and_curves_without_smoothing():
    rows = lambda y: [X, y, np.cos(X)]
    at = np.linspace(0.0, 1.0, 9)
    (t, c, _), u = jit(lambda y: interpolate.splprep(rows(y), s=0))(Y)
    (known, expected, _), parameter = scipy.interpolate.splprep(rows(Y), s=0)
    for actual, wanted in zip((u, t, *c), (parameter, known, *expected), strict=True):
        np.testing.assert_allclose(actual, wanted, 1e-12, 1e-14)
    curve = lambda m, y: np.stack(m.splev(at, m.splprep(rows(y), s=0)[0]))
    np.testing.assert_allclose(jit(lambda y: curve(interpolate, y))(Y), curve(scipy.interpolate, Y), 1e-12, 1e-12)
    for refused in ({"s": 1.0}, {"s": 0, "per": 1}, {"s": 0, "w": X + 1}):
        with pytest.raises(UnsupportedFunctionError, match="splprep with"):
            jit(lambda y, o=refused: interpolate.splprep([X, y], **o))(Y)


@pytest.mark.skipif(not hasattr(scipy.interpolate, "make_splprep"), reason="SciPy has it since 1.15")
def test_splines_as_objects_without_smoothing():
    at = np.linspace(0.0, 1.0, 9)
    curve = lambda m, y: m.make_splprep([X, y], s=0)[0](at)
    line = lambda m, y: m.make_splrep(X, y, s=0, k=4)(POINTS)
    for function in (curve, line):
        traced = jit(lambda y, f=function: f(interpolate, y))
        np.testing.assert_allclose(traced(Y), function(scipy.interpolate, Y), 1e-12, 1e-12)
        np.testing.assert_allclose(function(interpolate, Y), function(scipy.interpolate, Y), 1e-12)
    with pytest.raises(UnsupportedFunctionError, match="make_splrep with smoothing"):
        jit(lambda y: interpolate.make_splrep(X, y, s=0.5)(1.0))(Y)
