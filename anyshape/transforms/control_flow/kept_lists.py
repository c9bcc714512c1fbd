"""Lists of code that is read, while loops of the program append to them: their items are the rows of an array.

Such a list is one object for the whole trace, so all names of it see what is appended. It has a level for the function,
and one for each body and branch that is being traced. What it has no answer for makes the loop run as it is written,
where the list is one of Python.
"""

from __future__ import annotations

import functools
import operator
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.numpy.operands.memory import memory_of
from anyshape.numpy.operands.promotion import dtype_of, is_weak
from anyshape.numpy.serve import FUNCTIONS
from anyshape.numpy.sizes.size_operands import as_size
from anyshape.ops import elementwise as ew
from anyshape.ops.control import check, name_sizes
from anyshape.ops.dynamic import size_from_count
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten, is_array, unflatten
from anyshape.tracing.row_lists import Inner, Rows, mapped
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.read import NotKept
from anyshape.tracing.trace import as_value
from anyshape.transforms.control_flow.iterables import Items, is_open
from anyshape.transforms.control_flow.kept_objects import note_copies
from anyshape.transforms.control_flow.loop_tracing import is_outer
from anyshape.transforms.control_flow.pieces import RaggedResults


def _unanswered(name: str) -> Callable[..., Any]:
    def refused(self: KeptList, *args: Any) -> NoReturn:
        raise self.refused(f"a list that it appends to is asked for {name}")

    return refused


class Piece(NamedTuple):
    """Item that is appended, or rows of several: a tree of arrays."""

    value: Any
    is_item: bool

    @property
    def rows(self) -> Any:
        """Return the rows of the piece."""
        return map_tree(lambda x: as_value(x)[None], self.value) if self.is_item else self.value


class Level:
    """Function, body of a loop or branch that sees a list.

    - `rows`: a tree of arrays of all items, if the level holds it. Others hold `new`, what they appended themselves.
    - `count`: the number of items before an iteration. Then `rows` has slots for those that follow.
    - `loop`: the loop whose body it is.
    - `is_read`: the body asks for items of earlier iterations. `is_grown`: it appends, `is_changed`: it does more.
    """

    def __init__(self, loop: Any = None, rows: Any = None, *, holds: bool = False, count: Any = None) -> None:
        self.loop, self.rows, self.holds, self.count = loop, rows, holds, count
        self.new: list[Piece] = []
        self.is_read = self.is_changed = self.is_grown = False

    @property
    def is_whole(self) -> bool:
        """True if `rows` are all items, and no slots."""
        return self.holds and self.count is None

    @property
    def each(self) -> int | None:
        """Number of arrays that are appended one by one, None if that is not all."""
        are_arrays = self.new and all(p.is_item for p in self.new) and flatten(self.new[0].value)[1].is_leaf()
        return len(self.new) if are_arrays and not self.is_changed else None

    def of_branch(self) -> Level:
        """Return a level for a branch that begins here."""
        return Level(rows=self.rows, holds=True) if self.is_whole else Level()


