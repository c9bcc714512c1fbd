"""Conditions of a program: implied ones are dropped, and the rest are as strong as all that a trace recorded.

Random decisions and preconditions at the sizes of a call are compared at every assignment in a box.
"""

import itertools
import random
import sys

import numpy as np
import pytest

from anyshape import jit
from anyshape.errors import InputSizeError, ShapeError, SizeMismatchError
from anyshape.graph.prover.constraints import Claim, Condition, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.signature.dim_equations import solve_dims
from anyshape.graph.signature.guards import accept_all, drop_implied, guard_predicate
from anyshape.graph.signature.prologue import Prologue
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.graph.sizes.substitute import values_from

A, B, C = DimVar("a", upper=6), DimVar("b", upper=6), DimVar("c", lower=1, upper=6)
a, b, c = (expr.from_atom(v) for v in (A, B, C))
BOX = [dict(zip((A, B, C), p, strict=True)) for p in itertools.product(range(7), range(7), range(1, 7))]
PARTS = [a, b, c, a + b, a - c, 2 * a, a // 2, b % 3, expr.maximum(a, b), expr.minimum(b, c), b // 3 + c, 0, 1, 2, 3]


def holds(claim, at):
    return claim.holds(values_from(at))


def recorded(rng):
    """Return the conditions of a trace with random decisions and preconditions, and the sizes of its call."""
    at = rng.choice(BOX)
    scope = Scope(at)
    for _ in range(rng.randint(2, 9)):
        left, right = rng.sample(PARTS, 2)
        claim = Claim(rng.choice([">=", ">=", "==", "!=", "broadcasts"]), left, right)
        if claim.relation == "broadcasts" or rng.random() < 0.4:
            if holds(claim, at):
                scope.require(claim, "op", "a precondition", (), None)
        else:
            scope.branch_on(claim, None)
    return scope.conditions, at


def first_to_fail(conditions, at):
    return next((x for x in conditions if not holds(x.claim, at)), None)


@pytest.mark.parametrize("seed", range(4))
def test_the_remaining_conditions_are_as_strong_as_all(seed):
    """Sizes that all guards admit take the same path of Python, and the same calls fail."""
    rng = random.Random(seed)
    dropped = 0
    for _ in range(60):
        conditions, _ = recorded(rng)
        remaining = drop_implied(conditions)
        dropped += len(conditions) - len(remaining)
        assert [x for x in conditions if any(x is k for k in remaining)] == list(remaining), "order, and nothing new"
        for at in BOX:
            check_strength(conditions, remaining, at)
    assert dropped > 5


def check_strength(conditions, remaining, at):
    """Check that both fail at the same sizes, and that a guard fails where a guard fails first."""
    first, last = first_to_fail(conditions, at), first_to_fail(remaining, at)
    assert (first is None) is (last is None)
    if first is not None and first.kind == "guard":
        assert any(x.kind == "guard" and not holds(x.claim, at) for x in remaining), f"{first} at {at}"


def test_no_remaining_condition_is_implied():
    rng = random.Random(9)
    for _ in range(60):
        remaining = drop_implied(recorded(rng)[0])
        for i, condition in enumerate(remaining):
            later = [x for x in remaining[i + 1 :] if condition.kind == "assertion" or x.kind != "assertion"]
            check_needed(condition, [*remaining[:i], *later])


def check_needed(condition, others):
    """Check that some sizes break the condition alone; equalities and broadcasts may stay when implied."""
    breaks = [at for at in BOX if not holds(condition.claim, at)]
    spared = condition.claim.relation in ("==", "broadcasts")
    assert spared or any(all(holds(x.claim, at) for x in others) for at in breaks), (
        f"{condition} follows from {[str(x) for x in others]}"
    )


def guard(claim):
    return Condition("guard", claim, "python", "decided")


def assertion(claim):
    return Condition("assertion", claim, "op", "needed")


def test_a_later_assertion_does_not_imply_a_guard():
    """Python decides before NumPy requires: sizes that break both must take the other path of Python."""
    asked, needed = guard(at_least(a, 3)), assertion(equal(a, 4))
    assert drop_implied([asked, needed]) == (asked, needed)
    earlier, later = assertion(at_least(a, 3)), guard(at_least(a, 4))
    assert drop_implied([earlier, later]) == (later,)


def test_of_nested_guards_the_strongest_remains():
    conditions = [guard(at_least(a, k)) for k in range(1, 6)]
    assert drop_implied(conditions) == (conditions[-1],)
    halves = [guard(at_least(a, 3)), guard(at_least(a // 2, 3))]
    assert drop_implied(halves) == (halves[-1],)


def test_opposite_guards_become_one_equality():
    """In both orders, and with a guard between that depends on the first."""
    below, above, between = guard(at_least(4, a)), guard(at_least(a, 4)), guard(at_least(b, a))
    for first, second in ((below, above), (above, below)):
        remaining = drop_implied([first, between, second])
        assert [str(x.claim) for x in remaining] == ["a == 4", "b >= a"]
        assert remaining[0].kind == "guard"
    assert len(drop_implied([below, guard(at_least(a, 3))])) == 2
    assert len(drop_implied([below, assertion(at_least(a, 4))])) == 2
    run = jit(lambda x: x * 2 if x.shape[0] <= 3 and x.shape[0] >= 3 else x)
    assert [float(run(np.ones(n)).sum()) for n in (2, 3, 4, 3)] == [2, 6, 4, 6]


def test_an_assertion_that_sizes_broadcast_remains():
    first = assertion(Claim("broadcasts", a, b))
    later = assertion(Claim("broadcasts", expr.broadcast(a, b), c))
    assert drop_implied([first, later]) == (first, later)
    run = jit(lambda x, y, z: (x + y) * z)
    run(np.ones(3), np.ones(1), np.ones(3))
    with pytest.raises(SizeMismatchError, match=r"x.shape.0. .3. must equal y.shape.0. .4., or one of them must be 1"):
        run(np.ones(3), np.ones(4), np.ones(1))


def test_a_guard_against_a_zero_divisor_remains_before_the_quotient():
    first, later = guard(Claim("!=", b, 0)), guard(at_least(a // b, 2))
    assert drop_implied([first, later]) == (first, later)

    def rows(x, y):
        if y.shape[0] == 0:
            return x
        return x * 2 if x.shape[0] // y.shape[0] >= 2 else x * 3

    run = jit(rows)
    for n, m in ((6, 2), (6, 0), (3, 2), (0, 0), (9, 3)):
        np.testing.assert_array_equal(run(np.ones(n), np.ones(m)), rows(np.ones(n), np.ones(m)))


def test_constraints_remain():
    declared = Condition("constraint", at_least(a, 1), "constraint", "was declared")
    asked = guard(at_least(a, 5))
    assert drop_implied([declared, asked]) == (declared, asked)


def prologue_of(*shapes):
    """Return the prologue of a program with inputs of these sizes."""
    metas = tuple(tensor(np.dtype(float), shape) for shape in shapes)
    return Prologue("f", ("x", "y")[: len(metas)], metas, (), solve_dims(metas))


@pytest.mark.parametrize("seed", range(2))
def test_the_predicate_is_the_conjunction_of_the_guards(seed):
    rng = random.Random(40 + seed)
    for _ in range(40):
        claims = [x.claim for x in recorded(rng)[0]]
        accepts = guard_predicate(prologue_of((a, b), (c,)), claims)
        for at in BOX[::5]:
            x, y = np.empty((at[A], at[B])), np.empty(at[C])
            assert accepts(x, y) is all(holds(claim, at) for claim in claims)


def test_the_predicate_without_guards_accepts_everything():
    accepts = guard_predicate(prologue_of((a,)), [])
    assert accepts is accept_all
    assert accepts(np.empty(0)) is True and accepts(np.empty(5)) is True


def test_the_predicate_divides_only_where_earlier_guards_hold():
    claims = [Claim("!=", b, 0), at_least(a // b, 2)]
    accepts = guard_predicate(prologue_of((a, b)), claims)
    assert accepts(np.empty((3, 0))) is False
    assert accepts(np.empty((4, 2))) is True


def test_the_predicate_fails_where_a_divisor_is_zero():
    accepts = guard_predicate(prologue_of((a, b)), [at_least(a // b, 2)])
    assert accepts(np.empty((3, 0))) is False
    assert accepts(np.empty((4, 2))) is True


def test_the_predicate_solves_for_sizes_that_no_axis_has_alone():
    accepts = guard_predicate(prologue_of((2 * a + b,), (a + b,)), [at_least(a, 3)])
    assert accepts(np.empty(7), np.empty(4)) is True  # a = 3, b = 1
    assert accepts(np.empty(4), np.empty(2)) is False  # a = 2, b = 0
    with pytest.raises(InputSizeError):
        accepts(np.empty(3), np.empty(4))  # a = -1


def decisions(x, y):
    """Decide three times on the size of x."""
    if x.shape[0] > 2:
        x = x * 2
    if x.shape[0] > 4:
        x = x * 3
    z = x[:3] @ y[:3]
    return z + 1 if x.shape[0] // 2 > 2 else z


def test_a_jitted_function_keeps_the_strongest_guards_and_eager_results():
    run = jit(decisions)
    rng = np.random.default_rng(0)
    for n in (9, 3, 5, 6, 4, 10, 9):
        x, y = rng.normal(size=n), rng.normal(size=5)
        np.testing.assert_allclose(run(x, y), decisions(x, y))
    assert run.cache_info().traces == 3  # n in 3..4, in 5, from 6 on
    guards = [[str(x.claim) for x in p.graph.conditions if x.kind == "guard"] for p in run.programs()]
    assert ["x_0 // 2 > 2"] in guards


def test_a_program_refuses_sizes_of_another_path():
    run = jit(decisions)
    run(np.ones(9), np.ones(5))
    (program,) = run.programs()
    with pytest.raises(
        SizeMismatchError,
        match=r"traced for x.shape\[0\] // 2 > 2, and it was called with x.shape\[0\] = 3 at test_guards.py",
    ):
        program(np.ones(3), np.ones(5))
    with pytest.raises(ShapeError):
        program(np.ones(9), np.ones(2))


def test_a_guard_on_nested_quotients_is_checked_at_every_call():
    """The generated predicate computes the inner call first, in a local of its own."""
    run = jit(lambda x: x * 2 if -abs(3 - x.shape[0]) % 4 == 2 else x)
    for n in (5, 3, 1, 4, 0, 6):
        assert run(np.ones(n)).sum() == (2 * n if abs(3 - n) == 2 else n)
    assert run.cache_info().traces == 2


def test_a_guard_fails_where_its_divisor_is_zero():
    """A later guard may imply that the divisor is not 0, and is then the only one that remains."""

    def function(x, y):
        part = y.shape[0] % max(2, x.shape[0])
        return x[:part] if len(x) > 4 else x * 2

    run = jit(function)
    for n, m in [(5, 7), (0, 5), (7, 0), (0, 0), (2, 3), (5, 7)]:
        x, y = np.arange(n) * 1.0, np.ones(m)
        np.testing.assert_array_equal(run(x, y), function(x, y), strict=True)


def _calls_of_dropping(count):
    """Return the calls of Python functions for a chain of conditions, each of two sizes."""
    sizes = [expr.variable(f"v{i}") for i in range(count + 1)]
    conditions = [Condition("assertion", at_least(a, b), "op", "why") for a, b in itertools.pairwise(sizes)]
    calls = 0

    def seen(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    drop_implied(conditions)
    sys.setprofile(seen)
    try:
        assert len(drop_implied(conditions)) == count
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.slow
def test_looking_for_implied_conditions_costs_the_same_in_long_programs():
    few, many = _calls_of_dropping(400), _calls_of_dropping(1200)
    assert many - few < 40 * 800  # the strongest bounds are found in one pass; no condition is asked about


# -- conditions that equalities imply ------------------------------------------------------------------------------


def stretched(x, y, z):
    return (x + y) * z


@pytest.mark.parametrize("shape", [(3, 4), (2, 4), (3, 5), (2, 5), (0, 4), (1, 4), (3, 1)])
@pytest.mark.parametrize("which", range(3))
def test_a_plan_for_a_pattern_of_ones_refuses_what_the_first_plan_refuses(shape, which):
    arrays = [np.full((3, 4), k + 1.0) for k in range(3)]
    other = [np.ones(shape) if k == which else x for k, x in enumerate(arrays)]
    results = []
    for optimize in ("now", "off"):
        f = jit(stretched, optimize=optimize)
        f(*arrays)
        try:
            results.append(f(*other).tolist())
        except SizeMismatchError as error:
            results.append(str(error))
    assert results[0] == results[1]
    assert isinstance(results[0], str) == (shape in ((2, 4), (3, 5), (2, 5), (0, 4)))
