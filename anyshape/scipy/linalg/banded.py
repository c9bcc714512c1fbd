"""Define the functions of `scipy.linalg` for matrices of few numbers: banded, Toeplitz, circulant and tridiagonal ones.

Options that let SciPy overwrite or check its operands, or choose a routine of LAPACK, have no effect on traced arrays.

Define the functions of `scipy.linalg` that factor banded matrices, or ask which numbers of a matrix are zero.

A Hermitian banded matrix is given by the diagonals of one side. Element (i, j) is at ab[u + i - j, j] of the upper
side, and at ab[i - j, j] of the lower one.
"""

from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.sizes import expr
from anyshape.numpy.linalg.solving import as_matrices, as_squares, in_one_dtype
from anyshape.numpy.operands.promotion import as_traced, choice_of, sizes, static_int
from anyshape.ops import factorisations as ls
from anyshape.ops import linalg as la
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.solving import in_double, pair_of
from anyshape.scipy.linalg.structured import from_bands
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_linalg
from anyshape.support.true_types import has_type


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return x with a x = b for a banded matrix with (l, u) diagonals below and above the main one.

    Element (i, j) of a is at ab[u + i - j, j], so ab has the shape (..., l + u + 1, n); b has (n,) or (..., n, k).
    Elements of ab outside of a have derivative 0. A singular matrix is NumPy's LinAlgError when the program runs.
    """
    lower, upper = (static_int(count, "solve_banded", "l_and_u") for count in l_and_u)
    if min(lower, upper) < 0:
        raise ArgumentError("solve_banded", f"l_and_u={l_and_u}", "is negative", "give numbers of diagonals")
    return _solution("solve_banded", lower, upper, ab, b)


def _solution(name: str, lower: int, upper: int, ab, b, **form: bool):
    """Return x with a x = b for a banded matrix, or if `positive` for one side of a Hermitian one."""
    band, right = in_one_dtype(name, as_matrices(name, ab), b)
    is_vector = right.ndim == 1
    right = right[:, None] if is_vector else right
    batch = xp.broadcast_shapes(band.shape[:-2], right.shape[:-2])
    band, right = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (band, right))
    x = ls.banded_solve(band, right, lower=lower, upper=upper, **form)
    return x[..., 0] if is_vector else x


@signed_as_in(scipy_linalg)
def solveh_banded(ab, b, overwrite_ab, overwrite_b, lower, check_finite) -> Any:
    """Return x with a x = b for the Hermitian positive definite banded matrix that has the side ab.

    The u + 1 rows of ab are the diagonals from the outermost to the main one, or the other way round if `lower`. Their
    number must be known when the function is traced. A matrix that is not positive definite is NumPy's LinAlgError when
    the program runs.
    """
    band = as_matrices("solveh_banded", ab)
    width = static_int(band.shape[-2], "solveh_banded", "the number of rows of ab") - 1
    return _solution("solveh_banded", width * lower, width * (not lower), band, b, positive=True)


def _column_and_row(c_or_cr) -> tuple[Any, Any]:
    """Return the first column and the first row of a Toeplitz matrix."""
    if isinstance(c_or_cr, tuple):
        c, r = (xp.ravel(xp.asarray(x)) for x in c_or_cr)
        return c, r
    c = xp.ravel(xp.asarray(c_or_cr))
    return c, xp.conj(c)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Return x with t x = b for the Toeplitz matrix of a first column c, or of a pair of column and row.

    A singular matrix, or a singular leading part of it, is NumPy's LinAlgError when the program runs.
    """
    sides, right = in_one_dtype("solve_toeplitz", in_double(xp.stack(_column_and_row(c_or_cr))), b)
    x = ls.toeplitz_solve(sides, right[:, None] if right.ndim == 1 else right)
    return x[:, 0] if right.ndim == 1 else x


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Return the product of a Toeplitz matrix and x of shape (n,) or (n, k), by a convolution."""
    c, r = _column_and_row(c_or_cr)
    c, r, right = in_one_dtype("matmul_toeplitz", in_double(c), r, x)
    columns = right[:, None] if right.ndim == 1 else right
    diagonals, moving = as_traced(xp.concatenate([r[:0:-1], c])), as_traced(xp.flip(columns, 0).T)
    product = wd.convolution(diagonals, moving, wd.one_by_one((0,), (sizes(c)[0],))).T
    return product[:, 0] if right.ndim == 1 else product


def solve_circulant(c, b, singular: str = "raise", tol=None, caxis: int = -1, baxis: int = 0, outaxis: int = 0) -> Any:
    """Return x with a x = b for the circulant matrix of first column c (n,), and b of shape (n,) or (n, k).

    A singular matrix gives infinities or NaN. For traced arrays the other options keep their defaults.
    """
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


def eigh_tridiagonal(d, e, eigvals_only: bool = False, select: str = "a", select_range=None, **options) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of a real symmetric tridiagonal matrix.

    d (n,) is its diagonal, e (n - 1,) the one beside it. `select` "i" takes the positions of `select_range`; "v" raises
    ArgumentError.
    """
    diagonal, beside = in_one_dtype("eigh_tridiagonal", d, e)
    if diagonal.dtype.kind == "c":
        raise DTypeError("eigh_tridiagonal", "d or e is complex", "pass real numbers, or use eig_banded", user_line())
    counts = sizes(diagonal)[0], expr.add(sizes(beside)[0], 1)
    context_of("eigh_tridiagonal", diagonal, beside).require_equal(*counts, "d has one more element than e")
    band = xp.stack([diagonal, xp.append(beside, xp.zeros(1, beside.dtype))])
    chosen = _chosen("eigh_tridiagonal", select, select_range)
    return _eigenpairs(band, True, eigvals_only, chosen, tridiagonal=True)


