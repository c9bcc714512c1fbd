"""From facts to a verdict: what follows about a claim. Stateless and sound: anything that is not proved is UNKNOWN.

`quick` proves from the canonical form, from the bounds of variables, or from one known fact whose distance to the
claim has a sign. `exact` asks integer sets, and is complete for linear arithmetic with quotients and remainders by
constants, extrema and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.integer_sets import IntegerSet, OutOfBudgetError
from anyshape.graph.prover.linear_constraints import Alternatives, Row, denial_of, rows_of
from anyshape.graph.prover.models import Example, refuted, truth
from anyshape.graph.sizes import expr, intervals, polynomial_bounds
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.intervals import Bound

_FIRST_FACTS = 16
Facts: TypeAlias = Callable[[], Sequence[Claim]]  # gathered when they are needed


def _least(a: Size, b: Size, facts: Sequence[Claim], known: Bound) -> Bound:
    """A sound lower bound of a - b: the known one, or that of the distance to one fact `left - right >= 0`."""
    for fact in facts:
        if fact.relation == ">=":
            distance = expr.sum_terms((a, 1), (b, -1), (fact.left, -1), (fact.right, 1))
            low, _ = polynomial_bounds.of_terms(distance)
            known = intervals.tighter(known, low, max)
    return known


def _is_at_least(a: Size, b: Size, facts: Facts) -> Verdict:
    low, high = polynomial_bounds.of_terms(expr.gap_terms(a, b))
    if low is not None and low >= 0:
        return Verdict.YES
    if high is not None and high < 0:
        return Verdict.NO
    known = facts()
    low = _least(a, b, known, low)
    if low is not None and low >= 0:
        return Verdict.YES
    low = _least(b, a, known, None)
    return Verdict.NO if low is not None and low >= 1 else Verdict.UNKNOWN


def _is_equal(a: Size, b: Size, facts: Facts) -> Verdict:
    low, high = polynomial_bounds.of_terms(expr.gap_terms(a, b))
    verdict = _zero_within(low, high)
    if verdict is not Verdict.UNKNOWN:
        return verdict
    known = facts()
    below = _least(b, a, known, None if high is None else -high)
    verdict = _zero_within(_least(a, b, known, low), None if below is None else -below)
    if verdict is not Verdict.UNKNOWN:
        return verdict
    for fact in known:
        if fact.relation in ("==", "!=") and expr.sub(fact.left, fact.right) in (expr.sub(a, b), expr.sub(b, a)):
            return Verdict.YES if fact.relation == "==" else Verdict.NO
    return Verdict.UNKNOWN


def _zero_within(low: Bound, high: Bound) -> Verdict:
    if (low is not None and low > 0) or (high is not None and high < 0):
        return Verdict.NO
    return Verdict.YES if low == 0 and high == 0 else Verdict.UNKNOWN


_OF_CONSTANTS: dict[str, Callable[[int], bool]] = {
    "==": lambda gap: gap == 0,
    "!=": lambda gap: gap != 0,
    ">=": lambda gap: gap >= 0,
}
_OPPOSITE = {Verdict.YES: Verdict.NO, Verdict.NO: Verdict.YES, Verdict.UNKNOWN: Verdict.UNKNOWN}


def decide(claim: Claim, facts: Sequence[Claim] = ()) -> Verdict:
    """Whether `claim` holds for all sizes that satisfy `facts`, for none, or neither could be shown."""
    verdict = quick(claim, lambda: facts)
    return exact(claim, facts)[0] if verdict is Verdict.UNKNOWN else verdict


def follows(claim: Claim, facts: Sequence[Claim]) -> bool:
    """The claim is shown to hold for all sizes that satisfy the facts; not asked is whether it holds for none."""
    verdict = quick(claim, lambda: facts)
    if verdict is Verdict.UNKNOWN and not refuted(claim, facts):
        verdict = exact(claim, facts, maybe_true=False)[0]
    return verdict is Verdict.YES


def exact(
    claim: Claim, facts: Sequence[Claim], *, maybe_true: bool = True, maybe_false: bool = True
) -> tuple[Verdict, list[dict[DimVar, int]]]:
    """The verdict of integer sets, and examples met on the way, which may break a fact that has products.

    Not `maybe_true`: sizes are known that make the claim true, so nobody needs to show that it is false; and so on.
    Of many facts the first are asked, and more, those that an example breaks before others, as long as one breaks any.
    """
    asked = [(Verdict.YES, denial_of(claim))] if maybe_false else []
    asked += [(Verdict.NO, [rows_of(claim)])] if maybe_true else []
    verdict = _by_own_facts(claim, facts, asked)
    if verdict is not Verdict.UNKNOWN:
        return verdict, []
    known, rest = list(facts[:_FIRST_FACTS]), list(facts[_FIRST_FACTS:])
    examples: list[dict[DimVar, int]] = []
    while asked:
        possible = IntegerSet(known)
        open_questions, broken = [], []
        for verdict, question in asked:
            found = _first_example(possible, question)
            if found is None:
                return verdict, examples
            breaks = [f for f in rest if truth(f, Example(found)) is False] if found else []
            if breaks:
                open_questions.append((verdict, question))
                broken += breaks
            elif found:
                examples.append(found)
        asked = open_questions
        first = list(dict.fromkeys([*broken, *rest]))
        known, rest = [*known, *first[: len(known)]], first[len(known) :]
    return Verdict.UNKNOWN, examples


def _by_own_facts(
    claim: Claim, facts: Sequence[Claim], asked: Sequence[tuple[Verdict, Sequence[Alternatives]]]
) -> Verdict:
    """The verdict of the facts about nothing but the sizes of the claim, where others are connected with it as well.

    A graph that is replayed has sizes of its own each time. What is known of all of them, connected through a size that
    they share, has more cases than one question may take: what was proved of the first would not be of the third.
    """
    sizes = set(claim.variables())
    own = [f for f in facts if sizes.issuperset(f.variables())][:_FIRST_FACTS]
    if not 0 < len(own) < len(facts):
        return Verdict.UNKNOWN
    possible = IntegerSet(own)
    return next((v for v, question in asked if _first_example(possible, question) is None), Verdict.UNKNOWN)


def _first_example(possible: IntegerSet, asked: Sequence[Alternatives]) -> dict[DimVar, int] | None:
    """An example for one of the alternatives, which are asked one by one: each is a fact to take products with."""
    questions = [[[rows]] for rows in asked[0] if _possible(rows)] if len(asked) == 1 else [asked]
    return next((p for p in (_example(possible, q) for q in questions) if p is not None), None)


def _possible(rows: Sequence[Row]) -> bool:
    """Bounds leave room for the one row that there is, where it says that something is not negative."""
    row = rows[0]
    high = polynomial_bounds.of_terms(expr.gap_terms(row.size, row.other))[1] if row.relation == ">=" else None
    return high is None or high + row.plus >= 0


def _example(possible: IntegerSet, asked: Sequence[Alternatives]) -> dict[DimVar, int] | None:
    """Sizes that satisfy what is asked, or none where they could not be found; None when there are none."""
    try:
        return next(possible.points(asked), None)
    except OutOfBudgetError:
        return {}


def quick(claim: Claim, facts: Facts = tuple) -> Verdict:
    """The verdict of canonical forms, intervals and single facts."""
    verdict = by_form(claim)
    return by_bounds(claim, facts) if verdict is Verdict.UNKNOWN else verdict


def by_form(claim: Claim) -> Verdict:
    """The verdict of canonical forms that differ by a constant."""
    test = _OF_CONSTANTS.get(claim.relation)
    gap = _constant_gap(claim.left, claim.right) if test is not None else None
    if test is None or gap is None:
        return Verdict.UNKNOWN
    return Verdict.YES if test(gap) else Verdict.NO


def _constant_gap(a: Size, b: Size) -> int | None:
    """a - b, where the canonical forms differ by a constant."""
    if isinstance(a, int) or isinstance(b, int):
        return a - b if isinstance(a, int) and isinstance(b, int) else None
    try:
        x, y = a.terms, b.terms
    except AttributeError:
        raise TypeError(f"a claim about {a!r} and {b!r}, which are not both sizes") from None
    c, x = (0, x) if x[-1][0] else (x[-1][1], x[:-1])  # the constant is the last term
    d, y = (0, y) if y[-1][0] else (y[-1][1], y[:-1])
    return c - d if x == y else None


def by_bounds(claim: Claim, facts: Facts = tuple) -> Verdict:
    """The verdict of intervals and single facts."""
    relation, a, b = claim.relation, claim.left, claim.right
    if relation in _OF_CONSTANTS:
        if relation == ">=":
            return _is_at_least(a, b, facts)
        return _is_equal(a, b, facts) if relation == "==" else _OPPOSITE[_is_equal(a, b, facts)]
    return _broadcasts(claim, facts()) if relation == "broadcasts" else _stretches(claim, facts())


def _broadcasts(claim: Claim, facts: Sequence[Claim]) -> Verdict:
    pairs = ((claim.left, claim.right), (claim.left, 1), (claim.right, 1))
    parts = [_is_equal(a, b, lambda: facts) for a, b in pairs]
    if any(p is Verdict.YES for p in parts):
        return Verdict.YES
    if all(p is Verdict.NO for p in parts):
        return Verdict.NO
    ways = _Ways(facts)
    known = (claim.left, claim.right) in ways.pairs
    if known or ways.lead(claim.left, claim.right) or ways.lead(claim.right, claim.left):
        return Verdict.YES
    return Verdict.UNKNOWN


def _stretches(claim: Claim, facts: Sequence[Claim]) -> Verdict:
    if _Ways(facts).lead(claim.left, claim.right):
        return Verdict.YES
    never = [_is_equal(claim.left, b, lambda: facts) is Verdict.NO for b in (claim.right, 1)]
    return Verdict.NO if all(never) else Verdict.UNKNOWN


class _Ways:
    """From sizes to those that they stretch to: as a part of a broadcast, or through facts, which are looked up."""

    def __init__(self, facts: Sequence[Claim]) -> None:
        self.to: dict[Size, list[Size]] = {}  # by a size, those that are known to stretch to it
        self.pairs: set[tuple[Size, Size]] = set()  # known to broadcast
        for fact in facts:
            if fact.relation == "stretches":
                self.to.setdefault(fact.right, []).append(fact.left)
            elif fact.relation == "broadcasts":
                self.pairs |= {(fact.left, fact.right), (fact.right, fact.left)}

    def lead(self, old: Size, new: Size) -> bool:
        """`old` is 1 or equals `new`."""
        return self._lead(old, new, set())

    def _lead(self, old: Size, new: Size, seen: set[tuple[Size, Size]]) -> bool:
        """As `lead`. What was tried is not tried again."""
        if old in (1, new):
            return True
        if (old, new) in seen:
            return False
        seen.add((old, new))
        parts, goals = _broadcast_parts(old), _broadcast_parts(new)
        if len(parts) > 1:
            return all(self._lead(p, new, seen) for p in parts)
        if len(goals) > 1 and (old in goals or any(self._lead(old, g, seen) for g in goals)):
            return True
        if isinstance(new, int) and new != 1 and (old, new) in self.pairs:
            return True
        return any(self._lead(old, between, seen) for between in self.to.get(new, ()))


def _broadcast_parts(size: Size) -> tuple[Size, ...]:
    """The sizes that broadcast to `size`, when it is such an expression; else `size` alone."""
    atom = expr.as_atom(size)
    return atom.args if isinstance(atom, expr.Call) and atom.function == "broadcast" else (size,)
