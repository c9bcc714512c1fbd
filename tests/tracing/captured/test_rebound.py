"""Names that a function rebinds: results of a jitted function, written where a call succeeds; errors elsewhere."""

import collections
import copy
import dataclasses
import functools
import sys
import threading
import types

import numpy as np
import pytest

import anyshape
from anyshape.errors import CheckError, MutationError

X = np.ones(3)
total = np.zeros(3)


@dataclasses.dataclass
class Layer:
    w: object


class Slotted:
    __slots__ = ("__dict__", "w")


class Net:
    """An object with methods that rebind attributes of each kind, beside the same with lists and numbers."""

    def __init__(self):
        self.w, self.n, self.t, self.first, self.table = np.ones(3), 0, 1.0, True, None
        self.layer, self.slotted, self._p = Layer(np.ones(3)), Slotted(), 1.0
        self.slotted.w = np.ones(3)

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = 2 * value

    def step(self, x):
        self.w = self.w - 0.1 * x
        return self.w.sum()

    def counts(self, x):
        self.n += 1
        self.t *= 0.5
        return x * self.n + self.t

    def nested(self, x):
        self.layer.w = self.layer.w * x
        self.slotted.w = self.slotted.w + self.layer.w
        return self.slotted.w

    def by_property(self, x):
        self.p = self.p + x.sum()
        return self.p * x

    def by_setattr(self, x):
        setattr(self, "w", self.w + x)  # noqa: B010 (the text is the point)
        return self.w

    def makes(self, x):
        self.last = {"mean": x.mean(), "parts": [x, 2 * x]}
        self.size = x.shape[0]
        return x

    def flag(self, x):
        if self.first:
            self.first = False
            return x
        return 10 * x

    def lazy(self, x):
        if self.table is None:
            self.table = np.arange(3.0)
        return x + self.table

    def on_a_path(self, x):
        if x.sum() > 0:
            self.best = 2 * x
        return x

    def removes(self, x):
        if hasattr(self, "tmp"):
            del self.tmp
            return x
        self.tmp = x
        return -x


METHODS = [name for name, value in vars(Net).items() if callable(value) and not name.startswith("__")]


def held(x):
    """Return attributes as plain data, without jitted methods."""
    if isinstance(x, dict):
        return {k: held(v) for k, v in x.items() if not str(k).startswith("<")}
    if isinstance(x, (Layer, Net, Slotted)):
        return held(x.__dict__) | ({"w": held(x.w)} if isinstance(x, Slotted) else {})
    return [held(v) for v in x] if isinstance(x, (list, tuple)) else str(np.round(np.asarray(x, float), 9))


@pytest.mark.parametrize("name", METHODS)
def test_calls_of_a_jitted_method_are_those_of_the_method(name):
    ours, theirs = Net(), Net()
    jitted = anyshape.jit(getattr(ours, name))
    for i in range(6):
        x = (X * (i - 1))[: 3 if i < 4 else 1]
        np.testing.assert_allclose(jitted(x), getattr(theirs, name)(x))
        assert str(held(ours)) == str(held(theirs))
        assert type(ours.n) is int and type(ours.t) is float


@pytest.mark.parametrize("name", ["step", "counts", "nested", "by_setattr"])
def test_values_that_change_with_each_call_cause_no_trace(name):
    net = Net()
    jitted = anyshape.jit(getattr(net, name))
    for _ in range(4):
        jitted(X)
    net.w, net.n = np.zeros(3), 10
    jitted(X)
    assert jitted.cache_info().traces == 1


def add(x):
    global total  # noqa: PLW0603 (a global is the point)
    total = total + x


def test_names_of_modules_and_closures_are_results():
    count = 0.0

    def f(x):
        nonlocal count
        add(x)
        count = count + x.sum()
        return total * count

    jitted = anyshape.jit(f)
    np.testing.assert_array_equal(jitted(X), 3 * X)
    np.testing.assert_array_equal(jitted(X), 2 * 6 * X)
    assert count == 6.0
    traces = jitted.cache_info().traces
    jitted(X)
    assert jitted.cache_info().traces == traces
    np.testing.assert_array_equal(total, 3 * X)


def test_an_outer_function_has_the_results_of_an_inner_method():
    class Inner(Net):
        step = anyshape.jit(Net.step)

    inner = Inner()
    outer = anyshape.jit(lambda x: inner.step(x) + inner.step(x))
    np.testing.assert_allclose([outer(X), outer(X)], [2.7 + 2.4, 2.1 + 1.8])
    np.testing.assert_allclose(inner.step(X), 1.5)
    other = copy.deepcopy(inner)
    np.testing.assert_allclose([other.step(X), inner.step(X)], [1.2, 1.2])


class Failing(Net):
    def while_traced(self, x):
        self.w, self.n, self.first = x, 5, "no"
        raise ValueError("no")

    def in_a_run(self, x):
        self.w, self.n, self.first = x, 5, "no"
        anyshape.check(x.sum() < 0, "negative")
        return x


