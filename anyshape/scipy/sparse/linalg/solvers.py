"""Define the iterative solvers of `scipy.sparse.linalg` in programs, with the derivative of the equation.

Direct solvers of `scipy.sparse.linalg` in programs: SciPy's, in callbacks, with the derivative of the equation.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.operands.promotion import as_traced, is_traced, result_type, size_of, sizes
from anyshape.numpy.serve import refuse
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.sparse.linalg import krylov
from anyshape.support.packages import scipy_sparse, scipy_sparse_linalg
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.loops import fori_loop
from anyshape.transforms.custom.implicit_solves import custom_linear_solve

Function = Callable[[Any], Any]


class _Vectors:
    """Trees with the structure of a right-hand side, as vectors of one dtype."""

    def __init__(self, name: str, b: Any, *further: Any) -> None:
        leaves, self.structure = flatten(b)
        self.leaves = [xp.asarray(x) for x in leaves]
        if not leaves:
            raise ArgumentError(name, "b", "has no arrays", "pass a vector, or a tree of arrays")
        self.dtype = result_type(*self.leaves, *flatten(further)[0], np.float32)
        if self.dtype.char not in "fdFD":
            self.dtype = np.dtype(np.float64)

    def packed(self, tree: Any) -> Any:
        """Return the elements of a tree one after the other."""
        parts = [xp.ravel(xp.asarray(x)).astype(self.dtype) for x in flatten(tree)[0]]
        return xp.concatenate(parts) if len(parts) > 1 else parts[0]

    def unpacked(self, v: Any) -> Any:
        """Return the tree that a vector stands for."""
        parts, position = [], 0
        for leaf in self.leaves:
            parts.append(xp.reshape(v[position : position + leaf.size], leaf.shape))
            position = position + leaf.size
        return unflatten(self.structure, parts)


def _operator(name: str, role: str, operator, vectors: _Vectors) -> Function:
    """Return what applies a matrix or a function to a vector."""
    if hasattr(operator, "__matmul__") and hasattr(operator, "shape") and not hasattr(operator, "matvec"):
        matrix = xp.asarray(operator) if has_type(operator, np.ndarray) else operator
        _require_square(name, matrix, vectors)
        return lambda v: xp.asarray(matrix @ v).astype(vectors.dtype)
    if callable(operator) and not hasattr(operator, "matvec"):
        return lambda v: vectors.packed(operator(vectors.unpacked(v)))
    raise ArgumentError(name, role, f"is of type {type(operator).__name__}", "pass a matrix, or a function of a vector")


def _require_square(name: str, matrix, vectors: _Vectors) -> None:
    ctx = context_of(name, *vectors.leaves)
    if len(matrix.shape) != 2 or len(vectors.leaves) != 1 or vectors.leaves[0].ndim not in (1, 2):
        raise ctx.fail("a matrix multiplies no such right-hand side", "pass a square matrix and a vector")
    rows, columns = map(size_of, matrix.shape)
    ctx.require_equal(rows, columns, "the matrix must be square")
    (elements,) = sizes(xp.ravel(vectors.leaves[0]))
    why = f"the matrix has a side of {rows}, and b has {elements} elements"
    ctx.require_equal(rows, elements, why)


def _solved(name: str, method, A, b, x0, M, limits: dict[str, Any], adjoint):
    """Return the solution and SciPy's code as values of a trace. `adjoint` makes the transposed preconditioner."""
    vectors = _Vectors(name, b, *(x for x in (A, x0) if not callable(x) and x is not None))
    right = as_traced(vectors.packed(b))
    start = xp.zeros_like(right) if x0 is None else stop_gradient(vectors.packed(x0))
    matvec = _operator(name, "A", A, vectors)
    limit = 10 * right.shape[0] if limits["maxiter"] is None else limits["maxiter"]

    def run(preconditioner, start):
        precondition = (lambda v: v) if preconditioner is None else preconditioner

        def solve(matvec: Function, b):
            norm = xp.linalg.norm(b)
            tolerance = xp.maximum(limits["atol"], limits["rtol"] * norm)
            begin = xp.where(norm == 0, xp.zeros_like(b), xp.zeros_like(b) if start is None else start)
            return method(krylov.Equation(matvec, precondition, b, begin, tolerance, xp.asarray(limit)))

        return solve

    forward = None if M is None else _operator(name, "M", M, vectors)
    back = adjoint(M, forward)
    backward = back if back is None or callable(back) else _operator(name, "M", back, vectors)
    x, code = custom_linear_solve(matvec, right, run(forward, start), run(backward, None), has_aux=True)
    return vectors.unpacked(x), code


