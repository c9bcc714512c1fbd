"""Assumptions about the sizes of one program, and their consequences: verdicts, bounds, normal forms and models.

Queries try cheap checks first: the canonical form with known equalities applied, intervals, and known models in which
the outcomes differ. Only then integer sets decide, over the facts that are connected with the query.

Known facts: assumptions with every known equality applied, which single steps of a proof use.

Tables of verdicts: final ones, and claims that stay open under the assumptions so far.

Classes of equal sizes: what is proved of one size holds for all sizes of its class.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

from anyshape.errors import SizeLimitError
from anyshape.graph.prover import decide as deciding
from anyshape.graph.prover import linear_constraints as lc
from anyshape.graph.prover.constraints import (
    LINKS,
    NO,
    UNKNOWN,
    YES,
    Claim,
    Claims,
    Verdict,
    at_least,
    connected_claims,
    equal,
    implied_broadcasts,
    substitute_claim,
)
from anyshape.graph.prover.integer_sets import range_of
from anyshape.graph.prover.models import (
    Assignment,
    KnownModels,
    Model,
    SeenSizes,
    corners,
    points_of_box,
    proved_least,
    truth,
    value_in,
    witnesses,
)
from anyshape.graph.prover.search_budget import SearchBudget, out_of_time
from anyshape.graph.sizes import expr, intervals
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound, negated
from anyshape.graph.sizes.substitute import Replace, substitute
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import size_points

# CPU seconds of integer sets: in total, per query, and per query once the total is spent.
_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST = 4.0, 0.8, 0.005
_LEAVES = 400  # parts of sets that a search for an optional proof may examine


class Assumptions:
    """Claims that are taken as true. `sizes`, if given, are sizes at which every assumption will hold.

    `runtime` numbers the sizes that depend on data in their order; it may grow later.
    """

    def __init__(self, sizes: Mapping[DimVar, int] | None = None, runtime: Mapping[DimVar, int] | None = None) -> None:
        self._runtime = {} if runtime is None else runtime
        self.claims: Claims = Claims()
        self._stated = Claims()  # the claims, over variables that no equality determines
        self._facts = KnownFacts()
        self._replacements: dict[Atom, Size] = {}
        self._determined = False  # some equality determines a variable
        self._normal_forms: dict[Size, Size] = {}
        self._open_divisions: list[DimExpr] = []  # sizes whose normal form may become simpler by a further assumption
        self._simplest_forms: dict[DimExpr, Size] = {}
        self._seen = SeenSizes()
        self._verdicts = VerdictTables()
        self._bounds: dict[Size, tuple[Bound, Bound]] = {}  # cleared by `assume`
        self._ranges: dict[DimVar, tuple[Bound, Bound]] = {}  # likewise
        self._models = KnownModels(self.claims, self._replacements, sizes)
        self._has_no_model = False  # that a search found
        self.budget: SearchBudget = SearchBudget(_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST)
        self.queried: Counter[DimVar] = Counter()  # number of queries of integer sets about each variable

    def assume(self, claim: Claim) -> None:
        """Take the claim as true from now on."""
        self.claims.add(claim)
        for part in [part for c in self._restate(claim) for part in lc.informative_claims(c)]:
            self._stated.add(part)
        normal = lc.simplify_relation(
            lc.substitute_if_defined(claim, self._replacements.get) if self._replacements else claim
        )
        replacements = list(lc.replacements_from(normal, self._runtime))
        for atom, size in replacements:
            if atom not in self._replacements:
                self._replace(atom, size)
            elif self._replacements[atom] != size:
                self.note_equal(self._replacements[atom], size)
        if not replacements or normal.relation != "==":
            self._facts.add(normal)
        self._models.note(claim)
        self._verdicts.assume(claim)
        self._bounds.clear()
        self._ranges.clear()
        for size in self._open_divisions:
            self._normal_forms.pop(size, None)
            self._simplest_forms.pop(size, None)
        self._open_divisions.clear()

    def without(self, sizes: Set[DimVar], verdicts: FinalVerdicts) -> Assumptions:
        """Return a copy without claims about `sizes`; of the final verdicts it keeps those given."""
        new = Assumptions(None, self._runtime)
        new._models.take_over(self._models)
        new.budget, new.queried = self.budget, self.queried
        for claim in [c for c in self.claims if sizes.isdisjoint(c.variables())]:
            new.assume(claim)
        new._verdicts.keep(verdicts)
        new._verdicts.equal.rewrite(new._replacements.get)
        return new

    def verdicts(self) -> FinalVerdicts:
        """Return a copy of the final verdicts."""
        return self._verdicts.final()

    def _restate(self, claim: Claim) -> list[Claim]:
        """Return the claim over variables that no equality determines, and the broadcasts it no longer implies."""
        return lc.substitute_keeping_broadcasts(claim, self._value_of_variable) if self._determined else [claim]

    def _replace(self, atom: Atom, size: Size) -> None:
        """Apply atom == size everywhere, in older equalities too."""
        lc.substitute_in_replacements(self._replacements, atom, size)
        self._replacements[atom] = size
        self._verdicts.equal.rewrite(self._replacements.get, atom)
        self._facts.rewrite(atom, self._replacements.get, deciding.stretches_to(atom, size))
        if isinstance(atom, DimVar):
            self._determined = True
            self._stated = Claims(self._stated_without(atom, size))
        self._normal_forms.clear()
        self._simplest_forms.clear()

    def _stated_without(self, variable: DimVar, size: Size) -> list[Claim]:
        """Return the stated claims with the variable replaced by the size, which gets its declared range."""
        single: dict[Atom, Size] = {variable: size}
        stated: list[Claim] = []
        for claim in self._stated:
            stated += lc.substitute_keeping_broadcasts(claim, single.get) if lc.mentions(claim, variable) else [claim]
        stated += lc.range_claims(variable, size)
        return [c for c in stated if implied_broadcasts(c) or deciding.decide_quickly(c) is not YES]

    def _value_of_variable(self, atom: Atom) -> Size | None:
        """Return the size that a variable is known to equal. Calls stay, so that no fact about them is lost."""
        return self._replacements.get(atom) if isinstance(atom, DimVar) else None

    # -- normal forms

    def normal(self, size: Size) -> Size:
        """Return the size with every known equality applied, and without divisors that are proved not to be 0."""
        if isinstance(size, int) or not (self._replacements or size.divides):
            return size
        normal = self._normal_forms.get(size)
        if normal is None:
            normal = substitute(size, self._replacements.get) if self._replacements else size
            if isinstance(normal, DimExpr) and normal.divides:
                normal = lc.divide_out(normal, self._is_nonzero)
                self._open_divisions.append(size)
            self._normal_forms[size] = normal
        return normal

    def _is_nonzero(self, divisor: Size) -> bool:
        return expr.is_nonzero(divisor) or self.proves(Claim("!=", divisor, 0))

    def simplest(self, size: Size) -> Size:
        """Return the normal form, or a shorter earlier size that is proved equal: `max(n - 1, 0) + min(n, 1)` is n.

        Without it sizes of sizes grow with every step of a program, and no list of identities is complete.
        """
        if isinstance(size, int):
            return size
        simplest = self._simplest_forms.get(size)
        if simplest is None:
            simplest = self.normal(size)
            if isinstance(simplest, DimExpr) and simplest.depth:
                shorter = self._find_shorter(simplest)
                for link in () if shorter is simplest else deciding.stretches_to(simplest.atom, shorter):
                    self._facts.add(link)
                simplest = self.normal(shorter)
            self._simplest_forms[size] = simplest
        return simplest

    def _find_shorter(self, size: DimExpr) -> Size:
        """Return a shorter size that is proved equal, among those seen before, or else this size."""
        model = next(iter(self._models.all()), None)
        value = None if model is None else value_in(model, size)
        if model is None or value is None:
            return size
        for candidate in self._seen.shorter(size, value, model):
            claim = equal(size, candidate)
            if not self._models.refutes(claim) and self.proves(claim):
                return candidate
        self._seen.add(size, value)
        return size

    # -- verdicts

    def decide(self, claim: Claim) -> Verdict:
        """Return YES if the assumptions imply the claim, NO if they contradict it, else UNKNOWN."""
        relation, left, right = key = claim.relation, claim.left, claim.right
        if left is right and relation != "!=":
            return YES
        tables = self._verdicts
        if (verdict := tables.settled.get(key)) is not None:
            return verdict
        if is_undecided := tables.open.get(key):
            return UNKNOWN
        verdict = deciding.decide_by_form(claim)
        if verdict is UNKNOWN:
            if (verdict := self._decide(claim, need_proof=is_undecided is None)) is UNKNOWN:
                tables.leave_open(claim, is_undecided=True)
            else:
                tables.settle(claim, verdict)
        return verdict

    def same(self, a: Size, b: Size) -> bool:
        """Return whether the two sizes are proved equal."""
        return self.proves(Claim("==", a, b))

    def proves(self, claim: Claim, leaves: int = _LEAVES) -> bool:
        """Return whether the claim is proved, without the work of refuting it, by a search of at most these leaves."""
        key, tables = (claim.relation, claim.left, claim.right), self._verdicts
        verdict = tables.settled.get(key)
        if verdict is None and key not in tables.open:
            verdict = deciding.decide_by_form(claim)
            if verdict is UNKNOWN:
                if (verdict := self._decide(claim, need_refutation=False, leaves=leaves)) is UNKNOWN:
                    tables.leave_open(claim, is_undecided=False)
                else:
                    tables.settle(claim, verdict)
        return verdict is YES

    def proves_required(self, claim: Claim) -> bool:
        """Return whether the claim is proved, with the work that a claim may cost without which a trace ends."""
        with contextlib.suppress(ZeroDivisionError):
            self._verdicts.retry(claim, self._shortest(claim))
        return self.decide(claim) is YES

    def note_equal(self, a: Size, b: Size) -> None:
        """Note that two sizes are equal wherever all assumptions hold, which other means than a proof have shown."""
        self._verdicts.note_equal(a, b)

    def proves_at_once(self, claim: Claim) -> bool:
        """Return whether canonical forms, intervals and single facts prove the claim: integer sets are not queried."""
        verdict = self._verdicts.settled.get(key_of(claim))
        if verdict is None:
            verdict = deciding.decide_by_form(claim)
            if verdict is UNKNOWN:
                verdict = self._decide_at_once(claim)[1]
        return verdict is YES

    def _decide_at_once(self, claim: Claim) -> tuple[Claim | None, Verdict]:
        """Return the claim about the shortest of equal sizes, and the verdict of the cheap methods.

        The claim is one that its own form does not decide. The first result is None where another form of it does.
        """
        query = claim
        if self._replacements or self._verdicts.equal.has_joined or lc.divides_by_size(claim):
            try:
                query = self._shortest(claim)
            except ZeroDivisionError:  # undefined wherever all assumptions hold
                return None, NO
        if query is not claim:
            if (verdict := deciding.decide_by_form(query)) is not UNKNOWN:
                return None, verdict
            if (verdict := self._verdicts.settled.get(key_of(query), verdict)) is not UNKNOWN:
                return query, verdict
        if claim.relation == "stretches" and self._facts.links().reaches(claim.left, claim.right):
            return query, YES  # links lead to sizes as written
        return query, deciding.decide_by_bounds(query, lambda: self._facts.about(query), self._facts.links)

    def _shortest(self, claim: Claim) -> Claim:
        """Return the claim about the shortest sizes that are proved equal to its sides."""
        shortest = self._verdicts.equal.shortest_inside
        try:
            a, b = shortest(self.normal(claim.left)), shortest(self.normal(claim.right))
        except SizeLimitError:
            return claim
        return claim if a is claim.left and b is claim.right else Claim(claim.relation, a, b)

    def _decide(
        self, claim: Claim, need_refutation: bool = True, need_proof: bool = True, leaves: int | None = None
    ) -> Verdict:
        """Decide a claim that its form does not decide. UNKNOWN may stand for a verdict that is not needed."""
        query, verdict = self._decide_at_once(claim)
        if query is None:
            return verdict
        if verdict is UNKNOWN and not self._verdicts.is_given_up(query):
            outcomes: set[bool | None] = set() if need_proof else {False}
            for model in self._models.newest_first():
                outcomes.add(truth(claim, model))
                if deciding.is_unprovable(outcomes, need_refutation):
                    return UNKNOWN
            self.queried.update(query.variables())
            with self.budget.query(leaves) as work:
                verdict = self._decide_by_sets(claim, query, outcomes, need_refutation, work.leaves > 0)
                work.decided = verdict is not UNKNOWN
        is_equal = verdict is YES and claim.relation == "=="
        if is_equal or (query is not claim and verdict is not UNKNOWN):
            self._note_query(claim, query, verdict, is_equal)
        return verdict

    def _note_query(self, claim: Claim, query: Claim, verdict: Verdict, is_equal: bool) -> None:
        """Note the verdict of the query, if the sizes inside the claim are known to broadcast."""
        if not (broadcasts := implied_broadcasts(claim)) or all(self.proves_at_once(c) for c in broadcasts):
            if query is not claim:
                self._verdicts.settle(query, verdict)
            if is_equal:
                self._verdicts.equal.join(query.left, query.right)

    def _decide_by_sets(
        self, original: Claim, query: Claim, outcomes: set[bool | None], need_refutation: bool, may_search: bool
    ) -> Verdict:
        """Return the verdict of integer sets on a claim, in the form of the query; `outcomes` are known to occur."""
        claim, facts = self._with_facts(original, query)
        has_one_variable = size_points.is_about_one_variable([claim, *facts])
        has_products = bool(lc.count_products(claim.left) or lc.count_products(claim.right))
        if False not in outcomes and not has_one_variable:
            outcomes.add(self._models.separate(original, [claim, *facts]))
            if deciding.is_unprovable(outcomes, need_refutation):
                return UNKNOWN
        if has_products:
            verdict, claim, facts = self._decide_product(claim, facts)
            if verdict is not UNKNOWN:
                return verdict
        if (not facts and deciding.is_independent(claim)) or not (may_search or has_one_variable):
            return UNKNOWN
        need_refutation = need_refutation and True not in outcomes
        return self._search(claim, facts, query, need_refutation=need_refutation, need_proof=False not in outcomes)

    def _search(
        self, claim: Claim, facts: Sequence[Claim], query: Claim, *, need_refutation: bool, need_proof: bool
    ) -> Verdict:
        """Return the verdict of an exact method on the query as a claim over free variables; note models it finds."""
        decision = deciding.decide_exactly(claim, facts, need_refutation=need_refutation, need_proof=need_proof)
        for model in decision.models:
            self._models.add(Model(self._models.complete(model)))
        if decision.gave_up:
            self._verdicts.give_up(query)
        return decision.verdict

    def _with_facts(self, original: Claim, query: Claim) -> tuple[Claim, list[Claim]]:
        """Return the query over free variables, and facts: broadcasts that the original implies, connected claims."""
        claim, *broadcasts = self._restate(query)
        implied = [self._restate(c)[0] for c in implied_broadcasts(original)]
        broadcasts += [c for c in implied if c not in implied_broadcasts(claim)]
        return claim, [*dict.fromkeys(broadcasts), *connected_claims(claim, self._stated)]

    def _decide_product(self, claim: Claim, facts: list[Claim]) -> tuple[Verdict, Claim, list[Claim]]:
        """Return the verdict of few points and of better forms, and the claim and the facts in these forms."""
        verdict = deciding.decide_at_points(claim, self._points(claim, facts))
        if verdict is UNKNOWN:
            claim, *facts = lc.shift_extrema([claim, *facts])
            verdict = deciding.decide_by_form(claim)
        if facts and verdict is UNKNOWN:
            claim, *facts = self._with_ranges([claim, *facts])
            verdict = deciding.decide_quickly(claim)
        claim, *facts = lc.nest_quotients([claim, *facts])
        return verdict, claim, facts

    def _points(self, claim: Claim, facts: Sequence[Claim]) -> list[Assignment]:
        """Return all sizes of the claim that its facts allow, if their ranges leave few; else nothing."""
        return points_of_box({v: self._range(v) for v in claim.variables()}, facts) or []

    def _with_ranges(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return the claims with known remainders, ranges of variables, and values of divisions in the first."""
        try:
            query, *facts = lc.write_as_multiples(claims, self._replacements, self._range)
            return lc.declare_ranges([substitute_claim(query, self._value_of_division), *facts], self._range)
        except (ZeroDivisionError, SizeLimitError):
            return list(claims)

    def _value_of_division(self, atom: Atom) -> Size | None:
        """Return the value of a quotient or remainder by a size that is proved larger than the dividend."""
        if not isinstance(atom, Call) or atom.function not in ("floordiv", "mod") or isinstance(atom.args[1], int):
            return None
        a, b = atom.args
        if self.decide(at_least(a, 0)) is YES and self.decide(at_least(b - 1, a)) is YES:
            return 0 if atom.function == "floordiv" else a
        return None

    # -- contradictions

    def allows(self, claim: Claim) -> bool:
        """Return False if nothing satisfies the claim and the assumptions; True means only that this is not known."""
        if any(truth(claim, m) for m in self._models.all()):
            return True
        if implied_broadcasts(claim):
            with self.budget.query():
                return not deciding.contradict(claim, connected_claims(claim, self.claims))
        return self.decide(claim) is not NO

    def core(self, claim: Claim) -> list[Claim]:
        """Return the claim, which is known to be false, and a minimal set of assumptions that contradict it."""
        core = connected_claims(claim, self.claims)
        with self.budget.query():
            for fact in list(core):
                rest = [f for f in core if f is not fact]
                if not out_of_time() and deciding.contradict(claim, rest):
                    core = rest
        return [*core, claim]

    # -- bounds

    def bounds(self, size: Size) -> tuple[Bound, Bound]:
        """Return the least and the greatest value of the size: exact if it and the assumptions are linear."""
        bounds = self._bounds.get(size)
        if bounds is None:
            bounds = self._bounds[size] = self._find_bounds(size)
        return bounds

    def _find_bounds(self, size: Size) -> tuple[Bound, Bound]:
        try:
            normal = self.normal(size)
        except ZeroDivisionError:  # undefined wherever all assumptions hold
            return None, None
        low, high = expr.bounds(normal)
        if isinstance(normal, int):
            return low, high
        query, *broadcasts = self._restate(Claim("==", normal if normal.divides else size, 0))
        facts = [*broadcasts, *connected_claims(query, self._stated)]
        with self.budget.query():
            if not lc.count_products(query.left):
                return intervals.intersection((low, high), range_of(query.left, facts))
            values = [v for v in (value_in(p, query.left) for p in self._points(query, facts)) if v is not None]
            if values:
                return min(values), max(values)
            ranged, *facts = self._with_ranges([query, *facts])
            interval = intervals.intersection(expr.bounds(ranged.left), range_of(ranged.left, facts))
            low, high = intervals.intersection((low, high), interval)
            for model in corners({v: self._range(v) for v in query.variables()}):
                self._models.add(model)
            return self._proved_least(normal, low), negated(self._proved_least(expr.mul(-1, normal), negated(high)))
        return low, high

    def _proved_least(self, size: Size, low: Bound) -> Bound:
        """Return the best lower bound that a few attempts prove; `low` is known. A failed one may find a model."""
        return proved_least(low, lambda: self._models.values(size), lambda bound: self.proves(at_least(size, bound)))

    def _range(self, variable: DimVar) -> tuple[Bound, Bound]:
        """Return the range of a variable by the stated claims without products."""
        if variable not in self._ranges:
            size = expr.from_atom(variable)
            facts = connected_claims(Claim("==", size, 0), self._stated)
            linear = [c for c in facts if not lc.count_products(c.left) + lc.count_products(c.right)]
            self._ranges[variable] = range_of(size, linear)
        return self._ranges[variable]

    # -- models

    def witnesses(self, claim: Claim) -> dict[bool, Assignment]:
        """Return a model in which the claim is true, and one in which it is false, as far as they are found."""
        models: dict[bool, Assignment] = {}
        with self.budget.query():
            models.update(witnesses(claim, connected_claims(claim, self.claims)))
        return models

    def has_model(self) -> bool:
        """Return whether sizes are found at which all assumptions hold. False means only that none are."""
        if not (self._models.all() or self._has_no_model):
            point: Assignment = {}
            for claim in self.claims:
                if not point.keys() >= {*claim.variables()}:
                    point |= self.witnesses(claim).get(True, {})
            self._has_no_model = not self._models.add(Model(point))
        return not self._has_no_model


