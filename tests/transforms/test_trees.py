"""Functions of trees, on arrays and on traced values."""

from typing import NamedTuple

import numpy as np
import pytest

from anyshape import (
    ShapeDtypeStruct,
    check_grads,
    errors,
    grad,
    jit,
    ravel_pytree,
    trace,
    tree_leaves,
    tree_map,
    value_and_grad,
)


class Layer(NamedTuple):
    w: np.ndarray
    b: np.ndarray


def tree_of(n):
    return {"first": Layer(np.arange(2.0 * n).reshape(n, 2), np.ones(n)), "scale": 3.0, "name": "mlp", "none": None}


def test_leaves_are_in_order():
    assert [np.size(x) for x in tree_leaves(tree_of(3))] == [6, 3, 1]
    assert tree_leaves(5.0) == [5.0]
    assert tree_leaves([]) == []


def test_a_step_of_gradient_descent_keeps_the_structure():
    def loss(p):
        return np.sum(p["first"].w ** 2) + np.sum(p["first"].b) * p["scale"]

    p = tree_of(2)
    stepped = tree_map(lambda x, g: x - 0.5 * g, p, grad(loss)(p))
    np.testing.assert_array_equal(stepped["first"].w, np.zeros((2, 2)))
    np.testing.assert_array_equal(stepped["first"].b, [-0.5, -0.5])
    assert type(stepped["first"]) is Layer
    assert (stepped["name"], stepped["none"]) == ("mlp", None)


def test_trees_of_other_structures_are_refused():
    with pytest.raises(errors.ArgumentError, match=r"tree_map\(<lambda>\): tree 2 has the structure"):
        tree_map(lambda a, b: a, {"a": 1.0}, {"b": 1.0})
    with pytest.raises(errors.ArgumentError, match="tree_map"):
        tree_map(3, {"a": 1.0})


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_vector_and_back(n):
    tree = tree_of(n)
    vector, unravel = ravel_pytree(tree)
    assert vector.shape == (3 * n + 1,)
    back = unravel(2 * vector)
    np.testing.assert_array_equal(back["first"].w, 2 * tree["first"].w)
    assert (back["scale"], back["name"]) == (6.0, "mlp")


def test_dtypes_are_joined_and_restored():
    vector, unravel = ravel_pytree([np.ones(2, np.float32), np.arange(2), np.float32(5)])
    assert vector.dtype == np.float64
    assert [x.dtype for x in unravel(vector)] == [np.float32, np.int64, np.float32]
    empty, unravel = ravel_pytree({})
    assert empty.shape == (0,)
    assert unravel(empty) == {}


def test_one_trace_serves_all_sizes():
    @jit
    def doubled(tree):
        vector, unravel = ravel_pytree(tree)
        return unravel(vector * np.arange(vector.size, like=vector))

    for n in (0, 1, 2, 5):
        tree = {"a": np.ones((n, 2)), "b": np.ones(3)}
        result = doubled(tree)
        np.testing.assert_array_equal(result["a"], np.arange(2.0 * n).reshape(n, 2))
        np.testing.assert_array_equal(result["b"], np.arange(2.0 * n, 2 * n + 3))
    assert doubled.cache_info().traces == 1


def test_derivatives_go_through_both_ways():
    def loss(vector, like):
        tree = ravel_pytree(like)[1](vector)
        return np.sum(np.sin(tree["a"]) * tree["b"])

    like = {"a": np.ones((2, 3)), "b": np.ones(3)}
    check_grads(loss, (np.linspace(0, 1, 9), like))
    check_grads(lambda tree: np.sum(ravel_pytree(tree)[0] ** 3), (like,))
    assert value_and_grad(loss)(np.zeros(9), like)[1].shape == (9,)


def test_a_vector_of_another_length_is_refused():
    _, unravel = ravel_pytree(tree_of(2))
    with pytest.raises(errors.CheckError, match="as many elements as the tree"):
        unravel(np.zeros(6))
    with pytest.raises(errors.ArgumentError, match="has 2 axes"):
        unravel(np.zeros((7, 1)))
    program = trace(lambda x, v: ravel_pytree(x)[1](v))(ShapeDtypeStruct("n"), ShapeDtypeStruct("m"))
    np.testing.assert_array_equal(program(np.zeros(3), np.ones(3)), np.ones(3))
    with pytest.raises(errors.CheckError, match=r"m \(4, from v.shape\[0\]\) must equal n \(3"):
        program(np.zeros(3), np.ones(4))
