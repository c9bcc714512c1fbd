"""Conditions of a finished program: drop implied ones, and compile the guards into one predicate.

A guard may be dropped only if conditions that are checked before it imply it. Where a later assertion fails, Python
would have taken another path first. An assertion may be dropped if any others imply it, since one of those fails too.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from anyshape.graph.prover.assumptions import Assumptions
from anyshape.graph.prover.constraints import YES, Claim, Condition, Index, bound_of, connected_claims, equal
from anyshape.graph.prover.decide import follows
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.prover.search_budget import out_of_time, time_limit
from anyshape.graph.signature import prologue as prologues
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.graph.sizes.symbols import to_source
from anyshape.support.lazy_dataclass import NamedTuple, replace

_MAX_QUERIES = 100  # per program; beyond, implied conditions stay
_MAX_SECONDS = 1.0  # of processor time, with the same effect
# Kinds of conditions that may imply one of a kind, see `_may_imply`.
_IMPLIED_BY_EARLIER = dict.fromkeys(("guard", "assertion"), ("constraint", "fact", "guard", "assertion"))
_IMPLIED_BY_LATER = {"guard": ("constraint", "guard"), "assertion": ("constraint", "guard", "assertion")}

Predicate: TypeAlias = Callable[..., bool]


# -- implied conditions ------------------------------------------------------------------------------------------


def drop_implied(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the conditions without guards and assertions that the rest implies, in their order.

    Two guards that bound a size from both sides become one equality: `n >= 8` and `n <= 8` are `n == 8`.
    """
    with time_limit(_MAX_SECONDS):
        return _drop_implied(conditions)


