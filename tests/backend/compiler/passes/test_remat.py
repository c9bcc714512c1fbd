"""Rematerialisation under max_bytes: the same bits in less memory, where the plan that keeps values takes too much."""

import io
import pickle
import threading

import numpy as np
import optree
import pytest

import anyshape
from anyshape import grad, jit, pure_callback
from anyshape.backend.compiler.op_traits import bytes_of
from anyshape.backend.compiler.passes.pipeline import rematerialise
from anyshape.backend.interpreter import evaluate
from anyshape.errors import MemoryLimitError
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.sizes.substitute import evaluate as value_of
from anyshape.graph.sizes.substitute import values_from
from tests.backend.compiler.test_peak_memory import SLACK, measured

RNG = np.random.default_rng(0)
WIDTH = 24


def layer(x, w):
    z = x @ w
    h = 0.5 * z * (1 + np.tanh(0.79 * (z + 0.044 * z**3)))
    return h / np.sqrt(np.mean(h * h, axis=1, keepdims=True) + 1e-5)


def loss(x, ws):
    for w in ws:
        x = layer(x, w)
    return np.sum(x * x)


def arguments(n, layers=5):
    return RNG.normal(size=(n, WIDTH)), [RNG.normal(size=(WIDTH, WIDTH)) / 5 for _ in range(layers)]


def derivative(limit, function=loss):
    return grad(jit(function, max_bytes=limit), argnums=(0, 1))


def leaves(tree):
    return optree.tree_leaves(tree)


N = 3000
WHOLE = 20 * 5 * N * WIDTH * 8  # more than everything that is ever made


def bound(function, n, layers=5):
    program = function.programs()[0]
    values = [n, *[WIDTH] * (1 + 2 * layers)]
    sizes = {str(s.variable): value for s, value in zip(program.graph.dims, values, strict=True)}
    return program.cost().at(sizes).peak_bytes.size


