"""Loops in bodies of loops: sizes of captured, varying and run-time values inside, derivatives and batches of each."""

import functools
import itertools

import numpy as np
import pytest

import anyshape
from anyshape import grad, jit, jvp, scan, vmap, while_loop
from tests.transforms.control_flow import plain_loops

ALL = (0, 1, 2)
# (size, inner trips, outer trips)
CASES = [(3, 2, 2), (3, 0, 2), (2, 3, 0), (1, 2, 1)]

# -- inner loops: functions of the loops, of a carry, of a captured matrix and vector, and of a number of trips


def captured_sizes(L, c, w, x, n, **policy):
    c, ys = L.scan(lambda c, r: (0.5 * c + 0.1 * r * (x @ w), x * r), c, w[0] * x, **policy)
    return c + 0.01 * np.sum(ys)


def matrix(L, c, w, x, n, **policy):
    return L.fori_loop(0, n, lambda i, c: np.tanh(w @ c + x) + 0.1 * i, c, **policy)


def counted(L, c, w, x, n, **policy):
    body = lambda s: (s[0] + 1, np.sin(w @ s[1]) * x + s[1] * 0.3)
    return L.while_loop(lambda s: s[0] < n, body, (0, c), **policy)[1]


def decided_by_data(L, c, w, x, n, **policy):
    return L.while_loop(lambda s: np.sum(s * s) > 0.5, lambda s: 0.6 * s + 0.05 * np.sin(w @ x), c, **policy)


def rows(L, c, w, x, n, **policy):
    return c * 0.5 + np.sum(L.map(lambda r: np.sin(r) * (x @ w) + r @ c, w, **policy), axis=0) * 0.1


def growing(L, c, w, x, n, **policy):
    body = lambda s: (s[0] + 1, np.concatenate([s[1], 0.3 * np.sin(s[1][:1] + w[0, :1])]))
    v = L.while_loop(lambda s: s[0] < n, body, (0, c), **policy)[1]
    return c * 0.7 + 0.1 * np.sum(v * v)


def of_run_time_size(L, c, w, x, n, **policy):
    p = c[c > 0]
    q, ys = L.scan(lambda s, e: (0.5 * s + e * np.sin(p), e * x), p, p, **policy)
    return 0.5 * c + 0.1 * np.sum(q) + (0.01 * np.sum(ys) if ys is not None else 0.0)


INNER = [captured_sizes, matrix, counted, decided_by_data, rows, growing, of_run_time_size]

# -- outer loops


def in_scan(L, inner, h, w, x, n, m, **policy):
    def body(c, e):
        c = inner(L, c, w * e, x + 0.1 * c, n, **policy)
        return np.tanh(c), np.sum(c)

    c, ys = L.scan(body, h, np.concatenate([w[:, 0], w[:, 1:].ravel()]), **policy)
    return np.sum(c * c) + np.sum(ys)


def in_while(L, inner, h, w, x, n, m, **policy):
    body = lambda s: (s[0] + 1, np.tanh(inner(L, s[1], w, x, s[0], **policy)))
    return np.sum(L.while_loop(lambda s: s[0] < m, body, (0, h), **policy)[1] ** 2)


def in_fori(L, inner, h, w, x, n, m, **policy):
    return np.sum(L.fori_loop(0, m, lambda i, s: np.tanh(inner(L, s, w, x, i, **policy)), h, **policy) ** 2)


def in_map(L, inner, h, w, x, n, m, **policy):
    return np.sum(L.map(lambda r: np.tanh(inner(L, h * r[0], w, x * r, n, **policy)), w, **policy))


def in_growing(L, inner, h, w, x, n, m, **policy):
    def body(s):
        return s[0] + 1, np.concatenate([np.tanh(inner(L, s[1][-x.shape[0] :], w, x, n, **policy)), s[1]])

    return np.sum(L.while_loop(lambda s: s[0] < m, body, (0, h), **policy)[1] ** 2)


OUTER = [in_scan, in_while, in_fori, in_map, in_growing]
PAIRS = [*itertools.product(OUTER, INNER)]
NAMES = [f"{outer.__name__}-{inner.__name__}" for outer, inner in PAIRS]


class WithPolicy:
    """The loops of the library, all with one policy of checkpoints."""

    def __init__(self, checkpoint):
        self.options = {"checkpoint": checkpoint}
        for name in ("scan", "while_loop", "fori_loop", "map"):
            setattr(self, name, getattr(anyshape, name))


def numbers(size, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=size) + 0.2, rng.normal(size=(size, size)) * 0.5, rng.normal(size=size) + 0.3


def slope_of(f, args, direction, step=1e-6):
    ahead, back = [[x + sign * step * t for x, t in zip(args, direction, strict=True)] for sign in (1, -1)]
    return (f(*ahead) - f(*back)) / (2 * step)


def flat(xs):
    return np.concatenate([np.ravel(x) for x in xs])


