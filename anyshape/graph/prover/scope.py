"""Scope: the variables of one program, the assumptions about them, and decisions about sizes.

- `require` makes a precondition that is not proved an assertion, which is assumed from then on.
- `branch_on` decides a branch of Python that is not proved by the sizes of the current call, and records a guard.
  Without a call it raises an error with a witness of each outcome.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anyshape import errors
from anyshape.errors.messages import at, operation
from anyshape.errors.size_errors import kind_of_reason
from anyshape.graph.prover.assumptions import Assumptions, FinalVerdicts
from anyshape.graph.prover.constraints import (
    CHECK,
    NO,
    RELATIONS,
    UNKNOWN,
    YES,
    Claim,
    Condition,
    OperandAxes,
    SizeNames,
    SourceLine,
    Verdict,
    equal,
)
from anyshape.graph.prover.user_stack import tell_of_fixed_size, with_callers
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size, from_atom, variables
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.support.lazy_dataclass import NamedTuple

_LOG = logging.getLogger("anyshape.guards")
_COSTLY_SECONDS = 1.0  # of proofs in one trace, from which on the log reports them
_MOST_NAMED = 4
_PROCESS = os.urandom(4).hex()
_COUNTER = itertools.count()


class Reliance(NamedTuple):
    """Query of a rule of a primitive: its kind ("exact", "rank", ...), the field and axis, and the answer.

    A decision of Python that was proved is one of the primitive "python". `where` is the line that relies on it.
    """

    primitive: str
    rule: str
    question: str
    field: str
    axis: int | None
    answer: Any
    where: SourceLine | None


class DynamicSize(NamedTuple):
    """Size that must not be bound to one value, by its name. `strict`: no decision may narrow it either."""

    name: str
    strict: bool


class SizeMaker(NamedTuple):
    """Operation that makes a run-time size."""

    primitive: str
    where: SourceLine | None

    def __str__(self) -> str:
        return f"made by {operation(self.primitive, self.where)}{at(self.where)}"


class CostlyProofs(NamedTuple):
    """Seconds that proofs about sizes took, and the sizes most of them were about, which may agree in every call."""

    seconds: float
    sizes: list[str]

    def __str__(self) -> str:
        advice = "declare it in dynamic_shapes, with a range"
        if len(self.sizes) > 1:
            advice = "if they agree in every call, give them one name in dynamic_shapes: nothing is left to prove"
        return f"proofs about sizes took {self.seconds:.1f} s, most about {', '.join(self.sizes)}\n  {advice}"


class Scope:
    """Variables of one program and everything assumed of them. `hints` are the sizes of the current call, under jit.

    A `free` scope holds a size that belongs to no program yet and may enter any. Scopes copy and pickle.
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
        runtime: Iterable[DimVar] = (),
    ) -> None:
        """Begin with conditions; `runtime` are the sizes in them that depend on data, in the order of their ops."""
        self.origin, self.free = origin, free  # origin: the line where the user declared it
        self.uid: tuple[str, int] = (_PROCESS, next(_COUNTER))  # a copy is the same scope
        self._root = root.root if root is not None else None
        self.hints: dict[DimVar, int] | None = dict(hints) if hints is not None else None
        self.branch_rule: Callable[[Claim], bool] | None = None  # decides branches instead, while set
        self.is_caught: Callable[[Scope, Claim], bool] | None = None  # decides where the user may catch an error
        self.is_apart: bool = False  # its assertions are of a subgraph that may not run
        self.closed = False  # its trace has ended: what the sizes of that call decide would hold for no other
        self.names: dict[str, Size] = {}  # sizes that were declared by name
        self.warned_lines: set[SourceLine | None] = set()  # lines that warned of a size
        self.runtime: dict[DimVar, SizeMaker] = {}  # run-time sizes, and what makes each
        self.dynamic_sizes: dict[DimVar, DynamicSize] = dict(dynamic_sizes or {})  # declared to stay dynamic
        self._read_names: Callable[[], SizeNames] | None = None
        self.conditions: list[Condition] = []
        # The fields of `Reliance` one after the other, a shape as one tuple: objects would cost more.
        self.reliance_log: Any = [] if reliance_log is None else reliance_log
        self._runtime_order = {v: i for i, v in enumerate(runtime)}
        self._assumptions = Assumptions(self.hints, self._runtime_order)
        for condition in conditions:
            self.assume(condition)

    # -- proofs

    def normal(self, size: Size) -> Size:
        """Return the size with every known equality applied."""
        return self._assumptions.normal(size)

    def simplest(self, size: Size) -> Size:
        """Return the normal form, or a shorter size seen before that is proved equal to it."""
        return self._assumptions.simplest(size)

    def verdicts(self) -> FinalVerdicts:
        """Return a copy of the final verdicts, for `forget`."""
        return self._assumptions.verdicts()

    def forget(self, sizes: Iterable[DimVar], verdicts: FinalVerdicts) -> None:
        """Drop the assumptions about sizes of a nested graph, and all verdicts but those from before it was begun.

        A replay of the graph has sizes in their place, and requires the same of those. An assumption that stayed would
        prove claims about sizes of the program that nothing checks.
        """
        dropped = set(sizes)
        self.conditions = [c for c in self.conditions if dropped.isdisjoint(c.claim.variables())]
        self._assumptions = self._assumptions.without(dropped, verdicts)

    @contextlib.contextmanager
    def apart(self, condition: Condition | None = None) -> Iterator[None]:
        """Assume what is required in the block there alone, as it is of a subgraph that may not run.

        `condition` holds wherever that subgraph runs. Guards stay: decisions of Python hold for the whole trace.
        """
        before, assumptions, was_apart = self.conditions, self._assumptions, self.is_apart
        self.conditions, self.is_apart = list(before), True
        self._assumptions = assumptions.without(set(), assumptions.verdicts())
        try:
            if condition is not None:
                self.assume(condition)
            yield
        finally:
            known = {id(c) for c in before}
            guards = [c for c in self.conditions if c.kind == "guard" and id(c) not in known]
            self.conditions, self._assumptions, self.is_apart = before, assumptions, was_apart
            for guard in guards:
                self.assume(guard)

    def decide(self, claim: Claim) -> Verdict:
        """Return YES if the claim is proved, NO if it is refuted, else UNKNOWN."""
        return self._assumptions.decide(claim)

    def same(self, a: Size, b: Size) -> bool:
        """Return whether the two sizes are proved equal. False means not proved, never proved different."""
        return a is b or a == b or self._assumptions.same(a, b)

    def must_be_same(self, a: Size, b: Size) -> bool:
        """Return whether the two sizes are proved equal, where the trace ends without a proof: it may cost more."""
        return self.same(a, b) or self._assumptions.proves_required(equal(a, b))

    def note_equal(self, a: Size, b: Size) -> None:
        """Note that two sizes are equal in all runs, as both belong to one computation."""
        self._assumptions.note_equal(a, b)

    def proves(self, claim: Claim) -> bool:
        """Return whether the claim is proved. False means not proved, never proved false."""
        return self._assumptions.proves(claim)

    def proves_at_once(self, claim: Claim) -> bool:
        """Return whether the cheap methods prove the claim, without a search: for choices that may miss a proof."""
        return self._assumptions.proves_at_once(claim)

    def renew_searches(self) -> None:
        """Let proofs search as at the beginning: they are found where the same function was traced so before."""
        self._assumptions.budget.renew()

    def costly_proofs(self, share: float = 1.0) -> CostlyProofs | None:
        """Return what proofs have cost and which sizes they were about, None if they took little time.

        `share` is the share of the time that the processor worked for this thread.
        """
        seconds, queried = share * self._assumptions.budget.spent, self._assumptions.queried
        if seconds <= _COSTLY_SECONDS:
            return None
        alike: dict[int | DimVar, list[DimVar]] = {}  # those that agree in this call may be one size
        for variable, _ in queried.most_common():
            alike.setdefault((self.hints or {}).get(variable, variable), []).append(variable)
        most = max(alike.values(), key=lambda sizes: (len(sizes) > 1, sum(queried[v] for v in sizes)))
        names = self.size_names
        return CostlyProofs(seconds, [names.leaf(v) for v in most[:_MOST_NAMED]])

    def bounds(self, size: Size) -> tuple[Bound, Bound]:
        """Return a lower and an upper bound of the size, the tightest that are proved (None: no bound is proved)."""
        return self._assumptions.bounds(size)

    def lower(self, size: Size) -> Bound:
        """Return the lower bound of the size, None if none is proved."""
        return self.bounds(size)[0]

    def upper(self, size: Size) -> Bound:
        """Return the upper bound of the size, None if none is proved."""
        return self.bounds(size)[1]

    def may_mix_with(self, other: Scope) -> bool:
        """Return whether one expression may have sizes of both scopes."""
        return self.free or other.free or self.root.uid == other.root.uid

    @property
    def root(self) -> Scope:
        """Declared scope that this one was derived from, or this scope if it was declared."""
        return self if self._root is None else self._root

    @property
    def reliances(self) -> list[Reliance]:
        """Queries of the rules of primitives, in order, with one entry for each axis of a shape."""
        return [*reliances(self.reliance_log)]

    def __reduce__(self) -> Any:
        return _restore, (self.uid, self.closed, self.hints, self.conditions, self.origin, self._root, self.free)

    # -- preconditions and decisions

    def name_sizes_by(self, read: Callable[[], SizeNames]) -> None:
        """Let errors name sizes by the result of a function, which is called when an error is made."""
        self._read_names = read

    @property
    def size_names(self) -> SizeNames:
        """Names of the sizes of the program in errors."""
        return SizeNames() if self._read_names is None else self._read_names()

    def require(
        self,
        claim: Claim,
        primitive: str,
        why: str,
        operands: Sequence[object],
        where: SourceLine | None,
        axes: OperandAxes | None = None,
    ) -> None:
        """Return if the claim is proved, raise if it is refuted, else assert it in the program and assume it.

        `axes` says which axes of the operation as written the sides of the claim are read off.
        """
        if (verdict := self.decide(claim)) is YES:
            return
        condition = Condition("assertion", claim, primitive, why, with_callers(where), axes)
        if verdict is NO:
            raise self._refuted(condition, operands)
        self._check_hints(condition)
        is_caught, depends = self.is_caught, not self.runtime.keys().isdisjoint(claim.variables())
        if depends and is_caught is not None and all(is_caught(self, part) for part in _where_it_fails(claim)):
            raise self._refuted(condition, operands)
        self._refine(condition)

    def _refuted(self, condition: Condition, operands: Sequence[object]) -> errors.AnyshapeError:
        """Return the error for a condition that no sizes satisfy."""
        values, names = self.hints or {}, self.size_names
        if condition.primitive == CHECK or kind_of_reason(condition.why) is not None:
            return condition.error(values, names)
        text = condition.spoken(values, names)
        said = (text.demand(), text.advice()) if text.is_spoken else (names.text(condition.why), "")
        error = errors.ShapeError(condition.primitive, said[0], operands, condition.where, said[1])
        error.be_as_numpys(f"{condition.primitive}: {condition.why}")
        return error

    def may_be_void(self) -> bool:
        """Return whether no sizes are known at which all conditions hold. Where there are none, all claims fail."""
        return not self._assumptions.has_model()

    def _check_hints(self, condition: Condition) -> None:
        """Raise an error at the user's line if the sizes of the current call break a precondition."""
        variables = condition.claim.variables()
        if self.is_apart or self.hints is None or not all(v in self.hints for v in variables):
            return
        if not condition.claim.holds(values_from(self.hints)):
            for claim in _where_it_fails(condition.claim):  # the function may catch the error: Python decides by it
                self.record(Condition("guard", claim, "python", f"{condition.claim} fails", condition.where))
            raise condition.error(self.hints, self.size_names)

    def known(self, claim: Claim, read_where: Callable[[], SourceLine | None]) -> bool | None:
        """Decide a branch of Python by proof, and log it in a program; None where it is open."""
        verdict = UNKNOWN if self.closed else self.decide(claim)
        if verdict is UNKNOWN:
            return None
        if self.hints is not None or self._root is not None:  # else it belongs to no program, and would only grow
            proved = claim if verdict is YES else claim.negated()
            self.reliance_log.extend(("python", "decision", "proved", "", None, proved, read_where()))
        return verdict is YES

    def branch_on(self, claim: Claim, where: SourceLine | None) -> bool:
        """Decide a branch of Python: by proof, or by the sizes of this call, which is recorded as a guard."""
        if self.closed:
            raise errors.LeakedTracerError(f"size in `{claim}`", where=where)
        if self.branch_rule is not None:
            return self.branch_rule(claim)
        known = self.known(claim, lambda: where)
        if known is not None:
            return known
        where = with_callers(where)
        if self.hints is None or not all(v in self.hints for v in claim.variables()):
            error = self._inconclusive(claim, str(claim), where)
            if isinstance(error, errors.InconclusiveDimensionError):
                error.decision = claim
            raise error
        outcome = claim.holds(values_from(self.hints))
        held = claim if outcome else claim.negated()
        self._refine(Condition("guard", held, "python", f"decided {claim} is {outcome}", where))
        return outcome

    def is_of_run(self, claim: Claim) -> bool:
        """Return whether a claim mentions a size that only the run of a call knows."""
        return self.branch_rule is None and self.hints is not None and not self.hints.keys() >= {*claim.variables()}

    @contextlib.contextmanager
    def branching_by(self, rule: Callable[[Claim], bool]) -> Iterator[None]:
        """Decide branches in the block by the rule; neither prove nor record them."""
        before, self.branch_rule = self.branch_rule, rule
        try:
            yield
        finally:
            self.branch_rule = before

    def _refine(self, condition: Condition) -> None:
        """Record a condition; raise SpecializationError if it binds a size that was declared to stay dynamic."""
        self.record(condition)
        if self.is_apart and condition.kind == "assertion":
            return
        for variable in condition.claim.variables() if self.dynamic_sizes else ():
            if (declared := self.dynamic_sizes.get(variable)) is not None:
                low, high = self.bounds(from_atom(variable))
                constant = low if low == high else None
                if constant is not None or (declared.strict and condition.kind == "guard"):
                    raise self._specialized(condition, declared.name, constant)

    def _specialized(self, condition: Condition, name: str, constant: int | None) -> errors.SpecializationError:
        """Return the error for a condition that binds or narrows a dynamic size."""
        hints, names = self.hints or {}, self.size_names
        sizes = names.by_name({v: hints[v] for v in condition.claim.variables() if v in hints})
        claim, why = (names.text(text) for text in (str(condition.claim), condition.why))
        return errors.SpecializationError(name, claim, sizes, constant, why, condition.where)

    @contextlib.contextmanager
    def keep_dynamic(self, sizes: Mapping[DimVar, DynamicSize]) -> Iterator[None]:
        """Keep these sizes dynamic too in the block, except those that are bound to one value already."""
        before = self.dynamic_sizes
        bounds = {v: self.bounds(from_atom(v)) for v in sizes}
        unbound = {v: size for v, size in sizes.items() if bounds[v][0] != bounds[v][1]}
        self.dynamic_sizes = {**before, **unbound}
        try:
            yield
        finally:
            self.dynamic_sizes = before

    def _inconclusive(
        self, claim: Claim, claim_text: str, where: SourceLine | None, size: str = ""
    ) -> errors.AnyshapeError:
        """Return the error for a branch that the assumptions leave open, without a call to decide it."""
        names = self.size_names
        claim_text, size = names.text(claim_text), names.text(size)
        depends = {str(v): str(self.runtime[v]) for v in claim.variables() if v in self.runtime}
        if depends:
            return errors.DataDependentSizeError(claim_text, depends, where)
        declared = [names.text(str(c.claim)) for c in self.conditions if c.kind == "constraint"]
        return errors.InconclusiveDimensionError(claim_text, self.witnesses(claim), where, declared, size)

    def value(self, size: Size, where: SourceLine | None) -> int:
        """Return the size as a Python int: proved, or its value in this call, which is recorded as a guard."""
        if self.closed:
            raise errors.LeakedTracerError(f"size {size}", where=where)
        if isinstance(fixed := self.normal(size), int):
            return fixed
        low, high = self.bounds(fixed)
        if low is not None and low == high:
            return low
        where = with_callers(where)
        if self.hints is None or not all(v in self.hints for v in variables(size)):
            raise self._inconclusive(equal(size, 0, f"int({size})"), f"the value of {size}", where, str(size))
        number = evaluate(size, values_from(self.hints))
        self._refine(Condition("guard", equal(size, number), "python", f"int({size})", where))
        if where not in self.warned_lines:  # a line may ask for the size of each array of a list
            self.warned_lines.add(where)
            tell_of_fixed_size(self.size_names.size(size), where)
        return number

    def runtime_size(self, name: str, upper: Bound | Size, primitive: str, where: SourceLine | None) -> DimVar:
        """Return a new run-time size from 0 to `upper`, which the op that makes it ensures."""
        count = sum(v.name == name for v in self.runtime)
        label = f"{name}_{count + 1}" if count else name
        variable = DimVar(name, 0, upper if isinstance(upper, int) else None, label=label)
        self.runtime[variable] = SizeMaker(primitive, where)
        self._runtime_order[variable] = len(self._runtime_order)
        if isinstance(upper, DimExpr):
            claim = Claim(">=", upper, from_atom(variable))
            self.assume(Condition("fact", claim, primitive, f"{variable} depends on data", where))
        return variable

    def constrain(self, condition: Condition) -> None:
        """Assume a declared constraint; raise ContradictionError if no sizes satisfy it and the others."""
        if not self._assumptions.allows(condition.claim):
            core = [str(c) for c in self._assumptions.core(condition.claim)]
            raise errors.ContradictionError(str(condition.claim), core, condition.where)
        self.assume(condition)

    def record(self, condition: Condition) -> None:
        """Assume a new condition, and log it."""
        _LOG.debug("%s", condition)
        self.assume(condition)

    def assume(self, condition: Condition) -> None:
        """Add the condition, and assume its claim from now on."""
        self.conditions.append(condition)
        self._assumptions.assume(condition.claim)

    # -- witnesses

    def witnesses(self, claim: Claim) -> dict[bool, dict[str, int]]:
        """Return sizes that satisfy every condition and make the claim true, and some that make it false, if found.

        They include variables that conditions connect with the claim, so that the sizes can be tried out.
        """
        first = dict.fromkeys(claim.variables())
        by_name = self.size_names.by_name
        models = self._assumptions.witnesses(claim)
        return {answer: by_name({v: sizes[v] for v in {**first, **sizes}}) for answer, sizes in models.items()}


