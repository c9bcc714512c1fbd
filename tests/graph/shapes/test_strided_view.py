"""Strided views: every operation does to the indices what NumPy does to an array, at every size, or says why not."""

import itertools
import pickle
import random

import numpy as np
import pytest

from anyshape.errors import ShapeError, ViewError
from anyshape.graph.prover.constraints import Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.shapes.view_chain import ViewChain
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, to_mapping

N, M, K = (expr.variable(name) for name in "nmk")
VARIABLES = [expr.as_atom(v) for v in (N, M, K)]
PADDING = -1


def at(size, values):
    """A size, or nested tuples of them, at the values of n, m, k."""
    if isinstance(size, (tuple, list)):
        return tuple(at(s, values) for s in size)
    return evaluate(size, to_mapping(dict(zip(VARIABLES, values, strict=True))))


def fixed(view, values):
    return view.at(dict(zip(VARIABLES, values, strict=True)))


def holds(scope, values):
    """Everything that the scope believes is true of these sizes."""
    known = to_mapping(dict(zip(VARIABLES, values, strict=True)))
    return all(c.claim.holds(known) for c in scope.conditions)


def read(view, buffer):
    """The array that a view of fixed sizes shows of a flat buffer, element by element."""
    scope = Scope()
    out = np.empty(view.shape, buffer.dtype)
    for index in np.ndindex(*view.shape):
        valid = view.is_valid(index, scope)
        assert valid is not Verdict.UNKNOWN
        place = view.linear_index(index)
        assert valid is Verdict.NO or 0 <= place < buffer.size, f"{view} reads {place} of {buffer.size}"
        out[index] = buffer[place] if valid is Verdict.YES else PADDING
    return out


def read_quickly(chain, buffer):
    """As `read`, with whole arrays of indices."""
    views = chain.views if isinstance(chain, ViewChain) else (chain,)
    indices = list(np.indices(views[-1].shape))
    shape = views[-1].shape
    valid = np.ones(shape, bool)
    for position in reversed(range(len(views))):
        view = views[position]
        for i, (start, stop) in zip(indices, view.mask or (), strict=False):
            valid &= (i >= start) & (i < stop)
        place = view.offset + sum((i * s for i, s in zip(indices, view.strides, strict=True)), np.zeros(shape, int))
        if position:
            before = views[position - 1].shape
            if 0 in before:
                assert not valid.any()
                return np.full(shape, PADDING)
            place = np.where(valid, place, 0)
            assert np.all((place >= 0) & (place < np.prod(before, dtype=int)))
            indices = list(np.unravel_index(place, before)) if before else []
    out = np.full(shape, PADDING)
    out[valid] = buffer[place[valid]]
    assert np.all(place[valid] >= 0)
    return out


# -- the operations, on views and on arrays --------------------------------------------------------------------------


class Moves:
    """The operations on arrays, with the arguments of views at actual sizes. NumPy's, or what it does in two calls."""

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
    return getattr(view, operation)(*arguments, *(() if operation in NO_SCOPE else (scope,)))


def same_as_numpy(shape, steps, values, create=View.create, reader=read):
    """The steps on a view of `shape` and on an array of it, at these values of n, m, k; None if they may not be."""
    scope = Scope()
    view, expected = create(shape), np.arange(int(np.prod(at(shape, values)))).reshape(at(shape, values))
    buffer = expected.reshape(-1)
    for operation, *arguments in steps:
        view = moved(view, operation, arguments, scope)
    if not holds(scope, values):
        return None
    for operation, *arguments in steps:
        expected = getattr(Moves, operation)(expected, *at(arguments, values))
    for shown in (view, view.simplify(scope)):
        np.testing.assert_array_equal(reader(fixed(shown, values), buffer), expected)
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
    ("reshape", ((N + 3) * (M + K),)),
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
CASES += [((N, M), [PADDED, a, b]) for a in AFTER_PADDING[:1] for b in [("reshape", (N + 3, M + K)), ("flip", (0,))]]
CASES += [((1, M), [("pad", pads), ("shrink", bounds), ("expand", (N, M))]) for pads, bounds in [
    (((1, 1), (0, 0)), ((0, 1), (0, M))),
    (((1, 1), (0, 0)), ((1, 2), (0, M))),
    (((K, 1), (0, 0)), ((0, 1), (0, M))),
]]  # fmt: skip
CASES += [((N,), [("pad", ((0, K),)), ("expand", (3, M))])]


