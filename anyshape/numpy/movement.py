"""NumPy's functions that move elements, as compositions of movement ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import AxisError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.shape_rules import broadcast_sizes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.array_parts import dims_product, lifted, part
from anyshape.numpy.operands.promotion import axes_of, axis_of, fixed, is_traced, new_shape, shape_of, size_of, sizes
from anyshape.numpy.operands.symdim import as_shape
from anyshape.numpy.reduction_args import refuse_out
from anyshape.ops import dynamic as dy
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.apply import context_of

# -- shapes ------------------------------------------------------------------------------------------------------


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """As `numpy.broadcast_to`; the shape may hold symbolic sizes."""
    if not is_traced(array, shape):
        return np.broadcast_to(array, shape, subok=subok)
    return mv.broadcast_to(lifted(array), new_shape(shape, "broadcast_to"))


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """As `numpy.broadcast_arrays`."""
    if not is_traced(*args):
        return np.broadcast_arrays(*args, subok=subok)
    arrays = [lifted(x) for x in args]
    shape = broadcast_sizes(context_of("broadcast_arrays", *arrays), [sizes(x) for x in arrays])
    return tuple([mv.broadcast_to(x, shape) for x in arrays])


def broadcast_shapes(*args: Any) -> Any:
    """As `numpy.broadcast_shapes`; sizes may be symbolic."""
    scopes = [s.scope for shape in args if isinstance(shape, tuple) for s in shape if isinstance(s, SymbolicSize)]
    scopes += [s.scope for s in args if isinstance(s, SymbolicSize)]
    if not scopes:
        return np.broadcast_shapes(*args)
    ctx = context_of("broadcast_shapes")
    ctx.scope = scopes[0]
    return as_shape(broadcast_sizes(ctx, [shape_of(a) for a in args]), scopes[0])


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """As `numpy.reshape`, in C or Fortran order; sizes may be symbolic and one may be -1."""
    if not is_traced(a, shape):
        return np.reshape(a, shape, order=order)
    x = lifted(a)
    if order == "C":
        return mv.reshape(x, shape_of(shape, "reshape"))
    if order == "F":
        return mv.transpose(mv.reshape(mv.transpose(x), shape_of(shape, "reshape")[::-1]))
    raise UnsupportedFunctionError("reshape", f"order {order!r} of a traced array", "use 'C' or 'F'", user_line())


def ravel(a: Any, order: str = "C") -> Any:
    """As `numpy.ravel`; 'K' and 'A' mean 'C', since values of a program have no layout."""
    if not is_traced(a):
        return np.ravel(a, order=order)
    x = lifted(a)
    size = dims_product(sizes(x))
    return reshape(x, size, order="F" if order == "F" else "C")


def expand_dims(a: Any, axis: Any) -> Any:
    """As `numpy.expand_dims`."""
    if not is_traced(a):
        return np.expand_dims(a, axis)
    x = lifted(a)
    new = axis if isinstance(axis, (tuple, list)) else (axis,)
    return mv.expand(x, axes_of(tuple(new), x.meta.rank + len(new), "expand_dims"))


def squeeze(a: Any, axis: Any = None) -> Any:
    """As `numpy.squeeze`. Without an axis, whether a symbolic size is 1 is a decision of the call."""
    if not is_traced(a):
        return np.squeeze(a, axis)
    x = lifted(a)
    shape, ctx = sizes(x), context_of("squeeze", x)
    if axis is None:
        return mv.drop(x, [i for i, s in enumerate(shape) if ctx.scope.ask(equal(s, 1), ctx.where)])
    axes = axes_of(tuple(axis) if isinstance(axis, (tuple, list)) else axis, x.meta.rank, "squeeze")
    for i in axes:
        ctx.require(equal(shape[i], 1), f"axis {i} to be dropped has size {shape[i]}, not 1")
    return mv.drop(x, axes)


def _at_least(rank: int, name: str, arys: tuple[Any, ...], before: Sequence[int], after: Sequence[int]) -> Any:
    """Arrays with new axes of size 1 until they have `rank` of them: `before[r]` in front, `after[r]` behind."""
    if not is_traced(*arys):
        return getattr(np, name)(*arys)
    results = []
    for x in map(lifted, arys):
        old = x.meta.rank
        if old < rank:
            x = mv.reshape(x, (*[1] * before[old], *sizes(x), *[1] * after[old]))
        results.append(x)
    return results[0] if len(results) == 1 else tuple(results)


def atleast_1d(*arys: Any) -> Any:
    """As `numpy.atleast_1d`."""
    return _at_least(1, "atleast_1d", arys, (1,), (0,))


def atleast_2d(*arys: Any) -> Any:
    """As `numpy.atleast_2d`."""
    return _at_least(2, "atleast_2d", arys, (2, 1), (0, 0))


def atleast_3d(*arys: Any) -> Any:
    """As `numpy.atleast_3d`."""
    return _at_least(3, "atleast_3d", arys, (3, 1, 0), (0, 1, 1))


# -- order of axes -----------------------------------------------------------------------------------------------


def transpose(a: Any, axes: Any = None) -> Any:
    """As `numpy.transpose`."""
    if not is_traced(a):
        return np.transpose(a, axes)
    x = lifted(a)
    rank = x.meta.rank
    if axes is None:
        return mv.transpose(x)
    order = [axis_of(i, rank, "transpose") for i in axes]
    if sorted(order) != list(range(rank)):
        raise context_of("transpose", x).fail(f"axes {tuple(axes)} do not name each axis once")
    return mv.transpose(x, order)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """As `numpy.matrix_transpose`."""
    if is_traced(x) and lifted(x).meta.rank < 2:
        raise context_of("matrix_transpose", lifted(x)).fail("a matrix has at least 2 axes")
    return swapaxes(x, -1, -2) if is_traced(x) else np.matrix_transpose(x)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """As `numpy.swapaxes`."""
    if not is_traced(a):
        return np.swapaxes(a, axis1, axis2)
    x = lifted(a)
    i, j = (axis_of(axis, x.meta.rank, "swapaxes") for axis in (axis1, axis2))
    order = list(range(x.meta.rank))
    order[i], order[j] = j, i
    return mv.transpose(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """As `numpy.moveaxis`."""
    if not is_traced(a):
        return np.moveaxis(a, source, destination)
    x = lifted(a)
    old, new = (
        [axis_of(i, x.meta.rank, "moveaxis") for i in (p if isinstance(p, (tuple, list)) else (p,))]
        for p in (source, destination)
    )
    if len(old) != len(new) or len({*old}) != len(old) or len({*new}) != len(new):
        raise context_of("moveaxis", x).fail("source and destination must name as many axes, each once")
    return mv.move_axes(x, old, new)


def rollaxis(a: Any, axis: Any, start: int = 0) -> Any:
    """As `numpy.rollaxis`."""
    if not is_traced(a):
        return np.rollaxis(a, axis, start)
    x = lifted(a)
    rank = x.meta.rank
    old, new = axis_of(axis, rank, "rollaxis"), axis_of(start, rank + 1, "rollaxis") if start >= 0 else start + rank
    if not 0 <= new <= rank:
        raise AxisError("rollaxis", start, rank + 1, user_line())
    return mv.move_axes(x, (old,), (new - 1 if old < new else new,))


def flip(m: Any, axis: Any = None) -> Any:
    """As `numpy.flip`."""
    if not is_traced(m):
        return np.flip(m, axis)
    x = lifted(m)
    return mv.rev(x, axes_of(axis, x.meta.rank, "flip"))


def fliplr(m: Any) -> Any:
    """As `numpy.fliplr`."""
    return flip(m, 1) if is_traced(m) else np.fliplr(m)


def flipud(m: Any) -> Any:
    """As `numpy.flipud`."""
    return flip(m, 0) if is_traced(m) else np.flipud(m)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """As `numpy.rot90`."""
    if not is_traced(m):
        return np.rot90(m, k, axes)
    i, j = (axis_of(axis, lifted(m).meta.rank, "rot90") for axis in axes)
    if i == j:
        raise context_of("rot90", m).fail("the two axes must differ")
    turns = k % 4
    if turns in (0, 2):
        return flip(m, (i, j)) if turns else lifted(m)
    return swapaxes(flip(m, j), i, j) if turns == 1 else flip(swapaxes(m, i, j), j)


# -- joining -----------------------------------------------------------------------------------------------------


def _together(function: str, arrays: Any, dtype: Any = None, casting: Any = "same_kind") -> list[Any]:
    """The arrays in one dtype; a Python scalar among them counts as an array, as NumPy makes it one."""
    found = [lifted(x) for x in _members(arrays)]
    if not found:
        raise context_of(function).fail("at least one array is needed")
    common = np.result_type(*[x.dtype for x in found])
    target = np.dtype(dtype) if dtype is not None else common
    if not np.can_cast(common, target, casting):
        raise DTypeError(
            function, f"cannot cast {common} to {target} by {casting!r}", "cast with astype first", user_line()
        )
    return [lifted(x, target) for x in found]


def _members(arrays: Any) -> Sequence[Any]:
    """The arrays of a sequence, or along the first axis of an array."""
    return unstack(arrays) if isinstance(arrays, Traced) else list(arrays)


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """As `numpy.concatenate`."""
    if not is_traced(arrays):
        return np.concatenate(arrays, axis, out, dtype=dtype, casting=casting)
    refuse_out("concatenate", out)
    found = _together("concatenate", arrays, dtype, casting)
    if axis is None:
        return mv.concatenate([ravel(x) for x in found], 0)
    if found[0].meta.rank == 0:
        raise context_of("concatenate", *found).fail("arrays without axes cannot be concatenated")
    return mv.concatenate(found, axis_of(axis, found[0].meta.rank, "concatenate"))


concat = concatenate


def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """As `numpy.stack`."""
    if not is_traced(arrays):
        return np.stack(arrays, axis, out, dtype=dtype, casting=casting)
    refuse_out("stack", out)
    found = _together("stack", arrays, dtype, casting)
    if len({x.meta.rank for x in found}) > 1:
        raise context_of("stack", *found).fail("all arrays must have the same shape")
    place = axis_of(axis, found[0].meta.rank + 1, "stack")
    return mv.concatenate([mv.expand(x, (place,)) for x in found], place)


def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """As `numpy.vstack`."""
    if not is_traced(tup):
        return np.vstack(tup, dtype=dtype, casting=casting)
    return concatenate([atleast_2d(lifted(x)) for x in _members(tup)], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """As `numpy.hstack`."""
    if not is_traced(tup):
        return np.hstack(tup, dtype=dtype, casting=casting)
    found = [atleast_1d(lifted(x)) for x in _members(tup)]
    return concatenate(found, 0 if found and found[0].meta.rank == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """As `numpy.dstack`."""
    if not is_traced(tup):
        return np.dstack(tup)
    return concatenate([atleast_3d(lifted(x)) for x in _members(tup)], 2)


def column_stack(tup: Any) -> Any:
    """As `numpy.column_stack`."""
    if not is_traced(tup):
        return np.column_stack(tup)
    found = [lifted(x) for x in _members(tup)]
    return concatenate([mv.transpose(atleast_2d(x)) if x.meta.rank < 2 else x for x in found], 1)


def block(arrays: Any) -> Any:
    """As `numpy.block`."""
    if not is_traced(arrays):
        return np.block(arrays)
    depth = _depth(arrays)
    rank = max(depth, *[lifted(x).meta.rank for x in _leaves(arrays)])
    return _block(arrays, depth, rank)


def _depth(nested: Any) -> int:
    return 1 + max((_depth(x) for x in nested), default=0) if isinstance(nested, list) else 0


def _leaves(nested: Any) -> list[Any]:
    return [leaf for x in nested for leaf in _leaves(x)] if isinstance(nested, list) else [nested]


def _block(nested: Any, depth: int, rank: int) -> Any:
    if isinstance(nested, list):
        return concatenate([_block(x, depth - 1, rank) for x in nested], -depth)
    x = lifted(nested)
    return mv.expand(x, range(rank - x.meta.rank))


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """As `numpy.append`."""
    return concatenate((arr, values), axis) if is_traced(arr, values) else np.append(arr, values, axis)


# -- splitting ---------------------------------------------------------------------------------------------------


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """As `numpy.array_split`; a symbolic size divides as NumPy would divide it."""
    if not is_traced(ary, indices_or_sections):
        return np.array_split(ary, indices_or_sections, axis)
    x = lifted(ary)
    place = axis_of(axis, x.meta.rank, "array_split")
    size = sizes(x)[place]
    if _several(indices_or_sections):
        return _split_at(x, indices_or_sections, place, size)
    count = fixed(indices_or_sections, "array_split", "the number of parts")
    if count <= 0:
        raise context_of("array_split", x).fail("the number of sections must be at least 1")
    each, more = expr.floordiv(size, count), expr.mod(size, count)
    starts = [each * i + expr.minimum(more, i) for i in range(count)]
    extra = [expr.minimum(expr.maximum(more - i, 0), 1) for i in range(count)]
    return [part(x, place, start, each + one) for start, one in zip(starts, extra, strict=True)]


def _several(indices: Any) -> bool:
    """Whether these are positions to split at, and no number of parts."""
    return isinstance(indices, (tuple, list)) or (isinstance(indices, np.ndarray) and indices.ndim > 0)


def _split_at(x: Any, indices: Any, axis: int, size: Size) -> list[Any]:
    """The parts between the positions, each clamped to the axis as a slice would."""
    places = [_clamped(x, size_of(i), size) for i in indices]
    starts, stops = [0, *places], [*places, size]
    return [part(x, axis, a, expr.maximum(b - a, 0)) for a, b in zip(starts, stops, strict=True)]


def _clamped(x: Any, place: Size, size: Size) -> Size:
    """A position as a slice takes it: from the end if it is negative, which is a decision where it can be."""
    ctx = context_of("split", x)
    negative = place < 0 if isinstance(place, int) else not ctx.scope.ask(at_least(place, 0), ctx.where)
    if negative:
        return expr.maximum(size + place, 0)
    return expr.minimum(place, size)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """As `numpy.split`; that a symbolic size divides evenly is checked at the call."""
    if not is_traced(ary, indices_or_sections):
        return np.split(ary, indices_or_sections, axis)
    x = lifted(ary)
    place = axis_of(axis, x.meta.rank, "split")
    if not _several(indices_or_sections):
        count = fixed(indices_or_sections, "split", "the number of parts")
        size, ctx = sizes(x)[place], context_of("split", x)
        if count > 0:
            ctx.require(equal(expr.mod(size, count), 0), f"size {size} does not divide into {count} equal parts")
            each = expr.floordiv(size, count)
            return [part(x, place, each * i, each) for i in range(count)]
    return array_split(x, indices_or_sections, place)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """As `numpy.hsplit`."""
    if not is_traced(ary, indices_or_sections):
        return np.hsplit(ary, indices_or_sections)
    return split(ary, indices_or_sections, 0 if lifted(ary).meta.rank == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """As `numpy.vsplit`."""
    if not is_traced(ary, indices_or_sections):
        return np.vsplit(ary, indices_or_sections)
    if lifted(ary).meta.rank < 2:
        raise context_of("vsplit", lifted(ary)).fail("an array of at least 2 axes is needed")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """As `numpy.dsplit`."""
    if not is_traced(ary, indices_or_sections):
        return np.dsplit(ary, indices_or_sections)
    if lifted(ary).meta.rank < 3:
        raise context_of("dsplit", lifted(ary)).fail("an array of at least 3 axes is needed")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    """As `numpy.unstack`. How many arrays there are is Python's to know, so a symbolic size is a decision."""
    if not is_traced(x):
        return np.unstack(x, axis=axis)
    array = lifted(x)
    place = axis_of(axis, array.meta.rank, "unstack")
    count = context_of("unstack", array).fixed(sizes(array)[place], field="the number of arrays", axis=place)
    return tuple([mv.drop(part(array, place, i, 1), (place,)) for i in range(count)])


