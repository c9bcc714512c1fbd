"""Lists that loops of a program append to: their items are the rows of an array.

In the body of a loop such a list notes what an iteration appends. Behind the loop it answers as a list does. What it
has no answer for makes the loop run as it is written, where the list is one of Python.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.memory import memory_of
from anyshape.numpy.operands.promotion import dtype_of
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.control import check, name_sizes
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten, is_array, unflatten
from anyshape.tracing.source.read import NotKept
from anyshape.tracing.trace import as_value
from anyshape.transforms.control_flow.iterables import Items, is_open

_OWN_REFERENCES = 3  # to a container: of its variable, and of the two calls that count them


def _unanswered(name: str) -> Callable[..., Any]:
    def refused(self: Any, *args: Any) -> NoReturn:
        raise NotKept(self.code, f"a list that it appends to is asked for {name}")

    return refused


class _List:
    """List of a loop that is kept; `code` is that of the body."""

    code: types.CodeType

    def __getattr__(self, name: str) -> Any:
        if not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}", name=name, obj=self)
        raise NotKept(self.code, f"a list that it appends to is asked for {name}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return list

    __add__ = _unanswered("add")
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
    __bool__ = _unanswered("bool")
    __setitem__ = _unanswered("setitem")
    __delitem__ = _unanswered("delitem")
    __iadd__ = _unanswered("iadd")
    __imul__ = _unanswered("imul")
    __array__ = _unanswered("array")
    __copy__ = _unanswered("copy")
    __deepcopy__ = _unanswered("deepcopy")
    __reduce_ex__ = _unanswered("reduce_ex")
    __hash__ = None  # type: ignore[assignment]


class KeptList(_List):
    """List of the rows of an array, or of trees of rows, behind the loop that appended them."""

    def __init__(self, stack: Any, code: types.CodeType) -> None:
        self.stack, self.code = stack, code

    @property
    def length(self) -> Any:
        """Return the number of items, which may be a size."""
        return flatten(self.stack)[0][0].shape[0]

    @property
    def items(self) -> Items:
        """Return what a loop over the list runs over."""
        return Items(self.length, self.item, lambda: iter(self))

    @property
    def array(self) -> Any:
        """Return the array that NumPy makes of the list."""
        leaves, tree = flatten(self.stack)
        if tree.is_leaf():
            return leaves[0]
        if type(self.stack) not in (tuple, list) or len({x.meta.rank for x in leaves}) > 1:
            raise NotKept(self.code, "a list of trees that it appends to is an array later")
        return FUNCTIONS["stack"](leaves, 1)

    def item(self, k: Any) -> Any:
        """Return an item: an element of an array is a scalar."""
        leaves, tree = flatten(self.stack)
        return unflatten(tree, [x[k] for x in leaves])

    def __getitem__(self, key: Any) -> Any:
        return KeptList(self.item(key), self.code) if type(key) is slice else self.item(key)

    def __iter__(self) -> Iterator[Any]:
        if is_open(self.length):
            raise NotKept(self.code, "a list that it appends to is iterated by code that is not read")
        return iter([self.item(k) for k in range(self.length)])

    def __len__(self) -> int:
        if is_open(self.length):
            raise NotKept(self.code, "a list that it appends to is asked for its length by code that is not read")
        return operator.index(self.length)

    def append(self, value: Any) -> None:
        """Append an item."""
        self.stack = joined(self.stack, map_tree(lambda x: as_value(x)[None], value), self.code)


class Growing(_List):
    """List in the body of a loop: what an iteration appends, and reads of items before.

    - `first`: the items before the loop. `rows` is an array of all items so far, if iterations read or write them, and
      `count` the number of items that earlier iterations appended.
    - `counter` is an array of one number, that of all items so far, where not all iterations append.
    """

    def __init__(self, loop: Any, name: str, first: list[Any] | KeptList, rows: Any = None, count: Any = None) -> None:
        self.loop, self.name, self.first, self.rows, self.count = loop, name, first, rows, count
        self.code = loop.code
        self.frame = loop.session.frames[-1]
        self.counter: Any = None
        self.new: list[Any] = []
        self.types: list[Any] = []  # of new items
        self.is_read = self.is_conditional = False

    def append(self, value: Any) -> None:
        """Append an item."""
        frames = self.loop.session.frames
        if frames[-1] is not self.frame:
            if not all(frame.is_choice for frame in frames[frames.index(self.frame) + 1 :]):
                raise NotKept(frames[-1].code, "it appends to a list of the loop around it")
            self.is_conditional = True
        leaves = flatten(item_value(value, self.code))[0]
        for x in leaves:
            if getattr(x, "is_array", False):  # the list holds it, not a copy
                memory_of(x).frozen = NotKept(self.code, f"{self.name} holds an array that is written to later")
        self.types.append([name_sizes(as_value(x)).meta for x in leaves])
        if self.counter is not None:
            at = self.counter[0]
            self.rows[at] = self._row(value)
            self.counter[0] = at + 1
        elif self.rows is not None:
            self.rows[self.count + len(self.new)] = self._row(value)
        self.new.append(value)

    def extend(self, values: Any) -> None:
        """Append items."""
        if type(values) not in (list, tuple):
            raise NotKept(self.code, f"it extends a list by a {type(values).__name__}")
        for value in values:
            self.append(value)

    @property
    def length(self) -> Any:
        """Return the number of items so far."""
        self.is_read = True
        if self.counter is not None:
            return self.counter[0]
        count = self.count if self.count is not None else length_of(self.first)
        return count + len(self.new)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            raise NotKept(self.code, "a list that it appends to is sliced in it")
        if has_type(key, int) and -len(self.new) <= key < 0 and not self.is_conditional and self.counter is None:
            return self.new[key]
        self.is_read = True
        if self.rows is None:  # any item tells its type
            if not self.new and not length_of(self.first):
                raise self.loop.apart(f"it reads {self.name} before that has items")
            return self.new[0] if self.new else self.first[0]
        return self.rows[self._position(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is slice or self.rows is None:
            raise NotKept(self.code, f"it writes to items of {self.name}, to which it appends")
        self.rows[self._position(key)] = self._row(value)

    def _row(self, value: Any) -> Any:
        """Return an item as a row of the array, which holds one dtype."""
        row = item_value(value, self.code)
        if is_array(row) and dtype_of(row) != self.rows.dtype:
            raise NotKept(self.code, f"{self.name} gets items of several dtypes")
        return row

    def _position(self, key: Any) -> Any:
        """Return a position that the program checks to be one of an item."""
        length = self.length
        position = key + length if has_type(key, int) and key < 0 else key
        if isinstance(key, Traced):
            k: Any = key
            position = FUNCTIONS["where"](k < 0, k + length, k)
        inside = FUNCTIONS["logical_and"](position >= 0, position < length)
        check(as_value(inside), "IndexError: list index out of range")
        return position

    def __iter__(self) -> Iterator[Any]:
        raise NotKept(self.code, "a list that it appends to is iterated in it")

    def __len__(self) -> int:
        raise NotKept(self.code, "a list that it appends to is asked for its length by code that is not read")


def length_of(x: list[Any] | KeptList) -> Any:
    """Return the number of items of a list, which may be a size."""
    return x.length if type(x) is KeptList else len(x)


def is_own(x: Any, held: int) -> bool:
    """Return whether a container is known to one variable alone, besides so many others that hold it."""
    return type(x) in (list, dict, KeptList) and sys.getrefcount(x) <= _OWN_REFERENCES + held


def map_tree(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree of what a function gives for the leaves of one."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in leaves])


def joined(before: Any, after: Any, code: types.CodeType) -> Any:
    """Return trees of rows, the ones after the others."""
    (first, tree), (second, other) = flatten(before), flatten(after)
    if tree != other:
        raise NotKept(code, "a list that it appends to has items of several types")
    return unflatten(tree, [FUNCTIONS["concatenate"]([x, y]) for x, y in zip(first, second, strict=True)])


def stacked(first: list[Any] | KeptList, stacks: tuple[Any, ...], code: types.CodeType) -> Any:
    """Return the list after a loop whose iterations appended rows of these arrays."""
    stack = stacks[0]
    if len(stacks) > 1:
        trees = [flatten(s) for s in stacks]
        if any(tree != trees[0][1] for _, tree in trees):
            raise NotKept(code, "a list that it appends to has items of several types")
        stack = unflatten(trees[0][1], [_interleaved(xs) for xs in zip(*[leaves for leaves, _ in trees], strict=True)])
    before = first.stack if isinstance(first, KeptList) else rows_of(first, code)
    return KeptList(stack if before is None else joined(before, stack, code), code)


def _interleaved(xs: tuple[Any, ...]) -> Any:
    together = FUNCTIONS["stack"](xs, 1)
    return together.reshape((together.shape[0] * len(xs), *together.shape[2:]))


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
    if type(x) is KeptList:
        return x.array
    leaves = flatten(x)[0]
    if not leaves or not all(map(is_array, leaves)):
        raise NotKept(code, f"a list that it appends to has an item of type {type(x).__name__}")
    return x


def released(result: Any) -> Any:
    """Return the result of a function, with lists of Python in place of lists of loops."""
    if type(result) is KeptList:
        return [*result]
    if type(result) in (tuple, list) and any(type(x) is KeptList for x in result):
        return type(result)([released(x) for x in result])
    if type(result) is dict and any(type(x) is KeptList for x in result.values()):
        return {k: released(x) for k, x in result.items()}
    return result


# -- functions of NumPy that take a list of arrays


def _concatenated(rows: Any, axis: Any = 0) -> Any:
    if axis is None:
        return rows.reshape(-1)
    axis = axis % (rows.meta.rank - 1)
    moved = FUNCTIONS["moveaxis"](rows, 0, axis)
    shape = moved.shape
    return moved.reshape((*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _stacked(rows: Any, axis: Any = 0) -> Any:
    return FUNCTIONS["moveaxis"](rows, 0, axis) if axis else FUNCTIONS["copy"](rows)


def _vertical(rows: Any) -> Any:
    if rows.meta.rank <= 1:
        return rows[:, None]
    return FUNCTIONS["copy"](rows) if rows.meta.rank == 2 else _concatenated(rows)


def _horizontal(rows: Any) -> Any:
    if rows.meta.rank <= 1:
        return FUNCTIONS["copy"](rows)
    return _concatenated(rows, 0 if rows.meta.rank == 2 else 1)


def _columns(rows: Any) -> Any:
    if rows.meta.rank <= 1:
        return rows[None, :]
    return rows.T.copy() if rows.meta.rank == 2 else _concatenated(rows, 1)


_OF_LISTS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _concatenated, np.stack: _stacked, np.vstack: _vertical, np.hstack: _horizontal,
    np.column_stack: _columns,
}  # fmt: skip


_SEES_NO_ROWS = {np.array, np.asarray, np.sum, np.mean, np.cumsum}  # the same for [] as for an array without rows
_TAKERS = {sum, min, max, any, all}


def takes_lists(function: Any) -> bool:
    """Return whether a function takes a list for an array."""
    module = getattr(function, "__module__", None)
    if module == "builtins":
        return function in _TAKERS
    return module is not None and str(module).startswith(("numpy", "scipy", "math"))


def with_arrays(function: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """Return a function that takes arrays in place of lists of loops, where the list stands for its rows."""

    def taking(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is KeptList for x in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        new, named = [_array_of(x, original) for x in args], {k: _array_of(x, original) for k, x in kwargs.items()}
        if args and type(args[0]) is KeptList and type(new[0]) is not list:
            return _OF_LISTS.get(original, function)(*new, **named)
        return function(*new, **named)

    return taking


def _array_of(x: Any, function: Any) -> Any:
    """Return the array that a list of a loop stands for; where the difference matters, an empty list for no items."""
    if type(x) is not KeptList:
        return x
    rows = x.array
    is_plain = function in _SEES_NO_ROWS and rows.meta.rank == 1 and rows.dtype == np.float64
    return rows if is_plain or x.length > 0 else []
