"""Data of an explanation: the programs of a cache, their sizes and conditions, and why each was traced.

Reports as dicts, lists, texts and numbers, as JSON holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any

from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Claim, Condition, SourceLine, Verdict
from anyshape.graph.prover.scope import Scope, reliances
from anyshape.graph.shapes.array_type import Exact, UpperBound
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import explain_text, lower, notebook
from anyshape.tracing.trace import DisplayNames

_MAX_CONDITIONS = 30  # that the reason of a decision is sought in


class CacheInfo(NamedTuple):
    """Counts of a jitted function, and how many programs it keeps at most; `evictions` are those beyond this limit."""

    traces: int
    hits: int
    entries: int
    evictions: int
    limit: int


@dataclass(frozen=True)
class Reason:
    """Reason why a program was not used for a call.

    - `kind` names the difference: "structure", "order" (of keys), "static", "dtype", "rank", "guard", "layout"
      or "decision".
    - "number" is a plain number in place of an array, and "name" is captured state that changed. "evicted" means that
      the program would serve the call and had been evicted, "received" that another process traced it.
    - `subject` is the argument, name or claim; `before` and `now` are its values for the program and for the call.
    - `program` is the number of the program.
    """

    kind: str
    subject: str
    before: str
    now: str
    program: int
    where: SourceLine | None = None

    def __str__(self) -> str:
        subject = _SUBJECTS[self.kind].format(self.subject)
        line = f" ({self.where})" if self.where is not None else ""
        if self.kind in ("evicted", "received"):
            return subject
        now = self.now
        if self.kind == "guard" and ", " not in now:  # one size, named once
            now = now.rpartition(" = ")[2]
        return f"{subject}{line}: {self.before} when traced, {now} now"


_SUBJECTS = {
    "structure": "{}",
    "order": "order of keys of {}",
    "static": "static argument {}",
    "dtype": "dtype of {}",
    "rank": "number of axes of {}",
    "number": "{}",
    "name": "{}",
    "guard": "{}",
    "decision": "{}",
    "layout": "memory of {}",
    "evicted": "it was evicted, as {} programs are kept at most",
    "received": "it was sent with the function by another process",
}


@dataclass(frozen=True)
class ArgumentInfo:
    """Array among the arguments: `number` is the type of a plain number, `size` the size that its value is."""

    path: str
    meta: str
    dtype: str
    extents: tuple[str, ...]
    number: str = ""
    size: str = ""


@dataclass(frozen=True)
class SizeInfo:
    """Unknown size: where a call reads it, its value in the traced call, and its range."""

    name: str
    source: str
    value: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class ConditionInfo:
    """Condition of a program; `otherwise` is the opposite of a guard, `code` the source line of the decision."""

    kind: str
    claim: str
    otherwise: str
    op: str
    reason: str
    where: SourceLine | None
    code: str


@dataclass(frozen=True)
class RelianceInfo:
    """Answer that a rule of an op, or a pass, relies on, and how often it was given.

    - `rule` is "shape", "jvp", "transpose", "batching" or "pass".
    - `question` is "exact", "extent", "rank", "same", "resolve", "require" or "new_size", and `size` the answer.
    - `where` is the line of the operation.
    """

    op: str
    rule: str
    question: str
    field: str
    size: str
    times: int
    where: SourceLine | None = None


@dataclass(frozen=True)
class DecisionInfo:
    """Decision of Python that holds for all sizes of the program: the claim, its line, and what it follows from."""

    claim: str
    where: SourceLine | None
    reason: str


@dataclass(frozen=True)
class PathInfo:
    """Decision of Python on a value: the expression, the answer on the path of the program, and the line."""

    asked: str
    answer: bool | int
    where: SourceLine | None

    def __str__(self) -> str:
        return f"{self.asked} is {self.answer}"


@dataclass(frozen=True)
class ProgramInfo:
    """Program of the cache.

    - `because` says why it was traced, `retraces` for which calls it does not serve.
    - `stale` lists captured state that changed: the program serves no call any more.
    - `path` are its decisions on values, each checked by every run, and `calls` counts those that took this path.
    - `written` are the paths of the arguments that a call writes to. What writes reach depends on `layouts`.
    - `kernels` says of how many groups of steps there is machine code, and why not of others.
    - `watched` are the paths of its captured state, and `unwatched` says what of it can change unnoticed.
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
    unwatched: tuple[str, ...] = ()
    plan: TierInfo | None = None
    path: tuple[PathInfo, ...] = ()
    calls: int = 0
    written: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    _relied: Sequence[Any] = field(default=(), repr=False, compare=False)
    _graph: Graph | None = field(default=None, repr=False, compare=False)
    _words: DisplayNames | None = field(default=None, repr=False, compare=False)

    @property
    def reliances(self) -> list[RelianceInfo]:
        """Distinct answers that rules of ops and passes rely on, with their counts."""
        words = self._words
        assert words is not None
        answers = reliances([*self._relied, *([] if self._graph is None else lower.reliances_of_passes(self._graph))])
        counts = Counter(
            (r.primitive, r.rule, r.question, r.field, _answer(r.answer, words), r.where)
            for r in answers
            if r.question != "proved"
        )
        return [RelianceInfo(op, rule, ask, name, size, n, at) for (op, rule, ask, name, size, at), n in counts.items()]

    @property
    def decisions(self) -> list[DecisionInfo]:
        """Decisions of Python that were proved, so that no guard was needed."""
        words, graph = self._words, self._graph
        assert words is not None
        proved = dict.fromkeys((r.answer, r.where) for r in reliances(self._relied) if r.question == "proved")
        conditions = () if graph is None else graph.conditions
        return [DecisionInfo(words.claim(c), where, _reason(c, conditions, words)) for c, where in proved]

    def guards(self) -> list[ConditionInfo]:
        """Return the conditions under which the program serves a call."""
        return [c for c in self.conditions if c.kind == "guard"]

    def to_dict(self, *, reliances: bool = False) -> dict[str, Any]:
        """Return all of it as dicts, lists, texts and numbers."""
        public = {f.name: to_plain(getattr(self, f.name)) for f in fields(self) if not f.name.startswith("_")}
        return public | {"reliances": [to_plain(r) for r in self.reliances]} if reliances else public


