"""What NumPy's reductions and products share: reading their arguments, and small compositions over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import asarray, axes_of, axis_of, is_traced, result_type, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import iota

ABSENT: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's own mark of an argument that was not given
_BOOL = np.dtype(bool)


def refuse_out(name: str, out: Any) -> None:
    """A traced array cannot be written to."""
    if out is not None:
        raise UnsupportedFunctionError(name, "option 'out' of a traced array", "use the result instead", user_line())


def reduced_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """The axes to reduce. As in NumPy, a scalar may be reduced along an axis 0 that it does not have."""
    if rank == 0 and isinstance(axis, (int, np.integer)) and axis in (0, -1):
        return ()
    return axes_of(axis, rank, name)


def keep(reduced: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """The reduced axes put back with size 1, when asked."""
    return mv.expand(reduced, axes) if keepdims is not ABSENT and keepdims and axes else reduced


def summed(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum over the axes. Over none it is 0 + x as in NumPy, which gives 0 for -0."""
    if axes or x.dtype.kind not in "fc":
        return rd.reduce_sum(x, axes)
    return ew.add(x, ew.lift(0, x))


def spread(reduced: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """A reduced array repeated along the reduced axes, in the shape of x."""
    return mv.broadcast_in_dim(reduced, sizes(x), [a for a in range(x.ndim) if a not in axes])


def masked(name: str, x: Any, where: Any, instead: Any) -> Any:
    """x, with a number in place of the elements that `where` leaves out."""
    if where is ABSENT or where is True:
        return x
    return ew.select(mask_like(name, x, where), x, ew.lift(instead, x))


def mask_like(name: str, x: Any, where: Any) -> Any:
    """A `where` argument in the shape of x."""
    mask = asarray(where)
    if mask.dtype != _BOOL:
        raise DTypeError(name, f"`where` is {mask.dtype}", "compare it to make it bool", user_line())
    return mv.broadcast_to(mask, sizes(x))


def summed_dtype(ufunc: np.ufunc, a: Any, dtype: Any) -> np.dtype:
    """The dtype that NumPy accumulates in: that of the operand, except that small integers become large ones."""
    return np.dtype(dtype) if dtype is not None else ufunc.reduce(np.empty(0, result_type(a))).dtype


def infinite(dtype: np.dtype, sign: int) -> Any:
    """The largest (sign 1) or least (sign -1) value of a dtype."""
    if dtype.kind == "b":
        return sign > 0
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min)
    return complex(sign * np.inf, sign * np.inf) if dtype.kind == "c" else sign * float("inf")


def numel(x: Any, axes: tuple[int, ...] | None = None) -> Size:
    """The number of elements along the axes."""
    total: Size = 1
    for axis, size in enumerate(sizes(x)):
        total = total * size if axes is None or axis in axes else total
    return total


def along(name: str, x: Any, axis: Any) -> tuple[Any, int]:
    """The operand and the axis to go along; None means all elements in order."""
    rank = x.ndim
    if axis is None or rank == 0:
        reduced_axes(name, axis, rank)
        return mv.reshape(x, (numel(x),)), 0
    return x, axis_of(axis, rank, name)


def finite_or_zero(x: Any) -> Any:
    """x where it is finite, 0 elsewhere."""
    infinity = ew.lift(float("inf"), x)
    below = ew.select(ew.gt(infinity, x), x, ew.lift(0, x))
    return ew.select(ew.gt(below, ew.neg(infinity)), below, ew.lift(0, x))


def as_arrays(name: str, *xs: Any) -> list[Any]:
    """Operands of their own dtypes. As in NumPy's own products, a Python scalar counts as an array."""
    arrays = [x if isinstance(x, (Traced, SymbolicSize)) else np.asarray(joined(name, x)) for x in xs]
    return [asarray(x, function=name) for x in arrays]


def common(name: str, *xs: Any) -> list[Any]:
    """Operands as arrays in their common dtype."""
    lifted = as_arrays(name, *xs)
    dtype = np.result_type(*[x.dtype for x in lifted])
    return [asarray(x, dtype) for x in lifted]


def joined(name: str, x: Any) -> Any:
    """An operand, which must not be a list of traced arrays."""
    if isinstance(x, (list, tuple)) and is_traced(*x):
        advice = "join them with np.stack first"
        raise UnsupportedFunctionError(name, "a list holds traced arrays", advice, user_line())
    return x


def identity_like(x: Any) -> Any:
    """The identity matrix of the size and dtype of the matrices of x."""
    size = sizes(x)[-1]
    rows, columns = (mv.broadcast_in_dim(iota(size), (size, size), (i,)) for i in range(2))
    return ew.convert(ew.eq(rows, columns), x.dtype)
