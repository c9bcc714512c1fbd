"""Define methods of ufuncs that few programs use: further reductions and accumulations, and those between indices."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy import matrices, reduction, sorting
from anyshape.numpy.movement import moveaxis, slice_axis
from anyshape.numpy.operands.promotion import as_traced, asarray, axes_of, loop_dtypes, operand, refuse_kinds, sizes
from anyshape.numpy.operands.reduction_args import ABSENT, accumulation_dtype, count_along, reduced_axes, restore_axes
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as sg
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of

_BOOL, _POSITION = np.dtype(bool), np.dtype(np.int64)
Axes = tuple[int, ...]

# -- reductions --------------------------------------------------------------------------------------------------


def _difference(x, axes: Axes):
    """Return the first element less the others."""
    (axis,) = axes
    first = mv.drop(slice_axis(x, axis, 0, 1), axes)
    return ew.sub(first, rd.reduce_sum(slice_axis(x, axis, 1, expr.sub(sizes(x)[axis], 1)), axes))


def _extreme(reduce: Callable[..., Any], least: float) -> Callable[[Any, Axes], Any]:
    """Return an extreme that leaves NaNs out, unless there is nothing else."""

    def fold(x, axes: Axes):
        if refuse_kinds("fmax and fmin of a reduction", x, "c").dtype.kind != "f":
            return reduce(x, axes)
        absent = ew.isnan(x)
        best = reduce(ew.select(absent, ew.lift(least, x), x), axes)
        return ew.select(rd.reduce_and(absent, axes), ew.lift(math.nan, best), best)

    return fold


def _parity(x, axes: Axes):
    """Return whether the number of true elements is odd."""
    count = rd.reduce_sum(ew.convert(ew.convert(x, _BOOL), _POSITION), axes)
    return ew.eq(ew.remainder(count, ew.lift(2, count)), ew.lift(1, count))


def _bits(fold: Callable[[Any, Axes], Any]) -> Callable[[Any, Axes], Any]:
    """Return a reduction of integers that combines each of their bits by itself."""

    def combined(x, axes: Axes):
        if x.dtype.kind == "b":
            return fold(x, axes)
        places = np.arange(8 * x.dtype.itemsize, dtype=x.dtype)
        bit = np.left_shift(np.ones_like(places), places)
        set_bits = ew.ne(mv.expand(x, (x.ndim,)) & bit, np.zeros_like(bit))
        return reduction.sum(ew.convert(fold(set_bits, axes), x.dtype) * bit, -1, dtype=x.dtype)

    return combined


def _log2_of_sum(x, axes: Axes):
    """Return the logarithm to base 2 of the sum of powers of 2."""
    scale = ew.lift(math.log(2), x)
    return ew.div(reduction.logsumexp(ew.mul(x, scale), axes), ew.lift(math.log(2), cr.full((), 0, x.dtype)))


_FOLDS: Mapping[np.ufunc, Callable[[Any, Axes], Any]] = {
    np.subtract: _difference,
    np.fmax: _extreme(rd.reduce_max, -math.inf),
    np.fmin: _extreme(rd.reduce_min, math.inf),
    np.logical_xor: _parity,
    np.bitwise_and: _bits(rd.reduce_and),
    np.bitwise_or: _bits(rd.reduce_or),
    np.bitwise_xor: _bits(_parity),
    np.logaddexp2: _log2_of_sum,
}


def _in_loop(ufunc: np.ufunc, array, dtype):
    """Return an operand in the dtype in which a ufunc of two operands combines its elements."""
    x = operand(array)
    return as_traced(asarray(x, loop_dtypes(ufunc, x, x, dtype=dtype)[0]))


def _reduction(ufunc: np.ufunc, fold: Callable[[Any, Axes], Any]) -> Callable[..., Any]:
    """Return a reduction whose axis is 0 by default; with none to reduce, the array is its own."""
    name = f"{ufunc.__name__}.reduce"

    def method(
        array, axis = 0, dtype = None, out = None,
        keepdims: bool = False, initial = ABSENT, where = True
    ):  # fmt: skip
        for option, value in (("initial", initial), ("where", where)):
            if value is not ABSENT and value is not True and value is not None:
                raise UnsupportedFunctionError(
                    name, f"option {option!r} of a traced array", "leave it out", user_line()
                )
        x = _in_loop(ufunc, array, dtype)
        axes = reduced_axes(name, axis, x.ndim)
        if ufunc is np.subtract and len(axes) > 1:
            raise ArgumentError(name, f"axis={axis!r}", "names several axes, whose order counts", "name one axis")
        if ufunc.identity is None:
            context_of(name, x).require(at_least(count_along(x, axes), 1), "there is nothing to start from")
        return restore_axes(fold(x, axes), axes, keepdims) if axes else x

    return method


# -- accumulations -----------------------------------------------------------------------------------------------


def _running_difference(x, axis: int):
    """Return the first element less the others up to each one."""
    size = sizes(x)[axis]
    some = expr.minimum(size, 1)
    rest = slice_axis(x, axis, some, expr.sub(size, some))
    start = ix.take(x, cr.full((sizes(rest)[axis],), 0, _POSITION), axis)
    return matrices.concatenate([slice_axis(x, axis, 0, some), ew.sub(start, rd.cumsum(rest, axis))], axis)


def _running_bools(run: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Return an accumulation of bools by one of bytes."""
    return lambda x, axis: ew.convert(run(ew.convert(x, np.dtype(np.uint8)), axis), _BOOL)


