"""Samples of linear algebra: regular matrices, Hermitian positive definite ones, and singular ones."""

import numpy

from tests.samples.reduction import ties
from tests.samples.sample import Sample, draw

EACH = ("float64", "float32", "complex128")


def regular(rng, shapes, dtype):
    """Return arrays whose matrices have a dominant diagonal."""
    arrays = [numpy.asarray(draw(rng, s, dtype, (-1.0, 1.0))) for s in shapes]
    return [
        x + (x.shape[-1] + 1) * numpy.eye(x.shape[-1], dtype=dtype) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x
        for x in arrays
    ]


def apart(rng, shapes, dtype):
    """Return matrices whose singular values, and eigenvalues of their Hermitian parts, are far apart."""
    arrays = [numpy.asarray(draw(rng, s, dtype, (-0.3, 0.3))) for s in shapes]
    for x in (x for x in arrays if x.ndim > 1):
        for i in range(min(x.shape[-2:])):
            x[..., i, i] += 2 * (i + 1)
    return arrays


def rotations(rng, shapes, dtype):
    """Return matrices with a pair of complex eigenvalues, and other eigenvalues far from it."""
    arrays = apart(rng, shapes, dtype)
    for x in arrays:
        x[..., 0, 1] += 3
        x[..., 1, 0] -= 3
    return arrays


def singular(rng, shapes, dtype):
    """Return matrices whose last row is the first: twice it for a single row, so 0."""
    arrays = regular(rng, shapes, dtype)
    for x in arrays:
        x[..., -1:, :] = x[..., :1, :] if x.shape[-1] > 1 else 0
    return arrays


