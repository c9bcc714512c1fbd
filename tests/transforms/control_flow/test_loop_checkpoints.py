"""Checkpoints of loops: each policy gives the derivatives of a loop in Python, with the memory and the runs it says."""

import io
import math
import pickle
import tracemalloc
import warnings

import numpy as np
import optree
import pytest

import anyshape
from anyshape import (
    ShapeDtypeStruct,
    check_grads,
    custom_jvp,
    fori_loop,
    grad,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    pure_callback,
    scan,
    vjp,
    vmap,
    while_loop,
)
from anyshape.errors import ArgumentError, CheckError

POLICIES = ["carry", 1, 2, 3, 4, 5, 6, 7, 8]
X = np.linspace(0.1, 0.5, 3)
RNG = np.random.default_rng(0)
XS = RNG.normal(size=(30, 3))


def by_index(policy):
    """A loop of run-time trips, whose body reads an array by its counter."""

    def loss(w, x, xs, trips):
        body = lambda c: (c[0] + 1, np.tanh(w * c[1] + xs[c[0]] * c[0]))
        return np.sum(while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=policy)[1] ** 2)

    return loss


def slopes_by_index(w, x, xs, trips):
    """Its gradients by a loop in Python."""
    states = [x]
    for i in range(trips):
        states.append(np.tanh(w * states[-1] + xs[i] * i))
    dw, dxs, back = 0.0, np.zeros_like(xs), 2 * states[-1]
    for i in reversed(range(trips)):
        slope = back * (1 - states[i + 1] ** 2)
        dw, dxs[i], back = dw + np.sum(slope * states[i]), slope * i, slope * w
    return dw, back, dxs


@pytest.mark.parametrize("policy", POLICIES)
def test_a_while_loop_of_any_number_of_trips(policy):
    slopes = jit(grad(by_index(policy), (0, 1, 2)))
    for trips in range(31):
        for slope, expected in zip(slopes(0.7, X, XS, trips), slopes_by_index(0.7, X, XS, trips), strict=True):
            np.testing.assert_allclose(slope, expected, rtol=1e-10, atol=1e-14)


def summed(policy, reverse):
    """A scan with results of trips."""

    def loss(w, x, xs):
        def step(h, v):
            after = np.sin(w * h + v)
            return after, after * v

        last, ys = scan(step, x, xs, reverse=reverse, checkpoint=policy)
        return np.sum(last**2) + np.sum(ys**3)

    return loss


def slopes_of_summed(w, x, xs, reverse):
    """Its gradients by a loop in Python."""
    order = [*range(len(xs))][:: -1 if reverse else 1]
    states = [x]
    for i in order:
        states.append(np.sin(w * states[-1] + xs[i]))
    dw, dxs, back = 0.0, np.zeros_like(xs), 2 * states[-1]
    for t, i in reversed([*enumerate(order)]):
        slope = 3 * (states[t + 1] * xs[i]) ** 2
        inner = (back + slope * xs[i]) * np.cos(w * states[t] + xs[i])
        dw, dxs[i], back = dw + np.sum(inner * states[t]), inner + slope * states[t + 1], inner * w
    return dw, back, dxs


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_scan_of_any_length(policy, reverse):
    slopes = jit(grad(summed(policy, reverse), (0, 1, 2)))
    for trips in range(31):
        ours, expected = slopes(0.7, X, XS[:trips]), slopes_of_summed(0.7, X, XS[:trips], reverse)
        for slope, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(slope, other, rtol=1e-10, atol=1e-14)


# -- other loops, and derivatives of any kind: all policies agree ----------------------------------------------------


def growing(policy):
    def loss(w, x, xs, trips):
        body = lambda c: (c[0] + 1, np.concatenate([np.sin(c[1] * w) + 0.1 * c[0], c[1][:1] * w]))
        return np.sum(while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=policy)[1] ** 2)

    return loss


