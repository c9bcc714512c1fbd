"""What a cache holds, as data that prints: programs with their sizes and conditions, and why each was traced."""

from __future__ import annotations

import importlib
import linecache
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from anyshape.backend.lower import relied_by_passes
from anyshape.frontend.cache import Cache, CacheInfo, Entry
from anyshape.frontend.explain_text import explanation_text, reliance_text
from anyshape.frontend.reasons import Reason, broken_claims, number_text, shorten
from anyshape.frontend.wording import Words, show_call, show_tree
from anyshape.graph import dims
from anyshape.graph.conditions import Claim, Condition, Where
from anyshape.graph.extents import Exact, TensorMeta, UpperBound
from anyshape.graph.ir import Graph
from anyshape.graph.scope import Scope, reliances


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
    where: Where | None
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
    _words: Words | None = field(default=None, repr=False, compare=False)

    @property
    def reliances(self) -> list[RelianceInfo]:
        """What rules of ops were told while tracing, and passes after it, each once."""
        words = self._words
        assert words is not None
        told = reliances([*self._relied, *([] if self._graph is None else relied_by_passes(self._graph))])
        found = Counter((r.primitive, r.rule, r.question, r.field, _answer(r.answer, words)) for r in told)
        return [RelianceInfo(*what, times) for what, times in found.items()]

    def guards(self) -> list[ConditionInfo]:
        """What must hold of the sizes for the program to be used."""
        return [c for c in self.conditions if c.kind == "guard"]

    def to_dict(self, *, reliances: bool = False) -> dict[str, Any]:
        """All of it as dicts, lists, texts and numbers."""
        found = asdict(replace(self, _relied=(), _words=None, _graph=None))
        found = {k: v for k, v in found.items() if not k.startswith("_")}
        return found | {"reliances": [asdict(r) for r in self.reliances]} if reliances else found


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
            "dropped": [asdict(d) for d in self.dropped],
            "programs": [p.to_dict(reliances=reliances) for p in self.programs],
        }

    def __str__(self) -> str:
        return explanation_text(self)

    def __rich__(self) -> Any:
        return importlib.import_module("anyshape.frontend.explain_table").explanation_table(self)


def explain_cache(name: str, cache: Cache) -> Explanation:
    """The programs that a cache holds now."""
    programs = tuple([_program(e) for e in cache.entries()])
    dropped = tuple([DroppedInfo(d.number, d.reasons, d.why) for d in list(cache.dropped)])
    return Explanation(name, cache.info(), programs, dropped=dropped)


def explain_entry(name: str, cache: Cache, entry: Entry, arrays: Sequence[Any], traced: bool) -> Explanation:
    """The same, with what there is to say of a call that one of the programs serves."""
    broken = tuple(broken_claims(entry.program, entry.words, arrays))
    return replace(explain_cache(name, cache), program=entry.number, traced=traced, broken=broken)


def _program(entry: Entry) -> ProgramInfo:
    """One program as data."""
    program, words, made_for = entry.program, entry.words, entry.made_for
    graph = program.graph
    scope = Scope(conditions=graph.conditions)
    arguments = tuple(_arguments(entry, words))
    sizes = tuple(
        SizeInfo(str(v), words.source(v), entry.sizes.get(v), *scope.bounds(dims.from_atom(v))) for v in words.solved
    )
    metas = graph.results
    watched = () if entry.unchanged is None else tuple(dict.fromkeys(t.read.label for t in entry.unchanged.tests))
    static = {made_for.static_name(place): shorten(repr(value)) for place, value in made_for.static.items()}
    structure = show_call(entry.key.tree, made_for.names, made_for.static)
    conditions = tuple(_condition(c, words) for c in graph.conditions)
    return ProgramInfo(
        number=entry.number,
        arguments=arguments,
        structure=structure,
        static=static,
        result=show_tree(program.trace.out_tree, iter([str(m) for m in metas])),
        outputs=tuple((str(m.dtype), *_extents(m)) for m in metas),
        sizes=sizes,
        conditions=conditions,
        because=entry.reasons,
        retraces=_retraces(conditions, arguments, structure, static, watched),
        watched=watched,
        stale=tuple(map(str, entry.anew())),
        _relied=entry.relied,
        _graph=program.trace.graph,
        _words=words,
    )


def _answer(answer: Any, words: Words) -> str:
    """What a rule was told, in the words of the caller."""
    if isinstance(answer, Claim):
        return words.claim(answer)
    if isinstance(answer, (Exact, UpperBound)):
        return f"{'<=' if isinstance(answer, UpperBound) else ''}{words.size(answer.size)}"
    return str(answer)


def _arguments(entry: Entry, words: Words) -> Iterator[ArgumentInfo]:
    """The leaves of the arguments, which come before hidden inputs."""
    plan, labels = entry.program.plan, entry.program.trace.labels
    values = {i: words.size(size) for i, size in plan.values}
    for i, (path, meta, leaf) in enumerate(zip(labels, plan.input_metas, entry.key.leaves, strict=False)):
        number = number_text(leaf) if leaf[2:] else ""
        yield ArgumentInfo(path, str(meta), str(meta.dtype), _extents(meta), number, values.get(i, ""))


def _extents(meta: TensorMeta) -> tuple[str, ...]:
    return tuple(str(e) for e in meta.extents)


def _condition(condition: Condition, words: Words) -> ConditionInfo:
    where = condition.where
    code = linecache.getline(where.file, where.line).strip() if where is not None else ""
    otherwise = words.negated(condition.claim) if condition.kind == "guard" else ""
    reason = words.text(condition.why)
    return ConditionInfo(
        condition.kind, words.claim(condition.claim), otherwise, condition.primitive, reason, where, code
    )


def _retraces(
    conditions: Sequence[ConditionInfo],
    arguments: Sequence[ArgumentInfo],
    structure: str,
    static: Mapping[str, str],
    watched: Sequence[str],
) -> tuple[str, ...]:
    """What of a call makes the program unfit for it."""
    found = [c.otherwise for c in conditions if c.kind == "guard"]
    for a in arguments:
        kind = a.number or f"an array of {a.dtype} with {len(a.extents)} ax{'is' if len(a.extents) == 1 else 'es'}"
        found.append(f"{a.path} is not {kind}")
    found += [f"{name} is not {value}" for name, value in static.items()]
    found.append(f"the arguments are not {structure}")
    return (*found, *[f"{name} is bound anew" for name in watched])
