"""Define NumPy's functions of samples in a row: differences, phases, convolutions and correlations."""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import indexing, matrices, reduction, selection
from anyshape.numpy.elementwise import absolute, divide, multiply, remainder
from anyshape.numpy.operands.promotion import as_traced, axes_of, axis_of, choice_of, refuse_kinds, result_type, sizes
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of

_FLOAT = np.dtype(np.float64)


def _is_scalar(x) -> bool:
    """Return whether x has no axes."""
    return not as_traced(x).ndim


# -- differences -------------------------------------------------------------------------------------------------


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the derivative of samples along an axis, or a tuple of them for several axes.

    `varargs` has the distance of the samples, one for each axis, or their coordinates as vectors. It is central inside,
    and at both ends one-sided with error of order `edge_order`, 1 or 2. An axis needs edge_order + 1 samples.
    """
    x = as_traced(f)
    axes = axes_of(None, x.ndim, "gradient") if axis is None else _in_order(axis, x.ndim)
    if edge_order not in (1, 2):
        raise ArgumentError("gradient", f"edge_order {edge_order}", "is neither 1 nor 2", "write 1 or 2")
    refuse_kinds("gradient", x, "b")
    x = x if x.dtype.kind in "fc" else ew.convert(x, _FLOAT)
    gaps = _gaps(x, axes, varargs)
    results = [ew.convert(_slope(x, at, gap, edge_order), x.dtype) for at, gap in zip(axes, gaps, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _in_order(axis, rank: int) -> tuple[int, ...]:
    """Return one axis or several, in the order in which they are named."""
    names = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes_of(tuple(names), rank, "gradient")  # refuses an axis that is named twice
    return tuple([axis_of(a, rank, "gradient") for a in names])


def _gaps(x, axes: tuple[int, ...], distances: tuple[Any, ...]) -> list[Any]:
    """Return for each axis the distance of its samples, or a vector of distances."""
    if not distances:
        return [1.0] * len(axes)
    numbers = [d if _is_scalar(d) else as_traced(d) for d in distances]
    if len(numbers) == 1 and _is_scalar(numbers[0]):
        return numbers * len(axes)
    if len(numbers) != len(axes):
        problem = f"are {len(numbers)} for {len(axes)} axes"
        raise ArgumentError("gradient", "the distances", problem, "give one distance, or one for each axis")
    return [d if _is_scalar(d) else _steps(x, axis, d) for axis, d in zip(axes, numbers, strict=True)]


def _steps(x, axis: int, points):
    """Return the distances between coordinates along an axis."""
    ctx = context_of("gradient", x, points)
    if points.ndim != 1:
        raise ctx.fail("distances must be numbers or vectors")
    mine, theirs = sizes(x)[axis], sizes(points)[0]
    ctx.require_equal(mine, theirs, f"{theirs} coordinates for {mine} samples along axis {axis}")
    return indexing.diff(points if points.dtype.kind in "fc" else ew.convert(points, _FLOAT))


def _slope(x, axis: int, gap, order: int):
    """Return the derivative along an axis."""
    size = sizes(x)[axis]
    too_few = f"axis {axis} has {size} samples, and {order + 1} are needed"
    context_of("gradient", x).require(at_least(size, order + 1), too_few)
    before = (slice(None),) * axis
    at = _Samples(x, before, gap if _is_scalar(gap) else mv.reshape(gap, (*sizes(gap), *[1] * (x.ndim - axis - 1))))
    ends = [_end(at, side, order) for side in (1, -1)]
    inside = at.uneven() if not _is_scalar(gap) else divide(at[2:] - at[:-2], multiply(2.0, gap))
    first, last = (end[(*before, np.newaxis)] for end in ends)
    return matrices.concatenate([first, inside, last], axis)


class _Samples:
    """Samples along an axis, and the distances between them."""

    def __init__(self, x: Any, before: tuple[Any, ...], gap: Any) -> None:
        self.x, self.before, self.gap = x, before, gap

    def __getitem__(self, key: Any) -> Any:
        return self.x[(*self.before, key)]

    def uneven(self) -> Any:
        """Return the derivative inside, by the parabola through a sample and its neighbours."""
        left, right = self.gap[:-1], self.gap[1:]
        both = left + right
        return (
            -right / (left * both) * self[:-2]
            + (right - left) / (left * right) * self[1:-1]
            + left / (right * both) * self[2:]
        )

    def gap_at(self, side: int, position: int) -> Any:
        """Return a distance, counted from an end."""
        if _is_scalar(self.gap):
            return self.gap
        return mv.reshape(self.gap[position if side > 0 else -1 - position], ())


def _end(at: _Samples, side: int, order: int):
    """Return the derivative at the first sample, or at the last one where `side` is -1."""
    first, second, third = (0, 1, 2) if side > 0 else (-1, -2, -3)
    near = at.gap_at(side, 0)
    if order == 1:
        return (at[second] - at[first] if side > 0 else at[first] - at[second]) / near
    near, far = side * near, side * at.gap_at(side, 1)
    both = near + far
    slope = both / (near * far) * at[second] - (2.0 * near + far) / (near * both) * at[first]
    return slope - near / (far * both) * at[third]


def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    """Return phases along an axis with multiples of `period` added, so that no step is more than half of it.

    Steps below `discont` stay as they are.
    """
    x = as_traced(p)
    along = axis_of(axis, x.ndim, "unwrap")
    steps = indexing.diff(x, axis=along)
    target = result_type(steps, period)
    if target.kind in "iu":
        half, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        half, is_ambiguous = period / 2, True
    wrapped = remainder(steps + half, period) - half
    if is_ambiguous is not False:
        wrapped = selection.where((wrapped == -half) & (steps > 0) & is_ambiguous, half, wrapped)
    jump = period / 2 if discont is None else discont
    correction = selection.where(absolute(steps) < jump, 0, wrapped - steps)
    none = (slice(None),) * along
    first, others = x[(*none, slice(None, 1))], x[(*none, slice(1, None))]
    moved = others + reduction.cumsum(correction, along)
    return ew.convert(matrices.concatenate([ew.convert(first, target), moved], along), target)


# -- convolutions ------------------------------------------------------------------------------------------------


def _row(name: str, x, operand: str, is_scalar_row: bool = False):
    """Return a vector of an element or more; a scalar is one where that is said."""
    row = as_traced(x)
    if row.ndim == 0 and is_scalar_row:
        row = mv.reshape(row, (1,))
    ctx = context_of(name, row)
    if row.ndim != 1:
        raise ctx.fail(f"{operand} must be a vector, and has {row.ndim} axes")
    ctx.require(at_least(sizes(row)[0], 1), f"{operand} cannot be empty")
    return row


def _in_mode(name: str, n: Size, m: Size, mode, skew: Size = 0) -> tuple[Size, Size]:
    """Return where results start among all, and how many there are: see `convolve`."""
    choice_of(name, "mode", mode, ("full", "same", "valid"))
    if mode == "full":
        return 0, expr.sub(expr.add(n, m), 1)
    shorter, longer = expr.minimum(n, m), expr.maximum(n, m)
    if mode == "valid":
        return expr.sub(shorter, 1), expr.add(expr.sub(longer, shorter), 1)
    return expr.add(expr.floordiv(expr.sub(shorter, 1), 2), skew), longer


def _moved(x, window, part: tuple[Size, Size]):
    """Return a part of the sums of products of x and a vector that moves from its last element to its first one."""
    start, count = part
    low = expr.sub(expr.sub(sizes(window)[0], 1), start)
    return wd.convolution(x, window, wd.one_by_one((low,), (count,)), method="direct")


def _in_common_dtype(a, v) -> tuple[Any, Any]:
    """Return two vectors in the dtype to which they promote."""
    dtype = result_type(a, v)
    return ew.convert(a, dtype), ew.convert(v, dtype)


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """Return the convolution of two vectors of an element or more.

    mode="full" gives all n + m - 1 elements, "same" as many as the longer vector has, from the middle, and "valid"
    those without zeros beyond the ends.
    """
    x, y = _in_common_dtype(_row("convolve", a, "a", True), _row("convolve", v, "v", True))
    return _moved(x, mv.rev(y, (0,)), _in_mode("convolve", sizes(x)[0], sizes(y)[0], mode))


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Return the sums of products of a vector with the conjugates of another one, moved along it; see `convolve`."""
    x, y = _in_common_dtype(_row("correlate", a, "a"), _row("correlate", v, "v"))
    (n,), (m,) = sizes(x), sizes(y)
    is_shorter = expr.minimum(expr.maximum(expr.sub(m, n), 0), 1)
    skew = expr.mul(is_shorter, expr.mod(expr.add(n, 1), 2))  # the middle of an even number of elements is left of it
    return _moved(x, ew.conj(y) if y.dtype.kind == "c" else y, _in_mode("correlate", n, m, mode, skew))


serve(__name__)
