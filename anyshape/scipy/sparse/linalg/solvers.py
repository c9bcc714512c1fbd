"""Define the iterative solvers of `scipy.sparse.linalg` in programs, with the derivative of the equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.operands.promotion import as_traced, result_type, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.sparse.linalg import krylov
from anyshape.support.packages import scipy_sparse_linalg
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.implicit_solves import custom_linear_solve

Function = Callable[[Any], Any]
_FLAGS = {"rtol": 1e-5, "atol": 0.0, "maxiter": None}


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


def _operator(name: str, role: str, operator: Any, vectors: _Vectors) -> Function:
    """Return what applies a matrix or a function to a vector."""
    if hasattr(operator, "__matmul__") and hasattr(operator, "shape") and not hasattr(operator, "matvec"):
        matrix = xp.asarray(operator) if isinstance(operator, np.ndarray) else operator
        _require_square(name, matrix, vectors)
        return lambda v: xp.asarray(matrix @ v).astype(vectors.dtype)
    if callable(operator) and not hasattr(operator, "matvec"):
        return lambda v: vectors.packed(operator(vectors.unpacked(v)))
    raise ArgumentError(name, role, f"is of type {type(operator).__name__}", "pass a matrix, or a function of a vector")


def _require_square(name: str, matrix: Any, vectors: _Vectors) -> None:
    ctx = context_of(name, *vectors.leaves)
    if len(matrix.shape) != 2 or len(vectors.leaves) != 1 or vectors.leaves[0].ndim not in (1, 2):
        raise ctx.fail("a matrix multiplies no such right-hand side", "pass a square matrix and a vector")
    (rows,) = sizes(xp.ravel(vectors.leaves[0]))
    for size in sizes(xp.zeros(matrix.shape)) if not hasattr(matrix, "meta") else sizes(matrix):
        ctx.require_equal(size, rows, f"the matrix has a side of {size}, and b has {rows} elements")


def _transposed(operator: Any) -> Any:
    """Return the transpose of a preconditioner; that of a function is not known, and none serves instead."""
    return operator.T if hasattr(operator, "T") else None


def _solved(name: str, method: Any, A: Any, b: Any, x0: Any, M: Any, limits: dict[str, Any], adjoint: Any) -> Any:
    """Return the solution and SciPy's code as values of a trace. `adjoint` makes the transposed preconditioner."""
    vectors = _Vectors(name, b, *(x for x in (A, x0) if not callable(x) and x is not None))
    right = as_traced(vectors.packed(b))
    start = xp.zeros_like(right) if x0 is None else stop_gradient(vectors.packed(x0))
    matvec = _operator(name, "A", A, vectors)
    limit = 10 * right.shape[0] if limits["maxiter"] is None else limits["maxiter"]

    def run(preconditioner: Any, start: Any) -> Any:
        precondition = (lambda v: v) if preconditioner is None else preconditioner

        def solve(matvec: Function, b: Any) -> Any:
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


def _concrete(name: str, A: Any, b: Any, x0: Any, M: Any, options: dict[str, Any]) -> Any:
    """Call SciPy, for which a function becomes an operator."""
    size = np.size(b)

    def operator(x: Any) -> Any:
        if hasattr(x, "of_scipy"):
            return x.of_scipy()
        if callable(x) and not hasattr(x, "matvec"):
            return scipy_sparse_linalg.LinearOperator((size, size), matvec=x, dtype=np.result_type(b, np.float32))
        return x

    return getattr(scipy_sparse_linalg, name)(operator(A), b, x0, M=operator(M), **options)


def _call(name: str, method: Any, A: Any, b: Any, x0: Any, M: Any, options: dict[str, Any], adjoint: Any) -> Any:
    limits = {key: options.get(key, default) for key, default in _FLAGS.items()}
    if active() is None:
        return _concrete(name, A, b, x0, M, options)
    if options.get("callback") is not None:
        raise ArgumentError(name, "callback", "is not called from a program", "leave it out")
    return _solved(name, method, A, b, x0, M, limits, adjoint)


def _of_hermitian(M: Any, forward: Any) -> Any:
    """Return the transpose of a Hermitian preconditioner, its conjugate."""
    return None if forward is None else lambda v: xp.conj(forward(xp.conj(v)))


def _of_general(M: Any, forward: Any) -> Any:
    return None if M is None else _transposed(M)


def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None,
    callback: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
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


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None,
    callback: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the solution of A x = b by stabilised biconjugate gradients, and SciPy's code; see `cg`.

    A function M preconditions the equation alone, and a matrix M the transposed one of reverse mode too.
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    return _call("bicgstab", krylov.bicgstab, A, b, x0, M, options, _of_general)


def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-5, atol: Any = 0.0, restart: Any = None, maxiter: Any = None,
    M: Any = None, callback: Any = None, callback_type: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the solution of A x = b by generalised minimal residuals, and SciPy's code; see `cg` and `bicgstab`.

    A cycle has `restart` steps, by default 20, and `maxiter` counts cycles. Each one runs to its end, so a solution may
    have a smaller residual than SciPy's.
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    if active() is None:
        options |= {"restart": restart, "callback_type": callback_type}
    width = 20 if restart is None else restart
    return _call("gmres", lambda equation: krylov.gmres(equation, width), A, b, x0, M, options, _of_general)
