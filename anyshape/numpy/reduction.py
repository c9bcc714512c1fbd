"""NumPy's reductions and cumulative functions, and scipy.special's logsumexp and softmax, as compositions of ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.operands.promotion import asarray, axis_of, is_traced, result_type, sizes
from anyshape.numpy.operands.symdim import is_shape, reduce_sizes
from anyshape.numpy.reduction_args import (
    ABSENT,
    along,
    finite_or_zero,
    infinite,
    keep,
    masked,
    numel,
    reduced_axes,
    refuse_out,
    spread,
    summed,
    summed_dtype,
)
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import stop_gradient
from anyshape.ops.creation import full

_BOOL = np.dtype(bool)

# -- sums and products -------------------------------------------------------------------------------------------


def _accumulated(
    ufunc: np.ufunc, name: str, reduce: Callable[..., Any], combine: Callable[..., Any], identity: int
) -> Callable[..., Any]:
    """np.sum or np.prod."""
    numpy_function = getattr(np, name)

    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
        keepdims: Any = ABSENT, initial: Any = ABSENT, where: Any = ABSENT,
    ) -> Any:  # fmt: skip
        if not is_traced(a, initial, where):
            return numpy_function(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)
        if is_shape(a, axis, dtype, out) and keepdims is initial is where is ABSENT:
            return reduce_sizes(ufunc, a)
        refuse_out(name, out)
        x = asarray(a, summed_dtype(ufunc, a, dtype))
        axes = reduced_axes(name, axis, x.ndim)
        x = masked(name, x, where, identity)
        if initial is ABSENT or initial is None:
            return keep(reduce(x, axes), axes, keepdims)
        first = _initial(name, initial, x.dtype)
        if axes and ufunc is np.multiply and x.dtype.kind in "fc":  # one that comes last may meet an overflow too late
            return keep(reduce(_behind(first, x, axes), (0,)), axes, keepdims)
        return combine(keep(reduce(x, axes) if axes else x, axes, keepdims), first)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


def _initial(name: str, initial: Any, dtype: np.dtype) -> Any:
    """What a reduction starts from: one number."""
    first = asarray(initial, dtype)
    if first.ndim:
        raise ArgumentError(name, "initial", f"has {first.ndim} axes", "pass a number, and combine arrays afterwards")
    return first


def _behind(first: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """What is reduced on one axis in front, behind a number."""
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = [sizes(x)[a] for a in kept]
    rows = mv.reshape(mv.transpose(x, (*axes, *kept)), (numel(x, axes), *shape))
    return mv.concatenate([mv.broadcast_to(first, (1, *shape)), rows], 0)


sum = _accumulated(np.add, "sum", summed, ew.add, 0)
prod = _accumulated(np.multiply, "prod", rd.reduce_prod, ew.mul, 1)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """As `numpy.count_nonzero`."""
    if not is_traced(a):
        return np.count_nonzero(a, axis=axis, keepdims=keepdims)
    x = ew.convert(asarray(a, _BOOL), np.dtype(np.int64))
    axes = reduced_axes("count_nonzero", axis, x.ndim)
    return keep(rd.reduce_sum(x, axes), axes, keepdims)


# -- extremes ----------------------------------------------------------------------------------------------------


def _extreme(name: str, reduce: Callable[..., Any], combine: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """np.max (sign -1: of nothing it is the least value) or np.min."""
    numpy_function = getattr(np, name)

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = ABSENT, initial: Any = ABSENT, where: Any = ABSENT
    ) -> Any:
        if not is_traced(a, initial, where):
            return numpy_function(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        if is_shape(a, axis, None, out) and keepdims is initial is where is ABSENT:
            return reduce_sizes(np.maximum if sign < 0 else np.minimum, a)
        refuse_out(name, out)
        x = asarray(a)
        axes = reduced_axes(name, axis, x.ndim)
        if initial is ABSENT or initial is None:
            if where is not ABSENT and where is not True:
                raise ArgumentError(name, "where", "leaves possibly nothing", "give the value of nothing as `initial`")
            return keep(reduce(x, axes), axes, keepdims)
        x = masked(name, x, where, infinite(x.dtype, sign))
        return combine(keep(reduce(x, axes, empty=True), axes, keepdims), _initial(name, initial, x.dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


max = amax = _extreme("max", rd.reduce_max, ew.maximum, -1)
min = amin = _extreme("min", rd.reduce_min, ew.minimum, 1)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = ABSENT) -> Any:
    """As `numpy.ptp`."""
    if not is_traced(a):
        return np.ptp(a, axis=axis, out=out, keepdims=keepdims)
    refuse_out("ptp", out)
    x = asarray(a)
    axes = reduced_axes("ptp", axis, x.ndim)
    return keep(ew.sub(rd.reduce_max(x, axes), rd.reduce_min(x, axes)), axes, keepdims)


def _position(name: str, find: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """np.argmax or np.argmin."""
    numpy_function = getattr(np, name)

    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = ABSENT) -> Any:
        if not is_traced(a):
            return numpy_function(a, axis=axis, out=out, keepdims=keepdims)
        refuse_out(name, out)
        x = asarray(a)
        rank = x.ndim
        if axis is None or rank == 0:
            reduced_axes(name, axis, rank)
            return keep(find(mv.reshape(x, (numel(x),)), 0), tuple(range(rank)), keepdims)
        chosen = axis_of(axis, rank, name)
        return keep(find(x, chosen), (chosen,), keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


argmax = _position("argmax", rd.argmax)
argmin = _position("argmin", rd.argmin)


# -- logic -------------------------------------------------------------------------------------------------------


def _logical(name: str, reduce: Callable[..., Any], identity: bool) -> Callable[..., Any]:
    """np.any or np.all."""
    numpy_function = getattr(np, name)

    def function(a: Any, axis: Any = None, out: Any = None, keepdims: Any = ABSENT, *, where: Any = ABSENT) -> Any:
        if not is_traced(a, where):
            return numpy_function(a, axis=axis, out=out, keepdims=keepdims, where=where)
        refuse_out(name, out)
        x = asarray(a, _BOOL)
        axes = reduced_axes(name, axis, x.ndim)
        return keep(reduce(masked(name, x, where, identity), axes), axes, keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


any = _logical("any", rd.reduce_or, False)
all = _logical("all", rd.reduce_and, True)

# -- cumulative --------------------------------------------------------------------------------------------------


def _running(ufunc: np.ufunc, name: str, accumulate: Callable[..., Any]) -> Callable[..., Any]:
    """np.cumsum or np.cumprod."""
    numpy_function = getattr(np, name)

    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if not is_traced(a):
            return numpy_function(a, axis=axis, dtype=dtype, out=out)
        refuse_out(name, out)
        return accumulate(*along(name, asarray(a, summed_dtype(ufunc, a, dtype)), axis))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


cumsum = _running(np.add, "cumsum", rd.cumsum)
cumprod = _running(np.multiply, "cumprod", rd.cumprod)


def _cumulative(ufunc: np.ufunc, name: str, accumulate: Callable[..., Any], identity: int) -> Callable[..., Any]:
    """np.cumulative_sum or np.cumulative_prod, of the array API."""
    numpy_function = getattr(np, name)

    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        if not is_traced(x):
            return numpy_function(x, axis=axis, dtype=dtype, out=out, include_initial=include_initial)
        refuse_out(name, out)
        value = asarray(x, summed_dtype(ufunc, x, dtype))
        if axis is None and value.ndim != 1:
            raise ArgumentError(name, "axis", f"is needed for an array of rank {value.ndim}", "give the axis")
        chosen = 0 if axis is None else axis_of(axis, value.ndim, name)
        result = accumulate(value, chosen)
        if not include_initial:
            return result
        shape = tuple([1 if i == chosen else s for i, s in enumerate(sizes(value))])
        return mv.concatenate([full(shape, identity, value.dtype), result], chosen)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


cumulative_sum = _cumulative(np.add, "cumulative_sum", rd.cumsum, 0)
cumulative_prod = _cumulative(np.multiply, "cumulative_prod", rd.cumprod, 1)

# -- exponentials (scipy.special) --------------------------------------------------------------------------------


def _floating(name: str, x: Any) -> Any:
    """An operand as floats, as SciPy takes it."""
    found = asarray(x)
    if found.dtype.kind == "c":
        raise DTypeError(name, "a traced operand is complex", "take its real part, or compose it", user_line())
    return found if found.dtype.kind == "f" else ew.convert(found, np.dtype(np.float64))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """As `scipy.special.logsumexp`: log(sum(b * exp(a))) without overflow."""
    if not is_traced(a, b):
        return scipy.special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    if return_sign:
        raise UnsupportedFunctionError("logsumexp", "option 'return_sign'", "leave it out", user_line())
    if b is not None:
        dtype = np.result_type(_floating("logsumexp", a).dtype, result_type(b))
        x, weights = ew.broadcast_operands("logsumexp", asarray(a, dtype), asarray(b, dtype))
    else:
        x, weights = _floating("logsumexp", a), None
    axes = reduced_axes("logsumexp", axis, x.ndim)
    if weights is None:
        return keep(rd.reduce_logsumexp(x, axes), axes, keepdims)
    x = ew.select(ew.eq(weights, ew.lift(0, x)), ew.lift(float("-inf"), x), x)
    shift = finite_or_zero(stop_gradient(rd.reduce_max(x, axes, empty=True)))
    total = rd.reduce_sum(ew.mul(weights, ew.exp(ew.sub(x, spread(shift, x, axes)))), axes)
    return keep(ew.add(ew.log(total), shift), axes, keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.softmax`: exp(x) / sum(exp(x)) without overflow."""
    if not is_traced(x):
        return scipy.special.softmax(x, axis=axis)
    value = _floating("softmax", x)
    axes = reduced_axes("softmax", axis, value.ndim)
    return rd.softmax(value, axes) if axes else ew.exp(ew.sub(value, value))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.log_softmax`: the logarithm of softmax(x), without overflow or loss of small values."""
    if not is_traced(x):
        return scipy.special.log_softmax(x, axis=axis)
    value = _floating("log_softmax", x)
    axes = reduced_axes("log_softmax", axis, value.ndim)
    shift = finite_or_zero(stop_gradient(rd.reduce_max(value, axes)))
    shifted = ew.sub(value, spread(shift, value, axes))
    return ew.sub(shifted, spread(rd.reduce_logsumexp(shifted, axes), value, axes))
