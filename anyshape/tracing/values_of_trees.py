"""Trees with leaves of integers that belong to what derivatives are taken in, and that no derivative is taken in."""

from collections.abc import Callable
from typing import Any

import optree

from anyshape.tracing import pytrees

_VALUES: dict[type, Callable[[Any], Any]] = {}  # by a class with leaves of integers, which no derivative is taken in


def register_values(kind: type, values: Callable[[Any], Any]) -> None:
    """Let `values(x)` give the tree of an instance in which derivatives are taken; unflattened, it is an instance."""
    _VALUES[kind] = values


def with_values_alone(tree: Any) -> Any:
    """Return a tree without the leaves that no derivative is taken in."""
    if not _VALUES:
        return tree
    alone = lambda x: _VALUES[type(x)](x) if type(x) in _VALUES else x
    return optree.tree_map(alone, pytrees.wrapped(tree), is_leaf=_has_values, namespace=pytrees.NAMESPACE)


def has_other_leaves(primals: Any) -> bool:
    """Return whether some leaves are of classes with leaves that no derivative is taken in."""
    if not _VALUES:
        return False
    return any(map(_has_values, optree.tree_leaves(primals, is_leaf=_has_values, namespace=pytrees.NAMESPACE)))


def with_other_leaves(tree: Any, primals: Any) -> Any:
    """Return a tree of cotangents with the leaves of the primals that no derivative is taken in."""

    def put(x: Any, ct: Any) -> Any:
        if not _has_values(x):
            return ct
        leaves = optree.tree_leaves(ct, none_is_leaf=True, namespace=pytrees.NAMESPACE)[:1]
        return None if leaves[0] is None else pytrees.unflatten(pytrees.flatten(_VALUES[type(x)](x))[1], leaves)

    return optree.tree_map(put, primals, tree, is_leaf=_has_values, namespace=pytrees.NAMESPACE)


def _has_values(x: Any) -> bool:
    return type(x) in _VALUES
