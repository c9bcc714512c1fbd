"""Pickles of jitted functions: one object and one cache in each process, and never the program of another function."""

import copy
import functools
import gc
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from anyshape import checkpoint, grad, hessian, jit, value_and_grad, vmap
from anyshape.errors import MissingPackageError, ProgramFileError
from anyshape.support.packages import Package
from anyshape.transforms import function_pickle
from tests.transforms import travelling_script
from tests.transforms.travelling_script import CALLS

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(3.0)


def digest_of(function):
    return function.__reduce__()[1][0]


def forget():
    """Forget which functions this process has, as if it was another one."""
    function_pickle._ALIVE.clear()
    function_pickle._LOADED.clear()


# -- other processes


def run_script(tmp_path, *args):
    """Run the script whose functions travel; return its report."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRACES": str(tmp_path / "traces")}
    command = [sys.executable, travelling_script.__file__, *args]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", ["spawn", pytest.param("loky", marks=pytest.mark.slow)])
def test_functions_that_carry_their_programs_are_not_traced_elsewhere(tmp_path, how):
    report = run_script(tmp_path, how, "programs")
    assert (report.pop("traces"), report.pop("traces of one process") > 10) == (0, True)
    assert report.pop("processes") and report == {name: [True, 1] for name in CALLS}


@pytest.mark.parametrize("how", [pytest.param("spawn", marks=pytest.mark.slow), "loky"])
def test_each_process_makes_one_object_and_traces_it_once(tmp_path, how):
    """Make 180 calls of 15 functions of a script: closures, lambdas, methods, decorated and transformed functions.

    A payload sets the attributes of a class of the script again. So methods are traced once for each payload that holds
    their class, and there are five.
    """
    report = run_script(tmp_path, how)
    assert report.pop("traces") <= (report.pop("traces of one process") + 4 * 4) * report.pop("processes")
    assert report == {name: [True, 1] for name in CALLS}


# -- one process


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_a_function_that_lives_is_found_again(name, dumps):
    function, _ = CALLS[name]
    function_pickle._ALIVE.clear()  # an equal function of another test may live
    assert pickle.loads(dumps(function)) is function


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_made_once_and_pickles_as_it_came(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACES", str(tmp_path / "traces"))
    function, args = CALLS[name]
    data = pickle.dumps(function)
    if function is travelling_script.decorated or b"_load" not in data:
        pytest.skip("a module has it by name")
    forget()
    again = pickle.loads(data)
    assert again is not function and pickle.loads(data) is again
    assert pickle.dumps(again) == data
    for y, expected in zip(leaves(again(*args)), leaves(function(*args)), strict=True):
        np.testing.assert_array_equal(y, expected)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def test_200_tasks_make_one_trace():
    traces = []

    def loss(w, x):
        traces.append(1)
        return np.sum(np.tanh(x * w))

    step = value_and_grad(loss)
    data = cloudpickle.dumps((lambda w, x: step(w, x)))
    forget()
    results = [pickle.loads(data)(X[:2], np.ones((n, 2))) for n in range(200)]
    assert len(results) == 200 and traces == []
    loaded = list(function_pickle._LOADED.values())
    assert [f.cache_info().traces for f in loaded] == [1]


def test_the_latest_functions_are_kept():
    data = [pickle.dumps(jit(lambda x, k=k: x * k)) for k in range(function_pickle.LATEST + 6)]
    forget()
    others = len(function_pickle._ALIVE)  # that other tests hold
    ids = [id(pickle.loads(d)) for d in data]
    gc.collect()  # functions that are dropped are in cycles
    assert len(function_pickle._LOADED) == len(function_pickle._ALIVE) - others == function_pickle.LATEST
    assert [id(pickle.loads(d)) for d in data[6:]] == ids[6:]


def test_two_threads_get_one_object():
    data = [pickle.dumps(jit(lambda x, k=k: x * k)) for k in range(20)]
    for d in data:
        forget()
        barrier = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _, d=d, barrier=barrier: (barrier.wait(), pickle.loads(d))[1], range(4)))
        assert len(set(map(id, made))) == 1


# -- what makes a function another one


def closure(value):
    return jit(lambda x: x * value)


def defaulted(value):
    return jit(lambda x, k=value: x * k)


def keyword(value):
    return jit(lambda x, *, k=value: x * k)


def nested(value):
    inner = lambda x: x * value
    return grad(lambda x: np.sum(inner(x) ** 2))


def bound(value):
    model = travelling_script.Model(2.0)
    model.factor = value
    return model.step


FACTORIES = {
    "a closure": closure,
    "a default": defaulted,
    "a keyword default": keyword,
    "the closure of a helper": nested,
    "a partial function": lambda v: jit(functools.partial(np.multiply, v)),
    "the attribute of an object": bound,
    "a callable object": lambda v: jit(functools.partial(types.SimpleNamespace(k=v).__eq__, v)),
    "the closure of a derivative": lambda v: hessian(lambda x: np.sum(x**2 * v)),
    "the closure of a checkpoint": lambda v: checkpoint(lambda x: x * v),
    "a wrapped function": lambda v: jit(functools.wraps(closure)(lambda x: x * v)),
    "the closure of a jitted helper": lambda v: vmap(closure(v)),
}
VALUES = [1, 1.0, True, 2.0, -0.0, 0.0, np.float32(1), np.ones(3), np.ones(3, np.float32), np.arange(3.0), 1j, (1, 2)]


@pytest.mark.parametrize("name", FACTORIES)
def test_every_value_makes_another_digest(name):
    digests = [digest_of(FACTORIES[name](value)) for value in VALUES]
    assert len(set(digests)) == len(VALUES)


def test_options_and_transforms_make_other_digests():
    def f(x, k=1):
        return np.sum(x * k)

    made = [
        jit(f), grad(f), value_and_grad(f), grad(f, argnums=1), hessian(f), vmap(f), vmap(f, in_axes=1), jit(grad(f)),
        jit(f, name="g"), jit(f, static_argnums=1), jit(f, static_argnames="k"), jit(f, max_bytes=100), checkpoint(f),
        jit(f, dynamic_shapes={"x": "n"}), jit(f, on_decision="error"), grad(jit(f)), value_and_grad(f, has_aux=True),
    ]  # fmt: skip
    assert len({digest_of(g) for g in made}) == len(made)


def test_code_makes_another_digest():
    bodies = ["x * 2", "x * 3", "x + 2", "np.sin(x)", "np.cos(x)", "x * 2.0", "x if x.ndim in (1, 2) else 2 * x"]
    functions = [eval(f"lambda x: {body}", {"np": np}) for body in bodies]
    assert len({digest_of(jit(f)) for f in functions}) == len(bodies)


def test_a_closure_that_changes_is_pickled_as_it_is():
    factor = 2.0
    step = jit(lambda x: x * factor)
    before = pickle.dumps(step)
    assert pickle.loads(before) is step
    factor = 5.0
    after = pickle.dumps(step)
    assert pickle.loads(after) is step
    np.testing.assert_array_equal(pickle.loads(before)(X), X * 2)
    np.testing.assert_array_equal(step(X), X * 5)
    forget()
    np.testing.assert_array_equal(pickle.loads(after)(X), X * 5)


def test_an_array_that_changes_in_place_is_pickled_as_it_is():
    weights = np.ones(10_000)
    step = jit(lambda x: x * weights)
    before = pickle.dumps(step)
    weights[:] = 3.0
    after = pickle.dumps(step)
    forget()
    assert [float(pickle.loads(d)(np.ones(10_000))[0]) for d in (before, after)] == [1.0, 3.0]


def test_an_object_that_changes_is_pickled_as_it_is():
    model = travelling_script.Model(2.0)
    before = pickle.dumps(model.step)
    assert pickle.loads(before) is model.step
    model.factor = np.full(3, 7.0)
    after = pickle.dumps(model.step)
    forget()
    factors = [pickle.loads(d)._bound_from[1].factor[0] for d in (before, after)]
    assert factors == [2.0, 7.0]


def test_an_object_does_not_carry_its_jitted_methods():
    model = travelling_script.Model(2.0)
    bare = len(pickle.dumps(model))
    method = model.step
    assert len(pickle.dumps(model)) < bare + 200
    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        other.factor = np.zeros(3)
        assert other.step is other.step is not method
        assert other.step._bound_from[1] is other
    assert model.step is method


def test_an_edited_module_gives_another_function(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "edited_module.py"
    file.write_text("def f(x):\n    return x * 2\n")
    module = importlib.import_module("edited_module")
    data = pickle.dumps(jit(module.f))
    first = pickle.loads(data)
    np.testing.assert_array_equal(first(X), X * 2)
    file.write_text("def f(x):\n    return x * 2 + 1  # edited\n")
    module = importlib.reload(module)
    again = pickle.loads(pickle.dumps(jit(module.f)))
    assert again is not first
    np.testing.assert_array_equal(again(X), X * 2 + 1)


# -- what cannot travel


def without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setattr(function_pickle, "cloudpickle", Package("cloudpickle", extra="cluster"))


def test_without_cloudpickle_the_error_says_what_to_install(monkeypatch):
    data = pickle.dumps(closure(2.0))
    without_cloudpickle(monkeypatch)
    with pytest.raises(MissingPackageError, match=r"pip install 'anyshape\[cluster\]'"):
        pickle.dumps(closure(2.0))
    forget()
    with pytest.raises(MissingPackageError, match="cloudpickle is not installed"):
        pickle.loads(data)


def test_without_cloudpickle_functions_of_modules_travel(monkeypatch):
    without_cloudpickle(monkeypatch)
    step = value_and_grad(travelling_script.loss)
    data = pickle.dumps(step)
    assert pickle.loads(data) is step
    forget()
    assert pickle.loads(data) is not step


def test_a_closure_that_no_pickle_holds_is_named():
    lock = threading.Lock()
    step = jit(lambda x: x * (1 if lock else 2), name="locked")
    with pytest.raises(pickle.PicklingError, match=r"locked cannot be pickled: .*lock.*\n  pass it as an argument"):
        pickle.dumps(step)


@pytest.mark.parametrize("position", range(0, 1000, 37))
def test_a_damaged_payload_is_refused(position):
    make, (digest, payload) = closure(np.arange(50.0)).__reduce__()
    forget()
    damaged = bytearray(payload)
    damaged[position % len(payload)] ^= 1 << position % 8
    for data in (bytes(damaged), payload[:position], payload + b"x", "text", None):
        with pytest.raises(ProgramFileError, match="the pickle of a jitted function: is damaged"):
            make(digest, data)


def test_a_part_of_a_payload_alone_is_refused():
    with pytest.raises(ProgramFileError, match="damaged"):
        function_pickle._reference(0)
