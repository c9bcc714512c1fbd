"""Decide a claim from facts. Stateless and sound: a claim that is neither proved nor refuted is UNKNOWN.

`decide_quickly` uses the canonical form, the bounds of variables, and single facts whose distance to the claim has a
known sign. `decide_exactly` queries integer sets. It is complete for linear arithmetic with quotients and remainders by
constants, extrema and broadcasts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from anyshape.graph.prover.constraints import NO, UNKNOWN, YES, Claim, Verdict, implied_broadcasts
from anyshape.graph.prover.integer_sets import IntegerSet
from anyshape.graph.prover.linear_constraints import Alternatives, Row, negation_of, rows_of
from anyshape.graph.prover.models import Assignment, Model, has_counterexample, truth
from anyshape.graph.prover.search_budget import open_where_it_fails, parts_left, take_parts
from anyshape.graph.sizes import expr, intervals, polynomials
from anyshape.graph.sizes.expr import Atom, Call, Size
from anyshape.graph.sizes.intervals import Bound, Interval
from anyshape.graph.sizes.polynomials import Terms
from anyshape.support.packages import size_points

_FIRST_FACTS = 16  # that integer sets get at first
_MOST_DECIDED = 1 << 12
_DECIDED: dict[object, Decision] = {}  # by claim and facts, of the last questions that had a verdict
Facts: TypeAlias = Callable[[], Sequence[Claim]]  # gathered when they are needed
_Query: TypeAlias = tuple[Verdict, Sequence[Alternatives]]  # if nothing satisfies the alternatives, this is the verdict


def decide(claim: Claim, facts: Sequence[Claim] = ()) -> Verdict:
    """Return YES if the claim holds for all sizes that satisfy `facts`, NO if for none, UNKNOWN if neither is shown."""
    verdict = decide_quickly(claim, lambda: facts)
    return decide_exactly(claim, facts).verdict if verdict is UNKNOWN else verdict


def follows(claim: Claim, facts: Sequence[Claim]) -> bool:
    """Return whether the facts are shown to imply the claim, without the work of refuting it."""
    verdict = decide_quickly(claim, lambda: facts)
    if verdict is UNKNOWN and not has_counterexample(claim, facts):
        verdict = decide_exactly(claim, facts, need_refutation=False).verdict
    return verdict is YES


def contradict(claim: Claim, facts: Sequence[Claim]) -> bool:
    """Return whether nothing satisfies the facts, the claim, and the broadcasts it implies."""
    known = list(facts)
    for part in (*implied_broadcasts(claim), claim):
        if decide(part, known) is NO:
            return True
        known.append(part)
    return False


def decide_at_points(claim: Claim, points: Sequence[Assignment]) -> Verdict:
    """Return the verdict of all sizes that are possible; UNKNOWN if the claim is defined at none of them."""
    values = {truth(claim, p) for p in points} - {None}
    return UNKNOWN if len(values) != 1 else YES if True in values else NO


# -- canonical forms, intervals and single facts -----------------------------------------------------------------


def decide_quickly(claim: Claim, facts: Facts = tuple) -> Verdict:
    """Return the verdict of canonical forms, intervals and single facts."""
    verdict = decide_by_form(claim)
    return decide_by_bounds(claim, facts) if verdict is UNKNOWN else verdict


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {"==": operator.eq, "!=": operator.ne, ">=": operator.ge}


def decide_by_form(claim: Claim) -> Verdict:
    """Return the verdict if the canonical forms of the sides differ by a constant."""
    compare = _COMPARISONS.get(claim.relation)
    gap = None if compare is None else _constant_gap(claim.left, claim.right)
    return UNKNOWN if compare is None or gap is None else YES if compare(gap, 0) else NO


def _constant_gap(a: Size, b: Size) -> int | None:
    """Return a - b if the canonical forms differ by a constant, else None."""
    if isinstance(a, int) or isinstance(b, int):
        return a - b if isinstance(a, int) and isinstance(b, int) else None
    try:
        x, y = a.terms, b.terms
    except AttributeError:
        raise TypeError(f"a claim about {a!r} and {b!r}, which are not both sizes") from None
    if x is y:
        return 0
    if x[0] != y[0]:
        return None
    c, x = (0, x) if x[-1][0] else (x[-1][1], x[:-1])  # the constant is the last term
    d, y = (0, y) if y[-1][0] else (y[-1][1], y[:-1])
    return c - d if x == y else None


def decide_by_bounds(claim: Claim, facts: Facts = tuple, links: Callable[[], Links] | None = None) -> Verdict:
    """Return the verdict of intervals and single facts; `links` of the facts are made unless given."""
    relation, a, b = claim.relation, claim.left, claim.right
    if relation == ">=":
        return _decide_at_least(a, b, facts)
    if relation in _COMPARISONS:
        verdict = _decide_equal(a, b, facts)
        if verdict is UNKNOWN and links is not None and links().are_equal(a, b):
            verdict = YES
        return verdict if relation == "==" else _OPPOSITE[verdict]
    decide_link = _decide_broadcasts if relation == "broadcasts" else _decide_stretches
    return decide_link(a, b, facts, Links(facts()) if links is None else links())


_OPPOSITE = {YES: NO, NO: YES, UNKNOWN: UNKNOWN}


def _bounds_of_gap(a: Size, b: Size) -> Interval:
    """Return sound bounds of a - b. A size keeps its own, which a number shifts."""
    if isinstance(b, int) and (isinstance(a, int) or not a.merges):
        low, high = expr.bounds(a)
        return (low, high) if not b else (None if low is None else low - b, None if high is None else high - b)
    if isinstance(a, int) and not isinstance(b, int) and not b.merges:
        low, high = expr.bounds(b)
        return None if high is None else a - high, None if low is None else a - low
    return polynomials.of_terms(expr.difference_terms(a, b))


def _decide_at_least(a: Size, b: Size, facts: Facts) -> Verdict:
    low, high = _bounds_of_gap(a, b)
    if low is not None and low >= 0:
        return YES
    if high is not None and high < 0:
        return NO
    known = facts()
    if (low := _lower_bound_of_gap(a, b, known, low)) is not None and low >= 0:
        return YES
    low = _lower_bound_of_gap(b, a, known, None)
    return NO if low is not None and low >= 1 else UNKNOWN


def _decide_equal(a: Size, b: Size, facts: Facts) -> Verdict:
    low, high = _bounds_of_gap(a, b)
    if (verdict := _decide_zero(low, high)) is not UNKNOWN:
        return verdict
    known = facts()
    below = _lower_bound_of_gap(b, a, known, None if high is None else -high)
    verdict = _decide_zero(_lower_bound_of_gap(a, b, known, low), None if below is None else -below)
    if verdict is not UNKNOWN:
        return verdict
    for fact in known:
        if fact.relation in ("==", "!=") and expr.sub(fact.left, fact.right) in (expr.sub(a, b), expr.sub(b, a)):
            return YES if fact.relation == "==" else NO
    return UNKNOWN


def _lower_bound_of_gap(a: Size, b: Size, facts: Sequence[Claim], known: Bound) -> Bound:
    """Return a sound lower bound of a - b: the known one, or its distance to one fact `left - right >= 0`."""
    for fact in facts:
        if fact.relation == ">=":
            distance = expr.combination_terms((a, 1), (b, -1), (fact.left, -1), (fact.right, 1))
            low, _ = polynomials.of_terms(distance)
            known = intervals.tighter(known, low, max)
    return known


def _decide_zero(low: Bound, high: Bound) -> Verdict:
    """Decide whether a value in the interval is 0."""
    if (low is not None and low > 0) or (high is not None and high < 0):
        return NO
    return YES if low == 0 and high == 0 else UNKNOWN


def is_independent(claim: Claim) -> bool:
    """Return whether intervals are exact for the claim: its sides are linear, and an equality can be attained."""
    terms = expr.difference_terms(claim.left, claim.right)
    if not all(len(m) == 1 and m[0][1] == 1 and not isinstance(m[0][0], Call) for m in terms if m):
        return False
    if claim.relation == ">=":
        return True
    attainable = claim.relation in ("==", "!=") or all(expr.as_atom(s) for s in (claim.left, claim.right))
    return attainable and _has_free_variable(terms)


def _has_free_variable(terms: Terms) -> bool:
    """Return whether one unbounded variable of coefficient 1 or -1 can make the terms 0."""
    low, high = polynomials.of_terms(terms)
    reaches_zero = {1: low is None or low <= 0, -1: high is None or high >= 0}
    unbounded = [c for m, c in terms.items() if m and abs(c) == 1 and m[0][0].interval[1] is None]
    return any(reaches_zero[c] for c in unbounded)


# -- broadcasts --------------------------------------------------------------------------------------------------


def _decide_broadcasts(a: Size, b: Size, facts: Facts, links: Links) -> Verdict:
    if (a, b) in links.broadcasting or links.reaches(a, b) or links.reaches(b, a):
        return YES
    verdicts = [_decide_equal(x, y, facts) for x, y in ((a, b), (a, 1), (b, 1))]
    if any(v is YES for v in verdicts):
        return YES
    return NO if all(v is NO for v in verdicts) else UNKNOWN


def _decide_stretches(a: Size, b: Size, facts: Facts, links: Links) -> Verdict:
    if links.reaches(a, b):
        return YES
    never = all(_decide_equal(a, x, facts) is NO for x in (b, 1))
    return NO if never else UNKNOWN


def stretches_to(atom: Atom | None, size: Size) -> list[Claim]:
    """Return the claims that the parts of a broadcast stretch to a size which is proved equal to it."""
    parts = atom.args if isinstance(atom, Call) and atom.function == "broadcast" else ()
    return [Claim("stretches", part, size) for part in parts if part is not size]


class Links:
    """Directed graph from sizes to those they stretch to, as part of a broadcast or by a fact."""

    def __init__(self, facts: Iterable[Claim] = ()) -> None:
        self.sources: dict[Size, list[Size]] = {}  # by a size, those that are known to stretch to it
        self.broadcasting: set[tuple[Size, Size]] = set()  # pairs that are known to broadcast
        for fact in facts:
            self.add(fact)

    def add(self, fact: Claim) -> None:
        """Add a fact; one that links no sizes changes nothing."""
        if fact.relation == "stretches":
            self.sources.setdefault(fact.right, []).append(fact.left)
        elif fact.relation == "broadcasts":
            self.broadcasting |= {(fact.left, fact.right), (fact.right, fact.left)}

    def are_equal(self, a: Size, b: Size) -> bool:
        """Return whether each size is shown to stretch to the other: then neither is 1 alone."""
        return self.reaches(a, b) and self.reaches(b, a)

    def reaches(self, old: Size, new: Size) -> bool:
        """Return whether `old` is shown to be 1 or equal to `new`."""
        return self._search(old, new, set())

    def _search(self, old: Size, new: Size, visited: set[tuple[Size, Size]]) -> bool:
        if old in (1, new):
            return True
        if (old, new) in visited:
            return False
        visited.add((old, new))
        parts = _broadcast_parts(old)
        if len(parts) > 1:
            return all(self._search(p, new, visited) for p in parts)
        return self._reaches_part(old, new, visited) or self._reaches_by_fact(old, new, visited)

    def _reaches_part(self, old: Size, new: Size, visited: set[tuple[Size, Size]]) -> bool:
        goals = _broadcast_parts(new)
        return len(goals) > 1 and (old in goals or any(self._search(old, g, visited) for g in goals))

    def _reaches_by_fact(self, old: Size, new: Size, visited: set[tuple[Size, Size]]) -> bool:
        if isinstance(new, int) and new != 1 and (old, new) in self.broadcasting:
            return True
        return any(self._search(old, between, visited) for between in self.sources.get(new, ()))


def _broadcast_parts(size: Size) -> tuple[Size, ...]:
    """Return the operands if `size` is a broadcast, else `size` alone."""
    atom = expr.as_atom(size)
    return atom.args if isinstance(atom, Call) and atom.function == "broadcast" else (size,)


# -- integer sets ------------------------------------------------------------------------------------------------


class Decision:
    """Verdict of integer sets, with candidate models of the facts, and whether a search ended by its budget.

    A candidate may break a fact that has products. `parts` are those that the search took of its budget.
    """

    def __init__(self) -> None:
        self.verdict, self.gave_up, self.parts = UNKNOWN, False, 0
        self.models: list[Assignment] = []

    def read_small(self, claim: Claim, facts: Sequence[Claim]) -> bool:
        """Take over the cases of a claim at small sizes; return whether these decide."""
        sizes = set(claim.variables())
        own = [f for f in facts if sizes.issuperset(f.variables())]
        cases = size_points.cases_at_small_sizes(claim, own)
        if cases is not None and len(own) < len(facts) and None not in cases:
            cases = size_points.cases_at_small_sizes(claim, facts)
        if cases is None:
            return False
        if None in cases:
            self.verdict = YES if cases.false is None else NO
        self.models += [case for case in cases if case is not None]
        return True

    def run(
        self, known: Sequence[Claim], queries: Sequence[_Query], rest: Sequence[Claim]
    ) -> tuple[list[_Query], list[Claim]]:
        """Decide queries given the known facts; return the ones that stay open, as points break facts of the rest."""
        feasible = IntegerSet(known)
        open_queries: list[_Query] = []
        broken: list[Claim] = []
        for verdict, alternatives in queries:
            if (point := _find_point(feasible, alternatives)) is None:
                self.verdict = verdict
                return [], []
            self.gave_up = self.gave_up or not point
            breaks = [f for f in rest if truth(f, Model(point)) is False] if point else []
            if breaks:
                open_queries.append((verdict, alternatives))
                broken += breaks
            elif point:
                self.models.append(point)
        return open_queries, broken


def decide_exactly(
    claim: Claim, facts: Sequence[Claim], *, need_refutation: bool = True, need_proof: bool = True
) -> Decision:
    """Return the exact verdict: of small sizes where these tell, else of integer sets.

    With `need_refutation=False` no proof of the negation is tried, and with `need_proof=False` no proof of the claim.
    Integer sets get the first of many facts, then more of them as long as a candidate breaks any. Facts that a
    candidate breaks come first. Verdicts are remembered: each graph of a program asks for the same ones. They take the
    parts of the budget that their search took, so what is remembered changes no other verdict.
    """
    key = (tuple([(c.relation, c.left, c.right) for c in (claim, *facts)]), need_refutation, need_proof)
    known = _DECIDED.get(key)
    if known is not None and take_parts(known.parts):
        return known
    decision, before = Decision(), parts_left()
    with open_where_it_fails():
        _decide_by_sets(decision, claim, facts, need_refutation, need_proof)
    if decision.verdict is not UNKNOWN:
        decision.parts = before - parts_left()
        if len(_DECIDED) >= _MOST_DECIDED:
            _DECIDED.clear()
        _DECIDED[key] = decision
    return decision


def _decide_by_sets(
    decision: Decision, claim: Claim, facts: Sequence[Claim], need_refutation: bool, need_proof: bool
) -> None:
    """Let a decision have its verdict and its models."""
    is_simple = size_points.is_about_one_variable([claim, *facts])
    if (is_simple or _has_cases([claim, *facts])) and decision.read_small(claim, facts):
        return
    queries: list[_Query] = [(YES, negation_of(claim))] if need_proof else []
    queries += [(NO, [rows_of(claim)])] if need_refutation else []
    decision.verdict = _decide_by_own_facts(claim, facts, queries)
    known, rest = list(facts[:_FIRST_FACTS]), list(facts[_FIRST_FACTS:])
    while queries and decision.verdict is UNKNOWN:
        queries, broken = decision.run(known, queries, rest)
        ordered = list(dict.fromkeys([*broken, *rest]))
        known, rest = [*known, *ordered[: len(known)]], ordered[len(known) :]


def _has_cases(claims: Sequence[Claim]) -> bool:
    """Return whether a claim holds or fails in several ways, which sets would take one by one. Linear ones do not."""
    return any(c.relation not in ("==", ">=") or _has_calls(c.left) or _has_calls(c.right) for c in claims)


def _has_calls(size: Size) -> bool:
    return not isinstance(size, int) and size.depth > 0


def _decide_by_own_facts(claim: Claim, facts: Sequence[Claim], queries: Sequence[_Query]) -> Verdict:
    """Return the verdict of facts that mention no size but the claim's; UNKNOWN if these are all facts, or none.

    A graph that is replayed has sizes of its own each time. The facts about all of them, connected through a size that
    they share, have more cases than one query may take. What was proved of the first would not be proved of the third.
    Where these have too many cases, linear ones are left, and those about calls that the claim has.
    """
    sizes = set(claim.variables()) if len(facts) > 1 else None
    own = [] if sizes is None else [f for f in facts if sizes.issuperset(f.variables())][:_FIRST_FACTS]
    near = _near(claim, own)
    for some, more in ((own, facts), (near, own)):
        verdict = _decide_by_all(some, queries) if 0 < len(some) < len(more) else None
        if verdict is not None:
            return verdict
    return UNKNOWN


def _near(claim: Claim, facts: Sequence[Claim]) -> list[Claim]:
    """Return linear facts, and those about calls that the claim has."""
    calls = _calls(claim) if facts else set()
    return [f for f in facts if not _has_cases([f]) or not calls.isdisjoint(_calls(f))]


def _calls(claim: Claim) -> set[Atom]:
    """Return the calls in both sides of a claim."""
    return {a for side in (claim.left, claim.right) for a in expr.atoms_of(side) if isinstance(a, Call)}


def _decide_by_all(facts: Sequence[Claim], queries: Sequence[_Query]) -> Verdict | None:
    """Return the verdict of these facts, None where the search gave up."""
    feasible, has_given_up = IntegerSet(facts), False
    for verdict, alternatives in queries:
        if (point := _find_point(feasible, alternatives)) is None:
            return verdict
        has_given_up |= not point
    return None if has_given_up else UNKNOWN


def _find_point(feasible: IntegerSet, conjunction: Sequence[Alternatives]) -> Assignment | None:
    """Return a point that satisfies the conjunction as well, {} if the search gave up, None if there is none.

    The alternatives of a single conjunct are tried one by one: each is then a fact to take products with.
    """
    if len(conjunction) > 1:
        return _search_point(feasible, conjunction)
    if len(conjunction[0]) == 1:  # bounds have had their turn, unless isl gives up
        point = _search_point(feasible, conjunction)
        has_given_up = point is not None and not point
        return None if has_given_up and not _is_possible(conjunction[0][0]) else point
    tries = (_search_point(feasible, [[rows]]) for rows in conjunction[0] if _is_possible(rows))
    return next((point for point in tries if point is not None), None)


def _is_possible(rows: Sequence[Row]) -> bool:
    """Return whether bounds leave room for the first row, if it is an inequality."""
    row = rows[0]
    high = polynomials.of_terms(expr.difference_terms(row.size, row.other))[1] if row.relation == ">=" else None
    return high is None or high + row.plus >= 0


def _search_point(feasible: IntegerSet, conjunction: Sequence[Alternatives]) -> Assignment | None:
    with open_where_it_fails():
        return feasible.find(conjunction)
    return {}


def is_unprovable(outcomes: Collection[bool | None], need_refutation: bool) -> bool:
    """Return True if known models rule out YES, and NO where a refutation is needed."""
    return False in outcomes and (True in outcomes or not need_refutation)
