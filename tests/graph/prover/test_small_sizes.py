"""Test proofs by small sizes: they agree with all sizes of a larger box, and refuse what they cannot tell."""

import itertools
import random

import numpy as np
import pytest

from anyshape.graph.prover import size_points
from anyshape.graph.prover.constraints import Claim, at_least, equal
from anyshape.graph.prover.decide import decide_exactly
from anyshape.graph.prover.integer_sets import IntegerSet
from anyshape.graph.prover.models import truth
from anyshape.graph.prover.size_points import Points
from anyshape.graph.sizes import expr

N, M = expr.variable("n"), expr.variable("m", lower=1, upper=9)
RELATIONS = ("==", "!=", ">=", "broadcasts", "stretches")


def random_size(rng, depth):
    if depth == 0:
        return rng.choice((N, M)) + rng.randint(-2, 2)
    a, b = random_size(rng, depth - 1), random_size(rng, depth - 1)
    made = rng.choice((expr.broadcast, expr.maximum, expr.minimum))(a, rng.choice((b, 0, 3)))
    return made + rng.choice((0, 0, -1, 2))


def random_claim(rng):
    return Claim(rng.choice(RELATIONS), random_size(rng, rng.randint(0, 2)), random_size(rng, rng.randint(0, 2)))


def box(*claims):
    """Return all sizes up to 60 within the bounds of the variables of claims."""
    variables = list(dict.fromkeys(v for c in claims for v in c.variables()))
    ranges = [range(v.lower, 61 if v.upper is None else v.upper + 1) for v in variables]
    return Points(dict(zip(variables, np.array([*itertools.product(*ranges)]).T, strict=True)))


@pytest.mark.parametrize("number", range(60))
def test_cases_at_small_sizes_are_those_of_a_larger_box(number):
    rng = random.Random(f"small {number}")
    facts, claim = [random_claim(rng) for _ in range(rng.randint(0, 2))], random_claim(rng)
    while not claim.variables():
        claim = random_claim(rng)
    cases = size_points.cases_at_small_sizes(claim, facts)
    points = box(claim, *facts)
    holds, allowed = points.truth(claim)
    for fact in facts:
        fact_holds, defined = points.truth(fact)
        allowed = allowed & fact_holds & defined
    if cases is None:
        assert not np.any(allowed)
        return
    assert (cases.false is None, cases.true is None) == (not np.any(allowed & ~holds), not np.any(allowed & holds))
    for point, answer in ((cases.false, False), (cases.true, True)):
        if point is not None:
            assert truth(claim, point) is answer and all(truth(f, point) for f in facts)


def test_two_slices_are_compared_without_integer_sets(monkeypatch):
    monkeypatch.setattr(IntegerSet, "find", None)
    k, longer = expr.variable("k"), expr.broadcast(N, expr.variable("j"))
    clamped = lambda size, by: expr.maximum(size - by, 0)
    facts = [Claim("broadcasts", clamped(N, by), clamped(k, by)) for by in range(3)]
    assert decide_exactly(equal(clamped(N, 2), clamped(k, 2)), facts).verdict.name == "YES"
    open_question = decide_exactly(equal(N, k), facts)
    assert open_question.verdict.name == "UNKNOWN" and len(open_question.models) == 2
    assert decide_exactly(Claim("stretches", N, longer), []).verdict.name == "YES"


@pytest.mark.parametrize(
    "claim", [equal(2 * N, M), equal(expr.mul(N, M), 3), equal(expr.floordiv(N, 2), M), at_least(N, 10_000)], ids=str
)
def test_other_claims_are_refused(claim):
    assert size_points.cases_at_small_sizes(claim, [at_least(N, M)]) is None