def programs(outer, inner, checkpoint):
    """Return the gradient, its forward derivative, and its reverse derivative along a direction."""
    loops = WithPolicy(checkpoint)
    f = lambda h, w, x, n, m: outer(loops, inner, h, w, x, n, m, **loops.options)
    gradient = grad(f, argnums=ALL)

    def along(h, w, x, n, m, *direction):
        return sum(np.sum(g * t) for g, t in zip(gradient(h, w, x, n, m), direction, strict=True))

    forward = lambda h, w, x, n, m, *d: jvp(lambda *a: gradient(*a, n, m), (h, w, x), d)[1]
    return f, jit(gradient), jit(forward), jit(grad(along, argnums=ALL))


def check(outer, inner, checkpoint, cases=CASES):
    _, gradient, forward, reverse = programs(outer, inner, checkpoint)
    for size, *trips in cases:
        args, direction = numbers(size, size), numbers(size, size + 10)
        slopes = gradient(*args, *trips)
        assert [g.shape for g in slopes] == [x.shape for x in args]
        expected = slope_of(functools.partial(_plainly, outer, inner, trips), args, direction)
        np.testing.assert_allclose(flat(slopes) @ flat(direction), expected, rtol=1e-5, atol=1e-7)
        curved = flat(forward(*args, *trips, *direction))
        np.testing.assert_allclose(flat(reverse(*args, *trips, *direction)), curved, rtol=1e-9, atol=1e-11)
        expected = slope_of(functools.partial(_gradient, gradient, trips), args, direction, 1e-5)
        np.testing.assert_allclose(curved, expected, rtol=1e-5, atol=1e-7)


def _plainly(outer, inner, trips, *args):
    return outer(plain_loops, inner, *args, *trips)


def _gradient(gradient, trips, *args):
    return flat(gradient(*args, *trips))


@pytest.mark.parametrize(("outer", "inner"), PAIRS[::6], ids=NAMES[::6])
def test_derivatives_of_nested_loops(outer, inner):
    check(outer, inner, None)


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", [None, "carry", 1, 3])
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=NAMES)
def test_derivatives_of_all_nested_loops(outer, inner, checkpoint):
    check(outer, inner, checkpoint, [*CASES, (4, 3, 3)])


def check_batches(outer, inner, checkpoint):
    f, gradient, _, _ = programs(outer, inner, checkpoint)
    axes = (0, 0, 0, None, None)
    mapped = jit(vmap(grad(f, argnums=ALL), in_axes=axes))
    of_sum = jit(grad(lambda *args: np.sum(vmap(f, in_axes=axes)(*args)), argnums=ALL))
    for size, n, m in CASES:
        seeds = (1, 2, 5) if inner is not of_run_time_size else (1, 1)
        examples = [numbers(size, seed) for seed in seeds]
        expected = [flat(gradient(*args, n, m)) for args in examples]
        stacks = [np.stack(column) for column in zip(*examples, strict=True)]
        for batched in (mapped, of_sum):
            slopes = batched(*stacks, n, m)
            for i, row in enumerate(expected):
                np.testing.assert_allclose(flat([g[i] for g in slopes]), row, rtol=1e-9, atol=1e-11)


# a loop that data decide has carries of one size each, inside of a carry that grows: examples would differ in it
BATCHED = [i for i, pair in enumerate(PAIRS) if pair != (in_growing, decided_by_data)]


@pytest.mark.parametrize(("outer", "inner"), [PAIRS[i] for i in BATCHED[2::9]])
def test_batches_of_nested_loops(outer, inner):
    check_batches(outer, inner, None)


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", [None, "carry", 3])
@pytest.mark.parametrize(("outer", "inner"), [PAIRS[i] for i in BATCHED])
def test_batches_of_all_nested_loops(outer, inner, checkpoint):
    check_batches(outer, inner, checkpoint)


# -- sizes that are equal only where there is a trip

BODIES = {
    "product": lambda x, w: x @ w,
    "stack": lambda x, w: np.stack([np.sin(x), w[:, 0]]),
    "rows": lambda x, w: np.concatenate([x[None], w.T]),
    "columns": lambda x, w: np.concatenate([w.T, x[None]]) * 1.5,
}


def stacked(body, x, w, r):
    return scan(lambda c, e: (c, body(x, w) * e), 0.0, r)[1]


def carried(body, x, w, r):
    return scan(lambda c, e: (c + np.sum(body(x, w)) * e, c), 0.0, r)[0]


def looped(body, x, w, r):
    step = lambda s: (s[0] + 1, s[1] + np.sum(body(x, w)))
    return while_loop(lambda s: s[0] < r.shape[0], step, (0, 0.0))[1]


