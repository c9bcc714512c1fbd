"""Programs whose sizes are solved for: values, roots, derivatives, and acceptance against brute force."""

import itertools
import pickle
import random

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import Dim, ShapeDtypeStruct, errors, trace
from anyshape.backend.interpreter import evaluate as interpret
from anyshape.errors import InputSizeError
from tests.graph.signature.random_signatures import RandomSignature, sizes_program
from tests.graph.signature.solvers import input_sizes, integer, struct

# -- integer values ------------------------------------------------------------------------------------------------


def test_a_value_is_a_size_of_the_function():
    program = trace(lambda x, k: anp.zeros(k) + x[:k].sum() / k)(struct("n"), integer("k"))
    x = np.arange(5.0)
    for k in (1, 3, 5, 6):
        want = np.zeros(k) + x[:k].sum() / k
        for number in (k, np.int64(k), np.array(k)):
            np.testing.assert_array_equal(program(x, number), want)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(program))(x, k), want)
        np.testing.assert_array_equal(interpret(program.graph, [x, np.array(k)])[0], want)
    with pytest.raises(InputSizeError, match=r"k = -1 does not fit k: k is at least 0"):
        program(x, -1)
    for wrong in (2.0, True, "2", 2**70, np.int32(2), [2], None):
        with pytest.raises(errors.ArgumentError):
            program(x, wrong)
    with pytest.raises(errors.ArgumentError, match=r"k is an integer of 71 bits"):
        program(x, 2**70)
    assert program(x, 2).tolist() == [0.5, 0.5]


def test_a_value_solves_for_other_sizes():
    program = trace(lambda x, k: x[k:])(struct("k + n"), integer("k"))
    assert program(np.arange(5.0), 2).tolist() == [2, 3, 4]
    assert program.trace.graph.outputs[0].meta.sizes[0] is not None
    with pytest.raises(InputSizeError, match=r"x.shape\[0\] = 5 does not fit k \+ n \(k = 6\): n would be -1"):
        program(np.arange(5.0), 6)
    program = trace(lambda x, k: x * k)(struct("n"), integer("2*n - 1"))
    assert program(np.ones(2), 3).tolist() == [3, 3]
    with pytest.raises(InputSizeError, match=r"k = 4 does not fit 2\*n - 1 \(n = 2 from x.shape\[0\]\)"):
        program(np.ones(2), 4)


def test_solved_sizes_print():
    (a,) = anyshape.symbolic_shape("a")
    program = trace(lambda x, k: x[:a] * k)(ShapeDtypeStruct((a * a,)), integer("2*k"))
    assert str(program).splitlines()[0] == (
        "<lambda>(%x: f64[a**2], %k: i64[] = 2*k, %2: bool[a], %3: bool[k]) -> (f64[a])"
    )
    assert str(program.plan).splitlines()[:3] == [
        "plan <lambda>(x0: f64[a**2], x1: i64[])", "  a**2 = x0.shape[0]", "  k = (int(x1)) // 2"
    ]  # fmt: skip
    assert program(np.ones(9), 4).tolist() == [4, 4, 4]


def test_values_are_checked_against_their_bounds():
    k = Dim("k", min=1, max=8)
    program = trace(lambda k: anp.ones(k))(integer(k))
    assert program(3).tolist() == [1, 1, 1]
    for wrong in (0, 9, -3):
        with pytest.raises(InputSizeError):
            program(wrong)
    program = trace(lambda k: k + 1)(integer("k", np.uint64))
    assert program(np.uint64(4)) == 5
    with pytest.raises(InputSizeError, match="no array is that large"):
        program(np.uint64(2**63))


BAD_VALUES = [
    (lambda: ShapeDtypeStruct((), float, value="k"), errors.DTypeError, "of dtype float64 is not a size"),
    (lambda: ShapeDtypeStruct((), bool, value="k"), errors.DTypeError, "of dtype bool is not a size"),
    (lambda: ShapeDtypeStruct((3,), int, value="k"), errors.SpecError, "only a scalar is a size"),
    (lambda: ShapeDtypeStruct((), int, value=-1), errors.SpecError, "is not a size"),
    (lambda: ShapeDtypeStruct((), int, value=2.5), errors.SpecError, "is not a size"),
    (lambda: ShapeDtypeStruct((), int, value=float("nan")), errors.SpecError, "is not a size"),
    (lambda: trace(abs)(integer("k, m")), errors.SpecError, "is not one size"),
    (lambda: trace(abs)(integer("k +")), errors.SpecError, "size is missing|expected"),
    (lambda: trace(abs)(integer("2*k + m")), errors.UndeterminedSizeError, "do not determine"),
]


@pytest.mark.parametrize(("make", "kind", "words"), BAD_VALUES)
def test_bad_values_are_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_derivatives_and_batches_of_programs_with_values():
    def loss(x, k):
        return (x[:k] ** 2).sum() / k

    program = trace(anyshape.value_and_grad(loss))(struct("n + k"), integer("k"))
    value, derivative = program(np.array([1.0, 2.0, 3.0]), 2)
    assert value == 2.5 and derivative.tolist() == [1, 2, 0]
    program = trace(lambda xs, k: anyshape.vmap(lambda x: loss(x, k))(xs))(struct("b, n + k"), integer("k"))
    assert program(np.array([[1.0, 2.0], [3.0, 4.0]]), 1).tolist() == [1, 9]
    program = trace(lambda x, k: anyshape.jacrev(lambda y: y[:k] * 2)(x))(struct("n"), integer("k"))
    np.testing.assert_array_equal(program(np.arange(3.0), 2), 2 * np.eye(3)[:2])


