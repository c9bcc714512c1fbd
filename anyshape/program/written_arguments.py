"""Arguments that a program writes to: the caller's arrays get their final values after a run that succeeded.

The graph of such a program gives these values after its results. A run computes all of them before the first is
written. So a run that raises writes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.runtime.outcome import GUARD_FAILED
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.memory import into, shares
from anyshape.support.true_types import has_type
from anyshape.tracing.trace import Trace

_MAX_WORK = 1000  # candidates that NumPy tries for an element that two arrays share


def refuse_layouts(trace: Trace, arrays: Sequence[Any]) -> None:
    """Raise ArgumentError for an argument whose elements lie in memory in another way than when traced."""
    for i, was, now in trace.other_layouts(arrays):
        problem = f"is {now}, and the program is for one that is {was}"
        advice = "trace it again for such arrays, or use jit"
        raise ArgumentError(trace.graph.name, (trace.labels or trace.paths)[i], problem, advice)


def writing_back(run: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """Return a run of a trace that gives the results alone, and writes to the arguments.

    Raise ArgumentError for arguments that Python could not write to so that only they change.
    """
    if not trace.written:
        return run
    count, written, same = trace.count, trace.written, trace.same

    def writing(*arrays: Any) -> Any:
        outputs = run(*arrays)
        if outputs is GUARD_FAILED:
            return outputs
        _check(trace, arrays)
        for position, value in zip(written, outputs[count:], strict=True):
            np.copyto(arrays[position], value)
        results = [*outputs[:count]]
        for result, position in same:
            results[result] = arrays[position]
        return results

    return writing


def ending(run: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """Return a run of a trace that raises the exception which ends its path, if one does."""
    raised = trace.raised
    if raised is None:
        return run

    def raising(*arrays: Any) -> Any:
        outputs = run(*arrays)
        if outputs is not GUARD_FAILED:
            raised.again()
        return outputs

    return raising


def require_arrays(trace: Trace, leaves: Sequence[Any]) -> None:
    """Raise ArgumentError unless the arguments that a program writes to are arrays, which can change."""
    names = trace.labels or trace.paths
    for i in trace.written:
        if not has_type(leaves[i], np.ndarray):
            problem = f"is of type {type(leaves[i]).__name__}, not an array, and {trace.graph.name} writes to it"
            raise ArgumentError(trace.graph.name, names[i], problem, "pass an array, whose elements can change")


def written_inside(trace: Trace, leaves: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """Return the results among the outputs of a program that is called in a trace, and write to its arguments there."""
    names, asked = trace.labels or trace.paths, f"{trace.graph.name}(...)"
    for i, value in zip(trace.written, outputs[trace.count :], strict=True):
        x = leaves[i]
        for j, y in enumerate(leaves):
            if j != i and isinstance(x, Traced) and isinstance(y, Traced) and (x is y or shares(x, y)):
                problem = f"shares memory with {names[j]}, and {trace.graph.name} writes to it"
                raise ArgumentError(trace.graph.name, names[i], problem, f"pass {names[j]}.copy()")
        into(x, value, asked)
    results = [*outputs[: trace.count]]
    for result, position in trace.same:
        results[result] = leaves[position]
    return results


def _check(trace: Trace, arrays: Sequence[Any]) -> None:
    """Raise ArgumentError where a write cannot be done, or would change another array that the program reads."""
    names = trace.labels or trace.paths
    name = trace.graph.name
    for i in trace.written:
        x = arrays[i]
        flags = x.flags
        if not flags.writeable:
            raise ArgumentError(name, names[i], f"is read-only, and {name} writes to it", _advice(names[i]))
        if not flags.forc and _overlaps_itself(x):
            problem = f"has elements that share memory, and {name} writes to it"
            raise ArgumentError(name, names[i], problem, _advice(names[i]))
        others = [(names[j], y) for j, y in enumerate(arrays[: len(names)]) if j != i]
        captured = [("an array that the function closes over", y) for _, y in trace.graph.constants]
        for other, y in itertools.chain(others, captured):
            if np.may_share_memory(x, y) and _shares(x, y):
                problem = f"shares memory with {other}, and {name} writes to it"
                raise ArgumentError(name, names[i], problem, f"pass {names[i]}.copy(), and read the result there")


def _advice(path: str) -> str:
    return f"write {path} = {path}.copy() before the first write, or pass a copy"


def _overlaps_itself(x: np.ndarray) -> bool:
    """Return whether an array has more bytes than the memory that it spans, or one element many times."""
    low, high = np.lib.array_utils.byte_bounds(x)
    return x.size > 0 and high - low < x.nbytes


def _shares(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two arrays have an element in common, or may have where that is hard to tell."""
    try:
        return np.shares_memory(x, y, max_work=_MAX_WORK)  # type: ignore[arg-type]  # stubs name two of the numbers
    except np.exceptions.TooHardError:
        return True
