"""The hand-written step of the demo is a fair opponent only if it is right."""

import numpy as np
import optree
import pytest

from anyshape.demo import train

VOCABULARY = 7
SIZES = [2, 3, 6]  # tokens; the model reads all but the last, so n = 1, 2, 5


@pytest.fixture
def params():
    """A tiny model away from the symmetric start, where the zero matrix would hide most gradients."""
    rng = np.random.default_rng(0)
    start = train.init(rng, VOCABULARY, width=8, layers=2, dtype=np.float64)
    return optree.tree_map(lambda leaf: leaf + 0.3 * rng.standard_normal(leaf.shape), start)


def tokens_of(size):
    return np.random.default_rng(size).integers(VOCABULARY, size=size)


def central_difference(function, array, step=1e-5):
    """The slope of function() by each element of the array, which is moved in place and put back."""
    slope = np.empty_like(array)
    for index in np.ndindex(array.shape):
        here = array[index]
        array[index] = here + step
        above = function()
        array[index] = here - step
        below = function()
        array[index] = here
        slope[index] = (above - below) / (2 * step)
    return slope


@pytest.mark.parametrize("size", SIZES)
def test_value_is_the_eager_loss(params, size):
    value, _ = train.value_and_grad(params, tokens_of(size))
    np.testing.assert_allclose(value, train.loss(params, tokens_of(size)), rtol=1e-13)


@pytest.mark.parametrize("size", SIZES)
def test_gradient_is_the_slope_of_the_loss(params, size):
    tokens = tokens_of(size)
    _, grads = train.value_and_grad(params, tokens)
    paths, leaves, structure = optree.tree_flatten_with_path(params)
    assert optree.tree_structure(grads) == structure
    for path, leaf, grad in zip(paths, leaves, optree.tree_leaves(grads), strict=True):
        expected = central_difference(lambda: train.loss(params, tokens), leaf)
        np.testing.assert_allclose(grad, expected, rtol=1e-6, atol=1e-9, err_msg=str(path))


def test_float32_stays_float32():
    params = train.init(np.random.default_rng(0), train.VOCABULARY)
    value, grads = train.value_and_grad(params, train.encode("A paragraph."))
    assert value.dtype == train.loss(params, train.encode("A paragraph.")).dtype == np.float32
    assert {leaf.dtype for leaf in optree.tree_leaves(grads)} == {np.dtype(np.float32)}


def test_parameters_and_tokens_are_left_alone(params):
    tokens = tokens_of(6)
    before = optree.tree_map(np.copy, (params, tokens))
    train.value_and_grad(params, tokens)
    optree.tree_map(np.testing.assert_array_equal, before, (params, tokens))


def test_the_start_is_a_uniform_guess():
    params = train.init(np.random.default_rng(0), train.VOCABULARY)
    np.testing.assert_allclose(train.loss(params, train.encode("Any text.")), np.log(train.VOCABULARY), rtol=1e-6)


def test_both_files_mean_the_same_model():
    assert train.SLOPES == train.SLOPES
