"""Watch captured state: one generated test that nothing has changed, and the list of changes.

The test compares identities, in passes that run in C. If it fails, a slower comparison decides. There, numbers of equal
type and bits are the same, and a new attribute that no code names does not matter.

All programs of one function share a snapshot, from the end of the latest trace. So changes that a trace makes never
cause another one. Changes from outside do: they make a new version of the state, and programs of older versions are no
longer used.
"""

from __future__ import annotations

import functools
import operator
import threading
import types
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeWarning, RetraceWarning, StateWarning, UnwatchedStateWarning
from anyshape.graph.ir.graph import drawing
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import tell
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import traced_generators
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import Line, changing_line, naming_line
from anyshape.tracing.captured.containers import (
    BUFFERS,
    BYTES,
    UNBOUND,
    Holder,
    Roots,
    Unwatched,
    dict_of,
    of_class,
    read_holder,
)
from anyshape.tracing.reachable import Walk

_INLINE = 8  # things of one kind that are compared by a term each; more are compared in bulk
_MARK = object()  # stands between containers, so that no item slides from one into the next
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_LONGEST_TEXT = 80
_COMPARISONS = 8  # before the test is written
_TRIES = 3  # readings of a state that other threads change


class Change(NamedTuple):
    """Change of captured state: the path to it, what holds it under which name, and its values.

    For what has no name, such as the items of a container, `held` and `holds` are all members before and now.
    """

    label: str
    holder: Holder
    name: str
    before: Any
    now: Any
    held: Sequence[Any] = ()
    holds: Sequence[Any] = ()

    def texts(self) -> tuple[str, str]:
        """Return the value before and now."""
        if self.name:
            before, now = _text(self.before), _text(self.now)
        else:
            before, now = (_text_of_all(self.holder, members) for members in (self.held, self.holds))
        return before, f"another {now}" if before == now else now