@pytest.mark.parametrize("loop", [stacked, carried, looped])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_results_without_trips_have_the_sizes_of_their_operands(body, loop):
    f = lambda x, w, r: loop(body, x, w, r)
    loss = lambda x, w, r: np.sum(f(x, w, r) ** 2)
    gradient = grad(loss, argnums=ALL)
    second = grad(lambda *args: sum(np.sum(g * g) for g in gradient(*args)), argnums=ALL)
    mapped = grad(lambda *args: np.sum(vmap(f, in_axes=(None, 0, None))(*args) ** 2), argnums=ALL)
    plain, value, slopes, curved = jit(f), jit(lambda *a: jvp(f, a, a)), jit(gradient), jit(second)
    batched, of_batch = jit(vmap(f, in_axes=(0, None, None))), jit(mapped)
    shapes = lambda xs: [np.shape(x) for x in xs]
    for trips, size, rows in ((2, 3, 3), (0, 3, 3), (0, 4, 3), (0, 3, 4), (0, 1, 4)):
        args = np.ones(size), np.ones((rows, 2)), np.ones(trips)
        expected, own = np.shape(plain(*args)), shapes(args)
        assert shapes(value(*args)) == [expected, expected]
        assert shapes(slopes(*args)) == own
        assert shapes(curved(*args)) == own
        assert np.shape(batched(np.ones((2, size)), *args[1:])) == (2, *expected)
        assert shapes(of_batch(args[0], np.ones((2, rows, 2)), args[2])) == [own[0], (2, *own[1]), own[2]]


def test_files_keep_sizes_that_are_equal_only_where_there_is_a_trip(tmp_path):
    for f in (vmap(lambda x, w, r: stacked(BODIES["columns"], x, w, r), in_axes=(0, None, None)), grad(
        lambda x, w, r: np.sum(stacked(BODIES["product"], x[0], w, r))
    )):  # fmt: skip
        program = anyshape.export(f)(np.ones((2, 3)), np.ones((3, 2)), np.ones(2))
        program.save(tmp_path / "program")
        loaded = anyshape.load(tmp_path / "program")
        args = np.ones((2, 4)), np.ones((3, 2)), np.ones(0)
        assert loaded(*args).shape == program(*args).shape


def test_the_linear_map_of_a_long_body_is_found():
    def body(c, x):
        for _ in range(250):
            x = np.sin(x) + x
        return c * x, c

    slope = jit(grad(lambda xs: scan(body, 1.0, xs * 1e-3)[0]))(np.ones(2))
    assert np.all(np.isfinite(slope))


def test_the_linear_map_of_a_long_branch_is_found():
    def f(x, w):
        def long(x):
            v = w
            for _ in range(250):
                v = np.sin(v) + v * 0.1
            return x * np.sum(v * x)

        return np.sum(anyshape.cond(np.sum(x) > 0, long, lambda x: np.sum(x) * x, x))

    slopes = jit(vmap(grad(f), in_axes=(0, None)))(np.ones((2, 3)), np.ones(3))
    assert np.all(np.isfinite(slopes))


def test_branches_of_different_sizes_in_a_loop_that_moves_its_carries():
    def body(i, carries):
        x, y, z = carries
        z = anyshape.cond(x[3] > 0.2, lambda z, x: z.at[(i + 1) % 4].set(0.25), lambda z, x: x, z, x)
        return x, z, y

    def moved(x, y, z):
        return anyshape.fori_loop(0, 2, body, (x, y, z))

    x, y, z = np.arange(4.0), np.ones(4), np.full(4, 3.0)
    for got in (anyshape.jit(moved)(x, y, z), [a[0] for a in anyshape.vmap(moved)(x[None], y[None], z[None])]):
        np.testing.assert_array_equal(got, [x, [1, 1, 0.25, 1], [3, 0.25, 3, 3]])


@pytest.mark.parametrize("outer", ["scan", "while_loop"])
def test_a_batch_of_loops_with_their_own_trips_inside_of_a_loop(outer):
    grown = lambda x: while_loop(lambda c: c[1] < 10, lambda c: (c[0] + 1, c[1] + x), (0, x))[1]
    trip = lambda c: c + np.sum(vmap(grown)(np.arange(1.0, 4.0) + c))

    def two_trips(c):
        if outer == "scan":
            return scan(lambda c, _: (trip(c), 0.0), c, None, 2)[0]
        return while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, trip(s[1])), (0, c))[1]

    expected = 1.0
    for _ in range(2):
        steps = np.arange(1.0, 4.0) + expected
        expected += np.sum(np.maximum(np.ceil(10 / steps), 1) * steps)
    np.testing.assert_allclose(jit(two_trips)(1.0), expected)


@pytest.mark.slow
def test_gradient_of_a_gradient_of_nested_loops_that_write_at_the_trip():
    def halved(function):
        def trip(state):
            values, k = state
            total = np.sum(vmap(function)(np.linspace(0.1, 1.0, 3)))
            return values.at[0].set(total * 0.3).at[k].set(total * 0.2), k + 1

        goes_on = lambda s: (s[1] < 4) & (np.sum(s[0]) < 50)  # examples of a batch differ
        return np.sum(while_loop(goes_on, trip, (np.full(4, 0.5), 1))[0])

    total = lambda a: halved(lambda x: halved(lambda y: np.sin(a * x * y)) * x)
    second = jit(grad(grad(total)))(0.7)
    step = 1e-5
    first = jit(grad(total))
    np.testing.assert_allclose(second, (first(0.7 + step) - first(0.7 - step)) / (2 * step), rtol=1e-7)
