"""Define `root` and `root_scalar`: SciPy's solvers of equations, with the derivative of the equation.

Define functions of `scipy.optimize` for roots that return the solution alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.operands.promotion import is_traced
from anyshape.numpy.serve import refuse
from anyshape.scipy.operands.conversion import Result, is_empty, real_floats
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.optimize.minima import minimize_scalar
from anyshape.scipy.optimize.objectives import Objective, Unknowns, as_tuple, objective, packed, solved, unpacked
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.control import check
from anyshape.transforms.custom.custom_calls import closed_function
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.grad import grad
from anyshape.transforms.jit import jit
from anyshape.transforms.linear_map import memoised

Function = Callable[..., Any]
_BY_JACOBIAN = ("hybr", "lm")


@short_traceback
@signed_as_in(scipy_optimize)
def root(fun, x0, args, method, jac, tol, callback, options) -> Any:
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

    def run(f: Objective, settings=()):
        jacobian = f.jacobian if method.lower() in _BY_JACOBIAN and f.exact is not None else None
        return (scipy_optimize.root(f, f.unknowns.vector(), (), method, jacobian, tol, callback, options),)

    if active() is None:
        (result,) = run(objective("root", fun, unknowns, further, is_scalar=False, count=unknowns.vector().size))
        result.x = unknowns.unpacked(result.x)
        return result
    equations = lambda f: lambda x: unpacked(packed(f(x)), x)
    x, counts, f = solved("root", value, unknowns, run, equations, is_scalar=False)
    return Result(x=x, fun=f(x), **counts)


@signed_as_in(scipy_optimize)
def root_scalar(f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options) -> Any:
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

    def run(starts, params):
        value, slopes = memoised(closed.applied, orders, _scalar_functions)
        result = scipy_optimize.root_scalar(value, tuple(params), **slopes, **fixed, **_concrete(starts))
        counts = np.int64(result.iterations), np.int64(result.function_calls)
        return np.float64(result.root), np.bool_(result.converged), *counts

    def call(_, guess):
        specs = [ShapeDtypeStruct((), kind) for kind in (np.float64, np.bool_, np.int64, np.int64)]
        present = {key: x for key, x in starts.items() if x is not None}
        x, *counts = pure_callback(run, tuple(specs), present, params)
        return x, tuple(counts)

    at = lambda params: lambda x: closed(params, x)
    x, (converged, iterations, calls) = custom_root(
        at(params), np.float64(0), call, lambda g, y: y / g(xp.ones_like(y)), has_aux=True
    )
    return Result(root=x, converged=converged, iterations=iterations, function_calls=calls, method=method)


def _concrete(starts) -> dict[str, Any]:
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
    f: Function, args, method, bracket, fprime, fprime2, x0, x1,
    xtol, rtol, maxiter, options
):  # fmt: skip
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


def _bracketed(method: str) -> Function:
    """Return a solver between two points where the function has different signs."""

    def solver(f: Function, a, b, args=(), *, xtol=None, rtol=None, maxiter=None, **options):
        raises = options.pop("disp", True)
        if any(options.values()):
            raise refuse(f"scipy.optimize.{method} with {next(iter(options))}")
        return _root_of(method, root_scalar(f, args, method, (a, b), xtol=xtol, rtol=rtol, maxiter=maxiter), raises)

    solver.__name__ = solver.__qualname__ = method
    solver.__doc__ = (
        f"Return a root of f between a and b by SciPy's {method}, with the derivative of the equation.\n\n"
        f">>> round(float({method}(lambda x: x * x - 2.0, 0.0, 2.0)), 6)\n1.414214"
    )
    solver.__module__ = __name__
    return solver


def _root_of(name: str, result, raises: bool):
    """Return the root of a result; without convergence it is an error of the run, unless `disp` is False."""
    if raises:
        check(result.converged, f"{name}: failed to converge")
    return result.root


bisect: Function = _bracketed("bisect")
brentq: Function = _bracketed("brentq")
brenth: Function = _bracketed("brenth")
ridder: Function = _bracketed("ridder")
toms748: Function = _bracketed("toms748")


def newton(
    func: Function, x0: Any, fprime: Any = None, args: Any = (), tol: Any = 1.48e-8, maxiter: int = 50,
    fprime2: Any = None, x1: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Return a root of func near x0, a number, by Newton's method with the exact slope, or by secants from x0 and x1.

    Inside of a trace the root has the derivative of the equation.

    >>> from anyshape.scipy.optimize import newton
    >>> float(newton(lambda x: x * x - 2.0, 1.0))
    1.414213562373095
    """
    raises = options.pop("disp", True)
    if any(options.values()):
        raise refuse(f"scipy.optimize.newton with {next(iter(options))}")
    if is_traced(x0) and xp.ndim(x0):
        raise ArgumentError("newton", "x0", f"has {xp.ndim(x0)} axes", "use vmap over a number, or `root`")
    method = "secant" if x1 is not None else "newton" if fprime2 is None else "halley"
    return _root_of("newton", root_scalar(func, args, method, x0=x0, x1=x1, xtol=tol, maxiter=maxiter), raises)


