"""Define the functions of `scipy.linalg` that factor, with SciPy's arguments and conventions.

Options that let SciPy overwrite or check its operands, or choose a routine of LAPACK, have no effect on traced arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.linalg.solving import as_matrices, as_squares, from_triangle
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.ops import factorisations as fa
from anyshape.ops import linalg as la
from anyshape.support.packages import scipy_linalg


def refuse_option(function: str, option: str, value: Any) -> ArgumentError:
    return ArgumentError(function, f"{option}={value!r}", "is not available for traced arrays", "leave it out")


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the upper Cholesky factor U of Hermitian positive definite matrices U^H U, or the `lower` one.

    The factor has the shape (..., n, n) of the matrices. Only the triangle of the factor is read.
    A matrix that is not positive definite is NumPy's LinAlgError when the program runs.
    """
    if not is_traced(a):
        return scipy_linalg.cholesky(a, lower, overwrite_a, check_finite)
    return xp.linalg.cholesky(a, upper=not lower)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return (u, s, vh) with u s vh = a for matrices a of shape (..., m, n), or s alone without `compute_uv`."""
    if not is_traced(a):
        return scipy_linalg.svd(a, full_matrices, compute_uv, overwrite_a, check_finite, lapack_driver)
    return tuple(xp.linalg.svd(a, full_matrices)) if compute_uv else xp.linalg.svdvals(a)


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values of matrices of shape (..., m, n) in descending order."""
    return xp.linalg.svdvals(a) if is_traced(a) else scipy_linalg.svdvals(a, overwrite_a, check_finite)


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return (q, r) with q r = a for matrices of shape (..., m, n), or (r,) for mode "r": r is upper triangular.

    For mode "full" q is square. For "economic" q has min(m, n) columns and r as many rows. For "raw" the first result
    is the pair of LAPACK: reflections below the diagonal of r, and their scales. With `pivoting` the last result is an
    order p of columns with q r = a[:, p].

    The derivative needs min(m, n) independent columns, which are the first ones or chosen by `pivoting`. That of
    further columns of q, or of "raw", needs a reflection for each. NumPy's LinAlgError is raised without it.
    """
    if not is_traced(a):
        return scipy_linalg.qr(a, overwrite_a, lwork, mode, pivoting, check_finite)
    choice_of("qr", "mode", mode, ("full", "r", "economic", "raw"))
    matrix = as_matrices("qr", a)
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (fa.qr_order(matrix),)
        matrix = xp.take_along_axis(matrix, order[0][..., None, :].astype(np.int64), -1)
    if mode == "raw":
        packed, scales = fa.qr_raw(matrix)
        upper = xp.triu(packed[..., : xp.minimum(*packed.shape[-2:]), :])
        return ((packed, scales), upper, *order)
    if mode == "full":
        return (*fa.qr_complete(matrix), *order)
    q, r = la.qr(matrix)
    if mode == "economic":
        return (q, r, *order)
    missing = xp.zeros((*r.shape[:-2], matrix.shape[-2] - r.shape[-2], r.shape[-1]), r.dtype)
    return (xp.concatenate([r, missing], axis=-2), *order)


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """Return (u, p) with a = u p, or a = p u for side "left": u has orthonormal columns or rows, p is Hermitian.

    `a` has the shape (..., m, n). Derivatives hold where singular values are equal too. They are NaN for matrices
    without full rank, where u is not determined.
    """
    if not is_traced(a):
        return scipy_linalg.polar(a, side)
    choice_of("polar", "side", side, ("right", "left"))
    matrix = as_matrices("polar", a)
    u = fa.polar(matrix)
    back = xp.conj(xp.matrix_transpose(u))
    product = back @ matrix if side == "right" else matrix @ back
    return u, (product + xp.conj(xp.matrix_transpose(product))) / 2


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Return the eigenvalues in ascending order and eigenvectors of Hermitian matrices, or of the pencil a v = w b v.

    `a` and the positive definite `b` have the shape (n, n). `subset_by_index` is a pair of positions; the other choices
    of a subset raise ArgumentError. With `eigvals_only` the eigenvalues come alone.
    """
    if not is_traced(a, b):
        choices = {"type": type, "driver": driver, "subset_by_index": subset_by_index}
        return scipy_linalg.eigh(
            a, b, lower=lower, eigvals_only=eigvals_only, subset_by_value=subset_by_value, **choices
        )
    if subset_by_value is not None:
        raise refuse_option("eigh", "subset_by_value", subset_by_value)
    if b is not None and type != 1:
        raise refuse_option("eigh", "type", type)
    triangle = "L" if lower else "U"
    first, last = (None, None) if subset_by_index is None else (subset_by_index[0], subset_by_index[1] + 1)
    if b is not None:
        return _eigh_of_pencil(as_squares("eigh", a), as_squares("eigh", b), lower, eigvals_only, slice(first, last))
    if eigvals_only:
        return xp.linalg.eigvalsh(a, triangle)[..., first:last]
    values, vectors = xp.linalg.eigh(a, triangle)
    return values[..., first:last], vectors[..., first:last]


def _eigh_of_pencil(a: Any, b: Any, lower: bool, eigvals_only: bool, subset: slice) -> Any:
    """Reduce a v = w b v to a standard problem by the Cholesky factor of b."""
    a, factor = from_triangle(a, lower), xp.linalg.cholesky(from_triangle(b, lower))
    inverse = xp.linalg.inv(factor)
    values, vectors = xp.linalg.eigh(inverse @ a @ xp.conj(inverse.T))
    if eigvals_only:
        return values[subset]
    return values[subset], (xp.conj(inverse.T) @ vectors)[:, subset]


def eigvalsh(a: Any, b: Any = None, lower: bool = True, **options: Any) -> Any:
    """Return the eigenvalues of Hermitian matrices in ascending order, or of the pencil a v = w b v; see `eigh`."""
    if not is_traced(a, b):
        return scipy_linalg.eigvalsh(a, b, lower=lower, **options)
    return eigh(a, b, lower, eigvals_only=True, **options)


def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, **options: Any) -> Any:
    """Return the eigenvalues of square matrices, complex and in the order of LAPACK; `b` raises ArgumentError."""
    if not is_traced(a, b):
        return scipy_linalg.eigvals(a, b, overwrite_a, check_finite, **options)
    if b is not None:
        raise refuse_option("eigvals", "b", "a matrix")
    return xp.linalg.eigvals(xp.asarray(a).astype(np.result_type(a.dtype, np.complex64)))
