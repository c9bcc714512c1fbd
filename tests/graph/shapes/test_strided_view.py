"""Views: each movement agrees with NumPy at every size, or raises an error with the reason."""

import itertools
import pickle
import random

import numpy as np
import pytest

from anyshape.errors import ShapeError, ViewError
from anyshape.graph.prover.constraints import Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from

N, M, K = (expr.variable(name) for name in "nmk")
VARIABLES = [expr.as_atom(v) for v in (N, M, K)]
PADDING = -1


def at(size, values):
    """Evaluate a size, or nested tuples of sizes, at the values of n, m and k."""
    if isinstance(size, (tuple, list)):
        return tuple(at(s, values) for s in size)
    return evaluate(size, values_from(dict(zip(VARIABLES, values, strict=True))))


def fixed(view, values):
    """Substitute the values of n, m and k into a view."""
    return view.at(dict(zip(VARIABLES, values, strict=True)))


def holds(scope, values):
    """Return whether these sizes satisfy every condition of the scope."""
    known = values_from(dict(zip(VARIABLES, values, strict=True)))
    return all(c.claim.holds(known) for c in scope.conditions)


def read(view, buffer):
    """Return the array that a view of fixed sizes shows of a flat buffer, one element at a time."""
    scope = Scope()
    out = np.empty(view.shape, buffer.dtype)
    for index in np.ndindex(*view.shape):
        valid = view.is_valid(index, scope)
        assert valid is not Verdict.UNKNOWN
        position = view.linear_index(index)
        assert valid is Verdict.NO or 0 <= position < buffer.size, f"{view} reads {position} of {buffer.size}"
        out[index] = buffer[position] if valid is Verdict.YES else PADDING
    return out


def read_quickly(view, buffer):
    """Return the array that a view of fixed sizes shows, by arithmetic on whole arrays of indices."""
    indices = list(np.indices(view.shape))
    valid = np.ones(view.shape, bool)
    for i, (start, stop) in zip(indices, view.mask or (), strict=False):
        valid &= (i >= start) & (i < stop)
    position = sum((i * s for i, s in zip(indices, view.strides, strict=True)), np.full(view.shape, view.offset))
    assert np.all(position[valid] >= 0)
    out = np.full(view.shape, PADDING)
    out[valid] = buffer[position[valid]]
    return out


# -- movements of views and of arrays --------------------------------------------------------------------------------


class Moves:
    """Movements of arrays in NumPy, with the arguments that View's methods take."""

    def reshape(x, shape):
        return x.reshape(shape)

    def expand(x, shape):
        return np.broadcast_to(x, shape)

    def permute(x, axes):
        return x.transpose(axes)

    def shrink(x, bounds):
        return x[tuple(slice(a, b) for a, b in bounds)]

    def slice(x, starts, sizes, steps):
        return x[tuple(slice(a, a + n * k, k) for a, n, k in zip(starts, sizes, steps, strict=True))]

    def pad(x, amounts):
        return np.pad(x, amounts, constant_values=PADDING) if amounts else x

    def flip(x, axes):
        return np.flip(x, axes)


NO_SCOPE = {"permute", "flip"}


def moved(view, operation, arguments, scope):
    """Apply a movement to a view."""
    return getattr(view, operation)(*arguments, *(() if operation in NO_SCOPE else (scope,)))


def same_as_numpy(shape, steps, values):
    """Compare movements of a view of `shape` with NumPy's at these values of n, m and k.

    Returns the view, or None where an assertion of the scope excludes the values.
    """
    scope = Scope()
    view, expected = View.create(shape), np.arange(int(np.prod(at(shape, values)))).reshape(at(shape, values))
    buffer = expected.reshape(-1)
    for operation, *arguments in steps:
        view = moved(view, operation, arguments, scope)
    if not holds(scope, values):
        return None
    for operation, *arguments in steps:
        expected = getattr(Moves, operation)(expected, *at(arguments, values))
    for shown in (view, view.simplify(scope)):
        np.testing.assert_array_equal(read(fixed(shown, values), buffer), expected)
        np.testing.assert_array_equal(read_quickly(fixed(shown, values), buffer), expected)
    return view


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


def known(claim):
    """Declare a claim as a constraint."""
    return Condition("constraint", claim, "test", "test")


# -- queries ---------------------------------------------------------------------------------------------------------


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


# -- reshapes of views that are not contiguous -----------------------------------------------------------------------


def failure(view, shape, scope):
    """Return the reason and the axes of the ViewError that the reshape raises."""
    with pytest.raises(ViewError) as caught:
        view.reshape(shape, scope)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.failed in str(error).splitlines()[0] and "copy the elements" in str(error).splitlines()[1]
    return error.failed, error.axes


