"""Define the functions of numpy.linalg by eigenvalues, singular values and orthonormal factors."""

from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SVDResult

from anyshape.errors import ArgumentError
from anyshape.graph.sizes import expr
from anyshape.numpy.contraction import matmul
from anyshape.numpy.dynamic import compress
from anyshape.numpy.elementwise import absolute, equal, greater, logical_and, multiply, sign
from anyshape.numpy.indexing import take_along_axis
from anyshape.numpy.linalg.solving import as_matrices, as_squares, from_triangle, in_one_dtype
from anyshape.numpy.movement import flip, matrix_transpose
from anyshape.numpy.operands.promotion import as_traced, asarray, choice_of, sizes
from anyshape.numpy.operands.reduction_args import squared_magnitude
from anyshape.numpy.selection import where
from anyshape.numpy.serve import serve
from anyshape.numpy.sorting import argsort, sort
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import factorisations as fa
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import context_of


def _is_lower(name: str, triangle) -> bool:
    """Return whether the lower triangle is read; raise ValueError for anything but L and U, as NumPy does."""
    letter = str(triangle).upper()
    choice_of(name, "UPLO", letter, ("L", "U"))
    return letter == "L"


def eigvals(a: Any) -> Any:
    """Return the eigenvalues of the square matrices in the last two axes, in the order of LAPACK.

    Integers count as float64. Values of traced arrays are complex, also where NumPy finds all of them real. The
    derivative of an eigenvalue that occurs twice depends on the eigenvectors that LAPACK chose. That of the sum of
    equal ones does not.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> print(jit(np.linalg.eigvals)(np.array([[0.0, 1.0], [-1.0, 0.0]])))
    [0.+1.j 0.-1.j]
    """
    return la.eigvals(as_squares("eigvals", a))


def eig(a: Any) -> Any:
    """Return the pair (eigenvalues, eigenvectors) of the square matrices in the last two axes.

    Integers count as float64. Results of traced arrays are complex, also where NumPy finds all of them real.
    Eigenvectors of equal eigenvalues have derivative NaN. Each has norm 1 and a real largest element, and keeps them.
    """
    return EigResult(*la.eig(as_squares("eig", a)))


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """Return the eigenvalues of the Hermitian matrices in the last two axes, in ascending order.

    One triangle is read. Integers count as float64. Tangents count as their Hermitian part. The derivative of an
    eigenvalue that occurs twice depends on the eigenvectors that LAPACK chose. That of the sum of equal ones does not.
    """
    lower = _is_lower("eigvalsh", UPLO)
    return la.eigvalsh(as_squares("eigvalsh", a), lower=lower)


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """Return the pair (eigenvalues, eigenvectors) of the Hermitian matrices in the last two axes.

    One triangle is read. Integers count as float64. Tangents count as their Hermitian part. Eigenvectors of equal
    eigenvalues have derivative NaN. Complex eigenvectors and their derivatives are defined up to a phase of each.
    """
    lower = _is_lower("eigh", UPLO)
    return EighResult(*la.eigh(as_squares("eigh", a), lower=lower))


