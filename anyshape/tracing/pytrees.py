"""Flatten pytrees of arguments and results through optree: leaves, paths and prefixes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.signature.size_names import identifier
from anyshape.numpy.operands.promotion import NUMERIC, plain_array
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.support.packages import optree
from anyshape.support.true_types import has_type

NAMESPACE = "anyshape"
PYTHON_SCALARS = (bool, int, float, complex)


@dataclass(frozen=True, eq=False)
class Static:
    """Value that belongs to the structure of a tree and not to its leaves."""

    value: Any


def _register(kind: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Register a class of anyshape, once optree is loaded."""
    optree.when_loaded(lambda: optree.register_pytree_node(kind, flatten, unflatten, namespace=NAMESPACE))


_register(Static, lambda s: ((), s.value), lambda value, _: Static(value))


def register_as_tuple(kind: type[tuple[Any, ...]]) -> None:
    """Flatten instances of a subclass of tuple as tuples."""
    _register(kind, lambda x: (tuple(x), None), lambda _, xs: tuple(xs))


register_as_tuple(Sizes)


Flatten: TypeAlias = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten: TypeAlias = Callable[[Any, Iterable[Any]], Any]


def register_pytree_node(cls: type, flatten: Flatten | None = None, unflatten: Unflatten | None = None) -> type:
    """Register a class as a pytree for arguments, results and gradients, and return it, as a decorator does.

    - `flatten` returns the children of an instance and its other data, which must hash and compare with `==`.
    - `unflatten` makes an instance from the other data and the children.
    - A dataclass needs neither: its fields are the children, except fields with the metadata `static`.

    >>> import dataclasses
    >>> import numpy as np
    >>> from anyshape import grad
    >>> @register_pytree_node
    ... @dataclasses.dataclass
    ... class Line:
    ...     slope: float
    ...     start: float
    ...     label: str = dataclasses.field(default="", metadata={"static": True})
    >>> slopes = grad(lambda line, x: np.sum(line.slope * x + line.start))(Line(2.0, 1.0, "up"), np.arange(4.0))
    >>> float(slopes.slope), float(slopes.start), slopes.label
    (6.0, 4.0, 'up')
    """
    if not isinstance(cls, type):
        raise ArgumentError("register_pytree_node", "cls", f"is {cls!r:.50}", "give a class")
    if (flatten is None) != (unflatten is None) or (flatten is None and not dataclasses.is_dataclass(cls)):
        advice = "give flatten and unflatten, or make it a dataclass"
        raise ArgumentError(
            "register_pytree_node", cls.__name__, "is no dataclass and has no flatten and unflatten", advice
        )
    kind = optree.FlattenedEntry
    if flatten is None or unflatten is None:
        flatten, unflatten = _of_fields(cls)
        kind = optree.GetAttrEntry

    def hashed(x: Any) -> tuple[Any, ...]:
        parts, rest, *entries = flatten(x)
        try:
            hash(rest)
        except TypeError:
            problem = f"holds {rest!r:.50} besides its parts, which cannot be hashed"
            raise ArgumentError(cls.__name__, "an instance", problem, "hold a tuple or a text there") from None
        return parts, rest, *entries

    try:
        optree.register_pytree_node(cls, hashed, unflatten, path_entry_type=kind, namespace=NAMESPACE)
    except ValueError:
        raise ArgumentError("register_pytree_node", cls.__name__, "is registered already", "do so once") from None
    return cls


def _of_fields(cls: type) -> tuple[Callable[[Any], Any], Unflatten]:
    """Return functions that flatten and unflatten a dataclass by its fields."""
    fields = [f for f in dataclasses.fields(cls) if f.init]
    parts = tuple([f.name for f in fields if not f.metadata.get("static")])
    rest = tuple([f.name for f in fields if f.metadata.get("static")])

    def flatten(x: Any) -> Any:
        return [getattr(x, name) for name in parts], tuple([getattr(x, name) for name in rest]), parts

    def unflatten(held: Any, values: Iterable[Any]) -> Any:
        return cls(**dict(zip(parts, values, strict=True)), **dict(zip(rest, held, strict=True)))

    return flatten, unflatten


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function as programs print it."""
    return getattr(function, "__name__", type(function).__name__)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a pytree."""
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    return leaves, structure


