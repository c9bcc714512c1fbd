"""Define `least_squares` and `curve_fit`: SciPy's solvers of least squares, with exact Jacobians."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.backend.runtime.blas import scipy_threads
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import numel
from anyshape.numpy.operands.promotion import as_traced, choice_of, sizes
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import Result, real_floats, require_finite
from anyshape.scipy.optimize.constraints import bounds_of
from anyshape.scipy.optimize.minima import stationary
from anyshape.scipy.optimize.objectives import Objective, Unknowns, as_tuple, objective, packed, solved, unpacked
from anyshape.support.packages import scipy_optimize
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.grad import grad
from anyshape.transforms.linear_map import memoised
from anyshape.transforms.vmap import jacfwd

Function = Callable[..., Any]
_NO_BOUNDS = (-np.inf, np.inf)
_POSITIONAL = (  # options of least_squares, in SciPy's order
    "ftol", "xtol", "gtol", "x_scale", "loss", "f_scale", "diff_step", "tr_solver", "tr_options", "jac_sparsity",
    "max_nfev", "verbose", "args", "kwargs",
)  # fmt: skip
# the losses of squared residuals, as SciPy defines them
LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (xp.sqrt(1 + z) - 1),
    "huber": lambda z: xp.where(z <= 1, z, 2 * xp.sqrt(xp.where(z <= 1, 1.0, z)) - 1),
    "cauchy": xp.log1p,
    "arctan": xp.arctan,
}


@short_traceback
def least_squares(
    fun: Function,
    x0: Any,
    jac: Any = None,
    bounds: Any = _NO_BOUNDS,
    method: str = "trf",
    *positional: Any,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    args: Any = (),
    kwargs: Any = None,
    **options: Any,
) -> Any:
    """Return a minimum of the sum of squares of fun(x, *args, **kwargs) by a solver of SciPy, as `result.x`.

    - `x0` is a vector, or a tree of arrays. `fun` returns a tree of residuals.
    - Without `jac` the Jacobian is exact; "2-point" and others are SciPy's differences.
    - Inside of a trace the minimum has the derivative of its conditions, of any order: by `args`, by bounds, and by
      what `fun` closes over. The start has none. `jac` is not called there.

    >>> t = np.arange(3.0)
    >>> fit = least_squares(lambda p: p["a"] * np.exp(p["k"] * t) - [1.0, 2.0, 4.0], {"a": 1.0, "k": 0.5})
    >>> {name: float(x.round(4)) for name, x in fit.x.items()}
    {'a': 1.0, 'k': 0.6931}
    """
    check_callable("least_squares", fun)
    values = {"loss": loss, "f_scale": f_scale, "args": args, "kwargs": kwargs, **options}
    values |= dict(zip(_POSITIONAL, positional, strict=False))
    loss, f_scale, args, kwargs = (values.pop(key) for key in ("loss", "f_scale", "args", "kwargs"))
    named = {"method": method, "loss": loss, "f_scale": f_scale, **values}
    further, keywords, unknowns = as_tuple(args), kwargs or {}, Unknowns("least_squares", x0)
    if jac is not None and active() is None:
        if not unknowns.is_vector:
            raise ArgumentError("least_squares", "jac", "is not taken for trees", "leave it out")
        return scipy_optimize.least_squares(fun, x0, jac, bounds, args=args, kwargs=keywords, **named)

    def run(f: Objective, settings):
        jacobian = "2-point" if f.exact is None else f.jacobian
        start = f.unknowns.vector()
        with scipy_threads(start.size):
            return (scipy_optimize.least_squares(f, start, jacobian, *settings, **named),)

    residuals = (lambda x, *args: fun(x, *args, **keywords)) if keywords else fun
    if active() is None:
        (result,) = run(objective("least_squares", residuals, unknowns, further, is_scalar=False), [bounds])
        result.x = unknowns.unpacked(result.x)
        return result
    if callable(loss):
        raise refuse("scipy.optimize.least_squares with a loss of your own")
    rho = LOSSES[choice_of("least_squares", "loss", loss, tuple(LOSSES))]

    def cost(f: Function) -> Function:
        return lambda x: 0.5 * f_scale**2 * xp.sum(rho((packed(f(x)) / f_scale) ** 2))

    limits = None if bounds is _NO_BOUNDS else _limits(bounds)
    conditions = lambda f: stationary(grad(cost(f)), limits)
    settings = () if limits is None else (limits,)
    x, counts, f = solved(
        "least_squares", lambda x: residuals(x, *further), unknowns, run, conditions, is_scalar=False, settings=settings
    )
    jacobian = jacfwd(lambda v: packed(f(unpacked(v, x))))(packed(x))
    slope = packed(grad(cost(f))(x))
    return Result(x=x, cost=cost(f)(x), fun=packed(f(x)), jac=jacobian, grad=slope, **counts)


def _limits(bounds):
    """Return the lower and the upper bounds of a pair of these, or of SciPy's `Bounds`."""
    return bounds_of(bounds) if hasattr(bounds, "lb") else tuple(real_floats(x) for x in bounds)


