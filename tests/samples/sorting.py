"""Sorting and order statistics."""

from tests.samples.reduction import FLOAT, REAL, distinct, holes, ties
from tests.samples.sample import Sample

SAMPLES = [
    Sample("sort", lambda np, x: np.sort(x), ("n, m",), ("sort", "permute", "argsort"), REAL, make=distinct),
    Sample("sort along an axis", lambda np, x: np.sort(x, axis=-2), ("n, m, 2",), ("sort", "permute"), make=distinct),
    Sample("sort everything", lambda np, x: np.sort(x, axis=None), ("n, m",), ("sort",), FLOAT, make=distinct),
    Sample(
        "sort with NaN and ties", lambda np, x: np.sort(x, axis=0), ("n, m",), ("sort",), FLOAT, make=holes, grad=None
    ),
    Sample("argsort", lambda np, x: np.argsort(x, axis=0), ("n, m",), ("argsort",), REAL, make=distinct, grad=False),
    Sample(
        "argsort stable", lambda np, x: np.argsort(x, stable=True), ("n, m",), ("argsort",), REAL, make=ties, grad=False
    ),
    Sample(
        "argsort everything",
        lambda np, x: np.argsort(x, axis=None, kind="stable"),
        ("n, m",),
        ("argsort",),
        make=ties,
        grad=False,
    ),
    Sample(
        "searchsorted",
        lambda np, x, v: np.searchsorted(np.sort(x), v),
        ("n", "m, 2"),
        ("searchsorted",),
        REAL,
        make=ties,
        grad=False,
    ),
    Sample(
        "searchsorted right",
        lambda np, x, v: np.searchsorted(np.sort(x), v, side="right"),
        ("n", ""),
        ("searchsorted",),
        make=ties,
        grad=False,
    ),
    Sample("median", lambda np, x: np.median(x), ("n, m",), ("sort",), REAL, make=distinct, smallest=1),
    Sample(
        "median of axes",
        lambda np, x: np.median(x, axis=(0, -1), keepdims=True),
        ("n, 2, m",),
        ("sort",),
        FLOAT,
        make=distinct,
        smallest=1,
    ),
    Sample("median with NaN", lambda np, x: np.median(x, axis=1), ("n, m",), ("sort",), make=holes, grad=None),
    Sample(
        "quantile", lambda np, x: np.quantile(x, 0.3, axis=0), ("n, m",), ("sort",), REAL, make=distinct, smallest=1
    ),
    Sample(
        "quantiles",
        lambda np, x: np.quantile(x, [0.0, 0.25, 0.9, 1.0], axis=-1, keepdims=True),
        ("n, m",),
        ("sort",),
        make=distinct,
        smallest=1,
    ),
    Sample("percentile", lambda np, x: np.percentile(x, 62.5), ("n, m",), ("sort",), FLOAT, make=distinct, smallest=1),
]
