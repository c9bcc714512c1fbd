"""Define NumPy's products of vectors and matrices, as compositions of dot_general.

Define `einsum`: parse the equation and contract operands in pairs.

The contraction path is chosen by the known sizes, which may be symbolic.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, ShapeError, SpecError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import OperandAxes
from anyshape.graph.shapes.array_type import ShapeGuardContext, broadcast_size, broadcast_sizes, numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.at_update import Indexed
from anyshape.numpy.elementwise import multiply, subtract
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import stretches_to_out, writes_out
from anyshape.numpy.operands.reduction_args import as_operands, in_common_dtype, makes_array, plus_zero
from anyshape.numpy.operands.ufuncs import Ufunc, has_out, stands_for
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import LETTERS, dot_general, equation_of
from anyshape.ops.contraction import einsum as product
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.ops.core.contraction_order import PathChoice, choose_path
from anyshape.ops.creation import iota
from anyshape.ops.indexing import take_at
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


def _refuse_scalars(name: str, *operands) -> None:
    """Refuse an operand without axes."""
    if any(x.ndim == 0 for x in operands):
        metas = [meta_of(x) for x in operands]
        raise ShapeError(name, "an operand is a scalar", metas, user_line(), "write * for a product with a scalar")


# -- products of stacks ------------------------------------------------------------------------------------------


def _stacked(name: str, x, y, core_x: int, core_y: int):
    """Return the product of two stacks over the last axis of x and the first core axis of y.

    A stack axis that one operand lacks, or that is known to be 1 there, is a free axis of the other.
    """
    shape_x, shape_y = promotion.sizes(x), promotion.sizes(y)
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


def _contract(name: str, x, y, left: Sequence[int], right: Sequence[int]):
    """Sum the products over pairs of axes."""
    ctx, x_meta, y_meta = context_of(name, x, y), meta_of(x), meta_of(y)
    if x_meta.sizes is not None and y_meta.sizes is not None:
        for i, j in zip(left, right, strict=True):
            _require_contractable(ctx, x_meta.sizes, y_meta.sizes, i, j)
    product = dot_general(x, y, (left, right), NO_AXES)
    return product if left else plus_zero(product)


def _own_stack_axes(x, count: int, front: Sequence[Size]) -> tuple[Any, list[int]]:
    """Return the operand without stack axes that only the other one has, and the positions of its own in the stack."""
    offset = len(front) - count
    shape = promotion.sizes(x)
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
    x, y = promotion.promoted(np.matmul, *args, dtype=no_options("matmul", options))
    _refuse_scalars("matmul", x, y)
    return _stacked("matmul", x, y, min(x.ndim, 2), min(y.ndim, 2))


_VECTOR_DOC = """{summary}

