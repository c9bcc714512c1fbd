"""Solvers of SciPy in programs: they run as callbacks, and the equations of the solution give its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.scipy.optimize.objectives import Objective, derived
from anyshape.scipy.optimize.unknowns import Unknowns, solve_densely
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.pytrees import flatten
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.custom.closed_functions import closed_function
from anyshape.transforms.custom.implicit_solves import custom_root

Function = Callable[..., Any]
COUNTS = ("success", "status", "nfev", "nit")


def solved(
    name: str,
    function: Function,
    unknowns: Unknowns,
    solve: Function,
    equations: Function,
    *,
    is_scalar: bool,
) -> tuple[Any, dict[str, Any], Function]:
    """Return the solution, its counts, and the function without what it closes over.

    - `solve(objective)` runs SciPy's solver at run time and returns its result.
    - `equations(f)` are zero at the solution, as a function of a tree; f is the function.
    """
    closed, params = closed_function(name, function, unknowns.tree)
    like = unknowns.tree

    def at(params: Sequence[Any]) -> Function:
        return lambda x: closed(params, x)

    def run(x0: Any, params: Sequence[Any]) -> Any:
        start = Unknowns(name, x0, is_tree=True)
        result = solve(Objective(function, start, tuple(params), derived(closed.applied, is_scalar)))
        leaves = flatten(start.unpacked(np.atleast_1d(np.asarray(result.x, np.float64))))[0]
        return leaves, [_count(result, key) for key in COUNTS]

    def call(f: Any, x0: Any) -> Any:
        specs = [ShapeDtypeStruct(x.shape, x.dtype) for x in flatten(x0)[0]]
        counts = [ShapeDtypeStruct((), np.bool_ if key == "success" else np.int64) for key in COUNTS]
        leaves, counts = pure_callback(run, (specs, counts), x0, params)
        return unknowns.filled(leaves), counts

    x, counts = custom_root(equations(at(params)), like, call, solve_densely, has_aux=True)
    return x, dict(zip(COUNTS, counts, strict=True)), at(params)


def _count(result: Any, key: str) -> Any:
    """Return a count of a result; 0 where a solver has none."""
    value = result.get(key, 0)
    return np.bool_(value) if key == "success" else np.int64(value)
