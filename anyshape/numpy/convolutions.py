"""Convolutions and reductions of windows, under JAX's names: any rank, strides, paddings, dilations and groups.

Sizes of operands, windows and paddings may be symbolic. A window longer than what it moves along gives no result.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.shapes.array_type import ShapeGuardContext, dilated_size
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import elementwise
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    choice_of,
    is_int,
    is_traced,
    result_type,
    size_of,
    sizes,
)
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type

Pads = Sequence[tuple[Size, Size]]
_PADDINGS = ("SAME", "SAME_LOWER", "VALID")


# -- arguments ---------------------------------------------------------------------------------------------------


def _for_each(name: str, option: str, values, count: int) -> tuple[Size, ...]:
    """Return an option with a size for each axis; None: 1 for each."""
    if values is None:
        return (1,) * count
    if not has_type(values, (tuple, list, np.ndarray)) or len(values) != count:
        raise ArgumentError(name, f"{option}={values!r}", f"is not {count} sizes", "give one size for each axis")
    return tuple([size_of(v) for v in values])


def _steps(ctx: ShapeGuardContext, name: str, option: str, values, count: int) -> tuple[Size, ...]:
    """Return strides or dilations, which must be 1 or more."""
    steps = _for_each(name, option, values, count)
    for step in steps:
        ctx.require(at_least(step, 1), f"{option} of {step} is not positive")
    return steps


def _covered(n: Size, dilation: Size) -> Size:
    """Return the length of an axis with gaps between its elements."""
    return dilated_size(n, expr.sub(dilation, 1))


def _same(n: Size, window: Size, stride: Size, lower: bool) -> tuple[Size, Size]:
    """Return the padding for as many results as there are strides along an axis."""
    reach = expr.add(expr.mul(expr.sub(expr.ceildiv(n, stride), 1), stride), window)
    total = expr.maximum(expr.sub(reach, n), 0)
    less = expr.floordiv(total, 2)
    more = expr.sub(total, less)
    return (more, less) if lower else (less, more)


def _pads(name: str, padding, shape: Sequence[Size], window: Sequence[Size], strides: Sequence[Size]) -> Pads:
    """Return how much of zeros comes before and after each axis; less than none cuts elements off."""
    if isinstance(padding, str):
        if (kind := choice_of(name, "padding", padding.upper(), _PADDINGS)) == "VALID":
            return [(0, 0)] * len(shape)
        return [_same(n, k, s, kind == "SAME_LOWER") for n, k, s in zip(shape, window, strides, strict=True)]
    pairs = list(padding) if has_type(padding, (tuple, list, np.ndarray)) else []
    if len(pairs) != len(shape) or not all(has_type(p, (tuple, list, np.ndarray)) and len(p) == 2 for p in pairs):
        advice = "give (before, after) for each axis, or 'SAME' or 'VALID'"
        raise ArgumentError(name, f"padding={padding!r}", f"is not a pair for each of {len(shape)} axes", advice)
    return [(size_of(before), size_of(after)) for before, after in pairs]


def _moves(
    name: str,
    operand,
    spatial: Sequence[int],
    window: Sequence[Size],
    window_strides,
    padding,
    dilation,
    window_dilation,
) -> wd.Moves:
    """Return the moves of windows along some axes of an operand, with the sizes of the result."""
    ctx, count = context_of(name, operand), len(window)
    strides = _steps(ctx, name, "window_strides", window_strides, count)
    gaps = _steps(ctx, name, "dilation", dilation, count)
    window_gaps = _steps(ctx, name, "window_dilation", window_dilation, count)
    lengths = [_covered(sizes(operand)[axis], d) for axis, d in zip(spatial, gaps, strict=True)]
    reach = [_covered(k, d) for k, d in zip(window, window_gaps, strict=True)]
    pads = _pads(name, padding, lengths, reach, strides)
    results = []
    for n, k, s, (before, after) in zip(lengths, reach, strides, pads, strict=True):
        places = expr.add(expr.sub(expr.total([n, before, after]), k), 1)
        results.append(expr.maximum(expr.ceildiv(places, s), 0))
    return wd.Moves(tuple([a for a, _ in pads]), tuple(results), strides, gaps, window_gaps)


class ConvDimensionNumbers(NamedTuple):
    """Axes of examples, of features and of space of the operand and of the result.

    The window has axes of output features, of input features and of space.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def _dimension_numbers(name: str, numbers, rank: int) -> ConvDimensionNumbers:
    """Return dimension numbers of letters such as ("NHWC", "HWIO", "NHWC") as axes; None: channels first."""
    if numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    if len(numbers) != 3 or any(len(spec) != rank for spec in numbers):
        problem = f"does not name {rank} axes of operand, window and result"
        raise ArgumentError(name, f"dimension_numbers={numbers!r}", problem, "write as ('NCHW', 'OIHW', 'NCHW')")
    if not isinstance(numbers[0], str):
        return ConvDimensionNumbers(*[tuple(spec) for spec in numbers])
    lhs, rhs, out = numbers
    space = [letter for letter in rhs if letter not in "OI"]
    axes = []
    for spec, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        letters = [*first, *space]
        if sorted(spec) != sorted(letters):
            advice = f"use each of the letters {', '.join(letters)} once"
            raise ArgumentError(name, f"dimension_numbers={numbers!r}", f"has the axes {spec!r}", advice)
        axes.append(tuple([spec.index(letter) for letter in letters]))
    return ConvDimensionNumbers(*axes)