def test_a_call_over_the_limit_runs_in_less_memory_with_the_same_bits():
    x, ws = arguments(N)
    plain = derivative(WHOLE)
    wanted = plain(x, ws)
    limit = int(0.8 * bound(plain, N))
    less = derivative(limit)
    for _ in range(2):
        for a, b in zip(leaves(less(x, ws)), leaves(wanted), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
    program = less.programs()[0]
    used, _ = measured(program.run, [x, *ws])
    assert used <= limit + SLACK
    assert used < 0.8 * measured(plain.programs()[0].run, [x, *ws])[0]


def test_one_plan_serves_every_size_and_small_calls_keep_everything():
    plain = derivative(WHOLE)
    x, ws = arguments(N)
    plain(x, ws)
    less = derivative(int(0.8 * bound(plain, N)))
    for n in (N, 0, 1, 2, 5, 17, N - 1, N + 7):
        x, ws = arguments(n)
        for a, b in zip(leaves(less(x, ws)), leaves(plain(x, ws)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, strict=True)
    assert less.cache_info().traces == 1


@pytest.mark.slow
def test_an_error_names_the_bytes_with_and_without_rematerialisation():
    x, ws = arguments(N)
    with pytest.raises(MemoryLimitError, match="where values are computed again, and max_bytes is 1000000") as caught:
        derivative(1_000_000)(x, ws)
    assert 1_000_000 < caught.value.again < caught.value.needed
    table = jit(lambda x: np.sum(np.outer(x, x)), max_bytes=1000)
    with pytest.raises(MemoryLimitError) as caught:
        table(np.ones(300))
    assert caught.value.again is None  # there is nothing to be gained


def cut(function, args, segments=1):
    """Return the graph of a function, the graph with values recomputed, and the input arrays."""
    jitted = jit(function)
    jitted(*args)
    program = jitted.programs()[0]
    arrays = leaves(args)
    sizes = {}
    for value, array in zip(program.graph.inputs, arrays, strict=True):
        sizes.update({leaf: n for extent, n in zip(value.meta.extents, array.shape) for leaf in [extent.size.atom]})
    rematerialised = rematerialise(program.graph, lambda meta: value_of(bytes_of(meta), values_from(sizes)), segments)
    return program.graph, rematerialised, arrays


def counts(graph, name):
    return sum(node.op.name == name for node in graph.nodes)


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_only_cheap_ops_are_recomputed(segments):
    x, ws = arguments(50)
    before, after, arrays = cut(grad(loss, argnums=(0, 1)), (x, ws), segments)
    check_graph(after)
    for name in ("dot_general", "reduce_sum", "sum_to"):
        assert counts(after, name) == counts(before, name)
    assert counts(after, "tanh") > counts(before, "tanh") and len(after.nodes) > len(before.nodes)
    for a, b in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    assert pickle.loads(pickle.dumps(after)) == after


def peak_of(graph, weigh):
    """Return the most bytes that are live between two nodes."""
    made = {v: i for i, n in enumerate(graph.nodes) for v in n.outputs}
    last = {v: i for i, n in enumerate(graph.nodes) for v in n.inputs}
    return max(sum(weigh(v) for v, i in made.items() if i < p <= last.get(v, i)) for p in range(len(graph.nodes)))


def chain(x):
    y = x
    for _ in range(64):
        y = np.sin(y) * x
    return np.sum(y)


@pytest.mark.slow
def test_a_call_takes_as_many_segments_as_its_limit_needs():
    x = np.linspace(0, 1, 20_000)
    (value, derivative), used = anyshape.value_and_grad(chain)(x), []
    for limit in (100 * x.nbytes, 30 * x.nbytes):  # the derivative of a plain chain takes 128 arrays
        less = anyshape.value_and_grad(jit(chain, max_bytes=limit))
        for _ in range(2):
            np.testing.assert_array_equal(less(x)[0], value)
            np.testing.assert_allclose(less(x)[1], derivative, rtol=1e-12)
        used.append(measured(less.programs()[0].run, [x])[0])
        assert used[-1] <= limit + SLACK
    assert used[1] < 0.5 * used[0]


@pytest.mark.usefixtures("as_written")
def test_segments_bound_the_peak_of_a_long_chain():
    peaks = {}
    for segments in (1, 8):
        before, after, arrays = cut(anyshape.value_and_grad(chain), (np.ones(10),), segments)
        peaks[segments] = peak_of(after, lambda v: v.meta.rank)
        np.testing.assert_array_equal(evaluate(after, arrays)[0], evaluate(before, arrays)[0])
    assert peaks[8] < 0.5 * peak_of(before, lambda v: v.meta.rank) and peaks[8] < 0.5 * peaks[1]


def test_callbacks_sorts_and_gathers_are_not_recomputed():
    def function(x, i):
        y = pure_callback(np.cos, x, anyshape.stop_gradient(x)) * x
        z = np.sort(np.sin(y)) * np.exp(y)[i]
        return np.sum(np.exp(np.sin(z) * np.cos(z) * z) * np.tanh(z))

    before, after, arrays = cut(grad(function), (RNG.normal(size=9), np.arange(9)[::-1].copy()))
    assert len(after.nodes) > len(before.nodes)
    expensive = {n.op.name for n in before.nodes} & {"callback", "sort", "argsort", "permute", "take", "gather"}
    assert "callback" in expensive and len(expensive) > 2
    assert all(counts(after, name) == counts(before, name) for name in expensive)
    np.testing.assert_array_equal(evaluate(after, arrays)[0], evaluate(before, arrays)[0])


@pytest.mark.slow
def test_a_profile_shows_the_plan_that_runs():
    plain = derivative(WHOLE)
    x, ws = arguments(N)
    plain(x, ws)
    less = derivative(int(0.8 * bound(plain, N)))
    tanh = []
    for f in (plain, less):
        rows = anyshape.profile(f, repeat=1, file=io.StringIO())(x, ws).rows
        tanh.append(sum(step.name == "tanh" for row in rows for step in (row.steps or (row,))))
    assert tanh == [5, 10]


@pytest.mark.slow
def test_threads_share_one_plan():
    x, ws = arguments(N)
    plain = derivative(WHOLE)
    wanted = leaves(plain(x, ws))
    less, results = derivative(int(0.8 * bound(plain, N))), []

    def run():
        results.append(leaves(less(x, ws)))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for outputs in results:
        for a, b in zip(outputs, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
