"""Lists of arrays as arguments of jitted functions that read them as examples: one program for any number of them.

Such a list is a `Ragged` inside of the function. Results that are lists of an item for each example are lists again.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from anyshape.backend.runtime.config import config
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.source.iterated import reads_as_examples
from anyshape.tracing.source.read import as_read
from anyshape.tracing.trace import active_builder
from anyshape.transforms.control_flow.iterables import Items, Once, together
from anyshape.transforms.control_flow.kept_lists import KeptList
from anyshape.transforms.grad import grad, value_and_grad
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.ragged.mapping import Batches, Member, as_arrays, ragged_map
from anyshape.transforms.ragged.values import Ragged, made, register_batch
from anyshape.transforms.vmap import vmap

Key = int | str  # position of an argument, or its name
Spot = tuple[Any, ...]  # key of an argument, and the path to a list that it holds
_TRANSFORMS = (jit, grad, value_and_grad, vmap, ragged_map)


class Listed(Ragged):
    """Batch that stands for a list, in code that is read."""

    __slots__ = ()

    @classmethod
    def of_parts(cls, parts: Sequence[Any]) -> Ragged:
        """Return the batch of rows and sizes; a list of mapped items is none."""
        if getattr(parts[1], "ndim", 1) != 1:
            raise ArgumentError("vmap", "a list", "has items that are mapped", "return an array")
        return super().of_parts(parts)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.flat, Traced):
            raise ArgumentError("jit", "a list", "is iterated by code that stays as it is written", "pass a Ragged")
        return super().__iter__()


register_batch(Listed)


class Columns:
    """Batches that stand for a list of trees or numbers, in code that is read: one for each part of an item.

    `kinds` are the types of numbers among the parts, whose batches are arrays; None for arrays.
    """

    __slots__ = ("kinds", "parts", "tree")

    def __init__(self, parts: Sequence[Any], tree: Any, kinds: tuple[Any, ...]) -> None:
        self.parts, self.tree, self.kinds = parts, tree, kinds

    @property
    def items(self) -> Items:
        """Items that a loop of code that is read runs over."""
        tuples = together([_items_of(x, kind) for x, kind in zip(self.parts, self.kinds, strict=True)])
        item = lambda k: pytrees.unflatten(self.tree, tuples.item(k))
        return Once(tuples.length, item, lambda: iter(self), tuples.batches, [tuples])

    def __getitem__(self, k: Any) -> Any:
        return self.items.item(k)

    def __iter__(self) -> Iterator[Any]:
        if any(isinstance(x.flat if type(x) is Listed else x, Traced) for x in self.parts):
            raise ArgumentError("jit", "a list", "is iterated by code that stays as it is written", "pass a tuple")
        return iter([pytrees.unflatten(self.tree, leaves) for leaves in zip(*self.parts, strict=True)])


pytrees.register_class(
    Columns, lambda x: (tuple(x.parts), (x.tree, x.kinds)), lambda rest, parts: Columns(parts, *rest)
)


def _items_of(batch: Any, kind: Any) -> Items:
    """Return the items of a part of all items."""
    if isinstance(batch, Ragged):
        return batch.items
    item = lambda k: batch[k].as_weak() if kind in _NUMBERS else batch[k]
    return Items(batch.shape[0], item, lambda: iter(batch))


def _columns(batches: Batches, items: Sequence[Any], path: str, known: dict[str, Any]) -> Columns | None:
    """Return what stands for a list of trees, None if these are not of one kind. A list of no items is as it was."""
    trees = [pytrees.flatten(x) for x in items]
    tree = trees[0][1] if trees else known[path][0]
    if any(other != tree for _, other in trees):
        return None
    columns = [[leaves[i] for leaves, _ in trees] for i in range(tree.num_leaves)]
    kinds = tuple(map(_kind_of, columns)) if trees else known[path][1]
    if not columns or not all(map(_is_column, columns, kinds)):
        return None
    known[path] = tree, kinds
    paths = [f"{path}[:][{i}]" for i in range(tree.num_leaves)]
    part = lambda x, kind, own: batches.member(x, 0, own) if kind is None else np.array(x, kind)
    return Columns([*map(part, columns, kinds, paths)], tree, kinds)


def _kind_of(column: Sequence[Any]) -> type | None:
    """Return the type of numbers, None for arrays."""
    return type(column[0]) if has_type(column[0], (*_NUMBERS, np.number)) else None


_NUMBERS = (bool, int, float, complex)


def _is_column(items: Sequence[Any], kind: Any) -> bool:
    return all(type(x) is kind for x in items) if kind is not None else not items or _is_uniform(items)


class ListCalls:
    """Calls of a jitted function some of whose arguments are lists of examples."""

    def __init__(self, jitted: Jitted, keys: dict[Spot, bool], known: dict[str, Any]) -> None:
        self.jitted, self.keys, self._known = jitted, keys, known  # whether the function reads a list as examples
        self._names = pytrees.parameter_names(jitted)
        self.is_served = False  # whether a call succeeded
        self.inner = Jitted(_of_batches(jitted.function), jitted.name, jitted.__wrapped__, jitted.options)
        self.inner.use_cache(*jitted.own_programs)
        self.inner.may_rebind, self.inner.positional_from = jitted.may_rebind, None

    def of(self, jitted: Jitted) -> ListCalls:
        """Return what serves the calls of another function, which has the same programs."""
        return ListCalls(jitted, {**self.keys}, self._known)

    def converted(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Return the arguments with batches in place of lists; None if no list is one of arrays of one kind."""
        batches = Batches(self.jitted.name, self._known)
        new: dict[Any, Any] = dict([*enumerate(args), *kwargs.items()])
        spots = [spot for key, x in new.items() for spot, _ in _lists_in(x, (key,)) if self._is_read(spot)]
        for spot in spots:
            path = _named(spot, self._names)
            put = functools.partial(self._batch, batches, path)
            new[spot[0]] = changed = _with(new[spot[0]], spot[1:], put)
            if changed is None:
                return None
        if not spots:
            return None
        return tuple([new[i] for i in range(len(args))]), {name: new[name] for name in kwargs}

    def _is_read(self, spot: Spot) -> bool:
        """Return whether the function reads a list as examples, which may be an array in other calls."""
        if spot not in self.keys:
            self.keys[spot] = any(self.keys.values()) and takes_examples(self.jitted, spot[0], spot[1:])
        return self.keys[spot]

    def _batch(self, batches: Batches, path: str, items: list[Any]) -> Any:
        """Return what stands for a list, None if its items are not of one kind."""
        known = self._known.get(path)
        if _is_uniform(items) if items else known is not None and type(known) is not tuple:
            return batches.member(items, 0, path)
        return _columns(batches, items, path, self._known) if items or known is not None else None

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], plain: Callable[..., Any]) -> Any:
        """Return the result of a call; what has no answer for batches is called with the lists themselves."""
        return self.tried(args, kwargs, _called, plain)

    def tried(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Callable[..., Any], plain: Callable[..., Any]
    ) -> Any:
        """Return what `use` gives for the function of batches and its arguments, else `plain` for the lists."""
        batches = self.converted(args, kwargs)
        if batches is None:
            return plain(args, kwargs)
        try:
            result = use(self.inner, *batches)
        except Exception:
            result = plain(args, kwargs)  # raises what the function raises
            if not self.is_served:
                self.keys = dict.fromkeys(self.keys, False)
            return result
        self.is_served = True
        return result


