"""Compare the distances of anyshape.scipy.spatial with SciPy's, and their derivatives with differences."""

import warnings

import numpy as np
import pytest
import scipy.spatial.distance

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, CheckError, UnsupportedFunctionError
from anyshape.scipy.spatial import distance
from anyshape.scipy.spatial.distance.metrics import METRICS

OF_BOOLS = ("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
UNWEIGHTED = ("seuclidean", "mahalanobis", "jensenshannon")
SMOOTH = ("euclidean", "sqeuclidean", "seuclidean", "mahalanobis", "cosine", "correlation", "jensenshannon", "canberra")
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.0])


def points(n, metric, seed=0):
    x = np.abs(np.random.default_rng([n, seed]).normal(size=(n, 4)))
    return x < 0.7 if metric in OF_BOOLS else np.where(x < 0.2, 0, x) if metric in ("jaccard", "hamming") else x


@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_pairs(metric):
    for options in ({}, {"w": WEIGHTS}):
        if options and metric in UNWEIGHTED:
            continue
        between = jit(lambda a, b, options=options: distance.cdist(a, b, metric, **options))
        within = jit(lambda a, options=options: distance.pdist(a, metric, **options))
        for n, k in ((5, 6), (2, 7), (7, 1)):
            a, b = points(n, metric), points(k, metric, 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of undefined quotients
                expected = scipy.spatial.distance.cdist(a, b, metric, **options)
                np.testing.assert_allclose(between(a, b), expected, 1e-11, 1e-12)
                if metric != "mahalanobis" or n > 4:  # SciPy wants more points than components
                    expected = scipy.spatial.distance.pdist(a, metric, **options)
                    np.testing.assert_allclose(within(a), expected, 1e-11, 1e-12)
        assert between.cache_info().traces == within.cache_info().traces == 1


@pytest.mark.parametrize("metric", [m if m in SMOOTH[:2] else pytest.param(m, marks=pytest.mark.slow) for m in SMOOTH])
def test_derivatives(metric):
    check_grads(lambda a, b: distance.cdist(a, b, metric), (points(6, metric) + 0.1, points(5, metric, 1) + 0.1), 2)


def test_orders_of_minkowski_and_sizes():
    for p in (1, 1.5, 2, 3, np.inf):
        traced = jit(lambda a, b, p=p: distance.cdist(a, b, "m", p=p))
        for n, k in ((4, 3), (1, 0), (0, 2)):
            a, b = points(n, "m"), points(k, "m", 1)
            np.testing.assert_allclose(traced(a, b), scipy.spatial.distance.cdist(a, b, "m", p=p), 1e-12)
        assert traced.cache_info().traces == 1
    check_grads(lambda a, p: distance.pdist(a, "minkowski", p=p), (points(4, "m"), 1.5), 2)


def test_equal_rows_have_no_slope():
    x = points(3, "e")
    total = lambda x, metric: distance.cdist(x, x, metric).sum()
    for metric in ("euclidean", "minkowski", "cityblock", "canberra"):
        assert np.all(np.isfinite(grad(total)(x, metric))), metric
    np.testing.assert_allclose(vmap(distance.pdist)(np.stack([x, 2 * x]))[1], 2 * scipy.spatial.distance.pdist(x))


def test_functions_of_two_vectors():
    x = points(4, "e")
    np.testing.assert_allclose(jit(distance.cosine)(x[0], x[1]), scipy.spatial.distance.cosine(x[0], x[1]), 1e-12)
    assert distance.euclidean(x[0], x[1]) == scipy.spatial.distance.euclidean(x[0], x[1])
    own = lambda u, v: np.abs(u - v).max()
    np.testing.assert_allclose(jit(lambda x: distance.pdist(x, own))(x), scipy.spatial.distance.pdist(x, own), 1e-12)


def test_squareform():
    traced = jit(distance.squareform)
    for n in (0, 1, 3, 6, 10):
        v = np.random.default_rng(n).random(n)
        matrix = scipy.spatial.distance.squareform(v)
        np.testing.assert_array_equal(traced(v), matrix)
        np.testing.assert_array_equal(jit(distance.squareform)(matrix), v)
    check_grads(lambda x: distance.squareform(distance.pdist(x)), (points(4, "e"),))


def test_bad_arguments():
    x = points(3, "e")
    with pytest.raises(ArgumentError, match="is not a distance"):
        jit(lambda x: distance.cdist(x, x, "manhattan"))(x)
    with pytest.raises(ValueError, match=r"components|must equal"):
        jit(lambda x: distance.cdist(x, x[:, :2]))(x)
    with pytest.raises(CheckError, match="symmetric"):
        jit(distance.squareform)(np.arange(9.0).reshape(3, 3))
    with pytest.raises(CheckError, match="distances"):
        jit(distance.squareform)(np.ones(4))
    with pytest.raises(UnsupportedFunctionError, match="directed_hausdorff"):
        jit(lambda x: distance.directed_hausdorff(x, x))(x)


@pytest.mark.slow
def test_small_integers_wrap_where_those_of_scipy_do():
    wrong = []
    for dtype in (np.uint8, np.int8, np.uint16, np.bool_):
        rows = (np.arange(12).reshape(3, 4) * 47 % 251 + 1).astype(dtype)
        for metric in (m for m in METRICS if m not in (*OF_BOOLS, "seuclidean", "mahalanobis")):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for name, args in (("cdist", (rows, rows, metric)), ("pdist", (rows, metric)), (metric, rows[:2])):
                    try:
                        expected = getattr(scipy.spatial.distance, name)(*args)
                    except (TypeError, ValueError):  # a difference of bools, the root of a number that wrapped
                        continue
                    arrays = [x for x in args if isinstance(x, np.ndarray)]
                    options = args[len(arrays) :]
                    actual = jit(lambda *xs, n=name, o=options: getattr(distance, n)(*xs, *o))(*arrays)
                    if not np.allclose(actual, expected, 1e-11, equal_nan=True):
                        wrong.append(f"{name} {metric} {dtype.__name__}: {actual}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_divergence_of_negative_numbers_is_infinite():
    p, q = np.array([3.0, -1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    assert jit(distance.jensenshannon)(p, q) == scipy.spatial.distance.jensenshannon(p, q) == np.inf
