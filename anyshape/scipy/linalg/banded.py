"""Define the functions of `scipy.linalg` for matrices of few numbers: banded, Toeplitz, circulant and tridiagonal ones.

Options that let SciPy overwrite or check its operands, or choose a routine of LAPACK, have no effect on traced arrays.
"""

from __future__ import annotations

from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.sizes import expr
from anyshape.numpy.linalg.solving import as_matrices, in_one_dtype
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes, static_int
from anyshape.ops import linear_systems as ls
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.solving import in_double
from anyshape.scipy.linalg.structured import toeplitz
from anyshape.support.packages import scipy_linalg


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return x with a x = b for a banded matrix with (l, u) diagonals below and above the main one.

    Element (i, j) of a is at ab[u + i - j, j], so ab has the shape (..., l + u + 1, n); b has (n,) or (..., n, k).
    Elements of ab outside of a have derivative 0. A singular matrix is NumPy's LinAlgError when the program runs.
    """
    if not is_traced(ab, b):
        return scipy_linalg.solve_banded(l_and_u, ab, b, overwrite_ab, overwrite_b, check_finite)
    lower, upper = (static_int(count, "solve_banded", "l_and_u") for count in l_and_u)
    if min(lower, upper) < 0:
        raise ArgumentError("solve_banded", f"l_and_u={l_and_u}", "is negative", "give numbers of diagonals")
    return _solution("solve_banded", lower, upper, ab, b, positive=False)


def _solution(name: str, lower: int, upper: int, ab: Any, b: Any, *, positive: bool) -> Any:
    """Return x with a x = b for a banded matrix, which is to be Hermitian positive definite if `positive`."""
    band, right = in_one_dtype(name, as_matrices(name, ab), b)
    is_vector = right.ndim == 1
    right = right[:, None] if is_vector else right
    batch = xp.broadcast_shapes(band.shape[:-2], right.shape[:-2])
    band, right = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (band, right))
    x = ls.banded_solve(band, right, lower=lower, upper=upper, positive=positive)
    return x[..., 0] if is_vector else x


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return x with a x = b for the Hermitian positive definite banded matrix that has the side ab.

    The u + 1 rows of ab are the diagonals from the outermost to the main one, or the other way round if `lower`. Their
    number must be known when the function is traced. A matrix that is not positive definite is NumPy's LinAlgError when
    the program runs.
    """
    if not is_traced(ab, b):
        return scipy_linalg.solveh_banded(ab, b, overwrite_ab, overwrite_b, lower, check_finite)
    band = as_matrices("solveh_banded", ab)
    width = static_int(band.shape[-2], "solveh_banded", "the number of rows of ab") - 1
    size = band.shape[-1]
    above = [_shifted(band[..., d, :], d, size) for d in range(width, -1, -1)] if lower else list(_rows(band, width))
    above = [xp.conj(row) if lower else row for row in above]
    below = [_shifted(xp.conj(above[width - d]), -d, size) for d in range(1, width + 1)]
    main = xp.real(above[-1]).astype(band.dtype)
    whole = xp.stack([*above[:-1], main, *below], axis=-2)
    return _solution("solveh_banded", width, width, whole, b, positive=True)


def _rows(band: Any, width: int) -> Any:
    """Give the diagonals of one side, from the outermost on."""
    return (band[..., row, :] for row in range(width + 1))


def _shifted(row: Any, count: int, size: Any) -> Any:
    """Return a row with its elements moved on by a number of places, or back by a negative one; zeros come in."""
    zeros = xp.zeros((*row.shape[:-1], abs(count)), row.dtype)
    if count >= 0:
        return xp.concatenate([zeros, row], axis=-1)[..., :size]
    return xp.concatenate([row, zeros], axis=-1)[..., -count:]


def _column_and_row(c_or_cr: Any) -> tuple[Any, Any]:
    """Return the first column and the first row of a Toeplitz matrix."""
    if isinstance(c_or_cr, tuple):
        c, r = (xp.ravel(xp.asarray(x)) for x in c_or_cr)
        return c, r
    c = xp.ravel(xp.asarray(c_or_cr))
    return c, xp.conj(c)


