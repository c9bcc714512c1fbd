"""Define the functions of `scipy.linalg` that factor pairs, blocks and symmetric matrices, or balance one.

Matrices are in the last two axes, and leading axes are a batch. Options that let SciPy overwrite or check its operands
have no effect on traced arrays.
"""

from __future__ import annotations

from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.linalg.solving import as_matrices, as_squares, from_triangle, in_one_dtype
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes, static_int
from anyshape.ops import factorisations as fa
from anyshape.ops import matrix_functions as mf
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.solving import in_double
from anyshape.support.packages import scipy_linalg


def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any, Any]:
    """Return (l, d, perm) with l d l^H = A for Hermitian matrices of shape (..., n, n): l[perm] is triangular.

    d has blocks of at most 2 by 2. Only the triangle of `lower` is read, and tangents count as their Hermitian part.
    Without `hermitian` complex matrices are symmetric, and so is the product. The derivative keeps the pivots, and
    needs a regular matrix: NumPy's LinAlgError is raised for a singular one when the program runs.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> from anyshape.scipy import linalg
    >>> print(jit(linalg.ldl)(np.array([[4.0, 2.0], [2.0, 5.0]]))[1])
    [[4. 0.]
     [0. 4.]]
    """
    if not is_traced(A):
        return scipy_linalg.ldl(A, lower, hermitian, overwrite_a, check_finite)
    matrix = from_triangle(as_squares("ldl", A), lower, conjugate=bool(hermitian))
    return fa.ldl(matrix, lower=bool(lower), hermitian=bool(hermitian))


def _pair(name: str, A: Any, B: Any, output: str) -> tuple[Any, Any, str]:
    """Return a pair of square matrices in one dtype and batch, and the form of their factors."""
    choice_of(name, "output", output, ("real", "complex", "r", "c"))
    a, b = in_one_dtype(name, as_squares(name, A), as_squares(name, B))
    batch = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return a, b, "complex" if output[0] == "c" or a.dtype.kind == "c" else "real"


