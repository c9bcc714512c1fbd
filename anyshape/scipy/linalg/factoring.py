"""Define the functions of `scipy.linalg` that factor, and that solve by factors, with SciPy's arguments.

Matrices are in the last two axes, and leading axes are a batch. Options that let SciPy overwrite or check its operands,
or choose a routine of LAPACK, have no effect on traced arrays.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.linalg.solving import as_matrices, as_squares, from_triangle, in_one_dtype
from anyshape.numpy.operands.promotion import as_traced, choice_of, sizes, static_int
from anyshape.ops import factorisations as fa
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_linalg
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.custom_rules import custom_jvp
from anyshape.transforms.grad import jvp

FORMS: dict[int | str, str] = {0: "N", "N": "N", 1: "T", "T": "T", 2: "C", "C": "C"}


def with_columns(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Return matrices and right-hand sides as columns in one dtype and batch, and whether `b` was a vector."""
    matrix, right = in_one_dtype(name, as_squares(name, a), b)
    ctx = context_of(name, matrix, right)
    if not right.meta.rank:
        raise ctx.fail("the right-hand side is a scalar", "pass a vector or a matrix")
    is_vector = right.meta.rank == 1
    if is_vector:
        right = mv.expand(right, (1,))
    rows = sizes(matrix)[-1]
    ctx.require_equal(rows, sizes(right)[-2], f"{rows} equations have {sizes(right)[-2]} right-hand sides")
    batch = xp.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (matrix, right))
    return matrix, right, is_vector


@signed_as_in(scipy_linalg)
def solve_triangular(a, b, trans, lower, unit_diagonal, overwrite_b, check_finite) -> Any:
    """Return x with a x = b for triangular matrices a of shape (..., n, n) and b of shape (n,) or (..., n, k).

    The other triangle is not read. `trans` 1 or "T" solves with the transpose, 2 or "C" with the conjugate transpose.
    A zero on the diagonal is NumPy's LinAlgError when the program runs.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import linalg
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> print(grad(lambda b: linalg.solve_triangular(a, b, lower=True).sum())(np.ones(2)))
    [0.375 0.25 ]
    """
    form = FORMS[choice_of("solve_triangular", "trans", trans, tuple(FORMS))]
    matrix, right, is_vector = with_columns("solve_triangular", a, b)
    x = la.triangular_solve(matrix, right, lower=bool(lower), form=form, unit=bool(unit_diagonal))
    return x[..., 0] if is_vector else x


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """Return the pair of a Cholesky factor of Hermitian positive definite matrices and of `lower`, for `cho_solve`.

    Where SciPy leaves the other triangle undefined, it is 0.
    """
    return xp.linalg.cholesky(a, upper=not lower), bool(lower)