class Watch:
    """Snapshot of everything that a function reaches.

    `holds` is True only while all of it is the same. After a call that gave False there may be another `holds`.
    The generated test is written once the function is called a few times: that takes as long as eight comparisons.
    """

    def __init__(self, walk: Walk) -> None:
        self.holders: Sequence[Holder] = _without_own_code(walk.holders)
        self.root, self.names, self.codes, self.is_full = walk.root, walk.names, walk.codes, walk.is_full
        self.reads_outside: bool = walk.reads_outside
        self.unwatched: tuple[Unwatched, ...] = tuple(walk.unwatched)
        self.ids: set[int] = walk.seen
        self.of_packages: set[int] = walk.of_packages
        self.things: Sequence[tuple[str, Any]] = walk.things  # an id in a snapshot stays that of its object
        self._before: list[list[Any]] = [read_holder(h) for h in self.holders]
        self._test: _Test | None = None
        self._comparisons = 0
        self.holds: Callable[[], bool] = self._compare_first

    def _compare_first(self) -> bool:
        """Compare with care a few times, and write the test then, in which case others have to take it."""
        if self._test is not None or not self._compare():
            return False
        self._comparisons += 1
        if self._comparisons == _COMPARISONS:
            self._write_test()
        return self._test is None

    def _write_test(self) -> None:
        self._test = _Test(self.holders, self._before)
        self._test.set(self._before)
        self.holds = self._test.compile(self._compare)

    @functools.cached_property
    def arrays(self) -> Sequence[tuple[str, Any]]:
        """Arrays and buffers that are reached, each with its path."""
        return [(label, x) for label, x in self.things if has_type(x, (np.ndarray, *BUFFERS))]

    def readings(self) -> Iterator[tuple[Holder, Sequence[Any]]]:
        """Yield each holder with what it held."""
        return zip(self.holders, self._before, strict=True)

    def labels(self) -> list[str]:
        """Return the paths of what is watched, without modules, functions and builtins."""
        dull = (types.ModuleType, types.FunctionType, types.CodeType, type)
        pairs = zip(self.holders, self._before, strict=True)
        named = [(h.member(i), v) for h, before in pairs if _is_shown(h) for i, v in enumerate(before)]
        return list(dict.fromkeys([label for label, v in named if v is not UNBOUND and not isinstance(v, dull)]))

    def _compare(self) -> bool:
        """Compare with care, and take what is the same into the snapshot, so that the next test is fast."""
        try:
            now = [read_holder(h) for h in self.holders]
        except Exception:  # another thread changes a container meanwhile, or a weak reference died
            return False
        if not all(map(self._is_same, self.holders, self._before, now)):
            return False
        regroup = any(h.kind == "keys" and a != b for h, a, b in zip(self.holders, self._before, now, strict=True))
        self._take(now)
        if regroup and self._test is not None:  # namespaces have other keys, which no code names
            self._write_test()
            return False
        return True

    def _take(self, before: list[list[Any]]) -> None:
        self._before = before
        if self._test is not None:
            self._test.set(before)

    def is_unchanged(self) -> bool:
        """Return True while all of it is the same, also where the test had to be written anew."""
        holds = self.holds
        return holds() or (self.holds is not holds and self.holds())

    def _is_same(self, holder: Holder, before: Sequence[Any], now: Sequence[Any]) -> bool:
        if holder.kind == "keys":
            return self._keys(holder, before) == self._keys(holder, now)
        return len(before) == len(now) and all(map(is_same, before, now))

    def _keys(self, holder: Holder, names: Sequence[Any]) -> set[Any]:
        return {n for n in names if holder.names or n in self.names}

    def changes(self) -> list[Change]:
        """Return what is not as it was."""
        pairs = zip(self.holders, self._before, strict=True)
        return [change for holder, before in pairs for change in self._changes(holder, before)]

    def _changes(self, holder: Holder, before: Sequence[Any]) -> Iterator[Change]:
        try:
            now = read_holder(holder)
        except Exception:  # as in `_compare`
            now = [UNBOUND]
        if self._is_same(holder, before, now):
            return
        if holder.kind == "keys":
            for name in sorted(self._keys(holder, before) ^ self._keys(holder, now), key=str):
                was, is_now = (name if name in names else UNBOUND for names in (before, now))
                yield Change(f"{holder.label}.{name}", holder, str(name), was, is_now)
        elif holder.kind in ("variables", "attributes"):
            for i, (was, is_now) in enumerate(zip(before, now, strict=True)):
                if not is_same(was, is_now):
                    yield Change(holder.member(i), holder, holder.names[i], was, is_now)
        else:
            yield Change(
                holder.label, holder, "", before[0] if before else UNBOUND, now[0] if now else UNBOUND, before, now
            )

    @functools.cached_property
    def owners(self) -> frozenset[int]:
        """Ids of what holds the values."""
        return frozenset([id(h.owner) for h in self.holders])

    def accept(self, changes: Sequence[Change]) -> None:
        """Take over changes that a trace of another function made, as far as this snapshot is from before them."""
        made = {(c.holder.kind, id(c.holder.owner), c.name): c for c in changes}
        before = [[*values] for values in self._before]
        for holder, values in zip(self.holders, before, strict=True):
            names = holder.names if holder.kind in ("variables", "attributes") else ("",)
            for i, name in enumerate(names):
                if (change := made.get((holder.kind, id(holder.owner), name))) is None:
                    continue
                if holder.kind in ("variables", "attributes"):
                    values[i] = change.now if is_same(values[i], change.before) else values[i]
                elif len(values) == len(change.held) and all(map(is_same, values, change.held)):
                    values[:] = change.holds
        self._take(before)


_SHOWN = {"variables", "attributes", "fields", "items", "iterated", "content", "call"}


def _is_shown(holder: Holder) -> bool:
    """Return True for what a user would call a variable, an attribute or a container."""
    return holder.kind in _SHOWN and not any(str(name).startswith("__") for name in holder.names)


def watch(function: Callable[..., Any] | Roots, in_full: Collection[int] = ()) -> Watch:
    """Return a snapshot of what a function reaches; `in_full` are ids of what is compared whatever its size."""
    for _ in range(_TRIES):
        try:
            return Watch(Walk(function, in_full))
        except RuntimeError:  # another thread changed the size of a container
            continue
    return Watch(Walk(function, in_full))


def _without_own_code(holders: Sequence[Holder]) -> Sequence[Holder]:
    """Leave out the code of a function that names modules and builtins alone: it would take half of the test."""
    others = holders[1:]
    if not holders or holders[0].names != ("__code__",):
        return holders
    values = [h.owner.get(name, UNBOUND) for h in others if h.kind == "variables" for name in h.names]
    is_plain = all(h.kind == "variables" for h in others)
    return others if is_plain and all(v is UNBOUND or has_type(v, types.ModuleType) for v in values) else holders


# -- when two readings are the same


