"""Digests of captured state: every change of the table makes another one, and equal states make one in each process."""

import collections
import functools
import os
import pickle
import subprocess
import sys
import threading
import types
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from anyshape import grad, jit, value_and_grad
from anyshape.tracing.captured.digest import state_digest
from anyshape.tracing.captured.watch import watch
from tests.tracing.captured.case import CASES, Scale
from tests.tracing.captured.test_changes import X

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("row", [row for row in CASES if not row.listed], ids=lambda row: row.name)
def test_each_change_makes_another_digest_or_none(row, monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    steps = row.make()
    function = next(steps)
    jit(function)(X)  # fills what the function itself fills, such as caches
    before, again = state_digest(watch(function)), state_digest(watch(function))
    assert before == again
    next(steps, None)
    after = state_digest(watch(function))
    assert before is None or after is None or before.total != after.total
    steps.close()


# -- values that differ


def reading(value):
    return lambda x: x * getattr(value, "value", value)


def itself():
    items = [1.0]
    items.append(items)
    return items


Pair, Couple = (collections.namedtuple(name, "a b") for name in ("Pair", "Couple"))
VALUES = [
    1, 1.0, True, -0.0, 0.0, 1j, "1", b"1", None, ..., np.float32(1), np.float64(1), np.int64(1), (1, 2), (1, (2,)),
    [1, 2], [1, [2]], {1, 2}, frozenset([1]), {"a": 1}, {"a": 1.0}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1},
    Pair(1, 2), Couple(1, 2), range(3), slice(3), np.ones(3), np.ones((3, 1)), np.ones(3, np.float32), np.zeros(3),
    np.ones((40, 40)), np.asfortranarray(np.ones((40, 40))), np.zeros((40, 40)), np.array([1, "a"], object),
    np.array([1, "b"], object), np.dtype("f4"), np.dtype("f8"), Scale(1.0), Scale(2.0), Scale(True), Scale, np.sin,
    np.cos, np.sum, np.mean, len, max, abs, [].append, [1].append, (1, 2).index, functools.partial(np.multiply, 2),
    functools.partial(np.multiply, 3), functools.partial(np.add, 2), reading(1.0), reading(2), lambda x: x + 1,
    lambda x: x + 2, lambda x, k=2: x + k, lambda x, k=3: x + k, grad(np.sum), value_and_grad(np.sum), jit(np.sum),
    jit(np.sum, max_bytes=9), grad(np.prod), np.random.default_rng(0), np.random.default_rng(1), bytearray(b"a"),
    bytearray(b"b"), types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), collections.deque([1]), np, os, Path("a"),
    Path("b"), itself(), types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2}), "a".join, "b".join,
]  # fmt: skip


def test_no_two_values_have_one_digest():
    digests = [state_digest(watch(reading(value))) for value in VALUES]
    assert None not in digests
    assert len({d.total for d in digests}) == len(VALUES)


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_a_copy_of_a_value_has_its_digest(value):
    """Compare a function with its pickle: its globals, cells and classes are other objects."""
    function = reading(value)
    try:
        again = pickle.loads(cloudpickle.dumps(function))
    except TypeError:
        pytest.skip("no pickle holds it")
    assert state_digest(watch(again)).total == state_digest(watch(function)).total


def test_state_that_cannot_be_read_has_no_digest():
    for value in (threading.Lock(), (i for i in range(3)), np.array([[1, "a"]] * 2, object)[:, :1], open):
        digest = state_digest(watch(reading(value)))
        assert (digest is None) == (value is not open)


def test_the_first_difference_is_named():
    one, other = (state_digest(watch(reading({"a": [1.0, value]}))) for value in (2.0, 3.0))
    assert one.first_difference(other) == "value['a']"


PROGRAM = """
import numpy as np
from anyshape import grad
from anyshape.tracing.captured.digest import state_digest
from anyshape.tracing.captured.watch import watch
import tests.tracing.captured.case as case
class Model:
    rate, names = 0.5, ("b", "a")
    def __init__(self): self.w, self.parts = np.ones((40, 40)), {"k": [1.0, np.arange(3.0)]}
    def helper(self, x): return case.scaled_by(case.Scale(2.0), x) * self.rate
    def __call__(self, x): return self.helper(x) @ self.w + self.parts["k"][0] + grad(np.sum)(x)
print(state_digest(watch(Model())).total)
"""


def test_every_process_has_one_digest():
    digests = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1


def test_the_script_that_runs_is_the_users_in_every_process(monkeypatch):
    """In a worker of a pool, the file of `__main__` is one of the pool's package."""
    pool = types.ModuleType("__main__")
    pool.__file__ = "/usr/lib/python3/site-packages/pool/worker.py"
    monkeypatch.setitem(sys.modules, "__main__", pool)
    space = {"__name__": "__main__", "scale": 2.0, "np": np}
    exec("def f(x, y):\n    return x * y * scale", space)
    step = jit(functools.partial(space["f"], 1.0))
    assert step(X)[1] == 4.0
    space["scale"] = 3.0
    assert step(X)[1] == 6.0