def pair_of(name: str, factored: Any) -> Any:
    """Return a factor and the side that it is on; raise ArgumentError for a factor alone."""
    if not has_type(factored, (tuple, list)) or len(factored) != 2:
        raise ArgumentError(
            name, "its first argument", "is not a pair", "pass (c, lower), as the factorisation gave it"
        )
    return factored


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the factor of a that `cho_factor` gave, for b of shape (n,) or (..., n, k)."""
    factor, lower = pair_of("cho_solve", c_and_lower)
    first, last = (0, 2) if lower else (2, 0)
    return solve_triangular(factor, solve_triangular(factor, b, first, lower), last, lower)


def in_double(a: Any) -> Any:
    """Return an operand in double precision, in which some functions of SciPy compute whatever they are given."""
    a = xp.asarray(a)
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


_STRUCTURES = {
    None: "general", "gen": "general", "general": "general", "diagonal": "diagonal", "tridiagonal": "tridiagonal",
    "banded": "general", "sym": "symmetric", "symmetric": "symmetric", "her": "hermitian", "hermitian": "hermitian",
    "pos": "positive", "positive definite": "positive", "upper triangular": "upper", "lower triangular": "lower",
}  # fmt: skip
# diagonals below and above the main one that a structure reads, None for all
_BANDS = {"diagonal": (0, 0), "tridiagonal": (1, 1), "upper": (0, None), "lower": (None, 0)}


@signed_as_in(scipy_linalg)
def solve(a, b, lower, overwrite_a, overwrite_b, check_finite, assume_a, transposed) -> Any:
    """Return x with a x = b for square matrices a (..., n, n) and b of shape (n,) or (..., n, k).

    `assume_a` names the structure of `a`. A symmetric, Hermitian or positive definite one is read from one triangle.
    Its tangents count as their Hermitian part, or symmetric part for "sym".
    A singular matrix is NumPy's LinAlgError when the program runs.
    """
    structure = _STRUCTURES[choice_of("solve", "assume_a", assume_a, tuple(_STRUCTURES))]
    if structure in ("upper", "lower"):
        return solve_triangular(a, b, trans=int(transposed), lower=structure == "lower")
    a = _structured("solve", a, lower, structure)
    if structure == "positive" and not transposed:
        return cho_solve(cho_factor(a, lower=True), b)
    return xp.linalg.solve(xp.matrix_transpose(a) if transposed else a, b)


def _structured(name: str, a, lower: bool, structure: str):
    """Return square matrices with the elements that a structure lets SciPy read, and what these stand for."""
    matrix = as_squares(name, a)
    if structure in _BANDS:
        below, above = _BANDS[structure]
        matrix = matrix if below is None else xp.triu(matrix, -below)
        return matrix if above is None else xp.tril(matrix, above)
    return matrix if structure == "general" else from_triangle(matrix, lower, conjugate=structure != "symmetric")


def inv(a, overwrite_a: bool = False, check_finite: bool = True, *, assume_a=None, lower: bool = False) -> Any:
    """Return the inverses of the square matrices in the last two axes.

    A singular matrix is NumPy's LinAlgError when the program runs. `assume_a` names the structure as in `solve`.
    """
    choices = tuple(name for name in _STRUCTURES if name not in ("tridiagonal", "banded"))
    structure = _STRUCTURES[choice_of("inv", "assume_a", assume_a, choices)]
    return xp.linalg.inv(_structured("inv", a, lower, structure))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants of the square matrices in the last two axes, in double precision."""
    return xp.linalg.det(in_double(a))


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return norms of vectors or matrices along the axes, as `numpy.linalg.norm` does."""
    return xp.linalg.norm(a, ord, axis, keepdims)


@signed_as_in(scipy_linalg)
def lstsq(a, b, cond, overwrite_a, overwrite_b, check_finite, lapack_driver) -> Any:
    """Return (x, residues, rank, s) of least squares for a of shape (m, n), as `numpy.linalg.lstsq` does."""
    return xp.linalg.lstsq(a, b, cond)


def refuse_option(function: str, option: str, value: Any) -> ArgumentError:
    return ArgumentError(function, f"{option}={value!r}", "is not available for traced arrays", "leave it out")


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the upper Cholesky factor U of Hermitian positive definite matrices U^H U, or the `lower` one.

    The factor has the shape (..., n, n) of the matrices. Only the triangle of the factor is read.
    A matrix that is not positive definite is NumPy's LinAlgError when the program runs.
    """
    return xp.linalg.cholesky(a, upper=not lower)


@signed_as_in(scipy_linalg)
def svd(a, full_matrices, compute_uv, overwrite_a, check_finite, lapack_driver) -> Any:
    """Return (u, s, vh) with u s vh = a for matrices a of shape (..., m, n), or s alone without `compute_uv`."""
    return tuple(xp.linalg.svd(a, full_matrices)) if compute_uv else xp.linalg.svdvals(a)


