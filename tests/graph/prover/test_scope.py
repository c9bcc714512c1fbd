"""Test verdicts of the scope by brute force: generated claims are evaluated at every small assignment.

Tables give typical verdicts; the sweeps show that nothing false is proved. Rows of `BEST` are true, but the prover need
not decide them.
"""

import itertools
import pickle

import numpy as np
import pytest

from anyshape.errors import InconclusiveDimensionError, ShapeError
from anyshape.graph.prover.constraints import Claim, Condition, SourceLine, Verdict, at_least, equal, substitute_claim
from anyshape.graph.prover.decide import decide
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.graph.sizes.substitute import evaluate, values_from

A, B, C = DimVar("a"), DimVar("b"), DimVar("c", lower=1, upper=4)
a, b, c = (expr.from_atom(v) for v in (A, B, C))
POINTS = list(itertools.product(range(6), range(6), range(1, 5)))
ASSIGNMENTS = [dict(zip((A, B, C), point, strict=True)) for point in POINTS]
RELATIONS = ("==", "!=", ">=", "broadcasts", "stretches")
WHERE = SourceLine("/home/user/model.py", 12, "loss")


def holds(claim, at):
    return claim.holds(values_from(at))


def meaningful(size, at):
    """Return whether the size is defined: no division is by zero, and no broadcast fails."""
    try:
        evaluate(size, values_from(at))
    except (ZeroDivisionError, ShapeError):
        return False
    return True


def linear(rng):
    x, y, z, k = rng.integers(-2, 3), rng.integers(-1, 2), rng.integers(-1, 2), rng.integers(-3, 4)
    return int(x) * a + int(y) * b + int(z) * c + int(k)


ATOMS = [
    a, b, c, a + 1, b + 2, 2 * a, a - b, a // 2, b % 3, a * b, expr.maximum(a, b), expr.minimum(a, 3),
    expr.broadcast(a, b), expr.broadcast(a, c), expr.broadcast(a, b, c), expr.maximum(a - 1, 0), 0, 1, 2, 5,
]  # fmt: skip


def random_claim(rng):
    relation = RELATIONS[rng.integers(len(RELATIONS))]
    if rng.random() < 0.5:
        left, right = linear(rng), linear(rng)
    else:
        left, right = (ATOMS[i] for i in rng.integers(len(ATOMS), size=2))
    return Claim(relation, left, right)


def claims(count, seed):
    rng = np.random.default_rng(seed)
    return [random_claim(rng) for _ in range(count)]


def truths(claim, facts, others=()):
    """Return the values of the claim at all assignments where the facts hold and all broadcasts agree."""
    values = set()
    sizes = [s for x in (claim, *facts, *others) for s in (x.left, x.right)]
    for at in ASSIGNMENTS:
        if all(broadcasts_agree(s, at) for s in sizes) and all(holds(f, at) for f in facts):
            values.add(holds(claim, at))
    return values


def broadcasts_agree(size, at):
    """Return whether NumPy would broadcast the operands of every broadcast within the size."""
    if isinstance(size, int):
        return True
    for monomial, _ in size.terms:
        for atom, _ in monomial:
            if isinstance(atom, expr.Call):
                values = {evaluate(x, values_from(at)) for x in atom.args}
                if atom.function == "broadcast" and len(values - {1}) > 1:
                    return False
                if not all(broadcasts_agree(x, at) for x in atom.args):
                    return False
    return True


IMPOSSIBLE = {Verdict.YES: False, Verdict.NO: True}


def check_sound(claim, facts, verdict, others=()):
    if verdict is not Verdict.UNKNOWN:
        text = f"{claim} given [{', '.join(map(str, facts))}]: {verdict}"
        assert IMPOSSIBLE[verdict] not in truths(claim, facts, others), text


def test_no_false_verdict_without_facts():
    decided = 0
    for claim in claims(4000, 1):
        verdict = decide(claim)
        check_sound(claim, (), verdict)
        decided += verdict is not Verdict.UNKNOWN
    assert decided > 400  # a prover that decides nothing is sound too


@pytest.mark.parametrize("seed", range(4))
def test_no_false_verdict_from_facts(seed):
    """Verdicts are true after facts were assumed one after the other."""
    rng = np.random.default_rng(100 + seed)
    decided = 0
    for _ in range(100):
        scope, facts = Scope(), []
        for _ in range(int(rng.integers(1, 4))):
            fact = random_claim(rng)
            if scope.decide(fact) is Verdict.UNKNOWN:
                scope.assume(Condition("assertion", fact, "test", "assumed"))
                facts.append(fact)
        for fact in facts:
            check_not_refuted(scope, fact, facts)
        for _ in range(8):
            claim = random_claim(rng)
            verdict = scope.decide(claim)
            check_sound(claim, facts, verdict, facts)
            decided += verdict is not Verdict.UNKNOWN
    assert decided > 40


