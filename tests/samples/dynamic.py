"""Rows for results whose sizes depend on data: none, some and all elements chosen, and bounds beyond both ends."""

import numpy

from tests.samples.sample import Sample, draw

S = Sample
MIXED = ("float64", "float32", "complex128", "int32")


def bounded(rng, shapes, dtype):
    """Values, and an integer for each scalar, from beyond the first end of the first axis to beyond the last."""
    size = shapes[0][0]
    return [
        draw(rng, shape, dtype, (-2.0, 2.0)) if shape else numpy.int64(rng.integers(-size - 1, size + 2))
        for shape in shapes
    ]


SAMPLES = [
    S("mask", lambda np, x: x[abs(x) > 1], ("n",), ops=("nonzero",), dtypes=MIXED, vmap=False),
    S("mask, twice", lambda np, x, y: x[x > 0] * np.sin(y[x > 0]), ("n", "n"), vmap=False),
    S("mask of rows", lambda np, x: x[x[:, 0] > 0] @ np.ones((2, 3)), ("n, 2",), vmap=False),
    S("mask of all axes", lambda np, x: x[x > 0] ** 2, ("m, n",), vmap=False),
    S("mask of a mask", lambda np, x: x[x > 0][x[x > 0] < 1].reshape(-1, 1) * np.ones(2), ("n",), vmap=False),
    S("slice, to a value", lambda np, x, k: x[:k] * x[:k], ("n", ""), ops=("size_token",), make=bounded, vmap=False),
    S("slice, from a value", lambda np, x, i, j: x[i:j], ("n, 2", "", ""), make=bounded, vmap=False),
    S("slice, to a count", lambda np, x: x[: (x > 0).sum()], ("n",), vmap=False),
]
