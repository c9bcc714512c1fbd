"""Dataclasses whose methods and fields are made at their first use.

The standard decorator compiles five functions for each class, one by one, in 0.3 to 0.7 ms. A hundred classes would
take half of the import time of anyshape, and the first program of a process uses a third of them. Here a class notes
what it declares. Each method is compiled at its first call. The standard decorator makes the fields when
`dataclasses.fields` or its like ask for them.

Named tuples whose constructor is compiled at their first instance.

`typing.NamedTuple` compiles a constructor and every annotation when a class is declared, in 0.15 ms. Fifty such classes
took a tenth of the import time. A result type that users see is made by the standard one.
"""

import dataclasses
import functools
import types
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from anyshape.support.fork_lock import Lock

_LOCK = Lock()

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def replace(instance, /, **changes):
        """Return a copy of an instance of such a class with other values in some fields."""
        return instance.__replace__(**changes)

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """Declare a dataclass as `dataclasses.dataclass` does, and make its methods and fields at their first use."""

        def declare(body: type) -> type:
            declaration = _Declaration(body, frozen)
            generated = _attributes(declaration, eq)
            if slots:
                return declaration.remake(generated)
            for name, value in declaration.own.items():
                if isinstance(value, dataclasses.Field):
                    _show_default(body, name, value.default)
            for name, value in generated.items():
                type.__setattr__(body, name, value)
            return body

        return declare if cls is None else declare(cls)


class _Declaration:
    """Fields that a class and its bases declare, by name, with their defaults.

    Classes hold it under the name that the standard library reads fields from.
    """

    def __init__(self, body: type, frozen: bool) -> None:
        self.kind, self.frozen = body, frozen
        self.pending: set[str] = set()  # methods that are not compiled yet
        self.standard: dict[str, dataclasses.Field[Any]] | None = None
        values = vars(body)
        self.own = {
            name: values.get(name, dataclasses.MISSING)
            for name, annotation in values.get("__annotations__", {}).items()
            if not str(annotation).startswith("ClassVar")
        }
        self.fields: dict[str, Any] = {}
        for base in reversed(body.__mro__[1:]):
            inherited = vars(base).get("__dataclass_fields__", {})
            self.fields.update(inherited.own if isinstance(inherited, _Declaration) else inherited)
        self.fields.update(self.own)

    def __get__(self, instance: Any, owner: type) -> dict[str, dataclasses.Field[Any]]:
        """Return the fields as the standard decorator makes them."""
        with _LOCK:
            if self.standard is None:
                body = {name: value for name, value in self.own.items() if value is not dataclasses.MISSING}
                body["__annotations__"] = vars(self.kind).get("__annotations__", {})
                body["__doc__"], body["__module__"] = "Fields of a class.", self.kind.__module__
                made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type("Fields", (), body))
                fields: dict[str, dataclasses.Field[Any]] = {}
                for base in reversed(self.kind.__mro__[1:]):
                    fields.update(getattr(base, "__dataclass_fields__", {}))
                self.standard = {**fields, **made.__dataclass_fields__}
            return self.standard

    def remake(self, generated: dict[str, Any]) -> type:
        """Return the class made anew with slots for its own fields."""
        body = self.kind
        inherited = {name for base in body.__mro__[1:] for name in vars(base).get("__slots__", ())}
        namespace = {name: value for name, value in vars(body).items() if name not in self.own}
        for name in ("__dict__", "__weakref__"):
            namespace.pop(name, None)
        namespace.update(generated, __slots__=tuple([name for name in self.own if name not in inherited]))
        namespace["__qualname__"] = body.__qualname__
        self.kind = type(body)(body.__name__, body.__bases__, namespace)
        return self.kind

    def compile(self, name: str) -> None:
        """Compile a method of the class, unless that is done; other threads wait for it."""
        with _LOCK:
            if name in self.pending:
                compiled: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": dataclasses.MISSING}
                compiled["__name__"] = self.kind.__module__  # a search for the user's line passes over these frames
                exec(_SOURCES[name](self, compiled), compiled)
                compiled[name].__qualname__ = f"{self.kind.__qualname__}.{name}"
                type.__setattr__(self.kind, name, compiled[name])
                self.pending.discard(name)


def _show_default(body: type, name: str, default) -> None:
    """Let a class attribute be the default of a field, as it is where no `field` declares it."""
    if default is dataclasses.MISSING:
        delattr(body, name)
    else:
        type.__setattr__(body, name, default)


def _attributes(declaration: _Declaration, eq: bool) -> dict[str, Any]:
    """Return the attributes that a declared class gets: methods that compile themselves, and its fields."""
    body, frozen = declaration.kind, declaration.frozen
    own = {name for name in ("__init__", "__repr__", "__eq__", "__hash__") if vars(body).get(name)}
    hashed = {"__hash__"} if frozen else set()
    declaration.pending = ({"__init__"} | ({"__eq__"} | hashed if eq else set())) - own
    generated: dict[str, Any] = {name: _compiling(declaration, name) for name in declaration.pending}
    generated["__dataclass_fields__"] = declaration
    generated["__dataclass_params__"] = _parameters(eq, frozen)
    if "__match_args__" not in vars(body):
        generated["__match_args__"] = tuple(declaration.fields)
    generated["__replace__"] = _replace
    if "__repr__" not in own:
        generated["__repr__"] = _repr
    if eq and not frozen and "__hash__" not in own:
        generated["__hash__"] = None
    if frozen:
        generated.update(_read_only(declaration))
    return generated