def check_not_refuted(scope, fact, facts):
    """Assert that an assumption is not refuted, unless the assumptions contradict each other."""
    if truths(fact, facts):
        assert scope.decide(fact) is not Verdict.NO, (str(fact), [str(f) for f in facts])


def check_normal_form(size, normal, facts):
    sides = [s for f in facts for s in (f.left, f.right)]
    for at in ASSIGNMENTS:
        if all(broadcasts_agree(s, at) for s in (size, *sides)) and all(holds(f, at) for f in facts):
            before, after = (evaluate(s, values_from(at)) for s in (size, normal))
            assert before == after, f"{size} became {normal} given {[str(f) for f in facts]} at {at}"


@pytest.mark.parametrize("seed", range(3))
def test_normal_forms_are_equal_wherever_the_facts_hold(seed):
    rng = np.random.default_rng(200 + seed)
    for _ in range(60):
        scope, facts = Scope(), []
        for _ in range(2):
            left, right = (ATOMS[i] for i in rng.integers(len(ATOMS), size=2))
            fact = equal(left, right)
            if scope.decide(fact) is Verdict.UNKNOWN:
                scope.assume(Condition("assertion", fact, "test", "assumed"))
                facts.append(fact)
        for size in (*ATOMS, linear(rng), linear(rng)):
            check_normal_form(size, scope.normal(size), facts)


@pytest.mark.parametrize("seed", range(2))
def test_sizes_that_are_the_same_are_equal(seed):
    rng = np.random.default_rng(300 + seed)
    for _ in range(40):
        scope, facts = Scope(), []
        for fact in (random_claim(rng), random_claim(rng)):
            if scope.decide(fact) is Verdict.UNKNOWN:
                scope.assume(Condition("assertion", fact, "test", "assumed"))
                facts.append(fact)
        for left, right in itertools.combinations(ATOMS, 2):
            if scope.same(left, right):
                assert False not in truths(equal(left, right), facts, facts), (str(left), str(right), facts)


def test_a_negated_claim_holds_exactly_when_the_claim_does_not():
    for claim in claims(600, 7):
        if claim.relation in ("broadcasts", "stretches"):
            with pytest.raises(ValueError, match="no negation"):
                claim.negated()
            continue
        opposite = claim.negated()
        for at in ASSIGNMENTS:
            if meaningful(claim.left, at) and meaningful(claim.right, at):
                assert holds(claim, at) is not holds(opposite, at), f"{claim} at {at}"


def test_the_generated_source_of_a_claim_has_its_truth():
    for claim in claims(600, 8):
        code = compile(claim.source(str), "<claim>", "eval")
        for at in ASSIGNMENTS[::3]:
            if meaningful(claim.left, at) and meaningful(claim.right, at):
                assert eval(code, {}, {v.name: s for v, s in at.items()}) == holds(claim, at), f"{claim} at {at}"


def test_substituting_sizes_into_a_claim_keeps_its_text():
    claim = Claim(">=", a, b, "x.shape[0] >= k")
    new = substitute_claim(claim, {A: 3}.get)
    assert str(new) == "x.shape[0] >= k"
    assert new.left == 3


# -- tables of verdicts ------------------------------------------------------------------------------------

