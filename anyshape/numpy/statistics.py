"""Define NumPy's averages, variances and trapezoid, as compositions of ops.

Define `interp`, NumPy's piecewise linear interpolation, as a composition of a search and takes.
"""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import OperandAxes, at_least, equal
from anyshape.numpy import reduction as rdn
from anyshape.numpy.elementwise import add, divide, multiply, not_equal, subtract
from anyshape.numpy.operands import reduction_args as ra
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import (
    asarray,
    axes_of,
    axis_of,
    is_traced,
    number_dtype,
    refuse_kinds,
    result_type,
    sizes,
)
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check, warn, warn_below
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import full, size_value
from anyshape.support.true_types import has_type

_FLOAT = np.dtype(np.float64)


def _count(name: str, x, axes: tuple[int, ...], where, dtype: np.dtype):
    """Return the number of averaged elements: a scalar, or under a mask one number per result."""
    if where is ra.ABSENT or where is True:
        number = ra.count_along(x, axes)
        return full((), number, dtype) if has_type(number, int) else ew.convert(size_value(number), dtype)
    return rd.reduce_sum(ew.convert(ra.mask_like(name, x, where), dtype), axes)


def _counting_dtype(dtype: np.dtype) -> np.dtype:
    """Return the real dtype to count in; a total of integers is divided as float64.

    Half precision reaches 65,504, and 2,048 one by one; so counts of halves are float32.
    """
    real = _FLOAT if dtype.kind in "biu" else ew.real_dtype(dtype)
    return np.dtype(np.float32) if real == np.float16 else real


def _warn_of_few(message: str, name: str, x, axes: tuple[int, ...], where, most=0) -> None:
    """Warn in each run that averages `most` elements or fewer, as NumPy does."""
    unmasked = where is ra.ABSENT or where is True
    if unmasked and has_type(most, (int, np.integer)):
        warn_below(ra.count_along(x, axes), int(most) + 1, message)
    else:
        number = _count(name, x, axes, where, _FLOAT)
        warn(ew.le(number, asarray(most, _FLOAT) if unmasked else ew.lift(most, number)), message)


def _quotient(total, number, quiet: bool = False):
    """Return a total divided by a count, in the dtype of the total; the count may have another dtype.

    If `quiet`, a division by 0 gives NaN without a warning.
    """
    if quiet:
        number = ew.select(ew.le(number, ew.lift(0, number)), ew.lift(float("nan"), number), number)
    wide = np.result_type(total.dtype, number.dtype)
    return ew.convert(ew.div(ew.convert(total, wide), ew.convert(number, wide)), total.dtype)


def _averaged_dtype(x, dtype) -> np.dtype:
    """Return the dtype to average in; integers are averaged as float64."""
    if dtype is not None:
        return number_dtype(dtype, "mean")
    own = result_type(x)
    return _FLOAT if own.kind in "biu" else own


def _averaged_axes(name: str, axis, rank: int, where) -> tuple[int, ...]:
    """Return the axes to average along.

    As in NumPy, a scalar has an axis 0 under a mask and none without one.
    """
    ra.refuse_axis_kinds(name, axis)
    return axes_of(axis, rank, name) if where is ra.ABSENT or where is True else ra.reduced_axes(name, axis, rank)


def _mean(name: str, x, axes: tuple[int, ...], where=ra.ABSENT, quiet: bool = False):
    """Return the mean without the reduced axes, in the dtype of x."""
    total = ra.sum_over(ra.apply_mask(name, x, where, 0), axes)
    return _quotient(total, _count(name, x, axes, where, _counting_dtype(x.dtype)), quiet)


@writes_out
def mean(a, axis=None, dtype=None, out=None, keepdims=ra.ABSENT, *, where=ra.ABSENT) -> Any:
    """Return the mean of the elements along axes; over no elements it is NaN.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
    Elements where `where` is false are left out. Integers are averaged as float64.
    With traced operands `out` must be traced too.
    """
    return traced_mean(a, axis, dtype, out, keepdims, where=where)


