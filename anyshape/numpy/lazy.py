"""Namespace of traced arrays for libraries that take the arrays of any namespace of the Array API standard.

Its functions give traced arrays, also of no traced operand: such libraries ask of each array which namespace it is of.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.concrete import ConcreteArray
from anyshape.numpy.operands.promotion import as_traced
from anyshape.support.packages import load
from anyshape.support.true_types import has_type


def _is_concrete(x: Any) -> bool:
    return type(x) in (np.ndarray, ConcreteArray) or has_type(x, np.generic)


def _lifted(result: Any) -> Any:
    """Return a result with constants of the program in place of arrays of numbers, also in tuples and lists."""
    if _is_concrete(result):
        traced: Any = as_traced(result)
        return traced.copy() if issubclass(type(traced), Traced) else result
    if isinstance(result, (list, tuple)) and any(map(_is_concrete, result)):
        members = map(_lifted, result)
        return type(result)(*members) if hasattr(result, "_fields") else type(result)(members)
    return result


def _ordered(function: Any) -> Any:
    """Return a function that sorts, with the options of the standard."""

    def sorting(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        if not descending:
            return function(x, axis=axis, stable=stable)
        flip = functools.partial(load("anyshape.numpy").flip, axis=axis)
        result = flip(function(flip(x), axis=axis, stable=stable))
        return result if function.__name__ == "sort" else x.shape[axis] - 1 - result

    return functools.wraps(function)(sorting)


def _apart(function: Any) -> Any:
    """Return a function whose results share no memory unless that is asked for: the standard leaves it open."""

    def reshaping(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
        return function(x, shape, copy=True if copy is None else copy)

    return functools.wraps(function)(reshaping)


_OPTIONS = {"sort": _ordered, "argsort": _ordered, "reshape": _apart}
_MODULES = {"special": "anyshape.scipy.special"}  # which SciPy asks a namespace for


class Namespace(types.ModuleType):
    """Module with the functions of another one, which give traced arrays here."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        member = load(_MODULES[name]) if name in _MODULES else getattr(self._module, name)
        if isinstance(member, types.ModuleType):
            member = Namespace(member)
        elif callable(member) and not isinstance(member, type):
            member = self._of_traced(_OPTIONS.get(name, lambda function: function)(member))
        self.__dict__[name] = member
        return member

    def _of_traced(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _lifted(function(*args, **kwargs))

        return call

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __reduce__(self) -> tuple[Any, ...]:
        return _namespace, (self._module.__name__,)


@functools.cache
def _namespace(name: str) -> Namespace:
    return Namespace(load(name))


def namespace() -> Namespace:
    """Return the namespace of traced arrays."""
    return _namespace("anyshape.numpy")
