"""Compare distributions of vectors and matrices with SciPy's, and their derivatives with differences."""

import numpy as np
import pytest
import scipy.stats

from anyshape import check_grads, grad, jit
from anyshape.errors import CheckError
from anyshape.scipy import stats

RNG = np.random.default_rng(0)
COV = np.cov(RNG.normal(size=(3, 9))) + np.eye(3)
MEAN = RNG.normal(size=3)
ALPHA = np.array([1.2, 2.0, 3.4])
SIMPLEX = RNG.dirichlet(ALPHA, size=4).T
COUNTS = np.array([[1, 2, 4], [0, 0, 7], [3, 3, 1], [3, 3, 3]])


def points(n):
    return np.linspace(-1, 1, 3 * n).reshape(n, 3)


CASES = {
    "normal": (lambda s, x, m, c: s.multivariate_normal.logpdf(x, m, c), (points(4), MEAN, COV)),
    "frozen normal": (lambda s, x, m, c: s.multivariate_normal(m, cov=c).pdf(x), (points(4), MEAN, COV)),
    "normal of one point": (lambda s, x, m, c: s.multivariate_normal.logpdf(x, m, c), (MEAN + 1, MEAN, COV)),
    "normal of numbers": (lambda s, x: s.multivariate_normal.logpdf(x, 0.5, 2.0), (points(1)[0],)),
    "spherical normal": (lambda s, x, m, c: s.multivariate_normal.logpdf(x, m, c), (points(4), MEAN, np.float64(2))),
    "entropy of a normal": (lambda s, c: s.multivariate_normal.entropy(None, c), (COV,)),
    "t": (lambda s, x, m, c: s.multivariate_t.logpdf(x, m, c, df=2.5), (points(4), MEAN, COV)),
    "dirichlet": (lambda s, a: s.dirichlet.logpdf(SIMPLEX, a), (ALPHA,)),
    "dirichlet without the last": (lambda s, x, a: s.dirichlet.logpdf(x, a), (SIMPLEX[:-1, 0], ALPHA)),
    "moments of a dirichlet": (
        lambda s, a: s.dirichlet.mean(a) + s.dirichlet.var(a) * s.dirichlet.entropy(a),
        (ALPHA,),
    ),
    "multinomial": (lambda s, p: s.multinomial.pmf(COUNTS, 7, p), (np.array([0.2, 0.3, 0.5]),)),
    "wishart": (lambda s, x, c: s.wishart.logpdf(x, 5.5, c), (COV + np.eye(3), COV)),
    "stack of wishart": (lambda s, c: s.wishart.logpdf(np.stack([COV, 2 * COV], -1), 5.5, c), (COV,)),
}


@pytest.mark.filterwarnings("ignore:Some rows:FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    function, args = CASES[name]
    np.testing.assert_allclose(jit(lambda *xs: function(stats, *xs))(*args), function(scipy.stats, *args), 1e-11)
    gradients = grad(lambda *xs: np.sum(function(stats, *xs)), argnums=tuple(range(len(args))))(*args)
    steps = [np.cos(np.arange(x.size)).reshape(x.shape) for x in args]
    steps = [s + s.T if s.shape == (3, 3) else s for s in steps]  # SciPy reads one triangle
    ahead, behind = (
        np.sum(function(scipy.stats, *[x + sign * 1e-6 * s for x, s in zip(args, steps, strict=True)]))
        for sign in (1, -1)
    )
    actual = sum(np.sum(g * s) for g, s in zip(gradients, steps, strict=True))
    if name != "dirichlet without the last":  # a step leaves the simplex of the others
        np.testing.assert_allclose(actual, (ahead - behind) / 2e-6, 1e-5, 1e-6)


def test_one_trace_serves_all_numbers_of_points_and_components():
    traced = jit(lambda x, m, c: stats.multivariate_normal.logpdf(x, m, c))
    for n, k in [(0, 2), (1, 3), (2, 2), (5, 4)]:
        x, mean, cov = np.ones((n, k)), np.zeros(k), np.eye(k) + 0.1
        expected = [scipy.stats.multivariate_normal.logpdf(row, mean, cov) for row in x]
        np.testing.assert_allclose(traced(x, mean, cov), expected, 1e-12)
    assert traced.cache_info().traces == 1


def test_points_off_the_simplex_have_no_density():
    assert jit(lambda x: stats.dirichlet.pdf(x, ALPHA))(np.array([0.5, 0.5, 0.5])) == 0


def test_singular_covariances():
    logpdf = lambda x, c: stats.multivariate_normal.logpdf(x, np.zeros(3), c, allow_singular=True)
    wide = np.array([[1.0, 0.5], [0.2, 1.0], [0.7, -0.4]])
    points = np.array([wide @ [1.0, 2.0], [0.3, -0.2, 0.5]])
    for cov in (wide @ wide.T, wide @ wide.T + np.eye(3), np.eye(3), np.array([1.0, 0.0, 2.0]), np.array(2.0)):
        expected = scipy.stats.multivariate_normal.logpdf(points, np.zeros(3), cov, allow_singular=True)
        np.testing.assert_allclose(jit(logpdf)(points, cov), expected, rtol=1e-12)
    check_grads(lambda w: logpdf(wide @ np.array([1.0, 2.0]), (wide * w) @ (wide * w).T), (np.array([1.1, 0.9]),), 2)
    known = lambda c: stats.multivariate_normal.logpdf(points[1], np.zeros(3), c)
    slopes, expected = [grad(f)(np.eye(3)) for f in (lambda c: logpdf(points[1], c), known)]
    np.testing.assert_allclose(slopes + slopes.T, expected + expected.T, rtol=1e-12, atol=1e-12)
    for function in (lambda x: logpdf(x, -np.eye(3)), lambda x: logpdf(x, -np.outer(x, x))):
        with pytest.raises(CheckError, match="negative eigenvalue"):
            jit(function)(np.ones(3))


def test_a_known_singular_covariance_has_a_density_on_its_range():
    factor, mean = np.array([[1.0, 0.5], [0.2, -0.3], [0.4, 0.7]]), np.array([0.1, -0.4, 0.8])
    cov = factor @ factor.T
    inside = mean + np.array([[0.3, -0.2], [1.1, 0.6]]) @ factor.T
    logpdf = lambda x, mean: stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True)
    for points in (inside, inside[0], mean + 1.0):
        expected = scipy.stats.multivariate_normal.logpdf(points, mean, cov, True)
        np.testing.assert_allclose(jit(logpdf)(points, mean), expected, rtol=1e-12)
    slopes = grad(logpdf, (0, 1))(inside[0], mean)
    expected = np.linalg.pinv(cov) @ (inside[0] - mean)
    np.testing.assert_allclose(slopes, [-expected, expected], rtol=1e-10, atol=1e-13)
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda x, c: stats.multivariate_normal.pdf(x, np.zeros(2), c))(np.ones(2), -np.eye(2))


def test_the_point_of_a_vector_of_numbers_has_no_axis():
    traced = jit(lambda x: stats.multivariate_normal.pdf(x, np.zeros(1), np.eye(1)))
    for x in (np.ones(1), np.arange(3.0)):
        np.testing.assert_allclose(traced(x), scipy.stats.multivariate_normal.pdf(x, np.zeros(1), np.eye(1)), 1e-14)
        assert np.shape(traced(x)) == np.shape(scipy.stats.multivariate_normal.pdf(x, np.zeros(1), np.eye(1)))
