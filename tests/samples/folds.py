"""Samples of methods of ufuncs that few programs use: NaNs alone, single bits, indices that repeat and that fall."""

import numpy

from tests.samples.reduction import distinct, holes, ties
from tests.samples.sample import Sample


def between(rng, shapes, dtype):
    """Return values, and indices in order that may repeat."""
    rows = rng.uniform(-2, 2, shapes[0]).astype(dtype)
    return [rows, numpy.sort(rng.integers(0, shapes[0][0], shapes[1]))]


def method(name, of):
    """Return a function that calls a method of a ufunc of NumPy."""
    return lambda np, *args: getattr(getattr(numpy, name), of)(*args)


SAMPLES = [
    Sample("subtract.reduce", lambda np, x: numpy.subtract.reduce(x, axis=1), ("m, n",), smallest=1),
    Sample("subtract.accumulate", lambda np, x: numpy.subtract.accumulate(x), ("n, m",), (), ("float64", "int32")),
    Sample("fmax.reduce", lambda np, x: numpy.fmax.reduce(x, keepdims=True), ("n, m",), make=distinct, smallest=1),
    Sample("fmin.reduce with NaN", lambda np, x: numpy.fmin.reduce(x), ("n, m",), make=holes, grad=None, smallest=1),
    *[
        Sample(
            f"{name}.accumulate",
            lambda np, x, name=name: getattr(numpy, name).accumulate(x, 1),
            ("m, n",),
            (),
            dtypes,
            make=make,
            grad=grad,
        )
        for name, dtypes, make, grad in (
            ("fmax", ("float64", "float32", "int32", "bool"), distinct, True),
            ("fmin", ("float64",), holes, None),
            ("logaddexp2", ("float64",), distinct, True),
            ("bitwise_and", ("int32", "bool"), ties, False),
            ("bitwise_or", ("uint8",), ties, False),
            ("bitwise_xor", ("int32", "bool"), ties, False),
        )
    ],
    Sample("logaddexp2.reduce", lambda np, x: numpy.logaddexp2.reduce(x), ("n, m",), smallest=1),
    Sample(
        "logical_xor.reduce",
        lambda np, x: numpy.logical_xor.reduce(x, axis=(0, 1)),
        ("n, m",),
        dtypes=("bool", "float64"),
        make=ties,
        grad=False,
    ),
    *[
        Sample(
            f"{name}.reduce", lambda np, x, name=name: getattr(numpy, name).reduce(x), ("n, m",), (), ("int32", "bool")
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ],
    *[
        Sample(
            f"{name}.accumulate",
            lambda np, x, name=name: getattr(numpy, name).accumulate(x, 1),
            ("m, n",),
            (),
            ("bool",),
        )
        for name in ("logical_and", "logical_or", "logical_xor")
    ],
    *[
        Sample(
            f"{name}.reduceat",
            method(name, "reduceat"),
            ("n, m", "k"),
            make=between,
            smallest=1,
        )
        for name in ("add", "multiply", "maximum", "fmax")
    ],
    Sample(
        "logical_or.reduceat", method("logical_or", "reduceat"), ("n, m", "k"), make=between, smallest=1, grad=False
    ),
    Sample(
        "add.reduceat of falling indices",
        lambda np, x: numpy.add.reduceat(x, [0, 2, 1, 1], axis=1),
        ("m, n",),
        (),
        ("float64", "int32", "bool"),
        smallest=5,
    ),
]
