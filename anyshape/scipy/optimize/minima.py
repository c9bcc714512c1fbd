"""Define `minimize` and `minimize_scalar`: SciPy's minimisers, with the derivative of the conditions of a minimum.

Define searches for global minima: SciPy's, as callbacks, with the derivative of the conditions of a minimum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.backend.runtime.blas import scipy_threads
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.operands.promotion import is_traced, static_int
from anyshape.numpy.serve import refuse
from anyshape.scipy.operands.conversion import Result, real_floats
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.optimize.constraints import (
    Constraint,
    at_limits,
    bounds_of,
    constraints_of,
    multipliers_of,
    with_gradients,
    within,
)
from anyshape.scipy.optimize.objectives import (
    Objective,
    Unknowns,
    as_tuple,
    objective,
    packed,
    scalar,
    solved,
    unpacked,
)
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.grad import grad

Function = Callable[..., Any]
_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_METHODS = (
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr",
    "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip
_BY_HESSIAN = {"dogleg", "trust-exact"}
_BY_PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}


@short_traceback
@signed_as_in(scipy_optimize)
def minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options) -> Any:
    """Return a minimum of fun(x, *args) by a minimiser of SciPy, as `result.x`.

    - `x0` is a vector, or a tree of arrays.
    - Without `jac` the gradient is exact, and so are second derivatives where the method takes some.
    - `bounds` and `constraints` are SciPy's; for a tree, bounds are of all its elements in their order.
    - Inside of a trace the minimum has the derivative of its conditions, of any order. It is by `args`, bounds, limits
      of constraints, and by what functions close over.
    - The start has none. `jac`, `hess` and `hessp` are not called in a trace.
    - Limits that hold the minimum back stay so in derivatives. Where their gradients depend on each other, a derivative
      raises LinAlgError.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import optimize
    >>> cost = lambda x, a: np.sum((x - a) ** 4 + x**2)
    >>> minimum = lambda a: optimize.minimize(cost, np.zeros(1), args=(a,), tol=1e-9).x[0]
    >>> print(round(float(grad(minimum)(1.0)), 4))
    0.676
    """
    check_callable("minimize", fun)
    _check(method, bounds)
    further, unknowns = as_tuple(args), Unknowns("minimize", x0)
    rest = {"bounds": bounds, "tol": tol, "callback": callback, "options": options}
    if active() is not None:
        value = (lambda x: fun(x, *further)[0]) if jac is True else (lambda x: fun(x, *further))
        return _traced(value, unknowns, method, constraints, rest)
    if any(x is not None for x in (jac, hess, hessp)):
        if not unknowns.is_vector:
            raise ArgumentError("minimize", "jac", "is not taken for trees", "leave it out")
        fixed = bounds, constraints, tol, callback, options
        return scipy_optimize.minimize(fun, x0, args, method, jac, hess, hessp, *fixed)
    has_gradient = not (isinstance(method, str) and method.lower() in _WITHOUT_GRADIENT)
    f = objective("minimize", fun, unknowns, further, is_scalar=True, trace=has_gradient)
    result = _minimised(f, method, with_gradients(constraints, unknowns), rest)
    result.x = unknowns.unpacked(result.x)
    return result


def _check(method, bounds) -> None:
    """Raise ArgumentError for a method that SciPy does not have, and for a tree of bounds."""
    if isinstance(method, str) and method.lower() not in [m.lower() for m in _METHODS]:
        is_loop = method.lower() in ("adam", "adamw", "sgd", "lbfgs")
        advice = f"write the loop with anyshape.optimize.{method.lower()}" if is_loop else f"give {', '.join(_METHODS)}"
        raise ArgumentError("minimize", "method", f"is {method!r}", advice)
    if isinstance(bounds, dict):
        advice = "give scipy.optimize.Bounds, or a pair for each element of x0 in their order"
        raise ArgumentError("minimize", "bounds", "is a dict", advice)


def _minimised(f: Objective, method, constraints, rest: dict[str, Any]):
    """Run SciPy's minimiser with the exact derivatives that its method takes."""
    name = method.lower() if isinstance(method, str) else ""
    rest = {**rest, "constraints": constraints}
    if rest["callback"] is not None and not f.unknowns.is_vector:
        user = rest["callback"]
        rest["callback"] = lambda v: user(f.unknowns.unpacked(v))
    if f.exact is None or name in _WITHOUT_GRADIENT:
        return scipy_optimize.minimize(f, f.unknowns.vector(), method=method, **rest)
    rest |= {"hess": f.hessian} if name in _BY_HESSIAN else {}
    rest |= {"hessp": f.hessian_product} if name in _BY_PRODUCT else {}
    start = f.unknowns.vector()
    with scipy_threads(start.size):  # of products of the objective, which may have many, are NumPy's
        return scipy_optimize.minimize(f.value_and_gradient, start, method=method, jac=True, **rest)


def _traced(fun: Function, unknowns: Unknowns, method, constraints, rest: dict[str, Any]) -> Result:
    """Return the minimum as a value of the trace."""
    bounds, limits, rows = rest["bounds"], bounds_of(rest["bounds"]), constraints_of(constraints, unknowns)
    keep = xp.asarray(getattr(bounds, "keep_feasible", False))
    settings = {"bounds": () if limits is None else (*limits, keep), "constraints": [row.settings for row in rows]}

    def run(f: Objective, settings):
        own = dict(rest)
        if limits is not None:
            own["bounds"] = scipy_optimize.Bounds(*settings["bounds"])
        pairs = [row.for_solver(f.unknowns, x) for row, x in zip(rows, settings["constraints"], strict=True)]
        result = _minimised(f, method, [constraint for constraint, _ in pairs], own)
        return (result, *([_multipliers(f, result.x, [g for _, g in pairs], settings)] if rows else []))

    value = lambda x: scalar(fun(x), "minimize")
    conditions = lambda f: stationary(grad(f), limits)
    further = [xp.concatenate([xp.zeros_like(row.low) for row in rows])] if rows else []
    if rows:
        conditions = lambda f: _stationary_for(f, limits, rows)
    x, counts, f = solved(
        "minimize", value, unknowns, run, conditions, is_scalar=True, settings=settings, further=further
    )
    return Result(x=x, fun=f(x), jac=packed(grad(f)(x)), **counts)


