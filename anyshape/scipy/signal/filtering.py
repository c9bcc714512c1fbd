"""Define the filters of `scipy.signal`, of coefficients that may be traced.

They run by SciPy's own code, on lines along the last axis, for coefficients whose denominators begin with 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import slice_axis
from anyshape.numpy.operands.promotion import as_traced, axis_of, choice_of, result_type, size_of, sizes, static_int
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_elements
from anyshape.transforms.control import check


def _dtype(name: str, *operands) -> np.dtype:
    """Return the dtype to which operands promote, which SciPy's filters need to be one of floating point."""
    dtype = result_type(*operands)
    if dtype.kind not in "fc":
        raise DTypeError(name, f"operands are {dtype}", "convert them to floats with astype", user_line())
    return dtype


def _vector(name: str, x, dtype: np.dtype, role: str):
    """Return coefficients as a vector of an element or more."""
    row = xp.atleast_1d(as_traced(x, dtype))
    ctx = context_of(name, row)
    if row.ndim != 1:
        raise ctx.fail(f"{role} must be a vector, and has {row.ndim} axes")
    ctx.require(at_least(sizes(row)[0], 1), f"{role} cannot be empty")
    return row


def fitted(x: Any, start: Size, count: Size) -> Any:
    """Return `count` elements of each line from a position on, zeros beyond the end."""
    last = x.ndim - 1
    size = sizes(x)[last]
    first = expr.minimum(start, size)
    length = expr.minimum(expr.sub(size, first), count)
    part = slice_axis(x, last, first, length)
    none = (0,) * x.ndim
    return mv.pad_unchecked(part, none, (*none[:last], expr.sub(count, length)), none)


def _normalised(name: str, b, a, dtype: np.dtype) -> tuple[Any, Any]:
    """Return the coefficients divided by the first one of the denominator."""
    b, a = _vector(name, b, dtype, "b"), _vector(name, a, dtype, "a")
    check(a[0] != 0, f"{name}: the first coefficient of a must not be 0")
    return b / a[0], a / a[0]


def _filtered(b, a, x, zi=None):
    """Return lines that went through sections, a row of b and a each; from states, those at the end too."""
    b, c = (as_traced(v, x.dtype) for v in (b, -a[:, 1:]))
    return ex.lfilter(x, b, c, zi, sections=len(b), ends=zi is not None)


def _conditions(name: str, zi, x, order: Size):
    """Return initial conditions with the leading axes of x."""
    ctx = context_of(name, zi, x)
    if zi.ndim != x.ndim:
        raise ctx.fail(f"zi has {zi.ndim} axes and x {x.ndim}", "give both the same number")
    mine = sizes(zi)[-1]
    ctx.require_equal(mine, order, f"zi has {mine} elements along the axis, and the filter needs {order}")
    return mv.broadcast_to(zi, (*sizes(x)[:-1], mine))


def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """Return x filtered along an axis by the rational transfer function of numerator b and denominator a.

    With initial conditions `zi` it returns the final ones too.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import signal
    >>> print(grad(lambda a: signal.lfilter([1.0], [1.0, -a], np.ones(4))[-1])(0.5))
    2.75
    """
    dtype = _dtype("lfilter", b, a, x, *([] if zi is None else [zi]))
    b, a = _normalised("lfilter", b, a, dtype)
    array = as_traced(x, dtype)
    along = axis_of(axis, array.ndim, "lfilter")
    lines = xp.moveaxis(array, along, -1)
    recursive_or_some = at_least(expr.add(sizes(a)[0], sizes(lines)[-1]), 2)
    context_of("lfilter", lines, a).require(recursive_or_some, "x has an element, or a has two coefficients or more")
    if zi is None:
        return xp.moveaxis(_filtered(b[None], a[None], lines), -1, along)
    order = expr.sub(expr.maximum(sizes(a)[0], sizes(b)[0]), 1)
    state = xp.moveaxis(as_traced(zi, dtype), along, -1) if np.ndim(zi) == array.ndim else as_traced(zi, dtype)
    state = _conditions("lfilter", state, lines, order)
    return tuple([xp.moveaxis(v, -1, along) for v in _filtered(b[None], a[None], lines, state)])


