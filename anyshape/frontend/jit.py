"""The path of a call: flatten, look up by structure, dtypes and ranks (never sizes), check guards, trace on a miss, run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anyshape.frontend.program import Program
from anyshape.frontend.tracing import PYTHON_SCALARS, as_leaf, flatten, function_name, leaf_paths, trace_call
from anyshape.graph.builder import active


class CacheInfo(NamedTuple):
    """What a jitted function has done so far."""

    traces: int
    hits: int
    entries: int


class Jitted:
    """A function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.name = name if name is not None else function_name(function)
        self._programs: dict[Any, list[Program]] = {}
        self._flat: dict[tuple[Any, ...], list[Program]] = {}
        self._traces = 0
        self._calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active() is not None:
            return self.function(*args, **kwargs)
        self._calls += 1
        if not kwargs:
            key = []
            for x in args:
                if type(x) is not np.ndarray:
                    break
                key += (x.dtype, x.ndim)
            else:
                for program in self._flat.get(tuple(key), ()):
                    if program.accepts is None or program.accepts(*args):
                        return program(args)
        return self._call_general(args, kwargs)

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raw, tree = flatten((args, kwargs))
        paths: list[str] | None = None
        leaves, weak = [], []
        for i, x in enumerate(raw):
            if type(x) is not np.ndarray or x.dtype.kind not in "fiub":
                paths = paths or leaf_paths(args, kwargs)
                leaves.append(as_leaf(x, paths[i], self.name))
                weak.append(isinstance(x, PYTHON_SCALARS) and not isinstance(x, np.generic))
            else:
                leaves.append(x)
                weak.append(False)
        key = (tree, tuple([(x.dtype, x.ndim, w) for x, w in zip(leaves, weak, strict=True)]))
        for program in self._programs.get(key, ()):
            if program.accepts is None or program.accepts(*leaves):
                return program(leaves)
        return self._trace(args, kwargs, leaves, weak, tree, key)(leaves)

    def _trace(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[np.ndarray], weak: list[bool], tree: Any, key: Any
    ) -> Program:
        program = Program(trace_call(self.function, self.name, leaves, weak, tree, leaf_paths(args, kwargs)))
        self._traces += 1
        self._programs.setdefault(key, []).append(program)
        if not kwargs and all(type(x) is np.ndarray for x in args):
            flat = tuple([part for x in args for part in (x.dtype, x.ndim)])
            self._flat[flat] = self._programs[key]
        return program

    def programs(self) -> list[Program]:
        """Every program traced so far."""
        return [p for programs in self._programs.values() for p in programs]

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
