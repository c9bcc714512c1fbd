"""Evaluate families of distributions from their standard forms, as `scipy.stats` does.

A family is a `Form`: functions of a standardised point and of the shape parameters. Location, scale, supports and
invalid parameters are handled here, once for all families. Concrete arguments go to SciPy itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced
from anyshape.numpy.serve import guarded, refuse
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support import elsewhere
from anyshape.support.packages import scipy_stats
from anyshape.transforms.control import stop_gradient

Function = Callable[..., Any]
INF = np.inf
# as torch, JAX and TensorFlow call them
_METHODS = {
    "log_prob": "logpdf", "prob": "pdf", "sample": "rvs", "quantile": "ppf", "icdf": "ppf", "log_cdf": "logcdf",
    "survival_function": "sf", "log_survival_function": "logsf", "variance": "var", "stddev": "std",
}  # fmt: skip


def positive(*shapes: Any) -> Any:
    """Return whether all shape parameters are positive."""
    valid = np.True_
    for shape in shapes:
        valid = valid & (shape > 0)
    return valid


@dataclass(frozen=True, kw_only=True)
class Form:
    """Standard form of a family: location 0 and scale 1.

    Functions take a point or a probability first, then the shape parameters. They may rely on a point inside of the
    support, on a probability between 0 and 1, and on valid parameters. What is None is derived from the others.

    - `lent`: names of the fields that are methods of SciPy's.
    - `shapes`: names of the shape parameters, in SciPy's order.
    - `log_density`: logarithm of the density, or of the probability of an integer for a discrete family.
    - `density`: its exponential, where it has derivatives at a density of 0 that the logarithm loses.
    - `exponent`: power of the point by which the density vanishes or grows at an end 0 of the support.
    - `vanishes`: whether the density is 0 at infinite points.
    - `support`: bounds of the support by the shape parameters; `open_ends` excludes them from the density, always or
      where it holds for the shape parameters.
    - `valid`: whether shape parameters are admissible.
    - `closed_quantiles`: `ppf` and `isf` also hold at the probabilities 0 and 1, with their derivatives.
    """

    lent: str
    log_density: Function
    density: Function | None = None
    exponent: Function | None = None
    vanishes: bool = True
    shapes: str
    support: Function
    open_ends: bool | Function
    valid: Function
    safe: float = 1.0  # admissible value of every shape parameter, computed with where one is not
    discrete: bool
    closed_quantiles: bool = False
    cdf: Function | None = None
    sf: Function | None = None
    logcdf: Function | None = None
    logsf: Function | None = None
    ppf: Function | None = None
    isf: Function | None = None
    mean: Function | None = None
    var: Function | None = None
    entropy: Function | None = None


class Parameters(NamedTuple):
    """Parameters of a call as float64 arrays; where they are not valid, admissible ones stand for them."""

    shapes: tuple[Any, ...]
    loc: Any
    scale: Any
    valid: Any


def constant(value: float) -> Function:
    """Return a function of any shape parameters that is this number."""
    return lambda *shapes: value


def where(condition: Any, value: Any, otherwise: Any) -> Any:
    """Choose by a condition; return `value` as it is where the condition is known to hold everywhere."""
    if not is_traced(condition) and np.all(condition):
        return value
    return xp.where(condition, value, otherwise)


def _interior(low, high):
    """Return a point inside of the support."""
    middle = xp.where(xp.isinf(high), low + 1, 0.5 * (low + high))
    return xp.where(xp.isinf(low), xp.where(xp.isinf(high), 1.0, high - 1), middle)


LOG_ZERO = -800.0  # its exponential is 0


def exponential(logarithm: Any) -> Any:
    """Return the exponential; where it is 0 it has slopes 0, also where the logarithm has infinite ones."""
    return xp.exp(xp.maximum(logarithm, LOG_ZERO))


def complement(logarithm: Any) -> Any:
    """Return 1 minus the exponential of the logarithm of a probability."""
    return 0.0 - xp.expm1(xp.maximum(logarithm, LOG_ZERO))


def log_complement(logarithm: Any) -> Any:
    """Return the logarithm of 1 minus the exponential of a logarithm."""
    is_near = logarithm > -0.7
    near = xp.log(-xp.expm1(xp.where(is_near, logarithm, -1.0)))
    return xp.where(is_near, near, xp.log1p(-exponential(xp.where(is_near, -1.0, logarithm))))


def scaled(factor: Function, rest: Function) -> dict[str, Function]:
    """Return the densities factor(shapes) exp(rest); the logarithm of the factor would lose its second derivatives."""
    return {
        "log_density": lambda z, *shapes: xp.log(factor(*shapes)) + rest(z, *shapes),
        "density": lambda z, *shapes: factor(*shapes) * exponential(rest(z, *shapes)),
    }


# for each function of a form the others that it follows from, best first
_DERIVATIONS: dict[str, tuple[tuple[str, Function], ...]] = {
    "density": (("log_density", exponential),),
    "cdf": (("logcdf", exponential), ("logsf", complement), ("sf", lambda p: 1 - p)),
    "sf": (("logsf", exponential), ("logcdf", complement), ("cdf", lambda p: 1 - p)),
    "logcdf": (("logsf", log_complement), ("cdf", xp.log), ("sf", lambda p: xp.log1p(-p))),
    "logsf": (("logcdf", log_complement), ("sf", xp.log), ("cdf", lambda p: xp.log1p(-p))),
}
_COMPLEMENTS = {"logcdf": ("cdf", "sf"), "logsf": ("sf", "cdf")}


def log_by_complement(probability: Function, complement: Function) -> Function:
    """Return the logarithm of a probability; where it is near 1 the complement has the digits."""

    def function(*xs):
        p, rest = probability(*xs), complement(*xs)
        is_small = p < 0.5
        return xp.where(is_small, xp.log(xp.where(is_small, p, 0.5)), xp.log1p(-xp.where(is_small, 0.5, rest)))

    return function


class Family:
    """Family of distributions, with the methods and arguments of the one of `scipy.stats`.

    Points, probabilities and parameters broadcast, and results are float64. Parameters that are not valid give NaN, and
    points outside of the support a density of 0. Derivatives exist by points and by parameters. Those by the
    exponent of a zeta function and by the order of a Bessel function raise UnsupportedFunctionError.

    >>> from anyshape import grad
    >>> from anyshape.scipy.stats import gamma
    >>> fit = grad(lambda a, scale: np.sum(gamma.logpdf(np.array([1.0, 2.5, 4.0]), a, scale=scale)), argnums=(0, 1))
    >>> [float(slope.round(4)) for slope in fit(2.0, 1.25)]
    [0.3648, 0.0]
    """

    def __init__(self, name: str, form: Form) -> None:
        self.name, self.form = name, form
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        defaults = dict.fromkeys(form.shapes.split(), inspect.Parameter.empty) | {"loc": 0.0}
        if not form.discrete:
            defaults["scale"] = 1.0
        self._signature = inspect.Signature([inspect.Parameter(n, either, default=v) for n, v in defaults.items()])
        point = inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)
        self._point_signature = self._signature.replace(parameters=[point, *self._signature.parameters.values()])
        density = f"{name}.{'pmf' if form.discrete else 'pdf'}{self._point_signature}"
        self.__doc__ = f"{density}\n\n{inspect.cleandoc(type(self).__doc__ or '')}"

    def __repr__(self) -> str:
        return f"<family of distributions anyshape.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **parameters: Any) -> Frozen:
        """Return the distribution with these parameters."""
        self._bound(self._signature, *args, **parameters)
        return Frozen(self, args, parameters)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        if not hasattr(theirs := getattr(scipy_stats, self.name), method):
            error = AttributeError(f"{self.name} has no method {method!r}", name=method, obj=self)
            near = _METHODS.get(method) or elsewhere.alike(method, dir(theirs))
            error.add_note(f"  write {self.name}.{near}(x, ...)" if near else "  it has the methods of SciPy's")
            raise error
        return guarded(getattr(theirs, method), f"scipy.stats.{self.name}.{method}")

    # -- densities

    def logpdf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the logarithm of the density at x; -inf outside of the support."""
        return self._density("logpdf", "log_density", x, args, parameters, -INF)

    def pdf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the density at x; 0 outside of the support."""
        return self._density("pdf", "density", x, args, parameters, 0.0)

    def logpmf(self, k: Any, *args: Any, **parameters: Any) -> Any:
        """Return the logarithm of the probability of k; -inf where k is not an integer of the support."""
        return self._density("logpmf", "log_density", k, args, parameters, -INF)

    def pmf(self, k: Any, *args: Any, **parameters: Any) -> Any:
        """Return the probability of k; 0 where k is not an integer of the support."""
        return self._density("pmf", "density", k, args, parameters, 0.0)

    # -- distribution functions and quantiles

    def cdf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the probability of values up to x."""
        return self._cumulative("cdf", x, args, parameters, 0.0, 1.0)

    def sf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the probability of values above x, the survival function."""
        return self._cumulative("sf", x, args, parameters, 1.0, 0.0)

    def logcdf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the logarithm of the probability of values up to x."""
        return self._cumulative("logcdf", x, args, parameters, -INF, 0.0)

    def logsf(self, x: Any, *args: Any, **parameters: Any) -> Any:
        """Return the logarithm of the probability of values above x."""
        return self._cumulative("logsf", x, args, parameters, 0.0, -INF)

    def ppf(self, q: Any, *args: Any, **parameters: Any) -> Any:
        """Return the quantile of the probability q, the inverse of `cdf`; NaN outside of [0, 1]."""
        return self._quantile("ppf", q, args, parameters)

    def isf(self, q: Any, *args: Any, **parameters: Any) -> Any:
        """Return the inverse of `sf` at q; NaN outside of [0, 1]."""
        return self._quantile("isf", q, args, parameters)

    def median(self, *args: Any, **parameters: Any) -> Any:
        """Return the median."""
        return self.ppf(0.5, *args, **parameters)

    def interval(self, confidence: Any, *args: Any, **parameters: Any) -> tuple[Any, Any]:
        """Return the ends of the interval around the median that has this probability."""
        tail = 0.5 * (1 - confidence)
        return self.ppf(tail, *args, **parameters), self.ppf(1 - tail, *args, **parameters)

    # -- moments and entropy

    def mean(self, *args: Any, **parameters: Any) -> Any:
        """Return the mean."""
        return self._moment("mean", args, parameters, lambda m, p: p.loc + p.scale * m)

    def var(self, *args: Any, **parameters: Any) -> Any:
        """Return the variance."""
        return self._moment("var", args, parameters, lambda v, p: xp.square(p.scale) * v)

    def std(self, *args: Any, **parameters: Any) -> Any:
        """Return the standard deviation."""
        return xp.sqrt(self.var(*args, **parameters))

    def entropy(self, *args: Any, **parameters: Any) -> Any:
        """Return the differential entropy, in nats."""
        return self._moment("entropy", args, parameters, lambda h, p: h + xp.log(p.scale))

    # -- machinery

    def _parameters(self, bound: inspect.BoundArguments) -> Parameters:
        """Return the parameters of a call."""
        bound.apply_defaults()
        values = {k: real_floats(v) for k, v in bound.arguments.items() if k != "x"}
        loc, scale = values.pop("loc"), values.pop("scale", np.float64(1))
        valid = self.form.valid(*values.values()) & (scale > 0)
        shapes = tuple(where(valid, s, self.form.safe) for s in values.values())
        return Parameters(shapes, loc, where(valid, scale, 1.0), valid)

    def _function(self, name: str, method: str) -> Function:
        """Return a function of the form, or one that follows from others."""
        if (function := getattr(self.form, name, None)) is not None:
            return function
        pair = [f for other in _COMPLEMENTS.get(name, ()) if (f := self._without_cancellation(other)) is not None]
        if len(pair) == 2:
            return log_by_complement(*pair)
        for other, finish in _DERIVATIONS.get(name, ()):
            if (source := getattr(self.form, other, None)) is not None:
                return lambda *xs: finish(source(*xs))
        raise refuse(f"scipy.stats.{self.name}.{method}")

    def _without_cancellation(self, name: str) -> Function | None:
        """Return a probability that is not 1 minus another one, or None."""
        function, logarithm = getattr(self.form, name), getattr(self.form, f"log{name}")
        return function or (logarithm and (lambda *xs: xp.exp(logarithm(*xs))))

    def _bound(self, signature: inspect.Signature, *args, **parameters) -> inspect.BoundArguments:
        """Return the arguments by name; raise ArgumentError where the distribution has no such parameters."""
        try:
            return signature.bind(*args, **parameters)
        except TypeError as error:
            advice = f"give its parameters: {', '.join(signature.parameters)}"
            problem = re.sub("^(?=too|multiple)", "has ", re.sub("^missing", "lacks", str(error)))
            raise ArgumentError(self.name, "the call", problem, advice) from None

    def _call_scipy(self, method: str, args: tuple[Any, ...], parameters: dict[str, Any]):
        distribution = getattr(scipy_stats, self.name)
        try:
            return getattr(distribution, method)(*args, **parameters)
        except TypeError as error:
            if not str(error).startswith("_parse_args"):
                raise
            shapes = [*filter(None, (distribution.shapes or "").split(", ")), "loc", "scale"]
            problem = str(error).replace("_parse_args", f"{self.name}.{method}")
            raise ArgumentError(self.name, "the call", problem, f"give its parameters: {', '.join(shapes)}") from None

    def _standardised(self, x, args: tuple[Any, ...], parameters: dict[str, Any]) -> tuple[Any, Parameters]:
        """Return the standardised point and the parameters of a call; infinite points have no derivative by these.

        An infinite quotient has an infinite derivative by its divisor, and this times 0 is NaN.
        """
        p = self._parameters(self._bound(self._point_signature, x, *args, **parameters))
        x = real_floats(x)
        finite = ~xp.isinf(x)
        return where(finite, (where(finite, x, 0.0) - p.loc) / p.scale, x), p

    def _density(self, method: str, name: str, x, args: tuple[Any, ...], parameters: dict[str, Any], outside: float):
        if (method in ("pmf", "logpmf")) != self.form.discrete:
            raise AttributeError(f"scipy.stats.{self.name} has no method {method}", name=method)
        if not is_traced(x, *args, *parameters.values()):
            return self._call_scipy(method, (x, *args), parameters)
        function = self._function(name, method)
        z, p = self._standardised(x, args, parameters)
        z, exponent = self._at_end(x, z, p, 1.0 if name == "density" else INF)
        low, high = self.form.support(*p.shapes)
        inside = self._inside(z, low, high, p.shapes)
        if self.form.discrete:
            inside = inside & (xp.floor(z) == z) & ~xp.isinf(z)
        if name == "density" and self.form.vanishes:
            inside = inside & ~xp.isinf(z)  # flat there, where logarithms are not
        value = function(xp.where(inside, z, _interior_of(self.form, low, high)), *p.shapes)
        if name == "log_density":
            log_scale = xp.log(p.scale)
            value = value - log_scale - exponent * (log_scale - stop_gradient(log_scale))
        else:
            value = value / p.scale
        value = xp.where(inside, value, xp.where(xp.isnan(z), z, outside))
        return where(p.valid, value, np.nan)

    def _inside(self, z, low, high, shapes: tuple[Any, ...]):
        """Return whether points have a density, between the ends of the support."""
        are_open = self.form.open_ends
        if not callable(are_open):
            return (low < z) & (z < high) if are_open else (low <= z) & (z <= high)
        return (low <= z) & (z <= high) & ~(are_open(*shapes) & ((z == low) | (z == high)))

    def _at_end(self, x, z, p: Parameters, steep: float) -> tuple[Any, Any]:
        """Return the point, and the exponent of the density where it is an end 0 with an infinite slope; 0 elsewhere.

        The point does not depend on the scale there: its derivative by this is 0, and 0 times infinity is NaN.
        """
        if self.form.exponent is None or not is_traced(p.scale):
            return z, 0.0
        exponent = self.form.exponent(*p.shapes)
        is_end = (z == 0) & (exponent < steep) & (exponent != 0)
        fixed = (xp.where(is_end, real_floats(x), 0.0) - xp.where(is_end, p.loc, 0.0)) / stop_gradient(p.scale)
        return xp.where(is_end, fixed, z), xp.where(is_end, exponent, 0.0)

    def _cumulative(
        self, method: str, x, args: tuple[Any, ...], parameters: dict[str, Any], below: float, above: float
    ):
        if not is_traced(x, *args, *parameters.values()):
            return self._call_scipy(method, (x, *args), parameters)
        function = self._function(method, method)
        z, p = self._standardised(x, args, parameters)
        low, high = self.form.support(*p.shapes)
        is_below = (z < low) | (z == -INF) if self.form.discrete else z <= low
        inside = ~is_below & (z < high)
        if self.form.discrete:
            z = xp.floor(z)
        value = function(xp.where(inside, z, _interior_of(self.form, low, high)), *p.shapes)
        value = xp.where(inside, value, xp.where(is_below, below, above))
        return where(p.valid, xp.where(xp.isnan(z), z, value), np.nan)

    def _quantile(self, method: str, q, args: tuple[Any, ...], parameters: dict[str, Any]):
        if not is_traced(q, *args, *parameters.values()):
            return self._call_scipy(method, (q, *args), parameters)
        function = getattr(self.form, method)
        if function is None and method == "isf":
            lower = self._function("ppf", method)
            function = lambda q, *shapes: lower(1 - q, *shapes)
        if function is None:
            raise refuse(f"scipy.stats.{self.name}.{method}")
        p = self._parameters(self._bound(self._point_signature, q, *args, **parameters))
        q = real_floats(q)
        low, high = self.form.support(*p.shapes)
        if self.form.discrete:
            low = low - 1
        inside = (q >= 0) & (q <= 1) if self.form.closed_quantiles else (q > 0) & (q < 1)
        value = function(xp.where(inside, q, 0.5), *p.shapes)
        ends = [low, high] if method == "ppf" else [high, low]
        if not (self.form.discrete or self.form.closed_quantiles):
            step = q - stop_gradient(q) if method == "ppf" else stop_gradient(q) - q
            ends = [self._end(x, q == k, step, p.shapes) for k, x in enumerate(ends)]
        value = xp.where(inside, value, xp.where(q == 0, ends[0], xp.where(q == 1, ends[1], np.nan)))
        return where(p.valid, value * p.scale + p.loc, np.nan)

    def _end(self, end, is_there, step, shapes: tuple[Any, ...]):
        """Return an end of the support for a step of 0 from its probability; the slope is the limit of 1 / density."""
        end = real_floats(end)
        finite = ~xp.isinf(end)
        low, high = self.form.support(*shapes)
        point = where(finite, end, _interior(low, high))
        with np.errstate(all="ignore"):  # an end that is known may be a pole of a formula
            density = stop_gradient(self._function("density", "pdf")(point, *shapes))
        is_steep = is_there & ~(finite & (density > 0))  # the density vanishes, or is the limit 0 that a formula lacks
        slope = step / xp.where(density > 0, density, 1.0)
        return end + xp.where(is_steep, xp.cbrt(xp.where(is_steep, step, 1.0)), slope)

    def _moment(self, method: str, args: tuple[Any, ...], parameters: dict[str, Any], finish: Function):
        if not is_traced(*args, *parameters.values()):
            return self._call_scipy(method, args, parameters)
        function = self._function(method, method)
        p = self._parameters(self._bound(self._signature, *args, **parameters))
        return where(p.valid, finish(function(*p.shapes), p), np.nan)


def _interior_of(form: Form, low, high):
    """Return a point of the support that is computed with where a point lies outside."""
    return xp.where(xp.isinf(low), 0.0, low) if form.discrete else _interior(low, high)


class Frozen:
    """Distribution: a family with its parameters."""

    def __init__(self, family: Any, args: tuple[Any, ...], parameters: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = family, args, parameters

    def __repr__(self) -> str:
        return f"<distribution anyshape.scipy.stats.{self.dist.name}>"

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        function = getattr(self.dist, method)

        def bound(*points, **options):
            return function(*points, *self.args, **self.kwds, **options)

        bound.__name__, bound.__doc__ = method, function.__doc__
        return bound