def is_same(before: Any, now: Any) -> bool:
    """Return True for one object, and for equal numbers and texts of one type and bits, also in tuples."""
    if before is now:
        return True
    if (kind := type(before)) is not type(now):
        # while a trace goes on, stand-ins may be in the places of these
        return issubclass(kind, (*drawing(), types.MethodType)) and traced_generators.is_one(before, now)
    if kind is tuple:
        return len(before) == len(now) and all(map(is_same, before, now))
    if issubclass(kind, np.generic):
        return kind is not np.void and before.dtype == now.dtype and before.tobytes() == now.tobytes()
    if kind in (float, complex):
        return repr(before) == repr(now)  # 0.0 is not -0.0, and NaN is NaN
    return (kind in _NUMBERS or issubclass(kind, np.dtype)) and before == now


# -- the generated test


class _Test:
    """Source of the test and what it reads: terms for single values, then bulk comparisons of many."""

    def __init__(self, holders: Sequence[Holder], before: Sequence[Sequence[Any]]) -> None:
        self.space: dict[str, Any] = {"list": list, "len": len, "map": map, "type": type, "any": _ANY}
        self.space |= {"each": chain.from_iterable, "call": operator.call, "all": all, "is_": operator.is_}
        self.space |= {"addresses": np.fromiter, "join": b"".join}
        self.terms: list[str] = []
        self.named: dict[int, set[str]] = defaultdict(set)  # keys that terms read, by the id of their namespace
        self.singles: list[tuple[str, int, int]] = []  # a name in `space`, a holder, one of its values
        self.wholes: list[tuple[str, int]] = []  # a name in `space`, a holder whose values are compared together
        self.bulk: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        self.holders = holders
        self.keyed = {id(h.owner) for h in holders if h.kind == "keys"}
        for i, holder in enumerate(holders):
            for key in self._bulk_keys(holder):
                self.bulk[key].append(i)
        for _, i in self._few(_WRITTEN):
            self._write(i, holders[i], before[i])
        for key, i in self._few(("shape", "content")):
            self._write_value(i, *key[1:])
        self._write_few_keys()
        self._write_identities(before)
        self._write_values()

    def _few(self, kinds: Collection[str]) -> list[tuple[tuple[Any, ...], int]]:
        """Take small groups of these kinds out of the bulk; return each holder with its group."""
        keys = [key for key, group in self.bulk.items() if key[0] in kinds and _is_few(key, group)]
        return [(key, i) for key in keys for i in self.bulk.pop(key)]

    def _write_few_keys(self) -> None:
        """Compare namespaces of few kinds each by itself, and together with their sizes where they are many.

        A namespace of the same size that still has every key has no other. Keys that other terms read are there.
        So no key slides from one to the next. Among many with the same keys none can: no namespace can have more keys,
        as a key would come twice.
        """
        few = [key for key, group in self.bulk.items() if key[0] == "keys" and len(group) < _INLINE]
        numbers = [i for key in few for i in self.bulk.pop(key)]
        if len(numbers) > _INLINE:
            self.bulk["keys", None] = numbers
            return
        for i in numbers:
            self.space[f"o{i}"] = self.holders[i].owner
            self.terms += self._key_terms(i, self.holders[i].owner)

    def _key_terms(self, i: int, owner) -> list[str]:
        """Return the comparison of the keys of one namespace: its size and the keys that no other term reads."""
        unread = [key for key in owner if type(key) is not str or key not in self.named[id(owner)]]
        if len(unread) <= _FEW_KEYS and all(type(key) is str for key in unread):
            return [f"len(o{i}) == {len(owner)}", *[f"{key!r} in o{i}" for key in unread]]
        self.wholes.append((f"v{i}", i))
        return [f"[*o{i}] == v{i}"]

    def _write_value(self, i: int, read, j: int) -> None:
        """Write the comparison of the shape, the dtype or the content of an array with value j of its holder."""
        self.space |= {f"o{i}": self.holders[i].owner, f"r{i}": read}
        self.singles.append((f"v{i}_{j}", i, j))
        self.terms.append(_WRITTEN_VALUES.get(read, "r{i}(o{i}) == v{i}_{j}").format(i=i, j=j))

    def _write(self, i: int, holder: Holder, before: Sequence[Any]) -> None:
        self.space[f"o{i}"] = holder.owner
        for j, name in enumerate(holder.names or ("",)):  # a class and a call have no name
            if holder.kind == "variables" and before[j] is UNBOUND:
                self.terms.append(f"{name!r} not in o{i}")
                continue
            self.singles.append((f"v{i}_{j}", i, j))
            self.terms.append(f"{_WRITTEN[holder.kind].format(f'o{i}', name)} is v{i}_{j}")
            if holder.kind in ("variables", "attributes"):
                self.named[id(holder.owner)].add(name)

    def _bulk_keys(self, holder: Holder) -> list[tuple[Any, ...]]:
        """Return the groups in which a holder is compared: such as are read in one way."""
        if holder.kind == "keys":
            return [("keys", tuple(holder.owner))]
        metaclass: Any = type(type(holder.owner))
        if holder.kind == "type" and metaclass.__eq__ is type.__eq__:  # classes are then equal only to themselves
            return [("type", type, 0)]
        if holder.kind == "shape":
            return [("shape", _SHAPE, 0), ("shape", _DTYPE, 1)]
        if holder.kind == "content":
            is_joined = holder.names[0] is np.ndarray.tobytes and _is_joined(holder.owner)
            return [("content", _BUFFER if is_joined else holder.names[0], 0)]
        if holder.kind == "attributes" and id(holder.owner) in self.keyed and holder.names == tuple(holder.owner):
            return [("values", holder.names)]
        return [(holder.kind, holder.names if holder.kind in ("fields", "attributes") else ())]

    def _write_identities(self, before: Sequence[Sequence[Any]]) -> None:
        """Write one comparison of identities for each group that is read in one way."""
        self.identical = [key for key in self.bulk if key[0] not in _BY_VALUE and key != ("type", type, 0)]
        for n, key in enumerate(self.identical):
            count = sum(len(_with_mark(self.holders[i], before[i])) for i in self.bulk[key])
            comparison = _BY_ADDRESS if count > _FEW_IDENTITIES else _BY_IDENTITY
            self.terms.append(comparison.format(source=self._source(f"b{n}", key), n=n))

    def _write_values(self) -> None:
        """Write one comparison of values for each group that is read in one way."""
        self.by_value = [key for key in self.bulk if key not in self.identical]
        for n, key in enumerate(self.by_value):
            self.space |= {f"e{n}": [self.holders[i].owner for i in self.bulk[key]], f"f{n}": key[1]}
            if key[0] == "keys":
                sizes = f"list(map(len, e{n})) == l{n} and " if key[1] is None else ""
                self.terms.append(f"{sizes}list(each(e{n})) == w{n}")
            else:
                read = f"join(e{n})" if key[1] is _BUFFER else f"list(map(f{n}, e{n}))"
                self.terms.append(f"{read} == w{n}")

    def _source(self, name: str, key: tuple[Any, ...]) -> str:
        """Return the source of an iterator over what holders of one kind hold now."""
        kind, *names = key
        holders = [self.holders[i] for i in self.bulk[key]]
        if kind in ("items", "values"):
            self.space[name] = [part for h in holders for part in _parts(h)]
            return f"each({name})"
        if kind == "iterated":
            self.space[name] = [part for h in holders for part in (*h.names, tuple)]
            self.space[f"{name}f"] = [part for h in holders for part in (*[h.owner] * len(h.names), (_MARK,))]
            return f"each(map(call, {name}, {name}f))"
        self.space[name] = [h.owner for h in holders]
        if kind not in _GETTERS:
            return f"map({kind}, {name})"
        self.space[f"{name}f"] = _GETTERS[kind](*names[0])
        return ("map({0}f, {0})", "each(map({0}f, {0}))")[len(names[0]) > 1].format(name)

    def compile(self, compare: Callable[[], bool]) -> Callable[[], bool]:
        """Return the test, which goes on to compare with care where identities differ."""
        self.space["compare"] = compare
        condition = " and ".join(self.terms) or "True"
        lines = ["def holds():", "    try:", f"        if {condition}:", "            return True"]
        lines += ["    except Exception:", "        pass", "    return compare()"]
        exec("\n".join(lines), self.space)
        holds: Callable[[], bool] = self.space["holds"]
        return holds

    def set(self, before: Sequence[Sequence[Any]]) -> None:
        """Compare with these values from now on."""
        self.space |= {name: before[i][j] for name, i, j in self.singles}
        self.space |= {name: list(before[i]) for name, i in self.wholes}
        for n, key in enumerate(self.identical):
            held = [x for i in self.bulk[key] for x in _with_mark(self.holders[i], before[i])]
            self.space |= {f"s{n}": held, f"c{n}": len(held), f"a{n}": np.fromiter(held, _ANY, len(held)).tobytes()}
        self._set_values(before)

    def _set_values(self, before: Sequence[Sequence[Any]]) -> None:
        """Take the values of what is compared by value in bulk."""
        for n, key in enumerate(self.by_value):
            if key[0] == "keys":
                self.space[f"l{n}"] = [len(before[i]) for i in self.bulk[key]]
                self.space[f"w{n}"] = [name for i in self.bulk[key] for name in before[i]]
            else:
                values = [before[i][key[2]] for i in self.bulk[key]]
                self.space[f"w{n}"] = b"".join(values) if key[1] is _BUFFER else values


