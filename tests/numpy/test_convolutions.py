"""Convolutions and reductions of windows: groups, layouts, transposes, ties, memory, errors and run-time sizes."""

import numpy as np
import pytest

import anyshape
from anyshape import conv_general_dilated, conv_transpose, grad, jit, reduce_window, vmap
from anyshape.errors import ArgumentError, DTypeError, ShapeError
from anyshape.ops import windows as wd

RNG = np.random.default_rng(0)


def test_one_trace_serves_windows_and_images_of_every_size():
    f = jit(lambda x, w: conv_general_dilated(x, w, (1, 1), [(1, 0), (0, 1)]))
    for n, k in ((5, 3), (3, 5), (0, 1), (4, 0), (1, 1)):
        x, w = RNG.normal(size=(2, 3, n, n + 1)), RNG.normal(size=(4, 3, k, k))
        result = f(x, w)
        assert result.shape == (2, 4, max(0, n + 1 - k + 1), max(0, n + 2 - k + 1))
        np.testing.assert_allclose(result, conv_general_dilated(x, w, (1, 1), [(1, 0), (0, 1)]))
    assert f.cache_info().traces == 1


def test_layouts_are_named_by_letters_or_axes():
    x, w = RNG.normal(size=(2, 5, 6, 3)), RNG.normal(size=(2, 3, 3, 4))
    letters = conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    axes = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    first = conv_general_dilated(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (1, 2), "SAME")
    np.testing.assert_allclose(letters, first.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(letters, conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=axes))


def test_groups_may_be_as_many_as_channels():
    x, w = RNG.normal(size=(2, 4, 6)), RNG.normal(size=(4, 1, 3))
    f = jit(lambda x, w: conv_general_dilated(x, w, (1,), "VALID", feature_group_count=x.shape[1]))
    expected = np.stack([[np.correlate(x[n, c], w[c, 0]) for c in range(4)] for n in range(2)])
    np.testing.assert_allclose(f(x, w), expected)
    np.testing.assert_allclose(f(x[:, :3], w[:3]), expected[:, :3])
    assert f.cache_info().traces == 1


def test_batch_groups_pair_examples_with_filters():
    x, w = RNG.normal(size=(4, 3, 6)), RNG.normal(size=(6, 3, 2))
    halves = [conv_general_dilated(x[2 * g : 2 * g + 2], w[3 * g : 3 * g + 3], (1,), "VALID") for g in range(2)]
    result = jit(lambda x, w: conv_general_dilated(x, w, (1,), "VALID", batch_group_count=2))(x, w)
    np.testing.assert_allclose(result, np.concatenate(halves, axis=1))


@pytest.mark.parametrize(("padding", "size"), [("SAME", 10), ("VALID", 11)])
def test_conv_transpose_is_the_transpose_of_a_convolution(padding, size):
    y, w = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(3, 4, 3))
    back = conv_transpose(y, w, (2,), padding, transpose_kernel=True)
    assert back.shape == (2, size, 4)
    numbers = ("NHC", "HIO", "NHC")
    forward = lambda x: (conv_general_dilated(x, w, (2,), padding, dimension_numbers=numbers) * y).sum()
    np.testing.assert_allclose(grad(forward)(np.zeros((2, size, 4))), back)


@pytest.mark.parametrize("per_example", [(0, 0), (0, None), (None, 0)])
def test_mapped_convolutions_are_one_convolution(per_example):
    x, w = RNG.normal(size=(3, 2, 4, 6, 5)), RNG.normal(size=(3, 6, 2, 2, 3))
    f = lambda x, w: conv_general_dilated(x, w, (2, 1), "SAME", feature_group_count=2)
    args = [v if axis == 0 else v[0] for v, axis in zip((x, w), per_example)]
    expected = [f(*[v[i] if axis == 0 else v for v, axis in zip(args, per_example)]) for i in range(3)]
    mapped = vmap(f, in_axes=per_example)
    compiled = jit(mapped)
    np.testing.assert_allclose(compiled(*args), expected)
    assert [n.op.name for n in compiled.programs()[0].graph.nodes].count("convolution") == 1


def test_derivatives_of_strided_dilated_groups_agree_with_differences():
    x, w = RNG.normal(size=(2, 4, 7, 5)), RNG.normal(size=(2, 2, 3, 2))

    def f(x, w):
        y = conv_general_dilated(x, w, (2, 1), [(2, -1), (0, 3)], (1, 2), (2, 1), feature_group_count=2)
        return (np.sin(y) * y).sum()

    anyshape.check_grads(f, (x, w), order=2)


