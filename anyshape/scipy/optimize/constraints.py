"""Constraints of minima: as functions of a trace, as SciPy's solvers take them, and in the conditions of a minimum.

All of them say low <= c(x) <= high. Source: J. Nocedal, S. Wright, Numerical Optimization, 2006, section 12.3.

Define least squares under bounds: `nnls`, `lsq_linear` and `isotonic_regression`.

SciPy finds the solution when the program runs, and with it which bounds are met. Derivatives are the ones of the
solution for these bounds, of any order. Where a bound is met by chance they are one-sided.

Define `linprog` and `linear_sum_assignment` in programs: SciPy's solvers as callbacks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.sizes.symdim import min_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import Result, real_floats
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.optimize.objectives import (
    Objective,
    Unknowns,
    as_tuple,
    derived,
    objective,
    packed,
    solve_densely,
    unpacked,
)
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.custom_calls import ClosedFunction, closed_function
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.vmap import jacfwd

Function = Callable[..., Any]
_LIMITS = {"ineq": (0.0, np.inf), "eq": (0.0, 0.0)}
_NEAR = 1e-3  # slack, relative to the unknowns, above which a constraint has no multiplier


class Bounds:
    """Bounds lb <= x <= ub, of arrays that may be traced; SciPy's own for concrete ones.

    >>> from anyshape.optimize import minimize
    >>> minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros(2), bounds=Bounds(0.0, [1.0, 5.0])).x.round(4).tolist()
    [1.0, 3.0]
    """

    def __new__(cls, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Any:
        """Return SciPy's bounds unless an array is traced."""
        return super().__new__(cls) if is_traced(lb, ub) else scipy_optimize.Bounds(lb, ub, keep_feasible)

    def __init__(self, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
        self.lb, self.ub, self.keep_feasible = lb, ub, keep_feasible


class LinearConstraint:
    """Linear constraint lb <= A x <= ub, of arrays that may be traced; SciPy's own for concrete ones.

    >>> from anyshape.optimize import minimize
    >>> sums_to_one = LinearConstraint(np.ones((1, 2)), 1.0, 1.0)
    >>> minimize(lambda x: np.sum(x**2), np.zeros(2), constraints=sums_to_one).x.round(4).tolist()
    [0.5, 0.5]
    """

    def __new__(cls, A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Any:
        """Return SciPy's constraint unless an array is traced."""
        if is_traced(A, lb, ub):
            return super().__new__(cls)
        return scipy_optimize.LinearConstraint(A, lb, ub, keep_feasible)

    def __init__(self, A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
        self.A, self.lb, self.ub, self.keep_feasible = A, lb, ub, keep_feasible


def with_gradients(constraints: Any, unknowns: Unknowns) -> Any:
    """Return constraints as functions of vectors, with exact derivatives where dictionaries have none."""
    if isinstance(constraints, dict):
        return with_gradients([constraints], unknowns)[0]
    if not isinstance(constraints, (list, tuple)):
        return constraints
    return [_with_gradient(c, unknowns) if isinstance(c, dict) and "jac" not in c else c for c in constraints]


def _with_gradient(constraint: dict[str, Any], unknowns: Unknowns) -> dict[str, Any]:
    further = as_tuple(constraint.get("args", ()))
    _limits_of(constraint)
    f = objective("minimize", constraint["fun"], unknowns, further, is_scalar=False)
    slopes = {} if f.exact is None else {"jac": f.jacobian}
    return {**constraint, "fun": f, "args": (), **slopes}


# -- of a trace --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constraint:
    """Constraint of a trace: a function without what it closes over, these values, and its limits."""

    source: Any
    closed: ClosedFunction
    params: Sequence[Any]
    low: Any
    high: Any

    @property
    def settings(self) -> Any:
        """Values that a solver needs at run time."""
        return self.params, self.low, self.high

    def for_solver(self, unknowns: Unknowns, settings: Any) -> tuple[Any, Objective]:
        """Return the constraint as SciPy takes it at run time, and its function of vectors."""
        params, low, high = settings
        f = Objective(self.closed.applied, unknowns, tuple(params), derived(self.closed.applied, False))
        if isinstance(source := self.source, dict):
            return {"type": source["type"].lower(), "fun": f, "jac": f.jacobian}, f
        keep = source.keep_feasible
        if hasattr(source, "A"):
            return scipy_optimize.LinearConstraint(f.jacobian(unknowns.vector()), low, high, keep), f
        return scipy_optimize.NonlinearConstraint(f, low, high, f.jacobian, source.hess, keep), f


def constraints_of(source: Any, unknowns: Unknowns) -> list[Constraint]:
    """Return the constraints of a call in a trace."""
    if source is None:
        return []
    return [_constraint(c, unknowns) for c in (source if isinstance(source, (list, tuple)) else [source])]


def _constraint(source, unknowns: Unknowns) -> Constraint:
    function, low, high = _parts(source)
    closed, params = closed_function("constraint", lambda x: xp.atleast_1d(packed(function(x))), unknowns.tree)
    shape = closed(params, unknowns.tree).shape
    low, high = (xp.broadcast_to(real_floats(limit), shape) for limit in (low, high))
    return Constraint(source, closed, params, low, high)


def _parts(source) -> tuple[Function, Any, Any]:
    """Return the function of a constraint, and its limits."""
    if isinstance(source, dict):
        further, function = as_tuple(source.get("args", ())), source["fun"]
        return lambda x: function(x, *further), *_limits_of(source)
    if hasattr(source, "A"):
        return lambda x: source.A @ packed(x), source.lb, source.ub
    if hasattr(source, "fun"):
        return source.fun, source.lb, source.ub
    kind = type(source).__name__
    raise ArgumentError("minimize", f"a constraint of type {kind}", "is not known", "pass SciPy's constraints or dicts")


def _limits_of(constraint: dict[str, Any]) -> tuple[float, float]:
    """Return the limits of a constraint as a dictionary, which its type says."""
    if (kind := str(constraint.get("type")).lower()) not in _LIMITS:
        raise ArgumentError("minimize", f"a constraint of type {kind!r}", "is not known", "write 'eq' or 'ineq'")
    return _LIMITS[kind]


# -- conditions of a minimum -------------------------------------------------------------------------------------


def bounds_of(bounds: Any) -> tuple[Any, ...] | None:
    """Return the lower and the upper bounds, as numbers or vectors that may be traced, None for no bounds."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):
        return tuple([xp.atleast_1d(real_floats(x)) for x in (bounds.lb, bounds.ub)])
    if hasattr(bounds, "shape"):
        pairs = real_floats(bounds)
        return pairs[:, 0], pairs[:, 1]
    rows = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
    low, high = ([row[i] for row in rows] for i in range(2))
    return (_vector(low), _vector(high)) if rows else (np.zeros(0), np.zeros(0))


def _vector(numbers: list[Any]):
    return xp.stack([real_floats(x) for x in numbers]) if is_traced(*numbers) else np.array(numbers, np.float64)


def within(v: Any, slope: Any, low: Any, high: Any, scale: Any = 1.0) -> Any:
    """Return what is zero at a minimum within limits: the distance to one that holds v back, or the slope.

    A limit holds v back where the slope is larger than the distance. Where it is not, it has no effect on derivatives:
    so are they at a limit that is met by chance. `scale` is the size of the gradient of v.
    """
    below, above = v - low, v - high
    at_low = (slope * scale > xp.abs(below) / scale) | (stop_gradient(low) == stop_gradient(high))
    at_high = -slope * scale > xp.abs(above) / scale
    return xp.where(at_low, below, xp.where(at_high, above, slope))


def scales(jacobian: Any) -> Any:
    """Return the norms of the rows of a Jacobian, 1 where they are 0."""
    norms = xp.sqrt(xp.sum(stop_gradient(jacobian) ** 2, axis=-1))
    return xp.where(norms == 0, 1.0, norms)


def at_limits(function: Function, x: Any, multipliers: Any, low: Any, high: Any) -> Any:
    """Return what is zero for constraints and their multipliers: how far those are that hold x back, or these."""
    flat = lambda v: packed(function(unpacked(v, x)))
    v = packed(x)
    return within(flat(v), multipliers, low, high, scales(jacfwd(flat)(stop_gradient(v))))


def multipliers_of(slope, v, values, rows, limits: tuple[Any, Any], bounds: tuple[Any, Any]) -> np.ndarray:
    """Return the multipliers of constraints with these values and gradients, positive at the lower of their limits.

    They are the ones that leave the least of the slope, by nonnegative least squares. Each is weighted by how far its
    limit is, so that a limit which is not met has none.
    """
    if not all(np.all(np.isfinite(x)) for x in (slope, v, values, rows)):
        return np.full(values.shape, np.nan)
    size = np.asarray(scales(rows))
    near = _NEAR * (1 + np.abs(v).max(initial=0))
    low, high = (x / size for x in limits)
    held = [_sides(rows / size[:, None], values / size, low, high, near)]
    held.append(_sides(np.eye(v.size), v, *bounds, near))
    fixed, gradients, slacks = (np.concatenate(parts) for parts in zip(*[h[:3] for h in held], strict=True))
    matrix = np.concatenate([gradients.T, np.diag(slacks)])
    always = np.concatenate([fixed.T, np.zeros((slacks.size, len(fixed)))])
    target = np.concatenate([slope, np.zeros(slacks.size)])
    inverse = np.linalg.pinv(always)
    remaining = lambda x: x - always @ (inverse @ x)
    try:
        pushes = scipy_optimize.nnls(remaining(matrix), remaining(target))[0] if slacks.size else slacks
    except RuntimeError:  # as its iterations do not end, the multipliers are unknown
        return np.full(values.shape, np.nan)
    pulls = inverse @ (target - matrix @ pushes)
    multipliers = np.zeros(values.shape)
    equal, lower, upper = held[0][3:]
    multipliers[equal] = pulls[: equal.size]
    multipliers[lower] += pushes[: lower.size]
    multipliers[upper] -= pushes[lower.size : lower.size + upper.size]
    return multipliers / size


def _sides(gradients, values, low, high, near: float) -> tuple[Any, ...]:
    """Return the gradients of equations, then of inequalities that are near, their slacks, and the positions of all."""
    is_equal = low == high
    lower = np.flatnonzero(~is_equal & (values - low < near))
    upper, equal = np.flatnonzero(~is_equal & (high - values < near)), np.flatnonzero(is_equal)
    sides = np.concatenate([gradients[lower], -gradients[upper]])
    slacks = np.concatenate([values[lower] - low[lower], high[upper] - values[upper]])
    return gradients[equal], sides, np.maximum(slacks, 0.0), equal, lower, upper


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
    spec = (ShapeDtypeStruct((min_dim(*cost.shape),), np.int64),) * 2

    def assigned(cost):
        return tuple(x.astype(np.int64) for x in scipy_optimize.linear_sum_assignment(cost, maximize))

    return pure_callback(assigned, spec, cost)


@signed_as_in(scipy_optimize)
def linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, method, callback, options, x0, integrality) -> Any:
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