_FEW_KEYS = 8  # up to this many, asking for each one takes less time than a list of all
_FEW_IDENTITIES = 48  # above this the comparison of addresses is faster
_BY_IDENTITY = "all(map(is_, {source}, s{n}))"
_BY_ADDRESS = "addresses({source}, any, c{n}).tobytes() == a{n}"
_WRITTEN = {
    "variables": "{0}[{1!r}]",
    "attributes": "{0}[{1!r}]",
    "fields": "{0}.{1}",
    "type": "type({0})",
    "call": "{0}()",
}
_WRITTEN["values"] = _WRITTEN["attributes"]
_GETTERS: dict[str, Any] = {"fields": operator.attrgetter, "attributes": operator.itemgetter}
_BY_VALUE = {"keys", "shape", "content"}
_SHAPE: Any = operator.attrgetter("shape")
_DTYPE: Any = operator.attrgetter("dtype")
_BUFFER: Any = memoryview  # stands for: read all in one join
_WRITTEN_VALUES = {
    _SHAPE: "o{i}.shape == v{i}_{j}",
    _DTYPE: "o{i}.dtype is v{i}_{j}",
    _BUFFER: "o{i}.tobytes() == v{i}_{j}",
}
_ANY = np.dtype(object)  # whose elements are addresses: one comparison of bytes for many identities


