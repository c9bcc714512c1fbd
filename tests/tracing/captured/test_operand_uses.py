"""Large arrays that a function has as operands alone change freely: no call compares them, and none is traced anew."""

import functools

import numpy as np
import pytest

import anyshape

A = np.linspace(-1.0, 1.0, 1000).reshape(200, 5)
TARGET = np.linspace(0.0, 2.0, 1000)
B = np.array([0.5, -1.0, 2.0, 0.25, 1.5])


def _predicted(weights, rows):
    return rows @ weights


class _Model:
    def __init__(self, rows):
        self.rows = rows
        self.mean = rows.mean()

    def predicted(self, b):
        return self.rows.dot(b)

    def loss(self, b):
        residuals = self.predicted(b)
        return residuals @ residuals / len(self.rows)


def _aliased(rows, b):
    x = rows
    return np.sum(np.tanh(x @ b)) + np.sum(x.T @ (x @ b))


def _row_by_row(rows, b):
    total = 0.0
    for i in range(rows.shape[0]):
        total = total + np.sum(rows[i] * b)
    return total


class _Loss:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, b):
        return self.of(b) + np.sum(b)

    def of(self, b):
        return np.mean((self.rows @ b) ** 2)


def _in_twos(rows, b):
    return np.sum(_predicted(b, rows)) + np.sum(_predicted(b * 2.0, rows))


def _step(rows, b):
    loss = lambda c: np.mean((rows @ c) ** 2)
    return np.sum((b - 0.1 * anyshape.grad(lambda c: np.sum(rows @ c))(b)) ** 2) + loss(b)


def _inner(rows, b):
    def product(c):
        return np.sum(rows @ c)

    return product(b) + product(2 * b)


USES = {
    "product": lambda rows: lambda b: np.mean((rows @ b) ** 2),
    "in a callee": lambda rows: lambda b: np.mean(_predicted(b, rows) ** 2),
    "by keyword": lambda rows: lambda b: np.mean(_predicted(rows=rows, weights=b) ** 2),
    "attribute": lambda rows: _Model(rows).loss,
    "alias": lambda rows: lambda b: _aliased(rows, b),
    "rows": lambda rows: lambda b: _row_by_row(rows, b),
    "function inside": lambda rows: lambda b: _inner(rows, b),
    "callable object": _Loss,
    "two calls": lambda rows: lambda b: _in_twos(rows, b),
    "transform inside": lambda rows: lambda b: _step(rows, b),
    "columns": lambda rows: lambda b: np.sum(rows[:, :3] @ b[:3]),
    "several": lambda rows: lambda b: np.sum(np.einsum("ij,j->i", rows, b)) + np.interp(b[0], TARGET, TARGET),
    "stacked": lambda rows: lambda b: np.sum(np.stack([rows * b, rows + b])),
    "indices": lambda rows: lambda b: np.sum(rows[np.argsort(b)[:2]] * b),
}


@pytest.mark.parametrize("transform", [anyshape.jit, lambda f: anyshape.jit(anyshape.grad(f))], ids=["jit", "grad"])
@pytest.mark.parametrize("name", USES)
def test_operands_alone_are_not_compared(name, transform):
    rows = A.copy()
    function = USES[name](rows)
    program = transform(function)
    program(B)
    for factor in (2.0, -0.5, 3.0):
        rows *= factor
        rows[0] += 1.0
        anew = transform(USES[name](rows.copy()))
        np.testing.assert_allclose(program(B), anew(B), rtol=1e-12)
    assert program.cache_info().traces == 1


def test_a_change_between_functions_of_one_array_is_noticed_where_it_matters():
    w = np.linspace(1.0, 2.0, 6000)
    alone = anyshape.jit(lambda x: np.sum(w * x))
    read = anyshape.jit(functools.partial(lambda v, x: np.sum(v * x) + v[0], w))
    for factor in (1.0, 2.0, 3.0):
        w *= factor
        np.testing.assert_allclose([alone(1.0), read(1.0)], [w.sum(), w.sum() + w[0]], rtol=1e-12)
    assert alone.cache_info().traces == 1


def test_a_method_of_an_array_takes_a_traced_operand_in_a_line_of_its_own():
    for function in (lambda b: A.dot(b), lambda b: TARGET.take(b), lambda b: TARGET.searchsorted(b)):
        b = B if function(B.astype(int)).shape != (5,) else np.array([3, 1, 2, 0, 4])
        np.testing.assert_array_equal(anyshape.jit(function)(b), function(b))