@signed_as_in(scipy_linalg)
def qr(a, overwrite_a, lwork, mode, pivoting, check_finite) -> Any:
    """Return (q, r) with q r = a for matrices of shape (..., m, n), or (r,) for mode "r": r is upper triangular.

    For mode "full" q is square. For "economic" q has min(m, n) columns and r as many rows. For "raw" the first result
    is the pair of LAPACK: reflections below the diagonal of r, and their scales. With `pivoting` the last result is an
    order p of columns with q r = a[:, p].

    The derivative needs min(m, n) independent columns, which are the first ones or chosen by `pivoting`. That of
    further columns of q, or of "raw", needs a reflection for each. NumPy's LinAlgError is raised without it.
    """
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
    choice_of("polar", "side", side, ("right", "left"))
    matrix = as_matrices("polar", a)
    u = fa.polar(matrix)
    back = xp.conj(xp.matrix_transpose(u))
    product = back @ matrix if side == "right" else matrix @ back
    return u, (product + xp.conj(xp.matrix_transpose(product))) / 2


@signed_as_in(scipy_linalg)
def eigh(
    a, b, lower, eigvals_only, overwrite_a, overwrite_b, type, check_finite, subset_by_index, subset_by_value, driver
) -> Any:  # fmt: skip
    """Return the ascending eigenvalues and the eigenvectors of Hermitian matrices, or of the pencil a v = w b v.

    `a` and the positive definite `b` have the shape (n, n). `subset_by_index` is a pair of positions; the other choices
    of a subset raise ArgumentError. With `eigvals_only` the eigenvalues come alone.
    """
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


def _eigh_of_pencil(a, b, lower: bool, eigvals_only: bool, subset: slice):
    """Reduce a v = w b v to a standard problem by the Cholesky factor of b."""
    a, factor = from_triangle(a, lower), xp.linalg.cholesky(from_triangle(b, lower))
    inverse = xp.linalg.inv(factor)
    values, vectors = xp.linalg.eigh(inverse @ a @ xp.conj(inverse.T))
    if eigvals_only:
        return values[subset]
    return values[subset], (xp.conj(inverse.T) @ vectors)[:, subset]


@signed_as_in(scipy_linalg)
def lu(a, permute_l, overwrite_a, check_finite, p_indices) -> tuple[Any, ...]:
    """Return (p, l, u) with p l u = a for matrices (..., m, n): p permutes rows, l has ones on its diagonal.

    With `permute_l` the pair (p l, u). With `p_indices` p is the vector with l[p] u = a. The derivative needs a first
    square part of full rank.
    """
    factors, pivots = fa.lu(as_matrices("lu", a))
    order = fa.row_order(pivots)
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
    return fa.lu(as_matrices("lu_factor", a))


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the factors of a that `lu_factor` gave, for b of shape (n,) or (..., n, k).

    `trans` 1 solves with the transpose, 2 with the conjugate transpose.
    """
    factors, pivots = lu_and_piv
    form = FORMS[choice_of("lu_solve", "trans", trans, tuple(FORMS))]
    matrix, right, is_vector = with_columns("lu_solve", factors, b)
    order = fa.row_order(xp.asarray(pivots).astype(np.int32))
    order = xp.broadcast_to(order[..., None], right.shape)
    if form == "N":
        moved = xp.take_along_axis(right, order, -2)
        x = solve_triangular(matrix, solve_triangular(matrix, moved, 0, True, True), 0, False)
    else:
        turned = solve_triangular(matrix, solve_triangular(matrix, right, form, False), form, True, True)
        x = xp.take_along_axis(turned, xp.argsort(order, axis=-2), -2)
    return x[..., 0] if is_vector else x


@signed_as_in(scipy_linalg)
def schur(a, output, lwork, overwrite_a, sort, check_finite) -> Any:
    """Return triangular t and unitary z with z t z^H = a; real ones may have blocks of 2 by 2 on the diagonal of t.

    For traced arrays `sort` raises ArgumentError. There is no derivative: `eig` and `eigh` have one.
    """
    if sort is not None:
        raise refuse_option("schur", "sort", sort)
    choice_of("schur", "output", output, ("real", "complex", "r", "c"))
    matrix = as_squares("schur", a)
    return fa.schur(matrix, "complex" if output[0] == "c" or matrix.dtype.kind == "c" else "real")


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complex triangular form of a real one that `schur` gave; there is no derivative."""
    triangular, turn = fa.schur(in_double(as_squares("rsf2csf", T)), "complex")
    return triangular, Z @ turn


