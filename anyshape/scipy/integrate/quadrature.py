"""Define quadrature of functions: Gauss-Legendre rules, adaptive Gauss-Kronrod rules, and Simpson's rules of samples.

Functions are evaluated at all points of a rule at once. Integrals over several variables stand one inside of the other.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import axis_of, choice_of, is_traced, sizes
from anyshape.numpy.serve import refuse
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats, real_floats
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.control_flow.loops import while_loop
from anyshape.transforms.vmap import vmap

Function = Callable[..., Any]

# Nodes of the rule of 21 points from the largest to 0, and their weights: R. Piessens et al., QUADPACK, 1983, routine
# qk21. Every other node is one of Gauss's rule of 10 points.
_NODES = [
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0,
]  # fmt: skip
_KRONROD = [
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109831074, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
]  # fmt: skip
NODES = np.array([*_NODES, *[-x for x in _NODES[-2::-1]]])
KRONROD_WEIGHTS = np.array([*_KRONROD, *_KRONROD[-2::-1]])
GAUSS_WEIGHTS = np.zeros(21)
GAUSS_WEIGHTS[1::2] = np.polynomial.legendre.leggauss(10)[1]


def fixed_quad(func: Function, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Return the integral of `func` from a to b by the Gauss-Legendre rule of n points, and None.

    `func` takes a vector of points. Its result has a last axis for them.
    """
    if any(not is_traced(x) and np.isinf(x) for x in (a, b)):
        raise ArgumentError("fixed_quad", "a limit", "is infinite", "use quad, which takes infinite limits")
    points, weights = np.polynomial.legendre.leggauss(n)
    y = func((b - a) * (points + 1) / 2.0 + a, *args)
    return (b - a) / 2.0 * xp.sum(weights * y, axis=-1), None


def quad(
    func: Function, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit: int = 50, **options
) -> tuple[Any, Any]:
    """Return the integral of a real function, func(x, *args), from a to b, and an estimate of the error.

    - The interval with the largest error is halved until the sum of the errors is below max(epsabs, epsrel * |value|),
      or there are `limit` intervals. Each takes the Gauss-Kronrod rule of 21 points.
    - A change of variable weakens singularities at limits (L. Shampine, 2008). The trace must know infinite limits.
    - Derivatives by limits are values of the function. Those by `args`, and by what the function closes over, integrate
      its derivative on the same intervals.
    - `points`, `weight`, `full_output` and `complex_func` raise UnsupportedFunctionError inside of a trace.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> area = lambda s, a: integrate.quad(lambda x: np.exp(-s * x), a, np.inf)[0]
    >>> print(np.round(grad(area, argnums=(0, 1))(1.0, 0.0), 8))
    [-1. -1.]
    """
    check_callable("quad", func)
    for option, value in {"full_output": full_output or None, **options}.items():
        if value is not None and value is not False:
            raise refuse(f"scipy.integrate.quad with {option}")
    args = args if isinstance(args, tuple) else (args,)
    function = lambda x: real_floats(func(x, *args)).reshape(())
    return _with_ends(function, a, b, lambda a, b: _adaptive(function, a, b, epsabs, epsrel, limit, xp.abs))


def _with_ends(function: Function, a, b, rule: Function) -> tuple[Any, Any]:
    """Return what `rule(a, b)` gives for fixed limits, with the derivatives by these."""
    ends = [real_floats(end) if is_traced(end) else end for end in (a, b)]
    value, error = rule(*map(stop_gradient, ends))
    for end, other, sign in zip(ends, ends[::-1], (-1, 1), strict=True):
        if is_traced(end):
            check(xp.isfinite(end), "quad: write an infinite limit as np.inf in the traced function")
            value = value + sign * _moved_end(function, end, other)
    return value, error


def _moved_end(function: Function, end, other):
    """Return 0 with the derivatives of the integral up to `end`, of any order: the integral from the end to itself.

    The rule of 5 points is exact for derivatives up to order 10. Where the function is not finite, so is the slope.
    """
    fixed = stop_gradient(end)
    length = end - fixed
    value = stop_gradient(_floats(function(fixed)))
    is_finite = xp.isfinite(value)
    are_finite = xp.all(is_finite)
    points, weights = np.polynomial.legendre.leggauss(5)
    inside = fixed + xp.clip(stop_gradient(xp.asarray(other)) - fixed, -1.0, 1.0) / 2
    y = vmap(function)(xp.where(are_finite, fixed + length * (points + 1) / 2, inside))
    near = length * xp.where(is_finite, value, 0.0)
    regular = xp.where(are_finite, length * xp.tensordot(weights / 2, _floats(y), 1), near)
    steep = xp.where(xp.real(value) < 0, -1.0, 1.0) * xp.sqrt(xp.where(are_finite, 1.0, length))
    return xp.where(is_finite, regular, steep)