def fsolve(func: Function, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, **options: Any) -> Any:
    """Return a root of a function of a vector near x0; see `root`, which says whether it has converged.

    >>> import numpy as np
    >>> fsolve(lambda x: x * x - np.array([1.0, 4.0]), np.ones(2)).round(6)
    array([1., 2.])
    """
    if full_output:
        raise refuse("scipy.optimize.fsolve with full_output")
    if is_traced(x0) and is_empty("fsolve", x0):
        raise ArgumentError("fsolve", "x0", "has no element", "begin at a vector with one or more")
    return root(func, x0, args, options=options or None).x


def fixed_point(func: Function, x0, args=(), xtol=1e-8, maxiter: int = 500, method: str = "del2") -> Any:
    """Return x with func(x, *args) = x near x0, a number or an array.

    Inside of a trace it is the root of the difference, by `root`, with the derivative of the equation.

    >>> import numpy as np
    >>> float(fixed_point(lambda x: np.cos(x), 1.0).round(6))
    0.739085
    """
    further = args if isinstance(args, tuple) else (args,)
    return root(lambda tree: [func(tree[0], *further) - tree[0]], [xp.asarray(x0) * 1.0], tol=xtol).x[0]


def fminbound(func: Function, x1, x2, args=(), xtol=1e-5, maxfun: int = 500, **options) -> Any:
    """Return a minimum of a function of a number between bounds; see `minimize_scalar`, which says more of it.

    >>> from anyshape.scipy.optimize import fminbound
    >>> float(fminbound(lambda x: (x - 1.0) ** 2, 0.0, 3.0).round(6))
    1.0
    """
    if options.get("full_output"):
        raise refuse("scipy.optimize.fminbound with full_output")
    limits = {"xatol": xtol, "maxiter": maxfun}
    return minimize_scalar(func, bounds=(x1, x2), args=args, method="bounded", options=limits).x


def brent(func: Function, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter: int = 500) -> Any:
    """Return a minimum of a function of a number by Brent's method; see `minimize_scalar`.

    >>> from anyshape.scipy.optimize import brent
    >>> float(brent(lambda x: (x - 1.0) ** 2).round(6))
    1.0
    """
    return _without_bounds("brent", func, args, brack, tol, full_output, maxiter)


def golden(func: Function, args=(), brack=None, tol=2**-26, full_output=0, maxiter: int = 5000) -> Any:
    """Return a minimum of a function of a number by golden sections; see `minimize_scalar`.

    >>> from anyshape.scipy.optimize import golden
    >>> float(round(golden(lambda x: (x - 1.0) ** 2), 6))
    1.0
    """
    return _without_bounds("golden", func, args, brack, tol, full_output, maxiter)


def _without_bounds(method: str, func: Function, args, brack, tol, full_output, maxiter: int) -> Any:
    if full_output:
        raise refuse(f"scipy.optimize.{method} with full_output")
    return minimize_scalar(func, brack, None, args, method, options={"xtol": tol, "maxiter": maxiter}).x