def _concrete(name: str, A, b, x0, M, options: dict[str, Any]):
    """Call SciPy, for which a function becomes an operator."""
    size = np.size(b)

    def operator(x):
        if callable(x) and not hasattr(x, "matvec"):
            return scipy_sparse_linalg.LinearOperator((size, size), matvec=x, dtype=np.result_type(b, np.float32))
        return _theirs(x)

    return getattr(scipy_sparse_linalg, name)(operator(A), b, x0, M=operator(M), **options)


def _call(name: str, method, A, b, x0, M, options: dict[str, Any], adjoint):
    if active() is None:
        return _concrete(name, A, b, x0, M, options)
    if options["callback"] is not None:
        raise ArgumentError(name, "callback", "is not called from a program", "leave it out")
    return _solved(name, method, A, b, x0, M, options, adjoint)


def _of_hermitian(M, forward):
    """Return the transpose of a Hermitian preconditioner, its conjugate."""
    return None if forward is None else lambda v: xp.conj(forward(xp.conj(v)))


def _of_general(M, forward):
    return getattr(M, "T", None)


@signed_as_in(scipy_sparse_linalg)
def cg(A, b, x0, rtol, atol, maxiter, M, callback) -> tuple[Any, Any]:
    """Return the solution of a Hermitian positive definite equation A x = b, and SciPy's code, 0 for convergence.

    - A and the preconditioner M are matrices, sparse or not, or functions of a vector.
    - For a function A, `b` may be a tree of arrays.
    - Iterations end at a residual of max(atol, rtol * norm(b)), or after `maxiter`.
    - Derivatives are the ones of the equation, in b and in the values of A. They solve it again, to this tolerance.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy.sparse import linalg
    >>> solve = lambda d: linalg.cg(lambda x: d * x, np.ones(2))[0]
    >>> print(grad(lambda d: np.sum(solve(d)))(np.array([1.0, 2.0])))
    [-1.   -0.25]
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    return _call("cg", krylov.cg, A, b, x0, M, options, _of_hermitian)


@signed_as_in(scipy_sparse_linalg)
def bicgstab(A, b, x0, rtol, atol, maxiter, M, callback) -> tuple[Any, Any]:
    """Return the solution of A x = b by stabilised biconjugate gradients, and SciPy's code; see `cg`.

    A function M preconditions the equation alone, and a matrix M the transposed one of reverse mode too.
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    return _call("bicgstab", krylov.bicgstab, A, b, x0, M, options, _of_general)


@signed_as_in(scipy_sparse_linalg)
def gmres(A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type) -> tuple[Any, Any]:
    """Return the solution of A x = b by generalised minimal residuals, and SciPy's code; see `cg` and `bicgstab`.

    A cycle has `restart` steps, by default 20, and `maxiter` counts cycles. Each one runs to its end, so a solution may
    have a smaller residual than SciPy's.
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    if active() is None:
        options |= {"restart": restart, "callback_type": callback_type}
    width = 20 if restart is None else restart
    return _call("gmres", lambda equation: krylov.gmres(equation, width), A, b, x0, M, options, _of_general)


def _theirs(x):
    """Return SciPy's matrix of one of ours, and all else as it is."""
    return x.of_scipy() if hasattr(x, "of_scipy") else x


def _equation(name: str, A, b, least: type = np.float64) -> tuple[Any, Any, Any, Any]:
    """Return values, rows and columns of a square matrix, and right-hand sides, in one dtype that SciPy solves in."""
    (data, row, col), shape = _values(A)
    right = xp.asarray(b)
    if right.ndim not in (1, 2):
        raise ArgumentError(name, "b", f"has {right.ndim} axes", "pass a vector or a matrix")
    ctx, rows = context_of(name, right), sizes(right)[0]
    for side in sizes(xp.zeros(shape)):
        ctx.require_equal(side, rows, f"the matrix has a side of {side}, and b has {rows} rows")
    dtype = result_type(data, right, least)
    dtype = dtype if dtype.char in "fdFD" else np.dtype(np.float64)
    return data.astype(dtype), row, col, right.astype(dtype)