def _parts(c_or_cr: Any) -> tuple[Any, ...]:
    return c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Return x with t x = b for the Toeplitz matrix of a first column c, or of a pair of column and row.

    Traced arrays are solved with the whole matrix, of n**2 elements.
    """
    if not is_traced(*_parts(c_or_cr), b):
        return scipy_linalg.solve_toeplitz(c_or_cr, b, check_finite)
    return xp.linalg.solve(in_double(toeplitz(*_column_and_row(c_or_cr))), b)


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Return the product of a Toeplitz matrix and x of shape (n,) or (n, k), by Fourier transforms."""
    if not is_traced(*_parts(c_or_cr), x):
        return scipy_linalg.matmul_toeplitz(c_or_cr, x, check_finite, workers)
    c, r = _column_and_row(c_or_cr)
    c, r, right = in_one_dtype("matmul_toeplitz", in_double(c), r, x)
    columns = right[:, None] if right.ndim == 1 else right
    around = xp.concatenate([c, xp.zeros(1, c.dtype), r[:0:-1]])  # the first column of a circulant matrix
    points = around.shape[0]
    if right.dtype.kind == "c":
        product = xp.fft.ifft(xp.fft.fft(around)[:, None] * xp.fft.fft(columns, points, axis=0), axis=0)
    else:
        halves = xp.fft.rfft(around)[:, None] * xp.fft.rfft(columns, points, axis=0)
        product = xp.fft.irfft(halves, points, axis=0).astype(right.dtype)
    product = product[: c.shape[0]]
    return product[:, 0] if right.ndim == 1 else product


def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    """Return x with a x = b for the circulant matrix of first column c (n,), and b of shape (n,) or (n, k).

    A singular matrix gives infinities or NaN. For traced arrays the other options keep their defaults.
    """
    if not is_traced(c, b):
        return scipy_linalg.solve_circulant(c, b, singular, tol, caxis, baxis, outaxis)
    for option, value, default in (
        ("singular", singular, "raise"),
        ("caxis", caxis, -1),
        ("baxis", baxis, 0),
        ("outaxis", outaxis, 0),
    ):
        if value != default:
            raise refuse_option("solve_circulant", option, value)
    column, right = in_one_dtype("solve_circulant", c, b)
    size = column.shape[0]
    points = xp.maximum(size, 1)  # of transforms
    scale = xp.fft.fft(column, points)
    x = xp.fft.fft(right, points, axis=0) / (scale if right.ndim == 1 else scale[:, None])
    x = xp.fft.ifft(x, axis=0)[:size]
    return x if right.dtype.kind == "c" else xp.real(x).astype(right.dtype)


def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None, **options: Any
) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of a real symmetric tridiagonal matrix.

    d (n,) is its diagonal, e (n - 1,) the one beside it. `select` "i" takes the positions of `select_range`; "v" raises
    ArgumentError. Traced arrays are solved with the whole matrix, of n**2 elements.
    """
    if not is_traced(d, e):
        return scipy_linalg.eigh_tridiagonal(d, e, eigvals_only, select, select_range, **options)
    if choice_of("eigh_tridiagonal", "select", select, ("a", "i", "v")) == "v":
        raise refuse_option("eigh_tridiagonal", "select", select)
    chosen = slice(None) if select == "a" else slice(select_range[0], select_range[1] + 1)
    diagonal, beside = in_one_dtype("eigh_tridiagonal", d, e)
    if diagonal.dtype.kind == "c":
        raise DTypeError("eigh_tridiagonal", "d or e is complex", "pass real numbers, or use eig_banded", user_line())
    counts = sizes(diagonal)[0], expr.add(sizes(beside)[0], 1)
    context_of("eigh_tridiagonal", diagonal, beside).require_equal(*counts, "d has one more element than e")
    matrix = xp.diag(diagonal) + xp.diag(beside, -1) + xp.diag(beside, 1)
    if eigvals_only:
        return xp.linalg.eigvalsh(matrix)[chosen]
    values, vectors = xp.linalg.eigh(matrix)
    return values[chosen], vectors[:, chosen]


def eigvalsh_tridiagonal(d: Any, e: Any, select: str = "a", select_range: Any = None, **options: Any) -> Any:
    """Return the eigenvalues of a real symmetric tridiagonal matrix in ascending order; see `eigh_tridiagonal`."""
    return eigh_tridiagonal(d, e, True, select, select_range, **options)
