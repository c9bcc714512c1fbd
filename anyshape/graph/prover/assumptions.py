"""Assumptions about the sizes of one program, and their consequences: verdicts, bounds, normal forms and models.

Queries try cheap checks first: the canonical form with known equalities applied, intervals, and known models in which
the answers differ. Only then integer sets decide, over the facts that are connected with the query.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence, Set

from anyshape.errors import ShapeError, SizeLimitError
from anyshape.graph.prover.claim_index import ByVariable, add_to_index, connected_claims, index_by_variable
from anyshape.graph.prover.constraints import Claim, Verdict, at_least, equal, implied_broadcasts, substitute_claim
from anyshape.graph.prover.decide import (
    contradict,
    decide_at_points,
    decide_by_bounds,
    decide_by_form,
    decide_exactly,
    decide_quickly,
    is_independent,
)
from anyshape.graph.prover.equalities import (
    informative_claims,
    mentions,
    occurs,
    range_claims,
    replacements_from,
    simplify_relation,
    substitute_if_defined,
    substitute_keeping_broadcasts,
)
from anyshape.graph.prover.integer_sets import TimeBudget, out_of_time, range_of
from anyshape.graph.prover.known_divisions import declare_ranges, divide_out, nest_quotients, write_as_multiples
from anyshape.graph.prover.linear_constraints import count_products, divides_by_size
from anyshape.graph.prover.models import (
    Assignment,
    Model,
    candidates,
    corners,
    initial_models,
    nearest,
    points_of_box,
    proved_least,
    separating_models,
    truth,
    value_in,
)
from anyshape.graph.sizes import expr, intervals
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound, negated
from anyshape.graph.sizes.substitute import substitute

_MODELS = 32
_FIRST_MODELS = 5  # stay first: the sizes of the call, or the initial models
# CPU seconds of integer sets: in total, per query, and per query once the total is spent.
_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST = 4.0, 0.8, 0.005
_LINKS = ("broadcasts", "stretches")  # chains of such claims lead from one size to another
Key = tuple[str, Size, Size]  # of a claim without its text


class Assumptions:
    """Claims that are taken as true. `sizes`, if given, are sizes at which every assumption will hold."""

    def __init__(self, sizes: Mapping[DimVar, int] | None = None) -> None:
        self.claims: list[Claim] = []
        self._stated: list[Claim] = []  # the claims, over variables that no equality determines
        self._facts: list[Claim] = []  # the claims, with every equality applied
        self._facts_by_variable: ByVariable | None = {}  # without links; None: to be rebuilt
        self._stated_by_variable: ByVariable | None = {}  # None: to be rebuilt
        self._replacements: dict[Atom, Size] = {}
        self._determined = False  # some equality determines a variable
        self._normal_forms: dict[Size, Size] = {}
        self._open_divisions: list[DimExpr] = []  # sizes whose normal form may become simpler by a further assumption
        self._simplest_forms: dict[DimExpr, Size] = {}
        self._seen_by_value: dict[int, dict[DimExpr, None]] = {}  # sizes by their value in `_probe`
        self._probe: Model | None = None
        self._settled: dict[Key, Verdict] = {}  # final, as further assumptions keep what is implied
        self._undecided: set[Key] = set()  # this, `_unproved` and `_bounds` are cleared by `assume`
        self._unproved: set[Key] = set()
        self._bounds: dict[Size, tuple[Bound, Bound]] = {}
        self._ranges: dict[tuple[DimVar, int], tuple[Bound, Bound]] = {}
        self._models: list[Model] = [Model(sizes)] if sizes is not None else []
        self._budget = TimeBudget(_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST)

    def assume(self, claim: Claim) -> None:
        """Take the claim as true from now on."""
        self.claims.append(claim)
        stated = [part for c in self._restate(claim) for part in informative_claims(c)]
        self._stated.extend(stated)
        normal = simplify_relation(
            substitute_if_defined(claim, self._replacements.get) if self._replacements else claim
        )
        replacements = list(replacements_from(normal))
        for atom, size in replacements:
            if atom not in self._replacements:
                self._replace(atom, size)
                self._facts_by_variable = self._stated_by_variable = None
        if not replacements or normal.relation != "==":
            self._facts.append(normal)
            self._extend_indexes(normal, stated)
        self._models = [m for m in self._models if truth(claim, m)]
        self._undecided.clear()
        self._unproved.clear()
        self._bounds.clear()
        for size in self._open_divisions:
            self._normal_forms.pop(size, None)
            self._simplest_forms.pop(size, None)
        self._open_divisions.clear()

    def _extend_indexes(self, fact: Claim, stated: Sequence[Claim]) -> None:
        if self._facts_by_variable is not None and fact.relation not in _LINKS:
            add_to_index(self._facts_by_variable, [fact])
        if self._stated_by_variable is not None:
            add_to_index(self._stated_by_variable, stated)

    def without(self, sizes: Set[DimVar], verdicts: Mapping[Key, Verdict]) -> Assumptions:
        """Return a copy without claims about `sizes`; of the final verdicts it keeps those given."""
        new = Assumptions()
        new._models, new._budget = list(self._models), self._budget
        for claim in [c for c in self.claims if sizes.isdisjoint(c.variables())]:
            new.assume(claim)
        new._settled = dict(verdicts)
        return new

    def verdicts(self) -> dict[Key, Verdict]:
        """Return a copy of the final verdicts."""
        return dict(self._settled)

    def _restate(self, claim: Claim) -> list[Claim]:
        """Return the claim over variables that no equality determines, and the broadcasts it no longer implies."""
        return substitute_keeping_broadcasts(claim, self._value_of_variable) if self._determined else [claim]

    def _replace(self, atom: Atom, size: Size) -> None:
        """Apply atom == size everywhere, in older equalities too."""
        self._substitute_in_replacements(atom, size)
        self._replacements[atom] = size
        if isinstance(atom, Call) and atom.function == "broadcast":
            self._facts.extend(Claim("stretches", part, size) for part in atom.args if part is not size)
        self._facts = [
            substitute_if_defined(f, self._replacements.get) if mentions(f, atom) else f for f in self._facts
        ]
        if isinstance(atom, DimVar):
            self._determined = True
            self._stated = self._stated_without(atom, size)
        self._normal_forms.clear()
        self._simplest_forms.clear()

    def _stated_without(self, variable: DimVar, size: Size) -> list[Claim]:
        """Return the stated claims with the variable replaced by the size, which gets its declared range."""
        single: dict[Atom, Size] = {variable: size}
        stated: list[Claim] = []
        for claim in self._stated:
            stated += substitute_keeping_broadcasts(claim, single.get) if mentions(claim, variable) else [claim]
        stated += range_claims(variable, size)
        return [c for c in stated if implied_broadcasts(c) or decide_quickly(c) is not Verdict.YES]

    def _substitute_in_replacements(self, atom: Atom, size: Size) -> None:
        single = {atom: size}
        for replaced, by in self._replacements.items():
            if occurs(atom, by):
                with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                    self._replacements[replaced] = substitute(by, single.get)

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
                normal = divide_out(normal, self._is_nonzero)
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
                simplest = self.normal(self._find_shorter(simplest))
            self._simplest_forms[size] = simplest
        return simplest

    def _find_shorter(self, size: DimExpr) -> Size:
        """Return a shorter size that is proved equal, among those seen before, or else this size."""
        model = next(iter(self._known_models()), None)
        if model is None or truth(Claim("==", size, 0), model) is None:
            return size
        if model is not self._probe:  # seen sizes are indexed by their value in one model
            self._probe, self._seen_by_value = model, {}
        value = evaluate(size, values_from(model))
        variables = set(expr.variables(size))
        for variable in variables:
            self._seen_by_value.setdefault(model[variable], {})[expr.from_atom(variable)] = None
        shorter = [s for s in self._seen_by_value.get(value, ()) if s.nodes < size.nodes]
        for candidate in [s for s in shorter if variables.issuperset(expr.variables(s))]:
            claim = equal(size, candidate)
            if not self._has_counterexample(claim) and self.proves(claim):
                return candidate
        self._seen_by_value.setdefault(value, {})[size] = None
        return size

    def _has_counterexample(self, claim: Claim) -> bool:
        """Return whether a known model makes the claim false: cheap, as `proves` is not for many claims."""
        models = self._known_models()
        return any(truth(claim, m) is False for m in (*models[_FIRST_MODELS:], *models[:_FIRST_MODELS]))

    # -- verdicts

    def decide(self, claim: Claim) -> Verdict:
        """Return YES if the assumptions imply the claim, NO if they contradict it, else UNKNOWN."""
        if claim.left is claim.right and claim.relation != "!=":
            return Verdict.YES
        key = claim.relation, claim.left, claim.right
        settled = self._settled.get(key)
        if settled is not None:
            return settled
        if key in self._undecided:
            return Verdict.UNKNOWN
        verdict = decide_by_form(claim)
        if verdict is not Verdict.UNKNOWN:
            return verdict
        verdict = self._decide(claim)
        if verdict is Verdict.UNKNOWN:
            self._undecided.add(key)
        else:
            self._settled[key] = verdict
        return verdict

    def same(self, a: Size, b: Size) -> bool:
        """Return whether the two sizes are proved equal."""
        settled = self._settled.get(("==", a, b))
        if settled is None and ("==", a, b) not in self._unproved:
            return self.proves(Claim("==", a, b))
        return settled is Verdict.YES

    def proves(self, claim: Claim) -> bool:
        """Return whether the claim is proved, without the work of refuting it."""
        key = claim.relation, claim.left, claim.right
        verdict = self._settled.get(key)
        if verdict is None and key not in self._undecided and key not in self._unproved:
            verdict = decide_by_form(claim)
            if verdict is not Verdict.UNKNOWN:
                return verdict is Verdict.YES
            verdict = self._decide(claim, need_refutation=False)
            if verdict is Verdict.UNKNOWN:
                self._unproved.add(key)
            else:
                self._settled[key] = verdict
        return verdict is Verdict.YES

    def _decide(self, claim: Claim, need_refutation: bool = True) -> Verdict:
        """Decide without the tables of earlier answers. With `need_refutation=False`, UNKNOWN may stand for NO."""
        normal, verdict = claim, Verdict.UNKNOWN
        if self._replacements or divides_by_size(claim):
            try:
                normal = Claim(claim.relation, self.normal(claim.left), self.normal(claim.right))
                verdict = decide_by_form(normal)
            except ZeroDivisionError:  # undefined wherever all assumptions hold
                return Verdict.NO
            except SizeLimitError:
                normal = claim
        if verdict is Verdict.UNKNOWN:
            verdict = decide_by_bounds(normal, lambda: self._facts_about(normal))
        if verdict is not Verdict.UNKNOWN:
            return verdict
        answers: set[bool | None] = set()
        for model in self._known_models():
            answers.add(truth(claim, model))
            if _is_unprovable(answers, need_refutation):
                return Verdict.UNKNOWN
        with self._budget.question():
            return self._decide_by_sets(claim, answers, need_refutation)

    def _decide_by_sets(self, query: Claim, answers: set[bool | None], need_refutation: bool) -> Verdict:
        """Return the verdict of integer sets; `answers` are known to occur."""
        claim, *broadcasts = self._restate(query)
        facts = [*broadcasts, *self._connected_claims(claim)]
        if False not in answers and any(c.relation in _LINKS for c in [claim, *facts]):
            answers.add(self._separate_sides(query, [claim, *facts]))
            if _is_unprovable(answers, need_refutation):
                return Verdict.UNKNOWN
        if count_products(claim.left) + count_products(claim.right):
            verdict, claim, facts = self._decide_product(claim, facts)
            if verdict is not Verdict.UNKNOWN:
                return verdict
        if not facts and is_independent(claim):
            return Verdict.UNKNOWN
        need_refutation = need_refutation and True not in answers
        verdict, models = decide_exactly(claim, facts, need_refutation=need_refutation, need_proof=False not in answers)
        for model in models:
            self._add_model(Model(self._complete(model)))
        return verdict

    def _decide_product(self, claim: Claim, facts: list[Claim]) -> tuple[Verdict, Claim, list[Claim]]:
        """Return the verdict of few points and of better forms, and the claim and the facts in these forms."""
        verdict = decide_at_points(claim, self._points(claim, facts))
        if facts and verdict is Verdict.UNKNOWN:
            claim, *facts = self._with_ranges([claim, *facts])
            verdict = decide_quickly(claim)
        claim, *facts = nest_quotients([claim, *facts])
        return verdict, claim, facts

    def _points(self, claim: Claim, facts: Sequence[Claim]) -> list[Assignment]:
        """Return all sizes of the claim that its facts allow, if their ranges leave few; else nothing."""
        return points_of_box({v: self._range(v) for v in claim.variables()}, facts) or []

    def _with_ranges(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return the claims with known remainders, ranges of variables, and values of divisions in the first."""
        try:
            query, *facts = write_as_multiples(claims, self._replacements, self._range)
            return declare_ranges([substitute_claim(query, self._value_of_division), *facts], self._range)
        except (ZeroDivisionError, SizeLimitError):
            return list(claims)

    def _value_of_division(self, atom: Atom) -> Size | None:
        """Return the value of a quotient or remainder by a size that is proved larger than the dividend."""
        if not isinstance(atom, Call) or atom.function not in ("floordiv", "mod") or isinstance(atom.args[1], int):
            return None
        a, b = atom.args
        if self.decide(at_least(a, 0)) is Verdict.YES and self.decide(at_least(b - 1, a)) is Verdict.YES:
            return 0 if atom.function == "floordiv" else a
        return None

    def _facts_about(self, claim: Claim) -> list[Claim]:
        """Return the facts that share a variable with a comparison; for a link, all links too."""
        if self._facts_by_variable is None:
            self._facts_by_variable = index_by_variable([f for f in self._facts if f.relation not in _LINKS])
        facts = {id(f): f for v in claim.variables() for f in self._facts_by_variable.get(v, ())}
        links = [f for f in self._facts if f.relation in _LINKS] if claim.relation in _LINKS else []
        return [*facts.values(), *links]

    def _connected_claims(self, claim: Claim) -> list[Claim]:
        """Return the stated claims that are connected with the claim."""
        if self._stated_by_variable is None:
            self._stated_by_variable = index_by_variable(self._stated)
        return connected_claims(claim, self._stated_by_variable)

    # -- contradictions

    def allows(self, claim: Claim) -> bool:
        """Return False if nothing satisfies the claim and the assumptions; True means only that this is not known."""
        if any(truth(claim, m) for m in self._known_models()):
            return True
        if implied_broadcasts(claim):
            with self._budget.question():
                return not contradict(claim, connected_claims(claim, index_by_variable(self.claims)))
        return self.decide(claim) is not Verdict.NO

    def core(self, claim: Claim) -> list[Claim]:
        """Return the claim, which is known to be false, and a minimal set of assumptions that contradict it."""
        core = connected_claims(claim, index_by_variable(self.claims))
        with self._budget.question():
            for fact in list(core):
                rest = [f for f in core if f is not fact]
                if not out_of_time() and contradict(claim, rest):
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
        facts = [*broadcasts, *self._connected_claims(query)]
        with self._budget.question():
            if not count_products(query.left):
                return intervals.intersection((low, high), range_of(query.left, facts))
            values = [v for v in (value_in(p, query.left) for p in self._points(query, facts)) if v is not None]
            if values:
                return min(values), max(values)
            ranged, *facts = self._with_ranges([query, *facts])
            interval = intervals.intersection(expr.bounds(ranged.left), range_of(ranged.left, facts))
            low, high = intervals.intersection((low, high), interval)
            for model in corners({v: self._range(v) for v in query.variables()}):
                self._add_model(model)
            return self._proved_least(normal, low), negated(self._proved_least(expr.mul(-1, normal), negated(high)))

    def _proved_least(self, size: Size, low: Bound) -> Bound:
        """Return the best lower bound that a few attempts prove; `low` is known. A failed one may find a model."""

        def values() -> list[int]:
            return [v for v in (value_in(m, size) for m in self._known_models()) if v is not None]

        return proved_least(low, values, lambda bound: self.proves(at_least(size, bound)))

    def _range(self, variable: DimVar) -> tuple[Bound, Bound]:
        """Return the range of a variable by the stated claims without products."""
        key = variable, len(self.claims)
        if key not in self._ranges:
            size = expr.from_atom(variable)
            facts = self._connected_claims(Claim("==", size, 0))
            linear = [c for c in facts if not count_products(c.left) + count_products(c.right)]
            self._ranges[key] = range_of(size, linear)
        return self._ranges[key]

    # -- models

    def _known_models(self) -> list[Model]:
        """Return known models of the assumptions; try the initial ones if there are none."""
        if not self._models:
            for model in initial_models():
                self._add_model(model)
        return self._models

    def _separate_sides(self, claim: Claim, facts: Sequence[Claim]) -> bool | None:
        """Return False if a model is found in which sizes that broadcast make the claim false, else None."""
        for sizes in itertools.chain(self._with_ones(facts[0]), separating_models(claim, facts)):
            model = Model(self._complete(sizes), sizes.make)
            if truth(claim, model) is False and self._add_model(model):
                return False
        return None

    def _with_ones(self, claim: Claim) -> Iterator[Model]:
        """Yield variants of a known model: ones for all variables of a side of the claim, and for each variable."""
        sides = [expr.variables(claim.left), expr.variables(claim.right)]
        for known in self._known_models()[:1]:
            free = {v: n for v, n in known.items() if v not in self._replacements}
            for ones in [*sides, *[[v] for v in claim.variables()]]:
                yield Model({**free, **{v: nearest(v, 1) for v in ones}}, known.make)

    def _add_model(self, model: Model) -> bool:
        """Add the model if every assumption holds in it; return whether it does.

        The first `_FIRST_MODELS` stay, and the newest others, `_MODELS` in all: new models refute new queries best.
        """
        if not self._is_model(model):
            return False
        self._models.insert(_FIRST_MODELS, model)
        del self._models[_MODELS:]
        return True

    def _is_model(self, model: Model) -> bool:
        """Return whether every assumption holds, and what equalities determine is within its range."""
        if not all(truth(c, model) for c in self.claims):
            return False
        return not self._determined or all(nearest(v, size) == size for v, size in model.items())

    def _complete(self, sizes: Assignment) -> Assignment:
        """Return the sizes with the variables that equalities determine."""
        known = {**sizes}
        for atom, size in self._replacements.items():
            if isinstance(atom, DimVar) and atom not in known and all(v in known for v in expr.variables(size)):
                with contextlib.suppress(ZeroDivisionError, ShapeError):
                    known[atom] = evaluate(size, values_from(sizes))
        return known

    def witnesses(self, claim: Claim) -> dict[bool, Assignment]:
        """Return a model in which the claim is true, and one in which it is false, as far as they are found."""
        facts = connected_claims(claim, index_by_variable(self.claims))
        names = list(dict.fromkeys(v for c in [claim, *facts] for v in c.variables()))
        models: dict[bool, Assignment] = {}
        with self._budget.question():
            for candidate in candidates(claim, facts, names):
                if all(truth(c, candidate) for c in facts):
                    answer = truth(claim, candidate)
                    if answer is not None:
                        models.setdefault(answer, candidate)
                if len(models) == 2 or out_of_time():
                    break
        return models


def _is_unprovable(answers: Set[bool | None], need_refutation: bool) -> bool:
    """Return True if known models rule out YES, and NO where a refutation is needed."""
    return False in answers and (True in answers or not need_refutation)
