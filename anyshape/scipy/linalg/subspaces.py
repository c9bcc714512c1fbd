"""Define the functions of `scipy.linalg` that find subspaces, pseudo-inverses and eigenvectors of general matrices.

The basis of a range is of singular vectors, and turns with them. That of a null space turns as LAPACK completes it
where it does so by reflections, and least elsewhere. Functions of the subspace, such as the projection, do not depend
on it.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.linalg.solving import as_matrices, as_squares, from_triangle
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.solving import solve_triangular
from anyshape.transforms.control import stop_gradient


def _decomposed(name: str, A, rcond) -> tuple[Any, Any, Any, Any, Any]:
    """Return a matrix, its singular vectors without derivatives, its rank, and the relative tolerance."""
    a = as_matrices(name, A)
    u, s, vh = xp.linalg.svd(stop_gradient(a), full_matrices=True)
    tolerance = np.finfo(a.dtype).eps * xp.maximum(*a.shape[-2:]) if rcond is None else rcond
    rank = xp.sum(s > xp.max(s, initial=0.0) * tolerance)
    return a, u, vh, rank, tolerance


def _orthonormal(y):
    """Return columns that span what the columns of y span, and equal them where they are orthonormal."""
    adjoint = xp.conj(y.T)
    factor = xp.linalg.cholesky(adjoint @ y)
    return xp.conj(solve_triangular(factor, adjoint, lower=True).T)


def _range(A, rcond=None):
    """Return the left singular vectors of a matrix, with derivatives that turn them least."""
    a, u, _, rank, tolerance = _decomposed("orth", A, rcond)
    basis = u.T[xp.arange(a.shape[0]) < rank].T
    return _orthonormal(a @ (xp.linalg.pinv(a, tolerance) @ basis))


def orth(A: Any, rcond: Any = None) -> Any:
    """Return an orthonormal basis of the range of a matrix, as columns; their number is a run-time size.

    Singular values up to `rcond` times the largest one count as 0; by default it is an ulp of 1 times the longer side.
    The columns are left singular vectors, also in derivatives. These need distinct singular values.
    """
    basis = _range(A, rcond)
    turn = xp.linalg.svd(xp.conj(basis.T) @ as_matrices("orth", A), full_matrices=False)[0]
    return basis @ (turn @ xp.conj(stop_gradient(turn).T))


def null_space(A: Any, rcond: Any = None, **options: Any) -> Any:
    """Return an orthonormal basis of the null space of a matrix, as columns; their number is a run-time size.

    See `orth` for `rcond`. The basis is not unique. LAPACK takes it from a QR decomposition where the rows are
    independent and at most 6/11 as many as the columns, and so do derivatives. Elsewhere the basis turns least in
    derivatives. Functions of the space alone, as `n @ n.T`, do not depend on it.
    """
    a, _, vh, rank, tolerance = _decomposed("null_space", A, rcond)
    basis = xp.conj(vh[xp.arange(a.shape[1]) >= rank].T)
    least = _orthonormal(basis - xp.linalg.pinv(a, tolerance) @ (a @ basis))
    has_full_rank = rank == a.shape[0]
    completion, exists = _completion(xp.where(has_full_rank, a, xp.eye(*a.shape)))
    turn = stop_gradient(xp.conj(completion.T) @ basis)
    is_equal = xp.all(xp.abs(turn - xp.eye(*turn.shape)) < np.sqrt(np.finfo(a.dtype).eps))
    return xp.where(has_full_rank & exists & is_equal, completion @ turn, least)


def _completion(a) -> tuple[Any, Any]:
    """Return the further columns of the product of reflections whose first ones, q, span the rows of a matrix.

    The product is 1 - v t v^H, with v lower triangular. So q determines it if there is a reflection for each column.
    """
    q = xp.linalg.qr(xp.conj(a.T))[0]
    size = q.shape[1]
    change = xp.eye(*q.shape) - q
    lhs = xp.conj(change[:size].T)
    is_regular = xp.abs(xp.linalg.det(stop_gradient(lhs))) > 0.5
    weights = xp.linalg.solve(xp.where(is_regular, lhs, xp.eye(size)), xp.conj(q[size:].T))
    rest = xp.eye(q.shape[0])[:, size:]
    return rest + change @ weights, is_regular


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """Return the pseudo-inverses of matrices. Singular values up to `rtol` times the largest one count as 0.

    By default `rtol` is an ulp of 1 times the longer side. For traced arrays `atol` and `return_rank` raise
    ArgumentError.
    """
    if atol is not None:
        raise refuse_option("pinv", "atol", atol)
    if return_rank:
        raise refuse_option("pinv", "return_rank", return_rank)
    return xp.linalg.pinv(a, rtol=rtol)


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """Return the pseudo-inverses of Hermitian matrices, by one triangle of them; see `pinv`.

    Tangents count as their Hermitian part.
    """
    return pinv(from_triangle(as_squares("pinvh", a), lower), atol=atol, rtol=rtol, return_rank=return_rank)


def eig(a: Any, b: Any = None, left: bool = False, right: bool = True, **options: Any) -> Any:
    """Return the eigenvalues of square matrices and eigenvectors as columns, complex and in the order of LAPACK.

    For traced arrays `b` and `left` raise ArgumentError. Without `right` the eigenvalues come alone.
    """
    if b is not None:
        raise refuse_option("eig", "b", "a matrix")
    if left:
        raise refuse_option("eig", "left", left)
    matrix = as_squares("eig", a)
    return tuple(xp.linalg.eig(matrix)) if right else xp.linalg.eigvals(matrix)


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the orthogonal r that makes the norm of a r - b least, and the sum of the singular values of a^T b."""
    u, s, vh = xp.linalg.svd(xp.conj(xp.matrix_transpose(A)) @ B, full_matrices=False)
    return u @ vh, xp.sum(s)


def subspace_angles(A: Any, B: Any) -> Any:
    """Return the angles between the ranges of two matrices of one number of rows, in descending order.

    Small angles follow from their sines, and large ones from their cosines. Derivatives need distinct angles other
    than 0.
    """
    first, second = _range(A), _range(B)
    products = xp.conj(first.T) @ second
    cosines = xp.flip(xp.linalg.svdvals(products))
    sines = xp.linalg.svdvals(second - first @ products)
    # further directions of a larger second space are orthogonal to the first one
    sines = sines[sines.shape[0] - cosines.shape[0] :]
    is_small = cosines**2 >= 0.5
    small = xp.arcsin(xp.clip(xp.where(is_small, sines, 0.0), -1.0, 1.0))
    return xp.where(is_small, small, xp.arccos(xp.clip(xp.where(is_small, 0.0, cosines), -1.0, 1.0)))
