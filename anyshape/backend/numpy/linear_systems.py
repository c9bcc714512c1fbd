"""Kernels of linear systems: LAPACK's routines through SciPy, for one matrix after the other."""

import numpy as np

from anyshape.backend.numpy.linalg import routine
from anyshape.ops import linear_systems as ls
from anyshape.ops.core.apply import kernel


def _lu(a):
    rows = a.shape[-2]
    factors = np.empty(a.shape, a.dtype)
    pivots = np.broadcast_to(np.arange(rows, dtype=np.int32), a.shape[:-1]).copy()
    if a.size:
        getrf = routine("getrf", a)
        for index in np.ndindex(a.shape[:-2]):
            factors[index], exchanged, _ = getrf(a[index])
            pivots[index][: exchanged.size] = exchanged
    return factors, pivots


def _row_order(pivots):
    order = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for index in np.ndindex(pivots.shape[:-1]):
        rows = order[index]
        for i, j in enumerate(pivots[index].tolist()):
            rows[i], rows[j] = rows[j], rows[i]
    return order


def _banded_solve(ab, b, *, lower, upper, transposed, positive=False):
    out = np.empty(b.shape, b.dtype)
    if not b.size:
        return out
    gbtrf, gbtrs = routine("gbtrf", ab), routine("gbtrs", ab)
    room = np.zeros((2 * lower + upper + 1, ab.shape[-1]), ab.dtype)  # elimination fills in diagonals above
    for index in np.ndindex(b.shape[:-2]):
        if positive and (minor := routine("pbtrf", ab)(ab[index][: upper + 1])[1]) > 0:
            raise np.linalg.LinAlgError(f"{minor}th leading minor not positive definite")
        room[lower:] = ab[index]
        factors, pivots, info = gbtrf(room, lower, upper)
        if info > 0:
            raise np.linalg.LinAlgError("Singular matrix")
        out[index] = gbtrs(factors, lower, upper, b[index], pivots, trans=int(transposed))[0]
    return out


kernel(ls.lu_op, _lu)
kernel(ls.row_order_op, _row_order)
kernel(ls.banded_solve_op, _banded_solve)
