"""Linear functions are transposed through loops and conditionals; what depends on a value is found in their bodies."""

import numpy as np
import pytest

from anyshape import cond, errors, fori_loop, jit, linear_transpose, scan, switch, vmap, while_loop

M = np.arange(4.0).reshape(2, 2)
X = np.array([1.5, -2.0])


def counted(body, count=3):
    return lambda x: while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, body(*c)), (0, x))[1]


LINEAR = {
    "counter": counted(lambda i, v: 2.0 * v),
    "factor from a counter": counted(lambda i, v: (i + 1.0) * (M @ v)),
    "counter behind the carry": lambda x: while_loop(lambda c: c[1] < 4, lambda c: (M @ c[0], c[1] + 1), (x, 1))[0],
    "no trips": counted(lambda i, v: 2.0 * v, count=0),
    "data decides": lambda x: while_loop(lambda c: c[1] < 9.0, lambda c: (c[0] * c[1], c[1] * 1.5), (x, M[1, 0]))[0],
    "stack": lambda x: scan(lambda c, m: ((c[0] * 2, M @ c[1]), c[1] * c[0]), (1.0, x), np.ones(3))[1],
    "loop in a loop": counted(lambda i, v: fori_loop(0, i, lambda j, w: M @ w * (1 + j), v)),
    "branch in a loop": counted(lambda i, v: cond(i > 1, lambda: 3.0 * v, lambda: M @ v)),
    "loop in a branch": lambda x: switch(1, [lambda: x, lambda: counted(lambda i, v: M @ v + v)(x)]),
    "carry that grows": lambda x: while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, np.concatenate([c[1], 2.0 * c[1]])), (0, x)
    )[1][:16],
}


def dense(function):
    """Return the matrix of a linear function, column by column."""
    return np.stack([np.ravel(function(e)) for e in np.eye(2)], 1)


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_loop_is_transposed(name):
    function = LINEAR[name]
    y = np.cos(np.arange(1.0, 1.0 + np.size(function(X)))).reshape(np.shape(function(X)))
    expected = dense(function).T @ y.ravel()
    for run in (lambda y: linear_transpose(function, X)(y), jit(lambda y: linear_transpose(function, X)(y))):
        np.testing.assert_allclose(run(y)[0], expected, rtol=1e-12)
    rows = vmap(lambda y: linear_transpose(function, X)(y)[0])(np.stack([y, 2 * y]))
    np.testing.assert_allclose(rows, [expected, 2 * expected], rtol=1e-12)


NONLINEAR = {
    "the carry decides": lambda x: while_loop(lambda c: np.sum(c) < 9, lambda c: c * 2.0 + 1.0 - 1.0, np.abs(x))[0],
    "sum decides": lambda x: while_loop(lambda c: np.sum(c[1]) < 9, lambda c: (c[0] + 1, 2.0 * c[1]), (0, x))[1],
    "it decides a trip later": lambda x: while_loop(
        lambda c: (c[0] < 3) & (c[2] < 9), lambda c: (c[0] + 1, 2.0 * c[1], c[1][0]), (0, x, 0.0)
    )[1],
    "product of carries": lambda x: scan(lambda c, _: ((c[1][0], c[1] * c[0]), ()), (1.0, x), np.ones(3))[0][1],
    "branch": lambda x: cond(x[0] > 0, lambda: x, lambda: 2.0 * x),
    "branch in a loop": counted(lambda i, v: cond(v[0] > 0, lambda: v, lambda: 2.0 * v)),
    "square": counted(lambda i, v: v * v),
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_loop_that_is_not_linear_is_refused(name):
    with pytest.raises(errors.ArgumentError, match="is not linear"):
        linear_transpose(NONLINEAR[name], X)
