"""Pruning of loops: results for nobody are not computed, and what a loop refuses or checks stays."""

import numpy as np
import pytest

from anyshape import fori_loop, grad, jit, scan, vmap, while_loop
from anyshape.graph.ir.graph import walk

X = np.array([0.3, -1.2, 2.0])


def ops(f):
    """Return the names of the ops of the only program."""
    (program,) = f.programs()
    return [node.op.name for node in walk(program.graph)]


def test_a_stack_that_nothing_reads_is_not_made():
    f = jit(lambda x, xs: scan(lambda c, y: (np.sin(c) + y, np.cosh(c)), x, xs)[0])
    expected = X
    for y in np.eye(3):
        expected = np.sin(expected) + y
    np.testing.assert_allclose(f(X, np.eye(3)), expected)
    assert "cosh" not in ops(f)


def test_a_carry_that_nothing_live_reads_is_not_computed():
    body = lambda i, c: (np.sin(c[0]), np.cosh(c[1]) + c[2], c[2] * c[0])
    f = jit(lambda x: fori_loop(0, 4, body, (x, x, x))[0])
    np.testing.assert_allclose(f(X), np.sin(np.sin(np.sin(np.sin(X)))))
    assert "cosh" not in ops(f)
    read = jit(lambda x: fori_loop(0, 2, body, (x, x, x))[1])
    np.testing.assert_allclose(read(X), np.cosh(np.cosh(X) + X) + X * X)


def test_the_number_of_trips_of_a_pruned_loop_and_its_gradient_stay():
    f = lambda x: while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, np.sin(c[1]), np.tanh(c[2])), (0, x, x))
    assert jit(lambda x: f(x)[0])(X) == 5
    slope = jit(grad(lambda x: np.sum(f(x)[1])))(X)
    expected, y = np.ones(3), X
    for _ in range(5):
        expected, y = expected * np.cos(y), np.sin(y)
    np.testing.assert_allclose(slope, expected)


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_results_of_loops_of_each_example_are_pruned(wanted):
    body = lambda c: (c[0] + 1, np.sin(c[1]), np.tanh(c[2]) * c[1])
    f = jit(vmap(lambda x, n: while_loop(lambda c: c[0] < n, body, (0, x, x))[wanted]))
    trips = np.array([0, 3, 1])
    expected = []
    for x, n in zip(X, trips, strict=True):
        carry = (0, x, x)
        while carry[0] < n:
            carry = body(carry)
        expected.append(carry[wanted])
    np.testing.assert_allclose(f(X, trips), expected, rtol=1e-14)
    assert ("tanh" in ops(f)) == (wanted == 2)


def test_a_pruned_result_still_refuses_what_it_refuses():
    f = jit(lambda x, i: scan(lambda c, k: (c * 0.5, np.take(c, k)), x, i)[0])
    np.testing.assert_allclose(f(X, np.array([0, 2])), X / 4)
    with pytest.raises(Exception, match="out of bounds"):
        f(X, np.array([0, 3]))
