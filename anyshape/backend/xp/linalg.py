"""Kernels of linear algebra. Torch, JAX and CuPy batch all of it."""

import numpy as np

from anyshape.backend.xp.libraries import kernel, numpy_dtype
from anyshape.ops import linalg as la


def _t(xp, a):
    """Return the conjugate transposes of matrices."""
    a = xp.matrix_transpose(a)
    return xp.conj(a) if xp.kind(a) == "c" else a


def _form(xp, a, form):
    """Return matrices, their transposes or their conjugate transposes."""
    return a if form == "N" else xp.matrix_transpose(a) if form == "T" else _t(xp, a)


def mirror(xp, a, *, lower, conjugate):
    """Return matrices whose one triangle is that of the other one."""
    diagonal = xp.linalg.diagonal(a)[..., None] * xp.eye(a.shape[-1], dtype=a.dtype, device=xp.device)
    one = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
    other = _t(xp, one) if conjugate else xp.matrix_transpose(one)
    diagonal = xp.astype(xp.real(diagonal), a.dtype) if conjugate and xp.kind(a) == "c" else diagonal
    return one + other + diagonal


def _triangular(xp, a, b, *, lower, form, unit):
    return xp.solve_triangular(_form(xp, a, form), b, lower if form == "N" else not lower, unit)


def _cholesky_tangent(xp, factor, tangent):
    left = _triangular(xp, factor, tangent + xp.matrix_transpose(tangent), lower=True, form="N", unit=False)
    inner = _triangular(xp, factor, xp.matrix_transpose(left), lower=True, form="N", unit=False)
    return factor @ _half(xp, xp.matrix_transpose(inner) * 0.5)


def _half(xp, x):
    """Return lower triangles with their diagonals halved."""
    return xp.tril(x) - 0.5 * xp.linalg.diagonal(x)[..., None] * xp.eye(x.shape[-1], dtype=x.dtype, device=xp.device)


def _cholesky_cotangent(xp, factor, cotangent):
    """Return inv(L).T phi(L.T ct) inv(L), made symmetric."""
    inner = _half(xp, xp.matrix_transpose(factor) @ xp.tril(cotangent))
    left = _triangular(xp, factor, inner, lower=True, form="T", unit=False)
    both = _triangular(xp, factor, xp.matrix_transpose(left), lower=True, form="T", unit=False)
    return 0.5 * (both + xp.matrix_transpose(both))


def _qr(xp, a):
    q, r = xp.linalg.qr(a)
    return q, r


def _eigh(xp, a, *, lower):
    if not lower:
        a = _t(xp, a)
    values, vectors = xp.linalg.eigh(a)
    return values, vectors


def _complex(xp, values, a):
    return xp.convert(values, np.result_type(numpy_dtype(a), np.complex64))


def _solve(xp, a, b, *, form):
    return xp.linalg.solve(_form(xp, a, form), b)


def _adjugate(xp, a):
    """Return adjugates by singular values: products of all but one of them."""
    u, s, vh = xp.linalg.svd(a)
    eye = xp.eye(a.shape[-1], dtype=xp.dtype(np.dtype(bool)), device=xp.device)
    others = xp.prod(xp.where(eye, xp.ones_like(s[..., None, :]), s[..., None, :] + xp.zeros_like(s[..., :, None])),
                     axis=-1)  # fmt: skip
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    rows = _t(xp, vh) * xp.astype(others, a.dtype)[..., None, :]
    return phase[..., None, None] * (rows @ _t(xp, u))


kernel(la.mirror_op, mirror)
kernel(la.cholesky_op, lambda xp, a: xp.linalg.cholesky(a))
kernel(la.cholesky_tangent_op, _cholesky_tangent)
kernel(la.cholesky_cotangent_op, _cholesky_cotangent)
kernel(la.inv_op, lambda xp, a: xp.linalg.inv(a))
kernel(la.det_op, lambda xp, a: xp.linalg.det(a))
kernel(la.slogdet_op, lambda xp, a: tuple(xp.linalg.slogdet(a)))
kernel(la.adjugate_op, _adjugate)
kernel(la.eigvalsh_op, lambda xp, a, *, lower: xp.linalg.eigvalsh(a if lower else _t(xp, a)))
kernel(la.eigh_op, _eigh)
kernel(la.eigvals_op, lambda xp, a: _complex(xp, xp.linalg.eigvals(a), a))
kernel(la.eig_op, lambda xp, a: tuple(_complex(xp, x, a) for x in xp.linalg.eig(a)))
kernel(la.svdvals_op, lambda xp, a: xp.linalg.svdvals(a))
kernel(la.svd_op, lambda xp, a, *, full: tuple(xp.linalg.svd(a, full_matrices=full)))
kernel(la.qr_op, _qr)
kernel(la.pinv_op, lambda xp, a, rcond: xp.linalg.pinv(a, rtol=rcond))
kernel(la.solve_op, _solve)
kernel(la.lu_factor_op, None, alike="lu_factor")
kernel(la.lu_solve_op, lambda xp, a, lu, pivots, b, *, form: _solve(xp, a, b, form=form))
kernel(la.triangular_solve_op, _triangular)
