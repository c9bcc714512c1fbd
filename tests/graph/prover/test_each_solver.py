"""Each solver, asked alone about random claims and facts, against all sizes of a box that holds all there are."""

import random

import numpy as np
import pytest

from anyshape.graph.prover import linear_constraints, models, size_points
from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.decide import contradict, decide_exactly, decide_quickly, follows
from anyshape.graph.prover.integer_sets import range_of
from anyshape.graph.prover.size_points import Points
from anyshape.graph.sizes import expr
from tests.graph.prover import random_claims

MAKERS = {
    "general": random_claims.general_claim,
    "presburger": random_claims.presburger_claim,
    "linear": random_claims.linear_claim,
    "narrow": random_claims.narrow_claim,
}


class Asked:
    """Random claim with facts, and where each holds in a box of all sizes of its variables."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.world = random_claims.world(rng, ranged=True)
        maker = MAKERS[rng.choice([*MAKERS])]
        self.known, self.where = random_claims.satisfiable(rng, self.world, maker, 3)
        self.query = maker(rng, self.world)
        self.facts, self.claim = [k.claim for k in self.known], self.query.claim
        self.defined = self.where & self.query.valid
        self.is_true, self.is_false = self.defined & self.query.holds, self.defined & ~self.query.holds

    def __str__(self):
        return f"{self.claim} given {self.facts} ({random_claims.ranges(self.world)})"

    def check(self, verdict):
        """Assert that no size contradicts a verdict; return whether it decides."""
        wrong = {Verdict.YES: self.is_false, Verdict.NO: self.is_true}.get(verdict)
        assert wrong is None or not wrong.any(), f"{self}: {verdict}, wrong at {self.world.at(int(np.argmax(wrong)))}"
        return verdict is not Verdict.UNKNOWN

    def check_witness(self, sizes, expected):
        """Assert that the claim has this truth at sizes that satisfy the facts."""
        assert all(models.truth(fact, sizes) for fact in self.facts), f"{self}: {sizes} breaks a fact"
        assert models.truth(self.claim, sizes) is expected, f"{self}: not {expected} at {sizes}"


# Each solver returns whether it told anything.


def forms_and_bounds(asked):
    return asked.check(decide_quickly(asked.claim, lambda: asked.facts))


def integer_sets(asked):
    return asked.check(decide_exactly(asked.claim, asked.facts).verdict)


def implication(asked):
    is_shown = follows(asked.claim, asked.facts)
    return is_shown and asked.check(Verdict.YES)


def contradiction(asked):
    is_shown = contradict(asked.claim, asked.facts)
    return is_shown and asked.check(Verdict.NO)


def small_cases(asked):
    cases = size_points.cases_at_small_sizes(asked.claim, asked.facts)
    return cases is not None and check_cases(asked, *cases)


def check_cases(asked, false, true):
    for sizes, holds in ((false, False), (true, True)):
        if sizes is not None:
            asked.check_witness(sizes, holds)
    is_total = asked.query.valid[asked.where].all()
    if is_total:
        assert (false is not None, true is not None) == (asked.is_false.any(), asked.is_true.any()), asked
    return is_total


def counterexamples(asked):
    is_shown = models.has_counterexample(asked.claim, asked.facts)
    holds, defined = Points(asked.world.grid).truth(asked.claim)
    assert not is_shown or (asked.where & defined & ~holds).any(), str(asked)
    return is_shown


def samples(asked):
    point = int(np.argmax(asked.where))
    near = {v: int(column[point]) for v, column in asked.world.grid.items()}
    sizes = size_points.PointSamples().counterexample(asked.claim, asked.facts, near)
    if sizes:
        asked.check_witness(sizes, False)
    return bool(sizes)


def ranges(asked):
    size = asked.claim.left
    values, defined = Points(asked.world.grid).value(size)
    values = np.broadcast_to(values, asked.where.shape)[asked.where & defined]
    low, high = range_of(size, asked.facts)
    assert low is None or (values >= low).all(), f"{asked}: {size} >= {low}"
    assert high is None or (values <= high).all(), f"{asked}: {size} <= {high}"
    return low is not None and high is not None


def points_in_columns(asked):
    holds, defined = Points(asked.world.grid).truth(asked.claim)
    both = asked.query.valid & defined
    assert (holds == asked.query.holds)[both].all(), asked
    return both.any()


def quotients_carried_out(asked):
    size = asked.claim.left
    simpler = linear_constraints.divide_out(size, lambda divisor: (expr.bounds(divisor)[0] or 0) > 0)
    same(asked, [Claim("==", size, 0)], [Claim("==", simpler, 0)])
    return simpler is not size


def nested_quotients(asked):
    claims = linear_constraints.nest_quotients([asked.claim, *asked.facts])
    same(asked, [asked.claim, *asked.facts], claims)
    return True


def relations(asked):
    same(asked, [asked.claim], [linear_constraints.simplify_relation(asked.claim)])
    return True


def replacements(asked):
    equal = [*linear_constraints.replacements_from(asked.claim, {})]
    points = Points(asked.world.grid)
    for atom, size in equal:
        left, defined = points.value(expr.from_atom(atom))
        right, also = points.value(size)
        where = asked.query.valid & asked.query.holds & defined & also
        assert np.broadcast_to(left == right, where.shape)[where].all(), f"{asked}: {atom} == {size}"
    return bool(equal)


def same(asked, before, after):
    """Assert that claims hold at the same sizes, where both are defined."""
    points = Points(asked.world.grid)
    for one, other in zip(before, after, strict=True):
        (a, a_defined), (b, b_defined) = points.truth(one), points.truth(other)
        where = np.broadcast_to(a_defined & b_defined, asked.where.shape)
        assert np.broadcast_to(a == b, where.shape)[where].all(), f"{one} became {other}"


SOLVERS = {  # with the least share of questions that each tells something about
    forms_and_bounds: 0.1,
    integer_sets: 0.5,
    implication: 0.05,
    contradiction: 0.05,
    small_cases: 0.01,
    counterexamples: 0.1,
    samples: 0.1,
    ranges: 0.5,
    points_in_columns: 0.5,
    quotients_carried_out: 0.0,
    nested_quotients: 0.5,
    relations: 0.5,
    replacements: 0.05,
}
COUNT = 25
MANY = [pytest.param(i, marks=pytest.mark.slow) for i in range(1, 40)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)
@pytest.mark.parametrize("part", [0, *MANY])
def test_a_solver_agrees_with_all_sizes(part, solver):
    answers = sum(bool(solver(Asked(f"{solver.__name__} {part} {i}"))) for i in range(COUNT))
    assert answers >= COUNT * SOLVERS[solver]
