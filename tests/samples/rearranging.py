"""Samples of partitions, choices, windows that slide, repetitions to a size and bits."""

import numpy

from tests.samples.reduction import distinct
from tests.samples.sample import Sample

ALL = ("float64", "float32", "complex128", "int32", "bool")


def numbers(rng, shapes, dtype):
    """Return numbers of arrays, some of them beyond the last one, and arrays."""
    return [rng.integers(-3, 6, shapes[0]), *[rng.uniform(-2, 2, shape).astype(dtype) for shape in shapes[1:]]]


def bytes_of(rng, shapes, dtype):
    """Return bytes."""
    return [rng.integers(0, 256, shape).astype(numpy.uint8) for shape in shapes]


def windows(np, *args, **options):
    """Return windows that slide."""
    return np.lib.stride_tricks.sliding_window_view(*args, **options)


SAMPLES = [
    Sample("partition", lambda np, x: np.partition(x, 1, axis=0)[1], ("n, m",), make=distinct, smallest=2),
    Sample("argpartition", lambda np, x: np.argpartition(x, -1)[-1], ("n",), make=distinct, smallest=1, grad=False),
    Sample("sort_complex", lambda np, x: np.sort_complex(x), ("m, n",), (), ("float64", "float32"), make=distinct),
    Sample("choose", lambda np, i, x, y: np.choose(i, [x, y], mode="clip"), ("n, m", "n, 1", "m"), make=numbers),
    Sample("choose of an array", lambda np, i, x: np.choose(i, x, mode="wrap"), ("n, m", "3, n, m"), make=numbers),
    Sample("resize", lambda np, x: np.resize(x, (3, 2)), ("n, m",), (), ALL),
    Sample("sliding windows", lambda np, x: windows(np, x, 2), ("n",), ("sliding",), ALL, smallest=2),
    Sample("sliding windows of matrices", lambda np, x: windows(np, x, (2, 1), (1, 0)), ("n, m",), smallest=2),
    Sample("setxor1d", lambda np, x, y: np.setxor1d(x, y), ("n", "m"), (), ("int32", "bool"), vmap=False),
    Sample("packbits", lambda np, x: np.packbits(x, axis=0, bitorder="little"), ("n, m",), (), ("int32", "bool")),
    Sample(
        "unpackbits", lambda np, x: np.unpackbits(x, axis=1, count=-3), ("n, m",), make=bytes_of, grad=False, smallest=1
    ),
    Sample("array_equiv", lambda np, x, y: np.array_equiv(x, y), ("n, m", "m"), (), ("int32",)),
]
