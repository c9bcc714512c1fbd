"""The conditions of a finished program: what follows from the others is left out, and one predicate asks the guards.

A guard may lean on what is checked before it, never on a later assertion: where that fails, Python would have taken
another path first. An assertion may lean on everything: where it fails, something that is kept fails too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.graph.prover.assumptions import Assumptions, connected_claims, index_by_variable
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, equal
from anyshape.graph.prover.decide import follows
from anyshape.graph.prover.integer_sets import out_of_time, time_limit
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.signature.prologue import Entry, PrologueSource, direct_input
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, InputAxis, Leaf, Size
from anyshape.graph.sizes.printing import call_source, to_source

_QUESTIONS = 100  # of one program: a program with more conditions keeps some that follow from others
_SECONDS = 1.0  # of the processor, as `_QUESTIONS`


def drop_implied(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions without those guards and assertions that follow from the rest, in their order.

    Two guards that bound a size from both sides are made one: `n >= 8` and `n <= 8` are `n == 8`.
    """
    with time_limit(_SECONDS):
        return _essential(conditions)


def _essential(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """As `drop_implied`, for as long as there is time: what is not asked stays."""
    position = {id(c): i for i, c in enumerate(conditions)}
    kept = list(conditions)
    dropped = []
    for condition in [c for c in conditions if _may_go(c)][:_QUESTIONS]:
        rest = [
            c
            for c in kept
            if c is not condition
            and not divides_by_size(c.claim)
            and (condition.kind == "assertion" or c.kind != "assertion" or position[id(c)] < position[id(condition)])
        ]
        near = connected_claims(condition.claim, index_by_variable([c.claim for c in rest]))
        if near and not out_of_time() and follows(condition.claim, near):
            kept.remove(condition)
            dropped.append(condition)
    return _joined(_complete(kept, dropped, position))


def _joined(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """An equality in place of the first of two opposite guards: where the second fails, so does the program."""
    result: list[Condition] = []
    bounds: dict[Size, int] = {}  # by what is not negative, the position of the guard
    for condition in conditions:
        claim = condition.claim
        gap = expr.sub(claim.left, claim.right)
        if condition.kind == "guard" and claim.relation == ">=":
            other = bounds.get(expr.mul(-1, gap))
            if other is not None:
                first = result[other]
                left, right = first.claim.left, first.claim.right
                same = equal(right, left) if isinstance(left, int) else equal(left, right)
                result[other] = replace(first, claim=same, why=f"{first.why}, {condition.why}")
                continue
            bounds.setdefault(gap, len(result))
        result.append(condition)
    return tuple(result)


def _may_go(condition: Condition) -> bool:
    """Kept is what the prover takes for granted elsewhere: that sizes broadcast, and that a divisor is not 0."""
    claim = condition.claim
    return condition.kind in ("guard", "assertion") and claim.relation != "broadcasts" and not divides_by_size(claim)


def _complete(
    kept: list[Condition], dropped: Sequence[Condition], position: Mapping[int, int]
) -> tuple[Condition, ...]:
    """What is kept, with what a scope made of it could not show by itself."""
    known = Assumptions()
    for condition in kept:
        known.assume(condition.claim)
    for condition in dropped:
        if out_of_time() or not _shown(known, condition.claim):
            kept.append(condition)
            known.assume(condition.claim)
    return tuple(sorted(kept, key=lambda c: position[id(c)]))


def _shown(known: Assumptions, claim: Claim) -> bool:
    """The claim follows; an equality of sizes without calls by normal forms, which later stages compare."""
    if claim.relation == "==" and not any(isinstance(s, DimExpr) and s.depth for s in (claim.left, claim.right)):
        return expr.sub(known.normal(claim.left), known.normal(claim.right)) == 0
    return known.decide(claim) is Verdict.YES


Predicate = Callable[..., bool]


def predicate_source(claims: Sequence[Claim], local: Mapping[DimVar, str], first: Sequence[str], inputs: int) -> str:
    """Python source of a function `accepts` of the inputs that is true when every claim holds.

    The lines `first` leave each variable in its local.
    """
    lines = [*first]
    names: dict[Call, str] = {}

    def name(leaf: Leaf) -> str:
        return local[leaf]  # type: ignore[index]

    def call(atom: Call) -> str:
        if atom not in names:
            source = call_source(atom, name, call)  # before its name: calls inside it are named first
            names[atom] = f"c{len(names)}"
            lines.append(f"{names[atom]} = {source}")
        return names[atom]

    for claim in claims:  # one after the other: a quotient is taken only where the guards before it hold
        test = claim.source(name, call)
        lines.append(f"if not ({test}): return False")
    head, lines = f"def accepts({', '.join(f'x{i}' for i in range(inputs))}):", [*lines, "return True"]
    if any(divides_by_size(c) for c in claims):  # by 0 here: Python asked something before that has another answer now
        lines = ["try:", *[f"    {line}" for line in lines], "except ZeroDivisionError:", "    return False"]
    return "\n    ".join([head, *lines]) + "\n"


def guard_predicate(entry: Entry, claims: Sequence[Claim]) -> Predicate:
    """Generate a function of the inputs that returns True if every claim holds.

    Where variables have to be solved for, inputs that do not fit what is declared of them raise InputSizeError.
    """
    local, lines, space = _sizes(entry, [v for c in claims for v in c.variables()])
    exec(predicate_source(claims, local, lines, len(entry.metas)), space)
    return space["accepts"]


def size_function(entry: Entry, sizes: Sequence[Size], text: str) -> Callable[..., Any]:
    """A generated function of the inputs: an expression in sizes that axes alone give, put where `text` has {}."""
    local, lines, space = _sizes(entry, [v for s in sizes for v in expr.variables(s)])
    result = text.format(*[to_source(s, lambda leaf: local[leaf]) for s in sizes])
    body = "\n    ".join([*lines, f"return {result}"])
    exec(f"def pattern({', '.join(f'x{i}' for i in range(len(entry.metas)))}):\n    {body}\n", space)
    return space["pattern"]


def _sizes(entry: Entry, needed: Sequence[DimVar]) -> tuple[dict[DimVar, str], list[str], dict[str, Any]]:
    """A local for each variable, lines that leave those that are needed in theirs, and what the lines need in scope."""
    local = {s.variable: f"n{i}" for i, s in enumerate(entry.solved)}
    places = {s.variable: direct_input(s) for s in entry.solved if s.variable in needed}
    if all(isinstance(place, InputAxis) for place in places.values()):
        return local, _read(entry, {place: local[v] for v, place in places.items()}), {}
    writer = PrologueSource(entry, local, "x{}.shape".format, "int(x{})".format)
    lines = writer.lines(dict.fromkeys(needed))
    return local, lines, dict(writer.names)


def _read(entry: Entry, local: Mapping[Any, str]) -> list[str]:
    """Lines that read axes into locals, each shape once."""
    lines = []
    for i, meta in enumerate(entry.metas):
        axes = [local.get(InputAxis(i, axis)) for axis in range(meta.rank)]
        found = [name for name in axes if name is not None]
        if len(found) == 1:
            lines.append(f"{found[0]} = x{i}.shape[{axes.index(found[0])}]")
        elif found:
            lines.append(f"{', '.join(name or '_' for name in axes)} = x{i}.shape")
    return lines