def _multipliers(f: Objective, x, constraints: list[Objective], settings):
    """Return the multipliers of all constraints at a solution."""
    v = np.atleast_1d(np.asarray(x, np.float64))
    values = np.concatenate([g(v) for g in constraints])
    rows = np.concatenate([g.jacobian(v) for g in constraints])
    low, high = (np.concatenate([row[i] for row in settings["constraints"]]) for i in (1, 2))
    bounds = [np.broadcast_to(limit, v.shape) for limit in settings["bounds"][:2] or (-np.inf, np.inf)]
    return multipliers_of(f.value_and_gradient(v)[1], v, values, rows, (low, high), bounds)


def _stationary_for(f: Function, bounds: tuple[Any, Any] | None, rows: list[Constraint]) -> Function:
    """Return a function of a tree and multipliers that is zero at a minimum: the conditions of Karush, Kuhn, Tucker."""
    low, high = (xp.concatenate([getattr(row, name) for row in rows]) for name in ("low", "high"))
    values = lambda x: xp.concatenate([row.closed(row.params, x) for row in rows])

    def condition(x, multipliers) -> tuple[Any, Any]:
        slope = grad(lambda x: f(x) - multipliers @ values(x))
        return stationary(slope, bounds)(x), at_limits(values, x, multipliers, low, high)

    return condition


def stationary(gradient: Function, limits: tuple[Any, Any] | None) -> Function:
    """Return a function of a tree that is zero at a minimum: the gradient, or what bounds leave of it."""

    def condition(x):
        slope = packed(gradient(x))
        if limits is not None:
            slope = within(packed(x), slope, *limits)
        return unpacked(slope, x)

    return condition


@short_traceback
@signed_as_in(scipy_optimize)
def minimize_scalar(fun, bracket, bounds, args, method, tol, options) -> Any:
    """Return a minimum of fun(x, *args) for a number x by a minimiser of SciPy, as `result.x`.

    Inside of a trace the minimum has the derivative of its condition. A bracket has none.

    >>> from anyshape.scipy.optimize import minimize_scalar
    >>> float(minimize_scalar(lambda x: (x - 1.0) ** 2).x.round(6))
    1.0
    """
    check_callable("minimize_scalar", fun)
    further = as_tuple(args)
    settings = {"bracket": bracket, "bounds": bounds}
    settings = {key: [real_floats(x) for x in values] for key, values in settings.items() if values is not None}

    def run(f: Objective, settings):
        value = lambda x: float(f(np.array([x])))
        ranges = {key: tuple(map(float, values)) for key, values in settings.items()}
        return (scipy_optimize.minimize_scalar(value, method=method, tol=tol, options=options, **ranges),)

    scalar = lambda x: real_floats(fun(x, *further)).reshape(())
    unknowns = Unknowns("minimize_scalar", np.float64(0), is_tree=True)
    limits = settings.get("bounds")
    conditions = lambda f: stationary(grad(f), limits and tuple(limits))
    x, counts, f = solved("minimize_scalar", scalar, unknowns, run, conditions, is_scalar=True, settings=settings)
    return Result(x=x, fun=f(x), **counts)


def _traced_global(name: str, func: Function, start, limits, args, options: dict[str, Any]) -> Result:
    """Return the minimum as a value of the trace; without limits SciPy starts from a point."""
    check_callable(name, func)
    further, unknowns = as_tuple(args), Unknowns(name, start)
    if is_traced(*[x for x in options.values() if not isinstance(x, dict)]):
        raise ArgumentError(name, "an option", "is traced", "pass Python numbers")

    def run(f: Objective, settings):
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

    def search(func: Function, bounds, args=(), **options):
        if options.get("constraints"):
            raise refuse(f"scipy.optimize.{name} with constraints")
        if (limits := bounds_of(bounds)) is None:
            raise ArgumentError(name, "bounds", "are missing", "pass a pair for each unknown")
        count = static_int(limits[0].shape[0], name, "the number of bounds")
        return _traced_global(name, func, xp.zeros(count), limits, args, options)

    search.__module__, search.__name__, search.__qualname__ = __name__, name, name
    search.__doc__ = (
        f"Return a global minimum of func(x, *args) between bounds by SciPy's {name}, as `result.x`.\n\n"
        "Inside of a trace it has the derivative of its conditions; options are given by name.\n\n"
        f">>> from anyshape.scipy.optimize import {name}\n"
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

    >>> from anyshape.scipy.optimize import basinhopping
    >>> basinhopping(lambda x: np.sum(np.cos(3 * x) + x * x), np.zeros(1), niter=5, rng=0).fun.round(4)
    np.float64(-0.1076)
    """
    if positional:
        raise ArgumentError("basinhopping", "an option", "is given by position", "write its name")
    inner = dict(options.pop("minimizer_kwargs", None) or {})
    further = inner.pop("args", ())
    return _traced_global("basinhopping", func, x0, None, further, {"minimizer_kwargs": inner, **options})
