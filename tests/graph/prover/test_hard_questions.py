"""Test hard and hostile questions about sizes: each ends soon in a true answer, in no answer, or in an error.

The clock guards against hanging; it is not a benchmark.
"""

import contextlib
import faulthandler
import functools
import io
import itertools
import math
import random
import signal
import sys

import numpy as np
import pytest

import anyshape
from anyshape.errors import AnyshapeError, ContradictionError, InconclusiveDimensionError, ProgramFileError, SpecError
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.spec_parser import parse_relation
from anyshape.graph.signature.guards import drop_implied
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, variable, variables
from anyshape.graph.sizes.substitute import evaluate, values_from
from tests.graph.prover import random_claims
from tests.graph.prover.fact_table import names
from tests.program import damaged_files

SECONDS = 20  # of the time of this process, so that a busy machine makes no difference
OPEN, ANY = "open", "any"  # true for some sizes; contradictory constraints, for which every answer is true


class TooLong(BaseException):
    """Not an Exception, so that no handler takes it for an error of the library."""


@contextlib.contextmanager
def within(seconds=SECONDS):
    """Fail if the block takes longer; end the process if even a signal does not stop the block."""

    def stop(signum, frame):
        raise TooLong(f"took more than {seconds} s")

    faulthandler.dump_traceback_later(12 * seconds, exit=True, file=sys.__stderr__)
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


def ask(claim, *constraints):
    """Return True or False if the answer is proved, else None."""
    scope = anyshape.SymbolicScope()
    anyshape.symbolic_shape(", ".join(names(claim, *constraints)), constraints=constraints, scope=scope)
    query, *preconditions = parse_relation(claim, scope.names.get).claims
    for precondition in preconditions:
        scope.assume(Condition("assertion", precondition, "test", "undefined otherwise"))
    try:
        return scope.branch_on(query, None)
    except InconclusiveDimensionError:
        return None


def check(truth, claim, *constraints):
    with within():
        try:
            answer = ask(claim, *constraints)
        except AnyshapeError as error:
            assert len(str(error).splitlines()) >= 2  # what happened, and what to do
            if isinstance(error, ContradictionError):
                assert truth is ANY
            return
    if truth is not ANY:
        assert answer in (None, truth), f"the answer was {answer}"


def word(i):
    """Return the i-th name, made of letters only."""
    return "v" + "".join(chr(ord("a") + int(d)) for d in str(i))


def words(count):
    return [word(i) for i in range(count)]


def each(template, count):
    """Fill the template with each of so many names."""
    return [template.format(w) for w in words(count)]


def nested(template, depth, inner="n"):
    """Nest the template in itself."""
    for _ in range(depth):
        inner = template.format(inner)
    return inner


def primes(count):
    return list(itertools.islice((p for p in itertools.count(2) if all(p % q for q in range(2, p))), count))


MODULI = range(102, 2, -1)


# -- texts -----------------------------------------------------------------------------------------------------

