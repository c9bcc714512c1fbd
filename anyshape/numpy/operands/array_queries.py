"""Define NumPy's queries about arrays that need no values: ndim, shape, size and result_type."""

import math
from typing import Any

import numpy as np

from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.promotion import axes_of, is_traced
from anyshape.support.true_types import has_type


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return promotion.asarray(a).ndim if is_traced(a) else np.ndim(a)


def shape(a: Any) -> tuple[Any, ...]:
    """Return the shape; sizes that are not fixed are symbolic."""
    return promotion.asarray(a).shape if is_traced(a) else np.shape(a)


def size(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, of all axes or of some; it is symbolic where sizes are not fixed."""
    if not is_traced(a):
        return np.size(a, axis)
    x = promotion.asarray(a)
    if axis is None:
        return x.size
    return math.prod([x.shape[a] for a in axes_of(axis, x.ndim, "size")])


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Return the dtype to which arrays, sizes and dtypes promote.

    Traced Python scalars and sizes are weak, as Python scalars are.
    """
    if not is_traced(*arrays_and_dtypes) or any(isinstance(x, (tuple, list)) for x in arrays_and_dtypes):
        return np.result_type(*arrays_and_dtypes)
    return promotion.result_type(*[np.dtype(x) if has_type(x, str) else x for x in arrays_and_dtypes])