def growing_scan(policy):
    def loss(w, x, xs, trips):
        def step(v, u):
            after = np.concatenate([np.sin(v * w) + np.sum(u), v[:1] * w])
            return after, np.sum(after) * u

        last, ys = scan(step, x, xs[:trips], reverse=True, checkpoint=policy)
        return np.sum(last**2) + np.sum(ys**2)

    return loss


def tree(policy):
    def loss(w, x, xs, trips):
        def step(c, row):
            a, b, i = c["a"], c["b"], c["i"]
            after = {"a": np.sin(a) * row["u"] + b, "b": b * w + np.sum(row["v"]), "i": i + 2}
            return after, (a * i, row["v"] * b)

        elements = {"u": xs[:trips], "v": np.cos(xs[:trips])}
        last, (p, q) = scan(step, {"a": x, "b": 0.0, "i": 1}, elements, checkpoint=policy)
        return np.sum(last["a"] ** 2) + last["b"] + np.sum(p * p) + np.sum(q)

    return loss


def nested(policy):
    def loss(w, x, xs, trips):
        def outer(c, row):
            body = lambda c: (c[0] + 1, np.sin(c[1]) * row * w + c[0])
            inner = while_loop(lambda c: c[0] < 3, body, (0, c), checkpoint=policy)[1]
            return inner, inner * row

        last, ys = scan(outer, x, xs[:trips], checkpoint=policy)
        return np.sum(last) + np.sum(ys**2)

    return loss


def compressed(policy):
    """A body whose sizes depend on its carry."""

    def loss(w, x, xs, trips):
        body = lambda i, v: np.tanh(v * w + np.sum(v[v > 0.2] ** 2)) + i
        return np.sum(fori_loop(0, trips, body, x, checkpoint=policy) ** 2)

    return loss


LOOPS = [by_index, growing, growing_scan, tree, nested, compressed]
DERIVATIVES = {
    "of order 2": lambda f: grad(lambda w, x, xs, n: np.sum(grad(f, 1)(w, x, xs, n) ** 2), (0, 1, 2)),
    "forwards over backwards": lambda f: lambda w, x, xs, n: hvp(lambda w, x: f(w, x, xs, n), (w, x), (1.0, x)),
    "forwards": lambda f: (
        lambda w, x, xs, n: (
            jvp(lambda w, x: f(w, x, xs, n), (w, x), (1.0, 2 * x)),
            linearize(lambda w, x: f(w, x, xs, n), w, x)[1](1.0, x),
        )
    ),
    "Hessian": lambda f: lambda w, x, xs, n: jacfwd(jacrev(lambda x: f(w, x, xs, n)))(x),
}


# Loops take turns in the gate: each has half of the derivatives.
HALVED = [
    pytest.param(loop, derivative, marks=[pytest.mark.slow] * ((i + j) % 2), id=f"{derivative}-{loop.__name__}")
    for i, loop in enumerate(LOOPS)
    for j, derivative in enumerate(DERIVATIVES)
]


@pytest.mark.parametrize(("loop", "derivative"), HALVED)
def test_derivatives_are_those_of_the_loop_without_checkpoints(loop, derivative):
    derive = DERIVATIVES[derivative]
    if (loop, derivative) == (compressed, "Hessian"):
        pytest.skip("a batch of carries of which examples choose different elements")
    plain, checked = [jit(derive(loop(policy))) for policy in (None, 2)]
    for trips in (0, 1, 4, 7):
        agree(checked(0.7, X, XS, trips), plain(0.7, X, XS, trips))
    if derivative == "of order 2":
        agree(jit(derive(loop("carry")))(0.7, X, XS, 4), plain(0.7, X, XS, 4))