def _is_few(key: tuple[Any, ...], group: Sequence[int]) -> bool:
    return key[0] == "variables" or len(group) <= _INLINE


def _is_joined(owner) -> bool:
    """Return True for an array whose bytes can be joined with others: its shape and dtype are compared before."""
    if type(owner) is not np.ndarray or not owner.flags.c_contiguous:
        return False
    try:
        return len(b"".join([owner.data])) == owner.nbytes
    except (ValueError, BufferError):  # dates have no buffer
        return False


def _bytes_of(buffer) -> np.ndarray:
    """Return an array of the bytes of a buffer, or no bytes where these do not lie side by side."""
    view = memoryview(buffer)
    return np.frombuffer(view if view.c_contiguous and view.nbytes else b"", np.uint8)


def _parts(holder: Holder) -> list[Any]:
    """Return what to iterate over for the members of a container, or for the values of a namespace."""
    owner = holder.owner
    if holder.kind == "attributes":  # their number is that of the keys, which are compared too
        return [owner.values()]
    return [owner, owner.values(), (_MARK,)] if isinstance(owner, dict) else [owner, (_MARK,)]


def _with_mark(holder: Holder, members: Sequence[Any]) -> Sequence[Any]:
    return [*members, _MARK] if holder.kind in ("items", "iterated") else members


# -- texts

_BRACKETS = {tuple: ("(", ")"), set: ("{", "}"), frozenset: ("{", "}")}


