"""Cache of the programs of one function: what each serves, when it may be used, and why a call needed another."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.runtime.outcome import GUARD_FAILED
from anyshape.graph.ir.graph import asked, decisions_of
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes.expr import DimVar
from anyshape.inspect.explain.data import CacheInfo, Reason
from anyshape.program.pytree_codegen import NO_MATCH, matcher
from anyshape.support.lazy_namedtuple import NamedTuple
from anyshape.support.packages import value_decisions
from anyshape.tracing.captured.state import CapturedState
from anyshape.tracing.captured.watch import Watch
from anyshape.tracing.display_names import DisplayNames
from anyshape.tracing.pytrees import as_leaf, leaf_paths, named, scalar_kind
from anyshape.tracing.trace import Leaves, Trace
from anyshape.tracing.tree_nodes import has_settings
from anyshape.transforms.caching.cache_miss import (
    Arguments,
    Key,
    different_arguments,
    distance,
    failed_guard,
    failed_layouts,
)

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.timers import Timers
    from anyshape.program.program import Program

LIMIT = 256  # programs of one function; beyond it, those that were not used lately are evicted
MAX_FAST_PATHS = 8  # keys that a call is compared with before the lookup
_LOG = logging.getLogger("anyshape.trace")
_MADE_ANEW = "%s: the function %s is created at each call, and each one is traced: define it once, outside of the loop"
_MAX_COMPARED = 8  # entries that a miss is compared with to explain it
_MAX_REMEMBERED = 64  # evicted entries that explanations still mention
_MAX_STALE = 16  # entries of earlier captured state whose programs may serve again


class Call(NamedTuple):
    """Arguments of one call without static ones, the static ones, the leaves, and the key of the cache."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: dict[int | str, Any]
    raw: list[Any]
    arrays: list[Any]
    key: Key

    def leaves(self, name: str, names: Sequence[str]) -> Leaves:
        """Return the leaves that a trace starts from, each checked; `names` are the positional parameters."""
        paths = leaf_paths(self.args, self.kwargs)
        checked = [as_leaf(x, named(path, names), name) for x, path in zip(self.arrays, paths, strict=True)]
        return Leaves(checked, [scalar_kind(x) for x in self.raw], self.key.tree, paths, self.key.order)


class TracedCall(NamedTuple):
    """Trace for a call, with what the cache needs to know of it."""

    trace: Trace
    scope: Scope
    made_for: Arguments
    reasons: list[Reason]
    static_state: CapturedState | None


