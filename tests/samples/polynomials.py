"""Samples of polynomials: no coefficients, one and several, and fits through more points than needed."""

import numpy

from tests.samples.sample import Sample

F = ("float64", "float32", "complex128", "int32")


def points(rng, shapes, dtype):
    """Return coordinates in increasing order, values, and weights that are positive."""
    x, y, *weights = [rng.uniform(0.5, 1.5, shape) for shape in shapes]
    return [numpy.cumsum(x).astype(dtype), y.astype(dtype), *[w.astype(dtype) for w in weights]]


SAMPLES = [
    Sample("polyval", lambda np, x: np.polyval([2.0, -1.0, 0.5], x), ("n, m",), (), F),
    Sample("polyval of coefficients", lambda np, p, x: np.polyval(p, x), ("3", "n"), (), F),
    Sample("polyder", lambda np, p: np.polyder(p), ("n",), (), F, smallest=1),
    Sample("polyder twice", lambda np, p: np.polyder(p, 2), ("n",), smallest=2),
    Sample("polyint", lambda np, p: np.polyint(p), ("n",), (), F),
    Sample("polyint twice", lambda np, p, k: np.polyint(p, 2, k), ("n", "2")),
    Sample("polyadd", lambda np, p, q: np.polyadd(p, q), ("n", "m"), (), F),
    Sample("polysub", lambda np, p, q: np.polysub(p, q), ("n", "m"), (), F),
    Sample("polymul", lambda np, p, q: np.polymul(p, q), ("n", "m"), (), F[:3], smallest=1),
    Sample("polydiv", lambda np, p, q: np.polydiv(p, q)[0], ("5", "3"), (), F[:3]),
    Sample("poly", lambda np, x: np.poly(x), ("3",), (), ("float64", "float32", "int32")),
    Sample("roots", lambda np, p: np.real(np.sum(np.roots(p) ** 2)), ("4",), tolerance=1e-6),
    Sample("vander", lambda np, x: np.vander(x), ("n",), (), F),
    Sample("vander increasing", lambda np, x: np.vander(x, 3, increasing=True), ("n",), (), F),
    Sample("vander of as many columns", lambda np, x, y: np.vander(x, y.shape[0]), ("n", "m")),
    Sample("polyfit", lambda np, x, y: np.polyfit(x, y, 1), ("n", "n"), make=points, smallest=3, tolerance=1e-6),
    Sample(
        "polyfit with weights",
        lambda np, x, y, w: np.polyfit(x, y, 1, w=w),
        ("n", "n, m", "n"),
        make=points,
        smallest=3,
        tolerance=1e-6,
    ),
    Sample(
        "polyfit with covariance",
        lambda np, x, y: np.polyfit(x, y, 1, cov=True)[1],
        ("n", "n"),
        make=points,
        smallest=4,
        tolerance=1e-6,
    ),
]