@dataclass(frozen=True)
class TierInfo:
    """Plan that runs, "first" or "optimised", and why.

    `calls`, their `seconds`, the `saving` expected of an optimised plan and its `cost` are those at the decision.
    """

    tier: str
    mode: str
    calls: int
    seconds: float
    saving: float
    cost: float
    why: str

    def __str__(self) -> str:
        return f"the {self.tier} plan: {self.why}"


@dataclass(frozen=True)
class EvictedInfo:
    """Evicted program: why it was traced, and the captured state that changed, "" if there were too many."""

    number: int
    because: tuple[Reason, ...]
    stale: str


@dataclass(frozen=True)
class Explanation:
    """Programs of a function. It prints as text, and as tables in `rich`; `to_dict` returns plain data.

    - `program` is the number of the program that serves the queried arguments; `traced` means it was traced for them.
    - `broken` are the conditions that these arguments do not satisfy.
    - `evicted` are the programs that were evicted last: beyond the limit, or as captured state changed.
    - `as_written` names loops that stay as they are written, and why.
    - `revalidations` counts traces after a change of captured state that gave an evicted program, which is used again.
    """

    name: str
    cache: CacheInfo
    programs: tuple[ProgramInfo, ...]
    program: int | None = None
    traced: bool = False
    broken: tuple[str, ...] = ()
    evicted: tuple[EvictedInfo, ...] = ()
    verbose: bool = False  # print reliances and proved decisions too
    revalidations: int = 0
    as_written: tuple[str, ...] = ()

    @property
    def reliances(self) -> list[RelianceInfo]:
        """Reliances of the program that serves the queried arguments, or of the last one."""
        programs = [p for p in self.programs if self.program in (None, p.number)]
        return programs[-1].reliances if programs else []

    def reliance_text(self) -> str:
        """Return the reliances as lines, one for each op and rule."""
        return explain_text.reliance_text(self.reliances)

    def to_dict(self, *, reliances: bool = False) -> dict[str, Any]:
        """Return all of it as dicts, lists, texts and numbers, as JSON holds them."""
        return {
            "name": self.name,
            "cache": self.cache._asdict(),
            "program": self.program,
            "traced": self.traced,
            "broken": list(self.broken),
            "evicted": [to_plain(e) for e in self.evicted],
            "revalidations": self.revalidations,
            "as_written": list(self.as_written),
            "programs": [p.to_dict(reliances=reliances) for p in self.programs],
        }

    def html(self) -> str:
        """Return one self-contained page: a tree of programs to unfold, with the lines of the caller."""
        page: str = notebook.explanation_page(self)
        return page

    def __str__(self) -> str:
        return explain_text.explanation_text(self)

    def __repr__(self) -> str:
        return notebook.first_lines(str(self), "print it, or take its programs")

    def _repr_html_(self) -> str:
        """Return a tree of programs for notebooks."""
        html: str = notebook.explanation_html(self)
        return html

    def __rich__(self) -> Any:
        return explain_text.explanation_table(self)


def _reason(claim: Claim, conditions: Sequence[Condition], words: DisplayNames) -> str:
    """Return the conditions from which a claim follows, found by leaving out one after another."""
    needed = [c for c in conditions if str(c.claim) != str(claim)][:_MAX_CONDITIONS]
    if not _follows(claim, needed):
        return "proved while tracing"
    for condition in list(needed):
        without = [c for c in needed if c is not condition]
        needed = without if _follows(claim, without) else needed
    texts = [f"{words.claim(c.claim)}{f' ({c.where})' if c.where is not None else ''}" for c in needed]
    return f"follows from {' and '.join(texts)}" if texts else "holds for all sizes in their ranges"


def _follows(claim: Claim, conditions: Sequence[Condition]) -> bool:
    return Scope(conditions=conditions).decide(claim) is Verdict.YES


def _answer(answer, words: DisplayNames) -> str:
    """Return an answer to a rule in the words of the caller."""
    if isinstance(answer, Claim):
        return words.claim(answer)
    if isinstance(answer, (Exact, UpperBound)):
        return f"{'<=' if isinstance(answer, UpperBound) else ''}{words.size(answer.size)}"
    return str(answer)


def to_plain(x: Any) -> Any:
    """Return a dataclass as a dict of its fields, at every depth, and a source line as a dict of its parts.

    The lines that called the function of a source line are its part `called`, if there are any.
    """
    if isinstance(x, SourceLine):
        line = {"file": x.file, "line": x.line, "function": x.function}
        return {**line, "called": [to_plain(caller) for caller in x.callers]} if x.callers else line
    if is_dataclass(x) and not isinstance(x, type):
        return {f.name: to_plain(getattr(x, f.name)) for f in fields(x)}
    if isinstance(x, Mapping):
        return {key: to_plain(value) for key, value in x.items()}
    return type(x)(map(to_plain, x)) if type(x) in (list, tuple) else x
