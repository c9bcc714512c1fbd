"""Groups in tiles equal their steps one by one, at sizes around every boundary of tiles."""

import threading
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import jit
from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.interpreter import evaluate
from anyshape.backend.runtime.config import config
from tests.laws.sweep import check_equal, in_gate, in_namespace, is_error, outcome, rows

TILE = 6
SIZES = (0, 1, 2, 5, 6, 7, 13)


@pytest.fixture
def small_tiles(monkeypatch):
    """Run every group in tiles of very few elements, on two threads."""
    monkeypatch.setattr(tiles, "forced", (1, TILE))
    monkeypatch.setattr(config, "num_threads", 2)
    monkeypatch.setattr(config, "optimize", "now")


def total(row):
    """Return the sum of all results of a sample."""
    of_arrays = in_namespace(row, anp)

    def function(*xs):
        results = of_arrays(*xs)
        return sum(anp.sum(anp.real(y) * 1.0) for y in (results if isinstance(results, (tuple, list)) else (results,)))

    return function


@pytest.mark.parametrize("one_in", [9, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", sorted({family for family, _ in rows()}))
def test_tiled_plans_equal_the_naive_evaluator(family, one_in, small_tiles):
    grouped = 0
    for row in [c[1] for c in rows() if c[0] == family and in_gate("tiled", c, one_in)]:
        for function in (in_namespace(row, anp), anyshape.grad(total(row))):
            program = jit(function)
            for size in SIZES:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    grouped += compare(program, row, size)
    assert grouped or one_in > 1 or family in ("callback", "dynamic", "gather", "control", "creation", "movement")


def compare(program, row, size):
    """Compare a program with the evaluator; return the number of groups in its plan."""
    arrays = outcome(row.arrays, dict.fromkeys(row.names(), size), row.dtypes[0])
    if is_error(arrays) or is_error(outcome(program, *arrays)):
        return 0
    arrays = [np.asarray(x) for x in arrays]
    made = next((p for p in program.programs() if p.accepts(*arrays)), None)
    if made is None:
        return 0
    note = f"{row.name} at {size}"
    check_equal(made.run(*arrays), evaluate(made.graph, arrays), 1e-5 if row.dtypes[0] in LOW else 1e-10, note)
    return len(made.plan.groups)


LOW = ("float32", "complex64", "float16")


def softmax_chain(x, w):
    y = np.tanh(x * w) + x
    p = np.exp(y - y.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    return np.sum(np.sin(p) * y), p


def parts_of_a_spiral(z):
    w = np.exp(z * 2)
    r = np.sin(w.real) * 3
    return np.tanh(w.imag) * (np.cos(r) + 1) + r


def rows_by_columns(x, y):
    s = np.exp(x * 0.5)
    return (np.sin((s[:, None] * y).sum(axis=1)) + 2) * s


def test_a_buffer_lives_as_long_as_any_view_of_it(small_tiles):
    rng = np.random.default_rng(5)
    for n in (1, 6, 13):
        z = rng.normal(size=n) + 1j * rng.normal(size=n)
        np.testing.assert_allclose(jit(parts_of_a_spiral)(z), parts_of_a_spiral(z), rtol=1e-12)
        x, y = rng.normal(size=n), rng.normal(size=(n, 3))
        np.testing.assert_allclose(jit(rows_by_columns)(x, y), rows_by_columns(x, y), rtol=1e-12)


def layer_norm(x, gain, bias):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * gain + bias


def weighted_softmax(x, y):
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True) * y


def log_sum_exp(x, y):
    return anp.special.logsumexp(x, axis=-1) - np.sum(x * y, axis=-1)


def looked_up(table, index, gain):
    return np.tanh(table[index] * gain)


ONE_GROUP = {
    "layer norm": (layer_norm, ("n, m", "m", "m")),
    "softmax": (weighted_softmax, ("n, m", "n, m")),
    "log-sum-exp": (log_sum_exp, ("n, m", "n, m")),
    "embedding": (looked_up, ("v, m", "n", "m")),
}


def arrays_outside_of_the_group(plan):
    """Return the ops outside of the only group of a plan that make arrays."""
    (group,) = plan.groups
    inside = {slot for step in group.steps for slot in step.outputs}
    return [str(step.op) for step in plan.steps if step.outputs[0] not in inside and step.results[0].rank]


def random_arrays(shapes, dtypes, sizes):
    rng = np.random.default_rng(sizes["n"])
    arrays = [rng.normal(size=[sizes[name] for name in shape.split(", ")]) * 4 for shape in shapes]
    return [x.astype(dtype) for x, dtype in zip(arrays, dtypes, strict=True)]


@pytest.mark.parametrize("name", ONE_GROUP)
def test_a_layer_is_one_group_of_rows_forward_and_backward(name, small_tiles):
    function, shapes = ONE_GROUP[name]
    dtypes = ["int64" if name == "embedding" and shape == "n" else "float64" for shape in shapes]
    floats = [i for i, dtype in enumerate(dtypes) if dtype == "float64"]
    step = anyshape.value_and_grad(lambda *xs: anp.sum(anp.sin(function(*xs))), argnums=floats)
    program = anyshape.trace(step)(*map(anyshape.ShapeDtypeStruct, shapes, dtypes))
    assert arrays_outside_of_the_group(program.plan) == (["put_add"] if name == "embedding" else [])
    for n in (0, 1, 2, 5, 6, 7, 13):
        arrays = random_arrays(shapes, dtypes, {"n": n, "m": 3, "v": 9})
        for got, wanted in zip(program.run(*arrays), evaluate(program.graph, arrays), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_steps_with_two_results_stay_before_what_reads_either():
    def parts(x):
        mantissa, exponent = np.frexp(x)
        return mantissa * 2, exponent + 1, np.modf(x)[1]

    for x in (np.array(6.0), np.array([0.3, -5.0]), np.zeros(0)):
        for got, expected in zip(jit(parts)(x), parts(x), strict=True):
            np.testing.assert_array_equal(got, expected)
    assert float(anyshape.grad(lambda x: np.frexp(x)[0])(6.0)) == 0.125


def test_a_step_that_only_the_derivative_reads_sinks_to_it():
    def layer(x, w, v):
        return np.sum((np.tanh(x @ w) @ v) ** 2)

    specs = [anyshape.ShapeDtypeStruct(shape) for shape in ("n, a", "a, b", "b, c")]
    plan = anyshape.trace(anyshape.value_and_grad(layer, argnums=(0, 1, 2)))(*specs).plan
    ops = [str(step.op) for step in plan.steps]
    products = [i for i, op in enumerate(ops) if op == "dot_general"]
    assert products[0] < ops.index("tanh") < products[1]
    assert ops.index("square") > products[1]  # 1 - tanh(x)**2: after the second layer


@pytest.mark.parametrize("shape", [(1, 40), (2, 41), (3, 13), (5, 1), (2, 3, 7), (1, 1, 50)])
def test_arrays_of_few_long_rows_run_in_tiles(shape, small_tiles):
    def function(x, y):
        z = np.exp(x) * y + 1
        return z, np.sum(z), np.max(z * y), np.tanh(z) * 2

    rng = np.random.default_rng(3)
    step = jit(function)
    for x, y in [
        (rng.normal(size=shape), rng.normal(size=shape)),
        (np.asfortranarray(rng.normal(size=shape)), rng.normal(size=shape)),
        (np.broadcast_to(rng.normal(size=shape[-1]), shape), rng.normal(size=shape)),
    ]:
        for got, expected in zip(step(x, y), function(x, y), strict=True):
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "complex64"])
def test_sums_of_tiles_keep_their_dtype_and_their_axes(dtype, small_tiles):
    def sums(x):
        return np.sum(x * x, dtype=dtype), np.sum(x * x, axis=0, dtype=dtype), np.sum(x * x, axis=(0, 1), dtype=dtype)

    for n in (1, 6, 7, 13):
        x = (np.arange(2 * n).reshape(n, 2) % 3).astype(dtype)
        for got, expected in zip(jit(sums)(x), sums(x), strict=True):
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_results_do_not_depend_on_threads(threads, small_tiles, monkeypatch):
    step = jit(softmax_chain)
    rng = np.random.default_rng(0)
    for n in (1, 5, 6, 7, 12, 13, 100):
        x, w = rng.normal(size=(n, 3)), rng.normal(size=3)
        monkeypatch.setattr(config, "num_threads", 1)
        expected = step(x, w)
        monkeypatch.setattr(config, "num_threads", threads)
        got = step(x, w)
        assert got[0] == expected[0]
        np.testing.assert_array_equal(got[1], expected[1])
        np.testing.assert_allclose(got[0], softmax_chain(x, w)[0], rtol=1e-12)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "broadcast"])
