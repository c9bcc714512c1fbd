"""NumPy's functions that move elements, as compositions of movement ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.numpy.convert import asarray, axis_of, is_traced, shape_of
from anyshape.ops import movement as mv


def broadcast_to(array: Any, shape: Any) -> Any:
    """As `numpy.broadcast_to`; the shape may hold symbolic sizes."""
    if not is_traced(array, shape):
        return np.broadcast_to(array, shape)
    return mv.broadcast_to(asarray(array), shape_of(shape))


def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    """As `numpy.reshape`, in C order; sizes may be symbolic and one may be -1."""
    if not is_traced(a, shape):
        return np.reshape(a, shape, order=order)  # type: ignore[arg-type]
    return mv.reshape(asarray(a), shape_of(shape))


def transpose(a: Any, axes: Any = None) -> Any:
    """As `numpy.transpose`."""
    if not is_traced(a):
        return np.transpose(a, axes)
    x = asarray(a)
    rank = x.meta.rank
    return mv.transpose(x, None if axes is None else [axis_of(i, rank, "transpose") for i in axes])
