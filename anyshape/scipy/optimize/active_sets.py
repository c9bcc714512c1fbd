"""Define least squares under bounds: `nnls`, `lsq_linear` and `isotonic_regression`.

SciPy finds the solution when the program runs, and with it which bounds are met. Derivatives are the ones of the
solution for these bounds, of any order. Where a bound is met by chance they are one-sided.

Define `linprog` and `linear_sum_assignment` in programs: SciPy's solvers as callbacks.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.sizes.symdim import min_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.objectives import solve_densely
from anyshape.scipy.results.result import Result
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.implicit_solves import custom_root


def _equations(name: str, A, b) -> tuple[Any, Any]:
    """Return a matrix and a vector of as many rows, as float64."""
    matrix, right = (xp.asarray(x).astype(np.float64) for x in (A, b))
    if matrix.ndim != 2 or right.ndim != 1:
        raise ArgumentError(
            name, "A or b", "is not a matrix and a vector", "pass A of shape (m, n) and b of shape (m,)"
        )
    context_of(name, matrix, right).require_equal(sizes(matrix)[0], sizes(right)[0], "A and b have equal rows")
    return matrix, right


def _solution(value, free, fixed, matrix, right):
    """Return a least squares solution with its derivative: where it is not free it stays at a value.

    The derivative is NaN where free columns depend on each other, as it is one of many solutions.
    """
    conditions = lambda x: xp.where(free, matrix.T @ (matrix @ x - right), x - fixed)
    rank = xp.linalg.matrix_rank(xp.where(free, stop_gradient(matrix), 0.0))
    is_one = xp.where(rank == xp.sum(free), 1.0, np.nan)
    solve = lambda linear, y: solve_densely(linear, y) * is_one
    return custom_root(conditions, xp.zeros_like(value), lambda f, guess: value, solve)


def nnls(A: Any, b: Any, *, maxiter: Any = None, **options: Any) -> tuple[Any, Any]:
    """Return the x without negative elements that makes the norm of A x - b least, and the norm.

    A has the shape (m, n) and b (m,). Derivatives are NaN where columns of positive elements depend on each other.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import optimize
    >>> print(grad(lambda b: optimize.nnls(np.eye(2), b)[0].sum())(np.array([2.0, -1.0])) + 0)
    [1. 0.]
    """
    matrix, right = _equations("nnls", A, b)
    run = lambda a, b: scipy_optimize.nnls(a, b, maxiter=maxiter, **options)[0]
    spec = ShapeDtypeStruct((matrix.shape[1],), np.float64)
    value = pure_callback(run, spec, stop_gradient(matrix), stop_gradient(right))
    x = _solution(value, value > 0, 0.0, matrix, right)
    return x, xp.linalg.norm(matrix @ x - right)


def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), method: str = "trf", **options: Any) -> Any:
    """Return the x between bounds that makes the norm of A x - b least, as `result.x`.

    Bounds are a pair of numbers or vectors, which may be traced. `fun` has the residuals and `cost` half of their
    squared norm.

    >>> lsq_linear(np.eye(2), np.array([0.5, 3.0]), (0.0, 1.0)).x.round(4).tolist()
    [0.5, 1.0]
    """
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if not is_traced(A, b, low, high):
        return scipy_optimize.lsq_linear(A, b, bounds, method, **options)
    matrix, right = _equations("lsq_linear", A, b)
    low, high = (xp.broadcast_to(xp.asarray(v).astype(np.float64), matrix.shape[1:]) for v in (low, high))

    def run(a, b, low, high):
        result = scipy_optimize.lsq_linear(a, b, (low, high), method, **options)
        return result.x, result.active_mask.astype(np.int64)

    specs = [ShapeDtypeStruct((matrix.shape[1],), kind) for kind in (np.float64, np.int64)]
    value, active = pure_callback(run, tuple(specs), *(stop_gradient(v) for v in (matrix, right, low, high)))
    fixed = xp.where(active < 0, low, xp.where(active > 0, high, 0.0))
    x = _solution(value, active == 0, fixed, matrix, right)
    residuals = matrix @ x - right
    return Result(x=x, fun=residuals, cost=0.5 * xp.sum(residuals**2), active_mask=active)


def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Return the vector in order that is nearest to y in weighted least squares, as `result.x`.

    It is constant in blocks, whose values are the means of y.

    >>> isotonic_regression(np.array([1.0, 3.0, 2.0, 4.0])).x.tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    target = xp.asarray(y).astype(np.float64)
    if target.ndim != 1:
        raise ArgumentError("isotonic_regression", "y", f"has {target.ndim} axes", "pass a vector")
    w = xp.ones_like(target) if weights is None else xp.asarray(weights).astype(np.float64)

    def run(y, w):
        blocks = scipy_optimize.isotonic_regression(y, weights=w, increasing=increasing).blocks
        return np.repeat(np.arange(len(blocks) - 1), np.diff(blocks))

    spec = ShapeDtypeStruct(target.shape, np.int64)
    block = pure_callback(run, spec, stop_gradient(target), stop_gradient(w))
    same = (block[:, None] == block[None, :]) * w
    return Result(x=(same @ target) / xp.sum(same, axis=1))


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Return the rows and columns of the assignment with the least sum of costs.

    The positions have no derivative. So `cost[rows, columns].sum()` has the one of the chosen costs.

    >>> rows, columns = linear_sum_assignment(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    cost = xp.asarray(cost_matrix)
    if cost.ndim != 2:
        raise ArgumentError("linear_sum_assignment", "cost_matrix", f"has {cost.ndim} axes", "pass a matrix")
    count = min_dim(*cost.shape)
    spec = (ShapeDtypeStruct((count,), np.int64),) * 2

    def assigned(cost):
        return tuple(x.astype(np.int64) for x in scipy_optimize.linear_sum_assignment(cost, maximize))

    return pure_callback(assigned, spec, cost)


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Return the minimum of c @ x under linear constraints, as `result.x`.

    Inside of a trace a callback solves it. Derivatives raise UnsupportedFunctionError. Bounds are numbers.

    >>> linprog([-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=[4.0], bounds=(0, 3)).x.tolist()
    [1.0, 3.0]
    """
    arrays = {"c": c, "A_ub": A_ub, "b_ub": b_ub, "A_eq": A_eq, "b_eq": b_eq}
    fixed = {"bounds": bounds, "method": method, "options": options, "x0": x0, "integrality": integrality}
    if not is_traced(*arrays.values()):
        return scipy_optimize.linprog(**arrays, **fixed, callback=callback)
    present = {name: real_floats(x) for name, x in arrays.items() if x is not None}
    size = present["c"].shape
    specs = [ShapeDtypeStruct(s, k) for s, k in ((size, np.float64), ((), np.float64), ((), np.int64), ((), np.bool_))]

    def scipy_linprog(present):
        result = scipy_optimize.linprog(**present, **fixed)
        x = np.full_like(present["c"], np.nan) if result.x is None else result.x
        value = np.nan if result.fun is None else result.fun
        return x, np.float64(value), np.int64(result.status), np.bool_(result.success)

    x, value, status, success = pure_callback(scipy_linprog, tuple(specs), present)
    return Result(x=x, fun=value, status=status, success=success)