Y, N, U = Verdict.YES, Verdict.NO, Verdict.UNKNOWN
TABLE = [
    (at_least(a, 0), (), Y),
    (at_least(a, 1), (), U),
    (at_least(a + 1, 1), (), Y),
    (equal(a, -1), (), N),
    (equal(a, b), (), U),
    (equal(a, a + 1), (), N),
    (Claim("!=", a, a + 1), (), Y),
    (at_least(c, 1), (), Y),
    (at_least(c, 5), (), N),
    (equal(a, b), (equal(a, b),), Y),
    (equal(a + c, b + c), (equal(a, b),), Y),
    (at_least(a, 3), (at_least(a, 4),), Y),
    (at_least(a, b), (equal(a, b + 2),), Y),
    (equal(a, b), (equal(a, b + 2),), N),
    (equal(a, 0), (Claim("!=", a, 0),), N),
    (Claim("broadcasts", a, 1), (), Y),
    (Claim("broadcasts", a, a), (), Y),
    (Claim("broadcasts", a, b), (), U),
    (Claim("broadcasts", a + 2, a + 3), (), N),
    (Claim("broadcasts", a, b), (Claim("broadcasts", b, a),), Y),
    (Claim("stretches", a, expr.broadcast(a, b)), (), Y),
    (Claim("stretches", b, expr.broadcast(a, b, c)), (), Y),
    (Claim("stretches", expr.broadcast(a, b), expr.broadcast(a, b, c)), (), Y),
    (Claim("stretches", a, b), (Claim("stretches", a, c), equal(c, b)), Y),
    (equal(expr.broadcast(a, b), b), (equal(a, b),), Y),
]
# True for every assignment, but the prover need not decide it: (claim, facts, best).
BEST = [
    (equal(a * b, b * a + 0 * c), (), Y),
    (at_least(a * a, a), (), Y),
    (at_least(a, 2), (at_least(a, 1), Claim("!=", a, 1)), Y),
    (at_least(a, c), (at_least(a, b), at_least(b, c)), Y),
]


@pytest.mark.parametrize(("claim", "facts", "verdict"), TABLE, ids=lambda x: str(x) if isinstance(x, Claim) else "")
def test_the_scope_gives_the_verdict_of_the_table(claim, facts, verdict):
    scope = Scope(conditions=[Condition("constraint", f, "test", "given") for f in facts])
    assert scope.decide(claim) is verdict
    check_sound(claim, facts, verdict, facts)


@pytest.mark.parametrize(("claim", "facts", "best"), BEST, ids=lambda x: str(x) if isinstance(x, Claim) else "")
def test_hard_claims_are_undecided_or_right(claim, facts, best):
    scope = Scope(conditions=[Condition("constraint", f, "test", "given") for f in facts])
    assert scope.decide(claim) in (U, best)
    check_sound(claim, facts, best, facts)  # the row itself is true


# -- verdicts, preconditions, decisions --------------------------------------------------------------------


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_verdict_has_no_truth_value(verdict):
    with pytest.raises(TypeError, match="no truth value"):
        bool(verdict)
    with pytest.raises(TypeError, match="no truth value"):
        if verdict:
            pass


def require(scope, claim):
    scope.require(claim, "dot_general", "contracted axes have different sizes", ("f64[a]", "f64[b]"), WHERE)


def test_a_proved_requirement_records_nothing():
    scope = Scope()
    require(scope, at_least(a, 0))
    assert scope.conditions == []


def test_a_refuted_requirement_raises_with_the_users_line():
    with pytest.raises(ShapeError, match=r"tensordot: a must equal a \+ 1 at model.py:12") as caught:
        require(Scope(), equal(a, a + 1))
    assert caught.value.primitive == "dot_general"
    assert caught.value.where == WHERE
    assert caught.value.operands == ("f64[a]", "f64[b]")


def test_an_open_requirement_is_asserted_once_and_then_assumed():
    scope = Scope()
    require(scope, equal(a, b))
    (condition,) = scope.conditions
    assert (condition.kind, condition.primitive, condition.where) == ("assertion", "dot_general", WHERE)
    assert scope.decide(equal(a, b)) is Y
    assert scope.same(a + 1, b + 1)
    require(scope, equal(b, a))
    assert scope.conditions == [condition]


def test_a_decision_is_answered_from_the_call_and_guarded():
    scope = Scope({A: 3, B: 5})
    assert scope.branch_on(at_least(a, 3, "a > 2"), WHERE) is True
    assert scope.branch_on(at_least(b, 9, "b > 8"), WHERE) is False
    assert [g.kind for g in scope.conditions] == ["guard", "guard"]
    assert str(scope.conditions[0].claim) == "a > 2"  # the user's words, not the canonical form
    assert all(holds(g.claim, {A: 3, B: 5, C: 1}) for g in scope.conditions)
    assert scope.branch_on(at_least(a, 3), WHERE) is True  # now proved
    assert scope.branch_on(at_least(a, 1), WHERE) is True
    assert len(scope.conditions) == 2


@pytest.mark.parametrize("seed", range(3))
def test_every_guard_of_a_call_holds_at_that_call(seed):
    """Any sequence of questions and requirements leaves conditions that are true of their call."""
    rng = np.random.default_rng(400 + seed)
    for _ in range(60):
        at = ASSIGNMENTS[rng.integers(len(ASSIGNMENTS))]
        scope = Scope(at)
        for _ in range(6):
            claim = random_claim(rng)
            if not all(broadcasts_agree(s, at) for s in (claim.left, claim.right)):
                continue
            if claim.relation in ("broadcasts", "stretches"):
                if holds(claim, at):
                    require(scope, claim)
                continue
            assert scope.branch_on(claim, WHERE) is holds(claim, at), (
                str(claim),
                at,
                list(map(str, scope.conditions)),
            )
        assert all(holds(condition.claim, at) for condition in scope.conditions)


