"""Define shapes for users: tuples that may hold symbolic sizes and that NumPy can reduce."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.sizes.size_operands import as_size
from anyshape.numpy.sizes.symdim import INTEGER_UFUNCS, SymDim, as_numpy_operands, symdim
from anyshape.ops.elementwise import convert

_WIDE = np.dtype(np.int64)


def is_shape(x: Any, axis: Any = None, *options: Any) -> bool:
    """Return whether x is a list of ints and sizes to be reduced along its one axis, without further options."""
    sizes = isinstance(x, (list, tuple)) and len(x) > 0 and all(as_size(s) is not None for s in x)
    return sizes and (axis is None or axis in (0, -1)) and all(o is None for o in options)


def reduce_sizes(ufunc: np.ufunc, sizes: Sequence[Any]) -> Any:
    """Return the sum, product, maximum or minimum of a list of sizes, as a NumPy integer."""
    return functools.reduce(INTEGER_UFUNCS[ufunc], map(_wide, sizes))


def _wide(x):
    """Return a size as NumPy takes it into an array."""
    return as_numpy_operands([x])[0] if isinstance(x, SymDim) else _WIDE.type(x)


class Sizes(tuple[Any, ...]):
    """Shape that has symbolic sizes.

    NumPy's sum, prod, max and min of it call the methods of these names. They give a size, typed as the NumPy integer
    that NumPy makes of ints, and ask for no value.
    """

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the sum of the sizes, as `numpy.sum` would type it."""
        return self._reduce(np.add, np.sum, {"axis": axis, "dtype": dtype, "out": out, **options})

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the product of the sizes, as `numpy.prod` would type it."""
        return self._reduce(np.multiply, np.prod, {"axis": axis, "dtype": dtype, "out": out, **options})

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the largest of the sizes, as `numpy.max` would type it."""
        return self._reduce(np.maximum, np.max, {"axis": axis, "out": out, **options})

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the smallest of the sizes, as `numpy.min` would type it."""
        return self._reduce(np.minimum, np.min, {"axis": axis, "out": out, **options})

    def _reduce(self, ufunc: np.ufunc, function: Callable[..., Any], options: dict[str, Any]):
        stated = {name: value for name, value in options.items() if value is not None}
        kind = np.dtype(stated.get("dtype", _WIDE))
        if not (stated.keys() <= {"axis", "dtype"} and is_shape(self, options["axis"]) and kind.kind in "iufc"):
            return function(tuple(self), **options)
        if not isinstance(total := reduce_sizes(ufunc, self), SymDim):
            return kind.type(total)
        return SymDim(total.expr, total.scope, kind) if kind.kind in "iu" else convert(total.as_array(), kind)

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        entry = super().__getitem__(key)
        return type(self)(entry) if isinstance(key, slice) else entry

    def __add__(self, other: Any) -> Any:
        return type(self)([*self, *other]) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return type(self)([*other, *self]) if isinstance(other, tuple) else NotImplemented


def as_shape(sizes: Sequence[Size], scope: Scope) -> tuple[Any, ...]:
    """Return a shape for users."""
    entries = [symdim(s, scope) for s in sizes]
    return Sizes(entries) if any(isinstance(s, SymDim) for s in entries) else tuple(entries)
