"""Define NumPy's functions that make matrices: triangles, identities and diagonals, of symbolic sizes too.

Define NumPy's functions that join and split arrays, as compositions of movement ops.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, ZeroDivisorError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import OperandAxes, at_least, equal
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import atleast_1d, atleast_2d, atleast_3d, ravel, slice_axis
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import makes_copy, writes_out
from anyshape.numpy.operands.reduction_args import makes_array
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type


def _offsets(rows: Size, columns: Size, k) -> tuple[Any, Any]:
    """Return the row index plus k and the column index, each of shape (rows, columns)."""
    if k.meta.rank if isinstance(k, Traced) else not promotion.is_traced(k) and np.ndim(k):
        raise ArgumentError("a diagonal", f"k={k!r}", "is not an int", "name one diagonal")
    if has_type(k, (float, np.floating)) and k != int(k):
        raise ArgumentError("a diagonal", f"k={k!r}", "is not whole", "name one diagonal by an int")
    shape = (rows, columns)
    i = mv.broadcast_in_dim(cr.iota(rows), shape, (0,))
    j = mv.broadcast_in_dim(cr.iota(columns), shape, (1,))
    return ew.add(i, promotion.cast_operand(k, np.dtype(np.int64))) if not (has_type(k, int) and k == 0) else i, j


def count_of(x) -> Size:
    """Return a number of rows or columns as a size, 0 if it is negative."""
    return dy.size_from_count(x) if isinstance(x, Traced) else expr.maximum(promotion.size_of(x), 0)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Return a matrix with ones on and below diagonal k and zeros above it.

    Sizes and k may be symbolic or traced integer scalars. `like` has no effect.
    """
    rows = count_of(N)
    columns = rows if M is None else count_of(M)
    return ew.convert(ew.ge(*_offsets(rows, columns, k)), dtype)


def _triangle(m, k, below: bool):
    """Return the elements on and below diagonal k, or on and above it, with zeros elsewhere."""
    x = promotion.as_traced(m)
    if x.meta.rank == 1:
        x = mv.broadcast_to(x, (promotion.sizes(x)[0],) * 2)
    if x.meta.rank == 0:
        name = "tril" if below else "triu"
        raise ArgumentError(name, "m", "is a scalar", "pass an array with at least one axis")
    rows, columns = promotion.sizes(x)[-2:]
    i, j = _offsets(rows, columns, k)
    return ew.select(ew.ge(i, j) if below else ew.ge(j, i), x, cr.full((), 0, x.dtype))


def tril(m: Any, k: Any = 0) -> Any:
    """Return the matrices of an array with zeros above diagonal k; a vector counts as each row of one."""
    return _triangle(m, k, True)


def triu(m: Any, k: Any = 0) -> Any:
    """Return the matrices of an array with zeros below diagonal k; a vector counts as each row of one."""
    return _triangle(m, k, False)


