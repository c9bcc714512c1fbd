"""Define `interp`, NumPy's piecewise linear interpolation, as a composition of a search and takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import OperandAxes, at_least
from anyshape.numpy.operands.promotion import asarray, is_traced, refuse_kinds, result_type, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as so
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import size_value

_FLOAT = np.dtype(np.float64)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return the piecewise linear function through the points (xp, fp) at x, as float64 or complex128.

    `xp` must increase. `left` and `right` are the values outside of the points, fp[0] and fp[-1] by default. With
    `period` the function repeats, points may come in any order, and `left` and `right` are ignored.

    Each call requires at least one point. At a point, the derivative by x is the slope after it; at the last point it
    is the slope before it.
    """
    if not is_traced(x, xp, fp, left, right, period):
        return np.interp(x, xp, fp, left, right, period)
    for name, number in (("left", left), ("right", right), ("period", period)):
        if number is not None and asarray(number, function="interp").ndim:
            raise ArgumentError("interp", name, "is an array", "pass one number")
    for points in (x, xp):
        refuse_kinds("interp", asarray(points), "c")
    x, xp, fp = asarray(x, _FLOAT), asarray(xp, _FLOAT), asarray(fp, result_type(_FLOAT, fp))
    _check_points(xp, fp)
    if period is not None:
        x, xp, fp = _repeated(x, xp, fp, period)
        left = right = None
    if fp.dtype.kind != "c":
        return _interpolated(x, xp, fp, left, right)
    parts = [
        _interpolated(x, xp, part(fp), _part(part, left), _part(part, right), **fill)
        for part, fill in ((ew.real, {}), (ew.imag, {"at_nan": 0.0}))
    ]
    return ew.make_complex(*parts)


def _part(part: Any, value: Any) -> Any:
    """Return the real or imaginary part of a value outside of the points."""
    return None if value is None else part(asarray(value, np.complex128))


def _check_points(xp: Any, fp: Any) -> None:
    """Require vectors of points of equal sizes, and at least one point."""
    ctx = context_of("interp", xp, fp)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ctx.fail(f"xp and fp must be vectors, and have {xp.ndim} and {fp.ndim} axes")
    (count,), (values,) = sizes(xp), sizes(fp)
    ctx.require_equal(count, values, f"{count} points have {values} values", OperandAxes(3, (1, 0), (2, 0)))
    ctx.require(at_least(count, 1), "there are no points to interpolate between")


def _repeated(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return x and the points within one period, in increasing order, with a neighbour from the next on either side."""
    if not is_traced(period) and period == 0:
        raise context_of("interp", xp).fail("the period is 0")
    length = ew.absolute(asarray(period, _FLOAT))
    x, xp = ew.remainder(x, length), ew.remainder(xp, length)
    order = so.argsort(xp, 0)
    xp, fp = so.permute(xp, order, 0), so.permute(fp, order, 0)
    (last,) = (size - 1 for size in sizes(xp))
    ends = [(mv.strided(v, (last,), (1,)), mv.strided(v, (0,), (1,))) for v in (xp, fp)]
    (before, after), (value_before, value_after) = ends
    xp = mv.concatenate([ew.sub(before, length), xp, ew.add(after, length)], 0)
    return x, xp, mv.concatenate([value_before, fp, value_after], 0)


def _interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, at_nan: float | None = None) -> Any:
    """Interpolate real values between increasing points.

    NaN stays NaN, or becomes `at_nan`; between one point and itself it becomes the value there, as in NumPy.
    """
    (count,) = sizes(xp)
    first, last = (_scalar_like(mv.reshape(mv.strided(xp, (i,), (1,)), ()), x) for i in (0, count - 1))
    beyond = ew.logical_or(ew.logical_or(ew.lt(x, first), ew.gt(x, last)), ew.isnan(x))
    lower, upper = _neighbours(x, xp, count)
    x0, x1, y0, y1 = ix.take(xp, lower), ix.take(xp, upper), ix.take(fp, lower), ix.take(fp, upper)
    result = _on_segment(ew.select(beyond, x0, x), x0, x1, y0, y1)
    is_nan, several = ew.isnan(x), ew.gt(size_value(count), ew.lift(1, size_value(count)))
    nan = x if at_nan is None else ew.lift(at_nan, x)
    result = ew.select(ew.logical_and(is_nan, _scalar_like(several, x)), nan, result)
    outside = [
        (ew.lt(x, first), _end(left, fp, 0, x)),
        (ew.gt(x, last), _end(right, fp, count - 1, x)),
    ]
    for condition, value in outside:
        result = ew.select(condition, value, result)
    return result


def _neighbours(x: Any, xp: Any, count: Any) -> tuple[Any, Any]:
    """Return the positions of the points below and above each x; both are the only point if there is one."""
    after = so.searchsorted(xp, x, "right")
    top = _scalar_like(size_value(count - 1), after)
    zero, one = ew.lift(0, after), ew.lift(1, after)
    lower = ew.maximum(ew.minimum(ew.sub(after, one), ew.sub(top, one)), zero)
    return lower, ew.minimum(ew.add(lower, one), top)


def _on_segment(x: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> Any:
    """Return the value at x of the line from (x0, y0) to (x1, y1).

    It is computed from the left end; from the right end at x1, and where infinite values make the first one NaN.
    """
    width = ew.sub(x1, x0)
    slope = ew.div(ew.sub(y1, y0), ew.select(ew.eq(width, ew.lift(0, width)), 1, width))
    from_left = ew.add(ew.mul(slope, ew.sub(x, x0)), y0)
    from_right = ew.add(ew.mul(slope, ew.sub(x, x1)), y1)
    result = ew.select(ew.logical_or(ew.eq(x, x1), ew.isnan(from_left)), from_right, from_left)
    undefined = ew.isnan(result)
    result = ew.select(ew.logical_and(undefined, ew.logical_or(ew.eq(x, x0), ew.eq(y0, y1))), y0, result)
    return ew.select(ew.logical_and(undefined, ew.eq(x, x1)), y1, result)


def _end(value: Any, fp: Any, position: Any, x: Any) -> Any:
    """Return the value outside of the points on one side, as an array like x."""
    inner = mv.reshape(mv.strided(fp, (position,), (1,)), ()) if value is None else asarray(value, fp.dtype)
    return _scalar_like(inner, x)


def _scalar_like(value: Any, x: Any) -> Any:
    return mv.broadcast_to(value, sizes(x))
