"""Arguments that a function gets as they are: settings and objects. Others are arrays, numbers and trees of them."""

import array
import functools
import numbers
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
import optree

from anyshape.errors import ArgumentError
from anyshape.graph.ir.graph import drawing
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import TRANSPARENT

_NEVER_KEPT = frozenset(map(id, (np.ndarray, *pytrees.PYTHON_SCALARS, tuple, list, dict, type(None))))
_NO_OBJECTS = (
    np.generic, numbers.Number, np.random.BitGenerator, bytearray, memoryview, array.array, types.CoroutineType,
)  # fmt: skip


def is_object(x: Any) -> bool:
    """Return True for an object that an argument may be, or hold, which is neither an array nor a tree of arrays."""
    kind: Any = type(x)
    if type(kind).__hash__ is None or not _is_object_class(kind) or hasattr(x, "__array_interface__"):
        return False
    return optree.tree_is_leaf(x, namespace=pytrees.NAMESPACE)


@functools.lru_cache(maxsize=4096)
def _is_object_class(kind: type) -> bool:
    """Return True for a class whose objects are neither arrays, numbers, settings, trees nor iterators."""
    if issubclass(kind, (*pytrees.NO_SETTINGS, *_NO_OBJECTS, *drawing())) or pytrees.node_class(kind) is not None:
        return False
    if kind.__module__.partition(".")[0] in TRANSPARENT:
        return False  # a specification, say, is for functions that take one
    return not any(hasattr(kind, name) for name in ("__next__", "__array__", "__dlpack__", "__array_interface__"))


def is_kept(x: Any, tables_stay: bool = False) -> bool:
    """Return True for an argument that a function gets as it is: a setting or an object.

    A table with names of columns is one if `tables_stay`, or if it does not hold numbers alone. Others are arrays.
    """
    if id(type(x)) in _NEVER_KEPT:
        return False
    return pytrees.is_setting(x) or is_object(x) or (is_table(x) and (tables_stay or not _is_of_numbers(x)))


def is_table(x: Any) -> bool:
    """Return True for an array of another library whose columns have names."""
    return hasattr(type(x), "columns") and pytrees.may_be_array(x)


def require_numbers(x: Any, path: str, function: str) -> None:
    """Raise ArgumentError for a table with other columns than of numbers, which it names."""
    if is_table(x):
        pytrees.as_leaf(x, path, function)


def _is_of_numbers(table) -> bool:
    try:
        require_numbers(table, "", "")
    except ArgumentError:
        return False
    return True


def are_kept(x: Any) -> bool:
    """Return True for an argument that a function gets as it is, or a container of such alone."""
    if is_kept(x):
        return True
    if not isinstance(x, (tuple, list, dict)):
        return False
    tree: Any = x
    try:
        leaves: list[Any] = optree.tree_leaves(tree, namespace=pytrees.NAMESPACE)
    except RecursionError:  # of a container that holds itself
        return False
    return bool(leaves) and all(map(is_kept, leaves))


def with_objects(structure: Any, leaves: Iterable[Any], tables_stay: bool) -> Any:
    """Return the tree of these leaves with a node in place of each object."""
    return pytrees.unflatten(structure, [pytrees.Setting(x) if is_kept(x, tables_stay) else x for x in leaves])