def test_long_windows_are_products_of_transforms():
    x, w = RNG.normal(size=20_000), RNG.normal(size=9_000)
    moves = wd.one_by_one((0,), (11_001,))
    np.testing.assert_allclose(wd.convolution(x, w, moves), np.correlate(x, w), atol=1e-10)
    x[3] = np.nan
    assert np.isnan(wd.convolution(x, w, moves)).sum() == 4


def test_columns_take_little_memory():
    """The columns of all windows together would take 7 GB."""
    x, w = np.ones((1, 8, 2000, 500)), np.ones((1, 8, 11, 11))
    small = x[:, :, :40, :40]
    np.testing.assert_allclose(conv_general_dilated(small, w, (3, 3), "VALID"), 968)
    assert conv_general_dilated(x, w, (3, 3), "VALID")[0, 0, 0, 0] == 968


# -- reductions


def test_the_derivative_of_a_tie_goes_to_the_first_winner():
    x = np.array([[1.0, 3.0, 3.0], [3.0, np.nan, 0.0]])
    f = lambda x: reduce_window(x, -np.inf, np.maximum, (2, 2), (1, 1)).sum()
    assert grad(f)(np.where(np.isnan(x), 2.0, x)).tolist() == [[0, 2, 0], [0, 0, 0]]
    assert grad(f)(x).tolist() == [[0, 0, 0], [0, 2, 0]]


def test_windows_without_elements_have_no_gradient():
    f = lambda x: reduce_window(x, -np.inf, np.maximum, (2,), (1,), [(3, 0)])
    x = np.array([1.0, 2.0])
    assert f(x).tolist() == [-np.inf, -np.inf, 1, 2]
    assert grad(lambda x: f(x)[1:].sum())(x).tolist() == [1, 1]


def test_means_are_of_the_elements_inside():
    assert reduce_window(np.arange(4.0), 0, np.mean, (3,), None, "SAME").tolist() == [0.5, 1, 2, 2.5]


def test_init_value_is_combined_once():
    x = np.arange(4)
    assert reduce_window(x, 10, np.add, (2,), (2,), [(1, 1)]).tolist() == [10, 13, 13]
    assert jit(lambda x, v: reduce_window(x, v, np.maximum, (2,), (2,)))(x, 2).tolist() == [2, 3]
    assert reduce_window(x, np.iinfo(int).max, np.maximum, (2,), (2,)).tolist() == [np.iinfo(int).max] * 2


def test_run_time_sizes_move_windows():
    f = jit(lambda x: reduce_window(x[x > 0], 0, np.add, (2,), (1,), "SAME").sum())
    assert [f(np.array(x)) for x in ([1.0, -1, 2, 3], [-1.0], [4.0])] == [11, 0, 4]
    assert f.cache_info().traces == 1


# -- errors


def test_errors_speak_of_the_arguments():
    x, w = np.ones((1, 2, 4)), np.ones((3, 2, 2))
    with pytest.raises(ShapeError, match=r"the operand has 2 features, the window 3"):
        conv_general_dilated(x, np.ones((3, 3, 2)), (1,), "VALID")
    with pytest.raises(ShapeError, match=r"3 output features do not divide into 2 groups"):
        conv_general_dilated(x, np.ones((3, 1, 2)), (1,), "VALID", feature_group_count=2)
    with pytest.raises(ShapeError, match=r"window_strides of 0 is not positive"):
        conv_general_dilated(x, w, (0,), "VALID")
    with pytest.raises(ArgumentError, match=r"padding='FULL'"):
        conv_general_dilated(x, w, (1,), "FULL")
    with pytest.raises(ArgumentError, match=r"window_strides=\(1, 1\)"):
        conv_general_dilated(x, w, (1, 1), "VALID")
    with pytest.raises(ArgumentError, match=r"use each of the letters N, C, H once"):
        conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NHH", "HIO", "NHC"))
    with pytest.raises(ArgumentError, match=r"padding=None"):
        reduce_window(x, 0, np.add, (1, 1, 2), None, None)
    with pytest.raises(ArgumentError, match=r"pass np.add, np.mean, np.maximum or np.minimum"):
        reduce_window(x, 0, np.subtract, (1, 1, 2))
    with pytest.raises(DTypeError, match="complex128"):
        reduce_window(x + 0j, 0, np.maximum, (1, 1, 2))
