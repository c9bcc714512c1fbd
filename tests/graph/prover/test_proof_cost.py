"""Test how many questions programs ask about undeclared sizes, and what stays known of the answers.

Questions are counted: a clock would measure the machine.
"""

import itertools
import random

import numpy as np
import pytest

import anyshape
from anyshape.errors import CostlyProofWarning
from anyshape.graph.prover import decide as decide_module
from anyshape.graph.prover import scope as scope_module
from anyshape.graph.prover.assumptions import Assumptions, EqualClasses
from anyshape.graph.prover.constraints import Claim, Claims, Condition, Verdict, at_least, equal
from anyshape.graph.prover.integer_sets import IntegerSet
from anyshape.graph.prover.models import KnownModels, Model, truth
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.search_budget import Budget, OutOfBudgetError, SearchBudget, search
from anyshape.graph.sizes import expr
from anyshape.transforms import sharing
from tests.graph.prover import random_claims
from tests.graph.prover.random_claims import check_sound, condition, scope_of

RNG = np.random.default_rng(0)


@pytest.fixture
def count(monkeypatch):
    """Return a function that counts the questions of a call: all that need work, and those to integer sets."""
    counts = {"decided": 0, "sets": 0}

    def counted(cls, name, key):
        method = getattr(cls, name)

        def wrapper(self, *args, **kwargs):
            counts[key] += 1
            return method(self, *args, **kwargs)

        monkeypatch.setattr(cls, name, wrapper)

    counted(Assumptions, "_decide", "decided")
    for name in ("find", "range", "points"):
        counted(IntegerSet, name, "sets")

    def run(function, *args):
        counts.update(decided=0, sets=0)
        gradient = anyshape.value_and_grad(function, argnums=tuple(range(len(args))))
        anyshape.jit(gradient, optimize="off")(*args)  # plans for patterns are made when calls pay for them
        return dict(counts)

    return run


# -- programs ----------------------------------------------------------------------------------------------------


def acceleration(pos, mass):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
    return np.hstack(((dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass))


def bodies(steps):
    def run(mass, pos, vel):
        vel = vel - np.mean(mass * vel, axis=0) / np.mean(mass)
        for _ in range(steps):
            vel = vel + acceleration(pos, mass) * 0.005
            pos = pos + vel * 0.01
        return np.sum(mass * vel**2)

    return run, (RNG.random((6, 1)), RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3)))


def diffusion():
    def run(field, out, coefficient):
        i, j, _ = out.shape
        laplacian = 4.0 * field[1 : i + 3, 1 : j + 3] - (
            field[2 : i + 4, 1 : j + 3] + field[0 : i + 2, 1 : j + 3]
            + field[1 : i + 3, 2 : j + 4] + field[1 : i + 3, 0 : j + 2]
        )  # fmt: skip
        flux = laplacian[1:, 1 : j + 1] - laplacian[:-1, 1 : j + 1]
        x = np.where(flux * (field[2 : i + 3, 2 : j + 2] - field[1 : i + 2, 2 : j + 2]) > 0, 0, flux)
        flux = laplacian[1 : i + 1, 1:] - laplacian[1 : i + 1, :-1]
        y = np.where(flux * (field[2 : i + 2, 2 : j + 3] - field[2 : i + 2, 1 : j + 2]) > 0, 0, flux)
        return np.sum((field[2 : i + 2, 2 : j + 2] - coefficient * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])) ** 2)

    return run, (RNG.normal(size=(8, 9, 4)), RNG.normal(size=(4, 5, 4)), RNG.normal(size=(4, 5, 4)))


def fluid(steps):
    def run(u, v, p):
        for _ in range(steps):
            b = (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1]) ** 2
            p = p.at[1:-1, 1:-1].set((p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]) / 4 - b)
            p = p.at[:, -1].set(p[:, -2]).at[0].set(p[1])
            u = u.at[1:-1, 1:-1].set(u[1:-1, 1:-1] * (u[1:-1, 1:-1] - u[1:-1, :-2]) - v[1:-1, 1:-1] * p[2:, 1:-1])
            v = v.at[1:-1, 1:-1].set(v[1:-1, 1:-1] * (v[1:-1, 1:-1] - v[:-2, 1:-1]) - p[1:-1, 2:])
        return np.sum(u**2) + np.sum(v**2)

    return run, tuple(RNG.normal(size=(8, 9)) for _ in range(3))


def slices(offsets):
    def run(x, y):
        n, m = x.shape[0], y.shape[0]
        return sum(np.sum(x[a : n - b - 1] * y[a + 1 : m - b]) for a in range(offsets) for b in range(offsets))

    return run, (RNG.normal(size=80), RNG.normal(size=80))


