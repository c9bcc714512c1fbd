"""The path of a call: flatten, look up by structure, dtypes and ranks (never sizes), check guards, trace, run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.frontend.program import Program
from anyshape.frontend.tracing import Leaves, trace_call
from anyshape.frontend.trees import as_leaf, flatten, function_name, is_python_scalar, leaf_paths
from anyshape.graph.builder import active, active_builders


class CacheInfo(NamedTuple):
    """What a jitted function has done so far."""

    traces: int
    hits: int
    entries: int


class Jitted:
    """A function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size.

    Called while another function is being traced, it becomes part of that trace.
    """

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, like: Callable[..., Any] | None = None
    ) -> None:
        if not callable(function):
            advice = "pass the function itself, not the result of calling it"
            raise ArgumentError("jit", "its argument", f"is of type {type(function).__name__}, not a function", advice)
        functools.update_wrapper(self, function if like is None else like, updated=())
        self.function = function
        self.name = name if name is not None else function_name(function)
        self._programs: dict[Any, list[Program]] = {}
        self._flat: dict[tuple[Any, ...], list[Program]] = {}
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
                for program in self._flat.get(tuple(key), ()):
                    if program.accepts is None or program.accepts(*args):
                        return program.call_flat(args)
        return self._call_general(args, kwargs)

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = self.leaves(args, kwargs)
        key = self._key(leaves)
        for program in self._programs.get(key, ()):
            if program.accepts is None or program.accepts(*leaves.arrays):
                return program.call_flat(leaves.arrays)
        with self._lock:
            program = self._trace(leaves, key)
        if not kwargs and all(type(x) is np.ndarray for x in args):
            flat = tuple([part for x in args for part in (x.dtype, x.ndim)])
            self._flat[flat] = self._programs[key]
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
        program = Program(trace_call(self.function, self.name, leaves))
        self._traces += 1
        self._programs.setdefault(key, []).append(program)
        return program

    def programs(self) -> list[Program]:
        """Every program traced so far."""
        return [p for programs in self._programs.values() for p in programs]

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
