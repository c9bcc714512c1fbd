"""What is believed of the sizes of one program, and what follows: verdicts, bounds, normal forms, examples.

Cheap means come first: the canonical form with known equalities applied, intervals, known examples that differ in the
answer, and only then integer sets over the facts that are connected with the question.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from anyshape.errors import ShapeError, SizeLimitError
from anyshape.graph.prover.constraints import Claim, Verdict, at_least, broadcasts_in, equal, substitute_claim
from anyshape.graph.prover.decide import by_bounds, by_form, decide, exact, quick
from anyshape.graph.prover.equalities import occurs, plain, replacements_by, what_it_says
from anyshape.graph.prover.integer_sets import Allowance, IntegerSet, OutOfBudgetError, out_of_time
from anyshape.graph.prover.linear_constraints import products_in
from anyshape.graph.prover.models import Example, Valuation, apart, candidates, first_examples, nearest, truth
from anyshape.graph.sizes import expr, intervals, polynomial_bounds
from anyshape.graph.sizes.evaluate import evaluate, to_mapping
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.substitute import substitute

_FACTS = 100  # connected with one question; those nearest to it are kept
_EXAMPLES = 32
_FIRST_EXAMPLES = 5  # stay first: the sizes of the call, or what is tried first of all
# Seconds of the processor: all questions that integer sets are asked, one of them, and one when all time is used up.
_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST = 4.0, 0.8, 0.005
_LINKS = ("broadcasts", "stretches")  # chains of such claims lead from one size to another
ByVariable = dict[DimVar, list[Claim]]


class Knowledge:
    """Claims that are believed. `sizes`, where given, are sizes for which all that is believed will hold."""

    def __init__(self, sizes: Mapping[DimVar, int] | None = None) -> None:
        self.claims: list[Claim] = []
        self._stated: list[Claim] = []  # the claims, over variables that no equality determines
        self._facts: list[Claim] = []  # the claims, with every equality applied
        self._near_index: ByVariable | None = {}  # None: to be made anew
        self._stated_index: ByVariable | None = {}
        self._replacements: dict[Atom, Size] = {}
        self._determined = False  # some equality determines a variable
        self._normal: dict[Size, Size] = {}
        self._simplest: dict[DimExpr, Size] = {}
        self._met: dict[int, dict[DimExpr, None]] = {}
        self._probe: Example | None = None
        self._settled: dict[tuple[str, Size, Size], Verdict] = {}  # for good: what follows goes on to follow
        self._open: set[tuple[str, Size, Size]] = set()
        self._unproved: set[tuple[str, Size, Size]] = set()
        self._bounds: dict[Size, tuple[Bound, Bound]] = {}
        self._ranges: dict[tuple[DimVar, int], tuple[Bound, Bound]] = {}
        self._examples: list[Example] = [Example(sizes)] if sizes is not None else []
        self._allowance = Allowance(_SECONDS, _SECONDS_EACH, _SECONDS_AT_LEAST)

    def believe(self, claim: Claim) -> None:
        """Take the claim for true from now on."""
        self.claims.append(claim)
        stated = [said for c in self._stated_form(claim) for said in what_it_says(c)]
        self._stated.extend(stated)
        normal = plain(_substituted(claim, self._replacements.get) if self._replacements else claim)
        replacements = list(replacements_by(normal))
        for atom, size in replacements:
            if atom not in self._replacements:
                self._replace(atom, size)
                self._near_index = self._stated_index = None
        if not replacements or normal.relation != "==":
            self._facts.append(normal)
            near = [normal] if normal.relation not in _LINKS else []
            for index, more in ((self._near_index, near), (self._stated_index, stated)):
                if index is not None:
                    for new in more:
                        _enter(index, new)
        self._examples = [e for e in self._examples if truth(claim, e)]
        self._open.clear()
        self._unproved.clear()
        self._bounds.clear()

    def without(self, sizes: Set[DimVar], settled: int) -> Knowledge:
        """What is known without the claims about these sizes, which were made when so much was `settled`."""
        new = Knowledge()
        new._examples, new._allowance = list(self._examples), self._allowance
        for claim in [c for c in self.claims if sizes.isdisjoint(c.variables())]:
            new.believe(claim)
        new._settled = dict(itertools.islice(self._settled.items(), settled))
        return new

    @property
    def settled(self) -> int:
        """How many questions are answered for good."""
        return len(self._settled)

    def _stated_form(self, claim: Claim) -> list[Claim]:
        """The claim over variables that no equality determines, and what it loses by that."""
        return _restated(claim, self._named) if self._determined else [claim]

    def _replace(self, atom: Atom, size: Size) -> None:
        """Believe atom == size everywhere, in older equalities too."""
        single = {atom: size}
        for a, s in self._replacements.items():
            if occurs(atom, s):
                with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                    self._replacements[a] = substitute(s, single.get)
        self._replacements[atom] = size
        if isinstance(atom, Call) and atom.function == "broadcast":
            self._facts.extend(Claim("stretches", part, size) for part in atom.args if part is not size)
        self._facts = [self._renewed(f, atom, self._replacements.get) for f in self._facts]
        if isinstance(atom, DimVar):
            self._determined = True
            stated = [new for c in self._stated for new in self._renewed_statement(c, atom, single.get)]
            stated += _range_claims(atom, size)
            self._stated = [c for c in stated if broadcasts_in(c) or quick(c) is not Verdict.YES]
        self._normal.clear()
        self._simplest.clear()

    def _renewed(self, claim: Claim, atom: Atom, replace: Callable[[Atom], Size | None]) -> Claim:
        mentioned = occurs(atom, claim.left) or occurs(atom, claim.right)
        return _substituted(claim, replace) if mentioned else claim

    def _renewed_statement(self, claim: Claim, atom: Atom, replace: Callable[[Atom], Size | None]) -> list[Claim]:
        mentioned = occurs(atom, claim.left) or occurs(atom, claim.right)
        return _restated(claim, replace) if mentioned else [claim]

    def _named(self, atom: Atom) -> Size | None:
        """What a variable is known to equal. Calls stay, so that nothing is lost."""
        return self._replacements.get(atom) if isinstance(atom, DimVar) else None

    # -- what follows

    def normal(self, size: Size) -> Size:
        """The size with every known equality applied."""
        if isinstance(size, int) or not self._replacements:
            return size
        found = self._normal.get(size)
        if found is None:
            found = self._normal[size] = substitute(size, self._replacements.get)
        return found

    def simplest(self, size: Size) -> Size:
        """The normal form, or a shorter size met before that is proved equal: `max(n - 1, 0) + min(n, 1)` is n.

        Without it sizes of sizes grow with every step of a program, and no list of identities is complete.
        """
        if isinstance(size, int):
            return size
        found = self._simplest.get(size)
        if found is None:
            normal = self.normal(size)
            if isinstance(normal, DimExpr) and normal.depth:
                normal = self.normal(self._shorter(normal))
            found = self._simplest[size] = normal
        return found

    def _shorter(self, size: DimExpr) -> Size:
        claim = Claim("==", size, 0)
        example = next(iter(self._some()), None)
        if example is None or truth(claim, example) is None:
            return size
        if example is not self._probe:  # what was met is listed by its value at one example
            self._probe, self._met = example, {}
        value = evaluate(size, to_mapping(example))
        mine = set(expr.variables(size))
        for variable in mine:
            self._met.setdefault(example[variable], {})[expr.from_atom(variable)] = None
        shorter = [s for s in self._met.get(value, ()) if s.nodes < size.nodes]
        for candidate in [s for s in shorter if mine.issuperset(expr.variables(s))]:
            claim = equal(size, candidate)
            if not self._fails_somewhere(claim) and self.proves(claim):
                return candidate
        self._met.setdefault(value, {})[size] = None
        return size

    def _fails_somewhere(self, claim: Claim) -> bool:
        """Known sizes make the claim false: a look, before the means of `proves`, where many claims are tried."""
        examples = self._some()
        return any(truth(claim, e) is False for e in (*examples[_FIRST_EXAMPLES:], *examples[:_FIRST_EXAMPLES]))

    def decide(self, claim: Claim) -> Verdict:
        """What follows about the claim."""
        if claim.left is claim.right and claim.relation != "!=":
            return Verdict.YES
        key = claim.relation, claim.left, claim.right
        found = self._settled.get(key)
        if found is not None:
            return found
        if key in self._open:
            return Verdict.UNKNOWN
        verdict = by_form(claim)
        if verdict is not Verdict.UNKNOWN:
            return verdict
        verdict = self._decide(claim)
        if verdict is Verdict.UNKNOWN:
            self._open.add(key)
        else:
            self._settled[key] = verdict
        return verdict

    def same(self, a: Size, b: Size) -> bool:
        """The two sizes are proved equal."""
        found = self._settled.get(("==", a, b))
        if found is None and ("==", a, b) not in self._unproved:
            return self.proves(Claim("==", a, b))
        return found is Verdict.YES

    def proves(self, claim: Claim) -> bool:
        """The claim follows; not asked is whether it may be false."""
        key = claim.relation, claim.left, claim.right
        found = self._settled.get(key)
        if found is None and key not in self._open and key not in self._unproved:
            found = by_form(claim)
            if found is not Verdict.UNKNOWN:
                return found is Verdict.YES
            found = self._decide(claim, maybe_true=False)
            if found is Verdict.UNKNOWN:
                self._unproved.add(key)
            else:
                self._settled[key] = found
        return found is Verdict.YES

    def _decide(self, claim: Claim, maybe_true: bool = True) -> Verdict:
        normal, verdict = claim, Verdict.UNKNOWN
        if self._replacements:
            try:
                normal = Claim(claim.relation, self.normal(claim.left), self.normal(claim.right))
                verdict = by_form(normal)
            except ZeroDivisionError:  # it means nothing wherever all that is believed holds
                return Verdict.NO
            except SizeLimitError:
                normal = claim
        if verdict is Verdict.UNKNOWN:
            verdict = by_bounds(normal, lambda: self._near(normal))
        if verdict is not Verdict.UNKNOWN:
            return verdict
        answers: set[bool | None] = set()
        for known in self._some():
            answers.add(truth(claim, known))
            if False in answers and (True in answers or not maybe_true):
                return Verdict.UNKNOWN
        with self._allowance.question():
            return self._by_sets(claim, answers, maybe_true)

    def _by_sets(self, asked: Claim, answers: set[bool | None], maybe_true: bool) -> Verdict:
        """The verdict of integer sets; these answers are known to occur."""
        claim, *granted = self._stated_form(asked)
        facts = [*granted, *self._connected(claim)]
        if False not in answers and any(c.relation in _LINKS for c in [claim, *facts]):
            answers.add(self._differs(asked, [claim, *facts]))
            if False in answers and (True in answers or not maybe_true):
                return Verdict.UNKNOWN
        if facts and products_in(claim.left) + products_in(claim.right):
            claim, *facts = self._with_ranges([claim, *facts])
            verdict = quick(claim)
            if verdict is not Verdict.UNKNOWN:
                return verdict
        if not facts and _is_open(claim):
            return Verdict.UNKNOWN
        maybe_true = maybe_true and True not in answers
        verdict, examples = exact(claim, facts, maybe_true=maybe_true, maybe_false=False not in answers)
        for example in examples:
            self._learn(Example(self._completed(example)))
        return verdict

    def _with_ranges(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims over variables declared with the ranges that follow, which the forms of divisions depend on."""
        ranges: dict[DimVar, Size] = {}
        for variable in dict.fromkeys(v for c in claims for v in c.variables()):
            low, high = self._range(variable)
            if low is not None and (low, high) != variable.bounds():
                uid = (f"{variable.uid} within {low} and {high}", 0)
                ranges[variable] = expr.from_atom(DimVar(variable.name, low, high, uid))
        asked = substitute_claim(claims[0], self._without_division)
        return [substitute_claim(c, ranges.get) for c in [asked, *claims[1:]]]  # type: ignore[arg-type]

    def _without_division(self, atom: Atom) -> Size | None:
        """The value of a quotient or remainder by a size that is known to be larger than what it divides."""
        if not isinstance(atom, Call) or atom.function not in ("floordiv", "mod") or isinstance(atom.args[1], int):
            return None
        a, b = atom.args
        if self.decide(at_least(a, 0)) is Verdict.YES and self.decide(at_least(b - 1, a)) is Verdict.YES:
            return 0 if atom.function == "floordiv" else a
        return None

    def _near(self, claim: Claim) -> list[Claim]:
        """The facts that one step can tell something from: comparisons of a variable of it, or all links of chains."""
        if self._near_index is None:
            self._near_index = by_variable([f for f in self._facts if f.relation not in _LINKS])
        found = {id(f): f for v in claim.variables() for f in self._near_index.get(v, ())}
        links = [f for f in self._facts if f.relation in _LINKS] if claim.relation in _LINKS else []
        return [*found.values(), *links]

    def _connected(self, claim: Claim) -> list[Claim]:
        """What was stated that is connected with the claim."""
        if self._stated_index is None:
            self._stated_index = by_variable(self._stated)
        return connected(claim, self._stated_index)

    def allows(self, claim: Claim) -> bool:
        """False: nothing satisfies the claim together with what is believed. True means only that this is not known."""
        if any(truth(claim, e) for e in self._some()):
            return True
        if broadcasts_in(claim):
            with self._allowance.question():
                return not _clash(claim, connected(claim, by_variable(self.claims)))
        return self.decide(claim) is not Verdict.NO

    def core(self, claim: Claim) -> list[Claim]:
        """The claim, which is known to be false, and as few of the others as it takes to know that."""
        kept = connected(claim, by_variable(self.claims))
        with self._allowance.question():
            for fact in list(kept):
                rest = [f for f in kept if f is not fact]
                if not out_of_time() and _clash(claim, rest):
                    kept = rest
        return [*kept, claim]

    def bounds(self, size: Size) -> tuple[Bound, Bound]:
        """The least and the greatest value that the size can have: exact where it and what is known are linear."""
        found = self._bounds.get(size)
        if found is None:
            found = self._bounds[size] = self._find_bounds(size)
        return found

    def _find_bounds(self, size: Size) -> tuple[Bound, Bound]:
        low, high = expr.bounds(self.normal(size))
        if isinstance(size, int) or isinstance(self.normal(size), int):
            return low, high
        asked, *granted = self._stated_form(Claim("==", size, 0))
        with self._allowance.question():
            within = _range_of(asked.left, [*granted, *self._connected(asked)])
        return intervals.tighter(low, within[0], max), intervals.tighter(high, within[1], min)

    def _range(self, variable: DimVar) -> tuple[Bound, Bound]:
        """What the claims without products say of one variable."""
        size = expr.from_atom(variable)
        facts = [c for c in self._connected(Claim("==", size, 0)) if not products_in(c.left) + products_in(c.right)]
        key = variable, len(self.claims)
        if key not in self._ranges:
            self._ranges[key] = _range_of(size, facts)
        return self._ranges[key]

    # -- examples

    def _some(self) -> list[Example]:
        """Known sizes that satisfy all that is believed."""
        if not self._examples:
            for example in first_examples():
                self._learn(example)
        return self._examples

    def _differs(self, claim: Claim, facts: Sequence[Claim]) -> bool | None:
        """False where sizes that broadcast and differ make the claim false; None where none do."""
        for sizes in itertools.chain(self._with_ones(facts[0]), apart(claim, facts)):
            example = Example(self._completed(sizes), sizes.make)
            if truth(claim, example) is False and self._learn(example):
                return False
        return None

    def _with_ones(self, claim: Claim) -> Iterator[Example]:
        """A known example with ones where the claim has all the variables of a side, and where it has one."""
        sides = [expr.variables(claim.left), expr.variables(claim.right)]
        for known in self._some()[:1]:
            free = {v: n for v, n in known.items() if v not in self._replacements}
            for ones in [*sides, *[[v] for v in claim.variables()]]:
                yield Example({**free, **{v: nearest(v, 1) for v in ones}}, known.make)

    def _learn(self, example: Example) -> bool:
        """Keep the example if all that is believed holds there. Of many the oldest goes, though not the first ones:
        questions are about what is new.
        """
        if not self._satisfies(example):
            return False
        self._examples.insert(_FIRST_EXAMPLES, example)
        del self._examples[_EXAMPLES:]
        return True

    def _satisfies(self, example: Example) -> bool:
        """All that is believed holds there, and what equalities determine is within its range."""
        if not all(truth(c, example) for c in self.claims):
            return False
        return not self._determined or all(nearest(v, size) == size for v, size in example.items())

    def _completed(self, example: Valuation) -> Valuation:
        """The example with the variables that equalities determine."""
        known = {**example}
        for atom, size in self._replacements.items():
            if isinstance(atom, DimVar) and atom not in known and all(v in known for v in expr.variables(size)):
                with contextlib.suppress(ZeroDivisionError, ShapeError):
                    known[atom] = evaluate(size, to_mapping(example))
        return known

    def witnesses(self, claim: Claim) -> dict[bool, Valuation]:
        """Sizes that satisfy all that is believed and make the claim true, and others that make it false, if found."""
        facts = connected(claim, by_variable(self.claims))
        names = list(dict.fromkeys(v for c in [claim, *facts] for v in c.variables()))
        found: dict[bool, Valuation] = {}
        with self._allowance.question():
            for candidate in candidates(claim, facts, names):
                if all(truth(c, candidate) for c in facts):
                    answer = truth(claim, candidate)
                    if answer is not None:
                        found.setdefault(answer, candidate)
                if len(found) == 2 or out_of_time():
                    break
        return found


