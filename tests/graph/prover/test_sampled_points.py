"""Test sampled points: what they find is checked by plain evaluation, and they find what stencils need."""

import random

import numpy as np
import pytest

import anyshape
from anyshape.graph.prover import decide
from anyshape.graph.prover.constraints import Claim, equal
from anyshape.graph.prover.models import Model, truth
from anyshape.graph.prover.size_points import PointSamples
from anyshape.graph.sizes import expr
from tests.graph.prover import random_claims

N, M, K = (expr.variable(name) for name in "nmk")


def near(*sizes):
    return Model({expr.variables(v)[0]: size for v, size in zip((N, M, K), sizes, strict=False)})


@pytest.mark.parametrize("number", range(30))
def test_counterexamples_satisfy_the_facts_and_break_the_claim(number):
    rng = random.Random(f"points {number}")
    w = random_claims.world(rng)
    made, _ = random_claims.satisfiable(rng, w, random_claims.general_claim, 4)
    facts, samples = [c.claim for c in made], PointSamples()
    for known in range(1, len(facts) + 1):
        query = random_claims.general_claim(rng, w, 2).claim
        point = samples.counterexample(query, facts[:known], Model())
        if point:
            assert truth(query, point) is False
            assert all(truth(f, point) for f in facts[:known])
        assert point == samples.counterexample(query, facts[:known], Model())


def test_sizes_that_may_stretch_are_told_from_those_they_stretch_to():
    inner = expr.maximum(N - 1, 0)
    facts = [Claim("broadcasts", M, inner), Claim("broadcasts", K, expr.maximum(expr.broadcast(M, inner) - 1, 0))]
    longer = expr.broadcast(M, inner)
    samples = PointSamples()
    for claim in (equal(longer, inner), equal(longer, M), equal(M, inner), equal(K, expr.maximum(longer - 1, 0))):
        point = samples.counterexample(claim, facts, near(12, 11, 10))
        assert point and truth(claim, point) is False and all(truth(f, point) for f in facts)


def test_a_claim_that_follows_has_no_counterexample():
    facts = [Claim("broadcasts", M, N)]
    assert PointSamples().counterexample(Claim("stretches", M, expr.broadcast(M, N)), facts, near(5, 5)) == {}


def test_points_are_given_up_where_hardly_any_satisfies_the_facts():
    facts = [equal(expr.mul(N, M), 7919), Claim(">=", N, 2), Claim(">=", M, 2)]
    assert PointSamples().counterexample(equal(N, M), facts, near(5, 5)) is None


def test_lengths_of_masks_are_compared_without_integer_sets(monkeypatch):
    """Two variants of the sizes of the call refute that other lengths are equal: the first question would load isl."""
    asked = []
    monkeypatch.setattr(decide, "_decide_by_sets", lambda _, claim, *rest: asked.append(str(claim)))
    masked = anyshape.grad(lambda w, x, mask: np.sum(w[mask] * x[mask]) + np.sum(w * x))
    w, x, mask = np.ones(3), np.arange(3.0), np.array([True, False, True])
    assert masked(w, x, mask).tolist() == [0, 1, 4] and not asked
