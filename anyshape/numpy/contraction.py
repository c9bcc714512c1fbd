"""Define NumPy's products of vectors and matrices, as compositions of dot_general."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, ShapeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.claim_text import OperandAxes
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import broadcast_sizes, numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.elementwise import multiply, subtract
from anyshape.numpy.operands.memory import stretches_to_out, writes_out
from anyshape.numpy.operands.promotion import asarray, axis_of, is_traced, promoted, sizes, static_int
from anyshape.numpy.operands.reduction_args import in_common_dtype, plus_zero, refuse_out
from anyshape.numpy.operands.ufuncs import Ufunc, has_out, stands_for
from anyshape.numpy.operands.zero_d import makes_array
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.contraction import dot_general
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.ops.movement import broadcast_to, transpose
from anyshape.support.true_types import has_type

NO_AXES: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def no_options(name: str, options: dict[str, Any]) -> Any:
    """Return the dtype among the options of a gufunc; no other option has a meaning for traced arrays."""
    dtype = options.pop("dtype", None)
    unknown = [k for k, v in options.items() if v is not None]
    if unknown:
        raise UnsupportedFunctionError(name, f"option {unknown[0]!r} of a traced array", "leave it out", user_line())
    return dtype


def _refuse_scalars(name: str, *operands: Any) -> None:
    """Refuse an operand without axes."""
    if any(x.ndim == 0 for x in operands):
        metas = [meta_of(x) for x in operands]
        raise ShapeError(name, "an operand is a scalar", metas, user_line(), "write * for a product with a scalar")


# -- products of stacks ------------------------------------------------------------------------------------------


def _stacked(name: str, x: Any, y: Any, core_x: int, core_y: int) -> Any:
    """Return the product of two stacks over the last axis of x and the first core axis of y.

    A stack axis that one operand lacks, or that is known to be 1 there, is a free axis of the other.
    """
    shape_x, shape_y = sizes(x), sizes(y)
    nx, ny = len(shape_x) - core_x, len(shape_y) - core_y
    ctx = context_of(name, x, y)
    front = broadcast_sizes(ctx, [shape_x[:nx], shape_y[:ny]])
    _require_contractable(ctx, shape_x, shape_y, len(shape_x) - 1, ny)
    x, own_x = _own_stack_axes(x, nx, front)
    y, own_y = _own_stack_axes(y, ny, front)
    batch = [a for a in own_x if a in own_y]
    product = dot_general(
        x, y, ((len(own_x) + core_x - 1,), (len(own_y),)),
        ([own_x.index(a) for a in batch], [own_y.index(a) for a in batch]),
    )  # fmt: skip
    free_x, free_y = ([a for a in own if a not in batch] for own in (own_x, own_y))
    rows, columns = [len(front)] * (core_x - 1), [len(front) + 1] * (core_y - 1)
    labels = [*batch, *free_x, *rows, *free_y, *columns]
    return transpose(product, [labels.index(a) for a in (*range(len(front)), *rows, *columns)])


def _require_contractable(
    ctx: ShapeGuardContext, shape_x: Sequence[Size], shape_y: Sequence[Size], i: int, j: int
) -> None:
    """Require that axis i of the first operand and axis j of the second one have equal sizes."""
    a, b = shape_x[i], shape_y[j]
    ctx.require_equal(a, b, f"contracted axes have sizes {a} and {b}", OperandAxes(2, (0, i), (1, j)))


def _contract(name: str, x: Any, y: Any, left: Sequence[int], right: Sequence[int]) -> Any:
    """Sum the products over pairs of axes."""
    ctx, x_meta, y_meta = context_of(name, x, y), meta_of(x), meta_of(y)
    if x_meta.sizes is not None and y_meta.sizes is not None:
        for i, j in zip(left, right, strict=True):
            _require_contractable(ctx, x_meta.sizes, y_meta.sizes, i, j)
    product = dot_general(x, y, (left, right), NO_AXES)
    return product if left else plus_zero(product)


def _own_stack_axes(x: Any, count: int, front: Sequence[Size]) -> tuple[Any, list[int]]:
    """Return the operand without stack axes that only the other one has, and the positions of its own in the stack."""
    offset = len(front) - count
    shape = sizes(x)
    ones = [axis for axis in range(count) if shape[axis] == 1 != front[offset + axis]]
    own = [offset + axis for axis in range(count) if axis not in ones]
    x = mv.drop(x, ones)
    return broadcast_to(x, (*[front[a] for a in own], *shape[count:])), own


@stands_for(np.matmul)
def matmul(*args: Any, **options: Any) -> Any:
    """Return the matrix product of x1 and x2; vectors count as one row or one column.

    The last axis of x1 and the last but one of x2 must have equal sizes. The axes before them broadcast. Dtypes follow
    `numpy.matmul`. With a traced operand `out` must be traced too, and other options but `dtype` raise
    UnsupportedFunctionError.
    """
    if has_out(np.matmul, args, options):
        return np.matmul(*args, **options)  # by NumPy's protocol, which writes the result
    x, y = promoted(np.matmul, *args, dtype=no_options("matmul", options))
    _refuse_scalars("matmul", x, y)
    return _stacked("matmul", x, y, min(x.ndim, 2), min(y.ndim, 2))


_VECTOR_DOC = """{summary}

