"""The variables of one program, what is known about them, and how a question about sizes is answered.

A question is proved (nothing is recorded), a precondition (an assertion, believed from then on), or a
decision (answered from the sizes of the current call and recorded as a guard, or refused with witnesses).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from anyshape.errors import (
    AnyshapeError,
    ContradictionError,
    DataDependentSizeError,
    InconclusiveDimensionError,
    LeakedTracerError,
    ShapeError,
    SpecializationError,
)
from anyshape.errors.messages import at, operation
from anyshape.graph.prover.assumptions import Assumptions
from anyshape.graph.prover.claim_text import OperandAxes, SizeNames
from anyshape.graph.prover.constraints import CHECK, Claim, Condition, SourceLine, Verdict, equal
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound

_LOG = logging.getLogger("anyshape.guards")
_PROCESS = secrets.token_hex(4)
_COUNTER = itertools.count()


class Reliance(NamedTuple):
    """What a rule of a primitive was told: to which question ("exact", "rank", ...), for which field and axis."""

    primitive: str
    rule: str
    question: str
    field: str
    axis: int | None
    answer: Any


class DynamicSize(NamedTuple):
    """A size that nothing may bind to one value, by the name it is known by; `strictly`: no decision may narrow it."""

    name: str
    strict: bool


class SizeMaker(NamedTuple):
    """The operation that makes a size that depends on data."""

    primitive: str
    where: SourceLine | None

    def __str__(self) -> str:
        return f"made by {operation(self.primitive, self.where)}{at(self.where)}"


class Scope:
    """What is known about the sizes of one program. `hints` are the sizes of the current call, under jit.

    A `free` scope is that of a size which belongs to no program yet and may enter any. Copies and pickles.
    """

    def __init__(
        self,
        hints: Mapping[DimVar, int] | None = None,
        conditions: Iterable[Condition] = (),
        origin: SourceLine | None = None,
        root: Scope | None = None,
        free: bool = False,
        reliance_log: Any = None,
        dynamic_sizes: Mapping[DimVar, DynamicSize] | None = None,
    ) -> None:
        self.origin, self.free = origin, free  # where the user declared it
        self.uid = (_PROCESS, next(_COUNTER))  # a copy is the same scope
        self._root = root.root if root is not None else None
        self.hints = dict(hints) if hints is not None else None
        self.answers: Callable[[Claim], bool] | None = None  # who answers instead, while a check asks what it demands
        self.closed = False  # its trace has ended: an answer from the sizes of that call would hold for no other
        self.names: dict[str, Size] = {}  # the sizes that were declared by name
        self.runtime: dict[DimVar, SizeMaker] = {}  # sizes that depend on data, and what makes each
        self.dynamic_sizes: dict[DimVar, DynamicSize] = dict(dynamic_sizes or {})  # sizes that were declared to stay dynamic
        self.read_names: Callable[[], SizeNames] | None = None  # how errors call the sizes of the program
        self.conditions: list[Condition] = []
        # the fields of Reliance in a row, a shape in one piece: objects would cost more
        self.reliance_log: Any = [] if reliance_log is None else reliance_log
        self._known = Assumptions(self.hints)
        for condition in conditions:
            self.assume(condition)

    # -- what is known

    def normal(self, size: Size) -> Size:
        """The size with every known equality applied."""
        return self._known.normal(size)

    def simplest(self, size: Size) -> Size:
        """The normal form, or a shorter size met before that is proved equal to it."""
        return self._known.simplest(size)

    @property
    def settled(self) -> int:
        """How many questions are answered for good."""
        return self._known.settled

    def forget(self, sizes: Iterable[DimVar], settled: int) -> None:
        """Unlearn what is known of sizes that only a graph inside had, begun when so much was `settled`.

        It is required of the sizes that a replay of the graph has in their place. Were it still believed, what follows
        for sizes of the program would count as proved, and nothing would check it.
        """
        gone = set(sizes)
        self.conditions = [c for c in self.conditions if gone.isdisjoint(c.claim.variables())]
        self._known = self._known.without(gone, settled)

    def decide(self, claim: Claim) -> Verdict:
        """What follows about the claim."""
        return self._known.decide(claim)

    def same(self, a: Size, b: Size) -> bool:
        """The two sizes are proved equal. False means not proved, never proved different."""
        return a is b or a == b or self._known.same(a, b)

    def proves(self, claim: Claim) -> bool:
        """The claim follows. False means not proved, never proved false."""
        return self._known.proves(claim)

    def bounds(self, size: Size) -> tuple[Bound, Bound]:
        """The least and the greatest value that the size can have (None: unbounded, or not known to be bounded)."""
        return self._known.bounds(size)

    def lower(self, size: Size) -> Bound:
        """The least value that the size can have, or a bound below it."""
        return self.bounds(size)[0]

    def upper(self, size: Size) -> Bound:
        """The greatest value that the size can have, or a bound above it."""
        return self.bounds(size)[1]

    def may_mix_with(self, other: Scope) -> bool:
        """Sizes of the two scopes may be mixed."""
        return self.free or other.free or self.root.uid == other.root.uid

    @property
    def root(self) -> Scope:
        """The declared scope that this one was derived from; itself, if it was declared."""
        return self if self._root is None else self._root

    @property
    def reliances(self) -> list[Reliance]:
        """What rules were told, in the order of asking; one entry for each axis of a shape."""
        return [*reliances(self.reliance_log)]

    def __reduce__(self) -> Any:
        return _restored, (self.uid, self.closed, self.hints, self.conditions, self.origin, self._root, self.free)

    # -- what is asked

    @property
    def size_names(self) -> SizeNames:
        """How errors call the sizes of the program."""
        return SizeNames() if self.read_names is None else self.read_names()

    def require(
        self,
        claim: Claim,
        primitive: str,
        why: str,
        operands: Sequence[object],
        where: SourceLine | None,
        axes: OperandAxes | None = None,
    ) -> None:
        """Pass if the claim is proved, raise if it is refuted, else assert it in the program and assume it.

        `axes` says which axes of the operation as written the sides of the claim are read off.
        """
        verdict = self.decide(claim)
        if verdict is Verdict.YES:
            return
        condition = Condition("assertion", claim, primitive, why, where, axes)
        if verdict is Verdict.NO:
            raise self._refuted(condition, operands)
        self._check_hints(condition)
        self._refine(condition)

    def _refuted(self, condition: Condition, operands: Sequence[object]) -> AnyshapeError:
        """Return the error for a condition that no sizes satisfy."""
        values, names = self.hints or {}, self.size_names
        if condition.primitive == CHECK:
            return condition.error(values, names)
        text = condition.spoken(values, names)
        if text.is_spoken:
            return ShapeError(condition.primitive, text.demand(), operands, condition.where, text.advice())
        return ShapeError(condition.primitive, names.text(condition.why), operands, condition.where)

    def _check_hints(self, condition: Condition) -> None:
        """Under jit, a precondition that the current call breaks is an error here, at the user's line."""
        variables = condition.claim.variables()
        if self.hints is None or not all(v in self.hints for v in variables):
            return
        if not condition.claim.holds(values_from(self.hints)):
            raise condition.error(self.hints, self.size_names)

    def ask(self, claim: Claim, where: SourceLine | None) -> bool:
        """The answer to a question of Python's: proved, or decided by the sizes of this call and guarded."""
        if self.closed:
            raise LeakedTracerError(f"size in `{claim}`", where=where)
        if self.answers is not None:
            return self.answers(claim)
        verdict = self.decide(claim)
        if verdict is not Verdict.UNKNOWN:
            return verdict is Verdict.YES
        if self.hints is None or not all(v in self.hints for v in claim.variables()):
            raise self._inconclusive(claim, str(claim), where)
        answer = claim.holds(values_from(self.hints))
        held = claim if answer else claim.negated()
        self._refine(Condition("guard", held, "python", f"decided {claim} is {answer}", where))
        return answer

    @contextlib.contextmanager
    def answer_with(self, answers: Callable[[Claim], bool]) -> Iterator[None]:
        """Questions of Python's are answered so, and neither decided nor recorded."""
        before, self.answers = self.answers, answers
        try:
            yield
        finally:
            self.answers = before

    def _refine(self, condition: Condition) -> None:
        """Record what holds from now on, unless it binds a size that was declared to stay dynamic."""
        self.record(condition)
        for variable in condition.claim.variables() if self.dynamic_sizes else ():
            kept = self.dynamic_sizes.get(variable)
            low, high = self.bounds(dims.from_atom(variable)) if kept is not None else (0, None)
            constant = low if low == high else None
            if kept is not None and (constant is not None or (kept.strict and condition.kind == "guard")):
                hints, names = self.hints or {}, self.size_names
                sizes = names.by_name({v: hints[v] for v in condition.claim.variables() if v in hints})
                claim, why = (names.text(text) for text in (str(condition.claim), condition.why))
                raise SpecializationError(kept.name, claim, sizes, constant, why, condition.where)

    @contextlib.contextmanager
    def keep_dynamic(self, sizes: Mapping[DimVar, DynamicSize]) -> Iterator[None]:
        """Meanwhile these sizes stay dynamic too, but for those that have one value already."""
        before = self.dynamic_sizes
        bounds = {v: self.bounds(dims.from_atom(v)) for v in sizes}
        self.dynamic_sizes = {**before, **{v: kept for v, kept in sizes.items() if bounds[v][0] != bounds[v][1]}}
        try:
            yield
        finally:
            self.dynamic_sizes = before

    def _inconclusive(self, claim: Claim, asked: str, where: SourceLine | None, size: str = "") -> AnyshapeError:
        names = self.size_names
        asked, size = names.text(asked), names.text(size)
        depends = {str(v): str(self.runtime[v]) for v in claim.variables() if v in self.runtime}
        if depends:
            return DataDependentSizeError(asked, depends, where)
        declared = [names.text(str(c.claim)) for c in self.conditions if c.kind == "constraint"]
        return InconclusiveDimensionError(asked, self.witnesses(claim), where, declared, size)

    def value(self, size: Size, where: SourceLine | None) -> int:
        """The size as a Python int: fixed, or fixed by a guard to what it is in this call."""
        if self.closed:
            raise LeakedTracerError(f"size {size}", where=where)
        fixed = self.normal(size)
        if isinstance(fixed, int):
            return fixed
        low, high = self.bounds(fixed)
        if low is not None and low == high:
            return low
        if self.hints is None or not all(v in self.hints for v in dims.variables(size)):
            claim = equal(size, 0, f"int({size})")
            raise self._inconclusive(claim, f"the value of {size}", where, str(size))
        number = evaluate(size, values_from(self.hints))
        self._refine(Condition("guard", equal(size, number), "python", f"int({size}) was asked", where))
        _warn_of_a_fixed_size(self.size_names.size(size), where)
        return number

    def runtime_size(self, name: str, upper: Bound | Size, primitive: str, where: SourceLine | None) -> DimVar:
        """A size that depends on data, at least 0 and not above `upper`, as the op that makes it sees to."""
        count = sum(v.name == name for v in self.runtime)
        label = f"{name}_{count + 1}" if count else name
        variable = DimVar(name, 0, upper if isinstance(upper, int) else None, label=label)
        self.runtime[variable] = SizeMaker(primitive, where)
        if isinstance(upper, DimExpr):
            claim = Claim(">=", upper, dims.from_atom(variable))
            self.assume(Condition("fact", claim, primitive, f"{variable} depends on data", where))
        return variable

    def constrain(self, condition: Condition) -> None:
        """Take up a declared constraint; one that no sizes satisfy together with the others is refused."""
        if not self._known.allows(condition.claim):
            core = [str(c) for c in self._known.core(condition.claim)]
            raise ContradictionError(str(condition.claim), core, condition.where)
        self.assume(condition)

    def record(self, condition: Condition) -> None:
        """Assume what is first met here, and log it."""
        _LOG.debug("%s", condition)
        self.assume(condition)

    def assume(self, condition: Condition) -> None:
        """Record the condition and believe its claim from now on."""
        self.conditions.append(condition)
        self._known.assume(condition.claim)

    # -- witnesses

    def witnesses(self, claim: Claim) -> dict[bool, dict[str, int]]:
        """Sizes that satisfy every condition and make the claim true, and others that make it false, if found.

        Those of the variables that conditions connect with the claim are shown too, so that both can be tried out.
        """
        asked = claim.variables()
        found = self._known.witnesses(claim)
        by_name = self.size_names.by_name
        return {answer: by_name({v: at[v] for v in dict.fromkeys([*asked, *at])}) for answer, at in found.items()}


