"""Read the arguments that NumPy's reductions and products share, and compose small steps over axes.

Say which functions give an array without axes where others give a scalar, as NumPy's do.

A sum, an element and the result of a ufunc are scalars in NumPy, and functions can ask: `np.isscalar(x)`. Functions
that make arrays give one without axes.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from anyshape.errors import ArgumentError, ConcretizationError, DTypeError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import (
    asarray,
    axes_of,
    axis_of,
    is_traced,
    number_dtype,
    plain_array,
    result_type,
    sizes,
)
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import iota
from anyshape.ops.elementwise import convert
from anyshape.support.true_types import has_type

ABSENT: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's own mark of an argument that was not given
_BOOL = np.dtype(bool)

EMPTY_MEAN, NO_FREEDOM = "Mean of empty slice", "Degrees of freedom <= 0 for slice"  # warnings of NumPy


def reduced_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, sorted.

    As in NumPy, a scalar may be reduced along an axis 0 that it does not have, and several axes are a tuple.
    """
    refuse_axis_kinds(name, axis)
    if rank == 0 and has_type(axis, (int, np.integer)) and axis in (0, -1):
        return ()
    return axes_of(axis, rank, name)


def refuse_axis_kinds(name: str, axis: Any) -> None:
    """Refuse what reductions of NumPy take for no axis: a bool, and any sequence but a tuple."""
    if has_type(axis, (bool, np.bool_, list)):
        raise ArgumentError(name, f"axis={axis!r}", "is neither an int nor a tuple of ints", "name axes by ints")