def qz(
    A: Any,
    B: Any,
    output: str = "real",
    lwork: Any = None,
    sort: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Return triangular aa and bb and unitary q and z with q aa z^H = A and q bb z^H = B.

    Real ones may have blocks of 2 by 2 on the diagonal of aa. There is no derivative. `sort` is not available, as in
    SciPy.
    """
    if not is_traced(A, B):
        return scipy_linalg.qz(A, B, output, lwork, sort, overwrite_a, overwrite_b, check_finite)
    if sort is not None:
        raise refuse_option("qz", "sort", sort)
    return fa.qz(*_pair("qz", A, B, output))


def ordqz(
    A: Any,
    B: Any,
    sort: Any = "lhp",
    output: str = "real",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Return (aa, bb, alpha, beta, q, z): factors as of `qz`, and eigenvalues alpha / beta, the ones of `sort` first.

    For traced arrays `sort` is "lhp", "rhp", "iuc" or "ouc". There is no derivative.
    """
    if not is_traced(A, B):
        return scipy_linalg.ordqz(A, B, sort, output, overwrite_a, overwrite_b, check_finite)
    if callable(sort):
        raise refuse_option("ordqz", "sort", sort)
    choice_of("ordqz", "sort", sort, fa.REGIONS)
    return fa.ordqz(*_pair("ordqz", A, B, output), sort)


def cossin(
    X: Any,
    p: Any = None,
    q: Any = None,
    separate: bool = False,
    swap_sign: bool = False,
    compute_u: bool = True,
    compute_vh: bool = True,
) -> tuple[Any, ...]:
    """Return (u, cs, vh) with u cs vh = X, for a unitary matrix X or its four blocks: u and vh are block diagonal.

    With `separate` ((u1, u2), angles, (v1h, v2h)). `p` and `q` are the rows and columns of the first block. A factor
    that is not computed is an empty array. There is no derivative.
    """
    blocks = X if isinstance(X, (tuple, list)) else (X,)
    if not is_traced(*blocks):
        return scipy_linalg.cossin(X, p, q, separate, swap_sign, compute_u, compute_vh)
    parts = in_one_dtype("cossin", *(as_matrices("cossin", x) for x in _blocks(X, p, q)))
    rows, columns = parts[0].shape[-2:]
    u, cs, vh = fa.cossin(*parts, swap_sign=bool(swap_sign))
    none = xp.zeros((0, 0), u.dtype)
    u, vh = u if compute_u else none, vh if compute_vh else none
    if not separate:
        return u, cs, vh
    lefts = (u[..., :rows, :rows], u[..., rows:, rows:]) if compute_u else (none, none)
    rights = (vh[..., :columns, :columns], vh[..., columns:, columns:]) if compute_vh else (none, none)
    return lefts, fa.cossin_angles(*parts), rights


def _blocks(X: Any, p: Any, q: Any) -> tuple[Any, ...]:
    """Return the four blocks of a matrix whose first one has p rows and q columns."""
    if p or q:
        matrix = as_squares("cossin", X)
        side = sizes(matrix)[-1]
        rows, columns = (1 if n is None else static_int(n, "cossin", name) for n, name in ((p, "p"), (q, "q")))
        ctx = context_of("cossin", matrix)
        for n, name in ((rows, "p"), (columns, "q")):
            if n < 1:
                raise ArgumentError("cossin", f"{name}={n}", "is not positive", "leave rows and columns on both sides")
            ctx.require_at_least(side, n + 1, f"{name}={n} leaves nothing of {side}")
        above, below = matrix[..., :rows, :], matrix[..., rows:, :]
        return above[..., :columns], above[..., columns:], below[..., :columns], below[..., columns:]
    if not isinstance(X, (tuple, list)) or len(X) != 4:
        raise ArgumentError("cossin", "X", "is not four blocks", "pass p and q, or the four blocks of the matrix")
    return tuple(X)


def cdf2rdf(w: Any, v: Any) -> tuple[Any, Any]:
    """Return the real block diagonal form of complex eigenvalues w (..., n) and eigenvectors v (..., n, n).

    Conjugate eigenvalues stand beside each other, as `eig` gives them. The results are (wr, vr) with vr wr = a vr.
    """
    if not is_traced(w, v):
        return scipy_linalg.cdf2rdf(w, v)
    w, v = xp.asarray(w), as_squares("cdf2rdf", v)
    ctx = context_of("cdf2rdf", w, v)
    if w.ndim != v.ndim - 1:
        raise ctx.fail("v must have one axis more than w")
    size = sizes(w)[-1]
    ctx.require_equal(size, sizes(v)[-1], f"{size} eigenvalues have {sizes(v)[-1]} eigenvectors")
    paired = xp.imag(w) != 0
    first = paired & (xp.cumsum(paired, -1) % 2 == 1)  # the flat order of SciPy's pairs is the one of each row
    second = paired & ~first
    row, column = xp.arange(w.shape[-1])[:, None], xp.arange(w.shape[-1])
    on_diagonal = row == column
    before = (column == row + 1) & first[..., :, None]
    after = (row == column + 1) & second[..., :, None]
    real = xp.where(on_diagonal, xp.real(w)[..., :, None], 0)
    form = real + xp.where(before | after, xp.imag(w)[..., :, None], 0)
    diagonal = xp.where(first, 0.5j, xp.where(second, 0.5, 1.0))
    turn = xp.where(on_diagonal, diagonal[..., :, None], 0) + xp.where(before, 0.5, 0) - xp.where(after, 0.5j, 0)
    return form, xp.real(v @ turn)


def matrix_balance(
    A: Any, permute: bool = True, scale: bool = True, separate: bool = False, overwrite_a: bool = False
) -> tuple[Any, Any]:
    """Return (b, t) with t b = A t: t permutes and scales by powers of 2, so that rows and columns have close norms.

    With `separate` t is the pair of scales and permutation. The derivative of b keeps t.
    """
    if not is_traced(A):
        return scipy_linalg.matrix_balance(A, permute, scale, separate, overwrite_a)
    matrix = as_squares("matrix_balance", A)
    scales, order = fa.balance(matrix, permute=bool(permute), scale=bool(scale))
    rows = xp.take_along_axis(matrix, order[..., :, None], -2)
    near = scales.astype(matrix.real.dtype)
    balanced = xp.take_along_axis(rows, order[..., None, :], -1) * near[..., None, :] / near[..., :, None]
    if separate:
        return balanced, (scales, order)
    return balanced, xp.where(xp.arange(matrix.shape[-1])[:, None] == order[..., None, :], scales[..., None, :], 0.0)


def expm_cond(A: Any, check_finite: bool = True) -> Any:
    """Return the condition number of the exponential of square matrices: |K|_2 |A|_F / |exp(A)|_F.

    K is the matrix of the derivative, with n**2 rows and columns. Its largest singular value has a derivative where it
    is single.
    """
    if not is_traced(A):
        return scipy_linalg.expm_cond(A, check_finite)
    matrix = in_double(as_squares("expm_cond", A))
    size = matrix.shape[-1]
    count = size * size
    directions = xp.reshape(xp.eye(count, dtype=matrix.dtype), (count, size, size))
    shape = (*matrix.shape[:-2], count, size, size)
    points, changes = (xp.broadcast_to(x, shape) for x in (matrix[..., None, :, :], directions))
    columns = xp.reshape(mf.matrix_function_derivative(points, changes, "exp"), (*matrix.shape[:-2], count, count))
    lengths = (xp.linalg.matrix_norm(x) for x in (matrix, mf.matrix_function(matrix, "exp")))
    before, after = lengths
    return xp.linalg.matrix_norm(columns, ord=2) * before / after
