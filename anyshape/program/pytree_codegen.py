"""Generated functions for one structure: read the leaves of arguments, and build results.

They handle tuples, lists, dicts with str keys, and None. All else goes through optree: subclasses, registered classes,
and subclasses of ndarray.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.tracing.pytrees import PYTHON_SCALARS, Order, generator_array, unflatten

Reader = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[Any, ...] | None"]

MAX_LEAVES = 256  # of a structure with a generated function
MAX_DEPTH = 32  # of nested containers: the parser of Python limits brackets
_NUMBERS = (*PYTHON_SCALARS, np.generic, np.ndarray, np.random.Generator)  # an ndarray without axes
_KINDS = {"TUPLE": "tuple", "LIST": "list", "DICT": "dict"}  # types by optree's names of kinds


def is_plain(tree: Any) -> bool:
    """Return True for tuples, lists, dicts with str keys, None and leaves, neither large nor deep."""
    return tree.num_leaves <= MAX_LEAVES and _has_known_kinds(tree, MAX_DEPTH)


def _has_known_kinds(tree: Any, depth: int) -> bool:
    kind = tree.kind.name
    if kind in ("LEAF", "NONE"):
        return True
    if kind not in _KINDS or not depth or (kind == "DICT" and {*map(type, tree.entries())} - {str}):
        return False
    return all(_has_known_kinds(part, depth - 1) for part in tree.children())


def reader(tree: Any, leaves: Sequence[tuple[Any, ...]], order: Order = Order.KEYS) -> Reader | None:
    """Generate a function of positional and keyword arguments that returns their leaves as arrays.

    It returns None for arguments that do not match, and for some that match but have other types. `leaves` are the
    dtypes and ranks, and the types of plain numbers. Keys must come in the order of the structure as far as `order`
    demands it. Return None if the structure is not plain.
    """
    if not is_plain(tree) or any(kind not in _NUMBERS for _, _, *kinds in leaves for kind in kinds):
        return None
    return _Reader(leaves, order).function(*tree.children())


class _Reader:
    """Writes the function; each part is checked as soon as it is read.

    The keys of `ordered` dicts are compared last and together: one comparison costs no more than one length for each.
    """

    def __init__(self, leaves: Sequence[tuple[Any, ...]], order: Order) -> None:
        self.leaves, self.order = iter(enumerate(leaves)), order
        self.lines: list[str] = []
        self.parts = itertools.count()
        self.ordered: list[str] = []
        self.keys: list[str] = []
        self.names: dict[str, Any] = {
            "asarray": np.asarray,
            "ndarray": np.ndarray,
            "Generator": np.random.Generator,
            "generator_array": generator_array,
        }

    def function(self, args: Any, kwargs: Any) -> Reader:
        self._inside("args", args)
        if self.order is Order.ALL:
            self._in_order("kwargs", kwargs)
        else:
            self._inside("kwargs", kwargs)
        if self.ordered:
            self.names["keys"] = self.keys
            self._reject_if(f"[{', '.join([f'*{name}' for name in self.ordered])}] != keys")
        leaves = "".join([f"x{i}, " for i in range(args.num_leaves + kwargs.num_leaves)])
        body = "\n".join([f"        {line}" for line in [*self.lines, f"return ({leaves})"]])
        source = f"def read(args, kwargs):\n    try:\n{body}\n    except (KeyError, ValueError):\n        return None\n"
        exec(compile(source, "<anyshape arguments>", "exec"), self.names)
        return self.names["read"]

    def _reject_if(self, test: str) -> None:
        self.lines.append(f"if {test}: return None")

    def _part(self, source: str, tree: Any) -> None:
        """Write lines that check the value of an expression and leave its leaves in their locals."""
        if tree.kind.name == "NONE":
            self._reject_if(f"{source} is not None")
            return
        if tree.kind.name == "LEAF":
            self._leaf(source)
            return
        name = f"a{next(self.parts)}"
        self.lines.append(f"{name} = {source}")
        self._reject_if(f"type({name}) is not {_KINDS[tree.kind.name]}")
        if tree.kind.name == "DICT" and self.order is not Order.NONE:
            self._in_order(name, tree)
        else:
            self._inside(name, tree)

    def _in_order(self, name: str, tree: Any) -> None:
        """Write the lines for the values of a dict whose keys must come in the order of the structure.

        They need no length: each of the dicts has the keys that are read, and all together no more.
        """
        if tree.num_children < 2:
            self._inside(name, tree)
            return
        self.ordered.append(name)
        self.keys += tree.entries()
        for entry, part in zip(tree.entries(), tree.children(), strict=True):
            self._part(f"{name}[{entry!r}]", part)

    def _inside(self, name: str, tree: Any) -> None:
        """Write the lines for the parts of a container, whose type was checked."""
        parts = tree.children()
        self._reject_if(f"len({name}) != {len(parts)}" if parts else name)
        for entry, part in zip(tree.entries(), parts, strict=True):
            self._part(f"{name}[{entry!r}]", part)

    def _leaf(self, source: str) -> None:
        i, (dtype, rank, *kind) = next(self.leaves)
        x, expected = f"x{i}", f"d{i}"
        self.names[expected] = dtype
        self.lines.append(f"{x} = {source}")
        if kind == [np.random.Generator]:
            self._reject_if(f"type({x}) is not Generator")
            self.lines.append(f"{x} = generator_array({x})")
            return
        wrong = f"({x}.dtype is not {expected} and {x}.dtype != {expected}) or {x}.ndim != {rank}"
        if kind and kind[0] is not np.ndarray:
            self.names[f"t{i}"] = dtype.type if kind[0] is np.generic else kind[0]
            self._reject_if(f"type({x}) is not t{i}")
            self.lines.append(f"{x} = asarray({x})")
            self._reject_if(wrong)
            return
        if rank == 0 and not kind:
            self.names[f"t{i}"] = dtype.type
            self.lines.append(f"if type({x}) is t{i}: {x} = asarray({x})")
        self._reject_if(f"type({x}) is not ndarray or {wrong}")


def maker(tree: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that builds the structure from a list of outputs."""
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
    """Name of a local, distinct from any str in the structure."""


def _source(part: Any) -> str:
    """Return the source of a structure of names."""
    if part is None or isinstance(part, _Name):
        return str(part)
    if isinstance(part, dict):
        return f"{{{', '.join([f'{key!r}: {_source(x)}' for key, x in part.items()])}}}"
    inner = "".join([f"{_source(x)}, " for x in part])
    return f"[{inner}]" if isinstance(part, list) else f"({inner})"
