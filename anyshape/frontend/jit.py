"""The path of a call: flatten, look up by structure, dtypes and ranks (never sizes), check guards, trace, run."""

from __future__ import annotations

import functools
import threading
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

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = self.leaves(args, kwargs)
        key = self._key(leaves)
        for entry in self._entries.get(key, ()):
            if entry.serves(leaves.arrays):
                return entry.program.call_flat(leaves.arrays)
        with self._lock:
            program = self._trace(leaves, key)
        if not kwargs and all(type(x) is np.ndarray for x in args):
            flat = tuple([part for x in args for part in (x.dtype, x.ndim)])
            self._flat[flat] = self._entries[key]
        return program.call_flat(leaves.arrays)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Leaves:
        """The arguments flattened and checked; an error names the path of the leaf at fault."""
        raw, tree = flatten((args, kwargs))
        weak = [is_python_scalar(x) for x in raw]
        try:
            arrays = [as_leaf(x, "", self.name) for x in raw]
        except ArgumentError:
            for x, path in zip(raw, leaf_paths(args, kwargs), strict=True):
                as_leaf(x, path, self.name)
            raise
        return Leaves(arrays, weak, tree, _Paths(args, kwargs))

    def _key(self, leaves: Leaves) -> Any:
        return leaves.tree, tuple([(x.dtype, x.ndim, w) for x, w in zip(leaves.arrays, leaves.weak, strict=True)])

    def _trace(self, leaves: Leaves, key: Any) -> Program:
        unchanged = watch(self.__wrapped__)
        program = Program(trace_call(self.function, self.name, leaves, parameter_names(self.__wrapped__)))
        self._traces += 1
        entries = self._entries.setdefault(key, [])
        stale = [e for e in entries if e.unchanged is not None and not e.unchanged()]
        for entry in stale:
            entries.remove(entry)
        entries.append(Entry(program, program.accepts, unchanged))
        return program

    def programs(self) -> list[Program]:
        """Every program in the cache."""
        return [e.program for entries in self._entries.values() for e in entries]

    def cache_info(self) -> CacheInfo:
        """How often the function was traced, how often a trace was reused, and how many programs there are."""
        return CacheInfo(self._traces, self._calls - self._traces, len(self.programs()))


class _Paths(Sequence[str]):
    """The paths of the leaves of a call, made only when something reads them: a hit never does."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._args, self._kwargs = args, kwargs

    @functools.cached_property
    def _paths(self) -> list[str]:
        return leaf_paths(self._args, self._kwargs)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: Any) -> Any:
        return self._paths[i]


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
