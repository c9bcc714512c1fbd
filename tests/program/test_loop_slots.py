"""Loops under `max_bytes`: a gradient that would take too much memory holds carries instead, as many as fit."""

import tracemalloc

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, grad, jit, jvp, scan, vmap, while_loop
from anyshape.backend.interpreter import evaluate
from anyshape.errors import MemoryLimitError
from anyshape.program.loop_slots import pairs_of, with_slots

RNG = np.random.default_rng(0)


def recurrent(w, u, h, xs):
    """Both weights have products of stacks as gradients, and the states of all trips are results."""

    def step(h, x):
        after = np.tanh(w @ h + u @ x)
        return after, after[:1]

    last, ys = scan(step, h, xs)
    return np.sum(last**2) + np.sum(ys**3)


def trees(w, u, h, xs):
    """Carries of two kinds, from the last element; one is an integer."""

    def step(c, x):
        h, i = c
        return (np.sin(w @ h) + u @ x * i, i + 1), ()

    return np.sum(scan(step, (h, 1), xs, reverse=True)[0][0] ** 2)


def arguments(trips, d=6, e=4):
    return RNG.normal(size=(d, d)) / 4, RNG.normal(size=(d, e)), RNG.normal(size=d), RNG.normal(size=(trips, e))


@pytest.mark.parametrize("loss", [recurrent, trees], ids=lambda f: f.__name__)
def test_the_graph_with_slots_gives_the_same(loss):
    specs = [ShapeDtypeStruct(shape, float) for shape in ("d, d", "d, e", "d", "n, e")]
    program = anyshape.trace(grad(loss, (0, 1, 2, 3)))(*specs)
    pairs = pairs_of(program.graph)
    assert len(pairs) == 1 and pairs[0].stacks
    for count in (1, 2, 5, 40):
        graph = with_slots(program.graph, count)
        text = str(graph)
        assert "rerun(" in text and f"checkpoint={count}" in text
        for trips in (0, 1, 2, 7):
            xs = arguments(trips)
            agree(evaluate(graph, xs), program(*xs))


