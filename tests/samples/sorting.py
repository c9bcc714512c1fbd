"""Samples of sorting, order statistics and interpolation."""

import numpy

from tests.samples.reduction import FLOAT, REAL, distinct, holes, ties
from tests.samples.sample import Sample


def points(rng, shapes, dtype):
    """Return x inside and outside of increasing points, the points, and values at them."""
    x_shape, (count,), value_shape = shapes
    xp = numpy.cumsum(rng.uniform(0.5, 1.5, count)) - count / 2
    x = rng.uniform(-1 - count / 2, 1 + count / 2, x_shape)
    return [x.astype(dtype), xp.astype(dtype), rng.uniform(-2, 2, value_shape).astype(dtype)]


def on_points(rng, shapes, dtype):
    """Return x on the points and x that is not finite, the points, and values at them."""
    _, xp, fp = points(rng, shapes, dtype)
    x = numpy.concatenate([xp, [numpy.nan, numpy.inf, -numpy.inf]])
    return [numpy.resize(x, shapes[0]).astype(dtype), xp, fp]


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
        "quantiles at the ends",
        lambda np, x: np.quantile(x, [0, 1], axis=0),
        ("n, m",),
        ("sort",),
        ("float64", "int32"),
        make=distinct,
        smallest=1,
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
    *[
        Sample(
            f"interp {name}",
            lambda np, x, xp, fp, options=options: np.interp(x, xp, fp, **options),
            (shape, "n", "n"),
            ("searchsorted", "take"),
            FLOAT,
            make=points,
            smallest=1,
        )
        for name, shape, options in [
            ("of any shape", "m, 2", {}),
            ("of nothing", "0", {}),
            ("of a number", "", {"left": -1.0}),
            ("with ends", "m", {"left": 7, "right": -7.5}),
            ("with a period", "m", {"period": 1.25}),
        ]
    ],
    Sample(
        "interp of complex values",
        lambda np, x, xp, fp: np.interp(x, xp, fp + 1j * fp[::-1], right=2j),
        ("m", "n", "n"),
        ("searchsorted", "complex"),
        make=points,
        smallest=1,
    ),
    Sample(
        "interp on points",
        lambda np, x, xp, fp: np.interp(x, xp, fp, left=0.5),
        ("10", "n", "n"),
        ("searchsorted",),
        make=on_points,
        smallest=1,
        grad=None,
    ),
]