def fdtd(steps):
    def run(e, h, g, c):
        for _ in range(steps):
            h = h - (e[:, 1:] - e[:, :-1])
            g = g + (e[1:] - e[:-1])
            e = np.pad(e[1:-1, 1:-1] + c[1:-1, 1:-1] * (g[1:, 1:-1] - g[:-1, 1:-1] - h[1:-1, 1:] + h[1:-1, :-1]), 1)
        return np.sum(e**2)

    return run, (np.ones((12, 9)), np.ones((12, 8)), np.ones((11, 9)), np.ones((12, 9)))


def windows(number):
    """Windows from each position, one after the other: the loop is unrolled."""
    return lambda x, y: sum(np.sum(x[k:] * y[k:]) for k in range(number)), (np.ones(50), np.ones(50))


PROGRAMS = {  # with the most questions to integer sets
    "bodies": (bodies(3), 130),
    "diffusion": (diffusion(), 5),
    "fluid": (fluid(2), 90),
    "slices": (slices(5), 80),
    "fdtd": (fdtd(1), 25),
    "windows": (windows(40), 5),
}


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_undeclared_sizes_ask_few_hard_questions(count, name):
    (run, args), most = PROGRAMS[name]
    counts = count(run, *args)
    assert counts["decided"] > 0
    assert counts["sets"] <= most


def test_searches_in_vain_come_to_an_end(count):
    """Each step of this stencil brings sizes whose equality no search decides."""
    two, four = (count(*as_call(fdtd(steps)))["sets"] for steps in (2, 4))
    assert four <= 2 * two


@pytest.mark.parametrize("make", [bodies, fluid], ids=lambda f: f.__name__)
def test_further_steps_of_a_loop_ask_nothing_hard(count, make):
    few, many = (count(*as_call(make(steps)))["sets"] for steps in (2, 5))
    assert many <= few * 1.25


def as_call(made):
    function, args = made
    return (function, *args)


def total(parameters, x):
    return sum(((x * p) ** 2).sum() for p in parameters)


def dense(parameters, x):
    for w, b in parameters:
        x = np.tanh(x @ w + b)
    return (x * x).sum()


def vectors(n):
    return total, [np.ones(3) for _ in range(n)], np.ones(3)


def layers(n):
    return dense, [(np.eye(4), np.ones(4)) for _ in range(n)], np.ones((2, 4))


@pytest.mark.parametrize("make", [vectors, layers], ids=lambda f: f.__name__)
def test_each_parameter_costs_as_much_as_the_one_before(count, make):
    small, large = (count(*make(n)) for n in (10, 20))
    assert large["decided"] <= 2.1 * small["decided"]
    assert large["sets"] <= 2.1 * small["sets"] + 10


def test_parameters_ask_integer_sets_nothing(count):
    assert count(*vectors(30))["sets"] == 0


def rows(steps):
    def run(w, x):
        h = x[0] @ w
        for t in range(1, steps):
            h = np.tanh(x[t] + h @ w)
        return np.sum(h)

    return run, np.eye(3), np.ones((steps, 3))


def while_rows(steps):
    def run(x):
        i, total = 0, 0.0
        while i < x.shape[0]:
            total, i = total + x[i] * x[i], i + 1
        return total

    return run, np.ones(steps)


@pytest.mark.parametrize("make", [rows, while_rows], ids=lambda f: f.__name__)
def test_each_row_of_a_loop_costs_as_much_as_the_one_before(monkeypatch, make):
    """A row demands a larger size than the one before: distances to all of these bounds would grow as their square."""
    measured, distance = [], decide_module.expr.combination_terms

    def counted(*parts):
        measured[-1] += 1
        return distance(*parts)

    monkeypatch.setattr(decide_module.expr, "combination_terms", counted)
    programs = []
    for steps in (30, 60, 90):
        measured.append(0)
        sharing.forget()  # functions of one code share programs
        function, *args = make(steps)
        jitted = anyshape.jit(function)
        jitted(*args)
        programs += jitted.programs()
    assert measured[2] - measured[1] <= measured[1] - measured[0] + 10
    assert [len(p.graph.conditions) for p in programs] == [len(programs[0].graph.conditions)] * 3


def test_costly_proofs_are_reported_once_in_the_words_of_the_caller(monkeypatch):
    monkeypatch.setattr(scope_module, "_COSTLY_SECONDS", 0.0)
    run, args = diffusion()
    step = anyshape.jit(run)
    with pytest.warns(CostlyProofWarning, match="proofs about sizes") as caught:
        step(*args), step(*args)
    (warning,) = [w for w in caught if w.category is CostlyProofWarning]
    assert "coefficient.shape[" in str(warning.message) and "dynamic_shapes" in str(warning.message)
    assert warning.filename == __file__


def test_cheap_proofs_are_not_reported(recwarn):
    anyshape.jit(lambda x, y: x + y)(np.ones(3), np.ones(3))
    assert not recwarn.list