def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return h with zeros below its first subdiagonal, with `calc_q` the pair (h, q) with q h q^H = a.

    There is no derivative.
    """
    h, q = fa.hessenberg(as_squares("hessenberg", a))
    return (h, q) if calc_q else h


def qr_multiply(a, c, mode: str = "right", pivoting: bool = False, conjugate: bool = False, **options) -> Any:
    """Return (c q, r), or (q c, r) for mode "left", for the economic factors of a; with `pivoting` p is the last."""
    choice_of("qr_multiply", "mode", mode, ("left", "right"))
    q, *others = qr(a, mode="economic", pivoting=pivoting)
    if conjugate:
        q = xp.conj(q)
    return ((c @ q if mode == "right" else q @ c), *others)


def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """Return (r, q) with r q = a: r is upper triangular from the right lower end on, q has orthonormal rows.

    With mode "r" r alone. Derivatives are as in `qr`.
    """
    choice_of("rq", "mode", mode, ("full", "r", "economic"))
    turned = _turned(as_matrices("rq", a))
    if mode == "r":
        return _turned(qr(turned, mode="r")[0])
    q, r = qr(turned, mode=mode)
    return _turned(r), _turned(q)


def _turned(x):
    """Return the conjugate transposes of matrices with rows and columns in reverse order."""
    return xp.conj(xp.matrix_transpose(xp.flip(x, (-2, -1))))


@signed_as_in(scipy_linalg)
def ldl(A, lower, hermitian, overwrite_a, check_finite) -> tuple[Any, Any, Any]:
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
    matrix = from_triangle(as_squares("ldl", A), lower, conjugate=bool(hermitian))
    return fa.ldl(matrix, lower=bool(lower), hermitian=bool(hermitian))


def _pair(name: str, A, B, output: str) -> tuple[Any, Any, str]:
    """Return a pair of square matrices in one dtype and batch, and the form of their factors."""
    choice_of(name, "output", output, ("real", "complex", "r", "c"))
    a, b = in_one_dtype(name, as_squares(name, A), as_squares(name, B))
    batch = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return a, b, "complex" if output[0] == "c" or a.dtype.kind == "c" else "real"


@signed_as_in(scipy_linalg)
def qz(A, B, output, lwork, sort, overwrite_a, overwrite_b, check_finite) -> tuple[Any, ...]:
    """Return triangular aa and bb and unitary q and z with q aa z^H = A and q bb z^H = B.

    Real ones may have blocks of 2 by 2 on the diagonal of aa. There is no derivative. `sort` is not available, as in
    SciPy.
    """
    if sort is not None:
        raise refuse_option("qz", "sort", sort)
    return fa.qz(*_pair("qz", A, B, output))


@signed_as_in(scipy_linalg)
def ordqz(A, B, sort, output, overwrite_a, overwrite_b, check_finite) -> tuple[Any, ...]:
    """Return (aa, bb, alpha, beta, q, z): factors as of `qz`, eigenvalues alpha / beta, the ones of `sort` first.

    For traced arrays `sort` is "lhp", "rhp", "iuc" or "ouc". There is no derivative.
    """
    if callable(sort):
        raise refuse_option("ordqz", "sort", sort)
    choice_of("ordqz", "sort", sort, fa.REGIONS)
    return fa.ordqz(*_pair("ordqz", A, B, output), sort)


@signed_as_in(scipy_linalg)
def cossin(X, p, q, separate, swap_sign, compute_u, compute_vh) -> tuple[Any, ...]:
    """Return (u, cs, vh) with u cs vh = X, for a unitary matrix X or its four blocks: u and vh are block diagonal.

    With `separate` ((u1, u2), angles, (v1h, v2h)). `p` and `q` are the rows and columns of the first block. A factor
    that is not computed is an empty array. There is no derivative.
    """
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


def _blocks(X, p, q) -> tuple[Any, ...]:
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


@signed_as_in(scipy_linalg)
def matrix_balance(A, permute, scale, separate, overwrite_a) -> tuple[Any, Any]:
    """Return (b, t) with t b = A t: t permutes and scales by powers of 2, so that rows and columns have close norms.

    With `separate` t is the pair of scales and permutation. The derivative of b keeps t.
    """
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
    matrix = in_double(as_squares("expm_cond", A))
    size = matrix.shape[-1]
    count = size * size
    directions = xp.reshape(xp.eye(count, dtype=matrix.dtype), (count, size, size))
    shape = (*matrix.shape[:-2], count, size, size)
    points, changes = (xp.broadcast_to(x, shape) for x in (matrix[..., None, :, :], directions))
    derivatives = fa.matrix_function_derivative(points, changes, function="exp")
    columns = xp.reshape(derivatives, (*matrix.shape[:-2], count, count))
    lengths = (xp.linalg.matrix_norm(x) for x in (matrix, fa.matrix_function(matrix, "exp")))
    before, after = lengths
    return xp.linalg.matrix_norm(columns, ord=2) * before / after


def _adjoint(x):
    return xp.conj(xp.matrix_transpose(x))


def _factors(Q, R, *further) -> tuple[Any, ...]:
    """Return operands in a common dtype of floats."""
    dtype = xp.result_type(Q, R, *further, np.float32)
    return tuple([as_traced(x).astype(dtype) for x in (Q, R, *further)])


def _factored(matrix, update: Callable[..., Any], check: bool, *operands) -> tuple[Any, Any]:
    """Return the factors of a changed matrix, turned to those that SciPy's update of the operands gives."""
    is_full = bool(operands[0].shape[-1] == operands[0].shape[-2])
    q, r = qr(matrix, mode="full" if is_full else "economic", check_finite=check)
    run = lambda *arrays: np.asarray(update(*arrays, check_finite=check)[0], q.dtype)
    turned = pure_callback(run, ShapeDtypeStruct(q.shape, q.dtype), *stop_gradient(operands))
    turn = stop_gradient(_adjoint(q) @ turned)  # unitary: signs, and a basis of the columns that r does not need
    return q @ turn, xp.triu(_adjoint(turn) @ r)


