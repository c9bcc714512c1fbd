"""Define `minimize` and `minimize_scalar`: SciPy's minimisers, with the derivative of the conditions of a minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.at_run_time import solved
from anyshape.scipy.optimize.objectives import Objective, objective
from anyshape.scipy.optimize.unknowns import Unknowns, as_tuple, packed, unpacked
from anyshape.scipy.results.result import Result
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.grad import grad

Function = Callable[..., Any]
_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_BY_HESSIAN = {"dogleg", "trust-exact"}
_BY_PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}


def minimize(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Return a minimum of fun(x, *args) by a minimiser of SciPy, as `result.x`.

    - `x0` is a vector, or a tree of arrays.
    - Without `jac` the gradient is exact, and so are second derivatives where the method takes some.
    - `bounds` and `constraints` are SciPy's; for a tree, bounds are of all its elements in their order.
    - Inside of a trace the minimum has the derivative of its conditions, of any order, by `args` and by what `fun`
      closes over. The start has none. Bounds are numbers there, and `constraints` are refused.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import optimize
    >>> cost = lambda x, a: np.sum((x - a) ** 4 + x**2)
    >>> minimum = lambda a: optimize.minimize(cost, np.zeros(1), args=(a,), tol=1e-9).x[0]
    >>> print(round(float(grad(minimum)(1.0)), 4))
    0.676
    """
    check_callable("minimize", fun)
    further, unknowns = as_tuple(args), Unknowns("minimize", x0)
    derivatives = {"jac": jac, "hess": hess, "hessp": hessp}
    if any(x is not None for x in derivatives.values()):
        if active() is not None or not unknowns.is_vector:
            raise ArgumentError("minimize", "jac", "is not taken for trees and traced functions", "leave it out")
        fixed = bounds, constraints, tol, callback, options
        return scipy_optimize.minimize(fun, x0, args, method, jac, hess, hessp, *fixed)
    rest = {"bounds": bounds, "tol": tol, "callback": callback, "options": options}
    if active() is not None:
        return _traced(lambda x: fun(x, *further), unknowns, method, constraints, rest)
    has_gradient = not (isinstance(method, str) and method.lower() in _WITHOUT_GRADIENT)
    f = objective("minimize", fun, unknowns, further, is_scalar=True, trace=has_gradient)
    result = _minimised(f, method, _with_gradients(constraints, unknowns), rest)
    result.x = unknowns.unpacked(result.x)
    return result


def _minimised(f: Objective, method: Any, constraints: Any, rest: dict[str, Any]) -> Any:
    """Run SciPy's minimiser with the exact derivatives that its method takes."""
    name = method.lower() if isinstance(method, str) else ""
    rest = {**rest, "constraints": constraints}
    if rest["callback"] is not None and not f.unknowns.is_vector:
        user = rest["callback"]
        rest["callback"] = lambda v: user(f.unknowns.unpacked(v))
    if f.exact is None or name in _WITHOUT_GRADIENT:
        return scipy_optimize.minimize(f, f.unknowns.vector(), method=method, **rest)
    second: dict[str, Any] = {"hess": f.hessian} if name in _BY_HESSIAN else {}
    second |= {"hessp": f.hessian_product} if name in _BY_PRODUCT else {}
    return scipy_optimize.minimize(f.value_and_gradient, f.unknowns.vector(), method=method, jac=True, **second, **rest)


def _with_gradients(constraints: Any, unknowns: Unknowns) -> Any:
    """Return constraints as functions of vectors, with exact derivatives where dictionaries have none."""
    if isinstance(constraints, dict):
        return _with_gradients([constraints], unknowns)[0]
    if not isinstance(constraints, (list, tuple)):
        return constraints
    return [_constraint(c, unknowns) if isinstance(c, dict) and "jac" not in c else c for c in constraints]


def _constraint(constraint: dict[str, Any], unknowns: Unknowns) -> dict[str, Any]:
    further = as_tuple(constraint.get("args", ()))
    f = objective("minimize", constraint["fun"], unknowns, further, is_scalar=False)
    slopes = {} if f.exact is None else {"jac": f.jacobian}
    return {**constraint, "fun": f, "args": (), **slopes}


def _traced(fun: Function, unknowns: Unknowns, method: Any, constraints: Any, rest: dict[str, Any]) -> Result:
    """Return the minimum as a value of the trace."""
    if constraints is not None and constraints != ():
        raise refuse("scipy.optimize.minimize with constraints")
    limits = bounds_of(rest["bounds"])
    run = lambda f: _minimised(f, method, (), rest)
    conditions = lambda f: stationary(grad(f), limits)
    scalar = lambda x: real_floats(fun(x)).reshape(())
    x, counts, f = solved("minimize", scalar, unknowns, run, conditions, is_scalar=True)
    return Result(x=x, fun=f(x), jac=packed(grad(f)(x)), **counts)


def bounds_of(bounds: Any) -> tuple[Any, Any] | None:
    """Return the lower and the upper bounds, as numbers or vectors, None for no bounds."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):
        return np.asarray(bounds.lb, np.float64), np.asarray(bounds.ub, np.float64)
    pairs = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
    return np.array([low for low, _ in pairs], np.float64), np.array([high for _, high in pairs], np.float64)


def stationary(gradient: Function, limits: tuple[Any, Any] | None) -> Function:
    """Return a function of a tree that is zero at a minimum: the gradient, or the step that bounds leave of it."""

    def condition(x: Any) -> Any:
        slope = packed(gradient(x))
        if limits is not None:
            v = packed(x)
            slope = v - xp.clip(v - slope, *limits)
        return unpacked(slope, x)

    return condition


def minimize_scalar(
    fun: Function,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> Any:
    """Return a minimum of fun(x, *args) for a number x by a minimiser of SciPy, as `result.x`.

    Inside of a trace the minimum has the derivative of its condition. Brackets and bounds are numbers there.
    """
    if active() is None:
        return scipy_optimize.minimize_scalar(fun, bracket, bounds, args, method, tol, options)
    check_callable("minimize_scalar", fun)
    further = as_tuple(args)

    def run(f: Objective) -> Any:
        value = lambda x: float(f(np.array([x])))
        return scipy_optimize.minimize_scalar(value, bracket, bounds, (), method, tol, options)

    scalar = lambda x: real_floats(fun(x, *further)).reshape(())
    unknowns = Unknowns("minimize_scalar", np.float64(0), is_tree=True)
    limits = None if bounds is None else (np.float64(bounds[0]), np.float64(bounds[1]))
    x, counts, f = solved(
        "minimize_scalar", scalar, unknowns, run, lambda f: stationary(grad(f), limits), is_scalar=True
    )
    return Result(x=x, fun=f(x), **counts)