def _drop_implied(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Drop implied conditions until the time limit; later ones stay."""
    conditions = _strongest_bounds(conditions)
    premises, dropped = _Premises(conditions), []
    for condition in [c for c in conditions if _is_droppable(c)][:_MAX_QUERIES]:
        near = connected_claims(condition.claim, premises.of(condition))
        if near and not out_of_time() and follows(condition.claim, near):
            premises.drop(condition)
            dropped.append(condition)
    return _merge_opposite_bounds(_restore_unprovable(premises.remaining(), dropped, premises.position))


def _strongest_bounds(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions without those that another implies by its constant alone: a loop may make thousands."""
    later_first = _without_weaker(conditions, _IMPLIED_BY_EARLIER)[::-1]
    return _without_weaker(later_first, _IMPLIED_BY_LATER)[::-1]


def _without_weaker(conditions: Sequence[Condition], implied_by: Mapping[str, Sequence[str]]) -> list[Condition]:
    """Return the conditions without those that one before implies so, if it is of a kind that may."""
    strongest: dict[tuple[Hashable, str], int] = {}
    remaining = []
    for condition in conditions:
        key, excess = bound_of(condition.claim)
        kinds = implied_by[condition.kind] if condition.claim.relation == ">=" and _is_droppable(condition) else ()
        if any(strongest.get((key, kind), excess + 1) <= excess for kind in kinds):
            continue
        remaining.append(condition)
        strongest[key, condition.kind] = min(excess, strongest.get((key, condition.kind), excess))
    return remaining


class _Premises:
    """Conditions by variable. The ones that may imply another are looked up on demand."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.position = {id(c): i for i, c in enumerate(conditions)}
        self._remaining = {id(c): c for c in conditions}
        self._by_variable: dict[DimVar, list[Condition]] = {}
        for condition in conditions:
            for variable in condition.claim.variables():
                self._by_variable.setdefault(variable, []).append(condition)

    def of(self, condition: Condition) -> Index:
        """Return the index of the claims that may imply the one of a condition."""
        return _PremisesOf(self, condition)

    def about(self, variable: DimVar, condition: Condition) -> dict[int, Claim]:
        """Return the claims about a variable that may imply the one of a condition, by identity."""
        near = [c for c in self._by_variable.get(variable, ()) if c is not condition and id(c) in self._remaining]
        return {id(c.claim): c.claim for c in near if _may_imply(c, condition, self.position)}

    def drop(self, condition: Condition) -> None:
        """Leave out a condition, which the rest implies."""
        del self._remaining[id(condition)]

    def remaining(self) -> list[Condition]:
        """Return the conditions that were not dropped, in their order."""
        return list(self._remaining.values())


class _PremisesOf(NamedTuple):
    """Index of the claims that may imply the one of a condition."""

    premises: _Premises
    condition: Condition

    def near(self, variable: DimVar) -> Mapping[int, Claim]:
        """Return the claims about a variable, by identity."""
        return self.premises.about(variable, self.condition)


def _is_droppable(condition: Condition) -> bool:
    """Return False for facts that the prover takes for granted: sizes broadcast, and divisors are not 0."""
    claim = condition.claim
    return condition.kind in ("guard", "assertion") and claim.relation != "broadcasts" and not divides_by_size(claim)


def _may_imply(premise: Condition, condition: Condition, position: Mapping[int, int]) -> bool:
    """Return True where the premise holds, or is checked, before the condition could matter.

    A fact holds from its op on, and this op may rely on the condition.
    """
    if divides_by_size(premise.claim):
        return False
    earlier = position[id(premise)] < position[id(condition)]
    if premise.kind == "fact" and not earlier:
        return False
    return condition.kind == "assertion" or premise.kind != "assertion" or earlier


def _restore_unprovable(
    remaining: Sequence[Condition], dropped: Sequence[Condition], position: Mapping[int, int]
) -> list[Condition]:
    """Return the remaining conditions, and dropped ones that a scope made of them does not prove."""
    if not dropped:
        return list(remaining)
    assumptions, restored = Assumptions(), list(remaining)
    for condition in remaining:
        assumptions.assume(condition.claim)
    for condition in dropped:
        if out_of_time() or not _is_proved(assumptions, condition.claim):
            restored.append(condition)
            assumptions.assume(condition.claim)
    return sorted(restored, key=lambda c: position[id(c)])


def _is_proved(assumptions: Assumptions, claim: Claim) -> bool:
    """Return True where the claim follows.

    An equality of sizes without calls has to follow by normal forms, which later stages compare.
    """
    if claim.relation == "==" and not any(isinstance(s, DimExpr) and s.depth for s in (claim.left, claim.right)):
        return expr.sub(assumptions.normal(claim.left), assumptions.normal(claim.right)) == 0
    return assumptions.decide(claim) is YES


def _merge_opposite_bounds(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Replace the first of two opposite guards by an equality: where the second fails, so does the program."""
    merged: list[Condition] = []
    guards: dict[Size, int] = {}  # position of a guard by its size that is at least 0
    for condition in conditions:
        claim = condition.claim
        if condition.kind != "guard" or claim.relation != ">=":
            merged.append(condition)
            continue
        gap = expr.sub(claim.left, claim.right)
        if (opposite := guards.get(expr.mul(-1, gap))) is None:
            guards.setdefault(gap, len(merged))
            merged.append(condition)
        else:
            first = merged[opposite]
            left, right = first.claim.left, first.claim.right
            equality = equal(right, left) if isinstance(left, int) else equal(left, right)
            merged[opposite] = replace(first, claim=equality, why=f"{first.why}, {condition.why}")
    return tuple(merged)


# -- generated functions -----------------------------------------------------------------------------------------


def accept_all(*inputs: Any) -> bool:
    """Return True: the predicate of a program without guards."""
    return True


def guard_predicate(prologue: prologues.Prologue, claims: Sequence[Claim]) -> Predicate:
    """Compile the function of the inputs that returns whether all claims hold; `accept_all` without claims.

    Where variables have to be solved for, inputs that do not fit the signature raise InputSizeError.
    """
    if not claims:
        return accept_all
    local, lines, space = _size_lines(prologue, [v for c in claims for v in c.variables()])
    exec(_predicate_source(claims, local, lines, prologues.parameters(prologue)), space)
    return space["accepts"]


def _predicate_source(claims: Sequence[Claim], local: Mapping[Any, str], prefix: Sequence[str], inputs: str) -> str:
    """Return source of the function `accepts`; the lines `prefix` leave each variable in its local."""
    block = prologues.SourceBlock(local.__getitem__, "c")
    block.lines += prefix
    for claim in claims:  # in order: a quotient is computed only where the guards before it hold
        test = claim.source(block.name, block.call)
        block.lines.append(f"if not ({test}): return False")
    lines = [*block.lines, "return True"]
    if any(map(divides_by_size, claims)):  # a divisor of 0: an earlier branch of Python has another outcome here
        lines = ["try:", *[f"    {line}" for line in lines], "except ZeroDivisionError:", "    return False"]
    return "\n    ".join([f"def accepts({inputs}):", *lines]) + "\n"


def size_function(prologue: prologues.Prologue, sizes: Sequence[Size], text: str) -> Callable[..., Any]:
    """Compile a function of the inputs that returns `text`, an expression with {} in place of each size.

    Axes alone determine the variables of the sizes.
    """
    local, lines, space = _size_lines(prologue, [v for s in sizes for v in expr.variables(s)])
    result = text.format(*[to_source(s, local.__getitem__) for s in sizes])
    body = "\n    ".join([*lines, f"return {result}"])
    exec(f"def pattern({prologues.parameters(prologue)}):\n    {body}\n", space)
    return space["pattern"]


def _size_lines(
    prologue: prologues.Prologue, needed: Sequence[DimVar]
) -> tuple[Mapping[Any, str], list[str], dict[str, Any]]:
    """Return the local of each variable, lines that compute the needed ones, and the globals of these lines."""
    local = {b.variable: f"n{i}" for i, b in enumerate(prologue.bindings)}
    inputs = {b.variable: prologues.direct_input(b) for b in prologue.bindings if b.variable in needed}
    axes = {source: local[v] for v, source in inputs.items() if isinstance(source, InputAxis)}
    if len(axes) == len(inputs):
        return local, prologues.read_lines(prologue.metas, axes), {}
    writer = prologues.PrologueSource(prologue, local, "x{}.shape".format, "int(x{})".format)
    lines = writer.lines(dict.fromkeys(needed))
    return local, lines, dict(writer.names)


# -- conditions that equalities imply ----------------------------------------------------------------------------


def implied_by_equalities(conditions: Sequence[Condition]) -> tuple[list[Condition], list[Condition]]:
    """Return equalities among the conditions, and other conditions that hold wherever all of them do.

    Sizes that broadcast together and are equal need no further question: so it is in plans for a pattern of ones.
    """
    if len(conditions) > _MAX_QUERIES:
        return [], []
    known: dict[Atom, Size] = {}
    equalities, others = [], []
    for condition in conditions:
        replacement = None if divides_by_size(condition.claim) else _replacement(condition.claim, known)
        if replacement is None:
            others.append(condition)
        else:
            (new,) = replacement
            for atom, size in known.items():
                if new in expr.variables(size):
                    known[atom] = substitute(size, replacement.get)
            known |= replacement
            equalities.append(condition)
    return equalities, [c for c in others if _is_trivial(c.claim, known)]


def _replacement(claim: Claim, known: Mapping[Atom, Size]) -> dict[Atom, Size] | None:
    """Return the variable that an equality gives a size, with that size; None where it gives none."""
    if claim.relation != "==":
        return None
    left, right = substitute(claim.left, known.get), substitute(claim.right, known.get)
    for side, size in ((left, right), (right, left)):
        if isinstance(atom := expr.as_atom(side), DimVar) and atom not in expr.variables(size):
            return {atom: size}
    return None


def _is_trivial(claim: Claim, known: Mapping[Atom, Size]) -> bool:
    """Return whether both sides are the same size where the variables have the known sizes."""
    return claim.relation != "!=" and substitute(claim.left, known.get) == substitute(claim.right, known.get)
