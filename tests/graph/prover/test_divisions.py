"""Test what is known of quotients, remainders and products of sizes against every small assignment.

The test and the number of a case reproduce it. `pytest -m slow` runs thousands of cases.
"""

import itertools
import math
import random

import pytest

from anyshape.graph.prover.constraints import Verdict
from anyshape.graph.sizes import expr, polynomials
from tests.graph.prover import division_cases
from tests.graph.prover.division_cases import LARGEST, NAMES, Posed, claim_text, constraint_texts, size_text

TIMES_IN_SLOW_RUN = 25


def cases(count):
    """Parametrise a test by the numbers of its cases: `count` of them, and many more in the slow run."""
    many = [
        pytest.param(range(i * count, (i + 1) * count), marks=pytest.mark.slow, id=f"cases {i * count}..")
        for i in range(1, TIMES_IN_SLOW_RUN)
    ]
    return pytest.mark.parametrize("numbers", [pytest.param(range(count), id=f"{count} cases"), *many])


# -- verdicts --------------------------------------------------------------------------------------------------


@cases(80)
def test_a_verdict_holds_at_every_assignment(numbers):
    decided = 0
    for number in numbers:
        rng = random.Random(f"division verdicts {number}")
        constraints = constraint_texts(rng)
        posed = Posed(constraints)
        text, (claim, *_) = division_cases.readable(rng, claim_text, posed.claims)
        verdict = posed.scope.decide(claim)
        holds = division_cases.value(text)
        answers = {holds(point) for point in division_cases.points(constraints)} - {None}
        if verdict is not Verdict.UNKNOWN and answers:
            assert answers == {verdict is Verdict.YES}, f"{text} given {constraints}: {verdict}"
            decided += 1
    assert decided > len(numbers) // 4  # a prover that decides nothing is sound too


# -- bounds ----------------------------------------------------------------------------------------------------


@cases(60)
def test_bounds_contain_every_value(numbers):
    exact = known = 0
    for number in numbers:
        rng = random.Random(f"division bounds {number}")
        constraints = constraint_texts(rng)
        posed = Posed(constraints)
        text, size = division_cases.readable(rng, size_text, posed.size)
        low, high = posed.scope.bounds(size)
        at = division_cases.value(text)
        values = {at(point) for point in division_cases.points(constraints)} - {None}
        if not values:
            continue
        case = f"{low} <= {text} <= {high} given {constraints}, and it is {min(values)} to {max(values)}"
        assert low is None or low <= min(values), case
        assert high is None or high >= max(values), case
        if all(is_bounded(posed, name) for name in division_cases.names_in(text)):
            known += 1
            exact += (low, high) == (min(values), max(values))
    assert exact > 0.8 * known and known > len(numbers) // 20


def is_bounded(posed, name):
    """Return whether the constraints keep the size within the assignments that are tried."""
    high = posed.scope.upper(posed.sizes[name])
    return high is not None and high <= LARGEST


BOUNDS = [
    ("a // b", "a >= 1; b >= 1", 0, None),
    ("a // b", "b >= 1; a <= 11", 0, 11),
    ("a // b", "b >= 1; a >= 2*b", 2, None),
    ("a // b", "b >= 1; a <= 3*b + 1", 0, 4),
    ("a // b", "b >= 1; a < b", 0, 0),
    ("a // b", "a >= 12; b >= 1; b <= 5", 2, None),
    ("(a + b - 1) // b", "b >= 1", 0, None),
    ("(a + b - 1) // b", "a >= 1; b >= 1; a <= 11", 1, 11),
    ("(a + b - 1) // b", "a >= 1; b >= 1; a <= 2*b", 1, 2),
    ("a * b", "max(a, b) == 5", 0, 25),
    ("a * a * b", "max(a, b) == 5", 0, 125),
    ("a * b", "min(a, b) == 5", 25, None),
    ("a * b", "a + b <= 9", 0, 20),
    ("a - a // b * b", "b >= 1; a <= 11", 0, 11),
    ("a * a % 4", "", 0, 1),
    ("(a // b) // 2", "b >= 1; a >= 8*b; a <= 9*b", 4, 4),
]


