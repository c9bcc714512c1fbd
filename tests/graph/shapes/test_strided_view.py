"""Views: each movement agrees with NumPy at every size, or raises an error with the reason."""

import itertools
import pickle
import random

import numpy as np
import pytest

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.sizes import expr
from tests.graph.shapes.movements import (
    BASES,
    PADDING,
    RANDOM_VALUES,
    K,
    M,
    Moves,
    N,
    at,
    fixed,
    holds,
    known,
    moved,
    random_step,
    read_quickly,
    same_as_numpy,
)

# -- movements -----------------------------------------------------------------------------------------------------


VALUES = [*itertools.product((0, 1, 2), repeat=3), (3, 4, 5), (5, 1, 3), (4, 6, 1), (1, 5, 0)]


SINGLE = [
    ((N, M), [("reshape", (M, N))]),
    ((N, M), [("reshape", (-1,))]),
    ((N, M), [("reshape", (N * M, 1))]),
    ((2 * N, M), [("reshape", (N, 2, M))]),
    ((2 * N, M), [("reshape", (2, N, -1))]),
    ((N, 1, M), [("reshape", (N, M))]),
    ((N, M), [("reshape", (1, N, 1, M, 1))]),
    ((N,), [("reshape", (N // 2, 2))]),
    ((), [("reshape", (1, 1))]),
    ((1, 1), [("reshape", ())]),
    ((N, 0), [("reshape", (0, M))]),
    ((N, 1), [("expand", (N, M))]),
    ((N, 1, M), [("expand", (K, N, 3, M))]),
    ((), [("expand", (N, 2))]),
    ((N, M), [("expand", (K, K))]),
    ((N, M, 3), [("permute", (2, 0, 1))]),
    ((N, M), [("permute", (1, 0))]),
    ((), [("permute", ())]),
    ((N, M), [("shrink", ((1, N), (0, M)))]),
    ((N, M), [("shrink", ((K, N), (0, 2)))]),
    ((N, M), [("shrink", ((0, 0), (M, M)))]),
    ((N, M), [("shrink", ((expr.minimum(N, 1), N), (0, expr.minimum(M, 2))))]),
    ((N, M), [("slice", (0, 1), (expr.ceildiv(N, 2), 1), (2, 1))]),
    ((2 * N, M), [("slice", (1, 0), (N, M), (2, 1))]),
    ((N, M), [("pad", ((1, 2), (0, 0)))]),
    ((N, M), [("pad", ((K, 0), (M, N)))]),
    ((N, 0), [("pad", ((1, 1), (1, 1)))]),
    ((N, M), [("flip", (0,))]),
    ((N, M, K), [("flip", (0, -1))]),
    ((N, M), [("flip", ())]),
]


PADDED = ("pad", ((1, 2), (K, 0)))


AFTER_PADDING = [
    ("reshape", (1, N + 3, 1, M + K)),
    ("expand", (3, N + 3, M + K)),
    ("permute", (1, 0)),
    ("shrink", ((1, N + 1), (K, M + K))),
    ("shrink", ((0, 1), (0, M + K))),
    ("shrink", ((N + 1, N + 3), (0, M + K))),
    ("shrink", ((0, 2), (0, expr.minimum(K, 1)))),
    ("slice", (0, 0), (expr.ceildiv(N + 3, 2), M + K), (2, 1)),
    ("slice", (1, 0), (1, expr.ceildiv(M + K, 3)), (5, 3)),
    ("pad", ((0, 1), (2, N))),
    ("flip", (0,)),
    ("flip", (0, 1)),
]


CASES = SINGLE + [((N, M), [PADDED, after]) for after in AFTER_PADDING]

CASES += [
    ((N, M), [PADDED, ("reshape", (1, N + 3, 1, M + K)), b]) for b in [("reshape", (N + 3, M + K)), ("flip", (1,))]
]

CASES += [((1, M), [("pad", pads), ("shrink", bounds), ("expand", (N, M))]) for pads, bounds in [
    (((1, 1), (0, 0)), ((0, 1), (0, M))),
    (((1, 1), (0, 0)), ((1, 2), (0, M))),
    (((K, 1), (0, 0)), ((0, 1), (0, M))),
]]  # fmt: skip

CASES += [((N,), [("pad", ((0, K),)), ("expand", (3, M))])]


@pytest.mark.parametrize(("shape", "steps"), CASES, ids=lambda p: str(p) if isinstance(p, tuple) else p[-1][0])
def test_a_movement_agrees_with_numpy(shape, steps):
    """Compare values where the assertions of the scope hold; elsewhere NumPy refuses too, or clips a slice."""
    accepted = [v for v in VALUES if same_as_numpy(shape, steps, v) is not None]
    assert len(accepted) >= 2
    for values in [v for v in VALUES if v not in accepted]:
        x = np.zeros(at(shape, values))
        try:
            for operation, *arguments in steps:
                x = getattr(Moves, operation)(x, *at(arguments, values))
        except ValueError:
            continue
        assert steps[-1][0] in ("shrink", "slice"), "NumPy clips only slices"


def test_views_compare_hash_print_and_pickle_and_are_frozen():
    view = View.create((N, 3)).pad(((1, 1), (0, 0)), Scope())
    assert view == View.create((N, 3)).pad(((1, 1), (0, 0)), Scope())
    assert pickle.loads(pickle.dumps(view)) == view and hash(view) == hash(pickle.loads(pickle.dumps(view)))
    assert str(view) == "view (n + 2, 3) with strides (3, 1), offset -3, mask ((1, n + 1), (0, 3))"
    assert str(View.create((N,))) == "view (n,) with strides (1,), offset 0"
    assert view.ndim == 2 and view.numel() == 3 * N + 6
    with pytest.raises(AttributeError):
        view.offset = 1


def test_indices_may_be_symbolic():
    scope = Scope()
    view = View.create((N, M)).pad(((1, 1), (0, 0)), scope)
    assert view.linear_index((N, M - 1)) == N * M - 1
    assert view.is_valid((N, 0), Scope(conditions=[known(at_least(N, 1)), known(at_least(M, 1))])) is Verdict.YES
    assert view.is_valid((N, 0), scope) is Verdict.UNKNOWN
    assert view.is_valid((N + 1, 0), scope) is Verdict.NO
    assert View.create((N,)).is_valid((K,), scope) is Verdict.YES  # without a mask every index is valid


# -- queries -------------------------------------------------------------------------------------------------------


def test_contiguity_of_slices_and_permutations():
    scope = Scope()
    plain = View.create((N, M, 3))
    assert plain.is_c_contiguous(scope) and plain.strides_opt(scope) == (3 * M, 3, 1)
    assert plain.shrink(((K, N), (0, M), (0, 3)), scope).is_c_contiguous(scope)  # a range of whole rows
    for other in (plain.permute((1, 0, 2)), plain.flip((0,)), plain.shrink(((0, N), (0, M), (0, 2)), scope)):
        assert not other.is_c_contiguous(scope) and other.is_materializable(scope)


def test_contiguity_of_padding():
    scope = Scope()
    padded = View.create((N, M, 3)).pad(((0, 0), (1, 0), (0, 0)), scope)
    assert not padded.is_c_contiguous(scope) and padded.strides_opt(scope) is None
    assert not padded.is_materializable(scope)
    assert padded.shrink(((0, N), (1, M + 1), (0, 3)), scope).is_c_contiguous(scope)


def test_contiguity_of_stated_strides():
    scope = Scope()
    assert View.create((N, 1, M), (M, 77, 1)).is_c_contiguous(scope)
    assert View.create((0, N), (7, 7)).is_c_contiguous(scope)
    assert View.create((N, M), (K, 1)).is_c_contiguous(Scope(conditions=[known(equal(K, M))]))
    assert not View.create((N, M), (K, 1)).is_c_contiguous(scope)


def test_simplify_uses_equalities_of_the_scope():
    scope = Scope(conditions=[known(equal(K, 1)), known(equal(M, N))])
    view = View.create((K, M), (M, 1), 3 * K, ((0, 1), (0, N))).simplify(scope)
    assert view == View((1, N), (0, 1), 3) or view == View((1, M), (0, 1), 3)
    assert View.create((N, 0), (5, 5), 9, ((1, N), (0, 0))).simplify(scope) == View.create((N, 0))


# -- bad arguments -------------------------------------------------------------------------------------------------


VIEW = View.create((N, 3))


BAD = [
    (lambda s: View.create((N, -1)), "negative"),
    (lambda s: View.create((2.5,)), "2.5 is not a size"),
    (lambda s: View.create((float("nan"),)), "nan is not a size"),
    (lambda s: View.create(("n",)), "'n' is not a size"),
    (lambda s: View.create((N, 3), (1,)), "1 values were given for 2 axes"),
    (lambda s: View.create((N, 3), mask=((0, N),)), "must have a pair for each of 2 axes"),
    (lambda s: View.create((N,), mask=((0, N, 1),)), "must have a pair for each of 1 axes"),
    (lambda s: View.create((N,), offset=None), "None is not a size"),
    (lambda s: VIEW.shrink(((0, N + 1), (0, 3)), s), r"n must be at least n \+ 1"),
    (lambda s: VIEW.shrink(((-1, N), (0, 3)), s), "out of bounds for axis 0"),
    (lambda s: VIEW.shrink(((0, N), (2, 1)), s), "out of bounds for axis 1"),
    (lambda s: VIEW.shrink(((0, N), (0, 4)), s), "out of bounds for axis 1 of size 3"),
    (lambda s: VIEW.shrink(((0, N),), s), "must have a pair for each of 2 axes"),
    (lambda s: VIEW.shrink(((0, 1.5), (0, 3)), s), "1.5 is not a size"),
    (lambda s: VIEW.slice((0, 1), (N, 2), (1, 2), s), "out of bounds for axis 1"),
    (lambda s: VIEW.slice((0, 0), (N, 3), (1, 0), s), "out of bounds for axis 1"),
    (lambda s: VIEW.slice((0, 0), (N, -1), (1, 1), s), "out of bounds for axis 1"),
    (lambda s: VIEW.pad(((0, -1), (0, 0)), s), "a pad of -1 is negative"),
    (lambda s: VIEW.pad(((0, 0), (0, -N - 1)), s), "-n - 1 must be at least 0"),
    (lambda s: VIEW.pad(((0, 0),), s), "must have a pair for each of 2 axes"),
    (lambda s: VIEW.expand((N, 4), s), "axis 1 of size 3 cannot be stretched to 4"),
    (lambda s: VIEW.expand((3,), s), "2 axes cannot become 1"),
    (lambda s: VIEW.expand((-1, N, 3), s), "negative"),
    (lambda s: VIEW.permute((0,)), "not a permutation of 2 axes"),
    (lambda s: VIEW.permute((0, 0)), "not a permutation of 2 axes"),
    (lambda s: VIEW.permute((0, -1)), "not a permutation of 2 axes"),
    (lambda s: VIEW.flip((2,)), "axis 2 is out of bounds"),
    (lambda s: VIEW.flip((1, -1)), "an axis occurs twice"),
    (lambda s: VIEW.reshape((N, 4), Scope(conditions=[known(at_least(N, 1))])), r"3\*n must equal 4\*n"),
    (lambda s: VIEW.reshape((N, 2.0), s), "2.0 is not a size"),
    (lambda s: VIEW.reshape((-1, -1), s), "only one size"),
    (lambda s: View.create((4, 3)).reshape((5, -1), s), "do not divide"),
    (lambda s: VIEW.linear_index((0,)), "1 values were given for 2 axes"),
    (lambda s: VIEW.linear_index((0, 0.5)), "0.5 is not a size"),
    (lambda s: VIEW.is_valid((0, 0, 0), s), "3 values were given for 2 axes"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), BAD, ids=[f"{i}: {w}" for i, (_, w) in enumerate(BAD)])
def test_bad_arguments_raise_shape_errors(call, words):
    scope = Scope()
    with pytest.raises(ShapeError, match=words) as caught:
        call(scope)
    assert str(caught.value).startswith("view.") and len(str(caught.value).splitlines()) == 2


def test_an_undecided_claim_becomes_an_assertion():
    scope = Scope()
    VIEW.shrink(((K, N), (0, 3)), scope)
    assert [str(c.claim) for c in scope.conditions] == ["k >= 0", "n >= k"] or [
        str(c.claim) for c in scope.conditions
    ] == ["n >= k"]
    assert all(c.kind == "assertion" and c.primitive == "view.shrink" for c in scope.conditions)
    VIEW.shrink(((K, N), (0, 3)), scope)  # assumed by now
    assert len(scope.conditions) <= 2


def test_sizes_beyond_machine_words():
    big = 10**30
    view = View.create((big, N)).permute((1, 0)).flip((1,))
    assert view.linear_index((0, big - 1)) == 0 and view.numel() == big * N


# -- random movements ----------------------------------------------------------------------------------------------


LIMIT = 600


# Layouts with symbolic strides over a buffer of 200 elements, and constraints that a program may declare.
STRIDED = [
    ((N, M), (K, 1), 0),
    ((N, M), (M + K, 1), K),
    ((N, M), (1, N), 0),
    ((N, M, 2), (2 * M, 2, 1), 0),
    ((N, M), (-M, 1), N * M),
    ((N, M), (0, 1), 3),
    ((N, 2, M), (K, 0, 7), 5),
]


FACTS = [[]] * 5 + [[equal(K, 1)], [equal(N, M)], [equal(N, 2 * M)], [at_least(N, 1), at_least(M, 1)], [equal(K, M)]]


BUFFER = np.arange(1, 201)


def random_movements(choose, length=10):
    """Return a first view, movements, the view they end in, and the scope with their assertions."""
    scope = Scope(conditions=[known(c) for c in choose.choice(FACTS)])
    first = view = View.create(*choose.choice([(b,) for b in BASES] + STRIDED))
    steps = []
    for _ in range(20 * length):
        step = random_step(choose, view.shape)
        before = list(scope.conditions)
        try:
            after = moved(view, *step[:1], step[1:], scope)
        except ShapeError:
            scope = Scope(conditions=before)
            continue
        fits = [v for v in RANDOM_VALUES if holds(scope, v)]
        if len(fits) < 2 or any(np.prod(at(after.shape, v)) > LIMIT for v in fits):
            scope = Scope(conditions=before)
            continue
        view = after
        steps.append(step)
        if len(steps) == length:
            break
    return first, steps, view, scope


def check_movements(seed):
    """Compare a random view, plain and simplified, with NumPy; return the number of its movements."""
    choose = random.Random(seed)
    first, steps, view, scope = random_movements(choose)
    simple = view.simplify(scope)
    for values in RANDOM_VALUES:
        if not holds(scope, values):
            continue
        expected = read_quickly(fixed(first, values), BUFFER)
        for operation, *arguments in steps:
            expected = getattr(Moves, operation)(expected, *at(arguments, values))
        for shown in (view, simple):
            actual = read_quickly(fixed(shown, values), BUFFER)
            np.testing.assert_array_equal(actual, expected, err_msg=f"{seed}: {first} {steps} at {values}: {shown}")
        check_single_elements(fixed(simple, values), expected)
    return len(steps)


def check_single_elements(view, expected):
    """Compare about three elements, read by `is_valid` and `linear_index`."""
    scope = Scope()
    for index in itertools.islice(np.ndindex(*expected.shape), 0, None, max(1, expected.size // 3)):
        valid = view.is_valid(index, scope)
        assert expected[index] == (BUFFER[view.linear_index(index)] if valid is Verdict.YES else PADDING)


@pytest.mark.slow
def test_random_movements():
    counts = [check_movements(seed) for seed in range(300)]
    assert sum(counts) >= 9 * len(counts)


@pytest.mark.slow
def test_many_random_movements():
    for seed in range(1000, 6000):
        check_movements(seed)
