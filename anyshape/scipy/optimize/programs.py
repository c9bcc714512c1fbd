"""Define `linprog` and `linear_sum_assignment` in programs: SciPy's solvers as callbacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced
from anyshape.numpy.sizes.symdim import min_dim
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.results.result import Result
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.shape_struct import ShapeDtypeStruct


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Return the rows and columns of the assignment with the least sum of costs.

    The positions have no derivative. So `cost[rows, columns].sum()` has the one of the chosen costs.

    >>> rows, columns = linear_sum_assignment(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    if not is_traced(cost_matrix):
        return scipy_optimize.linear_sum_assignment(cost_matrix, maximize)
    cost = xp.asarray(cost_matrix)
    if cost.ndim != 2:
        raise ArgumentError("linear_sum_assignment", "cost_matrix", f"has {cost.ndim} axes", "pass a matrix")
    count = min_dim(*cost.shape)
    spec = (ShapeDtypeStruct((count,), np.int64),) * 2

    def assigned(cost: Any) -> Any:
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

    def scipy_linprog(present: Any) -> Any:
        result = scipy_optimize.linprog(**present, **fixed)
        x = np.full_like(present["c"], np.nan) if result.x is None else result.x
        value = np.nan if result.fun is None else result.fun
        return x, np.float64(value), np.int64(result.status), np.bool_(result.success)

    x, value, status, success = pure_callback(scipy_linprog, tuple(specs), present)
    return Result(x=x, fun=value, status=status, success=success)