@pytest.mark.parametrize(("text", "constraints", "low", "high"), BOUNDS)
def test_the_bounds_of_a_product_or_quotient(text, constraints, low, high):
    posed = Posed(filter(None, constraints.split("; ")))
    assert posed.scope.bounds(posed.size(text)) == (low, high)


# -- forms -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@cases(120)
def test_a_form_has_the_value_of_its_text(numbers):
    for number in numbers:
        rng = random.Random(f"division forms {number}")
        constraints = constraint_texts(rng)
        posed = Posed(constraints)
        text, size = division_cases.readable(rng, size_text, posed.size)
        at = division_cases.value(text)
        expected = {point: at(point) for point in division_cases.points(constraints)}
        try:
            forms = [size, posed.scope.normal(size), posed.scope.simplest(size)]
        except ZeroDivisionError:
            assert set(expected.values()) == {None}, f"{text} given {constraints}"
            continue
        for point in [p for p, number in expected.items() if number is not None]:
            actual = [posed.value(form, point) for form in forms]
            assert actual == [expected[point]] * 3, f"{text} given {constraints}: {forms} at {point}"


@cases(80)
def test_a_division_by_zero_stays_one_unless_the_divisor_is_known(numbers):
    """The sizes inside have no further division: a sum may cancel one, as `a // b - a // b` does."""
    for number in numbers:
        rng = random.Random(f"zero divisors {number}")
        constraints = constraint_texts(rng)
        posed = Posed(constraints)
        text, size = division_cases.readable(rng, division_cases.one_division, posed.size)
        normal, at = posed.scope.normal(size), division_cases.value(text)
        for point in itertools.product(range(4), repeat=len(NAMES)):
            assert (at(point) is None) == (posed.value(size, point) is None), f"{text} became {size} at {point}"
        for point in division_cases.points(constraints):
            assert (at(point) is None) == (posed.value(normal, point) is None), f"{text} became {normal} at {point}"


FORMS = [
    ("(a + b) // (a + b)", "a >= 1", "1"),
    ("(a + b) // (a + b)", "a + b >= 1", "1"),
    ("(a + b) // (a + b)", "", "(a + b) // (a + b)"),
    ("a // a", "a >= 1", "1"),
    ("a % a", "a >= 1", "0"),
    ("a*a // a", "a >= 1", "a"),
    ("a*a // a", "", "(a**2) // a"),
    ("0 // b", "b >= 1", "0"),
    ("0 // b", "", "0 // b"),
    ("0 % b", "b != 0", "0"),
    ("(a*b) // (b*c)", "b*c >= 1", "a // c"),
    ("(a*b) % (b*c)", "b >= 1; c >= 1", "b*(a % c)"),
    ("(a*a - b*b) // (a - b)", "a > b", "a + b"),
    ("(a // b) // 2", "", "a // (2*b)"),
    ("(a // b) // c", "", "a // (b*c)"),
    ("(a + b - 1) // b // 2", "", "(a + b - 1) // (2*b)"),
    ("a*(a + 1) % 2", "", "0"),
    ("a*(a + 1)*(a + 2) % 6", "", "0"),
    ("a**3 % 3", "", "a % 3"),
    ("(a*a + a) // 2 * 2", "", "a**2 + a"),
    ("(a*a) // 2 * 2 + a % 2", "", "a**2"),
]


@pytest.mark.parametrize(("text", "constraints", "expected"), FORMS)
def test_the_normal_form_of_a_division(text, constraints, expected):
    posed = Posed(filter(None, constraints.split("; ")))
    assert str(posed.scope.normal(posed.size(text))) == expected


def test_a_division_is_simplified_once_its_divisor_is_known():
    posed = Posed([])
    size = posed.size("a*b // b")
    assert posed.scope.normal(size) is size
    posed.scope.constrain(division_cases.condition(posed.claims("b >= 1")[0]))
    assert posed.scope.normal(size) is posed.sizes["a"]


# -- polynomials modulo a constant -----------------------------------------------------------------------------


