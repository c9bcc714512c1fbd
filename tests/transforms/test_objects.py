"""Arguments that are objects: each call gives what plain Python gives for the objects as they are then."""

import enum
import functools
import gc
import logging
import math
import pickle
import sys
import threading
import types
import weakref
import xml.etree.ElementTree as ElementTree
from collections import OrderedDict, namedtuple

import attrs
import numpy as np
import pytest

from anyshape import grad, jit, value_and_grad, vjp, vmap
from anyshape.errors import ArgumentError
from anyshape.transforms import sharing

X = np.array([0.5, 1.5])
LARGE = 1000  # elements, which are more bytes than captured state compares by content


class Model:
    def __init__(self, w, rate=1.0, **others):
        self.w, self.rate = w, rate
        vars(self).update(others)

    def loss(self, x):
        return np.sum(x * x * self.w) * self.rate


class Called(Model):
    def __call__(self, x):
        return self.loss(x)


class Slotted:
    __slots__ = ("rest", "w")

    def __init__(self, w):
        self.w = w


class Same(Called):
    """Says that it equals all others."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


@attrs.define
class Defined:
    w: np.ndarray
    note: str = attrs.field(default="a", eq=False)


@attrs.define(slots=False)
class WithDict:
    w: np.ndarray
    k: float = 1.0


class Pair(namedtuple("Pair", "a b")):
    def product(self):
        return self.a * self.b


class Rate(enum.Enum):
    SLOW = 1.0
    FAST = 2.0


class Table:
    """Stands for a data frame: an array of numbers with names of columns."""

    def __init__(self, **columns):
        self.data = columns

    columns = property(lambda self: list(self.data))

    def __array__(self, dtype=None, copy=None):
        return np.stack([np.asarray(x) for x in self.data.values()], axis=1)

    def __getitem__(self, name):
        return self.data[name]


class Caching(Model):
    """Keeps a cache that is left out of its state."""

    def __init__(self, w):
        super().__init__(w)
        self._cache, self._hidden = {}, w

    def __getstate__(self):
        return {"w": self.w, "rate": self.rate, "hidden": self._hidden}

    def total(self):
        self._cache[len(self._cache)] = float(self._hidden.sum())
        return float(self._hidden.sum())


def attributes(kind=Model):
    m = kind(X.copy())
    yield m
    for m.w in (2 * X, X.astype(np.float32), 3.0, np.ones((3, 2))):
        yield m
    m.w[0, 0] = 7.0
    yield from (m, kind(5 * X))


def rates():
    m = Model(X)
    for m.rate in (1.0, 2.0, 3, True, 2.0):
        yield m
    yield Model(X, 9.0)
    m.w, m.loss = 4 * X, lambda x: np.sum(x)
    yield m


def large(kind=Model):
    """Change an array that the function reads while it is traced."""
    m = kind(np.ones(LARGE))
    yield m
    for value in (2.0, 3.0):
        m.w[-1] = value
        yield m
    yield kind(np.ones(LARGE))


def attributes_by_text():
    m = Model(X, k=2.0)
    for m.k in (2.0, 3.0, 4.0):
        yield m
    del m.k
    yield m


def tables():
    t = Table(a=X.copy(), b=3 * X)
    yield t
    t.data["a"][0] = 9.0
    yield t
    t.data["t"] = np.array(["u", "v"])
    yield t
    t.data["b"] = -X
    yield t
    yield Table(b=X, a=2 * X)


def elements():
    e = ElementTree.Element("e", k="2.0")
    yield e
    e.set("k", "3.0")
    yield e
    yield ElementTree.Element("e", k="3.0")


def closure(v):
    return lambda x: np.sum(x * x * v)


def modules():
    m = types.ModuleType("a_module_of_settings")
    for m.rate in (2.0, 3.0):
        yield m
    yield math


def sets():
    s = {1, 2}
    yield s
    s.add(3)
    yield s
    yield frozenset({1})


def of_dict():
    d = OrderedDict2(w=X)
    yield d
    d["w"] = 2 * X
    yield d
    d["k"] = 1.0
    yield d


class OrderedDict2(OrderedDict):
    pass


def nested():
    m = Model(X, inner=Model(2 * X, items=[X, {"k": X}]))
    yield m
    m.inner.items[1]["k"] = 5 * X
    yield m
    m.inner.items.append(X)
    yield m
    m.inner.w = m.w
    yield m
    m.w[:] = 1.0
    yield m


def containers(wrap):
    for m in attributes():
        yield wrap(m)


def use_w(x, o):
    return np.sum(x * x * o.w)


def use_loss(x, o):
    return o.loss(x)


# How a function uses an object, and the object in its states, one after another.
KINDS = {
    "attributes": (use_w, attributes),
    "a method": (use_loss, rates),
    "a callable object": (lambda x, o: o(x), lambda: attributes(Called)),
    "a value that Python reads in a callable object": (lambda x, o: np.sum(x) * float(o.w[-1]), lambda: large(Called)),
    "slots": (use_w, lambda: attributes(Slotted)),
    "attrs with slots": (use_w, lambda: attributes(Defined)),
    "a field that does not compare": (
        lambda x, o: np.sum(x * o.w) * len(o.note), lambda: [Defined(X), Defined(X, "bc"), Defined(X, "d")]
    ),
    "attrs": (lambda x, o: np.sum(x * x * o.w) * o.k, lambda: attributes(WithDict)),
    "an object that equals all others": (use_w, lambda: attributes(Same)),
    "a callable object that equals all others": (lambda x, o: o(x), lambda: attributes(Same)),
    "a value that Python reads": (lambda x, o: np.sum(x) * float(o.w[-1]), large),
    "a value that Python reads in slots": (lambda x, o: np.sum(x) * float(o.w[-1]), lambda: large(Slotted)),
    "a decision": (lambda x, o: np.sum(x * x) if np.sum(o.w) > 2 else np.sum(x), attributes),
    "an attribute by text": (lambda x, o: np.sum(x) * getattr(o, "".join("k"), 7.0), attributes_by_text),
    "a column of a table": (lambda x, o: np.sum(x * x * o["a"]), tables),
    "a table as an array": (lambda x, o: np.sum(np.asarray(o)[:, 0] * x), lambda: [Table(a=X), Table(a=3 * X, b=X)]),
    "a cache": (lambda x, o: np.sum(x) * o.total(), lambda: large(Caching)),
    "memory of C": (lambda x, o: np.sum(x) * float(o.get("k")), elements),
    "functions": (lambda x, o: o(x), lambda: map(closure, (X, 2 * X, 2.0, 3.0, np.ones((2, 2))))),
    "partials": (lambda x, o: o(x), lambda: [functools.partial(use_w, o=m) for m in attributes()]),
    "methods": (lambda x, o: o(x), lambda: [Model(w).loss for w in (X, 2 * X, 2.0, 3.0)]),
    "modules": (lambda x, o: np.sum(x) * (o.rate if hasattr(o, "rate") else o.sqrt(2.0)), modules),
    "members of enums": (lambda x, o: np.sum(x) * o.value, lambda: [Rate.SLOW, Rate.FAST, Rate.SLOW]),
    "texts": (lambda x, o: np.sum(getattr(np, o)(x)), lambda: ["sin", "cos", "sin"]),
    "none": (lambda x, o: np.sum(x) if o is None else o.loss(x), lambda: [None, Model(X), None, Model(2 * X)]),
    "named tuples": (lambda x, o: np.sum(x * o.product()), lambda: [Pair(X, 1.0), Pair(2 * X, 2.0), Pair(X, X)]),
    "sets": (lambda x, o: np.sum(x) * len(o), sets),
    "a subclass of dict": (lambda x, o: np.sum(x * x * o["w"]) * len(o), of_dict),
    "objects in objects": (
        lambda x, o: np.sum(x * o.w + o.inner.w * sum(o.inner.items[:1]) * o.inner.items[1]["k"] * len(o.inner.items)),
        nested,
    ),
    "objects in a list": (lambda x, o: use_w(x, o[0]), lambda: containers(lambda m: [m])),
    "objects beside arrays": (lambda x, o: use_w(x, o["m"]) * o["k"], lambda: containers(lambda m: {"m": m, "k": 2.0})),
    "one object twice": (lambda x, o: use_w(x, o[0]) + use_w(x, o[1]), lambda: containers(lambda m: (m, m))),
}  # fmt: skip


def of_call(g, call):
    return lambda x, o: call(g, x, o)


TRANSFORMS = {
    "jit": jit,
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jit of grad": lambda f: jit(grad(f)),
    "vmap of grad": lambda f: of_call(vmap(grad(f), in_axes=(0, None)), lambda g, x, o: g(np.stack([x, 2 * x]), o)),
    "another argument": lambda f: of_call(grad(lambda o, x: f(x, o), argnums=1), lambda g, x, o: g(o, x)),
    "keywords": lambda f: of_call(grad(jit(lambda x, *, o: f(x, o))), lambda g, x, o: g(x, o=o)),
}  # fmt: skip


def capturing(use, o):
    return lambda x: use(x, o)


def leaves(result):
    return [np.asarray(x) for x in (result if type(result) is tuple else (result,))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_gives_what_the_objects_hold_then(kind):
    use, states = KINDS[kind]
    logging.disable(logging.WARNING)
    start = list(KINDS).index(kind)  # transforms take turns: each meets half of the kinds
    names = ["jit", *[name for i, name in enumerate(TRANSFORMS) if (i + start) % 2]]
    functions = {name: TRANSFORMS[name](use) for name in names}
    for i, o in enumerate(states()):
        value, gradient = leaves(value_and_grad(capturing(use, o))(X))
        np.testing.assert_allclose(value, use(X, o), rtol=1e-6)
        twice = np.stack([gradient, *leaves(grad(capturing(use, o))(2 * X))])
        expected = {"jit": [value], "value_and_grad": [value, gradient], "vmap of grad": [twice]}
        for name, f in functions.items():
            for _ in range(2):
                for x, y in zip(leaves(f(X, o)), expected.get(name, [gradient]), strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=f"{name}, state {i}")
    logging.disable(logging.NOTSET)


SHARED = {
    "attributes": (use_w, lambda i: Model(X * i)),
    "slots": (use_w, lambda i: Slotted(X * i)),
    "attrs": (use_w, lambda i: Defined(X * i)),
    "sizes": (lambda x, o: np.sum(x) * np.sum(o.w), lambda i: Model(np.ones(i))),
    "functions": (lambda x, o: o(x), lambda i: closure(X * i)),
    "partials": (lambda x, o: o(x), lambda i: functools.partial(np.multiply, X * i)),
    "objects in objects": (lambda x, o: np.sum(x * o.inner.w), lambda i: Model(X, inner=Model(X * i))),
    "in containers": (lambda x, o: use_w(x, o[0]) + use_w(x, o[1]["m"]), lambda i: (Model(X), {"m": Model(X * i)})),
}


@pytest.mark.parametrize("kind", SHARED)
def test_new_objects_need_no_trace(kind):
    use, make = SHARED[kind]
    f = jit(lambda x, o: use(x, o))
    for i in range(1, 5):
        np.testing.assert_allclose(f(X, make(i)), use(X, make(i)))
        assert f.cache_info()[:2] == (1, i - 1)


def test_numbers_become_arguments_once_they_differ():
    f = jit(use_loss)
    for i in range(5):
        f(X, Model(X, i + 0.5))
    assert f.cache_info()[:2] == (2, 3)


def test_functions_and_objects_made_anew_share_programs_together():
    def make(data):
        return grad(lambda x, m: np.sum(x * x * m.w) * np.sum(data))

    for i in range(4):
        f = make(X * i)
        np.testing.assert_allclose(f(X, Model(X + i)), 2 * X * (X + i) * np.sum(X * i))
        assert f.cache_info().traces == (not i)


def test_one_array_in_two_places_and_writes_between_calls():
    f = jit(lambda x, o: np.sum(x * o.w) + np.sum(o.v))
    first, second = X.copy(), X.copy()
    both = Model(first)
    for both.v in (first, first, second):
        first[0] += 1.0
        np.testing.assert_allclose(f(X, both), np.sum(X * both.w) + np.sum(both.v))


def test_an_object_that_is_differentiated_or_mapped_is_named():
    for transform, text in (
        (lambda f: grad(f, 1), r"grad\(use_w\): o is of type Model, not an array\n  leave it out of argnums"),
        (vmap, r"vmap\(use_w\): o is of type Model, not an array\n  give it None in in_axes"),
        (lambda f: lambda *args: vjp(f, *args), r"vjp\(use_w\): o is of type Model, not an array"),
    ):
        for _ in range(2):
            with pytest.raises(ArgumentError, match=text):
                transform(use_w)(X, Model(X))


def test_iterators_and_tables_of_texts_are_refused_where_they_are_arrays():
    with pytest.raises(ArgumentError, match=r"o is of type list_iterator, not an array\n  pass a list or a tuple"):
        jit(use_w)(X, iter([1.0]))
    with pytest.raises(ArgumentError, match="t has dtype <U32"):
        grad(lambda t: np.sum(t["a"]))(Table(a=X, t=np.array(["u", "v"])))


def test_errors_are_those_of_the_function():
    for _ in range(2):
        with pytest.raises(AttributeError, match="'Model' object has no attribute 'v'"):
            jit(lambda x, o: x * o.v)(X, Model(X))
        with pytest.raises(TypeError, match="unsupported operand"):
            jit(lambda x, o: o * 2)(X, Model(X))


def test_objects_are_garbage_after_their_use():
    class Part:
        pass

    references = []
    for f in (jit(use_w), jit(lambda x, o: np.sum(x) * float(o.w[0]))):
        for _ in range(40):
            m = Model(np.ones(2), part=Part())
            f(X, m)
            references.append(weakref.ref(m))
        m = None
    gc.collect()
    assert sum(reference() is not None for reference in references) <= 40


def test_threads_use_one_function_with_objects_of_their_own():
    failures = []
    f = grad(use_w)

    def work(seed):
        for i in range(40):
            w = np.arange(i % 5) + seed
            if not np.array_equal(f(np.ones(i % 5), Model(w)), 2 * w):
                failures.append((seed, i))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(float(s),)) for s in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures


@pytest.mark.parametrize("transform", [jit, grad])
def test_functions_that_were_called_with_objects_pickle(transform):
    f = transform(use_w)
    expected = [np.asarray(f(X, Model(w))).tolist() for w in (X, 2 * X)]
    for sent in (f, f.with_programs()):
        received = pickle.loads(pickle.dumps(sent))
        assert [np.asarray(received(X, Model(w))).tolist() for w in (X, 2 * X)] == expected


def test_explain_shows_the_program_that_serves():
    f = jit(use_w)
    f(X, Model(X))
    text = str(f.explain_call(X, Model(2 * X)))
    assert "1 program; 1 trace" in text and "o.w" in text
    assert len(f.programs()) == 1


def test_a_name_that_a_function_rebinds_in_an_argument_is_written():
    class Counter:
        count = 0

    def step(x, counter):
        counter.count = counter.count + 1
        return x * counter.count

    f, first, second = jit(step), Counter(), Counter()
    for i in (1, 2, 3):
        for counter in (first, second):
            np.testing.assert_allclose(f(X, counter), X * i)
            assert counter.count == i


def test_pandas_and_scikit_learn():
    pd = pytest.importorskip("pandas")
    linear = pytest.importorskip("sklearn.linear_model")
    frame = pd.DataFrame({"a": X, "b": 3 * X, "t": ["u", "v"]})
    f = grad(lambda x, d: np.sum(x * x * d["a"].to_numpy()) * d["b"].mean())
    for change in (lambda: None, lambda: frame.__setitem__("a", 2 * X), lambda: frame.loc.__setitem__((0, "b"), 9.0)):
        change()
        for _ in range(2):
            np.testing.assert_allclose(f(X, frame), 2 * X * frame["a"].to_numpy() * frame["b"].mean())
    traces = f.cache_info().traces
    f(X, frame)
    assert f.cache_info().traces == traces
    assert "<DataFrame>" in str(f.explain())
    g = grad(lambda x, m: np.sum((x @ m.coef_ + m.intercept_) ** 2))
    for i in (1, 2, 3):
        m = linear.LinearRegression().fit(np.eye(2) * i, X)
        np.testing.assert_allclose(g(X, m), 2 * (X @ m.coef_ + m.intercept_) * m.coef_)
    assert g.cache_info().traces <= 2


@pytest.fixture(autouse=True)
def forget():
    sharing.forget()
