"""Repeated derivatives of programs that broadcast run-time sizes with sizes of inputs: values and errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape import checkpoint, errors, grad, hessian, jacfwd, jacrev, jit, jvp, linearize, vjp, vmap
from anyshape.graph.prover.assumptions import Assumptions
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar

C3, C1, C23, HALF = np.array([1.0, 2.0, 4.0]), np.array([5.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]), 0.5
TWO = C3[np.array([True, False, True])]
# No input is near a kink of a program below, so finite differences stay in one branch.
OF_THREE = ([1.1, 2.3, 3.2], [1.5, -2.0, -3.0], [1.1, 2.3, -3.0], [-1.1, -2.0, -3.0])
INPUTS = [np.array(x) for x in (*OF_THREE, [2.1], [-2.1], [1.1, -2.3, 3.1, 4.2])]
DATA = {
    "mask": lambda z: z[z > 0],
    "head": lambda z: z[: np.sum(z > 0)],
    "tail": lambda z: z[np.sum(z < 0) :],
    "rest of mask": lambda z: z[z > 0][1:],
    "unique": lambda z: np.unique(z),
    "repeat": lambda z: np.repeat(z, (z > 0) + 1),
    "repeat or not": lambda z: np.repeat(z, (z > 0).astype(int)),
    "nonzero": lambda z: z[np.nonzero(z > 0)[0]],
    "both": lambda z: np.concatenate([z[z > 0], z[z < 0]]),
    "sorted": lambda z: np.sort(z[z > 0]),
    "squares": lambda z: (z * z)[z > 0],
    "up to the largest": lambda z: z[: np.argmax(z) + 1],
}
GIVEN = {
    "z": lambda z: z,
    "3": lambda z: C3,
    "2": lambda z: TWO,
    "1": lambda z: C1,
    "scalar": lambda z: HALF,
    "2, 3": lambda z: C23,
    "3, 1": lambda z: C3[:, None],
    "1, z": lambda z: z[None, :],
    "z, 1": lambda z: z[:, None],
    "first": lambda z: z[:1],
    "twice": lambda z: np.concatenate([z, z]),
    "z * 3": lambda z: z * C3,
}
FORMS = {
    "(r * a) * b": lambda r, a, b: np.sum((r * a) * b),
    "(a * b) * r": lambda r, a, b: np.sum((a * b) * r),
    "(r + a) * b": lambda r, a, b: np.sum((r + a) * b),
    "r * a + b * b": lambda r, a, b: np.sum(r * a + b * b),
    "sum * sum": lambda r, a, b: np.sum(r * a) * np.sum(r * b),
    "maximum": lambda r, a, b: np.sum(np.maximum(r, a + 0.47) * b),
    "where": lambda r, a, b: np.sum(np.where(r > 1.9, a, b) * r),
    "masked again": lambda r, a, b: np.sum(((r * a)[r * a > 0]) * b),
    "concatenate": lambda r, a, b: np.sum(np.concatenate([r * a, r * b], axis=-1) ** 2),
    "mean": lambda r, a, b: np.sum((r - np.mean(r, axis=-1, keepdims=True)) * a * b),
}


def made_of(form, first, second, third):
    return lambda z: FORMS[form](*[{**DATA, **GIVEN}[part](z) for part in (first, second, third)])


def ramp(z):
    return np.cumsum(np.ones_like(z))


DERIVATIVES = {
    "grad": (grad, 1),
    "jit grad jit checkpoint": (lambda f: jit(grad(jit(checkpoint(f)))), 1),
    "vmap of grad": (lambda f: lambda z: vmap(lambda s: grad(lambda x: s * f(x))(z))(np.ones(2))[1], 1),
    "hessian": (hessian, 2),
    "jit hessian checkpoint": (lambda f: jit(lambda z: hessian(checkpoint(f))(z)), 2),
    "jacrev of grad": (lambda f: jacrev(grad(f)), 2),
    "jacfwd twice": (lambda f: jacfwd(jacfwd(f)), 2),
    "jvp of grad": (lambda f: lambda z: jvp(grad(f), (z,), (ramp(z),))[1], "product"),
    "vjp of grad": (lambda f: lambda z: vjp(grad(f), z)[1](ramp(z))[0], "product"),
    "linearized grad": (lambda f: lambda z: linearize(grad(f), z)[1](ramp(z)), "product"),
    "grad of grad": (lambda f: grad(lambda z: np.sum(grad(f)(z) * ramp(z))), "product"),
    "vmap of hvp": (
        lambda f: jit(lambda z: vmap(lambda t: grad(lambda x: np.sum(grad(f)(x) * t))(z))(np.eye(z.shape[0]))),
        2,
    ),
}


def derivative(function, z, step=4e-3):
    """Return differences of fourth order along each element, as the last axis: exact for these programs."""
    moved = [[function(z + k * step * e) for k in (-2, -1, 1, 2)] for e in np.eye(z.size)]
    return np.stack([(a - 8 * b + 8 * c - d) / (12 * step) for a, b, c, d in moved], axis=-1)


def expected(function, order, z):
    if order == 1:
        return derivative(function, z)
    second = derivative(lambda x: derivative(function, x), z)
    return second if order == 2 else second @ ramp(z)


def check_derivative(function, name, inputs=INPUTS):
    """Compare one derived function at all inputs, so that a program traced for one serves the others."""
    make, order = DERIVATIVES[name]
    derived = make(function)
    for z in inputs:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                legal = np.isfinite(function(z))
        except ValueError:
            with pytest.raises(errors.AnyshapeError) as caught:
                derived(z)
            check_refusal(caught.value)
            continue
        if legal:
            with warnings.catch_warnings(action="ignore"):
                want = expected(function, order, z)
            np.testing.assert_allclose(derived(z), want, 1e-5, 1e-5 * max(1.0, np.abs(want).max()), err_msg=name)


def check_refusal(error):
    """Check that an error names a line of this file, and no core op, which users do not write."""
    first, second = str(error).split("\n")
    assert "test_dynamic_size_derivatives.py:" in first and second.startswith("  "), str(error)
    assert "core op" not in str(error), str(error)


# -- values, and errors at the same sizes as NumPy

PROGRAMS = [
    ("(r * a) * b", "mask", "z", "3"),
    ("(a * b) * r", "squares", "z", "2"),
    ("(r * a) * b", "rest of mask", "1, z", "2, 3"),
    ("(r * a) * b", "unique", "first", "up to the largest"),
    ("r * a + b * b", "rest of mask", "nonzero", "twice"),
    ("maximum", "repeat or not", "twice", "nonzero"),
    ("(r * a) * b", "unique", "1, z", "z * 3"),
    ("(a * b) * r", "unique", "twice", "1, z"),
    ("(r * a) * b", "head", "1, z", "2, 3"),
    ("(r * a) * b", "repeat", "z, 1", "3, 1"),
    ("sum * sum", "both", "z", "3"),
    ("masked again", "tail", "1", "3"),
    ("where", "sorted", "z", "3"),
    ("concatenate", "mask", "z", "3"),
    ("mean", "head", "z", "3, 1"),
    ("(r + a) * b", "mask", "scalar", "z * 3"),
]


@pytest.mark.parametrize("part", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3)]])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: " ".join(p))
def test_repeated_derivatives_of_broadcast_run_time_sizes(program, part):
    """Neighbours in the list of programs have different quarters of the derivatives."""
    for name in list(DERIVATIVES)[(PROGRAMS.index(program) + part) % 4 :: 4]:
        check_derivative(made_of(*program), name)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.sampled_from(list(FORMS)),
    st.sampled_from(list(DATA)),
    st.sampled_from([*GIVEN, *DATA]),
    st.sampled_from([*GIVEN, *DATA]),
    st.sampled_from(list(DERIVATIVES)),
    st.permutations(INPUTS),
)
def test_random_programs_with_run_time_sizes(form, first, second, third, name, inputs):
    check_derivative(made_of(form, first, second, third), name, inputs[:4])


def test_the_hessian_of_a_mask_times_a_constant():
    z = np.array([1.0, 2.0, 3.0])
    second = hessian(lambda z: np.sum(z[z > 0] * z * C3))(z)
    np.testing.assert_array_equal(second, np.diag(2 * C3))


# -- assertions about sizes of an inner graph


def forced(z):
    """Assert by a run-time size that z has three elements."""
    r = z[z > 0][1:] * z[None, :]
    q = r * C3
    return np.sum(r**2) + q.shape[1] * np.sum(z)


@pytest.mark.parametrize("transform", [grad, hessian, lambda f: jit(grad(checkpoint(f)))])
def test_a_derivative_checks_the_assertions_of_its_function(transform):
    derived = transform(forced)
    derived(np.array([1.0, 2.0, -3.0]))
    for z in ([1.0], [1.0, 2.0], [1.0, 2.0, -3.0, -4.0], [1.0, 2.0, 3.0, 4.0, -5.0]):
        with pytest.raises(ValueError, match="broadcast"):
            forced(np.array(z))
        with pytest.raises(errors.SizeMismatchError, match="or one of them must be 1") as caught:
            derived(np.array(z))
        check_refusal(caught.value)


def test_a_derivative_states_every_assertion_of_its_function():
    derived = grad(forced)
    derived(np.array([1.0, 2.0, -3.0]))
    (program,) = derived.programs()
    stated = [str(c.claim) for c in program.graph.conditions if c.kind == "assertion"]
    assert len(stated) == 2 and any(claim.endswith("broadcasts with 3") for claim in stated), stated


# -- the prover


def facts_of(count, whole):
    both = expr.broadcast(count, whole)
    return [at_least(whole, count), Claim("broadcasts", count, whole), Claim("broadcasts", both, 3)]


def test_assumptions_about_other_sizes_do_not_hide_a_consequence():
    whole, assumptions = expr.from_atom(DimVar("n")), Assumptions()
    for name in "abcdefgh":
        count = expr.from_atom(DimVar(name))
        for fact in facts_of(count, whole):
            assumptions.assume(fact)
        assert assumptions.same(expr.broadcast(count, whole), whole), name


def test_assumptions_without_some_sizes_keep_earlier_answers_alone():
    n, old, new = (DimVar(name) for name in ("n", "old", "new"))
    whole, before, after = map(expr.from_atom, (n, old, new))
    assumptions = Assumptions()
    for fact in facts_of(before, whole):
        assumptions.assume(fact)
    assert assumptions.same(expr.broadcast(before, whole), whole)
    verdicts = assumptions.verdicts()
    assumptions.assume(at_least(after, 2))
    assumptions.assume(at_least(whole, after))
    assert assumptions.proves(at_least(whole, 2))
    less = assumptions.without({new}, verdicts)
    assert list(less.claims) == list(assumptions.claims)[:3] and not less.proves(at_least(whole, 2))
    assert less.same(expr.broadcast(before, whole), whole)
    assert less.verdicts().settled == verdicts.settled
