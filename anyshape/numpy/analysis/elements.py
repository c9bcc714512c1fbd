"""Define functions that call a function of Python for each element, or take elements from Python: `np.vectorize`.

Python runs for each element: so a program is made for each shape, and the function may decide on values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced, active
from anyshape.numpy import creation, joining, movement
from anyshape.numpy.operands.promotion import as_traced, asarray, dtype_of, is_traced
from anyshape.ops.elementwise import convert
from anyshape.support.true_types import has_type

_PYTHON_DTYPES = {"b": np.dtype(bool), "i": np.dtype(int), "u": np.dtype(int), "f": np.dtype(float)}


class vectorize(np.vectorize):
    """Function of arrays that calls a function of Python scalars for each element, as `numpy.vectorize`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results for the elements of arrays that broadcast."""
        is_decorator = not callable(getattr(self, "pyfunc", None)) or self.signature is not None
        if is_decorator or active() is None:
            return super().__call__(*args, **kwargs)
        names = [name for name in kwargs if name not in self.excluded]
        positions = [i for i in range(len(args)) if i not in self.excluded]
        arrays = [asarray(args[i]) for i in positions] + [asarray(kwargs[name]) for name in names]

        def call(*elements: Any) -> Any:
            values, own = [*args], dict(zip(names, elements[len(positions) :], strict=True))
            for i, element in zip(positions, elements, strict=False):
                values[i] = element
            return self.pyfunc(*values, **{**kwargs, **own})

        return _for_each(call, arrays, self.otypes)


def _for_each(call: Callable[..., Any], arrays: Sequence[Any], otypes: str | None) -> Any:
    """Return the results of a call for each element of arrays, joined to one array for each result."""
    broadcast = movement.broadcast_arrays(*arrays)
    counts = [int(n) for n in broadcast[0].shape] if broadcast else []
    points = [*zip(*[_elements(a, counts) for a in broadcast], strict=True)]
    dtypes = [np.dtype(t) for t in otypes] if otypes else _dtypes(call, points)
    rows = [call(*map(_scalar, point)) for point in points]
    if len(dtypes) == 1:
        return _joined(rows, dtypes[0], counts)
    return tuple([_joined([row[i] for row in rows], d, counts) for i, d in enumerate(dtypes)])


def _dtypes(call: Callable[..., Any], points: Sequence[Any]) -> list[np.dtype]:
    """Return the dtypes of the results for the first elements, which are scalars of NumPy here alone, as in NumPy."""
    if not points:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    first = call(*points[0])
    return [dtype_of(asarray(result)) for result in (first if isinstance(first, tuple) else (first,))]


def _elements(array: Any, counts: Sequence[int]) -> list[Any]:
    return [array[index] for index in np.ndindex(*counts)]


def _scalar(element: Any) -> Any:
    """Return an element as the scalar of Python that NumPy would pass."""
    if not isinstance(element, Traced):
        return element.item() if has_type(element, (np.generic, np.ndarray)) else element
    return convert(element, _PYTHON_DTYPES.get(element.dtype.kind, np.dtype(complex))).as_weak()


def _joined(column: Sequence[Any], dtype: np.dtype, counts: Sequence[int]) -> Any:
    """Return results of the elements as an array of a dtype."""
    if not is_traced(*column):
        return np.array(column, dtype).reshape(counts)
    values = joining.stack([convert(as_traced(v), dtype) for v in column])
    return movement.reshape(values, tuple(counts)).as_ndarray()


def fromiter(iter: Iterable[Any], dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    """Return a vector of the items of an iterable, as `numpy.fromiter`."""
    if active() is None or like is not None:
        return np.fromiter(iter, dtype, count, like=like)
    count = int(count)
    items = [*itertools.islice(iter, count if count >= 0 else None)]
    if not is_traced(*items):
        return np.fromiter(items, dtype, count)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return creation.array(items, np.dtype(dtype))


def common_type(*arrays: Any) -> type:
    """Return the inexact type of scalars that holds the elements of all arrays, as `numpy.common_type`."""
    return np.common_type(*[np.empty(0, a.dtype) for a in arrays])


OBJECTS: dict[str, Any] = {"vectorize": vectorize, "fromiter": fromiter}
