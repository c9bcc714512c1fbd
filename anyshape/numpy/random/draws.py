"""Draws of traced generators: what the methods of `Generator` and of `RandomState` share, and their parameters.

A draw gives the numbers that NumPy's method gives, and leaves the generator in the same state.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import broadcast_sizes, numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.indexing import take
from anyshape.numpy.linalg.decompositions import svd
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    axis_of,
    choice_of,
    new_shape,
    new_size,
    number_dtype,
    sizes,
)
from anyshape.ops import control as ct
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import random as rd
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
BITS = np.random.PCG64(0)  # of all handles: none of them draws while it is traced

# Parameters of methods that NumPy draws as they are, with defaults. The ones in _INTEGERS are integers.
_PARAMETERS: dict[str, str] = {
    "beta": "a b",
    "binomial": "n p",
    "f": "dfnum dfden",
    "geometric": "p",
    "hypergeometric": "ngood nbad nsample",
    "lognormal": "mean=0.0 sigma=1.0",
    "logseries": "p",
    "negative_binomial": "n p",
    "noncentral_chisquare": "df nonc",
    "noncentral_f": "dfnum dfden nonc",
    "pareto": "a",
    "poisson": "lam=1.0",
    "power": "a",
    "standard_cauchy": "",
    "standard_t": "df",
    "triangular": "left mode right",
    "vonmises": "mu kappa",
    "wald": "mean scale",
    "weibull": "a",
    "zipf": "a",
}
_INTEGERS = {("binomial", "n"), ("hypergeometric", "ngood"), ("hypergeometric", "nbad"), ("hypergeometric", "nsample")}
_DISCRETE = {
    "binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "zipf",
}  # fmt: skip


# -- makers of methods


def _drawn(method: str):
    """Return a method that draws by NumPy's own."""
    entries = [entry.partition("=") for entry in _PARAMETERS[method].split()]
    dtype, kind = (INT, int) if method in _DISCRETE else (FLOAT, float)
    defaults = [(name, float(text) if text else inspect._empty) for name, _, text in entries] + [("size", None)]
    kind_of_all = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind_of_all, default=x) for name, x in defaults])

    def draw(self, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        *values, size = bound.arguments.values()
        operands = [
            integer_parameter(method, name, x, INT) if (method, name) in _INTEGERS else parameter(method, name, x)
            for (name, _, _), x in zip(entries, values, strict=True)
        ]
        return self._numbers(method, operands, size, dtype, kind)

    draw.__name__ = method
    return draw


def refused(name: str) -> Any:
    """Return a method that has no meaning in a program."""

    def refuse(self, *args, **kwargs):
        problem = "has no meaning while a function is traced, as its generator is that of the run"
        raise UnsupportedFunctionError(
            f"{type(self).__name__}.{name}", problem, "call it outside of the traced function", user_line()
        )

    return refuse


_REFUSED = ("bytes", "__reduce__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__")
_Rows: Any = type(
    "_Rows",
    (),
    {name: _drawn(name) for name in _PARAMETERS}
    | {name: refused(name) for name in _REFUSED}
    | {"_bit_generator": property(refused("_bit_generator"))},
)


class Draws(_Rows):
    """Methods that the traced forms of `Generator` and `RandomState` share.

    `traced` is the value in the graph: one generator, or an array of generators, which `vmap` maps over.
    """

    traced: Traced

    def __repr__(self) -> str:
        return f"{type(self).__name__}(traced)"

    __str__ = __repr__

    # -- draws that are scaled and moved

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("normal", "standard_normal", loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("laplace", "laplace", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("logistic", "logistic", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("gumbel", "gumbel", loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("exponential", "standard_exponential", None, scale, size)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("rayleigh", "rayleigh", None, scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        low, high = parameter("uniform", "low", low), parameter("uniform", "high", high)
        span = _difference(high, low)
        require(
            "uniform", "high - low must be finite and not negative", span, lambda x: np.isfinite(x) & ~np.signbit(x)
        )
        return self._affine("random", low, span, size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        shape, scale = parameter("gamma", "shape", shape), _scale("gamma", "scale", scale)
        return self._affine("standard_gamma", None, scale, size, (shape,))

    def chisquare(self, df: Any, size: Any = None) -> Any:
        df = parameter("chisquare", "df", df)
        require("chisquare", "df must be positive", df, lambda x: (x > 0) | (x != x))
        return self._affine("standard_gamma", None, np.asarray(2.0), size, (df / 2,))

    # -- draws of vectors

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        n, pvals = integer_parameter("multinomial", "n", n, INT), row_parameter("multinomial", "pvals", pvals)
        return self._rows("multinomial", (n, pvals), pvals, size, INT)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        alpha = row_parameter("dirichlet", "alpha", alpha, 1)
        return self._rows("dirichlet", (alpha,), alpha, size, FLOAT)

    # -- normal vectors and positions

    def _normal_rows(self, mean, cov, size, check_valid: str, checked: str, tol: float) -> tuple[Any, Any, Any]:
        """Return rows of standard normal numbers, with the mean and the covariance that they shall have."""
        name = "multivariate_normal"
        choice_of(name, "check_valid", check_valid, ("warn", "raise", "ignore"))
        mean, cov = row_parameter(name, "mean", mean, 1), as_traced(parameter(name, "cov", cov))
        (count,) = sizes(mean)
        if len(sizes(cov)) != 2:
            raise ArgumentError(name, "cov", "is not a matrix", "give the covariance of each pair of elements")
        cov = mv.broadcast_to(cov, (count, count))
        if checked != "ignore":
            check_covariance(cov, checked, tol)
        outer = () if size is None else new_shape(size, name)
        return rd.draw(self._one(name), "standard_normal", (*outer, count))[0].as_ndarray(), mean, cov

    def _chosen(self, a, size, p, axis: int, options: tuple[tuple[str, Any], ...]):
        """Return elements of an array, or numbers below a size, that `choice` draws."""
        among = None if is_size(a) else asarray(a, None, "choice")
        if among is not None and not len(sizes(among)):
            raise ArgumentError("choice", "a", "is a number in an array", "give a size, or an array with an axis")
        axis = 0 if among is None else axis_of(axis, len(sizes(among)), "choice")
        count = new_size(a, "choice") if among is None else sizes(among)[axis]
        weights = [] if p is None else [mv.broadcast_to(row_parameter("choice", "p", p, 1), (count,))]
        shape = () if size is None else new_shape(size, "choice")
        positions, _ = rd.draw(self._one("choice"), "choice", shape, *weights, dtype=INT, count=count, options=options)
        if among is None:
            return shown(positions, size is None, int if p is None else np.generic)
        return shown(take(among, positions, axis=axis), size is None, np.generic)

    def _permutation(self, x, axis: int = 0):
        """Return an array, or the numbers below a size, in another order."""
        if is_size(x):
            count = new_size(x, "permutation")
            return self._positions("permutation", count, count)
        x = asarray(x, None, "permutation")
        axis = axis_of(axis, len(sizes(x)), "permutation")
        count = sizes(x)[axis]
        return take(x, self._positions("permutation", count, count), axis=axis)

    def _shuffle(self, x, axis: int = 0) -> None:
        """Bring an array into another order."""
        array: Any = x
        if not isinstance(x, Traced) and not has_type(x, np.ndarray):
            advice = "shuffle an array, or take the items by rng.permutation(len(x))"
            raise ArgumentError("shuffle", "x", f"is of type {type(x).__name__}, not an array", advice)
        axis, count = axis_of(axis, len(sizes(x)), "shuffle"), numel(sizes(x))
        array[...] = take(array, self._positions("shuffle", sizes(x)[axis], count), axis=axis)

    # -- helpers

    def _one(self, method: str) -> Traced:
        """Return the value of one generator."""
        if self.traced.meta.rank:
            advice = f"map over the generators with vmap, as in vmap(lambda rng: rng.{method}(...))"
            raise ArgumentError(method, "the generator", "is an array of generators", advice)
        return self.traced

    def _numbers(self, method: str, operands: Sequence[Any], size, dtype, kind, options=()):
        """Return what a method draws, of the shape `size`, or of the broadcast parameters."""
        shape = shape_of(method, operands, size)
        numbers, _ = rd.draw(self._one(method), method, shape, *operands, dtype=dtype, options=options)
        return shown(numbers, size is None, kind)

    def _integers(self, method: str, low, high, size, dtype, options=()):
        """Return integers from a bound on, or from 0 up to the only one."""
        if high is None:
            low, high = 0, low
        number = number_dtype(dtype, method)
        wide = np.dtype(np.uint64) if number == np.uint64 else INT
        bounds = [integer_parameter(method, name, x, wide) for name, x in (("low", low), ("high", high))]
        return self._numbers("integers", bounds, size, number, dtype if dtype in (bool, int) else np.generic, options)

    def _typed(self, method: str, operands: Sequence[Any], size, dtype, out, options=()):
        """Return floats of a precision, written into `out` if that is given."""
        if (dtype := np.dtype(dtype)) not in (np.float32, np.float64):
            raise DTypeError(method, f"numbers of {dtype} are not drawn", "draw float64 or float32", user_line())
        if size is None and out is not None:
            size = sizes(out)
        return written_into(out, self._numbers(method, operands, size, dtype, float, options))

    def _moved(self, method: str, base: str, loc, scale, size):
        """Return base draws times the scale plus the location."""
        loc = None if loc is None else parameter(method, "loc", loc)
        return self._affine(base, loc, _scale(method, "scale", scale), size)

    def _affine(self, base: str, loc, scale, size, operands: Sequence[Any] = ()):
        parameters = [*([] if loc is None else [loc]), scale]
        shape = shape_of(base, [*parameters, *operands], size)
        numbers = rd.draw(self._one(base), base, shape, *operands)[0]
        if not _is_number(scale, 1.0):
            numbers = mv.broadcast_to(scale, shape) * numbers
        if loc is not None and not _is_number(loc, 0.0):
            numbers = mv.broadcast_to(loc, shape) + numbers
        return shown(numbers, size is None, float)

    def _rows(self, method: str, operands: Sequence[Any], row, size, dtype: np.dtype, options=()):
        """Return vectors as long as the last axis of `row`."""
        outer = [sizes(x)[:-1] if x is row else sizes(x) for x in operands]
        context = context_of(method, *operands)
        shape = broadcast_sizes(context, outer) if size is None else new_shape(size, method)
        numbers, _ = rd.draw(
            self._one(method), method, (*shape, sizes(row)[-1]), *operands, dtype=dtype, options=options
        )
        return numbers.as_ndarray()

    def _positions(self, method: str, length: Size, count: Size):
        return rd.draw(self._one(method), method, (length,), dtype=INT, count=count)[0].as_ndarray()


# -- parameters and results


def parameter(method: str, name: str, x: Any) -> Any:
    """Return a parameter as float64, as NumPy's methods take it."""
    return _converted(method, name, x, FLOAT, "biuf", "pass real numbers")


def integer_parameter(method: str, name: str, x: Any, dtype: np.dtype) -> Any:
    return _converted(method, name, x, dtype, "biu", "convert it with astype(int)")


def _converted(method: str, name: str, x, dtype: np.dtype, kinds: str, advice: str):
    """Return a parameter in a dtype; raise DTypeError for kinds that NumPy does not take."""
    is_known = has_type(x, (bool, int, float, complex, np.generic, np.ndarray))
    array = np.asarray(x) if is_known else asarray(x, None, method)
    if array.dtype.kind not in kinds:
        raise DTypeError(method, f"{name} is {array.dtype}", advice, user_line())
    return ew.convert(array, dtype) if isinstance(array, Traced) else array.astype(dtype, copy=False)


def _is_number(x, number: float) -> bool:
    """Return whether a parameter is known to be this number."""
    return not isinstance(x, Traced) and not x.ndim and float(x) == number


def row_parameter(method: str, name: str, x: Any, rank: int | None = None) -> Any:
    """Return a parameter that has an axis, or as many as demanded."""
    array = parameter(method, name, x)
    own = len(sizes(array))
    if own != rank if rank is not None else not own:
        raise ArgumentError(method, name, f"has {own} axes", f"give it {rank or 'at least one'}")
    return array


def _scale(method: str, name: str, x):
    scale = parameter(method, name, x)
    require(method, f"{name} must not be negative", scale, lambda x: ~np.signbit(x) | np.isnan(x))
    return scale


def require(method: str, demand: str, x: Any, holds: Callable[[Any], Any]) -> None:
    """Require a property of each element, now of what is known, and when the program runs of what is not."""
    if isinstance(x, Traced):
        ct.check(holds(x), f"{method}: {demand}")
    elif not np.all(holds(x)):
        name, _, problem = demand.partition(" must ")
        raise ArgumentError(method, name, f"must {problem}", "pass such numbers")


def _difference(high, low):
    if isinstance(high, Traced) or isinstance(low, Traced):
        return high - low
    with np.errstate(all="ignore"):
        return np.asarray(high - low)


def is_size(x: Any) -> bool:
    return has_type(x, (int, np.integer)) or isinstance(x, SymbolicSize)


def shape_of(method: str, operands: Sequence[Any], size: Any) -> tuple[Size, ...]:
    """Return the shape of the numbers; parameters must broadcast to it."""
    shapes = [sizes(x) for x in operands]
    if size is None:
        return broadcast_sizes(context_of(method, *operands), shapes)
    shape = new_shape(size, method)
    for x, own in zip(operands, shapes, strict=True):
        if own:
            mv.broadcast_to(x, shape)
    return shape


def shown(numbers: Any, is_number: bool, kind: Any) -> Any:
    """Return drawn numbers as what NumPy gives: an array, a Python number, or with `np.generic` a number of NumPy."""
    if not is_number:
        return numbers.as_ndarray()
    if numbers.meta.rank:
        return numbers
    if kind is np.generic:
        return numbers.as_scalar()
    return ew.convert(numbers, np.dtype(kind)).as_weak()


def written_into(out: Any, result: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


# -- covariances


def check_covariance(cov: Any, check_valid: str, tol: float) -> None:
    """Check a covariance as NumPy does: that it is the matrix of its own decomposition."""
    _, squares, rows = svd(cov)
    valid = np.allclose(rows.T * squares @ rows, cov, rtol=tol, atol=tol)
    if check_valid == "raise":
        require("multivariate_normal", "cov must be symmetric and positive-semidefinite", valid, lambda x: x)
    else:
        ct.warn(ew.logical_not(valid), "covariance is not symmetric positive-semidefinite.")
