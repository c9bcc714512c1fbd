"""Kernels of linear algebra: NumPy's for stacks, and LAPACK's through SciPy where the factors are kept.

Traits of linear algebra: whole matrices at a time.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.backend.runtime import blas
from anyshape.ops import linalg as la
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import lapack

_det, _slogdet = np.linalg.det, np.linalg.slogdet  # by names of this module, their warnings have lines of users
_TRANS = {form: i for i, form in enumerate(la.FORMS)}
_TRIANGLES = {True: "L", False: "U"}
_PREFIXES = dict(zip(la.LAPACK, "sdcz", strict=True))  # of routines, by character of the dtype


def _form(a, form):
    """Return a matrix, its transpose or its conjugate transpose."""
    if form == "N":
        return a
    transposed = np.swapaxes(a, -1, -2)
    return transposed.conj() if form == "C" and a.dtype.kind == "c" else transposed


def routine(name: Any, a: Any) -> Any:
    """Return the routine of LAPACK for a dtype, such as dgetrf."""
    return getattr(lapack, f"{_PREFIXES[a.dtype.char]}{name}")


_MANY = 1 << 12  # elements from which NumPy's library takes less time than SciPy's in one thread, calls included
_MANY_FACTORS = 1 << 14


def lu_of_one(a: Any) -> tuple[Any, Any, int]:
    """Return the factors of a matrix in one, the rows that were exchanged, and 0 or the number of a pivot that is 0."""
    if a.size >= _MANY_FACTORS and blas.has_routines(a.dtype.char):
        return blas.lu_factor(a)
    result: tuple[Any, Any, int] = routine("getrf", a)(a)
    return result


def _lu_factor(a):
    if not a.size:
        return np.empty(a.shape, a.dtype), np.empty(a.shape[:-1], np.int32)
    factored = [lu_of_one(matrix) for matrix in a.reshape(-1, *a.shape[-2:])]
    if any(info > 0 for _, _, info in factored):
        raise np.linalg.LinAlgError("Singular matrix")
    if a.ndim == 2:
        return factored[0][:2]
    lu, pivots, _ = zip(*factored, strict=True)
    return np.stack(lu).reshape(a.shape), np.stack(pivots).reshape(a.shape[:-1])


def _lu_solve(a, lu, pivots, b, *, form):
    if not b.size:
        return np.empty(b.shape, b.dtype)
    if pivots.min() < 0 or pivots.max() >= pivots.shape[-1]:  # LAPACK would write to the memory beside the rows
        raise ValueError("pivots must be positions of rows")
    if a.ndim == 2:
        return _lu_solution(lu, pivots, b, form)
    out = np.empty(b.shape, b.dtype)
    for index in np.ndindex(a.shape[:-2]):
        out[index] = _lu_solution(lu[index], pivots[index], b[index], form)
    return out


def _lu_solution(lu, pivots, b, form):
    if b.size >= _MANY and blas.has_routines(lu.dtype.char):
        return blas.lu_solve(lu, pivots, b, form)
    with blas.scipy_threads(len(lu)):
        return routine("getrs", lu)(lu, pivots, b, _TRANS[form])[0]


def _triangular_solve(a, b, *, lower, form, unit):
    out = np.empty(b.shape, b.dtype)
    for index in np.ndindex(a.shape[:-2] if b.size else (0,)):
        out[index] = _triangular_solution(a[index], b[index], lower, form, unit)
    return out


def _triangular_solution(a, b, lower, form="N", unit=False):
    """Return the solution x of op(a) x = b; raise LinAlgError for a singular matrix, one with a 0 on its diagonal."""
    if b.size >= _MANY and blas.has_routines(a.dtype.char):
        x, info = blas.solve_triangle(a, b, lower, form, unit), not (unit or np.diagonal(a).all())
    else:
        trans = _TRANS[form]
        if not a.flags.f_contiguous and (form != "C" or a.dtype.kind != "c"):
            a, lower, trans = a.T, not lower, int(form == "N")  # rows are LAPACK's columns
        with blas.scipy_threads(len(a)) if b.shape[1] > 1 else blas.AS_IT_IS:  # it uses threads from two columns on
            x, info = routine("trtrs", a)(a, b, lower, trans, unit)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


CHOLESKY_BLOCK = 64


def _cholesky_tangent(factor, tangent):
    out = np.empty(tangent.shape, tangent.dtype)
    for index in np.ndindex(out.shape[:-2] if out.size else (0,)):
        one = factor[index]
        left = _triangular_solution(one, tangent[index] + tangent[index].T, True)
        inner = _triangular_solution(one, left.T, True)
        out[index] = one @ _with_half_diagonal(np.tril(inner.T) * 0.5)  # of twice the tangent
    return out


def _with_half_diagonal(x):
    """Return a matrix with its diagonal halved in place."""
    diagonal = np.einsum("ii->i", x)
    diagonal *= 0.5
    return x


def _cholesky_cotangent(factor, cotangent):
    """Differentiate backwards by blocks: I. Murray, 2016, section 5.3."""
    out = np.empty(cotangent.shape, cotangent.dtype)
    with blas.numpy_threads(factor.shape[-1], 2):  # its many small products would each wait for all threads
        for index in np.ndindex(out.shape[:-2]):
            lower = _reversed_cholesky(factor[index], np.tril(cotangent[index]))
            out[index] = 0.5 * (lower + lower.T)
    return out


def _reversed_cholesky(factor, change):
    """Turn the lower cotangent of a factor into the one of the lower triangle of its matrix, in place."""
    for start in reversed(range(0, len(factor), CHOLESKY_BLOCK)):
        stop = min(start + CHOLESKY_BLOCK, len(factor))
        now, before, after = slice(start, stop), slice(start), slice(stop, None)
        rows, square = factor[now, before], factor[now, now]
        if stop < len(factor):
            below = _times_inverse(change[after, now], square)
            change[after, now] = below
            change[after, before] -= below @ rows
            change[now, now] -= np.tril(below.T @ factor[after, now])
            change[now, before] -= below.T @ factor[after, before]
        inner = _with_half_diagonal(np.tril(square.T @ change[now, now]))
        left = _triangular_solution(square, inner + inner.T, True, "T")
        symmetric = _times_inverse(left, square)
        change[now, before] -= symmetric @ rows
        change[now, now] = _with_half_diagonal(np.tril(symmetric))
    return change


def _times_inverse(x, lower):
    """Return x times the inverse of a lower triangular matrix."""
    if x.size >= _MANY and blas.has_routines(x.dtype.char):
        return blas.solve_triangle(lower, x, True, right=True)
    return _triangular_solution(lower, x.T, True, "T").T


def _inv(a):
    return _determinants_and_inverses(a)[1] if _is_large(a) else np.linalg.inv(a)


_LARGE = 64  # rows from which an inverse by factors takes less time than a solution with the unit matrix


def _is_large(a):
    """Return whether factors are faster, and as exact: NumPy inverts single precision in double precision."""
    return a.shape[-1] >= _LARGE and a.dtype.char in "dD" and blas.has_routines(a.dtype.char)


def _determinants_and_inverses(a):
    """Return both by one factorisation of each large matrix."""
    if not _is_large(a):
        return _det(a), np.linalg.inv(a)
    determinants, inverses = np.empty(a.shape[:-2], a.dtype), np.empty(a.shape, a.dtype)
    for index in np.ndindex(a.shape[:-2]):
        lu, exchanged, info = blas.lu_factor(a[index])
        if info > 0:
            raise np.linalg.LinAlgError("Singular matrix")
        pivots = np.diagonal(lu)
        sizes = np.abs(pivots)
        turns = np.prod(pivots / sizes) * (-1) ** np.count_nonzero(exchanged != np.arange(len(lu)))
        determinants[index] = turns * np.exp(np.log(sizes).sum())
        inverses[index] = blas.lu_inverse(lu, exchanged)
    return determinants, inverses


def _adjugate(a):
    """Return det(a) inv(a) of matrices far from singular ones.

    Others have it by singular values: products of all but one of them are never divided by that one.
    """
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        determinants, inverses = _determinants_and_inverses(a)
        magnitudes = np.abs(determinants)
        if a.size and ((np.finfo(a.dtype).tiny <= magnitudes) & (magnitudes < np.inf)).all():
            sizes = [np.abs(x).sum(-1).max(-1) for x in (a, inverses)]
            if (sizes[0] * sizes[1] < np.finfo(a.dtype).eps ** -0.375).all():
                return determinants[..., None, None] * inverses
    is_finite = np.isfinite(a).all((-1, -2), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(is_finite, a, 0))
    others = np.multiply.reduce(np.where(np.eye(a.shape[-1], dtype=bool), 1, s[..., None, :]), -1)
    phase, rows = _det(u) * _det(vh), np.swapaxes(vh.conj(), -1, -2) * others[..., None, :]
    products = phase[..., None, None] * (rows @ np.swapaxes(u.conj(), -1, -2))
    return np.where(is_finite, products, np.nan).astype(a.dtype, copy=False)


def finite(a: Any) -> Any:
    """Return matrices that are finite: LAPACK's singular vectors may never return for infinite ones."""
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("SVD did not converge: a matrix has infs or NaNs")
    return a