@pytest.mark.parametrize(("shape", "steps"), CASES, ids=lambda p: str(p) if isinstance(p, tuple) else p[-1][0])
def test_an_operation_does_what_numpy_does(shape, steps):
    """At every size where the scope's assertions hold, and then NumPy accepts it too."""
    tried = [v for v in VALUES if same_as_numpy(shape, steps, v, ViewChain.create) is not None]
    assert len(tried) >= 2
    refused = [v for v in VALUES if v not in tried]
    for values in refused:
        x = np.zeros(at(shape, values))
        try:
            for operation, *arguments in steps:
                x = getattr(Moves, operation)(x, *at(arguments, values))
        except ValueError:
            continue
        assert steps[-1][0] in ("shrink", "slice"), "NumPy clips only slices"


def test_views_that_need_no_chain():
    for shape, steps in CASES:
        if "reshape" not in [s[0] for s in steps[1:]]:
            assert isinstance(same_as_numpy(shape, steps, (4, 6, 2)) or View.create(()), View)


def test_a_view_is_data():
    view = View.create((N, 3)).pad(((1, 1), (0, 0)), Scope())
    assert view == View.create((N, 3)).pad(((1, 1), (0, 0)), Scope())
    assert pickle.loads(pickle.dumps(view)) == view and hash(view) == hash(pickle.loads(pickle.dumps(view)))
    assert str(view) == "view (n + 2, 3) with strides (3, 1), offset -3, mask ((1, n + 1), (0, 3))"
    assert str(View.create((N,))) == "view (n,) with strides (1,), offset 0"
    assert view.ndim == 2 and view.numel() == 3 * N + 6
    with pytest.raises(AttributeError):
        view.offset = 1


def test_indices_may_be_sizes():
    scope = Scope()
    view = View.create((N, M)).pad(((1, 1), (0, 0)), scope)
    assert view.linear_index((N, M - 1)) == N * M - 1
    assert view.is_valid((N, 0), Scope(conditions=[known(at_least(N, 1)), known(at_least(M, 1))])) is Verdict.YES
    assert view.is_valid((N, 0), scope) is Verdict.UNKNOWN
    assert view.is_valid((N + 1, 0), scope) is Verdict.NO
    assert View.create((N,)).is_valid((K,), scope) is Verdict.YES  # without a mask nothing is asked


def known(claim):
    return Condition("constraint", claim, "test", "test")


# -- what is known of a view -----------------------------------------------------------------------------------------


def test_contiguity():
    scope = Scope()
    plain = View.create((N, M, 3))
    assert plain.is_c_contiguous(scope) and plain.strides_opt(scope) == (3 * M, 3, 1)
    assert plain.shrink(((K, N), (0, M), (0, 3)), scope).is_c_contiguous(scope)  # rows from some row on
    for other in (plain.permute((1, 0, 2)), plain.flip((0,)), plain.shrink(((0, N), (0, M), (0, 2)), scope)):
        assert not other.is_c_contiguous(scope) and other.is_materializable(scope)
    padded = plain.pad(((0, 0), (1, 0), (0, 0)), scope)
    assert not padded.is_c_contiguous(scope) and padded.strides_opt(scope) is None
    assert not padded.is_materializable(scope)
    assert padded.shrink(((0, N), (1, M + 1), (0, 3)), scope).is_c_contiguous(scope)
    assert View.create((N, 1, M), (M, 77, 1)).is_c_contiguous(scope)
    assert View.create((0, N), (7, 7)).is_c_contiguous(scope)
    assert View.create((N, M), (K, 1)).is_c_contiguous(Scope(conditions=[known(equal(K, M))]))
    assert not View.create((N, M), (K, 1)).is_c_contiguous(scope)
    chain = ViewChain.create((N, M)).permute((1, 0)).reshape((-1,), scope)
    assert len(chain.views) == 2 and not chain.is_materializable(scope) and chain.strides_opt(scope) is None
    assert chain.reshape((M, N), scope).permute((1, 0)).is_c_contiguous(scope)


