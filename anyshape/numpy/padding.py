"""Define `pad`: an array with blocks of new elements around it, made axis by axis.

NumPy's own code decides on widths, in loops. This one is a composition, so a program pads by any width.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import elementwise, reduction, sorting, statistics
from anyshape.numpy.creation import linspace
from anyshape.numpy.indexing import into_range
from anyshape.numpy.movement import flip, slice_axis
from anyshape.numpy.operands.promotion import as_traced, choice_of, is_int, size_of, sizes
from anyshape.numpy.operands.reduction_args import makes_array
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

Widths = list[tuple[Size, Size]]


@makes_array
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Return an array extended along its axes by the widths `pad_width`.

    Widths and sizes may be symbolic, and so may lengths of statistics. "empty" pads with zeros. A function as a mode
    raises UnsupportedFunctionError, and so do booleans with reflect_type="odd".
    """
    x = as_traced(array)
    if callable(mode):
        advice = "name a mode, or join parts with np.concatenate"
        raise UnsupportedFunctionError("pad", "a function as the mode", advice, user_line())
    option, default = _OPTIONS[choice_of("pad", "mode", mode, tuple(_OPTIONS))]
    if set(kwargs) - {option}:
        advice = f"pass {option} alone" if option else "leave them out"
        raise UnsupportedFunctionError("pad", f"mode {mode!r} with {kwargs}", advice, user_line())
    if has_type(pad_width, (bool, np.bool_)):
        raise ArgumentError("pad", f"pad_width={pad_width!r}", "is a bool", "write an int")
    widths = [(size_of(a), size_of(b)) for a, b in _pairs(pad_width, x.meta.rank)]
    for width in [n for pair in widths for n in pair]:
        context_of("pad", x).require(at_least(width, 0), f"a pad of {width} is negative")
    value = kwargs.get(option, default)
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, value)
    if option == "reflect_type":
        mode = f"{choice_of('pad', option, value, ('even', 'odd'))} {mode}"
    if mode in _POSITIONS:
        return _extended(x, widths, mode, lambda x, axis, pair: _copied(x, axis, pair, mode))
    values = _pairs(_refuse_unordered(option, value), x.meta.rank)
    return _extended(x, widths, mode, lambda x, axis, pair: _joined(x, axis, pair, values[axis], mode))


def _extended(x, widths: Widths, mode: str, extend: Callable[..., Any]):
    """Return x extended along each axis in turn."""
    for axis, pair in enumerate(widths):
        if not all(is_int(width, 0) for width in pair):
            size = sizes(x)[axis]
            empty = f"an empty axis {axis} cannot be extended by mode {mode!r}"
            context_of("pad", x).require(at_least(size, 1), empty)
            x = extend(x, axis, pair)
    return x


def _pairs(widths, rank: int):
    """Return a pair for each axis.

    `widths` is one value, a pair, a pair for each axis, or a dict of these by axis.
    """
    if isinstance(widths, dict):
        pairs: list[Any] = [(0, 0)] * rank
        for axis, value in widths.items():
            pairs[axis] = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        return pairs
    return np.broadcast_to(_objects(widths), (rank, 2)).tolist()


def _objects(nested) -> np.ndarray:
    """Return nested sequences as an object array of their leaves; sizes and traced values stay as they are."""
    if not has_type(nested, (list, tuple, np.ndarray)) or (has_type(nested, np.ndarray) and nested.ndim == 0):
        cell = np.empty((), object)
        cell[()] = nested
        return cell
    return np.stack([_objects(x) for x in nested])


# -- constants, ramps and statistics -----------------------------------------------------------------------------


def _pad_constant(x, widths: Widths, values):
    """Return x with constants around it.

    Literal values that are all equal take one pad. Others are joined to each axis in turn, as blocks.
    """
    pairs = _pairs(_refuse_unordered("constant_values", values), x.meta.rank)
    flat = [v for pair in pairs for v in pair]
    if all(_is_number(v) and v == flat[0] for v in flat):
        value = _fill(flat[0], x.dtype) if flat else 0
        low, high = [a for a, _ in widths], [b for _, b in widths]
        return mv.pad(x, low, high, value=value) if widths else x
    for axis, (pair, fills) in enumerate(zip(widths, pairs, strict=True)):
        x = _joined(x, axis, pair, fills, "constant")
    return x


def _refuse_unordered(option: str, values):
    """Return values for the ends of axes; a dict or a set is refused."""
    if isinstance(values, (Mapping, Set)):
        raise ArgumentError("pad", f"{option}={values!r}", "is not a number, nor pairs of these", "give one")
    return values


def _joined(x, axis: int, pair: tuple[Size, Size], values: tuple[Any, Any], mode: str):
    """Return x with a block at either end of an axis, made of a value for each."""
    make = _BLOCKS[mode]
    before, after = (make(x, axis, width, value, is_last) for width, value, is_last in zip(pair, values, (False, True)))
    return mv.concatenate([before, x, after], axis)


def _across(x, axis: int, width: Size):
    """Return the shape of a block at an end of an axis."""
    return [width if i == axis else s for i, s in enumerate(sizes(x))]


