"""The conditions of a finished program: what follows from the others is left out, and one predicate asks the guards.

A guard may lean on what is checked before it, never on a later assertion: where that fails, Python would have taken
another path first. An assertion may lean on everything: where it fails, something that is kept fails too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anyshape.graph import dims
from anyshape.graph.conditions import Claim, Condition, Verdict
from anyshape.graph.decide import follows
from anyshape.graph.dim_text import call_source
from anyshape.graph.dims import Call, DimExpr, DimVar, Leaf
from anyshape.graph.knowledge import Knowledge, by_variable, connected
from anyshape.graph.linear_forms import divides_by_size

_QUESTIONS = 100  # of one program: a program with more conditions keeps some that follow from others


def essential(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions without those guards and assertions that follow from the rest, in their order."""
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
        near = connected(condition.claim, by_variable([c.claim for c in rest]))
        if near and follows(condition.claim, near):
            kept.remove(condition)
            dropped.append(condition)
    return _complete(kept, dropped, position)


def _may_go(condition: Condition) -> bool:
    """Kept is what the prover takes for granted elsewhere: that sizes broadcast, and that a divisor is not 0."""
    claim = condition.claim
    return condition.kind != "constraint" and claim.relation != "broadcasts" and not divides_by_size(claim)


def _complete(
    kept: list[Condition], dropped: Sequence[Condition], position: Mapping[int, int]
) -> tuple[Condition, ...]:
    """What is kept, with what a scope made of it could not show by itself."""
    known = Knowledge()
    for condition in kept:
        known.believe(condition.claim)
    for condition in dropped:
        if not _shown(known, condition.claim):
            kept.append(condition)
            known.believe(condition.claim)
    return tuple(sorted(kept, key=lambda c: position[id(c)]))


def _shown(known: Knowledge, claim: Claim) -> bool:
    """The claim follows; an equality of sizes without calls by normal forms, which later stages compare."""
    if claim.relation == "==" and not any(isinstance(s, DimExpr) and s.depth for s in (claim.left, claim.right)):
        return dims.sub(known.normal(claim.left), known.normal(claim.right)) == 0
    return known.decide(claim) is Verdict.YES


def predicate_source(
    claims: Iterable[Claim], reads: Mapping[DimVar, str], arguments: Sequence[str], first: Sequence[str] = ()
) -> str:
    """Python source of a function `accepts` that is true when every claim holds; each size is read once.

    `reads` gives the source of each variable in terms of the arguments, and of what the lines `first` leave in locals.
    """
    lines = [*first]
    names: dict[object, str] = {}

    def local(thing: object, source: str) -> str:
        if thing not in names:
            lines.append(f"n{len(names)} = {source}")
            names[thing] = f"n{len(names)}"
        return names[thing]

    def name(leaf: Leaf) -> str:
        return local(leaf, reads[leaf])  # type: ignore[index]

    def call(atom: Call) -> str:
        return names.get(atom) or local(atom, call_source(atom, name, call))

    for claim in claims:  # one after the other: a quotient is taken only where the guards before it hold
        test = claim.source(name, call)
        lines.append(f"if not ({test}): return False")
    body = "\n    ".join([*lines, "return True"])
    return f"def accepts({', '.join(arguments)}):\n    {body}\n"


Predicate = Callable[..., bool]


def compile_predicate(
    claims: Iterable[Claim],
    reads: Mapping[DimVar, str],
    arguments: Sequence[str],
    first: Sequence[str] = (),
    space: Mapping[str, object] | None = None,
) -> Predicate:
    """The function that `predicate_source` writes; `space` is what its first lines need in scope."""
    names: dict[str, Any] = dict(space or {})
    exec(predicate_source(claims, reads, arguments, first), names)
    return names["accepts"]
