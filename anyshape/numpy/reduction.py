"""NumPy's reductions, as compositions of reduction ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.numpy.convert import asarray, axes_of, is_traced, result_type, sizes
from anyshape.ops import reduction as rd
from anyshape.ops.movement import reshape


def keep(reduced: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The reduced axes put back with size 1, when asked."""
    if not keepdims:
        return reduced
    return reshape(reduced, tuple([1 if i in axes else s for i, s in enumerate(sizes(x))]))


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """As `numpy.sum`."""
    if not is_traced(a):
        return np.sum(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    source = result_type(a)
    target = dtype if dtype is not None else np.add.reduce(np.empty(0, source)).dtype
    x = asarray(a, target)
    axes = axes_of(axis, x.meta.rank, "sum")
    return keep(rd.reduce_sum(x, axes), x, axes, keepdims)