LONG = {
    "a number of 5,000 digits": (OPEN, f"n >= {'9' * 5000}"),
    "a hexadecimal number of 10,000 digits": (OPEN, f"n >= 0x{'f' * 10_000}"),
    "a large sum of large numbers": (True, f"n + {'+'.join(['9' * 30] * 100)} >= n"),
    "a coefficient of 300 digits": (True, f"{'7' * 300}*n >= n"),
    "a sum of 10,000 names": (True, f"{' + '.join(words(10_000))} >= 0"),
    "a sum of 10,000 times one name": (True, f"{' + '.join(['n'] * 10_000)} == 10000*n"),
    "10,000 differences": (OPEN, f"{' - '.join(words(10_000))} >= 0"),
    "a product of 100 names": (True, f"{'*'.join(words(100))} >= 0"),
    "a product of 2,000 times one name": (True, f"{'*'.join(['n'] * 2000)} >= 0"),
    "a product of 40 sums": (True, f"{'*'.join(['(a + b + c + d)'] * 40)} >= 0"),
    "a product of 30 sums of different names": (
        True,
        f"{'*'.join(f'({x}x + {x}y)' for x in 'abcdefghijklmnopqrstuvwxyzabcd')} >= 0",
    ),
    "2,000 brackets": (True, f"{'(' * 2000}n{')' * 2000} >= 0"),
    "5,000 signs": (True, f"{'-' * 5000}n >= 0"),
    "300 halves": (True, f"{nested('({} + 1)//2', 300)} <= n + 1"),
    "1,000 maxima in one another": (True, f"{nested('max({}, 1)', 1000)} >= n"),
    "300 maxima of names in one another": (
        True,
        f"{''.join(f'max({w}, ' for w in words(300))}n{')' * 300} >= n",
    ),
    "100 maxima and minima in turn": (
        True,
        f"{''.join(f'max({w}, min({w}w, ' for w in words(50))}n{'))' * 50} >= va",
    ),
    "100 remainders in one another": (True, f"{functools.reduce(lambda x, k: f'({x}*3 + 1) % {k}', MODULI, 'n')} <= 2"),
    "100 quotients by names": (True, f"n{''.join(f'//({w} + 1)' for w in words(100))} <= n"),
    "quotients in divisors": (True, "a//(b//(c//(d//(e//(f + 1) + 1) + 1) + 1) + 1) <= a"),
    "a maximum of 1,000 names": (True, f"max({', '.join(words(1000))}) >= vjj"),
    "a name of 100,000 letters": (True, f"{'n' * 100_000} >= 0"),
}


@pytest.mark.parametrize(("truth", "claim"), LONG.values(), ids=LONG)
def test_long_texts_are_answered_or_refused_soon(truth, claim):
    check(truth, claim)


UNREADABLE = [
    "2.5", "1e3", "inf()", "a + a a", "a ^ b", "a; a", ")(", "(a", "a)", "a,,b", "2a", "a@", "'a'", "a.b",
    "a[0]", "max()", "max(", "min(a b)", "a//0", "a % 0", "a % (b - b)", "a/2", "a == b", "a if b else 1", "*a",
    "lambda: 1", "__import__('os')", "print(1)", "a**b", "a**-1", "a\0b", "a\ud800", "\ud800", "a := 3", "0b12", "a**a",
    "1_000_", "a" + "(" * 5000, "(" * 5000, "-" * 5000, "a + " * 5000, "max(" * 3000, "a//0" + "//2" * 3000, "½", "٣",
    "a\\", "#", "a # b", "a\n+", "mod(a)", "floordiv(a, b, c)", "..., 3", "_", "ceildiv(1)", "a @ b", "a & b", "~a",
    "a << 1", "not a", "a and b", "f'{a}'", "{a}", "[a]", "(a, (b))c",
]  # fmt: skip


@pytest.mark.parametrize("spec", UNREADABLE, ids=lambda s: ascii(s)[:24])
def test_unreadable_specifications_are_refused_soon(spec):
    with within(), pytest.raises(SpecError) as caught:
        anyshape.symbolic_shape(spec)
    assert len(str(caught.value)) < 3 * len(spec) + 1000


UNREADABLE_CONSTRAINTS = [
    "", "a", "a >", ">= a", "a >= ", "a >= b >= 1", "a = b", "a => b", "a >= 1.5", "a >= 1 and a >= 2", "a in b",
    "a >= 'b'", "a >= 0 # b", "a is b", "not a >= b", "a <> b", "a >=\0 b", "a >= 1//0", "a >= (", "zzz >= 1",
]  # fmt: skip


@pytest.mark.parametrize("text", UNREADABLE_CONSTRAINTS, ids=ascii)
def test_unreadable_constraints_are_refused_soon(text):
    with within(), pytest.raises(SpecError):
        anyshape.symbolic_shape("a, b", constraints=(text,))


NON_SIZES = [-1, 2.5, math.nan, math.inf, -math.inf, True, "n", None, 1j, np.float64(2), [3], -(10**40)]


