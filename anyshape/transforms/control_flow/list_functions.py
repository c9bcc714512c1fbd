"""Functions of Python and NumPy that take lists of loops, or make such lists, as `sorted(x)` and `[v] * n`."""

from __future__ import annotations

import inspect
import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.arrays.python_operators import expect
from anyshape.numpy.operands.memory import memory_of
from anyshape.numpy.operands.promotion import is_weak
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten, is_array
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.read import NotKept
from anyshape.tracing.trace import as_value
from anyshape.transforms.control_flow.iterables import Once, Range, Sifted, is_batch, is_open
from anyshape.transforms.control_flow.kept_lists import KeptList, item_value, map_tree, opened, rows_of

# -- lists


def item_at(items: Sequence[Any], k: Any, code: types.CodeType) -> Any:
    """Return an item of a list of Python at a position that a run knows."""
    rows = rows_of([*items], code)
    if rows is None:
        raise IndexError("list index out of range")
    item = map_tree(lambda x: x[k].copy() if x.meta.rank > 1 else x[k], rows)
    for x in flatten(item)[0]:
        if getattr(x, "is_array", False):
            memory_of(x).frozen = NotKept(code, "an array of a list is written to")
    return item.as_weak() if all(map(is_weak, items)) else opened(item)


def makes_lists() -> types.CodeType | None:
    """Return the code of the user that calls, where it may have lists of rows."""
    frame: Any = sys._getframe(2)
    while str(frame.f_globals.get("__name__")).startswith("anyshape.transforms."):
        frame = frame.f_back
    code, session = frame.f_code, reading.session()
    return None if session is None or session.is_plain or code in session.refused else code


def sorted_(x: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """Return `sorted(x)` of the elements of an array, or of a list of a loop. A run refuses NaN, which has no order."""
    code = makes_lists()
    items = _ordered(x, code) if has_type(reverse, (bool, int)) else None
    keys = None if items is None or code is None else _keys_of(items, key, code)
    if items is None or keys is None:
        return sorted(x, key=key, reverse=reverse)
    _expect_order(keys, "sorted()")
    order = _order(keys, reverse)
    return KeptList(map_tree(lambda rows: rows[order], items.rows), items.code, weak=items.weak)


def _ordered(x: Any, code: types.CodeType | None) -> KeptList | None:
    """Return items that are sorted, as a list of rows; None for what Python sorts."""
    x = _listed(x, code)
    if code is None or type(x) is KeptList:
        return None if code is None or x.rows is None or x.batch is not None else x
    is_vector = isinstance(x, Traced) and x.meta.rank == 1
    return list_(list, x) if is_vector or (type(x) is Range and is_open(x.length)) else None


def _keys_of(items: KeptList, key: Any, code: types.CodeType) -> list[Any] | None:
    """Return the vectors of what items are ordered by, the first one first; None for what has no order by numbers."""
    rows = items.rows
    if key is not None:
        run = code_that_is_read().call(key)
        fill = lambda to, item: to.append(run(item))
        rows = code_that_is_read().kept_list(reading.session(), items.items, fill, code).rows
    leaves, tree = flatten(rows)
    are_ordered = tree.is_leaf() or (type(rows) is tuple and len(rows) == len(leaves))
    are_numbers = all(x.meta.rank == 1 and x.dtype.kind in "biuf" for x in leaves)
    return leaves if leaves and are_ordered and are_numbers else None


def _expect_order(keys: Sequence[Any], name: str) -> None:
    for x in keys:
        if x.dtype.kind == "f":
            expect(~FUNCTIONS["any"](FUNCTIONS["isnan"](x)), f"{name} of NaN, which has no order")


def _order(keys: Sequence[Any], reverse: Any) -> Any:
    """Return the positions of items in order; equal ones stay as they are."""
    keys = [x[::-1] for x in keys] if reverse else keys
    order = FUNCTIONS["argsort"](keys[0], kind="stable") if len(keys) == 1 else FUNCTIONS["lexsort"](keys[::-1])
    return keys[0].shape[0] - 1 - order[::-1] if reverse else order


def _extreme(original: Any, x: Any, *, key: Any = None, **options: Any) -> tuple[Any] | None:
    """Return the first least or largest of some items by what a key gives; None for what Python compares."""
    if key is None and type(getattr(x, "rows", None)) is not tuple:
        return None
    code = makes_lists()
    items = _ordered(x, code)
    keys = None if items is None or code is None or not items.length > 0 else _keys_of(items, key, code)
    if items is None or keys is None:
        return None
    _expect_order(keys, f"{original.__name__}()")
    if len(keys) == 1:
        return (items.item(FUNCTIONS["argmin" if original is min else "argmax"](keys[0])),)
    return (items.item(_order(keys, original is max)[0]),)


def list_(kind: type, x: Any = (), /) -> Any:
    """Return `list(x)` or `tuple(x)`, also of items whose number a run knows."""
    code = makes_lists()
    x = _listed(x, code)
    if type(x) is KeptList:
        return x.copy(kind)
    if code is None or not has_length(x):
        return kind(x)
    if type(x) is Range:
        return KeptList(x.as_operand(), code, weak=True, kind=kind)
    return KeptList(x.copy(), code, weak=False, kind=kind)


def _listed(x: Any, code: types.CodeType | None) -> Any:
    """Return the list of what an iterator gives, if a loop of the program may make it; other objects as they are."""
    if code is not None and type(x) is Sifted and x.is_new and not x.ends and not has_type(x.length, int):
        return code_that_is_read().kept_sifted(reading.session(), x, code)
    if code is None or type(x) is not Once or not x.is_new or has_type(x.length, int):
        return x
    listed = code_that_is_read().kept_list
    return listed(reading.session(), x, lambda to, item: to.append(item), code)


def has_length(x: Any) -> bool:
    """Return whether a run knows the length of a range or an array."""
    is_array = isinstance(x, Traced) and x.meta.rank > 0
    return (type(x) is Range and is_open(x.length)) or (is_array and is_open(x.shape[0]))


def repeated(x: Any, y: Any) -> Any:
    """Return `x * y`, where one of them may be a list, and the other one a size."""
    code = makes_lists()
    items, count = (x, y) if type(x) is list else (y, x)
    is_uniform = type(items) is list and isinstance(count, SymbolicSize) and len(items) == 1 and is_array(items[0])
    if code is None or not is_uniform:
        return x * y
    item = as_value(item_value(items[0], code))
    rows = FUNCTIONS["broadcast_to"](item, (FUNCTIONS["maximum"](count, 0), *item.shape)).copy()
    return KeptList(rows, code, weak=is_weak(items[0]))


def transposed(function: Any, x: Any) -> Any:
    """Return `zip(*x)`: of a list of tuples that a loop made, the lists of their parts."""
    if function is not zip or type(x) is not KeptList or type(x.rows) is not tuple or not x.length > 0:
        return function(*x)
    return iter([KeptList(part, x.code) for part in x.rows])


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


def _deep(rows: Any) -> Any:
    shapes: dict[int, Any] = {1: (slice(None), None, None, None), 2: (slice(None), None, slice(None), None)}
    return _concatenated(rows[shapes.get(rows.meta.rank, ...)] if rows.meta.rank != 3 else rows[..., None], 2)


_OF_LISTS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _concatenated, np.stack: _stacked, np.vstack: _vertical, np.hstack: _horizontal,
    np.column_stack: _columns, np.dstack: _deep,
}  # fmt: skip