def restore_axes(reduced: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """Return a reduced array with the reduced axes put back at size 1 if `keepdims` is true."""
    return mv.expand(reduced, axes) if _is_kept(keepdims) and axes else reduced


def _is_kept(keepdims) -> bool:
    """Return `keepdims` as a bool; as in NumPy, it is a bool or an int."""
    if keepdims is ABSENT:
        return False
    try:
        return bool(operator.index(keepdims))
    except ConcretizationError:
        raise
    except TypeError:
        problem, advice = "is not a bool", "write True or False"
        raise ArgumentError("a reduction", f"keepdims={keepdims!r}", problem, advice) from None


def sum_over(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum over the axes; over none it is 0 + x as in NumPy, which turns -0 into 0."""
    return rd.reduce_sum(x, axes) if axes else plus_zero(x)


def plus_zero(x: Any) -> Any:
    """Return 0 + x, as a sum of one product in NumPy, which turns -0 into 0."""
    return ew.add(x, ew.lift(0, x)) if x.dtype.kind in "fc" else x


def broadcast_back(reduced: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Return a reduced array repeated along the reduced axes, in the shape of x."""
    return mv.broadcast_in_dim(reduced, sizes(x), [a for a in range(x.ndim) if a not in axes])


def apply_mask(name: str, x: Any, where: Any, instead: Any) -> Any:
    """Return x with a number in place of the elements that `where` leaves out."""
    if where is ABSENT or where is True:
        return x
    return ew.select(mask_like(name, x, where), x, ew.lift(instead, x))


def refuse_mask_without_start(name: str, where: Any) -> None:
    """Refuse a mask where a reduction has no value for nothing."""
    if where is not ABSENT and where is not True:
        raise ArgumentError(name, "where", "leaves possibly nothing", "give the value of nothing as `initial`")


def start_value(name: str, initial: Any, dtype: np.dtype) -> Any:
    """Return the number that a reduction starts from."""
    first = asarray(initial, dtype)
    if first.ndim:
        raise ArgumentError(name, "initial", f"has {first.ndim} axes", "pass a number, and combine arrays afterwards")
    return first


def mask_like(name: str, x: Any, where: Any) -> Any:
    """Return a `where` argument in the shape of x."""
    if not is_traced(where) and plain_array(where, name).dtype.kind not in "biufc":
        raise ArgumentError(name, f"where={where!r}", "is not a mask", "pass an array of bools")
    mask = asarray(where if is_traced(where) or hasattr(where, "dtype") else np.asarray(where, _BOOL))
    if mask.dtype != _BOOL:
        raise DTypeError(name, f"`where` is {mask.dtype}", "compare it to make it bool", user_line())
    return mv.broadcast_to(mask, sizes(x))


def accumulation_dtype(ufunc: np.ufunc, a: Any, dtype: Any) -> np.dtype:
    """Return the dtype that NumPy accumulates in: `dtype`, or the own one with small integers widened."""
    if dtype is not None:
        return number_dtype(dtype, ufunc.__name__)
    return ufunc.reduce(np.empty(0, result_type(a))).dtype


def extreme_value(dtype: np.dtype, sign: int) -> Any:
    """Return the largest (sign 1) or the least (sign -1) value of a dtype."""
    if dtype.kind == "b":
        return sign > 0
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min)
    return complex(sign * np.inf, sign * np.inf) if dtype.kind == "c" else sign * float("inf")


def count_along(x: Any, axes: tuple[int, ...] | None = None) -> Size:
    """Return the number of elements along the axes, or of all of x."""
    return numel([size for axis, size in enumerate(sizes(x)) if axes is None or axis in axes])


def flat_if_no_axis(name: str, x: Any, axis: Any) -> tuple[Any, int]:
    """Return the operand and its axis; without an axis, the flattened operand and axis 0."""
    rank = x.ndim
    if axis is None or rank == 0:
        if axis is not None:
            axis_of(axis, 1, name)
        return mv.reshape(x, (count_along(x),)), 0
    return x, axis_of(axis, rank, name)


def finite_or_zero(x: Any) -> Any:
    """Return x with 0 in place of elements that are not finite."""
    return ew.select(ew.isfinite(x), x, ew.lift(0, x))


def as_operands(name: str, *xs: Any) -> list[Any]:
    """Return operands of their own dtypes.

    As in NumPy's products, a Python scalar counts as an array.
    """
    arrays = [x if is_traced(x) else plain_array(x, name) for x in xs]
    return [asarray(x, function=name) for x in arrays]


def in_common_dtype(name: str, *xs: Any) -> list[Any]:
    """Return operands in the dtype that they promote to."""
    operands = as_operands(name, *xs)
    dtype = np.result_type(*[x.dtype for x in operands])
    return [asarray(x, dtype) for x in operands]


def identity_mask(shape: Sequence[Size]) -> Any:
    """Return a boolean matrix that is true on its diagonal."""
    rows, columns = (mv.broadcast_in_dim(iota(size), shape, (i,)) for i, size in enumerate(shape))
    return ew.eq(rows, columns)


def identity_like(x: Any) -> Any:
    """Return the identity matrix with the size and dtype of the matrices of x."""
    return ew.convert(identity_mask((sizes(x)[-1],) * 2), x.dtype)


def squared_magnitude(x: Any) -> Any:
    """Return |x|**2, of real dtype."""
    if x.dtype.kind != "c":
        return ew.mul(x, x)
    real, imag = ew.real(x), ew.imag(x)
    return ew.add(ew.mul(real, real), ew.mul(imag, imag))


F = TypeVar("F", bound=Callable[..., Any])


def makes_array(function: F) -> F:
    """Return a function whose results are arrays, also without axes."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return as_arrays(function(*args, **kwargs))

    return cast(F, wrapper)


def keeps_class(function: F) -> F:
    """Return a function that gives a scalar for a scalar of NumPy, and an array for anything else."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(a, *args, **kwargs):
        result = function(a, *args, **kwargs)
        return result if is_numpy_scalar(a) else as_arrays(result)

    return cast(F, wrapper)


def keeps_number(function: F) -> F:
    """Return a function that gives a number for a number, and an array for an array."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(val, *args, **kwargs):
        return alike(function(val, *args, **kwargs), val)

    return cast(F, wrapper)


def alike(result: Any, x: Any) -> Any:
    """Return a result as an array, a scalar of NumPy or a Python number, as x is; of a bool it is an int."""
    if not isinstance(x, Traced) or not isinstance(result, Traced):
        return result
    if getattr(x, "weak", False):
        number: Any = convert(result, np.dtype(int)) if result.dtype.kind == "b" else result
        return number.as_weak()
    return as_arrays(result) if x.is_array else result.as_scalar()


def is_numpy_scalar(x: Any) -> bool:
    """Return whether x is a traced scalar of NumPy: neither an array nor a Python number."""
    return isinstance(x, Traced) and not x.is_array and not getattr(x, "weak", False)


def as_arrays(result: Any) -> Any:
    """Return a result, or the members of a tuple or list of them, as arrays."""
    if isinstance(result, (tuple, list)):
        return type(result)([as_arrays(x) for x in result])
    return result if not isinstance(result, Traced) or result.is_array else result.as_ndarray()