def test_simplify():
    scope = Scope(conditions=[known(equal(K, 1)), known(equal(M, N))])
    view = View.create((K, M), (M, 1), 3 * K, ((0, 1), (0, N))).simplify(scope)
    assert view == View((1, N), (0, 1), 3) or view == View((1, M), (0, 1), 3)
    assert View.create((N, 0), (5, 5), 9, ((1, N), (0, 0))).simplify(scope) == View.create((N, 0))


# -- reshapes of what is not contiguous ------------------------------------------------------------------------------


def failure(view, shape, scope):
    with pytest.raises(ViewError) as caught:
        view.reshape(shape, scope)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.failed in str(error).splitlines()[0] and "ViewChain" in str(error).splitlines()[1]
    return error.failed, error.axes


def test_axes_split_whatever_the_strides():
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


def test_the_error_says_which_of_the_two_failed():
    swapped = View.create((N, M)).permute((1, 0))
    assert failure(swapped, (-1,), Scope()) == ("contiguity", (0, 1))
    assert failure(swapped, (N, M), Scope()) == ("contiguity", (0, 1))
    assert failure(View.create((4, 6)).permute((1, 0)), (8, 3), Scope()) == ("contiguity", (0, 1))
    rows = View.create((N, M, 3)).shrink(((0, N), (0, M), (0, 2)), Scope())
    assert failure(rows, (N, 2 * M), Scope()) == ("contiguity", (1, 2))
    a, b = expr.variable("a", 1), expr.variable("b", 1)
    gaps = View.create((a, b), (2 * b, 1))  # certainly not contiguous, so a new axis must end where the first does
    assert failure(gaps, (K, N), Scope()) == ("divisibility", (0, 1))
    assert gaps.reshape((K, N), Scope(conditions=[known(equal(K, a)), known(equal(N, b))])).strides == (2 * b, 1)
    assert gaps.reshape((a, K, N), Scope(conditions=[known(equal(b, K * N))])).strides == (2 * b, N, 1)
    padded = View.create((N, M), (M + 2, 1)).pad(((0, 0), (1, 1)), Scope())
    assert failure(padded, (-1,), Scope()) == ("mask", (0, 1))
    assert failure(View.create((6,)).pad(((1, 1),), Scope()), (2, 4), Scope()) == ("mask", (0,))


