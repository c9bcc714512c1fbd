"""Define the functions of `scipy.linalg` that bring matrices to triangular form.

Matrices are in the last two axes, and leading axes are a batch. Options that let SciPy overwrite or check its operands
have no effect on traced arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.linalg.solving import as_matrices, as_squares
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.ops import linear_systems as ls
from anyshape.ops import matrix_functions as mf
from anyshape.scipy.linalg.factoring import qr, refuse_option
from anyshape.scipy.linalg.solving import FORMS, in_double, solve_triangular, with_columns
from anyshape.support.packages import scipy_linalg


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Any, ...]:
    """Return (p, l, u) with p l u = a for matrices of shape (..., m, n): p permutes rows, l has ones on its diagonal.

    With `permute_l` the pair (p l, u). With `p_indices` p is the vector with l[p] u = a. The derivative needs a first
    square part of full rank.
    """
    if not is_traced(a):
        return scipy_linalg.lu(a, permute_l, overwrite_a, check_finite, p_indices)
    factors, pivots = ls.lu(as_matrices("lu", a))
    order = ls.row_order(pivots)
    rows, columns = factors.shape[-2:]
    common = xp.minimum(rows, columns)
    lower = xp.tril(factors[..., :, :common], -1) + xp.eye(rows, common, dtype=factors.dtype)
    upper = xp.triu(factors[..., :common, :])
    if p_indices:
        return xp.argsort(order, axis=-1), lower, upper
    permutation = (order[..., None, :] == xp.arange(rows)[:, None]).astype(factors.real.dtype)
    return (permutation @ lower, upper) if permute_l else (permutation, lower, upper)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the LU factors of matrices (..., m, n) in one array, and the pivots of rows; `lu_solve` takes square ones.

    A singular matrix has factors with a zero on the diagonal, which no equation can be solved with. The derivative
    needs a first square part of full rank.
    """
    if not is_traced(a):
        return scipy_linalg.lu_factor(a, overwrite_a, check_finite)
    return ls.lu(as_matrices("lu_factor", a))


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the factors of a that `lu_factor` gave, for b of shape (n,) or (..., n, k).

    `trans` 1 solves with the transpose, 2 with the conjugate transpose.
    """
    factors, pivots = lu_and_piv
    if not is_traced(factors, pivots, b):
        return scipy_linalg.lu_solve(lu_and_piv, b, trans, overwrite_b, check_finite)
    form = FORMS[choice_of("lu_solve", "trans", trans, tuple(FORMS))]
    matrix, right, is_vector = with_columns("lu_solve", factors, b)
    order = ls.row_order(xp.asarray(pivots).astype(np.int32))
    order = xp.broadcast_to(order[..., None], right.shape)
    if form == "N":
        moved = xp.take_along_axis(right, order, -2)
        x = solve_triangular(matrix, solve_triangular(matrix, moved, 0, True, True), 0, False)
    else:
        turned = solve_triangular(matrix, solve_triangular(matrix, right, form, False), form, True, True)
        x = xp.take_along_axis(turned, xp.argsort(order, axis=-2), -2)
    return x[..., 0] if is_vector else x


def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return triangular t and unitary z with z t z^H = a; real ones may have blocks of 2 by 2 on the diagonal of t.

    For traced arrays `sort` raises ArgumentError. There is no derivative: `eig` and `eigh` have one.
    """
    if not is_traced(a):
        return scipy_linalg.schur(a, output, lwork, overwrite_a, sort, check_finite)
    if sort is not None:
        raise refuse_option("schur", "sort", sort)
    choice_of("schur", "output", output, ("real", "complex", "r", "c"))
    matrix = as_squares("schur", a)
    return mf.schur(matrix, "complex" if output[0] == "c" or matrix.dtype.kind == "c" else "real")


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complex triangular form of a real one that `schur` gave; there is no derivative."""
    if not is_traced(T, Z):
        return scipy_linalg.rsf2csf(T, Z, check_finite)
    triangular, turn = mf.schur(in_double(as_squares("rsf2csf", T)), "complex")
    return triangular, Z @ turn


def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return h with zeros below its first subdiagonal, with `calc_q` the pair (h, q) with q h q^H = a.

    There is no derivative.
    """
    if not is_traced(a):
        return scipy_linalg.hessenberg(a, calc_q, overwrite_a, check_finite)
    h, q = mf.hessenberg(as_squares("hessenberg", a))
    return (h, q) if calc_q else h


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False, **options: Any
) -> Any:
    """Return (c q, r), or (q c, r) for mode "left", for the economic factors of a; with `pivoting` p is the last."""
    if not is_traced(a, c):
        return scipy_linalg.qr_multiply(a, c, mode, pivoting, conjugate, **options)
    choice_of("qr_multiply", "mode", mode, ("left", "right"))
    q, *others = qr(a, mode="economic", pivoting=pivoting)
    if conjugate:
        q = xp.conj(q)
    return ((c @ q if mode == "right" else q @ c), *others)


def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """Return (r, q) with r q = a: r is upper triangular from the right lower end on, q has orthonormal rows.

    With mode "r" r alone. Derivatives are as in `qr`.
    """
    if not is_traced(a):
        return scipy_linalg.rq(a, overwrite_a, lwork, mode, check_finite)
    choice_of("rq", "mode", mode, ("full", "r", "economic"))
    turned = _turned(as_matrices("rq", a))
    if mode == "r":
        return _turned(qr(turned, mode="r")[0])
    q, r = qr(turned, mode=mode)
    return _turned(r), _turned(q)


def _turned(x: Any) -> Any:
    """Return the conjugate transposes of matrices with rows and columns in reverse order."""
    return xp.conj(xp.matrix_transpose(xp.flip(x, (-2, -1))))