The other axes broadcast. Dtypes follow `numpy.{name}`. With a traced operand `out` must be traced too, and other
options but `axis` and `dtype` raise UnsupportedFunctionError.
"""


def _vector_product(ufunc: np.ufunc, core_x: int, core_y: int, summary: str, *, conjugate: bool) -> Ufunc:
    """Build `vecdot`, `matvec` or `vecmat`, which sum over the last axis of x, and of the matrix y the last but one."""
    name = ufunc.__name__

    def function(*args, **options):
        if has_out(ufunc, args, options):
            return ufunc(*args, **options)  # by NumPy's protocol, which writes the result
        if "axis" in options and (core_x, core_y) != (1, 1):
            axis = options["axis"]
            raise ArgumentError(name, f"axis {axis}", "has no meaning for matrices", "move the axes to the end")
        axis = options.pop("axis", -1)
        x, y = promotion.promoted(ufunc, *args, dtype=no_options(name, options))
        _refuse_scalars(name, x, y)
        if core_x > x.ndim or core_y > y.ndim:
            raise ShapeError(name, "an operand has too few axes", (meta_of(x), meta_of(y)), user_line())
        if axis != -1:
            x, y = (mv.move_axes(z, [promotion.axis_of(axis, z.ndim, name)], [z.ndim - 1]) for z in (x, y))
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


def _multiply(x, y):
    """Return x * y, and for booleans x & y."""
    return ew.logical_and(x, y) if x.dtype.kind == "b" else ew.mul(x, y)


def _scaled(x, y):
    """Return the product with a scalar, which BLAS adds to 0 where it knows the dtype and an operand has axes."""
    product = _multiply(x, y)
    return plus_zero(product) if (x.ndim or y.ndim) and product.dtype != np.float16 else product


@writes_out
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the sum of products over the last axis of `a` and the last but one of `b`.

    Scalars multiply. The other axes of `a` come first, then the other axes of `b`; unlike in `matmul` none broadcast.
    With traced operands `out` must be traced too.
    """
    x, y = in_common_dtype("dot", a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    return _contract("dot", x, y, (x.ndim - 1,), (max(y.ndim - 2, 0),))


def inner(a: Any, b: Any, /) -> Any:
    """Return the sum of products over the last axis of `a` and the last axis of `b`; scalars multiply."""
    x, y = in_common_dtype("inner", a, b)
    if x.ndim == 0 or y.ndim == 0:
        return _scaled(x, y)
    return _contract("inner", x, y, (x.ndim - 1,), (y.ndim - 1,))


def _flat(x):
    """Return the elements of x along one axis."""
    return mv.reshape(x, (numel(promotion.sizes(x)),))


@stretches_to_out
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the matrix of products of each element of `a` with each of `b`; both are flattened.

    With traced operands `out` must be traced too.
    """
    x, y = in_common_dtype("outer", a, b)
    return dot_general(_flat(x), _flat(y), NO_AXES, NO_AXES)


def vdot(a: Any, b: Any, /) -> Any:
    """Return the sum of products of all elements, with `a` conjugated; both are flattened."""
    x, y = in_common_dtype("vdot", a, b)
    return dot_general(_flat(ew.conj(x)), _flat(y), ((0,), (0,)), NO_AXES)


@makes_array
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return the sum of products over pairs of axes.

    `axes` is a number n (the last n axes of `a` with the first n of `b`), or a list of axes for each operand.
    An axis named twice raises ArgumentError for traced operands.
    """
    x, y = in_common_dtype("tensordot", a, b)
    left, right = _tensordot_axes(axes, x.ndim, y.ndim)
    return _contract("tensordot", x, y, left, right)


def _tensordot_axes(axes, rank_x: int, rank_y: int) -> tuple[list[int], list[int]]:
    """Return the axes to sum, from a number of them or from one list (or one axis) for each operand."""
    if not has_type(axes, (Sequence, np.ndarray)):
        count = promotion.static_int(axes, "tensordot", "the number of axes")
        if not 0 <= count <= min(rank_x, rank_y):
            why = f"axes={count} are not axes of operands with {rank_x} and {rank_y}"
            raise ShapeError("tensordot", why, (), user_line(), "name fewer axes")
        return list(range(rank_x - count, rank_x)), list(range(count))
    left, right = _axes_of_both(axes)
    if len(left) != len(right):
        raise ArgumentError("tensordot", f"axes={axes}", "names different numbers of axes", "name them in pairs")
    summed_axes = (
        [promotion.axis_of(a, rank_x, "tensordot") for a in left],
        [promotion.axis_of(a, rank_y, "tensordot") for a in right],
    )
    if any(len(set(group)) != len(group) for group in summed_axes):
        raise ArgumentError("tensordot", f"axes={axes}", "names an axis twice", "name each axis once")
    return summed_axes


def _axes_of_both(axes) -> tuple[list[Any], list[Any]]:
    """Return the list of axes for each operand; one axis stands for a list."""
    if len(axes) != 2 or not all(has_type(a, (int, np.integer, Sequence, np.ndarray)) for a in axes):
        problem, advice = "is not a list of axes for each operand", "pass two lists of ints, or the number of axes"
        raise ArgumentError("tensordot", f"axes={axes}", problem, advice)
    left, right = ([a] if has_type(a, (int, np.integer)) else list(a) for a in axes)
    return left, right


def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product: `b` multiplied by each element of `a`, as blocks."""
    x, y = in_common_dtype("kron", a, b)
    rank = max(x.ndim, y.ndim)
    shape_x, shape_y = ((1,) * (rank - len(s)) + s for s in (promotion.sizes(x), promotion.sizes(y)))
    product = dot_general(mv.reshape(x, shape_x), mv.reshape(y, shape_y), NO_AXES, NO_AXES)
    product = transpose(product, [a for i in range(rank) for a in (i, rank + i)])
    merged: list[Size] = [m * n for m, n in zip(shape_x, shape_y, strict=True)]
    return mv.reshape(product, merged).unshared()


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return the cross product of vectors with three elements.

    `axisa`, `axisb` and `axisc` are the axes of the vectors in `a`, `b` and the result; `axis` sets all of them.
    The other axes broadcast. Traced vectors of two elements raise ShapeError; NumPy deprecates them.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (promotion.asarray(z) for z in (a, b))
    _refuse_scalars("cross", x, y)
    parts = []
    for z, vector_axis in ((x, axisa), (y, axisb)):
        last = mv.move_axes(z, [promotion.axis_of(vector_axis, z.ndim, "cross")], [z.ndim - 1])
        size, ctx = promotion.sizes(last)[-1], context_of("cross", x, y)
        ctx.require_equal(size, 3, f"the vectors have {size} elements, not 3")
        last = broadcast_to(last, (*promotion.sizes(last)[:-1], 3))
        parts.append([last[..., i] for i in range(3)])
    (x0, x1, x2), (y0, y1, y2) = parts
    pairs = ((x1, y2, x2, y1), (x2, y0, x0, y2), (x0, y1, x1, y0))
    components = [subtract(multiply(p, q), multiply(r, s)) for p, q, r, s in pairs]
    stacked = mv.concatenate([mv.expand(c, (c.ndim,)) for c in components], components[0].ndim)
    return mv.move_axes(stacked, [stacked.ndim - 1], [promotion.axis_of(axisc, stacked.ndim, "cross")])


Labels = tuple[Any, ...]


@writes_out
def einsum(*operands, out=None, optimize=False, dtype=None, casting="safe", order="K") -> Any:
    """Return the sum of products over labelled axes, with the equation as a string or as lists of integers.

    The sizes of a call choose the contraction path, so `optimize` is ignored for traced operands. So is `order`, since
    values of a program have no memory layout. With traced operands `out` must be traced too.
    """
    promotion.choice_of("einsum", "casting", casting, promotion.CASTINGS)
    promotion.choice_of("einsum", "order", order, promotion.ORDERS)
    equation, arrays = _string_form(operands)
    xs = _cast(as_operands("einsum", *arrays), dtype, casting)
    inputs, output = _parse(equation, [x.ndim for x in xs])
    return _Contraction(xs, inputs, output).run()


def _cast(xs: list[Any], dtype, casting: str) -> list[Any]:
    """Return the operands in `dtype`, or in the dtype that they promote to."""
    target = promotion.number_dtype(dtype, "einsum") if dtype is not None else np.result_type(*[x.dtype for x in xs])
    if target.kind not in promotion.NUMERIC:
        raise DTypeError("einsum", f"there are no traced arrays of {target}", "use a dtype of numbers", user_line())
    for i, x in enumerate(xs):
        if not np.can_cast(x.dtype, target, casting):
            why = f"operand {i} is {x.dtype}, which the rule {casting!r} does not cast to {target}"
            raise DTypeError("einsum", why, "convert it with astype, or pass another `casting`", user_line())
    return [promotion.asarray(x, target) for x in xs]


# -- the equation ------------------------------------------------------------------------------------------------


def _fail(equation: str, problem: str, advice: str = "write it as numpy.einsum takes it") -> SpecError:
    """Return the error for an equation that cannot be read."""
    error = SpecError(equation, f"the einsum equation {problem}", advice)
    error.locate(user_line())
    return error


def _string_form(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the equation as a string and the arrays, from either form of the call."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs, rest = divmod(len(operands), 2)
    arrays, lists = list(operands[0 : 2 * pairs : 2]), list(operands[1 : 2 * pairs : 2])
    equation = ",".join(map(_sublist, lists))
    return (f"{equation}->{_sublist(operands[-1])}" if rest else equation), arrays


def _sublist(labels: Sequence[Any]) -> str:
    """Return [0, 1, Ellipsis] as "AB..."."""
    for n in labels:
        if n is not Ellipsis and (has_type(n, bool) or not has_type(n, (int, np.integer))):
            raise ArgumentError("einsum", f"the label {n!r}", "is not an integer", "label axes by integers, or ...")
        if n is not Ellipsis and not 0 <= n < len(LETTERS):
            raise SpecError(str(labels), f"the label {n} is not in 0..{len(LETTERS) - 1}", "use others for the axes")
    return "".join("..." if n is Ellipsis else LETTERS[n] for n in labels)


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of the axes of each operand and of the result.

    Axes of an ellipsis are labelled by numbers: ..., -2, -1.
    """
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _fail(equation, f"names {len(terms)} operands of {len(ranks)}", "write one term for each operand")
    inputs = [_term(equation, t, rank) for t, rank in zip(terms, ranks, strict=True)]
    counts = Counter(chain.from_iterable(inputs))
    ellipsis_axes = sorted(a for a in counts if has_type(a, int))
    if not arrow:
        return inputs, (*ellipsis_axes, *sorted(a for a, n in counts.items() if n == 1 and isinstance(a, str)))
    return inputs, _result_labels(equation, right, ellipsis_axes, counts)


def _result_labels(equation: str, term: str, ellipsis_axes: Sequence[int], known: Collection[Any]) -> Labels:
    """Return the labels of the result; an operand must have each of them."""
    head, dots, tail = term.partition("...")
    if ellipsis_axes and not dots:
        raise _fail(equation, "has an ellipsis in an operand and none in the result")
    output = (*head, *ellipsis_axes, *tail)
    if len(set(output)) != len(output):
        raise _fail(equation, "repeats a label in the result")
    missing = [a for a in output if a not in known]
    if missing:
        raise _fail(equation, f"has the label {missing[0]!r} in the result alone", "name it in an operand too")
    return output


def _term(equation: str, term: str, rank: int) -> Labels:
    """Return the labels of the axes of one operand."""
    head, dots, tail = term.partition("...")
    if not all(c in LETTERS for c in head + tail):
        raise _fail(equation, f"has characters that are not labels in {term!r}")
    if (spare := rank - len(head) - len(tail)) < 0 or (spare > 0 and not dots):
        raise _fail(equation, f"names {len(head + tail)} axes of an operand of rank {rank}")
    return (*head, *range(-spare, 0), *tail)


# -- the contraction ---------------------------------------------------------------------------------------------


class _Contraction:
    """Operands with labelled axes, contracted in pairs until one is left."""

    def __init__(self, xs: list[Any], inputs: list[Labels], output: Labels) -> None:
        self.output = output
        self.terms = [_diagonals(x, labels) for x, labels in zip(xs, inputs, strict=True)]
        self._stretch()

    def _stretch(self) -> None:
        """Give each label one size: as in NumPy, an axis of size 1 is repeated.

        An axis known to have size 1 is dropped where the result has its label, since other operands have it in full.
        """
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        size_of_label: dict[Any, Size] = {}
        owners: dict[Any, tuple[int, int]] = {}
        for i, (x, labels) in enumerate(self.terms):
            for axis, (label, size) in enumerate(zip(labels, promotion.sizes(x), strict=True)):
                axes = OperandAxes(len(self.terms), owners.setdefault(label, (i, axis)), (i, axis))
                known = size_of_label.get(label)
                size_of_label[label] = size if known is None else broadcast_size(ctx, known, size, axes)
        for i, (x, labels) in enumerate(self.terms):
            pairs = list(zip(labels, promotion.sizes(x), strict=True))
            ones = [axis for axis, (a, size) in enumerate(pairs) if size == 1 != size_of_label[a] and a in self.output]
            left = tuple([a for axis, a in enumerate(labels) if axis not in ones])
            self.terms[i] = mv.broadcast_to(mv.drop(x, ones), [size_of_label[a] for a in left]), left

    def run(self) -> Any:
        """Contract along the best path; where the path is not settled, emit one op whose plan chooses it."""
        choice = self._order()
        if not choice.settled:
            self.terms = [_summed(*term, self._needed(i)) for i, term in enumerate(self.terms)]
            equation = equation_of([labels for _, labels in self.terms], self.output)
            if equation and self.terms[0][0].dtype.kind != "b":
                return product([x for x, _ in self.terms], equation)
        for i, j in choice.path:
            y, x = self.terms.pop(j), self.terms.pop(i)
            self.terms.insert(i, self._pair(x, y))
        x, labels = _summed(*self.terms[0], set(self.output))
        return mv.transpose(x, [labels.index(a) for a in self.output])

    def _order(self) -> PathChoice:
        """Return the contraction path."""
        if len(self.terms) < 3:
            return PathChoice(((0, 1),) if len(self.terms) == 2 else (), True)
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        size_of_label = {
            a: size for x, labels in self.terms for a, size in zip(labels, promotion.sizes(x), strict=True)
        }
        return choose_path(ctx, [labels for _, labels in self.terms], self.output, size_of_label)

    def _needed(self, i: int) -> set[Any]:
        """Return the labels that the result or another operand has."""
        return set(self.output).union(*[labels for j, (_, labels) in enumerate(self.terms) if j != i])

    def _pair(self, first: tuple[Any, Labels], second: tuple[Any, Labels]) -> tuple[Any, Labels]:
        """Return the product of two operands, summed over the labels that nothing else needs."""
        needed = set(self.output).union(*[labels for _, labels in self.terms])
        x, left = _summed(*first, needed | set(second[1]))
        y, right = _summed(*second, needed | set(left))
        shared = [a for a in left if a in right]
        batch, contracted = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        result = dot_general(
            x, y, (_positions(contracted, left), _positions(contracted, right)),
            (_positions(batch, left), _positions(batch, right)),
        )  # fmt: skip
        if not contracted:
            result = plus_zero(result)
        return result, (*batch, *[a for a in (*left, *right) if a not in shared])


def _positions(labels: Sequence[Any], axes: Labels) -> list[int]:
    """Return the position of each label among the axes of an operand."""
    return [axes.index(a) for a in labels]


def _summed(x, labels: Labels, needed: set[Any]) -> tuple[Any, Labels]:
    """Return an operand summed over the labels that are not needed; booleans are combined by `or`."""
    axes = [i for i, a in enumerate(labels) if a not in needed]
    reduce = rd.reduce_or if x.dtype.kind == "b" else rd.reduce_sum
    return reduce(x, axes), tuple([a for a in labels if a in needed])


def _diagonal(x, size: Size, first: int, second: int):
    """Return the diagonal of two axes of one size, as a view that NumPy writes through."""
    index = iota(size)
    key: list[Any] = [slice(None)] * x.ndim
    key[first] = key[second] = index
    take = lambda base: take_at(base, (index, index), (first, second))
    write = lambda base, part: Indexed(base.unshared(), tuple(key)).set(part)
    return mv.viewed(take(x).unshared(), x, take, write, ("einsum", first, second))


def _diagonals(x, labels: Labels) -> tuple[Any, Labels]:
    """Return the operand with each label once: axes that share a label give their diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            shape, ctx = promotion.sizes(x), context_of("einsum", x)
            m, n = shape[first], shape[second]
            ctx.require_equal(m, n, f"axes of the label {label!r} have sizes {m} and {n}")
            x = _diagonal(x, m, first, second)
            rest = [a for i, a in enumerate(labels) if i not in (first, second)]
            at = first if second == first + 1 else 0
            labels = (*rest[:at], label, *rest[at:])
    return x, labels


serve(__name__)
