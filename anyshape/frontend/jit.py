"""The path of a call: flatten, look up by structure, dtypes and ranks (never sizes), check guards, trace, run."""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.frontend.environment import watch
from anyshape.frontend.program import Program
from anyshape.frontend.tracing import Leaves, trace_call
from anyshape.frontend.trees import (
    as_leaf,
    check_callable,
    flatten,
    function_name,
    is_python_scalar,
    leaf_paths,
    parameter_names,
)
from anyshape.graph.builder import active, active_builders


class CacheInfo(NamedTuple):
    """What a jitted function has done so far."""

    traces: int
    hits: int
    entries: int


class Entry(NamedTuple):
    """A program in the cache, with what must hold for it to be used: its guards, and what it was traced with."""

    program: Program
    accepts: Callable[..., bool] | None
    unchanged: Callable[[], bool] | None

    def serves(self, leaves: Sequence[Any]) -> bool:
        """The program gives the right answer for these leaves."""
        if self.unchanged is not None and not self.unchanged():
            return False
        return self.accepts is None or self.accepts(*leaves)


class Jitted:
    """A function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size.

    Called while another function is being traced, it becomes part of that trace.
    """

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, like: Callable[..., Any] | None = None
    ) -> None:
        check_callable("jit" if name is None else name.partition("(")[0], function if like is None else like)
        functools.update_wrapper(self, function if like is None else like, updated=())
        self.__wrapped__ = function if like is None else like
        self.__name__ = name if name is not None else function_name(function)
        self.function = function
        self.name = name if name is not None else function_name(function)
        self._entries: dict[Any, list[Entry]] = {}
        self._flat: dict[tuple[Any, ...], list[Entry]] = {}
        self._traces = 0
        self._calls = 0
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active_builders():
            return self.function(*args, **kwargs)
        self._calls += 1
        if not kwargs:
            key: list[Any] = []
            for x in args:
                if type(x) is not np.ndarray:
                    break
                key += (x.dtype, x.ndim)
            else:
                for entry in self._flat.get(tuple(key), ()):
                    if entry.serves(args):
                        return entry.program.call_flat(args)
        return self._call_general(args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Jitted:
        """As a method: a jitted function for each object, kept in the object, whose attributes it watches."""
        if instance is None:
            return self
        method = types.MethodType(self.function, instance)
        bound = Jitted(method, self.name, like=types.MethodType(self.__wrapped__, instance))
        instance.__dict__[self.__wrapped__.__name__] = bound  # found before this descriptor from now on
        return bound

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        """Itself, as for any function."""
        return self

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call with a tree of arguments, with Python scalars, or of a signature that was not seen before."""
        raw, tree = flatten((args, kwargs))
        key: list[Any] = [tree]
        arrays = []
        for i, x in enumerate(raw):
            array = x if type(x) is np.ndarray else self._leaf(x, i, args, kwargs)
            key += (array.dtype, array.ndim, type(x)) if is_python_scalar(x) else (array.dtype, array.ndim)
            arrays.append(array)
        entry = self._find(self._entries.get(tuple(key), ()), arrays)
        if entry is None:
            entry = self._trace(self._leaves(raw, arrays, tree, args, kwargs), tuple(key))
            if not kwargs and all(type(x) is np.ndarray for x in args):
                self._flat[tuple(key[1:])] = self._entries[tuple(key)]
        return entry.program.call_flat(arrays)

    def _leaf(self, x: Any, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
        """Leaf i of the arguments as an array; an error names its path."""
        try:
            return as_leaf(x, "", self.name)
        except ArgumentError:
            return as_leaf(x, leaf_paths(args, kwargs)[i], self.name)

    def _leaves(
        self, raw: list[Any], arrays: list[np.ndarray], tree: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Leaves:
        """The arguments for a trace, each checked."""
        paths = leaf_paths(args, kwargs)
        checked = [as_leaf(x, path, self.name) for x, path in zip(arrays, paths, strict=True)]
        return Leaves(checked, [is_python_scalar(x) for x in raw], tree, paths)

    def leaves(self, *args: Any, **kwargs: Any) -> Leaves:
        """What a trace for these arguments starts from."""
        raw, tree = flatten((args, kwargs))
        arrays = [self._leaf(x, i, args, kwargs) for i, x in enumerate(raw)]
        return self._leaves(raw, arrays, tree, args, kwargs)

    def _find(self, entries: Sequence[Entry], arrays: Sequence[np.ndarray]) -> Entry | None:
        for entry in entries:
            if entry.serves(arrays):
                return entry
        return None

    def _trace(self, leaves: Leaves, key: Any) -> Entry:
        """A new entry, unless another thread has made it meanwhile. After an error there is none."""
        with self._lock:
            entries = self._entries.get(key, [])
            found = self._find(entries, leaves.arrays)
            if found is not None:
                return found
            unchanged = watch(self.__wrapped__)
            program = Program(trace_call(self.function, self.name, leaves, parameter_names(self.__wrapped__)))
            self._traces += 1
            entry = Entry(program, program.accepts, unchanged)
            entries[:] = [e for e in entries if e.unchanged is None or e.unchanged()] + [entry]
            self._entries[key] = entries
            return entry

    def programs(self) -> list[Program]:
        """Every program in the cache."""
        return [e.program for entries in self._entries.values() for e in entries]

    def cache_info(self) -> CacheInfo:
        """How often the function was traced, how often a trace was reused, and how many programs there are."""
        return CacheInfo(self._traces, self._calls - self._traces, len(self.programs()))


def jit(function: Callable[..., Any]) -> Jitted:
    """`function`, traced once per structure, dtypes and ranks of its arguments and then run at any size.

    >>> import numpy as np
    >>> f = jit(lambda x, y: np.sum(np.sin(x) * y))
    >>> [round(float(f(np.ones(n), np.ones(n))), 3) for n in (0, 1, 5)]
    [0.0, 0.841, 4.207]
    >>> f.cache_info().traces
    1
    """
    return Jitted(function)


def in_trace(function: Callable[..., Any], name: str, like: Callable[..., Any]) -> Jitted:
    """A transformed function: `function` works on the values of the active trace; outside one, it is jitted."""
    return Jitted(function, name, like)


def building() -> Any:
    """The builder of the active trace; transformed functions run only inside one."""
    builder = active()
    if builder is None:
        raise RuntimeError("a transformed function ran outside a trace")
    return builder
