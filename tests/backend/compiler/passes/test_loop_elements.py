"""Element values: what a scan computes of elements and captured values alone, a block of trips computes at once."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
import anyshape.numpy as anp
from anyshape import check, cond, fori_loop, grad, jit, pure_callback, scan
from anyshape.backend.compiler import peak_memory
from anyshape.errors import CheckError, MemoryLimitError, ShapeError
from tests.backend.compiler.test_peak_memory import SLACK
from tests.transforms.control_flow.plain_loops import scan as plain_scan

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 3)) / 2


def scan_step(function, *args):
    """Return the step of the loop in the optimised plan of a function."""
    program = anyshape.trace(function)(*args)
    return next(step for step in program.plan_for(*args).steps if step.op.name == "scan")


def ops_of(plan):
    return {step.op.name for step in plan.steps} - {"identity"}


# -- what moves


def test_a_product_of_elements_is_computed_for_a_block():
    step = scan_step(lambda w, xs: scan(lambda h, x: (np.tanh(h @ w + (x @ w + 1)), h), xs[0], xs), W, np.ones((5, 3)))
    _, block, trip = step.bodies
    assert ops_of(block) == {"dot_general", "add"} and "tanh" in ops_of(trip)
    assert sum(s.op.name == "dot_general" for s in trip.steps) == 1


def test_the_backward_scan_computes_again_in_blocks():
    def loss(h, xs):
        return scan(lambda h, x: (h * np.exp(np.sin(x)), ()), h, xs)[0].sum()

    program = anyshape.trace(grad(loss))(np.ones(3), np.ones((5, 3)))
    *_, backward = [s for s in program.plan_for(np.ones(3), np.ones((5, 3))).steps if s.op.name == "scan"]
    _, block, trip = backward.bodies
    assert ops_of(block) == {"sin", "exp"} and ops_of(trip) == {"mul"}


@pytest.mark.parametrize(
    "body",
    [
        lambda h, x: (h * x, h),
        lambda h, x: (h + np.broadcast_to(x, (2, 3))[0], h),  # a stretch makes nothing
        lambda h, x: (h + cond(True, np.sin, np.cos, h), x[1:]),
    ],
    ids=["of the carry", "stretched", "a view"],
)
def test_what_is_not_worth_it_stays(body):
    assert len(scan_step(lambda xs: scan(body, xs[0], xs), np.ones((5, 3))).bodies) == 2


def test_functions_of_the_user_keep_their_order():
    calls = []

    def noted(h):
        calls.append("carry")
        return h

    shape = anyshape.ShapeDtypeStruct((3,), np.float64)
    f = jit(lambda xs: scan(lambda h, x: (pure_callback(noted, shape, h) + np.sin(x), ()), xs[0], xs)[0])
    np.testing.assert_allclose(f(np.ones((4, 3))), 1 + 4 * np.sin(np.ones(3)))
    assert calls == ["carry"] * 4 and len(scan_step(f, np.ones((4, 3))).bodies) == 2


def test_without_a_batching_rule_each_trip_computes(monkeypatch):
    def refuse(*args):
        raise ShapeError("sin", "cannot be batched", (), None, "")

    monkeypatch.setattr("anyshape.autodiff.subgraph_transforms.batch", refuse)
    f = lambda xs: scan(lambda h, x: (h + np.sin(x), ()), xs[0], xs)[0]
    assert len(scan_step(f, np.ones((5, 3))).bodies) == 2


# -- values

BODIES = {
    "product": lambda w, h, x: (np.tanh(h @ w + x @ w + 1), h),
    "matrix first": lambda w, h, x: (np.tanh(w @ h + w @ (x * x)), (x @ x, h)),
    "scalars": lambda w, h, x: (h * np.exp(-(x[0] ** 2)) + x[1] * w[0], (x[0] + 1, x[2] > 0)),
    "nothing of the carry": lambda w, h, x: (h, (np.sort(x), np.outer(x, x) @ w, x)),
    "the carry is a value": lambda w, h, x: (np.sin(x), h),
    "views": lambda w, h, x: (h[::-1] * 0.5 + x[:2].sum() + x[None, ::-1].T[1] + np.cumsum(x)[1:].mean(), x[1:]),
    "reductions": lambda w, h, x: (0.3 * h + np.max(x) - np.linalg.norm(x - w, axis=1), np.argmax(x)),
    "invariants": lambda w, h, x: (h * 0.1 + np.exp(w).sum(0) * np.where(x > 0, x, w[1]), np.exp(w) @ x),
    "selection": lambda w, h, x: (h * 0.5 + w[(x[0] > 0).astype(int)], w[:, (x[1] > 0).astype(int)]),
    "inner loop": lambda w, h, x: scan(lambda c, r: (0.5 * c + r * x.sum(), np.sin(x) * r), h, w[0] * 2),
    "branches": lambda w, h, x: (cond(x[0] > 0, lambda v: v @ w, lambda v: v * 0.5, h + x * x), np.tan(x)),
}


def test_a_block_of_many_steps_is_cut_into_chunks():
    f = jit(lambda h, xs: scan(lambda h, x: (0.5 * h + _chain(x, 330), _chain(h, 10) * np.sin(x)), h, xs))
    h, xs = np.ones(3), RNG.normal(size=(4, 3))
    last, ys = f(h, xs)
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_allclose(y, _chain(h, 10) * np.sin(x))
        h = 0.5 * h + _chain(x, 330)
    np.testing.assert_allclose(last, h)


def _chain(x, count):
    for i in range(count):
        x = x * 0.9 + i * 1e-3
    return x


def leaves(tree):
    return [np.asarray(x) for x in (tree if isinstance(tree, (tuple, list)) else [tree]) for x in _flat(x)]


def _flat(x):
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, (tuple, list)) else [x]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_blocks_of_any_length_give_what_trips_give(name, reverse, monkeypatch):
    """Blocks of a few trips, with and without a rest, against a loop in Python and a plan without blocks."""
    monkeypatch.setattr(peak_memory, "BLOCK_BYTES", 300)
    body = BODIES[name]

    def run(w, h, xs):
        return scan(lambda h, x: body(w, h, x), h, xs, reverse=reverse)

    def loss(w, h, xs):
        last, ys = run(w, h, xs)
        return np.sum(np.sin(last)) + sum(np.sum(y * np.cos(np.arange(3.0)).sum()) for y in _flat(ys))

    f, derivative, plain = jit(run), jit(grad(loss, (0, 1, 2))), jit(grad(loss, (0, 1, 2)), optimize="off")
    for length in (0, 1, 2, 7, 20):
        h, xs = RNG.normal(size=3), RNG.normal(size=(length, 3))
        if length:
            expected = plain_scan(lambda h, x: body(W, h, x), h, xs, reverse=reverse)
            for got, want in zip(leaves(f(W, h, xs)), leaves(expected), strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        for got, want in zip(derivative(W, h, xs), plain(W, h, xs), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


PARTS = [
    lambda h, x, w: np.sin(x),
    lambda h, x, w: x @ w,
    lambda h, x, w: w @ x + h,
    lambda h, x, w: x * x.sum(),
    lambda h, x, w: np.where(x > 0, x, w[0]),
    lambda h, x, w: np.maximum(h, x),
    lambda h, x, w: x[::-1] * w.max(),
    lambda h, x, w: np.cumsum(x) * h[0],
    lambda h, x, w: np.sort(x) + np.exp(-(w**2)).sum(0),
]


@given(picks=st.lists(st.tuples(st.integers(0, len(PARTS) - 1), st.booleans()), min_size=1, max_size=5),
       length=st.integers(0, 9), width=st.sampled_from([0, 1, 3]), seed=st.integers(0, 99))  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_random_bodies(picks, length, width, seed):
    """Each part reads the carry, the element, or the part before it."""
    rng = np.random.default_rng(seed)
    picks = [(i, chained) for i, chained in picks if width or i not in (4, 6, 7)]  # these need an element

    def body(w, h, x):
        parts = [x]
        for i, chained in picks:
            parts.append(PARTS[i](h, parts[-1] if chained else x, w))
        return 0.1 * h + sum(parts), parts[-1]

    w, h, xs = rng.normal(size=(width, width)), rng.normal(size=width), rng.normal(size=(length, width))
    last, ys = jit(lambda w, h, xs: scan(lambda h, x: body(w, h, x), h, xs))(w, h, xs)
    for t, x in enumerate(xs):
        h, y = body(w, h, x)
        np.testing.assert_allclose(ys[t], y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(last, h, rtol=1e-9, atol=1e-9)


def test_counters_gather_rows_in_blocks():
    def run(table, index, n):
        return fori_loop(0, n, lambda i, c: c * 0.5 + table[index[i]] * anp.sqrt(i + 1.0), table[0])

    table, index = RNG.normal(size=(4, 3)), np.array([3, 0, -1, 2, 1])
    f, expected = jit(run), table[0]
    for i in range(5):
        expected = expected * 0.5 + table[index[i]] * np.sqrt(i + 1.0)
    np.testing.assert_allclose(f(table, index, 5), expected)
    np.testing.assert_allclose(f(table, index, 0), table[0])
    with pytest.raises(IndexError):
        f(table, np.array([0, 7]), 2)


def test_the_last_carry_is_an_array_of_its_own():
    f = jit(lambda xs: scan(lambda h, x: (np.sin(x), x), xs[0], xs))
    xs = RNG.normal(size=(4, 3))
    last, ys = f(xs)
    last[:] = 9
    ys[:] = 9
    np.testing.assert_array_equal(f(xs)[0], np.sin(xs[-1]))


# -- errors and warnings


def test_nothing_raises_or_warns_without_trips():
    def run(w, xs):
        return scan(lambda h, x: (h + np.log(x - x) + w @ x, ()), np.ones(2), xs)[0]

    f = jit(run)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(np.ones((2, 2)), np.ones((0, 2))), np.ones(2))
        np.testing.assert_array_equal(f(np.ones((2, 5)), np.ones((0, 2))), np.ones(2))  # no product, no error
    with pytest.warns(RuntimeWarning, match="divide by zero"), np.errstate(divide="warn"):
        assert np.all(f(np.ones((2, 2)), np.ones((3, 2))) == -np.inf)
    with pytest.raises(ShapeError, match=r"w\.shape\[1\]"):
        f(np.ones((2, 5)), np.ones((3, 2)))


def test_an_error_of_an_earlier_trip_comes_first():
    """The third element is refused, and the carry of the second trip is too: the program says what the loop would."""

    def run(table, index, h):
        def body(h, i):
            check(h < 2, "the carry is large")
            return h + 1, table[i]

        return scan(body, h, index)

    with pytest.raises(CheckError, match="the carry is large"):
        jit(run)(np.arange(4), np.array([0, 1, 9]), 1)
    with pytest.raises(IndexError):
        jit(run)(np.arange(4), np.array([0, 1, 9]), -5)


# -- memory


def test_a_block_takes_what_it_says():
    """Long loops take no more than short ones, and the bound of the cost holds."""

    def run(h, xs):
        return scan(lambda h, x: (h + np.sin(x) * np.cos(x), ()), h, xs)[0]

    f, h = jit(run, compile="off"), np.ones(50)  # a build that ends meanwhile takes memory too
    for length in (10, 2_000, 20_000):
        xs = np.ones((length, 50))
        f(h, xs)
        tracemalloc.start()
        f(h, xs)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        bound = f.programs()[0].cost().at({"xs_0": length, "xs_1": 50, "h_0": 50}).peak_bytes.size
        assert peak <= bound + SLACK and bound <= 4 * peak_memory.BLOCK_BYTES


def test_a_limit_of_memory_undoes_blocks():
    def run(h, xs):
        return scan(lambda h, x: (h + np.sin(x) * np.cos(x), ()), h, xs)[0]

    h, xs = np.ones(50), RNG.normal(size=(2_000, 50))
    f = jit(run, max_bytes=20_000)
    f(h, xs)
    tracemalloc.start()
    np.testing.assert_allclose(f(h, xs), jit(run)(h, xs), rtol=1e-12)
    tracemalloc.stop()
    with pytest.raises(MemoryLimitError):
        jit(run, max_bytes=500)(h, xs)