def flatten_with_none(tree: Any) -> tuple[list[Any], Any, list[str]]:
    """Return the leaves, with None as a leaf, the structure, and the path of each leaf: `args[0]['w']`."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    accessors = optree.tree_accessors(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, structure, [accessor.codify("args") for accessor in accessors]


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return the pytree of a structure with these leaves."""
    return optree.tree_unflatten(structure, leaves)


def flatten_prefix(prefix: Any, tree: Any, function: str, argument: str) -> list[Any]:
    """Return the entries of `prefix` (ints or None), repeated for every leaf of `tree` below them."""
    try:
        return optree.broadcast_prefix(prefix, tree, none_is_leaf=True, namespace=NAMESPACE)
    except ValueError as error:
        first = next(iter(optree.prefix_errors(prefix, tree, none_is_leaf=True, namespace=NAMESPACE)), None)
        text = " ".join(str(first(argument)).split()).removeprefix("pytree structure error: ") if first else str(error)
        advice = "give one entry per argument, or a tree that is a prefix of the arguments"
        raise ArgumentError(function, argument, f"does not match the arguments: {text}", advice) from error


def leaf_paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Return the path of each leaf of the arguments: `args[0]`, `args[0]['w']`, `scale`."""
    paths = []
    for accessor in optree.tree_accessors((args, kwargs), namespace=NAMESPACE):
        head, key, *rest = accessor
        start = f"args[{key.entry}]" if head.entry == 0 else str(key.entry)
        paths.append(start + "".join(entry.codify("") for entry in rest))
    return paths


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters, none for a function without a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def named(path: str, names: Sequence[str]) -> str:
    """Return the path of a leaf by the name of its parameter: `x`, `params['w']`."""
    position = re.match(r"args\[(\d+)\]", path)
    if position is None or int(position[1]) >= len(names):
        return path
    return names[int(position[1])] + path[position.end() :]


def readable(path: str, names: Sequence[str]) -> str:
    """Return an identifier for a leaf from its path: `x`, `params_w`."""
    return identifier(named(path, names))


def check_callable(transform: str, function: Any) -> None:
    """Raise ArgumentError unless the argument of a transform is callable."""
    if not callable(function):
        advice = "pass the function itself, not the result of calling it"
        raise ArgumentError(transform, "its argument", f"is of type {type(function).__name__}, not a function", advice)


def as_leaf(x: Any, path: str, function: str) -> np.ndarray:
    """Return a leaf of the arguments as an array of numbers; raise ArgumentError for anything else."""
    if isinstance(x, Traced):
        if x.builder.closed:
            raise x.leaked()
        advice = "a program runs on arrays: inside a traced function, call the function itself"
        raise ArgumentError(function, path, f"is a traced array {x.meta}", advice)
    if has_type(x, (np.ndarray, np.generic, *PYTHON_SCALARS)):
        array = plain_array(x, function, path)
        if array.dtype.kind in NUMERIC and array.dtype.isnative:
            return array
        if has_type(x, int):
            advice = "pass an integer of at most 64 bits, or a float"
            raise ArgumentError(function, path, f"is an integer of {x.bit_length()} bits", advice)
        raise ArgumentError(function, path, f"has dtype {array.dtype}", "pass numbers or booleans in native byte order")
    problem = f"is of type {type(x).__name__}, not an array"
    raise ArgumentError(function, path, problem, "pass arrays and numbers, and close over the rest")


def is_array(x: Any) -> bool:
    """Return True if x can be a leaf of a result."""
    return has_type(x, (Traced, SymbolicSize, np.ndarray, np.generic, *PYTHON_SCALARS))


def is_python_scalar(x: Any) -> bool:
    """Return True for a plain Python number, which takes the dtype of the array that it is combined with."""
    return has_type(x, PYTHON_SCALARS) and not has_type(x, np.generic)
