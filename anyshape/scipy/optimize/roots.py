"""Define `root` and `root_scalar`: SciPy's solvers of equations, with the derivative of the equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.at_run_time import solved
from anyshape.scipy.optimize.objectives import Objective, objective
from anyshape.scipy.optimize.unknowns import Unknowns, as_tuple, packed, unpacked
from anyshape.scipy.results.result import Result
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.pytrees import check_callable
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.custom.closed_functions import closed_function
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.function_memo import memoised
from anyshape.transforms.grad import grad
from anyshape.transforms.jit import jit

Function = Callable[..., Any]
_BY_JACOBIAN = ("hybr", "lm")


@short_traceback
def root(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Return a solution of fun(x, *args) = 0 by a solver of SciPy, as `result.x`.

    - `x0` is a vector, or a tree of arrays. `fun` returns a tree of as many numbers.
    - Without `jac` the methods "hybr" and "lm" take the exact Jacobian. Inside of a trace it is not called.
    - Inside of a trace the solution has the derivative of the equation, of any order, by `args` and by what `fun`
      closes over. The start has none.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import optimize
    >>> solution = lambda a: optimize.root(lambda x: x**3 + a * x - 3, np.ones(1)).x[0]
    >>> print(round(float(grad(solution)(2.0)), 6))
    -0.2
    """
    check_callable("root", fun)
    further, unknowns = as_tuple(args), Unknowns("root", x0)
    if active() is not None:
        value = (lambda x: fun(x, *further)[0]) if jac is True else (lambda x: fun(x, *further))
    elif jac is not None:
        if not unknowns.is_vector:
            raise ArgumentError("root", "jac", "is not taken for trees", "leave it out: it is exact")
        return scipy_optimize.root(fun, x0, args, method, jac, tol, callback, options)

    def run(f: Objective, settings: Any = ()) -> Any:
        jacobian = f.jacobian if method.lower() in _BY_JACOBIAN and f.exact is not None else None
        return (scipy_optimize.root(f, f.unknowns.vector(), (), method, jacobian, tol, callback, options),)

    if active() is None:
        (result,) = run(objective("root", fun, unknowns, further, is_scalar=False, count=unknowns.vector().size))
        result.x = unknowns.unpacked(result.x)
        return result
    equations = lambda f: lambda x: unpacked(packed(f(x)), x)
    x, counts, f = solved("root", value, unknowns, run, equations, is_scalar=False)
    return Result(x=x, fun=f(x), **counts)


def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: int | None = None,
    options: Any = None,
) -> Any:
    """Return a solution of f(x, *args) = 0 for a number x by a solver of SciPy, as `result.root`.

    "newton" and "halley" take exact derivatives where `fprime` and `fprime2` are None. Inside of a trace the solution
    has the derivative of the equation, of any order. The bracket and the starts have none.

    >>> round(float(root_scalar(lambda x: x * x - 2.0, bracket=(0.0, 2.0)).root), 6)
    1.414214
    """
    check_callable("root_scalar", f)
    if active() is None:
        return _root_scalar_of(f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options)
    further = as_tuple(args)
    closed, params = closed_function("root_scalar", lambda x: real_floats(f(x, *further)), np.float64(0))
    starts = {"bracket": bracket, "x0": x0, "x1": x1}
    fixed = {"method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    orders = 2 if method == "halley" else int(method == "newton" or (bracket is None and x1 is None))

    def run(starts: Any, params: Any) -> Any:
        value, slopes = memoised(closed.applied, orders, _scalar_functions)
        result = scipy_optimize.root_scalar(value, tuple(params), **slopes, **fixed, **_concrete(starts))
        return (
            np.float64(result.root),
            np.bool_(result.converged),
            np.int64(result.iterations),
            np.int64(result.function_calls),
        )

    def call(_: Any, guess: Any) -> Any:
        specs = [ShapeDtypeStruct((), kind) for kind in (np.float64, np.bool_, np.int64, np.int64)]
        present = {key: x for key, x in starts.items() if x is not None}
        x, *counts = pure_callback(run, tuple(specs), present, params)
        return x, tuple(counts)

    at = lambda params: lambda x: closed(params, x)
    x, (converged, iterations, calls) = custom_root(
        at(params), np.float64(0), call, lambda g, y: y / g(xp.ones_like(y)), has_aux=True
    )
    return Result(root=x, converged=converged, iterations=iterations, function_calls=calls, method=method)


def _concrete(starts: Any) -> dict[str, Any]:
    """Return a bracket and starts as the numbers that SciPy takes."""
    return {k: [float(x) for x in v] if k == "bracket" else float(v) for k, v in starts.items()}


def _scalar_functions(function: Function, orders: int) -> tuple[Function, dict[str, Any]]:
    """Return a compiled function of (x, further arguments), and its exact derivatives."""
    value = jit(lambda x, *args: real_floats(function(x, *args)).reshape(()))
    made, slopes = value, {}
    for name in ("fprime", "fprime2")[:orders]:
        made = slopes[name] = grad(made)
    return value, slopes


def _root_scalar_of(
    f: Function, args: Any, method: Any, bracket: Any, fprime: Any, fprime2: Any, x0: Any, x1: Any,
    xtol: Any, rtol: Any, maxiter: Any, options: Any,
) -> Any:  # fmt: skip
    """Call SciPy's solver, with exact derivatives where it needs some and has none."""
    by_newton = method == "newton" or (method is None and bracket is None and x1 is None)
    orders = 2 if method == "halley" else int(by_newton)
    slopes = {"fprime": fprime, "fprime2": fprime2}
    if orders and fprime is None and x0 is not None:
        try:
            exact = memoised(f, orders, _scalar_functions)[1]
            exact["fprime"](float(x0), *as_tuple(args))
        except AnyshapeError:
            exact = {}
        slopes |= exact
    rest = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    return scipy_optimize.root_scalar(f, args, method, bracket, x0=x0, x1=x1, **slopes, **rest)
