"""Define NumPy's functions that move elements, as compositions of movement ops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import AxisError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import broadcast_sizes, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import makes_copy, order_in_memory, owned
from anyshape.numpy.operands.reduction_args import keeps_class, makes_array
from anyshape.numpy.serve import serve
from anyshape.numpy.sizes.shape_tuple import as_shape
from anyshape.ops import dynamic as dy
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

# -- shapes ------------------------------------------------------------------------------------------------------


@makes_array
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Return an array repeated along axes of size 1 and new leading axes until it has a shape.

    The shape may hold symbolic sizes; the dtype stays. The result is an array of its own in a program, not a view.
    """
    return mv.broadcast_to(promotion.as_traced(array), promotion.new_shape(shape, "broadcast_to"))


@makes_array
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Return the arrays broadcast against each other, as a tuple.

    They keep their dtypes. Where symbolic sizes must agree, each call of the program checks it.
    """
    arrays = [promotion.as_traced(x) for x in args]
    shape = broadcast_sizes(context_of("broadcast_arrays", *arrays), [promotion.sizes(x) for x in arrays])
    return tuple([mv.broadcast_to(x, shape) for x in arrays])


def broadcast_shapes(*args: Any) -> Any:
    """Return the shape to which shapes broadcast; an int stands for a shape of one axis.

    Sizes may be symbolic. Shapes that are known not to broadcast raise ShapeError.
    """
    scopes = [s.scope for shape in args if isinstance(shape, tuple) for s in shape if isinstance(s, SymbolicSize)]
    scopes += [s.scope for s in args if isinstance(s, SymbolicSize)]
    if not scopes:
        return np.broadcast_shapes(*args)
    ctx = context_of("broadcast_shapes")
    ctx.scope = scopes[0]
    return as_shape(broadcast_sizes(ctx, [promotion.shape_of(a) for a in args]), scopes[0])


@keeps_class
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the elements of an array in another shape, in C or Fortran order.

    Sizes may be symbolic, and one may be -1. Where the number of elements is not known to fit, each call checks it.
    Order "A" asks for the memory layout, which arguments and transposes of them have: a program is for one of them.
    Other arrays of two axes or more raise UnsupportedFunctionError. The result is a view where NumPy gives one, and an
    array of its own with `copy`.
    """
    x = promotion.as_traced(a)
    if _order_of("reshape", x, order, ("C", "F", "A")) in ("C", (*range(x.meta.rank),)):
        result = mv.reshape(x, promotion.shape_of(shape, "reshape"))
    else:
        result = mv.transpose(mv.reshape(mv.transpose(x), promotion.shape_of(shape, "reshape")[::-1]))
    return owned(result, x) if copy else result


def _order_of(name: str, x, order, choices: Sequence[str]):
    """Return the order to read elements in: "C", "F" or the axes from outer to inner ones.

    Any order reads a vector alike. "A" and "K" ask for the memory layout, which arguments and views of them have.
    """
    if promotion.choice_of(name, "order", order, choices) in ("C", "F"):
        return order
    axes = order_in_memory(x, order) if x.meta.rank > 1 else ()
    if axes is None:
        problem = f"order {order!r} asks for the memory layout, which is unknown of a result of a computation"
        raise UnsupportedFunctionError(name, problem, "say the order: 'C', or 'F' for a transposed array", user_line())
    return axes or "C"


def ravel(a: Any, order: str = "C") -> Any:
    """Return the elements of an array along one axis.

    Orders "K" and "A" ask for the memory layout, which arguments and views of them have: a program is for one of them.
    Other arrays of two axes or more raise UnsupportedFunctionError.
    """
    x = promotion.as_traced(a)
    if has_type(order := _order_of("ravel", x, order, promotion.ORDERS), tuple):
        return ravel(x if order == (*range(x.meta.rank),) else mv.transpose(x, order))
    if order == "F" and x.meta.rank > 1:
        return reshape(x, numel(promotion.sizes(x)), order=order)
    read = lambda base: mv.reshape(base, (numel(promotion.sizes(base)),))
    write = lambda base, part: mv.reshape(part, promotion.sizes(base))
    certain = not x.meta.rank  # NumPy copies elements that are apart in memory, also along one axis
    return mv.viewed(read(x.unshared()).unshared(), x, read, write, ("ravel",), certain)


