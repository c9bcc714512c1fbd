"""Reductions and repetitions whose inner loop would have a few steps: along a short last axis, or before one.

NumPy pays about 10 ns for each inner loop, as long as ten additions. Column by column the loops are long. Elements are
combined in NumPy's order, so bits are the same.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.shapes.array_type import TensorMeta

LEAST = 512  # elements from which on columns take less time
LONGEST = 12  # last axis that is taken column by column
BLOCK = 1 << 17  # bytes that stay in the cache while one column after the other is read
_PAIRWISE = 8  # from this length on NumPy adds up in eight sums


def rows(ufunc: np.ufunc, x: np.ndarray, *, keepdims: bool = False) -> np.ndarray:
    """Reduce along the last axis, where it is short and `handles_rows` admits it; like `ufunc.reduce` elsewhere."""
    if not is_short(x):
        return ufunc.reduce(x, axis=-1, dtype=x.dtype, keepdims=keepdims)
    out = np.empty(x.shape[:-1], x.dtype)
    _by_blocks(ufunc, x.reshape(-1, x.shape[-1]), out.reshape(-1))
    return out[..., None] if keepdims else out


def _by_blocks(ufunc: np.ufunc, x: np.ndarray, out: np.ndarray) -> None:
    step = max(1, len(x) * BLOCK // x.nbytes)
    by_pairs = ufunc is np.add and x.dtype.kind == "f" and x.shape[-1] >= _PAIRWISE
    for start in range(0, len(x), step):
        part, into = x[start : start + step], out[start : start + step]
        columns = [part[..., k] for k in range(x.shape[-1])]
        if by_pairs:
            columns[:_PAIRWISE] = [_pairs(columns[:_PAIRWISE])]
        _in_turn(ufunc, columns, into)


def _pairs(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Add up pairs, and pairs of pairs."""
    while len(parts) > 1:
        parts = [np.add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _in_turn(ufunc: np.ufunc, columns: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Combine columns from the first on."""
    if len(columns) == 1:
        out[...] = columns[0]
        return
    ufunc(columns[0], columns[1], out=out)
    for column in columns[2:]:
        ufunc(out, column, out=out)


def before_last(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Sum along axes that end before a short last one, where `handles_before_last` admits it.

    Where a sum is not finite, NumPy adds again: einsum warns of nothing.
    """
    if is_short(x):
        numbers = list(range(x.ndim))
        out: np.ndarray = np.einsum(x, numbers, [n for n in numbers if n not in axes])
        if x.dtype.kind in "iu" or np.isfinite(out).all():
            return out
    return np.add.reduce(x, axis=axes, dtype=x.dtype)


def is_short(x: np.ndarray) -> bool:
    """Return whether the last axis is short, and columns are long enough to take less time than rows.

    NumPy's order of additions follows the memory, so arrays in other orders are left to it.
    """
    return x.ndim > 1 and 2 <= x.shape[-1] <= LONGEST and x.size >= LEAST and x.flags.c_contiguous


def may_be_short(meta: TensorMeta) -> bool:
    """Return whether arrays of this metadata may have a short last axis."""
    last: Any = meta.sizes[-1] if meta.rank and meta.sizes is not None else None
    return meta.rank > 1 and (not isinstance(last, int) or 2 <= last <= LONGEST)


def handles_rows(rank: int, dtype: np.dtype, axes: tuple[int, ...]) -> bool:
    """Return whether `rows` reduces along these axes: not in half precision, which NumPy adds up as single."""
    return axes == (rank - 1,) and dtype.kind in "fiu" and dtype != np.float16


def handles_before_last(rank: int, dtype: np.dtype, axes: tuple[int, ...]) -> bool:
    """Return whether `before_last` sums along these axes."""
    return axes == tuple(range(rank - 1 - len(axes), rank - 1)) and dtype.kind in "fiu" and dtype != np.float16


# -- elementwise, where an operand is repeated along the last axis or along the axis before it

MOST_COLUMNS = 3  # where an operand is repeated, more columns take as long as rows


def by_columns(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    """Return a binary ufunc of arrays of one dtype that computes column by column where the last axis is very short."""

    def run(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        shape = np.broadcast_shapes(x.shape, y.shape) if out is None else out.shape
        count, in_order = shape[-1], x.flags.c_contiguous and y.flags.c_contiguous
        if not 2 <= count <= MOST_COLUMNS or math.prod(shape) < 4 * LEAST or not in_order:
            return ufunc(x, y, out)
        result = np.empty(shape, x.dtype) if out is None else out
        for k in range(count):
            ufunc(_column(x, k), _column(y, k), out=result[..., k])
        return result

    return run


def _column(x: np.ndarray, k: int) -> np.ndarray:
    return x[..., k if x.shape[-1] > 1 else 0]


def is_repeated(metas: Sequence[TensorMeta]) -> bool:
    """Return whether one of two operands is repeated along the last axis or the one before, so that runs are short."""
    shapes = [meta.sizes or () for meta in metas]
    if len(shapes) != 2 or () in shapes or max(map(len, shapes)) < 2:
        return False
    (front, last), (other_front, other_last) = [(1, 1, *sizes)[-2:] for sizes in shapes]
    if (front == 1) == (other_front == 1) and (last == 1) == (other_last == 1):
        return False
    return all(_may_be_few(size) for size in (last, other_last)) and not last == other_last == 1


def _may_be_few(size) -> bool:
    return not isinstance(size, int) or size <= MOST_COLUMNS