def _substituted(claim: Claim, replace: Callable[[Atom], Size | None]) -> Claim:
    """The claim with atoms replaced; as it was, where that would divide by zero or grow too large."""
    try:
        return substitute_claim(claim, replace)
    except (ZeroDivisionError, SizeLimitError):
        return claim


def _restated(claim: Claim, replace: Callable[[Atom], Size | None]) -> list[Claim]:
    """As `_substituted`, and what the claim took for granted and no longer does: that sizes broadcast."""
    new = _substituted(claim, replace)
    kept = set(broadcasts_in(new))
    granted = dict.fromkeys([_substituted(c, replace) for c in broadcasts_in(claim)])
    return [new, *[c for c in granted if c not in kept]]


def _clash(claim: Claim, facts: Sequence[Claim]) -> bool:
    """Nothing satisfies the facts, the claim, and what it takes for granted."""
    known = list(facts)
    for part in (*broadcasts_in(claim), claim):
        if decide(part, known) is Verdict.NO:
            return True
        known.append(part)
    return False


def _range_of(size: Size, facts: Sequence[Claim]) -> tuple[Bound, Bound]:
    try:
        return IntegerSet(facts).range(size) or expr.bounds(size)
    except OutOfBudgetError:
        return expr.bounds(size)


def by_variable(claims: Sequence[Claim]) -> ByVariable:
    """The claims that each variable occurs in."""
    found: ByVariable = {}
    for claim in claims:
        _enter(found, claim)
    return found