def _product(data, row, col, x):
    """Return the product of a matrix with a vector or matrix."""
    terms = (data if x.ndim == 1 else data[:, None]) * xp.take(x, col, axis=0)
    return xp.zeros(x.shape, x.dtype).at[row].add(terms)


def _by_scipy(solve: Callable[[Any, Any], Any], data, row, col) -> Callable[[Any, Any], Any]:
    """Return a solver for `custom_linear_solve` that calls SciPy's when the program runs."""

    def run(data, row, col, b):
        places = row.astype(np.intc), col.astype(np.intc)  # up to SciPy 1.16, SuperLU takes no others
        matrix = scipy_sparse.csc_array((data, places), shape=(b.shape[0], b.shape[0]))
        return np.reshape(solve(matrix, b), b.shape)

    values = [stop_gradient(part) for part in (data, row, col)]
    return lambda matvec, b: pure_callback(run, ShapeDtypeStruct(b.shape, b.dtype), *values, stop_gradient(b))


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
        return scipy_sparse_linalg.spsolve(_theirs(A), _theirs(b), **options)
    data, row, col, right = _equation("spsolve", A, b, np.float32)
    solve = lambda matrix, b: scipy_sparse_linalg.spsolve(matrix, b, **options)
    columns = right[:, 0] if right.ndim == 2 and right.shape[1] == 1 else right
    product = lambda x: _product(data, row, col, x)
    return custom_linear_solve(product, columns, _by_scipy(solve, data, row, col), _by_scipy(solve, data, col, row))


@signed_as_in(scipy_sparse_linalg)
def spsolve_triangular(A, b, lower, overwrite_A, overwrite_b, unit_diagonal) -> Any:
    """Return the solution of A x = b for a sparse triangular matrix, like `spsolve`.

    With `unit_diagonal` the diagonal counts as ones.
    """
    if not _is_traced(A) and not is_traced(b):
        return scipy_sparse_linalg.spsolve_triangular(_theirs(A), b, lower, overwrite_A, overwrite_b, unit_diagonal)
    data, row, col, right = _equation("spsolve_triangular", A, b)
    data = xp.where(row == col, 0.0, data) if unit_diagonal else data
    solve = lambda lower, A, b: scipy_sparse_linalg.spsolve_triangular(A, b, lower, unit_diagonal=unit_diagonal)
    product = lambda x: _product(data, row, col, x) + (x if unit_diagonal else 0.0)
    forward = _by_scipy(functools.partial(solve, lower), data, row, col)
    return custom_linear_solve(product, right, forward, _by_scipy(functools.partial(solve, not lower), data, col, row))


_TERMS = 20  # of the series of a step whose norm is at most 1: the rest is below 1e-19


def expm_multiply(A, B, start=None, stop=None, num=None, endpoint=None, traceA=None) -> Any:
    """Return the product of the exponential of a matrix with a vector or matrix, by products with the matrix alone.

    Steps of the series are as many as the norm of A without its mean diagonal. Derivatives are by the values of A and
    by B. Intervals of times are for concrete arguments.
    """
    if not _is_traced(A) and not is_traced(B):
        return scipy_sparse_linalg.expm_multiply(_theirs(A), B, start, stop, num, endpoint, traceA)
    if any(x is not None for x in (start, stop, num, endpoint)):
        raise refuse("scipy.sparse.linalg.expm_multiply with an interval of times")
    data, row, col, right = _equation("expm_multiply", A, B)
    mean = xp.sum(xp.where(row == col, data, 0.0)) / max_dim(right.shape[0], 1)
    ones = xp.ones((right.shape[0],))
    loads = xp.zeros((right.shape[0],)).at[col].add(stop_gradient(xp.abs(data))) + stop_gradient(xp.abs(mean)) * ones
    steps = xp.maximum(xp.ceil(xp.max(loads, initial=0.0)), 1.0).astype(np.int64)
    width = 1.0 / steps

    def advanced(_, x):
        term = total = x
        for k in range(1, _TERMS + 1):
            term = (_product(data, row, col, term) - mean * term) * (width / k)
            total = total + term
        return total * xp.exp(mean * width)

    return fori_loop(0, steps, advanced, right)


def _is_traced(A) -> bool:
    return A.is_traced() if hasattr(A, "is_traced") else is_traced(A)


def _values(A) -> tuple[Any, Any]:
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
    solve = scipy_sparse_linalg.factorized(scipy_sparse.csc_array(_theirs(A)))
    return lambda b: spsolve(A, b) if is_traced(b) else solve(b)