# -- convolutions ------------------------------------------------------------------------------------------------


def _share(ctx: ShapeGuardContext, size: Size, groups: Size, role: str) -> Size:
    """Return the size of each group of an axis."""
    if (exact := expr.divide_exactly(size, groups)) is not None:
        return exact
    ctx.require(equal(expr.mod(size, groups), 0), f"{size} {role} do not divide into {groups} groups")
    return ctx.scope.normal(expr.floordiv(size, groups))


def _grouped(x, axis: int, groups: Size, share: Size):
    """Return x with an axis split into groups, which come first."""
    shape = sizes(x)
    split = mv.reshape(x, (*shape[:axis], groups, share, *shape[axis + 1 :]))
    return mv.move_axes(split, (axis,), (0,))


def _joined(out, axis: int):
    """Return a result with its groups, which come first, as the outer part of an axis."""
    out = mv.move_axes(out, (0,), (axis,))
    shape = sizes(out)
    return mv.reshape(out, (*shape[:axis], expr.mul(shape[axis], shape[axis + 1]), *shape[axis + 2 :]))


def _in_groups(name: str, x, w, moves: wd.Moves, features: Size, batches: Size):
    """Return the convolution of operands with examples and features first, by groups of features or of examples."""
    ctx = context_of(name, x, w)
    if not is_int(features, 1) and not is_int(batches, 1):
        problem = "are both more than 1"
        raise ArgumentError(name, "feature_group_count and batch_group_count", problem, "give one of them")
    theirs = expr.mul(features, sizes(w)[1])
    why = f"the operand has {sizes(x)[1]} features, the window {theirs}"
    ctx.require_equal(sizes(x)[1], theirs, why)
    if is_int(features, 1) and is_int(batches, 1):
        return wd.convolution(x, w, moves, contract=1)
    groups, axis = (features, 1) if is_int(batches, 1) else (batches, 0)
    ctx.require(at_least(groups, 1), f"{groups} groups are not positive")
    share = sizes(w)[1] if axis else _share(ctx, sizes(x)[0], groups, "examples")
    filters = _share(ctx, sizes(w)[0], groups, "output features")
    out = wd.convolution(_grouped(x, axis, groups, share), _grouped(w, 0, groups, filters), moves, batch=1, contract=1)
    return _joined(out, 1)


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: Any = 1,
    batch_group_count: Any = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return sums of products of `lhs` and a window `rhs` that moves along its spatial axes, as JAX does.

    By default `lhs` has shape (examples, features, ...) and `rhs` (output features, input features, ...). `padding` is
    "VALID", "SAME", "SAME_LOWER" or a pair of sizes for each axis. All sizes may be symbolic. There is one
    precision: that of the dtype.

    Args:
        window_strides: step of the window along each axis.
        lhs_dilation, rhs_dilation: distances of elements of inputs and kernels.
        dimension_numbers: layouts of both and of the result.
        feature_group_count, batch_group_count: numbers of groups.
        preferred_element_type: dtype of the result.

    >>> import numpy as np
    >>> import anyshape
    >>> image = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> blur = np.full((1, 1, 3, 3), 1 / 9)
    >>> print(anyshape.conv_general_dilated(image, blur, (1, 1), "VALID")[0, 0])
    [[ 5.  6.]
     [ 9. 10.]]
    """
    name = "conv_general_dilated"
    dtype = result_type(lhs, rhs) if preferred_element_type is None else np.dtype(preferred_element_type)
    x, w = (_operand(v, dtype) for v in (lhs, rhs))
    ctx, rank = context_of(name, x, w), x.ndim
    if rank < 2 or w.ndim != rank:
        raise ctx.fail(
            f"the operand has {rank} axes and the window {w.ndim}", "give both axes of features and of space"
        )
    numbers = _dimension_numbers(name, dimension_numbers, rank)
    if isinstance(padding, str) and padding.upper() != "VALID" and lhs_dilation is not None:
        raise ArgumentError(name, f"padding={padding!r}", "is not defined with lhs_dilation", "give pairs of sizes")
    x, w = mv.transpose(x, numbers.lhs_spec), mv.transpose(w, numbers.rhs_spec)
    window = sizes(w)[2:]
    moves = _moves(name, x, range(2, rank), window, window_strides, padding, lhs_dilation, rhs_dilation)
    out = _in_groups(name, x, w, moves, size_of(feature_group_count), size_of(batch_group_count))
    return mv.transpose(out, sorted(range(rank), key=numbers.out_spec.__getitem__))


def _operand(x, dtype):
    """Return an operand in a dtype, traced or not."""
    return as_traced(x, dtype) if is_traced(x) else asarray(x, dtype)


def conv(lhs, rhs, window_strides, padding, precision=None, preferred_element_type=None) -> Any:
    """Return the convolution of (examples, features, ...) with a window; see `conv_general_dilated`.

    Args:
        lhs, rhs: arrays of inputs and of kernels.
        window_strides: step of the window along each axis.
        padding: "VALID", "SAME", or a pair for each axis.
        precision, preferred_element_type: taken for compatibility.

    >>> import numpy as np
    >>> import anyshape
    >>> signal, window = np.array([1.0, 2.0, 4.0]), np.array([1.0, -1.0])
    >>> print(anyshape.conv(signal[None, None], window[None, None], (1,), "VALID")[0, 0])
    [-1. -2.]
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return a convolution with `strides - 1` zeros between elements of `lhs`, as JAX does: features come last.

    `transpose_kernel` gives the transpose of a convolution with the same window and padding.

    Args:
        rhs: array of kernels.
        padding: "VALID", "SAME", or a pair for each axis.
        rhs_dilation, dimension_numbers, precision, preferred_element_type: as in `conv_general_dilated`.

    >>> import numpy as np
    >>> import anyshape
    >>> signal, window = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    >>> print(anyshape.conv_transpose(signal[None, :, None], window[:, None, None], (2,), "VALID").ravel())
    [0.5 1.  1.  2. ]
    """
    rank = np.ndim(lhs)
    if dimension_numbers is None:
        last = (0, rank - 1, *range(1, rank - 1))
        dimension_numbers = ConvDimensionNumbers(last, (rank - 1, rank - 2, *range(rank - 2)), last)
    numbers = _dimension_numbers("conv_transpose", dimension_numbers, rank)
    window = rhs if is_traced(rhs) else np.asarray(rhs)
    steps = _for_each("conv_transpose", "strides", strides, rank - 2)
    gaps = _for_each("conv_transpose", "rhs_dilation", rhs_dilation, rank - 2)
    if isinstance(padding, str):
        kind = choice_of("conv_transpose", "padding", padding.upper(), ("SAME", "VALID"))
        shape = sizes(window)
        reach = [_covered(shape[axis], d) for axis, d in zip(numbers.rhs_spec[2:], gaps, strict=True)]
        padding = [_transposed_pads(k, s, kind == "SAME") for k, s in zip(reach, steps, strict=True)]
    if transpose_kernel:
        filters, features, *space = numbers.rhs_spec
        order = list(range(rank))
        order[filters], order[features] = features, filters
        window = mv.transpose(mv.rev(window, tuple(space)), order)
    return conv_general_dilated(
        lhs, window, None, padding, steps, gaps, numbers, preferred_element_type=preferred_element_type
    )


def _transposed_pads(window: Size, stride: Size, same: bool) -> tuple[Size, Size]:
    """Return the padding for which the results of the convolution that is transposed had no other or the same size."""
    total, before = expr.sub(expr.add(window, stride), 2), expr.sub(window, 1)
    if same:
        before = expr.minimum(before, expr.ceildiv(total, 2))
    else:
        total = expr.add(total, expr.maximum(expr.sub(window, stride), 0))
    return before, expr.sub(total, before)


# -- reductions of windows ---------------------------------------------------------------------------------------


class _Combination(NamedTuple):
    """Reduction of windows: its op, what joins it with a further number, and the number that changes nothing."""

    reduce: Any
    join: Any
    neutral: float
    is_mean: bool = False


_SUM = _Combination(wd.window_sum, elementwise.add, 0)
_MAX = _Combination(wd.window_max, elementwise.maximum, -math.inf)
_MIN = _Combination(wd.window_min, elementwise.minimum, math.inf)
_COMBINATIONS = {
    **dict.fromkeys(("add", "sum"), _SUM),
    **dict.fromkeys(("maximum", "max", "amax"), _MAX),
    **dict.fromkeys(("minimum", "min", "amin"), _MIN),
    "mean": _SUM._replace(is_mean=True),
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Any,
    window_dimensions: Any,
    window_strides: Any = None,
    padding: Any = "VALID",
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """Return the sum, mean, maximum or minimum of each window that moves along all axes of an array.

    `computation` is `np.add`, `np.mean`, `np.maximum` or `np.minimum`, and each result is combined once with
    `init_value`. Padding holds no element: the mean is that of the elements inside. The derivative of an extreme goes
    to the first element that attains it, as in JAX.

    Args:
        operand: array.
        window_dimensions: size of the window along each axis.
        window_strides: step of the window along each axis.
        padding: "VALID", "SAME", or a pair for each axis.
        base_dilation, window_dilation: distances of elements of the array and of the window.

    >>> import numpy as np
    >>> import anyshape
    >>> x = np.array([1.0, 5.0, 2.0, 4.0])
    >>> print(anyshape.reduce_window(x, -np.inf, np.maximum, (2,), (2,)))
    [5. 4.]
    """
    name = "reduce_window"
    if (how := _COMBINATIONS.get(getattr(computation, "__name__", ""))) is None:
        advice = "pass np.add, np.mean, np.maximum or np.minimum, or reduce sliding_window_view"
        raise ArgumentError(name, f"computation={computation!r}", "has no rule for windows", advice)
    x = _operand(operand, None)
    window = _for_each(name, "window_dimensions", window_dimensions, x.ndim)
    for k in window:
        context_of(name, x).require(at_least(k, 0), f"a window of {k} is negative")
    axes = range(x.ndim)
    moves = _moves(name, x, axes, window, window_strides, padding, base_dilation, window_dilation)
    first = _first_moved(sizes(x), window, moves)
    moves, window = wd.Moves(*[part[first:] for part in moves]), window[first:]
    result = how.reduce(x, window, moves)
    if how.is_mean:
        result = _mean(result, sizes(x)[first:], window, moves)
    if is_traced(init_value) or init_value not in (how.neutral, _neutral(how, x.dtype)):
        result = how.join(result, init_value)
    return result


def _neutral(how: _Combination, dtype: np.dtype):
    """Return the number that changes no result in this dtype."""
    if not how.neutral or dtype.kind not in "iu":
        return how.neutral
    return np.iinfo(dtype).min if how.neutral < 0 else np.iinfo(dtype).max


def _first_moved(shape: Sequence[Size], window: Sequence[Size], moves: wd.Moves) -> int:
    """Return the first axis along which windows are not single elements, each in its place."""
    each = zip(shape, window, *moves, strict=True)
    for axis, (n, k, low, size, *steps) in enumerate(each):
        if not (is_int(k, 1) and is_int(low, 0) and size == n and all(is_int(s, 1) for s in steps)):
            return axis
    return len(window)


def _mean(total, shape: Sequence[Size], window: Sequence[Size], moves: wd.Moves):
    """Return sums of windows divided by the number of elements in each."""
    count = wd.window_sum(cr.full(tuple(shape), 1, np.dtype(float)), window, moves)
    return elementwise.divide(total, ew.convert(count, np.result_type(total.dtype, np.float16)))
