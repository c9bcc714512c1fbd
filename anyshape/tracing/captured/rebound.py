"""Names that a function rebinds: attributes of objects that it reaches, globals, and variables of closures.

A trace leaves them as they were. What a jitted function gives them are further results, which a call writes where it
succeeds, and what they held are further arguments. Elsewhere this is an error. So are traced values that a function
puts into a container outside.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.errors import LeakedTracerError, MutationError
from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.concrete import ConcreteArray, plain
from anyshape.support.fork_lock import Lock
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import TRANSPARENT, changing_lines, may_rebind, origin, storing_line
from anyshape.tracing.captured.containers import UNBOUND, dict_of, read_cell, read_slot, slots_of
from anyshape.tracing.pytrees import Setting, flatten, is_array, settings_of
from anyshape.tracing.source.read import as_read

_NUMBERS = (int, float, complex, np.number, np.ndarray)
_CONTAINERS = (list, dict, set, deque)
together = Lock()  # a call reads or writes names while no thread traces a function that gives them traced values
_SCOPES = ("global ", "nonlocal ")
_MAKERS = ("__init__", "__new__", "__post_init__")
_ADVICE = "return the new value, and pass it to the next call"


class Name(NamedTuple):
    """Name that can be rebound: `owner` is the namespace, the cell or the object with a slot, `key` its name there.

    What an `is_state` name stands for stays captured state: a program is for it, and gives it another constant.
    """

    label: str
    owner: Any
    key: Any
    is_state: bool = False

    @property
    def identity(self) -> tuple[int, str]:
        """Return what tells names apart."""
        return id(self.owner), "" if isinstance(self.owner, types.CellType) else self.text

    @property
    def is_attribute(self) -> bool:
        """True for an attribute of an object."""
        return not self.label.startswith(_SCOPES)

    @property
    def text(self) -> str:
        """Return the name as code has it."""
        return str(getattr(self.key, "__name__", self.key or self.label.rpartition(" ")[2]))

    def read(self) -> Any:
        """Return what the name stands for, UNBOUND for nothing."""
        if isinstance(self.owner, types.CellType):
            return read_cell(self.owner)
        return self.owner.get(self.key, UNBOUND) if isinstance(self.key, str) else read_slot(self.key, self.owner)

    def write(self, value: Any) -> None:
        """Let the name stand for a value; no code of the user runs."""
        if value is UNBOUND:
            if self.read() is not UNBOUND:
                self._unbind()
        elif isinstance(self.owner, types.CellType):
            self.owner.cell_contents = value
        elif isinstance(self.key, str):
            self.owner[self.key] = value
        else:
            self.key.__set__(self.owner, value)

    def _unbind(self) -> None:
        if isinstance(self.owner, types.CellType):
            del self.owner.cell_contents
        elif isinstance(self.key, str):
            del self.owner[self.key]
        else:
            self.key.__delete__(self.owner)


class NamesRebound(Exception):
    """Raised to trace a jitted function again, with the names that it rebinds as arguments and results."""

    def __init__(self, names: Sequence[Name], codes: list[types.CodeType]) -> None:
        super().__init__()
        self.names, self.codes = names, codes


class Snapshot:
    """Shallow copies of all namespaces, cells, slots and containers that a function reaches."""

    def __init__(self, walks: Iterable[Any]) -> None:
        walks = list(walks)
        self.codes: list[types.CodeType] = [code for walk in walks for code in walk.codes]
        self._seen: set[int] = set()
        self._names: list[tuple[Name, Any]] = []
        self._spaces: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._containers: list[tuple[str, Any, Any]] = []
        for walk in walks:
            for label, thing in walk.things:
                self._take(label, thing)
            for holder in walk.holders:
                if holder.kind == "variables":
                    self._take_space(_SCOPES[0], holder.owner)

    def _take(self, label: str, thing) -> None:
        kind = type(thing)
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        if kind is types.CellType:
            self._names.append((Name(f"{_SCOPES[1]}{label}", thing, None), read_cell(thing)))
        elif issubclass(kind, type):
            self._containers.append((label, thing, dict(vars(thing))))
        elif kind is types.ModuleType:
            self._take_space(f"{thing.__name__}.", vars(thing) if origin(thing.__name__, "") == "user" else None)
        elif kind.__module__.partition(".")[0] in TRANSPARENT:
            return
        else:
            self._take_object(label or kind.__name__, thing)

    def _take_object(self, label: str, thing) -> None:
        if isinstance(thing, _CONTAINERS):
            self._containers.append((label, thing, _members(thing)))
        self._take_space(f"{label}.", dict_of(thing))
        for name, slot in slots_of(type(thing)).items():
            self._names.append((Name(f"{label}.{name}", thing, slot), read_slot(slot, thing)))

    def _take_space(self, prefix: str, entries: dict[str, Any] | None) -> None:
        if entries is not None and id(entries) not in self._seen:
            self._seen.add(id(entries))
            self._spaces.append((prefix, entries, dict(entries)))

    def _rebound(self) -> Iterator[tuple[Name, Any]]:
        """Yield each name that stands for another thing, with what it stood for."""
        yield from [(name, before) for name, before in self._names if name.read() is not before]
        for prefix, entries, before in self._spaces:
            for key in dict.fromkeys([*before, *entries]):
                was = before.get(key, UNBOUND)
                if entries.get(key, UNBOUND) is not was:
                    yield Name(f"{prefix}{key}", entries, key), was

    def undone(self) -> list[tuple[Name, Any]]:
        """Restore names that a trace rebound, and return them, each with the value that it was given.

        These are names of traced values, of numbers in place of numbers, and attributes.
        """
        undone: list[tuple[Name, Any]] = []
        for name, before in list(self._rebound()):
            now = name.read()
            is_value = self.holds_traced(now)
            is_variable = is_value or _are_numbers(before, now)
            if is_value or ((is_variable or name.is_attribute) and storing_line(self.codes, name.text) is not None):
                name.write(before)
                undone.append((name._replace(is_state=not is_variable), now))
        return undone

    def refusals(self) -> list[MutationError]:
        """Restore containers with new traced values, and return an error for each."""
        errors = [self._refused(*one) for one in self._containers if _differs(*one[1:])]
        return [error for error in errors if error is not None]

    def _refused(self, label: str, container, before) -> MutationError | None:
        """Return the error for a container with new traced values, which is restored; None without such values."""
        old = {id(x) for x in _values(before)}
        new = [x for x in _values(_members(container)) if id(x) not in old and self.holds_traced(x)]
        if not new:
            return None
        _refill(container, before)
        where = _where(self.codes, label.rpartition(".")[2].partition("[")[0], new[0], changes=True)
        return MutationError(label, "a program cannot put its values into a container outside", _ADVICE, where)

    def error(self, name: Name, value: Any) -> MutationError:
        """Return the error for a name that a function rebinds where it may not."""
        return _error(name, "only a jitted function may rebind what outlives it", self.codes, value)

    def holds_traced(self, value: Any) -> bool:
        """Return whether a value is traced, or holds one that is not held elsewhere."""
        waiting, seen = [value], set(self._seen)
        while waiting:
            if isinstance(x := waiting.pop(), (Traced, SymbolicSize)):
                return True
            if id(x) not in seen and not isinstance(x, ConcreteArray):
                seen.add(id(x))
                waiting += _parts(x)
        return False


def _parts(x) -> list[Any]:
    """Return what a new object holds."""
    if isinstance(x, (type, types.ModuleType)):
        return []
    parts = list(_values(_members(x))) if isinstance(x, (*_CONTAINERS, tuple, frozenset)) else []
    if isinstance(x, types.FunctionType):
        parts += [read_cell(cell) for cell in x.__closure__ or ()]
    if isinstance(x, types.MethodType):
        parts.append(x.__self__)
    if isinstance(x, functools.partial):
        parts += [x.func, x.args, x.keywords]
    parts += (dict_of(x) or {}).values()
    return parts + [read_slot(slot, x) for slot in slots_of(type(x)).values()]


def _members(container):
    """Return a copy of the members of a container, or of the attributes of a class."""
    if isinstance(container, type):
        return dict(vars(container))
    return dict.copy(container) if isinstance(container, dict) else list(container)  # which hashes no key again


def _values(members) -> Iterable[Any]:
    return members.values() if isinstance(members, dict) else members


def _differs(container, before) -> bool:
    now = _members(container)
    return len(now) != len(before) or any(x is not y for x, y in zip(_values(now), _values(before), strict=True))


def _refill(container, before) -> None:
    """Let a container or a class hold what it held."""
    if isinstance(container, type):
        for key in [key for key, value in vars(container).items() if before.get(key, UNBOUND) is not value]:
            if key in before:
                type.__setattr__(container, key, before[key])
            else:
                type.__delattr__(container, key)
        return
    container.clear()
    (container.extend if isinstance(container, (list, deque)) else container.update)(before)


def _are_numbers(*values) -> bool:
    """Return whether values are numbers, or arrays of numbers."""
    return all(has_type(x, _NUMBERS) and not has_type(x, bool) and np.asarray(x).dtype.kind in "iufc" for x in values)


def _where(codes: Sequence[types.CodeType], name: str, value, *, changes: bool = False) -> SourceLine | None:
    """Return the line that rebinds a name, or changes what it stands for: the one that made the value, if it can be."""
    lines = [line for line in changing_lines(codes, name) if bool(line.rank) is changes and not _is_made(line.code)]
    made = value.made_at() if isinstance(value, Traced) else None
    is_other = lambda c: made is None or (c.code.co_filename, c.line) != (made.file, made.line)
    lines.sort(key=lambda c: (is_other(c), c.code.co_name in _MAKERS, c.rank))
    if lines:
        return SourceLine(lines[0].code.co_filename, lines[0].line, lines[0].code.co_name)
    if made is not None:
        return SourceLine(made.file, made.line, made.function)
    return SourceLine(codes[0].co_filename, codes[0].co_firstlineno, codes[0].co_name) if codes else None


def _is_made(code: types.CodeType) -> bool:
    """Return whether code was made by a program, as that of a dataclass is."""
    return code.co_filename.startswith("<string")


def _error(name: Name, problem: str, codes: Sequence[types.CodeType], value) -> MutationError:
    return MutationError(f"{name.label} = ...", problem, _ADVICE, _where(codes, name.text, value))


def traced_once(walks: Sequence[Any], trace: Callable[[], Any], *, is_jit: bool) -> Any:
    """Return the result of a trace, which leaves names that the function rebinds as they were.

    Raise NamesRebound for these in a jitted function, MutationError elsewhere.
    """
    with together if may_rebind([code for walk in walks for code in walk.codes]) else contextlib.nullcontext():
        return _traced_once(Snapshot(walks), trace, is_jit)


def _traced_once(before: Snapshot, trace: Callable[[], Any], is_jit: bool):
    try:
        result = trace()
    except BaseException as error:
        undone = [(name, value) for name, value in before.undone() if before.holds_traced(value)]
        before.refusals()
        if isinstance(error, LeakedTracerError) and undone:  # a loop traces its body again
            raise before.error(*undone[0]) from None
        raise
    rebound = before.undone()
    for refusal in before.refusals():
        raise refusal
    if not rebound or result[0].raised is not None:
        return result
    if not is_jit:
        raise before.error(*rebound[0])
    raise NamesRebound([name for name, _ in rebound], before.codes)


# -- names as arguments and results


class Rebinding:
    """Function that rebinds names, as one that gets their values by keyword and returns them with its result."""

    def __init__(self, function: Callable[..., Any], signal: NamesRebound, names: Iterable[Name] = ()) -> None:
        self.function, self._codes = function, signal.codes
        self.names: dict[str, Name] = {}
        for name in {name.identity: name for name in (*names, *signal.names)}.values():
            others = [n for n in self.names.values() if n.label == name.label]
            self.names[f"{name.label} ({len(others)})" if others else name.label] = name
        self._variables = {label: name for label, name in self.names.items() if not name.is_state}
        self.identities: frozenset[tuple[int, str]] = frozenset([name.identity for name in self._variables.values()])

    def joined(self, signal: NamesRebound) -> Rebinding:
        """Return this with further names."""
        return Rebinding(self.function, NamesRebound(signal.names, signal.codes or self._codes), self.names.values())

    def arguments(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return keyword arguments with the values of the names."""
        with together:
            values = {label: name.read() for label, name in self._variables.items()}
        return {**kwargs, **{label: value for label, value in values.items() if value is not UNBOUND}}

    def is_in(self, kwargs: Mapping[str, Any]) -> bool:
        """Return whether keyword arguments have the values of all names."""
        return all(label in kwargs or name.read() is UNBOUND for label, name in self._variables.items())

    def traced(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function while it is traced; the names stand for what they stood for afterwards."""
        before = {label: name.read() for label, name in self.names.items()}
        values = {label: kwargs.pop(label, UNBOUND) if label in self._variables else before[label] for label in before}
        try:
            for label, name in self._variables.items():
                name.write(values[label])
            result = as_read(self.function)(*args, **kwargs)
            finals = {label: name.read() for label, name in self.names.items()}
        except LeakedTracerError:  # a loop traces its body again
            for name in self._variables.values():
                self._check(name, name.read(), Snapshot([]))
            raise
        finally:
            for label, name in self.names.items():
                name.write(before[label])
        return result, *self._sorted(values, {label: x for label, x in finals.items() if x is not values[label]})

    def _sorted(self, before: Mapping[str, Any], finals: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Return the arrays, the numbers of Python and the constants among new values of names."""
        kinds: tuple[dict[str, Any], ...] = {}, {}, {}
        snapshot, variables = Snapshot([]), list[Name]()
        for label, value in finals.items():
            name = self.names[label]
            if name.is_state and (snapshot.holds_traced(value) or _are_numbers(before[label], value)):
                variables.append(name._replace(is_state=False))
            elif name.is_state or value is UNBOUND:
                kinds[2][label] = Setting(plain(value))
            else:
                self._check(name, value, snapshot)
                kinds[_stands_for_number(value)][label] = value
        if variables:
            raise NamesRebound(variables, self._codes)
        return kinds

    def _check(self, name: Name, value, snapshot: Snapshot) -> None:
        """Raise MutationError for a value of a trace inside of this one, or of a class that is not a tree of arrays."""
        leaves, tree = flatten(None if value is UNBOUND else value)
        inner = [x for x in leaves if isinstance(x, Traced) and x.builder is not active()]
        if inner:
            problem = "a function that is traced inside of another one rebinds what outlives it"
            raise _error(name, problem, self._codes, inner[0])
        others = [x for x in leaves if not is_array(x)]
        if others or any(snapshot.holds_traced(x) for x in settings_of(tree)):
            raise _error(name, "only trees of arrays may hold values of a program here", self._codes, None)

    def written(self, outputs: Any) -> Any:
        """Return the result of a call, and let the names stand for what the function gave them."""
        result, arrays, numbers, states = outputs
        values = {**arrays, **states, **{label: np.asarray(value).item() for label, value in numbers.items()}}
        with together:
            for label, value in values.items():
                self.names[label].write(value)
        return result


def _stands_for_number(value) -> bool:
    """Return whether a value stands for a number of Python."""
    return has_type(value, (int, float, complex, SymbolicSize)) or getattr(value, "weak", False) is True