def test_a_size_as_an_int_is_guarded_by_its_value():
    scope = Scope({A: 3})
    assert scope.value(a + 1, WHERE) == 4
    assert scope.normal(a) == 3
    (guard,) = scope.conditions
    assert [at[A] for at in ASSIGNMENTS if holds(guard.claim, at)] == [3] * 24
    assert scope.value(2 * a, WHERE) == 6
    assert len(scope.conditions) == 1


def test_without_a_call_a_decision_is_refused_with_a_witness_of_each_answer():
    claim = at_least(a, 5, "a > 4")
    with pytest.raises(InconclusiveDimensionError, match=r"a > 4 is neither true nor false.*model.py:12") as caught:
        Scope().branch_on(claim, WHERE)
    witnesses = caught.value.witnesses
    assert set(witnesses) == {True, False}
    assert witnesses[True]["a"] > 4 >= witnesses[False]["a"]
    with pytest.raises(
        InconclusiveDimensionError,
        match=r"^the value of a is not the same for every size \(tried a=1 and a=0\) at .*model.py:12",
    ) as caught:
        Scope().value(a, WHERE)
    assert caught.value.size == "a" and "its source is not at hand" in str(caught.value)


def test_witnesses_are_true():
    """Each witness satisfies the assumption and gives the answer it stands for."""
    rng = np.random.default_rng(9)
    checked = 0
    for _ in range(300):
        scope = Scope()
        claim, fact = random_claim(rng), random_claim(rng)
        if scope.decide(fact) is not Verdict.UNKNOWN:
            continue
        scope.assume(Condition("assertion", fact, "test", "assumed"))
        for answer, sizes in scope.witnesses(claim).items():
            check_witness(claim, fact, answer, sizes)
            checked += 1
    assert checked > 200


def check_witness(claim, fact, answer, sizes):
    at = {{"a": A, "b": B, "c": C}[name]: size for name, size in sizes.items()}
    assert holds(claim, at) is answer, (str(claim), sizes)
    missing = [v for v in fact.variables() if v not in at]
    if len(missing) <= 1:
        ranges = [range(v.lower, 1001 if v.upper is None else v.upper + 1) for v in missing]
        completed = [{**at, **dict(zip(missing, point, strict=True))} for point in itertools.product(*ranges)]
        defined = [p for p in completed if meaningful(fact.left, p) and meaningful(fact.right, p)]
        assert any(holds(fact, p) for p in defined), (str(fact), sizes)


def test_witnesses_distinguish_variables_of_one_name():
    n, other = expr.variable("n"), expr.variable("n")
    witnesses = Scope().witnesses(at_least(n, other + 1))
    assert witnesses[True].keys() == witnesses[False].keys() == {"n", "n'"}
    assert witnesses[True]["n"] > witnesses[True]["n'"]
    assert witnesses[False]["n"] <= witnesses[False]["n'"]


def test_an_undecided_claim_with_small_witnesses_gets_both():
    """If both answers occur among the small assignments, a witness of each is found."""
    for claim in claims(400, 10):
        if Scope().decide(claim) is Verdict.UNKNOWN:
            assert truths(claim, ()) <= set(Scope().witnesses(claim)), str(claim)


# -- laws of data ------------------------------------------------------------------------------------------


def test_claims_and_conditions_are_plain_data():
    for claim in claims(200, 11):
        copy = pickle.loads(pickle.dumps(claim))
        assert copy == claim
        assert hash(copy) == hash(claim)
        condition = Condition("guard", claim, "python", "asked", WHERE)
        assert pickle.loads(pickle.dumps(condition)) == condition


def test_a_verdict_survives_pickling():
    assert all(pickle.loads(pickle.dumps(v)) is v for v in Verdict)


def test_a_later_fact_decides_an_earlier_question():
    scope = Scope()
    assert scope.decide(equal(a, b)) is U
    scope.assume(Condition("assertion", equal(a, c), "test", "assumed"))
    scope.assume(Condition("assertion", equal(b, c), "test", "assumed"))
    assert scope.decide(equal(a, b)) is Y
    assert scope.normal(a) == scope.normal(b) == scope.normal(c)