@short_traceback
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = _NO_BOUNDS,
    method: Any = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: Any = None,
    **kwargs: Any,
) -> Any:
    """Return the parameters of f(xdata, *parameters) that fit ydata, and their covariance.

    Without `jac` the Jacobian is exact. Inside of a trace both results have derivatives by the data, by `sigma`, and by
    what `f` closes over. There, parameters are 1 at the start unless `p0` says otherwise.

    >>> t = np.arange(4.0)
    >>> p, covariance = curve_fit(lambda t, a, k: a * np.exp(k * t), t, 3 * np.exp(-0.5 * t))
    >>> p.round(4).tolist(), covariance.shape
    ([3.0, -0.5], (2, 2))
    """
    if active() is None:
        if jac is None:
            jac = _curve_jacobian(f, xdata, np.size(ydata), p0)
        options = {"check_finite": check_finite, "bounds": bounds, "method": method, "jac": jac}
        further = {"full_output": full_output, "nan_policy": nan_policy, **kwargs}
        return scipy_optimize.curve_fit(f, xdata, ydata, p0, sigma, absolute_sigma, **options, **further)
    used = [n for n, x in (("full_output", full_output), ("nan_policy", nan_policy), ("jac", jac)) if x]
    if used:
        raise refuse(f"scipy.optimize.curve_fit with {used[0]}")
    if check_finite in (True, None):
        require_finite("curve_fit", xdata, ydata)
    start = _start_of(f, p0)
    count = int(start.shape[0])
    y = as_traced(real_floats(ydata))
    method = method or ("lm" if bounds is _NO_BOUNDS else "trf")
    context = context_of("curve_fit", y)
    context.require(at_least(numel(sizes(y)), 1), "ydata must not be empty")
    if method == "lm":
        context.require(at_least(numel(sizes(y)), count), f"there are fewer points than the {count} parameters")
    whitened = _whitening(sigma)

    def residuals(p):
        return whitened(xp.ravel(xp.asarray(f(xdata, *[p[i] for i in range(count)])) - y))

    named = {"method": method, "bounds": bounds}
    fit = least_squares(residuals, start, **named, **kwargs)
    covariance = xp.linalg.pinv(fit.jac.T @ fit.jac)
    if not absolute_sigma:
        freedom = xp.asarray(y.size - fit.x.shape[0], np.float64)
        covariance = xp.where(freedom > 0, covariance * 2 * fit.cost / xp.where(freedom > 0, freedom, 1.0), np.inf)
    return fit.x, covariance


def _whitening(sigma) -> Function:
    """Return a function that divides residuals by standard deviations, or by the root of a covariance."""
    if sigma is None:
        return lambda r: r
    root = real_floats(sigma)
    if root.ndim < 2:
        return lambda r: r / root
    factor = xp.linalg.cholesky(root)
    return lambda r: xp.linalg.solve(factor, r)


def _parameter_count(f: Function) -> int:
    """Return the number of parameters of a curve, which its signature tells."""
    names = [p for p in inspect.signature(f).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(names) < 2:
        raise ArgumentError("curve_fit", "p0", "is needed, as the curve does not name its parameters", "give p0")
    return len(names) - 1


def _curve_jacobian(f: Function, xdata, count: int, p0):
    """Return the exact Jacobian of a curve by its parameters, None where it cannot be traced."""
    start = _start_of(f, p0)
    function = memoised(f, start.shape[0], _curve_of)
    curve = objective("curve_fit", function, Unknowns("curve_fit", start), (xdata,), is_scalar=False, count=count)
    if curve.exact is None:
        return None
    exact = curve.exact
    return lambda x, *p: exact.jacobian(np.array(p), np.array(p), (x,))


def _start_of(f: Function, p0):
    """Return the parameters at the start: 1 for each that the curve names, by default."""
    return np.ones(_parameter_count(f)) if p0 is None else xp.atleast_1d(real_floats(p0))


def _curve_of(f: Function, count: int) -> Function:
    """Return a curve as a function of (parameters, points)."""
    return lambda p, x: f(x, *[p[i] for i in range(count)])