def _floats(x):
    """Return numbers in double precision."""
    array = xp.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


_ALL = 10000  # SciPy's `limit` by default
_NORMS: dict[str, Function] = {
    "2": lambda x: xp.sqrt(xp.sum(xp.abs(x) ** 2)),
    "max": lambda x: xp.max(xp.abs(x), initial=0.0),
}


def quad_vec(
    f: Function, a: Any, b: Any, epsabs: Any = 1e-200, epsrel: Any = 1e-8, norm: str = "2", cache_size: Any = 100e6,
    limit: int = _ALL, workers: Any = 1, points: Any = None, quadrature: Any = None, full_output: bool = False,
    *, args: Any = (),
) -> tuple[Any, Any]:  # fmt: skip
    """Return the integral from a to b of a function of a number that gives an array, and an estimate of the error.

    - Intervals are halved as in `quad`, for the `norm` "2" or "max" of the array. `limit` is at most 200 by default.
    - Derivatives are as in `quad`. `points`, `full_output` and a `quadrature` but "gk21" are refused there.
    """
    check_callable("quad_vec", f)
    if points is not None or full_output or quadrature not in (None, "gk21"):
        raise refuse("scipy.integrate.quad_vec with points, full_output or another quadrature")
    size = _NORMS[choice_of("quad_vec", "norm", norm, tuple(_NORMS))]
    further = args if isinstance(args, tuple) else (args,)
    function = lambda x: _floats(f(x, *further))
    count = 200 if limit == _ALL else limit
    return _with_ends(function, a, b, lambda a, b: _adaptive(function, a, b, epsabs, epsrel, count, size))


# -- adaptive rules ----------------------------------------------------------------------------------------------


def _transformed(function: Function, a, b) -> tuple[Function, float, float]:
    """Return a function of u with the same integral between other limits: finite, and with weaker singularities."""
    lower, upper = (not is_traced(x) and np.isinf(x) for x in (a, b))
    if lower and upper:
        if a == b:
            return lambda u: 0.0 * u, -1.0, 1.0
        sign = 1.0 if a < b else -1.0
        return lambda u: sign * function(u / (1 - u * u)) * (1 + u * u) / (1 - u * u) ** 2, -1.0, 1.0
    if lower or upper:
        end, infinite = (b, a) if lower else (a, b)
        side = 1.0 if infinite > 0 else -1.0
        sign = side if upper else -side
        weight = lambda u: sign * 2 * u / (1 - u) ** 3
        return lambda u: function(end + side * (u / (1 - u)) ** 2) * weight(u), 0.0, 1.0
    half, middle = (b - a) / 2, (a + b) / 2
    return lambda u: function(half * u * (3 - u * u) / 2 + middle) * 1.5 * half * (1 - u * u), -1.0, 1.0


def _adaptive(function: Function, a, b, epsabs, epsrel, limit: int, size: Function) -> tuple[Any, Any]:
    """Halve intervals until the errors are small; return the integral and the sum of the errors.

    `size` is the norm of values. The choice of intervals has no derivative.
    """
    integrand, low, high = _transformed(function, a, b)
    points = vmap(integrand)

    on_interval = lambda left, right: _gauss_kronrod(points, left, right, size)

    def unfinished(state):
        _, _, values, errors, count = state
        total = xp.sum(errors)
        wanted = xp.maximum(epsabs, epsrel * size(xp.sum(values, axis=0)))
        return stop_gradient((count < limit) & (total > wanted))

    def halve(state):
        lefts, rights, values, errors, count = state
        worst = xp.argmax(errors)
        left, right = lefts[worst], rights[worst]
        middle = (left + right) / 2
        (first, first_error), (second, second_error) = on_interval(left, middle), on_interval(middle, right)
        lefts, rights = lefts.at[count].set(middle), rights.at[worst].set(middle).at[count].set(right)
        values = values.at[worst].set(first).at[count].set(second)
        return lefts, rights, values, errors.at[worst].set(first_error).at[count].set(second_error), count + 1

    value, error = on_interval(np.float64(low), np.float64(high))
    first = np.arange(limit) == 0
    values = xp.where(xp.reshape(first, (limit, *[1] * value.ndim)), value, 0.0)
    start = (np.where(first, low, 0.0), np.where(first, high, 0.0), values)
    *_, values, errors, _ = while_loop(unfinished, halve, (*start, xp.where(first, error, 0.0), 1))
    return xp.sum(values, axis=0), xp.sum(errors)


