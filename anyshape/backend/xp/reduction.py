"""Kernels of reductions, cumulative ops, recurrences and sorts."""

import math

import numpy as np

from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.backend.xp.libraries import INT, kernel, numpy_dtype
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import reduction as rd

_COUNT = np.dtype(np.int8)


def _sum(xp, x, *, axes):
    if not axes:
        return x
    return xp.any(x, axis=axes) if xp.kind(x) == "b" else xp.sum(x, axis=axes, dtype=x.dtype)


def _sum_case(xp, params, metas):
    """Return the sum itself for dtypes that it keeps."""
    axes, kind = params["axes"], metas[0].dtype.kind
    if not axes or kind not in "fc":
        return None
    return (lambda x: x.sum(axes)) if xp.name == "PyTorch" else lambda x: xp.sum(x, axis=axes)


def _product(xp, x, *, axes):
    if not axes:
        return x
    if xp.kind(x) == "b":
        return xp.all(x, axis=axes)
    for axis in sorted(axes, reverse=True):
        x = xp.prod(x, axis=axis, dtype=x.dtype)
    return x


def _refuse_complex(xp, x, name):
    if xp.kind(x) == "c":
        advice = "take the extreme of real numbers, such as np.abs(x)"
        raise UnsupportedFunctionError(name, f"{xp.name} does not order complex numbers", advice)


def _extreme(name, of_bools, identity):
    def run(xp, x, *, axes, empty):
        if not axes:
            return x
        _refuse_complex(xp, x, name)
        if math.prod([x.shape[axis] for axis in axes]) == 0:
            if not empty:
                raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
            shape = [n for axis, n in enumerate(x.shape) if axis not in axes]
            return xp.filled(shape, np.asarray(identity(numpy_dtype(x))).item(), numpy_dtype(x))
        return getattr(xp, of_bools)(x, axis=axes) if xp.kind(x) == "b" else getattr(xp, name)(x, axis=axes)

    return run


def _first(name):
    def run(xp, x, *, axis):
        _refuse_complex(xp, x, name)
        return xp.convert(xp.first_true(x, axis, name), INT)

    return run


def _powers(xp, x, axes):
    """Return the finite maxima with 0 for others, the exponentials of elements less these, and their sums."""
    if math.prod([x.shape[axis] for axis in axes]) == 0:
        shape = tuple([1 if axis in axes else n for axis, n in enumerate(x.shape)])
        top = xp.zeros(shape, dtype=x.dtype, device=xp.device)
    else:
        top = xp.max(x, axis=axes, keepdims=True)
        top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    powers = xp.exp(x - top)
    return top, powers, xp.sum(powers, axis=axes, keepdims=True, dtype=x.dtype)


def _squeezed(x, axes):
    return x[tuple([0 if axis in axes else slice(None) for axis in range(x.ndim)])]


def _logsumexp(xp, x, *, axes):
    top, _, total = _powers(xp, x, axes)
    return _squeezed(xp.log(total) + top, axes)


def _softmax(xp, x, *, axes):
    if xp.name == "PyTorch" and len(axes) == 1:
        return xp.torch.softmax(x, axes[0])
    if math.prod(x.shape) == 0:
        return x
    powers = xp.exp(x - xp.max(x, axis=axes, keepdims=True))
    return powers / xp.sum(powers, axis=axes, keepdims=True, dtype=x.dtype)


def _safe_softmax(xp, x, *, axes):
    _, powers, total = _powers(xp, x, axes)
    return powers / xp.where(total == 0, xp.ones_like(total), total)


def _cumulative(run_of, identity):
    """Return the kernel of a cumulative op: `run_of(xp, x, axis)` gives running results."""

    def run(xp, x, *, axis, reverse, exclusive):
        if x.shape[axis] == 0:
            return x
        x = xp.flip(x, axis=(axis,)) if reverse else x
        out = run_of(xp, x, axis)
        if exclusive:
            ahead = (slice(None),) * axis
            first = xp.full_like(out[(*ahead, slice(0, 1), ...)], np.asarray(identity(numpy_dtype(x))).item())
            out = xp.concat((first, out[(*ahead, slice(0, x.shape[axis] - 1), ...)]), axis=axis)
        return xp.flip(out, axis=(axis,)) if reverse else out

    return run


def running(combine):
    """Return running results of any associative function of two arrays, by steps of 1, 2, 4 and so on."""

    def run(xp, x, axis):
        ahead, step = (slice(None),) * axis, 1
        while step < x.shape[axis]:
            later = combine(
                xp, x[(*ahead, slice(0, x.shape[axis] - step), ...)], x[(*ahead, slice(step, x.shape[axis]), ...)]
            )
            x = xp.concat((x[(*ahead, slice(0, step), ...)], later), axis=axis)
            step *= 2
        return x

    return run


def _running_sum(xp, x, axis):
    if xp.kind(x) == "b":
        return running(lambda xp, a, b: a | b)(xp, x, axis)
    return xp.cumulative_sum(x, axis=axis, dtype=x.dtype)


def _running_product(xp, x, axis):
    if xp.kind(x) == "b":
        return running(lambda xp, a, b: a & b)(xp, x, axis)
    return xp.cumulative_prod(x, axis=axis, dtype=x.dtype)


def _larger(xp, a, b):
    return a | b if xp.kind(a) == "b" else xp.maximum(a, b)


