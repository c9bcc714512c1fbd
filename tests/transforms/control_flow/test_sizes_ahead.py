"""Results of trips may have a size that depends on data, where no trip changes it."""

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, check_grads, errors, fori_loop, grad, jit, load, scan, trace, vmap, while_loop
from tests.transforms.control_flow import plain_loops

N = np.array([0.5, 2.0, 1.5, -1.0, 3.0])
XS = np.array([0.1, -0.4, 0.7])

BODIES = {  # the y of a trip, of captured n, the carry and an element
    "mask": lambda n, c, x: n[n > 1],
    "mask and carry": lambda n, c, x: n[n > 1] * c + x,
    "mask of a product": lambda n, c, x: (n * n * x)[np.sin(n) * 2 > 1],
    "positions": lambda n, c, x: np.nonzero(n > 1)[0] + c,
    "two masks": lambda n, c, x: n[n > 1][:, None] * n[n < 1] * c,
    "repeated": lambda n, c, x: np.repeat(x, (n > 1).astype(int).sum() + 1),
    "beside a mask of the trip": lambda n, c, x: n[n > 1] * np.sum(n[n > c]),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_size_of_captured_values_is_one_of_all_trips(name):
    body = BODIES[name]

    def run(scan, n, xs):
        return scan(lambda c, x: (c + x, body(n, c, x)), 0.5, xs)

    made = jit(lambda n, xs: run(scan, n, xs))
    for n in (N, N[:2], N[3:], N - 9):
        for xs in (XS, XS[:1]):
            expected = run(plain_loops.scan, n, xs)
            for got in (made(n, xs), run(scan, n, xs)):
                np.testing.assert_allclose(got[0], expected[0])
                np.testing.assert_allclose(got[1], expected[1])
        assert made(n, XS[:0])[1].shape == (0, *made(n, XS)[1].shape[1:])
    assert made.cache_info().traces == 1


@pytest.mark.parametrize("name", ["mask and carry", "mask of a product", "two masks", "repeated"])
def test_derivatives_and_batches(name):
    body = BODIES[name]

    def loss(n, xs):
        c, ys = scan(lambda c, x: (np.sin(c) + x, body(n, c, x)), 0.5, xs)
        return np.sum(np.cos(ys)) * c

    check_grads(loss, (N, XS), order=2)
    slopes = jit(vmap(grad(loss, 1), (None, 0)))(N, np.stack([XS, 2 * XS]))
    np.testing.assert_allclose(slopes, [grad(loss, 1)(N, x) for x in (XS, 2 * XS)], rtol=1e-12)


def test_a_loop_inside_of_a_loop():
    def run(scan, n, xs):
        return scan(lambda c, x: (c + x, scan(lambda d, y: (d * y, n[n > 1] + d), c, xs)[1]), 1.0, xs)[1]

    np.testing.assert_allclose(jit(lambda n, xs: run(scan, n, xs))(N, XS), run(plain_loops.scan, N, XS))


def test_such_a_program_travels(tmp_path):
    program = trace(lambda n, xs: scan(lambda c, x: (c + x, n[n > 1] * c), 0.0, xs))(
        ShapeDtypeStruct("n"), ShapeDtypeStruct("m")
    )
    program.save(tmp_path / "loop.anyshape")
    for run in (program, load(tmp_path / "loop.anyshape")):
        np.testing.assert_allclose(run(N, XS)[1], np.array([0.0, 0.1, -0.3])[:, None] * N[N > 1])


def test_a_size_that_a_trip_changes_is_refused():
    for body in (lambda n, c, x: n[n > c], lambda n, c, x: n[n > x], lambda n, c, x: n[n > 1][n[n > 1] > c]):
        with pytest.raises(errors.ShapeError, match="changes size"):
            jit(lambda n, xs, body=body: scan(lambda c, x: (c + x, body(n, c, x)), 0.0, xs))(N, XS)


def test_what_refuses_values_stays_in_the_loop():
    counted = jit(lambda n, k, xs: scan(lambda c, x: (c + x, np.repeat(n, k)), 0.0, xs)[1])
    np.testing.assert_array_equal(counted(N, 2, XS), [np.repeat(N, 2)] * 3)
    with pytest.raises(errors.NegativeSizeError, match=r"this one is -1 "):
        counted(N, -1, XS)
    assert counted(N, -1, XS[:0]).shape == (0, 0)
    with pytest.raises(errors.ShapeError, match="make what no trip changes before the loop"):
        jit(lambda n, k, xs: scan(lambda c, x: (c + x, np.repeat(n, k)), 0.0, xs)[1])(N, np.arange(5), XS)


def test_loops_without_results_are_as_before():
    total = jit(lambda n: fori_loop(0, 3, lambda i, c: c + np.sum(n[n > 1]), 0.0))
    assert float(total(N)) == 3 * 6.5
    ended = jit(lambda n: while_loop(lambda c: c < np.sum(n[n > 1]), lambda c: c + 1.0, 0.0))
    assert float(ended(N)) == 7.0