def _text_of_all(holder: Holder, members: Sequence[Any]) -> str:
    """Return what a holder held as it prints."""
    if holder.kind == "content":
        return _text(_array(holder.owner, members[0]) if holder.names[0] in BYTES else holder.owner)
    if holder.kind == "shape":
        return _short(f"{members[1]}{list(members[0])}")
    if holder.kind not in ("items", "iterated"):
        return _text(members[0])
    parts = [_repr(m) for m in members]
    if isinstance(holder.owner, dict):
        pairs = zip(parts[: len(parts) // 2], parts[len(parts) // 2 :], strict=True)
        return _short(f"{{{', '.join([f'{key}: {value}' for key, value in pairs])}}}")
    left, right = next((b for k, b in _BRACKETS.items() if isinstance(holder.owner, k)), ("[", "]"))
    return _short(f"{left}{', '.join(parts)}{right}")


def _array(owner, content: bytes):
    """Return the elements of an array as they were."""
    if not has_type(owner, np.ndarray) or len(content) != owner.nbytes:
        return content
    return np.frombuffer(content, owner.dtype).reshape(owner.shape).tolist()


def _text(value) -> str:
    """Return a number or a small container as it prints, and anything else by its type."""
    if value is UNBOUND:
        return "not bound"
    if has_type(value, (*_NUMBERS, dict, list, tuple, set)):
        return _short(_repr(value))
    return str(getattr(value, "__name__", type(value).__name__))


def _repr(value) -> str:
    """Return the value as it prints, or its type where that fails: for traced values that outlived their trace."""
    try:
        return repr(value)
    except Exception:
        return type(value).__name__


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


_OFTEN = {"content": 3}  # changes of one thing, each traced again, after which a line says so
_OFTEN_OTHERWISE = 10
_SETTERS = {"setattr", "delattr", "__dict__", "vars", "globals", "exec", "__setattr__"}
_PERSISTENT = 3  # traces that change a container by code that is not seen, until the change counts as their own
_STATES: weakref.WeakSet[CapturedState] = weakref.WeakSet()


class CapturedState:
    """State that one function reads besides its arguments; `version` counts the changes from outside."""

    def __init__(self, function: Callable[..., Any] | Roots, name: str) -> None:
        self.function, self.name = function, name
        self.version: int = 0
        self.watch: Watch | None = None
        self._interfered: list[Change] = []  # changes by other threads while the function was traced
        self._in_full: set[int] = set()  # ids of large arrays whose values Python may have read
        self._said: set[str] = set()
        self._often: Counter[str] = Counter()
        self._unexplained: Counter[str] = Counter()
        _STATES.add(self)

    def holds(self) -> bool:
        """Return True if all of it is as it was when the latest trace ended."""
        return self.watch is None or (not self._interfered and self.watch.is_unchanged())

    def test(self) -> Callable[[], bool] | None:
        """Return the fastest form of `holds`, for as long as no trace begins; None if nothing is watched."""
        if self.watch is None or self._interfered:
            return self.holds
        return self.watch.holds if self.watch.holders else None

    def changes(self) -> list[Change]:
        """Return what is not as it was."""
        return [*self._interfered, *([] if self.watch is None else self.watch.changes())]

    def labels(self) -> list[str]:
        """Return the paths of what is watched."""
        return [] if self.watch is None else self.watch.labels()

    def arrays(self) -> Sequence[tuple[str, np.ndarray]]:
        """Return the arrays that the function reaches, each with its path; a buffer is an array of its bytes.

        No such array may be kept: its buffer could not change its size meanwhile.
        """
        arrays = () if self.watch is None else self.watch.arrays
        return [(label, x if has_type(x, np.ndarray) else _bytes_of(x)) for label, x in arrays]

    def unwatched(self) -> Sequence[Unwatched]:
        """Return what the function reaches and changes unnoticed."""
        return () if self.watch is None else self.watch.unwatched

    def reaches(self, value: Any) -> bool:
        """Return True if the function can reach the object."""
        return self.watch is not None and id(value) in self.watch.ids

    def renew(self) -> None:
        """Begin a new version after changes from outside."""
        for change in self.changes():
            self._count(change)
        self.version += 1
        self.watch, self._interfered = None, []

    def take(self) -> Watch:
        """Return the snapshot; take one if there was none, or if changes from outside began a new version."""
        if self.watch is None:
            self.watch = watch(self.function, self._in_full)
            self._say_unwatched(self.watch)
        return self.watch

    @contextmanager
    def tracing(self) -> Iterator[Watch]:
        """Take the snapshot at the end of a trace, also of one that fails, and tell its changes from others.

        Yields a snapshot from before the trace.
        """
        before = self.watch
        if before is None or not before.is_unchanged():
            before = watch(self.function, self._in_full)
        try:
            yield before
        finally:
            if before.is_unchanged():
                self.watch = before
            else:
                changes = before.changes()
                self.watch = watch(self.function, self._in_full)
                self._own(changes)
            self._say_unwatched(self.watch)

    def compare_in_full(self, ids: set[int]) -> None:
        """Compare large arrays of these ids by content from now on."""
        if not ids <= self._in_full:
            self._in_full |= ids
            self.watch = watch(self.function, self._in_full)

    # -- changes that a trace makes itself

    def _own(self, changes: Sequence[Change]) -> None:
        """Tell which changes the trace made itself: other states take them over, and one line names each."""
        lines = [changing_line(self._codes, _last_name(c)) for c in changes]
        alone = threading.active_count() == 1
        own, self._interfered = [], []
        for change, line in zip(changes, lines, strict=True):
            if alone or self._is_explained(change, line):
                own.append(change)
                self._say_own(change, line)
            else:
                self._interfered.append(change)
        owners = frozenset([id(c.holder.owner) for c in own])
        for other in [s.watch for s in _states() if s is not self]:
            if other is not None and not owners.isdisjoint(other.owners):  # few of thousands
                other.accept(own)

    @property
    def _codes(self) -> list[types.CodeType]:
        return [] if self.watch is None else self.watch.codes

    def _say_own(self, change: Change, line: Line | None) -> None:
        is_memo = line is None and "._" in change.label  # of a class whose code the function does not show
        if is_memo or isinstance(change.now, types.ModuleType):  # imported while the function was traced
            return
        text = f"{change.label} changes while the function is traced, which happens once per trace, not once per call"
        advice = "return the new value, and pass it to the next call"
        self._say(
            change.label, f"{text}\n  {advice}", StateWarning, line or naming_line(self._codes, _last_name(change))
        )

    def _is_explained(self, change: Change, line: Line | None) -> bool:
        """Return True if code of the function made the change, and not another thread meanwhile."""
        named = change.holder.kind in ("variables", "attributes", "keys", "fields")
        setters = self.watch is not None and not _SETTERS.isdisjoint(self.watch.names)
        if line is not None or (named and (setters or self._is_cached_property(change))):
            return True
        if isinstance(change.now, types.ModuleType):
            return True
        self._unexplained[change.label] += 1
        return not named and self._unexplained[change.label] >= _PERSISTENT

    def _is_cached_property(self, change: Change) -> bool:
        """Return True for an attribute that a `cached_property` of the class sets at its first use."""
        things = [] if self.watch is None else self.watch.things
        owners = [type(x) for _, x in things if dict_of(x) is change.holder.owner]
        return any(isinstance(of_class(owner, change.name), functools.cached_property) for owner in owners)

    # -- warnings

    def _count(self, change: Change) -> None:
        """Say once that something changes between calls again and again."""
        self._often[change.label] += 1
        if self._often[change.label] >= _OFTEN.get(change.holder.kind, _OFTEN_OTHERWISE):
            text = f"{change.label} changes between calls, and each change causes a new trace\n  pass it as an argument"
            at = naming_line(self._codes, _last_name(change))
            self._say(f"{change.label} often", text, RetraceWarning, at)

    def _say_unwatched(self, now: Watch) -> None:
        if now.is_full:
            text = str(next(u for u in now.unwatched if "not watched, as" in u.why))
            self._say("full", text, UnwatchedStateWarning, None)

    def _say(self, key: str, text: str, category: type[AnyshapeWarning], line: Line | None) -> None:
        """Warn once of a thing, at a line of the function, the first one if no other is known."""
        if key not in self._said:
            self._said.add(key)
            code, number = line or (self._codes[0], self._codes[0].co_firstlineno) if self._codes else (None, 0)
            where = None if code is None else SourceLine(code.co_filename, number, code.co_name)
            tell(f"{self.name}: {text}", category, where)


def _states() -> list[CapturedState]:
    """Return all states, listed at once, as threads make others meanwhile."""
    references = list(_STATES.data)  # type: ignore[attr-defined]
    return [state for state in [reference() for reference in references] if state is not None]


def static_state(state: CapturedState, values: Mapping[str, Any], in_full: Collection[str]) -> CapturedState:
    """Return what a function and static arguments reach together; it says nothing that `state` of the function said."""
    function = state.function if isinstance(state.function, Roots) else {"": state.function}
    without = function.without if isinstance(function, Roots) else frozenset[tuple[int, str]]()
    static = CapturedState(Roots({**function, **values}, without, in_full), state.name)
    static._said = state._said
    return static


def _last_name(change: Change) -> str:
    """Return the name by which code refers to what has changed: `history` of `self.history[0]`."""
    if isinstance(change.name, str) and change.name:
        return change.name
    return change.label.partition("[")[0].rpartition(".")[2]