def _smaller(xp, a, b):
    return a & b if xp.kind(a) == "b" else xp.minimum(a, b)


def _recurrence(xp, a, b, goes_on=None, *, axis, reverse):
    """Compose steps s -> a s + b in pairs, then pairs of pairs: log2(n) passes over the axis."""
    n, ahead, step = b.shape[axis], (slice(None),) * axis, 1
    if n == 0:
        return b
    if xp.kind(a) == "b":
        a, goes_on = None, a if goes_on is None else a & goes_on
    a, b, goes_on = (v if v is None or not reverse else xp.flip(v, axis=(axis,)) for v in (a, b, goes_on))
    while step < n:
        early, late = (*ahead, slice(0, n - step), ...), (*ahead, slice(step, n), ...)
        behind = lambda x, new, first=(*ahead, slice(0, step), ...): xp.concat((x[first], new), axis=axis)
        added = b[early] if a is None else a[late] * b[early]
        if goes_on is not None:
            added = xp.where(goes_on[late], added, xp.zeros_like(added))
            goes_on = behind(goes_on, goes_on[late] & goes_on[early])
        a, b = None if a is None else behind(a, a[late] * a[early]), behind(b, b[late] + added)
        step *= 2
    zero = xp.zeros_like(b[(*ahead, slice(0, 1), ...)])
    out = xp.concat((zero, b[(*ahead, slice(0, n - 1), ...)]), axis=axis)
    return xp.flip(out, axis=(axis,)) if reverse else out


def _sum_to(xp, x, *, shape, axes):
    if tuple(x.shape) == tuple(shape):
        return x
    unchanged = {axis for axis, size in zip(axes, shape, strict=True) if size == x.shape[axis]}
    return xp.reshape(_sum(xp, x, axes=tuple([a for a in range(x.ndim) if a not in unchanged])), tuple(shape))


kernel(rd.reduce_sum_op, _sum, specialise=_sum_case, is_apart=True)  # without axes there is no such node
kernel(rd.reduce_prod_op, _product)
kernel(rd.reduce_max_op, _extreme("max", "any", least_value), is_apart=True)
kernel(rd.reduce_min_op, _extreme("min", "all", largest_value), is_apart=True)
kernel(rd.reduce_and_op, lambda xp, x, *, axes: xp.all(x, axis=axes) if axes else x)
kernel(rd.reduce_or_op, lambda xp, x, *, axes: xp.any(x, axis=axes) if axes else x)
kernel(rd.reduce_logsumexp_op, _logsumexp)
kernel(rd.argmax_op, _first("argmax"))
kernel(rd.argmin_op, _first("argmin"))
kernel(rd.softmax_op, _softmax)
kernel(rd.safe_softmax_op, _safe_softmax)
kernel(rd.cumsum_op, _cumulative(_running_sum, lambda dtype: 0))
kernel(rd.cumprod_op, _cumulative(_running_product, lambda dtype: 1))
kernel(rd.cummax_op, _cumulative(running(_larger), least_value))
kernel(rd.cummin_op, _cumulative(running(_smaller), largest_value))
kernel(rd.cumlogsumexp_op, _cumulative(running(lambda xp, a, b: xp.logaddexp(a, b)), lambda dtype: -math.inf))
kernel(rd.recurrence_op, _recurrence)
kernel(rd.sum_to_op, _sum_to)


# -- sorts


def sort_key(xp, x):
    """Return an array that is sorted as x, of a dtype that all libraries sort."""
    return xp.convert(x, _COUNT) if xp.kind(x) == "b" else x


def order_of(xp, x, axis, stable=True):
    """Return positions that sort an array; complex numbers by their imaginary parts, then by their real parts."""
    if xp.kind(x) != "c":
        return xp.convert(xp.argsort(sort_key(xp, x), axis=axis, stable=stable), INT)
    order = xp.convert(xp.argsort(xp.imag(x), axis=axis, stable=True), INT)
    again = xp.argsort(xp.take_along_axis(xp.real(x), order, axis=axis), axis=axis, stable=True)
    return xp.take_along_axis(order, xp.convert(again, INT), axis=axis)


def _sort(xp, x, *, axis):
    if xp.kind(x) == "c":
        return xp.take_along_axis(x, order_of(xp, x, axis), axis=axis)
    return xp.astype(xp.sort(sort_key(xp, x), axis=axis), x.dtype)


def _permute(xp, x, order, *, axis, inverse):
    return xp.take_along_axis(x, order_of(xp, order, axis) if inverse else order, axis=axis)


def _searchsorted(xp, row, values, *, side, batch):
    row, values = sort_key(xp, row), sort_key(xp, values)
    if batch == 0:
        return xp.searched(row, values, side)
    shape, rest = values.shape, values.shape[batch:]
    count, width = math.prod(shape[:batch]), math.prod(rest)
    rows, flat = xp.reshape(row, (count, row.shape[-1])), xp.reshape(values, (count, width))
    parts = [xp.searched(rows[i, :], flat[i, :], side) for i in range(count)]
    return xp.reshape(xp.stack(parts), shape) if parts else xp.filled(shape, 0, INT)


kernel(rd.sort_op, _sort)
kernel(rd.argsort_op, lambda xp, x, *, axis, stable: order_of(xp, x, axis, stable))
kernel(rd.permute_op, _permute)
kernel(rd.searchsorted_op, _searchsorted)
