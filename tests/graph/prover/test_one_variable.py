"""Test claims about one variable against every size of a range, and that they need no integer sets."""

import random

import pytest

from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.decide import decide_exactly
from anyshape.graph.prover.integer_sets import IntegerSet
from anyshape.graph.prover.models import truth
from anyshape.graph.prover.size_points import cases_at_small_sizes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar

RELATIONS = ("==", "!=", ">=", "broadcasts", "stretches")
FAR = 200  # beyond it, no side of a claim below bends


def random_size(rng, n, depth):
    if depth == 0:
        return rng.choice((n, rng.randint(-6, 6)))
    a, b = (random_size(rng, n, depth - 1) for _ in range(2))
    combine = rng.choice((expr.maximum, expr.minimum, expr.add, expr.sub))
    return expr.mul(rng.choice((1, 1, 2, -1)), combine(a, b))


def random_claim(rng, n):
    return Claim(rng.choice(RELATIONS), random_size(rng, n, rng.randint(0, 3)), random_size(rng, n, rng.randint(0, 3)))


@pytest.mark.parametrize("part", range(4))
def test_cases_are_the_ones_of_every_size(part):
    compared = 0
    for number in range(500):
        rng = random.Random(f"line {part} {number}")
        lower = rng.randint(0, 3)
        variable = DimVar("n", lower, rng.choice((None, lower + rng.randint(0, 9))))
        n = expr.from_atom(variable)
        claim, *facts = (random_claim(rng, n) for _ in range(rng.randint(1, 3)))
        cases = cases_at_small_sizes(claim, facts)
        if cases is None:
            continue
        sizes = range(lower, FAR if variable.upper is None else variable.upper + 1)
        allowed = [s for s in sizes if all(truth(f, {variable: s}) for f in facts)]
        for answer, first in ((False, cases.false), (True, cases.true)):
            expected = next((s for s in allowed if truth(claim, {variable: s}) is answer), None)
            assert first == (None if expected is None else {variable: expected}), (claim, facts, variable.upper, answer)
        compared += 1
    assert compared > 200


N, M = expr.variable("n"), expr.variable("m")


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (expr.maximum(expr.minimum(N - 4, expr.maximum(N - 2, 0) - 1), 0), expr.maximum(N - 4, 0), Verdict.YES),
        (expr.maximum(N - 1, 0) + expr.minimum(N, 1), N, Verdict.YES),
        (expr.minimum(N, 1), 1, Verdict.UNKNOWN),
    ],
)
def test_slices_of_an_axis_need_no_integer_sets(monkeypatch, left, right, verdict):
    monkeypatch.setattr(IntegerSet, "find", None)
    decision = decide_exactly(Claim("==", left, right), [])
    assert decision.verdict is verdict


@pytest.mark.parametrize("size", [M + 2 * N, N * N, expr.floordiv(N, 2)])
def test_other_claims_are_left_to_integer_sets(size):
    assert cases_at_small_sizes(Claim("==", N, size), []) is None
