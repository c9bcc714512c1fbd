"""Test collections of claims: the strongest of bounds that differ by a constant, and claims by variable."""

import itertools
import random

from anyshape.graph.prover.constraints import Claim, Claims, at_least, bound_of, connected_claims, equal
from anyshape.graph.sizes import expr
from tests.graph.prover import random_claims

N, M = expr.variable("n"), expr.variable("m")
(n,), (m,) = expr.variables(N), expr.variables(M)


def test_the_strongest_of_bounds_that_differ_by_a_constant_stays():
    claims = Claims([at_least(N, 3), at_least(M, 1), at_least(N, 5), at_least(N, 4), at_least(9, N), at_least(7, N)])
    assert [str(c) for c in claims] == ["m >= 1", "n >= 5", "7 >= n"]
    assert [str(c) for c in claims.near(n).values()] == ["n >= 5", "7 >= n"]
    claims.add(at_least(N, 6))  # after the index was made
    assert [str(c) for c in claims.near(n).values()] == ["7 >= n", "n >= 6"]


def test_other_claims_stay_and_are_held_once():
    claims = [equal(N, 3), equal(N, 4), Claim("!=", N, 5), at_least(N + M, 3), at_least(N, M + 3), at_least(N - M, 3)]
    assert [*Claims([*claims, *claims])] == claims


def test_a_bound_of_a_broadcast_stays_beside_one_without():
    """The first says that both sizes broadcast, the second does not."""
    size = expr.broadcast(N, M)
    assert len([*Claims([at_least(size + N, size + 1), at_least(N, 2)])]) == 2


def test_claims_by_variable_and_connected_ones():
    claims = Claims([equal(N, M), at_least(M, 2), at_least(expr.variable("k"), 1)])
    assert [str(c) for c in claims.near(m).values()] == ["n == m", "m >= 2"]
    assert [str(c) for c in connected_claims(at_least(N, 1), claims)] == ["n == m", "m >= 2"]
    (k,) = expr.variables(expr.variable("other"))
    assert not claims.near(k)


def test_what_is_left_implies_what_was_left_out():
    rng = random.Random(0)
    for _ in range(30):
        w = random_claims.world(rng)
        made = [random_claims.general_claim(rng, w, 2).claim for _ in range(4)]
        made = [at_least(c.left, c.right + offset) for c in made for offset in (0, 2, 1)]
        left = [*Claims(made)]
        for claim in made:
            (stronger,) = [c for c in left if bound_of(c)[0] == bound_of(claim)[0]]
            gap = expr.sub(expr.sub(claim.left, claim.right), expr.sub(stronger.left, stronger.right))
            assert isinstance(gap, int) and gap >= 0
        assert all(bound_of(a)[0] != bound_of(b)[0] for a, b in itertools.combinations(left, 2))


def test_claims_about_variables_are_the_same_with_and_without_an_index():
    rng = random.Random(1)
    w = random_claims.world(rng)
    made = [random_claims.general_claim(rng, w, 2).claim for _ in range(8)]
    few, indexed = Claims(made), Claims(made)
    for variable in {v for c in made for v in c.variables()}:
        indexed.near(variable)
        assert {id(c) for c in few.about([variable])} == {id(c) for c in indexed.about([variable])}