The other axes broadcast. Dtypes follow `numpy.{name}`. With a traced operand `out` must be traced too, and other
options but `axis` and `dtype` raise UnsupportedFunctionError.
"""


def _vector_product(ufunc: np.ufunc, core_x: int, core_y: int, summary: str, *, conjugate: bool) -> Ufunc:
    """Build `vecdot`, `matvec` or `vecmat`, which sum over the last axis of x, and of the matrix y the last but one."""
    name = ufunc.__name__

    def function(*args: Any, **options: Any) -> Any:
        if has_out(ufunc, args, options):
            return ufunc(*args, **options)  # by NumPy's protocol, which writes the result
        if "axis" in options and (core_x, core_y) != (1, 1):
            axis = options["axis"]
            raise ArgumentError(name, f"axis {axis}", "has no meaning for matrices", "move the axes to the end")
        axis = options.pop("axis", -1)
        x, y = promoted(ufunc, *args, dtype=no_options(name, options))
        _refuse_scalars(name, x, y)
        if core_x > x.ndim or core_y > y.ndim:
            raise ShapeError(name, "an operand has too few axes", (meta_of(x), meta_of(y)), user_line())
        if axis != -1:
            x, y = (mv.move_axes(z, [axis_of(axis, z.ndim, name)], [z.ndim - 1]) for z in (x, y))
        x = ew.conj(x) if conjugate else x
        return _stacked(name, x, y, core_x, core_y)

    return Ufunc(ufunc, function, _VECTOR_DOC.format(summary=summary, name=name), __name__)


vecdot: Ufunc = _vector_product(
    np.vecdot, 1, 1, "Return the dot products of vectors in the last axes, with x1 conjugated.", conjugate=True
)
matvec: Ufunc = _vector_product(np.matvec, 2, 1, "Return the products of matrices x1 and vectors x2.", conjugate=False)
vecmat: Ufunc = _vector_product(
    np.vecmat, 1, 2, "Return the products of vectors x1, conjugated, and matrices x2.", conjugate=True
)

# -- products of two arrays --------------------------------------------------------------------------------------


def _multiply(x: Any, y: Any) -> Any:
    """Return x * y, and for booleans x & y."""
    return ew.logical_and(x, y) if x.dtype.kind == "b" else ew.mul(x, y)


def _scaled(x: Any, y: Any) -> Any:
    """Return the product with a scalar, which BLAS adds to 0 where it knows the dtype and an operand has axes."""
    product = _multiply(x, y)
    return plus_zero(product) if (x.ndim or y.ndim) and product.dtype != np.float16 else product


@writes_out
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the sum of products over the last axis of `a` and the last but one of `b`.

    Scalars multiply. The other axes of `a` come first, then the other axes of `b`; unlike in `matmul` none broadcast.
    With traced operands `out` must be traced too.
    """
    if not is_traced(a, b):
        return np.dot(a, b, out=out)
    refuse_out("dot", out)
    x, y = in_common_dtype("dot", a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    return _contract("dot", x, y, (x.ndim - 1,), (max(y.ndim - 2, 0),))


def inner(a: Any, b: Any, /) -> Any:
    """Return the sum of products over the last axis of `a` and the last axis of `b`; scalars multiply."""
    if not is_traced(a, b):
        return np.inner(a, b)
    x, y = in_common_dtype("inner", a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    return _contract("inner", x, y, (x.ndim - 1,), (y.ndim - 1,))


def _flat(x: Any) -> Any:
    """Return the elements of x along one axis."""
    return mv.reshape(x, (numel(sizes(x)),))


@stretches_to_out
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the matrix of products of each element of `a` with each of `b`; both are flattened.

    With traced operands `out` must be traced too.
    """
    if not is_traced(a, b):
        return np.outer(a, b, out=out)
    refuse_out("outer", out)
    x, y = in_common_dtype("outer", a, b)
    return dot_general(_flat(x), _flat(y), NO_AXES, NO_AXES)


def vdot(a: Any, b: Any, /) -> Any:
    """Return the sum of products of all elements, with `a` conjugated; both are flattened."""
    if not is_traced(a, b):
        return np.vdot(a, b)
    x, y = in_common_dtype("vdot", a, b)
    return dot_general(_flat(ew.conj(x)), _flat(y), ((0,), (0,)), NO_AXES)


@makes_array
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return the sum of products over pairs of axes.

    `axes` is a number n (the last n axes of `a` with the first n of `b`), or a list of axes for each operand.
    An axis named twice raises ArgumentError for traced operands.
    """
    if not is_traced(a, b):
        return np.tensordot(a, b, axes)
    x, y = in_common_dtype("tensordot", a, b)
    left, right = _tensordot_axes(axes, x.ndim, y.ndim)
    return _contract("tensordot", x, y, left, right)


def _tensordot_axes(axes: Any, rank_x: int, rank_y: int) -> tuple[list[int], list[int]]:
    """Return the axes to sum, from a number of them or from one list (or one axis) for each operand."""
    if not has_type(axes, (Sequence, np.ndarray)):
        count = static_int(axes, "tensordot", "the number of axes")
        if not 0 <= count <= min(rank_x, rank_y):
            why = f"axes={count} are not axes of operands with {rank_x} and {rank_y}"
            raise ShapeError("tensordot", why, (), user_line(), "name fewer axes")
        return list(range(rank_x - count, rank_x)), list(range(count))
    left, right = _axes_of_both(axes)
    if len(left) != len(right):
        raise ArgumentError("tensordot", f"axes={axes}", "names different numbers of axes", "name them in pairs")
    summed_axes = [axis_of(a, rank_x, "tensordot") for a in left], [axis_of(a, rank_y, "tensordot") for a in right]
    if any(len(set(group)) != len(group) for group in summed_axes):
        raise ArgumentError("tensordot", f"axes={axes}", "names an axis twice", "name each axis once")
    return summed_axes


def _axes_of_both(axes: Any) -> tuple[list[Any], list[Any]]:
    """Return the list of axes for each operand; one axis stands for a list."""
    if len(axes) != 2 or not all(has_type(a, (int, np.integer, Sequence, np.ndarray)) for a in axes):
        problem, advice = "is not a list of axes for each operand", "pass two lists of ints, or the number of axes"
        raise ArgumentError("tensordot", f"axes={axes}", problem, advice)
    left, right = ([a] if has_type(a, (int, np.integer)) else list(a) for a in axes)
    return left, right


def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product: `b` multiplied by each element of `a`, as blocks."""
    if not is_traced(a, b):
        return np.kron(a, b)
    x, y = in_common_dtype("kron", a, b)
    rank = max(x.ndim, y.ndim)
    shape_x, shape_y = ((1,) * (rank - len(s)) + s for s in (sizes(x), sizes(y)))
    product = dot_general(mv.reshape(x, shape_x), mv.reshape(y, shape_y), NO_AXES, NO_AXES)
    product = transpose(product, [a for i in range(rank) for a in (i, rank + i)])
    merged: list[Size] = [m * n for m, n in zip(shape_x, shape_y, strict=True)]
    return mv.reshape(product, merged)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return the cross product of vectors with three elements.

    `axisa`, `axisb` and `axisc` are the axes of the vectors in `a`, `b` and the result; `axis` sets all of them.
    The other axes broadcast. Traced vectors of two elements raise ShapeError; NumPy deprecates them.
    """
    if not is_traced(a, b):
        return np.cross(a, b, axisa, axisb, axisc, axis)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (asarray(z) for z in (a, b))
    _refuse_scalars("cross", x, y)
    parts = []
    for z, vector_axis in ((x, axisa), (y, axisb)):
        last = mv.move_axes(z, [axis_of(vector_axis, z.ndim, "cross")], [z.ndim - 1])
        size, ctx = sizes(last)[-1], context_of("cross", x, y)
        ctx.require_equal(size, 3, f"the vectors have {size} elements, not 3")
        last = broadcast_to(last, (*sizes(last)[:-1], 3))
        parts.append([last[..., i] for i in range(3)])
    (x0, x1, x2), (y0, y1, y2) = parts
    pairs = ((x1, y2, x2, y1), (x2, y0, x0, y2), (x0, y1, x1, y0))
    components = [subtract(multiply(p, q), multiply(r, s)) for p, q, r, s in pairs]
    stacked = mv.concatenate([mv.expand(c, (c.ndim,)) for c in components], components[0].ndim)
    return mv.move_axes(stacked, [stacked.ndim - 1], [axis_of(axisc, stacked.ndim, "cross")])
