"""Kernels of factorisations that libraries have, and of linear equations with bands or diagonals, as whole matrices."""

import math

import numpy as np

from anyshape.backend.xp.libraries import kernel
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import factorisations as fa


def _polar(xp, a):
    u, _, vh = xp.linalg.svd(a, full_matrices=False)
    return u @ vh


def _banded_solve(xp, ab, b, *, lower, upper, transposed, positive):
    if positive:
        advice = "use scipy.linalg.solve_banded, or arrays of NumPy"
        raise UnsupportedFunctionError(
            "banded_solve", f"bands of positive matrices have no kernel over {xp.name}", advice
        )
    n = ab.shape[-1]
    if not math.prod(b.shape):
        return b
    rows, columns = np.ogrid[:n, :n]
    band = upper + rows - columns
    inside = xp.array((band >= 0) & (band < ab.shape[-2]))
    places = xp.array((np.clip(band, 0, ab.shape[-2] - 1) * n + columns).ravel())
    flat = xp.take(xp.reshape(ab, (*ab.shape[:-2], -1)), places, axis=-1)
    whole = xp.reshape(flat, (*ab.shape[:-2], n, n))
    whole = xp.where(inside, whole, xp.zeros_like(whole))
    return xp.linalg.solve(xp.matrix_transpose(whole) if transposed else whole, b)


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
