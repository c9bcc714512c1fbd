"""NumPy's functions that make arrays, for symbolic sizes too: `zeros(x.shape)`, `arange(x.shape[0])`, `eye(n)`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.array_parts import diagonal_matrix, lifted
from anyshape.numpy.movement import broadcast_arrays, moveaxis, ravel, stack
from anyshape.numpy.operands import promotion as cv
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.apply import context_of
from anyshape.ops.control import check

_EXACT = 1024  # steps are fractions with numerator and denominator up to this, so that lengths are exact


# -- lifting -----------------------------------------------------------------------------------------------------


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Any:
    """As `numpy.asarray`; nested lists may hold traced arrays, which are stacked."""
    if not cv.is_traced(a):
        return np.asarray(a, dtype, order, device=device, copy=copy)
    x = stack([asarray(member) for member in a]) if isinstance(a, (list, tuple)) else a
    return lifted(x, dtype)


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    """As `numpy.array`; nested lists may hold traced arrays, which are stacked."""
    if not cv.is_traced(object):
        return np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    x = asarray(object, dtype)
    return mv.expand(x, range(max(ndmin - x.meta.rank, 0)))


def asanyarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """As `numpy.asanyarray`."""
    return asarray(a, dtype) if cv.is_traced(a) else np.asanyarray(a, dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """As `numpy.ascontiguousarray`: of at least one axis."""
    return array(a, dtype, ndmin=1) if cv.is_traced(a) else np.ascontiguousarray(a, dtype)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """As `numpy.copy`; values of a program are never changed, so it is the value itself."""
    return asarray(a) if cv.is_traced(a) else np.copy(a, order, subok)


# -- filled ------------------------------------------------------------------------------------------------------


def _filled(shape: Any, value: Any, dtype: np.dtype) -> Any:
    """An array of a (possibly symbolic) shape, filled with a number or a traced value."""
    target = cv.new_shape(shape, "full")
    if isinstance(value, (int, float, complex, np.generic)):
        return cr.full(target, value, dtype)
    return mv.broadcast_to(cv.typed(value, dtype), target)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """As `numpy.full`; sizes and the value may be traced."""
    if not cv.is_traced(shape, fill_value):
        return np.full(shape, fill_value, dtype)
    return _filled(shape, fill_value, np.dtype(dtype) if dtype is not None else lifted(fill_value).dtype)


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As `numpy.zeros`; sizes may be symbolic."""
    dtype = float if dtype is None else dtype
    return _filled(shape, 0, np.dtype(dtype)) if cv.is_traced(shape) else np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As `numpy.ones`; sizes may be symbolic."""
    dtype = float if dtype is None else dtype
    return _filled(shape, 1, np.dtype(dtype)) if cv.is_traced(shape) else np.ones(shape, dtype)


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As `numpy.empty`; in a program it holds zeros, so that a run has one result."""
    return zeros(shape, dtype) if cv.is_traced(shape) else np.empty(shape, float if dtype is None else dtype)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """An array with the dtype and shape of another one, each unless it is given."""
    x = lifted(a) if cv.is_traced(a) else np.asarray(a)
    target = cv.sizes(x) if shape is None else shape
    return _filled(target, value, np.dtype(dtype) if dtype is not None else x.dtype)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """As `numpy.full_like`."""
    if not cv.is_traced(a, fill_value, shape):
        return np.full_like(a, fill_value, dtype, shape=shape)
    return _like("full_like", a, fill_value, dtype, shape)


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As `numpy.zeros_like`."""
    if not cv.is_traced(a, shape):
        return np.zeros_like(a, dtype, shape=shape)
    return _like("zeros_like", a, 0, dtype, shape)


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As `numpy.ones_like`."""
    if not cv.is_traced(a, shape):
        return np.ones_like(a, dtype, shape=shape)
    return _like("ones_like", a, 1, dtype, shape)


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As `numpy.empty_like`; in a program it holds zeros."""
    if not cv.is_traced(prototype, shape):
        return np.empty_like(prototype, dtype, shape=shape)
    return _like("empty_like", prototype, 0, dtype, shape)


# -- ranges ------------------------------------------------------------------------------------------------------


def _exact(x: Any, function: str) -> Size | Fraction:
    """A bound of a range as a size, or as a fraction if it is a float."""
    if isinstance(x, (float, np.floating)):
        found = Fraction(float(x)) if np.isfinite(x) else None
        if found is not None and max(abs(found.numerator), found.denominator) <= _EXACT:
            return found.numerator if found.denominator == 1 else found
    elif isinstance(x, (int, np.integer, SymbolicSize)):
        return cv.size_of(x)
    shown = x.meta if isinstance(x, Traced) else x
    advice = "use integers, or scale: step * arange(n); a length cannot depend on data"
    raise UnsupportedFunctionError(function, f"a symbolic range with bound or step {shown}", advice, user_line())


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None, like: Any = None
) -> Any:
    """As `numpy.arange`; integers may be symbolic. Next to symbolic ones, floats must be simple fractions."""
    if not cv.is_traced(start, stop, step):
        return np.arange(start, stop, step, dtype) if stop is not None else np.arange(0, start, step, dtype)
    start, stop = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    target = np.dtype(dtype) if dtype is not None else cv.result_type(start, stop, step)
    if any(isinstance(x, Traced) for x in (start, stop, step)):
        return _value_range(start, stop, step, target)
    first, last, by = (_exact(x, "arange") for x in (start, stop, step))
    count = _range_length(first, last, by)
    values = cr.iota(count, target)
    scaled = values if isinstance(by, int) and by == 1 else values * _scalar(by, target)
    return scaled if isinstance(first, int) and first == 0 else scaled + _scalar(first, target)


def _value_range(start: Any, stop: Any, step: Any, target: np.dtype) -> Any:
    """A range of integers of which some are known by their values alone."""
    for x in (start, stop, step):
        if isinstance(x, Traced) and (x.meta.rank or x.dtype.kind not in "iu"):
            _exact(x, "arange")
    from_zero, by_one = (isinstance(x, int) and x == known for x, known in ((start, 0), (step, 1)))
    if from_zero and by_one:
        return cr.iota(dy.count_of(stop), target)
    first, last, by = (lifted(cv.asarray(x, np.int64)) for x in (start, stop, step))
    if isinstance(step, Traced):
        check(ew.ne(by, cr.full((), 0, np.int64)), "arange: the step of a range cannot be zero")
    elif isinstance(step, int) and step == 0:
        raise context_of("arange").fail("the step of a range cannot be zero")
    count = dy.count_of(ew.neg(ew.floor_divide(ew.sub(first, last), by)))
    values = cr.iota(count, target)
    scaled = values if by_one else values * ew.convert(by, target)
    return scaled if from_zero else scaled + ew.convert(first, target)


def _range_length(first: Any, last: Any, by: Any) -> Size:
    """The smallest integer not below (last - first) / by, if it is positive."""
    scale = np.lcm.reduce([x.denominator for x in (first, last, by) if isinstance(x, Fraction)] or [1])
    first, last, by = (
        expr.mul(int(scale), x) if not isinstance(x, Fraction) else int(x * int(scale)) for x in (first, last, by)
    )
    ctx = context_of("arange")
    if isinstance(by, int) and by == 0:
        raise ctx.fail("the step of a range cannot be zero")
    forward = by > 0 if isinstance(by, int) else ctx.scope.ask(at_least(by, 1), ctx.where)
    span = expr.maximum(last - first if forward else first - last, 0)
    return expr.ceildiv(span, by if forward else -by)


def _scalar(x: Any, dtype: np.dtype) -> Any:
    """A size or a fraction as a scalar of the program."""
    if isinstance(x, Fraction):
        return cr.full((), float(x), dtype)
    return ew.convert(cr.size_value(x), dtype) if not isinstance(x, int) else cr.full((), x, dtype)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """As `numpy.linspace`; bounds may be traced and the number symbolic."""
    if not cv.is_traced(start, stop, num):
        return np.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    (count,) = cv.new_shape(num, "linspace")
    inexact = np.result_type(cv.result_type(start, stop), 0.0)
    first, last = broadcast_arrays(lifted(start, inexact), lifted(stop, inexact))
    gaps = expr.maximum(count - 1 if endpoint else count, 1)
    step = ew.div(ew.sub(last, first), _scalar(gaps, inexact))
    shape = (count, *cv.sizes(first))
    position = mv.broadcast_in_dim(cr.iota(count), shape, (0,))
    values = ew.add(ew.mul(ew.convert(position, inexact), step), first)
    if endpoint:
        is_last = ew.eq(position, _scalar(count - 1, np.dtype(np.int64)))
        single = ew.eq(_scalar(count, np.dtype(np.int64)), cr.full((), 1, np.int64))
        end = ew.select(single, first, last)
        values = ew.select(is_last, end, values)
    target = np.dtype(dtype) if dtype is not None else inexact
    if target.kind in "iu":
        values = ew.floor(values)
    result = moveaxis(ew.convert(values, target), 0, axis)
    return (result, step) if retstep else result


# -- grids -------------------------------------------------------------------------------------------------------


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """As `numpy.meshgrid`."""
    if not cv.is_traced(*xi):
        return np.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)
    if indexing not in ("xy", "ij"):
        raise UnsupportedFunctionError("meshgrid", f"indexing={indexing!r}", "use 'xy' or 'ij'", user_line())
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    flat = [ravel(lifted(x)) for x in xi]
    open_grid = [
        mv.reshape(x, [cv.sizes(x)[0] if axis == place else 1 for axis in range(len(xi))])
        for x, place in zip(flat, order, strict=True)
    ]
    return tuple(open_grid) if sparse else broadcast_arrays(*open_grid)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """As `numpy.indices`; sizes may be symbolic."""
    if not cv.is_traced(dimensions):
        return np.indices(dimensions, dtype, sparse)
    shape = cv.new_shape(dimensions, "indices")
    rank = len(shape)
    lines = [cr.iota(size, dtype) for size in shape]
    if sparse:
        return tuple(mv.expand(x, [a for a in range(rank) if a != i]) for i, x in enumerate(lines))
    return stack([mv.broadcast_in_dim(x, shape, (i,)) for i, x in enumerate(lines)])


def ix_(*args: Any) -> Any:
    """As `numpy.ix_`, for index arrays; masks select numbers of elements that depend on data."""
    if not cv.is_traced(*args):
        return np.ix_(*args)
    arrays = [lifted(x) for x in args]
    if any(x.dtype.kind == "b" for x in arrays):
        raise UnsupportedFunctionError("ix_", "a mask", "pass index arrays", user_line())
    if any(x.meta.rank != 1 for x in arrays):
        raise context_of("ix_", *arrays).fail("each index array must have one axis")
    return tuple(mv.expand(x, [a for a in range(len(arrays)) if a != i]) for i, x in enumerate(arrays))


# -- matrices ----------------------------------------------------------------------------------------------------


def _offsets(rows: Size, columns: Size, k: Any) -> tuple[Any, Any]:
    """The row index plus k and the column index, each of shape (rows, columns)."""
    shape = (rows, columns)
    i = mv.broadcast_in_dim(cr.iota(rows), shape, (0,))
    j = mv.broadcast_in_dim(cr.iota(columns), shape, (1,))
    return ew.add(i, cv.typed(k, np.dtype(np.int64))) if not (isinstance(k, int) and k == 0) else i, j


def _count(x: Any) -> Size:
    """A number of rows or columns, none if it is negative."""
    return dy.count_of(x) if isinstance(x, Traced) else expr.maximum(cv.size_of(x), 0)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """As `numpy.tri`; sizes may be symbolic."""
    if not cv.is_traced(N, M, k):
        return np.tri(N, M, k, dtype)
    rows = _count(N)
    columns = rows if M is None else _count(M)
    return ew.convert(ew.ge(*_offsets(rows, columns, k)), dtype)


def _triangle(m: Any, k: Any, below: bool) -> Any:
    """The elements on and below diagonal k, or on and above it; zeros elsewhere."""
    x = lifted(m)
    if x.meta.rank == 1:
        x = mv.broadcast_to(x, (cv.sizes(x)[0],) * 2)
    if x.meta.rank == 0:
        raise context_of("tril" if below else "triu", x).fail("an array with at least one axis is needed")
    rows, columns = cv.sizes(x)[-2:]
    i, j = _offsets(rows, columns, k)
    return ew.select(ew.ge(i, j) if below else ew.ge(j, i), x, cr.full((), 0, x.dtype))


def tril(m: Any, k: Any = 0) -> Any:
    """As `numpy.tril`."""
    return _triangle(m, k, True) if cv.is_traced(m, k) else np.tril(m, k)


def triu(m: Any, k: Any = 0) -> Any:
    """As `numpy.triu`."""
    return _triangle(m, k, False) if cv.is_traced(m, k) else np.triu(m, k)


def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """As `numpy.eye`; sizes may be symbolic."""
    if not cv.is_traced(N, M, k):
        return np.eye(N, M, k, dtype)
    (rows,) = cv.new_shape(N, "eye")
    columns = rows if M is None else cv.new_shape(M, "eye")[0]
    return ew.convert(ew.eq(*_offsets(rows, columns, k)), dtype)


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """As `numpy.identity`."""
    dtype = float if dtype is None else dtype
    return eye(n, dtype=dtype) if cv.is_traced(n) else np.identity(n, dtype)


def diagflat(v: Any, k: Any = 0) -> Any:
    """As `numpy.diagflat`."""
    return diagonal_matrix(ravel(v), cv.size_of(k)) if cv.is_traced(v, k) else np.diagflat(v, k)
