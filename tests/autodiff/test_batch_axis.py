"""The batch as the first axis of operands that carry none."""

import numpy as np

import anyshape
import anyshape.numpy as anp


def test_operands_without_a_batch_are_repeated_along_it():
    """Some operands carry the batch, others have an axis more, fewer or of size one."""
    rows, one = np.arange(6.0).reshape(3, 2), np.array([10.0, 20.0])
    joined = anyshape.vmap(lambda x, y: anp.concatenate([x, y]), (0, None))(rows, one)
    assert np.array_equal(joined, np.hstack([rows, np.tile(one, (3, 1))]))
    chosen = anyshape.vmap(lambda x, y: anp.where(x > y[:, None], x, y[:, None]), (None, 0))(rows.T, rows[:, ::-1])
    assert np.array_equal(chosen, np.stack([np.maximum(rows.T, row[::-1][:, None]) for row in rows]))


def test_a_batch_of_size_zero_is_a_batch():
    joined = anyshape.vmap(lambda x, y: anp.concatenate([x, y]), (0, None))(np.ones((0, 2)), np.ones(3))
    assert joined.shape == (0, 5)