def _running_parity(x, axis: int):
    count = rd.cumsum(ew.convert(x, _POSITION), axis)
    return ew.eq(ew.remainder(count, ew.lift(2, count)), ew.lift(1, count))


def _running_extreme(run: Callable[[Any, int], Any], least: float) -> Callable[[Any, int], Any]:
    """Return a running extreme that leaves NaNs out, until there is something else."""

    def extreme(x, axis: int):
        if refuse_kinds("fmax and fmin of an accumulation", x, "c").dtype.kind != "f":
            return _of_bytes(run)(x, axis)
        absent = ew.isnan(x)
        best = run(ew.select(absent, ew.lift(least, x), x), axis)
        return ew.select(_of_bytes(rd.cummin)(absent, axis), ew.lift(math.nan, best), best)

    return extreme


def _of_bytes(run: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Return an accumulation that takes bools too."""
    return lambda x, axis: (_running_bools(run) if x.dtype.kind == "b" else run)(x, axis)


def _running_bits(run: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    """Return an accumulation of integers that combines each of their bits by itself."""
    return lambda x, axis: _bits(lambda bits, axes: run(bits, *axes))(x, (axis,))


def _running_log2(x, axis: int):
    return ew.div(rd.cumlogsumexp(ew.mul(x, ew.lift(math.log(2), x)), axis), ew.lift(math.log(2), x))


_RUNS: Mapping[np.ufunc, Callable[[Any, int], Any]] = {
    np.subtract: _running_difference,
    np.fmax: _running_extreme(rd.cummax, -math.inf),
    np.fmin: _running_extreme(rd.cummin, math.inf),
    np.bitwise_and: _running_bits(_running_bools(rd.cummin)),
    np.bitwise_or: _running_bits(_running_bools(rd.cummax)),
    np.bitwise_xor: _running_bits(_running_parity),
    np.logaddexp2: _running_log2,
    np.logical_and: _running_bools(rd.cummin),
    np.logical_or: _running_bools(rd.cummax),
    np.logical_xor: _running_parity,
}


_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def _accumulation(ufunc: np.ufunc, run: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """Return an accumulation along one axis, by default the first."""
    name = f"{ufunc.__name__}.accumulate"

    def method(array, axis=0, dtype=None, out=None):
        x = as_traced(asarray(array, _BOOL)) if ufunc in _LOGICAL else _in_loop(ufunc, array, dtype)
        if not x.ndim:
            raise ArgumentError(name, "the operand", "is a scalar", "give it an axis: x[None]")
        axes = axes_of(axis, x.ndim, name)
        if len(axes) != 1:
            raise ArgumentError(name, f"axis {axis}", "is not one axis", "name one axis")
        return run(x, axes[0])

    return method


# -- between indices ---------------------------------------------------------------------------------------------


def _between(ufunc: np.ufunc, combine: Callable[..., Any], reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reductions of the slices between indices; a slice that would be empty is the element at its start.

    Concrete indices may fall, as in NumPy. Traced ones that do are a CheckError of the run.
    """
    name = f"{ufunc.__name__}.reduceat"

    def method(array, indices, axis=0, dtype=None, out=None):
        x = operand(array)
        target = accumulation_dtype(ufunc, x, dtype) if ufunc in (np.add, np.multiply) else dtype
        x = as_traced(asarray(x, _BOOL if ufunc in _LOGICAL else target))
        axes = axes_of(axis, x.ndim, name)
        if len(axes) != 1:
            raise ArgumentError(name, f"axis {axis}", "is not one axis", "name one axis")
        rows = moveaxis(x, axes[0], 0)
        if not isinstance(indices, Traced) and np.any(np.diff(np.asarray(indices)) < 0):
            return moveaxis(_one_by_one(name, rows, np.asarray(indices), reduce), 0, axes[0])
        return moveaxis(_by_segments(name, rows, indices, combine), 0, axes[0])

    return method


def _one_by_one(name: str, rows, indices: np.ndarray, reduce: Callable[..., Any]):
    """Return the reductions of slices whose bounds are known, also falling ones."""
    largest = int(indices.max())
    problem = f"index {largest} is out of bounds for size {sizes(rows)[0]}"
    context_of(name, rows).require(at_least(sizes(rows)[0], largest + 1), problem)
    ends = [*map(int, indices[1:]), None]
    parts = [
        rows[i] if end is not None and end <= i else reduce(rows[i:end], 0)
        for i, end in zip(map(int, indices), ends, strict=True)
    ]
    return matrices.stack(parts)


def _by_segments(name: str, rows, indices, combine: Callable[..., Any]):
    """Return the reductions of slices between indices that do not fall."""
    starts = as_traced(indices)
    ctx, (count,) = context_of(name, rows, starts), sizes(rows)[:1]
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise ctx.fail("the indices must be a vector of integers")
    starts = ew.convert(starts, _POSITION)
    number, size = sizes(starts)[0], cr.size_value(count)
    whole = mv.broadcast_to(size, sizes(starts))
    inside = ew.logical_and(ew.ge(starts, ew.lift(0, starts)), ew.lt(starts, whole))
    check(inside, f"{name}: an index is out of bounds")
    ends = mv.concatenate([starts, mv.reshape(size, (1,))], 0)
    ends = slice_axis(ends, 0, 1, number)
    check(ew.le(starts, ends), f"{name}: traced indices must not fall")
    position = cr.iota(count)
    owner = sorting.searchsorted(starts, position, "right")  # one more than the slice; 0 before the first
    sums = combine(rows, owner, expr.add(number, 1))
    sums = slice_axis(sums, 0, 1, number)
    some = mv.broadcast_in_dim(ew.lt(starts, ends), sizes(sums), (0,))
    return ew.select(some, sums, ix.take(rows, starts, 0))


def _bounded(op) -> Callable[..., Any]:
    return lambda rows, ids, size: sg.apply_segments(op, rows, ids, size)


def _without_nan(op, least: float) -> Callable[..., Any]:
    """Return an extreme of segments that leaves NaNs out, unless a segment has nothing else."""

    def combine(rows, ids, size):
        if refuse_kinds("fmax and fmin between indices", rows, "c").dtype.kind != "f":
            return sg.apply_segments(op, rows, ids, size)
        absent = ew.isnan(rows)
        best = sg.apply_segments(op, ew.select(absent, ew.lift(least, rows), rows), ids, size)
        return ew.select(sg.apply_segments(sg.segment_min_op, absent, ids, size), ew.lift(math.nan, best), best)

    return combine


METHODS: Mapping[tuple[np.ufunc, str], Callable[..., Any]] = {
    **{(ufunc, "reduce"): _reduction(ufunc, fold) for ufunc, fold in _FOLDS.items()},
    **{(ufunc, "accumulate"): _accumulation(ufunc, run) for ufunc, run in _RUNS.items()},
    (np.add, "reduceat"): _between(np.add, sg.add_segments, reduction.sum),
    (np.multiply, "reduceat"): _between(np.multiply, _bounded(sg.segment_prod_op), reduction.prod),
    (np.maximum, "reduceat"): _between(np.maximum, _bounded(sg.segment_max_op), reduction.max),
    (np.minimum, "reduceat"): _between(np.minimum, _bounded(sg.segment_min_op), reduction.min),
    (np.fmax, "reduceat"): _between(np.fmax, _without_nan(sg.segment_max_op, -math.inf), np.fmax.reduce),
    (np.fmin, "reduceat"): _between(np.fmin, _without_nan(sg.segment_min_op, math.inf), np.fmin.reduce),
    (np.logical_and, "reduceat"): _between(np.logical_and, _bounded(sg.segment_min_op), reduction.all),
    (np.logical_or, "reduceat"): _between(np.logical_or, _bounded(sg.segment_max_op), reduction.any),
}
