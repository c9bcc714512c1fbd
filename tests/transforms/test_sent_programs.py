"""Programs that travel with their function: they serve where captured state is equal, and nowhere else."""

import functools
import pickle
import sys
import threading
import types

import cloudpickle
import numpy as np
import pytest

import anyshape
from anyshape import grad, jit, pure_callback, value_and_grad, vmap
from anyshape.errors import ProgramFileError
from anyshape.transforms import function_pickle
from anyshape.transforms.caching import sent_programs
from tests.tracing.captured.case import CASES
from tests.tracing.captured.test_changes import X


def sent(function):
    """Return a jitted function as another process would unpickle it, with its programs."""
    data = pickle.dumps(function.with_programs())
    function_pickle._ALIVE.clear()
    function_pickle._LOADED.clear()
    return pickle.loads(data)


def traces(function, *args):
    """Return what a call gives, and the number of traces so far."""
    return function(*args), function.cache_info().traces


def same(a, b):
    np.testing.assert_array_equal(a, b)
    return True


# -- what serves


LARGE, SMALL = np.arange(3600.0).reshape(60, 60), np.arange(60.0)
BODIES = {
    "a large array": lambda x: x @ LARGE,
    "a transposed array": lambda x: x @ LARGE.T,
    "rows of an array": lambda x: x @ LARGE[3:9].T @ LARGE[1:60:11],
    "reversed rows": lambda x: x @ LARGE[::-1],
    "a small array": lambda x: x * SMALL,
    "arrays that it makes": lambda x: x + np.eye(60) + np.arange(60.0).reshape(1, 60) * SMALL[1],
    "no array": lambda x: np.tanh(x) * 2,
}


@pytest.mark.parametrize("name", BODIES)
def test_a_program_serves_at_other_sizes(name):
    step = jit(BODIES[name])
    step(np.ones((60, 60)))
    again = sent(step)
    for n in (1, 60):
        y, count = traces(again, np.full((n, 60), 0.5))
        assert count == 0 and same(y, BODIES[name](np.full((n, 60), 0.5)))
    assert again.cache_info().hits == 2
    assert "it was sent with the function by another process" in str(again.explain())


@pytest.mark.parametrize("name", ["a large array", "a transposed array", "rows of an array", "reversed rows"])
def test_a_program_holds_the_arrays_of_its_process(name):
    weights = LARGE.copy()
    body = types.FunctionType(BODIES[name].__code__, {"LARGE": weights})
    step = jit(body)
    step(np.ones((60, 60)))
    again = sent(step)
    own = again.__wrapped__.__globals__["LARGE"]
    assert own is not weights
    assert traces(again, np.ones((60, 60)))[1] == 0
    own[:] = 7.0
    y, count = traces(again, np.ones((60, 60)))
    assert count == 0 and same(y, again.__wrapped__(np.ones((60, 60))))


def test_it_is_the_same_function_without_its_programs():
    step = jit(lambda x: x * 2)
    assert pickle.loads(pickle.dumps(step.with_programs())) is step
    assert same(step.with_programs().with_programs()(X), X * 2) and step.cache_info().traces == 1
    step.clear_cache()
    assert step.with_programs().cache_info() == step.cache_info()
    assert grad(jit(lambda x, k: x**k, static_argnums=1).with_programs())(2.0, 3) == 12.0


def test_programs_that_are_traced_later_travel_too():
    step = jit(lambda x: x * 2)
    carrier = step.with_programs()
    pickle.dumps(carrier)
    step(X), step(X[None])
    data = pickle.dumps(carrier)
    function_pickle._ALIVE.clear()
    function_pickle._LOADED.clear()
    again = pickle.loads(data)
    assert traces(again, X)[1] == traces(again, X[None])[1] == 0
    assert traces(again, X.astype("f4"))[1] == 1


def test_each_guard_and_static_value_has_its_program():
    @functools.partial(jit, static_argnames="how")
    def step(x, how):
        return (x + 1 if x.shape[0] > 3 else x - 1) * len(how)

    calls = [(np.ones(n), how) for n in (2, 5) for how in ("a", "bb")]
    expected = [step(x, how=how) for x, how in calls]
    again = sent(step)
    assert all(same(again(x, how=how), y) for (x, how), y in zip(calls, expected, strict=True))
    assert again.cache_info().traces == 0
    assert traces(again, np.ones(2), "ccc")[1] == 1


class Setting:
    """A static argument whose state counts: it is equal by its name alone."""

    def __init__(self, name, factor):
        self.name, self.factor, self.w = name, factor, np.full((40, 40), factor)

    def __eq__(self, other):
        return isinstance(other, Setting) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def test_static_arguments_count_with_what_they_reach():
    def scaled(x, s):
        return x @ s.w.T * s.factor

    step = jit(scaled, static_argnums=1)
    step(np.ones(40), Setting("a", 2.0))
    for factor, expected in ((2.0, 0), (3.0, 1)):
        again, setting = sent(step), Setting("a", factor)
        y, count = traces(again, np.ones(40), setting)
        assert count == expected and same(y, scaled(np.ones(40), setting))
        setting.w[:] = 5.0
        assert same(again(np.ones(40), setting), scaled(np.ones(40), setting))
        setting.factor = 7.0
        assert same(again(np.ones(40), setting), scaled(np.ones(40), setting))


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_closures_methods_and_parts_carry_them(dumps):
    class Model:
        def __init__(self):
            self.w = np.ones((40, 40))

        @jit
        def step(self, x):
            return x @ self.w

    model = Model()
    step = value_and_grad(lambda w, x: np.sum(np.tanh(x * w)))
    model.step(np.ones(40)), step(X, X)
    data = dumps((model.step.with_programs(), step.with_programs(), vmap(step.with_programs())))
    function_pickle._ALIVE.clear()
    function_pickle._LOADED.clear()
    method, derivative, batch = pickle.loads(data)
    assert traces(method, np.ones(40))[1] == traces(derivative, X, X)[1] == 0
    assert batch(X[None], X[None])[0].shape == (1,)


