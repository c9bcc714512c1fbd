"""Define NumPy's functions that make arrays, for symbolic sizes too.

Examples are `zeros(x.shape)`, `arange(x.shape[0])` and `eye(n)`.
"""

from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.matrices import stack
from anyshape.numpy.movement import broadcast_arrays, moveaxis
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import owned
from anyshape.numpy.operands.reduction_args import makes_array
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

_EXACT = 1024  # steps are fractions with numerator and denominator up to this, so that lengths are exact


# -- lifting -----------------------------------------------------------------------------------------------------


@makes_array
def asarray(a, dtype=None, order=None, *, device=None, copy: bool | None = None, like=None) -> Any:
    """Return `a` as an array of its own dtype or of `dtype`.

    Nested lists may hold traced arrays, which are stacked. For traced arrays `order`, `device` and `like` have no
    effect. With `copy=True` writes into the result leave `a` as it is.
    """
    result = promotion.as_traced(a, dtype)
    return owned(result, a) if copy else result


@makes_array
def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    ndmax: int = 0, like: Any = None,
) -> Any:  # fmt: skip
    """Return `object` as an array of its own dtype or of `dtype`, with at least `ndmin` axes.

    Nested lists may hold traced arrays, which are stacked. For traced arrays `order`, `subok`, `ndmax` and `like`
    have no effect.
    """
    x = asarray(object, dtype)
    result = mv.expand(x, range(max(ndmin - x.meta.rank, 0)))
    copies = copy.value is True if isinstance(copy, np._CopyMode) else copy
    return owned(result, object) if copies else result


