"""Define NumPy's reductions and cumulative functions, and SciPy's logsumexp and softmax, as compositions of ops."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.movement import atleast_1d
from anyshape.numpy.operands import reduction_args as ra
from anyshape.numpy.operands.memory import makes_copy, writes_out
from anyshape.numpy.operands.promotion import asarray, axis_of, result_type, sizes
from anyshape.numpy.operands.ufuncs import publish
from anyshape.numpy.serve import serve
from anyshape.numpy.sizes.shape_tuple import is_shape, reduce_sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import stop_gradient
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import full

_BOOL = np.dtype(bool)

_AXES_DOC = """`axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
Elements where `where` is false are left out. With traced operands `out` must be traced too."""
_SUM_DOC = f"""{_AXES_DOC}

Small integers accumulate in the default integer unless `dtype` says otherwise. `initial` is one number.
A list of sizes, as x.shape, is reduced to a size without asking for values."""
_EXTREME_DOC = f"""{_AXES_DOC}

`initial` is one number and needed with `where`, or ArgumentError is raised. Without it, each call requires at least
one element. A list of sizes, as x.shape, is reduced to a size without asking for values."""
_LOGICAL_DOC = f"""{_AXES_DOC}

The result is boolean, and for traced arrays not a Python bool."""
_POSITION_DOC = """The result is int64. At ties it is the first position, and NaN counts as the extreme.
Without an axis, positions count the flattened elements. `keepdims` keeps the axis with size 1.
With traced operands `out` must be traced too."""
_RUNNING_DOC = """Without an axis the flattened elements accumulate. Small integers accumulate in the default integer
unless `dtype` says otherwise. With traced operands `out` must be traced too."""
_CUMULATIVE_DOC = """`axis` may be left out if x has one axis; a traced array of another rank raises ArgumentError.
With `include_initial` the result starts with the neutral element. Small integers accumulate in the default integer
unless `dtype` says otherwise. With traced operands `out` must be traced too."""

# -- sums and products -------------------------------------------------------------------------------------------


def _accumulated(
    ufunc: np.ufunc, name: str, reduce: Callable[..., Any], combine: Callable[..., Any], identity: int, summary: str
) -> Callable[..., Any]:
    """Build `sum` or `prod`."""

    def function(
        a, axis = None, dtype = None, out = None,
        keepdims = ra.ABSENT, initial = ra.ABSENT, where = ra.ABSENT
    ):  # fmt: skip
        if is_shape(a, axis, dtype, out) and keepdims is initial is where is ra.ABSENT:
            return reduce_sizes(ufunc, a)
        x = asarray(a, ra.accumulation_dtype(ufunc, a, dtype))
        axes = ra.reduced_axes(name, axis, x.ndim)
        x = ra.apply_mask(name, x, where, identity)
        if initial is None:  # then nothing is an error, although it has a sum
            ra.refuse_mask_without_start(name, where)
            context_of(name, x).require(at_least(ra.count_along(x, axes), 1), "there is nothing to start from")
        if initial is ra.ABSENT or initial is None:
            return ra.restore_axes(reduce(x, axes), axes, keepdims)
        first = ra.start_value(name, initial, x.dtype)
        if axes and ufunc is np.multiply and x.dtype.kind in "fc":  # last, it could meet an overflow too late
            return ra.restore_axes(reduce(_behind(first, x, axes), (0,)), axes, keepdims)
        return combine(ra.restore_axes(reduce(x, axes) if axes else x, axes, keepdims), first)

    return publish(makes_copy(function), name, __name__, f"{summary}\n\n{_SUM_DOC}")


def _behind(first, x, axes: tuple[int, ...]):
    """Return the reduced axes of x as one axis in front, with a number before its elements."""
    remaining = [a for a in range(x.ndim) if a not in axes]
    shape = [sizes(x)[a] for a in remaining]
    rows = mv.reshape(mv.transpose(x, (*axes, *remaining)), (ra.count_along(x, axes), *shape))
    return mv.concatenate([mv.broadcast_to(first, (1, *shape)), rows], 0)


sum: Callable[..., Any] = _accumulated(
    np.add, "sum", ra.sum_over, ew.add, 0, "Return the sum of the elements along axes."
)
prod: Callable[..., Any] = _accumulated(
    np.multiply, "prod", rd.reduce_prod, ew.mul, 1, "Return the product of the elements along axes."
)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Return the number of nonzero elements along axes, as int64.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
    """
    x = ew.convert(asarray(a, _BOOL), np.dtype(np.int64))
    axes = ra.reduced_axes("count_nonzero", axis, x.ndim)
    return ra.restore_axes(rd.reduce_sum(x, axes), axes, keepdims)


# -- extremes ----------------------------------------------------------------------------------------------------


def _extreme(
    name: str, reduce: Callable[..., Any], combine: Callable[..., Any], sign: int, summary: str
) -> Callable[..., Any]:
    """Build `max` (sign -1: over no elements it is the least value) or `min`."""

    def function(a, axis=None, out=None, keepdims=ra.ABSENT, initial=ra.ABSENT, where=ra.ABSENT):
        if is_shape(a, axis, None, out) and keepdims is initial is where is ra.ABSENT:
            return reduce_sizes(np.maximum if sign < 0 else np.minimum, a)
        x = asarray(a)
        axes = ra.reduced_axes(name, axis, x.ndim)
        if initial is ra.ABSENT or initial is None:
            ra.refuse_mask_without_start(name, where)
            return ra.restore_axes(reduce(x, axes), axes, keepdims)
        x = ra.apply_mask(name, x, where, ra.extreme_value(x.dtype, sign))
        first = ra.start_value(name, initial, x.dtype)  # before the elements: of two zeros or NaNs the order counts
        return combine(first, ra.restore_axes(reduce(x, axes, empty=True), axes, keepdims))

    return publish(makes_copy(function), name, __name__, f"{summary}\n\n{_EXTREME_DOC}")


max: Callable[..., Any] = _extreme(
    "max", rd.reduce_max, ew.maximum, -1, "Return the largest element along axes, or NaN if any is NaN."
)
amax: Callable[..., Any] = max
min: Callable[..., Any] = _extreme(
    "min", rd.reduce_min, ew.minimum, 1, "Return the smallest element along axes, or NaN if any is NaN."
)
amin: Callable[..., Any] = min


@writes_out
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = ra.ABSENT) -> Any:
    """Return the largest minus the smallest element along axes.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
    With traced operands `out` must be traced too.
    """
    x = asarray(a)
    axes = ra.reduced_axes("ptp", axis, x.ndim)
    return ra.restore_axes(ew.sub(rd.reduce_max(x, axes), rd.reduce_min(x, axes)), axes, keepdims)


def _position(name: str, find: Callable[[Any, int], Any], summary: str) -> Callable[..., Any]:
    """Build `argmax` or `argmin`."""

    def function(a, axis=None, out=None, *, keepdims=ra.ABSENT):
        x, is_kept = asarray(a), keepdims is not ra.ABSENT and bool(keepdims)
        rank = x.ndim
        if axis is None or rank == 0:
            if axis is not None:
                axis_of(axis, 1, name)
            return ra.restore_axes(find(mv.reshape(x, (ra.count_along(x),)), 0), tuple(range(rank)), is_kept)
        chosen = axis_of(axis, rank, name)
        return ra.restore_axes(find(x, chosen), (chosen,), is_kept)

    return publish(function, name, __name__, f"{summary}\n\n{_POSITION_DOC}")


argmax: Callable[..., Any] = _position("argmax", rd.argmax, "Return the position of the largest element along an axis.")
argmin: Callable[..., Any] = _position(
    "argmin", rd.argmin, "Return the position of the smallest element along an axis."
)


# -- logic -------------------------------------------------------------------------------------------------------


def _logical(name: str, reduce: Callable[..., Any], identity: bool, summary: str) -> Callable[..., Any]:
    """Build `any` or `all`."""

    def function(a, axis=None, out=None, keepdims=ra.ABSENT, *, where=ra.ABSENT):
        x = asarray(a, _BOOL)
        axes = ra.reduced_axes(name, axis, x.ndim)
        return ra.restore_axes(reduce(ra.apply_mask(name, x, where, identity), axes), axes, keepdims)

    return publish(function, name, __name__, f"{summary}\n\n{_LOGICAL_DOC}")


any: Callable[..., Any] = _logical("any", rd.reduce_or, False, "Return whether any element along axes is nonzero.")
all: Callable[..., Any] = _logical("all", rd.reduce_and, True, "Return whether all elements along axes are nonzero.")

# -- cumulative --------------------------------------------------------------------------------------------------


def _running(ufunc: np.ufunc, name: str, accumulate: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Build `cumsum` or `cumprod`."""

    def function(a, axis=None, dtype=None, out=None):
        return accumulate(*ra.flat_if_no_axis(name, asarray(a, ra.accumulation_dtype(ufunc, a, dtype)), axis))

    return publish(function, name, __name__, f"{summary}\n\n{_RUNNING_DOC}")


cumsum: Callable[..., Any] = _running(np.add, "cumsum", rd.cumsum, "Return the running sums along an axis.")
cumprod: Callable[..., Any] = _running(np.multiply, "cumprod", rd.cumprod, "Return the running products along an axis.")


def _cumulative(
    ufunc: np.ufunc, name: str, accumulate: Callable[..., Any], identity: int, summary: str
) -> Callable[..., Any]:
    """Build `cumulative_sum` or `cumulative_prod` of the array API."""

    def function(x, /, *, axis=None, dtype=None, out=None, include_initial: bool = False):
        value = atleast_1d(asarray(x, ra.accumulation_dtype(ufunc, x, dtype)))
        if axis is None and value.ndim != 1:
            raise ArgumentError(name, "axis", f"is needed for an array of rank {value.ndim}", "give the axis")
        chosen = 0 if axis is None else axis_of(axis, value.ndim, name)
        result = accumulate(value, chosen)
        if not include_initial:
            return result
        shape = tuple([1 if i == chosen else s for i, s in enumerate(sizes(value))])
        return mv.concatenate([full(shape, identity, value.dtype), result], chosen)

    return publish(function, name, __name__, f"{summary}\n\n{_CUMULATIVE_DOC}")


cumulative_sum: Callable[..., Any] = _cumulative(
    np.add, "cumulative_sum", rd.cumsum, 0, "Return the running sums along an axis, optionally with an initial 0."
)
cumulative_prod: Callable[..., Any] = _cumulative(
    np.multiply,
    "cumulative_prod",
    rd.cumprod,
    1,
    "Return the running products along an axis, optionally with an initial 1.",
)

# -- exponentials (scipy.special) --------------------------------------------------------------------------------


def _floating(name: str, x):
    """Return an operand as floats, as SciPy takes it."""
    array = asarray(x)
    if array.dtype.kind == "c":
        raise DTypeError(name, "a traced operand is complex", "take its real part, or compose it", user_line())
    return array if array.dtype.kind == "f" else ew.convert(array, np.dtype(np.float64))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """Return log(sum(b * exp(a))) along axes without overflow.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1. Integers become
    float64. For traced arrays, complex `a` raises DTypeError and `return_sign` raises UnsupportedFunctionError.
    """
    if return_sign:
        raise UnsupportedFunctionError("logsumexp", "option 'return_sign'", "leave it out", user_line())
    if b is not None:
        dtype = np.result_type(_floating("logsumexp", a).dtype, result_type(b))
        x, weights = ew.broadcast_operands("logsumexp", asarray(a, dtype), asarray(b, dtype))
    else:
        x, weights = _floating("logsumexp", a), None
    axes = ra.reduced_axes("logsumexp", axis, x.ndim)
    if weights is None:
        return ra.restore_axes(rd.reduce_logsumexp(x, axes), axes, keepdims)
    x = ew.select(ew.eq(weights, ew.lift(0, x)), ew.lift(float("-inf"), x), x)
    shift = ra.finite_or_zero(stop_gradient(rd.reduce_max(x, axes, empty=True)))
    total = rd.reduce_sum(ew.mul(weights, ew.exp(ew.sub(x, ra.broadcast_back(shift, x, axes)))), axes)
    return ra.restore_axes(ew.add(ew.log(total), shift), axes, keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    """Return exp(x) / sum(exp(x)) along axes, by default all, without overflow.

    The result has the shape of x; integers become float64. A traced complex x raises DTypeError.
    """
    value = _floating("softmax", x)
    axes = ra.reduced_axes("softmax", axis, value.ndim)
    return rd.softmax(value, axes) if axes else ew.exp(ew.sub(value, value))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithm of softmax(x), without overflow or loss of small values.

    The result has the shape of x; integers become float64. A traced complex x raises DTypeError.
    """
    value = _floating("log_softmax", x)
    axes = ra.reduced_axes("log_softmax", axis, value.ndim)
    shift = ra.finite_or_zero(stop_gradient(rd.reduce_max(value, axes)))
    shifted = ew.sub(value, ra.broadcast_back(shift, value, axes))
    return ew.sub(shifted, ra.broadcast_back(rd.reduce_logsumexp(shifted, axes), value, axes))


serve(__name__)
