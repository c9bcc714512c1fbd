"""Test that verdicts about sizes are sound, and complete within linear integer arithmetic.

Each test makes random sizes and claims and compares the answers of the library with every assignment of a small box.
The test and the number of a case reproduce it. `pytest -m slow` runs 100,000 cases.
"""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape.errors import ContradictionError
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import values_from
from tests.graph.prover import random_claims
from tests.graph.prover.random_claims import check_sound, condition, listed, ranges, scope_of

TIMES_IN_SLOW_RUN = 20


def cases(count):
    """Parametrise a test by the numbers of its cases: half of `count`, and in the slow run the others and many more."""
    shares = [range(count // 2, count), *[range(i * count, (i + 1) * count) for i in range(1, TIMES_IN_SLOW_RUN)]]
    many = [pytest.param(r, marks=pytest.mark.slow, id=f"cases {r.start}..") for r in shares]
    return pytest.mark.parametrize("numbers", [pytest.param(range(count // 2), id=f"{count // 2} cases"), *many])


# -- verdicts --------------------------------------------------------------------------------------------------


def check_verdicts(rng, make_claim, ranged):
    w = random_claims.world(rng, ranged)
    constraints, where = random_claims.satisfiable(rng, w, make_claim, 4)
    scope = scope_of(constraints)
    decided = 0
    for _ in range(3):
        query = make_claim(rng, w)
        if (where & query.valid).any():  # else the query is undefined
            verdict = scope.decide(query.claim)
            check_sound(w, constraints, where, query, verdict)
            decided += verdict is not Verdict.UNKNOWN
    return decided


@cases(300)
def test_no_verdict_is_contradicted(numbers):
    decided = 0
    for number in numbers:
        rng = random.Random(f"verdicts {number}")
        decided += check_verdicts(rng, random_claims.general_claim, ranged=number % 3 == 0)
    assert decided > len(numbers) // 2  # a prover that decides nothing is sound too


@cases(100)
def test_verdicts_stay_sound_as_constraints_come(numbers):
    """The same query before and after each constraint gets no outdated answer."""
    for number in numbers:
        rng = random.Random(f"growing {number}")
        w = random_claims.world(rng)
        queries = [random_claims.general_claim(rng, w, 2) for _ in range(3)]
        constraints, _ = random_claims.satisfiable(rng, w, random_claims.general_claim, 4)
        scope, where = Scope(), np.full(w.points, True)
        for i, new in enumerate([None, *constraints]):
            if new is not None:
                scope.constrain(condition(new))
                where = where & new.holds & new.valid
            for query in queries:
                if (where & query.valid).any():
                    check_sound(w, constraints[:i], where, query, scope.decide(query.claim))


def check_complete(rng):
    """Compare the verdict with the brute force, which is a proof as all variables lie within the box."""
    w = random_claims.world(rng, ranged=True)
    constraints, where = random_claims.satisfiable(rng, w, random_claims.presburger_claim, 3)
    scope = scope_of(constraints)
    for _ in range(2):
        query = random_claims.presburger_claim(rng, w, rng.randint(1, 3))
        answers = set(query.holds[where].tolist())
        expected = Verdict.UNKNOWN if len(answers) == 2 else Verdict.YES if answers == {True} else Verdict.NO
        verdict = scope.decide(query.claim)
        assert verdict is expected, f"{query} given {listed(constraints)} ({ranges(w)}): {verdict}, not {expected}"


@cases(1450)
def test_the_verdict_is_exact_in_linear_integer_arithmetic(numbers):
    for number in numbers:
        check_complete(random.Random(f"complete {number}"))


# -- bounds ----------------------------------------------------------------------------------------------------


def check_bounds(rng, make_size, make_claim, ranged):
    w = random_claims.world(rng, ranged)
    constraints, where = random_claims.satisfiable(rng, w, make_claim, 3)
    scope = scope_of(constraints)
    for _ in range(2):
        sized = make_size(rng, w)
        reached = sized.value[where & sized.valid]
        if not len(reached):
            continue
        low, high = scope.bounds(sized.size)
        assert (low, high) == (scope.lower(sized.size), scope.upper(sized.size))
        text = f"{low} <= {sized.size} <= {high} given {listed(constraints)} ({ranges(w)})"
        assert low is None or low <= reached.min(), f"{text}, and it can be {reached.min()}"
        assert high is None or reached.max() <= high, f"{text}, and it can be {reached.max()}"
        yield text, (low, high), reached


@cases(200)
def test_bounds_of_any_size_hold(numbers):
    for number in numbers:
        rng = random.Random(f"bounds {number}")

        def make_size(rng, w):
            return random_claims.general(rng, w, 3)

        for _ in check_bounds(rng, make_size, random_claims.general_claim, ranged=number % 2 == 0):
            pass


@cases(700)
def test_bounds_of_linear_sizes_are_reached(numbers):
    for number in numbers:
        rng = random.Random(f"tight {number}")
        for text, bounds, reached in check_bounds(rng, random_claims.linear, random_claims.linear_claim, ranged=True):
            assert bounds == (reached.min(), reached.max()), f"{text}, not {reached.min()}..{reached.max()}"


# -- equal forms -----------------------------------------------------------------------------------------------


@cases(200)
def test_normal_forms_and_same_are_true(numbers):
    proved = 0
    for number in numbers:
        rng = random.Random(f"normal {number}")
        w = random_claims.world(rng, ranged=number % 2 == 0)
        constraints, where = random_claims.satisfiable(rng, w, some_equality, 3)
        scope = scope_of(constraints)
        pool = [random_claims.general(rng, w, 2) for _ in range(4)] + [random_claims.linear(rng, w) for _ in range(3)]
        pool = [sized for sized in pool if (where & sized.valid).any()]
        for sized in pool:
            for form in (scope.normal, scope.simplest):
                normal = form(sized.size)
                text = f"{form.__name__}: {sized.size} became {normal} given {listed(constraints)} ({ranges(w)})"
                assert (random_claims.value_of(w, normal) == sized.value)[where & sized.valid].all(), text
                assert form(normal) == normal, f"{text}, and then {form(normal)}"
        for x, y in zip(pool, pool[1:] + [random_claims.variable(w, v) for v in w.variables]):
            proved += check_same(scope, x, y, where, constraints)
    assert proved > 0


def check_same(scope, x, y, where, constraints):
    """Return whether two sizes are proved equal, after asserting that they are."""
    same = scope.same(x.size, y.size)
    if same:
        valid = where & x.valid & y.valid
        assert (x.value == y.value)[valid].all(), f"{x.size}, {y.size} given {listed(constraints)}"
    return same


def some_equality(rng, w):
    left, right = random_claims.general(rng, w, 1), random_claims.general(rng, w, 2)
    return random_claims.claim(rng, left, right, ("==", "==", "==", ">=", "broadcasts"))


# -- construction ----------------------------------------------------------------------------------------------


@cases(1250)
def test_building_a_size_computes_what_python_does(numbers):
    """The canonical form has the value of the operations that made it, negative values and divisors too."""
    for number in numbers:
        rng = random.Random(f"build {number}")
        w = random_claims.world(rng, ranged=number % 2 == 0)
        sized = random_claims.general(rng, w, 3) if number % 3 else random_claims.presburger(rng, w, 3)
        wrong = sized.valid & (random_claims.value_of(w, sized.size) != sized.value)
        assert not wrong.any(), f"{sized.size} ({ranges(w)}) at {w.at(int(np.argmax(wrong)))}"
        low, high = expr.bounds(sized.size)
        reached = sized.value[sized.valid]
        assert low is None or (low <= reached).all(), f"{sized.size} >= {low} ({ranges(w)})"
        assert high is None or (reached <= high).all(), f"{sized.size} <= {high} ({ranges(w)})"
        check_exact_division(rng, w, sized)


def check_exact_division(rng, w, sized):
    by = random_claims.general(rng, w, 1)
    for whole in (sized, random_claims.mul(sized, by)):
        quotient = expr.divide_exactly(whole.size, by.size)
        if quotient is not None:
            valid = whole.valid & by.valid & (by.value != 0)
            value = random_claims.value_of(w, quotient)
            assert (value * by.value == whole.value)[valid].all(), f"{whole.size} / {by.size} = {quotient}"


# -- witnesses -------------------------------------------------------------------------------------------------


@cases(100)
def test_witnesses_satisfy_the_constraints_and_give_their_answer(numbers):
    for number in numbers:
        rng = random.Random(f"witness {number}")
        w = random_claims.world(rng, ranged=True)
        make = random_claims.general_claim if number % 4 == 0 else random_claims.presburger_claim
        constraints, where = random_claims.satisfiable(rng, w, make, 3)
        query = make(rng, w)
        if not (query.valid & where).any():
            continue
        scope = scope_of(constraints)
        witnesses = scope.witnesses(query.claim)
        for answer, sizes in witnesses.items():
            points = (query.holds == answer) | ~query.valid  # a canonical form may be defined where its text was not
            for c in constraints:
                points = points & (c.holds | ~c.valid)
            for v in w.variables:
                points = points & (w.grid[v] == sizes.get(v.name, w.grid[v]))
            assert points.any(), f"{query} given {listed(constraints)} ({ranges(w)}): {answer} at {sizes}"
        if make is random_claims.presburger_claim and scope.decide(query.claim) is Verdict.UNKNOWN:
            assert set(witnesses) == {True, False}, f"{query} given {listed(constraints)} ({ranges(w)}): {witnesses}"


@cases(300)
def test_open_questions_of_linear_integer_arithmetic_have_both_answers(numbers):
    """Without upper bounds the box proves nothing, but two witnesses prove that the question is open."""
    for number in numbers:
        rng = random.Random(f"open {number}")
        w = random_claims.world(rng)
        constraints, where = random_claims.satisfiable(rng, w, random_claims.presburger_claim, 3)
        scope = scope_of(constraints)
        query = random_claims.presburger_claim(rng, w, rng.randint(1, 3))
        verdict = scope.decide(query.claim)
        check_sound(w, constraints, where, query, verdict)
        if verdict is not Verdict.UNKNOWN:
            continue
        witnesses = scope.witnesses(query.claim)
        assert set(witnesses) == {True, False}, f"{query} given {listed(constraints)} ({ranges(w)}): {witnesses}"
        for answer, sizes in witnesses.items():
            check_witness(w, constraints, query.claim, answer, sizes)


def check_witness(w, constraints, claim, answer, sizes):
    """Assert that a witness gives the answer, lies within ranges, and satisfies constraints on its variables."""
    at = {v: sizes[v.name] for v in w.variables if v.name in sizes}
    assert set(claim.variables()) <= set(at)
    assert claim.holds(values_from(at)) is answer
    for v, size in at.items():
        assert v.lower <= size and (v.upper is None or size <= v.upper)
    for c in constraints:
        if set(c.claim.variables()) <= set(at):
            assert c.claim.holds(values_from(at)), f"{c} at {sizes}"


# -- contradictions --------------------------------------------------------------------------------------------


def constrained(scope, claimed):
    """Return the core if the constraint is refused, else None."""
    try:
        scope.constrain(condition(claimed))
    except ContradictionError as error:
        return error.core
    return None


@cases(200)
def test_a_contradiction_is_refused_with_a_smallest_core(numbers):
    refused = 0
    for number in numbers:
        rng = random.Random(f"clash {number}")
        w = random_claims.world(rng, ranged=True)
        scope, accepted, where = Scope(), [], np.full(w.points, True)
        for i in range(5):
            new = random_claims.presburger_claim(rng, w, text=f"constraint {i}")
            core = constrained(scope, new)
            shown = [Claim(c.claim.relation, c.claim.left, c.claim.right) for c in (*accepted, new)]
            assert (core is None) == (where & new.holds).any(), f"{listed(shown)} ({ranges(w)}): core {core}"
            if core is not None:
                check_core(w, {str(c): c.holds for c in (*accepted, new)}, core, f"constraint {i}")
                assert scope.decide(new.claim) is Verdict.NO  # a refused constraint is not assumed
                refused += 1
            else:
                accepted.append(new)
                where = where & new.holds
    assert refused > len(numbers) // 10


def check_core(w, by_text, core, newest):
    assert newest in core
    assert set(core) <= set(by_text)
    everything = np.full(w.points, True)
    clash = [by_text[text] for text in core]
    assert not np.logical_and.reduce(clash).any(), f"{core} can hold"
    for i in range(len(clash)):
        rest = np.logical_and.reduce([everything, *clash[:i], *clash[i + 1 :]])
        assert rest.any(), f"{core} clashes without {core[i]}"


@cases(400)
def test_broadcasts_and_remainders_of_sizes_that_facts_make_simple(numbers):
    """Sizes become constants after they were broadcast, one stretches to another, a remainder is known."""
    left_open = [question for number in numbers for question in narrow_questions_left_open(number)]
    assert len(left_open) <= 2, left_open


def narrow_questions_left_open(number):
    """Check one case; yield the questions and contradictions that are true of the box but not proved."""
    rng = random.Random(f"narrow {number}")
    w = random_claims.world(rng, ranged=True)
    scope, accepted, where = Scope(), [], np.full(w.points, True)
    for i in range(4):
        new = random_claims.narrow_claim(rng, w, text=f"constraint {i}")
        both = where & new.holds & new.valid
        core = constrained(scope, new)
        shown = [f"{c.claim.left} {c.claim.relation} {c.claim.right}" for c in (*accepted, new)]
        assert core is None or not both.any(), f"{shown} ({ranges(w)}): core {core}"
        if core is None and not both.any():
            yield shown
            return
        if core is None:
            accepted, where = [*accepted, new], both
        query = random_claims.narrow_claim(rng, w)
        if not is_decided(scope, query, where & query.valid, f"{shown} ({ranges(w)})"):
            yield query.claim, shown


def is_decided(scope, query, points, text):
    """Return whether the verdict is exact at these points; it must not be wrong."""
    answers = set(query.holds[points].tolist())
    if not answers:
        return True
    expected = Verdict.UNKNOWN if len(answers) == 2 else Verdict.YES if True in answers else Verdict.NO
    verdict = scope.decide(query.claim)
    assert verdict in (expected, Verdict.UNKNOWN), f"{query.claim} given {text}: {verdict}"
    return verdict is expected


# -- the same checks, with cases that shrink -------------------------------------------------------------------


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_no_small_case_is_contradicted(rng):
    check_verdicts(rng, random_claims.general_claim, ranged=False)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_every_small_case_is_decided(rng):
    check_complete(rng)


def test_ranges_with_equal_hashes_are_different():
    """Python hashes an integer modulo 2**61 - 1, so a table keyed by hashes would confuse two ranges."""
    n, m = expr.variable("n"), expr.variable("m", 1)
    claim = at_least(10**12 * m, n * n * m)
    verdicts = []
    for most in (10**6, 10**6 + 2**61 - 1):
        scope = Scope()
        scope.constrain(Condition("constraint", at_least(most, n), "test", "given"))
        verdicts.append(scope.decide(claim))
    assert verdicts == [Verdict.YES, Verdict.UNKNOWN]