_OF_NONE: dict[bool, tuple[Any, ...]] = {False: (), True: (sum, any, all)}  # have a result for no examples
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
        if args and type(args[0]) in (Once, Sifted):
            args = (_listed(args[0], makes_lists()), *args[1:])
        if any(map(is_batch, args)) and original not in _TAKERS:
            return _of_batches(original, args, kwargs)
        is_made = any(type(x) in (KeptList, Range, deque) for x in (*args, *kwargs.values())) or "key" in kwargs
        return _of_rows(function, original, args, kwargs) if is_made else function(*args, **kwargs)

    return taking


def _of_rows(function: Callable[..., Any], original: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    extreme = _extreme(original, *args, **kwargs) if original in (min, max) and not args[1:] else None
    if extreme is not None:
        return extreme[0]
    if original in (sum, min, max) and type(args[0]) is KeptList and not args[1:]:
        return _of_numbers(function, original, args[0], kwargs)
    new = [_operand(name, x, original) for name, x in itertools.zip_longest(_parameters(original)[: len(args)], args)]
    named = {k: _operand(k, x, original) for k, x in kwargs.items()}
    if args and type(args[0]) is KeptList and type(new[0]) is not list:
        return _OF_LISTS.get(original, function)(*new, **named)
    return function(*new, **named)


def _parameters(function: Any) -> list[str]:
    """Return the parameters of a function of SciPy, in their order; none for others."""
    is_scipy = str(getattr(function, "__module__", "")).startswith("scipy")
    return [*inspect.signature(function).parameters] if is_scipy else []


def _operand(parameter: str | None, x: Any, function: Any) -> Any:
    """Return the array that a list stands for, or its items where it is a tuple of further arguments."""
    return tuple(x) if parameter == "args" and type(x) is KeptList and x.kind is tuple else _array_of(x, function)


def _of_batches(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function of NumPy gives for batches of examples."""
    args = [x.batch if type(x) is KeptList else x for x in args]
    is_whole = not isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is function
    return args[0].served(function, args, kwargs) if is_whole and is_batch(args[0]) else function(*args, **kwargs)


def _of_numbers(function: Callable[..., Any], original: Any, x: KeptList, options: dict[str, Any]) -> Any:
    """Return the sum or an extreme of a list of scalars, a number of Python if all are."""
    array = x.array if options.keys() == {"default"} else _array_of(x, original)
    result: Any = function(array, **options)
    return result.as_weak() if x.weak and hasattr(result, "as_weak") else result


def _array_of(x: Any, function: Any) -> Any:
    """Return the array that a list of a loop stands for; where the difference matters, an empty list for no items."""
    if type(x) is not KeptList:
        return _array_of_other(x, function)
    session, rows = reading.session(), x.array
    is_inside = session is not None and bool(session.frames)
    is_plain = is_inside if function in _TAKERS else function not in _OF_LISTS
    is_plain = (is_plain and rows.dtype == np.float64) or function in _OF_NONE[x.of_examples]  # as [] is to NumPy
    if is_plain and rows.meta.rank == 1:
        return rows
    if is_inside and not has_type(x.length, (int, SymbolicSize)):
        raise x.refused("a list that it appends to is an array in it, and may have no items")
    return rows if x.length > 0 else []


def _array_of_other(x: Any, function: Any) -> Any:
    if type(x) is not Range:
        return [*x] if type(x) is deque else x
    if "random" in str(function.__module__):  # a generator of NumPy draws from the numbers themselves
        return x
    return x.as_operand() if x.length > 0 else []
