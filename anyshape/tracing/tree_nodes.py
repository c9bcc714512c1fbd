"""Nodes of trees beside the containers of Python: settings, which belong to the structure, and dataclasses.

optree sees them as leaves. `wrapped` puts a node of anyshape in place of each, and its `unflatten` gives back what it
stands for. No class is registered for that: registrations by the user come first, also later ones.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.support.freezing import Frozen
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import optree

NAMESPACE = "anyshape"
_SETTINGS = (str, bytes, enum.Enum, np.dtype, range, slice, types.EllipsisType)
_NO_SETTINGS = (Traced, SymbolicSize, np.ndarray, np.random.BitGenerator)
_BUILTIN = (
    *(Traced, SymbolicSize, np.ndarray, np.generic, BaseException, type),
    *(tuple, list, dict, set, frozenset, str, bytes, int, float, complex, enum.Enum),
)  # fields are not all that their instances hold


def register_class(kind: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Register a class of anyshape, once optree is loaded."""
    optree.when_loaded(lambda: optree.register_pytree_node(kind, flatten, unflatten, namespace=NAMESPACE))


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """Node without leaves for a text, a member of an enum, a function or a static field."""

    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Fields:
    """Node for an instance of a dataclass, whose children are its fields; in a prefix, settings are leaves."""

    value: Any
    is_prefix: bool = False


def _wrapper(kind: Any) -> type | None:
    """Return the class of nodes for leaves of a class, None for classes whose instances stay leaves."""
    return None if type(kind).__hash__ is None else _known_wrapper(kind)


def _node_class(kind: type) -> type | None:
    if issubclass(kind, _SETTINGS):
        return Setting
    if is_fields(kind):
        return Fields
    called = any("__call__" in vars(base) for base in kind.__mro__)
    return Setting if called and not issubclass(kind, _NO_SETTINGS) else None


_known_wrapper: Callable[[Any], type | None] = functools.lru_cache(maxsize=4096)(_node_class)


def is_fields(kind: type) -> bool:
    """Return True for a dataclass of a user whose instances are what their fields are."""
    if not dataclasses.is_dataclass(kind) or issubclass(kind, _BUILTIN):
        return False
    return not any(base.__module__.partition(".")[0] == "anyshape" for base in kind.__mro__)


def is_setting(x: Any) -> bool:
    """Return True for a text, a member of an enum or a function: an argument of that type is static by itself."""
    return _wrapper(type(x)) is Setting


def has_nodes(leaves: Iterable[Any]) -> bool:
    """Return True if some leaves are settings or dataclasses."""
    return any(_wrapper(type(x)) is not None for x in leaves)


def wrapped(tree: Any) -> Any:
    """Return a tree with a node in place of each setting and each dataclass."""
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    return optree.tree_unflatten(structure, map(_node, leaves)) if has_nodes(leaves) else tree


def _node(x: Any) -> Any:
    wrapper = _wrapper(type(x))
    return x if wrapper is None else wrapper(x)


def class_of(structure: Any) -> type:
    """Return the class that the first node of a structure stands for."""
    if structure.type not in (Setting, Fields):
        return structure.type
    return type(optree.tree_unflatten(structure, range(structure.num_leaves)))


def wrapped_prefix(tree: Any) -> Any:
    """Return a prefix of a wrapped tree with a node in place of each dataclass; texts are leaves of it."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    nodes = [Fields(x, is_prefix=True) if _wrapper(type(x)) is Fields else x for x in leaves]
    return optree.tree_unflatten(structure, nodes)


def settings_of(structure: Any) -> Iterator[Any]:
    """Yield the settings in a structure."""
    if structure.type is Setting:
        yield optree.tree_unflatten(structure, ())
    elif not structure.is_leaf():
        for part in structure.children():
            yield from settings_of(part)


@functools.lru_cache(maxsize=1024)
def has_settings(structure: Any) -> bool:
    """Return True if there are settings in a structure."""
    return next(settings_of(structure), structure) is not structure


def settings_by_path(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the settings inside of arguments by their path: `args[0]['kind']`."""
    is_one = lambda x: isinstance(x, Setting)
    entries = optree.tree_flatten_with_accessor(wrapped((args, kwargs)), is_leaf=is_one, namespace=NAMESPACE)
    return {argument_path(a): x.value for a, x in zip(entries[0], entries[1], strict=True) if isinstance(x, Setting)}


def argument_path(accessor: Any) -> str:
    """Return the path of a part of (args, kwargs): `args[0]`, `args[0]['w']`, `scale`."""
    head, key, *rest = accessor
    start = f"args[{key.entry}]" if head.entry == 0 else str(key.entry)
    return start + "".join(entry.codify("") for entry in rest)


# -- dataclasses -------------------------------------------------------------------------------------------------


class Layout(tuple[Any, ...]):
    """Class of an instance and the names of its parts; it prints as the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self[0].__qualname__)


def flatten_fields(x: Any) -> tuple[list[Any], Layout, tuple[str, ...]]:
    """Return the parts of an instance of a dataclass, what is left without them, and their names."""
    names = _part_names(x)
    static = {f.name for f in dataclasses.fields(x) if f.metadata.get("static")}
    parts = [Setting(getattr(x, n)) if n in static else wrapped(getattr(x, n)) for n in names]
    return parts, Layout((type(x), names)), names


def _flatten_prefix(x: Any) -> tuple[list[Any], Layout, tuple[str, ...]]:
    """Return what `flatten_fields` returns, for a prefix."""
    names = _part_names(x)
    return [wrapped_prefix(getattr(x, n)) for n in names], Layout((type(x), names)), names


def _part_names(x: Any) -> tuple[str, ...]:
    """Return the names of the fields that are set, and of further attributes, except values of cached properties."""
    names = [f.name for f in dataclasses.fields(x) if hasattr(x, f.name)]
    kind = type(x)
    for name in getattr(x, "__dict__", ()):
        cached = isinstance(getattr(kind, name, None), functools.cached_property)
        if name not in names and name.isidentifier() and not cached:
            names.append(name)
    return tuple(names)


def made_of_fields(layout: Layout, values: Iterable[Any]) -> Any:
    """Return an instance with these parts; `__init__` and `__post_init__` do not run."""
    kind, names = layout
    x = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(x, name, value)
    return x


register_class(Setting, lambda s: ((), Frozen(s.value)), lambda frozen, _: frozen.value)
optree.when_loaded(
    lambda: optree.register_pytree_node(
        Fields,
        lambda node: _flatten_prefix(node.value) if node.is_prefix else flatten_fields(node.value),
        made_of_fields,
        path_entry_type=optree.GetAttrEntry,
        namespace=NAMESPACE,
    )
)