def _whole(band, lower: bool):
    """Return the matrices whose one side is banded, with zeros on the other side."""
    before = 0 if lower else band.shape[-2] - 1
    return xp.matrix_transpose(from_bands(xp.matrix_transpose(band), before))


def _mirrored(half):
    """Return Hermitian matrices of one side and the diagonal, whose imaginary part is not read."""
    i = xp.arange(half.shape[-1])
    return xp.where(i[:, None] == i, xp.real(half).astype(half.dtype), half + xp.conj(xp.matrix_transpose(half)))


def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """Return the upper Cholesky factor of a Hermitian positive definite banded matrix, or the `lower` one, as a band.

    The band has the shape (..., u + 1, n) of ab. A matrix that is not positive definite is NumPy's LinAlgError when the
    program runs. Derivatives take whole matrices, except for a real band of up to 9 rows, if their number is known
    when the function is traced.
    """
    return ls.banded_cholesky(as_traced(as_matrices("cholesky_banded", ab)), lower=bool(lower))


def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the band that `cholesky_banded` gave; b has the shape (n,) or (..., n, k).

    The number of rows of the band must be known when the function is traced.
    """
    band, lower = pair_of("cho_solve_banded", cb_and_lower)
    band = as_matrices("cho_solve_banded", band)
    width = static_int(band.shape[-2], "cho_solve_banded", "the number of rows of the band") - 1
    for is_adjoint in (not lower, lower):
        factor = xp.conj(band) if is_adjoint else band
        b = _solution("cho_solve_banded", width * lower, width * (not lower), factor, b, transposed=is_adjoint)
    return b


@signed_as_in(scipy_linalg)
def eig_banded(a_band, lower, eigvals_only, overwrite_a_band, select, select_range, max_ev, check_finite) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of Hermitian banded matrices.

    `select` "i" takes the positions of the pair `select_range`; "v" raises ArgumentError.
    """
    chosen = _chosen("eig_banded", select, select_range)
    return _eigenpairs(as_matrices("eig_banded", a_band), bool(lower), eigvals_only, chosen)


def _chosen(name: str, select, select_range) -> slice:
    if choice_of(name, "select", select, ("a", "i", "v")) == "v":
        raise refuse_option(name, "select", select)
    return slice(None) if select == "a" else slice(select_range[0], select_range[1] + 1)


def _eigenpairs(band, lower: bool, only_values: bool, chosen: slice, *, tridiagonal: bool = False):
    """Return eigenvalues, and eigenvectors; bands of an unknown number of rows are solved as whole matrices."""
    if has_type(band.shape[-2], int):
        solve = ls.banded_eigvalsh if only_values else ls.banded_eigh
        results = solve(as_traced(band), lower=lower, tridiagonal=tridiagonal)
    else:
        results = (la.eigvalsh if only_values else la.eigh)(as_traced(_mirrored(_whole(band, lower))))
    return results[..., chosen] if only_values else tuple(x[..., chosen] for x in results)


def bandwidth(a: Any) -> tuple[Any, Any]:
    """Return how many diagonals below and above the main one have a number that is not 0, as traced integers."""
    matrix = as_matrices("bandwidth", a)
    distance = xp.arange(matrix.shape[-2])[:, None] - xp.arange(matrix.shape[-1])[None, :]
    used = xp.where(matrix != 0, distance, 0)
    return xp.max(used, axis=(-2, -1), initial=0), -xp.min(used, axis=(-2, -1), initial=0)


def _equals(name: str, a, mirrored, atol, rtol):
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


def issymmetric(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their transpose, as a traced boolean; exactly without a tolerance."""
    return _equals("issymmetric", a, lambda x: x, atol, rtol)


def ishermitian(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their conjugate transpose; see `issymmetric`."""
    return _equals("ishermitian", a, xp.conj, atol, rtol)
