"""Loops of code that is read, as loops of the program.

A body is a function inside of the user's function, with which it shares variables. The variables that an iteration
binds and that are read later are carries. Arrays that it only writes to stay outside, as the loop carries memory.

What is not proved to mean the same is run as it is written: `refuse` gives the signal for that.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError, CarryMismatchError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.prover.user_stack import is_user_frame
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.numpy.operands import memory
from anyshape.numpy.operands.concrete import ConcreteArray
from anyshape.numpy.operands.promotion import dtype_of, is_weak
from anyshape.numpy.sizes.size_operands import as_size
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.ops import elementwise as ew
from anyshape.ops import loops as lp
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized_op
from anyshape.ops.creation import full, iota
from anyshape.ops.movement import broadcast_in_dim_op
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.row_lists import Inner
from anyshape.tracing.source.read import NotKept, Session
from anyshape.tracing.trace import active_builder, as_value, kind_of
from anyshape.transforms.control_flow.iterables import Items, is_open
from anyshape.transforms.control_flow.kept_choices import (
    UNSET,
    Cell,
    Cells,
    Frame,
    Maybe,
    Member,
    cells_of,
    fixed,
    get,
    is_alone,
    put,
    shared_outside,
    zeros_like,
)
from anyshape.transforms.control_flow.kept_lists import Growth, KeptList, LoopLists, closed, opened, rows_of
from anyshape.transforms.control_flow.kept_objects import (
    MEMBERED,
    MembersFoundError,
    containers,
    held_by,
    keys_of,
    note_copies,
    refuse,
    regroup,
    watched,
)
from anyshape.transforms.control_flow.loop_tracing import CarryLoop
from anyshape.transforms.control_flow.loops import _check_draws, _range, _Rows, _test, counter_of
from anyshape.transforms.control_flow.pieces import Pieces

UNROLLED = 16  # iterations of a known number up to which a loop, or a nest of loops, is unrolled
UNROLLED_AROUND = 4  # iterations of a loop around another one


class Facts(NamedTuple):
    """Facts of a loop or a choice that analysis knows.

    - `bound`: names that it binds, `later` those that are read before they are bound again, `after` those after it.
    - `in_place`: names that it binds by `x += y` alone, `stops`: flags that end it, `written`: names of arrays, and
      `grown` of lists that it appends to.
    - `nests` says that it has a loop inside, `plain` why it is run as it is written.
    """

    bound: tuple[str, ...]
    later: tuple[str, ...]
    after: tuple[str, ...]
    in_place: tuple[str, ...]
    stops: tuple[str, ...]
    written: tuple[str, ...]
    grown: tuple[str, ...]
    nests: bool
    plain: str


NO_FACTS: Facts = Facts((), (), (), (), (), (), (), nests=False, plain="")


class Learned:
    """Facts that traces of a body found out, from which the next one starts."""

    def __init__(self) -> None:
        self.types: dict[str, Any] = {}  # trees of arrays in variables that have no value before the loop
        self.holders: list[Any] = []  # of members of objects that iterations change
        self.rebound: set[str] = set()  # variables of arrays that are not only written to
        self.memories: list[memory.Memory] = []
        self.growth: dict[int, Growth] = {}  # of lists that iterations read
        self.relisted: set[str] = set()  # variables that iterations bind to other lists
        self.strong: set[str] = set()  # of these, those whose items are numbers of NumPy after an iteration
        self.places: list[Member] = []  # of lists in objects to which iterations append
        self.grows_deques = False  # iterations change the lengths of deques
        self.by_members: set[str] = set()  # variables of containers that branches change


class KeptLoop:
    """Loop of code that is read in the active trace."""

    def __init__(
        self,
        session: Session,
        body: Callable[..., None],
        facts: Facts,
        cells: Cells | None = None,
        code: types.CodeType | None = None,
    ) -> None:
        self.session, self.body, self.source = session, body, body
        self.code: types.CodeType = body.__code__ if code is None else code
        self.learned: Learned = session.learned.setdefault(self.code, Learned())
        self.holders = [*self.learned.holders]
        self.keys = [keys_of(holder) for holder in self.holders]
        self.members = {
            f".{id(holder)}.{key}": Member(holder, key)
            for holder, keys in zip(self.holders, self.keys, strict=True) for key in keys
        }  # fmt: skip
        names = (*facts.bound, *self.members), (*facts.later, *self.members), (*facts.after, *self.members)
        self.facts = facts = facts._replace(bound=names[0], later=names[1], after=names[2])
        self.cells: Cells = {**(cells_of(body) if cells is None else cells), **self.members}
        self._take_lists()
        self.alone = {name: is_alone(session, self.cells[name]) for name in facts.bound}
        self.start: dict[str, Any] = {name: get(self.cells[name]) for name in facts.bound}
        self.fixed: dict[str, Any] = {}
        self.staying: set[str] = set()  # names in `fixed` that become carries if an iteration binds them anew
        self.is_complete = True  # whether all variables have a type
        self.aliases: list[memory.Memory] = []
        self.tied: set[str] = set()  # variables whose arrays may have another name after an iteration
        self.passed: set[str] = set()  # variables that may hold an array of before an iteration
        self.overwritten: list[memory.Memory] = []  # of arrays before the loop, by iterations
        self.may_be_apart = True  # the first iteration, if there surely is one
        self.length: Any = None
        self.written: set[str] = set()  # variables whose arrays iterations write to
        self.lists = LoopLists(self, self.learned.growth)
        self.trees = self._trees()
        self.carries = self._carried() | self.trees

    def refused(self, why: str) -> NotKept:
        """Return the signal to run the loop as it is written."""
        return refuse(self.session, self.code, why)

    # -- carries

    def _carried(self) -> dict[str, Any]:
        """Return the values of the variables that are carries, before the loop."""
        carries: dict[str, Any] = {}
        for name in self.facts.later:
            value = self.start[name]
            if value is UNSET:
                if name in self.learned.types:
                    carries[name] = Maybe(self._placeholder(name), full((), False, bool))
            elif isinstance(value, Maybe):
                carries[name] = value
            elif name in self.learned.relisted:
                carries[name] = self._as_rows(name, value)
            elif name not in self.learned.rebound and self._may_stay(name, value):
                self.fixed[name] = value
                self.staying.add(name)
            elif self._is_tree(value) and not (name in self.members and type(value) in MEMBERED):
                carries[name] = value
            else:
                self.fixed[name] = value
        return carries

    def _as_rows(self, name: str, items: Any) -> Any:
        """Return a list as a tree of its rows, which iterations bind a variable to anew."""
        weak = all(map(is_weak, items)) if type(items) is list else None
        rows = closed(items) if type(items) is KeptList else Inner(rows_of(items, self.code), self.code, weak)
        return rows.with_weak(False) if name in self.learned.strong else rows

    def _take_lists(self) -> None:
        """Let variables and members hold lists of rows where iterations append or write to lists."""
        grown, dead = {*self.facts.grown}, {*self.facts.bound} - {*self.facts.later}
        names = sorted(({*self.facts.written} | grown) & self.cells.keys() - dead)
        grown_kinds = (list, deque) if self.learned.grows_deques else (list,)
        for member in self.learned.places:
            if type(get(member)) in grown_kinds and not self._is_own(member):
                raise self.refused("a list that it appends to is held elsewhere, too")
        own: list[tuple[Cell, bool]] = [(cell, False) for cell in self.learned.places]
        own += [(self.cells[name], name not in grown) for name in names if self._is_own(self.cells[name])]
        for cell, is_written_alone in own:
            self._take_list(cell, grown_kinds, is_written_alone)

    def _take_list(self, cell: Cell, kinds: tuple[type, ...], is_written_alone: bool) -> None:
        """Let a variable hold a list of rows, if it holds a list or a deque of such kinds that may be one."""
        items: Any = get(cell)
        limit = items.maxlen if type(items) is deque else None
        if type(items) not in kinds or limit == 0 or (is_written_alone and not _is_uniform(items)):
            return
        weak = all(map(is_weak, items)) if items else None
        put(cell, KeptList(rows_of([*items], self.code), self.code, weak=weak, kind=type(items), limit=limit))

    def _is_own(self, cell: Cell) -> bool:
        """Return whether a container is known to one variable alone, and to bodies around the loop that made it."""
        held = sum(id(get(cell)) in frame.made for frame in self.session.frames)
        held += held_by(self.session, get(cell))
        return type(get(cell)) in MEMBERED and sys.getrefcount(get(cell)) <= 2 + held

    def _trees(self) -> dict[str, Any]:
        """Return the containers that iterations write to, and that one variable holds: their parts are carries."""
        names = {name for name in self.facts.written if name in self.cells} - {*self.facts.bound}
        names -= self.learned.by_members
        values = {name: get(self.cells[name]) for name in names if self._is_own(self.cells[name])}
        return {name: value for name, value in values.items() if self._is_tree(value) and self._has_own_parts(value)}

    def _has_own_parts(self, value: Any) -> bool:
        """Return whether each container in one is known to that alone."""
        for x in [x for x in containers(value) if x is not value]:
            held = sum(id(x) in frame.made for frame in self.session.frames) + held_by(self.session, x)
            if sys.getrefcount(x) > 4 + held:  # the container, the list, `x`, and the call that counts
                return False
        return True

    def _may_stay(self, name: str, value: Any) -> bool:
        """Return whether iterations may only write to an array, or leave a member as it is, as a setting."""
        is_array = getattr(value, "is_array", False) or has_type(value, ConcreteArray)
        if name in self.members:
            return bool(is_array) or type(value) in (bool, int, float)
        return bool(is_array) and name in self.facts.in_place

    @staticmethod
    def _is_tree(value: Any) -> bool:
        """Return whether a value is a tree of arrays and numbers."""
        if isinstance(value, SymbolicSize):
            return True
        leaves = pytrees.flatten(value)[0]
        return bool(leaves) and all(pytrees.is_array(x) and not getattr(x, "dtype", _BOOL).hasobject for x in leaves)

    def _placeholder(self, name: str) -> Any:
        tree, metas = self.learned.types[name]
        return pytrees.unflatten(tree, [zeros_like(self.session, meta, kind, name, self.code) for meta, kind in metas])

    # -- one iteration

    def iterate(self, carries: dict[str, Any], run: Callable[[], None], k: Any = None) -> dict[str, Any]:
        """Return the carries after an iteration, which `run` makes."""
        rows = {name: carries.pop(name) for name in [*carries] if name not in self.carries}
        for name in {*self.facts.bound, *carries}:  # a member keeps its place in its object
            put(self.cells[name], opened(carries[name]) if name in carries else self.fixed.get(name, UNSET))
        arrays = [(name, x, x.value) for name, x in _named(carries)]
        frame = self._frame(carries)
        outer, self.session.members = self.session.members, {**self.session.members, **self.members}
        self.session.frames.append(frame)
        self.lists.begin(rows, k)
        try:
            with watched(self.session, lambda: [*map(get, self.cells.values()), self.source]):
                run()
            self._check_fixed()
        finally:
            levels = self.lists.end()
            self.session.frames.pop()
            self.session.members = outer
        rows = self.lists.after(levels)
        if [*map(keys_of, self.holders)] != self.keys:
            raise self.apart("an object gets or loses members in it")
        after = {name: self._after(name, carries[name]) for name in carries}
        self._learn_types(carries)
        self._check_aliases(arrays, after, _named({"": [p.value for level in levels for p in level.new]}))
        return after | rows

    def _frame(self, carries: Mapping[str, Any]) -> Frame:
        """Return the frame of an iteration, which may change containers that are carries."""
        frame = Frame(self.code, [self.cells[name] for name in self.facts.bound], self)
        frame.made = {id(x): x for x in containers(*carries.values())}
        self._note_copies(carries)
        return frame

    def _note_copies(self, values: Mapping[str, Any]) -> None:
        """Note containers that may have other names than a variable of the loop."""
        for name, x in values.items():
            if name not in self.trees:
                note_copies(self.session, x, self.code)

    def _after(self, name: str, before: Any) -> Any:
        value = get(self.cells[name])
        if value is UNSET:
            raise self.refused(f"{name} may have no value after an iteration")
        if name in self.learned.relisted:
            value = self._relisted(name, closed(value))
        if isinstance(before, Maybe):
            return value if isinstance(value, Maybe) else Maybe(value, full((), True, bool))
        if isinstance(value, Maybe):
            raise self.refused(f"{name} may have no value after an iteration")
        if pytrees.flatten(value)[1] != pytrees.flatten(self.carries[name])[1]:
            raise self.apart(f"{name} has other parts after an iteration")
        return value

    def _relisted(self, name: str, new: Any) -> Any:
        """Return the rows of a list after an iteration; before, they may be numbers of Python and after it NumPy's."""
        old = self.carries[name]
        if not (type(new) is type(old) is Inner and new.weak is not old.weak):
            return new
        are_floats = all(x.dtype == np.float64 for x in (*pytrees.flatten(new)[0], *pytrees.flatten(old)[0]))
        if old.weak and are_floats:
            self.learned.strong.add(name)
            self.is_complete = False
        return new.with_weak(old.weak) if are_floats else new

    def _check_fixed(self) -> None:
        """Raise unless variables that are not carries hold what they held."""
        for name in self.fixed:
            now = get(self.cells[name])
            is_grown = type(now) is KeptList and now.origin is self.fixed[name]
            if fixed(now, self.fixed[name]) or (is_grown and self._becomes(name, now)):
                continue
            if name in self.staying or (type(now) is KeptList and has_type(self.fixed[name], (list, KeptList))):
                (self.learned.rebound if name in self.staying else self.learned.relisted).add(name)
                self.is_complete = False
                for inner in self.session.learned.values():  # there are more lists, by which these are numbered
                    inner.growth.clear()
            else:
                raise self.apart(f"{name} is another object after an iteration")

    def _becomes(self, name: str, new: KeptList) -> bool:
        """Let a list be the one that `name + [...]` gave, if nothing else holds it; return whether that is so."""
        holders = [value for holder in self.session.holders for value in holder.values()]
        held = sum(value is self.fixed[name] for value in holders) + sum(
            f.loop is not None for f in self.session.frames
        )
        del holders
        if sys.getrefcount(self.fixed[name]) > 3 + held:  # the call, `new`, and the session
            return False
        self.fixed[name].levels[-1] = new.levels[-1]
        return True

    def zeros(self, meta: TensorMeta) -> Any:
        """Return zeros of a type in the active trace, for items that iterations append."""
        return zeros_like(self.session, meta, None, "a list", self.code)

    def learn_place(self, holder: Any, key: Any) -> bool:
        """Learn that iterations append to a list that is a member of an object; return whether that is new."""
        if any(member.holder is holder and member.key == key for member in self.learned.places):
            return False
        self.learned.places.append(Member(holder, key))
        self.learned.grows_deques = self.learned.grows_deques or type(holder[key]) is deque
        self.is_complete = False
        return True

    def ended_by(self, error: BaseException) -> NotKept:
        """Return the signal for an error that ends the trace of the body."""
        text = str(error) if isinstance(error, AnyshapeError) else f"{type(error).__name__}: {error}"
        text = text.partition("\n")[0]
        # of a variable that the first iteration binds, or makes an array with axes, perhaps
        may_go = isinstance(error, (NameError, CarryMismatchError)) or self._is_empty()
        return self.apart(text) if may_go else self.refused(text)

    def _is_empty(self) -> bool:
        """Return whether this call has no iteration, as for `x[k % len(x)]` of an empty array."""
        is_size = has_type(self.length, SymbolicSize)
        return is_size and not self.session.frames and not self.length > 0

    def learn_holder(self, holder: Any) -> bool:
        """Learn that iterations change the members of an object; return whether that is new."""
        if any(holder is known for known in self.learned.holders):
            return False
        if type(holder) is deque and len(holder) != holder.maxlen and not self.learned.grows_deques:
            self.learned.grows_deques = True
        else:
            self.learned.holders.append(holder)
        self.is_complete = False
        return True

    def apart(self, why: str) -> NotKept:
        """Return the signal to run the first iteration apart, the one to unroll the loop if that is done."""
        is_inside = any(f.code is not self.code for f in self.session.frames)
        is_last = self.code in self.session.apart or (is_inside and not has_type(self.length, (int, SymbolicSize)))
        return NotKept(self.code, why, apart=not is_last and self.may_be_apart)

    def _learn_types(self, carries: dict[str, Any]) -> None:
        """Learn the types of variables that an iteration binds first."""
        for name in self.facts.later:
            if name in carries or name in self.fixed:
                continue
            value = get(self.cells[name])
            if value is UNSET:
                continue
            value = value.value if isinstance(value, Maybe) else value
            if not self._is_tree(value):
                if name in self.facts.after:
                    raise self.refused(f"{name} is no array after the loop")
                continue
            leaves, tree = pytrees.flatten(value)
            values = [name_sizes(as_value(x)) for x in leaves]
            self.learned.types[name] = tree, [(x.meta, kind_of(x)) for x in values]
            self.is_complete = False

    def _check_aliases(self, arrays: Sequence[tuple[str, Any, Any]], after: dict[str, Any], items: list[Any]) -> None:
        """Raise where arrays that an iteration writes to may have other names, or be items, which would not see it."""
        ends, starts = [*_named(after), *items], _named({name: self.start.get(name) for name in after})
        self.written |= (written := _written(arrays, ends))
        doubled = _doubled(ends)
        if written & (doubled | _doubled(starts)):
            raise self.refused("two names stand for one array that an iteration writes to")
        outside = [(name, m) for name, x in ends for m in shared_outside([x])]
        writes = active_builder().writes or {}
        if any(m in writes or name in written for name, m in outside):
            raise self.refused("a name stands for an array around it, which an iteration writes to")
        self.aliases, self.tied = [m for _, m in outside], doubled | {name for name, _ in outside}
        self.passed = _shared(ends, [x for _, x, _ in arrays])

    # -- memory

    def check_outside(self, carries: CarryLoop, further: Sequence[Any], length: Any) -> None:
        """Learn what memory iterations write to, and raise where the program would mean something else than Python."""
        self.learned.memories = list(carries.memories)
        captured = [x for x in further if isinstance(x, Traced)]
        taking_part = [*carries.init, *[m.current for m in carries.memories], *captured]
        if (length is None or has_type(length, int)) and not any(map(_is_open_value, taking_part)):
            raise self.refused("no traced value takes part")
        self._check_starts([x.value for x in captured])

    def _check_starts(self, captured: Sequence[Any]) -> None:
        """Raise where an iteration writes to arrays that have other names before the loop."""
        for _, x in _leaves({name: self.carries[name] for name in self.written}):
            if has_type(x, np.ndarray) and not isinstance(x, Traced) and x.ndim:
                raise self.refused("an iteration writes to an array that the program does not hold")
            if not getattr(x, "is_array", False):
                continue
            m = memory.memory_of(x)
            if m.frozen is not None:
                raise m.frozen
            if memory.is_of_caller(m) or any(x.value is value for value in captured):
                raise self.refused("an iteration writes to an array and binds its name to another one")
            self.overwritten.append(m)

    def stopped(self, values: Mapping[str, Any]) -> Any:
        """Return whether a flag ends the loop."""
        stopped = full((), False, bool)
        for name in self.facts.stops:
            flag = values[name]
            flag = ew.logical_and(_as_bool(flag.value), flag.is_set) if isinstance(flag, Maybe) else _as_bool(flag)
            stopped = ew.logical_or(stopped, flag)
        return stopped

    def restart(self) -> None:
        """Let variables have the values before the loop, and let go of containers: who holds one is counted."""
        for holder, keys in zip(self.holders, self.keys, strict=True):
            regroup(holder, {key: self.start[f".{id(holder)}.{key}"] for key in keys})
        for name, value in {**self.start, **self.trees}.items():
            put(self.cells[name], value)
        for held in (self.holders, self.start, self.trees, self.carries, self.fixed, self.lists.lists):
            held.clear()

    def leave(self, results: Mapping[str, Any], length: Any = None) -> None:
        """Leave the values after the loop in the variables."""
        for name in self.trees:
            put(self.cells[name], results[name])
        for m in self.overwritten:
            m.lent = self.refused("an array has another name, which sees what an iteration writes")
            m.set(m.current)
        for name in self.facts.bound:
            put(self.cells[name], opened(results.get(name, self.fixed.get(name, UNSET))))
        self._note_copies(results)
        self._freeze(results, length)

    def _freeze(self, results: Mapping[str, Any], length: Any) -> None:
        """Refuse writes to arrays that may have two names after the loop."""
        shared = _named({name: x for name, x in self.start.items() if not self.alone[name]})
        if shared and (self.passed or not (has_type(length, int) and length > 0)):  # these may be the results
            self.aliases += [memory.memory_of(x) for _, x in shared]
            self.tied |= {*self.passed, *dict(shared)}
        if arrays := [x for name, x in _named(results) if name in self.tied]:
            signal = self.refused("an array has two names after the loop, and is written to later")
            for m in (*self.aliases, *map(memory.memory_of, arrays)):
                m.frozen = signal


