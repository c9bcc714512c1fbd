"""Functions written for one structure: the leaves of arguments that have it, and results put together in it.

They know tuples, lists, dicts with texts for keys, and None. What is anything else goes the general way, through
optree: subclasses, registered classes, arrays that are no plain ndarray.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from anyshape.tracing.pytrees import PYTHON_SCALARS, unflatten

Reader = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[Any, ...] | None"]

MOST_LEAVES = 256  # of a structure that gets a function
DEEPEST = 32  # containers in containers: Python reads only so many brackets
_LEAF, _NONE = optree.PyTreeKind.LEAF, optree.PyTreeKind.NONE
_TUPLE, _LIST, _DICT = optree.PyTreeKind.TUPLE, optree.PyTreeKind.LIST, optree.PyTreeKind.DICT
_KINDS = {_TUPLE: "tuple", _LIST: "list", _DICT: "dict"}


def is_plain(tree: Any) -> bool:
    """The structure is of tuples, lists, dicts with texts for keys, None and leaves, and neither large nor deep."""
    return tree.num_leaves <= MOST_LEAVES and _is_known(tree, DEEPEST)


def _is_known(tree: Any, depth: int) -> bool:
    if tree.kind in (_LEAF, _NONE):
        return True
    if tree.kind not in _KINDS or not depth or (tree.kind == _DICT and {*map(type, tree.entries())} - {str}):
        return False
    return all(_is_known(part, depth - 1) for part in tree.children())


def reader(tree: Any, leaves: Sequence[tuple[Any, ...]]) -> Reader | None:
    """A function of positional and keyword arguments: the leaves as arrays if they are as described, else None.

    `leaves` are their dtypes and ranks, and the types of plain numbers. The function may give None for arguments that
    are as described, of other types. None if there is no such function.
    """
    if not is_plain(tree) or any(kind not in PYTHON_SCALARS for _, _, *kinds in leaves for kind in kinds):
        return None
    return _Reader(leaves).function(*tree.children())


class _Reader:
    """Writes the function: each part is checked as soon as it is taken out of the whole."""

    def __init__(self, leaves: Sequence[tuple[Any, ...]]) -> None:
        self.leaves = iter(enumerate(leaves))
        self.lines: list[str] = []
        self.parts = itertools.count()
        self.names: dict[str, Any] = {"asarray": np.asarray, "ndarray": np.ndarray}

    def function(self, args: Any, kwargs: Any) -> Reader:
        self._inside("args", args)
        self._inside("kwargs", kwargs)
        leaves = "".join([f"x{i}, " for i in range(args.num_leaves + kwargs.num_leaves)])
        body = "\n".join([f"        {line}" for line in [*self.lines, f"return ({leaves})"]])
        source = f"def read(args, kwargs):\n    try:\n{body}\n    except (KeyError, ValueError):\n        return None\n"
        exec(compile(source, "<anyshape arguments>", "exec"), self.names)
        return self.names["read"]

    def _unless(self, test: str) -> None:
        self.lines.append(f"if {test}: return None")

    def _part(self, source: str, tree: Any) -> None:
        """Lines that check the value of an expression; its leaves are left in their locals."""
        if tree.kind == _NONE:
            self._unless(f"{source} is not None")
            return
        if tree.kind == _LEAF:
            self._leaf(source)
            return
        name = f"a{next(self.parts)}"
        self.lines.append(f"{name} = {source}")
        self._unless(f"type({name}) is not {_KINDS[tree.kind]}")
        self._inside(name, tree)

    def _inside(self, name: str, tree: Any) -> None:
        """The same of what a container holds, whose type was checked."""
        parts = tree.children()
        self._unless(f"len({name}) != {len(parts)}" if parts else name)
        for entry, part in zip(tree.entries(), parts, strict=True):
            self._part(f"{name}[{entry!r}]", part)

    def _leaf(self, source: str) -> None:
        i, (dtype, rank, *kind) = next(self.leaves)
        x, expected = f"x{i}", f"d{i}"
        self.names[expected] = dtype
        self.lines.append(f"{x} = {source}")
        wrong = f"({x}.dtype is not {expected} and {x}.dtype != {expected}) or {x}.ndim != {rank}"
        if kind:
            self._unless(f"type({x}) is not {kind[0].__name__}")
            self.lines.append(f"{x} = asarray({x})")
            self._unless(wrong)
            return
        if rank == 0:
            self.names[f"t{i}"] = dtype.type
            self.lines.append(f"if type({x}) is t{i}: {x} = asarray({x})")
        self._unless(f"type({x}) is not ndarray or {wrong}")


def maker(tree: Any) -> Callable[[Sequence[Any]], Any]:
    """A function that puts outputs together in a structure."""
    if tree.is_leaf():
        return _only
    if not is_plain(tree):
        return lambda outputs: unflatten(tree, outputs)
    names = [f"y{i}" for i in range(tree.num_leaves)]
    targets = f"    {', '.join(names)}, = outputs\n" if names else ""
    whole = _source(unflatten(tree, map(_Name, names)))  # dicts in the order in which unflatten makes them
    space: dict[str, Any] = {}
    exec(compile(f"def make(outputs):\n{targets}    return {whole}\n", "<anyshape results>", "exec"), space)
    return space["make"]


def _only(outputs: Sequence[Any]) -> Any:
    return outputs[0]


class _Name(str):
    """A local, among the texts that a structure may hold."""


def _source(part: Any) -> str:
    """The display of a structure of names."""
    if part is None or isinstance(part, _Name):
        return str(part)
    if isinstance(part, dict):
        return f"{{{', '.join([f'{key!r}: {_source(x)}' for key, x in part.items()])}}}"
    inner = "".join([f"{_source(x)}, " for x in part])
    return f"[{inner}]" if isinstance(part, list) else f"({inner})"
