"""Serve the public names of NumPy that have no counterpart here: types, constants, modules and functions.

What takes no traced array is NumPy's own. A function that NumPy would hand a traced array, also in a list, is served by
its counterpart, or refused by name.

Class `ndarray` as traced functions see it: to NumPy's own class it adds arrays that hold traced values.
"""

import functools
import types
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import active
from anyshape.numpy import testing
from anyshape.numpy.arrays.counterparts import call_counterpart
from anyshape.numpy.creation import empty
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support.packages import further, other_names

__all__ = ["named", "ndarray_class", "public_names"]

_READ_MEMORY = ("frombuffer", "from_dlpack")  # without NumPy's protocol
_STANDARD = ("__version__", "__array_api_version__", "__array_namespace_info__")  # names of the Array API standard


def public_names() -> set[str]:
    """Return the names that NumPy shows."""
    return {name for name in dir(np) if not name.startswith("_")}


@functools.cache
def named(name: str) -> Any:
    """Return what a name of NumPy stands for; raise AttributeError for names that it does not have."""
    if (name.startswith("_") and name not in _STANDARD) or not hasattr(np, name):
        missing = AttributeError(f"module 'anyshape.numpy' has no attribute {name!r}", name=name)
        instead = other_names.instead_of_function(name)
        if instead:
            missing.add_note(f"  {instead}")
        raise missing
    if name == "testing":
        return testing
    if name in further.NAMESPACES:
        return further.NAMESPACES[name]
    if name in further.OBJECTS:
        return further.OBJECTS[name]
    member = getattr(np, name)
    takes_arrays = hasattr(member, "_implementation") or name in _READ_MEMORY
    return _served(member) if takes_arrays or _has_counterpart(member) else member


def _has_counterpart(member) -> bool:
    """Return whether a function of NumPy has a counterpart for symbolic sizes, though NumPy asks no operand for one."""
    return isinstance(member, types.FunctionType) and member in further.FUNCTIONS


def _served(function):
    """Return a function of NumPy that looks for traced arrays in lists too, where NumPy's protocol does not look."""

    @functools.wraps(function)
    def served(*args, **kwargs):
        if is_traced(*args, *kwargs.values()):
            return call_counterpart(function, args, kwargs)
        return function(*args, **kwargs)

    served.__module__ = "anyshape.numpy"
    return served


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