class CacheEntry:
    """Program in the cache.

    - `sizes` are the sizes of the call that it was traced for, `reasons` why no other entry served that call.
    - `reliance_log` holds the size queries of the trace.
    - `guards_hold` is a predicate of a call, None where there is nothing to check. The program serves a call if
      captured state is as it was, the predicate is true, and the run does not return GUARD_FAILED.
    - `static_state` is what static arguments reach, None if that cannot change.
    """

    guards_hold: Callable[..., bool] | None
    program: Program
    state: CapturedState | None
    key: Key
    number: int
    sizes: dict[DimVar, int]
    reasons: tuple[Reason, ...]

    __slots__ = (
        "_names", "calls", "detours", "guards_hold", "hits", "is_one_array", "key", "made_for", "number", "path",
        "program", "reasons", "reliance_log", "result", "sizes", "state", "static_state", "used", "visible",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        state: CapturedState | None,
        made_for: Arguments,
        number: int,
        sizes: Mapping[DimVar, int],
        reasons: Sequence[Reason],
        reliance_log: Sequence[Any] = (),
        static_state: CapturedState | None = None,
    ) -> None:
        self.static_state: CapturedState | None = static_state
        self.program, self.state = program, state
        self.path: tuple[Any, ...] = tuple([dict(node.params)["answer"] for node in decisions_of(program.trace.graph)])
        self.detours: Any = None  # to other paths that share a beginning with this one
        self.calls: int = 0  # which took this path, if it has decisions
        self.result: Callable[[Any], Any] = self._counted(program.result) if self.path else program.result
        self.is_one_array: bool = not self.path and program.trace.out_tree.is_leaf()  # which needs no structure
        self.guards_hold = program.accepts if program.needs_guard_check else None
        self.key, self.number, self.sizes, self.reasons = made_for.key, number, dict(sizes), tuple(reasons)
        self.made_for: Arguments = Arguments(made_for.key, (), made_for.static, made_for.names)  # references no array
        self.reliance_log: Sequence[Any] = reliance_log
        self._names: DisplayNames | None = None
        self.visible: frozenset[int] = _visible(program.trace, state)
        self.hits: int = 0  # since it was added, or since the last eviction; the cache adds them to its own
        self.used: bool = False  # by a call without a fast path, since then

    def _counted(self, result: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def count(outputs: Any) -> Any:
            self.calls += 1
            return result(outputs)

        return count

    def serves(self, leaves: Sequence[Any]) -> bool:
        """Return whether the program takes the leaves of a call of its key: a run may still leave its path."""
        static_holds = self.static_state is None or self.static_state.holds()
        return static_holds and self.program.accepts(*leaves)

    def timed(self, timers: Timers) -> CacheEntry:
        """Return an entry for the same calls whose runs record their times in `timers`."""
        program = self.program.timed(timers)
        made_for, static_state = self.made_for, self.static_state
        return CacheEntry(
            program, self.state, made_for, self.number, self.sizes, self.reasons, static_state=static_state
        )

    @property
    def names(self) -> DisplayNames:
        """Names of the sizes of the program in terms of the caller."""
        if self._names is None:
            self._names = DisplayNames(self.program.trace.labels, self.program.prologue.bindings)
        return self._names

    def is_stale(self) -> bool:
        """Return True if captured state has changed, so that the program serves no call any more."""
        return any(not state.holds() for state in self.states)

    def state_changes(self) -> list[Reason]:
        """List the changes of captured state."""
        changes = [change for state in self.states for change in state.changes()]
        return [Reason("name", change.label, *change.texts(), self.number) for change in changes]

    @property
    def states(self) -> list[CapturedState]:
        """States that the program depends on besides arguments: of the function, and of static arguments."""
        return [state for state in (self.state, self.static_state) if state is not None]

    def is_made_by(self, trace: Trace, visible: frozenset[int]) -> bool:
        """Return True if a trace gives this program: equal graphs, with constants that can never differ."""
        before, now = ([array for _, array in t.graph.constants] for t in (self.program.trace, trace))
        if len(before) != len(now):
            return False
        for a, b in zip(before, now, strict=True):
            is_private = id(a) not in self.visible and id(b) not in visible and a.base is None and b.base is None
            if a is not b and not _is_one_memory(a, b) and not is_private:
                return False
        return self.program.trace == trace  # which compares the values of constants

    def mismatches(self, call: Arguments) -> list[Reason]:
        """Explain why the program does not serve a call."""
        if call.key != self.key:
            return list(different_arguments(self.number, self.program, self.made_for, call))
        if self.is_stale():
            return self.state_changes()
        failed = list(failed_guard(self.number, self.program, self.names, self.sizes, call.arrays))
        failed += failed_layouts(self.number, self.program, call.arrays)
        return failed or list(self._other_answer(call))

    def _other_answer(self, call: Arguments) -> Iterator[Reason]:
        graph = self.program.trace.graph
        left = value_decisions.path_left(graph, call.arrays) if self.path else None
        if left is not None:
            node = decisions_of(graph)[left.turn]
            before, now = str(self.path[left.turn]), str(left.answer)
            yield Reason("decision", asked(node), before, now, self.number, node.where)


class EvictedEntry(NamedTuple):
    """Record of an entry that was evicted.

    `why` names the captured state that changed; it is "" beyond the limit. There `accepts`, `state` and its `version`
    tell whether the program would have served a call.
    """

    number: int
    reasons: tuple[Reason, ...]
    why: str
    key: Key
    accepts: Callable[..., bool] | None = None
    state: CapturedState | None = None
    version: int = 0

    def would_serve(self, call: Arguments) -> bool:
        """Return True if the program was right for a call and was evicted beyond the limit."""
        if self.accepts is None or call.key != self.key:
            return False
        if self.state is not None and (self.version != self.state.version or not self.state.holds()):
            return False
        return self.accepts(*call.arrays)


def _visible(trace: Trace, state: CapturedState | None) -> frozenset[int]:
    """Return the ids of the arrays of a graph that the function reaches, so that its user can change them."""
    return frozenset([id(a) for _, a in trace.graph.constants if state is not None and state.reaches(a)])


def _is_one_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.size > 0 and a.__array_interface__ == b.__array_interface__


class FastPath(NamedTuple):
    """Generated function that serves calls of one key by its entries, without flattening, and these entries.

    It is called with the jitted function, the positional and the keyword arguments. The result is NO_MATCH for
    arguments of another key, and where no entry serves the call.
    """

    serve: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    entries: list[CacheEntry]


_SERVING = """
state_holds = owner._cache.state_holds
if state_holds is not None and not state_holds(): return NO_MATCH
for entry in entries:
    if entry.guards_hold is None or entry.guards_hold({leaves}):
        try:
            outputs = entry.program.run({leaves})
        except BaseException as error:
            return owner.after_error((args, kwargs), entry, [{leaves}], error)
        if outputs is not GUARD_FAILED:
            entry.hits += 1
            return outputs[0] if entry.is_one_array else entry.result(outputs)
return NO_MATCH
"""  # `owner` is the jitted function


def _no_path(owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Serve no call."""
    return NO_MATCH


class Cache:
    """Entries by key, oldest first; `fast_paths` are of the keys that were looked up last.

    `state` is what the function reads besides its arguments: every entry is for this state. `state_holds` tests it,
    and is None before the first trace.
    """

    added: int
    traces: int
    hits: int
    evictions: int
    revalidations: int

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.by_key: dict[Key, list[CacheEntry]] = {}
        self.fast_paths: tuple[FastPath, ...] = ()
        self.first_path: Callable[..., Any] = _no_path  # the first of these
        self.paths: dict[Key, FastPath | None] = {}  # also those that had to leave `fast_paths`
        self.state: CapturedState | None = None
        self.state_holds: Callable[[], bool] | None = None
        self.stale: deque[CacheEntry] = deque(maxlen=_MAX_STALE)
        self.said_anew: bool = False  # that a function among the arguments is made anew at each call
        self.added = self.traces = self.hits = self.evictions = self.revalidations = 0
        self.evicted: deque[EvictedEntry] = deque(maxlen=_MAX_REMEMBERED)
        self.said_full = False  # that paths of decisions on values are not kept any more
        self.received: dict[str, Any] = {}  # programs that came with the function from other processes, by digest

    def clear(self) -> None:
        """Remove every program, and reset the numbers."""
        Cache.__init__(self, self.limit)

    def entries(self) -> list[CacheEntry]:
        """Return every entry, oldest first."""
        return sorted([e for entries in list(self.by_key.values()) for e in list(entries)], key=lambda e: e.number)

    def find(self, key: Key, leaves: Sequence[Any]) -> CacheEntry | None:
        """Return an entry that serves a call, if there is one."""
        if self.state is not None:
            if not self.state.holds():
                return None
            self.state_holds = self.state.test()
        for entry in self.by_key.get(key, ()):
            if entry.serves(leaves):
                entry.used = True
                return entry
        return None

    def explain_miss(self, call: Arguments) -> list[Reason]:
        """Explain why no entry serves a call: by the entries of its key, else by the most similar entry."""
        if not self.said_anew and (call.static or has_settings(call.key.tree)):
            self._warn_of_new_functions(call)
        evicted = [e for e in list(self.evicted) if e.would_serve(call)]
        if evicted:
            return [Reason("evicted", str(self.limit), "", "", evicted[-1].number)]
        same_key = self.by_key.get(call.key, ())
        if same_key:
            return [reason for entry in same_key[-_MAX_COMPARED:] for reason in entry.mismatches(call)]
        others = [entry.mismatches(call) for entry in reversed(self.entries()[-_MAX_COMPARED:])]
        return min(others, key=distance, default=[])

    def _warn_of_new_functions(self, call: Arguments) -> None:
        """Say once that a function among the arguments is made anew at each call."""
        name = call.function_made_anew([entry.made_for for entry in self.entries()[-_MAX_COMPARED:]])
        if name:
            self.said_anew = True
            _LOG.warning(_MADE_ANEW, self.state.name if self.state is not None else "a function", name)

    def prefer(self, entry: CacheEntry) -> None:
        """Try an entry before the others of its key: the next call may take the same path."""
        entries = self.by_key.get(entry.key, [])
        if entry in entries[1:]:
            entries[:] = [entry, *[e for e in entries if e is not entry]]

    def _collect_hits(self, entry: CacheEntry) -> None:
        """Add the hits of an entry to the hits of the cache; it counts as unused from here on."""
        self.hits += entry.hits
        entry.hits, entry.used = 0, False

    def add_fast_path(self, key: Key) -> None:
        """Add the fast path of a key in front, if the key has a reader and no fast path yet."""
        entries = self.by_key.get(key)
        if entries is None or any(path.entries is entries for path in self.fast_paths):
            return
        if key not in self.paths:
            names = {"entries": entries, "GUARD_FAILED": GUARD_FAILED}
            serve = matcher(key.tree, key.leaves, key.order, _SERVING.strip().splitlines(), names)
            self.paths[key] = None if serve is None else FastPath(serve, entries)
        path = self.paths[key]
        if path is not None:
            self._take_fast_paths((path, *self.fast_paths[: MAX_FAST_PATHS - 1]))

    def _take_fast_paths(self, paths: tuple[FastPath, ...]) -> None:
        self.fast_paths = paths
        self.first_path = paths[0].serve if paths else _no_path

    def add(self, entry: CacheEntry, traced: bool = True) -> None:
        """Add an entry, and evict entries beyond the limit."""
        self.added += 1
        self.traces += traced
        self._keep(entry)

    def _keep(self, entry: CacheEntry) -> None:
        self.by_key.setdefault(entry.key, []).append(entry)
        while len(every := self.entries()) > self.limit:
            self._evict(next((e for e in every[:-1] if not (e.used or e.hits)), every[0]))

    # -- captured state

    @contextmanager
    def tracing(self, state: CapturedState, static_state: CapturedState | None = None) -> Iterator[list[Watch]]:
        """Trace for the captured state as it is now, and compare later calls with what it is afterwards.

        Yields snapshots of what the function and static arguments reach.
        """
        state = self.settle(state)
        try:
            with state.tracing() as own, nullcontext() if static_state is None else static_state.tracing() as others:
                yield [own] if others is None else [own, others]
        finally:
            self.state_holds = state.test()

    def settle(self, state: CapturedState) -> CapturedState:
        """Return the captured state, `state` if there was none yet; evict entries of an earlier one."""
        if self.state is None:
            self.state = state
        self.evict_stale()
        return self.state

    def evict_stale(self) -> None:
        """Evict entries whose captured state has changed; for a while their programs can be restored."""
        stale = [entry for entry in self.entries() if entry.is_stale()]
        for entry in stale:
            changes = "; ".join(map(str, entry.state_changes()))
            self.evicted.append(EvictedEntry(entry.number, entry.reasons, changes, entry.key))
            self.by_key[entry.key].remove(entry)
            self._collect_hits(entry)
        self.stale += stale
        if self.state is not None and not self.state.holds():
            self.state.renew()

    def restore(
        self, key: Key, trace: Trace, reasons: Sequence[Reason], static_state: CapturedState | None = None
    ) -> CacheEntry | None:
        """Take back the entry of an earlier state whose program a new trace makes again, if there is one."""
        visible = _visible(trace, self.state)
        entry = next((e for e in self.stale if e.key == key and e.is_made_by(trace, visible)), None)
        if entry is not None:
            self.stale.remove(entry)
            entry.reasons, entry.static_state = tuple(reasons), static_state
            evicted = [e for e in self.evicted if e.number != entry.number]
            self.evicted = deque(evicted, maxlen=_MAX_REMEMBERED)
            self._keep(entry)
            self.revalidations += 1
        return entry

    # -- evictions

    def _evict(self, entry: CacheEntry) -> None:
        """Evict one entry; the others count as unused from here on."""
        self.evictions += 1
        accepts, state = entry.program.accepts, entry.state
        version = 0 if state is None else state.version
        self.evicted.append(EvictedEntry(entry.number, entry.reasons, "", entry.key, accepts, state, version))
        entries = self.by_key[entry.key]
        entries.remove(entry)
        if not entries:
            del self.by_key[entry.key]
            self._take_fast_paths(tuple([path for path in self.fast_paths if path.entries is not entries]))
            self.paths.pop(entry.key, None)
        for other in (entry, *self.entries()):
            self._collect_hits(other)

    def info(self) -> CacheInfo:
        """Return the numbers of traces, hits, entries and evictions, and the limit."""
        entries = self.entries()
        hits = self.hits + sum(entry.hits for entry in entries)
        return CacheInfo(self.traces, hits, len(entries), self.evictions, self.limit)