def along_axis(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """Return an array and an axis of it; None flattens it, and a scalar has an axis 0, as in NumPy."""
    x = promotion.as_traced(a)
    if axis is None or _is_axis_of_scalar(axis, x):
        return ravel(x), 0
    return x, promotion.axis_of(axis, x.meta.rank, name)


def _is_axis_of_scalar(axis, x) -> bool:
    """Return whether an axis is the one that NumPy gives to a scalar."""
    return not x.meta.rank and has_type(axis, (int, np.integer)) and axis in (0, -1)


@makes_array
def expand_dims(a: Any, axis: Any) -> Any:
    """Return an array with new axes of size 1 at the positions `axis`, an int or a tuple."""
    x = promotion.as_traced(a)
    new = axis if isinstance(axis, (tuple, list)) else (axis,)
    return mv.expand(x, promotion.axes_of(tuple(new), x.meta.rank + len(new), "expand_dims"))


@keeps_class
def squeeze(a: Any, axis: Any = None) -> Any:
    """Return an array without the axes `axis`, which must have size 1.

    Without `axis`, all axes of size 1 are dropped. Whether a symbolic size is 1 is decided at the call, as a guard.
    """
    x = promotion.as_traced(a)
    shape, ctx = promotion.sizes(x), context_of("squeeze", x)
    if axis is None:
        return mv.drop(x, [i for i, s in enumerate(shape) if ctx.scope.branch_on(equal(s, 1), ctx.where)])
    axes = () if _is_axis_of_scalar(axis, x) else promotion.axes_of(axis, x.meta.rank, "squeeze")
    for i in axes:
        ctx.require(equal(shape[i], 1), f"axis {i} to be dropped has size {shape[i]}, not 1")
    return mv.drop(x, axes)


def _at_least(rank: int, arys: tuple[Any, ...], before: Sequence[int], after: Sequence[int]):
    """Return arrays with new axes of size 1 until they have `rank` of them.

    An array of r axes gets `before[r]` new ones in front and `after[r]` behind.
    """
    results = []
    for x in map(promotion.as_traced, arys):
        if (old := x.meta.rank) < rank:
            x = mv.reshape(x, (*[1] * before[old], *promotion.sizes(x), *[1] * after[old]))
        results.append(x)
    return results[0] if len(results) == 1 else tuple(results)


def atleast_1d(*arys: Any) -> Any:
    """Return the arrays with at least one axis; scalars become arrays of one element.

    One argument gives an array, several give a tuple.
    """
    return _at_least(1, arys, (1,), (0,))


def atleast_2d(*arys: Any) -> Any:
    """Return the arrays with at least two axes; new ones are put in front.

    One argument gives an array, several give a tuple.
    """
    return _at_least(2, arys, (2, 1), (0, 0))


def atleast_3d(*arys: Any) -> Any:
    """Return the arrays with at least three axes: a vector becomes (1, n, 1), a matrix (m, n, 1).

    One argument gives an array, several give a tuple.
    """
    return _at_least(3, arys, (3, 1, 0), (0, 1, 1))


# -- order of axes -----------------------------------------------------------------------------------------------


@keeps_class
def transpose(a: Any, axes: Any = None) -> Any:
    """Return an array with its axes in the order `axes`, by default reversed."""
    x = promotion.as_traced(a)
    rank = x.meta.rank
    if axes is None:
        return mv.transpose(x)
    named = tuple(axes) if isinstance(axes, Sequence) or has_type(axes, np.ndarray) else (axes,)
    order = [promotion.axis_of(i, rank, "transpose") for i in named]
    if sorted(order) != list(range(rank)):
        raise context_of("transpose", x).fail(f"axes {named} do not name each axis once")
    return mv.transpose(x, order)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """Return an array with its last two axes exchanged.

    An array of fewer than two axes raises ShapeError.
    """
    if promotion.as_traced(x).meta.rank < 2:
        raise context_of("matrix_transpose", promotion.as_traced(x)).fail("a matrix has at least 2 axes")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Return an array with two axes exchanged."""
    x = promotion.as_traced(a)
    i, j = (promotion.axis_of(axis, x.meta.rank, "swapaxes") for axis in (axis1, axis2))
    order = list(range(x.meta.rank))
    order[i], order[j] = j, i
    return mv.transpose(x, order)


@keeps_class
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Return an array with the axes `source` moved to the positions `destination`, ints or sequences.

    The other axes keep their order.
    """
    x = promotion.as_traced(a)
    old, new = (
        [promotion.axis_of(i, x.meta.rank, "moveaxis") for i in (p if isinstance(p, (tuple, list)) else (p,))]
        for p in (source, destination)
    )
    if len(old) != len(new) or len({*old}) != len(old) or len({*new}) != len(new):
        raise context_of("moveaxis", x).fail("source and destination must name as many axes, each once")
    return mv.move_axes(x, old, new)


def rollaxis(a: Any, axis: Any, start: int = 0) -> Any:
    """Return an array with one axis moved in front of the axis at position `start`."""
    x = promotion.as_traced(a)
    rank = x.meta.rank
    old, new = (
        promotion.axis_of(axis, rank, "rollaxis"),
        promotion.axis_of(start, rank + 1, "rollaxis") if start >= 0 else start + rank,
    )
    if not 0 <= new <= rank:
        raise AxisError("rollaxis", start, rank + 1, user_line())
    return mv.move_axes(x, (old,), (new - 1 if old < new else new,))


def flip(m: Any, axis: Any = None) -> Any:
    """Return an array with its elements in reverse order along `axis`: None (all), an int or a tuple."""
    x = promotion.as_traced(m)
    return mv.rev(x, promotion.axes_of(axis, x.meta.rank, "flip"))


def fliplr(m: Any) -> Any:
    """Return an array with its elements in reverse order along axis 1."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Return an array with its elements in reverse order along axis 0."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Return an array rotated k times by 90 degrees in the plane of two axes, from the first towards the second.

    k is an int known while tracing.
    """
    i, j = (promotion.axis_of(axis, promotion.as_traced(m).meta.rank, "rot90") for axis in axes)
    if i == j:
        raise context_of("rot90", m).fail("the two axes must differ")
    if (turns := k % 4) in (0, 2):
        return flip(m, (i, j)) if turns else promotion.as_traced(m)
    return swapaxes(flip(m, j), i, j) if turns == 1 else flip(swapaxes(m, i, j), j)


# -- shifting and repeating --------------------------------------------------------------------------------------


def slice_axis(x: Any, axis: int, start: Size, size: Size) -> Any:
    """Return `size` elements of an axis from `start` on; the caller knows that they exist."""
    shape = promotion.sizes(x)
    starts = [start if i == axis else 0 for i in range(len(shape))]
    return mv.strided(x, starts, [size if i == axis else s for i, s in enumerate(shape)])


@makes_array
def _as_list(values) -> list[Any]:
    """Return one value or several as a list."""
    if has_type(values, np.ndarray):
        values = values.ravel().tolist()
    return list(values) if isinstance(values, (tuple, list)) else [values]


@makes_copy
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Return an array with its elements shifted along axes; those shifted beyond the end come in at the start.

    Shifts and sizes may be symbolic. `shift` and `axis` may be sequences; without `axis` the flattened elements shift.
    """
    x = promotion.as_traced(a)
    if axis is None:
        return mv.reshape(roll(ravel(x), shift, 0), promotion.sizes(x))
    shifts, axes = (_as_list(values) for values in (shift, axis))
    shifts, axes = (p * max(len(shifts), len(axes)) if len(p) == 1 else p for p in (shifts, axes))
    if len(shifts) != len(axes):
        raise context_of("roll", x).fail("as many shifts as axes are needed")
    for by, rolled_axis in zip(shifts, [promotion.axis_of(i, x.meta.rank, "roll") for i in axes], strict=True):
        size = promotion.sizes(x)[rolled_axis]
        moved = expr.mod(promotion.size_of(by), expr.maximum(size, 1))
        if not (has_type(moved, int) and moved == 0):
            rest = size - moved
            x = mv.concatenate(
                [slice_axis(x, rolled_axis, rest, moved), slice_axis(x, rolled_axis, 0, rest)], rolled_axis
            )
    return x


@makes_copy
@makes_array
def tile(A: Any, reps: Any) -> Any:
    """Return an array repeated `reps` times along each axis; repetitions and sizes may be symbolic."""
    x, counts = promotion.as_traced(A), promotion.new_shape(reps, "tile")
    rank = max(x.meta.rank, len(counts))
    x = mv.expand(x, range(rank - x.meta.rank))
    times, shape = (*[1] * (rank - len(counts)), *counts), promotion.sizes(x)
    interleaved = [s for pair in zip(times, shape, strict=True) for s in pair]
    stretched = mv.broadcast_in_dim(x, interleaved, range(1, 2 * rank, 2))
    return mv.reshape(stretched, [n * s for n, s in zip(times, shape, strict=True)])


@makes_copy
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Return an array with each element repeated along an axis; None flattens it first.

    `repeats` is one number, which may be symbolic or traced, or a number for each element. Traced numbers for each
    element give an axis with a new symbolic size.
    """
    x, repeat_axis = along_axis("repeat", a, axis)
    if isinstance(repeats, Traced) and repeats.meta.rank:
        return ix.take(x, dy.repeated(mv.broadcast_to(repeats, (promotion.sizes(x)[repeat_axis],))), repeat_axis)
    if not isinstance(repeats, (SymbolicSize, Traced)):
        counts = promotion.plain_array(repeats, "repeat")
        if counts.size != 1:
            return _repeat_each(x, counts, repeat_axis)
        repeats = counts.item()
    (times,) = promotion.new_shape(repeats, "repeat")
    shape = promotion.sizes(x)
    widened = (*shape[: repeat_axis + 1], times, *shape[repeat_axis + 1 :])
    stretched = mv.broadcast_in_dim(x, widened, [i for i in range(len(widened)) if i != repeat_axis + 1])
    return mv.reshape(stretched, (*shape[:repeat_axis], shape[repeat_axis] * times, *shape[repeat_axis + 1 :]))


def _repeat_each(x, counts: np.ndarray, axis: int):
    """Return the elements of an axis, each repeated by its own count.

    The axis must have as many elements as there are counts.
    """
    size, ctx = promotion.sizes(x)[axis], context_of("repeat", x)
    ctx.require(equal(size, len(counts)), f"axis {axis} has another size than the {len(counts)} counts")
    return ix.take(x, np.repeat(np.arange(len(counts)), counts), axis)


serve(__name__)