def traced_mean(
    a, axis = None, dtype = None, out = None, keepdims = ra.ABSENT,
    *, where = ra.ABSENT, quiet: bool = False
):  # fmt: skip
    """Return the mean of a traced array; if `quiet`, a division by 0 gives no warning of its own."""
    target = _averaged_dtype(a, dtype)
    half = dtype is None and target == np.float16  # NumPy adds up half precision in single precision
    x = asarray(a, np.float32 if half else target)
    axes = _averaged_axes("mean", axis, x.ndim, where)
    _warn_of_few(ra.EMPTY_MEAN, "mean", x, axes, where)
    return ew.convert(ra.restore_axes(_mean("mean", x, axes, where, quiet), axes, keepdims), target)


def subtracted_count(ddof, correction):
    """Return the number that is subtracted from the count of elements, under either of its names."""
    if correction is not ra.ABSENT:
        if not is_traced(ddof) and ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if not is_traced(ddof) and (np.ndim(ddof) or np.asarray(ddof).dtype.kind not in "biufc"):
        raise ArgumentError("var", f"ddof={ddof!r}", "is not a number", "pass one number")
    return ddof


@writes_out
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ra.ABSENT,
    *, where: Any = ra.ABSENT, mean: Any = ra.ABSENT, correction: Any = ra.ABSENT,
) -> Any:  # fmt: skip
    """Return the variance of the elements along axes; NaN where no degree of freedom is left.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
    Elements where `where` is false are left out. `ddof`, also called `correction`, is subtracted from their number.
    `mean` is used if it is passed, with the reduced axes kept. Integers are averaged as float64.
    With traced operands `out` must be traced too.
    """
    return traced_var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)


def traced_var(
    a, axis = None, dtype = None, out = None, ddof = 0, keepdims = ra.ABSENT,
    *, where = ra.ABSENT, mean = ra.ABSENT, correction = ra.ABSENT, quiet: bool = False
):  # fmt: skip
    """Return the variance of a traced array; if `quiet`, as NumPy's nan-functions warn."""
    target = _averaged_dtype(a, dtype)
    x = asarray(a, np.result_type(target, asarray(a).dtype))  # all of a is squared, added up in `dtype`
    axes = _averaged_axes("var", axis, x.ndim, where)
    subtracted = subtracted_count(ddof, correction)
    _warn_of_few(f"{ra.NO_FREEDOM}." if quiet else ra.NO_FREEDOM, "var", x, axes, where, subtracted)
    if mean is ra.ABSENT or mean is None:
        center = ra.broadcast_back(
            ew.convert(_mean("var", ew.convert(x, target), axes, where, quiet), x.dtype), x, axes
        )
    else:
        center = mv.broadcast_to(asarray(mean, x.dtype), sizes(x))
    squares = ra.squared_magnitude(ra.apply_mask("var", ew.sub(x, center), where, 0))
    squares = ew.convert(squares, squares.dtype if dtype is None else target)
    number = _count("var", x, axes, where, _counting_dtype(squares.dtype))
    number = ew.maximum(ew.sub(number, ew.lift(subtracted, number)), ew.lift(0, number))
    return ra.restore_axes(_quotient(rd.reduce_sum(squares, axes), number, quiet), axes, keepdims)


