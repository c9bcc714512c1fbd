"""Samples of functions of matrices, with all eigenvalues on the right."""

import numpy

from anyshape import numpy as xp
from anyshape import ops
from anyshape.scipy import linalg
from tests.samples.linalg import regular
from tests.samples.sample import Sample

EACH = ("float64", "float32", "complex128")


def rows(name, function, shapes, ops, **options):
    """Return the sample with what all have."""
    return Sample(name, function, shapes, ops, **({"make": regular, "tolerance": 1e-8, "dtypes": EACH} | options))


def schur_of(np, x):
    """Return the product of the factors."""
    t, z = linalg.schur(x, "complex")
    return np.matmul(np.matmul(z, t), np.conj(np.swapaxes(z, -1, -2)))


def positive(np, x):
    """Return Hermitian matrices with eigenvalues from 1 on, whose functions are real: SciPy's dtypes follow values."""
    return np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) / 9 + xp.eye(x.shape[-1], dtype=x.dtype)


SAMPLES = [
    rows("expm", lambda np, x: linalg.expm(x / 4), ("n, n",), ("matrix_function",)),
    *[
        rows(name, lambda np, x, f=name: ops.matrix_function(positive(np, x), f), ("n, n",), ("matrix_function",))
        for name in ("sqrt", "log")
    ],
    rows(
        "expm of stacks",
        lambda np, x: linalg.expm(x / 9),
        ("m, n, n",),
        ("matrix_function", "matrix_function_derivative"),
        dtypes=("float64",),
        order=1,
    ),
    rows(
        "expm_frechet",
        lambda np, x, e: linalg.expm_frechet(x / 9, e)[1],
        ("n, n", "n, n"),
        ("matrix_function_derivative",),
        dtypes=("float64",),
        order=1,
    ),
    rows(
        "second derivative of logarithms",
        lambda np, x, *directions: ops.matrix_function_derivative(positive(np, x), *directions, function="log"),
        ("n, n", "n, n", "n, n"),
        ("matrix_function_derivative",),
        order=1,
    ),
    rows(
        "solve_sylvester",
        lambda np, a, b, q: linalg.solve_sylvester(a, b, q),
        ("m, m", "n, n", "m, n"),
        ("sylvester",),
        order=1,
    ),
    rows("schur", schur_of, ("n, n",), ("schur",), grad=None),
    rows("hessenberg", lambda np, x: numpy.abs(linalg.hessenberg(x)), ("n, n",), ("hessenberg",), grad=None),
]