@makes_array
def asanyarray(a, dtype=None, order=None, *, device=None, copy: bool | None = None, like=None) -> Any:
    """Return `a` as an array of its own dtype or of `dtype`; NumPy's subclasses pass through.

    For traced arrays `order`, `device` and `like` have no effect.
    """
    return asarray(a, dtype, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return `a` as a contiguous array with at least one axis.

    A traced array is a view of its operand if that is contiguous, which may not be known. There `like` has no effect.
    """
    return _laid_out(a, dtype, "contiguous")


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return `a` as an array in Fortran's order with at least one axis.

    A traced array is a view of its operand if that has this order, which may not be known. There `like` has no effect.
    """
    return _laid_out(a, dtype, "fortran")


def _laid_out(a, dtype, order: str):
    """Return a traced array of at least one axis that is its operand, or a copy, depending on the operand's strides."""
    x = promotion.as_traced(array(a, dtype, ndmin=1, copy=False))
    order = order if x.meta.rank > 1 else "contiguous"
    return mv.viewed(x.unshared(), x, lambda base: base, lambda base, part: part, (order,), certain=False)


@makes_array
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """Return a copy of `a`."""
    promotion.choice_of("copy", "order", order, promotion.ORDERS)
    return promotion.as_traced(a).as_copy(is_contiguous=order == "C")


# -- filled ------------------------------------------------------------------------------------------------------


def _filled(shape, value, dtype: np.dtype):
    """Return an array of a shape, which may be symbolic, filled with a number or a traced value."""
    target = promotion.new_shape(shape, "full")
    if has_type(value, (int, float, complex, np.generic)):
        return cr.full(target, np.full(1, value, dtype)[0], dtype)  # cast as NumPy does, with its warnings
    return owned(mv.broadcast_to(promotion.cast_operand(value, dtype), target), value)


@makes_array
def full(shape, fill_value, dtype=None, order: str = "C", *, device=None, like=None) -> Any:
    """Return an array of a shape filled with a value.

    Sizes may be symbolic and the value may be traced; it broadcasts to the shape. The dtype is `dtype` or that of the
    value. For symbolic sizes `order`, `device` and `like` have no effect.
    """
    return _filled(
        shape,
        fill_value,
        promotion.number_dtype(dtype, "full") if dtype is not None else promotion.as_traced(fill_value).dtype,
    )


@makes_array
def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return an array of zeros; sizes may be symbolic.

    The dtype is float64 by default. For symbolic sizes `order`, `device` and `like` have no effect.
    """
    return _filled(shape, 0, promotion.number_dtype(float if dtype is None else dtype, "zeros"))


@makes_array
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return an array of ones; sizes may be symbolic.

    The dtype is float64 by default. For symbolic sizes `order`, `device` and `like` have no effect.
    """
    return _filled(shape, 1, promotion.number_dtype(float if dtype is None else dtype, "ones"))


@makes_array
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return an array of a shape; sizes may be symbolic.

    In a program it holds zeros, so that runs agree. The dtype is float64 by default. For symbolic
    sizes `order`, `device` and `like` have no effect.
    """
    return zeros(shape, dtype)


def _like(name: str, a, value, dtype, shape, order: str):
    """Return a filled array with the shape and dtype of another array, or with `shape` and `dtype`."""
    promotion.choice_of(name, "order", order, promotion.ORDERS)
    x = promotion.as_traced(a) if promotion.is_traced(a) else np.asarray(a)
    target = promotion.sizes(x) if shape is None else shape
    return _filled(target, value, promotion.number_dtype(dtype, name) if dtype is not None else x.dtype)


@makes_array
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """Return an array filled with a value, with the shape and dtype of `a` unless `shape` and `dtype` differ.

    The value may be traced. For traced arrays `order`, `subok` and `device` have no effect.
    """
    return _like("full_like", a, fill_value, dtype, shape, order)


@makes_array
def zeros_like(a, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None) -> Any:
    """Return an array of zeros with the shape and dtype of `a` unless `shape` and `dtype` differ.

    For traced arrays `order`, `subok` and `device` have no effect.
    """
    return _like("zeros_like", a, 0, dtype, shape, order)


@makes_array
def ones_like(a, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None) -> Any:
    """Return an array of ones with the shape and dtype of `a` unless `shape` and `dtype` differ.

    For traced arrays `order`, `subok` and `device` have no effect.
    """
    return _like("ones_like", a, 1, dtype, shape, order)


@makes_array
def empty_like(prototype, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None) -> Any:
    """Return an array with the shape and dtype of `prototype` unless `shape` and `dtype` differ.

    In a program it holds zeros, and `order`, `subok` and `device` have no effect.
    """
    return _like("empty_like", prototype, 0, dtype, shape, order)


# -- ranges ------------------------------------------------------------------------------------------------------


def _exact(x, function: str) -> Size | float:
    """Return a bound of a range as a size, or as a float if it is a fraction."""
    if has_type(x, (float, np.floating)):
        if (fraction := _fraction(x)) is not None:
            return fraction
    elif has_type(x, (int, np.integer, SymbolicSize)):
        return promotion.size_of(x)
    shown = x.meta if isinstance(x, Traced) else x
    advice = "use integers, or scale: step * arange(n); a length cannot depend on data"
    raise UnsupportedFunctionError(function, f"a symbolic range with bound or step {shown}", advice, user_line())


def _fraction(x) -> int | float | None:
    """Return a float as an int or as a simple fraction, None if it is neither."""
    numerator, denominator = float(x).as_integer_ratio() if np.isfinite(x) else (0, _EXACT + 1)
    if max(abs(numerator), denominator) > _EXACT:
        return None
    return numerator if denominator == 1 else float(x)


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None) -> Any:
    """Return the numbers from `start` to before `stop`, `step` apart; one argument counts from 0.

    Bounds and step may be symbolic sizes, or traced scalars, which give a new symbolic size. Next to symbolic ones,
    floats are exact if they are fractions with numerator and denominator up to 1024; others give a new size too. The
    dtype is `dtype`, or the promoted one of int64, the bounds and the step.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    target = _range_dtype(start, stop, step) if dtype is None else promotion.number_dtype(dtype, "arange")
    return _range(start, stop, step, target)


def _range_dtype(*bounds) -> np.dtype:
    """Return the dtype of a range, promoted as in NumPy: at least int64."""
    return np.result_type(
        np.int64, *[np.asarray(x).dtype if has_type(x, (int, float)) else promotion.result_type(x) for x in bounds]
    )


def _range(start, stop, step, target: np.dtype):
    """Return a range in a program: of a known length, or of one that its run computes."""
    bounds = start, stop, step
    if target.kind == "f" and any(map(_is_inexact, bounds)):
        return _float_range(*[promotion.as_traced(promotion.asarray(x), target) for x in bounds])
    if any(isinstance(x, Traced) for x in bounds):
        return _value_range(start, stop, step, target)
    first, last, by = (_exact(x, "arange") for x in bounds)
    values = cr.iota(_range_length(first, last, by), target)
    scaled = values if promotion.is_int(by, 1) else values * _scalar(by, target)
    return scaled if promotion.is_int(first, 0) else scaled + _scalar(first, target)


def _value_range(start, stop, step, target: np.dtype):
    """Return a range of integers whose start, stop or step is known by its value alone."""
    for x in (start, stop, step):
        _check_integer_scalar(x)
    from_zero, by_one = promotion.is_int(start, 0), promotion.is_int(step, 1)
    if from_zero and by_one:
        return cr.iota(dy.size_from_count(stop if stop.dtype.kind != "b" else ew.convert(stop, np.int64)), target)
    first, last, by = (promotion.as_traced(promotion.asarray(x, np.int64)) for x in (start, stop, step))
    if isinstance(step, Traced):
        check(ew.ne(by, cr.full((), 0, np.int64)), "arange: the step of a range cannot be zero")
    elif promotion.is_int(step, 0):
        raise context_of("arange").fail("the step of a range cannot be zero")
    count = dy.size_from_count(ew.neg(ew.floor_divide(ew.sub(first, last), by)))
    values = cr.iota(count, target)
    scaled = values if by_one else values * ew.convert(by, target)
    return scaled if from_zero else scaled + ew.convert(first, target)


def _is_inexact(x) -> bool:
    """Return whether a bound of a range is a float scalar whose value a run knows, or no simple fraction."""
    if isinstance(x, Traced):
        return x.dtype.kind == "f" and not x.meta.rank
    return has_type(x, (float, np.floating)) and _fraction(x) is None


def _float_range(first, last, by):
    """Return a range of floats, whose length is a run-time size: NumPy computes it in the same way."""
    steps = ew.ceil(ew.div(ew.sub(last, first), by))
    check(ew.isfinite(steps), "arange: the length of a range must be finite")
    limit = cr.full((), float(dy.LARGEST), first.dtype)
    count = dy.size_from_count(ew.convert(ew.minimum(ew.maximum(steps, ew.neg(limit)), limit), np.int64))
    second = ew.add(first, by)
    return cr.iota(count, first.dtype) * ew.sub(second, first) + first


def _check_integer_scalar(x) -> None:
    """Refuse a traced array that is not an integer scalar, as a bound of a range."""
    if isinstance(x, Traced) and (x.meta.rank or x.dtype.kind not in "biu"):
        _exact(x, "arange")


def _range_length(first, last, by) -> Size:
    """Return ceil((last - first) / by), or 0 if that is negative."""
    scale = max(x.as_integer_ratio()[1] if has_type(x, float) else 1 for x in (first, last, by))  # powers of two
    first, last, by = (int(x * scale) if has_type(x, float) else expr.mul(scale, x) for x in (first, last, by))
    ctx = context_of("arange")
    if promotion.is_int(by, 0):
        raise ctx.fail("the step of a range cannot be zero")
    forward = by > 0 if has_type(by, int) else ctx.scope.branch_on(at_least(by, 1), ctx.where)
    span = expr.maximum(last - first if forward else first - last, 0)
    return expr.ceildiv(span, by if forward else -by)


def _scalar(x, dtype: np.dtype):
    """Return a size or a fraction as a scalar of the program."""
    if has_type(x, float):
        return cr.full((), x, dtype)
    return ew.convert(cr.size_value(x), dtype) if not has_type(x, int) else cr.full((), x, dtype)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return `num` evenly spaced numbers from `start` to `stop`, along a new axis.

    Bounds may be traced arrays, which broadcast, and `num` may be symbolic. With `endpoint` the last number is `stop`.
    `retstep` also returns the step. Integers are rounded down. `device` has no effect.
    """
    count = promotion.new_size(num, "linspace")
    for bound in (start, stop):
        promotion.operand(bound, "linspace")
    inexact = np.result_type(promotion.result_type(start, stop), 0.0)
    first, last = broadcast_arrays(promotion.as_traced(start, inexact), promotion.as_traced(stop, inexact))
    gaps = expr.maximum(count - 1 if endpoint else count, 1)
    whole, parts = ew.sub(last, first), _scalar(gaps, inexact)
    step = ew.div(whole, parts)
    is_lost = ew.eq(step, ew.lift(0, step))  # where a part of a tiny number is 0, its multiples are not
    is_lost = rd.reduce_or(is_lost, tuple(range(is_lost.ndim)))
    shape = (count, *promotion.sizes(first))
    position = mv.broadcast_in_dim(cr.iota(count), shape, (0,))
    values = ew.div(ew.convert(position, inexact), ew.select(is_lost, parts, ew.lift(1, parts)))
    values = ew.add(ew.mul(values, ew.select(mv.broadcast_to(is_lost, promotion.sizes(step)), whole, step)), first)
    if endpoint:
        is_last = ew.eq(position, _scalar(count - 1, np.dtype(np.int64)))
        single = ew.eq(_scalar(count, np.dtype(np.int64)), cr.full((), 1, np.int64))
        end = ew.select(single, values, last)  # a single one is 0 + start, which is no -0
        values = ew.select(is_last, end, values)
    target = promotion.number_dtype(dtype, "linspace") if dtype is not None else inexact
    if target.kind in "iu":
        values = ew.floor(values)
    result = moveaxis(ew.convert(values, target), 0, axis)
    return (result, step) if retstep else result


# -- grids -------------------------------------------------------------------------------------------------------


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return coordinate arrays for the grid of the given vectors, as a tuple.

    With indexing "xy" the first two axes are exchanged; `sparse` gives arrays that broadcast to the grid.
    """
    promotion.choice_of("meshgrid", "indexing", indexing, ("xy", "ij"))
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    open_grid = [
        mv.reshape(x, [numel(promotion.sizes(x)) if axis == own_axis else 1 for axis in range(len(xi))])
        for x, own_axis in zip(map(promotion.as_traced, xi), order, strict=True)
    ]
    grid = tuple(open_grid) if sparse else broadcast_arrays(*open_grid)
    return owned(grid, *xi) if copy else grid


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Return the index of each position of a grid along each axis, stacked; sizes may be symbolic.

    `sparse` gives a tuple of arrays that broadcast to the grid.
    """
    shape = promotion.new_shape(dimensions, "indices")
    rank = len(shape)
    lines = [cr.iota(size, dtype) for size in shape]
    if sparse:
        return tuple(mv.expand(x, [a for a in range(rank) if a != i]) for i, x in enumerate(lines))
    return stack([mv.broadcast_in_dim(x, shape, (i,)) for i, x in enumerate(lines)])


# -- the class of arrays -------------------------------------------------------------------------------------------


class _LikeNumPy(type):
    """Class of a class that has the instances and the subclasses of NumPy's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        # As users ask: traced arrays are instances too.
        return type.__instancecheck__(np.ndarray, instance) if cls is ndarray else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, np.ndarray) if cls is ndarray else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is ndarray and other is np.ndarray)

    def __hash__(cls) -> int:
        return hash(np.ndarray) if cls is ndarray else super().__hash__()


class ndarray(np.ndarray, metaclass=_LikeNumPy):
    """NumPy's array. Its constructor makes arrays that can be assigned to, as `empty` does."""

    def __new__(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None) -> Any:
        """Return an array of a shape; one over a buffer, or with strides, is NumPy's own."""
        if cls is not ndarray:
            return super().__new__(cls, shape, dtype, buffer, offset, strides, order)
        if buffer is not None or strides is not None:
            return np.ndarray(shape, dtype, buffer, offset, strides, order)
        return empty(shape, dtype, order or "C")


def ndarray_class() -> type:
    """Return the class within a traced function, and NumPy's own elsewhere."""
    return np.ndarray if active() is None else ndarray


serve(__name__)