# -- what stays known --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(60))
def test_sizes_that_are_proved_equal_stand_for_each_other(number):
    """Questions about sizes of one class, before and after further constraints, get true answers."""
    rng = random.Random(f"classes {number}")
    w = random_claims.world(rng)
    sizes = [random_claims.general_claim(rng, w, 2).claim.left for _ in range(4)]
    sizes += [expr.broadcast(a, b) for a, b in itertools.pairwise(sizes)]
    constraints, where = random_claims.satisfiable(rng, w, random_claims.general_claim, 3)
    scope = scope_of(constraints[:1])
    for new in constraints[1:]:
        for a in sizes:
            for b in sizes:
                scope.same(a, b)
        scope.constrain(condition(new))
    for _ in range(6):
        query = random_claims.general_claim(rng, w, 2)
        if (where & query.valid).any():
            check_sound(w, constraints, where, query, scope.decide(query.claim))


def test_sizes_that_claims_state_as_numbers_are_tried_before_a_search(monkeypatch):
    """A bias of a recurrent layer broadcasts to 16 and need not be 16, nor need the weights of its states be."""
    rows, columns, bias = sizes = [expr.variable(name) for name in "abc"]
    whole = expr.broadcast(expr.broadcast(rows, columns), bias)
    known = [Claim("broadcasts", rows, columns), Claim("broadcasts", expr.broadcast(rows, columns), bias)]
    claims = [*known, equal(whole, 16)]
    scope = Scope(conditions=[Condition("constraint", c, "test", "given") for c in claims])
    monkeypatch.setattr(IntegerSet, "find", None)
    assert not any(scope.same(size, 16) for size in (*sizes, expr.broadcast(rows, columns)))


def test_equality_is_transitive_without_a_search(monkeypatch):
    scope = Scope()
    n = expr.variable("n")
    longer = [expr.maximum(n - 1, 0) + expr.minimum(n, 1), expr.maximum(n - 2, 0) + expr.minimum(n, 2)]
    assert all(scope.same(size, n) for size in longer)
    monkeypatch.setattr(IntegerSet, "find", None)
    assert scope.same(*longer)


def test_the_shortest_size_stands_for_a_class():
    n, m = expr.variable("n"), expr.variable("m")
    classes = EqualClasses()
    classes.join(n + m, expr.maximum(n, m))
    classes.join(expr.maximum(n, m), m)
    copy = classes.copy()
    copy.join(m, 3)
    assert classes.shortest(n + m) is m
    assert copy.shortest(n + m) == 3
    assert classes.shortest(n) is n


def test_longer_slices_of_equal_slices_are_equal_without_a_search(monkeypatch):
    n, m = expr.variable("n"), expr.variable("m")
    clamped = lambda size, by: expr.maximum(size - by, 0)
    claims = [Claim("broadcasts", clamped(n, k), clamped(m, k)) for k in range(3)]
    scope = Scope(conditions=[Condition("constraint", c, "test", "given") for c in claims])
    assert scope.same(clamped(n, 2), clamped(m, 2))
    monkeypatch.setattr(IntegerSet, "find", None)
    assert all(scope.same(clamped(n, k), clamped(m, k)) for k in range(3, 40))
    assert not scope.proves_at_once(equal(n, m))


@pytest.mark.parametrize("number", range(20))
def test_what_stands_for_a_slice_is_equal_wherever_the_joined_ones_are(number):
    rng = random.Random(f"slices {number}")
    variables = [expr.variable(name) for name in "nmk"]
    sizes = [expr.maximum(v - by, 0) for v in variables for by in range(5)]
    classes, joined = EqualClasses(), []
    for _ in range(4):
        joined.append(rng.sample(sizes, 2))
        classes.join(*joined[-1])
    for values in itertools.product(range(7), repeat=3):
        model = Model({expr.variables(v)[0]: n for v, n in zip(variables, values, strict=True)})
        if all(truth(equal(a, b), model) for a, b in joined):
            assert all(truth(equal(size, classes.shortest(size)), model) for size in sizes)


def test_a_size_that_may_divide_by_zero_stands_for_no_other():
    n, m = expr.variable("n"), expr.variable("m")
    classes = EqualClasses()
    classes.join(n, expr.mul(expr.floordiv(n, m), m))
    assert classes.shortest(expr.mul(expr.floordiv(n, m), m)) is not n


def test_an_equality_that_rests_on_a_broadcast_is_not_used_elsewhere():
    a, b = expr.variable("a"), expr.variable("b")
    scope = Scope(conditions=[Condition("constraint", equal(b, 3), "test", "given")])
    assert scope.same(expr.broadcast(a, b), expr.maximum(a, 3))  # where a and 3 broadcast, which nobody said
    assert not scope.same(expr.maximum(a, 3), 3)
    assert scope.decide(Claim(">=", 3, a)) is Verdict.UNKNOWN


