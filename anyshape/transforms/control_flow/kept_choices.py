"""Choices on traced values in code that is read: both branches become a conditional of the program.

Branches are functions inside of the user's function, which share its variables. Both run while traced, each from the
values that the variables had. What they leave there is merged for the variables that are read later.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.graph import raises
from anyshape.graph.prover.constraints import PREDICATE, Condition
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.numpy.operands import memory
from anyshape.numpy.operands.promotion import cast_operand, is_weak
from anyshape.ops import control_flow as cf
from anyshape.ops.control import name_sizes
from anyshape.ops.creation import full
from anyshape.ops.elementwise import logical_not
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.raised import Raise, RaisedBefore, Stated, UndescribableError, may_be_caught
from anyshape.tracing.source.read import NotKept, Session
from anyshape.tracing.trace import active_builder, as_value, is_stated, kind_of, standing_for
from anyshape.transforms.control_flow.conditionals import _predicate
from anyshape.transforms.control_flow.kept_lists import KeptList, Level, Piece
from anyshape.transforms.control_flow.kept_objects import held_by, note_copies, refuse
from anyshape.transforms.control_flow.loop_tracing import like_returned, promoted_type

Cell: TypeAlias = "types.CellType | Member"
Cells: TypeAlias = "Mapping[str, Cell]"


class _Unset:
    """Stands for the value of a variable that has none."""

    def __repr__(self) -> str:
        return "no value"


UNSET = _Unset()
ENDED = _Unset()  # of a variable after a branch that raises


class Maybe(NamedTuple):
    """Value of a variable that has one only if a traced condition holds."""

    value: Any
    is_set: Any


class Member:
    """Attribute or item of an object, which is like a variable to loops and choices that change the object."""

    def __init__(self, holder: Any, key: Any) -> None:
        self.holder, self.key = holder, key

    @property
    def cell_contents(self) -> Any:
        """Return what the member is; raise ValueError for nothing, as a variable does."""
        try:
            return self.holder[self.key]
        except LookupError:
            raise ValueError("the member is gone") from None

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        self.holder[self.key] = value

    @cell_contents.deleter
    def cell_contents(self) -> None:
        del self.holder[self.key]


class Frame:
    """Body or branch that is traced into the program: objects that it made, which it may change, and its variables.

    `loop` is the loop whose body it is, None for a branch.
    """

    def __init__(self, code: types.CodeType, cells: Iterable[Cell], loop: Any = None) -> None:
        self.code, self.cells, self.loop, self.is_choice = code, {*map(id, cells)}, loop, loop is None
        self.made: dict[int, Any] = {}


def get(cell: Cell) -> Any:
    """Return what a variable holds, UNSET for nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNSET


def put(cell: Cell, value: Any) -> None:
    """Let a variable hold a value, nothing for UNSET."""
    if value is not UNSET:
        cell.cell_contents = value
    elif get(cell) is not UNSET:
        del cell.cell_contents


def is_alone(session: Session, cell: Cell) -> bool:
    """Return whether one variable alone holds an array, so that no other name sees what is written to it."""
    x = get(cell)
    own = getattr(x, "memory", None) if isinstance(x, Traced) else None
    if own is not None and own.frozen is not None:  # as it may be one of another name
        return False
    if own is not None and (memory.is_of_caller(own) or sum(ref() is not None for ref in own.arrays) > 1):
        return False
    held = held_by(session, x)
    builder = active_builder()
    written = sum(x is value for b in builder.chain() for value in b.writable) if builder.parent is not None else 0
    return sys.getrefcount(x) <= 3 + held + written  # the variable, `x`, and the call that counts


def cells_of(*functions: Any) -> dict[str, Cell]:
    """Return the variables that functions inside of one share with it."""
    return {
        name: cell for f in functions if f is not None
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    }  # fmt: skip