MERGING = [
    ((4, 6), [("pad", ((1, 1), (0, 0))), ("permute", (1, 0)), ("reshape", (36,)), ("reshape", (6, 6)),
              ("shrink", ((0, 6), (0, 3))), ("pad", ((0, 0), (0, 1)))]),
    ((N, M), [("permute", (1, 0)), ("reshape", (-1,)), ("reshape", (M, N)), ("flip", (0,))]),
    ((N, M), [("permute", (1, 0)), ("reshape", (-1,)), ("reshape", (M, N)),
              ("slice", (0, 0), (M, N - N // 2), (1, 2))]),
    ((N, M), [("pad", ((0, 0), (1, 2))), ("permute", (1, 0)), ("reshape", (1, -1)), ("reshape", (M + 3, N)),
              ("flip", (0, 1)), ("pad", ((1, 0), (0, 0)))]),
    ((N, M, K), [("flip", (0,)), ("reshape", (N * M, K)), ("reshape", (N, M, K)), ("permute", (2, 0, 1))]),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "steps"), MERGING)
def test_views_that_come_to_fit_merge(shape, steps):
    tried = [same_as_numpy(shape, steps, v, ViewChain.create, read_quickly) for v in VALUES]
    chain = next(c for c in tried if c is not None)
    assert len(chain.views) == 2 and len(chain.simplify(Scope()).views) == 1


APART = [
    ((6,), [("pad", ((1, 1),)), ("reshape", (2, 4)), ("flip", (0,))]),  # both axes walk along one that is padded
    ((2, 3), [("permute", (1, 0)), ("reshape", (2, 3)), ("flip", (1,))]),
    ((N, M), [("permute", (1, 0)), ("reshape", (-1,)), ("flip", (0,))]),
]


@pytest.mark.parametrize(("shape", "steps"), APART)
def test_views_that_do_not_fit_stay_apart(shape, steps):
    tried = [same_as_numpy(shape, steps, v, ViewChain.create) for v in VALUES]
    assert all(len(c.simplify(Scope()).views) == 2 for c in tried)


def test_a_view_of_fewer_elements_than_there_are():
    chain = ViewChain((View.create((2, 4), (10, 1)), View.create((2, 3))))
    assert chain.linear_index((1, 0)) == chain.simplify(Scope()).linear_index((1, 0)) == 3


def test_a_part_of_one_row_is_a_part_of_all_rows():
    view = View.create((1, M), (M + 2, 1)).pad(((1, 1), (1, 1)), Scope())
    flat = view.reshape((-1,), Scope())
    assert flat.mask == ((M + 3, 2 * M + 3),) and flat.linear_index((M + 3,)) == 0


def test_sizes_of_zero():
    scope = Scope()
    assert View.create((0, N)).permute((1, 0)).reshape((5, 0, 7), scope).shape == (5, 0, 7)
    empty = Scope(conditions=[known(equal(N, 0))])
    assert View.create((N, M)).permute((1, 0)).reshape((3, N), empty).shape == (3, N)
    assert same_as_numpy((0, 3), [("permute", (1, 0)), ("reshape", (2, 0)), ("pad", ((1, 1), (1, 0)))], (0, 0, 0))
    chain = ViewChain((View.create((0, 3)), View.create((2, 0))))
    assert chain.linear_index((0, 0)) == 0
    with pytest.raises(ShapeError, match="at least 1"):
        View.create((0, 3)).reshape((0, -1), scope)


# -- bad input -------------------------------------------------------------------------------------------------------

VIEW = View.create((N, 3))
BAD = [
    (lambda s: View.create((N, -1)), "negative"),
    (lambda s: View.create((2.5,)), "2.5 is no size"),
    (lambda s: View.create((float("nan"),)), "nan is no size"),
    (lambda s: View.create(("n",)), "'n' is no size"),
    (lambda s: View.create((N, 3), (1,)), "1 values were given for 2 axes"),
    (lambda s: View.create((N, 3), mask=((0, N),)), "no pair for each of 2 axes"),
    (lambda s: View.create((N,), mask=((0, N, 1),)), "no pair for each of 1 axes"),
    (lambda s: View.create((N,), offset=None), "None is no size"),
    (lambda s: VIEW.shrink(((0, N + 1), (0, 3)), s), "out of bounds for axis 0"),
    (lambda s: VIEW.shrink(((-1, N), (0, 3)), s), "out of bounds for axis 0"),
    (lambda s: VIEW.shrink(((0, N), (2, 1)), s), "out of bounds for axis 1"),
    (lambda s: VIEW.shrink(((0, N), (0, 4)), s), "out of bounds for axis 1 of size 3"),
    (lambda s: VIEW.shrink(((0, N),), s), "no pair for each of 2 axes"),
    (lambda s: VIEW.shrink(((0, 1.5), (0, 3)), s), "1.5 is no size"),
    (lambda s: VIEW.slice((0, 1), (N, 2), (1, 2), s), "out of bounds for axis 1"),
    (lambda s: VIEW.slice((0, 0), (N, 3), (1, 0), s), "out of bounds for axis 1"),
    (lambda s: VIEW.slice((0, 0), (N, -1), (1, 1), s), "out of bounds for axis 1"),
    (lambda s: VIEW.pad(((0, -1), (0, 0)), s), "a pad of -1 is negative"),
    (lambda s: VIEW.pad(((0, 0), (0, -N - 1)), s), "negative"),
    (lambda s: VIEW.pad(((0, 0),), s), "no pair for each of 2 axes"),
    (lambda s: VIEW.expand((N, 4), s), "axis 1 of size 3 cannot be stretched to 4"),
    (lambda s: VIEW.expand((3,), s), "2 axes cannot become 1"),
    (lambda s: VIEW.expand((-1, N, 3), s), "negative"),
    (lambda s: VIEW.permute((0,)), "no order of 2 axes"),
    (lambda s: VIEW.permute((0, 0)), "no order of 2 axes"),
    (lambda s: VIEW.permute((0, -1)), "no order of 2 axes"),
    (lambda s: VIEW.flip((2,)), "axis 2 is out of bounds"),
    (lambda s: VIEW.flip((1, -1)), "an axis occurs twice"),
    (lambda s: VIEW.reshape((N, 4), Scope(conditions=[known(at_least(N, 1))])), "cannot reshape"),
    (lambda s: VIEW.reshape((N, 2.0), s), "2.0 is no size"),
    (lambda s: VIEW.reshape((-1, -1), s), "only one size"),
    (lambda s: View.create((4, 3)).reshape((5, -1), s), "do not divide"),
    (lambda s: VIEW.linear_index((0,)), "1 values were given for 2 axes"),
    (lambda s: VIEW.linear_index((0, 0.5)), "0.5 is no size"),
    (lambda s: VIEW.is_valid((0, 0, 0), s), "3 values were given for 2 axes"),
    (lambda s: ViewChain.create((N, 3)).shrink(((0, N), (0, 4)), s), "out of bounds"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), BAD, ids=[f"{i}: {w}" for i, (_, w) in enumerate(BAD)])
def test_bad_input(call, words):
    scope = Scope()
    with pytest.raises(ShapeError, match=words) as caught:
        call(scope)
    assert str(caught.value).startswith("view.") and len(str(caught.value).splitlines()) == 2


def test_what_is_not_known_becomes_an_assertion():
    scope = Scope()
    VIEW.shrink(((K, N), (0, 3)), scope)
    assert [str(c.claim) for c in scope.conditions] == ["k >= 0", "n >= k"] or [
        str(c.claim) for c in scope.conditions
    ] == ["n >= k"]
    assert all(c.kind == "assertion" and c.primitive == "view.shrink" for c in scope.conditions)
    VIEW.shrink(((K, N), (0, 3)), scope)  # believed from now on
    assert len(scope.conditions) <= 2


def test_huge_sizes():
    big = 10**30
    view = View.create((big, N)).permute((1, 0)).flip((1,))
    assert view.linear_index((0, big - 1)) == 0 and view.numel() == big * N


# -- chains of random movement ---------------------------------------------------------------------------------------


def small(choose, *sizes):
    return choose.choice(sizes)


def random_reshape(choose, shape):
    kind = choose.randrange(6)
    axis = choose.randrange(len(shape)) if shape else 0
    if kind == 0 and len(shape) > 1:
        axis = choose.randrange(len(shape) - 1)
        return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    if kind == 1 and shape:
        factors = [f for f in (2, 3, N, M, K) if expr.divide_exactly(shape[axis], f) is not None]
        if factors:
            f = choose.choice(factors)
            parts = [f, expr.divide_exactly(shape[axis], f)]
            choose.shuffle(parts)
            return (*shape[:axis], *parts, *shape[axis + 1 :])
    if kind == 2:
        axis = choose.randrange(len(shape) + 1)
        return (*shape[:axis], 1, *shape[axis:])
    if kind == 3:
        return tuple(s for s in shape if not (isinstance(s, int) and s == 1))
    if kind == 4:
        return (-1,)
    return tuple(choose.sample(shape, len(shape)))


def random_step(choose, shape):
    """One movement of an array of this shape that is likely to be allowed."""
    kind = choose.choice(["reshape"] * 3 + ["permute"] * 2 + ["shrink", "slice", "pad", "flip", "expand"])
    rank = len(shape)
    if kind == "reshape":
        return kind, random_reshape(choose, shape)
    if kind == "permute":
        return kind, tuple(choose.sample(range(rank), rank))
    if kind == "flip":
        return kind, tuple(a for a in range(rank) if choose.random() < 0.5)
    if kind == "pad":
        amount = lambda: small(choose, 0, 0, 0, 1, 2, K) if choose.random() < 0.5 else 0
        return kind, tuple((amount(), amount()) for _ in shape)
    if kind == "shrink":
        bounds = lambda s: choose.choice([(0, s)] * 3 + [(1, s), (0, s - 1), (K, s), (0, expr.minimum(s, 2)), (1, 2)])
        return kind, tuple(bounds(s) for s in shape)
    if kind == "slice":
        step = [small(choose, 1, 1, 2, 3) for _ in shape]
        return kind, (0,) * rank, tuple(expr.ceildiv(s, k) for s, k in zip(shape, step, strict=True)), tuple(step)
    ones = [a for a, s in enumerate(shape) if isinstance(s, int) and s == 1]
    new = [small(choose, 0, 2, N, M) if a in ones and choose.random() < 0.7 else s for a, s in enumerate(shape)]
    new = [small(choose, N, 2, M) if s is K and choose.random() < 0.3 else s for s in new]
    return kind, (*((small(choose, 1, 2, N),) if rank < 4 and choose.random() < 0.4 else ()), *new)


BASES = [(N, M), (2 * N, M), (N, 1, M), (K, N), (3, N, 2), (N * M,), (1,), (), (N, M, K), (N + 1, M), (2 * N, 3 * M)]
RANDOM_VALUES = [(0, 2, 1), (1, 1, 1), (2, 3, 1), (3, 2, 0), (3, 1, 2), (2, 0, 0), (4, 2, 2), (2, 2, 2), (0, 0, 0)]
LIMIT = 600


# Layouts with sizes for strides, of a buffer of 200 elements; and what a program may have declared.
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


def random_chain(choose, length=10):
    """A first view, steps, the chain, and the scope with what they rely on."""
    scope = Scope(conditions=[known(c) for c in choose.choice(FACTS)])
    first = View.create(*choose.choice([(b,) for b in BASES] + STRIDED))
    chain, steps = ViewChain((first,)), []
    for _ in range(20 * length):
        step = random_step(choose, chain.shape)
        before = list(scope.conditions)
        try:
            after = moved(chain, *step[:1], step[1:], scope)
        except ShapeError:
            scope = Scope(conditions=before)
            continue
        fits = [v for v in RANDOM_VALUES if holds(scope, v)]
        if len(fits) < 2 or any(np.prod(at(after.shape, v)) > LIMIT for v in fits):
            scope = Scope(conditions=before)
            continue
        chain = after
        steps.append(step)
        if len(steps) == length:
            break
    return first, steps, chain, scope


def check_chain(seed):
    """The chain, and what it simplifies to, show what NumPy makes; how many views they have."""
    choose = random.Random(seed)
    first, steps, chain, scope = random_chain(choose)
    simple = chain.simplify(scope)
    for values in RANDOM_VALUES:
        if not holds(scope, values):
            continue
        expected = read_quickly(fixed(first, values), BUFFER)
        for operation, *arguments in steps:
            expected = getattr(Moves, operation)(expected, *at(arguments, values))
        for shown in (chain, simple):
            found = read_quickly(fixed(shown, values), BUFFER)
            np.testing.assert_array_equal(found, expected, err_msg=f"{seed}: {first} {steps} at {values}: {shown}")
        for index in itertools.islice(np.ndindex(*expected.shape), 0, None, max(1, expected.size // 3)):
            concrete, nothing = fixed(simple, values), Scope()
            valid = concrete.is_valid(index, nothing)
            place = concrete.linear_index(index)
            assert expected[index] == (BUFFER[place] if valid is Verdict.YES else PADDING)
    return len(chain.views), len(simple.views), len(steps)


def test_random_chains():
    found = [check_chain(seed) for seed in range(300)]
    views, merged, steps = (sum(column) for column in zip(*found, strict=True))
    assert steps >= 9 * len(found)
    assert merged < views  # simplification finds something


@pytest.mark.slow
def test_many_random_chains():
    for seed in range(1000, 6000):
        check_chain(seed)