# -- roots and systems ---------------------------------------------------------------------------------------------


def test_a_root_is_a_size_of_the_function():
    """The side of a square matrix given as its elements is found by a search."""
    (a,) = anyshape.symbolic_shape("a")
    flat = ShapeDtypeStruct((a * a,))
    transposed = trace(lambda x: x.reshape(a, a).T.reshape(-1) + anp.arange(a).sum())(flat)
    for n in (0, 1, 2, 5):
        x = np.arange(float(n * n))
        want = x.reshape(n, n).T.reshape(-1) + np.arange(n).sum()
        np.testing.assert_array_equal(transposed(x), want)
        np.testing.assert_array_equal(interpret(transposed.graph, [x])[0], want)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(transposed))(x), want)
    trace_of = trace(anyshape.grad(lambda x: anp.trace(x.reshape(a, a) @ x.reshape(a, a))))(flat)
    x = np.arange(9.0)
    np.testing.assert_array_equal(trace_of(x), 2 * x.reshape(3, 3).T.reshape(-1))
    rows = trace(anyshape.vmap(lambda x: x.reshape(a, a).sum(axis=0)))(ShapeDtypeStruct((4, a * a)))
    x = np.arange(36.0).reshape(4, 9)
    np.testing.assert_array_equal(rows(x), x.reshape(4, 3, 3).sum(axis=1))
    with pytest.raises(InputSizeError, match=r"x.shape\[0\] = 5 does not fit a\*\*2: the nearest are 4 for a = 2"):
        transposed(np.ones(5))


def test_sizes_solved_together_are_sizes_of_the_function():
    a, b = anyshape.symbolic_shape("a, b")
    program = trace(lambda x, y: x[:a].sum() + anp.zeros((a, b)) + y[0] * b)(
        ShapeDtypeStruct((2 * a + 3 * b,)), ShapeDtypeStruct((a + 2 * b,))
    )
    for n, m in itertools.product(range(4), range(1, 4)):
        x, y = np.arange(2.0 * n + 3 * m), np.arange(2.0, 2 + n + 2 * m)
        np.testing.assert_array_equal(program(x, y), x[:n].sum() + np.zeros((n, m)) + y[0] * m)
        np.testing.assert_array_equal(interpret(program.graph, [x, y])[0], program(x, y))
    with pytest.raises(InputSizeError):
        program(np.ones(3), np.ones(3))


def test_a_zero_divisor_raises_a_size_mismatch():
    program = trace(lambda x: x)(ShapeDtypeStruct(anyshape.symbolic_shape("a, b", constraints=["a % b == 0"])))
    assert program(np.ones((4, 2))).shape == (4, 2)
    for shape in [(4, 3), (4, 0), (0, 0)]:
        with pytest.raises(errors.SizeMismatchError):
            program(np.ones(shape))


# -- programs against brute force ----------------------------------------------------------------------------------


def check_signature(signature, rng):
    """Check that the program accepts every call that brute force finds, and only calls that satisfy all claims."""
    program = sizes_program(signature)
    calls = signature.calls(11)
    assert all(len(choices) == 1 for choices in calls.values()), "solved for, and not determined"
    accepted = rng.sample(sorted(calls), min(len(calls), 12))
    random_sizes = [tuple(rng.randint(0, 6) for _ in signature.sizes) for _ in range(20)]
    for actual in [*accepted, *[changed(sizes, rng) for sizes in accepted], *random_sizes]:
        check_call(program, signature, actual, calls)


def changed(sizes, rng):
    """Return the sizes with one of them a little larger or smaller."""
    i = rng.randrange(len(sizes))
    return (*sizes[:i], max(0, sizes[i] + rng.choice((-1, 1))), *sizes[i + 1 :])


def check_call(program, signature, actual, calls):
    """Check that the call is refused only if brute force does not find it, and gives the sizes that brute force has."""
    try:
        results = program(*signature.arguments(actual))
    except errors.SizeMismatchError:
        assert actual not in calls, f"{signature.declared} refuses {actual}"
        return
    sizes = dict(zip(signature.variables, map(int, results), strict=True))
    assert signature.allows(sizes), f"{signature.declared}: {actual}"
    assert tuple(input_sizes(signature.sizes, sizes)) == actual, f"{signature.declared}: {actual}"
    assert calls.get(actual, [tuple(sizes.values())]) == [tuple(sizes.values())]


def check_seeds(seeds):
    """Check random signatures; return for each "solved" or the name of the error of its specification."""
    outcomes = []
    for seed in seeds:
        try:
            check_signature(RandomSignature(seed), random.Random(seed))
            outcomes.append("solved")
        except (errors.ContradictionError, errors.UndeterminedSizeError) as error:
            outcomes.append(type(error).__name__)
    return outcomes


@pytest.mark.slow
def test_programs_accept_the_calls_that_brute_force_finds():
    assert check_seeds(range(80)).count("solved") > 25


@pytest.mark.slow
def test_many_programs_accept_the_calls_that_brute_force_finds():
    check_seeds(range(80, 2000))
