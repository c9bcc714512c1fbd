"""Paths of a function that decides on values: one program for each, in one tree of answers per key of the cache.

A run that leaves the path of its program raises PathLeft, with the turn of the decision and the new answer. The call
then goes on with a program that has the same answers before this turn and the new one in it. If there is none, the
function is traced once more, and gets its answers from the call. A run
that has drawn random numbers restores the generators, and the next one draws them again.

Plans may add up in another order than NumPy. Where they disagree about an answer with the naive evaluator, that one
computes the result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.backend.interpreter import evaluate
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.generator_states import restoring_generators
from anyshape.backend.runtime.outcome import GUARD_FAILED, PathLeft
from anyshape.errors import DecisionError, SizeMismatchError
from anyshape.program.pytree_codegen import maker
from anyshape.program.written_arguments import ending, writing_back
from anyshape.tracing.decisions import path_left
from anyshape.tracing.trace import Trace
from anyshape.transforms.caching.cache import Cache, CacheEntry, Call
from anyshape.transforms.caching.cache_miss import Key
from anyshape.transforms.caching.shared_prefixes import by_detour, count_switch

_LOG = logging.getLogger("anyshape.trace")


def follow(function: Any, call: Call, entry: CacheEntry) -> Any:
    """Return the result of a call that this entry may serve, on whichever path it takes."""
    try:
        return entry.result(_run(entry, call.arrays))
    except BaseException as error:
        return leave(function, lambda: call, entry, call.arrays, error)


def leave(
    function: Any, read: Callable[[], Call], entry: CacheEntry, arrays: Sequence[Any], error: BaseException
) -> Any:
    """Return the result of a call whose run of an entry ended by `error`, on the path that it takes."""
    cache, tried, first = function._cache, [entry], None
    if isinstance(error, PathLeft):
        first = error
        served = by_detour(cache, entry, error, arrays)
        if served is not None:
            return _served(*served)
    call = read()
    while True:
        left = error if isinstance(error, PathLeft) else path_left(entry.program.trace.graph, call.arrays)
        if left is None:  # Python raises it on this path too
            entry.hits += 1
            if isinstance(error, SizeMismatchError):
                return function.unless_caught(call, error)
            raise error
        other = _next(cache, entry, left, call, tried)
        if other is None:
            return _on_new_path(function, call, entry)
        tried.append(other)
        try:
            outputs = _run(other, call.arrays)
        except BaseException as other_error:
            entry, error = other, other_error
            continue
        if first is None:
            cache.prefer(other)
        elif function._lock.acquire(blocking=False):
            try:
                count_switch(cache, tried[0], first, other, function._program)
            finally:
                function._lock.release()
        return _served(other, outputs)


def _served(entry: CacheEntry, outputs: Any) -> Any:
    entry.hits += 1
    return entry.result(outputs)


def _run(entry: CacheEntry, arrays: Sequence[Any]) -> Any:
    outputs = entry.program.run(*arrays)
    if outputs is GUARD_FAILED:  # the caller has found that they hold
        raise RuntimeError("the guards of a program changed within a call")
    return outputs


def _next(
    cache: Cache, entry: CacheEntry, left: PathLeft, call: Call, tried: Sequence[CacheEntry]
) -> CacheEntry | None:
    """Return an entry that a call may go on with after it left the path of another, None if there is none."""
    turn = left.turn
    prefix = (*entry.path[:turn], left.answer)
    for other in cache.by_key.get(call.key, ()):
        if other.path[: turn + 1] == prefix and other not in tried and other.serves(call.arrays):
            return other
    return None


def _on_new_path(function: Any, call: Call, entry: CacheEntry) -> Any:
    """Trace the path of a call that is on no known one, and run it."""
    if path_left(entry.program.trace.graph, call.arrays) is None:  # the plan and NumPy differ by rounding
        return evaluated(entry.program.trace, call.arrays)
    cache = function._cache
    with function._lock:
        if _count(cache, call.key) >= config.max_paths:
            _say_full(function)
            return evaluated(function._traced(call)[0], call.arrays)
        new, _ = function._entry_for(call, on_path=True)
    try:
        outputs = _run(new, call.arrays)
    except PathLeft:
        return evaluated(new.program.trace, call.arrays)
    return new.result(outputs)


def on_path(cache: Cache, call: Call, entry: CacheEntry) -> CacheEntry | None:
    """Return the entry whose path a call takes by the naive evaluation, None if there is none."""
    tried = [entry]
    while True:
        left = path_left(entry.program.trace.graph, call.arrays) if entry.path else None
        if left is None:
            return entry
        other = _next(cache, entry, left, call, tried)
        if other is None:
            return None
        entry = other
        tried.append(entry)


def evaluated(trace: Trace, arrays: Sequence[Any]) -> Any:
    """Return the result of a trace by the naive evaluator."""
    try:
        run = ending(writing_back(lambda *xs: evaluate(trace.graph, xs), trace), trace)
        outputs = restoring_generators(run, trace.graph)(*arrays)
    except PathLeft as left:
        problem = "the function gives another answer at each evaluation, so it is not pure"
        raise DecisionError(left.turn, [left.answer], problem) from None
    own = {result for result, _ in trace.same}
    return maker(trace.out_tree)([x if x.ndim or i in own else x[()] for i, x in enumerate(outputs)])


def _count(cache: Cache, key: Key) -> int:
    return sum(bool(entry.path) for entry in cache.by_key.get(key, ()))


def _say_full(function: Any) -> None:
    if not function._cache.said_full:
        function._cache.said_full = True
        text = "%s: it has taken %d paths of decisions on values; further paths run without a program\n  %s"
        advice = "write loops with anyshape.while_loop and choices with np.where, or raise anyshape.config.max_paths"
        _LOG.warning(text, function.name, config.max_paths, advice)