def _split(function: str, matrix, k, which: str, count: int) -> tuple[Any, Any, int]:
    """Return the rows or columns before position k, those behind it and `count` further ones, and their axis."""
    axis = -2 if choice_of(function, "which", which, ("row", "col")) == "row" else -1
    position, size = static_int(k, function, "k"), matrix.shape[axis]
    beyond = -position if position < 0 else position + count
    context_of(function, matrix).require(at_least(sizes(matrix)[axis], beyond), f"k={position} is out of bounds")
    position = position % size if position < 0 else position
    rows = (Ellipsis, slice(None, position), slice(None)), (Ellipsis, slice(position + count, None), slice(None))
    columns = (Ellipsis, slice(None, position)), (Ellipsis, slice(position + count, None))
    before, after = rows if axis == -2 else columns
    return matrix[before], matrix[after], axis


@signed_as_in(scipy_linalg)
def qr_insert(Q, R, u, k, which, rcond, overwrite_qru, check_finite) -> tuple[Any, Any]:
    """Return the factors of Q R with rows or columns u inserted before position k, an int."""
    Q, R, u = _factors(Q, R, u)
    matrix = Q @ R
    before, after, axis = _split("qr_insert", matrix, k, which, 0)
    new = xp.expand_dims(u, axis) if u.ndim == matrix.ndim - 1 else u
    changed = xp.concatenate([before, new, after], axis)
    update = lambda *arrays, **check: scipy_linalg.qr_insert(*arrays, int(k), which, rcond, **check)
    return _factored(changed, update, check_finite, Q, R, u)


@signed_as_in(scipy_linalg)
def qr_delete(Q, R, k, p, which, overwrite_qr, check_finite) -> tuple[Any, Any]:
    """Return the factors of Q R without p rows or columns from position k on; both are ints."""
    Q, R = _factors(Q, R)
    count = static_int(p, "qr_delete", "p")
    before, after, axis = _split("qr_delete", Q @ R, k, which, count)
    changed = xp.concatenate([before, after], axis)
    update = lambda *arrays, **check: scipy_linalg.qr_delete(*arrays, int(k), count, which, **check)
    return _factored(changed, update, check_finite, Q, R)