def agree(ours, expected):
    for a, b in zip(optree.tree_leaves(ours), optree.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


ROWS = RNG.normal(size=(4, 3))
BATCHES = {
    "gradients": lambda f: vmap(lambda x, xs, n: grad(f, (0, 1, 2))(0.7, x, xs, n), (0, None, 0)),
    "a gradient of a batch": lambda f: grad(lambda x, xs, n: np.sum(vmap(lambda x, n: f(0.7, x, xs, n))(x, n)), (0, 1)),
    "gradients of one length": lambda f: lambda x, xs, n: vmap(lambda x: grad(f, (0, 1))(0.7, x, xs, n[0]))(x),
    "batches of gradients": lambda f: (
        lambda x, xs, n: vmap(lambda w: vmap(lambda x, n: grad(f, (0, 1))(w, x, xs, n))(x, n))(x[:, 0])
    ),
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("loop", [by_index, growing], ids=lambda f: f.__name__)
def test_batches_of_gradients(loop, batch):
    if loop is growing and batch != "gradients of one length":
        pytest.skip("examples of different trips have carries of different sizes")
    plain, checked = [jit(BATCHES[batch](loop(policy))) for policy in (None, 3)]
    for trips in ([0, 0, 0, 0], [3, 1, 0, 7], [5, 5, 5, 5]):
        agree(checked(ROWS, XS, np.array(trips)), plain(ROWS, XS, np.array(trips)))


@pytest.mark.parametrize("policy", ["carry", 1, 2])
def test_no_example_makes_a_trip_that_it_does_not_have(policy):
    def loss(x, trips):  # one trip more would divide by zero
        body = lambda c: (c[0] + 1, np.sqrt(c[1] / (trips - c[0])))
        return while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=policy)[1]

    trips = np.array([1.0, 4, 2, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slopes = jit(vmap(grad(loss)))(np.arange(1.0, 5), trips)
    np.testing.assert_allclose(slopes, [grad(loss)(x, n) for x, n in zip(np.arange(1.0, 5), trips, strict=True)])


# -- runs and memory -------------------------------------------------------------------------------------------------


def counting(policy, counter):
    """A loop that counts how often its body runs."""

    def count(x):
        counter.append(1)
        return x

    def loss(x, trips):
        def body(c):
            seen = pure_callback(count, ShapeDtypeStruct((), float), anyshape.stop_gradient(c[1]))
            return c[0] + 1, np.sin(0.9 * c[1] + 0.01 * seen)

        return while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=policy)[1]

    return loss


@pytest.mark.parametrize(("policy", "most"), [(None, 1), ("carry", 2), (32, 3.6), (8, 6.0), (3, 14.5), (2000, 2)])
def test_how_often_the_body_runs(policy, most):
    counter = []
    slope = jit(grad(counting(policy, counter)))
    slope(0.5, 1000)
    assert most - 0.6 <= len(counter) / 1000 <= most
    body = lambda i, v: np.sin(0.9 * v + 0.01 * anyshape.stop_gradient(v))
    np.testing.assert_allclose(slope(0.5, 50), grad(lambda x: fori_loop(0, 50, body, x))(0.5))


def heavy(policy):
    def loss(w, x, xs):
        def step(h, v):
            for _ in range(3):
                h = np.tanh(h * w + v)
            return h, ()

        return np.sum(scan(step, x, xs, checkpoint=policy)[0] ** 2)

    return loss


@pytest.mark.parametrize(("policy", "carries"), [("carry", 300), (32, 32), (4, 4)])
def test_the_memory_of_a_policy_is_that_of_its_carries_and_of_a_trip(policy, carries):
    size, trips = 5000, 300
    slopes = jit(grad(heavy(policy), (0, 1)), optimize="now")
    slopes(0.7, X, X)
    x, xs = np.ones(size), np.linspace(0, 1, trips)
    tracemalloc.start()
    slopes(0.7, x, xs)
    peak = tracemalloc.get_traced_memory()[1] / (8 * size)
    tracemalloc.stop()
    assert carries <= peak <= carries + 14
    program = anyshape.trace(grad(heavy(policy), (0, 1)))(
        ShapeDtypeStruct((), float), ShapeDtypeStruct("d", float), ShapeDtypeStruct("n", float)
    )
    cost = program.cost()
    stated = cost.at({"d": size, "n": trips}).peak_bytes.size / (8 * size)
    assert peak <= stated + 1 <= peak + 24
    assert ("8*d*n" if policy == "carry" else f"8*d*min(max(n, 1), {policy})") in str(cost.peak_bytes)


def test_the_memory_of_an_unknown_number_of_trips():
    size = 5000

    def loss(x):
        body = lambda c: (c[0] + 1, np.tanh(np.sin(c[1]) + 1))
        return np.sum(while_loop(lambda c: c[0] < 400, body, (0, x), checkpoint=8)[1])

    slope = jit(grad(loss), optimize="now")
    slope(X)
    x = np.ones(size)
    tracemalloc.start()
    slope(x)
    peak = tracemalloc.get_traced_memory()[1] / (8 * size)
    tracemalloc.stop()
    assert peak <= 8 + 9


def test_a_pullback_may_be_called_again():
    """Slots are filled in place only where nothing reads them later."""

    @jit
    def program(x, xs):
        _, pull = vjp(lambda x: summed(2, False)(0.7, x, xs), x)
        return pull(1.0), pull(2.0)

    (first,), (second,) = program(X, XS)
    np.testing.assert_allclose(2 * first, second, rtol=1e-12)
    _, pull = vjp(lambda x: summed(2, False)(0.7, x, XS), X)
    for factor in (1.0, 3.0, 1.0):
        np.testing.assert_allclose(pull(factor)[0], factor * first, rtol=1e-12)


# -- programs --------------------------------------------------------------------------------------------------------


def test_programs_travel(tmp_path):
    program = anyshape.trace(grad(summed(3, True), (0, 1, 2)))(
        ShapeDtypeStruct((), float), ShapeDtypeStruct("k", float), ShapeDtypeStruct("n, k", float)
    )
    expected = slopes_of_summed(0.7, X, XS, True)
    exported = anyshape.export(grad(summed(3, True), (0, 1, 2)))(
        ShapeDtypeStruct((), float), ShapeDtypeStruct("k", float), ShapeDtypeStruct("n, k", float)
    )
    exported.save(tmp_path / "slopes.json")
    for copy in (program, pickle.loads(pickle.dumps(program)), anyshape.load(tmp_path / "slopes.json")):
        agree(copy(0.7, X, XS), expected)
    assert "checkpoint=3" in str(program)
    assert "rerun(" in str(program)
    slopes = jit(grad(summed(3, True)))
    slopes(0.7, X, XS)
    assert "rerun" in str(anyshape.profile(slopes, repeat=1, file=io.StringIO())(0.7, X, XS))
    assert str(anyshape.explain(slopes))


@pytest.mark.parametrize("policy", ["carry", 2])
def test_check_grads(policy):
    check_grads(lambda w, x, xs: by_index(policy)(w, x, xs, 5), (0.7, X, XS), order=2)


def test_custom_rules_inside():
    @custom_jvp
    def double(x):
        return np.sin(x)

    double.defjvp(lambda primals, tangents: (double(*primals), 2 * tangents[0]))
    slope = lambda policy: grad(lambda x: fori_loop(0, 5, lambda i, v: double(v) + i, x, checkpoint=policy))(0.3)
    np.testing.assert_allclose([slope(2), slope("carry"), slope(None)], [32.0] * 3)


def test_a_check_inside_is_checked_once_and_names_its_line():
    def loss(x, trips):
        def body(i, v):
            anyshape.check(v < 3, "too large")
            return v * 1.5

        return fori_loop(0, trips, body, x, checkpoint=2)

    slope = jit(grad(loss))
    np.testing.assert_allclose(slope(1.0, 3), 1.5**3)
    with pytest.raises(CheckError, match="too large"):
        slope(1.0, 5)


def test_carries_that_need_not_be_saved():
    """Carries that no slope depends on take no slots: the loop is as without a checkpoint."""
    linear = lambda policy: grad(lambda w, xs: scan(lambda c, v: (c + w * v, ()), 0.0, xs, checkpoint=policy)[0])
    shapes = ShapeDtypeStruct((), float), ShapeDtypeStruct("n", float)
    assert "rerun" not in str(anyshape.trace(linear(3))(*shapes))
    assert math.isclose(linear(3)(2.0, np.arange(4.0)), 6)


def test_map_and_loops_without_carries():
    f = lambda policy: grad(lambda x: np.sum(anyshape.map(lambda v: np.exp(v) * np.sum(x), x, checkpoint=policy)))(X)
    np.testing.assert_allclose(f(3), f(None))
    g = lambda policy: grad(lambda x: np.sum(scan(lambda c, v: ((), np.exp(v)), (), x, checkpoint=policy)[1]))(X)
    np.testing.assert_allclose(g(3), np.exp(X))


@pytest.mark.parametrize("value", [0, -1, True, "x", 2.5, (2,), "", np.float64(2)])
@pytest.mark.parametrize("call", [
    lambda c: scan(lambda c, x: (c, x), 0.0, X, checkpoint=c),
    lambda c: while_loop(lambda c: c < 3, lambda c: c + 1, 0.0, checkpoint=c),
    lambda c: fori_loop(0, 3, lambda i, c: c, 0.0, checkpoint=c),
    lambda c: anyshape.map(lambda x: x, X, checkpoint=c),
], ids=["scan", "while_loop", "fori_loop", "map"])  # fmt: skip
def test_values_that_are_no_policy(call, value):
    with pytest.raises(ArgumentError, match="checkpoint") as error:
        call(value)
    assert '"carry"' in str(error.value).splitlines()[1]


def test_an_integer_of_numpy_is_a_number_of_slots():
    assert fori_loop(0, 3, lambda i, c: c * 2, 1.0, checkpoint=np.int64(2)) == 8


def _mixed(i, c, s):
    return anyshape.switch(i % 3, [np.sin, lambda a: a * s, lambda a: a - 0.5], c)


# bodies whose result is the next carry: the cotangent of a carry begins at nothing, and a trip does not read it
NEXT_CARRIES = {
    "carry": lambda i, c, e, s: np.sin(c) * 0.3,
    "captured": lambda i, c, e, s: np.sin(c) * s,
    "counted": lambda i, c, e, s: np.sin(c) * s * i,
    "linear": lambda i, c, e, s: c * 0.5,
    "switched": lambda i, c, e, s: _mixed(i, c, s),
    "element": lambda i, c, e, s: np.cos(e) * 0.9,
}


NEXT = [
    pytest.param(body, of, marks=[pytest.mark.slow] * (j > 0 and (i + j) % 2))
    for i, body in enumerate(NEXT_CARRIES) for j, of in enumerate(["results", "carry", "both"])
]  # fmt: skip


@pytest.mark.parametrize(("body", "of"), NEXT)
def test_gradients_with_slots_are_those_without(body, of):
    def loss(x, checkpoint):
        s = np.sum(x) * 0.1

        def step(carry, e):
            c = NEXT_CARRIES[body](*carry, e, s)
            return (carry[0] + 1, c), c * 2 + e

        (_, last), results = anyshape.scan(step, (0, np.sum(x, axis=0) * 0.3), x, checkpoint=checkpoint)
        of_results = np.sum(np.cos(np.arange(x.shape[0]) + 1.0) @ results)
        return {"results": of_results, "carry": np.sum(last**2), "both": of_results + np.sum(last**2)}[of]

    slopes = {c: jit(grad(lambda x, c=c: loss(x, c))) for c in (None, 2, 3)}
    for shape in ((0, 2), (1, 1), (4, 2), (7, 3)):
        x = np.random.default_rng(1).normal(size=shape)
        for count in (2, 3):
            np.testing.assert_allclose(slopes[count](x), slopes[None](x), 1e-12, 1e-12)