def hermitian(np, x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def squared(np, x):
    """Return matrices with the squares of the singular values in place of these."""
    u, s, vh = numpy.linalg.svd(x, full_matrices=False)
    return np.matmul(u * s[..., None, :] ** 2, vh)


def rows(name, function, shapes, ops, **options):
    """Return the sample with what all have."""
    return Sample(name, function, shapes, ops, **({"make": regular, "tolerance": 1e-8} | options))


SAMPLES = [
    rows(
        "cholesky",
        lambda np, x: numpy.linalg.cholesky(hermitian(np, x)),
        ("n, n",),
        ("cholesky", "cholesky_tangent", "cholesky_cotangent"),
        dtypes=EACH,
    ),
    rows(
        "upper cholesky of stacks",
        lambda np, x: numpy.linalg.cholesky(hermitian(np, x), upper=True),
        ("m, n, n",),
        ("cholesky", "cholesky_tangent", "cholesky_cotangent"),
        order=1,
    ),
    rows(
        "eigvals",
        lambda np, x: numpy.linalg.eigvals(x) * (1 + 0j),
        ("n, n",),
        ("eigvals", "eig"),
        make=apart,
        dtypes=EACH,
        order=1,
    ),
    rows(
        "eig", lambda np, x: tuple(v * (1 + 0j) for v in numpy.linalg.eig(x)), ("n, n",), ("eig",), make=apart, order=1
    ),
    rows(
        "size of complex eigenvalues of stacks",
        lambda np, x: np.abs(numpy.linalg.eigvals(x)) ** 2,
        ("m, 3, 3",),
        ("eigvals", "eig"),
        make=rotations,
    ),
    rows(
        "eigvalsh",
        lambda np, x: numpy.linalg.eigvalsh(hermitian(np, x)),
        ("n, n",),
        ("eigvalsh", "eigh"),
        make=apart,
        dtypes=EACH,
    ),
    rows(
        "eigh", lambda np, x: tuple(numpy.linalg.eigh(hermitian(np, x), "U")), ("n, n",), ("eigh",), make=apart, order=1
    ),
    rows(
        "turns of complex eigenvectors",
        lambda np, x: np.abs(numpy.linalg.eigh(hermitian(np, x))[1]) ** 2,
        ("3, 3",),
        ("eigh",),
        make=apart,
        dtypes=("complex128",),
        order=1,
    ),
    rows("eigh of stacks", lambda np, x: numpy.linalg.eigh(hermitian(np, x))[0], ("m, 3, 3",), ("eigh",), make=apart),
    rows(
        "svdvals",
        lambda np, x: numpy.linalg.svdvals(x),
        ("n, m",),
        ("svdvals", "svd"),
        make=apart,
        dtypes=EACH,
        order=1,
    ),
    rows(
        "svd",
        lambda np, x: tuple(numpy.linalg.svd(x, full_matrices=False)),
        ("n, m",),
        ("svd",),
        make=apart,
        order=1,
    ),
    rows("full svd", lambda np, x: numpy.linalg.svd(x)[1:], ("n, 2",), ("svd",), make=apart, smallest=2, order=1),
    rows(
        "product of svd of stacks",
        squared,
        ("m, 3, 2",),
        ("svd",),
        make=apart,
        dtypes=("complex128",),
        order=1,
    ),
    rows("qr", lambda np, x: tuple(numpy.linalg.qr(x)), ("n, m",), ("qr",), make=apart, dtypes=EACH, order=1),
    rows("qr of stacks", lambda np, x: numpy.linalg.qr(x, "r"), ("m, 3, 2",), ("qr",), make=apart),
    rows("pinv", lambda np, x: numpy.linalg.pinv(x), ("n, m",), ("pinv",), make=apart, dtypes=EACH),
    rows(
        "pinv of one triangle",
        lambda np, x: numpy.linalg.pinv(hermitian(np, x), hermitian=True),
        ("m, n, n",),
        ("mirror", "pinv"),
        make=apart,
        dtypes=EACH,
    ),
    rows("pinv of stacks", lambda np, x: numpy.linalg.pinv(x, rtol=None), ("m, 2, 3",), ("pinv",), make=apart),
    rows(
        "lstsq",
        lambda np, a, b: numpy.linalg.lstsq(a, b)[:2],
        ("5, 3", "5"),
        ("pinv",),
        make=apart,
        dtypes=EACH,
    ),
    rows("lstsq at any size", lambda np, a, b: numpy.linalg.lstsq(a, b)[0], ("n, m", "n, k"), ("pinv",), make=apart),
    rows("matrix_rank", lambda np, x: numpy.linalg.matrix_rank(x), ("n, m",), ("svdvals",), make=ties, grad=False),
    rows("cond", lambda np, x: numpy.linalg.cond(x), ("n, m",), ("svdvals",), make=apart, smallest=1),
    rows(
        "norms by singular values",
        lambda np, x: numpy.linalg.norm(x, 2) + numpy.linalg.norm(x, "nuc"),
        ("n, m",),
        ("svdvals",),
        make=apart,
    ),
    rows("inv", lambda np, x: numpy.linalg.inv(x), ("n, n",), ("inv",), dtypes=EACH),
    rows("inv of stacks", lambda np, x: numpy.linalg.inv(x), ("m, n, n",), ("inv",)),
    rows("inv of integers", lambda np, x: numpy.linalg.inv(x), ("n, n",), ("inv",), dtypes=("int32",), grad=False),
    rows("det", lambda np, x: numpy.linalg.det(x), ("n, n",), ("det", "adjugate"), dtypes=EACH),
    rows("det of stacks", lambda np, x: numpy.linalg.det(x), ("m, 2, n, n",), ("det", "adjugate")),
    rows("det of singular matrices", lambda np, x: numpy.linalg.det(x), ("n, n",), ("det",), make=singular, order=1),
    rows("slogdet", lambda np, x: numpy.linalg.slogdet(x)[1], ("n, n",), ("slogdet", "solve"), dtypes=EACH),
    rows("slogdet of stacks", lambda np, x: numpy.linalg.slogdet(-x)[0], ("m, n, n",), ("slogdet",)),
    rows("solve a vector", lambda np, a, b: numpy.linalg.solve(a, b), ("n, n", "n"), ("lu_factor", "lu_solve")),
    rows(
        "solve a matrix",
        lambda np, a, b: numpy.linalg.solve(a, b),
        ("n, n", "n, k"),
        ("lu_factor", "lu_solve"),
        dtypes=EACH,
    ),
    rows("solve stacks", lambda np, a, b: numpy.linalg.solve(a, b), ("m, n, n", "m, n, 2"), ("solve",)),
    rows("solve stacks for a vector", lambda np, a, b: numpy.linalg.solve(a, b), ("m, n, n", "n"), ("solve",)),
    rows("solve for stacks", lambda np, a, b: numpy.linalg.solve(a, b), ("n, n", "m, n, 2"), ("solve",)),
    rows("negative power", lambda np, x: numpy.linalg.matrix_power(x, -3), ("n, n",), ("inv",)),
    rows("tensorinv", lambda np, x: numpy.linalg.tensorinv(np.reshape(x, (2, 3, 6)), 2), ("6, 6",), ("inv",)),
    rows(
        "tensorsolve",
        lambda np, a, b: numpy.linalg.tensorsolve(np.reshape(a, (2, 3, 3, 2)), np.reshape(b, (2, 3))),
        ("6, 6", "6"),
        ("lu_solve",),
    ),
]