def _constant(x, axis: int, width: Size, fill, is_last: bool):
    """Return a block of one value."""
    value = _fill(fill, x.dtype) if _is_number(fill) else fill
    return mv.broadcast_to(as_traced(value, x.dtype), _across(x, axis, width))


def _is_number(value) -> bool:
    return has_type(value, (int, float, complex, np.generic))


def _fill(value, dtype: np.dtype):
    """Return a number as NumPy pads with it, with its errors and warnings for a value that does not fit."""
    return np.pad(np.zeros(1, dtype), (1, 0), constant_values=value)[0]


def _ramp(x, axis: int, width: Size, end, is_last: bool):
    """Return a block of numbers from the end value to before the edge."""
    edge = mv.drop(_end(x, axis, is_last), (axis,))
    ramp = linspace(end, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
    return flip(ramp, axis) if is_last else ramp


def _end(x, axis: int, is_last: bool, length: Size = 1):
    """Return the elements at an end of an axis."""
    return slice_axis(x, axis, expr.sub(sizes(x)[axis], length) if is_last else 0, length)


def _statistic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that makes a block of a statistic of the elements at an end of an axis, or of all."""

    def block(x, axis: int, width: Size, length, is_last: bool):
        size = sizes(x)[axis]
        part = _end(x, axis, is_last, size if length is None else expr.minimum(size_of(length), size))
        value = as_traced(function(part, axis=axis, keepdims=True))
        value = elementwise.rint(value) if x.dtype.kind in "iu" and value.dtype.kind == "f" else value
        return mv.broadcast_to(ew.convert(value, x.dtype), _across(x, axis, width))

    return block


_BLOCKS: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "linear_ramp": _ramp,
    "maximum": _statistic(reduction.max),
    "minimum": _statistic(reduction.min),
    "mean": _statistic(statistics.mean),
    "median": _statistic(sorting.median),
}

# -- copies ------------------------------------------------------------------------------------------------------


def _copied(x, axis: int, pair: tuple[Size, Size], mode: str):
    """Return x with its own elements around it, each from the position that the mode gives."""
    size = sizes(x)[axis]
    position = ew.sub(cr.iota(pair[0] + size + pair[1]), cr.size_value(pair[0]))
    reflected = mode.partition("odd ")[2]
    return _odd(x, axis, position, reflected) if reflected else ix.take(x, _POSITIONS[mode](position, size), axis)


def _odd(x, axis: int, position, mode: str):
    """Return the elements at positions along an axis that its ends reflect as points: 2 * end - element."""
    if x.dtype.kind == "b":
        raise context_of("pad", x).bad_dtype("reflect_type='odd' subtracts elements", "convert them with astype(int)")
    size, shape = sizes(x)[axis], _across(x, axis, sizes(position)[0])
    repeats = int(mode == "symmetric")  # of the end
    period = expr.maximum(2 * size - 2 + 2 * repeats, 1)
    is_before = position < 0
    distance = ew.select(is_before, -position - repeats, position)
    turns, there = elementwise.divmod(distance, cr.size_value(period))
    is_back = there >= cr.size_value(size)
    copy = ix.take(x, ew.select(is_back, cr.size_value(period - repeats) - there, there), axis)
    first, last = (mv.broadcast_to(_end(x, axis, is_last), shape) for is_last in (False, True))
    along = lambda values: mv.broadcast_in_dim(values, shape, (axis,))
    result = ew.select(along(is_back), 2 * last - copy, copy)
    shift = 2 * (last - first) * along(ew.convert(turns, x.dtype))
    result = ew.select(along(turns > 0), result + shift, result)
    result = ew.select(along(is_before), 2 * first - result, result)
    return ew.select(mv.broadcast_to(cr.size_value(size) > 1, shape), result, copy)  # a single element repeats


def _reflect(position, size: Size):
    """Return positions that run there and back without repeating the ends; a single element repeats."""
    there = into_range(position, expr.maximum(2 * size - 2, 1), "wrap")
    return there if is_int(size, 1) else ew.minimum(there, ew.sub(cr.size_value(2 * size - 2), there))


def _symmetric(position, size: Size):
    """Return positions that run there and back and repeat the ends."""
    there = into_range(position, 2 * size, "wrap")
    return ew.minimum(there, ew.sub(cr.size_value(2 * size - 1), there))


_POSITIONS: dict[str, Callable[..., Any]] = {
    "edge": lambda position, size: into_range(position, size, "clip"),
    "wrap": lambda position, size: into_range(position, size, "wrap"),
    "even reflect": _reflect,
    "even symmetric": _symmetric,
    "odd reflect": _reflect,
    "odd symmetric": _symmetric,
}
_OPTIONS: dict[str, tuple[str, Any]] = {  # of each mode, with its default
    "constant": ("constant_values", 0),
    "edge": ("", None),
    "linear_ramp": ("end_values", 0),
    "maximum": ("stat_length", None),
    "mean": ("stat_length", None),
    "median": ("stat_length", None),
    "minimum": ("stat_length", None),
    "reflect": ("reflect_type", "even"),
    "symmetric": ("reflect_type", "even"),
    "wrap": ("", None),
    "empty": ("", 0),
}


serve(__name__)
