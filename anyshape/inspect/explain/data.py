"""What a cache holds, as data that prints: programs with their sizes and conditions, and why each was traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from anyshape.backend.compiler.lower import reliances_of_passes
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Claim, SourceLine
from anyshape.graph.prover.scope import reliances
from anyshape.graph.shapes.array_type import Exact, UpperBound
from anyshape.inspect.explain.table import explanation_table
from anyshape.inspect.explain.text import explanation_text, reliance_text
from anyshape.inspect.plain_data import to_plain
from anyshape.tracing.display_names import DisplayNames


class CacheInfo(NamedTuple):
    """What a jitted function has done so far, and how many programs it keeps at most."""

    traces: int
    hits: int
    entries: int
    evictions: int
    limit: int


@dataclass(frozen=True)
class Reason:
    """Why a program was not used for a call.

    `kind` is what differed: "structure", "static", "dtype", "rank", "number" (a plain number or an array), "name" (one
    that the function reads was bound anew), "guard", or "evicted" (nothing did, but the program had been dropped);
    `subject` is the argument, name or claim, `before` and `now` are its values for the program and for the call,
    `program` is the number of the program.
    """

    kind: str
    subject: str
    before: str
    now: str
    program: int
    where: SourceLine | None = None

    def __str__(self) -> str:
        what = _WHAT[self.kind].format(self.subject)
        line = f" ({self.where})" if self.where is not None else ""
        if self.kind == "evicted":
            return what
        now = self.now
        if self.kind == "guard" and ", " not in now:  # one size, named once
            now = now.rpartition(" = ")[2]
        return f"{what}{line}: {self.before} when traced, {now} now"


_WHAT = {
    "structure": "{}",
    "static": "static argument {}",
    "dtype": "dtype of {}",
    "rank": "number of axes of {}",
    "number": "{}",
    "name": "{}",
    "guard": "{}",
    "evicted": "it was dropped, as {} programs are kept at most",
}


@dataclass(frozen=True)
class ArgumentInfo:
    """An array among the arguments: `number` says which plain number it was, `size` which size its value is."""

    path: str
    meta: str
    dtype: str
    extents: tuple[str, ...]
    number: str = ""
    size: str = ""


@dataclass(frozen=True)
class SizeInfo:
    """An unknown size: where a call reads it, its value in the call that was traced, and what range is known."""

    name: str
    source: str
    value: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class ConditionInfo:
    """What a program relies on; `otherwise` is what holds where a guard does not, `code` the line that asked."""

    kind: str
    claim: str
    otherwise: str
    op: str
    reason: str
    where: SourceLine | None
    code: str


@dataclass(frozen=True)
class RelianceInfo:
    """What a rule of an op, or a pass, was told, and how often.

    `rule` is "shape", "jvp", "transpose", "batching" or "pass"; `question` is "exact", "extent", "rank", "same",
    "resolve", "require" or "new_size"; `size` is the answer.
    """

    op: str
    rule: str
    question: str
    field: str
    size: str
    times: int


@dataclass(frozen=True)
class ProgramInfo:
    """One program: `because` says why it was traced, `retraces` when it does not serve, `stale` why it never will.

    `watched` are the names whose binding it was traced with.
    """

    number: int
    arguments: tuple[ArgumentInfo, ...]
    structure: str
    static: dict[str, str]
    result: str
    outputs: tuple[tuple[str, ...], ...]
    sizes: tuple[SizeInfo, ...]
    conditions: tuple[ConditionInfo, ...]
    because: tuple[Reason, ...]
    retraces: tuple[str, ...]
    watched: tuple[str, ...]
    stale: tuple[str, ...]
    _relied: Sequence[Any] = field(default=(), repr=False, compare=False)
    _graph: Graph | None = field(default=None, repr=False, compare=False)
    _words: DisplayNames | None = field(default=None, repr=False, compare=False)

    @property
    def reliances(self) -> list[RelianceInfo]:
        """What rules of ops were told while tracing, and passes after it, each once."""
        words = self._words
        assert words is not None
        told = reliances([*self._relied, *([] if self._graph is None else reliances_of_passes(self._graph))])
        found = Counter((r.primitive, r.rule, r.question, r.field, _answer(r.answer, words)) for r in told)
        return [RelianceInfo(*what, times) for what, times in found.items()]

    def guards(self) -> list[ConditionInfo]:
        """What must hold of the sizes for the program to be used."""
        return [c for c in self.conditions if c.kind == "guard"]

    def to_dict(self, *, reliances: bool = False) -> dict[str, Any]:
        """All of it as dicts, lists, texts and numbers."""
        found = to_plain(replace(self, _relied=(), _words=None, _graph=None))
        found = {k: v for k, v in found.items() if not k.startswith("_")}
        return found | {"reliances": [to_plain(r) for r in self.reliances]} if reliances else found


@dataclass(frozen=True)
class DroppedInfo:
    """A program that is not kept any more: why it was traced, and the names bound anew; none if it was evicted."""

    number: int
    because: tuple[Reason, ...]
    stale: str


@dataclass(frozen=True)
class Explanation:
    """The programs of a function. Prints as text, and as a table in `rich`; `to_dict` gives it as plain data.

    `program` is the number of the one that serves the arguments that were asked about, `traced` says that it was traced
    to answer, `broken` what it needs of sizes and these arguments do not satisfy. `dropped` are the last programs that
    are not kept any more.
    """

    name: str
    cache: CacheInfo
    programs: tuple[ProgramInfo, ...]
    program: int | None = None
    traced: bool = False
    broken: tuple[str, ...] = ()
    dropped: tuple[DroppedInfo, ...] = ()

    @property
    def reliances(self) -> list[RelianceInfo]:
        """What rules asked of sizes in the program that serves the arguments, or in the last one."""
        found = [p for p in self.programs if self.program in (None, p.number)]
        return found[-1].reliances if found else []

    def reliance_text(self) -> str:
        """The reliances as lines, one for each op and rule: what they rely on, and how often they asked."""
        return reliance_text(self.reliances)

    def to_dict(self, *, reliances: bool = False) -> dict[str, Any]:
        """All of it as dicts, lists, texts and numbers, as JSON holds them."""
        return {
            "name": self.name,
            "cache": self.cache._asdict(),
            "program": self.program,
            "traced": self.traced,
            "broken": list(self.broken),
            "dropped": [to_plain(d) for d in self.dropped],
            "programs": [p.to_dict(reliances=reliances) for p in self.programs],
        }

    def __str__(self) -> str:
        return explanation_text(self)

    def __rich__(self) -> Any:
        return explanation_table(self)


def _answer(answer: Any, words: DisplayNames) -> str:
    """What a rule was told, in the words of the caller."""
    if isinstance(answer, Claim):
        return words.claim(answer)
    if isinstance(answer, (Exact, UpperBound)):
        return f"{'<=' if isinstance(answer, UpperBound) else ''}{words.size(answer.size)}"
    return str(answer)
