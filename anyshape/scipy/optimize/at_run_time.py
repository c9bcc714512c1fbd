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
COUNTS = ("success", "status", "nfev", "njev", "nit")


def solved(
    name: str,
    function: Function,
    unknowns: Unknowns,
    solve: Function,
    equations: Function,
    *,
    is_scalar: bool,
    settings: Any = (),
    further: Any = (),
) -> tuple[Any, dict[str, Any], Function]:
    """Return the solution, its counts, and the function without what it closes over.

    - `solve(objective, settings)` runs SciPy's solver at run time and returns a tuple: its result, then the further
      unknowns.
    - `settings` are a tree of values that it needs, which may be traced.
    - `equations(f)` are zero at the solution, as a function of a tree and of the further unknowns; f is the function.
    - `further` are arrays like the further unknowns.
    """
    closed, params = closed_function(name, function, unknowns.tree)
    like = (unknowns.tree, *further)

    def at(params: Sequence[Any]) -> Function:
        return lambda x: closed(params, x)

    def run(x0: Any, params: Sequence[Any], settings: Any) -> Any:
        start = Unknowns(name, x0, is_tree=True)
        result, *others = solve(Objective(function, start, tuple(params), derived(closed.applied, is_scalar)), settings)
        tree = start.unpacked(np.atleast_1d(np.asarray(result.x, np.float64)))
        return flatten((tree, *others))[0], [_count(result, key) for key in COUNTS]

    def call(f: Any, guess: Any) -> Any:
        specs = [ShapeDtypeStruct(x.shape, x.dtype) for x in flatten(guess)[0]]
        counts = [ShapeDtypeStruct((), np.bool_ if key == "success" else np.int64) for key in COUNTS]
        leaves, counts = pure_callback(run, (specs, counts), guess[0], params, settings)
        width = len(unknowns.leaves)
        return (unknowns.filled(leaves[:width]), *leaves[width:]), counts

    conditions = equations(at(params))
    zero = (lambda z: conditions(*z)) if further else (lambda z: (conditions(*z),))
    (x, *_), counts = custom_root(zero, like, call, solve_densely, has_aux=True)
    return x, dict(zip(COUNTS, counts, strict=True)), at(params)


def _count(result: Any, key: str) -> Any:
    """Return a count of a result; 0 where a solver has none."""
    value = result.get(key, 0)
    return np.bool_(value) if key == "success" else np.int64(value)
