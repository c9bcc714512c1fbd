"""Samples of further factorisations: high and wide matrices, pairs, and unitary ones in blocks."""

import numpy

from anyshape.scipy import linalg
from tests.samples.linalg import apart, hermitian, regular
from tests.samples.sample import Sample

EACH = ("float64", "float32", "complex128")


def unitary(rng, shapes, dtype):
    """Return matrices with orthonormal columns."""
    return [numpy.linalg.qr(x)[0] for x in regular(rng, shapes, dtype)]


def uneven(rng, shapes, dtype):
    """Return matrices whose rows and columns have norms that are far apart."""
    return [x * 9.0 ** numpy.arange(x.shape[-1]) for x in regular(rng, shapes, dtype)]


def distant(rng, shapes, dtype):
    """Return bands whose elements lie far apart along the rows, so that eigenvalues do."""
    return [x + 7 * numpy.arange(x.shape[-1], dtype=x.dtype) for x in regular(rng, shapes, dtype)]


def rows(name, function, shapes, ops, **options):
    """Return the sample with what all have."""
    return Sample(name, function, shapes, ops, **({"make": regular, "tolerance": 1e-8, "dtypes": EACH} | options))


ONE = {"order": 1, "dtypes": ("float64",), "smallest": 1}  # SciPy refuses stacks without matrices
VALUES = {"grad": None, "dtypes": EACH, "smallest": 1}  # and lacks work space for matrices without rows

BANDED = {"make": distant, "smallest": 3}  # LAPACK errs for matrices of one number

SAMPLES = [
    rows("complete qr", lambda np, x: tuple(numpy.linalg.qr(x, "complete")), ("5, 2",), ("qr_complete",), make=apart),
    rows("complete qr of stacks", lambda np, x: linalg.qr(x)[0], ("m, 2, 3",), ("qr_complete",), **ONE, make=apart),
    rows("raw qr", lambda np, x: numpy.linalg.qr(x, "raw"), ("4, 3",), ("qr_raw",), make=apart),
    rows("raw qr of squares", lambda np, x: numpy.linalg.qr(x, "raw"), ("n, n",), ("qr_raw",), **ONE, make=apart),
    rows("pivoted qr", lambda np, x: linalg.qr(x, pivoting=True)[:2], ("4, 3",), ("qr_order",), **ONE, make=apart),
    rows("polar", lambda np, x: linalg.polar(x), ("n, n",), ("polar",), make=apart),
    rows("polar of high stacks", lambda np, x: linalg.polar(x, "left"), ("m, 3, 2",), ("polar",), **ONE, make=apart),
    rows("ldl", lambda np, x: linalg.ldl(hermitian(np, x))[:2], ("n, n",), ("ldl",)),
    rows("balance", lambda np, x: linalg.matrix_balance(x)[0], ("n, n",), ("balance",), **ONE, make=uneven),
    rows("qz", lambda np, x, y: linalg.qz(x, y, "complex"), ("n, n", "n, n"), ("qz",), **VALUES),
    rows("ordqz", lambda np, x, y: linalg.ordqz(x, y, "iuc"), ("n, n", "n, n"), ("ordqz",), **VALUES),
    rows(
        "cossin",
        lambda np, x: linalg.cossin(x, 1, 2, separate=True),
        ("4, 4",),
        ("cossin", "cossin_angles"),
        make=unitary,
        **VALUES,
    ),
    rows(
        "banded_eigh",
        lambda np, x: np.abs(linalg.eig_banded(x, lower=True)[1]),
        ("2, n",),
        ("banded_eigh",),
        **BANDED,
    ),
    rows(
        "banded_eigh of upper sides", lambda np, x: linalg.eigvals_banded(x), ("3, n",), ("banded_eigvalsh",), **BANDED
    ),
    rows(
        "banded_eigh of tridiagonal matrices",
        lambda np, x: np.abs(linalg.eigh_tridiagonal(x[0], x[1, 1:])[1]),
        ("2, n",),
        ("banded_eigh",),
        **BANDED | {"smallest": 1, "dtypes": ("float64", "float32")},
    ),
]
