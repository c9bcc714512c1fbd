"""Lists of any number of items in results: rows of arrays, which are lists of Python where a program has run."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from anyshape.graph.ir.builder import Traced
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.tracing.pytrees import flatten, may_be_array, register_class, unflatten
from anyshape.tracing.source.read import session


class Inner:
    """List that is an item of another one, as the tree of its rows. All items together are rows of rows.

    `code` is that of the loop which made it, None in a file. `weak` says whether all items are numbers of Python, and
    `kind` whether it is a list or a tuple.
    """

    def __init__(self, rows: Any, code: Any = None, weak: bool | None = None, kind: type = list) -> None:
        self.rows, self.code, self.weak, self.kind = rows, code, weak, kind

    def with_weak(self, weak: bool | None) -> Inner:
        """Return a list whose items are said to be numbers of Python, or not."""
        return Inner(self.rows, self.code, weak, self.kind)


class Rows(Inner):
    """List that is a result. It is one of loops where its rows are traced, and one of Python where they are arrays."""


class _Origin:
    """Code that made a list. It belongs to no structure, and stays behind in pickles."""

    def __init__(self, code: types.CodeType | None) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Origin)

    def __hash__(self) -> int:
        return 0

    def __reduce__(self) -> Any:
        return _Origin, (None,)


def mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a container with what a function gives for each part; the container itself if that is the same."""
    if type(x) not in (list, tuple, dict):
        return x
    parts = [*x.values()] if type(x) is dict else x
    new = [function(part) for part in parts]
    if all(a is b for a, b in zip(new, parts, strict=True)):
        return x
    return dict(zip(x, new, strict=True)) if type(x) is dict else type(x)(new)


def _result(rows: Rows) -> Any:
    """Return what stands for a list of rows, which has no items in a structure alone."""
    leaves = flatten(rows.rows)[0]
    are_traced = any(isinstance(x, Traced) for x in leaves)
    if are_traced and rows.code is not None and session() is not None:
        return code_that_is_read().KeptList(rows.rows, rows.code, weak=rows.weak, kind=rows.kind)
    return _items(rows) if are_traced or all(map(may_be_array, leaves)) else rows


def _items(x: Any) -> Any:
    """Return a result with lists of items in place of rows of arrays."""
    if not isinstance(x, Inner):
        return mapped(_items, x)
    leaves, tree = flatten(x.rows)
    if tree.is_leaf():
        return x.kind(leaves[0])
    return x.kind([_items(unflatten(tree, item)) for item in zip(*leaves, strict=True)])


def _register(kind: type[Inner], made: Callable[[Any], Any]) -> None:
    register_class(
        kind,
        lambda x: ((x.rows,), (_Origin(x.code), x.weak, x.kind)),
        lambda facts, parts: made(kind(parts[0], facts[0].code, *facts[1:])),
    )


_register(Inner, lambda inner: inner)
_register(Rows, _result)
