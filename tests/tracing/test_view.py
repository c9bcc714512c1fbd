"""Views over users' sizes show what NumPy's movements give, at every size, or say why they cannot."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from anyshape import Dim, SymbolicScope, View, errors, grad, jit, symbolic_shape

PADDING = -1
CONSTRAINTS = ["k >= 1", "n >= k"]
SIZES = [(1, 0, 1), (2, 3, 1), (3, 1, 2), (4, 4, 4), (5, 2, 3)]  # of n, m and k


def read(view, size):
    """Return the array that a view of ints shows of a buffer that counts, element by element."""
    out = np.full(tuple(view.shape), PADDING)
    for index in np.ndindex(*view.shape):
        valid = view.is_valid(index)
        assert isinstance(valid, bool)
        if valid:
            out[index] = view.linear_index(index)
            assert 0 <= out[index] < size
    return out


# each movement of a view, and the same of an array, given the sizes n, m and k
MOVES = {
    "permute": (lambda v, n, m, k: v.permute((1, 0)), lambda a, n, m, k: a.T),
    "flip": (lambda v, n, m, k: v.flip((0,)), lambda a, n, m, k: a[::-1]),
    "flip last": (lambda v, n, m, k: v.flip((-1,)), lambda a, n, m, k: a[:, ::-1]),
    "pad": (
        lambda v, n, m, k: v.pad(((1, k), (0, 2))),
        lambda a, n, m, k: np.pad(a, ((1, k), (0, 2)), constant_values=PADDING),
    ),
    "expand": (
        lambda v, n, m, k: v.expand((k, *v.shape)).permute((1, 0, 2)).reshape((v.shape[0] * k, v.shape[1])),
        lambda a, n, m, k: np.repeat(a, k, axis=0),
    ),
    "shrink": (
        lambda v, n, m, k: v.shrink(((k - k, v.shape[0]), (0, v.shape[1]))),
        lambda a, n, m, k: a,
    ),
    "reshape": (
        lambda v, n, m, k: v.reshape((1, v.shape[0], v.shape[1])).reshape((v.shape[0], v.shape[1])),
        lambda a, n, m, k: a,
    ),
}


def moved(names, sizes):
    """Return the view after movements, over symbolic sizes, and the array at these sizes; None where it is refused."""
    n, m, k = symbolic_shape("n, m, k", constraints=CONSTRAINTS)
    view = View((n, m))
    try:
        for name in names:
            view = MOVES[name][0](view, n, m, k)
    except (errors.ViewError, errors.SpecError):
        return None
    array = np.arange(sizes[0] * sizes[1]).reshape(sizes[:2])
    for name in names:
        array = MOVES[name][1](array, *sizes)
    return view, array


@pytest.mark.parametrize("names", [*itertools.product(MOVES, repeat=2), *zip(MOVES, MOVES, MOVES, strict=True)])
def test_movements_are_numpys(names):
    for sizes in SIZES:
        result = moved(names, sizes)
        if result is None:
            assert {"expand", "pad"} & {*names}, "only these lose what a later reshape needs"
            return
        view, array = result
        known = dict(zip("nmk", sizes, strict=True))
        bound = view.bind({v: known[str(v)] for v in view.variables})
        np.testing.assert_array_equal(read(bound, sizes[0] * sizes[1]), array)
        np.testing.assert_array_equal(bound.of(np.arange(sizes[0] * sizes[1]), PADDING), array)


def test_questions_are_answered_for_all_sizes_or_not_at_all():
    n, m = symbolic_shape("n, m", scope=SymbolicScope(["m >= 1"]))
    view = View((n, m))
    assert view.is_c_contiguous() and not view.permute((1, 0)).is_c_contiguous()
    assert not View((n, m), offset=1).is_c_contiguous(), "the elements do not begin at the start of the buffer"
    assert View((n, m), (m, 1), m - m).is_c_contiguous()
    padded = view.pad(((1, 0), (0, 0)))
    assert padded.strides_opt() is None and view.strides_opt() == (m, 1)
    assert padded.is_valid((0, 0)) is False and padded.is_valid((1, 0)) is None and view.is_valid((0, 0)) is True
    assert str(padded.linear_index((n, 1))) == "m*n - m + 1"
    assert str(view.size) == "m*n" and view.ndim == 2


def test_a_movement_needs_what_is_declared():
    n, k = symbolic_shape("n, k")
    with pytest.raises(
        errors.SpecError,
        match=r"n >= k, which does not follow \(false for n = 0, k = 1\)\n  declare it as a constraint",
    ):
        View((n,)).shrink(((0, k),))
    n, k = symbolic_shape("n, k", constraints=["n >= k"])
    assert View((n,)).shrink(((0, k),)).shape == (k,)
    with pytest.raises(errors.ShapeError, match="out of bounds"):
        View((3,)).shrink(((0, 4),))
    with pytest.raises(errors.ViewError):
        View((n, 2)).permute((1, 0)).reshape((2 * n,))


@pytest.mark.parametrize("wrong", [2.0, True, None, "n", np.float64(1)])
def test_what_is_no_size(wrong):
    for make in (lambda: View((3,), (wrong,)), lambda: View((3,)).pad(((wrong, 0),)), lambda: View((3,), offset=wrong)):
        with pytest.raises(errors.SpecError, match="is not a size"):
            make()


def test_sizes_of_other_scopes_do_not_mix():
    (n,), (m,) = symbolic_shape("n"), symbolic_shape("m")
    with pytest.raises(errors.ScopeMismatchError):
        View((n, m))
    with pytest.raises(errors.ScopeMismatchError):
        View((n,)).pad(((m, 0),))


def test_binding():
    steps = Dim("steps", 2, 9)
    view = View((steps, 3)).flip((0,))
    assert view.bind(steps=4) == View((4, 3), (-3, 1), 9) and view == View((steps, 3)).flip((0,))
    assert str(view) == "View(shape=(steps, 3), strides=(-3, 1), offset=3*steps - 3)"
    with pytest.raises(errors.SpecError, match="out of range"):
        view.bind(steps=1)
    again = pickle.loads(pickle.dumps(view))
    assert again == view and hash(again) == hash(view) and copy.deepcopy(view) == view
    assert again.bind(steps=5).offset == 12


def test_flip_takes_axes_or_a_bool_for_each():
    assert View((2, 3)).flip([True, False]) == View((2, 3)).flip([0])
    assert View((2, 3)).flip([False, np.True_]) == View((2, 3)).flip([1])
    with pytest.raises(errors.SpecError, match="there are 1 bools"):
        View((2, 3)).flip([True])


def test_a_view_reads_a_traced_array():
    pairs = lambda x: View((x.shape[0] - 1, 2), (1, 1)).of(x)
    f = jit(pairs)
    for n in (1, 2, 5):
        x = np.arange(float(n))
        np.testing.assert_array_equal(f(x), np.stack([x[:-1], x[1:]], axis=1))
    assert f.cache_info().traces <= 2
    slopes = grad(lambda x: np.sum(View((2, 2), (0, 1)).of(x) ** 2))(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(slopes, [4.0, 8.0])
    for view, length in ((View((3,)), 2), (View((3,), (-1,)), 3)):
        with pytest.raises(errors.SpecError, match="the buffer has"):
            view.of(np.ones(length))
    with pytest.raises(errors.SpecError, match=r"view\.bind"):
        View(symbolic_shape("n")).of(np.ones(3))
