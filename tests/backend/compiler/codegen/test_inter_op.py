"""Dear steps that do not depend on each other run at once, and give what they give one by one."""

import threading
import time
import tracemalloc

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, jit, trace
from anyshape.backend.compiler.codegen import inter_op
from anyshape.backend.compiler.passes.parallel_branches import side_by_side
from anyshape.backend.runtime.config import config
from tests.backend.compiler.codegen.tiling import tiled, untiled


def heads(x, q, k, v):
    """Three products of one array; then products that need them."""
    a, b, c = x @ q, x @ k, x @ v
    return np.tanh(a @ b.T) @ c


def sorts(x, y):
    return np.sort(x), np.sort(y), np.cumsum(x), np.cumsum(y, axis=0)


def seen(function):
    """A decorator for the function that runs branches: how many there were each time."""
    counts = []

    def run(*branches):
        counts.append(len(branches))
        function(*branches)

    return run, counts


@pytest.fixture
def counted(monkeypatch):
    run, counts = seen(inter_op.NAMES["_at_once"])
    monkeypatch.setitem(inter_op.NAMES, "_at_once", run)
    return counts


def test_products_that_do_not_depend_on_each_other_run_at_once(counted, rng):
    step = jit(heads)
    slope = anyshape.grad(lambda *xs: np.sum(heads(*xs) ** 2), argnums=(0, 1, 2, 3))
    for n, m in ((5, 3), (1, 1), (0, 3), (7, 2)):
        xs = [rng.normal(size=(n, m)), *[rng.normal(size=(m, m)) for _ in range(3)]]
        with tiled():
            got, slopes = step(xs[0], *xs[1:]), slope(*xs)
        np.testing.assert_allclose(got, heads(*xs), rtol=1e-12)
        with untiled():
            for a, b in zip(slopes, jit(slope)(*xs), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert 3 in counted and 2 in counted


def test_sorts_and_running_sums_run_at_once(counted, rng):
    for n in (0, 1, 2, 50):
        x, y = rng.normal(size=n), rng.normal(size=n + 1)
        with tiled():
            for got, expected in zip(jit(sorts)(x, y), sorts(x, y), strict=True):
                np.testing.assert_array_equal(got, expected)
    assert counted == [2] * 8


def test_small_steps_and_a_blas_with_threads_of_its_own_run_one_by_one(counted, rng, monkeypatch):
    xs = [rng.normal(size=(4, 4)) for _ in range(4)]
    jit(heads)(*xs)
    assert not counted
    with tiled():
        monkeypatch.setitem(inter_op.NAMES, "_single", lambda: False)
        np.testing.assert_allclose(jit(heads)(*xs), heads(*xs))
        assert not counted
        np.testing.assert_array_equal(jit(sorts)(xs[0][0], xs[1][0])[0], np.sort(xs[0][0]))
        assert counted


def test_real_sizes(counted, rng, monkeypatch):
    monkeypatch.setitem(inter_op.NAMES, "_single", lambda: True)
    step = jit(heads)
    xs = [rng.normal(size=(256, 200)), *[rng.normal(size=(200, 200)) for _ in range(3)]]
    monkeypatch.setattr(config, "_num_threads", 2)
    np.testing.assert_allclose(step(*xs), heads(*xs), rtol=1e-9, atol=1e-12)
    assert counted == [3]


def test_steps_at_once_are_on_several_threads():
    """Each waits for the other to have begun."""
    begun = threading.Barrier(2, timeout=10)
    with tiled(threads=2):
        inter_op.NAMES["_at_once"](begun.wait, begun.wait)


def test_errors_name_the_operation_and_the_line():
    def function(x, y):
        return np.cumprod(x), np.cumprod(y)

    big = np.full(400, 1e10)
    with tiled():
        step = jit(function)
        for xs in ((big, np.ones(400)), (np.ones(400), big), (big, big)):
            with np.errstate(over="raise"), pytest.raises(FloatingPointError, match=r"^cumprod: .* at .*test_at_once"):
                step(*xs)
        np.testing.assert_array_equal(step(np.ones(3), np.ones(3))[1], np.ones(3))


def test_the_error_of_the_first_step_surfaces():
    def fail(number, after):
        def run():
            time.sleep(after)
            raise ValueError(number)

        return run

    with tiled(threads=3):
        for _ in range(5):
            with pytest.raises(ValueError, match=r"^0$"):
                inter_op.NAMES["_at_once"](fail(0, 0.02), fail(1, 0.0), fail(2, 0.01))


def test_what_is_alive_at_once_is_within_the_bound(rng):
    """The operands of steps at once are alive until the last is done, and so is all that they make."""

    def function(x, y):
        return np.sum(np.sort(x, axis=0) * np.sort(y, axis=0))

    x, y = rng.normal(size=(300, 300)), rng.normal(size=(300, 300))
    with tiled(tile=1 << 9):
        program = trace(function)(ShapeDtypeStruct("n, m"), ShapeDtypeStruct("n, m"))
        assert len(program.plan.waves) == 1
        program(x, y)
        tracemalloc.start()
        program(x, y)
        measured = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    bound = program.cost().at({"n": 300, "m": 300}).peak_bytes.size
    assert 2 * x.nbytes <= measured <= bound + 20_000


def test_views_go_before_the_steps_and_dependent_steps_do_not_join(rng):
    def function(x, y):
        a = x @ y
        b = y.T @ x.T
        return a, b, a @ y

    program = trace(function)(ShapeDtypeStruct("n, n"), ShapeDtypeStruct("n, n"))
    (wave,) = program.plan.waves
    assert len(wave) == 2
    assert "at once" in str(program.plan)
    order, waves = side_by_side(program.plan.steps)
    assert [s.outputs for s in order] == [s.outputs for s in program.plan.steps]
    assert [tuple(s.outputs[0] for s in w) for w in waves] == [wave]
    x, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    with tiled():
        for got, expected in zip(jit(function)(x, y), function(x, y), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