def _where_it_fails(claim: Claim) -> list[Claim]:
    """Return claims that hold together exactly where a claim fails."""
    if claim.relation not in RELATIONS:
        return [claim.negated()]
    pairs = [(claim.left, claim.right), (claim.left, 1)]  # sizes that broadcast are equal, or one is 1
    pairs += [(claim.right, 1)] if claim.relation == "broadcasts" else []
    return [equal(a, b).negated() for a, b in pairs if isinstance(a, DimExpr) or isinstance(b, DimExpr)]


def reliances(reliance_log: Sequence[Any]) -> Iterator[Reliance]:
    """Yield the entries of a log, one for each axis of a shape."""
    width = len(Reliance._fields)
    for entry in (Reliance(*reliance_log[i : i + width]) for i in range(0, len(reliance_log), width)):
        if isinstance(entry.answer, tuple):
            yield from [entry._replace(axis=(entry.axis or 0) + i, answer=each) for i, each in enumerate(entry.answer)]
        else:
            yield entry


def _restore(uid: tuple[str, int], closed: bool, *arguments) -> Scope:
    """Return a copy of a scope, which counts as the scope itself."""
    scope = Scope(*arguments)
    scope.uid, scope.closed = uid, closed
    return scope


class SymbolicSize:
    """Size with the scope that decides claims about it: base of the sizes that users see in `x.shape`.

    It stands for a Python int, or for a NumPy integer if it has a `numpy_dtype`. A comparison of sizes stands for a
    Python bool, which is an int too.
    """

    __slots__ = ("expr", "numpy_dtype", "scope")
    python_type: type[int] = int

    def __init__(self, expr: DimExpr, scope: Scope, numpy_dtype: Any = None) -> None:
        self.expr, self.scope, self.numpy_dtype = expr, scope, numpy_dtype


numbers.Integral.register(SymbolicSize)