class KeptList:
    """List of the rows of an array, or of trees of rows; `code` is that of the body of the loop which made it so.

    `weak` says whether all items are numbers of Python, None for no items. `kind` may be tuple, or deque, which has
    `limit` items at most.
    """

    def __init__(
        self,
        rows: Any,
        code: types.CodeType,
        origin: KeptList | None = None,
        *,
        weak: bool | None = None,
        kind: type = list,
        limit: int | None = None,
    ) -> None:
        self.code, self.origin, self.weak, self.kind, self.limit = code, origin, weak, kind, limit
        self.is_read_as_weak = False
        self.levels = [Level(rows=rows, holds=True)]
        self.is_held = False  # by another list, as an item
        self.of_examples = False  # an item for each; there may be none
        self.batch: Any = None  # in place of rows: arrays whose sizes differ
        self.iterated: set[int] = set()  # numbers of levels where a loop began to run over it
        if (session := reading.session()) is not None:
            session.lists.append(self)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.kind, name):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute {name!r}", name=name, obj=self)
        if name == "maxlen":
            return self.limit
        raise self.refused(f"a list that it appends to is asked for {name}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.kind

    def index(self, value: Any) -> Any:
        """Return the position of the first item that is equal to a value."""
        equal = self._equal(value)
        check(FUNCTIONS["any"](equal), "the value is not in list")
        return FUNCTIONS["argmax"](equal).as_weak()

    def count(self, value: Any) -> Any:
        """Return the number of items that are equal to a value."""
        return FUNCTIONS["sum"](self._equal(value)).as_weak()

    def has(self, value: Any) -> Any:
        """Return whether an item is equal to a value."""
        return FUNCTIONS["any"](self._equal(value)).as_weak()

    def _equal(self, value: Any) -> Any:
        rows = self.rows
        if not isinstance(rows, Traced) or rows.meta.rank != 1 or not is_array(value) or np.ndim(value):
            raise self.refused("a list that it appends to is searched for an object")
        return FUNCTIONS["equal"](rows, value)

    def copy(self, kind: type = list) -> KeptList:
        """Return another list of the items, or a tuple of them."""
        rows = self.rows
        if rows is None and len(self.levels) > 1:
            raise self._without_items()
        return KeptList(None if rows is None else part_of(rows, slice(None)), self.code, weak=self.weak, kind=kind)

    __radd__ = _unanswered("radd")
    __mul__ = _unanswered("mul")
    __rmul__ = _unanswered("rmul")
    __eq__ = _unanswered("eq")
    __ne__ = _unanswered("ne")
    __lt__ = _unanswered("lt")
    __gt__ = _unanswered("gt")
    __le__ = _unanswered("le")
    __ge__ = _unanswered("ge")
    __contains__ = _unanswered("contains")
    __delitem__ = _unanswered("delitem")
    __imul__ = _unanswered("imul")
    __array__ = _unanswered("array")
    __copy__ = _unanswered("copy")
    __deepcopy__ = _unanswered("deepcopy")
    __reduce_ex__ = _unanswered("reduce_ex")
    __hash__ = None  # type: ignore[assignment]

    def refused(self, why: str) -> NotKept:
        """Return the signal to run the loop as it is written that made this list."""
        return NotKept(self.code, why)

    # -- what it holds

    @property
    def length(self) -> Any:
        """Return the number of items, which may be a size."""
        return self._length(len(self.levels) - 1)

    def _length(self, i: int) -> Any:
        level = self.levels[i]
        if self.batch is not None:
            return self.batch.items.length
        if level.is_whole:
            return count_of(level.rows)
        if level.holds:
            return level.count + len(level.new)
        level.is_read = True
        return sum([1 if p.is_item else count_of(p.value) for p in level.new], self._length(i - 1))

    @property
    def rows(self) -> Any:
        """Return the tree of the rows of all items, None for no items."""
        return self._rows(len(self.levels) - 1)

    def _rows(self, i: int) -> Any:
        level = self.levels[i]
        if self.batch is not None:
            raise self.refused("a list that it appends to has arrays of different sizes")
        if level.is_whole:
            return level.rows
        if level.holds:
            return part_of(level.rows, slice(self._length(i)))
        level.is_read = True
        return functools.reduce(self._joined, [p.rows for p in level.new], self._rows(i - 1))

    def together(self, pieces: Sequence[Piece]) -> Any:
        """Return the rows of some pieces."""
        return functools.reduce(self._joined, [p.rows for p in pieces])

    def _joined(self, before: Any, after: Any) -> Any:
        """Return trees of rows, the ones after the others."""
        if before is None:
            return after
        (first, tree), (second, other) = flatten(before), flatten(after)
        if tree != other:
            raise self.refused("a list that it appends to has items of several types")
        return unflatten(tree, [FUNCTIONS["concatenate"]([x, y]) for x, y in zip(first, second, strict=True)])

    @property
    def items(self) -> Items:
        """Return what a loop over the list runs over."""
        self.iterated.add(len(self.levels))
        if self.batch is not None:
            return self.batch.items
        return Items(self.length, self.item, lambda: iter(self))

    @property
    def array(self) -> Any:
        """Return the array that NumPy makes of the list."""
        if (rows := self.rows) is None:
            return FUNCTIONS["zeros"](0)
        while type(rows) is Inner:
            rows = rows.rows
        leaves, tree = flatten(rows)
        if tree.is_leaf():
            return leaves[0].copy()
        if type(rows) not in (tuple, list) or len({x.meta.rank for x in leaves}) > 1:
            raise self.refused("a list of trees that it appends to is an array later")
        return FUNCTIONS["stack"](leaves, 1)

    # -- reads

    def _seen(self) -> Level | None:
        """Return the level whose rows have all items, None where the items of a body or a branch follow."""
        for level in reversed(self.levels):
            if level.holds:
                return level
            level.is_read = True
            if level.new:
                return None
        return None

    def item(self, k: Any) -> Any:
        """Return an item at a position that it has: an element of an array is a scalar, and an array a copy."""
        level = self._seen()
        if self.batch is not None:
            return self.batch.at(k)
        rows = level.rows if level is not None else self.rows
        if rows is None:
            raise self._without_items()
        item = map_tree(lambda x: self._read(x[k]), rows)
        if (session := reading.session()) is not None:
            note_copies(session, item, self.code)
        return opened(item)

    def _read(self, x: Any) -> Any:
        if not getattr(x, "is_array", False):
            self.is_read_as_weak = self.is_read_as_weak or bool(self.weak)
            return x.as_weak() if self.weak else x
        x = x.copy()
        memory_of(x).frozen = self.refused("an array of a list is written to")
        return x

    def _without_items(self) -> BaseException:
        """Return what is raised where nothing tells the type of an item."""
        loop = next((level.loop for level in self.levels if level.loop is not None), None)
        return IndexError("list index out of range") if loop is None else loop.apart("it reads a list without items")

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            if self.kind is deque:
                raise TypeError("sequence index must be integer, not 'slice'")
            rows = self.rows
            if rows is None and len(self.levels) > 1:
                raise self._without_items()
            return KeptList(None if rows is None else part_of(rows, key), self.code, weak=self.weak, kind=self.kind)
        new, level = self.levels[-1].new, self.levels[-1]
        if has_type(key, int) and -len(new) <= key < 0 and all(p.is_item for p in new[key:]) and not level.is_whole:
            return new[key].value
        return self.item(self._position(key))

    def _position(self, key: Any) -> Any:
        """Return a position that the program checks to be one of an item, in a body or a branch."""
        if len(self.levels) == 1:
            return key
        length = self.length
        position = key + length if has_type(key, int) and key < 0 else key
        if isinstance(key, Traced):
            k: Any = key
            position = FUNCTIONS["where"](k < 0, k + length, k)
        inside = FUNCTIONS["logical_and"](position >= 0, position < length)
        check(as_value(inside), "IndexError: list index out of range")
        return position

    def __iter__(self) -> Iterator[Any]:
        if is_open(self.length):
            raise self.refused("a list that it appends to is iterated by code that is not read")
        k = 0
        while k < self.length:
            yield self.item(k)
            k += 1

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __len__(self) -> int:
        if is_open(self.length):
            raise self.refused("a list that it appends to is asked for its length by code that is not read")
        return operator.index(self.length)

    # -- changes

    def append(self, value: Any) -> None:
        """Append an item."""
        self._note_kind(is_weak(value))
        self.add(Piece(item_value(value, self.code), is_item=True))
        self._cut(slice(-(self.limit or 0), None))

    def _cut(self, part: slice) -> None:
        """Let a deque have its last or first items alone, if it has a limit."""
        if self.limit is None:
            return None
        level = self.levels[-1]
        return self.replace(part_of(level.rows, part)) if level.is_whole else self._change()

    def appendleft(self, value: Any) -> None:
        """Insert an item before all others."""
        self.insert(0, value)
        self._cut(slice(self.limit))

    def extendleft(self, values: Any) -> None:
        """Insert items before all others, the last one first."""
        if type(values) not in (list, tuple):
            raise self.refused(f"it extends a deque by a {type(values).__name__}")
        for value in values:
            self.appendleft(value)

    def clear(self) -> None:
        """Take all items out."""
        level = self.levels[-1]
        if not level.is_whole:
            self._change()
        elif level.rows is not None:
            self.replace(map_tree(lambda x: x[:0], level.rows))

    def popleft(self) -> Any:
        """Take the first item out."""
        return self.pop(0)

    def _note_kind(self, weak: bool | None) -> None:
        """Note whether a further item is a number of Python; a body that took all items for such is traced again."""
        if weak is None or weak is self.weak:
            return
        if self.weak is None:
            self.weak = weak
            return
        self.weak = False
        for level in self.levels:
            if self.is_read_as_weak and level.loop is not None:
                level.loop.is_complete = False

    def add(self, piece: Piece) -> None:
        """Append an item, or rows of several."""
        self._check_held()
        level = self.levels[-1]
        level.is_grown = True
        if level.is_whole:
            level.rows = self._joined(level.rows, piece.rows)
            return
        if level.holds and piece.is_item:
            level.rows[level.count + len(level.new)] = self._as_row(piece.value, level.rows)
        level.new.append(piece)

    def _check_held(self) -> None:
        if self.is_held or self.batch is not None:
            raise self.refused("a list changes that another one holds, or that has arrays of different sizes")

    def replace(self, rows: Any) -> None:
        """Let the list have other rows."""
        self._check_held()
        self.levels[-1].rows, self.levels[-1].is_grown = rows, True

    def extend(self, values: Any) -> None:
        """Append items."""
        if type(values) is KeptList:
            self._note_kind(values.weak)
            if values.rows is not None:
                self.add(Piece(map_tree(lambda x: x.copy(), values.rows), is_item=False))
        elif type(values) in (list, tuple):
            for value in values:
                self.append(value)
        elif isinstance(values, Traced) and values.meta.rank:
            self._note_kind(weak=False)
            self.add(Piece(as_value(values), is_item=False))
        else:
            raise self.refused(f"it extends a list by a {type(values).__name__}")
        self._cut(slice(-(self.limit or 0), None))

    def __iadd__(self, values: Any) -> KeptList:
        if self.kind is tuple:
            return self + values
        self.extend(values)
        return self

    def __add__(self, values: Any) -> KeptList:
        if self.kind is deque:
            raise self.refused("a deque is added to another one")
        new, last = KeptList(None, self.code, self.origin if self.origin is not None else self), self.levels[-1]
        new.weak, new.kind = self.weak, self.kind
        if last.holds:
            last.is_changed = True
            top = Level(last.loop, self.rows, holds=True)
        else:
            top = Level(last.loop)
            top.new, top.is_read, top.is_changed = [*last.new], last.is_read, last.is_changed
        new.levels = [*self.levels[:-1], top]
        new.extend(values)
        return new

    def insert(self, k: Any, value: Any) -> None:
        """Insert an item before the one at a position."""
        level = self.levels[-1]
        if not level.is_whole:
            self.append(value)  # for its type
            return self._change()
        before, after = [None if level.rows is None else part_of(level.rows, s) for s in (slice(k), slice(k, None))]
        self.replace(before)
        self.append(value)
        return None if after is None else self.replace(self._joined(level.rows, after))

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """Sort the items."""
        if not self.levels[-1].is_whole:
            return self._change()
        new = code_that_is_read().sorted_(self, key=key, reverse=reverse)
        if type(new) is not KeptList:
            raise self.refused("a list that it appends to is sorted, whose items are no numbers")
        return self.replace(new.rows)

    def pop(self, k: Any = -1) -> Any:
        """Take an item out."""
        position, level = self._position(k), self.levels[-1]
        value = self.item(position)
        if level.is_whole:
            is_last = has_type(k, int) and k == -1
            cut = lambda x: x[:-1] if is_last else FUNCTIONS["concatenate"]([x[:position], x[position + 1 :]])
            self.replace(map_tree(cut, level.rows))
        else:
            self._change()
        return value

    def _change(self) -> None:
        """Let the next trace of the body have a level with the rows of all items, which more can be done to."""
        next(level for level in reversed(self.levels) if level.loop is not None).is_changed = True

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_held()
        level = self._seen()
        if type(key) is slice or (level is not None and level.rows is None):
            raise self.refused("it writes to items of a list to which it appends")
        if level is None:
            return self._change()
        position = self._position(key)
        level.rows[position] = self._as_row(item_value(value, self.code), level.rows)

    def _as_row(self, row: Any, rows: Any) -> Any:
        """Return an item as a row of an array, which holds one dtype."""
        if not isinstance(rows, Traced) or not is_array(row):
            raise self.refused("a list that iterations read has trees as items")
        if dtype_of(row) != rows.dtype:
            raise self.refused("a list that iterations read gets items of several dtypes")
        return row


def count_of(rows: Any) -> Any:
    """Return the number of rows of a tree, which may be a size."""
    return 0 if rows is None else flatten(rows)[0][0].shape[0]


def map_tree(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree of what a function gives for the leaves of one."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in leaves])


def part_of(rows: Any, part: slice) -> Any:
    """Return some of the rows of a tree."""
    return map_tree(lambda x: x[part].copy(), rows)


def rows_of(items: list[Any], code: types.CodeType) -> Any:
    """Return a tree of the rows of items, None for none."""
    if not items:
        return None
    trees = [flatten(item_value(x, code)) for x in items]
    values = [[as_value(x) for x in leaves] for leaves, _ in trees]
    kinds = {
        (str(tree), *[(x.meta.rank, str(x.dtype)) for x in xs]) for (_, tree), xs in zip(trees, values, strict=True)
    }
    if len(kinds) > 1:
        raise NotKept(code, "a list that it appends to has items of several types")
    return unflatten(trees[0][1], [FUNCTIONS["stack"](xs) for xs in zip(*values, strict=True)])


def item_value(x: Any, code: types.CodeType) -> Any:
    """Return an item as an array or a number, or a tree of these."""
    x = closed(x)
    leaves = flatten(x)[0]
    if not leaves or not all(map(is_array, leaves)):
        raise NotKept(code, f"a list that it appends to has an item of type {type(x).__name__}")
    for leaf in leaves:
        if getattr(leaf, "is_array", False):  # the list holds it, not a copy
            memory_of(leaf).frozen = NotKept(code, "a list holds an array that is written to later")
    return x


def _opened(x: Inner) -> KeptList:
    """Return a list that is an item of another one, which nobody may change, as the other one has a copy."""
    for leaf in flatten(x.rows)[0]:
        memory_of(leaf).frozen = NotKept(x.code, "a list in a list that it appends to is written to")
    new = KeptList(x.rows, x.code, weak=x.weak, kind=x.kind)

    def check() -> None:
        if new.levels[0].is_grown or new.levels[0].rows is not x.rows:
            raise new.refused("a list in a list that it appends to is changed")

    if (session := reading.session()) is not None:
        session.checks.append(check)
    return new


def closed(x: Any) -> Any:
    """Return an item with lists of rows as parts of its tree."""
    if type(x) is KeptList:
        if x.kind is deque:
            raise x.refused("a deque is an item, or is bound to another name")
        x.is_held = True
        return Inner(x.rows, x.code, x.weak, x.kind)
    return mapped(closed, x)


def opened(x: Any) -> Any:
    """Return an item with lists of rows as lists."""
    return _opened(x) if type(x) is Inner else mapped(opened, x)


def released(result: Any, *, may_be_rows: bool = False) -> Any:
    """Return the result of a function, with lists of Python in place of lists of loops.

    `may_be_rows` says whether it is one of a program, which may have any number of items.
    """
    leaves, tree = flatten(result)
    return unflatten(tree, [_released(x, may_be_rows) if type(x) is KeptList else x for x in leaves])


def _released(x: KeptList, may_be_rows: bool) -> Any:
    if not is_open(x.length):
        return released(x.kind([*x]) if x.limit is None else deque(x, x.limit), may_be_rows=may_be_rows)
    if not may_be_rows or x.batch is not None or x.limit is not None:
        raise x.refused("the function returns a list that it appends to, and each item is a result of its own here")
    return Rows(x.rows, x.code, x.weak, x.kind)


# -- loops


class Growth(NamedTuple):
    """Fact that iterations read a list which they append to: how many items each appends, None if that differs.

    `like` is a tree of the types of rows.
    """

    each: int | None
    like: Any


class LoopLists:
    """Lists that are there when a loop begins, as its iterations see them; `learned` are facts of earlier traces."""

    def __init__(self, loop: Any, learned: dict[int, Growth]) -> None:
        self.loop, self.learned = loop, learned
        self.lists: list[KeptList] = [*loop.session.lists]
        self.first: list[Any] = [0] * len(self.lists)  # numbers of items before the loop
        self.new: list[list[Piece]] = []
        self.dtypes: dict[int, list[Any]] = {}  # of what an iteration appends
        self.batch: Any = None  # whose examples the loop runs over
        self.ragged: dict[int, RaggedResults] = {}  # what an iteration appends to empty lists

    def carries(self, length: Any) -> dict[str, Any]:
        """Return what holds all items of lists that iterations read, with slots for what so many iterations append."""
        carries = {}
        for i, growing in enumerate(self.lists):
            if (growth := self.learned.get(i)) is not None:
                self.first[i] = growing.length
                carries[_name(i)] = self._rows(growing, growth, length)
        return carries

    def _rows(self, growing: KeptList, growth: Growth, length: Any) -> Any:
        before = growing.rows
        has_slots = growth.each is not None and length is not None
        if not has_slots and before is not None:
            return before
        size = as_size_of(length * growth.each) if has_slots else 0
        slots = map_tree(lambda m: self.loop.zeros(TensorMeta(m.dtype, (Exact(size), *m.extents[1:]))), growth.like)
        return slots if before is None else growing._joined(before, slots)

    def begin(self, values: Mapping[str, Any], k: Any) -> None:
        """Let the lists have a level for iteration k."""
        for i, growing in enumerate(self.lists):
            rows, growth = values.get(_name(i)), self.learned.get(i)
            level = Level(self.loop, rows, holds=rows is not None)
            if growth is not None and growth.each is not None and k is not None:
                level.count = self.first[i] + k * growth.each
            growing.levels.append(level)

    def end(self) -> list[Level]:
        """Take the level of an iteration away from the lists, and all lists that it made."""
        del self.loop.session.lists[len(self.lists) :]
        return [growing.levels.pop() for growing in self.lists]

    def after(self, levels: Sequence[Level]) -> dict[str, Any]:
        """Return what holds all items after an iteration, and learn what iterations read and append."""
        self.ragged = {}
        self.new = [[] if level.holds else level.new for level in levels]
        for i, (growing, level) in enumerate(zip(self.lists, levels, strict=True)):
            if level.is_grown and len(growing.levels) in growing.iterated:
                raise self.loop.refused("it appends to the list that it runs over")
            if level.new:
                self.dtypes[i] = [x.dtype for x in flatten(level.new[0].rows)[0]]
            growth = self._growth(level, self.learned.get(i))
            if growth is not None and growth != self.learned.get(i):
                self.learned[i], self.loop.is_complete = growth, False
        return {_name(i): level.rows for i, level in enumerate(levels) if level.holds}

    @staticmethod
    def _growth(level: Level, known: Growth | None) -> Growth | None:
        """Return what a trace of the body tells of a list, None if iterations do not read it."""
        new, is_asked = level.new, level.holds or level.is_changed
        if level.is_whole or not (is_asked or (level.is_read and new)):
            return known
        if known is not None:
            return known if level.each == known.each else known._replace(each=None)
        return Growth(level.each, new and map_tree(lambda x: name_sizes(as_value(x)).meta, new[0].rows))

    @property
    def mixes_dtypes(self) -> bool:
        """True if iterations append items of another dtype than those before the loop, which an array has alone."""
        before = {i: self.lists[i].rows for i in self.dtypes}
        firsts = {i: [x.dtype for x in flatten(rows)[0]] for i, rows in before.items() if rows is not None}
        return any(dtypes != self.dtypes[i] for i, dtypes in firsts.items())

    def results(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what an iteration appends to lists that iterations do not read: arrays to stack, and others to join.

        An item that each appends is in a tuple, and rows of so many are in a list.
        """
        stacked, joined = dict[str, Any](), dict[str, Any]()
        for i, new in enumerate(self.new):
            if len(new) == 1 and new[0].is_item:
                stacked[_name(i)] = (new[0].value,)
                if (ragged := self._ragged(i, new[0].value)) is not None:
                    stacked[_name(i)], joined[_name(i)] = ragged.stacked, ragged.joined
                    self.ragged[i] = ragged
            elif new:
                rows = self.lists[i].together(new)
                is_known = all(map(is_outer, [x.meta.extents[0] for x in flatten(rows)[0]]))
                (stacked if is_known else joined)[_name(i)] = [rows]
        return stacked, joined

    def _ragged(self, i: int, item: Any) -> RaggedResults | None:
        """Return an array for each example, whose size differs between them and that an empty list gets; else None."""
        levels = self.lists[i].levels
        if self.batch is None or not is_array(item) or len(levels) > 1 or levels[0].rows is not None:
            return None
        results = RaggedResults([item])
        return results if results.joined else None

    def leave(self, carries: Mapping[str, Any], results: tuple[Any, Any], trips: Any = None) -> None:
        """Let the lists have what the loop appended, in so many trips if it may end before all items."""
        stacked, joined = results
        for i, growing in enumerate(self.lists):
            name = _name(i)
            growing.iterated.discard(len(growing.levels))
            if (rows := carries.get(name)) is not None:
                each = self.learned[i].each
                end = None if trips is None or each is None else self.first[i] + trips * each
                if growing.levels[-1].is_whole:
                    growing.replace(rows if end is None else part_of(rows, slice(end)))
                else:
                    growing.add(Piece(part_of(rows, slice(self.first[i], end)), is_item=False))
            elif i in self.ragged:
                ((flat, sizes),) = self.ragged[i].of_all(stacked[name], joined[name])
                growing.batch = self.batch.like(flat, sizes)
            elif name in stacked:
                growing.of_examples |= self.batch is not None
                growing.add(Piece(_in_one(stacked[name]), is_item=False))
            elif name in joined:
                growing.add(Piece(map_tree(name_sizes, joined[name][0]), is_item=False))


def _name(i: int) -> str:
    """Return the name of a carry that holds the items of a list."""
    return f"[] {i}"


def _in_one(stack: Any) -> Any:
    """Return the rows that iterations gave, each one or more."""
    together = lambda x: x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))
    return stack[0] if type(stack) is tuple else map_tree(together, stack[0])


def as_size_of(x: Any) -> Any:
    """Return a length as the size of an axis."""
    size = as_size(x)
    return size if size is not None else size_from_count(ew.convert(x, np.int64))