def eye(N, M=None, k=0, dtype=float, order: str = "C", *, device=None, like=None) -> Any:
    """Return a matrix with ones on diagonal k and zeros elsewhere; sizes may be symbolic.

    For symbolic sizes `order`, `device` and `like` have no effect.
    """
    rows = promotion.new_size(N, "eye")
    columns = rows if M is None else promotion.new_size(M, "eye")
    return ew.convert(ew.eq(*_offsets(rows, columns, k)), dtype)


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return the identity matrix with n rows; n may be symbolic. `like` has no effect."""
    dtype = float if dtype is None else dtype
    return eye(n, dtype=dtype)


def diagflat(v: Any, k: Any = 0) -> Any:
    """Return a square matrix with the flattened elements of `v` on diagonal k and zeros elsewhere."""
    return diagonal_matrix(ravel(v), promotion.size_of(k))


def diagonal_matrix(x: Any, k: Size) -> Any:
    """Return a matrix with the elements of a vector on diagonal k.

    It is built as rows of n + 1 elements that are read as rows of n.
    """
    (n,) = promotion.sizes(x)
    rows = mv.pad(mv.expand(x, (1,)), (0, 0), (0, n))
    flat = mv.reshape(rows, (numel(promotion.sizes(rows)),))
    square = mv.reshape(mv.strided(flat, (0,), (expr.mul(n, n),)), (n, n))
    right, down = expr.maximum(k, 0), expr.maximum(expr.mul(-1, k), 0)
    return mv.pad(square, (down, right), (right, down))


# -- joining -----------------------------------------------------------------------------------------------------


def _in_one_dtype(function: str, arrays, dtype=None, casting="same_kind") -> list[Any]:
    """Return the arrays in one dtype, which is `dtype` or the promoted one.

    A Python scalar among them counts as an array, as NumPy makes it one.
    """
    operands = [promotion.as_traced(x) for x in _members(arrays)]
    if not operands:
        raise context_of(function).fail("at least one array is needed")
    common = np.result_type(*[x.dtype for x in operands])
    target = promotion.number_dtype(dtype, function) if dtype is not None else common
    promotion.choice_of(function, "casting", casting, promotion.CASTINGS)
    if not np.can_cast(common, target, casting):
        raise DTypeError(
            function, f"cannot cast {common} to {target} by {casting!r}", "cast with astype first", user_line()
        )
    return [promotion.as_traced(x, target) for x in operands]


def _members(arrays) -> Sequence[Any]:
    """Return the arrays of a sequence, or along the first axis of an array."""
    return unstack(arrays) if isinstance(arrays, Traced) and arrays.meta.rank else list(arrays)


@writes_out
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind") -> Any:
    """Return arrays joined along an existing axis; None joins their flattened elements.

    Other axes must have equal sizes, which calls check where symbolic ones may differ. The dtype is `dtype` or the
    promoted one, and `casting` limits the casts to it.
    With traced operands `out` must be traced too.
    """
    if promotion.is_traced(axis) or has_type(axis, np.ndarray):
        advice = "pass the arrays as one list: np.concatenate([x, y])"
        raise ArgumentError("concatenate", "axis", "is an array", advice)
    operands = _in_one_dtype("concatenate", arrays, dtype, casting)
    if axis is None:
        return mv.concatenate([ravel(x) for x in operands], 0)
    if operands[0].meta.rank == 0:
        raise context_of("concatenate", *operands).fail(
            "arrays without axes cannot be concatenated", "write np.stack, or x[None]"
        )
    along = promotion.axis_of(axis, operands[0].meta.rank, "concatenate")
    _require_same_shape("concatenate", operands, along)
    return mv.concatenate(operands, along)


def _require_same_shape(function: str, arrays: Sequence[Any], along: int | None = None) -> None:
    """Require that all arrays have the same shape, apart from the axis `along`."""
    ctx = context_of(function, *arrays)
    if len({x.meta.rank for x in arrays}) > 1:
        ranks = " and ".join([str(x.meta.rank) for x in arrays])
        raise ctx.fail(f"all arrays must have the same number of axes, and they have {ranks}", "add axes with x[None]")
    first = arrays[0].meta.sizes
    for operand, x in enumerate(arrays[1:], 1):
        for axis, (a, b) in enumerate(zip(first or (), x.meta.sizes or ())):
            if axis != along:
                axes = OperandAxes(len(arrays), (0, axis), (operand, axis))
                ctx.require_equal(a, b, f"axes {axis} have sizes {a} and {b}", axes)


concat = concatenate


@writes_out
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Return arrays of one shape joined along a new axis.

    The dtype is `dtype` or the promoted one, and `casting` limits the casts to it.
    With traced operands `out` must be traced too.
    """
    operands = _in_one_dtype("stack", arrays, dtype, casting)
    _require_same_shape("stack", operands)
    new_axis = promotion.axis_of(axis, operands[0].meta.rank + 1, "stack")
    return mv.concatenate([mv.expand(x, (new_axis,)) for x in operands], new_axis)