class KnownFacts:
    """Claims by variable, and the links between sizes apart from them."""

    def __init__(self) -> None:
        self._claims = Claims()
        self._link_facts: list[Claim] = []
        self._links: deciding.Links | None = None  # made when they are needed

    def add(self, fact: Claim) -> None:
        """Add a fact."""
        if fact.relation not in LINKS:
            self._claims.add(fact)
            return
        self._link_facts.append(fact)
        if self._links is not None:
            self._links.add(fact)

    def rewrite(self, atom: Atom, replace: Replace, links: Iterable[Claim]) -> None:
        """Replace an atom in all facts, and in these links that it makes."""
        self._claims = Claims(lc.rewritten(self._claims, atom, replace))
        self._link_facts = lc.rewritten([*self._link_facts, *links], atom, replace)
        self._links = None

    def about(self, claim: Claim) -> Sequence[Claim]:
        """Return the facts about sizes of a claim, without links."""
        return self._claims.about(claim.variables())

    def links(self) -> deciding.Links:
        """Return the links between sizes."""
        if self._links is None:
            self._links = deciding.Links(self._link_facts)
        return self._links


class EqualClasses:
    """Union-find over sizes. The shortest size of a class stands for it.

    Sizes that divide by a size are left out, as they are undefined where the others are not.
    """

    def __init__(self) -> None:
        self.has_joined: bool = False  # else each size stands for itself
        self._shorter: dict[Size, Size] = {}  # an equal size, which is shorter or was first
        self._order: dict[Size, int] = {}  # in which sizes were seen
        self._joined: list[tuple[Size, Size]] = []  # pairs that the tables above do not have yet

    def copy(self) -> EqualClasses:
        """Return a copy that grows on its own."""
        self._enter_joined()
        new = EqualClasses()
        new.has_joined = self.has_joined
        new._shorter, new._order = dict(self._shorter), dict(self._order)
        return new

    def shortest(self, size: Size) -> Size:
        """Return the shortest size of the class."""
        if self._joined:
            self._enter_joined()
        first = size
        while (shorter := self._shorter.get(size)) is not None:
            size = shorter
        if first is not size:
            self._shorter[first] = size
        return size

    def shortest_inside(self, size: Size) -> Size:
        """Return the shortest size of the class; that of a broadcast has the shortest of its sizes in their places."""
        if not self.has_joined:
            return size
        size = self.shortest(size)
        if isinstance(atom := expr.as_atom(size), Call) and atom.function == "broadcast":
            args = [self.shortest(a) for a in atom.args]
            if any(a is not b for a, b in zip(args, atom.args, strict=True)):
                size = self.shortest(expr.broadcast(*args))
        return size

    def join(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes. The tables get the pair when a size is looked up next."""
        self.has_joined = True
        self._joined.append((a, b))

    def rewrite(self, replace: Replace, atom: Atom | None = None) -> None:
        """Join each size to its form after replacements; with an atom, only sizes that contain it.

        Queries are about sizes after all replacements. Without this they would miss what was proved of older forms.
        """
        if not self.has_joined:
            return
        self._enter_joined()
        sizes = dict.fromkeys([*self._shorter, *self._shorter.values()])
        for size in [s for s in sizes if atom is None or lc.occurs(atom, s)]:
            with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                if (new := substitute(size, replace)) is not size and new != size:
                    self.join(size, new)

    def _enter_joined(self) -> None:
        """Put the pairs that were joined into the tables."""
        joined, self._joined = self._joined, []
        for a, b in joined:
            self._enter(a, b)

    def _enter(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes in the tables."""
        if _divides(a) or _divides(b):
            return
        if self._shorter:
            a, b = self.shortest(a), self.shortest(b)
        if a is not b and a != b:
            longer, shorter = (a, b) if self._rank(a) > self._rank(b) else (b, a)
            self._shorter[longer] = shorter

    def _rank(self, size: Size) -> tuple[int, int]:
        """Return what falls from a size to the one that stands for it: the length, then when it was seen first."""
        return (size.nodes, self._order.setdefault(size, len(self._order))) if isinstance(size, DimExpr) else (0, 0)


def _divides(size: Size) -> bool:
    return isinstance(size, DimExpr) and size.divides


Key = tuple[str, Size, Size]  # of a claim without its text
_SYMMETRIC = frozenset({"==", "!=", "broadcasts"})


def key_of(claim: Claim) -> Key:
    """Return the key of a claim."""
    return claim.relation, claim.left, claim.right


def keys_of(claim: Claim) -> tuple[Key, ...]:
    """Return the keys that a verdict is stored under: of the claim, and of its mirror image if that is equivalent."""
    relation, a, b = key_of(claim)
    return ((relation, a, b), (relation, b, a)) if relation in _SYMMETRIC else ((relation, a, b),)


class FinalVerdicts(NamedTuple):
    """Final verdicts, and the classes of sizes that are proved equal."""

    settled: dict[Key, Verdict]
    equal: EqualClasses


class VerdictTables:
    """Tables of verdicts, and the classes of sizes that are proved equal."""

    def __init__(self) -> None:
        self.settled: dict[Key, Verdict] = {}  # final, as further assumptions keep what is implied
        self.open: dict[Key, bool] = {}  # not proved, until a further assumption; True: not refuted either
        self.equal: EqualClasses = EqualClasses()
        self._given_up: dict[Key, frozenset[DimVar]] = {}  # with the variables of the claim

    def final(self) -> FinalVerdicts:
        """Return a copy of the final verdicts."""
        return FinalVerdicts(dict(self.settled), self.equal.copy())

    def keep(self, final: FinalVerdicts) -> None:
        """Start with final verdicts."""
        self.settled, self.equal = dict(final.settled), final.equal.copy()

    def settle(self, claim: Claim, verdict: Verdict) -> None:
        """Note a final verdict."""
        relation, a, b = claim.relation, claim.left, claim.right
        self.settled[relation, a, b] = verdict
        if relation in _SYMMETRIC:
            self.settled[relation, b, a] = verdict

    def leave_open(self, claim: Claim, *, is_undecided: bool) -> None:
        """Note that a claim is not proved, and whether it is not refuted either."""
        self.open.update(dict.fromkeys(keys_of(claim), is_undecided))

    def give_up(self, claim: Claim) -> None:
        """Note that a search ended without a verdict, by its budget."""
        self._given_up.update(dict.fromkeys(keys_of(claim), frozenset(claim.variables())))

    def is_given_up(self, claim: Claim) -> bool:
        """Return whether a search ended by its budget, and no assumption about sizes of the claim alone came since.

        Other assumptions make the search longer.
        """
        return key_of(claim) in self._given_up

    def retry(self, *claims: Claim) -> None:
        """Let claims that are not proved be searched again, although a search ended by its budget."""
        for key in [key for claim in claims for key in keys_of(claim)]:
            self._given_up.pop(key, None)
            self.open.pop(key, None)

    def note_equal(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes, and reopen the claims that this may settle."""
        if self.equal.shortest(a) is not self.equal.shortest(b):
            self.equal.join(a, b)
            self.open.clear()

    def assume(self, assumed: Claim) -> None:
        """Settle a claim that is taken as true, and reopen those that it may settle.

        Facts are in other sizes, from which a proof of the claim as it is stated may not be found.
        """
        self.settle(assumed, Verdict.YES)
        self.open.clear()
        about = set(assumed.variables())
        if self._given_up:
            self._given_up = {key: v for key, v in self._given_up.items() if not about <= v}