@pytest.mark.parametrize("size", NON_SIZES, ids=str)
def test_a_value_that_is_no_size_is_refused(size):
    with pytest.raises(AnyshapeError):
        anyshape.ShapeDtypeStruct((size,))


# -- integer sets ----------------------------------------------------------------------------------------------


def knapsack():
    """Return weights and a sum that no subset of them has; the sum is not ruled out by parity."""
    rng = random.Random(3)
    weights = [rng.randrange(10**5, 10**6) for _ in range(14)]
    sums = {sum(s) for k in range(15) for s in itertools.combinations(weights, k)}
    total = next(t for t in itertools.count(sum(weights) // 2) if t not in sums)
    return False, f"{' + '.join(f'{k}*{w}' for k, w in zip(weights, words(14)))} == {total}", *each("{} <= 1", 14)


def pigeons(holes):
    """Return constraints that put one pigeon more than there are holes into different holes."""
    inside = [c for w in words(holes + 1) for c in (f"{w} >= 1", f"{w} <= {holes}")]
    return ANY, "va >= 1", *inside, *[f"{a} != {b}" for a, b in itertools.combinations(words(holes + 1), 2)]


def remainders(count):
    """Return that n is at least the product of the first primes minus 1 if each of them divides n + 1."""
    return True, f"n >= {math.prod(primes(count)) - 1}", *[f"n % {p} == {p - 1}" for p in primes(count)]


HARD = {
    "large coefficients": (OPEN, "123456789*a + 987654321*b == 1000000007*c + 5"),
    "large coefficients of one parity": (False, "1099511627776*a == 1099511627776*b + 549755813888"),
    "large numbers that have no common factor": (OPEN, "1000000007*a - 998244353*b == 1"),
    "the largest number that coins of 6, 10 and 15 do not make": (False, "6*a + 10*b + 15*c == 29"),
    "a number that coins of 6, 10 and 15 make": (OPEN, "6*a + 10*b + 15*c == 60"),
    "coins of 1009, 1013 and 1019": (OPEN, "1009*a + 1013*b + 1019*c == 123456"),
    "a knapsack": knapsack(),
    "5 pigeons": pigeons(4),
    "9 pigeons": pigeons(8),
    "remainders by 6 primes": remainders(6),
    "remainders by 12 primes": remainders(12),
    "12 maxima": (
        True,
        f"{' + '.join(f'max({w}x, {w}y)' for w in words(12))} >= {' + '.join(f'{w}x' for w in words(12))}",
    ),
    "30 maxima and minima": (
        True,
        f"{' + '.join(f'max({w}x, {w}y) + min({w}x, {w}y)' for w in words(30))}"
        f" == {' + '.join(f'{w}x + {w}y' for w in words(30))}",
    ),
    "the least of 30 is no more than their mean": (
        True,
        f"30*min({', '.join(words(30))}) <= {' + '.join(words(30))}",
    ),
    "quotients by 15 primes": (
        True,
        f"{' + '.join(f'{p}*(n//{p})' for p in primes(15))} <= 15*n",
    ),
    "remainders of remainders": (
        True,
        "min(max(a % 7, b//3), max(b % 5, a//2)) + (a*3 % 11*5 % 13*7 % 17) % 3 + (a//3 + b//5) % 7 % 4 <= a + b + 5",
    ),
    "a sum of 300 names, each at least the next": (
        True,
        f"va >= {word(299)}",
        *[f"{a} >= {b}" for a, b in itertools.pairwise(words(300))],
    ),
    "300 names, each one more than the next": (
        True,
        f"va == {word(299)} + 299",
        *[f"{a} == {b} + 1" for a, b in itertools.pairwise(words(300))],
    ),
    "60 disequalities": (True, "n >= 60", *[f"n != {k}" for k in range(60)]),
    "40 disequalities of 40 names": (True, "va >= 1", *[f"{w} != {k}" for k, w in enumerate(words(40))]),
    "200 alternatives": (True, "n >= 0", *[f"n % {k} != {k - 1}" for k in range(3, 203)]),
    "bounds of a billion": (True, "n*m <= 1000000000000000000", "n <= 1000000000", "m <= 1000000000"),
    "bounds of a billion, and remainders": (
        False,
        "n % 999999937 == n % 999999929 + 999999937",
        "n <= 1000000000",
    ),
    "no names": (True, "7 % 3 == 1"),
}


@pytest.mark.parametrize("case", HARD.values(), ids=HARD)
def test_hard_questions_are_answered_soon(case):
    check(*case)


# -- products: undecidable in general ---------------------------------------------------------------------------

PRODUCTS = {
    "squares that sum to a square": (OPEN, "a*a + b*b == c*c", "a >= 1", "b >= 1"),
    "cubes that sum to a cube": (False, "a*a*a + b*b*b == c*c*c", "a >= 1", "b >= 1"),
    "the root of 2": (False, "a*a == 2*b*b", "b >= 1"),
    "an equation whose least solution has ten digits": (OPEN, "x*x == 61*y*y + 1", "y >= 1"),
    "the factors of a prime": (False, "a*b == 1000003", "a >= 2", "b >= 2"),
    "the factors of a product": (OPEN, "a*b == 1000001", "a >= 2", "b >= 2"),
    "sums of three cubes": (OPEN, "a*a*a + b*b*b == c*c*c + d*d*d", "a > c", "a > d"),
    "a product of 8": (True, "a*b*c*d*e*f*g*h >= a", *[f"{x} >= 1" for x in "bcdefgh"]),
    "products of sums": (True, "(a*b + c*d)*(a*c + b*d)*(a*d + b*c) >= 0"),
    "a remainder of products": (True, "a*b*c % 7 <= 6"),
    "quotients of products": (True, "(a*b)//c*c <= a*b", "c >= 1"),
    "quotients by three names": (True, "a//b//c//d <= a", "b >= 1", "c >= 1", "d >= 1"),
    "a polynomial of degree 12": (True, f"{'*'.join(['(a + 2*b)'] * 12)} >= {'*'.join(['a'] * 12)}"),
    "maxima of products": (True, "max(a*b, b*c, c*d, d*a) >= min(a*b, b*c, c*d, d*a)"),
    "20 products": (True, f"{' + '.join(f'{w}x*{w}y' for w in words(20))} >= 0"),
    "20 squares": (OPEN, f"{' + '.join(f'{w}*{w}' for w in words(20))} == 7"),
}


@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_questions_about_products_are_answered_soon(case):
    check(*case)


# -- circular equalities ----------------------------------------------------------------------------------------

CIRCLES = {
    "three names": (True, "a == c", "a == b", "b == c", "c == a"),
    "there and back": (True, "a == b + 1", "a == b + 1", "b == a - 1"),
    "halves": (True, "a <= 1", "a == ceildiv(b, 2)", "b == ceildiv(a, 2)"),
    "a size and its half": (True, "2*b >= a", "a == a//2 + b", "b >= 0"),
    "maxima": (True, "a == c", "a == max(a, b)", "b == max(b, c)", "c == max(c, a)"),
    "its own multiple": (OPEN, "b == 1", "a == a*b"),
    "products": (True, "a == b", "a == b*c", "b == a*c", "c == a*b"),
    "remainders": (OPEN, "a == 0", "a == a % (b + 1)", "b == b % (a + 3)"),
    "broadcasts": (OPEN, "a == 1", "a == broadcast(a, b)", "b == broadcast(b, a)"),
    "each defined by the other": (OPEN, "a == b", "a == max(b, 1)*2 - b", "b == b*1"),
    "a square": (True, "a <= 1", "a == a*a"),
    "of 100 names": (
        True,
        f"va == {word(57)}",
        *[f"{a} == {b}" for a, b in itertools.pairwise(words(100))],
        f"{word(99)} == va",
    ),
}


@pytest.mark.parametrize("case", CIRCLES.values(), ids=CIRCLES)
def test_circular_equalities_are_answered_soon(case):
    check(*case)


@pytest.mark.parametrize(
    "constraints",
    [
        ("a == b + 1", "b == c + 1", "c == a + 1"),
        ("a > b", "b > c", "c > a"),
        ("a == 2*b", "b == 2*a", "a >= 1"),
        ("a == a + 1",),
        ("a != a",),
        ("2*a == 2*b + 1",),
        ("a == max(a, b) + 1",),
        ("a % 2 == 0", "a % 2 == 1"),
        ("a >= 3", "a//2 == 0"),
    ],
    ids=lambda c: " and ".join(c),
)
def test_contradictory_circles_are_refused(constraints):
    with within(), pytest.raises(ContradictionError):
        anyshape.symbolic_shape("a, b, c", constraints=constraints)


# -- sizes built by a program ----------------------------------------------------------------------------------

GROWTH = {
    "squares": lambda n, m: repeat(lambda x: x * x + m, n, 40),
    "products of sums": lambda n, m: repeat(lambda x: (x + m) * (x + 1), n, 25),
    "a sum of 3,000 multiples": lambda n, m: sum(k * (n // k) for k in range(1, 3001)),
    "halves": lambda n, m: repeat(lambda x: (x + m) // 2, n, 400),
    "quotients by sizes": lambda n, m: repeat(lambda x: (x + n) // (m + 1), n, 200),
    "remainders": lambda n, m: repeat(lambda x: (3 * x + 1) % (m + 2) + x // 2, n, 60),
    "maxima and minima": lambda n, m: repeat(lambda x: max(max(n, 3) + m, 2) - (x - 1) // 3, n, 60),
    "doubled": lambda n, m: repeat(lambda x: x + x // 2 * m, n, 60),
    "powers": lambda n, m: repeat(lambda x: x**3 + 1, n, 12),
    "a large power": lambda n, m: (n + m) ** 500,
    "a power of a name": lambda n, m: n**10_000,
    "a tower": lambda n, m: repeat(lambda x: x // 2 + (x + 1) // 2 + x // 3, n, 40),
}


def repeat(step, start, count):
    for _ in range(count):
        start = step(start)
    return start


@pytest.mark.parametrize("grow", GROWTH.values(), ids=GROWTH)
def test_sizes_that_grow_in_a_loop_are_right_or_refused(grow):
    """A size that a loop makes has the value of the same loop over ints, or it is refused."""
    n, m = anyshape.symbolic_shape("n, m")
    with within():
        try:
            size = grow(n, m)
            len(str(size))
        except AnyshapeError:
            return
    for x, y in ((0, 0), (3, 1), (5, 4)):
        at = {v: {"n": x, "m": y}[v.name] for v in variables(size.expr)}
        assert evaluate(size.expr, values_from(at)) == grow(x, y)


# -- many sizes, large numbers ---------------------------------------------------------------------------------


def wide_claim(rng, w):
    """Return a claim of some depth, one side with a large factor or modulus."""
    left, right = random_claims.general(rng, w, rng.randint(1, 3)), random_claims.general(rng, w, rng.randint(0, 2))
    number = random_claims.constant(w, rng.randrange(1, 10 ** rng.randint(1, 15)))
    change = rng.choice((random_claims.mul, random_claims.divided, random_claims.remainder, lambda x, k: x))
    return random_claims.claim(rng, change(left, number), right)


def check_wide(number):
    rng = random.Random(f"wide {number}")
    w = random_claims.wide_world(rng)
    with within():
        constraints, where = random_claims.satisfiable(rng, w, wide_claim, 8)
        scope = random_claims.scope_of(constraints)
        for _ in range(2):
            query = wide_claim(rng, w)
            if (where & query.valid).any():
                random_claims.check_sound(w, constraints, where, query, scope.decide(query.claim))
                low, high = scope.bounds(query.claim.left)
                assert low is None or high is None or low <= high
                scope.witnesses(query.claim)


SLOW = [pytest.param(range(n, n + 50), marks=pytest.mark.slow) for n in range(50, 500, 50)]


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(12), *SLOW], ids=str)
def test_claims_of_many_sizes_and_large_numbers_get_sound_answers(numbers):
    for number in numbers:
        check_wide(number)


# -- many hard conditions at once ------------------------------------------------------------------------------


def strip(rng, w):
    """Return a multiple of a remainder or quotient by a small number, plus a multiple of a size."""
    change = rng.choice((random_claims.divided, random_claims.remainder))
    inner = change(random_claims.variable(w, rng.choice(w.variables)), random_claims.constant(w, rng.randint(2, 40)))
    more = random_claims.mul(
        random_claims.variable(w, rng.choice(w.variables)), random_claims.constant(w, rng.randint(1, 9))
    )
    return random_claims.add(random_claims.mul(inner, random_claims.constant(w, rng.randint(1, 50))), more)


def dense(largest):
    """Return a generator of sums over all names."""

    def make(rng, w):
        parts = [
            random_claims.mul(random_claims.variable(w, v), random_claims.constant(w, rng.randint(-largest, largest)))
            for v in w.variables
        ]
        return functools.reduce(random_claims.add, parts, random_claims.constant(w, rng.randint(-largest, largest)))

    return make


def wide_quotient(rng, w):
    """Return the quotient of a sum over all names."""
    return random_claims.divided(dense(50)(rng, w), random_claims.constant(w, rng.randint(2, 40)))


def extremum(rng, w):
    return rng.choice((random_claims.largest, random_claims.smallest))(*[dense(9)(rng, w) for _ in range(3)])


def mixed(rng, w):
    return rng.choice((strip, dense(3), wide_quotient, extremum))(rng, w)


def many_names(count):
    """Return a world of so many sizes, at a few random assignments of them."""
    rng = np.random.default_rng(count)
    variables = tuple(DimVar(word(i), 0, None) for i in range(count))
    return random_claims.World(variables, {v: rng.integers(0, 50, 40) for v in variables}, 40)


SYSTEMS = {
    "remainders and quotients": (strip, 8),
    "dense sums": (dense(60), 20),
    "dense sums of large numbers": (dense(10**9), 12),
    "quotients of sums": (wide_quotient, 12),
    "extrema of sums": (extremum, 8),
    "all of these": (mixed, 16),
}
SECONDS_OF_QUESTION = 6  # of this process: a few times the longest that was seen


def hard_conditions(make, names, count, seed):
    rng, w = random.Random(seed), many_names(names)
    return [random_claims.claim(rng, make(rng, w), make(rng, w), ("==", ">=", "!=")).claim for _ in range(count)]


@pytest.mark.parametrize("seed", [0, *[pytest.param(s, marks=pytest.mark.slow) for s in range(1, 15)]])
@pytest.mark.parametrize(("make", "names"), SYSTEMS.values(), ids=SYSTEMS)
def test_no_question_hangs_under_hard_conditions(make, names, seed):
    """The assumptions may contradict each other, so any answer is right, but each must come soon."""
    *assumed, query, other = hard_conditions(make, names, 42, seed)
    scope = Scope()
    for claim in assumed:
        scope.assume(Condition("assertion", claim, "test", "given"))
    questions = [
        lambda: scope.decide(query),
        lambda: scope.same(query.left, query.right),
        lambda: scope.same(assumed[0].left, other.right),
        lambda: scope.bounds(query.left),
        lambda: scope.simplest(other.left),
        lambda: scope.witnesses(other),
    ]
    for question in questions:
        with within(SECONDS_OF_QUESTION):
            question()


@pytest.mark.parametrize(("make", "names"), SYSTEMS.values(), ids=SYSTEMS)
def test_no_declaration_hangs_after_hard_declarations(make, names):
    scope = Scope()
    with within():
        for claim in hard_conditions(make, names, 30, 1):
            with contextlib.suppress(ContradictionError):
                scope.constrain(Condition("constraint", claim, "test", "given"))


@pytest.mark.parametrize(("make", "names"), SYSTEMS.values(), ids=SYSTEMS)
def test_redundant_conditions_are_found_soon(make, names):
    conditions = [Condition("guard", claim, "test", "asked") for claim in hard_conditions(make, names, 60, 2)]
    with within(SECONDS_OF_QUESTION):
        assert drop_implied(conditions)


def test_a_trace_with_60_hard_decisions_ends():
    """The call takes the path of Python for any question."""

    def f(*arrays):
        sizes = [x.shape[0] for x in arrays]
        rng = random.Random(4)
        count = 0
        for i in range(60):
            a, b, c, d = (rng.choice(sizes) for _ in range(4))
            k, factor, modulus = rng.randint(2, 40), rng.randint(1, 50), rng.randint(2, 40)
            left, right = factor * (a % k) + b, factor * (c // modulus) + 3 * d
            count += (left == right, left >= right, left != right)[i % 3]
        return arrays[0] * count

    arrays = [np.ones(n) for n in (3, 17, 40, 8, 25, 31, 2, 12)]
    expected = f(*arrays)
    with within():
        np.testing.assert_array_equal(anyshape.jit(f)(*arrays), expected)


@pytest.mark.slow
def test_a_file_of_many_hard_conditions_is_loaded_or_refused_soon():
    base = damaged_files.saved(anyshape.export(lambda x: x * 2)(anyshape.ShapeDtypeStruct("n")))

    def with_conditions(program):
        graph, rng = program["graph"], random.Random(5)
        graph["variables"] = [{"name": w, "label": w, "lower": 0, "upper": None} for w in words(8)]
        graph["sizes"] = [[[1, [[["variable", i], 1]]]] for i in range(8)]
        graph["inputs"] = [{"dtype": "float64", "shape": [{"size": i} for i in range(8)]}]
        graph["nodes"], graph["input_names"] = [], []
        graph["outputs"] = [0]
        for i in range(200):
            call = [["floordiv", "mod"][i % 2], {"size": rng.randrange(8)}, rng.randint(2, 40)]
            parts = [[rng.randint(1, 50), [[call, 1]]], [rng.randint(1, 9), [[["variable", rng.randrange(8)], 1]]]]
            graph["sizes"].append(parts)
        graph["conditions"] = [
            {
                "kind": ("constraint", "assertion", "guard")[i % 3], "relation": ("==", ">=", "!=")[i % 3],
                "left": {"size": rng.randrange(208)}, "right": {"size": rng.randrange(208)}, "text": "",
                "primitive": "", "why": "", "line": None,
            }
            for i in range(200)
        ]  # fmt: skip

    data = damaged_files.rewritten(base, with_conditions)
    with within(), contextlib.suppress(ProgramFileError):
        anyshape.load(io.BytesIO(data))


def broadcasts(a, b):
    return Claim("broadcasts", a, b)


def stretches(a, b):
    return Claim("stretches", a, b)


def test_facts_beside_those_of_a_proof_do_not_hide_it():
    x, y, p, r, s, t, u = (variable(name) for name in "xyprstu")
    rest = expr.maximum(x - u, 0)
    needed = [at_least(y, t), broadcasts(t, rest), stretches(expr.broadcast(t, rest), t)]
    others = [
        at_least(p, 1), at_least(x, r), at_least(p, s), at_least(x, u), broadcasts(y, x),
        stretches(expr.broadcast(x, y), y), stretches(expr.maximum(x - r, 0), u),
    ]  # fmt: skip
    claim = equal(expr.broadcast(rest, expr.minimum(t, y)), t)
    for count in range(len(others) + 1):
        for more in itertools.combinations(others, count):
            scope = Scope()
            for fact in (*more, *needed):
                scope.assume(Condition("constraint", fact, "test", "", None))
            assert scope.decide(claim) is Verdict.YES, [str(fact) for fact in more]
