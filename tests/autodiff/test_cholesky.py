"""Derivatives of Cholesky factors in both directions, of every size of their blocks."""

import numpy as np
import pytest

from anyshape import check_grads, grad, jvp, vmap
from anyshape.backend.numpy.linalg import CHOLESKY_BLOCK


def factor(a):
    return np.linalg.cholesky((a + np.swapaxes(a, -1, -2)) / 2)


def positive(n):
    a = np.random.default_rng(n).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.parametrize("n", [0, 1, 2, CHOLESKY_BLOCK, CHOLESKY_BLOCK + 1, 2 * CHOLESKY_BLOCK + 7])
def test_both_directions_of_a_factor_agree_with_differences(n):
    a = positive(n)
    weights = np.cos(np.arange(n * n).reshape(n, n))
    direction = positive(n)[::-1] + np.eye(n)
    _, forward = jvp(factor, (a,), (direction,))
    step = 1e-6
    expected = (factor(a + step * direction) - factor(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(forward, expected, 1e-5, 1e-8)
    gradient = grad(lambda a: (factor(a) * weights).sum())(a)
    np.testing.assert_allclose((gradient * direction).sum(), (forward * weights).sum(), 1e-10, 1e-12)
    np.testing.assert_array_equal(gradient, gradient.T)


@pytest.mark.slow
def test_a_factor_is_differentiated_three_times_and_in_stacks():
    check_grads(factor, (positive(4),), order=3)
    stack = np.stack([positive(3), 2 * positive(3)])
    check_grads(factor, (stack[None],), order=2)
    gradient = grad(lambda a: np.sin(factor(a)).sum())
    np.testing.assert_allclose(vmap(gradient)(stack), [gradient(a) for a in stack], 1e-12)
    assert gradient(stack[0].astype(np.float32)).dtype == np.float32
    check_grads(lambda a: np.linalg.cholesky((a + np.conj(a.T)) / 2), (positive(3) + 0.1j * positive(3),), order=2)
