"""The programs of one function: what each was made for, when it may be used, and why a call needed another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.sizes.expr import DimVar
from anyshape.inspect.explain.data import CacheInfo, Reason
from anyshape.program.program import Program
from anyshape.program.pytree_codegen import Reader, reader
from anyshape.tracing.captured_state import Watch
from anyshape.tracing.display_names import DisplayNames
from anyshape.transforms.cache_miss import Arguments, Key, different_arguments, distance, failed_guard

LIMIT = 256  # programs of one function; beyond, those that were not used lately go
MAX_FAST_PATHS = 8  # signatures that a call is compared with before it is looked up


class CacheEntry:
    """A program in the cache: `sizes` are those of the call it was traced for, `reasons` why others did not serve.

    `reliance_log` holds the size queries of the trace. Of a call, `same` and `asks` tell whether
    the program serves it, where they are not None; the guards of the rest are asked by `run`.
    """

    __slots__ = (
        "_words", "asks", "key", "made_for", "make", "number", "program", "reasons", "reliance_log", "run", "same",
        "sizes", "unchanged", "used",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        unchanged: Watch | None,
        made_for: Arguments,
        number: int,
        sizes: Mapping[DimVar, int],
        reasons: Sequence[Reason],
        reliance_log: Sequence[Any] = (),
    ) -> None:
        self.program, self.unchanged, self.run, self.make = program, unchanged, program.run, program.result
        self.same = None if unchanged is None else unchanged.unchanged
        self.asks = program.accepts if program.needs_guard_check else None
        self.key, self.number, self.sizes, self.reasons = made_for.key, number, dict(sizes), tuple(reasons)
        self.made_for = Arguments(made_for.key, (), made_for.static, made_for.names)  # keeps no array alive
        self.reliance_log = reliance_log
        self._words: DisplayNames | None = None
        self.used = False  # since it was made, or since a program was dropped

    def timed(self, timers: Timers) -> CacheEntry:
        """One for the same calls, whose program tells `timers` of each run."""
        return CacheEntry(self.program.timed(timers), self.unchanged, self.made_for, self.number, self.sizes, self.reasons)

    @property
    def guards(self) -> list[Condition]:
        """What must hold of the sizes for the program to be used."""
        return [c for c in self.program.graph.conditions if c.kind == "guard"]

    @property
    def words(self) -> DisplayNames:
        """The sizes of the program as a caller names them."""
        if self._words is None:
            self._words = DisplayNames(self.program.labels, self.program.plan.dims)
        return self._words

    @property
    def accepts(self) -> Callable[..., bool] | None:
        """Whether the guards hold for the leaves of a call; None when there are no guards."""
        return self.program.accepts

    def stale(self) -> bool:
        """A name that the function reads was bound anew: the program is of no use any more."""
        return self.unchanged is not None and not self.unchanged()

    def anew(self) -> list[Reason]:
        """The names that were bound anew."""
        changes = [] if self.unchanged is None else self.unchanged.changed()
        return [Reason("name", *change, self.number) for change in changes]

    def serves(self, leaves: Sequence[Any]) -> bool:
        """The program gives the right answer for these leaves."""
        return not self.stale() and (self.accepts is None or bool(self.accepts(*leaves)))

    def refuses(self, call: Arguments) -> list[Reason]:
        """Why the program does not serve a call."""
        if call.key != self.key:
            return list(different_arguments(self.number, self.program, self.made_for, call))
        if self.stale():
            return self.anew()
        return list(failed_guard(self.number, self.program, self.words, self.sizes, call.arrays))


class Dropped(NamedTuple):
    """What is left of a program that is not kept any more, and `why`: evicted (""), or a name that was bound anew.

    Of one that was evicted, enough to tell that it would have served.
    """

    number: int
    reasons: tuple[Reason, ...]
    why: str
    key: Key
    accepts: Callable[..., bool] | None = None
    unchanged: Watch | None = None

    def served(self, call: Arguments) -> bool:
        """The program was right for a call, and was evicted."""
        if self.why or call.key != self.key or (self.unchanged is not None and not self.unchanged()):
            return False
        return self.accepts is None or self.accepts(*call.arrays)


class FastPath(NamedTuple):
    """What takes the arguments of one key apart, without flattening, and the programs there are for that key."""

    read: Reader
    entries: list[CacheEntry]


class Cache:
    """Programs by key, in the order of their making; `fast_paths` lead to those of the keys that were met last."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.by_key: dict[Key, list[CacheEntry]] = {}
        self.fast_paths: tuple[FastPath, ...] = ()
        self.readers: dict[Key, Reader | None] = {}
        self.traces = self.hits = self.evictions = 0
        self.dropped: deque[Dropped] = deque(maxlen=_REMEMBERED)

    def entries(self) -> list[CacheEntry]:
        """Every entry, oldest first."""
        return sorted([e for entries in list(self.by_key.values()) for e in list(entries)], key=lambda e: e.number)

    def find(self, key: Key, leaves: Sequence[Any]) -> CacheEntry | None:
        """A program that serves a call."""
        for entry in self.by_key.get(key, ()):
            if entry.serves(leaves):
                entry.used = True
                return entry
        return None

    def reasons(self, call: Arguments) -> list[Reason]:
        """Why no program serves a call: those of its key are compared, else the one that is most like it."""
        dropped = [e for e in list(self.dropped) if e.served(call)]
        if dropped:
            return [Reason("evicted", str(self.limit), "", "", dropped[-1].number)]
        near = self.by_key.get(call.key, ())
        if near:
            return [reason for entry in near[-_COMPARED:] for reason in entry.refuses(call)]
        others = [entry.refuses(call) for entry in reversed(self.entries()[-_COMPARED:])]
        return min(others, key=distance, default=[])

    def hit(self, entry: CacheEntry) -> None:
        """Count a call that an entry served."""
        entry.used = True
        self.hits += 1

    def open(self, key: Key) -> None:
        """Put the door of a key first, if it has one that is not open."""
        entries = self.by_key.get(key)
        if entries is None or any(door.entries is entries for door in self.fast_paths):
            return
        read = self.readers[key] if key in self.readers else self.readers.setdefault(key, reader(key.tree, key.leaves))
        if read is not None:
            self.fast_paths = (FastPath(read, entries), *self.fast_paths[: MAX_FAST_PATHS - 1])

    def add(self, entry: CacheEntry) -> None:
        """Keep a new entry in place of those that are stale, and at most `limit` in all."""
        entries = self.by_key.setdefault(entry.key, [])
        stale = [e for e in entries if e.stale()]
        self.dropped.extend(Dropped(e.number, e.reasons, "; ".join(map(str, e.anew())), e.key) for e in stale)
        entries[:] = [e for e in entries if e not in stale] + [entry]
        self.traces += 1
        while len(kept := self.entries()) > self.limit:
            self._evict(next((e for e in kept[:-1] if not e.used), kept[0]))

    def _evict(self, entry: CacheEntry) -> None:
        """Drop one entry; the others are to show anew that they are used."""
        self.evictions += 1
        self.dropped.append(Dropped(entry.number, entry.reasons, "", entry.key, entry.accepts, entry.unchanged))
        entries = self.by_key[entry.key]
        entries.remove(entry)
        if not entries:
            del self.by_key[entry.key]
            self.fast_paths = tuple([door for door in self.fast_paths if door.entries is not entries])
            self.readers.pop(entry.key, None)
        for other in self.entries():
            other.used = False

    def info(self) -> CacheInfo:
        """Numbers of traces, hits, entries and evictions, and the limit."""
        return CacheInfo(self.traces, self.hits, len(self.entries()), self.evictions, self.limit)


_COMPARED = 8  # entries that a call is compared with to say why it was traced
_REMEMBERED = 64  # programs that were dropped