def random_polynomial(rng, names="ab"):
    """Return a polynomial of up to four terms in sizes with these names."""
    sizes = [expr.variable(name) for name in names]
    terms = []
    for _ in range(rng.randint(1, 4)):
        powers = [expr.power(s, rng.randint(0, 4)) for s in sizes]
        terms.append(rng.randint(-6, 6) * math.prod(powers))
    return expr.total(terms), sizes


@cases(100)
def test_polynomials_with_equal_residues_have_one_form(numbers):
    for number in numbers:
        rng = random.Random(f"residues {number}")
        modulus = rng.randint(2, 9)
        size, sizes = random_polynomial(rng)
        other = size
        for x in sizes:  # k! divides each product of k factors that follow one another
            k = rng.randint(1, 4)
            falling = math.prod([x - i for i in range(k)])
            other += (
                rng.randint(-3, 3) * modulus // math.gcd(modulus, math.factorial(k)) * falling * x ** rng.randint(0, 1)
            )
        remainder = expr.mod(size, modulus)
        residues = {at: value_at(size, sizes, at) % modulus for at in itertools.product(range(modulus), repeat=2)}
        same = all(value_at(other, sizes, at) % modulus == r for at, r in residues.items())
        assert (expr.mod(other, modulus) is remainder or expr.mod(other, modulus) == remainder) == same
        assert all(value_at(remainder, sizes, at) == r for at, r in residues.items()), f"({size}) % {modulus}"
        low, high = expr.bounds(remainder)
        assert low <= min(residues.values()) and high >= max(residues.values())
        multiple = expr.mul(modulus, expr.floordiv(size, modulus))
        for at, residue in residues.items():
            assert value_at(multiple, sizes, at) == value_at(size, sizes, at) - residue


def value_at(size, sizes, point):
    return (
        size
        if isinstance(size, int)
        else division_cases.evaluate(size, dict(zip(map(expr.as_atom, sizes), point, strict=True)).__getitem__)
    )


def test_large_polynomials_are_left_as_they_are():
    x, y = expr.variable("x"), expr.variable("y")
    terms = expr.terms_of(x**30 * y**30 + 1)
    assert polynomials.canonical(terms, 7) is terms
    assert polynomials.range_of_residues(terms, 10**6) == (0, 10**6 - 1)


# -- decisions -------------------------------------------------------------------------------------------------

DECIDED = [
    ("(a // b) // 2 == a // (2*b)", "b >= 1"),
    ("(a // b) // 2 <= a // b", "b >= 1"),
    ("a // b - 2*(a // (2*b)) <= 1", "b >= 1"),
    ("a // (b*c) <= a // b", "b >= 1; c >= 1"),
    ("(a // b) % 2 == a // b - 2*(a // (2*b))", "b >= 1"),
    ("a*(a + 1) % 2 == 0", ""),
    ("a*a % 4 <= 1", ""),
    ("a*a % 8 != 5", ""),
    ("b*c*a == (b // 4)*c*a*4", "b % 4 == 0"),
    ("b*c*a == (b // 4)*c*a*4", "b == 4*(b // 4)"),
    ("b*c == (b // 4)*c*4 + c", "b % 4 == 1"),
    ("b*c*a // 4 == (b // 4)*c*a", "b % 4 == 0"),
    ("b*c % 4 == 0", "b % 12 == 8"),
    ("b*c % 12 == 0", "b % 4 == 0; b % 3 == 0"),
    ("(a + b)*c % 4 == 0", "(a + b) % 4 == 0"),
    ("b*c >= 4*c", "b % 4 == 0; b >= 1"),
    ("(a*b) // (c*b) == a // c", "b >= 1; c >= 1"),
    ("a*b <= 20", "a + b <= 9"),
    ("a*b != 19", "a + b <= 9"),
]


@pytest.mark.parametrize(("text", "constraints"), DECIDED)
def test_a_claim_about_divisions_is_decided(text, constraints):
    texts = [c for c in constraints.split("; ") if c]
    posed = Posed(texts)
    assert posed.scope.decide(posed.claims(text)[0]) is Verdict.YES
    holds = division_cases.value(text)
    assert {holds(point) for point in division_cases.points(texts)} - {None} == {True}
