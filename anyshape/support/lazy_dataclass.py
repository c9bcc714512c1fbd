"""Dataclasses whose methods are generated at the first instance.

The standard decorator compiles five functions for each class, 0.35 ms on average. A hundred classes would take half of
the import time of anyshape, and a program uses few of them.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

_COPIED = ("__repr__", "__eq__", "__hash__", "__match_args__", "__dataclass_fields__", "__dataclass_params__")
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
            if base in _PENDING:
                _generate(base, *_PENDING[base])
                del _PENDING[base]


def _generate(kind: type, body: type, options: dict[str, bool]) -> None:
    """Copy the methods of a standard dataclass to a class, `__init__` last: until then other threads wait for it."""
    members = {k: v for k, v in vars(body).items() if k not in ("__init__", "__setstate__", "__dict__", "__weakref__")}
    model: type = dataclasses.dataclass(**options)(type(kind)(kind.__name__, kind.__bases__, members))
    names = [f.name for f in dataclasses.fields(model)]
    for name in names if body is kind else ():  # defaults
        _copy(name, model, kind)
    for name in _COPIED:
        if name in vars(model):
            _copy(name, model, kind)
    if options["frozen"]:
        kind.__setattr__, kind.__delattr__ = _frozen(kind, frozenset(names))  # type: ignore[method-assign]
    if body is kind and vars(kind).get("__setstate__") is _set_state:
        type.__delattr__(kind, "__setstate__")
    _copy("__init__", model, kind)


def _copy(name: str, model: type, kind: type) -> None:
    """Make an attribute of a class the same as in the model."""
    if name in vars(model):
        type.__setattr__(kind, name, vars(model)[name])
    elif name in vars(kind):
        type.__delattr__(kind, name)


def _frozen(kind: type, names: frozenset[str]) -> tuple[Any, Any]:
    """Return `__setattr__` and `__delattr__` of a frozen class."""

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)  # type: ignore[arg-type]

    return set_attribute, delete_attribute


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