def _gauss_kronrod(points: Function, left, right, size: Function) -> tuple[Any, Any]:
    """Return the integral between two points by the rule of 21 points, and QUADPACK's estimate of its error."""
    half, middle = (right - left) / 2, (left + right) / 2
    y = _floats(points(middle + half * NODES))
    total = lambda weights, y: xp.tensordot(weights, y, 1)
    value = half * total(KRONROD_WEIGHTS, y)
    fixed, width = stop_gradient(y), xp.abs(half)
    mean = total(KRONROD_WEIGHTS, fixed) / 2
    difference = width * size(total(KRONROD_WEIGHTS - GAUSS_WEIGHTS, fixed))
    deviation = width * size(total(KRONROD_WEIGHTS, xp.abs(fixed - mean)))
    ratio = difference / xp.where(deviation == 0, 1.0, deviation)
    error = xp.where(deviation == 0, difference, deviation * xp.minimum(1.0, (200 * ratio) ** 1.5))
    rounding = 50 * np.finfo(np.float64).eps * width * size(total(KRONROD_WEIGHTS, xp.abs(fixed)))
    return value, xp.maximum(error, rounding)


def _limit(end, *outer):
    """Return a limit of an inner variable: a number, or a function of outer ones."""
    return end(*outer) if callable(end) else end


