"""Define the functions of `scipy.linalg` that factor banded matrices, or ask which numbers of a matrix are zero.

A Hermitian banded matrix is given by the diagonals of one side. Element (i, j) is at ab[u + i - j, j] of the upper
side, and at ab[i - j, j] of the lower one. Factors of traced arrays are computed with the whole matrix.
"""

from __future__ import annotations

from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.linalg.solving import as_matrices, as_squares
from anyshape.numpy.operands.promotion import choice_of, is_traced, static_int
from anyshape.scipy.linalg.banded import solve_banded
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.support.packages import scipy_linalg

_linalg = falls_through(scipy_linalg)


def _whole(band: Any, lower: bool) -> Any:
    """Return the matrices whose one side is banded, with zeros on the other side."""
    rows, size = band.shape[-2:]
    i, j = xp.arange(size)[:, None], xp.arange(size)[None, :]
    distance = i - j if lower else j - i
    inside = (distance >= 0) & (distance < rows)
    row = distance if lower else rows - 1 - distance
    return xp.where(inside, band[..., xp.where(inside, row, 0), j], xp.zeros((), band.dtype))


def _side(matrix: Any, band: Any, lower: bool) -> Any:
    """Return the diagonals of one side of matrices; elements outside of a matrix are the ones of a band."""
    rows, size = band.shape[-2:]
    r, j = xp.arange(rows)[:, None], xp.arange(size)[None, :]
    i = j + r if lower else j + r - (rows - 1)
    inside = (i >= 0) & (i < size)
    return xp.where(inside, matrix[..., xp.where(inside, i, 0), j], band)


def _mirrored(half: Any) -> Any:
    """Return Hermitian matrices of one side and the diagonal, whose imaginary part is not read."""
    i = xp.arange(half.shape[-1])
    return xp.where(i[:, None] == i, xp.real(half).astype(half.dtype), half + xp.conj(xp.matrix_transpose(half)))


@_linalg
def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """Return the upper Cholesky factor of a Hermitian positive definite banded matrix, or the `lower` one, as a band.

    The band has the shape (..., u + 1, n) of ab. A matrix that is not positive definite is NumPy's LinAlgError when the
    program runs.
    """
    band = as_matrices("cholesky_banded", ab)
    factor = xp.linalg.cholesky(_mirrored(_whole(band, lower)), upper=not lower)
    return _side(factor, band, lower)


@_linalg
def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the band that `cholesky_banded` gave; b has the shape (n,) or (..., n, k).

    The number of rows of the band must be known when the function is traced.
    """
    band, lower = cb_and_lower
    band = as_matrices("cho_solve_banded", band)
    adjoint = _side(xp.conj(xp.matrix_transpose(_whole(band, lower))), xp.flip(band, -2), not lower)
    below, above = (band, adjoint) if lower else (adjoint, band)
    width = static_int(band.shape[-2], "cho_solve_banded", "the number of rows of the band") - 1
    return solve_banded((0, width), above, solve_banded((width, 0), below, b))


@_linalg
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of Hermitian banded matrices.

    `select` "i" takes the positions of the pair `select_range`; "v" raises ArgumentError.
    """
    if choice_of("eig_banded", "select", select, ("a", "i", "v")) == "v":
        raise refuse_option("eig_banded", "select", select)
    chosen = slice(None) if select == "a" else slice(select_range[0], select_range[1] + 1)
    matrix = _mirrored(_whole(as_matrices("eig_banded", a_band), lower))
    if eigvals_only:
        return xp.linalg.eigvalsh(matrix)[..., chosen]
    values, vectors = xp.linalg.eigh(matrix)
    return values[..., chosen], vectors[..., chosen]


def eigvals_banded(a_band: Any, lower: bool = False, *args: Any, **options: Any) -> Any:
    """Return the eigenvalues of Hermitian banded matrices in ascending order; see `eig_banded`."""
    if not is_traced(a_band):
        return scipy_linalg.eigvals_banded(a_band, lower, *args, **options)
    names = ("overwrite_a_band", "select", "select_range", "check_finite")
    return eig_banded(a_band, lower, True, **dict(zip(names, args, strict=False)), **options)


@_linalg
def bandwidth(a: Any) -> tuple[Any, Any]:
    """Return how many diagonals below and above the main one have a number that is not 0, as traced integers."""
    matrix = as_matrices("bandwidth", a)
    distance = xp.arange(matrix.shape[-2])[:, None] - xp.arange(matrix.shape[-1])[None, :]
    used = xp.where(matrix != 0, distance, 0)
    return xp.max(used, axis=(-2, -1), initial=0), -xp.min(used, axis=(-2, -1), initial=0)


def _equals(name: str, a: Any, mirrored: Any, atol: Any, rtol: Any) -> Any:
    """Return whether square matrices equal others, exactly unless a tolerance is given."""
    matrix = as_squares(name, a)
    other = mirrored(xp.matrix_transpose(matrix))
    if atol is None and rtol is None:
        return xp.all(matrix == other, axis=(-2, -1))
    absolute, relative = (0.0 if value is None else value for value in (atol, rtol))
    if min(absolute, relative) < 0:
        problem = "has a negative number"
        raise ArgumentError(name, f"atol={atol}, rtol={rtol}", problem, "pass tolerances of at least 0")
    return xp.all(xp.isclose(matrix, other, atol=absolute, rtol=relative), axis=(-2, -1))


@_linalg
def issymmetric(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their transpose, as a traced boolean; exactly without a tolerance."""
    return _equals("issymmetric", a, lambda x: x, atol, rtol)


@_linalg
def ishermitian(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their conjugate transpose; see `issymmetric`."""
    return _equals("ishermitian", a, xp.conj, atol, rtol)
