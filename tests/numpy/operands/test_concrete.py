"""Check arrays that a trace makes of no traced value: NumPy computes with them until a traced value is written."""

import copy
import pickle

import numpy
import pytest
import scipy.linalg
import scipy.special

import anyshape.numpy as np
from anyshape import check_grads, cond, grad, jit, scan, vmap
from anyshape.errors import MutationError

SIZES = (0, 1, 2, 5)
X = numpy.array([1.5, 2.5, 3.5])


def same(f, *args):
    """Require that a traced function gives what it gives on NumPy's arrays, with dtypes and shapes."""
    results, wanted = jit(f)(*args), f(*args)
    assert len(results) == len(wanted)
    for got, expected in zip(results, wanted, strict=True):
        assert numpy.asarray(got).dtype == numpy.asarray(expected).dtype
        numpy.testing.assert_array_equal(got, expected)


def test_traced_values_are_written_to_new_arrays():
    def f(x):
        y, i, b = np.zeros(3), np.ones(3, np.int8), np.full(3, False)
        y[0] = x.sum()
        i[1:] = x[:2] * 50
        b[2] = x[2]
        y[1:] += x[1:]
        z = np.empty((2, 2), complex)
        z.fill(1j)
        z.real = x[0]
        a, c = np.asarray([1, 2, 3.0]), np.zeros_like([1.0, 2.0])
        a *= x
        np.copyto(c, x[1:])
        e, m = np.eye(3), np.mgrid[0:2, 0:2]
        np.fill_diagonal(e, x)
        m[0, 1] = x[:2]
        return y, i, b, z, a, c, e, m, np.array([[x[0], -x[1]], [0, 1]])

    same(f, X)


def test_views_share_what_is_written():
    def f(x):
        m = np.zeros((3, 4))
        views = m.T, m[1], m.reshape(4, 3), m.ravel(), m[::-1, 1::2], m.diagonal(), np.broadcast_to(m[:, :1], (3, 4))
        flat = np.arange(6.0).reshape(2, 3, order="F").T
        m[0] = 1
        views[0][2] = x[0]
        views[1][:] += x[1]
        views[2][0, 0] = x[2]
        views[3][-1] = 9
        views[4][0] = x[:2]
        flat[0] = x[:2]
        return m, *views, flat

    same(f, X)


def test_writes_of_numbers_do_not_reach_earlier_results():
    def f(x):
        y = np.zeros(3)
        before = x + y
        y[0] = 5.0
        return before, x + y, y

    same(f, X)


def test_values_that_depend_on_no_traced_value_are_known():
    def f(x):
        m, i = np.eye(3), np.arange(3)
        assert isinstance(m, numpy.ndarray)
        assert len(i) == 3
        assert i.tolist() == [0, 1, 2]
        if m[0, 0] > 0 and bool(m.any()):
            x = x * 2
        for q in range(int(i[-1])):
            m[q] *= x[q]
        mask = np.array([True, False, True])
        return x[i[::-1]], x[mask], m, numpy.sin(i), np.zeros(int(i.sum())), float(i[1]), i + 1, 2**i

    same(f, X)
    program = jit(f)
    program(X)
    assert program(X * -1)[1].shape == (2,)


def test_scipy_and_plain_numpy_take_them():
    def f(x):
        m = np.eye(3) * 2
        m[0, 1] = 0.5
        copies = pickle.loads(pickle.dumps(m)), copy.copy(m), copy.deepcopy(m)
        return scipy.linalg.inv(m) @ x, scipy.special.erf(m), numpy.linalg.solve(m, numpy.ones(3)), m @ x, *copies

    same(f, X)


def test_results_are_written_to_them():
    def f(x):
        y, total = np.empty(3), np.ones(())
        np.multiply(x, 2, out=y)
        np.add(y, 1, out=y)
        np.sum(x, out=total)
        counts = np.zeros(3)
        np.add.at(counts, [0, 0, 1], x)
        return y, total, counts

    same(f, X)


def power_sums(x):
    y = np.zeros(3)
    tail = y[1:]
    for k in range(3):
        y[k] = (x ** (k + 1)).sum()
    tail *= y[0]
    return (y * np.arange(3)).sum()


def test_derivatives_and_batches():
    check_grads(power_sums, (X,), order=2)
    rows = numpy.stack([X, X + 1])
    numpy.testing.assert_allclose(vmap(power_sums)(rows), [power_sums(r) for r in rows])
    numpy.testing.assert_allclose(jit(vmap(grad(power_sums)))(rows), [grad(power_sums)(r) for r in rows])
    program = jit(power_sums)
    for n in SIZES:
        numpy.testing.assert_allclose(program(numpy.arange(n) + 0.5), power_sums(numpy.arange(n) + 0.5))


def test_bodies_of_loops_and_branches_make_their_own():
    def step(carry, x):
        y = np.zeros(2)
        y[0] = carry
        y[1] = x * carry
        return y.sum(), y

    final, rows = jit(lambda x: scan(step, 0.5, x))(X)
    carry = 0.5
    for x, row in zip(X, rows, strict=True):
        carry, wanted = step(carry, x)
        numpy.testing.assert_allclose(row, wanted)
    assert final == carry
    assert jit(lambda x: cond(x[0] > 1, lambda: np.ones(3), lambda: np.zeros(3)))(X).tolist() == [1.0, 1.0, 1.0]


def test_bodies_write_to_arrays_around_them():
    def f(x):
        y, total = np.zeros(2), np.ones(1)

        def body(carry, x):
            before = y.sum() + carry
            y[0] += 1.0
            total[:] *= x
            return before, before

        return *scan(body, 0.0, x), y, total

    carry, rows, y, total = jit(f)(X)
    assert (carry, rows.tolist()) == (3.0, [0.0, 1.0, 3.0])
    assert (y.tolist(), total.tolist()) == ([3.0, 0.0], [1.5 * 2.5 * 3.5])

    def shared(x):
        y = np.zeros(2)

        def example(row):
            y[0] = 1.0
            return row * y[0]

        return vmap(example)(x)

    with pytest.raises(MutationError, match=r"y\[0\] = .*examples of vmap share"):
        jit(shared)(X)


@pytest.mark.usefixtures("as_written")
def test_memory_that_plain_numpy_reads_takes_no_traced_value():
    def f(x):
        y = np.ones(3)
        plain = numpy.asarray(y)
        y[1] = 2
        y[0] = x[0] + plain[1]
        return y

    with pytest.raises(MutationError, match=r"y\[0\] = .*plain NumPy shares its memory.*\n.*y = y.copy\(\)"):
        jit(f)(X)


def test_outside_of_a_trace_they_are_plain_arrays():
    assert type(np.zeros(3)) is numpy.ndarray
    leaked = []

    def f(x):
        leaked.append(np.arange(3))
        return x * leaked[0]

    grad(lambda x: f(x).sum())(X)
    assert type(leaked[0] + 1) is numpy.ndarray
    assert jit(lambda x: x * leaked[0])(X).tolist() == [0.0, 2.5, 7.0]
