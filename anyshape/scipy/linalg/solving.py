"""Define the functions of `scipy.linalg` that solve by factors.

Matrices are in the last two axes, and leading axes are a batch. Options that let SciPy overwrite or check its operands
have no effect on traced arrays.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.linalg.solving import as_squares, from_triangle, in_one_dtype
from anyshape.numpy.operands.promotion import choice_of, sizes
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_linalg
from anyshape.support.true_types import has_type

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