@writes_out
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ra.ABSENT,
    *, where: Any = ra.ABSENT, mean: Any = ra.ABSENT, correction: Any = ra.ABSENT,
) -> Any:  # fmt: skip
    """Return the standard deviation of the elements along axes, the square root of `var`.

    The arguments are those that `var` takes. Where the result is 0, so is the derivative.
    """
    options = {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
    return traced_std(a, axis, dtype, out, ddof, **options)


def traced_std(*args, **options):
    """Return the root of `traced_var`; as NumPy does, cast that of a scalar to an integer `dtype`."""
    squared = traced_var(*args, **options)
    if squared.ndim:
        refuse_kinds("std", squared, "biu", "leave out dtype, and cast the result")
    root = ew.length(squared if squared.dtype.kind in "fc" else ew.convert(squared, _FLOAT))
    return ew.convert(root, squared.dtype)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = ra.ABSENT) -> Any:
    """Return the weighted mean of the elements along axes.

    Weights have the shape of `a`, or one axis for each of the named ones. `returned` adds the sum of the weights to the
    result. Weights that sum to zero are a DivisionCheckError of the run, which is a ZeroDivisionError as NumPy's.
    """
    x = asarray(a)
    axes = axes_of(axis, x.ndim, "average")
    if weights is None:
        ctx = context_of("average", x)
        for size in (s for i, s in enumerate(sizes(x)) if i not in axes):
            ctx.require(at_least(size, 1), "the average of no elements divides by zero")
        result = mean(x, axis, keepdims=keepdims)
        total = _count("average", x, axes, ra.ABSENT, result.dtype)
    else:
        w = asarray(weights)
        dtype = result_type(x, w, *[_FLOAT] * (x.dtype.kind in "biu"))
        x = asarray(x, dtype)
        own, w = asarray(w, dtype), aligned_weights("average", x, asarray(w, dtype), axis, axes)
        total = ra.restore_axes(ra.sum_over(w, axes), axes, keepdims)
        sums = total if own.ndim == x.ndim else ra.sum_over(own, tuple(range(own.ndim)))  # of weights that nothing has
        check(ew.ne(sums, ew.lift(0, sums)), "average: the weights sum to zero")
        result = ew.div(ra.restore_axes(ra.sum_over(ew.mul(x, w), axes), axes, keepdims), total)
    return (result, mv.broadcast_to(total, sizes(result))) if returned else result