def reliances(reliance_log: Sequence[Any]) -> Iterator[Reliance]:
    """What was noted, one entry for each axis of a shape."""
    width = len(Reliance._fields)
    for noted in (Reliance(*reliance_log[i : i + width]) for i in range(0, len(reliance_log), width)):
        if isinstance(noted.answer, tuple):
            yield from [noted._replace(axis=(noted.axis or 0) + i, answer=each) for i, each in enumerate(noted.answer)]
        else:
            yield noted


def _restored(uid: tuple[str, int], closed: bool, *arguments: Any) -> Scope:
    """A copy of a scope, which counts as the scope itself."""
    scope = Scope(*arguments)
    scope.uid, scope.closed = uid, closed
    return scope


@functools.lru_cache(maxsize=1024)
def _warn_of_a_fixed_size(size: str, where: SourceLine | None) -> None:
    """Say once per line that each value of the size will have a trace of its own."""
    _LOG.warning(
        "%s: Python asked for the value of the size %s, so each value of it is traced anew "
        "(anyshape.numpy takes sizes as they are, as in anyshape.numpy.zeros(x.shape))",
        where,
        size,
    )


class SymbolicSize:
    """A size together with the scope that answers questions about it. The base of what users see in `x.shape`.

    It stands for a Python int, or for a NumPy integer if it has a `numpy_dtype`.
    """

    __slots__ = ("expr", "numpy_dtype", "scope")

    def __init__(self, expr: DimExpr, scope: Scope, numpy_dtype: Any = None) -> None:
        self.expr, self.scope, self.numpy_dtype = expr, scope, numpy_dtype
