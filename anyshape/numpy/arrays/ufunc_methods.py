"""Define the methods of ufuncs on traced arrays: `np.add.reduce(x)`, `np.multiply.accumulate(x)` and the like."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy import reduction
from anyshape.numpy.operands import reduction_args as ra
from anyshape.numpy.operands.memory import refuse_out
from anyshape.numpy.operands.promotion import asarray, axes_of, is_traced, is_weak, loop_dtypes, operand, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import context_of


def _reduce(function: Callable[..., Any], *options: str) -> Callable[..., Any]:
    """Return a reduction with these options whose axis is 0 by default, as for a ufunc."""

    def method(
        array, axis = 0, dtype = None, out = None,
        keepdims: bool = False, initial = ra.ABSENT, where = ra.ABSENT
    ):  # fmt: skip
        arguments = {"dtype": (dtype, None), "initial": (initial, ra.ABSENT), "where": (where, True)}
        values = {k: v for k, (v, default) in arguments.items() if v is not ra.ABSENT and v is not default}
        for option in values:
            if option not in options:
                problem = f"option {option!r} of a traced array"
                raise UnsupportedFunctionError(f"reduce ({function.__name__})", problem, "leave it out", user_line())
        return function(array, axis=axis, out=_single(out), keepdims=keepdims, **values)

    return method


def _in_dtype(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that also takes the dtype to reduce in."""

    def reduce(a, dtype=None, **options):
        return function(a if dtype is None else _in_loop_of(ufunc, a, dtype), **options)

    return functools.wraps(function)(reduce)


def _from_start(function: Callable[..., Any], combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a logical reduction that also takes the value to start from."""

    def reduce(a, axis=None, initial=ra.ABSENT, where=ra.ABSENT, **options):
        if initial is None:
            _require_something(f"{function.__name__}.reduce", asarray(a), axis, where)
        result = function(a, axis=axis, where=where, **options)
        if initial is ra.ABSENT or initial is None:
            return result
        return combine(ra.start_value(function.__name__, initial, np.dtype(bool)), result)

    return functools.wraps(function)(reduce)


def _require_something(name: str, x, axis, where) -> None:
    """Require elements to start from, as `initial=None` says that nothing has no value."""
    ra.refuse_mask_without_start(name, where)
    number = ra.count_along(x, ra.reduced_axes(name, axis, x.ndim))
    context_of(name, x).require(at_least(number, 1), "there is nothing to start from")


def _single(out):
    """Return `out`, which NumPy's protocol passes as a tuple."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _accumulate(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an accumulation along one axis, by default the first, as for a ufunc."""

    def method(array, axis=0, dtype=None, out=None):
        x, name = operand(array), f"accumulate ({function.__name__})"
        if not x.ndim:
            raise ArgumentError(name, "the operand", "is a scalar", "give it an axis: x[None]")
        axes = axes_of(axis, x.ndim, name)
        if len(axes) != 1:
            raise ArgumentError(name, f"axis {axis}", "is not one axis", "name one axis")
        return function(array, axis=axes[0], dtype=dtype, out=_single(out))

    return method


def _in_loop_of(ufunc: np.ufunc, array, dtype):
    """Return an operand in the dtype of the loop in which a ufunc of two operands combines its elements."""
    x = operand(array)
    return asarray(x, loop_dtypes(ufunc, x, x, dtype=dtype, casting="same_kind" if dtype is None else "unsafe")[-1])


def _accumulate_as(ufunc: np.ufunc, apply: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """Return an accumulation that has no NumPy function of its own."""

    def function(array, axis, dtype, out):
        refuse_out(f"{ufunc.__name__}.accumulate", out)
        return apply(_in_loop_of(ufunc, array, dtype), axis)

    return _accumulate(function)


def _logaddexp_reduce(a, axis, out, keepdims: bool, dtype=None, **options):
    """Return the logarithm of the sum of exponentials; `where` and `initial` as in other reductions."""
    refuse_out("logaddexp.reduce", out)
    name, where, initial = "logaddexp.reduce", options.get("where", ra.ABSENT), options.get("initial", ra.ABSENT)
    x = _in_loop_of(np.logaddexp, a, dtype)
    if initial is None:
        _require_something(name, x, axis, where)
    result = ra.plus_zero(reduction.logsumexp(ra.apply_mask(name, x, where, -np.inf), axis, keepdims=keepdims))
    return (
        result
        if initial is ra.ABSENT or initial is None
        else ew.logaddexp(ra.start_value(name, initial, x.dtype), result)
    )


def outer(function: Callable[..., Any], a: Any, b: Any, **options: Any) -> Any:
    """Return each element of a combined with each of b by a ufunc, as `ufunc.outer(a, b)` does."""
    x, y = (_strong(operand(z if is_traced(z) else np.asarray(z))) for z in (a, b))  # unlike in a call of the ufunc
    return function(mv.reshape(x, (*sizes(x), *[1] * y.ndim)), y, **options)


def _strong(x):
    """Return an operand that no longer counts as a Python scalar."""
    return type(x)(x.builder, x.value) if isinstance(x, Traced) and is_weak(x) else x


METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {
    (np.add, "reduce"): _reduce(reduction.sum, "dtype", "initial", "where"),
    (np.multiply, "reduce"): _reduce(reduction.prod, "dtype", "initial", "where"),
    (np.maximum, "reduce"): _reduce(_in_dtype(np.maximum, reduction.max), "dtype", "initial", "where"),
    (np.minimum, "reduce"): _reduce(_in_dtype(np.minimum, reduction.min), "dtype", "initial", "where"),
    (np.logical_and, "reduce"): _reduce(_from_start(reduction.all, ew.logical_and), "initial", "where"),
    (np.logical_or, "reduce"): _reduce(_from_start(reduction.any, ew.logical_or), "initial", "where"),
    (np.logaddexp, "reduce"): _reduce(_logaddexp_reduce, "dtype", "initial", "where"),
    (np.add, "accumulate"): _accumulate(reduction.cumsum),
    (np.multiply, "accumulate"): _accumulate(reduction.cumprod),
    (np.maximum, "accumulate"): _accumulate_as(np.maximum, rd.cummax),
    (np.minimum, "accumulate"): _accumulate_as(np.minimum, rd.cummin),
    (np.logaddexp, "accumulate"): _accumulate_as(np.logaddexp, rd.cumlogsumexp),
}
