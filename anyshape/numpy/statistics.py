"""NumPy's averages and spreads (mean, var, std, average, cov), and the nan-functions, as compositions of ops."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.numpy import reduction as rdn
from anyshape.numpy.elementwise import add, divide, multiply, subtract
from anyshape.numpy.operands.promotion import asarray, axes_of, axis_of, is_traced, result_type, sizes
from anyshape.numpy.reduction_args import (
    ABSENT,
    keep,
    mask_like,
    masked,
    numel,
    reduced_axes,
    refuse_out,
    spread,
    summed,
)
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.apply import context_of
from anyshape.ops.contraction import dot_general
from anyshape.ops.control import check
from anyshape.ops.creation import full, iota, size_value

_FLOAT = np.dtype(np.float64)


def _count(name: str, x: Any, axes: tuple[int, ...], where: Any, dtype: np.dtype) -> Any:
    """How many elements are averaged: a scalar, or one number per result under a mask."""
    if where is ABSENT or where is True:
        number = numel(x, axes)
        return full((), number, dtype) if isinstance(number, int) else ew.convert(size_value(number), dtype)
    return rd.reduce_sum(ew.convert(mask_like(name, x, where), dtype), axes)


def _counting(dtype: np.dtype) -> np.dtype:
    """The real dtype to count in: halves go up to 65,504, and to 2,048 one by one."""
    real = ew.real_dtype(dtype)
    return np.dtype(np.float32) if real == np.float16 else real


def _quotient(total: Any, number: Any) -> Any:
    """A total by a number that may be counted in another dtype, in the dtype of the total."""
    wide = np.result_type(total.dtype, number.dtype)
    return ew.convert(ew.div(ew.convert(total, wide), ew.convert(number, wide)), total.dtype)


def _averaged_dtype(x: Any, dtype: Any) -> np.dtype:
    """Integers are averaged as float64."""
    if dtype is not None:
        return np.dtype(dtype)
    found = result_type(x)
    return _FLOAT if found.kind in "biu" else found


def _averaged_axes(name: str, axis: Any, rank: int, where: Any) -> tuple[int, ...]:
    """The axes to average along: under a mask a scalar has an axis 0, unlike without one, as in NumPy."""
    return axes_of(axis, rank, name) if where is ABSENT or where is True else reduced_axes(name, axis, rank)


def _mean(name: str, x: Any, axes: tuple[int, ...], where: Any = ABSENT) -> Any:
    """The mean without the reduced axes, in the dtype of x."""
    total = summed(masked(name, x, where, 0), axes)
    return _quotient(total, _count(name, x, axes, where, _counting(x.dtype)))


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = ABSENT, *, where: Any = ABSENT
) -> Any:
    """As `numpy.mean`; of nothing it is NaN."""
    if not is_traced(a, where):
        return np.mean(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    refuse_out("mean", out)
    target = _averaged_dtype(a, dtype)
    half = dtype is None and target == np.float16  # NumPy adds up half precision in single precision
    x = asarray(a, np.float32 if half else target)
    axes = _averaged_axes("mean", axis, x.ndim, where)
    return ew.convert(keep(_mean("mean", x, axes, where), axes, keepdims), target)


def _squared(x: Any) -> Any:
    """|x| squared, of real dtype."""
    if x.dtype.kind != "c":
        return ew.mul(x, x)
    real, imag = ew.real(x), ew.imag(x)
    return ew.add(ew.mul(real, real), ew.mul(imag, imag))


def _freedom(ddof: Any, correction: Any) -> Any:
    """What is subtracted from the number of elements, under either of its names."""
    if correction is ABSENT:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ABSENT,
    *, where: Any = ABSENT, mean: Any = ABSENT, correction: Any = ABSENT,
) -> Any:  # fmt: skip
    """As `numpy.var`; NaN where no degree of freedom is left."""
    if not is_traced(a, where, mean):
        options = {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
        return np.var(a, axis=axis, dtype=dtype, out=out, ddof=ddof, **options)
    refuse_out("var", out)
    target = _averaged_dtype(a, dtype)
    x = asarray(a, np.result_type(target, asarray(a).dtype))  # all of a is squared, added up in `dtype`
    axes = _averaged_axes("var", axis, x.ndim, where)
    if mean is ABSENT or mean is None:
        center = spread(ew.convert(_mean("var", ew.convert(x, target), axes, where), x.dtype), x, axes)
    else:
        center = mv.broadcast_to(asarray(mean, x.dtype), sizes(x))
    squares = masked("var", _squared(ew.sub(x, center)), where, 0)
    squares = ew.convert(squares, squares.dtype if dtype is None else target)
    number = _count("var", x, axes, where, _counting(squares.dtype))
    number = ew.maximum(ew.sub(number, ew.lift(_freedom(ddof, correction), number)), ew.lift(0, number))
    return keep(_quotient(rd.reduce_sum(squares, axes), number), axes, keepdims)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ABSENT,
    *, where: Any = ABSENT, mean: Any = ABSENT, correction: Any = ABSENT,
) -> Any:  # fmt: skip
    """As `numpy.std`. Its derivative at equal elements is that of a square root at 0: NaN, as in JAX."""
    options = {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
    if not is_traced(a, where, mean):
        return np.std(a, axis=axis, dtype=dtype, out=out, ddof=ddof, **options)
    return ew.sqrt(var(a, axis, dtype, out, ddof, **options))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = ABSENT) -> Any:
    """As `numpy.average`. Weights that sum to zero are an error of the run, where NumPy raises a ZeroDivisionError."""
    if not is_traced(a, weights):
        return np.average(a, axis=axis, weights=weights, returned=returned, keepdims=keepdims)
    x = asarray(a)
    axes = axes_of(axis, x.ndim, "average")
    if weights is None:
        ctx = context_of("average", x)
        for size in (s for i, s in enumerate(sizes(x)) if i not in axes):
            ctx.require(at_least(size, 1), "there is nothing to give, which NumPy calls a division by zero")
        result = mean(x, axis, keepdims=keepdims)
        total = _count("average", x, axes, ABSENT, result.dtype)
    else:
        w = asarray(weights)
        dtype = result_type(x, w, *[_FLOAT] * (x.dtype.kind in "biu"))
        x = asarray(x, dtype)
        w = _aligned_weights(x, asarray(w, dtype), axis, axes)
        total = keep(summed(w, axes), axes, keepdims)
        check(ew.ne(total, ew.lift(0, total)), "average: the weights sum to zero")
        result = ew.div(keep(summed(ew.mul(x, w), axes), axes, keepdims), total)
    return (result, mv.broadcast_to(total, sizes(result))) if returned else result


def _aligned_weights(x: Any, w: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    """Weights in the shape of x; given for the averaged axes alone, they are repeated along the others."""
    if w.ndim == x.ndim and (w.ndim != 1 or axis is None):
        ctx = context_of("average", x, w)
        for m, n in zip(sizes(x), sizes(w), strict=True):
            ctx.require(equal(m, n), f"weights of size {n} for an axis of size {m}")
        return w
    if axis is None or w.ndim != len(axes):
        advice = "give one axis per axis of weights"
        raise ArgumentError("average", "axis", "does not name the axes of the weights", advice)
    given = axes_of(axis, x.ndim, "average") if isinstance(axis, int) else [a % x.ndim for a in axis]
    order = sorted(range(len(given)), key=lambda i: given[i])
    ctx = context_of("average", x, w)
    for a, n in zip(given, sizes(w), strict=True):
        ctx.require(equal(sizes(x)[a], n), f"weights of size {n} for an axis of size {sizes(x)[a]}")
    return mv.broadcast_in_dim(mv.transpose(w, order), sizes(x), axes)


# -- nan-functions -----------------------------------------------------------------------------------------------


def _numbers(a: Any, where: Any) -> Any:
    """A mask of the elements that are numbers, under `where`; ABSENT when all of them are."""
    x = asarray(a)
    if x.dtype.kind not in "fc":
        return where
    ok = ew.eq(x, x)
    return ok if where is ABSENT or where is True else ew.select(mask_like("where", x, where), ok, ew.lift(False, ok))


def _ignoring(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A nan-function that leaves NaNs out of a function with a `where` mask."""
    numpy_function = getattr(np, name)

    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any, **options: Any) -> Any:
        if not is_traced(a, *options.values()):
            return numpy_function(a, axis, dtype, out, *args, **options)
        where = options.pop("where", ABSENT)
        return plain(a, axis, dtype, out, *args, where=_numbers(a, where), **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


nansum = _ignoring("nansum", rdn.sum)
nanprod = _ignoring("nanprod", rdn.prod)
nanmean = _ignoring("nanmean", mean)
nanvar = _ignoring("nanvar", var)
nanstd = _ignoring("nanstd", std)


def _nan_extreme(name: str, reduce: Callable[..., Any], combine: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """np.nanmax or np.nanmin."""
    numpy_function, plain = getattr(np, name), getattr(rdn, name.removeprefix("nan"))

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = ABSENT, initial: Any = ABSENT, where: Any = ABSENT
    ) -> Any:
        if not is_traced(a, initial, where):
            return numpy_function(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        x = asarray(a)
        if x.dtype.kind in "fc" and isinstance(initial, float) and isnan(initial):
            initial = ABSENT  # left out as all of them
        if x.dtype.kind not in "fc" or initial is not ABSENT:
            return plain(x, axis, out, keepdims, initial, _numbers(x, where))
        if where is not ABSENT:
            return plain(x, axis, out, keepdims, initial, where)
        refuse_out(name, out)
        axes = reduced_axes(name, axis, x.ndim)
        ok = ew.eq(x, x)
        found = reduce(ew.select(ok, x, ew.lift(rdn.infinite(x.dtype, sign), x)), axes)
        found = ew.select(rd.reduce_or(ok, axes), found, ew.lift(float("nan"), found))
        return keep(found, axes, keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


nanmax = _nan_extreme("nanmax", rd.reduce_max, ew.maximum, -1)
nanmin = _nan_extreme("nanmin", rd.reduce_min, ew.minimum, 1)


def _nan_running(name: str, plain: Callable[..., Any], instead: int) -> Callable[..., Any]:
    numpy_function = getattr(np, name)

    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if not is_traced(a):
            return numpy_function(a, axis=axis, dtype=dtype, out=out)
        x = asarray(a)
        return plain(masked(name, x, _numbers(x, ABSENT), instead), axis, dtype, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


nancumsum = _nan_running("nancumsum", rdn.cumsum, 0)
nancumprod = _nan_running("nancumprod", rdn.cumprod, 1)

# -- covariance --------------------------------------------------------------------------------------------------


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """As `numpy.cov`, without weights."""
    if not is_traced(m, y, fweights, aweights):
        return np.cov(m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    if fweights is not None or aweights is not None:
        raise ArgumentError("cov", "weights", "are not supported for traced arrays", "scale the rows before")
    operands = [m] if y is None else [m, y]
    target = np.dtype(dtype) if dtype is not None else result_type(*operands, _FLOAT)
    rows = [_as_rows(asarray(x, target), rowvar) for x in operands]
    x = mv.concatenate(rows, 0) if len(rows) > 1 else rows[0]
    freedom = (0 if bias else 1) if ddof is None else ddof
    centered = ew.sub(x, spread(_mean("cov", x, (1,)), x, (1,)))
    number = _count("cov", x, (1,), ABSENT, target)
    number = ew.maximum(ew.sub(number, ew.lift(freedom, number)), ew.lift(0, number))
    other = ew.conj(centered)
    result = ew.div(dot_general(centered, other, ((1,), (1,)), ((), ())), number)
    # NumPy drops both axes when there is a single variable, so the rank of the result depends on a size
    ctx, count = context_of("cov", result), sizes(result)[0]
    single = ctx.scope.ask(equal(count, 1, f"number of variables {count} == 1"), ctx.where)
    return mv.reshape(result, ()) if single else result


def _as_rows(x: Any, rowvar: bool) -> Any:
    """Variables as rows: a vector is one variable."""
    if x.ndim > 2:
        raise ArgumentError("cov", "m", "has more than 2 dimensions", "pass a vector or a matrix")
    if x.ndim < 2:
        return mv.reshape(x, (1, numel(x)))
    return x if rowvar else mv.transpose(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """As `numpy.corrcoef`."""
    if not is_traced(x, y):
        return np.corrcoef(x, y, rowvar, dtype=dtype)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ew.div(c, c)
    diagonal = rd.reduce_sum(ew.select(_identity_mask(c), c, ew.lift(0, c)), (1,))
    scale = ew.sqrt(ew.real(diagonal) if c.dtype.kind == "c" else diagonal)
    scale = ew.convert(scale, c.dtype)
    result = ew.div(ew.div(c, spread(scale, c, (1,))), spread(scale, c, (0,)))
    return result if c.dtype.kind == "c" else ew.maximum(ew.minimum(result, ew.lift(1, result)), ew.lift(-1, result))


def _identity_mask(square: Any) -> Any:
    """Where the two positions of an element of a square matrix agree."""
    shape = sizes(square)
    rows, columns = (mv.broadcast_in_dim(iota(s), shape, (i,)) for i, s in enumerate(shape))
    return ew.eq(rows, columns)


# -- integrals ---------------------------------------------------------------------------------------------------


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As `numpy.trapezoid`."""
    if not is_traced(y, x, dx):
        return np.trapezoid(y, x, dx, axis)
    values = asarray(y)
    place = axis_of(axis, values.ndim, "trapezoid")
    after, before = _neighbours(values, place)
    if x is not None:
        points = asarray(x)
        along = 0 if points.ndim == 1 else axis_of(axis, points.ndim, "trapezoid")
        dx = subtract(*_neighbours(points, along))
        if points.ndim == 1:
            dx = mv.reshape(dx, (*sizes(dx), *[1] * (values.ndim - place - 1)))
    return rdn.sum(divide(multiply(dx, add(after, before)), 2.0), axis)  # of the product: x may have more axes than y


def _neighbours(x: Any, axis: int) -> tuple[Any, Any]:
    """All elements along the axis but the first, and all but the last."""
    rest = (slice(None),) * axis
    return x[(*rest, slice(1, None))], x[(*rest, slice(None, -1))]