def raise_of(session: Session | None, error: Exception, code: types.CodeType | None = None) -> Raise:
    """Return the node that raises an exception; refuse to keep a loop where that may mean something else."""
    if session is None:
        return Raise(error)
    if may_be_caught(error):
        raise refuse(session, code, "an exception of it may be caught")
    try:
        return Raise(error)
    except UndescribableError as problem:
        raise refuse(session, code, str(problem)) from error


def fixed(a: Any, b: Any) -> bool:
    """Return whether two values are one to Python: the same object, or equal numbers and texts of one type."""
    if a is b:
        return True
    return type(a) is type(b) and type(a) in (bool, int, float, complex, str, bytes) and repr(a) == repr(b)


class Choice:
    """Conditional of branches without arguments, which share variables."""

    def __init__(
        self,
        session: Session,
        functions: Sequence[Callable[[], Any] | None],
        cells: Cells,
        later: Sequence[str],
        code: types.CodeType | None = None,
    ) -> None:
        self.session, self.functions = session, functions
        self.cells: Cells = {**cells, **session.members}
        self.later = (*later, *session.members)
        cells, later = self.cells, self.later
        own: Any = next(f for f in functions if f is not None)
        self.code: types.CodeType = session.frames[-1].code if session.frames else code or own.__code__
        self.alone = {name: is_alone(session, cells[name]) for name in later if name in cells}
        self.before = {name: get(cell) for name, cell in cells.items()}
        self.builders: list[Any] = []
        self.ends: list[dict[str, Any]] = []
        self.writes: list[dict[memory.Memory, Any]] = []
        self.errors: list[Raise | RaisedBefore | None] = []
        self.is_inside: list[bool] = []  # for each branch, whether it raises by nodes of its own
        self.merged: dict[str, Any] = {}
        self.lists: list[KeptList] = [*session.lists]
        self.tails: list[list[Tail | None]] = []  # what each branch appends to the lists, None where it raises
        self.grown: dict[str, tuple[KeptList, bool]] = {}  # lists to which branches append, and whether items

    def run(self, test: Any, flag: str = "") -> Any:
        """Emit the conditional, leave what it gives in the variables, and return the result of the branches.

        The test asks that a flag is not set, if it is named: so it is set in the other branch.
        """
        self.flag = flag
        choice = _predicate(test)
        if choice.known is not None:
            function = self.functions[choice.known]
            return function() if function is not None else None
        self.index, held = choice.index, list[Any]([None, None])
        if choice.claims:
            held = [
                Condition("assertion", c, PREDICATE, "a branch runs where this holds", user_line())
                for c in choice.claims
            ]
        bodies = [self._body(f) for f in self.functions]
        self.session.holders.append(self.before)
        try:
            graphs, further = trace_subgraphs(bodies, (), ["else", "if"], held, self._unify)
        except Exception as error:
            if self.session.frames:
                raise
            raise refuse(self.session, self.code, f"{type(error).__name__}: {error}".partition("\n")[0]) from error
        finally:
            self.session.holders.pop()
            for name, value in self.before.items():
                put(self.cells[name], value)
        if any(self.errors) and not any(self.is_inside):
            return self._without(choice.index)
        outputs = cf.cond(choice.index, graphs, *further)
        memories = self.memories
        memory.write_outside(memories, outputs[len(outputs) - len(memories) :])
        if all(self.errors):
            raise RaisedBefore
        return self._left(list(outputs))

    @property
    def memories(self) -> list[memory.Memory]:
        """Memory of enclosing traces that a branch writes to."""
        return list(dict.fromkeys([m for writes in self.writes for m in writes]))

    def _body(self, function: Callable[[], Any] | None) -> Callable[..., list[Any]]:
        def body() -> list[Any]:
            for name, value in self.before.items():
                put(self.cells[name], value)
            if self.flag and not self.ends:
                put(self.cells[self.flag], True)
            self.builders.append(active_builder())
            with memory.writes_outside() as writes:
                result, error = self._result_of(function)
                is_whole = error is None
                ends = self._ends(result) if is_whole else dict.fromkeys((*self.later, "return"), ENDED)
                pairs = zip(self.lists, self.levels, strict=True)
                self.tails.append([self._tail(*pair) if is_whole else None for pair in pairs])
            self._note_error(error)
            self.ends.append(ends)
            self.writes.append(writes if is_whole else {})
            return [full((), True, bool)]

        return body

    def _result_of(self, function: Callable[[], Any] | None) -> tuple[Any, Exception | None]:
        """Return the result of a branch, and the exception that it raises by a line of the user."""
        frame = Frame(self.code, self.cells.values())
        self.session.frames.append(frame)
        for growing in self.lists:
            growing.levels.append(growing.levels[-1].of_branch())
        try:
            return function() if function is not None else None, None
        except SystemExit as left:
            raise refuse(self.session, self.code, "it leaves Python") from left
        except Exception as raised:
            if not isinstance(raised, (Stated, RaisedBefore)) and not is_stated(raised):
                raise
            return None, raised
        finally:
            self.session.frames.remove(frame)
            del self.session.lists[len(self.lists) :]
            self.levels = [growing.levels.pop() for growing in self.lists]

    def _ends(self, result: Any) -> dict[str, Any]:
        """Return what a branch leaves in variables, and its result."""
        ends = {}
        for name in self.later:
            value = get(self.cells[name])
            ends[name] = self._end(value, value is self.before[name] and self.alone[name])
        ends["return"] = self._end(result)
        return ends

    def _note_error(self, error: Exception | None) -> None:
        """Let the branch raise its exception, if it has one, where it is chosen."""
        position, nodes = len(self.errors), active_builder().nodes
        if error is None or isinstance(error, RaisedBefore):
            self.errors.append(error)
            self.is_inside.append(error is not None)
            return
        raised = raise_of(self.session, error, self.code)
        self.errors.append(raised)
        is_last_of_several = any(map(raises, nodes)) or any(self.errors[:position])
        self.is_inside.append(is_last_of_several or not raised.move_out())
        raised.emit(self.index if position == 0 else logical_not(self.index))

    def _end(self, value: Any, is_alone: bool = False) -> Any:
        """Return what a branch leaves in a variable, with arrays as values of the branch."""
        if value is UNSET:
            return value
        flag: Any = True
        if isinstance(value, Maybe):
            value, flag = value
        leaves, tree = pytrees.flatten(value)
        values = [(x, like_returned(as_value(x), x).unshared() if pytrees.is_array(x) else None) for x in leaves]
        return _End(value, values, tree, flag, [] if is_alone else shared_outside(leaves))

    # -- merged results

    def _unify(self, columns: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return the results of both branches: what differs, in common dtypes, and memory that they write to."""
        results: list[list[Any]] = [list(c) for c in columns]
        if any(self.errors) and not any(self.is_inside):
            return results
        for name in (*self.later, "return"):
            self._merge(name, [ends[name] for ends in self.ends], results)
        for i, tails in enumerate(zip(*self.tails, strict=True)):
            self._merge_tails(i, tails, results)
        memories = self.memories
        for xs, writes in zip(results, self.writes, strict=True):
            xs += [writes.get(m, m.current) for m in memories]
        return results

    def _merge(self, name: str, ends: Sequence[Any], results: list[list[Any]]) -> None:
        """Add what a name stands for after each branch to the results, unless both leave the same."""
        have = [e for e in ends if type(e) is not _Unset]
        if not have or self._is_unchanged(name, ends, have) or (len(have) == len(ends) and _are_same(have)):
            value: Any = have[0].held if have else UNSET
            self.merged[name] = lambda outputs: value
            return
        first, start = have[0], len(results[0])
        if any(e.shape != first.shape for e in have):
            raise self._refused(f"{_shown(name)} has a value of another kind in each branch")
        kinds = [self._merge_leaf(name, k, ends, have, results) for k in range(len(first.values))]
        flag = self._merge_flags(name, ends, results)
        self.merged[name] = lambda outputs: self._read(have, kinds, outputs[start:], flag and outputs[flag])

    def _tail(self, growing: KeptList, level: Level) -> Tail:
        """Return what a branch appended to a list."""
        if level.holds and level.rows is not None:
            return Tail(None if level.rows is not growing.levels[-1].rows else 0, UNSET, self._end(level.rows))
        if not level.new:
            return Tail(0, UNSET, None)
        are_items = all(p.is_item for p in level.new)
        items = self._end([p.value for p in level.new]) if are_items else UNSET
        return Tail(len(level.new) if are_items else None, items, self._end(growing.together(level.new)))

    def _merge_tails(self, i: int, tails: Sequence[Tail | None], results: list[list[Any]]) -> None:
        """Add what the branches append to a list to the results: so many items in each, or rows."""
        have = [tail for tail in tails if tail is not None]
        if (some := next((tail for tail in have if tail.number != 0), None)) is None:
            return
        name, are_items = f"[] {i}", some.number is not None and {tail.number for tail in have} == {some.number}
        none = UNSET if are_items else self._without_rows(some.rows)
        end = lambda tail: ENDED if tail is None else tail.items if are_items else tail.rows or none
        self._merge(name, [*map(end, tails)], results)
        self.grown[name] = self.lists[i], are_items

    def _without_rows(self, end: _End) -> _End:
        """Return an end like one of rows, without any."""
        metas = [TensorMeta(x.meta.dtype, (Exact(0), *x.meta.extents[1:])) for _, x in end.values]
        zeros = [(None, zeros_like(self.session, meta, None, "[]", self.code)) for meta in metas]
        return end._replace(value=None, values=zeros, memories=[])

    def _merge_flags(self, name: str, ends: Sequence[Any], results: list[list[Any]]) -> int | None:
        """Add whether a variable has a value to the results, unless it has one in any case; return its position."""
        if all(e is ENDED or (e is not UNSET and e.flag is True) for e in ends):
            return None
        self._add(name, [_flag(e) for e in ends], results)
        return len(results[0]) - 1

    def _is_unchanged(self, name: str, ends: Sequence[Any], have: Sequence[_End]) -> bool:
        """Return whether a variable is as before after the branch that does not raise."""
        return ENDED in ends and have[0].value is self.before.get(name, ENDED)

    def _merge_leaf(
        self, name: str, k: int, ends: Sequence[Any], have: Sequence[_End], results: list[list[Any]]
    ) -> Any:
        """Add one leaf to the results of both branches if it is an array, and return the type that it has."""
        x, traced = have[0].values[k]
        if traced is not None:
            return self._add(name, [None if type(e) is _Unset else e.values[k][1] for e in ends], results)
        if any(not fixed(e.values[k][0], x) for e in have):
            raise self._refused(f"{_shown(name)} is another object in each branch")
        return None

    def _refused(self, why: str) -> NotKept:
        return refuse(self.session, self.code, why)

    def _add(self, name: str, column: list[Any], results: list[list[Any]]) -> Any:
        """Add one array to the results of both branches, and return the type that it has."""
        known = [x for x in column if x is not None]
        if len({x.meta.rank for x in known}) > 1:
            raise self._refused(f"{_shown(name)} has another number of axes in each branch")
        strong = {str(x.dtype) for x in known if not is_weak(x)}
        if len(strong) > 1:
            raise self._refused(f"{_shown(name)} has another dtype in each branch: {', '.join(sorted(strong))}")
        result = promoted_type(known)
        for xs, x in zip(results, column, strict=True):
            xs.append(zeros_like(self.session, known[0].meta, kind_of(known[0]), name, self.code) if x is None else x)
            xs[-1] = cast_operand(xs[-1], result.dtype)
        return result

    def _read(self, have: Sequence[_End], kinds: list[Any], outputs: list[Any], flag: Any) -> Any:
        """Return what a name stands for after the conditional, from its outputs on."""
        first, aliases = have[0], [m for e in have for m in e.memories]
        leaves, rest = [], iter(outputs)
        for (x, _), kind in zip(first.values, kinds, strict=True):
            leaves.append(x if kind is None else standing_for(name_sizes(next(rest)), kind.kind))
        value = pytrees.unflatten(first.tree, leaves)
        note_copies(self.session, value, self.code)
        self._freeze(value, aliases)
        return value if flag is None else Maybe(value, flag)

    def _freeze(self, value: Any, aliases: Sequence[memory.Memory]) -> None:
        """Refuse writes to arrays that are others' in one branch: which ones, a run decides."""
        arrays = [x for x in pytrees.flatten(value)[0] if getattr(x, "is_array", False)]
        if aliases and arrays:
            signal = self._refused("an array has two names in one branch alone, and is written to later")
            for m in (*aliases, *map(memory.memory_of, arrays)):
                m.frozen = signal

    def _left(self, outputs: list[Any]) -> Any:
        """Leave merged values in the variables."""
        values = {name: read(outputs) for name, read in self.merged.items()}
        result = values.pop("return")
        for name, (growing, are_items) in self.grown.items():
            value = values.pop(name)
            if growing.levels[-1].is_whole:
                growing.replace(value)
                continue
            for part in value if are_items else [value]:
                growing.add(Piece(part, is_item=are_items))
        for name, value in values.items():
            put(self.cells[name], value)
        for name in self.cells.keys() - {*self.later}:
            put(self.cells[name], self.before[name])
        return result

    def _without(self, taken: Any) -> Any:
        """Run the branch that does not raise, behind a check that it is taken."""
        position = 0 if self.errors[0] else 1
        error = self.errors[position]
        assert isinstance(error, Raise)
        from_here = taken if position == 0 else logical_not(taken)
        error.emit(from_here)
        function = self.functions[1 - position]
        return function() if function is not None else None


def _are_same(ends: Sequence[_End]) -> bool:
    """Return whether all branches leave one value."""
    return all(fixed(e.value, ends[0].value) and fixed(e.flag, ends[0].flag) for e in ends[1:])


class Tail(NamedTuple):
    """Items that a branch appends to a list: their number, None if rows of several are among them, values, and rows."""

    number: int | None
    items: Any
    rows: Any


class _End(NamedTuple):
    """Value that a branch leaves in a variable: leaves, whether it has one, and memory from outside."""

    value: Any
    values: list[Any]
    tree: Any
    flag: Any
    memories: list[memory.Memory]

    @property
    def held(self) -> Any:
        """Return what the variable holds."""
        return self.value if self.flag is True else Maybe(self.value, self.flag)

    @property
    def shape(self) -> tuple[Any, list[bool]]:
        """Return the tree, and which leaves are arrays."""
        return self.tree, [traced is None for _, traced in self.values]


def _shown(name: str) -> str:
    return "the result" if name in ("return", "__kept_value__") else "a list" if name.startswith("[]") else name


def _flag(end: Any) -> Any:
    """Return whether a variable has a value after a branch, as a value."""
    flag = False if type(end) is _Unset else end.flag
    return full((), flag, bool) if has_type(flag, bool) else flag


def shared_outside(leaves: Sequence[Any]) -> list[memory.Memory]:
    """Return the memory of arrays that may have other names: that of enclosing traces, and what is frozen."""
    builder = active_builder()
    arrays = [x for x in leaves if getattr(x, "is_array", False)]
    shared = [memory.memory_of(x) for x in arrays if x.builder is not builder or x.memory is not None]
    return [m for m in shared if m.owner is not builder or getattr(m, "frozen", None) is not None]


def zeros_like(
    session: Session, meta: TensorMeta, kind: type | None, name: str, code: types.CodeType | None = None
) -> Any:
    """Return an array of a type in the active trace, which stands where a variable has no value."""
    sizes, builder = meta.sizes, active_builder()
    if sizes is None or any(builder.dim_owner(v) is None for size in sizes for v in expr.variables(size)):
        raise refuse(session, code, f"{_shown(name)} has a size of its own in one branch, and no value in the other")
    return standing_for(full(sizes, 0, meta.dtype), kind)
