"""Define searches for global minima: SciPy's, as callbacks, with the derivative of the conditions of a minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import is_traced, static_int
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.at_run_time import solved
from anyshape.scipy.optimize.constraints import bounds_of
from anyshape.scipy.optimize.minima import stationary
from anyshape.scipy.optimize.objectives import Objective
from anyshape.scipy.optimize.unknowns import Unknowns, as_tuple
from anyshape.scipy.results.result import Result
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.grad import grad

Function = Callable[..., Any]


def _traced(name: str, func: Function, start: Any, limits: Any, args: Any, options: dict[str, Any]) -> Result:
    """Return the minimum as a value of the trace; without limits SciPy starts from a point."""
    check_callable(name, func)
    further, unknowns = as_tuple(args), Unknowns(name, start)
    if is_traced(*[x for x in options.values() if not isinstance(x, dict)]):
        raise ArgumentError(name, "an option", "is traced", "pass Python numbers")

    def run(f: Objective, settings: Any) -> Any:
        value = lambda v: float(f(np.asarray(v, np.float64)))
        search = getattr(scipy_optimize, name)
        if not settings:
            return (search(value, f.unknowns.vector(), **options),)
        low, high = (np.broadcast_to(limit, f.unknowns.vector().shape) for limit in settings)
        return (search(value, list(zip(low, high, strict=True)), **options),)

    scalar = lambda x: real_floats(func(x, *further)).reshape(())
    conditions = lambda f: stationary(grad(f), limits)
    settings = () if limits is None else limits
    x, counts, f = solved(name, scalar, unknowns, run, conditions, is_scalar=True, settings=settings)
    return Result(x=x, fun=f(x), **counts)


def _between_bounds(name: str) -> Function:
    """Return a search between bounds."""

    def search(func: Function, bounds: Any, args: Any = (), **options: Any) -> Any:
        if active() is None:
            return getattr(scipy_optimize, name)(func, bounds, args=args, **options)
        if options.get("constraints"):
            raise refuse(f"scipy.optimize.{name} with constraints")
        limits = bounds_of(bounds)
        if limits is None:
            raise ArgumentError(name, "bounds", "are missing", "pass a pair for each unknown")
        count = static_int(limits[0].shape[0], name, "the number of bounds")
        return _traced(name, func, xp.zeros(count), limits, args, options)

    search.__module__, search.__name__, search.__qualname__ = __name__, name, name
    search.__doc__ = (
        f"Return a global minimum of func(x, *args) between bounds by SciPy's {name}, as `result.x`.\n\n"
        "Inside of a trace it has the derivative of its conditions; options are given by name.\n\n"
        f">>> {name}(lambda x: np.sum((x - 1.0) ** 2), [(-2.0, 3.0)]{_OPTIONS[name]}).x.round(2).tolist()\n[1.0]"
    )
    return search


_OPTIONS = {"differential_evolution": ", rng=0", "dual_annealing": ", rng=0, maxiter=20", "shgo": "", "direct": ""}
differential_evolution: Function = _between_bounds("differential_evolution")
dual_annealing: Function = _between_bounds("dual_annealing")
shgo: Function = _between_bounds("shgo")
direct: Function = _between_bounds("direct")


def basinhopping(func: Function, x0: Any, *positional: Any, **options: Any) -> Any:
    """Return the least of several minima of func(x) by SciPy's basinhopping, as `result.x`.

    Inside of a trace it has the derivative of its conditions; options are given by name.

    >>> basinhopping(lambda x: np.sum(np.cos(3 * x) + x * x), np.zeros(1), niter=5, rng=0).fun.round(4)
    np.float64(-0.1076)
    """
    if active() is None:
        return scipy_optimize.basinhopping(func, x0, *positional, **options)
    if positional:
        raise ArgumentError("basinhopping", "an option", "is given by position", "write its name")
    inner = dict(options.pop("minimizer_kwargs", None) or {})
    further = inner.pop("args", ())
    return _traced("basinhopping", func, x0, None, further, {"minimizer_kwargs": inner, **options})
