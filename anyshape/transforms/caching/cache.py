"""Cache of the programs of one function: what each serves, when it may be used, and why a call needed another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.graph.sizes.expr import DimVar
from anyshape.inspect.explain.data import CacheInfo, Reason
from anyshape.program.program import Program
from anyshape.program.pytree_codegen import Reader, reader
from anyshape.tracing.captured_state import Watch
from anyshape.tracing.display_names import DisplayNames
from anyshape.transforms.caching.cache_miss import Arguments, Key, different_arguments, distance, failed_guard

LIMIT = 256  # programs of one function; beyond it, those that were not used lately are evicted
MAX_FAST_PATHS = 8  # keys that a call is compared with before the lookup
_MAX_COMPARED = 8  # entries that a miss is compared with to explain it
_MAX_REMEMBERED = 64  # removed entries that explanations still mention


class CacheEntry:
    """A program in the cache.

    - `sizes` are the sizes of the call that it was traced for, `reasons` why no other entry served that call.
    - `reliance_log` holds the size queries of the trace.
    - `state_holds` and `guards_hold` are predicates of a call, None where there is nothing to check. The program
      serves a call if both are true, and its run does not return GUARD_FAILED.
    """

    __slots__ = (
        "_names", "guards_hold", "key", "made_for", "number", "program", "reasons", "reliance_log", "result", "run",
        "sizes", "state", "state_holds", "used",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        state: Watch | None,
        made_for: Arguments,
        number: int,
        sizes: Mapping[DimVar, int],
        reasons: Sequence[Reason],
        reliance_log: Sequence[Any] = (),
    ) -> None:
        self.program, self.state, self.run, self.result = program, state, program.run, program.result
        self.state_holds = None if state is None else state.unchanged
        self.guards_hold = program.accepts if program.needs_guard_check else None
        self.key, self.number, self.sizes, self.reasons = made_for.key, number, dict(sizes), tuple(reasons)
        self.made_for = Arguments(made_for.key, (), made_for.static, made_for.names)  # references no array
        self.reliance_log = reliance_log
        self._names: DisplayNames | None = None
        self.used = False  # since it was added, or since the last eviction

    def timed(self, timers: Timers) -> CacheEntry:
        """Return an entry for the same calls whose runs record their times in `timers`."""
        program = self.program.timed(timers)
        return CacheEntry(program, self.state, self.made_for, self.number, self.sizes, self.reasons)

    @property
    def names(self) -> DisplayNames:
        """Names of the sizes of the program in terms of the caller."""
        if self._names is None:
            self._names = DisplayNames(self.program.trace.labels, self.program.prologue.bindings)
        return self._names

    def is_stale(self) -> bool:
        """Return True if captured state has changed, so that the program serves no call any more."""
        return self.state is not None and not self.state()

    def state_changes(self) -> list[Reason]:
        """List the changes of captured state."""
        changes = [] if self.state is None else self.state.changed()
        return [Reason("name", *change, self.number) for change in changes]

    def serves(self, leaves: Sequence[Any]) -> bool:
        """Return True if the program is right for these leaves."""
        return not self.is_stale() and self.program.accepts(*leaves)

    def mismatches(self, call: Arguments) -> list[Reason]:
        """Explain why the program does not serve a call."""
        if call.key != self.key:
            return list(different_arguments(self.number, self.program, self.made_for, call))
        if self.is_stale():
            return self.state_changes()
        return list(failed_guard(self.number, self.program, self.names, self.sizes, call.arrays))


class RemovedEntry(NamedTuple):
    """Record of an entry that was removed.

    `why` names the captured state that changed, or is "" for an eviction. After an eviction, `accepts` and `state`
    tell whether the program would have served a call.
    """

    number: int
    reasons: tuple[Reason, ...]
    why: str
    key: Key
    accepts: Callable[..., bool] | None = None
    state: Watch | None = None

    def would_serve(self, call: Arguments) -> bool:
        """Return True if the program was right for a call and was evicted."""
        if self.accepts is None or call.key != self.key or (self.state is not None and not self.state()):
            return False
        return self.accepts(*call.arrays)


class FastPath(NamedTuple):
    """Generated reader of the arguments of one key, which replaces flattening, and the entries of that key."""

    read: Reader
    entries: list[CacheEntry]


class Cache:
    """Entries by key, oldest first; `fast_paths` are of the keys that were looked up last."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.by_key: dict[Key, list[CacheEntry]] = {}
        self.fast_paths: tuple[FastPath, ...] = ()
        self.readers: dict[Key, Reader | None] = {}
        self.traces = self.hits = self.evictions = 0
        self.removed: deque[RemovedEntry] = deque(maxlen=_MAX_REMEMBERED)

    def entries(self) -> list[CacheEntry]:
        """Return every entry, oldest first."""
        return sorted([e for entries in list(self.by_key.values()) for e in list(entries)], key=lambda e: e.number)

    def find(self, key: Key, leaves: Sequence[Any]) -> CacheEntry | None:
        """Return an entry that serves a call, if there is one."""
        for entry in self.by_key.get(key, ()):
            if entry.serves(leaves):
                entry.used = True
                return entry
        return None

    def explain_miss(self, call: Arguments) -> list[Reason]:
        """Explain why no entry serves a call: by the entries of its key, else by the most similar entry."""
        evicted = [e for e in list(self.removed) if e.would_serve(call)]
        if evicted:
            return [Reason("evicted", str(self.limit), "", "", evicted[-1].number)]
        same_key = self.by_key.get(call.key, ())
        if same_key:
            return [reason for entry in same_key[-_MAX_COMPARED:] for reason in entry.mismatches(call)]
        others = [entry.mismatches(call) for entry in reversed(self.entries()[-_MAX_COMPARED:])]
        return min(others, key=distance, default=[])

    def count_hit(self, entry: CacheEntry) -> None:
        """Count a call that an entry served."""
        entry.used = True
        self.hits += 1

    def add_fast_path(self, key: Key) -> None:
        """Add the fast path of a key in front, if the key has a reader and no fast path yet."""
        entries = self.by_key.get(key)
        if entries is None or any(path.entries is entries for path in self.fast_paths):
            return
        read = self.readers[key] if key in self.readers else self.readers.setdefault(key, reader(key.tree, key.leaves))
        if read is not None:
            self.fast_paths = (FastPath(read, entries), *self.fast_paths[: MAX_FAST_PATHS - 1])

    def add(self, entry: CacheEntry) -> None:
        """Add an entry, remove the stale ones of its key, and evict entries beyond the limit."""
        entries = self.by_key.setdefault(entry.key, [])
        stale = [e for e in entries if e.is_stale()]
        for old in stale:
            changes = "; ".join(map(str, old.state_changes()))
            self.removed.append(RemovedEntry(old.number, old.reasons, changes, old.key))
        entries[:] = [e for e in entries if e not in stale] + [entry]
        self.traces += 1
        while len(every := self.entries()) > self.limit:
            self._evict(next((e for e in every[:-1] if not e.used), every[0]))

    def _evict(self, entry: CacheEntry) -> None:
        """Evict one entry; the others count as unused from here on."""
        self.evictions += 1
        accepts, state = entry.program.accepts, entry.state
        self.removed.append(RemovedEntry(entry.number, entry.reasons, "", entry.key, accepts, state))
        entries = self.by_key[entry.key]
        entries.remove(entry)
        if not entries:
            del self.by_key[entry.key]
            self.fast_paths = tuple([path for path in self.fast_paths if path.entries is not entries])
            self.readers.pop(entry.key, None)
        for other in self.entries():
            other.used = False

    def info(self) -> CacheInfo:
        """Return the numbers of traces, hits, entries and evictions, and the limit."""
        return CacheInfo(self.traces, self.hits, len(self.entries()), self.evictions, self.limit)