@pytest.mark.parametrize(("name", "error"), [("while_traced", ValueError), ("in_a_run", CheckError)])
def test_a_call_that_fails_writes_nothing(name, error):
    net = Failing()
    jitted, before = anyshape.jit(getattr(net, name)), held(net)
    for _ in range(2):
        with pytest.raises(error):
            jitted(X)
        assert held(net) == before


def in_a_loop(f):
    return anyshape.jit(lambda x: anyshape.fori_loop(0, 2, lambda i, c: c + f(x), 0.0))


ELSEWHERE = {
    "grad": anyshape.grad, "vmap": lambda f: anyshape.vmap(lambda x: f(x)), "loop": in_a_loop,
    "export": anyshape.export, "trace": anyshape.trace, "grad in jit": lambda f: anyshape.jit(anyshape.grad(f)),
    "hessian": anyshape.hessian, "scan": lambda f: anyshape.jit(lambda x: anyshape.map(lambda r: f(r), x)),
    "cond": lambda f: anyshape.jit(lambda x: anyshape.cond(x[0] > 0, f, lambda x: x.sum(), x)),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_elsewhere_a_name_that_is_rebound_is_an_error_with_the_line(name):
    net = Net()
    with pytest.raises(MutationError, match=r"\.w = \.\.\.: .* at .*test_rebound\.py:\d+") as caught:
        ELSEWHERE[name](net.step)(X)
    assert caught.value.where.line == Net.step.__code__.co_firstlineno + 1
    assert held(net) == held(Net())


def put_in_a_list(x, box=[]):  # noqa: B006 (a default that changes is the point)
    box.append(x * 2)
    return x


def made_containers():
    here = {"list": [], "dict": {"k": 0.0}, "set": set(), "deque": collections.deque([1]), "class": type("C", (), {})}
    here["object"], here["partial"] = types.SimpleNamespace(), types.SimpleNamespace()

    def keeps_in(kind, x):
        changes = {
            "list": lambda y: here["list"].append(y), "dict": lambda y: here["dict"].update(k=[y]),
            "set": lambda y: here["set"].add(Layer(y).__init__), "deque": lambda y: here["deque"].append((1, y)),
            "class": lambda y: setattr(here["class"], "w", y),
            "object": lambda y: setattr(here["object"], "w", [Slotted(), lambda: y]),
            "partial": lambda y: setattr(here["partial"], "f", functools.partial(max, y)),
        }  # fmt: skip
        changes[kind](2 * x)
        return x

    return here, keeps_in


@pytest.mark.parametrize("kind", ["list", "dict", "set", "deque", "class", "object", "partial"])
def test_a_container_gets_no_traced_value(kind):
    here, keeps_in = made_containers()
    before = repr({k: vars(v) if k in ("class", "object", "partial") else v for k, v in here.items()})
    for _ in range(2):
        with pytest.raises(MutationError, match=r"at .*test_rebound\.py:\d+"):
            anyshape.jit(functools.partial(keeps_in, kind))(X)
    assert before == repr({k: vars(v) if k in ("class", "object", "partial") else v for k, v in here.items()})


def test_a_default_gets_no_traced_value():
    with pytest.raises(MutationError, match="outside"):
        anyshape.jit(put_in_a_list)(X)
    assert put_in_a_list.__defaults__ == ([],)


def test_threads_that_rebind_leave_arrays():
    nets = [Net() for _ in range(4)]
    jitted = [anyshape.jit(net.step) for net in nets]
    threads = [threading.Thread(target=lambda f=f: [f(X) for _ in range(20)]) for f in jitted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for net in nets:
        np.testing.assert_allclose(net.w, 1 - 2.0 * X, atol=1e-12)


class Shared:
    """An object with attributes that two methods rebind together."""

    def __init__(self):
        self.a, self.b, self.k = np.zeros(2), np.zeros(2), 0

    def step(self, x):
        self.a = self.a + x
        self.k += 1
        self.b = self.b + x
        return self.a - self.b, self.k

    def back(self, x):
        self.a, self.b, self.k = self.a - x, self.b - x, self.k + 1
        return self.a - self.b, self.k


def test_threads_that_rebind_one_object_mix_no_calls():
    """Updates may be lost, as in Python. Values of a trace are seen by no call, and what a call writes is together."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(3):
            check_threads_of_one_object()
    finally:
        sys.setswitchinterval(interval)


def check_threads_of_one_object():
    shared, results = Shared(), []
    jitted, start = [anyshape.jit(shared.step), anyshape.jit(shared.back)], threading.Barrier(4)

    def work(f):
        start.wait()
        results.extend(f(np.full(n, 1.0)) for n in (2, 1, 2, 1, 2, 2))

    threads = [threading.Thread(target=work, args=(f,)) for f in jitted * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 24 and not any(difference.any() for difference, _ in results)
    assert type(shared.k) is int and type(shared.a) is type(shared.b) is np.ndarray
    np.testing.assert_array_equal(shared.a, shared.b)
    for f, move in zip(jitted, (1, -1), strict=True):  # the programs hold no value of another thread
        a, k = shared.a, shared.k
        f(np.ones(2))
        np.testing.assert_array_equal(shared.a, a + move)
        assert shared.k == k + 1
