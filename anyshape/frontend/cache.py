"""The programs of one function: what each was made for, when it may be used, and why a call needed another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from anyshape.errors import ShapeError
from anyshape.frontend.environment import Watch
from anyshape.frontend.program import Program
from anyshape.frontend.tracing import Leaves
from anyshape.graph.conditions import Claim, Condition, Where
from anyshape.graph.dims import DimVar
from anyshape.graph.entry import compile_entry
from anyshape.graph.evaluate import to_mapping

LIMIT = 256  # programs of one function; beyond, those that were not used lately go


class CacheInfo(NamedTuple):
    """What a jitted function has done so far, and how many programs it keeps at most."""

    traces: int
    hits: int
    entries: int
    evictions: int
    limit: int


class Key(NamedTuple):
    """What programs are looked up by: no size is part of it."""

    tree: Any
    static: tuple[Any, ...]
    leaves: tuple[tuple[Any, ...], ...]  # dtype and rank, and the type of a plain number


@dataclass(frozen=True)
class Reason:
    """Why a program was not used for a call.

    `kind` is what differed: "structure", "static", "dtype", "rank", "number" (a plain number or an array), "name" (one
    that the function reads was bound anew) or "guard"; `subject` is the argument, name or claim, `before` and `now` are
    its values for the program and for the call, `entry` numbers the program.
    """

    kind: str
    subject: str
    before: str
    now: str
    entry: int
    where: Where | None = None

    def __str__(self) -> str:
        line = f" at {self.where}" if self.where is not None else ""
        if self.kind == "guard":
            return f"guard {self.subject}{line}: {self.before} when traced, {self.now} now"
        if self.kind == "name":
            return f"{self.subject} was bound anew"
        return f"{self.kind} of {self.subject}: {self.before} when traced, {self.now} now"


class Entry:
    """A program in the cache: `sizes` are those of the call it was traced for, `reasons` why others did not serve."""

    __slots__ = ("accepts", "key", "number", "program", "reasons", "sizes", "unchanged", "used")

    def __init__(
        self,
        program: Program,
        unchanged: Watch | None,
        key: Key,
        number: int,
        sizes: Mapping[DimVar, int],
        reasons: Sequence[Reason],
    ) -> None:
        self.program, self.accepts, self.unchanged = program, program.accepts, unchanged
        self.key, self.number, self.sizes, self.reasons = key, number, dict(sizes), tuple(reasons)
        self.used = True

    @property
    def guards(self) -> list[Condition]:
        """What must hold of the sizes for the program to be used."""
        return [c for c in self.program.graph.conditions if c.kind == "guard"]

    def stale(self) -> bool:
        """A name that the function reads was bound anew: the program is of no use any more."""
        return self.unchanged is not None and not self.unchanged()

    def serves(self, leaves: Sequence[Any]) -> bool:
        """The program gives the right answer for these leaves."""
        return not self.stale() and (self.accepts is None or bool(self.accepts(*leaves)))

    def refuses(self, key: Key, leaves: Leaves) -> list[Reason]:
        """Why the program does not serve a call."""
        if key != self.key:
            return self._other_arguments(key, leaves)
        if self.unchanged is not None and not self.unchanged():
            return [Reason("name", name, "", "", self.number) for name in self.unchanged.changed()]
        now = compile_entry(self.program.entry, arrays=True)(*leaves.arrays)
        for guard in self.guards:
            if not _holds(guard.claim, now):
                variables = guard.claim.variables()
                before, after = (", ".join(f"{v} = {at[v]}" for v in variables) for at in (self.sizes, now))
                return [Reason("guard", str(guard.claim), before, after, self.number, guard.where)]
        return []

    def _other_arguments(self, key: Key, leaves: Leaves) -> list[Reason]:
        """How a call differs in what does not depend on sizes."""
        if key.tree != self.key.tree:
            return [Reason("structure", "the arguments", str(self.key.tree), str(key.tree), self.number)]
        found = []
        for (place, *before), (_, *now) in zip(self.key.static, key.static, strict=True):
            if before != now:
                path = place if isinstance(place, str) else f"args[{place}]"
                found.append(Reason("static", path, _shown(before[-1]), _shown(now[-1]), self.number))
        for path, before, now in zip(leaves.paths, self.key.leaves, key.leaves, strict=True):
            for kind, a, b in zip(("dtype", "rank"), before, now, strict=False):
                if a != b:
                    found.append(Reason(kind, path, str(a), str(b), self.number))
            if before[2:] != now[2:]:
                found.append(Reason("number", path, _number(before), _number(now), self.number))
        return found


def _holds(claim: Claim, sizes: Mapping[DimVar, int]) -> bool:
    """The claim is true of these sizes; one that has no meaning for them is not."""
    try:
        return claim.holds(to_mapping(sizes))
    except (ZeroDivisionError, ShapeError):
        return False


def _shown(value: Any) -> str:
    return repr(value[1]) if isinstance(value, tuple) and len(value) == 2 and value[0] in _FROZEN else repr(value)


_FROZEN = ("bool", "int", "float", "complex")  # what `freeze` makes pairs of


def _number(leaf: tuple[Any, ...]) -> str:
    return f"a Python {leaf[2].__name__}" if len(leaf) > 2 else "an array"


class Cache:
    """Programs by key, in the order of their making; `flat` finds those for calls with arrays alone."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.by_key: dict[Key, list[Entry]] = {}
        self.flat: dict[tuple[Any, ...], list[Entry]] = {}
        self.traces = self.hits = self.evictions = 0

    def entries(self) -> list[Entry]:
        """Every entry, oldest first."""
        return sorted([e for entries in self.by_key.values() for e in entries], key=lambda e: e.number)

    def find(self, key: Key, leaves: Sequence[Any]) -> Entry | None:
        """A program that serves a call."""
        for entry in self.by_key.get(key, ()):
            if entry.serves(leaves):
                entry.used = True
                return entry
        return None

    def reasons(self, key: Key, leaves: Leaves) -> list[Reason]:
        """Why no program serves a call: those of its key are compared, else the one that is most like it."""
        near = self.by_key.get(key, ())
        if near:
            return [reason for entry in near[-_COMPARED:] for reason in entry.refuses(key, leaves)]
        others = [entry.refuses(key, leaves) for entry in reversed(self.entries()[-_COMPARED:])]
        return min(others, key=len, default=[])

    def add(self, entry: Entry, flat: bool) -> None:
        """Keep a new entry in place of those that are stale, and at most `limit` in all."""
        entries = self.by_key.setdefault(entry.key, [])
        entries[:] = [e for e in entries if not e.stale()] + [entry]
        if flat:
            self.flat[tuple([x for leaf in entry.key.leaves for x in leaf])] = entries
        self.traces += 1
        while len(kept := self.entries()) > self.limit:
            self._evict(next((e for e in kept if not e.used), kept[0]))

    def _evict(self, entry: Entry) -> None:
        """Drop one entry; the others are to show anew that they are used."""
        self.evictions += 1
        entries = self.by_key[entry.key]
        entries.remove(entry)
        if not entries:
            del self.by_key[entry.key]
            self.flat = {k: found for k, found in self.flat.items() if found is not entries}
        for other in self.entries():
            other.used = False

    def info(self) -> CacheInfo:
        """Numbers of traces, hits, entries and evictions, and the limit."""
        return CacheInfo(self.traces, self.hits, len(self.entries()), self.evictions, self.limit)


_COMPARED = 8  # entries that a call is compared with to say why it was traced