def test_an_axis_splits_at_any_stride():
    scope = Scope()
    view = View.create((2 * N, M), (M, 1)).permute((1, 0)).flip((1,))
    split = view.reshape((M, N, 2), scope)
    assert split.strides == (1, -2 * M, -M)
    assert view.reshape((M, 2, N), scope).strides == (1, -M * N, -M)
    assert not scope.conditions
    halves = View.create((N, M), (K, 1)).reshape((N // 2, 2, M), scope)
    assert halves.strides == (2 * K, K, 1)
    assert [str(c.claim) for c in scope.conditions] == ["m*n == 2*m*(n // 2)"]


def test_axes_merge_when_they_are_contiguous():
    scope = Scope()
    rows = View.create((N, M, 3)).shrink(((0, N), (0, M), (0, 2)), scope)
    assert rows.reshape((N * M, 2), scope).strides == (3, 1)
    assert rows.flip((0, 1)).reshape((-1, 2), scope).strides == (-3, 1)
    assert View.create((N, M, K), (0, 0, 1)).reshape((N * M, K), scope).strides == (0, 1)
    proved = Scope(conditions=[known(equal(K, M + 1))])
    gap = View.create((N, M + 1), (K, 1))
    assert gap.reshape((-1,), proved).strides == (1,)
    assert failure(gap, (N * (M + 1),), Scope()) == ("contiguity", (0, 1))
    one = Scope(conditions=[known(equal(K, 1))])
    assert View.create((N, K, M), (1, 77, N)).reshape((N, M), one).strides == (1, N)


def test_the_error_names_contiguity_divisibility_or_mask():
    swapped = View.create((N, M)).permute((1, 0))
    assert failure(swapped, (-1,), Scope()) == ("contiguity", (0, 1))
    assert failure(swapped, (N, M), Scope()) == ("contiguity", (0, 1))
    assert failure(View.create((4, 6)).permute((1, 0)), (8, 3), Scope()) == ("contiguity", (0, 1))
    rows = View.create((N, M, 3)).shrink(((0, N), (0, M), (0, 2)), Scope())
    assert failure(rows, (N, 2 * M), Scope()) == ("contiguity", (1, 2))
    a, b = expr.variable("a", 1), expr.variable("b", 1)
    gaps = View.create((a, b), (2 * b, 1))  # not contiguous: a new axis must end where the first does
    assert failure(gaps, (K, N), Scope()) == ("divisibility", (0, 1))
    assert gaps.reshape((K, N), Scope(conditions=[known(equal(K, a)), known(equal(N, b))])).strides == (2 * b, 1)
    assert gaps.reshape((a, K, N), Scope(conditions=[known(equal(b, K * N))])).strides == (2 * b, N, 1)
    padded = View.create((N, M), (M + 2, 1)).pad(((0, 0), (1, 1)), Scope())
    assert failure(padded, (-1,), Scope()) == ("mask", (0, 1))
    assert failure(View.create((6,)).pad(((1, 1),), Scope()), (2, 4), Scope()) == ("mask", (0,))


NOT_STRIDED = [
    ((6,), [("pad", ((1, 1),)), ("reshape", (2, 4))], "mask"),  # both new axes cross the padding
    ((4, 6), [("pad", ((1, 1), (0, 0))), ("permute", (1, 0)), ("reshape", (36,))], "contiguity"),
    ((2, 3), [("permute", (1, 0)), ("reshape", (2, 3))], "contiguity"),
    ((N, M), [PADDED, ("reshape", ((N + 3) * (M + K),))], "contiguity"),
    ((N, M), [("permute", (1, 0)), ("reshape", (-1,))], "contiguity"),
    ((N, M), [("pad", ((0, 0), (1, 2))), ("permute", (1, 0)), ("reshape", (1, -1))], "contiguity"),
    ((N, M, K), [("flip", (0,)), ("reshape", (N * M, K))], "contiguity"),
]


@pytest.mark.parametrize(("shape", "steps", "failed"), NOT_STRIDED)
def test_a_reshape_without_strides_is_refused(shape, steps, failed):
    with pytest.raises(ViewError) as caught:
        same_as_numpy(shape, steps, (3, 4, 5))
    assert caught.value.failed == failed


def test_a_window_within_one_row_survives_a_merge():
    view = View.create((1, M), (M + 2, 1)).pad(((1, 1), (1, 1)), Scope())
    flat = view.reshape((-1,), Scope())
    assert flat.mask == ((M + 3, 2 * M + 3),) and flat.linear_index((M + 3,)) == 0


def test_empty_views_reshape_freely():
    scope = Scope()
    assert View.create((0, N)).permute((1, 0)).reshape((5, 0, 7), scope).shape == (5, 0, 7)
    empty = Scope(conditions=[known(equal(N, 0))])
    assert View.create((N, M)).permute((1, 0)).reshape((3, N), empty).shape == (3, N)
    assert same_as_numpy((0, 3), [("permute", (1, 0)), ("reshape", (2, 0)), ("pad", ((1, 1), (1, 0)))], (0, 0, 0))
    with pytest.raises(ShapeError, match="at least 1"):
        View.create((0, 3)).reshape((0, -1), scope)


# -- bad input -------------------------------------------------------------------------------------------------------

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


# -- random movements ------------------------------------------------------------------------------------------------


def sometimes(choose, probability, sizes, default):
    """Draw one of the sizes with this probability; return the default otherwise."""
    return choose.choice(sizes) if choose.random() < probability else default


def merge_two_axes(choose, shape):
    axis = choose.randrange(len(shape) - 1)
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def split_one_axis(choose, shape):
    axis = choose.randrange(len(shape))
    factors = [f for f in (2, 3, N, M, K) if expr.divide_exactly(shape[axis], f) is not None]
    if not factors:
        return permute_sizes(choose, shape)
    factor = choose.choice(factors)
    parts = [factor, expr.divide_exactly(shape[axis], factor)]
    choose.shuffle(parts)
    return (*shape[:axis], *parts, *shape[axis + 1 :])


def insert_axis(choose, shape):
    axis = choose.randrange(len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def drop_ones(choose, shape):
    return tuple(s for s in shape if not is_one(s))


def flatten(choose, shape):
    return (-1,)


def permute_sizes(choose, shape):
    return tuple(choose.sample(shape, len(shape)))


def is_one(size):
    return isinstance(size, int) and size == 1


def random_reshape(choose, shape):
    changes = [insert_axis, drop_ones, flatten, permute_sizes]
    changes += [split_one_axis] if shape else []
    changes += [merge_two_axes] if len(shape) > 1 else []
    return (choose.choice(changes)(choose, shape),)


def random_permute(choose, shape):
    return (tuple(choose.sample(range(len(shape)), len(shape))),)


def random_flip(choose, shape):
    return (tuple(a for a in range(len(shape)) if choose.random() < 0.5),)


def random_pad(choose, shape):
    amount = lambda: sometimes(choose, 0.5, (0, 0, 0, 1, 2, K), 0)
    return (tuple((amount(), amount()) for _ in shape),)


def random_shrink(choose, shape):
    bounds = lambda s: choose.choice([(0, s)] * 3 + [(1, s), (0, s - 1), (K, s), (0, expr.minimum(s, 2)), (1, 2)])
    return (tuple(bounds(s) for s in shape),)


def random_slice(choose, shape):
    steps = tuple(choose.choice((1, 1, 2, 3)) for _ in shape)
    sizes = tuple(expr.ceildiv(size, step) for size, step in zip(shape, steps, strict=True))
    return (0,) * len(shape), sizes, steps


def random_expand(choose, shape):
    """Stretch some axes of size 1, exchange some k, and sometimes add an axis in front."""
    new = [sometimes(choose, 0.7, (0, 2, N, M), size) if is_one(size) else size for size in shape]
    new = [sometimes(choose, 0.3, (N, 2, M), size) if size is K else size for size in new]
    front = sometimes(choose, 0.4, [(1,), (2,), (N,)], ()) if len(shape) < 4 else ()
    return ((*front, *new),)


RANDOM_STEPS = {
    "reshape": random_reshape,
    "permute": random_permute,
    "shrink": random_shrink,
    "slice": random_slice,
    "pad": random_pad,
    "flip": random_flip,
    "expand": random_expand,
}
MIX = ["reshape"] * 3 + ["permute"] * 2 + ["shrink", "slice", "pad", "flip", "expand"]


def random_step(choose, shape):
    """Draw a movement that an array of this shape is likely to allow, as (operation, *arguments)."""
    operation = choose.choice(MIX)
    return operation, *RANDOM_STEPS[operation](choose, shape)


BASES = [(N, M), (2 * N, M), (N, 1, M), (K, N), (3, N, 2), (N * M,), (1,), (), (N, M, K), (N + 1, M), (2 * N, 3 * M)]
RANDOM_VALUES = [(0, 2, 1), (1, 1, 1), (2, 3, 1), (3, 2, 0), (3, 1, 2), (2, 0, 0), (4, 2, 2), (2, 2, 2), (0, 0, 0)]
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


def test_random_movements():
    counts = [check_movements(seed) for seed in range(300)]
    assert sum(counts) >= 9 * len(counts)


@pytest.mark.slow
def test_many_random_movements():
    for seed in range(1000, 6000):
        check_movements(seed)
