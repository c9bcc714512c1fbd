"""Samples of distances of pairs of rows: powers, roots of sums, weights, and equal rows."""

import numpy

from anyshape.scipy.cluster import vq
from anyshape.scipy.spatial import distance
from tests.samples.sample import Sample, draw


def apart(rng, shapes, dtype):
    """Return rows whose components differ, so that finite differences meet no kink."""
    first, *others = [numpy.asarray(draw(rng, s, dtype, (0.0, 1.0))) for s in shapes]
    return [first + 1.5 * numpy.arange(first.shape[0])[:, None], *[x - 2.0 for x in others]]


def rows(name, metric, shapes=("m, 3", "n, 3"), ops=("pair_distances",), **options):
    """Return the sample of a metric."""
    order = options.pop("order", 2)
    return Sample(
        name,
        lambda np, a, b: distance.cdist(a, b, metric, **options),
        shapes,
        ops,
        make=apart,
        order=order,
        tolerance=1e-8,
    )


SAMPLES = [
    rows("cdist", "euclidean", ops=("pair_distances", "difference_products", "difference_pulls"), order=3),
    rows("cdist of components", "euclidean", ("2, d", "3, d")),
    rows("cdist of squares", "sqeuclidean"),
    rows("cdist of absolute values", "cityblock"),
    rows("cdist of a power", "minkowski", p=3),
    rows("cdist of a fraction", "minkowski", p=1.5, order=1),
    rows("cdist with weights", "euclidean", w=numpy.array([1.0, 0.5, 2.0]), order=1),
    Sample(
        "pdist",
        lambda np, x: distance.pdist(x, "euclidean"),
        ("n, 2",),
        ("pair_distances", "above", "put_above"),
        make=apart,
        tolerance=1e-8,
    ),
    Sample(
        "pdist of components",
        lambda np, x: distance.pdist(x, "minkowski", p=3),
        ("3, d",),
        ("pair_distances",),
        make=apart,
        tolerance=1e-8,
    ),
    Sample(
        "pdist of one row",
        lambda np, x: distance.pdist(x, "sqeuclidean"),
        ("1, 3",),
        ("pair_distances", "above", "put_above"),
    ),
    Sample(
        "squareform",
        lambda np, x: distance.squareform(distance.squareform(x, checks=False) ** 2, checks=False),
        ("3, 3",),
        ("above", "put_above"),
        ("float64", "float32", "complex128"),
    ),
    Sample(
        "nearest codes",
        lambda np, x, codes: vq.vq(x, codes),
        ("n, 3", "4, 3"),
        ("nearest",),
        ("float64", "float32"),
        tolerance=1e-6,
    ),
]
