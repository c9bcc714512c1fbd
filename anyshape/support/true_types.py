"""Ask for the class of a value itself.

`isinstance` answers for a traced value as for the array or the number that it stands for, since users ask it so. The
library has to tell them apart: it asks `has_type`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import TypeIs

T = TypeVar("T")
U = TypeVar("U")
# First parts of the modules of arrays that programs run on beside NumPy's. A test costs a call with NumPy nothing.
LIBRARIES = ("torch", "jax", "jaxlib", "cupy", "array_api_strict")
STANDS_FOR: dict[int, type] = {}  # classes that values which are known stand for, by the id of their own class


@overload
def has_type(x: object, kinds: type[T]) -> TypeIs[T]: ...
@overload
def has_type(x: object, kinds: tuple[type[T], type[U]]) -> TypeIs[T | U]: ...
@overload
def has_type(x: object, kinds: tuple[type, ...]) -> TypeGuard[Any]: ...
def has_type(x: object, kinds: Any) -> bool:
    """Return whether the value itself is of a class; a traced value is of no class that it stands for.

    An array that a trace made, and that depends on no traced value, is an ndarray.
    """
    kind = type(x)
    if issubclass(kind, kinds):
        return True
    stands_for = STANDS_FOR.get(id(kind))  # a class of a user may refuse to be hashed
    return stands_for is not None and issubclass(stands_for, kinds)


def library_name(x: object) -> str:
    """Return the first part of the module of the class of an object, or of the one that its class descends from."""
    kind = type(x)
    name = kind.__module__.partition(".")[0]
    return name if name in LIBRARIES else kind.__mro__[-2:][0].__module__.partition(".")[0]


def of_library(x: object) -> bool:
    """Return whether an object may be an array of another library than NumPy, or of a subclass of its class."""
    return library_name(x) in LIBRARIES
