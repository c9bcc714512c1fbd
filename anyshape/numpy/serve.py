"""Serve the public names of a module of SciPy that have no counterpart here.

What takes no traced array is SciPy's own. A function that gets a traced array is refused by its name.
"""

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.arrays.counterparts import COMPOSE_ADVICE
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support.packages import attributes

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_WRAPPED = ("uarray", "functools")  # homes of the types of functions that choose a backend or remember results


class Module:
    """Public names of a module of SciPy or NumPy that have no counterpart, each loaded at its first use."""

    package: Any
    name: str

    def __init__(self, package: Any, name: str) -> None:
        self.package, self.name = package, name
        self._served: dict[str, Any] = {}

    def named(self, name: str) -> Any:
        """Return what a name of the module stands for; raise AttributeError for names that it does not have."""
        if name not in self._served:
            self._served[name] = self.served_by(name)
        return self._served[name]

    def served_by(self, name: str) -> Any:
        """Return what a name stands for, before it is remembered."""
        missing = AttributeError(f"module 'anyshape.{self.name}' has no attribute {name!r}", name=name)
        if name.startswith("_"):
            raise missing
        member = getattr(self.package, name, missing)
        if member is missing:
            raise missing
        return guarded(member, f"{self.name}.{name}") if _is_function(member) else member

    def public_names(self) -> list[str]:
        """Return the names that the other library's module shows."""
        return sorted(name for name in attributes(self.package) if not name.startswith("_"))


def _is_function(member) -> bool:
    """Return whether a member is a function of SciPy, and neither a ufunc nor an object that has methods."""
    return isinstance(member, _FUNCTIONS) or (callable(member) and type(member).__module__ in _WRAPPED)


def refuse(function: str) -> UnsupportedFunctionError:
    """Return the error for a function of SciPy that was called on traced arrays."""
    return UnsupportedFunctionError(function, "has no counterpart on traced arrays", COMPOSE_ADVICE, user_line())


def guarded(function: Any, name: str) -> Any:
    """Return a function of SciPy that refuses traced arrays, in lists too."""

    @functools.wraps(function)
    def served(*args, **kwargs):
        if is_traced(*args, *kwargs.values()):
            raise refuse(name)
        return function(*args, **kwargs)

    return served


def falls_through(package: Any) -> Callable[[F], F]:
    """Return a decorator: calls without traced arguments go to the function of this name in a package."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def served(*args, **kwargs):
            if is_traced(*args, *kwargs.values()):
                return function(*args, **kwargs)
            return getattr(package, function.__name__)(*args, **kwargs)

        return cast("F", served)

    return decorate