def test_any_layout_of_inputs(layout, small_tiles):
    rng = np.random.default_rng(1)
    base = rng.normal(size=(26, 6))
    x = {
        "C": base[:13, :3].copy(),
        "F": np.asfortranarray(base[:13, :3]),
        "strided": base[::2, ::2],
        "reversed": base[12::-1, 2::-1],
        "broadcast": np.broadcast_to(base[0, :3], (13, 3)),
    }[layout]
    w = rng.normal(size=3)
    before = x.copy()
    for got, expected in zip(jit(softmax_chain)(x, w), softmax_chain(x, w), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_array_equal(x, before)


def test_large_arrays_are_tiled_and_elementwise_results_are_the_same_bits():
    def function(x, y):
        return np.sin(x * y) + np.exp(-x) * y, np.sum(x * y)

    step = jit(function)
    rng = np.random.default_rng(2)
    step(np.ones(2), np.ones(2))
    least, tile = max(map(tiles.min_tiled_elements, step.programs()[0].plan.groups)), tiles.MAX_WIDEST_BYTES // 8
    for n in (*[k + d for k in (least, 4 * tile) for d in (-1, 0, 1)], 15 * tile + 17):
        x, y = rng.normal(size=n), rng.normal(size=n)
        value, total = step(x, y)
        np.testing.assert_array_equal(value, function(x, y)[0])
        np.testing.assert_allclose(total, function(x, y)[1], rtol=1e-10)


def test_errors_and_warnings_of_tiles_reach_the_caller(small_tiles):
    step = jit(lambda x: np.log(x) * 2 + x)
    x = np.ones(20)
    x[13] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        step(x)
    with np.errstate(divide="ignore"):
        assert step(x)[13] == -np.inf
    assert step(np.ones(20)).tolist() == [1.0] * 20  # the next call works


def test_threads_of_users_share_programs(small_tiles):
    step, wrong = jit(softmax_chain), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x, w = rng.normal(size=(rng.integers(1, 40), 3)), rng.normal(size=3)
            if not np.allclose(step(x, w)[0], softmax_chain(x, w)[0]):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and step.cache_info().traces == 1


def test_specializations_with_sizes_that_depend_on_data(small_tiles):
    def function(x, y, k):
        z = x + y
        return np.dot(z[z > 0], z[z > 0]) * 2, (x * y)[:k] + z[:k]

    step = jit(function)
    rng = np.random.default_rng(4)
    for n, m in ((5, 5), (1, 5), (5, 1), (0, 1), (8, 8)):
        x, y = rng.normal(size=n), rng.normal(size=m)
        for k in (0, 2, 9):
            for got, expected in zip(step(x, y, np.int64(k)), function(x, y, k), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert step.cache_info().traces == 1


def test_specializations_serve_every_pattern_from_one_trace(small_tiles):
    def function(x, y, z):
        return np.sum(np.tanh(x + y) * z), x * y * z

    derivative = jit(anyshape.grad(lambda x, y, z: function(x, y, z)[0], argnums=(0, 1, 2)))
    value = jit(function)
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 7):
        for ones in range(8):
            shapes = [(1,) if ones >> i & 1 else (n,) for i in range(3)]
            xs = [rng.normal(size=s) for s in shapes]
            for got, expected in zip(value(*xs), function(*xs), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12)
            for g, x in zip(derivative(*xs), xs, strict=True):
                assert g.shape == x.shape
    assert value.cache_info().traces == derivative.cache_info().traces == 1
    with pytest.raises(ValueError, match=r"x\.shape\[0\] \(2\) must equal y\.shape\[0\] \(3\), or one"):
        value(np.ones(2), np.ones(3), np.ones(3))
    assert value(np.ones(2), np.ones(2), np.ones(1))[1].tolist() == [1, 1]
