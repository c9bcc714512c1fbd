"""Direct solvers of `scipy.sparse.linalg` in programs: SciPy's, in callbacks, with the derivative of the equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import is_traced, result_type, sizes
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.support.packages import scipy_sparse, scipy_sparse_linalg
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.loops import fori_loop
from anyshape.transforms.custom.implicit_solves import custom_linear_solve


def _solution(options: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of values, rows, columns and right-hand sides that solves with SciPy."""

    def solution(data: Any, row: Any, col: Any, b: Any) -> Any:
        matrix = scipy_sparse.coo_array((data, (row, col)), shape=(b.shape[0], b.shape[0]))
        return np.reshape(scipy_sparse_linalg.spsolve(matrix.tocsc(), b, **options), b.shape)

    return solution


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Return the solution x of A x = b for a square sparse matrix A and a vector or matrix b.

    The values of A and b may be traced. Derivatives are the ones of the equation; each solves once more. A singular
    matrix gives NaN, with SciPy's warning. As in SciPy, x of one column is a vector.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import sparse
    >>> a = lambda d: sparse.csr_array((d, [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> print(grad(lambda d: np.sum(sparse.linalg.spsolve(a(d), np.ones(2))))(np.array([1.0, 2.0])))
    [-1.   -0.25]
    """
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    if not _is_traced(A) and not is_traced(b):
        return scipy_sparse_linalg.spsolve(*(x.of_scipy() if hasattr(x, "of_scipy") else x for x in (A, b)), **options)
    (data, row, col), shape = _values(A)
    right = xp.asarray(b)
    if right.ndim not in (1, 2):
        raise ArgumentError("spsolve", "b", f"has {right.ndim} axes", "pass a vector or a matrix")
    ctx, rows = context_of("spsolve", right), sizes(right)[0]
    for side in sizes(xp.zeros(shape)):
        ctx.require_equal(side, rows, f"the matrix has a side of {side}, and b has {rows} rows")
    dtype = result_type(data, right, np.float32)
    dtype = dtype if dtype.char in "fdFD" else np.dtype(np.float64)
    data, right = data.astype(dtype), right.astype(dtype)

    def product(x: Any) -> Any:
        terms = (data if x.ndim == 1 else data[:, None]) * xp.take(x, col, axis=0)
        return xp.zeros(x.shape, dtype).at[row].add(terms)

    def solver(row: Any, col: Any) -> Callable[[Any, Any], Any]:
        values, solution = [stop_gradient(part) for part in (data, row, col)], _solution(options)
        return lambda matvec, b: pure_callback(solution, ShapeDtypeStruct(b.shape, dtype), *values, stop_gradient(b))

    columns = right[:, 0] if right.ndim == 2 and right.shape[1] == 1 else right
    return custom_linear_solve(product, columns, solver(row, col), solver(col, row))


def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Return the solution x of A x = b for a sparse triangular matrix, whose values and b may be traced; see `spsolve`.

    With `unit_diagonal` the diagonal counts as ones.
    """
    if not _is_traced(A) and not is_traced(b):
        matrix = A.of_scipy() if hasattr(A, "of_scipy") else A
        return scipy_sparse_linalg.spsolve_triangular(matrix, b, lower, overwrite_A, overwrite_b, unit_diagonal)
    (data, row, col), shape = _values(A)
    right = xp.asarray(b)
    context_of("spsolve_triangular", right).require_equal(sizes(xp.zeros(shape))[0], sizes(right)[0], "A and b fit")
    dtype = result_type(data, right, np.float64)
    data, right = data.astype(dtype), right.astype(dtype)
    data = xp.where(row == col, 0.0, data) if unit_diagonal else data

    def product(x: Any) -> Any:
        terms = (data if x.ndim == 1 else data[:, None]) * xp.take(x, col, axis=0)
        return xp.zeros(x.shape, dtype).at[row].add(terms) + (x if unit_diagonal else 0.0)

    def solver(row: Any, col: Any, lower: bool) -> Callable[[Any, Any], Any]:
        def solution(data: Any, row: Any, col: Any, b: Any) -> Any:
            places = row.astype(np.intc), col.astype(np.intc)  # up to SciPy 1.16, SuperLU takes no others
            matrix = scipy_sparse.coo_array((data, places), shape=(b.shape[0], b.shape[0])).tocsr()
            return scipy_sparse_linalg.spsolve_triangular(matrix, b, lower, unit_diagonal=unit_diagonal)

        values = [stop_gradient(part) for part in (data, row, col)]
        return lambda matvec, b: pure_callback(solution, ShapeDtypeStruct(b.shape, dtype), *values, stop_gradient(b))

    return custom_linear_solve(product, right, solver(row, col, lower), solver(col, row, not lower))


_TERMS = 20  # of the series of a step whose norm is at most 1: the rest is below 1e-19


def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None, traceA: Any = None
) -> Any:
    """Return the product of the exponential of a matrix with a vector or matrix, by products with the matrix alone.

    Steps of the series are as many as the norm of A without its mean diagonal. Derivatives are by the values of A and
    by B. Intervals of times are for concrete arguments.
    """
    if not _is_traced(A) and not is_traced(B):
        matrix = A.of_scipy() if hasattr(A, "of_scipy") else A
        return scipy_sparse_linalg.expm_multiply(matrix, B, start, stop, num, endpoint, traceA)
    if any(x is not None for x in (start, stop, num, endpoint)):
        raise refuse("scipy.sparse.linalg.expm_multiply with an interval of times")
    (data, row, col), shape = _values(A)
    right = xp.asarray(B)
    sides = sizes(xp.zeros(shape))
    ctx = context_of("expm_multiply", right)
    ctx.require_equal(sides[0], sides[1], "the matrix is square")
    ctx.require_equal(sides[0], sizes(right)[0], "A and B fit")
    dtype = result_type(data, right, np.float64)
    data, right = data.astype(dtype), right.astype(dtype)
    mean = xp.sum(xp.where(row == col, data, 0.0)) / max_dim(right.shape[0], 1)
    ones = xp.ones((right.shape[0],))
    loads = xp.zeros((right.shape[0],)).at[col].add(stop_gradient(xp.abs(data))) + stop_gradient(xp.abs(mean)) * ones
    steps = xp.maximum(xp.ceil(xp.max(loads, initial=0.0)), 1.0).astype(np.int64)
    width = 1.0 / steps

    def advanced(_: Any, x: Any) -> Any:
        term = total = x
        for k in range(1, _TERMS + 1):
            values = (data if x.ndim == 1 else data[:, None]) * xp.take(term, col, axis=0)
            term = (xp.zeros(x.shape, dtype).at[row].add(values) - mean * term) * (width / k)
            total = total + term
        return total * xp.exp(mean * width)

    return fori_loop(0, steps, advanced, right)


def _is_traced(A: Any) -> bool:
    return A.is_traced() if hasattr(A, "is_traced") else is_traced(A)


def _values(A: Any) -> tuple[Any, Any]:
    """Return the values of a matrix with their rows and columns, and its shape; a traced one that is dense has all."""
    if hasattr(A, "parts"):
        return [xp.asarray(part) for part in A.parts()], A.shape
    if not is_traced(A):
        matrix = scipy_sparse.coo_array(A)
        return (matrix.data, matrix.row, matrix.col), matrix.shape
    if A.ndim != 2:
        raise ArgumentError("spsolve", "A", f"has {A.ndim} axes", "pass a matrix")
    row, col = xp.indices(A.shape)
    return (xp.ravel(A), xp.ravel(row), xp.ravel(col)), A.shape


def factorized(A: Any) -> Callable[[Any], Any]:
    """Return the function of b that solves A x = b; a traced matrix is factorised at each call of it."""
    if _is_traced(A):
        return lambda b: spsolve(A, b)
    concrete = A.of_scipy() if hasattr(A, "of_scipy") else A
    solve = scipy_sparse_linalg.factorized(scipy_sparse.csc_array(concrete))
    return lambda b: spsolve(A, b) if is_traced(b) else solve(b)
