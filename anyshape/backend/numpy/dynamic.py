"""Kernels of ops with run-time sizes. They check the values that become sizes.

Traits of ops whose results have sizes or positions that depend on data.
"""

import math

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.backend.numpy.control import stack_examples
from anyshape.errors import CheckError, NegativeSizeError
from anyshape.ops import dynamic as dy
from anyshape.ops.core.apply import kernel

_NOTHING = np.zeros(1, bool)
_ADVICE_OF_TOKENS = (
    "call the function for each example, or read parts of one length: x[k:k + 2] may start at another k in each"
)


def _nonzero(x):
    return x.nonzero() if x.ndim > 1 else x.nonzero()[0]


def size_token(x, *, limit, rounds):
    size = _rounded(x) if rounds else int(x)
    if limit is not None:
        size = min(max(size, 0), limit)
    elif size < 0:
        raise NegativeSizeError(size)
    return np.ndarray((size,), bool, _NOTHING, strides=(0,))


def _rounded(x):
    """Round half to even; infinities become sizes beyond every limit."""
    value = float(x)
    if math.isnan(value):
        raise CheckError("size: a size cannot be NaN", "nan")
    return round(value) if math.isfinite(value) else (dy.LARGEST if value > 0 else -1)


def _repeated(counts):
    if counts.size and int(counts.min()) < 0:
        raise CheckError("repeat: a count cannot be negative", str(counts.min()))
    if counts.sum(dtype=np.float64) >= dy.LARGEST:  # np.repeat does not check the sum of the counts
        raise CheckError("repeat: the sum of the counts is too large", str(counts.sum(dtype=np.float64)))
    return np.repeat(np.arange(counts.size), counts.astype(np.int64, copy=False))


def _unique(x, *, axis, equal_nan):
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": equal_nan}
    _, first_positions, kinds, counts = np.unique(x, axis=axis if x.ndim > 1 else None, **options)
    return first_positions, kinds.reshape(x.shape[axis]), counts


def _each(name, run):
    """Return the kernel that runs another one for each example."""

    def run_each(x, *, batch, **params):
        shape, rest = x.shape[:batch], x.shape[batch:]
        count = math.prod(shape)
        rows = x.reshape(count, *rest) if count else np.zeros((1, *rest), x.dtype)
        results = [run(row, **params) for row in rows]
        many = isinstance(results[0], tuple)
        results = results if many else [(result,) for result in results]
        stacked = stack_examples(name, results, shape or (1,)) if count else _none(results[0], shape)
        return tuple(stacked) if many else stacked[0]

    return run_each


def _none(result, shape):
    """Return the results of no examples."""
    return [np.empty((*shape, *x.shape), x.dtype) for x in result]


def _size_token_each(x, *, batch, limit, rounds):
    """Return the token of the first example, whose size the others share."""
    tokens = [(size_token(size, limit=limit, rounds=rounds),) for size in x.reshape(-1)]
    sizes = [token.shape for (token,) in tokens]
    if len({*sizes}) > 1:
        stack_examples("size_token_each", tokens, x.shape, _ADVICE_OF_TOKENS)
    return tokens[0][0] if tokens else np.zeros(0, bool)


def _window(shape, starts, sizes):
    """Return the key of the window; a negative start counts from the end, and the window is moved into the array."""
    parts = []
    for whole, start, size in zip(shape, starts, sizes, strict=True):
        first = int(start)
        first = min(max(first + whole if first < 0 else first, 0), whole - size)
        parts.append(slice(first, first + size))
    return (*parts, ...)


def _dynamic_slice(x, *starts, sizes):
    return x[_window(x.shape, starts, sizes)]


def _dynamic_update_slice(x, update, *starts):
    out = np.array(x)
    out[_window(x.shape, starts, update.shape)] = update
    return out


kernel(dy.nonzero_op, _nonzero)


def _inline_size_token(site):
    """Make the token at once for an integer in 0..limit."""
    if site.params["rounds"]:
        return None
    (x,), size, limit = site.operands, f"{site.target}_n", site.params["limit"]
    limit = "None" if limit is None else site.text(limit)
    test = f"if {size} >= 0:" if limit == "None" else f"if 0 <= {size} <= {limit}:"
    token = f"{site.bind(np.ndarray)}(({size},), {site.bind(np.dtype(bool))}, {site.bind(_NOTHING)}, 0, (0,))"
    otherwise = f"{site.bind(size_token)}({x}, limit={limit}, rounds=False)"
    return [f"{size} = int({x})", f"{test} {site.target} = {token}", f"else: {site.target} = {otherwise}"]


kernel(dy.size_token_op, size_token, inline=_inline_size_token)
kernel(dy.repeated_op, _repeated)
kernel(dy.unique_op, _unique)
for _op, _run in ((dy.nonzero_op, _nonzero), (dy.repeated_op, _repeated), (dy.unique_op, _unique)):
    kernel(dy.EACH[_op], _each(dy.EACH[_op].name, _run))
kernel(dy.EACH[dy.size_token_op], _size_token_each)
kernel(dy.dynamic_slice_op, _dynamic_slice)
kernel(dy.dynamic_update_slice_op, _dynamic_update_slice)


declare(OPAQUE, dy.nonzero_op, dy.size_token_op, dy.repeated_op, dy.unique_op, dy.dynamic_update_slice_op)
declare(OPAQUE, *dy.EACH.values())
declare(OPAQUE._replace(alias=Alias.VIEW), dy.dynamic_slice_op)
