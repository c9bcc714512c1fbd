"""Samples of samples in a row: differences with even and uneven distances, phases, convolutions of all lengths."""

import numpy

from tests.samples.sample import Sample

F = ("float64", "float32", "complex128", "int32")


def with_points(rng, shapes, dtype):
    """Return values, and coordinates in increasing order for the others."""
    values, *points = [rng.uniform(-2, 2, shape) for shape in shapes]
    return [values.astype(dtype), *[numpy.cumsum(1 + numpy.abs(x)).astype(dtype) for x in points]]


def phases(rng, shapes, dtype):
    """Return steps of all sizes, none of them near half a period."""
    whole = rng.integers(-3, 4, shapes[0])
    return [(numpy.pi * whole * 1.4 + rng.uniform(-0.2, 0.2, shapes[0])).astype(dtype)]


SAMPLES = [
    Sample("gradient", lambda np, x: np.gradient(x), ("n",), (), F, smallest=2),
    Sample("gradient along an axis", lambda np, x: np.gradient(x, 0.5, axis=1), ("n, m",), smallest=2),
    Sample("gradient along axes", lambda np, x: np.gradient(x, 0.5, 2.0, axis=(1, 0))[0], ("n, m",), smallest=2),
    Sample(
        "gradient at points", lambda np, x, p: np.gradient(x, p, axis=0), ("n, m", "n"), make=with_points, smallest=2
    ),
    Sample("gradient of order 2", lambda np, x: np.gradient(x, axis=-1, edge_order=2), ("m, n",), smallest=3),
    Sample(
        "gradient at points of order 2",
        lambda np, x, p: np.gradient(x, p, axis=1, edge_order=2),
        ("m, n", "n"),
        make=with_points,
        smallest=3,
    ),
    Sample("unwrap", lambda np, x: np.unwrap(x), ("m, n",), make=phases, dtypes=("float64", "float32"), tolerance=1e-6),
    Sample(
        "unwrap along an axis", lambda np, x: np.unwrap(x, axis=0, period=4), ("n, m",), make=phases, tolerance=1e-6
    ),
    Sample("convolve", lambda np, x, y: np.convolve(x, y), ("n", "m"), ("convolution",), (*F, "bool"), smallest=1),
    Sample("convolve same", lambda np, x, y: np.convolve(x, y, "same"), ("n", "m"), smallest=1),
    Sample("convolve valid", lambda np, x, y: np.convolve(x, y, "valid"), ("n", "m"), smallest=1),
    Sample("correlate", lambda np, x, y: np.correlate(x, y), ("n", "m"), (), F, smallest=1),
    Sample("correlate same", lambda np, x, y: np.correlate(x, y, "same"), ("n", "m"), (), F, smallest=1),
    Sample("correlate full", lambda np, x, y: np.correlate(x, y, "full"), ("n", "m"), (), F, smallest=1),
]