def in_one_thread(function: Any) -> Any:
    """Return a kernel of factors in which NumPy's library has one thread where that takes less time."""

    def run(a, **params):
        with blas.numpy_threads(max(a.shape[-2:])):
            return function(a, **params)

    return run


def _as_complex(x):
    """Return values in a complex dtype: NumPy gives real ones where no imaginary part is left."""
    return x.astype(x.dtype.char.upper(), copy=False)


def _mirror(a, *, lower, conjugate):
    below = np.tril(a, -1) if lower else np.swapaxes(np.triu(a, 1), -1, -2)
    above = np.swapaxes(below, -1, -2)
    if conjugate:
        below, above = (below, above.conj()) if lower else (below.conj(), above)
    out = below + above
    diagonal = np.einsum("...ii->...i", a)
    np.einsum("...ii->...i", out)[...] = diagonal.real if conjugate else diagonal
    return out


kernel(la.mirror_op, _mirror)
kernel(la.eigvals_op, in_one_thread(lambda a: _as_complex(np.linalg.eigvals(a))))
kernel(la.eig_op, in_one_thread(lambda a: tuple(_as_complex(x) for x in np.linalg.eig(a))))
kernel(la.eigvalsh_op, in_one_thread(lambda a, *, lower: np.linalg.eigvalsh(a, _TRIANGLES[lower])))
kernel(la.eigh_op, in_one_thread(lambda a, *, lower: tuple(np.linalg.eigh(a, _TRIANGLES[lower]))))
kernel(la.svdvals_op, in_one_thread(np.linalg.svdvals))
kernel(la.svd_op, in_one_thread(lambda a, *, full: tuple(np.linalg.svd(finite(a), full_matrices=full))))
kernel(la.qr_op, in_one_thread(lambda a: tuple(np.linalg.qr(a))))
kernel(la.pinv_op, lambda a, cutoff: np.linalg.pinv(finite(a), cutoff))
kernel(la.cholesky_op, in_one_thread(np.linalg.cholesky))
kernel(la.cholesky_tangent_op, _cholesky_tangent)
kernel(la.cholesky_cotangent_op, _cholesky_cotangent)
kernel(la.inv_op, _inv)
kernel(la.det_op, _det)
kernel(la.adjugate_op, _adjugate)
kernel(la.slogdet_op, lambda a: tuple(_slogdet(a)))
kernel(la.lu_factor_op, _lu_factor)
kernel(la.solve_op, lambda a, b, *, form: np.linalg.solve(_form(a, form), b))
kernel(la.lu_solve_op, _lu_solve)
kernel(la.triangular_solve_op, _triangular_solve)


_SLOW = OPAQUE._replace(time=ElementTime(10.0, 5.0))  # as measured for matrices of 30 by 30

declare(
    _SLOW._replace(scratch=op_traits.like_first_operand(3)),
    la.cholesky_op, la.cholesky_tangent_op, la.cholesky_cotangent_op,
    la.inv_op, la.det_op, la.slogdet_op, la.lu_factor_op,
)  # fmt: skip
declare(OPAQUE._replace(scratch=op_traits.like_first_operand(2)), la.mirror_op)
declare(_SLOW._replace(scratch=op_traits.like_first_operand(12)), la.adjugate_op, la.pinv_op)
declare(
    _SLOW._replace(scratch=op_traits.like_first_operand(8)),
    la.eigvals_op, la.eig_op, la.eigvalsh_op, la.eigh_op, la.svdvals_op, la.svd_op, la.qr_op,
)  # fmt: skip
declare(_SLOW._replace(scratch=op_traits.blas_copies), la.solve_op, la.lu_solve_op, la.triangular_solve_op)