# -- repeating ---------------------------------------------------------------------------------------------------


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """As `numpy.roll`; shifts and sizes may be symbolic."""
    if not is_traced(a, shift):
        return np.roll(a, shift, axis)
    x = lifted(a)
    if axis is None:
        return mv.reshape(roll(ravel(x), shift, 0), sizes(x))
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts, axes = (p * max(len(shifts), len(axes)) if len(p) == 1 else p for p in (shifts, axes))
    if len(shifts) != len(axes):
        raise context_of("roll", x).fail("as many shifts as axes are needed")
    for by, place in zip(shifts, [axis_of(i, x.meta.rank, "roll") for i in axes], strict=True):
        size = sizes(x)[place]
        moved = expr.mod(size_of(by), expr.maximum(size, 1))
        if not (isinstance(moved, int) and moved == 0):
            rest = size - moved
            x = mv.concatenate([part(x, place, rest, moved), part(x, place, 0, rest)], place)
    return x


def tile(A: Any, reps: Any) -> Any:
    """As `numpy.tile`; repetitions and sizes may be symbolic."""
    if not is_traced(A, reps):
        return np.tile(A, reps)
    x, given = lifted(A), new_shape(reps, "tile")
    rank = max(x.meta.rank, len(given))
    x = mv.expand(x, range(rank - x.meta.rank))
    times, shape = (*[1] * (rank - len(given)), *given), sizes(x)
    spread = [s for pair in zip(times, shape, strict=True) for s in pair]
    stretched = mv.broadcast_in_dim(x, spread, range(1, 2 * rank, 2))
    return mv.reshape(stretched, [n * s for n, s in zip(times, shape, strict=True)])


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """As `numpy.repeat`, by one number, which may be symbolic or traced, or by a number for each element."""
    if not is_traced(a, repeats):
        return np.repeat(a, repeats, axis)
    x = ravel(a) if axis is None else lifted(a)
    place = axis_of(axis or 0, x.meta.rank, "repeat")
    if isinstance(repeats, Traced) and repeats.meta.rank:
        return ix.take(x, dy.repeated(mv.broadcast_to(repeats, (sizes(x)[place],))), place)
    if not isinstance(repeats, (SymbolicSize, Traced)):
        counts = np.asarray(repeats)
        if counts.size != 1:
            return _repeat_each(x, counts, place)
        repeats = counts.item()
    (times,) = new_shape(repeats, "repeat")
    shape = sizes(x)
    spread = (*shape[: place + 1], times, *shape[place + 1 :])
    stretched = mv.broadcast_in_dim(x, spread, [i for i in range(len(spread)) if i != place + 1])
    return mv.reshape(stretched, (*shape[:place], shape[place] * times, *shape[place + 1 :]))


def _repeat_each(x: Any, counts: np.ndarray, axis: int) -> Any:
    """Each element of the axis, which must have as many as there are counts, as often as its count says."""
    size, ctx = sizes(x)[axis], context_of("repeat", x)
    ctx.require(equal(size, len(counts)), f"axis {axis} has another size than the {len(counts)} counts")
    return ix.take(x, np.repeat(np.arange(len(counts)), counts), axis)