def _hermitian_svd(a) -> SVDResult:
    """Return the singular value decomposition of Hermitian matrices, by their eigenvalues as in NumPy."""
    values, vectors = eigh(a)
    lengths = absolute(values)
    order = flip(argsort(lengths), -1)
    signs, lengths = (take_along_axis(v, order, -1) for v in (sign(values), lengths))
    u = take_along_axis(vectors, mv.expand(order, (order.ndim - 1,)), -1)
    vh = ew.conj(matrix_transpose(multiply(u, mv.expand(signs, (signs.ndim - 1,)))))
    return SVDResult(u, lengths, vh)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition (U, S, Vh) of the matrices in the last two axes, or S alone.

    Integers count as float64. Vectors of equal singular values have derivative NaN. So have vectors beyond the shorter
    side, which may rotate freely: use `full_matrices=False`. Complex vectors and their derivatives are defined up to a
    phase of each pair. With `hermitian` the lower triangle is read, and tangents count as their Hermitian part.
    """
    if hermitian:
        return _hermitian_svd(a) if compute_uv else flip(sort(absolute(eigvalsh(a))), -1)
    x = as_matrices("svd", a)
    return SVDResult(*la.svd(x, full=bool(full_matrices))) if compute_uv else la.svdvals(x)


def svdvals(x: Any, /) -> Any:
    """Return the singular values of the matrices in the last two axes, in descending order."""
    return la.svdvals(as_matrices("svdvals", x))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return (Q, R) with Q R = a, or R alone with mode "r": Q has orthonormal columns, R is upper triangular.

    For matrices of shape (..., m, n) the inner axis is the shorter side. With mode "complete" Q is square. With "raw"
    the results are LAPACK's: transposed reflections and R in one array, and the scale of each reflection.

    Integers count as float64. The derivative needs matrices of full rank. Further columns of a complete Q, and "raw",
    need a reflection for each column too. NumPy's LinAlgError is raised where one is a unit matrix.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> print(jit(lambda a: np.linalg.qr(a, "complete").Q)(np.array([[3.0], [4.0]])))
    [[-0.6 -0.8]
     [-0.8  0.6]]
    """
    choice_of("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    x = as_matrices("qr", a)
    if mode == "raw":
        packed, scales = fa.qr_raw(x)
        return matrix_transpose(packed), scales
    q, r = fa.qr_complete(x) if mode == "complete" else la.qr(x)
    return r if mode == "r" else QRResult(q, r)


def default_tolerance(x: Any) -> Any:
    """Return the rounding error of singular values over the largest one: the longer side times an ulp of 1."""
    longer = ew.convert(cr.size_value(expr.maximum(*sizes(x)[-2:])), np.float64)
    return ew.mul(longer, ew.lift(float(np.finfo(x.dtype).eps), longer))


def _one_tolerance(name: str, first: str, second: str) -> ValueError:
    return ArgumentError(name, f"{first} and {second}", "are both given", "pass one of them")


_NOT_GIVEN: Any = np._NoValue


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> Any:
    """Return the pseudo-inverses of the matrices in the last two axes.

    Singular values up to `rcond` (or `rtol`) times the largest one count as 0. The default is 1e-15; `rtol=None` means
    the longer side times an ulp of 1. The derivative holds where the rank stays the same. With `hermitian` the lower
    triangle is read.
    """
    if rcond is not None and rtol is not _NOT_GIVEN:
        raise _one_tolerance("pinv", "rcond", "rtol")
    x = from_triangle(as_squares("pinv", a), lower=True) if hermitian else as_matrices("pinv", a)
    tolerance = rcond if rcond is not None else 1e-15 if rtol is _NOT_GIVEN else rtol
    cutoff = default_tolerance(x) if tolerance is None else as_traced(asarray(tolerance, np.float64))
    return la.pinv(x, mv.broadcast_to(cutoff, sizes(x)[:-2]))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the number of singular values above `tol`, or above `rtol` times the largest one.

    The default of `rtol` is the longer side times an ulp of 1. With `hermitian` the lower triangle is read.
    """
    if tol is not None and rtol is not None:
        raise _one_tolerance("matrix_rank", "tol", "rtol")
    if as_traced(A).meta.rank < 2:
        x = as_traced(A)
        return ew.convert(rd.reduce_or(ew.ne(x, ew.lift(0, x)), tuple(range(x.meta.rank))), np.int64)
    x = as_squares("matrix_rank", A) if hermitian else as_matrices("matrix_rank", A)
    values = absolute(eigvalsh(x)) if hermitian else la.svdvals(x)
    values = ew.convert(values, np.float64)
    if tol is not None:
        least = as_traced(asarray(tol, np.float64))
    else:
        relative = default_tolerance(x) if rtol is None else as_traced(asarray(rtol, np.float64))
        least = relative * largest(values)
    return count_above(values, least)


def count_above(values: Any, least: Any) -> Any:
    """Return how many of the values along the last axis are above a number for each of the others."""
    above = greater(values, mv.expand(least, (least.meta.rank,)))
    return rd.reduce_sum(ew.convert(above, np.int64), (above.meta.rank - 1,))


def largest(values: Any) -> Any:
    """Return the largest of numbers of at least 0 along the last axis, 0 for none."""
    axis = values.meta.rank - 1
    padded = mv.concatenate([values, cr.full((*sizes(values)[:-1], 1), 0, values.dtype)], axis)
    return rd.reduce_max(padded, (axis,))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return (solution, residuals, rank, singular values) of the least squares problem a x = b.

    `a` is an m by n matrix; `b` has m elements, or m rows. Of all solutions the one of least norm is given. Singular
    values up to `rcond` times the largest one count as 0. By default it is the longer side times an ulp of 1, and for a
    negative number an ulp of 1. Residuals are the squared norms of b - a x, one per column. Where m <= n or the rank is
    below n there are none, so their number is a run-time size. The derivative holds where the rank stays the same.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> print(grad(lambda b: np.linalg.lstsq(a, b)[0][1])(np.array([0.0, 1.0, 2.0])).round(12))
    [-0.5 -0.   0.5]
    """
    matrix, right = in_one_dtype("lstsq", as_matrices("lstsq", a), b)
    ctx = context_of("lstsq", matrix, right)
    if matrix.meta.rank != 2 or right.meta.rank not in (1, 2):
        raise ctx.fail("stacks of problems have no solution here", "pass one matrix, and a vector or a matrix")
    equations, unknowns = sizes(matrix)
    count = sizes(right)[0]
    ctx.require_equal(equations, count, f"incompatible dimensions, {equations} equations have {count} right-hand sides")
    columns = right if right.meta.rank == 2 else mv.expand(right, (1,))
    values, cutoff = la.svdvals(matrix), _tolerance(matrix, rcond)
    rank = count_above(ew.convert(values, np.float64), ew.mul(cutoff, largest(ew.convert(values, np.float64))))
    solution = matmul(la.pinv(matrix, cutoff), columns)
    squares = rd.reduce_sum(squared_magnitude(ew.sub(columns, matmul(matrix, solution))), (0,))
    equations, unknowns = cr.size_value(equations), cr.size_value(unknowns)
    is_overdetermined = logical_and(equal(rank, unknowns), greater(equations, unknowns))
    residuals = compress(mv.broadcast_to(is_overdetermined, sizes(squares)), squares)
    return mv.drop(solution, (1,)) if right.meta.rank == 1 else solution, residuals, ew.convert(rank, np.int32), values


def _tolerance(matrix, rcond):
    """Return the part of the largest singular value up to which values count as 0, as float64."""
    if rcond is None:
        return default_tolerance(matrix)
    relative = as_traced(asarray(rcond, np.float64))
    return where(relative < 0, float(np.finfo(matrix.dtype).eps), relative)


serve(__name__)