@functools.cache
def _parameters(eq: bool, frozen: bool) -> types.SimpleNamespace:
    """Return the parameters of the decorator under the names of the standard library."""
    return types.SimpleNamespace(init=True, repr=True, eq=eq, order=False, unsafe_hash=False, frozen=frozen)


def _compiling(declaration: _Declaration, name: str):
    """Return a method that compiles its successor and calls that."""

    def method(self, *args, **kwargs):
        declaration.compile(name)
        return vars(declaration.kind)[name](self, *args, **kwargs)

    return method


def _init_source(declaration: _Declaration, names: dict[str, Any]) -> str:
    """Return the source of `__init__`, and put the defaults of fields into `names`."""
    parameters, lines = ["self"], []
    for name, value in declaration.fields.items():
        is_field = isinstance(value, dataclasses.Field)
        factory, default = (value.default_factory, value.default) if is_field else (dataclasses.MISSING, value)
        assigned = name
        if factory is not dataclasses.MISSING:
            names[f"make_{name}"] = factory
            parameters.append(f"{name}=MISSING")
            assigned = f"make_{name}() if {name} is MISSING else {name}"
        elif default is not dataclasses.MISSING:
            names[f"default_{name}"] = default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        lines.append(f" set_field(self, {name!r}, {assigned})" if declaration.frozen else f" self.{name} = {assigned}")
    if hasattr(declaration.kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    return "\n".join([f"def __init__({', '.join(parameters)}):", *lines, " pass"])


def _compared(declaration: _Declaration, instance: str) -> str:
    """Return the source of a tuple of the values that are compared."""
    left_out = {name for name, f in declaration.fields.items() if isinstance(f, dataclasses.Field) and not f.compare}
    return f"({''.join([f'{instance}.{name}, ' for name in declaration.fields if name not in left_out])})"


def _eq_source(declaration: _Declaration, names: dict[str, Any]) -> str:
    pair = f"{_compared(declaration, 'self')} == {_compared(declaration, 'other')}"
    return f"def __eq__(self, other): return {pair} if other.__class__ is self.__class__ else NotImplemented"


def _hash_source(declaration: _Declaration, names: dict[str, Any]) -> str:
    return f"def __hash__(self): return hash({_compared(declaration, 'self')})"


_SOURCES: Mapping[str, Callable[[_Declaration, dict[str, Any]], str]] = {
    "__init__": _init_source,
    "__eq__": _eq_source,
    "__hash__": _hash_source,
}


def _repr(self) -> str:
    """Print an instance as a call that makes it."""
    shown = ", ".join([f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr])
    return f"{self.__class__.__qualname__}({shown})"


def _replace(self, /, **changes):
    """Return a copy with other values in some fields."""
    for name in self.__match_args__:
        if name not in changes:
            changes[name] = getattr(self, name)
    return type(self)(**changes)


def _read_only(declaration: _Declaration) -> dict[str, Any]:
    """Return methods that make the fields of a class read-only, while its pickles restore them all the same."""

    def set_attribute(self, name: str, value) -> None:
        if type(self) is declaration.kind or name in declaration.fields:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(declaration.kind, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete_attribute(self, name: str) -> None:
        if type(self) is declaration.kind or name in declaration.fields:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(declaration.kind, self).__delattr__(name)  # type: ignore[arg-type]

    methods = {"__setattr__": set_attribute, "__delattr__": delete_attribute}
    return methods if "__setstate__" in vars(declaration.kind) else {**methods, "__setstate__": _set_state}


def _set_state(self, state) -> None:
    """Restore the attributes of a frozen instance: a dict of them, or a pair of that and the dict of its slots."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        object.__setattr__(self, name, value)


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
            namespace["__new__"] = _compiling_new
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
    def _make(cls, values):
        """Return an instance with the values of an iterable."""
        return cls(*values)

    def _replace(self, /, **changes):
        """Return a copy with other values in some fields."""
        replaced = tuple.__new__(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise TypeError(f"{type(self).__name__} has no fields {', '.join(changes)}")
        return replaced

    def _asdict(self) -> dict[str, Any]:
        """Return the values by field."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        values = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
        return f"{type(self).__name__}({values})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _compiling_new(cls, /, *args, **kwargs):
    """Compile the constructor of a class, which replaces this one, and call it."""
    declared = next(base for base in cls.__mro__ if "_fields" in vars(base))
    names = {"new": tuple.__new__, "__name__": declared.__module__}  # a search for the user's line passes over it
    values = "".join([f"{field}, " for field in declared._fields])
    constructor = eval(f"lambda cls_, {values}: new(cls_, ({values}))", names)
    constructor.__defaults__ = tuple(declared._field_defaults.values())
    constructor.__name__, constructor.__qualname__ = "__new__", f"{declared.__qualname__}.__new__"
    declared.__new__ = constructor
    return constructor(cls, *args, **kwargs)
