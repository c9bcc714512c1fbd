"""Tests of functions that leave out, insert and order elements: traced positions, guards and refusals."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import jit
from anyshape.errors import AnyshapeError, CheckError

X = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize("positions", [2, -1, [1, 3], [0, 0, 4], [], [True, False, True, False, False]])
def test_traced_positions_are_deleted_as_in_numpy(positions):
    positions = np.array(positions, bool if positions == [True, False, True, False, False] else int)
    function = jit(lambda x, i: np.delete(x, i, axis=0))
    np.testing.assert_array_equal(function(X, positions), np.delete(X, positions, axis=0), strict=True)


@pytest.mark.parametrize("positions", [2, -1, [1, 3], [0, 0], [5, 0]])
def test_traced_positions_take_values_as_in_numpy(positions):
    positions = np.array(positions)
    function = jit(lambda x, i, y: np.insert(x, i, y, axis=0))
    values = np.array([[7.0, 8.0], [9.0, 10.0]])
    np.testing.assert_array_equal(function(X, positions, values), np.insert(X, positions, values, axis=0), strict=True)


def test_one_position_in_a_vector_takes_all_values():
    function = jit(lambda x, i, y: np.insert(x, i, y))
    for count in (1, 2, 3):
        x, i, y = np.arange(4.0), np.array([2]), np.arange(float(count))
        np.testing.assert_array_equal(function(x, i, y), np.insert(x, i, y))


def test_positions_out_of_bounds_are_refused():
    for edit in (lambda x, i: np.delete(x, i), lambda x, i: np.insert(x, i, 1.0)):
        with pytest.raises(CheckError, match="a position is out of bounds"):
            jit(edit)(np.arange(3.0), np.array([-4, 1]))
        with pytest.raises(AnyshapeError, match=r"x.shape\[0\] \(3\) must be at least"):
            jit(lambda x, edit=edit: edit(x, 7))(np.arange(3.0))


def test_one_program_deletes_at_every_size():
    function = jit(lambda x: np.delete(x, -1))
    assert [function(np.arange(n)).tolist() for n in (1, 2, 4)] == [[], [0], [0, 1, 2]]
    assert len(function.programs()) == 1


def test_arrays_of_other_shapes_are_not_equal():
    function = jit(lambda x, y: np.array_equal(x, y))
    assert function(np.ones(2), np.ones(2)) and not function(np.ones(2), np.ones(3))
    assert not function(np.ones(2), np.ones((2, 1))) and not function(np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    assert jit(lambda x: np.array_equal(x, x, equal_nan=True))(np.array([1.0, np.nan]))


def test_sizes_of_grids_may_be_symbolic():
    function = jit(lambda x: anp.triu_indices(x.shape[0], 1, x.shape[1]))
    for shape in ((0, 2), (3, 3), (4, 2), (2, 4)):
        for ours, numpys in zip(function(np.ones(shape)), np.triu_indices(shape[0], 1, shape[1]), strict=True):
            np.testing.assert_array_equal(ours, numpys)
    with pytest.raises(CheckError, match="cannot include zero"):
        jit(lambda a, x: anp.geomspace(a, 1.0, x.shape[0]))(0.0, np.ones(3))
