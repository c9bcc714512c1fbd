"""Named tuples whose constructor is compiled at their first instance.

`typing.NamedTuple` compiles a constructor and every annotation when a class is declared, in 0.15 ms. Fifty such classes
took a tenth of the import time. A result type that users see is made by the standard one.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

_WIDE: Any = namedtuple("_WIDE", " ".join([f"field{i}" for i in range(16)]))  # type: ignore[misc]
_GETTERS = [vars(_WIDE)[f"field{i}"] for i in range(16)]  # each reads its position of any tuple, in C

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _Declaring(type):
        """Metaclass of `NamedTuple` alone: its subclasses are plain classes with getters and a constructor."""

        def __new__(mcs, name, bases, namespace):
            """Declare a named tuple with the fields that a class body annotates."""
            if tuple in bases:
                return super().__new__(mcs, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            if len(fields) > len(_GETTERS):
                raise TypeError(f"{name} has more than {len(_GETTERS)} fields")
            defaults = {field: namespace[field] for field in fields if field in namespace}
            namespace.update(zip(fields, _GETTERS, strict=False))
            namespace.update(__slots__=(), _fields=fields, __match_args__=fields, _field_defaults=defaults)
            namespace["__new__"] = _compiling
            return type(name, (_Record,), namespace)

    class NamedTuple(tuple, metaclass=_Declaring):
        """Base to declare a named tuple as `typing.NamedTuple` does."""

        __slots__ = ()


class _Record(tuple[Any, ...]):
    """Methods of every named tuple."""

    __slots__ = ()
    _fields: tuple[str, ...]
    _field_defaults: dict[str, Any]

    @classmethod
    def _make(cls, values: Any) -> Any:
        """Return an instance with the values of an iterable."""
        return cls(*values)

    def _replace(self, /, **changes: Any) -> Any:
        """Return a copy with other values in some fields."""
        return type(self)(**{**self._asdict(), **changes})

    def _asdict(self) -> dict[str, Any]:
        """Return the values by field."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        values = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
        return f"{type(self).__name__}({values})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _compiling(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compile the constructor of a class, which replaces this one, and call it."""
    declared = next(base for base in cls.__mro__ if "_fields" in vars(base))
    names = {"new": tuple.__new__, "__name__": declared.__module__}  # a search for the user's line passes over it
    values = "".join([f"{field}, " for field in declared._fields])
    constructor = eval(f"lambda cls_, {values}: new(cls_, ({values}))", names)
    constructor.__defaults__ = tuple(declared._field_defaults.values())
    constructor.__name__, constructor.__qualname__ = "__new__", f"{declared.__qualname__}.__new__"
    declared.__new__ = constructor
    return constructor(cls, *args, **kwargs)