def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the initial conditions for which a constant input of 1 gives a constant output."""
    dtype = np.result_type(result_type(b, a), np.float16) if result_type(b, a).kind in "fc" else np.dtype(float)
    b, a = _normalised("lfilter_zi", b, a, dtype)
    count = expr.maximum(sizes(a)[0], sizes(b)[0])
    b, a = (fitted(v, 0, count) for v in (b, a))
    change = b[1:] - a[1:] * b[0]
    first = change.sum() / a.sum()
    return xp.cumsum(a)[:-1] * first - (xp.cumsum(change) - change)


# -- filters in both directions ----------------------------------------------------------------------------------


def _end(x, edge: Size, at_start: bool) -> tuple[Any, Any]:
    """Return the last or the first element of each line, and the `edge` ones beside it in reverse order."""
    n, last = sizes(x)[-1], x.ndim - 1
    at, start = (0, 1) if at_start else (expr.sub(n, 1), expr.sub(expr.sub(n, 1), edge))
    return slice_axis(x, last, at, 1), mv.rev(slice_axis(x, last, start, edge), (last,))


_EXTENSIONS: dict[Any, Callable[[Any, Any], Any]] = {
    "odd": lambda end, beside: 2 * end - beside,
    "even": lambda end, beside: beside,
    "constant": lambda end, beside: xp.broadcast_to(end, beside.shape),
    "zeros": lambda end, beside: xp.zeros(beside.shape, beside.dtype),
}


def extended(x: Any, edge: Size, kind: str) -> Any:
    """Return lines with `edge` elements more at each end, as an extension of SciPy makes them."""
    extend = _EXTENSIONS[kind]
    before, after = (extend(*_end(x, edge, at_start)) for at_start in (True, False))
    return xp.concatenate([before, x, after], axis=-1)


# -- sections of second order ------------------------------------------------------------------------------------


def _sections(name: str, sos, dtype: np.dtype) -> tuple[int, Any, Any]:
    """Return the number of sections, and a row of the numerator and one of the denominator of each."""
    array = as_traced(sos, dtype)
    if array.ndim != 2:
        raise context_of(name, array).fail(f"sos has {array.ndim} axes", "give one row of six numbers per section")
    count, width = array.shape
    context_of(name, array).require_equal(size_of(width), 6, f"sections have {width} numbers and need 6")
    context_of(name, array).require(at_least(size_of(count), 1), "sos has a section")
    count = static_int(count, name, "the number of sections")
    array = array[:count] / array[:count, 3:4]
    return count, array[:, :3], array[:, 3:]


def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """Return x filtered along an axis by sections of second order; with initial conditions the final ones too."""
    dtype = _dtype("sosfilt", sos, x, *([] if zi is None else [zi]))
    (count, b, a), array = _sections("sosfilt", sos, dtype), as_traced(x, dtype)
    along = axis_of(axis, array.ndim, "sosfilt")
    lines = xp.moveaxis(array, along, -1)
    context_of("sosfilt", lines).require(at_least(sizes(lines)[-1], 1), "x has a sample along the axis")
    if zi is None:
        return xp.moveaxis(_filtered(b, a, lines), -1, along)
    state = xp.moveaxis(as_traced(zi, dtype), along + 1, -1)
    states = [_conditions("sosfilt", state[i], lines, 2) for i in range(count)]
    y, end = _filtered(b, a, lines, as_traced(xp.concatenate(states, axis=-1)))
    final = xp.stack(xp.split(end, count, axis=-1))
    return xp.moveaxis(y, -1, along), xp.moveaxis(final, -1, along + 1)


# -- trends and analytic signals ---------------------------------------------------------------------------------


def _without_line(x):
    """Return lines less the straight line that fits each best."""
    n = x.shape[-1]
    at = xp.arange(n) - (n - 1) / 2
    weight = xp.maximum((at**2).sum(), 1e-300)  # a line through one point is its value
    centred = x - x.mean(axis=-1, keepdims=True)
    return (centred - (centred * at).sum(axis=-1, keepdims=True) / weight * at).astype(x.dtype)


def detrend(data: Any, axis: Any = -1, type: Any = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """Return data less its mean (`type="constant"`) or its best straight line along an axis.

    `bp` are positions between which lines are fitted apart.
    """
    choice_of("detrend", "type", type, ("linear", "l", "constant", "c"))
    array = as_traced(data)
    along = axis_of(axis, array.ndim, "detrend")
    if type in ("constant", "c"):
        return array - array.mean(axis=along, keepdims=True)
    require_elements("detrend", array)
    lines = xp.moveaxis(array if array.dtype.char in "fdFD" else array.astype(float), along, -1)
    breaks = sorted({static_int(b, "detrend", "a break") for b in np.atleast_1d(np.asarray(bp, dtype=object)).ravel()})
    if breaks and breaks[0] < 0:
        raise ArgumentError("detrend", f"bp={bp!r}", "is negative", "count positions from the start")
    n = sizes(lines)[-1]
    for b in breaks:
        context_of("detrend", lines).require(at_least(n, b), f"the break {b} is beyond the end, at {n}")
    starts = sorted({0, *breaks})
    parts = [
        _without_line(slice_axis(lines, lines.ndim - 1, start, expr.sub(end, start)))
        for start, end in zip(starts, [*starts[1:], n], strict=True)
    ]
    return xp.moveaxis(xp.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0], -1, along)


def hilbert(x: Any, N: Any = None, axis: Any = -1) -> Any:
    """Return the analytic signal of real x along an axis, by a transform of N points."""
    array = as_traced(x)
    if array.dtype.kind == "c":
        raise DTypeError("hilbert", f"the operand is {array.dtype}", "pass its real part", user_line())
    along = axis_of(axis, array.ndim, "hilbert")
    count = array.shape[along] if N is None else N
    spectrum = xp.fft.fft(array, count, along)
    twice = 2 * xp.arange(count)
    weight = xp.where((twice == 0) | (twice == count), 1, xp.where(twice < count, 2, 0))
    shape = [count if axis == along else 1 for axis in range(array.ndim)]
    return xp.fft.ifft(spectrum * xp.reshape(weight, shape).astype(spectrum.real.dtype), axis=along)
