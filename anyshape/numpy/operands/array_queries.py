"""NumPy's questions about arrays that need no values: ndim, shape, size, result_type and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.numpy.operands import promotion as convert
from anyshape.numpy.operands.promotion import axis_of, is_traced


def ndim(a: Any) -> int:
    """As `numpy.ndim`."""
    return convert.asarray(a).ndim if is_traced(a) else np.ndim(a)


def shape(a: Any) -> tuple[Any, ...]:
    """As `numpy.shape`; sizes that are not fixed are symbolic."""
    return convert.asarray(a).shape if is_traced(a) else np.shape(a)


def size(a: Any, axis: int | None = None) -> Any:
    """As `numpy.size`."""
    if not is_traced(a):
        return np.size(a, axis)
    x = convert.asarray(a)
    return x.size if axis is None else x.shape[axis_of(axis, x.ndim, "size")]


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """As `numpy.result_type`; what stands for a Python scalar is weak."""
    if not is_traced(*arrays_and_dtypes):
        return np.result_type(*arrays_and_dtypes)
    return convert.result_type(*arrays_and_dtypes)
