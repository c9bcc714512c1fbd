"""Dataclasses whose methods are generated at the first instance.

The standard decorator compiles five functions for each class, 0.35 ms on average. A hundred classes would take half of
the import time of anyshape, and a program uses few of them.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

_GENERATED = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__match_args__")
_DESCRIBED = ("__dataclass_fields__", "__dataclass_params__")
_PENDING: dict[type, tuple[type, dict[str, bool]]] = {}  # by class: the class that is processed, and the options
_LOCK = threading.RLock()

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """Declare a dataclass as `dataclasses.dataclass` does, and generate its methods at the first instance."""

        def defer(body: type) -> type:
            kind = _with_slots(body, frozen) if slots else body
            _PENDING[kind] = body, {"frozen": frozen, "eq": eq}
            kind.__init__ = _generating_init(kind)
            if "__setstate__" not in vars(kind):
                kind.__setstate__ = _set_state
            return kind

        return defer if cls is None else defer(cls)


def _generating_init(kind: type) -> Any:
    """Return an `__init__` that generates the methods of a class, its successor among them, and calls that."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        generate(kind)
        vars(kind)["__init__"](self, *args, **kwargs)

    return init


def generate(kind: type) -> None:
    """Generate the methods of a declared class and of its bases, unless that is done."""
    with _LOCK:
        for base in reversed(kind.__mro__):
            pending = _PENDING.pop(base, None)
            if pending is not None:
                body, options = pending
                del base.__init__
                _generate(base, body, options)


def _generate(kind: type, body: type, options: dict[str, bool]) -> None:
    if body is kind and vars(kind).get("__setstate__") is _set_state:
        del kind.__setstate__  # type: ignore[attr-defined]
    processed: type = dataclasses.dataclass(**options)(body)
    for name in (*_GENERATED, *_DESCRIBED) if body is not kind else ():
        if name in vars(processed):
            type.__setattr__(kind, name, vars(processed)[name])


def _with_slots(body: type, frozen: bool) -> type:
    """Return the class with a slot for each of its fields; they hold the values, so defaults leave the class."""
    inherited = {name for base in body.__mro__[1:] for name in getattr(base, "__slots__", ())}
    fields = [name for name, kind in body.__annotations__.items() if not str(kind).startswith("ClassVar")]
    members = {k: v for k, v in vars(body).items() if k not in (*fields, "__dict__", "__weakref__")}
    members["__slots__"] = tuple([name for name in fields if name not in inherited])
    if frozen:
        members["__getstate__"] = _get_state
    kind = type(body)(body.__name__, body.__bases__, members)
    kind.__qualname__ = body.__qualname__
    return kind


def _get_state(self: Any) -> list[Any]:
    """Return the values of the fields, as a pickle of a class with slots holds them."""
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: Any) -> None:
    """Restore an unpickled instance, for which no `__init__` runs."""
    generate(type(self))
    if isinstance(state, tuple):  # the dict and the slots of a class with slots that is not frozen
        state = {**(state[0] or {}), **state[1]}
    if isinstance(state, list):
        state = {f.name: value for f, value in zip(dataclasses.fields(self), state, strict=True)}
    for name, value in state.items():
        object.__setattr__(self, name, value)
