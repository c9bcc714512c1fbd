"""Samples of histograms and bins, order statistics without NaNs, and positions in flattened arrays."""

import numpy

from tests.samples.reduction import distinct, holes
from tests.samples.sample import Sample

REAL = ("float64", "float32", "int32")


def positions(rng, shapes, dtype):
    """Return indices into axes of sizes 3 and 2."""
    return [numpy.asarray(rng.integers(0, 2, shape)) for shape in shapes]


def values_and_bins(rng, shapes, dtype):
    """Return values, and edges of bins in falling order."""
    return [rng.uniform(-2, 2, shapes[0]).astype(dtype), -numpy.sort(rng.uniform(-2, 2, shapes[1])).astype(dtype)]


SAMPLES = [
    Sample("histogram", lambda np, x: np.histogram(x, 3)[0], ("n, m",), (), REAL, grad=False),
    Sample("histogram at edges", lambda np, x: np.histogram(x, [-1.0, 0.0, 0.0, 1.5])[0], ("n",), (), REAL, grad=False),
    Sample(
        "histogram with weights",
        lambda np, x, w: np.histogram(np.floor(x), 4, range=(-2, 2), weights=w)[0],
        ("n", "n"),
        dtypes=("float64", "float32"),
    ),
    Sample(
        "histogram2d", lambda np, x, y: np.histogram2d(x, y, [2, [-1.0, 0.0, 1.5]])[0], ("n", "n"), (), REAL, grad=False
    ),
    Sample(
        "histogramdd with weights",
        lambda np, x, w: np.histogramdd(np.floor(x), (2, 3), [(-2, 2), (-1, 2)], density=None, weights=w)[0],
        ("n, 2", "n"),
    ),
    Sample("histogram_bin_edges", lambda np, x: np.histogram_bin_edges(x, 2), ("n",), make=distinct, smallest=2),
    Sample("digitize", lambda np, x: np.digitize(x, [-1.0, 0.0, 1.0], right=True), ("n, m",), (), REAL, grad=False),
    Sample("digitize falling", lambda np, x, b: np.digitize(x, b), ("n", "m"), make=values_and_bins, grad=False),
    Sample("nanmedian", lambda np, x: np.nanmedian(x, axis=0), ("n, m",), make=distinct, smallest=1),
    Sample("nanmedian with NaN", lambda np, x: np.nanmedian(x, axis=(0, 1)), ("n, m",), make=holes, grad=None),
    Sample("nanquantile", lambda np, x: np.nanquantile(x, [0.2, 0.7], axis=1), ("m, n",), make=distinct, smallest=1),
    Sample("nanpercentile with NaN", lambda np, x: np.nanpercentile(x, 30.0, axis=0), ("n, m",), make=holes, grad=None),
    Sample("nanargmax", lambda np, x: np.nanargmax(x, axis=0), ("n, m",), make=distinct, smallest=1, grad=False),
    Sample("nanargmin", lambda np, x: np.nanargmin(x, keepdims=True), ("n, m",), make=distinct, smallest=1, grad=False),
    Sample("unravel_index", lambda np, i: np.unravel_index(i, (3, 2)), ("n, m",), make=positions, grad=False),
    Sample(
        "ravel_multi_index",
        lambda np, i, j: np.ravel_multi_index((i, j), (3, 2)),
        ("n", "n"),
        make=positions,
        grad=False,
    ),
]
