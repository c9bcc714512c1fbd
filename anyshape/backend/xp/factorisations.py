"""Kernels of factorisations that libraries have, and of linear equations with bands or diagonals, as whole matrices."""

import math

import numpy as np

from anyshape.backend.xp.libraries import INT, kernel
from anyshape.backend.xp.linalg import mirror
from anyshape.ops import factorisations as fa


def _polar(xp, a):
    u, _, vh = xp.linalg.svd(a, full_matrices=False)
    return u @ vh


def _whole(xp, ab, lower, upper):
    """Return matrices of bands, with zeros beyond them."""
    n = ab.shape[-1]
    rows, columns = np.ogrid[:n, :n]
    band = upper + rows - columns
    inside = xp.array((band >= 0) & (band <= lower + upper))
    positions = xp.array((np.clip(band, 0, lower + upper) * n + columns).ravel())
    whole = xp.reshape(xp.take(xp.reshape(ab, (*ab.shape[:-2], -1)), positions, axis=-1), (*ab.shape[:-2], n, n))
    return xp.where(inside, whole, xp.zeros_like(whole))


def _hermitian(xp, ab, lower):
    """Return Hermitian matrices of the bands of one triangle."""
    beside = ab.shape[-2] - 1
    return mirror(xp, _whole(xp, ab, beside * lower, beside * (not lower)), lower=lower, conjugate=True)


def _banded_solve(xp, ab, b, *, lower, upper, transposed, positive):
    if not math.prod(b.shape):
        return b
    if positive:
        whole = _hermitian(xp, ab, lower > 0)
        xp.linalg.cholesky(whole)  # an error unless they are positive
    else:
        whole = _whole(xp, ab, lower, upper)
    return xp.linalg.solve(xp.matrix_transpose(whole) if transposed else whole, b)


def _banded_cholesky(xp, ab, *, lower):
    """Factor whole matrices; what stands in the corners of the bands, beyond the matrices, stays."""
    n, beside = ab.shape[-1], ab.shape[-2] - 1
    if not math.prod(ab.shape):
        return ab
    factors = xp.linalg.cholesky(_hermitian(xp, ab, lower))
    factors = factors if lower else xp.conj(xp.matrix_transpose(factors))
    row = np.arange(n) + np.arange(beside + 1)[:, None] - (0 if lower else beside)
    inside, flat = xp.array((row >= 0) & (row < n)), xp.array((np.clip(row, 0, n - 1) * n + np.arange(n)).ravel())
    bands = xp.reshape(xp.take(xp.reshape(factors, (*ab.shape[:-2], n * n)), flat, axis=-1), ab.shape)
    return xp.where(inside, bands, ab)


def _row_order(xp, pivots):
    """Exchange rows in turn."""
    rows = xp.integers(pivots.shape[-1])
    order = xp.broadcast_to(rows, pivots.shape)
    pivots = xp.convert(pivots, INT)
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1]
        mine, theirs = order[..., i : i + 1], xp.take_along_axis(order, j, axis=-1)
        order = xp.where(rows == i, theirs, xp.where(rows == j, mine, order))
    return order


def _lu(xp, a):
    """Factor matrices, with as many exchanges as rows: those beyond the columns stay."""
    rows, count = a.shape[-2], min(a.shape[-2:])
    stay = xp.broadcast_to(xp.integers(rows, np.dtype(np.int32)), a.shape[:-1])
    if not math.prod(a.shape):
        return a, stay
    factors, pivots = xp.lu_factor(a)
    return factors, xp.concat([xp.convert(pivots, np.dtype(np.int32)), stay[..., count:]], axis=-1)


def _toeplitz_solve(xp, sides, b, *, transposed):
    """Solve with the matrix of a first column and a first row."""
    n = sides.shape[-1]
    rows, columns = np.ogrid[:n, :n]
    places = xp.array(np.where(rows >= columns, rows - columns, n + columns - rows).ravel())
    flat = xp.take(xp.reshape(sides, (*sides.shape[:-2], 2 * n)), places, axis=-1)
    whole = xp.reshape(flat, (*sides.shape[:-2], n, n))
    return xp.linalg.solve(xp.matrix_transpose(whole) if transposed else whole, b)


kernel(fa.qr_complete_op, lambda xp, a: tuple(xp.linalg.qr(a, mode="complete")))
kernel(fa.polar_op, _polar)
kernel(fa.banded_solve_op, _banded_solve)
kernel(fa.toeplitz_solve_op, _toeplitz_solve)
kernel(fa.banded_cholesky_op, _banded_cholesky)
kernel(fa.lu_op, _lu)
kernel(fa.row_order_op, _row_order)
kernel(fa.qr_raw_op, None, alike="geqrf")
