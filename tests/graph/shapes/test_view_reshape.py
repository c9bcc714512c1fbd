"""Reshapes of views that are not contiguous: they split and merge axes in place, or say what is in the way."""

import pickle

import pytest

from anyshape.errors import ShapeError, ViewError
from anyshape.graph.prover.constraints import equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.sizes import expr
from tests.graph.shapes.movements import K, M, N, known, same_as_numpy


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
    ((N, M), [("pad", ((1, 2), (K, 0))), ("reshape", ((N + 3) * (M + K),))], "contiguity"),
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
