"""Test the fact table: each fact is true by brute force over small sizes, and the scope proves it."""

import functools
from collections import Counter

import pytest

import anyshape
from anyshape.errors import ContradictionError
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.spec_parser import parse_relation, parse_size
from anyshape.graph.sizes import expr
from tests.graph.prover.fact_table import FACTS, names, sides

TRIED_UP_TO = {0: 0, 1: 600, 2: 40, 3: 16, 4: 9, 5: 7, 6: 6, 7: 6}  # that is tried, by the number of names
VERDICTS = {"yes": {True}, "no": {False}, "unknown": {True, False}}
JAX_LOWEST = 1  # sizes of JAX are at least 1
each_fact = pytest.mark.parametrize("fact", FACTS, ids=str)


# -- the truth, from the texts alone: nothing of the library is used -------------------------------------------


class BroadcastMismatch(Exception):
    """Sizes that do not broadcast: no program has them."""


def broadcast(*sizes):
    stretched = {s for s in sizes if s != 1}
    if len(stretched) > 1:
        raise BroadcastMismatch
    return stretched.pop() if stretched else 1


PYTHON = {
    "broadcast": broadcast,
    "ceildiv": lambda a, b: -(-a // b),
    "broadcasts": lambda a, b: a in (b, 1) or b == 1,
    "stretches": lambda a, b: a in (1, b),
}
WORDS = {"broadcasts with": "broadcasts", "is 1 or equals": "stretches"}


@functools.cache
def truth_of(text):
    """Return the claim as a Python function of its names, and the names."""
    left, relation, right = sides(text)
    word = WORDS.get(relation)
    source = f"{word}({left}, {right})" if word else f"({left}) {relation} ({right})"
    used = names(text)
    return eval(f"lambda {', '.join(used)}: {source}", dict(PYTHON)), used


def holds(text, at):
    """Return whether the claim holds; None if a division is by zero or sizes do not broadcast."""
    function, used = truth_of(text)
    try:
        return function(*[at[n] for n in used])
    except (ZeroDivisionError, BroadcastMismatch):
        return None


def assignments(fact, lowest=0):
    """Yield all small sizes that satisfy the constraints; test a constraint as soon as its names have sizes."""
    order = names(fact.claim, *fact.constraints)
    upper = TRIED_UP_TO[len(order)]
    ready = [[c for c in fact.constraints if names(c) and names(c)[-1] == n] for n in order]

    def extend(at, position):
        if position == len(order):
            yield dict(at)
            return
        for at[order[position]] in range(lowest, upper + 1):
            if all(holds(c, at) for c in ready[position]):
                yield from extend(at, position + 1)
        del at[order[position]]

    return extend({}, 0)


def outcomes(fact, lowest=0):
    """Return the answers that occur, each with sizes."""
    sizes_by_answer = {}
    for at in assignments(fact, lowest):
        answer = holds(fact.claim, at)
        if answer is not None:
            sizes_by_answer.setdefault(answer, at)
        elif "broadcast" not in fact.claim:
            raise AssertionError(f"{fact} is undefined at {at}")
    return sizes_by_answer


# -- the same texts, read by the library -----------------------------------------------------------------------


def claims_of(text, lookup):
    """Return the claim, then the claims without which it is undefined: divisors are not 0, sizes broadcast."""
    left, relation, right = sides(text)
    if relation not in WORDS:
        return parse_relation(text, lookup).claims
    return (Claim(WORDS[relation], parse_size(left, lookup), parse_size(right, lookup), text),)


def pose(fact):
    """Return a scope with the constraints of the fact, and its claim."""
    sizes = {}

    def lookup(name):
        return sizes.setdefault(name, expr.variable(name))

    scope = Scope()
    for text in fact.constraints:
        claim, *preconditions = claims_of(text, lookup)
        assume(scope, preconditions)
        scope.constrain(Condition("constraint", claim, "test", "given"))
    claim, *preconditions = claims_of(fact.claim, lookup)
    assume(scope, preconditions)
    return scope, claim


def assume(scope, claims):
    for claim in claims:
        scope.assume(Condition("assertion", claim, "test", "undefined otherwise"))


# -- tests -----------------------------------------------------------------------------------------------------


@each_fact
def test_the_row_is_true(fact):
    sizes_by_answer = outcomes(fact)
    assert set(sizes_by_answer) == VERDICTS[fact.truth], sizes_by_answer


@each_fact
def test_the_scope_decides_the_row(fact):
    scope, claim = pose(fact)
    verdict = scope.decide(claim)
    if fact.beyond:
        assert verdict is Verdict.UNKNOWN, "it is decided now: take `beyond` off the row"
    else:
        assert verdict.value == fact.truth


@pytest.mark.parametrize("fact", [f for f in FACTS if f.truth == "unknown"], ids=str)
def test_an_open_question_has_a_witness_for_each_answer(fact):
    scope, claim = pose(fact)
    witnesses = scope.witnesses(claim)
    assert set(witnesses) == {True, False}
    for answer, sizes in witnesses.items():
        assert holds(fact.claim, sizes) is answer
        assert all(holds(c, sizes) for c in fact.constraints if set(names(c)) <= set(sizes))


@each_fact
def test_the_verdict_of_jax_is_true_where_sizes_are_at_least_1(fact):
    assert fact.jax in ("yes", "no", "inconclusive", "error", "n/a")
    if fact.jax in ("yes", "no"):
        assert set(outcomes(fact, JAX_LOWEST)) <= VERDICTS[fact.jax]


def test_the_table_is_large_and_has_no_duplicates():
    assert len(FACTS) >= 340
    assert max(Counter(map(str, FACTS)).values()) == 1
    assert len({f.source for f in FACTS}) >= 12
    assert all(f.source for f in FACTS)
    assert Counter(f.truth for f in FACTS)["unknown"] >= 20
    assert sum(f.beyond for f in FACTS) <= 5


def test_many_claims_that_jax_leaves_open_are_decided():
    decided = [f for f in FACTS if f.jax in ("inconclusive", "error") and f.truth != "unknown" and not f.beyond]
    assert len(decided) >= 100


IMPOSSIBLE = [
    (["a*a == 2"], 1),
    (["a*a + a == 7"], 1),
    (["a**3 == 9"], 1),
    (["a*b == 7", "b >= 1", "a >= 8"], 2),
    (["a*a <= 5", "b >= a", "a >= 3"], 2),
    (["2*a*b == 7"], 1),
    (["a == 2", "c >= 1", "b == 3", "broadcast(a, b) >= 1"], 3),
    (["broadcast(a, b) >= 1", "a >= 2", "b >= a + 1"], 3),
    (["broadcast(a, b) + broadcast(a, b + 1) == 5", "a >= 2"], 2),
    (["a % 12 == 8", "b >= 1", "a % 6 == 1"], 2),
]


@pytest.mark.parametrize(("constraints", "core"), IMPOSSIBLE, ids=lambda x: str(x))
def test_contradictory_constraints_are_refused_with_their_core(constraints, core):
    *first, last = constraints
    scope = anyshape.SymbolicScope(constraints=first, dims=[anyshape.Dim(name) for name in "abc"])
    with pytest.raises(ContradictionError) as caught:
        anyshape.symbolic_shape("a, b, c", scope=scope, constraints=[last])
    assert len(caught.value.core) == core


POSSIBLE = [
    ["a*a == 9"], ["a*b == 7", "a >= 7"], ["a*a + a == 6"], ["a**3 == 8"], ["a*a <= 5", "a >= 2"],
    ["a*b == 0", "a >= 3"], ["broadcast(a, b) >= 5", "a == 1"], ["a % 12 == 8", "a % 6 == 2"],
    ["broadcast(a, b) == 4", "a >= 2", "b >= 2"],
]  # fmt: skip


@pytest.mark.parametrize("constraints", POSSIBLE, ids=str)
def test_satisfiable_constraints_are_accepted(constraints):
    anyshape.symbolic_shape("a, b", constraints=constraints)


def test_facts_about_a_broadcast_survive_a_side_becoming_constant():
    scope = Scope()
    a, b = expr.variable("a"), expr.variable("b")
    whole = expr.broadcast(a, b)
    for claim in (at_least(whole, 2), equal(b, 3)):
        scope.constrain(Condition("constraint", claim, "test", "given"))
    assert scope.decide(at_least(3, a)) is Verdict.YES
    assert scope.decide(equal(a, 2)) is Verdict.NO
    fresh = Scope(conditions=[Condition("constraint", equal(b, 3), "test", "given")])
    assert fresh.decide(at_least(whole, a)) is Verdict.YES


@pytest.mark.parametrize("large", [2**21, 2**30 + 1, 10**15])
def test_bounds_are_tight_with_large_coefficients(large):
    scope = Scope()
    n, m = expr.variable("n"), expr.variable("m", upper=50)
    for claim in (at_least(5 * large + 3, large * n), at_least(large * n + m, 7), at_least(m, large * n - 2 * large)):
        scope.constrain(Condition("constraint", claim, "test", "given"))
    assert scope.bounds(n) == (0, 2)
    assert scope.bounds(large * n + m) == (7, 2 * large + 50)
    assert scope.bounds(n - m) == (-50, 2)
    low, high = scope.bounds(expr.variable("k") - large * n)
    assert low == -2 * large or (low is None and large > 2**40)  # exceeds the budget of operations
    assert high is None