def qr_update(Q, R, u, v, overwrite_qruv: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the factors of Q R + u v^H, for vectors u and v, or matrices of as many columns."""
    Q, R, u, v = _factors(Q, R, u, v)
    left, right = (x[..., None] if x.ndim == Q.ndim - 1 else x for x in (u, v))
    return _factored(Q @ R + left @ _adjoint(right), scipy_linalg.qr_update, check_finite, Q, R, u, v)


def _decomposed(name: str, A, rcond, full: bool) -> tuple[Any, Any, Any, Any, Any]:
    """Return a matrix, its singular vectors without derivatives, its rank, and the relative tolerance."""
    a = as_matrices(name, A)
    u, s, vh = xp.linalg.svd(stop_gradient(a), full_matrices=full)
    return (a, u, vh, *_rank(a, s, rcond))


def _rank(a, s, rcond) -> tuple[Any, Any]:
    """Return how many singular values of a matrix do not count as 0, and the relative tolerance."""
    tolerance = np.finfo(a.dtype).eps * xp.maximum(*a.shape[-2:]) if rcond is None else rcond
    return xp.sum(s > xp.max(s, initial=0.0) * tolerance), tolerance


def _orthonormal(y):
    """Return columns that span what the columns of y span, and equal them where they are orthonormal."""
    adjoint = xp.conj(y.T)
    return xp.conj(solve_triangular(xp.linalg.cholesky(adjoint @ y), adjoint, lower=True).T)


def _range(A, rcond=None):
    """Return the left singular vectors of a matrix, with derivatives that turn them least."""
    a, u, _, rank, tolerance = _decomposed("orth", A, rcond, False)
    basis = u.T[xp.arange(u.shape[1]) < rank].T
    return _orthonormal(a @ (xp.linalg.pinv(a, tolerance) @ basis))


def orth(A: Any, rcond: Any = None) -> Any:
    """Return an orthonormal basis of the range of a matrix, as columns; their number is a run-time size.

    Singular values up to `rcond` times the largest one count as 0; by default it is an ulp of 1 times the longer side.
    The columns are left singular vectors, also in derivatives. These need distinct singular values.
    """
    a = as_matrices("orth", A)
    u, s, _ = xp.linalg.svd(a, full_matrices=False)
    return u.T[xp.arange(s.shape[0]) < _rank(a, s, rcond)[0]].T


def null_space(A: Any, rcond: Any = None, **options: Any) -> Any:
    """Return an orthonormal basis of the null space of a matrix, as columns; their number is a run-time size.

    See `orth` for `rcond`. The basis is not unique. LAPACK takes it from a QR decomposition where the rows are
    independent and at most 6/11 as many as the columns, and so do derivatives. Elsewhere the basis turns least in
    derivatives. Functions of the space alone, as `n @ n.T`, do not depend on it.
    """
    basis = custom_jvp(lambda a: _null_basis(a, rcond)[0])
    basis.defjvp(lambda primals, tangents: jvp(lambda a: _null_space(a, rcond), primals, tangents))
    return basis(as_matrices("null_space", A))


def _null_basis(A, rcond) -> tuple[Any, Any, Any, Any]:
    """Return singular vectors of zeros, the matrix, its rank and the relative tolerance."""
    a, _, vh, rank, tolerance = _decomposed("null_space", A, rcond, True)
    return xp.conj(vh[xp.arange(a.shape[1]) >= rank].T), a, rank, tolerance


def _null_space(A, rcond):
    """Return the basis by operations that have its derivatives."""
    basis, a, rank, tolerance = _null_basis(A, rcond)
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
    return xp.eye(q.shape[0])[:, size:] + change @ weights, is_regular


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


def pinvh(a, atol=None, rtol=None, lower: bool = True, return_rank: bool = False, check_finite: bool = True) -> Any:
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