def aligned_weights(name: str, x: Any, w: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    """Return weights in the shape of x; weights for the averaged axes alone are repeated along the others."""
    if w.ndim == x.ndim and (w.ndim != 1 or axis is None):
        ctx = context_of(name, x, w)
        for m, n in zip(sizes(x), sizes(w), strict=True):
            ctx.require(equal(m, n), f"weights of size {n} for an axis of size {m}")
        return w
    if axis is None or w.ndim != len(axes):
        advice = "give one axis per axis of weights"
        raise ArgumentError(name, "axis", "does not name the axes of the weights", advice)
    named_axes = axes_of(axis, x.ndim, name) if has_type(axis, int) else [a % x.ndim for a in axis]
    order = sorted(range(len(named_axes)), key=lambda i: named_axes[i])
    ctx = context_of(name, x, w)
    for a, n in zip(named_axes, sizes(w), strict=True):
        ctx.require(equal(sizes(x)[a], n), f"weights of size {n} for an axis of size {sizes(x)[a]}")
    return mv.broadcast_in_dim(mv.transpose(w, order), sizes(x), axes)


def interpolate(a: Any, b: Any, share: Any, dtype: np.dtype) -> Any:
    """Return what lies between elements a and b of lines, at a share of the way; exact at both ends.

    The difference of floats is rounded to their own dtype, as NumPy does; that of integers would overflow there.
    """
    if a.dtype.kind != "f":
        a, b = ew.convert(a, dtype), ew.convert(b, dtype)
    a, b, gap, share = (ew.convert(x, dtype) for x in (a, b, ew.sub(b, a), share))
    rising = ew.add(a, ew.mul(gap, share))
    falling = ew.sub(b, ew.mul(gap, ew.sub(ew.lift(1, share), share)))
    return ew.select(ew.ge(share, ew.lift(0.5, share)), falling, rising)


# -- integrals ---------------------------------------------------------------------------------------------------


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral of samples y along an axis by the trapezoidal rule.

    The samples are at the points x, or `dx` apart. x is a vector or broadcasts against y.
    """
    values = asarray(y)
    integrated_axis = axis_of(axis, values.ndim, "trapezoid")
    after, before = _neighbours(values, integrated_axis)
    if x is not None:
        points = asarray(x)
        along = 0 if points.ndim == 1 else axis_of(axis, points.ndim, "trapezoid")
        dx = (not_equal if points.dtype.kind == "b" else subtract)(*_neighbours(points, along))
        if points.ndim == 1:
            dx = mv.reshape(dx, (*sizes(dx), *[1] * (values.ndim - integrated_axis - 1)))
    return rdn.sum(divide(multiply(dx, add(after, before)), 2.0), axis)  # of the product: x may have more axes than y


def _neighbours(x, axis: int) -> tuple[Any, Any]:
    """Return all elements along the axis except the first, and all except the last."""
    rest = (slice(None),) * axis
    return x[(*rest, slice(1, None))], x[(*rest, slice(None, -1))]


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return the piecewise linear function through the points (xp, fp) at x, as float64 or complex128.

    `xp` must increase. `left` and `right` are the values outside of the points, fp[0] and fp[-1] by default. With
    `period` the function repeats, points may come in any order, and `left` and `right` are ignored.

    Each call requires at least one point. At a point, the derivative by x is the slope after it; at the last point it
    is the slope before it.
    """
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


def _part(part, value):
    """Return the real or imaginary part of a value outside of the points."""
    return None if value is None else part(asarray(value, np.complex128))


def _check_points(xp, fp) -> None:
    """Require vectors of points of equal sizes, and at least one point."""
    ctx = context_of("interp", xp, fp)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ctx.fail(f"xp and fp must be vectors, and have {xp.ndim} and {fp.ndim} axes")
    (count,), (values,) = sizes(xp), sizes(fp)
    ctx.require_equal(count, values, f"{count} points have {values} values", OperandAxes(3, (1, 0), (2, 0)))
    ctx.require(at_least(count, 1), "there are no points to interpolate between")


def _repeated(x, xp, fp, period) -> tuple[Any, Any, Any]:
    """Return x and the points within one period, in increasing order, with a neighbour from the next on either side."""
    if not is_traced(period) and period == 0:
        raise context_of("interp", xp).fail("the period is 0")
    length = ew.absolute(asarray(period, _FLOAT))
    x, xp = ew.remainder(x, length), ew.remainder(xp, length)
    order = rd.argsort(xp, 0)
    xp, fp = rd.permute(xp, order, 0), rd.permute(fp, order, 0)
    (last,) = (size - 1 for size in sizes(xp))
    ends = [(mv.strided(v, (last,), (1,)), mv.strided(v, (0,), (1,))) for v in (xp, fp)]
    (before, after), (value_before, value_after) = ends
    xp = mv.concatenate([ew.sub(before, length), xp, ew.add(after, length)], 0)
    return x, xp, mv.concatenate([value_before, fp, value_after], 0)


def _interpolated(x, xp, fp, left, right, at_nan: float | None = None):
    """Interpolate real values between increasing points.

    NaN stays NaN, or becomes `at_nan`; between one point and itself it becomes the value there, as in NumPy.
    """
    (count,) = sizes(xp)
    first, last = (_scalar_like(mv.reshape(mv.strided(xp, (i,), (1,)), ()), x) for i in (0, count - 1))
    beyond = ew.logical_or(ew.logical_or(ew.lt(x, first), ew.gt(x, last)), ew.isnan(x))
    lower, upper = _points_around(x, xp, count)
    x0, x1, y0, y1 = ix.take(xp, lower), ix.take(xp, upper), ix.take(fp, lower), ix.take(fp, upper)
    result = _on_segment(ew.select(beyond, x0, x), x0, x1, y0, y1)
    is_nan, several = ew.isnan(x), ew.gt(size_value(count), ew.lift(1, size_value(count)))
    nan = x if at_nan is None else ew.lift(at_nan, x)
    result = ew.select(ew.logical_and(is_nan, _scalar_like(several, x)), nan, result)
    outside = [(ew.lt(x, first), _end(left, fp, 0, x)), (ew.gt(x, last), _end(right, fp, count - 1, x))]
    for condition, value in outside:
        result = ew.select(condition, value, result)
    return result


def _points_around(x, xp, count) -> tuple[Any, Any]:
    """Return the positions of the points below and above each x; both are the only point if there is one."""
    after = rd.searchsorted(xp, x, "right")
    top = _scalar_like(size_value(count - 1), after)
    zero, one = ew.lift(0, after), ew.lift(1, after)
    lower = ew.maximum(ew.minimum(ew.sub(after, one), ew.sub(top, one)), zero)
    return lower, ew.minimum(ew.add(lower, one), top)


def _on_segment(x, x0, x1, y0, y1):
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


def _end(value, fp, position, x):
    """Return the value outside of the points on one side, as an array like x."""
    inner = mv.reshape(mv.strided(fp, (position,), (1,)), ()) if value is None else asarray(value, fp.dtype)
    return _scalar_like(inner, x)


def _scalar_like(value, x):
    return mv.broadcast_to(value, sizes(x))


serve(__name__)
