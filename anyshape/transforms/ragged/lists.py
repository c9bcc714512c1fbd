"""Lists of arrays as arguments of jitted functions that read them as examples: one program for any number of them.

Such a list is a `Ragged` inside of the function. Results that are lists of an item for each example are lists again.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from anyshape.transforms.control_flow.kept_lists import KeptList
from anyshape.transforms.grad import grad, value_and_grad
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.ragged.mapping import Batches, Member, as_arrays, ragged_map
from anyshape.transforms.ragged.values import Ragged, made, register_batch
from anyshape.transforms.vmap import vmap

Key = int | str  # position of an argument, or its name
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


class ListCalls:
    """Calls of a jitted function some of whose arguments are lists of examples."""

    def __init__(self, jitted: Jitted, keys: Iterable[Key], known: dict[str, Any]) -> None:
        self.jitted, self.keys, self._known = jitted, {*keys}, known
        self._names = pytrees.parameter_names(jitted)
        self.is_served = False  # whether a call succeeded
        self.inner = Jitted(_of_batches(jitted.function), jitted.name, jitted.__wrapped__, jitted.options)
        self.inner.use_cache(*jitted.own_programs)
        self.inner.may_rebind, self.inner.positional_from = jitted.may_rebind, None

    def of(self, jitted: Jitted) -> ListCalls:
        """Return what serves the calls of another function, which has the same programs."""
        return ListCalls(jitted, self.keys, self._known)

    def converted(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Return the arguments with batches in place of lists; None if no list is one of arrays of one kind."""
        batches = Batches(self.jitted.name, self._known)
        new: dict[Key, Any] = {}
        for key, x in [*enumerate(args), *kwargs.items()]:
            if type(x) is list and key in self.keys:
                path = pytrees.named(f"args[{key}]", self._names) if type(key) is int else str(key)
                if not (_is_uniform(x) if x else path in self._known):
                    return None
                new[key] = batches.member(x, 0, path)
        if not new:
            return None
        named = {name: new.get(name, x) for name, x in kwargs.items()}
        return tuple([new.get(i, x) for i, x in enumerate(args)]), named

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
                self.keys.clear()
            return result
        self.is_served = True
        return result


def _called(inner: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call with batches, with lists in place of batches."""
    is_listed, as_list = lambda x: isinstance(x, Listed), lambda x: [*x] if isinstance(x, Listed) else x
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

        result = as_read(function)(*map(put, args), **{name: put(x) for name, x in kwargs.items()})
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
    lists = [key for key, x in arguments if type(x) is list and x and _is_uniform(x)]
    if not lists or "off" in (jitted.options.read_source, config.read_source):
        return None
    keys = [key for key in lists if takes_examples(jitted, key)]
    return ListCalls(jitted, keys, {}) if keys else None


def takes_examples(function: Any, key: Key) -> bool:
    """Return whether a function reads the argument at a position, or of a name, as examples alone."""
    if isinstance(function, Jitted):
        if (declared := _declared(function, key)) is not None:
            return declared is Ragged
        transform, arguments, *_ = function.recipe or (None, ())
        has_it = transform in (jit, grad, value_and_grad) or (transform is vmap and _is_shared(arguments[1], key))
        return has_it and takes_examples(arguments[0], key)
    if (axes := getattr(function, "in_axes", None)) is not None:
        return not _is_shared(axes, key)
    if isinstance(function, types.MethodType):
        return takes_examples(function.__func__, key + 1 if has_type(key, int) else key)
    is_read = isinstance(function, types.FunctionType) and not getattr(function, "__anyshape_as_written__", False)
    return is_read and _reads_examples(function, key)


def _reads_examples(function: types.FunctionType, key: Key) -> bool:
    code = function.__code__
    name = key if isinstance(key, str) else code.co_varnames[key] if key < code.co_argcount else None
    known = _KNOWN.setdefault(function, {})
    if name is not None and name not in known:
        known[name] = False  # where it calls itself
        is_declared = function.__annotations__.get(name) in (Ragged, "Ragged", "anyshape.Ragged")
        known[name] = is_declared or (name != "" and reads_as_examples(function, name, takes_examples, _transformed))
    return name is not None and known[name]


def _declared(jitted: Jitted, key: Key) -> Any:
    """Return what `dynamic_shapes` declares an argument to be, None for nothing."""
    if (shapes := jitted.options.shapes) is None or not shapes.declared:
        return None
    names, declared = pytrees.parameter_names(jitted), shapes.declared
    if isinstance(declared, (tuple, list)):
        declared = dict(enumerate(declared)) | dict(zip(names, declared, strict=False))
    by_name = declared.get(names[key]) if has_type(key, int) and key < len(names) else None
    return declared.get(key) if by_name is None else by_name


_KNOWN: weakref.WeakKeyDictionary[Any, dict[str, bool]] = weakref.WeakKeyDictionary()


def _is_shared(in_axes: Any, key: Key) -> bool:
    """Return whether all examples share an argument of a function that is mapped."""
    if not isinstance(in_axes, (tuple, list)):
        return in_axes is None
    return has_type(key, int) and key < len(in_axes) and in_axes[key] is None


def _transformed(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Return what a transform makes of a function; None for other calls."""
    return function(*args, **keywords) if function in _TRANSFORMS and args and callable(args[0]) else None