def _lists_in(x: Any, spot: Spot) -> Iterator[tuple[Spot, list[Any]]]:
    """Yield the lists that are an argument, or in its dicts and tuples, with their places."""
    if type(x) is list:
        yield spot, x
    elif type(x) in (dict, tuple):
        for key, part in x.items() if type(x) is dict else enumerate(x):
            yield from _lists_in(part, (*spot, key))


def _with(x: Any, path: Spot, put: Callable[[Any], Any]) -> Any:
    """Return a tree of dicts and tuples with what `put` gives for its part at a path, None for None."""
    if not path:
        return put(x)
    if (new := _with(x[path[0]], path[1:], put)) is None:
        return None
    return {**x, path[0]: new} if type(x) is dict else (*x[: path[0]], new, *x[path[0] + 1 :])


def _named(spot: Spot, names: Sequence[str]) -> str:
    """Return the name of a place in errors."""
    key, *path = spot
    name = pytrees.named(f"args[{key}]", names) if type(key) is int else str(key)
    return name + "".join([f"[{step!r}]" for step in path])


def _called(inner: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call with batches, with lists in place of batches."""
    is_listed = lambda x: isinstance(x, (Listed, Columns))
    as_list = lambda x: [*x] if is_listed(x) else x
    return optree.tree_map(as_list, inner(*args, **kwargs), is_leaf=is_listed, namespace=pytrees.NAMESPACE)


def _is_uniform(items: Sequence[Any]) -> bool:
    """Return whether items are arrays of one dtype and number of axes, with an axis or more."""
    first = items[0]
    if not has_type(first, np.ndarray) or not first.ndim or first.dtype.hasobject:
        return False
    kind, axes, dtype = type(first), first.ndim, first.dtype
    return all(type(x) is kind and x.ndim == axes and x.dtype == dtype for x in items)


def _of_batches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of batches in place of lists, which gives what a program can in place of lists."""

    def run(*args: Any, **kwargs: Any) -> Any:
        sizes: list[Any] = []

        def put(x: Any) -> Any:
            if not isinstance(x, Member):
                return x
            if x.sizes is not None:
                sizes.append(x.sizes)
            return made(x.flat, sizes[x.group], Listed)

        def put_all(x: Any) -> Any:
            return optree.tree_map(put, x, is_leaf=lambda y: isinstance(y, Member), namespace=pytrees.NAMESPACE)

        result = as_read(function)(*map(put_all, args), **{name: put_all(x) for name, x in kwargs.items()})
        leaves, tree = pytrees.flatten(result)
        return pytrees.unflatten(tree, [x.batch if type(x) is KeptList and x.batch is not None else x for x in leaves])

    return run


# -- calls of vmap whose examples have results of several sizes ------------------------------------------------------


def of_unequal(jitted: Jitted, args: Sequence[Any], kwargs: dict[str, Any], error: Exception | None = None) -> Any:
    """Return the result of a call where vmap gives batches; after an error, the next calls begin so."""
    if jitted.on_ragged is None:
        inner = Jitted(_with_batches(jitted.function), jitted.name, jitted.__wrapped__, jitted.options)
        jitted.on_ragged = lambda *args, **kwargs: as_arrays(inner(*args, **kwargs))
    try:
        result = jitted.on_ragged(*args, **kwargs)
    except Exception:
        jitted.is_ragged = False
        if error is not None:
            raise error from None
        return jitted(*args, **kwargs)
    if not jitted.is_ragged:
        jitted.is_ragged = True
        jitted.own_programs[0].forget_fast_paths()
    return result


def _with_batches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function in whose trace vmap gives batches where examples may have results of several sizes."""

    def run(*args: Any, **kwargs: Any) -> Any:
        active_builder().gives_ragged = True
        return as_read(function)(*args, **kwargs)

    return run


# -- which arguments are lists of examples -----------------------------------------------------------------------------


def recognised(jitted: Jitted, args: Sequence[Any], kwargs: dict[str, Any]) -> ListCalls | None:
    """Return what serves calls whose lists the function reads as examples alone; None if it reads none so."""
    arguments: list[tuple[Key, Any]] = [*enumerate(args), *kwargs.items()]
    lists = [pair for key, x in arguments for pair in _lists_in(x, (key,)) if pair[1]]
    if not any(_holds_arrays(x) for _, x in lists) or "off" in (jitted.options.read_source, config.read_source):
        return None
    keys = {spot: takes_examples(jitted, spot[0], spot[1:]) for spot, _ in lists}
    return ListCalls(jitted, keys, {}) if any(keys[spot] and _holds_arrays(x) for spot, x in lists) else None


def _holds_arrays(items: Sequence[Any]) -> bool:
    """Return whether a list holds arrays of one kind, or trees with such arrays."""
    first = items[0]
    if type(first) in (tuple, dict, list):
        return any(has_type(x, np.ndarray) and x.ndim for x in pytrees.flatten(first)[0])
    return _is_uniform(items)


def takes_examples(function: Any, key: Key, path: Spot = ()) -> bool:
    """Return whether a function reads the argument at a position, or of a name, as examples alone.

    Of an argument with dicts and tuples, the list at a path.
    """
    if isinstance(function, Jitted):
        return _takes_in(function, key, path)
    if (axes := getattr(function, "in_axes", None)) is not None:
        return not (path or _is_shared(axes, key))
    if isinstance(function, types.MethodType):
        return takes_examples(function.__func__, key + 1 if has_type(key, int) else key, path)
    if function is np.concatenate:
        return key == 0 and not path
    is_read = isinstance(function, types.FunctionType) and not getattr(function, "__anyshape_as_written__", False)
    return is_read and _reads_examples(function, key, path)


def _takes_in(jitted: Jitted, key: Key, path: Spot) -> bool:
    """Return whether a transformed function takes examples."""
    if not path and (declared := _declared(jitted, key)) is not None:
        return declared is Ragged
    transform, arguments, *_ = jitted.recipe or (None, ())
    has_it = transform in (jit, grad, value_and_grad) or (transform is vmap and _is_shared(arguments[1], key))
    return has_it and takes_examples(arguments[0], key, path)


def _reads_examples(function: types.FunctionType, key: Key, path: Spot) -> bool:
    code = function.__code__
    name = key if isinstance(key, str) else code.co_varnames[key] if key < code.co_argcount else ""
    known = _KNOWN.setdefault(function, {})
    if (spot := (name, *path)) not in known:
        known[spot] = False  # where it calls itself
        is_declared = not path and function.__annotations__.get(name) in (Ragged, "Ragged", "anyshape.Ragged")
        is_read = name != "" and reads_as_examples(function, name, path, takes_examples, _transformed)
        known[spot] = is_declared or is_read
    return known[spot]


def _declared(jitted: Jitted, key: Key) -> Any:
    """Return what `dynamic_shapes` declares an argument to be, None for nothing."""
    if (shapes := jitted.options.shapes) is None or not shapes.declared:
        return None
    names, declared = pytrees.parameter_names(jitted), shapes.declared
    if isinstance(declared, (tuple, list)):
        declared = dict(enumerate(declared)) | dict(zip(names, declared, strict=False))
    by_name = declared.get(names[key]) if has_type(key, int) and key < len(names) else None
    return declared.get(key) if by_name is None else by_name


_KNOWN: weakref.WeakKeyDictionary[Any, dict[Spot, bool]] = weakref.WeakKeyDictionary()


def _is_shared(in_axes: Any, key: Key) -> bool:
    """Return whether all examples share an argument of a function that is mapped."""
    if not isinstance(in_axes, (tuple, list)):
        return in_axes is None
    return has_type(key, int) and key < len(in_axes) and in_axes[key] is None


def _transformed(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Return what a transform makes of a function; None for other calls."""
    return function(*args, **keywords) if function in _TRANSFORMS and args and callable(args[0]) else None
