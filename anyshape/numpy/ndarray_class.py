"""Class `ndarray` as traced functions see it: to NumPy's own class it adds arrays that hold traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.builder import active
from anyshape.numpy.creation import empty


class _LikeNumPy(type):
    """Class of a class that has the instances and the subclasses of NumPy's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        # As users ask: traced arrays are instances too.
        return type.__instancecheck__(np.ndarray, instance) if cls is ndarray else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, np.ndarray) if cls is ndarray else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is ndarray and other is np.ndarray)

    def __hash__(cls) -> int:
        return hash(np.ndarray) if cls is ndarray else super().__hash__()


class ndarray(np.ndarray, metaclass=_LikeNumPy):
    """NumPy's array. Its constructor makes arrays that can be assigned to, as `empty` does."""

    def __new__(
        cls, shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None
    ) -> Any:
        """Return an array of a shape; one over a buffer, or with strides, is NumPy's own."""
        if cls is not ndarray:
            return super().__new__(cls, shape, dtype, buffer, offset, strides, order)
        if buffer is not None or strides is not None:
            return np.ndarray(shape, dtype, buffer, offset, strides, order)
        return empty(shape, dtype, order or "C")


def ndarray_class() -> type:
    """Return the class within a traced function, and NumPy's own elsewhere."""
    return np.ndarray if active() is None else ndarray
