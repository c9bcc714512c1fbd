"""Walk over everything that a function can reach besides its arguments: what its code names, and what that holds.

The walk knows how objects hold others, and nothing of caches. `docs/captured_state.md` states what it reaches.
"""

import abc
import collections
import contextlib
import functools
import io
import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import optree

from anyshape.numpy.operands.ufuncs import Ufunc
from anyshape.tracing.captured import code_origin, tables
from anyshape.tracing.captured import containers as holders
from anyshape.tracing.draws import is_stream
from anyshape.tracing.pytrees import NAMESPACE

LIMIT = 20_000  # objects of one function that are walked over

_ITERATING = "holds a position that `next` moves; draw from it outside of the function, or pass what it gives"


def reachable(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield the path to each object that a function can reach besides its arguments, and the object."""
    yield from Walk(function).things


class Walk:
    """Walk over what a function reaches: `things` with their paths, the `holders` of them, and code objects.

    `names` are the attributes that code names; with `reads_all` it may read others too. With `reads_outside` it may
    read what lies outside of the process.
    """

    def __init__(self, function: Callable[..., Any] | holders.Roots, in_full: Iterable[int] = ()) -> None:
        self.root = function
        roots = function if isinstance(function, holders.Roots) else holders.Roots({"": function})
        while not self._has_ended(roots, in_full):
            pass
        self.reads_outside: bool = self._has_reader or not self.names.isdisjoint(code_origin.OUTSIDE)

    def _has_ended(self, roots: holders.Roots, in_full: Iterable[int]) -> bool:
        """Walk, and return False where the code of an installed package turns out to be too much to follow."""
        self.things: list[tuple[str, Any]] = []
        self.holders: list[holders.Holder] = []
        self.unwatched: list[holders.Unwatched] = []
        self.codes: list[types.CodeType] = []
        self.names: set[str] = set()
        self.is_full: bool = False
        self.reads_all = self._has_reader = False
        self._without = roots.without
        self._in_full: set[int] = set(in_full)  # ids of things that are compared by content, whatever their size
        self.of_packages: set[int] = set()  # ids of what objects of other packages hold, whose code may read values
        first = next(iter(roots.values()))
        self._home = code_origin.home(first)
        if self._home != (top := code_origin.package(first)):
            self.unwatched.append(holders.Unwatched(top, "what its code names, as that reaches too many objects"))
        self.seen: set[int] = set()
        self._holding: dict[int, int] = {}  # for each thing, the number of the one that holds it
        self._opened = -1
        self._spaces: dict[int, holders.Namespace] = {}
        self._waiting: dict[str, list[holders.Namespace]] = collections.defaultdict(list)
        self._actions: dict[str, list[Callable[[], None]]] = collections.defaultdict(list)
        self._by_text = False  # code names attributes by texts
        self._texts: set[str] = set()
        for label, value in roots.items():
            self.visit("self" if not label and isinstance(value, types.MethodType) else label, value)
            if label in roots.in_full:
                self._in_full.add(id(value))
        while self._opened + 1 < len(self.things):
            self._opened += 1
            self._open(*self.things[self._opened])
            if len(self.things) > code_origin.MOST_OF_PACKAGE and code_origin.leave_to_package(self._home):
                return False
        self._close()
        return True

    def _origin(self, module: str | None) -> str:
        return code_origin.origin(module, self._home)

    # -- the walk

    @property
    def is_in_full(self) -> bool:
        """True if the thing that is opened is compared by content, whatever its size."""
        return self._opened >= 0 and self._is_in_full(self._opened)

    def _is_in_full(self, number: int) -> bool:
        thing = self.things[number][1]
        return id(thing) in self._in_full and not isinstance(thing, _OF_CODE)

    def visit(self, label: str, value: Any, of: int | None = None) -> None:
        """Queue an object that another one holds, by default the one that is opened, unless it cannot change."""
        kind = type(value)
        if code_origin.is_atom(kind) or id(value) in self.seen or code_origin.is_scalar(value):
            if kind is str and value.isidentifier():
                self._learn_text(value)
            return
        if len(self.things) >= LIMIT:
            self._refuse_more(label)
            return
        self.seen.add(id(value))
        self.things.append((label, value))  # the reference keeps the id valid
        of = self._opened if of is None else of
        if of >= 0:
            self._inherit(value, of)

    def _inherit(self, value: Any, of: int) -> None:
        """Note what holds an object, and treat the object like that."""
        owner = self.things[of][1]
        self._holding[id(value)] = of
        if self._in_full and self._is_in_full(of):
            self._in_full.add(id(value))
        is_of_package = not isinstance(owner, _OF_CODE) and self._origin(type(owner).__module__) == "installed"
        if is_of_package or id(owner) in self.of_packages:
            self.of_packages.add(id(value))

    def _refuse_more(self, label: str) -> None:
        if not self.is_full:
            self.is_full = True
            why = f"it and what is reached after it is not watched, as {LIMIT:,} objects are; pass it as an argument"
            self.unwatched.append(holders.Unwatched(label, why))

    def _open(self, label: str, value) -> None:
        """Record how an object holds others, and visit them."""
        kind = type(value)
        for kinds, open_one in _OPENERS:
            if issubclass(kind, kinds):
                open_one(self, label, value)
                break
        else:
            self.open_object(label, value)

    def _close(self) -> None:
        """Record the namespaces, now that every name is known."""
        absent_matters = bool(self.names & code_origin.ABSENCE)
        for space in self._spaces.values():
            self._opened = space.of
            if space.names:
                names = [n for n in list(space.entries) if n in set(space.names)]  # in the order of the namespace
                self.hold("attributes", space.prefix, space.entries, *names)
            if space.shadowed or (space.is_of_user and absent_matters):
                whole = space.is_whole or self._is_read_whole(space)
                self.hold("keys", space.prefix.rstrip("."), space.entries, *["all of them"] * whole)

    def hold(self, kind: str, label: str, owner: Any, *names: Any) -> None:
        """Record a holder."""
        self.holders.append(holders.Holder(kind, label, owner, names, self._opened))

    # -- namespaces: the attributes that code names

    def learn(self, names: Iterable[str]) -> None:
        """Enter what stands under names that the code of the function turns out to have."""
        for name in sorted(names):  # so that every process walks in one order
            if name not in self.names:
                self.names.add(name)
                for space in self._waiting.pop(name, ()):
                    self._enter(space, name)
                for act in self._actions.pop(name, ()):
                    act()
        if not self._by_text and not self.names.isdisjoint(code_origin.BY_TEXT):
            self._by_text, self.reads_all = True, False
            self.learn(self._texts)
        if not self.reads_all and not self.names.isdisjoint(code_origin.REFLECTION):
            self.read_all()

    def _learn_text(self, text: str) -> None:
        """Take a text that is reached for the name of an attribute, if code reads attributes by texts."""
        self._texts.add(text)
        if self._by_text:
            self.learn([text])

    def _when(self, names: Iterable[str], act: Callable[[str], None]) -> None:
        """Act on each of the names that code has, now or once it is reached."""
        for name in names:
            if name in self.names:
                act(name)
            else:
                self._actions[name].append(functools.partial(act, name))

    def _is_read_whole(self, space: holders.Namespace) -> bool:
        """Return True if code may read attributes that it does not name; of classes by texts alone."""
        return (self.reads_all and space.may_be_read_whole) or (self._by_text and space.is_class)

    def read_all(self) -> None:
        """Enter every attribute of every object: code that is not known may read it."""
        self.reads_all = True
        for name, spaces in list(self._waiting.items()):
            for space in [s for s in spaces if self._is_read_whole(s)]:
                spaces.remove(space)
                self._enter(space, name)

    def add_space(self, space: holders.Namespace) -> None:
        """Watch the names of a namespace that matter, now or once code with them is reached."""
        if id(space.entries) in self._spaces:
            return
        self._spaces[id(space.entries)] = space
        space.of = self._opened
        whole = space.is_whole or self._is_read_whole(space)
        for name, value in space.items():
            if not isinstance(name, str) or (space.is_class and name in code_origin.OF_CLASSES):
                continue
            if name in space.hidden:
                continue
            if whole or name in self.names or (space.is_class and code_origin.is_special(name, value)):
                self._enter(space, name)
            else:
                self._waiting[name].append(space)

    def _enter(self, space: holders.Namespace, name: str) -> None:
        if (id(space.entries), name) in self._without:
            return
        if (value := space.entries.get(name, holders.UNBOUND)) is not holders.UNBOUND:
            space.names.append(name)
            if not space.binding_only:
                self.visit(f"{space.prefix}{name}", value, space.of)

    # -- functions

    def open_function(self, label: str, function: types.FunctionType) -> None:
        """Follow a function to its code, cells, globals, defaults and attributes."""
        where = self._origin(function.__globals__.get("__name__"))
        if function.__globals__.get("__name__", "").partition(".")[0] in code_origin.TRANSPARENT:
            self.visit(label, getattr(function, "__wrapped__", None))
            return
        self.hold("fields", label, function, "__code__")
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name) is not None:
                self.hold("fields", f"{name} of {label or function.__name__}", function, name)
                self.visit(f"{name} of {label or function.__name__}", getattr(function, name))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if (id(cell), "") not in self._without:
                self.visit(name, cell)
        entries, prefix = function.__dict__, f"{function.__name__}."
        self.add_space(
            holders.Namespace(prefix, entries, is_whole="__wrapped__" in entries, is_of_user=where == "user")
        )
        if where == "user":
            self._when(_OF_FUNCTIONS, functools.partial(self._open_field, label, function))
            self._open_code(function)

    def _open_field(self, label: str, owner, name: str) -> None:
        self.hold("fields", label, owner, name)
        self.visit(f"{label}.{name}", getattr(owner, name, None))

    def _open_code(self, function: types.FunctionType) -> None:
        code, names = function.__code__, function.__globals__
        self.codes.append(code)
        read = code_origin.code_names(code)
        variables = self._counted(names, read.variables)
        if not read.attributes.isdisjoint(code_origin.EVALUATION):
            text = "globals that only a text made at run time names, where `eval` or `exec` runs it"
            self.unwatched.append(holders.Unwatched(function.__name__, text))
            variables += [n for n in sorted(read.attributes) if n in names and n not in variables]
        if variables:
            self.hold("variables", "", names, *variables)
        for name in variables:
            if name in names:
                self.visit(name, names[name])
        for module in read.modules:
            self._open_import(code_origin.absolute(module, names.get("__package__")))
        if not read.attributes.isdisjoint(code_origin.BY_MODULE_NAME):
            for name in sorted(read.attributes & sys.modules.keys()):
                self._open_import(name)
        if "__import__" in read.attributes:
            text = "a module that only a text made at run time names, where `__import__` loads it"
            self.unwatched.append(holders.Unwatched(function.__name__, text))
        self.learn(read.attributes)

    def _counted(self, space: dict[str, Any], names: Iterable[str]) -> list[str]:
        """Return the names in a namespace that count."""
        return [name for name in names if (id(space), name) not in self._without]

    def _open_import(self, name: str | None) -> None:
        """Follow an import inside a function: the module may be loaded, replaced or reloaded later."""
        if name is not None and self._origin(name) != "library":
            self.hold("variables", "sys.modules.", sys.modules, name)
            self.visit(name, sys.modules.get(name))

    def open_method(self, label: str, method: types.MethodType) -> None:
        """Follow a bound method to its object and its function."""
        self.visit(label.rpartition(".")[0] or label or "self", method.__self__)
        self.visit(label, method.__func__)

    def open_builtin(self, label: str, function: Any) -> None:
        """Follow a method of a builtin object, such as `table.get`, to the object."""
        owner = getattr(function, "__self__", None)
        self._has_reader = self._has_reader or function.__name__ in code_origin.OUTSIDE  # by another name
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.visit(label, owner)

    def open_wrapper(self, label: str, value: Any) -> None:
        """Follow a property, a static method and others like them to their functions."""
        for name in ("fget", "fset", "fdel", "__func__", "func", "__wrapped__"):
            self.visit(label, getattr(value, name, None))

    def open_exception(self, label: str, value: BaseException) -> None:
        """Follow an exception to its arguments, then as any object."""
        self.hold("fields", label, value, "args")
        self.visit(label, value.args)
        self.open_object(label, value)

    def open_ufunc(self, label: str, value: Any) -> None:
        """List a ufunc made of a Python function, which it does not show."""
        if value.__name__.endswith("(vectorized)"):
            self.unwatched.append(holders.Unwatched(label, "what the Python function of a ufunc reads"))

    def open_partial(self, label: str, value: Any) -> None:
        """Follow a partially applied function to its function and its arguments."""
        self.hold("fields", label, value, "func", "args", "keywords")
        for part in (value.func, value.args, value.keywords):
            self.visit(label, part)

    def open_getter(self, label: str, getter: Any) -> None:
        """Learn the names that a getter of the module `operator` was made with."""
        self.learn([part for text in getter.__reduce__()[1] if isinstance(text, str) for part in text.split(".")])

    # -- modules, classes and objects

    def open_module(self, label: str, module: types.ModuleType) -> None:
        """Follow the names that the code reads in a module; elsewhere than in the user's, to their bindings alone."""
        if (where := self._origin(module.__name__)) == "library":
            return
        if where == "installed":
            self.read_all()  # functions of a package may read any attribute
        if where != "user" and module.__name__.partition(".")[0] not in code_origin.PURE_MODULES:
            self.unwatched.append(
                holders.Unwatched(label, f"what `{module.__name__}` reads besides the arguments of its functions")
            )
        prefix = f"{label or module.__name__}."
        is_users = where == "user"
        if is_users:
            self._when(("getattr", "vars", "__dict__"), functools.partial(self._note_module, label))
        self.add_space(holders.Namespace(prefix, vars(module), binding_only=not is_users, is_of_user=is_users))

    def _note_module(self, label: str, reader: str) -> None:
        """List a module of the user beside code that reads attributes by texts."""
        if label not in [u.label for u in self.unwatched]:
            text = f"attributes of a module that only a text made at run time names, where `{reader}` reads them"
            self.unwatched.append(holders.Unwatched(label, text))

    def open_class(self, label: str, kind: type) -> None:
        """Follow a class to what its code names, its special methods, its bases and its metaclass."""
        if self._origin(kind.__module__) != "user":
            return
        self.hold("fields", label, kind, "__mro__")
        prefix = f"{kind.__name__}."
        self.add_space(holders.Namespace(prefix, vars(kind), is_class=True, shadowed=True, is_of_user=True))
        for base in (*kind.__mro__[1:], type(kind)):
            self.visit(base.__name__, base)
        names = holders.of_class(kind, "__match_args__")
        self.learn([n for n in names if isinstance(n, str)] if type(names) is tuple else ())
        self._when(("__subclasses__",), functools.partial(self._open_subclasses, kind))
        if issubclass(type(kind), abc.ABCMeta):
            self._when(("isinstance", "issubclass"), functools.partial(self._open_registry, label, kind))

    def _open_subclasses(self, kind: type, name: str) -> None:
        self.hold("iterated", f"{kind.__name__}.{name}()", kind, type.__subclasses__)
        derived: list[type] = type.__subclasses__(kind)
        for part in derived:
            self.visit(part.__name__, part)

    def _open_registry(self, label: str, kind: type, name: str) -> None:
        """Watch the classes that are registered with an abstract class."""
        self.hold("iterated", f"{label}.register", kind, holders.registered)

    def open_object(self, label: str, value: Any) -> None:
        """Follow an object to its class, its `__dict__` and its slots."""
        kind = type(value)
        if kind.__module__.partition(".")[0] in code_origin.TRANSPARENT:
            self._open_transparent(label, value)
            return
        self.visit(kind.__name__, kind)
        if tables.is_table_class(kind) and holders.hold_content(self, label, value, tables.content_of_table):
            return  # its private parts are caches, and memory that is written in place
        slots = holders.slots_of(kind)
        entries = holders.dict_of(value)
        shows_nothing = entries is None and not slots
        memory = holders.memory_base(kind)
        if shows_nothing or not (memory is object or issubclass(memory, _SHOWN)):
            self._note_opaque(label, value)
        if not shows_nothing:
            self._open_attributes(label, value, entries, slots)

    def _open_attributes(self, label: str, value, entries: dict[str, Any] | None, slots: dict[str, Any]) -> None:
        """Follow the `__dict__` and the slots of an object."""
        kind = type(value)
        self.hold("type", label, value)
        whole = code_origin.is_whole(kind, self._home) or _is_node(kind)
        prefix = f"{kind.__name__ if label in ('', 'self') else label}."
        if entries is not None:
            if holders.reads_plainly(value):
                self.hold("fields", label, value, "__dict__")
            shadowed = whole or self._origin(kind.__module__) == "user"
            space = holders.Namespace(prefix, entries, is_whole=whole, shadowed=shadowed, is_object=True)
            hidden = holders.caches_of(value, entries) if self.is_in_full else frozenset[str]()
            if hidden and holders.hold_content(self, label, value, holders.content_beside_attributes):
                space.hidden = hidden
            self.add_space(space)
        for name, slot in [(n, s) for n, s in slots.items() if (id(value), n) not in self._without]:
            self._open_slot(f"{prefix}{name}", value, slot)

    def _open_transparent(self, label: str, value) -> None:
        """Follow an object of anyshape to the functions of the user that it stands for."""
        reads = getattr(type(value), "reads", ())
        if reads:  # a function with a derivative rule, which may get another one
            self.hold("fields", label, value, *reads)
        for name in reads or ("__wrapped__",):
            self.visit(label, getattr(value, "__dict__", {}).get(name))

    def _open_slot(self, label: str, value, slot) -> None:
        if (now := holders.read_slot(slot, value)) is not holders.UNBOUND and holders.is_public(slot, value):
            self.hold("fields", label, value, slot.__name__)
        else:
            self.hold("call", label, functools.partial(holders.read_slot, slot, value))
        if now is not holders.UNBOUND:
            self.visit(label, now)

    def _note_opaque(self, label: str, value) -> None:
        """List an object whose attributes and items cannot be seen."""
        kind = type(value)
        if is_stream(value) or (code_origin.is_immutable(kind) and not hasattr(kind, "__next__")):
            return
        if hasattr(kind, "__next__"):
            if issubclass(kind, io.IOBase) and holders.hold_content(self, label, value):
                return
            self.unwatched.append(holders.Unwatched(label, f"{_article(kind.__name__)} {_ITERATING} as an argument"))
        elif kind is not object and not (_is_named(value) or self._is_compared(label, value)):
            self.unwatched.append(
                holders.Unwatched(label, f"what an object of {kind.__module__}.{kind.__name__} keeps")
            )

    def _is_compared(self, label: str, value: Any) -> bool:
        """Return whether an object is compared by content, or else what holds it and gives its own state."""
        if holders.hold_content(self, label, value):
            return True
        label, owner = self.things[self._holding.get(id(value), 0)]
        gives_state = getattr(type(owner), "__getstate__", None) is not object.__getstate__
        return gives_state and not isinstance(owner, _OF_CODE) and holders.hold_content(self, label, owner)

    def open_subclass(self, label: str, value: Any, plain: tuple[type, ...]) -> None:
        """Follow the attributes of a container whose class is the user's own."""
        if type(value) not in plain and self._origin(type(value).__module__) != "stdlib":
            self.open_object(label, value)


_OF_CODE = (types.FunctionType, types.ModuleType, types.CellType, type)
_OF_FUNCTIONS = ("__annotations__", "__doc__", "__name__", "__qualname__")
_SHOWN: tuple[type, ...] = (list, tuple, dict, set, frozenset, collections.deque, BaseException)
_SHOWN += (np.ndarray, np.generic, *code_origin.ATOMS)  # classes whose memory is watched, beside the attributes
_OPENERS: tuple[tuple[Any, Callable[[Walk, str, Any], None]], ...] = (
    (type, Walk.open_class),
    (types.ModuleType, Walk.open_module),
    (types.FunctionType, Walk.open_function),
    (types.MethodType, Walk.open_method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Walk.open_builtin),
    ((functools.partial, functools.partialmethod), Walk.open_partial),
    ((staticmethod, classmethod, property, functools.cached_property), Walk.open_wrapper),
    (type(functools.lru_cache(len)), Walk.open_wrapper),
    ((operator.attrgetter, operator.methodcaller), Walk.open_getter),
    (BaseException, Walk.open_exception),
    ((np.ufunc, Ufunc), Walk.open_ufunc),
    *holders.OPENERS,
)


def _is_node(kind: type) -> bool:
    """Return True for a class of pytrees; a class that its metaclass makes unhashable is none."""
    hashable = type(kind).__hash__ is not None
    return hashable and optree.register_pytree_node.get(kind, namespace=NAMESPACE) is not None


def _is_named(value: Any) -> bool:
    """Return whether an object is a function in C that stands in its module under its name."""
    name, home = getattr(value, "__name__", ""), sys.modules.get(str(getattr(value, "__module__", "")))
    return type(name) is str and getattr(home, name, None) is value


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


@contextlib.contextmanager
def restored_arrays(things: Iterable[tuple[str, Any]]) -> Iterator[list[str]]:
    """Restore arrays of NumPy that a trace within the block writes to: Python runs the function itself later.

    Yields the paths of the arrays, after the block.
    """
    arrays = [(path, x) for path, x in things if type(x) is np.ndarray and x.flags.writeable and x.dtype != object]
    before, changed = [x.copy() for _, x in arrays], list[str]()
    try:
        yield changed
    finally:
        for (path, x), copy in zip(arrays, before, strict=True):
            if x.tobytes() != copy.tobytes():
                changed.append(path)
                x[...] = copy