def _nested(func: Function, ranges: Sequence[Any], options: dict[str, Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Integrate over the last range outermost. A range is a pair, or a function of outer variables and arguments."""
    *inner, outermost = ranges
    pair = outermost(*args) if callable(outermost) else outermost
    if not inner:
        return quad(lambda x: func(x, *args), pair[0], pair[1], **options)
    value = lambda x: _nested(func, inner, options, (x, *args))[0]
    return quad(value, pair[0], pair[1], **options)


def dblquad(func: Function, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8) -> tuple[Any, Any]:
    """Return the integral of func(y, x) for x from a to b and y from gfun(x) to hfun(x), and the error by x.

    See `quad` for derivatives. `gfun` and `hfun` may be numbers.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> volume = lambda s: integrate.dblquad(lambda y, x: s * x * y, 0.0, 1.0, 0.0, lambda x: x)[0]
    >>> print(round(float(grad(volume)(2.0)), 9))
    0.125
    """
    ranges = [lambda x, *rest: (_limit(gfun, x), _limit(hfun, x)), (a, b)]
    return _nested(func, ranges, {"epsabs": epsabs, "epsrel": epsrel}, tuple(args))


def tplquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (),
    epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the integral of func(z, y, x) over z from qfun(x, y) to rfun(x, y) and the ranges of `dblquad`."""
    ranges = [
        lambda y, x, *rest: (_limit(qfun, x, y), _limit(rfun, x, y)),
        lambda x, *rest: (_limit(gfun, x), _limit(hfun, x)),
        (a, b),
    ]
    return _nested(func, ranges, {"epsabs": epsabs, "epsrel": epsrel}, tuple(args))


def nquad(func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """Return the integral over several ranges, from the innermost one on, and the error by the last variable.

    A range is a pair, or a function of the outer variables and `args` that returns one. `opts` is a dictionary of
    options of `quad` for all variables.
    """
    if full_output:
        raise refuse("scipy.integrate.nquad with full_output")
    if opts is not None and not isinstance(opts, dict):
        raise ArgumentError("nquad", "opts", "is not a dictionary", "pass one for all variables")
    further = () if args is None else args if isinstance(args, tuple) else (args,)
    return _nested(func, list(ranges), dict(opts or {}), further)


def _samples(name: str, y, x, axis: int, of_points=xp.asarray) -> tuple[Any, Any, int]:
    """Return samples along the last axis, the distances of their points if there are points, and the axis.

    A function of points says in what they are subtracted: small integers wrap where SciPy's do.
    """
    y = floats(y)
    along = axis_of(axis, y.ndim, name)
    ctx = context_of(name, y)
    y = xp.moveaxis(y, along, -1)
    if x is None:
        return y, None, along
    x = of_points(x)
    if x.ndim != 1:
        if x.ndim != y.ndim:
            raise ArgumentError(name, "x", f"has {x.ndim} axes", "pass a vector, or an array of the shape of y")
        x = xp.moveaxis(x, along, -1)
    points, count = sizes(x)[-1], sizes(y)[-1]
    ctx.require_equal(points, count, f"{points} points have {count} samples")
    return y, xp.diff(x, axis=-1), along


def _divided(numerator, denominator):
    """Return a quotient that is 0 where the denominator is."""
    is_zero = denominator == 0
    return xp.where(is_zero, 0.0, numerator / xp.where(is_zero, 1.0, denominator))


def _accumulated(areas, initial, along: int):
    """Return running sums of areas along the last axis, moved to its place, with a first value if there is one."""
    total = xp.cumsum(areas, axis=-1)
    if initial is not None:
        first = xp.asarray(initial)
        dtype = xp.result_type(total, first)
        total, first = total.astype(dtype), xp.broadcast_to(first.astype(dtype), (*total.shape[:-1], 1))
        total = xp.concatenate([first, total + first], axis=-1)
    return xp.moveaxis(total, -1, along)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral of samples y along an axis by Simpson's rule, of at least one sample.

    The samples are at the points x, or `dx` apart. x is a vector or has the shape of y. For an even number of samples
    the last interval is that of the parabola through the last three, and two samples make a trapezoid. Results without
    x keep float32, which SciPy does for odd numbers alone.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> print(grad(lambda y: integrate.simpson(y, dx=0.5))(np.ones(5)))
    [0.16666667 0.66666667 0.33333333 0.66666667 0.16666667]
    """
    y, steps, _ = _samples("simpson", y, x, axis)
    count = y.shape[-1]
    last = y[..., -1]  # requires a sample
    if steps is None:
        steps = xp.broadcast_to(xp.asarray(dx, y.dtype), (count - 1,))
    else:
        steps = steps.astype(np.float64)
    pairs = max_dim((count - 1) // 2, 0)
    left, middle, right = (y[..., i : 2 * pairs + max(i - 1, 0) : 2] for i in range(3))
    h0, h1 = steps[..., 0 : 2 * pairs : 2], steps[..., 1 : 2 * pairs : 2]
    both, ratio = h0 + h1, _divided(h0, h1)
    areas = left * (2.0 - _divided(1.0, ratio)) + middle * both * _divided(both, h0 * h1) + right * (2.0 - ratio)
    whole = xp.sum(both / 6.0 * areas, axis=-1)
    return xp.where(count % 2 == 0, whole + _last_interval(y, steps, last), whole)


def _last_interval(y, steps, last):
    """Return the integral over the last interval, by the parabola through the last three samples (Cartwright, 2017)."""
    count = y.shape[-1]
    three = count > 2
    one, two = max_dim(count - 2, 0), max_dim(count - 3, 0)
    padded = xp.concatenate([steps, xp.zeros((*steps.shape[:-1], 1), steps.dtype)], axis=-1)
    h0, h1 = padded[..., two], padded[..., one]
    alpha, beta = _divided(2 * h1**2 + 3 * h0 * h1, 6 * (h0 + h1)), _divided(h1**2 + 3 * h0 * h1, 6 * h0)
    parabola = alpha * last + beta * y[..., one] - _divided(h1**3, 6 * h0 * (h0 + h1)) * y[..., two]
    return xp.where(three, parabola, h1 / 2 * (last + y[..., one]))


def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Return the integrals of samples y up to each point but the first, by parabolas through three points.

    The samples are at the points x, or `dx` apart. x is a vector or has the shape of y, and increases. `initial` is the
    integral up to the first point, and is put first. Two samples make a trapezoid, which keeps float32.
    """
    y, steps, along = _samples("cumulative_simpson", y, x, axis, of_points=floats)
    count = y.shape[-1]
    y[..., -1]  # requires a sample
    if steps is not None:
        check(steps > 0, "cumulative_simpson: x must increase")
    if y.dtype.char in "efF" and count < 3:
        areas = (dx if steps is None else steps) * (y[..., 1:] + y[..., :-1]) / 2.0
        return _accumulated(areas, _first(y, initial, along), along)
    steps = xp.broadcast_to(xp.asarray(dx, np.float64), (count - 1,)) if steps is None else steps
    position = xp.arange(count - 1)
    back = (position % 2 == 1) | (position == count - 2)  # intervals that end a parabola; others begin one
    start = xp.clip(xp.where(back, position - 1, position), 0, max_dim(count - 3, 0))
    samples = [y[..., xp.minimum(start + i, count - 1)] for i in range(3)]
    widths = [steps[..., xp.minimum(start + i, max_dim(count - 2, 0))] for i in range(2)]
    f1, f2, f3 = (xp.where(back, b, a) for a, b in zip(samples, samples[::-1], strict=True))
    d1, d2 = (xp.where(back, b, a) for a, b in zip(widths, widths[::-1], strict=True))
    near, ratio = d1 / (d1 + d2), d1 / d2
    product = near * ratio
    parabola = d1 / 6 * ((3 - near) * f1 + (3 + product + near) * f2 - product * f3)
    areas = xp.where(count > 2, parabola, steps * (y[..., 1:] + y[..., :-1]) / 2)
    return _accumulated(areas, _first(y, initial, along), along)


def _first(y, initial, along: int):
    """Return the first integrals along the last axis, if there are some."""
    first = None if initial is None else xp.asarray(initial)
    return xp.moveaxis(first, along, -1) if first is not None and first.ndim == y.ndim else first