def _named(tree: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the arrays of variables, which may be written to, with the names of the variables."""
    return [(name, x) for name, x in _leaves(tree) if getattr(x, "is_array", False)]


def _leaves(tree: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, x) for name, value in tree.items() for x in pytrees.flatten(value)[0]]


def _is_written(x: Any, value: Any) -> bool:
    """Return whether an array has another value than it had at first, as its memory was written to."""
    return x.memory is not None and x.memory.current.value is not value


def _doubled(arrays: Sequence[tuple[str, Any]]) -> set[str]:
    """Return the names of arrays that have one memory with another one."""
    pairs = [(a, b) for i, (a, x) in enumerate(arrays) for b, y in arrays[:i] if _is_one(x, y)]
    return {name for pair in pairs for name in pair}


def _written(arrays: Sequence[tuple[str, Any, Any]], ends: Sequence[tuple[str, Any]]) -> set[str]:
    """Return the names of arrays that iterations write to: with the values that they had, and those at the end."""
    written = {name for name, x, value in arrays if _is_written(x, value)}
    while more := {a for a, x, _ in arrays for b, y in ends if b in written and _is_one(x, y)} - written:
        written |= more  # a later iteration writes to them by the names that they have after this one
    return written


def _shared(named: Sequence[tuple[str, Any]], others: Sequence[Any]) -> set[str]:
    """Return the names of arrays that have one memory with some others."""
    return {name for name, x in named if any(_is_one(x, y) for y in others)}


def _is_one(x: Any, y: Any) -> bool:
    return x is y or memory.shares(x, y)


def _is_open_value(x: Any) -> bool:
    """Return whether a value depends on arguments of the program."""
    return isinstance(x, SymbolicSize) or (isinstance(x, Traced) and x.builder.roots.get(x.value) != "constant")


_BOOL = np.dtype(bool)


def _is_uniform(items: list[Any]) -> bool:
    """Return whether a list has items of one type, which may be rows of an array."""
    if not items or not all(map(pytrees.is_array, items)):
        return False
    values = [as_value(x) for x in items]
    return len({(x.meta.rank, str(x.dtype)) for x in values}) == 1


class _Carries(CarryLoop):
    """Carries of a loop that is read, which knows what earlier traces of its body learned."""

    def __init__(self, loop: KeptLoop, init: Any) -> None:
        super().__init__("for", "the body", loop.body, init)
        known = [m for m in self._predicted(loop) if not memory.reached_by([m], self.init)]
        self.memories += known
        self.carries += [name_sizes(m.current) for m in known]

    def with_joined(self, results: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return what a trip gives besides the carries, and note how much of it the loop joins."""
        self.joined = len(pytrees.flatten(results[1])[0])
        return results

    @property
    def changes_dtypes(self) -> bool:
        """True if a variable has another dtype after an iteration than before the loop."""
        return any(dtype_of(x) != y.dtype for x, y in zip(self.init, self.carries, strict=False))

    @staticmethod
    def _predicted(loop: KeptLoop) -> list[memory.Memory]:
        """Return the memory that iterations are known to write to."""
        held = {id(x) for x in loop.carries.values()}
        named = _named({name: get(loop.cells[name]) for name in loop.facts.written if name in loop.cells})
        memories = [memory.memory_of(x) for _, x in named if isinstance(x, Traced) and id(x) not in held]
        return [*dict.fromkeys(m for m in (*memories, *loop.learned.memories) if memory.may_be_written(m))]


def kept_for(
    session: Session, items: Items, body: Callable[..., None], facts: Facts, cells: Cells, code: types.CodeType
) -> None:
    """Make a loop over items a loop of the program.

    Where iterations read what the first one alone finds without a value, or as another object, that one is run apart.
    """
    emit = _until if facts.stops else _over
    items.taken(code)
    if code in session.apart:
        if not items.length > 0:
            return
        first_apart(session, lambda: items.run(body, 0))
        if facts.stops and any(get(cells[name]) is True for name in facts.stops):
            return
        items = items.rest()
    _keep(session, lambda: KeptLoop(session, body, facts, cells, code), lambda loop: emit(loop, items))


def first_apart(session: Session, run: Callable[[], None]) -> None:
    """Run the first iteration of a loop before it, with the choices that it has in the loop."""
    was, session.choosing = session.choosing, True
    try:
        run()
    finally:
        session.choosing = was


def kept_while(
    session: Session, going: Any, test: Callable[[], Any], body: Callable[[], None], facts: Facts, cells: Cells
) -> None:
    """Make a loop on a condition, which is `going` before it, a loop of the program.

    Its condition is computed at the end of each iteration, so that variables which it binds have their values.
    """

    def run() -> Any:
        body()
        return test()

    def make() -> KeptLoop:
        loop = KeptLoop(session, body, facts, cells)
        loop.may_be_apart = not is_open(going)
        return loop

    if body.__code__ in session.apart and not is_open(going):
        first_apart(session, body)
        going = test()
        if not is_open(going) and not going:
            return

    _keep(session, make, lambda loop: _while(loop, going, run))


def _keep(session: Session, make: Callable[[], KeptLoop], emit: Callable[[KeptLoop], bool]) -> None:
    """Emit a loop, again if a trace of its body found that a further variable is a carry."""
    for _ in range(_MOST_TRACES):
        loop = make()
        held = [loop.start, loop.carries, loop.fixed]
        session.holders += held
        try:
            if emit(loop):
                session.in_program.append(loop.length)
                return
        except MembersFoundError:
            around = [frame.loop for frame in session.frames if frame.loop is not None]
            if loop.is_complete or not all(outer.is_complete for outer in around):
                loop.restart()
                raise
        except (Exception, SystemExit) as error:
            if isinstance(error, AnyshapeError) or not _is_own_mistake(error):
                raise loop.ended_by(error) from error
            raise
        finally:
            del session.holders[-len(held) :]
        loop.restart()
    raise refuse(session, loop.code, "each trace of it finds further variables")


_MOST_TRACES = 16  # of one body


def _is_own_mistake(error: BaseException) -> bool:
    """Return whether an error looks like one of this library: of a kind that user code alone raises otherwise."""
    line = error.__traceback__
    while line is not None and line.tb_next is not None:
        line = line.tb_next
    kinds = (AttributeError, KeyError, AssertionError, NameError)
    return line is not None and isinstance(error, kinds) and not is_user_frame(line.tb_frame)


def _over(loop: KeptLoop, items: Items) -> bool:
    """Emit a loop over all items; return False where its body has to be traced again."""
    loop.length = items.length
    carries = _Carries(loop, loop.carries | loop.lists.carries(items.length))
    _, count = _range(0, items.length)
    rows, pieces = _Rows("for", iota(count), None), Pieces()
    for batch in items.batches:
        loop.lists.batch = batch.batch
        pieces.add_batch(batch.batch.flat, batch.batch.sizes)

    def step(values: dict[str, Any], own: Sequence[Any]) -> tuple[Any, Any]:
        k = counter_of(rows.element(own[:1]), 0, count)
        for batch, example in zip(items.batches, pieces.examples(own[1:]), strict=True):
            batch.enter(k, example)
        after = loop.iterate(values, lambda: items.run(loop.body, k), k)
        return after, carries.with_joined(loop.lists.results())

    (body,), further = carries.trace(step, [*rows.elements, *pieces.types()])
    if not loop.is_complete:
        return False
    loop.check_outside(carries, further, items.length)
    is_first = not loop.session.frames
    if is_first and has_type(items.length, int) and _is_of_elements(body, items.length * loop.session.unrolled):
        raise loop.refused("its few iterations compute elements alone, so one pass over memory does them all")
    is_mixed = (carries.changes_dtypes and not items.batches) or loop.lists.mixes_dtypes
    if is_first and is_mixed and not items.length > 0:
        loop.leave(loop.carries)
        return True
    policy = lp.DEFAULT_POLICY.get()
    _check_draws("for", policy, body)
    read, lengths = pieces.operands()
    stacks = [*rows.stacks, *read]
    operands = [*carries.carries, *stacks, *further, *lengths]
    layout = lp.Layout(len(carries.carries), len(stacks) - len(lengths), len(lengths))
    params: dict[str, Any] = {"reverse": False, "joined": carries.joined, "checkpoint": policy}
    outputs = lp.scan_of_length(body, layout, rows.length, *operands, **params)
    results = carries.results(outputs)
    loop.leave(results, items.length)
    loop.lists.leave(results, carries.stacked(outputs))
    return True


def _is_of_elements(body: Graph, iterations: int) -> bool:
    """Return whether few iterations compute elements of arrays alone. As a loop, each would be a pass over memory."""
    is_small = iterations <= _MOST_FUSED and iterations * len(body.nodes) <= _MOST_NODES
    ops = {node.op for node in body.nodes} - {broadcast_in_dim_op, sized_op}
    return is_small and {op.family for op in ops} <= _OF_EACH and any(y.meta.rank for y in body.outputs)


_OF_EACH = {"elementwise", "special", "special_ufuncs", "creation"}  # families of ops that act on each element
_MOST_FUSED, _MOST_NODES = 64, 1000  # iterations, and nodes of all of them


def _until(loop: KeptLoop, items: Items) -> bool:
    """Emit a loop over items that flags may end before."""
    loop.length = length = items.length

    def step(values: dict[str, Any], own: Sequence[Any]) -> tuple[Any, Any]:
        k = counter_of(values.pop(_OWN), 0, as_size(length))
        after = {_OWN: k + 1, **loop.iterate(values, lambda: items.run(loop.body, k), k)}
        return after, carries.with_joined(loop.lists.results())

    def going(values: dict[str, Any]) -> Any:
        return ew.logical_and(_as_bool(values[_OWN] < length), ew.logical_not(loop.stopped(values)))

    carries = _Carries(loop, {_OWN: 0, **loop.carries, **loop.lists.carries(length)})
    return _emit_while(loop, carries, going, step, length)


def _while(loop: KeptLoop, going: Any, run: Callable[[], Any]) -> bool:
    def step(values: dict[str, Any], own: Sequence[Any]) -> tuple[Any, Any]:
        values.pop(_OWN)
        tests: list[Any] = []

        def iteration() -> None:
            tests.append(_as_bool(run()))

        after = loop.iterate(values, iteration)
        return {_OWN: tests[0], **after}, carries.with_joined(loop.lists.results())

    carries = _Carries(loop, {_OWN: _as_bool(going), **loop.carries, **loop.lists.carries(None)})
    return _emit_while(loop, carries, lambda values: values[_OWN], step, None)


_OWN = ""  # carry of the loop itself: its counter, or its condition


def _as_bool(x: Any) -> Any:
    """Return a condition as a traced bool."""
    if isinstance(x, SizeComparison):
        return x.as_array()
    if isinstance(x, SymbolicSize):
        return _as_bool(x.__ne__(0))
    if type(x) is KeptList:
        return _as_bool(x.length > 0)
    if not isinstance(x, Traced):
        return full((), bool(x), bool)
    return x if x.dtype.kind == "b" else ew.ne(x, ew.lift(0, x))


def _emit_while(loop: KeptLoop, carries: _Carries, going: Callable[[Any], Any], step: Any, length: Any) -> bool:
    (test, body), further = carries.trace(step, (), [_test(going)])
    if not loop.is_complete:
        return False
    loop.check_outside(carries, further, length)
    policy = lp.DEFAULT_POLICY.get()
    _check_draws("while", policy, test, body)
    count, params = len(carries.carries), dict[str, Any](joined=carries.joined, checkpoint=policy)
    outputs = lp.while_loop(test, body, count, *carries.carries, *further, **params)
    values = carries.results(outputs)
    own = values.pop(_OWN)
    loop.leave(values)
    without_mask = [*outputs[:count], *outputs[count + 1 :]]
    loop.lists.leave(values, carries.stacked(without_mask), own if length is not None else None)
    return True


def kept_list(session: Session, items: Items, fill: Callable[[KeptList, Any], None], code: types.CodeType) -> Any:
    """Return the list of a comprehension, which a loop of the program fills with what each item gives.

    Arrays of different sizes are a batch.
    """
    items.taken(code)
    result = KeptList(None, code)

    def make() -> KeptLoop:
        return KeptLoop(session, lambda item: fill(result, item), NO_FACTS, {}, code)

    _keep(session, make, lambda loop: _over(loop, items))
    return result if result.batch is None else result.batch


def kept_fold(
    session: Session, items: Items, body: Callable[[Any], None], result: types.CellType, code: types.CodeType
) -> Any:
    """Return what a variable holds after a loop of the program, whose body binds it alone."""
    items.taken(code)
    facts = NO_FACTS._replace(bound=("result",), later=("result",), after=("result",))
    _keep(session, lambda: KeptLoop(session, body, facts, {"result": result}, code), lambda loop: _over(loop, items))
    return result.cell_contents