def _enter(index: ByVariable, claim: Claim) -> None:
    for variable in claim.variables():
        index.setdefault(variable, []).append(claim)


def connected(claim: Claim, about: Mapping[DimVar, Sequence[Claim]]) -> list[Claim]:
    """The claims that share variables with this one, directly or through others, nearest first."""
    found: dict[Claim, None] = {}
    seen: set[DimVar] = set()
    met: set[int] = set()  # by identity: a claim is met at each of its variables
    todo = claim.variables()
    while todo:
        fresh = [v for v in dict.fromkeys(todo) if v not in seen]
        seen.update(fresh)
        new: list[Claim] = []
        for variable in fresh:
            near = [c for c in about.get(variable, ()) if id(c) not in met]
            met.update(map(id, near))
            found.update(dict.fromkeys(near))
            if len(found) >= _FACTS:
                return list(found)[:_FACTS]
            new += near
        todo = [w for c in new for w in c.variables() if w not in seen]
    return list(found)


def _range_claims(variable: DimVar, size: Size) -> list[Claim]:
    """What the declared range of a variable says of the size that it equals."""
    claims = [at_least(size, variable.lower)]
    return claims + ([at_least(variable.upper, size)] if variable.upper is not None else [])


def _is_open(claim: Claim) -> bool:
    """Intervals say all there is to say: the sides are linear in independent variables, and an equality can be met."""
    terms = expr.gap_terms(claim.left, claim.right)
    if any(len(m) > 1 or m[0][1] > 1 or isinstance(m[0][0], Call) for m in terms if m):
        return False
    if claim.relation == ">=":
        return True
    low, high = polynomial_bounds.of_terms(terms)
    for monomial, coefficient in terms.items():
        if monomial and abs(coefficient) == 1 and monomial[0][0].bounds()[1] is None:
            reached = low is None or low <= 0 if coefficient == 1 else high is None or high >= 0
            if reached:
                return claim.relation in ("==", "!=") or all(expr.as_atom(s) for s in (claim.left, claim.right))
    return False