# -- what does not serve


@pytest.mark.parametrize("row", [row for row in CASES if not row.listed], ids=lambda row: row.name)
def test_no_program_serves_after_a_change(row, monkeypatch):
    """Send a program, apply a change of the table where it arrives, and call: eager Python is right."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    steps = row.make()
    function = next(steps)
    step = jit(function)
    step(X)
    digest, data = sent_programs.pack_programs(step._cache)
    arrived = jit(function)
    sent_programs.receive(arrived._cache, digest, data)
    same(arrived(X), function(X))
    next(steps, None)
    fresh = jit(function)
    sent_programs.receive(fresh._cache, digest, data)
    for receiver in (arrived, fresh):
        same(receiver(X), function(X))
        same(receiver(X), function(X))
    steps.close()


@pytest.mark.slow
def test_most_rows_of_the_table_are_served_where_nothing_changed(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    served = []
    for row in CASES:
        steps = row.make()
        function = next(steps)
        step = jit(function)
        step(X)
        arrived = jit(function)
        sent_programs.receive(arrived._cache, *sent_programs.pack_programs(step._cache))
        served.append(traces(arrived, X)[1] == 0)
        next(steps, None)
        steps.close()
    assert sum(served) > 0.8 * len(CASES), [row.name for row, ok in zip(CASES, served, strict=True) if not ok]


def module_with(scale):
    module = types.ModuleType("sent_module")
    module.scale = scale
    exec("def f(x):\n    return x * scale\n", module.__dict__)
    return module


def test_a_module_that_differs_there_is_traced(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "sent_module", module_with(2.0))
    step = jit(sys.modules["sent_module"].f)
    step(X)
    data = pickle.dumps(step.with_programs())
    for scale, expected in ((2.0, 0), (3.0, 1)):
        monkeypatch.setitem(sys.modules, "sent_module", module_with(scale))
        function_pickle._ALIVE.clear()
        function_pickle._LOADED.clear()
        with caplog.at_level("DEBUG", "anyshape.trace"):
            y, count = traces(pickle.loads(data), X)
        assert count == expected and same(y, X * scale)
    assert "a received program is not used: scale differs here" in caplog.text


def test_a_state_that_changed_since_is_not_sent():
    weights = [1.0]
    step = jit(lambda x: x * weights[0])
    step(X)
    weights[0] = 2.0
    assert sent_programs.pack_programs(step._cache) == ("", b"")
    again = sent(step)
    assert traces(again, X)[1] == 1 and same(again(X), 2 * X)


def test_programs_of_other_versions_do_not_serve(monkeypatch):
    step = jit(lambda x: x * 2)
    step(X)
    data = pickle.dumps(step.with_programs())
    function_pickle._ALIVE.clear()
    function_pickle._LOADED.clear()
    monkeypatch.setattr(sent_programs, "_VERSIONS", ("0", "0", "0"))
    assert traces(pickle.loads(data), X)[1] == 1


def locked():
    lock = threading.Lock()
    return jit(lambda x: x if lock else -x)


def test_what_cannot_travel_stays(caplog):
    backing = np.arange(2000.0)
    strided = backing.reshape(1000, 2)[:, 0]
    callback = jit(lambda x: pure_callback(np.sin, anyshape.ShapeDtypeStruct("3"), x))
    for step, x in ((locked(), X), (callback, X), (jit(lambda x: x * strided[::-1]), np.ones(1000))):
        step(x)
        digest, data = sent_programs.pack_programs(step._cache)
        arrived = jit(step.__wrapped__)
        sent_programs.receive(arrived._cache, digest, data)
        assert traces(arrived, x)[1] == 1


@pytest.mark.parametrize("position", range(0, 2000, 101))
def test_damaged_programs_are_refused(position):
    step = jit(lambda x: x * 2)
    step(X)
    make, (function, digest, data) = step.with_programs().__reduce__()
    damaged = bytearray(data)
    damaged[position % len(data)] ^= 1 << position % 8
    for wrong in (bytes(damaged), data[: position % len(data)], data + b"x", "text", None):
        with pytest.raises(ProgramFileError, match="the pickle of a jitted function: is damaged"):
            make(jit(function.__wrapped__), digest, wrong)


def test_the_latest_lots_are_kept():
    step, arrived = jit(lambda x: x * 2), jit(lambda x: x * 2)
    for n in range(12):
        step(np.ones((1,) * n))
        sent_programs.receive(arrived._cache, *sent_programs.pack_programs(step._cache))
    assert len(arrived._cache.received) == 8