def agree(ours, expected):
    for a, b in (
        zip(np.atleast_1d(ours), np.atleast_1d(expected), strict=True)
        if isinstance(ours, np.ndarray)
        else zip(ours, expected, strict=True)
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def heavy(w, x, xs):
    def step(h, v):
        for _ in range(3):
            h = np.tanh(h * w + v)
        return h, ()

    return np.sum(scan(step, x, xs)[0] ** 2)


@pytest.mark.parametrize(("carries", "slots"), [(2000, 0), (330, 300), (60, 30), (24, 1)])
def test_a_gradient_of_a_long_scan_fits(carries, slots, caplog):
    size, trips = 4000, 300
    limit = carries * 8 * size
    limited = jit(grad(heavy, (0, 1)), max_bytes=limit)
    plain = jit(grad(heavy, (0, 1)))
    x, xs = np.linspace(0, 1, size), np.linspace(-1, 1, trips)
    with caplog.at_level("DEBUG", "anyshape.passes"):
        agree(limited(0.7, x, xs), plain(0.7, x, xs))
    counts = [r.args[2] for r in caplog.records if "slot" in str(r.args)]
    assert bool(counts) == bool(slots)
    tracemalloc.start()
    limited(0.7, x, xs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= limit
    if slots:
        assert peak >= 0.7 * slots * 8 * size
    agree(limited(0.7, x[:7], xs[:5]), plain(0.7, x[:7], xs[:5]))


def test_what_does_not_fit_is_refused():
    limited = jit(grad(heavy, (0, 1)), max_bytes=8000 * 4)
    with pytest.raises(MemoryLimitError, match="max_bytes"):
        limited(0.7, np.ones(1000), np.ones(300))


@pytest.mark.slow
def test_batches_and_weights_fit_too():
    slope = lambda w, u, h, xs: vmap(grad(recurrent, (0, 1, 2, 3)), (None, None, 0, 0))(w, u, h, xs)
    w, u, h, xs = arguments(400, 40)
    h, xs = np.stack([h, -h, h + 1]), np.stack([xs, -xs, xs * 2])
    for function in (
        slope,
        lambda *args: grad(lambda *args: np.sum(vmap(recurrent, (None, None, 0, 0))(*args)))(*args),
    ):
        with pytest.raises(MemoryLimitError):
            jit(function, max_bytes=40_000)(w, u, h, xs)
        agree(jit(function, max_bytes=900_000)(w, u, h, xs), jit(function)(w, u, h, xs))


# -- loops of unknown length


def powers(x, trips):
    body = lambda c: (c[0] + 1, np.sin(c[1]) * x + 0.1 * c[0])
    return np.sum(while_loop(lambda c: c[0] < trips, body, (0, x))[1])


def weights(x, trips):
    """The gradient of the weights is a product of stacks."""
    w = np.outer(x, x[::-1])
    return np.sum(while_loop(lambda c: c[0] < trips, lambda c: (c[0] + 1, np.tanh(w @ c[1])), (0, x))[1] ** 2)


def root(x, tolerance):
    """Values decide the number of trips."""
    going = lambda y: np.max(np.abs(y * y - x)) > tolerance
    return np.sum(while_loop(going, lambda y: 0.8 * y + 0.2 * x / y, x) ** 2)


def one_after_the_other(x, trips):
    return powers(x, trips) + weights(x, trips // 2)


LOOPS = [(powers, range(8)), (powers, (30,)), (weights, (0, 1, 5, 30)), (one_after_the_other, (0, 1, 5)),
         (root, (100.0, 0.5, 1e-3, 1e-9))]  # fmt: skip


@pytest.mark.parametrize("limit", [4_000, 30_000])
@pytest.mark.parametrize(("loss", "ends"), LOOPS)
def test_a_gradient_of_a_loop_without_a_bound_of_its_trips_fits(loss, ends, limit):
    x = np.linspace(0.5, 1.5, 5)
    limited, plain = jit(grad(loss), max_bytes=limit), jit(grad(loss))
    for end in ends:
        agree(limited(x, end), plain(x, end))
    assert plain.cache_info().traces == limited.cache_info().traces == 1


def test_batches_and_forward_over_reverse_mode_of_such_loops_fit():
    x = np.linspace(0.5, 1.5, 5)
    xs = np.stack([x, -x, x + 1])
    batch = lambda xs, n: vmap(grad(powers), (0, None))(xs, n)
    total = lambda xs, n: grad(lambda xs: np.sum(vmap(powers, (0, None))(xs, n)))(xs)
    forward = lambda xs, n: jvp(lambda x: grad(powers)(x, n), (xs[0],), (xs[1],))[1]
    for function in (batch, total, forward):
        limited, plain = jit(function, max_bytes=50_000), jit(function)
        for trips in (0, 1, 5):
            agree(limited(xs, trips), plain(xs, trips))


@pytest.mark.parametrize("most", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_memory_of_a_gradient_does_not_grow_with_trips(most, monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # which takes most of the time
    limited, x = jit(grad(powers), max_bytes=60_000), np.linspace(0.1, 0.5, 20)
    for trips in (1_000, most):
        agree(limited(x, trips), jit(grad(powers))(x, trips))
    peaks = []
    for trips in (1_000, 1_000, most):  # the first one fills caches
        tracemalloc.start()
        limited(x, trips)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    del peaks[0]
    assert max(peaks) <= 60_000
    assert abs(peaks[1] - peaks[0]) < 4_000


def test_checkpoint_slots_of_such_a_loop_do_not_grow_with_trips():
    def loss(x, trips):
        body = lambda c: (c[0] + 1, np.sin(c[1]) * x)
        return np.sum(while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=4)[1])

    bounds = [
        str(anyshape.trace(grad(f))(ShapeDtypeStruct("d"), ShapeDtypeStruct("", int)).cost().peak_bytes)
        for f in (loss, powers)
    ]
    assert "trips" not in bounds[0] and "trips" in bounds[1]


def test_a_loop_whose_slots_do_not_fit_is_refused():
    x = np.ones(1000)
    with pytest.raises(MemoryLimitError, match="with one, it may need") as caught:
        jit(grad(powers), max_bytes=8_000)(x, 3)
    assert caught.value.needed is None and 40_000 < caught.value.again < 200_000
    agree(jit(grad(powers), max_bytes=caught.value.again)(x, 3), jit(grad(powers))(x, 3))