def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Return arrays joined along axis 0; arrays of one axis become rows."""
    return concatenate([atleast_2d(promotion.as_traced(x)) for x in _members(tup)], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Return arrays joined along axis 1; arrays of one axis are joined along that one."""
    operands = [atleast_1d(promotion.as_traced(x)) for x in _members(tup)]
    return concatenate(operands, 0 if operands and operands[0].meta.rank == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """Return arrays joined along axis 2, after `atleast_3d`."""
    return concatenate([atleast_3d(promotion.as_traced(x)) for x in _members(tup)], 2)


def column_stack(tup: Any) -> Any:
    """Return a matrix of columns; matrices among the arrays add all of their columns."""
    operands = [promotion.as_traced(x) for x in _members(tup)]
    return concatenate([mv.transpose(atleast_2d(x)) if x.meta.rank < 2 else x for x in operands], 1)


@makes_copy
@makes_array
def block(arrays: Any) -> Any:
    """Return an array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, the lists around them along the axis before, and so on.
    """
    depth = _depth(arrays)
    rank = max(depth, *[promotion.as_traced(x).meta.rank for x in _leaves(arrays)])
    return _block(arrays, depth, rank)


def _depth(nested) -> int:
    """Return how deep lists are nested; NumPy wants the same depth everywhere."""
    if not isinstance(nested, list):
        return 0
    depths = {_depth(x) for x in nested}
    if len(depths) > 1:
        raise ArgumentError("block", "arrays", "are nested to different depths", "put each block into as many lists")
    return 1 + max(depths, default=0)


def _leaves(nested) -> list[Any]:
    """Return the blocks of nested lists in order."""
    return [leaf for x in nested for leaf in _leaves(x)] if isinstance(nested, list) else [nested]


def _block(nested, depth: int, rank: int):
    """Return nested lists joined, each depth along its own axis from the end."""
    if isinstance(nested, list):
        return concatenate([_block(x, depth - 1, rank) for x in nested], -depth)
    x = promotion.as_traced(nested)
    return mv.expand(x, range(rank - x.meta.rank))


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Return `values` joined to the end of `arr` along `axis`; None flattens both."""
    return concatenate((arr, values), axis)


# -- splitting ---------------------------------------------------------------------------------------------------


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Return the parts of an array along an axis, as a list; sizes need not divide evenly.

    `indices_or_sections` is a number of parts, known while tracing, or the positions to split at. Positions may be
    symbolic. A symbolic size is divided as NumPy would divide its value.
    """
    x = promotion.as_traced(ary)
    split_axis = promotion.axis_of(axis, x.meta.rank, "array_split")
    size = promotion.sizes(x)[split_axis]
    if _are_positions(indices_or_sections):
        return _split_at(x, indices_or_sections, split_axis, size)
    if (count := promotion.static_int(indices_or_sections, "array_split", "the number of parts")) <= 0:
        raise context_of("array_split", x).fail("the number of sections must be at least 1")
    each, more = expr.floordiv(size, count), expr.mod(size, count)
    starts = [each * i + expr.minimum(more, i) for i in range(count)]
    extra = [expr.minimum(expr.maximum(more - i, 0), 1) for i in range(count)]
    return [slice_axis(x, split_axis, start, each + one) for start, one in zip(starts, extra, strict=True)]


def _are_positions(indices) -> bool:
    """Return whether an argument holds positions to split at and not a number of parts."""
    return isinstance(indices, (tuple, list)) or (has_type(indices, np.ndarray) and indices.ndim > 0)


def _split_at(x, indices, axis: int, size: Size) -> list[Any]:
    """Return the parts between positions, each clamped to the axis as a slice would be."""
    positions = [_clamped(x, promotion.size_of(i), size) for i in indices]
    starts, stops = [0, *positions], [*positions, size]
    return [slice_axis(x, axis, a, expr.maximum(b - a, 0)) for a, b in zip(starts, stops, strict=True)]


def _clamped(x, position: Size, size: Size) -> Size:
    """Return a position as a slice takes it: from the end if it is negative.

    Where a symbolic position may be negative, the trace decides it by a guard.
    """
    ctx = context_of("split", x)
    negative = position < 0 if has_type(position, int) else not ctx.scope.branch_on(at_least(position, 0), ctx.where)
    return expr.maximum(size + position, 0) if negative else expr.minimum(position, size)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Return equal parts of an array along an axis, or its parts between positions, as a list.

    The number of parts is known while tracing. That a symbolic size divides evenly is checked at the call.
    """
    x = promotion.as_traced(ary)
    split_axis = promotion.axis_of(axis, x.meta.rank, "split")
    if not _are_positions(indices_or_sections):
        count = promotion.static_int(indices_or_sections, "split", "the number of parts")
        size, ctx = promotion.sizes(x)[split_axis], context_of("split", x)
        if count == 0:
            problem, advice = "the number of parts is 0", "pass at least 1"
            raise ZeroDivisorError("split", "0", {}, "", user_line(), demand=problem, advice=advice)
        if count > 0:
            ctx.require(equal(expr.mod(size, count), 0), f"size {size} does not divide into {count} equal parts")
            each = expr.floordiv(size, count)
            return [slice_axis(x, split_axis, each * i, each) for i in range(count)]
    return array_split(x, indices_or_sections, split_axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return the parts of an array along axis 1, or along axis 0 of an array of one axis."""
    return split(ary, indices_or_sections, 0 if promotion.as_traced(ary).meta.rank == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return the parts of an array along axis 0; it must have at least two axes."""
    if promotion.as_traced(ary).meta.rank < 2:
        raise context_of("vsplit", promotion.as_traced(ary)).fail("an array of at least 2 axes is needed")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return the parts of an array along axis 2; it must have at least three axes."""
    if promotion.as_traced(ary).meta.rank < 3:
        raise context_of("dsplit", promotion.as_traced(ary)).fail("an array of at least 3 axes is needed")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    """Return a tuple of the arrays along an axis, each without that axis.

    A tuple has a length that Python knows. So a symbolic size is bound to its value by a guard.
    """
    array = promotion.as_traced(x)
    stack_axis = promotion.axis_of(axis, array.meta.rank, "unstack")
    count = context_of("unstack", array).fixed(
        promotion.sizes(array)[stack_axis], field="the number of arrays", axis=stack_axis
    )
    return tuple([mv.drop(slice_axis(array, stack_axis, i, 1), (stack_axis,)) for i in range(count)])


serve(__name__)