def test_a_question_that_was_given_up_is_asked_again_where_its_own_sizes_are_constrained():
    n, m, k = (expr.variable(name) for name in "nmk")
    assumptions = Assumptions()
    hard = equal(n * m * k * k, n * n * m)
    assumptions._verdicts.give_up(hard)
    assert not assumptions.proves(hard)
    assumptions.assume(Claim(">=", expr.variable("other"), n))
    assert assumptions._verdicts.is_given_up(hard)
    assumptions.assume(equal(n, k * k))
    assert not assumptions._verdicts.is_given_up(hard)
    assert assumptions.proves(hard)


@pytest.mark.parametrize("number", range(40))
def test_known_models_stay_models(number):
    rng = random.Random(f"models {number}")
    w = random_claims.world(rng)
    constraints, _ = random_claims.satisfiable(rng, w, random_claims.general_claim, 4)
    claims = Claims()
    models = KnownModels(claims, {})
    models.all()
    for constraint in constraints:
        claims.add(constraint.claim)
        models.note(constraint.claim)
        for _ in range(2):
            query = random_claims.general_claim(rng, w, 2).claim
            models.separate(query, [query, *claims])
        assert all(truth(c, Model(dict(m), m.make)) for c in claims for m in models.all())


# -- budgets -----------------------------------------------------------------------------------------------------


def test_optional_questions_get_few_parts_once_many_were_in_vain():
    budget = SearchBudget(4.0, 1.0, 0.01)
    allowed = []
    for _ in range(6):
        with budget.query(400), search(400, np.inf) as leaves:
            allowed.append(leaves.leaves)
            leaves.leaves = 0
    assert allowed == [400, 400, 400, 300, 40, 40]
    with budget.query(), search(400, np.inf) as leaves:
        assert leaves.leaves == 400  # a question that is not optional gets all


def test_most_optional_questions_are_not_searched_after_many_in_vain():
    budget = SearchBudget(4.0, 1.0, 0.01)

    def ask(answered=False):
        with budget.query(400) as work:
            allowed = work.leaves
            work.leaves, work.decided = max(0, allowed - 1), answered
        return allowed > 0

    searched = [ask() for _ in range(12 + 32)]
    assert all(searched[:12]) and sum(searched[12:]) == 4
    with budget.query() as work:
        assert work.leaves > 400  # a question that is not optional gets all
    while not ask(answered=True):
        pass
    assert all(ask() for _ in range(3))


def test_answered_questions_cost_nothing():
    budget = SearchBudget(4.0, 1.0, 0.01)
    for _ in range(20):
        with budget.query(400) as work, search(400, np.inf) as leaves:
            leaves.leaves, work.decided = 0, True
    with budget.query(400), search(400, np.inf) as leaves:
        assert leaves.leaves == 400


def test_a_search_ends_with_its_parts():
    leaves = Budget(2)
    leaves.take(), leaves.take()
    with pytest.raises(OutOfBudgetError):
        leaves.take()


def test_sizes_that_stretch_to_each_other_are_equal_without_a_search(monkeypatch):
    a, b, c = (expr.variable(name) for name in "abc")
    claims = [Claim("stretches", a, b), Claim("stretches", b, c), Claim("stretches", c, a)]
    monkeypatch.setattr(IntegerSet, "find", None)
    scope = Scope(conditions=[Condition("constraint", claim, "test", "given") for claim in claims])
    assert scope.same(a, b) and scope.same(c, b)
    assert scope.decide(Claim("!=", a, c)) is Verdict.NO
    assert not Scope(conditions=scope.conditions[:2]).proves_at_once(equal(a, b))


@pytest.mark.parametrize(
    "claims",
    [
        lambda a, b: [at_least(a, 2), at_least(a, b)],
        lambda a, b: [equal(expr.broadcast(a, b), expr.maximum(a, 2 * b))],
    ],
    ids=["bounds", "another size"],
)
def test_what_was_proved_of_a_broadcast_holds_for_the_size_that_it_equals_later(monkeypatch, claims):
    a, b, c = (expr.variable(name) for name in "abc")
    claims = [Claim("broadcasts", a, b), *claims(a, b)]
    scope = Scope(conditions=[Condition("constraint", claim, "test", "given") for claim in claims])
    assert scope.same(expr.broadcast(a, b), a)
    scope.assume(Condition("constraint", equal(c, expr.broadcast(a, b)), "test", "given"))
    scope.assume(Condition("constraint", Claim("stretches", a, b), "test", "given"))
    monkeypatch.setattr(IntegerSet, "find", None)
    assert scope.same(c, a)
    assert scope.same(b, a)
